/* What all products share: names, scales, provenance, the making of the file. */
#include "product/product.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_file.h"
#include "product/check/contents.h"
#include "product/kind/kinds.h"
#include "product/spans.h"

#include <hdf5_hl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char time_convention[] =
    "Sample n of the observation is taken at start + n / sample_rate_hz. Spectrum s is made of the "
    "`taps` raw spectra s .. s + taps - 1 of the selected samples; its time stamp is the centre of "
    "these, the mean of the times of all their samples; a dump is stamped with the mean of its "
    "spectra. /time holds seconds after sample 0 of the observation, whose UTC is start_mjd_day "
    "(Modified Julian Day) and start_second (second of that day).";

static const char frequency_convention[] =
    "/frequency holds the sky frequency of each channel's centre in Hz. With Y[m] = sum_n y[n] "
    "exp(-2 pi i n m / P), a channel covers its centre +- half of the channel spacing. Complex "
    "samples of sideband -1 were conjugated, so that frequency rises with m. Real ones of sideband "
    "-1 are turned round in ascending order, and left in fft order, where frequency falls with m. "
    "Coarse channels follow each other in the order of their centres.";

static const char filter_convention[] =
    "y[n] = sum_t x[(s + t) P + n] b[t][n], t = 0 .. taps - 1, P = samples_per_spectrum; b is "
    "/coefficients, b[0][0] weighs the oldest sample. In ascending order the filter also "
    "multiplies "
    "by (-1)^n if samples are complex, which moves frequency 0 to channel P / 2, or real of "
    "sideband "
    "-1, which turns the band round.";

static const char missing_convention[] =
    "Samples that are missing (not a number, infinite, equal to the archive's missing_value, or in "
    "a gap that it declares) entered the filter as zero volts. gap_samples counts those in "
    "gaps, missing_samples the others, over all selected streams and the raw spectra that the "
    "filter "
    "took: the selection but for a last incomplete one.";

static const char crc_convention[] =
    "crc32[i] is the CRC-32 (zlib, PNG) of the bytes, as they are stored, of rows i * span_rows to "
    "(i + 1) * span_rows - 1, the last span ending with the last row.";

uint64_t product_row_bytes(enum product_kind kind, uint64_t streams, uint64_t nchannels)
{
    return streams * nchannels * (kind == PRODUCT_SPECTRA ? 8 : 4);
}

struct time_axis product_time(const struct product_spec *spec)
{
    return axes_time(spec->archive->sample_rate_hz, spec->archive->first_sample,
                     spec->samples_per_spectrum, spec->taps, spec->integrate);
}

uint64_t product_frequencies(const struct product_spec *spec)
{
    return (uint64_t)spec->archive->nselected[AXIS_CHAN] * spec->nchannels;
}

double product_frequency(const struct product_spec *spec, uint64_t at)
{
    const struct archive *archive = spec->archive;
    uint64_t chan = archive->selected[AXIS_CHAN][at / spec->nchannels];
    uint32_t k = spec->first_channel + (uint32_t)(at % spec->nchannels);
    return axes_channel_hz(archive->freq_hz[chan], archive->sample_rate_hz, archive->is_complex,
                           archive->sideband, spec->order, spec->channels, k);
}

status_t product_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                           const char *units, const char *long_name)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    TRY(h5_create_dataset(file, name, H5T_IEEE_F64LE, 1, &count, &dataset));
    if (values) {
        H5_TRY(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
               "scale %s cannot be written", name);
    }
    H5_TRY(H5DSset_scale(dataset, name), "%s cannot be made a scale", name);
    TRY(h5_put_text(dataset, "units", units));
    TRY(h5_put_text(dataset, "long_name", long_name));
out:
    h5_close(dataset);
    return st;
}

status_t product_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                             const char *long_name)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    char *packed = NULL;
    size_t longest = 1;
    hid_t type = H5Tcopy(H5T_C_S1);
    for (hsize_t i = 0; i < count; i++) {
        longest = max_u64(longest, strlen(texts[i]) + 1);
    }
    H5_TRY(H5Tset_size(type, longest), "scale %s cannot be made", name);
    H5_TRY(H5Tset_cset(type, H5T_CSET_UTF8), "scale %s cannot be made", name);
    TRY(memory_zeroed((size_t)count, longest, name, &packed));
    for (hsize_t i = 0; i < count; i++) {
        memcpy(packed + i * longest, texts[i], strlen(texts[i]));
    }
    TRY(h5_create_dataset(file, name, type, 1, &count, &dataset));
    H5_TRY(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed),
           "scale %s cannot be written", name);
    H5_TRY(H5DSset_scale(dataset, name), "%s cannot be made a scale", name);
    TRY(h5_put_text(dataset, "long_name", long_name));
