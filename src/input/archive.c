/* An observation as every rank knows it: its streams, its gaps, what is lost of it, and what is
 * assumed of its files. */
#include "input/archive.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/packets/packets.h"
#include "io/hdf5/h5.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const enum axis archive_stream_axes[STREAM_AXES] = {AXIS_STATION, AXIS_BEAM, AXIS_POL, AXIS_CHAN};

double archive_chan_width_hz(const struct archive *archive)
{
    return archive->is_complex ? archive->sample_rate_hz : archive->sample_rate_hz / 2;
}

void archive_stream_index(const struct archive *archive, uint32_t stream,
                          uint64_t index[AXIS_KINDS])
{
    for (int i = 0; i < AXIS_KINDS; i++) {
        index[i] = 0;
    }
    for (int i = STREAM_AXES - 1; i >= 0; i--) {
        enum axis axis = archive_stream_axes[i];
        index[axis] = archive->selected[axis][stream % archive->nselected[axis]];
        stream /= archive->nselected[axis];
    }
}

int archive_zero_byte(const struct archive *archive)
{
    return archive->format == SAMPLE_I4 && archive->stored.nibbles.offset_binary ? 0x88 : 0;
}

status_t archive_check_unchanged(const struct archive *archive)
{
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(sources_check(&archive->parts[i].storage.sources));
    }
    return STATUS_OK;
}

status_t archive_create(const char *path, struct archive **out)
{
    TRY(memory_zeroed(1, sizeof **out, "an archive", out));
    struct archive *archive = *out;
    TRY(memory_zeroed(1, sizeof *archive->parts, "an archive", &archive->parts));
    archive->nparts = 1;
    archive->scale = 1;
    for (int i = 0; i < AXIS_KINDS; i++) {
        archive->count[i] = 1;
    }
    return memory_text(path, &archive->parts[0].path);
}

uint64_t archive_bank_group(const struct archive *archive, uint64_t index)
{
    const struct archive_bank *bank = &archive->bank;
    return bank->channels > 0 ? (bank->first_channel + index) / bank->channels : 0;
}

/* Missing samples: gaps of all streams, of single ones, and samples that the parts of some streams
 * lack where others have them. */

static int archive_gaps_compare(const void *left, const void *right)
{
    const struct archive_gap *a = left;
    const struct archive_gap *b = right;
    return a->stream != b->stream ? (a->stream > b->stream) - (a->stream < b->stream)
                                  : (a->first > b->first) - (a->first < b->first);
}

void archive_gaps_sort(struct archive_gap *gaps, size_t count)
{
    if (count > 1) {
        qsort(gaps, count, sizeof *gaps, archive_gaps_compare);
    }
}

status_t archive_add_gap(struct archive *archive, uint64_t first, uint64_t count)
{
    struct archive_losses *losses = &archive->losses;
    TRY(memory_grown(losses->ngaps + 1, sizeof *losses->gaps, "gaps", &losses->gaps));
    losses->gaps[losses->ngaps][0] = first;
    losses->gaps[losses->ngaps++][1] = count;
    return STATUS_OK;
}

uint64_t archive_stream_number(const struct archive *archive, uint32_t stream)
{
    uint64_t index[AXIS_KINDS];
    uint64_t number = 0;
    archive_stream_index(archive, stream, index);
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        number = number * archive->count[axis] + index[axis];
    }
    return number;
}

uint64_t archive_blocks(const struct archive *archive)
{
    uint64_t blocks = 1;
    for (uint32_t i = 0; i < archive->shape.ndims && archive->shape.dims[i].axis != AXIS_TIME;
         i++) {
        blocks *= archive->shape.dims[i].size;
    }
    return blocks;
}

uint64_t archive_outermost(const struct archive *archive)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        size *= archive->shape.dims[i].dimension == 0 ? archive->shape.dims[i].size : 1;
    }
    return size;
}

uint64_t archive_in_file(const struct archive *archive, enum axis axis)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        size *= archive->shape.dims[i].axis == axis ? archive->shape.dims[i].size : 1;
    }
    return size;
}

