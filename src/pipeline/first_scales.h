/* Scales of the first block of rows that count for all (scales: first): every rank must have them
 * before it begins. */
#ifndef VOLTMILL_PIPELINE_CHANNELISE_FIRST_SCALES_H
#define VOLTMILL_PIPELINE_CHANNELISE_FIRST_SCALES_H

#include "pipeline/channelise_pipeline.h"

/* Whether product i wants them. */
int first_scales_are_wanted(const struct channelise_plan *work, uint32_t i);

/* Floats of product i: scale, then offset, of all lines. */
size_t first_scales_count(const struct channelise_plan *work, uint32_t i);

/* Gives the plan's products that want them (`first_scales`) room for scales. */
status_t first_scales_make_room(struct channelise_plan *work);

/* Fills it: from the first block, which goes through a pipeline of its own, all streams of it. A
 * line without a number there, or with zeros alone, has the mean of the scales and offsets of its
 * if; an if of such lines alone that of the same polarisation of other stations and beams, or of
 * the powers (I, A A*, B B*). `patience`: seconds without a sign of work after which it fails; 0:
 * no end. Fails as a pipeline does, or with DATA: a product all of whose lines are such. */
status_t first_scales_make(struct channelise_plan *work, backend_t *backend, double patience);

#endif
