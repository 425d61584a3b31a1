/* Polynomials of unit vectors, or of delays, in equal intervals of time. */
#include "dsp/delay_model.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 16, MOST_INTERVALS = 1 << 20 };

/* Polynomials are in x, which goes from -1 to 1 over an interval. */
struct delay_model {
    uint32_t nstations, ndirections, nintervals, terms;
    double first_s, interval_s; /* beginning and length of the intervals */
    double *vectors;            /* [ndirections][nintervals][3][terms], or NULL: */
    double *delays;             /* [ndirections][nstations][nintervals][terms] */
    double (*offset_m)[3];      /* [nstations] */
    struct delay_clock *clocks; /* [nstations] */
    double epoch_s;
};

void delay_model_destroy(delay_model_t *model)
{
    if (model) {
        MEMORY_FREE(model->vectors, model->delays, model->offset_m, model->clocks, model);
    }
}

static status_t delay_model_new(const struct delay_spec *spec, delay_model_t **out)
{
    SCOPED(delay_model_destroy_at) delay_model_t *m = NULL;
    TRY(memory_zeroed(1, sizeof *m, "delays of stations", &m));
    m->nstations = spec->nstations;
    m->ndirections = spec->ndirections;
    m->epoch_s = spec->epoch_s;
    TRY(memory_zeroed(spec->nstations, sizeof *m->offset_m, "positions of stations", &m->offset_m));
    TRY(memory_zeroed(spec->nstations, sizeof *m->clocks, "clocks of stations", &m->clocks));
    if (spec->offset_m) {
        memcpy(m->offset_m, spec->offset_m, spec->nstations * sizeof *m->offset_m);
    }
    if (spec->clocks) {
        memcpy(m->clocks, spec->clocks, spec->nstations * sizeof *m->clocks);
    }
    *out = memory_move(&m);
    return STATUS_OK;
}

/* Fits a polynomial in x through values at the Chebyshev nodes cos(pi (k + 1/2) / DELAY_TERMS). */
static void delay_fit(const double value[DELAY_TERMS], double c[DELAY_TERMS])
{
    const double pi = 3.14159265358979323846;
    double before[DELAY_TERMS] = {1}; /* coefficients of T(j), and of T(j + 1) */
    double now[DELAY_TERMS] = {0, 1};
    int is_constant = 1;
    memset(c, 0, DELAY_TERMS * sizeof *c);
    for (int k = 1; k < DELAY_TERMS; k++) {
        is_constant = is_constant && value[k] == value[0];
    }
    for (int j = 0; j < DELAY_TERMS; j++) {
        double sum = 0;
        for (int k = 0; k < DELAY_TERMS; k++) {
            sum += value[k] * cos(pi * j * (k + 0.5) / DELAY_TERMS);
        }
        for (int i = 0; i < DELAY_TERMS; i++) {
            c[i] += (j > 0 ? 2 : 1) * sum / DELAY_TERMS * before[i];
        }
        double next[DELAY_TERMS];
        for (int i = 0; i < DELAY_TERMS; i++) {
            next[i] = (i > 0 ? 2 * now[i - 1] : 0) - before[i];
        }
        memcpy(before, now, sizeof before);
        memcpy(now, next, sizeof now);
    }
    if (is_constant) { /* exactly, towards a place on the ground */
        memset(c, 0, DELAY_TERMS * sizeof *c);
        c[0] = value[0];
    }
}

/* Fills the polynomials of one interval. `vectors` is scratch, [DELAY_TERMS][ndirections][3]. */
static status_t delay_fill_interval(const struct delay_spec *spec, delay_model_t *m,
                                    uint32_t interval, double (*vectors)[3])
{
    const double pi = 3.14159265358979323846;
    const double centre_s = m->first_s + (interval + 0.5) * m->interval_s;
    for (uint32_t k = 0; k < DELAY_TERMS; k++) {
        const double node_s = centre_s + m->interval_s / 2 * cos(pi * (k + 0.5) / DELAY_TERMS);
        TRY(geometry_vectors(&spec->observer, moment_of_utc(utc_add(spec->start, node_s)),
                             spec->directions, m->ndirections,
                             vectors + (size_t)k * m->ndirections));
    }
    for (uint32_t d = 0; d < m->ndirections; d++) {
        for (uint32_t axis = 0; axis < 3; axis++) {
            double value[DELAY_TERMS];
            for (uint32_t k = 0; k < DELAY_TERMS; k++) {
                value[k] = vectors[(size_t)k * m->ndirections + d][axis];
            }
            delay_fit(value, m->vectors +
                                 (((size_t)d * m->nintervals + interval) * 3 + axis) * DELAY_TERMS);
        }
    }
    return STATUS_OK;
}

