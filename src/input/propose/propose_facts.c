/* Tables of words; values of known names: numbers, texts with and without units, in attributes and
 * datasets. */
#include "base/display.h"
#include "base/memory.h"
#include "input/propose/propose_parts.h"
#include "io/hdf5/h5_dataset.h"
#include "job/job.h"
#include "job/yaml/tree.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words of a meaning, in the order in which facts count: lower case, letters and digits only. */
static const struct {
    enum propose_meaning means;
    enum job_unit unit; /* that the words imply; NONE: none */
    int is_weak;        /* they count only where no other word of this meaning was found */
    const char *words;
} meant[] = {
    {MEANS_RATE, UNIT_NONE, 0,
     "samplerate samprate samplingrate samplingfrequency samplingfreq samplefrequency "
     "samplefreq sampfreq rxrate"},
    {MEANS_RATE, UNIT_HZ, 0, "samplespersecond"},
    {MEANS_RATE, UNIT_NONE, 0, "srate fsamp fsample fs"},
    {MEANS_RATE, UNIT_NONE, 1, "rate"},
    {MEANS_PERIOD, UNIT_NONE, 0,
     "sampleperiod sampperiod samplingperiod sampleinterval samplinginterval sampletime "
     "samplingtime samptime timepersample tsamp tsample tbin deltatime deltat timestep "
     "timedelta timeresolution tres dt"},
    {MEANS_BAND, UNIT_NONE, 0, "bandwidth totalbandwidth obsbw bw"},
    {MEANS_WIDTH, UNIT_NONE, 0,
     "channelbandwidth chanbandwidth channelwidth chanwidth chanbw subbandwidth "
     "subbandbandwidth channelspacing"},
    {MEANS_STEP, UNIT_NONE, 0,
     "foff freqstep frequencystep freqinc frequencyincrement deltafreq deltafrequency deltaf "
     "df"},
    {MEANS_CENTRE, UNIT_NONE, 0,
     "centerfrequency centrefrequency centerfrequencies centrefrequencies centerfreq "
     "centrefreq centerfreqs centrefreqs freqcenter freqcentre frequencycenter "
     "frequencycentre cfreq freqc fcent fcenter fcentre fctr rxfreq obsfreq skyfreq "
     "skyfrequency rffreq rffrequency tuningfreq tuningfrequency chanfreq chanfreqs "
     "channelfreq channelfreqs channelfrequency channelfrequencies subbandfreq subbandfreqs "
     "coarsefreq freqs frequencies frequency freq fc rfcenter rfcentre"},
    {MEANS_CENTRE, UNIT_NONE, 1, "center centre"},
    {MEANS_FIRST, UNIT_NONE, 0, "fch1 firstchannelfreq firstchannelfrequency"},
    {MEANS_START, UNIT_NONE, 0,
     "utcstart startutc starttimeutc starttime timestart obsstart obsstarttime "
     "observationstart observationstarttime observationstartutc exptimestart exptimestartutc "
     "rxtime"},
    {MEANS_START, UNIT_UNIX, 0, "startunix unixstart unixtime"},
    {MEANS_START, UNIT_NONE, 0, "startepoch"},
    {MEANS_START, UNIT_MJD, 0, "startmjd mjdstart mjd"},
    {MEANS_START, UNIT_NONE, 0, "tstart tsstart firstsampletime startdate startdatetime start"},
    {MEANS_START, UNIT_UNIX, 0, "time0ctime ctime"},
    {MEANS_START, UNIT_NONE, 0,
     "time0 t0 utc dateobs obsdate obsutc recordingstart recstart capturestart firstsampleutc"},
    {MEANS_START, UNIT_MJD, 0, "firstsamplemjd"},
    {MEANS_START, UNIT_UNIX, 0, "firstsampleunix unixtimestamp"},
    {MEANS_START, UNIT_NONE, 1, "timestamp datetime date"},
    {MEANS_DAY, UNIT_NONE, 0, "sttimjd imjd startmjdday mjdday"},
    {MEANS_SECOND, UNIT_NONE, 0, "sttsmjd smjd startsecond secondofday"},
    {MEANS_FRACTION, UNIT_NONE, 0, "sttoffs offs"},
    {MEANS_CHANS, UNIT_NONE, 0,
     "nchan nchans nchannel nchannels numchan numchans numchannels nfreq nfreqs obsnchan "
     "nsubband nsubbands"},
    {MEANS_POLS, UNIT_NONE, 0, "npol npols numpol numpols"},
    {MEANS_STATIONS, UNIT_NONE, 0,
     "nant nants nantenna nantennas nstation nstations ninput ninputs ndish numantennas"},
    {MEANS_BEAMS, UNIT_NONE, 0, "nbeam nbeams"},
    {MEANS_TIMES, UNIT_NONE, 0, "ntime ntimes nsamp nsamps nsample nsamples numsamples"},
    {MEANS_SIDEBAND, UNIT_NONE, 0, "sideband"},
    {MEANS_TELESCOPE, UNIT_NONE, 0, "telescope telescop telescopename observatory"},
    {MEANS_SOURCE, UNIT_NONE, 0, "source sourcename srcname object target targetname"},
    {MEANS_DIMS, UNIT_NONE, 0,
     "dimensionlabels dims dimensions dimname dimnames dimensionnames arraydimensions axis "
     "axes axisnames axesnames axisorder axesorder"},
    {MEANS_DIMS, UNIT_NONE, 1, "labels order"},
    {MEANS_ASIDE, UNIT_NONE, 0, "weight weights flag flags mask time times timestamps"}};
