/* Exported files until they are whole; their names; NaN among what is written. */
#include "product/export/export_file.h"

#include "base/memory.h"
#include "io/claim.h"
#include "io/file.h"
#include "io/folder/folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int export_begins_with(const char *path, const char *words, size_t skip)
{
    char start[512] = "";
    FILE *stream = fopen(path, "rb");
    size_t count = stream ? fread(start, 1, sizeof start, stream) : 0;
    if (stream) {
        fclose(stream);
    }
    size_t length = strlen(words);
    return count >= skip + length && memcmp(start + skip, words, length) == 0;
}

/* What it leaves, if it is not empty: a header of SIGPROC's, one of FITS that names us, references
 * of kerchunk, a table of candidates, a .inf. A
 * .dat is nothing but numbers, but has a .inf beside it, unfinished or whole. */
int export_file_is_ours(const char *part)
{
    static const char ending[] = ".dat.part";
    size_t length = strlen(part);
    if (export_begins_with(part, "HEADER_START", 4) ||
        export_begins_with(part, EXPORT_FITS_CREATOR, EXPORT_FITS_CREATOR_AT) ||
        export_begins_with(part, "{\n  \"version\": 1,\n  \"templates\"", 0) ||
        export_begins_with(part, CANDIDATES_CSV_HEAD, 0) ||
        export_begins_with(part, CANDIDATES_FETCH_HEAD, 0) ||
        export_begins_with(part, " Data file name", 0)) {
        return 1;
    }
    char *inf = length > strlen(ending) ? strdup(part) : NULL;
    int ours = 0;
    if (inf && strcmp(inf + length - strlen(ending), ending) == 0) {
        memcpy(inf + length - strlen(ending), ".inf.part", sizeof ending);
        ours = export_begins_with(inf, " Data file name", 0);
    }
    free(inf);
    return ours;
}

status_t export_file_check(const char *path, const struct guard *reads, int force)
{
    status_t st = STATUS_OK;
    TRY(guard_check_part(reads, "the output", path));
    TRY(file_check_new(path, force));
out:
    return st;
}

status_t export_file_put(const struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes)
{
    return file_write(file->fd, file->part, offset, data, bytes);
}

status_t export_file_begin(const char *path, int force, const struct text *head,
                           struct export_file *out)
{
    status_t st = STATUS_OK;
    struct export_file file = {.fd = -1, .force = force};
    TRY(file_check_new(path, force));
    TRY(file_part_name(path, &file.part));
    TRY(memory_text(path, &file.path));
    TRY(claim_part(file.part, force, export_file_is_ours, &file.fd, &file.made));
    REQUIRE(ftruncate(file.fd, 0) == 0, STATUS_DATA, "%s cannot be cut: %s", file.part,
            strerror(errno));
    TRY(export_file_put(&file, 0, head->data, head->length));
    *out = file;
    file = (struct export_file){.fd = -1};
out:
    export_file_end(&file);
    return st;
}

status_t export_file_lend(const struct export_into *into, const char *path, const struct text *head,
                          struct export_file *out)
{
    status_t st = STATUS_OK;
    struct export_file file = {.fd = into->fd, .is_lent = 1};
    TRY(memory_text(into->path, &file.part));
    TRY(memory_text(path, &file.path));
    REQUIRE(ftruncate(file.fd, 0) == 0, STATUS_DATA, "%s cannot be cut: %s", file.part,
            strerror(errno));
    TRY(export_file_put(&file, 0, head->data, head->length));
    *out = file;
    file = (struct export_file){.fd = -1};
out:
    export_file_end(&file);
    return st;
}

status_t export_file_reserve(const struct export_file *file, uint64_t bytes)
{
    return file_reserve(file->fd, file->path, bytes);
}

status_t export_file_publish(struct export_file *file)
{
    status_t st = STATUS_OK;
    TRY(file_sync(file->fd, file->part));
    if (file->is_lent) {
        goto out;
    }
    st = file_publish(file->part, file->path, file->force);
    /* It is whole: what cannot be renamed stays, as the message says. */
    free(file->part);
    file->part = NULL;
out:
    return st;
}

void export_file_end(struct export_file *file)
{
    if (file->part && file->fd >= 0 && !file->is_lent) {
        unlink(file->part);
    }
    if (file->path && file->fd >= 0 && !file->is_lent) {
        close(file->fd);
    }
    if (file->path && !file->is_lent) {
        folder_unmake(file->path, file->made);
    }
    free(file->part);
    free(file->path);
    *file = (struct export_file){.fd = -1};
}

status_t export_name(const char *chosen, const char *product, const char *ending, char **out)
{
    const char *base = text_basename(product);
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - product) : strlen(product);
    return chosen ? memory_text(chosen, out)
                  : memory_format(out, "%.*s%s", (int)length, product, ending);
}

uint64_t export_count_nans(const float *values, uint64_t count)
{
    uint64_t nans = 0;
    for (uint64_t i = 0; i < count; i++) {
        nans += isnan(values[i]) != 0;
    }
    return nans;
}
