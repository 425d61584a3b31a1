/* The course of a join: parts, the file, its values, its name. */
#include "product/join.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/format/formats.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/hdf5/h5.h"
#include "io/mark.h"
#include "product/contents.h"
#include "product/export/export_file.h"
#include "product/join_parts.h"
#include "product/packed.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

/* Values of a join: copied byte for byte from where the parts have them. */

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
    const struct join_dataset *set = f->set;
    /* A part without weights lacks their scale, coarse_frequency, in double, and themselves. */
    if (set->from[part] == UINT64_MAX && !set->is_rows && set->element_bytes == sizeof(double)) {
        const double *hz = f->join->parts[part].product->frequency_hz;
        for (uint64_t i = 0; i < set->count[part]; i++) {
            ((double *)out)[i] = hz[i * set->each] + set->centre;
        }
        return STATUS_OK;
    }
    if (set->from[part] == UINT64_MAX && !set->is_rows) {
        static const float whole = 1;
        for (uint64_t i = 0; i < count * lead / sizeof whole; i++) {
            memcpy((char *)out + i * sizeof whole, &whole, sizeof whole);
        }
        return STATUS_OK;
    }
    return set->is_rows ? rows_read(f->rows[part], first, count, 0, lead, out)
                        : file_read(f->parts[part], f->join->parts[part].path,
                                    set->from[part] + first * lead, out, count * lead);
}

