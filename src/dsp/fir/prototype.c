/* The windowed sinc, or the numbers of a file, and their normalisation. */
#include "dsp/fir/prototype.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/units.h"
#include "dsp/dft.h"
#include "dsp/fir/filter_report.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- kaiser ---- */

/* I0 by its series, and two fits. */

/* By its power series: all terms are positive, so nothing cancels. */
double kaiser_i0(double x)
{
    double quarter = x * x / 4;
    double term = 1;
    double sum = 1;
    for (int k = 1; term > sum * (DBL_EPSILON / 4); k++) {
        term *= quarter / ((double)k * k);
        sum += term;
    }
    return sum;
}

double kaiser_beta(double decibels)
{
    if (decibels > 50) {
        return 0.1102 * (decibels - 8.7);
    }
    return decibels > 21 ? 0.5842 * pow(decibels - 21, 0.4) + 0.07886 * (decibels - 21) : 0;
}

double kaiser_taps(double decibels, double width)
{
    return (decibels - 7.95) / (2.285 * 2 * M_PI * width) + 1;
}

/* ---- flat cutoff ---- */

/* The cutoff of a filter bank that loses no power between channels.
 *
 * White noise, or a tone, half-way between two channels is in both. Where |H| there is 1 / sqrt(2)
 * of what it is at a channel's centre, the two together have all of its power: with 8 taps and a
 * Hann window cutoff 1.108 leaves 0.1 dB of ripple in their sum, where cutoff 1 leaves 3 dB.
 *
 * The flat cutoff, by bisection: a wider filter passes more at the border. */

enum { MOST_COEFFICIENTS = 1 << 18, MOST_TAPS = 4096, HALVINGS = 40 };

#define WIDEST 2.0       /* channels: the neighbours' centres, so all of the border is passed */
#define STEPS_PER_1 1e10 /* of the cutoff that is told */

/* One half of a symmetric filter: what the sinc is multiplied by. */
struct flat_half {
    uint32_t taps, samples;
    size_t count;   /* of coefficients in it, the innermost first */
    double *centre; /* window */
    double *border; /* the same times the phase of f = 1/2 */
};

/* Returns the place of coefficient i, in spectra from the middle. */
static double flat_place(const struct flat_half *half, size_t i)
{
    return ((double)i + 0.5) / half->samples;
}

/* Returns |H(1/2) / H(0)|^2 less 1/2. */
static double flat_excess(const struct flat_half *half, double cutoff)
{
    double centre = 0;
    double border = 0;
    for (size_t i = 0; i < half->count; i++) {
        double sinc = prototype_sinc(cutoff * flat_place(half, i));
        centre += half->centre[i] * sinc;
        border += half->border[i] * sinc;
    }
    return border / centre * (border / centre) - 0.5;
}

static status_t flat_fill(const struct prototype_spec *spec, struct flat_half *half)
{
    double i0_beta = spec->window == WINDOW_KAISER ? kaiser_i0(spec->kaiser_beta) : 1;
    half->taps = spec->taps < MOST_TAPS ? spec->taps : MOST_TAPS;
    uint32_t fewer = MOST_COEFFICIENTS / half->taps / 2 * 2;
    half->samples = spec->samples_per_spectrum < fewer ? spec->samples_per_spectrum : fewer;
    half->count = (size_t)half->taps * half->samples / 2;
    TRY(memory_zeroed(half->count, sizeof(double), "filter coefficients", &half->centre));
    TRY(memory_zeroed(half->count, sizeof(double), "filter coefficients", &half->border));
    for (size_t i = 0; i < half->count; i++) {
        double x = flat_place(half, i);
        half->centre[i] = prototype_window(spec, i0_beta, 0.5 + x / half->taps);
        half->border[i] = half->centre[i] * cos(M_PI * fmod(x, 2));
    }
    return STATUS_OK;
}

SCOPED_CALLS(flat_half_free, struct flat_half, MEMORY_FREE(at->centre, at->border))

