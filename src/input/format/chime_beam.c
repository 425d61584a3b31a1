/* CHIME/FRB's beamformed baseband (BBData, "singlebeam"): /tiedbeam_baseband [freq][beam * pol]
 * [time], of which each coarse channel has a start of its own (baseband_analysis, core/bbdata.py).
 * Channels that are missing are absent, times that are missing are NaN. */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/cut.h"
#include "input/format/chime.h"
#include "input/format/formats.h"
#include "input/format/override.h"
#include "input/join_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "a CHIME/FRB beamformed baseband file";
static const char data[] = "tiedbeam_baseband";

static status_t chime_beam_recognise(const char *path, int *is_it)
{
    static const char *const names[] = {"tiedbeam_baseband", "index_map/freq", "time0",
                                        "@delta_time", NULL};
    return fields_have(path, names, is_it);
}

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
static status_t chime_beam_compare_starts(const struct fields *fields,
                                          const struct chime_beam *said, double rate,
                                          const double *ctimes, const double *offsets,
                                          size_t earliest)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < said->dims[0]; i++) {
        double counted = (double)(said->counts[i] - said->first) / rate;
        double timed = ctimes[i] - ctimes[earliest] + (offsets[i] - offsets[earliest]);
        REQUIRE(fabs(counted - timed) * rate <= 2, STATUS_DATA,
                "%s: /time0: coarse channel %zu begins %.9g s after the first by fpga_count and "
                "delta_time, but %.9g s by ctime: input.layout.sample_rate_hz says what is right",
                fields->path, i, counted, timed);
    }
out:
    return st;
}

static status_t chime_beam_read_starts(const struct fields *fields, const struct job_layout *layout,
                                       struct chime_beam *said, struct job_layout *own,
                                       char **assumed)
{
    status_t st = STATUS_OK;
    double *ctimes = NULL;
    double *offsets = NULL;
    size_t count[3] = {0};
    size_t earliest = 0;
    size_t latest = 0;
    TRY(fields_u64s(fields, "time0", "fpga_count", &said->counts, &count[0]));
    TRY(fields_f64s(fields, "time0", "ctime", &ctimes, &count[1]));
    TRY(fields_f64s(fields, "time0", "ctime_offset", &offsets, &count[2]));
    REQUIRE(count[0] == said->dims[0] && count[0] > 0, STATUS_DATA,
            "%s: /time0 has %zu values, /%s %" PRIu64 " coarse channels", fields->path, count[0],
            data, (uint64_t)said->dims[0]);
    for (size_t i = 0; i < count[0]; i++) {
        REQUIRE(said->counts[i] < UINT64_C(1) << 62, STATUS_DATA,
                "%s: /time0: fpga_count of coarse channel %zu is %" PRIu64
                ", expected a count of samples",
                fields->path, i, said->counts[i]);
        earliest = said->counts[i] < said->counts[earliest] ? i : earliest;
        latest = said->counts[i] > said->counts[latest] ? i : latest;
    }
    REQUIRE(said->counts[latest] - said->counts[earliest] < UINT64_C(1) << 40, STATUS_DATA,
            "%s: /time0: coarse channels begin at samples %" PRIu64 " to %" PRIu64
            ", more than a month apart",
            fields->path, said->counts[earliest], said->counts[latest]);
    said->first = said->counts[earliest];
    TRY(override_has_rate(layout)
            ? STATUS_OK
            : chime_beam_compare_starts(fields, said, own->time.sample_rate_hz, ctimes, offsets,
                                        earliest));
    TRY(chime_start(fields, "ctime of /time0", ctimes[earliest], offsets[earliest], layout, own,
                    assumed));
out:
    free(ctimes);
    free(offsets);
    return st;
}

/* Numbers of channels that are not all alike, which no writer of them leaves. */
static status_t chime_beam_check_numbers(const struct fields *fields,
                                         const struct job_layout *layout,
                                         const struct job_layout *own)
{
    status_t st = STATUS_OK;
    uint64_t *numbers = NULL;
    size_t count = 0;
    int differ = 0;
    TRY(fields_u64s(fields, "index_map/freq", "id", &numbers, &count));
    for (size_t i = 1; i < count; i++) {
        differ = differ || numbers[i] != numbers[0];
    }
    TRY(differ ? chime_check_numbers(fields, layout, own, numbers, count) : STATUS_OK);
out:
    free(numbers);
    return st;
}

static status_t chime_beam_fill(const struct fields *fields, const struct job_layout *layout,
                                struct chime_beam *said, struct job_layout *own, char **assumed)
{
    status_t st = STATUS_OK;
    size_t count = 0;
    int found = 0;
    TRY(fields_shape(fields, data, 3, said->dims));
    TRY(fields_i64(fields, data, "conjugate_beamform", &said->conjugate, &found));
    TRY(memory_text(data, &own->dataset));
    TRY(memory_text(said->dims[1] % 2 == 0 ? "chan,beam*pol:2,time" : "chan,beam,time",
                    &own->axes));
    TRY(memory_text("CHIME", &own->sky.telescope));
    own->has_sideband = 1;
    own->sideband = chime_beam_sideband(said);
    own->time.has_sample_rate = 1;
    TRY(chime_rate(fields, &own->time.sample_rate_hz));
    TRY(chime_beam_read_starts(fields, layout, said, own, assumed));
    TRY(fields_f64s(fields, "index_map/freq", "centre", &own->freq.hz, &count));
    own->freq.count = (uint32_t)count;
    TRY(chime_hertz(fields, "centre of /index_map/freq", layout, own->freq.hz, count, assumed));
    TRY(chime_beam_check_numbers(fields, layout, own));
out:
    return st;
}