/* Writes bytes, or compares them. */
static status_t fill_put(struct join_filling *f, uint64_t offset, const void *data, uint64_t bytes)
{
    if (!f->there) {
        return file_write(f->fd, f->path, offset, data, bytes);
    }
    for (uint64_t at = 0; at < bytes && !f->differs; at += BLOCK) {
        uint64_t count = min_u64(BLOCK, bytes - at);
        TRY(file_read(f->fd, f->path, offset + at, f->there, count));
        f->differs = memcmp(f->there, (const char *)data + at, (size_t)count) != 0;
    }
    return STATUS_OK;
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

/* Writes the missing value, or zeros. */
static status_t fill_missing(struct join_filling *f, uint64_t first, uint64_t end)
{
    const uint8_t *missing = (const uint8_t *)&f->set->missing;
    uint64_t most = fill_steps(f);
    for (uint64_t i = 0; i < most * f->lead; i++) {
        f->block[i] = (char)missing[i % sizeof f->set->missing];
    }
    for (uint64_t at = first; at < end; at += most) {
        TRY(fill_write(f, at, min_u64(most, end - at)));
    }
    return STATUS_OK;
}

static status_t fill_times(struct join_filling *f)
{
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
    return fill_missing(f, next, set->dims[0]);
}

/* Fills each step along the first axis from pieces of all parts. */
static status_t fill_bands(struct join_filling *f)
{
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
    return STATUS_OK;
}

/* Writes a scale of times: start + n step. */
static status_t fill_scale(struct join_filling *f)
{
    uint64_t most = BLOCK / sizeof(double);
    for (uint64_t at = 0; at < f->set->dims[0]; at += most) {
        uint64_t count = min_u64(most, f->set->dims[0] - at);
        double *values = (double *)(void *)f->block;
        for (uint64_t i = 0; i < count; i++) {
            values[i] = f->set->start + (double)(at + i) * f->set->step;
        }
        TRY(fill_put(f, f->set->offset + at * sizeof *values, values, count * sizeof *values));
    }
    return STATUS_OK;
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
    TRY_OUT(memory_aligned((size_t)bytes, 1, "rows", &f->block));
    TRY_OUT(memory_aligned((size_t)bytes, 1, "rows", &f->piece));
    TRY_OUT(f->set->step > 0              ? fill_scale(f)
            : f->join->along == JOIN_TIME ? fill_times(f)
                                          : fill_bands(f));
out:
    MEMORY_FREE(f->block, f->piece);
    f->block = f->piece = NULL;
    return st;
}

static status_t fill_open(struct join_filling *f)
{
    TRY(memory_zeroed(f->join->count, sizeof *f->parts, "parts", &f->parts));
    TRY(memory_zeroed(f->join->count, sizeof(rows_t *), "parts", &f->rows));
    for (uint32_t i = 0; i < f->join->count; i++) {
        f->parts[i] = -1;
    }
    for (uint32_t i = 0; i < f->join->count; i++) {
        TRY(file_open_read(f->join->parts[i].path, &f->parts[i]));
        TRY(rows_open(f->join->parts[i].product, &f->rows[i]));
    }
    return STATUS_OK;
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
    MEMORY_FREE(f->there, f->parts, f->rows);
}

/* Writes the joined datasets of the parts, the counts and the CRCs into the open file. Fails with
 * DATA, NO_SPACE, DEVICE (memory, descriptors). */
static status_t join_fill(struct join *join, int fd, const char *path)
{
    SCOPED(fill_close) struct join_filling f = {.join = join, .path = path, .fd = fd};
    struct product_counts counts = {.missing = 0};
    SCOPED(free_at) uint32_t *sums = NULL;
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
    return product_put_counts(fd, path, &join->place, &counts);
}

/* Sets *is_same to whether the open file has what join_fill() would write. Fails with DATA if one
 * cannot be read; with DEVICE (memory, descriptors). */
static status_t join_matches(struct join *join, int fd, const char *path, int *is_same)
{
    SCOPED(fill_close) struct join_filling f = {.join = join, .path = path, .fd = fd};
    TRY(memory_aligned(BLOCK, 1, "rows", &f.there));
    TRY(fill_open(&f));
    for (size_t i = 0; i < join->nsets && !f.differs; i++) {
        f.set = &join->sets[i];
        TRY(fill_set(&f));
    }
    *is_same = !f.differs;
    return STATUS_OK;
}

/* Which parts there are, along which axis they are one after the other, and where each begins. */

static status_t join_open_part(struct join_part *part)
{
    TRY(formats_expect(part->path, PRODUCT_EXPECTED));
    TRY(product_open(part->path, &part->product));
    REQUIRE(part->product, STATUS_DATA, "%s is not a product of voltmill", part->path);
    enum product_kind kind = part->product->kind;
    REQUIRE(product_quantity(kind) == QUANTITY_POWER || product_quantity(kind) == QUANTITY_SPECTRA,
            STATUS_USAGE, "join: %s contains %s, expected power or spectra", part->path,
            product_name(kind));
    REQUIRE(part->product->place.crc_offset > 0, STATUS_USAGE,
            "join: %s was made by an older version: voltmill run makes it anew", part->path);
    return h5_open_file(part->path, &part->file);
}

/* Words for a number that two parts must have alike. */
static status_t join_check_number(const struct join *join, uint32_t i, const char *what, double a,
                                  double b)
{
    return REQUIRED(fabs(a - b) <= 1e-12 * fabs(a), STATUS_USAGE,
                    "join: %s has %s %.15g, but %s %.15g", join->parts[i].path, what, b,
                    join->parts[0].path, a);
}

static status_t join_check_alike(const struct join *join, uint32_t i)
{
    const struct product *a = join->parts[0].product;
    const struct product *b = join->parts[i].product;
    REQUIRE(a->kind == b->kind, STATUS_USAGE, "join: %s contains %s, but %s %s",
            join->parts[i].path, product_name(b->kind), join->parts[0].path, product_name(a->kind));
    TRY(join_check_number(join, i, "seconds from row to row:", a->time_step, b->time_step));
    TRY(join_check_number(join, i, "channels in its filter bank:", a->bank.channels,
                          b->bank.channels));
    TRY(join_check_number(join, i, "streams or pols:", (double)a->streams, (double)b->streams));
    TRY(join_check_number(join, i, "the sample rate", a->bank.sample_rate_hz,
                          b->bank.sample_rate_hz));
    return REQUIRED(a->sky.has_start == b->sky.has_start, STATUS_USAGE,
                    "join: of %s and %s only one says when it starts", join->parts[0].path,
                    join->parts[i].path);
}

/* When the first row of a part is taken, after that of another. */
static double join_later(const struct product *a, const struct product *b)
{
    return (a->sky.has_start ? utc_difference(b->sky.start, a->sky.start) : 0) + b->first_time -
           a->first_time;
}

/* Parts of one band are of different times, parts of different bands of one time. */
static status_t join_find_axis(struct join *join)
{
    const struct product *first = join->parts[0].product;
    int is_one_band = 1;
    for (uint32_t i = 1; i < join->count; i++) {
        const struct product *other = join->parts[i].product;
        TRY(join_check_alike(join, i));
        is_one_band = is_one_band && first->frequencies == other->frequencies &&
                      memcmp(first->frequency_hz, other->frequency_hz,
                             first->frequencies * sizeof *first->frequency_hz) == 0;
    }
    join->along = is_one_band ? JOIN_TIME : JOIN_FREQUENCY;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct product *product = join->parts[i].product;
        join->parts[i].first = is_one_band ? join_later(first, product) : product->frequency_hz[0];
    }
    qsort(join->parts, join->count, sizeof *join->parts, compare_f64);
    return STATUS_OK;
}

