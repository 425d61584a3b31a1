/* HDF5's reason of a failure, in words for people. */
#ifndef VOLTMILL_IO_HDF5_H5_REASON_H
#define VOLTMILL_IO_HDF5_H5_REASON_H

/* Removes, in place, text without information: line ends (of ctime()), addresses in memory, and
 * numbers from 2^63 on, which are -1 read as unsigned. A field "name = number" is removed whole;
 * elsewhere a '?' replaces the number. Text in quotes is unchanged. */
void h5_reason_clean(char *reason);

#endif
