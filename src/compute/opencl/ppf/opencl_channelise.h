/* The whole filter bank of one problem, in one shape, from device memory to device memory:
 * programs, kernels, tables, workspace. Everything is enqueued in `device->compute`. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_OPENCL_CHANNELISE_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_OPENCL_CHANNELISE_H

#include "compute/opencl/opencl_fft.h"
#include "compute/opencl/ppf/fine.h"

typedef struct ppf ppf_t;

/* Creates the filter bank; ppf_destroy() frees it. `choice` is made (not AUTO). Copies the spec,
 * and its coefficients to the device. Fails with DEVICE: memory, of the device too; a kernel that
 * does not build; a library's FFT that does not do the length. *out is unchanged then. */
status_t ppf_create(device_t *device, const struct channelise_spec *spec,
                    const struct channelise_choice *choice, ppf_t **out);

/* Frees a filter bank; takes NULL. */
void ppf_destroy(ppf_t *bank);
SCOPED_END(ppf_destroy, ppf_t *)

/* Begins a chunk at this spectrum of the observation: nothing is carried over. Fails with DEVICE if
 * the device refuses the work. */
status_t ppf_begin(ppf_t *bank, uint64_t first_spectrum);

/* Gives output i, from 0, one of few bits, its factors (steps_factors()), [nstreams][nchannels].
 * Copies them, after the work that is enqueued, for which it waits. Fails with DEVICE if the device
 * refuses the work. */
status_t ppf_scale(ppf_t *bank, uint32_t i, uint32_t nstreams, const float *factors);

/* Returns whether the filter bank's kernel itself searches for floats that are not finite, which
 * are missing; else they must have become zero before ppf_run(). */
int ppf_looks(const ppf_t *bank);

/* Counter for the missing samples among the first `counted` raw spectra (P samples each) of each
 * stream: deinterleave_found(). `counted` 0: nothing is counted. */
struct ppf_look {
    cl_mem found;
    uint64_t counted;
};

/* Enqueues the next `spectra` <= max_spectra spectra of `nstreams` streams.
 *
 *   in    channelise_inputs() samples; stream s begins at byte s * in_stride (a multiple of 16),
 *         its samples follow each other; or spectra, with spec->is_spectra
 *   look  not NULL
 *   out   one buffer an output, as struct channelise_output says; receives rows[i] rows, bytes[i]
 *         with the counts that follow them
 *
 * Fails with DEVICE (the device refuses the work, memory). */
status_t ppf_run(ppf_t *bank, struct stopwatch *watch, cl_mem in, uint64_t in_stride,
                 uint32_t nstreams, uint64_t spectra, const struct ppf_look *look,
                 const cl_mem *out, uint64_t *rows, uint64_t *bytes);

/* Lists shapes for a problem on this device, at most `most`, the most promising first, and returns
 * their number; 0 if the requested kernel cannot do the problem. */
uint32_t ppf_choices(const struct device_info *info, const struct channelise_spec *spec,
                     struct channelise_shape *out, uint32_t most);

#endif
