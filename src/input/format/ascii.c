/* Keys and values in cards and lines. */
#include "input/format/ascii.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CARD_KEY = 8, CARD_VALUE = 10 };

int ascii_end_of_cards(const char *text, size_t length, size_t *without, size_t *with)
{
    for (size_t at = 0; at + ASCII_CARD <= length; at += ASCII_CARD) {
        if (memcmp(text + at, "END", 3) == 0 && (text[at + 3] == ' ' || text[at + 3] == '\0')) {
            *without = at;
            *with = at + ASCII_CARD;
            return 1;
        }
        for (size_t i = at; i < at + CARD_KEY; i++) {
            if (text[i] < ' ' || text[i] > '~') {
                return -1;
            }
        }
    }
    return 0;
}

/* Whether the text begins with the key, which ends there. */
static int ascii_has_key(const char *text, size_t length, const char *key, int is_card)
{
    size_t size = strlen(key);
    if (size > length || memcmp(text, key, size) != 0) {
        return 0;
    }
    if (!is_card) {
        return size == length || text[size] == ' ' || text[size] == '\t';
    }
    for (size_t i = size; i < CARD_KEY; i++) {
        if (text[i] != ' ') {
            return 0;
        }
    }
    return text[CARD_KEY] == '=';
}

/* Copies the value of a card or line. */
static void ascii_copy_value(const char *text, size_t length, char comment, char value[ASCII_VALUE])
{
    size_t count = 0;
    int is_quoted = 0;
    while (length > 0 && strchr(" \t", *text)) {
        text++;
        length--;
    }
    if (length > 0 && *text == '\'') {
        is_quoted = 1;
        text++;
        length--;
    }
    for (size_t i = 0; i < length && text[i] && count + 1 < ASCII_VALUE; i++) {
        int is_quote = is_quoted && text[i] == '\'';
        if (is_quote && (i + 1 == length || text[i + 1] != '\'')) {
            break;
        }
        if (!is_quoted && text[i] == comment) {
            break;
        }
        i += (size_t)is_quote; /* two quotes stand for one */
        value[count++] = text[i];
    }
    while (count > 0 && strchr(" \t\r", value[count - 1])) {
        count--;
    }
    value[count] = '\0';
}

/* Finds the key from byte `from` of the header on. Returns the byte after its line; 0: it is not
 * there. */
static size_t ascii_find_from(const struct ascii *header, const char *key, size_t from,
                              char value[ASCII_VALUE])
{
    const char *text = header->text + from;
    const char *end = header->text + header->length;
    while (text < end) {
        size_t left = (size_t)(end - text);
        size_t length = left < ASCII_CARD ? left : ASCII_CARD;
        size_t skip = CARD_VALUE - 1;
        if (!header->has_cards) {
            const char *line = memchr(text, '\n', left);
            length = line ? (size_t)(line - text) : left;
            skip = strlen(key);
        }
        if (length > skip && *text == *key && /* most keys differ there */
            ascii_has_key(text, length, key, header->has_cards)) {
            ascii_copy_value(text + skip, length - skip, header->has_cards ? '/' : '#', value);
            return (size_t)(text - header->text) + length + (size_t)!header->has_cards;
        }
        text += length + (size_t)!header->has_cards;
    }
    return 0;
}

int ascii_find(const struct ascii *header, const char *key, char value[ASCII_VALUE])
{
    char any[ASCII_VALUE];
    return ascii_find_from(header, key, 0, value ? value : any) > 0;
}

/* Fails with DATA: a key of the first header has a second value. */
static status_t ascii_check_once(const struct ascii *header, const char *key, size_t after,
                                 const char *value)
{
    char other[ASCII_VALUE];
    while (header->at == 0 && after > 0 && after < header->length) {
        after = ascii_find_from(header, key, after, other);
        REQUIRE(after == 0 || strcmp(value, other) == 0, STATUS_DATA,
                "%s: the header says %s = %s and %s = %s", header->path, key, value, key, other);
    }
    return STATUS_OK;
}

status_t ascii_once(const struct ascii *header, const char *const *keys, size_t count)
{
    char value[ASCII_VALUE];
    for (size_t i = 0; i < count; i++) {
        size_t after = ascii_find_from(header, keys[i], 0, value);
        TRY(ascii_check_once(header, keys[i], after, value));
    }
    return STATUS_OK;
}

