/* Memory and processors of a machine, from the files of the kernel: here a folder of our own. */
#include "io/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char root[] = "/tmp/voltmill-test-memory-XXXXXX";

/* Writes root/path, with folders above it. */
static void put(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "mkdir -p \"$(dirname '%s%s')\"", root, path);
    assert_int_equal(system(name), 0);
    snprintf(name, sizeof name, "%s%s", root, path);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int begin(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s/*", root);
    int failed = system(command);
    put("/proc/meminfo", "MemTotal:       16000 kB\nMemFree:  100 kB\nMemAvailable:   8000 kB\n");
    return failed;
}

static void assert_left(uint64_t kib)
{
    assert_int_equal(machine_memory_left(root), kib * 1024);
}

static void nobody_says(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal: 16000 kB\n");
    assert_left(0);
    assert_int_equal(machine_memory_left("/nowhere/at/all"), 0);
    assert_true(machine_memory_left("") > 0);
}

static void assert_processors(uint64_t count)
{
    assert_int_equal(machine_processors(root), count);
}

/* Quotas of processor time: those around a group count, too; parts of a processor are rounded up.
 */
static void quotas_of_both_versions(void **state)
{
    (void)state;
    assert_processors(UINT64_MAX);
    put("/proc/self/mountinfo", "32 31 0:35 / /cg rw - cgroup2 cgroup2 rw\n"
                                "33 31 0:36 / /v1 rw - cgroup cgroup rw,cpu,cpuacct\n"
                                "34 31 0:37 / /v0 rw - cgroup cgroup rw,cpuset\n");
    put("/proc/self/cgroup", "5:cpu,cpuacct:/box\n4:cpuset:/other\n0::/pod/box\n");
    put("/cg/pod/box/cpu.max", "max 100000\n");
    put("/v1/box/cpu.cfs_quota_us", "-1\n");
    put("/v1/box/cpu.cfs_period_us", "100000\n");
    assert_processors(UINT64_MAX);
    put("/cg/pod/cpu.max", "350000 100000\n");
    assert_processors(4);
    put("/v1/box/cpu.cfs_quota_us", "50000\n");
    assert_processors(1);
}

static void without_groups_it_is_what_is_available(void **state)
{
    (void)state;
    assert_left(8000);
    put("/proc/self/mountinfo", "32 31 0:35 / /cg rw - cgroup2 cgroup2 rw\n");
    put("/proc/self/cgroup", "0::/\n");
    assert_left(8000);
    put("/cg/a/memory.max", "1024\n"); /* somebody else's */
    assert_left(8000);
}

/* Version 2: its own group has no limit, the one around it has. */
static void the_tightest_group_counts(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "30 1 0:1 / / rw shared:1 - ext4 /dev/x rw\n"
                                "32 31 0:35 / /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
    put("/proc/self/cgroup", "0::/batch/job_7/step_0\n");
    put("/cg/batch/job_7/step_0/memory.max", "max\n");
    assert_left(8000);
    put("/cg/batch/job_7/memory.max", "4096000\n");
    put("/cg/batch/job_7/memory.current", "2048000\n");
    assert_left(2000);
    put("/cg/batch/job_7/memory.stat", "anon 5\ninactive_file 512000\nactive_file 512000\n");
    assert_left(3000);
    put("/cg/batch/memory.max", "2048000\n");
    put("/cg/batch/memory.current", "1024000\n");
    assert_left(1000);
    put("/cg/batch/memory.current", "4096000\n");
    assert_int_equal(machine_memory_left(root),
                     1); /* not 0: a limit that leaves nothing is known */
}

/* Version 1, beside version 2 without limits; a container sees only the part below its own
 * group. */
static void a_container_of_version_1(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "31 1 0:2 / /cg/unified rw - cgroup2 cgroup2 rw\n"
                                "32 1 0:3 /docker/f /cg/cpu rw - cgroup cgroup rw,cpu\n"
                                "33 1 0:4 /docker/f /cg/memory rw - cgroup cgroup rw,memory\n");
    put("/proc/self/cgroup", "5:cpu,cpuacct:/docker/f\n4:memory:/docker/f/sub\n0::/\n");
    put("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_left(8000);
    put("/cg/memory/memory.limit_in_bytes", "2048000\n");
    put("/cg/memory/memory.usage_in_bytes", "1024000\n");
    put("/cg/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 512000\n");
    assert_left(1500);
    put("/cg/memory/sub/memory.limit_in_bytes", "1024000\n");
    assert_left(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nobody_says, begin),
        cmocka_unit_test_setup(without_groups_it_is_what_is_available, begin),
        cmocka_unit_test_setup(the_tightest_group_counts, begin),
        cmocka_unit_test_setup(a_container_of_version_1, begin),
        cmocka_unit_test_setup(quotas_of_both_versions, begin),
    };
    char command[128];
    if (!mkdtemp(root)) {
        return 1;
    }
    int failed = cmocka_run_group_tests_name("machine", tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) != 0 ? 1 : failed;
}
