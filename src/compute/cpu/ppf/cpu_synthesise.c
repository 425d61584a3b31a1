/* The CPU's synthesis: made, and what it takes. */
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/cpu_fft.h"
#include "compute/cpu/filter/filter_samples.h"
#include "compute/cpu/ppf/synthesis_kernels.h"
#include "dsp/overlap.h"

#include <string.h>

/* How much of a thread's memory is what: from the spec alone.
 *
 * Transformed spectra are in a ring: spectrum s in its place s mod ring. Spectra are made `step` at
 * a time, from a multiple of it on, so that one that is transformed in a batch with others always
 * has the same place in it. */
struct synthesise_layout {
    struct cpu_fft_shape fft;
    size_t step; /* a multiple of fft.batch */
    size_t ring; /* a multiple of step */
    size_t tile; /* rows of a piece of all spectra that stays in the first-level cache */
};

/* A thread's. */
struct synthesise_scratch {
    float *points;     /* [step][fft.in_row]: spectra in the transform's order */
    float *ring;       /* [ring][fft.out_row] */
    const float **row; /* [2 ring]: where the spectrum of a place, or of place - ring, is */
    int is_touched;
};

/* A call of run(), in the pool until it is done. */
struct synthesise_block {
    struct cpu_synthesise *stage;
    uint64_t number; /* in the pool */
    struct host_buffer *source;
    const char *in;  /* its data */
    size_t *re, *im; /* [streams x channels] offsets */
    size_t step;
    ptrdiff_t channel; /* bytes from a channel to the next, where spectra are read one by one; 0:
                          channels are, some samples of each at a time */
    struct stage_run run;
    float *out;
    uint64_t pieces; /* of each stream's rows */
};

struct cpu_synthesise {
    struct synthesise base;
    struct filter_reader reader;
    const struct synthesis_kernels *kernels;
    struct synthesise_layout layout;
    cpu_fft_t *transform;
    pool_t *pool;
    float *coeff; /* g, with MOST_LANES zeros before and after */
    int64_t length;
    struct synthesise_scratch *scratch; /* [threads] */
    struct synthesise_block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
};

/* Returns a modulo b; b > 0. */
static inline size_t synthesise_modulo(int64_t a, size_t b)
{
    return (size_t)(a - overlap_floor(a, (int64_t)b) * (int64_t)b);
}

/* ---- synthesise spectra ---- */

/* Samples become spectra in the transform's order, and these stretches of C samples.
 *
 * Where the channels of a spectrum are closer than its next spectrum's, they are read as if they
 * were samples of one stream, spectrum by spectrum; else some samples of each channel. */

/* Returns the index of a channel in a row of `points`. */
static size_t spectra_point(const struct synthesise_spec *spec, uint32_t channel)
{
    const int64_t point = spec->first_point + (int64_t)channel;
    return (size_t)(point < 0 ? point + spec->points : point);
}

/* One spectrum that the buffer has, at a place of it. Channels below 0 stand after the others. */
static uint64_t spectra_read_whole(const struct synthesise_block *block, uint32_t stream,
                                   int64_t place, float *points)
{
    const struct synthesise_spec *spec = &block->stage->base.spec;
    const struct filter_reader *reader = &block->stage->reader;
    const size_t first = (size_t)stream * spec->channels;
    const uint32_t below =
        spec->first_point < 0
            ? (uint32_t)min_u64((uint64_t) - (int64_t)spec->first_point, spec->channels)
            : 0;
    const struct filter_stream from = {
        .re = block->in + block->re[first] + (size_t)place * block->step,
        .im = block->in + block->im[first] + (size_t)place * block->step,
        .step = (size_t)block->channel,
        .samples = spec->channels};
    uint64_t missing = 0;
    if (below > 0) {
        float *out = points + 2 * spectra_point(spec, 0);
        missing += filter_read_pairs(reader, &from, 0, below, (float(*)[2])out);
    }
    if (below < spec->channels) {
        float *out = points + 2 * spectra_point(spec, below);
        missing +=
            filter_read_pairs(reader, &from, below, spec->channels - below, (float(*)[2])out);
    }
    return missing;
}

