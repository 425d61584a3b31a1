/* The stage `dedisperse`, checked and handed on to its backend; shapes as text. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "dsp/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const staging_names[STAGINGS] = {"direct", "funnel", "copies", "strips"};

size_t series_bytes(enum series_format format)
{
    return format == SERIES_U8 ? 1 : format == SERIES_U16 ? 2 : 4;
}

uint64_t dedisperse_inputs(const struct dedisperse_spec *spec, uint64_t outputs)
{
    const struct overlap delays = overlap_delay(0, spec->delays->largest);
    return overlap_inputs(&delays, outputs);
}

uint32_t dedisperse_count_used(const struct dedisperse_spec *spec)
{
    uint32_t used = 0;
    for (uint32_t c = 0; c < spec->delays->nchannels; c++) {
        used += !spec->mask || !spec->mask[c];
    }
    return used;
}

/* Sums stay below 2^32, those of groups of 8-bit channels below 2^16. */
static status_t dedisperse_check(const struct dedisperse_spec *spec)
{
    uint32_t used = dedisperse_count_used(spec);
    REQUIRE(used > 0, STATUS_USAGE, "dedispersion: all %u channels are masked",
            spec->delays->nchannels);
    REQUIRE(spec->format != SERIES_U16 || used <= 1 << 16, STATUS_USAGE,
            "dedispersion: %u channels of 16 bit, at most 65,536 can be added up", used);
    REQUIRE(spec->format != SERIES_U8 || used <= 1 << 24, STATUS_USAGE,
            "dedispersion: %u channels of 8 bit, at most 16,777,216 can be added up", used);
    return REQUIRED(
        !spec->steps || spec->steps->group <= 256, STATUS_USAGE,
        "dedispersion: groups of %u channels, at most 256 can be added up in the first step",
        spec->steps->group);
}

/* Returns why the spec's mode does not allow a shape; NULL: it does. */
static const char *dedisperse_objection(const struct dedisperse_spec *spec,
                                        const struct dedisperse_shape *shape)
{
    return spec->steps && shape->group > 0                      ? "two steps are no tree"
           : spec->mode == DEDISPERSE_BRUTE && shape->group > 0 ? "brute force has no groups"
           : spec->mode == DEDISPERSE_TREE && shape->group == 0 ? "a tree has groups"
                                                                : NULL;
}

status_t dedisperse_create(backend_t *backend, const struct dedisperse_spec *spec,
                           dedisperse_t **out)
{
    const char *why = spec->shape.pack > 0 ? dedisperse_objection(spec, &spec->shape) : NULL;
    TRY(dedisperse_check(spec));
    REQUIRE(!why, STATUS_USAGE, "dedispersion cannot be run so: %s", why);
    return stage_create(backend, backend->ops->dedisperse, spec, sizeof *spec, "dedispersion", out);
}

status_t dedisperse_run(dedisperse_t *dedisperse, buffer_t *in,
                        const struct dedisperse_input *input, uint64_t samples, buffer_t *out,
                        uint64_t out_stride)
{
    return dedisperse->ops->run(dedisperse, in, input, samples, out, out_stride);
}

status_t dedisperse_again(dedisperse_t *dedisperse, buffer_t *in,
                          const struct dedisperse_input *input, uint64_t samples, buffer_t *out,
                          uint64_t out_stride)
{
    const struct dedisperse_ops *ops = dedisperse->ops;
    return ops->again ? ops->again(dedisperse, out, samples, out_stride)
                      : ops->run(dedisperse, in, input, samples, out, out_stride);
}

status_t dedisperse_identity(const backend_t *backend, struct text *out)
{
    return backend->ops->dedisperse->identity ? backend->ops->dedisperse->identity(backend, out)
                                              : backend_identity(backend, out);
}

status_t dedisperse_build(backend_t *backend, const struct dedisperse_spec *spec,
                          const struct dedisperse_shape *shape)
{
    return backend->ops->dedisperse->build ? backend->ops->dedisperse->build(backend, spec, shape)
                                           : STATUS_OK;
}

status_t dedisperse_words(const dedisperse_t *dedisperse, struct text *out)
{
    return dedisperse->ops->words ? dedisperse->ops->words(dedisperse, out)
                                  : text_add(out, "%s", "");
}

status_t dedisperse_shape_words(const struct dedisperse_shape *s, struct text *out)
{
    TRY(text_add(out, "%s:%u:%ux%u:%ux%u:%u:%u:%u", staging_names[s->staging % STAGINGS], s->pack,
                 s->time_items, s->dm_items, s->time_out, s->dm_out, s->chunk, s->skew, s->is_ptx));
    return s->group > 0 ? text_add(out, ":%u", s->group) : STATUS_OK;
}

int dedisperse_shape_parse(const char *text, struct dedisperse_shape *out)
{
    for (uint32_t i = 0; i < STAGINGS; i++) {
        struct dedisperse_shape s = {.staging = i};
        size_t length = strlen(staging_names[i]);
        int end = 0;
        int more = 0;
        int n = strncmp(text, staging_names[i], length) == 0
                    ? sscanf(text + length, ":%u:%ux%u:%ux%u:%u:%u:%u%n:%u%n", &s.pack,
                             &s.time_items, &s.dm_items, &s.time_out, &s.dm_out, &s.chunk, &s.skew,
                             &s.is_ptx, &end, &s.group, &more)
                    : 0;
        if ((n == 8 && text[length + (size_t)end] == '\0') ||
            (n == 9 && s.group > 0 && text[length + (size_t)more] == '\0')) {
            *out = s;
            return 1;
        }
    }
    return 0;
}

int dedisperse_shape_fits(backend_t *backend, const struct dedisperse_spec *spec,
                          const struct dedisperse_shape *shape, double *cost, const char **why)
{
    *cost = INFINITY;
    *why = backend->ops->dedisperse->fits ? dedisperse_objection(spec, shape)
                                          : "this backend has no shapes";
    return !*why ? backend->ops->dedisperse->fits(backend, spec, shape, cost, why) : 0;
}

status_t dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                               struct dedisperse_candidate **out, uint32_t *count)
{
    *out = NULL;
    *count = 0;
    if (backend->ops->dedisperse->candidates) {
        TRY(backend->ops->dedisperse->candidates(backend, spec, out, count));
        uint32_t n = 0;
        for (uint32_t i = 0; i < *count; i++) {
            if (!dedisperse_objection(spec, &(*out)[i].shape)) {
                (*out)[n++] = (*out)[i];
            }
        }
        *count = n;
        qsort(*out, *count, sizeof **out, compare_f64);
    }
    return STATUS_OK;
}
