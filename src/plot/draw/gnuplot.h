/* gnuplot, to which a script is handed and which hands back a picture. No shell, no file of anybody
 * is between: script, picture and messages are in memory, so nothing is left whatever dies. */
#ifndef VOLTMILL_PLOT_DRAW_GNUPLOT_H
#define VOLTMILL_PLOT_DRAW_GNUPLOT_H

#include "base/text.h"

/* Runs gnuplot (that of PATH, without the user's settings) on a script and appends what it writes
 * to its standard output. Fails with DEVICE: gnuplot is not there (says how to get it), fails (with
 * its own words), gives nothing, or takes longer than two minutes. */
status_t gnuplot_run(const struct text *script, struct text *out);

/* Before long work: fails with DEVICE when there is no gnuplot. */
status_t gnuplot_check(void);

/* Appends a text of anybody's as a string of gnuplot's language that stands for just these letters,
 * line ends for line ends; what would steer a terminal is written as C writes it. */
status_t gnuplot_quote(struct text *script, const char *text);

#endif
