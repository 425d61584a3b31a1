#include "cli/plan_parts.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

status_t plan_room_add(struct plan_room *room, const char *path, uint64_t bytes)
{
    status_t st = STATUS_OK;
    enum { BLOCK = 512 };
    char *part = NULL;
    struct stat info;
    struct plan_need *need = &room->needs[room->count];
    TRY(file_part_name(path, &part));
    uint64_t held =
        lstat(part, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_blocks * BLOCK : 0;
    *need = (struct plan_need){.path = path, .bytes = bytes > held ? bytes - held : 0};
    TRY(file_device(path, &need->device));
    room->count++;
out:
    free(part);
    return st;
}

/* "out/" of "out/x.h5" */
static void print_folder(const char *path)
{
    int length = (int)(text_basename(path) - path);
    printf("  %-13.*s ", length > 0 ? length : 2, length > 0 ? path : "./");
}

status_t plan_room_print(const struct plan_room *room)
{
    status_t st = STATUS_OK;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    for (uint32_t i = 0; i < room->count; i++) {
        const struct plan_need *need = &room->needs[i];
        int is_first = 1;
        uint64_t bytes = 0;
        uint64_t left = 0;
        for (uint32_t j = 0; j < room->count; j++) {
            int is_same = room->needs[j].device == need->device;
            is_first &= !is_same || j >= i;
            bytes += is_same ? room->needs[j].bytes : 0;
        }
        if (!is_first) {
            continue;
        }
        if (i == 0) {
            printf("space\n");
        }
        TRY(file_free_bytes(need->path, &left));
        print_folder(need->path);
        printf("%s needed, %s free\n", units_bytes(bytes, a), units_bytes(left, b));
        if (left < bytes) {
            report_warn("there is no room for the products: %s needed, %s free",
                        units_bytes(bytes, a), units_bytes(left, b));
        }
    }
out:
    return st;
}
