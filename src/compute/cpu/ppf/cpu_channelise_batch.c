/* The batches of a block, and a thread's scratch: a batch is at most GRAIN spectra of one stream,
 * or of a pair, whose samples are without gaps, or are deinterleaved first. And their filter: how
 * wide columns are, and the pass over them. */
#include "base/memory.h"
#include "compute/cpu/ppf/cpu_channelise_parts.h"

enum {
    WINDOW_BYTES = 20 << 10, /* of the first-level cache, for a piece of the taps */
    FAR_BYTES = 256 << 10,   /* of the second-level cache, for all of them */
    MOST_COLUMNS = 128,      /* floats */
    LINE_BYTES = 64
};

struct ppf_fir {
    const struct cpu_kernels *kernels;
    void (*unpack)(const void *, size_t, const struct nibbles *, float *);
    struct nibbles nibbles;
    struct missing_rule rule;
    int has_rule;
    int conjugate;
    int is_complex;
    int is_shifted;
    size_t samples; /* P */
    size_t hop;
    size_t sample_bytes; /* stored */
    size_t taps;
    size_t rows;
    size_t columns; /* samples of a column */
    size_t padded;  /* P, rounded up to whole blocks; oversampled: P */
    struct ppf_fir_strips strips;
    float *coeff; /* [T][padded]; oversampled: with MOST_LANES zeros before and after; of strips
                     [strip][row of the matrix][T][columns] */
};

/* Returns the raw spectra that contain `rows` spectra. For oversampled banks, the maximum over all
 * places where the first of them may begin. */
static size_t fir_raw_spectra(size_t samples, size_t hop, size_t taps, size_t rows)
{
    return hop == samples ? rows + taps - 1
                          : (samples - 1 + (rows - 1) * hop + samples - 1) / samples + taps;
}

static size_t fir_window_rows(const struct channelise_spec *spec, size_t rows)
{
    return fir_raw_spectra(channelise_samples(spec), channelise_hop(spec), spec->taps, rows);
}

size_t ppf_fir_sample_bytes(const struct channelise_spec *spec)
{
    return sample_bytes(spec->format, spec->is_complex);
}

/* Samples of a column: whole blocks of the widest kernels, so that the cut is the same on every
 * machine. */
static size_t fir_column_samples(const struct channelise_spec *spec, size_t rows)
{
    size_t parts = spec->is_complex ? 2 : 1;
    const size_t piece = fir_raw_spectra(channelise_samples(spec), channelise_hop(spec),
                                         spec->taps < FIR_PIECE ? spec->taps : FIR_PIECE, rows);
    size_t near = WINDOW_BYTES / sizeof(float) / piece;
    size_t far = FAR_BYTES / sizeof(float) / fir_window_rows(spec, rows);
    size_t floats = near < far ? near : far;
    floats = floats < MOST_COLUMNS ? floats : MOST_COLUMNS;
    size_t blocks = floats / parts / MOST_LANES;
    return (blocks > 0 ? blocks : 1) * MOST_LANES;
}

static size_t ppf_fir_window_floats(const struct channelise_spec *spec, size_t rows)
{
    return fir_window_rows(spec, rows) * fir_column_samples(spec, rows) *
           (spec->is_complex ? 2 : 1);
}

