/* The stage `dedisperse`: adds up power over channels along the delays of many DMs. */
#ifndef VOLTMILL_COMPUTE_DEDISPERSE_H
#define VOLTMILL_COMPUTE_DEDISPERSE_H

#include "compute/backend.h"
#include "dsp/dispersion/dispersion.h"

/* Floats that are added in binary order before anything else (dedisperse_run()). */
enum { DEDISPERSE_SIXTEEN = 16 };

/* Returns the rows of a block, after which their sum is added to the result of floats
 * (dedisperse_run()), of `nrows` rows (used channels) to be added: 4096, which is all of up to
 * 4096; 256 of more, where rounding would show. */
static inline uint32_t dedisperse_block(uint32_t nrows)
{
    enum { FEW = 4096, BLOCK = 256 };
    return nrows > FEW ? BLOCK : FEW;
}

/* How a sample of power is stored: native byte order. */
enum series_format { SERIES_U8, SERIES_U16, SERIES_F32 };

/* Returns the bytes of a sample of power: 1, 2 or 4. */
size_t series_bytes(enum series_format format);

/* Where an OpenCL kernel reads from: memory, or rows staged in local memory. Words hold `pack`
 * samples; those that begin inside of a word are joined from two (funnel), or read from one of
 * `pack` shifted copies of the staged row. */
enum dedisperse_staging {
    STAGING_DIRECT,
    STAGING_FUNNEL,
    STAGING_COPIES,
    STAGING_STRIPS, /* of the CPU backend alone */
    STAGINGS
};

/* A configuration of the OpenCL kernel, or of the CPU's loops: plain numbers, so that it can be
 * stored and sent. A group of time_items x dm_items work-items makes time_items * time_out words of
 * pack samples of dm_items * dm_out DMs: the four parameters of Sclocco et al. 2014, and beyond.
 *
 *   pack     samples of a word: 1; up to 4 of uint8 or 2 of uint16, which are added in packed form
 *   chunk    channels between two barriers; a power of two
 *   skew     samples by which a tile begins earlier from one of its DMs to the next, so that the
 *            rows that steep delays take overlap more
 *   is_ptx   byte permutations are written in NVIDIA's assembler
 *
 *   group    0: brute force; else patterns of groups of this many channels (a power of two, at most
 *            16) are added once for each tile of DMs (dsp/dispersion/patterns.h)
 *
 * STAGING_STRIPS: a thread adds tiles of dm_out DMs over pieces of time_out strips; the other
 * numbers are as in "strips:1:1x1:8x16:32:0:0". With groups: "strips:1:1x1:2x64:32:0:0:16". */
struct dedisperse_shape {
    uint32_t staging, pack, time_items, dm_items, time_out, dm_out, chunk, skew, is_ptx, group;
};

/* Which shapes may be taken: the fastest, those that add every channel for every DM, those that add
 * patterns of delays once. All give the same bytes. */
enum dedisperse_mode { DEDISPERSE_AUTO, DEDISPERSE_BRUTE, DEDISPERSE_TREE };

struct dedisperse_spec {
    enum series_format format;
    /* delays, steps and mask are not copied: they must outlive the stage. */
    const struct dispersion *delays;
    const struct subbands *steps; /* two-step dedispersion; NULL: exact */
    enum dedisperse_mode mode;    /* of exact dedispersion */
    const uint8_t *mask;          /* [nchannels] not 0: the channel is ignored; NULL: none is */
    uint64_t max_samples;         /* most output samples of a run */
    uint32_t threads;
    struct dedisperse_shape shape; /* pack 0: what the backend's model likes best */
    int is_timed;                  /* keep the device's own times: for stage_times() */
};

/* Places of samples in a buffer: bytes to sample 0 of channel 0, from one time to the next, and
 * from one channel to the next. FBH5's [time][pol][channel] has channel_step = bytes of a sample.
 */
struct dedisperse_input {
    size_t offset, time_step, channel_step;
    int is_there; /* they were brought to the device's side of the buffer (compute/device_side.h)
                   */
};

typedef struct dedisperse dedisperse_t;

/* Returns the number of input samples in time from which `outputs` outputs of all DMs are made:
 * outputs + delays->largest; 0 for 0 outputs. */
uint64_t dedisperse_inputs(const struct dedisperse_spec *spec, uint64_t outputs);

/* Returns the number of channels that the mask does not ignore. */
uint32_t dedisperse_count_used(const struct dedisperse_spec *spec);

/* Plans the stage, of `delays` with a table; stage_destroy() frees it. In mode AUTO, brute force
 * replaces a tree that a device has no memory for. Fails with USAGE (no channel left; more than
 * 2^16 used channels of uint16, 2^24 of uint8; groups of more than 256 channels in two steps; a
 * shape that cannot be, or that the mode does not allow: says why), DEVICE (memory, of the device
 * too: backend_was_full(); threads; a kernel that does not build), and leaves *out unchanged. */
status_t dedisperse_create(backend_t *backend, const struct dedisperse_spec *spec,
                           dedisperse_t **out);

/* Returns the bytes of host memory that the stage takes beside the buffers: a bound from above, for
 * planning. */
