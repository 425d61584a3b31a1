/* Sums of times and ifs, as the host makes them: in double, row by row, and within a row if by if.
 *
 *   rows   float [times * each][nifs_there][nchannels]
 *   ifs    uint [nifs]                                     those that are added up
 *   out    float [times][nchannels]                        from `first` on
 *
 * A work-item owns one sum. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
add_rows(const __global float *restrict rows, ulong each, uint nifs_there,
         const __global uint *restrict ifs, uint nifs, uint nchannels, ulong times,
         __global float *restrict out, ulong first)
{
    const ulong item = get_global_id(0);
    if (item >= times * nchannels) {
        return;
    }
    const ulong t = item / nchannels;
    const uint c = (uint)(item % nchannels);
    double sum = 0;
    for (ulong row = t * each; row < (t + 1) * each; row++) {
        for (uint i = 0; i < nifs; i++) {
            sum += (double)rows[(row * nifs_there + ifs[i]) * nchannels + c];
        }
    }
    out[first + item] = (float)sum;
}
