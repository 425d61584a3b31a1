/* GUPPI RAW: what the headers of a file's blocks say. Private to the files guppi*.c. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_RECORDER_GUPPI_H
#define VOLTMILL_ARCHIVE_FORMAT_RECORDER_GUPPI_H

#include "archive/format/recorder/ascii.h"
#include "archive/format/recorder/recorder.h"

/* What is the same in each block of a file. */
struct guppi {
    uint64_t block_bytes;
    uint32_t stations, channels; /* of each station */
    uint32_t pols, bits;
    int is_complex;
    int is_time_first; /* PKTFMT SIMPLE: [time][chan][pol]; else [station][chan][time][pol] */
    double seconds;    /* from sample to sample */
    double centre_hz, width_hz;
    uint64_t step_bits;     /* of a time step of all streams */
    uint64_t stored, steps; /* samples of a block; without those that the next one repeats */
    int has_start;
    struct utc start;       /* of packet `begin` */
    uint64_t begin;         /* PKTSTART */
    uint64_t block_packets; /* PIPERBLK: by how much PKTIDX grows in a block; 0: not said */
    uint64_t packet_bytes;  /* PKTSIZE; 0: not said */
};

struct guppi_block {
    uint64_t at;     /* of its samples in the file */
    uint64_t packet; /* PKTIDX */
    uint64_t first;  /* sample of the file */
};

struct guppi_blocks {
    struct guppi_block *items; /* at least one, ascending */
    size_t count, room;
    uint64_t held; /* bytes of the last one that are in the file */
    double before; /* samples from packet `begin` to the first block */
};

/* The words of the first header. Fails with DATA. */
status_t guppi_read_words(const struct ascii *header, struct guppi *out);

/* Fails with DATA unless a header says the same as the first one in all that must not change. */
status_t guppi_compare_words(const struct ascii *first, const struct ascii *header);
/* Whether a card is of such a word. */
int guppi_watches(const char *card);

/* Goes from header to header through an open file. Reads the words of the first, compares the
 * others, and finds which samples each block holds. Fails with DATA. The items are to be freed in
 * any case. `first`: the text of the first header, for text_free(). */
status_t guppi_find_blocks(const char *path, int fd, uint64_t file_bytes, struct guppi *guppi,
                           struct guppi_blocks *blocks, struct text *first);

/* Fills in the part's runs and the archive's gaps: blocks at equal distances that go on without one
 * are a run. What two blocks hold is taken from the first. The runs end with what the next file
 * would repeat, beyond the part's samples. Fails with DATA or DEVICE. */
status_t guppi_add_runs(const struct guppi *guppi, const struct guppi_blocks *blocks,
                        struct archive *archive);

/* The last block when the file ends within it: whole coarse channels may be there, or with SIMPLE
 * the first samples of all; the rest is lost. Fails with DEVICE. */
status_t guppi_find_torn(const struct guppi *guppi, const struct guppi_blocks *blocks,
                         struct archive *archive);

/* Of joined files: what the next one repeats is left out of each file's runs; nothing repeats the
 * end of the last block, which is taken, too. Fails with DEVICE. */
status_t guppi_end_runs(struct archive *archive);

#endif
