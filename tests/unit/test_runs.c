/* Slabs of random layouts, in pieces of files: against a reader that fetches number by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/report.h"
#include "input/read/numbers.h"
#include "input/read/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, LAYOUTS = 1500 };

static char path[] = "/tmp/voltmill-test-runs-XXXXXX";
static unsigned char contents[FILE_BYTES];
static uint64_t state = 7;

/* 0 .. below - 1 */
static uint64_t dice(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void random_number(struct archive *archive)
{
    static const struct {
        enum number_kind kind;
        uint32_t bits;
    } kinds[] = {{NUMBER_PLAIN, 0},     {NUMBER_LEVELS, 1},   {NUMBER_LEVELS, 2},
                 {NUMBER_LEVELS, 4},    {NUMBER_SIGNED, 8},   {NUMBER_SIGNED, 16},
                 {NUMBER_UNSIGNED, 8},  {NUMBER_FLOAT, 64},   {NUMBER_FLOAT, 16},
                 {NUMBER_UNSIGNED, 32}, {NUMBER_UNSIGNED, 2}, {NUMBER_SIGNED, 4}};
    uint64_t kind = dice(sizeof kinds / sizeof *kinds);
    archive->stored.number = (struct archive_number){.kind = kinds[kind].kind,
                                                     .bits = kinds[kind].bits,
                                                     .is_big_endian = (int)dice(2),
                                                     .is_high_bit_first = (int)dice(2)};
    for (int i = 0; i < 16; i++) {
        archive->stored.number.levels[i] = (double)dice(1000) - 500;
    }
    archive->format = (enum sample_format)(SAMPLE_I8 + dice(3));
    archive->stored.swap_bytes = (int)dice(2);
    archive->stored.is_dc_at_edge = archive->is_complex && dice(3) == 0;
}

static void add_dim(struct archive *archive, enum axis axis, uint64_t size)
{
    archive->shape.dims[archive->shape.ndims] =
        (struct archive_dim){size, axis, archive->shape.ndims};
    archive->shape.ndims++;
    archive->count[axis] = size;
    archive->present[axis] = 1;
}

/* Each axis stands before time or behind it. */
static void random_axes(struct archive *archive, int is_pair)
{
    const enum axis axes[] = {AXIS_STATION, AXIS_POL, AXIS_CHAN};
    int before = (int)dice(8);
    for (int i = 0; i < 3; i++) {
        if (before >> i & 1) {
            add_dim(archive, axes[i], 1 + dice(4));
        }
    }
    archive->shape.time_dim = archive->shape.ndims;
    add_dim(archive, AXIS_TIME, 1);
    for (int i = 0; i < 3; i++) {
        if (!(before >> i & 1) && dice(3) > 0) {
            add_dim(archive, axes[i], 1 + dice(4));
        }
    }
    if (is_pair) {
        add_dim(archive, AXIS_REIM, 2);
    }
}

static uint64_t product(const struct archive *archive, int behind_time)
{
    uint64_t size = archive->stored.is_compound && behind_time ? 2 : 1;
    int is_behind = 0;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        int is_time = archive->shape.dims[i].axis == AXIS_TIME;
        is_behind = is_behind || is_time;
        size *= !is_time && is_behind == behind_time ? archive->shape.dims[i].size : 1;
    }
    return size;
}

static uint64_t number_bits(const struct archive *archive)
{
    return archive->stored.number.kind == NUMBER_PLAIN ? 8 * sample_types[archive->format].bytes
                                                       : archive->stored.number.bits;
}

/* Runs of small pieces from sample `first` of the observation on; with a hole between some. */
static void random_part(struct archive *archive, struct archive_part *part, uint64_t first)
{
    uint64_t step_bits = product(archive, 1) * number_bits(archive);
    uint64_t blocks = product(archive, 0);
    part->first_sample = first;
    part->nruns = 1 + (uint32_t)dice(4);
    assert_int_equal(memory_zeroed(part->nruns, sizeof *part->runs, "runs", &part->runs),
                     STATUS_OK);
    for (uint32_t i = 0; i < part->nruns; i++) {
        struct archive_run *run = &part->runs[i];
        run->steps = 1 + dice(60);
        run->stored = run->steps + dice(2) * dice(20);
        run->pieces = 1 + dice(6);
        run->piece_bytes = (blocks * run->stored * step_bits + 7) / 8 + dice(50);
        run->file_offset = dice(FILE_BYTES - run->pieces * run->piece_bytes);
        run->first_sample = part->samples + (i > 0 ? dice(2) * dice(30) : 0);
        part->samples = run->first_sample + run->pieces * run->steps;
        assert_int_equal(memory_text(path, &run->path), STATUS_OK);
    }
    assert_int_equal(sources_add(&part->storage.sources, path, SOURCE_NAMED, NULL), STATUS_OK);
}

