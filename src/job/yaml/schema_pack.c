/* Copies of a struct that a schema fills, for other processes: the walk of its rows. */
#include "base/memory.h"
#include "job/yaml/schema.h"

#include <stdlib.h>
#include <string.h>

static status_t schema_pack_entry(struct text *out, const struct schema *row, const char *at)
{
    char *text = NULL;
    if (row->type == SCHEMA_MAPPING) {
        return schema_pack(out, row->members, at);
    }
    if (row->type == SCHEMA_TEXT) {
        memcpy(&text, at, sizeof text);
        return pack_text(out, text);
    }
    return text_add_bytes(out, at, row->size);
}

static status_t schema_pack_list(struct text *out, const struct schema *row, const char *base)
{
    status_t st = STATUS_OK;
    char *entries = NULL;
    uint32_t count = 0;
    memcpy(&entries, base + row->at, sizeof entries);
    memcpy(&count, base + row->count_at, sizeof count);
    count = entries ? count : 0;
    TRY(pack_u64(out, count));
    for (size_t i = 0; i < count; i++) {
        TRY(schema_pack_entry(out, row, entries + i * row->size));
    }
out:
    return st;
}

static status_t schema_pack_row(struct text *out, const struct schema *row, const char *base)
{
    status_t st = STATUS_OK;
    const char *at = base + row->at;
    TRY(row->given.as ? text_add_bytes(out, base + row->given.at, sizeof row->given.as)
                      : STATUS_OK);
    TRY(row->instead ? schema_pack_row(out, row->instead, base) : STATUS_OK);
    TRY(row->is_pair ? text_add_bytes(out, at, 2 * row->size)
        : row->most  ? schema_pack_list(out, row, base)
                     : schema_pack_entry(out, row, at));
out:
    return st;
}

status_t schema_pack(struct text *out, const struct schema *rows, const void *from)
{
    status_t st = STATUS_OK;
    for (const struct schema *row = rows; row->key; row++) {
        TRY(schema_pack_row(out, row, from));
    }
out:
    return st;
}

static void schema_unpack_entry(struct unpack *in, const struct schema *row, char *at)
{
    if (row->type == SCHEMA_MAPPING) {
        schema_unpack(in, row->members, at);
    } else if (row->type == SCHEMA_TEXT) {
        char *text = unpack_text(in);
        memcpy(at, &text, sizeof text);
    } else {
        unpack_bytes(in, at, row->size);
    }
}

static void schema_unpack_list(struct unpack *in, const struct schema *row, char *base)
{
    const uint64_t count = unpack_u64(in);
    /* Every entry takes a byte at least. */
    if (in->failed || count > in->length - in->at || count > UINT32_MAX) {
        in->failed |= 1;
        return;
    }
    char *entries = count > 0 ? calloc((size_t)count, row->size) : NULL;
    const uint32_t had = entries ? (uint32_t)count : 0;
    in->failed |= had < count ? UNPACK_NO_MEMORY : 0;
    memcpy(base + row->at, &entries, sizeof entries);
    memcpy(base + row->count_at, &had, sizeof had);
    for (size_t i = 0; i < had; i++) {
        schema_unpack_entry(in, row, entries + i * row->size);
    }
}

static void schema_unpack_row(struct unpack *in, const struct schema *row, char *base)
{
    char *at = base + row->at;
    if (row->given.as) {
        unpack_bytes(in, base + row->given.at, sizeof row->given.as);
    }
    if (row->instead) {
        schema_unpack_row(in, row->instead, base);
    }
    if (row->is_pair) {
        unpack_bytes(in, at, 2 * row->size);
    } else if (row->most) {
        schema_unpack_list(in, row, base);
    } else {
        schema_unpack_entry(in, row, at);
    }
}

void schema_unpack(struct unpack *in, const struct schema *rows, void *to)
{
    for (const struct schema *row = rows; row->key; row++) {
        schema_unpack_row(in, row, to);
    }
}
