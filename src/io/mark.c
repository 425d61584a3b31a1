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

enum mark mark_of(const char *path)
{
    char start[MARK_BYTES] = "";
    struct stat info;
    /* A pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is_file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    ssize_t count = is_file ? pread(fd, start, sizeof start, 0) : 0;
    file_close(fd);
    if (count == MARK_BYTES && memcmp(start, word, WORD) == 0) {
        for (int i = MARK_NONE + 1; i < MARKS; i++) {
            if (start[WORD] == marks[i].letter) {
                return (enum mark)i;
            }
        }
    }
    return MARK_NONE;
}

const char *mark_command(enum mark mark)
{
    return marks[mark].command;
}

status_t mark_refuse(const char *path)
{
    status_t st = STATUS_OK;
    enum mark mark = mark_of(path);
    REQUIRE(mark == MARK_NONE, STATUS_DATA,
            "%s is not complete: it is being written, or was left, by `%s`; the same command again "
            "completes it",
            path, marks[mark].command);
out:
    return st;
}

const char mark_hdf5_signature[MARK_BYTES] = "\211HDF\r\n\032\n";

status_t mark_hdf5(int fd, const char *path, enum mark mark)
{
    status_t st = STATUS_OK;
    char bytes[MARK_BYTES];
    mark_bytes(mark, bytes);
    TRY(file_write(fd, path, 0, mark == MARK_NONE ? mark_hdf5_signature : bytes, sizeof bytes));
    TRY(file_sync(fd, path));
out:
    return st;
}

status_t mark_put(int fd, const char *path, enum mark mark)
{
    status_t st = STATUS_OK;
    char block[MARK_BLOCK] = "";
    mark_bytes(mark, block);
    snprintf(block + MARK_BYTES, sizeof block - MARK_BYTES, "\nnot complete: %s was writing it\n",
             marks[mark].command);
    /* Nothing is left for a moment, but never something else's begin. */
    REQUIRE(ftruncate(fd, 0) == 0, STATUS_DATA, "%s cannot be cut: %s", path, strerror(errno));
    TRY(file_write(fd, path, 0, block, sizeof block));
out:
    return st;
}

status_t mark_lift(int fd, const char *path, const char *first, uint64_t bytes)
{
    status_t st = STATUS_OK;
    REQUIRE(bytes >= MARK_BLOCK || ftruncate(fd, (off_t)max_u64(bytes, MARK_BYTES)) == 0,
            STATUS_DATA, "%s cannot be cut: %s", path, strerror(errno));
    TRY(file_sync(fd, path));
    TRY(file_write(fd, path, 0, first, min_u64(bytes, MARK_BLOCK)));
    REQUIRE(bytes >= MARK_BYTES || ftruncate(fd, (off_t)bytes) == 0, STATUS_DATA,
            "%s cannot be cut: %s", path, strerror(errno));
    TRY(file_sync(fd, path));
out:
    return st;
}
