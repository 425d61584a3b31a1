/* Dedispersed series: signal to noise over DM and time, its best against DM, and the series there.
 */
#include "base/memory.h"
#include "plot/from/choice.h"
#include "plot/from/from_product.h"
#include "plot/from/series_panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE = 1 << 14, NOISE_PIECES = 16 }; /* samples that tell a series' noise */

static const char series_there[] = "dm-time|snr|series|pulse";

static int series_is_drawn(const struct series_picture *p, uint64_t dm)
{
    double value = p->series->dm[dm];
    return !p->choice->has_dm || (value >= p->choice->dm[0] && value <= p->choice->dm[1]);
}

static status_t series_choose_times(struct series_picture *p)
{
    status_t st = STATUS_OK;
    const struct series *s = p->series;
    double step = s->header.tsamp;
    p->count = s->samples;
    if (p->choice->has_time) {
        double from = fmax(0, floor(p->choice->time[0] / step + 1e-9));
        double to = fmin((double)s->samples, ceil(p->choice->time[1] / step - 1e-9));
        REQUIRE(from < to, STATUS_USAGE,
                "%s has no samples from %.9g to %.9g s: it has 0 .. %.9g s", s->path,
                p->choice->time[0], p->choice->time[1], (double)s->samples * step);
        p->first = (uint64_t)from;
        p->count = (uint64_t)(to - from);
    }
    p->x = grid_of_cells((double)p->first * step, step, p->count, choice_width(p->choice, 1));
out:
    return st;
}

/* DMs may lie anyhow: each fills the pixels up to half-way to its neighbours. */
static status_t series_choose_dms(struct series_picture *p)
{
    status_t st = STATUS_OK;
    const struct series *s = p->series;
    double least = INFINITY;
    double most = -INFINITY;
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->ndms; i++) {
        if (series_is_drawn(p, i)) {
            least = fmin(least, s->dm[i]);
            most = fmax(most, s->dm[i]);
            count++;
        }
    }
    REQUIRE(count > 0, STATUS_USAGE, "%s has no DMs from %g to %g: it has %g .. %g", s->path,
            p->choice->dm[0], p->choice->dm[1], s->dm[0], s->dm[s->ndms - 1]);
    double step = count > 1 ? (most - least) / (double)(count - 1) : 1;
    step = step > 0 ? step : 1;
    p->y = grid_of_cells(least - step / 2, step, count, choice_height(p->choice));
out:
    return st;
}

static status_t series_measure_noise(struct series_picture *p, uint64_t dm)
{
    status_t st = STATUS_OK;
    uint64_t piece = NOISE / NOISE_PIECES;
    uint64_t have = 0;
    if (p->count <= NOISE) {
        TRY(series_read(p->series, dm, p->first, p->count, p->samples));
        have = p->count;
    }
    for (uint64_t i = 0; i < NOISE_PIECES && p->count > NOISE; i++) {
        uint64_t at = p->first + (p->count - piece) / (NOISE_PIECES - 1) * i;
        TRY(series_read(p->series, dm, at, piece, p->samples + have));
        have += piece;
    }
    p->noise[dm] = pulses_noise(p->samples, have);
out:
    return st;
}

static status_t series_search(struct series_picture *p, uint64_t dm)
{
    status_t st = STATUS_OK;
    uint64_t group = ceil_div_u64(p->count, p->x.count);
    TRY(series_measure_noise(p, dm));
    for (uint32_t i = 0; i < p->x.count; i++) {
        p->row[i] = NAN;
    }
    for (uint64_t at = 0; at < p->count; at += SERIES_PIECE) {
        uint64_t here = min_u64(SERIES_PIECE, p->count - at);
        uint64_t have = min_u64(here + PULSE_MOST_WIDTH, p->count - at);
        TRY(series_read(p->series, dm, p->first + at, have, p->samples));
        pulses_find(p->samples, have, here, p->first + at, p->noise[dm], p->snrs, &p->best[dm]);
        for (uint64_t i = 0; i < here; i++) {
            float *pixel = &p->row[(at + i) / group];
            *pixel = fmaxf(*pixel, p->snrs[i]); /* NaN counts for nothing */
        }
    }
    if (p->best[dm].snr > p->best[p->best_dm].snr || !series_is_drawn(p, p->best_dm)) {
        p->best_dm = dm;
    }
out:
    return st;
}

