/* PSRDADA: how samples are stored, rate and band; what headers say twice is compared. */
#include "input/format/dada.h"

#include "input/archive.h"
#include "input/format/recorder.h"
#include "input/format/said.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* PSRDADA: the text of a header. Its keys are in capitals, but some writers use lower case. The
 * first DADA_ONCE decide what samples mean. */

/* clang-format off */
static const char *const dada_keys[] = {
    "HDR_SIZE", "HDR_VERSION", "NBIT", "NDIM", "NPOL", "NCHAN", "TSAMP", "FREQ", "BW", "UTC_START",
    "MJD_START", "PICOSECONDS", "OBS_OFFSET", "OBS_OVERLAP", "FILE_SIZE", "STATE", "OS_FACTOR",
    "DSB", "ENCODING", "ENDIAN", "ORDER", "NANT", "INSTRUMENT", "UDP_NSAMP", "UPM_PKTPERITR",
    "NCHAN_RECORDED", "BINARY_FORMAT", "UTC_OFFSET_START_LEADING", "NBEAM", "FILE_NUMBER",
    "TRANSFER_SIZE", "TELESCOPE", "SOURCE", "BYTES_PER_SECOND", "RESOLUTION", "RA", "DEC"};
/* clang-format on */
enum { DADA_KEYS = sizeof dada_keys / sizeof *dada_keys, DADA_ONCE = 28 };

/* Returns the key that a line begins with in the wrong case; NULL: none. */
static const char *dada_key_of(const char *line, size_t length)
{
    for (size_t i = 0; i < DADA_KEYS; i++) {
        size_t size = strlen(dada_keys[i]);
        if (size < length && (line[size] == ' ' || line[size] == '\t') &&
            strncasecmp(line, dada_keys[i], size) == 0 && memcmp(line, dada_keys[i], size) != 0) {
            return dada_keys[i];
        }
    }
    return NULL;
}

status_t dada_head(const char *path, size_t most, struct text *out, char **assumed)
{
    SCOPED(text_free) struct text changed = {0};
    TRY(recorder_head(path, most, out));
    const struct ascii header = {path, 0, out->data, out->length, 0};
    const char *end = out->data + out->length;
    for (char *line = out->data; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *key = dada_key_of(line, (size_t)((newline ? newline : end) - line));
        if (key && !ascii_find(&header, key, NULL)) {
            TRY(text_add(&changed, "%s%.*s", changed.length > 0 ? ", " : "", (int)strlen(key),
                         line));
            memcpy(line, key, strlen(key));
        }
        line = newline ? newline + 1 : out->data + out->length;
    }
    return assume_if(changed.length > 0 && assumed, assumed,
                     "keys that PSRDADA has in capitals are in lower case, and read: %s",
                     changed.data);
}

static const double seconds_a_day = 86400;

/* A time in a header; `doubt`: what one of its last digits stands for, in seconds. */
struct dada_time {
    int is_there;
    struct utc time;
    double doubt;
    size_t digits; /* after the point */
    char text[ASCII_VALUE];
};

/* PSRDADA: when an observation began, which headers say in up to three words. */

int dada_find(const struct ascii *header, const char *key, char value[ASCII_VALUE])
{
    return ascii_find(header, key, value) && *value && strcasecmp(value, "unset") != 0 &&
           strcasecmp(value, "unknown") != 0;
}

static double dada_unit(size_t digits)
{
    return pow(10, -(double)digits);
}

/* "2013-07-02-01:37:40.5" */
static int dada_parse_utc(struct dada_time *out)
{
    char text[ASCII_VALUE];
    const char *point = strchr(out->text, '.');
    snprintf(text, sizeof text, "%s", out->text);
    if (strlen(text) > 10 && text[10] == '-') {
        text[10] = 'T';
    }
    out->digits = point ? strspn(point + 1, "0123456789") : 0;
    out->doubt = strchr(text, ':') ? dada_unit(out->digits) : seconds_a_day;
    return units_parse_utc(text, &out->time);
}

/* As text, since a double keeps no more than microseconds of a day in this century. Day 0 is none.
 */
