/* Plain reads of pieces: a recorder's blocks or heaps, or a dataset, which is one piece. What is
 * wanted of them is cut into units, which threads read and make samples of, each for itself. */
#include "base/memory.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    UNIT_BYTES = 256 << 10, /* that a thread reads in one go, where samples must be made of them */
    SHARED_READ = 4 << 20,  /* from here on, several threads read */
    LONG_STRETCH = 32 << 10 /* from here on, a read of its own costs less than reading all */
};

/* Blocks of the slab that are read in one go. */
struct group {
    uint64_t slot, nslots;
};

/* A read of some pieces of a file. */
struct reading {
    reader_t *reader;
    const struct reader_wanted *wanted;
    struct archive_run run;
    uint64_t low, high; /* samples of the part */
    uint64_t first_piece, npieces;
    uint64_t slice, nslices; /* steps of a unit, and units of a group in a piece */
    struct group *groups;
    uint64_t ngroups;
    uint64_t step_bits;
    mapping_t *mapping; /* of bytes mapped_from .. of the file: nothing is copied twice; or NULL */
    uint64_t mapped_from;
};

/* Reads the open file. A sector that was unreadable is not tried again for each stream that has
 * some of it, since a disk takes seconds for that; none is smaller than these. */
static status_t pieces_fetch(reader_t *reader, uint64_t at, uint64_t bytes, char *out)
{
    enum { SECTOR = 512, SECTORS = sizeof reader->bad.sectors / sizeof *reader->bad.sectors };
    const uint64_t first = at / SECTOR;
    const uint64_t last = (at + bytes - 1) / SECTOR;
    for (uint32_t i = 0; reader->is_apart && i < reader->bad.count && i < SECTORS; i++) {
        const uint64_t sector = reader->bad.sectors[i];
        REQUIRE(sector < first || sector > last, STATUS_DATA, "%s: byte %" PRIu64 " is unreadable",
                reader->path, at);
    }
    const status_t st = file_read(reader->fd, reader->path, at, out, bytes);
    if (st == STATUS_DATA && reader->is_apart && first == last) {
        reader->bad.sectors[reader->bad.count++ % SECTORS] = first;
    }
    return st;
}

static uint64_t pieces_bytes(uint64_t bits)
{
    return ceil_div_u64(bits, 8);
}

/* Bytes of the file in memory: where they are mapped, or in `bounce`. */
static status_t pieces_show(const struct reading *reading, uint64_t at, uint64_t bytes,
                            char *bounce, const char **out)
{
    if (reading->mapping) {
        *out = (const char *)mapping_data(reading->mapping) + (at - reading->mapped_from);
        return STATUS_OK;
    }
    *out = bounce;
    return pieces_fetch(reading->reader, at, bytes, bounce);
}

/* Numbers that are one after the other, from a bit after a byte of the file on. */
static status_t pieces_make(const struct reading *reading, uint64_t at, uint64_t bit,
                            uint64_t count, char *out, char *bounce)
{
    const numbers_t *numbers = reading->reader->numbers;
    uint64_t bits = numbers->stored.bits;
    if (numbers->is_plain) {
        return pieces_fetch(reading->reader, at + bit / 8, count * numbers->bytes, out);
    }
    uint64_t most = (uint64_t)UNIT_BYTES * 8 / bits;
    for (uint64_t i = 0; i < count; i += most) {
        uint64_t now = min_u64(most, count - i);
        uint64_t from = bit + i * bits;
        const char *stored = NULL;
        TRY(pieces_show(reading, at + from / 8, pieces_bytes(from % 8 + now * bits), bounce,
                        &stored));
        numbers_make(numbers, stored, from % 8, now, out + i * numbers->bytes);
    }
    return STATUS_OK;
}

/* Time steps of one block, from a bit after a byte of the file on. */
static status_t pieces_read_block(const struct reading *reading, uint64_t at, uint64_t bit,
                                  uint64_t steps, char *out, char *bounce)
{
    const numbers_t *numbers = reading->reader->numbers;
    const struct numbers_cut *cut = &reading->wanted->cut;
    uint64_t kept_bits = cut->kept * numbers->stored.bits;
    uint64_t row = cut->kept * numbers->bytes;
    if (cut->kept == cut->each) {
        return pieces_make(reading, at, bit, steps * cut->each, out, bounce);
    }
    if (kept_bits / 8 >= LONG_STRETCH || reading->step_bits / 8 > UNIT_BYTES ||
        reading->reader->is_apart) {
        bit += cut->skipped * numbers->stored.bits;
        for (uint64_t i = 0; i < steps; i++) {
            TRY(pieces_make(reading, at, bit + i * reading->step_bits, cut->kept, out + i * row,
                            bounce));
        }
        return STATUS_OK;
    }
    uint64_t most = max_u64(1, (uint64_t)UNIT_BYTES * 8 / reading->step_bits);
    for (uint64_t i = 0; i < steps; i += most) {
        uint64_t now = min_u64(most, steps - i);
        uint64_t from = bit + i * reading->step_bits;
        const char *stored = NULL;
        TRY(pieces_show(reading, at + from / 8, pieces_bytes(from % 8 + now * reading->step_bits),
                        bounce, &stored));
        numbers_keep(numbers, cut, stored, from % 8, now, out + i * row);
    }
    return STATUS_OK;
}

