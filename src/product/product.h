/* Products: one ordinary HDF5 file each, complete only under its final name.
 *
 * Rank 0 creates `x.h5.part` with everything but the rows (product_create) and reserves its blocks
 * (io/file.h); all that comes later goes with plain writes to the offsets given here: the ranks'
 * rows, and at the end, from rank 0, what was counted on the way (product_put_counts). So HDF5's
 * own structures are never half written, whatever dies when. Nothing that varies between runs of
 * the same job goes in. docs/products.md describes the layouts. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_PRODUCT_H
#define VOLTMILL_PRODUCT_PRODUCT_H

#include "base/terms.h"
#include "dsp/axes.h"
#include "dsp/steps.h"
#include "dsp/stokes.h"
#include "input/archive.h"
#include "io/apart.h"

struct dedispersed;
struct dedispersed_spec;
struct visibilities_spec;

/* The filter bank of a product. */
struct product_spec_bank {
    enum channel_order order;
    uint32_t channels, taps;
    uint32_t samples_per_spectrum, hop; /* of a raw spectrum, and to the next spectrum */
    struct ratio oversample;            /* that is num / den; 1 / 1: as many */
    uint32_t first_channel, nchannels;  /* the channels that are kept of each coarse channel */
    const double *coeff; /* [taps][samples_per_spectrum] as they are, without the folded shift */
    int has_cutoff;      /* they are a windowed sinc, */
    double cutoff;       /* this wide, in channels */
};

/* Content and origin of a product. */
struct product_spec {
    enum product_kind kind;
    const char *job_text;         /* what determines its bytes (struct job_product) */
    const char *arithmetic;       /* what rounded its numbers, for people; NULL: does not matter */
    const char *inputs;           /* its inputs: a line for each file; NULL: unknown */
    uint64_t rows;                /* dumps; of series: DMs */
    enum compression compression; /* of the rows, once all are there (product/packed.h); NONE
                                     while they are written */
    /* For QUANTITY_SERIES; the rest is zero then. */
    const struct dedispersed_spec *series;
    /* For all other quantities. */
    const struct archive *archive;
    uint64_t gap_samples; /* of all streams, in gaps that the archive declares, that were taken */
    struct rounding steps;
    /* For QUANTITY_VOLTAGES; the rest is zero then. `archive` describes how the product is read:
     * rows are its samples from first_sample on. */
    double scale; /* volts of 1 as it is stored */
    /* Filters that the voltages passed before, a line for each; NULL: none. */
    const char *filters;
    /* For products of a filter bank. */
    struct product_spec_bank bank;
    uint64_t integrate;
    /* A row has nifs ifs (stations x beams x polarisations) of `frequencies` frequencies, each the
     * mean of `average` neighbours. These begin at first_frequency of all coarse channels side by
     * side, x nchannels. */
    uint32_t nifs, average;
    uint64_t first_frequency, frequencies;
    /* For power: the combination of polarisations, and of stations and beams, which are summed with
     * these weights (of both: [stations][beams]; NULL: 1). */
    struct combining combine;
    struct flagging flag;
    /* For QUANTITY_VISIBILITIES, else NULL: nifs are its pairs times npols, and weights are kept.
     */
    const struct visibilities_spec *visibilities;
    const double *gains; /* in power, by which channels are divided, [all of the bank]; or NULL */
    int has_bandpass;    /* it has the medians of its rows */
    struct weighing weights; /* shares of each dump that were there */
    uint64_t align;        /* bytes: larger datasets begin at its multiples; 0: at those of 1 MiB */
    int omits_frequencies; /* the values of /frequency stay unwritten: only its size matters, or the
                              rows are converted to a format that states them by a formula */
};

/* Offsets of the datasets in the file. Row r is at data_offset (0: the rows are in compressed
 * chunks) + r * row_bytes, float [ifs][frequencies] (x 2 if complex), or a sample of each stream of
 * voltages; its time stamp, a double, at time_offset + 8 r; the CRC-32 of span s (of span_rows
 * rows: product/contents.h), a uint32, at crc_offset + 4 s; the number of missing samples, a
 * uint64, at missing_offset; at holes_offset + r, a byte: 1 if row r is NaN because its input was
 * unreadable; the number of clipped numbers, a uint64, at clipped_offset; the weights of row r,
 * float [ifs][coarse channels], at weights_offset + 4 r ifs x coarse channels; where power is
 * flagged [ifs][frequencies], and the flags and kurtosis of its cells (product/flagged.h) at
 * flags_offset and kurtosis_offset; medians of all rows, float [ifs][frequencies], at
 * bandpass_offset. Offset 0 means none: products of format 1 have no CRCs; voltages have no time
 * stamps and holes, and only they count clipped numbers so. Of spectra and power in fewer bits than
 * 32 (dsp/steps.h): blocks of scale_rows rows (0: floats) have scale and offset, floats
 * [scales][ifs][frequencies] (scales: as many as blocks, or 1: of the first for all), and counts of
 * numbers clipped low and high, uint16 [blocks][ifs][frequencies]. A row of visibilities is float
 * [pairs][frequencies][pols][2]; its weights, float, and flags, a byte each, are
 * [pairs][frequencies][pols]. Journals store this struct in its memory layout: its bytes are part
 * of their format. */
