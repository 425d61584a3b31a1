/* A bank's rows read once, averaged into pixels, and the panels made of them: a column for each if.
 */
#include "base/memory.h"
#include "plot/from/bank_panels.h"
#include "plot/from/choice.h"
#include "plot/from/from_product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 4 };

/* The ifs that are drawn, and the piece of the file that holds all of them. */
struct bank_picture {
    struct bank *bank;
    const struct plot_choice *choice;
    uint32_t ifs[MOST_COLUMNS];
    uint32_t count;
    struct bank_block all; /* rows, ifs and channels that are looked at */
    uint32_t *columns;     /* [nchannels] */
    struct grid x, y;
    struct pixels pixels[MOST_COLUMNS];
};

static status_t bank_choose_listed(struct bank_picture *p)
{
    status_t st = STATUS_OK;
    for (const char *word = p->choice->pols; *word;) {
        size_t length = strcspn(word, ",");
        REQUIRE(p->count < MOST_COLUMNS, STATUS_USAGE, "%s: more than %d pols in one picture",
                p->bank->path, (int)MOST_COLUMNS);
        REQUIRE(bank_find_pol(p->bank, word, length, &p->ifs[p->count]), STATUS_USAGE,
                "%s has no pol %.*s: it has %u, counted from 0", p->bank->path, (int)length, word,
                p->bank->nifs);
        p->count++;
        word += length + (word[length] == ',');
    }
    REQUIRE(p->count > 0, STATUS_USAGE, "%s: no pol is named", p->bank->path);
out:
    return st;
}

static status_t bank_choose_ifs(struct bank_picture *p)
{
    status_t st = STATUS_OK;
    struct text name = {0};
    if (p->choice->sum) {
        for (uint32_t i = 0; i < p->bank->nifs; i++) {
            name.length = 0;
            TRY(bank_name_pol(p->bank, i, &name));
            REQUIRE(bank_is_power(p->bank, i), STATUS_USAGE,
                    "%s: %s is no power, and cannot be added to others: choose with --pol",
                    p->bank->path, name.data);
        }
        p->count = 1;
    } else if (p->choice->pols) {
        TRY(bank_choose_listed(p));
    } else {
        p->count = p->bank->nifs < MOST_COLUMNS ? p->bank->nifs : MOST_COLUMNS;
        for (uint32_t i = 0; i < p->count; i++) {
            p->ifs[i] = i;
        }
        if (p->count < p->bank->nifs) {
            report_note("%s has %u pols: the first %u are drawn (--pol, or --sum)", p->bank->path,
                        p->bank->nifs, p->count);
        }
    }
    uint32_t first = p->choice->sum ? 0 : p->ifs[0];
    uint32_t last = p->choice->sum ? p->bank->nifs - 1 : p->ifs[0];
    for (uint32_t i = 0; i < p->count && !p->choice->sum; i++) {
        first = p->ifs[i] < first ? p->ifs[i] : first;
        last = p->ifs[i] > last ? p->ifs[i] : last;
    }
    p->all.first_if = first;
    p->all.nifs = last - first + 1;
out:
    text_free(&name);
    return st;
}

static int bank_has_between(const struct bank *bank, const double limits[2])
{
    for (uint32_t i = 0; i < bank->nchannels; i++) {
        if (bank->freq_hz[i] >= limits[0] && bank->freq_hz[i] <= limits[1]) {
            return 1;
        }
    }
    return 0;
}

/* Which rows and channels, and where they go. */
static status_t bank_choose_axes(struct bank_picture *p)
{
    status_t st = STATUS_OK;
    const struct bank *bank = p->bank;
    const struct plot_choice *choice = p->choice;
    double limits[2] = {-INFINITY, INFINITY};
    uint64_t end = bank->rows;
    if (choice->has_freq) {
        limits[0] = 1e6 * choice->freq[0];
        limits[1] = 1e6 * choice->freq[1];
    }
    TRY(memory_zeroed(bank->nchannels, sizeof *p->columns, "channels", &p->columns));
    double size = bank->fbh5 ? 1e6 * fabs(bank->fbh5->foff_mhz) : 0;
    REQUIRE(bank_has_between(bank, limits), STATUS_USAGE,
            "%s has no channel from %.9g to %.9g MHz: it has %.9g .. %.9g", bank->path,
            choice->freq[0], choice->freq[1], 1e-6 * bank->freq_hz[0],
            1e-6 * bank->freq_hz[bank->nchannels - 1]);
    TRY(grid_of_centres(bank->freq_hz, bank->nchannels, size, limits,
                        choice_width(choice, p->count), &p->x, p->columns));
    if (choice->has_time) {
        double from = fmax(0, floor(choice->time[0] / bank->step + 1e-9));
        double to = fmin((double)bank->rows, ceil(choice->time[1] / bank->step - 1e-9));
        REQUIRE(from < to, STATUS_USAGE, "%s has no rows from %.9g to %.9g s: it has 0 .. %.9g s",
                bank->path, choice->time[0], choice->time[1], (double)bank->rows * bank->step);
        p->all.row = (uint64_t)from;
        end = (uint64_t)to;
    }
    p->all.rows = end - p->all.row;
    p->y = grid_of_cells((double)p->all.row * bank->step, bank->step, p->all.rows,
                         choice_height(choice));
    for (p->all.chan = 0; p->columns[p->all.chan] == PIXELS_NONE; p->all.chan++) {
    }
    for (end = bank->nchannels; p->columns[end - 1] == PIXELS_NONE; end--) {
    }
    p->all.chans = end - p->all.chan;
out:
    return st;
}

