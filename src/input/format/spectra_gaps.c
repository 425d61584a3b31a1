/* Rows that weigh too little, column by column of the weights; a piece of rows at a time. */
#include "input/format/spectra_gaps.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Gaps of columns, which are what `stream` counts until all are known. */
struct column_gaps {
    uint64_t columns;
    struct archive_gap *gaps;
    size_t count;
    uint64_t *begins; /* [columns] of the gap that a column is in; UINT64_MAX: in none */
};

enum { MOST_GAPS = 1 << 24 };

static status_t column_gaps_end(struct column_gaps *g, uint64_t column, uint64_t row)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&g->gaps, g->count, sizeof *g->gaps, "gaps"));
    g->gaps[g->count++] = (struct archive_gap){
        .stream = column, .first = g->begins[column], .count = row - g->begins[column]};
    g->begins[column] = UINT64_MAX;
out:
    return st;
}

/* Gaps that begin or end in these rows; behind the last one all end. */
static status_t column_gaps_add(struct column_gaps *g, const float *weights, uint64_t first,
                                uint64_t rows, double least)
{
    status_t st = STATUS_OK;
    for (uint64_t row = 0; row < rows; row++) {
        for (uint64_t c = 0; c < g->columns; c++) {
            const float weight = weights[row * g->columns + c];
            const int is_lost = !(weight >= (float)least && weight > 0);
            if (is_lost && g->begins[c] == UINT64_MAX) {
                g->begins[c] = first + row;
            } else if (!is_lost && g->begins[c] != UINT64_MAX) {
                TRY(column_gaps_end(g, c, first + row));
            }
        }
    }
out:
    return st;
}

static status_t spectra_read_columns(const struct fields *fields, const struct h5_dataset *weights,
                                     double least, struct column_gaps *g)
{
    enum { PIECE = 1 << 20 }; /* numbers */
    status_t st = STATUS_OK;
    hid_t memory = -1;
    float *numbers = NULL;
    const hsize_t most = max_u64(1, PIECE / max_u64(1, g->columns));
    TRY(memory_zeroed((size_t)(most * g->columns), sizeof *numbers, "weights", &numbers));
    for (hsize_t at = 0; at < weights->dims[0]; at += most) {
        const hsize_t start[3] = {at, 0, 0};
        const hsize_t size[3] = {min_u64(most, weights->dims[0] - at), weights->dims[1],
                                 weights->dims[2]};
        h5_close(memory);
        memory = H5Screate_simple(3, size, NULL);
        H5_TRY(memory, "%s: /weights cannot be read", fields->path);
        H5_TRY(H5Sselect_hyperslab(weights->space, H5S_SELECT_SET, start, NULL, size, NULL),
               "%s: /weights cannot be read", fields->path);
        H5_TRY(H5Dread(weights->id, H5T_NATIVE_FLOAT, memory, weights->space, H5P_DEFAULT, numbers),
               "%s: /weights cannot be read", fields->path);
        TRY(column_gaps_add(g, numbers, at, size[0], least));
    }
    for (uint64_t c = 0; c < g->columns; c++) {
        TRY(g->begins[c] != UINT64_MAX ? column_gaps_end(g, c, weights->dims[0]) : STATUS_OK);
    }
out:
    h5_close(memory);
    free(numbers);
    return st;
}

/* Whether all columns lack the same rows; gaps are sorted. */
static int column_gaps_are_common(const struct column_gaps *g)
{
    const size_t each = g->count / (size_t)g->columns;
    int are_common = g->count % g->columns == 0;
    for (size_t i = 0; are_common && i < g->count; i++) {
        const struct archive_gap *first = &g->gaps[i % each];
        are_common = g->gaps[i].stream == i / each && g->gaps[i].first == first->first &&
                     g->gaps[i].count == first->count;
    }
    return are_common;
}