/* The first piece of the first run as a dataset that is in one piece; or in two, where all blocks
 * of whole time steps can be in each. */
static void make_extents(struct archive *archive, struct archive_part *part)
{
    const struct archive_run *run = &part->runs[0];
    uint64_t step_bits = product(archive, 1) * number_bits(archive);
    uint64_t bits = product(archive, 0) * run->stored * step_bits;
    uint64_t cut_bits = (1 + dice(run->stored)) * step_bits;
    int is_cut = product(archive, 0) == 1 && cut_bits % 8 == 0 && cut_bits < bits;
    uint64_t cut = is_cut ? cut_bits / 8 : (bits + 7) / 8;
    part->nextents = is_cut ? 2 : 1;
    assert_int_equal(memory_zeroed(2, sizeof *part->extents, "extents", &part->extents), STATUS_OK);
    for (uint32_t i = 0; i < part->nextents; i++) {
        part->extents[i].file_offset = run->file_offset + (i ? cut : 0);
        part->extents[i].bytes = i ? (bits + 7) / 8 - cut : cut;
        assert_int_equal(memory_text(path, &part->extents[i].path), STATUS_OK);
    }
    part->samples = run->stored;
    for (uint32_t i = 0; i < part->nruns; i++) {
        free(part->runs[i].path);
    }
    free(part->runs);
    part->runs = NULL;
    part->nruns = 0;
}

static void random_gaps(struct archive *archive)
{
    uint64_t total = archive->count[AXIS_TIME];
    uint64_t streams = archive->count[AXIS_STATION] * archive->count[AXIS_BEAM] *
                       archive->count[AXIS_POL] * archive->count[AXIS_CHAN];
    assert_int_equal(memory_zeroed(3, sizeof *archive->losses.gaps, "gaps", &archive->losses.gaps),
                     STATUS_OK);
    for (uint64_t at = dice(total); at < total && archive->losses.ngaps < dice(4);) {
        archive->losses.gaps[archive->losses.ngaps][0] = at;
        archive->losses.gaps[archive->losses.ngaps][1] = min_u64(1 + dice(20), total - at);
        at += archive->losses.gaps[archive->losses.ngaps++][1] + dice(50);
    }
    assert_int_equal(memory_zeroed(streams, sizeof *archive->losses.stream_gaps, "gaps",
                                   &archive->losses.stream_gaps),
                     STATUS_OK);
    for (uint64_t i = dice(2) * streams; i < streams; i++) {
        uint64_t at = dice(total);
        if (dice(2)) {
            archive->losses.stream_gaps[archive->losses.nstream_gaps++] =
                (struct archive_gap){at, min_u64(1 + dice(30), total - at), i};
        }
    }
}

static void select_streams(struct archive *archive)
{
    archive->nstreams = 1;
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        uint64_t count = archive->count[axis];
        uint64_t *selected = NULL;
        uint32_t kept = 0;
        assert_int_equal(memory_zeroed(count, sizeof *selected, "streams", &selected), STATUS_OK);
        for (uint64_t k = count; k-- > 0;) {
            if (dice(3) > 0 || (kept == 0 && k == 0)) {
                selected[kept++] = k;
            }
        }
        archive->selected[axis] = selected;
        archive->nselected[axis] = kept;
        archive->nstreams *= kept;
    }
}

