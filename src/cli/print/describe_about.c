/* What a file says of itself beyond what is read: its attributes. */
#include "cli/print/describe.h"

#include "base/display.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LISTED = 32, MOST_TEXT = 80, LEAST_WIDTH = 13, MOST_WIDTH = 28 };

/* The attribute of the same object that is called NAME and then `ending`; NULL: none, or no text.
 */
static const struct about_item *about_find(const struct about *about, const struct about_item *item,
                                           const char *ending)
{
    size_t length = strlen(item->name);
    for (size_t i = 0; i < about->count; i++) {
        const struct about_item *other = &about->items[i];
        if (other->text && strcmp(other->object, item->object) == 0 &&
            strncmp(other->name, item->name, length) == 0 &&
            strcmp(other->name + length, ending) == 0) {
            return other;
        }
    }
    return NULL;
}

/* Whether it is the unit or the frame of another attribute, behind which it is printed. */
static int about_is_behind(const struct about *about, const struct about_item *item)
{
    static const char *const endings[] = {"_UNIT", "_FRAME"};
    for (size_t i = 0; i < about->count; i++) {
        for (int j = 0; j < 2; j++) {
            if (&about->items[i] != item &&
                about_find(about, &about->items[i], endings[j]) == item) {
                return 1;
            }
        }
    }
    return 0;
}

static void about_print_value(const struct about *about, const struct about_item *item)
{
    const struct about_item *unit = about_find(about, item, "_UNIT");
    const struct about_item *frame = about_find(about, item, "_FRAME");
    if (item->text) {
        int length = (int)strcspn(item->text, "\n");
        int is_cut = length > MOST_TEXT || item->text[length] != '\0';
        display_print("%.*s%s", length > MOST_TEXT ? MOST_TEXT : length, item->text,
                      is_cut ? " ..." : "");
    }
    for (uint32_t i = 0; !item->text && i < item->count; i++) {
        if (item->is_whole) {
            display_print("%s%lld", i ? ", " : "", (long long)item->whole[i]);
        } else {
            display_print("%s%.12g", i ? ", " : "", item->numbers[i]);
        }
    }
    if (unit) {
        display_print(" %s", unit->text);
    }
    if (frame) {
        display_print(" (%s)", frame->text);
    }
    display_print("\n");
}

/* Those of one object, which lie side by side. */
static void about_print_object(const struct about *about, size_t first, size_t end)
{
    int width = LEAST_WIDTH;
    size_t listed = 0;
    for (size_t i = first; i < end; i++) {
        int length = (int)strlen(about->items[i].name);
        int is_shown = length <= MOST_WIDTH && !about_is_behind(about, &about->items[i]);
        width = is_shown && length > width ? length : width;
    }
    display_print("attributes of %s\n", about->items[first].object);
    for (size_t i = first; i < end; i++) {
        const struct about_item *item = &about->items[i];
        if (about_is_behind(about, item)) {
            continue;
        }
        if (listed++ < MOST_LISTED) {
            display_print("  %-*s ", width, item->name);
            about_print_value(about, item);
        }
    }
    if (listed > MOST_LISTED) {
        display_print("  and %zu more: --json has all\n", listed - MOST_LISTED);
    }
}

void describe_about(const struct about *about)
{
    for (size_t i = 0, end = 0; i < about->count; i = end) {
        const char *object = about->items[i].object;
        for (end = i + 1; end < about->count && strcmp(about->items[end].object, object) == 0;
             end++) {
        }
        about_print_object(about, i, end);
    }
}
