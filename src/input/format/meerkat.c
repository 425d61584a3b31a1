/* MeerKAT's tied-array voltages (katsdpbfingest, file version 4): /Data/bf_raw [chan][time][reim],
 * one polarisation a file, /Data/timestamps of each time, /Data/flags of each heap. Rate, start and
 * frequencies are in pickled telescope state: the job says them. */
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/lost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "a MeerKAT beamformer file";
static const char stamps[] = "Data/timestamps";
static const char unsaid[] = "?"; /* polarisation of a file without a name of its stream */

/* The times of a file, what is lost of them, and its polarisation. */
struct meerkat {
    uint64_t chans, times;
    uint64_t heap_chans, heap_times;
    uint64_t *flags; /* [chans / heap_chans][times / heap_times], nonzero: lost */
    size_t nflags;
    uint64_t at, stamp;        /* the first sample that came, and its timestamp */
    uint64_t first, step;      /* timestamps of samples */
    uint64_t samples;          /* up to the last that came */
    struct archive_gap *never; /* times that have no timestamp */
    size_t nnever;
    char *pol;
};

/* Heaps of which data were lost: of some coarse channels each. */
static status_t meerkat_read_flags(const struct fields *f, struct meerkat *said)
{
    hsize_t dims[2];
    TRY(fields_shape(f, "Data/flags", 2, dims));
    REQUIRE(dims[0] > 0 && dims[1] > 0 && said->chans % dims[0] == 0 && said->times % dims[1] == 0,
            STATUS_DATA,
            "%s: /Data/flags is %" PRIu64 " x %" PRIu64 ", which does not divide %" PRIu64
            " coarse channels x %" PRIu64 " times",
            f->path, (uint64_t)dims[0], (uint64_t)dims[1], said->chans, said->times);
    said->heap_chans = said->chans / dims[0];
    said->heap_times = said->times / dims[1];
    return fields_u64s(f, "Data/flags", NULL, &said->flags, &said->nflags);
}

/* Whether no coarse channel of that time came: then its timestamp may be anything. */
static int meerkat_is_lost(const struct meerkat *said, uint64_t time)
{
    uint64_t row = said->times / said->heap_times;
    size_t at = (size_t)(time / said->heap_times);
    while (at < said->nflags && said->flags[at] != 0) {
        at += (size_t)row;
    }
    return at >= said->nflags;
}

static status_t meerkat_add_never(struct meerkat *said, uint64_t time)
{
    struct archive_gap *last = said->nnever > 0 ? &said->never[said->nnever - 1] : NULL;
    if (last && last->first + last->count == time) {
        last->count++;
        return STATUS_OK;
    }
    TRY(memory_grown(said->nnever + 1, sizeof *said->never, "gaps", &said->never));
    said->never[said->nnever++] = (struct archive_gap){time, 1, 0};
    return STATUS_OK;
}

/* Timestamps rise by one step each. Those of heaps that never came are zero. */
static status_t meerkat_check_stamps(const struct fields *f, const uint64_t *values, uint64_t at,
                                     uint64_t count, struct meerkat *said)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t n = at + i;
        uint64_t stamp = values[i];
        int is_lost = meerkat_is_lost(said, n);
        if (stamp == 0) {
            TRY(is_lost ? STATUS_OK : meerkat_add_never(said, n));
            continue;
        }
        if (said->stamp == 0 && !is_lost) {
            said->at = n;
            said->stamp = stamp;
        } else if (said->step == 0 && !is_lost && stamp > said->stamp) {
            said->step = (stamp - said->stamp) / (n - said->at);
        }
        uint64_t expected = said->stamp + (n - said->at) * said->step;
        int is_expected = stamp == expected && (n == said->at || said->step > 0);
        REQUIRE(is_lost || is_expected, STATUS_DATA,
                "%s: /%s: that of sample %" PRIu64 " is %" PRIu64 ", expected %" PRIu64
                " (steps of %" PRIu64 ", that of sample %" PRIu64 " is %" PRIu64 ")",
                f->path, stamps, n, stamp, expected, said->step, said->at, said->stamp);
        said->samples = is_expected ? n + 1 : said->samples;
    }
    return STATUS_OK;
}

