/* Parts that the formats of exported filterbanks share. Private to product/export/. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_BANK_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_BANK_H

#include "product/export/export.h"
#include "product/export/export_file.h"
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
    uint64_t bytes;        /* of the whole file */
    struct export_file *file;
    struct scale scale;
    uint32_t bits;
    int is_raw;              /* numbers are those in few bits, without their scales, */
    struct fbh5_steps steps; /* which are these */
    int is_plain;            /* samples are written as they are stored */
    int is_reversed;         /* the highest frequency comes first, other than as stored */
    uint64_t first_if, nifs; /* that are read */
    uint64_t together;       /* spectra that no block divides; 0: any */
    uint64_t rows, chans;    /* of a block */
    void *own;               /* the format's, for free() */
    /* Each thread has its own of these, and of what the scale counts. */
    void *stored, *made;
    float *numbers;
    char *room; /* [format->room][nchans] */
    uint64_t nans;
};

struct bank_format {
    const char *title;  /* "SIGPROC filterbank" */
    const char *ending; /* of names */
    int keeps_scale;    /* the file stores the meaning of its numbers */
    size_t room;        /* bytes of a channel that put() needs beside a block */
    /* When ifs and bits are chosen: header, head, bytes, together. Fails with USAGE, DEVICE. */
    status_t (*begin)(struct export_bank *bank);
    /* Writes a block, data [rows][header.nifs][chans] of bank->bits, which it may change; several
     * threads at once, each with a bank of its own. Fails with NO_SPACE or DATA. */
    status_t (*put)(struct export_bank *bank, const struct fbh5_block *block, char *data);
};

extern const struct bank_format export_fil_format, export_psrfits_format;

#endif
