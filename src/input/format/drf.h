/* Digital RF recordings: folders of files. Main thread only (HDF5). Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_DRF_H
#define VOLTMILL_INPUT_FORMAT_DRF_H

#include "io/hdf5/h5_dataset.h"

/* Samples are counted from 1970 on: number n is taken at n * denominator / numerator seconds. */
struct drf_rate {
    uint64_t numerator, denominator;
};

/* One channel of a recording: CHANNEL/YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5, with what it
 * says of itself in CHANNEL/metadata. */
struct drf_channel {
    char *name;   /* of its folder */
    char *folder; /* its real path, which tells channels apart */
    struct h5_names files;
    /* Facts that all of its files state. */
    struct drf_rate rate;
    uint64_t first, end; /* samples */
    uint64_t subchannels;
    /* Facts that the channel states and its files do not. */
    uint64_t cadence_ms; /* of its files, by its properties; 0: not said */
    double *centres;     /* [ncentres] frequencies, one for each subchannel; none: unknown */
    size_t ncentres;
    int is_later;             /* these are stated for a sample after the first */
    struct h5_names metadata; /* the files that say so, or that it is continuous */
};

/* Starts from {0}. */
struct drf_channels {
    struct drf_channel *items;
    size_t count;
};

/* Lists the channels of paths [npaths], each a file, the folder of a channel (or of a time in it),
 * or a folder of such folders: sets name, folder and files of each. Opens no file. *out is {0}
 * before; drf_free() in any case. Fails with DATA for a missing or unreadable path, any other
 * folder, or more than 2^22 files in one; with DEVICE (memory). */
status_t drf_list(char *const *paths, size_t npaths, struct drf_channels *out);
/* Frees the channels and all that they point to, and leaves {0}. */
void drf_free(struct drf_channels *channels);

/* Sets *is_it to 1 if the folder at `path` is a channel, or contains some, else to 0. Fails with
 * DATA if it is unreadable; with DEVICE (memory); *is_it is unchanged then. */
status_t drf_is_recording(const char *path, int *is_it);

/* Finds the centre frequencies (Hz) that the channel's Digital Metadata states for its first
 * sample. Sets centres, ncentres and is_later (none: 0), for drf_free(), and adds the files that
 * state them to `metadata`: that of the sample, and the metadata's properties. rate, first and end
 * are known. Fails with DATA: other frequencies for a sample before the channel's end, unreadable
 * metadata; with DEVICE (memory, descriptors); centres are unchanged then. Main thread only (HDF5).
 */
status_t drf_find_centres(struct drf_channel *channel);

/* The value that continuous writers leave where nothing came. Starts from {.searched_left = ...}:
 * up to this number of bytes, of all files together, the samples are searched; larger ones, or
 * those that are unreadable or elsewhere, are assumed to have it. */
struct drf_fill {
    uint64_t searched_left;
    int is_there;
    double value;
};

/* Searches /rf_data of a continuous writer, `data`, in the file at `path`, for the value that
 * stands where nothing came. Sets out->value; sets out->is_there to 1 if it is found or assumed,
 * and counts down searched_left, the bytes that may still be searched. Does nothing if is_there is
 * 1, or for floats, whose value is NaN. Fails with DATA: a type or fill value that cannot be read;
 * with DEVICE (memory). Main thread only (HDF5). */
status_t drf_find_fill(const char *path, const struct h5_dataset *data, struct drf_fill *out);

/* Adds `name`, a text for free(), to the list, which owns it from now on. Fails with DEVICE
 * (memory): `name` is freed then. */
status_t drf_names_add(struct h5_names *names, char *name);

#endif
