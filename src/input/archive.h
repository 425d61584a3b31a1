/* An archive: where the samples of an observation are and what they mean.
 *
 * Rank 0 opens it (input/open.h), packs it, and the others unpack it; every rank then
 * reads bytes for itself (input/read/reader.h). Streams are in the order of products: station,
 * beam, polarisation, coarse channel by ascending sky frequency; the selection of the job is
 * applied. */
#ifndef VOLTMILL_INPUT_ARCHIVE_H
#define VOLTMILL_INPUT_ARCHIVE_H

#include "base/stream_set.h"
#include "base/terms.h"
#include "base/units.h"
#include "input/hdf5/sources.h"
#include "input/sky.h"
#include "io/pack.h"
#include "job/job.h"

#include <hdf5.h>

enum { ARCHIVE_DIMS = AXIS_KINDS + 1 /* time may come in pieces */ };

/* A box of elements of a dataset: low .. high - 1 along each of its dimensions. */
struct lost_box {
    uint64_t low[ARCHIVE_DIMS], high[ARCHIVE_DIMS];
    char *why;
};

/* Equal pieces of samples one after the other in a file, such as a recorder's blocks or heaps. In
 * a piece samples are as in a dataset of the archive's dimensions, whose time has `stored`
 * elements; the first `steps` of these count, the rest is repeated in the next piece. Piece i holds
 * samples first_sample + i * steps .. of the part, and begins i * piece_bytes after the first. */
struct archive_run {
    char *path;           /* one of the part's sources */
    uint64_t file_offset; /* of the first piece's samples */
    uint64_t piece_bytes; /* from one piece to the next */
    uint64_t pieces;
    uint64_t first_sample; /* of the part */
    uint64_t steps, stored;
};

/* A recorder's packets, each with a header that says what it holds: private to input/packets/. */
struct packets;

/* How a number is stored, where that is none of the formats that backends read: the reader makes
 * numbers of the archive's format of it. */
enum number_kind {
    NUMBER_PLAIN,    /* as the archive's format says, but for the order of bytes */
    NUMBER_SIGNED,   /* two's complement; value as for the next */
    NUMBER_UNSIGNED, /* value = stored - offset */
    NUMBER_FLOAT,    /* IEEE 754 of 16, 32 or 64 bits */
    NUMBER_LEVELS    /* of up to 4 bits: `levels` of what is stored */
};

struct archive_number {
    enum number_kind kind;
    uint32_t bits;         /* 1, 2, 4, 8, 16, 32, 64; 24 of NUMBER_SIGNED */
    int is_big_endian;     /* the order of bytes of larger ones */
    int is_high_bit_first; /* of those below 8 bits the first is in a byte's high bits */
    double offset;
    int is_doubled; /* an offset of half a step: 2 stored - 2 offset is handed out, of half the
                       scale */
    double levels[16];
    int has_missing;     /* what is stored as `missing` is no sample: handed out as NaN */
    int is_missing_byte; /* `missing` is a byte with all its numbers */
    double missing;
    int has_steps; /* times the part's `steps` they are volts */
};

/* Samples first .. first + count - 1 that one stream lacks. Streams are numbered as the archive has
 * them, by station, beam, polarisation, coarse channel, the last fastest, selected or not. */
struct archive_gap {
    uint64_t first, count, stream;
};

/* Samples of a part that lack some of their packets; where the lost ones are is unknown. */
struct archive_partial {
    uint64_t first, count; /* samples of the part */
    uint32_t lost;         /* the share of each that is lost, in 1 / LOST_WHOLE; never 0 */
};
enum { LOST_BITS = 20 };
#define LOST_WHOLE (UINT32_C(1) << LOST_BITS)

/* One file of the observation, or a dataset of one. Formats put its samples into `extents`, `runs`
 * or `packets`; none of these: they must be read through HDF5 (chunked, filtered or oddly typed
 * datasets). archive_settle_reach() makes of that `reach`, and runs of extents, for all who read.
 * Parts that stand side by side may begin and end at different samples: what one has
 * not, its streams lack. */
