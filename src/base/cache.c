#include "base/cache.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An entry: this head, the key, the data. Written and read on machines of one kind, or the numbers
 * do not fit together and the entry is as good as none. */
struct head {
    char magic[8];
    uint64_t key_bytes;
    uint64_t data_bytes;
    uint64_t checksum; /* of key and data */
};

static const char magic[8] = "vmcache1";

/* FNV-1a, 64 bit: Fowler, Noll, Vo. It guards against accidents, not against malice: the folder is
 * the user's own. */
static const uint64_t fnv_start = UINT64_C(0xcbf29ce484222325);

static uint64_t fnv(uint64_t hash, const void *data, size_t size)
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
    return fnv(fnv_start, data, size);
}

static int is_set(const char *value)
{
    return value && value[0] != '\0';
}

/* The folder's name for free(), or NULL when there is none. */
static char *folder_name(void)
{
    char *out = NULL;
    const char *own = getenv("VOLTMILL_CACHE");
    const char *shared = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (is_set(own)) {
        return strcmp(own, "off") == 0 ? NULL : strdup(own);
    }
    /* The XDG specification has relative names ignored. */
    if (is_set(shared) && shared[0] == '/') {
        return asprintf(&out, "%s/voltmill", shared) < 0 ? NULL : out;
    }
    if (is_set(home)) {
        return asprintf(&out, "%s/.cache/voltmill", home) < 0 ? NULL : out;
    }
    return NULL;
}

static char *entry_name(const char *folder, const char *kind, const char *key)
{
    char *out = NULL;
    uint64_t hash = fnv(fnv_start, key, strlen(key));
    return asprintf(&out, "%s/%s-%016" PRIx64, folder, kind, hash) < 0 ? NULL : out;
}

/* Makes the folder and those above it, each the user's own; returns 0 when it is not there then. */
static int make_folder(char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        return S_ISDIR(info.st_mode);
    }
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static int read_all(int fd, void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        ssize_t count = read(fd, at, size);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return 0;
        }
        if (count > 0) {
            at += count;
            size -= (size_t)count;
        }
    }
    return 1;
}

static int write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t count = write(fd, at, size);
        if (count < 0 && errno != EINTR) {
            return 0;
        }
        if (count > 0) {
            at += count;
            size -= (size_t)count;
        }
    }
    return 1;
}

/* Reads key and data of an open entry behind its head; *out stays NULL when they are not what was
 * written for this key. */
static status_t read_entry(int fd, const char *key, void **out, size_t *size)
{
    status_t st = STATUS_OK;
    struct head head;
    struct stat info;
    char *block = NULL;
    size_t key_bytes = strlen(key);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !read_all(fd, &head, sizeof head) ||
        memcmp(head.magic, magic, sizeof magic) != 0 || head.key_bytes != key_bytes) {
        goto out;
    }
    uint64_t rest = (uint64_t)info.st_size - sizeof head;
    if (rest < key_bytes || head.data_bytes != rest - key_bytes) {
        goto out;
    }
    TRY(memory_zeroed((size_t)rest, 1, "an entry of the cache", &block));
    if (read_all(fd, block, (size_t)rest) && memcmp(block, key, key_bytes) == 0 &&
        fnv(fnv_start, block, (size_t)rest) == head.checksum) {
        *size = (size_t)head.data_bytes;
        memmove(block, block + key_bytes, *size);
        *out = block;
        block = NULL;
    }
out:
    free(block);
    return st;
}

status_t cache_get(const char *kind, const char *key, void **out, size_t *size)
{
    status_t st = STATUS_OK;
    int fd = -1;
    char *folder = folder_name();
    char *path = folder ? entry_name(folder, kind, key) : NULL;
    *out = NULL;
    *size = 0;
    if (path) {
        /* Nobody writes a pipe here; without O_NONBLOCK one would be waited for. */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd >= 0) {
        TRY(read_entry(fd, key, out, size));
    }
out:
    if (fd >= 0) {
        close(fd);
    }
    free(path);
    free(folder);
    return st;
}

/* Writes the entry under a name of its own beside `path` and gives it that name. */
static int write_entry(const char *path, const char *key, const void *data, size_t size)
{
    char *part = NULL;
    if (asprintf(&part, "%s.XXXXXX", path) < 0) {
        return 0;
    }
    int done = 0;
    int fd = mkostemp(part, O_CLOEXEC); /* O_EXCL, mode 0600 */
    if (fd >= 0) {
        size_t key_bytes = strlen(key);
        struct head head = {.key_bytes = key_bytes, .data_bytes = size};
        memcpy(head.magic, magic, sizeof magic);
        head.checksum = fnv(fnv(fnv_start, key, key_bytes), data, size);
        done = write_all(fd, &head, sizeof head) && write_all(fd, key, key_bytes) &&
               write_all(fd, data, size);
        done = close(fd) == 0 && done;
        done = done && rename(part, path) == 0;
        if (!done) {
            (void)unlink(part);
        }
    }
    free(part);
    return done;
}

int cache_put(const char *kind, const char *key, const void *data, size_t size)
{
    int done = 0;
    char *folder = folder_name();
    if (folder && make_folder(folder)) {
        char *path = entry_name(folder, kind, key);
        done = path && write_entry(path, key, data, size);
        free(path);
    }
    free(folder);
    return done;
}

char *cache_path(const char *name)
{
    char *out = NULL;
    char *folder = folder_name();
    if (folder) {
        (void)make_folder(folder);
        out = asprintf(&out, "%s/%s", folder, name) < 0 ? NULL : out;
    }
    free(folder);
    return out;
}
