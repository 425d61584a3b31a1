/* Recorders' packets: files of frames of one length, each with a header that says of what time and
 * thread its samples are.
 *
 * What is known of such files is found when they are opened, from their first and last frames and
 * some in between: a recording may be a terabyte. Every other header is looked at when its samples
 * are read. So the fate of each frame depends on the file alone, whatever samples are read at a
 * time:
 *
 * - A frame's period is its time in frames from the observation's first. Later frames of a file are
 *   of later periods, but for `window` of them: a frame of an earlier period than the median of the
 *   PACKETS_AROUND before it less the window, or of a later one than that of those behind it and
 *   the window, is out of place: it is not used, as if it were not there.
 * - Where the time falls by more than twice the window for good, the file is in no order: an error.
 *   So whatever lies twice the window before a frame, or behind it, is found beside it.
 * - Of several frames of one period and thread the first that is good is used.
 * - A frame that is flagged, is filled with a recorder's pattern, or is not there is a loss of its
 *   streams. One that contradicts the file's first ones is an error: length, bits, channels,
 *   station, tuning.
 *
 * Streams come out in [stream][time], or with [reim] behind that: the archive's dimensions are pol,
 * chan, time and reim. */
#ifndef VOLTMILL_ARCHIVE_PACKETS_PACKETS_H
#define VOLTMILL_ARCHIVE_PACKETS_PACKETS_H

#include "base/terms.h"
#include "io/pack.h"

enum { PACKETS_AROUND = 5, PACKETS_THREADS = 1024, PACKETS_MOST_HEADER = 32 };

enum packets_kind { PACKETS_VDIF, PACKETS_DRX };

/* A file; its frames follow each other from its first byte on. */
struct packets_file {
    char *path; /* one of the part's sources */
    uint64_t frames;
    int64_t first, last; /* periods: all of its frames lie in between */
};

/* A stream of the archive. */
struct packets_stream {
    uint32_t thread; /* its place in `threads` */
    uint32_t channel;
    uint32_t is_conjugated;  /* samples become their complex conjugates */
    uint32_t is_alternating; /* the signs of samples 1, 3, 5 ... of the observation are turned: real
                                ones have their band turned round, the edge of complex ones comes
                                to the centre */
};

struct packets_thread {
    uint32_t id;
    uint32_t tuning; /* DRX: its tuning word */
    uint64_t behind; /* VDIF: seconds that its clock is behind those of other threads */
};

struct packets {
    enum packets_kind kind;
    uint64_t header_bytes, frame_bytes;
    uint32_t samples;               /* of each stream in a frame */
    uint32_t channels, bits;        /* `bits` of a number, 1, 2, 4, 8 or 16 */
    int is_complex, is_legacy;      /* legacy: VDIF with headers of 16 bytes */
    int is_packed;                  /* complex samples come out as they are, two in a byte */
    enum sample_format format;      /* of the numbers that come out */
    uint64_t rate;                  /* VDIF: frames a second; DRX: 1 / decimation */
    uint64_t origin;                /* VDIF: frames, DRX: ticks, from the epoch to period 0 */
    uint64_t periods;               /* of the observation */
    uint64_t window;                /* periods */
    uint32_t station;               /* VDIF: its id; DRX: the beam */
    int has_others;                 /* frames of other stations are passed over */
    int has_list;                   /* frames of other threads are passed over */
    struct packets_thread *threads; /* in no order */
    uint32_t nthreads;
    struct packets_stream *streams; /* as the archive numbers them: by pol, chan */
    uint32_t nstreams;
    struct packets_file *files; /* by their first frames */
    uint32_t nfiles;
    int16_t place[PACKETS_THREADS]; /* of an id in `threads`; -1: none */
};

extern const struct pack_type packets_type;
void packets_free(struct packets *packets);

/* What a header says. */
struct packet {
    int is_known; /* a frame of the observation; else of another, or what fills a lost place */
    int is_good;  /* its samples are good */
    int64_t period;
    uint32_t thread; /* its place in `threads` */
};

/* Reads the header of a frame that lies at `offset` of the file. Fails with DATA: file, offset,
 * both values, where it contradicts what is known. */
status_t packets_parse(const struct packets *packets, const char *path, uint64_t offset,
                       const unsigned char *header, struct packet *out);

/* A file that is open. */
struct packets_open {
    const struct packets *packets;
    const char *path;
    int fd;
    uint64_t frames;
    struct packets_kept *kept; /* headers that were looked at before; may be NULL */
};

/* Reads the headers of frames first .. first + count - 1, those that are not kept one by one. Fails
 * with DATA. */
status_t packets_read_headers(const struct packets_open *file, uint64_t first, uint64_t count,
                              struct packet *out);

/* Those of frames low .. high - 1 that are in place, out of frames first .. first + count - 1,
 * which include PACKETS_AROUND more on either side, as far as the file has them.
 *
 *   in_place   char [high - low]   */
void packets_judge(const struct packets *packets, const struct packet *frames, uint64_t first,
                   uint64_t count, uint64_t low, uint64_t high, char *in_place);

/* The first and last period of the file, by its first and last frames. Fails with DATA: none is
 * known. */
status_t packets_span(const struct packets_open *file, int64_t *first, int64_t *last);

/* Fails with DATA when the times of some frames all over the file do not rise. */
status_t packets_check_order(const struct packets_open *file);

/* The frames low .. high - 1 that hold all of periods first .. last that are in place, and not many
 * more. Fails with DATA. */
status_t packets_find(const struct packets_open *file, int64_t first, int64_t last, uint64_t *low,
                      uint64_t *high);

#endif
