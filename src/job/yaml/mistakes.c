/* Where each mistake stands, the order of lines in which all are told, and how many are shown. */
#include "job/yaml/mistakes.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the one message that a process keeps (base/report.c). */
enum { KEPT = 1024, SHOWN = 40, SHOWN_BYTES = 12288, PLACE_BYTES = 6144 };

struct mistake {
    int is_set;
    uint32_t line;
    size_t order; /* in which they were found */
    char *text;
};

static void mistakes_place(const struct mistakes *mistakes, const char *set, uint32_t line,
                           const char *key, char out[PLACE_BYTES])
{
    const char *colon = key && *key ? ": " : "";
    key = key ? key : "";
    if (set) {
        display_format(out, PLACE_BYTES, "--set %.200s: %s%s", set, key, colon);
    } else if (line) {
        display_format(out, PLACE_BYTES, "%s:%u: %s%s", mistakes->file, line, key, colon);
    } else {
        display_format(out, PLACE_BYTES, "%s: %s%s", mistakes->file, key, colon);
    }
}

void mistakes_keep(struct mistakes *mistakes, status_t st)
{
    mistakes->status = mistakes->status == STATUS_OK ? st : mistakes->status;
}

void mistakes_add(struct mistakes *mistakes, const char *set, uint32_t line, const char *key,
                  const char *format, ...)
{
    char message[MISTAKE_BYTES];
    char place[PLACE_BYTES];
    struct mistake mistake = {.is_set = set != NULL, .line = line, .order = mistakes->count++};
    va_list args;
    if (mistakes->kept == KEPT) {
        return;
    }
    va_start(args, format);
    display_format_list(message, sizeof message, format, args);
    va_end(args);
    mistakes_place(mistakes, set, line, key, place);
    status_t st = memory_grow(mistakes->kept, sizeof mistake, "mistakes", &mistakes->list);
    st = st == STATUS_OK ? memory_format(&mistake.text, "%s%s", place, message) : st;
    mistakes_keep(mistakes, st);
    if (st == STATUS_OK) {
        mistakes->list[mistakes->kept++] = mistake;
    }
}

static void mistakes_add_at(struct mistakes *mistakes, struct tree *node, const char *path,
                            const char *format, va_list args)
{
    struct text key = {0};
    char message[MISTAKE_BYTES];
    const char *missing = NULL;
    display_format_list(message, sizeof message, format, args);
    node = tree_walk(node, path ? path : "", &missing);
    node->is_bad = 1;
    tree_path(node, &key);
    if (*missing) {
        text_add(&key, "%s%.100s", key.length ? "." : "", missing);
    }
    mistakes_keep(mistakes, key.status);
    mistakes_add(mistakes, node->set, node->line, key.data, "%s", message);
    text_free(&key);
}

void mistakes_at(struct mistakes *mistakes, struct tree *node, const char *path, const char *format,
                 ...)
{
    va_list args;
    va_start(args, format);
    mistakes_add_at(mistakes, node, path, format, args);
    va_end(args);
}

void mistakes_if(int is_wrong, struct mistakes *mistakes, struct tree *node, const char *path,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (is_wrong) {
        mistakes_add_at(mistakes, node, path, format, args);
    }
    va_end(args);
}

void mistakes_if_descends(struct mistakes *mistakes, struct tree *list, struct tree *at)
{
    mistakes_if(tree_number(list, "1", 0) < tree_number(list, "0", 0), mistakes, at, NULL,
                "ends at %s, before the %s where it begins", tree_value(list, "1"),
                tree_value(list, "0"));
}

static int mistakes_compare(const void *left, const void *right)
{
    const struct mistake *a = left;
    const struct mistake *b = right;
    if (a->is_set != b->is_set) {
        return a->is_set - b->is_set;
    }
    /* Overrides keep the order in which they were found: they have no lines. */
    if (!a->is_set && a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

status_t mistakes_report(const struct mistakes *mistakes)
{
    struct text text = {0};
    if (mistakes->status != STATUS_OK || mistakes->count == 0) {
        return mistakes->status;
    }
    qsort(mistakes->list, mistakes->kept, sizeof *mistakes->list, mistakes_compare);
    if (mistakes->count == 1) {
        return report_fail(STATUS_USAGE, "%s", mistakes->list[0].text);
    }
    text_add(&text, "%s has %zu mistakes:", mistakes->file, mistakes->count);
    size_t shown = 0;
    while (shown < mistakes->kept && shown < SHOWN && text.length < SHOWN_BYTES) {
        text_add(&text, "\n  %s", mistakes->list[shown++].text);
    }
    if (shown < mistakes->count) {
        text_add(&text, "\n  and %zu more", mistakes->count - shown);
    }
    status_t st = text.status;
    st = st == STATUS_OK ? report_fail(STATUS_USAGE, "%s", text.data) : st;
    text_free(&text);
    return st;
}

void mistakes_free(struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->kept; i++) {
        free(mistakes->list[i].text);
    }
    free(mistakes->list);
    mistakes->list = NULL;
    mistakes->kept = 0;
    mistakes->count = 0;
}