/* The pixel rows nearest to no other DM get this one's; every DM at least one. */
static void series_put_row(struct series_picture *p, uint64_t dm, double below, double above)
{
    double value = p->series->dm[dm];
    double from = floor(((value + below) / 2 - p->y.from) / p->y.step + 0.5);
    double to = ceil(((value + above) / 2 - p->y.from) / p->y.step - 0.5);
    double own = floor((value - p->y.from) / p->y.step);
    uint32_t first = (uint32_t)fmin(fmax(fmin(from, own), 0), p->y.count - 1);
    uint32_t end = (uint32_t)fmin(fmax(to, own + 1), p->y.count);
    for (uint32_t j = first; j < end; j++) {
        float *row = p->image + (size_t)j * p->x.count;
        for (uint32_t i = 0; i < p->x.count; i++) {
            row[i] = fmaxf(row[i], p->row[i]);
        }
    }
}

/* The nearest other DMs; where there is none, the same. */
static void series_neighbours(const struct series *s, uint64_t dm, double *below, double *above)
{
    double value = s->dm[dm];
    *below = -INFINITY;
    *above = INFINITY;
    for (uint64_t i = 0; i < s->ndms; i++) {
        if (s->dm[i] < value) {
            *below = fmax(*below, s->dm[i]);
        } else if (s->dm[i] > value) {
            *above = fmin(*above, s->dm[i]);
        }
    }
    *below = isfinite(*below) ? *below : value;
    *above = isfinite(*above) ? *above : value;
}

static status_t series_look(struct series_picture *p)
{
    status_t st = STATUS_OK;
    const struct series *s = p->series;
    size_t all = (size_t)p->x.count * p->y.count;
    TRY(memory_aligned(SERIES_PIECE + PULSE_MOST_WIDTH, sizeof(float), "samples", &p->samples));
    TRY(memory_aligned(SERIES_PIECE, sizeof(float), "samples", &p->snrs));
    TRY(memory_zeroed(p->x.count, sizeof(float), "an image", &p->row));
    TRY(memory_zeroed(all, sizeof(float), "an image", &p->image));
    TRY(memory_zeroed((size_t)s->ndms, sizeof *p->best, "DMs", &p->best));
    TRY(memory_zeroed((size_t)s->ndms, sizeof *p->noise, "DMs", &p->noise));
    for (uint64_t i = 0; i < s->ndms; i++) {
        p->best[i].snr = -INFINITY;
    }
    for (size_t i = 0; i < all; i++) {
        p->image[i] = NAN;
    }
    for (uint64_t dm = 0; dm < s->ndms; dm++) {
        if (series_is_drawn(p, dm)) {
            double below;
            double above;
            TRY(series_search(p, dm));
            series_neighbours(s, dm, &below, &above);
            series_put_row(p, dm, below, above);
        }
    }
out:
    return st;
}

static status_t series_put_title(const struct series_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct text title = {0};
    char a[UNITS_TEXT];
    const struct series *s = p->series;
    TRY(from_title(s->path, s->header.source, s->telescope, &title));
    TRY(text_add(&title, "0 s: %s%s", s->has_start ? units_utc(s->start, a) : "unknown",
                 s->has_start ? " UTC" : ""));
    TRY(text_add(&title, ";  %llu DMs, samples of %s", (unsigned long long)s->ndms,
                 from_seconds(s->header.tsamp, a)));
    out->title = title.data;
    title.data = NULL;
out:
    text_free(&title);
    return st;
}

status_t from_series(const char *path, const struct plot_choice *choice, struct figure *out)
{
    status_t st = STATUS_OK;
    struct series_picture p = {.choice = choice};
    TRY(choice_check(choice, path, series_there));
    REQUIRE(!choice->pols && !choice->sum && !choice->flatten && !choice->has_freq, STATUS_USAGE,
            "%s: dedispersed series have neither pols nor frequencies to choose from", path);
    TRY(series_open(path, &p.series));
    REQUIRE(p.series->ndms > 0 && p.series->samples > 0 && p.series->header.tsamp > 0, STATUS_DATA,
            "%s: holds no samples to draw", path);
    TRY(series_choose_times(&p));
    TRY(series_choose_dms(&p));
    TRY(series_look(&p));
    TRY(series_put_title(&p, out));
    TRY(choice_has(choice, "dm-time") ? series_add_map(&p, out) : STATUS_OK);
    TRY(choice_has(choice, "snr") ? series_add_snr(&p, out) : STATUS_OK);
    TRY(series_add_best(&p, out));
out:
    series_destroy(p.series);
    free(p.image);
    free(p.samples);
    free(p.snrs);
    free(p.row);
    free(p.best);
    free(p.noise);
    return st;
}
