/* How work is cut, and where grains of a dump lie. */
#include "base/memory.h"
#include "compute/cpu/ppf/sums.h"
#include "compute/shared/grains.h"
#include "plan/chunk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Every spectrum of every stream lies in exactly one block of one chunk, in order. */
static void chunks_cover_everything_once(void **state)
{
    (void)state;
    static const struct chunking cases[] = {
        {1000, 120, 128, 4, 4, 4, 0, 0}, {1000, 120, 32, 4, 5, 2, 0, 0},
        {17, 100, 16, 4, 1, 1, 0, 0},    {16, 16, 16, 4, 3, 3, 0, 0},
        {999, 7, 16, 4, 4, 3, 0, 0},     {5000, 5000, 48, 4, 2, 1, 0, 0},
        {1, 1, 16, 4, 1, 1, 0, 0},       {100000, 64, 64, 4, 2, 2, 0, 0},
        {1000, 120, 32, 4, 12, 4, 2, 6}, {99, 16, 16, 4, 20, 4, 1, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct chunking *chunking = &cases[i];
        uint64_t covered = 0;
        uint64_t next = 0;
        uint32_t groups = chunk_groups(chunking);
        for (uint64_t c = 0; c < chunk_count(chunking); c++) {
            struct chunk chunk = chunk_at(chunking, c);
            assert_int_equal(chunk.group, c % groups);
            assert_int_equal(chunk.first, next);
            assert_true(chunk.streams >= 1 && chunk.streams <= chunking->group_streams);
            uint64_t at = chunk.first;
            while (at < chunk.first + chunk.count) {
                uint64_t count = chunk_block(chunking, &chunk, at);
                assert_true(count >= 1 && count <= chunking->block_spectra);
                at += count;
                assert_true(at % CHUNK_GRAIN == 0 || at == chunk.first + chunk.count);
            }
            assert_int_equal(at, chunk.first + chunk.count);
            covered += chunk.count * chunk.streams;
            next = chunk.group + 1 == groups ? chunk.first + chunk.count : next;
        }
        assert_int_equal(covered, chunking->spectra * chunking->streams);
    }
}

/* The pieces of all groups make up a row, each number once; streams that are in a set are found in
 * it. */
static void groups_of_coarse_channels_make_up_rows(void **state)
{
    (void)state;
    enum { COARSE = 6, OTHERS = 4, EACH = 10, MOST_IFS = 4 };
    static const uint64_t ifs[] = {1, MOST_IFS};
    for (uint32_t group = 1; group < COARSE; group = group < 3 ? group + 1 : COARSE) {
        const struct chunking chunking = {.spectra = 1,
                                          .chunk_spectra = 1,
                                          .streams = COARSE * OTHERS,
                                          .group_streams = group * OTHERS,
                                          .group_coarse = group,
                                          .coarse = COARSE};
        char streams[COARSE * OTHERS] = {0};
        char numbers[2][MOST_IFS * COARSE * EACH] = {{0}};
        assert_int_equal(chunk_groups(&chunking), COARSE / group);
        for (uint64_t c = 0; c < chunk_count(&chunking); c++) {
            const struct chunk chunk = chunk_at(&chunking, c);
            const struct stream_set set = chunk_streams(&chunk);
            for (uint32_t i = 0; i < set.count; i++) {
                streams[stream_set_at(&set, i)]++;
                assert_int_equal(stream_set_at(&set, i) % COARSE / group, c);
                assert_int_equal(stream_set_find(&set, stream_set_at(&set, i)), i);
            }
            for (int k = 0; k < 2; k++) {
                const struct chunk_row row = {.ifs = ifs[k], .column = 1};
                const struct chunk_pieces pieces =
                    chunk_pieces_of(&chunking, &chunk, ifs[k] * COARSE * EACH, &row);
                for (uint64_t i = 0; i < pieces.count * pieces.size; i++) {
                    numbers[k][chunk_pieces_at(&pieces, i)]++;
                    assert_int_equal(chunk_pieces_at(&pieces, i) / EACH % COARSE / group, c);
                }
            }
        }
        for (uint64_t i = 0; i < sizeof streams; i++) {
            assert_int_equal(streams[i], 1);
        }
        for (uint64_t i = 0; i < 2 * sizeof numbers[0]; i++) {
            const uint64_t at = i % sizeof numbers[0];
            const int k = i / sizeof numbers[0] > 0;
            assert_int_equal(numbers[k][at], at < ifs[k] * COARSE * EACH);
        }
    }
}

/* Where means of channels from some channel on are kept, each number belongs to the group that its
 * channels are of. */
static void groups_make_the_channels_that_are_kept(void **state)
{
    (void)state;
    enum { COARSE = 6, EACH = 12, IFS = 2, BYTES = 4 };
    static const struct chunk_row rows[] = {{IFS, 1, 0, COARSE * EACH, 1, EACH},
                                            {IFS, 1, 0, COARSE * EACH / 4, 4, EACH},
                                            {IFS, 1, 5, 40, 1, EACH},
                                            {IFS, 1, 27, 5, 1, EACH},
                                            {IFS, 1, 9, 7, 3, EACH},
                                            {IFS, 1, 68, 2, 2, EACH},
                                            {IFS, 1, 0, COARSE / 2, 2 * EACH, EACH},
                                            {IFS, 1, 30, 1, 12, EACH}};
    static const uint32_t groups[] = {1, 1, 1, 1, 1, 1, 2, 2};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct chunk_row *row = &rows[i];
        const struct chunking chunking = {.spectra = 1,
                                          .chunk_spectra = 1,
                                          .streams = COARSE,
                                          .group_streams = groups[i],
                                          .group_coarse = groups[i],
                                          .coarse = COARSE};
        char bytes[IFS * COARSE * EACH * BYTES] = {0};
        const uint64_t line = row->count * BYTES;
        for (uint64_t c = 0; c < chunk_count(&chunking); c++) {
            const struct chunk chunk = chunk_at(&chunking, c);
            const struct chunk_kept kept = chunk_kept_of(row, &chunk);
            const struct chunk_pieces pieces = chunk_pieces_of(&chunking, &chunk, IFS * line, row);
            assert_int_equal(pieces.count, kept.count > 0 ? IFS : 0);
            assert_int_equal(pieces.size, kept.count * BYTES);
            for (uint64_t k = 0; k < pieces.count * pieces.size; k++) {
                const uint64_t at = chunk_pieces_at(&pieces, k);
                const uint64_t number = at % line / BYTES;
                bytes[at]++;
                for (uint64_t j = 0; j < row->average; j++) {
                    const uint64_t channel = row->first + number * row->average + j;
                    assert_int_equal(channel / EACH / groups[i], c);
                }
                /* It begins with this channel of the group. */
                assert_int_equal(c * groups[i] * EACH + kept.from +
                                     (number - kept.first) * row->average,
                                 row->first + number * row->average);
            }
        }
        for (uint64_t k = 0; k < sizeof bytes; k++) {
            assert_int_equal(bytes[k], k < IFS * line);
        }
    }
}