static struct archive *random_archive(void)
{
    struct archive *archive = NULL;
    uint64_t total = 0;
    assert_int_equal(archive_create(path, &archive), STATUS_OK);
    archive->is_complex = dice(3) > 0;
    archive->shape.is_reim_stacked = archive->is_complex && dice(4) == 0;
    archive->stored.is_compound = archive->is_complex && !archive->shape.is_reim_stacked && dice(2);
    random_number(archive);
    archive->shape.stacked = dice(2) ? AXIS_BEAM : AXIS_TIME;
    random_axes(archive, archive->is_complex && !archive->shape.is_reim_stacked &&
                             !archive->stored.is_compound);
    assert_int_equal(numbers_settle(archive), STATUS_OK);
    uint64_t stacks = archive->shape.stacked == AXIS_TIME ? 1 : 1 + dice(3);
    archive->count[AXIS_BEAM] = stacks;
    stacks *= archive->shape.is_reim_stacked ? 2 : 1;
    uint32_t each = 1 + (uint32_t)dice(2);
    char *name = archive->parts[0].path;
    free(archive->parts);
    archive->nparts = (uint32_t)stacks * each;
    assert_int_equal(
        memory_zeroed(archive->nparts, sizeof *archive->parts, "parts", &archive->parts),
        STATUS_OK);
    for (uint32_t i = 0; i < archive->nparts; i++) {
        struct archive_part *part = &archive->parts[i];
        part->stack = i / each;
        uint64_t before = i % each ? part[-1].first_sample + part[-1].samples : 0;
        random_part(archive, part, before + dice(2) * dice(40));
        if (dice(4) == 0) {
            make_extents(archive, part);
        }
        total = max_u64(total, part->first_sample + part->samples);
    }
    archive->parts[0].path = name;
    archive->count[AXIS_TIME] = archive->samples = total;
    random_gaps(archive);
    select_streams(archive);
    assert_int_equal(archive_settle_reach(archive), STATUS_OK);
    return archive;
}

/* Whether a part, a run and no gap has it. */
static int is_in_gap(const struct archive *archive, uint32_t stream, uint64_t at)
{
    for (size_t i = 0; i < archive->losses.ngaps; i++) {
        if (at - archive->losses.gaps[i][0] < archive->losses.gaps[i][1]) {
            return 1;
        }
    }
    for (size_t i = 0; i < archive->losses.nstream_gaps; i++) {
        const struct archive_gap *gap = &archive->losses.stream_gaps[i];
        if (gap->stream == archive_stream_number(archive, stream) && at - gap->first < gap->count) {
            return 1;
        }
    }
    return 0;
}

/* The bit of the file where a number is stored; -1: nowhere. */
static int64_t bit_of(const struct archive *archive, const uint64_t index[AXIS_KINDS],
                      int imaginary, uint64_t at)
{
    uint64_t stack = archive->shape.stacked == AXIS_BEAM ? index[AXIS_BEAM] : 0;
    stack = archive->shape.is_reim_stacked ? 2 * stack + (uint64_t)imaginary : stack;
    uint64_t block = 0;
    uint64_t inner = 0;
    int is_behind = 0;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        const struct archive_dim *dim = &archive->shape.dims[i];
        uint64_t value = dim->axis == AXIS_REIM ? (uint64_t)imaginary : index[dim->axis];
        is_behind = is_behind || dim->axis == AXIS_TIME;
        if (dim->axis == AXIS_TIME) {
            continue;
        }
        if (is_behind) {
            inner = inner * dim->size + value;
        } else {
            block = block * dim->size + value;
        }
    }
    inner = archive->stored.is_compound ? 2 * inner + (uint64_t)imaginary : inner;
    for (uint32_t p = 0; p < archive->nparts; p++) {
        const struct archive_part *part = &archive->parts[p];
        for (uint32_t r = 0; r < part->nruns && part->stack == stack; r++) {
            const struct archive_run run = part->runs[r];
            uint64_t local = at - part->first_sample - run.first_sample;
            if (local < run.pieces * run.steps) {
                uint64_t step = block * run.stored + local % run.steps;
                uint64_t number = step * product(archive, 1) + inner;
                return (int64_t)(8 * (run.file_offset + local / run.steps * run.piece_bytes) +
                                 number * number_bits(archive));
            }
        }
    }
    return -1;
}

static int is_told(const struct losses *losses, uint32_t stream, uint64_t at)
{
    for (size_t i = 0; i < losses->count; i++) {
        const struct loss *loss = &losses->items[i];
        if ((loss->stream == stream || loss->stream == LOSS_OF_ALL) &&
            at - loss->first < loss->count) {
            return 1;
        }
    }
    return 0;
}

