/* clFFT (AMD). Its setup and teardown are the process's, so its users are counted. Few jobs want
 * it, and it brings C++'s library: their loading is a quarter of what the program takes to start:
 * so it is loaded when it is first used, and stays. */
#include "compute/opencl/fft/fft_library.h"

#include "base/memory.h"

#include <clFFT.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF_VALUE(value) #value
#define TEXT_OF(macro) TEXT_OF_VALUE(macro)
/* The one that the header speaks of. */
static const char library_file[] = "libclFFT.so." TEXT_OF(clfftVersionMajor);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t users;

/* Its functions, once it is loaded. */
static struct {
    __typeof__(clfftSetup) *setup;
    __typeof__(clfftTeardown) *teardown;
    __typeof__(clfftCreateDefaultPlan) *create_default_plan;
    __typeof__(clfftSetPlanPrecision) *set_plan_precision;
    __typeof__(clfftSetLayout) *set_layout;
    __typeof__(clfftSetResultLocation) *set_result_location;
    __typeof__(clfftSetPlanBatchSize) *set_plan_batch_size;
    __typeof__(clfftBakePlan) *bake_plan;
    __typeof__(clfftGetTmpBufSize) *get_tmp_buf_size;
    __typeof__(clfftEnqueueTransform) *enqueue_transform;
    __typeof__(clfftDestroyPlan) *destroy_plan;
} clfft;

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

#define CLFFT_TRY_OUT(device, call, what)                                                          \
    do {                                                                                           \
        clfftStatus clfft_error = (call);                                                          \
        if (clfft_error != CLFFT_SUCCESS) {                                                        \
            st = clfft_fail((device), clfft_error, (what));                                        \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

/* Under the lock. */
static status_t clfft_load(void)
{
    /* POSIX lets a function be found as an object: dlsym(3). */
    const struct {
        const char *name;
        void *function;
    } names[] = {{"clfftSetup", &clfft.setup},
                 {"clfftTeardown", &clfft.teardown},
                 {"clfftCreateDefaultPlan", &clfft.create_default_plan},
                 {"clfftSetPlanPrecision", &clfft.set_plan_precision},
                 {"clfftSetLayout", &clfft.set_layout},
                 {"clfftSetResultLocation", &clfft.set_result_location},
                 {"clfftSetPlanBatchSize", &clfft.set_plan_batch_size},
                 {"clfftBakePlan", &clfft.bake_plan},
                 {"clfftGetTmpBufSize", &clfft.get_tmp_buf_size},
                 {"clfftEnqueueTransform", &clfft.enqueue_transform},
                 {"clfftDestroyPlan", &clfft.destroy_plan}};
    void *library = dlopen(library_file, RTLD_NOW);
    REQUIRE(library, STATUS_DEVICE, "clFFT cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(library, names[i].name);
        REQUIRE(found, STATUS_DEVICE, "clFFT cannot be used: %s", dlerror());
        memcpy(names[i].function, &found, sizeof found);
    }
    return STATUS_OK;
}

static status_t clfft_open_library(const device_t *device)
{
    status_t st = STATUS_OK;
    pthread_mutex_lock(&lock);
    if (users == 0) {
        TRY_OUT(clfft_load());
        clfftSetupData data = {
            .major = clfftVersionMajor, .minor = clfftVersionMinor, .patch = clfftVersionPatch};
        CLFFT_TRY_OUT(device, clfft.setup(&data), "start");
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
        clfft.teardown();
    }
    pthread_mutex_unlock(&lock);
}

static void clfft_forget(void *made)
{
    struct plan *plan = made;
    if (plan) {
        if (plan->handle) {
            clfft.destroy_plan(&plan->handle);
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
    TRY_OUT(memory_zeroed(1, sizeof *plan, "a plan of clFFT", &plan));
    plan->device = device;
    CLFFT_TRY_OUT(device,
                  clfft.create_default_plan(&plan->handle, device->context, CLFFT_1D, lengths),
                  "make a plan");
    CLFFT_TRY_OUT(device, clfft.set_plan_precision(plan->handle, CLFFT_SINGLE), "plan for floats");
    CLFFT_TRY_OUT(
        device,
        clfft.set_layout(plan->handle, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED),
        "plan for pairs");
    CLFFT_TRY_OUT(device, clfft.set_result_location(plan->handle, CLFFT_INPLACE), "plan in place");
    CLFFT_TRY_OUT(device, clfft.set_plan_batch_size(plan->handle, (size_t)batch), "plan a batch");
    CLFFT_TRY_OUT(device, clfft.bake_plan(plan->handle, 1, &device->compute, NULL, NULL),
                  "build its kernels");
    CLFFT_TRY_OUT(device, clfft.get_tmp_buf_size(plan->handle, &bytes),
                  "say what workspace it needs");
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
    CLFFT_TRY_OUT(plan->device,
                  clfft.enqueue_transform(plan->handle, CLFFT_FORWARD, 1, &plan->device->compute, 0,
                                          NULL, NULL, &data, NULL, work),
                  "start");
out:
    return st;
}

const struct fft_library fft_clfft = {clfft_can,        clfft_open_library, clfft_close_library,
                                      clfft_plan_batch, clfft_run,          clfft_forget};
