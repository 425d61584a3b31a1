/* The filter's response. In and beside the channel it is the plain sum, one frequency at a time:
 * exact, at one or two nanoseconds per coefficient, and some sixty frequencies suffice. Only the
 * search for the largest lobe far out needs thousands of frequencies. It takes them from one
 * transform, whose length is a power of two whatever the number of channels is, and then refines
 * the lobe that it found with plain sums. */
#include "dsp/fir/filter_report.h"

#include "base/memory.h"
#include "dsp/dft.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    BLOCK = 256,            /* samples that share one table of phases */
    LANES = 2,              /* sums side by side; more only wait for the memory */
    RIPPLE_POINTS_MIN = 8,  /* frequencies from 0 to 0.25 */
    RIPPLE_POINTS_MAX = 64, /* more taps than this ripple more finely than we look */
    SECANTS_MAX = 40,       /* to a crossing; five or six will do, usually */
    CLIMB_STEPS = 12,       /* golden sections around the largest lobe: 1e-5 dB */
    POINTS_PER_LOBE = 8,    /* of the transform; a lobe is 1 / taps channels wide */
    LONGEST = 1 << 20,      /* transform: 50 MB, some tenths of a second */
    NEAR_POINTS = 64        /* plain sums that stand in for a transform that is too coarse */
};

#define SCAN_STEP (1.0 / 32)     /* channels */
#define CROSSING_PRECISION 1e-12 /* of the level */
#define RIPPLE_TO 0.25
#define KEPT_TO 0.5 /* of an oversampled channel */
#define BEYOND_FROM 1.5
#define NEAR_CHANNELS 2.0

struct filter {
    const double *coeff; /* [taps][samples] */
    uint32_t taps, samples;
    size_t count;    /* taps * samples */
    double rounding; /* a |H| as small as this is zero */
    double centre;   /* |H(0)| */
};

/* exp(-2 pi i f j / samples). fmod is exact, so the phase is good however many turns it makes. */
static double complex report_phase(double f, size_t j, uint32_t samples)
{
    double angle = 2 * M_PI * (fmod(f * (double)j, samples) / samples);
    return cos(angle) - sin(angle) * I;
}

/* sum_i coeff[i] place[i], in LANES sums side by side: additions need not wait for each other. */
static double complex report_dot(size_t count, const double *coeff, const double complex *place)
{
    double re[LANES] = {0};
    double im[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            re[lane] += coeff[i + lane] * creal(place[i + lane]);
            im[lane] += coeff[i + lane] * cimag(place[i + lane]);
        }
    }
    double complex sum = 0;
    for (; i < count; i++) {
        sum += coeff[i] * place[i];
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        sum += re[lane] + im[lane] * I;
    }
    return sum;
}

/* The plain sum, with the phase of sample j split into those of its block and of its place in it:
 * one sine and cosine per BLOCK samples instead of one per sample. */
double filter_response(const double *coeff, uint32_t taps, uint32_t samples_per_spectrum, double f)
{
    size_t count = (size_t)taps * samples_per_spectrum;
    double complex place[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        place[i] = report_phase(f, i, samples_per_spectrum);
    }
    double complex sum = 0;
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t n = count - start < BLOCK ? count - start : BLOCK;
        sum += report_dot(n, coeff + start, place) * report_phase(f, start, samples_per_spectrum);
    }
    return cabs(sum);
}

static double report_response(const struct filter *filter, double f)
{
    return filter_response(filter->coeff, filter->taps, filter->samples, f);
}

/* Returns 20 log10 |H(0) / h|. */
static double report_rejection_db(const struct filter *filter, double h)
{
    return h <= filter->rounding ? INFINITY : 20 * log10(filter->centre / h);
}

/* For |f| <= `to`. Coefficients are real, so the negative frequencies say the same as the positive
 * ones. Ripples are about 1 / taps channels apart: of a quarter of a channel, four points on
 * each, times `fineness`. */