/* One sample of the slab: as it is stored, or zero volts if some of it is missing. */
static int check_sample(const struct archive *archive, const numbers_t *numbers, uint32_t stream,
                        uint64_t at, const char *re, const char *im)
{
    uint64_t index[AXIS_KINDS];
    int64_t bit[2] = {0, 0};
    int lacks = is_in_gap(archive, stream, at);
    archive_stream_index(archive, stream, index);
    for (int i = 0; i <= archive->is_complex; i++) {
        bit[i] = bit_of(archive, index, i, at);
        lacks |= bit[i] < 0;
    }
    for (int i = 0; i <= archive->is_complex; i++) {
        _Alignas(4) char expected[4] = {0};
        if (!lacks) {
            numbers_make(numbers, contents + bit[i] / 8, (uint64_t)bit[i] % 8, 1, expected);
            numbers_turn(numbers, at, 1, 1, expected);
        }
        assert_memory_equal(i ? im : re, expected, numbers->bytes);
    }
    return lacks;
}

static void check_read(const struct archive *archive, reader_t *reader, const numbers_t *numbers)
{
    uint64_t total = archive->count[AXIS_TIME];
    uint64_t first = dice(total);
    uint64_t count = 1 + dice(total - first);
    uint32_t from = (uint32_t)dice(archive->nstreams);
    uint32_t streams = 1 + (uint32_t)dice(archive->nstreams - from);
    struct slab *slab = NULL;
    struct losses losses = {0};
    char *out = NULL;
    size_t *place[2];
    uint64_t missing = 0;
    assert_int_equal(slab_create(archive, stream_range(from, streams), &slab), STATUS_OK);
    assert_int_equal(memory_aligned(slab_bytes(slab, count) + 8, 1, "a slab", &out), STATUS_OK);
    memset(out, 0x5a, slab_bytes(slab, count) + 8);
    status_t status = reader_read(reader, slab, first, count, out, &losses);
    if (status != STATUS_OK) {
        print_message("%s\n", report_cause());
    }
    assert_int_equal(status, STATUS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(memory_zeroed(streams, sizeof **place, "places", &place[i]), STATUS_OK);
    }
    slab_offsets(slab, count, place[0], place[1]);
    for (uint32_t s = 0; s < streams; s++) {
        for (uint64_t i = 0; i < count; i++) {
            int lacks = check_sample(archive, numbers, from + s, first + i,
                                     out + place[0][s] + i * slab->width,
                                     out + place[1][s] + i * slab->width);
            assert_int_equal(is_told(&losses, from + s, first + i), lacks);
            missing += (uint64_t)lacks;
        }
    }
    assert_int_equal(archive_gap_of_streams(archive, stream_range(from, streams), first, count),
                     missing);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(out[slab_bytes(slab, count) + (uint64_t)i], 0x5a);
    }
    losses_free(&losses);
    slab_destroy(slab);
    free(place[0]);
    free(place[1]);
    free(out);
}

static void layouts(void **context)
{
    (void)context;
    for (int i = 0; i < LAYOUTS; i++) {
        struct archive *archive = random_archive();
        reader_t *reader = NULL;
        numbers_t *numbers = NULL;
        assert_int_equal(numbers_create(archive, &numbers), STATUS_OK);
        assert_int_equal(reader_create(archive, 1 << 20, 1 + (uint32_t)dice(3), &reader),
                         STATUS_OK);
        for (int k = 0; k < 3; k++) {
            check_read(archive, reader, numbers);
        }
        reader_destroy(reader);
        numbers_destroy(numbers);
        archive_destroy(archive);
    }
}

/* An archive of [pol][chan][time][reim], with `pieces` of `steps` samples one after the other from
 * byte `offset` of the file on. */
