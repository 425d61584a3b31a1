/* The job: the contents of a job file, checked and with defaults filled in.
 *
 * A job file is YAML; docs/job-file.md describes every key. Every error that a user can make in it
 * is found here, as many as possible at once, each with file, line, key and what was expected. */
#ifndef VOLTMILL_JOB_JOB_H
#define VOLTMILL_JOB_JOB_H

#include "base/terms.h"
#include "base/units.h"
#include "io/pack.h"

/* Values of input.layout that an attribute of the file says: `KEY: {attribute: PATH@NAME, unit:
 * UNIT}`. An empty PATH is the dataset. */
#define JOB_SAID(KEY)                                                                              \
    KEY(DOMAIN)                                                                                    \
    KEY(SAMPLE_RATE)                                                                               \
    KEY(SAMPLE_PERIOD)                                                                             \
    KEY(PACKING)                                                                                   \
    KEY(OFFSET)                                                                                    \
    KEY(MISSING_VALUE)                                                                             \
    KEY(SCALE)                                                                                     \
    KEY(SIDEBAND)                                                                                  \
    KEY(DC)                                                                                        \
    KEY(START)                                                                                     \
    KEY(FIRST_SAMPLE)                                                                              \
    KEY(OVERSAMPLING)                                                                              \
    KEY(TELESCOPE)                                                                                 \
    KEY(SOURCE)                                                                                    \
    KEY(RA)                                                                                        \
    KEY(DEC)
#define JOB_SAID_ID(key) SAID_##key,
enum job_said_key { JOB_SAID(JOB_SAID_ID) SAID_KEYS };

enum job_unit {
    UNIT_NONE, /* as the key says it; of a start: a text, a date and time */
    UNIT_HZ,
    UNIT_KHZ,
    UNIT_MHZ,
    UNIT_GHZ,
    UNIT_S,
    UNIT_MS,
    UNIT_US,
    UNIT_NS,
    UNIT_DEG,
    UNIT_RAD,
    UNIT_HOURS,
    UNIT_UNIX, /* seconds since 1970 */
    UNIT_MJD
};
/* Returns the value of 1 `unit` in Hz, seconds or degrees; 1 for NONE, UNIX and MJD. */
double job_unit_factor(enum job_unit unit);

struct job_said {
    char *attribute; /* NULL: the key is given, or not there at all */
    enum job_unit unit;
};

/* `freq_hz` as a mapping: {start, step}, or from the file. */
struct job_frequencies {
    int has_start;
    double start, step; /* start + i * step, of as many as the files have */
    char *from;         /* path of a dataset, or PATH@NAME; `attribute` is the same */
    char *attribute;
    char *member; /* of a compound; NULL: it is none */
    enum job_unit unit;
};

/* input.layout.streams: which stream a channel of a recorder's thread is. */
enum stream_dc { STREAM_DC_CENTRE, STREAM_DC_LOWER, STREAM_DC_UPPER };
struct job_stream {
    uint32_t thread, channel; /* as the file numbers them */
    char *pol;
    double freq_hz;    /* centre of the coarse channel's band on the sky */
    int sideband;      /* +1 or -1: of what is stored */
    enum stream_dc dc; /* where in the band frequency 0 of complex samples is */
};
enum { JOB_STREAMS = 1 << 16 };

/* input.layout. With `dataset` (or `parts`) the description of a plain HDF5 file in the words of
 * the native layout (docs/archives.md). With `format`, or without both (`automatic`: files show by
 * what they hold which format it is), a format says what the files hold, and further keys go before
 * that. Texts are NULL, numbers' `has_` are 0, when the job does not give them. */
struct job_layout_sky {
    char *telescope;
    char *source;
    int has_ra, has_dec;
    double ra_deg, dec_deg;
};

/* Numbers as they are stored. */
struct job_layout_numbers {
    int has_packing;
    struct packing packing; /* "4+4 offset hi=re", "2 bit offset", ... */
    double *levels;         /* of a packing of 1, 2 or 4 bits: the value of each stored number */
    uint32_t nlevels;
    int has_offset;
    double offset; /* of whole numbers: value = stored - offset */
    int has_missing_value;
    double missing_value;    /* as it is stored */
    struct number_type type; /* of a file without a container: "ci16_le"; bits 0: not given */
    int has_scale;
    double scale; /* volts of 1 as it is stored, > 0 */
};

