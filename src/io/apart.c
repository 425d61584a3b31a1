/* The child first: it begins as this program anew or as a copy of this process, and serves its
 * parent. Then the parent's side. Messages between them: a header, then as many bytes as it says.
 */
#include "io/apart.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/again.h"
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* To the child: the kind of description that the request is for. */
struct apart_question {
    uint64_t bytes;
    char what[32];
};

/* To the parent. Kinds below these are the statuses of failures: then the bytes are the cause. */
enum { APART_ANSWER = 'a', APART_OUTPUT = 'o', APART_SAYS = 'p' /* + enum report_kind */ };

struct apart_head {
    uint64_t bytes;
    char kind;
};

/* Memory that parent and child share, in which the child reports its place: no system calls. Until
 * the child serves, its descriptor is the child's standard output. */
struct apart_page {
    _Atomic uint64_t reports; /* number of them */
    char place[2048];
};

extern char **environ;

const char apart_word[] = "--apart";

/* Returns this program's own file: as it was when it began, even if it was replaced since. */
static const char *apart_own_program(void)
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

/* Starts this program anew, with the socket `fd` as its standard input, and a page. Gives a number
 * of errno.h. The output that libraries print while they die is discarded. */
static int apart_spawn(int fd, int page, pid_t *out)
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

/* Forks this process, unless it has threads. Gives what fork() gives; in the child every signal is
 * blocked. */
static pid_t apart_fork_safely(void)
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

/* Gives a forked child the state of a spawned one, except for what both do (apart_serve_parent()):
 * it communicates through ends[1] and the page, prints to `nowhere`, and closes these descriptors.
 * The arguments of the command line, one after the other, become a child's. */
