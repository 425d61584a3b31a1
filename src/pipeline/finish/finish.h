/* Finishing: steps on rows between the backend and the file, in the writer thread, one after the
 * other (struct finish_step).
 *
 * A step that the job does not use costs nothing: rows then go from the backend's buffer to the
 * sink unchanged. Its result is a pure function of rows counted from the observation's first, so it
 * is independent of how the work is cut. Streams that a step combines are in one group (struct
 * channelise_plan, groups). */
#ifndef VOLTMILL_PIPELINE_FINISH_FINISH_H
#define VOLTMILL_PIPELINE_FINISH_FINISH_H

#include "base/pool.h"
#include "compute/shared/agreement.h"
#include "plan/channelise_plan.h"
#include "product/flagged.h"

/* Combination of polarisations, stations and beams: rows of a filter bank become rows of ifs.
 * Polarisations become Stokes parameters; stations and beams are summed, each antenna scaled as if
 * none of its samples were missing.
 *
 *   in    float [rows][stations][beams][sums][coarse][nchannels]   sums: polarisations; for IQUV
 *         and coherency the four of QUANTITY_COHERENCY
 *   out   float [rows][stations][beams][ifs][coarse][nchannels]    summed stations or beams count 1
 *
 * Each row is a function of its own numbers and weights alone. Stokes parameters are of 32-bit
 * floats (dsp/stokes.h); antennas are added in double, in their order, times their factors.
 *
 * Missing data: the power of a polarisation is divided by its own weight, A B* by the joint one,
 * the share of samples that are good in both; the weight of the result is the joint one. Antennas
 * whose weight is below `least` are NaN. Sums omit them. The weight of a sum is the mean of the
 * weights by factors, with 0 for omitted antennas. The sum is NaN where that is below `least`.
 * Where power is renormalised, the sum is multiplied by the sum of all factors over the sum of
 * those that entered. Raw sums are unchanged. */

struct combine {
    uint32_t stations, beams, pols, coarse; /* of a row that comes in */
    uint32_t nchannels;
    uint32_t before, after; /* coarse ones at both ends of which nothing is kept */
    enum polarisation polarisation;
    struct stokes stokes;
    int sums_stations, sums_beams;
    const double *factors; /* [stations][beams], >= 0, of sums; NULL: all 1 */
    int renormalises;      /* power is divided by its weight */
    int blanks_empty;      /* lines of weight 0 are NaN, whatever `least` is */
    double least;
};

/* Return the lines of an antenna in each coarse channel: combine_sums() of an input row,
 * combine_ifs() of an output row. */
uint32_t combine_sums(const struct combine *combine);
uint32_t combine_ifs(const struct combine *combine);
/* Return the lines, of nchannels numbers each, of a whole row: combine_lines_in() of an input row,
 * combine_lines_out() of an output row. */
size_t combine_lines_in(const struct combine *combine);
size_t combine_lines_out(const struct combine *combine);

/* Weights of rows with lost samples; NULL: nothing is lost. */
struct combine_weights {
    const float *streams; /* [rows][stations][beams][pols][coarse] */
    const float *joint;   /* [rows][stations][beams][coarse]; of separate polarisations unused */
    const char *unread;   /* like `joint` (of separate ones like `streams`): 1: NaN, since it could
                             not be read */
};

/* Coarse channels of a row. */
struct combine_piece {
    uint64_t row;
    uint32_t first, end;
};
/* Combines a piece of a row: row of->row of `in` becomes row of->row of `out`, which may be `in`.
 * Returns how many lines of the output became NaN by weights alone. Cannot fail. Threads may
 * combine different pieces at a time, unless `out` is `in` and rows become shorter: then rows come
 * in order.
 *
 *   in        float [rows][combine_lines_in()][nchannels]
 *   lost      NULL: nothing is lost
 *   out       float [rows][combine_lines_out()][nchannels]
 *   weights   float [rows][combine_lines_out()]: gets the result's, 1 without `lost`; or NULL
 *   holes     char [rows], 0 before: becomes 1 if some of the row that is kept is NaN by what could
 *             not be read; or NULL */
uint64_t combine_row(const struct combine *combine, const struct combine_piece *of, const float *in,
                     const struct combine_weights *lost, float *out, float *weights, char *holes);

typedef struct finish finish_t;

/* Rows on their way. Each step takes what the one before has left, and says what it leaves: in
 * place, or in memory of its own, which is good until it runs again. */
