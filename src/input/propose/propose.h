/* A job for an HDF5 file that no format knows, as far as the file states what it needs. */
#ifndef VOLTMILL_INPUT_PROPOSE_PROPOSE_H
#define VOLTMILL_INPUT_PROPOSE_PROPOSE_H

#include "base/text.h"

/* Appends the attributes of the file's objects, a line each, and a whole job (YAML) for the largest
 * dataset of numbers. "???" stands for what the file leaves open, or states twice and differently:
 * no job runs that has one. Comments name the facts, and what is assumed. No job where there is no
 * such dataset. Fails with DATA. Uses HDF5. */
status_t propose_layout(const char *path, struct text *attributes, struct text *job);

/* Appends a whole job with the keys that the message names, "???" for each. Fails with
 * DEVICE. */
status_t propose_said(const char *path, const char *format, const char *message, struct text *out);

#endif