static size_t fir_padded_samples(const struct channelise_spec *spec)
{
    return channelise_is_oversampled(spec)
               ? channelise_samples(spec)
               : (channelise_samples(spec) + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
}

/* Zeros before and after the coefficients. */
static size_t fir_margin(const struct channelise_spec *spec)
{
    return channelise_is_oversampled(spec) ? MOST_LANES : 0;
}

uint64_t ppf_fir_bytes(const struct channelise_spec *spec)
{
    return ((uint64_t)fir_padded_samples(spec) * spec->taps + 2 * fir_margin(spec)) * sizeof(float);
}

/* Returns the index of the coefficients for a strip's samples from number `first` of a spectrum. */
static size_t fir_strip_at(const ppf_fir_t *filter, size_t first)
{
    const struct ppf_fir_strips *strips = &filter->strips;
    const size_t height = filter->samples / strips->width;
    const size_t strip = first % strips->width / strips->columns;
    return (strip * height + first / strips->width) * filter->taps * strips->columns;
}

/* Coefficients on their way into a filter, PIECE samples of each tap by a task. */
struct coefficients {
    ppf_fir_t *filter;
    const double *coeff;
    size_t margin;
};

enum { PIECE = 1 << 14 };

static void fir_set_coeff(void *context, uint32_t thread, uint64_t task)
{
    const struct coefficients *all = context;
    const ppf_fir_t *filter = all->filter;
    const size_t first = (size_t)task * PIECE;
    const size_t end = filter->samples - first < PIECE ? filter->samples : first + PIECE;
    const size_t columns = filter->strips.columns > 0 ? filter->strips.columns : PIECE;
    (void)thread;
    for (size_t t = 0; t < filter->taps; t++) {
        for (size_t i = first; i < end; i += columns) {
            const double *from = all->coeff + t * filter->samples + i;
            float *to = filter->coeff + (columns < PIECE ? fir_strip_at(filter, i) + t * columns
                                                         : all->margin + t * filter->padded + i);
            for (size_t k = 0; k < columns && i + k < end; k++) {
                to[k] = (float)from[k];
            }
        }
    }
}

status_t ppf_fir_create(const struct cpu_kernels *kernels, const struct channelise_spec *spec,
                        size_t rows, struct ppf_fir_strips strips, ppf_fir_t **out)
{
    SCOPED(ppf_fir_destroy_at) ppf_fir_t *filter = NULL;
    TRY(memory_zeroed(1, sizeof *filter, "the filter", &filter));
    filter->kernels = kernels;
    filter->is_complex = spec->is_complex;
    filter->unpack = kernels->unpack[spec->format][spec->is_complex];
    filter->nibbles = spec->nibbles;
    filter->conjugate = spec->is_complex && spec->conjugate;
    filter->samples = channelise_samples(spec);
    filter->sample_bytes = ppf_fir_sample_bytes(spec);
    filter->hop = channelise_hop(spec);
    filter->is_shifted = spec->is_shifted;
    filter->taps = spec->taps;
    filter->rows = rows;
    filter->strips = strips;
    filter->columns = fir_column_samples(spec, rows);
    filter->padded = fir_padded_samples(spec);
    const struct sample_coding coding = channelise_coding(spec);
    filter->has_rule = missing_rule_of(kernels, &coding, &filter->rule);
    size_t margin = fir_margin(spec);
    size_t count = filter->padded * filter->taps + 2 * margin;
    TRY(memory_aligned(count, sizeof(float), "coefficients", &filter->coeff));
    if (strips.columns == 0) {
        memset(filter->coeff, 0, count * sizeof(float));
    }
    struct coefficients all = {filter, spec->coeff, margin};
    pool_each(spec->threads, ceil_div_u64(filter->samples, PIECE), fir_set_coeff, &all);
    *out = memory_move(&filter);
    return STATUS_OK;
}

void ppf_fir_destroy(ppf_fir_t *filter)
{
    if (filter) {
        MEMORY_FREE(filter->coeff, filter);
    }
}

/* `count` samples into whole blocks: what is after them in the last one is zero. */
static void fir_unpack_samples(const ppf_fir_t *filter, const char *at, size_t count, float *out)
{
    size_t lanes = filter->kernels->lanes;
    size_t blocks = count / lanes;
    size_t rest = count % lanes;
    filter->unpack(at, blocks, &filter->nibbles, out);
    if (rest > 0) {
        char last[MOST_LANES * 8] = {0};
        size_t parts = filter->is_complex ? 2 : 1;
        memcpy(last, at + blocks * lanes * filter->sample_bytes, rest * filter->sample_bytes);
        filter->unpack(last, 1, &filter->nibbles, out + blocks * lanes * parts);
    }
}

/* Sets missing samples among `count` to zero. Returns how many from `skip` to `until` were missing.
 * Samples that are zero already count, too, if zero is the missing value. */
static uint64_t fir_drop_samples(const ppf_fir_t *filter, size_t skip, size_t until, size_t count,
                                 float *out)
{
    uint64_t (*drop)(const struct missing_rule *, size_t, float *) =
        filter->kernels->drop[filter->is_complex];
    uint64_t found = 0;
    if (!filter->has_rule) {
        return 0;
    }
    uint64_t before = skip > 0 ? drop(&filter->rule, skip, out) : 0;
    if (until > skip) {
        found = drop(&filter->rule, until, out) - before;
    }
    if (until < count) {
        drop(&filter->rule, count, out);
    }
    return found;
}

/* Samples of a run: numbers 0 .. end - 1, of which the missing ones before `answers` count. */
struct fir_samples {
    const char *data;
    int64_t end, answers;
};

/* `width` samples from number `first` on, which may be before the first there is or reach beyond
 * the last: what is not there is zero. Returns how many were missing. */
static uint64_t fir_unpack_row(const ppf_fir_t *filter, const struct fir_samples *samples,
                               int64_t first, size_t width, float *out)
{
    const int64_t size = (int64_t)width;
    const int64_t from = first < 0 ? -first : 0;
    const int64_t end = samples->end - first < size ? samples->end - first : size;
    const int64_t until = samples->answers - first < end ? samples->answers - first : end;
    const size_t bytes = filter->sample_bytes;
    char edge[MOST_COLUMNS * 8];
    if (end <= from) {
        return 0;
    }
    const char *at = samples->data + (size_t)(first + from) * bytes;
    if (end - from < size) {
        memset(edge, 0, width * bytes);
        memcpy(edge + (size_t)from * bytes, at, (size_t)(end - from) * bytes);
        at = edge;
    }
    fir_unpack_samples(filter, at, width, out);
    return fir_drop_samples(filter, (size_t)from, (size_t)(until > from ? until : from), width,
                            out);
}

/* Calls what the next pass reads into the second-level cache. */
static void fir_touch_next(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE_BYTES) {
        __builtin_prefetch(at + i, 0, 2);
    }
}