static int dada_parse_mjd(struct dada_time *out)
{
    uint64_t day = 0;
    double fraction = 0;
    char whole[16];
    const char *text = out->text;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof whole) {
        return 0;
    }
    memcpy(whole, text, length);
    whole[length] = '\0';
    out->digits = text[length] == '.' ? strspn(text + length + 1, "0123456789") : 0;
    out->doubt = seconds_a_day * dada_unit(out->digits);
    if (!units_parse_u64(whole, &day) || day == 0 || day > 1000000 ||
        (text[length] != '\0' &&
         (text[length + 1 + out->digits] != '\0' || !units_parse_f64(text + length, &fraction)))) {
        return 0;
    }
    out->time = utc_add((struct utc){(int32_t)day, 0}, seconds_a_day * fraction);
    return 1;
}

/* PICOSECONDS are what UTC_START lacks after its whole second; where it has a fraction, they say
 * the same. */
static status_t dada_add_picoseconds(const struct ascii *header, struct dada_time *utc,
                                     int *is_exact)
{
    double picoseconds = 0;
    TRY(ascii_f64(header, "PICOSECONDS", 0, 1e12, &picoseconds, is_exact));
    if (!*is_exact || !utc->is_there) {
        return STATUS_OK;
    }
    double fraction = utc->time.second - floor(utc->time.second);
    REQUIRE(fraction == 0 || fabs(fraction - 1e-12 * picoseconds) <= utc->doubt, STATUS_DATA,
            "%s: UTC_START = %s has a fraction of a second, and PICOSECONDS = %.17g another: "
            "input.layout.start says when its first sample was taken",
            header->path, utc->text, picoseconds);
    utc->time.second = floor(utc->time.second);
    utc->time = utc_add(utc->time, 1e-12 * picoseconds);
    utc->doubt = 1e-12;
    return STATUS_OK;
}

/* Whether MJD_START says the time better: its digits do, and either are enough that it is no
 * rounded UTC_START, or show that this was cut. */
static int dada_takes_mjd(const struct dada_time *utc, const struct dada_time *mjd, double apart)
{
    enum { ENOUGH_DIGITS = 12 }; /* 86 ns */
    return !utc->is_there ||
           (mjd->doubt < utc->doubt && (mjd->digits >= ENOUGH_DIGITS || apart > mjd->doubt));
}

/* Says which of the two is missing, or none, where the other one is taken for it. */
static status_t dada_note_missing(const struct dada_time *utc, const struct dada_time *mjd,
                                  char **assumed)
{
    char said[ASCII_VALUE + UNITS_TEXT] = "UTC_START is not there";
    if (*utc->text) {
        snprintf(said, sizeof said, "UTC_START = %s is no date", utc->text);
    }
    return !utc->is_there && mjd->is_there
               ? assume(assumed, "%s: MJD_START = %s is used, which is good to %.3g s", said,
                        mjd->text, mjd->doubt)
           : !utc->is_there ? assume(assumed, "%s: the start is unknown", said)
           : utc->doubt > 1 && !mjd->is_there
               ? assume(assumed, "UTC_START = %s has no time of day: 00:00:00 is used", utc->text)
               : assume_if(*mjd->text && !mjd->is_there, assumed,
                           "MJD_START = %s is no Modified Julian Day: UTC_START is used",
                           mjd->text);
}

status_t dada_read_start(struct dada *dada)
{
    struct dada_time utc = {.is_there = 0};
    struct dada_time mjd = {.is_there = 0};
    double later = 0;
    int is_exact = 0;
    int is_later = 0;
    int has_utc = dada_find(&dada->header, "UTC_START", utc.text);
    utc.is_there = has_utc && dada_parse_utc(&utc);
    int has_mjd = dada_find(&dada->header, "MJD_START", mjd.text) &&
                  mjd.text[strspn(mjd.text, "0.")] != '\0'; /* day 0 is none */
    mjd.is_there = has_mjd && dada_parse_mjd(&mjd);
    if (dada->layout->time.has_start) {
        return STATUS_OK;
    }
    REQUIRE(!has_utc || utc.is_there || mjd.is_there, STATUS_DATA,
            "%s: UTC_START = %s, expected 2013-07-02-01:37:40 (input.layout.start sets it)",
            dada->path, utc.text);
    REQUIRE(!has_mjd || mjd.is_there || utc.is_there, STATUS_DATA,
            "%s: MJD_START = %s, expected a day such as 56475.0678 (input.layout.start sets it)",
            dada->path, mjd.text);
    TRY(dada_note_missing(&utc, &mjd, dada->assumed));
    struct utc whole = utc.time;
    TRY(dada_add_picoseconds(&dada->header, &utc, &is_exact));
    /* LuMP's first sample is that much behind the whole second that the other words say. */
    TRY(ascii_f64(&dada->header, "UTC_OFFSET_START_LEADING", -1e9, 1e9, &later, &is_later));
    double apart = 0;
    if (utc.is_there && mjd.is_there) {
        double limit = 1.001 * (is_exact ? mjd.doubt : mjd.doubt + utc.doubt) + 1e-6;
        apart = fabs(utc_difference(mjd.time, utc.time));
        /* Some writers make MJD_START of UTC_START alone. */
        double coarse = is_exact ? fabs(utc_difference(mjd.time, whole)) : apart;
        REQUIRE(apart <= limit || coarse <= limit, STATUS_DATA,
                "%s: UTC_START = %s and MJD_START = %s are %.6g s apart: input.layout.start says "
                "when its first sample was taken",
                dada->path, utc.text, mjd.text, apart);
        TRY(assume_unless(apart <= limit, dada->assumed,
                          "MJD_START = %s repeats the whole second of UTC_START = %s: "
                          "that and PICOSECONDS are used",
                          mjd.text, utc.text));
    }
    int is_mjd = mjd.is_there && !((is_exact || is_later) && utc.is_there) &&
                 dada_takes_mjd(&utc, &mjd, apart);
    dada->start = utc_add(is_mjd ? mjd.time : utc.time, later);
    dada->has_start = utc.is_there || mjd.is_there;
    return STATUS_OK;
}

