/* A file being exported: FILE.part, locked, until it is whole; gone if it never becomes so. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_FILE_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_FILE_H

#include "base/text.h"
#include "io/guard.h"
#include "product/export/export.h"

#include <stdint.h>

/* How the headers of PSRFITS that we write name us, and where. */
#define EXPORT_FITS_CREATOR "CREATOR = 'voltmill'"
enum { EXPORT_FITS_CREATOR_AT = 4 * 80 };

struct export_file {
    char *path, *part;
    char *made; /* the first folder that was made for it; NULL: none */
    int fd;
    int force;
    int is_lent; /* somebody else's, who names or removes it */
};

/* Whether it may be made at all: not over one of the files that `reads` knows. Fails with USAGE. */
status_t export_file_check(const char *path, const struct guard *reads, int force);
/* Begins with path.part, which holds `head` alone, after export_file_check(). Fails with USAGE
 * (exists, locked, somebody else's). */
status_t export_file_begin(const char *path, int force, const struct text *head,
                           struct export_file *out);
/* The same with a file that was lent. Fails with NO_SPACE or DATA. */
status_t export_file_lend(const struct export_into *into, const char *path, const struct text *head,
                          struct export_file *out);
/* How tables of candidates begin. */
#define CANDIDATES_CSV_HEAD                                                                        \
    "snr,dm,time_s,mjd,width,beam,sample,members,dm_least,dm_most,time_first_s,time_last_s\n"
#define CANDIDATES_FETCH_HEAD "file,snr,stime,width,dm,label,chan_mask_path,num_files\n"

/* Whether an export, or a run's last step, that was killed has left it: by how it begins. */
int export_file_is_ours(const char *part);
/* Reserves room for `bytes` bytes. Only once the first bytes are there by which the next export
 * knows what one that was killed left: before them, what is left must be empty. Fails with
 * NO_SPACE.
 */
status_t export_file_reserve(const struct export_file *file, uint64_t bytes);
status_t export_file_put(const struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes);
/* Syncs it and gives it its name, unless it was lent. */
status_t export_file_publish(struct export_file *file);
/* Frees; removes what was not published. Takes one that is zero. */
void export_file_end(struct export_file *file);

/* The name that was chosen, else (NULL) that of the product with another ending; for free(). */
status_t export_name(const char *chosen, const char *product, const char *ending, char **out);

/* NaN among some numbers. */
uint64_t export_count_nans(const float *values, uint64_t count);

#endif
