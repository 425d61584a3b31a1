/* Plans the filter bank of a job, and does it. */
#include "run/passes.h"

#include "base/clock.h"
#include "base/display.h"
#include "pipeline/pipeline_kinds.h"
#include "plan/plan_products.h"
#include "product/ifs.h"
#include "ranks/agree.h"
#include "run/ahead.h"
#include "run/share.h"
#include "tune/problem/problems.h"

#include <inttypes.h>

/* Finds the choice of a filter bank likewise, on one rank: *choice, complete. A search takes
 * `memory` bytes at most. Other configurations may round differently: all ranks, and resumed runs,
 * must take this one. Fails with USAGE (a kernel that cannot do the problem), DEVICE. */
static status_t tuned_filter_bank(backend_t *backend, const struct channelise_spec *spec,
                                  uint64_t memory, const struct run_options *options,
                                  struct channelise_choice *choice)
{
    struct channelise_spec wanted = *spec;
    int is_found = 0;
    TRY(tuned_find(&tune_ppf, backend, spec, memory, options, "filter bank", &wanted.choice.shape,
                   sizeof wanted.choice.shape, &is_found));
    wanted.choice.backend = is_found ? backend_which(backend) : wanted.choice.backend;
    return tune_ppf_choose(backend, &wanted, memory, choice);
}

/* The rule knows no device: what this one does of it, so that products say what was run. */
static status_t tuned_settle_filter(backend_t *backend, const struct filter_spec *spec,
                                    struct filter_choice *choice)
{
    SCOPED(free_at) struct filter_shape *list = NULL;
    uint32_t count = 0;
    TRY(filter_candidates(backend, spec, &list, &count));
    if (count > 0) {
        choice->shape = list[0];
    }
    return STATUS_OK;
}

/* Finds the choice of a long filter: *choice, complete, known or measured among the few promising
 * ones; direct sums or overlap-save if the method is AUTO. All ranks, and resumed runs, must take
 * this one, too. max_rows may be 0. Fails with USAGE (the method cannot do the problem), DEVICE. */
static status_t tuned_filter(backend_t *backend, const struct filter_spec *spec, uint64_t memory,
                             const struct run_options *options, struct filter_choice *choice)
{
    struct filter_spec wanted = *spec;
    int is_found = 0;
    TRY(tuned_find(&tune_fir, backend, spec, memory, options, "filter", &wanted.choice.shape,
                   sizeof wanted.choice.shape, &is_found));
    wanted.choice.backend = is_found ? backend_which(backend) : wanted.choice.backend;
    TRY(tune_fir_choose(backend, &wanted, memory, choice));
    return !is_found && backend_abilities(backend_which(backend))->has_device
               ? tuned_settle_filter(backend, &wanted, choice)
               : STATUS_OK;
}

/* Finds the length of blocks (struct channelise_plan_cut) for a filter bank whose choice is made,
 * on one rank; 0 if none is known. A begun run is not tuned any more. Fails with DEVICE. */
static status_t tuned_blocks(backend_t *backend, const struct channelise_plan *work, int is_begun,
                             const struct run_options *options, uint64_t *block)
{
    const uint32_t suits = (uint32_t)min_u64(channelise_plan_block(work), UINT32_MAX);
    SCOPED(tuning_end) struct tuning t = {.problem = NULL};
    *block = 0;
    if (backend_abilities(backend_which(backend))->is_reference) {
        return STATUS_OK;
    }
    TRY(tuned_ask(&tune_block_length, backend, &work->banks[0].channelise, options, !is_begun,
                  work->stage_bytes, &suits, &t));
    *block = t.found != TUNE_NOTHING ? t.values[0] : 0;
    if (*block > 0 && !is_begun) {
        report_note("blocks of %" PRIu64 " spectra, tuned for %s", *block,
                    t.found == TUNE_EXACT ? "this problem" : "one that is near");
    }
    return STATUS_OK;
}

/* Finds the block length that a run of one rank would take, without messages; opens the backend
 * only if necessary. Fails with DEVICE. */
static status_t tuned_blocks_foresee(const struct channelise_plan *work, uint64_t *block)
{
    const struct job *job = work->job;
    const struct channelise_spec *spec = &work->banks[0].channelise;
    struct backend_options options = {
        .device = job->device, .device_memory = job->device_memory, .local_size = 1};
    SCOPED(backend_close_at) backend_t *backend = NULL;
    SCOPED(tuning_end) struct tuning t = {.problem = NULL};
    int is_known = 0;
    *block = 0;
    TRY(tuning_is_known(&tune_block_length, work->backend, spec, NULL, &is_known));
    if (!is_known || backend_abilities(work->backend)->is_reference) {
        return STATUS_OK;
    }
    if (backend_open(work->backend, &options, &backend) != STATUS_OK) {
        report_clear(); /* the run will have another machine */
        return STATUS_OK;
    }
    TRY(tuning_begin(&tune_block_length, backend, spec, NULL, &t));
    *block = t.found != TUNE_NOTHING ? t.values[0] : 0;
    return STATUS_OK;
}

