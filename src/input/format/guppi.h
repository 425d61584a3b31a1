/* GUPPI RAW: what the headers of the blocks of all files say. Private to the files guppi*.c. */
#ifndef VOLTMILL_INPUT_FORMAT_GUPPI_H
#define VOLTMILL_INPUT_FORMAT_GUPPI_H

#include "input/format/ascii.h"
#include "input/format/recorder.h"

/* Properties that are the same in each block of a file. */
struct guppi {
    uint64_t block_bytes;        /* the last block may have less */
    uint32_t stations, channels; /* of each station */
    int are_beams;               /* these stations */
    uint32_t pols, bits;
    int is_float, is_complex;
    int is_vdif;       /* PKTFMT VDIF: numbers are as VDIF has them */
    int is_time_first; /* PKTFMT SIMPLE: [time][chan][pol]; else [station][chan][time][pol] */
    double seconds;    /* from sample to sample */
    double centre_hz, width_hz;
    uint64_t step_bits; /* of a time step of all streams */
    uint64_t stored;    /* samples of a block, */
    uint64_t overlap;   /* samples of it that the next block repeats */
    int has_start;
    struct utc start; /* of packet `begin` */
    int has_begin;
    uint64_t begin;         /* PKTSTART */
    uint64_t block_packets; /* PIPERBLK: by how much PKTIDX grows in a block; 0: not said */
    int has_packet_bytes;
    uint64_t packet_bytes; /* PKTSIZE; 0: not said */
};

/* Counts of packets as a header has them. */
struct guppi_counts {
    int has_received, has_dropped;
    double received, dropped; /* NPKT, NDROP */
    double expected;          /* DROPSTAT's denominator; 0: not said */
};

struct guppi_block {
    uint64_t at;     /* of its samples in the file */
    uint64_t stored; /* samples */
    uint64_t packet; /* PKTIDX */
    uint64_t first;  /* sample of the file */
    struct guppi_counts counts;
    uint32_t lost; /* the share of its packets, in 1 / LOST_WHOLE: of all, it is missing */
};

struct guppi_blocks {
    struct guppi_block *items; /* at least one, ascending */
    size_t count;
    int has_packets; /* headers have PKTIDX */
    uint64_t held;   /* bytes of the last one that are in the file */
    double each;     /* samples that PKTIDX counts as one; 0: unknown */
    double before;   /* samples from packet `begin` to the first block; below 0: it is earlier */
};

/* A file of the job. */
struct guppi_file {
    const char *path;
    const struct job_layout *layout; /* the job's words, which go before those of headers */
    struct archive *archive;         /* of one part; what is assumed about the file is noted here */
    struct guppi guppi;
    struct guppi_blocks blocks;
    struct ascii header; /* the first one */
    struct text text;    /* of it */
};

/* Reads the keys of a file's first header, file->header, into file->guppi; doubts go to the
 * archive's `assumed`. Fails with DATA: a key that is missing, stated twice with different values,
 * or without meaning; with DEVICE (memory). file->guppi is undefined then. */
status_t guppi_read_words(struct guppi_file *file);

/* Notes in the archive's `assumed` facts that the first header leaves open, or states twice, when
 * all blocks are known. Fails with DATA: a key that is no number; with DEVICE (memory). */
status_t guppi_note_words(struct guppi_file *file);

/* Compares a later header of a file with the first one, file->header. Takes the start from it if
 * those before mark theirs as invalid. Notes names of antennas that change in the archive's
 * `assumed`. Fails with DATA if a fact changes that must not; with DEVICE (memory). */
status_t guppi_compare_words(struct guppi_file *file, const struct ascii *header);
/* Returns 1 if a card (of ASCII_CARD characters) has a key that guppi_compare_words() compares,
 * else 0. */
int guppi_watches(const char *card);

/* Finds the blocks of a file of `file_bytes` bytes, open as `fd`, from header to header. Reads the
 * words of the first, and compares the others; sets file->guppi, blocks, header and text. Skips and
 * notes bytes that are no block; notes words as guppi_note_words() does; warns of a file that ends
 * with a header. The caller frees file->blocks.items and file->text in any case. Fails with DATA:
 * empty, unreadable, no header, blocks that are not alike; with DEVICE (memory). */
status_t guppi_find_blocks(int fd, uint64_t file_bytes, struct guppi_file *file);

/* Decides what PKTIDX counts, over the blocks of all files [count], and which samples each block
 * has: sets `first` of blocks, and `each` and `before` of files. Doubts go to the archives'
 * `assumed`. Fails with DATA: blocks that repeat, are out of order, or too far apart, or an OVERLAP
 * that contradicts PKTIDX; with DEVICE (memory). These members are undefined then. */
status_t guppi_place_files(struct guppi_file *files, size_t count);

enum { GUPPI_NEAR = 2 /* seconds: both may be whole ones */ };
/* Computes the time of a packet (PKTIDX) by SYNCTIME, which is that of PKTIDX 0 in Unix seconds.
 * *off: seconds between the start time (STT_) and it, never below 0. *off is NAN, and *out
 * undefined, if one of them, or the unit of PKTIDX, is unknown. Fails with DATA if SYNCTIME is no
 * number; both outputs are unchanged then. */
status_t guppi_sync_time(const struct guppi_file *file, uint64_t packet, struct utc *out,
                         double *off);

/* Computes the lost share (`lost`, in 1 / LOST_WHOLE) of each block from its count of dropped
 * packets, and notes doubtful counts in the archive's `assumed`. Fails with DEVICE (memory). */
status_t guppi_weigh_blocks(struct guppi_file *file);

/* Returns the samples of a block, without those that the next block repeats. */
uint64_t guppi_steps(const struct guppi *guppi, const struct guppi_block *block);

/* Returns the number of samples at the end of `file`, one of files [count], that the next one of a
 * sequence should repeat, but begins too late for. Returns 0 for the last file, without a start
 * time, and for files side by side. Call after guppi_place_files(). */
uint64_t guppi_unrepeated(const struct guppi_file *files, size_t count,
                          const struct guppi_file *file);

#endif
