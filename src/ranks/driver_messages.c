/* What rank 0 hears of the others, and what every rank does while it works. */
#include "ranks/driver_parts.h"

#include "base/memory.h"

/* Joins what comes in several messages; what has lost a part is of no use. */
static status_t driver_join(driver_t *driver, struct told *half, size_t bytes, int is_last)
{
    status_t st = STATUS_OK;
    if (!half->is_broken) {
        st = text_add_bytes(&half->text, driver->heard->told, bytes);
        half->is_broken = st != STATUS_OK;
    }
    if (is_last) {
        if (!half->is_broken) {
            st = driver->work->take(driver->work->context, half->text.data, half->text.length);
        }
        *half = (struct told){.text = {half->text.data, 0, half->text.capacity}};
    }
    return st;
}

static status_t driver_take_told(driver_t *driver, int rank, size_t bytes, int is_last)
{
    const struct driver_work *work = driver->work;
    struct told *half = &driver->half[rank];
    if (is_last && half->text.length == 0 && !half->is_broken) {
        return work->take(work->context, driver->heard->told, bytes);
    }
    return driver_join(driver, half, bytes, is_last);
}

static void driver_answer(driver_t *driver, int rank)
{
    driver->returned += driver->heard->done;
    uint64_t chunk = driver_take_chunk(driver);
    driver_post(driver, &chunk, sizeof chunk, rank, TAG_GIVE);
}

static void driver_take_ending(driver_t *driver, int rank)
{
    driver->ended++;
    driver->is_short |= driver->heard->ending.is_short;
    liveness_leave(driver->liveness, rank);
    if (driver->heard->ending.status != STATUS_OK) {
        driver_note_failure(driver, rank, &driver->heard->ending);
    }
}

static void driver_take(driver_t *driver, int rank, int tag, size_t bytes)
{
    switch (tag) {
    case TAG_ASK:
        driver_answer(driver, rank);
        break;
    case TAG_TELL:
    case TAG_TELL_ON:
        driver_note_trouble(driver, driver_take_told(driver, rank, bytes, tag == TAG_TELL));
        break;
    case TAG_WISH:
        driver_begin_stop(driver, driver->heard->wish);
        break;
    case TAG_TROUBLE:
        driver_note_failure(driver, rank, &driver->heard->ending);
        break;
    case TAG_LOST:
        driver_lose(driver, driver->heard->lost);
        break;
    case TAG_HEARTBEAT:
        driver_post(driver, NULL, 0, rank, TAG_HEARTBEAT);
        break;
    default:
        driver_take_ending(driver, rank);
        break;
    }
}

/* Rank 0: takes one message if there is one. It is received whatever comes of it: it would be found
 * again and again. */
static int driver_serve_one(driver_t *driver)
{
    int there = 0;
    int bytes = 0;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, driver->comm, &there, &from);
    if (there) {
        liveness_heard(driver->liveness, from.MPI_SOURCE);
        if (from.MPI_TAG == TAG_GIVEN_UP) {
            driver_end_given_up(driver);
        }
        MPI_Get_count(&from, MPI_BYTE, &bytes);
        MPI_Recv(driver->heard, sizeof *driver->heard, MPI_BYTE, from.MPI_SOURCE, from.MPI_TAG,
                 driver->comm, MPI_STATUS_IGNORE);
        driver_take(driver, from.MPI_SOURCE, from.MPI_TAG, (size_t)bytes);
    }
    return there;
}

static void driver_send_told(driver_t *driver)
{
    size_t length = driver->told.length;
    for (size_t at = 0; at < length; at += TELL_BYTES) {
        size_t bytes = (size_t)min_u64(length - at, TELL_BYTES);
        driver_post(driver, driver->told.data + at, bytes, 0,
                    at + TELL_BYTES < length ? TAG_TELL_ON : TAG_TELL);
    }
}

status_t driver_tell(driver_t *driver)
{
    status_t st = STATUS_OK;
    const struct driver_work *work = driver->work;
    if (!work->tell) {
        goto out;
    }
    driver->told.length = 0;
    TRY(work->tell(work->context, &driver->told));
    if (driver->told.length > 0 && driver->rank == 0) {
        TRY(work->take(work->context, driver->told.data, driver->told.length));
    } else {
        driver_send_told(driver);
    }
out:
    return st;
}

static void driver_look_for_wish(driver_t *driver)
{
    int wish = driver->work->wants_stop ? driver->work->wants_stop() : 0;
    int is_new = wish > driver->wished;
    /* Launchers ask all others to stop when one has died. */
    driver_look_after(driver, is_new);
    if (!is_new) {
        return;
    }
    driver->wished = wish;
    if (driver->rank == 0) {
        driver_begin_stop(driver, wish);
    } else {
        driver_post(driver, &wish, sizeof wish, 0, TAG_WISH);
    }
}

double driver_pause(const driver_t *driver)
{
    return driver->rank == 0 && driver->size > 1 ? 0.0005 : 0.005;
}

void driver_show_progress(driver_t *driver)
{
    const struct driver_work *work = driver->work;
    struct progress *progress = driver->progress;
    if (progress) {
        progress_show(progress,
                      work->done ? work->done(work->context) : progress->before + driver->returned);
    }
}

int driver_serve(driver_t *driver)
{
    if (driver->rank != 0) {
        driver_look_for_stop(driver);
    }
    driver_look_for_wish(driver);
    driver_note_trouble(driver, driver_tell(driver));
    if (driver->rank != 0) {
        return driver->is_stopped || driver->trouble != STATUS_OK || driver_is_late(driver);
    }
    while (driver_serve_one(driver)) {
    }
    driver_show_progress(driver);
    return driver->failed_rank >= 0 || driver_is_late(driver);
}
