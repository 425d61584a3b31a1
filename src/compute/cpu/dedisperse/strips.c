/* The kernels of strips.h, compiled once for each instruction set (base/lanes.h). */
#include "compute/cpu/dedisperse/strips.h"
#include "base/lanes.h"

/* Registers of a pass over the channels. */
enum { PASS = LANES == 16 ? 8 : 4, PASS_BYTES = VECTOR * PASS };

/* Strips begin at any byte. */
typedef lanes16_t loose16_t __attribute__((aligned(1), may_alias));
typedef lanes32_t loose32_t __attribute__((aligned(1), may_alias));

/* Which sample of a lane is its upper half. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOWER 0
#define UPPER 1
#else
#define LOWER 1
#define UPPER 0
#endif

/* Two samples of `half` bits in a lane. */
#define DEFINE_ADD_PACKED(name, lanes, loose, half)                                                \
    static void name(const char *rows, size_t stride, const uint32_t *delays, uint32_t count,      \
                     int begins, void *sums)                                                       \
    {                                                                                              \
        const lanes none = {0};                                                                    \
        for (size_t at = 0; at < STRIP_BYTES; at += PASS_BYTES) {                                  \
            lanes *whole = (lanes *)(void *)((char *)sums + at);                                   \
            lanes *upper = (lanes *)(void *)((char *)sums + STRIP_BYTES + at);                     \
            const char *row = rows + at;                                                           \
            lanes s[PASS];                                                                         \
            lanes o[PASS];                                                                         \
            UNROLLED for (int i = 0; i < PASS; i++)                                                \
            {                                                                                      \
                s[i] = begins ? none : whole[i];                                                   \
                o[i] = begins ? none : upper[i];                                                   \
            }                                                                                      \
            for (uint32_t c = 0; c < count; c++, row += stride) {                                  \
                const loose *w = (const loose *)(row + (size_t)delays[c] * ((half) / 8));          \
                UNROLLED for (int i = 0; i < PASS; i++)                                            \
                {                                                                                  \
                    lanes word = w[i];                                                             \
                    LANES_KEEP(word);                                                              \
                    s[i] += word;                                                                  \
                    o[i] += word >> (half);                                                        \
                }                                                                                  \
            }                                                                                      \
            UNROLLED for (int i = 0; i < PASS; i++)                                                \
            {                                                                                      \
                whole[i] = s[i];                                                                   \
                upper[i] = o[i];                                                                   \
            }                                                                                      \
        }                                                                                          \
    }

