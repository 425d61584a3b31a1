/* The cache folder: what comes back, and that nothing but what was written does. */
#include "io/cache.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/voltmill-test-cache-XXXXXX";
static char deep[128]; /* a folder of a folder that are not there yet */

/* The path of the one file in the folder; fails the test when there are others. */
static void only_file(const char *path, char out[512])
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.') {
            snprintf(out, 512, "%s/%s", path, entry->d_name);
            count++;
        }
    }
    closedir(dir);
    assert_int_equal(count, 1);
}

static void empty(const char *path)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    (void)state;
    empty(deep);
    return setenv("VOLTMILL_CACHE", deep, 1);
}

static int is_there(const char *kind, const char *key, const void *data, size_t size)
{
    void *out = NULL;
    size_t bytes = 1;
    assert_int_equal(cache_get(kind, key, &out, &bytes), STATUS_OK);
    int same = out && bytes == size && memcmp(out, data, size) == 0;
    /* Something else than what was written must never come back. */
    assert_true(same || !out);
    free(out);
    return same;
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char data[] = "a\0b\xff";
    assert_false(is_there("kind", "key", data, sizeof data));
    assert_int_equal(cache_put("kind", "key", data, sizeof data), 1);
    assert_true(is_there("kind", "key", data, sizeof data));
    assert_false(is_there("kind", "other key", data, sizeof data));
    assert_false(is_there("other", "key", data, sizeof data));
    assert_int_equal(cache_put("kind", "key", "new", 3), 1);
    assert_true(is_there("kind", "key", "new", 3));
    assert_int_equal(cache_put("empty", "", "", 0), 1);
    assert_true(is_there("empty", "", "", 0));
    struct stat info;
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

/* Changes one byte, or cuts the file there, at every place in turn. */
static void test_damage(void **state)
{
    (void)state;
    static const char data[] = "forty bytes of data, more or less of them";
    char path[512];
    for (long at = 0;; at++) {
        assert_int_equal(cache_put("kind", "a key", data, sizeof data), 1);
        only_file(deep, path);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        int byte = fgetc(file);
        if (byte == EOF) {
            fclose(file);
            assert_true(at > (long)sizeof data);
            break;
        }
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        fputc(byte ^ 1, file);
        fclose(file);
        assert_false(is_there("kind", "a key", data, sizeof data));

        assert_int_equal(cache_put("kind", "a key", data, sizeof data), 1);
        assert_int_equal(truncate(path, at), 0);
        assert_false(is_there("kind", "a key", data, sizeof data));
    }
    assert_true(is_there("kind", "a key", data, sizeof data));
}

/* Another key's entry under this key's name: what two keys of one hash would do. */
static void test_other_key(void **state)
{
    (void)state;
    char mine[512];
    char other[512];
    assert_int_equal(cache_put("kind", "key 1", "one", 3), 1);
    only_file(deep, mine);
    empty(deep);
    assert_int_equal(cache_put("kind", "key 2", "two", 3), 1);
    only_file(deep, other);
    assert_int_equal(rename(other, mine), 0);
    assert_false(is_there("kind", "key 1", "one", 3));
    assert_int_equal(cache_put("kind", "key 1", "one", 3), 1);
    assert_true(is_there("kind", "key 1", "one", 3));
}

static void test_nowhere_to_write(void **state)
{
    (void)state;
    setenv("VOLTMILL_CACHE", "off", 1);
    assert_int_equal(cache_put("kind", "key", "one", 3), 0);
    assert_false(is_there("kind", "key", "one", 3));
    /* No user, not even root, can make a folder below a file. */
    setenv("VOLTMILL_CACHE", "/dev/null/cache", 1);
    assert_int_equal(cache_put("kind", "key", "one", 3), 0);
    assert_false(is_there("kind", "key", "one", 3));
    /* A folder has the entry's name. */
    setenv("VOLTMILL_CACHE", deep, 1);
    char path[512];
    assert_int_equal(cache_put("kind", "key", "one", 3), 1);
    only_file(deep, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(cache_put("kind", "key", "one", 3), 0);
    assert_false(is_there("kind", "key", "one", 3));
    only_file(deep, path); /* nothing is left beside it */
}

static void test_where(void **state)
{
    (void)state;
    char path[512];
    char expected[512];
    unsetenv("VOLTMILL_CACHE");
    setenv("XDG_CACHE_HOME", deep, 1);
    assert_int_equal(cache_put("kind", "key", "one", 3), 1);
    snprintf(expected, sizeof expected, "%s/voltmill", deep);
    only_file(expected, path);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", deep, 1);
    assert_int_equal(cache_put("kind", "key", "one", 3), 1);
    snprintf(expected, sizeof expected, "%s/.cache/voltmill", deep);
    only_file(expected, path);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(cache_put("kind", "key", "one", 3), 0);
}

static void write_to(const char *path, const char *words)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(words, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *words)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, words);
}

