/* Constants and launches of the kernels behind the filter: detect, sum. Pure functions. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_STEPS_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_STEPS_H

#include "compute/opencl/launch.h"

enum detect_kind { DETECT_SPECTRA, DETECT_POWER, DETECT_GRAINS };

/* Appends " -DCHANNELS=... -DTAPS=... -DFORMAT=..." that every kernel begins with (samples.cl). */
status_t samples_options(const struct channelise_spec *spec, struct text *out);

/* Of `spectra` spectra, the first of them number `first`. */
status_t detect_options(const struct channelise_spec *spec, enum detect_kind kind,
                        struct text *out);
struct launch_size detect_size(const struct channelise_spec *spec, enum detect_kind kind,
                               uint64_t first, uint64_t spectra, uint32_t streams);

status_t sum_options(const struct channelise_spec *spec, struct text *out);
struct launch_size sum_size(const struct channelise_spec *spec, uint64_t next, uint64_t spectra,
                            uint64_t integrate, uint32_t streams);

#endif
