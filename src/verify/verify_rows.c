/* How rows of spectra and power are compared: streams or ifs, each by itself or with those that it
 * was combined with, beside what their rounding is relative to. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "input/read/reader.h"
#include "io/file.h"
#include "plan/channelise_plan.h"
#include "plan/visibilities_plan.h"
#include "product/ifs.h"

#include <math.h>

/* How large the samples are that go into filters: rounding is relative to them, whatever filters
 * leave of them. */

enum { PLACES = 8, MOST_SAMPLES = 1 << 14, MOST_BYTES = 16 << 20 };

/* Samples of the archive that are in memory. */
struct probe {
    struct slab *slab;
    reader_t *reader;
    size_t *re, *im;
    char *data;
    uint64_t count;
};

/* Noise of rms 1, as it is stored, becomes Y of this rms. */
static double input_gain(const struct channelise_plan *plan)
{
    double gain = 1;
    if (plan->filters->synthesis) { /* of as strong noise in all channels */
        const struct synthesise_spec *spec = &plan->filters->synthesis->spec;
        double energy = 0;
        for (uint64_t k = 0; k < (uint64_t)spec->taps * spec->points; k++) {
            energy += spec->coeff[k] * spec->coeff[k];
        }
        gain = sqrt(energy / spec->hop * spec->channels * (spec->is_real_out ? 2 : 1));
    }
    for (uint32_t i = 0; i < plan->filters->count; i++) {
        const struct filter_plan_stage *stage = &plan->filters->stages[i];
        const struct filter_coefficients *made = &stage->made;
        double energy = made->coeff ? 0 : stage->scale * stage->scale;
        for (size_t k = 0; made->coeff && k < (size_t)made->taps * (made->is_complex ? 2 : 1);
             k++) {
            energy += made->coeff[k] * made->coeff[k];
        }
        gain *= sqrt(energy);
    }
    double energy = 0;
    const struct channelise_plan_bank *bank = channelise_plan_bank_of(plan, 0);
    for (uint64_t i = 0; i < bank->channelise.taps * bank->samples_per_spectrum; i++) {
        energy += bank->coeff[i] * bank->coeff[i];
    }
    return gain * sqrt(energy);
}

/* The mean square of those samples of a stream that are there, and finite, if it is larger than
 * *most. */
static void input_look(const struct channelise_plan *plan, const struct probe *probe,
                       uint32_t stream, double *most)
{
    const struct sample_coding *coding = filter_plan_coding(plan->filters);
    const struct sample_input input = {probe->re, probe->im, (size_t)probe->slab->width};
    double sum = 0;
    uint64_t count = 0;
    for (uint64_t n = 0; n < probe->count; n++) {
        double volts[2] = {0, 0};
        sample_volts(coding, probe->data, &input, stream, (size_t)n, volts);
        double square = volts[0] * volts[0] + volts[1] * volts[1];
        if (isfinite(square) && square > 0) {
            sum += square;
            count++;
        }
    }
    *most = count > 0 ? fmax(*most, sum / (double)count) : *most;
}

static status_t input_open(const struct channelise_plan *plan, struct probe *probe)
{
    const struct archive *archive = plan->archive;
    TRY(slab_create(archive, stream_range(0, archive->nstreams), &probe->slab));
    TRY(reader_create(archive, plan->cache_bytes, 1, &probe->reader));
    uint64_t step = probe->slab->nblocks * probe->slab->width;
    probe->count = min_u64(archive->samples, min_u64(MOST_SAMPLES, max_u64(MOST_BYTES / step, 16)));
    TRY(memory_aligned((size_t)probe->count, (size_t)step, "samples", &probe->data));
    TRY(memory_zeroed(archive->nstreams, sizeof *probe->re, "offsets", &probe->re));
    TRY(memory_zeroed(archive->nstreams, sizeof *probe->im, "offsets", &probe->im));
    slab_offsets(probe->slab, probe->count, probe->re, probe->im);
    return STATUS_OK;
}

SCOPED_CALLS(probe_end, struct probe, free(at->re), free(at->im), free(at->data),
             reader_destroy(at->reader), slab_destroy(at->slab))

/* For rows of spectra and power after filters: what went into these, as struct agreement takes it,
 * from samples at some places of the archive.
 *
 *   *out   double [streams], free() returns it; NULL: there are no filters
 * Fails with DEVICE or DATA. */
