/* Facts that a filterbank states twice: counts beside the shape of /data, fch1 and foff beside
 * /frequency, tsamp beside /time. */
#include "archive/assumed.h"
#include "archive/fbh5/fbh5_parts.h"
#include "io/hdf5/h5_dataset.h"

#include <math.h>

/* The shape and type of /data are facts, the header's own counts are copies of them. */
static status_t stated_compare_counts(hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct {
        const char *name;
        uint64_t value;
    } stated[] = {{"nchans", fbh5->nchannels}, {"nifs", fbh5->nifs}, {"nbits", fbh5_bits(fbh5)}};
    int64_t counts[2] = {-1, -1};
    TRY(h5_get_i64(data, fbh5->path, "nchans", &counts[0], &(int){0}));
    TRY(h5_get_i64(data, fbh5->path, "nifs", &counts[1], &(int){0}));
    REQUIRE(fbh5->nchannels == fbh5->nifs || counts[0] != (int64_t)fbh5->nifs ||
                counts[1] != (int64_t)fbh5->nchannels,
            STATUS_DATA,
            "%s: nchans is %lld and nifs %lld, but /data has %u channels in its last dimension and "
            "%u polarisations before it: expected [time][if][channel]",
            fbh5->path, (long long)counts[0], (long long)counts[1], fbh5->nchannels, fbh5->nifs);
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        int found = 0;
        int64_t number = 0;
        TRY(h5_get_i64(data, fbh5->path, stated[i].name, &number, &found));
        if (found && (number < 0 || (uint64_t)number != stated[i].value)) {
            TRY(assume(&fbh5->assumed, "%s is %lld, but /data has %llu: this is used",
                       stated[i].name, (long long)number, (unsigned long long)stated[i].value));
        }
    }
out:
    return st;
}

/* An axis: its first value, the step to the next, and the mean step. */
struct stated_axis {
    double first, step, mean;
    int is_there;
};

/* Reads it where it is a list of `count` numbers that rise or fall evenly. */
static status_t stated_read_axis(hid_t file, const char *path, const char *name, uint64_t count,
                                 struct stated_axis *out)
{
    status_t st = STATUS_OK;
    struct h5_dataset axis = {0};
    hid_t memory = -1;
    double values[3];
    const hsize_t places[3] = {0, 1, count - 1};
    const hsize_t three = 3;
    TRY(h5_has(file, path, name, &out->is_there));
    if (!out->is_there || count < 3) {
        out->is_there = 0;
        goto out;
    }
    TRY(h5_dataset_open(file, path, name, &axis));
    H5T_class_t class = H5Tget_class(axis.type);
    out->is_there = axis.rank == 1 && axis.count == count && h5_offset(axis.id) != HADDR_UNDEF &&
                    (class == H5T_FLOAT || class == H5T_INTEGER);
    if (!out->is_there) {
        goto out;
    }
    TRY(h5_refuse_external(axis.id, path, name));
    memory = H5Screate_simple(1, &three, NULL);
    H5_TRY(H5Sselect_elements(axis.space, H5S_SELECT_SET, 3, places), "%s: /%s cannot be read",
           path, name);
    H5_TRY(H5Dread(axis.id, H5T_NATIVE_DOUBLE, memory, axis.space, H5P_DEFAULT, values),
           "%s: /%s cannot be read", path, name);
    out->first = values[0];
    out->step = values[1] - values[0];
    out->mean = (values[2] - values[0]) / (double)(count - 1);
    out->is_there = fabs(out->mean) > 0 && fabs(out->step / out->mean - 1) < 1e-3;
out:
    h5_close(memory);
    h5_dataset_close(&axis);
    return st;
}

/* Files of others say assumed: what theirs means is not known. */
static status_t stated_contradict(struct fbh5 *fbh5, const char *name, double stated,
                                  const char *axis, double found)
{
    status_t st = STATUS_OK;
    REQUIRE(!fbh5->is_ours, STATUS_DATA, "%s: %s is %.12g, but /%s says %.12g", fbh5->path, name,
            stated, axis, found);
    TRY(assume(&fbh5->assumed, "%s is %.12g, /%s says %.12g: %s is used", name, stated, axis, found,
               name));
out:
    return st;
}

static status_t stated_compare_axes(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct stated_axis frequency = {.is_there = 0};
    struct stated_axis time = {.is_there = 0};
    double tenth = 0.1 * fabs(fbh5->foff_mhz);
    TRY(stated_read_axis(file, fbh5->path, "frequency", fbh5->nchannels, &frequency));
    TRY(stated_read_axis(file, fbh5->path, "time", fbh5->rows, &time));
    double to_mhz = fbh5->is_ours || fabs(frequency.first) > 1e6 ? 1e-6 : 1;
    double step = to_mhz * frequency.mean;
    if (frequency.is_there && fabs(step - fbh5->foff_mhz) * fbh5->nchannels > tenth) {
        TRY(stated_contradict(fbh5, "foff", fbh5->foff_mhz, "frequency", step));
    } else if (frequency.is_there && fabs(to_mhz * frequency.first - fbh5->fch1_mhz) > tenth) {
        TRY(stated_contradict(fbh5, "fch1", fbh5->fch1_mhz, "frequency", to_mhz * frequency.first));
    }
    if (time.is_there && fabs(time.mean / fbh5->tsamp - 1) * (double)fbh5->rows > 0.1) {
        TRY(stated_contradict(fbh5, "tsamp", fbh5->tsamp, "time", time.mean));
    }
out:
    return st;
}

status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    TRY(stated_compare_counts(data, fbh5));
    TRY(stated_compare_axes(file, fbh5));
    TRY(fbh5->has_start || fbh5->is_ours
            ? STATUS_OK
            : assume(&fbh5->assumed, "tstart is 0 or not said: the start is unknown"));
out:
    return st;
}