/* Per cent of a product's numbers; Gaussian noise has less than 0.01. */
static const double most_clipped = 1;

/* Adds the time since the last call to a step before the first chunk. */
static void pass_step(struct channelise_pass *p, enum run_step step)
{
    double now = clock_now();
    p->steps[step] += now - p->since;
    p->since = now;
}

static void pass_end_later(struct channelise_pass *p)
{
    for (uint32_t i = 0; i < p->pass.job->ndedisperse && p->later; i++) {
        dedisperse_pass_end(&p->later[i], STATUS_OK);
    }
    free(memory_move(&p->later));
}

void channelise_pass_end(struct channelise_pass *p, status_t st)
{
    pass_end(&p->pass, st);
    opened_t *opened = p->pass.options ? p->pass.options->opened : NULL;
    if (p->backend) { /* device-resident rows go before their backend */
        opened_give_back(opened, device_carry_end(p->between), st);
    }
    opened_give_back(opened, p->backend, st);
    channelise_plan_destroy(p->work);
    for (uint32_t i = 0; i < JOB_BANKS; i++) {
        text_free(&p->arithmetic[i]);
    }
}

/* Describes the arithmetic of a bank, for its products' provenance: "cpu, avx2, fftw-3.3.10 plan
 * 1f2e3d4c". A process that only plans does not know it, but files reserve space for such words. */
static status_t pass_describe_bank(const struct channelise_pass *p,
                                   const struct channelise_choice *choice, struct text *out)
{
    if (p->backend) {
        const char *device = backend_device(p->backend);
        TRY(text_add(out, "%s%s%s", backend_name(p->work->backend), *device ? ", " : "", device));
    } else {
        TRY(text_add(out, "cpu, avx512, fftw-3.3.10-sse2-avx plan 1f2e3d4c"));
    }
    if (choice->backend != BACKEND_AUTO) {
        TRY(text_add(out, ", "));
        TRY(channelise_words(choice, out));
    }
    const struct synthesis_plan *synthesis = p->work->filters ? p->work->filters->synthesis : NULL;
    if (synthesis) {
        TRY(text_add(out, ", synthesis "));
        TRY(synthesise_words(&synthesis->spec.choice, out));
    }
    for (uint32_t i = 0; p->work->filters && i < p->work->filters->count; i++) {
        TRY(text_add(out, ", filter "));
        TRY(filter_words(&p->work->filters->stages[i].spec.choice, out));
    }
    return STATUS_OK;
}

static status_t pass_describe_arithmetic(struct channelise_pass *p)
{
    const struct job *job = p->pass.job;
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        TRY(pass_describe_bank(p, &p->work->banks[i].channelise.choice, &p->arithmetic[i]));
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        p->work->products[i].spec.arithmetic = p->arithmetic[job->products[i].bank].data;
    }
    output_spec_plan_products(&p->pass.making, p->work);
    return STATUS_OK;
}

/* Describes what the pass's speed depends on. */
static status_t pass_describe_problem(struct channelise_pass *p)
{
    const struct job *job = p->pass.job;
    struct text *out = &p->pass.problem;
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        const struct channelise_spec *spec = &p->work->banks[i].channelise;
        TRY(text_add(out,
                     "%schannelise %u+%u of %u channels, %u taps, format %d, complex %d, order %d",
                     i > 0 ? ", " : "", spec->first_channel, spec->nchannels, spec->channels,
                     spec->taps, (int)spec->format, spec->is_complex, spec->is_interleaved));
        TRY(channelise_is_oversampled(spec) ? text_add(out, ", hop %u", spec->hop) : STATUS_OK);
    }
    if (p->work->filters && p->work->filters->synthesis) {
        const struct synthesise_spec *spec = &p->work->filters->synthesis->spec;
        TRY(text_add(out, ", synthesis %u of %u points, hop %u, %u taps", spec->channels,
                     spec->points, spec->hop, spec->taps));
    }
    for (uint32_t i = 0; p->work->filters && i < p->work->filters->count; i++) {
        const struct filter_spec *filter = &p->work->filters->stages[i].spec;
        TRY(text_add(out, ", filter %u/%u of %d complex %d", filter->taps, filter->decimate,
                     (int)filter->coding.format, filter->is_complex_out));
    }
    TRY(text_add(out, ", %s %s", backend_name(p->work->backend), job->device ? job->device : ""));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        TRY(text_add(out, ", %s/%" PRIu64, product_name(job->products[i].kind),
                     job->products[i].integrate));
    }
    p->pass.work = (double)p->archive->samples * p->archive->nstreams;
    return STATUS_OK;
}

