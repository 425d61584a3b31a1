/* OpenCL devices, programs and their cache, and the FFT libraries, on whatever device is there
 * (VOLTMILL_TEST_DEVICE names another than the first). */
#include "compute/backend_ops.h"
#include "compute/device_side.h"
#include "compute/opencl/opencl_fft.h"
#include "compute/opencl/ppf/opencl_channelise.h"
#include "compute/opencl/program.h"
#include "dsp/dft.h"
#include "io/cache.h"
#include "run/ahead.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/voltmill-test-opencl-XXXXXX";

static const char source[] = "__kernel void triple(__global float *x)\n"
                             "{\n"
                             "    x[get_global_id(0)] *= FACTOR;\n"
                             "}\n";

static void assert_ok(status_t st)
{
    if (st != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
}

static void empty_cache(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static struct device_info choose(void)
{
    struct device_info info = {0};
    uint32_t sharers = 0;
    assert_ok(device_choose(getenv("VOLTMILL_TEST_DEVICE"), 0, 1, &info, &sharers));
    assert_int_equal(sharers, 1);
    return info;
}

static device_t *open_device(void)
{
    struct device_info info = choose();
    device_t *device = NULL;
    assert_ok(device_open(&info, 0, 1, &device));
    return device;
}

static int set_up(void **state)
{
    *state = NULL;
    report_clear();
    setenv("VOLTMILL_CACHE", folder, 1);
    return 0;
}

/* Skips the test where there is no OpenCL: first statement of every test that needs a device. */
static void need_device(void)
{
    struct device_info *list = NULL;
    uint32_t count = 0;
    assert_ok(device_list(&list, &count));
    free(list);
    if (count == 0) {
        print_message("no OpenCL platform with a device: skipped\n");
        skip();
    }
}

static void test_list(void **state)
{
    (void)state;
    need_device();
    struct device_info *list = NULL;
    uint32_t count = 0;
    struct text text = {0};
    assert_ok(device_list(&list, &count));
    assert_ok(backend_devices(&text));
    uint32_t lines = 0;
    for (size_t i = 0; i < text.length; i++) {
        lines += text.data[i] == '\n';
    }
    assert_int_equal(lines, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(list[i].name[0] != '\0' && list[i].platform_name[0] != '\0');
        assert_non_null(strstr(text.data, list[i].name));
        assert_true(list[i].units > 0 && list[i].group_size > 0);
        assert_true(list[i].most_bytes > 0 && list[i].most_bytes <= list[i].global_bytes);
        assert_true(i == 0 || list[i - 1].is_gpu >= list[i].is_gpu);
    }
    text_free(&text);
    free(list);
}

/* Ranks 0 .. size - 1 spread over the devices that fit; the sharers add up to all. */
static void check_spread(const char *wanted, uint32_t devices, uint32_t size)
{
    uint32_t taken[64] = {0};
    struct device_info *list = NULL;
    uint32_t count = 0;
    assert_ok(device_list(&list, &count));
    assert_true(count <= 64);
    uint32_t stated[64] = {0};
    for (uint32_t rank = 0; rank < size; rank++) {
        struct device_info info = {0};
        uint32_t sharers = 0;
        assert_ok(device_choose(wanted, rank, size, &info, &sharers));
        for (uint32_t i = 0; i < count; i++) {
            if (list[i].id == info.id) {
                taken[i]++;
                stated[i] = sharers;
            }
        }
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(taken[i], stated[i]);
        assert_true(taken[i] <= (size + devices - 1) / devices);
        used += taken[i] > 0;
    }
    assert_int_equal(used, devices < size ? devices : size);
    free(list);
}

static void test_choose(void **state)
{
    (void)state;
    need_device();
    struct device_info *list = NULL;
    uint32_t count = 0;
    uint32_t gpus = 0;
    assert_ok(device_list(&list, &count));
    for (uint32_t i = 0; i < count; i++) {
        gpus += list[i].is_gpu ? 1 : 0;
    }
    for (uint32_t size = 1; size <= 9; size++) {
        check_spread(NULL, gpus > 0 ? gpus : count, size);
        check_spread("auto", gpus > 0 ? gpus : count, size);
        check_spread("0", 1, size);
    }
    struct device_info info = {0};
    uint32_t sharers = 0;
    char part[8] = {0};
    memcpy(part, list[count - 1].name + 1, 5);
    assert_ok(device_choose(part, 0, 1, &info, &sharers));
    assert_non_null(strstr(info.name, part));
    static const char *const none[] = {"no such device", "4000000000", ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(device_choose(none[i], 0, 1, &info, &sharers), STATUS_DEVICE);
        char expected[128];
        snprintf(expected, sizeof expected,
                 "no OpenCL device is called \"%s\"; there are: 0: ", none[i]);
        assert_non_null(strstr(report_cause(), expected));
        assert_non_null(strstr(report_cause(), list[0].name));
        report_clear();
    }
    free(list);
}

/* Without a platform: the loader looks for drivers in a folder that has none. */
static void test_no_platform(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], 1);
        setenv("OCL_ICD_VENDORS", "/nowhere", 1);
        setenv("OPENCL_VENDOR_PATH", "/nowhere", 1);
        execl("/proc/self/exe", "test_opencl", "choose", (char *)NULL);
        _exit(1);
    }
    close(pipes[1]);
    char text[512] = "";
    ssize_t bytes = read(pipes[0], text, sizeof text - 1);
    close(pipes[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(bytes > 0);
    assert_string_equal(text, "no OpenCL platform: is a driver (ICD) installed?");
    assert_int_equal(WEXITSTATUS(status), STATUS_DEVICE);
}

static void test_allocate(void **state)
{
    (void)state;
    need_device();
    struct device_info info = choose();
    device_t *device = NULL;
    cl_mem a = NULL;
    cl_mem b = NULL;
    assert_ok(device_open(&info, 1000000, 1, &device));
    assert_ok(device_allocate(device, 600000, "a", &a));
    assert_int_equal(device->is_full, 0);
    assert_int_equal(device_allocate(device, 600000, "samples", &b), STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "of samples: device"));
    assert_int_equal(device->is_full, 1);
    report_clear();
    assert_ok(device_allocate(device, 400000, "b", &b));
    assert_int_equal(device->used, 1000000);
    DEVICE_RELEASE(device, a);
    DEVICE_RELEASE(device, NULL);
    assert_int_equal(device->used, 400000);
    DEVICE_RELEASE(device, b);
    assert_ok(device_allocate(device, 0, "nothing", &a));
    DEVICE_RELEASE(device, a);
    assert_int_equal(device->used, 0);
    device_close(device);
    device_close(NULL);

    /* The share of one of two ranks is half of the share of one. */
    uint64_t room = 0;
    assert_ok(device_open(&info, 0, 1, &device));
    room = device->room;
    assert_true(room > 0 && room < info.global_bytes);
    device_close(device);
    assert_ok(device_open(&info, 0, 2, &device));
    assert_int_equal(device->room, room / 2);
    device_close(device);
}

