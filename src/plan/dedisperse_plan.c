/* Works a dedispersion out: ifs, mask, DMs, delays, outputs; and the filterbank that is still to
 * come. */
#include "plan/dedisperse_plan.h"

#include "product/ifs.h"
#include "product/kind/bank_axes.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* Semi-coherent searches: which DMs are made of which filterbank, with delays of one origin. */

/* Finds the coherent DM of the filterbank in the grid; sets *out to grid->count if the job searches
 * all of them. */
static status_t share_find(const struct dedisperse_plan *d, const struct dispersion_grid *grid,
                           uint32_t *out)
{
    uint32_t which = 0;
    REQUIRE(d->fbh5->coherent.delay_hz, STATUS_USAGE,
            "%s: dedisperse.coherent: %s was not dedispersed coherently", d->job->path,
            d->fbh5->path);
    while (which < grid->count && grid->coherent[which] != d->fbh5->coherent.dm) {
        which++;
    }
    REQUIRE(which < grid->count, STATUS_USAGE,
            "%s: dedisperse.coherent: %s was dedispersed coherently to DM %.15g, which is none of "
            "them",
            d->job->path, d->fbh5->path, d->fbh5->coherent.dm);
    *out = job_is_semi_coherent(d->job) ? grid->count : which;
    return STATUS_OK;
}

/* A semi-coherent search (what->ncoherent > 0): spec->dms are the job's; keeps those that are to
 * be made, of the job all, of one of its filterbanks that one's share, with delays counted from the
 * origin of all. Fails with USAGE: a filterbank of another coherent DM, or of none, a share without
 * DMs; as dispersion_create(). */
static status_t dedisperse_plan_share(struct dedisperse_plan *d, const struct dispersion_spec *spec)
{
    struct dispersion_grid grid = {d->what->coherent, d->what->ncoherent};
    uint32_t only = 0;
    TRY(share_find(d, &grid, &only));
    TRY(memory_zeroed(spec->ndms, sizeof *d->each.coherent, "DMs", &d->each.coherent));
    for (uint32_t i = 0; i < grid.count; i++) {
        struct dispersion_share part = dispersion_grid_share(&grid, i, spec->dms, spec->ndms);
        for (uint32_t j = 0; j < part.count; j++) {
            d->each.coherent[part.first + j] = grid.coherent[i];
        }
    }
    struct dispersion_share mine = {0, spec->ndms};
    if (only < grid.count) {
        mine = dispersion_grid_share(&grid, only, spec->dms, spec->ndms);
        REQUIRE(mine.count > 0, STATUS_USAGE,
                "%s: dedisperse.coherent: of these DMs %.15g is the nearest of no DM", d->job->path,
                grid.coherent[only]);
    }
    TRY(dispersion_grid_settle(&grid, only, spec, &d->delays));
    memmove(d->each.dms, d->each.dms + mine.first, mine.count * sizeof *d->each.dms);
    memmove(d->each.coherent, d->each.coherent + mine.first, mine.count * sizeof *d->each.coherent);
    return STATUS_OK;
}

void dedisperse_plan_destroy(struct dedisperse_plan *d)
{
    if (d) {
        MEMORY_FREE(d->each.dms, d->each.coherent);
        dispersion_free(&d->delays);
        subbands_free(&d->steps);
        MEMORY_FREE(d->each.least, d->each.most, d->mask, d->ifs);
        text_free(&d->words.ifs);
        text_free(&d->words.plan);
        free(d);
    }
}

/* Its place in the job's list, for messages. */
static unsigned plan_number_of(const struct dedisperse_plan *d)
{
    return (unsigned)(d->what - d->job->dedisperse);
}

/* Powers alone may be added up. Of four ifs without names, two are usually none: Stokes parameters,
 * or the products of two polarisations that rawspec writes. */
