/* Digital RF: the files of a recording's channels, whose samples are counted from 1970 on
 * (MITHaystack/digital_rf, c/lib/rf_write_hdf5.c). What is missing, /rf_data_index alone says. */
#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/format/drf.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/hdf5/stored.h"
#include "input/lost.h"
#include "io/file.h"
#include "io/hdf5/h5.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 digital_rf_wide_t;

static const char title[] = "a Digital RF recording";

/* Bytes of samples that are searched for fill values, so that short recordings without any have no
 * weights. */
static const uint64_t digital_rf_searched = 256 << 20;

/* Rows row .. row + count - 1 of /rf_data are samples `sample` and following. */
struct digital_rf_block {
    uint64_t sample, row, count;
};

struct digital_rf_file {
    struct drf_rate rate;
    struct digital_rf_block *blocks;
    size_t nblocks;
    uint64_t subchannels;
    int rank;
    int is_complex;      /* by the type of its numbers */
    int is_continuous;   /* its writer fills gaps; -1: it does not say */
    uint64_t cadence_ms; /* of files; 0: it does not say */
};

/* A file that is opened: with its channel, and the values that stand for missing samples. */
struct digital_rf_opened {
    const struct drf_channel *channel;
    const struct drf_fill *fill;
    uint64_t first_sample;
};

static status_t digital_rf_recognise(const char *path, int *is_it)
{
    static const char *const names[] = {"rf_data", "rf_data_index", NULL};
    int is_folder = 0;
    int is_ordinary = 0;
    *is_it = 0;
    TRY(file_is_folder(path, &is_folder));
    TRY(file_is_ordinary(path, &is_ordinary));
    return is_folder                             ? drf_is_recording(path, is_it)
           : is_ordinary && h5_is_hdf5(path) > 0 ? fields_have(path, names, is_it)
                                                 : STATUS_OK;
}

/* The time of a sample, exact but for the rounding of the double. */
static struct utc digital_rf_utc(uint64_t sample, struct drf_rate rate)
{
    digital_rf_wide_t time = (digital_rf_wide_t)sample * rate.denominator;
    uint64_t seconds = (uint64_t)(time / rate.numerator);
    uint64_t rest = (uint64_t)(time % rate.numerator);
    return fields_unix((int64_t)min_u64(seconds, INT64_MAX), (double)rest / (double)rate.numerator);
}

static status_t digital_rf_read_rate(const struct fields *f, struct drf_rate *out)
{
    int64_t numerator = 0;
    int64_t denominator = 1;
    double old = 0;
    int is_rational = 0;
    int is_old = 0;
    TRY(fields_i64(f, "rf_data", "sample_rate_numerator", &numerator, &is_rational));
    TRY(fields_f64(f, "rf_data", "samples_per_second", &old, &is_old));
    if (is_rational) {
        TRY(fields_need_i64(f, "rf_data", "sample_rate_denominator", &denominator));
    } else {
        REQUIRE(is_old, STATUS_DATA,
                "%s: /rf_data has no attributes sample_rate_numerator and sample_rate_denominator, "
                "expected in %s",
                f->path, title);
        REQUIRE(old >= 1 && old < 9e15 && old == floor(old), STATUS_DATA,
                "%s: samples_per_second is %.17g, expected a whole number", f->path, old);
        numerator = (int64_t)old;
    }
    REQUIRE(numerator > 0 && denominator > 0, STATUS_DATA,
            "%s: its sample rate is %" PRId64 "/%" PRId64 " Hz", f->path, numerator, denominator);
    double rate = (double)numerator / (double)denominator;
    REQUIRE(!is_old || override_has_rate(f->layout) || fabs(old / rate - 1) < 1e-9, STATUS_DATA,
            "%s: samples_per_second is %.17g, sample_rate_numerator and denominator %" PRId64
            "/%" PRId64 ": input.layout.sample_rate_hz says which is right",
            f->path, old, numerator, denominator);
    *out = (struct drf_rate){(uint64_t)numerator, (uint64_t)denominator};
    return fields_check_rate(f, rate);
}

