/* The voltages that a stage leaves, and their gaps. */
#include "plan/stage_plan.h"

#include "base/memory.h"

#include <stdlib.h>

void stage_plan_see(const struct archive *in, int is_complex, double sample_rate_hz,
                    double offset_seconds, struct stage_plan *plan)
{
    struct archive *seen = &plan->seen;
    *seen = *in;
    seen->format = SAMPLE_F32;
    seen->is_complex = is_complex;
    seen->sample_rate_hz = sample_rate_hz;
    seen->stored.has_missing_value = 0;
    seen->scale = 1;
    seen->losses.is_made = 1;
    seen->losses.lost = NULL;
    seen->losses.nlost = 0;
    seen->losses.gaps = NULL;
    seen->losses.ngaps = 0;
    seen->losses.stream_gaps = NULL;
    seen->losses.nstream_gaps = 0;
    seen->offset_seconds = in->offset_seconds + offset_seconds;
    seen->first_sample = (uint64_t)plan->rows.first;
    seen->samples = (uint64_t)(plan->rows.end - plan->rows.first);
}

/* Rows that are made of samples of a gap alone. */
static status_t stage_rows_of_gap(const struct stage_plan *plan, uint64_t first, uint64_t count,
                                  struct overlap_rows *out)
{
    const struct overlap_rows gap = {(int64_t)first, (int64_t)(first + count)};
    status_t st = overlap_makes(&plan->reach, 0, gap, out);
    *out = overlap_common(*out, plan->rows);
    return st;
}

/* The first samples at or behind `at` that all that becomes stream `s` lacks: *first, *count. */
static int stage_next_gap(const struct archive *in, uint32_t fan, uint32_t s, uint64_t at,
                          uint64_t end, uint64_t *first, uint64_t *count)
{
    uint64_t low = at;
    uint64_t high = end;
    for (uint32_t c = 0; c < fan;) {
        uint64_t its = 0;
        uint64_t length = 0;
        if (!archive_next_gap(in, s * fan + c, low, end, &its, &length)) {
            return 0;
        }
        int is_later = its > low && c > 0;
        low = max_u64(low, its);
        high = is_later || c == 0 ? its + length : min_u64(high, its + length);
        c = is_later ? 0 : c + 1;
    }
    *first = low;
    *count = high - low;
    return high > low;
}

/* Of single streams. */
static status_t stage_see_stream_gaps(const struct archive *in, struct stage_plan *plan)
{
    status_t st = STATUS_OK;
    struct archive *seen = &plan->seen;
    size_t *found = &seen->losses.nstream_gaps;
    const uint64_t end = in->first_sample + in->samples;
    for (uint32_t s = 0; s < seen->nstreams; s++) {
        uint64_t first = 0;
        uint64_t count = 0;
        for (uint64_t at = in->first_sample;
             stage_next_gap(in, plan->fan, s, at, end, &first, &count); at = first + count) {
            struct overlap_rows rows;
            TRY(memory_grow(&plan->stream_gaps, *found, sizeof *plan->stream_gaps, "gaps"));
            TRY(stage_rows_of_gap(plan, first, count, &rows));
            if (rows.end > rows.first) {
                plan->stream_gaps[(*found)++] =
                    (struct archive_gap){.stream = archive_stream_number(seen, s),
                                         .first = (uint64_t)rows.first,
                                         .count = (uint64_t)(rows.end - rows.first)};
            }
        }
    }
    archive_gaps_sort(plan->stream_gaps, *found);
    seen->losses.stream_gaps = plan->stream_gaps;
out:
    return st;
}

status_t stage_plan_see_gaps(const struct archive *in, struct stage_plan *plan)
{
    status_t st = STATUS_OK;
    struct archive_losses *losses = &plan->seen.losses;
    const int are_common = archive_gaps_are_common(in);
    TRY(are_common ? STATUS_OK : stage_see_stream_gaps(in, plan));
    TRY(memory_zeroed(in->losses.ngaps, sizeof *plan->gaps, "gaps", &plan->gaps));
    losses->gaps = plan->gaps;
    for (size_t i = 0; i < in->losses.ngaps && (are_common || plan->fan == 1); i++) {
        struct overlap_rows rows;
        TRY(stage_rows_of_gap(plan, in->losses.gaps[i][0], in->losses.gaps[i][1], &rows));
        if (rows.end > rows.first) {
            plan->gaps[losses->ngaps][0] = (uint64_t)rows.first;
            plan->gaps[losses->ngaps++][1] = (uint64_t)(rows.end - rows.first);
        }
    }
out:
    return st;
}

void stage_plan_free(struct stage_plan *plan)
{
    free(plan->freq_hz);
    free(plan->delay_hz);
    free(plan->selected);
    free(plan->gaps);
    free(plan->stream_gaps);
}
