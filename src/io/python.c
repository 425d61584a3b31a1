/* A child process: its output comes through a pipe, its messages through a file in memory. */
#include "io/python.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGUMENTS = 64, MOST_PATH = 4096, MOST_MESSAGES = 1 << 16, PIECE = 1 << 16 };

/* Ends of the pipe, and the file of messages. */
enum { READS, WRITES, MESSAGES, FILES };

static const char python_usual[] = "/usr/bin/python3";

/* The module is found by its folder alone: isolated Python reads no PYTHONPATH. */
static const char python_start[] = "import sys; sys.path.insert(0, sys.argv.pop(1)); from "
                                   "voltmill.__main__ import main; sys.exit(main(sys.argv[1:]))";

const char *python_program(void)
{
    const char *chosen = getenv("VOLTMILL_PYTHON");
    return chosen && *chosen ? chosen : python_usual;
}

/* The folder that contains the module's: PREFIX/share/voltmill/python of PREFIX/bin/voltmill,
 * python of build/release/voltmill, or the link to that which `make` puts beside the program. */
static status_t python_find_module(char out[MOST_PATH])
{
    static const char *const places[] = {"../share/voltmill/python", "../../python", "python"};
    char own[MOST_PATH / 2] = "";
    char file[MOST_PATH + 32];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash = length > 0 ? strrchr(own, '/') : NULL;
    REQUIRE(slash, STATUS_DEVICE, "the program's own folder is unknown: /proc/self/exe: %s",
            strerror(errno));
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(out, MOST_PATH, "%s/%s", own, places[i]);
        snprintf(file, sizeof file, "%s/voltmill/__main__.py", out);
        if (access(file, R_OK) == 0) {
            return STATUS_OK;
        }
    }
    return report_fail(
        STATUS_DEVICE,
        "the Python module is missing: neither %s/%s/voltmill, %s/%s/voltmill nor %s/%s/voltmill "
        "exists: `make install PREFIX=FOLDER` puts it where the program in FOLDER/bin finds it",
        own, places[0], own, places[1], own, places[2]);
}

