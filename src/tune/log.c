/* Lines of the log: read once when it is opened, added whole. */
#include "tune/log.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "io/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LOG = 1 << 28 };

static const char *const state_names[] = {"untried", "ok", "wrong", "failed"};
static const char head[] = "problem,round,how,ms,spent_s,model_ms,result\n";

struct tune_log {
    char *path;
    int fd;
    struct text text; /* what was in it: the entries' texts point there */
    struct tune_entry *entries;
    uint32_t count;
};

static int log_compare_entries(const void *left, const void *right)
{
    const struct tune_entry *a = left;
    const struct tune_entry *b = right;
    int order = strcmp(a->problem, b->problem);
    order = order ? order : strcmp(a->words, b->words);
    return order ? order : (a->round > b->round) - (a->round < b->round);
}

/* Cuts a line into its fields; 0 when it is none. The last field is a whole word, so a line
 * that was cut short cannot pass. */
static int log_read_line(char *line, struct tune_entry *out)
{
    enum { FIELDS = 7 };
    char *fields[FIELDS];
    char *rest = line;
    uint64_t round = 0;
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strsep(&rest, ",");
        if (!fields[i]) {
            return 0;
        }
    }
    out->problem = fields[0];
    out->words = fields[2];
    const int state = text_place("ok|wrong|failed", fields[6], strlen(fields[6]));
    int good = !rest && units_parse_u64(fields[1], &round) && round < 1000 &&
               units_parse_f64(fields[3], &out->seconds) &&
               units_parse_f64(fields[4], &out->spent) && units_parse_f64(fields[5], &out->cost) &&
               out->seconds >= 0 && out->spent >= 0 && out->cost >= 0 && state >= 0;
    out->state = good ? (enum tune_state)(TUNE_OK + state) : TUNE_UNTRIED;
    out->round = good ? (uint32_t)round : 0;
    out->seconds *= 1e-3;
    out->cost *= 1e-3;
    return good;
}

static status_t log_read_entries(tune_log_t *log)
{
    uint32_t lines = 0;
    uint32_t bad = 0;
    char *rest = log->text.data;
    for (size_t i = 0; i < log->text.length; i++) {
        lines += log->text.data[i] == '\n';
    }
    TRY(memory_zeroed((size_t)lines + 1, sizeof *log->entries, "a log", &log->entries));
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        int is_head = strncmp(line, head, sizeof head - 2) == 0;
        if (*line == '\0' || is_head) {
            continue;
        }
        if (log_read_line(line, &log->entries[log->count])) {
            log->count++;
        } else {
            bad++;
        }
    }
    if (bad > 0) {
        report_warn("%s: %u %s or not of such a log: skipped", log->path, bad,
                    units_plural(bad, "line is cut short", "lines are cut short"));
    }
    qsort(log->entries, log->count, sizeof *log->entries, log_compare_entries);
    return STATUS_OK;
}

static status_t log_append(const tune_log_t *log, const char *bytes, size_t size)
{
    ssize_t done = write(log->fd, bytes, size);
    int reason = done < 0 ? errno : ENOSPC;
    return REQUIRED(done == (ssize_t)size, reason_write_status(reason), "%s: cannot be written: %s",
                    log->path, strerror(reason));
}

/* A last line without an end gets one, so that nothing sticks to it. */
static status_t log_begin(const tune_log_t *log)
{
    const struct text *text = &log->text;
    return text->length == 0                      ? log_append(log, head, sizeof head - 1)
           : text->data[text->length - 1] != '\n' ? log_append(log, "\n", 1)
                                                  : STATUS_OK;
}

status_t tune_log_open(const char *path, tune_log_t **out)
{
    SCOPED(tune_log_close_at) tune_log_t *log = NULL;
    struct stat info;
    TRY(memory_zeroed(1, sizeof *log, "a log", &log));
    log->fd = -1;
    if (path) {
        TRY(memory_text(path, &log->path));
        log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
        REQUIRE(log->fd >= 0, reason_write_status(errno), "%s: cannot be written: %s", path,
                strerror(errno));
        REQUIRE(fstat(log->fd, &info) == 0 && S_ISREG(info.st_mode), STATUS_DATA,
                "%s: is no ordinary file", path);
        TRY(text_read_file(&log->text, path, MOST_LOG, "a log of tuning"));
        REQUIRE(log->text.length == 0 ||
                    strncmp(log->text.data, head, min_u64(log->text.length, sizeof head - 1)) == 0,
                STATUS_USAGE, "%s is there, and no log of tuning", path);
        size_t nul = text_line_of_nul(log->text.data, log->text.length);
        REQUIRE(nul == 0, STATUS_USAGE, "%s:%zu: contains a NUL byte, expected a log of tuning",
                path, nul);
        TRY(log_begin(log));
        TRY(log_read_entries(log));
    }
    *out = memory_move(&log);
    return STATUS_OK;
}

void tune_log_close(tune_log_t *log)
{
    if (!log) {
        return;
    }
    if (log->fd >= 0) {
        close(log->fd);
    }
    text_free(&log->text);
    MEMORY_FREE(log->entries, log->path, log);
}

const struct tune_entry *tune_log_find(const tune_log_t *log, const char *problem,
                                       const char *words, uint32_t round)
{
    struct tune_entry wanted = {.problem = problem, .words = words, .round = round};
    return log->count > 0
               ? bsearch(&wanted, log->entries, log->count, sizeof wanted, log_compare_entries)
               : NULL;
}

status_t tune_log_add(tune_log_t *log, const struct tune_entry *entry)
{
    SCOPED(text_free) struct text line = {0};
    if (log->fd >= 0) {
        TRY(text_add(&line, "%s,%u,%s,%.6f,%.4f,%.6f,%s\n", entry->problem, entry->round,
                     entry->words, 1e3 * entry->seconds, entry->spent,
                     isfinite(entry->cost) ? 1e3 * entry->cost : 0, /* 0: unknown */
                     state_names[entry->state]));
        TRY(log_append(log, line.data, line.length));
    }
    return STATUS_OK;
}
