/* Headers of LWA's DRX packets, bit by bit; those of DRX8 are the same. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_PACKETS_DRX_HEADER_H
#define VOLTMILL_ARCHIVE_PACKETS_DRX_HEADER_H

#include "input/packets/packets.h"

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
    int is_packet;     /* it begins with the sync word */
    uint32_t beam, id; /* id: 2 tuning + pol, both from 0 on */
    uint32_t decimation;
    uint32_t offset; /* ticks that the tag is late */
    uint64_t tag;    /* of the first sample, ticks of 1 / DRX_TICKS s since 1970 */
    uint32_t tuning; /* frequency = DRX_TICKS tuning / 2^32 Hz */
};

void drx_header_read(const unsigned char *bytes, struct drx_header *out);

/* The mark of headers: the sync word; the strict one has a beam and a decimation as well. */
void drx_mark(const unsigned char *bytes, struct packets_mark *out);

/* packets_parse() of DRX. */
status_t drx_parse(const struct packets *packets, const char *path, uint64_t offset,
                   const unsigned char *header, struct packet *out);

#endif
