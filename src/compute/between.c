/* Stages between the filter bank and its products, handed on to their backends. */
#include "compute/backend_ops.h"

#define BETWEEN_ROW(upper, name)                                                                   \
    [BETWEEN_##upper] = {NULL, &cpu_##name, IF_OPENCL(&opencl_##name), &reference_##name},

static const struct between_ops *between_ops_of(enum backend_kind kind,
                                                const struct between_spec *spec)
{
    static const struct between_ops *const operations[BETWEEN_COUNT][BACKEND_KINDS] = {
        BETWEEN_STAGES(BETWEEN_ROW)};
    return operations[spec->stage][kind];
}

uint64_t between_bytes(enum backend_kind kind, const struct between_spec *spec,
                       enum stage_memory memory)
{
    const struct between_ops *ops = between_ops_of(kind, spec);
    return ops && ops->bytes[memory] ? ops->bytes[memory](spec) : 0;
}

status_t between_create(backend_t *backend, const struct between_spec *spec, between_t **out)
{
    return stage_create(backend, between_ops_of(backend->ops->kind, spec), spec, sizeof *spec,
                        "spectra", out);
}

status_t between_run(between_t *between, buffer_t *in, uint64_t first, uint64_t spectra,
                     const struct beamform_turns *turns, buffer_t *out)
{
    return between->ops->run(between, in, first, spectra, turns, out);
}
