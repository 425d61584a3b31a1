/* Records of the database: lines with checksums, the nearest ones, replacing one of them. */
#include "tune/store.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/cache.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The database's file: where it is, who may write it, and how it is replaced. For store.c alone.
 *
 * Links, owners, locks, and replacing a file while others read it. */

/* Returns the target of the link at `name`. */
static char *store_target_of(const char *name, const char *target)
{
    const char *slash = strrchr(name, '/');
    int length = slash && target[0] != '/' ? (int)(slash + 1 - name) : 0;
    char *out = NULL;
    return asprintf(&out, "%.*s%s", length, name, target) < 0 ? NULL : out;
}

/* Bytes of the text that gives the reason. */
enum { OWNER_WORDS = 128 };

static int store_is_of_others(const struct stat *info)
{
    return info->st_uid != geteuid() && info->st_uid != 0;
}

/* Returns the folder of a file, for free(); NULL: no memory. */
static char *store_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* Returns whether a file that the user names, existing or not, may be read and replaced: not
 * through a link of another user, not if all users may write it, and not if it is another user's in
 * a folder in which all users may create files. Groups may share files. */
static int store_may_use(const char *path, char why[OWNER_WORDS])
{
    struct stat info;
    struct stat above;
    SCOPED(free_at) char *folder = store_folder_of(path);
    int is_public = !folder || (stat(folder, &above) == 0 && above.st_mode & S_IWOTH);
    if (lstat(path, &info) != 0) {
        int reason = errno;
        snprintf(why, OWNER_WORDS, "cannot be looked up: %s", strerror(reason));
        return reason_is_absent(reason);
    }
    if (S_ISLNK(info.st_mode)) {
        snprintf(why, OWNER_WORDS, "is a link of another user (%lu)", (unsigned long)info.st_uid);
        return !store_is_of_others(&info);
    }
    if (S_ISREG(info.st_mode) && info.st_mode & S_IWOTH) {
        snprintf(why, OWNER_WORDS, "can be written by anybody (mode %04o): chmod o-w mends it",
                 (unsigned)info.st_mode & 07777);
        return 0;
    }
    snprintf(why, OWNER_WORDS, "belongs to another user (%lu), in a folder for all",
             (unsigned long)info.st_uid);
    return !is_public || !store_is_of_others(&info);
}

/* The file that a name leads to, through links, whether it is there or not; for free(). NULL and
 * why when there is no end of them, or when it is not to be used: store_may_use(). */
static char *store_file_behind(const char *path, char why[OWNER_WORDS])
{
    enum { MOST_LINKS = 40 };
    char *name = strdup(path);
    for (int i = 0; name && i < MOST_LINKS; i++) {
        char target[PATH_MAX];
        if (!store_may_use(name, why)) {
            free(name);
            return NULL;
        }
        ssize_t length = readlink(name, target, sizeof target - 1);
        if (length < 0) {
            return name; /* no link, or nothing there */
        }
        target[length] = '\0';
        char *next = store_target_of(name, target);
        free(name);
        name = next;
    }
    snprintf(why, OWNER_WORDS, "%s", strerror(name ? ELOOP : ENOMEM));
    free(name);
    return NULL;
}

/* Gives a file of ours the mode and the group of another one, as far as we may. */
static void store_make_alike(int fd, const struct stat *other, mode_t bits)
{
    struct stat own;
    if (fstat(fd, &own) == 0 && own.st_uid == geteuid() &&
        ((own.st_mode ^ other->st_mode) & bits || own.st_gid != other->st_gid)) {
        /* A group that we are not in stays out of it. */
        int is_shared = own.st_gid == other->st_gid || fchown(fd, (uid_t)-1, other->st_gid) == 0;
        mode_t group = is_shared ? 0 : 070;
        (void)fchmod(fd, other->st_mode & bits & ~group);
    }
}

static int store_open_lock(const char *name)
{
    struct stat info;
    char *path = NULL;
    int is_there = stat(name, &info) == 0 && S_ISREG(info.st_mode);
    if (is_there && access(name, W_OK) != 0) {
        return -1;
    }
    if (asprintf(&path, "%s.lock", name) < 0) {
        errno = ENOMEM;
        return -1;
    }
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, O_RDWR | O_CREAT | flags, 0666);
    if (fd < 0 && errno == EACCES) {
        fd = open(path, O_RDONLY | flags); /* does for a lock on most file systems */
    }
    int error = errno;
    free(path);
    if (fd >= 0 && is_there) {
        store_make_alike(fd, &info, 0666);
    }
    errno = error;
    return fd;
}

/* Locks `name`.lock, waiting for others up to ten seconds; close() gives it free. The lock has the
 * database's mode, so that all who may write the one can lock the other. -1 and errno when that
 * fails, or when the database is write-protected. */
