#include "job/job_schema.h"

#include "job/axes_text.h"
#include "job/yaml/schema.h"

#include <stdio.h>
#include <string.h>

int job_parse_window(const char *text, enum window_kind *kind, double *beta, const char **path)
{
    static const char kaiser[] = "kaiser:";
    static const char file[] = "file:";
    *beta = 0;
    *path = NULL;
    if (strncmp(text, kaiser, strlen(kaiser)) == 0) {
        *kind = WINDOW_KAISER;
        /* Up to 100 the Bessel functions stay far from overflow, and no one needs more. */
        return tree_parse_number(text + strlen(kaiser), beta) && *beta >= 0 && *beta <= 100;
    }
    if (strncmp(text, file, strlen(file)) == 0) {
        *kind = WINDOW_FILE;
        *path = text + strlen(file);
        return **path != '\0';
    }
    static const enum window_kind simple[] = {WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN,
                                              WINDOW_RECT};
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        if (strcmp(text, window_name(simple[i])) == 0) {
            *kind = simple[i];
            return 1;
        }
    }
    return 0;
}

int job_parse_oversampling(const char *text, uint32_t *num, uint32_t *den)
{
    enum { LARGEST = 1000000 };
    char digits[16] = "";
    uint64_t n = 0;
    uint64_t d = 0;
    size_t length = strcspn(text, "/");
    if (text[length] != '/' || length >= sizeof digits) {
        return 0;
    }
    memcpy(digits, text, length);
    if (!units_parse_u64(digits, &n) || !units_parse_u64(text + length + 1, &d) || d == 0 ||
        n < d || n > LARGEST) {
        return 0;
    }
    *num = (uint32_t)n;
    *den = (uint32_t)d;
    return 1;
}

static int job_check_axes(const char *text, char *message)
{
    struct axes_text axes;
    return axes_text_parse(text, &axes, message);
}

static int job_check_packing(const char *text, char *message)
{
    struct nibbles nibbles;
    (void)message;
    return nibbles_parse(text, &nibbles);
}

static int job_check_utc(const char *text, char *message)
{
    struct utc utc;
    (void)message;
    return units_parse_utc(text, &utc);
}

static int job_check_oversampling(const char *text, char *message)
{
    uint32_t num;
    uint32_t den;
    (void)message;
    return job_parse_oversampling(text, &num, &den);
}

static int job_check_even(const char *text, char *message)
{
    uint64_t value = 0;
    (void)message;
    return tree_parse_whole(text, &value) && value % 2 == 0;
}

static int job_check_window(const char *text, char *message)
{
    enum window_kind kind;
    double beta;
    const char *path;
    (void)message;
    return job_parse_window(text, &kind, &beta, &path);
}

static int job_check_memory(const char *text, char *message)
{
    uint64_t bytes = 0;
    (void)message;
    return units_parse_bytes(text, &bytes) && bytes >= (uint64_t)64 << 20 &&
           bytes <= (uint64_t)1 << 60;
}

static int job_check_device_memory(const char *text, char *message)
{
    uint64_t bytes = 0;
    (void)message;
    return strcmp(text, "auto") == 0 ||
           (units_parse_bytes(text, &bytes) && bytes >= 1 << 20 && bytes <= (uint64_t)1 << 60);
}

