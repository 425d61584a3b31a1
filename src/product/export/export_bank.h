/* Parts that the formats of exported filterbanks share. Private to product/export/. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_BANK_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_BANK_H

#include "product/export/export.h"
#include "product/export/export_file.h"
#include "product/export/export_rows.h"
#include "product/kind/sigproc_head.h"

/* Samples of a block: 16 MiB as floats; threads that have one each, within this memory unless one
 * alone needs more. */
enum { EXPORT_BLOCK = 4 << 20, EXPORT_THREADS = 8, EXPORT_MEMORY = 64 << 20 };

/* One export under way. */
struct export_bank {
    const struct export_bank_options *options;
    const struct bank_format *format;
    struct fbh5 *in;
    fbh5_reader_t *reader;
    struct sigproc header; /* of what is written; its texts are those of `in` */
    char *rawdatafile;     /* the header's, with the stamp, or without that of another file */
    struct text head;      /* what the file begins with */
    struct export_rows form;
    struct export_file *file;
    struct scale scale;
    int is_plain;            /* samples are written as they are stored */
    uint64_t first_if, nifs; /* that are read */
    uint64_t together;       /* spectra that no block divides; 0: any */
    uint64_t rows, chans;    /* of a block */
    int scales_fd;           /* the file with the scales of raw numbers, else -1, */
    const char *scales_path; /* and its name */
    /* Each thread has its own of these, and of what the scale counts. */
    void *stored, *made;
    float *numbers;
    char *room; /* [format->room][nchans] */
    uint64_t nans;
    uint64_t empty; /* channels of rows of a table without any number */
};

struct bank_format {
    const char *title;  /* "SIGPROC filterbank" */
    const char *ending; /* of names */
    const char *first;  /* MARK_BYTES with which its files begin */
    int keeps_scale;    /* the file stores the meaning of its numbers */
    size_t room;        /* bytes of a channel that put() needs beside a block */
    /* Called when ifs and bits are chosen: sets header, head, together, and of `form` bytes,
     * is_reversed and table. Fails with USAGE (the format cannot store such rows), DATA (the input
     * is unreadable), DEVICE (memory, descriptors, no child), STOPPED. */
    status_t (*begin)(struct export_bank *bank);
    /* Writes a block, data [rows][form.nifs][chans] of form.bits, which it may change; several
     * threads at once, each with a bank of its own. Fails with USAGE if they differ from an
     * existing file; with NO_SPACE, DATA, DEVICE (memory). */
    status_t (*put)(struct export_bank *bank, const struct fbh5_block *block, char *data);
    /* Converts data [lines][chans] of form->bits to the byte order and sequence of the file, in
     * place. Never NULL. */
    void (*encode)(const struct export_rows *form, char *data, uint64_t lines, uint64_t chans);
};

/* Returns the functions of a format, a static struct: those of SIGPROC unless it is FILE_PSRFITS.
 * Not for FILE_HDF5. */
const struct bank_format *export_bank_format(enum file_format format);

/* Completes subint `subint`, from 0, of a PSRFITS file, of which only the numbers are written; a
 * complete one is unchanged. Call it twice. Without is_last it computes band, scales and weights
 * from the numbers, and leaves these; a subint that is partly filled or has NaN stays incomplete.
 * With is_last it then replaces NaN among the numbers, and completes the subint. `data`: memory for
 * [rows_each][nifs][bank->chans] numbers of form.bits. Fails with USAGE if they differ from an
 * existing file that is compared; with NO_SPACE, DATA (also of reading the numbers), DEVICE
 * (memory). */
status_t export_psrfits_complete(struct export_bank *bank, uint64_t subint, int is_last,
                                 char *data);
/* Returns the spectra of one subint of a file of `rows` spectra of `samples` numbers each: at most
 * EXPORT_BLOCK numbers and 4096 spectra, but at least one spectrum. Where blocks of rows have
 * scales of their own (steps->bits is not 0, steps->scales not 1), it divides steps->rows, and may
 * exceed 4096. */
uint64_t export_psrfits_cut(uint64_t rows, uint64_t samples, const struct fbh5_steps *steps);

extern const struct bank_format export_fil_format, export_psrfits_format;

#endif
