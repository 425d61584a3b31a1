/* Masks: ranges of a text file, or the flags of a product. */
#include "plan/flag_mask.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/flagged.h"
#include "product/kind/bank_axes.h"

#include <errno.h>
#include <math.h>

/* A channel of the bank, in the order of frequencies. */
struct place {
    double hz; /* first: for compare_f64() */
    uint64_t at;
};

struct span {
    uint64_t first, end;
};

struct range {
    int is_by_hz;         /* places of by_hz, else channels */
    uint64_t first, last; /* the last included */
    double from, to;      /* seconds */
};

struct flag_mask {
    char *path;
    struct time_axis time; /* of our cells */
    uint64_t channels, ifs;
    double width_hz;     /* of a channel */
    struct place *by_hz; /* [channels]; NULL once a product's channels are matched */
    struct range *ranges;
    size_t nranges;
    /* State of a mask that is a product. */
    struct product *product;
    int fd;
    double later;         /* seconds from its start to ours */
    struct place *theirs; /* [flag_channels] its channels by frequency, */
    struct span *touched; /* [channels] and those of them that overlap each of ours */
    unsigned char *row;
    uint64_t row_at;  /* which row that is; UINT64_MAX: none; */
    struct span read; /* and which of its channels were read */
};

/* Share of the narrower of two channels, or of the shorter of two cells, that may be rounding: what
 * overlaps by no more only touches. */
static const double flag_mask_rounding = 1e-3;

/* Returns the first place whose frequency is at least `hz`. */
static uint64_t flag_mask_find(const struct place *places, uint64_t count, double hz)
{
    uint64_t low = 0;
    uint64_t high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (places[middle].hz < hz) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- text ---- */

static status_t flag_mask_take_line(flag_mask_t *mask, size_t line, char *text)
{
    enum { WORDS = 6 };
    char *words[WORDS + 1] = {NULL};
    double numbers[4] = {0, 0, -INFINITY, INFINITY};
    char *rest = NULL;
    size_t count = 0;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, " \t\r\n\v\f,", &rest); word && count <= WORDS;
         word = strtok_r(NULL, " \t\r\n\v\f,", &rest)) {
        words[count++] = word;
    }
    if (count == 0) {
        return STATUS_OK;
    }
    int is_band = strcmp(words[0], "freq_hz") == 0;
    int ok = (is_band || strcmp(words[0], "channels") == 0) && (count == 3 || count == WORDS);
    ok = ok && (count == 3 || strcmp(words[3], "seconds") == 0);
    for (size_t i = 0; i < 4 && ok; i++) {
        static const size_t places[] = {1, 2, 4, 5};
        ok = places[i] >= count || units_parse_f64(words[places[i]], &numbers[i]);
    }
    ok = ok && numbers[0] <= numbers[1] && numbers[2] <= numbers[3];
    ok = ok && (is_band || (numbers[0] >= 0 && numbers[0] == floor(numbers[0]) &&
                            numbers[1] == floor(numbers[1]) && numbers[1] < 0x1p53));
    REQUIRE(ok, STATUS_DATA,
            "%s, line %zu: expected freq_hz FROM TO or channels FIRST LAST, and perhaps seconds "
            "FROM TO",
            mask->path, line);
    struct range range = {.is_by_hz = is_band, .from = numbers[2], .to = numbers[3]};
    uint64_t end = 0;
    if (is_band) { /* channels whose bands touch it */
        double half = mask->width_hz / 2;
        range.first = flag_mask_find(mask->by_hz, mask->channels, numbers[0] - half);
        end = flag_mask_find(mask->by_hz, mask->channels, numbers[1] + half);
    } else {
        range.first = (uint64_t)numbers[0];
        end = (uint64_t)numbers[1] + 1;
        REQUIRE(end <= mask->channels, STATUS_DATA,
                "%s, line %zu: channel %llu, but there are %llu (counted from 0)", mask->path, line,
                (unsigned long long)end - 1, (unsigned long long)mask->channels);
    }
    range.last = end - 1;
    if (end > range.first) {
        TRY(memory_grow(mask->nranges, sizeof *mask->ranges, "a mask", &mask->ranges));
        mask->ranges[mask->nranges++] = range;
    }
    return STATUS_OK;
}

static status_t flag_mask_read_text(flag_mask_t *mask)
{
    SCOPED(free_at) char *text = NULL;
    size_t room = 0;
    SCOPED(text_close_at) FILE *file = NULL;
    TRY(text_open(mask->path, "the mask ", 0, &file));
    for (size_t line = 1; getline(&text, &room, file) >= 0; line++) {
        TRY(flag_mask_take_line(mask, line, text));
    }
    return REQUIRED(!ferror(file), STATUS_DATA, "cannot read %s: %s", mask->path, strerror(errno));
}

/* ---- a product ---- */

