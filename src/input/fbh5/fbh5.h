/* Filterbanks in HDF5 (FBH5), as blimpy, turbo_seti, rawspec and voltmill itself write them.
 *
 *   /data   integers of 8 or 16 bits, floats of 16, 32 or 64, [time][if][channel] or
 *           [time][channel], in one piece or in chunks; its header in attributes
 *
 * Rank 0 opens one and packs it, the others unpack it; every rank reads for itself. */
#ifndef VOLTMILL_INPUT_FBH5_FBH5_H
#define VOLTMILL_INPUT_FBH5_FBH5_H

#include "base/units.h"
#include "dsp/steps.h"
#include "input/hdf5/sources.h"
#include "input/sky.h"
#include "io/fits_unit.h"
#include "io/pack.h"

/* Samples of files other than HDF5 (SIGPROC, PSRFITS): rows of a table that each have
 * [rows_each][if][channel] spectra, the bits of less than 8 packed. */
struct fbh5_table {
    uint32_t bits; /* of a stored number: 1, 2, 4, 8, 16, or 32: floating point; 0: there is none.
                      Spectra of less than 8 follow each other bit by bit within a row. */
    int is_signed, is_big_endian, is_high_bit_first;
    uint64_t offset, row_bytes; /* of the first row; from one to the next */
    uint64_t rows_each;
    uint64_t data; /* from the begin of a row to its samples */
    /* Values are ((stored - zero) * unit * scale + offset) * weight. Scale and offset
     * [if][channel] and weight [channel] are numbers in the row, of a FITS table; without a column
     * they are 1, 0, 1. */
    int has_scales;
    uint32_t scaled_ifs; /* that have their own scale and offset: all, or 1 */
    struct fits_column scales, offsets, weights;
    double unit, zero;
    int has_signed; /* numbers of ifs that are no powers are in two's complement, others unsigned */
    int is_moved;   /* `zero` makes signed numbers unsigned, or unsigned ones signed */
    uint64_t *first; /* spectrum with which each row begins; what is between is lost */
    uint32_t count;
};

/* Numbers of our own power products in few bits (dsp/steps.h): scale and offset, float
 * [scales][if][channel] of blocks of rows, or of the first for all, in the file itself. */
struct fbh5_steps {
    uint32_t bits; /* 8, 16; 0: there are none */
    uint64_t rows; /* of a block */
    uint64_t scales, scale_offset, offset_offset;
};

/* Numbers of /data: those that are handed out as they are stored, and others. FBH5_SHORT: floats of
 * 16 bits that are no halves, such as bfloat16, whose range is that of 32 bits. */
enum { FBH5_PLAIN, FBH5_I8, FBH5_I16, FBH5_FLOAT16, FBH5_SHORT, FBH5_FLOAT64 };

/* Channels of a filterbank: a fine band of GBT has 308 x 2^20. Delays are made of fewer. */
enum { FBH5_MOST_CHANNELS = 1 << 30, FBH5_MOST_DISPERSED = 1 << 24 };

/* Keywords of SIGPROC that files say. */
struct fbh5_head {
    char *rawdatafile;             /* NULL when unknown */
    double raj_hours, dej_degrees; /* the position in these units; 0 when unknown */
    double az_start, za_start;     /* degrees */
    int32_t telescope_id, machine_id, nbeams, ibeam;
};

struct fbh5_time {
    double step;       /* seconds from row to row */
    double first;      /* of row 0's centre, seconds after the sky's `start` */
    double tstart_mjd; /* of row 0's leading edge; 0 when unknown */
};

/* Chunks of a file that has some. */
struct fbh5_chunks {
    uint64_t rows;       /* of a chunk of the file; 1 when it has none */
    uint64_t row_bytes;  /* of the chunks that one row touches; 0 when it has none */
    uint64_t work_bytes; /* that a thread needs to decompress one, beside those that are kept */
};

struct fbh5 {
    char *path;
    char *format;  /* how people call it; NULL: FBH5 */
    char *assumed; /* about the file (input/archive.h); NULL: nothing */
    struct fbh5_table table;
    uint64_t file_bytes;
    struct fbh5_steps steps;
    uint32_t sample_bytes; /* 1, 2: unsigned integers; 4: float, as with steps */
    uint32_t number;       /* FBH5_...: all but FBH5_PLAIN are handed out as floats */
    int is_flat;           /* /data is [time][channel] */
    uint64_t rows;
    uint32_t nifs, nchannels;
    int is_ours; /* a power product, which knows more than the format does */
    struct fbh5_chunks chunks;
    enum reach reach; /* REACH_PIECES: rows lie one after the other, at data_offset of data_path */
    enum reach scattered; /* the same of short parts of rows: REACH_TABLE or REACH_HDF5 */
    uint64_t data_offset;
    uint64_t marks_offset;  /* of a byte for each row of ours: 1 where some of it is NaN because it
                               could not be made; 0: not told */
    char *data_path;        /* NULL: `path` */
    struct storage storage; /* every file that holds something of it */
    struct lost_list lost;  /* rows that are unwritten or unreadable; ascending */

