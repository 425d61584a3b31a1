/* Search-mode PSRFITS: a table whose rows (subints) each hold some spectra [NSBLK][pol][chan],
 * big-endian, the scale and offset of every channel, and a weight, 0 where nothing of it is there:
 * readers multiply by it, so it is never a share (a dump that lacks samples has the power of a
 * whole one already). TSUBINT is 0 until all of a subint is written in its final form. */
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

enum { PSRFITS_RECORD = 2880 };

/* Each thread has numbers of up to 8 bytes, then a last row's spectra that there are not. */
enum { PSRFITS_ROOM = sizeof(double) + sizeof(float) };

static uint8_t *psrfits_room(const struct export_bank *bank)
{
    return (uint8_t *)bank->room;
}

static uint8_t *psrfits_filler(const struct export_bank *bank)
{
    return psrfits_room(bank) + bank->form.nchans * sizeof(double);
}

static const double half_of_16_bits = 32768; /* FITS's 16 bits have a sign */

/* One subint, or some channels of it, as it goes through. */
struct psrfits_piece {
    struct export_bank *bank;
    const struct export_rows *form;
    uint64_t subint, at;   /* its place in the file */
    uint64_t chan, chans;  /* of its channels */
    uint64_t rows, before; /* spectra; those before it in the block */
    uint8_t *data;         /* [rows][nifs][chans] */
};

/* Numbers of `size` bytes, turned round where they are. */
static status_t psrfits_put(const struct psrfits_piece *piece, uint64_t at, void *numbers,
                            uint64_t count, uint32_t size)
{
    turn_bytes(numbers, count * size, size);
    return export_file_put(piece->bank->file, piece->at + at, numbers, count * size);
}

static status_t psrfits_put_times(const struct psrfits_piece *piece)
{
    const struct export_rows *form = piece->form;
    double length = (double)form->table.rows_each * form->step;
    double numbers[] = {length, ((double)piece->subint + 0.5) * length, form->ra, form->dec};
    float angles[] = {(float)form->az, (float)form->za};
    TRY(psrfits_put(piece, sizeof numbers, angles, 2, sizeof *angles));
    return psrfits_put(piece, 0, numbers, 4, sizeof *numbers);
}

static status_t psrfits_put_band(const struct psrfits_piece *piece)
{
    const struct export_rows *form = piece->form;
    double *mhz = (double *)(void *)psrfits_room(piece->bank);
    for (uint64_t i = 0; i < piece->chans; i++) {
        mhz[i] = form->fch1 + (double)(piece->chan + i) * form->foff;
    }
    return psrfits_put(piece, form->table.freqs + piece->chan * sizeof *mhz, mhz, piece->chans,
                       sizeof *mhz);
}

/* Scales of numbers that have their own, where they are. */
static status_t psrfits_read_scales(const struct psrfits_piece *piece, uint64_t offset,
                                    uint64_t line, float *out)
{
    const struct export_rows *form = piece->form;
    uint64_t row = piece->subint * form->table.rows_each;
    uint64_t block = form->steps.scales == 1 ? 0 : row / form->steps.rows;
    uint64_t at = block * form->lines + form->first_line + line;
    return file_read(piece->bank->scales_fd, piece->bank->scales_path, offset + at * sizeof *out,
                     out, piece->chans * sizeof *out);
}

/* Offsets of numbers that are stored so much lower. */
static status_t psrfits_move_offsets(const struct psrfits_piece *piece, double moved, uint64_t line,
                                     float *offsets)
{
    float *scales = (float *)(void *)psrfits_filler(piece->bank);
    TRY(psrfits_read_scales(piece, piece->form->steps.scale_offset, line, scales));
    for (uint64_t i = 0; i < piece->chans; i++) {
        offsets[i] = (float)((double)offsets[i] + moved * (double)scales[i]);
    }
    return STATUS_OK;
}