out:
    free(packed);
    h5_close(dataset);
    h5_close(type);
    return st;
}

status_t product_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label)
{
    status_t st = STATUS_OK;
    hid_t dataset = H5Dopen2(file, scale, H5P_DEFAULT);
    H5_TRY(dataset, "scale %s cannot be opened", scale);
    H5_TRY(H5DSattach_scale(data, dataset, dim), "scale %s cannot be attached", scale);
    H5_TRY(H5DSset_label(data, dim, label), "dimension %s cannot be labelled", label);
out:
    h5_close(dataset);
    return st;
}

status_t product_names(const struct archive *archive, enum axis axis, char ***out)
{
    status_t st = STATUS_OK;
    char **texts = NULL;
    uint32_t count = archive->nselected[axis];
    TRY(memory_zeroed(count, sizeof *texts, "names", &texts));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = archive->selected[axis][i];
        char number[24];
        snprintf(number, sizeof number, "%llu", (unsigned long long)index);
        TRY(memory_text(archive->names[axis] ? archive->names[axis][index] : number, &texts[i]));
    }
    *out = texts;
    texts = NULL;
out:
    h5_free_texts(texts, count);
    return st;
}

status_t product_scale_time(hid_t file, uint64_t count, const struct utc *start,
                            const char *long_name)
{
    char units[UNITS_TEXT + 32] = "s";
    if (start) {
        /* To the nanosecond: readers of CF times add the values of /time to this. */
        char text[UNITS_TEXT];
        struct utc utc = utc_add(*start, 0.5e-9);
        double second = floor(utc.second);
        units_utc((struct utc){utc.mjd_day, second}, text);
        snprintf(units, sizeof units, "seconds since %.19s.%09u", text,
                 (unsigned)((utc.second - second) * 1e9));
    }
    return product_scale_f64(file, "time", NULL, count, units, long_name);
}

/* /time (its values come with the rows) and /frequency. */
static status_t product_put_scales(hid_t file, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    double *frequency = NULL;
    uint64_t count = product_frequencies(spec);
    TRY(memory_zeroed((size_t)count, sizeof *frequency, "frequencies", &frequency));
    for (uint64_t i = 0; i < count; i++) {
        frequency[i] = product_frequency(spec, i);
    }
    TRY(product_scale_time(file, spec->rows,
                           spec->archive->has_start ? &spec->archive->start : NULL,
                           "centre of the samples that make the spectra of a dump"));
    TRY(product_scale_f64(file, "frequency", frequency, count, "Hz",
                          "sky frequency of the channel's centre"));
out:
    free(frequency);
    return st;
}

/* A scale that only counts: netCDF readers want one for every dimension. */
static status_t product_put_count_scale(hid_t file, const char *name, uint32_t count)
{
    status_t st = STATUS_OK;
    double *values = NULL;
    TRY(memory_zeroed(count, sizeof *values, name, &values));
    for (uint32_t i = 0; i < count; i++) {
        values[i] = i;
    }
    TRY(product_scale_f64(file, name, values, count, "1", name));
out:
    free(values);
    return st;
}

static status_t product_put_coefficients(hid_t file, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    hsize_t dims[2] = {spec->taps, spec->samples_per_spectrum};
    TRY(product_put_count_scale(file, "tap", spec->taps));
    TRY(product_put_count_scale(file, "sample", spec->samples_per_spectrum));
    TRY(h5_create_dataset(file, "coefficients", H5T_IEEE_F64LE, 2, dims, &dataset));
    H5_TRY(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, spec->coeff),
           "the coefficients cannot be written");
    TRY(h5_put_text(dataset, "long_name", "prototype filter, oldest sample first"));
    TRY(product_attach(file, dataset, "tap", 0, "tap"));
    TRY(product_attach(file, dataset, "sample", 1, "sample"));
out:
    h5_close(dataset);
    return st;
}

