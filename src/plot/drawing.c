/* A child process and a socket. The child gets its task as JSON; then its lines that begin with '@'
 * are requests and results, all others are its last words:
 *
 *   @rows SET ROW ROWS FIRST_IF IFS CHAN CHANS   answered by the numbers (plot/source.h)
 *   @picture BYTES, @numbers BYTES               that many bytes follow
 *   @said TEXT, @note TEXT, @warning TEXT
 *   @fail STATUS TEXT                            the last */
#include "plot/drawing.h"

#include "io/apart.h"
#include "io/file.h"
#include "io/python.h"
#include "plot/source.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 400 };

static const char start[] = "import sys\n"
                            "sys.path.insert(0, sys.argv[1])\n"
                            "from voltmill import _program\n"
                            "_program.main()\n";

struct child {
    pid_t pid;
    FILE *in;
    int fd;            /* the same socket, to write to */
    struct text words; /* on its standard error */
};

static status_t drawing_begin(const struct drawing *d, struct child *child)
{
    const struct timeval limit = {SILENT_SECONDS, 0};
    const char *const none = NULL;
    int pair[2];
    struct stat in;
    if (d->is_served) {
        *child = (struct child){.fd = STDIN_FILENO, .in = stdin};
        REQUIRE(fstat(STDIN_FILENO, &in) == 0 && S_ISSOCK(in.st_mode), STATUS_USAGE,
                "look: --serve needs a socket as standard input: the Python module starts it");
        return STATUS_OK;
    }
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, STATUS_DEVICE,
            "a socket for Python: %s", strerror(errno));
    SCOPED(file_close_at) int theirs = pair[1];
    child->fd = pair[0];
    REQUIRE(setsockopt(child->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
                setsockopt(child->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0,
            STATUS_DEVICE, "a socket for Python: %s", strerror(errno));
    child->in = fdopen(child->fd, "r");
    REQUIRE(child->in, STATUS_DEVICE, "out of memory: a socket for Python");
    return python_begin(start, &none, (int[]){theirs, theirs, theirs}, "matplotlib", &child->pid);
}

/* A child that has ended does not take it: the loop that reads its lines finds out why. */
static void drawing_send(const struct child *child, const struct text *text)
{
    for (size_t at = 0; at < text->length;) {
        ssize_t sent = send(child->fd, text->data + at, text->length - at, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return;
        }
        at += sent > 0 ? (size_t)sent : 0;
    }
}

static status_t drawing_answer(struct child *child, struct source *source, const char *request)
{
    struct source_block b;
    SCOPED(text_free) struct text numbers = {0};
    int count =
        sscanf(request, "%15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               b.set, &b.row, &b.rows, &b.first_if, &b.ifs, &b.chan, &b.chans);
    REQUIRE(count == 7, STATUS_DEVICE, "Python asked for \"%s\"", request);
    TRY(source_read(source, &b, &numbers));
    drawing_send(child, &numbers);
    return STATUS_OK;
}

static status_t drawing_keep(struct child *child, const char *bytes, struct text *out)
{
    char piece[1 << 16];
    size_t left = strtoull(bytes, NULL, 10);
    while (left > 0) {
        size_t got = fread(piece, 1, left < sizeof piece ? left : sizeof piece, child->in);
        REQUIRE(got > 0, STATUS_DEVICE, "Python ended within a picture");
        TRY(text_add_bytes(out, piece, got));
        left -= got;
    }
    return STATUS_OK;
}

static status_t drawing_take_line(struct child *child, struct source *source, char *line,
                                  struct drawn *out)
{
    char *rest = line + strcspn(line, " ");
    size_t length = (size_t)(rest - line);
    rest += *rest == ' ';
    if (*line != '@') {
        return text_add(&child->words, "%s\n", line);
    }
    if (strncmp(line, "@rows", length) == 0) {
        return drawing_answer(child, source, rest);
    }
    if (strncmp(line, "@picture", length) == 0) {
        return drawing_keep(child, rest, &out->picture);
    }
    if (strncmp(line, "@numbers", length) == 0) {
        return drawing_keep(child, rest, &out->numbers);
    }
    if (strncmp(line, "@said", length) == 0) {
        return text_add(&out->said, "%s\n", rest);
    }
    if (strncmp(line, "@fail", length) == 0) {
        status_t st = (status_t)strtol(rest, &rest, 10);
        return report_fail(st == STATUS_USAGE || st == STATUS_DATA ? st : STATUS_DEVICE, "%s",
                           rest + (*rest == ' '));
    }
    report_say(strncmp(line, "@note", length) == 0 ? REPORT_NOTE : REPORT_WARNING, "%s", rest);
    return STATUS_OK;
}

static status_t drawing_serve(struct child *child, struct source *source, struct drawn *out)
{
    SCOPED(free_at) char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, child->in)) > 0) {
        line[length - (line[length - 1] == '\n')] = '\0';
        TRY(drawing_take_line(child, source, line, out));
    }
    return REQUIRED(!ferror(child->in) || (errno != EAGAIN && errno != EWOULDBLOCK), STATUS_DEVICE,
                    "%s said nothing for %d seconds: killed", python_program(),
                    (int)SILENT_SECONDS);
}

