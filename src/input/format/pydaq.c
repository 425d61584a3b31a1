/* SKA-Low's data acquisition (pydaq: AAVS, EDA2): channelised voltages of the antennas of a tile,
 * /chan_/data [time][chan * antenna * pol], raw ones, /raw_/data [antenna * pol][time], and those
 * of station beams, /polarization_p/data [time][chan] for each polarisation
 * (ska-telescope/ska-low-mccs-daq, pydaq/persisters). */
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/lost.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char title[] = "a pydaq file of SKA-Low";
static const double chan_spacing_hz = 400e6 / 512;
static const double raw_rate_hz = 800e6;
enum { CHANNELS = 512, OVERSAMPLING_NUM = 32, OVERSAMPLING_DEN = 27 };
enum { TYPE_RAW = 1, TYPE_CHANNEL = 2, TYPE_STATION_BEAM = 5 };

/* Attributes of /root. */
struct pydaq {
    int64_t antennas, pols, chans, samples, blocks, channel, type;
    int64_t pol; /* that is read, of a station beam */
    double start, tsamp;
    int is_start_unset;     /* ts_start is 0 */
    const char *start_name; /* of the attribute that `start` is of */
    double end;             /* 0: it does not say */
    double first;           /* of /sample_timestamps; 0: there are none */
    double timestamp;       /* of the file; 0: it does not say */
};

