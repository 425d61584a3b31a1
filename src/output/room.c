/* How much room products need, and whether there is as much. */
#include "output/room.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/pack/packed_shape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

status_t room_measure(const struct output_spec *spec, uint32_t i, uint64_t *bytes)
{
    status_t st = STATUS_OK;
    struct product_place place;
    struct text made_of = {0};
    struct inputs inputs = {0};
    TRY(inputs_of_product(&spec->inputs, i, &inputs));
    TRY(inputs_contents_room(&inputs, &made_of));
    TRY(output_spec_create(spec, i, -1, NULL, made_of.data, &place));
    *bytes = place.file_bytes;
out:
    inputs_free(&inputs);
    text_free(&made_of);
    return st;
}

/* What the file holds already of what it will. */
static status_t room_held(const char *path, uint64_t *held)
{
    status_t st = STATUS_OK;
    enum { BLOCK = 512 };
    char *part = NULL;
    struct stat info;
    TRY(file_part_name(path, &part));
    *held = lstat(part, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_blocks * BLOCK : 0;
out:
    free(part);
    return st;
}

status_t room_add(struct room *room, const char *path, uint64_t bytes)
{
    status_t st = STATUS_OK;
    enum { PAGE = 4096 }; /* file systems give room away by these */
    uint64_t held = 0;
    uint64_t whole = ceil_div_u64(bytes, PAGE) * PAGE;
    struct room_need *need = &room->needs[room->count];
    REQUIRE(room->count < ROOM_MOST_FILES, STATUS_USAGE, "%s: more than %d products", path,
            ROOM_MOST_FILES);
    TRY(room_held(path, &held));
    *need = (struct room_need){.path = path, .bytes = whole > held ? whole - held : 0};
    TRY(file_device(path, &need->device));
    room->count++;
out:
    return st;
}

status_t room_add_packed(struct room *room, const char *path, uint64_t bytes)
{
    status_t st = STATUS_OK;
    TRY(room_add(room, path, bytes));
    room->needs[room->count - 1].bytes += packed_most_bytes(bytes);
out:
    return st;
}

status_t room_sum(const struct room *room, uint32_t i, uint64_t *bytes, uint64_t *left,
                  int *is_first)
{
    const struct room_need *need = &room->needs[i];
    *is_first = 1;
    *bytes = 0;
    for (uint32_t j = 0; j < room->count; j++) {
        int is_same = room->needs[j].device == need->device;
        *is_first &= !is_same || j >= i;
        *bytes += is_same ? room->needs[j].bytes : 0;
    }
    return file_free_bytes(need->path, left);
}

status_t room_check(const struct room *room)
{
    status_t st = STATUS_OK;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    for (uint32_t i = 0; i < room->count; i++) {
        const struct room_need *need = &room->needs[i];
        uint64_t bytes = 0;
        uint64_t left = 0;
        int is_first = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        REQUIRE(left >= bytes, STATUS_NO_SPACE,
                "no space for %s%s: it needs %" PRIu64 " bytes (%s), %" PRIu64 " (%s) are free",
                need->path, bytes > need->bytes ? " and what else goes there" : "", bytes,
                units_bytes(bytes, a), left, units_bytes(left, b));
    }
out:
    return st;
}
