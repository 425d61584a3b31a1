/* This program as a process that works for another one of it (io/apart/apart.h). */
#ifndef VOLTMILL_CLI_SERVE_H
#define VOLTMILL_CLI_SERVE_H

#include "io/apart/apart.h"

/* Does the task that its command line names, and ends. */
_Noreturn void serve_parent(int argc, char **argv);

/* Task "info": describes the file of that path. */
extern const struct apart_task info_task;

#endif
