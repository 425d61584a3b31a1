/* Blocks pass all stages in their order, and a slot is used again only when its block is settled.
 */
#include "pipeline/pipeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { BLOCKS = 40, MOST_SLOTS = 4 };

struct a_slot {
    struct pipeline_slot block;
    atomic_int in_use;
};

struct stages {
    struct a_slot slots[MOST_SLOTS];
    struct a_slot *begun; /* by write(), not settled */
    uint64_t next, settled;
    int lagged; /* blocks that were settled by the write() of the next one */
    uint64_t fails_at;
    atomic_int wrong;
};

static status_t read_block(void *context, void *of)
{
    struct stages *stages = context;
    struct a_slot *slot = of;
    atomic_fetch_add(&stages->wrong, atomic_exchange(&slot->in_use, 1));
    return STATUS_OK;
}

static status_t settle_block(void *context)
{
    struct stages *stages = context;
    usleep(200);
    if (stages->begun) {
        atomic_store(&stages->begun->in_use, 0);
        stages->begun = NULL;
        stages->settled++;
    }
    return stages->settled == stages->fails_at ? STATUS_NO_SPACE : STATUS_OK;
}

static status_t write_block(void *context, void *of)
{
    struct stages *stages = context;
    struct a_slot *slot = of;
    atomic_fetch_add(&stages->wrong, slot->block.from != stages->next++);
    stages->lagged += stages->begun != NULL;
    TRY(settle_block(context));
    stages->begun = slot;
    return STATUS_OK;
}

static status_t run(uint32_t nslots, struct stages *stages)
{
    const struct chunk chunk = {.count = BLOCKS, .streams = 1};
    const struct pipeline_stages own = {.context = stages,
                                        .slots = stages->slots,
                                        .slot_bytes = sizeof stages->slots[0],
                                        .block = 1,
                                        .read = read_block,
                                        .write = write_block,
                                        .settle = settle_block};
    pipeline_t *pipeline = NULL;
    status_t st = pipeline_create(nslots, &own, &pipeline);
    st = st == STATUS_OK ? pipeline_chunk(pipeline, NULL, &chunk) : st;
    st = st == STATUS_OK ? pipeline_finish(pipeline, NULL) : st;
    pipeline_destroy(pipeline);
    return st;
}

static void slots_are_settled(void **state)
{
    (void)state;
    for (uint32_t slots = 1; slots <= MOST_SLOTS; slots++) {
        struct stages stages = {.fails_at = BLOCKS + 1};
        assert_int_equal(run(slots, &stages), STATUS_OK);
        assert_int_equal(stages.wrong, 0);
        assert_int_equal(stages.settled, BLOCKS);
        assert_true(slots == 1 ? stages.lagged == 0 : stages.lagged > 0);
    }
}

static void failure_of_settling_ends_it(void **state)
{
    struct stages stages = {.fails_at = BLOCKS / 2};
    (void)state;
    assert_int_equal(run(MOST_SLOTS, &stages), STATUS_NO_SPACE);
    assert_int_equal(stages.settled, BLOCKS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_are_settled),
                                       cmocka_unit_test(failure_of_settling_ends_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