struct job_layout_time {
    int has_sample_rate;
    double sample_rate_hz; /* of one stream, > 0 */
    int has_sample_period;
    double sample_period_s; /* or this */
    int has_start;
    struct utc start;       /* `start: 2014-06-29T01:39:20` */
    uint64_t *first_sample; /* of each file along files_along, from the observation's first on; of
                               one: of this file */
    uint32_t nfirst_sample;
};

struct job_layout_freq {
    double *hz; /* centre of each coarse channel */
    uint32_t count;
    struct job_frequencies rule; /* or this */
};

struct job_layout {
    int automatic;
    char *format;   /* a name of input/format/formats.h; NULL: none said */
    char *dataset;  /* path inside the file */
    char *parts[2]; /* the same of real and imaginary parts in datasets of their own: `dataset` is
                       NULL */
    char *axes;     /* "time,pol,chan,reim"; "chan:2*pol:2" for axes flattened into one; stands
                       where `dataset` does */
    /* The axis along which several files continue; default time. Then whether real and imaginary
     * parts are in files of their own, these the faster: "pol,reim". */
    enum axis files_along;
    int is_reim_along;
    int has_domain;
    int is_complex; /* domain: complex | real */
    struct job_layout_numbers numbers;
    int has_sideband;
    int sideband; /* +1 or -1 */
    int has_dc;
    int is_dc_at_edge; /* dc: centre | lower | upper */
    int has_dropped;
    int ignores_dropped; /* dropped: weigh | ignore */
    struct job_layout_freq freq;
    struct job_layout_time time;
    int has_oversampling;
    struct ratio oversample; /* as 32/27 */
    struct job_layout_sky sky;
    struct job_said said[SAID_KEYS];
    int has_skip;
    uint64_t skip; /* bytes before the first sample of a file without a container */
    char *station; /* whose packets are read */
    struct job_stream *streams;
    uint32_t nstreams;
};

/* Stores the value of an attribute, given as text without a unit, like the value of `key` in a job;
 * a value before is freed. *ok = 1; 0 if it is wrong, perhaps with a reason in `message`
 * (MISTAKE_BYTES of job/yaml/tree.h; else empty: see job_layout_key()): the value is undefined
 * then, a text NULL. Fails with DEVICE (memory). */
status_t job_layout_put(struct job_layout *layout, enum job_said_key key, const char *text,
                        char *message, int *ok);
/* Returns the name of `key` in a job, a static text, and writes the values that it allows into
 * `expected`, of MISTAKE_BYTES bytes (job/yaml/tree.h). */
const char *job_layout_key(enum job_said_key key, char *expected);

enum select_kind { SELECT_ALL, SELECT_SAMPLES, SELECT_SECONDS, SELECT_UTC };

/* input.select: at most one of samples, seconds, utc (half-open: from <= t < to), and streams by
 * name or index (empty list: all). The second of two bounds is after the first. */
struct job_select {
    enum select_kind kind;
    uint64_t first_sample, end_sample;
    double from_second, to_second; /* since the first sample */
    struct utc from_utc, to_utc;
    int has_freq;
    double from_hz, to_hz; /* coarse channels with some of their band there; instead of numbers */
    char **streams[AXIS_KINDS]; /* names, numbers, ranges "3..10", of AXIS_STATION, AXIS_BEAM,
                                   AXIS_POL, AXIS_CHAN */
    uint32_t nstreams[AXIS_KINDS];
    /* Range of the channels that are selected by then, by frequency, and of a filter bank's of each
     * coarse channel before it: synthesise.channels. */
    int has_places;
    uint64_t first_place, last_place;
};

/* products.N.flag: cells of a number of spectra that sums omit. */
struct job_range {
    uint64_t first, last; /* the last included */
};

