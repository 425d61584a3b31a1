/* Tables of words. */
#include "input/propose/propose_parts.h"

#include "job/job.h"

#include <ctype.h>
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

const char *propose_power_word(const char *name)
{
    static const char *const powers[] = {"stokes",  "power",       "intensity",  "waterfall",
                                         "dynspec", "spectrogram", "dynamicspec"};
    char plain[PROPOSE_NAME];
    propose_plain(name, plain);
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        if (strstr(plain, powers[i])) {
            return powers[i];
        }
    }
    return NULL;
}

int propose_may_have(enum propose_meaning means, enum job_unit unit)
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

/* The row of a unit, of `length` letters; UNITS_KNOWN: it is none. */
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

enum job_unit propose_unit_of(const char *text, int *is_known)
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
