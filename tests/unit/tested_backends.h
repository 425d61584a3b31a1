/* The backends that tests of a stage compare with the reference, each opened once. */
#ifndef VOLTMILL_TESTS_TESTED_BACKENDS_H
#define VOLTMILL_TESTS_TESTED_BACKENDS_H

#include "compute/backend_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A new one needs a row here. */
static struct tested {
    enum backend_kind kind;
    const struct backend_ops *ops;
    int is_slow; /* kernels take seconds to build: only some cases, unless VOLTMILL_TEST_ALL */
    backend_t *backend;
} tested[] = {
    {BACKEND_REFERENCE, &reference_ops, 0, NULL},
    {BACKEND_CPU, &cpu_ops, 0, NULL},
#ifdef VOLTMILL_OPENCL
    {BACKEND_OPENCL, &opencl_ops, 1, NULL},
#endif
};
enum { TESTED = sizeof tested / sizeof *tested };

static struct tested *const reference = &tested[0];

/* Opens the backends that have the stage, and a device; reports those that are omitted. */
static int open_tested(int (*has_stage)(const struct backend_ops *), const char *stage)
{
    for (int i = 0; i < TESTED; i++) {
        struct backend_options options = {.local_size = 1};
        const char *name = backend_name(tested[i].kind);
        if (!has_stage(tested[i].ops)) {
            print_message("skipped: %s has no %s\n", name, stage);
        } else if (backend_open(tested[i].kind, &options, &tested[i].backend) != STATUS_OK) {
            print_message("skipped: %s: no device\n", name);
            report_clear();
        }
    }
    return 0;
}

static int close_backends(void **state)
{
    (void)state;
    for (int i = 0; i < TESTED; i++) {
        if (tested[i].backend) {
            backend_close(tested[i].backend);
        }
    }
    return 0;
}

#endif
