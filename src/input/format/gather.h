/* The files of an observation, opened one by one and put together. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_GATHER_H
#define VOLTMILL_INPUT_FORMAT_GATHER_H

#include "input/archive.h"
#include "input/format/formats.h"

/* Opens each file by its format and joins them along layout->files_along. They are in the order of
 * their start times if they continue in time and all state one, else in the order given. Where
 * their first samples are known (layout->first_sample, or start times of files side by side), they
 * are at these. Two files, or with layout->parts two datasets of each, contain real and imaginary
 * parts where the layout says so. Assumptions go to (*out)->assumed; may warn. The caller calls
 * archive_destroy(*out), NULL before, in any case. Fails with DATA: two files that are not of one
 * observation, overlap or are far apart, and what differs; with USAGE: an impossible number of
 * files or of first samples; with DEVICE (memory, descriptors); and with DATA, USAGE, DEVICE as the
 * format does. Main thread only (HDF5). */
status_t gather_files(const struct format_input *input, const struct format *format,
                      struct archive **out);

/* Joins archives that are open, archives[i] of input->paths[i], i < input->npaths, as
 * gather_files() does files, with the same notes; layout->parts is refused. Archives that it takes
 * over become NULL; the caller destroys the others, and *out (before: NULL), in any case. Fails
 * with DATA (not of one observation), USAGE (their number, first samples, parts), DEVICE (memory).
 */
status_t gather_opened(const struct format_input *input, struct archive **archives,
                       struct archive **out);

/* An archive (of one part or several, whose first_sample count from its own start) and where it
 * belongs: at sample `first_sample` (of a count that all share, from wherever it begins), in place
 * `stack` along the stacked axis. */
struct place {
    struct archive *archive;
    uint64_t first_sample, stack;
};

/* Starts from {0}; places_free() once, in any case, destroys the archives that were not joined. */
struct places {
    struct place *items;
    size_t count;
};
/* Appends a place of zeros, which the caller fills in; places_free() frees the list. *out, in the
 * list, is valid until the next places_add(). Fails with DEVICE (memory), and leaves *out
 * unchanged. */
status_t places_add(struct places *places, struct place **out);
/* Frees the list, and destroys its archives that were not joined. Call it once: the struct is left
 * as it was. */
void places_free(struct places *places);

/* Sets name i (from 0, below `count`) of an axis to a copy of `name`. The axis has `count` names,
 * all NULL until they are set. Fails with DEVICE (memory). */
status_t gather_name(struct archive *archive, enum axis axis, size_t count, size_t i,
                     const char *name);

/* Limit of the time between archives of one observation. */
enum place_apart {
    PLACE_NEAR, /* less is missing between two of them than all hold; those of different stacks
                   have samples in common */
    PLACE_ANY   /* as they say */
};

/* Joins the archives of `places`, at least one, to one observation along
 * places->items[i].archive->shape.stacked. It begins with the first sample of any archive; samples
 * that a place lacks are gaps of its streams; (*out)->assumed has the assumptions of all. Sorts the
 * places, and moves the contents of the archives into one of them, *out, which is the caller's from
 * then on: places_free() destroys the others. Fails with DATA if two archives overlap, are too far
 * apart (PLACE_NEAR), or do not belong together (the message gives the difference); with DEVICE
 * (memory); *out is unchanged then, and places_free() destroys all. */
status_t place_join(struct places *places, enum place_apart apart, struct archive **out);

#endif
