/* Works a filter bank out: rows, channels, coefficients, products, bytes; and what to say of it. */
#include "plan/channelise_plan.h"

#include "dsp/fir/filter_report.h"
#include "io/machine.h"
#include "plan/beams_plan.h"
#include "plan/channelise_cut.h"
#include "plan/flag_mask.h"
#include "plan/plan_products.h"
#include "plan/visibilities_plan.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <unistd.h>

uint32_t channelise_plan_threads(const struct job *job, int local_size)
{
    if (job->threads > 0) {
        return job->threads;
    }
    const char *set = getenv("OMP_NUM_THREADS");
    uint64_t wanted = 0;
    if (set && units_parse_u64(set, &wanted) && wanted >= 1 && wanted <= 4096) {
        return (uint32_t)wanted;
    }
    int mine = omp_get_num_procs(); /* also when OpenMP has bound this thread to one of them */
    /* Unbound ranks all see the same cores. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int bound = mine < online;
    uint64_t ranks = local_size > 0 ? (uint64_t)local_size : 1;
    uint64_t threads = bound ? (uint64_t)mine : (uint64_t)mine / ranks;
    return (uint32_t)max_u64(min_u64(threads, machine_processors("") / ranks), 1);
}

uint64_t channelise_plan_block(const struct channelise_plan *work)
{
    return work->chunking.block_spectra * work->chunking.group_streams;
}

/* Settles which banks have weights: their samples may be missing without an end of the run. */
static void plan_settle_weights(struct channelise_plan *work, const struct channelise_plan_cut *cut)
{
    const struct archive *archive = work->archive;
    work->shows_missing =
        sample_types[archive->format].is_float || archive->stored.has_missing_value;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct channelise_plan_bank *bank = &work->banks[i];
        enum plan_weights weights = cut ? cut->weights[i] : WEIGHTS_AS_SUITS;
        int may_lack = work->shows_missing || archive->losses.may_lack || bank->gap_samples > 0 ||
                       archive_count_partial(archive) > 0 || work->job->on_bad == ON_BAD_NAN;
        bank->has_weights =
            work->is_bank && (weights == WEIGHTS_AS_SUITS ? may_lack : weights == WEIGHTS_KEPT);
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct job_product *product = &work->job->products[i];
        work->banks[product->bank].has_weights |=
            product->is_flagged || product->kind == PRODUCT_VISIBILITIES;
    }
}

/* Keeps the central den/num of each oversampled coarse channel. */
static status_t plan_settle_kept(const struct channelise_plan *work,
                                 struct channelise_plan_bank *bank)
{
    const struct archive *archive = work->seen;
    if (!bank->job) {
        bank->channelise.nchannels = 1;
        return STATUS_OK;
    }
    const uint32_t channels = bank->job->channels;
    uint64_t kept = (uint64_t)channels * archive->oversample.den;
    REQUIRE(kept % archive->oversample.num == 0, STATUS_USAGE,
            "%s: channelise.channels is %u, of which %u/%u, the part of an oversampled coarse "
            "channel that is kept, is not a whole number",
            work->job->path, channels, archive->oversample.den, archive->oversample.num);
    kept /= archive->oversample.num;
    REQUIRE(kept == channels || bank->job->order == ORDER_ASCENDING, STATUS_USAGE,
            "%s: channelise.order must be ascending for oversampled coarse channels",
            work->job->path);
    bank->channelise.nchannels = (uint32_t)kept;
    bank->channelise.first_channel = channels / 2 - (uint32_t)kept / 2;
    return STATUS_OK;
}

static status_t plan_make_coefficients(const struct channelise_plan *work,
                                       struct channelise_plan_bank *bank)
{
    struct prototype_spec *spec = &bank->prototype;
    const size_t count = (size_t)bank->samples_per_spectrum * spec->taps;
    spec->samples_per_spectrum = (uint32_t)bank->samples_per_spectrum;
    TRY(flat_cutoff_settle(spec));
    TRY(prototype_create(spec, &bank->coeff));
    TRY(memory_zeroed(count, sizeof(double), "coefficients", &bank->folded));
    /* Volts of what is stored, in the first step that multiplies. */
    prototype_fold(bank->coeff, count, work->seen->scale, bank->channelise.is_shifted,
                   bank->folded);
    bank->channelise.coeff = bank->folded;
    return STATUS_OK;
}