struct product_place {
    uint64_t rows, row_bytes, span_rows;
    uint64_t data_offset, time_offset, crc_offset, missing_offset, holes_offset;
    uint64_t clipped_offset, weights_offset;
    uint64_t flags_offset, kurtosis_offset, bandpass_offset;
    uint64_t scale_rows, scales;
    uint64_t scale_offset, offset_offset, low_offset, high_offset;
    uint64_t file_bytes;
};

/* Returns the bytes of a row of `streams` streams of `nchannels` channels each as the filter bank
 * makes them, in floats, before it becomes a product's. */
uint64_t product_row_bytes(enum product_kind kind, uint64_t streams, uint64_t nchannels);
/* Returns the bytes of a row of any product as it is stored, uncompressed. */
uint64_t product_spec_row_bytes(const struct product_spec *spec);
/* Returns the axis of the product's time stamps, in seconds after the observation's start: of rows;
 * of series, of the times in a row (of a search its cells). */
struct time_axis product_time(const struct product_spec *spec);

/* Main thread only: writes the open file anew, which `path` names in messages; it has MARK_RUN
 * (io/mark.h) until mark_hdf5(). `fd` below 0: only computes the places (`path` may be NULL);
 * spec->omits_frequencies must be set then. *frequency_at gets the offset (bytes) of /frequency (0:
 * none), whose values product_put_frequencies() writes later; NULL: they are written. Nothing is
 * reserved or synced. Fails with USAGE if the kind cannot store such rows (power: more than 2^31 -
 * 1 frequencies; visibilities: no start, unknown feeds, rows less than 1e-4 s apart, compression,
 * few bits), and as spec->visibilities->look() does; with NO_SPACE, DATA, DEVICE (memory). */
status_t product_create(int fd, const char *path, const struct product_spec *spec,
                        struct product_place *place, uint64_t *frequency_at);
/* Writes the values of /frequency, doubles in Hz, without HDF5, by several threads, at offset `at`
 * (bytes) in the open file; nothing if `at` is 0. `path` is for messages. Any thread. Not synced.
 * Fails with NO_SPACE or DATA. */
status_t product_put_frequencies(int fd, const char *path, const struct product_spec *spec,
                                 uint64_t at);

/* Counts that are known when all rows are written. */
struct product_counts {
    uint64_t missing;     /* samples: NaN, missing value */
    uint64_t clipped;     /* numbers that did not fit the bits of voltages */
    const uint32_t *crcs; /* CRC-32 of each span */
};

/* Writes the counts into a product whose rows are complete, then the CRCs of all objects
 * (contents_put()): `path` must open the file `fd`, which may have its mark. Nothing is synced.
 * Idempotent. Main thread only. Fails with NO_SPACE, DATA, DEVICE (memory, descriptors); some may
 * be written then. */
status_t product_put_counts(int fd, const char *path, const struct product_place *place,
                            const struct product_counts *counts);

/* Counts the rows that are NaN because their input could not be read; 0 where they cannot be marked
 * (holes_offset 0). `path` is for messages. Fails with DATA if the open file cannot be read there;
 * *out is unchanged then. */
status_t product_count_holes(int fd, const char *path, const struct product_place *place,
                             uint64_t *out);

/* Returns whether a product's numbers are quantised, with scales: spectra or power in fewer bits
 * than 32. */
static inline int quantised_is(const struct product_spec *spec)
{
    enum quantity quantity = product_quantity(spec->kind);
    return (quantity == QUANTITY_SPECTRA || quantity == QUANTITY_POWER) && spec->steps.bits < 32;
}
/* Returns the form of numbers of `bits` bits, below 32, of products of a kind: their bits, and
 * whether they have a sign (spectra). */
static inline struct steps_form quantised_form(enum product_kind kind, uint32_t bits)
{
    return (struct steps_form){bits, product_quantity(kind) == QUANTITY_SPECTRA};
}

/* Blocks of rows that have scales of their own (dsp/steps.h), each [count][lines], lines
 * those of the streams at hand. */
struct product_steps {
    uint64_t first, count;
    const float *scale, *offset;
    const uint16_t *low, *high; /* how many numbers were clipped */
};

/* Numbers that did not fit their bits: too low, too high. */
struct product_clips {
    uint64_t low, high;
};
/* Adds up the counts of clipped numbers in the open file; zeros without scales. `lines`: ifs times
 * frequencies. `path` is for messages. Fails with DATA if the counts cannot be read; with DEVICE
 * (memory). *out is unchanged then. */
status_t product_count_clips(int fd, const char *path, const struct product_place *place,
                             uint64_t lines, struct product_clips *out);

/* Provenance of a product. */
struct product_origin {
    int64_t version_of_format; /* 0 when it does not say */
    char *job_text;
    char *version;    /* of the program */
    char *arithmetic; /* as struct product_spec says; NULL: it does not */
    char *inputs;
    char *assumed; /* about these (input/archive.h); NULL: nothing */
    char *filters; /* before, as struct product_spec says; NULL: none */
};