uint64_t archive_stack_of(const struct archive *archive, const uint64_t index[AXIS_KINDS],
                          int imaginary)
{
    uint64_t place = 0;
    if (archive->shape.stacked != AXIS_TIME) {
        place = index[archive->shape.stacked] / archive_in_file(archive, archive->shape.stacked);
    }
    return archive->shape.is_reim_stacked ? 2 * place + (uint64_t)imaginary : place;
}

uint32_t archive_part_at(const struct archive *archive, uint64_t stack, uint64_t sample)
{
    const struct archive_part *parts = archive->parts;
    size_t i = 0;
    FIND_FIRST(i, archive->nparts,
               parts[i].stack > stack ||
                   (parts[i].stack == stack && parts[i].first_sample + parts[i].samples > sample));
    return (uint32_t)i;
}

uint32_t archive_run_at(const struct archive_part *part, uint64_t sample)
{
    const struct archive_run *runs = part->runs;
    size_t i = 0;
    FIND_FIRST(i, part->nruns,
               sample - min_u64(sample, runs[i].first_sample) < runs[i].pieces * runs[i].steps);
    return (uint32_t)i;
}

size_t archive_stream_gap_after(const struct archive *archive, uint64_t number, uint64_t sample)
{
    const struct archive_gap *gaps = archive->losses.stream_gaps;
    size_t i = 0;
    FIND_FIRST(i, archive->losses.nstream_gaps,
               gaps[i].stream > number ||
                   (gaps[i].stream == number && gaps[i].first + gaps[i].count > sample));
    return i;
}

size_t archive_gap_after(const struct archive *archive, uint64_t sample)
{
    const struct archive_losses *losses = &archive->losses;
    return ranges_after(losses->gaps, losses->ngaps, sizeof *losses->gaps, sample);
}

uint64_t archive_gap_in(const struct archive *archive, uint64_t first, uint64_t count)
{
    const struct archive_losses *losses = &archive->losses;
    uint64_t missing = 0;
    for (size_t i = archive_gap_after(archive, first);
         i < losses->ngaps && losses->gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(losses->gaps[i][0], first);
        uint64_t high = min_u64(losses->gaps[i][0] + losses->gaps[i][1], first + count);
        missing += high > low ? high - low : 0;
    }
    return missing;
}

/* Whether the stream lacks sample `at`, and where the next sample is of which that may differ. */
struct gap_seeker {
    const struct archive *archive;
    uint64_t number;
    uint64_t stack[2];
    int nstacks;
};

/* Whether a range that ends after `at` begins by then. *next: its end, or at most its beginning. */
static int gap_meets(uint64_t first, uint64_t count, uint64_t at, uint64_t *next)
{
    *next = first <= at ? first + count : min_u64(*next, first);
    return first <= at;
}

/* Returns likewise whether `at` is among the samples that the part does not have. */
static int gap_in_part(const struct archive_part *part, uint64_t at, uint64_t *next)
{
    uint64_t local = at - part->first_sample;
    uint32_t r = archive_run_at(part, local);
    const struct archive_run *run = r < part->nruns ? &part->runs[r] : NULL;
    int is_held = part->nruns == 0 || (run && run->first_sample <= local);
    uint64_t end = part->first_sample + (!run      ? part->samples
                                         : is_held ? run->first_sample + run->pieces * run->steps
                                                   : run->first_sample);
    *next = is_held ? min_u64(*next, min_u64(end, part->first_sample + part->samples)) : end;
    return !is_held;
}

static int gap_seek(const struct gap_seeker *seeker, uint64_t at, uint64_t *next)
{
    const struct archive *archive = seeker->archive;
    const struct archive_losses *losses = &archive->losses;
    *next = UINT64_MAX;
    size_t i = archive_gap_after(archive, at);
    if (i < losses->ngaps && gap_meets(losses->gaps[i][0], losses->gaps[i][1], at, next)) {
        return 1;
    }
    i = archive_stream_gap_after(archive, seeker->number, at);
    const struct archive_gap *gap = i < losses->nstream_gaps ? &losses->stream_gaps[i] : NULL;
    if (gap && gap->stream == seeker->number && gap_meets(gap->first, gap->count, at, next)) {
        return 1;
    }
    for (int k = 0; k < seeker->nstacks && !losses->is_made; k++) {
        uint32_t p = archive_part_at(archive, seeker->stack[k], at);
        const struct archive_part *part = p < archive->nparts ? &archive->parts[p] : NULL;
        int is_there = part && part->stack == seeker->stack[k];
        if (!is_there || part->first_sample > at) {
            *next = is_there ? part->first_sample : UINT64_MAX;
            return 1;
        }
        if (gap_in_part(part, at, next)) {
            return 1;
        }
    }
    return 0;
}

