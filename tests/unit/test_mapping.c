/* Files seen as memory: the right bytes, none where there are none, and files cut short meanwhile.
 */
#include "base/thread.h"
#include "io/mapping.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 1 << 20 };

static int make_file(void)
{
    char name[] = "/tmp/voltmill-mapping-XXXXXX";
    int fd = mkstemp(name);
    unsigned char *bytes = malloc(BYTES);
    assert_true(fd >= 0);
    assert_non_null(bytes);
    unlink(name);
    for (int i = 0; i < BYTES; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    }
    assert_int_equal(write(fd, bytes, BYTES), BYTES);
    free(bytes);
    return fd;
}

/* At any offset; NULL only where the file system is none of those, and then always. */
static void bytes_are_the_files(void **state)
{
    (void)state;
    int fd = make_file();
    mapping_t *mapping = mapping_open(fd, 12345, 400000);
    if (!mapping) {
        close(fd);
        skip();
    }
    const unsigned char *data = mapping_data(mapping);
    for (int i = 0; i < 400000; i++) {
        int at = i + 12345;
        if (data[i] != (unsigned char)(at * 7 + at / 4096)) {
            fail_msg("byte %d is %d", at, data[i]);
        }
    }
    assert_false(mapping_is_cut(mapping));
    mapping_close(mapping);
    close(fd);
}

static void beyond_the_end_there_is_nothing(void **state)
{
    (void)state;
    int fd = make_file();
    assert_null(mapping_open(fd, BYTES - 100, 10000));
    assert_null(mapping_open(fd, 3 * BYTES, 10));
    assert_null(mapping_open(fd, 0, 0));
    close(fd);
}

static void a_file_cut_short_is_told(void **state)
{
    (void)state;
    int fd = make_file();
    mapping_t *other = mapping_open(fd, 0, 8192);
    mapping_t *mapping = mapping_open(fd, 0, BYTES);
    if (!mapping) {
        close(fd);
        skip();
    }
    assert_int_equal(ftruncate(fd, BYTES / 2), 0);
    const unsigned char *data = mapping_data(mapping);
    unsigned sum = 0;
    for (int i = BYTES / 2; i < BYTES; i++) {
        sum += data[i];
    }
    assert_int_equal(sum, 0);
    assert_true(mapping_is_cut(mapping));
    assert_int_equal(data[1], 7);
    assert_false(mapping_is_cut(other));
    mapping_close(mapping);
    mapping_close(other);
    close(fd);
}

/* Stretches near each other share their place; one that is opened when the file is whole again sees
 * none of the zeros that were put in where it was short. */
static void what_was_cut_is_not_seen_again(void **state)
{
    (void)state;
    int fd = make_file();
    mapping_t *one = mapping_open(fd, 0, BYTES / 2);
    mapping_t *two = mapping_open(fd, BYTES / 4, BYTES / 2);
    if (!one || !two) {
        close(fd);
        skip();
    }
    const unsigned char *data = mapping_data(one);
    assert_ptr_equal(data + BYTES / 4, mapping_data(two));
    mapping_close(two);
    assert_int_equal(data[BYTES / 4], (unsigned char)(BYTES / 4 * 7 + BYTES / 4 / 4096));
    assert_int_equal(ftruncate(fd, BYTES / 4), 0);
    assert_int_equal(data[BYTES / 4], 0);
    assert_true(mapping_is_cut(one));
    assert_null(mapping_open(fd, 0, BYTES));
    assert_int_equal(ftruncate(fd, BYTES), 0);
    assert_int_equal(pwrite(fd, "abcd", 4, BYTES / 4), 4);
    two = mapping_open(fd, BYTES / 4, 4);
    assert_memory_equal(mapping_data(two), "abcd", 4);
    assert_false(mapping_is_cut(two));
    mapping_close(one);
    mapping_close(two);
    mapping_drop_unused();
    close(fd);
}

static void *add_up(void *mapping)
{
    const unsigned char *data = mapping_data(mapping);
    size_t sum = 0;
    for (int i = 0; i < BYTES; i++) {
        sum += data[i];
    }
    return (void *)sum;
}

/* Samples are read by helper threads, which no signal reaches but this one. */
static void a_thread_is_told_of_a_file_cut_short(void **state)
{
    (void)state;
    pthread_t thread;
    void *sum = NULL;
    int fd = make_file();
    mapping_t *mapping = mapping_open(fd, 0, BYTES);
    if (!mapping) {
        close(fd);
        skip();
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(thread_start("reader", add_up, mapping, &thread), STATUS_OK);
    pthread_join(thread, &sum);
    assert_null(sum);
    assert_true(mapping_is_cut(mapping));
    mapping_close(mapping);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_the_files),
                                       cmocka_unit_test(beyond_the_end_there_is_nothing),
                                       cmocka_unit_test(a_file_cut_short_is_told),
                                       cmocka_unit_test(what_was_cut_is_not_seen_again),
                                       cmocka_unit_test(a_thread_is_told_of_a_file_cut_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
