/* An FFT there and back in place, for those who only scale what they find there: no order is put
 * right in between, no memory is needed beside the data, and every machine gives the same bits. */
#ifndef VOLTMILL_DSP_ROUND_TRIP_H
#define VOLTMILL_DSP_ROUND_TRIP_H

#include <stdint.h>

/* From `length` frequencies to samples, x(n) = sum_k data[k] exp(+2 pi i k n / length), length a
 * power of two up to 2^31:
 *
 *   data   [length][2] in: frequency k at place k; out: sample n at the place whose number is n
 * with its bits in reverse order
 */
void round_trip_there(uint32_t length, double (*data)[2]);
/* And back, times `length`. */
void round_trip_back(uint32_t length, double (*data)[2]);

/* The sample that lies behind sample n. */
uint32_t round_trip_next(uint32_t length, uint32_t n);

#endif
