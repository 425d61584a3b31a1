#include "base/report.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CAUSE_BYTES = 16384, MESSAGE_BYTES = 4096, WARNINGS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char cause[CAUSE_BYTES];
static status_t cause_status = STATUS_OK;
static int is_quiet;
static int is_said;
static char warnings[WARNINGS][MESSAGE_BYTES]; /* the last ones */
static uint32_t nwarnings;
static void (*relay_to)(enum report_kind kind, const char *message);

status_t report_fail(status_t code, const char *format, ...)
{
    pthread_mutex_lock(&lock);
    if (cause_status == STATUS_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(cause, sizeof cause, format, args);
        va_end(args);
        cause_status = code;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

const char *report_cause(void)
{
    return cause;
}

status_t report_cause_status(void)
{
    return cause_status;
}

void report_clear(void)
{
    pthread_mutex_lock(&lock);
    cause[0] = '\0';
    cause_status = STATUS_OK;
    pthread_mutex_unlock(&lock);
}

status_t report_forgive(status_t st)
{
    if (st == STATUS_OK || st == STATUS_DEVICE) {
        return st;
    }
    report_clear();
    return STATUS_OK;
}

void report_next(void)
{
    report_clear();
    is_said = 0;
    memset(warnings, 0, sizeof warnings);
}

void report_print(void)
{
    if (is_quiet || is_said) {
        return;
    }
    is_said = 1;
    fflush(stdout);
    const char *kind = cause_status == STATUS_STOPPED ? "stopped"
                       : cause_status == STATUS_HOLES ? "incomplete"
                                                      : "error";
    fprintf(stderr, "%s: %s\n", kind, cause_status == STATUS_OK ? "unknown" : cause);
}

static void say(enum report_kind kind, const char *message)
{
    if (relay_to) {
        relay_to(kind, message);
        return;
    }
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", kind == REPORT_NOTE ? "note" : "warning", message);
}

/* A file that several ask for is wrong once. */
static int was_warned_of(const char *message)
{
    pthread_mutex_lock(&lock);
    int was_said = 0;
    for (uint32_t i = 0; i < WARNINGS && !was_said; i++) {
        was_said = strcmp(warnings[i], message) == 0;
    }
    if (!was_said) {
        snprintf(warnings[nwarnings++ % WARNINGS], MESSAGE_BYTES, "%s", message);
    }
    pthread_mutex_unlock(&lock);
    return was_said;
}

void report_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[MESSAGE_BYTES];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!is_quiet && !was_warned_of(message)) {
        say(REPORT_WARNING, message);
    }
}

void report_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[MESSAGE_BYTES];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!is_quiet) {
        say(REPORT_NOTE, message);
    }
}

void report_warn_loudly(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[MESSAGE_BYTES];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    say(REPORT_LOUD, message);
}

void report_relay(void (*relay)(enum report_kind kind, const char *message))
{
    relay_to = relay;
}

void report_quiet(int quiet)
{
    is_quiet = quiet;
}
