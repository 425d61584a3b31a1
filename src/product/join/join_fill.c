/* Values of a join: copied byte for byte from where the parts have them. */
#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"
#include "product/join/join_parts.h"
#include "product/pack/rows.h"
#include "product/spans.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 << 20 };

/* One dataset on its way. */
struct join_filling {
    const struct join *join;
    const struct join_dataset *set;
    const char *path;
    int fd;
    int *parts;     /* [parts] open files */
    rows_t **rows;  /* [parts] of the rows, which may be compressed */
    uint64_t lead;  /* bytes of a step along the first axis, of the result */
    uint64_t outer; /* runs in one such step: product of the axes before the one along which */
    uint64_t inner; /* bytes of one step along that */
    char *block, *piece;
    uint32_t *sums; /* of the rows' spans */
    char *there;    /* compared with what is there instead of written */
    int differs;
};

/* Steps first .. first + count - 1 of a part along its first axis. */
static status_t fill_read(const struct join_filling *f, uint32_t part, uint64_t first,
                          uint64_t count, uint64_t lead, void *out)
{
    if (f->set->from[part] == UINT64_MAX && !f->set->is_rows) {
        static const float whole = 1;
        for (uint64_t i = 0; i < count * lead / sizeof whole; i++) {
            memcpy((char *)out + i * sizeof whole, &whole, sizeof whole);
        }
        return STATUS_OK;
    }
    if (f->set->is_rows) {
        return rows_read(f->rows[part], first, count, 0, lead, out);
    }
    return file_read(f->parts[part], f->join->parts[part].path, f->set->from[part] + first * lead,
                     out, count * lead);
}

/* Writes bytes, or compares them. */
static status_t fill_put(struct join_filling *f, uint64_t offset, const void *data, uint64_t bytes)
{
    status_t st = STATUS_OK;
    if (!f->there) {
        TRY(file_write(f->fd, f->path, offset, data, bytes));
        goto out;
    }
    for (uint64_t at = 0; at < bytes && !f->differs; at += BLOCK) {
        uint64_t count = min_u64(BLOCK, bytes - at);
        TRY(file_read(f->fd, f->path, offset + at, f->there, count));
        f->differs = memcmp(f->there, (const char *)data + at, (size_t)count) != 0;
    }
out:
    return st;
}

static status_t fill_write(struct join_filling *f, uint64_t first, uint64_t count)
{
    if (f->sums) {
        spans_add(&f->join->place, first, count, 0, f->lead, f->block,
                  f->sums + first / f->join->place.span_rows);
    }
    return fill_put(f, f->set->offset + first * f->lead, f->block, count * f->lead);
}

static uint64_t fill_steps(const struct join_filling *f)
{
    return max_u64(BLOCK / f->lead, 1);
}

/* What stands for no number, or zeros. */
static status_t fill_missing(struct join_filling *f, uint64_t first, uint64_t end)
{
    status_t st = STATUS_OK;
    const uint8_t *missing = (const uint8_t *)&f->set->missing;
    uint64_t most = fill_steps(f);
    for (uint64_t i = 0; i < most * f->lead; i++) {
        f->block[i] = (char)missing[i % sizeof f->set->missing];
    }
    for (uint64_t at = first; at < end; at += most) {
        TRY(fill_write(f, at, min_u64(most, end - at)));
    }
out:
    return st;
}

static status_t fill_times(struct join_filling *f)
{
    status_t st = STATUS_OK;
    const struct join_dataset *set = f->set;
    uint64_t next = 0;
    for (uint32_t i = 0; i < f->join->count; i++) {
        TRY(fill_missing(f, next, set->first[i]));
        for (uint64_t at = 0; at < set->count[i]; at += fill_steps(f)) {
            uint64_t count = min_u64(fill_steps(f), set->count[i] - at);
            TRY(fill_read(f, i, at, count, f->lead, f->block));
            TRY(fill_write(f, set->first[i] + at, count));
        }
        next = set->first[i] + set->count[i];
    }
    TRY(fill_missing(f, next, set->dims[0]));
out:
    return st;
}

/* Each step along the first axis from pieces of all parts. */
static status_t fill_bands(struct join_filling *f)
{
    status_t st = STATUS_OK;
    const struct join_dataset *set = f->set;
    uint64_t steps = set->at == 0 ? 1 : set->dims[0];
    uint64_t whole = set->dims[set->at] * f->inner;
    for (uint64_t at = 0; at < steps; at += fill_steps(f)) {
        uint64_t count = min_u64(fill_steps(f), steps - at);
        for (uint32_t i = 0; i < f->join->count; i++) {
            uint64_t bytes = set->count[i] * f->inner;
            TRY(fill_read(f, i, at, count, f->outer * bytes, f->piece));
            for (uint64_t run = 0; run < count * f->outer; run++) {
                memcpy(f->block + run * whole + set->first[i] * f->inner, f->piece + run * bytes,
                       (size_t)bytes);
            }
        }
        TRY(fill_write(f, at, count));
    }
out:
    return st;
}