static status_t plan_check_sum(const struct dedisperse_plan *d)
{
    enum { FULL = 4 };
    const struct fbh5 *fbh5 = d->fbh5;
    SCOPED(text_free) struct text powers = {0};
    REQUIRE(fbh5->is_ours || fbh5->pols || fbh5->nifs != FULL || d->what->nifs > 0, STATUS_USAGE,
            "%s: %s does not say what its 4 pols are (pol_type), and Stokes parameters or products "
            "of polarisations have no meaningful sum: dedisperse.%u.pols: which are added up?",
            d->job->path, fbh5->path, plan_number_of(d));
    for (uint32_t i = 0; i < d->nifs; i++) {
        if (d->nifs > 1 && !fbh5_is_power(fbh5, d->ifs[i])) {
            TRY(fbh5_powers(fbh5, &powers));
            TRY(report_fail(STATUS_USAGE,
                            "%s: the pols of %s are %s, and a sum with number %u means nothing: "
                            "dedisperse.%u.pols: one of them, or powers: %s",
                            d->job->path, fbh5->path, fbh5->pols, d->ifs[i], plan_number_of(d),
                            powers.data));
        }
    }
    return STATUS_OK;
}

/* Settles the ifs that are added up, in the file's order. */
static status_t plan_settle_ifs(struct dedisperse_plan *d)
{
    uint32_t there = d->fbh5->nifs;
    TRY(memory_zeroed(there, sizeof *d->ifs, "pols", &d->ifs));
    for (uint32_t i = 0; i < there; i++) {
        /* Our products: only I of Stokes parameters is summed, and the powers of coherencies. */
        int is_wanted = d->what->nifs == 0 && (!d->fbh5->is_ours || fbh5_is_power(d->fbh5, i));
        for (uint32_t j = 0; j < d->what->nifs; j++) {
            is_wanted |= d->what->ifs[j] == i;
        }
        if (is_wanted) {
            TRY(text_add(&d->words.ifs, "%s%u", d->nifs ? "," : "", i));
            d->ifs[d->nifs++] = i;
        }
    }
    for (uint32_t j = 0; j < d->what->nifs; j++) {
        REQUIRE(d->what->ifs[j] < there, STATUS_USAGE,
                "%s: dedisperse.%u.pols: is %u, but %s has %u (counted from 0)", d->job->path,
                plan_number_of(d), d->what->ifs[j], d->fbh5->path, there);
    }
    REQUIRE(d->what->nifs == 0 || d->what->nifs == d->nifs, STATUS_USAGE,
            "%s: dedisperse.%u.pols: a pol is there twice", d->job->path, plan_number_of(d));
    return plan_check_sum(d);
}

static status_t plan_settle_mask(struct dedisperse_plan *d)
{
    uint32_t nchannels = d->fbh5->nchannels;
    uint32_t left = nchannels;
    TRY(memory_zeroed(nchannels, 1, "a mask", &d->mask));
    for (uint32_t i = 0; i < d->what->nmask; i++) {
        const struct job_channels *range = &d->what->mask[i];
        REQUIRE(range->last < nchannels, STATUS_USAGE,
                "%s: dedisperse.%u.mask: channel %u, but %s has %u (counted from 0)", d->job->path,
                plan_number_of(d), range->last, d->fbh5->path, nchannels);
        for (uint32_t c = range->first; c <= range->last; c++) {
            left -= !d->mask[c];
            d->mask[c] = 1;
        }
    }
    return REQUIRED(left > 0, STATUS_USAGE,
                    "%s: dedisperse.%u.mask: leaves none of the %u channels of %s", d->job->path,
                    plan_number_of(d), nchannels, d->fbh5->path);
}

/* Sums over the channels that are not masked and finite. */
struct level {
    double sum, squares, there;
};

static void level_add(struct level *level, double value)
{
    level->sum += value;
    level->squares += value * value;
    level->there++;
}

