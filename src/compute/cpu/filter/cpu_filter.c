/* Long filters on the CPU: made, and what they take. */
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/filter/overlap_save.h"
#include "dsp/overlap.h"

#include <stdlib.h>
#include <string.h>

/* The direct form on the CPU: sums over the taps, several vectors of rows at a time.
 *
 * Samples of some rows as planes, then sums over them.
 *
 * A filter that decimates by D has samples n with the same n mod D lie in one plane: then the rows
 * that are wanted take neighbouring samples, as without decimation, and no others are made. */

enum {
    MOST_ROWS = 4096,
    MOST_SAMPLES =
        16384, /* between the first and the last row: they stay in a second-level cache */
    LEAST_ROWS = 16
};

struct direct {
    const struct filter_reader *reader;
    uint32_t taps, decimate;
    int parts; /* of a row */
    int is_complex_coeff;
    size_t planes; /* min(D, T): from D - T samples on no tap looks at them */
    size_t pitch;  /* from plane to plane */
    float *coeff[2];
    uint32_t *place;
    float **scratch; /* [threads]: planes of real parts, then of imaginary ones */
    uint32_t threads;
};

/* Rows that are made at once at most: what they need of samples is read into a thread's scratch.
 * Changes no bit. */
static uint64_t direct_rows(const struct filter_spec *spec)
{
    uint64_t rows = max_u64(min_u64(MOST_ROWS, MOST_SAMPLES / spec->decimate), LEAST_ROWS);
    return min_u64(rows, max_u64(spec->max_rows, 1));
}

static size_t direct_planes(const struct filter_spec *spec)
{
    return (size_t)min_u64(spec->decimate, spec->taps);
}

static size_t direct_pitch(const struct filter_spec *spec)
{
    uint64_t places = direct_rows(spec) + ceil_div_u64(spec->taps, spec->decimate);
    return (size_t)ceil_div_u64(places, MOST_LANES) * MOST_LANES + DIRECT_MOST_ROWS;
}

static size_t direct_scratch_floats(const struct filter_spec *spec)
{
    return direct_planes(spec) * direct_pitch(spec) * (spec->coding.is_complex ? 2 : 1);
}

static uint64_t direct_bytes(const struct filter_spec *spec)
{
    return (uint64_t)spec->threads * direct_scratch_floats(spec) * sizeof(float) +
           (uint64_t)spec->taps * (2 * sizeof(float) + sizeof(uint32_t));
}

/* Coefficients in the order in which samples are: plane by plane, the oldest sample of each first.
 */
static void direct_set_taps(struct direct *d, const struct filter_spec *spec)
{
    size_t at = 0;
    for (size_t plane = 0; plane < d->planes; plane++) {
        for (size_t n = plane; n < spec->taps; n += spec->decimate, at++) {
            size_t i = spec->taps - 1 - n;
            d->place[at] = (uint32_t)(plane * d->pitch + n / spec->decimate);
            d->coeff[0][at] = (float)spec->coeff[spec->is_complex_coeff ? 2 * i : i];
            d->coeff[1][at] = spec->is_complex_coeff ? (float)spec->coeff[2 * i + 1] : 0;
        }
    }
}

static void direct_destroy(struct direct *d)
{
    if (!d) {
        return;
    }
    for (uint32_t i = 0; d->scratch && i < d->threads; i++) {
        free(d->scratch[i]);
    }
    MEMORY_FREE(d->scratch, d->coeff[0], d->coeff[1], d->place, d);
}
SCOPED_END(direct_destroy, struct direct *)

