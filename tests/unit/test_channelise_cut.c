/* How work is cut so that it fits run.memory: blocks, groups of streams, chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/report.h"
#include "compute/device_side.h"
#include "input/archive.h"
#include "input/open.h"
#include "plan/budget.h"
#include "plan/channelise_plan.h"
#include "small_archive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 1 << 18, POLS = 6 };
#define MIB ((uint64_t)1 << 20)

static char path[] = "/tmp/voltmill-test-budget-XXXXXX";

struct planned {
    struct job *job;
    struct archive *archive;
    struct channelise_plan *work;
};

static void planned_end(struct planned *p)
{
    channelise_plan_destroy(p->work);
    archive_destroy(p->archive);
    job_destroy(p->job);
    report_clear();
}

static uint64_t pretended; /* samples of the archive, 0: as many as it has */
static const char *selected = "";
static enum backend_kind planned_for = BACKEND_CPU;

/* Plans a job of 64 channels with 8 taps and `memory` bytes of memory; `more`: other lines of
 * run. */
static status_t plan_job(uint64_t memory, const char *more, const char *products, uint32_t threads,
                         const struct chunking *begun, struct planned *out)
{
    char text[1024];
    const struct channelise_plan_cut cut = {.begun = begun};
    *out = (struct planned){.job = NULL};
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6}%s}\n"
             "channelise: {channels: 64, taps: 8}\nproducts: [%s]\nrun: {memory: %llu%s}\n",
             path, selected, products, (unsigned long long)memory, more);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &out->job), STATUS_OK);
    assert_int_equal(archive_open(out->job, &out->archive), STATUS_OK);
    out->archive->samples = pretended ? pretended : out->archive->samples;
    return channelise_plan_create(out->job, out->archive, planned_for, threads, &cut, &out->work);
}

static const char spectra[] = "{kind: spectra, file: a.h5}";
static const char both[] = "{kind: spectra, file: a.h5}, {kind: power, file: b.h5, integrate: 12}, "
                           "{kind: power, file: c.h5, integrate: 10}";

static void assert_sound(const struct planned *p, uint64_t quantum)
{
    const struct chunking *c = &p->work->chunking;
    assert_true(p->work->memory_bytes <= p->job->memory);
    assert_int_equal(c->spectra, SAMPLES / 128 - 8 + 1);
    assert_int_equal(c->streams, POLS);
    assert_true(c->group_streams >= 1 && c->group_streams <= POLS);
    assert_int_equal(c->chunk_spectra % quantum, 0);
    assert_true(c->block_spectra % CHUNK_GRAIN == 0 || c->block_spectra >= c->chunk_spectra);
    assert_int_equal(p->work->banks[0].channelise.max_spectra, c->block_spectra);
    assert_int_equal(p->work->banks[0].channelise.nstreams, c->group_streams);
}

static void what_is_planned_fits(void **state)
{
    (void)state;
    static const uint64_t memory[] = {90, 92, 96, 100, 128, 512, 4096};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        struct planned p;
        assert_int_equal(plan_job(memory[i] * MIB, "", both, 2, NULL, &p), STATUS_OK);
        assert_sound(&p, 60);
        planned_end(&p);
        assert_int_equal(plan_job(memory[i] * MIB, ", chunk: 100", spectra, 2, NULL, &p),
                         STATUS_OK);
        assert_sound(&p, 1);
        assert_int_equal(p.work->chunking.chunk_spectra, 100);
        planned_end(&p);
    }
}

/* Whole pages of pinned memory for each of many products do, too, or the job is refused. */
static void pages_of_many_products_fit(void **state)
{
    enum { PRODUCTS = 8 };
    char products[PRODUCTS * 64] = "";
    int fits = 0;
    (void)state;
    for (int i = 0; i < PRODUCTS; i++) {
        const size_t length = strlen(products);
        snprintf(products + length, sizeof products - length,
                 "%s{kind: power, file: %d.h5, integrate: %d}", i ? ", " : "", i, i + 1);
    }
    if (!backend_abilities(BACKEND_OPENCL)->has_device) {
        skip();
    }
    planned_for = BACKEND_OPENCL;
    for (uint64_t memory = 92; memory <= 512; memory += memory / 8) {
        struct planned p;
        if (plan_job(memory * MIB, "", products, 2, NULL, &p) == STATUS_OK) {
            assert_true(p.work->memory_bytes <= p.job->memory);
            fits++;
        }
        report_clear();
        planned_end(&p);
    }
    planned_for = BACKEND_CPU;
    assert_in_range(fits, 6, 14);
}