/* As suits now or as it was begun; the same on all ranks. What is known of the backend stays. */
static status_t pass_plan_all(struct channelise_pass *p)
{
    const struct job *job = p->pass.job;
    struct pass_means means = pass_means_all(&p->pass, job->backend);
    const enum backend_kind backend = channelise_plan_backend(job, means.backend);
    struct channelise_plan_cut cut = {.begun = means.begun, .block = p->block};
    SCOPED(channelise_plan_destroy_at) struct channelise_plan *before = p->work;
    const struct outputs_begun *begun = &p->pass.begun;
    p->work = NULL;
    for (uint32_t i = 0; i < JOB_BANKS && begun->is_begun; i++) {
        cut.weights[i] = begun->banks[i].has_weights ? WEIGHTS_KEPT : WEIGHTS_NONE;
    }
    if (p->has_filters || p->pass.begun.is_begun) {
        cut.filters = p->has_filters ? p->filters : p->pass.begun.filters;
    }
    channelise_plan_drop_coefficients(before); /* first: they may be large */
    TRY(agree_all(p->pass.comm, channelise_plan_create(job, p->archive, backend, means.most_threads,
                                                       &cut, &p->work)));
    TRY(pass_same_plan_all(&p->pass, &p->work->chunking));
    p->work->threads = means.threads;
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        struct channelise_spec *spec = &p->work->banks[i].channelise;
        spec->threads = means.threads;
        spec->choice = before ? before->banks[i].channelise.choice : spec->choice;
        spec->simd = before ? before->banks[i].channelise.simd : 0;
    }
    for (uint32_t i = 0; p->work->filters && i < p->work->filters->count; i++) {
        p->work->filters->stages[i].spec.simd = p->work->banks[0].channelise.simd;
        p->work->filters->stages[i].spec.threads = means.threads;
    }
    if (p->work->filters && p->work->filters->synthesis) {
        struct synthesise_spec *spec = &p->work->filters->synthesis->spec;
        spec->simd = p->work->banks[0].channelise.simd;
        spec->threads = means.threads;
        spec->choice = begun->is_begun ? begun->synthesis : p->synthesis;
    }
    return STATUS_OK;
}

/* Plans it once more where it is known how long blocks should be; rank 0 looks, or tunes. */
static status_t pass_cut_as_tuned_all(struct channelise_pass *p)
{
    status_t st = STATUS_OK;
    struct pass *pass = &p->pass;
    int is_tuned = !p->work->filters && p->work->nbanks == 1;
    if (pass->comm == MPI_COMM_NULL && is_tuned) {
        st = tuned_blocks_foresee(p->work, &p->block);
    } else if (pass->rank == 0 && is_tuned) {
        st = tuned_blocks(p->backend, p->work, pass->begun.is_begun, pass->options, &p->block);
    }
    TRY(agree_all(pass->comm, st));
    share_bytes_all(pass->comm, &p->block, sizeof p->block);
    return p->block > 0 || p->has_filters ? pass_plan_all(p) : STATUS_OK;
}

status_t channelise_pass_plan_all(struct channelise_pass *p)
{
    struct pass *pass = &p->pass;
    TRY(agree_all(pass->comm, output_spec_of_products(pass->job, p->archive, &pass->making)));
    TRY(pass_plan_all(p));
    /* Errors of later dedispersions are found before the work. */
    TRY(pass_begin_limit_all(pass, "looked up", 0));
    TRY(agree_all(pass->comm, pass->rank == 0
                                  ? dedisperse_pass_foresee(pass, p->skip, p->work, p->later)
                                  : STATUS_OK));
    TRY(pass_claim_all(pass));
    TRY(pass->begun.is_begun ? pass_plan_all(p) : STATUS_OK);
    TRY(agree_all(pass->comm, pass_describe_problem(p)));
    if (pass->comm == MPI_COMM_NULL) {
        TRY(pass_cut_as_tuned_all(p));
        output_spec_plan_products(&pass->making, p->work);
        TRY(pass->begun.is_begun ? outputs_foresee_plan(pass->outputs) : STATUS_OK);
        TRY(pass_describe_arithmetic(p));
    }
    return STATUS_OK;
}

/* Chooses how the synthesis is computed, by rule, on rank 0 for all. */
static status_t pass_choose_synthesis_all(struct channelise_pass *p)
{
    status_t st = STATUS_OK;
    struct pass *pass = &p->pass;
    struct synthesis_plan *plan = p->work->filters ? p->work->filters->synthesis : NULL;
    if (!plan) {
        return STATUS_OK;
    }
    plan->spec.simd = p->work->banks[0].channelise.simd;
    if (pass->begun.is_begun) {
        p->synthesis = pass->begun.synthesis;
    } else if (pass->rank == 0) {
        st = synthesise_choose(p->backend, &plan->spec, &p->synthesis);
    }
    TRY(agree_all(pass->comm, st));
    share_bytes_all(pass->comm, &p->synthesis, sizeof p->synthesis);
    plan->spec.choice = p->synthesis;
    return STATUS_OK;
}

