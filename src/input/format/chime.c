/* CHIME's raw baseband: a file for each coarse channel, /baseband [time][input], 4+4 bits, 0 for
 * what is missing (kotekan, python/kotekan/scripts/baseband_archiver.py; decoded as in
 * baseband_analysis, core/_accel.pyx). Files follow the dispersion of a burst, so that each begins
 * at a sample of its own. */
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/lost.h"
#include "job/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char raw_title[] = "a CHIME raw baseband file";
static const double rate_hz = 390625; /* 800 MHz / 2048, one every 2.56 us */
static const double band_hz[2] = {400e6, 800e6};

/* Samples a second of a coarse channel, from the root's delta_time. Fails with DATA. */
static status_t chime_rate(const struct fields *f, double *rate)
{
    double step = 0;
    TRY(fields_need_f64(f, "/", "delta_time", &step));
    REQUIRE(step > 0 && step < 1, STATUS_DATA, "%s: delta_time is %g s, expected 2.56e-06 s",
            f->path, step);
    *rate = fabs(step * rate_hz - 1) < 1e-9 ? rate_hz : 1 / step;
    return STATUS_OK;
}

/* The first of some frequencies that is not within CHIME's band; count: all are. */
static size_t chime_first_beyond(const double *freq, size_t count, double unit_hz)
{
    size_t i = 0;
    while (i < count && freq[i] * unit_hz > band_hz[0] - rate_hz &&
           freq[i] * unit_hz < band_hz[1] + rate_hz) {
        i++;
    }
    return i;
}

/* Frequencies become Hz. Their writers give MHz; other units are known by CHIME's band, an
 * assumption that names the field. Fails with DATA: they are beyond the band, and the job gives
 * none. */
static status_t chime_hertz(struct fields *f, const char *name)
{
    enum { UNITS = 4 };
    static const struct {
        const char *name;
        double hz;
    } units[UNITS] = {{"MHz", 1e6}, {"Hz", 1}, {"kHz", 1e3}, {"GHz", 1e9}};
    int is_said = override_has_frequencies(f->layout);
    double *freq = f->own.freq.hz;
    size_t count = f->own.freq.count;
    size_t beyond = chime_first_beyond(freq, count, units[0].hz);
    size_t unit = 0;
    while (unit < UNITS && chime_first_beyond(freq, count, units[unit].hz) < count) {
        unit++;
    }
    REQUIRE(unit < UNITS || is_said, STATUS_DATA,
            "%s: %s: %.12g MHz is beyond the 400 to 800 MHz of CHIME: input.layout.freq_hz says "
            "the frequencies",
            f->path, name, freq[beyond]);
    TRY(unit == 0 || is_said
            ? STATUS_OK
            : assume(&f->archive->assumed,
                     "%s: %.12g MHz is beyond the 400 to 800 MHz of CHIME: taken for %s", name,
                     freq[beyond], units[unit].name));
    for (size_t i = 0; i < count; i++) {
        freq[i] *= units[unit < UNITS ? unit : 0].hz;
    }
    return STATUS_OK;
}

/* Compares frequencies with the numbers of their channels, where the file has both: channel k of a
 * rate is at 800 MHz - k x rate. Keys of the job go before both. Fails with DATA. */
static status_t chime_check_numbers(const struct fields *f, const uint64_t *numbers, size_t count)
{
    const struct job_layout *own = &f->own;
    int is_said = override_has_spacing(f->layout);
    for (size_t i = 0; i < count && count == own->freq.count && !is_said; i++) {
        double expected = band_hz[1] - (double)numbers[i] * own->time.sample_rate_hz;
        REQUIRE(fabs(own->freq.hz[i] - expected) <= 0.01 * own->time.sample_rate_hz, STATUS_DATA,
                "%s: coarse channel %" PRIu64
                " is at %.12g MHz, but at %.12g MHz by its number and delta_time, %.9g s: "
                "input.layout.sample_rate_hz or freq_hz says what is right",
                f->path, numbers[i], own->freq.hz[i] / 1e6, expected / 1e6,
                1 / own->time.sample_rate_hz);
    }
    return STATUS_OK;
}

