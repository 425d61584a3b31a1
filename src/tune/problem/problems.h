/* Problems of the tuner: filter bank and blocks (problem_ppf.c), filter, dedispersion. */
#ifndef VOLTMILL_TUNE_PROBLEM_PROBLEMS_H
#define VOLTMILL_TUNE_PROBLEM_PROBLEMS_H

#include "compute/channelise.h"
#include "compute/dedisperse.h"
#include "compute/filter.h"
#include "tune/problem.h"

/* How a filter bank is computed. The spec is a struct channelise_spec, a configuration the numbers
 * of a struct channelise_shape. Other shapes may round otherwise, so what a run has begun with must
 * be kept with it. */
extern const struct tune_problem tune_ppf;

/* How many spectra, of all streams together, are set to work at once; chunks follow from that where
 * the job leaves them open. No byte of a product depends on it. The spec is a struct
 * channelise_spec, whose choice is how blocks are computed (none: by rule); a configuration is one
 * number, a multiple of 16. */
extern const struct tune_problem tune_block_length;

/* How a long filter is computed: by direct sums or by overlap-save, and in which blocks. The spec
 * is a struct filter_spec, whose max_rows may be 0: many; a configuration the numbers
 * of a struct filter_shape. Other methods and lengths round otherwise. */
extern const struct tune_problem tune_fir;

/* How the sums of dedispersion are made, which do not depend on it. The spec is a struct
 * dedisperse_spec, a configuration the numbers of a struct dedisperse_shape. */
extern const struct tune_problem tune_dedispersion;

/* Makes the choice for a filter bank on one rank, complete; the spec has its coefficients. It is
 * the spec's choice if that is set; else the fastest of a few good candidates, measured in `memory`
 * bytes of this machine (0: no limit) and kept in the user's cache, or remembered from there. A
 * single candidate is only verified. The choice is made by rule if memory is too small (with
 * several candidates a warning), with the CPU backend, and if the only candidate has more than 2^14
 * channels. Makes FFTW's plan on a CPU (channelise_choose()). Fails with USAGE (the requested
 * kernel cannot do the problem), DEVICE (memory, the device, or no candidate is right); *out is
 * unchanged then. */
status_t tune_ppf_choose(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                         struct channelise_choice *out);

/* Makes the choice for a long filter: the spec's if that is set, else the fastest of all
 * filter_candidates(), measured if there are several, in `memory` bytes of this machine (0: no
 * limit), and kept in the user's cache, or remembered from there; by rule if memory is too small (a
 * warning). Fails with USAGE (the requested method cannot do the problem), DEVICE (memory, the
 * device, or no candidate is right); *out is unchanged then. */
status_t tune_fir_choose(backend_t *backend, const struct filter_spec *spec, uint64_t memory,
                         struct filter_choice *out);

#endif
