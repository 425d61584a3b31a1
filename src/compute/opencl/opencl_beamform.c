/* Beams on an OpenCL device: kernels/beamform.cl. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"
#include "compute/shared/beam_weights.h"

#include <stdlib.h>

enum {
    RUNS = 2,               /* whose turns are on the device, or on their way there */
    COPY_ITEMS = 256,       /* of a group that copies */
    LOCAL_BYTES = 43 << 10, /* that the largest tile takes, at most */
    PAIR = 2 * sizeof(float)
};

/* Constants of the kernel. */
struct beam_tile {
    uint32_t channels, pols;             /* of a group */
    uint32_t beam_lanes, spectrum_lanes; /* work-items of a column */
    uint32_t beams, spectra;             /* of a work-item */
    uint32_t stations;                   /* at a time */
};

/* Kernels for runs with and without turns of stations and beams, built when first used. */
struct beam_kernels {
    cl_kernel sum, copy;
    struct beam_tile tile;
};

struct stage {
    struct between base;
    struct opencl *opencl;
    struct beam_kernels kernels[2][2];
    cl_mem factors, table, copies;
    int table_kind; /* TABLE */
    uint32_t ncopies;
    struct opencl_turns turns;
    struct stopwatch watch;
};

static void opencl_beamform_destroy(void *beamform)
{
    struct stage *stage = beamform;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    for (int i = 0; i < 4; i++) {
        LAUNCH_RELEASE(stage->kernels[i / 2][i % 2].sum, stage->kernels[i / 2][i % 2].copy);
    }
    DEVICE_RELEASE(device, stage->factors, stage->table, stage->copies);
    opencl_turns_destroy(&stage->turns);
    stopwatch_free(&stage->watch);
}

static uint64_t beam_turn_bytes(const struct between_spec *spec)
{
    return (spec->max_spectra * beam_station_turns(spec) +
            beam_most_cells(spec) * beam_cell_turns(spec)) *
           sizeof(float);
}

/* Tiles for the beams and spectra that there are. Two groups of 256 work-items, with 64 sums each,
 * share the registers of a GPU's unit. */
static struct beam_tile beam_tile_of(const struct between_spec *spec,
                                     const struct device_info *info, int has_cells)
{
    struct beam_tile tile = {.pols = spec->pols == 2 ? 2 : 1,
                             .beam_lanes = 8,
                             .spectrum_lanes = 4,
                             .beams = spec->beams > 32   ? 8
                                      : spec->beams > 16 ? 4
                                                         : 2,
                             .spectra = 4,
                             .stations = 8};
    const uint64_t together = has_cells ? spec->cell : spec->max_spectra;
    if (together <= 8) {
        tile.spectra = 2;
    } else if (together > 16 && tile.beams <= 4 && info->local_bytes >= LOCAL_BYTES) {
        tile.spectra = 8;
    }
    const uint32_t items = tile.beam_lanes * tile.spectrum_lanes * tile.pols;
    tile.channels = (uint32_t)max_u64(min_u64(8 / tile.pols, info->group_size / items), 1);
    if (info->local_bytes < LOCAL_BYTES) {
        tile.stations /= 2;
    }
    return tile;
}

static status_t beam_build(struct stage *stage, int has_turns, int has_cells)
{
    static const enum program_source source = SOURCE_BEAMFORM;
    const struct between_spec *spec = &stage->base.spec;
    struct beam_kernels *kernels = &stage->kernels[has_turns][has_cells];
    const struct launch_made made[] = {{"beamform", &kernels->sum},
                                       {"beam_copies", &kernels->copy}};
    struct text options = {0};
    if (kernels->sum) {
        return STATUS_OK;
    }
    const struct beam_tile tile = beam_tile_of(spec, &stage->opencl->device->info, has_cells);
    kernels->tile = tile;
    text_add(&options,
             "-DSTATIONS=%u -DBEAMS=%u -DPOLS=%u -DCOARSE=%u -DNCHANNELS=%u -DCELL=%u "
             "-DHAS_TURNS=%d -DHAS_BEAM_TURNS=%d -DHAS_FACTORS=%d -DTABLE=%d",
             spec->stations, spec->beams, spec->pols, spec->coarse, spec->nchannels, spec->cell,
             has_turns, has_cells, stage->factors != NULL, stage->table_kind);
    text_add(&options, " -DCHANNELS=%u -DPT=%u -DBL=%u -DTL=%u -DRB=%u -DRT=%u -DKT=%u",
             tile.channels, tile.pols, tile.beam_lanes, tile.spectrum_lanes, tile.beams,
             tile.spectra, tile.stations);
    return launch_build_all(stage->opencl->device, &source, 1, &options, made,
                            stage->ncopies > 0 ? 2 : 1);
}

