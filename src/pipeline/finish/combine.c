/* Antenna by antenna and piece by piece of the channels. An output's lines are where inputs lay
 * that are done with, so that rows can be combined where they are, one after the other; several at
 * once where none becomes shorter, else into other memory. */
#include "pipeline/finish/finish.h"

#include "base/wide.h"
#include "plan/plan_products.h"
#include "product/ifs.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { PIECE = 256 /* channels at a time: what is added up stays in the first-level cache */ };

/* Polarisations that become Stokes parameters or coherencies are worked off together. */
static int combine_is_joint(const struct combine *combine)
{
    return combine->polarisation != POLARISATION_SEPARATE;
}

uint32_t combine_sums(const struct combine *combine)
{
    int is_crossed = combine->polarisation == POLARISATION_IQUV ||
                     combine->polarisation == POLARISATION_COHERENCY;
    return is_crossed ? 4 : combine->pols;
}

uint32_t combine_ifs(const struct combine *combine)
{
    return combine->polarisation == POLARISATION_I ? 1 : combine_sums(combine);
}

size_t combine_lines_in(const struct combine *combine)
{
    return (size_t)combine->stations * combine->beams * combine_sums(combine) * combine->coarse;
}

size_t combine_lines_out(const struct combine *combine)
{
    size_t antennas = (size_t)(combine->sums_stations ? 1 : combine->stations) *
                      (combine->sums_beams ? 1 : combine->beams);
    return antennas * combine_ifs(combine) * combine->coarse;
}

/* Lines that are combined at once: of one coarse channel all that depend on each other. */
struct set {
    uint32_t station, beam; /* the first of them */
    uint32_t stations, beams;
    uint32_t line, lines; /* of an antenna's ifs: from which one on, how many */
    uint32_t coarse, run; /* and the number of neighbours: above 1 where nothing is lost */
};

/* An antenna's part of it. */
struct part {
    const float *line[4]; /* sums */
    float share[4];       /* by which they are divided; 1: as they are */
    float weight;
    int is_blank, is_unread;
    double factor;
};

static struct part combine_part(const struct combine *combine, const struct set *set,
                                const float *in, const struct combine_weights *lost,
                                uint32_t station, uint32_t beam)
{
    size_t antenna = (size_t)station * combine->beams + beam;
    size_t coarse = combine->coarse;
    uint32_t sums = combine_sums(combine);
    struct part part = {.weight = 1,
                        .share = {1, 1, 1, 1},
                        .factor = combine->factors ? combine->factors[antenna] : 1};
    int is_joint = combine_is_joint(combine);
    for (uint32_t i = 0; i < (is_joint ? sums : 1); i++) {
        uint32_t sum = is_joint ? i : set->line;
        part.line[i] =
            in + ((antenna * sums + sum) * coarse + set->coarse) * (size_t)combine->nchannels;
    }
    if (!lost) {
        return part;
    }
    const float *streams = lost->streams + antenna * combine->pols * coarse + set->coarse;
    size_t at = is_joint ? antenna * coarse + set->coarse
                         : (antenna * combine->pols + set->line) * coarse + set->coarse;
    part.weight = is_joint ? lost->joint[at] : lost->streams[at];
    part.is_unread = lost->unread[at];
    part.is_blank = part.is_unread || (double)part.weight < combine->least ||
                    (part.weight == 0 && combine->blanks_empty);
    if (combine->renormalises) {
        for (uint32_t i = 0; i < 4; i++) {
            part.share[i] = is_joint && i < 2 ? streams[i * coarse] : part.weight;
        }
    }
    return part;
}

