/* Heads of journals: made of a plan, compared, packed. */
#include "output/journal_head.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/crc.h"
#include "io/file.h"
#include "plan/plan_products.h"
#include "product/contents.h"
#include "product/export/export_bank.h"
#include "product/kind/bank_axes.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

/* Compares two origins line by line, and shows where they differ. */

/* Characters of a line that is too long to be shown: before the place where it differs, and all. */
enum { SHOWN_BEFORE = 80, SHOWN = 160 };

/* A line within a text. */
struct line {
    const char *at;
    size_t length;
};

static struct line origin_line_at(const char *text)
{
    return (struct line){text, strcspn(text, "\n")};
}

static const char *origin_line_after(struct line line)
{
    const char *end = line.at + line.length;
    return *end ? end + 1 : end;
}

static int origin_is_equal(struct line a, struct line b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Returns the beginning of the character (UTF-8) that byte `at` belongs to. */
static size_t origin_begin_of_character(struct line line, size_t at)
{
    while (at > 0 && at < line.length && ((unsigned char)line.at[at] & 0xC0) == 0x80) {
        at--;
    }
    return at;
}

/* The line without the blanks before it, around `place` if it is long. */
static status_t origin_show(struct line line, size_t place, struct text *out)
{
    size_t from = 0;
    while (from < line.length && line.at[from] == ' ') {
        from++;
    }
    if (from == line.length) {
        return text_add(out, "nothing");
    }
    if (line.length - from > SHOWN && place > from + SHOWN_BEFORE) {
        from = origin_begin_of_character(line, place - SHOWN_BEFORE);
        TRY(text_add(out, "..."));
    }
    size_t end = origin_begin_of_character(line, (size_t)min_u64(line.length, from + SHOWN));
    TRY(text_add_bytes(out, line.at + from, end - from));
    return text_add(out, "%s", end < line.length ? "..." : "");
}

static status_t origin_say(const char *what, struct line then, struct line now, struct text *out)
{
    size_t place = 0;
    while (place < then.length && place < now.length && then.at[place] == now.at[place]) {
        place++;
    }
    TRY(text_add(out, "%s: ", what));
    TRY(origin_show(then, place, out));
    TRY(text_add(out, " then, "));
    TRY(origin_show(now, place, out));
    return text_add(out, " now");
}

/* Whether lines of a job differ only in the form of a number: programs before 0.3 wrote 1e6 where
 * the job did. */
static int origin_is_same_number(struct line then, struct line now)
{
    char word[UNITS_TEXT];
    double value = 0;
    size_t key = then.length;
    while (key > 0 && then.at[key - 1] != ' ') {
        key--;
    }
    int length = snprintf(word, sizeof word, "%.*s", (int)(then.length - key), then.at + key);
    if (length >= UNITS_TEXT || !strpbrk(word, ".eE+") || !units_parse_f64(word, &value)) {
        return 0;
    }
    const char *exact = units_exact(value);
    return now.length == key + strlen(exact) && strncmp(then.at, now.at, key) == 0 &&
           strncmp(now.at + key, exact, strlen(exact)) == 0;
}

/* Whether a line of the text after `line` equals `wanted`. */
static int origin_is_later(struct line line, struct line wanted)
{
    for (const char *at = origin_line_after(line); *at; at = origin_line_after(line)) {
        line = origin_line_at(at);
        if (origin_is_equal(line, wanted)) {
            return 1;
        }
    }
    return 0;
}

/* Replaces one of two lines of different keys by nothing: that of a key which the other text has
 * not. */
static void origin_align(struct line *then, struct line *now)
{
    const size_t key = strcspn(then->at, ":\n");
    if (key == strcspn(now->at, ":\n") && strncmp(then->at, now->at, key) == 0) {
        return;
    }
    if (origin_is_later(*now, *then)) {
        then->length = 0;
    } else if (origin_is_later(*then, *now)) {
        now->length = 0;
    }
}

static status_t origin_compare_words(const char *what, const char *then, const char *now,
                                     struct text *out)
{
    if (!now || out->length > 0) {
        return STATUS_OK;
    }
    then = then ? then : "";
    while (*then || *now) {
        struct line before = origin_line_at(then);
        struct line after = origin_line_at(now);
        int is_number = strcmp(what, "job") == 0 && origin_is_same_number(before, after);
        if (!origin_is_equal(before, after) && !is_number) {
            origin_align(&before, &after);
            TRY(origin_say(what, before, after, out));
            break;
        }
        then = origin_line_after(before);
        now = origin_line_after(after);
    }
    return STATUS_OK;
}

status_t origin_compare(const struct origin *then, const struct origin *now, struct text *out)
{
    TRY(origin_compare_words("version", then->program, now->program, out));
    TRY(origin_compare_words("job", then->job, now->job, out));
    TRY(origin_compare_words("input", then->inputs, now->inputs, out));
    TRY(origin_compare_words("coefficients", then->coefficients, now->coefficients, out));
    return origin_compare_words("arithmetic", then->arithmetic, now->arithmetic, out);
}

/* Most spans that a product can have, twice over: what is allocated for a journal is bounded. */
enum { MOST_SPANS = 1 << 22 };

void journal_head_free(struct journal_head *head)
{
    MEMORY_FREE(head->program, head->inputs, head->job, head->coefficients, head->arithmetic,
                head->folder);
    *head = (struct journal_head){0};
}

/* Adds an input, as a line for origin_compare(), by its time of change, which is exact, but valid
 * on this machine only: "/obs/a.h5: 1048576 bytes, changed 2014-06-29T01:39:20.123456789\n", for
 * journals. Fails with DATA if it cannot be looked up; with DEVICE (memory). */
static status_t inputs_add_time(const char *path, struct text *out)
{
    struct identity identity;
    struct tm utc;
    char date[UNITS_TEXT];
    TRY(identity_of_path(path, &identity));
    time_t seconds = (time_t)identity.changed_s;
    int is_date =
        gmtime_r(&seconds, &utc) && strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) > 0;
    TRY(text_add(out, "%s: %" PRIu64 " bytes, changed ", path, identity.bytes));
    return is_date ? text_add(out, "%s.%09u\n", date, identity.changed_ns)
                   : text_add(out, "%" PRId64 ".%09u s after 1970\n", identity.changed_s,
                              identity.changed_ns);
}

