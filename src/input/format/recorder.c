/* From what a recorder's header says to an archive. */
#include "input/format/recorder.h"

#include "base/memory.h"
#include "input/format/dataset.h"
#include "input/format/said.h"
#include "input/read/numbers.h"
#include "io/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int spacing_ratio(double value, double tolerated, struct ratio *out)
{
    enum { MOST_DEN = 64, MOST_NUM = 1 << 20 };
    for (uint32_t d = 1; d <= MOST_DEN; d++) {
        double n = rint(value * d);
        if (n > 0 && n < (double)MOST_NUM && fabs(n / d - value) < tolerated * value) {
            *out = (struct ratio){(uint32_t)n, d};
            return 1;
        }
    }
    return 0;
}

void spacing_remedy(int is_complex, double ratio, char words[SPACING_WORDS])
{
    const double most = 4; /* no filter bank is oversampled by more */
    struct ratio found;
    if (is_complex && ratio > 1 && ratio <= most && spacing_ratio(ratio, 1e-3, &found)) {
        snprintf(words, SPACING_WORDS,
                 "`oversampling: %u/%u` in input.layout says that they overlap; sample_rate_hz or "
                 "freq_hz corrects them",
                 found.num, found.den);
    } else {
        snprintf(words, SPACING_WORDS, "input.layout.sample_rate_hz or freq_hz corrects them");
    }
}

status_t recorder_open_begin(const char *path, int *fd, struct identity *identity)
{
    int is_ordinary = 0;
    TRY(file_is_ordinary(path, &is_ordinary));
    TRY(is_ordinary ? file_open_read(path, fd) : STATUS_OK);
    return is_ordinary ? identity_of_open(*fd, path, identity) : STATUS_OK;
}

status_t recorder_head(const char *path, size_t most, struct text *out)
{
    struct identity identity = {.bytes = 0};
    SCOPED(file_close_at) int fd = -1;
    SCOPED(free_at) char *bytes = NULL;
    TRY(recorder_open_begin(path, &fd, &identity));
    if (fd < 0) {
        return STATUS_OK;
    }
    size_t count = (size_t)min_u64(most, identity.bytes);
    TRY(memory_zeroed(count, 1, "the begin of a file", &bytes));
    TRY(count > 0 ? file_read(fd, path, 0, bytes, count) : STATUS_OK);
    return text_add_bytes(out, bytes, count);
}

status_t recorder_open(struct archive_part *part, int *fd, uint64_t *bytes)
{
    TRY(sources_add(&part->storage.sources, part->path, SOURCE_NAMED, NULL));
    TRY(file_open_read(part->path, fd));
    TRY(sources_check_open(&part->storage.sources, part->path, *fd));
    *bytes = part->file_bytes = sources_bytes(&part->storage.sources);
    return STATUS_OK;
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
    TRY(layout_make_frequencies(own, channels));
    for (uint32_t i = 0; i < channels; i++) {
        double turns = (2.0 * i + 1 - channels) / (2.0 * channels);
        own->freq.hz[i] = centre_hz + turns * width_hz;
    }
    own->has_sideband = 1;
    own->sideband = width_hz < 0 ? -1 : 1;
    return STATUS_OK;
}

status_t recorder_note_rate(const char *period, const char *width, double off, char **assumed)
{
    static const double least = 1e-7, most = 0.01; /* 0.4 ms an hour; channels that overlap */
    return assume_if(fabs(off - 1) > least && fabs(off - 1) < most, assumed,
                     "%s makes a rate of %.9g times that of %s, as if it was rounded: it is used "
                     "(input.layout.sample_rate_hz says the rate)",
                     period, off, width);
}

status_t recorder_check_band(const char *path, const char *frequency, double centre_hz,
                             const char *width, double width_hz, char **assumed)
{
    static const double most = 1e12, usual = 10e6;
    REQUIRE(centre_hz <= most, STATUS_DATA,
            "%s: %s = %.9g MHz, expected at most 1e6: is it in Hz? (input.layout.freq_hz gives "
            "the centres of coarse channels)",
            path, frequency, centre_hz / 1e6);
    REQUIRE(centre_hz - fabs(width_hz) / 2 >= -1e-6 * fabs(width_hz), STATUS_DATA,
            "%s: %s = %.9g MHz and %s = %.9g MHz: the band begins below 0 Hz; is %s in GHz? "
            "(input.layout.freq_hz gives the centres of coarse channels)",
            path, frequency, centre_hz / 1e6, width, width_hz / 1e6, frequency);
    return assume_unless(centre_hz >= usual, assumed, "%s = %.9g is taken as MHz, not GHz",
                         frequency, centre_hz / 1e6);
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
    } else if (number->is_half) {
        archive->stored.number.kind = NUMBER_FLOAT;
    } else if (number->bits < 32 && !is_pair && (number->bits < 8 || packing.is_offset)) {
        dataset_set_packing(&packing, own->numbers.nlevels > 0 ? own->numbers.levels : NULL,
                            &archive->stored.number);
    }
    if (number->is_complex && !is_pair) {
        recorder_add_dim(archive, AXIS_REIM, 2);
    }
    return numbers_settle(archive);
}

status_t recorder_take_words(const struct job_layout *layout, int is_complex,
                             struct job_layout *own, struct archive *archive)
{
    const char *path = archive->parts[0].path;
    TRY(override_layout(layout, own));
    TRY(said_refuse(path, layout));
    REQUIRE(!own->has_domain || own->is_complex == is_complex, STATUS_USAGE,
            "%s: input.layout.domain says %s, but its samples are %s", path,
            own->is_complex ? "complex" : "real", is_complex ? "complex" : "real");
    TRY(dataset_take_words(own, archive));
    return REQUIRED(is_complex || archive->oversample.num == archive->oversample.den, STATUS_USAGE,
                    "%s: real samples cannot be oversampled coarse channels (%u/%u)", path,
                    archive->oversample.num, archive->oversample.den);
}

status_t recorder_describe(const struct job_layout *layout, const struct recorder_number *number,
                           struct job_layout *own, struct archive *archive)
{
    const char *path = archive->parts[0].path;
    TRY(recorder_take_words(layout, number->is_complex, own, archive));
    REQUIRE(own->freq.rule.has_start || own->freq.count == archive->count[AXIS_CHAN], STATUS_USAGE,
            "%s: input.layout.freq_hz lists %u frequencies, but the file has %llu coarse channels",
            path, own->freq.count, (unsigned long long)archive->count[AXIS_CHAN]);
    TRY(dataset_settle_frequencies(own, path, archive));
    TRY(recorder_set_number(number, own, archive));
    archive->states.start = archive->sky.has_start;
    archive->states.freq = 1;
    return STATUS_OK;
}

status_t recorder_add_piece(struct archive *archive, uint64_t end, const struct archive_run *piece)
{
    struct archive_part *part = &archive->parts[0];
    struct archive_run *run = part->nruns > 0 ? &part->runs[part->nruns - 1] : NULL;
    uint64_t last = run ? run->file_offset + (run->pieces - 1) * run->piece_bytes : 0;
    uint64_t first = piece->first_sample;
    int follows = run && first == run->first_sample + run->pieces * run->steps &&
                  piece->steps == run->steps && piece->stored == run->stored;
    TRY(first > end ? archive_add_gap(archive, end, first - end) : STATUS_OK);
    if (follows && (run->pieces == 1 || piece->file_offset - last == run->piece_bytes)) {
        run->piece_bytes = piece->file_offset - last;
        run->pieces++;
        return STATUS_OK;
    }
    return archive_add_run(part, part->path, piece);
}
