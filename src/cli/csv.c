#include "cli/csv.h"

#include "base/report.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

status_t csv_open(const char *path, const char *mode, struct csv *csv)
{
    status_t st = STATUS_OK;
    if (path) {
        FILE *file = fopen(path, mode);
        REQUIRE(file, STATUS_DATA, "%s cannot be written: %s", path, strerror(errno));
        *csv = (struct csv){.path = path, .file = file};
    }
out:
    return st;
}

int csv_is_new(const struct csv *csv)
{
    return csv->file && ftell(csv->file) == 0;
}

/* Only the first failure has a reason: the stream drops what it could not write. */
static void csv_note(struct csv *csv, int failed)
{
    if (failed && !csv->error) {
        csv->error = errno ? errno : EIO;
    }
}

void csv_print(struct csv *csv, const char *format, ...)
{
    if (csv->file) {
        va_list args;
        va_start(args, format);
        csv_note(csv, vfprintf(csv->file, format, args) < 0);
        va_end(args);
    }
}

void csv_flush(struct csv *csv)
{
    if (csv->file) {
        csv_note(csv, fflush(csv->file) != 0);
    }
}

status_t csv_close(struct csv *csv)
{
    status_t st = STATUS_OK;
    FILE *file = csv->file;
    csv->file = NULL;
    if (file) {
        csv_note(csv, fclose(file) != 0);
        int is_full = csv->error == ENOSPC || csv->error == EDQUOT || csv->error == EFBIG;
        REQUIRE(!csv->error, is_full ? STATUS_NO_SPACE : STATUS_DATA, "%s cannot be written: %s",
                csv->path, strerror(csv->error));
    }
out:
    return st;
}