enum { MOST_CHANNELS = 1 << 22 };

/* With the bytes of the header. */
#define DADA_OTHERS                                                                                \
    "input.layout {format: raw, skip: %" PRIu64 ", type: ci8, axes: \"time,chan:64,station:4\", "  \
    "...} describes other orders"

/* The order of axes, where ORDER says it: of those with more than one element time must be the
 * slowest. */
static status_t dada_read_order(struct dada *dada)
{
    char order[ASCII_VALUE] = "TFP";
    char left[4] = "";
    size_t count = 0;
    int has_order = ascii_find(&dada->header, "ORDER", order);
    REQUIRE(!has_order || ((dada->channels == 1 || strchr(order, 'F')) &&
                           (dada->pols == 1 || strchr(order, 'P')) && *order != 'S'),
            STATUS_DATA,
            "%s: ORDER = %s says nothing of %u channels and %u polarisations, or has samples of "
            "several streams one stream after the other",
            dada->path, order, dada->channels, dada->pols);
    for (const char *c = order; *c; c++) {
        int is_one = (*c == 'F' && dada->channels == 1) || (*c == 'P' && dada->pols == 1) ||
                     (*c == 'S') || (*c == 'D' && c[1] == '\0');
        REQUIRE(
            strchr("TFPSD", *c) && (is_one || count < 3), STATUS_DATA,
            "%s: ORDER = %s, expected T, F and P, in their order from the slowest; " DADA_OTHERS,
            dada->path, order, dada->header_bytes);
        if (!is_one) {
            left[count++] = *c;
        }
    }
    const int pols_first = strcmp(left, "TPF") == 0;
    dada->axes[0] = AXIS_TIME;
    dada->axes[1] = pols_first ? AXIS_POL : AXIS_CHAN;
    dada->axes[2] = pols_first ? AXIS_CHAN : AXIS_POL;
    return REQUIRED(
        pols_first || strcmp(left, "TFP") == 0 || strcmp(left, "TF") == 0 ||
            strcmp(left, "TP") == 0 || strcmp(left, "T") == 0,
        STATUS_DATA,
        "%s: ORDER = %s of %u channels and %u polarisations: time is not the slowest axis, and "
        "nothing says how many samples stand together; " DADA_OTHERS,
        dada->path, order, dada->channels, dada->pols, dada->header_bytes);
}

