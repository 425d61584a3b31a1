/* What `plan` says of the room for products. */
#include "cli/print/plan_parts.h"

#include "base/display.h"
#include "base/text.h"

#include <stdio.h>

/* "out/" of "out/x.h5" */
static void plan_print_folder(const char *path)
{
    int length = (int)(text_basename(path) - path);
    display_print("  %-13.*s ", length > 0 ? length : 2, length > 0 ? path : "./");
}

status_t plan_room_print(const struct room *room)
{
    status_t st = STATUS_OK;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    for (uint32_t i = 0; i < room->count; i++) {
        int is_first = 0;
        uint64_t bytes = 0;
        uint64_t left = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        if (!is_first) {
            continue;
        }
        if (i == 0) {
            display_print("space\n");
        }
        plan_print_folder(room->needs[i].path);
        display_print("%s needed, %s free\n", units_bytes(bytes, a), units_bytes(left, b));
        if (left < bytes) {
            report_warn("there is no room for the products: %s needed, %s free",
                        units_bytes(bytes, a), units_bytes(left, b));
        }
    }
out:
    return st;
}