const struct tree_rule job_rules[] = {
    {.path = "input", .expected = "a mapping with the keys files, layout, select"},
    {.path = "input.files", .expected = "the path of a file, or a list of them"},
    {.path = "input.layout",
     .may_be_auto = 1,
     .expected = "a mapping with dataset, axes and what else describes the file"},
    {.path = "input.layout.dataset", .expected = "the path of a dataset inside the file"},
    {.path = "input.layout.axes",
     .expected = "the dataset's axes, such as time,pol,reim",
     .check = job_check_axes},
    {.path = "input.layout.sample_rate_hz", .is_above = 1, .max = 1e15},
    {.path = "input.layout.packing",
     .expected = "one of \"4+4 offset hi=re\", \"4+4 offset lo=re\", \"4+4 two's complement "
                 "hi=re\", \"4+4 two's complement lo=re\"",
     .check = job_check_packing},
    {.path = "input.layout.freq_hz", .expected = "a number, or a list of them"},
    {.path = "input.layout.start",
     .expected = "a UTC date and time such as 2014-06-29T01:39:20",
     .check = job_check_utc},
    {.path = "input.layout.oversampling",
     .expected = "a ratio of at least 1, such as 32/27",
     .check = job_check_oversampling},
    {.path = "input.select.samples",
     .max = 4611686018427387904.0, /* 2^62 */
     .expected = "two whole numbers [first, end], at most 4611686018427387904"},
    {.path = "input.select.seconds",
     .max = 1e12,
     .expected = "two numbers of at least 0: [from, to]"},
    {.path = "input.select.utc",
     .expected = "two UTC dates: [2014-06-29T01:39:20, 2014-06-29T01:39:30]",
     .check = job_check_utc},
    {.path = "input.select.stations", .expected = "a name or number, or a list of them"},
    {.path = "input.select.beams", .expected = "a name or number, or a list of them"},
    {.path = "input.select.pols", .expected = "a name or number, or a list of them"},
    {.path = "input.select.chans", .expected = "a name or number, or a list of them"},
    {.path = "channelise", .unless = "dedisperse"},
    {.path = "channelise.channels",
     .min = 2,
     .max = 1 << 30,
     .expected = "an even whole number from 2 to 1073741824",
     .check = job_check_even},
    {.path = "channelise.taps", .min = 1, .max = 1 << 24},
    {.path = "channelise.window",
     .expected = "one of hann, hamming, blackman, kaiser:BETA (0 to 100), rect, file:PATH",
     .check = job_check_window},
    {.path = "channelise.cutoff", .max = 64},
    {.path = "products",
     .unless = "dedisperse",
     .expected = "a list of products, each with kind and file"},
    {.path = "products.file", .expected = "the path of the file to write"},
    {.path = "products.integrate", .min = 1, .max = 1099511627776.0 /* 2^40 */},
    {.path = "dedisperse", .expected = "a mapping with dm, file and what else it needs"},
    {.path = "dedisperse.input", .max = JOB_PRODUCTS - 1},
    {.path = "dedisperse.dm",
     .list_key = "list",
     .expected = "a list of DMs, or a mapping with start, step, count or start, end, tolerance"},
    {.path = "dedisperse.dm.start", .max = JOB_MOST_DM},
    {.path = "dedisperse.dm.step", .is_above = 1, .max = JOB_MOST_DM},
    {.path = "dedisperse.dm.count", .min = 1, .max = JOB_DMS},
    {.path = "dedisperse.dm.end", .max = JOB_MOST_DM},
    {.path = "dedisperse.dm.tolerance", .is_above = 1, .min = 1, .max = 1e3},
    {.path = "dedisperse.dm.width", .max = 1e3},
    {.path = "dedisperse.dm.list", .max = JOB_MOST_DM, .expected = "a list of DMs from 0 to 1e6"},
    {.path = "dedisperse.reference", .is_above = 1, .max = 1e15},
    {.path = "dedisperse.downsample", .min = 1, .max = 1 << 24},
    {.path = "dedisperse.group", .min = 1, .max = 256},
    {.path = "dedisperse.mask",
     .expected = "a channel (from 0) or a range such as 10-20, or a list of them",
     .check = job_check_channels},
    {.path = "dedisperse.ifs", .max = 65535, .expected = "a number (from 0), or a list of them"},
    {.path = "dedisperse.file", .expected = "the path of the file to write"},
    {.path = "run.memory",
     .expected = "an amount of memory of at least 64MiB, such as 1GiB",
     .check = job_check_memory},
    {.path = "run.chunk", .min = 1, .max = 1099511627776.0, .may_be_auto = 1},
    {.path = "run.threads", .min = 1, .max = 4096, .may_be_auto = 1},
    {.path = "run.sync", .min = 0.01, .max = 86400},
    {.path = "run.device", .expected = "auto, the number of a device, or a part of its name"},
    {.path = "run.device_memory",
     .expected = "auto, or an amount of the device's memory of at least 1MiB, such as 4GiB",
     .check = job_check_device_memory},
    {.path = NULL},
};

static const cyaml_schema_value_t text_entry = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, CYAML_UNLIMITED)};
static const cyaml_schema_value_t number_entry = {CYAML_VALUE_FLOAT(0, double)};
static const cyaml_schema_value_t whole_entry = {CYAML_VALUE_UINT(0, uint64_t)};