/* Finds which of their channels overlap each of ours. Theirs may be means of several of which cells
 * have each. */
static status_t flag_mask_match(flag_mask_t *mask)
{
    const struct product *product = mask->product;
    const uint64_t count = product->flags.channels;
    uint64_t each = count / product->frequencies;
    double width = product->frequencies > 1
                       ? fabs(product->frequency_hz[1] - product->frequency_hz[0]) / (double)each
                       : mask->width_hz;
    double reach = (width + mask->width_hz) / 2 - flag_mask_rounding * fmin(width, mask->width_hz);
    TRY(memory_zeroed((size_t)count, sizeof *mask->theirs, "a mask", &mask->theirs));
    TRY(memory_zeroed((size_t)mask->channels, sizeof *mask->touched, "a mask", &mask->touched));
    int falls = product->frequencies > 1 && product->frequency_hz[1] < product->frequency_hz[0];
    for (uint64_t i = 0; i < count; i++) {
        double offset = (double)(i % each) - (double)(each - 1) / 2;
        mask->theirs[i] =
            (struct place){product->frequency_hz[i / each] + (falls ? -offset : offset) * width, i};
    }
    qsort(mask->theirs, (size_t)count, sizeof *mask->theirs, compare_f64);
    for (uint64_t i = 0; i < mask->channels; i++) {
        double hz = mask->by_hz[i].hz;
        mask->touched[mask->by_hz[i].at] =
            (struct span){flag_mask_find(mask->theirs, count, hz - reach),
                          flag_mask_find(mask->theirs, count, hz + reach)};
    }
    free(memory_move(&mask->by_hz));
    return STATUS_OK;
}

static status_t flag_mask_read_product(flag_mask_t *mask, const struct archive *archive)
{
    TRY(product_open(mask->path, &mask->product));
    const struct product *product = mask->product;
    REQUIRE(product && product->place.flags_offset > 0 && product->frequency_hz &&
                product->flags.channels % product->frequencies == 0,
            STATUS_DATA, "the mask %s: expected text, or a product with /flags", mask->path);
    REQUIRE(product->sky.has_start || !archive->sky.has_start, STATUS_DATA,
            "the mask %s does not say when it starts, but the archive does: make it anew of an "
            "archive with a start, or write its channels and seconds as text",
            mask->path);
    REQUIRE(archive->sky.has_start || !product->sky.has_start, STATUS_DATA,
            "the mask %s says when it starts, but the archive does not: expected a start of the "
            "archive (input.layout.start gives one), or the mask's channels and seconds as text",
            mask->path);
    mask->later = /* seconds are counted from the start of each */
        product->sky.has_start ? utc_difference(archive->sky.start, product->sky.start) : 0;
    TRY(flag_mask_match(mask));
    TRY(memory_zeroed((size_t)(product->flags.ifs * product->flags.channels), 1, "a mask",
                      &mask->row));
    return file_open_read(mask->path, &mask->fd);
}

/* Finds the rows of their cells that overlap one of ours. */
static struct span flag_mask_rows(const flag_mask_t *mask, double from, double to)
{
    const struct product *product = mask->product;
    const double rows = (double)product->flags.rows;
    double step = product->time_step / (double)(product->flags.rows / product->rows);
    double shift = mask->later - product->first_time + product->time_step / 2;
    double rounding = flag_mask_rounding * fmin(step, to - from);
    double first = floor((from + shift + rounding) / step);
    double end = ceil((to + shift - rounding) / step);
    return (struct span){(uint64_t)fmin(fmax(first, 0), rows), (uint64_t)fmin(fmax(end, 0), rows)};
}

/* Finds which of their channels lie between those that overlap a part of ours. */
static struct span flag_mask_needs(const flag_mask_t *mask, const struct flag_mask_part *part)
{
    struct span needs = {mask->product->flags.channels, 0};
    for (uint64_t i = part->first; i < part->first + part->channels; i++) {
        for (uint64_t k = mask->touched[i].first; k < mask->touched[i].end; k++) {
            needs.first = min_u64(needs.first, mask->theirs[k].at);
            needs.end = max_u64(needs.end, mask->theirs[k].at + 1);
        }
    }
    needs.end = max_u64(needs.first, needs.end);
    return needs;
}

/* Reads those channels of all ifs of a row, unless they are there. Groups of coarse channels read
 * each row anew. */
static status_t flag_mask_read_row(flag_mask_t *mask, uint64_t row, struct span needs)
{
    const struct product *product = mask->product;
    if (mask->row_at == row && mask->read.first == needs.first && mask->read.end == needs.end) {
        return STATUS_OK;
    }
    mask->row_at = UINT64_MAX;
    for (uint64_t f = 0; f < product->flags.ifs; f++) {
        const uint64_t at = f * product->flags.channels + needs.first;
        const uint64_t line = row * product->flags.ifs * product->flags.channels;
        TRY(file_read(mask->fd, mask->path, product->place.flags_offset + line + at, mask->row + at,
                      needs.end - needs.first));
    }
    mask->row_at = row;
    mask->read = needs;
    return STATUS_OK;
}

