/* Flags, texts, numbers, ranges, lists and alternatives on the command line. */
#include "cli/values.h"

#include "base/text.h"
#include "base/units.h"

enum { LONGEST = 64 }; /* text of a number */

int value_flag(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    (void)text;
    *(int *)field = 1;
    return 1;
}

int value_text(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    *(const char **)field = text;
    return 1;
}

int value_texts(const struct option_row *row, const char *text, void *field)
{
    struct option_texts *texts = field;
    (void)row;
    texts->items[texts->count++] = text; /* options_read() has made room */
    return 1;
}

int value_word(const struct option_row *row, const char *text, void *field)
{
    *(const char **)field = text;
    return text_place(row->takes, text, strlen(text)) >= 0;
}

int value_choice(const struct option_row *row, const char *text, void *field)
{
    int place = text_place(row->takes, text, strlen(text));
    *(unsigned *)field = (unsigned)place; /* as enums are stored */
    return place >= 0;
}

/* "1024", "2^28". */
static int value_parse_count(const char *text, uint64_t *out)
{
    uint64_t power = 0;
    if (strncmp(text, "2^", 2) == 0 && units_parse_u64(text + 2, &power) && power < 62) {
        *out = UINT64_C(1) << power;
        return 1;
    }
    return units_parse_u64(text, out);
}

/* Takes the first `length` characters apart, "A..B"; without dots A and B are the same. Returns 0
 * when they are too long for numbers. */
static int value_split(const char *text, size_t length, char a[LONGEST], char b[LONGEST])
{
    const char *dots = memmem(text, length, "..", 2);
    const char *second = dots ? dots + 2 : text;
    size_t first_length = dots ? (size_t)(dots - text) : length;
    snprintf(a, LONGEST, "%.*s", (int)first_length, text);
    snprintf(b, LONGEST, "%.*s", (int)(length - (size_t)(second - text)), second);
    return length < LONGEST;
}

/* Whether a number is in the row's range, or one of its alternatives. */
static int value_suits(const struct option_row *row, uint64_t value)
{
    char a[LONGEST];
    char b[LONGEST];
    uint64_t least = 0;
    uint64_t most = UINT64_MAX;
    if (strchr(row->takes, '|')) {
        int length = snprintf(a, sizeof a, "%llu", (unsigned long long)value);
        return text_place(row->takes, a, (size_t)length) >= 0;
    }
    (void)value_split(row->takes, strlen(row->takes), a, b);
    return value_parse_count(a, &least) && (!*b || value_parse_count(b, &most)) && value >= least &&
           value <= most;
}

int value_u64(const struct option_row *row, const char *text, void *field)
{
    uint64_t *out = field;
    return value_parse_count(text, out) && value_suits(row, *out);
}

int value_u32(const struct option_row *row, const char *text, void *field)
{
    uint64_t value = 0;
    int is_right = value_u64(row, text, &value) && value <= UINT32_MAX;
    *(uint32_t *)field = (uint32_t)value;
    return is_right;
}

static int value_append(struct option_list *list, uint64_t value)
{
    if (list->count == sizeof list->values / sizeof *list->values) {
        return 0;
    }
    list->values[list->count++] = value;
    return 1;
}

/* "8", "256..4096", or a word. */
static int value_add_entry(const struct option_row *row, const char *entry, size_t length,
                           struct option_list *out)
{
    char a[LONGEST];
    char b[LONGEST];
    uint64_t first = 0;
    uint64_t last = 0;
    if (!value_split(entry, length, a, b) || !value_parse_count(a, &first)) {
        int place = text_place(row->takes, entry, length);
        return place >= 0 && value_append(out, (uint64_t)place);
    }
    int is_right = first > 0 && value_parse_count(b, &last) && first <= last && last <= UINT32_MAX;
    for (uint64_t value = first; is_right && value <= last; value *= 2) {
        is_right = value_suits(row, value) && value_append(out, value);
    }
    return is_right;
}

int value_list(const struct option_row *row, const char *text, void *field)
{
    struct option_list *out = field;
    out->count = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        if (length > 0 && !value_add_entry(row, at, length, out)) {
            return 0;
        }
        at += length + (at[length] == ',');
    }
    return out->count > 0;
}

int value_positive(const struct option_row *row, const char *text, void *field)
{
    double *out = field;
    double most = 0;
    const char *dots = strstr(row->takes, "..");
    int is_limited = dots && units_parse_f64(dots + 2, &most);
    return units_parse_f64(text, out) && *out > 0 && (!is_limited || *out <= most);
}

int value_range(const struct option_row *row, const char *text, void *field)
{
    double *out = field;
    char a[LONGEST];
    char b[LONGEST];
    (void)row;
    return strstr(text, "..") && value_split(text, strlen(text), a, b) &&
           units_parse_f64(a, &out[0]) && units_parse_f64(b, &out[1]) && out[0] <= out[1];
}
