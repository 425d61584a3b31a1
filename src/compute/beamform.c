/* The stage `beamform`, handed on to its backend. */
#include "base/memory.h"
#include "compute/backend_ops.h"

uint64_t beamform_cells(const struct beamform_spec *spec, uint64_t first, uint64_t spectra)
{
    return spectra > 0 ? (first + spectra - 1) / spec->cell - first / spec->cell + 1 : 0;
}

status_t beamform_create(backend_t *backend, const struct beamform_spec *spec, beamform_t **out)
{
    beamform_t *made = NULL;
    const struct beamform_ops *ops = backend->ops->beamform;
    REQUIRE(ops, STATUS_USAGE, "beams: the backend %s cannot form them: run.backend: cpu",
            backend_name(backend->ops->kind));
    TRY(memory_zeroed(1, ops->stage.size, "beams", &made));
    made->ops = ops;
    made->spec = *spec;
    return stage_create(backend, made, out);
}

status_t beamform_run(beamform_t *beamform, buffer_t *in, uint64_t first, uint64_t spectra,
                      const struct beamform_turns *turns, buffer_t *out)
{
    return beamform->ops->run(beamform, in, first, spectra, turns, out);
}
