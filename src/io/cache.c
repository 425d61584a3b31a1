/* Entries of the cache folder: found, checked, written beside their name and renamed. */
#include "io/cache.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/again.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* An entry: this head, the key, the data. Written and read on machines of one kind, or the numbers
 * do not fit together and the entry is as good as none. */
struct head {
    char magic[8];
    uint64_t key_bytes;
    uint64_t data_bytes;
    uint64_t checksum; /* of key and data */
};

static const char magic[] = "vmcache1"; /* without its NUL */

/* FNV-1a, 64 bit: Fowler, Noll, Vo. It guards against accidents, not against malice: the folder's
 * permissions do that. */
static const uint64_t fnv_start = UINT64_C(0xcbf29ce484222325);

static uint64_t cache_fnv(uint64_t hash, const void *data, size_t size)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ byte[i]) * prime;
    }
    return hash;
}

uint64_t cache_hash(const void *data, size_t size)
{
    return cache_fnv(fnv_start, data, size);
}

static int cache_is_set(const char *value)
{
    return value && value[0] != '\0';
}

/* Returns the folder's name, for free(); NULL: there is none. */
static char *cache_folder_name(void)
{
    char *out = NULL;
    const char *own = getenv("VOLTMILL_CACHE");
    const char *shared = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (cache_is_set(own)) {
        return strcmp(own, "off") == 0 ? NULL : strdup(own);
    }
    /* The XDG specification has relative names ignored. */
    if (cache_is_set(shared) && shared[0] == '/') {
        return asprintf(&out, "%s/voltmill", shared) < 0 ? NULL : out;
    }
    if (cache_is_set(home)) {
        return asprintf(&out, "%s/.cache/voltmill", home) < 0 ? NULL : out;
    }
    return NULL;
}

/* Returns the entry's name in the folder, for free(); NULL: no memory. */
static char *cache_entry_name(const char *kind, const char *key)
{
    char *out = NULL;
    uint64_t hash = cache_fnv(fnv_start, key, strlen(key));
    return asprintf(&out, "%s-%016" PRIx64, kind, hash) < 0 ? NULL : out;
}

/* Makes the folder and those above it, each the user's own. */
static void cache_make_folder(char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        return;
    }
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    }
    (void)mkdir(path, 0700);
}

/* Warns, once, that a folder or an entry is ignored because others may have changed it. Entries are
 * used unchecked, including kernels of processors. */
static void cache_say_refused(const char *what, const char *path, const char *why)
{
    static atomic_int is_said; /* threads compile kernels, and open devices beside the main one */
    if (!atomic_exchange(&is_said, 1)) {
        report_warn("%s: %s %s", what, path, why);
    }
}

/* Bytes of the text that gives the reason: "can be written by others (mode 0777): chmod go-w mends
 * it". */
enum { OWNER_WORDS = 128, OTHERS = S_IWGRP | S_IWOTH };

static int owner_is_alone_mine(const struct stat *info, char why[OWNER_WORDS])
{
    if (info->st_uid != geteuid()) {
        snprintf(why, OWNER_WORDS, "belongs to another user (%lu)", (unsigned long)info->st_uid);
        return 0;
    }
    if (info->st_mode & OTHERS) {
        snprintf(why, OWNER_WORDS, "can be written by others (mode %04o): chmod go-w mends it",
                 (unsigned)info->st_mode & 07777);
        return 0;
    }
    return 1;
}

/* Return whether an ordinary file (or a link, device: never) is the effective user's, and no other
 * user may write it; and the same of an open file or folder. */
static int owner_is_entry_mine(const struct stat *info, char why[OWNER_WORDS])
{
    if (!S_ISREG(info->st_mode)) {
        snprintf(why, OWNER_WORDS, "is %s, no ordinary file",
                 S_ISLNK(info->st_mode) ? "a link" : "something else");
        return 0;
    }
    return owner_is_alone_mine(info, why);
}

static int owner_is_mine(int fd, char why[OWNER_WORDS])
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        snprintf(why, OWNER_WORDS, "cannot be looked at: %s", strerror(errno));
        return 0;
    }
    return owner_is_alone_mine(&info, why);
}

/* Returns whether the path to a file is safe: no folder above it lets other users replace an entry,
 * and its name is no link of another user. */
static int owner_is_path_mine(const char *path, char why[OWNER_WORDS])
{
    struct stat info;
    int is_safe = 1;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && info.st_uid != geteuid() &&
        info.st_uid != 0) {
        snprintf(why, OWNER_WORDS, "is a link of another user (%lu)", (unsigned long)info.st_uid);
        return 0;
    }
    char *way = realpath(path, NULL);
    char *end = way ? strrchr(way, '/') : NULL;
    while (is_safe && end) {
        end[end == way] = '\0'; /* "/" stays */
        /* Unless anybody may replace what is in the folder. */
        is_safe = stat(way, &info) == 0 && (!(info.st_mode & S_IWOTH) || info.st_mode & S_ISVTX);
        end = end == way ? NULL : strrchr(way, '/');
    }
    if (!is_safe) {
        snprintf(why, OWNER_WORDS, "is in a folder in which other users may replace it (%.64s)",
                 way);
    }
    free(way);
    return is_safe;
}

/* Opens the folder; -1 if there is none or others may write it. The owner of a folder above it can
 * replace it, but only by one that is the user's alone, too. */