/* `count` channels from `from` on of an antenna's sums, as if nothing had been lost, as its ifs. */
static void combine_detect(const struct combine *combine, const struct part *part, size_t from,
                           size_t count, float out[4][PIECE])
{
    float own[4][PIECE];
    const float *sums[4] = {NULL};
    float *const lines[4] = {out[0], out[1], out[2], out[3]};
    for (uint32_t i = 0; i < 4 && part->line[i]; i++) {
        sums[i] = part->line[i] + from;
        for (size_t k = 0; k < count && part->share[i] != 1; k++) {
            own[i][k] = sums[i][k] / part->share[i];
        }
        sums[i] = part->share[i] != 1 ? own[i] : sums[i];
    }
    if (combine->polarisation == POLARISATION_IQUV) {
        stokes_iquv(&combine->stokes, count, sums, lines);
    } else if (combine->polarisation == POLARISATION_I) {
        for (size_t k = 0; k < count; k++) {
            out[0][k] = sums[0][k] + sums[1][k];
        }
    } else {
        for (uint32_t i = 0; i < 4 && sums[i]; i++) {
            memcpy(out[i], sums[i], count * sizeof *out[i]);
        }
    }
}

/* Statistics of the valid antennas of a sum. */
struct left {
    double all, good;  /* factors */
    double weight;     /* times weights */
    int is_unread;     /* some of them */
    int is_alone;      /* there is but one, which is not added to anything */
    float lone_weight; /* of that one */
};

static struct left combine_left(const struct combine *combine, const struct set *set,
                                const float *in, const struct combine_weights *lost)
{
    int is_summed = combine->sums_stations || combine->sums_beams;
    struct left left = {.is_alone = !is_summed};
    for (uint32_t s = 0; s < set->stations; s++) {
        for (uint32_t b = 0; b < set->beams; b++) {
            struct part part =
                combine_part(combine, set, in, lost, set->station + s, set->beam + b);
            left.all += part.factor;
            left.good += part.is_blank ? 0 : part.factor;
            left.weight += part.is_blank ? 0 : part.factor * (double)part.weight;
            left.is_unread |= part.is_unread && part.factor > 0;
            left.lone_weight = part.weight;
        }
    }
    return left;
}

/* Channels from `from` on of a set, of antennas that are added up. */
static void combine_add(const struct combine *combine, const struct set *set,
                        const struct left *left, const float *in,
                        const struct combine_weights *lost, size_t from, size_t count,
                        float out[4][PIECE])
{
    double total[4][PIECE] = {{0}};
    double scale = combine->renormalises ? left->all / left->good : 1;
    for (uint32_t s = 0; s < set->stations; s++) {
        for (uint32_t b = 0; b < set->beams; b++) {
            struct part part =
                combine_part(combine, set, in, lost, set->station + s, set->beam + b);
            if (part.is_blank || part.factor == 0) {
                continue;
            }
            combine_detect(combine, &part, from, count, out);
            for (uint32_t i = 0; i < set->lines; i++) {
                for (size_t k = 0; k < count; k++) {
                    total[i][k] += part.factor * (double)out[i][k];
                }
            }
        }
    }
    for (uint32_t i = 0; i < set->lines; i++) {
        for (size_t k = 0; k < count; k++) {
            out[i][k] = (float)(total[i][k] * scale);
        }
    }
}

/* Returns the position of line i of a set in the output row. */
static size_t combine_place(const struct combine *combine, const struct set *set, uint32_t i)
{
    size_t beams = combine->sums_beams ? 1 : combine->beams;
    size_t antenna =
        (combine->sums_stations ? 0 : set->station) * beams + (combine->sums_beams ? 0 : set->beam);
    return (antenna * combine_ifs(combine) + set->line + i) * combine->coarse + set->coarse;
}

