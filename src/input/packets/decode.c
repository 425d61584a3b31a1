/* Frames' numbers, by tables of what each byte holds. */
#include "input/packets/decode.h"

#include "base/memory.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* How a stream's signs are turned: the imaginary part's; every second sample's; of these the first
 * one's, rather than the second's. */
enum { CONJUGATED = 1, ALTERNATING = 2, ODD = 4, TURNS = 8 };

/* With fewer than 8 bits, a byte contains a sample or several of one stream, at one of up to 8
 * places, and the table has their values. */
enum { BYTES = 256, PLACES = 8, MOST_ENTRY = 16 };

struct decoder {
    const struct packets *packets;
    uint32_t element_bits; /* of a sample of one stream */
    uint32_t step_bits;    /* from one time to the next */
    uint32_t per_byte;     /* times in one byte */
    uint32_t sample_bytes, entry_bytes;
    char *tables; /* [TURNS][PLACES][BYTES][entry_bytes]; NULL: 8, 16 and 32 bit */
};

static const float decode_high_level = 3.3359f;

double decode_settle_format(struct packets *packets)
{
    int is_turned = 0;
    for (uint32_t i = 0; i < packets->nstreams; i++) {
        const struct packets_stream *stream = &packets->streams[i];
        is_turned |= stream->is_conjugated || stream->is_alternating;
    }
    packets->is_packed = packets->bits == 4 && packets->is_complex && !is_turned;
    if (packets->kind == PACKETS_DRX) {
        packets->format = packets->is_packed ? SAMPLE_I4 : SAMPLE_I8;
        return 1;
    }
    const uint32_t bits = packets->bits;
    /* The opposite of -32768 is no int16. */
    packets->format = bits == 2 || bits == 32 || (bits == 16 && is_turned) ? SAMPLE_F32
                      : bits == 8 || bits == 16                            ? SAMPLE_I16
                      : packets->is_packed                                 ? SAMPLE_I4
                                                                           : SAMPLE_I8;
    return bits == 8 ? 0.5 : 1;
}

/* One number of 1, 2 or 4 bits. */
static void decode_put_number(uint32_t bits, uint32_t stored, int is_turned, char *out)
{
    int sign = is_turned ? -1 : 1;
    if (bits == 2) {
        float level = stored == 1 || stored == 2 ? 1 : decode_high_level;
        level = stored < 2 ? -level : level;
        level = is_turned ? -level : level;
        memcpy(out, &level, sizeof level);
    } else {
        *out = (char)(sign * (bits == 1 ? 2 * (int)stored - 1 : (int)stored - 8));
    }
}

/* Fills the values that one byte has for the samples at a place in it. */
static void decode_fill_entry(const decoder_t *d, int turn, uint32_t place, uint32_t byte,
                              char *out)
{
    const struct packets *packets = d->packets;
    uint32_t bits = packets->bits;
    uint32_t numbers = packets->is_complex ? 2 : 1;
    uint32_t number_bytes = d->sample_bytes / numbers;
    for (uint32_t time = 0; time < d->per_byte; time++) {
        uint32_t shift = place * d->element_bits + time * d->step_bits;
        int is_minus = turn & ALTERNATING && (time % 2 == 0) == !!(turn & ODD);
        for (uint32_t part = 0; part < numbers; part++) {
            uint32_t stored = byte >> (shift + part * bits) & ((1u << bits) - 1);
            int is_turned = is_minus != (part == 1 && turn & CONJUGATED);
            decode_put_number(bits, stored, is_turned,
                              out + time * d->sample_bytes + part * number_bytes);
        }
    }
}

static status_t decoder_fill_tables(decoder_t *d)
{
    uint32_t places = 8 / d->element_bits / d->per_byte;
    char *entry = NULL;
    TRY(memory_zeroed((size_t)TURNS * PLACES * BYTES, d->entry_bytes, "tables of samples",
                      &d->tables));
    entry = d->tables;
    for (int turn = 0; turn < TURNS; turn++) {
        for (uint32_t place = 0; place < PLACES; place++) {
            for (uint32_t byte = 0; byte < BYTES; byte++, entry += d->entry_bytes) {
                if (d->packets->is_packed) {
                    *entry = (char)byte;
                } else if (place < places) {
                    decode_fill_entry(d, turn, place, byte, entry);
                }
            }
        }
    }
    return STATUS_OK;
}

