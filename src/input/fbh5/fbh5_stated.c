/* Facts that a filterbank states twice: counts and labels beside the shape of /data, attributes of
 * the root beside those of /data, fch1 and foff beside /frequency, tsamp beside /time. */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/fbh5/fbh5_parts.h"
#include "io/hdf5/h5_dataset.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

static const double rounding_days = 4e-11; /* some steps of an MJD as a double */

/* Counts of an object's header that are not those of the shape and type of /data, which is a fact.
 * `of` ends their names. */
static status_t stated_compare_counts(hid_t object, const char *of, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct {
        const char *name;
        uint64_t value;
        int is_unset; /* by 0 */
    } stated[] = {{"nchans", fbh5->nchannels, 0},
                  {"nifs", fbh5->nifs, 0},
                  {"nbits", fbh5_bits(fbh5), 0},
                  {"nsamples", fbh5->rows, 1}};
    char *text = NULL;
    int64_t type = 1;
    int found = 0;
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        double number = (double)stated[i].value;
        TRY(fbh5_find_number(object, fbh5->path, stated[i].name, &number, &found));
        if (number != (double)stated[i].value && (number != 0 || !stated[i].is_unset)) {
            TRY(assume(&fbh5->assumed, "%s%s is %.15g, but /data has %llu: this is used",
                       stated[i].name, of, number, (unsigned long long)stated[i].value));
        }
    }
    TRY(h5_find_text(object, fbh5->path, "data_type", &text, &found));
    TRY(found ? STATUS_OK : h5_get_i64(object, fbh5->path, "data_type", &type, &found));
    if (type != 0 && type != 1) {
        TRY(assume(&fbh5->assumed, "data_type%s is %lld, not that of a filterbank (1): read as one",
                   of, (long long)type));
    }
out:
    free(text);
    return st;
}

/* Counts of channels and polarisations that are lengths of other dimensions of /data. */
static status_t stated_check_shape(hid_t data, const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double nchans = fbh5->nchannels;
    double nifs = fbh5->nifs;
    TRY(fbh5_find_number(data, fbh5->path, "nchans", &nchans, &(int){0}));
    TRY(fbh5_find_number(data, fbh5->path, "nifs", &nifs, &(int){0}));
    int is_turned = (nchans == fbh5->nifs && nifs == fbh5->nchannels) ||
                    (nchans == (double)fbh5->rows && nchans > 1);
    REQUIRE(nchans == fbh5->nchannels || !is_turned, STATUS_DATA,
            "%s: nchans is %.15g and nifs %.15g, but /data has %llu spectra of %u polarisations "
            "and %u channels: expected [time][if][channel]",
            fbh5->path, nchans, nifs, (unsigned long long)fbh5->rows, fbh5->nifs, fbh5->nchannels);
out:
    return st;
}

/* The dimension that a label names; -1: another one, or none. */
static int stated_dimension(const char *label, int rank)
{
    static const char *const words[][2] = {{"time", "samp"}, {"freq", "chan"}};
    for (int i = 0; i < 2; i++) {
        if (strncasecmp(label, words[i][0], 4) == 0 || strncasecmp(label, words[i][1], 4) == 0) {
            return i * (rank - 1);
        }
    }
    return -1;
}

static status_t stated_check_labels(hid_t data, const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct text list = {0};
    char **labels = NULL;
    size_t count = 0;
    int is_other = 0;
    TRY(h5_find_texts(data, fbh5->path, "DIMENSION_LABELS", &labels, &count));
    for (size_t i = 0; i < count; i++) {
        int dimension = stated_dimension(labels[i], fbh5->is_flat ? 2 : 3);
        is_other = is_other || (dimension >= 0 && dimension != (int)i);
        TRY(text_add(&list, "%s%s", i > 0 ? ", " : "", labels[i]));
    }
    REQUIRE(!is_other, STATUS_DATA,
            "%s: DIMENSION_LABELS of /data are %s, expected time, %sfrequency", fbh5->path,
            list.data, fbh5->is_flat ? "" : "feed_id, ");
out:
    text_free(&list);
    h5_free_texts(labels, count);
    return st;
}

/* Attributes of the root that repeat those of /data. */
static status_t stated_compare_root(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct {
        const char *name;
        double close; /* a tenth of a channel over the band, or of a row over all rows */
    } stated[] = {{"fch1", 0.1 * fabs(fbh5->foff_mhz)},
                  {"foff", 0.1 * fabs(fbh5->foff_mhz) / fbh5->nchannels},
                  {"tsamp", 0.1 * fbh5->time.step / (double)fbh5->rows},
                  {"tstart", fmax(fbh5->time.step / 86400, rounding_days)}};
    char *where = NULL;
    TRY(memory_format(&where, "%s: root", fbh5->path));
    TRY(stated_compare_counts(file, " of the root", fbh5));
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        double one = 0;
        double other = 0;
        int found = 0;
        int has_other = 0;
        TRY(fbh5_find_number(file, where, stated[i].name, &other, &has_other));
        TRY(has_other ? fbh5_find_number(data, fbh5->path, stated[i].name, &one, &found)
                      : STATUS_OK);
        REQUIRE(!found || fabs(one - other) <= stated[i].close, STATUS_DATA,
                "%s: %s of /data is %.15g, but %s of the root %.15g: delete the wrong attribute",
                fbh5->path, stated[i].name, one, stated[i].name, other);
    }
out:
    free(where);
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
    if (time.is_there && fabs(time.mean / fbh5->time.step - 1) * (double)fbh5->rows > 0.1) {
        TRY(stated_contradict(fbh5, "tsamp", fbh5->time.step, "time", time.mean));
    }
out:
    return st;
}

status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double tstart = 0;
    TRY(stated_check_labels(data, fbh5));
    TRY(stated_check_shape(data, fbh5));
    TRY(stated_compare_counts(data, "", fbh5));
    TRY(stated_compare_root(file, data, fbh5));
    TRY(stated_compare_axes(file, fbh5));
    TRY(fbh5->is_ours ? STATUS_OK : fbh5_note_band(fbh5, "fch1 and foff"));
    if (!fbh5->time.has_start && !fbh5->is_ours) {
        TRY(fbh5_find_number(data, fbh5->path, "tstart", &tstart, &(int){0}));
        TRY(tstart < 0 || tstart > 0
                ? assume(&fbh5->assumed, "tstart is %.12g: the start is unknown", tstart)
                : assume(&fbh5->assumed, "tstart is 0 or not said: the start is unknown"));
    }
out:
    return st;
}