/* Facts about instruments that no other word of a header states (dspsr's unpackers). */
static const struct dada_instrument {
    const char *names[3];
    uint32_t bits, dims; /* 0: any */
    uint32_t steps;    /* of a heap; 0: UDP_NSAMP, or time is first: no heaps; 1: unknown; 2: pairs
                          that are not read */
    enum axis axes[3]; /* in a heap, the slowest first */
    int is_offset;     /* binary, without ENCODING */
} instruments[] = {{{"MKBF"}, 0, 0, 256, {AXIS_POL, AXIS_CHAN, AXIS_TIME}, 0},
                   {{"MeerKAT"}, 8, 2, 256, {AXIS_POL, AXIS_CHAN, AXIS_TIME}, 0},
                   {{"KPSR"}, 8, 2, 128, {AXIS_POL, AXIS_CHAN, AXIS_TIME}, 0},
                   {{"CASPSR"}, 8, 1, 4, {AXIS_POL, AXIS_CHAN, AXIS_TIME}, 0},
                   {{"UWB", "Medusa", "Apollo"}, 16, 2, 2048, {AXIS_CHAN, AXIS_POL, AXIS_TIME}, 1},
                   {{"LowCBF", "MidCBF"}, 0, 2, 0, {AXIS_CHAN, AXIS_POL, AXIS_TIME}, 0},
                   {{"LFAASP"}, 8, 2, 2048, {AXIS_CHAN, AXIS_TIME, AXIS_POL}, 0},
                   {{"Boreas", "BOREAS"}, 32, 2, 384, {AXIS_CHAN, AXIS_POL, AXIS_TIME}, 0},
                   {{"UWB", "Medusa", "Apollo"}, 32, 2, 1, {AXIS_TIME}, 0},
                   {{"Boreas", "BOREAS", "MKBFRo"}, 0, 2, 2, {AXIS_TIME}, 0},
                   {{"EDA"}, 4, 1, 0, {AXIS_TIME}, 1},
                   {{"APSR"}, 0, 2, 1, {AXIS_TIME}, 0}};

static const struct dada_instrument *dada_find_instrument(const struct dada *dada, const char *word)
{
    for (size_t i = 0; i < 3 * sizeof instruments / sizeof *instruments; i++) {
        const struct dada_instrument *one = &instruments[i / 3];
        if (one->names[i % 3] && strcmp(word, one->names[i % 3]) == 0 &&
            (one->bits == 0 || one->bits == dada->bits) &&
            (one->dims == 0 || one->dims == 1 + (uint32_t)dada->is_complex)) {
            return one;
        }
    }
    return NULL;
}

/* LOFAR's udpPacketManager names itself CASPSR, for dspsr's sake, and says in words of its own how
 * samples are stored. It reverses channels, but not what is in them. */
static status_t dada_read_upm(struct dada *dada)
{
    enum { PACKET = 16 /* time steps */ };
    char key[] = "UPM_OUTPFMT0"; /* of the first file of an observation; up to 3 */
    char *digit = &key[sizeof key - 2];
    char word[ASCII_VALUE] = "";
    char blocks[UNITS_TEXT] = "";
    uint64_t packets = 1;
    while (*digit < '4' && !ascii_find(&dada->header, key, word)) {
        ++*digit;
    }
    dada->is_upper = *digit < '4';
    REQUIRE(!strstr(word, "HDR"), STATUS_DATA,
            "%s: %s = %s: packets have headers between their samples: another mode of "
            "udpPacketManager, such as 10, takes them out",
            dada->path, key, word);
    int is_blocks = strstr(word, "TIME") != NULL;
    TRY(is_blocks ? ascii_u64(&dada->header, "UPM_PKTPERITR", 1, 1 << 30, &packets, NULL)
                  : STATUS_OK);
    if (is_blocks || strstr(word, "PKT")) {
        dada->heap = PACKET * packets;
        memcpy(dada->axes, (enum axis[]){AXIS_CHAN, AXIS_TIME, AXIS_POL}, sizeof dada->axes);
        snprintf(blocks, sizeof blocks, ",time:%" PRIu64, dada->heap);
    }
    return REQUIRED(
        (*word != 'X' && *word != 'Y') || word[2] != '-', STATUS_DATA,
        "%s: %s = %s: it contains real or imaginary parts alone: input.layout {format: raw, skip: "
        "%" PRIu64 ", type: %c%u, axes: \"time,chan:%u%s\", files_along: \"pol,reim\", ...} reads "
        "the four files together",
        dada->path, key, word, dada->header_bytes, dada->bits == 32 ? 'f' : 'i', dada->bits,
        dada->channels, blocks);
}

/* ORDER takes precedence (not over MKBF), unless time is last in it: that says less than the
 * instrument, since no recorder writes one stream after the other. */
