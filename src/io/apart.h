/* Opens and describes files of unknown origin apart: in a child process, so that a library that
 * crashes or loops there is an error here.
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

#include "io/pack.h"

struct apart_request {
    const char *path; /* NULL: `more` says which files */
    const char *name; /* of an object in the file; NULL: none */
    uint64_t wants;   /* a number that this kind of description takes */
    struct text more; /* packed by the caller: a job's input; in open() data and length alone */
};

/* A kind of description: `open` opens the file and gives a struct of this type, for free() after
 * pack_free(), also where it fails; NULL: there is nothing to say. */
struct description {
    const char *what;             /* "an archive"; at most 31 bytes, no other kind has the same */
    const struct pack_type *type; /* NULL: the file is only opened, to see whether that ends well */
    status_t (*open)(const struct apart_request *request, void **out);
};

/* The first argument of a child's command line. */
extern const char apart_word[];

/* Runs in a spawned child, with main()'s arguments (apart_word, the parent's process id): opens
 * files for its parent, of `kinds` [count]. Ends the process when the parent closes the connection,
 * or after a request that failed. Never returns. */
_Noreturn void apart_serve(int argc, char **argv, const struct description *const *kinds,
                           size_t count);

/* Lets this process open files by children from now on, which know `kinds` [count]; these must
 * outlive the process. `argv` is main()'s: a forked child overwrites it with its own name. Starts
 * no child yet. Main thread only. */
void apart_begin(char **argv, const struct description *const *kinds, size_t count);

/* Forks the first child, for a process that will soon need one. Call after apart_begin(), before
 * MPI and threads begin. Does nothing without apart_begin(), or if there are threads. A failure is
 * harmless: the child is spawned at the first request. Main thread only. */
void apart_fork(void);

/* Sets how many seconds a child may take from one object (apart_at()) to the next. Default:
 * CLOCK_STALL; 0: no limit. Main thread only. */
void apart_limit(double seconds);

/* Sets a function that is called regularly while a child is awaited. If it returns another number
 * than 0, the request fails with STOPPED. NULL: none. Main thread only. */
void apart_stops(int (*is_stopped)(void));

/* Returns 1 if the last request failed because a child took longer than apart_limit() says, else 0.
 * Main thread only. */
int apart_was_late(void);

/* Opens and describes a file: by a child if this process uses children (apart_begin()), else here.
 * `out` points to a pointer, which becomes the struct of this kind, for pack_destroy(); NULL if
 * there is nothing to say, and after a failure. The child's output and warnings are printed here.
 * Fails as the kind's open() does. Fails with DATA, naming file and object, if the child crashed,
 * was killed or took longer than apart_limit(); with DEVICE: no child can be started, no memory;
 * with STOPPED (apart_stops()). Main thread only. */
status_t apart_describe(const struct description *kind, const struct apart_request *request,
                        void *out);

/* Opens a file in a child, as a trial before this process opens it itself; for kinds without a
 * type. Does nothing in a process without children (apart_begin()). Fails as the kind's open()
 * does; with DATA, naming file and object, if the child crashed, was killed or took longer than
 * apart_limit(); with DEVICE: no child can be started, no memory; with STOPPED (apart_stops()).
 * Main thread only. */
status_t apart_try(const struct description *kind, const struct apart_request *request);

/* Begins another child, which opens this beside this process, and then ends; request->more has at
 * most 64 KiB. The child's output, messages and failure are ignored. A cause that the main thread
 * has recorded is forgotten. At most four such children run at once; apart_look() notices their
 * end, and they die with this process. Does nothing without children (apart_begin()), while four
 * run, or if none can be started. Main thread only. */
void apart_begin_help(const struct description *kind, const struct apart_request *request);

/* Collects children that have ended: one that died while idle (for lack of memory), and those of
 * apart_begin_help(). Waits for nothing. Call regularly. Main thread only. */
void apart_look(void);

/* Reports the object that a child reads next, "FILE: OBJECT" (printf-like), cut to 2047 bytes;
 * costs no system call. Does nothing in a process that is no child. One thread at a time. */
void apart_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