/* A sample in a lane. */
#define DEFINE_ADD_PLAIN(name, lanes, loose, bytes)                                                \
    static void name(const char *rows, size_t stride, const uint32_t *delays, uint32_t count,      \
                     int begins, void *sums)                                                       \
    {                                                                                              \
        const lanes none = {0};                                                                    \
        for (size_t at = 0; at < STRIP_BYTES; at += PASS_BYTES) {                                  \
            lanes *whole = (lanes *)(void *)((char *)sums + at);                                   \
            const char *row = rows + at;                                                           \
            lanes s[PASS];                                                                         \
            UNROLLED for (int i = 0; i < PASS; i++)                                                \
            {                                                                                      \
                s[i] = begins ? none : whole[i];                                                   \
            }                                                                                      \
            for (uint32_t c = 0; c < count; c++, row += stride) {                                  \
                const loose *w = (const loose *)(row + (size_t)delays[c] * (bytes));               \
                UNROLLED for (int i = 0; i < PASS; i++)                                            \
                {                                                                                  \
                    s[i] += w[i];                                                                  \
                }                                                                                  \
            }                                                                                      \
            UNROLLED for (int i = 0; i < PASS; i++)                                                \
            {                                                                                      \
                whole[i] = s[i];                                                                   \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_ADD_PACKED(add_u8, lanes16_t, loose16_t, 8)
DEFINE_ADD_PACKED(add_u16, lanes32_t, loose32_t, 16)
DEFINE_ADD_PLAIN(add_sum16, lanes16_t, loose16_t, 2)
DEFINE_ADD_PLAIN(add_sum32, lanes32_t, loose32_t, 4)

/* Compilers would load all rows where their pointers are made, and put them on the stack. */
#define KEEP_HERE __asm__ volatile("" ::: "memory")

/* Floats, 2, 4 or 16 rows of them in binary order; what is missing of the last ones is zeros. Of
 * sixteen four at a time are read along: caches would fetch each line too late. */
#define W(k) (*(const lanes_packed *)(w[k] + i * VECTOR))
#define SUM4(k) ((W(k) + W((k) + 1)) + (W((k) + 2) + W((k) + 3)))
INLINE void add_in_order(const char *rows, size_t stride, const uint32_t *delays, uint32_t count,
                         int begins, void *sums, const uint32_t at_once)
{
    static const _Alignas(VECTOR) char zeros[PASS_BYTES];
    const lanes_t none = {0};
    for (size_t at = 0; at < STRIP_BYTES; at += PASS_BYTES) {
        lanes_t *whole = (lanes_t *)(void *)((char *)sums + at);
        const char *row = rows + at;
        lanes_t s[PASS];
        lanes_t t[PASS];
        lanes_t u[PASS];
        UNROLLED
        for (int i = 0; i < PASS; i++) {
            s[i] = begins ? none : whole[i];
        }
        for (uint32_t c = 0; c < count; c += at_once) {
            const char *w[16];
            for (uint32_t k = 0; k < at_once; k++) {
                w[k] = c + k < count
                           ? row + (c + k) * stride + (size_t)delays[c + k] * sizeof(float)
                           : zeros;
            }
            KEEP_HERE;
            UNROLLED
            for (int i = 0; i < PASS; i++) {
                t[i] = at_once == 2 ? W(0) + W(1) : SUM4(0);
            }
            if (at_once == 16) {
                UNROLLED
                for (int i = 0; i < PASS; i++) {
                    t[i] += SUM4(4);
                }
                UNROLLED
                for (int i = 0; i < PASS; i++) {
                    u[i] = SUM4(8);
                }
                UNROLLED
                for (int i = 0; i < PASS; i++) {
                    t[i] += u[i] + SUM4(12);
                }
            }
            UNROLLED
            for (int i = 0; i < PASS; i++) {
                s[i] += t[i];
            }
        }
        UNROLLED
        for (int i = 0; i < PASS; i++) {
            whole[i] = s[i];
        }
    }
}

#define DEFINE_ADD_IN_ORDER(name, at_once)                                                         \
    static void name(const char *rows, size_t stride, const uint32_t *delays, uint32_t count,      \
                     int begins, void *sums)                                                       \
    {                                                                                              \
        add_in_order(rows, stride, delays, count, begins, sums, at_once);                          \
    }

DEFINE_ADD_IN_ORDER(add_f32, 16)
DEFINE_ADD_IN_ORDER(add_f32_by_4, 4)
DEFINE_ADD_IN_ORDER(add_f32_by_2, 2)
DEFINE_ADD_PLAIN(add_f32_by_1, lanes_t, lanes_packed, 4)

#define TAKE_16(p) (*(const loose16_t *)(p))
#define TAKE_32(p) (*(const loose32_t *)(p))
#define TAKE_F(p) (*(const lanes_packed *)(p))

/* Loads samples of `bytes` bytes into lanes. */
#define DEFINE_JOIN_FOUR(name, bytes, take, loose, lane_bytes)                                     \
    static void name(const void *const from[4], size_t count, void *to)                            \
    {                                                                                              \
        const char *a = from[0];                                                                   \
        const char *b = from[1];                                                                   \
        const char *c = from[2];                                                                   \
        const char *d = from[3];                                                                   \
        loose *sum = to;                                                                           \
        for (size_t at = 0; at < count * (bytes); at += VECTOR / (lane_bytes) * (bytes), sum++) {  \
            *sum = (take(a + at) + take(b + at)) + (take(c + at) + take(d + at));                  \
        }                                                                                          \
    }
#define DEFINE_JOIN_TWO(name, bytes, take, loose)                                                  \
    static void name(const void *const from[4], size_t count, void *to)                            \
    {                                                                                              \
        const char *a = from[0];                                                                   \
        const char *b = from[1];                                                                   \
        loose *sum = to;                                                                           \
        for (size_t at = 0; at < count * (bytes); at += VECTOR, sum++) {                           \
            *sum = take(a + at) + take(b + at);                                                    \
        }                                                                                          \
    }

DEFINE_JOIN_FOUR(join_u8, 1, LANES_WIDEN_8, loose16_t, 2)
DEFINE_JOIN_FOUR(join_u16, 2, LANES_WIDEN_16, loose32_t, 4)
DEFINE_JOIN_FOUR(join_f32, 4, TAKE_F, lanes_packed, 4)
DEFINE_JOIN_TWO(join_sum16, 2, TAKE_16, loose16_t)
DEFINE_JOIN_TWO(join_sum32, 4, TAKE_32, loose32_t)
DEFINE_JOIN_TWO(join_sum_f32, 4, TAKE_F, lanes_packed)

/* Sums of 16 bits are widened once, on their way from registers to the totals. */
static void total_sum16(const char *rows, const uint32_t *starts, uint32_t count, unsigned part,
                        void *sums, void *total)
{
    enum { HALVES = 2 * PASS };
    const lanes16_t none = {0};
    for (size_t at = 0; at < STRIP_BYTES; at += PASS_BYTES) {
        char *kept = (char *)sums + at;
        lanes32_t *to = (lanes32_t *)(void *)((char *)total + 2 * at);
        lanes16_t s[PASS];
        UNROLLED
        for (int i = 0; i < PASS; i++) {
            s[i] = part & PART_BEGINS ? none : ((lanes16_t *)(void *)kept)[i];
        }
        for (uint32_t c = 0; c < count; c++) {
            const loose16_t *w = (const loose16_t *)(rows + at + (size_t)starts[c] * 2);
            UNROLLED
            for (int i = 0; i < PASS; i++) {
                s[i] += w[i];
            }
        }
        UNROLLED
        for (int i = 0; i < PASS; i++) {
            ((lanes16_t *)(void *)kept)[i] = s[i];
        }
        if (!(part & PART_ENDS)) {
            continue;
        }
        UNROLLED
        for (int i = 0; i < HALVES; i++) {
            lanes32_t wide = LANES_WIDEN_16(kept + i * VECTOR / 2);
            to[i] = part & PART_IS_FIRST ? wide : to[i] + wide;
        }
    }
}

/* Totals that are the sums themselves. */
static void total_sum32(const char *rows, const uint32_t *starts, uint32_t count, unsigned part,
                        void *sums, void *total)
{
    (void)sums;
    add_sum32(rows, 0, starts, count, part & PART_BEGINS && part & PART_IS_FIRST, total);
}

/* Adds sums to totals by Knuth's sum of two floats; the rounding errors stay in `sums`. */
static void flush_f32(void *sums, void *total)
{
    float *s = sums;
    float *to = total;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        const float sum = to[i] + s[i];
        const float share = sum - to[i];
        s[i] = (to[i] - (sum - share)) + (s[i] - share);
        to[i] = sum;
    }
}

#define DEFINE_TOTAL(name, add)                                                                    \
    static void name(const char *rows, const uint32_t *starts, uint32_t count, unsigned part,      \
                     void *sums, void *total)                                                      \
    {                                                                                              \
        add(rows, 0, starts, count, part &PART_BEGINS &&part &PART_IS_FIRST, sums);                \
        if (part & PART_ENDS) {                                                                    \
            if (part & PART_IS_FIRST) {                                                            \
                memset(total, 0, STRIP_BYTES);                                                     \
            }                                                                                      \
            flush_f32(sums, total);                                                                \
        }                                                                                          \
    }

DEFINE_TOTAL(total_f32_by_4, add_f32_by_4)
DEFINE_TOTAL(total_f32_by_2, add_f32_by_2)
DEFINE_TOTAL(total_f32_by_1, add_f32_by_1)

/* Lines that are not whole are written as usual. */
static void stream_floats(const void *from, size_t count, float *out)
{
    enum { LINE = 64 };
    const float *f = from;
    size_t head = (size_t)(-(uintptr_t)out % LINE) / sizeof *out;
    size_t i = head < count ? head : count;
    memcpy(out, f, i * sizeof *out);
    for (; i + LINE / sizeof *out <= count; i += LINE / sizeof *out) {
        UNROLLED
        for (size_t k = 0; k < LINE / sizeof *out; k += LANES) {
            LANES_STORE_PAST(out + i + k, *(const lanes_packed *)(f + i + k));
        }
    }
    memcpy(out + i, f + i, (count - i) * sizeof *out);
    lanes_settle();
}

static void flush_u8(void *sums, void *total)
{
    const uint16_t *s = sums;
    const uint16_t *o = s + STRIP_BYTES / 2;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 2; i++) {
        to[2 * i + LOWER] += (uint16_t)(s[i] - (o[i] << 8));
        to[2 * i + UPPER] += o[i];
    }
}

static void flush_u16(void *sums, void *total)
{
    const uint32_t *s = sums;
    const uint32_t *o = s + STRIP_BYTES / 4;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[2 * i + LOWER] += s[i] - (o[i] << 16);
        to[2 * i + UPPER] += o[i];
    }
}

