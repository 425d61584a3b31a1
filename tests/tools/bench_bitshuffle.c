/* Cost of undoing bitshuffle: chunks of several kinds of numbers, by one thread, compared with LZ4
 * alone on the same blocks and, if its HDF5 plugin is named, with the public library. Then the same
 * chunks are read from a file by one and by two threads.
 *
 *   bench_bitshuffle [REPEATS [PLUGIN.so]]
 *
 * All sides take turns; the best of each counts. One thread is timed by its own processor time, so
 * that other programs disturb little; reads by the clock, and beside that, as what two free
 * processors would give, by the processor time of the thread that is busiest. */
#include "base/pool.h"
#include "input/hdf5/chunks.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_versions.h"
#include "product/codec.h"

#include <dlfcn.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 4 << 20, CHUNKS = 16, BLOCK = 8192, HEAD = 12 };
enum { OURS, LZ4_ALONE, LIBRARY, SIDES };

/* The library's function: elements, bytes of one, elements of a block; below 0: it failed. */
typedef int64_t (*library_t)(const void *in, void *out, size_t count, size_t size, size_t block);

static const struct numbers_kind {
    const char *name;
    size_t bytes, noise; /* noise: standard deviation; of 4 bytes floats */
} kinds[] = {{"8 bit, noise of 3", 1, 3},  {"8 bit, noise of 20", 1, 20},
             {"16 bit, noise of 4", 2, 4}, {"16 bit, noise of 200", 2, 200},
             {"32-bit float", 4, 1},       {"two 32-bit floats", 8, 1}};

static unsigned char raw[CHUNK], out[CHUNK];

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double gauss(void)
{
    static uint64_t x = 88172645463325252;
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum += (double)(x >> 32) / 4294967296.0;
    }
    return sum;
}

static void fill(const struct numbers_kind *kind)
{
    size_t each = kind->bytes < 4 ? kind->bytes : 4;
    for (size_t i = 0; i < CHUNK; i += each) {
        double value = gauss() * (double)kind->noise;
        float real = (float)value;
        int16_t whole = (int16_t)lrint(value);
        memcpy(raw + i, each == 4 ? (void *)&real : (void *)&whole, each);
    }
}

static void lz4_alone(const unsigned char *in)
{
    in += HEAD;
    for (size_t at = 0; at < CHUNK; at += BLOCK) {
        int bytes = in[0] << 24 | in[1] << 16 | in[2] << 8 | in[3];
        if (LZ4_decompress_safe((const char *)in + 4, (char *)out + at, bytes, BLOCK) != BLOCK) {
            exit(1);
        }
        in += 4 + bytes;
    }
}

static void undo(int side, const struct numbers_kind *kind, unfilter_t *unfilter, library_t library,
                 const unsigned char *in, size_t bytes)
{
    int is_well = 1;
    if (side == OURS) {
        is_well = unfilter_chunk(unfilter, 0, in, bytes, out) == STATUS_OK;
    } else if (side == LZ4_ALONE) {
        lz4_alone(in);
    } else {
        is_well =
            library(in + HEAD, out, CHUNK / kind->bytes, kind->bytes, BLOCK / kind->bytes) >= 0;
    }
    if (!is_well || (side != LZ4_ALONE && memcmp(out, raw, CHUNK) != 0)) {
        fprintf(stderr, "%s: side %d gives something else\n", kind->name, side);
        exit(1);
    }
}

