/* Fine channels, two steps in one launch: columns hand over to rows through the cache. Comes behind
 * samples.cl, steps.cl, butterflies.cl, fine_columns.cl and fine_rows.cl, whose shapes it has: with
 * COLUMN_FILTERS the filtered columns of spectra of two factors, else the columns inside of rows,
 * of three.
 *
 *   in, coeff, cfactors, turns, rfactors, out, scales   as there; `skipped`: first of the spectra
 *   points    float2 [streams][spectra][N1][COLUMN_LENGTH], COLUMN_FILTERS 0: what is transformed
 *   ring      float2 [slots][RL_SLICE], slots > lag
 *   counters  uint [RL_OTHERS + 2 slices], zeros
 *
 * Spectra are cut into slices: a batch of a stream, or, of longer ones, ROW_LANES neighbouring k1 of
 * one spectrum. Groups of columns fill the slot of a slice, groups of rows empty it, `lag` slices
 * later in the order of groups; who needs what is not there yet waits for it. All wait for groups
 * before them only, which run: groups are numbered as they begin.
 *
 * Why this shape is fast (H200, 2^28 samples of 8 bits, 8 taps): what is between the steps stays in
 * L2, which is half of all bytes that went through memory, and of two groups on a unit one waits for
 * memory while the other computes: C = 8192 takes 1.53 ms instead of 2.03 in two launches. `lag`
 * slices are 12 to 15 MB: with less groups wait (9 MB: 1.90), more leave the cache (25 MB: 1.84).
 * Rows count as read once they are loaded, and columns wait only before they store: 1.75 where
 * both did so at their ends. Groups of 128 work-items: of 256 1.60. Spectra are stored past the cache:
 * else 1.66. Tickets cost 0.08, so NVIDIA's groups, which begin in the order of their numbers, draw
 * none. No gain: hints that keep the ring in L2 (evict_last) or drop what was read of it; sums over
 * runs of 16 spectra (C = 16,384: 1.50 ms either way). */
#ifndef RELAY_PTX
#define RELAY_PTX 0 /* 1: NVIDIA's own instructions, and order of groups */
#endif

#define RL_ACROSS (FC_COLUMNS / COLUMN_WIDTH)
#if COLUMN_FILTERS
#define RL_LANES (N1 / ROW_LANES) /* groups of a row of a slice */
#define RL_FILLERS RL_ACROSS      /* groups that fill a slice, */
#define RL_EMPTIERS (COLUMN_BATCH * RL_LANES) /* that empty it */
#define RL_SLICE (COLUMN_BATCH * (size_t)CHANNELS)
#define RL_RUNS(spectra) (((spectra) + COLUMN_BATCH - 1) / COLUMN_BATCH) /* slices of a stream */
#else
#define RL_FILLERS (ROW_LANES / COLUMN_BATCH * RL_ACROSS)
#define RL_EMPTIERS N2
#define RL_SLICE (ROW_LANES * (size_t)COLUMN_LENGTH)
#define RL_RUNS(spectra) ((spectra) * (N1 / ROW_LANES))
#endif
#define RL_GROUPS (RL_FILLERS + RL_EMPTIERS)
#define RL_OTHERS 32 /* counters before those of slices: the tickets, and room */
#define RL_COLUMN_CELLS (COLUMN_BUFFERS * FC_SPAN)
#define RL_ROW_CELLS (ROW_LANES * FR_SPAN)

/* Reads a counter. */
static inline uint rl_see(volatile __global uint *counter)
{
#if RELAY_PTX
    uint seen;
    __asm__ volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    return seen;
#else
    return atomic_or(counter, 0u);
#endif
}

/* One more; what the group has stored before a barrier is there for whoever sees it. */
static inline void rl_tell(volatile __global uint *counter)
{
    if (get_local_id(0) == 0) {
#if RELAY_PTX
        __asm__ volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(counter) : "memory");
#else
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_inc(counter);
#endif
    }
}

/* One more, of those who have only read. */
static inline void rl_count(volatile __global uint *counter)
{
    if (get_local_id(0) == 0) {
        atomic_inc(counter);
    }
}

/* A point of the ring, as it is now: slots are used again. */
static inline float2 rl_fetch(const __global float2 *from)
{
#if RELAY_PTX
    float2 y;
    __asm__ volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];"
                     : "=f"(y.x), "=f"(y.y)
                     : "l"(from)
                     : "memory");
    return y;
#else
    return *(const volatile __global float2 *)from;
#endif
}
#define FR_FETCH(from) rl_fetch(from)

/* Spectra leave the cache before what is in the ring. */
#if RELAY_PTX && MODE == 0
static inline void rl_store(__global float2 *to, float2 y)
{
    __asm__ volatile("st.global.cs.v2.f32 [%0], {%1, %2};"
                     :
                     : "l"(to), "f"(y.x), "f"(y.y)
                     : "memory");
}
#define FR_STORE(to, what) rl_store(to, what)
#else
#define FR_STORE(to, what) (*(to) = (what))
#endif

