/* Where a product comes from, in words for people, line by line. It decides whether what an earlier
 * run has left was made by this very job of these very files: for runs that go on, for products
 * that are complete, for --each. */
#ifndef VOLTMILL_OUTPUT_ORIGIN_H
#define VOLTMILL_OUTPUT_ORIGIN_H

#include "base/text.h"

/* NULL: not known. */
struct origin {
    const char *program, *job;
    const char *inputs; /* as inputs_times() or inputs_contents() say (input/inputs.h) */
    const char *coefficients, *arithmetic;
};

/* Appends the first line that differs, such as "job: taps: 8 then, taps: 16 now"; of long ones the
 * part where they do. Nothing when all lines are equal; those that are not known now are passed
 * over. Fails with DEVICE (memory). */
status_t origin_compare(const struct origin *then, const struct origin *now, struct text *out);

#endif