/* Adds an output of a stage, of product i; those that are too many are only counted. */
static void plan_add_output(struct channelise_spec *spec, uint32_t *products, uint32_t i,
                            struct channelise_output output)
{
    if (spec->noutputs < MOST_OUTPUTS) {
        products[spec->noutputs] = i;
        spec->outputs[spec->noutputs] = output;
    }
    spec->noutputs++;
}

/* Stages after the bank, and outputs: its products, and spectra for stages or all visibilities.
 * Fails with USAGE: more than stages can make at once. */
static status_t plan_set_outputs(const struct channelise_plan *work,
                                 struct channelise_plan_bank *bank)
{
    static const struct channelise_output spectra = {.quantity = QUANTITY_SPECTRA, .integrate = 1};
    const struct job *job = work->job;
    const int is_wanted[BETWEEN_COUNT] = {[BETWEEN_BEAMFORM] = work->beams != NULL};
    bank->maker = &bank->channelise;
    bank->detect = channelise_of_spectra(&bank->channelise);
    for (uint32_t s = 0; s < BETWEEN_COUNT; s++) {
        if (is_wanted[s]) {
            bank->between[s] = bank->between[BETWEEN_BANK] = 1;
            bank->maker = &bank->detect;
            bank->channelise.noutputs = 1;
            bank->channelise.outputs[0] = spectra;
        }
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        if (channelise_plan_bank_of(work, i) != bank) {
            continue;
        }
        const int is_apart = channelise_plan_is_apart(work, i);
        struct channelise_spec *spec = is_apart ? &bank->channelise : bank->maker;
        uint32_t *products = is_apart ? bank->apart : bank->products;
        if (is_apart || job->products[i].kind != PRODUCT_VISIBILITIES) {
            plan_add_output(spec, products, i, plan_ifs_output(&job->products[i]));
        } else if (!bank->between[BETWEEN_BANK]) {
            plan_add_output(spec, products, i, spectra);
            bank->between[BETWEEN_BANK] = 1;
        }
        if (job->products[i].flag.has_kurtosis) {
            const struct channelise_output squares = {
                .quantity = QUANTITY_SQUARES,
                .integrate = plan_ifs_output(&job->products[i]).integrate};
            plan_add_output(spec, products, i, squares);
        }
    }
    REQUIRE(bank->maker->noutputs <= MOST_OUTPUTS, STATUS_USAGE,
            "%s: products of one filter bank: %u (those with flag.kurtosis count twice), expected "
            "at most %d",
            job->path, bank->maker->noutputs, MOST_OUTPUTS);
    return REQUIRED(bank->channelise.noutputs <= MOST_OUTPUTS, STATUS_USAGE,
                    "%s: products with a sum over stations, beside beams: %u of one filter bank "
                    "(those with flag.kurtosis count twice), expected at most %d",
                    job->path, bank->channelise.noutputs - 1, MOST_OUTPUTS - 1);
}

static void plan_set_channelise(const struct channelise_plan *work,
                                struct channelise_plan_bank *bank)
{
    const struct archive *archive = work->seen;
    const struct job *job = work->job;
    struct channelise_spec *spec = &bank->channelise;
    spec->channels = bank->job ? bank->job->channels : 0;
    spec->taps = bank->prototype.taps;
    spec->hop = bank->job ? (uint32_t)bank->hop : 0;
    /* The order is made by a sign of every other coefficient. Complex: frequency 0 moves to the
     * middle. Real: a band that descends is reversed. */
    spec->is_shifted = bank->job && bank->job->order == ORDER_ASCENDING &&
                       (archive->is_complex || archive->sideband < 0);
    spec->is_complex = archive->is_complex;
    spec->format = archive->format;
    spec->nibbles = archive->stored.nibbles;
    spec->conjugate = archive->is_complex && archive->sideband < 0;
    spec->missing.has_value = archive->stored.has_missing_value;
    spec->missing.value = archive->stored.missing_value;
    spec->missing.is_none = work->filters != NULL;
    spec->threads = work->threads;
    spec->planning = job->planning;
    spec->expected = bank->spectra * work->seen->nstreams;
    spec->kernel = bank->job ? bank->job->kernel : KERNEL_AUTO;
    spec->fft = bank->job ? bank->job->fft : FFT_AUTO;
    spec->pol_inner = archive->nselected[AXIS_CHAN];
}

