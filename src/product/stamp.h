/* Identity of products in formats other than HDF5: a word in their header, by which a repeated run
 * recognises its own. */
#ifndef VOLTMILL_PRODUCT_STAMP_H
#define VOLTMILL_PRODUCT_STAMP_H

#include "input/fbh5/fbh5.h"

/* Letters of the word, with the '\0'. */
enum { STAMP_WORD = 64 };

struct stamp {
    uint64_t job, inputs; /* digests of the two texts that a product in HDF5 has */
    uint64_t rows;
};

/* Returns the stamp of a product: digests (48 bits) of the texts of its job and inputs (NULL:
 * empty; blanks and line ends at the end do not count), and its number of rows. */
struct stamp stamp_of(const char *job, const char *inputs, uint64_t rows);

/* Writes the word of a stamp, with its NUL, into `out`: "voltmill:0123456789ab:cdef01234567:1250",
 * the digests in hexadecimal, the rows in decimal. */
void stamp_write(const struct stamp *stamp, char out[STAMP_WORD]);

/* Finds the word of a stamp in the first 32 KiB of the file at `path`. Sets *found to whether it is
 * there, and *out to it. Fails with DATA if the file cannot be read; with DEVICE (memory,
 * descriptors). *found is 0 then. */
status_t stamp_read(const char *path, struct stamp *out, int *found);

/* Returns how many letters (bytes) of `text` are before the first word of a stamp in it, without a
 * blank directly before it; all letters if it has none. */
size_t stamp_letters_before(const char *text);

/* Filterbanks that are not HDF5: their header, and the stamp of the job that made them. */

struct stamped {
    struct fbh5 *fbh5; /* NULL: the file is something else */
    const char *what;  /* "a SIGPROC filterbank" */
    int has_stamp;     /* a job of voltmill made it: */
    struct stamp stamp;
};

/* Opens a filterbank that is not HDF5 (SIGPROC, PSRFITS) in a child process (io/apart.h), and reads
 * its stamp; fbh5 is NULL if the file is something else (HDF5, with a mark) or cannot be opened.
 * The caller calls stamped_end() in any case (it may be repeated). Fails with DATA if it cannot be
 * read further, or is a damaged filterbank; with DEVICE (memory, descriptors, no child),
 * STOPPED. */
status_t stamped_open(const char *path, struct stamped *out);
/* Frees stamped->fbh5, and sets it to NULL, which it takes; may be repeated. */
void stamped_end(struct stamped *stamped);

/* Returns whether an open filterbank (stamped->fbh5 is not NULL) has as many spectra as its stamp
 * says; 0 without a stamp: unknown. */
int stamped_is_whole(const struct stamped *stamped);

/* End of the message "expected ...", for formats_expect(). */
#define PRODUCT_EXPECTED                                                                           \
    "a product in HDF5: `voltmill run JOB` makes one, `voltmill new FILE` a job"

/* Fails with USAGE if the file is a filterbank that is not HDF5 (SIGPROC, PSRFITS), or of any other
 * format than HDF5 that is known; with DATA if a filterbank with a stamp is cut short, or a file
 * that is no HDF5 cannot be read; with DEVICE (memory, descriptors, no child), STOPPED. OK if it is
 * HDF5, has a mark (io/mark.h), is of no known format, or cannot be opened. The message says what
 * the file is and what is known of it. For callers that need a product in HDF5. */
status_t stamped_refuse(const char *path);

#endif