/* Lines of a row. */
struct product_ifs {
    char *pols; /* names of its polarisations or ifs, with ", " between; NULL when unknown */
    /* Names of the lines of a row of power or spectra, such as CS001/X, one a line; NULL: unknown.
     */
    char *pol_names;
    char *pol_type;          /* NULL when it does not say, like the next: of IQUV, of sums */
    char *feed, *v, *sum_of; /* v: its sign */
};

/* The filter bank of a product, as it says. */
struct product_bank {
    uint32_t channels, taps;
    struct ratio oversample; /* 0, 0: as often as channels are apart */
    uint64_t hop;            /* then samples from one spectrum to the next */
    uint32_t average; /* channels whose mean each frequency is; 0: all are as they were made */
    double sample_rate_hz;
};

/* A finished product, as it describes itself: for `info` and `verify`. */
struct product {
    enum product_kind kind;
    char *path;
    struct product_origin origin;
    struct sky sky;
    struct product_ifs ifs;
    struct product_bank bank;
    uint64_t rows, streams, frequencies, integrate; /* dedispersed: DMs, 1, times, 1;
                                                       voltages: frequencies of coarse channels */
    double first_time, time_step;                   /* seconds after sample 0 */
    double *frequency_hz;                           /* [frequencies]; NULL for series */
    struct dedispersed *series; /* [nseries] what series say of themselves; else NULL */
    uint32_t nseries;           /* 1, or 0 */
    uint64_t missing, gaps;
    int is_coherent; /* dedispersed coherently, to coherent_dm */
    double coherent_dm;
    uint32_t bits; /* of its numbers: 32: floats */
    /* For voltages. */
    int is_complex;
    double scale; /* volts of 1 as it is stored */
    uint64_t clipped;
    uint32_t weights;    /* of a row; 0: none */
    uint64_t candidates; /* groups that a search has found */
    /* Flagged power has /flags [rows][ifs][channels]; 0: none. */
    struct {
        uint64_t rows, ifs, channels;
    } flags;
    /* Visibilities, whose streams are pairs times pols; pairs 0: others. */
    struct {
        uint32_t stations, pairs, pols;
    } array;
    enum compression compression; /* of the rows; else they are contiguous */
    struct product_place place;
};

/* Cells of a flagged product, and how many of them are flagged: by any means, by kurtosis, and how
 * many have no kurtosis (of a product that has it). */
struct product_flags {
    uint64_t count, flagged, by_kurtosis, unknown;
};
/* Counts the flags of all `cells` cells (rows of cells x ifs x channels) of the file at `path`,
 * with datasets at `place`, by several threads. *out is zero if there are none, and after a
 * failure. Any thread. Fails with DATA if the file cannot be read; with DEVICE (memory,
 * descriptors). */
status_t product_count_flags(const char *path, const struct product_place *place, uint64_t cells,
                             struct product_flags *out);

/* The weights of a product that has some: the least, the mean, and how many of them are below 1;
 * its flags, and of one in few bits what was clipped. */
struct product_weights {
    double least, mean;
    uint64_t below, count;
    struct product_flags flags;
    struct product_clips clips;
};
/* Reads all weights, flags and clips of the file of a product into *out, zero before. Of a product
 * without weights only the clips are set. Fails with DATA if the file cannot be read; with DEVICE
 * (memory, descriptors). After a failure only the clips may be set. */
status_t product_weigh(const struct product *product, struct product_weights *out);

/* Returns whether the file is a product of voltmill, or has a mark (io/mark.h), as a run leaves
 * that died; 0 if the file is missing or unreadable, whose cause is forgotten. Opens it in a child
 * process. Main thread only. */
int product_is_ours(const char *path);

/* Find the places of the datasets of the product at `path`, in a child process (io/apart.h):
 * product_find_place() of a complete one, product_find_part() also of one that is incomplete (with
 * a mark). Main thread only. Fail with DATA if the file is unreadable, damaged, or no product of
 * ours; with DEVICE (memory, descriptors, no child), STOPPED; *out is unchanged then. */
status_t product_find_place(const char *path, struct product_place *out);
status_t product_find_part(const char *path, struct product_place *out);

/* Open a product in a child process (io/apart.h), and describe it in *out, for product_destroy().
 * Main thread only. *out is NULL if the file is HDF5 but none of our products, and after a failure.
 * product_open_part() opens incomplete ones (with a mark), too: for callers that know which of its
 * rows are there. Fail with DATA if the file is unreadable, damaged, not HDF5, or (product_open())
 * incomplete; with DEVICE (memory, descriptors, no child), STOPPED. */
status_t product_open(const char *path, struct product **out);
status_t product_open_part(const char *path, struct product **out);
/* Frees a product and all that its members point to. Takes NULL. */
void product_destroy(struct product *product);
SCOPED_END(product_destroy, struct product *)

/* Opens a product of unknown origin in a child process (io/apart.h). */
extern const struct description product_description;

#endif
