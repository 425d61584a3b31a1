#include "job/job.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/job_check.h"
#include "job/job_schema.h"
#include "job/job_text.h"
#include "job/yaml/yaml_file.h"

#include <stdlib.h>
#include <string.h>

/* Takes a pointer out of the struct that libcyaml filled, so that it outlives it. */
static void *job_take(void *pointer_to_pointer)
{
    void *taken;
    void *nothing = NULL;
    memcpy(&taken, pointer_to_pointer, sizeof taken);
    memcpy(pointer_to_pointer, &nothing, sizeof nothing);
    return taken;
}

static char **job_take_list(char ***list, uint32_t *count, uint32_t *out_count)
{
    *out_count = *count;
    *count = 0;
    return job_take(list);
}

/* The texts of the schema were checked when the file was: one that cannot be read is our bug. */
#define READ(parsed, text)                                                                         \
    REQUIRE(parsed, STATUS_USAGE, "%s: %s was checked, yet cannot be read", job->path, text)

static status_t job_convert_layout(struct job_file_layout *file, struct job *job)
{
    status_t st = STATUS_OK;
    struct job_layout *layout = &job->layout;
    layout->files_along = AXIS_TIME;
    layout->automatic = file == NULL;
    if (!file) {
        goto out;
    }
    layout->dataset = job_take(&file->dataset);
    layout->axes = job_take(&file->axes);
    layout->files_along = file->files_along;
    layout->has_domain = file->is_complex != NULL;
    layout->is_complex = file->is_complex ? *file->is_complex : 0;
    layout->has_sample_rate = file->sample_rate_hz != NULL;
    layout->sample_rate_hz = file->sample_rate_hz ? *file->sample_rate_hz : 0;
    layout->has_packing = file->packing != NULL;
    READ(!file->packing || nibbles_parse(file->packing, &layout->nibbles), file->packing);
    layout->has_missing_value = file->missing_value != NULL;
    layout->missing_value = file->missing_value ? *file->missing_value : 0;
    layout->has_sideband = file->sideband != NULL;
    layout->sideband = file->sideband ? *file->sideband : 0;
    layout->nfreq = file->nfreq;
    file->nfreq = 0;
    layout->freq_hz = job_take(&file->freq_hz);
    layout->has_start = file->start != NULL;
    READ(!file->start || units_parse_utc(file->start, &layout->start), file->start);
    layout->has_oversampling = file->oversampling != NULL;
    READ(!file->oversampling ||
             job_parse_oversampling(file->oversampling, &layout->oversampling_num,
                                    &layout->oversampling_den),
         file->oversampling);
    layout->telescope = job_take(&file->telescope);
    layout->source = job_take(&file->source);
out:
    return st;
}

static status_t job_convert_select(struct job_file_select *file, struct job *job)
{
    status_t st = STATUS_OK;
    struct job_select *select = &job->select;
    select->kind = SELECT_ALL;
    if (!file) {
        goto out;
    }
    if (file->samples) {
        select->kind = SELECT_SAMPLES;
        select->first_sample = file->samples[0];
        select->end_sample = file->samples[1];
    } else if (file->seconds) {
        select->kind = SELECT_SECONDS;
        select->from_second = file->seconds[0];
        select->to_second = file->seconds[1];
    } else if (file->utc) {
        select->kind = SELECT_UTC;
        READ(units_parse_utc(file->utc[0], &select->from_utc), file->utc[0]);
        READ(units_parse_utc(file->utc[1], &select->to_utc), file->utc[1]);
    }
    select->streams[AXIS_STATION] =
        job_take_list(&file->stations, &file->nstations, &select->nstreams[AXIS_STATION]);
    select->streams[AXIS_BEAM] =
        job_take_list(&file->beams, &file->nbeams, &select->nstreams[AXIS_BEAM]);
    select->streams[AXIS_POL] =
        job_take_list(&file->pols, &file->npols, &select->nstreams[AXIS_POL]);
    select->streams[AXIS_CHAN] =
        job_take_list(&file->chans, &file->nchans, &select->nstreams[AXIS_CHAN]);
out:
    return st;
}

static status_t job_convert_channelise(const struct job_file_channelise *file, struct job *job)
{
    status_t st = STATUS_OK;
    const char *window = file->window ? file->window : window_name(WINDOW_HANN);
    const char *window_path = NULL;
    job->channels = file->channels;
    job->taps = file->taps ? file->taps : JOB_TAPS_DEFAULT;
    READ(job_parse_window(window, &job->window, &job->kaiser_beta, &window_path), window);
    TRY(memory_text(window_path, &job->window_path));
    job->cutoff = file->cutoff ? *file->cutoff : 1;
    job->normalise = file->normalise;
    job->order = file->order;
    job->backend = file->backend;
    job->kernel = file->kernel;
    job->fft = file->fft;
out:
    return st;
}

static status_t job_convert_run(struct job_file_run *file, struct job *job)
{
    status_t st = STATUS_OK;
    const char *memory = file->memory ? file->memory : "1GiB";
    READ(units_parse_bytes(memory, &job->memory), memory);
    job->chunk_spectra = file->chunk;
    job->threads = file->threads;
    job->planning = file->planning;
    job->on_bad = file->on_bad;
    job->sync_seconds = file->sync ? *file->sync : JOB_SYNC_DEFAULT;
    if (file->device && strcmp(file->device, "auto") != 0) {
        job->device = job_take(&file->device);
    }
    if (file->device_memory && strcmp(file->device_memory, "auto") != 0) {
        READ(units_parse_bytes(file->device_memory, &job->device_memory), file->device_memory);
    }
out:
    return st;
}