static status_t dada_read_heap(struct dada *dada)
{
    char word[ASCII_VALUE] = "";
    char order[ASCII_VALUE] = "T";
    ascii_find(&dada->header, "INSTRUMENT", word);
    ascii_find(&dada->header, "ORDER", order);
    const struct dada_instrument *one = dada_find_instrument(dada, word);
    int is_last = *order && order[strlen(order) - 1] == 'T';
    if (one && one->is_offset && !dada_find(&dada->header, "ENCODING", order)) {
        dada->is_offset = 1;
    }
    int is_plain = one && one->steps == 0 && one->axes[0] == AXIS_TIME;
    if (!one || is_plain || dada->channels * dada->pols == 1 || (!is_last && one != instruments) ||
        dada->is_upper) {
        return STATUS_OK;
    }
    REQUIRE(one->steps != 2, STATUS_DATA,
            "%s: INSTRUMENT = %s without ORDER: pairs of its samples or channels are interleaved, "
            "which is not read",
            dada->path, word);
    REQUIRE(one->steps != 1, STATUS_DATA,
            "%s: INSTRUMENT = %s without ORDER: its samples are in blocks of a length that "
            "the header does not state: input.layout {format: raw, skip: %" PRIu64
            ", axes: \"time,pol:%u,time:2048\", ...} describes blocks of 2048 of each polarisation",
            dada->path, word, dada->header_bytes, dada->pols);
    memcpy(dada->axes, one->axes, sizeof dada->axes);
    dada->heap = one->steps;
    if (one->steps > 0) {
        return STATUS_OK;
    }
    TRY(ascii_u64(&dada->header, "UDP_NSAMP", 1, 1 << 20, &dada->heap, NULL));
    return assume(dada->assumed,
                  "INSTRUMENT = %s: the scales of packets, and which were lost, are "
                  "in the file of their weights: they are not used",
                  word);
}

/* Whether there is such a word, which must then be one of the two that are known, unless `is_idle`:
 * nothing rests on it. */
static status_t dada_read_choice(const struct ascii *header, const char *key, const char *first,
                                 const char *second, int is_idle, int *found)
{
    char word[ASCII_VALUE];
    *found = dada_find(header, key, word);
    return REQUIRED(!*found || is_idle || strncmp(word, first, strlen(first)) == 0 ||
                        strncmp(word, second, strlen(second)) == 0,
                    STATUS_DATA, "%s: %s = %s, expected %s or %s", header->path, key, word, first,
                    second);
}

/* Notes words that most headers lack, and that are read as most writers mean them. */
static status_t dada_note_usual(const struct dada *dada)
{
    const struct ascii *header = &dada->header;
    char **assumed = dada->assumed;
    char word[ASCII_VALUE];
    int has_order = dada->heap > 0 || dada->is_upper || dada->channels == 1 || dada->pols == 1 ||
                    ascii_find(header, "ORDER", word);
    int is_fixed = dada->bits <= 2 || dada->bits == 32;
    int has_encoding = 0;
    int has_endian = 0;
    TRY(dada_read_choice(header, "ENCODING", "TWOSCOMPLEMENT", "OFFSET",
                         is_fixed || dada->layout->numbers.has_packing, &has_encoding));
    TRY(dada_read_choice(header, "ENDIAN", "LITTLE", "BIG", dada->bits <= 8, &has_endian));
    TRY(assume_if(dada->bits == 32 && has_encoding && ascii_find(header, "ENCODING", word) &&
                      (strncmp(word, "TWOS", 4) == 0 || strncmp(word, "OFFSET", 6) == 0),
                  assumed,
                  "ENCODING = %s is that of integers, but NBIT is 32: numbers are floating point",
                  word));
    has_encoding = has_encoding || is_fixed || dada->layout->numbers.has_packing ||
                   ascii_find(header, "BINARY_FORMAT", word);
    has_endian = has_endian || dada->bits <= 8;
    TRY(assume_unless(has_order, assumed, "ORDER is not there: [time][channel][pol]"));
    TRY(assume_unless(has_encoding, assumed, "ENCODING is not there: numbers are %s",
                      dada->is_offset ? "offset binary, as its INSTRUMENT writes them"
                                      : "two's complement"));
    TRY(assume_if(dada_find(header, "DAT_SCL_0_0", word), assumed,
                  "DAT_SCL_0_0 = %s and further scales and offsets of the header are not applied",
                  word));
    return assume_unless(has_endian, assumed, "ENDIAN is not there: numbers are little-endian");
}

/* NBIT. -32 is floating point to dspsr (its digitisers) and to SKA's PST (PyDADA), as 32 is here.
 */
