/* Attributes and small values of a join: compared, copied, put in anew. Private to product/join/.
 */
#ifndef VOLTMILL_PRODUCT_JOIN_JOIN_WORDS_H
#define VOLTMILL_PRODUCT_JOIN_JOIN_WORDS_H

#include "product/join/join_parts.h"

/* The objects of all parts: each has the same; but of parts in time some may have no weights, which
 * are 1 then. Fails with USAGE. */
status_t join_list_names(const struct join *join, struct h5_names *out);
/* Whether a part has such an object; which is the first that has. */
status_t join_has(const struct join *join, uint32_t i, const char *name, int *out);
status_t join_find(const struct join *join, const char *name, uint32_t *out);

/* Whether a dataset holds the same in two files; *difference says in words what differs. Fails with
 * DATA. */
status_t join_compare_values(hid_t a, hid_t b, const char *name, int *is_alike,
                             char difference[256]);
/* That it does in all parts. Fails with USAGE. */
status_t join_check_values(const struct join *join, const char *name);
status_t join_copy_values(const struct h5_dataset *data, const char *path, const char *name,
                          hid_t out);

/* Copies the attributes of an object of the first part that has it, but those of scales' links,
 * once the other parts have the same; what tells of each part's own times, channels and making may
 * differ. Fails with USAGE. */
status_t join_copy_attributes(const struct join *join, const char *name, hid_t from, hid_t to);

/* Rows of the blocks that have scales of their own, of a product in few bits. Fails with DATA. */
status_t join_read_block_rows(hid_t file, const char *path, uint64_t *out);

/* Provenance of the parts as the joined product records it. Start from {0}. */
struct join_origin {
    struct text job, inputs, assumed, arithmetic;
};
status_t join_list_parts(const struct join *join, struct join_origin *out);
void join_origin_free(struct join_origin *origin);

/* Puts in what is said of the whole: of which parts it is made, and of so many channels. */
status_t join_put_words(const struct join *join, hid_t out, uint64_t channels);

#endif
