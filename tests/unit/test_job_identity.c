/* Every key of a job: the texts that determine the bytes of a product, of series and of a search
 * differ with it where its row says so, and only there. Two values of each key are made from its
 * row; a table has those that need more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "job/job_schema.h"
#include "small_job.h"

#include <math.h>
#include <stdlib.h>

enum { PATH = 128, VALUE = 256 };

static const char usual[] = "input: {files: a.h5}\n"
                            "filter: [{coefficients: c.txt}]\n"
                            "channelise: [{channels: 16}]\n"
                            "products: [{kind: power, file: p.h5}]\n"
                            "dedisperse: [{dm: [1, 2], file: s.h5, search: {file: c.h5}}]\n";
static const char undedispersed[] = "input: {files: a.h5}\n"
                                    "channelise: [{channels: 16}]\n"
                                    "products: [{kind: spectra, file: p.h5}]\n";
static const char voltages[] = "input: {files: a.h5}\n"
                               "products: [{kind: voltages, file: v.h5}]\n";

#define NEEDS(path, with)                                                                          \
    {                                                                                              \
        path, with, {NULL, NULL}, NULL                                                             \
    }
#define VALUES(path, with, first, second)                                                          \
    {                                                                                              \
        path, with, {first, second}, NULL                                                          \
    }

/* Keys that need an override of `usual` (or of another job) beside them, and two values that are
 * not made from their row; "": the key is missing. A path that ends in a dot is for all keys below
 * it. */
