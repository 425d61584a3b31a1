/* Search-mode PSRFITS: a table whose rows (subints) each hold some spectra [NSBLK][pol][chan],
 * big-endian, the scale and offset of every channel, and a weight, 0 where nothing of it is there:
 * readers multiply by it, so it is never a share (a dump that lacks samples has the power of a
 * whole one already). */
#include "base/byte_order.h"
#include "base/memory.h"
#include "dsp/steps.h"
#include "dsp/stokes.h"
#include "io/file.h"
#include "product/export/export_bank.h"
#include "product/export/psrfits_head.h"
#include "product/product.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows (subints) of the table of a PSRFITS file: each holds some spectra [NSBLK][pol][chan],
 * big-endian, the scale and offset of every channel, and a weight, 0 where nothing of it is there:
 * readers multiply by it, so it is never a share (a dump that lacks samples has the power of a
 * whole one already). Private to product/export/.
 *
 * Rows of a PSRFITS file's table, piece by piece. */

enum { PSRFITS_NAME = 16, PSRFITS_RECORD = 2880 };

/* bank->own of an export. */
struct psrfits_out {
    struct psrfits_head head;
    uint64_t begin; /* of the table's first row in the file */
    char pol_type[PSRFITS_NAME];
    const char *comment;
};

/* Each thread has numbers of up to 8 bytes, then a last row's spectra that there are not. */
enum { PSRFITS_ROOM = sizeof(double) + sizeof(float) };

static uint8_t *psrfits_room(const struct export_bank *bank)
{
    return (uint8_t *)bank->room;
}

static uint8_t *psrfits_filler(const struct export_bank *bank)
{
    return psrfits_room(bank) + bank->header.nchans * sizeof(double);
}

static const double half_of_16_bits = 32768; /* FITS's 16 bits have a sign */

/* One subint, or some channels of it, as it goes through. */
struct psrfits_piece {
    struct export_bank *bank;
    const struct psrfits_out *out;
    uint64_t subint, at;   /* its place in the file */
    uint64_t chan, chans;  /* of its channels */
    uint64_t rows, before; /* spectra; those before it in the block */
    uint8_t *data;         /* [rows][nifs][chans] */
};

/* Numbers of `size` bytes, turned round where they lie. */
static status_t psrfits_put(const struct psrfits_piece *piece, uint64_t at, void *numbers,
                            uint64_t count, uint32_t size)
{
    turn_bytes(numbers, count * size, size);
    return export_file_put(piece->bank->file, piece->at + at, numbers, count * size);
}

static status_t psrfits_put_times(const struct psrfits_piece *piece)
{
    status_t st = STATUS_OK;
    const struct psrfits_head *head = &piece->out->head;
    double length = (double)head->rows_each * head->in->time.step;
    double numbers[] = {length, ((double)piece->subint + 0.5) * length, head->header.raj_hours * 15,
                        head->header.dej_degrees};
    float angles[] = {(float)head->header.az_start, (float)head->header.za_start};
    TRY(psrfits_put(piece, 0, numbers, 4, sizeof *numbers));
    TRY(psrfits_put(piece, sizeof numbers, angles, 2, sizeof *angles));
out:
    return st;
}

static status_t psrfits_put_band(const struct psrfits_piece *piece)
{
    const struct psrfits_head *head = &piece->out->head;
    double *mhz = (double *)(void *)psrfits_room(piece->bank);
    for (uint64_t i = 0; i < piece->chans; i++) {
        mhz[i] = head->header.fch1 + (double)(piece->chan + i) * head->header.foff;
    }
    return psrfits_put(piece, head->freqs + piece->chan * sizeof *mhz, mhz, piece->chans,
                       sizeof *mhz);
}

/* Scales of numbers that have their own, where they lie. */
static status_t psrfits_read_scales(const struct psrfits_piece *piece, uint64_t offset,
                                    uint64_t line, float *out)
{
    status_t st = STATUS_OK;
    const struct export_bank *bank = piece->bank;
    const struct fbh5_steps *steps = &bank->steps;
    uint64_t row = piece->subint * piece->out->head.rows_each;
    uint64_t block = steps->scales == 1 ? 0 : row / steps->rows;
    uint64_t at = (block * bank->in->nifs + bank->first_if) * bank->in->nchannels + line;
    int fd = -1;
    TRY(file_open_read(bank->in->path, &fd));
    TRY(file_read(fd, bank->in->path, offset + at * sizeof *out, out, piece->chans * sizeof *out));
out:
    file_close(fd);
    return st;
}

