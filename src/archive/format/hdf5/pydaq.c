/* SKA-Low's data acquisition (pydaq: AAVS, EDA2): channelised voltages of the antennas of a tile,
 * /chan_/data [time][chan * antenna * pol], and raw ones, /raw_/data [antenna * pol][time]
 * (ska-telescope/ska-low-mccs-daq, pydaq/persisters). */
#include "archive/cut.h"
#include "archive/format/formats.h"
#include "archive/format/gather.h"
#include "archive/format/hdf5/fields.h"
#include "archive/format/override.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "a pydaq file of SKA-Low";
static const double chan_spacing_hz = 400e6 / 512;
enum { OVERSAMPLING_NUM = 32, OVERSAMPLING_DEN = 27, TYPE_RAW = 1, TYPE_CHANNEL = 2 };

/* What /root says. */
struct pydaq {
    int64_t antennas, pols, chans, samples, blocks, channel, type;
    double start, tsamp;
};

static status_t pydaq_recognise(const char *path, int *is_it)
{
    static const char *const names[] = {"root@n_antennas", "root@n_pols", "root@tsamp",
                                        "root@n_blocks", NULL};
    return fields_have(path, names, is_it);
}

static status_t pydaq_read_root(const struct fields *fields, struct pydaq *out)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(fields_need_i64(fields, "root", "type", &out->type));
    TRY(fields_need_i64(fields, "root", "n_antennas", &out->antennas));
    TRY(fields_need_i64(fields, "root", "n_pols", &out->pols));
    TRY(fields_need_i64(fields, "root", "n_chans", &out->chans));
    TRY(fields_need_i64(fields, "root", "n_samples", &out->samples));
    TRY(fields_need_i64(fields, "root", "n_blocks", &out->blocks));
    TRY(fields_need_i64(fields, "root", "channel_id", &out->channel));
    TRY(fields_need_f64(fields, "root", "tsamp", &out->tsamp));
    TRY(fields_f64(fields, "root", "ts_start", &out->start, &found));
    TRY(found ? STATUS_OK : fields_need_f64(fields, "root", "timestamp", &out->start));
    REQUIRE(out->type == TYPE_RAW || out->type == TYPE_CHANNEL, STATUS_DATA,
            "%s: /root says type %" PRId64 ": of pydaq files those of voltages of antennas are "
            "read, raw (1) and channelised (2)",
            fields->path, out->type);
    REQUIRE(out->antennas > 0 && out->antennas < 65536 && out->pols > 0 && out->pols <= 4 &&
                out->chans > 0 && out->chans <= 65536,
            STATUS_DATA,
            "%s: /root says %" PRId64 " antennas, %" PRId64 " polarisations, %" PRId64
            " channels: expected 1 or more of each",
            fields->path, out->antennas, out->pols, out->chans);
    REQUIRE(out->samples > 0 && out->blocks > 0 && out->samples < INT64_C(1) << 31 &&
                out->blocks < INT64_C(1) << 31,
            STATUS_DATA, "%s: /root says %" PRId64 " blocks of %" PRId64 " samples", fields->path,
            out->blocks, out->samples);
    REQUIRE(out->tsamp > 0 && out->tsamp < 1 && out->start >= 0 && out->start < 1e12, STATUS_DATA,
            "%s: /root says one sample in %g s, the first at %g s of 1970", fields->path,
            out->tsamp, out->start);
out:
    return st;
}

/* The clock runs at 800 MHz, so that rates are whole numbers of ticks. */
static double pydaq_rate(double tsamp)
{
    double ticks = round(tsamp * 800e6);
    return ticks >= 1 && fabs(ticks / 800e6 - tsamp) < 1e-6 * tsamp ? 800e6 / ticks : 1 / tsamp;
}

static status_t pydaq_fill(const struct pydaq *said, struct job_layout *own)
{
    status_t st = STATUS_OK;
    int is_raw = said->type == TYPE_RAW;
    TRY(memory_text(is_raw ? "raw_/data" : "chan_/data", &own->dataset));
    if (is_raw) {
        TRY(memory_format(&own->axes, "station:%" PRId64 "*pol:%" PRId64 ",time", said->antennas,
                          said->pols));
    } else {
        TRY(memory_format(&own->axes, "time,chan:%" PRId64 "*station:%" PRId64 "*pol:%" PRId64,
                          said->chans, said->antennas, said->pols));
    }
    own->has_sample_rate = 1;
    own->sample_rate_hz = pydaq_rate(said->tsamp);
    own->has_start = 1;
    own->start = fields_unix((int64_t)said->start, said->start - floor(said->start));
    own->nfreq = is_raw ? 1 : (uint32_t)said->chans;
    TRY(memory_zeroed(own->nfreq, sizeof *own->freq_hz, "frequencies", &own->freq_hz));
    if (is_raw) {
        own->freq_hz[0] = own->sample_rate_hz / 4;
        goto out;
    }
    for (uint32_t i = 0; i < own->nfreq; i++) {
        own->freq_hz[i] = ((double)said->channel + i) * chan_spacing_hz;
    }
    own->has_oversampling = 1;
    own->oversampling_num = OVERSAMPLING_NUM;
    own->oversampling_den = OVERSAMPLING_DEN;
out:
    return st;
}

/* Files are made longer than what is in them: blocks that were written count. */
static status_t pydaq_cut(const struct pydaq *said, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_part *part = &archive->parts[0];
    uint64_t valid = (uint64_t)said->samples * (uint64_t)said->blocks;
    REQUIRE(valid <= part->samples, STATUS_DATA,
            "%s: /root says %" PRId64 " blocks of %" PRId64 " samples, but %s holds %" PRIu64
            " times",
            part->path, said->blocks, said->samples, archive->dataset, part->samples);
    TRY(cut_time(archive, valid));
out:
    return st;
}

static status_t pydaq_open_file(const char *path, const struct job_layout *layout,
                                struct archive **out)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct archive *archive = NULL;
    struct job_layout own = {0};
    struct pydaq said = {0};
    TRY(archive_create(path, &archive));
    TRY(fields_open(path, title, &fields));
    TRY(pydaq_read_root(&fields, &said));
    TRY(pydaq_fill(&said, &own));
    TRY(fields_describe(&fields, said.type == TYPE_RAW ? "pydaq, raw" : "pydaq, channelised",
                        layout, &own, archive));
    TRY(pydaq_cut(&said, archive));
    *out = archive;
    archive = NULL;
out:
    override_free(&own);
    archive_destroy(archive);
    fields_close(&fields);
    return st;
}

static status_t pydaq_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    TRY(gather_files(input, pydaq_open_file, &archive));
    TRY(input->layout->has_sideband || !archive->is_complex
            ? STATUS_OK
            : fields_doubt(archive, "sideband +1: the file does not say"));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}

const struct format pydaq_format = {
    .name = "pydaq", .title = title, .recognise = pydaq_recognise, .open = pydaq_open};
