/* What a virtual dataset consists of: which elements come from which dataset of which file. */
#ifndef VOLTMILL_ARCHIVE_STORAGE_MAPPINGS_H
#define VOLTMILL_ARCHIVE_STORAGE_MAPPINGS_H

#include "io/hdf5/h5.h"

/* Elements of the virtual dataset, and as many of a source, in the same order. */
struct mapping {
    char *path;  /* of the source's file, as it is found from here */
    char *name;  /* of the dataset in it */
    hid_t here;  /* dataspace of the virtual dataset */
    hid_t there; /* of the source, as the mapping knows it until mapping_settle() */
    int is_settled;
    int unlimited[2]; /* dimension along which `here` and `there` go on without an end; -1: none */
    hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK]; /* that hold all of `here` */
    uint32_t
        slot; /* where the source was open last, for archive/storage/stored.c; 0: it never was */
    uint64_t row_bytes; /* of the source's chunks: archive/storage/stored_row.c */
};

struct mappings {
    struct mapping *items;
    size_t count;
};

/* Those of a dataset in the file at `home`; names with %b are written out, and all ends at the
 * dataset's present shape. mappings_free() in any case. Fails with DATA. */
status_t mappings_load(hid_t dataset, const char *home, struct mappings *out);
void mappings_free(struct mappings *mappings);

/* Fits the mapping to the shape of its source, which is `space`: what goes on without an end stops
 * where either does. Fails with DATA: the source has another rank or ends before the mapping. */
status_t mapping_settle(struct mapping *mapping, hid_t space);

/* The dimension of the source along which dimension `along` of the virtual dataset runs; -1: there
 * is none, or it is not clear. */
int mapping_along(const struct mapping *mapping, int along);

#endif