/* Builds, runs and returns what it made of 1; the program's answer to "is it the right one". */
static float build_and_run(device_t *device, const char *options)
{
    const struct launch_size one = {1, 1};
    struct stopwatch watch = {.is_on = 1};
    cl_program program = NULL;
    cl_kernel kernel = NULL;
    cl_mem memory = NULL;
    cl_event done = NULL;
    float value = 1;
    double seconds[DEVICE_STEPS];
    assert_ok(program_build_text(device, "a test", source, options, &program));
    assert_ok(program_kernel(device, program, "triple", &kernel));
    assert_ok(device_put(device, &value, sizeof value, "a number", &memory));
    assert_ok(LAUNCH(device, kernel, one, &watch, STEP_FILTER, ARGUMENT(memory)));
    assert_ok(device_mark(device, &done));
    assert_ok(device_wait(device, done));
    assert_ok(device_wait(device, NULL));
    assert_ok(stopwatch_collect(&watch, device, seconds));
    assert_true(seconds[STEP_FILTER] >= 0 && seconds[STEP_FILTER] < 10);
    assert_true(seconds[STEP_DETECT] == 0);
    assert_int_equal(clEnqueueReadBuffer(device->compute, memory, CL_TRUE, 0, sizeof value, &value,
                                         0, NULL, NULL),
                     0);
    device_forget(&done);
    device_forget(&done);
    stopwatch_free(&watch);
    DEVICE_RELEASE(device, memory);
    LAUNCH_RELEASE(kernel);
    clReleaseProgram(program);
    return value;
}

/* Files of the cache; `last` gets the path of one of them. */
static int cached(char last[512])
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.') {
            snprintf(last, 512, "%s/%s", folder, entry->d_name);
            count++;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

