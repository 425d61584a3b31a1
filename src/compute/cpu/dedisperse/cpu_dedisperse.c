/* Dedispersion on CPUs: the samples are transposed, so that each channel's are in a row, then
 * threads take tiles of time and DMs, by brute force or in a tree, or of time and steps of two-step
 * dedispersion. */
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/dedisperse/cpu_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE_DMS = 16,
    MOST_TILE_DMS = 64,
    CACHE_BYTES = 512 << 10, /* of L2, for the rows of a piece of time */
    MOST_STRIPS = 64         /* of a piece */
};

/* Rows of channels or sub-bands, and their delays.
 *
 *   rows     [nrows][stride bytes]   readable for a strip beyond the last sample that is needed
 *   delays   uint32 [ndms][nrows]    in samples
 *   tile     DMs of a tile, at most MOST_TILE_DMS; TILE_DMS by default
 *   limit    rows after which sums are flushed: a multiple of STRIP_CHUNK, or less than that */
struct tile_rows {
    const struct strip_kernel *kernel;
    const char *rows;
    size_t stride;
    const uint32_t *delays;
    uint32_t nrows, ndms, tile, limit;
};

/* Memory of one thread. */
struct tile_scratch {
    _Alignas(64) char sums[MOST_TILE_DMS][STRIP_SUMS];
    _Alignas(64) char totals[MOST_TILE_DMS][STRIP_TOTALS];
};

/* Sums of one strip of some DMs into the scratch's totals; `at` bytes into the rows. */
static void tiles_sum_strip(const struct tile_rows *in, struct tile_scratch *scratch, size_t at,
                            const uint32_t *delays, uint32_t ndms)
{
    const struct strip_kernel *kernel = in->kernel;
    uint32_t chunk = in->limit < STRIP_CHUNK ? in->limit : STRIP_CHUNK;
    memset(scratch->totals, 0, ndms * sizeof scratch->totals[0]);
    for (uint32_t r = 0; r < in->nrows; r += chunk) {
        uint32_t count = in->nrows - r < chunk ? in->nrows - r : chunk;
        int begins = r == 0 || (r % in->limit == 0 && !kernel->is_float);
        int ends = r + count == in->nrows || (r + chunk) % in->limit == 0;
        for (uint32_t d = 0; d < ndms; d++) {
            kernel->add(in->rows + r * in->stride + at, in->stride,
                        delays + (size_t)d * in->nrows + r, count, begins, scratch->sums[d]);
            if (ends) {
                kernel->flush(scratch->sums[d], scratch->totals[d]);
            }
        }
    }
}

/* Sums rows: out[d][t] = sum over rows r of rows[r][t + delays[d][r]], t < samples.
 *
 * A tile of DMs goes over all strips before the next one does: the rows of `samples` are
 * meant to stay in L2. Within a strip, STRIP_CHUNK rows serve all DMs of the tile from L1.
 *
 *   out   float [ndms][out_stride] */
static void tiles_sum(const struct tile_rows *in, struct tile_scratch *scratch, uint64_t samples,
                      float *out, uint64_t out_stride)
{
    const struct strip_kernel *kernel = in->kernel;
    size_t strip = STRIP_BYTES / kernel->sample_bytes;
    for (uint32_t dm = 0; dm < in->ndms; dm += in->tile) {
        uint32_t ndms = (uint32_t)min_u64(in->tile, in->ndms - dm);
        for (uint64_t t = 0; t < samples; t += strip) {
            tiles_sum_strip(in, scratch, t * kernel->sample_bytes,
                            in->delays + (size_t)dm * in->nrows, ndms);
            for (uint32_t d = 0; d < ndms; d++) {
                kernel->give(scratch->totals[d], (size_t)min_u64(strip, samples - t),
                             out + (dm + d) * out_stride + t);
            }
        }
    }
}

static int transpose_are_neighbours(const uint32_t *channels, uint32_t count)
{
    return channels[count - 1] - channels[0] == count - 1;
}