static status_t verify_measure_input(const struct channelise_plan *plan, double **out)
{
    const struct archive *archive = plan->archive;
    SCOPED(probe_end) struct probe probe = {.slab = NULL};
    SCOPED(free_at) double *went_in = NULL;
    if (!plan->filters) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(archive->nstreams, sizeof *went_in, "samples' rms", &went_in));
    TRY(input_open(plan, &probe));
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t at = (archive->samples - probe.count) / (PLACES - 1) * i;
        status_t st = reader_read(probe.reader, probe.slab, archive->first_sample + at, probe.count,
                                  probe.data, NULL);
        if (st == STATUS_DATA && reader_is_unreadable(probe.reader)) {
            report_clear(); /* the function that needs it reports the failure */
            continue;
        }
        TRY(st);
        for (uint32_t s = 0; s < archive->nstreams; s++) {
            input_look(plan, &probe, s, &went_in[s]);
        }
    }
    /* The strongest of the signals that a synthesis makes one stream of. */
    const uint32_t fan = filter_plan_fan(plan->filters);
    for (uint32_t s = 0; s < archive->nstreams; s++) {
        double most = s % fan == 0 ? 0 : went_in[s / fan];
        went_in[s / fan] = fmax(most, sqrt(went_in[s]) * input_gain(plan));
    }
    *out = memory_move(&went_in);
    return STATUS_OK;
}

enum { MOST_TOGETHER = 4 };

struct verify_rows {
    const struct product_spec *spec;
    double *went_in; /* [streams] verify_measure_input(); NULL: no filters */
    int has_one;     /* all rows are made of several stations: one number for all lines */
    float *weights;  /* of a row, [ifs][coarse channels], of flagged power [ifs][frequencies]; NULL:
                        it was not renormalised */
    uint32_t products; /* of polarisations, of a pair of stations; 0: no visibilities */
    float *plain[2];   /* [room] a part before it was renormalised: found, expected */
    uint64_t room;
};

status_t verify_rows_create(const struct channelise_plan *plan, struct verify_rows **out)
{
    const struct product_spec *spec = &plan->products[0].spec;
    SCOPED(verify_rows_destroy_at) struct verify_rows *rows = NULL;
    TRY(memory_zeroed(1, sizeof *rows, "rows", &rows));
    rows->spec = spec;
    rows->products = plan->products[0].visibilities ? plan->products[0].visibilities->products : 0;
    TRY(verify_measure_input(plan, &rows->went_in));
    const int are_beams = plan->beams && !channelise_plan_is_apart(plan, 0);
    rows->has_one = are_beams || plan->products[0].visibilities;
    for (uint32_t i = 1; rows->went_in && rows->has_one && i < plan->archive->nstreams; i++) {
        rows->went_in[0] = fmax(rows->went_in[0], rows->went_in[i]);
    }
    if (rows->went_in && are_beams) {
        rows->went_in[0] *= sqrt((double)plan->array->stations);
    }
    if (spec->weights.divide) {
        TRY(memory_zeroed((size_t)ifs_weights(spec), sizeof *rows->weights, "weights",
                          &rows->weights));
    }
    *out = memory_move(&rows);
    return STATUS_OK;
}

void verify_rows_destroy(struct verify_rows *rows)
{
    if (rows) {
        MEMORY_FREE(rows->went_in, rows->weights, rows->plain[0], rows->plain[1], rows);
    }
}

double verify_rows_went_in(const struct verify_rows *rows)
{
    const struct product_spec *spec = rows->spec;
    double most = 0;
    double factor = spec->combine.weights ? 0 : 1;
    for (uint32_t i = 0; i < spec->combine.nweights; i++) {
        factor = fmax(factor, spec->combine.weights[i]);
    }
    const uint32_t count = rows->has_one ? 1 : spec->archive->nstreams;
    for (uint32_t i = 0; rows->went_in && i < count; i++) {
        most = fmax(most, rows->went_in[i]);
    }
    return most * sqrt(factor);
}

/* How a chunk's rows are judged: [groups][together][coarse][floats]. `together` lines are judged by
 * the statistics of all of them. Where channels were dropped, coarse channels are one. */