enum { MEANT = sizeof meant / sizeof *meant };

/* Units as people write them, without blanks and in lower case. */
static const struct {
    enum job_unit unit;
    const char *endings; /* may stand at the end of a name */
    const char *others;
} units[] = {{UNIT_HZ, "hz hertz sps", "s/s sa/s samples/s 1/s s-1 s^-1"},
             {UNIT_KHZ, "khz ksps", "ks/s ksa/s"},
             {UNIT_MHZ, "mhz msps", "ms/s msa/s"},
             {UNIT_GHZ, "ghz gsps", "gs/s gsa/s"},
             {UNIT_S, "s sec secs second seconds", ""},
             {UNIT_MS, "ms msec milliseconds", ""},
             {UNIT_US, "us usec microseconds", "\xc2\xb5s \xce\xbcs"},
             {UNIT_NS, "ns nsec nanoseconds", ""},
             {UNIT_MJD, "mjd", ""},
             {UNIT_UNIX, "unix unixtime", "unixseconds"},
             {UNIT_NONE, "utc iso", ""}};
enum { UNITS_KNOWN = sizeof units / sizeof *units };

/* Beginnings of such texts; blanks are left out of them, too. */
static const struct {
    const char *begins;
    enum job_unit unit;
} epochs[] = {{"secondssince1970-01-01", UNIT_UNIX},
              {"ssince1970-01-01", UNIT_UNIX},
              {"dayssince1858-11-17", UNIT_MJD}};

void propose_plain(const char *name, char out[PROPOSE_NAME])
{
    size_t length = 0;
    for (; *name && length < PROPOSE_NAME - 1; name++) {
        if (isalnum((unsigned char)*name)) {
            out[length++] = (char)tolower((unsigned char)*name);
        }
    }
    out[length] = '\0';
}

const char *propose_power_word(const char *name, int is_real)
{
    static const char *const powers[] = {
        "visdata",   "visibilit", "correlat", "stokes", "power",       "intensity",  "wfall",
        "waterfall", "dynspec",   "freqtime", "dmtime", "spectrogram", "dynamicspec"};
    enum { CROSS = 3 /* the first are those of two stations, which may be complex */ };
    const size_t count = is_real ? sizeof powers / sizeof *powers : CROSS;
    char plain[PROPOSE_NAME];
    propose_plain(name, plain);
    for (size_t i = 0; i < count; i++) {
        if (strstr(plain, powers[i])) {
            return powers[i];
        }
    }
    static const char *const whole[] = {"vis", "xx", "yy", "rr", "ll"};
    for (size_t i = 0; i < (is_real ? sizeof whole / sizeof *whole : 1); i++) {
        if (strcmp(plain, whole[i]) == 0) {
            return whole[i];
        }
    }
    return NULL;
}

/* Returns whether values of a meaning can have a unit. */
static int propose_may_have(enum propose_meaning means, enum job_unit unit)
{
    switch (means) {
    case MEANS_RATE:
    case MEANS_BAND:
    case MEANS_WIDTH:
    case MEANS_STEP:
    case MEANS_CENTRE:
    case MEANS_FIRST:
        return unit >= UNIT_HZ && unit <= UNIT_GHZ;
    case MEANS_PERIOD:
        return unit >= UNIT_S && unit <= UNIT_NS;
    case MEANS_START:
        /* Seconds and their parts are Unix's. */
        return unit == UNIT_NONE || unit == UNIT_UNIX || unit == UNIT_MJD ||
               (unit >= UNIT_S && unit <= UNIT_NS);
    default:
        return 0;
    }
}