/* The first of the times of samples, where there are any; of a truncated file none. */
static status_t pydaq_read_first(const struct fields *f, double *first)
{
    static const char name[] = "sample_timestamps/data";
    SCOPED(h5_dataset_close) struct h5_dataset times = {0};
    const hsize_t place[2] = {0, 0};
    const hsize_t one[2] = {1, 1};
    struct stat info;
    int is_there = 0;
    if (stat(f->path, &info) != 0 || h5_is_cut(f->file, (uint64_t)info.st_size)) {
        return STATUS_OK;
    }
    TRY(h5_has(f->file, f->path, name, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(f->file, f->path, name, &times));
    if (times.rank != 2 || times.count == 0 || H5Tget_class(times.type) != H5T_FLOAT) {
        return STATUS_OK;
    }
    TRY(h5_refuse_external(times.id, f->path, name));
    return h5_dataset_read_part(&times, place, one, H5T_NATIVE_DOUBLE, first, "%s: %s", f->path,
                                name);
}

/* Times that are there twice; which of them is kept up depends on the version of the writer. */
static status_t pydaq_note_times(const struct pydaq *said, struct archive *archive)
{
    double block = (double)said->samples * said->tsamp;
    double held = (double)said->blocks * block;
    double stated = said->end - said->start;
    TRY(assume_if(said->is_start_unset, &archive->assumed,
                  "ts_start is 0, timestamp %.17g s of 1970: timestamp is used", said->timestamp));
    TRY(assume_if(said->end > 0 && (stated > held + block || stated < held - 1.5 * block),
                  &archive->assumed,
                  "ts_start to ts_end are %.9g s, %" PRId64 " blocks of %" PRId64
                  " samples %.9g s: ts_start and the samples are used",
                  stated, said->blocks, said->samples, held));
    TRY(assume_if(said->first > 0 && fabs(said->first - said->start) > 0.5, &archive->assumed,
                  "ts_start is %.17g s of 1970, the first of /sample_timestamps %.17g s: "
                  "ts_start is used",
                  said->start, said->first));
    return assume_if(said->timestamp > 0 && said->timestamp > said->start + fmax(1, held),
                     &archive->assumed,
                     "ts_start is %.17g s of 1970, timestamp %.17g s: ts_start is used",
                     said->start, said->timestamp);
}

/* Reads `timestamp`, which replaces ts_start if that is missing or was never set. */
static status_t pydaq_read_timestamp(const struct fields *f, int has_start, struct pydaq *out)
{
    TRY(has_start ? fields_f64(f, "root", "timestamp", &out->timestamp, NULL)
                  : fields_need_f64(f, "root", "timestamp", &out->timestamp));
    out->is_start_unset = has_start && out->start == 0 && out->timestamp > 0;
    int is_other = !has_start || out->is_start_unset;
    out->start_name = is_other ? "timestamp" : "ts_start";
    out->start = is_other ? out->timestamp : out->start;
    return STATUS_OK;
}

static status_t pydaq_read_root(const struct fields *f, struct pydaq *out)
{
    int found = 0;
    TRY(fields_need_i64(f, "root", "type", &out->type));
    TRY(fields_need_i64(f, "root", "n_antennas", &out->antennas));
    TRY(fields_need_i64(f, "root", "n_pols", &out->pols));
    TRY(fields_need_i64(f, "root", "n_chans", &out->chans));
    TRY(fields_need_i64(f, "root", "n_samples", &out->samples));
    TRY(fields_need_i64(f, "root", "n_blocks", &out->blocks));
    TRY(fields_need_i64(f, "root", "channel_id", &out->channel));
    TRY(fields_need_f64(f, "root", "tsamp", &out->tsamp));
    TRY(fields_f64(f, "root", "ts_start", &out->start, &found));
    TRY(pydaq_read_timestamp(f, found, out));
    TRY(fields_f64(f, "root", "ts_end", &out->end, NULL));
    TRY(pydaq_read_first(f, &out->first));
    REQUIRE(out->type == TYPE_RAW || out->type == TYPE_CHANNEL || out->type == TYPE_STATION_BEAM,
            STATUS_DATA,
            "%s: /root says type %" PRId64 ": of pydaq files those of voltages are read, raw (1), "
            "channelised (2) and of station beams (5)",
            f->path, out->type);
    REQUIRE(out->antennas > 0 && out->antennas < 65536 && out->pols > 0 && out->pols <= 4 &&
                out->chans > 0 && out->chans <= 65536,
            STATUS_DATA,
            "%s: /root says %" PRId64 " antennas, %" PRId64 " polarisations, %" PRId64
            " channels: expected 1 or more of each",
            f->path, out->antennas, out->pols, out->chans);
    REQUIRE(out->samples > 0 && out->blocks > 0 && out->samples < INT64_C(1) << 31 &&
                out->blocks < INT64_C(1) << 31,
            STATUS_DATA, "%s: /root says %" PRId64 " blocks of %" PRId64 " samples", f->path,
            out->blocks, out->samples);
    return REQUIRED(out->tsamp > 0 && out->tsamp < 1 && out->start >= 0 && out->start < 1e12,
                    STATUS_DATA, "%s: /root says one sample in %g s, the first at %g s of 1970",
                    f->path, out->tsamp, out->start);
}

/* The clock runs at 800 MHz, so that rates are whole numbers of ticks. */
static double pydaq_rate(double tsamp)
{
    double ticks = round(tsamp * 800e6);
    return ticks >= 1 && fabs(ticks / 800e6 - tsamp) < 1e-6 * tsamp ? 800e6 / ticks : 1 / tsamp;
}

/* Polarisations of station beams are datasets of their own. */
static status_t pydaq_fill(struct fields *f, const struct pydaq *said)
{
    int is_raw = said->type == TYPE_RAW;
    struct job_layout *own = &f->own;
    if (said->type == TYPE_STATION_BEAM) {
        TRY(memory_format(&own->dataset, "polarization_%" PRId64 "/data", said->pol));
        TRY(memory_text("time,chan", &own->axes));
        own->has_domain = 1; /* integrated beams hold power */
        own->is_complex = 1;
    } else if (is_raw) {
        TRY(memory_text("raw_/data", &own->dataset));
        TRY(memory_format(&own->axes, "station:%" PRId64 "*pol:%" PRId64 ",time", said->antennas,
                          said->pols));
    } else {
        TRY(memory_text("chan_/data", &own->dataset));
        TRY(memory_format(&own->axes, "time,chan:%" PRId64 "*station:%" PRId64 "*pol:%" PRId64,
                          said->chans, said->antennas, said->pols));
    }
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = pydaq_rate(said->tsamp);
    TRY(fields_set_start(f, said->start_name, (int64_t)said->start,
                         said->start - floor(said->start)));
    TRY(layout_make_frequencies(own, is_raw ? 1 : (uint32_t)said->chans));
    if (is_raw) {
        own->freq.hz[0] = own->time.sample_rate_hz / 4;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < own->freq.count; i++) {
        own->freq.hz[i] = ((double)said->channel + i) * chan_spacing_hz;
    }
    own->has_oversampling = 1;
    own->oversample = (struct ratio){OVERSAMPLING_NUM, OVERSAMPLING_DEN};
    return STATUS_OK;
}

/* Files are made longer than what is in them: blocks that were written count. */
static status_t pydaq_cut(const struct pydaq *said, struct archive *archive)
{
    struct archive_part *part = &archive->parts[0];
    uint64_t valid = (uint64_t)said->samples * (uint64_t)said->blocks;
    REQUIRE(valid <= part->samples, STATUS_DATA,
            "%s: /root says %" PRId64 " blocks of %" PRId64 " samples, but %s contains %" PRIu64
            " times",
            part->path, said->blocks, said->samples, archive->dataset, part->samples);
    return cut_time(archive, valid);
}

/* A dataset has all its streams side by side. Raw files are of the whole band, whatever n_chans is;
 * those of station beams have a dataset for each polarisation. */
static status_t pydaq_check_shape(const struct fields *f, const struct pydaq *said)
{
    int is_raw = said->type == TYPE_RAW;
    const char *dataset = f->own.dataset;
    int is_there = 0;
    hsize_t dims[2];
    TRY(h5_has(f->file, f->path, dataset, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(fields_shape(f, dataset, 2, dims));
    if (said->type == TYPE_STATION_BEAM) {
        return REQUIRED(dims[1] == (hsize_t)said->chans, STATUS_DATA,
                        "%s: n_chans = %" PRId64 ", but %s has %" PRIu64 " channels", f->path,
                        said->chans, dataset, (uint64_t)dims[1]);
    }
    int64_t chans = is_raw ? 1 : said->chans;
    hsize_t streams = dims[is_raw ? 0 : 1];
    REQUIRE(streams == (hsize_t)(said->antennas * said->pols * chans), STATUS_DATA,
            "%s: n_antennas = %" PRId64 ", n_pols = %" PRId64 " and %" PRId64
            " channels%s are not the %" PRIu64 " streams of %s [%" PRIu64 "][%" PRIu64 "]",
            f->path, said->antennas, said->pols, chans, is_raw ? "" : " (n_chans)",
            (uint64_t)streams, dataset, (uint64_t)dims[0], (uint64_t)dims[1]);
    return assume_unless(said->chans == chans, &f->archive->assumed,
                         "n_chans = %" PRId64 " and raw samples, which are of the "
                         "whole band, differ: n_chans is ignored",
                         said->chans);
}

static status_t pydaq_read(struct fields *f, void *context)
{
    const struct pydaq *said = context;
    const char *name = said->type == TYPE_RAW       ? "pydaq, raw"
                       : said->type == TYPE_CHANNEL ? "pydaq, channelised"
                                                    : "pydaq, station beam";
    TRY(pydaq_fill(f, said));
    TRY(f->layout->axes ? STATUS_OK : pydaq_check_shape(f, said));
    TRY(fields_describe(f, name));
    /* The spacing of coarse channels, and by how much they are oversampled, are the telescope's;
     * their numbers count from 0 Hz on. */
    double rate = said->type == TYPE_RAW
                      ? raw_rate_hz
                      : chan_spacing_hz * (double)OVERSAMPLING_NUM / (double)OVERSAMPLING_DEN;
    REQUIRE(override_has_spacing(f->layout) || override_has(f->layout, SAID_OVERSAMPLING) ||
                fabs(said->tsamp * rate - 1) < 1e-3,
            STATUS_DATA,
            "%s: /root says tsamp %.9g s, but samples of type %" PRId64 " are %.9g s apart: "
            "input.layout.sample_rate_hz says which is right",
            f->path, said->tsamp, said->type, 1 / rate);
    REQUIRE(said->type == TYPE_RAW || override_has_frequencies(f->layout) ||
                (said->channel >= 0 && said->channel < CHANNELS &&
                 said->channel + said->chans <= CHANNELS),
            STATUS_DATA,
            "%s: channel_id %" PRId64 " and n_chans %" PRId64 " are no coarse channels of the "
            "0 .. %d of SKA-Low: input.layout.freq_hz says their frequencies",
            f->path, said->channel, said->chans, CHANNELS - 1);
    TRY(pydaq_cut(said, f->archive));
    return override_has(f->layout, SAID_START) || !f->archive->sky.has_start
               ? STATUS_OK
               : pydaq_note_times(said, f->archive);
}

static status_t pydaq_open_file(const char *path, const struct job_layout *layout,
                                struct archive **out)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    struct pydaq said = {0};
    TRY(fields_open(path, title, layout, &fields));
    TRY(pydaq_read_root(&fields, &said));
    REQUIRE(said.type != TYPE_STATION_BEAM, STATUS_DATA,
            "%s is of a station beam, the files before it are of antennas", path);
    return fields_make(&fields, pydaq_read, &said, out);
}

/* Polarisations of station beams: datasets side by side, in files that follow each other. `begin`:
 * of the first file. */
static status_t pydaq_open_beam(const char *path, const struct job_layout *layout, double *begin,
                                struct places *places)
{
    static const char *const names[] = {"0", "1", "2", "3"};
    SCOPED(fields_close) struct fields fields = {.file = -1};
    struct pydaq said = {0};
    SCOPED(free_at) char *next = NULL;
    int has_next = 0;
    TRY(fields_open(path, title, layout, &fields));
    TRY(pydaq_read_root(&fields, &said));
    REQUIRE(said.type == TYPE_STATION_BEAM, STATUS_DATA,
            "%s is of antennas (type %" PRId64 "), the files before it are of a station beam", path,
            said.type);
    TRY(memory_format(&next, "polarization_%" PRId64, said.pols));
    TRY(h5_has(fields.file, path, next, &has_next));
    REQUIRE(!has_next, STATUS_DATA, "%s: n_pols = %" PRId64 ", but %s is there, too", path,
            said.pols, next);
    *begin = places->count == 0 ? said.start : *begin;
    double after = (said.start - *begin) * pydaq_rate(said.tsamp);
    REQUIRE(fabs(after) < 2e18, STATUS_DATA,
            "%s has %" PRId64 " polarisations, and starts at %.17g s of 1970", path, said.pols,
            said.start);
    for (; said.pol < said.pols; said.pol++) {
        struct place *place = NULL;
        TRY(places_add(places, &place));
        TRY(fields_make(&fields, pydaq_read, &said, &place->archive));
        place->stack = (uint64_t)said.pol;
        place->first_sample = (UINT64_C(1) << 62) + (uint64_t)llround(after);
        struct archive *archive = place->archive;
        archive->shape.stacked = AXIS_POL;
        TRY(memory_text(archive->dataset, &archive->parts[0].dataset));
        TRY(gather_name(archive, AXIS_POL, 1, 0, names[said.pol]));
    }
    return STATUS_OK;
}

static status_t pydaq_open_beams(const struct format_input *input, struct archive **out)
{
    SCOPED(places_free) struct places places = {0};
    double begin = 0;
    for (size_t i = 0; i < input->npaths; i++) {
        TRY(pydaq_open_beam(input->paths[i], input->layout, &begin, &places));
    }
    TRY(place_join(&places, PLACE_NEAR, out));
    return assume_unless(override_has_frequencies(input->layout), &(*out)->assumed,
                         "frequencies: channel_id is taken for the number of the first "
                         "coarse channel");
}

static status_t pydaq_open(const struct format_input *input, struct archive **out)
{
    static const char *const names[] = {"polarization_0/data", NULL};
    int is_beam = 0;
    TRY(fields_have(input->paths[0], names, &is_beam));
    TRY(is_beam ? pydaq_open_beams(input, out) : gather_files(input, &pydaq_format, out));
    return assume_unless(override_has(input->layout, SAID_SIDEBAND) || !(*out)->is_complex,
                         &(*out)->assumed, "sideband +1: the file does not say");
}

const struct format pydaq_format = {
    .name = "pydaq",
    .shows = {"root@n_antennas", "root@n_pols", "root@tsamp", "root@n_blocks"},
    .open = pydaq_open,
    .open_file = pydaq_open_file};