/* Gives the bytes that the chunk has become. */
static size_t bench_kind(const struct numbers_kind *kind, int repeats, library_t library,
                         unsigned char *packed)
{
    struct chunk_filters filters;
    codec_t *compress = NULL;
    unfilter_t *unfilter = NULL;
    size_t bytes = 0;
    double best[SIDES] = {1e9, 1e9, 1e9};
    fill(kind);
    codec_filters(COMPRESSION_BITSHUFFLE, kind->bytes, &filters);
    if (codec_create(COMPRESSION_BITSHUFFLE, kind->bytes, CHUNK, &compress) ||
        codec_chunk(compress, raw, packed, &bytes) || unfilter_create(&filters, CHUNK, &unfilter)) {
        exit(1);
    }
    for (int i = 0; i < repeats; i++) {
        for (int side = OURS; side < (library ? SIDES : LIBRARY); side++) {
            undo(side, kind, unfilter, library, packed, bytes); /* what it needs is near */
            double began = seconds(CLOCK_THREAD_CPUTIME_ID);
            if (side == OURS) {
                (void)unfilter_chunk(unfilter, 0, packed, bytes, out);
            } else if (side == LZ4_ALONE) {
                lz4_alone(packed);
            } else {
                (void)library(packed + HEAD, out, CHUNK / kind->bytes, kind->bytes,
                              BLOCK / kind->bytes);
            }
            best[side] = fmin(best[side], seconds(CLOCK_THREAD_CPUTIME_ID) - began);
        }
    }
    printf("%-22s%7.2f%10.2f%10.2f%8.2f", kind->name, (double)CHUNK / (double)bytes,
           1e-9 * (double)CHUNK / best[OURS], 1e-9 * (double)CHUNK / best[LZ4_ALONE],
           best[LZ4_ALONE] / best[OURS]);
    if (library) {
        printf("%10.2f%8.2f", 1e-9 * (double)CHUNK / best[LIBRARY], best[LIBRARY] / best[OURS]);
    }
    unfilter_destroy(unfilter);
    codec_destroy(compress);
    return bytes;
}

/* A file of such chunks; gives the dataset's address in it. */
static haddr_t make_file(const char *path, const struct numbers_kind *kind,
                         const unsigned char *packed, size_t bytes)
{
    const hsize_t dims[1] = {(hsize_t)CHUNKS * CHUNK / kind->bytes};
    const hsize_t chunk[1] = {CHUNK / kind->bytes};
    struct chunk_filters filters;
    haddr_t address = 0;
    codec_filters(COMPRESSION_BITSHUFFLE, kind->bytes, &filters);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Tcreate(H5T_OPAQUE, kind->bytes);
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 1, chunk);
    H5Pset_filter(plist, filters.items[0].id, H5Z_FLAG_OPTIONAL, filters.items[0].nvalues,
                  filters.items[0].values);
    hid_t dataset = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    for (hsize_t i = 0; i < CHUNKS; i++) {
        const hsize_t at[1] = {i * chunk[0]};
        if (H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, bytes, packed) < 0) {
            exit(1);
        }
    }
    if (h5_address(dataset, &address) < 0) {
        exit(1);
    }
    H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
    return address;
}

static chunks_t *open_file(const char *path, const struct numbers_kind *kind, haddr_t address,
                           uint32_t threads)
{
    chunks_t *chunks = NULL;
    struct chunks_spec spec = {.path = path,
                               .name = "x",
                               .address = address,
                               .rank = 1,
                               .dims = {(hsize_t)CHUNKS * CHUNK / kind->bytes},
                               .chunk = {CHUNK / kind->bytes},
                               .element_bytes = kind->bytes,
                               .chunk_bytes = CHUNK,
                               .number_bytes = 1,
                               .threads = threads};
    codec_filters(COMPRESSION_BITSHUFFLE, kind->bytes, &spec.filters);
    if (identity_of_path(path, &spec.identity) || chunks_open(&spec, &chunks)) {
        fprintf(stderr, "%s\n", report_cause());
        exit(1);
    }
    return chunks;
}

/* Reads all; seconds by the clock, and those of its busiest thread. */
static void read_all(chunks_t *chunks, const struct chunk_box *box, double *clock, double *busiest)
{
    double began = seconds(CLOCK_MONOTONIC);
    double all = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double own = seconds(CLOCK_THREAD_CPUTIME_ID);
    status_t st = chunks_read(chunks, box);
    own = seconds(CLOCK_THREAD_CPUTIME_ID) - own;
    all = seconds(CLOCK_PROCESS_CPUTIME_ID) - all;
    *clock = fmin(*clock, seconds(CLOCK_MONOTONIC) - began);
    *busiest = fmin(*busiest, fmax(own, all - own));
    if (st != STATUS_OK || memcmp(box->out + (size_t)(CHUNKS - 1) * CHUNK, raw, CHUNK) != 0) {
        exit(1);
    }
}

