/* What of a product a picture shows: by the names of its panels. */
#ifndef VOLTMILL_PLOT_FROM_CHOICE_H
#define VOLTMILL_PLOT_FROM_CHOICE_H

#include "plot/plot.h"

/* Whether a panel of that name is wanted: in the list, or there is no list. */
int choice_has(const struct plot_choice *choice, const char *kind);

/* Fails with USAGE when the list has other names than those of `there` ("a|b"), or none; `path`
 * holds what is drawn. */
status_t choice_check(const struct plot_choice *choice, const char *path, const char *there);

/* Of a picture of so many columns, unless told, pixels. */
uint32_t choice_default_width(uint32_t columns);

/* Pixels of an image at most, in one of so many columns, and from below to above: no more than will
 * be seen, since what draws leaves out the rest. */
uint32_t choice_width(const struct plot_choice *choice, uint32_t columns);
uint32_t choice_height(const struct plot_choice *choice);

#endif
