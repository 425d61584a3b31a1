/* The windowed sinc, or the numbers of a file, and their normalisation. */
#include "dsp/fir/prototype.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/units.h"
#include "dsp/fir/kaiser.h"
#include "dsp/resample.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer words are no numbers: this bounds what a file without blanks can make us read. */
enum { WORD_BYTES = 512 };

struct words {
    FILE *file;
    size_t line; /* of the reader, from 1 */
    char word[WORD_BYTES];
};

/* A sum with its rounding error carried along (Neumaier): coefficients may be many millions. */
struct sum {
    double value, rest;
};

/* T * P. A system that overcommits would grant any size and kill us later, so what this machine
 * cannot hold is refused here. */
static status_t prototype_count_coefficients(const struct prototype_spec *spec, size_t *out)
{
    status_t st = STATUS_OK;
    uint64_t count = (uint64_t)spec->taps * spec->samples_per_spectrum;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : SIZE_MAX;
    REQUIRE(count <= memory / sizeof(double), STATUS_DEVICE,
            "out of memory: %llu filter coefficients (%u taps times %u samples per spectrum) of "
            "%zu bytes, %llu bytes of memory in this machine",
            (unsigned long long)count, spec->taps, spec->samples_per_spectrum, sizeof(double),
            (unsigned long long)memory);
    *out = (size_t)count;
out:
    return st;
}

/* fmod is exact, so that sin stays accurate. */
double prototype_sinc(double u)
{
    return u == 0 ? 1 : sin(M_PI * fmod(u, 2)) / (M_PI * u);
}

double prototype_window(const struct prototype_spec *spec, double i0_beta, double u)
{
    switch (spec->window) {
    case WINDOW_HANN:
        return 0.5 - 0.5 * cos(2 * M_PI * u);
    case WINDOW_HAMMING:
        return 0.54 - 0.46 * cos(2 * M_PI * u);
    case WINDOW_BLACKMAN:
        return 0.42 - 0.5 * cos(2 * M_PI * u) + 0.08 * cos(4 * M_PI * u);
    case WINDOW_KAISER:
        /* 1 - (2u - 1)^2 = 4 u (1 - u), which loses no digits at the ends. */
        return kaiser_i0(spec->kaiser_beta * sqrt(4 * u * (1 - u))) / i0_beta;
    case WINDOW_RECT:
    case WINDOW_FILE:
        break;
    }
    return 1;
}

struct prototype_filling {
    const struct prototype_spec *spec;
    double i0_beta;
    size_t count;
    double *coeff;
};

enum { TILE = 1 << 14, MOST_THREADS = 8 };

/* Both halves get the same bits: a symmetric filter has an exactly linear phase. */
static void prototype_fill_tile(void *context, uint32_t thread, uint64_t tile)
{
    const struct prototype_filling *f = context;
    size_t count = f->count;
    size_t end = (size_t)min_u64((tile + 1) * TILE, count - count / 2);
    (void)thread;
    for (size_t j = (size_t)tile * TILE; j < end; j++) {
        double x = (double)j - ((double)count - 1) / 2;
        double u = ((double)j + 0.5) / (double)count;
        f->coeff[j] = prototype_sinc(f->spec->cutoff * x / f->spec->samples_per_spectrum) *
                      prototype_window(f->spec, f->i0_beta, u);
        f->coeff[count - 1 - j] = f->coeff[j];
    }
}

static status_t prototype_fill_windowed_sinc(const struct prototype_spec *spec, size_t count,
                                             double *coeff)
{
    status_t st = STATUS_OK;
    double i0_beta = 1;
    if (spec->window == WINDOW_KAISER) {
        REQUIRE(fabs(spec->kaiser_beta) <= KAISER_BETA_LIMIT, STATUS_USAGE,
                "a Kaiser window with beta %g: at most %g can be computed", spec->kaiser_beta,
                KAISER_BETA_LIMIT);
        i0_beta = kaiser_i0(spec->kaiser_beta);
    }
    struct prototype_filling filling = {spec, i0_beta, count, coeff};
    uint64_t tiles = ceil_div_u64(count - count / 2, TILE);
    pool_each((uint32_t)min_u64(tiles, MOST_THREADS), tiles, prototype_fill_tile, &filling);
out:
    return st;
}

/* Reads over blanks, line ends and comments; returns the first character behind them, or EOF. */
static int prototype_skip_blanks(struct words *in)
{
    int c = getc(in->file);
    while (c == '#' || isspace(c)) {
        if (c == '#') {
            while (c != '\n' && c != EOF) {
                c = getc(in->file);
            }
        } else {
            in->line += c == '\n';
            c = getc(in->file);
        }
    }
    return c;
}

/* Reads the next word; returns 0 at the end of the file. Bytes that cannot be shown become '?',
 * which no number contains, so that messages stay readable. */
static int prototype_next_word(struct words *in)
{
    size_t length = 0;
    int c = prototype_skip_blanks(in);
    while (c != EOF && c != '#' && !isspace(c) && length < WORD_BYTES - 1) {
        in->word[length++] = (char)(isgraph(c) ? c : '?');
        c = getc(in->file);
    }
    /* What ended the word may be a line end, which the next call has to count. */
    ungetc(c, in->file);
    in->word[length] = '\0';
    return length > 0;
}

/* Of a tap in the file. */
static uint32_t prototype_points(const struct prototype_spec *spec)
{
    return spec->points ? spec->points : spec->samples_per_spectrum;
}

