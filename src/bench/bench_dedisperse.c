/* The cases of Sclocco et al. 2014, timed by trials. */
#include "bench/bench_dedisperse.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/boxcar.h"
#include "compute/device_side.h"
#include "dsp/dispersion/patterns.h"

#include <math.h>

static const double SEARCH_THRESHOLD = 7;

/* Bytes of series that are made and searched before the next: they stay in a processor's cache. */
enum { PIECE_BYTES = 16 << 20 };

struct bench_dedisperse {
    struct bench_dedispersion c;
    backend_t *backend;
    struct dispersion delays;
    struct subbands steps;
    struct dedisperse_spec spec;
    double seconds; /* of data */
    dedispersion_trial_t *trial;
};

const struct bench_telescope *bench_telescope(const char *name)
{
    /* apertif and lofar are the first and the fourth of Sclocco et al. 2014. */
    static const struct bench_telescope telescopes[] = {
        {"apertif", 1024, 1420e6, 0.29e6, 20000},
        {"askap", 336, 1130e6, 1e6, 1 / 1.26646875e-3},
        {"chime", 1024, 400e6 + 200e6 / 1024, 400e6 / 1024, 1 / 0.983e-3},
        {"lofar", 32, 138e6, 0.19e6, 200000},
        {"meerkat", 1024, 856e6 + 428e6 / 1024, 856e6 / 1024, 1 / 76.6e-6}};
    for (size_t i = 0; i < sizeof telescopes / sizeof *telescopes; i++) {
        if (strcmp(telescopes[i].name, name) == 0) {
            return &telescopes[i];
        }
    }
    return NULL;
}

void bench_dedisperse_destroy(bench_dedisperse_t *bench)
{
    if (!bench) {
        return;
    }
    dedispersion_trial_destroy(bench->trial);
    subbands_free(&bench->steps);
    dispersion_free(&bench->delays);
    free(bench);
}

static status_t bench_make_delays(bench_dedisperse_t *bench)
{
    const struct bench_dedispersion *c = &bench->c;
    const struct bench_telescope *telescope = c->telescope;
    SCOPED(free_at) double *freq = NULL;
    SCOPED(free_at) double *dms = NULL;
    TRY(memory_zeroed(telescope->nchannels, sizeof *freq, "frequencies", &freq));
    for (uint32_t i = 0; i < telescope->nchannels; i++) {
        freq[i] = telescope->bottom + i * telescope->width;
    }
    TRY(memory_zeroed(c->ndms, sizeof *dms, "DMs", &dms));
    for (uint32_t i = 0; i < c->ndms; i++) {
        dms[i] = i * c->dm_step;
    }
    struct dispersion_spec spec = {.freq_hz = freq,
                                   .nchannels = telescope->nchannels,
                                   .sample_seconds = 1 / telescope->rate,
                                   .dms = dms,
                                   .ndms = c->ndms};
    TRY(dispersion_create(&spec, &bench->delays));
    if (c->group > 0) {
        TRY(subbands_create(&bench->delays, c->group, &bench->steps));
        bench->spec.steps = &bench->steps;
    }
    return STATUS_OK;
}

status_t bench_dedisperse_create(backend_t *backend, const struct bench_dedispersion *c,
                                 bench_dedisperse_t **out)
{
    SCOPED(bench_dedisperse_destroy_at) bench_dedisperse_t *bench = NULL;
    TRY(memory_zeroed(1, sizeof *bench, "a benchmark", &bench));
    bench->c = *c;
    bench->backend = backend;
    TRY(bench_make_delays(bench));
    bench->spec.format = c->format;
    bench->spec.mode = c->mode;
    bench->spec.delays = &bench->delays;
    bench->spec.max_samples = max_u64((uint64_t)(c->seconds * c->telescope->rate + 0.5), 1);
    bench->spec.threads = c->threads;
    bench->seconds = (double)bench->spec.max_samples / c->telescope->rate;
    uint64_t least = max_u64(BOXES_LEAST_TIMES, 2 * (uint64_t)c->search);
    REQUIRE(c->search == 0 || bench->spec.max_samples >= least, STATUS_USAGE,
            "bench dedisperse: --search %u: each DM has only %llu times: to measure noise, at "
            "least %llu are needed, --seconds %g",
            c->search, (unsigned long long)bench->spec.max_samples, (unsigned long long)least,
            ceil(10 * (double)least / c->telescope->rate) / 10);
    *out = memory_move(&bench);
    return STATUS_OK;
}

