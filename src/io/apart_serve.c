/* The side that is asked: the child. */
#include "base/memory.h"
#include "io/apart.h"
#include "io/apart_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int parent_fd = -1;

static void apart_write_all(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t count = write(parent_fd, at, bytes);
        if (count < 0 && errno != EINTR) {
            _exit(STATUS_DATA); /* the parent is gone */
        }
        at += count > 0 ? count : 0;
        bytes -= count > 0 ? (size_t)count : 0;
    }
}

static void apart_tell(char kind, const char *data, size_t bytes)
{
    struct apart_head head;
    memset(&head, 0, sizeof head); /* its padding, too */
    head.bytes = bytes;
    head.kind = kind;
    apart_write_all(&head, sizeof head);
    apart_write_all(data, bytes);
}

void apart_at(const char *format, ...)
{
    if (parent_fd >= 0) {
        char place[2048];
        va_list args;
        va_start(args, format);
        vsnprintf(place, sizeof place, format, args);
        va_end(args);
        apart_tell(APART_PLACE, place, strlen(place));
    }
}

static void apart_relay(enum report_kind kind, const char *message)
{
    static const char kinds[] = {[REPORT_WARNING] = APART_WARNING,
                                 [REPORT_LOUD] = APART_LOUD,
                                 [REPORT_NOTE] = APART_NOTE,
                                 [REPORT_ASSUMED] = APART_ASSUMED};
    apart_tell(kinds[kind], message, strlen(message));
}

/* What is printed is kept in memory until it is told. */
static void apart_keep_output(void)
{
    int fd = memfd_create("output", MFD_CLOEXEC);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        _exit(STATUS_DEVICE);
    }
    close(fd);
}

static void apart_tell_output(void)
{
    char piece[1 << 14];
    off_t at = 0;
    ssize_t count;
    if (fflush(stdout) != 0) {
        _exit(STATUS_DEVICE);
    }
    while ((count = pread(STDOUT_FILENO, piece, sizeof piece, at)) > 0) {
        apart_tell(APART_OUTPUT, piece, (size_t)count);
        at += count;
    }
    if (count < 0 ||
        (at > 0 && (ftruncate(STDOUT_FILENO, 0) != 0 || lseek(STDOUT_FILENO, 0, SEEK_SET) != 0))) {
        _exit(STATUS_DEVICE);
    }
}

/* Files that the parent left open hold locks, and connections whose end others wait for. */
static void apart_close_others(void)
{
    DIR *open = opendir("/proc/self/fd");
    for (struct dirent *entry = open ? readdir(open) : NULL; entry; entry = readdir(open)) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fd != dirfd(open)) {
            close(fd);
        }
    }
    if (open) {
        closedir(open);
    }
}

static int apart_read_all(void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t count = read(parent_fd, at, bytes);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return 0;
        }
        at += count > 0 ? count : 0;
        bytes -= count > 0 ? (size_t)count : 0;
    }
    return 1;
}

static status_t apart_answer_one(const struct apart_task *task, uint64_t bytes, struct text *answer)
{
    status_t st = STATUS_OK;
    char *question = NULL;
    TRY(memory_zeroed((size_t)bytes, 1, "a question", &question));
    if (!apart_read_all(question, (size_t)bytes)) {
        _exit(STATUS_USAGE);
    }
    struct unpack in = {.data = question, .length = (size_t)bytes};
    TRY(task->work(&in, answer));
out:
    free(question);
    return st;
}

static const struct apart_task *apart_find(const char *name, const struct apart_task *const *tasks,
                                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, tasks[i]->name) == 0) {
            return tasks[i];
        }
    }
    _exit(STATUS_USAGE);
}

/* Signals that come to all processes of a terminal or of a job are the parent's to answer; what the
 * parent ignores or handles is the child's default, but for what launch_begin() has set. */
static void apart_set_signals(void)
{
    static const int kept[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        sigaddset(&blocked, kept[i]);
    }
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGXFSZ) {
            signal(number, SIG_DFL); /* fails for those that nobody may change */
        }
    }
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

_Noreturn void apart_serve(int argc, char **argv, const struct apart_task *const *tasks,
                           size_t count)
{
    apart_serve_parent(argc == 3 ? (pid_t)strtol(argv[2], NULL, 10) : 0, tasks, count);
}

_Noreturn void apart_serve_parent(pid_t parent, const struct apart_task *const *tasks, size_t count)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent != getppid() || parent == 0) {
        _exit(STATUS_USAGE); /* nobody's child, or an orphan already */
    }
    apart_set_signals();
    setrlimit(RLIMIT_CORE, &none);
    apart_close_others();
    apart_keep_output();
    parent_fd = STDIN_FILENO;
    report_relay(apart_relay);
    status_t st = STATUS_OK;
    while (st == STATUS_OK) {
        struct apart_question head;
        struct text answer = {0};
        if (!apart_read_all(&head, sizeof head)) {
            _exit(STATUS_OK); /* nothing more is asked */
        }
        report_next(); /* of another file the same may be said again */
        head.task[sizeof head.task - 1] = '\0';
        st = apart_answer_one(apart_find(head.task, tasks, count), head.bytes, &answer);
        apart_tell_output();
        if (st == STATUS_OK) {
            apart_tell(APART_ANSWER, answer.data ? answer.data : "", answer.length);
        } else {
            apart_tell((char)st, report_cause(), strlen(report_cause()));
        }
        text_free(&answer);
    }
    _exit((int)st);
}
