/* The model: what binds a compute unit, what its groups wait for, and what does not fit. */
#include "compute/opencl/dedisperse/dedisperse_cost.h"

#include <math.h>

/* Groups of a compute unit at a time, by what Volta to Hopper have: 65,536 registers, 228 KiB,
 * 2,048 work-items. */
static double cost_resident(const struct dedisperse_shape_problem *p,
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
static double cost_conflicts(const struct dedisperse_shape *s)
{
    double rows = s->time_items < 32 ? 1 + 0.25 * (32. / s->time_items) : 1;
    uint32_t even = s->time_out & -s->time_out;
    return rows * (s->staging == STAGING_FUNNEL ? (even < 8 ? even : 8) : 1);
}

/* The longest of three that run side by side; what of the others shows. */
static double cost_beside(double a, double b, double c)
{
    double longest = fmax(a, fmax(b, c));
    return longest + 0.1 * (a + b + c - longest);
}

/* Clocks of a compute unit for one word of one row and DM when nothing waits: 64 integer
 * operations, 32 words of local memory or L1 and 24 bytes of L2 a clock (NVIDIA, CUDA C programming
 * guide: arithmetic throughput; an H200's L2). The factors fit some thirty shapes that were timed
 * on an H200, most of them to 15 %. */
static double cost_clocks_of_word(const struct dedisperse_shape_problem *p,
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
        double loads = 1.2 * (1 + 1 / per_item) * (s->pack > 1 ? 1 : 0.75) * cost_conflicts(s);
        return cost_beside((adds + joins + 4 / per_item) / 64, loads / 32, 0) +
               0.15 * fresh * bytes / 24;
    }
    int is_funnel = s->staging == STAGING_FUNNEL;
    double joins = is_funnel ? 1.5 : 0;
    double loads = is_funnel ? (per_item + 1) / per_item : 1;
    double looks = is_funnel ? 1 : 0.5;
    double operations = (adds + joins + 3 * looks / per_item + staged * (2 + 0.7 * copies)) / 64;
    double local = (loads * cost_conflicts(s) + looks / per_item + staged * copies) / 32;
    return cost_beside(operations, local, 0) + (is_funnel ? 0.3 : 0.05) * staged * bytes / 24;
}

/* What the wait for a chunk's rows and its two barriers adds; direct loads wait for each row. Every
 * further group of the unit fills two thirds of it. (Over 1,223 shapes of LOFAR's 1,024 DMs on an
 * H200, those within twice the best come out with a scatter of 16 %.) */
static double cost_waiting(const struct dedisperse_shape_problem *p,
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
    return 1 + wait * pow(0.36, others) / (words * cost_clocks_of_word(p, s, spans));
}

/* What a compiler makes of too few registers (those of a group of 512 have 128 each), and of more
 * direct loads at once than it can keep. */
static double cost_spilling(const struct dedisperse_shape_problem *p,
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
static double cost_clocks_on_host(const struct dedisperse_shape *s)
{
    double run = (double)s->time_items * s->time_out;
    return (s->staging == STAGING_DIRECT ? 1 : 1.5) * (1 + 16 / run + 2. / s->time_out) *
           (s->pack == 1 ? 1 : 0.8) * (s->dm_items > 1 ? 1.5 : 1) * (s->dm_out > 1 ? 1.2 : 1);
}

double dedisperse_cost(const struct dedisperse_shape_problem *p, const struct device_info *device,
                       const struct dedisperse_shape *s, const struct dedisperse_shape_spans *spans,
                       uint64_t local)
{
    const double clock = 1.75e9;
    const double memory = 4e12; /* bytes a second */
    double samples = (double)p->samples + spans->skew * (dedisperse_shape_tile_dms(s) - 1.0);
    double tiles = ceil(samples / dedisperse_shape_tile_samples(s)) * spans->ntiles;
    double words = tiles * s->time_items * s->time_out * dedisperse_shape_tile_dms(s) *
                   dedisperse_shape_padded(p, s);
    if (!device->is_gpu) {
        return words * cost_clocks_on_host(s) / (device->units * clock);
    }
    /* Waves of groups, the last one not full; where there are few, units that have none. */
    double groups = fmin(cost_resident(p, s, local), ceil(tiles / device->units));
    double warps = groups * ceil(s->time_items * s->dm_items / 32.0);
    double waves = tiles / (groups * device->units);
    double idle = ceil(waves) / waves;
    double starved = warps * sqrt(fmin(s->time_out * s->dm_out, 16.0)) / 36;
    double clocks = words * cost_clocks_of_word(p, s, spans) * cost_spilling(p, s) / device->units;
    double written = (double)p->samples * p->ndms * sizeof(float) / memory;
    return clocks * idle * cost_waiting(p, s, spans, groups) / fmin(1, starved) / clock + written;
}