static const cyaml_strval_t axis_names[] = {
    {"time", AXIS_TIME}, {"station", AXIS_STATION}, {"beam", AXIS_BEAM},
    {"pol", AXIS_POL},   {"chan", AXIS_CHAN},
};
static const cyaml_strval_t domain_names[] = {{"complex", 1}, {"real", 0}};
static const cyaml_strval_t sideband_names[] = {{"1", 1}, {"-1", -1}, {"+1", 1}};
static const cyaml_strval_t normalise_names[] = {
    {"energy", NORMALISE_ENERGY}, {"peak", NORMALISE_PEAK}, {"none", NORMALISE_NONE}};
static const cyaml_strval_t order_names[] = {{"ascending", ORDER_ASCENDING}, {"fft", ORDER_FFT}};
static const cyaml_strval_t backend_names[] = {{"auto", BACKEND_AUTO},
                                               {"cpu", BACKEND_CPU},
                                               {"opencl", BACKEND_OPENCL},
                                               {"reference", BACKEND_REFERENCE}};
static const cyaml_strval_t kernel_names[] = {{"auto", KERNEL_AUTO},
                                              {"fused", KERNEL_FUSED},
                                              {"slide", KERNEL_SLIDE},
                                              {"cache", KERNEL_CACHE},
                                              {"local", KERNEL_LOCAL}};
static const cyaml_strval_t fft_names[] = {
    {"auto", FFT_AUTO}, {"vkfft", FFT_VKFFT}, {"clfft", FFT_CLFFT}};
static const cyaml_strval_t on_bad_names[] = {{"stop", ON_BAD_STOP}, {"nan", ON_BAD_NAN}};
static const cyaml_strval_t planning_names[] = {{"auto", PLANNING_AUTO},
                                                {"estimate", PLANNING_ESTIMATE},
                                                {"measure", PLANNING_MEASURE},
                                                {"patient", PLANNING_PATIENT}};
#define SCHEMA_PRODUCT(id, name, quantity) {#name, PRODUCT_##id},
static const cyaml_strval_t product_names[] = {PRODUCT_KINDS_OF_BANK(SCHEMA_PRODUCT)};

static const cyaml_schema_field_t layout_fields[] = {
    SCHEMA_TEXT("dataset", SCHEMA_REQUIRED, struct job_file_layout, dataset),
    SCHEMA_TEXT("axes", SCHEMA_REQUIRED, struct job_file_layout, axes),
    SCHEMA_CHOICE("files_along", SCHEMA_OPTIONAL, struct job_file_layout, files_along, axis_names),
    SCHEMA_CHOICE_PTR("domain", SCHEMA_OPTIONAL, struct job_file_layout, is_complex, domain_names),
    CYAML_FIELD_FLOAT_PTR("sample_rate_hz", SCHEMA_OPTIONAL, struct job_file_layout,
                          sample_rate_hz),
    SCHEMA_TEXT("packing", SCHEMA_OPTIONAL, struct job_file_layout, packing),
    CYAML_FIELD_FLOAT_PTR("missing_value", SCHEMA_OPTIONAL, struct job_file_layout, missing_value),
    SCHEMA_CHOICE_PTR("sideband", SCHEMA_OPTIONAL, struct job_file_layout, sideband,
                      sideband_names),
    SCHEMA_LIST("freq_hz", SCHEMA_OPTIONAL, struct job_file_layout, freq_hz, nfreq, number_entry, 1,
                CYAML_UNLIMITED),
    SCHEMA_TEXT("start", SCHEMA_OPTIONAL, struct job_file_layout, start),
    SCHEMA_TEXT("oversampling", SCHEMA_OPTIONAL, struct job_file_layout, oversampling),
    SCHEMA_TEXT("telescope", SCHEMA_OPTIONAL, struct job_file_layout, telescope),
    SCHEMA_TEXT("source", SCHEMA_OPTIONAL, struct job_file_layout, source),
    CYAML_FIELD_END,
};

#define NAMES(key, list, count)                                                                    \
    SCHEMA_LIST(key, SCHEMA_OPTIONAL, struct job_file_select, list, count, text_entry, 1,          \
                CYAML_UNLIMITED)