/* Four sums of every fourth channel, so that an addition need not wait for the last one. */
static struct level plan_add_up(const struct dedisperse_plan *d, const double *sums)
{
    enum { LANES = 4 };
    static const uint8_t none[DEDISPERSE_SIXTEEN];
    struct level lanes[LANES] = {{0}};
    const uint32_t nchannels = d->fbh5->nchannels;
    for (uint32_t c = 0; c < nchannels;) {
        if (c + sizeof none <= nchannels && memcmp(d->mask + c, none, sizeof none) == 0) {
            for (uint32_t i = 0; i < sizeof none; i += LANES, c += LANES) {
                for (uint32_t k = 0; k < LANES; k++) {
                    level_add(&lanes[k], sums[c + k]);
                }
            }
            continue;
        }
        if (!d->mask[c]) {
            level_add(&lanes[0], sums[c]);
        }
        c++;
    }
    for (uint32_t k = 1; k < LANES; k++) {
        lanes[0].sum += lanes[k].sum;
        lanes[0].squares += lanes[k].squares;
        lanes[0].there += lanes[k].there;
    }
    if (isfinite(lanes[0].sum)) {
        return lanes[0];
    }
    lanes[0] = (struct level){0};
    for (uint32_t c = 0; c < nchannels; c++) {
        if (!d->mask[c] && isfinite(sums[c])) {
            level_add(&lanes[0], sums[c]);
        }
    }
    return lanes[0];
}

/* Subtracts the mean of the channels that are not masked: what comes at all frequencies at once is
 * gone, and dispersed bursts stay but for a part like their share of the band.
 *
 * All channels of whole numbers would then have the same fraction, and round alike, so that errors
 * would grow as the number of channels. So multiples of the mean are rounded, and a channel loses
 * the difference of two: errors of neighbours cancel. Within sixteen channels (the first that are
 * added, compute/dedisperse.h) they are rounded to a power of two of 2^-22 to 2^-21 of the rms, of
 * which floats hold sums of sixteen exactly; of whole sixteens to four times that, for sums of some
 * hundred. */
static void plan_level(const struct dedisperse_plan *d, double *sums)
{
    enum { DIGITS = 21, AFTER_SIXTEEN = 4, LAST = DEDISPERSE_SIXTEEN - 1 };
    const struct level level = plan_add_up(d, sums);
    const double mean = level.there > 0 ? level.sum / level.there : 0;
    const double square = level.there > 0 ? level.squares / level.there - mean * mean : 0;
    /* Added and subtracted, it rounds doubles to whole numbers of its last digit. */
    const double rounds =
        square > 0 ? ldexp(1.5, DBL_MANT_DIG - 1 + ilogb(sqrt(square)) - DIGITS) : 0;
    double steps[LAST];
    double within = 0;
    double before = 0;
    uint32_t number = 0;
    for (uint32_t k = 0; k < LAST; k++) {
        const double rounded = (k + 1) * mean + rounds - rounds;
        steps[k] = rounded - within;
        within = rounded;
    }
    for (uint32_t c = 0; c < d->fbh5->nchannels; c++) {
        if (d->mask[c]) {
            continue;
        }
        const uint32_t k = number++ % DEDISPERSE_SIXTEEN;
        if (k < LAST) {
            sums[c] -= steps[k];
        } else {
            const double large = AFTER_SIXTEEN * rounds;
            const double rounded = number * mean + large - large;
            sums[c] -= rounded - before - within;
            before = rounded;
        }
    }
}

/* Steps before dedispersion, in order. If the job enables one (an int at that offset of its struct
 * job_dedisperse), the host applies it to each sample, whose sums are floats then. */
static const struct {
    size_t wanted;
    void (*run)(const struct dedisperse_plan *d, double *sums);
} plan_steps[] = {{offsetof(struct job_dedisperse, is_zero_dm), plan_level}};
enum { PLAN_STEPS = sizeof plan_steps / sizeof *plan_steps };

