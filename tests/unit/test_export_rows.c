/* Rows of .fil and PSRFITS at their places: whatever the cuts, writers and orders, the same bytes,
 * and sums of what is in the file. */
#include "product/export/export_rows.h"

#include "base/report.h"
#include "product/contents.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 53, IFS = 2, CHANS = 8, EACH = 7, BEGIN = 2880, SPAN_ROWS = 9, SPANS = 6 };
enum { MOST_BYTES = 1 << 16, SCALES = 40000 };

static struct export_rows form_of(enum file_format format, uint32_t bits)
{
    struct export_rows form = {.format = format,
                               .bits = bits,
                               .is_raw = bits < 32,
                               .is_reversed = format == FILE_FIL,
                               .rows = ROWS,
                               .nifs = IFS,
                               .nchans = CHANS,
                               .row_bytes = IFS * CHANS * bits / 8,
                               .begin = BEGIN,
                               .fch1 = 300,
                               .foff = 0.5,
                               .step = 0.25,
                               .lines = IFS * CHANS,
                               .steps = {.rows = ROWS,
                                         .scales = 1,
                                         .scale_offset = SCALES,
                                         .offset_offset = SCALES + IFS * CHANS * sizeof(float)}};
    form.bytes = BEGIN + ROWS * form.row_bytes;
    if (format == FILE_PSRFITS) {
        form.table = (struct psrfits_table){.rows_each = EACH,
                                            .count = (ROWS + EACH - 1) / EACH,
                                            .freqs = 40,
                                            .weights = 104,
                                            .offsets = 136,
                                            .scales = 200,
                                            .data = 264,
                                            .row_bytes = 264 + EACH * form.row_bytes};
        form.bytes = BEGIN + (form.table.count * form.table.row_bytes / 2880 + 1) * 2880;
    }
    return form;
}

/* Numbers of which some are none: all of channel 3 in the second row of the table, single ones. */
static char *numbers_of(uint32_t bits)
{
    char *data = calloc(ROWS, (size_t)IFS * CHANS * sizeof(float));
    for (int i = 0; i < ROWS * IFS * CHANS; i++) {
        int row = i / (IFS * CHANS);
        int is_none = (i % CHANS == 3 && row >= EACH && row < 2 * EACH) || i % 97 == 5;
        if (bits == 32) {
            ((float *)(void *)data)[i] = is_none ? NAN : (float)rand();
        } else if (bits == 16) {
            ((uint16_t *)(void *)data)[i] = (uint16_t)(is_none ? 0 : 1 + rand() % 65535);
        } else {
            data[i] = (char)(is_none ? 0 : 1 + rand() % 255);
        }
    }
    return data;
}

/* A file under way. */
struct written {
    struct export_rows form;
    struct product_place place;
    int fd;
    uint32_t sums[SPANS];
};

static pool_worker_t *worker;

static void add(void *context, uint64_t row, uint64_t count, uint64_t from, uint64_t bytes,
                const void *data)
{
    struct written *written = context;
    spans_add(&written->place, row, count, from, bytes, data, written->sums + row / SPAN_ROWS);
}

static export_writer_t *writer_of(struct written *written, uint32_t threads)
{
    export_writer_t *writer = NULL;
    const struct export_sum sum = {written, worker, add};
    assert_int_equal(
        export_writer_create(&written->form, written->fd, "rows", threads, &sum, &writer), 0);
    return writer;
}

static void begin(const struct export_rows *form, struct written *out)
{
    float scales[2 * IFS * CHANS];
    struct text head = {0};
    char bytes[BEGIN] = "the head";
    char path[] = "/dev/shm/voltmill.rows.XXXXXX"; /* where rows are written in memory */
    for (int i = 0; i < 2 * IFS * CHANS; i++) {
        scales[i] = 1 + (float)i;
    }
    *out = (struct written){
        .form = *form,
        .place = {.rows = ROWS, .row_bytes = form->row_bytes, .span_rows = SPAN_ROWS},
        .fd = mkstemp(path)};
    assert_true(out->fd >= 0 && unlink(path) == 0);
    assert_int_equal(text_add_bytes(&head, bytes, sizeof bytes), 0);
    assert_int_equal(export_rows_begin(&head, MOST_BYTES, out->fd, "rows"), 0);
    assert_true(pwrite(out->fd, scales, sizeof scales, SCALES) == sizeof scales);
    text_free(&head);
}

