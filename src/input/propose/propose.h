/* A job for an HDF5 file that no format knows, as far as the file states what it needs; raw numbers
 * of unknown type, measured as each that they may be. */
#ifndef VOLTMILL_INPUT_PROPOSE_PROPOSE_H
#define VOLTMILL_INPUT_PROPOSE_PROPOSE_H

#include "base/text.h"

#include <stdint.h>

/* Appends the attributes of the file's objects, a line each for the first 60, and a whole job
 * (YAML) for the largest dataset of numbers. "???" stands for what the file leaves open, or states
 * twice and differently: no job runs that has one. Comments name the facts, and what is assumed. No
 * job if there is no such dataset, or it looks like powers. Warns of a truncated file. Uses HDF5,
 * in this process. Fails with DATA (missing, unreadable, not HDF5), DEVICE (memory, descriptors);
 * some text may be appended then. */
status_t propose_layout(const char *path, struct text *attributes, struct text *job);

/* Appends a whole job (YAML) for a file of `format`, the job's word for it. It has those keys of
 * the input that the message names, of a refusal to read the file without them, "???" for each.
 * Fails with DEVICE (memory). */
status_t propose_said(const char *path, const char *format, const char *message, struct text *out);

/* Appends three lines for each of ten types (8 to 64 bits), of 16 pieces of 16 KiB, spread evenly
 * over the file from byte `skip` on, or of all of a shorter file: mean, rms about it and the share
 * of numbers at either end of the range (of floating point numbers: not finite); coarse spectra as
 * real samples from 0 to half of the rate, and as complex ones, whose parts alternate, from minus
 * half of it to plus half, in dB relative to their mean. Fails with DATA: it is missing,
 * unreadable, no ordinary file, or has fewer than 256 bytes from `skip` on; with DEVICE (memory,
 * descriptors). */
status_t raw_types_measure(const char *path, uint64_t skip, struct text *out);

#endif
