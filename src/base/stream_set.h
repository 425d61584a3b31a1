/* Streams of an observation that are worked on together: such as follow each other, or some coarse
 * channels of each polarisation, station and beam. */
#ifndef VOLTMILL_BASE_STREAM_SET_H
#define VOLTMILL_BASE_STREAM_SET_H

#include <stdint.h>

struct stream_set {
    uint32_t first, count;
    uint32_t run;    /* streams that follow each other, */
    uint32_t stride; /* and from the first of a run to that of the next: all of one run have both
                        equal to `count` */
};

/* Returns the set of `count` >= 1 streams that follow each other from `first` on. */
static inline struct stream_set stream_range(uint32_t first, uint32_t count)
{
    return (struct stream_set){first, count, count, count};
}

/* Returns the number of the stream that is in place i (from 0, below set->count) of the set. */
static inline uint32_t stream_set_at(const struct stream_set *set, uint32_t i)
{
    return set->first + i / set->run * set->stride + i % set->run;
}

/* Returns the place, from 0 on, of the stream of this number, which is in the set; undefined for
 * others. */
static inline uint32_t stream_set_find(const struct stream_set *set, uint32_t stream)
{
    const uint32_t after = stream - set->first;
    return after / set->stride * set->run + after % set->stride;
}

/* Returns whether two sets of one observation, in which all runs have one stride, are the same. */
static inline int stream_set_is_same(const struct stream_set *a, const struct stream_set *b)
{
    return a->first == b->first && a->count == b->count && a->run == b->run;
}

#endif
