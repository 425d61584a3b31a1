/* Pieces of samples on their way to a device: in any order, to several blocks at a time, from
 * several threads; and a carrier that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compute/device_side.h"
#include "find_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, BLOCKS = 2, PIECES = 7, BYTES = PIECES * INGEST_PIECE - 1234 };

static backend_t *backend;

static int set_up(void **state)
{
    const struct backend_options options = {.local_size = 1};
    (void)state;
    return has_device && backend_open(BACKEND_OPENCL, &options, &backend) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    if (backend) {
        backend_close(backend);
    }
    backend = NULL;
    return 0;
}

static void need_device(void)
{
    if (!has_device) {
        print_message("no OpenCL platform with a device: skipped\n");
        skip();
    }
}

static unsigned char value(int block, uint64_t at)
{
    return (unsigned char)((at * 2654435761U + (uint64_t)block * 97) >> 13);
}

struct filling {
    ingest_t *ingest;
    buffer_t *in[BLOCKS];
    atomic_uint next, ended;
};

struct filler {
    struct filling *filling;
    uint32_t number;
    pthread_t thread;
};

/* Pieces of both blocks in turns, from the last on. */
static void *fill(void *argument)
{
    const struct filler *filler = argument;
    struct filling *filling = filler->filling;
    void *out = NULL;
    unsigned unit = 0;
    while ((unit = atomic_fetch_add(&filling->next, 1)) < BLOCKS * PIECES) {
        int block = (int)(unit % BLOCKS);
        uint64_t at = (uint64_t)(PIECES - 1 - unit / BLOCKS) * INGEST_PIECE;
        uint64_t bytes = at + INGEST_PIECE < BYTES ? INGEST_PIECE : BYTES - at;
        if (filling->ingest->ops->room(filling->ingest, filler->number, &out) != STATUS_OK) {
            break;
        }
        for (uint64_t i = 0; i < bytes; i++) {
            ((unsigned char *)out)[i] = value(block, at + i);
        }
        filling->ingest->ops->put(filling->ingest, filler->number, filling->in[block], at, bytes);
    }
    atomic_fetch_add(&filling->ended, 1);
    return NULL;
}

static void assert_block(buffer_t *in, int block)
{
    void *data = NULL;
    assert_int_equal(buffer_get(in, &data), STATUS_OK);
    for (uint64_t i = 0; i < BYTES; i++) {
        if (((unsigned char *)data)[i] != value(block, i)) {
            fail_msg("block %d differs at byte %llu", block, (unsigned long long)i);
        }
    }
}

static void blocks_come(void **state)
{
    struct filling filling = {.ingest = NULL};
    struct filler fillers[THREADS];
    (void)state;
    need_device();
    assert_int_equal(ingest_create(backend, THREADS, &filling.ingest), STATUS_OK);
    for (int i = 0; i < BLOCKS; i++) {
        assert_int_equal(filling.ingest->ops->buffer(filling.ingest, BYTES, &filling.in[i]),
                         STATUS_OK);
    }
    for (int round = 0; round < 2; round++) {
        atomic_store(&filling.next, 0);
        atomic_store(&filling.ended, 0);
        for (int i = 0; i < BLOCKS; i++) {
            assert_int_equal(filling.ingest->ops->begin(filling.ingest, filling.in[i]), STATUS_OK);
        }
        for (uint32_t i = 0; i < THREADS; i++) {
            fillers[i] = (struct filler){.filling = &filling, .number = i};
            assert_int_equal(pthread_create(&fillers[i].thread, NULL, fill, &fillers[i]), 0);
        }
        while (atomic_load(&filling.ended) < THREADS) {
            assert_int_equal(filling.ingest->ops->carry(filling.ingest), STATUS_OK);
        }
        for (int i = 0; i < BLOCKS; i++) {
            assert_int_equal(filling.ingest->ops->end(filling.ingest, filling.in[i], 1), STATUS_OK);
            assert_block(filling.in[i], i);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(fillers[i].thread, NULL);
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        buffer_destroy(filling.in[i]);
    }
    stage_destroy(filling.ingest);
}

/* A block of which something could not be read: what the host then puts there stays. */
static void broken_block(void **state)
{
    ingest_t *ingest = NULL;
    buffer_t *in = NULL;
    void *out = NULL;
    (void)state;
    need_device();
    assert_int_equal(ingest_create(backend, 1, &ingest), STATUS_OK);
    assert_int_equal(ingest->ops->buffer(ingest, BYTES, &in), STATUS_OK);
    assert_int_equal(ingest->ops->begin(ingest, in), STATUS_OK);
    assert_int_equal(ingest->ops->room(ingest, 0, &out), STATUS_OK);
    memset(out, 5, INGEST_PIECE);
    ingest->ops->put(ingest, 0, in, 0, INGEST_PIECE);
    assert_int_equal(ingest->ops->end(ingest, in, 0), STATUS_OK);
    assert_int_equal(buffer_get(in, &out), STATUS_OK);
    memset(out, 9, BYTES);
    assert_int_equal(buffer_get(in, &out), STATUS_OK);
    for (uint64_t i = 0; i < BYTES; i++) {
        assert_int_equal(((unsigned char *)out)[i], 9);
    }
    buffer_destroy(in);
    stage_destroy(ingest);
}

/* Without a carrier, no thread waits for a free piece. */
static void no_carrier(void **state)
{
    ingest_t *ingest = NULL;
    buffer_t *in = NULL;
    void *out = NULL;
    (void)state;
    need_device();
    assert_int_equal(ingest_create(backend, 1, &ingest), STATUS_OK);
    assert_int_equal(ingest->ops->buffer(ingest, BYTES, &in), STATUS_OK);
    assert_int_equal(ingest->ops->begin(ingest, in), STATUS_OK);
    for (int i = 0; i < INGEST_EACH; i++) {
        assert_int_equal(ingest->ops->room(ingest, 0, &out), STATUS_OK);
        ingest->ops->put(ingest, 0, in, (uint64_t)i * INGEST_PIECE, INGEST_PIECE);
    }
    ingest->ops->stop(ingest);
    assert_int_equal(ingest->ops->room(ingest, 0, &out), STATUS_DEVICE);
    report_clear();
    buffer_destroy(in);
    stage_destroy(ingest);
}

static void failing_carrier(void **state)
{
    ingest_t *ingest = NULL;
    buffer_t *in = NULL;
    void *out = NULL;
    (void)state;
    need_device();
    assert_int_equal(ingest_create(backend, 1, &ingest), STATUS_OK);
    assert_int_equal(ingest->ops->buffer(ingest, BYTES, &in), STATUS_OK);
    assert_int_equal(ingest->ops->begin(ingest, in), STATUS_OK);
    assert_int_equal(ingest->ops->room(ingest, 0, &out), STATUS_OK);
    ingest->ops->put(ingest, 0, in, BYTES - 1, INGEST_PIECE); /* which does not fit */
    assert_int_equal(ingest->ops->carry(ingest), STATUS_DEVICE);
    report_clear();
    for (int i = 1; i < INGEST_EACH; i++) {
        ingest->ops->put(ingest, 0, in, 0, INGEST_PIECE);
    }
    assert_int_equal(ingest->ops->room(ingest, 0, &out), STATUS_DEVICE);
    report_clear();
    buffer_destroy(in);
    stage_destroy(ingest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_carrier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failing_carrier, set_up, tear_down)};
    return cmocka_run_group_tests(tests, find_device, NULL);
}
