/* PSRDADA: what a header says, and the times in it. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_DADA_H
#define VOLTMILL_INPUT_FORMAT_DADA_H

#include "base/text.h"
#include "base/units.h"
#include "input/format/ascii.h"
#include "job/job.h"

enum { DADA_HEADER = 4096 /* bytes of a header, or a multiple */ };

struct dada {
    const char *path;
    struct ascii header;             /* whole */
    const struct job_layout *layout; /* the job's words, which go before the header's */
    char **assumed;                  /* about the file */
    uint64_t file_bytes, header_bytes;
    uint32_t pols, channels, bits;
    int is_complex, is_offset, big_endian;
    int is_upper;  /* sideband +1 within each channel, even if frequency falls between them */
    uint64_t heap; /* time steps of a heap, samples of which are ordered by `axes`; 0: no heaps */
    enum axis axes[3]; /* the slowest first */
    int is_dc_at_edge; /* of each channel, of complex samples */
    struct ratio oversample;
    double seconds, centre_hz, width_hz;
    uint64_t step_bits;
    uint64_t offset_steps; /* from the start of the observation to the file's first sample */
    int has_offset;
    uint64_t steps;
    uint64_t repeated; /* the last of these, which the next file of a sequence holds again */
    struct utc start;  /* of the observation */
    int has_start;
};

/* Appends the first bytes of a file, up to `most` bytes, to `out`, which is empty before. Keys in
 * lower case that PSRDADA has in capitals are put into capitals, and noted in *assumed unless
 * `assumed` is NULL. `out` stays empty if `path` is missing, or no ordinary file. Fails with DATA
 * if it is unreadable; with DEVICE (memory, descriptors). The caller frees `out` in any case. */
status_t dada_head(const char *path, size_t most, struct text *out, char **assumed);

/* Reads how samples are stored, rate and band from dada->header into members `pols` to `step_bits`,
 * and compares words that repeat each other; doubts go to *dada->assumed. path, layout, assumed and
 * the sizes of file and header are set before. Fails with DATA: file, key, value and what was
 * expected; with DEVICE (memory); these members are undefined then. */
status_t dada_read_words(struct dada *dada);

/* Reads dada->start, and sets has_start, from UTC_START (and PICOSECONDS after it) and MJD_START.
 * Both must agree as far as the coarser one says the time. Adds UTC_OFFSET_START_LEADING, in
 * seconds. Does nothing if the job states a start. One that is missing or no time is ignored where
 * the other one is a time; has_start is 0 if both are missing. Doubts go to *dada->assumed. Fails
 * with DATA: they differ, or PICOSECONDS and a fraction in UTC_START do; PICOSECONDS or the offset
 * is no number; one is no time, and the other is missing or none either; with DEVICE (memory). */
status_t dada_read_start(struct dada *dada);

/* Copies the value of a key as ascii_find() does, to `value`, which is not NULL; it is unchanged if
 * the key is missing. Returns 1; 0 if the key is missing, or its value empty, "unset" or "unknown".
 */
int dada_find(const struct ascii *header, const char *key, char value[ASCII_VALUE]);

#endif
