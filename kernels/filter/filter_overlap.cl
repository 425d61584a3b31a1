/* Overlap-save around the transforms of a library: blocks are gathered, multiplied by a response, and their
 * valid part is stored. Comes behind filter_samples.cl.
 *
 *   work    float2 [blocks][LENGTH]; real rows: two neighbouring blocks are real and imaginary part of one
 *   table   float2 [responses][LENGTH], divided by LENGTH
 *
 * Blocks from..: number i is block first_block + i % blocks of stream i / blocks. Work-items go along them.
 * The product is conjugated, so that a forward transform is the inverse one of its conjugate.
 * Better: the first and the last of these kernels within the library's own, which has no such thing in
 * OpenCL: what passes through here stays in the L2, when the batch is small enough. */
#ifndef LENGTH
#define LENGTH 1024
#define VALID 512 /* rows of a block */
#define USED 1024 /* samples of a block: behind them zeros */
#define TAKE 0    /* value of a block's first row */
#endif
#define BLOCKS (COMPLEX_OUT ? 1 : 2) /* of a transform */
#define GRAIN (VALID * BLOCKS)

__kernel void filter_gather(const __global uchar *restrict in, ulong in_stride, ulong samples,
                            const __global long2 *restrict streams, long base, long first_block, uint blocks,
                            uint from, uint count, __global float2 *restrict work)
{
    const uint i = get_global_id(0);
    if (i >= count * LENGTH) {
        return;
    }
    const uint block = from + i / LENGTH;
    const uint number = block / blocks;
    const uint k = i % LENGTH;
    const __global filter_stored *stream = (const __global filter_stored *)(in + number * in_stride);
    const long n = (first_block + (long)(block % blocks)) * (GRAIN * (long)DECIMATE) + base + streams[number].x + k;
    float2 value = (float2)(0);
    if (k < USED) {
#if COMPLEX
        value = filter_sample(stream, n, samples);
#else
        value.x = filter_sample(stream, n, samples);
#if !COMPLEX_OUT
        value.y = filter_sample(stream, n + VALID * (long)DECIMATE, samples);
#endif
#endif
    }
    work[i] = value;
}

__kernel void filter_multiply(const __global long2 *restrict streams, const __global float2 *restrict table,
                              uint blocks, uint from, uint count, __global float2 *restrict work)
{
    const uint i = get_global_id(0);
    if (i >= count * LENGTH) {
        return;
    }
    const uint number = (from + i / LENGTH) / blocks;
    const float2 h = table[streams[number].y * LENGTH + i % LENGTH];
    const float2 x = work[i];
    work[i] = (float2)(fma(x.x, h.x, -x.y * h.y), -fma(x.x, h.y, x.y * h.x));
}

__kernel void filter_store(const __global float2 *restrict work, long first_block, uint blocks, uint from,
                           uint count, __global filter_row *restrict out, ulong out_stride, long first_row,
                           ulong rows)
{
    const uint i = get_global_id(0);
    const uint block = from + i / GRAIN;
    const uint m = i % GRAIN;
    /* A row before the first is a huge one. */
    const ulong row = (ulong)((first_block + (long)(block % blocks)) * GRAIN + m - first_row);
    if (i >= count * GRAIN || row >= rows) {
        return;
    }
    const float2 value = work[i / GRAIN * LENGTH + m % VALID * (ulong)DECIMATE + TAKE];
#if COMPLEX_OUT
    out[block / blocks * (size_t)out_stride + row] = (float2)(value.x, -value.y);
#else
    out[block / blocks * (size_t)out_stride + row] = m < VALID ? value.x : -value.y;
#endif
}
