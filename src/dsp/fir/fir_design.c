/* The ideal band under the window, and plain sums that say what came of it. */
#include "dsp/fir/fir_design.h"

#include "base/memory.h"
#include "dsp/dft.h"
#include "dsp/fir/prototype.h"

#include <math.h>
#include <stdlib.h>

enum {
    BLOCK = 256,     /* samples that share one table of phases */
    LEAST_LOBES = 3, /* beside an edge that are looked at: the highest, usually */
    MOST_TERMS =
        1 << 18, /* of the sums for one point in each lobe that is looked at beyond these */
    ROUNDS = 6,  /* of more margin: two or three will do, usually */
    POINTS_PER_LOBE = 32, /* a lobe is 1 / taps wide */
    LONGEST = 1 << 20     /* transform: 50 MB, some tenths of a second */
};

/* Decibels by which the top of a lobe may exceed all evaluated points. A filter must be better than
 * its specification by this margin. */
#define MISSED 0.05

/* Returns the deviation d of gains, in decibels below 1, where 1 - d and 1 + d are `ripple_db`
 * apart. */
static double fir_off(double ripple_db)
{
    double span = pow(10, ripple_db / 20);
    return -20 * log10((span - 1) / (span + 1));
}

struct fir_size fir_design_size(const struct fir_design *design)
{
    struct fir_size size;
    const double *edges = design->edges;
    size.decibels = fmax(design->attenuation_db, fir_off(design->ripple_db)) + design->margin_db;
    size.width = fmin(edges[1] - edges[0], edges[3] - edges[2]);
    size.beta = kaiser_beta(size.decibels);
    size.taps = ceil(fmax(kaiser_taps(size.decibels, size.width), 1));
    size.taps += fmod(size.taps, 2) == 0;
    return size;
}

int fir_design_is_complex(const struct fir_design *design)
{
    const double *edges = design->edges;
    return !design->is_mirrored && (edges[0] != -edges[3] || edges[1] != -edges[2]);
}

/* Returns the ideal filter's response to an impulse n samples ago. */
static double complex fir_ideal(const struct fir_design *design, double n)
{
    const double *edges = design->edges;
    double low = (edges[0] + edges[1]) / 2;
    double high = (edges[2] + edges[3]) / 2;
    /* fmod is exact: sines stay accurate many turns away from 0. */
    double width = high - low;
    double sinc = n == 0 ? width : sin(M_PI * fmod(width * n, 2)) / (M_PI * n);
    double turn = 2 * M_PI * fmod((low + high) / 2 * n, 1);
    double complex band =
        design->is_mirrored ? 2 * sinc * cos(turn) : sinc * (cos(turn) + sin(turn) * I);
    return design->is_stop ? (n == 0) - band : band;
}

static status_t fir_fill(const struct fir_design *design, struct fir_made *out)
{
    struct fir_size size = fir_design_size(design);
    struct fir_made made = {.taps = (uint32_t)size.taps,
                            .is_complex = fir_design_is_complex(design),
                            .beta = size.beta};
    size_t middle = made.taps / 2;
    size_t parts = made.is_complex ? 2 : 1;
    double scale = kaiser_i0(size.beta);
    TRY(memory_zeroed(made.taps * parts, sizeof *made.coeff, "coefficients of a filter",
                      &made.coeff));
    /* Both halves get the same bits: the phase is exactly linear. */
    for (size_t n = 0; n <= middle; n++) {
        double u = middle ? (double)n / (double)middle : 0;
        double window = kaiser_i0(size.beta * sqrt((1 - u) * (1 + u))) / scale;
        double complex c = window * fir_ideal(design, (double)n);
        double *later = made.coeff + (middle + n) * parts;
        double *earlier = made.coeff + (middle - n) * parts;
        *later = creal(c);
        *earlier = creal(c);
        if (made.is_complex) {
            later[1] = cimag(c);
            earlier[1] = -cimag(c);
        }
    }
    *out = made;
    return STATUS_OK;
}

/* exp(-2 pi i f j). */
static double complex fir_phase(double f, size_t j)
{
    double turns = f * (double)j;
    /* The remainder after whole turns is exact. */
    double angle = 2 * M_PI * (turns - (double)(int64_t)turns);
    return cos(angle) - sin(angle) * I;
}

static double complex fir_at(const double *coeff, int is_complex, size_t i)
{
    return is_complex ? coeff[2 * i] + coeff[2 * i + 1] * I : coeff[i];
}

double fir_gain(const double *coeff, uint32_t taps, int is_complex, double f)
{
    double complex place[BLOCK];
    double complex sum = 0;
    for (size_t i = 0; i < BLOCK && i < taps; i++) {
        place[i] = fir_phase(f, i);
    }
    for (size_t start = 0; start < taps; start += BLOCK) {
        double re = 0;
        double im = 0;
        for (size_t i = 0; i < BLOCK && start + i < taps; i++) {
            double complex c = fir_at(coeff, is_complex, start + i);
            re += creal(c) * creal(place[i]) - cimag(c) * cimag(place[i]);
            im += creal(c) * cimag(place[i]) + cimag(c) * creal(place[i]);
        }
        sum += (re + im * I) * fir_phase(f, start);
    }
    return cabs(sum);
}

