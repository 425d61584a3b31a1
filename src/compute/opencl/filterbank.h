/* The whole filter bank of one problem, done in one chosen way, from device memory to device
 * memory: programs, kernels, tables, workspace. Everything is enqueued in `device->compute`. */
#ifndef VOLTMILL_COMPUTE_OPENCL_FILTERBANK_H
#define VOLTMILL_COMPUTE_OPENCL_FILTERBANK_H

#include "compute/opencl/fir.h"
#include "compute/opencl/fused.h"
#include "compute/opencl/stopwatch.h"

typedef struct filterbank filterbank_t;

/* `choice` is made (not AUTO). Fails with DEVICE: memory, or a kernel that does not build. */
status_t filterbank_create(device_t *device, const struct channelise_spec *spec,
                           const struct channelise_choice *choice, filterbank_t **out);
void filterbank_destroy(filterbank_t *bank);

/* Begins a chunk: nothing is carried over. */
status_t filterbank_begin(filterbank_t *bank, uint64_t first_spectrum);

/* Enqueues the next `spectra` spectra of `nstreams` streams.
 *
 *   in    samples of spectra + T - 1 raw spectra; stream s begins at byte s * in_stride (a multiple
 * of 16), its samples follow each other out   one buffer an output, as struct channelise_output
 * says; gets rows[i] rows */
status_t filterbank_run(filterbank_t *bank, struct stopwatch *watch, cl_mem in, uint64_t in_stride,
                        uint32_t nstreams, uint64_t spectra, const cl_mem *out, uint64_t *rows);

/* Ways to do a problem on this device, most promising first, at most `most`. */
uint32_t filterbank_choices(const struct device_info *info, const struct channelise_spec *spec,
                            struct channelise_choice *out, uint32_t most);

/* The shapes inside a choice. */
struct fused_shape filterbank_fused(const struct channelise_choice *choice);
struct fir_shape filterbank_fir(const struct channelise_choice *choice);

#endif
