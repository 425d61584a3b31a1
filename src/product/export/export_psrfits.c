/* Search-mode PSRFITS: a table whose rows (subints) each hold some spectra [NSBLK][pol][chan],
 * big-endian, the scale and offset of every channel, and a weight, 0 where nothing of it is there:
 * readers multiply by it, so it is never a share (a dump that lacks samples has the power of a
 * whole one already). */
#include "base/memory.h"
#include "dsp/stokes.h"
#include "product/export/export_bank.h"
#include "product/export/psrfits/psrfits_rows.h"
#include "product/product.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What the feeds are, as far as one of our products says. */
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
    size_t nchans = (size_t)bank->header.nchans;
    TRY(memory_zeroed(1, sizeof *out + nchans * (sizeof(double) + sizeof(float)), "a table", &out));
    bank->own = out;
    out->room = (uint8_t *)(out + 1);
    out->filler = out->room + nchans * sizeof(double);
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
                                                  .begin = psrfits_begin,
                                                  .put = psrfits_rows_put};
