/* Dedispersion as the formula says, in double. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/dedisperse_table.h"

#include <stdlib.h>

static status_t dedisperse_begin(backend_t *backend, const struct dedisperse_spec *spec,
                                 dedisperse_t **out)
{
    status_t st = STATUS_OK;
    (void)backend;
    TRY(memory_zeroed(1, sizeof **out, "the reference", out));
    (*out)->spec = *spec;
out:
    return st;
}

static void dedisperse_end(dedisperse_t *dedisperse)
{
    free(dedisperse);
}

static uint64_t dedisperse_needed_bytes(const struct dedisperse_spec *spec)
{
    (void)spec;
    return sizeof(dedisperse_t);
}

static status_t dedisperse_add_up(dedisperse_t *dedisperse, buffer_t *in,
                                  const struct dedisperse_input *input, uint64_t samples,
                                  buffer_t *out, uint64_t out_stride)
{
    status_t st = STATUS_OK;
    const struct dedisperse_spec *spec = &dedisperse->spec;
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_get(in, &from));
    TRY(buffer_get(out, &to));
    for (uint32_t dm = 0; dm < spec->delays->ndms; dm++) {
        for (uint64_t t = 0; t < samples; t++) {
            ((float *)to)[dm * out_stride + t] = dedisperse_formula(spec, input, from, dm, t);
        }
    }
out:
    return st;
}

const struct dedisperse_ops reference_dedisperse = {.create = dedisperse_begin,
                                                    .destroy = dedisperse_end,
                                                    .bytes = dedisperse_needed_bytes,
                                                    .run = dedisperse_add_up};
