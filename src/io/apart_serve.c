/* The child: it begins as this program anew or as a copy of this process, and serves its parent. */
#include "io/apart_parts.h"

#include "base/memory.h"
#include "io/again.h"
#include "io/apart.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

const char apart_word[] = "--apart";

const char *apart_own_program(void)
{
    static const char by_kernel[] = "/proc/self/exe";
    const char *begun_as = (const char *)getauxval(AT_EXECFN);
    return access(by_kernel, X_OK) == 0 || !begun_as ? by_kernel : begun_as;
}

/* Until a child has made its own choice (apart_serve_parent()), none comes through to it. */
static void apart_hold_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, before);
}

/* The output that libraries print while they die is discarded. */
int apart_spawn(int fd, int page, pid_t *out)
{
    posix_spawn_file_actions_t files;
    sigset_t before;
    char parent[24];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    char program[] = "voltmill";
    char word[sizeof apart_word];
    memcpy(word, apart_word, sizeof word);
    char *const arguments[] = {program, word, parent, NULL};
    int error = posix_spawn_file_actions_init(&files);
    if (error) {
        return error;
    }
    error = posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&files, page, STDOUT_FILENO);
    if (!error) {
        error = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (!error) {
        apart_hold_signals(&before);
        error = posix_spawn(out, apart_own_program(), &files, NULL, arguments, environ);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

pid_t apart_fork_safely(void)
{
    struct stat threads; /* a folder for each thread, beside "." and ".." */
    sigset_t before;
    if (stat("/proc/self/task", &threads) != 0 || threads.st_nlink != 3) {
        return -1;
    }
    report_show(); /* not by both */
    apart_hold_signals(&before);
    pid_t child = fork();
    if (child != 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return child;
}

/* Writes the words that `ps` shows for a spawned child, one after the other, into the memory of its
 * parent's arguments. If that is too short, they continue in the environment after them, which is
 * copied before. Changes nothing if the space or the memory for copies is missing. */
static void apart_show(char *arguments, size_t bytes, pid_t parent)
{
    char words[64];
    size_t wanted =
        (size_t)snprintf(words, sizeof words, "voltmill %s %ld", apart_word, (long)parent) + 1;
    for (char **variable = environ; bytes < wanted && *variable == arguments + bytes; variable++) {
        size_t length = strlen(*variable) + 1;
        char *copy = strdup(*variable);
        if (!copy) {
            return;
        }
        *variable = copy;
        bytes += length;
    }
    if (bytes >= wanted) {
        memset(arguments, 0, bytes);
        memcpy(arguments, words, wanted);
    }
}

void apart_be_child(const int *ends, int page, int nowhere, pid_t parent, char *arguments,
                    size_t bytes)
{
    const int opened[] = {ends[0], ends[1], page, nowhere};
    if (dup2(ends[1], STDIN_FILENO) < 0 || dup2(page, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0) {
        _exit(STATUS_DEVICE);
    }
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i] > STDERR_FILENO) {
            close(opened[i]);
        }
    }
    apart_show(arguments, bytes, parent);
}

static int parent_fd = -1;
static struct apart_page *place_page;

static void apart_tell(char kind, const char *data, size_t bytes)
{
    struct apart_head head;
    memset(&head, 0, sizeof head); /* its padding, too */
    head.bytes = bytes;
    head.kind = kind;
    if (!again_write(parent_fd, &head, sizeof head) || !again_write(parent_fd, data, bytes)) {
        _exit(STATUS_DATA); /* the parent is gone */
    }
}

void apart_at(const char *format, ...)
{
    if (place_page) {
        va_list args;
        va_start(args, format);
        vsnprintf(place_page->place, sizeof place_page->place, format, args);
        va_end(args);
        place_page->reports++;
    }
}

static void apart_relay(enum report_kind kind, const char *message)
{
    apart_tell((char)(APART_SAYS + (int)kind), message, strlen(message));
}

/* Maps the page, and keeps printed output in memory until it is sent. */
static void apart_keep_output(void)
{
    void *map =
        mmap(NULL, sizeof *place_page, PROT_READ | PROT_WRITE, MAP_SHARED, STDOUT_FILENO, 0);
    int fd = memfd_create("output", MFD_CLOEXEC);
    place_page = map == MAP_FAILED ? NULL : map;
    if (!place_page || fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
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

static status_t apart_answer_one(const struct description *kind, uint64_t bytes,
                                 struct text *answer)
{
    status_t st = STATUS_OK;
    char *question = NULL;
    char *path = NULL;
    char *name = NULL;
    void *found = NULL;
    TRY_OUT(memory_zeroed((size_t)bytes, 1, "a question", &question));
    if (!again_read(parent_fd, question, (size_t)bytes)) {
        _exit(STATUS_USAGE);
    }
    struct unpack in = {.data = question, .length = (size_t)bytes};
    path = unpack_text(&in);
    name = unpack_text(&in);
    struct apart_request request = {.path = path, .name = name, .wants = unpack_u64(&in)};
    TRY_OUT(unpack_check(&in, "a question"));
    request.more = (struct text){.data = question + in.at, .length = in.length - in.at};
    TRY_OUT(kind->open(&request, &found));
    TRY_OUT(found ? pack_struct(answer, found, kind->type) : STATUS_OK);
out:
    pack_destroy(found, kind->type);
    free(name);
    free(path);
    free(question);
    return st;
}

static const struct description *apart_find(const char *what,
                                            const struct description *const *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(what, kinds[i]->what) == 0) {
            return kinds[i];
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
            signal(number, SIG_DFL); /* fails for signals that cannot be changed */
        }
    }
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

_Noreturn void apart_serve(int argc, char **argv, const struct description *const *kinds,
                           size_t count)
{
    apart_serve_parent(argc == 3 ? (pid_t)strtol(argv[2], NULL, 10) : 0, kinds, count);
}

_Noreturn void apart_serve_parent(pid_t parent, const struct description *const *kinds,
                                  size_t count)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent != getppid() || parent == 0) {
        _exit(STATUS_USAGE); /* no parent, or an orphan already */
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
        if (!again_read(parent_fd, &head, sizeof head)) {
            _exit(STATUS_OK); /* no more requests */
        }
        report_next(); /* of another file the same may be said again */
        head.what[sizeof head.what - 1] = '\0';
        st = apart_answer_one(apart_find(head.what, kinds, count), head.bytes, &answer);
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