static const struct sample {
    const char *path, *with, *values[2], *job;
} samples[] = {
    NEEDS("input.layout.dataset", "input.layout.axes=time"),
    NEEDS("input.layout.parts.", "input.layout={parts: {re: /x, im: /y}, axes: time}"),
    VALUES("input.layout.axes", "input.layout.dataset=/x", "time", "'time,reim'"),
    VALUES("input.layout.files_along", NULL, "time", "pol"),
    VALUES("input.layout.packing", NULL, "2 bit offset", "1 bit"),
    VALUES("input.layout.levels", "input.layout.packing=1 bit", "[0, 1]", "[1, 0]"),
    VALUES("input.layout.oversampling", NULL, "4/3", "32/27"),
    VALUES("input.layout.type", NULL, "i8", "ci16_le"),
    VALUES("input.layout.freq_hz.attribute", NULL, "/@a", "/@b"),
    NEEDS("input.layout.freq_hz.start", "input.layout.freq_hz.step=1"),
    NEEDS("input.layout.freq_hz.step", "input.layout.freq_hz.start=1"),
    NEEDS("input.layout.freq_hz.", "input.layout.freq_hz.from=/f"),
    NEEDS("input.layout.streams.", "input.layout.streams=[{pol: X, freq_hz: 1}]"),
    NEEDS("input.layout.sample_rate_hz.unit", "input.layout.sample_rate_hz={attribute: /@a}"),
    NEEDS("input.layout.sample_period_s.unit", "input.layout.sample_period_s={attribute: /@a}"),
    NEEDS("input.layout.start.unit", "input.layout.start={attribute: /@a}"),
    NEEDS("input.layout.ra_deg.unit", "input.layout={ra_deg: {attribute: /@a}, dec_deg: 1}"),
    NEEDS("input.layout.dec_deg.unit", "input.layout={dec_deg: {attribute: /@a}, ra_deg: 1}"),
    NEEDS("input.layout.ra_deg", "input.layout.dec_deg=1"),
    NEEDS("input.layout.dec_deg", "input.layout.ra_deg=1"),
    VALUES("input.layout.ra_deg.", "input.layout.dec_deg=1", "/@a", "/@b"),
    VALUES("input.layout.dec_deg.", "input.layout.ra_deg=1", "/@a", "/@b"),
    {"synthesise.prototype_taps", "synthesise.prototype=p.txt", {NULL}, voltages},
    {"synthesise.", NULL, {NULL}, voltages},
    VALUES("filter.design.edges", "filter=[{design: {kind: lowpass}}]", "[1, 2]", "[1, 3]"),
    NEEDS("filter.design.", "filter=[{design: {kind: lowpass, edges: [1, 2]}}]"),
    VALUES("filter.dispersion.reference", "filter=[{dispersion: {dm: 1}}]", "channel", "1e9"),
    NEEDS("filter.dispersion.deripple.",
          "filter=[{dispersion: {dm: 1, deripple: {prototype: p}}}]"),
    NEEDS("filter.dispersion.", "filter=[{dispersion: {dm: 1}}]"),
    NEEDS("filter.deripple.", "filter=[{deripple: {prototype: p}}]"),
    VALUES("channelise.oversample.num", "channelise.0.oversample.den=2", "3", "5"),
    VALUES("channelise.oversample.den", "channelise.0.oversample.num=8", "5", "7"),
    NEEDS("channelise.attenuation", "channelise.0.oversample={num: 4, den: 3}"),
    NEEDS("channelise.width", "channelise=[{taps: 4}]"),
    VALUES("channelise.window", NULL, "hann", "rect"),
    {"channelise.order", NULL, {NULL}, undedispersed},
    NEEDS("channelise.window_points", "channelise.0.window=file:w"),
    VALUES("channelise.cutoff", NULL, "flat", "0.9"),
    NEEDS("array.centre.ra_deg", "array.centre.dec_deg=1"),
    NEEDS("array.centre.dec_deg", "array.centre.ra_deg=1"),
    NEEDS("array.centre.azimuth_deg", "array.centre.elevation_deg=1"),
    NEEDS("array.centre.elevation_deg", "array.centre.azimuth_deg=1"),
    NEEDS("array.centre.", "array.centre={ra_deg: 1, dec_deg: 1}"),
    NEEDS("beams.ra_deg", "beams=[{dec_deg: 1}]"),
    NEEDS("beams.dec_deg", "beams=[{ra_deg: 1}]"),
    NEEDS("beams.azimuth_deg", "beams=[{elevation_deg: 1}]"),
    NEEDS("beams.elevation_deg", "beams=[{azimuth_deg: 1}]"),
    NEEDS("beams.", "beams=[{ra_deg: 1, dec_deg: 1}]"),
    {"products.centre.ra_deg",
     "products=[{kind: visibilities, file: p.h5, centre: {dec_deg: 1}}]",
     {NULL},
     undedispersed},
    {"products.centre.dec_deg",
     "products=[{kind: visibilities, file: p.h5, centre: {ra_deg: 1}}]",
     {NULL},
     undedispersed},
    {"products.centre.azimuth_deg",
     "products=[{kind: visibilities, file: p.h5, centre: {elevation_deg: 1}}]",
     {NULL},
     undedispersed},
    {"products.centre.elevation_deg",
     "products=[{kind: visibilities, file: p.h5, centre: {azimuth_deg: 1}}]",
     {NULL},
     undedispersed},
    {"products.centre.",
     "products=[{kind: visibilities, file: p.h5, centre: {ra_deg: 1, dec_deg: 1}}]",
     {NULL},
     undedispersed},
    {"products.pairs",
     "products=[{kind: visibilities, file: p.h5}]",
     {"crosses", "autos"},
     undedispersed},
    {"products.kind", NULL, {"spectra", "power"}, undedispersed},
    VALUES("products.bank", "channelise.0.name=x", "", "x"),
    NEEDS("products.feed", "products.0.polarisation=IQUV"),
    NEEDS("products.stokes_v", "products.0.polarisation=IQUV"),
    NEEDS("products.sum_weights", "products.0.sum=beams"),
    VALUES("products.droop", NULL, "correct", "file:d"),
    VALUES("products.flag.spectra",
           "products.0={kind: power, file: p.h5, integrate: 4, flag: {mask: m}}", "2", "4"),
    NEEDS("products.flag.channels.range", "products.0.flag.channels=[{range: [1, 2]}]"),
    NEEDS("products.flag.", "products.0.integrate=1024"),
    NEEDS("products.scales", "products.0.bits=8"),
    NEEDS("products.scale_rows", "products.0.bits=8"),
    {"products.scale", NULL, {NULL}, voltages},
    VALUES("products.format", NULL, "", "hdf5"),
    VALUES("dedisperse.input", "products=[{kind: power, file: p.h5}, {kind: power, file: q.h5}]",
           "0", "1"),
    VALUES("dedisperse.dm.list", "dedisperse.0.dm={list: [1]}", "[1]", "[1, 3]"),
    VALUES("dedisperse.dm.count", "dedisperse.0.dm={start: 1, step: 1}", "2", "3"),
    VALUES("dedisperse.dm.step", "dedisperse.0.dm={start: 1, count: 2}", "2", "3"),
    VALUES("dedisperse.dm.start", "dedisperse.0.dm={step: 1, count: 2}", "2", "3"),
    VALUES("dedisperse.dm.downsample", "dedisperse.0.dm={end: 9, tolerance: 2}", "", "none"),
    NEEDS("dedisperse.coherent", "dedisperse=[{dm: [1, 2], file: s.h5}]"),
    NEEDS("dedisperse.edges", "dedisperse=[{dm: [1, 2], file: s.h5}]"),
    NEEDS("dedisperse.dm.", "dedisperse.0.dm={end: 9, tolerance: 2}"),
    VALUES("dedisperse.mask", NULL, "3", "4-5"),
    VALUES("dedisperse.mode", NULL, "brute", "two-step"),
    NEEDS("dedisperse.group", "dedisperse.0.mode=two-step"),
    VALUES("dedisperse.constant", NULL, "tempo", "4149"),
    VALUES("dedisperse.search.widths", NULL, "32", "64"),
};

