/* Which way is the fastest: tried on the device with this problem's shape, and remembered in the
 * user's cache folder. */
#include "base/memory.h"
#include "compute/opencl/fft/fft.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/ppf/ppf.h"
#include "compute/opencl/program.h"
#include "io/cache.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_CHOICES = 24,
    TRIAL_POINTS = 1 << 26, /* points of a trial on a GPU: far more than its caches hold */
    CPU_TRIAL_POINTS = 1 << 18,
    TRIALS = 4
};

/* A problem of the same kind, and memory for it: one stream, and as many spectra as it takes, so
 * that the answer does not depend on how a job is cut into chunks and groups. */
struct dedispersion_trial {
    device_t *device;
    struct channelise_spec spec;
    cl_mem in;
    uint64_t in_stride;
    cl_mem out[MOST_OUTPUTS];
};

static size_t choose_sample_bytes(const struct channelise_spec *spec)
{
    return sample_bytes(spec->format, spec->is_complex);
}

/* Numbers between -100 and 100 in whatever format: zeros could run faster than a sky does. */
static status_t choose_fill(const struct dedispersion_trial *trial, uint64_t bytes)
{
    status_t st = STATUS_OK;
    enum { PIECE = 1 << 20 };
    const device_t *device = trial->device;
    unsigned char *piece = NULL;
    uint32_t state = 1;
    TRY(memory_aligned(PIECE, 1, "a trial", &piece));
    for (size_t i = 0; i < PIECE; i++) {
        state = state * 1664525U + 1013904223U; /* Knuth, Lewis */
        piece[i] = (unsigned char)(state >> 24);
    }
    for (size_t i = 0; trial->spec.format == SAMPLE_F32 && i < PIECE / sizeof(float); i++) {
        float value = (float)piece[4 * i] - 128;
        memcpy(piece + 4 * i, &value, sizeof value);
    }
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        CL_TRY(device,
               clEnqueueWriteBuffer(device->compute, trial->in, CL_TRUE, at,
                                    min_u64(PIECE, bytes - at), piece, 0, NULL, NULL),
               "fill a trial's samples");
    }
out:
    free(piece);
    return st;
}

static void choose_trial_end(struct dedispersion_trial *trial)
{
    clFinish(trial->device->compute);
    device_release(trial->device, trial->in);
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        device_release(trial->device, trial->out[i]);
    }
}

static status_t choose_trial_begin(device_t *device, const struct channelise_spec *spec,
                                   struct dedispersion_trial *trial)
{
    status_t st = STATUS_OK;
    /* In, out and workspace of a point take some 32 bytes. */
    uint64_t points =
        min_u64(device->info.is_gpu ? TRIAL_POINTS : CPU_TRIAL_POINTS, device->room / 64);
    uint64_t spectra = max_u64(points / spec->channels / 16, 1) * 16;
    *trial = (struct dedispersion_trial){.device = device, .spec = *spec};
    trial->spec.max_spectra = spectra;
    trial->spec.nstreams = 1;
    trial->spec.is_timed = 1;
    uint64_t stride =
        channelise_inputs(spec, spectra) * channelise_samples(spec) * choose_sample_bytes(spec) +
        15;
    trial->in_stride = stride / 16 * 16;
    TRY(device_allocate(device, trial->in_stride, "a trial's samples", &trial->in));
    TRY(choose_fill(trial, trial->in_stride));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        uint64_t rows = dumps_finished(0, spectra, spec->outputs[i].integrate) + 1;
        TRY(device_allocate(device, rows * spec->nchannels * 8, "a trial's rows", &trial->out[i]));
    }
out:
    if (st != STATUS_OK) {
        choose_trial_end(trial);
    }
    return st;
}

/* Seconds of the fastest of some runs. */
static status_t choose_time_choice(struct dedispersion_trial *trial,
                                   const struct channelise_choice *choice, double *out)
{
    status_t st = STATUS_OK;
    ppf_t *bank = NULL;
    struct stopwatch watch = {.is_on = 1};
    uint64_t rows[MOST_OUTPUTS];
    double best = 0;
    TRY(ppf_create(trial->device, &trial->spec, choice, &bank));
    for (int i = 0; i < TRIALS; i++) {
        double seconds[CHANNELISE_STEPS];
        double sum = 0;
        TRY(ppf_begin(bank, 0));
        TRY(ppf_run(bank, &watch, trial->in, trial->in_stride, trial->spec.nstreams,
                    trial->spec.max_spectra, trial->out, rows));
        TRY(stopwatch_collect(&watch, trial->device, seconds));
        for (int step = 0; step < CHANNELISE_STEPS; step++) {
            sum += seconds[step];
        }
        /* The first run warms up. */
        best = i == 1 || (i > 1 && sum < best) ? sum : best;
    }
    *out = best;
out:
    clFinish(trial->device->compute);
    stopwatch_free(&watch);
    ppf_destroy(bank);
    return st;
}

