/* What HDF5 says of a failure, in words for people. */
#ifndef VOLTMILL_IO_HDF5_H5_REASON_H
#define VOLTMILL_IO_HDF5_H5_REASON_H

/* Takes out, in place, what says nothing: line ends (of ctime()), addresses in memory, and numbers
 * from 2^63 on, which are -1 read as unsigned. A field "name = number" goes as a whole, elsewhere a
 * '?' is left; what stands in quotes stays. */
void h5_reason_clean(char *reason);

#endif