/* Reads some samples of every channel; samples outside of the buffer are zeros. */
static uint64_t spectra_read_channels(const struct synthesise_block *block, uint32_t stream,
                                      int64_t place, size_t count, size_t row, float *points)
{
    enum { SIDE_BY_SIDE = 8 /* channels, whose samples are written together */ };
    const struct synthesise_spec *spec = &block->stage->base.spec;
    _Alignas(64) float re[SIDE_BY_SIDE][2 * MOST_LANES];
    _Alignas(64) float im[SIDE_BY_SIDE][2 * MOST_LANES];
    uint64_t missing = 0;
    for (uint32_t c = 0; c < spec->channels; c += SIDE_BY_SIDE) {
        const uint32_t here = (uint32_t)min_u64(spec->channels - c, SIDE_BY_SIDE);
        size_t at[SIDE_BY_SIDE];
        for (uint32_t i = 0; i < here; i++) {
            const size_t series = (size_t)stream * spec->channels + c + i;
            const struct filter_stream from = {.re = block->in + block->re[series],
                                               .im = block->in + block->im[series],
                                               .step = block->step,
                                               .samples = block->run.samples};
            missing += filter_read(&block->stage->reader, &from, place, count, re[i], im[i]);
            at[i] = 2 * spectra_point(spec, c + i);
        }
        for (size_t s = 0; s < count; s++) {
            for (uint32_t i = 0; i < here; i++) {
                points[s * row + at[i]] = re[i][s];
                points[s * row + at[i] + 1] = im[i][s];
            }
        }
    }
    return missing;
}

/* Spectra begin .. end - 1 of a stream, of the same step, into their places of `points`; zeros
 * where the buffer has none. Returns how many samples were missing. */
static uint64_t synthesise_read(const struct synthesise_block *block,
                                struct synthesise_scratch *scratch, uint32_t stream, int64_t begin,
                                int64_t end)
{
    const struct cpu_synthesise *stage = block->stage;
    const struct synthesise_spec *spec = &stage->base.spec;
    const size_t row = stage->layout.fft.in_row;
    float *points = scratch->points + synthesise_modulo(begin, stage->layout.step) * row;
    const int64_t place = begin - block->run.first_sample;
    const size_t count = (size_t)(end - begin);
    uint64_t missing = 0;
    /* Transforms have destroyed what was there, and points without channels are zero. */
    const int has_zeros = spec->is_real_out || spec->channels < spec->points;
    for (size_t s = 0; s < count; s++) {
        const int64_t at = place + (int64_t)s;
        const int is_there = at >= 0 && (uint64_t)at < block->run.samples;
        if (has_zeros || !is_there) {
            memset(points + s * row, 0, row * sizeof *points);
        }
        if (block->channel != 0 && is_there) {
            missing += spectra_read_whole(block, stream, at, points + s * row);
        }
    }
    if (block->channel == 0) {
        missing = spectra_read_channels(block, stream, place, count, row, points);
    }
    for (size_t s = 0; s < count && spec->is_real_out; s++) {
        points[s * row + 1] = 0; /* of 0 Hz */
    }
    return missing;
}

/* Reads spectra likewise, and writes their transforms into the ring. */
static uint64_t synthesise_transform(const struct synthesise_block *block,
                                     struct synthesise_scratch *scratch, uint32_t stream,
                                     int64_t begin, int64_t end)
{
    const struct cpu_synthesise *stage = block->stage;
    const struct synthesise_layout *layout = &stage->layout;
    const size_t first = synthesise_modulo(begin, layout->step);
    const size_t count = (size_t)(end - begin);
    const uint64_t missing = synthesise_read(block, scratch, stream, begin, end);
    const size_t batch = layout->fft.batch;
    const size_t at = synthesise_modulo(begin - (int64_t)first, layout->ring);
    /* Whole batches: rows that were not requested are made of the data in their place. */
    for (size_t s = first / batch * batch; s < first + count; s += batch) {
        cpu_fft_run(stage->transform, scratch->points + s * layout->fft.in_row,
                    scratch->ring + (at + s) * layout->fft.out_row);
    }
    return missing;
}

/* ---- cpu synthesise ---- */

