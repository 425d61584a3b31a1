#include "job/job_dedisperse.h"

#include "base/memory.h"
#include "job/yaml/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 64 };

static const cyaml_strval_t edges_names[] = {{"valid", 0}, {"pad", 1}};
static const cyaml_strval_t mode_names[] = {{"brute", 0}, {"two-step", 1}};
static const cyaml_strval_t backend_names[] = {{"auto", BACKEND_AUTO},
                                               {"cpu", BACKEND_CPU},
                                               {"opencl", BACKEND_OPENCL},
                                               {"reference", BACKEND_REFERENCE}};

static const cyaml_schema_value_t number_entry = {CYAML_VALUE_FLOAT(0, double)};
static const cyaml_schema_value_t whole_entry = {CYAML_VALUE_UINT(0, uint32_t)};
static const cyaml_schema_value_t text_entry = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, CYAML_UNLIMITED)};

#define NUMBER(key) CYAML_FIELD_FLOAT_PTR(#key, SCHEMA_OPTIONAL, struct job_file_dm, key)

static const cyaml_schema_field_t dm_fields[] = {
    NUMBER(start),
    NUMBER(step),
    CYAML_FIELD_UINT("count", SCHEMA_OPTIONAL, struct job_file_dm, count),
    NUMBER(end),
    NUMBER(tolerance),
    NUMBER(width),
    SCHEMA_LIST("list", SCHEMA_OPTIONAL, struct job_file_dm, list, nlist, number_entry, 1, JOB_DMS),
    CYAML_FIELD_END,
};

#define FILE_FIELD struct job_file_dedisperse

static const cyaml_schema_field_t dedisperse_fields[] = {
    CYAML_FIELD_UINT_PTR("input", SCHEMA_OPTIONAL, FILE_FIELD, input),
    CYAML_FIELD_MAPPING("dm", SCHEMA_REQUIRED, FILE_FIELD, dm, dm_fields),
    SCHEMA_CHOICE("edges", SCHEMA_OPTIONAL, FILE_FIELD, is_padded, edges_names),
    CYAML_FIELD_FLOAT("reference", SCHEMA_OPTIONAL, FILE_FIELD, reference_hz),
    SCHEMA_TEXT("constant", SCHEMA_OPTIONAL, FILE_FIELD, constant),
    CYAML_FIELD_UINT("downsample", SCHEMA_OPTIONAL, FILE_FIELD, downsample),
    SCHEMA_CHOICE("mode", SCHEMA_OPTIONAL, FILE_FIELD, is_two_step, mode_names),
    CYAML_FIELD_UINT("group", SCHEMA_OPTIONAL, FILE_FIELD, group),
    SCHEMA_LIST("mask", SCHEMA_OPTIONAL, FILE_FIELD, mask, nmask, text_entry, 1, CYAML_UNLIMITED),
    SCHEMA_LIST("ifs", SCHEMA_OPTIONAL, FILE_FIELD, ifs, nifs, whole_entry, 1, CYAML_UNLIMITED),
    SCHEMA_CHOICE_PTR("backend", SCHEMA_OPTIONAL, FILE_FIELD, backend, backend_names),
    SCHEMA_TEXT("file", SCHEMA_REQUIRED, FILE_FIELD, file),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t job_dedisperse_entry = {
    CYAML_VALUE_MAPPING(0, struct job_file_dedisperse, dedisperse_fields)};

/* "17", "17-40" (both included). Returns 0 when it is neither. */
static int job_dedisperse_parse_channels(const char *text, struct job_channels *out)
{
    char first[16] = "";
    uint64_t from = 0;
    uint64_t to = 0;
    size_t length = strcspn(text, "-");
    if (length >= sizeof first) {
        return 0;
    }
    memcpy(first, text, length);
    const char *last = text[length] == '-' ? text + length + 1 : first;
    if (!tree_parse_whole(first, &from) || !tree_parse_whole(last, &to) || to < from ||
        to >= JOB_CHANNELS) {
        return 0;
    }
    *out = (struct job_channels){(uint32_t)from, (uint32_t)to};
    return *first != '\0' && *last != '\0';
}

int job_check_channels(const char *text, char *message)
{
    struct job_channels channels;
    (void)message;
    return job_dedisperse_parse_channels(text, &channels);
}

/* "dedisperse.1.dm.start" */
static const char *job_dedisperse_path_of(size_t index, const char *key, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "dedisperse.%zu.%s", index, key);
    return path;
}

static int job_dedisperse_has(const struct yaml_file *yaml, size_t index, const char *key)
{
    char path[PATH_BYTES];
    return yaml_file_value(yaml, job_dedisperse_path_of(index, key, path)) != NULL;
}

static status_t job_dedisperse_check_list(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    char path[PATH_BYTES];
    size_t count = yaml_file_count(yaml, job_dedisperse_path_of(index, "dm.list", path));
    double before = -1;
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "dedisperse.%zu.dm.list.%zu", index, i);
        double dm = yaml_file_number(yaml, path, before + 1);
        if (dm <= before) {
            TRY(yaml_file_mistake(yaml, path, "is %g, expected more than the %g before it", dm,
                                  before));
            break;
        }
        before = dm;
    }
out:
    return st;
}

