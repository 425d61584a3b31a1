/* Frames of a file that were looked at, kept from one read to the next: what is read of a file
 * moves on, and whatever is looked for around it has mostly been seen. Their headers, and, where
 * this machine can show them as memory, all of their bytes. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_PACKETS_KEPT_H
#define VOLTMILL_ARCHIVE_PACKETS_KEPT_H

#include "input/packets/packets.h"
#include "io/mapping.h"

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
    struct packet *items; /* [room] */
    char *places;         /* [room]: of frames judged_low .. judged_high - 1 */
    uint64_t room;
    uint64_t judged_low, judged_high;
    struct packets_stretch stretches[PACKETS_STRETCHES]; /* one behind the other */
    uint32_t nstretches;
    uint64_t frame_bytes;
    int is_huge; /* what is kept no more will not be wanted again: the system need not keep it */
};
void packets_kept_free(struct packets_kept *kept);

/* Reads the headers of frames low .. high - 1 of a file, whose open->kept it is, and of those
 * around them. Then these are
 *
 *   headers   struct packet [high - low]
 *   places    char [high - low], as packets_judge() says
 *
 * until the next call. Fails with DATA, and DEVICE (memory). */
status_t packets_keep(const struct packets_open *open, uint64_t low, uint64_t high,
                      const struct packet **headers, const char **places);

/* Where the bytes of a frame that is kept are in memory; NULL: they must be read. */
const unsigned char *packets_kept_bytes(const struct packets_kept *kept, uint64_t frame);

/* Whether bytes that were shown as memory were not there any more: then none is shown until the
 * next packets_keep(), and what was made of them is to be made again. */
int packets_kept_drop_cut(struct packets_kept *kept);

#endif
