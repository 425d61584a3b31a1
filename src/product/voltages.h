/* Writing an observation in the native layout (docs/archives.md): one contiguous dataset whose
 * samples are filled in by plain writes. Uses HDF5. */
#ifndef VOLTMILL_PRODUCT_VOLTAGES_H
#define VOLTMILL_PRODUCT_VOLTAGES_H

#include "base/terms.h"
#include "input/sky.h"

#include <hdf5.h>

struct voltages_axis {
    uint32_t count;
    int is_there;       /* even of length 1; pol and chan always are */
    char *const *names; /* [count]; NULL: none */
};

/* Numbers that are written with fewer bits than they are handed out with
 * (input/read/numbers.h): the fewest that hold every one of them exactly. */
struct voltages_packing {
    uint32_t bits;             /* of one as it is written: 1, 2, 4, 8, 16; 0: nothing is packed */
    enum sample_format format; /* as they are handed out */
    int is_time_inner;         /* [station][beam][pol][chan][reim][time]: a time step of all streams
                                  is no whole number of bytes */
    const char *name;          /* of the packing; NULL: unsigned integers less `offset` */
    double offset;
    uint32_t step;  /* of numbers as they are handed out from one stored number to the next */
    double scale;   /* of the file: volts of 1 as it is stored, or as its levels say */
    double missing; /* the stored number that means "no sample", if there is one */
    int has_levels; /* other than those of the name */
    double levels[16] /* ascending; of bits below 8 */;
    int is_signed; /* in two's complement: else level k is stored as k */
};

/* Gaps: first sample, count, stream; by stream, ascending. */
struct voltages_gaps {
    uint64_t (*rows)[3];
    size_t count;
    int has_streams; /* else all streams have the same gaps, which are listed once, as stream 0 */
};

struct voltages_spec {
    uint64_t samples;
    struct voltages_axis axes[AXIS_KINDS]; /* of AXIS_STATION, AXIS_BEAM, AXIS_POL, AXIS_CHAN */
    enum sample_format format;
    const struct voltages_packing *packing; /* NULL, or of 0 bits: none */
    const struct nibbles *nibbles;          /* of SAMPLE_I4; NULL: "4+4 two's complement hi=re" */
    int has_missing_value;
    double missing_value; /* the stored number that means "no sample" */
    int is_complex;
    double scale; /* volts of 1 as it is stored; 1: format_version 1, else 2 */
    double sample_rate_hz;
    int sideband;            /* +1, -1 */
    struct ratio oversample; /* 0, 0: none */
    const double *freq_hz;   /* [chans] */
    struct voltages_gaps gaps;
    struct sky sky;
    const double (*itrf_m)[3]; /* [stations] positions, ITRF; NULL: unknown */
    const double *reference_m; /* [3] where the array's delays are 0; NULL: unknown */
};

/* Place of the file's samples: at data_offset, [time][station][beam][pol][chan][re, im], or as
 * their packing says. */
struct voltages_place {
    uint64_t data_offset;
    uint64_t step_bytes; /* of all streams at one time, before they are packed */
    uint64_t file_bytes;
};

/* Writes the open file anew, all but the samples, whose space is not reserved, and sets *place to
 * where they are. `path` names it in messages. It has MARK_SYNTH (io/mark.h) until mark_hdf5().
 * `fd` below 0: only computes the places (`path` may be NULL). Nothing is synced. Main thread only.
 * Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t voltages_create(int fd, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place);

struct archive;
struct loss;

/* Creates, as voltages_create() but with MARK_IMPORT, a copy of an archive's selected streams and
 * samples, as its reader returns them (input/read/reader.h), packed by `packing`
 * (voltages_find_packing(), of 0 bits too): numbers, frequencies and names are kept; the samples
 * come later by plain writes. `path` names the file in messages. Main thread only. `fd` below 0:
 * only computes the places. voltages_add_gaps() fills the reserved /gaps after that. Fails with
 * DATA, NO_SPACE, DEVICE (memory). */
status_t voltages_create_copy(int fd, const char *path, const struct archive *archive,
                              const struct voltages_packing *packing, struct voltages_place *place);

/* Finds how the archive's selected numbers are packed: the same on every rank; reads no file. *out
 * has 0 bits where they are written as they are handed out; its scale and missing value are set in
 * any case. Cannot fail. */
void voltages_find_packing(const struct archive *archive, struct voltages_packing *out);

/* Packs `count` numbers of packing->format, each `stride` bytes after the one before, into whole
 * bytes from `out` on, [ceil(count x bits / 8)], the first in the low bits; of 16 bits the low byte
 * first. packing->bits is not 0. Remaining bits of the last byte are 0. A value that no stored
 * number can represent, such as the zeros in gaps, becomes one near it. */
void voltages_pack(const struct voltages_packing *packing, const char *in, size_t stride,
                   uint64_t count, unsigned char *out);

/* Adds gaps, losses [count], to a file of voltages_create_copy() that is complete but for them:
 * samples that all streams (LOSS_OF_ALL), or some of the nstreams, lack. Call it without losses,
 * too: it removes the reserved /gaps. Samples and streams are numbered as in the file; losses come
 * in any order, which changes, and may overlap. The mark stays, `fd` stays open, and nothing is
 * synced. `path` is for messages. Main thread only. Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t voltages_add_gaps(int fd, const char *path, struct loss *losses, size_t count,
                           uint32_t nstreams);

/* Frees gaps->rows; the members keep their values: call it once. */
void voltages_gaps_free(struct voltages_gaps *gaps);
/* Appends a gap of `count` samples from sample `first` on, of stream number `stream`, all from 0.
 * Fails with DEVICE (memory); the gaps are unchanged then. */
status_t voltages_add_gap(struct voltages_gaps *gaps, uint64_t first, uint64_t count,
                          uint64_t stream);

/* Returns the description of an archive's selected streams, which points into the archive; its
 * start is that of the first selected sample. Not set: samples, format, packing, nibbles, scale,
 * gaps, missing value, names, frequencies and positions of stations. */
struct voltages_spec voltages_of_archive(const struct archive *archive);

/* Writes everything that `spec` states into a new file that is open for HDF5, with the names,
 * frequencies and positions of the archive's selected streams, and the coherent dedispersion of its
 * filters. Main thread only. /voltages has no place yet: h5_place_last() gives it one. Fails with
 * DATA, NO_SPACE, DEVICE (memory). */
status_t voltages_describe_streams(hid_t file, const struct archive *archive,
                                   struct voltages_spec spec);

#endif