/* Chooses how each filter is computed: rank 0 looks it up, or measures. */
static status_t pass_choose_filters_all(struct channelise_pass *p)
{
    status_t st = STATUS_OK;
    struct pass *pass = &p->pass;
    struct filter_plan *plan = p->work->filters;
    if (!plan || pass->begun.is_begun) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < plan->count && pass->rank == 0 && st == STATUS_OK; i++) {
        plan->stages[i].spec.simd = p->work->banks[0].channelise.simd;
        st = tuned_filter(p->backend, &plan->stages[i].spec, p->work->stage_bytes, pass->options,
                          &p->filters[i]);
    }
    TRY(agree_all(pass->comm, st));
    share_bytes_all(pass->comm, p->filters, sizeof p->filters);
    p->has_filters = 1;
    return STATUS_OK;
}

/* Opens the backend on every rank; rank 0 finds out how it is fastest, and all do as it says, as do
 * runs that go on with what this one leaves: another configuration could round otherwise. */
static status_t pass_open_backend_all(struct channelise_pass *p)
{
    status_t st = STATUS_OK;
    struct pass *pass = &p->pass;
    TRY(opened_take_all(pass->comm, pass->options->opened, pass->job, p->work->backend,
                        &p->backend));
    pass_step(p, RUN_STEP_DEVICE);
    if (pass->rank == 0 && !pass->begun.is_begun) {
        ahead_begin(p->work, pass->local_size);
    }
    const uint32_t simd = (uint32_t)least_u64_all(pass->comm, backend_simd(p->backend));
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        struct channelise_spec *spec = &p->work->banks[i].channelise;
        spec->simd = simd;
        if (pass->begun.is_begun) {
            spec->choice = pass->begun.banks[i].choice;
        } else if (pass->rank == 0 && p->work->is_bank) {
            st = tuned_filter_bank(p->backend, spec, p->work->stage_bytes, pass->options,
                                   &spec->choice);
        }
        TRY(agree_all(pass->comm, st));
        share_bytes_all(pass->comm, &spec->choice, sizeof spec->choice);
    }
    TRY(pass_choose_synthesis_all(p));
    return pass_choose_filters_all(p);
}

/* Rank 0, before any file is made: checks the disk space for the products of all passes. Files are
 * measured, which takes as long as making them, only where there could be too little. */
static status_t pass_check_room(struct channelise_pass *p)
{
    status_t st = STATUS_OK;
    const uint64_t beside_rows = UINT64_C(8) << 30;
    for (int is_measured = 0; is_measured < 2; is_measured++) {
        struct room room = {.count = 0};
        TRY(is_measured ? pass_measure(&p->pass) : STATUS_OK);
        for (uint32_t i = 0; i < p->pass.making.count && !is_measured; i++) {
            const struct output_spec_item *item = &p->pass.making.items[i];
            p->pass.bytes[i] = 16 * item->spec.rows * item->row_bytes + beside_rows;
        }
        TRY(pass_add_room(&p->pass, &room));
        TRY(dedisperse_pass_add_room(p->later, p->pass.job->ndedisperse, &room));
        st = room_check(&room);
        if (st != STATUS_NO_SPACE || is_measured) {
            return st;
        }
        report_clear();
    }
    return STATUS_OK;
}

/* Scales of the first block of rows that count for all (scales: first): every rank must have them
 * before it begins. The first block goes through a pipeline of its own, of which only the scales
 * are kept. */

/* Scale, then offset, of all lines of each product with `first_scales`. */
struct first_scales {
    const struct channelise_plan *work;
    float *of[MOST_OUTPUTS];
};

/* Returns whether product i needs first scales. */
static int first_scales_are_wanted(const struct channelise_plan *work, uint32_t i)
{
    return quantised_is(&work->products[i].spec) && work->products[i].spec.steps.are_first;
}

/* Returns the floats of product i: the scale, then the offset, of each frequency of all ifs. */
static size_t first_scales_count(const struct channelise_plan *work, uint32_t i)
{
    return (size_t)(2 * work->products[i].spec.nifs * work->products[i].spec.frequencies);
}

/* Keeps the scales of the first block (a sink's step()). Its rows are made again with their chunks.
 */
