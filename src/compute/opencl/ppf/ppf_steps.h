/* The kernels of the filter bank, seen from the host: which shapes of the filters can do a problem,
 * constants, tables and launches. Functions that append options keep a failure in out->status. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_PPF_STEPS_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_PPF_STEPS_H

#include "compute/opencl/program.h"

/* How rows leave the last step: as spectra, detected one by one, summed over grains, or as spectra
 * in few bits. */
enum detect_kind { DETECT_SPECTRA, DETECT_POWER, DETECT_GRAINS, DETECT_STEPS };

/* Appends " -DCHANNELS=... -DTAPS=... -DFORMAT=..." that every kernel begins with (samples.cl). A
 * failure is kept in out->status. */
void samples_options(const struct channelise_spec *spec, struct text *out);
/* Appends the options of an oversampled bank: " -DHOP=864 -DIS_SHIFTED=1"; nothing for others. HOP
 * is samples, or pairs of real ones. A failure is kept in out->status. */
void hop_options(const struct channelise_spec *spec, struct text *out);

/* detect_kind(): returns how rows of an output leave the step after the filter. detect_options():
 * appends that step's options for output `i`; a failure is kept in out->status. detect_size():
 * returns its launch for `spectra` >= 1 spectra of `streams` streams, of which the first has the
 * number `first` in the observation. */
enum detect_kind detect_kind(const struct channelise_output *output);
void detect_options(const struct channelise_spec *spec, uint32_t i, struct text *out);
struct launch_size detect_size(const struct channelise_spec *spec, uint32_t i, uint64_t first,
                               uint64_t spectra, uint32_t streams);

/* The step after detection, for output `i` of kind DETECT_GRAINS, sums grains. sum_options():
 * appends its options; a failure is kept in out->status. sum_size(): returns its launch for a block
 * of `spectra` >= 1 spectra of `streams` streams, the first of which has the number `next`. */
void sum_options(const struct channelise_spec *spec, uint32_t i, struct text *out);
struct launch_size sum_size(const struct channelise_spec *spec, uint32_t i, uint64_t next,
                            uint64_t spectra, uint32_t streams);

/* Makes shape number i of a kernel's whole space. Returns 1, and sets *out and whether it fits; 0
 * after the last one. */
typedef int shape_number_t(const struct channelise_spec *spec, int mode,
                           const struct device_info *device, uint64_t i,
                           struct channelise_shape *out, int *fits);
/* Returns whether a list of `count` shapes has this one, the same in all numbers. */
int shapes_have(const struct channelise_shape *list, uint32_t count,
                const struct channelise_shape *shape);

/* Local memory, for complex floats. */
enum {
    PAIR_BYTES = 8,  /* a complex float */
    CELL_BANKS = 16, /* pairs that local memory serves at a time, */
    WIDE_BANKS = 8   /* and cells of two pairs */
};
/* Returns whether a number is a power of two; 1 for 0, too. */
int is_power_of_two(uint32_t number);

/* The FIR kernels before a library's FFT. */

/* Lists candidates for a problem, most promising first, at most `most`, and returns their number.
 * The caller sets their `fft`. `kernel` is KERNEL_AUTO or one of these. AUTO and CACHE, which solve
 * every problem, have at least one, and BLOCKS unless the bank is oversampled. Returns 0 if the
 * requested kernel cannot (all but CACHE: an oversampled bank; SLIDE: too many taps for registers;
 * LOCAL: too many for local memory). */
uint32_t fir_shapes(const struct channelise_spec *spec, enum kernel_kind kernel,
                    const struct device_info *device, struct channelise_shape *out, uint32_t most);

/* Lists the whole space of a problem: every width, run, vector and number of teams that fits, at
 * most `most` shapes, and returns their number. `kernel` as for fir_shapes(): 0 shapes if it cannot
 * do the problem. The caller sets their `fft`. */
uint32_t fir_space(const struct channelise_spec *spec, enum kernel_kind kernel,
                   const struct device_info *device, struct channelise_shape *out, uint32_t most);