double fir_delay(const double *coeff, uint32_t taps, int is_complex)
{
    double energy = 0;
    double moment = 0;
    /* From the middle, where a symmetric filter's moments cancel exactly. */
    double middle = ((double)taps - 1) / 2;
    for (uint32_t i = 0; i < taps - taps / 2; i++) {
        uint32_t j = taps - 1 - i;
        double complex first = fir_at(coeff, is_complex, i);
        double complex last = fir_at(coeff, is_complex, j);
        double a = creal(first * conj(first));
        double b = i == j ? 0 : creal(last * conj(last));
        energy += a + b;
        moment += (b - a) * (middle - (double)i);
    }
    return middle + moment / energy;
}

/* Minimum and maximum gain found so far. */
struct fir_gains {
    double least, greatest;
};

/* Evaluates the gain in the lobes from `from` towards `to`, where the band ends. */
static void fir_look(const struct fir_made *made, double from, double to, struct fir_gains *gains)
{
    double step = 1 / ((double)made->taps * POINTS_PER_LOBE);
    uint32_t lobes = MOST_TERMS / made->taps;
    lobes = lobes > LEAST_LOBES ? lobes : LEAST_LOBES;
    double length = fmin(fabs(to - from), (double)lobes / made->taps);
    uint32_t points = (uint32_t)ceil(length / step);
    for (uint32_t i = 0; i <= points; i++) {
        double far = points ? length * i / points : 0;
        double gain = fir_gain(made->coeff, made->taps, made->is_complex,
                               to < from ? from - far : from + far);
        gains->least = fmin(gains->least, gain);
        gains->greatest = fmax(gains->greatest, gain);
    }
}

static struct fir_reach fir_design_reach(const struct fir_design *design,
                                         const struct fir_made *made)
{
    const double *edges = design->edges;
    struct fir_gains inside = {.least = INFINITY};
    struct fir_gains outside = {.least = INFINITY};
    /* Beyond the band, the response continues to the next turn, or to the mirror image of the
     * band. */
    double below = design->is_mirrored ? -edges[0] : edges[3] - 1;
    double above = design->is_mirrored ? 1 - edges[3] : edges[0] + 1;
    fir_look(made, edges[2], edges[1], &inside);
    fir_look(made, edges[3], above, &outside);
    if (design->is_mirrored || made->is_complex) { /* else the other half is the same */
        fir_look(made, edges[1], edges[2], &inside);
        fir_look(made, edges[0], below, &outside);
    }
    const struct fir_gains *passed = design->is_stop ? &outside : &inside;
    const struct fir_gains *stopped = design->is_stop ? &inside : &outside;
    return (struct fir_reach){.ripple_db = 20 * log10(passed->greatest / passed->least),
                              .attenuation_db = -20 * log10(stopped->greatest)};
}

SCOPED_CALLS(fir_made_free, struct fir_made, free(at->coeff))

status_t fir_design_make(const struct fir_design *design, struct fir_made *out)
{
    struct fir_design settled = *design;
    SCOPED(fir_made_free) struct fir_made made = {.coeff = NULL};
    for (int i = 0; i < ROUNDS; i++) {
        struct fir_made next = {.coeff = NULL};
        TRY(fir_fill(&settled, &next));
        free(made.coeff);
        made = next;
        made.reach = fir_design_reach(design, &made);
        double lacks = fmax(design->attenuation_db - made.reach.attenuation_db,
                            fir_off(design->ripple_db) - fir_off(made.reach.ripple_db));
        lacks += MISSED;
        settled.margin_db += lacks;
        if (lacks <= 0 || fir_design_size(&settled).taps > FIR_MOST_TAPS) {
            break;
        }
    }
    *out = made;
    made.coeff = NULL;
    return STATUS_OK;
}

status_t fir_rejection(const double *coeff, uint32_t taps, int is_complex, double from, double *out)
{
    SCOPED(free_at) double complex *folded = NULL;
    SCOPED(free_at) double complex *response = NULL;
    double all = 0;
    double beyond = 0;
    size_t length = 64;
    while (length < LONGEST && length < (size_t)4 * taps) {
        length *= 2;
    }
    TRY(memory_zeroed(length, sizeof *folded, "the response of a filter", &folded));
    TRY(memory_zeroed(length, sizeof *response, "the response of a filter", &response));
    /* Each length-th sample has the same phase at those frequencies. */
    for (size_t i = 0; i < taps; i++) {
        folded[i % length] += fir_at(coeff, is_complex, i);
    }
    TRY(dft_forward(length, folded, response));
    for (size_t k = 0; k < length; k++) {
        double f = (double)(k <= length / 2 ? k : length - k) / (double)length;
        double gain = cabs(response[k]);
        all = fmax(all, gain);
        beyond = f > from ? fmax(beyond, gain) : beyond;
    }
    *out = beyond > 0 ? 20 * log10(all / beyond) : INFINITY;
    return STATUS_OK;
}
