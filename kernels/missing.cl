/* Which samples are missing: what deinterleave.cl and scan.cl have in common.
 *
 * A sample is missing if a part of it is no finite number, or is the MISSING value (of 4 + 4 bits: if the
 * byte is). It counts as zero volts. */
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
