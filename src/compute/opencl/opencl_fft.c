/* Any range of transforms by plans of fixed batches, of VkFFT or clFFT.
 *
 * A plan runs a fixed number of transforms from the start of a (sub-)buffer. A sub-buffer begins at
 * a multiple of the device's alignment, so that plans run in place from every `step`-th transform
 * on. There are plans of `most` transforms, of `grain` transforms, and of grain times a power of
 * two, each made when first needed. The remainder, before the first such start or less than a grain
 * at the end, goes through a staging buffer: copied out, transformed together with the unused
 * transforms after it, copied back. */
#include "compute/opencl/opencl_fft.h"

#include "base/memory.h"

#include <clFFT.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* clFFT (AMD). Its setup and teardown are the process's, so its users are counted. Few jobs want
 * it, and it brings C++'s library: their loading is a quarter of what the program takes to start:
 * so it is loaded when it is first used, and stays. */

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

/* Returns the status of clfft_fail() if the call fails. */
#define CLFFT_TRY(device, call, what)                                                              \
    do {                                                                                           \
        clfftStatus clfft_error = (call);                                                          \
        if (clfft_error != CLFFT_SUCCESS) {                                                        \
            return clfft_fail((device), clfft_error, (what));                                      \
        }                                                                                          \
    } while (0)

/* Loads clFFT's functions, under the lock. */
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

static status_t clfft_begin(const device_t *device)
{
    clfftSetupData data = {
        .major = clfftVersionMajor, .minor = clfftVersionMinor, .patch = clfftVersionPatch};
    TRY(clfft_load());
    CLFFT_TRY(device, clfft.setup(&data), "start");
    return STATUS_OK;
}