int archive_next_gap(const struct archive *archive, uint32_t stream, uint64_t at, uint64_t end,
                     uint64_t *first, uint64_t *count)
{
    uint64_t index[AXIS_KINDS];
    struct gap_seeker seeker = {.archive = archive,
                                .number = archive_stream_number(archive, stream),
                                .nstacks = archive->shape.is_reim_stacked ? 2 : 1};
    uint64_t next = at;
    archive_stream_index(archive, stream, index);
    for (int i = 0; i < seeker.nstacks; i++) {
        seeker.stack[i] = archive_stack_of(archive, index, i);
    }
    *count = 0;
    for (; at < end; at = next) {
        int is_missing = gap_seek(&seeker, at, &next);
        next = min_u64(next, end);
        if (is_missing) {
            *first = *count > 0 ? *first : at;
            *count += next - at;
        } else if (*count > 0) {
            break;
        }
    }
    return *count > 0;
}

uint64_t archive_gap_of(const struct archive *archive, uint32_t stream, uint64_t first,
                        uint64_t count)
{
    uint64_t missing = 0;
    uint64_t end = first + count;
    while (archive_next_gap(archive, stream, first, end, &first, &count)) {
        missing += count;
        first += count;
    }
    return missing;
}

/* Whether what is between the part's runs is in gaps of all streams. */
static int gap_has_runs(const struct archive *archive, const struct archive_part *part)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i <= part->nruns && part->nruns > 0; i++) {
        uint64_t begin = i < part->nruns ? part->runs[i].first_sample : part->samples;
        if (begin > at &&
            archive_gap_in(archive, part->first_sample + at, begin - at) < begin - at) {
            return 0;
        }
        at = i < part->nruns ? begin + part->runs[i].pieces * part->runs[i].steps : at;
    }
    return 1;
}

int archive_gaps_are_common(const struct archive *archive)
{
    uint64_t end = archive->count[AXIS_TIME];
    uint64_t at = 0; /* up to which the parts so far, of one place of the stack, go */
    for (uint32_t i = 0; i <= archive->nparts && !archive->losses.is_made; i++) {
        const struct archive_part *part = i < archive->nparts ? &archive->parts[i] : NULL;
        if (i > 0 && (!part || part->stack != archive->parts[i - 1].stack)) {
            if (at < end && archive_gap_in(archive, at, end - at) < end - at) {
                return 0;
            }
            at = 0;
        }
        if (part && part->first_sample > at &&
            archive_gap_in(archive, at, part->first_sample - at) < part->first_sample - at) {
            return 0;
        }
        at = part ? part->first_sample + part->samples : 0;
        if (part && !gap_has_runs(archive, part)) {
            return 0;
        }
    }
    return archive->losses.nstream_gaps == 0;
}

uint64_t archive_gap_of_streams(const struct archive *archive, struct stream_set streams,
                                uint64_t first, uint64_t count)
{
    uint64_t missing = 0;
    if (archive_gaps_are_common(archive)) {
        return archive_gap_in(archive, first, count) * streams.count;
    }
    for (uint32_t i = 0; i < streams.count; i++) {
        missing += archive_gap_of(archive, stream_set_at(&streams, i), first, count);
    }
    return missing;
}

uint64_t archive_gap_samples(const struct archive *archive, uint64_t used)
{
    return archive_gap_of_streams(archive, stream_range(0, archive->nstreams),
                                  archive->first_sample, used);
}

/* Samples that lack some of their packets. */

