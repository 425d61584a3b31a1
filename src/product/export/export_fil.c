/* SIGPROC's .fil: header, then [time][if][chan], highest frequency first. */
#include "product/export/export_bank.h"

static status_t fil_begin(struct export_bank *bank)
{
    status_t st = STATUS_OK;
    struct sigproc *header = &bank->header;
    bank->is_reversed = sigproc_reverse(header);
    TRY(sigproc_write(header, &bank->head));
    bank->bytes =
        bank->head.length + bank->in->rows * header->nifs * header->nchans * (bank->bits / 8);
    if (bank->in->coherent.constant > 0) {
        report_warn("%s was dedispersed coherently to DM %g, which SIGPROC cannot say: within a "
                    "coarse channel there are no delays left at that DM",
                    bank->in->path, bank->in->coherent.dm);
    }
out:
    return st;
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
static status_t fil_put(struct export_bank *bank, const struct fbh5_block *block, char *data)
{
    status_t st = STATUS_OK;
    uint64_t nchans = bank->header.nchans;
    uint64_t lines = block->rows * bank->header.nifs;
    uint64_t width = bank->bits / 8;
    uint64_t chan = bank->is_reversed ? nchans - block->chan - block->chans : block->chan;
    uint64_t first = block->row * bank->header.nifs * nchans + chan;
    for (uint64_t line = 0; bank->is_reversed && line < lines; line++) {
        fil_reverse_line(bank->bits, data + line * block->chans * width, block->chans);
    }
    uint64_t together = block->chans == nchans ? lines : 1;
    for (uint64_t line = 0; line < lines; line += together) {
        TRY(export_file_put(bank->file, bank->head.length + (first + line * nchans) * width,
                            data + line * block->chans * width, together * block->chans * width));
    }
out:
    return st;
}

const struct bank_format export_fil_format = {
    .title = "SIGPROC filterbank", .ending = ".fil", .begin = fil_begin, .put = fil_put};