/* Exactly one of the three ways to say which DMs. */
static status_t job_dedisperse_check_dms(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    char path[PATH_BYTES];
    int has_list = yaml_file_count(yaml, job_dedisperse_path_of(index, "dm.list", path)) > 0;
    int is_linear =
        job_dedisperse_has(yaml, index, "dm.step") || job_dedisperse_has(yaml, index, "dm.count");
    int is_tolerant = job_dedisperse_has(yaml, index, "dm.end") ||
                      job_dedisperse_has(yaml, index, "dm.tolerance") ||
                      job_dedisperse_has(yaml, index, "dm.width");
    int has_start = job_dedisperse_has(yaml, index, "dm.start");
    double count = yaml_file_number(yaml, job_dedisperse_path_of(index, "dm.count", path), 0);
    job_dedisperse_path_of(index, "dm", path);
    if (has_list + is_linear + is_tolerant != 1 || (has_list && has_start)) {
        TRY(yaml_file_mistake(yaml, path,
                              "expected a list of DMs, or start, step and count, or start, end and "
                              "tolerance"));
    } else if (is_linear &&
               (count == 0 || (count > 1 && !job_dedisperse_has(yaml, index, "dm.step")))) {
        TRY(yaml_file_mistake(yaml, path, "expected start, step and count"));
    } else if (is_tolerant && (!job_dedisperse_has(yaml, index, "dm.end") ||
                               !job_dedisperse_has(yaml, index, "dm.tolerance"))) {
        TRY(yaml_file_mistake(yaml, path, "expected start, end and tolerance"));
    }
    double start = yaml_file_number(yaml, job_dedisperse_path_of(index, "dm.start", path), 0);
    double step = yaml_file_number(yaml, job_dedisperse_path_of(index, "dm.step", path), 0);
    double last = start + fmax(count - 1, 0) * step;
    if (is_linear && start <= JOB_MOST_DM && step <= JOB_MOST_DM && count <= JOB_DMS &&
        last > JOB_MOST_DM * (1 + 1e-9)) {
        TRY(yaml_file_mistake(yaml, job_dedisperse_path_of(index, "dm.count", path),
                              "is %.0f, which goes up to a DM of %.12g, expected at most %d", count,
                              last, JOB_MOST_DM));
    }
    double end = yaml_file_number(yaml, job_dedisperse_path_of(index, "dm.end", path), start);
    if (end < start) {
        TRY(yaml_file_mistake(yaml, path, "is %g, expected at least the start, %g", end, start));
    }
    TRY(job_dedisperse_check_list(yaml, index));
out:
    return st;
}

status_t job_dedisperse_check(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    char path[PATH_BYTES];
    TRY(job_dedisperse_check_dms(yaml, index));
    const char *mode = yaml_file_value(yaml, job_dedisperse_path_of(index, "mode", path));
    if (job_dedisperse_has(yaml, index, "group") && !(mode && strcmp(mode, "two-step") == 0)) {
        TRY(yaml_file_mistake(yaml, job_dedisperse_path_of(index, "group", path),
                              "is for mode: two-step, which adds up groups of channels first"));
    }
out:
    return st;
}

/* Takes a pointer out of the struct that libcyaml filled, so that it outlives it. */
static void *job_dedisperse_take(void *pointer_to_pointer)
{
    void *taken;
    void *nothing = NULL;
    memcpy(&taken, pointer_to_pointer, sizeof taken);
    memcpy(pointer_to_pointer, &nothing, sizeof nothing);
    return taken;
}

static void job_dedisperse_convert_dms(struct job_file_dm *file, struct job_dms *out)
{
    out->start = file->start ? *file->start : 0;
    out->step = file->step ? *file->step : 0;
    out->end = file->end ? *file->end : 0;
    out->tolerance = file->tolerance ? *file->tolerance : 0;
    out->width = file->width ? *file->width : 0;
    out->kind = file->nlist > 0 ? DM_LIST : file->tolerance ? DM_TOLERANT : DM_LINEAR;
    out->count = file->nlist > 0 ? file->nlist : file->count;
    file->nlist = 0;
    out->list = job_dedisperse_take(&file->list);
}

status_t job_dedisperse_convert(struct job_file_dedisperse *file, enum backend_kind backend,
                                struct job_dedisperse *out)
{
    status_t st = STATUS_OK;
    out->has_input = file->input != NULL;
    out->input = file->input ? *file->input : 0;
    job_dedisperse_convert_dms(&file->dm, &out->dm);
    out->is_padded = file->is_padded;
    out->reference_hz = file->reference_hz;
    out->constant = job_dedisperse_take(&file->constant);
    out->downsample = max_u64(file->downsample, 1);
    out->is_two_step = file->is_two_step;
    out->group = file->group;
    out->backend = file->backend ? *file->backend : backend;
    out->file = job_dedisperse_take(&file->file);
    out->nifs = file->nifs;
    file->nifs = 0;
    out->ifs = job_dedisperse_take(&file->ifs);
    TRY(memory_zeroed(file->nmask, sizeof *out->mask, "channels", &out->mask));
    out->nmask = file->nmask;
    for (uint32_t i = 0; i < file->nmask; i++) {
        REQUIRE(job_dedisperse_parse_channels(file->mask[i], &out->mask[i]), STATUS_USAGE,
                "dedisperse.mask: %s was checked, yet cannot be read", file->mask[i]);
    }
out:
    return st;
}

void job_dedisperse_free(struct job_dedisperse *dedisperse)
{
    free(dedisperse->dm.list);
    free(dedisperse->constant);
    free(dedisperse->mask);
    free(dedisperse->ifs);
    free(dedisperse->file);
    free(dedisperse->text);
}