uint64_t ppf_fir_part(const ppf_fir_t *filter, const char *data, const struct ppf_fir_part *part,
                      uint64_t answers, float *window, const struct ppf_fir_out *out)
{
    const struct cpu_kernels *kernels = filter->kernels;
    const size_t parts = filter->is_complex ? 2 : 1;
    const size_t raw = out->count + filter->taps - 1;
    const struct fir_samples samples = {data, (int64_t)(raw * filter->samples), (int64_t)answers};
    const size_t columns = filter->strips.columns;
    size_t at = part->first;
    uint64_t missing = 0;
    for (size_t i = 0; i < raw; i++, at += filter->samples) {
        missing +=
            fir_unpack_row(filter, &samples, (int64_t)at, columns, window + i * columns * parts);
        if (part->ahead > 0) {
            fir_touch_next(data + (at + part->ahead) * filter->sample_bytes,
                           columns * filter->sample_bytes);
        }
    }
    struct fir_block block = {.window = window,
                              .coeff = filter->coeff + fir_strip_at(filter, part->first),
                              .window_stride = columns * parts,
                              .coeff_stride = columns,
                              .out_stride = out->stride,
                              .taps = filter->taps,
                              .rows = (out->count + FIR_ROWS - 1) / FIR_ROWS * FIR_ROWS,
                              .blocks = columns / kernels->lanes,
                              .conjugate = filter->conjugate,
                              .out = out->rows};
    kernels->fir[filter->is_complex](&block);
    return missing;
}

/* A column of a critically sampled bank: `blocks` blocks from sample `column` of each raw spectrum
 * on. */
