/* Digital RF recordings: folders of files. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_DRF_H
#define VOLTMILL_INPUT_FORMAT_DRF_H

#include "base/status.h"
#include "io/hdf5/h5_dataset.h"

#include <stddef.h>
#include <stdint.h>

/* A sorted list of names. Starts from {0}. */
struct drf_names {
    char **items;
    size_t count;
};

/* One channel of a recording: CHANNEL/YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5, with what it
 * says of itself in CHANNEL/metadata. */
struct drf_channel {
    char *name;   /* of its folder */
    char *folder; /* its real path, which tells channels apart */
    struct drf_names files;
};

/* Starts from {0}. */
struct drf_channels {
    struct drf_channel *items;
    size_t count;
};

/* The channels that these paths stand for: each a file of one, the folder of a channel (or of a
 * time in it), or a folder of such folders. Fails with DATA: a folder of none of these. */
status_t drf_list(char *const *paths, size_t npaths, struct drf_channels *out);
void drf_free(struct drf_channels *channels);

/* Whether a folder is a channel, or holds some. Fails with DATA: it cannot be read. */
status_t drf_is_recording(const char *path, int *is_it);

/* Samples are counted from 1970 on: number n is taken at n * denominator / numerator seconds. */
struct drf_rate {
    uint64_t numerator, denominator;
};

/* The centre frequencies, one for each subchannel, that the channel's Digital Metadata states for
 * sample `first`, and the files that do: that of the sample, and the metadata's properties; none:
 * *count = 0. *is_later: it states none before that sample, and these are for a later one. Fails
 * with DATA: other ones for a sample before `end`. */
status_t drf_centres(const struct drf_channel *channel, struct drf_rate rate, uint64_t first,
                     uint64_t end, double **out, size_t *count, int *is_later,
                     struct drf_names *files);

/* The value that continuous writers leave where nothing came. Starts from {.searched_left = ...}:
 * up to this size the samples are searched; larger ones are taken to have it. */
struct drf_fill {
    uint64_t searched_left;
    int is_there;
    double value;
};

/* Searches /rf_data of a continuous writer for it, unless it is there. Floats need none. Fails with
 * DATA: a type or fill value that cannot be read. */
status_t drf_find_fill(const char *path, const struct h5_dataset *data, struct drf_fill *out);

void drf_names_free(struct drf_names *names);

/* Adds the name and owns it, also when it fails. Fails with DEVICE (memory). */
status_t drf_names_add(struct drf_names *names, char *name);

#endif
