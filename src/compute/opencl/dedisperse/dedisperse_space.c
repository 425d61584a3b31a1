/* Which shapes there are, why others cannot be, and what each costs by a model. */
#include "compute/opencl/dedisperse/dedisperse_space.h"

#include "base/memory.h"
#include "compute/opencl/dedisperse/tree_tables.h"

#include <math.h>
#include <stdlib.h>

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

/* Returns why a shape of any kind is impossible, whatever the delays are; NULL: possible. */
static const char *space_objection(const struct dedisperse_shape_problem *p,
                                   const struct device_info *device,
                                   const struct dedisperse_shape *s)
{
    uint64_t group = (uint64_t)s->time_items * s->dm_items;
    return group < 1 || group > device->group_size             ? "work-groups of this size"
           : s->time_out < 1 || s->dm_out < 1                  ? "work-items without outputs"
           : s->time_out > 64 || s->dm_out > 64                ? "too many outputs"
           : s->is_ptx && !device->is_nvidia                   ? "no device of NVIDIA's"
           : s->skew > 1 << 20                                 ? "too much skew"
           : dedisperse_shape_registers(p, s) > MOST_REGISTERS ? "too many registers"
           : device->is_gpu &&
                   group * (dedisperse_shape_registers(p, s) + WORK_REGISTERS) > UNIT_REGISTERS
               ? "too many registers for so many work-items"
               : NULL;
}

/* Returns likewise why a shape of brute force is impossible. */
static const char *space_objection_to_brute(const struct dedisperse_shape_problem *p,
                                            const struct device_info *device,
                                            const struct dedisperse_shape *s)
{
    int can_pack = !p->is_float && p->sample_bytes < 4 && s->pack == 4 / p->sample_bytes;
    return s->staging >= STAGING_STRIPS                   ? "there is no such staging"
           : s->pack != 1 && !can_pack                    ? "such words cannot be packed"
           : s->pack == 4 && p->nrows > MOST_PACKED       ? "too many channels for packed sums"
           : s->staging == STAGING_FUNNEL && s->pack == 1 ? "nothing is packed to be joined"
           : !space_is_chunk(s)                           ? "chunks are 2, 4, 8, 16 or 32"
                                                          : space_objection(p, device, s);
}

/* Returns likewise why a shape of a tree is impossible. */
static const char *space_objection_to_tree(const struct dedisperse_shape_problem *p,
                                           const struct device_info *device,
                                           const struct dedisperse_shape *s)
{
    int can_pack = p->sample_bytes == 1 && s->pack == 2;
    return s->staging != STAGING_DIRECT             ? "trees read rows directly"
           : s->pack != 1 && !can_pack              ? "such words cannot be packed"
           : s->pack == 2 && p->nrows > MOST_PACKED ? "too many channels for packed sums"
           : s->pack == 2 && s->time_out % 2 != 0   ? "packed sums are pairs of words"
           : s->time_items * (uint64_t)s->time_out / s->pack % 4 != 0 ||
                   s->dm_items * (uint64_t)s->dm_out % 4 != 0
               ? "tiles are no multiples of four"
           : s->group != 4 && s->group != 8 && s->group != 16 ? "groups have 4, 8 or 16 channels"
           : !space_is_chunk(s) || s->chunk % s->group != 0   ? "chunks are 1, 2, 4 or 8 groups"
                                                              : space_objection(p, device, s);
}

/* Groups of a compute unit at a time, by what Volta to Hopper have: 65,536 registers, 228 KiB,
 * 2,048 work-items. */
static double space_cost_resident(const struct dedisperse_shape_problem *p,
                                  const struct dedisperse_shape *s, uint64_t local)
{
    double group = (double)s->time_items * s->dm_items;
    double registers = fmin(255, dedisperse_shape_registers(p, s) + WORK_REGISTERS);
    double groups = floor(UNIT_REGISTERS / (registers * group));
    groups = fmin(groups, floor(2048 / group));
    groups = local > 0 ? fmin(groups, floor(220. * 1024 / (double)(local + 1024))) : groups;
    return fmax(groups, 1);
}

/* Work-items that read neighbouring words read them at once; a group of 32 that reads two rows
 * meets in the same banks half of the time. An even distance in the funnel does so, too. */
static double space_cost_conflicts(const struct dedisperse_shape *s)
{
    double rows = s->time_items < 32 ? 1 + 0.25 * (32. / s->time_items) : 1;
    uint32_t even = s->time_out & -s->time_out;
    return rows * (s->staging == STAGING_FUNNEL ? (even < 8 ? even : 8) : 1);
}