int ascii_parse_f64(const char *text, double *out)
{
    char number[ASCII_VALUE];
    size_t length = strcspn(text, "dD");
    if (strlen(text) >= sizeof number || length == 0 || text[length] == '\0' ||
        strncmp(text, "0x", 2) == 0) {
        return units_parse_f64(text, out);
    }
    memcpy(number, text, strlen(text) + 1);
    number[length] = 'e';
    return units_parse_f64(number, out);
}

/* Also "0x1f", and whole numbers that are written as others are: "4.", "4e6". */
static int ascii_parse_u64(const char *text, uint64_t *out)
{
    double number = 0;
    char *end = NULL;
    if (strncmp(text, "0x", 2) == 0) {
        *out = strtoull(text, &end, 16);
        return end > text + 2 && *end == '\0';
    }
    if (units_parse_u64(text, out)) {
        return 1;
    }
    if (!ascii_parse_f64(text, &number) || !(number >= 0 && number < 0x1p53) ||
        number > floor(number)) {
        return 0;
    }
    *out = (uint64_t)number;
    return 1;
}

/* Finds the value; fails when it is missing, but must be there. */
static status_t ascii_look(const struct ascii *header, const char *key, int *found,
                           char value[ASCII_VALUE], int *is_there)
{
    size_t after = ascii_find_from(header, key, 0, value);
    *is_there = after > 0;
    TRY(ascii_check_once(header, key, after, value));
    REQUIRE(found || *is_there, STATUS_DATA, "%s: the header at byte %" PRIu64 " has no %s",
            header->path, header->at, key);
    if (found) {
        *found = *is_there;
    }
    return STATUS_OK;
}

#define ASCII_GET(type, function, parse, expected)                                                 \
    status_t function(const struct ascii *header, const char *key, type least, type most,          \
                      type *value, int *found)                                                     \
    {                                                                                              \
        char text[ASCII_VALUE];                                                                    \
        type number = 0;                                                                           \
        int is_there = 0;                                                                          \
        TRY(ascii_look(header, key, found, text, &is_there));                                      \
        if (is_there) {                                                                            \
            REQUIRE(parse(text, &number) && number >= least && number <= most, STATUS_DATA,        \
                    "%s: the header at byte %" PRIu64 " says %s = %s, expected " expected,         \
                    header->path, header->at, key, *text ? text : "nothing", least, most);         \
            *value = number;                                                                       \
        }                                                                                          \
        return STATUS_OK;                                                                          \
    }

ASCII_GET(uint64_t, ascii_u64, ascii_parse_u64, "a whole number from %" PRIu64 " to %" PRIu64)
ASCII_GET(double, ascii_f64, ascii_parse_f64, "a number from %g to %g")

status_t ascii_text(const struct ascii *header, const char *key, char **out)
{
    char value[ASCII_VALUE];
    *out = NULL;
    return ascii_find(header, key, value) && *value ? memory_text(value, out) : STATUS_OK;
}

int ascii_sixtieths(const char *text, double most, double *out)
{
    double parts[3] = {0, 0, 0};
    int count = 0;
    int is_negative = *text == '-';
    text += *text == '-' || *text == '+';
    for (; count < 3; count++) {
        char *end = NULL;
        parts[count] = strtod(text, &end);
        if (end == text || !(parts[count] >= 0) || (count > 0 && parts[count] >= 60)) {
            return 0;
        }
        text = end;
        if (*text != ':') {
            break;
        }
        text++;
    }
    double value = parts[0] + parts[1] / 60 + parts[2] / 3600;
    *out = is_negative ? -value : value;
    return count > 0 && *text == '\0' && value <= most;
}

int ascii_position(const struct ascii *header, const char *ra, const char *dec, double *ra_deg,
                   double *dec_deg)
{
    char value[ASCII_VALUE];
    double hours = 0;
    double degrees = 0;
    if (!ascii_find(header, ra, value) || !ascii_sixtieths(value, 24, &hours) ||
        !ascii_find(header, dec, value) || !ascii_sixtieths(value, 90, &degrees)) {
        return 0;
    }
    *ra_deg = 15 * hours;
    *dec_deg = degrees;
    return 1;
}
