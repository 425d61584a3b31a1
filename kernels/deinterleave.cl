/* Deinterleaves samples: from where they lie in an archive's buffer into streams without gaps. Those that
 * are missing become zero, and are counted.
 *
 *   in       anything; sample n of stream s has its real (or only) part at byte re[s] + n * step and its
 *            imaginary part at im[s] + n * step
 *   out      stream s from byte s * out_stride on, samples follow each other
 *   found    ulong [groups]; each group adds the missing of streams, of places counted_first ..
 *            counted_first + counted - 1
 *
 * Tiles of TILE_STREAMS streams x TILE_SAMPLES samples pass through local memory: reading goes along the
 * streams, which mostly lie side by side, writing along the samples. Groups go round all tiles.
 * Better: whole words instead of samples, where streams are so interleaved that a word holds two. */
#ifndef TILE_STREAMS
#define TILE_STREAMS 1
#endif
#define TILE 1024
#define TILE_SAMPLES (TILE / TILE_STREAMS)
/* One more sample a row: then a column touches other banks. */
#define PITCH (TILE_SAMPLES + 1)

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
deinterleave(const __global uchar *restrict in, const __global ulong *restrict re,
             const __global ulong *restrict im, ulong step, __global uchar *restrict out, ulong out_stride,
             ulong samples, uint streams, ulong counted_first, ulong counted,
             __global ulong *restrict found)
{
    __local number tile[TILE_STREAMS * PITCH * NUMBERS];
    __local uint counts[WIDTH];
    const uint item = get_local_id(0);
    const ulong across = (streams + TILE_STREAMS - 1) / TILE_STREAMS;
    const ulong tiles = across * ((samples + TILE_SAMPLES - 1) / TILE_SAMPLES);
    uint missing = 0;
    for (ulong at = get_group_id(0); at < tiles; at += get_num_groups(0)) {
        const uint stream0 = (uint)(at % across) * TILE_STREAMS;
        const ulong sample0 = at / across * TILE_SAMPLES;
        for (uint i = item; i < TILE; i += WIDTH) {
            const uint row = i % TILE_STREAMS;
            const uint column = i / TILE_STREAMS;
            const uint stream = stream0 + row;
            const ulong n = sample0 + column;
            if (stream < streams && n < samples) {
                __local number *to = tile + (row * PITCH + column) * NUMBERS;
                number first = read_number(in + re[stream] + n * step);
                int none = is_missing(first);
#if NUMBERS == 2
                number second = read_number(in + im[stream] + n * step);
                none |= is_missing(second);
                to[1] = none ? (number)ZERO_VOLTS : second;
#endif
                to[0] = none ? (number)ZERO_VOLTS : first;
                missing += none && n - counted_first < counted;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < TILE; i += WIDTH) {
            const uint row = i / TILE_SAMPLES;
            const uint column = i % TILE_SAMPLES;
            const uint stream = stream0 + row;
            const ulong n = sample0 + column;
            if (stream < streams && n < samples) {
                const __local number *from = tile + (row * PITCH + column) * NUMBERS;
                __global number *to = (__global number *)(out + stream * out_stride) + n * NUMBERS;
                for (uint j = 0; j < NUMBERS; j++) {
                    to[j] = from[j];
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    add_missing(missing, counts, found);
}
