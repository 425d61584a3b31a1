/* The arithmetic of which rows a stage needs and makes: signed, rational, checked. */
#include "dsp/overlap.h"

#include "base/memory.h"

struct overlap overlap_filter_bank(uint64_t samples, uint32_t taps, uint64_t hop)
{
    return (struct overlap){.hop = (int64_t)hop, .per = 1, .length = (int64_t)(samples * taps)};
}

struct overlap overlap_filter(uint32_t taps, int64_t first, uint32_t decimate, uint64_t grain)
{
    return (struct overlap){
        .hop = decimate, .per = 1, .grain = (int64_t)grain, .first = first, .length = taps};
}

/* Row n needs the spectra s with first <= n - s hop < first + length. */
struct overlap overlap_synthesise(uint64_t length, int64_t first, uint64_t hop)
{
    const int64_t per = (int64_t)hop;
    const int64_t least = overlap_floor(-first - (int64_t)length + per, per);
    const int64_t most = overlap_floor(per - 1 - first, per);
    return (struct overlap){.hop = 1, .per = per, .first = least, .length = most - least + 1};
}

struct overlap overlap_sum(uint64_t count)
{
    int64_t rows = (int64_t)min_u64(count, INT64_MAX);
    return (struct overlap){.hop = rows, .per = 1, .length = rows};
}

struct overlap overlap_delays(const uint32_t *least, const uint32_t *most)
{
    return (struct overlap){.hop = 1, .per = 1, .length = 1, .least = least, .most = most};
}

struct overlap overlap_delay(uint32_t least, uint32_t most)
{
    return (struct overlap){
        .hop = 1, .per = 1, .first = least, .length = (int64_t)most - least + 1};
}

struct overlap_rows overlap_reach(const struct overlap *stage, uint32_t stream)
{
    return (struct overlap_rows){.first = stage->first + (stage->least ? stage->least[stream] : 0),
                                 .end = stage->first + stage->length +
                                        (stage->most ? stage->most[stream] : 0)};
}

/* *out = floor(row mul / div) + add; returns 0 when it does not fit. */
static int overlap_scale(int64_t row, int64_t mul, int64_t div, int64_t add, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(row, mul, &product)) {
        return 0;
    }
    return !__builtin_add_overflow(overlap_floor(product, div), add, out);
}

static status_t overlap_too_far(struct overlap_rows rows)
{
    return report_fail(STATUS_USAGE, "rows %lld .. %lld are too far away for any observation",
                       (long long)rows.first, (long long)rows.end);
}

/* The rows of all grains that some rows belong to; returns 0 when they do not fit. */
static int overlap_whole_grains(const struct overlap *stage, struct overlap_rows *rows)
{
    int64_t grain = stage->grain;
    return grain <= 1 || (overlap_scale(rows->first, 1, grain, 0, &rows->first) &&
                          overlap_scale(rows->end - 1, 1, grain, 1, &rows->end) &&
                          !__builtin_mul_overflow(rows->first, grain, &rows->first) &&
                          !__builtin_mul_overflow(rows->end, grain, &rows->end));
}

status_t overlap_needs(const struct overlap *stage, uint32_t stream, struct overlap_rows rows,
                       struct overlap_rows *out)
{
    struct overlap_rows reach = overlap_reach(stage, stream);
    struct overlap_rows found = {0, 0};
    if (rows.end > rows.first &&
        (!overlap_whole_grains(stage, &rows) ||
         !overlap_scale(rows.first, stage->hop, stage->per, reach.first, &found.first) ||
         !overlap_scale(rows.end - 1, stage->hop, stage->per, reach.end, &found.end))) {
        return overlap_too_far(rows);
    }
    *out = found;
    return STATUS_OK;
}

/* Sets *out to the first row whose hop is at input row `row` or after it. */
static int overlap_first_from(const struct overlap *stage, int64_t row, int64_t *out)
{
    /* ceil(a / b) = floor((a - 1) / b) + 1 */
    int64_t product;
    if (__builtin_mul_overflow(row, stage->per, &product) ||
        __builtin_sub_overflow(product, 1, &product)) {
        return 0;
    }
    return overlap_scale(product, 1, stage->hop, 1, out);
}

