/* Digests of job and inputs in a word. */
#include "product/stamp.h"

#include "input/format/formats.h"
#include "input/open.h"
#include "io/cache.h"
#include "io/file.h"
#include "io/file_rights.h"

#include <inttypes.h>

static const char stamp_begin[] = "voltmill:";

/* Computes a digest of 48 bits: short, because SIGPROC's headers have little space. Trailing blanks
 * of a text are ignored. */
static uint64_t stamp_digest(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) {
        length--;
    }
    return cache_hash(text ? text : "", length) >> 16;
}

struct stamp stamp_of(const char *job, const char *inputs, uint64_t rows)
{
    return (struct stamp){stamp_digest(job), stamp_digest(inputs), rows};
}

void stamp_write(const struct stamp *stamp, char out[STAMP_WORD])
{
    snprintf(out, STAMP_WORD, "%s%012" PRIx64 ":%012" PRIx64 ":%" PRIu64, stamp_begin, stamp->job,
             stamp->inputs, stamp->rows);
}

static int stamp_scan(const char *word, struct stamp *out)
{
    return sscanf(word + sizeof stamp_begin - 1, "%12" SCNx64 ":%12" SCNx64 ":%19" SCNu64,
                  &out->job, &out->inputs, &out->rows) == 3;
}

status_t stamp_read(const char *path, struct stamp *out, int *found)
{
    enum { HEAD = 32 << 10 }; /* the first header of PSRFITS, and all of SIGPROC's */
    char head[HEAD + 1];
    SCOPED(file_close_at) int fd = -1;
    struct identity identity;
    *found = 0;
    TRY(file_open_read(path, &fd));
    TRY(identity_of_open(fd, path, &identity));
    size_t length = identity.bytes < HEAD ? (size_t)identity.bytes : HEAD;
    TRY(file_read(fd, path, 0, head, length));
    head[length] = '\0';
    for (size_t at = 0; at + sizeof stamp_begin <= length && !*found; at++) {
        *found = memcmp(head + at, stamp_begin, sizeof stamp_begin - 1) == 0 &&
                 stamp_scan(head + at, out);
    }
    return STATUS_OK;
}

size_t stamp_letters_before(const char *text)
{
    struct stamp ignored;
    const char *word = strstr(text, stamp_begin);
    if (!word || !stamp_scan(word, &ignored)) {
        return strlen(text);
    }
    return (size_t)(word - text) - (word > text && word[-1] == ' ');
}

/* Reads the first bytes; HDF5 files are opened elsewhere. */
status_t stamped_open(const char *path, struct stamped *out)
{
    const struct format *format = NULL;
    *out = (struct stamped){.fbh5 = NULL};
    TRY(formats_find_other(path, &format));
    if (format && format->open_filterbank) {
        TRY(fbh5_open(path, FBH5_HEADER, &out->fbh5));
        TRY(stamp_read(path, &out->stamp, &out->has_stamp));
        out->what = strcmp(out->fbh5->format, "PSRFITS") == 0 ? "a file of search-mode PSRFITS"
                                                              : "a SIGPROC filterbank";
    }
    return STATUS_OK;
}

void stamped_end(struct stamped *stamped)
{
    fbh5_destroy(stamped->fbh5);
    stamped->fbh5 = NULL;
}

int stamped_is_whole(const struct stamped *stamped)
{
    return stamped->has_stamp && stamped->fbh5->rows == stamped->stamp.rows;
}

status_t stamped_refuse(const char *path)
{
    SCOPED(stamped_end) struct stamped stamped = {.fbh5 = NULL};
    TRY(stamped_open(path, &stamped));
    if (!stamped.fbh5) {
        return formats_expect(path, PRODUCT_EXPECTED);
    }
    const char *rows = units_count(stamped.fbh5->rows);
    REQUIRE(stamped.has_stamp, STATUS_USAGE,
            "%s is %s of %s spectra, not of a job of voltmill as it is: it contains neither "
            "job nor CRCs, so nothing can be checked; `voltmill info` describes it",
            path, stamped.what, rows);
    REQUIRE(stamped_is_whole(&stamped), STATUS_DATA,
            "%s is %s that is cut short: it contains %s of %s spectra", path, stamped.what, rows,
            units_count(stamped.stamp.rows));
    return report_fail(
        STATUS_USAGE,
        "%s is %s, which contains neither CRCs nor its job: nothing can be recomputed, but all "
        "of its %s spectra are present, and `voltmill run JOB` checks whether JOB made it of "
        "these files",
        path, stamped.what, rows);
}