/* Writes scale and offset of each channel of each polarisation: number q means scale q + offset. */
static status_t psrfits_put_scales(const struct psrfits_piece *piece)
{
    const struct export_rows *form = piece->form;
    const struct scale *scale = &piece->bank->scale;
    const struct fbh5_steps *steps = &form->steps;
    double moved = form->bits == 16 ? half_of_16_bits : 0;
    float *line = (float *)(void *)psrfits_room(piece->bank);
    for (uint64_t k = 0; k < 2 * form->nifs; k++) {
        uint64_t first = k / 2 * form->nchans + piece->chan;
        if (form->is_raw) {
            TRY(psrfits_read_scales(piece, k % 2 == 0 ? steps->scale_offset : steps->offset_offset,
                                    first, line));
            TRY(k % 2 == 1 && moved > 0 ? psrfits_move_offsets(piece, moved, first, line)
                                        : STATUS_OK);
        }
        for (uint64_t i = 0; i < piece->chans && !form->is_raw; i++) {
            double zero = 0;
            double step = 1;
            if (form->bits < 32) {
                scale_undo(scale, first + i, &zero, &step);
            }
            line[i] = (float)(k % 2 == 0 ? step : zero + moved * step);
        }
        uint64_t column = k % 2 == 0 ? form->table.scales : form->table.offsets;
        TRY(psrfits_put(piece, column + first * sizeof *line, line, piece->chans, sizeof *line));
    }
    return STATUS_OK;
}

/* Sets number i, rounded unless it is a float. */
static void psrfits_set_number(uint32_t bits, uint8_t *data, uint64_t i, double number)
{
    uint16_t half = bits < 32 ? (uint16_t)rint(number) : 0;
    float value = (float)number;
    if (bits == 8) {
        data[i] = (uint8_t)half;
    } else if (bits == 16) {
        memcpy(data + 2 * i, &half, sizeof half);
    } else {
        memcpy(data + 4 * i, &value, sizeof value);
    }
}

/* Replaces numbers of few bits that mean NaN by the channel's mean. Sets the weight of channels
 * with any other number to 1. */
static void psrfits_weigh_line(const struct psrfits_piece *piece, uint64_t line, float *weights)
{
    struct export_bank *bank = piece->bank;
    const struct steps_form form = {piece->form->bits, 0};
    for (uint64_t i = 0; i < piece->chans; i++) {
        uint64_t at = line * piece->chans + i;
        if (steps_number(form, piece->data, (size_t)at) != steps_blank(form)) {
            weights[i] = 1;
            continue;
        }
        bank->scale.blanks++;
        psrfits_set_number(form.bits, piece->data, at, steps_centre(form.bits));
    }
}

/* Whether a line has such numbers. */
static int psrfits_has_blanks(struct steps_form form, const uint8_t *line, uint64_t chans)
{
    uint16_t found = 0;
    if (form.bits == 8) {
        return memchr(line, steps_blank(form), chans) != NULL;
    }
    uint16_t blank = (uint16_t)steps_blank(form);
    for (uint64_t i = 0; i < chans; i++) {
        uint16_t number;
        memcpy(&number, line + 2 * i, sizeof number);
        found |= number == blank;
    }
    return found;
}

/* Weight 0 where there is none but such. Lines without any are most, and found fast. */
static void psrfits_weigh_raw(const struct psrfits_piece *piece, float *weights)
{
    const struct steps_form form = {piece->form->bits, 0};
    int is_whole = 0;
    for (uint64_t line = 0; line < piece->rows * piece->form->nifs; line++) {
        if (!psrfits_has_blanks(form, piece->data + line * piece->chans * form.bits / 8,
                                piece->chans)) {
            is_whole = 1;
        } else {
            psrfits_weigh_line(piece, line, weights);
        }
    }
    for (uint64_t i = 0; i < piece->chans && is_whole; i++) {
        weights[i] = 1;
    }
}

/* Sets the weight of a channel to 0 if all its numbers are NaN. */
static void psrfits_weigh(const struct psrfits_piece *piece, float *weights)
{
    const struct export_bank *bank = piece->bank;
    uint64_t lines = piece->rows * piece->form->nifs;
    const float *known = piece->form->bits == 32 ? (const float *)(const void *)piece->data : NULL;
    if (!known && !bank->is_plain) {
        known = bank->numbers + piece->before * piece->form->nifs * piece->chans;
    }
    memset(weights, 0, piece->chans * sizeof *weights);
    if (piece->form->is_raw) {
        psrfits_weigh_raw(piece, weights);
        return;
    }
    for (uint64_t line = 0; line < (known ? lines : 1); line++) {
        for (uint64_t i = 0; i < piece->chans; i++) {
            int is_there = !known || !isnan(known[line * piece->chans + i]);
            weights[i] = is_there ? 1.0f : weights[i];
        }
    }
}

/* Floats without a weight become 0, because 0 times NaN is none. */
static void psrfits_blank(const struct psrfits_piece *piece, const float *weights)
{
    float *values = (float *)(void *)piece->data;
    uint64_t lines = piece->form->bits == 32 ? piece->rows * piece->form->nifs : 0;
    for (uint64_t line = 0; line < lines; line++) {
        for (uint64_t i = 0; i < piece->chans; i++) {
            float *value = &values[line * piece->chans + i];
            *value = weights[i] > 0 ? *value : 0;
        }
    }
}

