/* Lists of assumptions: lines of a text, each once. */
#include "input/assumed.h"

#include "base/text.h"
#include "io/hdf5/h5.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 600, LINES = 16 };

static const char further[] = "further files leave more open: voltmill info FILE prints it";

static int assumed_has(const char *assumed, const char *line, size_t length)
{
    size_t each = 0;
    const char *at = NULL;
    int has = 0;
    for (size_t i = 0; !has && assumed && (at = text_line(assumed, i, &each)); i++) {
        has = each == length && memcmp(at, line, length) == 0;
    }
    return has;
}

static status_t assumed_append(char **assumed, const char *path, const char *line, size_t length)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY_OUT(text_add(&text, "%s%s%s%s%.*s", *assumed ? *assumed : "", *assumed ? "\n" : "",
                     path ? path : "", path ? ": " : "", (int)length, line));
    free(*assumed);
    *assumed = text.data;
    text = (struct text){0};
out:
    text_free(&text);
    return st;
}

static status_t assumed_format(char **assumed, const char *format, va_list list)
{
    char words[SENTENCE];
    vsnprintf(words, sizeof words, format, list);
    for (char *c = words; *c; c++) {
        *c = *c == '\n' ? '?' : *c; /* from a name or a header */
    }
    return assumed_has(*assumed, words, strlen(words))
               ? STATUS_OK
               : assumed_append(assumed, NULL, words, strlen(words));
}

status_t assume_if(int is_so, char **assumed, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    status_t st = is_so ? assumed_format(assumed, format, list) : STATUS_OK;
    va_end(list);
    return st;
}

status_t assumed_add(char **assumed, const char *path, const char *more)
{
    size_t length = 0;
    const char *line = NULL;
    for (size_t i = 0; more && (line = text_line(more, i, &length)); i++) {
        if (assumed_has(*assumed, line, length)) {
            continue;
        }
        if (*assumed && text_line(*assumed, LINES - 1, &(size_t){0})) {
            TRY(assume(assumed, "%s", further));
            break;
        }
        TRY(assumed_append(assumed, path, line, length));
    }
    return STATUS_OK;
}

status_t assumed_read(hid_t file, const char *path, char **assumed)
{
    status_t st = STATUS_OK;
    int found = 0;
    char *kept = NULL;
    hid_t group = -1;
    TRY_OUT(h5_has(file, path, "provenance", &found));
    if (found) {
        group = H5Gopen2(file, "provenance", H5P_DEFAULT);
        H5_TRY_OUT(group, "%s: /provenance cannot be opened", path);
        TRY_OUT(h5_find_text(group, path, "assumed", &kept, &found));
        TRY_OUT(assumed_add(assumed, NULL, kept));
    }
out:
    free(kept);
    h5_close(group);
    return st;
}

void assumed_say(const char *path, const char *assumed)
{
    size_t length = 0;
    const char *line = NULL;
    for (size_t i = 0; assumed && (line = text_line(assumed, i, &length)); i++) {
        report_say(REPORT_ASSUMED, "%s: %.*s", path, (int)length, line);
    }
}
