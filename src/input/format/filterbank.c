/* Filterbanks in tables: begun, and checked. */
#include "input/format/filterbank.h"

#include "base/memory.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_IFS = 1 << 10, MOST_CHANNELS = 1 << 24 };

status_t filterbank_begin(const char *path, const char *format, struct fbh5 **out, int *fd)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    int opened = -1;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    TRY(memory_text(path, &fbh5->path));
    TRY(memory_text(format, &fbh5->format));
    TRY(sources_add(&fbh5->storage.sources, path, SOURCE_NAMED, NULL));
    TRY(file_open_read(path, &opened));
    TRY(sources_check_open(&fbh5->storage.sources, path, opened));
    fbh5->file_bytes = sources_bytes(&fbh5->storage.sources);
    fbh5->chunks.rows = 1;
    fbh5->head.nbeams = fbh5->head.ibeam = 1;
    *out = fbh5;
    *fd = opened;
    fbh5 = NULL;
    opened = -1;
out:
    file_close(opened);
    fbh5_destroy(fbh5);
    return st;
}

status_t filterbank_finish(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct fbh5_table *table = &fbh5->table;
    uint64_t streams = (uint64_t)fbh5->nifs * fbh5->nchannels;
    REQUIRE(fbh5->nifs >= 1 && fbh5->nifs <= MOST_IFS && fbh5->nchannels >= 1 &&
                fbh5->nchannels <= MOST_CHANNELS,
            STATUS_DATA, "%s: %u pols of %u channels, expected 1 to %d, and 1 to %d", fbh5->path,
            fbh5->nifs, fbh5->nchannels, MOST_IFS, MOST_CHANNELS);
    REQUIRE(table->bits <= 32 && (table->bits & (table->bits - 1)) == 0 && table->bits > 0,
            STATUS_DATA, "%s: %u bits, expected 1, 2, 4, 8, 16 or 32", fbh5->path, table->bits);
    REQUIRE(streams * table->bits % 8 * (table->rows_each % 8) % 8 == 0, STATUS_DATA,
            "%s: rows of %" PRIu64 " spectra of %" PRIu64
            " numbers of %u bits, expected whole bytes",
            fbh5->path, table->rows_each, streams, table->bits);
    REQUIRE(isfinite(fbh5->time.step) && fbh5->time.step > 0, STATUS_DATA,
            "%s: a spectrum every %g s (tsamp), expected more than 0", fbh5->path, fbh5->time.step);
    double last = fbh5->fch1_mhz + (fbh5->nchannels - 1.0) * fbh5->foff_mhz;
    REQUIRE(isfinite(last) &&
                (fbh5->nchannels == 1 || last < fbh5->fch1_mhz || last > fbh5->fch1_mhz),
            STATUS_DATA, "%s: %u channels from fch1 = %g MHz on in steps of foff = %g MHz",
            fbh5->path, fbh5->nchannels, fbh5->fch1_mhz, fbh5->foff_mhz);
    fbh5->sample_bytes = table->has_scales || table->is_signed || table->bits == 32 ? 4
                         : table->bits == 16                                        ? 2
                                                                                    : 1;
out:
    return st;
}
