/* Archives from bytes: what fuzz_native and fuzz_described share. */
#include "fuzz.h"

#include "base/memory.h"
#include "input/archive.h"
#include "input/open.h"
#include "input/read/reader.h"
#include "io/hdf5/h5.h"
#include "job/job.h"

#include <string.h>

enum {
    RAW_BYTES = 512 << 10,
    MOST_STREAMS = 8,
    MOST_BYTES = 128 << 10, /* HDF5 takes 50 us for every chunk, and chunks may hold one sample */
    MOST_READ = 64 << 20,   /* of all streams: the wanted ones may lie between millions of others */
    FENCE_BYTES = 64
};

static void make_file(const char *name, const uint8_t *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    EXPECT(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    static uint8_t raw[RAW_BYTES];
    h5_begin();
    report_quiet(1);
    for (size_t i = 0; i < RAW_BYTES; i++) {
        raw[i] = (uint8_t)(i * 37);
    }
    fuzz_enter_folder();
    make_file(FUZZ_RAW, raw, RAW_BYTES);
    fuzz_leave_folder();
    return 0;
}

/* Files, datasets, types, attributes of HDF5 that are open. */
static ssize_t count_open(void)
{
    return H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
}

/* Samples seen where they lie must be those that were read. */
static void check_map(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                      const char *expected)
{
    struct reader_mapped mapped;
    EXPECT(reader_map(reader, slab, first, count, &mapped) == STATUS_OK);
    if (mapped.mapping) {
        const size_t block = (size_t)(count * slab->width);
        for (uint64_t i = 0; i < slab->nblocks; i++) {
            EXPECT(memcmp((const char *)mapped.data + i * mapped.count * slab->width,
                          expected + i * block, block) == 0);
        }
        EXPECT(reader_unmap(&mapped) == STATUS_OK);
    }
}

/* Reads samples first .. first + count - 1, with a fence behind them. This and the next return
 * whether HDF5 failed. */
static int read_samples(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count)
{
    uint64_t bytes = slab_bytes(slab, count);
    if (count == 0 || bytes == 0 || bytes > MOST_BYTES) {
        return 0;
    }
    char *out = malloc((size_t)bytes + FENCE_BYTES);
    EXPECT(out);
    memset(out + bytes, 0x5a, FENCE_BYTES);
    status_t st = reader_read(reader, slab, first, count, out, NULL);
    int hdf5_failed = fuzz_expect_cause(st);
    if (st == STATUS_OK) {
        check_map(reader, slab, first, count, out);
    }
    for (size_t i = 0; i < FENCE_BYTES; i++) {
        EXPECT(out[bytes + i] == 0x5a);
    }
    free(out);
    return hdf5_failed;
}

/* Every sample of every stream must lie in the slab. */
static void check_offsets(const struct archive *archive, const struct slab *slab, uint64_t count)
{
    size_t re[MOST_STREAMS];
    size_t im[MOST_STREAMS];
    uint64_t bytes = slab_bytes(slab, count);
    size_t number = archive->stored.is_compound ? archive->stored.element_bytes / 2
                                                : archive->stored.element_bytes;
    slab_offsets(slab, count, re, im);
    for (uint32_t i = 0; count > 0 && bytes > 0 && i < slab->streams.count; i++) {
        uint64_t last = (count - 1) * slab->width + number;
        EXPECT(re[i] <= bytes && last <= bytes - re[i]);
        EXPECT(im[i] <= bytes && last <= bytes - im[i]);
    }
}

/* The first and the last samples of the first and the last streams. */
static int read_some(const struct archive *archive)
{
    reader_t *reader = NULL;
    int hdf5_failed = 0;
    uint32_t nstreams = archive->nstreams < MOST_STREAMS ? archive->nstreams : MOST_STREAMS;
    if (reader_create(archive, 1 << 20, 1, &reader) != STATUS_OK) {
        report_clear();
        return 0;
    }
    for (int at_end = 0; at_end < 2; at_end++) {
        struct slab *slab = NULL;
        uint32_t first_stream = at_end ? archive->nstreams - nstreams : 0;
        status_t st = slab_create(archive, stream_range(first_stream, nstreams), &slab);
        if (st == STATUS_OK) {
            uint64_t each = slab_bytes(slab, 1);
            uint64_t fits = each > 0 ? MOST_BYTES / each : 0;
            uint64_t step = (uint64_t)archive->nstreams * archive->stored.element_bytes;
            uint64_t count = min_u64(min_u64(fits, MOST_READ / step), archive->samples);
            uint64_t end = archive->first_sample + archive->samples;
            check_offsets(archive, slab, count);
            uint64_t first = at_end ? end - count : archive->first_sample;
            hdf5_failed |= read_samples(reader, slab, first, count);
            hdf5_failed |= read_samples(reader, slab, end - 1, min_u64(count, 1));
            slab_destroy(slab);
        }
        report_clear();
    }
    reader_destroy(reader);
    return hdf5_failed;
}

/* Checks that a message of rank 0 arrives unchanged. */
static void send(const struct archive *archive)
{
    struct text sent = {0};
    struct text again = {0};
    void *copy = NULL;
    EXPECT(pack_struct(&sent, archive, &archive_type) == STATUS_OK);
    struct unpack in = {.data = sent.data, .length = sent.length};
    EXPECT(unpack_new(&in, &archive_type, "an archive", &copy) == STATUS_OK);
    EXPECT(pack_struct(&again, copy, &archive_type) == STATUS_OK);
    EXPECT(sent.length == again.length && memcmp(sent.data, again.data, sent.length) == 0);
    archive_destroy(copy);
    text_free(&again);
    text_free(&sent);
}

void fuzz_archive(const char *job_text, const char *const *sets, uint32_t nsets,
                  const uint8_t *data, size_t size)
{
    struct job *job = NULL;
    struct archive *archive = NULL;
    if (job_parse("fuzz.yaml", job_text, strlen(job_text), sets, nsets, &job) != STATUS_OK) {
        report_clear();
        return;
    }
    ssize_t before = count_open();
    fuzz_enter_folder();
    if (data) {
        make_file(FUZZ_ARCHIVE, data, size);
    }
    status_t st = archive_open(job, &archive);
    int hdf5_failed = fuzz_expect_cause(st);
    EXPECT((st == STATUS_OK) == (archive != NULL));
    if (archive) {
        EXPECT(archive->nstreams > 0 && archive->samples > 0);
        (void)archive_gap_samples(archive, archive->samples);
        send(archive);
        hdf5_failed |= read_some(archive);
    }
    archive_destroy(archive);
    job_destroy(job);
    fuzz_leave_folder();
    EXPECT(hdf5_failed || count_open() == before);
}
