/* A first look at each product: what it is, what it lacks, and pictures. */
#ifndef VOLTMILL_PLOT_REPORT_GLANCE_H
#define VOLTMILL_PLOT_REPORT_GLANCE_H

#include "base/text.h"
#include "job/job.h"

struct glance {
    struct text *page;
    int draws; /* there is a gnuplot */
};

/* Finds out whether there can be pictures; where not, the page says why, and so does a warning. All
 * fail with DEVICE (memory): what else fails is said on the page. */
status_t glance_begin(struct glance *glance);
status_t glance_at_product(struct glance *glance, const char *path);
status_t glance_at_filter(struct glance *glance, const struct job *job);

#endif
