/* The words of the field as types: what jobs, archives, numbers and backends all speak of. */
#ifndef VOLTMILL_BASE_TERMS_H
#define VOLTMILL_BASE_TERMS_H

#include <stdint.h>

/* How a stored sample (or each of its two parts, if complex) looks. */
enum sample_format {
    SAMPLE_I4,  /* 4 + 4 bits in one byte, always complex */
    SAMPLE_I8,  /* int8 */
    SAMPLE_I16, /* int16, native byte order */
    SAMPLE_F32, /* float, native byte order */
    SAMPLE_FORMATS
};

/* Number format of each sample type. */
struct sample_type {
    const char *name; /* as people read it */
    uint32_t bits;    /* of a number */
    uint32_t bytes;   /* of what is stored: a number; of SAMPLE_I4 the byte that holds two */
    int is_pair;      /* what is stored holds both parts of a complex sample */
    int is_float;
    double least, most; /* that can be stored */
};
extern const struct sample_type sample_types[SAMPLE_FORMATS];

/* Limits of `scale`, the volts of a stored 1: sums of powers then stay within 32-bit floats. */
#define TERMS_LEAST_SCALE 1e-30
#define TERMS_MOST_SCALE 1e30

/* Most rows with one scale, of products in few bits: what is clipped of them is counted in 16 bits.
 */
#define TERMS_MOST_SCALE_ROWS (1 << 14)

/* sample_bytes(): returns the bytes of a sample of one stream, both parts if it is complex.
 * SAMPLE_I4 is complex in any case. sample_part_bytes(): returns the bytes from the real to the
 * imaginary part. It returns 0 if the sample is real, or one byte contains both parts (SAMPLE_I4).
 */
uint32_t sample_bytes(enum sample_format format, int is_complex);
uint32_t sample_part_bytes(enum sample_format format, int is_complex);

/* How the two nibbles of a SAMPLE_I4 byte are to be read. */
struct nibbles {
    int offset_binary; /* 1: value = nibble - 8; 0: two's complement */
    int high_is_real;  /* 1: the high nibble is the real part */
};

/* How numbers are stored that are no signed integers or floats. */
struct packing {
    struct nibbles nibbles; /* of bits = 0: both parts of a sample in one byte */
    uint32_t bits;          /* of one number: 1, 2, 4, 8, 16 */
    int is_offset;          /* value = stored - half of the range; else two's complement. Of 1 and
                               2 bits packing_levels */
    int is_high_bit_first;  /* below 8 bits: the first number is in a byte's high bits */
};

/* Levels of numbers with offset of 1 and of 2 bits: by their bits less 1. */
extern const double packing_levels[2][4];

/* Type of a number in a file, in SigMF's notation: "ci16_le". */
struct number_type {
    int has_domain; /* the text begins with r or c */
    int is_complex; /* real and imaginary part side by side */
    char kind;      /* 'i', 'u': signed, unsigned integers; 'f': IEEE 754 */
    uint32_t bits;  /* of one number: 8, 16, 32, 64; 24 of 'i'; 0: no type */
    int is_big_endian;
};
#define NUMBER_TYPE_TEXTS                                                                          \
    "i, u or f and the bits, such as i8, u8, i16, i24, i32, f32 or f64; r (real) or c (complex) "  \
    "may precede them, _le or _be follow them: ci16_le"
/* Reads the type of numbers in a file, such as "ci16_le" (NUMBER_TYPE_TEXTS lists them). Returns 1;
 * 0 if the text is none, and *out is then undefined. */
int number_type_parse(const char *text, struct number_type *out)
    __attribute__((warn_unused_result));

/* How the rows of a product are made smaller. */
enum compression {
    COMPRESSION_NONE,
    COMPRESSION_DEFLATE,
    COMPRESSION_LZ4,
    COMPRESSION_BITSHUFFLE,
    COMPRESSION_ZSTD,
    COMPRESSIONS
};
#define COMPRESSION_NAMES "none", "deflate", "lz4", "bitshuffle", "zstd"

