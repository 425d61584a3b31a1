/* PSRDADA: the text of a header. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_DADA_H
#define VOLTMILL_INPUT_FORMAT_DADA_H

#include "base/text.h"

enum { DADA_HEADER = 4096 /* bytes of a header, or a multiple */ };

/* Appends the first bytes of a file, up to `most`, to `out`, which is empty before. Keys in lower
 * case that PSRDADA has in capitals are put into capitals, and noted in *assumed unless `assumed`
 * is NULL. `out` stays empty if `path` is missing, or no ordinary file. Fails with DATA if it is
 * unreadable; with DEVICE (memory, descriptors). */
status_t dada_head(const char *path, size_t most, struct text *out, char **assumed);

#endif
