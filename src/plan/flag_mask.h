/* A mask file of a flagged product: channels and times that are flagged whatever they contain.
 *
 * Text, a line for each: frequencies in Hz or channels (counted from 0, coarse channels side by
 * side, the last included), and seconds after sample 0 of the observation, unless it is for ever;
 * # begins a comment:
 *
 *   freq_hz 101.2e6 101.3e6
 *   freq_hz 104e6 104.01e6 seconds 2.5 3
 *   channels 100 120
 *
 * Or a product with /flags, if by if where both have the same number of them, else where any if is
 * flagged. Each counts seconds from its own start. Refused where only one of the two has a start.
 *
 * With both kinds, a channel is omitted if some of its band is in a range or in a flagged channel.
 * A cell is omitted if some of its time is. Channels and cells of a product are ignored if they
 * overlap by less than a thousandth of the smaller one. */
#ifndef VOLTMILL_PLAN_FLAG_MASK_H
#define VOLTMILL_PLAN_FLAG_MASK_H

#include "product/product.h"

typedef struct flag_mask flag_mask_t;

/* Reads a mask for cells as `spec` says, of all channels that the bank makes; keeps neither path
 * nor spec. Main thread only. Fails with DATA: file, line or dataset, expected value; a product
 * without a start where the archive has one, or the reverse; with DEVICE (memory, descriptors),
 * STOPPED. */
status_t flag_mask_create(const char *path, const struct product_spec *spec, flag_mask_t **out);
/* Closes the file of a mask and frees the mask. Takes NULL. */
void flag_mask_destroy(flag_mask_t *mask);
SCOPED_END(flag_mask_destroy, flag_mask_t *)

/* Returns the bytes of memory that a mask keeps; 0 for NULL. */
uint64_t flag_mask_bytes(const flag_mask_t *mask);

/* Some ifs of a row of cells, and some of all channels of the bank. */
struct flag_mask_part {
    uint64_t first_if, ifs;
    uint64_t first, channels;
};

/* Sets FLAG_MASK where a part of row `cell` of cells, from 0 for the product's first, is masked;
 * other flags stay. Not for several threads at once. Fails with DATA if the flags of a product
 * cannot be read: some may be set then.
 *
 *   flags   uint8 [part->ifs][part->channels] */
status_t flag_mask_mark(flag_mask_t *mask, uint64_t cell, const struct flag_mask_part *part,
                        unsigned char *flags);

#endif
