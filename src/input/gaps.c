/* What an archive lacks: gaps of all streams, of single ones, and what the parts of some streams
 * have not, where others have it. */
#include "base/memory.h"
#include "input/archive.h"

#include <stdlib.h>

static int archive_gaps_compare(const void *left, const void *right)
{
    const struct archive_gap *a = left;
    const struct archive_gap *b = right;
    return a->stream != b->stream ? (a->stream > b->stream) - (a->stream < b->stream)
                                  : (a->first > b->first) - (a->first < b->first);
}

void archive_gaps_sort(struct archive_gap *gaps, size_t count)
{
    if (count > 1) {
        qsort(gaps, count, sizeof *gaps, archive_gaps_compare);
    }
}

uint64_t archive_stream_number(const struct archive *archive, uint32_t stream)
{
    uint64_t index[AXIS_KINDS];
    uint64_t number = 0;
    archive_stream_index(archive, stream, index);
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        number = number * archive->count[axis] + index[axis];
    }
    return number;
}

uint64_t archive_in_file(const struct archive *archive, enum axis axis)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        size *= archive->shape.dims[i].axis == axis ? archive->shape.dims[i].size : 1;
    }
    return size;
}

uint64_t archive_stack_of(const struct archive *archive, const uint64_t index[AXIS_KINDS],
                          int imaginary)
{
    uint64_t place = 0;
    if (archive->shape.stacked != AXIS_TIME) {
        place = index[archive->shape.stacked] / archive_in_file(archive, archive->shape.stacked);
    }
    return archive->shape.is_reim_stacked ? 2 * place + (uint64_t)imaginary : place;
}