/* When all are known: the timestamp that sample 0 has or would have. */
static status_t meerkat_settle_stamps(const struct fields *f, struct meerkat *said)
{
    said->step = said->step > 0 ? said->step : 1;
    REQUIRE(said->stamp > 0, STATUS_DATA, "%s: /%s: all %" PRIu64 " are 0, or of lost heaps",
            f->path, stamps, said->times);
    REQUIRE(said->at == 0 || said->stamp / said->step >= said->at, STATUS_DATA,
            "%s: /%s: that of sample %" PRIu64 " is %" PRIu64 ", which steps of %" PRIu64
            " from sample 0 on do not reach",
            f->path, stamps, said->at, said->stamp, said->step);
    said->first = said->stamp - said->at * said->step;
    if (said->first == 0 && said->nnever > 0 && said->never[0].first == 0) {
        said->never[0].first++; /* sample 0, whose timestamp is 0 */
        said->never[0].count--;
    }
    while (said->nnever > 0 && said->never[said->nnever - 1].first >= said->samples) {
        said->nnever--; /* the rest of the last chunk */
    }
    return STATUS_OK;
}

static status_t meerkat_read_stamps(const struct fields *f, struct meerkat *said)
{
    enum { PIECE = 1 << 20 };
    SCOPED(free_at) uint64_t *values = NULL;
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    hsize_t dims[1];
    uint64_t times = said->times;
    TRY(fields_shape(f, stamps, 1, dims));
    REQUIRE(dims[0] == times, STATUS_DATA,
            "%s: /%s has %" PRIu64 " values, /Data/bf_raw %" PRIu64 " times", f->path, stamps,
            (uint64_t)dims[0], times);
    TRY(h5_dataset_open(f->file, f->path, stamps, &dataset));
    REQUIRE(H5Tget_class(dataset.type) == H5T_INTEGER, STATUS_DATA,
            "%s: /%s does not contain whole numbers", f->path, stamps);
    TRY(memory_zeroed(PIECE, sizeof *values, "timestamps", &values));
    for (hsize_t at = 0; at < times; at += PIECE) {
        hsize_t count = min_u64(PIECE, times - at);
        TRY(h5_dataset_read_part(&dataset, &at, &count, H5T_NATIVE_UINT64, values, "%s: /%s",
                                 f->path, stamps));
        TRY(meerkat_check_stamps(f, values, at, count, said));
    }
    return meerkat_settle_stamps(f, said);
}

/* "tied_array_channelised_voltage_0x" is of polarisation x. */
static status_t meerkat_read_pol(const struct fields *f, struct meerkat *said)
{
    SCOPED(free_at) char *name = NULL;
    TRY(fields_text(f, "Data", "stream_name", &name, NULL));
    const char *under = name ? strrchr(name, '_') : NULL;
    return memory_text(under ? under + 1 : unsaid, &said->pol);
}

/* Adds a gap of a coarse channel, whose gaps come in the order of their begins. */
static void meerkat_add_gap(struct archive *archive, uint64_t chan, uint64_t first, uint64_t end)
{
    size_t count = archive->losses.nstream_gaps;
    struct archive_gap *last = count > 0 ? &archive->losses.stream_gaps[count - 1] : NULL;
    if (last && last->stream == chan && last->first + last->count >= first) {
        last->count = max_u64(last->first + last->count, end) - last->first;
    } else if (first < end) {
        archive->losses.stream_gaps[archive->losses.nstream_gaps++] =
            (struct archive_gap){first, end - first, chan};
    }
}

/* Finds what is lost of a coarse channel: times that never came, and its own flagged heaps. */
static void meerkat_find_gaps(const struct meerkat *said, uint64_t chan, struct archive *archive)
{
    size_t next = 0;
    uint64_t heaps = said->times / said->heap_times;
    const uint64_t *flags = said->flags + chan / said->heap_chans * heaps;
    for (uint64_t t = 0; t <= heaps; t++) {
        uint64_t first = t < heaps ? t * said->heap_times : said->times;
        for (; next < said->nnever && said->never[next].first <= first; next++) {
            const struct archive_gap *gap = &said->never[next];
            meerkat_add_gap(archive, chan, gap->first, gap->first + gap->count);
        }
        if (t < heaps && flags[t] != 0 && first < said->samples) {
            meerkat_add_gap(archive, chan, first, min_u64(first + said->heap_times, said->samples));
        }
    }
}