/* One pass of the host's threads over all series. Counts peaks that are not those of `found`, if
 * there is one. */
static void bench_search_rows(boxcar_t *boxcar, const struct boxes *boxes,
                              const struct boxcar_rows *rows, struct peak *peaks,
                              const struct peak *found, uint32_t *wrong)
{
    for (uint64_t time = 0; time < boxes->outputs;) {
        struct boxes_block block = boxes_block_at(boxes, time);
        uint64_t count = rows->ndms * ceil_div_u64(block.end - block.first, PEAK_CELL);
        boxcar_run(boxcar, &block, rows, peaks);
        for (uint64_t i = 0; i < count && found; i++) {
            *wrong += memcmp(&found[i], &peaks[i], sizeof *peaks) != 0;
        }
        found = found ? found + count : NULL;
        time = block.end;
    }
}

/* Times the search by the host's threads; or, with `found`, searches once and compares. */
static status_t bench_search_host(const bench_dedisperse_t *bench, const struct boxes *boxes,
                                  const struct peak *found, struct bench_dedispersed *out)
{
    const struct bench_dedispersion *c = &bench->c;
    SCOPED(free_at) struct peak *peaks = NULL;
    SCOPED(boxcar_destroy_at) boxcar_t *boxcar = NULL;
    void *series = NULL;
    struct boxcar_rows rows = {.ndms = c->ndms};
    TRY(buffer_get(dedispersion_trial_series(bench->trial, &rows.stride), &series));
    rows.rows = series;
    TRY(memory_aligned(c->ndms, (size_t)boxes->block / PEAK_CELL * sizeof *peaks, "peaks", &peaks));
    TRY(boxcar_create(boxes, c->threads, &boxcar));
    for (uint32_t i = 0; i < (found ? 1 : c->repeats); i++) {
        double started = clock_now();
        bench_search_rows(boxcar, boxes, &rows, peaks, found, &out->wrong);
        double now = clock_now() - started;
        out->search = found || (i > 0 && out->search < now) ? out->search : now;
    }
    return STATUS_OK;
}

/* Sums of a piece of time and then its blocks, piece by piece. */
struct together {
    dedisperse_t *stage;
    boxcar_t *boxcar;
    buffer_t *series;
    struct peak *peaks;
    uint64_t piece, stride;
};

static status_t bench_run_together(const struct bench_dedisperse *bench, const struct boxes *boxes,
                                   const struct together *t, double *search)
{
    struct dedisperse_input input;
    buffer_t *in = dedispersion_trial_samples(bench->trial, &input);
    size_t begin = input.offset;
    void *series = NULL;
    for (uint64_t time = 0; time < boxes->outputs; time += t->piece) {
        uint64_t end = min_u64(time + t->piece, boxes->outputs);
        struct boxcar_rows rows = {
            .ndms = bench->c.ndms, .stride = t->stride, .from = boxes_need_from(boxes, time, end)};
        input.offset = begin + rows.from * input.time_step;
        TRY(dedisperse_run(t->stage, in, &input, boxes_need_end(boxes, end) - rows.from, t->series,
                           t->stride));
        TRY(buffer_get(t->series, &series));
        rows.rows = series;
        double started = clock_now();
        for (uint64_t at = time; at < end;) {
            struct boxes_block block = boxes_block_at(boxes, at);
            boxcar_run(t->boxcar, &block, &rows, t->peaks);
            at = block.end;
        }
        *search += clock_now() - started;
    }
    return STATUS_OK;
}

SCOPED_CALLS(together_end, struct together, buffer_destroy(at->series), stage_destroy(at->stage),
             boxcar_destroy(at->boxcar), free(at->peaks))