/* A folder into which others may put something. */
static void test_open_folder(void **state)
{
    (void)state;
    static const mode_t modes[] = {0777, 01777, 0770, 0775, 0702};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(cache_put("kind", "key", "one", 3), 1);
        assert_int_equal(chmod(deep, modes[i]), 0);
        assert_false(is_there("kind", "key", "one", 3));
        assert_int_equal(cache_put("kind", "key", "two", 3), 0);
        assert_null(cache_path("tuned.txt"));
        assert_int_equal(chmod(deep, 0755), 0);
        assert_true(is_there("kind", "key", "one", 3));
        char *path = cache_path("tuned.txt");
        assert_non_null(path);
        free(path);
    }
    /* One above it in which anybody may replace it. */
    char above[256];
    snprintf(above, sizeof above, "%s/one", folder);
    assert_int_equal(chmod(above, 0777), 0);
    assert_false(is_there("kind", "key", "one", 3));
    assert_int_equal(cache_put("kind", "key", "two", 3), 0);
    assert_int_equal(chmod(above, 01777), 0);
    assert_true(is_there("kind", "key", "one", 3));
    assert_int_equal(chmod(above, 0755), 0);
}

/* Entries that others may have written, and links, which would lead elsewhere. */
static void test_planted(void **state)
{
    (void)state;
    char path[512];
    char victim[256];
    struct stat info;
    assert_int_equal(cache_put("kind", "key", "one", 3), 1);
    only_file(deep, path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(is_there("kind", "key", "one", 3));
    assert_int_equal(chmod(path, 0620), 0);
    assert_false(is_there("kind", "key", "one", 3));
    assert_int_equal(cache_put("kind", "key", "one", 3), 1); /* another file in its place */
    assert_true(is_there("kind", "key", "one", 3));
    /* A good entry, but through a link. */
    snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(rename(path, victim), 0);
    assert_int_equal(symlink(victim, path), 0);
    assert_false(is_there("kind", "key", "one", 3));
    write_to(victim, "precious");
    assert_int_equal(cache_put("kind", "key", "two", 3), 1);
    assert_holds(victim, "precious");
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    /* Files that others read and write by their names. */
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/tuned.txt", deep);
    assert_int_equal(symlink(victim, path), 0);
    assert_null(cache_path("tuned.txt"));
    assert_int_equal(unlink(path), 0);
    write_to(path, "mine");
    assert_int_equal(chmod(path, 0666), 0);
    assert_null(cache_path("tuned.txt"));
    assert_int_equal(chmod(path, 0644), 0);
    char *found = cache_path("tuned.txt");
    assert_string_equal(found, path);
    free(found);
}

/* The folder, an entry or a link to the folder are another user's. */
static void test_other_owner(void **state)
{
    (void)state;
    enum { NOBODY = 65534 };
    char path[512];
    char link[256];
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(cache_put("kind", "key", "one", 3), 1);
    only_file(deep, path);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    assert_false(is_there("kind", "key", "one", 3));
    assert_int_equal(chown(path, 0, 0), 0);
    assert_true(is_there("kind", "key", "one", 3));
    assert_int_equal(chown(deep, NOBODY, NOBODY), 0);
    assert_false(is_there("kind", "key", "one", 3));
    assert_int_equal(cache_put("kind", "key", "two", 3), 0);
    assert_int_equal(chown(deep, 0, 0), 0);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink(deep, link), 0);
    setenv("VOLTMILL_CACHE", link, 1);
    assert_true(is_there("kind", "key", "one", 3));
    assert_int_equal(lchown(link, NOBODY, NOBODY), 0);
    assert_false(is_there("kind", "key", "one", 3));
    assert_int_equal(cache_put("kind", "key", "two", 3), 0);
    assert_int_equal(unlink(link), 0);
}

/* Processes that write and read one entry at once see a whole one or none. */
static void test_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4, TIMES = 200, BYTES = 100000 };
    static char data[PROCESSES][BYTES];
    for (int i = 0; i < PROCESSES; i++) {
        memset(data[i], 'a' + i, BYTES);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int good = 1;
            for (int k = 0; k < TIMES && good; k++) {
                void *out = NULL;
                size_t size = 0;
                good = cache_put("kind", "key", data[i], BYTES) &&
                       cache_get("kind", "key", &out, &size) == STATUS_OK && out && size == BYTES &&
                       memcmp(out, (char *)out + 1, BYTES - 1) == 0;
                free(out);
            }
            _exit(good ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    char path[512];
    only_file(deep, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_round_trip, set_up),
        cmocka_unit_test_setup(test_damage, set_up),
        cmocka_unit_test_setup(test_other_key, set_up),
        cmocka_unit_test_setup(test_nowhere_to_write, set_up),
        cmocka_unit_test_setup(test_where, set_up),
        cmocka_unit_test_setup(test_open_folder, set_up),
        cmocka_unit_test_setup(test_planted, set_up),
        cmocka_unit_test_setup(test_other_owner, set_up),
        cmocka_unit_test_setup(test_at_once, set_up),
    };
    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(deep, sizeof deep, "%s/one/two", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    empty(folder);
    return failed;
}