/* The sums are those of rows as they are in the file. */
static void are_sums(const struct written *written)
{
    uint32_t sums[SPANS] = {0};
    char row[IFS * CHANS * sizeof(float)];
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t together = 0;
        uint64_t at = export_rows_at(&written->form, i, &together);
        ssize_t bytes = (ssize_t)written->form.row_bytes;
        const uint64_t last = (i + together < ROWS ? i + together : ROWS) - 1;
        uint64_t left = 0;
        assert_int_equal(export_rows_at(&written->form, last, &left),
                         at + (last - i) * (uint64_t)bytes);
        assert_true(together > 0 && pread(written->fd, row, (size_t)bytes, (off_t)at) == bytes);
        spans_add(&written->place, i, 1, 0, (uint64_t)bytes, row, sums + i / SPAN_ROWS);
    }
    assert_memory_equal(sums, written->sums, sizeof sums);
}

/* The whole file. */
static void end(struct written *written, char out[MOST_BYTES])
{
    memset(out, 0, MOST_BYTES);
    for (int turn = 0; turn < 2; turn++) { /* a second run does the last steps again */
        export_writer_t *writer = writer_of(written, 1);
        assert_int_equal(export_rows_complete(writer, 0, UINT64_MAX, 1), 0);
        assert_int_equal(export_rows_finish(&written->form, written->fd, "rows"), 0);
        export_writer_destroy(writer);
    }
    assert_true(pread(written->fd, out, MOST_BYTES, 0) == (ssize_t)written->form.bytes);
    close(written->fd);
}

/* All rows in one go, by some threads. */
static void write_at_once(const struct export_rows *form, const char *data, uint32_t threads,
                          char *out)
{
    struct written written;
    begin(form, &written);
    export_writer_t *writer = writer_of(&written, threads);
    assert_int_equal(export_writer_put(writer, 0, ROWS, 0, form->row_bytes, data), 0);
    assert_int_equal(export_writer_flush(writer), 0);
    are_sums(&written);
    export_writer_destroy(writer);
    end(&written, out);
}

/* Chunks of some rows from two writers in turns, each of two groups of columns, in random cuts. */
static void write_in_parts(const struct export_rows *form, const char *data, uint64_t chunk,
                           uint64_t columns, char *out)
{
    struct written written;
    begin(form, &written);
    export_writer_t *writers[2] = {writer_of(&written, 1), writer_of(&written, 5)};
    /* An earlier run had other rows, all of them. */
    char *other = numbers_of(form->bits);
    assert_int_equal(export_writer_put(writers[0], 0, ROWS, 0, form->row_bytes, other), 0);
    assert_int_equal(export_writer_flush(writers[0]), 0);
    free(other);
    memset(written.sums, 0, sizeof written.sums);
    for (uint64_t first = (ROWS - 1) / chunk * chunk;; first -= chunk) { /* the last one first */
        for (uint64_t from = 0; from < form->row_bytes; from += columns) {
            uint64_t piece = from + columns > form->row_bytes ? form->row_bytes - from : columns;
            uint64_t last = first + chunk > ROWS ? ROWS : first + chunk;
            export_writer_t *writer = writers[first / chunk % 2];
            for (uint64_t row = first, count; row < last; row += count) {
                char part[ROWS * IFS * CHANS * sizeof(float)];
                count = 1 + (uint64_t)rand() % (last - row);
                for (uint64_t i = 0; i < count; i++) {
                    memcpy(part + i * piece, data + (row + i) * form->row_bytes + from, piece);
                }
                assert_int_equal(export_writer_put(writer, row, count, from, piece, part), 0);
            }
            assert_int_equal(export_writer_flush(writer), 0);
        }
        if (first == 0) {
            break;
        }
    }
    are_sums(&written);
    for (uint64_t i = 0; i < 2 * form->table.count; i++) { /* each twice */
        assert_int_equal(export_rows_complete(writers[i % 2], i / 2, 1, 0), 0);
    }
    are_sums(&written);
    export_writer_destroy(writers[0]);
    export_writer_destroy(writers[1]);
    end(&written, out);
}

