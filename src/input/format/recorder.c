/* From what a recorder's header says to an archive. */
#include "input/format/recorder.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/dataset.h"
#include "input/format/override.h"
#include "input/format/said.h"
#include "input/read/numbers.h"
#include "io/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status_t recorder_open_begin(const char *path, int *fd, struct identity *identity)
{
    status_t st = STATUS_OK;
    int is_ordinary = 0;
    int opened = -1;
    TRY(file_is_ordinary(path, &is_ordinary));
    if (!is_ordinary) {
        goto out;
    }
    TRY(file_open_read(path, &opened));
    TRY(identity_of_open(opened, path, identity));
    *fd = opened;
    opened = -1;
out:
    file_close(opened);
    return st;
}

status_t recorder_head(const char *path, size_t most, struct text *out)
{
    status_t st = STATUS_OK;
    struct identity identity = {.bytes = 0};
    int fd = -1;
    char *bytes = NULL;
    TRY(recorder_open_begin(path, &fd, &identity));
    if (fd < 0) {
        goto out;
    }
    size_t count = (size_t)min_u64(most, identity.bytes);
    TRY(memory_zeroed(count, 1, "the begin of a file", &bytes));
    TRY(count > 0 ? file_read(fd, path, 0, bytes, count) : STATUS_OK);
    TRY(text_add_bytes(out, bytes, count));
out:
    free(bytes);
    file_close(fd);
    return st;
}

status_t recorder_open(struct archive_part *part, int *fd, uint64_t *bytes)
{
    status_t st = STATUS_OK;
    int opened = -1;
    TRY(sources_add(&part->storage.sources, part->path, SOURCE_NAMED, NULL));
    TRY(file_open_read(part->path, &opened));
    TRY(sources_check_open(&part->storage.sources, part->path, opened));
    part->file_bytes = sources_bytes(&part->storage.sources);
    *bytes = part->file_bytes;
    *fd = opened;
    opened = -1;
out:
    file_close(opened);
    return st;
}

/* Steps are written with as few digits as say them, and rounded: 1 / 3.2e-7 is 3125000. */
double recorder_rate(double seconds)
{
    double rate = 1 / seconds;
    double whole = rint(rate);
    return fabs(rate - whole) <= 1e-13 * whole ? whole : rate;
}

status_t recorder_set_band(double centre_hz, double width_hz, uint32_t channels,
                           struct job_layout *own)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(channels, sizeof *own->freq.hz, "frequencies", &own->freq.hz));
    own->freq.count = channels;
    for (uint32_t i = 0; i < channels; i++) {
        double turns = (2.0 * i + 1 - channels) / (2.0 * channels);
        own->freq.hz[i] = centre_hz + turns * width_hz;
    }
    own->has_sideband = 1;
    own->sideband = width_hz < 0 ? -1 : 1;
out:
    return st;
}

status_t recorder_check_band(const char *path, const char *frequency, double centre_hz,
                             const char *width, double width_hz, char **assumed)
{
    static const double most = 1e12, usual = 10e6;
    status_t st = STATUS_OK;
    REQUIRE(centre_hz <= most, STATUS_DATA,
            "%s: %s = %.9g MHz, expected at most 1e6: is it in Hz? (input.layout.freq_hz gives "
            "the centres of coarse channels)",
            path, frequency, centre_hz / 1e6);
    REQUIRE(centre_hz - fabs(width_hz) / 2 >= -1e-6 * fabs(width_hz), STATUS_DATA,
            "%s: %s = %.9g MHz and %s = %.9g MHz: the band begins below 0 Hz; is %s in GHz? "
            "(input.layout.freq_hz gives the centres of coarse channels)",
            path, frequency, centre_hz / 1e6, width, width_hz / 1e6, frequency);
    TRY(centre_hz >= usual
            ? STATUS_OK
            : assume(assumed, "%s = %.9g is taken as MHz, not GHz", frequency, centre_hz / 1e6));
out:
    return st;
}

void recorder_add_dim(struct archive *archive, enum axis axis, uint64_t size)
{
    uint32_t at = archive->shape.ndims++;
    archive->shape.dims[at] = (struct archive_dim){size, axis, at};
    archive->count[axis] = size;
    archive->present[axis] = 1;
    archive->shape.time_dim = axis == AXIS_TIME ? at : archive->shape.time_dim;
}

