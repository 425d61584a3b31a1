/* Products in formats that other programs read. Files grow under FILE.part and get their names when
 * they are whole; data go through in blocks, so that memory does not depend on their size (but for
 * 32 bytes a channel with SCALE_CHANNELS). What was done is said in `said`, what is odd in notes on
 * stderr. Main thread only. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_H

#include "base/terms.h"
#include "product/export/export_scale.h"
#include "product/stamp.h"

struct export_bank_options {
    enum file_format format; /* FILE_FIL, FILE_PSRFITS */
    const char *product;
    int is_own;                /* this process has written the product: it is opened here */
    const char *out;           /* NULL: the product's name, with the format's ending */
    const struct stamp *stamp; /* of the job whose product it is; NULL: of none */
    uint32_t bits;             /* 8, 16, 32 (float); 0: as stored */
    const char *only_pol;      /* its number or name; NULL: all */
    int sum;                   /* of the pols */
    struct scale_options scale;
    struct external_list external; /* where external storage of the product may be */
    int force;
    uint32_t threads; /* that put blocks into the file; 0: one */
};

/* Writes a filterbank in HDF5 as SIGPROC filterbank, highest frequency first, or as search-mode
 * PSRFITS, and appends lines about it to `said`. The file appears, synced, when it is complete; a
 * failure removes FILE.part. One that is complete already is compared, not written, unless
 * `force`. Fails with USAGE: options that the product does not have or the format cannot store, a
 * file that exists and differs (unless `force`), is one of those read, or cannot be made. Fails
 * with DATA if the input is unreadable, no filterbank, or has no finite number to scale by; with
 * NO_SPACE, DEVICE (memory, descriptors, threads, no child), STOPPED (of a child process that opens
 * the input). */
status_t export_bank(const struct export_bank_options *options, struct text *said);

struct export_series_options {
    const char *product;
    const char
        *base;  /* files are called BASE_DM475.00.*; NULL: the product's name, without ending */
    int is_tim; /* SIGPROC's .tim instead of PRESTO's .dat and .inf */
    const double *dms; /* [ndms]: the nearest that are stored */
    uint32_t ndms;
    int has_range;
    double first_dm, last_dm; /* if has_range: all from first to last */
    int force;
};

/* Writes chosen DMs of a dedispersed product, each to its own files, and appends a line for each to
 * `said`. Files appear, synced, one after the other; a failure leaves those that are complete.
 * Complete files are compared, not written, unless `force`. Fails with USAGE if no DM is chosen or
 * stored, if a file exists and differs (unless `force`), is the one read, or cannot be made; with
 * DATA if the product is unreadable, none, has a DM twice, or one sample alone (PRESTO); with
 * NO_SPACE, DEVICE (memory, descriptors, no child), STOPPED (of a child process that opens it). */
status_t export_series(const struct export_series_options *options, struct text *said);

struct series;

/* Appends PRESTO's .inf of DM number `dm`, from 0, of a product, of which `samples` (an even
 * number) are written to NAME.dat, of float32: one line of text each, the keys 40 letters wide, as
 * scottransom/presto src/ioinf.c reads them. Fails with USAGE (more than 2^31 - 1 channels), DEVICE
 * (memory); `out` may have a part of it then. */
status_t presto_inf(const struct series *series, const char *name, uint64_t dm, uint64_t samples,
                    struct text *out);

#endif
