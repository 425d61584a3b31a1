/* A filterbank in HDF5 as SIGPROC's .fil: header, then [time][if][chan], highest frequency first.
 */
#include "archive/fbh5/fbh5.h"
#include "base/memory.h"
#include "base/units.h"
#include "product/export/export.h"
#include "product/export/export_file.h"
#include "product/kind/sigproc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples of a block: 16 MiB as floats. */
enum { BLOCK = 4 << 20 };

/* One export under way. */
struct fil {
    const struct export_fil_options *options;
    struct fbh5 *in;
    fbh5_reader_t *reader;
    struct sigproc header; /* of what is written; its texts are those of `in` */
    struct text head;      /* the same as bytes */
    struct export_file file;
    struct scale scale;
    uint32_t bits;
    int is_reversed, is_plain; /* plain: samples are written as they are stored */
    uint64_t first_if, nifs;   /* that are read */
    uint64_t rows, chans;      /* of a block */
    void *stored, *made;
    float *numbers;
    uint64_t nans;
};

static uint64_t fil_stored_bits(const struct fil *fil)
{
    return 8 * (uint64_t)fil->in->sample_bytes;
}

/* Opens it, with room for chunks that several blocks share. */
static status_t fil_open_input(struct fil *fil)
{
    status_t st = STATUS_OK;
    enum { CACHE_BYTES = 64 << 20 };
    TRY(fbh5_open(fil->options->product, &fil->in));
    TRY(fbh5_check_even(fil->in));
    TRY(fbh5_reader_create(fil->in, CACHE_BYTES, 1, &fil->reader));
    fil->header = sigproc_of(fil->in);
    if (!(fil->in->tstart_mjd > 0)) {
        report_note("%s does not say when it starts: tstart = 0", fil->in->path);
    }
out:
    return st;
}

/* Sums of what may be below 0 mean nothing. */
static status_t fil_check_sum(const struct fbh5 *in)
{
    status_t st = STATUS_OK;
    struct text powers = {0};
    for (uint32_t i = 0; i < in->nifs; i++) {
        if (in->nifs > 1 && !fbh5_is_power(in, i)) {
            TRY(fbh5_powers(in, &powers));
            TRY(report_fail(
                STATUS_USAGE,
                "export: the ifs of %s are %s, whose sum means nothing: --if takes one; "
                "powers: %s",
                in->path, in->pols, powers.data));
        }
    }
out:
    text_free(&powers);
    return st;
}

static status_t fil_choose_ifs(struct fil *fil)
{
    status_t st = STATUS_OK;
    const struct export_fil_options *options = fil->options;
    uint64_t there = fil->in->nifs;
    REQUIRE(options->only_if < 0 || (uint64_t)options->only_if < there, STATUS_USAGE,
            "export: --if %lld: %s has %llu, counted from 0", (long long)options->only_if,
            fil->in->path, (unsigned long long)there);
    TRY(options->sum ? fil_check_sum(fil->in) : STATUS_OK);
    fil->first_if = options->only_if < 0 ? 0 : (uint64_t)options->only_if;
    fil->nifs = options->only_if < 0 ? there : 1;
    fil->header.nifs = options->sum ? 1 : fil->nifs;
out:
    return st;
}

/* The least bits that hold every value exactly. */
static uint32_t fil_exact_bits(const struct fil *fil)
{
    uint32_t stored = (uint32_t)fil_stored_bits(fil);
    uint64_t terms = fil->options->sum ? fil->nifs : 1;
    if (terms == 1 || stored == 32) {
        return stored;
    }
    return stored == 8 && terms <= UINT16_MAX / UINT8_MAX ? 16 : 32;
}

static status_t fil_choose_bits(struct fil *fil)
{
    status_t st = STATUS_OK;
    enum scale_kind kind = fil->options->scale.kind;
    uint32_t exact = fil_exact_bits(fil);
    fil->bits = fil->options->bits ? fil->options->bits : exact;
    REQUIRE(kind == SCALE_NONE || fil->bits < 32, STATUS_USAGE,
            "export: --scale is for --bits 8 and 16; 32 bits are floats and need none");
    REQUIRE(kind != SCALE_NONE || fil->bits >= exact, STATUS_USAGE,
            "export: %u bits do not hold what %s holds in %u: say how with --scale channels, "
            "--scale range or --scale LOW..HIGH",
            fil->bits, fil->in->path, exact);
    fil->is_plain = kind == SCALE_NONE && fil->bits == fil_stored_bits(fil) && !fil->options->sum;
    fil->header.nbits = fil->bits;
out:
    return st;
}