struct finish_rows {
    const struct chunk *chunk;
    uint32_t streams; /* the chunk's, or of all stations */
    pool_t *pool;     /* shares out the work of each step; NULL: the calling thread does it all */
    int is_first,
        is_last; /* of the chunk's blocks: nothing is carried from one chunk to the next */
    uint64_t first, count; /* of the product; as the backend gives them, of its dumps */
    /* float [count][columns][channels] (x 2 if spectra). As the backend makes them, columns are the
     * chunk's streams and channels those of a coarse channel. Once coarse channels are side by
     * side, columns are the ifs of the chunk's streams. */
    uint32_t columns;
    uint64_t channels;
    void *data;
    const char *holes; /* [count], or NULL, as struct pipeline_sink's */
    /* Weights of the product's lines (one for each if and coarse channel), [count][lines]; where
     * rows are combined (struct combine) the first step makes them, and holes, of what is lost
     * (NULL: nothing is), and says how many dumps of lines became NaN by weights. */
    const float *weights;
    const struct combine_weights *lost;
    uint64_t blanked;
    /* Sums of squares of flagged power, whose rows are cells as the backend makes them (NULL: not
     * needed). The first step makes output rows of them, and records the flags of `cells` cells;
     * weights are of each channel from then on, [count][ifs][channels]. */
    const float *squares;
    uint64_t first_cell, cells;
    struct flag_block flagged; /* flags NULL: nothing is flagged at all */
    /* Counts of numbers that the backend clipped in each block that the rows touch, if it has
     * rounded them (plan_products_rounds()): uint32 [clipped_blocks][columns][channels][2]; else
     * NULL. */
    const uint32_t *clipped;
    uint64_t clipped_blocks;
    /* Whole blocks among the rows that were rounded to few bits (`data` contains these then). Where
     * the plan says that rows are judged, rows stay floats. */
    struct product_steps steps;
};

/* Creates the threads for the steps of all products, which run one after the other. *out is NULL if
 * one thread suffices, or no step is needed, and on failure. The caller calls pool_destroy() after
 * each finish_destroy(). Fails with DEVICE (memory, threads). */
status_t finish_pool(const struct channelise_plan *work, pool_t **out);

/* Creates the steps of product i, from 0, for blocks of up to `rows` of the backend's rows. *out =
 * NULL if there are none, and on failure. `work` and the pool (may be NULL) must outlive it. Fails
 * with DATA if a product that is judged is unreadable; with DEVICE (memory, descriptors). */
status_t finish_create(const struct channelise_plan *work, uint32_t i, uint64_t rows, pool_t *pool,
                       finish_t **out);
/* Frees the steps of a product; takes NULL. */
void finish_destroy(finish_t *finish);
SCOPED_END(finish_destroy, finish_t *)

/* Converts the rows of the backend to those of the product, in *rows: some in place, others into
 * memory of the steps, which stays theirs and valid until the next run. Fails with DATA if the
 * flags of a product that is judged, or that is a mask, cannot be read; the rows are undefined
 * then. In the writer thread. */
status_t finish_run(finish_t *finish, struct finish_rows *rows);

/* Returns the statistics of the rows of the last run before channels were dropped,
 * [count][columns], if the plan says that they are judged; else NULL. They stay the steps', and
 * valid until the next run. Takes NULL. */
const struct agreement_whole *finish_wholes(const finish_t *finish);

/* A step of finishing. Private to finish/. A new one is a file here, a row of FINISH_STEPS, what it
 * needs of product_spec (product/product.h) and of memory (plan/budget.c), and its condition in
 * plan_products_is_finished() (plan/plan_products.c): no step runs if that is 0. */
struct finish_step {
    /* As finish_create(); *out = NULL: not needed. */
    status_t (*create)(const struct channelise_plan *work, uint32_t i, uint64_t rows, void **out);
    status_t (*run)(void *step, struct finish_rows *rows); /* as finish_run() */
    void (*destroy)(void *step);                           /* never gets NULL */
    /* As finish_wholes(); NULL: the step knows nothing of that. */
    const struct agreement_whole *(*wholes)(const void *step);
};

/* Runs independent tasks 0 .. tasks - 1 in the threads of rows->pool, or in this one if that is
 * NULL, as thread 0. Returns when all are done. */
static inline void finish_each(const struct finish_rows *rows, uint64_t tasks, pool_task_t *run,
                               void *context)
{
    if (rows->pool && tasks > 1) {
        pool_run(rows->pool, tasks, run, context);
        return;
    }
    for (uint64_t i = 0; i < tasks; i++) {
        run(context, 0, i);
    }
}

/* Exchanges *made, the memory of the rows that a step has just made, if any, and *next, so that
 * these rows stay while the next ones are made. Does nothing if *next is NULL: they need not stay.
 */
static inline void finish_turn(const struct finish_rows *rows, void **made, void **next)
{
    void *last = *made;
    if (*next && rows->count > 0) {
        *made = *next;
        *next = last;
    }
}

enum { FINISH_GROUPS = 64 };
/* Returns the first of the rows->count rows, from 0, of group `group` of FINISH_GROUPS groups, to
 * which they are distributed evenly. Group FINISH_GROUPS: the number of rows. */
static inline uint64_t finish_group(const struct finish_rows *rows, uint64_t group)
{
    return rows->count * group / FINISH_GROUPS;
}

/* All steps in their order:
 *   flag           flags cells, and sums the good ones to dumps
 *   combine        makes ifs of streams: Stokes parameters, coherencies, sums of stations and beams
 *   gains          divides channels by the gain of what was before
 *   keep           leaves channels out, and averages neighbours
 *   visibilities   makes means of the sums of visibilities, and weights of all of their numbers
 *   quantise       rounds to few bits, a block of rows at a time, and holds back the rest; comes
 *                  last, as only the sink takes what it leaves */
/* clang-format off */
#define FINISH_STEPS(row) \
    row(finish_flag) \
    row(finish_combine) \
    row(finish_gains) \
    row(finish_keep) \
    row(finish_visibilities) \
    row(finish_quantise)
/* clang-format on */
#define FINISH_DECLARED(name) extern const struct finish_step name;
FINISH_STEPS(FINISH_DECLARED)

#endif