struct archive_part {
    char *path;
    char *dataset;         /* NULL: the archive's */
    uint64_t file_bytes;   /* of the HDF5 file and its external files */
    uint64_t first_sample; /* of the observation */
    uint64_t samples;
    uint64_t repeated;    /* the last of them, which the next file of a sequence holds again: until
                             files are joined */
    uint64_t cut;         /* samples of the dataset after these, that have no meaning */
    uint64_t origin;      /* where it begins along the dataset's outermost dimension; extents and
                             boxes count from there */
    uint64_t chunk_bytes; /* of a chunk of the dataset in memory; 0 if it has none */
    uint64_t work_bytes;  /* that a thread needs to decompress one */
    uint64_t row_bytes;   /* of all chunks that one time step touches */
    uint64_t index_bytes; /* that HDF5 takes to find them all */
    struct storage storage; /* every file that holds something of it */
    struct lost_box *boxes; /* on rank 0: missing elements, whatever is selected */
    uint32_t nboxes;
    enum reach reach;
    uint64_t stack; /* place along the axis on which files are stacked; 0 if that is time */
    struct archive_extent *extents; /* until archive_settle_reach() */
    uint32_t nextents;
    struct archive_run *runs; /* ascending; what is between them is missing, like gaps */
    uint32_t nruns;
    struct archive_partial *partials; /* ascending, disjoint; in all streams of the part */
    uint64_t npartials;
    struct packets *packets; /* [npackets]: one, or none */
    uint32_t npackets;
    /* [blocks or 1][samples of a time step]: what 1 of a stored number is, in each block of
     * step_rows time steps, or in all; NULL: number.has_steps is 0. */
    double *steps;
    uint64_t nsteps, step_rows;
};

/* One dimension of the dataset (joined axes are several), outermost first. */
struct archive_dim {
    uint64_t size; /* of one file */
    enum axis axis;
    uint32_t dimension; /* of the dataset: joined axes share one */
};

/* The filter bank of ours whose spectra are the samples (input/format/): the archive's
 * coarse channels, as it has them, are channels first_channel on of the bank, the channels of one
 * coarse channel before it side by side with those of the next. Sample s is made of `taps` x P
 * voltages from the (s H)-th on, P = channels, or of real voltages twice as many, H = P x
 * oversampling_den / oversampling_num. */
struct archive_bank {
    uint32_t channels; /* 0: samples are no spectra of ours */
    uint32_t taps;
    uint64_t first_channel;
    int is_real;      /* what it was made of */
    int is_fft_order; /* of complex: channel 0 is the centre, the upper half is below */
    /* Last, and not compared with the rest of the struct. */
    double *prototype;   /* [nprototype] its filter, oldest sample first; NULL: no bank, or more */
    uint64_t nprototype; /* coefficients than a synthesis could be made for */
};

/* How samples are stored. */
struct archive_stored {
    struct nibbles nibbles;
    int has_missing_value;
    double missing_value;         /* the stored value that means "no sample" */
    int is_compound;              /* complex as one element of two numbers */
    int swap_bytes;               /* stored in the other byte order */
    size_t element_bytes;         /* of one element of the dataset as it comes from the reader */
    struct archive_number number; /* how numbers are stored, if not as `format` says */
    int is_as_read;       /* numbers are handed out just as they are (archive_settle_reach()) */
    uint64_t plain_bytes; /* of all that is read without HDF5 (archive_settle_reach()) */
    int is_dc_at_edge;    /* frequency 0 of complex samples as they are stored is the edge of the
                             coarse channel (lower or upper: the same), not its centre; the reader
                             moves it to the centre */
};

/* Dimensions of the dataset, and the axis along which files follow each other. */
struct archive_shape {
    struct archive_dim dims[ARCHIVE_DIMS];
    uint32_t ndims;
    uint32_t time_dim;   /* which dimension of the dataset is time (joined axes count once) */
    enum axis stacked;   /* the axis that files continue: AXIS_TIME or a stream axis */
    int is_reim_stacked; /* real and imaginary parts are in parts of their own: of what `stacked`
                            counts, part 2 i has the real, part 2 i + 1 the imaginary numbers */
};

