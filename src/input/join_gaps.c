/* Gaps along time are shifted; those of files side by side become gaps of single streams. */
#include "input/join_files.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_GAPS = 1 << 26 };

static status_t join_append_stream_gaps(struct archive *base, const struct archive *next,
                                        uint64_t at)
{
    status_t st = STATUS_OK;
    if (next->losses.nstream_gaps == 0) {
        goto out;
    }
    struct archive_gap *gaps =
        realloc(base->losses.stream_gaps,
                (base->losses.nstream_gaps + next->losses.nstream_gaps) * sizeof *gaps);
    REQUIRE(gaps, STATUS_DEVICE, "out of memory: gaps");
    base->losses.stream_gaps = gaps;
    for (size_t i = 0; i < next->losses.nstream_gaps; i++) {
        gaps[base->losses.nstream_gaps] = next->losses.stream_gaps[i];
        gaps[base->losses.nstream_gaps++].first += at;
    }
    archive_gaps_sort(gaps, base->losses.nstream_gaps);
out:
    return st;
}

status_t join_append_gaps(struct archive *base, const struct archive *next, uint64_t missing,
                          uint64_t at)
{
    status_t st = STATUS_OK;
    TRY(join_append_stream_gaps(base, next, at));
    if (next->losses.ngaps == 0 && missing == 0) {
        goto out;
    }
    uint64_t(*gaps)[2] =
        realloc(base->losses.gaps, (base->losses.ngaps + next->losses.ngaps + 1) * sizeof *gaps);
    REQUIRE(gaps, STATUS_DEVICE, "out of memory: gaps");
    if (missing > 0) {
        gaps[base->losses.ngaps][0] = at - missing;
        gaps[base->losses.ngaps][1] = missing;
        base->losses.ngaps++;
    }
    for (size_t i = 0; i < next->losses.ngaps; i++) {
        gaps[base->losses.ngaps + i][0] = next->losses.gaps[i][0] + at;
        gaps[base->losses.ngaps + i][1] = next->losses.gaps[i][1];
    }
    base->losses.gaps = gaps;
    base->losses.ngaps += next->losses.ngaps;
out:
    return st;
}

/* What stream `number` of one file is in the observation, where the file's indices of the stacked
 * axis begin at `from` of `total`. */
static uint64_t join_gaps_number(const struct archive *file, uint64_t number, uint64_t from,
                                 uint64_t total)
{
    uint64_t out = 0;
    uint64_t each = 1;
    for (int i = STREAM_AXES - 1; i >= 0; i--) {
        enum axis axis = archive_stream_axes[i];
        int is_stacked = axis == file->shape.stacked;
        uint64_t index = number % file->count[axis];
        number /= file->count[axis];
        out += (index + (is_stacked ? from : 0)) * each;
        each *= is_stacked ? total : file->count[axis];
    }
    return out;
}

static uint64_t join_gaps_streams(const struct archive *file)
{
    uint64_t streams = 1;
    for (int i = 0; i < STREAM_AXES; i++) {
        streams *= file->count[archive_stream_axes[i]];
    }
    return streams;
}

/* Then they are those of the observation. */
static int join_gaps_are_alike(struct archive *const *files, size_t count)
{
    int are_alike = 1;
    for (size_t i = 0; i < count && are_alike; i++) {
        const struct archive *file = files[i];
        are_alike = file->losses.nstream_gaps == 0 &&
                    file->losses.ngaps == files[0]->losses.ngaps &&
                    (file->losses.ngaps == 0 ||
                     memcmp(file->losses.gaps, files[0]->losses.gaps,
                            file->losses.ngaps * sizeof *file->losses.gaps) == 0);
    }
    return are_alike;
}

status_t join_spread_gaps(struct archive **files, size_t count)
{
    status_t st = STATUS_OK;
    struct archive *base = files[0];
    struct archive_gap *gaps = NULL;
    uint64_t total = 0;
    uint64_t needed = 0;
    uint64_t from = 0;
    size_t found = 0;
    if (join_gaps_are_alike(files, count)) {
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t spread = 0;
        REQUIRE(
            multiply_u64(files[i]->losses.ngaps, join_gaps_streams(files[i]), &spread) &&
                spread <= MOST_GAPS && needed + spread + files[i]->losses.nstream_gaps <= MOST_GAPS,
            STATUS_DATA, "%s has too many gaps, each of all its streams", files[i]->parts[0].path);
        needed += spread + files[i]->losses.nstream_gaps;
        total += files[i]->count[base->shape.stacked];
    }
    TRY(memory_zeroed((size_t)needed, sizeof *gaps, "gaps", &gaps));
    for (size_t i = 0; i < count; i++) {
        const struct archive *file = files[i];
        uint64_t streams = file->losses.ngaps > 0 ? join_gaps_streams(file) : 0;
        for (uint64_t stream = 0; stream < streams; stream++) {
            uint64_t number = join_gaps_number(file, stream, from, total);
            for (size_t k = 0; k < file->losses.ngaps; k++) {
                gaps[found++] =
                    (struct archive_gap){number, file->losses.gaps[k][0], file->losses.gaps[k][1]};
            }
        }
        for (size_t k = 0; k < file->losses.nstream_gaps; k++) {
            gaps[found] = file->losses.stream_gaps[k];
            gaps[found++].stream =
                join_gaps_number(file, file->losses.stream_gaps[k].stream, from, total);
        }
        from += file->count[base->shape.stacked];
    }
    archive_gaps_sort(gaps, found);
    free(base->losses.stream_gaps);
    base->losses.stream_gaps = gaps;
    base->losses.nstream_gaps = found;
    base->losses.ngaps = 0;
    gaps = NULL;
out:
    free(gaps);
    return st;
}
