/* Headers of VDIF frames (VLBI Data Interchange Format 1.1.1), LWA's DRX and LOFAR's stations, bit
 * by bit. Private to input/. */
#ifndef VOLTMILL_INPUT_PACKETS_PACKET_HEADERS_H
#define VOLTMILL_INPUT_PACKETS_PACKET_HEADERS_H

#include "base/units.h"
#include "input/packets/packets.h"

/* Returns the mark of headers of this kind that are like `bytes`, PACKETS_MARK or more of one.
 * VDIF: the strict one is the flags of word 0, and all of words 2 and 3 but the thread. DRX: the
 * sync word; the strict one has a beam and a decimation as well. LOFAR: what all boards of a
 * station have in common; the strict one has the board as well. */
struct packets_mark packets_mark_of(enum packets_kind kind, const unsigned char *bytes);

enum { VDIF_LEGACY_BYTES = 16, VDIF_BYTES = 32 };

struct vdif_header {
    int is_fill; /* no header: zeros, or a recorder's pattern */
    int is_invalid, is_legacy, is_complex;
    uint32_t epoch;      /* half years since 2000 */
    uint32_t unassigned; /* bits 30 and 31 of word 1, which should be 0 */
    uint32_t seconds;    /* since then, leap seconds counted */
    uint32_t frame;      /* of the second */
    uint64_t bytes;      /* of the frame, with its header */
    uint32_t channels_log2, bits, thread, station;
    uint32_t edv;       /* 0 of legacy ones */
    double rate_hz;     /* as EDV 1 and 3 say it: samples a second if complex, half of them if real;
                           else 0 */
    int has_mask;       /* EDV 4 (DiFX's vdifio): it says which channels are valid */
    uint32_t mask_bits; /* of EDV 4: 1 to 64, which divide the channels */
    uint64_t mask;      /* its lowest bits: the first channels */
};

/* Decodes a VDIF header into *out; checks nothing. `bytes` has VDIF_BYTES bytes, of which legacy
 * headers use VDIF_LEGACY_BYTES. */
void vdif_header_read(const unsigned char *bytes, struct vdif_header *out);

/* Writes the two characters of a station's id, or its number if they are not printable, to `text`.
 * Returns `text`. */
const char *vdif_station_name(uint32_t station, char text[UNITS_TEXT]);

/* vdif_epoch_utc(): returns the UTC of a reference epoch, counted in half years since 2000.
 * vdif_second(): returns the whole seconds, leap seconds counted, from 2000-01-01 to `seconds`
 * after such an epoch. */
struct utc vdif_epoch_utc(uint32_t epoch);
uint64_t vdif_second(uint32_t epoch, uint32_t seconds);

/* A packet's samples are 4 + 4 bits, two's complement, the real part in the high ones; or (DRX8,
 * lwa-project/lsl, lsl/reader/drx8.cpp) 8 + 8 bits, the real part first. */
enum {
    DRX_HEADER_BYTES = 32,
    DRX_BYTES = 4128,
    DRX8_BYTES = 8224,
    DRX_SAMPLES = 4096,
    DRX_TICKS = 196000000
};

struct drx_header {
    int is_packet;     /* it begins with the sync word, and is of tuning 1 or 2 */
    uint32_t beam, id; /* id: 2 tuning + pol, both from 0 on */
    uint32_t decimation;
    uint32_t offset; /* ticks that the tag is late */
    uint64_t tag;    /* of the first sample, ticks of 1 / DRX_TICKS s since 1970 */
    uint32_t tuning; /* frequency = DRX_TICKS tuning / 2^32 Hz */
};

/* Decodes the header of a DRX frame, DRX_HEADER_BYTES bytes, into *out; is_packet is 0 if they are
 * none. */
void drx_header_read(const unsigned char *bytes, struct drx_header *out);

/* A packet of a LOFAR station (udpPacketManager, src/lib/lofar_udp_general.h.in): [beamlet][time]
 * [pol][re, im], two's complement; of 4 bits the real part in the low ones. */
enum { LOFAR_HEADER_BYTES = 16, LOFAR_SAMPLES = 16, LOFAR_TAPS = 1024, LOFAR_POLS = 2 };

struct lofar_header {
    int is_packet; /* what it says can be */
    int is_error;  /* flagged: its samples are not to be used */
    uint32_t board, station, beamlets, bits;
    uint32_t clock_mhz;
    uint64_t bytes;  /* of the packet */
    uint64_t sample; /* the first one's number since 1970, LOFAR_TAPS clock cycles each */
};

/* Decodes the header of a LOFAR packet, LOFAR_HEADER_BYTES bytes, into *out; is_packet is 0 if they
 * are none. */
void lofar_header_read(const unsigned char *bytes, struct lofar_header *out);

/* Returns the byte of its file at which a frame, by its number from 0, begins. Frames of the file
 * have `frame_bytes` bytes. */
uint64_t frames_offset(uint64_t frame_bytes, const struct packets_file *file, uint64_t frame);

/* Returns the number, from 0, of the frame after the run of frames that follow each other, of which
 * `frame` is one. */
uint64_t frames_run_end(const struct packets_file *file, uint64_t frame);

/* Returns 1 if `bytes` [PACKETS_MARK] are a header by `mask`, the strict or the loose one of the
 * mark; else 0. */
int frames_is_header(const struct packets_mark *mark, const unsigned char *bytes,
                     const unsigned char mask[PACKETS_MARK]);

/* Returns the bit of a channel (from 0) in packet.groups, as a mask. Each channel has its own; of
 * more than 64 channels some share one. */
uint64_t frames_group(const struct packets *packets, uint32_t channel);

#endif