static status_t dada_read_bits(struct dada *dada)
{
    enum { FLOAT = 32 };
    double bits = 0;
    TRY(ascii_f64(&dada->header, "NBIT", -FLOAT, FLOAT, &bits, NULL));
    int is_float = bits == -FLOAT;
    dada->bits = is_float ? FLOAT : bits > 0 ? (uint32_t)bits : 0;
    REQUIRE(is_float ||
                (dada->bits == bits && dada->bits > 0 && (dada->bits & (dada->bits - 1)) == 0),
            STATUS_DATA, "%s: NBIT = %.9g, expected 1, 2, 4, 8, 16 or 32 (or -32: floating point)",
            dada->path, bits);
    return assume_if(is_float, dada->assumed,
                     "NBIT = -32: 32-bit floating point, as dspsr writes it");
}

/* LuMP, of LOFAR's stations, counts the subbands from the lowest to the highest that it wrote, and
 * has two words of its own. */
static status_t dada_read_lump(struct dada *dada)
{
    const struct ascii *header = &dada->header;
    char word[ASCII_VALUE] = "";
    uint64_t written = dada->channels;
    TRY(ascii_u64(header, "NCHAN_RECORDED", 1, MOST_CHANNELS, &written, ASCII_MAYBE));
    REQUIRE(written == dada->channels || override_has_frequencies(dada->layout), STATUS_DATA,
            "%s: it contains %" PRIu64 " subbands (NCHAN_RECORDED) of NCHAN = %u: "
            "input.layout.freq_hz says their frequencies",
            dada->path, written, dada->channels);
    dada->channels = (uint32_t)written;
    int is_float = ascii_find(header, "BINARY_FORMAT", word) && strcmp(word, "IEEE_FLOAT") == 0;
    return REQUIRED((!is_float && strcmp(word, "INTEGER_BIN_FORM") != 0) ||
                        is_float == (dada->bits == 32),
                    STATUS_DATA,
                    "%s: BINARY_FORMAT = %s of %u bits, expected IEEE_FLOAT of 32 bits, or "
                    "INTEGER_BIN_FORM of fewer",
                    dada->path, word, dada->bits);
}

static status_t dada_read_streams(struct dada *dada)
{
    const struct ascii *header = &dada->header;
    char word[ASCII_VALUE] = "";
    uint64_t pols = 1;
    uint64_t channels = 1;
    uint64_t dims = 1;
    int has_channels = 0;
    int has_dims = 0;
    TRY(dada_read_bits(dada));
    TRY(ascii_u64(header, "NDIM", 1, 2, &dims, &has_dims));
    TRY(ascii_u64(header, "NPOL", 1, 1 << 16, &pols, NULL));
    TRY(ascii_u64(header, "NCHAN", 1, MOST_CHANNELS, &channels, &has_channels));
    /* As dspsr does (its ASCIIObservation); rate and band are compared with both. */
    TRY(assume_unless(has_channels, dada->assumed, "NCHAN is not there: 1 is used"));
    TRY(assume_unless(has_dims, dada->assumed, "NDIM is not there: 1 is used, real samples"));
    dada->is_complex = dims == 2;
    dada->pols = (uint32_t)pols;
    dada->channels = (uint32_t)channels;
    TRY(dada_read_lump(dada));
    dada->step_bits = dada->bits * dims * pols * dada->channels;
    dada->is_offset = ascii_find(header, "ENCODING", word) && strstr(word, "OFFSET") != NULL;
    dada->big_endian = ascii_find(header, "ENDIAN", word) && strncmp(word, "BIG", 3) == 0;
    TRY(dada_read_upm(dada));
    TRY(dada_read_heap(dada));
    return dada->heap > 0 ? STATUS_OK : dada_read_order(dada);
}

/* Files that are not of voltages. STATE as dspsr writes it (its Signal::State): Nyquist are real,
 * Analytic complex voltages, all others powers. Rate and band, which are compared with NDIM, bear
 * out one of the two. */
static status_t dada_read_state(const struct dada *dada)
{
    static const char *const others[][2] = {
        {"PACKET_WEIGHTS_SIZE", "the weights of packets"},     /* SKA's PST */
        {"BYTES_PER_AVG", "correlations of several stations"}, /* LEDA */
    };
    char state[ASCII_VALUE];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        REQUIRE(!ascii_find(&dada->header, others[i][0], state), STATUS_DATA,
                "%s: %s = %s: it contains %s, no voltages", dada->path, others[i][0], state,
                others[i][1]);
    }
    if (!dada_find(&dada->header, "STATE", state)) {
        return STATUS_OK;
    }
    int is_complex = strcasecmp(state, "Analytic") == 0;
    REQUIRE(is_complex || strcasecmp(state, "Nyquist") == 0, STATUS_DATA,
            "%s: STATE = %s: it contains detected powers, no voltages, expected STATE Nyquist or "
            "Analytic",
            dada->path, state);
    return assume_unless(
        is_complex == dada->is_complex, dada->assumed,
        "STATE = %s and NDIM = %d differ: NDIM is used, which TSAMP and BW agree with", state,
        dada->is_complex ? 2 : 1);
}