status_t decoder_create(const struct packets *packets, decoder_t **out)
{
    status_t st = STATUS_OK;
    decoder_t *d = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *d, "a decoder", &d));
    d->packets = packets;
    d->element_bits = packets->bits * (packets->is_complex ? 2 : 1);
    d->step_bits = d->element_bits * packets->channels;
    d->per_byte = d->step_bits < 8 ? 8 / d->step_bits : 1;
    d->sample_bytes = sample_bytes(packets->format, packets->is_complex);
    d->entry_bytes = d->per_byte * d->sample_bytes;
    TRY_OUT(packets->bits < 8 ? decoder_fill_tables(d) : STATUS_OK);
    *out = memory_move(&d);
out:
    decoder_destroy(d);
    return st;
}

void decoder_destroy(decoder_t *decoder)
{
    if (decoder) {
        free(decoder->tables);
        free(decoder);
    }
}

/* `count` entries of bytes `stride` apart; those at odd places come from the second table. */
static inline __attribute__((always_inline)) void decode_entries(const unsigned char *in,
                                                                 size_t stride, size_t count,
                                                                 const char *even, const char *odd,
                                                                 char *restrict out, size_t entry)
{
    size_t i = 0;
    for (; i + 1 < count; i += 2) {
        memcpy(out + i * entry, even + in[i * stride] * entry, entry);
        memcpy(out + (i + 1) * entry, odd + in[(i + 1) * stride] * entry, entry);
    }
    if (i < count) {
        memcpy(out + i * entry, even + in[i * stride] * entry, entry);
    }
}

static void decode_bytes(const decoder_t *d, const unsigned char *in, size_t stride, size_t count,
                         const char *even, const char *odd, char *out)
{
    if (d->packets->is_packed && stride == 1) {
        memcpy(out, in, count);
        return;
    }
#define DECODE_SIZE(size)                                                                          \
    case (size):                                                                                   \
        decode_entries(in, stride, count, even, odd, out, size);                                   \
        break
    switch (d->entry_bytes) {
        DECODE_SIZE(1);
        DECODE_SIZE(2);
        DECODE_SIZE(4);
        DECODE_SIZE(8);
    default:
        decode_entries(in, stride, count, even, odd, out, MOST_ENTRY);
    }
#undef DECODE_SIZE
}

static const char *decode_table(const decoder_t *d, int turn, uint32_t place)
{
    return d->tables + ((size_t)turn * PLACES + place) * BYTES * d->entry_bytes;
}

/* Some samples of which several lie in a byte: whole bytes, and parts of the first and last one. */
static void decode_shared_bytes(const decoder_t *d, const unsigned char *payload, const char *table,
                                uint32_t from, uint32_t count, char *out)
{
    uint32_t skipped = from % d->per_byte;
    const unsigned char *in = payload + from / d->per_byte;
    while (count > 0) {
        uint32_t now = d->per_byte - skipped;
        if (skipped == 0 && count >= d->per_byte) {
            uint32_t bytes = count / d->per_byte;
            decode_bytes(d, in, 1, bytes, table, table, out);
            in += bytes - 1;
            now = bytes * d->per_byte;
        } else {
            now = now < count ? now : count;
            memcpy(out, table + *in * d->entry_bytes + skipped * d->sample_bytes,
                   now * d->sample_bytes);
        }
        in++;
        out += now * d->sample_bytes;
        count -= now;
        skipped = 0;
    }
}

/* One number of 8 or 16 bits. */
static inline __attribute__((always_inline)) int decode_number(const unsigned char *in, int is_wide)
{
    uint16_t wide = 0;
    if (!is_wide) {
        return 2 * *in - 255;
    }
    memcpy(&wide, in, sizeof wide);
    return le16toh(wide) - 32768;
}

/* Factors of numbers of 8 or 16 bits: of samples in turns, and of their parts. */
struct signs {
    int32_t of[2][2];
};

/* Each of `parts` numbers, samples `stride` bytes apart. Two samples at a time: so compilers make
 * vectors of them where all is constant but the signs. */
static inline __attribute__((always_inline)) void
decode_loop(const unsigned char *in, size_t stride, uint32_t count, const struct signs signs,
            uint32_t parts, int is_wide, int is_float, char *restrict out)
{
    float *floats = (float *)(void *)out;
    int16_t *whole = (int16_t *)(void *)out;
    for (uint32_t i = 0; i < count; i += 2) {
        for (uint32_t j = 0; j < 2 && i + j < count; j++) {
            for (uint32_t part = 0; part < parts; part++) {
                int number =
                    decode_number(in + (i + j) * stride + part * (is_wide ? 2 : 1), is_wide);
                number *= signs.of[j][part];
                if (is_float) {
                    floats[(i + j) * parts + part] = (float)number;
                } else {
                    whole[(i + j) * parts + part] = (int16_t)number;
                }
            }
        }
    }
}

