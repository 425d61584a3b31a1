/* Goes through all objects once: datasets that may hold the samples, and values whose names are
 * known words. Statistics and coarse spectra of a file's bytes as numbers of each type. */
#include "input/propose/propose.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/terms.h"
#include "dsp/dft.h"
#include "input/propose/propose_parts.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_walk.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Axes of the dimensions of the samples: by names that the file gives them (dimension scales,
 * labels, texts of an attribute), by sizes that it states, then by their sizes alone. */

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

/* Finds what the dimensions of the samples p->re are: sets p->axes, of zeros before. Warns if what
 * names them is wrong: names are guessed then. Fails with DATA (unreadable), DEVICE (memory). */
static status_t propose_find_axes(struct proposal *p)
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

enum { PIECES = 16, PIECE_BYTES = 16 << 10, BINS = 16, POINTS = 2 * BINS /* numbers at a time */ };

/* Sums over numbers, and over power spectra of POINTS of them. */
struct raw_sums {
    struct number_type type;
    double sum, squares, count, clipped;
    double power[2][BINS]; /* as real, as complex samples */
};

static double raw_types_number(const struct number_type *type, const unsigned char *at)
{
    uint64_t code = 0;
    for (uint32_t i = 0; i < type->bits / 8; i++) {
        code |= (uint64_t)at[i] << (type->is_big_endian ? type->bits - 8 - 8 * i : 8 * i);
    }
    if (type->kind == 'f') {
        return type->bits == 32 ? (double)float_of_u32((uint32_t)code) : float_of_u64(code);
    }
    int is_negative = type->kind == 'i' && code >> (type->bits - 1);
    return (double)code - (is_negative ? ldexp(1, (int)type->bits) : 0);
}

/* Adds the power of numbers less their mean, in a Hann window, as they are and as pairs. */
static status_t raw_types_transform(const double *numbers, struct raw_sums *sums)
{
    double complex in[POINTS];
    double complex out[POINTS];
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const int length = is_complex ? BINS : POINTS;
        double complex mean = 0;
        for (int i = 0; i < length; i++) {
            in[i] = is_complex ? numbers[2 * i] + I * numbers[2 * i + 1] : numbers[i];
            mean += in[i] / length;
        }
        for (int i = 0; i < length; i++) {
            in[i] = (in[i] - mean) * (1 - cos(2 * 3.14159265358979323846 * (i + 0.5) / length));
        }
        TRY(dft_forward((size_t)length, in, out));
        for (int i = 0; i < BINS; i++) {
            double complex x = out[is_complex ? (i + BINS / 2) % BINS : i];
            sums->power[is_complex][i] += creal(x) * creal(x) + cimag(x) * cimag(x);
        }
    }
    return STATUS_OK;
}

