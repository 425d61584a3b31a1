/* Lists of names, as --kind takes them. */
#include "plot/from/choice.h"

#include <stdio.h>
#include <string.h>

/* Pixels: of pictures of one, of a column of two, of more columns, of what stands beside an image,
 * of images at least and high. */
enum { WHOLE = 1000, HALF = 660, LESS = 520, AXES = 220, LEAST = 50, HEIGHT = 350 };

static int choice_lists(const char *list, const char *word, size_t length, const char *between)
{
    for (; *list; list += *list != '\0') {
        size_t here = strcspn(list, between);
        if (here == length && strncmp(list, word, length) == 0) {
            return 1;
        }
        list += here;
        if (!*list) {
            break;
        }
    }
    return 0;
}

int choice_has(const struct plot_choice *choice, const char *kind)
{
    return !choice->kinds || choice_lists(choice->kinds, kind, strlen(kind), ",");
}

status_t choice_check(const struct plot_choice *choice, const char *path, const char *there)
{
    status_t st = STATUS_OK;
    const char *word = choice->kinds;
    while (word && *word) {
        size_t length = strcspn(word, ",");
        REQUIRE(choice_lists(there, word, length, "|"), STATUS_USAGE,
                "%s has no %.*s to draw, expected some of %s", path, (int)length, word, there);
        word += length + (word[length] == ',');
    }
out:
    return st;
}

uint32_t choice_default_width(uint32_t columns)
{
    return columns <= 1 ? WHOLE : columns * (columns == 2 ? HALF : LESS);
}

uint32_t choice_width(const struct plot_choice *choice, uint32_t columns)
{
    uint32_t width = choice->column  ? choice->column
                     : choice->width ? choice->width / columns
                                     : choice_default_width(columns) / columns;
    return width > AXES + LEAST ? width - AXES : LEAST;
}

uint32_t choice_height(const struct plot_choice *choice)
{
    uint32_t height = choice->height / 3;
    return !choice->height ? HEIGHT : height > LEAST ? height : LEAST;
}