static uint64_t partial_stack(const struct archive *archive, uint32_t stream)
{
    uint64_t index[AXIS_KINDS];
    archive_stream_index(archive, stream, index);
    return archive_stack_of(archive, index, 0);
}

int archive_are_together(const struct archive *archive, uint32_t one, uint32_t other)
{
    return partial_stack(archive, one) == partial_stack(archive, other);
}

uint32_t archive_partial_at(const struct archive *archive, uint32_t stream, uint64_t at,
                            uint64_t *next)
{
    uint64_t stack = partial_stack(archive, stream);
    uint32_t p = archive_part_at(archive, stack, at);
    const struct archive_part *part = p < archive->nparts ? &archive->parts[p] : NULL;
    if (!part || part->stack != stack || part->first_sample > at) {
        *next = part && part->stack == stack ? part->first_sample : UINT64_MAX;
        return 0;
    }
    uint64_t local = at - part->first_sample;
    size_t i = ranges_after(part->partials, part->npartials, sizeof *part->partials, local);
    const struct archive_partial *partial = i < part->npartials ? &part->partials[i] : NULL;
    int is_inside = partial && partial->first <= local;
    *next = part->first_sample + (is_inside ? partial->first + partial->count
                                  : partial ? partial->first
                                            : part->samples);
    return is_inside ? partial->lost : 0;
}

uint64_t archive_count_partial(const struct archive *archive)
{
    uint64_t count = 0;
    uint64_t end = archive->first_sample + archive->samples;
    for (uint32_t i = 0; i < archive->nparts && !archive->losses.is_made; i++) {
        const struct archive_part *part = &archive->parts[i];
        for (uint64_t k = 0; k < part->npartials; k++) {
            uint64_t first = part->first_sample + part->partials[k].first;
            uint64_t low = max_u64(first, archive->first_sample);
            uint64_t high = min_u64(first + part->partials[k].count, end);
            count += low < high ? high - low : 0;
        }
    }
    return count;
}

void archive_warn_unweighed(const struct archive *archive, const char *file)
{
    uint64_t samples = archive_count_partial(archive);
    if (samples > 0) {
        report_warn(
            "%s: %s of blocks that lack packets %s written as stored: voltages have no weights",
            file, units_amount(samples, "sample", "samples"), units_plural(samples, "is", "are"));
    }
}

static const struct pack_field run_pointers[] = {PACK_FIELD(struct archive_run, path)};
static const struct pack_type run_type = PACK_WHOLE(struct archive_run, run_pointers);

static const struct pack_field box_pointers[] = {PACK_FIELD(struct lost_box, why)};
const struct pack_type lost_box_type = PACK_WHOLE(struct lost_box, box_pointers);

static const struct pack_type gap_type = PACK_PLAIN(struct archive_gap);

static const struct pack_type partial_type = PACK_PLAIN(struct archive_partial);

static const struct pack_field part_pointers[] = {
    PACK_FIELD(struct archive_part, path),
    PACK_FIELD(struct archive_part, dataset),
    PACK_KEPT(struct archive_part, extents, nextents, &archive_extent_type),
    PACK_LIST(struct archive_part, runs, nruns, &run_type),
    PACK_LIST(struct archive_part, partials, npartials, &partial_type),
    PACK_LIST(struct archive_part, packets, npackets, &packets_type),
    PACK_LIST(struct archive_part, steps, nsteps, &pack_numbers),
    PACK_STORAGE(struct archive_part, storage),
    PACK_KEPT(struct archive_part, boxes, nboxes, &lost_box_type),
};
const struct pack_type archive_part_type = PACK_WHOLE(struct archive_part, part_pointers);

/* Names of an axis' indices, of which there are count[], and those that are selected. */
#define PACK_AXIS(axis)                                                                            \
    PACK_COUNTED(struct archive, names[axis], count[axis], &pack_texts),                           \
        PACK_LIST(struct archive, selected[axis], nselected[axis], &pack_numbers)

