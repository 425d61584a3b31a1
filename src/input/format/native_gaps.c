/* Gaps of all streams, [n][2]: first sample and count; or of single ones, [n][3], with the stream.
 */
#include "input/format/native_gaps.h"

#include "base/memory.h"
#include "input/hdf5/stored.h"
#include "io/hdf5/h5_dataset.h"

#include <stdlib.h>

static status_t native_gaps_of_streams(const struct h5_dataset *gaps, const char *path,
                                       struct archive *archive)
{
    status_t st = STATUS_OK;
    size_t count = (size_t)gaps->dims[0];
    uint64_t(*rows)[3] = NULL;
    TRY(memory_zeroed(count, sizeof *rows, "gaps", &rows));
    TRY(memory_zeroed(count, sizeof *archive->losses.stream_gaps, "gaps",
                      &archive->losses.stream_gaps));
    TRY(h5_dataset_read(gaps, path, "/gaps", H5T_NATIVE_UINT64, gaps->count, rows));
    for (size_t i = 0; i < count; i++) {
        archive->losses.stream_gaps[i] =
            (struct archive_gap){.first = rows[i][0], .count = rows[i][1], .stream = rows[i][2]};
    }
    archive->losses.nstream_gaps = count;
    archive_gaps_sort(archive->losses.stream_gaps, count);
out:
    free(rows);
    return st;
}

status_t native_read_gaps(hid_t file, const char *path, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct h5_dataset gaps = {0};
    int is_there = 0;
    TRY(h5_has(file, path, "gaps", &is_there));
    if (!is_there) {
        goto out;
    }
    TRY(stored_require_whole(path, "gaps", &archive->parts[0].storage));
    TRY(h5_dataset_open(file, path, "/gaps", &gaps));
    REQUIRE(gaps.rank == 2, STATUS_DATA, "%s: /gaps has %d dimensions, expected [n][2] or [n][3]",
            path, gaps.rank);
    REQUIRE((gaps.dims[1] == 2 || gaps.dims[1] == 3) && gaps.dims[0] < (1u << 26), STATUS_DATA,
            "%s: /gaps is %llu x %llu, expected [n][2] or [n][3]", path,
            (unsigned long long)gaps.dims[0], (unsigned long long)gaps.dims[1]);
    if (gaps.dims[0] == 0) {
        goto out;
    }
    if (gaps.dims[1] == 3) {
        TRY(native_gaps_of_streams(&gaps, path, archive));
        goto out;
    }
    TRY(memory_zeroed((size_t)gaps.dims[0], sizeof *archive->losses.gaps, "gaps",
                      &archive->losses.gaps));
    TRY(h5_dataset_read(&gaps, path, "/gaps", H5T_NATIVE_UINT64, gaps.count, archive->losses.gaps));
    archive->losses.ngaps = (size_t)gaps.dims[0];
out:
    h5_dataset_close(&gaps);
    return st;
}
