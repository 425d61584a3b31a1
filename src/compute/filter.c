/* The stage `filter`, handed on to its backend. */
#include "compute/backend_ops.h"

#include <string.h>

size_t filter_coeff_bytes(const struct filter_spec *spec)
{
    return spec->coeff ? (size_t)spec->taps * (spec->is_complex_coeff ? 2 : 1) * sizeof(double) : 0;
}

status_t filter_candidates(backend_t *backend, const struct filter_spec *spec,
                           struct filter_shape **out, uint32_t *count)
{
    return backend->ops->filter->candidates(backend, spec, out, count);
}

status_t filter_identity(const backend_t *backend, struct text *out)
{
    const struct filter_ops *ops = backend->ops->filter;
    return ops->identity ? ops->identity(backend, out)
                         : text_add(out, "%s", backend_name(backend->ops->kind));
}

status_t filter_create(backend_t *backend, const struct filter_spec *spec, filter_t **out)
{
    status_t st = STATUS_OK;
    struct filter_spec settled = *spec;
    if (settled.choice.backend == BACKEND_AUTO) {
        TRY(filter_choose(backend->ops->kind, spec, &settled.choice));
    }
    TRY(backend->ops->filter->create(backend, &settled, out));
    (*out)->ops = backend->ops->filter;
out:
    return st;
}

void filter_destroy(filter_t *filter)
{
    if (filter) {
        filter->ops->destroy(filter);
    }
}

status_t filter_run(filter_t *filter, buffer_t *in, const struct sample_input *input,
                    const struct stage_run *run, buffer_t *out)
{
    return filter->ops->run(filter, in, input, run, out);
}

status_t filter_times(filter_t *filter, double seconds[FILTER_STEPS])
{
    memset(seconds, 0, FILTER_STEPS * sizeof *seconds);
    return filter->ops->times ? filter->ops->times(filter, seconds) : STATUS_OK;
}