static int plan_wants_step(const struct dedisperse_plan *d, size_t step)
{
    return *(const int *)(const void *)((const char *)d->what + plan_steps[step].wanted);
}

void dedisperse_plan_step(const struct dedisperse_plan *d, double *sums)
{
    for (size_t i = 0; i < PLAN_STEPS; i++) {
        if (plan_wants_step(d, i)) {
            plan_steps[i].run(d, sums);
        }
    }
}

/* Chooses the number format of sums of `terms` samples: exact as long as they are integers below
 * 2^24. */
static void plan_settle_input(struct dedisperse_plan *d)
{
    enum { MOST_U8 = 65535 / 255, MOST_U16_CHANNELS = 1 << 16 };
    struct dedisperse_plan_input *input = &d->input;
    uint64_t terms = d->nifs * d->what->downsample;
    uint32_t bytes = d->fbh5->sample_bytes;
    input->format = bytes == 1 ? SERIES_U8 : bytes == 2 ? SERIES_U16 : SERIES_F32;
    if (terms > 1) {
        input->format = bytes == 1 && terms <= MOST_U8 ? SERIES_U16 : SERIES_F32;
    }
    if (input->format == SERIES_U16 && d->fbh5->nchannels > MOST_U16_CHANNELS) {
        input->format = SERIES_F32;
    }
    for (size_t i = 0; i < PLAN_STEPS; i++) {
        input->has_steps |= plan_wants_step(d, i);
    }
    input->format = input->has_steps ? SERIES_F32 : input->format;
    input->is_reduced =
        input->has_steps || d->fbh5->nifs > 1 || terms > 1 || series_bytes(input->format) != bytes;
    input->samples = d->fbh5->rows / d->what->downsample;
    input->row_bytes = d->fbh5->nchannels * series_bytes(input->format);
}

static status_t plan_settle_constant(struct dedisperse_plan *d)
{
    d->constant = dispersion_default_constant;
    REQUIRE(!d->what->constant || dispersion_constant(d->what->constant, &d->constant),
            STATUS_USAGE,
            "%s: dedisperse.%u.constant: is %s, expected tempo, handbook, sigproc, codata or a "
            "positive number of s MHz^2 pc^-1 cm^3",
            d->job->path, plan_number_of(d), d->what->constant);
    for (uint32_t c = 0; c < d->fbh5->nchannels; c++) {
        d->reference_hz = fmax(d->reference_hz, d->fbh5->freq_hz[c]);
    }
    if (d->what->reference_hz > 0) {
        d->reference_hz = d->what->reference_hz;
    }
    return STATUS_OK;
}

static status_t plan_list_dms(struct dedisperse_plan *d, struct dispersion_spec *spec)
{
    const struct job_dms *dm = &d->what->dm;
    spec->ndms = dm->count;
    switch (dm->kind) {
    case DM_LINEAR:
        TRY(dispersion_linear(dm->start, dm->step, dm->count, &d->each.dms));
        TRY(text_add(&d->words.plan, "start %g, step %g, count %u", dm->start, dm->step,
                     dm->count));
        break;
    case DM_LIST:
        TRY(memory_zeroed(dm->count, sizeof *d->each.dms, "a list of DMs", &d->each.dms));
        memcpy(d->each.dms, dm->list, dm->count * sizeof *d->each.dms);
        TRY(text_add(&d->words.plan, "list of %u", dm->count));
        break;
    default:
        TRY(dispersion_tolerant(spec, dm->start, dm->end, dm->width, dm->tolerance, JOB_DMS,
                                &d->each.dms, &spec->ndms));
        TRY(text_add(&d->words.plan, "start %g, end %g, tolerance %g, width %g s", dm->start,
                     dm->end, dm->tolerance, dm->width));
        break;
    }
    spec->dms = d->each.dms;
    return STATUS_OK;
}