/* Blocks are cut in grains, of which a short observation fills but a part. */
static void buffers_have_no_rows_beyond_the_last(void **state)
{
    enum { SPECTRA = 9, INTEGRATE = 12, BLOCK = 10000 };
    (void)state;
    struct planned p;
    pretended = 128 * (SPECTRA + 7);
    assert_int_equal(plan_job(128 * MIB, "", spectra, 1, NULL, &p), STATUS_OK);
    pretended = 0;
    assert_int_equal(channelise_plan_rows(p.work, 0, BLOCK), SPECTRA);
    planned_end(&p);
    assert_int_equal(plan_job(128 * MIB, "", both, 1, NULL, &p), STATUS_OK);
    assert_true(channelise_plan_rows(p.work, 1, BLOCK) >= p.work->banks[0].spectra / INTEGRATE);
    /* A block may begin within a row of 12 spectra, but not of 4. */
    assert_int_equal(channelise_plan_rows(p.work, 1, 5 * INTEGRATE), 6);
    planned_end(&p);
    assert_int_equal(
        plan_job(128 * MIB, "", "{kind: power, file: a.h5, integrate: 4}", 1, NULL, &p), STATUS_OK);
    assert_int_equal(channelise_plan_rows(p.work, 0, 160), 40);
    assert_int_equal(channelise_plan_rows(p.work, 0, 3), 1);
    planned_end(&p);
}

/* A short last block would need as many samples of its neighbours, and as much memory. */
static void blocks_of_a_chunk_are_even(void **state)
{
    (void)state;
    for (uint64_t chunk = 100; chunk <= 2000; chunk += 100) {
        char more[32];
        struct planned p;
        snprintf(more, sizeof more, ", chunk: %llu", (unsigned long long)chunk);
        assert_int_equal(plan_job(92 * MIB, more, spectra, 1, NULL, &p), STATUS_OK);
        const uint64_t block = p.work->chunking.block_spectra;
        const uint64_t even = ceil_div_u64(chunk, ceil_div_u64(chunk, block));
        assert_in_range(block, even, even + (uint64_t)2 * CHUNK_GRAIN);
        planned_end(&p);
    }
}

/* Each block of the first ones is in buffers of its own; there are no more than blocks. */
static void few_blocks_need_few_buffers(void **state)
{
    (void)state;
    enum { BLOCK = 160, SLOTS = 4 };
    const uint32_t slots = backend_abilities(BACKEND_CPU)->slots;
    uint64_t before = 0;
    assert_int_equal(slots, SLOTS);
    for (uint32_t blocks = 1; blocks <= SLOTS + 2; blocks++) {
        struct planned p;
        struct budget_group group;
        pretended = 128 * (uint64_t)(BLOCK * blocks + 7);
        assert_int_equal(plan_job(512 * MIB, ", chunk: 160", spectra, 1, NULL, &p), STATUS_OK);
        pretended = 0;
        assert_int_equal(budget_measure_group(p.work, &group), STATUS_OK);
        assert_int_equal(p.work->chunking.block_spectra, BLOCK);
        const uint64_t more = p.work->memory_bytes - before;
        const uint64_t one = budget_slot_bytes(p.work, &group, BLOCK, MEMORY_HOST);
        const uint64_t least = blocks <= slots ? one : 0;
        assert_true(blocks == 1 || (more >= least && more <= least + one / 64));
        before = p.work->memory_bytes;
        planned_end(&p);
    }
}

/* HDF5 takes memory for each chunk of a dataset. */
static void many_chunks_need_a_large_index(void **state)
{
    (void)state;
    static const hsize_t chunks[] = {SAMPLES, 1 << 12, 16};
    uint64_t before = 4 * MIB - 1;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        struct planned p;
        small_archive_write(path, SAMPLES, POLS, chunks[i]);
        assert_int_equal(plan_job(512 * MIB, "", spectra, 1, NULL, &p), STATUS_OK);
        const uint64_t index = p.archive->parts[0].index_bytes;
        assert_in_range(index, before + 1, before + 3 * MIB);
        assert_int_equal(budget_hdf5_bytes(p.work),
                         index + p.work->cache_bytes +
                             p.work->unpackers * p.archive->parts[0].work_bytes);
        before = index;
        planned_end(&p);
    }
    small_archive_write(path, SAMPLES, POLS, 0);
}

