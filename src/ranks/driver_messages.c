#include "ranks/driver_parts.h"

#include "base/memory.h"

#include <stdio.h>

int driver_has_more(driver_t *driver)
{
    const struct driver_work *work = driver->work;
    while (driver->next < work->chunks && work->is_done &&
           work->is_done(work->context, driver->next)) {
        driver->next++;
    }
    return driver->next < work->chunks;
}

uint64_t driver_take_chunk(driver_t *driver)
{
    if (driver->failed_rank >= 0 || driver->stopping_since >= 0 || !driver_has_more(driver)) {
        return NO_CHUNK;
    }
    return driver->next++;
}

static void driver_send_stop(driver_t *driver, enum reason reason, int status)
{
    int words[STOP_WORDS] = {(int)reason, status};
    for (int other = 1; other < driver->size; other++) {
        driver_post(driver, words, sizeof words, other, TAG_STOP);
    }
    driver->stops++;
}

static void driver_tell_of_failure(const driver_t *driver, status_t st)
{
    if (driver->work->failing) {
        driver->work->failing(driver->work->context, st);
    }
}

struct ending driver_ending_of(const driver_t *driver, status_t st)
{
    struct ending ending = {.status = (int32_t)st, .is_short = driver->is_short};
    char name[LIVENESS_NAME];
    liveness_name(driver->watch, driver->rank, name);
    if (st != STATUS_OK) {
        const struct driver_work *work = driver->work;
        ending.is_stuck = work->hangs && work->hangs(work->context);
        snprintf(ending.cause, sizeof ending.cause, driver->size > 1 ? "%s (%s)" : "%s",
                 report_cause(), name);
    }
    return ending;
}

void driver_note_failure(driver_t *driver, int rank, const struct ending *ending)
{
    if (driver->failed_rank >= 0) {
        return;
    }
    driver->failed_rank = rank;
    driver->failure = *ending;
    driver->lost += ending->is_stuck;
    driver_send_stop(driver, REASON_FAILURE, ending->status);
    /* Said at once: a launcher may kill this rank, too. */
    if (driver->progress) {
        progress_end(driver->progress);
    }
    report_adopt((status_t)ending->status, ending->cause);
    report_print();
    driver_tell_of_failure(driver, (status_t)ending->status);
}

void driver_note_trouble(driver_t *driver, status_t st)
{
    if (st == STATUS_OK || driver->trouble != STATUS_OK) {
        return;
    }
    struct ending ending = driver_ending_of(driver, st);
    driver->trouble = st;
    if (driver->rank == 0) {
        driver_note_failure(driver, 0, &ending);
    } else {
        driver_post(driver, &ending, sizeof ending, 0, TAG_TROUBLE);
        driver_tell_of_failure(driver, st);
    }
}

static void driver_begin_stop(driver_t *driver)
{
    if (driver->stopping_since < 0) {
        driver->stopping_since = progress_now();
        if (driver->rank == 0) {
            driver_send_stop(driver, REASON_WISH, STATUS_STOPPED);
        }
        if (driver->work->hurry) {
            driver->work->hurry(driver->work->context);
        }
    }
}

int driver_is_late(const driver_t *driver)
{
    return driver->stopping_since >= 0 && progress_now() - driver->stopping_since > DRIVER_PATIENCE;
}