/* The longer of two that run side by side; what of the other shows. */
static double space_cost_beside(double a, double b)
{
    return fmax(a, b) + 0.1 * fmin(a, b);
}

/* Clocks of a compute unit for one word of one row and DM when nothing waits: 64 integer
 * operations, 32 words of local memory or L1 and 24 bytes of L2 a clock (NVIDIA, CUDA C programming
 * guide: arithmetic throughput; an H200's L2). The factors fit some thirty shapes that were timed
 * on an H200, most of them to 15 %. */
static double space_cost_clocks_of_word(const struct dedisperse_shape_problem *p,
                                        const struct dedisperse_shape *s,
                                        const struct dedisperse_shape_spans *spans)
{
    double per_item = s->time_out;
    double tile = (double)s->time_items * s->time_out;
    double bytes = s->pack > 1 ? 4 : p->sample_bytes;
    double adds = s->pack > 1 ? (s->is_ptx ? 2 : 3) : (p->is_float ? 0.6 : 1);
    double copies = s->staging == STAGING_COPIES ? s->pack : 1;
    double staged = dedisperse_shape_row_words(s, spans) / (tile * dedisperse_shape_tile_dms(s));
    if (s->staging == STAGING_DIRECT) {
        /* Words that come from L2 for each that is added; two are read to be joined, the second
         * one where the first was. */
        double fresh = (tile + spans->mean / s->pack) / (tile * dedisperse_shape_tile_dms(s));
        double joins = s->pack > 1 ? 1 : 0;
        double loads =
            1.2 * (1 + 1 / per_item) * (s->pack > 1 ? 1 : 0.75) * space_cost_conflicts(s);
        return space_cost_beside((adds + joins + 4 / per_item) / 64, loads / 32) +
               0.15 * fresh * bytes / 24;
    }
    int is_funnel = s->staging == STAGING_FUNNEL;
    double joins = is_funnel ? 1.5 : 0;
    double loads = is_funnel ? (per_item + 1) / per_item : 1;
    double looks = is_funnel ? 1 : 0.5;
    double operations = (adds + joins + 3 * looks / per_item + staged * (2 + 0.7 * copies)) / 64;
    double local = (loads * space_cost_conflicts(s) + looks / per_item + staged * copies) / 32;
    return space_cost_beside(operations, local) + (is_funnel ? 0.3 : 0.05) * staged * bytes / 24;
}

/* Cost of the wait for a chunk's rows and of its two barriers; direct loads wait for each row.
 * Every further group of the unit fills two thirds of it. (Over 1,223 shapes of LOFAR's 1,024 DMs
 * on an H200, shapes within twice the best are predicted with a scatter of 16 %.) */
static double space_cost_waiting(const struct dedisperse_shape_problem *p,
                                 const struct dedisperse_shape *s,
                                 const struct dedisperse_shape_spans *spans, double groups)
{
    const double latency = 1400;
    const double row_latency = 315;
    const double barrier = 30;
    double words = (double)s->time_items * s->time_out * dedisperse_shape_tile_dms(s) * s->chunk;
    double bytes =
        (s->pack > 1 ? 4.0 : p->sample_bytes) * dedisperse_shape_row_words(s, spans) * s->chunk;
    int is_direct = s->staging == STAGING_DIRECT;
    double wait = is_direct ? barrier + row_latency * s->chunk : latency + bytes / 24;
    double others = groups - 1;
    return 1 + wait * pow(0.36, others) / (words * space_cost_clocks_of_word(p, s, spans));
}

/* Cost of register spills (items of a group of 512 have 128 registers each), and of more direct
 * loads at once than the compiler can keep. */
static double space_cost_spilling(const struct dedisperse_shape_problem *p,
                                  const struct dedisperse_shape *s)
{
    static const double beside_sums[] = {
        [STAGING_DIRECT] = 40, [STAGING_FUNNEL] = 45, [STAGING_COPIES] = 30};
    double group = fmax(ceil(s->time_items * s->dm_items / 32.0) * 32, 1);
    double there = fmin(255, floor(UNIT_REGISTERS / group / 8) * 8);
    double wanted = dedisperse_shape_registers(p, s) + beside_sums[s->staging];
    double outputs = fmax(s->time_out * s->dm_out - 32.0, 0);
    double loads = fmax(s->time_out - 8.0, 0);
    return 1 + 8 * fmax(wanted - there, 0) / there +
           (s->staging == STAGING_DIRECT ? outputs / 100 + loads / 40 : 0);
}

