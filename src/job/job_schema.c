/* Keys of a job file, a row for each. */
#include "job/job_schema.h"

#define BETWEEN(first, kind_of)                                                                    \
    SCHEMA_PAIR(struct job_select, first), SCHEMA_GIVEN(struct job_select, kind, kind_of)
#define STREAMS(axis)                                                                              \
    SCHEMA_LIST(struct job_select, streams[axis], nstreams[axis], 1, UINT32_MAX),                  \
        .expected = "a name, a number, a range such as 3..10, or a list of them", .absent = "all"

static const struct schema select_rows[] = {
    {"samples", SCHEMA_WHOLE, "first and end sample", BETWEEN(first_sample, SELECT_SAMPLES),
     .max = 0x1p62, .expected = "two whole numbers [first, end], at most 4611686018427387904"},
    {"seconds", SCHEMA_NUMBER, "start and end in seconds after the first sample",
     BETWEEN(from_second, SELECT_SECONDS), .unit = UNITS_TIME, .max = 1e12,
     .expected = "two numbers of at least 0: [from, to]"},
    {"utc", SCHEMA_UTC, "start and end in UTC", BETWEEN(from_utc, SELECT_UTC),
     .expected = "two UTC dates: [2014-06-29T01:39:20, 2014-06-29T01:39:30]"},
    {"stations", SCHEMA_TEXT, "stations to use; numbers count from 0, ranges include both ends",
     STREAMS(AXIS_STATION)},
    {"beams", SCHEMA_TEXT, "beams to use; numbers count from 0, ranges include both ends",
     STREAMS(AXIS_BEAM)},
    {"pols", SCHEMA_TEXT, "polarisations to use; numbers count from 0, ranges include both ends",
     STREAMS(AXIS_POL)},
    {"chans", SCHEMA_TEXT, "coarse channels to use; numbers count from 0, ranges include both ends",
     STREAMS(AXIS_CHAN)},
    {"freq_hz", SCHEMA_NUMBER, "instead of `chans`: coarse channels that overlap this band",
     .absent = "all", SCHEMA_PAIR(struct job_select, from_hz),
     SCHEMA_GIVEN(struct job_select, has_freq, 1), .unit = UNITS_FREQUENCY, .min = -1e15,
     .max = 1e15, .expected = "two frequencies in Hz: [from, to]"},
    {.key = NULL},
};

#define JOB(member) SCHEMA_AT(struct job, member)

const struct schema job_input_schema[] = {
    {"files", SCHEMA_TEXT,
     "files of the archive, in order, of which `*`, `?` and `[...]` match several; or, in a job "
     "without `channelise`, one filterbank",
     SCHEMA_LIST(struct job, files, nfiles, 1, UINT32_MAX), .is_path = 1, .is_required = 1,
     .expected = "the path of a file, or a list of them"},
    {"layout", SCHEMA_MAPPING,
     "description of the files (see input.layout); `auto` recognises the format. Its keys take "
     "precedence over what the files say",
     JOB(layout), .members = job_layout_schema, .may_be_auto = 1,
     .expected = "a mapping with dataset, axes and what else describes the file"},
    {"select", SCHEMA_MAPPING, "part of the input to use", .absent = "everything", JOB(select),
     .members = select_rows},
    {"external", SCHEMA_TEXT,
     "where external storage of the files may be, besides their own directories (archives.md)",
     SCHEMA_LIST(struct job, external, nexternal, 1, UINT32_MAX), .is_path = 1,
     JOB_WITHOUT_EFFECT, /* it says what may be read, not what is */
     .expected = "allow, or the path of a file or folder, or a list of them"},
    {.key = NULL},
};

