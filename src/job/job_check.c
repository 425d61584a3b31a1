#include "job/job_check.h"

#include "base/units.h"
#include "job/axes_text.h"
#include "job/job_schema.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 64 };

/* "products.3.file" */
static const char *job_entry_path(const char *list, size_t index, const char *key,
                                  char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s.%zu%s%s", list, index, *key ? "." : "", key);
    return path;
}

static int job_is_text(const struct yaml_file *yaml, const char *path, const char *text)
{
    const char *value = yaml_file_value(yaml, path);
    return value && strcmp(value, text) == 0;
}

static status_t job_check_layout(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    char message[AXES_TEXT_MESSAGE];
    struct axes_text axes;
    const char *text = yaml_file_value(yaml, "input.layout.axes");
    int has_reim = text && axes_text_parse(text, &axes, message) && axes_text_has(&axes, AXIS_REIM);
    const char *packing = yaml_file_value(yaml, "input.layout.packing");
    int is_real = job_is_text(yaml, "input.layout.domain", "real");
    if (is_real && has_reim) {
        TRY(yaml_file_mistake(yaml, "input.layout.domain",
                              "is real, but the axes hold reim, which complex samples have"));
    }
    if (is_real && packing) {
        TRY(yaml_file_mistake(yaml, "input.layout.domain",
                              "is real, but samples with a packing of 4+4 bits are complex"));
    }
    if (has_reim && packing) {
        TRY(yaml_file_mistake(
            yaml, "input.layout.packing",
            "both parts of a packed sample share a byte, but the axes hold reim"));
    }
out:
    return st;
}

static status_t job_check_two_utc(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    struct utc from;
    struct utc to;
    const char *first = yaml_file_value(yaml, "input.select.utc.0");
    const char *second = yaml_file_value(yaml, "input.select.utc.1");
    if (first && second && units_parse_utc(first, &from) && units_parse_utc(second, &to) &&
        !(utc_difference(to, from) > 0)) {
        TRY(yaml_file_mistake(yaml, "input.select.utc", "ends at %.40s, expected later than %.40s",
                              second, first));
    }
out:
    return st;
}

/* The two bounds of a selection in samples or seconds. */
static status_t job_check_two_numbers(struct yaml_file *yaml, const char *list)
{
    status_t st = STATUS_OK;
    char path[PATH_BYTES];
    const char *first = yaml_file_value(yaml, job_entry_path(list, 0, "", path));
    const char *second = yaml_file_value(yaml, job_entry_path(list, 1, "", path));
    double from = 0;
    double to = 0;
    uint64_t whole_from = 0;
    uint64_t whole_to = 0;
    if (!first || !second || !tree_parse_number(first, &from) || !tree_parse_number(second, &to)) {
        goto out;
    }
    /* Large sample numbers differ by less than doubles can tell. */
    int are_whole = tree_parse_whole(first, &whole_from) && tree_parse_whole(second, &whole_to);
    if (are_whole ? whole_to <= whole_from : to <= from) {
        TRY(yaml_file_mistake(yaml, list, "ends at %.40s, expected more than %.40s", second,
                              first));
    }
out:
    return st;
}

static status_t job_check_select(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    static const char *const lists[] = {"input.select.samples", "input.select.seconds",
                                        "input.select.utc"};
    const char *first = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (yaml_file_count(yaml, lists[i]) == 0) {
            continue;
        }
        if (first) {
            TRY(yaml_file_mistake(yaml, lists[i], "expected at most one of samples, seconds, utc"));
        }
        first = lists[i];
    }
    TRY(job_check_two_numbers(yaml, lists[0]));
    TRY(job_check_two_numbers(yaml, lists[1]));
    TRY(job_check_two_utc(yaml));
out:
    return st;
}

static status_t job_check_sizes(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    double channels = yaml_file_number(yaml, "channelise.channels", 0);
    double taps = yaml_file_number(yaml, "channelise.taps", JOB_TAPS_DEFAULT);
    if (channels * taps > (double)JOB_COEFFICIENTS) {
        TRY(yaml_file_mistake(
            yaml,
            yaml_file_value(yaml, "channelise.taps") ? "channelise.taps" : "channelise.channels",
            "%.0f channels times %.0f taps are %.0f coefficients, expected at most "
            "17179869184",
            channels, taps, channels * taps));
    }
out:
    return st;
}

/* Whether two paths are the same text, a leading "./" aside. */
static int job_same_file(const char *a, const char *b)
{
    a += strncmp(a, "./", 2) == 0 ? 2 : 0;
    b += strncmp(b, "./", 2) == 0 ? 2 : 0;
    return strcmp(a, b) == 0;
}

static status_t job_check_product_file(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    char path[PATH_BYTES];
    char other_path[PATH_BYTES];
    const char *file = yaml_file_value(yaml, job_entry_path("products", index, "file", path));
    if (!file) {
        goto out;
    }
    for (size_t i = 0; i < index; i++) {
        const char *other =
            yaml_file_value(yaml, job_entry_path("products", i, "file", other_path));
        if (other && job_same_file(file, other)) {
            TRY(yaml_file_mistake(yaml, path, "is the same as %s, expected a file of its own",
                                  other_path));
            goto out;
        }
    }
    for (size_t i = 0; i < yaml_file_count(yaml, "input.files"); i++) {
        const char *other = yaml_file_value(yaml, job_entry_path("input.files", i, "", other_path));
        if (other && job_same_file(file, other)) {
            TRY(yaml_file_mistake(yaml, path, "is one of input.files, expected a file of its own"));
            goto out;
        }
    }
out:
    return st;
}