static ino_t inode(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

static void test_program_cache(void **state)
{
    (void)state;
    need_device();
    device_t *device = open_device();
    char path[512];
    empty_cache();
    assert_true(build_and_run(device, "-DFACTOR=3") == 3.0f);
    assert_int_equal(cached(path), 1);
    /* Kept open, so that its number is not given to another file. */
    FILE *first = fopen(path, "r+b");
    assert_non_null(first);
    ino_t before = inode(path);
    assert_true(build_and_run(device, "-DFACTOR=3") == 3.0f);
    assert_int_equal(inode(path), before); /* taken, not written again */

    /* Damaged in the middle: built anew and written over. */
    struct stat info;
    assert_int_equal(fstat(fileno(first), &info), 0);
    assert_int_equal(fseek(first, (long)info.st_size / 2, SEEK_SET), 0);
    assert_int_equal(fwrite("damaged", 7, 1, first), 1);
    assert_int_equal(fflush(first), 0);
    assert_true(build_and_run(device, "-DFACTOR=3") == 3.0f);
    assert_true(inode(path) != before);
    fclose(first);

    /* Torn. */
    assert_int_equal(truncate(path, (off_t)info.st_size / 3), 0);
    assert_true(build_and_run(device, "-DFACTOR=3") == 3.0f);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size > 0);

    /* Another key's content. */
    char kept[600];
    snprintf(kept, sizeof kept, "%s.kept", folder);
    assert_int_equal(rename(path, kept), 0);
    assert_true(build_and_run(device, "-DFACTOR=5") == 5.0f);
    assert_int_equal(cached(path), 1);
    assert_int_equal(rename(kept, path), 0);
    assert_true(build_and_run(device, "-DFACTOR=5") == 5.0f);
    device_close(device);
}

/* A whole entry with a binary that the driver refuses, as after a driver changed under one name. */
/* A child builds what the stage then finds; it skips what another process builds. */
static void test_ahead(void **state)
{
    (void)state;
    need_device();
    struct channelise_spec spec = {.channels = 16,
                                   .taps = 1,
                                   .is_complex = 1,
                                   .nchannels = 16,
                                   .nstreams = 2,
                                   .max_spectra = UINT64_C(1)
                                                  << 29, /* no memory is taken for them */
                                   .format = SAMPLE_F32,
                                   .noutputs = 1,
                                   .outputs = {{.quantity = QUANTITY_POWER, .integrate = 3}},
                                   .is_spectra = 1};
    const struct apart_request request = {.name = "0",
                                          .more = {.data = (char *)&spec, .length = sizeof spec}};
    const struct backend_options options = {.device = "0", .local_size = 1};
    backend_t *backend = NULL;
    channelise_t *stage = NULL;
    char path[512];
    empty_cache();
    apart_begin_help(&ahead_description, &request);
    for (int i = 0; i < 3000 && waitpid(-1, NULL, WNOHANG) == 0; i++) {
        usleep(10000);
    }
    assert_int_equal(cached(path), 2); /* detect and sum */
    ino_t before = inode(path);
    assert_ok(backend_open(BACKEND_OPENCL, &options, &backend));
    spec.max_spectra = 64;
    assert_ok(channelise_create(backend, &spec, &stage));
    stage_destroy(stage);
    assert_int_equal(cached(path), 2);
    assert_int_equal(inode(path), before);
    backend_close(backend);
    apart_look();
}

static void test_refused_binary(void **state)
{
    (void)state;
    need_device();
    device_t *device = open_device();
    char path[512];
    char text[65536];
    empty_cache();
    assert_true(build_and_run(device, "-DFACTOR=3") == 3.0f);
    assert_int_equal(cached(path), 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    /* The key ends in the source; cache_put() with that key and nonsense. */
    const size_t head = 32;
    uint64_t key_bytes = 0;
    memcpy(&key_bytes, text + 8, sizeof key_bytes);
    assert_true(head + key_bytes <= bytes);
    text[head + key_bytes] = '\0';
    assert_int_equal(strcmp(text + head + key_bytes - strlen(source), source), 0);
    assert_int_equal(cache_put("program", text + head, "nonsense", 8), 1);
    assert_true(build_and_run(device, "-DFACTOR=3") == 3.0f);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true((uint64_t)info.st_size > head + key_bytes + 8); /* written over */
    device_close(device);
}

static void test_no_cache(void **state)
{
    (void)state;
    need_device();
    device_t *device = open_device();
    char path[512];
    empty_cache();
    setenv("VOLTMILL_CACHE", "/dev/null/cache", 1);
    assert_true(build_and_run(device, "-DFACTOR=7") == 7.0f);
    setenv("VOLTMILL_CACHE", "off", 1);
    assert_true(build_and_run(device, "-DFACTOR=7") == 7.0f);
    assert_int_equal(cached(path), 0);
    device_close(device);
}

/* Processes build one program at once. They start before this one has used OpenCL in this test;
 * drivers do not live through fork(), so each is this program anew. */
/* Counts, in a file beside the entries, what all processes build from source. */
cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                     const size_t *lengths, cl_int *error)
{
    static cl_program (*next)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    char path[512];
    if (!next) {
        void *symbol = dlsym(RTLD_NEXT, "clCreateProgramWithSource");
        memcpy(&next, &symbol, sizeof next);
    }
    snprintf(path, sizeof path, "%s/.built", getenv("VOLTMILL_CACHE"));
    FILE *file = fopen(path, "ab");
    if (file) {
        fputc('x', file);
        fclose(file);
    }
    return next(context, count, strings, lengths, error);
}

