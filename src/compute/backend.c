#include "compute/backend.h"

#include "compute/backend_ops.h"
#include "dsp/overlap.h"

size_t channelise_samples(const struct channelise_spec *spec)
{
    return (size_t)spec->channels * (spec->is_complex ? 1 : 2);
}

uint64_t channelise_inputs(const struct channelise_spec *spec, uint64_t spectra)
{
    const struct overlap bank = overlap_filter_bank(spec->taps);
    return overlap_inputs(&bank, spectra);
}

uint64_t dumps_finished(uint64_t first, uint64_t count, uint64_t integrate)
{
    return (first + count) / integrate - first / integrate;
}

enum backend_kind backend_settle(enum backend_kind kind)
{
#ifdef VOLTMILL_OPENCL
    return kind != BACKEND_AUTO ? kind : opencl_has_gpu() ? BACKEND_OPENCL : BACKEND_CPU;
#else
    return kind != BACKEND_AUTO ? kind : BACKEND_CPU;
#endif
}

status_t backend_devices(struct text *out)
{
#ifdef VOLTMILL_OPENCL
    return opencl_devices(out);
#else
    return text_add(out, "none: this voltmill was built without OpenCL\n");
#endif
}

/* The table of a kind; NULL when it was not built. */
static const struct backend_ops *backend_ops_of(enum backend_kind kind)
{
#ifdef VOLTMILL_OPENCL
    if (kind == BACKEND_OPENCL) {
        return &opencl_ops;
    }
#endif
    return kind == BACKEND_CPU ? &cpu_ops : kind == BACKEND_REFERENCE ? &reference_ops : NULL;
}

status_t backend_open(enum backend_kind kind, const struct backend_options *options,
                      backend_t **out)
{
    status_t st = STATUS_OK;
    const struct backend_ops *ops = backend_ops_of(kind);
    REQUIRE(ops, STATUS_DEVICE, "this voltmill was built without OpenCL (make OPENCL=1)");
    TRY(ops->open(options, out));
out:
    return st;
}

void backend_close(backend_t *backend)
{
    if (backend) {
        backend->ops->close(backend);
    }
}

enum backend_kind backend_which(const backend_t *backend)
{
    return backend->ops->kind;
}

const char *backend_device(const backend_t *backend)
{
    return backend->ops->device(backend);
}

int backend_was_full(backend_t *backend)
{
    return backend->ops->was_full(backend);
}

uint32_t backend_slots(enum backend_kind kind)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops ? ops->slots : 1;
}

uint64_t backend_block_bytes(enum backend_kind kind)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops ? ops->block_bytes : 0;
}

status_t buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    return backend->ops->buffer_create(backend, use, bytes, out);
}

void buffer_destroy(buffer_t *buffer)
{
    if (buffer) {
        buffer->ops->buffer_destroy(buffer);
    }
}

status_t buffer_get(buffer_t *buffer, void **out)
{
    return buffer->ops->buffer_get(buffer, out);
}

int buffer_lend(buffer_t *in, const void *data)
{
    return in->ops->buffer_lend ? in->ops->buffer_lend(in, data) : 0;
}

status_t buffer_missing(buffer_t *in, uint64_t *out)
{
    return in->ops->buffer_missing(in, out);
}

status_t channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                           struct channelise_choice *out)
{
    return backend->ops->channelise_choose(backend, spec, out);
}

uint32_t backend_ability(const backend_t *backend)
{
    return backend->ops->ability ? backend->ops->ability() : 0;
}

status_t channelise_words(const struct channelise_choice *choice, struct text *out)
{
    const struct backend_ops *ops = backend_ops_of(choice->backend);
    return ops && ops->channelise_words ? ops->channelise_words(choice, out)
                                        : text_add(out, "%s", "");
}

const char *channelise_simd(const struct channelise_choice *choice)
{
    const struct backend_ops *ops = backend_ops_of(choice->backend);
    return ops && ops->channelise_simd ? ops->channelise_simd(choice) : "";
}

status_t channelise_create(backend_t *backend, const struct channelise_spec *spec,
                           channelise_t **out)
{
    return backend->ops->channelise_create(backend, spec, out);
}

void channelise_destroy(channelise_t *channelise)
{
    if (channelise) {
        channelise->ops->channelise_destroy(channelise);
    }
}

uint64_t channelise_bytes(enum backend_kind kind, const struct channelise_spec *spec)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops ? ops->channelise_bytes(spec) : 0;
}

uint64_t channelise_device_bytes(enum backend_kind kind, const struct channelise_spec *spec)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops && ops->channelise_device_bytes ? ops->channelise_device_bytes(spec) : 0;
}

void channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    channelise->ops->channelise_begin(channelise, first_spectrum);
}

status_t channelise_run(channelise_t *channelise, buffer_t *in,
                        const struct channelise_input *input, uint32_t nstreams, uint64_t spectra,
                        uint64_t counted, buffer_t *const *out, uint64_t *rows)
{
    return channelise->ops->channelise_run(channelise, in, input, nstreams, spectra, counted, out,
                                           rows);
}

status_t channelise_times(channelise_t *channelise, double seconds[CHANNELISE_STEPS])
{
    return channelise->ops->channelise_times(channelise, seconds);
}

uint64_t dedisperse_bytes(enum backend_kind kind, const struct dedisperse_spec *spec)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops ? ops->dedisperse_bytes(spec) : 0;
}

status_t backend_measure(backend_t *backend, struct backend_rates *out)
{
    return backend->ops->measure(backend, out);
}

status_t bare_create(backend_t *backend, const struct channelise_spec *spec, uint64_t spectra,
                     bare_t **out)
{
    *out = NULL;
    return backend_which(backend) == BACKEND_CPU ? cpu_bare_create(backend, spec, spectra, out)
                                                 : STATUS_OK;
}

void bare_destroy(bare_t *bare)
{
    cpu_bare_destroy(bare);
}

double bare_time(bare_t *bare)
{
    return cpu_bare_time(bare);
}