/* out[i][t] = sample t of channel channels[i], i < count, t < times.
 *
 *   from    byte distances time_step and channel_step between samples; any alignment
 *   out     [count][out_stride bytes]
 *
 * Fast where samples of one time, or of one channel, are neighbours. sample_bytes is 1, 2 or 4. */
static void transpose_samples(const struct cpu_kernels *kernels, const char *from, size_t time_step,
                              size_t channel_step, size_t sample_bytes, const uint32_t *channels,
                              uint32_t count, size_t times, char *out, size_t out_stride)
{
    const uint32_t side = (uint32_t)(16 / sample_bytes);
    const size_t whole = channel_step == sample_bytes ? times / side * side : 0;
    for (uint32_t i = 0; i < count; i += side) {
        const uint32_t n = (uint32_t)min_u64(count - i, side);
        const size_t done = n == side && transpose_are_neighbours(channels + i, n) ? whole : 0;
        kernels->turn(sample_bytes, from + channels[i] * channel_step, time_step, done, out_stride,
                      out + i * out_stride);
        for (uint32_t k = i; k < i + n; k++) {
            const char *row = from + channels[k] * channel_step + done * time_step;
            char *to = out + k * out_stride + done * sample_bytes;
            if (time_step == sample_bytes) {
                memcpy(to, row, (times - done) * sample_bytes);
            } else {
                kernels->gather(sample_bytes, row, time_step, times - done, sample_bytes, to);
            }
        }
    }
}

/* Which cuts of the loops there are, by brute force and in a tree, and what each may cost. */

static struct dedisperse_shape cuts_shape(uint32_t group, uint32_t strips, uint32_t dms)
{
    return (struct dedisperse_shape){.staging = STAGING_STRIPS,
                                     .pack = 1,
                                     .time_items = 1,
                                     .dm_items = 1,
                                     .time_out = strips,
                                     .dm_out = dms,
                                     .chunk = STRIP_CHUNK,
                                     .group = group};
}

/* The usual shapes: brute force over this many rows, and what is expected to be the fastest that
 * the spec's mode allows for `nused` channels. */
static struct dedisperse_shape cpu_dedisperse_brute(uint32_t nrows)
{
    /* The rows of a piece fit the cache. */
    uint64_t fit = CACHE_BYTES / ((uint64_t)nrows * STRIP_BYTES);
    return cuts_shape(0, (uint32_t)(fit < 1 ? 1 : min_u64(fit, MOST_STRIPS)), TILE_DMS);
}

/* Delays of a tile of DMs in the middle, without channels that are masked. */
static status_t cuts_sample(const struct dedisperse_spec *spec, uint32_t ndms, uint32_t *nused,
                            uint32_t **out)
{
    const struct dispersion *from = spec->delays;
    uint32_t first = (from->ndms - ndms) / 2;
    uint32_t *delays = NULL;
    size_t n = 0;
    TRY(memory_zeroed((size_t)ndms * from->nchannels, sizeof *delays, "delays", &delays));
    for (size_t dm = first; dm < (size_t)first + ndms; dm++) {
        for (uint32_t c = 0; c < from->nchannels; c++) {
            if (!spec->mask || !spec->mask[c]) {
                delays[n++] = from->table[dm * from->nchannels + c];
            }
        }
    }
    *nused = (uint32_t)(n / ndms);
    *out = delays;
    return STATUS_OK;
}

/* The additions of a tree, of brute force's as 1, in a tile of the middle; infinite when nothing
 * knows, or when it would be brute force after all. */
static double cuts_adds(const struct dedisperse_spec *spec, const struct dedisperse_shape *shape)
{
    struct dedisperse_table table = {.nrows = (uint32_t)min_u64(shape->dm_out, spec->delays->ndms)};
    cpu_tree_t *tree = NULL;
    double adds = INFINITY;
    if (cuts_sample(spec, table.nrows, &table.nused, &table.delays) == STATUS_OK &&
        table.nused > 0 &&
        cpu_tree_create(&table, spec->format, shape, strip_kernels(simd_best()), &tree) ==
            STATUS_OK) {
        adds = tree ? 1 / cpu_tree_gain(tree) : INFINITY;
    } else {
        report_clear();
    }
    cpu_tree_destroy(tree);
    free(table.delays);
    return adds;
}