/* Joins what comes in several messages; what has lost a part is of no use. */
static status_t driver_join(driver_t *driver, struct told *half, size_t bytes, int is_last)
{
    status_t st = STATUS_OK;
    if (!half->is_broken) {
        st = text_add_bytes(&half->text, driver->heard, bytes);
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

/* The message is taken whatever happens: it would be found again and again. */
static status_t driver_take_told(driver_t *driver, const MPI_Status *from)
{
    const struct driver_work *work = driver->work;
    struct told *half = &driver->half[from->MPI_SOURCE];
    int is_last = from->MPI_TAG == TAG_TELL;
    int bytes = 0;
    MPI_Get_count(from, MPI_BYTE, &bytes);
    MPI_Recv(driver->heard, TELL_BYTES, MPI_BYTE, from->MPI_SOURCE, from->MPI_TAG, driver->comm,
             MPI_STATUS_IGNORE);
    if (is_last && half->text.length == 0 && !half->is_broken) {
        return work->take(work->context, driver->heard, (size_t)bytes);
    }
    return driver_join(driver, half, (size_t)bytes, is_last);
}

static void driver_answer(driver_t *driver, int rank)
{
    uint64_t done = 0;
    MPI_Recv(&done, sizeof done, MPI_BYTE, rank, TAG_ASK, driver->comm, MPI_STATUS_IGNORE);
    driver->returned += done;
    uint64_t chunk = driver_take_chunk(driver);
    driver_post(driver, &chunk, sizeof chunk, rank, TAG_GIVE);
}

static void driver_take_ending(driver_t *driver, int rank)
{
    struct ending ending;
    MPI_Recv(&ending, sizeof ending, MPI_BYTE, rank, TAG_END, driver->comm, MPI_STATUS_IGNORE);
    driver->ended++;
    driver->is_short |= ending.is_short;
    liveness_leave(driver->watch, rank);
    if (ending.status != STATUS_OK) {
        driver_note_failure(driver, rank, &ending);
    }
}

static void driver_take_trouble(driver_t *driver, int rank)
{
    struct ending ending;
    MPI_Recv(&ending, sizeof ending, MPI_BYTE, rank, TAG_TROUBLE, driver->comm, MPI_STATUS_IGNORE);
    driver_note_failure(driver, rank, &ending);
}

static void driver_take_loss(driver_t *driver, int rank)
{
    int lost = 0;
    MPI_Recv(&lost, sizeof lost, MPI_BYTE, rank, TAG_LOST, driver->comm, MPI_STATUS_IGNORE);
    driver_lose(driver, lost);
}

static void driver_return_sign(driver_t *driver, int rank)
{
    MPI_Recv(NULL, 0, MPI_BYTE, rank, TAG_SIGN, driver->comm, MPI_STATUS_IGNORE);
    driver_post(driver, NULL, 0, rank, TAG_SIGN);
}

/* Rank 0: takes one message if there is one. */
static int driver_serve_one(driver_t *driver)
{
    int there = 0;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, driver->comm, &there, &from);
    if (!there) {
        return 0;
    }
    liveness_heard(driver->watch, from.MPI_SOURCE);
    switch (from.MPI_TAG) {
    case TAG_ASK:
        driver_answer(driver, from.MPI_SOURCE);
        break;
    case TAG_TELL:
    case TAG_TELL_ON:
        driver_note_trouble(driver, driver_take_told(driver, &from));
        break;
    case TAG_WISH:
        MPI_Recv(NULL, 0, MPI_BYTE, from.MPI_SOURCE, TAG_WISH, driver->comm, MPI_STATUS_IGNORE);
        driver_begin_stop(driver);
        break;
    case TAG_TROUBLE:
        driver_take_trouble(driver, from.MPI_SOURCE);
        break;
    case TAG_LOST:
        driver_take_loss(driver, from.MPI_SOURCE);
        break;
    case TAG_GIVEN_UP:
        driver_end_given_up(driver);
        break;
    case TAG_SIGN:
        driver_return_sign(driver, from.MPI_SOURCE);
        break;
    default:
        driver_take_ending(driver, from.MPI_SOURCE);
        break;
    }
    return 1;
}

/* Other ranks: takes rank 0's word that the run ends, if it is there. */
void driver_look_for_stop(driver_t *driver)
{
    int there = 0;
    MPI_Iprobe(0, TAG_STOP, driver->comm, &there, MPI_STATUS_IGNORE);
    if (there) {
        int words[STOP_WORDS] = {0};
        MPI_Recv(words, sizeof words, MPI_BYTE, 0, TAG_STOP, driver->comm, MPI_STATUS_IGNORE);
        driver->stops_seen++;
        if (words[0] == REASON_WISH) {
            driver_begin_stop(driver);
        } else {
            driver->is_stopped = 1;
            driver_tell_of_failure(driver, (status_t)words[1]);
        }
    }
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
    int asked = !driver->has_wished && driver->work->wants_stop && driver->work->wants_stop();
    /* Launchers ask all others to stop when one has died. */
    driver_look_after(driver, asked);
    if (!asked) {
        return;
    }
    driver->has_wished = 1;
    if (driver->rank == 0) {
        driver_begin_stop(driver);
    } else {
        driver_post(driver, NULL, 0, 0, TAG_WISH);
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
    if (driver->progress) {
        progress_show(driver->progress, driver->returned);
    }
    return driver->failed_rank >= 0 || driver_is_late(driver);
}
