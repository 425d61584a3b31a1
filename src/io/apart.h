/* Work on files of unknown origin, done apart: in a child process, so that what makes a library
 * crash or loop there becomes an error here.
 *
 * The child is this very program, which does tasks by name: it gets a packed question, and gives a
 * packed answer, or the cause of its failure; its output, warnings and notes come through as this
 * process's own. It knows nothing of MPI, holds no file of its parent's, gets none of its signals,
 * is called `voltmill --apart PARENT`, and dies with it. It waits for the next task as long as it
 * has failed at none: after a failure, whatever that was, another one is begun.
 *
 * The first may be forked, before MPI and threads begin (apart_fork()): loading the program a
 * second time takes half of what a small command does. All others are spawned anew, since MPI may
 * be running.
 *
 * A process that never called apart_begin() (the child, tests, fuzz targets) does everything
 * itself, by the same questions and answers. So a module has a function that asks (public) and a
 * worker that answers (static), and the table of all tasks (main.c) is needed by the child
 * alone. Main thread only. */
#ifndef VOLTMILL_IO_APART_APART_H
#define VOLTMILL_IO_APART_APART_H

#include "base/status.h"
#include "io/pack.h"

/* What a child can do: `work` unpacks the question and appends to the answer. */
struct apart_task {
    const char *name;
    status_t (*work)(struct unpack *question, struct text *answer);
};

/* The first argument of a child's command line. */
extern const char apart_word[];

/* In a spawned child: does what its parent asks for, of the `count` tasks. Never returns. */
_Noreturn void apart_serve(int argc, char **argv, const struct apart_task *const *tasks,
                           size_t count);

/* From now on this process asks children that do `count` tasks, which live as long as it does. The
 * words of `argv`, as main() got it, are shown as a forked child's own. */
void apart_begin(char **argv, const struct apart_task *const *tasks, size_t count);

/* Forks the first child, for a process that will soon ask. Call before MPI and threads begin. What
 * fails is no harm: that child is spawned when it is asked. */
void apart_fork(void);

int apart_is_used(void);

/* How long a child may take from one object to the next, in seconds: 300 unless told; 0: for ever.
 */
void apart_limit(double seconds);

/* Asked all the while a child is waited for: whether this process shall stop. NULL: never. */
void apart_stops(int (*is_stopped)(void));

/* Does the task: has a child do it where this process asks, else does it here. Appends to the
 * answer. Fails as the task did; of a child with DATA, naming the file and the object that it was
 * at, when it crashed or took too long; with DEVICE when there can be no child; with STOPPED. */
status_t apart_do(const struct apart_task *task, const struct text *question, struct text *answer);

/* The same of a path alone. */
status_t apart_do_path(const struct apart_task *task, const char *path, struct text *answer);

/* Tasks that answer yes (1) or no (0) of a path; what cannot be looked at is no. */
int apart_is_true(const struct apart_task *task, const char *path);

/* Sees to a child that died while nothing was asked of it (want of memory). To be called all the
 * while. */
void apart_look(void);

/* In a worker: the path that the question begins with, for free(). Fails with DEVICE. */
status_t apart_path(struct unpack *question, char **out);

/* A child tells what it looks at next, "FILE: OBJECT"; costs a system call. Nothing elsewhere. */
void apart_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* This program's own file: as it was when it began, even if it was replaced since. */
const char *apart_own_program(void);

#endif
