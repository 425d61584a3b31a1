/* input.layout: its words, the axes, and values that the files say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/job_layout.h"
#include "job/job_schema.h"
#include "job/yaml/yaml_file.h"
#include "small_job.h"

#include <stdlib.h>
#include <string.h>

/* "input.layout={dataset: d, axes: time, MORE}" is refused with "input.layout.MESSAGE". */
static void layout_refused(const char *more, const char *message)
{
    char set[256];
    char expected[768];
    snprintf(set, sizeof set, "input.layout={dataset: d, %s}", more);
    snprintf(expected, sizeof expected, "input.layout.%s", message);
    set_refused(set, expected);
}

/* Types of numbers as SigMF writes them, with and without domain and order. */
static void types_are_read(void **state)
{
    static const struct {
        const char *text;
        struct number_type type;
    } right[] = {{"i8", {0, 0, 'i', 8, 0}},       {"cu8", {1, 1, 'u', 8, 0}},
                 {"ri16_le", {1, 0, 'i', 16, 0}}, {"cf32_be", {1, 1, 'f', 32, 1}},
                 {"i24_be", {0, 0, 'i', 24, 1}},  {"f64", {0, 0, 'f', 64, 0}}};
    static const char *const wrong[] = {"",       "i",   "i12",   "f8",      "u24",       "ci8_",
                                        "ci8_xe", "xi8", "i16le", "i16_le ", "i16_le_be", "cc8"};
    struct number_type type;
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(number_type_parse(right[i].text, &type));
        assert_int_equal(type.has_domain, right[i].type.has_domain);
        assert_int_equal(type.is_complex, right[i].type.is_complex);
        assert_int_equal(type.kind, right[i].type.kind);
        assert_int_equal(type.bits, right[i].type.bits);
        assert_int_equal(type.is_big_endian, right[i].type.is_big_endian);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(number_type_parse(wrong[i], &type));
    }
}

static void wrong_layouts(void **state)
{
    (void)state;
    layout_refused("axes: pol", "axes: is pol: the axis time is missing");
    layout_refused("axes: time, sample_rate_hz: 0",
                   "sample_rate_hz: is 0, expected a number above 0, at most 1e+15 sps");
    layout_refused("axes: time, packing: 4+4", "packing: is 4+4, expected " PACKING_TEXTS);
    layout_refused("axes: time, packing: 8 bit offset high first",
                   "packing: is \"8 bit offset high first\", expected " PACKING_TEXTS);
    layout_refused("axes: time, missing_value: none", "missing_value: is none, expected a number");
    layout_refused("axes: time, sideband: 0", "sideband: is 0, expected one of 1, -1, +1");
    layout_refused("axes: time, files_along: freq",
                   "files_along: is freq, expected one of time, station, beam, pol, chan, reim, or "
                   "one of them followed by ,reim");
    layout_refused("axes: time, freq_hz: [1, x]",
                   "freq_hz.1: is x, expected a number, or a list of them");
    layout_refused("axes: time, start: yesterday",
                   "start: is yesterday, expected a UTC date and time such as "
                   "2014-06-29T01:39:20");
    static const char *const ratios[] = {"27/32", "26/27",   "1/0",      "2",
                                         "1.5/1", "32/27/1", "1000001/1"};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        char more[64];
        char message[128];
        snprintf(more, sizeof more, "axes: time, oversampling: %s", ratios[i]);
        snprintf(message, sizeof message,
                 "oversampling: is %s, expected a ratio of at least 1, such as 32/27", ratios[i]);
        layout_refused(more, message);
    }
    layout_refused("axes: 'time,reim', domain: real",
                   "domain: is real, but the axes contain reim, which complex samples have");
    layout_refused("axes: time, domain: real, packing: 4+4 offset hi=re",
                   "domain: is real, but samples with a packing of 4+4 bits are complex");
    layout_refused(
        "axes: 'time,reim', packing: 4+4 offset hi=re",
        "packing: both parts of a packed sample share a byte, but the axes contain reim");
}

