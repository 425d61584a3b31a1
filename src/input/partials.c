/* Samples that lack some of their packets. */
#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"

static uint32_t partial_in_part(const struct archive_part *part, uint64_t at, uint64_t *next)
{
    uint64_t low = 0;
    uint64_t high = part->npartials;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (part->partials[middle].first + part->partials[middle].count > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    const struct archive_partial *partial = low < part->npartials ? &part->partials[low] : NULL;
    int is_inside = partial && partial->first <= at;
    *next = is_inside ? partial->first + partial->count : partial ? partial->first : part->samples;
    return is_inside ? partial->lost : 0;
}

static uint64_t partial_stack(const struct archive *archive, uint32_t stream)
{
    uint64_t index[AXIS_KINDS];
    archive_stream_index(archive, stream, index);
    return archive_stack_of(archive, index, 0);
}

int archive_are_together(const struct archive *archive, uint32_t one, uint32_t other)
{
    return partial_stack(archive, one) == partial_stack(archive, other);
}

uint32_t archive_partial_at(const struct archive *archive, uint32_t stream, uint64_t at,
                            uint64_t *next)
{
    uint64_t stack = partial_stack(archive, stream);
    uint32_t p = archive_part_at(archive, stack, at);
    const struct archive_part *part = p < archive->nparts ? &archive->parts[p] : NULL;
    if (!part || part->stack != stack || part->first_sample > at) {
        *next = part && part->stack == stack ? part->first_sample : UINT64_MAX;
        return 0;
    }
    uint32_t lost = partial_in_part(part, at - part->first_sample, next);
    *next += part->first_sample;
    return lost;
}

uint64_t archive_count_partial(const struct archive *archive)
{
    uint64_t count = 0;
    uint64_t end = archive->first_sample + archive->samples;
    for (uint32_t i = 0; i < archive->nparts && !archive->losses.is_made; i++) {
        const struct archive_part *part = &archive->parts[i];
        for (uint64_t k = 0; k < part->npartials; k++) {
            uint64_t first = part->first_sample + part->partials[k].first;
            uint64_t low = max_u64(first, archive->first_sample);
            uint64_t high = min_u64(first + part->partials[k].count, end);
            count += low < high ? high - low : 0;
        }
    }
    return count;
}

void archive_warn_unweighed(const struct archive *archive, const char *file)
{
    char count[UNITS_TEXT];
    uint64_t samples = archive_count_partial(archive);
    if (samples > 0) {
        report_warn("%s: %s %s of blocks that lack packets %s written as stored: voltages have no "
                    "weights",
                    file, units_count(samples, count), units_plural(samples, "sample", "samples"),
                    units_plural(samples, "is", "are"));
    }
}