static void test_build_at_once(void **state)
{
    (void)state;
    need_device();
    enum { PROCESSES = 4 };
    char path[512];
    empty_cache();
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            execl("/proc/self/exe", "test_opencl", "build", (char *)NULL);
            _exit(1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(cached(path), 1);
    /* One has built it, the others have waited. */
    struct stat info;
    snprintf(path, sizeof path, "%s/.built", folder);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 1);
}

static void test_build_failure(void **state)
{
    (void)state;
    need_device();
    device_t *device = open_device();
    cl_program program = NULL;
    cl_kernel kernel = NULL;
    static const char wrong[] = "__kernel void f(__global float *x) { x[0] = no_such_name; }";
    assert_int_equal(program_build_text(device, "wrong.cl", wrong, "", &program), STATUS_DEVICE);
    assert_null(program);
    assert_non_null(strstr(report_cause(), "cannot build wrong.cl: "));
    assert_non_null(strstr(report_cause(), "no_such_name"));
    report_clear();
    assert_ok(program_build_text(device, "a test", source, "-DFACTOR=1", &program));
    assert_int_equal(program_kernel(device, program, "quadruple", &kernel), STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "quadruple: CL_INVALID_KERNEL_NAME"));
    clReleaseProgram(program);
    device_close(device);
}

/* An error of a launch names its kernel. */
static void test_launch_failure(void **state)
{
    (void)state;
    need_device();
    device_t *device = open_device();
    cl_program program = NULL;
    cl_kernel kernel = NULL;
    cl_mem memory = NULL;
    const float value = 1;
    const struct launch_size one = {1, 1};
    const struct launch_size many = {1, (size_t)device->info.group_size * 2};
    assert_ok(program_build_text(device, "a test", source, "-DFACTOR=1", &program));
    assert_ok(program_kernel(device, program, "triple", &kernel));
    assert_ok(device_put(device, &value, sizeof value, "a number", &memory));
    assert_int_equal(
        LAUNCH(device, kernel, one, NULL, STEP_FILTER, ARGUMENT(memory), ARGUMENT_UINT(2)),
        STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "set the arguments of kernel triple: CL_INVALID_ARG_"));
    report_clear();
    assert_int_equal(LAUNCH(device, kernel, many, NULL, STEP_FILTER, ARGUMENT(memory)),
                     STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "launch kernel triple: CL_INVALID_WORK_"));
    report_clear();
    LAUNCH_RELEASE(NULL);
    LAUNCH_RELEASE(kernel);
    clReleaseProgram(program);
    DEVICE_RELEASE(device, memory);
    device_close(device);
}

static void test_abilities(void **state)
{
    (void)state;
    need_device();
    const struct backend_abilities *can = backend_abilities(BACKEND_OPENCL);
    const struct backend_options options = {.local_size = 1};
    backend_t *backend = NULL;
    resident_rows_t *rows = NULL;
    assert_true(can->has_device && can->keeps_rows && !can->uses_threads && !can->is_reference);
    assert_ok(backend_open(BACKEND_OPENCL, &options, &backend));
    assert_ok(resident_rows_create(backend, 64, 1, &rows));
    assert_non_null(rows);
    stage_destroy(rows);
    backend_close(backend);
}