/* Whole spectra in a block, whole chunks of the file where they fit; else a piece of a spectrum. */
static status_t fil_plan_blocks(struct fil *fil)
{
    status_t st = STATUS_OK;
    uint64_t spectrum = fil->nifs * fil->header.nchans;
    uint64_t chunk = fil->in->chunk_rows;
    fil->rows = min_u64(max_u64(BLOCK / spectrum, 1), fil->in->rows);
    fil->rows = fil->rows > chunk ? fil->rows - fil->rows % chunk : fil->rows;
    fil->chans = spectrum <= BLOCK ? fil->header.nchans : max_u64(BLOCK / fil->nifs, 1);
    size_t samples = (size_t)(fil->rows * fil->nifs * fil->chans);
    TRY(memory_aligned(samples, fil_stored_bits(fil) / 8, "samples", &fil->stored));
    if (!fil->is_plain) {
        TRY(memory_aligned(samples, sizeof *fil->numbers, "samples", &fil->numbers));
        TRY(memory_aligned(samples, fil->bits / 8, "samples", &fil->made));
    }
out:
    return st;
}

/* The stored samples as floats, summed over ifs if so asked: [rows][nifs written][chans]. */
static void fil_make_numbers(struct fil *fil, const struct fbh5_block *block)
{
    uint64_t terms = fil->options->sum ? fil->nifs : 1;
    uint64_t lines = block->rows * fil->header.nifs;
    for (uint64_t line = 0; line < lines; line++) {
        for (uint64_t i = 0; i < block->chans; i++) {
            double sum = 0;
            for (uint64_t term = 0; term < terms; term++) {
                uint64_t at = (line * terms + term) * block->chans + i;
                sum += fil_stored_bits(fil) == 8    ? ((const uint8_t *)fil->stored)[at]
                       : fil_stored_bits(fil) == 16 ? ((const uint16_t *)fil->stored)[at]
                                                    : (double)((const float *)fil->stored)[at];
            }
            fil->numbers[line * block->chans + i] = (float)sum;
        }
    }
}

/* Which of the scale's channels begins line `line` of the block. */
static uint64_t fil_first_channel(const struct fil *fil, const struct fbh5_block *block,
                                  uint64_t line)
{
    return line % fil->header.nifs * fil->header.nchans + block->chan;
}

static status_t fil_measure_block(struct fil *fil, const struct fbh5_block *block)
{
    fil_make_numbers(fil, block);
    for (uint64_t line = 0; line < block->rows * fil->header.nifs; line++) {
        scale_measure(&fil->scale, fil->numbers + line * block->chans, block->chans,
                      fil_first_channel(fil, block, line));
    }
    return STATUS_OK;
}

static void fil_encode_block(struct fil *fil, const struct fbh5_block *block)
{
    uint64_t bytes = block->chans * fil->bits / 8;
    fil_make_numbers(fil, block);
    for (uint64_t line = 0; line < block->rows * fil->header.nifs; line++) {
        const float *values = fil->numbers + line * block->chans;
        char *out = (char *)fil->made + line * bytes;
        if (fil->bits == 32) {
            memcpy(out, values, bytes);
        } else {
            scale_encode(&fil->scale, values, block->chans, fil_first_channel(fil, block, line),
                         out);
        }
    }
}

#define REVERSE(type, values, count)                                                               \
    for (type *left = (values), *right = left + (count)-1; left < right; left++, right--) {        \
        type kept = *left;                                                                         \
        *left = *right;                                                                            \
        *right = kept;                                                                             \
    }

static void fil_reverse_line(uint32_t bits, void *line, uint64_t count)
{
    if (bits == 8) {
        REVERSE(uint8_t, line, count)
    } else if (bits == 16) {
        REVERSE(uint16_t, line, count)
    } else {
        REVERSE(uint32_t, line, count)
    }
}

/* Writes a block of made samples: in one go if it is of whole spectra. */
static status_t fil_put_block(struct fil *fil, const struct fbh5_block *block, char *data)
{
    status_t st = STATUS_OK;
    uint64_t nchans = fil->header.nchans;
    uint64_t lines = block->rows * fil->header.nifs;
    uint64_t width = fil->bits / 8;
    uint64_t chan = fil->is_reversed ? nchans - block->chan - block->chans : block->chan;
    uint64_t first = block->row * fil->header.nifs * nchans + chan;
    for (uint64_t line = 0; fil->is_reversed && line < lines; line++) {
        fil_reverse_line(fil->bits, data + line * block->chans * width, block->chans);
    }
    uint64_t together = block->chans == nchans ? lines : 1;
    for (uint64_t line = 0; line < lines; line += together) {
        TRY(export_file_put(&fil->file, fil->head.length + (first + line * nchans) * width,
                            data + line * block->chans * width, together * block->chans * width));
    }
out:
    return st;
}

static status_t fil_write_block(struct fil *fil, const struct fbh5_block *block)
{
    if (!fil->is_plain) {
        fil_encode_block(fil, block);
    }
    char *data = fil->is_plain ? fil->stored : fil->made;
    if (fil->bits == 32) {
        fil->nans += export_count_nans((const float *)(void *)data,
                                       block->rows * fil->header.nifs * block->chans);
    }
    return fil_put_block(fil, block, data);
}

