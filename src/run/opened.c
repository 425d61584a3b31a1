/* One backend, waiting to be taken, and the thread that opens it. */
#include "run/opened.h"

#include "base/memory.h"
#include "base/thread.h"
#include "ranks/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a backend was opened for. */
struct wish {
    enum backend_kind kind;
    char *device;
    struct backend_options options; /* of which `device` is the one above */
};

struct opened {
    int keeps;
    int rank, size; /* among the ranks of this machine */
    thread_worker_t *worker;
    int has_begun; /* the thread may be at work: what follows is its own until it is waited for */
    struct wish wish;   /* of what is being opened, or waits */
    backend_t *waiting; /* opened ahead, or given back */
};

static status_t wish_make(const struct opened *opened, const struct job *job,
                          enum backend_kind kind, struct wish *out)
{
    status_t st = STATUS_OK;
    *out = (struct wish){.kind = kind};
    TRY(memory_text(job->device, &out->device));
    out->options = (struct backend_options){.device = out->device,
                                            .device_memory = job->device_memory,
                                            .local_rank = (uint32_t)opened->rank,
                                            .local_size = (uint32_t)opened->size,
                                            .keeps = opened->keeps};
out:
    return st;
}

static int wish_is_same(const struct wish *a, const struct wish *b)
{
    return a->kind == b->kind && a->options.device_memory == b->options.device_memory &&
           a->options.local_rank == b->options.local_rank &&
           a->options.local_size == b->options.local_size &&
           strcmp(a->device ? a->device : "", b->device ? b->device : "") == 0;
}

static void wish_free(struct wish *wish)
{
    free(wish->device);
    *wish = (struct wish){.device = NULL};
}

/* Nothing waits any more. */
static void opened_drop(opened_t *opened)
{
    backend_close(opened->waiting);
    opened->waiting = NULL;
    wish_free(&opened->wish);
}

status_t opened_create_all(MPI_Comm comm, int keeps, opened_t **out)
{
    status_t st = STATUS_OK;
    opened_t *opened = NULL;
    int rank;
    int size;
    local_ranks_all(comm, &rank, &size);
    TRY(memory_zeroed(1, sizeof *opened, "a backend", &opened));
    opened->keeps = keeps;
    opened->rank = rank;
    opened->size = size;
    TRY(thread_worker_create("opener", &opened->worker));
    *out = opened;
    opened = NULL;
out:
    opened_destroy(opened);
    return agree_all(comm, st);
}

void opened_destroy(opened_t *opened)
{
    if (opened) {
        thread_worker_destroy(opened->worker);
        opened_drop(opened);
        free(opened);
    }
}

/* In the thread. */
static void opened_open(void *context)
{
    opened_t *opened = context;
    struct wish *wish = &opened->wish;
    if (wish->kind == BACKEND_AUTO) {
        wish->kind = backend_automatic(backend_has_gpu());
    }
    if (!backend_abilities(wish->kind)->has_device ||
        backend_open(wish->kind, &wish->options, &opened->waiting) != STATUS_OK) {
        report_clear();
        opened->waiting = NULL;
    }
}

void opened_begin(opened_t *opened, const struct job *job)
{
    struct wish wish;
    enum backend_kind kind = job_reads_voltages(job) ? job->backend : job->dedisperse[0].backend;
    int is_device = kind == BACKEND_AUTO || backend_abilities(kind)->has_device;
    if (!opened || opened->has_begun || opened->waiting || !is_device) {
        return;
    }
    if (wish_make(opened, job, kind, &wish) != STATUS_OK) {
        report_clear();
        wish_free(&wish);
        return;
    }
    wish_free(&opened->wish);
    opened->wish = wish;
    opened->has_begun = 1;
    backend_see_one(&opened->wish.options); /* here: the thread must not change the environment */
    thread_worker_begin(opened->worker, opened_open, opened);
}

/* Devices of two kinds could round differently, and the product would depend on the ranks. */
static status_t opened_check_same_all(MPI_Comm comm, const backend_t *backend)
{
    status_t st = STATUS_OK;
    char first[256];
    snprintf(first, sizeof first, "%s", backend_device(backend));
    share_bytes_all(comm, first, sizeof first);
    if (strcmp(first, backend_device(backend)) != 0) {
        st = report_fail(STATUS_DEVICE,
                         "this rank's device is %s, but that of rank 0 is %s: run.device names one "
                         "kind for all",
                         backend_device(backend), first);
    }
    return agree_all(comm, st);
}

status_t opened_take_all(MPI_Comm comm, opened_t *opened, const struct job *job,
                         enum backend_kind kind, backend_t **out)
{
    status_t st = STATUS_OK;
    struct wish wish;
    backend_t *backend = NULL;
    TRY(agree_all(comm, wish_make(opened, job, kind, &wish)));
    thread_worker_wait(opened->worker);
    opened->has_begun = 0;
    if (opened->waiting && wish_is_same(&opened->wish, &wish)) {
        backend = opened->waiting;
        opened->waiting = NULL;
    } else {
        opened_drop(opened); /* first: it has memory of the device */
        st = backend_open(kind, &wish.options, &backend);
    }
    *out = backend;
    TRY(agree_all(comm, st));
    wish_free(&opened->wish);
    opened->wish = wish;
    wish.device = NULL;
    TRY(opened_check_same_all(comm, backend));
out:
    wish_free(&wish);
    return st;
}

void opened_give_back(opened_t *opened, backend_t *backend, status_t st)
{
    int is_good = st == STATUS_OK || st == STATUS_HOLES || st == STATUS_STOPPED;
    if (backend && opened && opened->keeps && is_good && !opened->waiting &&
        backend_which(backend) == opened->wish.kind &&
        backend_abilities(opened->wish.kind)->has_device) {
        opened->waiting = backend;
        return;
    }
    backend_close(backend);
}
