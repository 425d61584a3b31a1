/* What the files of input/format/dataset.h share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_DATASET_PARTS_H
#define VOLTMILL_ARCHIVE_FORMAT_DATASET_PARTS_H

#include "input/format/dataset.h"

/* Numbers in an element, along the innermost dimension: those of less than 8 bits are several. */
uint32_t dataset_numbers_in_element(const struct job_layout *layout);

/* Sets is_compound and number, or (4 + 4 bits) format, as samples are stored: numbers_settle() says
 * what is handed out. Fails with DATA. */
status_t dataset_read_type(hid_t dataset, const char *where, const struct job_layout *layout,
                           struct archive *archive);

/* Behind that: whether samples are complex. Fails with DATA. */
status_t dataset_settle_domain(const struct job_layout *layout, const char *where,
                               struct archive *archive);

/* Whether elements on disk are just the numbers that archive->number tells of, or SAMPLE_I4's, one
 * behind the other. */
int dataset_is_dense(hid_t dataset, const struct archive *archive);

#endif
