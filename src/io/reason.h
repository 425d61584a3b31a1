/* Reasons for which system calls fail: what an errno means, and the status of the failure. */
#ifndef VOLTMILL_IO_REASON_H
#define VOLTMILL_IO_REASON_H

#include "base/status.h"

/* Return 1 for an errno of one kind, else 0. reason_is_absent(): the name does not exist, or cannot
 * (too long, links in a circle, a file on the way). reason_is_full(): the disk, or this user's
 * quota, is full (of inodes, too), or a file may not grow (EFBIG). reason_is_out_of(): this process
 * or machine has no more memory or file descriptors. */
int reason_is_absent(int reason);
int reason_is_full(int reason);
int reason_is_out_of(int reason);

/* reason_write_status(): returns the status of a failed write by its errno: NO_SPACE if
 * reason_is_full(), else DATA. reason_make_status(): returns that of a failed call that makes or
 * looks up a name. That is USAGE if the name or the user's rights are the reason, DEVICE if
 * descriptors or memory are, NO_SPACE if reason_is_full(), else DATA. */
status_t reason_write_status(int reason);
status_t reason_make_status(int reason);

#endif