static status_t first_scales_take(void *context, uint32_t product, const struct chunk *chunk,
                                  const struct product_steps *steps)
{
    struct first_scales *first = context;
    const struct chunking *chunking = &first->work->chunking;
    uint64_t all = first_scales_count(first->work, product) / 2;
    const struct chunk_row row = plan_products_row(&first->work->products[product].spec);
    const struct chunk_pieces lines = chunk_pieces_of(chunking, chunk, all, &row);
    float *of = first->of[product];
    for (uint64_t k = 0; k < lines.count && of && steps->first == 0; k++) {
        float *to = of + lines.first + k * lines.step;
        memcpy(to, steps->scale + k * lines.size, (size_t)lines.size * sizeof *to);
        memcpy(to + all, steps->offset + k * lines.size, (size_t)lines.size * sizeof *to);
    }
    return STATUS_OK;
}

/* Units that the first blocks of all these products take. */
static uint64_t first_scales_units(const struct channelise_plan *work)
{
    uint64_t units = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct product_spec *spec = &work->products[i].spec;
        if (first_scales_are_wanted(work, i)) {
            uint64_t spectra = min_u64(spec->steps.rows, spec->rows) * spec->integrate;
            uint64_t ratio = channelise_plan_bank_of(work, i)->ratio;
            units = max_u64(units, ceil_div_u64(spectra, ratio));
        }
    }
    return min_u64(units, work->chunking.spectra);
}

static status_t first_scales_run(struct first_scales *first, backend_t *backend, double patience)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = first->work;
    const struct pipeline_sink sink = {.context = first, .step = first_scales_take};
    pipeline_t *pipeline = NULL;
    TRY_OUT(channelise_pipeline_create(work, backend, &sink, NULL, &pipeline));
    pipeline_limit(pipeline, patience);
    for (uint32_t group = 0; group < chunk_groups(&work->chunking); group++) {
        struct chunk chunk = chunk_at(&work->chunking, group);
        chunk.count = first_scales_units(work);
        TRY_OUT(pipeline_chunk(pipeline, NULL, &chunk));
    }
    TRY_OUT(pipeline_finish(pipeline, NULL));
out:
    if (pipeline && !pipeline_hangs(pipeline)) { /* else its threads cannot be ended */
        pipeline_destroy(pipeline);
    }
    return st;
}

/* Mean scale and offset of lines that have some, or of such means; count: how many of them. */
struct first_mean {
    double scale, offset;
    uint64_t count;
};

static void first_scales_add(struct first_mean *mean, double scale, double offset)
{
    mean->count++;
    mean->scale += (scale - mean->scale) / (double)mean->count;
    mean->offset += (offset - mean->offset) / (double)mean->count;
}

/* Whether an if is a power. Q, U, V and the parts of A B* have either sign. */
static int first_scales_is_power(const struct product_spec *spec, uint32_t number)
{
    uint32_t own = number % ifs_of_antenna(spec);
    return spec->combine.polarisation == POLARISATION_IQUV        ? own == 0
           : spec->combine.polarisation == POLARISATION_COHERENCY ? own < 2
                                                                  : 1;
}

/* Scale and offset of an if all of whose lines are empty: the mean of the same polarisation of
 * other stations and beams, else of all powers. A range about 0 if it has either sign. */
static struct first_mean first_scales_borrow(const struct product_spec *spec,
                                             const struct first_mean *ifs, uint32_t number)
{
    uint32_t each = ifs_of_antenna(spec);
    struct first_mean own = {0};
    struct first_mean powers = {0};
    struct first_mean all = {0};
    for (uint32_t i = 0; i < spec->nifs; i++) {
        if (ifs[i].count > 0) {
            first_scales_add(&all, ifs[i].scale, ifs[i].offset);
            if (i % each == number % each) {
                first_scales_add(&own, ifs[i].scale, ifs[i].offset);
            }
            if (first_scales_is_power(spec, i)) {
                first_scales_add(&powers, ifs[i].scale, ifs[i].offset);
            }
        }
    }
    powers = powers.count > 0 ? powers : all;
    if (!first_scales_is_power(spec, number)) {
        powers.offset = -steps_centre(spec->steps.bits) * powers.scale;
    }
    return own.count > 0 ? own : powers;
}