status_t journal_head_find_changed(const struct journal_head *begun, char **out)
{
    for (struct line line = origin_line_at(begun->inputs ? begun->inputs : ""); line.length > 0;
         line = origin_line_at(origin_line_after(line))) {
        /* The last ": " ends the path. */
        size_t end = line.length;
        while (end > 0 && strncmp(line.at + end, ": ", 2) != 0) {
            end--;
        }
        SCOPED(text_free) struct text now = {0};
        SCOPED(free_at) char *path = NULL;
        const int is_relative = line.at[0] != '/' && begun->folder;
        const char *folder = is_relative && access(begun->folder, F_OK) == 0 ? begun->folder : "";
        const size_t above = strlen(folder) + (*folder ? 1 : 0); /* characters before the path */
        TRY(memory_format(&path, "%s%s%.*s", folder, *folder ? "/" : "", (int)end, line.at));
        TRY(report_forgive(inputs_add_time(path, &now)));
        if (now.length > 0 && !origin_is_equal(line, origin_line_at(now.data + above))) {
            TRY(memory_text(path + above, out));
            break;
        }
    }
    return STATUS_OK;
}

status_t journal_head_of(const struct output_spec *spec, uint32_t i,
                         const struct product_place *place, struct journal_head *out)
{
    SCOPED(text_free) struct text inputs = {0};
    SCOPED(inputs_free) struct inputs its = {0};
    *out = (struct journal_head){.integrate = spec->items[i].integrate,
                                 .ratio = spec->items[i].ratio,
                                 .spectra = spec->items[i].spectra};
    TRY(memory_text("voltmill " VOLTMILL_VERSION, &out->program));
    out->folder = getcwd(NULL, 0);
    TRY(memory_text(spec->items[i].text, &out->job));
    TRY(inputs_of_product(&spec->inputs, i, &its));
    for (size_t at = 0; at < its.count; at++) {
        TRY(inputs_add_time(its.files[at].path, &inputs));
    }
    out->inputs = memory_move(&inputs.data);
    if (place) {
        TRY(memory_text(spec->items[i].spec.arithmetic, &out->arithmetic));
        TRY(memory_format(&out->coefficients, "CRC-32 %08x", (unsigned)spec->items[i].crc));
        out->place = *place;
        out->chunking = spec->chunking;
        out->chunking.block_spectra = 0;
        /* Older programs know groups of coarse channels that have equal parts of each line: those
         * are not described. */
        const struct product_spec *product = &spec->items[i].spec;
        if (spec->chunking.group_coarse > 0 &&
            (product->frequencies != bank_channels(product) || product->flag.is_on)) {
            out->row = plan_products_row(product);
        }
        out->backend = spec->backend;
        out->choice = spec->items[i].choice;
        memcpy(out->filters, spec->filters, sizeof out->filters);
        out->synthesis = spec->synthesis;
    }
    return STATUS_OK;
}

