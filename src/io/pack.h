/* Plain values packed into bytes and back: what rank 0 tells the others. The reader never trusts
 * a size: past the end it gives zeros and remembers that it failed, and why. */
#ifndef VOLTMILL_IO_PACK_H
#define VOLTMILL_IO_PACK_H

#include "base/text.h"

#include <stdint.h>

struct unpack {
    const char *data;
    size_t length;
    size_t at;
    int failed; /* bits: 1, or UNPACK_NO_MEMORY */
};

enum { UNPACK_NO_MEMORY = 2 };

status_t pack_u64(struct text *out, uint64_t value);
status_t pack_i64(struct text *out, int64_t value);
status_t pack_f64(struct text *out, double value);
/* NULL comes back as NULL. */
status_t pack_text(struct text *out, const char *value);

uint64_t unpack_u64(struct unpack *in);
int64_t unpack_i64(struct unpack *in);
double unpack_f64(struct unpack *in);
void unpack_bytes(struct unpack *in, void *out, size_t bytes);
/* A new text for free(), or NULL. */
char *unpack_text(struct unpack *in);
/* A count of things of at least `size` packed bytes each; 0 and failed when they cannot be there.
 */
size_t unpack_count(struct unpack *in, size_t size);
/* Once all is read: fails with DEVICE when there was no memory for a text, with DATA when bytes
 * were missing. */
status_t unpack_check(const struct unpack *in, const char *what);

#endif
