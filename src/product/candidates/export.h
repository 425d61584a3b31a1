/* Writes the candidates of a search as text (docs/export.md). */
#ifndef VOLTMILL_PRODUCT_CANDIDATES_EXPORT_H
#define VOLTMILL_PRODUCT_CANDIDATES_EXPORT_H

#include "base/text.h"
#include "product/candidates/candidates.h"

enum candidates_format {
    CANDIDATES_CSV,      /* all columns of the table */
    CANDIDATES_HEIMDALL, /* .cand */
    CANDIDATES_FETCH     /* what FETCH and `your` make their pictures of */
};

struct export_candidates_options {
    enum candidates_format format;
    const char *product;
    const char *out; /* NULL: the product's name, with the format's ending */
    int force;
};

/* Appends the whole text. Fails with DEVICE (memory). */
status_t export_candidates_words(enum candidates_format format, const struct candidates_file *in,
                                 struct text *out);

/* Fails with USAGE, DATA, NO_SPACE, DEVICE (memory). */
status_t export_candidates(const struct export_candidates_options *options, struct text *said);

#endif
