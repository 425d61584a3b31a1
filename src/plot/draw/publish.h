/* Files that are made of a text in memory, whole or not at all. */
#ifndef VOLTMILL_PLOT_DRAW_PUBLISH_H
#define VOLTMILL_PLOT_DRAW_PUBLISH_H

#include "base/text.h"
#include "io/guard.h"

/* Whether it may be made: not over one of the files that are read, and over others only if `force`.
 * Fails with USAGE. */
status_t publish_check(const char *path, const struct guard *reads, int force);

/* Writes it beside its name and gives it that. Fails with USAGE, NO_SPACE, DATA. */
status_t publish(const char *path, const struct text *text, int force);

#endif