static status_t job_check_product(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    char kind[PATH_BYTES];
    char path[PATH_BYTES];
    job_entry_path("products", index, "kind", kind);
    if (job_is_text(yaml, kind, "power") && job_is_text(yaml, "channelise.order", "fft")) {
        TRY(yaml_file_mistake(
            yaml, kind,
            "is power, but channelise.order is fft: the frequency axis of a power "
            "product must ascend"));
    }
    double integrate =
        yaml_file_number(yaml, job_entry_path("products", index, "integrate", path), 1);
    if (job_is_text(yaml, kind, "spectra") && integrate != 1) {
        TRY(yaml_file_mistake(yaml, path, "is %.0f, but only products of kind power are integrated",
                              integrate));
    }
    TRY(job_check_product_file(yaml, index));
out:
    return st;
}

/* Whether the job has such a part. */
static int job_is_there(const struct yaml_file *yaml, const char *name)
{
    return tree_member(yaml_file_root(yaml), name) != NULL;
}

/* A job channelises and may dedisperse what comes of it, or dedisperses a filterbank as it is. */
static status_t job_check_passes(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    int channelises = job_is_there(yaml, "channelise");
    if (!job_is_there(yaml, "dedisperse")) {
        goto out;
    }
    if (channelises && !job_is_there(yaml, "products")) {
        TRY(yaml_file_mistake(yaml, "products",
                              "is missing, expected a list of products, each with kind and file"));
    }
    if (!channelises && job_is_there(yaml, "products")) {
        TRY(yaml_file_mistake(
            yaml, "products",
            "expected none without channelise: dedisperse has a file of its own"));
    }
    static const char *const keys[] = {"input.layout", "input.select"};
    for (size_t i = 0; i < 2 && !channelises; i++) {
        if (yaml_file_count(yaml, keys[i]) > 0) {
            TRY(yaml_file_mistake(yaml, keys[i],
                                  "is for voltages, but without channelise the input is a "
                                  "filterbank (FBH5)"));
        }
    }
    if (!channelises && yaml_file_count(yaml, "input.files") > 1) {
        TRY(yaml_file_mistake(yaml, "input.files", "expected one filterbank to dedisperse"));
    }
out:
    return st;
}

/* What `dedisperse.N.input` names must be a power product. */
static status_t job_check_dedisperse_input(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    char path[PATH_BYTES];
    char kind[PATH_BYTES];
    const char *text = yaml_file_value(yaml, job_entry_path("dedisperse", index, "input", path));
    uint64_t input = 0;
    if (!text || !tree_parse_whole(text, &input)) {
        goto out;
    }
    size_t count = yaml_file_count(yaml, "products");
    if (!job_is_there(yaml, "channelise")) {
        TRY(yaml_file_mistake(yaml, path, "names a product, but the job makes none"));
    } else if (input >= count) {
        TRY(yaml_file_mistake(yaml, path, "is %.20s, but there are %zu products (counted from 0)",
                              text, count));
    } else if (!job_is_text(yaml, job_entry_path("products", (size_t)input, "kind", kind),
                            "power")) {
        TRY(yaml_file_mistake(yaml, path,
                              "is %.20s, but products.%.20s is not of kind power: only power can "
                              "be dedispersed here",
                              text, text));
    }
out:
    return st;
}

/* Two outputs, or an output and an input, of one name. */
static status_t job_check_dedisperse_file(struct yaml_file *yaml, size_t index)
{
    status_t st = STATUS_OK;
    static const char *const lists[] = {"products", "dedisperse", "input.files"};
    char path[PATH_BYTES];
    char other_path[PATH_BYTES];
    const char *file = yaml_file_value(yaml, job_entry_path("dedisperse", index, "file", path));
    for (size_t list = 0; list < 3 && file; list++) {
        size_t count = list == 1 ? index : yaml_file_count(yaml, lists[list]);
        for (size_t i = 0; i < count; i++) {
            job_entry_path(lists[list], i, list < 2 ? "file" : "", other_path);
            const char *other = yaml_file_value(yaml, other_path);
            if (other && job_same_file(file, other)) {
                TRY(yaml_file_mistake(yaml, path, "is the same as %s, expected a file of its own",
                                      other_path));
                goto out;
            }
        }
    }
out:
    return st;
}

status_t job_check(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    TRY(job_check_layout(yaml));
    TRY(job_check_select(yaml));
    TRY(job_check_sizes(yaml));
    size_t count = yaml_file_count(yaml, "products");
    for (size_t i = 0; i < count && i < JOB_PRODUCTS; i++) {
        TRY(job_check_product(yaml, i));
    }
    TRY(job_check_passes(yaml));
    count = yaml_file_count(yaml, "dedisperse");
    for (size_t i = 0; i < count && i < JOB_DEDISPERSE; i++) {
        TRY(job_dedisperse_check(yaml, i));
        TRY(job_check_dedisperse_input(yaml, i));
        TRY(job_check_dedisperse_file(yaml, i));
    }
out:
    return st;
}