static struct origin head_origin_of(const struct journal_head *head)
{
    return (struct origin){.program = head->program,
                           .job = head->job,
                           .inputs = head->inputs,
                           .coefficients = head->coefficients,
                           .arithmetic = head->arithmetic};
}

status_t journal_head_compare(const char *path, const struct journal_head *begun,
                              const struct journal_head *now)
{
    SCOPED(text_free) struct text difference = {0};
    struct origin origin_then = head_origin_of(begun);
    struct origin origin_now = head_origin_of(now);
    TRY(origin_compare(&origin_then, &origin_now, &difference));
    REQUIRE(difference.length == 0, STATUS_USAGE,
            "%s was begun with another plan: %s; --restart begins anew", path, difference.data);
    return REQUIRED(!now->arithmetic || (begun->place.rows == now->place.rows &&
                                         begun->place.row_bytes == now->place.row_bytes &&
                                         begun->integrate == now->integrate),
                    STATUS_USAGE,
                    "%s was begun with another plan: %" PRIu64 " rows of %" PRIu64
                    " bytes then, %" PRIu64 " rows of %" PRIu64 " bytes now; --restart begins anew",
                    path, begun->place.rows, begun->place.row_bytes, now->place.rows,
                    now->place.row_bytes);
}

struct journal_rows journal_head_rows(const struct journal_head *head, const struct chunk *chunk)
{
    uint64_t first = min_u64(chunk->first * head->ratio / head->integrate, head->place.rows);
    uint64_t end = (chunk->first + chunk->count) * head->ratio / head->integrate;
    end = min_u64(end, head->place.rows);
    return (struct journal_rows){first, end - first};
}

/* Choices are rows of such numbers. */
enum {
    HEAD_CHOICE = sizeof(struct channelise_shape) / sizeof(uint32_t),
    HEAD_FILTERS = JOB_FILTERS * sizeof(struct filter_choice) / sizeof(uint32_t),
    HEAD_SYNTHESIS = sizeof(struct synthesise_shape) / sizeof(uint32_t)
};

static status_t head_pack_numbers(struct text *out, const void *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        TRY(pack_u64(out, ((const uint32_t *)numbers)[i]));
    }
    return STATUS_OK;
}

/* The packed head: these, the choice's shape and wisdom, the filters' and, where there is one, a
 * synthesis'. */
