/* Ingests of backends that have memory of their own. */
#include "compute/ingest.h"

#include "compute/backend_ops.h"

uint64_t ingest_least_bytes(uint32_t threads)
{
    enum { PIECES = 2 /* of each */ };
    return (uint64_t)threads * PIECES * INGEST_PIECE;
}

uint64_t ingest_bytes(uint32_t threads)
{
    return (uint64_t)threads * INGEST_EACH * INGEST_PIECE;
}

status_t ingest_create(backend_t *backend, uint32_t threads, ingest_t **out)
{
    status_t st = STATUS_OK;
    const struct ingest_ops *ops = backend->ops->ingest;
    *out = NULL;
    if (ops) {
        TRY(ops->create(backend, threads, out));
        (*out)->ops = ops;
        (*out)->backend = backend->ops;
    }
out:
    return st;
}

void ingest_destroy(ingest_t *ingest)
{
    if (ingest) {
        ingest->ops->destroy(ingest);
    }
}

status_t ingest_buffer(ingest_t *ingest, uint64_t bytes, buffer_t **out)
{
    status_t st = STATUS_OK;
    TRY(ingest->ops->buffer(ingest, bytes, out));
    (*out)->ops = ingest->backend;
out:
    return st;
}

status_t ingest_begin(ingest_t *ingest, buffer_t *in)
{
    return ingest->ops->begin(ingest, in);
}

status_t ingest_room(ingest_t *ingest, uint32_t thread, void **out)
{
    return ingest->ops->room(ingest, thread, out);
}

void ingest_put(ingest_t *ingest, uint32_t thread, buffer_t *in, uint64_t at, uint64_t bytes)
{
    ingest->ops->put(ingest, thread, in, at, bytes);
}

status_t ingest_carry(ingest_t *ingest)
{
    return ingest->ops->carry(ingest);
}

status_t ingest_end(ingest_t *ingest, buffer_t *in, int is_whole)
{
    return ingest->ops->end(ingest, in, is_whole);
}

void ingest_stop(ingest_t *ingest)
{
    if (ingest) {
        ingest->ops->stop(ingest);
    }
}
