/* The filter bank that a job's channels come from, as a synthesis sees it: which channels belong
 * together, of how many points the bank is, and where they stand among them. */
#ifndef VOLTMILL_PLAN_SYNTHESIS_SYNTHESIS_BANK_H
#define VOLTMILL_PLAN_SYNTHESIS_SYNTHESIS_BANK_H

#include "input/archive.h"

/* What becomes one stream: the selected channels of a polarisation, of spectra of ours those of one
 * coarse channel. Where these are not all channels of the bank, the stream is narrower: the bank is
 * one of fewer points with the same spacing. */
struct synthesis_bank {
    uint32_t groups;   /* coarse channels that come out of each polarisation */
    uint32_t channels; /* of a group */
    uint32_t points, hop;
    int32_t first_point; /* of a group's first channel (compute/synthesise.h) */
    int is_real_out;
    double spacing_hz; /* from channel to channel */
    double rate_hz;    /* of the stream: points x spacing */
    /* Of the bank that made spectra of ours; 0: the archive does not say. */
    uint32_t own_points, own_taps;
};

/* Fails with USAGE: real samples, channels that do not follow each other at the spacing that rate
 * and its ratio tell, groups that are not alike, ... with the numbers. */
status_t synthesis_bank_find(const struct job *job, const struct archive *archive,
                             struct synthesis_bank *out);

/* The centre of what becomes coarse channel `group`; and where its channels begin. */
double synthesis_bank_centre(const struct synthesis_bank *bank, const struct archive *archive,
                             uint32_t group);
double synthesis_bank_low(const struct synthesis_bank *bank, const struct archive *archive,
                          uint32_t group);

#endif
