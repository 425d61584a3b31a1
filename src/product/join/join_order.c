/* Which parts there are, along which axis they are one after the other, and where each begins. */
#include "base/memory.h"
#include "base/units.h"
#include "io/hdf5/h5.h"
#include "product/join/join_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static status_t join_open_part(struct join_part *part)
{
    status_t st = STATUS_OK;
    TRY(product_open(part->path, &part->product));
    REQUIRE(part->product, STATUS_DATA, "%s is no product of voltmill", part->path);
    enum product_kind kind = part->product->kind;
    REQUIRE(product_quantity(kind) == QUANTITY_POWER || product_quantity(kind) == QUANTITY_SPECTRA,
            STATUS_USAGE, "join: %s holds %s, expected power or spectra", part->path,
            product_name(kind));
    REQUIRE(part->product->place.crc_offset > 0, STATUS_USAGE,
            "join: %s was made by an older version: voltmill run makes it anew", part->path);
    TRY(h5_open_file(part->path, &part->file));
out:
    return st;
}

/* Words for a number that two parts must have alike. */
static status_t join_check_number(const struct join *join, uint32_t i, const char *what, double a,
                                  double b)
{
    status_t st = STATUS_OK;
    REQUIRE(fabs(a - b) <= 1e-12 * fabs(a), STATUS_USAGE, "join: %s has %s %.15g, but %s %.15g",
            join->parts[i].path, what, b, join->parts[0].path, a);
out:
    return st;
}

static status_t join_check_alike(const struct join *join, uint32_t i)
{
    status_t st = STATUS_OK;
    const struct product *a = join->parts[0].product;
    const struct product *b = join->parts[i].product;
    REQUIRE(a->kind == b->kind, STATUS_USAGE, "join: %s holds %s, but %s %s", join->parts[i].path,
            product_name(b->kind), join->parts[0].path, product_name(a->kind));
    TRY(join_check_number(join, i, "a row every so many seconds:", a->time_step, b->time_step));
    TRY(join_check_number(join, i, "channels in its filter bank:", a->bank.channels,
                          b->bank.channels));
    TRY(join_check_number(join, i, "streams or pols:", (double)a->streams, (double)b->streams));
    TRY(join_check_number(join, i, "the sample rate", a->bank.sample_rate_hz,
                          b->bank.sample_rate_hz));
    REQUIRE(a->sky.has_start == b->sky.has_start, STATUS_USAGE,
            "join: of %s and %s only one says when it starts", join->parts[0].path,
            join->parts[i].path);
out:
    return st;
}

static int join_is_one_band(const struct product *a, const struct product *b)
{
    return a->frequencies == b->frequencies &&
           memcmp(a->frequency_hz, b->frequency_hz, a->frequencies * sizeof *a->frequency_hz) == 0;
}

/* When the first row of a part is taken, after that of another. */
static double join_later(const struct product *a, const struct product *b)
{
    return (a->sky.has_start ? utc_difference(b->sky.start, a->sky.start) : 0) + b->first_time -
           a->first_time;
}

static int join_compare(const void *left, const void *right)
{
    double a = ((const struct join_part *)left)->first;
    double b = ((const struct join_part *)right)->first;
    return (a > b) - (a < b);
}

/* Parts of one band are of different times, parts of different bands of one time. */
static status_t join_find_axis(struct join *join)
{
    status_t st = STATUS_OK;
    const struct product *first = join->parts[0].product;
    int is_one_band = 1;
    for (uint32_t i = 1; i < join->count; i++) {
        TRY(join_check_alike(join, i));
        is_one_band = is_one_band && join_is_one_band(first, join->parts[i].product);
    }
    join->along = is_one_band ? JOIN_TIME : JOIN_FREQUENCY;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct product *product = join->parts[i].product;
        join->parts[i].first = is_one_band ? join_later(first, product) : product->frequency_hz[0];
    }
    qsort(join->parts, join->count, sizeof *join->parts, join_compare);
out:
    return st;
}

static status_t join_place_rows(struct join *join)
{
    status_t st = STATUS_OK;
    static const double most = 1e-3; /* of a row: beside its place */
    double step = join->parts[0].product->time_step;
    double begin = join->parts[0].first;
    const struct ratio ratio = join->parts[0].product->bank.oversample;
    const uint32_t turn =
        (uint32_t)max_u64(1, ratio.num / max_u64(1, gcd_u64(ratio.num, ratio.den)));
    for (uint32_t i = 0; i < join->count; i++) {
        struct join_part *part = &join->parts[i];
        double rows = (part->first - begin) / step;
        REQUIRE(
            rows < 0x1p52 && fabs(rows - rint(rows)) <= most, STATUS_USAGE,
            "join: %s begins %.6f rows after %s, expected a whole number: their dumps do not lie "
            "on one grid",
            part->path, rows, join->parts[0].path);
        part->first_row = (uint64_t)rint(rows);
        REQUIRE(join->parts[0].product->kind != PRODUCT_SPECTRA || part->first_row % turn == 0,
                STATUS_USAGE,
                "join: %s begins %" PRIu64
                " rows after %s: phases of its channels count from its own first sample, and go on "
                "only from a multiple of %u rows",
                part->path, part->first_row, join->parts[0].path, turn);
        REQUIRE(i == 0 || part->first_row >= join->rows, STATUS_USAGE,
                "join: %s begins with row %" PRIu64 ", but %s ends behind row %" PRIu64
                ": they overlap",
                part->path, part->first_row, join->parts[i - 1].path, join->rows - 1);
        join->rows = part->first_row + part->product->rows;
    }
out:
    return st;
}

static status_t join_place_bands(struct join *join)
{
    status_t st = STATUS_OK;
    static const double most = 1e-3;
    const struct product *first = join->parts[0].product;
    for (uint32_t i = 1; i < join->count; i++) {
        const struct product *before = join->parts[i - 1].product;
        const struct product *product = join->parts[i].product;
        double later = join_later(first, product) / first->time_step;
        REQUIRE(product->rows == first->rows && fabs(later) <= most, STATUS_USAGE,
                "join: %s and %s have different channels, and different times: %" PRIu64
                " and %" PRIu64 " rows, the second begins %.6g rows later",
                join->parts[0].path, join->parts[i].path, first->rows, product->rows, later);
        REQUIRE(before->frequency_hz[before->frequencies - 1] < product->frequency_hz[0],
                STATUS_USAGE,
                "join: %s ends with %.12g Hz, %s begins with %.12g Hz: their bands overlap, or "
                "descend",
                join->parts[i - 1].path, before->frequency_hz[before->frequencies - 1],
                join->parts[i].path, product->frequency_hz[0]);
    }
    join->rows = first->rows;
out:
    return st;
}

status_t join_open(struct join *join)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < join->count; i++) {
        TRY(join_open_part(&join->parts[i]));
    }
    TRY(join_find_axis(join));
    TRY(join->along == JOIN_TIME ? join_place_rows(join) : join_place_bands(join));
out:
    return st;
}
