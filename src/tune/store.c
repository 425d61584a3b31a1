#include "tune/store.h"

#include "base/cache.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STORE = 1 << 26 };

static const char file_name[] = "tuned.txt";
static const char head[] = "voltmill tuned kernels 1";
static const char mark[] = "voltmill";

struct store {
    struct text text; /* the file; records' texts point there */
    struct store_record *records;
    uint32_t count, damaged;
};

/* The path for free(); NULL when there is none. */
static char *path_of(const char *path)
{
    return path ? strdup(path) : cache_path(file_name);
}

static int read_number(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out > 0;
}

static int read_features(char *text, double out[STORE_FEATURES])
{
    for (int i = 0; i < STORE_FEATURES; i++) {
        char *field = strsep(&text, " ");
        if (!field || !read_number(field, &out[i])) {
            return 0;
        }
    }
    return text == NULL;
}

/* Cuts a line, the checksum of which must be right. */
static int read_line(char *line, struct store_record *out)
{
    char *rest = line;
    char *end = NULL;
    char *checksum = strsep(&rest, "\t");
    if (!rest || strlen(checksum) != 16 ||
        strtoull(checksum, &end, 16) != cache_hash(rest, strlen(rest)) || *end != '\0') {
        return 0;
    }
    *out = (struct store_record){0};
    out->key.kernel = strsep(&rest, "\t");
    out->key.identity = strsep(&rest, "\t");
    out->key.problem = strsep(&rest, "\t");
    char *features = strsep(&rest, "\t");
    out->words = strsep(&rest, "\t");
    double milliseconds = 0;
    int good = rest && features && read_features(features, out->key.features) &&
               read_number(rest, &milliseconds);
    out->seconds = 1e-3 * milliseconds;
    return good;
}

static status_t read_records(store_t *store)
{
    status_t st = STATUS_OK;
    uint32_t lines = 1;
    char *rest = store->text.data;
    int is_torn = store->text.length > 0 && store->text.data[store->text.length - 1] != '\n';
    for (size_t i = 0; i < store->text.length; i++) {
        lines += store->text.data[i] == '\n';
        /* An end inside of the text is damage, and must not hide what follows. */
        if (store->text.data[i] == '\0') {
            store->text.data[i] = '?';
        }
    }
    TRY(memory_zeroed(lines, sizeof *store->records, "tuned kernels", &store->records));
    char *line = strsep(&rest, "\n");
    store->damaged = is_torn || (line && strcmp(line, head) != 0);
    for (line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (*line == '\0') {
            continue;
        }
        if (read_line(line, &store->records[store->count])) {
            store->count++;
        } else {
            store->damaged++;
        }
    }
out:
    return st;
}

/* Reads without a word; a file that is not there or cannot be read is an empty one, *error says
 * why. */
static status_t read_file(const char *path, store_t **out, int *error)
{
    status_t st = STATUS_OK;
    store_t *store = NULL;
    struct stat info;
    TRY(memory_zeroed(1, sizeof *store, "tuned kernels", &store));
    *error = 0;
    if (stat(path, &info) != 0) {
        *error = errno == ENOENT ? 0 : errno;
    } else if (!S_ISREG(info.st_mode) || info.st_size > MOST_STORE || access(path, R_OK) != 0) {
        *error = !S_ISREG(info.st_mode) ? EINVAL : info.st_size > MOST_STORE ? EFBIG : EACCES;
    } else if (text_read_file(&store->text, path, MOST_STORE) != STATUS_OK) {
        /* It can go away while we look. */
        report_clear();
        text_free(&store->text);
        store->text = (struct text){0};
    }
    TRY(read_records(store));
    *out = store;
    store = NULL;
out:
    store_close(store);
    return st;
}

status_t store_open(const char *path, store_t **out)
{
    status_t st = STATUS_OK;
    int error = 0;
    char *name = path_of(path);
    if (!name) {
        TRY(memory_zeroed(1, sizeof **out, "tuned kernels", out));
        goto out;
    }
    TRY(read_file(name, out, &error));
    if (error) {
        report_warn("%s: cannot be read: %s; going on as if nothing was tuned", name,
                    strerror(error));
    } else if ((*out)->damaged > 0) {
        report_warn("%s: %u lines are torn or damaged: what is good counts, the next write "
                    "rebuilds it",
                    name, (*out)->damaged);
    }
out:
    free(name);
    return st;
}

void store_close(store_t *store)
{
    if (store) {
        text_free(&store->text);
        free(store->records);
        free(store);
    }
}

static int is_same(const struct store_key *a, const struct store_key *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->identity, b->identity) == 0 &&
           strcmp(a->problem, b->problem) == 0;
}

