/* Distances of coarse channels from each other, compared with the rate of their samples. Private to
 * input/. */
#ifndef VOLTMILL_ARCHIVE_SPACING_H
#define VOLTMILL_ARCHIVE_SPACING_H

#include "input/archive.h"

/* Finds the ratio num / den of the smallest den, at most 64, that differs from `value` by less than
 * value x tolerance. Returns 0 if there is none. */
int spacing_ratio(double value, double tolerance, uint32_t *num, uint32_t *den);

/* Says how a job accepts channels that overlap by that ratio. */
enum { SPACING_WORDS = 160 };
void spacing_say(uint32_t num, uint32_t den, char words[SPACING_WORDS]);

/* Compares the distances of the selected coarse channels with what their samples span. Bands of
 * independent receivers (archive->has_receivers) may overlap, which is noted as an assumption.
 * Fails with DATA: channels lie closer together, so that they must be oversampled, or rate or
 * frequencies are wrong; the ratio that a file states is not that of its frequencies. */
status_t spacing_check(const struct job_layout *layout, struct archive *archive);

#endif