static void fir_column(const ppf_fir_t *filter, const float *window, size_t column, size_t blocks,
                       const struct ppf_fir_out *out)
{
    size_t parts = filter->is_complex ? 2 : 1;
    struct fir_block block = {.window = window,
                              .coeff = filter->coeff + column,
                              .window_stride = blocks * filter->kernels->lanes * parts,
                              .coeff_stride = filter->padded,
                              .out_stride = out->stride,
                              .touch_stride = out->touch_stride,
                              .taps = filter->taps,
                              .rows = (out->count + FIR_ROWS - 1) / FIR_ROWS * FIR_ROWS,
                              .blocks = blocks,
                              .conjugate = filter->conjugate,
                              .out = out->rows + column * parts,
                              .touch = out->touch ? out->touch + column * parts : NULL};
    filter->kernels->fir[filter->is_complex](&block);
}

/* Filters a column of an oversampled filter bank likewise. */
static void fir_hop_column(const ppf_fir_t *filter, const float *window, size_t column,
                           size_t blocks, const struct ppf_fir_out *out)
{
    size_t parts = filter->is_complex ? 2 : 1;
    struct fir_hops hops = {.window = window,
                            .coeff = filter->coeff + MOST_LANES,
                            .window_stride = blocks * filter->kernels->lanes * parts,
                            .out_stride = out->stride,
                            .touch_stride = out->touch_stride,
                            .samples = filter->samples,
                            .hop = filter->hop,
                            .turn = out->turn,
                            .column = column,
                            .taps = filter->taps,
                            .spectra = out->count,
                            .blocks = blocks,
                            .conjugate = filter->conjugate,
                            .is_shifted = filter->is_shifted,
                            .out = out->rows + column * parts,
                            .touch = out->touch ? out->touch + column * parts : NULL};
    filter->kernels->hops[filter->is_complex](&hops);
}

uint64_t ppf_fir_run(const ppf_fir_t *filter, const char *data, uint64_t answers, float *window,
                     const struct ppf_fir_out *out)
{
    const size_t lanes = filter->kernels->lanes;
    const size_t parts = filter->is_complex ? 2 : 1;
    const size_t next = out->count * filter->hop;
    const size_t needed = next - filter->hop + filter->taps * filter->samples;
    const struct fir_samples samples = {data, (int64_t)needed, (int64_t)answers};
    const size_t raw = (out->turn + needed + filter->samples - 1) / filter->samples;
    const size_t touched = (next + filter->samples - 1) / filter->samples;
    uint64_t missing = 0;
    for (size_t column = 0; column < filter->samples; column += filter->columns) {
        size_t left = filter->samples - column;
        size_t width = left < filter->columns ? left : filter->columns;
        size_t blocks = (width + lanes - 1) / lanes;
        int64_t at = (int64_t)column - (int64_t)out->turn;
        for (size_t i = 0; i < raw; i++, at += (int64_t)filter->samples) {
            missing +=
                fir_unpack_row(filter, &samples, at, width, window + i * blocks * lanes * parts);
            if (i >= raw - touched) {
                fir_touch_next(data + (at + (int64_t)next) * (int64_t)filter->sample_bytes,
                               width * filter->sample_bytes);
            }
        }
        if (filter->hop == filter->samples) {
            fir_column(filter, window, column, blocks, out);
        } else {
            fir_hop_column(filter, window, column, blocks, out);
        }
    }
    return missing;
}

/* ---- interleaved ---- */

/* Streams that lie interleaved are deinterleaved a few at a time, by the thread that filters them.
 * Where threads share fine spectra, or would have too few streams each, all are at once, before.
 *
 * Tiles of samples are copied stream by stream, while their cache lines are near. */

enum {
    GROUP_BYTES = 512 << 10, /* of streams in order: half of a second-level cache */
    WIDE_BYTES = 8 << 20,    /* the same of streams that share cache lines, in the last cache: else
                                each line would be read once for every few streams of it */
    TASKS_A_THREAD = 4,      /* of a block, at least, where groups are wide */
    TILE = 64,               /* samples of one stream, at least, before the next one's, */
    TILE_BYTES = 16 << 10,   /* of which there are more where their lines stay near */
    TURN_SAMPLES = 1 << 14,  /* of each stream, of a task that deinterleaves a block */
    TURN_PAD = 2 * TILE /* samples between streams, which begin in different sets of the cache */
};

