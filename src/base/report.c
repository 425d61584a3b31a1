/* A record of the first failure for each thread, and one that helper threads hand over. */

#include "base/display.h"
#include "base/status.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CAUSE_BYTES = 16384, MESSAGE_BYTES = 4096, WARNINGS = 4 };

/* Why something failed, and when among all failures of this process. */
struct record {
    status_t status;
    uint64_t number;
    char cause[CAUSE_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct record own;
static struct record handed; /* by helper threads to the main thread; with the lock */
static atomic_uint_fast64_t nfailures;
static int is_quiet;
static atomic_int is_said;
static int lost_reason;                        /* errno of the first flush of stdout that failed */
static char warnings[WARNINGS][MESSAGE_BYTES]; /* the last ones */
static uint32_t nwarnings;
static void (*relay_to)(enum report_kind kind, const char *message);
static void (*copy_to)(enum report_kind kind, const char *message);

status_t report_fail(status_t code, const char *format, ...)
{
    if (own.status == STATUS_OK) {
        va_list args;
        va_start(args, format);
        display_format_list(own.cause, sizeof own.cause, format, args);
        va_end(args);
        own.status = code;
        own.number = atomic_fetch_add(&nfailures, 1);
    }
    return code;
}

static int report_is_main_thread(void)
{
    return gettid() == getpid();
}

void report_hand_over(void)
{
    if (own.status == STATUS_OK || report_is_main_thread()) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (handed.status == STATUS_OK || own.number < handed.number) {
        handed = own;
    }
    pthread_mutex_unlock(&lock);
    report_clear();
}

/* In the main thread, what came first of its own and what it was handed. */
static void report_take_handed(void)
{
    if (!report_is_main_thread()) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (handed.status != STATUS_OK && (own.status == STATUS_OK || handed.number < own.number)) {
        own = handed;
    }
    pthread_mutex_unlock(&lock);
}

const char *report_cause(void)
{
    report_take_handed();
    return own.cause;
}

status_t report_cause_status(void)
{
    report_take_handed();
    return own.status;
}

void report_clear(void)
{
    /* The failure that the main thread has taken over is not reported again. */
    if (report_is_main_thread() && own.status != STATUS_OK) {
        pthread_mutex_lock(&lock);
        if (handed.number == own.number) {
            handed.status = STATUS_OK;
        }
        pthread_mutex_unlock(&lock);
    }
    own.cause[0] = '\0';
    own.status = STATUS_OK;
}

static void report_forget_handed(void)
{
    pthread_mutex_lock(&lock);
    handed.status = STATUS_OK;
    pthread_mutex_unlock(&lock);
}

status_t report_again(status_t code, const char *format, ...)
{
    char cause[CAUSE_BYTES];
    va_list args;
    va_start(args, format);
    display_format_list(cause, sizeof cause, format, args);
    va_end(args);
    report_clear();
    own.status = code;
    own.number = atomic_fetch_add(&nfailures, 1);
    memcpy(own.cause, cause, strlen(cause) + 1);
    return code;
}

status_t report_adopt(status_t code, const char *cause)
{
    report_forget_handed();
    return report_again(code, "%s", cause);
}

status_t report_forgive(status_t st)
{
    if (st == STATUS_OK || st == STATUS_DEVICE || st == STATUS_STOPPED) {
        return st;
    }
    if (report_is_main_thread()) {
        report_forget_handed();
    }
    report_clear();
    return STATUS_OK;
}

int report_failed(status_t st)
{
    if (st != STATUS_OK) {
        report_clear();
    }
    return st != STATUS_OK;
}

void report_next(void)
{
    report_forget_handed();
    report_clear();
    is_said = 0;
    memset(warnings, 0, sizeof warnings);
}

int report_claim(void)
{
    return !atomic_exchange(&is_said, 1);
}

void report_show(void)
{
    errno = 0;
    if (fflush(stdout) != 0 && lost_reason == 0) {
        lost_reason = errno;
    }
}

status_t report_flush(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    report_show();
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0) {
        return STATUS_OK; /* the pipe or the terminal was closed by its reader, who wants no more */
    }
    /* Closing a copy makes network file systems write what they keep, and say whether they could.
     */
    int copy = dup(STDOUT_FILENO);
    if (copy >= 0 && close(copy) != 0 && lost_reason == 0) {
        lost_reason = errno;
    }
    int is_full = lost_reason == ENOSPC || lost_reason == EDQUOT || lost_reason == EFBIG;
    REQUIRE(lost_reason == 0, is_full ? STATUS_NO_SPACE : STATUS_DATA,
            "standard output cannot be written: %s", strerror(lost_reason));
    return REQUIRED(!ferror(stdout), STATUS_DATA,
                    "standard output cannot be written: some of it is lost");
}

void report_print(void)
{
    if (is_quiet || !report_claim()) {
        return;
    }
    report_take_handed();
    report_show();
    const char *kind = own.status == STATUS_STOPPED ? "stopped"
                       : own.status == STATUS_HOLES ? "incomplete"
                                                    : "error";
    fprintf(stderr, "%s: %s\n", kind, own.status == STATUS_OK ? "unknown" : own.cause);
}

/* Whether it was said already. A file that several ask for is wrong once. */
static int report_was_warned_of(const char *message)
{
    int was_said = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < WARNINGS; i++) {
        was_said |= strcmp(warnings[i], message) == 0;
    }
    if (!was_said) {
        snprintf(warnings[nwarnings++ % WARNINGS], MESSAGE_BYTES, "%s", message);
    }
    pthread_mutex_unlock(&lock);
    return was_said;
}

const char *report_word(enum report_kind kind)
{
    return kind == REPORT_NOTE ? "note" : kind == REPORT_ASSUMED ? "assumed" : "warning";
}

void report_say(enum report_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[MESSAGE_BYTES];
    display_format_list(message, sizeof message, format, args);
    va_end(args);
    if (kind != REPORT_LOUD && (is_quiet || report_was_warned_of(message))) {
        return;
    }
    if (copy_to) {
        copy_to(kind, message);
    }
    if (relay_to) {
        relay_to(kind, message);
        return;
    }
    report_show();
    fprintf(stderr, "%s: %s\n", report_word(kind), message);
}

int report_is_read(int milliseconds)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, milliseconds) != 0;
}

void report_relay(void (*relay)(enum report_kind kind, const char *message))
{
    relay_to = relay;
}

void report_copy(void (*copy)(enum report_kind kind, const char *message))
{
    copy_to = copy;
}

void report_quiet(int quiet)
{
    is_quiet = quiet;
}
