/* Attributes and small values of a join: compared, copied, put in anew. Private to product/join/.
 */
#ifndef VOLTMILL_PRODUCT_JOIN_JOIN_WORDS_H
#define VOLTMILL_PRODUCT_JOIN_JOIN_WORDS_H

#include "product/join/join_parts.h"

/* Lists the names of the objects that all parts have. Some parts in time may have no weights, which
 * are 1 then. Fails with USAGE if other objects are missing in a part, with DATA or DEVICE if names
 * are unreadable. */
status_t join_list_names(const struct join *join, struct h5_names *out);
/* Set *out to whether a part has such an object; which is the first that has. Fail with DATA,
 * DEVICE (memory). */
status_t join_has(const struct join *join, uint32_t i, const char *name, int *out);
status_t join_find(const struct join *join, const char *name, uint32_t *out);

/* Sets *is_alike to whether a dataset holds the same in two files; *difference says in words what
 * differs. Fails with DATA. */
status_t join_compare_values(hid_t a, hid_t b, const char *name, int *is_alike,
                             char difference[256]);
/* Checks that a dataset is the same in all parts. Fails with USAGE. Also fails with DATA. */
status_t join_check_values(const struct join *join, const char *name);
status_t join_copy_values(const struct h5_dataset *data, const char *path, const char *name,
                          hid_t out);

/* Copies the attributes of an object of the first part that has it, except those of scales' links,
 * after checking that the other parts have the same. Attributes of each part's own times, channels
 * and provenance may differ. Fails with USAGE. Also fails with DATA. */
status_t join_copy_attributes(const struct join *join, const char *name, hid_t from, hid_t to);

/* Reads the rows of the blocks that have scales of their own, of a product in few bits. Fails with
 * DATA. */
status_t join_read_block_rows(hid_t file, const char *path, uint64_t *out);

/* Provenance of the parts as the joined product records it. Start from {0}. Fails with DEVICE
 * (memory). */
struct join_origin {
    struct text job, inputs, assumed, arithmetic;
};
status_t join_list_parts(const struct join *join, struct join_origin *out);
void join_origin_free(struct join_origin *origin);

/* Writes the attributes of the whole: the list of its parts, and the number of channels. Fails with
 * USAGE, DATA, NO_SPACE, DEVICE (memory). */
status_t join_put_words(const struct join *join, hid_t out, uint64_t channels);

#endif