/* Returns the time until the last thread ends, relative to that if all ended together. */
static double cuts_imbalance(const struct dedisperse_spec *spec,
                             const struct dedisperse_shape *shape)
{
    uint64_t strip = STRIP_BYTES / (spec->format == SERIES_U8 ? sizeof(uint16_t) : 4);
    uint64_t threads = spec->threads > 0 ? spec->threads : 1;
    uint64_t tasks = ceil_div_u64(max_u64(spec->max_samples, 1), shape->time_out * strip) *
                     ceil_div_u64(spec->delays->ndms, shape->dm_out);
    return (double)(ceil_div_u64(tasks, threads) * threads) / (double)tasks;
}

/* Brute force: twice the rows that the cache holds, or half of them, and other tiles than the
 * usual one cost some percent: more is not known, measuring is quick. Of a tree: what an addition
 * of it takes beside one of brute force, measured over its shapes on processors of AMD's and
 * Intel's. */
static double cuts_expected(const struct dedisperse_spec *spec,
                            const struct dedisperse_shape *shape)
{
    static const double tree_costs[] = {[SERIES_U8] = 1.9, [SERIES_U16] = 2.5, [SERIES_F32] = 1.6};
    const double rate = 2e10; /* of a thread, adds a second */
    double rows = spec->steps ? spec->steps->ngroups : spec->delays->nchannels;
    double adds = (double)spec->max_samples * spec->delays->ndms * rows;
    double all = adds / (rate * (spec->threads > 0 ? spec->threads : 1));
    if (shape->group > 0) {
        return all * cuts_imbalance(spec, shape) *
               (0.05 + tree_costs[spec->format] * cuts_adds(spec, shape));
    }
    double cache = fabs(log2(rows * shape->time_out * STRIP_BYTES / CACHE_BYTES));
    double tile = fabs(log2((double)shape->dm_out / TILE_DMS));
    return all * (1 + 0.05 * cache + 0.05 * tile);
}

static struct dedisperse_shape cpu_dedisperse_best(const struct dedisperse_spec *spec,
                                                   uint32_t nused)
{
    enum { TREE_STRIPS = 2, TREES = 12 };
    static const uint32_t dms[] = {256, 128, 64, 32};
    struct dedisperse_shape best = cpu_dedisperse_brute(nused);
    double least = spec->mode == DEDISPERSE_TREE ? INFINITY : cuts_expected(spec, &best);
    for (uint32_t i = 0; i < TREES && spec->mode != DEDISPERSE_BRUTE; i++) {
        struct dedisperse_shape tree =
            cuts_shape((uint32_t)TREE_LEAST_GROUP << i % 3, TREE_STRIPS, dms[i / 3]);
        double cost = cuts_expected(spec, &tree);
        if (cost < least || best.group < (spec->mode == DEDISPERSE_TREE)) {
            least = cost;
            best = tree;
        }
    }
    return best;
}

static const char *cuts_object_to_tree(const struct dedisperse_shape *shape)
{
    return shape->group != 4 && shape->group != 8 && shape->group != 16
               ? "groups have 4, 8 or 16 channels"
           : shape->time_out < 1 || shape->time_out > TREE_MOST_STRIPS
               ? "pieces of a tree have 1 to 8 strips"
           : shape->dm_out < 1 || shape->dm_out > TREE_MOST_DMS
               ? "tiles of a tree have 1 to 256 DMs"
           : shape->dm_out * shape->time_out > TREE_MOST_AREA
               ? "tiles of a tree have at most 512 strips of DMs"
               : NULL;
}

static const char *cuts_object_to_brute(const struct dedisperse_shape *shape)
{
    return shape->time_out < 1 || shape->time_out > MOST_STRIPS ? "pieces have 1 to 64 strips"
           : shape->dm_out < 1 || shape->dm_out > MOST_TILE_DMS ? "tiles have 1 to 64 DMs"
                                                                : NULL;
}

/* Returns whether the loops can be cut into strips of time and tiles of DMs as the shape says, with
 * groups or without (compute/dedisperse.h). */