/* File format of a complete product. */
enum file_format { FILE_HDF5, FILE_FIL, FILE_PSRFITS };
/* Returns the name of a format, which is one of the enum, as job files spell it: "hdf5", "fil",
 * "psrfits". The text is static. */
const char *file_format_name(enum file_format format);
/* Returns the format by the ending of a file's name: FILE_FIL for ".fil", FILE_PSRFITS for ".fits"
 * and ".sf", FILE_HDF5 for all others. Endings in capitals are others. */
enum file_format file_format_of(const char *path);

enum window_kind {
    WINDOW_HANN,
    WINDOW_HAMMING,
    WINDOW_BLACKMAN,
    WINDOW_KAISER,
    WINDOW_RECT,
    WINDOW_FILE
};

/* In the place of a filter bank's cutoff: the one by which neighbouring channels have all power. */
#define CUTOFF_FLAT (-1.0)

/* Spectra of a filter bank come num / den times as often as its channels are apart; in lowest
 * terms, 1 / 1: as often. */
struct ratio {
    uint32_t num, den;
};

/* Reads "32/27": a ratio of at least 1 of whole numbers from 1 to 10^6; does not reduce it. Returns
 * 1; 0 if the text is none, and leaves *out unchanged. */
int ratio_parse(const char *text, struct ratio *out) __attribute__((warn_unused_result));

/* Treatment of power with missing samples: NaN below a weight, else optionally divided by its
 * weight. */
struct weighing {
    int are_kept; /* products have weights */
    int divide;   /* power is divided by them */
    double least; /* rows below it are NaN */
};

/* Quantisation of a product's numbers to fewer bits than 32 (dsp/steps.h), with a scale for each
 * channel. */
struct rounding {
    uint32_t bits; /* 8, 16, 32: float */
    uint64_t rows; /* of a block that has its own scale; 0: it is chosen */
    int are_first; /* scales are those of the first block */
};

enum normalise {
    NORMALISE_ENERGY, /* sum b^2 = 1: white noise keeps its variance */
    NORMALISE_PEAK,   /* sum b = 1: a tone at a channel's centre keeps its amplitude */
    NORMALISE_NONE
};

enum channel_order {
    ORDER_ASCENDING, /* sky frequency ascends */
    ORDER_FFT        /* as the transform gives it: bin 0 first */
};

enum backend_kind { BACKEND_AUTO, BACKEND_CPU, BACKEND_OPENCL, BACKEND_REFERENCE };

/* How the OpenCL backend filters: FIR and FFT in one kernel, one of the FIR kernels before a
 * library's FFT, or with the first of two or three kernels that transform by columns and rows.
 * A list of ids and names, with something between. */
/* clang-format off */
#define KERNELS(kernel, and) \
    kernel(AUTO, "auto") and kernel(FUSED, "fused") and kernel(SLIDE, "slide") and \
    kernel(CACHE, "cache") and kernel(LOCAL, "local") and kernel(FINE, "fine") and \
    kernel(BLOCKS, "blocks")
/* clang-format on */
#define KERNEL_ID(id, name) KERNEL_##id
#define KERNEL_NAME(id, name) name
#define COMMA ,
enum kernel_kind { KERNELS(KERNEL_ID, COMMA), KERNEL_KINDS };

/* Library of the FFT after the FIR kernels on OpenCL devices. */
enum fft_kind { FFT_AUTO, FFT_VKFFT, FFT_CLFFT };

/* The source of a filter's coefficients. */
enum filter_source {
    FILTER_COEFFICIENTS,
    FILTER_DESIGN,
    FILTER_DISPERSION,
    FILTER_DERIPPLE,
    FILTER_SOURCES
};

/* How a FIR filter is computed: sum by sum, or block by block through FFTs. */
enum filter_method { FILTER_AUTO, FILTER_DIRECT, FILTER_OVERLAP_SAVE };

/* How hard FFTW looks for its fastest plan. */
enum fft_planning { PLANNING_AUTO, PLANNING_ESTIMATE, PLANNING_MEASURE, PLANNING_PATIENT };

/* Action when a part of the input is unreadable. */
enum on_bad { ON_BAD_STOP, ON_BAD_NAN };