/* Settles the hop: the samples from one spectrum to the next. */
static status_t plan_settle_hop(const struct channelise_plan *work,
                                struct channelise_plan_bank *bank)
{
    const struct job_bank *job = bank->job;
    bank->hop = bank->samples_per_spectrum;
    if (!job || !job->is_oversampled) {
        return STATUS_OK;
    }
    const struct ratio ratio = job->oversample;
    const uint32_t nearest = oversampled_channels(ratio, job->channels);
    REQUIRE(nearest == job->channels, STATUS_USAGE,
            "%s: channelise.channels is %u, of which %u/%u, the samples from one spectrum to the "
            "next of a bank oversampled by %u/%u, is not a whole number: the nearest that will do "
            "is %u",
            work->job->path, job->channels, ratio.den, ratio.num, ratio.num, ratio.den, nearest);
    bank->hop = bank->samples_per_spectrum / ratio.num * ratio.den;
    return STATUS_OK;
}

enum backend_kind channelise_plan_backend(const struct job *job, enum backend_kind settled)
{
    enum backend_kind kind = settled;
    for (uint32_t i = 0; i < job->nbanks && job->backend == BACKEND_AUTO; i++) {
        kind = channelise_limit(settled, job->banks[i].channels) ? BACKEND_CPU : kind;
    }
    const struct job_synthesise *made = &job->synthesise;
    const int is_auto = job->backend == BACKEND_AUTO && made->made_taps > 0;
    return is_auto && synthesise_limit(settled, (uint32_t)(made->ncoeff / made->made_taps),
                                       made->ncoeff)
               ? BACKEND_CPU
               : kind;
}

/* Settles the samples of a spectrum of each bank, and of a unit, which holds whole spectra of all
 * banks. */
static status_t plan_settle_units(struct channelise_plan *work)
{
    const struct job *job = work->job;
    uint64_t unit = 1;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct channelise_plan_bank *bank = &work->banks[i];
        /* Voltages are spectra of one sample, through a filter bank that does nothing. */
        uint32_t channels = work->is_bank ? job->banks[i].channels : 0;
        uint64_t filter = 0;
        bank->job = work->is_bank ? &job->banks[i] : NULL;
        bank->prototype.taps = 1;
        TRY(bank->job ? bank_prototype(bank->job, &bank->prototype) : STATUS_OK);
        const uint32_t taps = bank->prototype.taps;
        bank->samples_per_spectrum =
            work->is_bank ? (uint64_t)channels * (work->seen->is_complex ? 1 : 2) : 1;
        REQUIRE(bank->samples_per_spectrum <= INT32_MAX &&
                    multiply_u64(bank->samples_per_spectrum, taps, &filter) &&
                    filter <= UINT64_C(1) << 40,
                STATUS_USAGE, "%s: %u channels with %u %s are absurd", job->path, channels, taps,
                units_plural(taps, "tap", "taps"));
        const char *limit = work->is_bank ? channelise_limit(work->backend, channels) : NULL;
        REQUIRE(!limit, STATUS_USAGE,
                "%s: channelise.channels is %u, but backend %s transforms %s: expected backend "
                "cpu, or auto, which takes it then",
                job->path, channels, backend_name(work->backend), limit);
        TRY(plan_settle_hop(work, bank));
        unit = unit > 0 ? lcm_u64(unit, bank->hop) : 0;
    }
    REQUIRE(unit > 0 && unit <= UINT64_C(1) << 40, STATUS_USAGE,
            "%s: the filter banks of channelise have whole spectra together only every %.3g "
            "samples: expected channels with a smaller common multiple, such as powers of two",
            job->path, unit > 0 ? (double)unit : INFINITY);
    for (uint32_t i = 0; i < work->nbanks; i++) {
        work->banks[i].ratio = unit / work->banks[i].hop;
    }
    return STATUS_OK;
}