static const struct pack_field archive_pointers[] = {
    PACK_FIELD(struct archive, layout),
    PACK_FIELD(struct archive, assumed),
    PACK_FIELD(struct archive, dataset),
    PACK_LIST(struct archive, states.itrf_m, states.nitrf_m, &pack_numbers),
    PACK_SKY(struct archive),
    PACK_AXIS(AXIS_STATION),
    PACK_AXIS(AXIS_BEAM),
    PACK_AXIS(AXIS_POL),
    PACK_AXIS(AXIS_CHAN),
    PACK_AXIS(AXIS_TIME),
    PACK_AXIS(AXIS_REIM),
    PACK_COUNTED(struct archive, freq_hz, count[AXIS_CHAN], &pack_numbers),
    PACK_LIST(struct archive, bank.prototype, bank.nprototype, &pack_numbers),
    PACK_COUNTED(struct archive, coherent.delay_hz, count[AXIS_CHAN], &pack_numbers),
    PACK_LIST(struct archive, parts, nparts, &archive_part_type),
    PACK_LIST(struct archive, losses.gaps, losses.ngaps, &pack_pairs),
    PACK_LIST(struct archive, losses.stream_gaps, losses.nstream_gaps, &gap_type),
    PACK_LOST(struct archive, losses.lost),
};
const struct pack_type archive_type = PACK_WHOLE(struct archive, archive_pointers);

/* The archive as bytes: all of it, from the process that looked into the files to every rank. */

uint64_t archive_piece_bits(const struct archive *archive, uint64_t steps)
{
    uint64_t bits = archive->stored.number.kind == NUMBER_PLAIN
                        ? sample_types[archive->format].bytes * 8
                        : archive->stored.number.bits;
    int fits = multiply_u64(bits, archive->stored.is_compound ? 2 : 1, &bits);
    for (uint32_t i = 0; i < archive->shape.ndims && fits; i++) {
        fits = archive->shape.dims[i].axis == AXIS_TIME ||
               multiply_u64(bits, archive->shape.dims[i].size, &bits);
    }
    return fits && multiply_u64(bits, steps, &bits) ? bits : 0;
}

status_t archive_add_run(struct archive_part *part, const char *path, const struct archive_run *run)
{
    TRY(memory_grown(part->nruns + 1, sizeof *part->runs, "runs of samples", &part->runs));
    part->runs[part->nruns] = *run;
    part->runs[part->nruns].path = NULL;
    return memory_text(path, &part->runs[part->nruns++].path);
}

void archive_drop_extents(struct archive_part *part)
{
    pack_free_list(memory_move(&part->extents), part->nextents, &archive_extent_type);
    part->nextents = 0;
}

/* A dataset that is in files as it is: a run of each extent. No runs, for HDF5 reads it, if an
 * extent ends within a time step, or has not all blocks of its time steps. */
static status_t archive_runs_of_extents(const struct archive *archive, struct archive_part *part)
{
    const int is_one_block = archive_blocks(archive) == 1;
    const uint64_t after = is_one_block ? 0 : part->cut;
    const uint64_t bits = archive_piece_bits(archive, part->samples + after);
    const uint64_t step_bits = archive_piece_bits(archive, 1);
    uint64_t held = 0;
    uint64_t end = 0;
    int are_whole = 1;
    for (uint32_t i = 0; i < part->nextents; i++) {
        const struct archive_extent *extent = &part->extents[i];
        struct archive_run run = {.file_offset = extent->file_offset,
                                  .piece_bytes = extent->bytes,
                                  .pieces = 1,
                                  .first_sample = end};
        held += extent->bytes;
        const int is_last = held >= ceil_div_u64(bits, 8);
        are_whole &= is_last || held == 0 || (is_one_block && 8 * held % step_bits == 0);
        end = is_last ? part->samples : 8 * held / step_bits;
        run.steps = end - run.first_sample;
        run.stored = run.steps + after;
        TRY(run.steps > 0 ? archive_add_run(part, extent->path, &run) : STATUS_OK);
    }
    REQUIRE(bits > 0 && ceil_div_u64(bits, 8) <= held, STATUS_DATA,
            "%s: its dataset contains %" PRIu64 " bytes, expected %" PRIu64, part->path, held,
            ceil_div_u64(bits, 8));
    if (!are_whole) {
        pack_free_list(memory_move(&part->runs), part->nruns, &run_type);
        part->nruns = 0;
    }
    archive_drop_extents(part);
    return STATUS_OK;
}

