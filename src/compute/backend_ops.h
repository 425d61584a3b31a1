/* The typed tables that a backend fills: an entry for each operation of its headers, with the same
 * contract. */
#ifndef VOLTMILL_COMPUTE_BACKEND_OPS_H
#define VOLTMILL_COMPUTE_BACKEND_OPS_H

#include "compute/between.h"
#include "compute/channelise.h"
#include "compute/correlate.h"
#include "compute/dedisperse.h"
#include "compute/device_side.h"
#include "compute/filter.h"
#include "compute/synthesise.h"

/* Makes an object of a stage, `what` in messages: with `table` (struct filter_ops ...) as its
 * `ops`, and with the `size` bytes of `spec`; the backend's create() fills the rest. Sets the
 * pointer at `out` (filter_t ** ...) to it, for stage_destroy(). Fails with DEVICE (memory), and as
 * that create() does, with USAGE or DEVICE; nothing is left of it then, and the pointer unchanged.
 */
status_t stage_create(backend_t *backend, const void *table, const void *spec, size_t size,
                      const char *what, void *out);

/* Each backend's own objects begin with these. `ops` of backends and buffers are set after open()
 * and create(), those of stages before create(), as `spec` is, which comes next. Other objects' own
 * create() sets them. */
struct backend {
    const struct backend_ops *ops;
};

struct buffer {
    const struct buffer_ops *ops;
};

struct between {
    const struct between_ops *ops;
    struct between_spec spec;
};

struct channelise {
    const struct channelise_ops *ops;
    struct channelise_spec spec;
};

struct correlate {
    const struct correlate_ops *ops;
    struct correlate_spec spec;
    uint64_t next; /* spectrum that comes next */
    void *pairs;   /* copies, to which the spec points */
    float *gains;
};

struct dedisperse {
    const struct dedisperse_ops *ops;
    struct dedisperse_spec spec;
};

struct filter {
    const struct filter_ops *ops;
    struct filter_spec spec;
};

struct synthesise {
    const struct synthesise_ops *ops;
    struct synthesise_spec spec;
};

struct fft_baseline {
    const struct fft_baseline_ops *ops;
};

struct between_ops {
    struct stage_ops stage;
    uint64_t (*bytes[STAGE_MEMORIES])(const struct between_spec *spec); /* NULL: none */
    status_t (*run)(between_t *between, buffer_t *in, uint64_t first, uint64_t spectra,
                    const struct beamform_turns *turns, buffer_t *out);
};

struct channelise_ops {
    struct stage_ops stage;
    uint64_t (*bytes[STAGE_MEMORIES])(
        const struct channelise_spec *spec); /* of a device NULL: none */
    void (*begin)(channelise_t *channelise, uint64_t first_spectrum);
    status_t (*scale)(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                      const float *factors);
    /* `first`: channelise_run_after()'s, or NULL. */
    status_t (*run)(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                    const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                    uint64_t counted, buffer_t *const *out, uint64_t *rows);
    /* NULL: no limit; no choice; no words; ""; no candidates. */
    const char *(*limit)(uint32_t channels);
    status_t (*choose)(backend_t *backend, const struct channelise_spec *spec,
                       struct channelise_choice *out);
    status_t (*words)(const struct channelise_choice *choice, struct text *out);
    const char *(*simd)(const struct channelise_choice *choice);
    status_t (*candidates)(backend_t *backend, const struct channelise_spec *spec,
                           enum channelise_space space, struct channelise_shape **out,
                           uint32_t *count);
};

struct dedisperse_ops {
    struct stage_ops stage;
    uint64_t (*bytes)(const struct dedisperse_spec *spec);
    status_t (*run)(dedisperse_t *dedisperse, buffer_t *in, const struct dedisperse_input *input,
                    uint64_t samples, buffer_t *out, uint64_t out_stride);
    /* NULL: the same as run; no words; the backend's; nothing to build; no shapes (the last two).
     */
    status_t (*again)(dedisperse_t *dedisperse, buffer_t *out, uint64_t samples,
                      uint64_t out_stride);
    status_t (*words)(const dedisperse_t *dedisperse, struct text *out);
    status_t (*identity)(const backend_t *backend, struct text *out);
    status_t (*build)(backend_t *backend, const struct dedisperse_spec *spec,
                      const struct dedisperse_shape *shape);
    int (*fits)(backend_t *backend, const struct dedisperse_spec *spec,
                const struct dedisperse_shape *shape, double *cost, const char **why);
    status_t (*candidates)(backend_t *backend, const struct dedisperse_spec *spec,
                           struct dedisperse_candidate **out, uint32_t *count); /* in any order */
};

struct filter_ops {
    struct stage_ops stage;
    /* choose() and bytes() are pure functions of the spec. */
    status_t (*choose)(const struct filter_spec *spec, struct filter_choice *out);
    uint64_t (*bytes[STAGE_MEMORIES])(const struct filter_spec *spec); /* of a device NULL: none */
    status_t (*candidates)(backend_t *backend, const struct filter_spec *spec,
                           struct filter_shape **out, uint32_t *count);
    /* NULL: no words. */
    status_t (*words)(const struct filter_choice *choice, struct text *out);
};