static void bench_threads(const char *path, const struct numbers_kind *kind, haddr_t address,
                          int repeats)
{
    double clock[2] = {1e9, 1e9};
    double busiest[2] = {1e9, 1e9};
    const double gigabytes = 1e-9 * (double)CHUNKS * (double)CHUNK;
    chunks_t *chunks[2];
    struct chunk_box box = {.count = {(hsize_t)CHUNKS * CHUNK / kind->bytes},
                            .stride = {kind->bytes},
                            .out = malloc((size_t)CHUNKS * CHUNK)};
    if (!box.out) {
        exit(1);
    }
    for (uint32_t i = 0; i < 2; i++) {
        chunks[i] = open_file(path, kind, address, i + 1);
    }
    for (int i = 0; i < 2 * repeats; i++) {
        read_all(chunks[i % 2], &box, &clock[i % 2], &busiest[i % 2]);
    }
    printf("%10.2f%10.2f%8.2f%9.2f\n", gigabytes / clock[0], gigabytes / clock[1],
           clock[0] / clock[1], busiest[0] / busiest[1]);
    chunks_close(chunks[0]);
    chunks_close(chunks[1]);
    free(box.out);
}

struct copy {
    unsigned char *to, *from;
    size_t bytes;
};

/* In steps, as blocks of chunks come one after the other. */
static void copy_all(void *context)
{
    const struct copy *copy = context;
    for (size_t at = 0; at < copy->bytes; at += BLOCK) {
        memcpy(copy->to + at, copy->from + at, BLOCK);
    }
}

/* Measures the gain of two threads of this machine if memory alone is the work. */
static void bench_memory(int repeats, int is_beside_library)
{
    const size_t bytes = (size_t)CHUNKS * CHUNK;
    double clock[2] = {1e9, 1e9};
    unsigned char *memory = malloc(2 * bytes);
    pool_worker_t *second = NULL;
    if (!memory || pool_worker_create("copy", &second)) {
        exit(1);
    }
    memset(memory, 1, 2 * bytes);
    for (int i = 0; i < 2 * repeats; i++) {
        size_t half = i % 2 ? bytes / 2 : 0;
        struct copy first = {memory, memory + bytes, bytes - half};
        struct copy other = {memory + half, memory + bytes + half, half};
        double began = seconds(CLOCK_MONOTONIC);
        if (half > 0) {
            pool_worker_begin(second, copy_all, &other);
        }
        copy_all(&first);
        if (half > 0) {
            pool_worker_wait(second);
        }
        clock[i % 2] = fmin(clock[i % 2], seconds(CLOCK_MONOTONIC) - began);
    }
    printf("%-22s%*.2f%10.2f%8.2f\n", "memory, copied", is_beside_library ? 53 : 35,
           1e-9 * (double)bytes / clock[0], 1e-9 * (double)bytes / clock[1], clock[0] / clock[1]);
    pool_worker_destroy(second);
    free(memory);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 50;
    const char *folder = getenv("TMPDIR");
    char path[4096];
    library_t library = NULL;
    unsigned char *packed = malloc(codec_most_bytes(CHUNK));
    if (argc > 2) {
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        void *symbol = plugin ? dlsym(plugin, "bshuf_decompress_lz4") : NULL;
        if (!symbol) {
            fprintf(stderr, "%s: %s\n", argv[2], dlerror());
            return 1;
        }
        memcpy(&library, &symbol, sizeof library);
    }
    snprintf(path, sizeof path, "%s/voltmill-bench-bitshuffle-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || !packed || repeats < 1) {
        return 1;
    }
    close(fd);
    h5_begin();
    printf(
        "GB/s of numbers, best of %d; %d chunks of %d MiB\n%-22s%7s%10s%10s%8s%s%10s%10s%8s%9s\n",
        repeats, CHUNKS, CHUNK >> 20, "one thread", "smaller", "voltmill", "LZ4 alone", "ratio",
        library ? "   library   ratio" : "", "read by 1", "by 2", "ratio", "busiest");
    bench_memory(repeats, library != NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t bytes = bench_kind(&kinds[i], repeats, library, packed);
        bench_threads(path, &kinds[i], make_file(path, &kinds[i], packed, bytes), repeats);
        fflush(stdout);
    }
    free(packed);
    return unlink(path);
}