/* Empty lines (scale 0) get the mean of the others of their if. */
static status_t first_scales_fill(const struct channelise_plan *work, uint32_t i, float *scale)
{
    const struct product_spec *spec = &work->products[i].spec;
    const size_t lines = first_scales_count(work, i) / 2;
    const size_t each = (size_t)spec->frequencies;
    float *offset = scale + lines;
    SCOPED(free_at) struct first_mean *ifs = NULL;
    uint64_t found = 0;
    TRY(memory_zeroed(spec->nifs, sizeof *ifs, "scales", &ifs));
    for (size_t k = 0; k < lines; k++) {
        if (scale[k] > 0) {
            first_scales_add(&ifs[k / each], (double)scale[k], (double)offset[k]);
            found++;
        }
    }
    REQUIRE(found > 0, STATUS_DATA,
            "%s: its first %llu rows contain only zeros and NaN, from which scales: first "
            "cannot choose scales: use scales: block",
            work->job->products[i].file, (unsigned long long)min_u64(spec->steps.rows, spec->rows));
    for (uint32_t number = 0; number < spec->nifs; number++) {
        const struct first_mean mean =
            ifs[number].count > 0 ? ifs[number] : first_scales_borrow(spec, ifs, number);
        for (size_t k = number * each; k < (number + 1) * each; k++) {
            offset[k] = scale[k] > 0 ? offset[k] : (float)mean.offset;
            scale[k] = scale[k] > 0 ? scale[k] : (float)mean.scale;
        }
    }
    return STATUS_OK;
}

/* Allocates first_scales of the products that need some, zeroed; channelise_plan_destroy() frees
 * them. Fails with DEVICE. */
static status_t first_scales_make_room(struct channelise_plan *work)
{
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        TRY(first_scales_are_wanted(work, i)
                ? memory_zeroed(first_scales_count(work, i), sizeof(float), "scales",
                                &work->products[i].first_scales)
                : STATUS_OK);
    }
    return STATUS_OK;
}

/* Computes the scales for which there is room, from the first block of all streams, by a pipeline
 * of its own. A line without a number there, or with zeros alone, has the mean of the scales and
 * offsets of its if; an if of such lines alone that of the same polarisation of other stations and
 * beams, or of the powers (I, A A*, B B*). `patience`: seconds without a sign of work after which
 * it fails; 0: no end. Fails as a pipeline does, or with DATA: a product all of whose lines are
 * such. */
static status_t first_scales_make(struct channelise_plan *work, backend_t *backend, double patience)
{
    status_t st = STATUS_OK;
    struct first_scales first = {.work = work};
    for (uint32_t i = 0; i < work->job->nproducts; i++) { /* none are given while they are made */
        first.of[i] = memory_move(&work->products[i].first_scales);
    }
    TRY_OUT(first_scales_run(&first, backend, patience));
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        TRY_OUT(first.of[i] ? first_scales_fill(work, i, first.of[i]) : STATUS_OK);
    }
out:
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        work->products[i].first_scales = first.of[i];
    }
    return st;
}

/* Rank 0: finds scales that apply to all rows, before the first chunk is given out. A resumed run
 * takes the existing ones: input that was read then need not be readable now. Chunks that are done
 * may be computed again. */
static status_t pass_find_scales(const struct channelise_pass *p)
{
    const struct channelise_plan *work = p->work;
    uint64_t done = outputs_done(p->pass.outputs);
    int is_there = done > 0;
    int is_wanted = 0;
    if (done == chunk_count(&work->chunking) && !outputs_may_go_back(p->pass.outputs)) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        is_wanted |= first_scales_are_wanted(work, i);
        TRY(is_there && first_scales_are_wanted(work, i)
                ? outputs_get_scales(p->pass.outputs, i, work->products[i].first_scales, &is_there)
                : STATUS_OK);
    }
    if (is_there || !is_wanted) {
        return STATUS_OK;
    }
    TRY(first_scales_make(p->work, p->backend, p->pass.patience));
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        TRY(first_scales_are_wanted(work, i)
                ? outputs_put_scales(p->pass.outputs, i, work->products[i].first_scales)
                : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t pass_find_scales_all(const struct channelise_pass *p)
{
    MPI_Comm comm = p->pass.comm;
    TRY(agree_all(comm, first_scales_make_room(p->work)));
    TRY(agree_all(comm, p->pass.rank == 0 ? pass_find_scales(p) : STATUS_OK));
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        if (p->work->products[i].first_scales) {
            share_bytes_all(comm, p->work->products[i].first_scales,
                            first_scales_count(p->work, i) * sizeof(float));
        }
    }
    return STATUS_OK;
}

/* Prepares a pass until its first chunk: plan, backend, files. */
static status_t pass_prepare_all(struct pass *pass)
{
    struct channelise_pass *p = (struct channelise_pass *)pass;
    MPI_Comm comm = pass->comm;
    pass_step(p, RUN_STEP_JOB);
    TRY(channelise_pass_plan_all(p));
    pass_step(p, RUN_STEP_PLAN);
    TRY(pass_open_backend_all(p));
    TRY(pass_cut_as_tuned_all(p));
    TRY(agree_all(comm, pass_describe_arithmetic(p)));
    pass_limit(pass, p->work->backend);
    TRY(pass_begin_limit_all(pass, "looked up", 0));
    TRY(agree_all(comm, pass->rank == 0 ? pass_check_room(p) : STATUS_OK));
    pass_end_later(p);
    pass_step(p, RUN_STEP_CHOICE);
    TRY(pass_open_all(pass));
    pass_step(p, RUN_STEP_FILES);
    TRY(pass_find_scales_all(p));
    const struct pipeline_sink sink = pass_sink(pass);
    TRY(agree_all(comm, channelise_pipeline_create(p->work, p->backend, &sink, p->between->resident,
                                                   &pass->pipeline)));
    /* Who is no device's does not wake OpenCL up. */
    p->between->automatic = backend_abilities(p->work->backend)->has_device
                                ? share_settle_backend_all(comm, BACKEND_AUTO)
                                : backend_automatic(0);
    TRY(agree_all(comm, device_carry_begin(p->between, p->backend, p->work)));
    pass->in_bytes = p->work->input_bytes;
    pass->bank_plan = p->work;
    pass->stage = p->backend;
    pass_step(p, RUN_STEP_BUFFERS);
    return STATUS_OK;
}