/* Attributes that repeat what type and shape of /rf_data say. */
static status_t digital_rf_check_shape(const struct fields *f, const char *object,
                                       const struct digital_rf_file *file)
{
    int64_t number = 0;
    int found = 0;
    TRY(fields_i64(f, object, "num_subchannels", &number, &found));
    REQUIRE(!found || (number >= 0 && (uint64_t)number == file->subchannels), STATUS_DATA,
            "%s: num_subchannels is %" PRId64 ", but /rf_data has %" PRIu64, f->path, number,
            file->subchannels);
    TRY(fields_i64(f, object, "is_complex", &number, &found));
    return REQUIRED(!found || (number != 0) == file->is_complex || f->layout->has_domain,
                    STATUS_DATA,
                    "%s: is_complex is %" PRId64
                    ", but /rf_data contains %s numbers: input.layout.domain says which is right",
                    f->path, number, file->is_complex ? "pairs of" : "single");
}

/* Checks the shape, and that the epoch is 1970. */
static status_t digital_rf_check_words(const struct fields *f, const struct digital_rf_file *file)
{
    SCOPED(free_at) char *epoch = NULL;
    TRY(digital_rf_check_shape(f, "rf_data", file));
    TRY(fields_text(f, "rf_data", "epoch", &epoch, NULL));
    return REQUIRED(!epoch || strncmp(epoch, "1970-01-01T00:00:00", 19) == 0 ||
                        override_has(f->layout, SAID_START),
                    STATUS_DATA,
                    "%s: samples are counted from the epoch %s, expected 1970-01-01T00:00:00Z: "
                    "input.layout.start says when the first was taken",
                    f->path, epoch);
}

/* Rows of the index: (first sample, row of rf_data), both ascending. Those that go on where the one
 * before ends are one block. */
static status_t digital_rf_read_index(const struct fields *f, uint64_t rows,
                                      struct digital_rf_file *out)
{
    SCOPED(free_at) uint64_t *index = NULL;
    size_t count = 0;
    hsize_t dims[2];
    TRY(fields_shape(f, "rf_data_index", 2, dims));
    TRY(fields_u64s(f, "rf_data_index", NULL, &index, &count));
    REQUIRE(dims[1] == 2 && dims[0] >= 1 && index[1] == 0, STATUS_DATA,
            "%s: /rf_data_index is %" PRIu64 " x %" PRIu64
            ", expected rows (first sample, row of rf_data), the first for row 0",
            f->path, (uint64_t)dims[0], (uint64_t)dims[1]);
    size_t blocks = (size_t)dims[0];
    TRY(memory_zeroed(blocks, sizeof *out->blocks, "blocks", &out->blocks));
    for (size_t i = 0; i < blocks; i++) {
        uint64_t sample = index[2 * i];
        uint64_t row = index[2 * i + 1];
        uint64_t next = i + 1 < blocks ? index[2 * i + 3] : rows;
        struct digital_rf_block *last = out->nblocks > 0 ? &out->blocks[out->nblocks - 1] : NULL;
        REQUIRE(next > row && next <= rows && sample < UINT64_C(1) << 62, STATUS_DATA,
                "%s: /rf_data_index: block %zu begins at row %" PRIu64 ", the next at %" PRIu64
                ", of %" PRIu64 " rows",
                f->path, i, row, next, rows);
        REQUIRE(!last || sample >= last->sample + last->count, STATUS_DATA,
                "%s: /rf_data_index: block %zu begins with sample %" PRIu64
                ", the one before ends with %" PRIu64,
                f->path, i, sample, last ? last->sample + last->count - 1 : 0);
        if (last && sample == last->sample + last->count) {
            last->count += next - row;
        } else {
            out->blocks[out->nblocks++] = (struct digital_rf_block){sample, row, next - row};
        }
    }
    return STATUS_OK;
}