static status_t raw_types_add(const unsigned char *bytes, uint64_t count, struct raw_sums *sums)
{
    double numbers[POINTS];
    const struct number_type *type = &sums->type;
    const double least = type->kind == 'i' ? -ldexp(1, (int)type->bits - 1) : 0;
    const double most = ldexp(1, (int)type->bits - (type->kind == 'i')) - 1;
    for (uint64_t i = 0; i + POINTS <= count / (type->bits / 8); i += POINTS) {
        int are_finite = 1;
        for (uint64_t k = 0; k < POINTS; k++) {
            double x = raw_types_number(type, bytes + (i + k) * (type->bits / 8));
            int is_finite = isfinite(x) && fabs(x) < 1e150; /* whose square is finite, too */
            int is_clipped = type->kind == 'f' ? !is_finite : x <= least || x >= most;
            numbers[k] = x;
            are_finite &= is_finite;
            sums->clipped += is_clipped;
            sums->count += is_finite;
            sums->sum += is_finite ? x : 0;
            sums->squares += is_finite ? x * x : 0;
        }
        TRY(are_finite ? raw_types_transform(numbers, sums) : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t raw_types_say(const char *name, const struct raw_sums *sums, struct text *out)
{
    const double all = sums->count + (sums->type.kind == 'f' ? sums->clipped : 0);
    const double mean = sums->count > 0 ? sums->sum / sums->count : 0;
    const double square = sums->count > 0 ? sums->squares / sums->count : 0;
    TRY(text_add(out, "%-7s mean %.5g, rms %.5g, clipped %.4f%%\n", name, mean,
                 sqrt(fmax(0, square - mean * mean)), 100 * sums->clipped / all));
    for (int k = 0; k < 2; k++) {
        double whole = 0;
        for (int i = 0; i < BINS; i++) {
            whole += sums->power[k][i] / BINS;
        }
        TRY(text_add(out, k == 0 ? "    real    dB" : "    complex dB"));
        for (int i = 0; i < BINS; i++) {
            double ratio = whole > 0 ? sums->power[k][i] / whole : 1;
            TRY(text_add(out, " %3.0f", 10 * log10(fmax(ratio, 1e-9))));
        }
        TRY(text_add(out, "\n"));
    }
    return STATUS_OK;
}

status_t raw_types_measure(const char *path, uint64_t skip, struct text *out)
{
    static const char *const names[] = {"i8",     "u8",     "i16_le", "i16_be", "u16_le",
                                        "i32_le", "i32_be", "f32_le", "f32_be", "f64_le"};
    struct identity identity;
    unsigned char bytes[PIECE_BYTES];
    SCOPED(file_close_at) int fd = -1;
    TRY(file_open_read(path, &fd));
    TRY(identity_of_open(fd, path, &identity));
    REQUIRE(identity.bytes > skip && identity.bytes - skip >= POINTS * sizeof(double), STATUS_DATA,
            "%s has %" PRIu64 " bytes, expected %zu or more after input.layout.skip (%" PRIu64 ")",
            path, identity.bytes, POINTS * sizeof(double), skip);
    const uint64_t whole = identity.bytes - skip;
    const uint64_t step = max_u64(PIECE_BYTES, whole / PIECES / 16 * 16); /* whole pairs */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct raw_sums sums = {.count = 0};
        REQUIRE(number_type_parse(names[i], &sums.type), STATUS_USAGE, "%s is no type", names[i]);
        for (uint64_t at = 0; at < whole && at < PIECES * step; at += step) {
            uint64_t count = min_u64(PIECE_BYTES, whole - at);
            TRY(file_read(fd, path, skip + at, bytes, count));
            TRY(raw_types_add(bytes, count, &sums));
        }
        TRY(raw_types_say(names[i], &sums, out));
    }
    return STATUS_OK;
}

/* Which datasets hold the samples. */

/* Names of real and imaginary parts, as words of a path: "/real", "data_re", "voltI". */
static const char *const pairs[][2] = {{"real", "imag"}, {"real", "imaginary"},     {"re", "im"},
                                       {"i", "q"},       {"inphase", "quadrature"}, {"r", "i"}};

/* Whether a word of this length is at `at`: no letters of another word touch it. */
static int data_is_word(const char *path, size_t at, size_t length)
{
    int begins = at == 0 || !isalpha((unsigned char)path[at - 1]) ||
                 (isupper((unsigned char)path[at]) && islower((unsigned char)path[at - 1]));
    char last = path[at + length - 1];
    char next = path[at + length];
    int ends = !isalpha((unsigned char)next) ||
               (isupper((unsigned char)next) && islower((unsigned char)last));
    return begins && ends;
}

/* The path with the word of `length` letters at `at` replaced, in the same case of letters. */
static void data_replace(const char *path, size_t at, size_t length, const char *by, char *out,
                         size_t size)
{
    int is_first_upper = isupper((unsigned char)path[at]) != 0;
    int is_upper = is_first_upper && (length == 1 || isupper((unsigned char)path[at + 1]));
    char word[16] = "";
    for (size_t i = 0; by[i] && i < sizeof word - 1; i++) {
        int is_large = i == 0 ? is_first_upper : is_upper;
        word[i] = (char)(is_large ? toupper((unsigned char)by[i]) : by[i]);
    }
    snprintf(out, size, "%.*s%s%s", (int)at, path, word, path + at + length);
}

static int data_are_alike(const struct propose_data *a, const struct propose_data *b)
{
    return !a->is_compound && !b->is_compound && a->class == b->class && a->bytes == b->bytes &&
           a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static const struct propose_data *data_find(const struct proposal *p, const char *path)
{
    for (size_t i = 0; i < p->ndata; i++) {
        if (strcmp(p->data[i].path, path) == 0) {
            return &p->data[i];
        }
    }
    return NULL;
}

/* The dataset of the imaginary parts to these real ones; NULL: they are none. */
static const struct propose_data *data_partner(const struct proposal *p,
                                               const struct propose_data *re)
{
    char other[1024];
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        size_t length = strlen(pairs[k][0]);
        size_t end = strlen(re->path);
        for (size_t at = 0; at + length <= end && end < sizeof other - 16; at++) {
            if (strncasecmp(re->path + at, pairs[k][0], length) != 0 ||
                !data_is_word(re->path, at, length)) {
                continue;
            }
            data_replace(re->path, at, length, pairs[k][1], other, sizeof other);
            const struct propose_data *im = data_find(p, other);
            if (im && im != re && data_are_alike(re, im)) {
                return im;
            }
        }
    }
    return NULL;
}

/* Chooses the samples: the largest dataset of numbers, or two that are real and imaginary parts. */
static void propose_choose(struct proposal *p)
{
    uint64_t most = 0;
    for (size_t i = 0; i < p->ndata; i++) {
        if (p->data[i].numbers > most) {
            most = p->data[i].numbers;
            p->re = &p->data[i];
        }
    }
    /* Two parts count as both; of datasets as large, they come first. */
    for (size_t i = 0; i < p->ndata && !p->im; i++) {
        if (p->data[i].numbers >= (most + 1) / 2) {
            p->im = data_partner(p, &p->data[i]);
            p->re = p->im ? &p->data[i] : p->re;
        }
    }
}

/* The lines of a job. */

/* Appends "input:", the file, and "layout:". */
static void propose_add_input(const char *path, struct text *out)
{
    text_add(out, "input:\n  files: ");
    propose_add_path(out, path);
    text_add(out, "\n  layout:\n");
}

/* Appends the rest of a job, which runs: a filter bank and power for this number of samples.
 * `parts`: its channels are a multiple of them. */
static status_t propose_add_passes(const char *path, uint64_t samples, uint64_t parts, int is_real,
                                   struct text *out)
{
    enum { TAPS = 8, SPECTRA = 4, MOST_CHANNELS = 1024, ROWS = 1000 };
    SCOPED(text_free) struct text file = {0};
    const char *name = text_basename(path);
    const char *end = strrchr(name, '.');
    size_t length = end && end > name ? (size_t)(end - name) : strlen(name);
    uint64_t raw = is_real ? 2 : 1; /* samples of a spectrum, of each channel */
    uint64_t most = min_u64(samples / raw / (TAPS + SPECTRA), MOST_CHANNELS);
    uint64_t part = parts > 1 ? parts : 1;
    uint64_t channels = part * max_u64(power_below(most / part), 2);
    uint64_t integrate = max_u64(samples / (raw * channels) / ROWS, 1);
    TRY(text_add(&file, "%.*s-power.h5", (int)length, name));
    text_add(out, "channelise: {channels: %llu, taps: %d}\n", (unsigned long long)channels, TAPS);
    text_add(out,
             "products:\n  - {kind: power, integrate: %llu, file: ", (unsigned long long)integrate);
    propose_add_quoted(out, file.data);
    text_add(out, "}\n");
    return STATUS_OK;
}

/* Proposes the dataset of the samples, and lists others that are as large. */
static void job_add_samples(const struct proposal *p)
{
    enum { SHOWN = 8 };
    int others = 0;
    text_add(p->out, p->im ? "    parts: {re: " : "    dataset: ");
    propose_add_path(p->out, p->re->path);
    if (p->im) {
        text_add(p->out, ", im: ");
        propose_add_path(p->out, p->im->path);
        text_add(p->out, "}");
    }
    for (size_t i = 0; i < p->ndata && others < SHOWN; i++) {
        const struct propose_data *data = &p->data[i];
        if (data != p->re && data != p->im && data->numbers >= p->re->numbers) {
            text_add_shown(p->out, "%s%s", others++ == 0 ? "  # as large: " : ", ", data->path);
        }
    }
    text_add(p->out, "\n");
}

static void job_add_axes(const struct proposal *p)
{
    const struct propose_axes *axes = &p->axes;
    if (axes->rank > AXIS_KINDS) {
        text_add(p->out, "    axes: ???  # of %d dimensions\n", axes->rank);
        return;
    }
    text_add(p->out, "    axes: \"");
    for (int i = 0; i < axes->rank; i++) {
        text_add(p->out, "%s%s", i > 0 ? "," : "",
                 axes->axis[i] < AXIS_KINDS ? axis_name(axes->axis[i]) : "???");
    }
    text_add(p->out, "\"");
    if (axes->is_guess || axes->is_open) {
        text_add(p->out, "  # %s dimensions",
                 axes->is_open ? "of the" : "assumed: by the sizes of");
    }
    for (int i = 0; i < axes->rank && (axes->is_guess || axes->is_open); i++) {
        text_add(p->out, "%s%llu", i > 0 ? " x " : " ", (unsigned long long)p->re->dims[i]);
    }
    struct propose_facts contrary = propose_facts_of(p, axes->contrary);
    contrary.count = axes->is_open ? min_u64(contrary.count, 1) : 0;
    propose_add_facts(p->out, ", beside ", &contrary);
    text_add(p->out, "\n");
}

/* Proposes a packing for unsigned numbers, which are volts only with an offset. */
static void job_add_packing(const struct proposal *p)
{
    if (p->re->is_unsigned && p->re->bytes <= 2) {
        text_add(p->out, "    packing: ???  # of unsigned numbers: \"%zu bit offset\"%s\n",
                 8 * p->re->bytes,
                 p->re->bytes > 1 || p->re->is_compound || p->im
                     ? ""
                     : ", \"4+4 offset hi=re\", \"4+4 two's complement hi=re\", ...");
    } else if (p->re->is_unsigned) {
        text_add(p->out, "    offset: ???  # of unsigned numbers\n");
    }
}

/* Proposes the sideband, +1 or -1, which numbers or words state. */
static void job_add_sideband(const struct proposal *p)
{
    const struct propose_facts facts = propose_facts_of(p, MEANS_SIDEBAND);
    char plain[PROPOSE_NAME];
    if (facts.count == 0) {
        return;
    }
    propose_plain(facts.all[0]->text ? facts.all[0]->text : "", plain);
    const size_t length = strlen(plain);
    int sideband = propose_word_among("usb upper u 1 normal upright", plain, length)    ? 1
                   : propose_word_among("lsb lower l inverted reversed", plain, length) ? -1
                                                                                        : 0;
    sideband = fabs(facts.all[0]->first) == 1 ? (int)facts.all[0]->first : sideband;
    if (facts.count == 1 && sideband != 0) {
        text_add(p->out, "    sideband: %d  # ", sideband);
    } else {
        text_add(p->out, "    sideband: ???  # 1 or -1; ");
    }
    propose_add_facts(p->out, "", &facts);
    text_add(p->out, "\n");
}

static void job_add_name(const struct proposal *p, enum propose_meaning means, const char *key)
{
    const struct propose_facts facts = propose_facts_of(p, means);
    if (facts.count == 0 || !facts.all[0]->text || !*facts.all[0]->text) {
        return;
    }
    if (facts.all[0]->is_attribute) {
        text_add(p->out, "    %s: {attribute: %s}\n", key, facts.all[0]->quoted.data);
    } else {
        text_add(p->out, "    %s: ", key);
        propose_add_quoted(p->out, facts.all[0]->text);
        text_add(p->out, "\n");
    }
}

/* Appends the job. Fails with DATA. */
static status_t propose_add_job(struct proposal *p)
{
    TRY(propose_find_axes(p));
    if (p->axes.is_real && p->axes.power) {
        return text_add_shown(p->attributes,
                              "  %s looks like powers, not voltages (\"%s\" names a dimension)\n",
                              p->re->path, p->axes.power);
    }
    propose_add_input(p->path, p->out);
    job_add_samples(p);
    job_add_axes(p);
    job_add_packing(p);
    propose_add_rate(p);
    propose_add_frequencies(p);
    job_add_sideband(p);
    propose_add_start(p);
    job_add_name(p, MEANS_TELESCOPE, "telescope");
    job_add_name(p, MEANS_SOURCE, "source");
    TRY(propose_add_passes(p->path, p->axes.times, p->multiple, p->axes.is_real, p->out));
    return p->out->status;
}

/* Keys are found in the message that says what is missing. */

status_t propose_said(const char *path, const char *format, const char *message, struct text *out)
{
    static const struct {
        const char *named, *line;
    } keys[] = {
        {"sample_rate_hz", "sample_rate_hz: ???  # Hz, of one stream"},
        {"freq_hz", "freq_hz: ???  # Hz, centre of each coarse channel: a list, or {start: HZ, "
                    "step: HZ}"},
        {"or streams", "# streams: [{thread: 0, channel: 0, pol: X, freq_hz: ???}, {thread: 0, "
                       "channel: 1, pol: Y, freq_hz: ???}]  # instead, of polarisations"},
        {"start,", "start: ???  # UTC of the first sample"},
        {"input.layout.station", "station: ???  # one of the two"},
    };
    enum { SAMPLE_BYTES = 64 }; /* of all streams, at a guess: so small files have few channels */
    struct stat file = {.st_size = 0};
    uint64_t bytes = stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
    propose_add_input(path, out);
    text_add(out, "    format: %s\n", format);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strstr(message, keys[i].named)) {
            text_add(out, "    %s\n", keys[i].line);
        }
    }
    status_t st = propose_add_passes(path, bytes / SAMPLE_BYTES, 1, 0, out);
    return st == STATUS_OK ? out->status : st;
}

