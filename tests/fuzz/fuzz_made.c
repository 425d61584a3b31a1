/* Whole files that say odd things: the input chooses types, shapes, attributes and values, and HDF5
 * writes the file. What damage to bytes rarely reaches, because HDF5 refuses or crashes first. */
#include "fuzz.h"

#include "io/hdf5/h5.h"

#include <string.h>

static const char job[] = "input: {files: " FUZZ_ARCHIVE "}\n"
                          "channelise: {channels: 16}\n"
                          "products: [{kind: spectra, file: out.h5}]\n";

/* The input, taken byte by byte; zeros behind its end. */
struct feed {
    const uint8_t *data;
    size_t left;
};

static unsigned take(struct feed *feed, unsigned below)
{
    if (feed->left == 0) {
        return 0;
    }
    feed->left--;
    return *feed->data++ % below;
}

static uint64_t take_u64(struct feed *feed)
{
    uint64_t value = 0;
    unsigned bytes = take(feed, 9);
    for (unsigned i = 0; i < bytes; i++) {
        value = value << 8 | take(feed, 256);
    }
    return value;
}

static double take_f64(struct feed *feed)
{
    double value = 0;
    uint64_t bits = take_u64(feed);
    if (take(feed, 2)) {
        return (double)bits;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { TEXT_BYTES = 40 };

static void take_text(struct feed *feed, char text[TEXT_BYTES])
{
    static const char *const words[] = {"voltage",
                                        "UTC",
                                        "complex",
                                        "real",
                                        "time",
                                        "time,pol,reim",
                                        "chan,time",
                                        "pol:2*chan,time",
                                        "time,pol,chan,reim",
                                        "station,beam,time,reim",
                                        "4+4 offset hi=re",
                                        "time,reim",
                                        "4+4 two's complement lo=re"};
    unsigned word = take(feed, 20);
    memset(text, 0, TEXT_BYTES);
    if (word < sizeof words / sizeof *words) {
        snprintf(text, TEXT_BYTES, "%s", words[word]);
        return;
    }
    unsigned bytes = take(feed, TEXT_BYTES);
    for (unsigned i = 0; i < bytes; i++) {
        text[i] = (char)take(feed, 256);
    }
}

static hid_t take_space(struct feed *feed)
{
    hsize_t dims[3] = {take(feed, 5), take(feed, 4), take(feed, 4)};
    switch (take(feed, 8)) {
    case 0:
        return H5Screate(H5S_NULL);
    case 1:
        return H5Screate_simple((int)take(feed, 3) + 1, dims, NULL);
    default:
        return H5Screate(H5S_SCALAR);
    }
}

/* Values for attributes and small datasets: at most 60 elements of TEXT_BYTES. */
static hid_t take_values(struct feed *feed, void *values)
{
    hid_t type = -1;
    char *text = values;
    uint64_t whole = 0;
    double real = 0;
    memset(values, 0, 60 * (size_t)TEXT_BYTES);
    switch (take(feed, 6)) {
    case 0:
        take_text(feed, text);
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, TEXT_BYTES);
        H5Tset_strpad(type, take(feed, 2) ? H5T_STR_NULLPAD : H5T_STR_SPACEPAD);
        return type;
    case 1: {
        static char shared[TEXT_BYTES];
        const char *pointer = shared;
        take_text(feed, shared);
        for (int i = 0; i < 60; i++) {
            memcpy(text + i * (int)sizeof pointer, &pointer, sizeof pointer);
        }
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
        return type;
    }
    case 2:
        real = take_f64(feed);
        for (int i = 0; i < 60; i++) {
            memcpy(text + i * (int)sizeof real, &real, sizeof real);
        }
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case 3:
        type = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(type, "r", 0, H5T_NATIVE_DOUBLE);
        return type;
    default:
        for (int i = 0; i < 60; i++) {
            whole = i % 4 == 0 ? take_u64(feed) : whole + 1;
            memcpy(text + i * (int)sizeof whole, &whole, sizeof whole);
        }
        return H5Tcopy(take(feed, 2) ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64);
    }
}

static void put_odd_attribute(struct feed *feed, hid_t object, const char *name)
{
    char values[60 * TEXT_BYTES];
    hid_t space = take_space(feed);
    hid_t type = take_values(feed, values);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        H5Awrite(attribute, type, values);
    }
    h5_close(attribute);
    h5_close(type);
    h5_close(space);
}

static void put_odd_dataset(struct feed *feed, hid_t file, const char *name)
{
    char values[60 * TEXT_BYTES];
    hid_t space = take_space(feed);
    hid_t type = take_values(feed, values);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset >= 0) {
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    }
    h5_close(dataset);
    h5_close(type);
    h5_close(space);
}