    double fch1_mhz, foff_mhz; /* foff is 0 only for a single channel */
    double *freq_hz; /* [nchannels] centres, in the file's order; NULL before fbh5_load_band(),
                        unless the header lists them */
    struct coherent coherent; /* [nchannels], too; NULL before fbh5_load_band() */
    struct fbh5_time time;
    struct sky sky; /* times count to its start */
    struct fbh5_head head;
    char *pols;      /* pol_type: what its ifs are; NULL when unknown */
    char *pol_names; /* of ours: the names of its ifs, such as X, one a line; NULL when unknown */
};

/* Type by which a filterbank is packed (io/pack.h), to be sent from the process that opened the
 * file to every rank. */
extern const struct pack_type fbh5_type;
/* Frees a filterbank and all that it points to; takes NULL, and half-made ones. */
void fbh5_destroy(struct fbh5 *fbh5);
SCOPED_END(fbh5_destroy, struct fbh5 *)

/* Sets freq_hz [nchannels], in Hz, from /frequency of our own products, else as fch1 and foff say.
 * Sets coherent.delay_hz [nchannels], in Hz, too, of our own products that are coherently
 * dedispersed (coherent.constant is not 0). Does nothing if freq_hz is known. Fails with DATA: no
 * channels or more than FBH5_MOST_CHANNELS, frequencies that are not finite, /delay_hz of another
 * length or not above 0, an unreadable file; with DEVICE (memory). Both lists are undefined then;
 * fbh5_destroy() frees them. Uses HDF5 for our own: one thread at a time. */
status_t fbh5_load_band(struct fbh5 *fbh5);

/* Converts SIGPROC's hhmmss.s or ddmmss.s, of either sign, to hours or degrees. Returns 1. Returns
 * 0 if it is neither (60 minutes or seconds, not finite), or above `most` (hours or degrees) in
 * magnitude; *out is then undefined. */
int fbh5_unpack_sixtieths(double value, double most, double *out);

/* Sets has_position, ra_deg and dec_deg of fbh5->sky from head.raj_hours and head.dej_degrees.
 * has_position is 0 if both are zeros: programs that do not know the position write zeros. */
void fbh5_settle_position(struct fbh5 *fbh5);

/* Notes in fbh5->assumed if a band reaches 0 Hz or lower, or looks as if it were not in MHz. Uses
 * freq_hz if it is known, else fch1 and foff. `facts` names the fields of the header that state the
 * band, for the note. Fails with DEVICE (memory). */
status_t fbh5_note_band(struct fbh5 *fbh5, const char *facts);

/* Checks that dispersion is defined in such a band, after fbh5_load_band(). Fails with DATA: fewer
 * than two channels, more than FBH5_MOST_DISPERSED, or frequencies that are not above 0. */
status_t fbh5_check_dispersed(const struct fbh5 *fbh5);

/* Checks that channels, as freq_hz and /frequency of our own products list them, are where fch1 and
 * foff say, to a tenth of a channel, which is all that SIGPROC can represent. Fails with DATA: they
 * are not, or the file is unreadable; with DEVICE (memory). Uses HDF5 for our own: one thread at a
 * time. */
status_t fbh5_check_even(const struct fbh5 *fbh5);

/* Returns 1 if polarisation (if) number `at`, from 0, is a power, which may be added to others, or
 * the file does not say. Returns 0 for Stokes Q, U, V and for a product of two polarisations. */
int fbh5_is_power(const struct fbh5 *fbh5, uint32_t at);

/* Appends the name of polarisation (if) number `at`, from 0, in pol_type, in capitals: "AA", "I";
 * where the file has none, nothing. Fails with DEVICE (memory). */
status_t fbh5_name_if(const struct fbh5 *fbh5, uint32_t at, struct text *out);

/* Appends the name of polarisation (if) number `at`, from 0, for users: that of the archive's
 * polarisation ("X", "CS001/X") in products of ours, else as fbh5_name_if(), perhaps nothing. Fails
 * with DEVICE (memory). */
status_t fbh5_name_pol(const struct fbh5 *fbh5, uint32_t at, struct text *out);

/* Finds the polarisation that the first `length` bytes of `word` name; no digit follows these. It
 * is named by its number, from 0, or by either of its names as fbh5_name_if() and fbh5_name_pol()
 * give them (case counts). Returns how many have that name, as those of several stations may. *out
 * is the number of the first of them, undefined if there is none. */
int fbh5_find_pol(const struct fbh5 *fbh5, const char *word, size_t length, uint32_t *out);