/* Notes a rate that is not CHIME's, unless the job says one. */
static status_t chime_note_rate(struct fields *f)
{
    const double rate = f->own.time.sample_rate_hz;
    return assume_unless(
        override_has_rate(f->layout) || rate == rate_hz, &f->archive->assumed,
        "delta_time is %.9g s, CHIME's samples are 2.56e-06 s apart: delta_time is used", 1 / rate);
}

/* A start in two numbers, the second of which restores what rounding took from the first, named as
 * fields_set_start() does. Fails with DATA: they are none. */
static status_t chime_start(struct fields *f, const char *name, double ctime, double offset)
{
    REQUIRE(ctime >= 0 && ctime < 1e12 && fabs(offset) < 1, STATUS_DATA,
            "%s: its time is %.17g s with an offset of %g s, expected seconds since 1970", f->path,
            ctime, offset);
    TRY(fields_set_start(f, name, (int64_t)ctime, ctime - floor(ctime)));
    f->own.time.start = utc_add(f->own.time.start, offset);
    return STATUS_OK;
}

/* Inputs have serial numbers; what is no name for each is none at all. */
static status_t chime_raw_read_inputs(const struct fields *f, struct archive *archive)
{
    SCOPED(h5_names_free) struct h5_names inputs = {0};
    TRY(fields_texts(f, "index_map/input", "correlator_input", &inputs.names, &inputs.count));
    int is_named = inputs.count > 0;
    for (size_t i = 0; i < inputs.count && is_named; i++) {
        is_named =
            *inputs.names[i] && (i == 0 || strcmp(inputs.names[i], inputs.names[i - 1]) != 0);
    }
    if (is_named) {
        archive->names[AXIS_STATION] = memory_move(&inputs.names);
        archive->count[AXIS_STATION] = inputs.count;
    }
    return STATUS_OK;
}

static status_t chime_raw_fill(struct fields *f)
{
    struct job_layout *own = &f->own;
    double ctime = 0;
    double offset = 0;
    int64_t number = 0;
    int found = 0;
    TRY(fields_set_words(f, "baseband", "time,station", "CHIME"));
    own->numbers.has_packing = 1;
    own->numbers.packing.nibbles = (struct nibbles){.offset_binary = 1, .high_is_real = 1};
    own->numbers.has_missing_value = 1;
    own->has_sideband = 1;
    own->sideband = -1;
    own->time.has_sample_rate = 1;
    TRY(chime_rate(f, &own->time.sample_rate_hz));
    TRY(fields_need_f64(f, "/", "time0_ctime", &ctime));
    TRY(fields_f64(f, "/", "time0_ctime_offset", &offset, &found));
    TRY(chime_start(f, "time0_ctime", ctime, offset));
    TRY(layout_make_frequencies(own, 1));
    TRY(fields_need_f64(f, "/", "freq", own->freq.hz));
    TRY(chime_hertz(f, "freq"));
    TRY(fields_i64(f, "/", "freq_id", &number, &found));
    return chime_check_numbers(f, &(uint64_t){(uint64_t)number}, (size_t)found);
}

/* A file, whose frequencies the job's list for all of them does not override. */
struct chime_raw {
    const struct job_layout *layout; /* the job's */
    int64_t event;                   /* -1: not said */
    int64_t first_sample;
};

static status_t chime_raw_read(struct fields *f, void *context)
{
    struct chime_raw *said = context;
    const struct job_layout *layout = f->layout;
    f->layout = said->layout;
    TRY(chime_raw_fill(f));
    f->layout = layout;
    TRY(chime_note_rate(f));
    TRY(chime_raw_read_inputs(f, f->archive));
    TRY(fields_need_i64(f, "/", "time0_fpga_count", &said->first_sample));
    REQUIRE(said->first_sample >= 0 && said->first_sample < INT64_C(1) << 62, STATUS_DATA,
            "%s: time0_fpga_count is %" PRId64 ", expected a count of samples", f->path,
            said->first_sample);
    said->event = -1;
    TRY(fields_i64(f, "/", "event_id", &said->event, NULL));
    TRY(fields_describe(f, "CHIME raw baseband"));
    f->archive->shape.stacked = AXIS_CHAN;
    return STATUS_OK;
}