static int cache_open_folder(int make, char **name)
{
    char why[OWNER_WORDS];
    *name = cache_folder_name();
    if (*name && make) {
        cache_make_folder(*name);
    }
    int fd = *name ? open(*name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0 && (!owner_is_path_mine(*name, why) || !owner_is_mine(fd, why))) {
        cache_say_refused("there is no cache", *name, why);
        file_close(file_move(&fd));
    }
    return fd;
}

static int cache_open_entry(int folder, const char *folder_path, const char *name)
{
    char why[OWNER_WORDS];
    /* Without O_NONBLOCK, a pipe at this name would block. */
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && !owner_is_mine(fd, why)) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", folder_path, name) >= 0) {
            cache_say_refused("not taken from the cache", path, why);
            free(path);
        }
        file_close(file_move(&fd));
    }
    return fd;
}

/* Reads key and data of an open entry after its head; *out stays NULL when they are not what was
 * written for this key. */
static status_t cache_read_entry(int fd, const char *key, void **out, size_t *size)
{
    struct head head;
    struct stat info;
    SCOPED(free_at) char *block = NULL;
    size_t key_bytes = strlen(key);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !again_read(fd, &head, sizeof head) ||
        memcmp(head.magic, magic, sizeof head.magic) != 0 || head.key_bytes != key_bytes) {
        return STATUS_OK;
    }
    uint64_t rest = (uint64_t)info.st_size - sizeof head;
    if (rest < key_bytes || head.data_bytes != rest - key_bytes) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)rest, 1, "an entry of the cache", &block));
    if (again_read(fd, block, (size_t)rest) && memcmp(block, key, key_bytes) == 0 &&
        cache_fnv(fnv_start, block, (size_t)rest) == head.checksum) {
        *size = (size_t)head.data_bytes;
        memmove(block, block + key_bytes, *size);
        *out = memory_move(&block);
    }
    return STATUS_OK;
}

status_t cache_get(const char *kind, const char *key, void **out, size_t *size)
{
    SCOPED(free_at) char *path = NULL;
    SCOPED(file_close_at) int folder = cache_open_folder(0, &path);
    SCOPED(free_at) char *name = folder >= 0 ? cache_entry_name(kind, key) : NULL;
    SCOPED(file_close_at) int fd = name ? cache_open_entry(folder, path, name) : -1;
    *out = NULL;
    *size = 0;
    return fd >= 0 ? cache_read_entry(fd, key, out, size) : STATUS_OK;
}

/* A new file beside `name`, with a name of its own, *part for free(); -1 when there can be none. */
static int cache_make_part(int folder, const char *name, char **part)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(part, "%s.%ld.%d", name, (long)getpid(), i) < 0) {
            *part = NULL;
            return -1;
        }
        int fd = openat(folder, *part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        free(memory_move(part));
    }
    return -1;
}

/* Writes the entry beside and gives it its name, in the place of whatever has it. */
static int cache_write_entry(int folder, const char *name, const char *key, const void *data,
                             size_t size)
{
    char *part = NULL;
    int done = 0;
    int fd = cache_make_part(folder, name, &part);
    if (fd >= 0) {
        size_t key_bytes = strlen(key);
        struct head head = {.key_bytes = key_bytes, .data_bytes = size};
        memcpy(head.magic, magic, sizeof head.magic);
        head.checksum = cache_fnv(cache_fnv(fnv_start, key, key_bytes), data, size);
        done = again_write(fd, &head, sizeof head) && again_write(fd, key, key_bytes) &&
               again_write(fd, data, size);
        done = close(fd) == 0 && done;
        done = done && renameat(folder, part, folder, name) == 0;
        if (!done) {
            (void)unlinkat(folder, part, 0);
        }
    }
    free(part);
    return done;
}

int cache_put(const char *kind, const char *key, const void *data, size_t size)
{
    int done = 0;
    char *path = NULL;
    int folder = cache_open_folder(1, &path);
    if (folder >= 0) {
        char *name = cache_entry_name(kind, key);
        done = name && cache_write_entry(folder, name, key, data, size);
        free(name);
        close(folder);
    }
    free(path);
    return done;
}

/* One file for all entries: a lock is one byte of it, far beyond its end. */
int cache_lock(const char *kind, const char *key, double seconds)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    const double until = clock_now() + seconds;
    char *path = NULL;
    int folder = cache_open_folder(1, &path);
    int fd = folder < 0 ? -1
                        : openat(folder, ".lock",
                                 O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    uint64_t place = cache_fnv(cache_hash(kind, strlen(kind)), key, strlen(key));
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(place >> 2), .l_len = 1};
    while (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || clock_now() > until) {
            file_close(file_move(&fd));
        } else {
            nanosleep(&nap, NULL);
        }
    }
    file_close(folder);
    free(path);
    return fd;
}

char *cache_path(const char *name)
{
    char why[OWNER_WORDS] = "";
    char *out = NULL;
    char *path = NULL;
    struct stat info;
    int folder = cache_open_folder(1, &path);
    if (folder >= 0 && asprintf(&out, "%s/%s", path, name) < 0) {
        out = NULL;
    }
    if (out && name[0] != '\0' && fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        !owner_is_entry_mine(&info, why)) {
        cache_say_refused("not taken from the cache", out, why);
        free(memory_move(&out));
    }
    file_close(folder);
    free(path);
    return out;
}