/* Times the search on series that the host dedisperses, piece by piece. */
static status_t bench_search_together(const struct bench_dedisperse *bench,
                                      const struct boxes *boxes,
                                      const struct dedisperse_shape *shape,
                                      struct bench_dedispersed *out)
{
    const struct bench_dedispersion *c = &bench->c;
    struct dedisperse_spec spec = bench->spec;
    uint64_t blocks = PIECE_BYTES / (c->ndms * boxes->block * sizeof(float));
    SCOPED(together_end) struct together t = {.piece = max_u64(blocks, 1) * boxes->block};
    /* The last, short block's noise reaches back. */
    spec.max_samples = min_u64(t.piece + boxes->block + boxes->widths, boxes->outputs);
    spec.shape = shape ? *shape : spec.shape;
    t.stride = ceil_div_u64(spec.max_samples, PEAK_CELL) * PEAK_CELL;
    TRY(dedisperse_create(bench->backend, &spec, &t.stage));
    TRY(boxcar_create(boxes, c->threads, &t.boxcar));
    TRY(buffer_create(bench->backend, BUFFER_OUT, c->ndms * t.stride * sizeof(float), &t.series));
    TRY(memory_aligned(c->ndms, (size_t)boxes->block / PEAK_CELL * sizeof *t.peaks, "peaks",
                       &t.peaks));
    for (uint32_t i = 0; i < c->repeats; i++) {
        double now = 0;
        TRY(bench_run_together(bench, boxes, &t, &now));
        out->search = i == 0 || now < out->search ? now : out->search;
    }
    return STATUS_OK;
}

/* Times the search on the device, by the device's clock. */
static status_t bench_search_device(const bench_dedisperse_t *bench, const struct boxes *boxes,
                                    peaks_t *peaks, struct bench_dedispersed *out)
{
    const struct bench_dedispersion *c = &bench->c;
    struct peaks_rows rows = {.nseries = c->ndms};
    buffer_t *series = dedispersion_trial_series(bench->trial, &rows.stride);
    SCOPED(buffer_destroy_at) buffer_t *buffer = NULL;
    void *found = NULL;
    TRY(buffer_create(bench->backend, BUFFER_OUT,
                      c->ndms * boxes_cells(boxes) * sizeof(struct peak), &buffer));
    for (uint32_t i = 0; i < c->repeats; i++) {
        double steps[DEVICE_STEPS];
        TRY(peaks->ops->run(peaks, series, &rows, 0, boxes->outputs, buffer));
        TRY(stage_times(peaks, steps));
        out->search = i == 0 ? steps[STEP_DETECT] : fmin(out->search, steps[STEP_DETECT]);
    }
    TRY(buffer_get(buffer, &found));
    return bench_search_host(bench, boxes, found, out);
}

/* Times the search on the device or the host; the fastest repeat counts. */
static status_t bench_search(const bench_dedisperse_t *bench, const struct dedisperse_shape *shape,
                             struct bench_dedispersed *out)
{
    const struct boxes boxes = boxes_of(bench->c.search, SEARCH_THRESHOLD, bench->spec.max_samples);
    SCOPED(stage_destroy_at) peaks_t *peaks = NULL;
    TRY(peaks_create(bench->backend, &boxes, 1, &peaks));
    return peaks ? bench_search_device(bench, &boxes, peaks, out)
           : backend_abilities(backend_which(bench->backend))->finds_peaks
               ? bench_search_host(bench, &boxes, NULL, out)
               : bench_search_together(bench, &boxes, shape, out);
}

status_t bench_dedisperse_time(bench_dedisperse_t *bench, const struct dedisperse_shape *shape,
                               struct text *words, struct bench_dedispersed *out)
{
    struct trial_times times;
    TRY(bench->trial ? STATUS_OK
                     : dedispersion_trial_create(bench->backend, &bench->spec, &bench->trial));
    TRY(dedispersion_trial_time(bench->trial, shape, bench->c.repeats, 1, NULL, words, &times));
    const double *steps = times.best.steps;
    *out = (struct bench_dedispersed){.seconds = times.best.seconds,
                                      .transpose = steps[STEP_DEINTERLEAVE],
                                      .upload = steps[STEP_UPLOAD],
                                      .download = steps[STEP_DOWNLOAD],
                                      .adds = bench_dedisperse_adds(bench),
                                      .realtime = bench->seconds /
                                                  (times.best.seconds + steps[STEP_DEINTERLEAVE]),
                                      .wrong = times.wrong};
    return bench->c.search > 0 ? bench_search(bench, shape, out) : STATUS_OK;
}

double bench_dedisperse_adds(const bench_dedisperse_t *bench)
{
    return (double)bench->spec.max_samples * bench->c.ndms * bench->c.telescope->nchannels;
}

status_t bench_dedisperse_gain(const bench_dedisperse_t *bench, double *out)
{
    const struct dispersion *delays = &bench->delays;
    uint32_t group = 0;
    return patterns_gain(delays->table, delays->ndms, delays->nchannels, &group, out);
}

const struct dedisperse_spec *bench_dedisperse_spec(const bench_dedisperse_t *bench)
{
    return &bench->spec;
}