static void axes_are_read(void **state)
{
    (void)state;
    struct axes_text axes;
    char message[AXES_TEXT_MESSAGE];
    assert_true(axes_text_parse(" station ,time,chan:512 * beam*pol:2 , reim:2", &axes, message));
    assert_int_equal(axes.ndims, 4);
    assert_int_equal(axes.dim[0].part[0], AXIS_STATION);
    assert_int_equal(axes.dim[1].nparts, 1);
    assert_int_equal(axes.dim[1].part[0], AXIS_TIME);
    assert_int_equal(axes.dim[2].nparts, 3);
    assert_int_equal(axes.dim[2].part[0], AXIS_CHAN);
    assert_int_equal(axes.dim[2].size[0], 512);
    assert_int_equal(axes.dim[2].part[1], AXIS_BEAM);
    assert_int_equal(axes.dim[2].size[1], 0);
    assert_int_equal(axes.dim[2].size[2], 2);
    assert_int_equal(axes.dim[3].size[0], 2);
    assert_true(axes_text_has(&axes, AXIS_POL));
    assert_true(axes_text_parse("time", &axes, message));
    assert_false(axes_text_has(&axes, AXIS_POL));
    assert_false(axes_text_in_pieces(&axes));
    assert_true(axes_text_parse("time,station,beam,pol,chan,reim,time:256", &axes, message));
    assert_int_equal(axes.ndims, 7);
    assert_int_equal(axes.dim[6].size[0], 256);
    assert_true(axes_text_in_pieces(&axes));
}

static struct job *described(const char *more)
{
    char set[512];
    snprintf(set, sizeof set, "input.layout={dataset: d, axes: time, %s}", more);
    return small_with(set);
}

static void what_the_file_says(void **state)
{
    (void)state;
    struct job *job = described("sample_period_s: {attribute: /@dt, unit: us}, "
                                "start: {attribute: '@t0', unit: unix}, telescope: {attribute: "
                                "/a/b@tel}, dec_deg: 5, ra_deg: {attribute: /@ra, unit: hours}");
    const struct job_layout *layout = &job->layout;
    assert_false(layout->time.has_sample_rate || layout->time.has_sample_period ||
                 layout->time.has_start);
    assert_string_equal(layout->said[SAID_SAMPLE_PERIOD].attribute, "/@dt");
    assert_int_equal(layout->said[SAID_SAMPLE_PERIOD].unit, UNIT_US);
    assert_string_equal(layout->said[SAID_START].attribute, "@t0");
    assert_int_equal(layout->said[SAID_START].unit, UNIT_UNIX);
    assert_null(layout->sky.telescope);
    assert_string_equal(layout->said[SAID_TELESCOPE].attribute, "/a/b@tel");
    assert_int_equal(layout->said[SAID_TELESCOPE].unit, UNIT_NONE);
    assert_true(layout->sky.has_dec && layout->sky.dec_deg == 5 && !layout->sky.has_ra);
    assert_null(layout->said[SAID_SOURCE].attribute);
    job_destroy(job);
    job = described("freq_hz: {from: /f, member: centre, unit: MHz}, dc: lower, offset: 127.5");
    assert_string_equal(job->layout.freq.rule.from, "/f");
    assert_string_equal(job->layout.freq.rule.member, "centre");
    assert_int_equal(job->layout.freq.rule.unit, UNIT_MHZ);
    assert_int_equal(job->layout.freq.count, 0);
    assert_true(job->layout.has_dc && job->layout.is_dc_at_edge);
    assert_true(job->layout.numbers.has_offset && job->layout.numbers.offset == 127.5);
    job_destroy(job);
    job = described(
        "freq_hz: {start: 1e9, step: -1e6}, dc: centre, first_sample: [0, 7], dropped: ignore");
    assert_true(job->layout.freq.rule.has_start);
    assert_true(job->layout.freq.rule.start == 1e9 && job->layout.freq.rule.step == -1e6);
    assert_true(job->layout.has_dc && !job->layout.is_dc_at_edge);
    assert_true(job->layout.has_dropped && job->layout.ignores_dropped);
    assert_int_equal(job->layout.time.nfirst_sample, 2);
    assert_int_equal(job->layout.time.first_sample[1], 7);
    job_destroy(job);
    job = described("files_along: 'pol,reim'");
    assert_int_equal(job->layout.files_along, AXIS_POL);
    assert_true(job->layout.is_reim_along);
    job_destroy(job);
    job = described("files_along: reim");
    assert_int_equal(job->layout.files_along, AXIS_TIME);
    assert_true(job->layout.is_reim_along);
    job_destroy(job);
    job = small_with("input.layout={parts: {re: /a, im: /b}, axes: time}");
    assert_false(job->layout.automatic);
    assert_string_equal(job->layout.parts[1], "/b");
    job_destroy(job);
}