/* Builds the kernel of a shape of fir_shapes() or fir_space() for a problem, or takes it from the
 * user's cache; clReleaseKernel() frees *out. With device->is_ahead, *out stays unchanged if
 * another process is building its program. Fails with DEVICE (memory, a kernel that does not
 * build); *out is unchanged then. */
status_t fir_build(device_t *device, const struct channelise_spec *spec,
                   const struct channelise_shape *shape, cl_kernel *out);

/* Returns the size of the launch of a FIR kernel in this shape for `spectra` >= 1 spectra of each
 * of `streams` streams. */
struct launch_size fir_size(const struct channelise_spec *spec,
                            const struct channelise_shape *shape, uint64_t spectra,
                            uint32_t streams);

/* The fused polyphase filter bank of kernels/ppf_fused.cl. */

/* Output of the kernel, its MODE; the `mode` of shapes here and in fine.h and mixed.h. */
enum fused_mode { FUSED_SPECTRA, FUSED_POWER, FUSED_GRAINS, FUSED_STEPS };

/* Lists the shapes to try, at most `most`, the most promising first, and returns their number. A
 * team of channels / values work-items computes `batch` spectra; see the kernel's heading. Returns
 * 0 if the kernel cannot do the problem (channels neither a power of two from 32 to 8192 nor for
 * mixed.h, a group too small for them, no shape that fits local memory or the hop). Any taps (of an
 * oversampled bank at most 64), format, kept channels. */
uint32_t fused_shapes(const struct channelise_spec *spec, int mode,
                      const struct device_info *device, struct channelise_shape *out,
                      uint32_t most);

/* Enumerates the whole space of this problem (shape_number_t). */
shape_number_t fused_number;

/* Appends the build options of the fused kernel in this shape and `mode`, " -DCHANNELS=1024" and so
 * on. A failure is kept in out->status. */
void fused_options(const struct channelise_spec *spec, int mode,
                   const struct channelise_shape *shape, const struct device_info *device,
                   struct text *out);

/* Returns the constant list of sources of the kernel `ppf_fused` of a shape, in order; sets *count
 * to their number. */
const enum program_source *fused_sources(const struct channelise_shape *shape, uint32_t *count);

/* Returns whether the fused kernel itself searches for floats that are not finite (CHECKED), which
 * are missing. */
int fused_looks(const struct channelise_spec *spec);

/* stages_factor_count(): returns the number of pairs (re, im) of the factors of all stages of a
 * transform. `radix` is [CHANNELISE_STAGES], 1 after the last. stages_factors() writes them into
 * `out`, float [count][2] with that count, of one stage after the other; returns the place after
 * them. */
size_t stages_factor_count(const uint32_t *radix);
float *stages_factors(const uint32_t *radix, float *out);

/* Returns whether the fused kernel, in this shape and `mode`, loads four coefficients of a point at
 * once: its table is [T / 4][P][4], not [T][P]. */
int fused_takes_fours(const struct channelise_spec *spec, int mode,
                      const struct channelise_shape *shape);

/* fused_twiddle_count(): returns the number of pairs (re, im) in the kernel's table `twiddles`.
 * fused_twiddles() writes the table, float [count][2]. For shapes of mixed.h the uint32 of
 * mixed_order() follow the factors, two in a pair. If they are of an odd number, the last float of
 * the table is not written, so the caller zeroes it before. */
size_t fused_twiddle_count(const struct channelise_spec *spec,
                           const struct channelise_shape *shape);
void fused_twiddles(const struct channelise_spec *spec, const struct channelise_shape *shape,
                    float *out);

/* Returns the launch of the fused kernel for `spectra` >= 1 spectra of each of `streams` streams,
 * the first of which has the number `first` in the observation (FUSED_GRAINS; ignored otherwise).
 */
struct launch_size fused_size(const struct channelise_spec *spec, int mode,
                              const struct channelise_shape *shape, uint64_t spectra,
                              uint32_t streams, uint64_t first);

#endif
