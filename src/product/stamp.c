/* Digests of job and inputs in a word. */
#include "product/stamp.h"

#include "io/cache.h"
#include "io/file.h"
#include "io/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char stamp_begin[] = "voltmill:";

/* In 48 bits: short, because SIGPROC's headers have little room. How a text ends does not count. */
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
    status_t st = STATUS_OK;
    enum { HEAD = 32 << 10 }; /* the first header of PSRFITS, and all of SIGPROC's */
    char head[HEAD + 1];
    int fd = -1;
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
out:
    file_close(fd);
    return st;
}

int stamp_is_in(const char *path)
{
    struct stamp ignored;
    int found = 0;
    if (stamp_read(path, &ignored, &found) != STATUS_OK) {
        report_clear();
    }
    return found;
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