const char *propose_word_among(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, length) == 0) {
            return at;
        }
        at += size;
    }
    return NULL;
}

static struct propose_word word_find(const char *plain, size_t length)
{
    for (uint32_t i = 0; i < MEANT; i++) {
        const char *found = propose_word_among(meant[i].words, plain, length);
        if (found) {
            uint32_t order = i << 16 | (uint32_t)(found - meant[i].words);
            return (struct propose_word){meant[i].means, meant[i].unit, meant[i].is_weak, order};
        }
    }
    return (struct propose_word){.means = MEANINGS};
}

/* Returns the row of a unit of `length` letters; UNITS_KNOWN: unknown. */
static size_t unit_find(const char *text, size_t length, int is_ending)
{
    size_t i = 0;
    while (i < UNITS_KNOWN && !propose_word_among(units[i].endings, text, length) &&
           (is_ending || !propose_word_among(units[i].others, text, length))) {
        i++;
    }
    return i;
}

struct propose_word propose_word_of(const char *name)
{
    char plain[PROPOSE_NAME];
    propose_plain(name, plain);
    size_t length = strlen(plain);
    struct propose_word word = word_find(plain, length);
    for (size_t at = 1; at < length && word.means == MEANINGS; at++) {
        size_t row = unit_find(plain + at, length - at, 1);
        if (row < UNITS_KNOWN) {
            enum job_unit unit = units[row].unit;
            struct propose_word found = word_find(plain, at);
            int is_known = propose_may_have(found.means, unit) &&
                           (found.unit == UNIT_NONE || found.unit == unit);
            word = is_known ? found : word;
            word.unit = is_known && unit != UNIT_NONE ? unit : word.unit;
        }
    }
    return word;
}

/* Returns the unit in a text such as "MHz" or "seconds"; *is_known = 0 where it is another. Empty:
 * NONE. */
static enum job_unit propose_unit_of(const char *text, int *is_known)
{
    char low[PROPOSE_NAME] = "";
    size_t length = 0;
    for (; *text && length < sizeof low - 1; text++) {
        if (!isspace((unsigned char)*text) && !strchr("[]()", *text)) {
            low[length++] = (char)tolower((unsigned char)*text);
        }
    }
    size_t row = unit_find(low, length, 0);
    *is_known = length == 0 || row < UNITS_KNOWN;
    if (*is_known) {
        return length > 0 ? units[row].unit : UNIT_NONE;
    }
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        if (strncmp(epochs[i].begins, low, strlen(epochs[i].begins)) == 0) {
            *is_known = 1;
            return epochs[i].unit;
        }
    }
    return UNIT_NONE;
}

/* Texts, numbers and facts as lines of a job have them. */

/* Names that are no UTF-8 cannot be written in YAML: they stay open. */
static int text_is_yaml(const char *text)
{
    static const char no_character[] = "\xef\xbf"; /* U+FFFE and U+FFFF begin so */
    size_t left = strlen(text);
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t bytes = c < 0x80 ? 1 : display_character(text, left);
        int is_none = bytes == 3 && memcmp(text, no_character, 2) == 0 && (text[2] & 0x3E) == 0x3E;
        if (bytes == 0 || is_none) {
            return 0;
        }
        text += bytes;
        left -= bytes;
    }
    return 1;
}

void propose_add_quoted(struct text *out, const char *text)
{
    tree_quote(text_is_yaml(text) ? text : "???", out);
}

void propose_add_path(struct text *out, const char *path)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    static const char *const others[] = {"y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null"};
    int is_plain = (*path == '/' || isalpha((unsigned char)*path)) &&
                   path[strspn(path, safe)] == '\0' && path[1] != '\0';
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        is_plain = is_plain && strcasecmp(path, others[i]) != 0;
    }
    if (is_plain) {
        text_add(out, "%s", path);
    } else {
        propose_add_quoted(out, path);
    }
}

const char *propose_number_in(double value, char text[UNITS_TEXT])
{
    const char *exact = units_exact(value);
    int digits = (int)strcspn(exact, "e");
    if (value == floor(value) && fabs(value) < 1e15) {
        snprintf(text, UNITS_TEXT, "%.0f", value);
    } else {
        int is_open = exact[digits] && !strchr(exact, '.');
        snprintf(text, UNITS_TEXT, "%.*s%s%s", digits, exact, is_open ? ".0" : "", exact + digits);
    }
    return text;
}