static const cyaml_schema_field_t select_fields[] = {
    SCHEMA_PAIR("samples", SCHEMA_OPTIONAL, struct job_file_select, samples, whole_entry),
    SCHEMA_PAIR("seconds", SCHEMA_OPTIONAL, struct job_file_select, seconds, number_entry),
    SCHEMA_PAIR("utc", SCHEMA_OPTIONAL, struct job_file_select, utc, text_entry),
    NAMES("stations", stations, nstations),
    NAMES("beams", beams, nbeams),
    NAMES("pols", pols, npols),
    NAMES("chans", chans, nchans),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t input_fields[] = {
    SCHEMA_LIST("files", SCHEMA_REQUIRED, struct job_file_input, files, nfiles, text_entry, 1,
                CYAML_UNLIMITED),
    CYAML_FIELD_MAPPING_PTR("layout", SCHEMA_OPTIONAL, struct job_file_input, layout,
                            layout_fields),
    CYAML_FIELD_MAPPING_PTR("select", SCHEMA_OPTIONAL, struct job_file_input, select,
                            select_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t channelise_fields[] = {
    CYAML_FIELD_UINT("channels", SCHEMA_REQUIRED, struct job_file_channelise, channels),
    CYAML_FIELD_UINT("taps", SCHEMA_OPTIONAL, struct job_file_channelise, taps),
    SCHEMA_TEXT("window", SCHEMA_OPTIONAL, struct job_file_channelise, window),
    CYAML_FIELD_FLOAT_PTR("cutoff", SCHEMA_OPTIONAL, struct job_file_channelise, cutoff),
    SCHEMA_CHOICE("normalise", SCHEMA_OPTIONAL, struct job_file_channelise, normalise,
                  normalise_names),
    SCHEMA_CHOICE("order", SCHEMA_OPTIONAL, struct job_file_channelise, order, order_names),
    SCHEMA_CHOICE("backend", SCHEMA_OPTIONAL, struct job_file_channelise, backend, backend_names),
    SCHEMA_CHOICE("kernel", SCHEMA_OPTIONAL, struct job_file_channelise, kernel, kernel_names),
    SCHEMA_CHOICE("fft", SCHEMA_OPTIONAL, struct job_file_channelise, fft, fft_names),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t product_fields[] = {
    SCHEMA_CHOICE("kind", SCHEMA_REQUIRED, struct job_file_product, kind, product_names),
    SCHEMA_TEXT("file", SCHEMA_REQUIRED, struct job_file_product, file),
    CYAML_FIELD_UINT("integrate", SCHEMA_OPTIONAL, struct job_file_product, integrate),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t product_entry = {
    CYAML_VALUE_MAPPING(0, struct job_file_product, product_fields)};

static const cyaml_schema_field_t run_fields[] = {
    SCHEMA_TEXT("memory", SCHEMA_OPTIONAL, struct job_file_run, memory),
    CYAML_FIELD_UINT("chunk", SCHEMA_OPTIONAL, struct job_file_run, chunk),
    CYAML_FIELD_UINT("threads", SCHEMA_OPTIONAL, struct job_file_run, threads),
    SCHEMA_TEXT("device", SCHEMA_OPTIONAL, struct job_file_run, device),
    SCHEMA_CHOICE("on_bad", SCHEMA_OPTIONAL, struct job_file_run, on_bad, on_bad_names),
    SCHEMA_CHOICE("fft_planning", SCHEMA_OPTIONAL, struct job_file_run, planning, planning_names),
    SCHEMA_TEXT("device_memory", SCHEMA_OPTIONAL, struct job_file_run, device_memory),
    CYAML_FIELD_FLOAT_PTR("sync", SCHEMA_OPTIONAL, struct job_file_run, sync),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t job_fields[] = {
    CYAML_FIELD_MAPPING("input", SCHEMA_REQUIRED, struct job_file, input, input_fields),
    CYAML_FIELD_MAPPING("channelise", SCHEMA_OPTIONAL, struct job_file, channelise,
                        channelise_fields),
    SCHEMA_LIST("products", SCHEMA_OPTIONAL, struct job_file, products, nproducts, product_entry, 1,
                JOB_PRODUCTS),
    SCHEMA_LIST("dedisperse", SCHEMA_OPTIONAL, struct job_file, dedisperse, ndedisperse,
                job_dedisperse_entry, 1, JOB_DEDISPERSE),
    CYAML_FIELD_MAPPING("run", SCHEMA_OPTIONAL, struct job_file, run, run_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t job_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct job_file, job_fields)};