/* Counts and times of two files; times may be when packets came. */
static status_t chime_raw_compare_starts(const struct place *first, const struct place *next)
{
    const struct archive *archive = first->archive;
    double counted =
        ((double)next->first_sample - (double)first->first_sample) / archive->sample_rate_hz;
    double timed = utc_difference(next->archive->sky.start, archive->sky.start);
    return assume_if(archive->sky.has_start && next->archive->sky.has_start &&
                         fabs(counted - timed) * archive->sample_rate_hz > 2,
                     &next->archive->assumed,
                     "it starts %.9g s after the first file by time0_fpga_count, %.9g s by "
                     "time0_ctime: the counts are used",
                     counted, timed);
}

static status_t chime_raw_open_files(const struct format_input *input,
                                     const struct job_layout *layout, struct places *places)
{
    int64_t first_event = -1;
    for (size_t i = 0; i < input->npaths; i++) {
        struct chime_raw said = {.layout = input->layout};
        struct place *place = NULL;
        TRY(places_add(places, &place));
        TRY(fields_make_file(input->paths[i], raw_title, layout, chime_raw_read, &said,
                             &place->archive));
        REQUIRE(i == 0 || said.event == first_event, STATUS_DATA,
                "%s is of event %" PRId64 ", %s of event %" PRId64
                ": they do not belong to one observation",
                input->paths[i], said.event, input->paths[0], first_event);
        first_event = said.event;
        place->first_sample = (uint64_t)said.first_sample;
        place->stack = i;
        TRY(override_has(input->layout, SAID_START)
                ? STATUS_OK
                : chime_raw_compare_starts(&places->items[0], place));
        double freq = place->archive->freq_hz[0];
        for (size_t j = 0; j < i; j++) {
            REQUIRE(places->items[j].archive->freq_hz[0] != freq, STATUS_DATA,
                    "%s and %s are both of the coarse channel at %.9g MHz", input->paths[j],
                    input->paths[i], freq / 1e6);
        }
    }
    return STATUS_OK;
}

static status_t chime_raw_open(const struct format_input *input, struct archive **out)
{
    SCOPED(places_free) struct places places = {0};
    struct job_layout layout = *input->layout;
    layout.freq.count = 0;
    layout.freq.rule.has_start = 0;
    TRY(chime_raw_open_files(input, &layout, &places));
    TRY(place_join(&places, PLACE_ANY, out));
    /* The job's list of frequencies, if it has one, is of all files. */
    const struct job_layout_freq *freq = &input->layout->freq;
    uint64_t chans = (*out)->count[AXIS_CHAN];
    if (freq->count > 0) {
        REQUIRE(freq->count == chans, STATUS_USAGE,
                "input.layout.freq_hz lists %u frequencies, but %s and the others have %" PRIu64
                " coarse channels",
                freq->count, (*out)->parts[0].path, chans);
        memcpy((*out)->freq_hz, freq->hz, (size_t)chans * sizeof *freq->hz);
    }
    return assume_unless(override_has(&layout, SAID_SIDEBAND), &(*out)->assumed,
                         "sideband -1: taken from the second Nyquist zone that CHIME samples; the "
                         "files do not say");
}

const struct format chime_raw_format = {
    .name = "chime_raw",
    .shows = {"baseband", "@freq", "@time0_fpga_count", "@delta_time"},
    .open = chime_raw_open};

/* CHIME/FRB's beamformed baseband (BBData, "singlebeam"): /tiedbeam_baseband [freq][beam * pol]
 * [time], of which each coarse channel has a start of its own (baseband_analysis, core/bbdata.py).
 * Channels that are missing are absent, times that are missing are NaN. */
static const char beam_title[] = "a CHIME/FRB beamformed baseband file";
static const char data[] = "tiedbeam_baseband";

/* When each coarse channel begins. */
struct chime_beam {
    hsize_t dims[3];
    uint64_t *counts; /* [dims[0]], samples */
    uint64_t first;   /* the least of them */
    int64_t conjugate;
};

/* The loader of its writers takes the complex conjugate where this is not 1, and what it gives has
 * frequency fall with phase: so samples as they are stored rise then. */
