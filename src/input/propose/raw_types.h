/* Raw numbers of unknown type, measured as each that they may be. Nothing is chosen. */
#ifndef VOLTMILL_INPUT_PROPOSE_RAW_TYPES_H
#define VOLTMILL_INPUT_PROPOSE_RAW_TYPES_H

#include "base/text.h"

#include <stdint.h>

/* Appends three lines for each type, of up to 256 KiB of the file from byte `skip` on: mean, rms
 * about it and the share of numbers at either end of the range (of floating point numbers: not
 * finite); coarse spectra as real samples from 0 to half of the rate, and as complex ones, whose
 * parts alternate, from minus half of it to plus half, in dB relative to their mean. Fails with
 * DATA: it is unreadable, or has too few bytes. */
status_t raw_types_measure(const char *path, uint64_t skip, struct text *out);

#endif
