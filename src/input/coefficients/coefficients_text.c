/* Coefficients as text, line by line. */
#include "input/coefficients/coefficients_parts.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "dsp/fir/fir_design.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BYTES = 1 << 30, /* of a file: 64 for each of the most coefficients */
    WORD_BYTES = 128,
    SHOWN = 40 /* of a word in messages */
};

static const char blanks[] = " \t\r\f\v,";

/* Reads "(0.5-0.25j)", with brackets or without, of which `length` bytes may be written to. */
static int coefficients_parse_pair(char *word, size_t length, double pair[2])
{
    if (length > 2 && word[0] == '(' && word[length - 1] == ')') {
        word[length - 1] = '\0';
        word++;
        length -= 2;
    }
    if (length < 2 || (word[length - 1] != 'j' && word[length - 1] != 'i')) {
        return 0;
    }
    word[length - 1] = '\0';
    /* The last sign that is not an exponent's begins the imaginary part. */
    size_t at = length - 1;
    while (at > 0 && !((word[at] == '+' || word[at] == '-') && tolower(word[at - 1]) != 'e')) {
        at--;
    }
    if (at == 0) {
        return 0;
    }
    int ok = units_parse_f64(word + at, &pair[1]);
    /* savetxt() has written "+-" for a minus. */
    at -= at > 1 && word[at] == '-' && word[at - 1] == '+';
    word[at] = '\0';
    return ok && units_parse_f64(word, &pair[0]);
}

/* The numbers of a line: *n of them, at most 2, whether the line says or shows that they are one
 * complex coefficient. */
static status_t coefficients_parse_line(const char *path, size_t number, const char *line,
                                        double pair[2], size_t *n)
{
    status_t st = STATUS_OK;
    char word[WORD_BYTES];
    *n = 0;
    for (line += strspn(line, blanks); *line; line += strspn(line, blanks)) {
        size_t length = strcspn(line, blanks);
        REQUIRE(length < WORD_BYTES && *n < 2, STATUS_DATA,
                "%s, line %zu: '%.*s' is too much, expected one coefficient a line: a number, or "
                "two of a complex one",
                path, number, (int)(length < SHOWN ? length : SHOWN), line);
        memcpy(word, line, length);
        word[length] = '\0';
        if (*n == 0 && coefficients_parse_pair(word, length, pair)) {
            *n = 2;
        } else {
            memcpy(word, line, length);
            word[length] = '\0';
            REQUIRE(units_parse_f64(word, &pair[*n]), STATUS_DATA,
                    "%s, line %zu: '%.*s' is no number, expected one coefficient a line", path,
                    number, SHOWN, word);
            *n += 1;
        }
        line += length;
    }
out:
    return st;
}

static status_t coefficients_add(struct coefficients *to, size_t *room, const double *pair,
                                 size_t n)
{
    status_t st = STATUS_OK;
    if (to->count + n > *room) {
        size_t wanted = *room ? 2 * *room : 1024;
        double *grown = realloc(to->values, wanted * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: coefficients of a filter");
        to->values = grown;
        *room = wanted;
    }
    memcpy(to->values + to->count, pair, n * sizeof *pair);
    to->count += n;
out:
    return st;
}

/* Splits the text, which it writes to, into lines. */
static status_t coefficients_take_lines(const char *path, char *text, struct coefficients *out)
{
    status_t st = STATUS_OK;
    size_t room = 0;
    size_t number = 0;
    size_t first_line = 0;
    for (char *line = text; line;) {
        char *end = strchr(line, '\n');
        double pair[2];
        size_t n = 0;
        number++;
        if (end) {
            *end = '\0';
        }
        line[strcspn(line, "#")] = '\0';
        TRY(coefficients_parse_line(path, number, line, pair, &n));
        first_line = n && !first_line ? number : first_line;
        REQUIRE(n == 0 || out->count == 0 || (n == 2) == out->is_complex, STATUS_DATA,
                "%s, line %zu: a %s coefficient, but those from line %zu on are %s", path, number,
                n == 2 ? "complex" : "real", first_line, n == 2 ? "real" : "complex");
        if (n) {
            out->is_complex = n == 2;
            REQUIRE(out->count / n < FIR_MOST_TAPS, STATUS_DATA,
                    "%s, line %zu: more than %d coefficients", path, number, FIR_MOST_TAPS);
            TRY(coefficients_add(out, &room, pair, n));
        }
        line = end ? end + 1 : NULL;
    }
out:
    return st;
}

status_t coefficients_read_text(const char *path, struct coefficients *out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(text_read_file(&text, path, MOST_BYTES, "a file of coefficients"));
    size_t nul = text_line_of_nul(text.data, text.length);
    REQUIRE(nul == 0, STATUS_DATA, "%s, line %zu: a NUL byte, expected text or HDF5", path, nul);
    TRY(coefficients_take_lines(path, text.data, out));
out:
    text_free(&text);
    return st;
}
