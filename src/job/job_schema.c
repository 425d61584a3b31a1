/* What a job file may hold, a row for each key. */
#include "job/job_schema.h"

#define BETWEEN(first, kind_of)                                                                    \
    SCHEMA_PAIR(struct job_select, first), SCHEMA_GIVEN(struct job_select, kind, kind_of)
#define STREAMS(axis)                                                                              \
    SCHEMA_LIST(struct job_select, streams[axis], nstreams[axis], 1, UINT32_MAX),                  \
        .expected = "a name, a number, a range such as 3..10, or a list of them"

static const struct schema select_rows[] = {
    {"samples", SCHEMA_WHOLE, BETWEEN(first_sample, SELECT_SAMPLES), .max = 0x1p62,
     .expected = "two whole numbers [first, end], at most 4611686018427387904"},
    {"seconds", SCHEMA_NUMBER, BETWEEN(from_second, SELECT_SECONDS), .max = 1e12,
     .expected = "two numbers of at least 0: [from, to]"},
    {"utc", SCHEMA_UTC, BETWEEN(from_utc, SELECT_UTC),
     .expected = "two UTC dates: [2014-06-29T01:39:20, 2014-06-29T01:39:30]"},
    {"stations", SCHEMA_TEXT, STREAMS(AXIS_STATION)},
    {"beams", SCHEMA_TEXT, STREAMS(AXIS_BEAM)},
    {"pols", SCHEMA_TEXT, STREAMS(AXIS_POL)},
    {"chans", SCHEMA_TEXT, STREAMS(AXIS_CHAN)},
    {"freq_hz", SCHEMA_NUMBER, SCHEMA_PAIR(struct job_select, from_hz),
     SCHEMA_GIVEN(struct job_select, has_freq, 1), .min = -1e15, .max = 1e15,
     .expected = "two frequencies in Hz: [from, to]"},
    {.key = NULL},
};

#define JOB(member) SCHEMA_AT(struct job, member)

const struct schema job_input_schema[] = {
    {"files", SCHEMA_TEXT, SCHEMA_LIST(struct job, files, nfiles, 1, UINT32_MAX), .is_required = 1,
     .expected = "the path of a file, or a list of them"},
    {"layout", SCHEMA_MAPPING, JOB(layout), .members = job_layout_schema, .may_be_auto = 1,
     .expected = "a mapping with dataset, axes and what else describes the file"},
    {"select", SCHEMA_MAPPING, JOB(select), .members = select_rows},
    {"external", SCHEMA_TEXT, SCHEMA_LIST(struct job, external, nexternal, 1, UINT32_MAX),
     JOB_WITHOUT_EFFECT, /* it says what may be read, not what is */
     .expected = "allow, or the path of a file or folder, or a list of them"},
    {.key = NULL},
};

#define PRODUCT_NAME(id, name, quantity, is_filterbank) #name,

static const struct schema product_rows[] = {
    {"kind", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, kind), .is_required = 1,
     .choices = (const char *const[]){PRODUCT_KINDS_OF_JOB(PRODUCT_NAME) NULL}},
    {"file", SCHEMA_TEXT, SCHEMA_AT(struct job_product, file), .is_required = 1, JOB_WITHOUT_EFFECT,
     .expected = "the path of the file to write"},
    {"bank", SCHEMA_TEXT, SCHEMA_AT(struct job_product, bank_name), JOB_WITHOUT_EFFECT,
     .expected = "the name of an entry of channelise"},
    {"integrate", SCHEMA_WHOLE, SCHEMA_AT(struct job_product, integrate), .min = 1, .max = 0x1p40,
     .otherwise = "1"},
    {"channels", SCHEMA_WHOLE, SCHEMA_PAIR(struct job_product, first_channel),
     SCHEMA_GIVEN(struct job_product, has_channels, 1), .max = 0x1p40,
     .expected = "two whole numbers: [first, last]"},
    {"freq_hz", SCHEMA_NUMBER, SCHEMA_PAIR(struct job_product, from_hz),
     SCHEMA_GIVEN(struct job_product, has_freq, 1), .min = -1e15, .max = 1e15,
     .expected = "two frequencies in Hz: [from, to]"},
    {"average", SCHEMA_WHOLE, SCHEMA_AT(struct job_product, average), .min = 1, .max = 1 << 30,
     .otherwise = "1"},
    {"polarisation", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, polarisation),
     .choices = polarisation_names},
    {"stokes_v", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, stokes_v), .choices = stokes_v_names},
    {"feed", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, feed), .choices = feed_names},
    {"sum", SCHEMA_CHOICE, SCHEMA_LIST(struct job_product, sums, nsums, 1, 2),
     .choices = (const char *const[]){"stations", "beams", NULL},
     .values = (const int[]){AXIS_STATION, AXIS_BEAM}},
    {"sum_weights", SCHEMA_TEXT, SCHEMA_AT(struct job_product, sum_weights),
     .expected = "the path of a text file with a number for each station or beam"},
    {"weights", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, is_raw),
     .choices = (const char *const[]){"renormalise", "raw", NULL}},
    {"min_weight", SCHEMA_NUMBER, SCHEMA_AT(struct job_product, min_weight), .max = 1,
     .otherwise = "0.1"},
    {"flag", SCHEMA_MAPPING, SCHEMA_AT(struct job_product, flag), .members = job_flag_schema,
     SCHEMA_GIVEN(struct job_product, is_flagged, 1),
     .expected = "a mapping with kurtosis, mask or channels"},
    {"droop", SCHEMA_TEXT, SCHEMA_LIST(struct job_product, droop, ndroop, 1, 2),
     .parse = job_droop_parse, .expected = "correct, file:PATH, or a list of both"},
    {"bits", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, bits),
     .choices = (const char *const[]){"32", "16", "8", NULL}, .values = (const int[]){32, 16, 8},
     .otherwise = "32"},
    {"scales", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, has_first_scales),
     .choices = (const char *const[]){"block", "first", NULL}},
    {"scale_rows", SCHEMA_WHOLE, SCHEMA_AT(struct job_product, scale_rows), .min = 1,
     .max = TERMS_MOST_SCALE_ROWS, .may_be_auto = 1},
    {"scale", SCHEMA_NUMBER, SCHEMA_AT(struct job_product, scale),
     SCHEMA_GIVEN(struct job_product, has_scale, 1), .min = TERMS_LEAST_SCALE,
     .max = TERMS_MOST_SCALE, .otherwise = "1"},
    {"bandpass", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, has_bandpass),
     .choices = (const char *const[]){"none", "median", NULL}},
    {"compress", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, compression),
     .choices = (const char *const[]){COMPRESSION_NAMES, NULL}},
    {"format", SCHEMA_CHOICE, SCHEMA_AT(struct job_product, format),
     SCHEMA_GIVEN(struct job_product, has_format, 1), JOB_WITHOUT_EFFECT,
     .choices = (const char *const[]){"hdf5", "fil", "psrfits", NULL}},
    {.key = NULL},
};