status_t flat_cutoff_settle(struct prototype_spec *spec)
{
    SCOPED(flat_half_free) struct flat_half half = {0};
    if (spec->cutoff != CUTOFF_FLAT) {
        return STATUS_OK;
    }
    REQUIRE(spec->taps > 1 && spec->window != WINDOW_FILE, STATUS_USAGE,
            "cutoff flat: a filter of %u %s from a %s has no cutoff to choose", spec->taps,
            spec->taps == 1 ? "tap" : "taps", spec->window == WINDOW_FILE ? "file" : "window");
    TRY(flat_fill(spec, &half));
    double low = 0;
    double high = WIDEST;
    double alone = flat_excess(&half, low) + 0.5;
    REQUIRE(alone < 0.5, STATUS_USAGE,
            "cutoff flat: the window alone, with cutoff 0, lets %.3f of a tone's power pass at the "
            "border of a channel, 0.5 is wanted: expected more taps than %u, or a window that "
            "falls off less in time",
            alone, spec->taps);
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(flat_excess(&half, middle) < 0 ? &low : &high) = middle;
    }
    /* The more taps, the steeper the border: what is added to 1 goes by widths of the main lobe. */
    double found = half.taps < spec->taps ? 1 + (low - 1) * half.taps / spec->taps : low;
    spec->cutoff = nearbyint(found * STEPS_PER_1) / STEPS_PER_1;
    return STATUS_OK;
}

/* ---- oversampled ---- */

/* Kaiser's formulas, in channels; and how far they are right. */

/* Floats cannot represent more attenuation, and the window's flanks would take the whole length. */
static const double most_decibels = 200;

/* The width relative to the sample rate of a channel's own spacing: a tap is one sample of it. */
static double oversampled_transition(struct ratio ratio)
{
    return (double)(ratio.num - ratio.den) / ratio.den;
}

/* The attenuation that the taps and one more reach, by kaiser_taps() the other way. */
double oversampled_attenuation(struct ratio ratio, uint32_t taps)
{
    return fmin((double)taps * (2.285 * 2 * M_PI * oversampled_transition(ratio)) + 7.95,
                most_decibels);
}

double oversampled_beta(struct ratio ratio, uint32_t taps)
{
    return kaiser_beta(oversampled_attenuation(ratio, taps));
}

double oversampled_cutoff(struct ratio ratio)
{
    return (double)ratio.num / ratio.den;
}

/* The true attenuation of a filter of `taps` taps: with so few samples per spectrum it is the same
 * as with more. */
static status_t oversampled_measure(struct ratio ratio, uint32_t taps, double *decibels)
{
    enum { SAMPLES = 32 };
    const struct prototype_spec spec = {.channels = SAMPLES,
                                        .taps = taps,
                                        .samples_per_spectrum = SAMPLES,
                                        .window = WINDOW_KAISER,
                                        .kaiser_beta = oversampled_beta(ratio, taps),
                                        .cutoff = oversampled_cutoff(ratio)};
    struct filter_report_oversampled report;
    SCOPED(free_at) double *coeff = NULL;
    TRY(prototype_create(&spec, &coeff));
    TRY(filter_report_oversampled(coeff, taps, SAMPLES, oversampled_cutoff(ratio), &report));
    *decibels = report.alias_db;
    return STATUS_OK;
}

status_t oversampled_taps(struct ratio ratio, double decibels, uint32_t *out)
{
    enum { MOST_MEASURED = 4096 };
    const double width = oversampled_transition(ratio);
    uint32_t taps = (uint32_t)fmax(1, ceil(kaiser_taps(decibels, width)) - 2);
    double reached = 0;
    while (taps < MOST_MEASURED && reached < decibels) {
        TRY(oversampled_measure(ratio, taps, &reached));
        taps += reached < decibels;
    }
    *out = taps;
    return STATUS_OK;
}

