/* From units and spectra back to rows of filters and samples of the archive. */
#include "plan/channelise_needs.h"

#include "base/memory.h"
#include "plan/array_plan.h"

/* From the spectra that are wanted of each bank. */
static status_t needs_find(const struct channelise_plan *work, struct overlap_rows *needs,
                           int whole, struct overlap_rows *rows)
{
    TRY(overlap_tree_needs(work->nodes, NODE_DUMPS, 0, needs));
    needs[NODE_SAMPLES].first += (int64_t)work->seen->first_sample;
    needs[NODE_SAMPLES].end += (int64_t)work->seen->first_sample;
    rows[0] = needs[NODE_SAMPLES];
    if (work->filters) {
        TRY(filter_plan_needs(work->filters, needs[NODE_SAMPLES], whole, rows));
    }
    return STATUS_OK;
}

status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows)
{
    struct overlap_rows needs[NODE_DUMPS] = {{0, 0}};
    for (uint32_t i = 0; i < work->nbanks; i++) {
        needs[NODE_SPECTRA(i)] = channelise_plan_spectra(&work->banks[i], first, count);
    }
    return needs_find(work, needs, whole, rows);
}

status_t channelise_plan_samples_of(const struct channelise_plan *work, uint32_t bank,
                                    uint64_t first, uint64_t count, int whole,
                                    struct overlap_rows *rows)
{
    struct overlap_rows needs[NODE_DUMPS] = {{0, 0}};
    needs[NODE_SPECTRA(bank)] = (struct overlap_rows){(int64_t)first, (int64_t)(first + count)};
    return needs_find(work, needs, whole, rows);
}

/* The last block also counts missing samples of its overlap: no other block reads them first. */
status_t channelise_plan_counted(const struct channelise_plan *work, uint32_t bank, uint64_t first,
                                 uint64_t count, struct overlap_rows *out)
{
    struct overlap_rows mine[FILTER_PLAN_ROWS];
    struct overlap_rows next[FILTER_PLAN_ROWS];
    TRY(channelise_plan_samples_of(work, bank, first, count, 0, mine));
    *out = mine[0];
    if (first + count < work->banks[bank].spectra) {
        TRY(channelise_plan_samples_of(work, bank, first + count, 1, 0, next));
        out->end = next[0].first;
    }
    return STATUS_OK;
}

uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t units)
{
    uint64_t rows[FILTER_PLAN_ROWS];
    rows[0] = channelise_plan_inputs(work, units);
    if (work->filters) {
        filter_plan_lengths(work->filters, rows[0], rows);
    }
    return rows[0] + array_plan_spread(work->array);
}

uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t units)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        most = max_u64(most, overlap_inputs(&work->nodes[NODE_SPECTRA(i)].stage,
                                            units * work->banks[i].ratio));
    }
    return most;
}

void channelise_plan_share_samples(const struct channelise_plan *work, uint32_t i, uint64_t units,
                                   struct channelise_spec *spec)
{
    spec->is_beside = i > 0;
    spec->most_samples = work->nbanks > 1 ? channelise_plan_inputs(work, units) : 0;
}

uint64_t channelise_plan_unit(const struct channelise_plan *work)
{
    return work->banks[0].ratio * work->banks[0].hop;
}

uint64_t channelise_plan_shared(const struct channelise_plan *work)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        rows = max_u64(rows, overlap_shared(&work->nodes[NODE_SPECTRA(i)].stage));
    }
    rows = work->filters ? filter_plan_shared(work->filters, rows) : rows;
    return min_u64(rows, work->archive->samples);
}
