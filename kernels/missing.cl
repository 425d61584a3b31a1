/* Numbers as an archive's buffer holds them, and which samples are missing: what deinterleave.cl, scan.cl
 * and synthesis_rows.cl have in common.
 *
 * A sample is missing if a part of it is no finite number, or is the MISSING value (of 4 + 4 bits: if the
 * byte is). It counts as zero volts. */
#ifndef ALIGNED
#define ALIGNED 0 /* 1: numbers lie at multiples of their size */
#endif
#ifndef HAS_MISSING
#define HAS_MISSING 0
#endif
#ifndef MISSING
#define MISSING 0
#endif
#ifndef WIDTH
#define WIDTH 256
#endif

#if FORMAT == FORMAT_I4
typedef uchar number;
#define NUMBERS 1
#else
#if FORMAT == FORMAT_I8
typedef char number;
#elif FORMAT == FORMAT_I16
typedef short number;
#else
typedef float number;
#endif
#define NUMBERS (COMPLEX ? 2 : 1)
#endif

/* The byte that means zero volts in both nibbles. */
#if FORMAT == FORMAT_I4 && NIBBLE_OFFSET
#define ZERO_VOLTS 0x88
#else
#define ZERO_VOLTS 0
#endif

static inline number read_number(const __global uchar *at)
{
#if ALIGNED || FORMAT == FORMAT_I4 || FORMAT == FORMAT_I8
    return *(const __global number *)at;
#elif FORMAT == FORMAT_I16
    return as_short((ushort)(at[0] | at[1] << 8));
#else
    return as_float(at[0] | (uint)at[1] << 8 | (uint)at[2] << 16 | (uint)at[3] << 24);
#endif
}

static inline int is_missing(number value)
{
#if FORMAT == FORMAT_F32
    if (!isfinite(value)) {
        return 1;
    }
#endif
#if HAS_MISSING
    return value == MISSING;
#else
    return 0;
#endif
}

/* Adds the counts of missing samples of a group's work-items to found[group]; `counts` has WIDTH
 * places. All work-items call it. The queue is in order, and no other group uses this slot. */
static inline void add_missing(uint missing, __local uint *counts, __global ulong *found)
{
    counts[get_local_id(0)] = missing;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        ulong sum = 0;
        for (uint i = 0; i < WIDTH; i++) {
            sum += counts[i];
        }
        found[get_group_id(0)] += sum;
    }
}