/* Coefficients are copied. Fails with DEVICE. */
static status_t direct_create(const struct filter_spec *spec, const struct filter_reader *reader,
                              struct direct **out)
{
    SCOPED(direct_destroy_at) struct direct *d = NULL;
    TRY(memory_zeroed(1, sizeof *d, "the filter", &d));
    d->reader = reader;
    d->taps = spec->taps;
    d->decimate = spec->decimate;
    d->is_complex_coeff = spec->is_complex_coeff;
    d->parts = spec->is_complex_out ? 2 : 1;
    d->planes = direct_planes(spec);
    d->pitch = direct_pitch(spec);
    d->threads = spec->threads;
    REQUIRE(d->planes * d->pitch <= UINT32_MAX, STATUS_USAGE,
            "%u taps and a decimation of %u are too many for direct sums: method: overlap-save",
            spec->taps, spec->decimate);
    TRY(memory_aligned(spec->taps, sizeof(float), "coefficients", &d->coeff[0]));
    TRY(memory_aligned(spec->taps, sizeof(float), "coefficients", &d->coeff[1]));
    TRY(memory_aligned(spec->taps, sizeof(uint32_t), "coefficients", &d->place));
    direct_set_taps(d, spec);
    TRY(memory_zeroed(spec->threads, sizeof *d->scratch, "scratch", &d->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        TRY(memory_aligned(direct_scratch_floats(spec), sizeof(float), "samples", &d->scratch[i]));
    }
    *out = memory_move(&d);
    return STATUS_OK;
}

/* Deals samples to the planes in turn. */
static void direct_deal(const struct direct *d, const float *samples, size_t first, size_t count,
                        float *planes)
{
    size_t plane = first % d->decimate;
    size_t place = first / d->decimate;
    for (size_t i = 0; i < count; i++) {
        if (plane < d->planes) {
            planes[plane * d->pitch + place] = samples[i];
        }
        if (++plane == d->decimate) {
            plane = 0;
            place++;
        }
    }
}

/* Writes zeros after the last sample of each plane, for the rows that fill the last vectors. */
static void direct_blank_ends(const struct direct *d, size_t samples, float *planes)
{
    size_t ends = samples / d->decimate;
    size_t count = d->pitch - ends < DIRECT_MOST_ROWS ? d->pitch - ends : DIRECT_MOST_ROWS;
    for (size_t plane = 0; plane < d->planes; plane++) {
        memset(planes + plane * d->pitch + ends, 0, count * sizeof *planes);
    }
}

static void direct_read(const struct direct *d, const struct filter_stream *stream, int64_t place,
                        size_t samples, float *re, float *im)
{
    _Alignas(64) float part[2][READ_SAMPLES];
    for (size_t n = 0; n < samples; n += READ_SAMPLES) {
        size_t count = samples - n < READ_SAMPLES ? samples - n : READ_SAMPLES;
        if (d->decimate == 1) {
            (void)filter_read(d->reader, stream, place + (int64_t)n, count, re + n, im + n);
            continue;
        }
        (void)filter_read(d->reader, stream, place + (int64_t)n, count, part[0], part[1]);
        direct_deal(d, part[0], n, count, re);
        if (d->reader->is_complex) {
            direct_deal(d, part[1], n, count, im);
        }
    }
}

/* `rows` <= direct_rows() rows by one thread; row 0 is made of the T samples from `place` on.
 *
 *   out   float [rows], or pairs   */
static void direct_run(struct direct *d, uint32_t thread, const struct filter_stream *stream,
                       int64_t place, uint64_t rows, float *out)
{
    float *re = d->scratch[thread];
    float *im = re + d->planes * d->pitch;
    size_t samples = (size_t)((rows - 1) * d->decimate + d->taps);
    direct_blank_ends(d, samples, re);
    if (d->reader->is_complex) {
        direct_blank_ends(d, samples, im);
    }
    direct_read(d, stream, place, samples, re, im);
    struct direct_sums sums = {.x = {re, d->reader->is_complex ? im : NULL},
                               .coeff = {d->coeff[0], d->coeff[1]},
                               .place = d->place,
                               .taps = d->taps,
                               .rows = (size_t)rows,
                               .out = out};
    d->reader->filter->direct[d->reader->is_complex][d->is_complex_coeff](&sums);
}

/* Samples of a piece of neighbouring streams that lie interleaved, transposed by a thread, whose
 * next tasks find them. Where they would take more memory, it gathers those of each stream. */
enum {
    TURNED_BYTES = 8 << 20,
    TURNED_PAD = 64 /* samples between streams, which begin in different sets of the cache */
};

struct turned {
    char *data; /* [TURN_BYTES / bytes][samples + TURNED_PAD] */
    uint64_t block;
    int64_t piece;
    uint32_t first; /* stream */
};

/* Samples of each stream: those of a grain and a few more; 0: none are transposed. */
static uint64_t turned_samples(const struct filter_spec *spec)
{
    const uint64_t samples = (uint64_t)spec->choice.shape.length * (spec->is_complex_out ? 1 : 2);
    return spec->shift || samples * TURN_BYTES > TURNED_BYTES ? 0 : samples;
}

static uint64_t turned_bytes(const struct filter_spec *spec)
{
    return turned_samples(spec) > 0 ? (turned_samples(spec) + TURNED_PAD) * TURN_BYTES : 0;
}

/* A call of run(), in the pool until it is done. */
struct filter_block {
    struct cpu_filter *filter;
    uint64_t number; /* in the pool */
    uint64_t count;  /* of the filter's blocks, with this one */
    struct host_buffer *source;
    const char *in;  /* its data */
    size_t *re, *im; /* [streams] offsets */
    size_t step;
    struct stage_run run;
    float *out;
    int64_t first_piece; /* of rows */
    uint64_t pieces;     /* of each stream's rows */
    uint64_t counts;     /* of each stream's samples whose missing ones are counted */
};

struct cpu_filter {
    struct filter base;
    struct filter_reader reader;
    pool_t *pool;
    struct direct *direct; /* one of both */
    overlap_save_t *overlap_save;
    struct turned *turned; /* [threads] */
    uint64_t piece_rows;   /* of a task */
    struct filter_block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
};

/* Which method, and how long blocks are: by rule, from rates measured on one core. */

enum {
    LEAST_LENGTH = CONVOLUTION_LEAST,
    MOST_LENGTH = CONVOLUTION_MOST,
    LONG_LENGTH = 1 << 22, /* longer blocks are no longer than need be: they take memory */
    LONG_TAPS = 4,         /* at most this multiple of the taps */
    LENGTHS = 4            /* to measure among */
};

/* Nanoseconds on one core of an EPYC 9005, for each complex sample of a block of 2^n: read,
 * convolved, stored; of longer ones so much more for each bit. Real ones go in pairs, which takes
 * something, too. */
enum { FIRST_COST = 8, COSTS = 16 };
static const double block_cost[COSTS] = {1.63, 1.65, 1.76, 1.81, 2.6, 3.2,  3.5,  3.6,
                                         4.1,  4.9,  5.4,  7.3,  8.2, 10.5, 10.8, 12};
static const double bit_cost = 1;
static const double pair_cost = 0.28;
/* Costs of a row in the direct form, for each part of a sample, and of each of its taps: by
 * instruction set, real and complex coefficients. */
static const double row_cost = 0.4;
static const double tap_cost[SIMD_LEVELS][2] = {{0.05, 0.093}, {0.028, 0.043}, {0.024, 0.027}};
/* Rows one by one serve every cut, whole blocks do not: as good as so much time. */
static const double grain_cost = 1.15;

/* Returns the cost of overlap-save for each sample of a stream; `length` is a power of two. */
static double choose_overlap_save_cost(const struct filter_spec *spec, uint64_t length)
{
    uint64_t valid = (length - (spec->taps - 1)) / spec->decimate * spec->decimate;
    int bits = __builtin_ctzll(length);
    int at = bits < FIRST_COST ? 0 : bits - FIRST_COST;
    double each =
        at < COSTS ? block_cost[at] : block_cost[COSTS - 1] + bit_cost * (at - (COSTS - 1));
    each = spec->is_complex_out ? each : each / 2 + pair_cost;
    return grain_cost * each * (double)length / (double)valid;
}

static double choose_direct_cost(const struct filter_spec *spec)
{
    double tap = tap_cost[cpu_simd(spec->simd) - 1][spec->is_complex_coeff];
    double parts = spec->coding.is_complex ? 2 : 1;
    return parts * (row_cost + tap * spec->taps) / spec->decimate;
}

/* Returns the smallest power of two with which a block has a row. */
static uint64_t choose_least_length(const struct filter_spec *spec)
{
    uint64_t length = LEAST_LENGTH;
    while (length < (uint64_t)spec->taps - 1 + spec->decimate) {
        length *= 2;
    }
    return length;
}

static uint64_t choose_most_length(const struct filter_spec *spec)
{
    return max_u64(LONG_LENGTH, min_u64(MOST_LENGTH, (uint64_t)LONG_TAPS * spec->taps));
}

static uint64_t choose_length(const struct filter_spec *spec)
{
    uint64_t best = choose_least_length(spec);
    for (uint64_t length = best; length <= choose_most_length(spec); length *= 2) {
        if (choose_overlap_save_cost(spec, length) < choose_overlap_save_cost(spec, best)) {
            best = length;
        }
    }
    return best;
}

static int choose_has_overlap_save(const struct filter_spec *spec)
{
    return choose_least_length(spec) <= MOST_LENGTH;
}

/* Returns a method's shape by rule. */
static struct filter_shape choose_shape(const struct filter_spec *spec, enum filter_method method,
                                        uint64_t length)
{
    return (struct filter_shape){.method = method,
                                 .length = method == FILTER_OVERLAP_SAVE ? (uint32_t)length : 0,
                                 .simd = cpu_simd(spec->simd)};
}

/* As compute/filter.h says. */
static status_t cpu_filter_choose(const struct filter_spec *spec, struct filter_choice *out)
{
    enum filter_method method = spec->method;
    uint64_t length = choose_length(spec);
    REQUIRE(!spec->response || method != FILTER_DIRECT, STATUS_USAGE,
            "a filter that is a frequency response has no direct form: method: overlap-save");
    if (method == FILTER_AUTO) {
        int is_direct =
            !spec->response && choose_direct_cost(spec) <= choose_overlap_save_cost(spec, length);
        method = is_direct ? FILTER_DIRECT : FILTER_OVERLAP_SAVE;
    }
    REQUIRE(method == FILTER_DIRECT || choose_has_overlap_save(spec), STATUS_USAGE,
            "%u taps and a decimation of %u are too many for FFTW", spec->taps, spec->decimate);
    *out =
        (struct filter_choice){.backend = BACKEND_CPU, .shape = choose_shape(spec, method, length)};
    return STATUS_OK;
}

/* The choice by rule first; then the other method, where one may have it; then other lengths. */
static status_t cpu_filter_candidates(backend_t *backend, const struct filter_spec *spec,
                                      struct filter_shape **out, uint32_t *count)
{
    struct filter_choice choice;
    struct filter_shape *list = NULL;
    uint32_t n = 0;
    (void)backend;
    TRY(cpu_filter_choose(spec, &choice));
    TRY(memory_zeroed(2 + LENGTHS, sizeof *list, "shapes", &list));
    list[n++] = choice.shape;
    if (choice.shape.method == FILTER_OVERLAP_SAVE && !spec->response &&
        spec->method == FILTER_AUTO) {
        list[n++] = choose_shape(spec, FILTER_DIRECT, 0);
    }
    if (spec->method != FILTER_DIRECT && choose_has_overlap_save(spec)) {
        uint64_t best = choose_length(spec);
        uint64_t length = max_u64(choose_least_length(spec), best / 2);
        for (; length <= min_u64(best * 4, choose_most_length(spec)); length *= 2) {
            if (length != choice.shape.length) {
                list[n++] = choose_shape(spec, FILTER_OVERLAP_SAVE, length);
            }
        }
    }
    *out = list;
    *count = n;
    return STATUS_OK;
}

/* Running a filter: what threads do with a block of samples.
 *
 * A task makes a piece of one stream's rows: a grain of overlap-save, or some rows of the direct
 * form; or it counts missing samples. Tasks are independent, so threads may take them in any order.
 * Streams that lie interleaved come in turns, while the cache has their lines; else pieces of one,
 * whose response it has. */

enum { COUNT_SAMPLES = 1 << 16 /* of a task that counts */ };

static struct filter_stream run_stream(const struct filter_block *block, uint32_t stream)
{
    return (struct filter_stream){.re = block->in + block->re[stream],
                                  .im = block->in + block->im[stream],
                                  .step = block->step,
                                  .samples = block->run.samples};
}

/* Returns how many streams beside this one are transposed together; 0: none. */
static uint32_t run_neighbours(const struct filter_block *block, uint32_t stream)
{
    const size_t bytes = block->filter->reader.bytes;
    const uint32_t count = (uint32_t)(TURN_BYTES / bytes);
    const uint32_t first = stream - stream % count;
    return block->step != bytes && first + count <= block->run.streams.count &&
                   cpu_are_beside(block->re + first, block->im + first, count, bytes)
               ? count
               : 0;
}

/* Takes the samples of a piece from *place on from what is transposed, where they are neighbours;
 * before the block's first sample and after its last there are none. */
static void run_turn(const struct filter_block *block, uint32_t thread, uint32_t stream,
                     int64_t piece, struct filter_stream *from, int64_t *place)
{
    const struct cpu_filter *filter = block->filter;
    const size_t bytes = filter->reader.bytes;
    const uint32_t count = run_neighbours(block, stream);
    const uint64_t samples = count > 0 ? turned_samples(&filter->base.spec) : 0;
    const uint64_t pitch = (samples + TURNED_PAD) * bytes;
    struct turned *turned = &filter->turned[thread];
    const uint32_t first = count > 0 ? stream - stream % count : stream;
    const int64_t there = (int64_t)block->run.samples;
    const int64_t end = *place + (int64_t)samples < there ? *place + (int64_t)samples : there;
    const int64_t needed = end - (*place < 0 ? 0 : *place);
    if (samples == 0 || needed <= 0) {
        return;
    }
    /* Whole registers of them, with some before, or at the block's begin some after. */
    const int64_t size = (int64_t)(ceil_div_u64((uint64_t)needed, count) * count);
    const int64_t begin = end > size ? end - size : 0;
    if (begin + size > there) {
        return;
    }
    if (turned->block != block->count || turned->piece != piece || turned->first != first) {
        filter->reader.kernels->turn(bytes,
                                     block->in + block->re[first] + (size_t)begin * block->step,
                                     block->step, (size_t)size, (size_t)pitch, turned->data);
        *turned = (struct turned){turned->data, block->count, piece, first};
    }
    from->re = turned->data + (stream - first) * pitch;
    from->im = from->re + (block->im[stream] - block->re[stream]);
    from->step = bytes;
    from->samples = (uint64_t)size;
    *place -= begin;
}

/* Rows `piece` x piece_rows ..., as far as the run wants them. */
static void run_rows(const struct filter_block *block, uint32_t thread, uint32_t stream,
                     int64_t piece)
{
    const struct cpu_filter *filter = block->filter;
    const struct filter_spec *spec = &filter->base.spec;
    const struct stage_run *run = &block->run;
    struct filter_stream from = run_stream(block, stream);
    uint32_t number = stream_set_at(&run->streams, stream);
    int64_t begin = piece * (int64_t)filter->piece_rows;
    int64_t end = begin + (int64_t)filter->piece_rows;
    int64_t last = run->first_row + (int64_t)run->rows;
    int64_t first = begin > run->first_row ? begin : run->first_row;
    uint64_t rows = (uint64_t)((end < last ? end : last) - first);
    int64_t shift = (spec->shift ? spec->shift[number] : 0) + spec->first - run->first_sample;
    uint64_t at = stream * run->out_stride + (uint64_t)(first - run->first_row);
    float *out = block->out + at * (spec->is_complex_out ? 2 : 1);
    if (filter->direct) {
        direct_run(filter->direct, thread, &from, first * spec->decimate + shift, rows, out);
    } else {
        int64_t place = begin * spec->decimate + shift;
        run_turn(block, thread, stream, piece, &from, &place);
        overlap_save_run(filter->overlap_save, thread, number, &from, place,
                         (uint64_t)(first - begin), rows, out);
    }
}

/* Counts missing samples of a stream. Where neighbours lie interleaved, the first one's task counts
 * those of all. */
static void run_count(const struct filter_block *block, uint32_t stream, uint64_t piece)
{
    _Alignas(64) float re[READ_SAMPLES];
    _Alignas(64) float im[READ_SAMPLES];
    char turned[TURN_BYTES * READ_SAMPLES];
    const struct filter_reader *reader = &block->filter->reader;
    const uint32_t together = run_neighbours(block, stream);
    const uint64_t end = min_u64((piece + 1) * COUNT_SAMPLES, block->run.counted);
    uint64_t missing = 0;
    for (uint64_t n = piece * COUNT_SAMPLES; n < end; n += READ_SAMPLES) {
        const uint64_t at = block->run.counted_first + n;
        const size_t count = (size_t)min_u64(end - n, READ_SAMPLES);
        if (together == 0 || count % together != 0 || at + count > block->run.samples) {
            const struct filter_stream from = run_stream(block, stream);
            missing += filter_read(reader, &from, (int64_t)at, count, re, im);
        } else if (stream % together == 0) {
            const size_t pitch = READ_SAMPLES * reader->bytes;
            reader->kernels->turn(reader->bytes, block->in + block->re[stream] + at * block->step,
                                  block->step, count, pitch, turned);
            for (uint32_t i = 0; i < together; i++) {
                const char *data = turned + i * pitch;
                const struct filter_stream from = {
                    data, data + (block->im[stream] - block->re[stream]), reader->bytes, count};
                missing += filter_read(reader, &from, 0, count, re, im);
            }
        }
    }
    if (missing > 0) {
        __atomic_fetch_add(&block->source->missing, missing, __ATOMIC_RELAXED);
    }
}

static void run_task(void *context, uint32_t thread, uint64_t task)
{
    const struct filter_block *block = context;
    const uint32_t streams = block->run.streams.count;
    uint64_t makes = block->pieces * streams;
    if (task < makes && block->step > block->filter->reader.bytes) {
        run_rows(block, thread, (uint32_t)(task % streams),
                 block->first_piece + (int64_t)(task / streams));
    } else if (task < makes) {
        run_rows(block, thread, (uint32_t)(task / block->pieces),
                 block->first_piece + (int64_t)(task % block->pieces));
    } else {
        run_count(block, (uint32_t)((task - makes) / block->counts),
                  (task - makes) % block->counts);
    }
}

/* The pieces that hold the run's rows, and those in which missing samples are counted. */
static void run_cut(struct filter_block *block)
{
    const struct stage_run *run = &block->run;
    int64_t rows = (int64_t)block->filter->piece_rows;
    block->pieces = 0;
    block->first_piece = overlap_floor(run->first_row, rows);
    if (run->rows > 0) {
        int64_t last = run->first_row + (int64_t)run->rows - 1;
        block->pieces = (uint64_t)(overlap_floor(last, rows) - block->first_piece + 1);
    }
    block->counts = block->filter->reader.has_rule ? ceil_div_u64(run->counted, COUNT_SAMPLES) : 0;
}

static status_t cpu_filter_run(void *base, buffer_t *in, const struct sample_input *input,
                               const struct stage_run *run, buffer_t *out)
{
    struct cpu_filter *filter = base;
    struct filter_block *block = &filter->blocks[filter->nblocks % POOL_BLOCKS];
    TRY(cpu_begin(filter->pool, block->number, in, &block->in, out, &block->out));
    block->filter = filter;
    block->source = (struct host_buffer *)in;
    block->source->missing = 0;
    memcpy(block->re, input->re, run->streams.count * sizeof *block->re);
    memcpy(block->im, input->im, run->streams.count * sizeof *block->im);
    block->step = input->step;
    block->run = *run;
    block->count = ++filter->nblocks;
    run_cut(block);
    struct pool_block work = {.context = block, .run = {run_task, NULL}};
    work.tasks[0] = (block->pieces + block->counts) * run->streams.count;
    block->number = cpu_submit(filter->pool, &work, in, out);
    return STATUS_OK;
}

static uint64_t cpu_filter_bytes(const struct filter_spec *spec)
{
    return spec->choice.shape.method == FILTER_DIRECT
               ? direct_bytes(spec)
               : overlap_save_bytes(spec) + spec->threads * turned_bytes(spec);
}

static status_t cpu_filter_words(const struct filter_choice *choice, struct text *out)
{
    const struct filter_shape *shape = &choice->shape;
    const char *name = cpu_simd_name(shape->simd);
    return shape->method == FILTER_DIRECT
               ? text_add(out, "direct %s", name)
               : text_add(out, "overlap-save (%u, fftw), %s", shape->length, name);
}

static void cpu_filter_destroy(void *base)
{
    struct cpu_filter *filter = base;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        cpu_settle(filter->pool, filter->blocks[i].number);
        MEMORY_FREE(filter->blocks[i].re, filter->blocks[i].im);
    }
    for (uint32_t i = 0; filter->turned && i < filter->base.spec.threads; i++) {
        free(filter->turned[i].data);
    }
    free(filter->turned);
    direct_destroy(filter->direct);
    overlap_save_destroy(filter->overlap_save);
}