static void apart_be_child(const int *ends, int page, int nowhere, pid_t parent, char *arguments,
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

/* Serves the parent at the other end of standard input, or ends at once if that is gone. */
static _Noreturn void apart_serve_parent(pid_t parent, const struct description *const *kinds,
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

_Noreturn void apart_serve(int argc, char **argv, const struct description *const *kinds,
                           size_t count)
{
    apart_serve_parent(argc == 3 ? (pid_t)strtol(argv[2], NULL, 10) : 0, kinds, count);
}

enum { PIECE_BYTES = 1 << 16, LOOK_MS = 50 };

static int is_used;
static double limit_seconds = CLOCK_STALL;
static int (*is_stopped)(void);

/* Arguments of main(). */
static char *arguments; /* one after the other */
static size_t argument_bytes;
static const struct description *const *kinds;
static size_t nkinds;

void apart_begin(char **argv, const struct description *const *all, size_t count)
{
    arguments = argv[0];
    for (argument_bytes = 0; *argv && *argv == arguments + argument_bytes; argv++) {
        argument_bytes += strlen(*argv) + 1;
    }
    kinds = all;
    nkinds = count;
    is_used = 1;
}

void apart_limit(double seconds)
{
    limit_seconds = seconds;
}

void apart_stops(int (*stopped)(void))
{
    is_stopped = stopped;
}

/* A child, at work or waiting for the next question. */
struct talk {
    pid_t child; /* 0: there is none */
    int fd;
    double looked;    /* when this process last looked at it */
    double waited;    /* seconds since it last moved, in which this process could look */
    uint64_t reports; /* of its place, when this process last looked */
    int is_answered;  /* it said the last it has to say of this question */
};

/* The one that answered last: starting a process takes longer than most questions. */
static struct talk talk = {.fd = -1};

/* Children with work of their own, and the ends that they write to: nothing is read there. */
static struct {
    pid_t child; /* 0: there is none */
    int fd;
} helpers[4];

/* The page of all children, one after the other. */
static struct apart_page *page;
static int page_fd = -1;

static void apart_end_last(void);

/* Arranges that no child outlives this process, nor stays a zombie. */
static void apart_end_with_process(void)
{
    static int is_to_end;
    if (!is_to_end) {
        is_to_end = atexit(apart_end_last) == 0;
    }
}

/* Gives 0 on success, both ends of it, and the page. */
static int apart_connect(int *ends)
{
    if (!page) {
        int fd = memfd_create("place", MFD_CLOEXEC);
        void *map = MAP_FAILED;
        if (fd >= 0 && ftruncate(fd, sizeof *page) != 0) {
            /* A limit on the size of files: each gets memory of its own, and no place is known. */
            file_close(fd);
            fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
        }
        page_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (page_fd >= 0) {
            map = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
        }
        file_close(fd);
        if (map == MAP_FAILED) {
            file_close(page_fd);
            return -1;
        }
        page = map;
    }
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

void apart_fork(void)
{
    int ends[2] = {-1, -1};
    pid_t parent = getpid();
    if (!is_used || talk.child > 0 || apart_connect(ends) != 0) {
        return;
    }
    /* Opened behind both ends: never as standard input. */
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t child = nowhere < 0 ? -1 : apart_fork_safely();
    if (child == 0) {
        is_used = 0;
        apart_be_child(ends, page_fd, nowhere, parent, arguments, argument_bytes);
        apart_serve_parent(parent, kinds, nkinds);
    }
    file_close(nowhere);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return;
    }
    apart_end_with_process();
    talk.child = child;
    talk.fd = ends[0];
    talk.is_answered = 1;
}

static status_t apart_spawn_child(pid_t *child, int *fd)
{
    status_t st = STATUS_OK;
    int ends[2] = {-1, -1};
    REQUIRE_OUT(apart_connect(ends) == 0, STATUS_DEVICE,
                "files cannot be looked at by a process of its own: %s", strerror(errno));
    int error = apart_spawn(ends[1], page_fd, child);
    *child = error ? 0 : *child;
    REQUIRE_OUT(error == 0, STATUS_DEVICE,
                "files cannot be looked at by a process of its own: %s: %s", apart_own_program(),
                strerror(error));
    *fd = file_move(&ends[0]);
out:
    for (int i = 0; i < 2; i++) {
        file_close(ends[i]);
    }
    return st;
}

/* Adds up the child's time since it last reported a place. While a job is suspended, neither
 * process runs: an interval longer than `most` counts as `most`. */
static void apart_count_wait(void)
{
    const double most = 1;
    double now = clock_now();
    uint64_t reports = page->reports;
    talk.waited = reports != talk.reports ? 0 : talk.waited;
    talk.waited += now - talk.looked < most ? now - talk.looked : most;
    talk.looked = now;
    talk.reports = reports;
}

/* Returns the last object that the child reported. */
static const char *apart_place(void)
{
    page->place[sizeof page->place - 1] = '\0'; /* it may have crashed */
    return page->place[0] ? page->place : "a process that opens files";
}

int apart_was_late(void)
{
    return limit_seconds > 0 && talk.waited >= limit_seconds;
}

/* Waits until the child listens or speaks, but neither longer than it may take nor when told to
 * stop. */
static status_t apart_wait_for(short event)
{
    for (;;) {
        struct pollfd it = {.fd = talk.fd, .events = event};
        if (poll(&it, 1, LOOK_MS) > 0) {
            return STATUS_OK;
        }
        apart_count_wait();
        REQUIRE(!is_stopped || !is_stopped(), STATUS_STOPPED,
                "nothing was begun yet; the same command begins");
        REQUIRE(!apart_was_late(), STATUS_DATA,
                "%s: HDF5 did not come back from there in %.4g s: is the file damaged, or does its "
                "file system hang?",
                apart_place(), limit_seconds);
    }
}

/* A child that has died does not read: its last message gives the reason. */
static status_t apart_say(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        TRY(apart_wait_for(POLLOUT));
        ssize_t sent = send(talk.fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN) {
            return STATUS_OK;
        }
        at += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return STATUS_OK;
}

/* Reads fewer bytes than requested if the child has ended. */
static status_t apart_hear(void *data, size_t bytes, size_t *heard)
{
    *heard = 0;
    while (*heard < bytes) {
        TRY(apart_wait_for(POLLIN));
        ssize_t count = recv(talk.fd, (char *)data + *heard, bytes - *heard, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
            return STATUS_OK;
        }
        *heard += count > 0 ? (size_t)count : 0;
        talk.looked = clock_now();
        talk.waited = 0;
    }
    return STATUS_OK;
}

static status_t apart_hear_text(uint64_t bytes, struct text *out)
{
    char piece[PIECE_BYTES];
    while (bytes > 0) {
        size_t wanted = bytes < sizeof piece ? (size_t)bytes : sizeof piece;
        size_t heard = 0;
        TRY(apart_hear(piece, wanted, &heard));
        TRY(text_add_bytes(out, piece, heard));
        if (heard < wanted) {
            return STATUS_OK;
        }
        bytes -= heard;
    }
    return STATUS_OK;
}

/* Handles a message of the child beside its answer. */
static status_t apart_take(char kind, const char *words)
{
    if (kind == APART_OUTPUT) {
        fputs(words, stdout);
    } else if (kind >= APART_SAYS) {
        report_say((enum report_kind)(kind - APART_SAYS), "%s", words);
    } else {
        talk.is_answered = 1;
        return report_fail((status_t)kind, "%s", words);
    }
    return STATUS_OK;
}

/* Listens until the child has answered or has ended. */
static status_t apart_listen_to(struct text *answer)
{
    SCOPED(text_free) struct text words = {0};
    while (!talk.is_answered) {
        struct apart_head head;
        size_t heard = 0;
        TRY(apart_hear(&head, sizeof head, &heard));
        if (heard < sizeof head) {
            return STATUS_OK;
        }
        struct text *to = head.kind == APART_ANSWER ? answer : &words;
        size_t before = to->length;
        TRY(apart_hear_text(head.bytes, to));
        if (to->length - before < head.bytes) {
            return STATUS_OK;
        }
        if (head.kind == APART_ANSWER) {
            talk.is_answered = 1;
        } else {
            TRY(apart_take(head.kind, words.data ? words.data : ""));
        }
        text_free(&words);
    }
    return STATUS_OK;
}

/* Waits for its end; a process that hangs in a file system cannot even be killed, and stays behind.
 * Gives what waitpid() gave last: 0 when it is still there. */
static pid_t apart_await_end(pid_t child, int *status)
{
    const double most = 2;
    const struct timespec nap = {.tv_nsec = 200000};
    double began = clock_now();
    for (;;) {
        pid_t ended = waitpid(child, status, WNOHANG);
        if (ended > 0 || (ended < 0 && errno != EINTR) || clock_now() - began > most) {
            return ended;
        }
        nanosleep(&nap, NULL);
    }
}

/* Gives what waitpid() gave last, and the child's status. */
static pid_t apart_end_child(int is_to_die, int *status)
{
    if (is_to_die) {
        (void)kill(talk.child, SIGKILL);
    }
    close(talk.fd);
    pid_t ended = apart_await_end(talk.child, status);
    if (ended == 0) {
        (void)kill(talk.child, SIGKILL);
    }
    talk.child = 0;
    talk.fd = -1;
    return ended;
}

/* When this process ends. */
static void apart_end_last(void)
{
    int status = 0;
    if (talk.child > 0) {
        (void)apart_end_child(1, &status);
    }
}

void apart_look(void)
{
    int status = 0;
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        if (helpers[i].child > 0 && waitpid(helpers[i].child, &status, WNOHANG) != 0) {
            helpers[i].child = 0;
            close(helpers[i].fd);
        }
    }
    if (talk.child > 0 && talk.is_answered && waitpid(talk.child, &status, WNOHANG) == talk.child) {
        close(talk.fd);
        talk.child = 0;
        talk.fd = -1;
    }
}

/* Ensures a child that waits for requests; a child that has failed at one is not used again. */
static status_t apart_have_child(void)
{
    char byte;
    int is_there = talk.child > 0 && recv(talk.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
                   (errno == EAGAIN || errno == EWOULDBLOCK);
    if (!is_there) {
        apart_end_last();
        TRY(apart_spawn_child(&talk.child, &talk.fd));
    }
    apart_end_with_process();
    talk.looked = clock_now();
    talk.waited = 0;
    page->place[0] = '\0';
    talk.is_answered = 0;
    return STATUS_OK;
}

/* The child has answered and waits, or has no more to say, or is not wanted any more. */
static status_t apart_end(status_t st)
{
    int status = 0;
    const char *place = apart_place();
    if (st == STATUS_OK && talk.is_answered) {
        return st;
    }
    pid_t ended = apart_end_child(st != STATUS_OK, &status);
    if (st != STATUS_OK) {
        return st;
    }
    REQUIRE(ended != 0, STATUS_DATA,
            "%s: the process that looked at it does not end: does its file system hang?", place);
    /* A process that ignores SIGCHLD gets no exit status of its children. */
    REQUIRE(ended >= 0 && WIFSIGNALED(status), STATUS_DATA,
            "%s: the process that looked at it ended without a word (status %d): is it damaged?",
            place, ended >= 0 ? WEXITSTATUS(status) : 0);
    int number = WTERMSIG(status);
    REQUIRE(number != SIGKILL, STATUS_DATA,
            "%s: the process that looked at it was killed: for want of memory?", place);
    return report_fail(STATUS_DATA, "%s: HDF5 crashes there (%s): the file is damaged", place,
                       strsignal(number));
}

static status_t apart_pack(const struct description *kind, const struct apart_request *request,
                           struct text *out)
{
    struct apart_question *head = NULL;
    struct apart_question empty;
    memset(&empty, 0, sizeof empty); /* its padding, too */
    TRY(text_add_bytes(out, (const char *)&empty, sizeof empty));
    TRY(pack_text(out, request->path));
    TRY(pack_text(out, request->name));
    TRY(pack_u64(out, request->wants));
    TRY(text_add_bytes(out, request->more.data, request->more.length));
    head = (struct apart_question *)(void *)out->data;
    head->bytes = out->length - sizeof *head;
    snprintf(head->what, sizeof head->what, "%s", kind->what);
    return STATUS_OK;
}

/* Opens and describes a file by a child. */
static status_t apart_describe_there(const struct description *kind,
                                     const struct apart_request *request, void **out)
{
    SCOPED(text_free) struct text question = {0};
    SCOPED(text_free) struct text answer = {0};
    TRY(apart_pack(kind, request, &question));
    TRY(apart_have_child());
    const status_t st = apart_say(question.data, question.length);
    TRY(apart_end(st == STATUS_OK ? apart_listen_to(&answer) : st));
    if (answer.length > 0) {
        struct unpack in = {.data = answer.data, .length = answer.length};
        TRY(unpack_new(&in, kind->type, kind->what, out));
    }
    return STATUS_OK;
}

status_t apart_describe(const struct description *kind, const struct apart_request *request,
                        void *out)
{
    void *found = NULL;
    status_t st =
        is_used ? apart_describe_there(kind, request, &found) : kind->open(request, &found);
    if (st != STATUS_OK) {
        pack_destroy(memory_move(&found), kind->type);
    }
    memcpy(out, &found, sizeof found);
    return st;
}

status_t apart_try(const struct description *kind, const struct apart_request *request)
{
    void *nothing = NULL;
    return is_used ? apart_describe(kind, request, &nothing) : STATUS_OK;
}

void apart_begin_help(const struct description *kind, const struct apart_request *request)
{
    struct text question = {0};
    size_t i = 0;
    while (i < sizeof helpers / sizeof *helpers && helpers[i].child > 0) {
        i++;
    }
    if (is_used && i < sizeof helpers / sizeof *helpers &&
        apart_pack(kind, request, &question) == STATUS_OK &&
        apart_spawn_child(&helpers[i].child, &helpers[i].fd) == STATUS_OK) {
        (void)send(helpers[i].fd, question.data, question.length, MSG_NOSIGNAL);
        shutdown(helpers[i].fd, SHUT_WR);
    }
    text_free(&question);
    report_clear();
}