/* Running a synthesis: what threads do with a block of samples.
 *
 * A task makes a piece of one stream's rows: it transforms spectra, a step at a time, and sums the
 * rows that these complete. At a piece's beginning are spectra that its neighbour transforms, too.
 * Rows are summed by columns: in a tile are rows whose places in their spectra are neighbours, so
 * that what all spectra of the ring have there stays in the first-level cache. */

static int64_t run_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t run_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Return the first spectrum of row n, and the one after its last. */
static int64_t run_first_spectrum(const struct cpu_synthesise *stage, int64_t n)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    return overlap_floor(n - spec->first - stage->length, spec->hop) + 1;
}

static int64_t run_end_spectrum(const struct cpu_synthesise *stage, int64_t n)
{
    return overlap_floor(n - stage->base.spec.first, stage->base.spec.hop) + 1;
}

/* Rows n .. end - 1, whose places in their spectra are `column` .. : cut where other spectra
 * begin or end. */
static void run_sum(const struct synthesise_block *block, const struct synthesise_scratch *scratch,
                    int64_t n, int64_t end, size_t column, float *out)
{
    const struct cpu_synthesise *stage = block->stage;
    const struct synthesise_spec *spec = &stage->base.spec;
    const int64_t hop = spec->hop;
    const size_t parts = spec->is_real_out ? 1 : 2;
    while (n < end) {
        const int64_t first = run_first_spectrum(stage, n);
        const int64_t last = run_end_spectrum(stage, n);
        const int64_t until = run_least(run_least(end, spec->first + stage->length + first * hop),
                                        spec->first + last * hop);
        const struct synthesis_sums sums = {
            .rows = scratch->row + synthesise_modulo(first, stage->layout.ring),
            .coeff = stage->coeff + MOST_LANES + (n - first * hop - spec->first),
            .column = column,
            .hop = spec->hop,
            .spectra = (size_t)(last - first),
            .count = (size_t)(until - n),
            .out = out};
        stage->kernels->sum[parts - 1](&sums);
        column += sums.count;
        out += sums.count * parts;
        n = until;
    }
}

/* Rows n .. end - 1, whose spectra are all in the ring. */
static void run_sum_tiles(const struct synthesise_block *block,
                          const struct synthesise_scratch *scratch, uint32_t stream, int64_t n,
                          int64_t end)
{
    const struct cpu_synthesise *stage = block->stage;
    const struct synthesise_spec *spec = &stage->base.spec;
    const int64_t points = spec->points;
    const int64_t turn = (int64_t)(spec->turn % spec->points);
    const size_t parts = spec->is_real_out ? 1 : 2;
    float *out = block->out + stream * block->run.out_stride * parts;
    for (int64_t tile = 0; tile < points; tile += (int64_t)stage->layout.tile) {
        const int64_t width = run_least((int64_t)stage->layout.tile, points - tile);
        /* Place 0 of row `lap`, a multiple of C less the turn. */
        int64_t lap = overlap_floor(n + turn, points) * points - turn;
        for (; lap + tile < end; lap += points) {
            const int64_t from = run_most(n, lap + tile);
            const int64_t to = run_least(end, lap + tile + width);
            if (from < to) {
                run_sum(block, scratch, from, to, (size_t)(from - lap),
                        out + (size_t)(from - block->run.first_row) * parts);
            }
        }
    }
}

/* Missing samples that a piece answers for. */
struct run_counted {
    int64_t begin, end;
    uint64_t missing;
};

/* `missing` of spectra begin .. end - 1, if it answers for all of them; of others it looks again.
 */
static void run_count(const struct synthesise_block *block, struct synthesise_scratch *scratch,
                      uint32_t stream, int64_t begin, int64_t end, uint64_t missing,
                      struct run_counted *counted)
{
    const int64_t from = run_most(begin, counted->begin);
    const int64_t to = run_least(end, counted->end);
    if (from == begin && to == end) {
        counted->missing += missing;
    } else if (from < to) {
        counted->missing += synthesise_read(block, scratch, stream, from, to);
    }
}

