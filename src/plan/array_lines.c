/* Baselines, delays and losses of an array as text. */
#include "plan/array_lines.h"

#include "base/units.h"

#include <math.h>

enum { SHOWN_DIRECTIONS = 8 };

static const char *array_station_name(const struct array_lines *lines, uint32_t i)
{
    return lines->table->stations[lines->stations[i]].name;
}

static status_t array_add_baselines(const struct array_lines *lines, struct text *out)
{
    uint32_t pair[2][2] = {{0}}; /* stations of the shortest and the longest baseline */
    double length_m[2] = {INFINITY, -INFINITY};
    for (uint32_t i = 0; i < lines->nstations; i++) {
        for (uint32_t j = i + 1; j < lines->nstations; j++) {
            const double *a = lines->table->stations[lines->stations[i]].itrf_m;
            const double *b = lines->table->stations[lines->stations[j]].itrf_m;
            const double m = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
            for (int k = 0; k < 2; k++) {
                if (k ? m > length_m[k] : m < length_m[k]) {
                    length_m[k] = m;
                    pair[k][0] = i;
                    pair[k][1] = j;
                }
            }
        }
    }
    if (lines->nstations > 1) {
        TRY(text_add_shown(out, "  baselines     %.6g m (%s-%s) to %.6g m (%s-%s), %u stations\n",
                           length_m[0], array_station_name(lines, pair[0][0]),
                           array_station_name(lines, pair[0][1]), length_m[1],
                           array_station_name(lines, pair[1][0]),
                           array_station_name(lines, pair[1][1]), (unsigned)lines->nstations));
    }
    return STATUS_OK;
}

/* Appends the smallest and the largest delay of the stations at a time, and those stations. */
static status_t array_add_delays(const struct array_lines *lines, uint32_t direction, double at_s,
                                 struct text *out)
{
    const double time[2] = {at_s, 0};
    uint32_t ends[2] = {0, 0};
    double delay_s[2];
    delay_s[0] = delay_s[1] = delay_at(lines->delays, direction, 0, time);
    for (uint32_t i = 1; i < lines->nstations; i++) {
        const double d = delay_at(lines->delays, direction, i, time);
        for (int k = 0; k < 2; k++) {
            if (k ? d > delay_s[k] : d < delay_s[k]) {
                delay_s[k] = d;
                ends[k] = i;
            }
        }
    }
    return text_add_shown(out, "%s (%s) to %s (%s)", units_seconds(delay_s[0]),
                          array_station_name(lines, ends[0]), units_seconds(delay_s[1]),
                          array_station_name(lines, ends[1]));
}

/* Returns the largest drift of a delay against another station's, s/s. */
static double array_find_drift(const struct array_lines *lines, uint32_t direction)
{
    double drift = 0;
    for (int step = 0; step <= 8; step++) {
        const double time[2] = {lines->from_s + step * (lines->to_s - lines->from_s) / 8, 0};
        double low = INFINITY;
        double high = -INFINITY;
        for (uint32_t i = 0; i < lines->nstations; i++) {
            const double rate = delay_rate(lines->delays, direction, i, time);
            low = fmin(low, rate);
            high = fmax(high, rate);
        }
        drift = fmax(drift, high - low);
    }
    return drift;
}

/* Returns the share of amplitude lost by a phase that turns evenly `turns` times, of which the mean
 * is taken. */
static double array_loss(double turns)
{
    const double x = 3.14159265358979323846 * turns;
    return fabs(x) < 1e-3 ? x * x / 6 : 1 - fabs(sin(x) / x);
}

status_t array_lines_add(const struct array_lines *lines, struct text *out)
{
    double drift = 0;
    TRY(array_add_baselines(lines, out));
    for (uint32_t d = lines->first; lines->delays && d < lines->ndirections; d++) {
        const double one = array_find_drift(lines, d);
        drift = fmax(drift, one);
        if (d < SHOWN_DIRECTIONS) {
            TRY(text_add(out, "  direction %-3u ", (unsigned)d));
            TRY(array_add_delays(lines, d, lines->from_s, out));
            TRY(text_add(out, ", at the end "));
            TRY(array_add_delays(lines, d, lines->to_s, out));
            TRY(text_add(out, ", drift %.3g ns/s\n", one * 1e9));
        }
    }
    if (lines->delays) {
        TRY(text_add(out,
                     "  losses        %.2g by delays left within a channel, %.2g by drift within "
                     "a spectrum\n",
                     array_loss(lines->channel_hz * lines->left_s),
                     array_loss(lines->top_hz * drift * lines->spectrum_s)));
    }
    return STATUS_OK;
}