static status_t pass_print_notes(const struct channelise_pass *p, uint64_t missing,
                                 uint64_t clipped)
{
    SCOPED(text_free) struct text notes = {0};
    TRY(channelise_plan_notes(p->work, &notes));
    if (missing > 0) {
        TRY(text_add(&notes,
                     "%s missing (NaN or infinite, the missing value, or in missing frames): "
                     "read as zero volts\n",
                     units_amount(missing, "sample was", "samples were")));
    }
    if (clipped > 0) {
        TRY(text_add(&notes,
                     "%s did not fit %u bits at scale %g: clipped (a larger scale fits more)\n",
                     units_amount(clipped, "number", "numbers"),
                     p->work->products[0].spec.steps.bits, p->work->products[0].spec.scale));
    }
    for (const char *line = notes.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        display_print("note: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return STATUS_OK;
}

/* Reports numbers that did not fit the bits of product i. */
static status_t pass_tell_of_clips(const struct channelise_pass *p, uint32_t i)
{
    const struct product_spec *spec = &p->work->products[i].spec;
    struct product_clips clips = {0, 0};
    if (!quantised_is(spec)) {
        return STATUS_OK;
    }
    double numbers =
        (double)p->work->products[i].row_bytes * 8 / spec->steps.bits * (double)spec->rows;
    TRY(outputs_clips(p->pass.outputs, i, &clips));
    display_print("  %u bits, each channel with a scale %s %llu rows; clipped low %s (%.2g %%), "
                  "high %s (%.2g %%)\n",
                  spec->steps.bits, spec->steps.are_first ? "of the first" : "for each",
                  (unsigned long long)spec->steps.rows, units_count(clips.low),
                  100 * (double)clips.low / numbers, units_count(clips.high),
                  100 * (double)clips.high / numbers);
    double share = 100 * (double)(clips.low + clips.high) / numbers;
    if (share > most_clipped) {
        report_warn("%s: %.3g %% of its numbers did not fit %u bits and were clipped: %s",
                    p->pass.job->products[i].file, share, spec->steps.bits,
                    spec->steps.are_first ? "scales: block, or more bits, fit more"
                                          : "more bits fit more");
    }
    return STATUS_OK;
}

static status_t pass_summarise(const struct channelise_pass *p, double seconds)
{
    double chunks = (double)chunk_count(&p->work->chunking);
    double part = 1 - (double)p->pass.before / chunks;
    const struct channelise_plan *work = p->work;
    struct chunk_counts counts = {0, 0}; /* of the bank that takes most samples */
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        struct chunk_counts its = outputs_counts(p->pass.outputs, i);
        counts.missing = max_u64(counts.missing, its.missing);
        counts.clipped += its.clipped;
    }
    TRY(pass_print_notes(p, counts.missing, counts.clipped));
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        const struct channelise_plan_product *product = &work->products[i];
        if (!work->is_bank) {
            display_print(
                "%s: voltages, %s x %u %s, %u bits, %s\n", p->pass.job->products[i].file,
                units_amount(product->spec.rows, "sample", "samples"), work->seen->nstreams,
                units_plural(work->seen->nstreams, "stream", "streams"), product->spec.steps.bits,
                units_bytes(product->spec.rows * product->row_bytes));
            continue;
        }
        struct plan_products_shape shape = plan_products_shape_of(work, i);
        display_print("%s: %s, %s %s x %u %s x %llu %s, %s\n", p->pass.job->products[i].file,
                      product_name(product->spec.kind), units_count(product->spec.rows),
                      product->spec.integrate > 1
                          ? units_plural(product->spec.rows, "row", "rows")
                          : units_plural(product->spec.rows, "spectrum", "spectra"),
                      shape.columns, shape.what, (unsigned long long)shape.channels,
                      units_plural(shape.channels, "channel", "channels"),
                      units_bytes(product->spec.rows * product->row_bytes));
        TRY(pass_tell_of_clips(p, i));
    }
    struct pipeline_seconds spent = pipeline_seconds(p->pass.pipeline);
    display_print("%s of %u %s in %.2f s on %d %s: in %.1f MB/s, out %.1f MB/s (rank 0: "
                  "read %.2f s, compute %.2f s, write %.2f s)\n",
                  units_amount(p->archive->samples, "sample", "samples"), p->archive->nstreams,
                  units_plural(p->archive->nstreams, "stream", "streams"), seconds, p->pass.size,
                  units_plural((uint64_t)p->pass.size, "rank", "ranks"),
                  part * (double)work->input_bytes / seconds / 1e6,
                  part * (double)outputs_bytes(p->pass.outputs) / seconds / 1e6, spent.read,
                  spent.compute, spent.write);
    return STATUS_OK;
}