static const struct sample *sample_of(const char *path)
{
    static const struct sample none = {.path = NULL};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const size_t length = strlen(samples[i].path);
        const int is_below = samples[i].path[length - 1] == '.';
        if (is_below ? strncmp(path, samples[i].path, length) == 0
                     : strcmp(path, samples[i].path) == 0) {
            return &samples[i];
        }
    }
    return &none;
}

/* Value 0, 1 or 2, in ascending order, of a row. */
static void value_of(const struct schema *row, int i, char out[VALUE])
{
    const double width = row->max > row->min && row->max < INFINITY ? row->max - row->min : 16;
    switch (row->type) {
    case SCHEMA_CHOICE:
        snprintf(out, VALUE, "%s", row->choices[i]);
        break;
    case SCHEMA_WHOLE:
        snprintf(out, VALUE, "%.0f", row->min + 2 * i + 2);
        break;
    case SCHEMA_NUMBER:
        snprintf(out, VALUE, "%.9g", row->min + width * (i + 1) / 4);
        break;
    case SCHEMA_BYTES:
        snprintf(out, VALUE, "%dGiB", i + 1);
        break;
    case SCHEMA_UTC:
        snprintf(out, VALUE, "2020-01-01T00:00:0%d", i);
        break;
    default:
        snprintf(out, VALUE, row->parse ? "/@%c" : "%c", 'a' + i);
    }
}

/* "SET=VALUE", with value 0 or 1; "" where the key is not there. */
static void set_of(const struct schema *row, const char *set, const struct sample *sample, int i,
                   char out[PATH + 2 * VALUE])
{
    char first[VALUE];
    char second[VALUE];
    const char *value = sample->values[i];
    if (value && !*value) {
        *out = '\0';
        return;
    }
    value_of(row, row->is_pair ? 0 : i, first);
    value_of(row, i + 1, second);
    if (value) {
        snprintf(out, PATH + 2 * VALUE, "%s=%s", set, value);
    } else if (row->is_pair) {
        snprintf(out, PATH + 2 * VALUE, "%s=[%.99s, %.99s]", set, first, second);
    } else {
        snprintf(out, PATH + 2 * VALUE, "%s=%s", set, first);
    }
}

static int differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

/* Path of a key, and its identity as the mappings around it say it. */
struct place {
    char path[PATH], set[PATH]; /* "products.file", "products.0.file" */
    unsigned without;           /* effect on these products: its own bits and theirs */
};

static int keys, with_unit, wrong;
/* Keys on which no byte depends, one a line. */
static const char without_identity[] = "input.external\n"
                                       "channelise.name\n"
                                       "products.file\n"
                                       "products.bank\n"
                                       "products.format\n"
                                       "dedisperse.input\n"
                                       "dedisperse.backend\n"
                                       "dedisperse.search.file\n"
                                       "dedisperse.search.csv\n"
                                       "dedisperse.file\n"
                                       "run.memory\n"
                                       "run.chunk\n"
                                       "run.align\n"
                                       "run.threads\n"
                                       "run.device\n"
                                       "run.on_bad\n"
                                       "run.fft_planning\n"
                                       "run.device_memory\n"
                                       "run.sync\n";
static struct text found_without;

/* The job with value 0 or 1 of a key; NULL where it is refused. *counts becomes 1 where bytes may
 * depend on that value. */
static struct job *job_of(const struct schema *row, const struct place *place, int i, int *counts)
{
    const struct sample *sample = sample_of(place->path);
    const char *base = sample->job ? sample->job : usual;
    struct job *job = NULL;
    char set[PATH + 2 * VALUE];
    const char *sets[] = {sample->with, NULL};
    uint32_t nsets = sample->with != NULL;
    set_of(row, place->set, sample, i, set);
    sets[nsets] = set;
    nsets += *set != '\0';
    *counts |= !row->only || (*set && strcmp(strchr(set, '=') + 1, row->only) == 0);
    report_clear();
    if (job_parse("job.yaml", base, strlen(base), sets, nsets, &job) != STATUS_OK) {
        print_error("%s: %s\n", set, report_cause());
        wrong++;
    }
    return job;
}

