/* Numbers, texts and structs (by tables of their fields) as bytes, in the order in which they were
 * packed. */
#include "io/pack.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

status_t pack_u64(struct text *out, uint64_t value)
{
    return text_add_bytes(out, (const char *)&value, sizeof value);
}

status_t pack_text(struct text *out, const char *value)
{
    /* Length plus one, so that NULL (0) differs from "" (1). */
    size_t length = value ? strlen(value) : 0;
    TRY(pack_u64(out, value ? length + 1 : 0));
    return text_add_bytes(out, value ? value : "", length);
}

void unpack_bytes(struct unpack *in, void *out, size_t bytes)
{
    memset(out, 0, bytes);
    if (in->failed || in->length - in->at < bytes) {
        in->failed |= 1;
        return;
    }
    memcpy(out, in->data + in->at, bytes);
    in->at += bytes;
}

uint64_t unpack_u64(struct unpack *in)
{
    uint64_t value;
    unpack_bytes(in, &value, sizeof value);
    return value;
}

char *unpack_text(struct unpack *in)
{
    uint64_t stored = unpack_u64(in);
    if (stored == 0 || in->failed || stored - 1 > in->length - in->at) {
        in->failed |= stored != 0;
        return NULL;
    }
    size_t length = (size_t)stored - 1;
    char *out = malloc(length + 1);
    if (!out) {
        in->failed |= UNPACK_NO_MEMORY;
        return NULL;
    }
    unpack_bytes(in, out, length);
    out[length] = '\0';
    return out;
}

/* A count of things of at least `size` packed bytes each; 0 and failed when they cannot be there.
 */
static size_t unpack_count(struct unpack *in, size_t size)
{
    uint64_t count = unpack_u64(in);
    if (in->failed || count > (in->length - in->at) / size) {
        in->failed |= 1;
        return 0;
    }
    return (size_t)count;
}

static const struct pack_field pack_one_text[] = {{.kind = PACK_TEXT}};
static const struct pack_field pack_one_number[] = {{.kind = PACK_BYTES, .bytes = 8}};
static const struct pack_field pack_one_pair[] = {{.kind = PACK_BYTES, .bytes = 16}};
const struct pack_type pack_texts = PACK_TYPE(char *, pack_one_text);
const struct pack_type pack_numbers = PACK_TYPE(uint64_t, pack_one_number);
const struct pack_type pack_pairs = PACK_TYPE(uint64_t[2], pack_one_pair);

static uint64_t pack_count_of(const struct pack_field *field, const void *from)
{
    const char *count = (const char *)from + field->count_offset;
    return field->bytes == sizeof(uint32_t) ? *(const uint32_t *)count : *(const uint64_t *)count;
}

/* Returns the minimum bytes of an item. */
static size_t pack_least(const struct pack_type *type)
{
    size_t bytes = type->is_whole ? type->size : 0;
    for (size_t i = 0; i < type->nfields; i++) {
        const struct pack_field *field = &type->fields[i];
        bytes += field->kind == PACK_BYTES  ? field->bytes
                 : field->kind == PACK_HERE ? 0
                                            : sizeof(uint64_t);
    }
    return bytes;
}

/* Whether items are plain values: a list of millions of numbers is copied in one piece. */
static int pack_is_plain(const struct pack_type *type)
{
    if (type->is_whole) {
        return type->nfields == 0;
    }
    return type->nfields == 1 && pack_least(type) == type->size &&
           type->fields[0].kind == PACK_BYTES;
}

static status_t pack_list(struct text *out, const struct pack_field *field, const void *from)
{
    const char *items = *(char *const *)((const char *)from + field->offset);
    uint64_t count = items ? pack_count_of(field, from) : 0;
    TRY(pack_u64(out, count));
    if (count > 0 && pack_is_plain(field->item)) {
        TRY(text_add_bytes(out, items, count * field->item->size));
        count = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        TRY(pack_struct(out, items + i * field->item->size, field->item));
    }
    return STATUS_OK;
}

status_t pack_fields(struct text *out, const void *from, const struct pack_field *fields,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)from + fields[i].offset;
        switch (fields[i].kind) {
        case PACK_TEXT:
            TRY(pack_text(out, *(char *const *)at));
            break;
        case PACK_U32:
            TRY(pack_u64(out, *(const uint32_t *)at));
            break;
        case PACK_HERE:
            break;
        case PACK_LIST_OWN:
        case PACK_LIST_COUNTED:
            TRY(pack_list(out, &fields[i], from));
            break;
        case PACK_BYTES:
            TRY(text_add_bytes(out, at, fields[i].bytes));
            break;
        }
    }
    return STATUS_OK;
}