/* Warns of rows that this run has made, and reports them. */
static void pass_tell_of_rows_all(const struct channelise_pass *p)
{
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        const struct made_counts its = channelise_pipeline_counts(p->pass.pipeline, i);
        const uint64_t large = sum_u64_all(p->pass.comm, its.large);
        const uint64_t small = sum_u64_all(p->pass.comm, its.small);
        const uint64_t blanked = sum_u64_all(p->pass.comm, its.blanked);
        if (p->pass.rank == 0 && large > 0) {
            report_warn("%s: %s values are infinite: beyond 3.4e38, the largest 32-bit float: the "
                        "archive's volts are too large",
                        p->pass.job->products[i].file, units_count(large));
        }
        if (p->pass.rank == 0 && small > 0) {
            report_warn(
                "%s: %s values are 0 or have lost digits: below 1.2e-38, the smallest whole "
                "32-bit float: the archive's volts are too small",
                p->pass.job->products[i].file, units_count(small));
        }
        if (p->pass.rank == 0 && blanked > 0) {
            display_print("note: %s: %s of single streams %s NaN: too many of their samples are "
                          "missing (min_weight %g)\n",
                          p->pass.job->products[i].file, units_amount(blanked, "row", "rows"),
                          units_plural(blanked, "is", "are"),
                          p->pass.job->products[i].weights.least);
        }
    }
}

/* Reports the share of flagged cells of power, on rank 0. */
static status_t pass_tell_of_flags(const struct channelise_pass *p)
{
    for (uint32_t i = 0; i < p->pass.job->nproducts; i++) {
        struct product_flags flags;
        TRY(outputs_flags(p->pass.outputs, i, &flags));
        if (flags.count > 0) {
            double all = (double)flags.count / 100;
            display_print("%s: %.4g %% of %s cells are flagged (by kurtosis %.4g %%; %.4g %% have "
                          "none) and left out\n",
                          p->pass.job->products[i].file, (double)flags.flagged / all,
                          units_count(flags.count), (double)flags.by_kurtosis / all,
                          (double)flags.unknown / all);
        }
    }
    return STATUS_OK;
}

/* Warns of powers and dumps, summarises (or says how the time was spent), and leaves power that is
 * to be dedispersed. */
static status_t pass_conclude_bank(struct pass *pass)
{
    struct channelise_pass *p = (struct channelise_pass *)pass;
    struct run_times *times = pass->options->times;
    for (uint32_t i = 0; i < pass->job->nproducts && pass->rank == 0; i++) {
        p->between->files[i] = *outputs_identity(pass->outputs, i);
    }
    pass_tell_of_rows_all(p);
    for (int i = 0; i < RUN_STEPS && times; i++) {
        times->steps[i] += p->steps[i];
    }
    if (times) {
        times->samples += pass->work;
    } else if (pass->rank == 0) {
        TRY(pass_summarise(p, pass->ended_at - pass->started_at));
        TRY(pass_tell_of_flags(p));
    }
    if (device_carry_leave(p->between, p->backend, p->work)) {
        p->backend = NULL;
    }
    return STATUS_OK;
}

static status_t pass_check_input(const struct pass *pass)
{
    return archive_check_unchanged(((const struct channelise_pass *)pass)->archive);
}

status_t channelise_pass_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                             const struct run_options *options, const struct resume *skip,
                             double started, struct device_carry *between)
{
    static const struct pass_kind kind = {pass_prepare_all, pass_check_input, pass_conclude_bank};
    status_t st = STATUS_OK;
    struct channelise_pass p = {
        .archive = archive, .between = between, .skip = skip, .since = started};
    pass_begin(&p.pass, comm, job, options);
    p.pass.started_at = started;
    TRY_OUT(agree_all(
        comm, memory_zeroed(job->ndedisperse, sizeof *p.later, "passes to come", &p.later)));
    TRY_OUT(pass_do_all(&p.pass, &kind));
out:
    pass_end_later(&p);
    channelise_pass_end(&p, st);
    return st;
}