static void compare(const struct place *place, int counts, const struct job *first,
                    const struct job *second)
{
    static const char *const names[] = {"product", "series", "search"};
    const int is_series = strncmp(place->path, "dedisperse.", 11) == 0;
    const struct job_dedisperse *a = first->dedisperse;
    const struct job_dedisperse *b = second->dedisperse;
    const int expected[] = {!is_series && counts && !(place->without & JOB_PRODUCT),
                            a && counts && !(place->without & JOB_SERIES),
                            a && a->search_text && counts && !(place->without & JOB_SEARCH)};
    const int found[] = {differ(first->products[0].text, second->products[0].text),
                         a && differ(a->text, b->text),
                         a && differ(a->search_text, b->search_text)};
    for (int i = 0; i < 3; i++) {
        if (expected[i] != found[i]) {
            print_error("%s: the text of the %s %s\n", place->path, names[i],
                        found[i] ? "differs" : "is the same");
            wrong++;
        }
    }
}

/* A value with a unit makes the text that its number makes. */
static void check_unit(const struct schema *row, const struct place *place, const struct job *first)
{
    static const char *const same[] = {
        [UNITS_FREQUENCY] = "e-6 MHz", [UNITS_RATE] = "e-3ksps", [UNITS_TIME] = "e3 ms",
        [UNITS_ANGLE] = " deg",        [UNITS_DECIBEL] = " dB",  [UNITS_DM] = " pc/cm3"};
    const struct sample *sample = sample_of(place->path);
    const char *base = sample->job ? sample->job : usual;
    char number[VALUE];
    char set[PATH + 2 * VALUE];
    const char *sets[] = {sample->with, set};
    struct job *job = NULL;
    value_of(row, 0, number);
    if (sample->values[0] || row->is_pair) {
        return; /* lists and pairs are of such values */
    }
    snprintf(set, sizeof set, "%s=%s%s", place->set, number,
             strchr(number, 'e') ? units_name(row->unit, 0) : same[row->unit]);
    report_clear();
    const uint32_t skipped = sample->with == NULL;
    if (job_parse("job.yaml", base, strlen(base), sets + skipped, 2 - skipped, &job) != STATUS_OK) {
        print_error("%s: %s\n", set, report_cause());
        wrong++;
        return;
    }
    if (differ(first->products[0].text, job->products[0].text) ||
        (job->dedisperse && differ(first->dedisperse[0].text, job->dedisperse[0].text))) {
        print_error("%s: another text than the number\n", set);
        wrong++;
    }
    with_unit++;
    job_destroy(job);
}

static void check_key(const struct schema *row, const struct place *place)
{
    int counts = 0;
    struct job *first = job_of(row, place, 0, &counts);
    struct job *second = job_of(row, place, 1, &counts);
    if (first && second) {
        compare(place, counts, first, second);
    }
    if (first && row->unit && !row->amount_at) {
        check_unit(row, place, first);
    }
    keys++;
    if (place->without == JOB_ALL) {
        assert_int_equal(text_add(&found_without, "%s\n", place->path), STATUS_OK);
    }
    job_destroy(first);
    job_destroy(second);
}

static void check_rows(const struct schema *rows, const struct place *place);

static void check_row(const struct schema *row, const struct place *up)
{
    struct place place = {.without = up->without | row->without_effect_on};
    snprintf(place.path, PATH, "%.80s%s%.40s", up->path, *up->path ? "." : "", row->key);
    snprintf(place.set, PATH, "%.80s%s%.40s", up->set, *up->set ? "." : "", row->key);
    if (row->instead) {
        check_rows(row->instead->members, &place);
    }
    if (row->type != SCHEMA_MAPPING) {
        check_key(row, &place);
        return;
    }
    if (row->most) {
        strncat(place.set, ".0", PATH - strlen(place.set) - 1);
    }
    check_rows(row->members, &place);
}

static void check_rows(const struct schema *rows, const struct place *place)
{
    for (const struct schema *row = rows; row->key; row++) {
        check_row(row, place);
    }
}

static void every_key_has_the_effect_that_its_row_says(void **state)
{
    const struct place root = {.path = ""};
    (void)state;
    check_rows(job_schema, &root);
    assert_string_equal(found_without.data, without_identity);
    text_free(&found_without);
    assert_int_equal(wrong, 0);
    assert_true(keys >= 150);
    assert_true(with_unit >= 15);
}

/* A key of which one value alone has an effect. */
static void modes_that_sum_alike_have_one_text(void **state)
{
    const char *const brute = "dedisperse.0.mode=brute";
    const char *const tree = "dedisperse.0.mode=tree";
    (void)state;
    struct job *first = accepted(usual, &brute, 1);
    struct job *second = accepted(usual, &tree, 1);
    assert_string_equal(first->dedisperse[0].text, second->dedisperse[0].text);
    job_destroy(first);
    job_destroy(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_that_sum_alike_have_one_text),
        cmocka_unit_test(every_key_has_the_effect_that_its_row_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