enum { MOST_LINES = 60, MOST_DATA = 1024 };

/* " = 2.56e-06", " = \"CHIME\"", or nothing where it is neither number nor text. */
static status_t propose_add_value(struct proposal *p, hid_t object, const char *name)
{
    SCOPED(free_at) char *text = NULL;
    double number = 0;
    int found = 0;
    TRY(h5_find_text(object, p->path, name, &text, &found));
    if (found) {
        TRY(text_add_shown(p->attributes, " = \"%.60s\"", text));
    } else if (h5_get_f64(object, p->path, name, &number, &found) == STATUS_OK) {
        TRY(found ? text_add(p->attributes, " = %s", units_exact(number)) : STATUS_OK);
    }
    report_clear(); /* of what is no number */
    return STATUS_OK;
}

/* Context of an object's attributes. */
struct propose_object {
    struct proposal *proposal;
    const char *name; /* without the first slash; "." is the root */
    int is_of_data;   /* a dataset of several values */
};

static herr_t propose_see_attribute(hid_t object, const char *name, const H5A_info_t *info,
                                    void *context)
{
    /* HDF5's own ones are not worth printing. */
    static const char *const own[] = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS",
                                      "NAME",           "_Netcdf4Dimid",  "_Netcdf4Coordinates",
                                      "_NCProperties"};
    const struct propose_object *of = context;
    struct proposal *p = of->proposal;
    const char *at = strcmp(of->name, ".") == 0 ? "" : of->name;
    status_t st = STATUS_OK;
    (void)info;
    apart_at("%s: /%s: attribute %s", p->path, at, name);
    if (TEXT_IS_AMONG(own, name)) {
        goto out;
    }
    TRY_OUT(propose_note_attribute(p, object, of->name, name, of->is_of_data));
    if (p->lines++ < MOST_LINES) {
        TRY_OUT(text_add_shown(p->attributes, "  /%s@%s", at, name));
        TRY_OUT(propose_add_value(p, object, name));
        TRY_OUT(text_add(p->attributes, "\n"));
    }