/* Reads all of the input, block by block. */
static status_t fil_for_each_block(struct fil *fil,
                                   status_t (*use)(struct fil *, const struct fbh5_block *))
{
    status_t st = STATUS_OK;
    uint64_t nchans = fil->header.nchans;
    for (uint64_t row = 0; row < fil->in->rows; row += fil->rows) {
        for (uint64_t chan = 0; chan < nchans; chan += fil->chans) {
            struct fbh5_block block = {.row = row,
                                       .rows = min_u64(fil->rows, fil->in->rows - row),
                                       .first_if = fil->first_if,
                                       .nifs = fil->nifs,
                                       .chan = chan,
                                       .chans = min_u64(fil->chans, nchans - chan)};
            TRY(fbh5_read(fil->reader, &block, fil->stored));
            TRY(use(fil, &block));
        }
    }
out:
    return st;
}

static uint64_t fil_output_bytes(const struct fil *fil)
{
    return fil->head.length +
           fil->in->rows * fil->header.nifs * fil->header.nchans * (fil->bits / 8);
}

/* What is read is not written: the filterbank, and all files that it leads to. */
static status_t fil_check_output(const struct fil *fil, const char *path)
{
    status_t st = STATUS_OK;
    static const char what[] = "the file which it is made of,";
    struct guard reads = {0};
    TRY(guard_add(&reads, what, fil->in->path));
    for (uint32_t i = 0; i < fil->in->storage.sources.count; i++) {
        TRY(guard_add(&reads, what, fil->in->storage.sources.items[i].path));
    }
    TRY(export_file_check(path, &reads, fil->options->force));
out:
    guard_free(&reads);
    return st;
}

static status_t fil_write(struct fil *fil, const char *path)
{
    status_t st = STATUS_OK;
    TRY(fil_check_output(fil, path));
    TRY(export_file_begin(path, fil->options->force, &fil->head, &fil->file));
    TRY(export_file_reserve(&fil->file, fil_output_bytes(fil)));
    if (scale_must_measure(&fil->scale)) {
        TRY(fil_for_each_block(fil, fil_measure_block));
    }
    TRY(scale_settle(&fil->scale, fil->in->path));
    TRY(fil_for_each_block(fil, fil_write_block));
    TRY(export_file_publish(&fil->file));
out:
    return st;
}

static status_t fil_say(const struct fil *fil, const char *path, struct text *out)
{
    status_t st = STATUS_OK;
    char bytes[UNITS_TEXT];
    char rows[UNITS_TEXT];
    const struct sigproc *header = &fil->header;
    double last = header->fch1 + (double)(header->nchans - 1) * header->foff;
    uint64_t nans = fil->bits == 32 ? fil->nans : fil->scale.blanks;
    TRY(text_add_shown(
        out,
        "%s: SIGPROC filterbank, %s %s of %llu x %llu channels, %.9g to %.9g MHz%s, "
        "%s, %s\n",
        path, units_count(fil->in->rows, rows), units_plural(fil->in->rows, "spectrum", "spectra"),
        (unsigned long long)header->nifs, (unsigned long long)header->nchans, header->fch1, last,
        fil->is_reversed ? " (reversed: the highest comes first)" : "",
        fil->bits == 32  ? "32-bit float"
        : fil->bits == 8 ? "8 bit"
                         : "16 bit",
        units_bytes(fil_output_bytes(fil), bytes)));
    if (fil->scale.options.kind != SCALE_NONE) {
        TRY(scale_say(&fil->scale, out));
    }
    if (fil->in->coherent_constant > 0) {
        report_warn(
            "%s: %s was dedispersed coherently to DM %g, which SIGPROC cannot say: within a "
            "coarse channel there are no delays left at that DM",
            path, fil->in->path, fil->in->coherent_dm);
    }
    if (nans > 0) {
        report_note(
            "%s: %llu %s of %s %s NaN (holes of the run?): %s", path, (unsigned long long)nans,
            units_plural(nans, "sample", "samples"), fil->in->path, units_plural(nans, "is", "are"),
            fil->bits == 32                             ? "they stay NaN"
            : fil->scale.options.kind == SCALE_CHANNELS ? "their channels' means stand there"
                                                        : "0 stands there");
    }
out:
    return st;
}

static void fil_end(struct fil *fil)
{
    export_file_end(&fil->file);
    scale_end(&fil->scale);
    text_free(&fil->head);
    free(fil->stored);
    free(fil->numbers);
    free(fil->made);
    fbh5_reader_destroy(fil->reader);
    fbh5_destroy(fil->in);
}

status_t export_fil(const struct export_fil_options *options, struct text *said)
{
    status_t st = STATUS_OK;
    struct fil fil = {.options = options, .file = {.fd = -1}};
    char *path = NULL;
    TRY(export_name(options->out, options->product, ".fil", &path));
    TRY(fil_open_input(&fil));
    TRY(fil_choose_ifs(&fil));
    TRY(fil_choose_bits(&fil));
    fil.is_reversed = sigproc_reverse(&fil.header);
    TRY(sigproc_write(&fil.header, &fil.head));
    TRY(fil_plan_blocks(&fil));
    TRY(scale_begin(&options->scale, fil.bits, fil.header.nifs * fil.header.nchans, &fil.scale));
    TRY(fil_write(&fil, path));
    TRY(fil_say(&fil, path, said));
out:
    fil_end(&fil);
    free(path);
    return st;
}