/* Counts likewise the missing samples of spectra that no row is made of. */
static void run_count_others(const struct synthesise_block *block,
                             struct synthesise_scratch *scratch, uint32_t stream, int64_t begin,
                             int64_t end, struct run_counted *counted)
{
    const int64_t step = (int64_t)block->stage->layout.step;
    begin = run_most(begin, counted->begin);
    end = run_least(end, counted->end);
    while (begin < end) {
        const int64_t next = run_least(end, (overlap_floor(begin, step) + 1) * step);
        counted->missing += synthesise_read(block, scratch, stream, begin, next);
        begin = next;
    }
}

/* Touches a thread's memory in that thread, and sets the places of its spectra. */
static void run_touch(const struct synthesise_layout *layout, struct synthesise_scratch *scratch)
{
    if (!scratch->is_touched) {
        memset(scratch->points, 0, layout->step * layout->fft.in_row * sizeof(float));
        memset(scratch->ring, 0, layout->ring * layout->fft.out_row * sizeof(float));
        for (size_t i = 0; i < 2 * layout->ring; i++) {
            scratch->row[i] = scratch->ring + i % layout->ring * layout->fft.out_row;
        }
        scratch->is_touched = 1;
    }
}

static int64_t run_piece_row(const struct synthesise_block *block, uint64_t piece)
{
    return block->run.first_row + (int64_t)(block->run.rows * piece / block->pieces);
}

/* The spectra of the block whose missing samples a piece answers for: from its first one to the
 * next piece's, the first and the last piece for all before and after. */
static struct run_counted run_answers(const struct synthesise_block *block, uint64_t piece)
{
    const struct stage_run *run = &block->run;
    const int64_t begin = run->first_sample + (int64_t)run->counted_first;
    struct run_counted counted = {.begin = begin, .end = begin + (int64_t)run->counted};
    if (piece > 0) {
        counted.begin =
            run_most(begin, run_first_spectrum(block->stage, run_piece_row(block, piece)));
    }
    if (piece + 1 < block->pieces) {
        counted.end = run_least(counted.end,
                                run_first_spectrum(block->stage, run_piece_row(block, piece + 1)));
    }
    if (!block->stage->reader.has_rule) {
        counted.end = counted.begin;
    }
    return counted;
}

static void run_task(void *context, uint32_t thread, uint64_t task)
{
    const struct synthesise_block *block = context;
    const struct cpu_synthesise *stage = block->stage;
    struct synthesise_scratch *scratch = &stage->scratch[thread];
    const uint32_t stream = (uint32_t)(task / block->pieces);
    const uint64_t piece = task % block->pieces;
    const int64_t step = (int64_t)stage->layout.step;
    int64_t n = run_piece_row(block, piece);
    const int64_t rows_end = run_piece_row(block, piece + 1);
    const int64_t first = run_first_spectrum(stage, n);
    const int64_t end = rows_end > n ? run_end_spectrum(stage, rows_end - 1) : first;
    struct run_counted counted = run_answers(block, piece);
    run_touch(&stage->layout, scratch);
    for (int64_t s = first; s < end;) {
        const int64_t next = run_least(end, (overlap_floor(s, step) + 1) * step);
        /* Rows whose last spectrum is before `next`. */
        const int64_t ready =
            run_least(rows_end, next * stage->base.spec.hop + stage->base.spec.first);
        const uint64_t missing = synthesise_transform(block, scratch, stream, s, next);
        run_count(block, scratch, stream, s, next, missing, &counted);
        if (n < ready) {
            run_sum_tiles(block, scratch, stream, n, ready);
            n = ready;
        }
        s = next;
    }
    run_count_others(block, scratch, stream, counted.begin, run_least(first, counted.end),
                     &counted);
    run_count_others(block, scratch, stream, run_most(end, counted.begin), counted.end, &counted);
    if (counted.missing > 0) {
        __atomic_fetch_add(&block->source->missing, counted.missing, __ATOMIC_RELAXED);
    }
}

/* Bytes from a channel to the next of every stream, if these are equal and not more than those from
 * a spectrum to the next; else 0. */
static ptrdiff_t run_channel_bytes(const struct synthesise_spec *spec,
                                   const struct sample_input *input, uint32_t nstreams)
{
    const ptrdiff_t bytes = spec->channels > 1 ? (ptrdiff_t)(input->re[1] - input->re[0]) : 0;
    if (bytes <= 0 || (size_t)bytes > input->step) {
        return 0;
    }
    for (uint32_t stream = 0; stream < nstreams; stream++) {
        const size_t *re = input->re + (size_t)stream * spec->channels;
        const size_t *im = input->im + (size_t)stream * spec->channels;
        for (uint32_t c = 1; c < spec->channels; c++) {
            if (re[c] - re[c - 1] != (size_t)bytes || im[c] - im[c - 1] != (size_t)bytes) {
                return 0;
            }
        }
    }
    return bytes;
}