static void same_bytes(enum file_format format, uint32_t bits, const char first[])
{
    static char expected[MOST_BYTES];
    static char found[MOST_BYTES];
    const struct export_rows form = form_of(format, bits);
    char *data = numbers_of(bits);
    write_at_once(&form, data, 1, expected);
    assert_memory_equal(expected, first, 8);
    assert_string_equal(expected + 8, "");
    for (uint32_t threads = 2; threads < 6; threads += 3) { /* at their places, and in memory */
        write_at_once(&form, data, threads, found);
        assert_memory_equal(found, expected, MOST_BYTES);
    }
    for (uint64_t chunk = 1; chunk <= ROWS; chunk += 1 + chunk / 3) {
        write_in_parts(&form, data, chunk, form.row_bytes, found);
        assert_memory_equal(found, expected, MOST_BYTES);
        write_in_parts(&form, data, chunk, 5 * bits / 8, found);
        assert_memory_equal(found, expected, MOST_BYTES);
    }
    free(data);
}

static void sigproc(void **state)
{
    (void)state;
    for (uint32_t bits = 8; bits <= 32; bits *= 2) {
        same_bytes(FILE_FIL, bits, "\014\0\0\0HEAD");
    }
}

static void psrfits(void **state)
{
    (void)state;
    for (uint32_t bits = 8; bits <= 32; bits *= 2) {
        same_bytes(FILE_PSRFITS, bits, "SIMPLE  ");
    }
}

/* The weight is 0 where all numbers of a channel are missing, else 1. */
static void psrfits_weights(void **state)
{
    (void)state;
    static char bytes[MOST_BYTES];
    const struct export_rows form = form_of(FILE_PSRFITS, 32);
    char *data = numbers_of(32);
    write_in_parts(&form, data, 5, form.row_bytes, bytes);
    for (uint64_t i = 0; i < form.table.count; i++) {
        for (int chan = 0; chan < CHANS; chan++) {
            const unsigned char *weight = (const unsigned char *)bytes + BEGIN +
                                          i * form.table.row_bytes + form.table.weights + 4 * chan;
            assert_int_equal(weight[0], i == 1 && chan == 3 ? 0 : 0x3f);
        }
    }
    free(data);
}

/* A thread that cannot write fails the call, of whole rows of the table. */
static void psrfits_failure(void **state)
{
    (void)state;
    struct written written;
    const struct export_rows form = form_of(FILE_PSRFITS, 8);
    char *data = numbers_of(8);
    begin(&form, &written);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", written.fd);
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    close(written.fd);
    written.fd = fd;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        export_writer_t *writer = writer_of(&written, threads);
        assert_int_equal(export_writer_put(writer, 0, ROWS / EACH * EACH, 0, form.row_bytes, data),
                         STATUS_DATA);
        assert_non_null(strstr(report_cause(), "rows: writing "));
        report_clear();
        export_writer_destroy(writer);
    }
    close(fd);
    free(data);
}

/* Each thread has memory for a row of the table, as long as all have little, and no more threads
 * than rows of the table. */
static void threads_memory(void **state)
{
    (void)state;
    struct export_rows form = form_of(FILE_PSRFITS, 8);
    const uint64_t one = export_writer_bytes(&form, 1);
    assert_int_equal(export_writer_bytes(&form, 3), 3 * one);
    assert_int_equal(export_writer_bytes(&form, 100), ROWS / EACH * one);
    form.nchans = form.table.rows_each = 1024;
    form.rows = form.table.rows_each * 100;
    const uint64_t large = export_writer_bytes(&form, 1);
    assert_true(export_writer_bytes(&form, 100) == 8 * large);
    form.nchans = 1 << 14;
    form.nifs = 1;
    const uint64_t huge = export_writer_bytes(&form, 1);
    assert_true(huge > 16 << 20 && export_writer_bytes(&form, 100) == (64 << 20) / huge * huge);
    form = form_of(FILE_FIL, 8);
    assert_int_equal(export_writer_bytes(&form, 100), export_writer_bytes(&form, 1));
}

int main(void)
{
    srand(7);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigproc),         cmocka_unit_test(psrfits),
        cmocka_unit_test(psrfits_weights), cmocka_unit_test(psrfits_failure),
        cmocka_unit_test(threads_memory),
    };
    assert_int_equal(pool_worker_create("crc", &worker), 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_worker_destroy(worker);
    return failed;
}
