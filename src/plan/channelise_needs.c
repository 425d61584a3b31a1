/* From spectra back to rows of filters and samples of the archive. */
#include "plan/channelise_needs.h"

#include "base/memory.h"

status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows)
{
    status_t st = STATUS_OK;
    struct overlap_rows needs[NODE_DUMPS] = {
        [NODE_SPECTRA] = {(int64_t)first, (int64_t)(first + count)}};
    TRY(overlap_tree_needs(work->nodes, NODE_DUMPS, 0, needs));
    needs[NODE_SAMPLES].first += (int64_t)work->seen->first_sample;
    needs[NODE_SAMPLES].end += (int64_t)work->seen->first_sample;
    rows[0] = needs[NODE_SAMPLES];
    if (work->filters) {
        TRY(filter_plan_needs(work->filters, needs[NODE_SAMPLES], whole, rows));
    }
out:
    return st;
}

/* The last block answers for its overlap, too: nobody else sees it first. */
status_t channelise_plan_counted(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 struct overlap_rows *out)
{
    status_t st = STATUS_OK;
    struct overlap_rows mine[JOB_FILTERS + 1];
    struct overlap_rows next[JOB_FILTERS + 1];
    TRY(channelise_plan_samples(work, first, count, 0, mine));
    *out = mine[0];
    if (first + count < work->chunking.spectra) {
        TRY(channelise_plan_samples(work, first + count, 1, 0, next));
        out->end = next[0].first;
    }
out:
    return st;
}

uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t spectra)
{
    uint64_t rows[JOB_FILTERS + 1];
    rows[0] = channelise_plan_inputs(work, spectra);
    if (work->filters) {
        filter_plan_lengths(work->filters, rows[0], rows);
    }
    return rows[0];
}

uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t spectra)
{
    return overlap_inputs(&work->nodes[NODE_SPECTRA].stage, spectra) *
           work->banks[0].samples_per_spectrum;
}

uint64_t channelise_plan_piece(const struct channelise_plan *work)
{
    uint64_t samples = work->banks[0].samples_per_spectrum;
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        samples *= work->filters->stages[i].spec.decimate;
    }
    return samples;
}

uint64_t channelise_plan_shared(const struct channelise_plan *work)
{
    uint64_t rows =
        overlap_shared(&work->nodes[NODE_SPECTRA].stage) * work->banks[0].samples_per_spectrum;
    for (uint32_t i = work->filters ? work->filters->count : 0; i > 0; i--) {
        rows = overlap_shared_inputs(&work->filters->stages[i - 1].overlap, rows);
    }
    return min_u64(rows, work->archive->samples);
}
