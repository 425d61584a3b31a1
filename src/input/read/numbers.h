/* Numbers as files store them, made into those that are handed out: 8 or 16-bit integers, 32-bit
 * floating point, or bytes of 4 + 4 bits as they are.
 *
 * A format states how they are stored (archive->stored) and calls numbers_settle(). A reader makes
 * them with numbers_make(), and, where 0 Hz is at the edge of the coarse channel, turns every other
 * sample with numbers_turn(). */
#ifndef VOLTMILL_INPUT_READ_NUMBERS_H
#define VOLTMILL_INPUT_READ_NUMBERS_H

#include "input/archive.h"

/* Settles which numbers an archive hands out, when all else is known of them. They are stored
 *   as `number` states, missing_value being a stored number, if number.kind is not NUMBER_PLAIN,
 *   else as format, nibbles (of I4, whose missing_value is the byte) and swap_bytes state;
 * is_complex, is_compound and is_dc_at_edge count, too. Sets format, element_bytes and, where they
 * change, number, is_compound, swap_bytes, scale and the missing value.
 *
 * The format is I8 or I16 where that holds all numbers exactly (also turned, where 0 Hz is at the
 * edge: -128 becomes 128), else F32. 8 bits whose offset is half a step are handed out doubled:
 * `scale` becomes half of what it was. Where a missing value could be mistaken for a number that is
 * handed out, missing numbers become NaN. 4 + 4 bits whose 0 Hz is at the edge become a compound of
 * two. Fails with DATA: such numbers cannot be; a real sample has no 0 Hz at the edge. */
status_t numbers_settle(struct archive *archive);

/* Settles numbers of an archive whose stored numbers q are signed pairs, after numbers_settle(): q
 * times the parts' `steps` is volts. The numbers that are handed out become 32-bit floats; the
 * stored number `blank` becomes NaN. Fails with DATA if they are no compound pairs of signed
 * numbers of 8 or 16 bits, time outermost, without offset and missing value. */
status_t numbers_settle_steps(struct archive *archive, int32_t blank);

/* Numbers of a time step that are kept: of `each`, `kept` from `skipped` on. */
struct numbers_cut {
    uint64_t each, skipped, kept;
};

enum { NUMBERS_BYTES = 256, NUMBERS_IN_BYTE = 8 };

struct numbers {
    struct archive_number stored; /* of plain ones, too. If 4 + 4 bits are returned unchanged, both
                                     parts together are one number of 8 bits. */
    enum sample_format format;
    uint32_t bytes; /* as handed out */
    int is_plain;   /* as they are stored, byte for byte: numbers_make() only copies */
    int is_swapped, is_turned;
    uint32_t per_byte; /* numbers of a byte; 0: they are larger */
    /* [256][per_byte] as handed out: what a byte holds. */
    char table[NUMBERS_BYTES * NUMBERS_IN_BYTE * sizeof(float)];
};

typedef struct numbers numbers_t;

/* Creates the conversion for an archive after numbers_settle(), for numbers_destroy(). Fails with
 * DEVICE (memory), and leaves *out unchanged. */
status_t numbers_create(const struct archive *archive, numbers_t **out);
/* Creates the conversion of numbers stored like `stored`, which is copied, to a format that
 * represents all of them, for numbers_destroy(). Fails with DEVICE (memory), and leaves *out
 * unchanged. */
status_t numbers_create_as(const struct archive_number *stored, enum sample_format format,
                           numbers_t **out);
/* Frees a conversion; takes NULL. */
void numbers_destroy(numbers_t *numbers);

/* Makes `count` numbers, of which the first is stored `bit` bits after `from`: a multiple of
 * stored.bits, in the order of the numbers, not of the bits of a byte. `from` and `to` need not be
 * aligned and do not overlap. NaN and infinities stay what they are; 64-bit floats beyond those of
 * 32 bits become infinite.
 *
 *   to   [count] of numbers->bytes bytes each */
void numbers_make(const numbers_t *numbers, const void *from, uint64_t bit, uint64_t count,
                  void *to);

/* Makes numbers as numbers_make() does, of `steps` time steps of cut->each numbers, the first
 * stored `bit` bits after `from`. Of each step it makes those that `cut` keeps.
 *
 *   to   [steps][cut->kept] of numbers->bytes bytes each */
void numbers_keep(const numbers_t *numbers, const struct numbers_cut *cut, const void *from,
                  uint64_t bit, uint64_t steps, char *to);

/* Moves 0 Hz from the edge of the coarse channel to its centre, if it is at the edge, in numbers
 * that were made: multiplies by (-1)^n, n the sample's number in the observation.
 *
 *   data    [steps][each] of numbers->bytes bytes each
 *   first   n of the first time step */
void numbers_turn(const numbers_t *numbers, uint64_t first, uint64_t steps, uint64_t each,
                  void *data);

/* Multiplies numbers that were made by the volts of a stored 1, where the part has such `steps`
 * (number.has_steps; else does nothing): in double, to the nearest float.
 *
 *   data            float [steps][cut->kept]
 *   first           number of the first time step in the part, from 0 */
void numbers_scale(const numbers_t *numbers, const struct numbers_cut *cut,
                   const struct archive_part *part, uint64_t first, uint64_t steps, void *data);

#endif