static const struct schema run_rows[] = {
    {"memory", SCHEMA_BYTES, JOB(memory), JOB_WITHOUT_EFFECT, .min = 0x1p26, .max = 0x1p60,
     .may_be_auto = 1, .expected = "an amount of memory of at least 64MiB, such as 1GiB"},
    {"chunk", SCHEMA_WHOLE, JOB(chunk_spectra), JOB_WITHOUT_EFFECT, .min = 1, .max = 0x1p40,
     .may_be_auto = 1},
    {"threads", SCHEMA_WHOLE, JOB(threads), JOB_WITHOUT_EFFECT, .min = 1, .max = 4096,
     .may_be_auto = 1},
    {"device", SCHEMA_TEXT, JOB(device), JOB_WITHOUT_EFFECT, .may_be_auto = 1,
     .expected = "the number of a device, or a part of its name"},
    {"on_bad", SCHEMA_CHOICE, JOB(on_bad), JOB_WITHOUT_EFFECT,
     .choices = (const char *const[]){"stop", "nan", NULL}},
    {"check_resumed", SCHEMA_CHOICE, JOB(check_resumed), .only = "off",
     .choices = (const char *const[]){"all", "off", NULL}},
    {"fft_planning", SCHEMA_CHOICE, JOB(planning), JOB_WITHOUT_EFFECT, .choices = planning_names},
    {"device_memory", SCHEMA_BYTES, JOB(device_memory), JOB_WITHOUT_EFFECT, .min = 0x1p20,
     .max = 0x1p60, .may_be_auto = 1,
     .expected = "an amount of the device's memory of at least 1MiB, such as 4GiB"},
    {"sync", SCHEMA_NUMBER, JOB(sync_seconds), JOB_WITHOUT_EFFECT, .min = 0.01, .max = 86400,
     .otherwise = "10"},
    {.key = NULL},
};

const struct schema job_schema[] = {
    {"input", SCHEMA_MAPPING, .members = job_input_schema, .is_required = 1},
    {"synthesise", SCHEMA_MAPPING, JOB(synthesise), .members = job_synthesise_schema,
     SCHEMA_GIVEN(struct job, is_synthesised, 1),
     .expected = "a mapping, {} if nothing is to be said"},
    {"filter", SCHEMA_MAPPING, SCHEMA_LIST(struct job, filters, nfilters, 1, JOB_FILTERS),
     .members = job_filter_schema,
     .expected = "a mapping with coefficients, design or dispersion, or a list of them"},
    {"channelise", SCHEMA_MAPPING, SCHEMA_LIST(struct job, banks, nbanks, 1, JOB_BANKS),
     .members = job_bank_schema,
     .expected =
         "a mapping with channels and what else describes a filter bank, or a list of them"},
    {"products", SCHEMA_MAPPING, SCHEMA_LIST(struct job, products, nproducts, 1, JOB_PRODUCTS),
     .members = product_rows, .unless = "dedisperse",
     .expected = "a list of products, each with kind and file"},
    {"dedisperse", SCHEMA_MAPPING,
     SCHEMA_LIST(struct job, dedisperse, ndedisperse, 1, JOB_DEDISPERSE),
     .members = job_dedisperse_schema,
     .expected = "a mapping with dm, file and what else it needs"},
    {"run", SCHEMA_MAPPING, .members = run_rows},
    {.key = NULL},
};
