/* The functions of archive/ that look into HDF5 files, done apart by a child process
 * (io/apart/apart.h). Those functions themselves ask, where the process does; nobody else need
 * know. */
#ifndef VOLTMILL_ARCHIVE_ASK_H
#define VOLTMILL_ARCHIVE_ASK_H

#include "io/apart/apart.h"
#include "job/job.h"

struct archive;
struct fbh5;

/* As archive_open(), fbh5_open(), fbh5_load_band() and fbh5_check_even(). */
status_t ask_archive(const struct job *job, struct archive **out);
status_t ask_filterbank(const char *path, struct fbh5 **out);
status_t ask_band(struct fbh5 *fbh5);
status_t ask_even(const struct fbh5 *fbh5);

/* In the child: tasks "archive", "filterbank", "band" and "even". */
status_t ask_answer_archive(struct unpack *question, struct text *answer);
status_t ask_answer_filterbank(struct unpack *question, struct text *answer);
status_t ask_answer_band(struct unpack *question, struct text *answer);
status_t ask_answer_even(struct unpack *question, struct text *answer);

#endif
