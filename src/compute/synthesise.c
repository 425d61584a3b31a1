/* The stage `synthesise`, handed on to its backend. */
#include "base/memory.h"
#include "compute/backend_ops.h"

#include <string.h>

status_t synthesise_choose(backend_t *backend, const struct synthesise_spec *spec,
                           struct synthesise_choice *out)
{
    const struct synthesise_ops *ops = backend->ops->synthesise;
    *out = (struct synthesise_choice){.backend = backend->ops->kind};
    return ops && ops->choose ? ops->choose(backend, spec, out) : STATUS_OK;
}

status_t synthesise_create(backend_t *backend, const struct synthesise_spec *spec,
                           synthesise_t **out)
{
    status_t st = STATUS_OK;
    synthesise_t *made = NULL;
    struct synthesise_spec settled = *spec;
    const struct synthesise_ops *ops = backend->ops->synthesise;
    REQUIRE_OUT(ops, STATUS_USAGE, "synthesise: the backend %s cannot do it: run.backend: cpu",
                backend_name(backend->ops->kind));
    if (settled.choice.backend == BACKEND_AUTO) {
        TRY_OUT(synthesise_choose(backend, spec, &settled.choice));
    }
    TRY_OUT(memory_zeroed(1, ops->size, "the synthesis", &made));
    made->ops = ops;
    made->spec = settled;
    TRY_OUT(made->ops->create(backend, made));
    *out = made;
    made = NULL;
out:
    synthesise_destroy(made);
    return st;
}

void synthesise_destroy(synthesise_t *synthesise)
{
    if (synthesise) {
        synthesise->ops->destroy(synthesise);
    }
}

status_t synthesise_run(synthesise_t *synthesise, buffer_t *in, const struct sample_input *input,
                        const struct stage_run *run, buffer_t *out)
{
    return synthesise->ops->run(synthesise, in, input, run, out);
}

status_t synthesise_times(synthesise_t *synthesise, double seconds[DEVICE_STEPS])
{
    memset(seconds, 0, DEVICE_STEPS * sizeof *seconds);
    return synthesise->ops->times ? synthesise->ops->times(synthesise, seconds) : STATUS_OK;
}
