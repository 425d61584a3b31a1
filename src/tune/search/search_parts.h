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

/* A method. */
status_t search_guided(struct search *search);
int search_is_stopped(const struct search *search);
/* Whether it has timed as many as it may. */
int search_is_limited(const struct search *search);
/* Whether the search goes on; the turns of the best get a fifth of the time. */
int search_goes_on(struct search *search);
/* Times what of a list is untried, as long as the search goes on; one, if there is any time. */
status_t search_try_list(struct search *search, const uint32_t *list, uint32_t n);
status_t search_try_one(struct search *search, uint32_t i);
/* The medians of some turns of the best decide among them. */
status_t search_take_turns(struct search *search);

#endif