static double distance(const struct store_key *a, const struct store_key *b)
{
    double sum = strcmp(a->problem, b->problem) == 0 ? 0 : 1e-3;
    for (int i = 0; sum > 0 && i < STORE_FEATURES; i++) {
        sum += fabs(log2(a->features[i] / b->features[i]));
    }
    return sum;
}

void store_find(const store_t *store, const struct store_key *key, struct store_record *out,
                uint32_t most, uint32_t *count)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < store->count && most > 0; i++) {
        struct store_record record = store->records[i];
        if (strcmp(record.key.kernel, key->kernel) != 0 ||
            strcmp(record.key.identity, key->identity) != 0) {
            continue;
        }
        record.distance = distance(&record.key, key);
        uint32_t at = n < most ? n++ : most;
        for (; at > 0 && record.distance < out[at - 1].distance; at--) {
            if (at < most) {
                out[at] = out[at - 1];
            }
        }
        if (at < most) {
            out[at] = record;
        }
    }
    *count = n;
}

static status_t add_line(struct text *out, const struct store_record *record)
{
    status_t st = STATUS_OK;
    struct text line = {0};
    const struct store_key *key = &record->key;
    TRY(text_add(&line, "%s\t%s\t%s\t", key->kernel, key->identity, key->problem));
    for (int i = 0; i < STORE_FEATURES; i++) {
        TRY(text_add(&line, "%s%.9g", i > 0 ? " " : "", key->features[i]));
    }
    TRY(text_add(&line, "\t%s\t%.9g", record->words, 1e3 * record->seconds));
    TRY(text_add(out, "%016" PRIx64 "\t%s\n", cache_hash(line.data, line.length), line.data));
out:
    text_free(&line);
    return st;
}

/* Locks `name`.lock, waiting for others up to ten seconds; -1 and errno when that fails. */
static int lock(const char *name)
{
    enum { TRIES = 1000, PAUSE = 10000000 };
    char *path = NULL;
    int fd = -1;
    if (asprintf(&path, "%s.lock", name) >= 0) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        free(path);
    }
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        const struct timespec pause = {0, PAUSE};
        if ((errno != EWOULDBLOCK && errno != EINTR) || i == TRIES) {
            int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return fd;
}

/* Writes the whole file beside and gives it its name; 0 and errno when that fails. */
static int write_file(const char *name, const struct text *text)
{
    char *part = NULL;
    if (asprintf(&part, "%s.XXXXXX", name) < 0) {
        errno = ENOMEM;
        return 0;
    }
    int fd = mkostemp(part, O_CLOEXEC);
    int done = 0;
    if (fd >= 0) {
        done = write(fd, text->data, text->length) == (ssize_t)text->length && fsync(fd) == 0;
        int error = errno;
        done = close(fd) == 0 && done;
        done = done && rename(part, name) == 0;
        error = done ? 0 : errno ? errno : error;
        if (!done) {
            (void)unlink(part);
            errno = error ? error : EIO;
        }
    }
    int error = errno;
    free(part);
    errno = error;
    return done;
}

/* Not a database, however torn: nothing in it is ours. */
static int is_foreign(const store_t *store)
{
    size_t length = min_u64(store->text.length, sizeof mark - 1);
    return store->count == 0 && length > 0 && memcmp(store->text.data, mark, length) != 0;
}

/* The file as it is now, with the record; nothing and *error when it cannot be read, EEXIST when
 * `is_named` and it is somebody else's. */
static status_t compose(const char *name, const struct store_record *record, int is_named,
                        struct text *out, int *error)
{
    status_t st = STATUS_OK;
    store_t *store = NULL;
    TRY(read_file(name, &store, error));
    if (!*error && is_named && is_foreign(store)) {
        *error = EEXIST;
    }
    if (*error) {
        goto out;
    }
    TRY(text_add(out, "%s\n", head));
    for (uint32_t i = 0; i < store->count; i++) {
        if (!is_same(&store->records[i].key, &record->key)) {
            TRY(add_line(out, &store->records[i]));
        }
    }
    TRY(add_line(out, record));
out:
    store_close(store);
    return st;
}

status_t store_put(const char *path, const struct store_record *record)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    int fd = -1;
    int error = 0;
    char *name = path_of(path);
    if (!name) {
        report_warn(
            "there is no cache folder: what was tuned is not kept (--database FILE keeps it)");
        goto out;
    }
    fd = lock(name);
    error = fd < 0 ? errno : 0;
    if (!error) {
        TRY(compose(name, record, path != NULL, &text, &error));
    }
    if (!error && !write_file(name, &text)) {
        error = errno;
    }
    if (error) {
        report_warn("%s: cannot be written: %s; what was tuned is not kept", name,
                    error == EEXIST ? "it is there, and no database" : strerror(error));
    }
out:
    if (fd >= 0) {
        close(fd);
    }
    free(name);
    text_free(&text);
    return st;
}
