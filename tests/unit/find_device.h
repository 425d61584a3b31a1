/* Whether there is an OpenCL device, and OpenCL in this build, for tests that omit what needs one:
 * the setup of a group. */
#ifndef VOLTMILL_TESTS_FIND_DEVICE_H
#define VOLTMILL_TESTS_FIND_DEVICE_H

#include "base/report.h"
#include "base/text.h"
#include "compute/backend.h"

static int has_device;

static int find_device(void **state)
{
    struct text text = {0};
    (void)state;
    has_device = backend_abilities(BACKEND_OPENCL)->has_device &&
                 backend_devices(&text) == STATUS_OK && text.length > 0;
    text_free(&text);
    report_clear();
    return 0;
}

#endif
