/* A filterbank as input: FBH5, as blimpy, turbo_seti, rawspec and voltmill itself write it.
 *
 *   /data   uint8, uint16 or float32 [time][if][channel], in one piece or in chunks
 *
 * Rank 0 opens it and packs it, the others unpack it; every rank reads for itself. */
#ifndef VOLTMILL_ARCHIVE_FBH5_H
#define VOLTMILL_ARCHIVE_FBH5_H

#include "base/pack.h"
#include "base/status.h"
#include "base/units.h"

#include <stddef.h>
#include <stdint.h>

struct fbh5 {
    char *path;
    uint64_t file_bytes;
    uint32_t sample_bytes; /* 1, 2: unsigned integers; 4: float */
    uint64_t rows;
    uint32_t nifs, nchannels;
    double *freq_hz; /* [nchannels] centres, in the file's order; at least two, all above 0 */
    double fch1_mhz, foff_mhz;
    double tsamp; /* seconds from row to row */
    int has_start;
    struct utc start;  /* to which times count */
    double first_time; /* of row 0, seconds after `start` */
    char *source, *telescope; /* NULL when unknown */
    int has_position;
    double ra_deg, dec_deg;
    int64_t telescope_id;
    uint64_t data_offset; /* where rows lie one after the other; 0: HDF5 knows */
    uint64_t cache_bytes; /* of the chunks that one row touches */
};

/* Fails with DATA: the file, what is wrong and what was expected. Uses HDF5. */
status_t fbh5_open(const char *path, struct fbh5 **out);
status_t fbh5_pack(const struct fbh5 *fbh5, struct text *out);
status_t fbh5_unpack(struct unpack *in, struct fbh5 **out);
void fbh5_destroy(struct fbh5 *fbh5);

/* Bytes of a row: all ifs. */
uint64_t fbh5_row_bytes(const struct fbh5 *fbh5);

typedef struct fbh5_reader fbh5_reader_t;

/* Opens it for reading on this rank; `fbh5` must outlive the reader. May use HDF5. Fails with DATA.
 */
status_t fbh5_reader_create(const struct fbh5 *fbh5, fbh5_reader_t **out);
void fbh5_reader_destroy(fbh5_reader_t *reader);

/* Reads rows first .. first + count - 1, in this machine's byte order. May use HDF5: one thread at
 * a time. Fails with DATA. */
status_t fbh5_read(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out);

#endif
