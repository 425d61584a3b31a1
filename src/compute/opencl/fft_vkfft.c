/* VkFFT (Tolmachev 2023, VkFFT: a performant, cross-platform and open-source GPU FFT library), a
 * header of static functions: this is the one file that includes it.
 *
 * VkFFT asks OpenCL itself for programs and memory. Its calls are led through our own functions
 * while its header is read: programs go to the cache (VkFFT's own way to store them takes binaries
 * for text and breaks at the first 0 byte), memory is counted, large local memories are
 * understated, and the whole source of a kernel that does not build is not printed. They find the
 * device through the pointer to its id, which is in our device_t. */
#include "compute/opencl/opencl_fft.h"

#include "base/memory.h"

#include <stdlib.h>

static device_t *vkfft_device_of(cl_device_id *id)
{
    return (device_t *)(void *)((char *)id - offsetof(device_t, info.id));
}

/* Reports what failed; VkFFT only learns that something did. */
static cl_program vkfft_build(const device_t *device, const char *text, cl_int *error)
{
    cl_program program = NULL;
    status_t st = program_build_text(device, "a kernel of VkFFT", text, "", &program);
    *error = st == STATUS_OK ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
    return program;
}

/* Tables: counted as used, but not refused, since a plan may be made in the middle of a run. */
static cl_mem vkfft_allocate(device_t *device, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *error)
{
    cl_mem memory = clCreateBuffer(device->context, flags, bytes, host, error);
    device->used += memory ? bytes : 0;
    device->is_full |= !memory;
    return memory;
}

static cl_int vkfft_release(device_t *device, cl_mem memory)
{
    DEVICE_RELEASE(device, memory);
    return CL_SUCCESS;
}

/* CPUs state their cache as local memory. VkFFT would fill it with groups of thousands of
 * work-items, whose registers are more than the stack of a CPU's thread holds: it is told what GPUs
 * have at most. */
static cl_int vkfft_ask(cl_device_id id, cl_device_info what, size_t size, void *value,
                        size_t *actual)
{
    const cl_ulong most_local = 65536;
    const size_t most_group = 1024;
    cl_int error = clGetDeviceInfo(id, what, size, value, actual);
    if (error == CL_SUCCESS && what == CL_DEVICE_LOCAL_MEM_SIZE && value) {
        cl_ulong *local = value;
        *local = min_u64(*local, most_local);
    }
    if (error == CL_SUCCESS && what == CL_DEVICE_MAX_WORK_GROUP_SIZE && value) {
        size_t *group = value;
        *group = (size_t)min_u64(*group, most_group);
    }
    return error;
}

#define VKFFT_BACKEND 3
#define clGetDeviceInfo(id, what, size, value, actual)                                             \
    vkfft_ask((id), (what), (size), (value), (actual))
#define clCreateProgramWithSource(context, count, texts, lengths, error)                           \
    vkfft_build(vkfft_device_of(app->configuration.device), *(texts), (error))
#define clBuildProgram(program, count, devices, options, notify, data) CL_SUCCESS
#define clCreateBuffer(context, flags, bytes, host, error)                                         \
    vkfft_allocate(vkfft_device_of(app->configuration.device), (flags), (bytes), (host), (error))
#define clReleaseMemObject(memory)                                                                 \
    vkfft_release(vkfft_device_of(app->configuration.device), (memory))
#define printf(...) ((void)0)
#include <vkFFT.h>
#undef printf
#undef clGetDeviceInfo
#undef clReleaseMemObject
#undef clCreateBuffer
#undef clBuildProgram
#undef clCreateProgramWithSource

/* VkFFT keeps pointers to these: they live as long as the plan. */
struct plan {
    device_t *device;
    VkFFTApplication app;
    cl_mem data, work;
    uint64_t work_bytes;
};

/* Beyond 2^24 only the lengths that long filters use have been looked at. */
static int vkfft_can(uint32_t length)
{
    int is_power = (length & (length - 1)) == 0;
    return length >= 2 && length <= UINT32_C(1) << (is_power ? 26 : 24);
}

static void vkfft_forget(void *made)
{
    struct plan *plan = made;
    if (plan) {
        deleteVkFFT(&plan->app);
        free(plan);
    }
}
SCOPED_END_ANY(vkfft_forget)

static status_t vkfft_plan_batch(device_t *device, uint32_t length, uint64_t batch, void **out,
                                 uint64_t *work)
{
    SCOPED(vkfft_forget_at) struct plan *plan = NULL;
    TRY(memory_zeroed(1, sizeof *plan, "a plan of VkFFT", &plan));
    plan->device = device;
    /* Lengths with large primes are transformed as longer ones, below four times the length. VkFFT
     * from 1.3 on refuses a limit that is too low for these. */
    plan->work_bytes = 4 * length * batch * 2 * sizeof(float);
    VkFFTConfiguration wanted = {
        .FFTdim = 1,
        .size = {length, 1, 1},
        .numberBatches = batch,
        .device = &device->info.id,
        .context = &device->context,
        .makeForwardPlanOnly = 1,
        .useLUT = 1, /* sines of the device are good for 1e-6 or so only */
        .userTempBuffer = 1,
        .tempBufferSize = &plan->work_bytes,
    };
    VkFFTResult result = initializeVkFFT(&plan->app, wanted);
    REQUIRE(result == VKFFT_SUCCESS, STATUS_DEVICE,
            "OpenCL device %s: VkFFT cannot plan %llu transforms of %u points: error %d of VkFFT",
            device->info.name, (unsigned long long)batch, length, (int)result);
    const VkFFTPlan *made = plan->app.localFFTPlan;
    plan->work_bytes = made->actualFFTSizePerAxis[0][0] * batch * 2 * sizeof(float);
    *work = made->numAxisUploads[0] > 1 ? plan->work_bytes : 0;
    *out = memory_move(&plan);
    return STATUS_OK;
}

static status_t vkfft_run(void *made, cl_mem data, cl_mem work)
{
    struct plan *plan = made;
    plan->data = data;
    plan->work = work ? work : data; /* must be there, also when it is not used */
    VkFFTLaunchParams launch = {
        .commandQueue = &plan->device->compute,
        .buffer = &plan->data,
        .tempBuffer = &plan->work,
    };
    VkFFTResult result = VkFFTAppend(&plan->app, -1, &launch);
    return REQUIRED(result == VKFFT_SUCCESS, STATUS_DEVICE,
                    "OpenCL device %s: VkFFT cannot start: error %d of VkFFT",
                    plan->device->info.name, (int)result);
}

const struct fft_library fft_vkfft = {
    .can = vkfft_can, .plan = vkfft_plan_batch, .run = vkfft_run, .forget = vkfft_forget};