/* "32/27", "32:27", "1", "1.185185" */
static int dada_parse_ratio(const char *text, struct ratio *out)
{
    double n = 0;
    double d = 1;
    char whole[ASCII_VALUE];
    size_t length = strcspn(text, "/:");
    snprintf(whole, sizeof whole, "%.*s", (int)length, text);
    return units_parse_f64(whole, &n) &&
           (text[length] == '\0' || units_parse_f64(text + length + 1, &d)) && d > 0 && n >= d &&
           spacing_ratio(n / d, text[length] ? 1e-9 : 1e-4, out);
}

/* Returns the relative error of a number that was rounded to the digits after its point. */
static double dada_rounding(const struct ascii *header, const char *key, double value)
{
    char text[ASCII_VALUE] = "";
    ascii_find(header, key, text);
    const char *point = strchr(text, '.');
    size_t digits = point ? strspn(point + 1, "0123456789") : 0;
    return digits > 0 ? 0.5 * pow(10, -(double)digits) / fabs(value) : 0;
}

/* Samples a second of a channel for each Hz of it: 1 if complex, 2 if real, times the
 * ratio by which channels overlap. */
static status_t dada_check_rate(const struct dada *dada)
{
    static const double least_tolerance = 1e-3, most_tolerance = 1e-2;
    char remedy[SPACING_WORDS];
    double ratio = dada->channels / (dada->seconds * fabs(dada->width_hz));
    double expected = dada->is_complex ? 1 : 2;
    double factor = (double)dada->oversample.num / dada->oversample.den;
    double tolerance = dada_rounding(&dada->header, "TSAMP", 1e6 * dada->seconds) +
                       dada_rounding(&dada->header, "BW", 1e-6 * dada->width_hz);
    tolerance = fmin(fmax(tolerance, least_tolerance), most_tolerance);
    if (override_has_spacing(dada->layout)) {
        return STATUS_OK;
    }
    if (fabs(ratio / (expected * factor) - 1) <= tolerance) {
        return recorder_note_rate("TSAMP", "BW / NCHAN", ratio / (expected * factor),
                                  dada->assumed);
    }
    spacing_remedy(dada->is_complex, ratio, remedy);
    if (ratio < expected) {
        snprintf(remedy, sizeof remedy,
                 "detected powers are no voltages; input.layout.sample_rate_hz or freq_hz corrects "
                 "a wrong header");
    }
    return report_fail(
        STATUS_DATA,
        "%s: TSAMP = %.12g us, NCHAN = %u and BW = %.12g MHz give %.6g samples a second for each "
        "Hz of the band, expected %.6g (NDIM = %d, %s %u/%u): %s",
        dada->path, 1e6 * dada->seconds, dada->channels, dada->width_hz / 1e6, ratio,
        expected * factor, dada->is_complex ? 2 : 1,
        dada->layout->has_oversampling ? "oversampling" : "OS_FACTOR", dada->oversample.num,
        dada->oversample.den, remedy);
}

/* FREQ is the band's centre, BW below 0 when frequency falls. DSB 0: one sideband, above the
 * frequency that became 0 Hz (dspsr's Observation::get_dual_sideband). */