struct job_flag {
    int has_kurtosis;
    double kurtosis;            /* sigma; 0: it is stored, and decides nothing */
    uint64_t spectra;           /* of a cell; settled: it divides the product's `integrate` */
    char *mask;                 /* a file (plan/flag_mask.h); NULL: none */
    struct job_range *channels; /* of those that the bank makes, coarse channels side by side */
    uint32_t nchannels;
};

/* products.N.droop: "correct", of the job's own filters, or "file:/a/table.txt". */
struct job_droop {
    char *text;       /* as written */
    const char *path; /* inside `text`; else NULL */
};

/* A direction of `array` or `beams`. */
enum direction_kind { DIRECTION_NONE, DIRECTION_RADEC, DIRECTION_AZEL };
struct job_direction {
    char *name; /* NULL: none */
    enum direction_kind kind;
    double lon_deg, lat_deg;           /* right ascension and declination, */
    double azimuth_deg, elevation_deg; /* or these */
};

struct job_product {
    enum product_kind kind;
    char *file;
    char *bank_name; /* as written; NULL: not at all */
    uint32_t bank;   /* place among the job's banks: that of this name, else 0 */
    struct {
        uint64_t integrate; /* spectra per row, >= 1; 1 for spectra and voltages */
        double integrate_s; /* to make `integrate` of (job_needs_rate()); 0: it is given */
    };
    /* Frequencies that are kept: by number, the last included, or those from .. to; of power the
     * mean of several neighbours. */
    int has_channels, has_freq;
    uint64_t first_channel, last_channel;
    double from_hz, to_hz;
    struct {
        uint32_t average; /* >= 1 */
        /* For visibilities: "all", "crosses", "autos", or "A*B" of names or numbers of stations;
         * none: all. */
        char **pairs;
        uint32_t npairs;
        struct job_direction centre; /* and their own phase centre */
    };
    /* For power: the combination of polarisations, and the axes that are summed. */
    struct combining combine; /* its sums and weights: of the next */
    enum axis *sums;          /* AXIS_STATION, AXIS_BEAM */
    uint32_t nsums;
    char *sum_file;          /* the file of their weights; NULL: all 1 */
    int is_raw;              /* weights: raw; of power, which else is divided by its weight */
    struct weighing weights; /* least: default 0.1 */
    int has_bandpass;        /* of power: the medians of its rows */
    int is_flagged;
    struct job_flag flag;    /* then */
    struct job_droop *droop; /* by whose response channels are divided */
    uint32_t ndroop;
    struct rounding steps; /* bits: default 32 */
    /* For voltages. */
    int has_scale;
    double scale;                 /* volts of 1 as it is stored, > 0; default 1 */
    enum compression compression; /* of rows, when all are there */
    int has_format;
    enum file_format format; /* of the file, when all is there; has_format 0: as its name ends */
    char *text; /* canonical YAML of input, filter, this product and its bank (as `channelise`),
                   without names of files and banks and without `run`, but for its
                   `check_resumed: off`: what determines the product's bytes, so it goes into the
                   product */
};

/* channelise.window: "hann", "kaiser:8.6", "file:/a/window.txt". */
struct job_window {
    char *text; /* as written */
    enum window_kind kind;
    double kaiser_beta;
    const char *path; /* of WINDOW_FILE, inside `text`; else NULL */
    /* Coefficients, once read (input/coefficients.h); NULL: a text file, which dsp/fir/prototype.h
     * reads. */
    double *values;
    uint32_t nvalues;
};

/* `channelise`: one filter bank. */
struct job_bank {
    char *name;        /* NULL: none, as of an only bank */
    uint32_t channels; /* 2 .. 2^30, even; 0: to be made of */
    double width_hz;   /* (job_needs_rate()) */
    uint32_t taps;     /* 1 .. 2^24 */
    struct job_window window;
    uint32_t window_points; /* coefficients of a tap in its file; 0: those of a raw spectrum */
    double cutoff;          /* 0 .. 64, default 1; or CUTOFF_FLAT */
    /* `oversample`: what of the prototype the job leaves open is made for it: plan/. */
    int is_oversampled;
    struct ratio oversample; /* in lowest terms */
    double attenuation;      /* dB; 0: not said */
    int has_taps, has_window, has_cutoff;
    enum normalise normalise;
    enum channel_order order;
    enum backend_kind backend; /* alike for all that compute: job.backend counts */
    enum kernel_kind kernel;   /* of the OpenCL backend */
    enum fft_kind fft;
};

