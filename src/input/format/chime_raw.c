/* CHIME's raw baseband: a file for each coarse channel, /baseband [time][input], 4+4 bits, 0 for
 * what is missing (kotekan, python/kotekan/scripts/baseband_archiver.py; decoded as in
 * baseband_analysis, core/_accel.pyx). Files follow the dispersion of a burst, so that each begins
 * at a sample of its own. */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/chime.h"
#include "input/format/formats.h"
#include "input/format/override.h"
#include "input/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "a CHIME raw baseband file";
static const double rate_hz = 390625; /* 800 MHz / 2048, one every 2.56 us */
static const double band_hz[2] = {400e6, 800e6};

status_t chime_rate(const struct fields *fields, double *rate)
{
    status_t st = STATUS_OK;
    double step = 0;
    TRY(fields_need_f64(fields, "/", "delta_time", &step));
    REQUIRE(step > 0 && step < 1, STATUS_DATA, "%s: delta_time is %g s, expected 2.56e-06 s",
            fields->path, step);
    *rate = fabs(step * rate_hz - 1) < 1e-9 ? rate_hz : 1 / step;
out:
    return st;
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

status_t chime_hertz(const struct fields *fields, const char *name, const struct job_layout *layout,
                     double *freq, size_t count, char **assumed)
{
    enum { UNITS = 4 };
    static const struct {
        const char *name;
        double hz;
    } units[UNITS] = {{"MHz", 1e6}, {"Hz", 1}, {"kHz", 1e3}, {"GHz", 1e9}};
    status_t st = STATUS_OK;
    int is_said = override_has_frequencies(layout);
    size_t beyond = chime_first_beyond(freq, count, units[0].hz);
    size_t unit = 0;
    while (unit < UNITS && chime_first_beyond(freq, count, units[unit].hz) < count) {
        unit++;
    }
    REQUIRE(unit < UNITS || is_said, STATUS_DATA,
            "%s: %s: %.12g MHz is beyond the 400 to 800 MHz of CHIME: input.layout.freq_hz says "
            "the frequencies",
            fields->path, name, freq[beyond]);
    TRY(unit == 0 || is_said ? STATUS_OK
                             : assume(assumed,
                                      "%s: %.12g MHz is beyond the 400 to 800 MHz of CHIME: taken "
                                      "for %s",
                                      name, freq[beyond], units[unit].name));
    for (size_t i = 0; i < count; i++) {
        freq[i] *= units[unit < UNITS ? unit : 0].hz;
    }
out:
    return st;
}

status_t chime_check_numbers(const struct fields *fields, const struct job_layout *layout,
                             const struct job_layout *own, const uint64_t *numbers, size_t count)
{
    status_t st = STATUS_OK;
    int is_said = override_has_spacing(layout);
    for (size_t i = 0; i < count && count == own->freq.count && !is_said; i++) {
        double expected = band_hz[1] - (double)numbers[i] * own->time.sample_rate_hz;
        REQUIRE(fabs(own->freq.hz[i] - expected) <= 0.01 * own->time.sample_rate_hz, STATUS_DATA,
                "%s: coarse channel %" PRIu64 " is at %.12g MHz, but at %.12g MHz by its number "
                "and delta_time, %.9g s: input.layout.sample_rate_hz or freq_hz says what is right",
                fields->path, numbers[i], own->freq.hz[i] / 1e6, expected / 1e6,
                1 / own->time.sample_rate_hz);
    }
out:
    return st;
}

status_t chime_note_rate(double rate, const struct job_layout *layout, struct archive *archive)
{
    return override_has_rate(layout) || rate == rate_hz
               ? STATUS_OK
               : assume(&archive->assumed,
                        "delta_time is %.9g s, CHIME's samples are 2.56e-06 s apart: delta_time is "
                        "used",
                        1 / rate);
}

status_t chime_start(const struct fields *fields, const char *name, double ctime, double offset,
                     const struct job_layout *layout, struct job_layout *own, char **assumed)
{
    status_t st = STATUS_OK;
    REQUIRE(ctime >= 0 && ctime < 1e12 && fabs(offset) < 1, STATUS_DATA,
            "%s: its time is %.17g s with an offset of %g s, expected seconds since 1970",
            fields->path, ctime, offset);
    TRY(fields_start(name, (int64_t)ctime, ctime - floor(ctime), layout, own, assumed));
    own->time.start = utc_add(own->time.start, offset);
out:
    return st;
}

static status_t chime_raw_recognise(const char *path, int *is_it)
{
    static const char *const names[] = {"baseband", "@freq", "@time0_fpga_count", "@delta_time",
                                        NULL};
    return fields_have(path, names, is_it);
}

/* Inputs have serial numbers; what is no name for each is none at all. */
static status_t chime_raw_read_inputs(const struct fields *fields, struct archive *archive)
{
    status_t st = STATUS_OK;
    char **names = NULL;
    size_t count = 0;
    TRY(fields_texts(fields, "index_map/input", "correlator_input", &names, &count));
    int is_named = count > 0;
    for (size_t i = 0; i < count && is_named; i++) {
        is_named = *names[i] && (i == 0 || strcmp(names[i], names[i - 1]) != 0);
    }
    if (is_named) {
        archive->names[AXIS_STATION] = names;
        archive->count[AXIS_STATION] = count;
        names = NULL;
    }
out:
    h5_free_texts(names, count);
    return st;
}

static status_t chime_raw_fill(const struct fields *fields, const struct job_layout *layout,
                               struct job_layout *own, char **assumed)
{
    status_t st = STATUS_OK;
    double ctime = 0;
    double offset = 0;
    int64_t number = 0;
    int found = 0;
    TRY(memory_text("baseband", &own->dataset));
    TRY(memory_text("time,station", &own->axes));
    TRY(memory_text("CHIME", &own->sky.telescope));
    own->numbers.has_packing = 1;
    own->numbers.packing.nibbles = (struct nibbles){.offset_binary = 1, .high_is_real = 1};
    own->numbers.has_missing_value = 1;
    own->has_sideband = 1;
    own->sideband = -1;
    own->time.has_sample_rate = 1;
    TRY(chime_rate(fields, &own->time.sample_rate_hz));
    TRY(fields_need_f64(fields, "/", "time0_ctime", &ctime));
    TRY(fields_f64(fields, "/", "time0_ctime_offset", &offset, &found));
    TRY(chime_start(fields, "time0_ctime", ctime, offset, layout, own, assumed));
    own->freq.count = 1;
    TRY(memory_zeroed(1, sizeof *own->freq.hz, "frequencies", &own->freq.hz));
    TRY(fields_need_f64(fields, "/", "freq", own->freq.hz));
    TRY(chime_hertz(fields, "freq", layout, own->freq.hz, 1, assumed));
    TRY(fields_i64(fields, "/", "freq_id", &number, &found));
    TRY(chime_check_numbers(fields, layout, own, &(uint64_t){(uint64_t)number}, (size_t)found));
out:
    return st;
}

static status_t chime_raw_open_file(const char *path, const struct format_input *input,
                                    const struct job_layout *layout, int64_t *event,
                                    struct place *place)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct archive *archive = NULL;
    struct job_layout own = {0};
    int64_t count = 0;
    int found = 0;
    TRY(archive_create(path, &archive));
    TRY(fields_open(path, title, &fields));
    TRY(chime_raw_fill(&fields, input->layout, &own, &archive->assumed));
    TRY(chime_note_rate(own.time.sample_rate_hz, layout, archive));
    TRY(chime_raw_read_inputs(&fields, archive));
    TRY(fields_need_i64(&fields, "/", "time0_fpga_count", &count));
    REQUIRE(count >= 0 && count < INT64_C(1) << 62, STATUS_DATA,
            "%s: time0_fpga_count is %" PRId64 ", expected a count of samples", path, count);
    TRY(fields_i64(&fields, "/", "event_id", event, &found));
    *event = found ? *event : -1;
    TRY(fields_describe(&fields, "CHIME raw baseband", layout, &own, archive));
    archive->shape.stacked = AXIS_CHAN;
    place->archive = archive;
    place->first_sample = (uint64_t)count;
    archive = NULL;
out:
    override_free(&own);
    archive_destroy(archive);
    fields_close(&fields);
    return st;
}