out:
    return st == STATUS_OK ? 0 : -1;
}

/* Describes the numbers of a dataset; returns 0 where it holds others, or scales of another one. */
static status_t propose_describe(const struct h5_dataset *data, const char *name,
                                 struct propose_data *out, int *is_it)
{
    SCOPED(h5_close_at) hid_t number = -1;
    SCOPED(h5_close_at) hid_t second = -1;
    const enum propose_meaning means = propose_word_of(text_basename(name)).means;
    int is_scale = 0;
    H5T_class_t class = H5Tget_class(data->type);
    out->is_compound = class == H5T_COMPOUND;
    if (out->is_compound && H5Tget_nmembers(data->type) == 2) {
        number = H5Tget_member_type(data->type, 0);
        second = H5Tget_member_type(data->type, 1);
    } else if (!out->is_compound) {
        number = H5Tcopy(data->type);
    }
    out->class = number >= 0 ? H5Tget_class(number) : H5T_NO_CLASS;
    out->bytes = number >= 0 ? H5Tget_size(number) : 0;
    out->is_unsigned = out->class == H5T_INTEGER && H5Tget_sign(number) == H5T_SGN_NONE;
    out->numbers = data->count * (out->is_compound ? 2 : 1);
    out->rank = data->rank;
    memcpy(out->dims, data->dims, sizeof out->dims);
    TRY(h5_is_scale(data->id, name, &is_scale));
    int is_aside = means == MEANS_ASIDE || means == MEANS_CENTRE;
    *is_it = (out->class == H5T_INTEGER || out->class == H5T_FLOAT) && data->rank >= 1 &&
             data->count > 1 && !is_scale && !is_aside &&
             (!out->is_compound || H5Tequal(number, second) > 0);
    return STATUS_OK;
}

