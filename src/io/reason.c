/* Tables of errnos. */
#include "io/reason.h"

#include <errno.h>
#include <stddef.h>

int reason_is_full(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

int reason_is_absent(int reason)
{
    return reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == ENAMETOOLONG;
}

int reason_is_out_of(int reason)
{
    return reason == EMFILE || reason == ENFILE || reason == ENOMEM;
}

status_t reason_write_status(int reason)
{
    return reason_is_full(reason) ? STATUS_NO_SPACE : STATUS_DATA;
}

status_t reason_make_status(int reason)
{
    static const int users[] = {EACCES, EPERM,   EROFS, EEXIST, EISDIR,
                                ENXIO,  ETXTBSY, EBUSY, EINVAL, EMLINK};
    int is_users = reason_is_absent(reason);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        is_users |= reason == users[i];
    }
    return is_users                   ? STATUS_USAGE
           : reason_is_out_of(reason) ? STATUS_DEVICE
                                      : reason_write_status(reason);
}
