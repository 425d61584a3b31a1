/* `voltmill verify`: recomputes chunks of a product with the reference and compares; with --crc,
 * whether its bytes are still those that were written. */
#ifndef VOLTMILL_VERIFY_VERIFY_H
#define VOLTMILL_VERIFY_VERIFY_H

#include "base/json.h"

#include <mpi.h>

struct verify_options {
    const char *path; /* of the product */
    const char *const *sets;
    uint32_t nsets;
    int all;         /* every chunk, instead of a sample */
    uint64_t chunks; /* of the sample, at least 2: the first, the last and others at random; those
                        of marked rows come in addition */
    uint64_t seed;
    double progress;   /* seconds between lines (ranks/progress.h) */
    struct json *json; /* rank 0's; NULL: what was found is printed for people */
};

/* Verifies a complete product, and changes no file. Collective: all ranks fail alike. Rank 0 prints
 * the result, or begins a JSON object with it, which the caller ends. json->depth is not 1 after a
 * failure without a result. Fails with DATA if the product is not what the reference computes from
 * its archive, or product or archive are unreadable; with USAGE if it cannot be recomputed
 * (candidates, a joined product, series of a semi-coherent search, another format than HDF5,
 * overrides that are wrong); with NO_SPACE if the temporary file in memory that it is compared with
 * is full; with DEVICE (memory, descriptors, threads), STOPPED (while a child process opens files).
 */
status_t verify_product_all(MPI_Comm comm, const struct verify_options *options);

/* Compares all of a product with its checksums: rows, other datasets and attributes of a complete
 * product with its CRCs; the chunks of an incomplete one with its journal. Needs neither archive
 * nor job, and of the options only path, progress and json. Collective: all ranks fail alike. Rank
 * 0 prints what is damaged, or begins a JSON object with it, which the caller ends; json->depth is
 * not 1 after a failure without a result. Fails with DATA if something is damaged, unreadable,
 * missing or has no checksum; with USAGE if the file is of another format than HDF5; with DEVICE
 * (memory, descriptors), STOPPED (while a child process opens files). */
status_t verify_crc_all(MPI_Comm comm, const struct verify_options *options);

#endif