static status_t cpu_filter_create(backend_t *backend, void *made)
{
    struct cpu_filter *filter = made;
    const struct filter_spec given = filter->base.spec, *spec = &given;
    uint32_t simd = spec->choice.shape.simd;
    REQUIRE(cpu_simd_kernels(simd), STATUS_DEVICE,
            "this processor lacks the vector instructions that are used");
    filter->reader = filter_reader(&spec->coding, (enum simd_level)(simd - 1));
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &filter->pool));
    if (spec->choice.shape.method == FILTER_DIRECT) {
        TRY(direct_create(&filter->base.spec, &filter->reader, &filter->direct));
        filter->piece_rows = direct_rows(spec);
    } else {
        TRY(overlap_save_create(&filter->base.spec, &filter->reader, &filter->overlap_save));
        filter->piece_rows = filter_grain(spec);
        TRY(memory_zeroed(spec->threads, sizeof *filter->turned, "samples", &filter->turned));
        for (uint32_t i = 0; i < spec->threads && turned_bytes(spec) > 0; i++) {
            TRY(memory_aligned((size_t)turned_bytes(spec), 1, "samples", &filter->turned[i].data));
        }
    }
    filter->base.spec.coeff = NULL;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        struct filter_block *block = &filter->blocks[i];
        TRY(memory_zeroed(spec->nstreams, sizeof *block->re, "offsets", &block->re));
        TRY(memory_zeroed(spec->nstreams, sizeof *block->im, "offsets", &block->im));
    }
    return STATUS_OK;
}

const struct filter_ops cpu_filter = {.stage = {sizeof(struct cpu_filter), cpu_filter_create,
                                                cpu_filter_destroy, NULL, cpu_filter_run},
                                      .choose = cpu_filter_choose,
                                      .bytes = {cpu_filter_bytes},
                                      .candidates = cpu_filter_candidates,
                                      .words = cpu_filter_words};
