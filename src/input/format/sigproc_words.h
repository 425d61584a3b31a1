/* The header of a SIGPROC file: keywords and values, in their binary form. Private to
 * input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_FILTERBANK_SIGPROC_WORDS_H
#define VOLTMILL_ARCHIVE_FORMAT_FILTERBANK_SIGPROC_WORDS_H

#include "base/status.h"
#include "base/text.h"

#include <stddef.h>

/* Keywords with a value of their own, in the order of the table in sigproc_words.c. */
enum sigproc_word {
    SIGPROC_SOURCE_NAME,
    SIGPROC_RAWDATAFILE,
    SIGPROC_MACHINE_ID,
    SIGPROC_TELESCOPE_ID,
    SIGPROC_DATA_TYPE,
    SIGPROC_NCHANS,
    SIGPROC_NBITS,
    SIGPROC_NIFS,
    SIGPROC_NBEAMS,
    SIGPROC_IBEAM,
    SIGPROC_NSAMPLES,
    SIGPROC_BARYCENTRIC,
    SIGPROC_PULSARCENTRIC,
    SIGPROC_NBINS,
    SIGPROC_NPULS,
    SIGPROC_SIGNED,
    SIGPROC_FCH1,
    SIGPROC_FOFF,
    SIGPROC_TSAMP,
    SIGPROC_TSTART,
    SIGPROC_AZ_START,
    SIGPROC_ZA_START,
    SIGPROC_SRC_RAJ,
    SIGPROC_SRC_DEJ,
    SIGPROC_REFDM,
    SIGPROC_PERIOD,
    SIGPROC_WORDS
};

struct sigproc_value {
    int is_said;
    double number; /* 0 of what is not said */
    char *text;    /* of texts; NULL when empty */
};

struct sigproc_words {
    struct sigproc_value said[SIGPROC_WORDS];
    double *mhz; /* [nmhz] frequencies between FREQUENCY_START and FREQUENCY_END */
    size_t nmhz;
    size_t bytes; /* of the header */
};

/* The name of a keyword, for messages. */
const char *sigproc_name(enum sigproc_word word);

/* Reads a header that begins at byte 0 of `head`. Unknown keywords, whose values may have any
 * length, are skipped up to the next known one, and noted in *assumed. Fails with DATA: a header
 * that does not end, a keyword with two values. sigproc_words_free() in any case. */
status_t sigproc_read_words(const char *path, const struct text *head, struct sigproc_words *out,
                            char **assumed);
void sigproc_words_free(struct sigproc_words *words);

#endif