static int chime_beam_sideband(const struct chime_beam *said)
{
    return said->conjugate == 1 ? -1 : 1;
}

/* Starts of coarse channels as counts and as times, since the earliest. */
static status_t chime_beam_compare_starts(const struct fields *f, const struct chime_beam *said,
                                          const double *ctimes, const double *offsets,
                                          size_t earliest)
{
    const double rate = f->own.time.sample_rate_hz;
    for (size_t i = 0; i < said->dims[0]; i++) {
        double counted = (double)(said->counts[i] - said->first) / rate;
        double timed = ctimes[i] - ctimes[earliest] + (offsets[i] - offsets[earliest]);
        REQUIRE(fabs(counted - timed) * rate <= 2, STATUS_DATA,
                "%s: /time0: coarse channel %zu begins %.9g s after the first by fpga_count and "
                "delta_time, but %.9g s by ctime: input.layout.sample_rate_hz says what is right",
                f->path, i, counted, timed);
    }
    return STATUS_OK;
}

static status_t chime_beam_read_starts(struct fields *f, struct chime_beam *said)
{
    SCOPED(free_at) double *ctimes = NULL;
    SCOPED(free_at) double *offsets = NULL;
    size_t count[3] = {0};
    size_t earliest = 0;
    size_t latest = 0;
    TRY(fields_u64s(f, "time0", "fpga_count", &said->counts, &count[0]));
    TRY(fields_f64s(f, "time0", "ctime", &ctimes, &count[1]));
    TRY(fields_f64s(f, "time0", "ctime_offset", &offsets, &count[2]));
    REQUIRE(count[0] == said->dims[0] && count[0] > 0, STATUS_DATA,
            "%s: /time0 has %zu values, /%s %" PRIu64 " coarse channels", f->path, count[0], data,
            (uint64_t)said->dims[0]);
    for (size_t i = 0; i < count[0]; i++) {
        REQUIRE(said->counts[i] < UINT64_C(1) << 62, STATUS_DATA,
                "%s: /time0: fpga_count of coarse channel %zu is %" PRIu64
                ", expected a count of samples",
                f->path, i, said->counts[i]);
        earliest = said->counts[i] < said->counts[earliest] ? i : earliest;
        latest = said->counts[i] > said->counts[latest] ? i : latest;
    }
    REQUIRE(said->counts[latest] - said->counts[earliest] < UINT64_C(1) << 40, STATUS_DATA,
            "%s: /time0: coarse channels begin at samples %" PRIu64 " to %" PRIu64
            ", more than a month apart",
            f->path, said->counts[earliest], said->counts[latest]);
    said->first = said->counts[earliest];
    TRY(override_has_rate(f->layout)
            ? STATUS_OK
            : chime_beam_compare_starts(f, said, ctimes, offsets, earliest));
    return chime_start(f, "ctime of /time0", ctimes[earliest], offsets[earliest]);
}

/* Numbers of channels that are not all alike, which no writer of them leaves. */
static status_t chime_beam_check_numbers(const struct fields *f)
{
    SCOPED(free_at) uint64_t *numbers = NULL;
    size_t count = 0;
    int differ = 0;
    TRY(fields_u64s(f, "index_map/freq", "id", &numbers, &count));
    for (size_t i = 1; i < count; i++) {
        differ = differ || numbers[i] != numbers[0];
    }
    return differ ? chime_check_numbers(f, numbers, count) : STATUS_OK;
}

static status_t chime_beam_fill(struct fields *f, struct chime_beam *said)
{
    TRY(fields_shape(f, data, 3, said->dims));
    TRY(fields_i64(f, data, "conjugate_beamform", &said->conjugate, NULL));
    TRY(fields_set_words(
        f, data, said->dims[1] % 2 == 0 ? "chan,beam*pol:2,time" : "chan,beam,time", "CHIME"));
    f->own.has_sideband = 1;
    f->own.sideband = chime_beam_sideband(said);
    f->own.time.has_sample_rate = 1;
    TRY(chime_rate(f, &f->own.time.sample_rate_hz));
    TRY(chime_beam_read_starts(f, said));
    TRY(fields_set_frequencies(f, "index_map/freq", "centre"));
    TRY(chime_hertz(f, "centre of /index_map/freq"));
    return chime_beam_check_numbers(f);
}

