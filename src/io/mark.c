/* Marks written, recognised, and replaced by what the file begins with. */
#include "io/mark.h"

#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first byte keeps it from being text; the last one names the command. */
static const char word[] = "\211VMPART";
enum { WORD = sizeof word - 1 };

static const struct {
    char letter;
    const char *command;
} marks[] = {[MARK_NONE] = {'\0', ""},
             [MARK_RUN] = {'r', "voltmill run JOB"},
             [MARK_SYNTH] = {'s', "voltmill synth SPEC"},
             [MARK_IMPORT] = {'i', "voltmill import -o FILE INPUT..."},
             [MARK_JOIN] = {'j', "voltmill join -o FILE PRODUCT PRODUCT..."},
             [MARK_EXPORT] = {'e', "voltmill export --format FORMAT PRODUCT"},
             [MARK_PLOT] = {'p', "voltmill plot PRODUCT"}};
enum { MARKS = sizeof marks / sizeof *marks };

void mark_bytes(enum mark mark, char out[MARK_BYTES])
{
    memcpy(out, word, WORD);
    out[WORD] = marks[mark].letter;
}

status_t mark_read(int fd, const char *path, enum mark *out)
{
    char start[MARK_BYTES] = "";
    struct stat info;
    *out = MARK_NONE;
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s cannot be read: %s", path, strerror(errno));
    if (S_ISREG(info.st_mode) && info.st_size >= MARK_BYTES) {
        TRY(file_read(fd, path, 0, start, sizeof start));
        for (int i = MARK_NONE + 1; i < MARKS && memcmp(start, word, WORD) == 0; i++) {
            *out = start[WORD] == marks[i].letter ? (enum mark)i : *out;
        }
    }
    return STATUS_OK;
}

status_t mark_find(const char *path, enum mark *out)
{
    /* A pipe would wait for a writer. */
    SCOPED(file_close_at) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *out = MARK_NONE;
    REQUIRE(fd >= 0 || reason_is_absent(errno) || errno == EACCES || errno == EPERM ||
                errno == ENXIO,
            reason_is_out_of(errno) ? STATUS_DEVICE : STATUS_DATA, "%s cannot be read: %s", path,
            strerror(errno));
    return fd >= 0 ? mark_read(fd, path, out) : STATUS_OK;
}

enum mark mark_of(const char *path)
{
    enum mark mark = MARK_NONE;
    if (mark_find(path, &mark) != STATUS_OK) {
        report_clear();
    }
    return mark;
}

const char *mark_command(enum mark mark)
{
    return marks[mark].command;
}

status_t mark_refuse(int fd, const char *path)
{
    enum mark mark = MARK_NONE;
    TRY(fd >= 0 ? mark_read(fd, path, &mark) : mark_find(path, &mark));
    return REQUIRED(
        mark == MARK_NONE, STATUS_DATA,
        "%s is not complete: it is being written, or was left, by `%s`; the same command again "
        "completes it",
        path, marks[mark].command);
}

const char mark_hdf5_signature[MARK_BYTES + 1] = "\211HDF\r\n\032\n";

status_t mark_begin(int fd, const char *path, enum mark mark, const char first[MARK_BYTES])
{
    char bytes[MARK_BYTES];
    mark_bytes(mark, bytes);
    TRY(file_write(fd, path, 0, mark == MARK_NONE ? first : bytes, sizeof bytes));
    return file_sync(fd, path);
}

status_t mark_hdf5(int fd, const char *path, enum mark mark)
{
    return mark_begin(fd, path, mark, mark_hdf5_signature);
}

status_t mark_put(int fd, const char *path, enum mark mark)
{
    char block[MARK_BLOCK] = "";
    mark_bytes(mark, block);
    snprintf(block + MARK_BYTES, sizeof block - MARK_BYTES, "\nnot complete: %s was writing it\n",
             marks[mark].command);
    /* Nothing is left for a moment, but never something else's begin. */
    TRY(file_cut(fd, path, 0));
    return file_write(fd, path, 0, block, sizeof block);
}

status_t mark_lift(int fd, const char *path, const char *first, uint64_t bytes)
{
    TRY(bytes < MARK_BLOCK ? file_cut(fd, path, max_u64(bytes, MARK_BYTES)) : STATUS_OK);
    TRY(file_sync(fd, path));
    TRY(file_write(fd, path, 0, first, min_u64(bytes, MARK_BLOCK)));
    TRY(bytes < MARK_BYTES ? file_cut(fd, path, bytes) : STATUS_OK);
    return file_sync(fd, path);
}