/* Values from the file go where those of the job would have gone. */
static void put_from_the_file(void **state)
{
    (void)state;
    struct job_layout layout = {.automatic = 0};
    char message[768];
    int ok = 0;
    static const struct {
        enum job_said_key key;
        const char *right, *wrong;
    } values[] = {{SAID_DOMAIN, "real", "both"},
                  {SAID_SAMPLE_RATE, "1e6", "-1"},
                  {SAID_SAMPLE_PERIOD, "2.56e-6", "0"},
                  {SAID_PACKING, "2 bit offset high first", "3 bit"},
                  {SAID_SIDEBAND, "-1", "0"},
                  {SAID_DC, "upper", "edge"},
                  {SAID_START, "2014-06-29T01:39:20", "yesterday"},
                  {SAID_FIRST_SAMPLE, "18446744073709", "-1"},
                  {SAID_OVERSAMPLING, "32/27", "27/32"},
                  {SAID_RA, "5", "400"},
                  {SAID_DEC, "-5", "-91"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_int_equal(job_layout_put(&layout, values[i].key, values[i].wrong, message, &ok), 0);
        assert_false(ok);
        assert_int_equal(job_layout_put(&layout, values[i].key, values[i].right, message, &ok), 0);
        assert_true(ok);
    }
    assert_true(layout.has_domain && !layout.is_complex);
    assert_true(layout.time.has_sample_rate && layout.time.sample_rate_hz == 1e6);
    assert_true(layout.time.has_sample_period && layout.time.sample_period_s == 2.56e-6);
    assert_true(layout.numbers.has_packing && layout.numbers.packing.bits == 2 &&
                layout.numbers.packing.is_offset && layout.numbers.packing.is_high_bit_first);
    assert_true(layout.time.has_start && layout.time.start.mjd_day == 56837);
    assert_int_equal(layout.time.nfirst_sample, 1);
    assert_true(layout.time.first_sample[0] == 18446744073709);
    assert_int_equal(layout.oversample.den, 27);
    assert_true(layout.sky.has_ra && layout.sky.ra_deg == 5 && layout.sky.dec_deg == -5);
    free(layout.time.first_sample);
    char expected[768];
    assert_string_equal(job_layout_key(SAID_DC, expected), "dc");
    assert_string_equal(expected, "one of centre, lower, upper");
}

static void wrong_words_of_the_file(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"axes: time, sample_rate_hz: {attribute: dt}",
         "sample_rate_hz.attribute: is dt, expected an attribute of the file, such as "
         "/@delta_time or /data@rate"},
        {"axes: time, sample_rate_hz: {unit: Hz}",
         "sample_rate_hz.attribute: is missing, expected an attribute of the file, such as "
         "/@delta_time or /data@rate"},
        {"axes: time, sample_period_s: {attribute: /@dt, unit: Hz}",
         "sample_period_s.unit: is Hz, expected one of s, ms, us, ns"},
        {"axes: time, telescope: {attribute: /@tel, unit: s}",
         "telescope.unit: unknown key, expected one of attribute"},
        {"axes: time, freq_hz: {start: 1}",
         "freq_hz.step: is missing, expected start and step: the first centre in Hz, and how far "
         "the next is above it"},
        {"axes: time, freq_hz: {member: a}",
         "freq_hz: has none of start, from, attribute, expected exactly one"},
        {"axes: time, freq_hz: {start: 1, step: 1, unit: MHz}",
         "freq_hz.unit: is for frequencies from the file"},
        {"axes: time, sample_rate_hz: 1, sample_period_s: 1",
         "sample_period_s: says what sample_rate_hz says, expected one of them"},
        {"axes: time, offset: 1, packing: 8 bit offset",
         "offset: is for numbers that are not packed, but there is a packing"},
        {"axes: time, files_along: 'reim,pol'",
         "files_along: is \"reim,pol\", expected one of time, station, beam, pol, chan, reim, or "
         "one of them followed by ,reim"},
        {"axes: 'time,reim', files_along: reim", "files_along: real and imaginary parts are in "
                                                 "files of their own, but the axes contain reim"},
        {"axes: time, parts: {re: a, im: b}",
         "parts: names the datasets of real and imaginary parts, dataset one that contains both: "
         "expected one or the other"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        layout_refused(wrong[i][0], wrong[i][1]);
    }
}