static status_t psrfits_put_weights(const struct psrfits_piece *piece)
{
    float *weights = (float *)(void *)psrfits_room(piece->bank);
    psrfits_weigh(piece, weights);
    psrfits_blank(piece, weights);
    for (uint64_t i = 0; i < piece->chans; i++) {
        piece->bank->empty += weights[i] > 0 ? 0 : 1;
    }
    return psrfits_put(piece, piece->form->table.weights + piece->chan * sizeof *weights, weights,
                       piece->chans, sizeof *weights);
}

static double psrfits_number(uint32_t bits, const uint8_t *data, uint64_t i)
{
    float value;
    if (bits < 32) {
        return steps_number((struct steps_form){bits, 0}, data, (size_t)i);
    }
    memcpy(&value, data + 4 * i, sizeof value);
    return isfinite(value) ? (double)value : 0;
}

/* Returns how many numbers of channel i the sum is of: floats may be NaN. */
static uint64_t psrfits_count(const struct psrfits_piece *piece, uint64_t at_if, uint64_t i)
{
    const float *values = (const float *)(const void *)piece->data + at_if * piece->chans + i;
    uint64_t count = piece->form->bits < 32 ? piece->rows : 0;
    for (uint64_t row = 0; row < piece->rows && piece->form->bits == 32; row++) {
        count += isfinite(values[row * piece->form->nifs * piece->chans]) != 0;
    }
    return max_u64(count, 1);
}

/* Filling in the place of missing spectra: each channel's mean over those that are. */
static void psrfits_make_filler(const struct psrfits_piece *piece, uint64_t at_if)
{
    uint32_t bits = piece->form->bits;
    uint8_t *out = psrfits_filler(piece->bank);
    double *sums = (double *)(void *)psrfits_room(piece->bank);
    memset(sums, 0, piece->chans * sizeof *sums);
    for (uint64_t row = 0; row < piece->rows; row++) { /* in the order of memory */
        uint64_t line = row * piece->form->nifs + at_if;
        for (uint64_t i = 0; i < piece->chans; i++) {
            const uint64_t at = line * piece->chans + i;
            sums[i] += bits == 8 ? piece->data[at] : psrfits_number(bits, piece->data, at);
        }
    }
    for (uint64_t i = 0; i < piece->chans; i++) {
        psrfits_set_number(bits, out, i, sums[i] / (double)psrfits_count(piece, at_if, i));
    }
}

/* Numbers of 16 bits have a sign in FITS: to and from those without. */
static void psrfits_turn_signs(uint64_t bits, uint8_t *data, uint64_t count)
{
    for (uint64_t i = 0; i < count && bits == 16; i++) {
        uint16_t half;
        memcpy(&half, data + 2 * i, sizeof half);
        half ^= 0x8000;
        memcpy(data + 2 * i, &half, sizeof half);
    }
}

/* As FITS stores them: big-endian, 16 bits with a sign. */
static void psrfits_encode(const struct export_rows *form, char *data, uint64_t lines,
                           uint64_t chans)
{
    uint8_t *numbers = (uint8_t *)data;
    psrfits_turn_signs(form->bits, numbers, lines * chans);
    turn_bytes(numbers, lines * chans * form->bits / 8, (uint32_t)form->bits / 8);
}

/* Writes the numbers of a piece, or reads them back. */
static status_t psrfits_move_data(const struct psrfits_piece *piece, int is_read)
{
    const struct export_rows *form = piece->form;
    struct export_file *file = piece->bank->file;
    uint64_t lines = piece->rows * form->nifs;
    uint64_t width = form->bits / 8;
    uint64_t bytes = piece->chans * width;
    uint64_t together = piece->chans == form->nchans ? lines : 1;
    for (uint64_t line = 0; line < lines; line += together) {
        uint64_t at = piece->at + form->table.data + (line * form->nchans + piece->chan) * width;
        uint8_t *data = piece->data + line * bytes;
        TRY(is_read
                ? file_read(file->before.claim_fd, file->before.part, at, data, together * bytes)
                : export_file_put(file, at, data, together * bytes));
    }
    return STATUS_OK;
}