static status_t pieces_read_unit(const void *context, uint32_t thread, uint64_t unit)
{
    const struct reading *reading = context;
    const numbers_t *numbers = reading->reader->numbers;
    char *bounce = reading->reader->bounce + (size_t)thread * reading->reader->bounce_bytes;
    const struct reader_wanted *wanted = reading->wanted;
    const struct archive_run *run = &reading->run;
    const struct group *group = &reading->groups[unit / reading->nslices % reading->ngroups];
    uint64_t piece = reading->first_piece + unit / reading->nslices / reading->ngroups;
    uint64_t begin = run->first_sample + piece * run->steps;
    uint64_t from = max_u64(begin, reading->low) + unit % reading->nslices * reading->slice;
    uint64_t to = min_u64(from + reading->slice, min_u64(begin + run->steps, reading->high));
    if (from >= to) {
        return STATUS_OK;
    }
    uint64_t at = run->file_offset + piece * run->piece_bytes;
    uint64_t block = reader_block(reading->reader, wanted, group->slot);
    uint64_t bit = (block * run->stored + from - begin) * reading->step_bits;
    uint64_t sample = wanted->part->first_sample + from;
    const char *stored = NULL;
    if (group->nslots == 1) {
        TRY(pieces_read_block(reading, at, bit, to - from,
                              reader_place(wanted, group->slot, sample), bounce));
    } else {
        uint64_t last = reader_block(reading->reader, wanted, group->slot + group->nslots - 1);
        uint64_t bits = ((last - block) * run->stored + to - from) * reading->step_bits;
        TRY(pieces_show(reading, at + bit / 8, pieces_bytes(bit % 8 + bits), bounce, &stored));
    }
    for (uint64_t i = 0; i < group->nslots; i++) {
        uint64_t other = reader_block(reading->reader, wanted, group->slot + i);
        char *out = reader_place(wanted, group->slot + i, sample);
        if (group->nslots > 1) {
            numbers_keep(numbers, &wanted->cut, stored,
                         bit % 8 + (other - block) * run->stored * reading->step_bits, to - from,
                         out);
        }
        numbers_scale(numbers, &wanted->cut, wanted->part, from, to - from, out);
        numbers_turn(numbers, sample, to - from, wanted->cut.kept, out);
    }
    return STATUS_OK;
}

/* Blocks that are near each other, and are short, are read together. */
static status_t pieces_make_groups(struct reading *reading, uint64_t steps)
{
    const struct reader_wanted *wanted = reading->wanted;
    uint64_t stretch = pieces_bytes(steps * reading->step_bits);
    uint64_t block_bits = reading->run.stored * reading->step_bits;
    int are_alone = stretch >= LONG_STRETCH || reading->reader->is_apart;
    struct group *last = NULL;
    uint64_t first = 0;
    uint64_t before = 0;
    TRY(memory_zeroed((size_t)wanted->nslots, sizeof *reading->groups, "blocks that are read",
                      &reading->groups));
    for (uint64_t i = 0; i < wanted->nslots; i++) {
        uint64_t block = reader_block(reading->reader, wanted, wanted->slot + i);
        /* Few blocks of a step are more than UNIT_BYTES: no product is out of range. */
        if (!last || are_alone || (block - before) * block_bits / 8 > stretch + LONG_STRETCH ||
            (block - first) * block_bits / 8 + stretch > UNIT_BYTES) {
            last = &reading->groups[reading->ngroups++];
            last->slot = wanted->slot + i;
            first = block;
        }
        last->nslots++;
        before = block;
    }
    return STATUS_OK;
}

/* A unit is one piece's blocks of a group, or a slice of a single long block. */
static status_t pieces_cut(struct reading *reading)
{
    const struct archive_run *run = &reading->run;
    uint64_t steps = min_u64(run->steps, reading->high - reading->low);
    TRY(pieces_make_groups(reading, steps));
    reading->slice = max_u64(1, (uint64_t)UNIT_BYTES * 8 / reading->step_bits);
    if (reading->ngroups < reading->wanted->nslots) {
        reading->slice = steps;
    }
    reading->nslices = ceil_div_u64(steps, reading->slice);
    reading->first_piece = (reading->low - run->first_sample) / run->steps;
    reading->npieces =
        (reading->high - 1 - run->first_sample) / run->steps - reading->first_piece + 1;
    return STATUS_OK;
}

static status_t pieces_read_units(const struct reading *reading)
{
    reader_t *reader = reading->reader;
    uint64_t units = reading->npieces * reading->ngroups * reading->nslices;
    uint64_t bits = (reading->high - reading->low) * reading->step_bits * reading->wanted->nslots;
    if (bits / 8 >= SHARED_READ) {
        return reader_share(reader, units, pieces_read_unit, reading);
    }
    for (uint64_t i = 0; i < units; i++) {
        TRY(pieces_read_unit(reading, 0, i));
    }
    return STATUS_OK;
}

