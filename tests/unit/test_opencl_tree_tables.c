/* Tables of the tree kernel, without a device: what a phase writes into local memory lies in it,
 * begins where copies of 16 bytes may, and is nothing that the phase reads or writes twice. */
#include "bench/bench_dedisperse.h"
#include "compute/opencl/dedisperse/tree_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LOCAL = 48 << 10, DMS = 200, SAMPLES = 5000 };

struct tables {
    struct dedisperse_shape shape;
    struct tree_tables tables;
    unsigned char *words; /* [memory] 1: read, 2: written in this phase */
};

/* Marks `count` words from byte `at` on. */
static void mark(const struct tables *t, uint32_t at, uint32_t count, unsigned char how)
{
    assert_int_equal(at % 4, 0);
    assert_true(at / 4 + count <= t->tables.memory);
    for (uint32_t i = at / 4; i < at / 4 + count; i++) {
        assert_true(how == 1 ? t->words[i] != 2 : t->words[i] == 0);
        t->words[i] = how;
    }
}

static uint32_t half(const uint32_t *numbers, uint32_t i)
{
    return numbers[i / 2] >> (16 * (i % 2)) & 0xffff;
}

static void mark_pieces(const struct tables *t, const uint32_t *pieces, uint32_t count)
{
    uint32_t group = t->shape.group;
    uint32_t entry = group == 4 ? 8 : group == 8 ? 16 : 24;
    for (uint32_t i = 0; i < count * entry; i += entry) {
        uint32_t units = half(pieces, i + group + 1);
        for (uint32_t k = 0; k < group; k++) {
            mark(t, half(pieces, i + k), units, 1);
        }
        assert_int_equal(half(pieces, i + group) % (4 * t->shape.pack), 0);
        mark(t, half(pieces, i + group), units * t->shape.pack, 2);
    }
}

/* One phase; reads first: sums that are added, rows that sums are made of. */
static void check_phase(const struct tables *t, const uint32_t *head)
{
    const uint32_t *block = t->tables.tables.numbers + 4 * (size_t)head[0];
    uint32_t nrows = head[3] & 0x7f;
    uint32_t npieces = head[2] & 0x7fff;
    uint32_t nsums = head[2] >> 16 & 0xff;
    uint32_t dms = dedisperse_shape_tile_dms(&t->shape);
    uint32_t columns = t->shape.time_items * t->shape.time_out / t->shape.pack;
    uint32_t wide = head[2] & 1U << 15 ? 1 : t->shape.pack;
    uint32_t entry = t->shape.group == 4 ? 4 : t->shape.group == 8 ? 8 : 12;
    const uint32_t *pairs = block + (size_t)nrows * 4 + (size_t)npieces * entry;
    memset(t->words, 0, t->tables.memory);
    for (uint32_t i = 0; i < nsums; i++) {
        for (uint32_t d = 0; d < dms; d++) {
            uint32_t at = pairs[(size_t)(i / 2) * dms + d] >> (16 * (i % 2)) & 0xffff;
            assert_int_equal(at % (4 * wide), 0);
            mark(t, at, columns * wide, 1);
        }
    }
    mark_pieces(t, block + (size_t)nrows * 4, npieces);
    for (uint32_t i = 0; i < nrows; i++) {
        assert_int_equal(block[4 * i + 2] % 16, 0);
        mark(t, block[4 * i + 2], 4 * block[4 * i + 3], 2);
    }
    assert_true(nrows * 4 + npieces * entry + (nsums + 1) / 2 * dms <= 4 * head[1]);
}

static void check_setup(const char *name, double step, int is_float, const char *shape)
{
    const struct bench_telescope *telescope = bench_telescope(name);
    double *freq = calloc(telescope->nchannels, sizeof *freq);
    double dms[DMS];
    struct dispersion delays;
    uint32_t firsts[] = {0, DMS};
    struct dedisperse_shape_spans spans = {0};
    struct tables t = {.words = NULL};
    assert_non_null(freq);
    for (uint32_t i = 0; i < telescope->nchannels; i++) {
        freq[i] = telescope->bottom + i * telescope->width;
    }
    for (uint32_t i = 0; i < DMS; i++) {
        dms[i] = i * step;
    }
    struct dispersion_spec spec = {.freq_hz = freq,
                                   .nchannels = telescope->nchannels,
                                   .sample_seconds = 1 / telescope->rate,
                                   .dms = dms,
                                   .ndms = DMS};
    assert_int_equal(dispersion_create(&spec, &delays), STATUS_OK);
    struct dedisperse_shape_problem problem = {.sample_bytes = is_float ? 4 : 1,
                                               .is_float = is_float,
                                               .nrows = telescope->nchannels,
                                               .ndms = DMS,
                                               .nranges = 1,
                                               .delays = delays.table,
                                               .firsts = firsts,
                                               .samples = SAMPLES};
    assert_true(dedisperse_shape_parse(shape, &t.shape));
    dedisperse_shape_spans(&problem, &t.shape, &spans);
    assert_int_equal(tree_tables_create(&problem, &t.shape, &spans, LOCAL, 1, &t.tables),
                     STATUS_OK);
    if (!t.tables.fits) {
        fail_msg("%s: %s does not fit", name, shape);
    }
    assert_true(tree_tables_local_bytes(&t.tables) <= LOCAL);
    t.words = malloc(t.tables.memory);
    assert_non_null(t.words);
    /* Two more of zeros stand after the last. */
    for (uint64_t i = 0; i + 8 < t.tables.steps.count; i += 4) {
        check_phase(&t, t.tables.steps.numbers + i);
    }
    free(t.words);
    tree_tables_free(&t.tables);
    dispersion_free(&delays);
    free(freq);
}

static void phases_write_what_they_do_not_read(void **state)
{
    (void)state;
    check_setup("apertif", 0.25, 0, "direct:2:32x8:8x8:8:1:0:4");
    check_setup("askap", 1, 0, "direct:2:32x8:8x8:16:0:0:8");
    check_setup("chime", 1, 0, "direct:2:32x8:16x4:8:5:0:4");
    check_setup("meerkat", 0.5, 0, "direct:2:32x4:8x8:16:7:0:4");
    check_setup("apertif", 0.25, 1, "direct:1:32x8:4x4:16:1:0:4");
    check_setup("askap", 1, 1, "direct:1:32x4:4x4:16:0:0:8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(phases_write_what_they_do_not_read)};
    return cmocka_run_group_tests_name("opencl_tree_tables", tests, NULL, NULL);
}