/* Signals are those of a newly started program. Returns a number of errno.h. */
static int python_spawn(const int files[3], char *const *arguments, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t plain;
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
        for (int i = STDIN_FILENO; i <= STDERR_FILENO && !error; i++) {
            error = posix_spawn_file_actions_adddup2(&actions, files[i], i);
        }
        error = error ? error : posix_spawnattr_setsigmask(&attributes, &none);
        error = error ? error : posix_spawnattr_setsigdefault(&attributes, &plain);
        error = error ? error
                      : posix_spawnattr_setflags(&attributes,
                                                 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        error = error ? error
                      : posix_spawnp(out, arguments[0], &actions, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

status_t python_begin(const char *code, const char *const *arguments, const int files[3],
                      const char *needs, pid_t *out)
{
    char folder[MOST_PATH];
    const char *const first[] = {python_program(), "-IBc", code, folder};
    enum { FIRST = sizeof first / sizeof *first };
    const char *words[FIRST + MOST_ARGUMENTS + 1] = {NULL};
    pid_t child = 0;
    TRY(python_find_module(folder));
    memcpy(words, first, sizeof first);
    for (size_t i = 0; arguments[i] && i < MOST_ARGUMENTS; i++) {
        words[FIRST + i] = arguments[i];
    }
    int error = python_spawn(files, (char *const *)(uintptr_t)words, &child);
    REQUIRE(error != ENOENT, STATUS_DEVICE,
            "%s is not installed: it is needed, with python3-%s (Debian, Ubuntu: apt-get install "
            "python3-%s; VOLTMILL_PYTHON names another Python)",
            words[0], needs, needs);
    REQUIRE(error == 0, STATUS_DEVICE, "%s cannot be started: %s", words[0], strerror(error));
    *out = child;
    return STATUS_OK;
}

static status_t python_read(int fd, struct text *out)
{
    char piece[PIECE];
    for (ssize_t got = 1; got != 0;) {
        got = read(fd, piece, sizeof piece);
        REQUIRE(got >= 0 || errno == EINTR, STATUS_DEVICE, "Python's output cannot be read: %s",
                strerror(errno));
        TRY(got > 0 ? text_add_bytes(out, piece, (size_t)got) : STATUS_OK);
    }
    return STATUS_OK;
}

/* The next line that is not blank, without its newline and the word that says what it is; NULL:
 * there is no other. */
static char *python_line(char **at)
{
    static const char *const words[] = {"error: ", "note: "};
    char *line = NULL;
    while (**at && !line) {
        size_t length = strcspn(*at, "\n");
        line = strspn(*at, " \t\n") < length ? *at : NULL;
        *at += length;
        if (**at) {
            *(*at)++ = '\0';
        }
    }
    for (size_t i = 0; line && i < sizeof words / sizeof *words; i++) {
        line += strncmp(line, words[i], strlen(words[i])) == 0 ? strlen(words[i]) : 0;
    }
    return line;
}

static status_t python_judge(const char *command, int status, char *said)
{
    static const char missing[] = "ModuleNotFoundError: No module named '";
    const char *last = "it says nothing";
    REQUIRE(!WIFSIGNALED(status), STATUS_DEVICE, "%s was ended by signal %d (%s)", python_program(),
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    for (char *line; (line = python_line(&said)) != NULL; last = line) {
        if (WEXITSTATUS(status) == 0) {
            report_note("%s", line);
        }
    }
    switch (WEXITSTATUS(status)) {
    case STATUS_OK:
        break;
    case STATUS_USAGE:
    case STATUS_NO_SPACE:
    case STATUS_DATA:
    case STATUS_DEVICE:
        return report_fail((status_t)WEXITSTATUS(status), "%s", last);
    default: /* an uncaught exception */
        REQUIRE(strncmp(last, missing, sizeof missing - 1) == 0, STATUS_DEVICE, "%s failed: %s",
                python_program(), last);
        const char *name = last + sizeof missing - 1;
        return report_fail(STATUS_DEVICE,
                           "%s has no %.*s, which %s needs (Debian, Ubuntu: apt-get install "
                           "python3-%.*s; VOLTMILL_PYTHON names another Python)",
                           python_program(), (int)strcspn(name, ".'"), name, command,
                           (int)strcspn(name, ".'"), name);
    }
    return STATUS_OK;
}

status_t python_run(const char *command, const char *const *arguments, struct text *out)
{
    status_t st = STATUS_OK;
    int files[FILES] = {-1, -1, -1};
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const char *words[MOST_ARGUMENTS + 1] = {command};
    char said[MOST_MESSAGES] = "";
    pid_t child = -1;
    int status = 0;
    for (size_t i = 0; arguments[i] && i + 1 < MOST_ARGUMENTS; i++) {
        words[i + 1] = arguments[i];
    }
    files[MESSAGES] = memfd_create("messages", MFD_CLOEXEC);
    REQUIRE_OUT(empty >= 0 && files[MESSAGES] >= 0 && pipe2(files, O_CLOEXEC) == 0, STATUS_DEVICE,
                "out of memory: files for Python: %s", strerror(errno));
    TRY_OUT(python_begin(python_start, words, (int[]){empty, files[WRITES], files[MESSAGES]},
                         "h5py", &child));
    file_close(file_move(&files[WRITES]));
    TRY_OUT(python_read(files[READS], out));
out:
    file_close(files[READS]); /* a child that still writes ends */
    file_close(files[WRITES]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (st == STATUS_OK) {
        ssize_t length = pread(files[MESSAGES], said, sizeof said - 1, 0);
        said[length > 0 ? length : 0] = '\0';
        st = python_judge(command, status, said);
    }
    file_close(files[MESSAGES]);
    file_close(empty);
    return st;
}
