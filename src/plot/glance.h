/* A first look at each product: what it is, what it lacks, and pictures. */
#ifndef VOLTMILL_PLOT_GLANCE_H
#define VOLTMILL_PLOT_GLANCE_H

#include "base/text.h"
#include "job/job.h"

struct glance {
    struct text *page;
    int is_blind; /* no Python draws */
};

/* Append a heading, a table and pictures. Other failures than of memory become a paragraph of the
 * page, and a warning. Fail with DEVICE (memory). */
status_t glance_at_product(struct glance *glance, const char *path);
status_t glance_at_filter(struct glance *glance, const struct job *job);

#endif
