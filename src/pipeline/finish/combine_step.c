/* The step of finishing that makes ifs out of streams, by what the plan says of a product. */
#include "pipeline/finish/finish_steps.h"

#include "base/memory.h"
#include "product/flagged.h"
#include "product/ifs.h"

#include <stdlib.h>
#include <string.h>

struct combine_step {
    struct combine combine;
    uint32_t stations, beams; /* of the archive; a group of streams has some of them */
    uint32_t antenna;         /* streams of one of these */
    uint32_t flagged;         /* channels of a coarse one where each has a weight; else 1 */
    double *factors;          /* [stations][beams] */
    float *weights;           /* [rows][lines of a group] */
    char *holes;              /* [rows] */
};

static void combine_destroy(void *step)
{
    struct combine_step *combine = step;
    if (combine) {
        free(combine->factors);
        free(combine->weights);
        free(combine->holes);
        free(combine);
    }
}

static status_t combine_expand_factors(const struct product_spec *spec, struct combine_step *step)
{
    status_t st = STATUS_OK;
    if (!spec->combine.weights) {
        goto out;
    }
    TRY(memory_zeroed((size_t)step->stations * step->beams, sizeof *step->factors,
                      "weights of sums", &step->factors));
    for (uint32_t i = 0; i < step->stations * step->beams; i++) {
        uint32_t at = !spec->combine.sums_beams      ? i / step->beams
                      : !spec->combine.sums_stations ? i % step->beams
                                                     : i;
        step->factors[i] = spec->combine.weights[at];
    }
out:
    return st;
}

static status_t combine_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                               void **out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t *selected = spec->archive->nselected;
    struct combine_step *step = NULL;
    *out = NULL;
    if (!ifs_are_combined(spec) && !spec->flag.is_on) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *step, "pols", &step));
    step->stations = selected[AXIS_STATION];
    step->beams = selected[AXIS_BEAM];
    step->antenna = selected[AXIS_POL] * selected[AXIS_CHAN];
    step->flagged = spec->flag.is_on ? spec->bank.nchannels : 1;
    step->combine = (struct combine){.pols = selected[AXIS_POL],
                                     .coarse = selected[AXIS_CHAN] * step->flagged,
                                     .nchannels = spec->bank.nchannels / step->flagged,
                                     .polarisation = spec->combine.polarisation,
                                     .stokes = spec->combine.stokes,
                                     .sums_stations = spec->combine.sums_stations,
                                     .sums_beams = spec->combine.sums_beams,
                                     .renormalises = spec->weights.divide,
                                     .blanks_empty = spec->weights.divide || spec->flag.is_on,
                                     .least = spec->weights.are_kept ? spec->weights.least : 0};
    TRY(combine_expand_factors(spec, step));
    rows = spec->flag.is_on ? rows / flagged_cells(spec) + 1 : rows;
    TRY(memory_zeroed((size_t)rows * work->chunking.group_streams * 2 * step->flagged,
                      sizeof *step->weights, "weights of pols", &step->weights));
    TRY(memory_zeroed((size_t)rows, 1, "holes", &step->holes));
    *out = step;
    step = NULL;
out:
    combine_destroy(step);
    return st;
}

/* The stations and beams of the chunk's group: whole ones, and all beams of a station, or some of
 * one station, or as they follow each other: what is not summed may be cut anywhere between
 * antennas. */
static struct combine combine_of_group(const struct combine_step *step, const struct chunk *chunk)
{
    struct combine combine = step->combine;
    uint32_t antennas = chunk->streams / step->antenna;
    uint32_t first = chunk->first_stream / step->antenna;
    int is_summed = combine.sums_stations || combine.sums_beams;
    combine.beams = is_summed ? step->beams : 1;
    combine.stations = antennas / combine.beams;
    combine.factors = step->factors ? step->factors + first : NULL;
    return combine;
}

static status_t combine_run(void *context, struct finish_rows *rows)
{
    struct combine_step *step = context;
    const struct combine combine = combine_of_group(step, rows->chunk);
    size_t lines = combine_lines_out(&combine);
    const struct combine_weights *lost = rows->lost;
    uint64_t blanked = combine_rows(&combine, rows->count, rows->data, lost, rows->data,
                                    lost ? step->weights : NULL, lost ? step->holes : NULL);
    rows->blanked = step->flagged == 1 ? blanked : 0; /* flags are counted by themselves */
    for (size_t i = 0; i < rows->count * lines && !lost; i++) {
        step->weights[i] = 1;
    }
    rows->weights = step->weights;
    rows->holes = lost && memchr(step->holes, 1, rows->count) ? step->holes : NULL;
    rows->columns = (uint32_t)(lines / step->flagged);
    return STATUS_OK;
}

const struct finish_step finish_combine = {
    .create = combine_create, .run = combine_run, .destroy = combine_destroy};
