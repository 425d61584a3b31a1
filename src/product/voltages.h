/* Writing an observation in the native layout (docs/archives.md): one contiguous dataset whose
 * samples are filled in by plain writes. Uses HDF5. */
#ifndef VOLTMILL_PRODUCT_VOLTAGES_H
#define VOLTMILL_PRODUCT_VOLTAGES_H

#include "base/status.h"
#include "base/terms.h"
#include "base/units.h"
#include "io/apart/apart.h"

#include <stdint.h>

struct voltages_axis {
    uint32_t count;
    int is_there;       /* even of length 1; pol and chan always are */
    char *const *names; /* [count]; NULL: none */
};

struct voltages_spec {
    uint64_t samples;
    struct voltages_axis axes[AXIS_KINDS]; /* of AXIS_STATION, AXIS_BEAM, AXIS_POL, AXIS_CHAN */
    enum sample_format format;
    const struct nibbles *nibbles; /* of SAMPLE_I4; NULL: "4+4 two's complement hi=re" */
    int has_missing_value;
    double missing_value; /* the stored number that means "no sample" */
    int is_complex;
    double scale; /* volts of 1 as it is stored; 1: format_version 1, else 2 */
    double sample_rate_hz;
    int sideband;                                /* +1, -1 */
    uint32_t oversampling_num, oversampling_den; /* 0, 0: none */
    const double *freq_hz;                       /* [chans] */
    const uint64_t (*gaps)[2];                   /* [ngaps] first sample and count, ascending; or */
    const uint64_t (*stream_gaps)[3]; /* [ngaps] of single streams: first sample, count, stream; by
                                         stream, ascending */
    size_t ngaps;
    int has_start;
    struct utc start;               /* of sample 0 */
    const char *telescope, *source; /* NULL: unknown */
    int has_position;
    double ra_deg, dec_deg;
};

/* The file's samples lie at data_offset, [time][station][beam][pol][chan][re, im]. */
struct voltages_place {
    uint64_t data_offset;
    uint64_t step_bytes; /* of all streams at one time */
    uint64_t file_bytes;
};

/* Whether the file is in the native layout, finished or not: what a run that died leaves. */
int voltages_is_ours(const char *path);
extern const struct apart_task voltages_is_ours_task;

/* Writes `path` anew; NULL: only finds where things would lie. Fails with NO_SPACE or DATA. */
status_t voltages_create(const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place);

struct archive;
struct loss;

/* The same of an archive's selected streams and samples, as its reader hands them out
 * (archive/read/reader.h): numbers, frequencies and names are kept. Gaps come later. */
status_t voltages_create_copy(const char *path, const struct archive *archive,
                              struct voltages_place *place);

/* Gaps of a file that is complete but for them: samples that all streams lack, or some. Samples and
 * streams are numbered as in the file; losses come in any order, which changes, and may overlap.
 * Fails as voltages_create(). */
status_t voltages_add_gaps(const char *path, struct loss *losses, size_t count, uint32_t nstreams);

#endif
