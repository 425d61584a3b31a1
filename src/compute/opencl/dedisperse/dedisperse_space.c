/* Which shapes there are, and why others cannot be. */
#include "compute/opencl/dedisperse/dedisperse_space.h"

#include "base/memory.h"
#include "compute/opencl/dedisperse/dedisperse_cost.h"

#include <math.h>

enum {
    MOST_REGISTERS = 200,  /* of a work-item, for sums: the rest is left to work with */
    MOST_PACKED = 1 << 16, /* rows, until the high bytes of packed sums are full */
    MOST_OFFSET = 1 << 16  /* elements that a 16-bit offset into local memory reaches */
};

static uint64_t space_local_bytes(const struct dedisperse_shape_problem *p,
                                  const struct dedisperse_shape *s,
                                  const struct dedisperse_shape_spans *spans)
{
    uint64_t element = s->pack > 1 ? 4 : p->sample_bytes;
    uint64_t copies = s->staging == STAGING_COPIES ? s->pack : 1;
    uint64_t offset = s->staging == STAGING_FUNNEL ? 4 : 2;
    if (s->staging == STAGING_DIRECT) {
        return 0;
    }
    return ceil_div_u64(s->chunk * copies * dedisperse_shape_row_words(s, spans) * element, 16) *
               16 +
           offset * dedisperse_shape_tile_dms(s) * s->chunk;
}

static int space_is_chunk(const struct dedisperse_shape *s)
{
    return s->chunk >= 2 && s->chunk <= 32 && (s->chunk & (s->chunk - 1)) == 0;
}

/* Why a shape cannot be, without a look at the delays. */
static const char *space_objection(const struct dedisperse_shape_problem *p,
                                   const struct device_info *device,
                                   const struct dedisperse_shape *s)
{
    uint64_t group = (uint64_t)s->time_items * s->dm_items;
    int can_pack = !p->is_float && p->sample_bytes < 4 && s->pack == 4 / p->sample_bytes;
    return s->staging >= STAGING_STRIPS                        ? "there is no such staging"
           : s->pack != 1 && !can_pack                         ? "such words cannot be packed"
           : s->pack == 4 && p->nrows > MOST_PACKED            ? "too many channels for packed sums"
           : s->staging == STAGING_FUNNEL && s->pack == 1      ? "nothing is packed to be joined"
           : group < 1 || group > device->group_size           ? "work-groups of this size"
           : s->time_out < 1 || s->dm_out < 1                  ? "work-items without outputs"
           : s->time_out > 64 || s->dm_out > 64                ? "too many outputs"
           : !space_is_chunk(s)                                ? "chunks are 2, 4, 8, 16 or 32"
           : s->is_ptx && !device->is_nvidia                   ? "no device of NVIDIA's"
           : s->skew > 1 << 20                                 ? "too much skew"
           : dedisperse_shape_registers(p, s) > MOST_REGISTERS ? "too many registers"
           : device->is_gpu &&
                   group * (dedisperse_shape_registers(p, s) + WORK_REGISTERS) > UNIT_REGISTERS
               ? "too many registers for so many work-items"
               : NULL;
}

int dedisperse_space_fits(const struct dedisperse_shape_problem *p,
                          const struct device_info *device, const struct dedisperse_shape *s,
                          struct dedisperse_shape_spans *known, double *cost, const char **why)
{
    *cost = INFINITY;
    *why = space_objection(p, device, s);
    if (*why) {
        return 0;
    }
    dedisperse_shape_spans(p, s, known);
    uint64_t local = space_local_bytes(p, s, known);
    uint64_t copies = s->staging == STAGING_COPIES ? s->pack : 1;
    if (local > device->local_bytes) {
        *why = "local memory does not hold the rows with their delays";
        return 0;
    }
    if (s->staging != STAGING_DIRECT &&
        s->chunk * copies * dedisperse_shape_row_words(s, known) > MOST_OFFSET) {
        *why = "offsets into local memory beyond 16 bit";
        return 0;
    }
    *cost = dedisperse_cost(p, device, s, known, local);
    return 1;
}