static status_t digital_rf_read_cadence(const struct fields *f, const char *object, uint64_t *out)
{
    int64_t cadence = 0;
    int found = 0;
    status_t st = fields_i64(f, object, "file_cadence_millisecs", &cadence, &found);
    *out = found && cadence > 0 ? (uint64_t)cadence : 0;
    return st;
}

static status_t digital_rf_read(const struct fields *f, struct digital_rf_file *out)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    int64_t is_continuous = 0;
    int found = 0;
    TRY(digital_rf_read_rate(f, &out->rate));
    TRY(h5_dataset_open(f->file, f->path, "rf_data", &data));
    REQUIRE((data.rank == 1 || data.rank == 2) && data.dims[0] > 0, STATUS_DATA,
            "%s: /rf_data has %d dimensions, expected [samples][subchannels]", f->path, data.rank);
    out->rank = data.rank;
    out->subchannels = data.rank == 2 ? data.dims[1] : 1;
    out->is_complex = H5Tget_class(data.type) == H5T_COMPOUND;
    TRY(digital_rf_check_words(f, out));
    TRY(digital_rf_read_cadence(f, "rf_data", &out->cadence_ms));
    TRY(fields_i64(f, "rf_data", "is_continuous", &is_continuous, &found));
    out->is_continuous = found ? is_continuous != 0 : -1;
    return digital_rf_read_index(f, data.dims[0], out);
}

/* The archive's one part becomes one for each block. */
static status_t digital_rf_split(const struct digital_rf_file *file, struct archive *archive)
{
    struct archive_part *parts = NULL;
    const struct digital_rf_block *last = &file->blocks[file->nblocks - 1];
    uint64_t first = file->blocks[0].sample;
    if (file->nblocks > 1) {
        TRY(memory_zeroed(file->nblocks, sizeof *parts, "blocks", &parts));
        for (size_t i = 0; i < file->nblocks; i++) {
            parts[i].origin = file->blocks[i].row;
            parts[i].samples = file->blocks[i].count;
            parts[i].first_sample = file->blocks[i].sample - first;
        }
        TRY(cut_parts(archive, parts, file->nblocks));
    }
    archive->count[AXIS_TIME] = last->sample + last->count - first;
    return STATUS_OK;
}

static status_t digital_rf_fill(struct fields *f, const struct digital_rf_file *file,
                                const struct digital_rf_opened *opened)
{
    struct job_layout *own = &f->own;
    const struct drf_channel *channel = opened->channel;
    /* Subchannels at one frequency are polarisations (or antennas), at several coarse channels. */
    int is_one = 1;
    for (size_t i = 1; i < channel->ncentres; i++) {
        is_one = is_one && channel->centres[i] == channel->centres[0];
    }
    own->has_sideband = 1;
    own->sideband = 1;
    own->numbers.has_missing_value = opened->fill->is_there;
    own->numbers.missing_value = opened->fill->value;
    TRY(fields_set_words(f, "rf_data",
                         file->rank == 1 ? "time"
                         : is_one        ? "time,pol"
                                         : "time,chan",
                         NULL));
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = (double)file->rate.numerator / (double)file->rate.denominator;
    own->time.has_start = 1;
    own->time.start = digital_rf_utc(file->blocks[0].sample, file->rate);
    if (channel->ncentres > 0) {
        TRY(layout_make_frequencies(own, is_one ? 1 : (uint32_t)channel->ncentres));
        memcpy(own->freq.hz, channel->centres, own->freq.count * sizeof *own->freq.hz);
    }
    return STATUS_OK;
}

static void digital_rf_file_free(struct digital_rf_file *file)
{
    free(file->blocks);
    *file = (struct digital_rf_file){.blocks = NULL};
}

/* Reads what the channel's folder says of all its files. *path: of the file that does, for free();
 * else it stays. */