/* Offsets of numbers that are stored so much lower. */
static status_t psrfits_move_offsets(const struct psrfits_piece *piece, double moved, uint64_t line,
                                     float *offsets)
{
    status_t st = STATUS_OK;
    float *scales = (float *)(void *)psrfits_filler(piece->bank);
    TRY(psrfits_read_scales(piece, piece->bank->steps.scale_offset, line, scales));
    for (uint64_t i = 0; i < piece->chans; i++) {
        offsets[i] = (float)((double)offsets[i] + moved * (double)scales[i]);
    }
out:
    return st;
}

/* Writes scale and offset of each channel of each polarisation: number q means scale q + offset. */
static status_t psrfits_put_scales(const struct psrfits_piece *piece)
{
    status_t st = STATUS_OK;
    const struct psrfits_head *head = &piece->out->head;
    const struct scale *scale = &piece->bank->scale;
    double moved = head->header.nbits == 16 ? half_of_16_bits : 0;
    float *line = (float *)(void *)psrfits_room(piece->bank);
    for (uint64_t k = 0; k < 2 * head->header.nifs; k++) {
        uint64_t first = k / 2 * head->header.nchans + piece->chan;
        const struct fbh5_steps *steps = &piece->bank->steps;
        if (piece->bank->is_raw) {
            TRY(psrfits_read_scales(piece, k % 2 == 0 ? steps->scale_offset : steps->offset_offset,
                                    first, line));
            TRY(k % 2 == 1 && moved > 0 ? psrfits_move_offsets(piece, moved, first, line)
                                        : STATUS_OK);
        }
        for (uint64_t i = 0; i < piece->chans && !piece->bank->is_raw; i++) {
            double zero = 0;
            double step = 1;
            if (head->header.nbits < 32) {
                scale_undo(scale, first + i, &zero, &step);
            }
            line[i] = (float)(k % 2 == 0 ? step : zero + moved * step);
        }
        TRY(psrfits_put(piece, (k % 2 == 0 ? head->scales : head->offsets) + first * sizeof *line,
                        line, piece->chans, sizeof *line));
    }
out:
    return st;
}

/* Replaces numbers of few bits that mean NaN by the channel's mean. Sets the weight of channels
 * with any other number to 1. */
static void psrfits_weigh_line(const struct psrfits_piece *piece, uint64_t line, float *weights)
{
    struct export_bank *bank = piece->bank;
    const struct steps_form form = {bank->steps.bits, 0};
    uint16_t mean = (uint16_t)steps_centre(form.bits);
    for (uint64_t i = 0; i < piece->chans; i++) {
        uint64_t at = line * piece->chans + i;
        if (steps_number(form, piece->data, (size_t)at) != steps_blank(form)) {
            weights[i] = 1;
            continue;
        }
        bank->scale.blanks++;
        if (form.bits == 8) {
            piece->data[at] = (uint8_t)mean;
        } else {
            memcpy(piece->data + 2 * at, &mean, sizeof mean);
        }
    }
}

/* Weight 0 where there is none but such. Lines of bytes without any are most, and found fast. */
static void psrfits_weigh_raw(const struct psrfits_piece *piece, float *weights)
{
    const struct steps_form form = {piece->bank->steps.bits, 0};
    int is_whole = 0;
    for (uint64_t line = 0; line < piece->rows * piece->out->head.header.nifs; line++) {
        const uint8_t *bytes = piece->data + line * piece->chans;
        if (form.bits == 8 && !memchr(bytes, steps_blank(form), piece->chans)) {
            is_whole = 1;
        } else {
            psrfits_weigh_line(piece, line, weights);
        }
    }
    for (uint64_t i = 0; i < piece->chans && is_whole; i++) {
        weights[i] = 1;
    }
}

/* Weight 0 where every number of a channel is NaN; as floats these become 0, because 0 times NaN is
 * none. */
