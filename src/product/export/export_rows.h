/* Rows of a filterbank in a file of another format, written at their places by all ranks of a run.
 *
 * Rank 0 makes the head, and finds the form, before the first row. PSRFITS keeps rows_each rows in
 * a row of its table. A row of the table that one call writes as a whole gets its times, band,
 * scales and weights with its numbers. Of others only the numbers are written, NaN as they are:
 * export_rows_complete() completes these when all rows are there. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_ROWS_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_ROWS_H

#include "base/pool.h"
#include "product/export/export.h"
#include "product/product.h"

/* Rows of the table of a PSRFITS file: spectra in one, rows; offsets of columns; bytes. */
struct psrfits_table {
    uint64_t rows_each, count;
    uint64_t freqs, weights, offsets, scales, data, row_bytes;
};

/* Form of the rows. Plain bytes: journals store this struct, and ranks send it. */
struct export_rows {
    enum file_format format; /* HDF5: none */
    uint32_t bits;
    int is_raw;        /* numbers are those in few bits, as they are stored */
    int is_reversed;   /* the highest frequency comes first, other than in rows as they are made */
    uint32_t head_crc; /* of the head without its first MARK_BYTES */
    uint32_t unused;
    uint64_t rows, nifs, nchans;
    uint64_t row_bytes;
    uint64_t begin, bytes;  /* of the first row, or table; of the whole file */
    double fch1, foff;      /* MHz */
    double step;            /* seconds from row to row */
    double ra, dec, az, za; /* degrees */
    struct psrfits_table table;
    /* Scales of raw numbers, and where they are in the file that has them: lines of a block of
     * rows, the first that is written. */
    struct fbh5_steps steps;
    uint64_t lines, first_line;
};

/* Finds the form of a product's rows, and makes the head of its file in *head, {0} before, for
 * text_free(). A failure leaves both unchanged. `options`: format, bits, stamp; is_own 1; `out`, a
 * name for messages; and `product`, an HDF5 file without rows that this process made and opens
 * itself. Main thread only (HDF5). Fails with USAGE (numbers or polarisations that the format
 * cannot store), DATA (the file is unreadable), DEVICE (memory, descriptors, no child), STOPPED. */
status_t export_rows_of(const struct export_bank_options *options, struct text *head,
                        struct export_rows *out);

/* Returns the form as far as the plan determines it, with a head of the maximum length: `bytes`,
 * those of the file, is a maximum, too. Cannot fail. */
struct export_rows export_rows_expect(enum file_format format, const struct product_spec *spec);

/* Sets data_offset, and moves the datasets beside the rows to places after the rows, where they are
 * until the file is complete; drops time stamps, CRCs and the number of missing samples. *place has
 * their places in HDF5 before; its file_bytes become the end of the last one. Sets the offsets of
 * rows->steps. */
void export_rows_place(struct export_rows *rows, const struct product_spec *spec,
                       struct product_place *place);

/* Makes an open file anew, of `bytes` bytes, zeros after the head, whose first MARK_BYTES become
 * MARK_RUN (in `head`, too). Not synced, no space reserved. `path` is for messages. Fails with
 * NO_SPACE, DATA; the file may be empty or cut then. */
status_t export_rows_begin(struct text *head, uint64_t bytes, int fd, const char *path);

/* Returns the offset (bytes) of a row's numbers in the file; `row` counts from 0. Sets *together to
 * how many rows from it on follow each other without other bytes between; in PSRFITS that counts
 * places after the last row, too. */
uint64_t export_rows_at(const struct export_rows *rows, uint64_t row, uint64_t *together);
/* Splits off the first of bytes *from .. *from + *left - 1 of a row as it is made: as many as are
 * contiguous in the file (one if's, where the band is reversed). Returns their number, and moves
 * *from and *left past them. Sets *at to their offset (bytes) from the start of the row in the
 * file. */
uint64_t export_rows_piece(const struct export_rows *rows, uint64_t *from, uint64_t *left,
                           uint64_t *at);

/* Writer of rows to an open file, for one caller, which up to `threads` threads help with the rows
 * of PSRFITS in one call. `sum` receives all bytes of rows as they are written: [count][bytes],
 * from byte `from` of each row on. */
struct export_sum {
    void *context;
    pool_worker_t *worker; /* that may call add() while the bytes are written; may be NULL */
    /* Several threads at once. */
    void (*add)(void *context, uint64_t row, uint64_t count, uint64_t from, uint64_t bytes,
                const void *data);
};
typedef struct export_writer export_writer_t;

/* Creates a writer for export_writer_destroy(). `path`, the open file (export_rows_begin()), and
 * the context and worker of `sum` must outlive it; `rows` is copied. Fails with DEVICE (memory);
 * *out is unchanged then. */
status_t export_writer_create(const struct export_rows *rows, int fd, const char *path,
                              uint32_t threads, const struct export_sum *sum,
                              export_writer_t **out);
/* Frees a writer, and drops rows that it has kept: call export_writer_flush() before. Takes NULL.
 */
void export_writer_destroy(export_writer_t *writer);
SCOPED_END(export_writer_destroy, export_writer_t *)
/* Returns the memory, in bytes, of a writer with at most `threads` threads. */
uint64_t export_writer_bytes(const struct export_rows *rows, uint32_t threads);

/* Writes bytes from .. from + piece - 1 of each of `rows` rows from row `row` on, from 0: data
 * [rows][piece] as they are made, whole numbers. Keeps whole rows until they make a row of the
 * table, or about 1 MiB of SIGPROC. One caller at a time. Nothing is synced. Fails with NO_SPACE,
 * DATA; rows that were kept are dropped then. */
status_t export_writer_put(export_writer_t *writer, uint64_t row, uint64_t rows, uint64_t from,
                           uint64_t piece, const char *data);
/* Writes the rows that export_writer_put() has kept, unsynced; without any does nothing. Fails with
 * NO_SPACE, DATA; the rows are dropped then. */
status_t export_writer_flush(export_writer_t *writer);

/* Completes rows first .. first + count - 1, from 0, of the table, as far as it has them, when all
 * rows are written and flushed; does nothing for SIGPROC. Call it twice: without is_last for all
 * rows of the table, then with is_last, which alone changes numbers (export_psrfits_complete()),
 * and after which no row may be written. Idempotent; nothing is synced. Fails with DATA if the file
 * cannot be read or written; with NO_SPACE. */
status_t export_rows_complete(export_writer_t *writer, uint64_t first, uint64_t count, int is_last);

/* Truncates the open file after the rows (rows->bytes), syncs it, and replaces the mark by the
 * format's first bytes; synced on return. Idempotent. `path` is for messages. Fails with NO_SPACE,
 * DATA. */
status_t export_rows_finish(const struct export_rows *rows, int fd, const char *path);

#endif