/* Whether `count` neighbouring coarse channels from `from` on have lost nothing of a set. */
WIDE static int combine_are_whole(const struct combine *combine, const struct set *set,
                                  const struct combine_weights *lost, size_t from, size_t count)
{
    size_t coarse = combine->coarse;
    int is_joint = combine_is_joint(combine);
    int is_whole = 1;
    for (uint32_t i = 0; i < set->stations * set->beams && is_whole; i++) {
        size_t antenna =
            (size_t)(set->station + i / set->beams) * combine->beams + set->beam + i % set->beams;
        size_t lines = antenna * combine->pols + (is_joint ? 0 : set->line);
        size_t at = (is_joint ? antenna : lines) * coarse + from;
        const float *streams = lost->streams + lines * coarse + from;
        for (size_t k = 0; k < count; k++) {
            is_whole &= !lost->unread[at + k];
        }
        for (size_t k = 0; k < count && is_joint; k++) {
            is_whole &= lost->joint[at + k] == 1;
        }
        for (uint32_t p = 0; p < (is_joint ? combine->pols : 1); p++) {
            for (size_t k = 0; k < count; k++) {
                is_whole &= streams[p * coarse + k] == 1;
            }
        }
    }
    return is_whole;
}

/* Neighbouring coarse channels that have lost nothing are combined at once: of flagged power each
 * is but one channel wide. Returns how many, from the set's on and before `end`; 1 where it has
 * lost something. */
static uint32_t combine_run_of(const struct combine *combine, const struct set *set,
                               const struct combine_weights *lost, size_t end)
{
    enum { AT_ONCE = 64 };
    size_t c = lost ? set->coarse : end;
    while (c + AT_ONCE <= end && combine_are_whole(combine, set, lost, c, AT_ONCE)) {
        c += AT_ONCE;
    }
    while (c < end && combine_are_whole(combine, set, lost, c, 1)) {
        c++;
    }
    return c > set->coarse ? (uint32_t)(c - set->coarse) : 1;
}

WIDE static void combine_set(const struct combine *combine, const struct set *set, const float *in,
                             const struct combine_weights *lost, float *out, float *weights,
                             char *hole, uint64_t *blanked)
{
    struct left left = combine_left(combine, set, in, lost);
    float weight = left.is_alone ? left.lone_weight : (float)(left.weight / left.all);
    int is_blank = left.good == 0 || (!left.is_alone && (double)weight < combine->least);
    size_t nchannels = (size_t)set->run * combine->nchannels;
    for (size_t from = 0; from < nchannels; from += PIECE) {
        size_t count = nchannels - from < PIECE ? nchannels - from : PIECE;
        float lines[4][PIECE];
        if (!is_blank && left.is_alone) {
            struct part part = combine_part(combine, set, in, lost, set->station, set->beam);
            combine_detect(combine, &part, from, count, lines);
        } else if (!is_blank) {
            combine_add(combine, set, &left, in, lost, from, count, lines);
        }
        for (uint32_t i = 0; i < set->lines; i++) {
            float *line = out + combine_place(combine, set, i) * combine->nchannels + from;
            for (size_t k = 0; k < count; k++) {
                line[k] = is_blank ? NAN : lines[i][k];
            }
        }
    }
    for (uint32_t i = 0; i < set->lines && weights; i++) {
        float *line = weights + combine_place(combine, set, i);
        for (uint32_t k = 0; k < set->run; k++) {
            line[k] = weight;
        }
    }
    int is_kept = set->coarse >= combine->before && set->coarse + combine->after < combine->coarse;
    if (hole && is_blank && left.is_unread && is_kept) {
        __atomic_store_n(hole, 1, __ATOMIC_RELAXED); /* by any of a row's tasks */
    }
    *blanked += is_blank && !left.is_unread ? set->lines : 0;
}