#define FIELD(name) PACK_FIELD(struct journal_head, name)
static const struct pack_field head_fields[] = {FIELD(program),
                                                FIELD(inputs),
                                                FIELD(job),
                                                FIELD(coefficients),
                                                FIELD(arithmetic),
                                                FIELD(folder),
                                                FIELD(integrate),
                                                FIELD(ratio),
                                                FIELD(spectra),
                                                FIELD(place),
                                                FIELD(rows),
                                                FIELD(chunking.spectra),
                                                FIELD(chunking.chunk_spectra),
                                                FIELD(chunking.streams),
                                                FIELD(chunking.group_streams),
                                                FIELD(backend),
                                                FIELD(choice.backend)};
enum { FIELDS = sizeof head_fields / sizeof *head_fields };

/* And after groups of coarse channels: */
static const struct pack_field row_fields[] = {FIELD(row.ifs), FIELD(row.first), FIELD(row.count),
                                               FIELD(row.average), FIELD(row.each)};
enum { ROW_FIELDS = sizeof row_fields / sizeof *row_fields };

status_t journal_head_pack(const struct journal_head *head, struct text *out)
{
    const struct channelise_choice *choice = &head->choice;
    TRY(pack_fields(out, head, head_fields, FIELDS));
    TRY(head_pack_numbers(out, &choice->shape, HEAD_CHOICE));
    TRY(pack_text(out, choice->wisdom));
    TRY(head_pack_numbers(out, head->filters, HEAD_FILTERS));
    if (head->chunking.group_coarse > 0) {
        static const uint32_t mark = BACKEND_AUTO; /* no synthesis has it */
        TRY(head_pack_numbers(out, &mark, 1));
        TRY(head_pack_numbers(out, &head->chunking.group_coarse, 1));
        TRY(head_pack_numbers(out, &head->chunking.coarse, 1));
        return head->row.count > 0 ? pack_fields(out, head, row_fields, ROW_FIELDS) : STATUS_OK;
    }
    if (head->synthesis.backend != BACKEND_AUTO) {
        TRY(head_pack_numbers(out, &head->synthesis.backend, 1));
        TRY(head_pack_numbers(out, &head->synthesis.shape, HEAD_SYNTHESIS));
        TRY(pack_text(out, head->synthesis.wisdom));
    }
    return STATUS_OK;
}

static void head_unpack_numbers(struct unpack *in, void *numbers, size_t count)
{
    static const struct pack_field number = {.kind = PACK_U32};
    for (size_t i = 0; i < count; i++) {
        unpack_fields(in, (uint32_t *)numbers + i, &number, 1);
    }
}

static void head_unpack_wisdom(struct unpack *in, char *out, size_t room)
{
    char *wisdom = unpack_text(in);
    if (wisdom && strlen(wisdom) < room) {
        snprintf(out, room, "%s", wisdom);
    } else {
        in->failed |= 1;
    }
    free(wisdom);
}

/* Returns whether a form that was read belongs to such a place. */
static int export_rows_makes_sense(const struct export_rows *rows,
                                   const struct product_place *place)
{
    enum { HEAD_MOST = 64 << 20 };
    const struct psrfits_table *table = &rows->table;
    int is_psrfits = rows->format == FILE_PSRFITS;
    return rows->format == FILE_HDF5 ||
           ((is_psrfits || rows->format == FILE_FIL) &&
            (rows->bits == 8 || rows->bits == 16 || rows->bits == 32) && rows->nifs > 0 &&
            rows->nchans > 0 && rows->rows == place->rows &&
            rows->nifs <= place->row_bytes / rows->nchans && rows->row_bytes == place->row_bytes &&
            rows->nifs * rows->nchans * rows->bits / 8 == rows->row_bytes &&
            rows->begin >= MARK_BYTES && rows->begin < HEAD_MOST &&
            (table->rows_each > 0) == is_psrfits);
}

/* Returns whether groups of coarse channels, if there are any, contain all streams of their
 * channels. */
static int head_has_sensible_groups(const struct chunking *chunking)
{
    const uint32_t coarse = chunking->coarse;
    const uint32_t group = chunking->group_coarse;
    return group == 0 ||
           (group < coarse && coarse % group == 0 && chunking->streams % coarse == 0 &&
            chunking->group_streams == chunking->streams / coarse * group);
}