/* Bytes of one stream's samples for a grain of spectra. */
static uint64_t interleaved_stream_bytes(const struct channelise_spec *spec)
{
    return channelise_inputs(spec, GRAIN) * ppf_fir_sample_bytes(spec);
}

/* As many streams as share a cache line and fit, and leave tasks for all threads. */
static uint32_t interleaved_group_size(const struct channelise_spec *spec)
{
    const uint64_t each = interleaved_stream_bytes(spec);
    const uint64_t streams = spec->nstreams / (channelise_has_pairs(spec) ? 2 : 1);
    const uint64_t shared = streams * ceil_div_u64(spec->max_spectra, GRAIN) /
                            ((uint64_t)TASKS_A_THREAD * spec->threads);
    const uint64_t turned = TURN_BYTES / ppf_fir_sample_bytes(spec);
    const uint64_t wide = min_u64(max_u64(WIDE_BYTES / each, turned), shared);
    const uint64_t fit = max_u64(GROUP_BYTES / each, wide);
    const uint64_t most = LINE_BYTES / ppf_fir_sample_bytes(spec);
    return (uint32_t)(fit >= most ? most : fit > turned ? fit - fit % turned : max_u64(fit, 1));
}

int interleaved_is_slow(const struct channelise_spec *spec)
{
    return interleaved_group_size(spec) * ppf_fir_sample_bytes(spec) < TURN_BYTES;
}

uint64_t interleaved_bytes(const struct channelise_spec *spec)
{
    return interleaved_stream_bytes(spec) * interleaved_group_size(spec);
}

struct interleaved interleaved_layout(const struct channelise_spec *spec,
                                      const struct sample_input *input, uint32_t nstreams)
{
    size_t bytes = ppf_fir_sample_bytes(spec);
    size_t part = sample_part_bytes(spec->format, spec->is_complex);
    if (spec->is_spectra) {
        return (struct interleaved){.group = 1, .groups = nstreams, .sample_bytes = bytes};
    }
    struct interleaved layout = {.is_copied = input->step != bytes, .sample_bytes = bytes};
    for (uint32_t i = 0; part > 0 && i < nstreams; i++) {
        layout.is_copied |= input->im[i] != input->re[i] + part;
    }
    const uint64_t near = GROUP_BYTES / interleaved_stream_bytes(spec);
    const uint64_t most = max_u64(max_u64(input->step / bytes, near), 1); /* share lines, or fit */
    layout.group = layout.is_copied ? (uint32_t)min_u64(interleaved_group_size(spec), most) : 1;
    layout.groups = (nstreams + layout.group - 1) / layout.group;
    return layout;
}

/* Returns the number of streams from `stream` on, of `streams`, that are transposed together:
 * TURN_BYTES of neighbours, or 0. */
static uint32_t interleaved_neighbours(const struct block *block, uint32_t stream, uint32_t streams,
                                       size_t samples)
{
    const struct sample_input *input = &block->input;
    const size_t bytes = block->layout.sample_bytes;
    const uint32_t count = (uint32_t)(TURN_BYTES / bytes);
    return streams >= count && samples % count == 0 &&
                   cpu_are_beside(input->re + stream, input->im + stream, count, bytes)
               ? count
               : 0;
}

/* Calls the next tile of streams that share cache lines into the cache: no prefetcher of a
 * processor follows steps that leave a page every few samples. */
static void interleaved_prefetch(const struct block *block, uint32_t stream, uint32_t streams,
                                 const char *at, size_t samples)
{
    const struct sample_input *input = &block->input;
    const size_t reach = input->re[stream + streams - 1] - input->re[stream];
    const int is_sparse = reach < LINE_BYTES && input->step > LINE_BYTES;
    for (size_t k = 0; k < samples && is_sparse; k++) {
        __builtin_prefetch(at + input->re[stream] + k * input->step, 0, 2);
    }
}