status_t archive_settle_reach(struct archive *archive)
{
    struct archive_stored *stored = &archive->stored;
    stored->is_as_read =
        !stored->swap_bytes && stored->number.kind == NUMBER_PLAIN && !stored->is_dc_at_edge;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        struct archive_part *part = &archive->parts[i];
        TRY(part->nextents > 0 ? archive_runs_of_extents(archive, part) : STATUS_OK);
        part->reach = part->npackets > 0 ? REACH_PACKETS
                      : part->nruns > 0  ? REACH_PIECES
                                         : REACH_HDF5;
        stored->plain_bytes += part->reach == REACH_PACKETS ? part->file_bytes : 0;
        for (uint32_t j = 0; j < part->nruns; j++) {
            stored->plain_bytes += part->runs[j].pieces * part->runs[j].piece_bytes;
        }
    }
    return STATUS_OK;
}

void archive_destroy(struct archive *archive)
{
    pack_destroy(archive, &archive_type);
}

enum { SENTENCE = 600, LINES = 16 };

static const char further[] = "further files leave more open: voltmill info FILE prints it";

static int assumed_has(const char *assumed, const char *line, size_t length)
{
    size_t each = 0;
    const char *at = NULL;
    int has = 0;
    for (size_t i = 0; !has && assumed && (at = text_line(assumed, i, &each)); i++) {
        has = each == length && memcmp(at, line, length) == 0;
    }
    return has;
}

static status_t assumed_append(char **assumed, const char *path, const char *line, size_t length)
{
    char *text = NULL;
    TRY(memory_format(&text, "%s%s%s%s%.*s", *assumed ? *assumed : "", *assumed ? "\n" : "",
                      path ? path : "", path ? ": " : "", (int)length, line));
    free(*assumed);
    *assumed = text;
    return STATUS_OK;
}

static status_t assumed_format(char **assumed, const char *format, va_list list)
{
    char words[SENTENCE];
    vsnprintf(words, sizeof words, format, list);
    for (char *c = words; *c; c++) {
        *c = *c == '\n' ? '?' : *c; /* from a name or a header */
    }
    return assumed_has(*assumed, words, strlen(words))
               ? STATUS_OK
               : assumed_append(assumed, NULL, words, strlen(words));
}

status_t assume_if(int is_so, char **assumed, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    status_t st = is_so ? assumed_format(assumed, format, list) : STATUS_OK;
    va_end(list);
    return st;
}

status_t assumed_add(char **assumed, const char *path, const char *more)
{
    size_t length = 0;
    const char *line = NULL;
    for (size_t i = 0; more && (line = text_line(more, i, &length)); i++) {
        if (assumed_has(*assumed, line, length)) {
            continue;
        }
        if (*assumed && text_line(*assumed, LINES - 1, &(size_t){0})) {
            TRY(assume(assumed, "%s", further));
            break;
        }
        TRY(assumed_append(assumed, path, line, length));
    }
    return STATUS_OK;
}

status_t assumed_read(hid_t file, const char *path, char **assumed)
{
    int found = 0;
    SCOPED(free_at) char *kept = NULL;
    SCOPED(h5_close_at) hid_t group = -1;
    TRY(h5_has(file, path, "provenance", &found));
    if (found) {
        group = H5Gopen2(file, "provenance", H5P_DEFAULT);
        H5_TRY(group, "%s: /provenance cannot be opened", path);
        TRY(h5_find_text(group, path, "assumed", &kept, &found));
        TRY(assumed_add(assumed, NULL, kept));
    }
    return STATUS_OK;
}

void assumed_say(const char *path, const char *assumed)
{
    size_t length = 0;
    const char *line = NULL;
    for (size_t i = 0; assumed && (line = text_line(assumed, i, &length)); i++) {
        report_say(REPORT_ASSUMED, "%s: %.*s", path, (int)length, line);
    }
}
