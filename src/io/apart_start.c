/* How a child begins: as this program anew, or as a copy of this process. */
#include "io/apart.h"
#include "io/apart_parts.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
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

/* What libraries print while they die is nobody's business. */
int apart_spawn(int fd, pid_t *out)
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
    for (int to = STDOUT_FILENO; to <= STDERR_FILENO && !error; to++) {
        error = posix_spawn_file_actions_addopen(&files, to, "/dev/null", O_WRONLY, 0);
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

/* What `ps` shows: the words of a spawned child, one behind the other in the memory of its parent's
 * arguments and, where that is too short, of the environment behind them, which is copied before.
 * Without room for them or the copies nothing is changed. */
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

void apart_be_child(const int *ends, int nowhere, pid_t parent, char *arguments, size_t bytes)
{
    const int opened[] = {ends[0], ends[1], nowhere};
    if (dup2(ends[1], STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
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