/* Missing samples. */
struct archive_losses {
    uint64_t (*gaps)[2]; /* (first sample, count), missing samples of all streams; ascending */
    size_t ngaps;
    struct archive_gap *stream_gaps; /* of single streams; by stream, then ascending, disjoint */
    size_t nstream_gaps;
    int is_made;           /* samples are what filters make: gaps are all that is missing of them,
                              parts are those that the filters read */
    int may_lack;          /* more samples may be missing, which only reading shows: packets */
    struct lost_list lost; /* selected samples that not every selected stream has; ascending.
                                Never without run.on_bad: nan. */
};

struct archive {
    char *layout;  /* how it is known what the files hold: "native layout" */
    char *assumed; /* about the files (assume()); NULL: nothing */
    struct {
        int start; /* the files say when they start: sky.has_start is not the job's word */
        int clock; /* that start is a computer's, too coarse to place files by */
        int freq;  /* the files say where their coarse channels are */
        /* Positions of stations: [count[AXIS_STATION]][3] x, y, z in metres (ITRF); NULL: none. */
        double *itrf_m;
        uint64_t nitrf_m; /* numbers */
        int has_reference;
        double reference_m[3]; /* where the array's delays are 0 */
    } states;
    char *dataset;
    struct sky sky;

    double sample_rate_hz;
    double offset_seconds; /* sample n is taken at start + offset_seconds + n / sample_rate_hz: what
                              filters have delayed it by is taken out; 0 in files */
    int is_complex;
    enum sample_format format;
    struct archive_stored stored;
    double scale; /* volts of 1 as it is stored; 1 where nothing says it */
    int sideband; /* +1, -1 */
    struct ratio oversample;
    int has_receivers; /* coarse channels are independent receivers, whose bands may overlap; in
                          files */
    struct archive_shape shape;
    uint64_t count[AXIS_KINDS]; /* indices of each axis, all files together; 1 if absent; samples
                                   for time */
    int present[AXIS_KINDS];    /* the archive has this axis */
    char **names[AXIS_KINDS];   /* [count] of station and pol, or NULL */
    double *freq_hz;            /* [count[AXIS_CHAN]], centre of each coarse channel */
    struct archive_bank bank;
    struct coherent coherent; /* [count[AXIS_CHAN]] */

    struct archive_part *parts; /* by stack, then time */
    uint32_t nparts;
    int are_by_start; /* the files' own times gave their order, not their names */
    struct archive_losses losses;

    /* Selection of the job. */
    uint64_t first_sample, samples; /* the selected range */
    uint64_t *selected[AXIS_KINDS]; /* indices of the stream axes, in the order of products */
    uint32_t nselected[AXIS_KINDS];
    uint32_t nstreams;
};

/* Creates an archive of one part at `path` (copied), which a format then fills in: scale is 1,
 * count[] of every axis 1, all else zero. The caller calls archive_destroy(*out), NULL before, in
 * any case. Fails with DEVICE (memory). */
status_t archive_create(const char *path, struct archive **out);

/* Types by which an archive is packed (io/pack.h), to be sent from the process that opened the
 * files to every rank. */
extern const struct pack_type archive_type, archive_part_type, lost_box_type;
/* Frees an archive and all that it points to; takes NULL, and half-made ones. */
void archive_destroy(struct archive *archive);
SCOPED_END(archive_destroy, struct archive *)

/* Stream axes in the order of products, slowest first. */
enum { STREAM_AXES = 4 };
extern const enum axis archive_stream_axes[STREAM_AXES];

/* Writes the index of one selected stream (from 0, below nstreams) along each axis, as stored in
 * the archive, to index[]; 0 along axes that are no stream axes. */
void archive_stream_index(const struct archive *archive, uint32_t stream,
                          uint64_t index[AXIS_KINDS]);

/* Returns the number of a selected stream (from 0, below nstreams) among all streams of the
 * archive, selected or not, as in struct archive_gap. */
uint64_t archive_stream_number(const struct archive *archive, uint32_t stream);

/* Returns the number, from 0 on, of the channel that a filter bank divided into coarse channel
 * `index` (of the archive, from 0) and others; 0 if the samples are not of our filter bank. */