/* Combines all sets of a row, in the order of the output's antennas. */
uint64_t combine_row(const struct combine *combine, const struct combine_piece *of, const float *in,
                     const struct combine_weights *lost, float *out, float *weights, char *holes)
{
    uint64_t blanked = 0;
    uint32_t ifs = combine_ifs(combine);
    int is_joint = combine_is_joint(combine);
    size_t antennas = (size_t)combine->stations * combine->beams * combine->coarse;
    size_t lines = combine_lines_out(combine);
    struct combine_weights here = {NULL, NULL, NULL};
    struct set set = {.stations = combine->sums_stations ? combine->stations : 1,
                      .beams = combine->sums_beams ? combine->beams : 1,
                      .lines = is_joint ? ifs : 1};
    if (lost) {
        here.streams = lost->streams + of->row * antennas * combine->pols;
        here.joint = lost->joint ? lost->joint + of->row * antennas : NULL;
        here.unread = lost->unread + of->row * antennas * (is_joint ? 1 : combine->pols);
    }
    in += of->row * combine_lines_in(combine) * combine->nchannels;
    out += of->row * lines * combine->nchannels;
    for (set.station = 0; set.station < combine->stations; set.station += set.stations) {
        for (set.beam = 0; set.beam < combine->beams; set.beam += set.beams) {
            for (set.line = 0; set.line < ifs; set.line += set.lines) {
                for (set.coarse = of->first; set.coarse < of->end; set.coarse += set.run) {
                    set.run = combine_run_of(combine, &set, lost ? &here : NULL, of->end);
                    combine_set(combine, &set, in, lost ? &here : NULL, out,
                                weights ? weights + of->row * lines : NULL,
                                holes ? holes + of->row : NULL, &blanked);
                }
            }
        }
    }
    return blanked;
}

/* The step of finishing that makes ifs out of streams, by what the plan says of a product. */

struct combine_step {
    struct combine combine;
    struct chunk_row channels; /* that are kept, of an if */
    uint32_t stations, beams;  /* of the archive; a group of streams has some of them */
    uint32_t antenna;          /* streams of one of these */
    uint32_t flagged;          /* channels of a coarse one where each has a weight; else 1 */
    double *factors;           /* [stations][beams] */
    void *made, *next; /* float [rows][lines of a group][nchannels] if there are fewer lines: of
                          this run, and of the next */
    float *weights;    /* [rows][lines of a group] */
    char *holes;       /* [rows] */
};

static void combine_destroy(void *step)
{
    struct combine_step *combine = step;
    if (combine) {
        MEMORY_FREE(combine->factors, combine->made, combine->next, combine->weights,
                    combine->holes, combine);
    }
}
SCOPED_END_ANY(combine_destroy)

static status_t combine_expand_factors(const struct product_spec *spec, struct combine_step *step)
{
    if (!spec->combine.weights) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)step->stations * step->beams, sizeof *step->factors,
                      "weights of sums", &step->factors));
    for (uint32_t i = 0; i < step->stations * step->beams; i++) {
        uint32_t at = !spec->combine.sums_beams      ? i / step->beams
                      : !spec->combine.sums_stations ? i % step->beams
                                                     : i;
        step->factors[i] = spec->combine.weights[at];
    }
    return STATUS_OK;
}

static status_t combine_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                               void **out)
{
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t *selected = spec->archive->nselected;
    SCOPED(combine_destroy_at) struct combine_step *step = NULL;
    *out = NULL;
    if (!ifs_are_combined(spec) && !spec->flag.is_on) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *step, "pols", &step));
    step->stations = selected[AXIS_STATION];
    step->beams = selected[AXIS_BEAM];
    step->antenna = selected[AXIS_POL] * channelise_plan_coarse(work);
    step->flagged = spec->flag.is_on ? spec->bank.nchannels : 1;
    step->channels = chunk_row_of_channels(plan_products_row(spec), 1);
    step->combine = (struct combine){.pols = selected[AXIS_POL],
                                     .coarse = channelise_plan_coarse(work) * step->flagged,
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
    const uint32_t streams = channelise_plan_made(work, i, work->chunking.group_streams);
    TRY(memory_zeroed((size_t)rows * streams * 2 * step->flagged, sizeof *step->weights,
                      "weights of pols", &step->weights));
    TRY(memory_zeroed((size_t)rows, 1, "holes", &step->holes));
    size_t made = plan_products_combined_bytes(work, i, work->chunking.group_streams);
    TRY(made > 0 ? memory_zeroed((size_t)rows, made, "pols", &step->made) : STATUS_OK);
    TRY(made > 0 && !quantised_is(spec) && plan_products_are_put_beside(work)
            ? memory_zeroed((size_t)rows, made, "pols", &step->next)
            : STATUS_OK);
    *out = memory_move(&step);
    return STATUS_OK;
}

