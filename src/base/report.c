#include "base/report.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CAUSE_BYTES = 16384 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char cause[CAUSE_BYTES];
static status_t cause_status = STATUS_OK;
static int is_quiet;
static int is_said;

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

void report_next(void)
{
    report_clear();
    is_said = 0;
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

static void say(const char *kind, const char *format, va_list args)
{
    char message[4096];
    vsnprintf(message, sizeof message, format, args);
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", kind, message);
}

void report_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!is_quiet) {
        say("warning", format, args);
    }
    va_end(args);
}

void report_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!is_quiet) {
        say("note", format, args);
    }
    va_end(args);
}

void report_warn_loudly(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("warning", format, args);
    va_end(args);
}

void report_quiet(int quiet)
{
    is_quiet = quiet;
}