status_t delay_model_create(const struct delay_spec *spec, delay_model_t **out)
{
    SCOPED(delay_model_destroy_at) delay_model_t *m = NULL;
    SCOPED(free_at) double(*vectors)[3] = NULL;
    const double first = floor(spec->from_s / DELAY_INTERVAL_S);
    const double count = fmax(ceil(spec->to_s / DELAY_INTERVAL_S) - first, 1);
    REQUIRE(count <= MOST_INTERVALS, STATUS_USAGE,
            "delays of %.9g s: more than %d intervals of %d s", spec->to_s - spec->from_s,
            (int)MOST_INTERVALS, (int)DELAY_INTERVAL_S);
    TRY(delay_model_new(spec, &m));
    m->interval_s = DELAY_INTERVAL_S;
    m->first_s = first * DELAY_INTERVAL_S;
    m->nintervals = (uint32_t)count;
    m->terms = DELAY_TERMS;
    TRY(memory_zeroed((size_t)m->ndirections * m->nintervals, 3 * DELAY_TERMS * sizeof(double),
                      "delays of stations", &m->vectors));
    TRY(memory_zeroed((size_t)m->ndirections * DELAY_TERMS, sizeof *vectors, "delays of stations",
                      &vectors));
    for (uint32_t i = 0; i < m->nintervals; i++) {
        TRY(delay_fill_interval(spec, m, i, vectors));
    }
    *out = memory_move(&m);
    return STATUS_OK;
}

/* Rewrites sum of c[k] t^k as a polynomial in x, t = half (1 + x). */
static void delay_move(const double *c, uint32_t terms, double half, double *out)
{
    memset(out, 0, terms * sizeof *out);
    for (uint32_t k = terms; k-- > 0;) {
        for (uint32_t i = terms; i-- > 0;) {
            out[i] = half * (out[i] + (i > 0 ? out[i - 1] : 0));
        }
        out[0] += c[k];
    }
}

status_t delay_model_create_table(const struct delay_spec *spec, const struct delay_table *table,
                                  const uint32_t *stations, const uint32_t *directions,
                                  delay_model_t **out)
{
    SCOPED(delay_model_destroy_at) delay_model_t *m = NULL;
    const double first_s = utc_difference(table->first, spec->start);
    const double end_s = first_s + table->nintervals * table->interval_s;
    REQUIRE(table->terms >= 1 && table->terms <= MOST_TERMS && table->nintervals >= 1, STATUS_USAGE,
            "a table of delays has %u intervals of %u terms, expected at least 1 of 1 to %d",
            (unsigned)table->nintervals, (unsigned)table->terms, (int)MOST_TERMS);
    REQUIRE(first_s <= spec->from_s && end_s >= spec->to_s, STATUS_USAGE,
            "the table of delays covers %.9g to %.9g s after the observation's start, expected "
            "%.9g to %.9g s",
            first_s, end_s, spec->from_s, spec->to_s);
    TRY(delay_model_new(spec, &m));
    m->interval_s = table->interval_s;
    m->first_s = first_s;
    m->nintervals = table->nintervals;
    m->terms = table->terms;
    const size_t row = (size_t)m->nintervals * m->terms;
    TRY(memory_zeroed((size_t)m->ndirections * m->nstations, row * sizeof(double),
                      "delays of stations", &m->delays));
    for (size_t i = 0; i < (size_t)m->ndirections * m->nstations; i++) {
        const size_t from =
            (size_t)directions[i / m->nstations] * table->nstations + stations[i % m->nstations];
        for (size_t at = 0; at < row; at += m->terms) {
            delay_move(table->delay_s + from * row + at, m->terms, m->interval_s / 2,
                       m->delays + i * row + at);
        }
    }
    *out = memory_move(&m);
    return STATUS_OK;
}

void delay_split_time(uint64_t number, double rate_hz, double seconds[2])
{
    const double high = (double)(number >> 32) * 4294967296.0; /* both exact */
    const double low = (double)(number & 0xffffffffu);
    const double sum = high + low;
    const double rest = low - (sum - high);
    seconds[0] = sum / rate_hz;
    seconds[1] = (fma(-seconds[0], rate_hz, sum) + rest) / rate_hz;
}

/* Returns the interval that contains a time, the first or last one for times outside. *x is the
 * time within it, from -1 to 1 (beyond these for times outside). */
static uint32_t delay_find(const delay_model_t *m, const double seconds[2], double *x)
{
    const double at = (seconds[0] - m->first_s + seconds[1]) / m->interval_s;
    const uint32_t i = (uint32_t)fmin(fmax(floor(at), 0), m->nintervals - 1);
    *x = ((seconds[0] - (m->first_s + i * m->interval_s)) + seconds[1]) / (m->interval_s / 2) - 1;
    return i;
}