static status_t psrfits_put_data(const struct psrfits_piece *piece)
{
    const struct export_rows *form = piece->form;
    char *filler = (char *)psrfits_filler(piece->bank);
    uint64_t width = form->bits / 8;
    uint64_t data = piece->at + form->table.data + piece->chan * width;
    for (uint64_t k = 0; k < form->nifs && piece->rows < form->table.rows_each; k++) {
        psrfits_make_filler(piece, k);
        psrfits_encode(form, filler, 1, piece->chans);
        for (uint64_t row = piece->rows; row < form->table.rows_each; row++) {
            TRY(export_file_put(piece->bank->file,
                                data + (row * form->nifs + k) * form->nchans * width, filler,
                                piece->chans * width));
        }
    }
    psrfits_encode(form, (char *)piece->data, piece->rows * form->nifs, piece->chans);
    return psrfits_move_data(piece, 0);
}

/* Writes all of a subint but its numbers and times. */
static status_t psrfits_put_beside(const struct psrfits_piece *piece)
{
    static const char zeros[PSRFITS_RECORD];
    const struct export_rows *form = piece->form;
    uint64_t end = form->begin + form->table.count * form->table.row_bytes;
    TRY(psrfits_put_band(piece));
    TRY(psrfits_put_scales(piece));
    TRY(psrfits_put_weights(piece));
    if (piece->subint + 1 == form->table.count) { /* FITS files are whole records */
        TRY(export_file_put(piece->bank->file, end, zeros, form->bytes - end));
    }
    return STATUS_OK;
}

static struct psrfits_piece psrfits_piece_of(struct export_bank *bank, uint64_t subint,
                                             uint64_t chan, uint64_t chans, char *data)
{
    const struct export_rows *form = &bank->form;
    const struct psrfits_table *table = &form->table;
    return (struct psrfits_piece){
        .bank = bank,
        .form = form,
        .subint = subint,
        .at = form->begin + subint * table->row_bytes,
        .chan = chan,
        .chans = chans,
        .rows = min_u64(table->rows_each, form->rows - subint * table->rows_each),
        .data = (uint8_t *)data};
}

/* Writes a block: struct bank_format's. */
static status_t psrfits_rows_put(struct export_bank *bank, const struct fbh5_block *block,
                                 char *data)
{
    const struct export_rows *form = &bank->form;
    for (uint64_t done = 0; done < block->rows; done += form->table.rows_each) {
        struct psrfits_piece piece = psrfits_piece_of(
            bank, (block->row + done) / form->table.rows_each, block->chan, block->chans,
            data + done * form->nifs * block->chans * form->bits / 8);
        piece.before = done;
        TRY(psrfits_put_beside(&piece));
        TRY(psrfits_put_data(&piece));
        TRY(block->chan + block->chans == form->nchans ? psrfits_put_times(&piece) : STATUS_OK);
    }
    return STATUS_OK;
}

/* Reads the numbers of a piece back. */
static status_t psrfits_get_data(const struct psrfits_piece *piece)
{
    const struct export_rows *form = piece->form;
    uint64_t count = piece->rows * form->nifs * piece->chans;
    TRY(psrfits_move_data(piece, 1));
    turn_bytes(piece->data, count * form->bits / 8, (uint32_t)form->bits / 8);
    psrfits_turn_signs(form->bits, piece->data, count);
    return STATUS_OK;
}

status_t export_psrfits_complete(struct export_bank *bank, uint64_t subint, int is_last, char *data)
{
    const struct export_rows *form = &bank->form;
    float *weights = (float *)(void *)psrfits_room(bank);
    struct psrfits_piece piece = psrfits_piece_of(bank, subint, 0, 0, data);
    double length = 0;
    bank->empty = bank->scale.blanks = 0;
    TRY(file_read(bank->file->before.claim_fd, bank->file->before.part, piece.at, &length,
                  sizeof length));
    while (length == 0 && piece.chan < form->nchans) {
        piece.chans = min_u64(bank->chans, form->nchans - piece.chan);
        TRY(psrfits_get_data(&piece));
        if (is_last) {
            uint64_t at = piece.at + form->table.weights + piece.chan * sizeof *weights;
            psrfits_weigh(&piece, weights);
            TRY(file_read(bank->file->before.claim_fd, bank->file->before.part, at, weights,
                          piece.chans * sizeof *weights));
            turn_bytes((uint8_t *)weights, piece.chans * sizeof *weights, sizeof *weights);
            psrfits_blank(&piece, weights);
            TRY(psrfits_put_data(&piece));
        } else {
            TRY(psrfits_put_beside(&piece));
        }
        piece.chan += piece.chans;
    }
    int is_done = bank->empty + bank->scale.blanks == 0 && piece.rows == form->table.rows_each;
    return length == 0 && (is_last || is_done) ? psrfits_put_times(&piece) : STATUS_OK;
}

