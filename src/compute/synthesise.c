/* The stage `synthesise`, handed on to its backend. */
#include "compute/backend_ops.h"

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
    struct synthesise_spec settled = *spec;
    const struct synthesise_ops *ops = backend->ops->synthesise;
    REQUIRE(ops, STATUS_USAGE, "synthesise: the backend %s cannot do it: run.backend: cpu",
            backend_name(backend->ops->kind));
    const char *limit =
        synthesise_limit(backend->ops->kind, spec->points, (uint64_t)spec->taps * spec->points);
    REQUIRE(!limit, STATUS_USAGE, "synthesise: %u points, %u taps: a device makes %s", spec->points,
            spec->taps, limit);
    TRY(settled.choice.backend == BACKEND_AUTO ? synthesise_choose(backend, spec, &settled.choice)
                                               : STATUS_OK);
    return stage_create(backend, ops, &settled, sizeof settled, "the synthesis", out);
}