/* The program itself takes what was measured, never more than what run.memory leaves for it. */
static void the_program_is_counted_as_measured(void **state)
{
    (void)state;
    const uint64_t base = BUDGET_BASE_BYTES;
    const uint64_t sizes[] = {0, MIB, 1024 * MIB, (uint64_t)1 << 50};
    struct planned p;
    assert_int_equal(plan_job(512 * MIB, "", spectra, 1, NULL, &p), STATUS_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t all = base + sizes[i];
        p.job->backend = BACKEND_CPU;
        const uint64_t one = budget_stated(p.job, BACKEND_CPU, 1, all);
        const uint64_t many = budget_stated(p.job, BACKEND_CPU, 64, all);
        p.job->backend = BACKEND_AUTO;
        const uint64_t looks = budget_stated(p.job, BACKEND_CPU, 1, all);
        assert_in_range(one, sizes[i] + min_u64(8 * MIB + sizes[i] / 128, base), all);
        assert_true(i == 3 ? many == all && looks == all
                           : many >= one + 63 * 30 * 1024 && looks >= one + 12 * MIB);
        assert_true(many <= all && looks <= all);
        if (backend_abilities(BACKEND_OPENCL)->has_device) {
            const uint64_t driver = budget_stated(p.job, BACKEND_OPENCL, 1, all);
            assert_in_range(driver, min_u64(one + 40 * MIB, all), min_u64(one + 60 * MIB, all));
        }
    }
    planned_end(&p);
}

/* The least memory that will do is what the refusal of less asks for; more never cuts smaller. */
static void more_memory_never_cuts_smaller(void **state)
{
    (void)state;
    uint64_t low = 64 * MIB;
    uint64_t high = 128 * MIB;
    struct planned p;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        status_t st = plan_job(middle, "", both, 1, NULL, &p);
        assert_true(st == STATUS_OK || st == STATUS_USAGE);
        if (st == STATUS_USAGE) {
            assert_non_null(strstr(report_cause(), "need at least"));
            low = middle;
        } else {
            high = middle;
        }
        planned_end(&p);
    }
    struct chunking before = {.group_streams = 0};
    for (uint64_t memory = high; memory < high + 8 * MIB; memory += MIB / 4) {
        assert_int_equal(plan_job(memory, "", both, 1, NULL, &p), STATUS_OK);
        assert_sound(&p, 60);
        const struct chunking *c = &p.work->chunking;
        assert_true(c->group_streams >= before.group_streams);
        assert_true(c->group_streams > before.group_streams ||
                    c->block_spectra >= before.block_spectra);
        before = *c;
        planned_end(&p);
    }
    assert_int_equal(before.group_streams, POLS);
}

/* Rank 0 answers for each chunk, so a long observation has longer chunks, worked off in blocks. */
static void long_observations_have_long_chunks(void **state)
{
    (void)state;
    enum { MOST = 1 << 22 };
    static const struct {
        uint64_t samples;
        uint64_t least;
    } of[] = {{UINT64_C(1) << 40, 1000}, {UINT64_C(1) << 50, MOST / 2}};
    for (int i = 0; i < 2; i++) {
        struct planned p;
        pretended = of[i].samples;
        status_t st = plan_job(96 * MIB, "", spectra, 2, NULL, &p);
        pretended = 0;
        assert_int_equal(st, STATUS_OK);
        assert_in_range(chunk_count(&p.work->chunking), of[i].least, MOST);
        assert_true(p.work->memory_bytes <= p.job->memory);
        planned_end(&p);
    }
}

/* With run.align chunks begin at stripes where enough of them are left, else at pages. */
static void long_chunks_begin_at_stripes(void **state)
{
    (void)state;
    enum { ROW = POLS * 64 * 8, STRIPE = 8 << 20, PAGE = 4096 };
    for (int i = 0; i < 2; i++) {
        struct planned p;
        pretended = UINT64_C(1) << (i == 0 ? 30 : 24);
        status_t st = plan_job(512 * MIB, ", align: 8MiB", spectra, 2, NULL, &p);
        pretended = 0;
        assert_int_equal(st, STATUS_OK);
        const uint64_t bytes = p.work->chunking.chunk_spectra * ROW;
        assert_int_equal(bytes % (i == 0 ? STRIPE : PAGE), 0);
        assert_true(i == 0 || bytes < STRIPE);
        planned_end(&p);
    }
}