/* Copies or computes the polynomial of a station's geometric delay in interval i: seconds, of x in
 * -1 .. 1. */
static void delay_terms(const delay_model_t *m, uint32_t direction, uint32_t station, uint32_t i,
                        double c[MOST_TERMS])
{
    if (m->delays) {
        const size_t row = (size_t)direction * m->nstations + station;
        memcpy(c, m->delays + (row * m->nintervals + i) * m->terms, m->terms * sizeof *c);
        return;
    }
    const double *v = m->vectors + ((size_t)direction * m->nintervals + i) * 3 * DELAY_TERMS;
    const double *b = m->offset_m[station];
    for (uint32_t k = 0; k < DELAY_TERMS; k++) {
        c[k] = -(b[0] * v[k] + b[1] * v[DELAY_TERMS + k] + b[2] * v[2 * DELAY_TERMS + k]) /
               LIGHT_M_PER_S;
    }
}

static double delay_polynomial(const double *c, uint32_t terms, double x)
{
    double sum = 0;
    for (uint32_t k = terms; k-- > 0;) {
        sum = sum * x + c[k];
    }
    return sum;
}

/* Makes c[] that of the derivative. */
static void delay_derive(double *c, uint32_t terms)
{
    for (uint32_t k = 0; k < terms; k++) {
        c[k] = k + 1 < terms ? (k + 1) * c[k + 1] : 0;
    }
}

double delay_clock_at(const delay_model_t *m, uint32_t station, const double seconds[2])
{
    const double t = (seconds[0] - m->epoch_s) + seconds[1];
    return delay_polynomial(m->clocks[station].c, DELAY_CLOCK_TERMS, t);
}

double delay_at(const delay_model_t *m, uint32_t direction, uint32_t station,
                const double seconds[2])
{
    double c[MOST_TERMS];
    double x;
    delay_terms(m, direction, station, delay_find(m, seconds, &x), c);
    return delay_polynomial(c, m->terms, x) + delay_clock_at(m, station, seconds);
}

double delay_rate(const delay_model_t *m, uint32_t direction, uint32_t station,
                  const double seconds[2])
{
    double c[MOST_TERMS];
    double x;
    struct delay_clock clock = m->clocks[station];
    delay_terms(m, direction, station, delay_find(m, seconds, &x), c);
    delay_derive(c, m->terms);
    delay_derive(clock.c, DELAY_CLOCK_TERMS);
    return delay_polynomial(c, m->terms, x) / (m->interval_s / 2) +
           delay_polynomial(clock.c, DELAY_CLOCK_TERMS, (seconds[0] - m->epoch_s) + seconds[1]);
}

/* Bounds of the second derivative of a clock's delay over times after `start`. */
static double delay_clock_bend(const delay_model_t *m, uint32_t station, double from_s, double to_s)
{
    const double *c = m->clocks[station].c;
    const double ends[2] = {from_s - m->epoch_s, to_s - m->epoch_s};
    return fmax(fabs(2 * c[2] + 6 * c[3] * ends[0]), fabs(2 * c[2] + 6 * c[3] * ends[1]));
}

void delay_range(const delay_model_t *m, uint32_t direction, uint32_t station, double from_s,
                 double to_s, double range[2])
{
    enum { MOST_STEPS = 1 << 16 };
    const int is_clock = direction == DELAY_CLOCK_ALONE;
    /* Bounds of the whole Earth's delay: its turn within 8 s; its second derivative, s/s^2. */
    const double between_s = 1e-9, geometry = 1.2e-10;
    const double bend = delay_clock_bend(m, station, from_s, to_s);
    double steps = is_clock ? 1 : fmax(ceil((to_s - from_s) / 5), 1);
    steps = fmin(fmax(steps, ceil((to_s - from_s) * sqrt(bend / 8 / between_s))), MOST_STEPS);
    const double step_s = (to_s - from_s) / steps;
    const double turned_s = is_clock ? 0 : fmax(between_s, geometry * step_s * step_s / 8);
    const double slack = turned_s + bend * step_s * step_s / 8;
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (uint32_t i = 0; i <= (uint32_t)steps; i++) {
        const double at[2] = {i < (uint32_t)steps ? from_s + i * step_s : to_s, 0};
        const double now =
            is_clock ? delay_clock_at(m, station, at) : delay_at(m, direction, station, at);
        range[0] = fmin(range[0], now - slack);
        range[1] = fmax(range[1], now + slack);
    }
}
