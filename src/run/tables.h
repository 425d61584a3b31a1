/* `dedisperse.search.csv`: the candidates of a search as text, written by the run itself. */
#ifndef VOLTMILL_RUN_TABLES_TABLES_H
#define VOLTMILL_RUN_TABLES_TABLES_H

#include "job/job.h"

/* Rank 0, or alone, before the first pass: whether the table may be written. `is_complete`: the
 * search is. Fails with USAGE when a file is there that is not what it will be; DATA. */
status_t tables_check(const struct job_search *search, int is_complete);

/* Rank 0, when the search is complete: writes the table, unless it is there. It has its name when
 * it is whole; a run that is killed before leaves it to the next. Fails with USAGE (another file is
 * there, without `force`), DATA, NO_SPACE, DEVICE (memory). */
status_t tables_write(const struct job_search *search, int force);

#endif
