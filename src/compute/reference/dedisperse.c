/* Dedispersion as the formula says, in double. */
#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>
#include <string.h>

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

static double dedisperse_read_power(enum series_format format, const char *at)
{
    uint16_t half;
    float single;
    switch (format) {
    case SERIES_U8:
        return *(const unsigned char *)at;
    case SERIES_U16:
        memcpy(&half, at, sizeof half);
        return half;
    default:
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
}

/* The step that does a DM. */
static uint32_t dedisperse_step_of(const struct subbands *steps, uint32_t dm)
{
    uint32_t k = 0;
    while (steps->first[k + 1] <= dm) {
        k++;
    }
    return k;
}

static uint64_t dedisperse_delay_of(const struct dedisperse_spec *spec, uint32_t dm, uint32_t c)
{
    const struct subbands *steps = spec->steps;
    size_t nchannels = spec->delays->nchannels;
    if (!steps) {
        return spec->delays->table[dm * nchannels + c];
    }
    return (uint64_t)steps->inner[dedisperse_step_of(steps, dm) * nchannels + c] +
           steps->outer[(size_t)dm * steps->ngroups + c / steps->group];
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
    const char *power = (const char *)from + input->offset;
    for (uint32_t dm = 0; dm < spec->delays->ndms; dm++) {
        for (uint64_t t = 0; t < samples; t++) {
            double sum = 0;
            for (uint32_t c = 0; c < spec->delays->nchannels; c++) {
                if (!spec->mask || !spec->mask[c]) {
                    uint64_t at = t + dedisperse_delay_of(spec, dm, c);
                    sum += dedisperse_read_power(spec->format, power + at * input->time_step +
                                                                   c * input->channel_step);
                }
            }
            ((float *)to)[dm * out_stride + t] = (float)sum;
        }
    }
out:
    return st;
}

const struct dedisperse_ops reference_dedisperse = {.create = dedisperse_begin,
                                                    .destroy = dedisperse_end,
                                                    .bytes = dedisperse_needed_bytes,
                                                    .run = dedisperse_add_up};