uint64_t dedisperse_bytes(enum backend_kind kind, const struct dedisperse_spec *spec);

/* Dedisperses: out[d][t] = sum over channels c of in[c][t + delay(d, c)], t < samples.
 *
 *   in    samples 0 .. samples + largest - 1 of every channel, as `input` says; sample 0 is number
 *         `origin` of the delays for output 0
 *   out   float [ndms][out_stride]   out_stride >= samples; a device overwrites the gaps
 *
 * `samples` is at least 1. `in` may be a buffer that an earlier stage of the same backend has
 * written. Sums of integers are exact before they become floats. Floats are added in one order: the
 * channels that are not masked, ascending (of groups, in two steps), make sixteens; each is added
 * in pairs, pairs of pairs and so on, ((0 + 1) + (2 + 3)) + ..., the last one filled up with zeros;
 * these sums are added one after the other to a sum s. After each dedisperse_block() of channels,
 * and the last one, s is added to the result, which begins at 0; s becomes the rounding error of
 * that addition (Knuth, The art of computer programming, vol. 2, 4.2.2, theorem B). So s stays
 * small, and rounding does not grow with the result. So a tree of patterns adds as brute force
 * does: the result is a pure function of samples and delays, whatever the cut in time and DMs,
 * threads, instruction set and shape, and the same from cpu and opencl. The input is transposed
 * first ([time][channel] or not), which takes few percent of the time and lets everything that
 * follows read whole words without looking for ends.
 *
 * May return before the work is done: buffer_get() waits. Fails with DEVICE (the device refuses the
 * work, or earlier work failed; memory). Sclocco, Bal, Hessels, van Leeuwen, van Nieuwpoort 2014,
 * Auto-tuning dedispersion for many-core accelerators, Algorithm 1. */
status_t dedisperse_run(dedisperse_t *dedisperse, buffer_t *in,
                        const struct dedisperse_input *input, uint64_t samples, buffer_t *out,
                        uint64_t out_stride);

/* Makes the sums of the last run once more, from samples that it has left transposed on the device,
 * into the device's side of `out` alone, for timing. Arguments are those of that dedisperse_run().
 * Backends without such a side run anew. May return before the work is done. Fails with DEVICE (the
 * device refuses the work, or earlier work failed; memory). */
status_t dedisperse_again(dedisperse_t *dedisperse, buffer_t *in,
                          const struct dedisperse_input *input, uint64_t samples, buffer_t *out,
                          uint64_t out_stride);

/* Appends the configuration: of OpenCL as `--shape` of bench reads it, "copies:4:32x8:8x4:8:0:1";
 * of the CPU "avx512, 8 threads, pieces of 1024 samples, tiles of 16 DMs", and of a tree its groups
 * and gain; of the reference nothing. Fails with DEVICE (memory). */
status_t dedisperse_words(const dedisperse_t *dedisperse, struct text *out);

/* Appends what the speed of shapes depends on besides the problem: device, driver, the kernel's
 * source, or as backend_identity(). No tabs, no line end. Fails with DEVICE (memory). */
status_t dedisperse_identity(const backend_t *backend, struct text *out);

/* Compiles a shape into the cache, so that dedisperse_create(), which takes this spec, finds it
 * there; does nothing where a backend compiles none. spec->shape is ignored. Any number of threads
 * may do so at once. Fails with USAGE (a shape that the problem or the device cannot have), DEVICE
 * (memory; a kernel that does not build). */
status_t dedisperse_build(backend_t *backend, const struct dedisperse_spec *spec,
                          const struct dedisperse_shape *shape);

/* Write and read a shape as a text, STAGING:PACK:TIMExDM items:TIMExDM outputs:CHUNK:SKEW:PTX, and
 * of trees :GROUP. dedisperse_shape_words(): appends it; fails with DEVICE (memory).
 * dedisperse_shape_parse(): returns 1, or 0 if the text is no shape, and leaves *out unchanged. */
status_t dedisperse_shape_words(const struct dedisperse_shape *shape, struct text *out);
int dedisperse_shape_parse(const char *text, struct dedisperse_shape *out)
    __attribute__((warn_unused_result));

/* Returns whether the backend can run a shape for this problem, without compiling anything: 1, or 0
 * and a reason (a constant text). *cost is what its model expects, in seconds, for comparison only;
 * infinite with 0, and on the CPU of a tree that would be brute force after all. Where memory is
 * short, returns 0, on the CPU 1 with an infinite cost; then this thread's recorded cause is
 * cleared. */
int dedisperse_shape_fits(backend_t *backend, const struct dedisperse_spec *spec,
                          const struct dedisperse_shape *shape, double *cost, const char **why);

/* A shape for a tuner, and what a model expects of it. */
struct dedisperse_candidate {
    double cost; /* seconds, for comparison only; first: for compare_f64() */
    struct dedisperse_shape shape;
};
/* Lists the shapes to try that fit and that the spec's mode allows, lowest cost first: *count of
 * them; free() returns *out. Backends without shapes have none, and *out is NULL. Fails with DEVICE
 * (memory). */
status_t dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                               struct dedisperse_candidate **out, uint32_t *count);

#endif
