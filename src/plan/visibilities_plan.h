/* The visibilities of a job, worked out: which pairs of stations, of which streams, in which order.
 * A pure function of the job and the archive. */
#ifndef VOLTMILL_PLAN_VISIBILITIES_PLAN_H
#define VOLTMILL_PLAN_VISIBILITIES_PLAN_H

#include "compute/correlate.h"
#include "plan/array_plan.h"
#include "product/kind/visibilities_kind.h"

struct visibilities_plan {
    uint32_t (*pairs)[2]; /* of stations, ascending */
    uint32_t npairs;      /* of the product */
    /* Where rows are judged (struct channelise_plan), the autocorrelations of all stations are
     * made, too: those that are missing follow the pairs (spec.npairs is with them). */
    uint32_t *autos;   /* [stations] places of them among the pairs; NULL: rows are not judged */
    uint32_t products; /* of polarisations, of a pair: 1 or 4 */
    struct correlate_spec spec;       /* the user sets max_spectra and threads */
    struct visibilities_spec product; /* of the file: its lists are */
    struct visibilities_antenna *antennas;
    struct visibilities_centre centre;
    const struct array_plan *array;
    uint32_t direction; /* of array_plan_turns() */
    int is_steered;     /* there is a centre: */
    struct direction towards;
    struct utc start; /* of sample 0 */
};

/* Returns the place, from 0, of a polarisation among `pols` (1 or 2) in product `q`, from 0, of a
 * pair (q < pols^2): of the first station, or with `is_second` of the second. The products are 00,
 * 11, 01, 10. */
static inline uint32_t visibilities_pol(uint32_t pols, uint32_t q, int is_second)
{
    static const uint32_t of[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    return pols == 1 ? 0 : of[q][is_second != 0];
}

/* Plans product i, from 0, of the job, whose bank is settled; visibilities_plan_destroy() frees
 * *out. `work`, its job, archive and array must outlive it. Fails with USAGE: no `array`, stations
 * without positions, an archive without a start, a centre that is fixed to the ground, a pair that
 * there is not, no pair, several beams, more than two polarisations, an average that does not
 * divide the channels of a coarse one; with DEVICE (memory). */
status_t visibilities_plan_create(const struct channelise_plan *work, uint32_t i,
                                  struct visibilities_plan **out);
/* Frees a plan of visibilities_plan_create(). Takes NULL. */
void visibilities_plan_destroy(struct visibilities_plan *plan);
SCOPED_END(visibilities_plan_destroy, struct visibilities_plan *)

/* Sets in *out the specification of the correlation of product i, from 0, which has visibilities,
 * for blocks of `units` units; its arrays are the plan's. */
void visibilities_plan_spec(const struct channelise_plan *work, uint32_t i, uint64_t units,
                            struct correlate_spec *out);

/* Returns the number of lines of a row that have weights of their own: pairs x coarse channels x
 * products. */
static inline uint64_t visibilities_lines(const struct visibilities_plan *plan)
{
    return (uint64_t)plan->npairs * plan->spec.coarse * plan->products;
}

#endif