/* Clears pointers, which another process cannot use, and the counts of lists, which are packed with
 * these. */
static void pack_clear_pointers(void *item, const struct pack_type *type)
{
    for (size_t i = 0; i < type->nfields; i++) {
        const struct pack_field *field = &type->fields[i];
        memset((char *)item + field->offset, 0, sizeof(void *));
        if (field->kind == PACK_HERE || field->kind == PACK_LIST_OWN) {
            memset((char *)item + field->count_offset, 0, field->bytes);
        }
    }
}

status_t pack_struct(struct text *out, const void *from, const struct pack_type *type)
{
    if (type->is_whole) {
        TRY(text_add_bytes(out, from, type->size));
        pack_clear_pointers(out->data + out->length - type->size, type);
    }
    return pack_fields(out, from, type->fields, type->nfields);
}

static void unpack_list(struct unpack *in, void *to, const struct pack_field *field)
{
    size_t count = unpack_count(in, pack_least(field->item));
    int is_counted = field->kind == PACK_LIST_COUNTED;
    if ((is_counted && count == 0) || in->failed) {
        return;
    }
    if (is_counted ? count != pack_count_of(field, to)
                   : field->bytes == sizeof(uint32_t) && count > UINT32_MAX) {
        in->failed |= 1;
        return;
    }
    char *items = calloc(count > 0 ? count : 1, field->item->size);
    if (!items) {
        in->failed |= UNPACK_NO_MEMORY;
        return;
    }
    *(char **)((char *)to + field->offset) = items;
    if (!is_counted) {
        uint32_t narrow = (uint32_t)count;
        uint64_t wide = count;
        memcpy((char *)to + field->count_offset,
               field->bytes == sizeof narrow ? (void *)&narrow : &wide, field->bytes);
    }
    if (pack_is_plain(field->item)) {
        unpack_bytes(in, items, count * field->item->size);
        count = 0;
    }
    for (size_t i = 0; i < count && !in->failed; i++) {
        unpack_struct(in, items + i * field->item->size, field->item);
    }
}

void unpack_fields(struct unpack *in, void *to, const struct pack_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *at = (char *)to + fields[i].offset;
        enum pack_kind kind = fields[i].kind;
        if (kind == PACK_TEXT) {
            *(char **)at = unpack_text(in);
        } else if (kind == PACK_U32) {
            uint64_t value = unpack_u64(in);
            in->failed |= value > UINT32_MAX;
            *(uint32_t *)at = (uint32_t)value;
        } else if (kind == PACK_LIST_OWN || kind == PACK_LIST_COUNTED) {
            unpack_list(in, to, &fields[i]);
        } else if (kind != PACK_HERE) {
            unpack_bytes(in, at, fields[i].bytes);
        }
    }
}

void unpack_struct(struct unpack *in, void *to, const struct pack_type *type)
{
    if (type->is_whole) {
        unpack_bytes(in, to, type->size);
        pack_clear_pointers(to, type);
    }
    unpack_fields(in, to, type->fields, type->nfields);
}

void pack_free_list(void *items, uint64_t count, const struct pack_type *type)
{
    for (uint64_t i = 0; items && i < count && type->nfields > 0; i++) {
        pack_free((char *)items + i * type->size, type);
    }
    free(items);
}

void pack_free(void *at, const struct pack_type *type)
{
    for (size_t i = 0; i < type->nfields; i++) {
        const struct pack_field *field = &type->fields[i];
        void **pointer = (void **)(void *)((char *)at + field->offset);
        if (field->kind >= PACK_LIST_OWN) {
            pack_free_list(*pointer, field->item ? pack_count_of(field, at) : 0, field->item);
            *pointer = NULL;
        } else if (field->kind == PACK_TEXT) {
            free(memory_move(pointer));
        }
    }
}

void pack_destroy(void *at, const struct pack_type *type)
{
    if (at) {
        pack_free(at, type);
        free(at);
    }
}

status_t unpack_new(struct unpack *in, const struct pack_type *type, const char *what, void *out)
{
    status_t st = STATUS_OK;
    void *made = NULL;
    TRY_OUT(memory_zeroed(1, type->size, what, &made));
    unpack_struct(in, made, type);
    TRY_OUT(unpack_check(in, what));
    memcpy(out, &made, sizeof made);
    made = NULL;
out:
    pack_destroy(made, type);
    return st;
}

status_t unpack_check(const struct unpack *in, const char *what)
{
    REQUIRE(!(in->failed & UNPACK_NO_MEMORY), STATUS_DEVICE, "out of memory: %s", what);
    return REQUIRED(!in->failed, STATUS_DATA, "%s came corrupt from another process", what);
}