static status_t spectra_keep_common(const struct column_gaps *g, struct archive *archive)
{
    status_t st = STATUS_OK;
    const size_t each = g->count / (size_t)g->columns;
    TRY(memory_zeroed(each, sizeof *archive->losses.gaps, "gaps", &archive->losses.gaps));
    for (size_t i = 0; i < each; i++) {
        archive->losses.gaps[i][0] = g->gaps[i].first;
        archive->losses.gaps[i][1] = g->gaps[i].count;
    }
    archive->losses.ngaps = each;
out:
    return st;
}

/* A gap of a column is one of each of its channels. */
static status_t spectra_keep_streams(const struct column_gaps *g, uint64_t coarse,
                                     uint64_t channels, uint64_t first_channel,
                                     struct archive *archive)
{
    status_t st = STATUS_OK;
    const uint64_t frequencies = archive->count[AXIS_CHAN];
    size_t count = 0;
    uint64_t most = 0;
    REQUIRE(multiply_u64(g->count, min_u64(channels, frequencies), &most) && most <= MOST_GAPS,
            STATUS_DATA, "%s: %zu gaps of single coarse channels, expected at most %d of channels",
            archive->parts[0].path, g->count, MOST_GAPS);
    TRY(memory_zeroed((size_t)most, sizeof *archive->losses.stream_gaps, "gaps",
                      &archive->losses.stream_gaps));
    for (size_t i = 0; i < g->count; i++) {
        const uint64_t begin = g->gaps[i].stream % coarse * channels;
        for (uint64_t c = max_u64(begin, first_channel);
             c < min_u64(begin + channels, first_channel + frequencies); c++) {
            archive->losses.stream_gaps[count] = g->gaps[i];
            archive->losses.stream_gaps[count++].stream =
                g->gaps[i].stream / coarse * frequencies + c - first_channel;
        }
    }
    archive->losses.nstream_gaps = count;
    archive_gaps_sort(archive->losses.stream_gaps, count);
out:
    return st;
}

status_t spectra_read_gaps(const struct fields *fields, uint64_t channels, uint64_t first_channel,
                           struct archive *archive)
{
    status_t st = STATUS_OK;
    struct h5_dataset weights = {0};
    struct column_gaps g = {.columns = 0};
    double least = 0;
    int is_there = 0;
    const uint64_t ifs = max_u64(1, archive->count[AXIS_STATION]) *
                         max_u64(1, archive->count[AXIS_BEAM]) *
                         max_u64(1, archive->count[AXIS_POL]);
    TRY(h5_has(fields->file, fields->path, "weights", &is_there));
    if (!is_there) {
        goto out;
    }
    TRY(fields_require_whole(fields, "weights"));
    TRY(fields_need_f64(fields, "weights", "min_weight", &least));
    TRY(h5_dataset_open(fields->file, fields->path, "/weights", &weights));
    REQUIRE(
        weights.rank == 3 && weights.dims[0] == archive->parts[0].samples &&
            weights.dims[1] == ifs && weights.dims[2] > 0 &&
            weights.dims[2] >= ceil_div_u64(first_channel + archive->count[AXIS_CHAN], channels),
        STATUS_DATA, "%s: /weights does not fit the rows, polarisations and channels of /spectra",
        fields->path);
    g.columns = weights.dims[1] * weights.dims[2];
    TRY(memory_zeroed((size_t)g.columns, sizeof *g.begins, "gaps", &g.begins));
    memset(g.begins, 0xff, (size_t)g.columns * sizeof *g.begins);
    TRY(spectra_read_columns(fields, &weights, least, &g));
    if (g.count == 0) {
        goto out;
    }
    archive_gaps_sort(g.gaps, g.count);
    TRY(column_gaps_are_common(&g)
            ? spectra_keep_common(&g, archive)
            : spectra_keep_streams(&g, weights.dims[2], channels, first_channel, archive));
out:
    h5_dataset_close(&weights);
    free(g.gaps);
    free(g.begins);
    return st;
}