static void what_was_begun_stays_as_it_was_cut(void **state)
{
    (void)state;
    struct planned p;
    assert_int_equal(plan_job(512 * MIB, "", both, 2, NULL, &p), STATUS_OK);
    struct chunking begun = p.work->chunking;
    planned_end(&p);
    begun.chunk_spectra = 180;
    begun.group_streams = 4;
    assert_int_equal(plan_job(128 * MIB, ", chunk: 600", both, 1, &begun, &p), STATUS_OK);
    assert_int_equal(p.work->chunking.chunk_spectra, 180);
    assert_int_equal(p.work->chunking.group_streams, 4);
    assert_sound(&p, 60);
    planned_end(&p);
    begun.chunk_spectra = 170; /* splits a dump */
    assert_int_equal(plan_job(128 * MIB, "", both, 1, &begun, &p), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "begun in other chunks"));
    planned_end(&p);
    report_clear();
    begun.chunk_spectra = 180;
    begun.group_streams = 64; /* need more memory than there is */
    assert_int_equal(plan_job(64 * MIB, "", both, 1, &begun, &p), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "as its products were begun; --restart begins anew"));
    planned_end(&p);
}

static void threads_change_no_chunk_that_the_job_sets(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 64; threads *= 4) {
        struct planned p;
        assert_int_equal(plan_job(512 * MIB, ", chunk: 250", both, threads, NULL, &p), STATUS_OK);
        assert_int_equal(p.work->chunking.chunk_spectra, 300); /* whole dumps of both */
        assert_sound(&p, 60);
        planned_end(&p);
    }
}

static void dumps_that_share_no_chunk_are_refused(void **state)
{
    (void)state;
    struct planned p;
    char products[512] = "";
    static const int primes[] = {1999, 1997, 1993, 1987, 1979, 1973};
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
        size_t length = strlen(products);
        snprintf(products + length, sizeof products - length,
                 "%s{kind: power, file: p%zu.h5, integrate: %d}", i ? ", " : "", i, primes[i]);
    }
    assert_int_equal(plan_job(512 * MIB, "", products, 1, NULL, &p), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "no sensible common multiple"));
    planned_end(&p);
}

/* Plans the same after a lowpass with a transition of `width` Hz. */
static void plan_filtered(enum backend_kind backend, double width, const char *more,
                          struct planned *out)
{
    char text[1024];
    *out = (struct planned){.job = NULL};
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6,\n"
             "  freq_hz: [250e3]}}\nfilter:\n"
             "  - {design: {kind: lowpass, edges: [2e5, %.17g]}, method: overlap-save}\n"
             "channelise: {channels: 64, taps: 8}\nproducts: [%s]\nrun: {memory: 512MiB%s}\n",
             path, 2e5 + width, spectra, more);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &out->job), STATUS_OK);
    assert_int_equal(archive_open(out->job, &out->archive), STATUS_OK);
    assert_int_equal(channelise_plan_create(out->job, out->archive, backend, 1, NULL, &out->work),
                     STATUS_OK);
}

/* AUTO means the CPU where the transforms of a device end, a device that is named stays. */
static void more_channels_than_a_device_makes_are_the_processors(void **state)
{
    static const struct {
        const char *bank;
        enum backend_kind expected;
    } cases[] = {{"channels: 67108864", BACKEND_OPENCL},
                 {"channels: 67108866", BACKEND_CPU},
                 {"channels: 134217728", BACKEND_CPU},
                 {"channels: 16777216", BACKEND_OPENCL},
                 {"channels: 16777218", BACKEND_CPU},
                 {"channels: 134217728, backend: opencl", BACKEND_OPENCL}};
    (void)state;
    if (!backend_abilities(BACKEND_OPENCL)->has_device) {
        skip(); /* built without */
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job *job = NULL;
        char text[512];
        snprintf(text, sizeof text,
                 "input: {files: x.h5, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: "
                 "1e6}}\nchannelise: {%s}\nproducts: [%s]\n",
                 cases[i].bank, spectra);
        assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
        assert_int_equal(channelise_plan_backend(job, BACKEND_OPENCL), cases[i].expected);
        job_destroy(job);
    }
}

