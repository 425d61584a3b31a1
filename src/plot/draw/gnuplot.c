/* A child process with three files in memory: its script, its picture, its messages. */
#include "plot/draw/gnuplot.h"

#include "base/clock.h"
#include "base/display.h"
#include "io/file.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LIMIT_SECONDS = 120, LOOK_NS = 5000000, MESSAGE_BYTES = 600, PIECE = 1 << 16 };

static const char program[] = "gnuplot";

/* gnuplot's words are for people, in one language, and its numbers have points. */
static const char *const settings[] = {"LC_ALL=C.UTF-8", "GNUTERM=dumb", NULL};

enum { SCRIPT, PICTURE, MESSAGES, FILES };

static int gnuplot_is_set(const char *entry)
{
    size_t length = strcspn(entry, "=");
    return (length == 6 && strncmp(entry, "LC_ALL", 6) == 0) ||
           (length == 7 && strncmp(entry, "GNUTERM", 7) == 0);
}

static status_t gnuplot_environment(char ***out)
{
    status_t st = STATUS_OK;
    size_t count = 0;
    size_t kept = 0;
    while (environ[count]) {
        count++;
    }
    char **made = calloc(count + sizeof settings / sizeof *settings, sizeof *made);
    REQUIRE(made, STATUS_DEVICE, "out of memory: an environment");
    for (size_t i = 0; i < count; i++) {
        if (!gnuplot_is_set(environ[i])) {
            made[kept++] = environ[i];
        }
    }
    for (size_t i = 0; settings[i]; i++) {
        made[kept++] = (char *)(uintptr_t)settings[i];
    }
    *out = made;
out:
    return st;
}

static status_t gnuplot_is_missing(void)
{
    return report_fail(STATUS_DEVICE,
                       "gnuplot is not installed, which draws the pictures (Debian, Ubuntu: "
                       "apt-get install gnuplot-nox; RHEL, Fedora: gnuplot-minimal)");
}

status_t gnuplot_check(void)
{
    const char *path = getenv("PATH");
    char name[4096];
    while (path && *path) {
        size_t length = strcspn(path, ":");
        snprintf(name, sizeof name, "%.*s%s%s", (int)length, path, length ? "/" : "", program);
        if (access(name, X_OK) == 0) {
            return STATUS_OK;
        }
        path += length + (path[length] == ':');
    }
    return gnuplot_is_missing();
}