static int store_file_lock(const char *name)
{
    enum { TRIES = 1000, PAUSE = 10000000 };
    int fd = store_open_lock(name);
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

/* A new file beside `name`, *part for free(): mkostemp() would not ask the umask. */
static int store_open_part(const char *name, mode_t mode, char **part)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(part, "%s.%ld.%d", name, (long)getpid(), i) < 0) {
            *part = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        free(memory_move(part));
    }
    errno = EBUSY;
    return -1;
}

/* Writes the whole file beside and gives it its name; mode and group of the one that was there
 * stay, a new one gets `fresh`, less what the umask takes. 0 and errno when that fails. */
static int store_file_write(const char *name, const struct text *text, mode_t fresh)
{
    char *part = NULL;
    struct stat info;
    int is_there = stat(name, &info) == 0;
    int fd = store_open_part(name, is_there ? 0600 : fresh, &part);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        errno = 0;
        int done = write(fd, text->data, text->length) == (ssize_t)text->length;
        if (done && is_there) {
            store_make_alike(fd, &info, 0777);
        }
        done = done && fsync(fd) == 0;
        error = done ? 0 : errno ? errno : ENOSPC;
        if (close(fd) != 0 && !error) {
            error = errno;
        }
        if (!error && rename(part, name) != 0) {
            error = errno;
        }
        if (error) {
            (void)unlink(part);
        }
    }
    free(part);
    errno = error;
    return error == 0;
}

enum { MOST_STORE = 1 << 26 };

static const char file_name[] = "tuned.txt";
static const char head[] = "voltmill tuned kernels 1";
static const char mark[] = "voltmill";

struct store {
    struct text text; /* the file; records' texts point there */
    struct store_record *records;
    uint32_t count, corrupt;
};

char *store_own(void)
{
    return cache_path(file_name);
}

/* Copies the path of the store, for free(); NULL: there is none. Fails with DEVICE (memory). */
static status_t store_path_of(const char *path, char **out)
{
    *out = path ? NULL : store_own();
    return path ? memory_text(path, out) : STATUS_OK;
}

static int store_read_number(const char *text, double *out)
{
    return units_parse_f64(text, out) && *out > 0;
}

static int store_read_features(char *text, double out[STORE_FEATURES])
{
    for (int i = 0; i < STORE_FEATURES; i++) {
        char *field = strsep(&text, " ");
        if (!field || !store_read_number(field, &out[i])) {
            return 0;
        }
    }
    return text == NULL;
}

/* Cuts a line, the checksum of which must be right. */
static int store_read_line(char *line, struct store_record *out)
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
    char *time = strsep(&rest, "\t");
    double milliseconds = 0;
    int good = time && features && store_read_features(features, out->key.features) &&
               store_read_number(time, &milliseconds);
    out->seconds = 1e-3 * milliseconds;
    out->searched = INFINITY;
    if (rest && strcmp(rest, "0") == 0) {
        out->searched = 0;
    } else if (rest) {
        good = good && store_read_number(rest, &out->searched);
    }
    return good;
}

static status_t store_read_records(store_t *store)
{
    uint32_t lines = 1;
    char *rest = store->text.data;
    int is_cut = store->text.length > 0 && store->text.data[store->text.length - 1] != '\n';
    for (size_t i = 0; i < store->text.length; i++) {
        lines += store->text.data[i] == '\n';
        /* An end inside of the text is damage, and must not hide what follows. */
        if (store->text.data[i] == '\0') {
            store->text.data[i] = '?';
        }
    }
    TRY(memory_zeroed(lines, sizeof *store->records, "tuned kernels", &store->records));
    char *line = strsep(&rest, "\n");
    store->corrupt = is_cut || (line && strcmp(line, head) != 0);
    for (line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (*line == '\0') {
            continue;
        }
        if (store_read_line(line, &store->records[store->count])) {
            store->count++;
        } else {
            store->corrupt++;
        }
    }
    return STATUS_OK;
}

/* Reads the file without messages. A missing or unreadable file counts as an empty one; *error is
 * the errno, 0 if it is missing. */
static status_t store_read_file(const char *path, store_t **out, int *error)
{
    SCOPED(store_close_at) store_t *store = NULL;
    struct stat info;
    TRY(memory_zeroed(1, sizeof *store, "tuned kernels", &store));
    *error = 0;
    if (stat(path, &info) != 0) {
        *error = errno == ENOENT ? 0 : errno;
    } else if (!S_ISREG(info.st_mode) || info.st_size > MOST_STORE) {
        *error = !S_ISREG(info.st_mode) ? EINVAL : EFBIG;
    } else if (access(path, R_OK) != 0) {
        *error = errno;
    } else {
        status_t st = text_read_file(&store->text, path, MOST_STORE, "tuned kernels");
        if (st != STATUS_OK) {
            /* It can go away while we look; else what it holds is not known. */
            TRY(report_forgive(st));
            *error = stat(path, &info) != 0 && errno == ENOENT ? 0 : EIO;
            text_free(&store->text);
            store->text = (struct text){0};
        }
    }
    TRY(store_read_records(store));
    *out = memory_move(&store);
    return STATUS_OK;
}