/* Numbers that lie without gaps, and of which no sign is turned: the commonest, by vectors. */
static inline __attribute__((always_inline)) void
decode_plain(const unsigned char *in, size_t count, int is_wide, char *restrict out)
{
    int16_t *whole = (int16_t *)(void *)out;
    for (size_t i = 0; i < count; i++) {
        whole[i] = (int16_t)decode_number(in + i * (is_wide ? 2 : 1), is_wide);
    }
}

static void decode_numbers(const decoder_t *d, const unsigned char *in, size_t stride,
                           uint32_t count, const struct signs signs, char *out)
{
    const struct packets *packets = d->packets;
    uint32_t parts = packets->is_complex ? 2 : 1;
    int is_wide = packets->bits == 16;
    int is_plain = stride == parts * packets->bits / 8 && packets->format == SAMPLE_I16;
    for (int i = 0; i < 4; i++) {
        is_plain = is_plain && signs.of[i / 2][i % 2] == 1;
    }
    if (is_plain && is_wide) {
        decode_plain(in, (size_t)count * parts, 1, out);
    } else if (is_plain) {
        decode_plain(in, (size_t)count * parts, 0, out);
    } else if (!is_wide && parts == 2) {
        decode_loop(in, stride, count, signs, 2, 0, 0, out);
    } else if (!is_wide) {
        decode_loop(in, stride, count, signs, 1, 0, 0, out);
    } else if (parts == 2) {
        decode_loop(in, stride, count, signs, 2, 1, packets->format == SAMPLE_F32, out);
    } else {
        decode_loop(in, stride, count, signs, 1, 1, packets->format == SAMPLE_F32, out);
    }
}

/* Numbers of 32 bits. */
static void decode_long(const decoder_t *d, const unsigned char *in, size_t stride, uint32_t count,
                        const struct signs signs, char *out)
{
    uint32_t parts = d->packets->is_complex ? 2 : 1;
    float *floats = (float *)(void *)out;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t part = 0; part < parts; part++) {
            uint32_t stored = 0;
            memcpy(&stored, in + i * stride + part * sizeof stored, sizeof stored);
            int64_t number = (int64_t)le32toh(stored) - (INT64_C(1) << 31);
            floats[i * parts + part] = (float)(signs.of[i % 2][part] * number);
        }
    }
}

void decode_stream(const decoder_t *d, const unsigned char *payload, uint32_t stream, uint32_t from,
                   uint32_t count, int is_odd, char *out)
{
    const struct packets_stream *s = &d->packets->streams[stream];
    int turn = (s->is_conjugated ? CONJUGATED : 0) | (s->is_alternating ? ALTERNATING : 0);
    int first_odd = is_odd != (int)(from % 2);
    if (d->packets->format == SAMPLE_I8 && !d->tables) { /* DRX8 */
        memcpy(out, payload + (size_t)from * d->sample_bytes, (size_t)count * d->sample_bytes);
    } else if (!d->tables) {
        int even = s->is_alternating && first_odd ? -1 : 1;
        int odd = s->is_alternating ? -even : 1;
        int part = s->is_conjugated ? -1 : 1;
        const struct signs signs = {{{even, even * part}, {odd, odd * part}}};
        size_t stride = d->step_bits / 8;
        const unsigned char *in = payload + from * stride + s->channel * d->element_bits / 8;
        if (d->packets->bits == 32) {
            decode_long(d, in, stride, count, signs, out);
        } else {
            decode_numbers(d, in, stride, count, signs, out);
        }
    } else if (d->step_bits < 8) {
        /* A byte holds an even number of times, and begins with an even one of its frame. */
        turn |= is_odd ? ODD : 0;
        decode_shared_bytes(d, payload, decode_table(d, turn, s->channel), from, count, out);
    } else {
        size_t stride = d->step_bits / 8;
        uint32_t bit = s->channel * d->element_bits;
        uint32_t place = bit % 8 / d->element_bits;
        const char *even = decode_table(d, turn | (first_odd ? ODD : 0), place);
        const char *odd = decode_table(d, turn | (first_odd ? 0 : ODD), place);
        decode_bytes(d, payload + from * stride + bit / 8, stride, count, even, odd, out);
    }
}