static void wrong_axes(void **state)
{
    (void)state;
    static const char size[] = "expected a size from 1 to 1099511627776 behind ':'";
    static const char *const wrong[][2] = {
        {"", "expected an axis at the end"},
        {"time,", "expected an axis at the end"},
        {"time,,pol", "expected an axis before \",pol\""},
        {"time pol", "expected ',' or the end before \"pol\""},
        {"times", "no axis is called times, expected time, station, beam, pol, chan or reim"},
        {"pol", "the axis time is missing"},
        {"time,pol,pol", "the axis pol stands there twice"},
        {"pol,time,chan,time", "the axis time stands there twice, and not outermost"},
        {"time,pol,time,chan,time", "the axis time stands there twice, and not outermost"},
        {"time,station,beam,pol,chan,reim,time,pol", "the axis pol stands there twice"},
        {"time*pol:2", "the axis time cannot be joined with others"},
        {"time,chan*pol", "of axes joined by '*', all but one need a size, such as chan:2*pol"},
        {"time,reim:3", "the axis reim has size 2"},
        {"time,pol:0", size},
        {"time,pol:", size},
        {"time,pol:-1", size},
        {"time,pol:1099511627777", size},
        {"time,pol:100000000000000000000000", size},
        {"time,pol:1099511627776*chan:1099511627776", "the sizes are absurdly large together"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct axes_text axes;
        char message[AXES_TEXT_MESSAGE] = "";
        assert_false(axes_text_parse(wrong[i][0], &axes, message));
        assert_string_equal(message, wrong[i][1]);
    }
}

/* All keys of `input`, given plainly and by attributes: a child process opens the same input. */
static const char *const whole_inputs[] = {
    "input:\n"
    "  files: [a.h5, b.h5]\n"
    "  external: [/x, /y]\n"
    "  select: {seconds: [1, 2.5], stations: [CS1, 3..4], beams: 0, pols: X, chans: [1, 2],\n"
    "           freq_hz: [1e8, 2e8]}\n"
    "  layout: {format: vdif, dataset: /d, axes: 'time,station,chan:2*pol:2', files_along: "
    "'pol,reim',\n"
    "           sample_rate_hz: 1e6, packing: 2 bit offset, levels: [-3, -1, 1, 3], offset: 1.5,\n"
    "           missing_value: -128, scale: 2, sideband: -1, dc: lower, freq_hz: [1e8, 2e8],\n"
    "           start: '2014-06-29T01:39:20.25', first_sample: [0, 100], oversampling: 32/27,\n"
    "           telescope: T, source: S, ra_deg: 1, dec_deg: -2, station: AB, domain: complex,\n"
    "           streams: [{thread: 1, channel: 2, pol: X, freq_hz: 1e9, sideband: -1, dc: "
    "lower}]}\n",
    "input:\n"
    "  files: a.h5\n"
    "  select: {utc: ['2014-06-29T01:39:20', '2014-06-29T01:39:30']}\n"
    "  layout: {parts: {re: /r, im: /i}, axes: time, sample_period_s: {attribute: /@dt, unit: "
    "us},\n"
    "           freq_hz: {start: 1e8, step: 1e6}, start: {attribute: /@t, unit: unix},\n"
    "           packing: {attribute: /d@p}, oversampling: {attribute: /@o}}\n",
};

static struct text packed_input(const struct job *job)
{
    struct text out = {0};
    assert_int_equal(job_pack_input(&out, job), STATUS_OK);
    return out;
}

static void input_reaches_a_child_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole_inputs / sizeof *whole_inputs; i++) {
        struct mistakes mistakes = {.file = "job.yaml"};
        struct tree *root = NULL;
        struct job *job = calloc(1, sizeof *job);
        struct job *child = NULL;
        assert_int_equal(yaml_file_read(whole_inputs[i], strlen(whole_inputs[i]), NULL, 0, NULL,
                                        &mistakes, &root),
                         STATUS_OK);
        assert_int_equal(schema_fill(tree_member(root, "input"), job_input_schema, &mistakes, job),
                         STATUS_OK);
        status_t st = mistakes_report(&mistakes);
        assert_string_equal(report_cause(), "");
        assert_int_equal(st, STATUS_OK);
        struct text sent = packed_input(job);
        struct unpack in = {.data = sent.data, .length = sent.length};
        assert_int_equal(job_unpack_input(&in, &child), STATUS_OK);
        assert_true(in.at == in.length);
        struct text again = packed_input(child);
        assert_int_equal(again.length, sent.length);
        assert_memory_equal(again.data, sent.data, sent.length);
        assert_int_equal(child->layout.oversample.num, job->layout.oversample.num);
        assert_int_equal(child->layout.oversample.den, job->layout.oversample.den);
        assert_int_equal(child->layout.is_reim_along, i == 0);
        assert_int_equal(child->layout.numbers.nlevels, i == 0 ? 4 : 0);
        assert_true(child->select.to_second == job->select.to_second);
        text_free(&sent);
        text_free(&again);
        tree_destroy(root);
        mistakes_free(&mistakes);
        job_destroy(child);
        job_destroy(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_read),    cmocka_unit_test(wrong_layouts),
        cmocka_unit_test(axes_are_read),     cmocka_unit_test(what_the_file_says),
        cmocka_unit_test(put_from_the_file), cmocka_unit_test(wrong_words_of_the_file),
        cmocka_unit_test(wrong_axes),        cmocka_unit_test(input_reaches_a_child_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