/* Plans two-step dedispersion, for which the delays of all DMs are made at once. */
static status_t plan_make_steps(struct dedisperse_plan *d)
{
    struct dispersion *delays = &d->delays;
    uint64_t bytes = 0;
    REQUIRE(multiply_u64(delays->ndms, (uint64_t)delays->nchannels * 4 * 4, &bytes) &&
                bytes <= d->job->memory,
            STATUS_USAGE,
            "%s: run.memory is %" PRIu64 " bytes, but in two steps the delays of %u DMs in %u "
            "channels alone need %" PRIu64,
            d->job->path, d->job->memory, delays->ndms, delays->nchannels, bytes);
    TRY(memory_zeroed((size_t)delays->ndms * delays->nchannels, sizeof *delays->table, "delays",
                      &delays->table));
    dispersion_rows(delays, 0, delays->ndms, delays->table);
    TRY(subbands_create(delays, d->what->group, &d->steps));
    free(memory_move(&delays->table));
    return STATUS_OK;
}

static status_t plan_make_delays(struct dedisperse_plan *d)
{
    struct dispersion_spec spec = {.freq_hz = d->fbh5->freq_hz,
                                   .nchannels = d->fbh5->nchannels,
                                   .reference_hz = d->reference_hz,
                                   .constant = d->constant,
                                   .coherent_dm = d->fbh5->coherent.dm,
                                   .coherent_constant = d->fbh5->coherent.constant,
                                   .delay_hz = d->fbh5->coherent.delay_hz,
                                   .sample_seconds =
                                       d->fbh5->time.step * (double)d->what->downsample};
    TRY(plan_list_dms(d, &spec));
    TRY(d->what->ncoherent > 0 ? dedisperse_plan_share(d, &spec)
                               : dispersion_settle(&spec, &d->delays));
    TRY(d->what->is_two_step ? plan_make_steps(d) : STATUS_OK);
    return dm_ranges_create(d);
}

/* Settles the number of outputs and their times. */
static status_t plan_settle_outputs(struct dedisperse_plan *d)
{
    double tsamp = d->fbh5->time.step;
    double step = tsamp * (double)d->what->downsample;
    uint64_t samples = d->input.samples;
    REQUIRE(samples > 0, STATUS_USAGE,
            "%s: dedisperse.%u.downsample: is %" PRIu64 ", but %s has %" PRIu64 " times",
            d->job->path, plan_number_of(d), d->what->downsample, d->fbh5->path, d->fbh5->rows);
    const struct overlap delays = overlap_delay(0, d->delays.largest);
    struct overlap_rows whole; /* outputs of which every sample is there */
    TRY(overlap_makes(&delays, 0, (struct overlap_rows){0, (int64_t)samples}, &whole));
    REQUIRE(d->what->is_padded || whole.end > 0, STATUS_USAGE,
            "%s: no valid output is left: delays of up to %u samples (%s) in an observation of "
            "%" PRIu64 " samples (%s): a smaller DM%s",
            d->job->path, d->delays.largest, units_seconds(d->delays.largest * step), samples,
            units_seconds((double)samples * step), d->what->search.file ? "" : ", or edges: pad");
    int64_t origin = d->delays.origin;
    d->outputs = d->what->is_padded ? samples : (uint64_t)whole.end;
    d->first = d->what->is_padded ? origin : 0;
    REQUIRE(d->outputs <= UINT32_MAX, STATUS_USAGE,
            "%s: %" PRIu64 " times, at most %u can be dedispersed in one job", d->job->path,
            d->outputs, UINT32_MAX);
    d->product.time.step = step;
    /* Samples that were added up are stamped with their mean. */
    d->product.time.first = d->fbh5->time.first + 0.5 * (double)(d->what->downsample - 1) * tsamp +
                            (d->what->is_padded ? 0 : (double)-origin * step);
    return STATUS_OK;
}