static hid_t take_type(struct feed *feed)
{
    const hid_t plain[] = {H5T_STD_I8LE,   H5T_STD_U8BE,   H5T_STD_I16LE,   H5T_STD_I16BE,
                           H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_STD_I32LE,   H5T_IEEE_F64BE,
                           H5T_STD_B8LE,   H5T_C_S1,       H5T_NATIVE_HADDR};
    hid_t number = H5Tcopy(plain[take(feed, sizeof plain / sizeof *plain)]);
    if (take(feed, 8) == 1) {
        H5Tset_precision(number, take(feed, 16) + 1);
    }
    unsigned shape = take(feed, 6);
    if (shape > 1) {
        return number;
    }
    /* Pairs: side by side, apart, the other way round, of two types. */
    size_t bytes = H5Tget_size(number);
    size_t gap = take(feed, 4);
    hid_t second = take(feed, 6) == 1 ? H5Tcopy(H5T_STD_I8LE) : H5Tcopy(number);
    hid_t pair = H5Tcreate(H5T_COMPOUND, 2 * (bytes + gap) + 8 * take(feed, 2));
    H5Tinsert(pair, "re", shape ? bytes + gap : gap, number);
    H5Tinsert(pair, "im", shape ? 0 : bytes + 2 * gap, second);
    h5_close(second);
    h5_close(number);
    return pair;
}

/* Storage: in one piece, in chunks with or without filters, in the header, in another file. */
static hid_t take_storage(struct feed *feed, int rank, const hsize_t *dims)
{
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[H5S_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        chunk[i] = dims[i] < 4 ? dims[i] + (dims[i] == 0) : take(feed, 9) + 1;
    }
    switch (take(feed, 8)) {
    case 0:
        H5Pset_chunk(plist, rank, chunk);
        break;
    case 1:
        H5Pset_chunk(plist, rank, chunk);
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 1);
        break;
    case 2:
        H5Pset_chunk(plist, rank, chunk);
        H5Pset_fletcher32(plist);
        break;
    case 3:
        H5Pset_layout(plist, H5D_COMPACT);
        break;
    case 4:
        H5Pset_external(plist, FUZZ_RAW, (off_t)take(feed, 200), take_u64(feed) + 1);
        H5Pset_external(plist, FUZZ_RAW, (off_t)take(feed, 200), H5F_UNLIMITED);
        break;
    default:
        break;
    }
    return plist;
}

static void put_voltages(struct feed *feed, hid_t file)
{
    static const char *const words[] = {
        "axes",    "sample_rate_hz", "domain",           "sideband",
        "packing", "missing_value",  "oversampling_num", "oversampling_den"};
    static const char *const axes[] = {
        "time", "time,reim", "time,pol,reim", "time,chan,pol,reim", "chan,time,pol", "pol,time"};
    static const int ranks[] = {1, 2, 3, 4, 3, 2};
    unsigned kind = take(feed, 6);
    int rank = take(feed, 16) == 1 ? (int)take(feed, 6) : ranks[kind];
    hsize_t dims[6];
    for (int i = 0; i < rank; i++) {
        dims[i] = take(feed, 8) == 1 ? take_u64(feed) : take(feed, 30);
    }
    if (strstr(axes[kind], "reim") && take(feed, 8) != 1 && rank > 0) {
        dims[rank - 1] = 2;
    }
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t type = take_type(feed);
    hid_t plist = take_storage(feed, rank, dims);
    hid_t dataset = H5Dcreate2(file, "voltages", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    hssize_t points = H5Sget_simple_extent_npoints(space);
    if (dataset >= 0 && points > 0 && points < 10000 && take(feed, 4) != 1) {
        char *data = calloc((size_t)points, H5Tget_size(type));
        EXPECT(data);
        data[0] = (char)take(feed, 256);
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
        free(data);
    }
    for (size_t i = 0; dataset >= 0 && i < sizeof words / sizeof *words; i++) {
        unsigned how = take(feed, 8);
        if (how == 1) {
            put_odd_attribute(feed, dataset, words[i]);
        } else if (how != 2) {
            status_t st = i == 0   ? h5_put_text(dataset, words[i], axes[kind])
                          : i == 1 ? h5_put_f64(dataset, words[i], 1e6)
                          : i == 2 ? h5_put_text(dataset, words[i], how & 1 ? "real" : "complex")
                          : i == 3 ? h5_put_i32(dataset, words[i], 1)
                                   : STATUS_OK;
            EXPECT(st == STATUS_OK);
        }
    }
    h5_close(dataset);
    h5_close(plist);
    h5_close(type);
    h5_close(space);
}

static void put_root(struct feed *feed, hid_t file)
{
    static const char *const words[] = {"start_mjd_day", "start_second", "time_scale", "telescope",
                                        "source",        "ra_deg",       "dec_deg"};
    static const char *const beside[] = {"pol", "station", "gaps", "freq_hz"};
    static const double freq = 1e9;
    static const hsize_t one = 1;
    EXPECT(h5_put_text(file, "format", "voltage") == STATUS_OK);
    EXPECT(h5_put_i32(file, "format_version", 1) == STATUS_OK);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (take(feed, 4) == 1) {
            put_odd_attribute(feed, file, words[i]);
        }
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        if (take(feed, 3) == 1) {
            put_odd_dataset(feed, file, beside[i]);
        } else if (i == 3) {
            hid_t space = H5Screate_simple(1, &one, NULL);
            hid_t dataset = H5Dcreate2(file, beside[i], H5T_IEEE_F64LE, space, H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT);
            H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &freq);
            h5_close(dataset);
            h5_close(space);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    fuzz_enter_folder();
    hid_t file = H5Fcreate(FUZZ_ARCHIVE, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT(file >= 0);
    put_voltages(&feed, file);
    put_root(&feed, file);
    h5_close(file);
    H5Eclear2(H5E_DEFAULT);
    fuzz_leave_folder();
    fuzz_archive(job, NULL, 0, NULL, 0);
    return 0;
}
