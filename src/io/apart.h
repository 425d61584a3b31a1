/* Files of unknown origin are opened and described apart: in a child process, so that a library
 * that crashes or loops there becomes an error here.
 *
 * The child is this very program with one task: it gets a request, opens the file, and gives the
 * description, a struct of that kind, or the cause of its failure. Its output, warnings and notes
 * come through as this process's own. It knows nothing of MPI, holds no file of its parent's, gets
 * none of its signals, is called `voltmill --apart PARENT`, and dies with it. It waits for the next
 * request as long as it has failed at none: after a failure, whatever that was, another one is
 * begun.
 *
 * The first may be forked, before MPI and threads begin (apart_fork()): loading the program a
 * second time takes half of what a small command does. All others are spawned anew, since MPI may
 * be running.
 *
 * A process that never called apart_begin() (the child, tests, fuzz targets) opens everything
 * itself. The table of all kinds of descriptions (main.c) is needed by the child alone. Main thread
 * only. */
#ifndef VOLTMILL_IO_APART_H
#define VOLTMILL_IO_APART_H

#include "base/status.h"
#include "io/pack.h"

struct apart_request {
    const char *path; /* NULL: `more` says which files */
    const char *name; /* of an object in the file; NULL: none */
    uint64_t wants;   /* a number that this kind of description takes */
    struct text more; /* packed by whoever asks: a job's input */
};

/* A kind of description: `open` opens the file and gives a struct of this type, for free() after
 * pack_free(); NULL: there is nothing to say. */
struct description {
    const char *what;             /* "an archive" */
    const struct pack_type *type; /* NULL: the file is only opened, to see whether that ends well */
    status_t (*open)(const struct apart_request *request, void **out);
};

/* The first argument of a child's command line. */
extern const char apart_word[];

/* In a spawned child: opens what its parent asks for, of these kinds. Never returns. */
_Noreturn void apart_serve(int argc, char **argv, const struct description *const *kinds,
                           size_t count);

/* From now on this process asks children that know these kinds, which live as long as it does. The
 * words of `argv`, as main() got it, are shown as a forked child's own. */
void apart_begin(char **argv, const struct description *const *kinds, size_t count);

/* Forks the first child, for a process that will soon ask. Call before MPI and threads begin. What
 * fails is no harm: that child is spawned when it is asked. */
void apart_fork(void);

/* How long a child may take from one object to the next, in seconds: 300 unless told; 0: for ever.
 */
void apart_limit(double seconds);

/* Asked all the while a child is waited for: whether this process shall stop. NULL: never. */
void apart_stops(int (*is_stopped)(void));

/* Opens and describes: by a child where this process asks, else here. Fails as open() did; of a
 * child with DATA, naming the file and the object that it was at, when it crashed or took too long;
 * with DEVICE when there can be no child; with STOPPED. */
status_t apart_describe(const struct description *kind, const struct apart_request *request,
                        void **out);

/* The same for a file that this process opens itself afterwards: only a child does it. */
status_t apart_try(const struct description *kind, const struct apart_request *request);

/* Sees to a child that died while nothing was asked of it (want of memory). To be called all the
 * while. */
void apart_look(void);

/* A child tells what it looks at next, "FILE: OBJECT"; costs a system call. Nothing elsewhere. */
void apart_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* This program's own file: as it was when it began, even if it was replaced since. */
const char *apart_own_program(void);

#endif
