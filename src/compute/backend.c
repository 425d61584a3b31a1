/* The table of backends, and the facts about a kind that are needed before one is opened. */
#include "compute/backend_ops.h"

enum backend_kind backend_automatic(int has_gpu)
{
    return has_gpu ? BACKEND_OPENCL : BACKEND_CPU;
}

enum backend_kind backend_settle(enum backend_kind kind)
{
    return kind != BACKEND_AUTO ? kind : backend_automatic(backend_has_gpu());
}

#ifndef VOLTMILL_OPENCL
/* These functions are the OpenCL backend's. */
int backend_has_gpu(void)
{
    return 0;
}

int backend_builds_apart(const char *device, struct text *out)
{
    (void)device;
    (void)out;
    return 0;
}

void backend_begin(void)
{
}

void backend_see_one(const struct backend_options *options)
{
    (void)options;
}

status_t backend_devices(struct text *out)
{
    return text_add(out, "none: this voltmill was built without OpenCL\n");
}
#endif

/* Returns the table of a kind; NULL if it was not built. */
static const struct backend_ops *backend_ops_of(enum backend_kind kind)
{
    static const struct backend_ops *const backends[BACKEND_KINDS] = {
        NULL, &cpu_ops, IF_OPENCL(&opencl_ops), &reference_ops};
    return backends[kind];
}

status_t backend_open(enum backend_kind kind, const struct backend_options *options,
                      backend_t **out)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    REQUIRE(ops, STATUS_DEVICE, "this voltmill was built without OpenCL (make OPENCL=1)");
    TRY(ops->open(options, out));
    (*out)->ops = ops;
    return STATUS_OK;
}

const struct backend_abilities *backend_abilities(enum backend_kind kind)
{
    static const struct backend_abilities none = {.slots = 1};
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops ? &ops->abilities : &none;
}

status_t channelise_words(const struct channelise_choice *choice, struct text *out)
{
    const struct backend_ops *ops = backend_ops_of(choice->backend);
    return ops && ops->channelise->words ? ops->channelise->words(choice, out)
                                         : text_add(out, "%s", "");
}

const char *channelise_simd(const struct channelise_choice *choice)
{
    const struct backend_ops *ops = backend_ops_of(choice->backend);
    return ops && ops->channelise->simd ? ops->channelise->simd(choice) : "";
}

const char *channelise_limit(enum backend_kind kind, uint32_t channels)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops && ops->channelise->limit ? ops->channelise->limit(channels) : NULL;
}

uint64_t channelise_bytes(enum backend_kind kind, const struct channelise_spec *spec,
                          enum stage_memory memory)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops && ops->channelise->bytes[memory] ? ops->channelise->bytes[memory](spec) : 0;
}

uint64_t correlate_bytes(enum backend_kind kind, const struct correlate_spec *spec,
                         enum stage_memory memory)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops && ops->correlate->bytes[memory] ? ops->correlate->bytes[memory](spec) : 0;
}

uint64_t dedisperse_bytes(enum backend_kind kind, const struct dedisperse_spec *spec)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops ? ops->dedisperse->bytes(spec) : 0;
}

status_t synthesise_words(const struct synthesise_choice *choice, struct text *out)
{
    const struct backend_ops *ops = backend_ops_of(choice->backend);
    return ops && ops->synthesise && ops->synthesise->words ? ops->synthesise->words(choice, out)
                                                            : text_add(out, "%s", "");
}

const char *synthesise_limit(enum backend_kind kind, uint32_t points, uint64_t ncoeff)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops && ops->synthesise && ops->synthesise->limit ? ops->synthesise->limit(points, ncoeff)
                                                            : NULL;
}

uint64_t synthesise_bytes(enum backend_kind kind, const struct synthesise_spec *spec,
                          enum stage_memory memory)
{
    const struct backend_ops *ops = backend_ops_of(kind);
    return ops && ops->synthesise && ops->synthesise->bytes[memory]
               ? ops->synthesise->bytes[memory](spec)
               : 0;
}