uint32_t oversampled_channels(struct ratio ratio, uint32_t channels)
{
    uint64_t unit = ratio.num / gcd_u64(ratio.num, ratio.den);
    unit = unit % 2 ? 2 * unit : unit;
    uint64_t below = channels / unit * unit;
    uint64_t above = below + unit;
    return (uint32_t)(below > 0 && channels - below <= above - channels ? below : above);
}

/* ---- prototype ---- */

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
    return STATUS_OK;
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

enum { TILE = 1 << 14, MOST_THREADS = 16 };

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
    const int is_kaiser = spec->window == WINDOW_KAISER;
    const double beta = is_kaiser ? spec->kaiser_beta : 0;
    if (!(fabs(beta) <= KAISER_BETA_LIMIT)) {
        return report_fail(STATUS_USAGE, "a Kaiser window with beta %g: at most %g can be computed",
                           beta, KAISER_BETA_LIMIT);
    }
    struct prototype_filling filling = {spec, is_kaiser ? kaiser_i0(beta) : 1, count, coeff};
    uint64_t tiles = ceil_div_u64(count - count / 2, TILE);
    pool_each(MOST_THREADS, tiles, prototype_fill_tile, &filling);
    return STATUS_OK;
}

/* Reads over blanks, line ends and comments; returns the first character after them, or EOF. */
static int prototype_skip_blanks(struct words *in)
{
    int is_comment = 0;
    for (int c = getc(in->file);; c = getc(in->file)) {
        is_comment = c == '#' || (is_comment && c != '\n' && c != EOF);
        if (!is_comment && !isspace(c)) {
            return c;
        }
        in->line += c == '\n';
    }
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
    /* The character that ended the word may be a line end, which the next call has to count. */
    ungetc(c, in->file);
    in->word[length] = '\0';
    return length > 0;
}

/* Returns the points of a tap in the file, and their name in messages. */
static uint32_t prototype_points(const struct prototype_spec *spec, const char **word)
{
    *word = spec->points ? "window_points" : "samples per spectrum";
    return spec->points ? spec->points : spec->samples_per_spectrum;
}

SCOPED_CALLS(words_close, struct words, text_close(at->file))

/* Reads on after the last number that is needed, to count them. */
static status_t prototype_fill_from_file(const struct prototype_spec *spec, size_t count,
                                         double *coeff)
{
    size_t found = 0;
    size_t last_line = 1;
    const char *word = NULL;
    const uint32_t points = prototype_points(spec, &word);
    SCOPED(words_close) struct words in = {.line = 1};
    TRY(text_open(spec->path, "the coefficients of window file:", 1, &in.file));
    for (; prototype_next_word(&in); found++, last_line = in.line) {
        double value = 0;
        REQUIRE(strlen(in.word) < WORD_BYTES - 1 && units_parse_f64(in.word, &value), STATUS_DATA,
                "%s, line %zu: '%.40s' is no number (filter coefficient %zu, %zu expected)",
                spec->path, in.line, in.word, found + 1, count);
        if (found < count) {
            coeff[found] = value;
        }
    }
    REQUIRE(!ferror(in.file), STATUS_DATA, "cannot read %s: %s", spec->path, strerror(errno));
    return REQUIRED(
        found == count, STATUS_DATA,
        "%s, line %zu: %zu filter coefficients found up to here, the end; %zu expected (%u "
        "taps times %u %s)",
        spec->path, last_line, found, count, spec->taps, points, word);
}

/* Copies the coefficients of the file, resampled to this bank's points if they differ. */
static status_t prototype_take_file(const struct prototype_spec *spec, size_t count, double *coeff)
{
    const char *word = NULL;
    const uint32_t points = prototype_points(spec, &word);
    const size_t there = (size_t)spec->taps * points;
    SCOPED(free_at) double *in = NULL;
    SCOPED(free_at) double *made = NULL;
    REQUIRE(!spec->values || spec->nvalues == there, STATUS_DATA,
            "%s: %llu filter coefficients; %zu expected (%u taps times %u %s)", spec->path,
            (unsigned long long)spec->nvalues, there, spec->taps, points, word);
    if (points == spec->samples_per_spectrum && !spec->values) {
        TRY(prototype_fill_from_file(spec, count, coeff));
        return STATUS_OK;
    }
    if (!spec->values) {
        TRY(memory_zeroed(there, sizeof *in, "filter coefficients", &in));
        TRY(prototype_fill_from_file(spec, there, in));
    }
    TRY(prototype_resample(spec->values ? spec->values : in, spec->taps, points,
                           spec->samples_per_spectrum, RESAMPLE_KEEPS_CENTRE, &made));
    memcpy(coeff, made, count * sizeof *coeff);
    return STATUS_OK;
}

