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
 * files for its parent, of these `count` kinds. Never returns. */
_Noreturn void apart_serve(int argc, char **argv, const struct description *const *kinds,
                           size_t count);

/* From now on this process uses children that know these `count` kinds, which must outlive it.
 * `argv` is main()'s: a forked child overwrites it with its own name. Starts none yet. */
void apart_begin(char **argv, const struct description *const *kinds, size_t count);

/* Forks the first child, for a process that will soon need one. Call after apart_begin(), before
 * MPI and threads begin; without the former, or with threads, does nothing. A failure is harmless:
 * the child is spawned at the first request. */
void apart_fork(void);

/* Sets how long a child may take from one object (apart_at()) to the next, in seconds: default
 * CLOCK_STALL; 0: no limit. */
void apart_limit(double seconds);

/* Sets a function that is called regularly while a child is awaited: it returns whether this
 * process shall stop (not 0: the request fails with STOPPED). NULL: never. */
void apart_stops(int (*is_stopped)(void));

/* Returns whether the last request failed because a child took longer than apart_limit() says. */
int apart_was_late(void);

/* Opens and describes a file: by a child if this process uses children, else here. `out` points to
 * a pointer to the struct of this kind, for pack_destroy(): NULL if there is nothing to say, and
 * after a failure. Fails as open() did. If the child crashed, was killed or took longer than
 * apart_limit(), fails with DATA, naming the file and the object that it was reading. Fails with
 * DEVICE if there can be no child, or without memory; with STOPPED if apart_stops()'s function says
 * so. What the child printed and warned of is printed here. */
status_t apart_describe(const struct description *kind, const struct apart_request *request,
                        void *out);

/* Opens a file in a child only, as a trial before this process opens it itself; for kinds without a
 * type. Without children (apart_begin()) it does nothing. Fails as the kind's open() did, with DATA
 * if the child crashed or took too long, with DEVICE (no child, memory), STOPPED: as
 * apart_describe(). */
status_t apart_try(const struct description *kind, const struct apart_request *request);

/* Begins another child, which opens this beside this process, and then ends; its output, messages
 * and failure are ignored, and a cause that the main thread has recorded is forgotten. There are
 * four at most at once, of which apart_look() notices the end; they die with this process. `more`
 * has at most 64 KiB. Does nothing without children (apart_begin()), or while there are four. */
void apart_begin_help(const struct description *kind, const struct apart_request *request);

/* Handles a child that died while idle (for lack of memory), and those of apart_begin_help() that
 * have ended; waits for nothing. Call regularly. */
void apart_look(void);

/* Reports the object that a child reads next, "FILE: OBJECT", at most 2047 bytes; costs no system
 * call. No effect elsewhere. */
void apart_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