/* Which rows of earlier runs are compared with the CRCs of their journal. */
enum check_resumed { CHECK_RESUMED_ALL, CHECK_RESUMED_OFF };

/* Quantity that the numbers of a product measure.
 *
 *   spectra    float [2] (re, im), as the filter bank gives them
 *   power      float, |spectrum|^2 summed over a row
 *   series     float, dedispersed power
 *   voltages   samples as an archive stores them
 *   coherency  float, |A|^2, |B|^2, Re A B*, Im A B* of two polarisations, summed
 *   squares    float, |spectrum|^4 summed over a row
 *   peaks      struct peak (dsp/boxes.h) of series
 *   visibilities  float [2], A B* of two stations, its mean over a row */
enum quantity {
    QUANTITY_SPECTRA,
    QUANTITY_POWER,
    QUANTITY_SERIES,
    QUANTITY_VOLTAGES,
    QUANTITY_COHERENCY,
    QUANTITY_SQUARES,
    QUANTITY_PEAKS,
    QUANTITY_VISIBILITIES
};
/* Returns the name of a quantity, as in the list at enum quantity: "spectra". The text is static.
 */
const char *quantity_name(enum quantity quantity);

/* Combination of the power of two polarisations: separate, their sum, Stokes parameters, or |A|^2,
 * |B|^2, Re A B*, Im A B*. Then the sign convention of Stokes V, and the kind of the feed. */
enum polarisation {
    POLARISATION_SEPARATE,
    POLARISATION_I,
    POLARISATION_IQUV,
    POLARISATION_COHERENCY
};
enum stokes_v { STOKES_V_IAU, STOKES_V_PSR };
enum feed { FEED_AUTO, FEED_LINEAR, FEED_CIRCULAR };

/* How Stokes parameters are made of two polarisations (dsp/stokes.h). */
struct stokes {
    enum feed feed; /* LINEAR, CIRCULAR; AUTO: by the polarisations' names */
    int is_swapped; /* A, the first polarisation, is Y or L, and B is X or R */
    enum stokes_v v;
};

/* Ifs of power that polarisations, stations and beams become. */
struct combining {
    enum polarisation polarisation;
    struct stokes stokes;          /* of IQUV */
    int sums_stations, sums_beams; /* these are added up, times */
    const double *weights;         /* [nweights]; of both: [stations][beams]; NULL: 1 */
    uint32_t nweights;
};

/* Cells of spectra whose power is flagged (product/flagged.h). */
struct flagging {
    int is_on, has_kurtosis;
    double sigma;     /* kurtosis beyond it is flagged; 0: it is only stored */
    uint64_t spectra; /* of a cell, which divide those of a dump */
};
/* polarisation_name(), stokes_v_name(), feed_name(): return the name of a value, which is one of
 * its enum, as job files spell it. The texts are static. */
const char *polarisation_name(enum polarisation polarisation);
const char *stokes_v_name(enum stokes_v v);
const char *feed_name(enum feed feed);

/* Kinds of products: those of a filter bank, those that a job may list, and all. Columns: an id,
 * its name, the quantity of its rows, and whether it is a filterbank (FBH5), which can be
 * dedispersed. NAME_kind in product/kind/ has the rest (product/kind/kinds.h). */
#define PRODUCT_KINDS_OF_BANK(KIND)                                                                \
    KIND(SPECTRA, spectra, QUANTITY_SPECTRA, 0)                                                    \
    KIND(POWER, power, QUANTITY_POWER, 1)
#define PRODUCT_KINDS_OF_JOB(KIND)                                                                 \
    PRODUCT_KINDS_OF_BANK(KIND)                                                                    \
    KIND(VOLTAGES, voltages, QUANTITY_VOLTAGES, 0)                                                 \
    KIND(VISIBILITIES, visibilities, QUANTITY_VISIBILITIES, 0)
#define PRODUCT_KINDS(KIND)                                                                        \
    PRODUCT_KINDS_OF_JOB(KIND)                                                                     \
    KIND(DEDISPERSED, dedispersed, QUANTITY_SERIES, 0)                                             \
    KIND(CANDIDATES, candidates, QUANTITY_PEAKS, 0)