/* Builds the tree of stages, and counts the rows of each. */
static status_t plan_count_rows(struct channelise_plan *work)
{
    const struct job *job = work->job;
    struct overlap_rows rows[NODE_DUMPS + MOST_OUTPUTS] = {{0, (int64_t)work->seen->samples}};
    for (uint32_t i = 0; i < JOB_BANKS; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        const uint32_t taps = bank->prototype.taps;
        work->nodes[NODE_SPECTRA(i)] = (struct overlap_node){
            NODE_SAMPLES, i < work->nbanks
                              ? overlap_filter_bank(bank->samples_per_spectrum, taps, bank->hop)
                              : overlap_sum(1)};
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        work->nodes[NODE_DUMPS + i] =
            (struct overlap_node){NODE_SPECTRA(job->products[i].bank),
                                  overlap_sum(plan_ifs_output(&job->products[i]).integrate)};
    }
    TRY(overlap_tree_makes(work->nodes, NODE_DUMPS + job->nproducts, 0, rows));
    for (uint32_t i = 0; i < work->nbanks; i++) {
        work->banks[i].raw_spectra = work->seen->samples / work->banks[i].samples_per_spectrum;
        work->banks[i].spectra = (uint64_t)rows[NODE_SPECTRA(i)].end;
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        uint64_t cells = job->products[i].integrate / plan_ifs_output(&job->products[i]).integrate;
        work->products[i].spec.rows = (uint64_t)rows[NODE_DUMPS + i].end / cells;
    }
    return STATUS_OK;
}

static status_t plan_count_spectra(struct channelise_plan *work)
{
    uint64_t samples = work->seen->samples;
    TRY(plan_settle_units(work));
    TRY(plan_count_rows(work));
    work->chunking.streams = work->formed->nstreams;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct channelise_plan_bank *bank = &work->banks[i];
        const uint64_t period = bank->samples_per_spectrum;
        const uint32_t taps = bank->prototype.taps;
        REQUIRE(bank->raw_spectra >= taps, STATUS_USAGE,
                "%s: %" PRIu64 " %s %" PRIu64 " raw %s of %" PRIu64
                " samples, but %u %s at least %u of them",
                work->job->path, samples, units_plural(samples, "sample holds", "samples hold"),
                bank->raw_spectra, units_plural(bank->raw_spectra, "spectrum", "spectra"), period,
                taps, units_plural(taps, "tap needs", "taps need"), taps);
        uint64_t used = overlap_inputs(&work->nodes[NODE_SPECTRA(i)].stage, bank->spectra);
        bank->dropped_samples = samples - used;
        bank->gap_samples =
            archive_gap_samples(work->archive, work->filters ? work->archive->samples : used);
        work->chunking.spectra =
            max_u64(work->chunking.spectra, ceil_div_u64(bank->spectra, bank->ratio));
    }
    return STATUS_OK;
}

/* Whether samples of a stream are side by side. */
static status_t plan_settle_order(struct channelise_plan *work)
{
    const struct archive *archive = work->archive;
    uint64_t bytes = sample_bytes(archive->format, archive->is_complex);
    SCOPED(slab_destroy_at) struct slab *slab = NULL;
    if (work->filters) {
        return STATUS_OK;
    }
    TRY(slab_create(archive, stream_range(0, archive->nstreams), &slab));
    for (uint32_t i = 0; i < work->nbanks; i++) {
        work->banks[i].channelise.is_interleaved = slab->width != bytes;
    }
    return STATUS_OK;
}