static status_t digital_rf_read_properties(const struct drf_channel *channel,
                                           struct digital_rf_file *out, char **path)
{
    SCOPED(free_at) char *name = NULL;
    SCOPED(fields_close) struct fields fields = {.file = -1};
    int is_there = 0;
    int64_t is_continuous = 0;
    int64_t rate[2] = {0, 0};
    int found[3] = {0, 0, 0};
    TRY(memory_format(&name, "%s/drf_properties.h5", channel->folder));
    TRY(file_exists(name, &is_there));
    if (is_there && h5_is_hdf5(name) > 0) {
        TRY(fields_open(name, title, NULL, &fields));
        TRY(fields_i64(&fields, "/", "is_continuous", &is_continuous, &found[0]));
        TRY(fields_i64(&fields, "/", "sample_rate_numerator", &rate[0], &found[1]));
        TRY(fields_i64(&fields, "/", "sample_rate_denominator", &rate[1], &found[2]));
        out->is_continuous = found[0] && is_continuous != 0;
        TRY(digital_rf_read_cadence(&fields, "/", &out->cadence_ms));
        if (found[1] && found[2]) {
            out->rate = (struct drf_rate){(uint64_t)rate[0], (uint64_t)rate[1]};
        }
        *path = memory_move(&name);
    }
    return STATUS_OK;
}

static status_t digital_rf_check_properties(const char *path, const struct job_layout *layout,
                                            const struct digital_rf_file *file)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    TRY(fields_open(path, title, layout, &fields));
    return digital_rf_check_shape(&fields, "/", file);
}

/* Fill values in a file of a continuous writer. */
static status_t digital_rf_find_fill(const struct fields *f, const struct digital_rf_file *file,
                                     const struct digital_rf_file *properties,
                                     struct drf_fill *fill)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    int is_continuous = file->is_continuous < 0 ? properties->is_continuous : file->is_continuous;
    if (is_continuous && !fill->is_there) {
        TRY(h5_dataset_open(f->file, f->path, "rf_data", &data));
        TRY(drf_find_fill(f->path, &data, fill));
    }
    return STATUS_OK;
}

/* Rates and numbers of samples of a channel's files, by which its metadata is found. */
static status_t digital_rf_survey(struct drf_channel *channel, const struct job_layout *layout,
                                  struct drf_fill *fill)
{
    const struct h5_names *files = &channel->files;
    struct digital_rf_file properties = {.blocks = NULL};
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(digital_rf_file_free) struct digital_rf_file file = {.blocks = NULL};
    SCOPED(free_at) char *path = NULL;
    int is_used = 0;
    TRY(digital_rf_read_properties(channel, &properties, &path));
    channel->cadence_ms = properties.cadence_ms;
    channel->first = UINT64_MAX;
    for (size_t i = 0; i < files->count; i++) {
        TRY(fields_open(files->names[i], title, layout, &fields));
        TRY(digital_rf_read(&fields, &file));
        TRY(i == 0 && path ? digital_rf_check_properties(path, layout, &file) : STATUS_OK);
        TRY(override_has(layout, SAID_MISSING_VALUE)
                ? STATUS_OK
                : digital_rf_find_fill(&fields, &file, &properties, fill));
        is_used = is_used || (properties.is_continuous && file.is_continuous < 0);
        REQUIRE(properties.rate.numerator == 0 || override_has_rate(layout) ||
                    (file.rate.numerator == properties.rate.numerator &&
                     file.rate.denominator == properties.rate.denominator),
                STATUS_DATA,
                "%s has samples at %" PRIu64 "/%" PRIu64 " Hz, but %s says %" PRIu64 "/%" PRIu64
                " Hz: input.layout.sample_rate_hz says which is right",
                files->names[i], file.rate.numerator, file.rate.denominator, path,
                properties.rate.numerator, properties.rate.denominator);
        const struct digital_rf_block *last = &file.blocks[file.nblocks - 1];
        channel->first = min_u64(channel->first, file.blocks[0].sample);
        channel->end = max_u64(channel->end, last->sample + last->count);
        REQUIRE(i == 0 || (file.rate.numerator == channel->rate.numerator &&
                           file.rate.denominator == channel->rate.denominator),
                STATUS_DATA,
                "%s has samples at %" PRIu64 "/%" PRIu64 " Hz, but %s at %" PRIu64 "/%" PRIu64
                " Hz: they are not of one channel",
                files->names[i], file.rate.numerator, file.rate.denominator, files->names[0],
                channel->rate.numerator, channel->rate.denominator);
        channel->rate = file.rate;
        channel->subchannels = file.subchannels;
        digital_rf_file_free(&file);
        fields_close(&fields);
    }
    if (is_used) {
        TRY(drf_names_add(&channel->metadata, path));
        path = NULL;
    }
    return STATUS_OK;
}

