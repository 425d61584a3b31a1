/* Compares two origins line by line, and shows where they differ. */
#include "output/origin.h"

#include "base/memory.h"

#include <string.h>

/* Of a line that is too long to be shown: so much before the place where it differs, and in all. */
enum { SHOWN_BEFORE = 80, SHOWN = 160 };

/* A line within a text. */
struct line {
    const char *at;
    size_t length;
};

static struct line origin_line_at(const char *text)
{
    return (struct line){text, strcspn(text, "\n")};
}

static const char *origin_line_after(struct line line)
{
    const char *end = line.at + line.length;
    return *end ? end + 1 : end;
}

static int origin_is_equal(struct line a, struct line b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Not within a character of UTF-8. */
static size_t origin_begin_of_character(struct line line, size_t at)
{
    while (at > 0 && at < line.length && ((unsigned char)line.at[at] & 0xC0) == 0x80) {
        at--;
    }
    return at;
}

/* The line without the blanks before it, around `place` if it is long. */
static status_t origin_show(struct line line, size_t place, struct text *out)
{
    status_t st = STATUS_OK;
    size_t from = 0;
    while (from < line.length && line.at[from] == ' ') {
        from++;
    }
    if (from == line.length) {
        TRY(text_add(out, "nothing"));
        goto out;
    }
    if (line.length - from > SHOWN && place > from + SHOWN_BEFORE) {
        from = origin_begin_of_character(line, place - SHOWN_BEFORE);
        TRY(text_add(out, "..."));
    }
    size_t end = origin_begin_of_character(line, (size_t)min_u64(line.length, from + SHOWN));
    TRY(text_add_bytes(out, line.at + from, end - from));
    TRY(text_add(out, "%s", end < line.length ? "..." : ""));
out:
    return st;
}

static status_t origin_say(const char *what, struct line then, struct line now, struct text *out)
{
    status_t st = STATUS_OK;
    size_t place = 0;
    while (place < then.length && place < now.length && then.at[place] == now.at[place]) {
        place++;
    }
    TRY(text_add(out, "%s: ", what));
    TRY(origin_show(then, place, out));
    TRY(text_add(out, " then, "));
    TRY(origin_show(now, place, out));
    TRY(text_add(out, " now"));
out:
    return st;
}

static status_t origin_compare_words(const char *what, const char *then, const char *now,
                                     struct text *out)
{
    status_t st = STATUS_OK;
    if (!now || out->length > 0) {
        goto out;
    }
    then = then ? then : "";
    while (*then || *now) {
        struct line before = origin_line_at(then);
        struct line after = origin_line_at(now);
        if (!origin_is_equal(before, after)) {
            TRY(origin_say(what, before, after, out));
            break;
        }
        then = origin_line_after(before);
        now = origin_line_after(after);
    }
out:
    return st;
}

status_t origin_compare(const struct origin *then, const struct origin *now, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(origin_compare_words("version", then->program, now->program, out));
    TRY(origin_compare_words("job", then->job, now->job, out));
    TRY(origin_compare_words("input", then->inputs, now->inputs, out));
    TRY(origin_compare_words("coefficients", then->coefficients, now->coefficients, out));
    TRY(origin_compare_words("arithmetic", then->arithmetic, now->arithmetic, out));
out:
    return st;
}
