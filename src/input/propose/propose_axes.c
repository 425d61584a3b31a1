/* Axes of the dimensions of the samples: by names that the file gives them (dimension scales,
 * labels, texts of an attribute), by sizes that it states, then by their sizes alone. */
#include "input/propose/propose_parts.h"

#include "base/terms.h"
#include "io/hdf5/h5_dataset.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 32, MOST_TEXT = 1024 };

struct axes_names {
    int rank;
    char name[H5S_MAX_RANK][NAME_BYTES];
};

/* Takes the names of axes from the last parts of the paths of their scales. */
static status_t axes_take_scales(hid_t dataset, const char *path, struct axes_names *names)
{
    char scale[H5_SCALE_NAME];
    for (int i = 0; i < names->rank; i++) {
        TRY(h5_first_scale(dataset, path, i, scale));
        snprintf(names->name[i], NAME_BYTES, "%.31s", text_basename(scale));
    }
    return STATUS_OK;
}

static void axes_put_name(struct axes_names *names, int i, const char *text, size_t length)
{
    length = length < NAME_BYTES - 1 ? length : NAME_BYTES - 1;
    if (length > 0) {
        memcpy(names->name[i], text, length);
        names->name[i][length] = '\0';
    }
}

/* Names in one text, such as "time,chan", "[time][chan]" or "tfp", if they are as many. */
static void axes_take_list(const char *text, struct axes_names *names)
{
    static const char between[] = " ,;:/|()[]{}<>\"'\t\r\n";
    int count = 0;
    size_t length = strlen(text);
    struct axes_names found = {.rank = names->rank};
    for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
        size_t word = strcspn(at, between);
        if (count < names->rank) {
            axes_put_name(&found, count, at, word);
        }
        count++;
        at += word;
    }
    if (count == 1 && names->rank > 1 && length == (size_t)names->rank) {
        for (count = 0; count < names->rank; count++) {
            found.name[count][0] = text[count];
            found.name[count][1] = '\0';
        }
    }
    if (count == names->rank) {
        *names = found;
    }
}

/* Takes names of dimensions from an attribute: a text for each dimension, or one list for all. */
static status_t axes_take_texts(hid_t object, const char *path, const char *attribute,
                                struct axes_names *names)
{
    SCOPED(h5_names_free) struct h5_names texts = {0};
    TRY(h5_get_texts(object, path, attribute, 1, &texts.names, &texts.count));
    int is_each = names->rank > 1 && texts.count == (size_t)names->rank;
    for (int i = 0; is_each && i < names->rank; i++) {
        axes_put_name(names, i, texts.names[i], strlen(texts.names[i]));
    }
    if (texts.count == 1) {
        axes_take_list(texts.names[0], names);
    }
    return STATUS_OK;
}

/* A name in words of no use is guessed, with a warning. Fails with DEVICE, and with DATA where the
 * file itself cannot be read. */
static status_t axes_forgive(status_t st)
{
    if (st != STATUS_DATA || strstr(report_cause(), "file read failed")) {
        return st;
    }
    report_warn("%s: names of dimensions are guessed", report_cause());
    return report_forgive(st);
}

/* Attributes of an object that name dimensions. */
static status_t axes_take_attributes(hid_t object, const char *path, int is_weak,
                                     struct axes_names *names)
{
    SCOPED(h5_names_free) struct h5_names attributes = {0};
    TRY(h5_list_attributes(object, path, "the samples", &attributes));
    for (size_t i = 0; i < attributes.count; i++) {
        struct propose_word word = propose_word_of(attributes.names[i]);
        if (word.means == MEANS_DIMS && word.is_weak == is_weak) {
            TRY(axes_forgive(axes_take_texts(object, path, attributes.names[i], names)));
        }
    }
    return STATUS_OK;
}

static int axes_are_named(const struct axes_names *names)
{
    int are = 0;
    for (int i = 0; i < names->rank; i++) {
        are |= names->name[i][0] != '\0';
    }
    return are;
}

/* Names by the dataset, or else by the nearest of the groups that it is in. */
static status_t axes_find_names(const struct proposal *p, hid_t dataset, struct axes_names *names)
{
    char path[MOST_TEXT];
    SCOPED(h5_close_at) hid_t group = -1;
    snprintf(path, sizeof path, "%s", p->re->path);
    TRY(axes_forgive(axes_take_scales(dataset, p->path, names)));
    TRY(axes_take_attributes(dataset, p->path, 0, names));
    TRY(axes_are_named(names) ? STATUS_OK : axes_take_attributes(dataset, p->path, 1, names));
    while (!axes_are_named(names) && strlen(p->re->path) < sizeof path) {
        char *end = strrchr(path, '/');
        int is_root = !end || end == path;
        *(end ? end : path) = '\0';
        h5_close(group);
        group = H5Gopen2(p->file, is_root ? "/" : path, H5P_DEFAULT);
        H5_TRY(group, "%s: a group of %s cannot be opened", p->path, p->re->path);
        TRY(axes_take_attributes(group, p->path, 0, names));
        if (is_root) {
            break;
        }
    }
    return STATUS_OK;
}