static struct archive *heaps(uint64_t chans, uint64_t steps, uint64_t pieces,
                             struct archive_number number, uint64_t offset, const char *name)
{
    struct archive *archive = NULL;
    assert_int_equal(archive_create(name, &archive), STATUS_OK);
    archive->is_complex = 1;
    archive->stored.number = number;
    archive->format = SAMPLE_I8;
    add_dim(archive, AXIS_POL, 2);
    add_dim(archive, AXIS_CHAN, chans);
    archive->shape.time_dim = archive->shape.ndims;
    add_dim(archive, AXIS_TIME, steps * pieces);
    add_dim(archive, AXIS_REIM, 2);
    assert_int_equal(numbers_settle(archive), STATUS_OK);
    struct archive_part *part = &archive->parts[0];
    part->samples = archive->samples = steps * pieces;
    part->nruns = 1;
    assert_int_equal(memory_zeroed(1, sizeof *part->runs, "runs", &part->runs), STATUS_OK);
    part->runs[0] =
        (struct archive_run){.file_offset = offset,
                             .piece_bytes = 4 * chans * steps * number_bits(archive) / 8,
                             .pieces = pieces,
                             .steps = steps,
                             .stored = steps};
    assert_int_equal(memory_text(name, &part->runs[0].path), STATUS_OK);
    assert_int_equal(sources_add(&part->storage.sources, name, SOURCE_NAMED, NULL), STATUS_OK);
    archive->nstreams = 1;
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        archive->nselected[axis] = (uint32_t)archive->count[axis];
        assert_int_equal(memory_zeroed(archive->count[axis], sizeof(uint64_t), "streams",
                                       &archive->selected[axis]),
                         STATUS_OK);
        for (uint64_t k = 0; k < archive->count[axis]; k++) {
            archive->selected[axis][k] = k;
        }
        archive->nstreams *= archive->nselected[axis];
    }
    assert_int_equal(archive_settle_reach(archive), STATUS_OK);
    return archive;
}

/* Reads all but some samples at either end by several threads; each byte was made of its place. */
static void read_heaps(uint64_t chans, uint64_t steps, uint64_t pieces, uint32_t threads,
                       const char *name, const unsigned char *bytes)
{
    struct archive *archive =
        heaps(chans, steps, pieces,
              (struct archive_number){.kind = NUMBER_UNSIGNED, .bits = 8, .offset = 128}, 0, name);
    uint64_t first = 77;
    uint64_t count = steps * pieces - 2 * first;
    struct slab *slab = NULL;
    reader_t *reader = NULL;
    char *out = NULL;
    assert_int_equal(slab_create(archive, stream_range(0, archive->nstreams), &slab), STATUS_OK);
    assert_int_equal(memory_aligned(slab_bytes(slab, count), 1, "a slab", &out), STATUS_OK);
    assert_int_equal(reader_create(archive, 1 << 20, threads, &reader), STATUS_OK);
    assert_int_equal(reader_read(reader, slab, first, count, out, NULL), STATUS_OK);
    for (uint64_t block = 0; block < 2 * chans; block++) {
        for (uint64_t i = 0; i < count; i++) {
            uint64_t piece = (first + i) / steps;
            uint64_t at = ((piece * 2 * chans + block) * steps + (first + i) % steps) * 2;
            const char *found = out + (block * count + i) * 2;
            assert_true(found[0] == (char)(bytes[at] - 128) &&
                        found[1] == (char)(bytes[at + 1] - 128));
        }
    }
    free(out);
    reader_destroy(reader);
    slab_destroy(slab);
    archive_destroy(archive);
}

/* Short blocks, long ones, and a single piece: shared by threads. */
static void shared(void **context)
{
    (void)context;
    enum { BYTES = 12 << 20 };
    char name[] = "/tmp/voltmill-test-runs-XXXXXX";
    unsigned char *bytes = malloc(BYTES);
    int fd = mkstemp(name);
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    }
    assert_int_equal(write(fd, bytes, BYTES), BYTES);
    close(fd);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        read_heaps(64, 256, BYTES / (64 * 256 * 4), threads, name, bytes);
        read_heaps(1, BYTES / 64, 16, threads, name, bytes);
        read_heaps(3, BYTES / 12, 1, threads, name, bytes);
    }
    unlink(name);
    free(bytes);
}

/* Extents become runs where each has all blocks of whole time steps; else HDF5 reads the dataset.
 */
