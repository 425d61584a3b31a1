/* What child processes do for archive_open(), fbh5_open(), fbh5_load_band() and fbh5_check_even():
 * for the table of tasks (cli/serve.c). */
#ifndef VOLTMILL_ARCHIVE_ASK_H
#define VOLTMILL_ARCHIVE_ASK_H

#include "io/apart/apart.h"

extern const struct apart_task archive_open_task, fbh5_open_task, fbh5_load_band_task,
    fbh5_check_even_task;

#endif