static void flag_mask_mark_row(const flag_mask_t *mask, const struct flag_mask_part *part,
                               unsigned char *flags)
{
    const struct product *product = mask->product;
    const struct span *touched = mask->touched + part->first;
    int is_same = product->flags.ifs == mask->ifs;
    for (uint64_t s = 0; s < part->ifs; s++) {
        uint64_t from = is_same ? part->first_if + s : 0;
        uint64_t end = is_same ? from + 1 : product->flags.ifs;
        for (uint64_t i = 0; i < part->channels; i++) {
            for (uint64_t f = from; f < end; f++) {
                const unsigned char *row = mask->row + f * product->flags.channels;
                for (uint64_t at = touched[i].first; at < touched[i].end; at++) {
                    flags[s * part->channels + i] |= row[mask->theirs[at].at] ? FLAG_MASK : 0;
                }
            }
        }
    }
}

/* ---- both ---- */

status_t flag_mask_mark(flag_mask_t *mask, uint64_t cell, const struct flag_mask_part *part,
                        unsigned char *flags)
{
    double centre = mask->time.first + (double)cell * mask->time.step;
    double half = mask->time.step / 2;
    struct span rows = {0, 0};
    struct span needs = {0, 0};
    for (size_t i = 0; i < mask->nranges; i++) {
        const struct range *range = &mask->ranges[i];
        int is_in = centre - half < range->to && centre + half > range->from;
        for (uint64_t k = range->first; k <= range->last && is_in; k++) {
            uint64_t at = (range->is_by_hz ? mask->by_hz[k].at : k) - part->first;
            for (uint64_t s = 0; s < part->ifs && at < part->channels; s++) {
                flags[s * part->channels + at] |= FLAG_MASK;
            }
        }
    }
    if (mask->product) {
        rows = flag_mask_rows(mask, centre - half, centre + half);
        needs = flag_mask_needs(mask, part);
    }
    for (uint64_t row = rows.first; row < rows.end; row++) {
        TRY(flag_mask_read_row(mask, row, needs));
        flag_mask_mark_row(mask, part, flags);
    }
    return STATUS_OK;
}

uint64_t flag_mask_bytes(const flag_mask_t *mask)
{
    if (!mask || !mask->product) {
        return mask ? mask->channels * sizeof *mask->by_hz + mask->nranges * sizeof *mask->ranges
                    : 0;
    }
    const struct product *product = mask->product;
    return mask->channels * sizeof *mask->touched +
           product->flags.channels * (sizeof *mask->theirs + product->flags.ifs) +
           product->frequencies * sizeof *product->frequency_hz;
}

static status_t flag_mask_is_hdf5(const char *path, int *out)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    char first[sizeof signature - 1] = "";
    SCOPED(text_close_at) FILE *file = NULL;
    TRY(text_open(path, "the mask ", 0, &file));
    *out = fread(first, 1, sizeof first, file) == sizeof first &&
           memcmp(first, signature, sizeof first) == 0;
    return STATUS_OK;
}

status_t flag_mask_create(const char *path, const struct product_spec *spec, flag_mask_t **out)
{
    SCOPED(flag_mask_destroy_at) flag_mask_t *mask = NULL;
    int is_hdf5 = 0;
    TRY(memory_zeroed(1, sizeof *mask, "a mask", &mask));
    mask->fd = -1;
    mask->row_at = UINT64_MAX;
    mask->time = flagged_time(spec);
    mask->channels = bank_channels(spec);
    mask->ifs = flagged_ifs(spec);
    mask->width_hz = archive_chan_width_hz(spec->archive) / spec->bank.channels;
    TRY(memory_text(path, &mask->path));
    TRY(memory_zeroed((size_t)mask->channels, sizeof *mask->by_hz, "a mask", &mask->by_hz));
    for (uint64_t i = 0; i < mask->channels; i++) {
        mask->by_hz[i] = (struct place){bank_channel(spec, i), i};
    }
    qsort(mask->by_hz, (size_t)mask->channels, sizeof *mask->by_hz, compare_f64);
    TRY(flag_mask_is_hdf5(path, &is_hdf5));
    TRY(is_hdf5 ? flag_mask_read_product(mask, spec->archive) : flag_mask_read_text(mask));
    *out = memory_move(&mask);
    return STATUS_OK;
}

void flag_mask_destroy(flag_mask_t *mask)
{
    if (mask) {
        file_close(mask->fd);
        product_destroy(mask->product);
        MEMORY_FREE(mask->path, mask->by_hz, mask->ranges, mask->theirs, mask->touched, mask->row,
                    mask);
    }
}