status_t overlap_makes(const struct overlap *stage, uint32_t stream, struct overlap_rows rows,
                       struct overlap_rows *out)
{
    struct overlap_rows reach = overlap_reach(stage, stream);
    struct overlap_rows found = {0, 0};
    int64_t first;
    int64_t end;
    if (rows.end > rows.first && (__builtin_sub_overflow(rows.first, reach.first, &first) ||
                                  __builtin_sub_overflow(rows.end, reach.end - 1, &end) ||
                                  !overlap_first_from(stage, first, &found.first) ||
                                  !overlap_first_from(stage, end, &found.end))) {
        return overlap_too_far(rows);
    }
    *out = found.end > found.first ? found : (struct overlap_rows){0, 0};
    return STATUS_OK;
}

uint64_t overlap_inputs(const struct overlap *stage, uint64_t rows)
{
    struct overlap_rows reach = overlap_reach(stage, 0);
    uint64_t hops;
    uint64_t inputs;
    uint64_t grain = (uint64_t)stage->grain;
    if (rows == 0) {
        return 0;
    }
    if (grain > 1) { /* however the rows lie in their grains */
        rows = ceil_div_u64(rows - 1, grain) * grain + grain;
    }
    int fits = multiply_u64(rows - 1, (uint64_t)stage->hop, &hops) &&
               add_u64(ceil_div_u64(hops, (uint64_t)stage->per),
                       (uint64_t)(reach.end - reach.first), &inputs);
    return fits ? inputs : UINT64_MAX;
}

uint64_t overlap_ends(const struct overlap *stage, uint64_t rows)
{
    uint64_t hops;
    int fits = multiply_u64(rows, (uint64_t)stage->per, &hops);
    return fits ? hops / (uint64_t)stage->hop + 1 : UINT64_MAX;
}

uint64_t overlap_shared(const struct overlap *stage)
{
    uint64_t one = overlap_inputs(stage, 1);
    return one - min_u64(one, (uint64_t)(stage->hop / stage->per));
}

/* Either range has its last grain to itself up to the grain's middle, on average. */
uint64_t overlap_shared_inputs(const struct overlap *stage, uint64_t rows)
{
    struct overlap_rows reach = overlap_reach(stage, 0);
    uint64_t grain = max_u64((uint64_t)stage->grain, 1);
    uint64_t hops;
    uint64_t all;
    if (!add_u64(rows, grain - 1, &rows) || !multiply_u64(rows, (uint64_t)stage->hop, &hops) ||
        !add_u64(ceil_div_u64(hops, (uint64_t)stage->per), (uint64_t)(reach.end - reach.first),
                 &all)) {
        return UINT64_MAX;
    }
    return all - min_u64(all, (uint64_t)(stage->hop / stage->per));
}

struct overlap_rows overlap_union(struct overlap_rows a, struct overlap_rows b)
{
    if (a.end <= a.first || b.end <= b.first) {
        return a.end <= a.first ? b : a;
    }
    return (struct overlap_rows){a.first < b.first ? a.first : b.first,
                                 a.end > b.end ? a.end : b.end};
}

struct overlap_rows overlap_common(struct overlap_rows a, struct overlap_rows b)
{
    return (struct overlap_rows){a.first > b.first ? a.first : b.first,
                                 a.end < b.end ? a.end : b.end};
}

status_t overlap_tree_needs(const struct overlap_node *nodes, uint32_t count, uint32_t stream,
                            struct overlap_rows *rows)
{
    for (uint32_t i = count - 1; i > 0; i--) {
        struct overlap_rows needed = {0, 0};
        TRY(overlap_needs(&nodes[i].stage, stream, rows[i], &needed));
        rows[nodes[i].input] = overlap_union(rows[nodes[i].input], needed);
    }
    return STATUS_OK;
}

status_t overlap_tree_makes(const struct overlap_node *nodes, uint32_t count, uint32_t stream,
                            struct overlap_rows *rows)
{
    for (uint32_t i = 1; i < count; i++) {
        TRY(overlap_makes(&nodes[i].stage, stream, rows[nodes[i].input], &rows[i]));
    }
    return STATUS_OK;
}
