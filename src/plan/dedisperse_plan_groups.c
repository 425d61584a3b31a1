/* Groups of DMs: what a stage knows of the delays, and what DMs have in common. */
#include "base/memory.h"
#include "dsp/dispersion/patterns.h"
#include "io/crc.h"
#include "plan/dedisperse_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t group_step_of(const struct subbands *steps, uint32_t dm)
{
    uint32_t low = 0;
    uint32_t high = steps->nsteps - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (steps->first[middle] <= dm) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static void group_widen(uint32_t delay, uint32_t *least, uint32_t *most)
{
    *least = delay < *least ? delay : *least;
    *most = delay > *most ? delay : *most;
}

/* Of one DM in two steps: the groups' delays with those within them. */
static void group_widen_steps(const struct subbands *steps, uint32_t nchannels, uint32_t dm,
                              uint32_t *least, uint32_t *most)
{
    const uint32_t *inner = steps->inner + (size_t)group_step_of(steps, dm) * nchannels;
    const uint32_t *outer = steps->outer + (size_t)dm * steps->ngroups;
    for (uint32_t c = 0; c < nchannels; c++) {
        /* A group's own delay, too: it is what is shifted. */
        group_widen(outer[c / steps->group], least, most);
        group_widen(outer[c / steps->group] + inner[c], least, most);
    }
}

status_t dm_ranges_create(struct dedisperse_plan *d)
{
    status_t st = STATUS_OK;
    uint32_t nchannels = d->delays.nchannels;
    uint32_t *row = NULL;
    TRY(memory_zeroed(nchannels, sizeof *row, "delays", &row));
    TRY(memory_zeroed(d->delays.ndms, sizeof *d->each.least, "delays", &d->each.least));
    TRY(memory_zeroed(d->delays.ndms, sizeof *d->each.most, "delays", &d->each.most));
    for (uint32_t dm = 0; dm < d->delays.ndms; dm++) {
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        dispersion_rows(&d->delays, dm, 1, row);
        d->delays_crc = crc_more(d->delays_crc, row, nchannels * sizeof *row);
        if (d->what->is_two_step) {
            group_widen_steps(&d->steps, nchannels, dm, &least, &most);
        } else {
            for (uint32_t c = 0; c < nchannels; c++) {
                group_widen(row[c], &least, &most);
            }
        }
        d->each.least[dm] = least;
        d->each.most[dm] = most;
    }
    d->overlap = overlap_delays(d->each.least, d->each.most);
out:
    free(row);
    return st;
}

int dedisperse_plan_is_level(const struct dedisperse_plan *d, uint32_t dm)
{
    const struct dm_group all = {.delays = d->delays, .steps = d->steps};
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (uint32_t c = 0; c < d->delays.nchannels && d->what->is_zero_dm && most <= least; c++) {
        if (!d->mask[c]) {
            group_widen(d->what->is_two_step ? dm_group_delay(d, &all, dm, c)
                                             : dispersion_delay(&d->delays, dm, c),
                        &least, &most);
        }
    }
    return d->what->is_zero_dm && most <= least;
}

void dm_group_span(const struct dedisperse_plan *d, uint32_t first, uint32_t count, uint32_t *base,
                   uint32_t *span)
{
    struct overlap_rows rows = {0, 0};
    for (uint32_t dm = first; dm < first + count; dm++) {
        rows = overlap_union(rows, overlap_reach(&d->overlap, dm));
    }
    *base = (uint32_t)rows.first;
    *span = (uint32_t)(rows.end - rows.first - 1);
}

uint32_t dm_groups_span(const struct dedisperse_plan *d, uint32_t dms, uint64_t *sum)
{
    uint32_t largest = 0;
    *sum = 0;
    for (uint64_t first = 0; first < d->delays.ndms; first += dms) {
        uint32_t base;
        uint32_t span;
        dm_group_span(d, (uint32_t)first, (uint32_t)min_u64(dms, d->delays.ndms - first), &base,
                      &span);
        largest = span > largest ? span : largest;
        *sum += span;
    }
    return largest;
}

static status_t group_copy_table(const struct dedisperse_plan *d, uint32_t first, uint32_t count,
                                 struct dm_group *group)
{
    status_t st = STATUS_OK;
    size_t nchannels = d->delays.nchannels;
    size_t total = count * nchannels;
    TRY(memory_zeroed(total, sizeof(uint32_t), "delays", &group->delays.table));
    dispersion_rows(&d->delays, first, count, group->delays.table);
    for (size_t i = 0; i < total; i++) {
        /* In two steps the table only says how many there are. */
        uint32_t delay = group->delays.table[i];
        group->delays.table[i] = delay - (uint32_t)min_u64(delay, group->base);
    }
out:
    return st;
}

static status_t group_copy_steps(const struct dedisperse_plan *d, uint32_t first, uint32_t count,
                                 struct dm_group *group)
{
    status_t st = STATUS_OK;
    const struct subbands *from = &d->steps;
    struct subbands *to = &group->steps;
    size_t nchannels = d->delays.nchannels;
    uint32_t step = group_step_of(from, first);
    to->group = from->group;
    to->ngroups = from->ngroups;
    to->error = from->error;
    to->nsteps = group_step_of(from, first + count - 1) - step + 1;
    size_t outers = (size_t)count * to->ngroups;
    TRY(memory_zeroed(to->nsteps * nchannels, sizeof(uint32_t), "delays", &to->inner));
    TRY(memory_zeroed(outers, sizeof(uint32_t), "delays", &to->outer));
    TRY(memory_zeroed((size_t)to->nsteps + 1, sizeof(uint32_t), "delays", &to->first));
    memcpy(to->inner, from->inner + step * nchannels, to->nsteps * nchannels * sizeof(uint32_t));
    for (size_t i = 0; i < outers; i++) {
        to->outer[i] = from->outer[(size_t)first * to->ngroups + i] - group->base;
    }
    for (uint32_t k = 1; k < to->nsteps; k++) {
        to->first[k] = from->first[step + k] - first;
    }
    to->first[to->nsteps] = count;
out:
    return st;
}

status_t dm_group_create(const struct dedisperse_plan *d, uint32_t first, uint32_t count,
                         struct dm_group *out)
{
    status_t st = STATUS_OK;
    struct dm_group group = {.delays = {.nchannels = d->delays.nchannels, .ndms = count}};
    dm_group_span(d, first, count, &group.base, &group.delays.largest);
    group.overlap = overlap_delay(0, group.delays.largest);
    TRY(group_copy_table(d, first, count, &group));
    if (d->what->is_two_step) {
        TRY(group_copy_steps(d, first, count, &group));
    }
    *out = group;
    group = (struct dm_group){0};
out:
    dm_group_free(&group);
    return st;
}

void dm_group_free(struct dm_group *group)
{
    dispersion_free(&group->delays);
    subbands_free(&group->steps);
}

struct dedisperse_spec dedisperse_plan_stage(const struct dedisperse_plan *d,
                                             const struct dm_group *group, uint64_t samples)
{
    return (struct dedisperse_spec){.format = d->input.format,
                                    .mode = d->mode,
                                    .delays = &group->delays,
                                    .steps = d->what->is_two_step ? &group->steps : NULL,
                                    .mask = d->mask,
                                    .max_samples = samples,
                                    .threads = d->threads};
}

uint32_t dm_group_delay(const struct dedisperse_plan *d, const struct dm_group *group, uint32_t dm,
                        uint32_t channel)
{
    const struct subbands *steps = &group->steps;
    uint32_t nchannels = group->delays.nchannels;
    if (!d->what->is_two_step) {
        return group->delays.table[(size_t)dm * nchannels + channel];
    }
    return steps->outer[(size_t)dm * steps->ngroups + channel / steps->group] +
           steps->inner[group_step_of(steps, dm) * nchannels + channel];
}

/* Enough to know what a tree saves; how it is cut is the backend's. */
enum { MOST_DELAYS = 1 << 23 };

status_t dedisperse_plan_count(struct dedisperse_plan *d)
{
    status_t st = STATUS_OK;
    uint32_t nchannels = d->delays.nchannels;
    uint32_t ndms = (uint32_t)min_u64(d->delays.ndms, max_u64(MOST_DELAYS / nchannels, 1));
    uint32_t *delays = NULL;
    size_t n = 0;
    TRY(memory_zeroed((size_t)ndms * nchannels, sizeof *delays, "delays", &delays));
    dispersion_rows(&d->delays, (d->delays.ndms - ndms) / 2, ndms, delays);
    for (size_t i = 0; i < (size_t)ndms * nchannels; i++) {
        if (!d->mask[i % nchannels]) {
            delays[n++] = delays[i];
        }
    }
    TRY(patterns_gain(delays, ndms, (uint32_t)(n / ndms), &d->tree.group, &d->tree.gain));
out:
    free(delays);
    return st;
}