struct judged {
    uint32_t groups, together, coarse;
    uint32_t first; /* its number, of streams, or of ifs where these were finished */
    uint32_t first_coarse, all_coarse; /* that there are in `coarse`, where that is one */
    int has_ifs;
    uint64_t floats, channels;
    uint64_t first_channel;               /* of a line, where it has some of its channels */
    const struct agreement_whole *wholes; /* [groups][together]; NULL: all channels are there */
};

static struct judged rows_judged(const struct verify *verify, const struct product_spec *spec,
                                 const struct chunk *chunk, const struct agreement_whole *wholes)
{
    int is_crossed = spec->combine.polarisation == POLARISATION_IQUV ||
                     spec->combine.polarisation == POLARISATION_COHERENCY;
    const int are_coarse = chunk_is_coarse(chunk); /* then streams are judged as ifs, too */
    const struct chunk_kept kept = chunk_kept_of(&verify->row, chunk);
    struct judged judged = {.groups = chunk->streams,
                            .together = 1,
                            .coarse = 1,
                            .first = chunk->first_stream,
                            .has_ifs = wholes || ifs_are_combined(spec) || are_coarse,
                            .channels = spec->bank.nchannels,
                            .wholes = wholes};
    if (judged.has_ifs) {
        judged.together = is_crossed ? MOST_TOGETHER : 1;
        judged.groups =
            (uint32_t)chunk_share(verify->chunking, spec->nifs, chunk->streams) / judged.together;
        judged.first = (uint32_t)chunk_share(verify->chunking, spec->nifs, chunk->first_stream);
        judged.all_coarse = spec->archive->nselected[AXIS_CHAN];
        if (are_coarse) {
            judged.groups = spec->nifs / judged.together;
            judged.first = 0;
            judged.all_coarse = chunk->run;
            judged.first_coarse = chunk->first_stream;
        }
        judged.coarse = wholes ? 1 : judged.all_coarse;
        judged.channels = wholes ? kept.count : spec->bank.nchannels;
        judged.first_channel = kept.first;
    }
    judged.floats = judged.channels * (product_quantity(spec->kind) == QUANTITY_SPECTRA ? 2 : 1);
    return judged;
}

/* Some lines of a row. */
struct part {
    uint32_t first;                       /* stream or if */
    uint32_t coarse, ncoarse;             /* of an if: the coarse channels that it is of */
    const float *stored, *expected;       /* `stride` floats from one line to the next */
    const struct agreement_whole *wholes; /* [together] */
};

static struct part rows_part(const struct verify *verify, const struct judged *judged,
                             uint32_t index, const float *expected)
{
    uint32_t group = index / judged->coarse;
    uint32_t coarse = index % judged->coarse;
    uint64_t at = ((uint64_t)group * judged->together * judged->coarse + coarse) * judged->floats;
    return (struct part){.first = judged->first + group * judged->together,
                         .coarse = judged->first_coarse + coarse,
                         .ncoarse = judged->wholes ? judged->all_coarse : 1,
                         .stored = (const float *)(void *)verify->stored + at,
                         .expected = expected + at,
                         .wholes =
                             judged->wholes ? judged->wholes + group * judged->together : NULL};
}

/* The smallest weight of a part; those that are 0 left only NaN. */
static float rows_weight(const struct verify_rows *rows, const struct judged *judged,
                         const struct part *part)
{
    float least = 1;
    if (!rows->weights || rows->spec->flag.is_on) {
        return least; /* of flagged power each number has its own */
    }
    uint32_t all = judged->has_ifs ? rows->spec->archive->nselected[AXIS_CHAN] : 1;
    for (uint32_t i = 0; i < judged->together * part->ncoarse; i++) {
        uint32_t line = part->first + i / part->ncoarse;
        float weight = rows->weights[line * all + part->coarse + i % part->ncoarse];
        least = weight > 0 && weight < least ? weight : least;
    }
    return least;
}