/* The stations and beams of the chunk's group: whole ones, and all beams of a station, or some of
 * one station, or as they follow each other: what is not summed may be cut anywhere between
 * antennas. */
static struct combine combine_of_group(const struct combine_step *step,
                                       const struct finish_rows *rows)
{
    struct combine combine = step->combine;
    uint32_t antennas = rows->streams / step->antenna;
    int is_of_all = chunk_is_coarse(rows->chunk);
    const struct chunk_kept kept = chunk_kept_of(&step->channels, rows->chunk);
    uint64_t end = ceil_div_u64(kept.from + kept.count, combine.nchannels);
    uint32_t first = is_of_all ? 0 : rows->chunk->first_stream / step->antenna;
    int is_summed = combine.sums_stations || combine.sums_beams;
    combine.beams = is_summed ? step->beams : 1;
    combine.stations = antennas / combine.beams;
    combine.factors = step->factors ? step->factors + first : NULL;
    combine.before = kept.count > 0 ? (uint32_t)(kept.from / combine.nchannels) : combine.coarse;
    combine.after = kept.count > 0 ? combine.coarse - (uint32_t)end : 0;
    return combine;
}

struct combine_work {
    struct combine combine;
    const struct finish_rows *rows;
    uint64_t parts; /* of a row */
    float *made, *weights;
    char *holes;
    atomic_uint_fast64_t blanked;
};

/* Lines of coarse channels come out where they came in, or in other memory: so parts of a row do
 * not depend on each other. */
static void combine_task(void *context, uint32_t thread, uint64_t task)
{
    struct combine_work *work = context;
    const struct finish_rows *rows = work->rows;
    uint64_t coarse = work->combine.coarse;
    uint64_t part = task % work->parts;
    const struct combine_piece of = {task / work->parts, (uint32_t)(part * coarse / work->parts),
                                     (uint32_t)((part + 1) * coarse / work->parts)};
    (void)thread;
    uint64_t blanked = combine_row(&work->combine, &of, rows->data, rows->lost, work->made,
                                   rows->lost ? work->weights : NULL, work->holes);
    atomic_fetch_add(&work->blanked, blanked);
}

static status_t combine_run(void *context, struct finish_rows *rows)
{
    enum { TASKS = 64 };
    struct combine_step *step = context;
    struct combine_work work = {.combine = combine_of_group(step, rows),
                                .rows = rows,
                                .made = step->made ? step->made : rows->data,
                                .weights = step->weights,
                                .holes = step->holes};
    size_t lines = combine_lines_out(&work.combine);
    work.parts = min_u64(ceil_div_u64(TASKS, max_u64(rows->count, 1)), work.combine.coarse);
    memset(step->holes, 0, (size_t)rows->count);
    finish_each(rows, rows->count * work.parts, combine_task, &work);
    rows->data = work.made;
    finish_turn(rows, &step->made, &step->next);
    rows->blanked = step->flagged == 1 ? work.blanked : 0; /* flags are counted by themselves */
    for (size_t i = 0; i < rows->count * lines && !rows->lost; i++) {
        step->weights[i] = 1;
    }
    rows->weights = step->weights;
    rows->holes = rows->lost && memchr(step->holes, 1, rows->count) ? step->holes : NULL;
    rows->columns = (uint32_t)(lines / step->flagged);
    return STATUS_OK;
}

const struct finish_step finish_combine = {
    .create = combine_create, .run = combine_run, .destroy = combine_destroy};