status_t store_open(const char *path, store_t **out)
{
    char why[OWNER_WORDS] = "";
    int error = 0;
    SCOPED(free_at) char *shown = NULL;
    TRY(store_path_of(path, &shown));
    SCOPED(free_at) char *name = shown ? store_file_behind(shown, why) : NULL;
    if (shown && !name) {
        report_warn("%s: cannot be read: %s; continues without tuned kernels", shown, why);
    }
    if (!name) {
        TRY(memory_zeroed(1, sizeof **out, "tuned kernels", out));
        return STATUS_OK;
    }
    TRY(store_read_file(name, out, &error));
    if (error) {
        report_warn("%s: cannot be read: %s; continues without tuned kernels", shown,
                    strerror(error));
    } else if ((*out)->corrupt > 0) {
        report_warn("%s: %u lines are corrupt and ignored; the next write rebuilds it", shown,
                    (*out)->corrupt);
    }
    return STATUS_OK;
}

void store_close(store_t *store)
{
    if (store) {
        text_free(&store->text);
        MEMORY_FREE(store->records, store);
    }
}

static int store_is_same(const struct store_key *a, const struct store_key *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->identity, b->identity) == 0 &&
           strcmp(a->problem, b->problem) == 0;
}

static double store_distance(const struct store_key *a, const struct store_key *b)
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
        record.distance = store_distance(&record.key, key);
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

int store_has(const store_t *store, const char *kernel)
{
    for (uint32_t i = 0; i < store->count; i++) {
        if (strcmp(store->records[i].key.kernel, kernel) == 0) {
            return 1;
        }
    }
    return 0;
}

static status_t store_add_line(struct text *out, const struct store_record *record)
{
    SCOPED(text_free) struct text line = {0};
    const struct store_key *key = &record->key;
    TRY(text_add(&line, "%s\t%s\t%s\t", key->kernel, key->identity, key->problem));
    for (int i = 0; i < STORE_FEATURES; i++) {
        TRY(text_add(&line, "%s%.9g", i > 0 ? " " : "", key->features[i]));
    }
    TRY(text_add(&line, "\t%s\t%.9g", record->words, 1e3 * record->seconds));
    TRY(isfinite(record->searched) ? text_add(&line, "\t%.9g", record->searched) : STATUS_OK);
    return text_add(out, "%016" PRIx64 "\t%s\n", cache_hash(line.data, line.length), line.data);
}

/* Returns whether the file is no database, not even a corrupt one. */
static int store_is_foreign(const store_t *store)
{
    size_t length = min_u64(store->text.length, sizeof mark - 1);
    return store->count == 0 && length > 0 && memcmp(store->text.data, mark, length) != 0;
}

/* Whether a record must give way to another one of its key. */
static int store_gives_way(const struct store_record *old, const struct store_record *record,
                           const char *settled)
{
    return old->seconds > record->seconds || strcmp(old->words, record->words) == 0 ||
           (settled && strcmp(old->words, settled) == 0);
}

/* The file as it is now, with the record; nothing and *error when it cannot be read, EEXIST when
 * `is_named` and it is somebody else's. */
static status_t store_compose(const char *name, const struct store_record *record,
                              const char *settled, int is_named, struct text *out, int *error)
{
    SCOPED(store_close_at) store_t *store = NULL;
    const struct store_record *kept = record;
    TRY(store_read_file(name, &store, error));
    if (!*error && is_named && store_is_foreign(store)) {
        *error = EEXIST;
    }
    if (*error) {
        return STATUS_OK;
    }
    TRY(text_add(out, "%s\n", head));
    for (uint32_t i = 0; i < store->count; i++) {
        const struct store_record *old = &store->records[i];
        if (!store_is_same(&old->key, &record->key)) {
            TRY(store_add_line(out, old));
        } else if (!store_gives_way(old, record, settled)) {
            kept = old;
        }
    }
    return store_add_line(out, kept);
}

status_t store_put(const char *path, const struct store_record *record, const char *settled)
{
    SCOPED(text_free) struct text text = {0};
    char why[OWNER_WORDS] = "";
    SCOPED(free_at) char *shown = NULL;
    TRY(store_path_of(path, &shown));
    if (!shown) {
        report_warn(
            "there is no cache folder: tuned kernels are not kept (--database FILE keeps it)");
        return STATUS_OK;
    }
    SCOPED(free_at) char *name = store_file_behind(shown, why);
    if (!name) {
        report_warn("%s: cannot be written: %s; tuned kernels are not kept", shown, why);
        return STATUS_OK;
    }
    SCOPED(file_close_at) int fd = store_file_lock(name);
    int error = fd < 0 ? errno : 0;
    TRY(error ? STATUS_OK : store_compose(name, record, settled, path != NULL, &text, &error));
    if (!error && !store_file_write(name, &text, path ? 0666 : 0600)) {
        error = errno;
    }
    if (error) {
        report_warn("%s: cannot be written: %s; tuned kernels are not kept", shown,
                    error == EEXIST ? "it is there, and no database" : strerror(error));
    }
    return STATUS_OK;
}
