/* Files of one observation whose samples have known numbers. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_PLACE_H
#define VOLTMILL_ARCHIVE_PLACE_H

#include "input/archive.h"

/* An archive (of one part or several, whose first_sample count from its own start) and where it
 * belongs: at sample `first_sample` (of a count that all share, from wherever it begins), in place
 * `stack` along the stacked axis. */
struct place {
    struct archive *archive;
    uint64_t first_sample, stack;
};

/* How far archives of one observation may lie apart. */
enum place_apart {
    PLACE_NEAR, /* less is missing between two of them than all hold; those of different stacks
                   have samples in common */
    PLACE_ANY   /* as they say */
};

/* Joins them to one observation along places[i].archive->stacked, which begins with the first
 * sample of any; what one place along that axis lacks, its streams lack. Places are put in order,
 * and archives moved out of them: archive_destroy() takes what is left. Fails with DATA: two that
 * do not belong together, and what differs; that overlap. */
status_t place_join(struct place *places, size_t count, enum place_apart apart,
                    struct archive **out);

#endif