static status_t psrfits_put_weights(const struct psrfits_piece *piece)
{
    const struct psrfits_head *head = &piece->out->head;
    const struct export_bank *bank = piece->bank;
    uint64_t lines = piece->rows * head->header.nifs;
    float *weights = (float *)(void *)psrfits_room(piece->bank);
    float *values = head->header.nbits == 32 ? (float *)(void *)piece->data : NULL;
    const float *known = values;
    if (!values && !bank->is_plain) {
        known = bank->numbers + piece->before * head->header.nifs * piece->chans;
    }
    memset(weights, 0, piece->chans * sizeof *weights);
    if (bank->is_raw) {
        psrfits_weigh_raw(piece, weights);
    }
    for (uint64_t line = 0; line < (known ? lines : 1) && !bank->is_raw; line++) {
        for (uint64_t i = 0; i < piece->chans; i++) {
            int is_there = !known || !isnan(known[line * piece->chans + i]);
            weights[i] = is_there ? 1.0f : weights[i];
        }
    }
    for (uint64_t line = 0; line < lines && values; line++) {
        for (uint64_t i = 0; i < piece->chans; i++) {
            float *value = &values[line * piece->chans + i];
            *value = weights[i] > 0 ? *value : 0;
        }
    }
    return psrfits_put(piece, head->weights + piece->chan * sizeof *weights, weights, piece->chans,
                       sizeof *weights);
}

static double psrfits_number(uint64_t bits, const uint8_t *data, uint64_t i)
{
    uint16_t half;
    float value;
    if (bits == 8) {
        return data[i];
    }
    if (bits == 16) {
        memcpy(&half, data + 2 * i, sizeof half);
        return half;
    }
    memcpy(&value, data + 4 * i, sizeof value);
    return isfinite(value) ? (double)value : 0;
}

/* Filling in the place of missing spectra: each channel's mean over those that are.
 */
static void psrfits_make_filler(const struct psrfits_piece *piece, uint64_t at_if)
{
    const struct psrfits_head *head = &piece->out->head;
    uint64_t bits = head->header.nbits;
    uint8_t *out = psrfits_filler(piece->bank);
    for (uint64_t i = 0; i < piece->chans; i++) {
        double sum = 0;
        for (uint64_t row = 0; row < piece->rows; row++) {
            uint64_t line = row * head->header.nifs + at_if;
            sum += psrfits_number(bits, piece->data, line * piece->chans + i);
        }
        double mean = sum / (double)piece->rows;
        uint16_t half = (uint16_t)rint(mean);
        float value = (float)mean;
        if (bits == 8) {
            out[i] = (uint8_t)half;
        } else if (bits == 16) {
            memcpy(out + 2 * i, &half, sizeof half);
        } else {
            memcpy(out + 4 * i, &value, sizeof value);
        }
    }
}

/* As FITS stores them: big-endian, 16 bits with a sign. */
static void psrfits_store(uint64_t bits, uint8_t *data, uint64_t count)
{
    for (uint64_t i = 0; i < count && bits == 16; i++) {
        uint16_t half;
        memcpy(&half, data + 2 * i, sizeof half);
        half ^= 0x8000;
        memcpy(data + 2 * i, &half, sizeof half);
    }
    turn_bytes(data, count * bits / 8, (uint32_t)bits / 8);
}

static status_t psrfits_put_data(const struct psrfits_piece *piece)
{
    status_t st = STATUS_OK;
    const struct psrfits_head *head = &piece->out->head;
    struct export_file *file = piece->bank->file;
    uint64_t nifs = head->header.nifs;
    uint64_t width = head->header.nbits / 8;
    uint64_t bytes = piece->chans * width;
    uint64_t line_bytes = head->header.nchans * width;
    uint64_t data = piece->at + head->data + piece->chan * width;
    for (uint64_t k = 0; k < nifs && piece->rows < head->rows_each; k++) {
        psrfits_make_filler(piece, k);
        psrfits_store(head->header.nbits, psrfits_filler(piece->bank), piece->chans);
        for (uint64_t row = piece->rows; row < head->rows_each; row++) {
            TRY(export_file_put(file, data + (row * nifs + k) * line_bytes,
                                psrfits_filler(piece->bank), bytes));
        }
    }
    psrfits_store(head->header.nbits, piece->data, piece->rows * nifs * piece->chans);
    uint64_t together = bytes == line_bytes ? piece->rows * nifs : 1;
    for (uint64_t line = 0; line < piece->rows * nifs; line += together) {
        TRY(export_file_put(file, data + line * line_bytes, piece->data + line * bytes,
                            together * bytes));
    }
out:
    return st;
}