/* The largest of what went into the streams that a part is made of, as it is added up. */
static double rows_went_in(const struct verify_rows *rows, const struct judged *judged,
                           const struct part *part)
{
    const struct product_spec *spec = rows->spec;
    const uint32_t *selected = spec->archive->nselected;
    double most = 0;
    if (!rows->went_in || rows->has_one || !judged->has_ifs) {
        return rows->went_in ? rows->went_in[rows->has_one ? 0 : part->first] : 0;
    }
    uint32_t together = ifs_streams(spec);
    uint32_t antenna = ifs_are_combined(spec) ? selected[AXIS_POL] : 1;
    uint32_t ifs =
        (uint32_t)((uint64_t)spec->nifs * together * selected[AXIS_CHAN] / spec->archive->nstreams);
    for (uint32_t i = 0; i < together; i++) {
        uint32_t line = part->first / ifs * together + i;
        uint32_t at = !spec->combine.sums_beams      ? line / antenna / selected[AXIS_BEAM]
                      : !spec->combine.sums_stations ? line / antenna % selected[AXIS_BEAM]
                                                     : line / antenna;
        double factor = spec->combine.weights ? sqrt(spec->combine.weights[at]) : 1;
        for (uint32_t k = 0; k < part->ncoarse; k++) {
            size_t stream = (size_t)line * selected[AXIS_CHAN] + part->coarse + k;
            most = fmax(most, factor * rows->went_in[stream]);
        }
    }
    return most;
}

/* Memory for parts of `floats` numbers: parts of a row differ where only some channels are kept. */
static status_t rows_make_room(struct verify_rows *rows, uint64_t floats)
{
    for (int i = 0; i < 2 && floats > rows->room; i++) {
        free(memory_move(&rows->plain[i]));
        TRY(memory_zeroed((size_t)floats, sizeof(float), "a row", &rows->plain[i]));
    }
    rows->room = max_u64(rows->room, floats);
    return STATUS_OK;
}

/* A part as it was before it was divided by its weight: what it rounds to is relative to that. Of
 * several weights the smallest is taken. */
static status_t rows_undo_weight(struct verify_rows *rows, const struct judged *judged,
                                 struct part *part, struct agreement_whole wholes[MOST_TOGETHER])
{
    float weight = rows_weight(rows, judged, part);
    uint64_t stride = judged->coarse * judged->floats;
    uint64_t floats = judged->together * stride;
    const float **const numbers[] = {&part->stored, &part->expected};
    if (weight == 1) {
        return STATUS_OK;
    }
    TRY(rows_make_room(rows, floats));
    for (int i = 0; i < 2; i++) {
        for (uint64_t k = 0; k < judged->together * judged->floats; k++) {
            uint64_t at = k / judged->floats * stride + k % judged->floats;
            rows->plain[i][at] = (*numbers[i])[at] * weight;
        }
        *numbers[i] = rows->plain[i];
    }
    for (uint32_t i = 0; part->wholes && i < judged->together; i++) {
        wholes[i].mean = part->wholes[i].mean * (double)weight;
        wholes[i].most = part->wholes[i].most * (double)weight;
        wholes[i].mean_square = part->wholes[i].mean_square * (double)weight * (double)weight;
    }
    part->wholes = part->wholes ? wholes : NULL;
    return STATUS_OK;
}

static status_t rows_compare_numbers(struct verify *verify, struct verify_rows *rows,
                                     const struct judged *judged, struct part part)
{
    const struct product_spec *spec = rows->spec;
    struct agreement *agreement = &verify->found.agreement;
    struct agreement_whole wholes[MOST_TOGETHER];
    TRY(rows_undo_weight(rows, judged, &part, wholes));
    agreement->went_in = rows_went_in(rows, judged, &part);
    if (judged->together == 1) {
        agreement_row(agreement, product_quantity(spec->kind), part.stored, part.expected,
                      judged->channels, spec->integrate, part.wholes);
    } else {
        int is_stokes = spec->combine.polarisation == POLARISATION_IQUV;
        (is_stokes ? agreement_stokes : agreement_coherency)(
            agreement, part.stored, part.expected, judged->coarse * judged->floats,
            judged->channels, spec->integrate, part.wholes);
    }
    return STATUS_OK;
}

/* Compares flagged power, where single numbers are NaN. Each number is multiplied by its weight
 * again, before which it was divided. */