/* Likewise of a synthesis: its transforms, or its filter. */
static void longer_syntheses_than_a_device_makes_are_the_processors(void **state)
{
    static const struct {
        uint32_t points, taps;
        enum backend_kind expected;
    } cases[] = {{1 << 24, 63, BACKEND_OPENCL}, {(1 << 24) + 2, 1, BACKEND_CPU},
                 {1 << 24, 64, BACKEND_CPU},    {1 << 26, 15, BACKEND_OPENCL},
                 {1 << 27, 1, BACKEND_CPU},     {0, 0, BACKEND_OPENCL}};
    (void)state;
    if (!backend_abilities(BACKEND_OPENCL)->has_device) {
        skip(); /* built without */
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {.synthesise = {.ncoeff = (uint64_t)cases[i].points * cases[i].taps,
                                         .made_taps = cases[i].taps}};
        assert_int_equal(channelise_plan_backend(&job, BACKEND_OPENCL), cases[i].expected);
    }
}

/* Samples that neighbours share after a filter: taps, a grain, and the bank's taps. Chunks are a
 * multiple of these: 16 times on a CPU; on a device the root of a 16th of the available memory, at
 * least twice: so n / r of it is read again where PINNING r is pinned. */
static void blocks_behind_filters_outweigh_what_they_share(void **state)
{
    (void)state;
    static const enum backend_kind kinds[] = {BACKEND_CPU, BACKEND_OPENCL};
    static const double widths[] = {1e5, 3e4, 3e3, 5e2};
    for (size_t i = 0; i < sizeof widths / sizeof *widths * 2; i++) {
        struct planned p;
        const enum backend_kind kind = kinds[i % 2];
        if (kind == BACKEND_OPENCL && !backend_abilities(kind)->has_device) {
            continue;
        }
        plan_filtered(kind, widths[i / 2], "", &p);
        const struct filter_spec *spec = &p.work->filters->stages[0].spec;
        const uint64_t shared = channelise_plan_shared(p.work);
        assert_int_equal(shared, spec->taps - 1 + filter_grain(spec) - 1 + (uint64_t)7 * 128);
        const double overlaps = (double)p.work->chunking.spectra / ((double)shared / 128);
        const double root = sqrt(overlaps / 16);
        const double ratio = kind == BACKEND_CPU ? 16 : root < 2 ? 2 : root < 16 ? root : 16;
        const double all = (double)p.work->chunking.spectra * 128;
        const double chunk = (double)p.work->chunking.chunk_spectra * 128;
        const double least = floor(ratio) * (double)shared;
        assert_true(chunk >= (least < all ? least : all));
        assert_true(kind == BACKEND_CPU ||
                    chunk <= (ratio * (double)shared + all / 64) * 1.2 + 128);
        planned_end(&p);
    }
}

/* Pinned memory has whole pages. */
static uint64_t pages(uint64_t bytes)
{
    return ceil_div_u64(bytes, PINNED_PAGE) * PINNED_PAGE;
}

/* Rows that only a device's stages read are not in the host's memory: a longer block takes more
 * only for its samples and rows. */
static void what_stays_on_a_device_is_not_the_hosts(void **state)
{
    (void)state;
    uint64_t bytes[2];
    uint64_t buffers[2];
    if (!backend_abilities(BACKEND_OPENCL)->has_device) {
        skip();
    }
    for (int i = 0; i < 2; i++) {
        struct planned p;
        plan_filtered(BACKEND_OPENCL, 3e3, i ? ", chunk: 1600" : ", chunk: 160", &p);
        const uint64_t block = p.work->chunking.block_spectra;
        assert_int_equal(block, i ? 1600 : 160);
        bytes[i] = p.work->memory_bytes;
        buffers[i] = pages(channelise_plan_most_samples(p.work, block) * POLS) +
                     pages(block * POLS * 64 * 2 * sizeof(float));
        planned_end(&p);
    }
    const uint64_t slots = backend_abilities(BACKEND_OPENCL)->slots;
    const uint64_t more = slots * (buffers[1] - buffers[0]);
    assert_in_range(bytes[1] - bytes[0], more, more + more / 64);
}

/* A job on a device, of an archive of `samples` samples in time order or pol by pol. */
struct device_job {
    hsize_t samples;
    int is_time_first;
    uint32_t channels, taps;
    const char *products;
};

static uint64_t told, sample_buffers; /* bytes of a rank; of these for samples, all sets together */
static const char *more_of_input = "";