enum dm_kind { DM_LINEAR, DM_LIST, DM_TOLERANT };

struct job_dms {
    enum dm_kind kind;
    double start, step; /* LINEAR: start + i * step, i < count */
    uint32_t count;
    double end, tolerance, width; /* TOLERANT: see dispersion_tolerant(); start, too */
    double *list;                 /* LIST: [count] */
    int is_divided; /* TOLERANT, downsample: auto: a dedispersion for each range of DMs, which
                       job_parse_divided() makes of it */
};

struct job_channels {
    uint32_t first, last;
};

/* `filter`: one filter of a chain, made of exactly one source. */
enum filter_band { BAND_LOWPASS, BAND_HIGHPASS, BAND_BANDPASS, BAND_BANDSTOP };

struct job_filter_design {
    enum filter_band kind;
    double *edges; /* Hz, ascending, with the transitions between the first two and the last two: 2
                      (low-, high-pass) or 4 (band-pass, band-stop) */
    uint32_t nedges;
    int is_offset;      /* edges count from each coarse channel's centre, not on the sky */
    double ripple;      /* dB, from the minimum to the maximum gain of the passband; default 0.1 */
    double attenuation; /* dB, of the stop band; default 60 */
};

/* The inverse of the telescope's filter bank within its channels (dsp/deripple.h). */
struct job_filter_deripple {
    char *prototype; /* path, or a telescope's name (dsp/fir/prototype.h); NULL: nothing */
    uint32_t points; /* coefficients a channel; 0: the telescope's */
};

struct job_filter_dispersion {
    double dm;
    double reference_hz; /* 0: each coarse channel's centre */
    char *constant;      /* as that of struct job_dedisperse */
    double span; /* with the reference `channel`: as many samples as the filter of this DM, if that
                    is more; default 0 */
    double edges_hz; /* width at each edge of a coarse channel that may be inexact */
    int has_edges;
    struct job_filter_deripple deripple;
};

struct job_filter {
    enum filter_source source;
    char *coefficients; /* path, of FILTER_COEFFICIENTS */
    struct job_filter_design design;
    struct job_filter_dispersion dispersion;
    struct job_filter_deripple deripple;
    uint32_t decimate; /* >= 1 */
    enum filter_method method;
    int keeps_delay;           /* delay: keep; else the time axis is corrected by the group delay */
    int is_padded;             /* edges: pad */
    int may_alias;             /* aliasing: allow */
    enum backend_kind backend; /* alike for all that compute: job.backend counts */
    /* job_filter_file(), once read (input/coefficients.h): double [taps], or [taps][2]. */
    double *taps;
    uint32_t ntaps;
    int is_complex;
};

/* Returns the path, or telescope's name, of a filter's coefficients, which belongs to the filter;
 * NULL: it has none. */
const char *job_filter_file(const struct job_filter *filter);

/* `synthesise`: coarse channels become a stream again, before all filters. */
struct job_synthesise {
    char *prototype;         /* of the channels' filter bank: a path, or a telescope's name
                                (dsp/fir/prototype.h); NULL: the archive says it */
    uint32_t prototype_taps; /* T of what is in that file; 0: not said */
    int has_channels;
    uint64_t first_channel, last_channel;
    uint32_t taps;   /* of the synthesis filter; 0: as many as `accuracy` takes */
    double accuracy; /* dB; default 100 */
    uint64_t origin; /* samples of the stream: phases count from this many before its first */
    enum backend_kind backend; /* alike for all that compute: job.backend counts */
    /* The filter, once made (plan/stage_plan.h): double [made_taps][points]. */
    double *coeff;
    uint64_t ncoeff;
    uint32_t made_taps, bank_taps; /* its own, the prototype's */
    int64_t first;
    double error_db, noise; /* dsp/fir/dual.h */
};