uint64_t archive_bank_group(const struct archive *archive, uint64_t index);

/* Sizes of one part's dataset. archive_blocks(): returns the product of the sizes of the dimensions
 * that are slower than the first of time. archive_outermost(): returns the size of the dataset's
 * outermost dimension (of time: samples of one file). archive_in_file(): returns the size of an
 * axis, 1 if the dataset does not have it. */
uint64_t archive_blocks(const struct archive *archive);
uint64_t archive_outermost(const struct archive *archive);
uint64_t archive_in_file(const struct archive *archive, enum axis axis);
/* Returns the place, from 0 on, in the stack of parts of the real (`imaginary` 0) or imaginary (1)
 * numbers of a stream with these indices along the axes. Parts that only follow each other in time
 * are at place 0. */
uint64_t archive_stack_of(const struct archive *archive, const uint64_t index[AXIS_KINDS],
                          int imaginary);
/* Returns the index of the first part at place `stack` that ends after this sample of the
 * observation. If none does, returns that of the first part at a later place, or nparts. */
uint32_t archive_part_at(const struct archive *archive, uint64_t stack, uint64_t sample);

/* Returns the index of the first run of the part that ends after this sample of the part; nruns if
 * there is none. */
uint32_t archive_run_at(const struct archive_part *part, uint64_t sample);

/* Sorts `gaps` [count], NULL if count is 0, by stream, then by the first sample. */
void archive_gaps_sort(struct archive_gap *gaps, size_t count);
/* Appends a gap of all streams: `count` samples from sample `first` of the observation on. It must
 * not begin before the end of those before. Fails with DEVICE (memory), and adds none. */
status_t archive_add_gap(struct archive *archive, uint64_t first, uint64_t count);
/* Returns the index, in losses.gaps, of the first gap of all streams that ends after this sample of
 * the observation; losses.ngaps if there is none. */
size_t archive_gap_after(const struct archive *archive, uint64_t sample);
/* Returns the index, in losses.stream_gaps, of the first gap of the stream of this `number`
 * (archive_stream_number()) that ends after this sample of the observation. If there is none,
 * returns that of the first gap of a later stream, or losses.nstream_gaps. */
size_t archive_stream_gap_after(const struct archive *archive, uint64_t number, uint64_t sample);
/* Returns how many of `count` samples, from sample `first` of the observation on, are in gaps of
 * all streams. */
uint64_t archive_gap_in(const struct archive *archive, uint64_t first, uint64_t count);
/* Returns how many of `count` samples, from sample `first` of the observation on, a selected stream
 * (from 0, below nstreams) lacks: in gaps of all streams or its own, or where its part has no
 * samples. */
uint64_t archive_gap_of(const struct archive *archive, uint32_t stream, uint64_t first,
                        uint64_t count);
/* Finds the first samples of the observation at or after `at` and before `end` that a selected
 * stream (from 0, below nstreams) lacks, as archive_gap_of() counts them. Sets *first and *count to
 * those that follow each other, not beyond `end`. Returns 1; 0 if there are none: then *count is 0,
 * *first unchanged. */
int archive_next_gap(const struct archive *archive, uint32_t stream, uint64_t at, uint64_t end,
                     uint64_t *first, uint64_t *count);
/* Returns 1 if all streams, selected or not, lack the same samples, which are in losses.gaps; else
 * 0. */
int archive_gaps_are_common(const struct archive *archive);
/* Returns the share of sample `at` of the observation that is lost of a selected stream (from 0,
 * below nstreams), in 1 / LOST_WHOLE; 0: none, or no part has the sample. Sets *next to the first
 * sample after it for which that may differ; UINT64_MAX: none does. */
uint32_t archive_partial_at(const struct archive *archive, uint32_t stream, uint64_t at,
                            uint64_t *next);
/* Returns 1 if two selected streams (from 0, below nstreams) are in the same files, else 0. Such
 * streams lack the same packets (struct archive_partial), but each may have gaps of its own. */
