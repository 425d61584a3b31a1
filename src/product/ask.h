/* The functions of product/ that look into HDF5 files, done apart by a child process
 * (io/apart/apart.h). Those functions themselves ask, where the process does; nobody else need
 * know. */
#ifndef VOLTMILL_PRODUCT_ASK_H
#define VOLTMILL_PRODUCT_ASK_H

#include "io/apart/apart.h"
#include "product/check/contents.h"
#include "product/kind/dedispersed.h"
#include "product/product.h"

/* As product_open(), product_find_place() and dedispersed_read(). */
status_t ask_product(const char *path, struct product **out);
status_t ask_place(const char *path, struct product_place *out);
status_t ask_dedispersed(const char *path, struct dedispersed **out);

/* As contents_compare(). */
status_t ask_contents(const char *path, const struct product_place *place,
                      struct contents_found *out);

/* Only tries series_open(). */
status_t ask_series(const char *path);

/* In the child: tasks "product", "place", "dedispersed", "contents", "series", and "is-product" for
 * product_is_ours(). */
status_t ask_answer_product(struct unpack *question, struct text *answer);
status_t ask_answer_place(struct unpack *question, struct text *answer);
status_t ask_answer_dedispersed(struct unpack *question, struct text *answer);
status_t ask_answer_contents(struct unpack *question, struct text *answer);
status_t ask_answer_series(struct unpack *question, struct text *answer);
status_t ask_answer_is_product(struct unpack *question, struct text *answer);

#endif