/* On processors there is nothing to hide behind: the simplest, in long runs. */
static double space_cost_clocks_on_host(const struct dedisperse_shape *s)
{
    double run = (double)s->time_items * s->time_out;
    return (s->staging == STAGING_DIRECT ? 1 : 1.5) * (1 + 16 / run + 2. / s->time_out) *
           (s->pack == 1 ? 1 : 0.8) * (s->dm_items > 1 ? 1.5 : 1) * (s->dm_out > 1 ? 1.2 : 1);
}

/* Seconds of a shape by the model, for comparison only: what binds a compute unit, what its groups
 * wait for, and what does not fit. `local` bytes of local memory are what a group takes. */
static double space_cost(const struct dedisperse_shape_problem *p, const struct device_info *device,
                         const struct dedisperse_shape *s,
                         const struct dedisperse_shape_spans *spans, uint64_t local)
{
    const double clock = 1.75e9;
    const double memory = 4e12; /* bytes a second */
    double samples = (double)p->samples + spans->skew * (dedisperse_shape_tile_dms(s) - 1.0);
    double tiles = ceil(samples / dedisperse_shape_tile_samples(s)) * spans->ntiles;
    double words = tiles * s->time_items * s->time_out * dedisperse_shape_tile_dms(s) *
                   dedisperse_shape_padded(p, s);
    if (!device->is_gpu) {
        return words * space_cost_clocks_on_host(s) / (device->units * clock);
    }
    /* Waves of groups, the last one not full; where there are few, units that have none. */
    double groups = fmin(space_cost_resident(p, s, local), ceil(tiles / device->units));
    double warps = groups * ceil(s->time_items * s->dm_items / 32.0);
    double waves = tiles / (groups * device->units);
    double idle = ceil(waves) / waves;
    double starved = warps * sqrt(fmin(s->time_out * s->dm_out, 16.0)) / 36;
    double clocks =
        words * space_cost_clocks_of_word(p, s, spans) * space_cost_spilling(p, s) / device->units;
    double written = (double)p->samples * p->ndms * sizeof(float) / memory;
    return clocks * idle * space_cost_waiting(p, s, spans, groups) / fmin(1, starved) / clock +
           written;
}

/* Seconds of a tree by the words of local memory alone, those that are added, those read and
 * written for a unit of a pattern, and those staged; and by what a phase waits for. The factors fit
 * shapes of 64 and 32 sums a work-item, of three telescopes on an H200, to 6 %. */
static double space_tree_cost(const struct dedisperse_shape_problem *p,
                              const struct device_info *device, const struct dedisperse_shape *s,
                              const struct tree_tables *tables, uint64_t local)
{
    const double clock = 1.75e9;
    const double wait = 730; /* clocks of a phase */
    double pieces = ceil((double)(p->samples + (uint64_t)s->skew * dedisperse_shape_tile_dms(s)) /
                         dedisperse_shape_tile_samples(s));
    double added = pieces * (double)tables->added * (1 + 1.0 / s->time_out);
    double made = pieces * (double)tables->made / s->pack * (s->group + s->pack);
    double staged = pieces * (double)tables->staged;
    if (!device->is_gpu) {
        return (added + made + staged) * space_cost_clocks_on_host(s) / (device->units * clock);
    }
    double warps = ceil(s->time_items * s->dm_items / 32.0);
    double resident = space_cost_resident(p, s, local);
    double waves = pieces * tables->ntiles / (resident * device->units);
    double clocks =
        0.9 * (added + made + staged) / 32 + wait * pieces * (double)tables->phases / resident;
    return clocks / (device->units * clock) * ceil(waves) / waves / fmin(1, resident * warps / 16);
}

