/* Files of one observation, known by their names. */
#ifndef VOLTMILL_INPUT_SEQUENCE_H
#define VOLTMILL_INPUT_SEQUENCE_H

#include "base/text.h"

/* The observation that a file or folder is a part of: GUPPI RAW (STEM.0000.raw), PSRDADA
 * (STEM_OFFSET.000000.dada), components of LOFAR (STEM_S0_STEM.h5), a channel of Digital RF
 * (CHANNEL/TIME/rf@TIME.h5, or CHANNEL/TIME). Reads no files. Appends
 *
 *   pattern   for glob(): all its files; nothing if `path` is no part of a sequence
 *   name      "night" of "obs/night.0003.raw"; else its name without folder and ending
 *
 * *opens_others: one file is enough, the format opens the others beside it. Fails with DEVICE
 * (memory). */
status_t sequence_of(const char *path, struct text *pattern, struct text *name, int *opens_others);

#endif
