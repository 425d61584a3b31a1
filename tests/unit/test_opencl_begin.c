/* What a driver is told before it opens a device: by its version, in a folder of our own, and not
 * where somebody else has said so. */
#include "compute/opencl/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char root[] = "/tmp/voltmill-test-begin-XXXXXX";

static void driver(const char *version)
{
    char command[256];
    snprintf(command, sizeof command,
             version ? "mkdir -p %s/sys/module/nvidia && printf '%s' >%s/sys/module/nvidia/version"
                     : "rm -rf %s/sys",
             root, version, root);
    assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
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

static void assert_unified_off(const char *version, const char *value)
{
    driver(version);
    begin(NULL);
    device_begin_light(root, NULL, 1);
    assert_set("NV_OPENCL_DISABLE_UVM", value);
    assert_set("CUDA_DEVICE_MAX_CONNECTIONS", "1");
}

static void drivers_that_were_seen(void **state)
{
    (void)state;
    assert_unified_off("580.159.04\n", "1");
    assert_unified_off("590.1", "1");
}

static void others_keep_unified_memory(void **state)
{
    (void)state;
    assert_unified_off("575.57.08\n", NULL);
    assert_unified_off("58", NULL);
    assert_unified_off("", NULL);
    assert_unified_off("none", NULL);
    assert_unified_off(NULL, NULL);
}

static void one_device_where_any_does(void **state)
{
    (void)state;
    device_begin_light(root, "auto", 1);
    assert_set("CUDA_VISIBLE_DEVICES", "0");
    begin(NULL);
    device_begin_light(root, "auto", 2);
    assert_set("CUDA_VISIBLE_DEVICES", NULL);
    device_begin_light(root, "1", 1);
    assert_set("CUDA_VISIBLE_DEVICES", NULL);
}

static void what_is_set_stays(void **state)
{
    (void)state;
    driver("580.159.04\n");
    setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1);
    setenv("NV_OPENCL_DISABLE_UVM", "0", 1);
    device_begin_light(root, NULL, 1);
    assert_set("CUDA_VISIBLE_DEVICES", "3,1");
    assert_set("CUDA_DEVICE_MAX_CONNECTIONS", "8");
    assert_set("NV_OPENCL_DISABLE_UVM", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(drivers_that_were_seen, begin),
        cmocka_unit_test_setup(others_keep_unified_memory, begin),
        cmocka_unit_test_setup(one_device_where_any_does, begin),
        cmocka_unit_test_setup(what_is_set_stays, begin),
    };
    if (!mkdtemp(root)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    driver(NULL);
    remove(root);
    return failed;
}