/* Writes what is shown of a fact, and where it is. Fails with DEVICE (memory). */
static status_t fact_show(struct propose_fact *fact)
{
    static const char *const names[] = {
        [UNIT_HZ] = " Hz",   [UNIT_KHZ] = " kHz",  [UNIT_MHZ] = " MHz", [UNIT_GHZ] = " GHz",
        [UNIT_S] = " s",     [UNIT_MS] = " ms",    [UNIT_US] = " us",   [UNIT_NS] = " ns",
        [UNIT_MJD] = " MJD", [UNIT_UNIX] = " unix"};
    const char *unit = names[fact->unit];
    if (fact->text) {
        text_add_shown(&fact->shown, "%s = \"%.60s\"", fact->where, fact->text);
    } else {
        text_add_shown(&fact->shown, "%s = ", fact->where);
        text_add(&fact->shown, "%s%s", propose_number(fact->first), unit ? unit : "");
    }
    if (fact->is_attribute) {
        propose_add_quoted(&fact->quoted, fact->where);
    } else {
        propose_add_path(&fact->quoted, fact->where);
    }
    return fact->shown.status == STATUS_OK ? fact->quoted.status : fact->shown.status;
}

void propose_add_facts(struct text *out, const char *before, const struct propose_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        text_add(out, "%s%s", i == 0 ? before : ", ", facts->all[i]->shown.data);
    }
}

enum { MOST_FACTS = 4096, MOST_VALUES = 1 << 20, MOST_TEXT = 4096 };

static void fact_free(struct propose_fact *fact)
{
    free(fact->where);
    text_free(&fact->quoted);
    text_free(&fact->shown);
    free(fact->text);
    free(fact->member);
}

/* Appends a fact, which belongs to the proposal from then on. Drops it if there are MOST_FACTS. */
static status_t fact_add(struct proposal *p, struct propose_fact *fact)
{
    if (p->nfacts == MOST_FACTS) {
        return STATUS_OK;
    }
    TRY(fact_show(fact));
    TRY(memory_grown(p->nfacts + 1, sizeof *p->facts, "facts of a file", &p->facts));
    p->facts[p->nfacts++] = *fact;
    *fact = (struct propose_fact){.count = 0};
    return STATUS_OK;
}

static void fact_take_unit(struct propose_fact *fact, const char *text)
{
    int is_known = 0;
    enum job_unit unit = propose_unit_of(text, &is_known);
    int is_other = fact->unit != UNIT_NONE && unit != UNIT_NONE && unit != fact->unit;
    fact->is_unknown |= !is_known || is_other || !propose_may_have(fact->word.means, unit);
    fact->unit = unit != UNIT_NONE ? unit : fact->unit;
}

/* Reads a number in a text, perhaps with its unit: "1.28 MHz". */
static void fact_take_text(struct propose_fact *fact)
{
    char *end = NULL;
    char *text = fact->text;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    memmove(text, text + strspn(text, " \t\r\n"), length - strspn(text, " \t\r\n") + 1);
    double value = strtod(text, &end);
    int is_known = 0;
    (void)propose_unit_of(end, &is_known);
    fact->first = fact->last = NAN;
    if (end > text && isfinite(value) && is_known) {
        fact->first = fact->last = value;
        if (*end) {
            fact_take_unit(fact, end);
        }
    }
}

/* The unit that an attribute beside it states: NAME_UNIT; of a dataset its own `units`. */
static status_t fact_find_unit(const struct proposal *p, hid_t object, const char *attribute,
                               struct propose_fact *fact)
{
    static const char *const endings[] = {"unit", "units", "UNIT", "UNITS", "Unit", "Units"};
    SCOPED(text_free) struct text name = {0};
    SCOPED(free_at) char *text = NULL;
    int found = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !found; i++) {
        text_free(&name);
        TRY(attribute ? text_add(&name, "%s_%s", attribute, endings[i])
                      : text_add(&name, "%s", endings[i]));
        TRY(h5_find_text(object, p->path, name.data, &text, &found));
    }
    if (found) {
        fact_take_unit(fact, text);
    }
    return STATUS_OK;
}

/* The first and the last of an attribute's numbers; of a number of another kind, and of several
 * different ones that are no frequencies, none. */