/* Tries all; those that cannot be built or do not fit here are passed over. */
static status_t choose_measure_all(device_t *device, const struct channelise_spec *spec,
                                   const struct channelise_choice *choices, uint32_t count,
                                   struct channelise_choice *out)
{
    status_t st = STATUS_OK;
    struct dedispersion_trial trial;
    double best = -1;
    TRY(choose_trial_begin(device, spec, &trial));
    for (uint32_t i = 0; i < count; i++) {
        double seconds = 0;
        status_t tried = choose_time_choice(&trial, &choices[i], &seconds);
        if (tried == STATUS_OK && (best < 0 || seconds < best)) {
            best = seconds;
            *out = choices[i];
        }
        /* Only the last failure of a row without any success is told. */
        if (tried != STATUS_OK && (best >= 0 || i + 1 < count)) {
            report_clear();
        } else if (tried != STATUS_OK) {
            st = tried;
        }
    }
    device->is_full = 0;
    choose_trial_end(&trial);
out:
    return st;
}

/* What the answer depends on. */
static status_t choose_write_key(const device_t *device, const struct channelise_spec *spec,
                                 struct text *key)
{
    status_t st = STATUS_OK;
    TRY(text_add(key, "voltmill %s choice\n%s\n%s\n%s\n", VOLTMILL_VERSION,
                 device->info.platform_name, device->info.name, device->info.driver));
    TRY(text_add(key, "C %u T %u complex %d format %d conjugate %d kept %u+%u\n", spec->channels,
                 spec->taps, spec->is_complex, (int)spec->format, spec->conjugate,
                 spec->first_channel, spec->nchannels));
    TRY(text_add(key, "kernel %d fft %d\n", (int)spec->kernel, (int)spec->fft));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(text_add(key, "output %d %llu\n", (int)spec->outputs[i].quantity,
                     (unsigned long long)spec->outputs[i].integrate));
    }
    for (int i = 0; i < SOURCES; i++) {
        TRY(text_add(key, "%s", program_source((enum program_source)i)));
    }
out:
    return st;
}

static const char cache_kind[] = "choice";

static status_t choose_recall(const struct text *key, const struct channelise_choice *choices,
                              uint32_t count, struct channelise_choice *out, int *found)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    size_t size = 0;
    *found = 0;
    TRY(cache_get(cache_kind, key->data, &data, &size));
    /* Only what could be chosen today. */
    for (uint32_t i = 0; data && size == sizeof *out && i < count; i++) {
        if (memcmp(data, &choices[i], size) == 0) {
            *out = choices[i];
            *found = 1;
        }
    }
out:
    free(data);
    return st;
}

status_t opencl_channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                                  struct channelise_choice *out)
{
    status_t st = STATUS_OK;
    device_t *device = ((struct opencl *)backend)->device;
    struct channelise_choice choices[MOST_CHOICES];
    struct channelise_choice best;
    struct text key = {0};
    int found = 0;
    if (spec->choice.backend == BACKEND_OPENCL) {
        *out = spec->choice;
        goto out;
    }
    if (spec->fft == FFT_CLFFT && !fft_can(FFT_CLFFT, spec->channels)) {
        report_warn("clFFT cannot do transforms of %u points: VkFFT does them", spec->channels);
    }
    uint32_t count = ppf_choices(&device->info, spec, choices, MOST_CHOICES);
    REQUIRE(
        count > 0, STATUS_USAGE,
        "channelise.kernel is %s, which cannot do %u channels with %u taps on %s: leave it auto",
        kernel_name(spec->kernel), spec->channels, spec->taps, device->info.name);
    best = choices[0];
    if (count > 1) {
        TRY(choose_write_key(device, spec, &key));
        TRY(choose_recall(&key, choices, count, &best, &found));
        if (!found) {
            TRY(choose_measure_all(device, spec, choices, count, &best));
            cache_put(cache_kind, key.data, &best, sizeof best);
        }
    }
    *out = best;
out:
    text_free(&key);
    return st;
}

status_t opencl_channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                                      struct channelise_choice **out, uint32_t *count)
{
    return ppf_space(&((struct opencl *)backend)->device->info, spec, out, count);
}

status_t opencl_channelise_identity(const backend_t *backend, struct text *out)
{
    status_t st = STATUS_OK;
    const struct device_info *info = &((const struct opencl *)backend)->device->info;
    struct text sources = {0};
    for (int i = 0; i < SOURCES; i++) {
        TRY(text_add(&sources, "%s", program_source((enum program_source)i)));
    }
    TRY(text_add(out, "%s, %s, driver %s, kernels %016llx", info->platform_name, info->name,
                 info->driver, (unsigned long long)cache_hash(sources.data, sources.length)));
out:
    text_free(&sources);
    return st;
}
