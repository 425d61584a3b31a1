/* The lines of a .inf file. */
#include "product/export/presto.h"

#include "base/display.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* PRESTO copies a value into 100 bytes. */
enum { MOST_LETTERS = 80 };

static status_t presto_put(struct text *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line ends where a value would end it; other control characters are written as C does. */
static status_t presto_put(struct text *out, const char *key, const char *format, ...)
{
    char value[MOST_LETTERS + 1];
    char shown[MOST_LETTERS + 1];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    value[strcspn(value, "\r\n")] = '\0';
    display_format(shown, sizeof shown, "%s", value);
    return text_add(out, " %-39s=  %s\n", key, shown);
}

static status_t presto_put_sixtieths(struct text *out, const char *key, double value)
{
    struct sixtieths parts = sixtieths_of(value, 1e4);
    return presto_put(out, key, "%s%02u:%02u:%07.4f", parts.is_negative ? "-" : "", parts.whole,
                      parts.minutes, parts.seconds);
}

static const char *presto_or_unknown(const char *text)
{
    return text && text[0] ? text : "Unknown";
}

static status_t presto_put_where(const struct series *series, uint64_t dm, struct text *out)
{
    status_t st = STATUS_OK;
    struct utc start = {0};
    char epoch[UNITS_TEXT];
    int is_known = series_start(series, dm, &start);
    const struct sigproc *header = &series->header;
    TRY(presto_put(out, "Telescope used", "%s", presto_or_unknown(series->telescope)));
    TRY(presto_put(out, "Instrument used", "Unknown"));
    TRY(presto_put(out, "Object being observed", "%s", presto_or_unknown(header->source)));
    TRY(presto_put_sixtieths(out, "J2000 Right Ascension (hh:mm:ss.ssss)", header->raj_hours));
    TRY(presto_put_sixtieths(out, "J2000 Declination     (dd:mm:ss.ssss)", header->dej_degrees));
    TRY(presto_put(out, "Data observed by", "Unknown"));
    TRY(presto_put(out, "Epoch of observation (MJD)", "%s",
                   is_known ? utc_mjd_text(start, epoch) : "0.000000000000000"));
    TRY(presto_put(out, "Barycentered?           (1 yes, 0 no)", "0"));
out:
    return st;
}

/* PRESTO takes low + (number - 1) * width for the highest channel, to which the epoch belongs. */
static status_t presto_put_band(const struct series *series, double dm, struct text *out)
{
    status_t st = STATUS_OK;
    const struct series_band *band = &series->band;
    REQUIRE(band->channels <= INT32_MAX, STATUS_USAGE,
            "%s: channels from %.9g to %.9g MHz, %.9g MHz wide, are more than a .inf counts",
            series->path, band->low_mhz, band->high_mhz, band->width_mhz);
    TRY(presto_put(out, "Type of observation (EM band)", "Radio"));
    TRY(presto_put(out, "Beam diameter (arcsec)", "3600"));
    TRY(presto_put(out, "Dispersion measure (cm-3 pc)", "%.12g", dm));
    TRY(presto_put(out, "Central freq of low channel (MHz)", "%.12g", band->low_mhz));
    TRY(presto_put(out, "Total bandwidth (MHz)", "%.12g",
                   (double)band->channels * band->width_mhz));
    TRY(presto_put(out, "Number of channels", "%llu", (unsigned long long)band->channels));
    TRY(presto_put(out, "Channel bandwidth (MHz)", "%.12g", band->width_mhz));
out:
    return st;
}

/* PRESTO takes lines of at most 99 letters, and 500 in all. */
static status_t presto_put_notes(const struct series *series, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add(out,
                 " Any additional notes:\n"
                 "    Exported by voltmill %s; the beam diameter is a guess.\n",
                 VOLTMILL_VERSION));
    if (series->missing.length > 0) {
        TRY(text_add(out, "    Not known (0, 1 or Unknown): %s.\n", series->missing.data));
    }
    if (!series->band.is_even) {
        TRY(text_add(out, "    Its %llu channels are not evenly spaced: gaps count as channels.\n",
                     (unsigned long long)series->band.held));
    }
    if (series_is_shifted(series)) {
        TRY(text_add(out,
                     "    Dedispersed to %.9g MHz; the epoch is that of the highest channel.\n",
                     series->band.reference_mhz));
    }
    TRY(text_add(out, "\n"));
out:
    return st;
}

status_t presto_inf(const struct series *series, const char *name, uint64_t dm, uint64_t samples,
                    struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add_shown(out, " %-39s=  %.*s\n", "Data file name without suffix", 2 * MOST_LETTERS,
                       name));
    TRY(presto_put_where(series, dm, out));
    TRY(presto_put(out, "Number of bins in the time series", "%-11llu",
                   (unsigned long long)samples));
    TRY(presto_put(out, "Width of each time series bin (sec)", "%.15g", series->header.tsamp));
    TRY(presto_put(out, "Any breaks in the data? (1 yes, 0 no)", "0"));
    TRY(presto_put_band(series, series->dm[dm], out));
    TRY(presto_put(out, "Data analyzed by", "Unknown"));
    TRY(presto_put_notes(series, out));
out:
    return st;
}
