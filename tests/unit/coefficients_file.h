/* A folder of their own for files of coefficients, for the tests that read such files. */
#ifndef VOLTMILL_TESTS_COEFFICIENTS_FILE_H
#define VOLTMILL_TESTS_COEFFICIENTS_FILE_H

#include "io/hdf5/h5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_coefficients.XXXXXX";

static int begin(void **state)
{
    (void)state;
    h5_begin();
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

/* The test's own files are "c" and "c.mat". */
static int end(void **state)
{
    (void)state;
    unlink("c");
    unlink("c.mat");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

#endif
