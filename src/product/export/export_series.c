/* Chosen DMs of a dedispersed product as PRESTO's .dat and .inf, or SIGPROC's .tim. */
#include "base/display.h"
#include "base/memory.h"
#include "product/export/export.h"
#include "product/export/export_file.h"
#include "product/kind/series_kind.h"

#include <math.h>

/* The lines of a .inf file. */

/* PRESTO copies a value into 100 bytes. */
enum { MOST_LETTERS = 80 };

static void presto_put(struct text *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line ends where a value would end it; other control characters are written as C does. */
static void presto_put(struct text *out, const char *key, const char *format, ...)
{
    char value[MOST_LETTERS + 1];
    char shown[MOST_LETTERS + 1];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    value[strcspn(value, "\r\n")] = '\0';
    display_format(shown, sizeof shown, "%s", value);
    text_add(out, " %-39s=  %s\n", key, shown);
}

static void presto_put_sixtieths(struct text *out, const char *key, double value, double turn)
{
    struct sixtieths parts = sixtieths_of(value, turn, 1e4);
    presto_put(out, key, "%s%02u:%02u:%07.4f", parts.is_negative ? "-" : "", parts.whole,
               parts.minutes, parts.seconds);
}

static const char *presto_or_unknown(const char *text)
{
    return text && text[0] ? text : "Unknown";
}

/* Returns whether times are those of another frequency than the highest channel's: nearer than 1 Hz
 * it is the same, rounded. */
static int series_is_shifted(const struct series *series)
{
    const struct series_band *band = &series->band;
    return band->high_mhz > 0 && !(fabs(band->reference_mhz - band->high_mhz) < 1e-6);
}

/* Returns the leading edge of the first sample of a DM, counted as PRESTO and SIGPROC do: when a
 * pulse arrives at the highest channel. Returns 0, and leaves *out alone, when it is unknown. */
static int series_start(const struct series *series, uint64_t dm, struct utc *out)
{
    const struct series_band *band = &series->band;
    double high = band->high_mhz;
    double reference = band->reference_mhz;
    double later = 0;
    if (!series->has_start) {
        return 0;
    }
    if (series_is_shifted(series)) {
        later = band->constant * series->dm[dm] * (1 / (high * high) - 1 / (reference * reference));
    }
    *out = utc_add(series->start, later);
    return 1;
}

static void presto_put_where(const struct series *series, uint64_t dm, struct text *out)
{
    struct utc start = {0};
    int is_known = series_start(series, dm, &start);
    const struct sigproc *header = &series->header;
    presto_put(out, "Telescope used", "%s", presto_or_unknown(series->telescope));
    presto_put(out, "Instrument used", "Unknown");
    presto_put(out, "Object being observed", "%s", presto_or_unknown(header->source));
    presto_put_sixtieths(out, "J2000 Right Ascension (hh:mm:ss.ssss)", header->raj_hours, 24);
    presto_put_sixtieths(out, "J2000 Declination     (dd:mm:ss.ssss)", header->dej_degrees, 360);
    presto_put(out, "Data observed by", "Unknown");
    presto_put(out, "Epoch of observation (MJD)", "%s",
               is_known ? utc_mjd_text(start) : "0.000000000000000");
    presto_put(out, "Barycentered?           (1 yes, 0 no)", "0");
}

/* PRESTO takes low + (number - 1) * width for the highest channel, to which the epoch belongs. */
static status_t presto_put_band(const struct series *series, double dm, struct text *out)
{
    const struct series_band *band = &series->band;
    REQUIRE(band->channels <= INT32_MAX, STATUS_USAGE,
            "%s: channels from %.9g to %.9g MHz, %.9g MHz wide, are more than a .inf counts",
            series->path, band->low_mhz, band->high_mhz, band->width_mhz);
    presto_put(out, "Type of observation (EM band)", "Radio");
    presto_put(out, "Beam diameter (arcsec)", "3600");
    presto_put(out, "Dispersion measure (cm-3 pc)", "%.12g", dm);
    presto_put(out, "Central freq of low channel (MHz)", "%.12g", band->low_mhz);
    presto_put(out, "Total bandwidth (MHz)", "%.12g", (double)band->channels * band->width_mhz);
    presto_put(out, "Number of channels", "%llu", (unsigned long long)band->channels);
    presto_put(out, "Channel bandwidth (MHz)", "%.12g", band->width_mhz);
    return STATUS_OK;
}

/* Writes the notes. PRESTO allows lines of at most 99 letters, and 500 in all. */
static void presto_put_notes(const struct series *series, struct text *out)
{
    text_add(out,
             " Any additional notes:\n"
             "    Exported by voltmill %s; the beam diameter is a guess.\n",
             VOLTMILL_VERSION);
    if (series->missing.length > 0) {
        text_add(out, "    Not known (0, 1 or Unknown): %s.\n", series->missing.data);
    }
    if (!series->band.is_even) {
        text_add(out, "    Its %llu channels are not evenly spaced: gaps count as channels.\n",
                 (unsigned long long)series->band.held);
    }
    if (series_is_shifted(series)) {
        text_add(out, "    Dedispersed to %.9g MHz; the epoch is that of the highest channel.\n",
                 series->band.reference_mhz);
    }
    text_add(out, "\n");
}

status_t presto_inf(const struct series *series, const char *name, uint64_t dm, uint64_t samples,
                    struct text *out)
{
    text_add_shown(out, " %-39s=  %.*s\n", "Data file name without suffix", 2 * MOST_LETTERS, name);
    presto_put_where(series, dm, out);
    presto_put(out, "Number of bins in the time series", "%-11llu", (unsigned long long)samples);
    presto_put(out, "Width of each time series bin (sec)", "%.15g", series->header.tsamp);
    presto_put(out, "Any breaks in the data? (1 yes, 0 no)", "0");
    TRY(presto_put_band(series, series->dm[dm], out));
    presto_put(out, "Data analyzed by", "Unknown");
    presto_put_notes(series, out);
    return out->status;
}

/* Samples of a block: 16 MiB. */
enum { BLOCK = 4 << 20 };

/* One export under way. */
struct choice {
    const struct export_series_options *options;
    struct series *in;
    uint64_t *dms; /* [ndms] numbers in the product, ascending, each once */
    uint64_t ndms;
    double least, most; /* of all DMs of the product */
    int decimals;       /* of DMs in names */
    uint64_t samples;   /* that are written of each */
    float *block;
    char *base;
};

/* Returns the distance to the nearest other DM, pc cm^-3. */
static double series_step_at(const struct series *in, uint64_t at)
{
    double step = INFINITY;
    for (uint64_t i = 0; i < in->ndms; i++) {
        double distance = fabs(in->dm[i] - in->dm[at]);
        step = distance > 0 && distance < step ? distance : step;
    }
    return isfinite(step) ? step : 0;
}

static status_t series_fail_dms(const struct choice *choice, const char *what)
{
    return report_fail(STATUS_USAGE, "export: %s is not in %s: it contains %llu DMs from %g to %g",
                       what, choice->in->path, (unsigned long long)choice->in->ndms, choice->least,
                       choice->most);
}

/* Between two stored DMs the nearest is as good as any; beyond them it is another one. */
static status_t series_choose_nearest(struct choice *choice, char *taken)
{
    const struct series *in = choice->in;
    for (uint32_t i = 0; i < choice->options->ndms; i++) {
        char what[64];
        double dm = choice->options->dms[i];
        uint64_t at = 0; /* the nearest */
        for (uint64_t k = 1; k < in->ndms; k++) {
            at = fabs(in->dm[k] - dm) < fabs(in->dm[at] - dm) ? k : at;
        }
        double distance = fabs(in->dm[at] - dm);
        double slack = 1e-9 * fabs(dm);
        int is_within = dm >= choice->least && dm <= choice->most;
        if (!is_within && distance > series_step_at(in, at) / 2 + slack) {
            snprintf(what, sizeof what, "DM %.12g", dm);
            TRY(series_fail_dms(choice, what));
        }
        if (distance > slack) {
            report_note("DM %.12g is not stored: the nearest is %.12g", dm, in->dm[at]);
        }
        taken[at] = 1;
    }
    return STATUS_OK;
}

static status_t series_choose_range(struct choice *choice, char *taken)
{
    const struct export_series_options *options = choice->options;
    const double *dm = choice->in->dm;
    int any = 0;
    for (uint64_t i = 0; i < choice->in->ndms; i++) {
        taken[i] = dm[i] >= options->first_dm && dm[i] <= options->last_dm;
        any |= taken[i];
    }
    if (!any) {
        char what[80];
        snprintf(what, sizeof what, "any DM from %.12g to %.12g", options->first_dm,
                 options->last_dm);
        TRY(series_fail_dms(choice, what));
    }
    return STATUS_OK;
}

static status_t series_choose_dms(struct choice *choice)
{
    SCOPED(free_at) char *taken = NULL;
    size_t count = (size_t)choice->in->ndms;
    TRY(memory_zeroed(count, 1, "DMs", &taken));
    TRY(memory_zeroed(count, sizeof *choice->dms, "DMs", &choice->dms));
    choice->least = choice->most = choice->in->dm[0];
    for (size_t i = 1; i < count; i++) {
        choice->least = fmin(choice->least, choice->in->dm[i]);
        choice->most = fmax(choice->most, choice->in->dm[i]);
    }
    REQUIRE(choice->options->ndms > 0 || choice->options->has_range, STATUS_USAGE,
            "export: which DMs of %s? --dm 475 or --dms 470..480: it contains %zu from %g to %g",
            choice->in->path, count, choice->least, choice->most);
    TRY(choice->options->ndms > 0 ? series_choose_nearest(choice, taken)
                                  : series_choose_range(choice, taken));
    for (uint64_t i = 0; i < choice->in->ndms; i++) {
        if (taken[i]) {
            choice->dms[choice->ndms++] = i;
        }
    }
    return STATUS_OK;
}

/* Returns whether two DMs are written alike: their binary values decide, not the decimals. */
static int series_is_same_name(double a, double b, int decimals)
{
    enum { DIGITS = 340 /* of the largest double, and its decimals */ };
    char names[2][DIGITS];
    snprintf(names[0], DIGITS, "%.*f", decimals, a);
    snprintf(names[1], DIGITS, "%.*f", decimals, b);
    return strcmp(names[0], names[1]) == 0;
}

/* Chooses the decimals of DMs in names: two, or as many as distinguish the DMs. */
static status_t series_choose_decimals(struct choice *choice)
{
    enum { MOST = 9 };
    SCOPED(free_at) double *sorted = NULL;
    TRY(memory_zeroed((size_t)choice->ndms, sizeof *sorted, "DMs", &sorted));
    for (uint64_t i = 0; i < choice->ndms; i++) {
        sorted[i] = choice->in->dm[choice->dms[i]];
    }
    qsort(sorted, (size_t)choice->ndms, sizeof *sorted, compare_f64);
    choice->decimals = 2;
    for (uint64_t i = 1; i < choice->ndms; i++) {
        while (choice->decimals <= MOST &&
               series_is_same_name(sorted[i], sorted[i - 1], choice->decimals)) {
            choice->decimals++;
        }
    }
    return REQUIRED(choice->decimals <= MOST, STATUS_DATA, "%s contains a DM twice",
                    choice->in->path);
}

/* Makes the name of a DM's file: base_DM475.00, and an ending. */
static status_t series_name_of(const struct choice *choice, uint64_t dm, const char *ending,
                               char **out)
{
    return memory_format(out, "%s_DM%.*f%s", choice->base, choice->decimals, choice->in->dm[dm],
                         ending);
}

/* The files of one DM: a .tim; or a .dat and its .inf. */
struct series_files {
    char *names[2];
    struct text heads[2];
    struct export_plan plans[2];
    struct export_file files[2];
    int count;
};

static void series_files_end(struct series_files *of)
{
    for (int i = 0; i < 2; i++) {
        export_file_end(&of->files[i]);
        text_free(&of->heads[i]);
        free(memory_move(&of->names[i]));
    }
}

static struct sigproc series_header_of(const struct choice *choice, uint64_t dm)
{
    struct sigproc header = choice->in->header;
    struct utc start;
    const struct series_band *band = &choice->in->band;
    header.fch1 = band->high_mhz;
    header.foff = band->width_mhz > 0 ? -band->width_mhz : 0;
    header.tstart = series_start(choice->in, dm, &start) ? utc_mjd(start) : 0;
    header.data_type = SIGPROC_SERIES;
    header.nbits = 32;
    header.nchans = 1;
    header.nifs = 1;
    header.nbeams = 1;
    header.ibeam = 1;
    header.refdm = choice->in->dm[dm];
    return header;
}

/* Names and heads. series_files_end() in any case. */
static status_t series_plan_files(const struct choice *choice, uint64_t dm, struct series_files *of)
{
    int is_tim = choice->options->is_tim;
    const char *const endings[] = {is_tim ? ".tim" : ".dat", ".inf"};
    struct sigproc header = series_header_of(choice, dm);
    SCOPED(free_at) char *bare = NULL;
    *of = (struct series_files){.files = {EXPORT_FILE_NONE, EXPORT_FILE_NONE},
                                .count = is_tim ? 1 : 2};
    TRY(series_name_of(choice, dm, "", &bare));
    TRY(is_tim ? sigproc_write(&header, &of->heads[0])
               : presto_inf(choice->in, text_basename(bare), dm, choice->samples, &of->heads[1]));
    for (int i = 0; i < of->count; i++) {
        TRY(series_name_of(choice, dm, endings[i], &of->names[i]));
        uint64_t samples = i == 0 ? choice->samples * sizeof(float) : 0;
        of->plans[i] = (struct export_plan){.path = of->names[i],
                                            .mark = MARK_EXPORT,
                                            .force = choice->options->force,
                                            .bytes = of->heads[i].length + samples,
                                            .head = &of->heads[i]};
    }
    return STATUS_OK;
}

/* All samples of a DM, after the head; then they get their name. */
static status_t series_write_samples(struct choice *choice, uint64_t dm, struct series_files *of)
{
    uint64_t nans = 0;
    struct export_file *file = &of->files[0];
    uint64_t head = of->heads[0].length;
    TRY(export_file_reserve(file, of->plans[0].bytes));
    for (uint64_t at = 0; at < choice->samples; at += BLOCK) {
        uint64_t count = min_u64(BLOCK, choice->samples - at);
        TRY(series_read(choice->in, dm, at, count, choice->block));
        nans += export_count_nans(choice->block, count);
        TRY(export_file_put(file, head + at * sizeof(float), choice->block, count * sizeof(float)));
    }
    TRY(export_file_publish(file));
    if (nans > 0) {
        report_note("%s: %llu of its %llu samples are NaN (holes of the run?): they stay NaN",
                    file->path, (unsigned long long)nans, (unsigned long long)choice->samples);
    }
    return STATUS_OK;
}

static status_t series_say(const struct choice *choice, uint64_t dm, const struct series_files *of,
                           struct text *said)
{
    int were_before = 1;
    for (int i = 0; i < of->count; i++) {
        were_before = were_before && of->files[i].before.kind == BEFORE_COMPLETE;
    }
    if (were_before) {
        return export_file_say_before(&of->files[0], said, &were_before);
    }
    return text_add_shown(said,
                          choice->options->is_tim
                              ? "%s: SIGPROC series, DM %.12g, %llu samples\n"
                              : "%s, .inf: PRESTO series, DM %.12g, %llu samples\n",
                          of->names[0], choice->in->dm[dm], (unsigned long long)choice->samples);
}

/* Writes the files of a DM. The .inf is completed last, so that it marks a complete series. */
static status_t series_write(struct choice *choice, uint64_t dm, struct text *said)
{
    SCOPED(series_files_end) struct series_files of = {.count = 0};
    TRY(series_plan_files(choice, dm, &of));
    for (int i = 0; i < of.count; i++) {
        TRY(export_file_begin(&of.plans[i], &of.files[i]));
    }
    TRY(series_write_samples(choice, dm, &of));
    TRY(of.count > 1 ? export_file_publish(&of.files[1]) : STATUS_OK);
    return series_say(choice, dm, &of, said);
}

/* Settles the number of samples, which PRESTO requires to be even. */
static status_t series_choose_samples(struct choice *choice)
{
    choice->samples = choice->in->samples;
    if (!choice->options->is_tim) {
        choice->samples -= choice->samples % 2;
        REQUIRE(choice->samples > 0, STATUS_DATA, "%s: one sample is no series for PRESTO",
                choice->in->path);
        if (choice->samples < choice->in->samples) {
            report_note("the last of %llu samples is left out: PRESTO wants an even number",
                        (unsigned long long)choice->in->samples);
        }
    }
    return memory_aligned((size_t)min_u64(BLOCK, choice->samples), sizeof *choice->block, "samples",
                          &choice->block);
}

/* Checks every file before the first one is written. */
static status_t series_check_files(const struct choice *choice)
{
    SCOPED(series_files_end) struct series_files of = {.count = 0};
    SCOPED(guard_free) struct guard reads = {0};
    TRY(guard_add(&reads, "the file which it is made of,", choice->in->path));
    for (uint64_t i = 0; i < choice->ndms; i++) {
        TRY(series_plan_files(choice, choice->dms[i], &of));
        for (int k = 0; k < of.count; k++) {
            TRY(export_file_check(&of.plans[k], &reads));
        }
        series_files_end(&of);
    }
    return STATUS_OK;
}

/* Reports properties that headers cannot represent exactly. */
static void series_say_band(const struct choice *choice)
{
    const struct series *in = choice->in;
    const struct series_band *band = &in->band;
    if (!band->is_even && !choice->options->is_tim) {
        report_warn("%s: its %llu channels are not evenly spaced, which a .inf cannot say: %llu of "
                    "%.9g MHz from %.9g to %.9g MHz stand there, gaps included",
                    in->path, (unsigned long long)band->held, (unsigned long long)band->channels,
                    band->width_mhz, band->low_mhz, band->high_mhz);
    }
    if (series_is_shifted(in)) {
        report_note("the times of %s are those of %.9g MHz; what is written begins when a pulse "
                    "arrives at the highest channel, %.9g MHz, as PRESTO and SIGPROC have it",
                    in->path, band->reference_mhz, band->high_mhz);
    }
}

SCOPED_CALLS(choice_free, struct choice, series_destroy(at->in), free(at->dms), free(at->block),
             free(at->base))

status_t export_series(const struct export_series_options *options, struct text *said)
{
    SCOPED(choice_free) struct choice choice = {.options = options};
    TRY(series_open(options->product, &choice.in));
    TRY(export_name(options->base, options->product, "", &choice.base));
    TRY(series_choose_dms(&choice));
    TRY(series_choose_decimals(&choice));
    TRY(series_choose_samples(&choice));
    TRY(series_check_files(&choice));
    if (choice.in->missing.length > 0) {
        report_note("%s does not say: %s; written as 0, 1 or unknown", choice.in->path,
                    choice.in->missing.data);
    }
    series_say_band(&choice);
    for (uint64_t i = 0; i < choice.ndms; i++) {
        TRY(series_write(&choice, choice.dms[i], said));
    }
    return STATUS_OK;
}
