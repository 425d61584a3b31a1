/* Recorders' packets: files of frames of one length, each with a header that says of what time and
 * thread its samples are.
 *
 * Opening a file reads the headers of its first and last frames and of some in between: a recording
 * may be a terabyte. Every other header is read with its samples. The fate of each frame depends on
 * the file alone, whatever samples are read at a time:
 *
 * - Frames follow each other from the first one on. Where the sampled headers show bytes between
 *   them, or bytes that are missing, the file is scanned (sync.h), and its frames are in runs.
 * - A frame's period is its time in frames from the observation's first. Later frames of a file are
 *   of later periods, except within `window`. A frame is out of place, and not used, if it is of an
 *   earlier period than the median of the PACKETS_AROUND before it less the window, or of a later
 *   one than the median of those after it and the window. Where only one of a side has a period,
 *   the other side decides. Near the ends of a file, where one side is short, a frame also needs
 *   two neighbours whose periods are near its own.
 * - Where the time falls by more than twice the window for good, the file is in no order: an error.
 *   So all frames within twice the window of a period are beside each other.
 * - Of several frames of one period and thread the first that is good is used.
 * - A frame that is flagged, is filled with a recorder's pattern, or is missing is a loss of its
 *   streams. No field of a flagged frame is used.
 * - A frame that contradicts the others (bits, channels, station, tuning) alone is damaged, a loss.
 *   Two of them within PACKETS_AROUND frames are an error.
 *
 * Streams come out in [stream][time], or with [reim] after that: the archive's dimensions are pol,
 * chan, time and reim. */
#ifndef VOLTMILL_INPUT_PACKETS_PACKETS_H
#define VOLTMILL_INPUT_PACKETS_PACKETS_H

#include "base/terms.h"
#include "io/mapping.h"
#include "io/pack.h"

enum {
    PACKETS_AROUND = 5,
    PACKETS_THREADS = 1024,
    PACKETS_MOST_HEADER = 32,
    PACKETS_GROUP = 9,  /* frames that are read together, so that a wrong time misleads nothing */
    PACKETS_LOOKS = 64, /* groups all over a file whose headers are read when it is opened */
    PACKETS_GROUPS = 64 /* bits of packet.groups */
};

enum packets_kind { PACKETS_VDIF, PACKETS_DRX, PACKETS_LOFAR };

/* Bytes that all headers of a file have in common. */
enum { PACKETS_MARK = 16 };
struct packets_mark {
    unsigned char value[PACKETS_MARK];
    unsigned char strict[PACKETS_MARK];  /* mask: bits that make a header, wherever it is */
    unsigned char loose[PACKETS_MARK];   /* mask: those that do where one is expected */
    unsigned char invalid[PACKETS_MARK]; /* mask: a flag that makes the others meaningless */
    uint32_t needle;                     /* the 4 bytes from here on are all strict */
};

/* Frames from `frame` on, up to the next run's, are one after the other from `offset` on. */
struct packets_run {
    uint64_t frame, offset;
};

struct packets_file {
    char *path; /* one of the part's sources */
    uint64_t frames;
    struct packets_run *runs; /* at least one */
    uint32_t nruns;
    uint64_t scanned;                       /* frames from here on were found by a scan */
    int64_t first, last;                    /* periods: all of its frames are in between */
    uint64_t threads[PACKETS_THREADS / 64]; /* bits of those seen (LOFAR: the board); none: DRX */
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
    uint32_t samples;          /* of each stream in a frame */
    uint32_t channels, bits;   /* `bits` of a number, 1, 2, 4, 8, 16 or 32 */
    uint32_t block;            /* of these channels stand beside each other, [block][time][channel
                                  of it], as LOFAR's polarisations; 0: all of them */
    int is_complex, is_legacy; /* legacy: VDIF with headers of 16 bytes */
    uint32_t mask_bits;        /* VDIF: EDV 4, of the mask of valid channels; 0: there is none */
    double stated_rate_hz;     /* VDIF: of all headers, as vdif_header has it */
    int is_packed;             /* complex samples come out as they are, two in a byte */
    enum sample_format format; /* of the numbers that come out */
    uint64_t rate;             /* VDIF: frames a second; DRX: 1 / decimation; LOFAR: MHz */
    uint64_t origin;           /* VDIF: frames, DRX: ticks, LOFAR: samples, to period 0 */
    uint64_t periods;          /* of the observation */
    uint64_t window;           /* periods */
    struct packets_mark mark;
    uint32_t station;               /* VDIF, LOFAR: its id; DRX: the beam */
    int has_others;                 /* frames of other stations are skipped */
    int has_list;                   /* frames of other threads are skipped */
    struct packets_thread *threads; /* in no order */
    uint32_t nthreads;
    struct packets_stream *streams; /* as the archive numbers them: by pol, chan */
    uint32_t nstreams;
    struct packets_file *files; /* by their first frames */
    uint32_t nfiles;
    int16_t place[PACKETS_THREADS]; /* of an id in `threads`; -1: none */
};