static status_t fact_read_attribute(const struct proposal *p, hid_t object, const char *name,
                                    struct propose_fact *fact)
{
    SCOPED(free_at) double *numbers = NULL;
    SCOPED(h5_dataset_close) struct h5_dataset attribute = {0};
    TRY(h5_attribute_open(object, p->path, name, &attribute));
    H5T_class_t class = H5Tget_class(attribute.type);
    int found = 0;
    if (attribute.count < 1 || attribute.count > MOST_VALUES) {
        return STATUS_OK;
    }
    if (class == H5T_STRING) {
        TRY(h5_find_text(object, p->path, name, &fact->text, &found));
    } else if (class == H5T_INTEGER || class == H5T_FLOAT) {
        TRY(memory_zeroed((size_t)attribute.count, sizeof *numbers, "an attribute", &numbers));
        H5_TRY(h5_values_read(&attribute, H5T_NATIVE_DOUBLE, numbers), "%s: %s cannot be read",
               p->path, fact->where);
        fact->first = numbers[0];
        fact->last = numbers[attribute.count - 1];
        found = 1;
        for (uint64_t i = 1; i < attribute.count && fact->word.means != MEANS_CENTRE; i++) {
            found = found && numbers[i] == numbers[0];
        }
    }
    fact->count = found ? attribute.count : 0;
    return STATUS_OK;
}

status_t propose_note_attribute(struct proposal *p, hid_t object, const char *name,
                                const char *attribute, int is_of_data)
{
    SCOPED(fact_free)
    struct propose_fact fact = {
        .is_attribute = 1, .is_of_data = is_of_data, .first = NAN, .last = NAN};
    fact.word = propose_word_of(attribute);
    fact.unit = fact.word.unit;
    if (fact.word.means == MEANINGS || fact.word.means == MEANS_ASIDE) {
        return STATUS_OK;
    }
    TRY(memory_format(&fact.where, "/%s@%s", strcmp(name, ".") == 0 ? "" : name, attribute));
    const status_t st = fact_read_attribute(p, object, attribute, &fact);
    if (st == STATUS_DATA && !strstr(report_cause(), "file read failed")) {
        return report_forgive(st); /* an attribute of an odd type states nothing */
    }
    TRY(st);
    if (fact.text) {
        fact_take_text(&fact);
    }
    TRY(fact_find_unit(p, object, attribute, &fact));
    return fact.count > 0 ? fact_add(p, &fact) : STATUS_OK;
}

/* Reads a text that is the only value of a dataset. */
static status_t fact_read_text(const struct proposal *p, const struct h5_dataset *data,
                               struct propose_fact *fact)
{
    char *variable = NULL;
    size_t size = H5Tget_size(data->type);
    if (H5Tis_variable_str(data->type) > 0) {
        H5_TRY(H5Dread(data->id, data->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &variable),
               "%s: %s cannot be read", p->path, fact->where);
        TRY(memory_format(&fact->text, "%.4096s", variable ? variable : ""));
        H5free_memory(variable);
    } else if (size <= MOST_TEXT) {
        TRY(memory_zeroed(size + 1, 1, "a text", &fact->text));
        H5_TRY(H5Dread(data->id, data->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, fact->text),
               "%s: %s cannot be read", p->path, fact->where);
    }
    fact->count = fact->text ? 1 : 0;
    return STATUS_OK;
}

/* Returns the member of a compound that contains frequencies; NULL: none. */
static char *fact_member(hid_t type, enum job_unit *unit)
{
    int count = H5Tget_nmembers(type);
    for (int i = 0; i < count; i++) {
        char *name = H5Tget_member_name(type, (unsigned)i);
        H5T_class_t class = H5Tget_member_class(type, (unsigned)i);
        struct propose_word word = propose_word_of(name ? name : "");
        if (word.means == MEANS_CENTRE && (class == H5T_INTEGER || class == H5T_FLOAT)) {
            *unit = word.unit;
            return name;
        }
        H5free_memory(name);
    }
    return NULL;
}

static status_t fact_read_numbers(const struct proposal *p, const struct h5_dataset *data,
                                  const char *member, struct propose_fact *fact)
{
    SCOPED(free_at) double *numbers = NULL;
    SCOPED(h5_close_at) hid_t type = -1;
    TRY(h5_number_type(data->type, fact->where, member, H5T_NATIVE_DOUBLE, &type));
    TRY(memory_zeroed((size_t)data->count, sizeof *numbers, fact->where, &numbers));
    TRY(h5_dataset_read(data, p->path, fact->where, type, data->count, numbers));
    fact->count = data->count;
    fact->first = numbers[0];
    fact->last = numbers[data->count - 1];
    return STATUS_OK;
}

