/* Filterbanks by their reader, spectra as sheets. */
#include "plot/from/bank.h"

#include "base/memory.h"
#include "product/product.h"
#include "product/sheet.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES = 1 << 26 };

static status_t bank_open_filterbank(struct bank *bank, struct external_list external)
{
    status_t st = STATUS_OK;
    TRY(fbh5_open(bank->path, &bank->fbh5));
    struct fbh5 *f = bank->fbh5;
    TRY(external_check(&f->storage.sources, bank->path, external, EXTERNAL_OPTION));
    TRY(fbh5_load_band(f));
    TRY(fbh5_reader_create(f, max_u64(CACHE_BYTES, f->chunks.row_bytes), fbh5_unpackers(f, 4),
                           &bank->reader));
    bank->rows = f->rows;
    bank->nifs = f->nifs;
    bank->nchannels = f->nchannels;
    bank->freq_hz = f->freq_hz;
    bank->step = f->time.step;
    bank->has_start = f->time.has_start;
    bank->start = utc_add(f->time.start, f->time.first - f->time.step / 2);
    bank->source = f->head.source;
    bank->telescope = f->head.telescope;
out:
    return st;
}

static status_t bank_open_spectra(struct bank *bank)
{
    status_t st = STATUS_OK;
    const struct product *p = bank->product;
    TRY(sheet_open(bank->path, "spectra", &bank->spectra));
    REQUIRE(bank->spectra && bank->spectra->nchannels == p->frequencies &&
                bank->spectra->nifs <= UINT32_MAX && p->frequencies <= UINT32_MAX &&
                p->frequency_hz,
            STATUS_DATA, "%s: /spectra and /frequency do not fit each other", bank->path);
    bank->rows = bank->spectra->rows;
    bank->nifs = (uint32_t)bank->spectra->nifs;
    bank->nchannels = (uint32_t)p->frequencies;
    bank->freq_hz = p->frequency_hz;
    bank->step = p->time_step;
    bank->has_start = p->sky.has_start;
    bank->start = utc_add(p->sky.start, p->first_time - p->time_step / 2);
    bank->source = p->sky.source;
    bank->telescope = p->sky.telescope;
out:
    return st;
}

status_t bank_open(const char *path, struct product *product, struct external_list external,
                   struct bank **out)
{
    status_t st = STATUS_OK;
    struct bank *bank = NULL;
    TRY(memory_zeroed(1, sizeof *bank, "a filterbank", &bank));
    bank->path = path;
    bank->product = product;
    product = NULL;
    TRY(memory_aligned(BANK_BLOCK, sizeof(float), "samples", &bank->raw));
    TRY(bank->product ? bank_open_spectra(bank) : bank_open_filterbank(bank, external));
    REQUIRE(bank->rows > 0 && bank->nchannels > 0 && bank->step > 0, STATUS_DATA,
            "%s: holds no rows to draw", path);
    *out = bank;
    bank = NULL;
out:
    product_destroy(product);
    bank_close(bank);
    return st;
}

void bank_close(struct bank *bank)
{
    if (bank) {
        fbh5_reader_destroy(bank->reader);
        fbh5_destroy(bank->fbh5);
        sheet_close(bank->spectra);
        product_destroy(bank->product);
        free(bank->raw);
        free(bank);
    }
}

void bank_block_size(const struct bank *bank, uint64_t nifs, uint64_t *rows, uint64_t *chans)
{
    *chans = min_u64(bank->nchannels, max_u64(1, BANK_BLOCK / nifs));
    *rows = max_u64(1, BANK_BLOCK / (nifs * *chans));
    *rows = min_u64(*rows, bank->rows);
}

static void bank_convert(const struct bank *bank, uint64_t count, float *out)
{
    const uint8_t *bytes = (const uint8_t *)bank->raw;
    const uint16_t *words = (const uint16_t *)(const void *)bank->raw;
    for (uint64_t i = 0; i < count; i++) {
        out[i] = bank->fbh5->sample_bytes == 1 ? bytes[i] : words[i];
    }
}

/* If by if, as a sheet gives them, into their places. */
static status_t bank_read_spectra(const struct bank *bank, const struct bank_block *b, float *out)
{
    status_t st = STATUS_OK;
    float *one = (float *)(void *)bank->raw;
    for (uint64_t i = 0; i < b->nifs; i++) {
        TRY(sheet_read(bank->spectra, b->row, b->rows, b->first_if + i, b->chan, b->chans, one));
        for (uint64_t r = 0; r < b->rows; r++) {
            memcpy(out + (r * b->nifs + i) * b->chans, one + r * b->chans,
                   (size_t)b->chans * sizeof *out);
        }
    }
out:
    return st;
}

status_t bank_read(struct bank *bank, const struct bank_block *b, float *out)
{
    status_t st = STATUS_OK;
    if (bank->spectra) {
        TRY(bank_read_spectra(bank, b, out));
    } else {
        struct fbh5_block wanted = {b->row, b->rows, b->first_if, b->nifs, b->chan, b->chans};
        int is_float = bank->fbh5->sample_bytes == sizeof(float);
        TRY(fbh5_read(bank->reader, &wanted, is_float ? (void *)out : bank->raw));
        if (!is_float) {
            bank_convert(bank, b->rows * b->nifs * b->chans, out);
        }
    }
out:
    return st;
}

int bank_is_power(const struct bank *bank, uint32_t at)
{
    return !bank->fbh5 || fbh5_is_power(bank->fbh5, at);
}

status_t bank_name_pol(const struct bank *bank, uint32_t at, struct text *out)
{
    status_t st = STATUS_OK;
    struct text name = {0};
    size_t length = 0;
    if (bank->fbh5) {
        TRY(fbh5_name_pol(bank->fbh5, at, &name));
    } else {
        const char *line = text_line(bank->product->ifs.pol_names, at, &length);
        TRY(line ? text_add(&name, "%.*s", (int)length, line) : STATUS_OK);
    }
    TRY(name.length ? text_add_shown(out, "pol %s", name.data) : text_add(out, "pol %u", at));
out:
    text_free(&name);
    return st;
}

int bank_find_pol(const struct bank *bank, const char *word, size_t length, uint32_t *out)
{
    return fbh5_find_pol(
        bank->fbh5 ? bank->fbh5
                   : &(struct fbh5){.nifs = bank->nifs, .pol_names = bank->product->ifs.pol_names},
        word, length, out);
}
