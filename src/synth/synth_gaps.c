/* Gaps written out for each stream, put in order, and joined where they touch. */
#include "synth/synth_gaps.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static uint64_t synth_gaps_streams(const struct synth_spec *spec)
{
    return (uint64_t)spec->stations * spec->beams * spec->pols * spec->chans;
}

static int synth_gaps_have_streams(const struct synth_spec *spec)
{
    int have = 0;
    for (uint32_t i = 0; i < spec->ngaps; i++) {
        have |= spec->gaps[i].has_stream;
    }
    return have;
}

uint64_t synth_gaps_most(const struct synth_spec *spec)
{
    uint64_t each = synth_gaps_have_streams(spec) ? synth_gaps_streams(spec) : 1;
    uint64_t most = 0;
    for (uint32_t i = 0; i < spec->ngaps && most < UINT64_MAX; i++) {
        if (!add_u64(most, spec->gaps[i].has_stream ? 1 : each, &most)) {
            most = UINT64_MAX;
        }
    }
    return most;
}

/* By stream, then first sample. */
static int synth_gaps_compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return a[2] != b[2] ? (a[2] > b[2]) - (a[2] < b[2]) : (a[0] > b[0]) - (a[0] < b[0]);
}

static size_t synth_gaps_merge(uint64_t (*gaps)[3], size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t *last = kept > 0 ? gaps[kept - 1] : NULL;
        if (last && last[2] == gaps[i][2] && gaps[i][0] <= last[0] + last[1]) {
            last[1] = max_u64(last[0] + last[1], gaps[i][0] + gaps[i][1]) - last[0];
        } else {
            memmove(gaps[kept++], gaps[i], sizeof gaps[i]);
        }
    }
    return kept;
}

status_t synth_gaps_list(const struct synth_spec *spec, struct synth_gaps *out)
{
    status_t st = STATUS_OK;
    int have_streams = synth_gaps_have_streams(spec);
    uint64_t each = have_streams ? synth_gaps_streams(spec) : 1;
    uint64_t(*gaps)[3] = NULL;
    size_t count = 0;
    TRY(memory_zeroed((size_t)synth_gaps_most(spec), sizeof *gaps, "gaps", &gaps));
    for (uint32_t i = 0; i < spec->ngaps; i++) {
        const struct synth_gap *gap = &spec->gaps[i];
        for (uint64_t stream = 0; stream < (gap->has_stream ? 1 : each); stream++) {
            gaps[count][0] = gap->first;
            gaps[count][1] = gap->count;
            gaps[count++][2] = gap->has_stream ? gap->stream : stream;
        }
    }
    if (count > 0) {
        qsort(gaps, count, sizeof *gaps, synth_gaps_compare);
    }
    count = synth_gaps_merge(gaps, count);
    if (have_streams) {
        out->streams = gaps;
        gaps = NULL;
    } else {
        TRY(memory_zeroed(count, sizeof *out->all, "gaps", &out->all));
        for (size_t i = 0; i < count; i++) {
            memcpy(out->all[i], gaps[i], sizeof *out->all);
        }
    }
    out->count = count;
out:
    free(gaps);
    return st;
}
