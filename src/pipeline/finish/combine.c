/* Antenna by antenna and piece by piece of the channels. An output's lines lie where inputs lay
 * that are done with, so that rows can be combined where they are. */
#include "pipeline/finish/combine.h"

#include <math.h>
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
    uint32_t coarse;
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

/* What is left of the antennas that are added up. */
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

/* Where line i of a set lies in a row that leaves. */
static size_t combine_place(const struct combine *combine, const struct set *set, uint32_t i)
{
    size_t beams = combine->sums_beams ? 1 : combine->beams;
    size_t antenna =
        (combine->sums_stations ? 0 : set->station) * beams + (combine->sums_beams ? 0 : set->beam);
    return (antenna * combine_ifs(combine) + set->line + i) * combine->coarse + set->coarse;
}

static void combine_set(const struct combine *combine, const struct set *set, const float *in,
                        const struct combine_weights *lost, float *out, float *weights, char *hole,
                        uint64_t *blanked)
{
    struct left left = combine_left(combine, set, in, lost);
    float weight = left.is_alone ? left.lone_weight : (float)(left.weight / left.all);
    int is_blank = left.good == 0 || (!left.is_alone && (double)weight < combine->least);
    size_t nchannels = combine->nchannels;
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
            float *line = out + combine_place(combine, set, i) * nchannels + from;
            for (size_t k = 0; k < count; k++) {
                line[k] = is_blank ? NAN : lines[i][k];
            }
        }
    }
    for (uint32_t i = 0; i < set->lines && weights; i++) {
        weights[combine_place(combine, set, i)] = weight;
    }
    if (hole) {
        *hole |= (char)(is_blank && left.is_unread);
    }
    *blanked += is_blank && !left.is_unread ? set->lines : 0;
}

/* All sets of a row: in the order of the antennas that leave. */
static uint64_t combine_row(const struct combine *combine, const float *in,
                            const struct combine_weights *lost, float *out, float *weights,
                            char *hole)
{
    uint64_t blanked = 0;
    uint32_t ifs = combine_ifs(combine);
    struct set set = {.stations = combine->sums_stations ? combine->stations : 1,
                      .beams = combine->sums_beams ? combine->beams : 1,
                      .lines = combine_is_joint(combine) ? ifs : 1};
    for (set.station = 0; set.station < combine->stations; set.station += set.stations) {
        for (set.beam = 0; set.beam < combine->beams; set.beam += set.beams) {
            for (set.line = 0; set.line < ifs; set.line += set.lines) {
                for (set.coarse = 0; set.coarse < combine->coarse; set.coarse++) {
                    combine_set(combine, &set, in, lost, out, weights, hole, &blanked);
                }
            }
        }
    }
    return blanked;
}

uint64_t combine_rows(const struct combine *combine, uint64_t rows, const float *in,
                      const struct combine_weights *lost, float *out, float *weights, char *holes)
{
    uint64_t blanked = 0;
    size_t from = combine_lines_in(combine) * combine->nchannels;
    size_t to = combine_lines_out(combine) * combine->nchannels;
    size_t antennas = (size_t)combine->stations * combine->beams * combine->coarse;
    for (uint64_t row = 0; row < rows; row++) {
        struct combine_weights here = {NULL, NULL, NULL};
        if (holes) {
            holes[row] = 0;
        }
        if (lost) {
            here.streams = lost->streams + row * antennas * combine->pols;
            here.joint = lost->joint ? lost->joint + row * antennas : NULL;
            here.unread =
                lost->unread + row * antennas * (combine_is_joint(combine) ? 1 : combine->pols);
        }
        blanked += combine_row(combine, in + row * from, lost ? &here : NULL, out + row * to,
                               weights ? weights + row * combine_lines_out(combine) : NULL,
                               holes ? &holes[row] : NULL);
    }
    return blanked;
}
