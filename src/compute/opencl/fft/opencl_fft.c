/* Any range of transforms by plans of fixed batches.
 *
 * A plan runs a fixed number of transforms from the start of a (sub-)buffer. A sub-buffer begins at
 * a multiple of the device's alignment, so that plans run in place from every `step`-th transform
 * on. There are plans of `most` transforms, of `grain` transforms, and of grain times a power of
 * two, each made when first needed. The remainder, before the first such start or less than a grain
 * at the end, goes through a staging buffer: copied out, transformed together with the unused
 * transforms after it, copied back. */
#include "compute/opencl/fft/opencl_fft.h"

#include "base/memory.h"
#include "compute/opencl/fft/fft_library.h"

#include <stdlib.h>

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

/* Settles how many transforms the largest plan does. Workspace is as large as the data: where there
 * is any, smaller plans do. */
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
    status_t st = STATUS_OK;
    fft_t *fft = NULL;
    void *plan = NULL;
    const struct fft_library *library = fft_library_of(kind);
    const uint64_t align = device->info.align;
    REQUIRE_OUT(library->can(length) && most > 0, STATUS_DEVICE, "%s cannot transform %u points",
                fft_name(kind), length);
    TRY_OUT(memory_zeroed(1, sizeof *fft, "an FFT", &fft));
    fft->device = device;
    fft->length = length;
    TRY_OUT(library->open ? library->open(device) : STATUS_OK);
    fft->library = library;
    fft->step = align / gcd_u64(align, (uint64_t)length * COMPLEX_BYTES);
    TRY_OUT(fft_settle_most(fft, most));
    fft->grain = min_u64(fft->most, power_below(max_u64(grain_points / length, 1)));
    TRY_OUT(fft_find_plan(fft, fft->most, &plan));
    if (fft->grain > 1 || fft->step > 1) {
        TRY_OUT(fft_find_plan(fft, fft->grain, &plan));
        TRY_OUT(device_allocate(device, fft->grain * length * COMPLEX_BYTES, "the stage of the FFT",
                                &fft->stage));
    }
    *out = fft;
    fft = NULL;
out:
    fft_destroy(fft);
    return st;
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
    status_t st = STATUS_OK;
    const uint64_t bytes = (uint64_t)fft->length * COMPLEX_BYTES;
    cl_mem part = NULL;
    void *plan = NULL;
    TRY_OUT(fft_find_plan(fft, count, &plan));
    if (first == 0) {
        TRY_OUT(fft->library->run(plan, data, fft->work));
    } else {
        TRY_OUT(device_part(fft->device, data, first * bytes, count * bytes, &part));
        TRY_OUT(fft->library->run(plan, part, fft->work));
    }
out:
    if (part) {
        clReleaseMemObject(part);
    }
    return st;
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
    CL_TRY(fft->device,
           clEnqueueCopyBuffer(queue, fft->stage, data, 0, (size_t)(first * bytes),
                               (size_t)(count * bytes), 0, NULL, NULL),
           "copy from the stage of the FFT");
    return STATUS_OK;
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
