/* SIGPROC headers as bytes, and the numbers that telescopes have in them. */
#include "product/kind/sigproc_head.h"

#include <ctype.h>
#include <math.h>

struct sigproc sigproc_of(const struct fbh5 *in)
{
    int32_t known =
        in->head.telescope_id != 0 ? in->head.telescope_id : sigproc_telescope(in->sky.telescope);
    return (struct sigproc){.data_type = SIGPROC_FILTERBANK,
                            .machine_id = in->head.machine_id,
                            .telescope_id = known,
                            .nbeams = in->head.nbeams,
                            .ibeam = in->head.ibeam,
                            .nchans = in->nchannels,
                            .nifs = in->nifs,
                            .nbits = 8 * (uint64_t)in->sample_bytes,
                            .fch1 = in->fch1_mhz,
                            .foff = in->foff_mhz,
                            .tstart = in->time.tstart_mjd,
                            .tsamp = in->time.step,
                            .raj_hours = in->head.raj_hours,
                            .dej_degrees = in->head.dej_degrees,
                            .az_start = in->head.az_start,
                            .za_start = in->head.za_start,
                            .source = in->sky.source,
                            .rawdatafile = in->head.rawdatafile};
}

int sigproc_reverse(struct sigproc *header)
{
    if (header->foff <= 0 || header->nchans == 0) {
        return 0;
    }
    header->fch1 += (double)(header->nchans - 1) * header->foff;
    header->foff = -header->foff;
    return 1;
}

struct sixtieths sixtieths_of(double value, double turn, double parts)
{
    double rest = fmod(rint(fabs(value) * 3600 * parts), turn * 3600 * parts);
    double minute = 60 * parts;
    double minutes = floor(rest / minute);
    struct sixtieths out = {.is_negative = value < 0 && rest > 0,
                            .whole = (unsigned)(minutes / 60),
                            .minutes = (unsigned)fmod(minutes, 60),
                            .seconds = (rest - minutes * minute) / parts};
    return out;
}

/* Packs hours or degrees as SIGPROC does: 12.5 becomes 123000.0. */
static double sigproc_packed(double value, double turn)
{
    struct sixtieths parts = sixtieths_of(value, turn, 1e6);
    double number = parts.whole * 1e4 + parts.minutes * 1e2 + parts.seconds;
    return parts.is_negative ? -number : number;
}

static void sigproc_put_letters(struct text *out, const char *letters)
{
    int32_t length = (int32_t)strnlen(letters, SIGPROC_LETTERS);
    text_add_bytes(out, (const char *)&length, sizeof length);
    text_add_bytes(out, letters, (size_t)length);
}

static void sigproc_put_text(struct text *out, const char *name, const char *value)
{
    sigproc_put_letters(out, name);
    sigproc_put_letters(out, value && value[0] ? value : "unknown");
}

/* Numbers are in the machine's byte order. */
static void sigproc_put_int(struct text *out, const char *name, int32_t value)
{
    sigproc_put_letters(out, name);
    text_add_bytes(out, (const char *)&value, sizeof value);
}

static void sigproc_put_double(struct text *out, const char *name, double value)
{
    sigproc_put_letters(out, name);
    text_add_bytes(out, (const char *)&value, sizeof value);
}

static status_t sigproc_put_count(struct text *out, const char *name, uint64_t value)
{
    REQUIRE(value <= INT32_MAX, STATUS_USAGE, "%s = %llu does not fit a header of SIGPROC", name,
            (unsigned long long)value);
    sigproc_put_int(out, name, (int32_t)value);
    return STATUS_OK;
}

status_t sigproc_write(const struct sigproc *header, struct text *out)
{
    sigproc_put_letters(out, "HEADER_START");
    sigproc_put_text(out, "rawdatafile", header->rawdatafile);
    sigproc_put_text(out, "source_name", header->source);
    sigproc_put_int(out, "machine_id", header->machine_id);
    sigproc_put_int(out, "telescope_id", header->telescope_id);
    sigproc_put_double(out, "src_raj", sigproc_packed(header->raj_hours, 24));
    sigproc_put_double(out, "src_dej", sigproc_packed(header->dej_degrees, 360));
    sigproc_put_double(out, "az_start", header->az_start);
    sigproc_put_double(out, "za_start", header->za_start);
    sigproc_put_int(out, "data_type", header->data_type);
    if (header->data_type == SIGPROC_SERIES) {
        sigproc_put_double(out, "refdm", header->refdm);
    }
    sigproc_put_double(out, "fch1", header->fch1);
    sigproc_put_double(out, "foff", header->foff);
    TRY(sigproc_put_count(out, "nchans", header->nchans));
    TRY(sigproc_put_count(out, "nbits", header->nbits));
    sigproc_put_double(out, "tstart", header->tstart);
    sigproc_put_double(out, "tsamp", header->tsamp);
    TRY(sigproc_put_count(out, "nifs", header->nifs));
    sigproc_put_int(out, "nbeams", header->nbeams);
    sigproc_put_int(out, "ibeam", header->ibeam);
    sigproc_put_letters(out, "HEADER_END");
    return out->status;
}

/* Whether two names are one, whatever their case, blanks and hyphens. */
static int sigproc_is_same_name(const char *a, const char *b)
{
    static const char between[] = " -_";
    for (;;) {
        a += strspn(a, between);
        b += strspn(b, between);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
            return 0;
        }
        if (*a == '\0') {
            return 1;
        }
        a++;
        b++;
    }
}

int32_t sigproc_telescope(const char *name)
{
    /* As SIGPROC's, blimpy's and PRESTO's tables have them, each by the names in use. */
    enum { NAMES = 4 };
    static const struct {
        int32_t id;
        const char *names[NAMES];
    } known[] = {
        {1, {"Arecibo", "AO"}},
        {2, {"Ooty", "ORT"}},
        {3, {"Nancay", "Nan\303\247ay", "NRT"}},
        {4, {"Parkes", "PKS", "Murriyang"}},
        {5, {"Jodrell", "Jodrell Bank", "Lovell"}},
        {6, {"GBT", "Green Bank", "Green Bank Telescope"}},
        {7, {"GMRT", "uGMRT"}},
        {8, {"Effelsberg"}},
        {9, {"ATA", "Allen Telescope Array"}},
        {10, {"SRT", "Sardinia Radio Telescope"}},
        {11, {"LOFAR"}},
        {12, {"VLA", "JVLA", "EVLA"}},
        {20, {"CHIME"}},
        {21, {"FAST"}},
        {30, {"MWA"}},
        {64, {"MeerKAT"}},
        {65, {"KAT-7"}},
    };
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++) {
        for (int j = 0; j < NAMES && known[i].names[j]; j++) {
            if (sigproc_is_same_name(name, known[i].names[j])) {
                return known[i].id;
            }
        }
    }
    return 0;
}
