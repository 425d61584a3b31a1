/* A job for an HDF5 file that no format knows, as far as the file states what it needs; raw numbers
 * of unknown type, measured as each that they may be. */
#ifndef VOLTMILL_INPUT_PROPOSE_PROPOSE_H
#define VOLTMILL_INPUT_PROPOSE_PROPOSE_H

#include "base/text.h"

#include <stdint.h>

/* Appends the attributes of an HDF5 file's objects, a line each for the first 60, to `attributes`,
 * and a whole job (YAML) for its largest dataset of numbers to `job`. "???" stands for facts that
 * the file leaves open, or states twice and differently: no job runs that has one. Comments in the
 * job name the facts, and assumptions. No job is appended if there is no such dataset, or it looks
 * like powers. Warns of a truncated file. Fails with DATA (missing, unreadable, not HDF5), DEVICE
 * (memory, descriptors); some text may be appended then. Main thread only (HDF5). */
status_t propose_layout(const char *path, struct text *attributes, struct text *job);

/* Appends a whole job (YAML) for the file at `path` of `format`, the job's word for it, to `out`.
 * The job has those keys of the input that `message` names, with "???" for each: a refusal to read
 * the file without them. Fails with DEVICE (memory): some text may be appended then. */
status_t propose_said(const char *path, const char *format, const char *message, struct text *out);

/* Reads 16 pieces of 16 KiB, spread evenly over the file from byte `skip` on, or all of a shorter
 * file, as each of ten types of numbers (8 to 64 bits). Appends three lines for each type. The
 * first gives the mean, the rms about it and the share of numbers at either end of the range (of
 * floating point numbers: not finite). The others give coarse spectra in dB relative to their mean:
 * as real samples from 0 to half of the rate; as complex ones, whose parts alternate, from minus
 * half of it to plus half. Fails with DATA: the file is missing, unreadable, no ordinary file, or
 * has fewer than 256 bytes from `skip` on; with DEVICE (memory, descriptors); some lines may be
 * appended then. */
status_t raw_types_measure(const char *path, uint64_t skip, struct text *out);

#endif