static void prototype_sum_add(struct sum *sum, double term)
{
    double total = sum->value + term;
    sum->rest +=
        fabs(sum->value) >= fabs(term) ? (sum->value - total) + term : (term - total) + sum->value;
    sum->value = total;
}

/* Finds the number by which the coefficients are divided. */
static status_t prototype_find_divisor(enum normalise normalise, size_t count, const double *coeff,
                                       double *out)
{
    struct sum sum = {0, 0};
    double magnitude = 0;
    const int is_peak = normalise == NORMALISE_PEAK;
    for (size_t j = 0; j < count && normalise != NORMALISE_NONE; j++) {
        prototype_sum_add(&sum, is_peak ? coeff[j] : coeff[j] * coeff[j]);
        magnitude += is_peak ? fabs(coeff[j]) : 0;
    }
    double total = sum.value + sum.rest;
    double divisor = is_peak ? total : normalise == NORMALISE_ENERGY ? sqrt(total) : 1;
    /* Terms that cancel up to their rounding have no sum. */
    REQUIRE(isfinite(divisor) && fabs(divisor) > DBL_EPSILON * magnitude, STATUS_USAGE,
            "filter coefficients cannot be normalised to %s: %s of %zu coefficients is %g",
            normalise_name(normalise), is_peak ? "the sum" : "the root of the energy", count,
            divisor);
    *out = divisor;
    return STATUS_OK;
}

struct normalising {
    double *coeff;
    size_t count;
    double divisor;
};

static void normalise_tile(void *context, uint32_t thread, uint64_t tile)
{
    const struct normalising *n = context;
    size_t end = (size_t)min_u64((tile + 1) * TILE, n->count);
    (void)thread;
    for (size_t j = (size_t)tile * TILE; j < end; j++) {
        n->coeff[j] /= n->divisor;
    }
}

status_t prototype_create(const struct prototype_spec *spec, double **out)
{
    size_t count = 0;
    double divisor = 1;
    SCOPED(free_at) double *coeff = NULL;
    TRY(prototype_count_coefficients(spec, &count));
    TRY(memory_zeroed(count, sizeof *coeff, "filter coefficients", &coeff));
    TRY(spec->window == WINDOW_FILE ? prototype_take_file(spec, count, coeff)
                                    : prototype_fill_windowed_sinc(spec, count, coeff));
    TRY(prototype_find_divisor(spec->normalise, count, coeff, &divisor));
    struct normalising normalising = {coeff, count, divisor};
    pool_each(MOST_THREADS, ceil_div_u64(count, TILE), normalise_tile, &normalising);
    *out = memory_move(&coeff);
    return STATUS_OK;
}

struct folding {
    const double *coeff;
    double *out;
    size_t count;
    double even, odd; /* factors */
};

static void fold_tile(void *context, uint32_t thread, uint64_t tile)
{
    const struct folding *f = context;
    size_t end = (size_t)min_u64((tile + 1) * TILE, f->count);
    (void)thread;
    for (size_t j = (size_t)tile * TILE; j < end; j++) {
        f->out[j] = f->coeff[j] * (j % 2 ? f->odd : f->even);
    }
}

void prototype_fold(const double *coeff, size_t count, double factor, int is_shifted, double *out)
{
    struct folding folding = {coeff, out, count, factor, is_shifted ? -factor : factor};
    pool_each(MOST_THREADS, ceil_div_u64(count, TILE), fold_tile, &folding);
}