static void test_error_names(void **state)
{
    (void)state;
    assert_string_equal(device_error_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    assert_string_equal(device_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_int_equal(device_fail(NULL, CL_INVALID_VALUE, "test"), STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "cannot test: CL_INVALID_VALUE"));
}

static void test_can(void **state)
{
    (void)state;
    for (uint32_t length = 2; length < 20; length++) {
        assert_int_equal(fft_can(FFT_VKFFT, length), 1);
        assert_int_equal(fft_can(FFT_CLFFT, length), length != 17 && length != 19);
    }
    assert_int_equal(fft_can(FFT_CLFFT, 1009), 0);
    assert_int_equal(fft_can(FFT_CLFFT, UINT32_C(1) << 24), 1);
    assert_int_equal(fft_can(FFT_CLFFT, UINT32_C(1) << 25), 0);
    assert_int_equal(fft_can(FFT_VKFFT, 0) || fft_can(FFT_CLFFT, 0), 0);
}

/* `auto` looks at clFFT, too, but where the compiler warns of its kernels. */
static void test_both_are_tried(void **state)
{
    enum { MOST = 40 };
    (void)state;
    for (int is_nvidia = 0; is_nvidia < 2; is_nvidia++) {
        const struct device_info gpu = {.is_gpu = 1,
                                        .is_nvidia = is_nvidia,
                                        .units = 132,
                                        .local_bytes = 48 << 10,
                                        .group_size = 1024};
        struct channelise_spec spec = {.channels = 1024,
                                       .taps = 8,
                                       .is_complex = 1,
                                       .format = SAMPLE_I8,
                                       .nchannels = 1024,
                                       .nstreams = 1,
                                       .max_spectra = 64,
                                       .noutputs = 1,
                                       .outputs = {{.quantity = QUANTITY_SPECTRA, .integrate = 1}},
                                       .kernel = KERNEL_SLIDE};
        for (int kind = FFT_AUTO; kind <= FFT_CLFFT; kind++) {
            struct channelise_shape shapes[MOST];
            uint32_t with_clfft = 0;
            spec.fft = (enum fft_kind)kind;
            const uint32_t count = ppf_choices(&gpu, &spec, shapes, MOST);
            for (uint32_t i = 0; i < count; i++) {
                with_clfft += shapes[i].fft == FFT_CLFFT;
            }
            assert_true(count > 1);
            assert_int_equal(with_clfft,
                             kind == FFT_CLFFT ? count : kind == FFT_AUTO && !is_nvidia);
        }
    }
}

/* The first choice if nothing is timed: for 8192 channels on NVIDIA's devices the fused kernel if
 * it makes spectra in place, else that of fine channels. */
static void test_first_of_long(void **state)
{
    static const struct {
        uint32_t channels, taps;
        enum sample_format format;
        struct channelise_output output;
        enum kernel_kind nvidia, other;
    } cases[] = {
        {4096, 8, SAMPLE_I8, {QUANTITY_POWER, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {4096, 8, SAMPLE_F32, {QUANTITY_SPECTRA, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 8, SAMPLE_I8, {QUANTITY_POWER, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 16, SAMPLE_I16, {QUANTITY_POWER, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 32, SAMPLE_I8, {QUANTITY_POWER, 1, 0, 0}, KERNEL_FINE, KERNEL_FUSED},
        {8192, 8, SAMPLE_F32, {QUANTITY_POWER, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 8, SAMPLE_I8, {QUANTITY_POWER, 64, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 8, SAMPLE_F32, {QUANTITY_POWER, 64, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 8, SAMPLE_I8, {QUANTITY_SPECTRA, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 32, SAMPLE_I8, {QUANTITY_SPECTRA, 1, 0, 0}, KERNEL_FINE, KERNEL_FUSED},
        {8192, 8, SAMPLE_F32, {QUANTITY_SPECTRA, 1, 0, 0}, KERNEL_FUSED, KERNEL_FUSED},
        {8192, 8, SAMPLE_I8, {QUANTITY_SPECTRA, 1, 8, 64}, KERNEL_FINE, KERNEL_FUSED},
        {16384, 8, SAMPLE_I8, {QUANTITY_POWER, 1, 0, 0}, KERNEL_FINE, KERNEL_FINE},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const int is_nvidia = i % 2 == 0;
        const struct device_info gpu = {.is_gpu = 1,
                                        .is_nvidia = is_nvidia,
                                        .units = 132,
                                        .local_bytes = 64 << 10,
                                        .group_size = 1024};
        const struct channelise_spec spec = {.channels = cases[i / 2].channels,
                                             .taps = cases[i / 2].taps,
                                             .is_complex = 1,
                                             .format = cases[i / 2].format,
                                             .nchannels = cases[i / 2].channels,
                                             .nstreams = 1,
                                             .max_spectra = 64,
                                             .noutputs = 1,
                                             .outputs = {cases[i / 2].output}};
        struct channelise_shape first;
        assert_int_equal(ppf_choices(&gpu, &spec, &first, 1), 1);
        assert_int_equal(first.kernel, is_nvidia ? cases[i / 2].nvidia : cases[i / 2].other);
    }
}

static float next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) / (float)(1 << 23) - 1;
}

/* One transform of `in` against the double one; adds to the sums of squares of errors and values.
 */
static void compare(uint32_t length, const float *in, const float *out, double *error,
                    double *power)
{
    double complex *wide = calloc(length, sizeof *wide);
    double complex *expected = calloc(length, sizeof *expected);
    assert_true(wide && expected);
    for (uint32_t i = 0; i < length; i++) {
        wide[i] = (double)in[2 * i] + (double)in[2 * i + 1] * I;
    }
    assert_ok(dft_forward(length, wide, expected));
    for (uint32_t i = 0; i < length; i++) {
        double complex got = (double)out[2 * i] + (double)out[2 * i + 1] * I;
        *error += pow(cabs(got - expected[i]), 2);
        *power += pow(cabs(expected[i]), 2);
    }
    free(wide);
    free(expected);
}

/* Runs transforms first .. first + count - 1 of `total` and returns their relative rms error; all
 * others must keep their bits. */
static double check_range(device_t *device, fft_t *fft, uint32_t length, uint64_t total,
                          uint64_t first, uint64_t count)
{
    const size_t each = (size_t)length * 2;
    const size_t bytes = (size_t)total * each * sizeof(float);
    float *in = malloc(bytes);
    float *out = malloc(bytes);
    cl_mem data = NULL;
    uint64_t seed = length + first;
    assert_true(in && out);
    for (size_t i = 0; i < total * each; i++) {
        in[i] = next_random(&seed);
    }
    assert_ok(device_allocate(device, bytes, "transforms", &data));
    assert_int_equal(
        clEnqueueWriteBuffer(device->compute, data, CL_TRUE, 0, bytes, in, 0, NULL, NULL), 0);
    assert_ok(fft_run(fft, NULL, data, first, count));
    assert_int_equal(
        clEnqueueReadBuffer(device->compute, data, CL_TRUE, 0, bytes, out, 0, NULL, NULL), 0);
    assert_memory_equal(in, out, (size_t)first * each * sizeof *in);
    assert_memory_equal(in + (first + count) * each, out + (first + count) * each,
                        (size_t)(total - first - count) * each * sizeof *in);
    double error = 0;
    double power = 0;
    /* The double transform is slow: the first, the last and some between. */
    uint64_t stride = count * length / 100000 + 1;
    for (uint64_t i = first; i < first + count; i++) {
        if ((i - first) % stride == 0 || i + 1 == first + count) {
            compare(length, in + i * each, out + i * each, &error, &power);
        }
    }
    DEVICE_RELEASE(device, data);
    free(in);
    free(out);
    return sqrt(error / power);
}

/* Every butterfly rounds a few times: errors grow as the root of the logarithm of the length and
 * are 1e-7 to 3e-7 here. */
static const double tolerance = 4e-7;

static void check_length(device_t *device, enum fft_kind kind, uint32_t length)
{
    const uint64_t most = 40000 / length + 3;
    fft_t *fft = NULL;
    uint64_t used = device->used;
    assert_ok(fft_create(device, kind, length, most, &fft));
    const struct {
        uint64_t first, count;
    } ranges[] = {{0, most}, {most, most}, {1, most - 1}, {most / 2 + 1, 1}, {0, 0}, {3, most / 2}};
    double worst = 0;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        double error = check_range(device, fft, length, 2 * most, ranges[i].first, ranges[i].count);
        if (ranges[i].count > 0 && !(error <= worst)) {
            worst = error;
        }
    }
    print_message("%s, %u points: rms error %.2g\n", fft_name(kind), length, worst);
    assert_true(worst <= tolerance);
    fft_destroy(fft);
    assert_int_equal(device->used, used);
}

static void check_library(enum fft_kind kind)
{
    enum { SOON_BUILT = 4 };
    static const uint32_t lengths[] = {2,  30, 1009, 1024, /* and in `make test-long`: */
                                       16, 32, 77,   1000, 1536, 3072, 4096, 65536};
    size_t count = getenv("VOLTMILL_TEST_ALL") ? sizeof lengths / sizeof *lengths : SOON_BUILT;
    need_device();
    device_t *device = open_device();
    for (size_t i = 0; i < count; i++) {
        if (fft_can(kind, lengths[i])) {
            check_length(device, kind, lengths[i]);
        }
    }
    device_close(device);
}

static void test_vkfft(void **state)
{
    (void)state;
    check_library(FFT_VKFFT);
}

static void test_clfft(void **state)
{
    (void)state;
    check_library(FFT_CLFFT);
}

/* More transforms than one plan with workspace does, and than a grain: every kind of piece. */
static void test_pieces(void **state)
{
    (void)state;
    need_device();
    device_t *device = open_device();
    fft_t *fft = NULL;
    enum { LENGTH = 30 };
    const uint64_t most = 150001;
    assert_ok(fft_create(device, FFT_VKFFT, LENGTH, most, &fft));
    assert_true(check_range(device, fft, LENGTH, most + 9, 0, most) <= tolerance);
    assert_true(check_range(device, fft, LENGTH, most + 9, 7, most) <= tolerance);
    assert_true(check_range(device, fft, LENGTH, most + 9, 8, most - 5) <= tolerance);
    fft_destroy(fft);
    device_close(device);
}

static void test_fft_failures(void **state)
{
    (void)state;
    need_device();
    struct device_info info = choose();
    device_t *device = NULL;
    fft_t *fft = NULL;
    assert_ok(device_open(&info, 10000, 1, &device));
    assert_int_equal(fft_create(device, FFT_CLFFT, 17, 1, &fft), STATUS_DEVICE);
    report_clear();
    /* No room for the stage. */
    assert_int_equal(fft_create(device, FFT_VKFFT, 1024, 100, &fft), STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "the stage of the FFT"));
    assert_int_equal(device->is_full, 1);
    assert_null(fft);
    fft_destroy(NULL);
    assert_int_equal(device->used, 0);
    device_close(device);
}

/* Pinned memory as the standard has it and as NVIDIA's driver likes it: bytes go to the device and
 * come back. */
static void test_pinned(void **state)
{
    (void)state;
    enum { BYTES = (3 << 20) + 5 };
    need_device();
    device_t *device = open_device();
    cl_mem memory = NULL;
    assert_ok(device_allocate(device, BYTES, "a test", &memory));
    for (int is_nvidia = 0; is_nvidia < 2; is_nvidia++) {
        struct pinned from;
        struct pinned to;
        assert_int_equal(pinned_take(device->context, device->upload, is_nvidia, BYTES, &from), 0);
        assert_int_equal(pinned_take(device->context, device->download, is_nvidia, BYTES, &to), 0);
        for (size_t i = 0; i < BYTES; i++) {
            ((unsigned char *)from.host)[i] = (unsigned char)(i * 7 + i / 251);
            ((unsigned char *)to.host)[i] = 0;
        }
        assert_int_equal(clEnqueueWriteBuffer(device->upload, memory, CL_TRUE, 0, BYTES, from.host,
                                              0, NULL, NULL),
                         CL_SUCCESS);
        assert_int_equal(clEnqueueReadBuffer(device->download, memory, CL_TRUE, 0, BYTES, to.host,
                                             0, NULL, NULL),
                         CL_SUCCESS);
        assert_memory_equal(from.host, to.host, BYTES);
        assert_true(!is_nvidia || ((uintptr_t)from.host % (2 << 20) == 0 && from.pages));
        pinned_release(&from, device->upload);
        pinned_release(&to, device->download);
        pinned_release(&to, device->download);
        assert_null(to.host);
    }
    DEVICE_RELEASE(device, memory);
    device_close(device);
}

/* Buffers kept for later are used again if they fit, and freed if something else needs memory. */
static void test_kept(void **state)
{
    (void)state;
    enum { BYTES = 700 << 10 };
    need_device();
    device_t *device = open_device();
    struct kept_buffer buffer = {.use = 1, .bytes = BYTES};
    struct kept_buffer again;
    assert_int_equal(kept_put_buffer(device->kept, &buffer), 0); /* nothing is kept */
    assert_ok(kept_create(&device->kept));
    device->room = device->used + (1 << 20);
    assert_ok(device_allocate(device, BYTES, "a test", &buffer.memory));
    assert_int_equal(pinned_take(device->context, device->upload, 0, BYTES, &buffer.pinned), 0);
    assert_int_equal(kept_put_buffer(device->kept, &buffer), 1);
    assert_int_equal(kept_take_buffer(device->kept, 1, BYTES + 1, &again), 0);
    assert_int_equal(kept_take_buffer(device->kept, 2, BYTES, &again), 0);
    assert_int_equal(kept_take_buffer(device->kept, 1, BYTES, &again), 1);
    assert_ptr_equal(again.memory, buffer.memory);
    assert_ptr_equal(again.pinned.host, buffer.pinned.host);
    assert_int_equal(kept_take_buffer(device->kept, 1, BYTES, &again), 0);
    assert_int_equal(kept_put_buffer(device->kept, &again), 1);
    cl_mem other = NULL;
    assert_ok(device_allocate(device, BYTES + 1, "a test", &other));
    assert_int_equal(kept_take_buffer(device->kept, 1, BYTES, &again), 0);
    assert_int_equal(device->used, BYTES + 1);
    DEVICE_RELEASE(device, other);
    device_close(device);
}

/* End of the furthest place that was filled. */
static uint64_t filled_end;

typedef cl_int(CL_API_CALL *enqueue_fill)(cl_command_queue, cl_mem, const void *, size_t, size_t,
                                          size_t, cl_uint, const cl_event *, cl_event *);

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern,
                                       size_t pattern_bytes, size_t at, size_t bytes, cl_uint count,
                                       const cl_event *events, cl_event *event)
{
    enqueue_fill fill = NULL;
    void *symbol = dlsym(RTLD_NEXT, "clEnqueueFillBuffer");
    memcpy(&fill, &symbol, sizeof fill);
    filled_end = at + bytes > filled_end ? at + bytes : filled_end;
    return fill(queue, memory, pattern, pattern_bytes, at, bytes, count, events, event);
}

/* Zeros at any place of a buffer, without a fill beyond 2 GiB, where NVIDIA's fills other memory.
 */
static void test_clear(void **state)
{
    (void)state;
    enum { AROUND = 64, MOST = (3 << 16) + 4 };
    const uint64_t far = (UINT64_C(1) << 31) + 12;
    const struct {
        uint64_t at, bytes;
    } parts[] = {{AROUND, 4}, {AROUND + 4, MOST}, {far, 4}, {far, 1 << 16}, {far, MOST}};
    static unsigned char there[AROUND + MOST + AROUND];
    cl_mem memory = NULL;
    need_device();
    struct device_info info = choose();
    device_t *device = NULL;
    assert_ok(device_open(&info, far << 1, 1, &device));
    if (info.most_bytes < far + MOST + AROUND) {
        device_close(device);
        print_message("no buffer beyond 2 GiB: skipped\n");
        skip();
    }
    assert_ok(device_allocate(device, far + MOST + AROUND, "a test", &memory));
    filled_end = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const uint64_t from = parts[i].at - AROUND, bytes = parts[i].bytes + 2 * AROUND;
        memset(there, 1, sizeof there);
        assert_ok(device_write(device, memory, from, there, bytes, "a test"));
        assert_ok(device_clear(device, memory, parts[i].at, parts[i].bytes));
        assert_int_equal(clEnqueueReadBuffer(device->compute, memory, CL_TRUE, from, bytes, there,
                                             0, NULL, NULL),
                         CL_SUCCESS);
        for (uint64_t k = 0; k < bytes; k++) {
            assert_int_equal(there[k], k < AROUND || k >= AROUND + parts[i].bytes);
        }
    }
    assert_true(filled_end > 0 && filled_end <= UINT64_C(1) << 31);
    DEVICE_RELEASE(device, memory);
    device_close(device);
}

/* Tasks of this program as a child of its own. */
static int be_child(const char *task)
{
    if (strcmp(task, "build") == 0) {
        struct device_info info;
        uint32_t sharers = 0;
        device_t *device = NULL;
        cl_program program = NULL;
        int good =
            device_choose(getenv("VOLTMILL_TEST_DEVICE"), 0, 1, &info, &sharers) == STATUS_OK &&
            device_open(&info, 0, 1, &device) == STATUS_OK &&
            program_build_text(device, "a test", source, "-DFACTOR=9", &program) == STATUS_OK;
        if (program) {
            clReleaseProgram(program);
        }
        device_close(device);
        return good ? 0 : 1;
    }
    struct device_info info;
    uint32_t sharers = 0;
    status_t st = device_choose(NULL, 0, 1, &info, &sharers);
    printf("%s", report_cause());
    return (int)st;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_list, set_up),
        cmocka_unit_test_setup(test_choose, set_up),
        cmocka_unit_test_setup(test_no_platform, set_up),
        cmocka_unit_test_setup(test_allocate, set_up),
        cmocka_unit_test_setup(test_pinned, set_up),
        cmocka_unit_test_setup(test_kept, set_up),
        cmocka_unit_test_setup(test_clear, set_up),
        cmocka_unit_test_setup(test_program_cache, set_up),
        cmocka_unit_test_setup(test_ahead, set_up),
        cmocka_unit_test_setup(test_refused_binary, set_up),
        cmocka_unit_test_setup(test_no_cache, set_up),
        cmocka_unit_test_setup(test_build_at_once, set_up),
        cmocka_unit_test_setup(test_build_failure, set_up),
        cmocka_unit_test_setup(test_launch_failure, set_up),
        cmocka_unit_test_setup(test_abilities, set_up),
        cmocka_unit_test_setup(test_error_names, set_up),
        cmocka_unit_test_setup(test_can, set_up),
        cmocka_unit_test(test_both_are_tried),
        cmocka_unit_test(test_first_of_long),
        cmocka_unit_test_setup(test_vkfft, set_up),
        cmocka_unit_test_setup(test_clfft, set_up),
        cmocka_unit_test_setup(test_pieces, set_up),
        cmocka_unit_test_setup(test_fft_failures, set_up),
    };
    /* PoCL shows its one CPU twice, so that there is something to choose from. */
    setenv("POCL_DEVICES", "pthread basic", 0);
    static const struct description *const kinds[] = {&ahead_description};
    if (argc > 1 && strcmp(argv[1], apart_word) == 0) {
        apart_serve(argc, argv, kinds, 1);
    }
    apart_begin(argv, kinds, 1);
    if (argc > 1) {
        return be_child(argv[1]);
    }
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    empty_cache();
    return failed;
}