/* Signals are as any program finds them. Gives a number of errno.h. */
static int gnuplot_spawn(const int files[FILES], char **environment, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t plain;
    char name[] = "gnuplot";
    char option[] = "-d";
    char *const arguments[] = {name, option, NULL};
    sigemptyset(&none);
    sigfillset(&plain);
    sigdelset(&plain, SIGKILL);
    sigdelset(&plain, SIGSTOP);
    int error = posix_spawn_file_actions_init(&actions);
    if (error) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        for (int i = 0; i < FILES && !error; i++) {
            error = posix_spawn_file_actions_adddup2(&actions, files[i], i);
        }
        error = error ? error : posix_spawnattr_setsigmask(&attributes, &none);
        error = error ? error : posix_spawnattr_setsigdefault(&attributes, &plain);
        error = error ? error
                      : posix_spawnattr_setflags(&attributes,
                                                 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        error = error ? error
                      : posix_spawnp(out, program, &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Gives the status of waitpid(), or -1 when it took too long. */
static int gnuplot_wait(pid_t child)
{
    const struct timespec pause = {0, LOOK_NS};
    double begun = clock_now();
    int status = 0;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) {
            return status;
        }
        if ((ended < 0 && errno != EINTR) || clock_now() - begun > LIMIT_SECONDS) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
}

static status_t gnuplot_read(int fd, struct text *out)
{
    status_t st = STATUS_OK;
    struct stat info;
    char piece[PIECE];
    REQUIRE(fstat(fd, &info) == 0, STATUS_DEVICE, "a picture cannot be read: %s", strerror(errno));
    for (off_t at = 0; at < info.st_size;) {
        ssize_t got = pread(fd, piece, sizeof piece, at);
        REQUIRE(got > 0, STATUS_DEVICE, "a picture cannot be read: %s", strerror(errno));
        TRY(text_add_bytes(out, piece, (size_t)got));
        at += got;
    }
out:
    return st;
}

/* Its last words without the empty lines: they say what is wrong. */
static const char *gnuplot_words(const struct text *said, char out[MESSAGE_BYTES])
{
    size_t length = 0;
    const char *at = said->data ? said->data : "";
    out[0] = '\0';
    while (*at && length + 2 < MESSAGE_BYTES) {
        size_t line = strcspn(at, "\n");
        size_t blank = strspn(at, " \t^");
        if (blank < line) {
            snprintf(out + length, MESSAGE_BYTES - length, "%s%.*s", length ? "; " : "",
                     (int)(line - blank), at + blank);
            length = strlen(out);
        }
        at += line + (at[line] == '\n');
    }
    return out;
}

static status_t gnuplot_judge(int status, const struct text *picture, const struct text *said)
{
    status_t st = STATUS_OK;
    char words[MESSAGE_BYTES];
    gnuplot_words(said, words);
    REQUIRE(status != -1, STATUS_DEVICE, "gnuplot did not end within %d seconds: killed",
            LIMIT_SECONDS);
    REQUIRE(!WIFSIGNALED(status), STATUS_DEVICE, "gnuplot was ended by signal %d (%s)%s%s",
            WTERMSIG(status), strsignal(WTERMSIG(status)), words[0] ? ": " : "", words);
    REQUIRE(WEXITSTATUS(status) == 0, STATUS_DEVICE, "gnuplot failed with exit status %d%s%s",
            WEXITSTATUS(status), words[0] ? ": " : "", words);
    REQUIRE(picture->length > 0, STATUS_DEVICE, "gnuplot drew nothing%s%s", words[0] ? ": " : "",
            words);
    if (words[0]) {
        report_note("gnuplot says: %s", words);
    }
out:
    return st;
}

status_t gnuplot_run(const struct text *script, struct text *out)
{
    static const char *const names[FILES] = {"script", "picture", "messages"};
    status_t st = STATUS_OK;
    int files[FILES] = {-1, -1, -1};
    char **environment = NULL;
    struct text picture = {0};
    struct text said = {0};
    pid_t child;
    TRY(gnuplot_environment(&environment));
    for (int i = 0; i < FILES; i++) {
        files[i] = memfd_create(names[i], MFD_CLOEXEC);
        REQUIRE(files[i] >= 0, STATUS_DEVICE, "out of memory: a file for gnuplot: %s",
                strerror(errno));
    }
    TRY(file_write(files[SCRIPT], "the script for gnuplot", 0, script->data, script->length));
    int error = gnuplot_spawn(files, environment, &child);
    TRY(error == ENOENT ? gnuplot_is_missing() : STATUS_OK);
    REQUIRE(error == 0, STATUS_DEVICE, "gnuplot cannot be started: %s", strerror(error));
    int status = gnuplot_wait(child);
    TRY(gnuplot_read(files[PICTURE], &picture));
    TRY(gnuplot_read(files[MESSAGES], &said));
    TRY(gnuplot_judge(status, &picture, &said));
    TRY(text_add_bytes(out, picture.data, picture.length));
out:
    for (int i = 0; i < FILES; i++) {
        file_close(files[i]);
    }
    text_free(&picture);
    text_free(&said);
    free(environment);
    return st;
}

/* Between single quotes nothing means anything but the quote itself, which is doubled: between
 * double ones, what stands between backticks would be run. A line end is a string of its own, so
 * that the script's line goes on. */
status_t gnuplot_quote(struct text *script, const char *text)
{
    status_t st = STATUS_OK;
    size_t left = strlen(text);
    TRY(text_add(script, "'"));
    while (left > 0) {
        size_t bytes = display_character(text, left);
        if (*text == '\n') {
            TRY(text_add(script, "'.\"\\n\".'"));
        } else if (bytes == 0) {
            TRY(text_add(script, "\\x%02x", (unsigned)(unsigned char)*text));
        } else {
            TRY(text_add(script, "%s%.*s", *text == '\'' ? "'" : "", (int)bytes, text));
        }
        bytes = bytes ? bytes : 1;
        text += bytes;
        left -= bytes;
    }
    TRY(text_add(script, "'"));
out:
    return st;
}