/* The table of telescopes, and their windowed sincs. */

static const struct telescope telescopes[] = {
    {"chime", 4, 2048, 0.08, 4096},
    {"katgpucbf", 16, 2048, 0, 16 * 2048 / 2 - 0.5},
};
enum { TELESCOPES = sizeof telescopes / sizeof *telescopes };

const struct telescope *telescope_find(const char *name)
{
    for (size_t i = 0; i < TELESCOPES; i++) {
        if (strcmp(name, telescopes[i].name) == 0) {
            return &telescopes[i];
        }
    }
    return NULL;
}

status_t telescope_add_names(struct text *out)
{
    for (size_t i = 0; i < TELESCOPES; i++) {
        TRY(text_add(out, "%s%s", i > 0 ? ", " : "", telescopes[i].name));
    }
    return STATUS_OK;
}

status_t telescope_prototype(const struct telescope *telescope, double **out)
{
    const size_t count = (size_t)telescope->taps * telescope->points;
    double *coeff = NULL;
    TRY(memory_zeroed(count, sizeof *coeff, "filter coefficients", &coeff));
    for (size_t j = 0; j < count; j++) {
        double hann = 0.5 - 0.5 * cos(2 * M_PI * (double)j / (double)(count - 1));
        coeff[j] = prototype_sinc(((double)j - telescope->centre) / telescope->points) *
                   (telescope->window_low + (1 - telescope->window_low) * hann);
    }
    *out = coeff;
    return STATUS_OK;
}

/* Through frequencies, of which the fewer are kept. */

/* exp(2 pi i k / (2 count)): by half a coefficient. */
static double complex resample_half(size_t k, size_t count)
{
    return cexp(I * M_PI * (double)k / (double)count);
}

/* Frequency 0 and those above, as far as both have them; those below are their conjugates. */
static void resample_frequencies(size_t from, size_t to, enum resample_keeps keeps,
                                 const double complex *in, double complex *out)
{
    size_t both = from < to ? from : to;
    for (size_t k = 0; 2 * k < both; k++) {
        double complex value = in[k];
        if (keeps == RESAMPLE_KEEPS_CENTRE) {
            value = value * conj(resample_half(k, from)) * resample_half(k, to);
        }
        out[k] = value;
        out[k > 0 ? to - k : 0] = k > 0 ? conj(value) : value;
    }
}

status_t prototype_resample(const double *in, uint32_t taps, uint32_t points_in,
                            uint32_t points_out, enum resample_keeps keeps, double **out)
{
    const size_t from = (size_t)taps * points_in;
    const size_t to = (size_t)taps * points_out;
    const double divisor = keeps == RESAMPLE_KEEPS_CENTRE ? (double)from : (double)to;
    SCOPED(free_at) double complex *a = NULL;
    SCOPED(free_at) double complex *b = NULL;
    SCOPED(free_at) double *made = NULL;
    TRY(memory_zeroed(to, sizeof *made, "filter coefficients", &made));
    if (from == to) {
        memcpy(made, in, to * sizeof *made);
        goto done;
    }
    TRY(memory_zeroed(from > to ? from : to, sizeof *a, "filter coefficients", &a));
    TRY(memory_zeroed(from > to ? from : to, sizeof *b, "filter coefficients", &b));
    for (size_t j = 0; j < from; j++) {
        a[j] = in[j];
    }
    TRY(dft_forward(from, a, b));
    memset(a, 0, to * sizeof *a);
    resample_frequencies(from, to, keeps, b, a);
    /* Backwards: the transform of conjugates, which the output, being real, is its own. */
    for (size_t k = 0; k < to; k++) {
        a[k] = conj(a[k]);
    }
    TRY(dft_forward(to, a, b));
    for (size_t j = 0; j < to; j++) {
        made[j] = creal(b[j]) / divisor;
    }
done:
    *out = memory_move(&made);
    return STATUS_OK;
}
