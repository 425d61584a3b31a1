/* SIGPROC's .fil: header, then [time][if][chan], highest frequency first. */
#include "product/export/export_bank.h"

static status_t fil_begin(struct export_bank *bank)
{
    struct sigproc *header = &bank->header;
    bank->form.is_reversed = sigproc_reverse(header);
    TRY(sigproc_write(header, &bank->head));
    bank->form.bytes =
        bank->head.length + bank->in->rows * header->nifs * header->nchans * (bank->form.bits / 8);
    if (bank->in->coherent.constant > 0) {
        report_warn("%s was dedispersed coherently to DM %g, which SIGPROC cannot say: within a "
                    "coarse channel there are no delays left at that DM",
                    bank->in->path, bank->in->coherent.dm);
    }
    return STATUS_OK;
}

#define REVERSE(type, values, count)                                                               \
    for (type *left = (values), *right = left + (count)-1; left < right; left++, right--) {        \
        type kept = *left;                                                                         \
        *left = *right;                                                                            \
        *right = kept;                                                                             \
    }

/* Reverses bytes, eight at a time from both ends. */
static void fil_reverse_bytes(uint8_t *line, uint64_t count)
{
    uint64_t at = 0;
    for (; at + 16 <= count - at; at += 8) {
        uint64_t left;
        uint64_t right;
        memcpy(&left, line + at, sizeof left);
        memcpy(&right, line + count - at - 8, sizeof right);
        left = __builtin_bswap64(left);
        right = __builtin_bswap64(right);
        memcpy(line + at, &right, sizeof right);
        memcpy(line + count - at - 8, &left, sizeof left);
    }
    REVERSE(uint8_t, line + at, count - 2 * at)
}

static void fil_encode(const struct export_rows *form, char *data, uint64_t lines, uint64_t chans)
{
    for (uint64_t line = 0; form->is_reversed && line < lines; line++) {
        void *at = data + line * chans * form->bits / 8;
        if (form->bits == 8) {
            fil_reverse_bytes(at, chans);
        } else if (form->bits == 16) {
            REVERSE(uint16_t, at, chans)
        } else {
            REVERSE(uint32_t, at, chans)
        }
    }
}

/* Writes a block of made samples: in one go if it is of whole spectra. */
static status_t fil_put(struct export_bank *bank, const struct fbh5_block *block, char *data)
{
    const struct export_rows *form = &bank->form;
    uint64_t nchans = form->nchans;
    uint64_t lines = block->rows * form->nifs;
    uint64_t width = form->bits / 8;
    uint64_t chan = form->is_reversed ? nchans - block->chan - block->chans : block->chan;
    uint64_t first = block->row * form->nifs * nchans + chan;
    fil_encode(form, data, lines, block->chans);
    uint64_t together = block->chans == nchans ? lines : 1;
    for (uint64_t line = 0; line < lines; line += together) {
        TRY(export_file_put(bank->file, form->begin + (first + line * nchans) * width,
                            data + line * block->chans * width, together * block->chans * width));
    }
    return STATUS_OK;
}

const struct bank_format export_fil_format = {.title = "SIGPROC filterbank",
                                              .ending = ".fil",
                                              .first = "\014\0\0\0HEAD",
                                              .begin = fil_begin,
                                              .put = fil_put,
                                              .encode = fil_encode};