static const char *prototype_points_word(const struct prototype_spec *spec)
{
    return spec->points ? "window_points" : "samples per spectrum";
}

/* Reads on past the last number that is needed, to tell how many there are. */
static status_t prototype_fill_from_file(const struct prototype_spec *spec, size_t count,
                                         double *coeff)
{
    status_t st = STATUS_OK;
    size_t found = 0;
    size_t last_line = 1;
    struct words in = {.line = 1};
    TRY(text_open(spec->path, "the coefficients of window file:", 1, &in.file));
    while (prototype_next_word(&in)) {
        double value = 0;
        REQUIRE(strlen(in.word) < WORD_BYTES - 1 && units_parse_f64(in.word, &value), STATUS_DATA,
                "%s, line %zu: '%.40s' is no number (filter coefficient %zu, %zu expected)",
                spec->path, in.line, in.word, found + 1, count);
        if (found < count) {
            coeff[found] = value;
        }
        found++;
        last_line = in.line;
    }
    REQUIRE(!ferror(in.file), STATUS_DATA, "cannot read %s: %s", spec->path, strerror(errno));
    REQUIRE(found == count, STATUS_DATA,
            "%s, line %zu: %zu filter coefficients found up to here, the end; %zu expected (%u "
            "taps times %u %s)",
            spec->path, last_line, found, count, spec->taps, prototype_points(spec),
            prototype_points_word(spec));
out:
    if (in.file) {
        fclose(in.file);
    }
    return st;
}

/* What was read, or is to be read, at this bank's points. */
static status_t prototype_take_file(const struct prototype_spec *spec, size_t count, double *coeff)
{
    status_t st = STATUS_OK;
    const uint32_t points = prototype_points(spec);
    const size_t there = (size_t)spec->taps * points;
    double *in = NULL;
    double *made = NULL;
    REQUIRE(!spec->values || spec->nvalues == there, STATUS_DATA,
            "%s: %llu filter coefficients; %zu expected (%u taps times %u %s)", spec->path,
            (unsigned long long)spec->nvalues, there, spec->taps, points,
            prototype_points_word(spec));
    if (points == spec->samples_per_spectrum && !spec->values) {
        TRY(prototype_fill_from_file(spec, count, coeff));
        goto out;
    }
    if (!spec->values) {
        TRY(memory_zeroed(there, sizeof *in, "filter coefficients", &in));
        TRY(prototype_fill_from_file(spec, there, in));
    }
    TRY(prototype_resample(spec->values ? spec->values : in, spec->taps, points,
                           spec->samples_per_spectrum, RESAMPLE_KEEPS_CENTRE, &made));
    memcpy(coeff, made, count * sizeof *coeff);
out:
    free(in);
    free(made);
    return st;
}

static void prototype_sum_add(struct sum *sum, double term)
{
    double total = sum->value + term;
    sum->rest +=
        fabs(sum->value) >= fabs(term) ? (sum->value - total) + term : (term - total) + sum->value;
    sum->value = total;
}

/* The number that the coefficients are to be divided by. */
static status_t prototype_find_divisor(enum normalise normalise, size_t count, const double *coeff,
                                       double *out)
{
    status_t st = STATUS_OK;
    struct sum sum = {0, 0};
    struct sum energy = {0, 0};
    double magnitude = 0;
    for (size_t j = 0; j < count; j++) {
        prototype_sum_add(&sum, coeff[j]);
        prototype_sum_add(&energy, coeff[j] * coeff[j]);
        magnitude += fabs(coeff[j]);
    }
    double divisor = 1;
    double least = 0;
    if (normalise == NORMALISE_PEAK) {
        divisor = sum.value + sum.rest;
        /* Terms that cancel up to their rounding have no sum. */
        least = DBL_EPSILON * magnitude;
    } else if (normalise == NORMALISE_ENERGY) {
        divisor = sqrt(energy.value + energy.rest);
    }
    REQUIRE(isfinite(divisor) && fabs(divisor) > least, STATUS_USAGE,
            "filter coefficients cannot be normalised to %s: %s of %zu coefficients is %g",
            normalise_name(normalise),
            normalise == NORMALISE_PEAK ? "the sum" : "the root of the energy", count, divisor);
    *out = divisor;
out:
    return st;
}

status_t prototype_create(const struct prototype_spec *spec, double **out)
{
    status_t st = STATUS_OK;
    size_t count = 0;
    double divisor = 1;
    double *coeff = NULL;
    TRY(prototype_count_coefficients(spec, &count));
    TRY(memory_zeroed(count, sizeof *coeff, "filter coefficients", &coeff));
    if (spec->window == WINDOW_FILE) {
        TRY(prototype_take_file(spec, count, coeff));
    } else {
        TRY(prototype_fill_windowed_sinc(spec, count, coeff));
    }
    TRY(prototype_find_divisor(spec->normalise, count, coeff, &divisor));
    for (size_t j = 0; j < count; j++) {
        coeff[j] /= divisor;
    }
    *out = coeff;
    coeff = NULL;
out:
    free(coeff);
    return st;
}

void prototype_fold_shift(double *coeff, uint32_t taps, uint32_t samples_per_spectrum)
{
    size_t count = (size_t)taps * samples_per_spectrum;
    for (size_t j = 1; j < count; j += 2) {
        coeff[j] = -coeff[j];
    }
}
