/* Cleaning of HDF5's error messages: addresses and senseless numbers are taken out. */
#include "io/hdf5/h5_reason.h"

#include <stddef.h>
#include <string.h>

/* Characters of a number that says nothing, or 0. */
static size_t reason_number(const char *at)
{
    static const char most[] = "9223372036854775807";
    enum { MOST_DIGITS = sizeof most - 1 };
    if (at[0] == '0' && at[1] == 'x') {
        return 2 + strspn(at + 2, "0123456789abcdefABCDEF");
    }
    size_t digits = strspn(at, "0123456789");
    int is_too_large =
        digits > MOST_DIGITS || (digits == MOST_DIGITS && strncmp(at, most, MOST_DIGITS) > 0);
    return is_too_large ? digits : 0;
}

static char *reason_join(char *from, const char *to)
{
    memmove(from, to, strlen(to) + 1);
    return from;
}

/* Takes out the number at `at`; gives where to go on. */
static char *reason_drop(char *reason, char *at, size_t length)
{
    char *from = at;
    char *to = at + length;
    while (from > reason && from[-1] == ' ') {
        from--;
    }
    if (from == reason || from[-1] != '=') {
        *at = '?';
        return reason_join(at + 1, to);
    }
    while (from > reason && !strchr(",:(", from[-1])) {
        from--;
    }
    if (from > reason && from[-1] == ',') {
        return reason_join(from - 1, to);
    }
    from += strspn(from, " ");
    to += *to == ',';
    to += strspn(to, " ");
    return reason_join(from, to);
}

void h5_reason_clean(char *reason)
{
    int begins = 1; /* a word */
    for (char *end = strchr(reason, '\n'); end; end = strchr(end, '\n')) {
        *end = ' ';
    }
    for (char *at = reason; *at;) {
        const char *quoted = *at == '\'' && begins ? strchr(at + 1, '\'') : NULL;
        size_t length = begins ? reason_number(at) : 0;
        if (length > 0) {
            at = reason_drop(reason, at, length);
            begins = 0;
        } else {
            begins = !quoted && (*at == ' ' || *at == '=' || *at == '(');
            at += quoted ? quoted - at + 1 : 1;
        }
    }
}