static status_t digital_rf_find_centres(struct drf_channel *channel)
{
    const struct h5_names *files = &channel->metadata;
    TRY(drf_find_centres(channel));
    return REQUIRED(
        channel->ncentres <= 1 || channel->ncentres == channel->subchannels, STATUS_DATA,
        "%s states %zu centre frequencies, but the files of %s have %" PRIu64 " subchannels",
        files->names[files->count - 2], channel->ncentres, channel->folder, channel->subchannels);
}

/* The name of a file, "rf@1700000000.500.h5": its first sample is taken then or later, within the
 * cadence of files. */
static status_t digital_rf_check_name(const struct digital_rf_file *file,
                                      const struct drf_channel *channel, const char *path,
                                      const struct job_layout *layout)
{
    enum { HOUR_MS = 3600 * 1000 }; /* longer files are not known */
    const uint64_t sample = file->blocks[0].sample;
    const char *at = strchr(text_basename(path), '@');
    char *end = NULL;
    uint64_t cadence_ms = file->cadence_ms      ? file->cadence_ms
                          : channel->cadence_ms ? channel->cadence_ms
                                                : HOUR_MS;
    double stated = at ? strtod(at + 1, &end) : 0;
    double first = (double)((long double)sample * (long double)file->rate.denominator /
                            (long double)file->rate.numerator);
    int is_inside = first - stated > -2e-3 && first - stated < (double)cadence_ms / 1e3 + 2e-3;
    int is_job = layout->time.has_start || layout->said[SAID_START].attribute ||
                 layout->time.has_sample_rate;
    return REQUIRED(
        !at || end == at + 1 || is_inside || is_job, STATUS_DATA,
        "%s: the file's name says %.3f s of 1970, but /rf_data_index begins with sample "
        "%" PRIu64 ", %.3f s at the sample rate %" PRIu64 "/%" PRIu64
        " Hz: input.layout.start or sample_rate_hz says what is right",
        path, stated, sample, first, file->rate.numerator, file->rate.denominator);
}

static status_t digital_rf_read_file(struct fields *f, void *context)
{
    struct digital_rf_opened *opened = context;
    const struct h5_names *metadata = &opened->channel->metadata;
    struct archive *archive = f->archive;
    struct storage *storage = &archive->parts[0].storage;
    SCOPED(digital_rf_file_free) struct digital_rf_file file = {.blocks = NULL};
    TRY(digital_rf_read(f, &file));
    TRY(digital_rf_fill(f, &file, opened));
    TRY(fields_describe(f, "Digital RF"));
    TRY(stored_require_whole(f->path, "rf_data_index", storage));
    for (size_t i = 0; i < metadata->count; i++) {
        TRY(sources_add(&storage->sources, metadata->names[i], SOURCE_NAMED, NULL));
    }
    if (!archive->is_complex && f->layout->freq.count == 0) {
        free(archive->freq_hz); /* what metadata calls the centre is that of complex samples */
        archive->freq_hz = NULL;
        archive->states.freq = 0;
    }
    TRY(digital_rf_check_name(&file, opened->channel, f->path, f->layout));
    TRY(digital_rf_split(&file, archive));
    archive->shape.stacked = AXIS_TIME;
    opened->first_sample = file.blocks[0].sample;
    return STATUS_OK;
}