static int cpu_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                               const struct dedisperse_shape *shape, double *cost, const char **why)
{
    (void)backend;
    *why = shape->staging != STAGING_STRIPS ? "CPUs take strips"
           : shape->pack != 1 || shape->time_items != 1 || shape->dm_items != 1 ||
                   shape->chunk != STRIP_CHUNK || shape->skew != 0 || shape->is_ptx != 0
               ? "expected strips:1:1x1:STRIPSxDMS:32:0:0, or with :GROUP"
           : shape->group > 0 ? cuts_object_to_tree(shape)
                              : cuts_object_to_brute(shape);
    *cost = *why ? INFINITY : cuts_expected(spec, shape);
    return *why == NULL;
}

/* One after the others, but for a tree that would be brute force after all where that is in the
 * list, too. */
static void cuts_put(const struct dedisperse_spec *spec, struct dedisperse_shape shape,
                     struct dedisperse_candidate *list, uint32_t *count)
{
    double cost = cuts_expected(spec, &shape);
    if (isfinite(cost) || spec->mode == DEDISPERSE_TREE) {
        list[(*count)++] = (struct dedisperse_candidate){.shape = shape, .cost = cost};
    }
}

static status_t cpu_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                          struct dedisperse_candidate **out, uint32_t *count)
{
    static const uint32_t strips[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
    static const uint32_t dms[] = {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
    enum { STRIPS = sizeof strips / sizeof *strips, DMS = sizeof dms / sizeof *dms, GROUPS = 4 };
    struct dedisperse_candidate *list = NULL;
    uint32_t n = 0;
    (void)backend;
    TRY(memory_zeroed((size_t)STRIPS * DMS * GROUPS, sizeof *list, "shapes", &list));
    for (uint32_t i = 0; i < STRIPS * DMS; i++) {
        struct dedisperse_shape shape = cuts_shape(0, strips[i % STRIPS], dms[i / STRIPS]);
        if (spec->mode != DEDISPERSE_TREE && !cuts_object_to_brute(&shape)) {
            cuts_put(spec, shape, list, &n);
        }
        for (shape.group = 4; shape.group <= TREE_MOST_GROUP; shape.group *= 2) {
            if (spec->mode != DEDISPERSE_BRUTE && !spec->steps && shape.dm_out >= 16 &&
                !cuts_object_to_tree(&shape)) {
                cuts_put(spec, shape, list, &n);
            }
        }
    }
    *out = list;
    *count = n;
    return STATUS_OK;
}

enum {
    TRANSPOSE_TIMES = 512, /* samples of a task that transposes */
    TRANSPOSE_CHANNELS = 64,
    TASKS = 8,                    /* of a thread at least, so that all end together */
    SLACK = 2 * STRIP_BYTES + 64, /* bytes that a strip may reach beyond a row */
    STREAMED_BYTES = 64 << 20     /* of output and more: written past the caches */
};

struct cpu_dedisperse {
    struct dedisperse base;
    pool_t *pool;
    const struct cpu_kernels *kernels;
    struct dedisperse_table table;
    const struct strip_kernel *first, *second; /* of channels; of sub-bands, in two steps */
    size_t stride, sub_stride;                 /* bytes of a row, and of a sub-band's */
    uint64_t piece;                            /* samples of a task */
    uint32_t tile;                             /* DMs that share strips */
    char *rows;                                /* [nused][stride] transposed samples */
    struct tile_scratch *scratch;              /* [threads] */
    cpu_tree_t *tree;                          /* NULL: brute force, or two steps */
    size_t tree_stride;                        /* bytes of a thread's memory for it */
    char *tree_scratch;                        /* [threads][tree_stride] */
    char *sub;                                 /* [threads][ngroups][sub_stride] */
    uint32_t *lead, *outer;                    /* [nsteps][ngroups] least outer delay of a step,
                                                  [ndms][ngroups] less that */
    uint32_t *span, reach; /* [nsteps][ngroups] the maximum `outer` of a step, and of all */
    /* The run that is under way. */
    uint64_t number, samples, out_stride;
    struct dedisperse_input input;
    const char *in;
    float *out;
    uint32_t parts;  /* of the DMs */
    int is_streamed; /* written past the caches: the rows of a tree are larger than these */
};

static int dedisperse_in_steps(const struct cpu_dedisperse *d)
{
    return d->base.spec.steps != NULL;
}

/* Rows of one stride would fall on each other in a cache if that were a power of two. */
static size_t dedisperse_odd_lines(uint64_t bytes)
{
    return (size_t)(ceil_div_u64(bytes, 64) | 1) * 64;
}

static size_t dedisperse_row_bytes(const struct dedisperse_spec *spec)
{
    uint64_t samples = dedisperse_inputs(spec, spec->max_samples);
    return dedisperse_odd_lines(samples * series_bytes(spec->format) + SLACK);
}

/* Splits the outer delays of every step into the least and the rest. */
static status_t dedisperse_split_outer(struct cpu_dedisperse *d)
{
    const struct subbands *steps = d->base.spec.steps;
    uint32_t n = steps->ngroups;
    TRY(memory_zeroed((size_t)steps->nsteps * n, sizeof *d->lead, "delays", &d->lead));
    TRY(memory_zeroed((size_t)steps->nsteps * n, sizeof *d->span, "delays", &d->span));
    TRY(memory_zeroed((size_t)d->base.spec.delays->ndms * n, sizeof *d->outer, "delays",
                      &d->outer));
    for (uint32_t k = 0; k < steps->nsteps; k++) {
        uint32_t *lead = d->lead + (size_t)k * n;
        memset(lead, 0xff, n * sizeof *lead);
        for (size_t i = (size_t)steps->first[k] * n; i < (size_t)steps->first[k + 1] * n; i++) {
            lead[i % n] = steps->outer[i] < lead[i % n] ? steps->outer[i] : lead[i % n];
        }
        for (size_t i = (size_t)steps->first[k] * n; i < (size_t)steps->first[k + 1] * n; i++) {
            uint32_t *span = &d->span[(size_t)k * n + i % n];
            d->outer[i] = steps->outer[i] - lead[i % n];
            *span = d->outer[i] > *span ? d->outer[i] : *span;
            d->reach = *span > d->reach ? *span : d->reach;
        }
    }
    return STATUS_OK;
}

static status_t dedisperse_create_second(struct cpu_dedisperse *d,
                                         const struct strip_kernels *kernels)
{
    static const enum strip_kind kinds[] = {STRIP_SUM16, STRIP_SUM32, STRIP_F32};
    const struct dedisperse_spec *spec = &d->base.spec;
    uint32_t ngroups = spec->steps->ngroups;
    d->second = &kernels->kinds[kinds[spec->format]];
    TRY(dedisperse_split_outer(d));
    if (spec->shape.pack == 0) {
        d->base.spec.shape = cpu_dedisperse_brute(ngroups);
    }
    d->tile = spec->shape.dm_out;
    /* Whole strips of either kind. */
    d->piece =
        ceil_div_u64(spec->shape.time_out * STRIP_BYTES / d->second->sample_bytes, STRIP_BYTES) *
        STRIP_BYTES;
    TRY(memory_aligned(spec->threads, sizeof *d->scratch, "sums", &d->scratch));
    uint64_t bytes = (d->piece + d->reach + STRIP_BYTES) * d->second->sample_bytes + SLACK;
    d->sub_stride = dedisperse_odd_lines(bytes);
    return memory_zeroed((size_t)spec->threads * ngroups, d->sub_stride, "sub-bands", &d->sub);
}

static void cpu_dedisperse_destroy(void *dedisperse)
{
    struct cpu_dedisperse *d = dedisperse;
    cpu_settle(d->pool, d->number);
    dedisperse_table_free(&d->table);
    MEMORY_FREE(d->rows, d->scratch);
    cpu_tree_destroy(d->tree);
    MEMORY_FREE(d->tree_scratch, d->sub, d->lead, d->span, d->outer);
}

/* Allocates the tables of brute force or of a tree, beside the rows. If delays repeat too little
 * for a tree, brute force is used. */
static status_t dedisperse_create_first(struct cpu_dedisperse *d,
                                        const struct strip_kernels *kernels)
{
    struct dedisperse_spec *spec = &d->base.spec;
    if (spec->shape.pack == 0) {
        spec->shape = cpu_dedisperse_best(spec, d->table.nused);
    }
    if (spec->shape.group > 0) {
        TRY(cpu_tree_create(&d->table, spec->format, &spec->shape, kernels, &d->tree));
    }
    if (d->tree) {
        d->piece = cpu_tree_piece(d->tree);
        d->tree_stride = cpu_tree_scratch(d->tree);
        TRY(memory_aligned(spec->threads, d->tree_stride, "sums", &d->tree_scratch));
        memset(d->tree_scratch, 0, spec->threads * d->tree_stride);
    } else {
        if (spec->shape.group > 0) {
            spec->shape = cpu_dedisperse_brute(d->table.nused);
        }
        d->piece = spec->shape.time_out * STRIP_BYTES / d->first->sample_bytes;
        d->tile = spec->shape.dm_out;
        TRY(memory_aligned(spec->threads, sizeof *d->scratch, "sums", &d->scratch));
    }
    return STATUS_OK;
}

static status_t cpu_dedisperse_create(backend_t *backend, void *made)
{
    struct cpu_dedisperse *d = made;
    const struct dedisperse_spec given = d->base.spec, *spec = &given;
    static const enum strip_kind kinds[] = {STRIP_U8, STRIP_U16, STRIP_F32};
    const struct strip_kernels *kernels = strip_kernels(simd_best());
    const char *why = NULL;
    double cost = 0;
    REQUIRE(spec->shape.pack == 0 || cpu_dedisperse_fits(backend, spec, &spec->shape, &cost, &why),
            STATUS_USAGE, "dedispersion cannot be run so: %s", why);
    d->kernels = simd_kernels(simd_best());
    d->tile = TILE_DMS;
    d->base.spec.threads = spec->threads > 0 ? spec->threads : 1;
    d->first = &kernels->kinds[kinds[spec->format]];
    d->stride = dedisperse_row_bytes(spec);
    TRY(cpu_pool((struct cpu_backend *)backend, d->base.spec.threads, &d->pool));
    TRY(dedisperse_table_create(spec, &d->table));
    TRY(memory_zeroed(d->table.nused, d->stride, "transposed samples", &d->rows));
    return spec->steps ? dedisperse_create_second(d, kernels) : dedisperse_create_first(d, kernels);
}

static uint64_t cpu_dedisperse_bytes(const struct dedisperse_spec *spec)
{
    const struct subbands *steps = spec->steps;
    uint64_t threads = spec->threads > 0 ? spec->threads : 1;
    uint64_t channels = spec->delays->nchannels;
    uint64_t tables = channels * (steps ? steps->nsteps : spec->delays->ndms);
    uint64_t bytes = channels * dedisperse_row_bytes(spec) + threads * sizeof(struct tile_scratch);
    if (!steps && spec->mode != DEDISPERSE_BRUTE) {
        bytes += cpu_tree_most_bytes(spec->delays->nchannels, spec->delays->ndms) +
                 threads * cpu_tree_most_scratch();
    }
    if (steps) {
        uint64_t piece = dedisperse_inputs(spec, MOST_STRIPS * STRIP_BYTES + STRIP_BYTES);
        tables += (uint64_t)steps->ngroups * (2ULL * steps->nsteps + spec->delays->ndms);
        bytes += threads * steps->ngroups * (piece * sizeof(float) + SLACK + 128);
    }
    return bytes + 4 * (tables + 2 * channels);
}

/* Transposes a piece of time of all channels (first phase). */
static void dedisperse_transpose_piece(void *context, uint32_t thread, uint64_t task)
{
    const struct cpu_dedisperse *d = context;
    const struct dedisperse_input *input = &d->input;
    size_t bytes = d->first->sample_bytes;
    uint64_t from = task * TRANSPOSE_TIMES;
    uint64_t all = dedisperse_inputs(&d->base.spec, d->samples);
    size_t count = (size_t)min_u64(TRANSPOSE_TIMES, all - from);
    (void)thread;
    for (uint32_t i = 0; i < d->table.nused; i += TRANSPOSE_CHANNELS) {
        transpose_samples(d->kernels, d->in + input->offset + from * input->time_step,
                          input->time_step, input->channel_step, bytes, d->table.channels + i,
                          (uint32_t)min_u64(TRANSPOSE_CHANNELS, d->table.nused - i), count,
                          d->rows + i * d->stride + from * bytes, d->stride);
    }
}

static uint32_t dedisperse_limit(const struct strip_kernel *kernel, uint32_t nrows)
{
    return kernel->is_float ? dedisperse_block(nrows) : kernel->limit;
}

/* Second phase by brute force: a piece of time of some of the DMs. */
static void dedisperse_sum_piece(void *context, uint32_t thread, uint64_t task)
{
    const struct cpu_dedisperse *d = context;
    uint64_t ndms = d->base.spec.delays->ndms;
    uint64_t part = task % d->parts;
    uint64_t t = task / d->parts * d->piece;
    uint64_t from = ndms * part / d->parts;
    uint64_t to = ndms * (part + 1) / d->parts;
    struct tile_rows in = {.kernel = d->first,
                           .rows = d->rows + t * d->first->sample_bytes,
                           .stride = d->stride,
                           .delays = d->table.delays + from * d->table.nused,
                           .nrows = d->table.nused,
                           .ndms = (uint32_t)(to - from),
                           .tile = d->tile,
                           .limit = dedisperse_limit(d->first, d->table.nused)};
    tiles_sum(&in, &d->scratch[thread], min_u64(d->piece, d->samples - t),
              d->out + from * d->out_stride + t, d->out_stride);
}

/* Second phase in a tree: a piece of time of a tile of DMs. */
static void dedisperse_sum_tree(void *context, uint32_t thread, uint64_t task)
{
    const struct cpu_dedisperse *d = context;
    uint64_t t = task / d->parts * d->piece;
    cpu_tree_sum(d->tree, d->rows + t * d->first->sample_bytes, d->stride,
                 (uint32_t)(task % d->parts), min_u64(d->piece, d->samples - t), d->is_streamed,
                 d->tree_scratch + thread * d->tree_stride, d->out + t, d->out_stride);
}

/* Makes the sub-bands of step k for `samples` outputs from time t on. */
static void dedisperse_make_sub_bands(const struct cpu_dedisperse *d, struct tile_scratch *scratch,
                                      uint32_t k, uint64_t t, uint64_t samples, char *sub)
{
    const struct strip_kernel *kernel = d->first;
    size_t strip = STRIP_BYTES / kernel->sample_bytes;
    const uint32_t *inner = d->table.delays + (size_t)k * d->table.nused;
    for (uint32_t g = 0; g < d->table.ngroups; g++) {
        uint32_t from = g > 0 ? d->table.ends[g - 1] : 0;
        uint64_t at = t + d->lead[(size_t)k * d->table.ngroups + g];
        char *out = sub + g * d->sub_stride;
        for (uint64_t s = 0; s < samples + d->span[(size_t)k * d->table.ngroups + g]; s += strip) {
            kernel->add(d->rows + from * d->stride + (at + s) * kernel->sample_bytes, d->stride,
                        inner + from, d->table.ends[g] - from, 1, scratch->sums[0]);
            kernel->spread(scratch->sums[0], out + s * d->second->sample_bytes);
        }
    }
}

/* 16-bit sums of groups of 8-bit channels that are certain to fit 16 bits; others stay with what
 * their kind allows. */
static uint32_t dedisperse_second_limit(const struct cpu_dedisperse *d)
{
    uint32_t limit = dedisperse_limit(d->second, d->base.spec.steps->ngroups);
    if (d->base.spec.format == SERIES_U8) {
        limit = UINT16_MAX / (UINT8_MAX * d->base.spec.steps->group);
        limit = limit >= STRIP_CHUNK ? limit / STRIP_CHUNK * STRIP_CHUNK : limit;
    }
    return limit;
}

/* Second phase in two steps: a piece of time of the DMs of one step. */
static void dedisperse_sum_step(void *context, uint32_t thread, uint64_t task)
{
    const struct cpu_dedisperse *d = context;
    const struct subbands *steps = d->base.spec.steps;
    uint32_t k = (uint32_t)(task % steps->nsteps);
    uint64_t t = task / steps->nsteps * d->piece;
    uint64_t count = min_u64(d->piece, d->samples - t);
    uint32_t dm = steps->first[k];
    char *sub = d->sub + (size_t)thread * steps->ngroups * d->sub_stride;
    dedisperse_make_sub_bands(d, &d->scratch[thread], k, t, count, sub);
    struct tile_rows in = {.kernel = d->second,
                           .rows = sub,
                           .stride = d->sub_stride,
                           .delays = d->outer + (size_t)dm * steps->ngroups,
                           .nrows = steps->ngroups,
                           .ndms = steps->first[k + 1] - dm,
                           .tile = d->tile,
                           .limit = dedisperse_second_limit(d)};
    tiles_sum(&in, &d->scratch[thread], count, d->out + dm * d->out_stride + t, d->out_stride);
}

/* Returns the number of parts into which DMs are cut, so that no thread is idle. */
static uint32_t dedisperse_count_parts(const struct cpu_dedisperse *d, uint64_t pieces)
{
    if (d->tree) {
        return cpu_tree_tiles(d->tree);
    }
    uint64_t wanted = ceil_div_u64((uint64_t)TASKS * d->base.spec.threads, pieces);
    uint64_t most = ceil_div_u64(d->base.spec.delays->ndms, d->tile);
    return (uint32_t)min_u64(wanted, most);
}

static status_t cpu_dedisperse_run(dedisperse_t *dedisperse, buffer_t *in,
                                   const struct dedisperse_input *input, uint64_t samples,
                                   buffer_t *out, uint64_t out_stride)
{
    struct cpu_dedisperse *d = (struct cpu_dedisperse *)dedisperse;
    TRY(cpu_begin(d->pool, d->number, in, &d->in, out, &d->out));
    uint64_t pieces = ceil_div_u64(samples, d->piece);
    d->input = *input;
    d->samples = samples;
    d->out_stride = out_stride;
    d->is_streamed = d->base.spec.delays->ndms * samples * sizeof(float) > STREAMED_BYTES;
    d->parts = pieces > 0 ? dedisperse_count_parts(d, pieces) : 0;
    struct pool_block work = {
        .context = d,
        .run = {dedisperse_transpose_piece, dedisperse_in_steps(d) ? dedisperse_sum_step
                                            : d->tree              ? dedisperse_sum_tree
                                                                   : dedisperse_sum_piece}};
    work.tasks[0] = ceil_div_u64(dedisperse_inputs(&d->base.spec, samples), TRANSPOSE_TIMES);
    work.tasks[1] = pieces * (dedisperse_in_steps(d) ? d->base.spec.steps->nsteps : d->parts);
    d->number = cpu_submit(d->pool, &work, in, out);
    return STATUS_OK;
}

static status_t cpu_dedisperse_words(const dedisperse_t *dedisperse, struct text *out)
{
    const struct cpu_dedisperse *d = (const struct cpu_dedisperse *)dedisperse;
    const struct dedisperse_shape *shape = &d->base.spec.shape;
    TRY(text_add(out, "%s, %u threads, pieces of %llu samples, tiles of %u DMs", d->kernels->name,
                 d->base.spec.threads, (unsigned long long)d->piece, shape->dm_out));
    return d->tree ? text_add(out, ", groups of %u channels: %.1f times fewer adds", shape->group,
                              cpu_tree_gain(d->tree))
                   : STATUS_OK;
}

const struct dedisperse_ops cpu_dedisperse = {.stage = {sizeof(struct cpu_dedisperse),
                                                        cpu_dedisperse_create,
                                                        cpu_dedisperse_destroy, NULL, NULL},
                                              .bytes = cpu_dedisperse_bytes,
                                              .run = cpu_dedisperse_run,
                                              .words = cpu_dedisperse_words,
                                              .fits = cpu_dedisperse_fits,
                                              .candidates = cpu_dedisperse_candidates};