static void plan_describe_product(struct dedisperse_plan *d)
{
    struct dedispersed_spec *product = &d->product;
    int is_reference = backend_abilities(d->backend)->is_reference;
    d->spec = (struct product_spec){.kind = PRODUCT_DEDISPERSED,
                                    .job_text = d->what->text,
                                    .rows = d->delays.ndms,
                                    .series = product};
    /* One for all backends but the reference: they add alike. */
    d->spec.arithmetic = is_reference ? "reference: sums in double"
                         : d->input.format != SERIES_F32
                             ? "sums of integers, exact"
                             : "sums of floats, sixteen channels in "
                               "binary order, then of these; of more "
                               "than 4096 channels in blocks of 256 with "
                               "their rounding error";
    product->input = d->fbh5;
    product->dms = d->each.dms;
    product->coherent_dms = d->each.coherent;
    product->is_merged = job_is_semi_coherent(d->job);
    product->times = d->outputs;
    product->delays = &d->delays;
    product->constant = d->constant;
    product->reference_hz = d->reference_hz;
    product->mode = d->what->is_two_step ? "two-step" : "exact";
    product->edges = d->what->is_padded ? "pad" : "valid";
    product->plan = d->words.plan.data;
    product->error_samples = d->what->is_two_step ? d->steps.error : 0;
    product->downsample = d->what->downsample;
    product->is_zero_dm = d->what->is_zero_dm;
    product->mask = d->mask;
    product->ifs = d->words.ifs.data;
}

/* Returns how many of `trials` independent numbers of noise alone reach the threshold. */
static double boxes_expect_false(double threshold, double trials)
{
    return trials * 0.5 * erfc(threshold / sqrt(2));
}

/* Describes the peaks of a search: a row of cells for each DM. */
static status_t plan_describe_search(struct dedisperse_plan *d)
{
    static const double low_threshold = 3; /* below this, noise alone fills the table */
    const struct job_search *search = &d->what->search;
    if (!search->file) {
        return STATUS_OK;
    }
    uint64_t least = max_u64(BOXES_LEAST_TIMES, 2 * (uint64_t)search->widths);
    REQUIRE(d->outputs >= least, STATUS_USAGE,
            "%s: dedisperse.%u.search: each DM has only %s times: to measure noise, boxes of %u "
            "need at least %" PRIu64,
            d->job->path, plan_number_of(d), units_count(d->outputs), search->widths, least);
    d->bursts.boxes = boxes_of(search->widths, search->threshold, d->outputs);
    d->bursts.peaks = d->product;
    d->bursts.peaks.search = (struct dedispersed_search){
        .boxes = &d->bursts.boxes, .time = d->product.time, .most = search->most};
    d->bursts.peaks.times = boxes_cells(&d->bursts.boxes);
    d->bursts.peaks.time.step = PEAK_CELL * d->product.time.step;
    d->bursts.peaks.time.first =
        d->product.time.first + 0.5 * (PEAK_CELL - 1) * d->product.time.step;
    d->bursts.spec = d->spec;
    d->bursts.spec.kind = PRODUCT_CANDIDATES;
    d->bursts.spec.job_text = d->what->search_text;
    d->bursts.spec.series = &d->bursts.peaks;
    if (search->threshold < low_threshold) {
        const double all = (double)d->delays.ndms * (double)d->outputs;
        report_warn("dedisperse.%u.search.threshold: of %s single samples of all DMs, noise alone "
                    "lifts about %.3g to S/N %g, and wider boxes as well",
                    plan_number_of(d), units_count(d->delays.ndms * d->outputs),
                    boxes_expect_false(search->threshold, all), search->threshold);
    }
    return STATUS_OK;
}