/* `dedisperse.search`: bursts in the series of a dedispersion (compute/boxcar.h). */
struct job_search {
    char *file;       /* NULL: there is no search */
    char *csv;        /* the table as text, too; NULL: not */
    uint32_t widths;  /* samples of the widest box; a power of two; default 64 */
    double threshold; /* S/N; default 7 */
    uint64_t most;    /* peaks that are grouped, the strongest; default 2^20 */
};

/* How a dedispersion adds; the first three give the same bytes. Their names, then NULL. */
enum job_mode { JOB_AUTO, JOB_BRUTE, JOB_TREE, JOB_TWO_STEP };
extern const char *const job_modes[];

/* `dedisperse`: one dedispersion of a filterbank. */
struct job_dedisperse {
    int has_input;
    uint32_t input; /* place among the products; has_input 0: the first power product */
    struct job_dms dm;
    double *coherent;    /* ascending: DMs that voltages are dedispersed to coherently; each
                            of `dm` is made of the nearest. job_is_semi_coherent() */
    uint32_t ncoherent;  /* 0: there are none */
    int is_padded;       /* edges: outputs for all times, else only for whole sums */
    double reference_hz; /* 0: the highest frequency */
    char *constant;      /* a name or number for dispersion_constant(); NULL: the default */
    uint64_t downsample; /* samples in time that are added up first; >= 1 */
    int is_zero_dm;      /* of each sample the mean of its channels is taken off */
    enum job_mode mode;
    int is_two_step;           /* JOB_TWO_STEP */
    uint32_t group;            /* channels of a group in two steps; 0: the default */
    struct job_channels *mask; /* channels that are left out */
    uint32_t nmask;
    uint32_t *ifs; /* that are added up; none: all */
    uint32_t nifs;
    int has_backend;
    enum backend_kind backend; /* has_backend 0: that of `channelise` */
    char *file;                /* NULL: the series are not kept, only searched */
    enum compression compression;
    struct job_search search;
    char *text;        /* as that of struct job_product, */
    char *search_text; /* and of the search; NULL: there is none */
};

/* `array`: the delays of stations. */
struct job_array {
    char *table;  /* a path; NULL: the archive says where its stations are */
    char *delays; /* a table of delay polynomials; NULL: by geometry */
    char *iers;
    int has_ut1_utc, has_polar_motion;
    double ut1_utc_s;
    double polar_motion[2]; /* x, y, arc seconds */
    struct job_direction centre;
    /* The table of stations, once read (input/array_job.h); with it the numbers above are those of
     * the IERS file. */
    char *packed;
    uint64_t npacked;
};

/* How many of them a job may have. */
enum {
    JOB_PRODUCTS = 16,
    JOB_BANKS = 8,
    JOB_FILTERS = 8,
    JOB_DEDISPERSE = 16,
    JOB_DMS = 1 << 20,
    JOB_COHERENT = 4096,
    JOB_BEAMS = 4096,
    JOB_MOST_DM = 1000000
};

struct job {
    char *path;   /* of the job file, for messages */
    char **files; /* input.files as written (globs not yet expanded); >= 1 */
    uint32_t nfiles;
    struct job_layout layout;
    struct job_select select;
    char **external; /* where external storage of the files may be (input/hdf5/sources.h) */
    uint32_t nexternal;

    struct job_bank *banks;    /* each makes products of the same samples */
    uint32_t nbanks;           /* 0: there is no `channelise` */
    enum backend_kind backend; /* of all banks and filters, whichever of them names it */

    int is_synthesised; /* there is a `synthesise` */
    struct job_synthesise synthesise;
    struct job_filter *filters; /* applied in order, before `channelise` */
    uint32_t nfilters;

    struct {
        int is_array; /* there is an `array` */
        struct job_array array;
        struct job_direction *beams; /* that products are of, in the place of stations */
        uint32_t nbeams;
        char *beam_weights; /* file (input/array_job.h); NULL: none. It gives `beams`, too */
    };

    struct job_product *products; /* none when the files are dedispersed as they are */
    uint32_t nproducts;
    struct job_dedisperse *dedisperse; /* dedispersions, one after the other */
    uint32_t ndedisperse;