/* The middle of what the rows' delays grow by from one DM to the next, in whole words. */
static uint32_t space_middle_slope(const struct dedisperse_shape_problem *p)
{
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    if (p->ndms < 2) {
        return 0;
    }
    for (uint32_t row = 0; row < p->nrows; row++) {
        uint32_t end = p->delays[(size_t)(p->ndms - 1) * p->nrows + row];
        uint32_t grown = end > p->delays[row] ? end - p->delays[row] : 0;
        least = grown < least ? grown : least;
        most = grown > most ? grown : most;
    }
    uint32_t slope = (least / 2 + most / 2) / (p->ndms - 1);
    return slope < 1 << 20 ? slope / 4 * 4 : 0;
}

/* Digit of *i in a mixed base; takes it off. */
static uint32_t space_digit(uint64_t *i, uint32_t base)
{
    uint32_t value = (uint32_t)(*i % base);
    *i /= base;
    return value;
}

/* Shape number i of the whole space, not all of which fit; 0 when there are no more. */
static int space_number(const struct dedisperse_shape_problem *p, uint32_t skew, uint64_t i,
                        struct dedisperse_shape *out)
{
    static const uint32_t time_outs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16};
    int packs = !p->is_float && p->sample_bytes < 4;
    out->is_ptx = space_digit(&i, 2);
    out->staging = space_digit(&i, STAGING_STRIPS);
    out->chunk = 2U << space_digit(&i, 5);
    out->time_out = time_outs[space_digit(&i, sizeof time_outs / sizeof *time_outs)];
    out->time_items = 16U << space_digit(&i, 6);
    out->pack = packs && space_digit(&i, 2) == 0 ? 4 / p->sample_bytes : 1;
    /* What changes spans comes last: those that are known serve long. */
    out->dm_items = 1U << space_digit(&i, 7);
    out->dm_out = 1U << space_digit(&i, 4);
    out->skew = skew > 0 && space_digit(&i, 2) == 1 ? skew : 0;
    return i == 0;
}

/* Whether a shape of the space is worth a candidate: PTX, where it is understood, is never worse,
 * and tiles of far more DMs than there are waste the rest. */
static int space_is_sensible(const struct dedisperse_shape_problem *p,
                             const struct device_info *device, const struct dedisperse_shape *s)
{
    return s->is_ptx == (uint32_t)device->is_nvidia &&
           dedisperse_shape_tile_dms(s) < 2 * (uint64_t)p->ndms;
}

struct dedisperse_shape dedisperse_space_best(const struct dedisperse_shape_problem *p,
                                              const struct device_info *device)
{
    /* What fits everywhere. */
    struct dedisperse_shape best = {
        .pack = 1, .time_items = 1, .dm_items = 1, .time_out = 1, .dm_out = 1, .chunk = 2};
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans = {0};
    const char *why = NULL;
    double least = INFINITY;
    uint32_t skew = space_middle_slope(p);
    for (uint64_t i = 0; space_number(p, skew, i, &shape); i++) {
        double cost = INFINITY;
        if (space_is_sensible(p, device, &shape) &&
            dedisperse_space_fits(p, device, &shape, &spans, &cost, &why) && cost < least) {
            least = cost;
            best = shape;
        }
    }
    return best;
}

status_t dedisperse_space_candidates(const struct dedisperse_shape_problem *p,
                                     const struct device_info *device,
                                     struct dedisperse_candidate **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    struct dedisperse_candidate *list = NULL;
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans = {0};
    const char *why = NULL;
    uint32_t skew = space_middle_slope(p);
    uint64_t all = 0;
    uint32_t n = 0;
    while (space_number(p, skew, all, &shape)) {
        all++;
    }
    TRY(memory_zeroed(all, sizeof *list, "shapes", &list));
    for (uint64_t i = 0; space_number(p, skew, i, &shape); i++) {
        if (space_is_sensible(p, device, &shape) &&
            dedisperse_space_fits(p, device, &shape, &spans, &list[n].cost, &why)) {
            list[n++].shape = shape;
        }
    }
    *out = list;
    *count = n;
out:
    return st;
}