/* As many pieces as keep all threads busy, of no fewer spectra than a row needs. */
static uint64_t run_pieces(const struct cpu_synthesise *stage, const struct stage_run *run)
{
    enum { PIECES_A_THREAD = 2 };
    const uint64_t least = 2 * (uint64_t)stage->length;
    const uint64_t wanted =
        ceil_div_u64((uint64_t)PIECES_A_THREAD * pool_threads(stage->pool), run->streams.count);
    return max_u64(min_u64(wanted, run->rows / least), 1);
}

static status_t cpu_synthesise_run(void *base, buffer_t *in, const struct sample_input *input,
                                   const struct stage_run *run, buffer_t *out)
{
    struct cpu_synthesise *stage = base;
    const struct synthesise_spec *spec = &stage->base.spec;
    struct synthesise_block *block = &stage->blocks[stage->nblocks % POOL_BLOCKS];
    const size_t series = (size_t)run->streams.count * spec->channels;
    TRY(cpu_begin(stage->pool, block->number, in, &block->in, out, &block->out));
    block->stage = stage;
    block->source = (struct host_buffer *)in;
    block->source->missing = 0;
    memcpy(block->re, input->re, series * sizeof *block->re);
    memcpy(block->im, input->im, series * sizeof *block->im);
    block->step = input->step;
    block->channel = run_channel_bytes(spec, input, run->streams.count);
    block->run = *run;
    block->pieces = run_pieces(stage, run);
    struct pool_block work = {.context = block, .run = {run_task, NULL}};
    work.tasks[0] = block->pieces * run->streams.count;
    block->number = cpu_submit(stage->pool, &work, in, out);
    stage->nblocks++;
    return STATUS_OK;
}

static struct cpu_fft_shape cpu_fft_inverse(size_t points, int is_complex)
{
    const struct cpu_fft_shape forward = cpu_fft_shape(points, is_complex);
    struct cpu_fft_shape shape = forward;
    shape.is_inverse = 1;
    shape.in_row = forward.out_row;
    shape.out_row = forward.in_row;
    return shape;
}

static struct synthesise_layout cpu_synthesise_layout(const struct synthesise_spec *spec)
{
    enum {
        NEAR_BYTES = 28 << 10, /* of the first-level cache */
        MOST_POINTS = 1 << 14, /* of spectra that are made FEW, not MANY at a time */
        MANY = 16,             /* as many as are ever transformed in a batch */
        FEW = 4,
        MOST_TILE = 256
    };
    struct synthesise_layout layout = {.fft = cpu_fft_inverse(spec->points, !spec->is_real_out)};
    const size_t parts = spec->is_real_out ? 1 : 2;
    const size_t length = (size_t)spec->taps * spec->points;
    layout.step = spec->points > MOST_POINTS ? FEW : MANY;
    const size_t spectra = (length - 1) / spec->hop + layout.step;
    layout.ring = (spectra + layout.step - 1) / layout.step * layout.step;
    const size_t room = NEAR_BYTES / sizeof(float) / parts / spectra / MOST_LANES * MOST_LANES;
    layout.tile = (size_t)min_u64(max_u64(room, 2 * MOST_LANES), MOST_TILE);
    return layout;
}

static size_t cpu_synthesise_coefficients(const struct synthesise_spec *spec)
{
    return (size_t)spec->taps * spec->points + 2 * MOST_LANES;
}