/* Beams that are copies. */
static status_t beam_put_copies(struct stage *stage, const struct between_spec *spec)
{
    SCOPED(free_at) cl_uint *pairs = NULL;
    TRY(memory_zeroed(spec->beams, 2 * sizeof *pairs, "beams", &pairs));
    for (uint32_t beam = 0; beam < spec->beams; beam++) {
        const uint32_t station = beam_copied(spec, beam);
        if (station < spec->stations) {
            pairs[2 * stage->ncopies] = beam;
            pairs[2 * stage->ncopies++ + 1] = station;
        }
    }
    if (stage->ncopies > 0) {
        TRY(device_put(stage->opencl->device, pairs, stage->ncopies * 2 * sizeof *pairs, "beams",
                       &stage->copies));
    }
    return STATUS_OK;
}

/* Numbers of the table of weights of the kernel. */
static uint64_t beam_table_numbers(const struct between_spec *spec, const struct beam_tile *tile)
{
    const uint64_t beams = tile->beam_lanes * tile->beams;
    return ceil_div_u64(spec->beams, beams) * beams * ceil_div_u64(spec->stations, tile->stations) *
           tile->stations * spec->pols * spec->coarse *
           ceil_div_u64(spec->nchannels, tile->channels) * tile->channels;
}

/* Returns the index of a weight in the table; `series` counts over [pols][coarse][nchannels]. */
static size_t beam_table_at(const struct between_spec *spec, const struct beam_tile *tile,
                            uint32_t beam, uint32_t station, size_t series)
{
    const uint32_t beams = tile->beam_lanes * tile->beams;
    const size_t across = ceil_div_u64(spec->nchannels, tile->channels);
    const size_t steps = ceil_div_u64(spec->stations, tile->stations);
    const size_t channel = series % spec->nchannels;
    const size_t coarse = series / spec->nchannels % spec->coarse;
    const size_t pol = series / spec->nchannels / spec->coarse;
    size_t at = (size_t)(beam / beams) * (spec->pols / tile->pols) + pol / tile->pols;
    at = (at * spec->coarse + coarse) * across + channel / tile->channels;
    at = (at * steps + station / tile->stations) * tile->stations + station % tile->stations;
    at = (at * tile->pols + pol % tile->pols) * tile->channels + channel % tile->channels;
    return at * beams + beam % beams;
}

/* Weights in the order in which work-groups take them; zeros of beams, stations and channels that
 * there are not. */
static status_t beam_put_table(struct stage *stage, const struct between_spec *spec)
{
    const struct beam_tile tile = beam_tile_of(spec, &stage->opencl->device->info, 0);
    const size_t series = (size_t)spec->pols * spec->coarse * spec->nchannels;
    const size_t numbers = beam_table_numbers(spec, &tile);
    float *table = NULL;
    TRY(memory_zeroed(numbers, PAIR, "weights of beams", &table));
    for (size_t i = 0; i < spec->beams * spec->stations * series; i++) {
        const uint32_t beam = (uint32_t)(i / series / spec->stations);
        const uint32_t station = (uint32_t)(i / series % spec->stations);
        float *to = table + 2 * beam_table_at(spec, &tile, beam, station, i % series);
        double weight[2];
        beam_weight(spec, beam, station, i % series, weight);
        to[0] = (float)weight[0];
        to[1] = (float)weight[1];
    }
    return device_put_table(stage->opencl->device, table, numbers * PAIR, "weights of beams",
                            &stage->table);
}

static status_t beam_put_weights(struct stage *stage, const struct between_spec *spec)
{
    device_t *device = stage->opencl->device;
    const uint64_t pairs = (uint64_t)spec->beams * spec->stations;
    const uint64_t gains = (uint64_t)spec->stations * spec->pols * spec->coarse * spec->nchannels;
    stage->table_kind = spec->weights ? 2 : spec->gains ? 1 : 0;
    TRY(spec->weights ? beam_put_table(stage, spec)
        : spec->gains ? device_put(device, spec->gains, gains * PAIR, "gains", &stage->table)
                      : STATUS_OK);
    return spec->factors && !spec->weights ? device_put(device, spec->factors, pairs * PAIR,
                                                        "weights of beams", &stage->factors)
                                           : STATUS_OK;
}

static status_t opencl_beamform_create(backend_t *backend, void *made)
{
    struct stage *stage = made;
    const struct between_spec given = stage->base.spec, *spec = &given;
    stage->opencl = (struct opencl *)backend;
    stage->base.spec.gains = stage->base.spec.weights = stage->base.spec.factors = NULL;
    stage->watch.is_on = spec->is_timed;
    TRY(beam_put_weights(stage, spec));
    TRY(beam_put_copies(stage, spec));
    return opencl_turns_create(backend, beam_turn_bytes(spec), &stage->turns);
}

