/* Units of a read, shared by threads that sleep in between: a backend's threads want the cores. Who
 * reads does not wait for a helper that has not woken up when all units are taken; and helpers that
 * find none left go on with the next read, when that has begun before this one's last unit is done.
 */
#include "input/read/reader_parts.h"

static void share_do(void *context, uint32_t thread, uint64_t unit)
{
    struct reader_share *share = context;
    if (!atomic_load(&share->has_failed) &&
        share->work(share->context, thread, unit) != STATUS_OK) {
        report_clear();
        atomic_store(&share->has_failed, 1);
    }
}

static status_t share_start_helpers(reader_t *reader)
{
    return reader->helpers
               ? STATUS_OK
               : pool_create(POOL_HELPERS, "reading", reader->threads, &reader->helpers);
}

status_t reader_share_begin(reader_t *reader, struct reader_share *share)
{
    struct pool_block block = {.context = share, .run = {share_do}, .tasks = {share->units}};
    TRY(share_start_helpers(reader));
    share->number = pool_submit(reader->helpers, &block);
    return STATUS_OK;
}

int reader_share_is_done(reader_t *reader, const struct reader_share *share)
{
    return pool_is_done(reader->helpers, share->number);
}

void reader_share_give_up(reader_t *reader, struct reader_share *share)
{
    atomic_store(&share->has_failed, 1);
    pool_wait(reader->helpers, share->number);
}

status_t reader_share(reader_t *reader, uint64_t units, reader_unit_t *work, const void *context)
{
    struct reader_share share = {.work = work, .context = context};
    if (reader->threads > 1 && units > 1) {
        TRY(share_start_helpers(reader));
        pool_run(reader->helpers, units, share_do, &share);
        if (!share.has_failed) {
            return STATUS_OK;
        }
    }
    /* After a failure once more by this thread alone, which can say what is wrong. */
    for (uint64_t unit = 0; unit < units; unit++) {
        TRY(work(context, 0, unit));
    }
    return STATUS_OK;
}