/* Spectra of a chunk, and how many threads fill pieces. */
static uint64_t device_chunk(const struct device_job *of, uint32_t threads, uint32_t *fillers)
{
    char text[1024];
    struct planned p = {.job = NULL};
    if (of->is_time_first) {
        small_archive_write(path, of->samples, POLS, 0);
    } else {
        small_archive_write(path, POLS, of->samples, 0);
    }
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: '%s', sample_rate_hz: 1e6%s}}\n"
             "channelise: {channels: %u, taps: %u}\nproducts: [%s]\n",
             path, of->is_time_first ? "time,pol" : "pol,time", more_of_input, of->channels,
             of->taps, of->products);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &p.job), STATUS_OK);
    assert_int_equal(archive_open(p.job, &p.archive), STATUS_OK);
    assert_int_equal(
        channelise_plan_create(p.job, p.archive, BACKEND_OPENCL, threads, NULL, &p.work),
        STATUS_OK);
    uint64_t chunk = p.work->chunking.chunk_spectra;
    *fillers = p.work->fillers;
    told = p.work->memory_bytes;
    sample_buffers = backend_abilities(BACKEND_OPENCL)->slots * POLS *
                     channelise_plan_most_samples(p.work, p.work->chunking.block_spectra);
    planned_end(&p);
    small_archive_write(path, SAMPLES, POLS, 0);
    return chunk;
}

static const char power[] = "{kind: power, file: a.h5, integrate: 64}";
static const hsize_t many = (hsize_t)1 << 30; /* zeros that take no room */

/* Where samples go to a device while they are read, chunks are long, if they can be long enough. */
static void chunks_that_are_ingested_are_long(void **state)
{
    (void)state;
    uint32_t fillers = 0;
    if (!backend_abilities(BACKEND_OPENCL)->ingests) {
        skip();
    }
    struct device_job job = {many, 0, 64, 8, power};
    const uint64_t by_pols = device_chunk(&job, 16, &fillers);
    assert_int_equal(fillers, 15);
    job.is_time_first = 1;
    assert_int_equal(device_chunk(&job, 16, &fillers), by_pols);
    assert_int_equal(fillers, 15);
    job.samples /= 32;
    assert_true(7 * device_chunk(&job, 16, &fillers) < by_pols);
    assert_int_equal(fillers, 0);
    const struct device_job long_rows = {many, 1, 64, 8, spectra};
    const struct device_job same_rows = {many, 0, 64, 8, spectra};
    assert_int_equal(device_chunk(&long_rows, 16, &fillers),
                     device_chunk(&same_rows, 16, &fillers));
}

/* Samples in pieces have no buffers of the host: only those that may have to be read there do. */
static void what_is_ingested_is_in_no_buffers(void **state)
{
    (void)state;
    uint32_t fillers = 0;
    const struct device_job job = {many, 1, 64, 8, power};
    if (!backend_abilities(BACKEND_OPENCL)->ingests) {
        skip();
    }
    (void)device_chunk(&job, 2, &fillers);
    assert_int_equal(fillers, 0);
    const uint64_t as_read = told;
    assert_true(as_read > sample_buffers);
    for (uint32_t threads = 4; threads <= 16; threads *= 2) {
        (void)device_chunk(&job, threads, &fillers);
        assert_int_equal(fillers, threads - 1);
        const uint64_t left = as_read - sample_buffers + fillers * (uint64_t)4 * MIB;
        assert_in_range(told, left - 10 * MIB, left + 4 * MIB);
    }
    more_of_input = ", missing_value: -128";
    (void)device_chunk(&job, 4, &fillers);
    more_of_input = "";
    assert_int_equal(fillers, 3);
    assert_true(told >= as_read + 12 * MIB);
}

/* Nor do threads change chunks there: they are different on machines of one run. */
static void threads_change_no_chunk_of_a_device(void **state)
{
    (void)state;
    static const uint32_t channels[] = {64, 65536, 131072, 262144};
    uint32_t fillers = 0;
    if (!backend_abilities(BACKEND_OPENCL)->ingests) {
        skip();
    }
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        const struct device_job job = {many, 1, channels[i], i == 3 ? 8 : 2, power};
        const uint64_t chunk = device_chunk(&job, 1, &fillers);
        assert_int_equal(fillers, 0);
        for (uint32_t threads = 2; threads < 20; threads += threads < 6 ? 1 : 5) {
            assert_int_equal(device_chunk(&job, threads, &fillers), chunk);
            assert_true(fillers == 0 || (fillers >= 3 && fillers <= 15 && fillers < threads));
        }
    }
}

