/* Tables of words. */
#include "input/propose/propose_parts.h"

#include "job/job.h"

#include <ctype.h>
#include <string.h>

static const struct propose_word words[] = {
    {"samplerate", MEANS_RATE, UNIT_NONE, 0},
    {"samprate", MEANS_RATE, UNIT_NONE, 0},
    {"samplingrate", MEANS_RATE, UNIT_NONE, 0},
    {"samplingfrequency", MEANS_RATE, UNIT_NONE, 0},
    {"samplingfreq", MEANS_RATE, UNIT_NONE, 0},
    {"samplefrequency", MEANS_RATE, UNIT_NONE, 0},
    {"samplefreq", MEANS_RATE, UNIT_NONE, 0},
    {"sampfreq", MEANS_RATE, UNIT_NONE, 0},
    {"rxrate", MEANS_RATE, UNIT_NONE, 0},
    {"samplespersecond", MEANS_RATE, UNIT_HZ, 0},
    {"srate", MEANS_RATE, UNIT_NONE, 0},
    {"fsamp", MEANS_RATE, UNIT_NONE, 0},
    {"fsample", MEANS_RATE, UNIT_NONE, 0},
    {"fs", MEANS_RATE, UNIT_NONE, 0},
    {"rate", MEANS_RATE, UNIT_NONE, 1},
    {"sampleperiod", MEANS_PERIOD, UNIT_NONE, 0},
    {"sampperiod", MEANS_PERIOD, UNIT_NONE, 0},
    {"samplingperiod", MEANS_PERIOD, UNIT_NONE, 0},
    {"sampleinterval", MEANS_PERIOD, UNIT_NONE, 0},
    {"samplinginterval", MEANS_PERIOD, UNIT_NONE, 0},
    {"sampletime", MEANS_PERIOD, UNIT_NONE, 0},
    {"samplingtime", MEANS_PERIOD, UNIT_NONE, 0},
    {"samptime", MEANS_PERIOD, UNIT_NONE, 0},
    {"timepersample", MEANS_PERIOD, UNIT_NONE, 0},
    {"tsamp", MEANS_PERIOD, UNIT_NONE, 0},
    {"tsample", MEANS_PERIOD, UNIT_NONE, 0},
    {"tbin", MEANS_PERIOD, UNIT_NONE, 0},
    {"deltatime", MEANS_PERIOD, UNIT_NONE, 0},
    {"deltat", MEANS_PERIOD, UNIT_NONE, 0},
    {"timestep", MEANS_PERIOD, UNIT_NONE, 0},
    {"timedelta", MEANS_PERIOD, UNIT_NONE, 0},
    {"timeresolution", MEANS_PERIOD, UNIT_NONE, 0},
    {"tres", MEANS_PERIOD, UNIT_NONE, 0},
    {"dt", MEANS_PERIOD, UNIT_NONE, 0},
    {"bandwidth", MEANS_BAND, UNIT_NONE, 0},
    {"totalbandwidth", MEANS_BAND, UNIT_NONE, 0},
    {"obsbw", MEANS_BAND, UNIT_NONE, 0},
    {"bw", MEANS_BAND, UNIT_NONE, 0},
    {"channelbandwidth", MEANS_WIDTH, UNIT_NONE, 0},
    {"chanbandwidth", MEANS_WIDTH, UNIT_NONE, 0},
    {"channelwidth", MEANS_WIDTH, UNIT_NONE, 0},
    {"chanwidth", MEANS_WIDTH, UNIT_NONE, 0},
    {"chanbw", MEANS_WIDTH, UNIT_NONE, 0},
    {"subbandwidth", MEANS_WIDTH, UNIT_NONE, 0},
    {"subbandbandwidth", MEANS_WIDTH, UNIT_NONE, 0},
    {"channelspacing", MEANS_WIDTH, UNIT_NONE, 0},
    {"foff", MEANS_STEP, UNIT_NONE, 0},
    {"freqstep", MEANS_STEP, UNIT_NONE, 0},
    {"frequencystep", MEANS_STEP, UNIT_NONE, 0},
    {"freqinc", MEANS_STEP, UNIT_NONE, 0},
    {"frequencyincrement", MEANS_STEP, UNIT_NONE, 0},
    {"deltafreq", MEANS_STEP, UNIT_NONE, 0},
    {"deltafrequency", MEANS_STEP, UNIT_NONE, 0},
    {"deltaf", MEANS_STEP, UNIT_NONE, 0},
    {"df", MEANS_STEP, UNIT_NONE, 0},
    {"centerfrequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"centrefrequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"centerfrequencies", MEANS_CENTRE, UNIT_NONE, 0},
    {"centrefrequencies", MEANS_CENTRE, UNIT_NONE, 0},
    {"centerfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"centrefreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"centerfreqs", MEANS_CENTRE, UNIT_NONE, 0},
    {"centrefreqs", MEANS_CENTRE, UNIT_NONE, 0},
    {"freqcenter", MEANS_CENTRE, UNIT_NONE, 0},
    {"freqcentre", MEANS_CENTRE, UNIT_NONE, 0},
    {"frequencycenter", MEANS_CENTRE, UNIT_NONE, 0},
    {"frequencycentre", MEANS_CENTRE, UNIT_NONE, 0},
    {"cfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"freqc", MEANS_CENTRE, UNIT_NONE, 0},
    {"fcent", MEANS_CENTRE, UNIT_NONE, 0},
    {"fcenter", MEANS_CENTRE, UNIT_NONE, 0},
    {"fcentre", MEANS_CENTRE, UNIT_NONE, 0},
    {"fctr", MEANS_CENTRE, UNIT_NONE, 0},
    {"rxfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"obsfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"skyfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"skyfrequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"rffreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"rffrequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"tuningfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"tuningfrequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"chanfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"chanfreqs", MEANS_CENTRE, UNIT_NONE, 0},
    {"channelfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"channelfreqs", MEANS_CENTRE, UNIT_NONE, 0},
    {"channelfrequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"channelfrequencies", MEANS_CENTRE, UNIT_NONE, 0},
    {"subbandfreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"subbandfreqs", MEANS_CENTRE, UNIT_NONE, 0},
    {"coarsefreq", MEANS_CENTRE, UNIT_NONE, 0},
    {"freqs", MEANS_CENTRE, UNIT_NONE, 0},
    {"frequencies", MEANS_CENTRE, UNIT_NONE, 0},
    {"frequency", MEANS_CENTRE, UNIT_NONE, 0},
    {"freq", MEANS_CENTRE, UNIT_NONE, 0},
    {"fc", MEANS_CENTRE, UNIT_NONE, 0},
    {"rfcenter", MEANS_CENTRE, UNIT_NONE, 0},
    {"rfcentre", MEANS_CENTRE, UNIT_NONE, 0},
    {"center", MEANS_CENTRE, UNIT_NONE, 1},
    {"centre", MEANS_CENTRE, UNIT_NONE, 1},
    {"fch1", MEANS_FIRST, UNIT_NONE, 0},
    {"firstchannelfreq", MEANS_FIRST, UNIT_NONE, 0},
    {"firstchannelfrequency", MEANS_FIRST, UNIT_NONE, 0},
    {"utcstart", MEANS_START, UNIT_NONE, 0},
    {"startutc", MEANS_START, UNIT_NONE, 0},
    {"starttimeutc", MEANS_START, UNIT_NONE, 0},
    {"starttime", MEANS_START, UNIT_NONE, 0},
    {"timestart", MEANS_START, UNIT_NONE, 0},
    {"obsstart", MEANS_START, UNIT_NONE, 0},
    {"obsstarttime", MEANS_START, UNIT_NONE, 0},
    {"observationstart", MEANS_START, UNIT_NONE, 0},
    {"observationstarttime", MEANS_START, UNIT_NONE, 0},
    {"observationstartutc", MEANS_START, UNIT_NONE, 0},
    {"exptimestart", MEANS_START, UNIT_NONE, 0},
    {"exptimestartutc", MEANS_START, UNIT_NONE, 0},
    {"rxtime", MEANS_START, UNIT_NONE, 0},
    {"startunix", MEANS_START, UNIT_UNIX, 0},
    {"unixstart", MEANS_START, UNIT_UNIX, 0},
    {"unixtime", MEANS_START, UNIT_UNIX, 0},
    {"startepoch", MEANS_START, UNIT_NONE, 0},
    {"startmjd", MEANS_START, UNIT_MJD, 0},
    {"mjdstart", MEANS_START, UNIT_MJD, 0},
    {"mjd", MEANS_START, UNIT_MJD, 0},
    {"tstart", MEANS_START, UNIT_NONE, 0},
    {"tsstart", MEANS_START, UNIT_NONE, 0},
    {"firstsampletime", MEANS_START, UNIT_NONE, 0},
    {"startdate", MEANS_START, UNIT_NONE, 0},
    {"startdatetime", MEANS_START, UNIT_NONE, 0},
    {"start", MEANS_START, UNIT_NONE, 0},
    {"time0ctime", MEANS_START, UNIT_UNIX, 0},
    {"ctime", MEANS_START, UNIT_UNIX, 0},
    {"time0", MEANS_START, UNIT_NONE, 0},
    {"t0", MEANS_START, UNIT_NONE, 0},
    {"utc", MEANS_START, UNIT_NONE, 0},
    {"dateobs", MEANS_START, UNIT_NONE, 0},
    {"obsdate", MEANS_START, UNIT_NONE, 0},
    {"obsutc", MEANS_START, UNIT_NONE, 0},
    {"recordingstart", MEANS_START, UNIT_NONE, 0},
    {"recstart", MEANS_START, UNIT_NONE, 0},
    {"capturestart", MEANS_START, UNIT_NONE, 0},
    {"firstsampleutc", MEANS_START, UNIT_NONE, 0},
    {"firstsamplemjd", MEANS_START, UNIT_MJD, 0},
    {"firstsampleunix", MEANS_START, UNIT_UNIX, 0},
    {"unixtimestamp", MEANS_START, UNIT_UNIX, 0},
    {"timestamp", MEANS_START, UNIT_NONE, 1},
    {"datetime", MEANS_START, UNIT_NONE, 1},
    {"date", MEANS_START, UNIT_NONE, 1},
    {"sttimjd", MEANS_DAY, UNIT_NONE, 0},
    {"imjd", MEANS_DAY, UNIT_NONE, 0},
    {"startmjdday", MEANS_DAY, UNIT_NONE, 0},
    {"mjdday", MEANS_DAY, UNIT_NONE, 0},
    {"sttsmjd", MEANS_SECOND, UNIT_NONE, 0},
    {"smjd", MEANS_SECOND, UNIT_NONE, 0},
    {"startsecond", MEANS_SECOND, UNIT_NONE, 0},
    {"secondofday", MEANS_SECOND, UNIT_NONE, 0},
    {"sttoffs", MEANS_FRACTION, UNIT_NONE, 0},
    {"offs", MEANS_FRACTION, UNIT_NONE, 0},
    {"nchan", MEANS_CHANS, UNIT_NONE, 0},
    {"nchans", MEANS_CHANS, UNIT_NONE, 0},
    {"nchannel", MEANS_CHANS, UNIT_NONE, 0},
    {"nchannels", MEANS_CHANS, UNIT_NONE, 0},
    {"numchan", MEANS_CHANS, UNIT_NONE, 0},
    {"numchans", MEANS_CHANS, UNIT_NONE, 0},
    {"numchannels", MEANS_CHANS, UNIT_NONE, 0},
    {"nfreq", MEANS_CHANS, UNIT_NONE, 0},
    {"nfreqs", MEANS_CHANS, UNIT_NONE, 0},
    {"obsnchan", MEANS_CHANS, UNIT_NONE, 0},
    {"nsubband", MEANS_CHANS, UNIT_NONE, 0},
    {"nsubbands", MEANS_CHANS, UNIT_NONE, 0},
    {"npol", MEANS_POLS, UNIT_NONE, 0},
    {"npols", MEANS_POLS, UNIT_NONE, 0},
    {"numpol", MEANS_POLS, UNIT_NONE, 0},
    {"numpols", MEANS_POLS, UNIT_NONE, 0},
    {"nant", MEANS_STATIONS, UNIT_NONE, 0},
    {"nants", MEANS_STATIONS, UNIT_NONE, 0},
    {"nantenna", MEANS_STATIONS, UNIT_NONE, 0},
    {"nantennas", MEANS_STATIONS, UNIT_NONE, 0},
    {"nstation", MEANS_STATIONS, UNIT_NONE, 0},
    {"nstations", MEANS_STATIONS, UNIT_NONE, 0},
    {"ninput", MEANS_STATIONS, UNIT_NONE, 0},
    {"ninputs", MEANS_STATIONS, UNIT_NONE, 0},
    {"ndish", MEANS_STATIONS, UNIT_NONE, 0},
    {"numantennas", MEANS_STATIONS, UNIT_NONE, 0},
    {"nbeam", MEANS_BEAMS, UNIT_NONE, 0},
    {"nbeams", MEANS_BEAMS, UNIT_NONE, 0},
    {"ntime", MEANS_TIMES, UNIT_NONE, 0},
    {"ntimes", MEANS_TIMES, UNIT_NONE, 0},
    {"nsamp", MEANS_TIMES, UNIT_NONE, 0},
    {"nsamps", MEANS_TIMES, UNIT_NONE, 0},
    {"nsample", MEANS_TIMES, UNIT_NONE, 0},
    {"nsamples", MEANS_TIMES, UNIT_NONE, 0},
    {"numsamples", MEANS_TIMES, UNIT_NONE, 0},
    {"sideband", MEANS_SIDEBAND, UNIT_NONE, 0},
    {"telescope", MEANS_TELESCOPE, UNIT_NONE, 0},
    {"telescop", MEANS_TELESCOPE, UNIT_NONE, 0},
    {"telescopename", MEANS_TELESCOPE, UNIT_NONE, 0},
    {"observatory", MEANS_TELESCOPE, UNIT_NONE, 0},
    {"source", MEANS_SOURCE, UNIT_NONE, 0},
    {"sourcename", MEANS_SOURCE, UNIT_NONE, 0},
    {"srcname", MEANS_SOURCE, UNIT_NONE, 0},
    {"object", MEANS_SOURCE, UNIT_NONE, 0},
    {"target", MEANS_SOURCE, UNIT_NONE, 0},
    {"targetname", MEANS_SOURCE, UNIT_NONE, 0},
    {"dimensionlabels", MEANS_DIMS, UNIT_NONE, 0},
    {"dims", MEANS_DIMS, UNIT_NONE, 0},
    {"dimensions", MEANS_DIMS, UNIT_NONE, 0},
    {"dimname", MEANS_DIMS, UNIT_NONE, 0},
    {"dimnames", MEANS_DIMS, UNIT_NONE, 0},
    {"dimensionnames", MEANS_DIMS, UNIT_NONE, 0},
    {"arraydimensions", MEANS_DIMS, UNIT_NONE, 0},
    {"axis", MEANS_DIMS, UNIT_NONE, 0},
    {"axes", MEANS_DIMS, UNIT_NONE, 0},
    {"axisnames", MEANS_DIMS, UNIT_NONE, 0},
    {"axesnames", MEANS_DIMS, UNIT_NONE, 0},
    {"axisorder", MEANS_DIMS, UNIT_NONE, 0},
    {"axesorder", MEANS_DIMS, UNIT_NONE, 0},
    {"labels", MEANS_DIMS, UNIT_NONE, 1},
    {"order", MEANS_DIMS, UNIT_NONE, 1},
    {"weight", MEANS_ASIDE, UNIT_NONE, 0},
    {"weights", MEANS_ASIDE, UNIT_NONE, 0},
    {"flag", MEANS_ASIDE, UNIT_NONE, 0},
    {"flags", MEANS_ASIDE, UNIT_NONE, 0},
    {"mask", MEANS_ASIDE, UNIT_NONE, 0},
    {"time", MEANS_ASIDE, UNIT_NONE, 0},
    {"times", MEANS_ASIDE, UNIT_NONE, 0},
    {"timestamps", MEANS_ASIDE, UNIT_NONE, 0},
};
enum { WORDS = sizeof words / sizeof *words };

/* Units as people write them, without blanks and in lower case. */
static const struct {
    const char *name;
    enum job_unit unit;
    int is_ending; /* may stand at the end of a name */
} units[] = {
    {"hz", UNIT_HZ, 1},
    {"hertz", UNIT_HZ, 1},
    {"khz", UNIT_KHZ, 1},
    {"mhz", UNIT_MHZ, 1},
    {"ghz", UNIT_GHZ, 1},
    {"sps", UNIT_HZ, 1},
    {"ksps", UNIT_KHZ, 1},
    {"msps", UNIT_MHZ, 1},
    {"gsps", UNIT_GHZ, 1},
    {"s/s", UNIT_HZ, 0},
    {"ks/s", UNIT_KHZ, 0},
    {"ms/s", UNIT_MHZ, 0},
    {"gs/s", UNIT_GHZ, 0},
    {"sa/s", UNIT_HZ, 0},
    {"ksa/s", UNIT_KHZ, 0},
    {"msa/s", UNIT_MHZ, 0},
    {"gsa/s", UNIT_GHZ, 0},
    {"samples/s", UNIT_HZ, 0},
    {"1/s", UNIT_HZ, 0},
    {"s-1", UNIT_HZ, 0},
    {"s^-1", UNIT_HZ, 0},
    {"s", UNIT_S, 1},
    {"sec", UNIT_S, 1},
    {"secs", UNIT_S, 1},
    {"second", UNIT_S, 1},
    {"seconds", UNIT_S, 1},
    {"ms", UNIT_MS, 1},
    {"msec", UNIT_MS, 1},
    {"milliseconds", UNIT_MS, 1},
    {"us", UNIT_US, 1},
    {"usec", UNIT_US, 1},
    {"microseconds", UNIT_US, 1},
    {"\xc2\xb5s", UNIT_US, 0},
    {"\xce\xbcs", UNIT_US, 0},
    {"ns", UNIT_NS, 1},
    {"nsec", UNIT_NS, 1},
    {"nanoseconds", UNIT_NS, 1},
    {"mjd", UNIT_MJD, 1},
    {"unix", UNIT_UNIX, 1},
    {"unixtime", UNIT_UNIX, 1},
    {"unixseconds", UNIT_UNIX, 0},
    {"utc", UNIT_NONE, 1},
    {"iso", UNIT_NONE, 1},
};
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

static const struct propose_word *word_find(const char *plain, size_t length)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (strlen(words[i].word) == length && memcmp(words[i].word, plain, length) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

const struct propose_word *propose_word_of(const char *name, enum job_unit *unit)
{
    char plain[PROPOSE_NAME];
    propose_plain(name, plain);
    size_t length = strlen(plain);
    const struct propose_word *word = word_find(plain, length);
    *unit = word ? word->unit : UNIT_NONE;
    for (size_t i = 0; i < UNITS_KNOWN && !word; i++) {
        size_t ending = strlen(units[i].name);
        if (units[i].is_ending && length > ending &&
            strcmp(plain + length - ending, units[i].name) == 0) {
            const struct propose_word *found = word_find(plain, length - ending);
            int is_known = found && propose_may_have(found->means, units[i].unit) &&
                           (found->unit == UNIT_NONE || found->unit == units[i].unit);
            word = is_known ? found : NULL;
            *unit = is_known && units[i].unit != UNIT_NONE ? units[i].unit : *unit;
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
    *is_known = 1;
    if (length == 0) {
        return UNIT_NONE;
    }
    for (size_t i = 0; i < UNITS_KNOWN; i++) {
        if (strcmp(units[i].name, low) == 0) {
            return units[i].unit;
        }
    }
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        if (strncmp(epochs[i].begins, low, strlen(epochs[i].begins)) == 0) {
            return epochs[i].unit;
        }
    }
    *is_known = 0;
    return UNIT_NONE;
}