static double report_ripple_db(const struct filter *filter, double to, uint32_t fineness)
{
    uint32_t points = filter->taps < RIPPLE_POINTS_MIN   ? RIPPLE_POINTS_MIN
                      : filter->taps > RIPPLE_POINTS_MAX ? RIPPLE_POINTS_MAX
                                                         : filter->taps;
    double smallest = INFINITY;
    double largest = 0;
    points *= fineness;
    for (uint32_t i = 0; i <= points; i++) {
        double h = report_response(filter, to * i / points);
        smallest = fmin(smallest, h);
        largest = fmax(largest, h);
    }
    return smallest <= filter->rounding ? INFINITY : 20 * log10(largest / smallest);
}

/* Returns the frequency between `low` (|H| above `level`) and `high` (|H| below it) at which |H|
 * crosses `level`. Uses secants; the value at an end that stays is halved, so that the other end
 * moves too (Illinois). */
static double report_crossing(const struct filter *filter, double level, double low, double high)
{
    double above = report_response(filter, low) - level;
    double below = report_response(filter, high) - level;
    double middle = low;
    int side = 0; /* that was replaced last */
    for (int i = 0; i < SECANTS_MAX; i++) {
        middle = low + (high - low) * above / (above - below);
        double value = report_response(filter, middle) - level;
        if (fabs(value) <= CROSSING_PRECISION * level) {
            break;
        }
        if (value > 0) {
            low = middle;
            above = value;
            below = side > 0 ? below / 2 : below;
            side = 1;
        } else {
            high = middle;
            below = value;
            above = side < 0 ? above / 2 : above;
            side = -1;
        }
    }
    return middle;
}

/* Returns the frequency at which |H| first falls below `level`, or the end of the band; at `from`
 * it is not below. The scan's steps grow with the frequency: a filter many channels wide needs no
 * smaller ones. */
static double report_half_width(const struct filter *filter, double level, double from)
{
    double end = filter->samples / 2.0;
    double low = from;
    double high = fmin(end, low + SCAN_STEP);
    while (report_response(filter, high) >= level) {
        if (high >= end) {
            return end;
        }
        low = high;
        high = fmin(end, high + fmax(SCAN_STEP, high / 8));
    }
    return report_crossing(filter, level, low, high);
}

/* Returns |H| at the top of the lobe between `low` and `high`, by golden sections. */
static double report_climb(const struct filter *filter, double low, double high)
{
    const double golden = (sqrt(5) - 1) / 2;
    double left = high - golden * (high - low);
    double right = low + golden * (high - low);
    double at_left = report_response(filter, left);
    double at_right = report_response(filter, right);
    for (int i = 0; i < CLIMB_STEPS; i++) {
        if (at_left > at_right) {
            high = right;
            right = left;
            at_right = at_left;
            left = high - golden * (high - low);
            at_left = report_response(filter, left);
        } else {
            low = left;
            left = right;
            at_left = at_right;
            right = low + golden * (high - low);
            at_right = report_response(filter, right);
        }
    }
    return fmax(at_left, at_right);
}

/* Takes H at the frequencies m * samples / length, m = 0 .. length - 1: these are periodic in j
 * with `length`, so coefficients that are `length` apart can be added up first. */
static status_t report_transform_folded(const struct filter *filter, size_t length,
                                        double complex *out)
{
    SCOPED(free_at) double complex *folded = NULL;
    TRY(memory_zeroed(length, sizeof *folded, "the filter's response", &folded));
    for (size_t j = 0; j < filter->count; j++) {
        folded[j % length] += filter->coeff[j];
    }
    return dft_forward(length, folded, out);
}

/* The rejection of the largest |H| from `from` to the end of the band; infinite where that is
 * before. Above LONGEST / POINTS_PER_LOBE coefficients the transform takes fewer points per lobe,
 * and skips lobes in the end; filters have their largest ones close by, so the first channels are
 * then looked at by plain sums too. */
