/* clFFT (AMD). Its setup and teardown are the process's, so its users are counted. */
#include "compute/opencl/fft/fft_library.h"

#include "base/memory.h"

#include <clFFT.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t users;

struct plan {
    device_t *device;
    clfftPlanHandle handle;
};

static int clfft_can(uint32_t length)
{
    static const uint32_t primes[] = {2, 3, 5, 7, 11, 13};
    if (length < 2 || length > UINT32_C(1) << 24) {
        return 0;
    }
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
        while (length % primes[i] == 0) {
            length /= primes[i];
        }
    }
    return length == 1;
}

#define NAME(error)                                                                                \
    case error:                                                                                    \
        return #error

static const char *clfft_error_name(clfftStatus error)
{
    switch ((int)error) {
        NAME(CLFFT_BUGCHECK);
        NAME(CLFFT_NOTIMPLEMENTED);
        NAME(CLFFT_TRANSPOSED_NOTIMPLEMENTED);
        NAME(CLFFT_FILE_NOT_FOUND);
        NAME(CLFFT_FILE_CREATE_FAILURE);
        NAME(CLFFT_VERSION_MISMATCH);
        NAME(CLFFT_INVALID_PLAN);
        NAME(CLFFT_DEVICE_MISMATCH);
    default:
        return device_error_name((cl_int)error);
    }
}

static status_t clfft_fail(const device_t *device, clfftStatus error, const char *what)
{
    return report_fail(STATUS_DEVICE, "OpenCL device %s: clFFT cannot %s: %s", device->info.name,
                       what, clfft_error_name(error));
}

#define CLFFT_TRY(device, call, what)                                                              \
    do {                                                                                           \
        clfftStatus clfft_error = (call);                                                          \
        if (clfft_error != CLFFT_SUCCESS) {                                                        \
            st = clfft_fail((device), clfft_error, (what));                                        \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

static status_t clfft_open_library(const device_t *device)
{
    status_t st = STATUS_OK;
    pthread_mutex_lock(&lock);
    if (users == 0) {
        clfftSetupData data = {
            .major = clfftVersionMajor, .minor = clfftVersionMinor, .patch = clfftVersionPatch};
        CLFFT_TRY(device, clfftSetup(&data), "start");
    }
    users++;
out:
    pthread_mutex_unlock(&lock);
    return st;
}

static void clfft_close_library(void)
{
    pthread_mutex_lock(&lock);
    users--;
    if (users == 0) {
        clfftTeardown();
    }
    pthread_mutex_unlock(&lock);
}

static void clfft_forget(void *made)
{
    struct plan *plan = made;
    if (plan) {
        if (plan->handle) {
            clfftDestroyPlan(&plan->handle);
        }
        free(plan);
    }
}

static status_t clfft_plan_batch(device_t *device, uint32_t length, uint64_t batch, void **out,
                                 uint64_t *work)
{
    status_t st = STATUS_OK;
    struct plan *plan = NULL;
    const size_t lengths[] = {length};
    size_t bytes = 0;
    TRY(memory_zeroed(1, sizeof *plan, "a plan of clFFT", &plan));
    plan->device = device;
    CLFFT_TRY(device, clfftCreateDefaultPlan(&plan->handle, device->context, CLFFT_1D, lengths),
              "make a plan");
    CLFFT_TRY(device, clfftSetPlanPrecision(plan->handle, CLFFT_SINGLE), "plan for floats");
    CLFFT_TRY(device,
              clfftSetLayout(plan->handle, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED),
              "plan for pairs");
    CLFFT_TRY(device, clfftSetResultLocation(plan->handle, CLFFT_INPLACE), "plan in place");
    CLFFT_TRY(device, clfftSetPlanBatchSize(plan->handle, (size_t)batch), "plan a batch");
    CLFFT_TRY(device, clfftBakePlan(plan->handle, 1, &device->compute, NULL, NULL),
              "build its kernels");
    CLFFT_TRY(device, clfftGetTmpBufSize(plan->handle, &bytes), "say what workspace it needs");
    *work = bytes;
    *out = plan;
    plan = NULL;
out:
    clfft_forget(plan);
    return st;
}

static status_t clfft_run(void *made, cl_mem data, cl_mem work)
{
    status_t st = STATUS_OK;
    struct plan *plan = made;
    CLFFT_TRY(plan->device,
              clfftEnqueueTransform(plan->handle, CLFFT_FORWARD, 1, &plan->device->compute, 0, NULL,
                                    NULL, &data, NULL, work),
              "start");
out:
    return st;
}

const struct fft_library fft_clfft = {clfft_can,        clfft_open_library, clfft_close_library,
                                      clfft_plan_batch, clfft_run,          clfft_forget};