static status_t plan_count_bytes(struct channelise_plan *work)
{
    const struct archive *archive = work->archive;
    uint64_t chunks = chunk_count(&work->chunking) / chunk_groups(&work->chunking);
    SCOPED(slab_destroy_at) struct slab *slab = NULL;
    TRY(slab_create(archive, stream_range(0, archive->nstreams), &slab));
    struct overlap_rows all[FILTER_PLAN_ROWS];
    TRY(channelise_plan_samples(work, 0, work->chunking.spectra, 1, all));
    uint64_t samples = (uint64_t)(all[0].end - all[0].first);
    work->input_bytes = slab_bytes(slab, samples);
    work->read_bytes =
        work->groups.read_bytes * (samples + (chunks - 1) * channelise_plan_shared(work));
    return STATUS_OK;
}

/* Leaves out the samples at both ends that not all stations have, after their delays. */
static status_t plan_trim(struct channelise_plan *work)
{
    const uint64_t before = (uint64_t)-work->array->least;
    const uint64_t spread = array_plan_spread(work->array);
    REQUIRE(spread < work->seen->samples, STATUS_USAGE,
            "%s: the stations' delays differ by %" PRIu64
            " samples, but the observation has only %" PRIu64,
            work->job->path, spread, work->seen->samples);
    work->trimmed = *work->seen;
    work->trimmed.first_sample += before;
    work->trimmed.samples -= spread;
    work->seen = &work->trimmed;
    return STATUS_OK;
}

static const char *filter_plan_kind(const struct filter_plan_stage *stage)
{
    if (stage->spec.response) {
        return stage->deripple.half ? "dispersion with deripple" : "dispersion";
    }
    return stage->made.is_deripple ? "deripple" : "coefficients";
}

static status_t synthesis_plan_words(const struct synthesis_plan *plan, struct text *out)
{
    const struct synthesis_bank *bank = &plan->bank;
    return text_add(
        out,
        "synthesis of %u channels, %u points, hop %u, %u taps from %" PRId64 " on, error %.1f dB",
        bank->channels, bank->points, bank->hop, plan->spec.taps, plan->spec.first, plan->error_db);
}

/* Appends a line for the synthesis and each filter, for products: "coefficients of 257 samples,
 * decimate 1, delay 128 samples, overlap-save 8192". Fails with DEVICE (memory). */
static status_t filter_plan_words(const struct filter_plan *plan, struct text *out)
{
    TRY(plan->synthesis ? synthesis_plan_words(plan->synthesis, out) : STATUS_OK);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct filter_plan_stage *stage = &plan->stages[i];
        const struct filter_shape *shape = &stage->spec.choice.shape;
        TRY(text_add(out, "%s%s of %" PRId64 " samples, decimate %u, delay %.17g samples, ",
                     out->length > 0 ? "\n" : "", filter_plan_kind(stage), stage->base.reach.length,
                     stage->spec.decimate, stage->delay));
        TRY(text_add(out, "%s", filter_method_name((enum filter_method)shape->method)));
        TRY(shape->method == FILTER_OVERLAP_SAVE ? text_add(out, " %u", shape->length) : STATUS_OK);
    }
    return STATUS_OK;
}