/* Appends the polarisations (ifs) that are powers and have a name in pol_type, with their numbers
 * from 0: "0 (XX), 1 (YY)"; "none" if there are none. Fails with DEVICE (memory): some may be
 * appended then. */
status_t fbh5_powers(const struct fbh5 *fbh5, struct text *out);

/* Returns the bits of a number as it is stored in the file: 1 to 64. */
uint32_t fbh5_bits(const struct fbh5 *fbh5);

/* Returns the bytes of a row, all its ifs and channels, as fbh5_read() gives it: sample_bytes for
 * each number. */
uint64_t fbh5_row_bytes(const struct fbh5 *fbh5);

typedef struct fbh5_reader fbh5_reader_t;

/* Creates a reader on this rank that caches up to `cache_bytes` bytes of chunks, which
 * fbh5_unpackers() of `threads` threads decompress, and opens the file. `fbh5` must outlive it. The
 * caller calls fbh5_reader_destroy(*out), NULL before, in any case. May use HDF5: one thread at a
 * time. Fails with DATA: the file is missing, unreadable or has changed since `fbh5` was opened;
 * with DEVICE (memory, descriptors). */
status_t fbh5_reader_create(const struct fbh5 *fbh5, uint64_t cache_bytes, uint32_t threads,
                            fbh5_reader_t **out);
/* Returns how many of `threads` threads may decompress chunks, at least 1, so that they take at
 * most 64 MiB (one thread may take more). */
uint32_t fbh5_unpackers(const struct fbh5 *fbh5, uint32_t threads);
/* Returns the bytes that fbh5_unpackers() of `threads` threads take to decompress chunks. */
uint64_t fbh5_unpack_bytes(const struct fbh5 *fbh5, uint32_t threads);
/* Closes the file, ends the threads and frees the reader; takes NULL. */
void fbh5_reader_destroy(fbh5_reader_t *reader);

/* A piece of /data. */
struct fbh5_block {
    uint64_t row, rows, first_if, nifs, chan, chans;
};

/* Returns 1 if fbh5_read() reads the block in place, without HDF5: then several threads may read,
 * each with a reader of its own. Returns 0 for others, and for tables. */
int fbh5_is_plain(const struct fbh5 *fbh5, const struct fbh5_block *block);

/* Reads a block, which is inside of /data, into out [rows][nifs][chans]: numbers of `sample_bytes`
 * bytes in this machine's byte order, floats unless they are unsigned integers of 1 or 2 bytes. May
 * use HDF5: one thread at a time. Fails with DATA: rows that are lost or unreadable
 * (fbh5_is_unreadable() is 1 then), a file that has changed since `fbh5` was opened, unreadable
 * scales; with DEVICE (memory, descriptors, threads). `out` is undefined then. */
status_t fbh5_read(fbh5_reader_t *reader, const struct fbh5_block *block, void *out);

/* Reads rows first .. first + count - 1 (from 0) of all ifs and channels, which are in /data, as
 * fbh5_read() does, into out [count][nifs][nchannels]. May use HDF5: one thread at a time. Fails
 * with DATA (rows that are lost or unreadable, a file that has changed), DEVICE (memory,
 * descriptors, threads), and leaves `out` undefined. */
status_t fbh5_read_rows(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out);

/* Sets *out to 1 if NaN in this row (from 0) may be due to unreadable input, also if the file has
 * no marks; to 0 if the file's mark says that it is not. Fails with DATA if the mark is unreadable;
 * *out is unchanged then. */
status_t fbh5_is_marked(const fbh5_reader_t *reader, uint64_t row, int *out);

/* Returns 1 if the last fbh5_read() has failed, and only because rows are unreadable; 0 if it has
 * not, or for any other cause, such as a file that has changed. */
int fbh5_is_unreadable(const fbh5_reader_t *reader);

/* Creates a filterbank of the file at `path`, a table (reach REACH_TABLE), to be filled in; both
 * texts are copied. Notes the file and its size, and opens it for reading as *fd. The caller calls
 * fbh5_destroy(*out), NULL before, and file_close(*fd), -1 before, in any case. Fails with DATA:
 * missing, no ordinary file, unreadable; with DEVICE (memory, descriptors). */
status_t filterbank_begin(const char *path, const char *format, struct fbh5 **out, int *fd);

/* Checks a filterbank that filterbank_begin() began, and sets its sample_bytes. Fails with DATA
 * unless nifs is 1 to 1024, nchannels 1 to FBH5_MOST_CHANNELS, and table.bits 1, 2, 4, 8, 16 or 32.
 * A row of the table has whole bytes, time.step (s) is above 0, fch1 and foff make different
 * frequencies, or it fails with DATA, too. */
status_t filterbank_finish(struct fbh5 *fbh5);

#endif