#define PRODUCT_KIND_ID(id, name, quantity, is_filterbank) PRODUCT_##id,
enum product_kind { PRODUCT_KINDS(PRODUCT_KIND_ID) };

/* The products' format_version: what is written, and since when `tstart` is the leading edge of the
 * first dump (before, it was the dump's centre), and every product has /provenance/objects. */
enum { PRODUCT_VERSION = 3, PRODUCT_VERSION_OF_EDGES = 3, PRODUCT_VERSION_OF_OBJECTS = 3 };

/* Quantity along a dimension of a dataset of voltages. */
enum axis {
    AXIS_TIME,
    AXIS_STATION,
    AXIS_BEAM,
    AXIS_POL,
    AXIS_CHAN,
    AXIS_REIM, /* real and imaginary part */
    AXIS_KINDS
};

/* axis_name(), window_name(), normalise_name(), order_name(), backend_name(), kernel_name(),
 * fft_name(), planning_name(), filter_method_name(), product_name(): return the name of a value,
 * which is one of its enum, as job files and archives spell it. The texts are static.
 * product_quantity(): returns the quantity of the product's rows. product_is_filterbank(): returns
 * 1 if the product is a filterbank (FBH5), else 0. */
const char *axis_name(enum axis axis);
const char *window_name(enum window_kind kind);
const char *normalise_name(enum normalise normalise);
const char *order_name(enum channel_order order);
const char *backend_name(enum backend_kind kind);
const char *kernel_name(enum kernel_kind kind);
const char *fft_name(enum fft_kind kind);
const char *planning_name(enum fft_planning planning);
const char *filter_method_name(enum filter_method method);
const char *product_name(enum product_kind kind);
enum quantity product_quantity(enum product_kind kind);
int product_is_filterbank(enum product_kind kind);
/* Finds the kind of product that has this name, as product_name() gives it. Returns 1; 0 if there
 * is none, and leaves *out unchanged. */
int product_kind_named(const char *name, enum product_kind *out)
    __attribute__((warn_unused_result));

/* The same names in the order of their enums; NULL after the last. */
extern const char *const normalise_names[], *const order_names[], *const backend_names[];
extern const char *const kernel_names[], *const fft_names[], *const planning_names[];
extern const char *const filter_method_names[];
extern const char *const window_names[], *const quantity_names[];
extern const char *const polarisation_names[], *const stokes_v_names[], *const feed_names[];

/* Packings: name, bits (0: nibbles), is_offset, high_is_real; with something between. */
/* clang-format off */
#define PACKINGS_OF_NIBBLES(row, and) \
    row("4+4 offset hi=re", 0, 1, 1) and row("4+4 offset lo=re", 0, 1, 0) and \
    row("4+4 two's complement hi=re", 0, 0, 1) and row("4+4 two's complement lo=re", 0, 0, 0)
#define PACKINGS_BELOW_8(row, and) \
    row("1 bit", 1, 1, 0) and row("2 bit offset", 2, 1, 0) and \
    row("2 bit two's complement", 2, 0, 0) and row("4 bit offset", 4, 1, 0) and \
    row("4 bit two's complement", 4, 0, 0)
#define PACKINGS_FROM_8(row, and) row("8 bit offset", 8, 1, 0) and row("16 bit offset", 16, 1, 0)
#define PACKING_TEXT(name, bits, is_offset, high_is_real) "\"" name "\""
#define PACKING_TEXTS /* for messages */ \
    "one of " PACKINGS_OF_NIBBLES(PACKING_TEXT, ", ") ", " PACKINGS_BELOW_8(PACKING_TEXT, ", ") \
    " (these also followed by \"high first\"), " PACKINGS_FROM_8(PACKING_TEXT, ", ")
/* clang-format on */

/* Reads the name of a packing (PACKING_TEXTS lists them), also "4 bit two's complement high first".
 * Returns 1; 0 if the text is none, and *out is then undefined. */
int packing_parse(const char *text, struct packing *out) __attribute__((warn_unused_result));

/* Returns the name of a packing that packing_parse() reads, without " high first". The text is
 * static. */
const char *packing_name(const struct packing *packing);

#endif
