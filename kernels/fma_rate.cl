/* Fused multiply-adds in registers alone, two operations each: what a device can do at most.
 *
 *   out   float [work-items]
 *
 * A work-item makes `rounds` times CHAINS of them, independent of each other. */
#define CHAINS 16

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
fma_rate(__global float *restrict out, float a, float b, uint rounds)
{
    float sums[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
        sums[i] = (float)get_local_id(0) + i;
    }
    for (uint round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) {
            sums[i] = fma(sums[i], a, b);
        }
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
        sum += sums[i];
    }
    out[get_global_id(0)] = sum;
}