static void rows_of_a_chunk_fill_pages(void **state)
{
    (void)state;
    assert_int_equal(chunk_row_quantum(8192, 4096), 1);
    assert_int_equal(chunk_row_quantum(240, 4096), 256);
    assert_int_equal(chunk_row_quantum(4, 4096), 1024);
    assert_int_equal(chunk_row_quantum(6144, 4096), 2);
}

/* Grains, walked one spectrum at a time: a new one begins at multiples of GRAIN and of the dump. Of
 * dumps that each fit a grain only the first and the last of a block can be cut. */
static void grains_are_numbered_as_they_come(void **state)
{
    (void)state;
    static const uint64_t integrates[] = {1, 2, 3, 10, 16, 24, 32, 100, 1000};
    static const uint64_t firsts[] = {0, 16, 48, 1600, 4800000000u};
    for (int i = 0; i < 9; i++) {
        const int are_rows = GRAIN % integrates[i] == 0;
        for (int j = 0; j < 5; j++) {
            uint64_t grain = 0;
            for (uint64_t at = firsts[j]; at < firsts[j] + 300; at++) {
                const int begins = at % integrates[i] == 0 || (!are_rows && at % GRAIN == 0);
                grain += at > firsts[j] && begins && (!are_rows || grain == 0);
                assert_int_equal(grain_index(firsts[j], at, integrates[i]), grain);
            }
            assert_true(grain < sums_grains(300, integrates[i]));
        }
    }
}

static void sizes_are_checked(void **state)
{
    (void)state;
    uint64_t out = 0;
    assert_int_equal(multiply_u64(UINT64_C(1) << 40, UINT64_C(1) << 24, &out), 0);
    assert_int_equal(multiply_u64(3, 5, &out), 1);
    assert_int_equal(out, 15);
    assert_int_equal(add_u64(UINT64_MAX, 1, &out), 0);
    assert_int_equal(lcm_u64(4, 6), 12);
    assert_int_equal(lcm_u64(UINT64_MAX, UINT64_MAX - 1), 0);
    assert_int_equal(gcd_u64(84, 36), 12);
    assert_int_equal(ceil_div_u64(7, 3), 3);
    assert_int_equal(ceil_div_u64(UINT64_MAX, 2), UINT64_C(1) << 63);
}

/* A part of the streams makes that part of a row, where that is whole bytes. */
static void shares_of_rows(void **state)
{
    (void)state;
    const struct chunking six = {.streams = 6};
    assert_int_equal(chunk_share(&six, 600, 4), 400);
    assert_int_equal(chunk_share(&six, 8, 3), 4); /* two ifs of three coarse channels each */
    assert_int_equal(chunk_share(&six, 8, 0), 0);
    assert_int_equal(chunk_share(&six, (UINT64_C(1) << 62) + 2, 3), (UINT64_C(1) << 61) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_cover_everything_once),
        cmocka_unit_test(groups_of_coarse_channels_make_up_rows),
        cmocka_unit_test(groups_make_the_channels_that_are_kept),
        cmocka_unit_test(rows_of_a_chunk_fill_pages),
        cmocka_unit_test(grains_are_numbered_as_they_come),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(shares_of_rows),
    };
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