/* Whether the bytes of a dataset are its file's own, and were written. */
static int fact_is_stored(const struct proposal *p, const struct h5_dataset *data, const char *name)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    hid_t plist = H5Dget_create_plist(data->id);
    int is_virtual = plist < 0 || H5Pget_layout(plist) == H5D_VIRTUAL;
    h5_close(plist);
    int is_external = report_failed(h5_refuse_external(data->id, p->path, name));
    return !is_virtual && !is_external && H5Dget_space_status(data->id, &status) >= 0 &&
           status != H5D_SPACE_STATUS_NOT_ALLOCATED;
}

status_t propose_note_dataset(struct proposal *p, hid_t dataset, const char *name)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    SCOPED(fact_free) struct propose_fact fact = {.first = NAN, .last = NAN};
    SCOPED(H5free_memory_at) char *member = NULL;
    hid_t id = dataset;
    fact.word = propose_word_of(text_basename(name));
    fact.unit = fact.word.unit;
    if (fact.word.means == MEANINGS) {
        return STATUS_OK;
    }
    H5_TRY(H5Iinc_ref(id), "%s: /%s cannot be opened", p->path, name);
    TRY(memory_format(&fact.where, "/%s", name));
    TRY(h5_dataset_of(id, p->path, &data));
    int is_list = fact.word.means == MEANS_CENTRE && data.rank == 1 && data.count <= MOST_VALUES;
    H5T_class_t class = H5Tget_class(data.type);
    if (data.count < 1 || (data.count > 1 && !is_list) || !fact_is_stored(p, &data, name)) {
        return STATUS_OK;
    }
    member = class == H5T_COMPOUND && is_list ? fact_member(data.type, &fact.unit) : NULL;
    if (class == H5T_STRING && data.count == 1) {
        TRY(fact_read_text(p, &data, &fact));
        fact_take_text(&fact);
    } else if (class == H5T_INTEGER || class == H5T_FLOAT || member) {
        TRY(fact_read_numbers(p, &data, member, &fact));
        TRY(memory_text(member, &fact.member));
    }
    TRY(fact_find_unit(p, dataset, NULL, &fact));
    return fact.count > 0 ? fact_add(p, &fact) : STATUS_OK;
}

void propose_facts_free(struct proposal *p)
{
    for (size_t i = 0; i < p->nfacts; i++) {
        fact_free(&p->facts[i]);
    }
    free(p->facts);
}

/* Whether a fact is about the samples: it is no attribute of another dataset. */
static int fact_is_near(const struct proposal *p, const struct propose_fact *fact)
{
    const struct propose_data *const of[] = {p->re, p->im};
    size_t length = strcspn(fact->where, "@");
    int is_near = !fact->is_of_data;
    for (int i = 0; i < 2 && of[i]; i++) {
        is_near |= strlen(of[i]->path) == length && strncmp(of[i]->path, fact->where, length) == 0;
    }
    return is_near;
}

void propose_facts_add(const struct proposal *p, enum propose_meaning means,
                       struct propose_facts *facts)
{
    const size_t before = facts->count;
    /* Classes of facts: near and strong, near and weak, far and strong, far and weak. */
    for (int class = 0; class < 4 && facts->count == before; class ++) {
        for (size_t i = 0; i < p->nfacts && facts->count < before + PROPOSE_FACTS; i++) {
            const struct propose_fact *fact = &p->facts[i];
            int is_it = fact->word.means == means && fact_is_near(p, fact) == (class < 2) &&
                        fact->word.is_weak == class % 2;
            size_t at = facts->count;
            if (!is_it) {
                continue;
            }
            for (; at > before && facts->all[at - 1]->word.order > fact->word.order; at--) {
                facts->all[at] = facts->all[at - 1];
            }
            facts->all[at] = fact;
            facts->count++;
        }
    }
}

struct propose_facts propose_facts_of(const struct proposal *p, enum propose_meaning means)
{
    struct propose_facts facts = {.count = 0};
    propose_facts_add(p, means, &facts);
    return facts;
}

uint64_t propose_count_of(const struct proposal *p, enum propose_meaning means)
{
    const struct propose_facts facts = propose_facts_of(p, means);
    const double first = facts.count > 0 ? facts.all[0]->first : 0;
    int is_same = first >= 1 && first <= 0x1p53;
    for (size_t i = 0; i < facts.count; i++) {
        is_same = is_same && facts.all[i]->count == 1 && facts.all[i]->first == first;
    }
    return is_same ? (uint64_t)first : 0;
}