/* Whether such a row, if it is described, has lines of numbers, of channels that there are. */
static int head_has_sensible_row(const struct journal_head *head)
{
    const struct chunk_row *row = &head->row;
    uint64_t numbers = 0;
    uint64_t channels = 0;
    return row->count == 0 ||
           (row->ifs > 0 && row->average > 0 && multiply_u64(row->ifs, row->count, &numbers) &&
            head->place.row_bytes % numbers == 0 &&
            multiply_u64(row->count, row->average, &channels) && channels < UINT64_C(1) << 62 &&
            row->first < UINT64_C(1) << 62 && row->each < UINT64_C(1) << 31 &&
            row->first + channels <= head->chunking.coarse * row->each);
}

/* Returns whether the rest of the program may divide by the numbers, and allocate for them. */
static int head_makes_sense(const struct journal_head *head)
{
    const struct chunking *chunking = &head->chunking;
    const struct product_place *place = &head->place;
    uint64_t bytes = 0;
    uint64_t spectra = 0; /* at most: the last unit may have fewer */
    return chunking->spectra > 0 && chunking->spectra < UINT64_C(1) << 62 &&
           chunking->chunk_spectra > 0 && chunking->chunk_spectra < UINT64_C(1) << 62 &&
           chunking->streams > 0 && chunking->group_streams > 0 &&
           chunking->group_streams <= chunking->streams && head_has_sensible_groups(chunking) &&
           chunk_count(chunking) / chunk_groups(chunking) <= CHUNK_MOST / chunk_groups(chunking) &&
           head->integrate > 0 && head->ratio > 0 &&
           multiply_u64(max_u64(chunking->spectra, chunking->chunk_spectra), 2, &spectra) &&
           multiply_u64(spectra, head->ratio, &spectra) &&
           chunking->chunk_spectra * head->ratio % head->integrate == 0 &&
           head->spectra <= chunking->spectra * head->ratio &&
           place->rows == head->spectra / head->integrate && place->rows > 0 &&
           place->row_bytes > 0 && multiply_u64(place->rows, place->row_bytes, &bytes) &&
           bytes < UINT64_C(1) << 62 &&
           place->span_rows == spans_rows(place->rows, place->row_bytes) &&
           spans_count(place) <= MOST_SPANS && export_rows_makes_sense(&head->rows, place) &&
           head_has_sensible_row(head);
}

int journal_head_unpack(struct unpack *in, struct journal_head *out)
{
    *out = (struct journal_head){0};
    unpack_fields(in, out, head_fields, FIELDS);
    head_unpack_numbers(in, &out->choice.shape, HEAD_CHOICE);
    head_unpack_wisdom(in, out->choice.wisdom, sizeof out->choice.wisdom);
    head_unpack_numbers(in, out->filters, HEAD_FILTERS);
    if (!in->failed && in->at < in->length) {
        head_unpack_numbers(in, &out->synthesis.backend, 1);
        if (out->synthesis.backend == BACKEND_AUTO) {
            head_unpack_numbers(in, &out->chunking.group_coarse, 1);
            head_unpack_numbers(in, &out->chunking.coarse, 1);
            in->failed |= out->chunking.group_coarse == 0;
            if (!in->failed && in->at < in->length) {
                unpack_fields(in, out, row_fields, ROW_FIELDS);
                in->failed |= out->row.count == 0;
            }
        } else {
            head_unpack_numbers(in, &out->synthesis.shape, HEAD_SYNTHESIS);
            head_unpack_wisdom(in, out->synthesis.wisdom, sizeof out->synthesis.wisdom);
        }
    }
    int is_known = out->backend == BACKEND_CPU || out->backend == BACKEND_OPENCL ||
                   out->backend == BACKEND_REFERENCE;
    return !in->failed && in->at == in->length && out->program && out->inputs && out->job &&
           out->coefficients && out->arithmetic && is_known && head_makes_sense(out);
}