/* FITS files are whole records. */
static status_t psrfits_put_end(const struct psrfits_piece *piece)
{
    static const char zeros[PSRFITS_RECORD];
    const struct psrfits_head *head = &piece->out->head;
    uint64_t end = piece->out->begin + head->count * head->row_bytes;
    return export_file_put(piece->bank->file, end, zeros, piece->bank->bytes - end);
}

/* Writes a block: struct bank_format's. */
static status_t psrfits_rows_put(struct export_bank *bank, const struct fbh5_block *block,
                                 char *data)
{
    status_t st = STATUS_OK;
    const struct psrfits_out *out = bank->own;
    const struct psrfits_head *head = &out->head;
    for (uint64_t done = 0; done < block->rows; done += head->rows_each) {
        uint64_t subint = (block->row + done) / head->rows_each;
        const struct psrfits_piece piece = {
            .bank = bank,
            .out = out,
            .subint = subint,
            .at = out->begin + subint * head->row_bytes,
            .chan = block->chan,
            .chans = block->chans,
            .rows = min_u64(head->rows_each, block->rows - done),
            .before = done,
            .data = (uint8_t *)data + done * head->header.nifs * block->chans * bank->bits / 8};
        TRY(block->chan == 0 ? psrfits_put_times(&piece) : STATUS_OK);
        TRY(psrfits_put_band(&piece));
        TRY(psrfits_put_scales(&piece));
        TRY(psrfits_put_weights(&piece));
        TRY(psrfits_put_data(&piece));
        TRY(subint + 1 == head->count ? psrfits_put_end(&piece) : STATUS_OK);
    }
out:
    return st;
}

enum { MOST_POLS = 4, NAME = PSRFITS_NAME };

/* As many spectra to a row as make the last one full, or nearly: readers take what fills it for
 * spectra. At most EXPORT_BLOCK samples and 4,096 spectra. */
static uint64_t psrfits_cut(uint64_t spectra, uint64_t samples)
{
    enum { MOST = 4096 };
    uint64_t most = min_u64(max_u64(EXPORT_BLOCK / samples, 1), MOST);
    uint64_t best = most;
    uint64_t least = UINT64_MAX;
    if (spectra <= most) {
        return spectra;
    }
    for (uint64_t each = most; each > most / 2; each--) {
        uint64_t filling = ceil_div_u64(spectra, each) * each - spectra;
        best = filling < least ? each : best;
        least = min_u64(least, filling);
    }
    return best;
}

/* The same of numbers that have scales of their own for blocks of rows: none has two. */
static uint64_t psrfits_cut_blocks(const struct export_bank *bank)
{
    uint64_t samples = bank->nifs * bank->header.nchans;
    uint64_t most = max_u64(EXPORT_BLOCK / samples, 1);
    uint64_t each = bank->steps.rows;
    if (!bank->is_raw || bank->steps.scales == 1) {
        return psrfits_cut(bank->in->rows, samples);
    }
    while (each > 1 && (each > most || bank->steps.rows % each != 0)) {
        each--;
    }
    return each;
}

/* The names of the ifs that are written; "" where the file has none. */
static status_t psrfits_name_ifs(const struct export_bank *bank, char names[MOST_POLS][NAME])
{
    status_t st = STATUS_OK;
    struct text name = {0};
    for (uint64_t i = 0; i < bank->header.nifs && i < MOST_POLS; i++) {
        name.length = 0;
        TRY(fbh5_name_if(bank->in, (uint32_t)(bank->first_if + i), &name));
        snprintf(names[i], NAME, "%s", name.length > 0 ? name.data : "");
    }
out:
    text_free(&name);
    return st;
}

