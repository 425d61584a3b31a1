/* The parent packs the specs of its banks; each child creates all of them, from another one on. */
#include "run/ahead.h"

#include "io/cache.h"
#include "io/machine.h"

#include <inttypes.h>

/* CHILD_BYTES: of memory of the host, for a driver and its compiler. */
enum { CHILDREN = 3, CHILD_BYTES = 512 << 20 };

/* Builds the programs of a bank. */
static status_t ahead_build(backend_t *backend, const char *packed)
{
    struct channelise_spec spec;
    SCOPED(free_at) double *coeff = NULL; /* programs are the same for any */
    SCOPED(stage_destroy_at) channelise_t *bank = NULL;
    memcpy(&spec, packed, sizeof spec);
    TRY(memory_zeroed(channelise_samples(&spec) * spec.taps, sizeof *coeff, "coefficients",
                      &coeff));
    spec.coeff = coeff;
    return channelise_create(backend, &spec, &bank);
}

/* `wants` is the bank to begin with; one that fails is left out. */
static status_t ahead_open(const struct apart_request *request, void **out)
{
    const struct backend_options options = {
        .device = request->name, .local_size = 1, .is_ahead = 1};
    const size_t bytes = sizeof(struct channelise_spec);
    const size_t count = request->more.length / bytes;
    backend_t *backend = NULL;
    *out = NULL;
    TRY(backend_open(BACKEND_OPENCL, &options, &backend));
    for (size_t i = 0; i < count; i++) {
        if (ahead_build(backend, request->more.data + (i + request->wants) % count * bytes) !=
            STATUS_OK) {
            report_clear();
        }
    }
    backend_close(backend);
    return STATUS_OK;
}

const struct description ahead_description = {"kernels", NULL, ahead_open};

/* Whether the cache knows nothing of them; from now on it does. */
static int ahead_is_first(const char *device, const struct text *specs)
{
    static const char kind[] = "ahead";
    SCOPED(text_free) struct text key = {0};
    SCOPED(free_at) void *known = NULL;
    size_t bytes = 0;
    return backend_builds_apart(device, &key) &&
           text_add(&key, ", banks %016" PRIx64 "\n", cache_hash(specs->data, specs->length)) ==
               STATUS_OK &&
           cache_get(kind, key.data, &known, &bytes) == STATUS_OK && !known &&
           cache_put(kind, key.data, key.data, key.length);
}

void ahead_begin(const struct channelise_plan *work, int local_size)
{
    struct text specs = {0};
    struct text shapes = {0}; /* without what programs do not depend on */
    uint64_t coeffs = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct channelise_spec spec = work->banks[i].channelise;
        spec.coeff = NULL;
        spec.is_beside = 0;
        coeffs = max_u64(coeffs, channelise_samples(&spec) * spec.taps);
        text_add_bytes(&specs, (const char *)&spec, sizeof spec);
        spec.threads = spec.simd = 0;
        spec.expected = spec.max_spectra = spec.most_samples = 0;
        text_add_bytes(&shapes, (const char *)&spec, sizeof spec);
    }
    const uint64_t child = CHILD_BYTES + coeffs * (sizeof(double) + sizeof(float));
    if (work->backend == BACKEND_OPENCL && work->is_bank && work->nbanks > 1 &&
        machine_memory_left("") > (uint64_t)local_size * work->memory_bytes + CHILDREN * child &&
        specs.status == STATUS_OK && shapes.status == STATUS_OK &&
        ahead_is_first(work->job->device, &shapes)) {
        for (uint64_t i = 0; i < CHILDREN; i++) {
            const struct apart_request request = {
                .name = work->job->device, .wants = i, .more = specs};
            apart_begin_help(&ahead_description, &request);
        }
    }
    text_free(&specs);
    text_free(&shapes);
    report_clear();
}