/* Keeps a dataset that may hold the samples. Where there are too many, the last one gives its place
 * to a larger one. */
static status_t propose_keep(struct proposal *p, const char *name, struct propose_data *data)
{
    status_t st = STATUS_OK;
    TRY_OUT(memory_format(&data->path, "/%s", name));
    if (p->ndata < MOST_DATA) {
        p->data[p->ndata++] = *data;
        data->path = NULL;
    } else if (data->numbers > p->data[MOST_DATA - 1].numbers) {
        struct propose_data other = p->data[MOST_DATA - 1];
        p->data[MOST_DATA - 1] = *data;
        *data = other;
    }
out:
    free(data->path);
    return st;
}

static status_t propose_see_dataset(struct proposal *p, hid_t dataset, const char *name,
                                    int *is_of_data)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    struct propose_data found = {.path = NULL};
    int is_it = 0;
    H5_TRY(H5Iinc_ref(dataset), "%s: /%s cannot be opened", p->path, name);
    TRY(h5_dataset_of(dataset, p->path, &data));
    *is_of_data = data.count > 1;
    TRY(propose_describe(&data, name, &found, &is_it));
    const char *power = propose_power_word(text_basename(name), !found.is_compound);
    if (is_it && power) {
        is_it = 0;
        TRY(text_add_shown(p->attributes,
                           "  /%s looks like powers, not voltages (\"%s\" in its name)\n", name,
                           power));
    }
    return is_it ? propose_keep(p, name, &found) : propose_note_dataset(p, dataset, name);
}