status_t dedisperse_plan_create(const struct job *job, uint32_t number, const struct fbh5 *fbh5,
                                enum backend_kind backend, uint32_t threads,
                                const struct chunking *begun, struct dedisperse_plan **out)
{
    SCOPED(dedisperse_plan_destroy_at) struct dedisperse_plan *d = NULL;
    TRY(memory_zeroed(1, sizeof *d, "the plan", &d));
    d->job = job;
    d->what = &job->dedisperse[number];
    d->fbh5 = fbh5;
    d->backend = backend;
    d->threads = threads;
    TRY(fbh5_check_dispersed(fbh5));
    TRY(plan_settle_ifs(d));
    TRY(plan_settle_mask(d));
    plan_settle_input(d);
    TRY(plan_settle_constant(d));
    TRY(plan_make_delays(d));
    TRY(plan_settle_outputs(d));
    plan_describe_product(d);
    TRY(plan_describe_search(d));
    TRY(dedisperse_plan_cut(d, begun));
    *out = memory_move(&d);
    return STATUS_OK;
}

/* Lists them likewise, one a line. Fails with DEVICE (memory). */
static status_t ifs_list(const struct product_spec *spec, char **out)
{
    SCOPED(text_free) struct text lines = {0};
    SCOPED(h5_names_free) struct h5_names ifs = {0};
    TRY(ifs_name(spec, &ifs));
    for (size_t i = 0; i < ifs.count; i++) {
        TRY(text_add_line(&lines, ifs.names[i]));
    }
    *out = memory_move(&lines.data);
    return STATUS_OK;
}

status_t dedisperse_plan_foresee(const struct channelise_plan *work, uint32_t product,
                                 struct fbh5 **out)
{
    const struct archive *archive = work->seen;
    const struct product_spec *spec = &work->products[product].spec;
    struct time_axis time = product_time(spec);
    SCOPED(text_free) struct text pols = {0};
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    TRY(memory_text(work->job->products[product].file, &fbh5->path));
    TRY(memory_text(archive->sky.source, &fbh5->sky.source));
    TRY(memory_text(archive->sky.telescope, &fbh5->sky.telescope));
    if (archive->sky.has_position) { /* as it is read back */
        fbh5->head.raj_hours = archive->sky.ra_deg / 15;
        fbh5->head.dej_degrees = archive->sky.dec_deg;
        fbh5_settle_position(fbh5);
    }
    TRY(ifs_pol_type(spec, &pols));
    TRY(memory_text(pols.data, &fbh5->pols));
    TRY(ifs_list(spec, &fbh5->pol_names));
    fbh5->is_ours = 1;
    fbh5->sample_bytes = sizeof(float);
    fbh5->rows = spec->rows;
    fbh5->nchannels = (uint32_t)spec->frequencies;
    fbh5->nifs = spec->nifs;
    fbh5->time.step = time.step;
    fbh5->sky.has_start = archive->sky.has_start;
    fbh5->sky.start = archive->sky.start;
    fbh5->time.first = time.first;
    fbh5->reach = REACH_PIECES;
    TRY(memory_zeroed(fbh5->nchannels, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        fbh5->freq_hz[c] = bank_frequency(spec, c);
        REQUIRE(fbh5->freq_hz[c] > 0, STATUS_USAGE,
                "%s: channel %u of %s would be at %g Hz: only frequencies above 0 can be "
                "dedispersed (input.layout.freq_hz says where the band lies)",
                work->job->path, c, fbh5->path, fbh5->freq_hz[c]);
    }
    if (archive->coherent.delay_hz) {
        TRY(memory_zeroed(fbh5->nchannels, sizeof *fbh5->coherent.delay_hz, "frequencies",
                          &fbh5->coherent.delay_hz));
        fbh5->coherent.dm = archive->coherent.dm;
        fbh5->coherent.constant = archive->coherent.constant;
    }
    for (uint32_t c = 0; c < fbh5->nchannels && fbh5->coherent.delay_hz; c++) {
        fbh5->coherent.delay_hz[c] = bank_delay(spec, c);
    }
    *out = memory_move(&fbh5);
    return STATUS_OK;
}
