/* The dimensions of a dataset, as text: the native layout's attribute `axes` and a job's
 * input.layout.axes. */
#ifndef VOLTMILL_JOB_JOB_LAYOUT_H
#define VOLTMILL_JOB_JOB_LAYOUT_H

#include "base/terms.h"

enum { AXES_TEXT_MESSAGE = 200, AXES_TEXT_DIMS = AXIS_KINDS + 1 };

/* Outermost dimension first; within a dimension that joins several axes, slowest axis first. */
struct axes_text {
    uint32_t ndims;
    struct {
        uint32_t nparts;
        enum axis part[AXIS_KINDS];
        uint64_t size[AXIS_KINDS]; /* 0: left out */
    } dim[AXES_TEXT_DIMS];
};

/* Reads a comma list of time, station, beam, pol, chan and reim; "chan:2*pol:2" joins axes into one
 * dimension, and one size of such a product may be left out. time stands there by itself, once or
 * twice, outermost then (a piece, and the time in it); no other axis twice; reim has size 2.
 * Returns 1; 0, with the reason in `message` (else unchanged), when the text is none; *out is then
 * undefined. */
int axes_text_parse(const char *text, struct axes_text *out, char message[AXES_TEXT_MESSAGE])
    __attribute__((warn_unused_result));

/* Returns whether `axis` is among the dimensions. */
int axes_text_has(const struct axes_text *axes, enum axis axis);

/* Returns whether time has two dimensions: pieces, outermost, and the time in a piece. */
int axes_text_in_pieces(const struct axes_text *axes);

#endif