/* Copies `count` samples from sample `first` on of `streams` streams from `stream` on.
 *
 *   out   [streams][pitch] samples, each with its real part before the imaginary one   */
static void interleaved_take(const struct block *block, uint32_t stream, uint32_t streams,
                             size_t first, size_t count, size_t pitch, char *out)
{
    const struct interleaved *layout = &block->layout;
    const struct sample_input *input = &block->input;
    size_t bytes = layout->sample_bytes;
    size_t step = input->step;
    const size_t most = step < TILE_BYTES / TILE ? TILE_BYTES / step / TILE * TILE : TILE;
    for (size_t tile = 0; tile < count; tile += most) {
        size_t samples = count - tile < most ? count - tile : most;
        const char *at = block->in + (first + tile) * step;
        uint32_t now = 1;
        if (tile + most < count) {
            interleaved_prefetch(block, stream, streams, at + most * step, most);
        }
        for (uint32_t i = 0; i < streams; i += now) {
            const char *re = at + input->re[stream + i];
            const char *im = at + input->im[stream + i];
            char *to = out + (i * pitch + tile) * bytes;
            now = interleaved_neighbours(block, stream + i, streams - i, samples);
            if (now > 0) {
                block->cpu->kernels->turn(bytes, re, step, samples, pitch * bytes, to);
                continue;
            }
            now = 1;
            if (im == re || im == re + bytes / 2) {
                block->cpu->kernels->gather(bytes, re, step, samples, bytes, to);
            } else {
                block->cpu->kernels->gather(bytes / 2, re, step, samples, bytes, to);
                block->cpu->kernels->gather(bytes / 2, im, step, samples, bytes, to + bytes / 2);
            }
        }
    }
}

/* Samples of a block of `spectra` spectra, and those from a stream's first to the next one's. */
static uint64_t interleaved_samples(const struct cpu *cpu, uint64_t spectra)
{
    return channelise_inputs(&cpu->base.spec, spectra);
}

static uint64_t interleaved_pitch(const struct cpu *cpu)
{
    return interleaved_samples(cpu, cpu->shared) + TURN_PAD;
}

uint64_t interleaved_turned_bytes(const struct cpu *cpu)
{
    return interleaved_pitch(cpu) * cpu->base.spec.nstreams * ppf_fir_sample_bytes(&cpu->base.spec);
}

uint64_t interleaved_tasks(const struct block *block)
{
    return ceil_div_u64(interleaved_samples(block->cpu, block->spectra), TURN_SAMPLES);
}

void interleaved_turn(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    const uint64_t all = interleaved_samples(block->cpu, block->spectra);
    const uint64_t first = task * TURN_SAMPLES;
    (void)thread;
    interleaved_take(block, 0, block->nstreams, first, min_u64(TURN_SAMPLES, all - first),
                     interleaved_pitch(block->cpu),
                     block->turned + first * block->layout.sample_bytes);
}

/* ---- cpu channelise batch ---- */

/* Spectra that a thread keeps: of pairs those of the first stream until the second's come. */
static size_t channelise_bins_rows(const struct cpu *cpu)
{
    size_t batch = cpu->shape.batch;
    return cpu->has_pairs ? (batch > 1 ? 2 * batch : cpu->rows + 1) : batch;
}

void cpu_channelise_scratch_floats(const struct cpu *cpu, size_t floats[SCRATCH_PARTS])
{
    const size_t streams = cpu->has_pairs ? 2 : 1;
    if (cpu->base.spec.is_spectra) {
        memset(floats, 0, SCRATCH_PARTS * sizeof *floats);
        return;
    }
    if (cpu->fine.height > 0) {
        floats[0] = (cpu->rows + cpu->base.spec.taps - 1) * 2 * FINE_STRIP;
        floats[1] = cpu->rows * cpu->fine.height * 2 * FINE_STRIP;
        floats[2] = fine_fft_scratch(cpu->fine) + streams * fine_fft_bins(cpu->fine);
        floats[3] = streams * cpu->rows * fine_fft_matrix(cpu->fine);
        return;
    }
    floats[0] = ppf_fir_window_floats(&cpu->base.spec, cpu->rows);
    floats[1] = (cpu->rows + FIR_ROWS) * cpu->shape.in_row;
    floats[2] = channelise_bins_rows(cpu) * cpu->shape.out_row;
    floats[3] = 0;
}