/* POL_TYPE: a sum of both feeds, one, both, with their products, or Stokes parameters. */
static status_t psrfits_find_pol_type(const struct export_bank *bank, char out[NAME])
{
    status_t st = STATUS_OK;
    static const char *const coherency[MOST_POLS] = {"AA", "BB", "CR", "CI"};
    static const char *const stokes[MOST_POLS] = {"I", "Q", "U", "V"};
    char names[MOST_POLS][NAME] = {""};
    uint64_t nifs = bank->header.nifs;
    int is_coherency = nifs == MOST_POLS;
    int is_stokes = nifs == MOST_POLS;
    TRY(psrfits_name_ifs(bank, names));
    for (uint64_t i = 0; i < nifs && i < MOST_POLS; i++) {
        is_coherency = is_coherency && strcmp(names[i], coherency[i]) == 0;
        is_stokes = is_stokes && strcmp(names[i], stokes[i]) == 0;
    }
    int is_sum = nifs == 1 && (bank->options->sum || !names[0][0] || strcmp(names[0], "I") == 0);
    int is_pair = nifs == 2 && (!names[0][0] || strcmp(names[0], names[1]) != 0) &&
                  fbh5_is_power(bank->in, 0) && fbh5_is_power(bank->in, 1);
    REQUIRE(nifs == 1 || is_pair || is_coherency || is_stokes, STATUS_USAGE,
            "export: PSRFITS holds one beam of 1 polarisation, 2 (AABB), or 4 (AABBCRCI, IQUV), "
            "but %s has %" PRIu64 " pols%s%s: --pol takes one, --sum adds powers up",
            bank->in->path, nifs, bank->in->pols ? ", pol_type " : "",
            bank->in->pols ? bank->in->pols : "");
    snprintf(out, NAME, "%s",
             is_sum         ? "AA+BB"
             : is_pair      ? "AABB"
             : is_coherency ? "AABBCRCI"
             : is_stokes    ? "IQUV"
                            : names[0]);
out:
    return st;
}

/* Finds the kind of the feeds, if one of our products stores it. */
static status_t psrfits_find_feed(const struct export_bank *bank, struct psrfits_out *out)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    char first[NAME] = "";
    char second[NAME] = "";
    int is_swapped = 0;
    if (!bank->in->is_ours) {
        goto out;
    }
    TRY(product_open(bank->in->path, &product));
    if (product && product->ifs.feed) {
        out->head.feed = strcmp(product->ifs.feed, "circular") == 0 ? FEED_CIRCULAR : FEED_LINEAR;
    } else if (product && product->ifs.pols &&
               sscanf(product->ifs.pols, "%15[^, ], %15[^, ]", first, second) == 2 &&
               !stokes_of_names(first, second, &out->head.feed, &is_swapped)) {
        out->head.feed = FEED_AUTO;
    }
    /* As PSRFITS has it, A is X, or L. */
    out->head.is_left_handed = (out->head.feed == FEED_CIRCULAR) != is_swapped;
    if (product && product->ifs.v) {
        out->comment = strcmp(product->ifs.v, "iau") == 0
                           ? "Stokes V is that of the IAU: RR - LL"
                           : "Stokes V is that of van Straten et al. 2010: LL - RR";
    }
out:
    product_destroy(product);
    return st;
}

static status_t psrfits_begin(struct export_bank *bank)
{
    status_t st = STATUS_OK;
    struct psrfits_out *out = NULL;
    TRY(memory_zeroed(1, sizeof *out, "a table", &out));
    bank->own = out;
    TRY(psrfits_find_pol_type(bank, out->pol_type));
    TRY(psrfits_find_feed(bank, out));
    bank->together = psrfits_cut_blocks(bank);
    struct psrfits_head *head = &out->head;
    head->in = bank->in;
    head->header = bank->header;
    head->pol_type = out->pol_type;
    head->comment = out->comment;
    head->stamp = bank->options->stamp;
    head->rows_each = bank->together;
    head->spectra = bank->in->rows;
    head->count = ceil_div_u64(head->spectra, head->rows_each);
    psrfits_head_place(head);
    TRY(psrfits_head_write(head, &bank->head));
    out->begin = bank->head.length;
    bank->bytes =
        out->begin + ceil_div_u64(head->count * head->row_bytes, PSRFITS_RECORD) * PSRFITS_RECORD;
out:
    return st;
}

const struct bank_format export_psrfits_format = {.title = "search-mode PSRFITS",
                                                  .ending = ".fits",
                                                  .keeps_scale = 1,
                                                  .room = PSRFITS_ROOM,
                                                  .begin = psrfits_begin,
                                                  .put = psrfits_rows_put};