static status_t join_place_rows(struct join *join)
{
    static const double most = 1e-3; /* of a row: beside its place */
    double step = join->parts[0].product->time_step;
    join->channels = join->parts[0].product->frequencies;
    double begin = join->parts[0].first;
    const struct ratio ratio = join->parts[0].product->bank.oversample;
    const uint32_t turn =
        (uint32_t)max_u64(1, ratio.num / max_u64(1, gcd_u64(ratio.num, ratio.den)));
    for (uint32_t i = 0; i < join->count; i++) {
        struct join_part *part = &join->parts[i];
        double rows = (part->first - begin) / step;
        REQUIRE(rows < 0x1p52 && fabs(rows - rint(rows)) <= most, STATUS_USAGE,
                "join: %s begins %.6f rows after %s, expected a whole number: their rows do not "
                "lie on one grid",
                part->path, rows, join->parts[0].path);
        part->first_row = (uint64_t)rint(rows);
        REQUIRE(join->parts[0].product->kind != PRODUCT_SPECTRA || part->first_row % turn == 0,
                STATUS_USAGE,
                "join: %s begins %" PRIu64
                " rows after %s: phases of its channels count from its own first sample, and go on "
                "only from a multiple of %u rows",
                part->path, part->first_row, join->parts[0].path, turn);
        REQUIRE(i == 0 || part->first_row >= join->rows, STATUS_USAGE,
                "join: %s begins with row %" PRIu64 ", but %s ends after row %" PRIu64
                ": they overlap",
                part->path, part->first_row, join->parts[i - 1].path, join->rows - 1);
        join->rows = part->first_row + part->product->rows;
    }
    return STATUS_OK;
}

static status_t join_place_bands(struct join *join)
{
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
        REQUIRE(
            before->frequency_hz[before->frequencies - 1] < product->frequency_hz[0], STATUS_USAGE,
            "join: %s ends with %.12g Hz, %s begins with %.12g Hz: their bands overlap, or descend",
            join->parts[i - 1].path, before->frequency_hz[before->frequencies - 1],
            join->parts[i].path, product->frequency_hz[0]);
    }
    join->rows = first->rows;
    for (uint32_t i = 0; i < join->count; i++) {
        join->channels += join->parts[i].product->frequencies;
    }
    return STATUS_OK;
}

/* Lines of `text` that are not in `out` yet. */
static void words_add_lines(struct text *out, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        int is_there = 0;
        for (const char *line = out->data; line && *line && !is_there;) {
            size_t its = strcspn(line, "\n");
            is_there = its == length && memcmp(line, text, length) == 0;
            line += its + (line[its] == '\n');
        }
        if (!is_there) {
            text_add_bytes(out, text, length);
            text_add(out, "\n");
        }
        text += length + (text[length] == '\n');
    }
}

/* As a part has it: without a newline at its end. */
static void words_cut_end(struct text *text)
{
    if (text->length > 0) {
        text->data[--text->length] = '\0';
    }
}