/* One place on the sky, if all beams have it; names of the two polarisations. */
static status_t chime_beam_read_locations(const struct fields *fields, struct archive *archive)
{
    status_t st = STATUS_OK;
    static const char name[] = "tiedbeam_locations";
    double *ra = NULL;
    double *dec = NULL;
    char **pols = NULL;
    size_t count[3] = {0};
    int is_there = 0;
    TRY(h5_has(fields->file, fields->path, name, &is_there));
    if (!is_there) {
        goto out;
    }
    TRY(fields_f64s(fields, name, "ra", &ra, &count[0]));
    TRY(fields_f64s(fields, name, "dec", &dec, &count[1]));
    TRY(fields_texts(fields, name, "pol", &pols, &count[2]));
    int is_one = count[0] > 0 && isfinite(ra[0]) && isfinite(dec[0]);
    for (size_t i = 1; i < count[0]; i++) {
        is_one = is_one && ra[i] == ra[0] && dec[i] == dec[0];
    }
    archive->sky.has_position = is_one;
    archive->sky.ra_deg = is_one ? ra[0] : 0;
    archive->sky.dec_deg = is_one ? dec[0] : 0;
    if (archive->present[AXIS_POL] && count[2] >= 2 && *pols[0] && *pols[1] &&
        strcmp(pols[0], pols[1]) != 0) {
        char ***names = &archive->names[AXIS_POL];
        TRY(memory_zeroed(2, sizeof **names, "names", names));
        TRY(memory_text(pols[0], &(*names)[0]));
        TRY(memory_text(pols[1], &(*names)[1]));
    }
out:
    h5_free_texts(pols, count[2]);
    free(ra);
    free(dec);
    return st;
}

/* The archive's one part becomes one for each coarse channel. */
static status_t chime_beam_split(const struct chime_beam *said, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_part *parts = NULL;
    uint64_t samples = archive->parts[0].samples;
    uint64_t latest = said->first;
    size_t count = (size_t)said->dims[0];
    TRY(memory_zeroed(count, sizeof *parts, "coarse channels", &parts));
    for (size_t i = 0; i < count; i++) {
        TRY(cut_part(archive, i, 1, samples, &parts[i]));
        parts[i].first_sample = said->counts[i] - said->first;
        parts[i].stack = i;
        latest = max_u64(latest, said->counts[i]);
    }
    cut_free(&archive->parts[0]);
    free(archive->parts);
    archive->parts = parts;
    archive->nparts = (uint32_t)count;
    parts = NULL;
    archive->shape.stacked = AXIS_CHAN;
    archive->shape.dims[0].size = 1;
    archive->count[AXIS_TIME] = latest - said->first + samples;
out:
    for (size_t i = 0; parts && i < count; i++) {
        cut_free(&parts[i]);
    }
    free(parts);
    return st;
}

static status_t chime_beam_note(const struct fields *fields, const struct job_layout *layout,
                                const struct chime_beam *said, struct archive *archive)
{
    status_t st = STATUS_OK;
    double dm = 0;
    int found = 0;
    TRY(fields_f64(fields, data, "DM", &dm, &found));
    TRY(fields_note_coherent(fields, dm, archive));
    TRY(override_has(layout, SAID_SIDEBAND)
            ? STATUS_OK
            : assume(&archive->assumed,
                     "sideband %+d: conjugate_beamform is %s, as its writers' loader reads it",
                     chime_beam_sideband(said), said->conjugate == 1 ? "1" : "0 or not there"));
out:
    return st;
}

static status_t chime_beam_open_file(const char *path, const struct job_layout *layout,
                                     struct archive **out)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct archive *archive = NULL;
    struct job_layout own = {0};
    struct chime_beam said = {.counts = NULL};
    TRY(archive_create(path, &archive));
    TRY(fields_open(path, title, &fields));
    TRY(chime_beam_fill(&fields, layout, &said, &own, &archive->assumed));
    TRY(chime_note_rate(own.time.sample_rate_hz, layout, archive));
    TRY(fields_describe(&fields, "CHIME/FRB beamformed baseband", layout, &own, archive));
    TRY(chime_beam_read_locations(&fields, archive));
    TRY(chime_beam_note(&fields, layout, &said, archive));
    TRY(chime_beam_split(&said, archive));
    *out = archive;
    archive = NULL;
out:
    free(said.counts);
    override_free(&own);
    archive_destroy(archive);
    fields_close(&fields);
    return st;
}

static status_t chime_beam_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    REQUIRE(input->npaths == 1, STATUS_DATA,
            "%s and %s: of %s each file is an observation of its own", input->paths[0],
            input->paths[1], title);
    TRY(chime_beam_open_file(input->paths[0], input->layout, out));
out:
    return st;
}

const struct format chime_beam_format = {.name = "chime_beam",
                                         .title = title,
                                         .recognise = chime_beam_recognise,
                                         .open = chime_beam_open};