static status_t report_rejection_beyond(const struct filter *filter, double from, double *out)
{
    SCOPED(free_at) double complex *grid = NULL;
    double end = filter->samples / 2.0;
    size_t length = 2;
    if (end < from) {
        *out = INFINITY;
        return STATUS_OK;
    }
    while (length / POINTS_PER_LOBE < filter->count && length < LONGEST) {
        length *= 2;
    }
    double step = (double)filter->samples / (double)length;
    double place = from;
    double largest = report_response(filter, place);
    TRY(memory_zeroed(length, sizeof *grid, "the filter's response", &grid));
    TRY(report_transform_folded(filter, length, grid));
    for (size_t m = (size_t)ceil(from / step); m <= length / 2; m++) {
        if (cabs(grid[m]) > largest) {
            largest = cabs(grid[m]);
            place = (double)m * step;
        }
    }
    if (length / POINTS_PER_LOBE < filter->count) {
        for (int i = 0; i <= NEAR_POINTS; i++) {
            double f = fmin(end, from + NEAR_CHANNELS * i / NEAR_POINTS);
            double h = report_response(filter, f);
            place = h > largest ? f : place;
            largest = fmax(largest, h);
        }
        step = fmin(step, NEAR_CHANNELS / NEAR_POINTS);
    }
    largest =
        fmax(largest, report_climb(filter, fmax(from, place - step), fmin(end, place + step)));
    *out = report_rejection_db(filter, largest);
    return STATUS_OK;
}

/* Sets up the filter and its gain at the centre of a channel. Fails with USAGE if that is 0. */
static status_t report_begin(const double *coeff, uint32_t taps, uint32_t samples,
                             struct filter *out)
{
    struct filter filter = {
        .coeff = coeff, .taps = taps, .samples = samples, .count = (size_t)taps * samples};
    double magnitude = 0;
    for (size_t j = 0; j < filter.count; j++) {
        magnitude += fabs(coeff[j]);
    }
    filter.rounding = DBL_EPSILON * sqrt((double)filter.count) * magnitude;
    filter.centre = report_response(&filter, 0);
    *out = filter;
    return REQUIRED(filter.centre > filter.rounding, STATUS_USAGE,
                    "the filter has no gain at the centre of a channel: its %zu coefficients add "
                    "up to %g",
                    filter.count, filter.centre);
}

status_t filter_report_oversampled(const double *coeff, uint32_t taps,
                                   uint32_t samples_per_spectrum, double rate,
                                   struct filter_report_oversampled *out)
{
    struct filter filter;
    double alias_db = 0;
    TRY(report_begin(coeff, taps, samples_per_spectrum, &filter));
    /* All below folds within the channel. */
    TRY(report_rejection_beyond(&filter, rate - KEPT_TO, &alias_db));
    *out = (struct filter_report_oversampled){.ripple_db = report_ripple_db(&filter, KEPT_TO, 8),
                                              .alias_db = alias_db};
    return STATUS_OK;
}

status_t filter_report_aliasing(const double *coeff, uint32_t taps, uint32_t samples_per_spectrum,
                                double rate, double *alias_db)
{
    struct filter filter;
    TRY(report_begin(coeff, taps, samples_per_spectrum, &filter));
    return report_rejection_beyond(&filter, rate - KEPT_TO, alias_db);
}

status_t filter_report_make(const double *coeff, uint32_t taps, uint32_t samples_per_spectrum,
                            struct filter_report *out)
{
    struct filter filter;
    double energy = 0;
    double beyond_db = 0;
    TRY(report_begin(coeff, taps, samples_per_spectrum, &filter));
    for (size_t j = 0; j < filter.count; j++) {
        energy += coeff[j] * coeff[j];
    }
    TRY(report_rejection_beyond(&filter, BEYOND_FROM, &beyond_db));
    double half_3db = report_half_width(&filter, filter.centre * pow(10, -3.0 / 20), 0);
    double half_6db = report_half_width(&filter, filter.centre * pow(10, -6.0 / 20), half_3db);
    *out = (struct filter_report){
        .ripple_db = report_ripple_db(&filter, RIPPLE_TO, 1),
        .width_3db = 2 * half_3db,
        .width_6db = 2 * half_6db,
        .scalloping_db = report_rejection_db(&filter, report_response(&filter, 0.5)),
        .adjacent_db = report_rejection_db(&filter, report_response(&filter, 1)),
        .beyond_db = beyond_db,
        .noise_width = samples_per_spectrum * energy / (filter.centre * filter.centre),
    };
    return STATUS_OK;
}