/* The first power product, where the entry names none. */
static status_t job_settle_input(struct job *job, uint32_t i)
{
    status_t st = STATUS_OK;
    struct job_dedisperse *dedisperse = &job->dedisperse[i];
    while (!dedisperse->has_input && dedisperse->input < job->nproducts &&
           product_quantity(job->products[dedisperse->input].kind) != QUANTITY_POWER) {
        dedisperse->input++;
    }
    REQUIRE(job->channels == 0 || dedisperse->input < job->nproducts, STATUS_USAGE,
            "%s: dedisperse.%u.input: the job has no power product to dedisperse", job->path, i);
out:
    return st;
}

static status_t job_convert_dedisperse(struct job_file *file, const struct tree *root, uint32_t i,
                                       struct job *job)
{
    status_t st = STATUS_OK;
    struct job_part part = {.product = -1, .dedisperse = (int)i};
    TRY(job_dedisperse_convert(&file->dedisperse[i], job->backend, &job->dedisperse[i]));
    TRY(job_settle_input(job, i));
    if (job->channels > 0) {
        part.product = (int)job->dedisperse[i].input;
    }
    TRY(job_text(root, part, &job->dedisperse[i].text));
out:
    return st;
}

static status_t job_convert(struct job_file *file, const struct tree *root, struct job *job)
{
    status_t st = STATUS_OK;
    job->files = job_take_list(&file->input.files, &file->input.nfiles, &job->nfiles);
    TRY(job_convert_layout(file->input.layout, job));
    TRY(job_convert_select(file->input.select, job));
    TRY(job_convert_channelise(&file->channelise, job));
    TRY(job_convert_run(&file->run, job));
    TRY(memory_zeroed(file->nproducts, sizeof *job->products, "products", &job->products));
    job->nproducts = file->nproducts;
    for (uint32_t i = 0; i < file->nproducts; i++) {
        job->products[i].kind = file->products[i].kind;
        job->products[i].file = job_take(&file->products[i].file);
        job->products[i].integrate = max_u64(file->products[i].integrate, 1);
        TRY(job_text(root, (struct job_part){.product = (int)i, .dedisperse = -1},
                     &job->products[i].text));
    }
    TRY(memory_zeroed(file->ndedisperse, sizeof *job->dedisperse, "dedispersions",
                      &job->dedisperse));
    job->ndedisperse = file->ndedisperse;
    for (uint32_t i = 0; i < file->ndedisperse; i++) {
        TRY(job_convert_dedisperse(file, root, i, job));
    }
out:
    return st;
}

status_t job_parse_each(const char *path, const char *text, size_t length, const char *const *sets,
                        uint32_t nsets, const struct job_each *each, struct job **out)
{
    status_t st = STATUS_OK;
    struct text input = {0};
    struct yaml_each words = {0};
    struct yaml_file *yaml = NULL;
    struct job_file *file = NULL;
    struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *job, "a job", &job));
    TRY(memory_text(path, &job->path));
    if (each) {
        TRY(text_add(&input, "input.files=%s", each->file));
        words = (struct yaml_each){.name = each->name, .set = input.data};
    }
    TRY(yaml_file_open(job->path, text, length, sets, nsets, each ? &words : NULL, &job_schema,
                       job_rules, &yaml));
    TRY(job_check(yaml));
    TRY(yaml_file_fill(yaml, &file));
    TRY(job_convert(file, yaml_file_root(yaml), job));
    *out = job;
    job = NULL;
out:
    yaml_file_free(&job_schema, file);
    yaml_file_close(yaml);
    text_free(&input);
    job_destroy(job);
    return st;
}

status_t job_parse(const char *path, const char *text, size_t length, const char *const *sets,
                   uint32_t nsets, struct job **out)
{
    return job_parse_each(path, text, length, sets, nsets, NULL, out);
}

status_t job_load(const char *path, const char *const *sets, uint32_t nsets, struct job **out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(text_read_file(&text, path, YAML_FILE_BYTES));
    TRY(job_parse(path, text.data, text.length, sets, nsets, out));
out:
    text_free(&text);
    return st;
}

uint32_t job_nfiles(const struct job *job)
{
    return job->nproducts + job->ndedisperse;
}

const char *job_file(const struct job *job, uint32_t i)
{
    return i < job->nproducts ? job->products[i].file : job->dedisperse[i - job->nproducts].file;
}

const char *job_filterbank(const struct job *job, uint32_t number)
{
    return job->channels > 0 ? job->products[job->dedisperse[number].input].file : job->files[0];
}

static void job_free_texts(char **list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(list[i]);
    }
    free(list);
}

void job_destroy(struct job *job)
{
    if (!job) {
        return;
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        free(job->products[i].file);
        free(job->products[i].text);
    }
    free(job->products);
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        job_dedisperse_free(&job->dedisperse[i]);
    }
    free(job->dedisperse);
    for (int i = 0; i < AXIS_KINDS; i++) {
        job_free_texts(job->select.streams[i], job->select.nstreams[i]);
    }
    job_free_texts(job->files, job->nfiles);
    free(job->layout.dataset);
    free(job->layout.axes);
    free(job->layout.freq_hz);
    free(job->layout.telescope);
    free(job->layout.source);
    free(job->window_path);
    free(job->device);
    free(job->path);
    free(job);
}