static uint64_t cpu_synthesise_bytes(const struct synthesise_spec *spec)
{
    const struct synthesise_layout layout = cpu_synthesise_layout(spec);
    const uint64_t floats = layout.step * layout.fft.in_row + layout.ring * layout.fft.out_row;
    const uint64_t offsets = (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(size_t);
    return spec->threads * (floats * sizeof(float) + 2 * layout.ring * sizeof(float *)) +
           cpu_synthesise_coefficients(spec) * sizeof(float) + POOL_BLOCKS * offsets;
}

static status_t cpu_synthesise_choose(backend_t *backend, const struct synthesise_spec *spec,
                                      struct synthesise_choice *out)
{
    struct synthesise_choice choice = {.backend = BACKEND_CPU};
    const struct cpu_fft_shape shape = cpu_fft_inverse(spec->points, !spec->is_real_out);
    (void)backend;
    choice.shape.simd = cpu_simd(spec->simd);
    TRY(cpu_fft_wisdom(&shape, 1, cpu_fft_effort(spec->planning, spec->expected), choice.wisdom,
                       sizeof choice.wisdom));
    *out = choice;
    return STATUS_OK;
}

static status_t cpu_synthesise_words(const struct synthesise_choice *choice, struct text *out)
{
    TRY(text_add(out, "%s, ", cpu_simd_name(choice->shape.simd)));
    return cpu_fft_words(choice->wisdom, out);
}

static void cpu_synthesise_destroy(void *base)
{
    struct cpu_synthesise *stage = base;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        cpu_settle(stage->pool, stage->blocks[i].number);
        MEMORY_FREE(stage->blocks[i].re, stage->blocks[i].im);
    }
    for (uint32_t i = 0; stage->scratch && i < stage->base.spec.threads; i++) {
        MEMORY_FREE(stage->scratch[i].points, stage->scratch[i].ring, stage->scratch[i].row);
    }
    cpu_fft_destroy(stage->transform);
    MEMORY_FREE(stage->scratch, stage->coeff);
}

static status_t synthesise_allocate(struct cpu_synthesise *stage)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const struct synthesise_layout *layout = &stage->layout;
    const size_t series = (size_t)spec->nstreams * spec->channels;
    TRY(memory_zeroed(cpu_synthesise_coefficients(spec), sizeof(float), "coefficients",
                      &stage->coeff));
    for (size_t i = 0; i < (size_t)stage->length; i++) {
        stage->coeff[MOST_LANES + i] = (float)spec->coeff[i];
    }
    TRY(memory_zeroed(spec->threads, sizeof *stage->scratch, "threads", &stage->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct synthesise_scratch *scratch = &stage->scratch[i];
        TRY(memory_aligned(layout->step * layout->fft.in_row, sizeof(float), "spectra",
                           &scratch->points));
        TRY(memory_aligned(layout->ring * layout->fft.out_row, sizeof(float), "spectra",
                           &scratch->ring));
        TRY(memory_zeroed(2 * layout->ring, sizeof *scratch->row, "spectra", &scratch->row));
    }
    for (int i = 0; i < POOL_BLOCKS; i++) {
        TRY(memory_zeroed(series, sizeof(size_t), "offsets", &stage->blocks[i].re));
        TRY(memory_zeroed(series, sizeof(size_t), "offsets", &stage->blocks[i].im));
    }
    return STATUS_OK;
}

static status_t cpu_synthesise_create(backend_t *backend, void *made)
{
    struct cpu_synthesise *stage = made;
    const struct synthesise_spec given = stage->base.spec, *spec = &given;
    const uint32_t simd = spec->choice.shape.simd;
    REQUIRE(cpu_simd_kernels(simd), STATUS_DEVICE,
            "this processor lacks the vector instructions that are used");
    stage->length = (int64_t)spec->taps * spec->points;
    stage->layout = cpu_synthesise_layout(spec);
    stage->reader = filter_reader(&spec->coding, (enum simd_level)(simd - 1));
    stage->kernels = synthesis_kernels((enum simd_level)(simd - 1));
    TRY(cpu_fft_create(&stage->layout.fft, spec->choice.wisdom, &stage->transform));
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &stage->pool));
    TRY(synthesise_allocate(stage));
    stage->base.spec.coeff = NULL;
    return STATUS_OK;
}

const struct synthesise_ops cpu_synthesise = {
    .stage = {sizeof(struct cpu_synthesise), cpu_synthesise_create, cpu_synthesise_destroy, NULL,
              cpu_synthesise_run},
    .bytes = {cpu_synthesise_bytes},
    .choose = cpu_synthesise_choose,
    .words = cpu_synthesise_words};
