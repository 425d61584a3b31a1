/* The files of a drawing, opened: their description as JSON, their numbers in pieces. Uses HDF5:
 * main thread only. */
#ifndef VOLTMILL_PLOT_SOURCE_H
#define VOLTMILL_PLOT_SOURCE_H

#include "base/json.h"
#include "plot/drawing.h"

struct source;

/* Opens what the drawing needs (nothing of benchmarks and the tuner), for source_close(), and
 * appends its description to the JSON object that is open. `drawing` must outlive it. Fails with
 * USAGE if a job or layout has mistakes, a job has no filter bank, or files and choice do not fit;
 * with DATA if a file is unreadable, incomplete or cannot be drawn; with DEVICE (memory,
 * descriptors, no child), STOPPED (while a child process opens files). A failure leaves *out as it
 * was, and the object may have a part of the description. */
status_t source_open(const struct drawing *drawing, struct json *json, struct source **out);
/* Closes the files of a source and frees it. Takes NULL. */
void source_close(struct source *source);
SCOPED_END(source_close, struct source *)

enum { SOURCE_BLOCK = 1 << 22 }; /* floats, or as many bytes, that are read at once, at most */

/* Numbers [rows][ifs][chans] of a set:
 *
 *   bank        float; the filterbank, or spectra as |x|^2
 *   frequency   double [1][1][chans]; Hz, of the bank's channels
 *   series      float [DM][1][times]; one row (DM) at a time
 *   peaks       bytes [DM][1][8 cells] of a search: struct peak
 *   volts       float [samples][streams][1 or 2]; NaN: missing or unreadable
 *   weights, ...                           float; the datasets beside a bank (sheet_beside()) */
struct source_block {
    char set[16];
    uint64_t row, rows, first_if, ifs, chan, chans;
};

/* Appends the numbers of a block, in this machine's byte order: of rows row .. row + rows - 1, from
 * 0, and so on, which the set has. Main thread only. Fails with DATA if the file cannot be read
 * there or is damaged; with DEVICE (memory; a set that is not open; more than 4 x SOURCE_BLOCK
 * bytes). `out` is unchanged then. */
status_t source_read(struct source *source, const struct source_block *block, struct text *out);

#endif