    int is_memory_auto;
    uint64_t memory; /* bytes per rank; of auto JOB_MEMORY until job_take_memory() */
    struct {
        uint64_t memory;        /* bytes per rank; of auto JOB_MEMORY */
        uint64_t chunk_spectra; /* 0: auto */
        uint64_t align;         /* bytes: borders of large datasets and of chunks; 0: auto */
    } cut;                      /* what chunks and groups are cut for */
    uint32_t threads;           /* 0: auto */
    double sync_seconds;        /* between the times when rows are synced; > 0 */
    enum on_bad on_bad;
    enum check_resumed check_resumed;
    enum fft_planning planning; /* of FFTW, CPU backend */
    char *device;               /* OpenCL device: NULL (auto), a number, or a part of its name */
    uint64_t device_memory;     /* bytes of its memory that a rank may use; 0: auto */
};

/* With `run.memory: auto`, the memory that chunks and groups are cut for on any machine: products
 * were always made so. */
#define JOB_MEMORY ((uint64_t)1 << 30)

/* Returns the memory, in bytes of a rank, that `auto` means if `ranks` ranks share a machine with
 * `left` bytes left. It is half of that, since files that are read and written go through the rest,
 * in equal shares. It is rounded down to a power of two or 1.5 times one, so that it seldom changes
 * from run to run. It is at least 256 MiB, which most jobs can be cut for. */
uint64_t job_share_memory(uint64_t left, uint32_t ranks);

/* Sets job->memory, of a rank, to `bytes` if run.memory is auto, else does nothing; job->cut stays.
 */
void job_take_memory(struct job *job, uint64_t bytes);

/* Bytes of the text of job_memory_words(). */
enum { JOB_MEMORY_TEXT = UNITS_TEXT + 16 };
/* Writes the memory of a rank, "1.00 GiB" or "auto: up to 8.00 GiB". Returns `text`. */
const char *job_memory_words(const struct job *job, char text[JOB_MEMORY_TEXT]);

/* Reads and checks the job file at `path`, after setting the `nsets` overrides "key.path=value" of
 * the command line (value: YAML). job_destroy() frees *out, which a failure leaves unchanged. Fails
 * with USAGE: mistakes, in one message with at most the first 40 of them and the number of all; no
 * YAML, empty, or HDF5; with DATA when the file is missing, unreadable, no ordinary file, or has
 * more than YAML_FILE_BYTES (job/yaml/yaml_file.h); with DEVICE (memory). */
status_t job_load(const char *path, const char *const *sets, uint32_t nsets, struct job **out);

/* Use of a job's text for one of many observations, or for its input alone. */
struct job_each {
    const char *name;  /* takes the place of {name} in the job's values; NULL: none does */
    const char *files; /* its input: a file, a pattern, or several files, one a line; name and files
                          are both given or both NULL */
    int is_input;      /* only `input` and `run` count; all else is ignored, with its mistakes: the
                          job has one product, of voltages, which is not meant to be written */
};

/* Reads and checks the text of a job in memory, `length` bytes, as job_load() does that of a file,
 * for one observation if `each` is not NULL. `path` names it in messages; `sets`: `nsets` overrides
 * "key.path=value". job_destroy() frees *out, which a failure leaves unchanged. Fails with USAGE
 * (mistakes, no YAML, empty, more than YAML_FILE_BYTES), DEVICE (memory). */
status_t job_parse_each(const char *path, const char *text, size_t length, const char *const *sets,
                        uint32_t nsets, const struct job_each *each, struct job **out);
/* Reads and checks the text of a job in memory, as job_parse_each() with `each` NULL: `length`
 * bytes of `text`, `nsets` overrides "key.path=value" in `sets`; `path` names it in messages.
 * job_destroy() frees *out, which a failure leaves unchanged. Fails with USAGE (mistakes, no YAML,
 * empty, more than YAML_FILE_BYTES), DEVICE (memory). */
status_t job_parse(const char *path, const char *text, size_t length, const char *const *sets,
                   uint32_t nsets, struct job **out);

/* Reads the YAML of input.layout, as options --layout take it, into a job without files of its own:
 * its only file is called "none". job_destroy() frees *out, which a failure leaves unchanged. Fails
 * with USAGE (mistakes), DEVICE (memory). */
