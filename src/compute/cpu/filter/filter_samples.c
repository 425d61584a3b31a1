/* Samples with gaps are brought together first, then unpacked and tested by the filter bank's
 * kernels. */
#include "compute/cpu/filter/filter_samples.h"

#include <string.h>

struct filter_reader filter_reader(const struct sample_coding *coding, enum simd_level simd)
{
    const struct cpu_kernels *kernels = simd_kernels(simd);
    struct filter_reader reader = {.kernels = kernels,
                                   .filter = filter_kernels(simd),
                                   .unpack = kernels->unpack[coding->format][coding->is_complex],
                                   .nibbles = coding->nibbles,
                                   .is_complex = coding->is_complex,
                                   .is_float = coding->format == SAMPLE_F32,
                                   .sign = coding->conjugate ? -1.0F : 1.0F,
                                   .part_bytes = sample_types[coding->format].bytes,
                                   .bytes = sample_bytes(coding->format, coding->is_complex)};
    reader.has_rule = missing_rule_of(kernels, coding, &reader.rule);
    return reader;
}

/* Whether samples are without gaps, real parts before imaginary ones. */
static int reader_is_whole(const struct filter_reader *reader, const struct filter_stream *stream)
{
    int has_two = reader->bytes > reader->part_bytes;
    return stream->step == reader->bytes &&
           (!has_two || stream->im == stream->re + reader->part_bytes);
}

/* `count` samples that the buffer has, without gaps: where they are, or copied into `room`. */
static const char *reader_bring(const struct filter_reader *reader,
                                const struct filter_stream *stream, size_t place, size_t count,
                                char *room)
{
    const char *re = stream->re + place * stream->step;
    const char *im = stream->im + place * stream->step;
    int is_whole = reader_is_whole(reader, stream);
    if (is_whole && count % MOST_LANES == 0) {
        return re;
    }
    if (is_whole) {
        memcpy(room, re, count * reader->bytes);
        return room;
    }
    const int is_pair = im == re + reader->part_bytes;
    reader->kernels->gather(is_pair ? reader->bytes : reader->part_bytes, re, stream->step, count,
                            reader->bytes, room);
    if (reader->bytes > reader->part_bytes && !is_pair) {
        reader->kernels->gather(reader->part_bytes, im, stream->step, count, reader->bytes,
                                room + reader->part_bytes);
    }
    return room;
}

/* Reads samples likewise, all of which the buffer has. */
static uint64_t reader_unpack(const struct filter_reader *reader,
                              const struct filter_stream *stream, size_t place, size_t count,
                              float *re, float *im)
{
    char room[READ_SAMPLES * 2 * sizeof(float)];
    _Alignas(64) float blocks[READ_SAMPLES * 2];
    float *out = reader->is_complex ? blocks : re;
    size_t lanes = reader->kernels->lanes;
    size_t whole = (count + lanes - 1) / lanes;
    uint64_t missing = 0;
    const char *from = reader_bring(reader, stream, place, count, room);
    if (from == room) {
        memset(room + count * reader->bytes, 0, (whole * lanes - count) * reader->bytes);
    }
    reader->unpack(from, whole, &reader->nibbles, out);
    if (reader->has_rule) {
        missing = reader->kernels->drop[reader->is_complex](&reader->rule, count, out);
    }
    if (reader->is_complex) {
        reader->filter->split(blocks, whole, reader->sign, re, im);
    }
    return missing;
}

static void reader_blank(const struct filter_reader *reader, size_t from, size_t count, float *re,
                         float *im)
{
    memset(re + from, 0, count * sizeof *re);
    if (reader->is_complex) {
        memset(im + from, 0, count * sizeof *im);
    }
}

/* The places from *from on, and how many, that the buffer has of `count` from `place` on. */
static size_t reader_clip(const struct filter_stream *stream, int64_t place, size_t count,
                          int64_t *from)
{
    int64_t samples = (int64_t)stream->samples;
    int64_t end = place + (int64_t)count;
    int64_t to = end > samples ? samples : end;
    *from = place < 0 ? 0 : place;
    return to > *from ? (size_t)(to - *from) : 0;
}

uint64_t filter_read(const struct filter_reader *reader, const struct filter_stream *stream,
                     int64_t place, size_t count, float *re, float *im)
{
    uint64_t missing = 0;
    int64_t from;
    size_t there = reader_clip(stream, place, count, &from);
    size_t before = there > 0 ? (size_t)(from - place) : 0;
    if (before > 0) {
        /* Whole vectors are written: not to where they begin in the middle of one. */
        _Alignas(64) float part[2][READ_SAMPLES];
        missing = reader_unpack(reader, stream, (size_t)from, there, part[0], part[1]);
        reader_blank(reader, 0, before, re, im);
        memcpy(re + before, part[0], there * sizeof *re);
        if (reader->is_complex) {
            memcpy(im + before, part[1], there * sizeof *im);
        }
    } else if (there > 0) {
        missing = reader_unpack(reader, stream, (size_t)from, there, re, im);
    }
    reader_blank(reader, before + there, count - before - there, re, im);
    return missing;
}

/* Floats that are as they are wanted. */
static uint64_t reader_take(const struct filter_reader *reader, const struct filter_stream *stream,
                            int64_t place, size_t count, float (*out)[2])
{
    int64_t from;
    size_t there = reader_clip(stream, place, count, &from);
    size_t before = there > 0 ? (size_t)(from - place) : 0;
    const char *at = stream->re + (there > 0 ? (size_t)from * stream->step : 0);
    memset(out, 0, before * sizeof *out);
    memset(out + before + there, 0, (count - before - there) * sizeof *out);
    return reader->filter->take(&reader->rule, at, there, reader->sign, out[before]);
}

/* Reads samples of any other format, through planes of real and imaginary parts. */
static uint64_t reader_pair(const struct filter_reader *reader, const struct filter_stream *stream,
                            int64_t place, size_t count, float (*out)[2])
{
    _Alignas(64) float part[2][READ_SAMPLES] = {{0}};
    uint64_t missing = 0;
    for (size_t n = 0; n < count; n += READ_SAMPLES) {
        size_t now = count - n < READ_SAMPLES ? count - n : READ_SAMPLES;
        missing += filter_read(reader, stream, place + (int64_t)n, now, part[0], part[1]);
        reader->filter->pair(part[0], part[1], now, out[n]);
    }
    return missing;
}

uint64_t filter_read_pairs(const struct filter_reader *reader, const struct filter_stream *stream,
                           int64_t place, size_t count, float (*out)[2])
{
    return reader->is_float && reader->is_complex && reader_is_whole(reader, stream)
               ? reader_take(reader, stream, place, count, out)
               : reader_pair(reader, stream, place, count, out);
}
