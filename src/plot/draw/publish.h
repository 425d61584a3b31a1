/* Files that are made of a text in memory, whole or not at all. */
#ifndef VOLTMILL_PLOT_DRAW_PUBLISH_H
#define VOLTMILL_PLOT_DRAW_PUBLISH_H

#include "base/text.h"
#include "io/guard.h"
#include "io/mark.h"

struct publish {
    const char *path;
    const struct text *text;
    enum mark mark;   /* of the command that writes it */
    int force;        /* replaces what is there */
    const char *ours; /* a FILE.part that begins so is replaced, too; NULL: none */
};

/* Writes it beside its name and gives it that; not over one of the files that are read. What is
 * there and the same stays (*is_before). Fails with USAGE, NO_SPACE, DATA. */
status_t publish(const struct publish *what, const struct guard *reads, int *is_before);

#endif