static status_t clfft_open_library(const device_t *device)
{
    pthread_mutex_lock(&lock);
    status_t st = users > 0 ? STATUS_OK : clfft_begin(device);
    users += st == STATUS_OK;
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
SCOPED_END_ANY(clfft_forget)

static status_t clfft_plan_batch(device_t *device, uint32_t length, uint64_t batch, void **out,
                                 uint64_t *work)
{
    SCOPED(clfft_forget_at) struct plan *plan = NULL;
    const size_t lengths[] = {length};
    size_t bytes = 0;
    TRY(memory_zeroed(1, sizeof *plan, "a plan of clFFT", &plan));
    plan->device = device;
    CLFFT_TRY(device, clfft.create_default_plan(&plan->handle, device->context, CLFFT_1D, lengths),
              "make a plan");
    CLFFT_TRY(device, clfft.set_plan_precision(plan->handle, CLFFT_SINGLE), "plan for floats");
    CLFFT_TRY(device,
              clfft.set_layout(plan->handle, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED),
              "plan for pairs");
    CLFFT_TRY(device, clfft.set_result_location(plan->handle, CLFFT_INPLACE), "plan in place");
    CLFFT_TRY(device, clfft.set_plan_batch_size(plan->handle, (size_t)batch), "plan a batch");
    CLFFT_TRY(device, clfft.bake_plan(plan->handle, 1, &device->compute, NULL, NULL),
              "build its kernels");
    CLFFT_TRY(device, clfft.get_tmp_buf_size(plan->handle, &bytes), "say what workspace it needs");
    *work = bytes;
    *out = memory_move(&plan);
    return STATUS_OK;
}

static status_t clfft_run(void *made, cl_mem data, cl_mem work)
{
    struct plan *plan = made;
    CLFFT_TRY(plan->device,
              clfft.enqueue_transform(plan->handle, CLFFT_FORWARD, 1, &plan->device->compute, 0,
                                      NULL, NULL, &data, NULL, work),
              "start");
    return STATUS_OK;
}

static const struct fft_library fft_clfft = {
    clfft_can, clfft_open_library, clfft_close_library, clfft_plan_batch, clfft_run, clfft_forget};

/* Points of a grain: enough to occupy a GPU, little enough to waste; of one plan: the libraries'
 * indices are 32-bit; and bytes of workspace, beyond which a larger plan is no faster. */
static const uint64_t grain_points = UINT64_C(1) << 20;
static const uint64_t plan_points = UINT64_C(1) << 28;
static const uint64_t work_limit = UINT64_C(1) << 28;

enum { PLANS = 32, COMPLEX_BYTES = 2 * sizeof(float) };

struct batch_plan {
    uint64_t count; /* transforms; 0: no plan yet */
    void *plan;
};

struct fft {
    device_t *device;
    const struct fft_library *library;
    uint32_t length;
    uint64_t most;  /* transforms of the largest plan */
    uint64_t grain; /* of the smallest; <= most */
    uint64_t step;  /* between starts at which a sub-buffer may begin */
    struct batch_plan plans[PLANS];
    cl_mem work, stage;
    uint64_t work_bytes;
};

static const struct fft_library *fft_library_of(enum fft_kind kind)
{
    return kind == FFT_CLFFT ? &fft_clfft : &fft_vkfft;
}

int fft_can(enum fft_kind kind, uint32_t length)
{
    return fft_library_of(kind)->can(length);
}

const char *fft_limit(uint32_t length)
{
    return fft_can(FFT_VKFFT, length) ? NULL : "at most 2^24 points, or 2^26 if a power of two";
}

enum fft_kind fft_settle(enum fft_kind wanted, uint32_t length)
{
    return wanted == FFT_CLFFT && fft_can(FFT_CLFFT, length) ? FFT_CLFFT : FFT_VKFFT;
}

/* Gives the plan of `count` transforms, and makes it when there is none. */
static status_t fft_find_plan(fft_t *fft, uint64_t count, void **out)
{
    uint64_t work = 0;
    cl_mem memory = NULL;
    struct batch_plan *entry = fft->plans;
    while (entry->count != 0 && entry->count != count) {
        entry++;
    }
    if (entry->count == 0) {
        TRY(fft->library->plan(fft->device, fft->length, count, &entry->plan, &work));
        entry->count = count;
    }
    if (work > fft->work_bytes) {
        TRY(device_allocate(fft->device, work, "workspace of the FFT", &memory));
        DEVICE_RELEASE(fft->device, fft->work);
        fft->work = memory;
        fft->work_bytes = work;
    }
    *out = entry->plan;
    return STATUS_OK;
}

/* Chooses the number of transforms of the largest plan. It is smaller if the library needs a
 * workspace, which is as large as the data. */
static status_t fft_settle_most(fft_t *fft, uint64_t most)
{
    void *plan = NULL;
    uint64_t limit = max_u64(plan_points / fft->length, 1);
    uint64_t small = power_below(max_u64(work_limit / fft->length / COMPLEX_BYTES, 1));
    fft->most = most <= limit ? most : power_below(limit);
    if (fft->most > small) {
        TRY(fft_find_plan(fft, small, &plan));
        fft->most = fft->work_bytes > 0 ? small : fft->most;
    }
    return STATUS_OK;
}

status_t fft_create(device_t *device, enum fft_kind kind, uint32_t length, uint64_t most,
                    fft_t **out)
{
    SCOPED(fft_destroy_at) fft_t *fft = NULL;
    void *plan = NULL;
    const struct fft_library *library = fft_library_of(kind);
    const uint64_t align = device->info.align;
    REQUIRE(library->can(length) && most > 0, STATUS_DEVICE, "%s cannot transform %u points",
            fft_name(kind), length);
    TRY(memory_zeroed(1, sizeof *fft, "an FFT", &fft));
    fft->device = device;
    fft->length = length;
    TRY(library->open ? library->open(device) : STATUS_OK);
    fft->library = library;
    fft->step = align / gcd_u64(align, (uint64_t)length * COMPLEX_BYTES);
    TRY(fft_settle_most(fft, most));
    fft->grain = min_u64(fft->most, power_below(max_u64(grain_points / length, 1)));
    TRY(fft_find_plan(fft, fft->most, &plan));
    if (fft->grain > 1 || fft->step > 1) {
        TRY(fft_find_plan(fft, fft->grain, &plan));
        TRY(device_allocate(device, fft->grain * length * COMPLEX_BYTES, "the stage of the FFT",
                            &fft->stage));
    }
    *out = memory_move(&fft);
    return STATUS_OK;
}

void fft_destroy(fft_t *fft)
{
    if (!fft) {
        return;
    }
    clFinish(fft->device->compute);
    for (struct batch_plan *entry = fft->plans; entry->count != 0; entry++) {
        fft->library->forget(entry->plan);
    }
    if (fft->library && fft->library->close) {
        fft->library->close();
    }
    DEVICE_RELEASE(fft->device, fft->work, fft->stage);
    free(fft);
}

static status_t fft_run_in_place(fft_t *fft, cl_mem data, uint64_t first, uint64_t count)
{
    const uint64_t bytes = (uint64_t)fft->length * COMPLEX_BYTES;
    SCOPED(device_part_free) cl_mem part = NULL;
    void *plan = NULL;
    TRY(fft_find_plan(fft, count, &plan));
    if (first == 0) {
        TRY(fft->library->run(plan, data, fft->work));
    } else {
        TRY(device_part(fft->device, data, first * bytes, count * bytes, &part));
        TRY(fft->library->run(plan, part, fft->work));
    }
    return STATUS_OK;
}

static status_t fft_run_staged(fft_t *fft, cl_mem data, uint64_t first, uint64_t count)
{
    const uint64_t bytes = (uint64_t)fft->length * COMPLEX_BYTES;
    cl_command_queue queue = fft->device->compute;
    void *plan = NULL;
    TRY(fft_find_plan(fft, fft->grain, &plan));
    CL_TRY(fft->device,
           clEnqueueCopyBuffer(queue, data, fft->stage, (size_t)(first * bytes), 0,
                               (size_t)(count * bytes), 0, NULL, NULL),
           "copy to the stage of the FFT");
    TRY(fft->library->run(plan, fft->stage, fft->work));
    return device_check(fft->device,
                        clEnqueueCopyBuffer(queue, fft->stage, data, 0, (size_t)(first * bytes),
                                            (size_t)(count * bytes), 0, NULL, NULL),
                        "copy from the stage of the FFT");
}

status_t fft_run(fft_t *fft, struct stopwatch *watch, cl_mem data, uint64_t first, uint64_t count)
{
    const device_t *device = fft->device;
    TRY(stopwatch_begin(watch, device, device->compute, STEP_TRANSFORM));
    while (count > 0) {
        uint64_t beyond = first % fft->step;
        uint64_t now = 0;
        if (beyond == 0 && count >= fft->grain) {
            now = fft->most;
            if (count < now) {
                now = fft->grain * power_below(count / fft->grain);
            }
            TRY(fft_run_in_place(fft, data, first, now));
        } else {
            now = min_u64(min_u64(count, fft->grain), beyond > 0 ? fft->step - beyond : count);
            TRY(fft_run_staged(fft, data, first, now));
        }
        first += now;
        count -= now;
    }
    return stopwatch_end(watch, device, device->compute);
}
