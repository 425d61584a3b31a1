/* Delays of an array's stations as polynomials of time.
 *
 * A model is made once and is then a pure function of direction, station and time. Time is counted
 * in seconds from sample 0 of the observation, in equal intervals, so a delay depends neither on
 * where reading begins nor on how long the observation is. */
#ifndef VOLTMILL_DSP_DELAY_MODEL_H
#define VOLTMILL_DSP_DELAY_MODEL_H

#include "dsp/geometry.h"

enum {
    DELAY_TERMS = 8,        /* of a polynomial of the geometry: degree 7 */
    DELAY_INTERVAL_S = 600, /* of such a polynomial */
    DELAY_CLOCK_TERMS = 4   /* of a station's own delay: s, s/s, s/s^2, s/s^3 */
};

#define DELAY_CLOCK_ALONE UINT32_MAX

/* Delay of a station's cable and clock: c[0] + c[1] t + ..., t in seconds from the table's epoch.
 * Positive where its samples are late. */
struct delay_clock {
    double c[DELAY_CLOCK_TERMS];
};

/* The array, and what is pointed at. */
struct delay_spec {
    struct observer observer;
    const double (*offset_m)[3]; /* [nstations] position minus the reference place, ITRF axes; NULL:
                                    all 0 */
    const struct delay_clock *clocks; /* [nstations]; NULL: all 0 */
    uint32_t nstations;
    const struct direction *directions; /* [ndirections] */
    uint32_t ndirections;
    struct utc start;    /* of sample 0 */
    double epoch_s;      /* epoch of the clocks, seconds after `start`; 0: `start` */
    double from_s, to_s; /* the seconds after `start` that the model covers */
};

/* Polynomials of a table as CALC writes them: interval i covers first_s + i interval_s on, and its
 * delay is sum over k of c[k] t^k, t in seconds from the interval's beginning. */
struct delay_table {
    uint32_t ndirections, nstations, nintervals, terms;
    struct utc first; /* beginning of interval 0 */
    double interval_s;
    double *delay_s; /* [ndirections][nstations][nintervals][terms] */
};

typedef struct delay_model delay_model_t;

/* Creates a model from the geometry: the time by which a plane wave reaches a station later than
 * the reference place. Its error is below 1e-17 s for 100 km, 1e-15 s for the whole Earth. Copies
 * what it keeps of `spec`; delay_model_destroy() frees *out, and takes NULL. Fails with USAGE (a
 * time that is no date of UTC; more than 2^20 intervals of DELAY_INTERVAL_S), DEVICE (memory), and
 * leaves *out unchanged. */
status_t delay_model_create(const struct delay_spec *spec, delay_model_t **out);

/* Creates a model from a table of delays, positive where a wave reaches the station later;
 * delay_model_destroy() frees *out, and takes NULL. Observer, positions and directions of `spec`
 * are ignored, except the numbers nstations and ndirections.
 *
 *   stations     [spec->nstations]     number, from 0, in the table of each station of the model
 *   directions   [spec->ndirections]   likewise of each direction
 *
 * The caller has checked these numbers. Copies what it keeps. Fails with USAGE (a table that does
 * not cover from_s .. to_s, is empty, or has more than 16 terms), DEVICE (memory), and leaves *out
 * unchanged. */
status_t delay_model_create_table(const struct delay_spec *spec, const struct delay_table *table,
                                  const uint32_t *stations, const uint32_t *directions,
                                  delay_model_t **out);
void delay_model_destroy(delay_model_t *model);
SCOPED_END(delay_model_destroy, delay_model_t *)

/* Splits the time of a sample, number / rate_hz seconds after sample 0, into two doubles, the
 * larger first. Their sum has a relative error below 1e-30. rate_hz > 0. */
void delay_split_time(uint64_t number, double rate_hz, double seconds[2]);

/* delay_at(): returns the whole delay of a station in seconds, geometry and clock, at time
 * seconds[0] + seconds[1] after sample 0. Positive: a wave comes later than at the reference place.
 * delay_rate(): returns its derivative, seconds per second. delay_clock_at(): returns the part of
 * cable and clock alone, in seconds. Directions and stations count from 0. Times outside of the
 * model take its outermost polynomials. Any number of threads may call them. */
double delay_at(const delay_model_t *model, uint32_t direction, uint32_t station,
                const double seconds[2]);
double delay_rate(const delay_model_t *model, uint32_t direction, uint32_t station,
                  const double seconds[2]);
double delay_clock_at(const delay_model_t *model, uint32_t station, const double seconds[2]);

/* Computes bounds of a station's delay, in seconds, from from_s to to_s seconds after sample 0:
 * range[0] <= delay <= range[1]. Each is within 2 ns of the extreme unless the clock's polynomial
 * bends fast, or the time is longer than six days. DELAY_CLOCK_ALONE in the place of a direction:
 * the part of cable and clock, exact if it is linear. */
void delay_range(const delay_model_t *model, uint32_t direction, uint32_t station, double from_s,
                 double to_s, double range[2]);

#endif