uint32_t archive_part_at(const struct archive *archive, uint64_t stack, uint64_t sample)
{
    uint32_t low = 0;
    uint32_t high = archive->nparts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct archive_part *part = &archive->parts[middle];
        if (part->stack < stack ||
            (part->stack == stack && part->first_sample + part->samples <= sample)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t archive_run_at(const struct archive_part *part, uint64_t sample)
{
    uint32_t low = 0;
    uint32_t high = part->nruns;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct archive_run *run = &part->runs[middle];
        if (sample - min_u64(sample, run->first_sample) >= run->pieces * run->steps) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t archive_stream_gap_after(const struct archive *archive, uint64_t number, uint64_t sample)
{
    size_t low = 0;
    size_t high = archive->losses.nstream_gaps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct archive_gap *gap = &archive->losses.stream_gaps[middle];
        if (gap->stream < number || (gap->stream == number && gap->first + gap->count <= sample)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t archive_gap_after(const struct archive *archive, uint64_t sample)
{
    size_t low = 0;
    size_t high = archive->losses.ngaps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (archive->losses.gaps[middle][0] + archive->losses.gaps[middle][1] > sample) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

uint64_t archive_gap_in(const struct archive *archive, uint64_t first, uint64_t count)
{
    uint64_t missing = 0;
    for (size_t i = archive_gap_after(archive, first);
         i < archive->losses.ngaps && archive->losses.gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(archive->losses.gaps[i][0], first);
        uint64_t high =
            min_u64(archive->losses.gaps[i][0] + archive->losses.gaps[i][1], first + count);
        missing += high > low ? high - low : 0;
    }
    return missing;
}

/* Whether the stream lacks sample `at`, and where the next sample lies of which that may differ. */
struct gap_seeker {
    const struct archive *archive;
    uint64_t number;
    uint64_t stack[2];
    int nstacks;
};

static int gap_seek(const struct gap_seeker *seeker, uint64_t at, uint64_t *next)
{
    const struct archive *archive = seeker->archive;
    uint64_t until = UINT64_MAX;
    size_t i = archive_gap_after(archive, at);
    if (i < archive->losses.ngaps) {
        until = archive->losses.gaps[i][0];
        if (until <= at) {
            *next = until + archive->losses.gaps[i][1];
            return 1;
        }
    }
    i = archive_stream_gap_after(archive, seeker->number, at);
    if (i < archive->losses.nstream_gaps &&
        archive->losses.stream_gaps[i].stream == seeker->number) {
        const struct archive_gap *gap = &archive->losses.stream_gaps[i];
        if (gap->first <= at) {
            *next = gap->first + gap->count;
            return 1;
        }
        until = min_u64(until, gap->first);
    }
    for (int k = 0; k < seeker->nstacks && !archive->losses.is_made; k++) {
        uint32_t p = archive_part_at(archive, seeker->stack[k], at);
        const struct archive_part *part = p < archive->nparts ? &archive->parts[p] : NULL;
        int is_there = part && part->stack == seeker->stack[k];
        if (!is_there || part->first_sample > at) {
            *next = is_there ? part->first_sample : UINT64_MAX;
            return 1;
        }
        until = min_u64(until, part->first_sample + part->samples);
        if (part->nruns > 0) {
            uint64_t local = at - part->first_sample;
            uint32_t r = archive_run_at(part, local);
            const struct archive_run *run = &part->runs[min_u64(r, part->nruns - 1)];
            int is_held = r < part->nruns && run->first_sample <= local;
            uint64_t end = is_held           ? run->first_sample + run->pieces * run->steps
                           : r < part->nruns ? run->first_sample
                                             : part->samples;
            if (!is_held) {
                *next = part->first_sample + end;
                return 1;
            }
            until = min_u64(until, part->first_sample + end);
        }
    }
    *next = until;
    return 0;
}

static struct gap_seeker gap_seek_of(const struct archive *archive, uint32_t stream)
{
    uint64_t index[AXIS_KINDS];
    struct gap_seeker seeker = {.archive = archive,
                                .number = archive_stream_number(archive, stream),
                                .nstacks = archive->shape.is_reim_stacked ? 2 : 1};
    archive_stream_index(archive, stream, index);
    for (int i = 0; i < seeker.nstacks; i++) {
        seeker.stack[i] = archive_stack_of(archive, index, i);
    }
    return seeker;
}

int archive_next_gap(const struct archive *archive, uint32_t stream, uint64_t at, uint64_t end,
                     uint64_t *first, uint64_t *count)
{
    const struct gap_seeker seeker = gap_seek_of(archive, stream);
    uint64_t next = at;
    *count = 0;
    for (; at < end; at = next) {
        int is_missing = gap_seek(&seeker, at, &next);
        next = min_u64(next, end);
        if (is_missing) {
            *first = *count > 0 ? *first : at;
            *count += next - at;
        } else if (*count > 0) {
            break;
        }
    }
    return *count > 0;
}

uint64_t archive_gap_of(const struct archive *archive, uint32_t stream, uint64_t first,
                        uint64_t count)
{
    const struct gap_seeker seeker = gap_seek_of(archive, stream);
    uint64_t missing = 0;
    uint64_t end = first + count;
    for (uint64_t at = first, next = 0; at < end; at = next) {
        int is_missing = gap_seek(&seeker, at, &next);
        next = min_u64(next, end);
        missing += is_missing ? next - at : 0;
    }
    return missing;
}

/* Whether what lies between the part's runs is in gaps of all streams. */
static int gap_has_runs(const struct archive *archive, const struct archive_part *part)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i <= part->nruns && part->nruns > 0; i++) {
        uint64_t begin = i < part->nruns ? part->runs[i].first_sample : part->samples;
        if (begin > at &&
            archive_gap_in(archive, part->first_sample + at, begin - at) < begin - at) {
            return 0;
        }
        at = i < part->nruns ? begin + part->runs[i].pieces * part->runs[i].steps : at;
    }
    return 1;
}

int archive_gaps_are_common(const struct archive *archive)
{
    uint64_t end = archive->count[AXIS_TIME];
    uint64_t at = 0; /* up to which the parts so far, of one place of the stack, go */
    for (uint32_t i = 0; i <= archive->nparts && !archive->losses.is_made; i++) {
        const struct archive_part *part = i < archive->nparts ? &archive->parts[i] : NULL;
        if (i > 0 && (!part || part->stack != archive->parts[i - 1].stack)) {
            if (at < end && archive_gap_in(archive, at, end - at) < end - at) {
                return 0;
            }
            at = 0;
        }
        if (part && part->first_sample > at &&
            archive_gap_in(archive, at, part->first_sample - at) < part->first_sample - at) {
            return 0;
        }
        at = part ? part->first_sample + part->samples : 0;
        if (part && !gap_has_runs(archive, part)) {
            return 0;
        }
    }
    return archive->losses.nstream_gaps == 0;
}

uint64_t archive_gap_of_streams(const struct archive *archive, uint32_t first_stream,
                                uint32_t nstreams, uint64_t first, uint64_t count)
{
    uint64_t missing = 0;
    if (archive_gaps_are_common(archive)) {
        return archive_gap_in(archive, first, count) * nstreams;
    }
    for (uint32_t i = 0; i < nstreams; i++) {
        missing += archive_gap_of(archive, first_stream + i, first, count);
    }
    return missing;
}

uint64_t archive_gap_samples(const struct archive *archive, uint64_t used)
{
    return archive_gap_of_streams(archive, 0, archive->nstreams, archive->first_sample, used);
}