/* Hints at the data that was read, and that will be: of one block or several pieces, the whole
 * range between. */
static void pieces_hint(const struct reading *reading)
{
    reader_t *reader = reading->reader;
    const struct archive_run *run = &reading->run;
    uint64_t begin = run->first_sample + reading->first_piece * run->steps;
    for (uint64_t i = 0; i < reading->ngroups; i++) {
        const struct group *group = &reading->groups[i];
        uint64_t block = reader_block(reader, reading->wanted, group->slot);
        uint64_t last =
            reader_block(reader, reading->wanted, group->slot + group->nslots - 1) - block;
        uint64_t at = run->file_offset + reading->first_piece * run->piece_bytes;
        uint64_t bytes = 0;
        if (reading->npieces == 1) {
            at += (block * run->stored + reading->low - begin) * reading->step_bits / 8;
            bytes = pieces_bytes((last * run->stored + reading->high - reading->low) *
                                 reading->step_bits);
        } else {
            bytes = reading->npieces * run->piece_bytes;
        }
        if (bytes >= LONG_READ) {
            file_expect(reader->fd, at + bytes, bytes);
        }
        reader_hint(reader, at, bytes);
        if (reading->npieces > 1) {
            break;
        }
    }
}

/* Maps all that is wanted, if samples must be made of it and little else is between. */
static void pieces_map(struct reading *reading)
{
    const struct archive_run *run = &reading->run;
    const struct reader_wanted *wanted = reading->wanted;
    int is_copied = reading->reader->numbers->is_plain && wanted->cut.kept == wanted->cut.each &&
                    reading->ngroups == wanted->nslots;
    uint64_t block = reader_block(reading->reader, wanted, wanted->slot);
    uint64_t last = reader_block(reading->reader, wanted, wanted->slot + wanted->nslots - 1);
    uint64_t begin = run->first_sample + reading->first_piece * run->steps;
    uint64_t first = reading->npieces == 1 ? reading->low - begin : 0;
    uint64_t end = reading->npieces == 1 ? reading->high - begin : run->steps;
    uint64_t low = (block * run->stored + first) * reading->step_bits / 8;
    uint64_t bytes = (reading->npieces - 1) * run->piece_bytes +
                     pieces_bytes((last * run->stored + end) * reading->step_bits) - low;
    uint64_t wanted_bits = (reading->high - reading->low) * wanted->cut.kept * wanted->nslots *
                           reading->reader->numbers->stored.bits;
    reading->mapped_from = run->file_offset + reading->first_piece * run->piece_bytes + low;
    if (!is_copied && !reading->reader->is_apart && bytes >= LONG_READ &&
        wanted_bits / 8 >= bytes / 2) {
        reading->mapping = mapping_open(reading->reader->fd, reading->mapped_from, bytes);
    }
}

/* Mapped data that is gone, or on a bad disk, is read again by plain reads, which report that. */
static status_t pieces_read_file(struct reading *reading)
{
    status_t st = STATUS_OK;
    pieces_map(reading);
    if (reading->mapping) {
        st = pieces_read_units(reading);
        int is_cut = mapping_is_cut(reading->mapping);
        mapping_close(memory_move(&reading->mapping));
        if (st != STATUS_OK || !is_cut) {
            return st;
        }
    }
    return pieces_read_units(reading);
}

static status_t pieces_read(struct reading *reading)
{
    status_t st = STATUS_OK;
    reader_t *reader = reading->reader;
    TRY_OUT(reader_make_bounce(reader, UNIT_BYTES + 8));
    TRY_OUT(pieces_cut(reading));
    TRY_OUT(reader_open_file(reader, reading->wanted->part, reading->run.path));
    TRY_OUT(reader_judge(reader, reading->wanted->part, pieces_read_file(reading)));
    pieces_hint(reading);
out:
    free(memory_move(&reading->groups));
    return st;
}

status_t reader_read_pieces(reader_t *reader, const struct reader_wanted *wanted,
                            struct losses *losses)
{
    const struct archive_part *part = wanted->part;
    struct reading reading = {.reader = reader,
                              .wanted = wanted,
                              .step_bits = wanted->cut.each * reader->numbers->stored.bits};
    uint64_t at = wanted->low - part->first_sample;
    uint64_t end = wanted->high - part->first_sample;
    for (uint32_t i = archive_run_at(part, at); at < end; i++) {
        const struct archive_run *run = i < part->nruns ? &part->runs[i] : NULL;
        uint64_t begin = run ? min_u64(end, run->first_sample) : end;
        if (at < begin) {
            TRY(reader_lack(wanted, reader->archive, part->first_sample + at, begin - at, losses));
            at = begin;
        }
        if (at < end) {
            reading.run = *run;
            reading.low = at;
            reading.high = at = min_u64(end, run->first_sample + run->pieces * run->steps);
            reading.ngroups = 0;
            TRY(pieces_read(&reading));
        }
    }
    return STATUS_OK;
}