static status_t meerkat_take_gaps(const struct meerkat *said, struct archive *archive)
{
    enum { MOST_GAPS = 1 << 26 };
    size_t flagged = 0;
    uint64_t never = 0;
    for (size_t i = 0; i < said->nflags; i++) {
        flagged += said->flags[i] != 0;
    }
    uint64_t most = flagged * said->heap_chans + said->nnever * said->chans;
    REQUIRE(most <= MOST_GAPS, STATUS_DATA, "%s: %" PRIu64 " gaps, expected at most %d",
            archive->parts[0].path, most, MOST_GAPS);
    TRY(memory_zeroed((size_t)most, sizeof *archive->losses.stream_gaps, "gaps",
                      &archive->losses.stream_gaps));
    for (uint64_t chan = 0; chan < said->chans && most > 0; chan++) {
        meerkat_find_gaps(said, chan, archive);
    }
    for (size_t i = 0; i < said->nnever; i++) {
        never += said->never[i].count;
    }
    return assume_if(never > 0, &archive->assumed,
                     "%" PRIu64 " times have timestamp 0: they never came, and are missing", never);
}

static status_t meerkat_read(struct fields *f, void *context)
{
    struct meerkat *said = context;
    hsize_t dims[3];
    f->own.has_sideband = 1;
    f->own.sideband = 1;
    TRY(fields_set_words(f, "Data/bf_raw", "chan,time,reim", "MeerKAT"));
    TRY(fields_shape(f, "Data/bf_raw", 3, dims));
    said->chans = dims[0];
    said->times = dims[1];
    TRY(fields_require_whole(f, stamps));
    TRY(meerkat_read_flags(f, said));
    TRY(meerkat_read_stamps(f, said));
    TRY(meerkat_read_pol(f, said));
    TRY(fields_describe(f, "MeerKAT beamformer"));
    TRY(cut_time(f->archive, said->samples));
    TRY(meerkat_take_gaps(said, f->archive));
    f->archive->shape.stacked = AXIS_POL;
    return gather_name(f->archive, AXIS_POL, 1, 0, said->pol);
}

/* Files of one polarisation go on in time; samples are counted from the first file's on. Files that
 * do not say their polarisation are side by side if the job says so. */
static status_t meerkat_place(const struct format_input *input, const struct meerkat *said,
                              struct place *places)
{
    uint64_t stacks = 0;
    for (size_t i = 0; i < input->npaths; i++) {
        uint64_t step = said[0].step;
        REQUIRE(said[i].step == step && said[i].first % step == said[0].first % step, STATUS_DATA,
                "%s has timestamps in steps of %" PRIu64 " from %" PRIu64 " on, %s in steps of "
                "%" PRIu64 " from %" PRIu64 " on: they do not belong to one observation",
                input->paths[i], said[i].step, said[i].first, input->paths[0], step, said[0].first);
        places[i].first_sample = said[i].first / step;
        int is_own = input->layout->files_along == AXIS_POL && strcmp(said[i].pol, unsaid) == 0;
        size_t same = is_own ? i : 0;
        while (same < i && strcmp(said[same].pol, said[i].pol) != 0) {
            same++;
        }
        places[i].stack = same < i ? places[same].stack : stacks++;
    }
    return STATUS_OK;
}

static status_t meerkat_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct places places = {0};
    struct meerkat *said = NULL;
    const struct job_layout *layout = input->layout;
    REQUIRE_OUT(
        override_has_rate(layout) && override_has_frequencies(layout), STATUS_USAGE,
        "%s is %s, which does not say its sample rate and frequencies: "
        "input.layout.sample_rate_hz and freq_hz must (and start, if times are to be known)",
        input->paths[0], title);
    TRY_OUT(memory_zeroed(input->npaths, sizeof *said, "input files", &said));
    for (size_t i = 0; i < input->npaths; i++) {
        struct place *place = NULL;
        TRY_OUT(places_add(&places, &place));
        TRY_OUT(fields_make_file(input->paths[i], title, layout, meerkat_read, &said[i],
                                 &place->archive));
    }
    TRY_OUT(meerkat_place(input, said, places.items));
    TRY_OUT(place_join(&places, PLACE_NEAR, out));
    TRY_OUT(assume_unless(override_has(layout, SAID_SIDEBAND), &(*out)->assumed,
                          "sideband +1: the file does not say"));
out:
    places_free(&places);
    for (size_t i = 0; said && i < input->npaths; i++) {
        free(said[i].pol);
        free(said[i].flags);
        free(said[i].never);
    }
    free(said);
    return st;
}

const struct format meerkat_format = {.name = "meerkat",
                                      .shows = {"Data/bf_raw", "Data/timestamps", "Data/flags"},
                                      .open = meerkat_open};
