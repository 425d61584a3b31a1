/* Each type of value: what its text may be, and how it lies in a struct. */
#include "job/yaml/schema_store.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

static int schema_store_is_in_range(const struct schema *row, double value)
{
    return row->min == row->max ||
           (value <= row->max && (row->is_above ? value > row->min : value >= row->min));
}

static int schema_store_whole(const struct schema *row, const char *text, void *at)
{
    uint64_t value = 0;
    int ok = row->type == SCHEMA_BYTES ? units_parse_bytes(text, &value)
                                       : tree_parse_whole(text, &value);
    uint32_t small = (uint32_t)value;
    int is_small = row->size == sizeof small;
    /* A double cannot tell the largest numbers apart: those of at most `max` are compared whole. */
    ok = ok && schema_store_is_in_range(row, (double)value) && !(is_small && small != value) &&
         !(row->max > row->min && row->max < 0x1p64 && value > (uint64_t)row->max) &&
         !(row->is_even && value % 2);
    if (ok) {
        memcpy(at, is_small ? (void *)&small : (void *)&value, row->size);
    }
    return ok;
}

static int schema_store_number(const struct schema *row, const char *text, void *at)
{
    double value = 0;
    int ok = tree_parse_number(text, &value) && schema_store_is_in_range(row, value);
    if (ok) {
        memcpy(at, &value, sizeof value);
    }
    return ok;
}

static int schema_store_choice(const struct schema *row, const char *text, void *at)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            memcpy(at, row->values ? &row->values[i] : &i, sizeof i);
            return 1;
        }
    }
    return 0;
}

status_t schema_store(const struct schema *row, const char *text, void *at, char *message, int *ok)
{
    status_t st = STATUS_OK;
    char *copy = NULL;
    *ok = 0;
    if (row->type == SCHEMA_TEXT) {
        TRY(memory_text(text, &copy));
        *ok = !row->parse || row->parse(copy, at, message);
        if (*ok) {
            memcpy(at, &copy, sizeof copy);
            copy = NULL;
        }
    } else if (row->type == SCHEMA_PARSED) {
        *ok = row->parse(text, at, message);
    } else if (row->type == SCHEMA_NUMBER) {
        *ok = schema_store_number(row, text, at);
    } else if (row->type == SCHEMA_UTC) {
        *ok = units_parse_utc(text, at);
    } else if (row->type == SCHEMA_CHOICE) {
        *ok = schema_store_choice(row, text, at);
    } else {
        *ok = schema_store_whole(row, text, at);
    }
out:
    free(copy);
    return st;
}