/* A block has no more spectra than there are, so what a job needs at least is enough. */
static void short_observations_fit_what_they_need(void **state)
{
    (void)state;
    uint64_t fitting = 0;
    for (uint64_t spectra_of = 1; spectra_of < 40; spectra_of += 6) {
        pretended = (spectra_of + 7) * 64;
        /* Each length has a third of the steps of 2 KiB, all have all. */
        for (uint64_t memory = 88 * MIB + spectra_of / 6 % 3 * 2048; memory < 89 * MIB;
             memory += 3 * 2048) {
            struct planned p;
            if (plan_job(memory, "", spectra, 2, NULL, &p) == STATUS_OK) {
                assert_true(p.work->memory_bytes <= memory);
                fitting++;
            }
            planned_end(&p);
        }
    }
    pretended = 0;
    assert_true(fitting > 0);
}

/* Threads that write rows of other formats take memory that is left, and refuse no job. */
static void writers_take_what_is_left(void **state)
{
    (void)state;
    static const char fits[] = "{kind: power, file: a.fits, format: psrfits}";
    uint32_t seen = 0;
    uint32_t before = 0;
    pretended = UINT64_C(1) << 26;
    selected = ", select: {pols: [0, 1]}";
    for (uint64_t memory = 88 * MIB; memory < 256 * MIB; memory += MIB) {
        struct planned p;
        if (plan_job(memory, "", fits, 32, NULL, &p) == STATUS_OK) {
            assert_true(p.work->memory_bytes <= memory);
            assert_true(p.work->writers >= max_u64(before, 1) && p.work->writers <= 16);
            seen |= 1U << p.work->writers;
            before = p.work->writers;
        } else {
            assert_int_equal(before, 0);
        }
        planned_end(&p);
    }
    pretended = 0;
    selected = "";
    assert_true((seen & 1U << 1) && (seen & 1U << 16));
}

/* Plans the same job where memory is left to the machine, which has so much. */
static void plan_auto(uint64_t cut_memory, uint64_t memory, struct planned *out)
{
    char text[1024];
    const struct channelise_plan_cut cut = {.begun = NULL};
    *out = (struct planned){.job = NULL};
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6}}\n"
             "channelise: {channels: 64, taps: 8}\nproducts: [%s]\nrun: {memory: auto}\n",
             path, both);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &out->job), STATUS_OK);
    assert_true(out->job->cut.memory == JOB_MEMORY);
    job_take_memory(out->job, memory);
    assert_true(out->job->memory == memory && out->job->cut.memory == JOB_MEMORY);
    out->job->cut.memory = cut_memory;
    assert_int_equal(archive_open(out->job, &out->archive), STATUS_OK);
    assert_int_equal(
        channelise_plan_create(out->job, out->archive, BACKEND_CPU, 2, &cut, &out->work),
        STATUS_OK);
}

/* Chunks and groups are those of any machine, blocks what it has room for. */
static void a_machines_memory_cuts_blocks_alone(void **state)
{
    (void)state;
    static const uint64_t memory[] = {96, 128, 1024, 65536};
    struct planned usual;
    assert_int_equal(plan_job(1024 * MIB, "", both, 2, NULL, &usual), STATUS_OK);
    const struct chunking *c = &usual.work->chunking;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        struct planned p;
        plan_auto(JOB_MEMORY, memory[i] * MIB, &p);
        assert_sound(&p, 60);
        assert_int_equal(p.work->chunking.chunk_spectra, c->chunk_spectra);
        assert_int_equal(p.work->chunking.group_streams, c->group_streams);
        assert_true(memory[i] < 1024 ? p.work->chunking.block_spectra <= c->block_spectra
                                     : p.work->chunking.block_spectra == c->block_spectra);
        planned_end(&p);
    }
    planned_end(&usual);
}

/* Jobs that need more than chunks are cut for: the available memory, since each stream by itself
 * would read the time steps of all of them. */
static void more_than_is_usual_is_taken_where_it_is_there(void **state)
{
    (void)state;
    struct planned p;
    plan_auto(64 * MIB, 512 * MIB, &p);
    assert_sound(&p, 60);
    assert_int_equal(p.work->chunking.group_streams, POLS);
    /* Not more than such a short observation is worth: ranks have something to share. */
    assert_true(chunk_count(&p.work->chunking) >= 32);
    planned_end(&p);
}

/* Where the smallest block of all streams fits, these stay together: a half of them would read the
 * same time steps. */