/* Its last line that is not empty. */
static const char *drawing_last_words(struct text *words)
{
    while (words->length > 0 && strchr(" \n", words->data[words->length - 1])) {
        words->data[--words->length] = '\0';
    }
    const char *last = words->length ? strrchr(words->data, '\n') : NULL;
    return last ? last + 1 : words->length ? words->data : "it said nothing";
}

/* Waits for the child, which is killed unless `st` is OK and its socket is at its end. */
static status_t drawing_end(struct child *child, status_t st, const struct drawn *drawn)
{
    int status = 0;
    if (child->in) {
        fclose(child->in);
    }
    if (child->pid > 0) {
        if (st != STATUS_OK) {
            kill(child->pid, SIGKILL);
        }
        while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (st == STATUS_OK && WIFSIGNALED(status)) {
        st = report_fail(STATUS_DEVICE, "%s was ended by signal %d (%s)", python_program(),
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (st == STATUS_OK && child->pid > 0 &&
               (status != 0 || drawn->picture.length + drawn->said.length == 0)) {
        st = report_fail(STATUS_DEVICE, "%s drew nothing, and ended with exit status %d: %.*s",
                         python_program(), WEXITSTATUS(status), (int)WORDS,
                         drawing_last_words(&child->words));
    }
    text_free(&child->words);
    return st;
}

static void drawing_add_choice(const struct plot_choice *choice, struct json *json)
{
    json_text(json, "kinds", choice->kinds);
    json_text(json, "pols", choice->pols);
    json_bool(json, "sum", choice->sum);
    json_bool(json, "flatten", choice->flatten);
    json_bool(json, "turn", choice->turn);
    json_u64(json, "width", choice->width);
    json_u64(json, "height", choice->height);
    if (choice->has_candidate) {
        json_u64(json, "candidate", choice->candidate);
    }
    if (choice->has_time) {
        json_doubles(json, "time", choice->time, 2);
    }
    if (choice->has_freq) {
        json_doubles(json, "freq", choice->freq, 2);
    }
    if (choice->has_dm) {
        json_doubles(json, "dm", choice->dm, 2);
    }
}

/* Describes the drawing and its files, in one JSON object. */
static status_t drawing_describe(const struct drawing *d, struct text *out, struct source **source)
{
    static const char *const of[] = {"product", "filter", "bench", "tuner", "look"};
    SCOPED(json_free) struct json json = {.depth = 0};
    json_begin(&json, NULL);
    json_text(&json, "of", of[d->of]);
    json_text(&json, "format", d->format);
    json_bool(&json, "numbers", d->has_numbers);
    json_bool(&json, "wanted", d->is_wanted);
    json_list(&json, "files");
    for (uint32_t i = 0; i < d->nfiles; i++) {
        json_text(&json, NULL, d->files[i]);
    }
    json_list_end(&json);
    drawing_add_choice(&d->choice, &json);
    TRY(source_open(d, &json, source));
    json_end(&json);
    TRY(json.text.status);
    TRY(text_add(out, "%zu\n", json.text.length));
    return text_add_bytes(out, json.text.data, json.text.length);
}

status_t drawing_make(const struct drawing *d, struct drawn *out)
{
    status_t st = STATUS_OK;
    struct child child = {.fd = -1};
    struct source *source = NULL;
    struct text description = {0};
    TRY_OUT(drawing_describe(d, &description, &source));
    TRY_OUT(drawing_begin(d, &child));
    drawing_send(&child, &description);
    TRY_OUT(drawing_serve(&child, source, out));
out:
    st = drawing_end(&child, st, out);
    source_close(source);
    text_free(&description);
    return st;
}

void drawn_free(struct drawn *drawn)
{
    text_free(&drawn->picture);
    text_free(&drawn->numbers);
    text_free(&drawn->said);
}