static status_t propose_see_object(const struct h5_found *found, void *context, int *is_enough)
{
    struct proposal *p = context;
    struct propose_object of = {p, found->path, 0};
    SCOPED(h5_close_at) hid_t object = -1;
    (void)is_enough;
    if (!found->is_new || (found->type != H5O_TYPE_DATASET && found->type != H5O_TYPE_GROUP)) {
        return STATUS_OK;
    }
    apart_at("%s: /%s", p->path, found->path);
    object = H5Oopen(found->at, found->name, H5P_DEFAULT);
    H5_TRY(object, "%s: /%s cannot be opened", p->path, found->path);
    TRY(found->type == H5O_TYPE_DATASET
            ? propose_see_dataset(p, object, found->path, &of.is_of_data)
            : STATUS_OK);
    return H5_TRIED(
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, propose_see_attribute, &of),
        "%s: attributes of /%s cannot be listed", p->path, found->path);
}

status_t propose_layout(const char *path, struct text *attributes, struct text *job)
{
    status_t st = STATUS_OK;
    struct proposal p = {.path = path, .file = -1, .attributes = attributes, .out = job};
    TRY_OUT(memory_zeroed(MOST_DATA, sizeof *p.data, "datasets", &p.data));
    TRY_OUT(h5_open_cut_file(path, &p.file));
    TRY_OUT(h5_walk(p.file, path, propose_see_object, &p));
    if (p.lines > MOST_LINES) {
        TRY_OUT(text_add(attributes, "  and %d attributes more\n", p.lines - MOST_LINES));
    }
    propose_choose(&p);
    TRY_OUT(p.re ? propose_add_job(&p) : STATUS_OK);
out:
    propose_facts_free(&p);
    for (size_t i = 0; i < p.ndata; i++) {
        free(p.data[i].path);
    }
    free(p.data);
    h5_close(p.file);
    return st;
}