/* The columns' groups: before they store, there must be room. */
#define FC_READY                                                                                   \
    while (seen < until) {                                                                         \
        seen = rl_see(awaited);                                                                    \
    }

__kernel __attribute__((reqd_work_group_size(FC_ITEMS, 1, 1))) void
fine_relay(
#if COLUMN_FILTERS
    const __global FC_TYPE *restrict in, ulong in_stride, const __global float *restrict coeff,
    ulong skipped,
#else
    const __global float2 *restrict points,
#endif
    const __global float2 *restrict cfactors, const __global float2 *restrict turns,
    const __global float2 *restrict rfactors, __global float2 *ring, __global uint *counters,
    __global float *restrict out, ulong from, uint spectra, uint streams, ulong first,
    ulong integrate, uint lag, uint slots FR_STEP_ARGUMENTS)
{
    __local float2 cells[RL_COLUMN_CELLS > RL_ROW_CELLS ? RL_COLUMN_CELLS : RL_ROW_CELLS]
        __attribute__((aligned(16)));
    const uint item = get_local_id(0);
#if RELAY_PTX
    const uint ticket = get_group_id(0);
#else
    __local uint drawn[1];
    if (item == 0) {
        drawn[0] = atomic_inc(counters);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint ticket = drawn[0];
#endif
    const uint runs = RL_RUNS(spectra), slices = runs * streams;
    __global uint *filled = counters + RL_OTHERS, *emptied = filled + slices;

    /* Both kinds of groups of a step are mixed evenly. */
    const uint step = ticket / RL_GROUPS, place = ticket % RL_GROUPS;
    const uint number = place * RL_EMPTIERS / RL_GROUPS; /* emptiers before this group */
    const int is_row = (place + 1) * RL_EMPTIERS / RL_GROUPS != number;
    const uint slice = is_row ? step - lag : step;
    const int is_idle = slice >= slices; /* before the first one, too */
    const uint stream = slice / runs;
    __global float2 *slot = ring + slice % slots * RL_SLICE;

    __global uint *awaited = is_row ? filled + (is_idle ? 0 : slice)
                                    : emptied + (step < slots ? 0 : step - slots);
    const uint until = is_idle ? 0 : is_row ? RL_FILLERS : step < slots ? 0 : RL_EMPTIERS;
    uint seen = until > 0 ? rl_see(awaited) : 0;

    if (!is_idle && !is_row) {
        const __global float2 *factors = cfactors;
        const uint begin = (place - number) % RL_ACROSS * COLUMN_WIDTH;
#if COLUMN_FILTERS
        const uint wanted = slice % runs * COLUMN_BATCH;
        const uint base = spectra < COLUMN_BATCH ? 0 : min(wanted, spectra - COLUMN_BATCH);
        const __global FC_TYPE *samples =
            (const __global FC_TYPE *)((const __global uchar *)in + stream * in_stride) +
            (skipped + base) * (CHANNELS * (size_t)FC_PAIR);
        __global float2 *to = slot + begin - (wanted - base) * (size_t)CHANNELS;
        FC_GROUP
#else
        const uint wanted = (place - number) / RL_ACROSS * COLUMN_BATCH, base = wanted;
        const size_t at = base * (size_t)COLUMN_LENGTH + begin;
        const __global float2 *from = points + slice * RL_SLICE + at;
        __global float2 *to = slot + at;
        {
            const uint spectra = ROW_LANES;
            FC_GROUP
        }
#endif
    }
    if (!is_idle && is_row) {
        const __global float2 *tw = rfactors;
#if COLUMN_FILTERS
        const uint in_slice = number / RL_LANES;
        const uint k1 = number % RL_LANES * ROW_LANES, k0 = k1;
        const uint row = slice % runs * COLUMN_BATCH + in_slice;
        const __global float2 *points = slot + in_slice * (size_t)CHANNELS + k1 * ROW_POINTS +
                                        FR_ALONG_ROW * ROW_POINTS;
        const int is_there = row < spectra;
#else
        const uint row = slice % runs / (N1 / ROW_LANES);
        const uint k0 = slice % (N1 / ROW_LANES) * ROW_LANES + N1 * number;
        const __global float2 *points =
            slot + number * ROW_POINTS + FR_ALONG_ROW * (N2 * ROW_POINTS);
        const int is_there = 1;
#endif
        while (seen < until) {
            seen = rl_see(awaited);
        }
        if (is_there) {
            float2 v[ROW_VALUES];
            FR_TRANSFORM(points)
            rl_count(emptied + slice);
            FR_LEAVE
        } else {
            rl_count(emptied + slice);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (!is_idle && !is_row) {
        rl_tell(filled + slice);
    }
}