static void groups_that_read_twice_are_not_cut(void **state)
{
    (void)state;
    uint32_t wholes = 0;
    for (uint64_t memory = 88 * MIB; memory < 92 * MIB; memory += MIB / 8) {
        struct planned p;
        const struct chunking all = {.spectra = SAMPLES / 128 - 8 + 1,
                                     .chunk_spectra = CHUNK_GRAIN,
                                     .streams = POLS,
                                     .group_streams = POLS};
        status_t st = plan_job(memory, "", spectra, 2, &all, &p);
        planned_end(&p);
        if (st == STATUS_OK) {
            assert_int_equal(plan_job(memory, "", spectra, 2, NULL, &p), STATUS_OK);
            assert_int_equal(p.work->chunking.group_streams, POLS);
            planned_end(&p);
            wholes++;
        }
    }
    assert_true(wholes > 0);
}

/* Half of what is left, divided; two powers of two lie next to each other but for one between. */
static void what_a_machine_has_is_shared(void **state)
{
    (void)state;
    assert_true(job_share_memory(2048 * MIB, 1) == 1024 * MIB);
    assert_true(job_share_memory(2047 * MIB, 1) == 768 * MIB);
    assert_true(job_share_memory(4096 * MIB, 3) == 512 * MIB);
    assert_true(job_share_memory(65536 * MIB, 4) == 8192 * MIB);
    assert_true(job_share_memory(100 * MIB, 8) == 256 * MIB);
}

/* Many threads have more sets of buffers than few, as far as memory is left. */
static void many_threads_have_more_blocks(void **state)
{
    (void)state;
    const uint32_t usual = backend_abilities(BACKEND_CPU)->slots;
    uint32_t between = 0;
    struct planned p;
    assert_int_equal(plan_job(512 * MIB, ", chunk: 960", spectra, 7, NULL, &p), STATUS_OK);
    assert_int_equal(p.work->chunking.slots, usual);
    planned_end(&p);
    assert_int_equal(plan_job(512 * MIB, ", chunk: 960", spectra, 8, NULL, &p), STATUS_OK);
    assert_int_equal(p.work->chunking.slots, 2 * usual);
    planned_end(&p);
    for (uint64_t memory = 90 * MIB; memory < 128 * MIB; memory += MIB / 4) {
        if (plan_job(memory, ", chunk: 960", spectra, 8, NULL, &p) == STATUS_OK) {
            assert_true(p.work->memory_bytes <= memory);
            assert_in_range(p.work->chunking.slots, usual, 2 * usual);
            between += p.work->chunking.slots > usual && p.work->chunking.slots < 2 * usual;
        }
        planned_end(&p);
    }
    assert_true(between > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_have_more_blocks),
        cmocka_unit_test(a_machines_memory_cuts_blocks_alone),
        cmocka_unit_test(more_than_is_usual_is_taken_where_it_is_there),
        cmocka_unit_test(groups_that_read_twice_are_not_cut),
        cmocka_unit_test(what_a_machine_has_is_shared),
        cmocka_unit_test(what_is_planned_fits),
        cmocka_unit_test(pages_of_many_products_fit),
        cmocka_unit_test(buffers_have_no_rows_beyond_the_last),
        cmocka_unit_test(blocks_of_a_chunk_are_even),
        cmocka_unit_test(few_blocks_need_few_buffers),
        cmocka_unit_test(the_program_is_counted_as_measured),
        cmocka_unit_test(many_chunks_need_a_large_index),
        cmocka_unit_test(more_memory_never_cuts_smaller),
        cmocka_unit_test(long_observations_have_long_chunks),
        cmocka_unit_test(long_chunks_begin_at_stripes),
        cmocka_unit_test(what_was_begun_stays_as_it_was_cut),
        cmocka_unit_test(threads_change_no_chunk_that_the_job_sets),
        cmocka_unit_test(dumps_that_share_no_chunk_are_refused),
        cmocka_unit_test(more_channels_than_a_device_makes_are_the_processors),
        cmocka_unit_test(longer_syntheses_than_a_device_makes_are_the_processors),
        cmocka_unit_test(blocks_behind_filters_outweigh_what_they_share),
        cmocka_unit_test(what_stays_on_a_device_is_not_the_hosts),
        cmocka_unit_test(chunks_that_are_ingested_are_long),
        cmocka_unit_test(what_is_ingested_is_in_no_buffers),
        cmocka_unit_test(threads_change_no_chunk_of_a_device),
        cmocka_unit_test(short_observations_fit_what_they_need),
        cmocka_unit_test(writers_take_what_is_left),
    };
    int fd = mkstemp(path);
    if (fd < 0) {
        return 1;
    }
    close(fd);
    h5_begin();
    small_archive_write(path, SAMPLES, POLS, 0);
    int failed = cmocka_run_group_tests_name("budget", tests, NULL, NULL);
    unlink(path);
    return failed;
}
