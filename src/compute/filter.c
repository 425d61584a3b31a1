/* The stage `filter`, handed on to its backend. */
#include "compute/backend_ops.h"

#define FIR                                                                                        \
    {                                                                                              \
        NULL, &cpu_filter, IF_OPENCL(&opencl_filter), &reference_filter                            \
    }

/* Who makes the rows of a filter, by its source and the kind of backend. A new operation is a file
 * for each backend and a row here; jobs ask for it by a source (job/job_filter.c). */
static const struct filter_ops *const filter_operations[FILTER_SOURCES][BACKEND_KINDS] = {
    [FILTER_COEFFICIENTS] = FIR,
    [FILTER_DESIGN] = FIR,
    [FILTER_DISPERSION] = FIR,
    [FILTER_DERIPPLE] = FIR,
};

static const struct filter_ops *filter_ops_of(enum backend_kind kind,
                                              const struct filter_spec *spec)
{
    return filter_operations[spec->source][kind];
}

size_t filter_coeff_bytes(const struct filter_spec *spec)
{
    return spec->coeff ? (size_t)spec->taps * (spec->is_complex_coeff ? 2 : 1) * sizeof(double) : 0;
}

status_t filter_choose(enum backend_kind kind, const struct filter_spec *spec,
                       struct filter_choice *out)
{
    const struct filter_ops *ops = filter_ops_of(kind, spec);
    REQUIRE(ops, STATUS_DEVICE, "this voltmill was built without OpenCL (make OPENCL=1)");
    TRY(ops->choose(spec, out));
    out->backend = kind;
    return STATUS_OK;
}

status_t filter_words(const struct filter_choice *choice, struct text *out)
{
    const struct filter_ops *ops = filter_operations[FILTER_COEFFICIENTS][choice->backend];
    return ops && ops->words ? ops->words(choice, out) : text_add(out, "%s", "");
}

uint64_t filter_bytes(enum backend_kind kind, const struct filter_spec *spec,
                      enum stage_memory memory)
{
    const struct filter_ops *ops = filter_ops_of(kind, spec);
    return ops && ops->bytes[memory] ? ops->bytes[memory](spec) : 0;
}

status_t filter_candidates(backend_t *backend, const struct filter_spec *spec,
                           struct filter_shape **out, uint32_t *count)
{
    return filter_ops_of(backend->ops->kind, spec)->candidates(backend, spec, out, count);
}

status_t filter_create(backend_t *backend, const struct filter_spec *spec, filter_t **out)
{
    struct filter_spec settled = *spec;
    if (settled.choice.backend == BACKEND_AUTO) {
        TRY(filter_choose(backend->ops->kind, spec, &settled.choice));
    }
    return stage_create(backend, filter_ops_of(backend->ops->kind, spec), &settled, sizeof settled,
                        "the filter", out);
}