struct synthesise_ops {
    struct stage_ops stage;
    uint64_t (*bytes[STAGE_MEMORIES])(
        const struct synthesise_spec *spec); /* of a device NULL: none */
    /* NULL: no limit; no choice; no words. choose() finds `out` with the backend's kind. */
    const char *(*limit)(uint32_t points, uint64_t ncoeff);
    status_t (*choose)(backend_t *backend, const struct synthesise_spec *spec,
                       struct synthesise_choice *out);
    status_t (*words)(const struct synthesise_choice *choice, struct text *out);
};

struct correlate_ops {
    struct stage_ops stage;
    uint64_t (*bytes[STAGE_MEMORIES])(
        const struct correlate_spec *spec); /* of a device NULL: none */
    status_t (*run)(correlate_t *correlate, buffer_t *in, uint64_t spectra, const float *turns,
                    buffer_t *out);
    /* Begins a chunk at spectrum correlate->next. NULL: a dump that begins in a run takes nothing
     * that was carried. */
    void (*begin)(correlate_t *correlate);
};

struct fft_baseline_ops {
    struct stage_ops stage;
    status_t (*create)(backend_t *backend, const struct channelise_spec *spec, uint64_t spectra,
                       fft_baseline_t **out);
    double (*time)(fft_baseline_t *baseline);
};

struct buffer_ops {
    size_t size; /* of an object: host_buffer_create() */
    status_t (*create)(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out);
    void (*destroy)(buffer_t *buffer);
    status_t (*get)(buffer_t *buffer, void **out);
    status_t (*missing)(buffer_t *in, uint64_t *out);
    int (*lend)(buffer_t *in, const void *data); /* NULL: cannot */
};

struct backend_ops {
    enum backend_kind kind;
    struct backend_abilities abilities;
    const struct buffer_ops *buffers;
    const struct channelise_ops *channelise;
    const struct dedisperse_ops *dedisperse;
    const struct peaks_ops *peaks;                 /* NULL: the host searches */
    const struct resident_rows_ops *resident_rows; /* NULL: keeps none */
    const struct ingest_ops *ingest;               /* NULL: samples are worked on where they are */
    const struct synthesise_ops *synthesise;       /* NULL: has none */
    const struct correlate_ops *correlate;
    const struct fft_baseline_ops *fft_baseline; /* NULL: has none */
    status_t (*open)(const struct backend_options *options, backend_t **out);
    void (*close)(backend_t *backend);
    uint32_t (*simd)(void);                                           /* NULL: all are alike */
    const char *(*device)(const backend_t *backend);                  /* NULL: nothing to say */
    status_t (*identity)(const backend_t *backend, struct text *out); /* NULL: the name */
    int (*was_full)(backend_t *backend);                              /* NULL: never */
    status_t (*measure)(backend_t *backend, struct backend_rates *out);
    status_t (*measure_fma)(backend_t *backend, uint32_t threads, double *out); /* NULL: zero */
};

extern const struct backend_ops cpu_ops;
extern const struct backend_ops reference_ops;
extern const struct filter_ops cpu_filter, opencl_filter, reference_filter;
extern const struct synthesise_ops reference_synthesise;
#define BETWEEN_DECLARED(upper, name)                                                              \
    extern const struct between_ops cpu_##name, opencl_##name, reference_##name;
BETWEEN_STAGES(BETWEEN_DECLARED)
extern const struct correlate_ops reference_correlate;
/* Rows of tables that have an entry for each kind of backend. */
enum { BACKEND_KINDS = BACKEND_REFERENCE + 1 };
#ifdef VOLTMILL_OPENCL
#define IF_OPENCL(ops) (ops)
extern const struct backend_ops opencl_ops;
/* Does as backend_begin(): sets environment variables of NVIDIA's driver, before there is any other
 * thread. `root` comes before the path /sys/module/nvidia/version of Linux's ("", except in tests).
 * Cannot fail. */
void opencl_begin(const char *root);
#else
#define IF_OPENCL(ops) NULL
#endif

/* A buffer in plain host memory, at the beginning of an object of its table's `size` bytes, whose
 * other bytes are zeros at first. */
struct host_buffer {
    struct buffer base;
    void *own;
    void *data;       /* its own, or lent */
    uint64_t missing; /* samples that the last run from it found so */
};
/* Operations of the backends in plain host memory. None of them waits for work on a buffer.
 *
 * host_buffer_create(): buffer_create(), but the caller sets ops; `use` is ignored; fails with
 * DEVICE (memory). host_buffer_destroy(): frees a buffer, which is not NULL. host_buffer_get():
 * sets *out to the data, which stay the buffer's. host_buffer_missing(): sets *out to the number of
 * missing samples that the last run from `in` has noted. host_measure(): backend_measure(), by one
 * thread; fails with DEVICE (memory). The others never fail. */
status_t host_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes,
                            buffer_t **out);
void host_buffer_destroy(buffer_t *buffer);
status_t host_buffer_get(buffer_t *buffer, void **out);
status_t host_buffer_missing(buffer_t *in, uint64_t *out);
status_t host_measure(backend_t *backend, struct backend_rates *out);
/* Returns the data of a struct host_buffer, which stay the buffer's, without waiting: for who knows
 * that no thread works on it. */
static inline void *host_data(const buffer_t *buffer)
{
    return ((const struct host_buffer *)buffer)->data;
}

/* Returns the number of rows of `integrate` >= 1 spectra, counted from spectrum 0, that end with
 * one of spectra first .. first + count - 1. */
uint64_t dumps_finished(uint64_t first, uint64_t count, uint64_t integrate);

#endif