enum { MOST_POLS = 4, NAME = 16 };

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

uint64_t export_psrfits_cut(uint64_t rows, uint64_t samples, const struct fbh5_steps *steps)
{
    uint64_t most = max_u64(EXPORT_BLOCK / samples, 1);
    uint64_t each = steps->rows;
    if (steps->bits == 0 || steps->scales == 1) {
        return psrfits_cut(rows, samples);
    }
    /* Numbers that have scales of their own for blocks of rows: none has two. */
    while (each > 1 && (each > most || steps->rows % each != 0)) {
        each--;
    }
    return each;
}

/* The names of the ifs that are written; "" where the file has none. */
static status_t psrfits_name_ifs(const struct export_bank *bank, char names[MOST_POLS][NAME])
{
    SCOPED(text_free) struct text name = {0};
    for (uint64_t i = 0; i < bank->header.nifs && i < MOST_POLS; i++) {
        name.length = 0;
        TRY(fbh5_name_if(bank->in, (uint32_t)(bank->first_if + i), &name));
        snprintf(names[i], NAME, "%s", name.length > 0 ? name.data : "");
    }
    return STATUS_OK;
}

/* POL_TYPE: a sum of both feeds, one, both, with their products, or Stokes parameters. */
static status_t psrfits_find_pol_type(const struct export_bank *bank, char out[NAME])
{
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
            "export: PSRFITS stores one beam of 1 polarisation, 2 (AABB), or 4 (AABBCRCI, IQUV), "
            "but %s has %" PRIu64 " pols%s%s: --pol takes one, --sum adds powers up",
            bank->in->path, nifs, bank->in->pols ? ", pol_type " : "",
            bank->in->pols ? bank->in->pols : "");
    snprintf(out, NAME, "%s",
             is_sum         ? "AA+BB"
             : is_pair      ? "AABB"
             : is_coherency ? "AABBCRCI"
             : is_stokes    ? "IQUV"
                            : names[0]);
    return STATUS_OK;
}

/* Finds the kind of the feeds, if one of our products stores it. */
static status_t psrfits_find_feed(const struct export_bank *bank, struct psrfits_head *head)
{
    SCOPED(product_destroy_at) struct product *product = NULL;
    char first[NAME] = "";
    char second[NAME] = "";
    if (!bank->in->is_ours) {
        return STATUS_OK;
    }
    TRY(product_open(bank->options->product, &product));
    if (product && product->ifs.feed) {
        head->stokes.feed =
            strcmp(product->ifs.feed, "circular") == 0 ? FEED_CIRCULAR : FEED_LINEAR;
    } else if (product && product->ifs.pols &&
               sscanf(product->ifs.pols, "%15[^, ], %15[^, ]", first, second) == 2 &&
               !stokes_of_names(first, second, &head->stokes)) {
        head->stokes.feed = FEED_AUTO;
    }
    if (product && product->ifs.v) {
        head->comment = strcmp(product->ifs.v, "iau") == 0
                            ? "Stokes V is that of the IAU: RR - LL"
                            : "Stokes V is that of van Straten et al. 2010: LL - RR";
    }
    return STATUS_OK;
}

static status_t psrfits_begin(struct export_bank *bank)
{
    char pol_type[NAME];
    struct export_rows *form = &bank->form;
    struct psrfits_head head = {.in = bank->in,
                                .header = bank->header,
                                .pol_type = pol_type,
                                .stamp = bank->options->stamp,
                                .spectra = bank->in->rows};
    TRY(psrfits_find_pol_type(bank, pol_type));
    TRY(psrfits_find_feed(bank, &head));
    bank->together =
        export_psrfits_cut(bank->in->rows, bank->nifs * bank->header.nchans, &form->steps);
    head.table.rows_each = bank->together;
    head.table.count = ceil_div_u64(head.spectra, bank->together);
    psrfits_head_place(&head);
    TRY(psrfits_head_write(&head, &bank->head));
    form->table = head.table;
    form->bytes =
        bank->head.length +
        ceil_div_u64(head.table.count * head.table.row_bytes, PSRFITS_RECORD) * PSRFITS_RECORD;
    return STATUS_OK;
}

const struct bank_format export_psrfits_format = {.title = "search-mode PSRFITS",
                                                  .ending = ".fits",
                                                  .first = "SIMPLE  ",
                                                  .keeps_scale = 1,
                                                  .room = PSRFITS_ROOM,
                                                  .begin = psrfits_begin,
                                                  .put = psrfits_rows_put,
                                                  .encode = psrfits_encode};