status_t job_parse_layout(const char *layout, struct job **out);

/* Ranges of DMs with a downsampling each. */
struct job_dm_range {
    double start, end;
    uint64_t downsample;
    int is_unsearched; /* its series are too short to be searched: without `search` */
};

/* Numbers of a job that its input decides: channels and spectra that are given as a width and a
 * time (0: as written), and the ranges of DMs of each dedispersion with dm.is_divided (count 0:
 * none). */
struct job_division {
    uint32_t channels[JOB_BANKS];
    uint64_t integrate[JOB_PRODUCTS];
    uint32_t count[JOB_DEDISPERSE];
    struct job_dm_range ranges[JOB_DEDISPERSE][JOB_DEDISPERSE];
};

/* Takes the place of the range's number, from 0, in its files' names. */
#define JOB_RANGE_PLACE "{range}"

/* Reads and checks, as job_parse_each() does, a job whose input is known, and which was read before
 * without mistakes, with `nsets` overrides and the numbers of `division` (NULL: none) in place of
 * widths and times, and an entry `dm: {start, end, tolerance, width}`, `downsample` for each range.
 * job_destroy() frees *out, which a failure leaves unchanged. Fails with USAGE (mistakes), DEVICE
 * (memory). */
status_t job_parse_divided(const char *path, const char *text, size_t length,
                           const char *const *sets, uint32_t nsets, const struct job_each *each,
                           const struct job_division *division, struct job **out);

/* Returns whether channels of a filter bank or spectra of a product are given as a width or a time,
 * so that the input's rate is needed. */
int job_needs_rate(const struct job *job);

/* Returns whether the input of a job that was read whole is an archive of voltages; else it is a
 * filterbank, which is dedispersed as it is. 0 for a job of job_unpack_input(). */
int job_reads_voltages(const struct job *job);

/* Returns whether the job is a semi-coherent search: for each DM of dedisperse.coherent a filter
 * before the filter bank dedisperses to it, and the nearest DMs are dedispersed from that power.
 * The power product is then no file of its own: each power and its series are temporary files
 * beside it (run/grid.h). A job with a dedispersing filter of its own is none: it makes only that
 * filter's share. */
int job_is_semi_coherent(const struct job *job);

/* Returns the name of a dedispersion in messages: the file of its series, or else of its search; it
 * belongs to the job. */
const char *job_series_name(const struct job_dedisperse *dedisperse);
/* Returns the number of files that a dedispersion writes, 1 or 2, without the CSV of its search,
 * and sets as many of `files`: series, search. The names belong to the job. */
uint32_t job_series_files(const struct job_dedisperse *dedisperse, const char *files[2]);

/* Returns the number of files that the job writes, without CSVs: those of its products, then those
 * of its dedispersions; of a semi-coherent search only the latter. */
uint32_t job_nfiles(const struct job *job);
/* Returns the name of file i that the job writes, from 0, below job_nfiles(), in the order of that;
 * it belongs to the job. */
const char *job_file(const struct job *job, uint32_t i);
/* Returns the name of the filterbank that dedispersion `number`, from 0, reads: the file of a
 * product of the job, or its input. It belongs to the job. */
const char *job_filterbank(const struct job *job, uint32_t number);

/* Copies the settings of `run` of `from` to `to`: texts are copied, those that `to` had are freed.
 * Fails with DEVICE (memory): those of `to` are then undefined, but may be freed by job_destroy().
 */
status_t job_copy_run(const struct job *from, struct job *to);

/* Appends everything of the job that opening its input needs, packed, for a child process. Fails
 * with DEVICE (memory); `out` may have a part of it then. */
status_t job_pack_input(struct text *out, const struct job *job);
/* Makes a job of what job_pack_input() has packed, its other members 0; job_destroy() frees *out,
 * which a failure leaves unchanged. Fails with DATA (bytes are missing, or values wrong), DEVICE
 * (memory). */
status_t job_unpack_input(struct unpack *in, struct job **out);

/* Frees a job and what it points to; takes NULL, and half-made ones. */
void job_destroy(struct job *job);
SCOPED_END(job_destroy, struct job *)

#endif