extern const struct pack_type packets_type;

/* Content of a header. */
struct packet {
    int is_known;    /* a frame of the observation; else of another, or what fills a lost place */
    int is_good;     /* some of its samples are good */
    int is_absent;   /* no frame begins there, as far as its own bytes tell */
    int is_contrary; /* it contradicts what is known of all frames */
    int is_beyond;   /* VDIF: known, but its number is beyond those of a second */
    uint32_t thread; /* its place in `threads` */
    int64_t period;
    uint64_t groups; /* bits of the groups of channels that are good: frames_group() */
};

/* A file that is open. */
struct packets_open {
    const struct packets *packets;
    const struct packets_file *file;
    int fd;
    struct packets_kept *kept; /* headers that were looked at before; may be NULL */
};

/* Reads the header of a frame (by its number from 0) that is contrary or beyond (struct packet).
 * Always fails with DATA: the message says why it is, or that it is unreadable. */
status_t packets_complain(const struct packets_open *open, uint64_t frame);

/* The fate of a frame, by its period and those of PACKETS_AROUND frames on either side, as far as
 * the file has them. */
enum packets_place {
    PACKETS_OUT,  /* not used */
    PACKETS_IN,   /* in place */
    PACKETS_WRONG /* an error: packets_complain() reports which */
};

/* Sets *end to the number (from 0) of the frame after the last one that is known or contrary; to 0
 * if none is. Fill may follow, up to the reserved size of the file. Fails with DATA if a header is
 * unreadable; *end is undefined then. */
status_t packets_known_end(const struct packets_open *open, uint64_t *end);

/* Finds the first and last period of the file, by its first and last frames in place. A period is
 * the time in lengths of a frame from the observation's origin. Warns of a contrary frame. Fails
 * with DATA if no frame is in place, one is PACKETS_WRONG, a header is unreadable, or bytes were
 * inserted or removed among the frames; with DEVICE (memory); *first and *last are unchanged then.
 */
status_t packets_span(const struct packets_open *open, int64_t *first, int64_t *last);

/* Checks that the times of sampled frames never fall by more than twice the window through the
 * file. Fails with DATA if they do, a header is unreadable, or bytes were inserted or removed among
 * the frames; with DEVICE (memory). */
status_t packets_check_order(const struct packets_open *open);

/* Finds the frames (numbers from 0) low .. high - 1 of a file that contain all frames of periods
 * first .. last in place, and few more, by the headers of some; open->file->first and last must be
 * known. Fails with DATA (unreadable, or bytes were inserted or removed among the frames), DEVICE
 * (memory); *low and *high are undefined then. */
status_t packets_find(const struct packets_open *open, int64_t first, int64_t last, uint64_t *low,
                      uint64_t *high);

enum { PACKETS_STRETCHES = 12 };

/* Frames first .. end - 1 in memory. */
struct packets_stretch {
    mapping_t *mapping;
    uint64_t first, end;
};

/* Frames first .. first + count - 1 of a file. Starts from {0}. */
struct packets_kept {
    const char *path; /* the part's own; NULL: nothing is kept */
    uint64_t first, count;
    struct packet *items;
    char *places; /* of frames judged_low .. judged_high - 1 */
    uint64_t judged_low, judged_high;
    struct packets_stretch stretches[PACKETS_STRETCHES]; /* one after the other */
    uint32_t nstretches;
    uint64_t frame_bytes;
    int is_huge; /* frames that are dropped are dropped from the system's cache, too */
};
/* Frees all that is kept, unmaps its stretches, and leaves {0}. */
void packets_kept_free(struct packets_kept *kept);

/* Reads the headers of frames (numbers from 0) low .. high - 1 of a file, and of PACKETS_AROUND on
 * either side, into open->kept, which must not be NULL. Those that it has are not read again, as
 * long as `low` does not fall. Then these are
 *
 *   headers   struct packet [high - low]
 *   places    char [high - low], enum packets_place
 *
 * until the next call; they belong to open->kept. low < high, at most the file's frames. Fails with
 * DATA (unreadable, or bytes were inserted or removed among the frames), DEVICE (memory); *headers
 * and *places are unchanged then. */
status_t packets_keep(const struct packets_open *open, uint64_t low, uint64_t high,
                      const struct packet **headers, const char **places);

/* Returns the bytes of a frame (by its number from 0) that is kept in memory, frame_bytes of them,
 * valid until the next call that changes `kept`; NULL: they must be read. */
const unsigned char *packets_kept_bytes(const struct packets_kept *kept, uint64_t frame);

/* Returns 1 if mapped bytes are gone because the file was truncated, else 0. If they are, all are
 * unmapped, none is mapped until the next packets_keep(), and results made from them are invalid.
 */
int packets_kept_drop_cut(struct packets_kept *kept);

#endif