static int propose_word_begins(const char *words, const char *text)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (strncmp(at, text, size) == 0) {
            return 1;
        }
        at += size;
    }
    return 0;
}

static enum axis axes_word(const char *plain)
{
    /* Beginnings of names, and whole names. */
    static const struct {
        enum axis axis;
        const char *begins, *whole;
    } words[] = {
        {AXIS_TIME, "time samp", "t"},
        {AXIS_CHAN, "freq chan coarse subband", "nu sb f"},
        {AXIS_POL, "pol stokes", "p"},
        {AXIS_BEAM, "beam", "b"},
        {AXIS_STATION, "ant input stat dish feed tile elem", "a d"},
        {AXIS_REIM, "reim realimag complex cplx cmplx component cpx part quad", "iq ri c"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (propose_word_begins(words[i].begins, plain) ||
            propose_word_among(words[i].whole, plain, strlen(plain))) {
            return words[i].axis;
        }
    }
    return AXIS_KINDS;
}

/* Returns the axis that a name means; AXIS_KINDS: unknown. */
static enum axis axes_of_name(const char *name)
{
    static const char *const before[] = {"num", "n", "dim", "axis"};
    char plain[PROPOSE_NAME];
    propose_plain(name, plain);
    enum axis axis = axes_word(plain);
    for (size_t i = 0; i < sizeof before / sizeof *before && axis == AXIS_KINDS; i++) {
        size_t length = strlen(before[i]);
        axis = strncmp(plain, before[i], length) == 0 ? axes_word(plain + length) : axis;
    }
    return axis;
}

/* Dimensions without an axis. */
static int axes_left(const struct proposal *p, int *largest, int *second)
{
    int count = 0;
    *largest = *second = -1;
    for (int i = 0; i < p->axes.rank; i++) {
        if (p->axes.axis[i] != AXIS_KINDS) {
            continue;
        }
        count++;
        if (*largest < 0 || p->re->dims[i] > p->re->dims[*largest]) {
            *second = *largest;
            *largest = i;
        } else if (*second < 0 || p->re->dims[i] > p->re->dims[*second]) {
            *second = i;
        }
    }
    return count;
}

static int axes_has(const struct propose_axes *axes, enum axis axis)
{
    for (int i = 0; i < axes->rank; i++) {
        if (axes->axis[i] == axis) {
            return 1;
        }
    }
    return 0;
}

/* Gives an axis to the only dimension of this size without one. */
static void axes_by_size(struct proposal *p, enum axis axis, uint64_t size)
{
    int at = -1;
    int count = 0;
    for (int i = 0; i < p->axes.rank; i++) {
        if (p->axes.axis[i] == AXIS_KINDS && p->re->dims[i] == size) {
            at = i;
            count++;
        }
    }
    if (count == 1 && !axes_has(&p->axes, axis)) {
        p->axes.axis[at] = axis;
    }
}

/* Facts that state the size of an axis. */
static const struct {
    enum propose_meaning means;
    enum axis axis;
} axes_sizes[] = {{MEANS_TIMES, AXIS_TIME},
                  {MEANS_CHANS, AXIS_CHAN},
                  {MEANS_STATIONS, AXIS_STATION},
                  {MEANS_BEAMS, AXIS_BEAM},
                  {MEANS_POLS, AXIS_POL}};

/* Sizes that the file states, and as many frequencies as there are. */
static void axes_by_facts(struct proposal *p)
{
    const struct propose_facts facts = propose_facts_of(p, MEANS_CENTRE);
    for (size_t i = 0; i < facts.count; i++) {
        if (facts.all[i]->count > 1) {
            axes_by_size(p, AXIS_CHAN, facts.all[i]->count);
        }
    }
    for (size_t i = 0; i < sizeof axes_sizes / sizeof *axes_sizes; i++) {
        uint64_t size = propose_count_of(p, axes_sizes[i].means);
        if (size > 1) {
            axes_by_size(p, axes_sizes[i].axis, size);
        }
    }
}

/* A last dimension of two holds pairs, unless the file states as many other sizes of two as there
 * are dimensions of two. */
static void axes_find_pairs(struct proposal *p)
{
    struct propose_axes *axes = &p->axes;
    int last = axes->rank - 1;
    int stated = 0;
    int found = 0;
    for (size_t i = 0; i < sizeof axes_sizes / sizeof *axes_sizes; i++) {
        enum axis axis = axes_sizes[i].axis;
        stated += axis != AXIS_TIME && propose_count_of(p, axes_sizes[i].means) == 2 &&
                  !axes_has(axes, axis);
    }
    for (int i = 0; i <= last; i++) {
        found += axes->axis[i] == AXIS_KINDS && p->re->dims[i] == 2;
    }
    if (last > 0 && !p->im && !p->re->is_compound && !axes_has(axes, AXIS_REIM) &&
        axes->axis[last] == AXIS_KINDS && p->re->dims[last] == 2 && found > stated) {
        axes->axis[last] = AXIS_REIM;
    }
}

/* Time is by far the longest; two are polarisations; one that is left holds coarse channels. What
 * remains stays open, but for dimensions of one. */
static void axes_guess(struct proposal *p)
{
    static const enum axis spare[] = {AXIS_POL, AXIS_CHAN, AXIS_BEAM, AXIS_STATION};
    struct propose_axes *axes = &p->axes;
    int largest = -1;
    int second = -1;
    for (int i = axes->rank - 1; i >= 0 && !axes_has(axes, AXIS_POL); i--) {
        axes->axis[i] =
            axes->axis[i] == AXIS_KINDS && p->re->dims[i] == 2 ? AXIS_POL : axes->axis[i];
    }
    int left = axes_left(p, &largest, &second);
    if (left > 0 && !axes_has(axes, AXIS_TIME) &&
        (left == 1 || p->re->dims[largest] / 2 >= p->re->dims[second])) {
        axes->axis[largest] = AXIS_TIME;
    }
    for (int i = 0; i < axes->rank; i++) {
        for (size_t k = 0; k < 4 && axes->axis[i] == AXIS_KINDS && p->re->dims[i] == 1; k++) {
            axes->axis[i] = axes_has(axes, spare[k]) ? AXIS_KINDS : spare[k];
        }
    }
    if (axes_left(p, &largest, &second) == 1 && axes_has(axes, AXIS_TIME) &&
        !axes_has(axes, AXIS_CHAN)) {
        axes->axis[largest] = AXIS_CHAN;
    }
}

/* Settles axes by their names: each axis once, and pairs only of dimensions of size 2. */
static void axes_by_names(struct proposal *p, const struct axes_names *names)
{
    struct propose_axes *axes = &p->axes;
    for (int i = 0; i < axes->rank; i++) {
        enum axis axis = axes_of_name(names->name[i]);
        int is_pair_of_two = axis != AXIS_REIM || p->re->dims[i] == 2;
        axes->axis[i] =
            axis != AXIS_KINDS && is_pair_of_two && !axes_has(axes, axis) ? axis : AXIS_KINDS;
    }
}

/* Whether the file states another size for the axis of this dimension. Samples may be counted
 * otherwise: their number must be that of another dimension. */
static int axes_contradict(struct proposal *p, int at)
{
    int is_other = 0;
    for (size_t i = 0; i < sizeof axes_sizes / sizeof *axes_sizes; i++) {
        uint64_t size = propose_count_of(p, axes_sizes[i].means);
        int is_there = axes_sizes[i].means != MEANS_TIMES;
        for (int j = 0; j < p->axes.rank; j++) {
            is_there |= p->re->dims[j] == size;
        }
        if (axes_sizes[i].axis == p->axes.axis[at] && size > 1 && p->re->dims[at] != size &&
            is_there) {
            p->axes.contrary = axes_sizes[i].means;
            is_other = 1;
        }
    }
    return is_other;
}

static void axes_conclude(struct proposal *p, int was_open)
{
    struct propose_axes *axes = &p->axes;
    axes->chans = axes->times = 1;
    axes->contrary = MEANINGS;
    for (int i = 0; i < axes->rank; i++) {
        axes->axis[i] = axes_contradict(p, i) ? AXIS_KINDS : axes->axis[i];
        axes->chans = axes->axis[i] == AXIS_CHAN ? p->re->dims[i] : axes->chans;
        axes->times = axes->axis[i] == AXIS_TIME ? p->re->dims[i] : axes->times;
        axes->is_open |= axes->axis[i] == AXIS_KINDS;
    }
    axes->is_open |= !axes_has(axes, AXIS_TIME);
    axes->is_guess = was_open && !axes->is_open;
    axes->is_real = !p->im && !p->re->is_compound && !axes_has(axes, AXIS_REIM);
}

status_t propose_find_axes(struct proposal *p)
{
    struct propose_axes *axes = &p->axes;
    struct axes_names names = {.rank = p->re->rank};
    int largest = -1;
    int second = -1;
    SCOPED(h5_close_at) hid_t dataset = H5Dopen2(p->file, p->re->path, H5P_DEFAULT);
    H5_TRY(dataset, "%s: %s cannot be opened", p->path, p->re->path);
    axes->rank = p->re->rank;
    for (int i = 0; i < axes->rank; i++) {
        axes->axis[i] = AXIS_KINDS;
    }
    if (axes->rank > AXIS_KINDS) {
        axes->is_open = 1;
        axes->chans = axes->times = 1;
        return STATUS_OK;
    }
    TRY(axes_find_names(p, dataset, &names));
    for (int i = 0; i < axes->rank; i++) {
        axes->power = axes->power ? axes->power : propose_power_word(names.name[i], 1);
    }
    axes_by_names(p, &names);
    axes_find_pairs(p);
    axes_by_facts(p);
    int was_open = axes_left(p, &largest, &second) > 0;
    axes_guess(p);
    axes_conclude(p, was_open);
    return STATUS_OK;
}
