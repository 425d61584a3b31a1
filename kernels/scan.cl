/* Looks for missing samples where they lie well already: zeroes them in place, and counts them.
 *
 *   data    stream s begins at byte s * stride; `samples` samples follow each other
 *   found   ulong [groups]; each group adds the missing of streams, of places counted_first ..
 *           counted_first + counted - 1
 *
 * Work-items go round all samples, so what moves is each sample once: next to nothing is written.
 * Better: two samples a load. */
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
scan(__global uchar *restrict data, ulong stride, ulong samples, uint streams, ulong counted_first,
     ulong counted, __global ulong *restrict found)
{
    __local uint counts[WIDTH];
    uint missing = 0;
    for (uint stream = 0; stream < streams; stream++) {
        __global number *volts = (__global number *)(data + stream * stride);
        for (ulong n = get_global_id(0); n < samples; n += get_global_size(0)) {
#if NUMBERS == 2
            const int none = is_missing(volts[2 * n]) | is_missing(volts[2 * n + 1]);
#else
            const int none = is_missing(volts[n]);
#endif
            if (none) {
                for (uint i = 0; i < NUMBERS; i++) {
                    volts[n * NUMBERS + i] = (number)ZERO_VOLTS;
                }
                missing += n - counted_first < counted;
            }
        }
    }
    add_missing(missing, counts, found);
}
