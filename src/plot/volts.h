/* Voltages of an archive as numbers, for `voltmill look` and the Python module. */
#ifndef VOLTMILL_PLOT_VOLTS_H
#define VOLTMILL_PLOT_VOLTS_H

#include "base/json.h"
#include "plot/source.h"

struct volts;

/* Opens files or patterns of one observation, or the input of a job (FILE.yaml), and appends its
 * axes, names and times as members of an object. Fails with DATA, USAGE, DEVICE (memory). */
status_t volts_open(const struct drawing *drawing, struct json *json, struct volts **out);
void volts_close(struct volts *volts);

/* Reads a block: row is the first of b->rows samples, counted from the first selected one, first_if
 * the first of b->ifs streams. Gives stored numbers, NaN where they are missing or unreadable; of
 * complex samples upper frequencies are positive.
 *
 *   out   float [rows][ifs][2 of complex samples, else 1]
 *
 * Fails with DATA, DEVICE (memory). */
status_t volts_read(struct volts *volts, const struct source_block *b, float *out);

#endif
