/* What the files of a search share: search.c is its course, guided.c a method, attempts.c times and
 * settles who wins. For nobody else. */
#ifndef VOLTMILL_TUNE_SEARCH_SEARCH_PARTS_H
#define VOLTMILL_TUNE_SEARCH_SEARCH_PARTS_H

#include "tune/search/search.h"

struct search {
    const struct tune_space *space;
    const struct tune_options *options;
    tune_log_t *log;
    const char *problem;
    struct tune_outcome *outcome;
    uint32_t tried, failures;
    int is_replay;
};

#endif
