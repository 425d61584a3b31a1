/* Keys of a job file, a row for each. */
#include "job/job_schema.h"

#include <math.h>
#include <string.h>

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
     "files of the archive, in order; or, in a job without `channelise`, one filterbank. `*`, `?` "
     "and `[...]` match several files",
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

#define PRODUCT_NAME(id, name, quantity, is_filterbank) #name,

#define FOR(kinds, words) SCHEMA_NEEDS({"kind", kinds, "is for products of kind " words})
#define FOR_POWER "kind", "power", "is for products of kind power"
#define FOR_ROWS FOR("power|spectra", "power and spectra")

/* An entry of `droop`: a schema's `parse`. */
static int job_droop_parse(const char *text, void *out, char *message)
{
    static const char file[] = "file:";
    struct job_droop *droop = out;
    (void)message;
    if (strncmp(text, file, strlen(file)) == 0) {
        droop->path = text + strlen(file);
        return *droop->path != '\0';
    }
    return strcmp(text, "correct") == 0;
}

static const struct schema product_rows[] = {
    {"kind", SCHEMA_CHOICE,
     "`spectra`: complex voltages of every channel; `power`: detected and integrated (FBH5, for "
     "blimpy and turbo_seti); `voltages`: filtered samples, an archive in the native layout; "
     "`visibilities`: correlations of stations (UVH5)",
     SCHEMA_AT(struct job_product, kind), .is_required = 1,
     .choices = (const char *const[]){PRODUCT_KINDS_OF_JOB(PRODUCT_NAME) NULL}},
    {"file", SCHEMA_TEXT,
     "file to write, another one for each product; its directory is made if necessary",
     SCHEMA_AT(struct job_product, file), .is_path = 1, .is_required = 1, JOB_WITHOUT_EFFECT,
     .expected = "the path of the file to write"},
    {"bank", SCHEMA_TEXT, "name of the filter bank that makes it", .absent = "the first",
     SCHEMA_AT(struct job_product, bank_name), JOB_WITHOUT_EFFECT,
     .expected = "the name of an entry of channelise"},
    {"integrate", SCHEMA_WHOLE,
     "spectra summed into one row (`power`, `visibilities`), or a time such as `10 ms`, of which "
     "the nearest number of spectra is made",
     SCHEMA_AT(struct job_product, integrate), .unit = UNITS_TIME,
     .amount_at = offsetof(struct job_product, integrate_s), .min = 1, .max = 0x1p40,
     .otherwise = "1",
     .expected = "a whole number from 1 to 1099511627776, or a time with a unit, such as 10 ms"},
    {"channels", SCHEMA_WHOLE,
     "channels to keep, by number on the product's frequency axis (coarse channels side by side, "
     "from 0); the last is included",
     .absent = "all", SCHEMA_PAIR(struct job_product, first_channel),
     SCHEMA_GIVEN(struct job_product, has_channels, 1), .max = 0x1p40,
     .expected = "two whole numbers: [first, last]", FOR_ROWS},
    {"freq_hz", SCHEMA_NUMBER,
     "instead of `channels`: keeps the channels with their centres in this band; with `average`, "
     "and as many more as complete a mean",
     .absent = "all", SCHEMA_PAIR(struct job_product, from_hz),
     SCHEMA_GIVEN(struct job_product, has_freq, 1), .unit = UNITS_FREQUENCY, .min = -1e15,
     .max = 1e15, .expected = "two frequencies in Hz: [from, to]", FOR_ROWS},
    {"average", SCHEMA_WHOLE,
     "`power` and `visibilities`: number of neighbouring channels averaged into one (of power "
     "without NaN); it divides the number of channels that are kept, of visibilities those of a "
     "coarse channel",
     SCHEMA_AT(struct job_product, average), .min = 1, .max = 1 << 30, .otherwise = "1"},
    {"centre", SCHEMA_MAPPING,
     "`visibilities`: their own phase centre, by phases alone beyond `array.centre`",
     SCHEMA_AT(struct job_product, centre), .members = job_direction_schema,
     .absent = "`array.centre`", FOR("visibilities", "visibilities"),
     .expected = "ra_deg and dec_deg"},
    {"pairs", SCHEMA_TEXT,
     "`visibilities`: pairs of stations: `all`, `crosses` (without autocorrelations), `autos`, or "
     "a list of pairs such as `CS001*CS002`, by name or number",
     SCHEMA_LIST(struct job_product, pairs, npairs, 1, 1 << 20), .absent = "all",
     .expected = "all, crosses, autos, or a list of pairs such as CS001*CS002",
     FOR("visibilities", "visibilities")},
    {"polarisation", SCHEMA_CHOICE,
     "`power` of two polarisations: each by itself, their sum, Stokes parameters, or `|A|^2`, "
     "`|B|^2`, `Re A B*`, `Im A B*` (products.md)",
     SCHEMA_AT(struct job_product, combine.polarisation), .choices = polarisation_names,
     SCHEMA_NEEDS({FOR_POWER})},
    {"stokes_v", SCHEMA_CHOICE,
     "`IQUV`: sign of V, which is RR - LL with `iau` and LL - RR with `psr`",
     SCHEMA_AT(struct job_product, combine.stokes.v), .choices = stokes_v_names,
     SCHEMA_NEEDS({FOR_POWER}, {"polarisation", "IQUV", "is for polarisation: IQUV"})},
    {"feed", SCHEMA_CHOICE,
     "`IQUV` and `visibilities`: type of the feed; `auto` knows the names of polarisations X and "
     "Y, H and V (H is X), R and L",
     SCHEMA_AT(struct job_product, combine.stokes.feed), .choices = feed_names,
     FOR("power|visibilities", "power and visibilities")},
    {"sum", SCHEMA_CHOICE, "`power`: streams that are summed incoherently",
     SCHEMA_LIST(struct job_product, sums, nsums, 1, 2), SCHEMA_CHOICES("stations", "beams"),
     .values = (const int[]){AXIS_STATION, AXIS_BEAM}, SCHEMA_NEEDS({FOR_POWER})},
    {"sum_weights", SCHEMA_TEXT,
     "`sum`: text file with a factor for the power of each station or beam (of both: of each beam "
     "of each station), separated by blanks or line ends; # starts a comment",
     .absent = "all 1", SCHEMA_AT(struct job_product, sum_file), .is_path = 1,
     .expected = "the path of a text file with a number for each station or beam",
     SCHEMA_NEEDS({FOR_POWER},
                  {"sum", NULL, "is for sums, expected sum: stations, beams or both, too"})},
    {"weights", SCHEMA_CHOICE,
     "`power` with missing samples: `renormalise` divides a row by its weight (products.md), `raw` "
     "does not",
     SCHEMA_AT(struct job_product, is_raw), SCHEMA_CHOICES("renormalise", "raw"),
     FOR("power", "power: nothing else is renormalised")},
    {"min_weight", SCHEMA_NUMBER, "rows (of visibilities: pairs) with a smaller weight are NaN",
     SCHEMA_AT(struct job_product, weights.least), .max = 1, .otherwise = "0.1",
     FOR("power|spectra|visibilities", "power, spectra and visibilities")},
    {"flag", SCHEMA_MAPPING, "`power`: cells of a channel that are omitted from the sums",
     SCHEMA_AT(struct job_product, flag), .members = job_flag_schema,
     SCHEMA_GIVEN(struct job_product, is_flagged, 1),
     .expected = "a mapping with kurtosis, mask or channels", SCHEMA_NEEDS({FOR_POWER})},
    {"droop", SCHEMA_TEXT,
     "`power` and `spectra`: divides channels by the gain of earlier stages: `correct` for the "
     "job's own filters, `file:PATH` for a table (filters.md#droop)",
     SCHEMA_LIST(struct job_product, droop, ndroop, 1, 2), .parse = job_droop_parse, .is_path = 1,
     .expected = "correct, file:PATH, or a list of both", FOR_ROWS},
    {"bits", SCHEMA_CHOICE,
     "32-bit floating point, or integers of 8 or 16 bits: `power` and `spectra` with a scale and "
     "an offset for each channel (products.md#few-bits), `voltages` with one `scale`",
     SCHEMA_AT(struct job_product, steps.bits), SCHEMA_CHOICES("32", "16", "8"),
     .values = (const int[]){32, 16, 8}, .otherwise = "32"},
    {"scales", SCHEMA_CHOICE,
     "`power` and `spectra` in 8 or 16 bits: scales of its own for each block of rows, or those of "
     "the first block for all, which is faster for `spectra` (products.md#few-bits)",
     SCHEMA_AT(struct job_product, steps.are_first), SCHEMA_CHOICES("block", "first")},
    {"scale_rows", SCHEMA_WHOLE,
     "`power` and `spectra` in 8 or 16 bits: rows of a block with its own scales. Chunks begin "
     "with a block: fewer rows keep more ranks busy and store more scales",
     .absent = "`auto`: 1024; at most a sixteenth of all rows, but at least 64; fewer, down to 16, "
               "if that is more than 128 MiB as floats",
     SCHEMA_AT(struct job_product, steps.rows), .min = 1, .max = TERMS_MOST_SCALE_ROWS,
     .may_be_auto = 1},
    {"scale", SCHEMA_NUMBER,
     "`voltages`: volts of the stored number 1; larger values are clipped and counted",
     .absent = "1; required for 8 and 16 bits", SCHEMA_AT(struct job_product, scale),
     SCHEMA_GIVEN(struct job_product, has_scale, 1), .min = TERMS_LEAST_SCALE,
     .max = TERMS_MOST_SCALE, .otherwise = "1"},
    {"bandpass", SCHEMA_CHOICE,
     "`power` in HDF5 and 32 bits: `median` stores the median of each channel over all rows "
     "(products.md)",
     SCHEMA_AT(struct job_product, has_bandpass), SCHEMA_CHOICES("none", "median")},
    {"compress", SCHEMA_CHOICE,
     "`power` and `spectra`: compression of the rows when all are complete "
     "(products.md#compressed-rows)",
     SCHEMA_AT(struct job_product, compression), SCHEMA_CHOICES(COMPRESSION_NAMES)},
    {"format", SCHEMA_CHOICE,
     "`power`: format of the complete file, HDF5 or as `voltmill export` writes it (export.md)",
     .absent = "by the ending of `file`: `.fil`; `.fits`, `.sf`; else `hdf5`",
     SCHEMA_AT(struct job_product, format), SCHEMA_GIVEN(struct job_product, has_format, 1),
     JOB_WITHOUT_EFFECT, SCHEMA_CHOICES("hdf5", "fil", "psrfits")},
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
     SCHEMA_LIST(struct job, products, nproducts, 1, JOB_PRODUCTS), .members = product_rows,
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