/* Datasets beside the rows at most, whose sums are computed from the file. */

enum { MOST_BESIDE = 7 };

struct beside_runs beside_runs_of(const struct chunking *chunking, const struct chunk *chunk,
                                  const struct beside *beside)
{
    uint64_t row = beside->row_bytes;
    const struct chunk_pieces pieces = chunk_pieces_of(chunking, chunk, row, &beside->row);
    int is_whole = pieces.size == row;
    return (struct beside_runs){.at = beside->offset + beside->first * row + pieces.first,
                                .row = row,
                                .step = pieces.step,
                                .each = pieces.count,
                                .count = is_whole ? min_u64(beside->rows, 1)
                                                  : beside->rows * pieces.count,
                                .bytes = is_whole ? beside->rows * row : pieces.size};
}

void beside_add(const struct product_place *place, uint64_t at, const void *data, uint64_t bytes,
                uint32_t *sum)
{
    uint64_t behind = place->file_bytes - at - bytes;
    *sum ^= crc_times(crc_part(data, (size_t)bytes), crc_power(behind));
}

/* Adds bytes of the file. */
static status_t beside_add_stored(const struct beside_file *file, uint64_t at, uint64_t bytes,
                                  uint32_t *sum)
{
    enum { PIECE = 32768 };
    char data[PIECE];
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        uint64_t count = min_u64(bytes - done, PIECE);
        TRY(file_read(file->fd, file->path, at + done, data, count));
        beside_add(file->place, at + done, data, count, sum);
    }
    return STATUS_OK;
}

/* Lists where the data beside some rows of a product are in the file. */
static uint32_t beside_list(const struct product_place *place, const struct beside_shape *shape,
                            struct journal_rows rows, struct beside out[MOST_BESIDE])
{
    uint64_t lines = shape->lines;
    uint64_t cells = shape->cells;
    const struct chunk_row row = shape->row;
    uint64_t block = max_u64(place->scale_rows, 1);
    uint64_t first = rows.first / block;
    uint64_t blocks = ceil_div_u64(rows.count, block);
    uint64_t scales = min_u64(blocks, place->scales - min_u64(first, place->scales));
    const struct beside list[MOST_BESIDE] = {
        {place->weights_offset, shape->weights * sizeof(float), rows.first, rows.count,
         shape->weights_row},
        {place->flags_offset, shape->cell, rows.first * cells, rows.count * cells,
         shape->cells_row},
        {place->kurtosis_offset, shape->cell * sizeof(float), rows.first * cells,
         rows.count * cells, shape->cells_row},
        {place->scale_offset, lines * sizeof(float), first, scales, row},
        {place->offset_offset, lines * sizeof(float), first, scales, row},
        {place->low_offset, lines * sizeof(uint16_t), first, blocks, row},
        {place->high_offset, lines * sizeof(uint16_t), first, blocks, row}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < MOST_BESIDE; i++) {
        if (list[i].offset > 0) {
            out[count++] = list[i];
        }
    }
    return count;
}

status_t beside_sum(const struct beside_file *file, const struct chunk *chunk,
                    struct journal_rows rows, uint32_t *sum)
{
    struct beside besides[MOST_BESIDE];
    uint32_t count = beside_list(file->place, &file->shape, rows, besides);
    *sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct beside_runs runs = beside_runs_of(file->chunking, chunk, &besides[i]);
        for (uint64_t j = 0; j < runs.count; j++) {
            TRY(beside_add_stored(file, beside_run_at(&runs, j), runs.bytes, sum));
        }
    }
    /* Holes of a chunk's rows are its own if all of their streams are. */
    if (file->place->holes_offset > 0 && chunk->streams == file->chunking->streams) {
        TRY(beside_add_stored(file, file->place->holes_offset + rows.first, rows.count, sum));
    }
    return STATUS_OK;
}