static status_t join_list_parts(struct join *join)
{
    struct text *job = &join->origin.job;
    text_add(job, "join: %s\nparts:\n", join->along == JOIN_TIME ? "time" : "frequency");
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_part *part = &join->parts[i];
        text_add(job, "  - file: %s\n    rows: [%llu, %llu]\n    version: %s\n    job: |\n",
                 text_basename(part->path), (unsigned long long)part->first_row,
                 (unsigned long long)(part->first_row + part->product->rows - 1),
                 part->product->origin.version ? part->product->origin.version : "unknown");
        const char *line = part->product->origin.job_text;
        for (size_t length; *line; line += length + (line[length] == '\n')) { /* further in */
            length = strcspn(line, "\n");
            text_add(job, "      %.*s\n", (int)length, line);
        }
        words_add_lines(&join->origin.inputs, part->product->origin.inputs);
        words_add_lines(&join->origin.assumed, part->product->origin.assumed);
        words_add_lines(&join->origin.arithmetic, part->product->origin.arithmetic);
    }
    words_cut_end(&join->origin.assumed);
    words_cut_end(&join->origin.arithmetic);
    TRY(job->status);
    TRY(join->origin.inputs.status);
    TRY(join->origin.assumed.status);
    return join->origin.arithmetic.status;
}

/* Opens the parts, finds along which axis they are one after the other, and where each begins.
 * Fails with USAGE if they do not fit, with DATA if one is unreadable; with DEVICE, STOPPED (while
 * a child process opens files). */
static status_t join_open(struct join *join)
{
    for (uint32_t i = 0; i < join->count; i++) {
        TRY(join_open_part(&join->parts[i]));
    }
    TRY(join_find_axis(join));
    TRY(join->along == JOIN_TIME ? join_place_rows(join) : join_place_bands(join));
    return join_list_parts(join);
}

/* Checks that no input is the output. */
static status_t join_check_output(const struct join *join)
{
    SCOPED(guard_free) struct guard reads = {0};
    for (uint32_t i = 0; i < join->count; i++) {
        TRY(guard_add(&reads, "the part", join->parts[i].path));
        for (uint32_t k = 0; k < i; k++) {
            int is_same = 0;
            TRY(file_is_same(join->parts[k].path, join->parts[i].path, &is_same));
            REQUIRE(!is_same, STATUS_USAGE, "join: %s and %s are one file", join->parts[k].path,
                    join->parts[i].path);
        }
    }
    TRY(guard_check_part(&reads, "the output", join->path));
    TRY(file_check_new(join->path, 1)); /* what is there may be the same: join_find_before() */
    return STATUS_OK;
}

/* Whether two texts are the same but for how they end. */
static int join_is_text(const char *stored, const struct text *text)
{
    size_t length = stored ? strlen(stored) : 0;
    size_t wanted = text->length;
    while (length > 0 && isspace((unsigned char)stored[length - 1])) {
        length--;
    }
    while (wanted > 0 && isspace((unsigned char)text->data[wanted - 1])) {
        wanted--;
    }
    return length == wanted && (length == 0 || memcmp(stored, text->data, length) == 0);
}

static void join_free_sets(struct join *join)
{
    for (size_t i = 0; i < join->nsets; i++) {
        MEMORY_FREE(join->sets[i].name, join->sets[i].first);
    }
    free(memory_move(&join->sets));
    join->nsets = 0;
}

/* Whether a file is what the same parts have been joined to: by its provenance, then by all that
 * was put together. */
static status_t join_is_whole(struct join *join, const char *path, int *out)
{
    status_t st = STATUS_OK;
    int fd = -1;
    struct product *product = NULL;
    *out = 0;
    TRY_OUT(report_forgive(product_open(path, &product)));
    if (product) {
        *out = product->rows == join->rows &&
               join_is_text(product->origin.job_text, &join->origin.job) &&
               join_is_text(product->origin.inputs, &join->origin.inputs) &&
               join_is_text(product->origin.assumed, &join->origin.assumed) &&
               join_is_text(product->origin.arithmetic, &join->origin.arithmetic);
    }
    if (*out) {
        TRY_OUT(join_make(join, -1, path));
        TRY_OUT(file_open_read(path, &fd));
        TRY_OUT(join_matches(join, fd, path, out));
    }
out:
    join_free_sets(join);
    file_close(fd);
    product_destroy(product);
    return st;
}