static void flush_sum16(void *sums, void *total)
{
    const uint16_t *s = sums;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 2; i++) {
        to[i] += s[i];
    }
}

static void flush_sum32(void *sums, void *total)
{
    const uint32_t *s = sums;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[i] += s[i];
    }
}

static void give_integers(const void *total, size_t count, float *restrict out)
{
    const uint32_t *from = total;
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)from[i];
    }
}

static void give_floats(const void *total, size_t count, float *restrict out)
{
    memcpy(out, total, count * sizeof *out);
}

static void spread_u8(const void *sums, void *restrict out)
{
    const uint16_t *s = sums;
    const uint16_t *o = s + STRIP_BYTES / 2;
    uint16_t *to = out;
    for (int i = 0; i < STRIP_BYTES / 2; i++) {
        to[2 * i + LOWER] = (uint16_t)(s[i] - (o[i] << 8));
        to[2 * i + UPPER] = o[i];
    }
}

static void spread_u16(const void *sums, void *restrict out)
{
    const uint32_t *s = sums;
    const uint32_t *o = s + STRIP_BYTES / 4;
    uint32_t *to = out;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[2 * i + LOWER] = s[i] - (o[i] << 16);
        to[2 * i + UPPER] = o[i];
    }
}

static void spread_f32(const void *sums, void *restrict out)
{
    memcpy(out, sums, STRIP_BYTES);
}

