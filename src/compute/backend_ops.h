/* The typed table that a backend fills: one entry per operation of backend.h, same contracts. */
#ifndef VOLTMILL_COMPUTE_BACKEND_OPS_H
#define VOLTMILL_COMPUTE_BACKEND_OPS_H

#include "compute/backend.h"

/* Each backend's own buffer and stage begin with these. */
struct buffer {
    const struct backend_ops *ops;
};

struct channelise {
    const struct backend_ops *ops;
    struct channelise_spec spec;
};

struct backend_ops {
    enum backend_kind kind;
    status_t (*buffer_create)(uint64_t bytes, buffer_t **out);
    void (*buffer_destroy)(buffer_t *buffer);
    void *(*buffer_host)(buffer_t *buffer);
    status_t (*channelise_create)(const struct channelise_spec *spec, channelise_t **out);
    void (*channelise_destroy)(channelise_t *channelise);
    uint64_t (*channelise_bytes)(const struct channelise_spec *spec);
    void (*channelise_begin)(channelise_t *channelise, uint64_t first_spectrum);
    status_t (*channelise_run)(channelise_t *channelise, buffer_t *in,
                               const struct channelise_input *input, uint32_t nstreams,
                               uint64_t spectra, uint64_t counted, buffer_t *const *out,
                               uint64_t *rows, uint64_t *missing);
};

extern const struct backend_ops cpu_ops;
extern const struct backend_ops reference_ops;

/* Buffers in plain host memory: for every backend that computes there. */
status_t host_buffer_create(uint64_t bytes, const struct backend_ops *ops, buffer_t **out);
void host_buffer_destroy(buffer_t *buffer);
void *host_buffer_host(buffer_t *buffer);

/* Dumps that end with, and that begin in, spectra first .. first + count - 1. */
uint64_t dumps_finished(uint64_t first, uint64_t count, uint64_t integrate);

#endif