const struct schema job_run_schema[] = {
    {"memory", SCHEMA_BYTES, "memory that each MPI rank may use", JOB(memory), JOB_WITHOUT_EFFECT,
     .min = 0x1p26, .max = 0x1p60, .may_be_auto = 1,
     .expected = "an amount of memory of at least 64MiB, such as 1GiB"},
    {"chunk", SCHEMA_WHOLE, "spectra (of a filterbank as input: rows) that are processed at a time",
     JOB(cut.chunk_spectra), JOB_WITHOUT_EFFECT, .min = 1, .max = 0x1p40, .may_be_auto = 1},
    {"align", SCHEMA_BYTES,
     "stripe of the file system: rows and other datasets of at least that size begin at its "
     "multiples in the file, and so do chunks where 64 or more are left (scaling.md)",
     .absent = "`auto`: datasets at 1 MiB, chunks at 4 KiB", JOB(cut.align), JOB_WITHOUT_EFFECT,
     .min = 0x1p20, .max = 0x1p32, .may_be_auto = 1,
     .expected = "an amount of 1MiB to 4GiB, such as 16MiB"},
    {"threads", SCHEMA_WHOLE, "threads of each rank", JOB(threads), JOB_WITHOUT_EFFECT, .min = 1,
     .max = 4096, .may_be_auto = 1},
    {"device", SCHEMA_TEXT,
     "OpenCL device: a number of `voltmill info --devices`, or a part of its name; `auto` spreads "
     "the ranks of a machine over its GPUs",
     JOB(device), JOB_WITHOUT_EFFECT, .may_be_auto = 1,
     .expected = "the number of a device, or a part of its name"},
    {"on_bad", SCHEMA_CHOICE,
     "if a part of the input is unreadable (resume.md): `stop` fails; `nan` continues: unreadable "
     "samples count as missing, and products have weights (not with a product of voltages)",
     JOB(on_bad), JOB_WITHOUT_EFFECT, SCHEMA_CHOICES("stop", "nan")},
    {"check_resumed", SCHEMA_CHOICE,
     "a resumed run compares all rows of earlier runs with the CRCs in the journal (resume.md), or "
     "none; `off` is stored in `/provenance` of the product",
     JOB(check_resumed), .only = "off", SCHEMA_CHOICES("all", "off")},
    {"fft_planning", SCHEMA_CHOICE,
     "how long FFTW searches for its plan (CPU backend): `estimate` uses a rule, `measure` times "
     "some plans, `patient` many; `auto` is `patient` from 2^19 transforms on, `measure` from 2^16 "
     "on, else `estimate`",
     JOB(planning), JOB_WITHOUT_EFFECT, .choices = planning_names},
    {"device_memory", SCHEMA_BYTES, "memory of the device that each rank may use",
     .absent = "`auto`: its share of 85 % (opencl.md)", JOB(device_memory), JOB_WITHOUT_EFFECT,
     .min = 0x1p20, .max = 0x1p60, .may_be_auto = 1,
     .expected = "an amount of the device's memory of at least 1MiB, such as 4GiB"},
    {"sync", SCHEMA_NUMBER,
     "seconds between syncs of finished rows to the disk and the journal: a crash of the machine "
     "loses at most so much work",
     JOB(sync_seconds), JOB_WITHOUT_EFFECT, .unit = UNITS_TIME, .min = 0.01, .max = 86400,
     .otherwise = "10"},
    {.key = NULL},
};

const struct schema job_schema[] = {
    {"input", SCHEMA_MAPPING, "files with voltages, or a filterbank", .members = job_input_schema,
     .is_required = 1,
     .expected = "a mapping with files (`voltmill run --each PATTERN` sets them for each file)"},
    {"synthesise", SCHEMA_MAPPING,
     "synthesis filter bank: makes channels a stream again, before all filters", JOB(synthesise),
     .members = job_synthesise_schema, SCHEMA_GIVEN(struct job, is_synthesised, 1),
     .may_be_empty = 1, .expected = "a mapping, {} if nothing is to be said"},
    {"filter", SCHEMA_MAPPING, "long FIR filters, applied in order to the samples of every stream",
     SCHEMA_LIST(struct job, filters, nfilters, 1, JOB_FILTERS), .members = job_filter_schema,
     .expected = "a mapping with coefficients, design or dispersion, or a list of them"},
    {"channelise", SCHEMA_MAPPING, "polyphase filter banks",
     SCHEMA_LIST(struct job, banks, nbanks, 1, JOB_BANKS), .members = job_bank_schema,
     .expected =
         "a mapping with channels and what else describes a filter bank, or a list of them"},
    {"array", SCHEMA_MAPPING, "stations of an array: their delays, and where it looks", JOB(array),
     .members = job_array_schema, SCHEMA_GIVEN(struct job, is_array, 1), .may_be_empty = 1,
     .expected = "a mapping, {} if nothing is to be said"},
    {"beams", SCHEMA_MAPPING,
     "directions of coherent beams: products other than visibilities are of these beams in the "
     "place of stations",
     SCHEMA_LIST(struct job, beams, nbeams, 1, JOB_BEAMS), .members = job_beam_schema,
     .expected =
         "a list of directions, each with ra_deg and dec_deg, or azimuth_deg and elevation_deg"},
    {"beam_weights", SCHEMA_TEXT,
     "instead of `beams`, or beside them: file of complex weights of the stations in each beam, or "
     "a beamformer recipe (bfr5) (arrays.md)",
     JOB(beam_weights), SCHEMA_GIVEN(struct job, is_array, 1), .is_path = 1,
     .expected = "the path of an HDF5 file of weights"},
    {"products", SCHEMA_MAPPING, "files to write",
     SCHEMA_LIST(struct job, products, nproducts, 1, JOB_PRODUCTS), .members = job_product_schema,
     .unless = "dedisperse", .expected = "a list of products, each with kind and file"},
    {"dedisperse", SCHEMA_MAPPING,
     "dedispersion of a filterbank along a list of DMs, and search for bursts",
     SCHEMA_LIST(struct job, dedisperse, ndedisperse, 1, JOB_DEDISPERSE),
     .members = job_dedisperse_schema,
     .expected = "a mapping with dm, file and what else it needs"},
    {"run", SCHEMA_MAPPING, "memory, threads and other settings that hardly change results",
     .members = job_run_schema},
    {.key = NULL},
};
