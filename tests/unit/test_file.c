/* Long writes by several threads: on a disk, and in memory through a mapping; space reserved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file system with as many free bytes, which cannot reserve; 0: the real one. */
static uint64_t free_bytes;

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    errno = EOPNOTSUPP;
    return free_bytes > 0 ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    (void)path;
    *out = (struct statvfs){.f_bavail = free_bytes, .f_frsize = 1};
    return 0;
}

enum { BEFORE = 1, LONG = (3 << 20) + 24, AROUND = 5000, THREADS = 3 };

static unsigned char value(uint64_t at)
{
    return (unsigned char)((at + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static status_t fill(void *context, uint64_t at, uint64_t bytes, void *to)
{
    unsigned char *out = to;
    (void)__atomic_add_fetch((uint64_t *)context, bytes, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < bytes; i++) {
        out[i] = value(at + i);
    }
    return STATUS_OK;
}

/* A file of `bytes` bytes, each BEFORE, in a folder on the disk or in memory. */
static int make(const char *folder, uint64_t bytes)
{
    char path[64];
    unsigned char *old = test_malloc((size_t)bytes + 1);
    snprintf(path, sizeof path, "%s/voltmill.file.XXXXXX", folder);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    memset(old, BEFORE, (size_t)bytes + 1);
    assert_int_equal(file_write(fd, path, 0, old, bytes), STATUS_OK);
    test_free(old);
    return fd;
}

static void check(int fd, uint64_t offset, uint64_t before, uint64_t after)
{
    const uint64_t all = before + LONG + after;
    unsigned char *found = test_malloc((size_t)all);
    assert_int_equal(file_read(fd, "it", offset - before, found, all), STATUS_OK);
    for (uint64_t i = 0; i < all; i++) {
        int is_in = i >= before && i < before + LONG;
        assert_int_equal(found[i], is_in ? value(i - before) : BEFORE);
    }
    test_free(found);
    close(fd);
}

static void test_fills_and_leaves_the_rest(void **state)
{
    static const char *const folders[] = {"/tmp", "/dev/shm"};
    static const uint64_t offsets[] = {0, 8, 4096, 5 * 4096 + 40, 13};
    (void)state;
    for (int i = 0; i < 2 * 5; i++) {
        const uint64_t offset = offsets[i % 5];
        uint64_t filled = 0;
        int fd = make(folders[i / 5], offset + LONG + AROUND);
        assert_int_equal(file_fill(fd, "it", offset, LONG, THREADS, fill, &filled), STATUS_OK);
        assert_int_equal(filled, LONG);
        check(fd, offset, offset, AROUND);
    }
}

/* Bytes that others have appended go, and no others. */
static void test_cuts_appended_bytes(void **state)
{
    (void)state;
    for (uint64_t bytes = 99; bytes <= 101; bytes++) {
        struct stat info;
        int fd = make("/dev/shm", 100);
        assert_int_equal(file_cut_appended(fd, "it", bytes), STATUS_OK);
        assert_int_equal(fstat(fd, &info), 0);
        assert_int_equal(info.st_size, bytes < 100 ? bytes : 100);
        close(fd);
    }
}

/* A part of a file as memory, also where the file ended before. */
static void test_maps_a_part(void **state)
{
    (void)state;
    for (uint64_t offset = 8; offset < 40000; offset += 13000) {
        int fd = make("/dev/shm", offset + LONG + AROUND);
        struct file_part part = file_part_map(fd, offset, LONG, THREADS);
        assert_non_null(part.data);
        uint64_t filled = 0;
        fill(&filled, 0, LONG, part.data);
        file_part_unmap(&part);
        assert_null(part.data);
        file_part_unmap(&part);
        part = file_part_map(fd, offset + LONG + AROUND, LONG, 1);
        assert_non_null(part.data);
        assert_int_equal(part.data[LONG - 1], 0);
        file_part_unmap(&part);
        check(fd, offset, offset, AROUND);
    }
}

/* The begin of a part, which begins and ends within huge pages; the rest of it stays. */
static void test_fills_a_part(void **state)
{
    enum { HUGE = 2 << 20 };
    static const uint64_t offsets[] = {13, HUGE - 1, HUGE, HUGE + 4095, 2 * HUGE - 13};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        uint64_t filled = 0;
        int fd = make("/dev/shm", offsets[i] + LONG + AROUND);
        struct file_part part = file_part_map(fd, offsets[i], LONG + AROUND, THREADS);
        assert_non_null(part.data);
        assert_int_equal(file_part_fill(&part, LONG, THREADS, fill, &filled), STATUS_OK);
        assert_int_equal(filled, LONG);
        file_part_unmap(&part);
        check(fd, offsets[i], offsets[i], AROUND);
    }
}

static void test_extends_a_short_file(void **state)
{
    uint64_t filled = 0;
    (void)state;
    int fd = make("/dev/shm", 1 << 20);
    assert_int_equal(file_fill(fd, "it", 4096, LONG, THREADS, fill, &filled), STATUS_OK);
    check(fd, 4096, 4096, 0);
}

static void test_reports_a_full_disk(void **state)
{
    struct rlimit old;
    uint64_t filled = 0;
    (void)state;
    int fd = make("/dev/shm", 1 << 20);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit small = {2 << 20, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    status_t st = file_fill(fd, "it", 8, LONG, THREADS, fill, &filled);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(st, STATUS_NO_SPACE);
    assert_true(filled < LONG); /* nothing more begins then */
    assert_non_null(strstr(report_cause(), "it: writing "));
    report_clear();
    close(fd);
}

static void test_copies_and_reports_a_short_source(void **state)
{
    static const char *const folders[] = {"/tmp", "/dev/shm"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t filled = 0;
        int source = make(folders[i], 100 + LONG);
        int fd = make(folders[i], 40 + LONG + AROUND);
        assert_int_equal(file_fill(source, "source", 100, LONG, THREADS, fill, &filled), STATUS_OK);
        const struct file_place from = {source, "source", 100};
        const struct file_place to = {fd, "it", 40};
        assert_int_equal(file_copy(&from, &to, LONG), STATUS_OK);
        check(fd, 40, 40, AROUND);
        fd = make(folders[i], 1);
        const struct file_place other = {fd, "it", 40};
        assert_int_equal(file_copy(&from, &other, 2 * LONG), STATUS_DATA);
        assert_non_null(strstr(report_cause(), "source: reading "));
        report_clear();
        close(source);
        close(fd);
    }
}

static void test_maps_nothing_of_a_full_disk(void **state)
{
    struct rlimit old;
    (void)state;
    int fd = make("/dev/shm", 1 << 20);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit small = {2 << 20, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct file_part part = file_part_map(fd, 8, LONG, THREADS);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_null(part.data);
    close(fd);
}

/* A run resumes where the rest of its file fits. */
static void test_counts_what_a_file_has(void **state)
{
    struct stat info;
    (void)state;
    int fd = make(".", LONG);
    assert_int_equal(fstat(fd, &info), 0);
    free_bytes = AROUND;
    const uint64_t most = (uint64_t)info.st_blocks * 512 + free_bytes;
    assert_int_equal(file_reserve(fd, "./it", most), STATUS_OK);
    assert_int_equal(file_reserve(fd, "./it", most + 1), STATUS_NO_SPACE);
    free_bytes = 0;
    report_clear();
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills_and_leaves_the_rest),
        cmocka_unit_test(test_cuts_appended_bytes),
        cmocka_unit_test(test_counts_what_a_file_has),
        cmocka_unit_test(test_maps_a_part),
        cmocka_unit_test(test_fills_a_part),
        cmocka_unit_test(test_extends_a_short_file),
        cmocka_unit_test(test_reports_a_full_disk),
        cmocka_unit_test(test_maps_nothing_of_a_full_disk),
        cmocka_unit_test(test_copies_and_reports_a_short_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