/* The thread that owns the scratch touches it first. Rows that were not requested are computed,
 * too: of zeros. */
static void channelise_touch_scratch(const struct cpu *cpu, struct scratch *scratch)
{
    size_t floats[SCRATCH_PARTS];
    if (!scratch->is_touched) {
        cpu_channelise_scratch_floats(cpu, floats);
        memset(scratch->window, 0, floats[0] * sizeof(float));
        memset(scratch->filtered, 0, floats[1] * sizeof(float));
        memset(scratch->bins, 0, floats[2] * sizeof(float));
        scratch->is_touched = 1;
    }
}

/* Returns the samples of stream `stream` + i of a group, from the batch's first spectrum on.
 * Interleaved ones are deinterleaved first, into half `half` of the scratch. */
static const char *channelise_samples_of(const struct block *block, struct scratch *scratch,
                                         uint32_t stream, uint32_t i, const struct batch *batch,
                                         int half, uint32_t streams)
{
    const struct cpu *cpu = block->cpu;
    const struct interleaved *layout = &block->layout;
    size_t count = (size_t)channelise_inputs(&cpu->base.spec, batch->count);
    size_t first = (size_t)batch->first * channelise_hop(&cpu->base.spec);
    if (cpu->base.spec.is_spectra) {
        const size_t row = (size_t)batch->first * block->nstreams + stream + i;
        return block->in + row * cpu->base.spec.nchannels * layout->sample_bytes;
    }
    if (block->turned) {
        return block->turned +
               ((stream + i) * interleaved_pitch(cpu) + first) * layout->sample_bytes;
    }
    if (!layout->is_copied) {
        return block->in + block->input.re[stream + i] + first * layout->sample_bytes;
    }
    char *copy = scratch->deinterleaved + (size_t)half * interleaved_bytes(&cpu->base.spec);
    if (i == 0) {
        interleaved_take(block, stream, streams, first, count, count, copy);
    }
    return copy + i * count * layout->sample_bytes;
}

/* The streams, or pairs, of a group: *first is the first one's (first) stream; returns how many. */
static uint32_t channelise_group(const struct block *block, uint32_t group, uint32_t *first)
{
    uint32_t inner = block->cpu->base.spec.pol_inner;
    if (!block->cpu->has_pairs) {
        *first = group * block->group;
        return (uint32_t)min_u64(block->group, block->nstreams - *first);
    }
    uint32_t groups = (inner + block->group - 1) / block->group;
    uint32_t in = group % groups * block->group;
    *first = group / groups * inner * 2 + in;
    return (uint32_t)min_u64(block->group, inner - in);
}

uint32_t cpu_channelise_batch(const struct block *block, uint64_t grain, uint32_t group,
                              struct batch *out, uint32_t *stream)
{
    uint64_t lead = block->first % GRAIN;
    uint64_t from = grain * GRAIN < lead ? 0 : grain * GRAIN - lead;
    uint64_t to = min_u64((grain + 1) * GRAIN - lead, block->spectra);
    *out = (struct batch){
        .streams = block->cpu->has_pairs ? 2 : 1, .first = from, .count = (size_t)(to - from)};
    return channelise_group(block, group, stream);
}

void cpu_channelise_batch_at(const struct block *block, struct scratch *scratch, uint32_t stream,
                             uint32_t i, uint32_t count, struct batch *batch)
{
    channelise_touch_scratch(block->cpu, scratch);
    for (int half = 0; half < (int)batch->streams; half++) {
        uint32_t first = stream + (half ? block->cpu->base.spec.pol_inner : 0);
        batch->stream[half] = first + i;
        batch->samples[half] = channelise_samples_of(block, scratch, first, i, batch, half, count);
    }
}