/* A scale of times: start + n step. */
static status_t fill_scale(struct join_filling *f)
{
    status_t st = STATUS_OK;
    uint64_t most = BLOCK / sizeof(double);
    for (uint64_t at = 0; at < f->set->dims[0]; at += most) {
        uint64_t count = min_u64(most, f->set->dims[0] - at);
        double *values = (double *)(void *)f->block;
        for (uint64_t i = 0; i < count; i++) {
            values[i] = f->set->start + (double)(at + i) * f->set->step;
        }
        TRY(fill_put(f, f->set->offset + at * sizeof *values, values, count * sizeof *values));
    }
out:
    return st;
}

static void fill_measure(struct join_filling *f)
{
    const struct join_dataset *set = f->set;
    f->inner = set->element_bytes;
    f->outer = 1;
    for (int i = 0; i < set->rank; i++) {
        f->inner *= i > set->at ? set->dims[i] : 1;
        f->outer *= i > 0 && i < set->at ? set->dims[i] : 1;
    }
    f->lead = f->inner * (set->at > 0 ? f->outer * set->dims[set->at] : 1);
    if (set->at == 0 && f->join->along == JOIN_FREQUENCY) {
        f->lead = f->inner * set->dims[0]; /* one step: all of it */
    }
}

static status_t fill_set(struct join_filling *f)
{
    status_t st = STATUS_OK;
    fill_measure(f);
    uint64_t bytes = max_u64(fill_steps(f) * f->lead, BLOCK);
    TRY(memory_aligned((size_t)bytes, 1, "rows", &f->block));
    TRY(memory_aligned((size_t)bytes, 1, "rows", &f->piece));
    TRY(f->set->step > 0              ? fill_scale(f)
        : f->join->along == JOIN_TIME ? fill_times(f)
                                      : fill_bands(f));
out:
    free(f->block);
    free(f->piece);
    f->block = f->piece = NULL;
    return st;
}

static status_t fill_open(struct join_filling *f)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(f->join->count, sizeof *f->parts, "parts", &f->parts));
    TRY(memory_zeroed(f->join->count, sizeof(rows_t *), "parts", &f->rows));
    for (uint32_t i = 0; i < f->join->count; i++) {
        f->parts[i] = -1;
    }
    for (uint32_t i = 0; i < f->join->count; i++) {
        TRY(file_open_read(f->join->parts[i].path, &f->parts[i]));
        TRY(rows_open(f->join->parts[i].product, &f->rows[i]));
    }
out:
    return st;
}

static void fill_close(struct join_filling *f)
{
    for (uint32_t i = 0; i < f->join->count; i++) {
        if (f->parts) {
            file_close(f->parts[i]);
        }
        if (f->rows) {
            rows_close(f->rows[i]);
        }
    }
    free(f->parts);
    free(f->rows);
}

status_t join_fill(struct join *join, int fd, const char *path)
{
    status_t st = STATUS_OK;
    struct join_filling f = {.join = join, .path = path, .fd = fd};
    struct product_counts counts = {.missing = 0};
    uint32_t *sums = NULL;
    uint64_t spans = spans_count(&join->place);
    TRY(fill_open(&f));
    TRY(memory_zeroed((size_t)spans, sizeof *sums, "CRCs", &sums));
    for (size_t i = 0; i < join->nsets; i++) {
        f.set = &join->sets[i];
        f.sums = f.set->is_rows ? sums : NULL;
        TRY(fill_set(&f));
    }
    for (uint32_t i = 0; i < join->count; i++) {
        counts.missing += join->parts[i].product->missing;
    }
    for (uint64_t i = 0; i < spans; i++) {
        sums[i] = spans_crc(&join->place, i, sums[i]);
    }
    counts.crcs = sums;
    TRY(product_put_counts(fd, path, &join->place, &counts));
out:
    fill_close(&f);
    free(sums);
    return st;
}

status_t join_matches(struct join *join, int fd, const char *path, int *is_same)
{
    status_t st = STATUS_OK;
    struct join_filling f = {.join = join, .path = path, .fd = fd};
    TRY(memory_aligned(BLOCK, 1, "rows", &f.there));
    TRY(fill_open(&f));
    for (size_t i = 0; i < join->nsets && !f.differs; i++) {
        f.set = &join->sets[i];
        TRY(fill_set(&f));
    }
    *is_same = !f.differs;
out:
    fill_close(&f);
    free(f.there);
    return st;
}
