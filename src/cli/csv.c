/* Tables of comma-separated values, and whether they got to their files; tables of benchmarks. */
#include "cli/csv.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether it begins with the heading. */
static status_t csv_check_begin(FILE *file, const char *path, const char *heading)
{
    int is_ours = 1;
    for (const char *at = heading; *at && is_ours; at++) {
        is_ours = getc(file) == (unsigned char)*at;
    }
    is_ours = is_ours && getc(file) == '\n';
    REQUIRE(!ferror(file), STATUS_DATA, "%s cannot be read: %s", path, strerror(errno));
    return REQUIRED(is_ours, STATUS_USAGE,
                    "%s is there, and no such table: its first line is not \"%.40s...\"", path,
                    heading);
}

status_t csv_check(const char *path, const char *heading)
{
    struct stat info;
    /* A pipe or a device must not be opened to find out. */
    if (!path || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
        return STATUS_OK;
    }
    SCOPED(text_close_at) FILE *file = fopen(path, "r");
    REQUIRE(file, STATUS_DATA, "%s cannot be read: %s", path, strerror(errno));
    return csv_check_begin(file, path, heading);
}

/* Looks at the very file that is then written: the name may lead to another a moment later. */
static status_t csv_open_file(const char *path, const char *mode, const char *heading, FILE **out)
{
    struct stat info;
    const int appends = mode[0] == 'a';
    const int is_pipe = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    const int flags = O_CREAT | O_CLOEXEC | (appends ? O_APPEND : 0);
    SCOPED(file_close_at) int fd = open(path, flags | (is_pipe ? O_WRONLY : O_RDWR), 0666);
    REQUIRE(fd >= 0 && fstat(fd, &info) == 0, reason_write_status(errno),
            "%s cannot be written: %s", path, strerror(errno));
    REQUIRE(is_pipe == !S_ISREG(info.st_mode), STATUS_DATA,
            "%s was replaced by another file while it was opened", path);
    SCOPED(text_close_at) FILE *file = fdopen(fd, is_pipe ? mode : "r+");
    REQUIRE(file, STATUS_DATA, "%s cannot be written: %s", path, strerror(errno));
    fd = -1;
    if (!is_pipe && info.st_size > 0) {
        TRY(csv_check_begin(file, path, heading));
        int is_ready = fseek(file, 0, appends ? SEEK_END : SEEK_SET) == 0 &&
                       (appends || ftruncate(fileno(file), 0) == 0);
        REQUIRE(is_ready, reason_write_status(errno), "%s cannot be written: %s", path,
                strerror(errno));
    }
    *out = memory_move(&file);
    return STATUS_OK;
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

status_t csv_open(const char *path, const char *mode, const char *heading, struct csv *csv)
{
    if (path) {
        FILE *file = NULL;
        TRY(csv_open_file(path, mode, heading, &file));
        *csv = (struct csv){.path = path, .file = file};
        if (ftell(file) <= 0) { /* a pipe has no place */
            csv_print(csv, "%s\n", heading);
        }
    }
    return STATUS_OK;
}

void csv_flush(struct csv *csv)
{
    if (csv->file) {
        csv_note(csv, fflush(csv->file) != 0);
    }
}

status_t csv_close(struct csv *csv, status_t st)
{
    FILE *file = csv->file;
    csv->file = NULL;
    csv_note(csv, file && fclose(file) != 0);
    if (st == STATUS_OK && csv->error) {
        st = report_fail(reason_write_status(csv->error), "%s cannot be written: %s", csv->path,
                         strerror(csv->error));
    }
    return st;
}

status_t bench_table_run(struct shared *shared, struct bench_table *table, const char *heading,
                         status_t (*rows)(void *settings))
{
    status_t st = STATUS_OK;
    const struct backend_options options = {.device = shared->device, .local_size = 1};
    shared->threads = options_threads(shared);
    TRY_OUT(csv_open(shared->csv, "w", heading, &table->csv));
    TRY_OUT(backend_open(backend_settle(shared->backend), &options, &table->opened));
    TRY_OUT(rows(shared));
    REQUIRE_OUT(table->failed == 0, STATUS_DEVICE, "%s: %s failed", shared->command->name,
                units_number(table->failed, "row", "rows"));
out:
    backend_close(table->opened);
    return csv_close(&table->csv, st);
}

void bench_table_print_device(const struct bench_table *table)
{
    const char *device = backend_device(table->opened);
    printf("%s%s%s: ", backend_name(backend_which(table->opened)), *device ? ", " : "", device);
}

void bench_table_end_row(struct bench_table *table, int is_right)
{
    table->failed += !is_right;
    csv_flush(&table->csv);
    report_show();
}
