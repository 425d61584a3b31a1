/* The CPU's table of operations. */
#include "compute/cpu/cpu.h"

/* Samples and rows of a block for one or two threads: the three of them stay in a last-level
 * cache, so that what is read is still there when it is worked on. */
enum { BLOCK_BYTES = 4 << 20 };

static uint32_t backend_best_simd(void)
{
    return cpu_simd(0);
}

const struct backend_ops cpu_ops = {
    .kind = BACKEND_CPU,
    .abilities = {.uses_threads = 1,
                  .slots =
                      4, /* one is read, one worked on while the one before ends, one written */
                  .block_bytes = BLOCK_BYTES},
    .beamform = &cpu_beamform,
    .channelise = &cpu_channelise,
    .dedisperse = &cpu_dedisperse,
    .synthesise = &cpu_synthesise,
    .correlate = &cpu_correlate,
    .fft_baseline = &cpu_fft_baseline,
    .open = cpu_open,
    .close = cpu_close,
    .simd = backend_best_simd,
    .identity = cpu_identity,
    .buffer_create = cpu_buffer_create,
    .buffer_destroy = cpu_buffer_destroy,
    .buffer_get = cpu_buffer_get,
    .buffer_lend = cpu_buffer_lend,
    .buffer_missing = cpu_buffer_missing,
    .measure = host_measure,
    .measure_fma = cpu_measure_fma};