/* [nifs][chans] of a row becomes its sum in place. */
static void bank_sum_ifs(float *row, uint64_t nifs, uint64_t chans)
{
    for (uint64_t i = 1; i < nifs; i++) {
        for (uint64_t c = 0; c < chans; c++) {
            row[c] += row[i * chans + c];
        }
    }
}

static void bank_add_block(struct bank_picture *p, const struct bank_block *b, float *values)
{
    uint64_t group = (uint64_t)llrint(p->y.step / p->bank->step);
    for (uint64_t r = 0; r < b->rows; r++) {
        float *row = values + r * b->nifs * b->chans;
        uint32_t j = (uint32_t)((b->row + r - p->all.row) / group);
        if (p->choice->sum) {
            bank_sum_ifs(row, b->nifs, b->chans);
        }
        for (uint32_t i = 0; i < p->count; i++) {
            uint64_t at = p->choice->sum ? 0 : p->ifs[i] - p->all.first_if;
            pixels_add(&p->pixels[i], j, p->columns + b->chan, row + at * b->chans, b->chans);
        }
    }
}

static status_t bank_fill(struct bank_picture *p)
{
    status_t st = STATUS_OK;
    float *values = NULL;
    uint64_t rows;
    uint64_t chans;
    bank_block_size(p->bank, p->all.nifs, &rows, &chans);
    TRY(memory_aligned(BANK_BLOCK, sizeof *values, "samples", &values));
    for (uint64_t row = 0; row < p->all.rows; row += rows) {
        for (uint64_t chan = 0; chan < p->all.chans; chan += chans) {
            struct bank_block b = p->all;
            b.row += row;
            b.rows = min_u64(rows, p->all.rows - row);
            b.chan += chan;
            b.chans = min_u64(chans, p->all.chans - chan);
            TRY(bank_read(p->bank, &b, values));
            bank_add_block(p, &b, values);
        }
    }
out:
    free(values);
    return st;
}

static status_t bank_put_title(const struct bank_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct text title = {0};
    char a[UNITS_TEXT];
    const struct bank *bank = p->bank;
    uint64_t group = (uint64_t)llrint(p->y.step / bank->step);
    TRY(from_title(bank->path, bank->source, bank->telescope, &title));
    TRY(text_add(&title, "0 s: %s%s", bank->has_start ? units_utc(bank->start, a) : "unknown",
                 bank->has_start ? " UTC" : ""));
    TRY(text_add(&title, ";  a pixel: %s", units_hertz(p->x.step, a)));
    TRY(text_add(&title, " x %s (%llu %s)", from_seconds(p->y.step, a), (unsigned long long)group,
                 units_plural(group, "row", "rows")));
    out->title = title.data;
    title.data = NULL;
out:
    text_free(&title);
    return st;
}

static status_t bank_put_panels(struct bank_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct text name = {0};
    for (uint32_t i = 0; i < p->count; i++) {
        struct bank_view view = {.bank = p->bank,
                                 .choice = p->choice,
                                 .at_if = p->ifs[i],
                                 .is_power =
                                     (p->choice->sum || bank_is_power(p->bank, p->ifs[i])) &&
                                     !pixels_are_negative(&p->pixels[i]),
                                 .columns = p->columns,
                                 .all = p->all,
                                 .figure_column = i,
                                 .out = out};
        name.length = 0;
        if (p->choice->sum && p->bank->nifs > 1) {
            TRY(text_add(&name, "sum of %u pols", p->bank->nifs));
        } else {
            TRY(bank_name_pol(p->bank, p->ifs[i], &name));
        }
        view.name = name.data;
        TRY(bank_panels(&view, &p->pixels[i]));
    }
    out->columns = p->count;
out:
    text_free(&name);
    return st;
}

status_t from_bank(struct bank *bank, const struct plot_choice *choice, struct figure *out)
{
    status_t st = STATUS_OK;
    struct bank_picture p = {.bank = bank, .choice = choice};
    REQUIRE(!choice->has_dm, STATUS_USAGE, "%s has no DMs: it is not dedispersed", bank->path);
    TRY(bank_panels_check(bank, choice));
    TRY(bank_choose_ifs(&p));
    TRY(bank_choose_axes(&p));
    for (uint32_t i = 0; i < p.count; i++) {
        TRY(pixels_create(p.x, p.y, &p.pixels[i]));
    }
    TRY(bank_fill(&p));
    TRY(bank_put_title(&p, out));
    TRY(bank_put_panels(&p, out));
out:
    for (uint32_t i = 0; i < p.count; i++) {
        pixels_free(&p.pixels[i]);
    }
    free(p.columns);
    return st;
}