static void ends_of_extents(void **context)
{
    (void)context;
    const struct {
        int is_time_first;
        uint64_t bytes[3], cut;
        enum reach reach;
        uint32_t nruns;
        uint64_t steps; /* of the first */
    } cases[] = {
        {1, {400}, 0, REACH_PIECES, 1, 100},        {1, {100, 300}, 0, REACH_PIECES, 2, 25},
        {1, {100, 0, 300}, 0, REACH_PIECES, 2, 25}, {1, {0, 400}, 0, REACH_PIECES, 1, 100},
        {1, {100, 500}, 50, REACH_PIECES, 2, 25},   {1, {500, 100}, 50, REACH_PIECES, 1, 100},
        {1, {101, 299}, 0, REACH_HDF5, 0, 0},       {1, {100, 99, 201}, 0, REACH_HDF5, 0, 0},
        {0, {400}, 0, REACH_PIECES, 1, 100},        {0, {0, 600}, 50, REACH_PIECES, 1, 100},
        {0, {200, 200}, 0, REACH_HDF5, 0, 0},       {0, {500, 100}, 50, REACH_HDF5, 0, 0},
        {0, {199, 201}, 0, REACH_HDF5, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct archive *archive = NULL;
        uint64_t samples = 0;
        assert_int_equal(archive_create(path, &archive), STATUS_OK);
        archive->format = SAMPLE_I8;
        add_dim(archive, cases[i].is_time_first ? AXIS_TIME : AXIS_POL,
                cases[i].is_time_first ? 100 : 4);
        add_dim(archive, cases[i].is_time_first ? AXIS_POL : AXIS_TIME,
                cases[i].is_time_first ? 4 : 100);
        struct archive_part *part = &archive->parts[0];
        part->samples = 100;
        part->cut = cases[i].cut;
        part->nextents = 3;
        assert_int_equal(memory_zeroed(3, sizeof *part->extents, "extents", &part->extents),
                         STATUS_OK);
        for (int k = 0; k < 3; k++) {
            part->extents[k].bytes = cases[i].bytes[k];
            assert_int_equal(memory_text(path, &part->extents[k].path), STATUS_OK);
        }
        assert_int_equal(archive_settle_reach(archive), STATUS_OK);
        assert_int_equal(part->nextents, 0);
        assert_int_equal(part->reach, cases[i].reach);
        assert_int_equal(part->nruns, cases[i].nruns);
        for (uint32_t k = 0; k < part->nruns; k++) {
            assert_int_equal(part->runs[k].first_sample, samples);
            assert_int_equal(part->runs[k].steps, k ? 100 - cases[i].steps : cases[i].steps);
            assert_int_equal(part->runs[k].stored,
                             part->runs[k].steps + (cases[i].is_time_first ? 0 : part->cut));
            samples += part->runs[k].steps;
        }
        archive_destroy(archive);
    }
}

/* Many runs, and parts: a read takes as long as what it reads. */
static void many(void **context)
{
    (void)context;
    enum { MANY = 100000, STEPS = 16, READS = 50000 };
    struct archive *archive =
        heaps(2, STEPS, 1, (struct archive_number){.kind = NUMBER_PLAIN, .bits = 0}, 0, path);
    struct archive_part *part = &archive->parts[0];
    struct archive_run one = part->runs[0];
    struct archive_run *runs = NULL;
    struct slab *slab = NULL;
    reader_t *reader = NULL;
    assert_int_equal(memory_zeroed(MANY, sizeof *runs, "runs", &runs), STATUS_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        runs[i] = one;
        runs[i].first_sample = (uint64_t)i * STEPS;
        runs[i].file_offset = (uint64_t)i * 7 % (FILE_BYTES - 4096);
    }
    free(part->runs);
    part->runs = runs;
    part->nruns = MANY;
    archive->count[AXIS_TIME] = archive->samples = part->samples = (uint64_t)MANY * STEPS;
    char out[8 * 8 * STEPS];
    assert_int_equal(slab_create(archive, stream_range(0, archive->nstreams), &slab), STATUS_OK);
    assert_int_equal(reader_create(archive, 1 << 20, 1, &reader), STATUS_OK);
    double begun = clock_now();
    for (int i = 0; i < READS; i++) {
        uint64_t first = dice((MANY - 2) * STEPS);
        assert_int_equal(reader_read(reader, slab, first, STEPS, out, NULL), STATUS_OK);
        uint64_t run = first / STEPS;
        assert_int_equal((unsigned char)out[0],
                         contents[runs[run].file_offset + first % STEPS * 2]);
    }
    assert_true(clock_now() - begun < 10); /* 100,000 runs at each would take minutes */
    for (uint32_t i = 1; i < MANY; i++) {
        runs[i].path = NULL;
    }
    reader_destroy(reader);
    slab_destroy(slab);
    archive_destroy(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(shared),
                                       cmocka_unit_test(many), cmocka_unit_test(ends_of_extents)};
    int fd = mkstemp(path);
    for (size_t i = 0; i < FILE_BYTES; i++) {
        contents[i] = (unsigned char)dice(256);
    }
    if (fd < 0 || write(fd, contents, FILE_BYTES) != FILE_BYTES) {
        return 1;
    }
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed) {
        print_message("%s\n", report_cause());
    }
    unlink(path);
    return failed;
}