status_t channelise_plan_create(const struct job *job, const struct archive *archive,
                                enum backend_kind backend, uint32_t threads,
                                const struct channelise_plan_cut *cut, struct channelise_plan **out)
{
    SCOPED(channelise_plan_destroy_at) struct channelise_plan *work = NULL;
    TRY(memory_zeroed(1, sizeof *work, "the plan", &work));
    work->job = job;
    work->is_bank = job->nbanks > 0;
    work->nbanks = work->is_bank ? job->nbanks : 1;
    work->backend = backend;
    work->threads = threads;
    work->archive = archive;
    work->is_judged = cut && cut->is_judged;
    TRY(filter_plan_create(job, archive, backend, threads, cut ? cut->filters : NULL,
                           &work->filters));
    TRY(work->filters ? filter_plan_words(work->filters, &work->filter_words) : STATUS_OK);
    work->seen = work->filters ? filter_plan_seen(work->filters) : archive;
    TRY(array_plan_create(work, &work->array));
    TRY(work->array ? plan_trim(work) : STATUS_OK);
    TRY(beams_plan_create(work, &work->beams));
    work->formed = work->beams ? &work->beams->formed : work->seen;
    TRY(memory_zeroed(job->nproducts, sizeof *work->products, "products", &work->products));
    TRY(plan_count_spectra(work));
    plan_settle_weights(work, cut);
    for (uint32_t i = 0; i < work->nbanks; i++) {
        plan_set_channelise(work, &work->banks[i]);
        TRY(plan_settle_kept(work, &work->banks[i]));
        TRY(plan_set_outputs(work, &work->banks[i]));
    }
    TRY(work->array ? array_plan_settle(work->array, work) : STATUS_OK);
    TRY(work->beams ? beams_plan_settle(work->beams, work) : STATUS_OK);
    TRY(plan_products_settle(work));
    TRY(plan_settle_order(work));
    work->wanted_block = cut ? cut->block : 0;
    work->judged = cut ? cut->judged : NULL;
    TRY(channelise_cut(work, cut ? cut->begun : NULL));
    TRY(plan_count_bytes(work));
    /* Last, because they may be large: a budget that is too small is found before. */
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        TRY(plan_make_coefficients(work, &work->banks[i]));
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
        work->products[i].spec.bank.coeff = bank->coeff;
        work->products[i].spec.bank.cutoff = bank->prototype.cutoff;
        work->products[i].spec.bank.has_cutoff = bank->job && bank->job->window.kind != WINDOW_FILE;
    }
    TRY(channelise_cut_state(work));
    *out = memory_move(&work);
    return STATUS_OK;
}

void channelise_plan_drop_coefficients(struct channelise_plan *work)
{
    for (uint32_t i = 0; i < JOB_BANKS && work; i++) {
        MEMORY_FREE(work->banks[i].coeff, work->banks[i].folded);
        work->banks[i].coeff = work->banks[i].folded = NULL;
    }
}

void channelise_plan_destroy(struct channelise_plan *work)
{
    if (work) {
        channelise_plan_drop_coefficients(work);
        for (uint32_t i = 0; work->products && i < work->job->nproducts; i++) {
            free(work->products[i].sum_factors);
            flag_mask_destroy(work->products[i].mask);
            visibilities_plan_destroy(work->products[i].visibilities);
            MEMORY_FREE(work->products[i].gains, work->products[i].first_scales);
        }
        free(work->products);
        beams_plan_destroy(work->beams);
        array_plan_destroy(work->array);
        filter_plan_destroy(work->filters);
        text_free(&work->filter_words);
        free(work);
    }
}

/* Coarse channels that do not follow each other evenly cannot be described by fch1 and foff. */
static int plan_is_even(const struct channelise_plan *work, uint32_t channels)
{
    const struct archive *archive = work->seen;
    double width =
        archive_chan_width_hz(archive) * archive->oversample.den / archive->oversample.num;
    for (uint32_t i = 1; i < archive->nselected[AXIS_CHAN]; i++) {
        double low = archive->freq_hz[archive->selected[AXIS_CHAN][i - 1]];
        double high = archive->freq_hz[archive->selected[AXIS_CHAN][i]];
        if (fabs(high - low - width) > 1e-3 * width / channels) {
            return 0;
        }
    }
    return 1;
}

