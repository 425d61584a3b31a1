/* The transform of ppf_fused.cl where channels are no power of two, and of long spectra: C = RADIX0
 * RADIX1 RADIX2, or RADIX0 RADIX1. Comes between the butterflies and ppf_fused.cl, which runs these
 * steps between its filter and its output of spectra; RADIX0 is VALUES, and a multiple of the last
 * radix.
 *
 * Point f + k C / RADIX0 is value k of item f of a team, which has it in registers (NEIGHBOURS: in
 * the cells of mixed_filter.cl). After the first butterflies, value q of item f is in cell f + q
 * STEP (XORED: (f ^ q) + q STEP). The middle stage works in place: a butterfly takes RADIX1 cells
 * that are LAST apart, and puts its results where it has read. So no item waits within it, and its
 * radix may exceed the values of an item. All spectra of a batch are distributed together, in any
 * order: ORDERED, a table after the factors has for each butterfly its first cell (16 bits) and the
 * q of its factors (16 bits). STEP and that order are chosen so that neighbours use different banks
 * (mixed.c); radices of 16 need no such order. Item j then reads LAST cells in a row, and owns
 * channels j + q C / LAST. */

#if IN_PLACE
#if STAGES == 3
#define MIXED_LAST RADIX2
#else
#define MIXED_LAST RADIX1
#endif
#define MIXED_JOIN_(a, b) a##b
#define MIXED_JOIN(a, b) MIXED_JOIN_(a, b)
#if XORED
#define MIXED_TURNED(f, q) ((f) ^ (q))
#else
#define MIXED_TURNED(f, q) (f)
#endif
#if PAIRED
typedef float4 mixed_cell;
#define MIXED_CELLS wide
#define MIXED_TOGETHER 2 /* spectra of a cell */
#define MIXED_WRITE(cell, value)                                                                   \
    cell = (float4)(v[2 * b][value], v[2 * b + 1][value]);
#define MIXED_READ(cell, value)                                                                    \
    {                                                                                              \
        const float4 both = cell;                                                                  \
        v[2 * b][value] = both.xy;                                                                 \
        v[2 * b + 1][value] = both.zw;                                                             \
    }
#else
typedef float2 mixed_cell;
#define MIXED_CELLS cells
#define MIXED_TOGETHER 1
#define MIXED_WRITE(cell, value) cell = v[b][value];
#define MIXED_READ(cell, value) v[b][value] = cell;
#endif
#define MIXED_BATCH (BATCH / MIXED_TOGETHER)

/* Others may still read the cells of the batch before. */
#if MODE == 2
#define MIXED_FREE FUSED_BARRIER
#else
#define MIXED_FREE
#endif
#define MIXED_STORE                                                                                \
    MIXED_FREE                                                                                     \
    BF_LOOP(q, RADIX0)                                                                             \
    {                                                                                              \
        const uint place = MIXED_TURNED(item, q) + q * STEP;                                       \
        BF_LOOP(b, MIXED_BATCH) MIXED_WRITE(MIXED_CELLS[b * SPAN + place], q)                      \
    }

#if STAGES == 3
#define MIXED_COUNT MIXED_JOIN(BF_FACTORS_, RADIX1)

#if PAIRED
#define MIXED_FETCH(cell)                                                                          \
    {                                                                                              \
        const float4 both = cell;                                                                  \
        u[0][q] = both.xy;                                                                         \
        u[1][q] = both.zw;                                                                         \
    }
#define MIXED_GIVE(cell) cell = (float4)(u[0][q], u[1][q]);
#else
#define MIXED_FETCH(cell) u[0][q] = cell;
#define MIXED_GIVE(cell) cell = u[0][q];
#endif

/* A butterfly's first cell, and its factors. With no order all of an item have the same, which it
 * asks for, as those of the last stage, before it waits for others. */
#if ORDERED
#define MIXED_ENTRY                                                                                \
    const uint entry = ((const __global uint *)(tw + MIXED_ORDER))[job], cell = entry & 0xffff;    \
    float2 w[MIXED_COUNT];                                                                         \
    BF_LOOP(q, MIXED_COUNT) w[q] = tw[q * RADIX0 + (entry >> 16)];
#define MIXED_ASK
#define MIXED_ASK_LAST
#define MIXED_BEHIND FUSED_STAGE(RADIX2, FUSED_DONE2, FUSED_FACTORS2)
#else
#define MIXED_PER (CHANNELS / RADIX1) /* butterflies of a spectrum: divides the items of a team */
#define MIXED_ENTRY                                                                                \
    const uint place = MIXED_TURNED(job % MIXED_LAST, of_q);                                       \
    const uint cell = job / MIXED_PER * SPAN + of_q * STEP + place;
#define MIXED_ASK                                                                                  \
    const uint of_q = item % MIXED_PER / MIXED_LAST;                                               \
    float2 w[MIXED_COUNT], last[MIXED_JOIN(BF_FACTORS_, RADIX2)];                                  \
    BF_LOOP(q, MIXED_COUNT) w[q] = tw[q * RADIX0 + of_q];
#define MIXED_ASK_LAST                                                                             \
    BF_LOOP(q, MIXED_JOIN(BF_FACTORS_, RADIX2))                                                    \
    last[q] = tw[FUSED_FACTORS2 + q * FUSED_DONE2 + item];
#define MIXED_BEHIND BF_LOOP(b, BATCH) FUSED_TWIDDLED(RADIX2)(v[b], last);
#endif

#define MIXED_JOBS (MIXED_BATCH * (CHANNELS / RADIX1)) /* butterflies of a team */
#define MIXED_ROUNDS ((MIXED_JOBS + FUSED_ITEMS - 1) / FUSED_ITEMS)
#define MIXED_MIDDLE                                                                               \
    BF_LOOP(r, MIXED_ROUNDS)                                                                       \
    {                                                                                              \
        const uint job = r * FUSED_ITEMS + item;                                                   \
        if (MIXED_JOBS % FUSED_ITEMS == 0 || job < MIXED_JOBS) {                                   \
            MIXED_ENTRY                                                                            \
            __local mixed_cell *at = MIXED_CELLS + cell;                                           \
            float2 u[MIXED_TOGETHER][RADIX1];                                                      \
            BF_LOOP(q, RADIX1) MIXED_FETCH(at[q * MIXED_LAST])                                     \
            BF_LOOP(b, MIXED_TOGETHER) MIXED_JOIN(bf_twiddled, RADIX1)(u[b], w);                   \
            BF_LOOP(q, RADIX1) MIXED_GIVE(at[q * MIXED_LAST])                                      \
        }                                                                                          \
    }                                                                                              \
    MIXED_ASK_LAST                                                                                 \
    FUSED_BARRIER
#else
#define MIXED_ASK
#define MIXED_MIDDLE
#define MIXED_BEHIND FUSED_STAGE(RADIX1, FUSED_DONE1, 0)
#endif

#define MIXED_LOAD                                                                                 \
    BF_LOOP(p, FUSED_SETS(MIXED_LAST))                                                             \
    {                                                                                              \
        const uint j = item + p * FUSED_ITEMS;                                                     \
        const uint place = j / RADIX0 * MIXED_LAST + j % RADIX0 * STEP;                            \
        BF_LOOP(k, MIXED_LAST)                                                                     \
        BF_LOOP(b, MIXED_BATCH)                                                                    \
        MIXED_READ(MIXED_CELLS[b * SPAN + place + MIXED_TURNED(k, j % RADIX0)],                    \
                   p * MIXED_LAST + k)                                                             \
    }
#endif