int archive_are_together(const struct archive *archive, uint32_t one, uint32_t other);
/* Returns the number of samples of the selected range that lack packets (struct archive_partial):
 * the sum over all files, whichever streams are selected; 0 if losses.is_made. */
uint64_t archive_count_partial(const struct archive *archive);
/* Warns of the samples of archive_count_partial(), if there are any, when `file`, a file of
 * voltages, is made: it has no weights. */
void archive_warn_unweighed(const struct archive *archive, const char *file);
/* Returns how many of `count` samples, from sample `first` of the observation on, these selected
 * streams lack, as archive_gap_of() counts them: the sum over the streams. */
uint64_t archive_gap_of_streams(const struct archive *archive, struct stream_set streams,
                                uint64_t first, uint64_t count);
/* Returns how many of the first `used` selected samples (from archive->first_sample on) are
 * missing: the sum over all selected streams. */
uint64_t archive_gap_samples(const struct archive *archive, uint64_t used);

/* Returns the bits of a piece of a part with `steps` time steps of all its streams, as they are
 * stored; 0: they do not fit 64 bits. */
uint64_t archive_piece_bits(const struct archive *archive, uint64_t steps);

/* Appends a copy of `run`, in the file at `path`, which is copied (run->path is ignored), to a
 * part. Fails with DEVICE (memory): the part may have the run without `path` then. */
status_t archive_add_run(struct archive_part *part, const char *path,
                         const struct archive_run *run);
/* Frees the extents of a part: it has none then. */
void archive_drop_extents(struct archive_part *part);

/* Settles how the bytes of each part are reached, once, when all else is known: sets `reach` of
 * parts, stored.is_as_read and stored.plain_bytes. Makes `runs` of extents, which are freed. Fails
 * with DATA: extents that do not contain all samples; with DEVICE (memory). The archive is half
 * settled then. */
status_t archive_settle_reach(struct archive *archive);

/* Returns the byte (0 to 255) that, repeated, is zero volts: 0x88 for nibbles with offset, else 0.
 */
int archive_zero_byte(const struct archive *archive);

/* Checks that no file has changed since the archive was opened. Fails with DATA, naming the first
 * that did, or is missing. */
status_t archive_check_unchanged(const struct archive *archive);

/* Returns the bandwidth of one coarse channel in Hz: the sample rate if complex, half of it if
 * real. */
double archive_chan_width_hz(const struct archive *archive);

/* Assumptions about an input: facts that its files leave open or state in contradiction, and how
 * they are read. A sentence a line, the first letter small, without the file's name, in one text
 * for free(); NULL: none. `info`, `plan` and `run` print them, products keep them (/provenance,
 * attribute assumed). */

/* Adds an assumption about an input to *assumed, a line each, if `is_so` is not 0. *assumed, NULL
 * at first, is for free(). The printf-like text is cut to 599 bytes, its newlines become '?', and
 * one that is there already is not added. Fails with DEVICE (memory), and leaves *assumed
 * unchanged. assume(): adds it always; assume_unless(): if `is_known` is 0. */
status_t assume_if(int is_so, char **assumed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define assume(...) assume_if(1, __VA_ARGS__)
#define assume_unless(is_known, ...) assume_if(!(is_known), __VA_ARGS__)

/* Adds `more`, the assumptions of another file of the observation (lines; may be NULL), to *assumed
 * (NULL at first; for free()). Lines that are there already, without a name, are not added; new
 * ones begin with `path`, the file's name (NULL: none). After 16 lines, one more line says that
 * further files leave more open. Fails with DEVICE (memory): some lines may be added then. */
status_t assumed_add(char **assumed, const char *path, const char *more);

/* Adds to *assumed (NULL at first; for free()) the assumptions that an open product of ours stores
 * about its inputs, if any. `path` is for messages. Fails with DATA (unreadable), DEVICE (memory):
 * some lines may be added then. One thread at a time (HDF5). */
status_t assumed_read(hid_t file, const char *path, char **assumed);

/* Prints "assumed: PATH: ..." for each line of `assumed` (NULL: none), as report_say() does: not
 * one of the last four warnings again, and nothing in a quiet process. */
void assumed_say(const char *path, const char *assumed);

#endif