/* Whether the result has its name already; another file of that name stays, unless forced. */
static status_t join_find_before(struct join *join, int *is_before)
{
    int exists = 0;
    *is_before = 0;
    TRY(file_exists(join->path, &exists));
    TRY(exists && !join->force ? join_is_whole(join, join->path, is_before) : STATUS_OK);
    return *is_before ? STATUS_OK : file_check_new(join->path, join->force);
}

static status_t join_say(const struct join *join, struct text *said)
{
    uint64_t there = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        there += join->parts[i].product->rows;
    }
    int is_time = join->along == JOIN_TIME;
    text_add_shown(said, "%s: %u parts in %s, %s of %llu %s", join->path, join->count,
                   is_time ? "time" : "frequency", units_amount(join->rows, "row", "rows"),
                   (unsigned long long)join->channels,
                   units_plural(join->channels, "channel", "channels"));
    if (is_time && there < join->rows) {
        text_add(said, ", %s between the parts missing", units_count(join->rows - there));
    }
    text_add(said, ", %s\n", units_bytes(join->place.file_bytes));
    return said->status;
}

static void join_free(struct join *join)
{
    for (uint32_t i = 0; join->parts && i < join->count; i++) {
        product_destroy(join->parts[i].product);
        h5_close(join->parts[i].file);
    }
    join_free_sets(join);
    free(join->parts);
    text_free(&join->origin.job);
    text_free(&join->origin.inputs);
    text_free(&join->origin.assumed);
    text_free(&join->origin.arithmetic);
}

/* Takes FILE.part: new, or what a join that ended early has left. One without a mark that is made
 * of these parts lacks only its name. */
static status_t join_claim(struct join *join, struct before *before)
{
    int is_whole = 1;
    TRY(before_take(before, 0, NULL));
    if (before->kind == BEFORE_UNNAMED) {
        TRY(join_is_whole(join, before->part, &is_whole));
        TRY(is_whole || join->force ? STATUS_OK : before_differ(before));
    }
    if (!is_whole) {
        claim_warn(before->part, 0);
        before->kind = BEFORE_NOTHING;
        before->is_ours = 1;
    }
    return STATUS_OK;
}

/* Writes the file under the name that it has until it is complete. */
static status_t join_write(struct join *join, struct before *before)
{
    const char *part = before->part;
    int fd = before->claim_fd;
    if (before->kind == BEFORE_UNNAMED) {
        TRY(product_find_place(part, &join->place));
    } else {
        TRY(join_make(join, fd, part));
        TRY(file_reserve(fd, part, join->place.file_bytes));
        TRY(join_fill(join, fd, part));
    }
    TRY(file_cut_appended(fd, part, join->place.file_bytes));
    TRY(file_sync(fd, part));
    TRY(mark_hdf5(fd, part, MARK_NONE));
    before->is_ours = 0; /* what cannot be renamed stays, as the message says */
    return file_publish(fd, part, join->path, join->force);
}

status_t join_parts(char *const *parts, uint32_t count, const char *path, int force,
                    struct text *said)
{
    SCOPED(join_free) struct join join = {.path = path, .force = force, .count = count};
    SCOPED(free_at) char *part = NULL;
    SCOPED(before_end) struct before before = {.file = path, .expected_fd = -1, .claim_fd = -1};
    int is_before = 0;
    TRY(memory_zeroed(join.count, sizeof *join.parts, "parts", &join.parts));
    for (uint32_t i = 0; i < join.count; i++) {
        join.parts[i] = (struct join_part){.path = parts[i], .file = -1};
    }
    TRY(join_check_output(&join));
    TRY(join_open(&join));
    TRY(file_part_name(path, &part));
    before.part = part;
    TRY(join_find_before(&join, &is_before));
    if (!is_before) {
        TRY(join_claim(&join, &before));
        TRY(join_find_before(&join, &is_before));
    }
    if (is_before) {
        return text_add_shown(said, "complete before: %s\n", path);
    }
    TRY(join_write(&join, &before));
    return join_say(&join, said);
}
