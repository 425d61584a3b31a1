/* Which ways of filtering there are, and what a problem can choose from: filter_choices.c. */
#ifndef VOLTMILL_COMPUTE_OPENCL_FILTER_FILTER_CHOICES_H
#define VOLTMILL_COMPUTE_OPENCL_FILTER_FILTER_CHOICES_H

#include "compute/opencl/filter/filter_parts.h"

/* The way that does a shape whose method and length are made. Completes the shape; a kernel that
 * cannot do it there (`device`; NULL: on the least of devices) makes room for the one that does
 * everything. */
const struct filter_way *filter_settle(const struct filter_spec *spec,
                                       const struct device_info *device,
                                       struct filter_shape *shape);

/* Of struct filter_ops. */
status_t opencl_filter_choose(const struct filter_spec *spec, struct filter_choice *out);
status_t opencl_filter_candidates(backend_t *backend, const struct filter_spec *spec,
                                  struct filter_shape **out, uint32_t *count);
status_t opencl_filter_words(const struct filter_choice *choice, struct text *out);

#endif
