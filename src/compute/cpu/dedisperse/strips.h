/* The inner loops of dedispersion, compiled once for each instruction set like kernels.h.
 *
 * A strip is STRIP_BYTES of a channel's row from some time on: 512 samples of 8 bit, 128 floats.
 * Rows are added up as they are stored: packed integers beside their upper halves,
 *
 *   S += w,  O += w >> half  in lanes of two samples,
 *
 * so S - (O << half) gives the sum of the lower halves exactly as long as that fits a lane.
 *
 * Floats are added as compute/dedisperse.h says: sixteen rows in binary order, then these sums. The
 * rounding error of a total stays in the sums. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_STRIPS_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_STRIPS_H

#include "compute/cpu/ppf/kernels.h"

enum {
    STRIP_BYTES = 512,
    STRIP_CHUNK = 32,             /* channels of a call, so that their strips stay in L1 */
    STRIP_SUMS = 2 * STRIP_BYTES, /* bytes that sums take */
    STRIP_TOTALS = 4 * STRIP_BYTES
};

enum strip_kind {
    STRIP_U8,       /* channels of 8 bit */
    STRIP_U16,      /* of 16 bit */
    STRIP_F32,      /* of floats, or sub-bands of them */
    STRIP_SUM16,    /* sub-bands: sums of 8-bit channels in 16 bit */
    STRIP_SUM32,    /* sums of 16-bit channels in 32 bit */
    STRIP_F32_BY_4, /* sums of 4, of 8 and of 16 floats: as many calls make sixteen rows */
    STRIP_F32_BY_2,
    STRIP_F32_BY_1,
    STRIP_KINDS
};

/* Flags of a call of total(): the part of the totals begins with it, ends with it, and is the first
 * one. */
enum { PART_BEGINS = 1, PART_ENDS = 2, PART_IS_FIRST = 4 };

/* Functions are NULL for kinds that have no use for them: spread() of sums of integers, total() and
 * stream() of channels of integers, total() of STRIP_F32. */
struct strip_kernel {
    size_t sample_bytes;
    uint32_t limit; /* channels after which sums must be flushed; 0: dedisperse_block() */
    int is_float;
    /* sums = or += strips of `count` channels. For floats, `count` is a multiple of 16 in all calls
     * but the last.
     *
     *   rows     [count][stride bytes]   the strip of channel c begins `delays[c]` samples after
     *            rows + c * stride
     *   sums     aligned to 64 bytes; they begin at zero, or continue */
    void (*add)(const char *rows, size_t stride, const uint32_t *delays, uint32_t count, int begins,
                void *sums);
    /* total[t] += the sum of sample t: uint32, or float of STRIP_F32. Sums of floats keep the rest,
     * to which the next rows are added. */
    void (*flush)(void *sums, void *total);
    /* out[t] = (float)total[t], t < count. */
    void (*give)(const void *total, size_t count, float *out);
    /* The sums as samples of a sub-band: of STRIP_SUM16, STRIP_SUM32 or STRIP_F32. */
    void (*spread)(const void *sums, void *out);
    /* to[t] as samples of a sub-band, t < count: of channels (from[0][t] + from[1][t]) +
     * (from[2][t] + from[3][t]), of sums of them from[0][t] + from[1][t]. Up to 64 bytes after each
     * may be read. */
    void (*join)(const void *const from[4], size_t count, void *to);
    /* Adds `count` rows, which begin at samples starts[k] of `rows`, to the totals of a strip, as
     * flush() has them. `part`: flags. Of 16 bits and of floats, totals are made of parts: `sums`
     * keeps those of a part until it ends. */
    void (*total)(const char *rows, const uint32_t *starts, uint32_t count, unsigned part,
                  void *sums, void *total);
    /* Copies `count` floats past the caches, to be waited for by a lock. */
    void (*stream)(const void *from, size_t count, float *out);
};

struct strip_kernels {
    struct strip_kernel kinds[STRIP_KINDS];
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct strip_kernels *strip_kernels(enum simd_level level);

#endif