static status_t rows_compare_flagged(struct verify *verify, struct verify_rows *rows,
                                     const struct judged *judged, const struct part *part,
                                     uint64_t row)
{
    uint64_t floats = judged->together * judged->coarse * judged->floats;
    struct part plain = *part;
    TRY(rows_make_room(rows, floats));
    for (uint64_t i = 0; i < judged->together * judged->floats; i++) {
        uint64_t line = part->first + i / judged->floats;
        uint64_t of = line * rows->spec->frequencies + judged->first_channel + i % judged->floats;
        float weight = rows->weights ? rows->weights[of] : 1;
        int is_blank = isnan(part->expected[i]);
        REQUIRE(is_blank == isnan(part->stored[i]), STATUS_DATA,
                "%s: row %llu: number %llu of pol %llu is %g, expected %g", verify->product->path,
                (unsigned long long)row, (unsigned long long)(i % judged->floats),
                (unsigned long long)line, (double)part->stored[i], (double)part->expected[i]);
        rows->plain[0][i] = is_blank ? 0 : part->stored[i] * weight;
        rows->plain[1][i] = is_blank ? 0 : part->expected[i] * weight;
    }
    plain.stored = rows->plain[0];
    plain.expected = rows->plain[1];
    return rows_compare_numbers(verify, rows, judged, plain);
}

/* Compares part of a row: NaN must be exactly where it is expected. */
static status_t rows_compare_part(struct verify *verify, struct verify_rows *rows,
                                  const struct judged *judged, const struct part *part,
                                  uint64_t row, int is_marked)
{
    int is_blank = 1;
    for (uint64_t i = 0; i < judged->floats && is_blank; i++) {
        is_blank = isnan(part->expected[i]);
    }
    if (!is_blank) {
        return rows_compare_numbers(verify, rows, judged, *part);
    }
    for (uint64_t i = 0; i < judged->together * judged->floats; i++) {
        uint64_t line = i / judged->floats;
        float number = part->stored[line * judged->coarse * judged->floats + i % judged->floats];
        REQUIRE(isnan(number), STATUS_DATA, "%s: row %llu %s, but number %llu of %s %u is %g",
                verify->product->path, (unsigned long long)row,
                is_marked ? "is marked in /provenance/holes"
                          : "has too few samples and must be NaN",
                (unsigned long long)(i % judged->floats), judged->has_ifs ? "pol" : "stream",
                part->first + (uint32_t)line, (double)number);
    }
    return STATUS_OK;
}

/* Visibilities, float [pairs][frequencies][products][2], line by line. */
static status_t rows_compare_visibilities(struct verify *verify, const struct verify_rows *rows,
                                          uint64_t row, const float *expected,
                                          const struct agreement_whole *wholes)
{
    const struct product_spec *spec = rows->spec;
    const uint32_t products = rows->products;
    const uint64_t pair = 2 * spec->frequencies * products;
    const float *stored = (const float *)(void *)verify->stored;
    for (uint64_t i = 0; i < spec->nifs * spec->frequencies * 2; i++) {
        REQUIRE(isnan(stored[i]) == isnan(expected[i]), STATUS_DATA,
                "%s: row %llu: number %llu is %g, expected %g", verify->product->path,
                (unsigned long long)row, (unsigned long long)i, (double)stored[i],
                (double)expected[i]);
    }
    for (uint32_t i = 0; i < spec->nifs; i++) {
        const uint64_t at = i / products * pair + 2 * (i % products);
        agreement_visibilities(&verify->found.agreement, stored + at, expected + at, 2 * products,
                               spec->frequencies, &wholes[i]);
    }
    return STATUS_OK;
}

status_t verify_rows_compare(struct verify *verify, struct verify_rows *rows,
                             const struct chunk *chunk, uint64_t row, int is_marked,
                             const float *expected, const struct agreement_whole *wholes)
{
    const struct product *product = verify->product;
    if (rows->products > 0) {
        return rows_compare_visibilities(verify, rows, row, expected, wholes);
    }
    struct judged judged = rows_judged(verify, rows->spec, chunk, wholes);
    if (rows->weights) {
        uint64_t bytes = product->weights * sizeof *rows->weights;
        TRY(file_read(verify->fd, product->path, product->place.weights_offset + row * bytes,
                      rows->weights, bytes));
    }
    for (uint32_t i = 0; i < judged.groups * judged.coarse && judged.floats > 0; i++) {
        struct part part = rows_part(verify, &judged, i, expected);
        TRY(rows->spec->flag.is_on
                ? rows_compare_flagged(verify, rows, &judged, &part, row)
                : rows_compare_part(verify, rows, &judged, &part, row, is_marked));
    }
    return STATUS_OK;
}
