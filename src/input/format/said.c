/* The job's description of its files' layout: values that it leaves to the file are looked up, and
 * put where the job would have put them; the others go over the file's own. */
#include "input/format/said.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "io/apart.h"
#include "job/job_schema.h"
#include "job/yaml/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The job's description of its files' layout, put over the file's own. */

static status_t override_text(const char *from, char *to)
{
    char *text = NULL;
    char *own = NULL;
    memcpy(&text, from, sizeof text);
    if (text) {
        memcpy(&own, to, sizeof own);
        TRY(memory_text(text, &text));
        memcpy(to, &text, sizeof text);
        free(own);
    }
    return STATUS_OK;
}

/* Replaces a list by another one, unless that is empty. */
static status_t override_list(const struct schema *row, const char *from, char *to)
{
    char *list = NULL;
    char *copy = NULL;
    uint32_t count = 0;
    memcpy(&count, from + row->count_at, sizeof count);
    if (count > 0) {
        TRY(memory_zeroed(count, row->size, "a list of a layout", &copy));
        memcpy(&list, from + row->at, sizeof list);
        memcpy(copy, list, count * row->size);
        memcpy(&list, to + row->at, sizeof list);
        free(list);
        memcpy(to + row->at, &copy, sizeof copy);
        memcpy(to + row->count_at, &count, sizeof count);
    }
    return STATUS_OK;
}

/* Copies the values that `from` gives, all that these rows describe, but for lists of mappings. */
static status_t override_rows(const struct schema *rows, const char *from, char *to)
{
    for (const struct schema *row = rows; row->key; row++) {
        const struct schema *instead = row->instead;
        const size_t flag = row->given.as != 0 ? sizeof(int) : 0; /* bytes */
        int is_given = 1;
        memcpy(&is_given, from + row->given.at, flag);
        TRY(instead ? override_rows(instead->members, from + instead->at, to + instead->at)
                    : STATUS_OK);
        if (row->type == SCHEMA_MAPPING && row->most == 0) {
            TRY(override_rows(row->members, from + row->at, to + row->at));
        } else if (row->type == SCHEMA_TEXT) {
            TRY(override_text(from + row->at, to + row->at));
        } else if (row->most > 0 && row->type != SCHEMA_MAPPING) {
            TRY(override_list(row, from, to));
        } else if (row->most == 0 && is_given) {
            memcpy(to + row->at, from + row->at, row->size);
            memcpy(to + row->given.at, &is_given, flag);
        }
    }
    return STATUS_OK;
}

int override_has(const struct job_layout *layout, enum job_said_key key)
{
    const int is_given[SAID_KEYS] = {[SAID_SAMPLE_RATE] = layout->time.has_sample_rate,
                                     [SAID_SAMPLE_PERIOD] = layout->time.has_sample_period,
                                     [SAID_START] = layout->time.has_start,
                                     [SAID_SIDEBAND] = layout->has_sideband,
                                     [SAID_OVERSAMPLING] = layout->has_oversampling,
                                     [SAID_MISSING_VALUE] = layout->numbers.has_missing_value};
    return is_given[key] || layout->said[key].attribute != NULL;
}

int override_has_rate(const struct job_layout *layout)
{
    return override_has(layout, SAID_SAMPLE_RATE) || override_has(layout, SAID_SAMPLE_PERIOD);
}

int override_has_frequencies(const struct job_layout *layout)
{
    return layout->freq.count > 0 || layout->freq.rule.has_start || layout->freq.rule.from ||
           layout->freq.rule.attribute;
}

int override_has_spacing(const struct job_layout *layout)
{
    return override_has_rate(layout) || override_has_frequencies(layout);
}

struct ratio override_ratio(const struct job_layout *layout)
{
    return layout->has_oversampling ? layout->oversample : (struct ratio){1, 1};
}

status_t layout_make_frequencies(struct job_layout *own, uint32_t count)
{
    own->freq.count = count;
    return memory_zeroed(count, sizeof *own->freq.hz, "frequencies", &own->freq.hz);
}

status_t override_layout(const struct job_layout *layout, struct job_layout *own)
{
    /* One way to say rate and frequencies, which formats list, takes the place of another. */
    if (layout->time.has_sample_rate || layout->time.has_sample_period) {
        own->time.has_sample_rate = own->time.has_sample_period = 0;
    }
    if (override_has_frequencies(layout)) {
        free(own->freq.hz);
        own->freq = (struct job_layout_freq){.count = 0};
    }
    own->numbers.nlevels = layout->numbers.has_packing ? 0 : own->numbers.nlevels;
    return override_rows(job_layout_schema, (const char *)layout, (char *)own);
}

void override_free(struct job_layout *own)
{
    schema_free(job_layout_schema, own);
    *own = (struct job_layout){0};
}

status_t said_refuse(const char *path, const struct job_layout *layout)
{
    char expected[MISTAKE_BYTES];
    const char *key = layout->freq.rule.from || layout->freq.rule.attribute ? "freq_hz" : NULL;
    for (int i = 0; i < SAID_KEYS; i++) {
        key = layout->said[i].attribute ? job_layout_key((enum job_said_key)i, expected) : key;
    }
    return REQUIRED(!key, STATUS_USAGE,
                    "%s: input.layout.%s is to be looked up in the file, which is no HDF5 and has "
                    "no attributes",
                    path, key);
}
