/* Start and service of children; messages between parent and child: headers, each followed by its
 * number of bytes. */
#ifndef VOLTMILL_IO_APART_PARTS_H
#define VOLTMILL_IO_APART_PARTS_H

#include "io/apart.h"

#include <stdint.h>
#include <sys/types.h>

/* To the child: the kind of description that the request is for. */
struct apart_question {
    uint64_t bytes;
    char what[32];
};

/* To the parent. Kinds below these are the statuses of failures: then the bytes are the cause. */
enum { APART_ANSWER = 'a', APART_OUTPUT = 'o', APART_SAYS = 'p' /* + enum report_kind */ };

struct apart_head {
    uint64_t bytes;
    char kind;
};

/* Memory that parent and child share, in which the child reports its place: no system calls. Until
 * the child serves, its descriptor is the child's standard output. */
struct apart_page {
    _Atomic uint64_t reports; /* number of them */
    char place[2048];
};

/* Starts this program anew, with the socket `fd` as its standard input, and a page. Gives a number
 * of errno.h. */
int apart_spawn(int fd, int page, pid_t *out);

/* Forks this process, unless it has threads. Gives what fork() gives; in the child every signal is
 * blocked. */
pid_t apart_fork_safely(void);

/* Gives a forked child the state of a spawned one, except for what both do (apart_serve_parent()):
 * it communicates through ends[1] and the page, prints to `nowhere`, and closes these descriptors.
 * The arguments of the command line, one after the other, become a child's. */
void apart_be_child(const int *ends, int page, int nowhere, pid_t parent, char *arguments,
                    size_t bytes);

/* Serves the parent at the other end of standard input, or ends at once if that is gone. */
_Noreturn void apart_serve_parent(pid_t parent, const struct description *const *kinds,
                                  size_t count);

#endif
