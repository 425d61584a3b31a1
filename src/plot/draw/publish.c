/* By way of FILE.part, as everything that voltmill writes. */
#include "plot/draw/publish.h"

#include "io/claim.h"
#include "io/file.h"
#include "io/folder/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was killed while it wrote leaves a picture, a page or a table, or the begin of one. */
static int publish_is_ours(const char *part)
{
    static const char *const begins[] = {"\x89PNG", "<?xml", "<!DOCTYPE html>", "panel,title"};
    char start[16] = "";
    FILE *stream = fopen(part, "rb");
    size_t count = stream ? fread(start, 1, sizeof start - 1, stream) : 0;
    if (stream) {
        fclose(stream);
    }
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (count >= strlen(begins[i]) && strncmp(start, begins[i], strlen(begins[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

status_t publish_check(const char *path, const struct guard *reads, int force)
{
    status_t st = STATUS_OK;
    TRY(guard_check_part(reads, "the output", path));
    TRY(file_check_new(path, force));
out:
    return st;
}

status_t publish(const char *path, const struct text *text, int force)
{
    status_t st = STATUS_OK;
    char *part = NULL;
    char *made = NULL;
    int fd = -1;
    TRY(file_check_new(path, force));
    TRY(file_part_name(path, &part));
    TRY(claim_part(part, 0, publish_is_ours, &fd, &made));
    REQUIRE(ftruncate(fd, 0) == 0, STATUS_DATA, "%s cannot be cut: %s", part, strerror(errno));
    st = file_write(fd, part, 0, text->data, text->length);
    st = st == STATUS_OK ? file_sync(fd, part) : st;
    if (st != STATUS_OK) {
        (void)unlink(part);
        goto out;
    }
    TRY(file_publish(part, path, force));
out:
    file_close(fd);
    folder_unmake(path, made);
    free(part);
    return st;
}