/* Counts and times of two files; times may be when packets came. */
static status_t chime_raw_compare_starts(const struct place *first, const struct place *next)
{
    status_t st = STATUS_OK;
    const struct archive *archive = first->archive;
    double counted =
        ((double)next->first_sample - (double)first->first_sample) / archive->sample_rate_hz;
    double timed = utc_difference(next->archive->sky.start, archive->sky.start);
    if (archive->sky.has_start && next->archive->sky.has_start &&
        fabs(counted - timed) * archive->sample_rate_hz > 2) {
        TRY(assume(&next->archive->assumed,
                   "it starts %.9g s after the first file by time0_fpga_count, %.9g s by "
                   "time0_ctime: the counts are used",
                   counted, timed));
    }
out:
    return st;
}

static status_t chime_raw_open_files(const struct format_input *input,
                                     const struct job_layout *layout, struct place *places)
{
    status_t st = STATUS_OK;
    int64_t first_event = -1;
    for (size_t i = 0; i < input->npaths; i++) {
        int64_t event = -1;
        TRY(chime_raw_open_file(input->paths[i], input, layout, &event, &places[i]));
        REQUIRE(i == 0 || event == first_event, STATUS_DATA,
                "%s is of event %" PRId64 ", %s of event %" PRId64
                ": they do not belong to one observation",
                input->paths[i], event, input->paths[0], first_event);
        first_event = event;
        places[i].stack = i;
        TRY(override_has(input->layout, SAID_START)
                ? STATUS_OK
                : chime_raw_compare_starts(&places[0], &places[i]));
        double freq = places[i].archive->freq_hz[0];
        for (size_t j = 0; j < i; j++) {
            REQUIRE(places[j].archive->freq_hz[0] != freq, STATUS_DATA,
                    "%s and %s are both of the coarse channel at %.9g MHz", input->paths[j],
                    input->paths[i], freq / 1e6);
        }
    }
out:
    return st;
}

static status_t chime_raw_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct place *places = NULL;
    struct archive *archive = NULL;
    /* A list of frequencies is for all files. */
    struct job_layout layout = *input->layout;
    layout.freq.count = 0;
    layout.freq.rule.has_start = 0;
    TRY(memory_zeroed(input->npaths, sizeof *places, "input files", &places));
    TRY(chime_raw_open_files(input, &layout, places));
    TRY(place_join(places, input->npaths, PLACE_ANY, &archive));
    TRY(fields_override_frequencies(input->layout, archive));
    TRY(override_has(&layout, SAID_SIDEBAND)
            ? STATUS_OK
            : assume(&archive->assumed,
                     "sideband -1: taken from the second Nyquist zone that CHIME "
                     "samples; the files do not say"));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    for (size_t i = 0; places && i < input->npaths; i++) {
        archive_destroy(places[i].archive);
    }
    free(places);
    return st;
}

const struct format chime_raw_format = {
    .name = "chime_raw", .title = title, .recognise = chime_raw_recognise, .open = chime_raw_open};