static status_t dada_read_band(struct dada *dada)
{
    const struct ascii *header = &dada->header;
    const struct job_layout *layout = dada->layout;
    char text[ASCII_VALUE];
    int has_rate = override_has_rate(layout);
    double microseconds = 1e6 * (layout->time.has_sample_rate ? 1 / layout->time.sample_rate_hz
                                                              : layout->time.sample_period_s);
    double mhz = 0;
    double width = 0;
    int has_band = override_has_frequencies(layout);
    int found = 1;
    uint64_t sidebands = 1;
    TRY(ascii_f64(header, "TSAMP", 1e-9, 1e12, &microseconds, has_rate ? ASCII_MAYBE : NULL));
    TRY(ascii_f64(header, "FREQ", -1e15, 1e15, &mhz, has_band ? ASCII_MAYBE : NULL));
    TRY(ascii_f64(header, "BW", -1e15, 1e15, &width, has_band ? &found : NULL));
    width = found ? width : dada->channels / microseconds / (dada->is_complex ? 1 : 2);
    REQUIRE(width < 0 || width > 0, STATUS_DATA, "%s: BW = 0 MHz, expected the width of the band",
            dada->path);
    dada->seconds = microseconds / 1e6;
    dada->centre_hz = 1e6 * mhz;
    dada->width_hz = 1e6 * width;
    dada->oversample = override_ratio(layout);
    if (!layout->has_oversampling && dada_find(header, "OS_FACTOR", text)) {
        REQUIRE(dada_parse_ratio(text, &dada->oversample), STATUS_DATA,
                "%s: OS_FACTOR = %s, expected a ratio of at least 1, such as 32/27", dada->path,
                text);
        REQUIRE(dada->is_complex || dada->oversample.num == dada->oversample.den, STATUS_DATA,
                "%s: OS_FACTOR = %s and NDIM = 1: real samples cannot be oversampled channels",
                dada->path, text);
    }
    if (dada_find(header, "DSB", text)) {
        TRY(ascii_u64(header, "DSB", 0, 1, &sidebands, ASCII_MAYBE));
    }
    dada->is_dc_at_edge = dada->is_complex && sidebands == 0;
    TRY(dada_check_rate(dada));
    return has_band ? STATUS_OK
                    : recorder_check_band(dada->path, "FREQ", dada->centre_hz, "BW", dada->width_hz,
                                          dada->assumed);
}

/* Fails where samples are of several antennas or beams: ORDER has streams (MOPSR's S), or
 * BYTES_PER_SECOND is that multiple. Else they may be those that a beam was made of. */
static status_t dada_check_several(const struct dada *dada, double times)
{
    static const char *const several[] = {"NANT", "NANTS", "NSTATION", "NBEAM"};
    char word[ASCII_VALUE];
    char order[ASCII_VALUE] = "";
    ascii_find(&dada->header, "ORDER", order);
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        const double count = ascii_find(&dada->header, several[i], word) ? strtod(word, NULL) : 0;
        REQUIRE(!(count > 1) || (!strchr(order, 'S') && !(fabs(times / count - 1) <= 1e-3)),
                STATUS_DATA, "%s: %s = %s, whose samples stand side by side (%s): " DADA_OTHERS,
                dada->path, several[i], word, strchr(order, 'S') ? order : "BYTES_PER_SECOND",
                dada->header_bytes);
        TRY(assume_if(count > 1, dada->assumed,
                      "%s = %s, but samples are read as those of one stream", several[i], word));
    }
    return STATUS_OK;
}

static status_t dada_compare_bytes(const struct dada *dada)
{
    char text[ASCII_VALUE] = "";
    double said = 0;
    double second = (double)dada->step_bits / 8 / dada->seconds;
    uint64_t resolution = 0;
    int is_said =
        dada_find(&dada->header, "BYTES_PER_SECOND", text) && units_parse_f64(text, &said);
    TRY(dada_check_several(dada, said / second));
    TRY(assume_if(is_said && !(fabs(said / second - 1) <= 1e-3), dada->assumed,
                  "BYTES_PER_SECOND = %s and %.12g by TSAMP, NBIT, NDIM, NPOL and NCHAN differ: "
                  "BYTES_PER_SECOND is ignored",
                  text, second));
    /* 1 is what most writers leave there. */
    is_said = dada_find(&dada->header, "RESOLUTION", text) && units_parse_u64(text, &resolution) &&
              resolution != 1;
    return assume_if(is_said && (resolution == 0 || 8 * resolution % dada->step_bits != 0),
                     dada->assumed,
                     "RESOLUTION = %s bytes and time steps of %" PRIu64
                     " bits by NBIT, NDIM, NPOL and NCHAN differ: RESOLUTION is ignored",
                     text, dada->step_bits);
}

status_t dada_read_words(struct dada *dada)
{
    TRY(ascii_once(&dada->header, dada_keys, DADA_ONCE));
    TRY(dada_read_streams(dada));
    TRY(dada_read_state(dada));
    TRY(dada_read_band(dada));
    TRY(dada_note_usual(dada));
    return dada_compare_bytes(dada);
}