static status_t beam_launch(struct stage *stage, const struct beam_kernels *kernels, cl_mem turns,
                            uint64_t beam_turns, int has_cells, cl_mem in, uint64_t first,
                            uint64_t spectra, cl_mem out)
{
    const struct between_spec *spec = &stage->base.spec;
    const struct beam_tile *tile = &kernels->tile;
    const device_t *device = stage->opencl->device;
    const uint64_t together = tile->spectrum_lanes * tile->spectra;
    const uint64_t times =
        has_cells ? beamform_cells(spec, first, spectra) * ceil_div_u64(spec->cell, together)
                  : ceil_div_u64(spectra, together);
    const cl_mem factors = stage->factors ? stage->factors : turns;
    const cl_mem table = stage->table ? stage->table : turns;
    const struct launch_size size = {
        (size_t)(ceil_div_u64(spec->nchannels, tile->channels) * spec->coarse *
                 (spec->pols / tile->pols) *
                 ceil_div_u64(spec->beams, tile->beam_lanes * tile->beams) * times),
        tile->channels * tile->pols * tile->beam_lanes * tile->spectrum_lanes};
    TRY(LAUNCH(device, kernels->sum, size, &stage->watch, STEP_FILTER, ARGUMENT(in), ARGUMENT(out),
               ARGUMENT(turns), ARGUMENT_ULONG(beam_turns), ARGUMENT(factors), ARGUMENT(table),
               ARGUMENT_ULONG(first), ARGUMENT_ULONG(spectra)));
    if (stage->ncopies > 0) {
        const uint64_t numbers =
            (uint64_t)spec->pols * spec->coarse * spec->nchannels * stage->ncopies * spectra;
        const struct launch_size copy = launch_over(numbers, COPY_ITEMS);
        TRY(LAUNCH(device, kernels->copy, copy, &stage->watch, STEP_FILTER, ARGUMENT(in),
                   ARGUMENT(out), ARGUMENT(turns), ARGUMENT_ULONG(beam_turns),
                   ARGUMENT(stage->copies), ARGUMENT_UINT(stage->ncopies), ARGUMENT_ULONG(first),
                   ARGUMENT_ULONG(spectra)));
    }
    return STATUS_OK;
}

static status_t opencl_beamform_run(between_t *beamform, buffer_t *in_buffer, uint64_t first,
                                    uint64_t spectra, const struct beamform_turns *turns,
                                    buffer_t *out)
{
    struct stage *stage = (struct stage *)beamform;
    const struct between_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    struct opencl_buffer *turns_in = NULL;
    const int has_turns = turns->stations != NULL;
    const int has_cells = turns->beams != NULL;
    const float *const lists[2] = {turns->stations, turns->beams};
    const uint64_t floats[2] = {spectra * beam_station_turns(spec),
                                beamform_cells(spec, first, spectra) * beam_cell_turns(spec)};
    const uint64_t row = (uint64_t)spec->pols * spec->coarse * spec->nchannels * PAIR;
    const uint64_t bytes = spectra * spec->beams * row;
    TRY(beam_build(stage, has_turns, has_cells));
    TRY(opencl_turns_begin(&stage->turns, lists, floats, &stage->watch, &turns_in));
    TRY(opencl_block_begin(in, spectra * spec->stations * row, &out, 1, &stage->watch));
    if (spectra > 0) {
        TRY(beam_launch(stage, &stage->kernels[has_turns][has_cells], turns_in->memory,
                        has_turns ? floats[0] / 2 : 0, has_cells, in->memory, first, spectra,
                        ((struct opencl_buffer *)out)->memory));
    }
    TRY(opencl_block_end(turns_in, NULL, NULL, 0, &stage->watch));
    return opencl_block_end(in, &out, &bytes, 1, &stage->watch);
}

/* Returns the bytes of the weights: of a table on a device whose groups are large enough. */
static uint64_t beam_weight_bytes(const struct between_spec *spec)
{
    const struct device_info info = {.group_size = 256, .local_bytes = LOCAL_BYTES};
    const struct beam_tile tile = beam_tile_of(spec, &info, 0);
    return spec->weights ? beam_table_numbers(spec, &tile) * PAIR : beam_spec_bytes(spec);
}

static uint64_t opencl_beamform_bytes(const struct between_spec *spec)
{
    return RUNS * beam_turn_bytes(spec) + beam_weight_bytes(spec);
}

static uint64_t opencl_beamform_device_bytes(const struct between_spec *spec)
{
    return RUNS * beam_turn_bytes(spec) + beam_weight_bytes(spec) + spec->beams * PAIR;
}

OPENCL_TIMES(opencl_beamform_times)

const struct between_ops opencl_beamform = {
    .stage = {sizeof(struct stage), opencl_beamform_create, opencl_beamform_destroy,
              opencl_beamform_times, NULL},
    .bytes = {opencl_beamform_bytes, opencl_beamform_device_bytes},
    .run = opencl_beamform_run};
