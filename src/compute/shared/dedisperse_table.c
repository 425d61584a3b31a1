/* Masked channels are dropped here; then groups are counted. */
#include "compute/shared/dedisperse_table.h"

#include "base/memory.h"

#include <string.h>

static status_t table_list_channels(const struct dedisperse_spec *spec,
                                    struct dedisperse_table *table)
{
    uint32_t nchannels = spec->delays->nchannels;
    TRY(memory_zeroed(nchannels, sizeof *table->channels, "channels", &table->channels));
    for (uint32_t c = 0; c < nchannels; c++) {
        if (!spec->mask || !spec->mask[c]) {
            table->channels[table->nused++] = c;
        }
    }
    return STATUS_OK;
}

static status_t table_list_groups(const struct subbands *steps, struct dedisperse_table *table)
{
    table->ngroups = steps->ngroups;
    TRY(memory_zeroed(steps->ngroups, sizeof *table->ends, "groups", &table->ends));
    for (uint32_t i = 0; i < table->nused; i++) {
        table->ends[table->channels[i] / steps->group] = i + 1;
    }
    /* Groups of which nothing is left end where the one before does. */
    for (uint32_t g = 1; g < steps->ngroups; g++) {
        if (table->ends[g] == 0) {
            table->ends[g] = table->ends[g - 1];
        }
    }
    return STATUS_OK;
}

status_t dedisperse_table_create(const struct dedisperse_spec *spec, struct dedisperse_table *out)
{
    const struct subbands *steps = spec->steps;
    const uint32_t *from = steps ? steps->inner : spec->delays->table;
    uint32_t nchannels = spec->delays->nchannels;
    SCOPED(dedisperse_table_free)
    struct dedisperse_table table = {.nrows = steps ? steps->nsteps : spec->delays->ndms,
                                     .all = {0, spec->delays->ndms}};
    TRY(table_list_channels(spec, &table));
    TRY(memory_zeroed((size_t)table.nrows * table.nused, sizeof *table.delays, "delays",
                      &table.delays));
    for (uint32_t row = 0; row < table.nrows; row++) {
        for (uint32_t i = 0; i < table.nused; i++) {
            table.delays[(size_t)row * table.nused + i] =
                from[(size_t)row * nchannels + table.channels[i]];
        }
    }
    TRY(steps ? table_list_groups(steps, &table) : STATUS_OK);
    *out = table;
    table = (struct dedisperse_table){0};
    return STATUS_OK;
}

void dedisperse_table_free(struct dedisperse_table *table)
{
    MEMORY_FREE(table->channels, table->delays, table->ends);
    *table = (struct dedisperse_table){0};
}

static double table_read_power(enum series_format format, const char *at)
{
    uint16_t half;
    float single;
    switch (format) {
    case SERIES_U8:
        return *(const unsigned char *)at;
    case SERIES_U16:
        memcpy(&half, at, sizeof half);
        return half;
    default:
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
}

/* Returns the step that makes a DM. */
static uint32_t table_step_of(const struct subbands *steps, uint32_t dm)
{
    uint32_t k = 0;
    while (steps->first[k + 1] <= dm) {
        k++;
    }
    return k;
}

static uint64_t table_delay_of(const struct dedisperse_spec *spec, uint32_t dm, uint32_t c)
{
    const struct subbands *steps = spec->steps;
    size_t nchannels = spec->delays->nchannels;
    if (!steps) {
        return spec->delays->table[dm * nchannels + c];
    }
    return (uint64_t)steps->inner[table_step_of(steps, dm) * nchannels + c] +
           steps->outer[(size_t)dm * steps->ngroups + c / steps->group];
}

float dedisperse_formula(const struct dedisperse_spec *spec, const struct dedisperse_input *input,
                         const void *in, uint32_t dm, uint64_t t)
{
    const char *power = (const char *)in + input->offset;
    double sum = 0;
    for (uint32_t c = 0; c < spec->delays->nchannels; c++) {
        if (!spec->mask || !spec->mask[c]) {
            uint64_t at = t + table_delay_of(spec, dm, c);
            sum += table_read_power(spec->format,
                                    power + at * input->time_step + c * input->channel_step);
        }
    }
    return (float)sum;
}