#define STRIP_FLOATS(add, join, total)                                                             \
    {                                                                                              \
        4, 0, 1, add, flush_f32, give_floats, spread_f32, join, total, stream_floats               \
    }

extern const struct strip_kernels FOR_LEVEL(strip_kernels);
const struct strip_kernels FOR_LEVEL(strip_kernels) = {
    .kinds = {
        [STRIP_U8] = {1, 256, 0, add_u8, flush_u8, give_integers, spread_u8, join_u8, NULL, NULL},
        [STRIP_U16] = {2, 1 << 16, 0, add_u16, flush_u16, give_integers, spread_u16, join_u16, NULL,
                       NULL},
        [STRIP_F32] = STRIP_FLOATS(add_f32, join_f32, NULL),
        [STRIP_SUM16] = {2, STRIP_CHUNK, 0, add_sum16, flush_sum16, give_integers, NULL, join_sum16,
                         total_sum16, stream_floats},
        [STRIP_SUM32] = {4, 1 << 16, 0, add_sum32, flush_sum32, give_integers, NULL, join_sum32,
                         total_sum32, stream_floats},
        [STRIP_F32_BY_4] = STRIP_FLOATS(add_f32_by_4, join_sum_f32, total_f32_by_4),
        [STRIP_F32_BY_2] = STRIP_FLOATS(add_f32_by_2, join_sum_f32, total_f32_by_2),
        [STRIP_F32_BY_1] = STRIP_FLOATS(add_f32_by_1, join_sum_f32, total_f32_by_1)}};
