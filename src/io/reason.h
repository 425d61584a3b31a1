/* Reasons for which system calls fail: what an errno means, and the status of the failure. */
#ifndef VOLTMILL_IO_REASON_H
#define VOLTMILL_IO_REASON_H

#include "base/status.h"

/* Return whether an errno means that the name does not exist, or cannot (too long, links in a
 * circle); that the disk, or this user's quota, is full (of inodes, too), or a file may not grow
 * (EFBIG); that this process or machine has no more memory or file descriptors. */
int reason_is_absent(int reason);
int reason_is_full(int reason);
int reason_is_out_of(int reason);

/* Return the status of a failed call by its errno: NO_SPACE if reason_is_full().
 * reason_write_status(): else DATA. reason_make_status(), of calls that make a name: USAGE if the
 * name or the user's rights are the reason; DEVICE if descriptors or memory are; else DATA. */
status_t reason_write_status(int reason);
status_t reason_make_status(int reason);

#endif
