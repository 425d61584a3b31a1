/* Variables set for a driver before it opens a device: by its version, in a folder of our own, and
 * only if they are not set already. */
#include "compute/backend_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char root[] = "/tmp/voltmill-test-begin-XXXXXX";

/* Puts the version of a driver where the kernel has it; NULL: there is none. */
static void driver(const char *version)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/sys && mkdir -p %s/sys/module/nvidia", root, root);
    assert_int_equal(system(command), 0);
    if (version) {
        snprintf(command, sizeof command, "%s/sys/module/nvidia/version", root);
        FILE *file = fopen(command, "w");
        assert_non_null(file);
        fputs(version, file);
        fclose(file);
    }
}

static int begin(void **state)
{
    (void)state;
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    unsetenv("NV_OPENCL_DISABLE_UVM");
    return 0;
}

static void assert_set(const char *name, const char *value)
{
    const char *found = getenv(name);
    if (value) {
        assert_non_null(found);
        assert_string_equal(found, value);
    } else {
        assert_null(found);
    }
}

/* With a driver of that version, unified memory is `off`: "1", or NULL: not set. */
static void assert_unified(const char *version, const char *off)
{
    driver(version);
    begin(NULL);
    opencl_begin(root);
    assert_set("NV_OPENCL_DISABLE_UVM", off);
    assert_set("CUDA_DEVICE_MAX_CONNECTIONS", "1");
}

static void the_driver_that_was_seen(void **state)
{
    (void)state;
    assert_unified("580.159.04\n", "1");
    assert_unified("580", "1");
}

static void others_keep_unified_memory(void **state)
{
    (void)state;
    assert_unified("575.57.08\n", NULL);
    assert_unified("590.1\n", NULL);
    assert_unified("58", NULL);
    assert_unified("", NULL);
    assert_unified("none", NULL);
    assert_unified(NULL, NULL);
}

static void what_is_set_stays(void **state)
{
    (void)state;
    driver("580.159.04\n");
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1);
    setenv("NV_OPENCL_DISABLE_UVM", "0", 1);
    opencl_begin(root);
    assert_set("CUDA_DEVICE_MAX_CONNECTIONS", "8");
    assert_set("NV_OPENCL_DISABLE_UVM", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_driver_that_was_seen, begin),
        cmocka_unit_test_setup(others_keep_unified_memory, begin),
        cmocka_unit_test_setup(what_is_set_stays, begin),
    };
    char command[256];
    if (!mkdtemp(root)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) != 0 || failed;
}