/* One place on the sky, if all beams have it; names of the two polarisations. */
static status_t chime_beam_read_locations(const struct fields *f, struct archive *archive)
{
    static const char name[] = "tiedbeam_locations";
    SCOPED(free_at) double *ra = NULL;
    SCOPED(free_at) double *dec = NULL;
    SCOPED(h5_names_free) struct h5_names pols = {0};
    size_t count[2] = {0};
    int is_there = 0;
    TRY(h5_has(f->file, f->path, name, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(fields_f64s(f, name, "ra", &ra, &count[0]));
    TRY(fields_f64s(f, name, "dec", &dec, &count[1]));
    TRY(fields_texts(f, name, "pol", &pols.names, &pols.count));
    int is_one = count[0] > 0 && isfinite(ra[0]) && isfinite(dec[0]);
    for (size_t i = 1; i < count[0]; i++) {
        is_one = is_one && ra[i] == ra[0] && dec[i] == dec[0];
    }
    archive->sky.has_position = is_one;
    archive->sky.ra_deg = is_one ? ra[0] : 0;
    archive->sky.dec_deg = is_one ? dec[0] : 0;
    if (archive->present[AXIS_POL] && pols.count >= 2 && *pols.names[0] && *pols.names[1] &&
        strcmp(pols.names[0], pols.names[1]) != 0) {
        TRY(gather_name(archive, AXIS_POL, 2, 0, pols.names[0]));
        TRY(gather_name(archive, AXIS_POL, 2, 1, pols.names[1]));
    }
    return STATUS_OK;
}

/* Splits the archive's one part into one for each coarse channel. */
static status_t chime_beam_split(const struct chime_beam *said, struct archive *archive)
{
    struct archive_part *parts = NULL;
    uint64_t samples = archive->parts[0].samples;
    uint64_t latest = said->first;
    size_t count = (size_t)said->dims[0];
    TRY(memory_zeroed(count, sizeof *parts, "coarse channels", &parts));
    for (size_t i = 0; i < count; i++) {
        parts[i].origin = parts[i].stack = i;
        parts[i].samples = samples;
        parts[i].first_sample = said->counts[i] - said->first;
        latest = max_u64(latest, said->counts[i]);
    }
    TRY(cut_parts(archive, parts, count));
    archive->shape.stacked = AXIS_CHAN;
    archive->shape.dims[0].size = 1;
    archive->count[AXIS_TIME] = latest - said->first + samples;
    return STATUS_OK;
}

SCOPED_CALLS(chime_beam_free, struct chime_beam, free(at->counts))

static status_t chime_beam_read(struct fields *f, void *context)
{
    SCOPED(chime_beam_free) struct chime_beam said = {.counts = NULL};
    double dm = 0;
    (void)context;
    TRY(chime_beam_fill(f, &said));
    TRY(chime_note_rate(f));
    TRY(fields_describe(f, "CHIME/FRB beamformed baseband"));
    TRY(chime_beam_read_locations(f, f->archive));
    TRY(fields_f64(f, data, "DM", &dm, NULL));
    TRY(fields_note_coherent(f, dm));
    TRY(assume_unless(override_has(f->layout, SAID_SIDEBAND), &f->archive->assumed,
                      "sideband %+d: conjugate_beamform is %s, as its writers' loader reads it",
                      chime_beam_sideband(&said), said.conjugate == 1 ? "1" : "0 or not there"));
    return chime_beam_split(&said, f->archive);
}

static status_t chime_beam_open(const struct format_input *input, struct archive **out)
{
    REQUIRE(input->npaths == 1, STATUS_DATA,
            "%s and %s: of %s each file is an observation of its own", input->paths[0],
            input->paths[1], beam_title);
    return fields_make_file(input->paths[0], beam_title, input->layout, chime_beam_read, NULL, out);
}

const struct format chime_beam_format = {
    .name = "chime_beam",
    .shows = {"tiedbeam_baseband", "index_map/freq", "time0", "@delta_time"},
    .open = chime_beam_open};
