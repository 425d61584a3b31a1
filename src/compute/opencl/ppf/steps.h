/* Constants and geometry of the kernels around the filter: deal, detect, sum. Pure functions. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_STEPS_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_STEPS_H

#include "compute/opencl/launch.h"

/* Groups of the dealing kernel, each of which counts missing samples by itself. */
enum { DEAL_GROUPS = 1024 };

enum detect_kind { DETECT_SPECTRA, DETECT_POWER, DETECT_GRAINS };

/* Appends " -DCHANNELS=... -DTAPS=... -DFORMAT=..." that every kernel begins with (samples.cl). */
status_t samples_options(const struct channelise_spec *spec, struct text *out);

/* `aligned`: every number of the input lies at a multiple of its size. */
status_t deal_options(const struct channelise_spec *spec, int aligned, struct text *out);
struct launch_size deal_size(uint64_t samples, uint32_t streams);

/* Of `spectra` spectra, the first of them number `first`. */
status_t detect_options(const struct channelise_spec *spec, enum detect_kind kind,
                        struct text *out);
struct launch_size detect_size(const struct channelise_spec *spec, enum detect_kind kind,
                               uint64_t first, uint64_t spectra, uint32_t streams);

status_t sum_options(const struct channelise_spec *spec, struct text *out);
struct launch_size sum_size(const struct channelise_spec *spec, uint64_t next, uint64_t spectra,
                            uint64_t integrate, uint32_t streams);

#endif
