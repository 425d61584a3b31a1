/* What stands above pictures of products. */
#include "plot/from/from_product.h"

#include <stdio.h>
#include <stdlib.h>

status_t from_title(const char *path, const char *source, const char *telescope, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add_shown(out, "%s", text_basename(path)));
    TRY(source && *source ? text_add_shown(out, ":  %s", source) : STATUS_OK);
    TRY(telescope && *telescope ? text_add_shown(out, "  (%s)", telescope) : STATUS_OK);
    TRY(text_add(out, "\n"));
out:
    return st;
}

const char *from_seconds(double seconds, char text[UNITS_TEXT])
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.4g", seconds);
    return units_seconds(strtod(digits, NULL), text);
}