/* Opens a channel's files, in places of a stack. */
static status_t digital_rf_open_channel(const struct drf_channel *channel,
                                        const struct job_layout *layout,
                                        const struct drf_fill *fill, uint64_t stack,
                                        struct places *places)
{
    for (size_t i = 0; i < channel->files.count; i++) {
        struct digital_rf_opened opened = {channel, fill, 0};
        struct place *place = NULL;
        TRY(places_add(places, &place));
        place->stack = stack;
        TRY(fields_make_file(channel->files.names[i], title, layout, digital_rf_read_file, &opened,
                             &place->archive));
        place->first_sample = opened.first_sample;
    }
    return STATUS_OK;
}

/* Channels beside each other are coarse channels when their frequencies differ, else polarisations;
 * stations when they have several subchannels each, which are the polarisations then. */
static enum axis digital_rf_stack_axis(const struct drf_channel *channels, size_t count,
                                       const struct job_layout *layout)
{
    if (layout->files_along != AXIS_TIME) {
        return layout->files_along;
    }
    for (size_t i = 1; i < count && channels[0].ncentres > 0; i++) {
        if (channels[i].ncentres > 0 && channels[i].centres[0] != channels[0].centres[0]) {
            return AXIS_CHAN;
        }
    }
    return channels[0].subchannels > 1 ? AXIS_STATION : AXIS_POL;
}

static status_t digital_rf_stack(const struct drf_channels *named, const struct places *places,
                                 const struct job_layout *layout)
{
    enum axis axis = digital_rf_stack_axis(named->items, named->count, layout);
    for (size_t i = 0; i < places->count; i++) {
        struct archive *archive = places->items[i].archive;
        archive->shape.stacked = axis;
        TRY(axis != AXIS_CHAN && archive->count[axis] == 1
                ? gather_name(archive, axis, 1, 0, named->items[places->items[i].stack].name)
                : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t digital_rf_note_doubts(const struct job_layout *layout, const struct drf_fill *fill,
                                       int is_later, struct archive *archive)
{
    TRY(assume_if(is_later && archive->states.freq, &archive->assumed,
                  "metadata state a centre frequency only behind the first sample: it is used for "
                  "all (input.layout.freq_hz says another)"));
    TRY(assume_if(fill->is_there, &archive->assumed,
                  "is_continuous is 1: samples of the fill value %.0f are missing "
                  "(input.layout.missing_value says another)",
                  fill->value));
    return assume_if(!archive->states.freq && layout->freq.count == 0, &archive->assumed,
                     archive->is_complex
                         ? "centre frequency 0 Hz: no metadata beside the recording "
                           "says it (input.layout.freq_hz does)"
                         : "band from 0 Hz on: real samples, taken to be of the first "
                           "Nyquist zone (input.layout.freq_hz says the centre)");
}

static status_t digital_rf_open(const struct format_input *input, struct archive **out)
{
    SCOPED(drf_free) struct drf_channels named = {0};
    SCOPED(places_free) struct places places = {0};
    struct drf_fill fill = {.searched_left = digital_rf_searched};
    const struct job_layout *layout = input->layout;
    int is_later = 0;
    TRY(drf_list(input->paths, input->npaths, &named));
    for (size_t i = 0; i < named.count; i++) {
        TRY(digital_rf_survey(&named.items[i], layout, &fill));
    }
    for (size_t i = 0; i < named.count; i++) {
        TRY(layout->freq.count > 0 ? STATUS_OK : digital_rf_find_centres(&named.items[i]));
        TRY(digital_rf_open_channel(&named.items[i], layout, &fill, i, &places));
        is_later = is_later || named.items[i].is_later;
    }
    TRY(named.count > 1 ? digital_rf_stack(&named, &places, layout) : STATUS_OK);
    TRY(place_join(&places, PLACE_NEAR, out));
    return digital_rf_note_doubts(layout, &fill, is_later, *out);
}

const struct format digital_rf_format = {.name = "digital_rf",
                                         .is_no_product = 1,
                                         .recognise = digital_rf_recognise,
                                         .open = digital_rf_open};
