/* Numbers of packets as they come out: of one stream of one frame at a time. Private to input/.
 *
 * A frame holds [time][channel][re, im] numbers of 1, 2, 4, 8, 16 or 32 bits, from the low end of
 * each byte on, in offset binary (VDIF 1.1.1, for all widths). They become
 *
 *   1 bit    -1, +1                           int8
 *   2 bit    -3.3359, -1, +1, +3.3359         float: the levels of least loss for noise
 *   4 bit    v - 8                            int8, or two in a byte as they are stored
 *   8 bit    2 v - 255                        int16, of a scale of 1/2
 *   16 bit   v - 32768                        int16, or float where signs are turned
 *   32 bit   v - 2^31                         float
 *
 * DRX8 holds two's complement of 8 bits, which comes out as int8. */
#ifndef VOLTMILL_INPUT_PACKETS_DECODE_H
#define VOLTMILL_INPUT_PACKETS_DECODE_H

#include "input/packets/packets.h"

typedef struct decoder decoder_t;

/* Sets is_packed and format by what streams, bits and is_complex are. Returns the scale: volts of 1
 * as it comes out, where a step of what is stored is 1. */
double decode_settle_format(struct packets *packets);

/* Fails with DEVICE (memory). The packets must outlive it. */
status_t decoder_create(const struct packets *packets, decoder_t **out);
void decoder_destroy(decoder_t *decoder);

/* Decodes samples from .. from + count - 1 of a stream in a frame, whose payload begins at
 * `payload`. `is_odd`: sample 0 of the frame has an odd number in the observation. */
void decode_stream(const decoder_t *decoder, const unsigned char *payload, uint32_t stream,
                   uint32_t from, uint32_t count, int is_odd, char *out);

#endif