/* Notes channels whose aliased power is not far below the power of their kept parts. */
static status_t plan_note_aliasing(const struct channelise_plan_bank *bank, struct text *out)
{
    const double least_db = 30;
    double alias_db = INFINITY;
    if (bank->hop < bank->samples_per_spectrum) {
        TRY(filter_report_aliasing(
            bank->coeff, bank->channelise.taps, (uint32_t)bank->samples_per_spectrum,
            (double)bank->samples_per_spectrum / (double)bank->hop, &alias_db));
    }
    if (alias_db < least_db) {
        TRY(text_add(out,
                     "%s%s%u %s damp what folds into a channel's kept part by %.1f dB only: more "
                     "taps, or channelise.attenuation, damp it further\n",
                     bank->job->name ? bank->job->name : "", bank->job->name ? ": " : "",
                     bank->channelise.taps, units_plural(bank->channelise.taps, "tap", "taps"),
                     alias_db));
    }
    return STATUS_OK;
}

/* Adds a line of all that is left over at the end of the observation. */
static status_t plan_note_dropped(const struct channelise_plan *work, struct text *out)
{
    const char *comma = "dropped at the end: ";
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        if (bank->dropped_samples > 0) {
            const char *name = work->nbanks > 1 ? bank->job->name : NULL;
            TRY(text_add(out, "%s%s of each stream (a spectrum%s%s takes %" PRIu64 ")", comma,
                         units_amount(bank->dropped_samples, "sample", "samples"),
                         name ? " of " : "", name ? name : "", bank->hop));
            comma = ", ";
        }
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        if (work->products[i].dropped_spectra > 0) {
            TRY(text_add(out, "%s%s of %s (a row has %" PRIu64 ")", comma,
                         units_amount(work->products[i].dropped_spectra, "spectrum", "spectra"),
                         work->job->products[i].file, work->job->products[i].integrate));
            comma = ", ";
        }
    }
    return *comma == ',' ? text_add(out, "\n") : STATUS_OK;
}

/* Returns how many samples (of all streams) are unreadable, though they are in no gap. */
static uint64_t archive_lost_samples(const struct archive *archive)
{
    uint64_t lost = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < archive->losses.lost.count; i++) {
        const struct lost_range *range = &archive->losses.lost.items[i];
        uint64_t low = max_u64(range->first, end);
        end = max_u64(end, range->first + range->count);
        lost += end > low ? end - low : 0;
    }
    return lost * archive->nstreams;
}

status_t channelise_plan_notes(const struct channelise_plan *work, struct text *out)
{
    TRY(plan_note_dropped(work, out));
    TRY(work->array ? array_plan_notes(work, out) : STATUS_OK);
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        TRY(plan_note_aliasing(bank, out));
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct job_product *product = &work->job->products[i];
        const struct product_spec *spec = &work->products[i].spec;
        if (product->kind == PRODUCT_VOLTAGES) {
            archive_warn_unweighed(work->archive, product->file);
        }
        if (product_is_filterbank(product->kind) && !plan_is_even(work, spec->bank.channels)) {
            TRY(text_add(out,
                         "%s: the coarse channels do not follow each other evenly, which a "
                         "filterbank header (fch1, foff) cannot say: use /frequency\n",
                         product->file));
        }
        if (product_is_filterbank(product->kind) && (spec->rows < 3 || spec->frequencies < 3)) {
            TRY(text_add(out, "%s: blimpy opens filterbanks of 3 or more times and channels only\n",
                         product->file));
        }
    }
    if (!work->archive->sky.has_start) {
        TRY(text_add(out, "the archive does not say when it starts: times count from its first "
                          "sample (input.layout.start sets it)\n"));
    }
    uint64_t gaps = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        gaps = max_u64(gaps, work->banks[i].gap_samples);
    }
    uint64_t lost = archive_lost_samples(work->archive);
    if (lost > 0) {
        TRY(text_add(out, "%s %s unreadable (%s): what needs them becomes NaN\n",
                     units_amount(lost, "sample", "samples"), units_plural(lost, "is", "are"),
                     work->archive->losses.lost.items[0].why));
    }
    if (gaps > 0) {
        double share = (double)gaps / ((double)work->archive->samples * work->archive->nstreams);
        TRY(text_add(out, "%s in gaps that the archive declares (%.2g %%): taken as zero volts\n",
                     units_amount(gaps, "sample lies", "samples lie"), 100 * share));
    }
    return STATUS_OK;
}