status_t product_reserve_counts(hid_t group, const struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t missing = -1;
    hid_t crc = -1;
    hid_t holes = -1;
    hsize_t spans = spans_count(place);
    hsize_t rows = place->rows;
    TRY(h5_create_dataset(group, "missing_samples", H5T_STD_U64LE, 0, NULL, &missing));
    TRY(h5_put_text(missing, "long_name", "samples found missing while reading, all streams"));
    TRY(h5_create_dataset(group, "crc32", H5T_STD_U32LE, 1, &spans, &crc));
    TRY(h5_put_u64(crc, "span_rows", place->span_rows));
    TRY(h5_put_text(crc, "long_name", crc_convention));
    TRY(h5_create_dataset(group, "holes", H5T_STD_U8LE, 1, &rows, &holes));
    TRY(h5_put_text(holes, "long_name",
                    "1: the row is NaN, because a part of its input could not be read (of a "
                    "dedispersed series: some of the DM's times are)"));
out:
    h5_close(missing);
    h5_close(crc);
    h5_close(holes);
    return st;
}

status_t product_begin_provenance(hid_t file, const char *job_text, const char *arithmetic,
                                  const char *inputs, hid_t *out)
{
    status_t st = STATUS_OK;
    char libraries[96];
    unsigned version[3] = {0};
    hid_t group = -1;
    hid_t plist = H5Pcreate(H5P_GROUP_CREATE);
    H5_TRY(H5Pset_obj_track_times(plist, 0), "the provenance cannot be made");
    /* In a heap from the first attribute on: a long job does not fit an object header's 64 KiB. */
    H5_TRY(H5Pset_attr_phase_change(plist, 0, 0), "the provenance cannot be made");
    group = H5Gcreate2(file, "provenance", H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY(group, "the provenance cannot be made");
    H5get_libversion(&version[0], &version[1], &version[2]);
    snprintf(libraries, sizeof libraries, "HDF5 %u.%u.%u", version[0], version[1], version[2]);
    TRY(h5_put_text(group, "software", "voltmill"));
    TRY(h5_put_text(group, "version", VOLTMILL_VERSION));
    TRY(h5_put_text(group, "libraries", libraries));
    TRY(h5_put_text(group, "job", job_text));
    if (arithmetic) {
        TRY(h5_put_text(group, "arithmetic", arithmetic));
    }
    TRY(h5_put_text(group, "inputs", inputs ? inputs : ""));
    *out = group;
    group = -1;
out:
    h5_close(group);
    h5_close(plist);
    return st;
}

static status_t product_put_provenance(hid_t file, const struct product_spec *spec,
                                       const struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t group = -1;
    TRY(product_begin_provenance(file, spec->job_text, spec->arithmetic, spec->inputs, &group));
    TRY(h5_put_text(group, "time_convention", time_convention));
    TRY(h5_put_text(group, "frequency_convention", frequency_convention));
    TRY(h5_put_text(group, "filter_convention", filter_convention));
    TRY(h5_put_text(group, "missing_convention", missing_convention));
    uint64_t used = spec->archive->samples - spec->archive->samples % spec->samples_per_spectrum;
    TRY(h5_put_u64(group, "gap_samples", archive_gap_samples(spec->archive, used)));
    TRY(product_reserve_counts(group, place));
out:
    h5_close(group);
    return st;
}

status_t product_put_root(hid_t file, enum product_kind kind, const char *title,
                          const struct product_sky *sky)
{
    status_t st = STATUS_OK;
    TRY(h5_put_text(file, "format", product_name(kind)));
    TRY(h5_put_i32(file, "format_version", PRODUCT_VERSION));
    TRY(h5_put_text(file, "Conventions", "CF-1.8"));
    TRY(h5_put_text(file, "title", title));
    if (sky->has_start) {
        TRY(h5_put_i32(file, "start_mjd_day", sky->start.mjd_day));
        TRY(h5_put_f64(file, "start_second", sky->start.second));
        TRY(h5_put_text(file, "time_scale", "UTC"));
    }
    if (sky->telescope) {
        TRY(h5_put_text(file, "telescope", sky->telescope));
    }
    if (sky->source) {
        TRY(h5_put_text(file, "source", sky->source));
    }
    if (sky->has_position) {
        TRY(h5_put_f64(file, "ra_deg", sky->ra_deg));
        TRY(h5_put_f64(file, "dec_deg", sky->dec_deg));
    }
out:
    return st;
}

/* What the root says of time, band and filter. */
static status_t put_root(hid_t file, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    struct product_sky sky = {archive->has_start, archive->start,        archive->telescope,
                              archive->source,    archive->has_position, archive->ra_deg,
                              archive->dec_deg};
    TRY(product_put_root(file, spec->kind,
                         spec->kind == PRODUCT_SPECTRA ? "complex spectra" : "power spectra",
                         &sky));
    struct time_axis time = product_time(spec);
    TRY(h5_put_f64(file, "first_time", time.first));
    TRY(h5_put_f64(file, "time_step", time.step));
    TRY(h5_put_f64(file, "sample_rate_hz", archive->sample_rate_hz));
    TRY(h5_put_text(file, "domain", archive->is_complex ? "complex" : "real"));
    TRY(h5_put_i32(file, "sideband", archive->sideband));
    TRY(h5_put_i32(file, "channels", (int32_t)spec->channels));
    TRY(h5_put_i32(file, "taps", (int32_t)spec->taps));
    TRY(h5_put_u64(file, "integrate", spec->integrate));
    TRY(h5_put_u64(file, "first_sample", archive->first_sample));
    TRY(h5_put_text(file, "order", order_name(spec->order)));
out:
    return st;
}

static status_t find_place(hid_t file, const char *name, uint64_t *offset)
{
    status_t st = STATUS_OK;
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    H5_TRY(dataset, "dataset %s cannot be opened", name);
    haddr_t at = h5_offset(dataset);
    REQUIRE(at != HADDR_UNDEF, STATUS_DATA, "dataset %s has no place in its file", name);
    *offset = at;
out:
    h5_close(dataset);
    return st;
}

status_t product_finish(hid_t file, const char *name, struct product_place *place)
{
    status_t st = STATUS_OK;
    TRY(contents_reserve(file));
    TRY(find_place(file, name, &place->data_offset));
    TRY(find_place(file, "time", &place->time_offset));
    TRY(find_place(file, "provenance/crc32", &place->crc_offset));
    TRY(find_place(file, "provenance/missing_samples", &place->missing_offset));
    TRY(find_place(file, "provenance/holes", &place->holes_offset));
    hid_t whole = file;
    file = -1;
    TRY(h5_file_finish(whole, &place->file_bytes));
out:
    h5_close(file);
    return st;
}

status_t product_describe(hid_t file, const struct product_spec *spec, struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t data = -1;
    TRY(put_root(file, spec));
    TRY(product_put_scales(file, spec));
    TRY(product_put_coefficients(file, spec));
    *place = (struct product_place){
        .rows = spec->rows,
        .row_bytes = product_row_bytes(spec->kind, spec->archive->nstreams, spec->nchannels)};
    place->span_rows = spans_rows(place->rows, place->row_bytes);
    TRY(product_put_provenance(file, spec, place));
    if (spec->kind == PRODUCT_SPECTRA) {
        TRY(spectra_create(file, spec, &data));
    } else {
        TRY(power_create(file, spec, &data));
    }
out:
    h5_close(data);
    return st;
}

status_t product_create(const char *path, const struct product_spec *spec,
                        struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    TRY(h5_file_create(path, &file));
    TRY(product_describe(file, spec, place));
    hid_t whole = file;
    file = -1;
    TRY(product_finish(whole, product_data_name(spec->kind), place));
out:
    h5_close(file);
    return st;
}

status_t product_put_counts(int fd, const char *path, const struct product_place *place,
                            uint64_t missing, const uint32_t *crcs)
{
    status_t st = STATUS_OK;
    TRY(file_write(fd, path, place->missing_offset, &missing, sizeof missing));
    TRY(file_write(fd, path, place->crc_offset, crcs, spans_count(place) * sizeof *crcs));
    TRY(contents_put(fd, path, place));
out:
    return st;
}

status_t product_count_holes(int fd, const char *path, const struct product_place *place,
                             uint64_t *out)
{
    status_t st = STATUS_OK;
    char flags[4096];
    uint64_t holes = 0;
    for (uint64_t at = 0; at < place->rows; at += sizeof flags) {
        uint64_t count = min_u64(place->rows - at, sizeof flags);
        TRY(file_read(fd, path, place->holes_offset + at, flags, count));
        for (uint64_t i = 0; i < count; i++) {
            holes += flags[i] != 0;
        }
    }
    *out = holes;
out:
    return st;
}