/* As dedisperse_space_fits(); some tiles of DMs stand for all. */
static int space_tree_fits(const struct dedisperse_shape_problem *p,
                           const struct device_info *device, const struct dedisperse_shape *s,
                           struct dedisperse_shape_spans *known, double *cost, const char **why)
{
    enum { LOOKED_AT = 3 };
    struct tree_tables tables = {0};
    uint32_t ntiles = (uint32_t)ceil_div_u64(p->ndms, dedisperse_shape_tile_dms(s));
    uint32_t every = ntiles / LOOKED_AT > 0 ? ntiles / LOOKED_AT : 1;
    *why = space_objection_to_tree(p, device, s);
    if (*why) {
        return 0;
    }
    dedisperse_shape_spans(p, s, known);
    *why = "out of memory";
    if (tree_tables_create(p, s, known, device->local_bytes, every, &tables) != STATUS_OK) {
        report_clear();
        return 0;
    }
    *why = tables.fits ? NULL : "local memory does not hold the patterns' sums";
    *cost =
        *why ? INFINITY : space_tree_cost(p, device, s, &tables, tree_tables_local_bytes(&tables));
    tree_tables_free(&tables);
    return !*why;
}

int dedisperse_space_fits(const struct dedisperse_shape_problem *p,
                          const struct device_info *device, const struct dedisperse_shape *s,
                          struct dedisperse_shape_spans *known, double *cost, const char **why)
{
    *cost = INFINITY;
    if (s->group > 0) {
        return space_tree_fits(p, device, s, known, cost, why);
    }
    *why = space_objection_to_brute(p, device, s);
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
    *cost = space_cost(p, device, s, known, local);
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

/* Three quarters of the middle row's, in samples: trees need no whole words. (Of all whole numbers
 * the best on an H200 for CHIME and Apertif, for MeerKAT within half a percent.) */
static uint32_t space_slope_of_tree(const struct dedisperse_shape_problem *p)
{
    uint32_t row = p->nrows / 2;
    uint32_t end = p->ndms > 1 ? p->delays[(size_t)(p->ndms - 1) * p->nrows + row] : 0;
    uint32_t grown = p->ndms > 1 && end > p->delays[row] ? end - p->delays[row] : 0;
    double slope = p->ndms > 1 ? floor(0.75 * grown / (p->ndms - 1) + 0.5) : 0;
    return slope < 1 << 20 ? (uint32_t)slope : 0;
}

/* Shape number i of the whole space, not all of which fit; 0 when there are no more. */
static int space_number(const struct dedisperse_shape_problem *p, uint32_t skew, uint64_t i,
                        struct dedisperse_shape *out)
{
    static const uint32_t time_outs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16};
    int packs = !p->is_float && p->sample_bytes < 4;
    out->is_ptx = take_digit(&i, 2);
    out->staging = take_digit(&i, STAGING_STRIPS);
    out->chunk = 2U << take_digit(&i, 5);
    out->time_out = time_outs[take_digit(&i, sizeof time_outs / sizeof *time_outs)];
    out->time_items = 16U << take_digit(&i, 6);
    out->pack = packs && take_digit(&i, 2) == 0 ? 4 / p->sample_bytes : 1;
    /* Parameters that change the spans come last, so that known spans are reused for long. */
    out->dm_items = 1U << take_digit(&i, 7);
    out->dm_out = 1U << take_digit(&i, 4);
    out->skew = skew > 0 && take_digit(&i, 2) == 1 ? skew : 0;
    out->group = 0;
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

/* Tree number i of the space; 0 when there are no more. What patterns depend on comes last. */
static int space_tree_number(const struct dedisperse_shape_problem *p,
                             const struct device_info *device, uint32_t skew, uint64_t i,
                             struct dedisperse_shape *out)
{
    static const uint32_t time_outs[4] = {2, 4, 8, 16};
    int packs = p->sample_bytes == 1;
    *out = (struct dedisperse_shape){
        .staging = STAGING_DIRECT, .pack = packs ? 2 : 1, .is_ptx = (uint32_t)device->is_nvidia};
    out->time_out = time_outs[take_digit(&i, 4)];
    out->time_items = device->is_gpu ? 32U << take_digit(&i, 2) : 64;
    out->dm_items = device->is_gpu ? 4U << take_digit(&i, 4) : 1;
    out->dm_out = 4U << take_digit(&i, 3);
    out->group = 4U << take_digit(&i, 3);
    out->chunk = 8U << take_digit(&i, 2);
    out->chunk = out->chunk > out->group ? out->chunk : out->group;
    out->skew = skew > 0 && take_digit(&i, 2) == 1 ? skew : 0;
    return i == 0;
}

static int space_is_sensible_tree(const struct dedisperse_shape_problem *p,
                                  const struct dedisperse_shape *s)
{
    uint32_t dms = dedisperse_shape_tile_dms(s);
    return (dms >= 16 || dms >= p->ndms) && dms <= 256 && dms < 2 * (uint64_t)p->ndms &&
           dedisperse_shape_tile_samples(s) >= 128;
}

/* Tiles as they are usually good: each look at the patterns takes milliseconds. */
static int space_is_usual_tree(const struct device_info *device, const struct dedisperse_shape *s)
{
    uint32_t sums = s->dm_out * s->time_out;
    if (!device->is_gpu) {
        return s->chunk == s->group && s->group == 8 && sums <= 64;
    }
    int is_usual = s->group == 4 && s->time_items == 32 && s->time_out >= 4;
    return is_usual &&
           (s->pack == 2 ? s->chunk <= 16 && s->dm_items == 8 && s->dm_out == 4 && sums <= 64
                         : s->dm_items <= 16 && s->dm_items >= 8 && sums <= 64);
}

/* The cheapest tree that costs less than *least seconds, which it sets; {0}: none. */
static struct dedisperse_shape space_best_tree(const struct dedisperse_shape_problem *p,
                                               const struct device_info *device, double *least)
{
    struct dedisperse_shape best = {0};
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans = {0};
    const char *why = NULL;
    uint32_t skew = space_slope_of_tree(p);
    for (uint64_t i = 0; space_tree_number(p, device, skew, i, &shape); i++) {
        double cost = INFINITY;
        if (space_is_usual_tree(device, &shape) &&
            dedisperse_space_fits(p, device, &shape, &spans, &cost, &why) && cost < *least) {
            *least = cost;
            best = shape;
        }
    }
    return best;
}

struct dedisperse_shape dedisperse_space_best(const struct dedisperse_shape_problem *p,
                                              const struct device_info *device)
{
    /* The shape that every device can run. */
    struct dedisperse_shape best = {
        .pack = 1, .time_items = 1, .dm_items = 1, .time_out = 1, .dm_out = 1, .chunk = 2};
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans = {0};
    const char *why = NULL;
    double least = INFINITY;
    uint32_t skew = space_middle_slope(p);
    if (p->mode == DEDISPERSE_TREE) {
        shape = space_best_tree(p, device, &least);
        best = shape.group > 0 ? shape : best;
    }
    for (uint64_t i = 0; best.group == 0 && space_number(p, skew, i, &shape); i++) {
        double cost = INFINITY;
        if (space_is_sensible(p, device, &shape) &&
            dedisperse_space_fits(p, device, &shape, &spans, &cost, &why) && cost < least) {
            least = cost;
            best = shape;
        }
    }
    /* The two models were compared on a GPU alone. */
    if (p->mode == DEDISPERSE_AUTO && p->nranges == 1 && device->is_gpu) {
        shape = space_best_tree(p, device, &least);
        best = shape.group > 0 ? shape : best;
    }
    return best;
}

/* Adds a shape to the list if it fits. */
static status_t space_add(const struct dedisperse_shape_problem *p,
                          const struct device_info *device, const struct dedisperse_shape *shape,
                          struct dedisperse_shape_spans *spans, struct dedisperse_candidate **list,
                          uint32_t *count)
{
    struct dedisperse_candidate one = {.shape = *shape};
    const char *why = NULL;
    if (dedisperse_space_fits(p, device, shape, spans, &one.cost, &why)) {
        TRY(memory_grow(*count, sizeof one, "shapes", list));
        (*list)[(*count)++] = one;
    }
    return STATUS_OK;
}

status_t dedisperse_space_candidates(const struct dedisperse_shape_problem *p,
                                     const struct device_info *device,
                                     struct dedisperse_candidate **out, uint32_t *count)
{
    SCOPED(free_at) struct dedisperse_candidate *list = NULL;
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans = {0};
    const int has_trees = p->nranges == 1 && p->mode != DEDISPERSE_BRUTE;
    uint32_t skew = space_middle_slope(p);
    uint32_t n = 0;
    for (uint64_t i = 0; space_number(p, skew, i, &shape); i++) {
        if (space_is_sensible(p, device, &shape)) {
            TRY(space_add(p, device, &shape, &spans, &list, &n));
        }
    }
    skew = space_slope_of_tree(p);
    for (uint64_t i = 0; has_trees && space_tree_number(p, device, skew, i, &shape); i++) {
        TRY(space_is_sensible_tree(p, &shape) ? space_add(p, device, &shape, &spans, &list, &n)
                                              : STATUS_OK);
    }
    *out = list;
    *count = n;
    list = NULL;
    return STATUS_OK;
}