/* As a format that is handed out like that, or as a number that readers make one of. */
static status_t recorder_set_number(const struct recorder_number *number,
                                    const struct job_layout *own, struct archive *archive)
{
    status_t st = STATUS_OK;
    int is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int is_pair = number->bits == 4 && number->is_complex;
    struct packing packing = {.bits = number->bits, .is_offset = number->is_offset};
    packing = own->numbers.has_packing ? own->numbers.packing : packing;
    REQUIRE(packing.bits == (is_pair && own->numbers.has_packing ? 0 : number->bits), STATUS_USAGE,
            "%s: input.layout.packing is of %s bits, but its %s samples have %u%s",
            archive->parts[0].path, packing.bits > 0 ? "other" : "4 + 4",
            number->is_complex ? "complex" : "real", number->bits, is_pair ? " + 4" : "");
    archive->is_complex = number->is_complex;
    archive->format = is_pair              ? SAMPLE_I4
                      : number->bits == 32 ? SAMPLE_F32
                      : number->bits == 16 ? SAMPLE_I16
                                           : SAMPLE_I8;
    archive->stored.nibbles = own->numbers.has_packing ? packing.nibbles : number->nibbles;
    archive->stored.swap_bytes = number->bits > 8 && number->big_endian == is_little;
    archive->stored.number.bits = number->bits;
    archive->stored.number.is_big_endian = number->big_endian;
    if (number->levels && !own->numbers.has_packing) {
        archive->stored.number.kind = NUMBER_LEVELS;
        memcpy(archive->stored.number.levels, number->levels, sizeof(double) << number->bits);
    } else if (number->bits < 32 && !is_pair && (number->bits < 8 || packing.is_offset)) {
        dataset_set_packing(&packing, own->numbers.nlevels > 0 ? own->numbers.levels : NULL,
                            &archive->stored.number);
    }
    if (number->is_complex && !is_pair) {
        recorder_add_dim(archive, AXIS_REIM, 2);
    }
    TRY(numbers_settle(archive));
out:
    return st;
}

status_t recorder_describe(const struct job_layout *layout, const struct recorder_number *number,
                           struct job_layout *own, struct archive *archive)
{
    status_t st = STATUS_OK;
    const char *path = archive->parts[0].path;
    TRY(override_layout(layout, own));
    TRY(said_refuse(path, layout));
    REQUIRE(own->freq.rule.has_start || own->freq.count == archive->count[AXIS_CHAN], STATUS_USAGE,
            "%s: input.layout.freq_hz lists %u frequencies, but the file has %llu coarse channels",
            path, own->freq.count, (unsigned long long)archive->count[AXIS_CHAN]);
    REQUIRE(!own->has_domain || own->is_complex == number->is_complex, STATUS_USAGE,
            "%s: input.layout.domain says %s, but its samples are %s", path,
            own->is_complex ? "complex" : "real", number->is_complex ? "complex" : "real");
    TRY(dataset_take_words(own, archive));
    TRY(dataset_settle_frequencies(own, path, archive));
    REQUIRE(number->is_complex || archive->oversample.num == archive->oversample.den, STATUS_USAGE,
            "%s: real samples cannot be oversampled coarse channels (%u/%u)", path,
            archive->oversample.num, archive->oversample.den);
    TRY(recorder_set_number(number, own, archive));
    archive->states.start = archive->sky.has_start;
    archive->states.freq = 1;
out:
    return st;
}

status_t recorder_add_run(struct archive_part *part, struct archive_run **out)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&part->runs, part->nruns, sizeof *part->runs, "runs of blocks"));
    part->runs[part->nruns] = (struct archive_run){.path = NULL};
    TRY(memory_text(part->path, &part->runs[part->nruns].path));
    *out = &part->runs[part->nruns++];
out:
    return st;
}

status_t recorder_add_gap(struct archive *archive, uint64_t first, uint64_t count)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&archive->losses.gaps, archive->losses.ngaps, sizeof *archive->losses.gaps,
                    "gaps"));
    archive->losses.gaps[archive->losses.ngaps][0] = first;
    archive->losses.gaps[archive->losses.ngaps][1] = count;
    archive->losses.ngaps++;
out:
    return st;
}

status_t recorder_add_lost(struct archive_part *part, const struct lost_box *box, const char *why)
{
    status_t st = STATUS_OK;
    struct lost_box *grown = realloc(part->boxes, (part->nboxes + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: what is lost");
    part->boxes = grown;
    grown[part->nboxes] = *box;
    grown[part->nboxes].why = NULL;
    TRY(memory_text(why, &grown[part->nboxes].why));
    part->nboxes++;
out:
    return st;
}
