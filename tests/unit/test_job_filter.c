/* Filters and voltages of a job: every key, what must go together, and what of it is in the text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small_job.h"

static const char chain[] = "input: {files: a.h5}\n"
                            "filter:\n"
                            "- coefficients: c.txt\n"
                            "  decimate: 4\n"
                            "  method: direct\n"
                            "  delay: keep\n"
                            "  edges: pad\n"
                            "  aliasing: allow\n"
                            "  backend: cpu\n"
                            "- design: {kind: bandstop, edges: [1e6, 1.1e6, 1.2e6, 1.4e6],\n"
                            "    offset: true, ripple: 0.01, attenuation: 80}\n"
                            "- dispersion: {dm: 26.5, reference: 1.4e9, constant: handbook}\n"
                            "channelise: {channels: 1024}\n"
                            "products: [{kind: power, file: p.h5}]\n";

static void filters(void **state)
{
    (void)state;
    struct job *job = accepted(chain, NULL, 0);
    assert_int_equal(job->nfilters, 3);
    const struct job_filter *filter = job->filters;
    assert_int_equal(filter->source, FILTER_COEFFICIENTS);
    assert_string_equal(filter->coefficients, "c.txt");
    assert_int_equal(filter->decimate, 4);
    assert_int_equal(filter->method, FILTER_DIRECT);
    assert_true(filter->keeps_delay && filter->is_padded && filter->may_alias);
    assert_null(filter->taps);
    assert_int_equal(job->backend, BACKEND_CPU);
    filter++;
    assert_int_equal(filter->source, FILTER_DESIGN);
    assert_int_equal(filter->design.kind, BAND_BANDSTOP);
    assert_int_equal(filter->design.nedges, 4);
    assert_true(filter->design.edges[3] == 1.4e6 && filter->design.is_offset);
    assert_true(filter->design.ripple == 0.01 && filter->design.attenuation == 80);
    assert_int_equal(filter->decimate, 1);
    assert_int_equal(filter->method, FILTER_AUTO);
    assert_false(filter->keeps_delay || filter->is_padded || filter->may_alias);
    filter++;
    assert_int_equal(filter->source, FILTER_DISPERSION);
    assert_true(filter->dispersion.dm == 26.5 && filter->dispersion.reference_hz == 1.4e9);
    assert_string_equal(filter->dispersion.constant, "handbook");
    job_destroy(job);
    job = small_with("filter={design: {kind: lowpass, edges: [100, 200]}}");
    assert_int_equal(job->nfilters, 1);
    assert_false(job->filters->design.is_offset);
    assert_true(job->filters->design.ripple == 0.1 && job->filters->design.attenuation == 60);
    assert_int_equal(job->backend, BACKEND_AUTO);
    job_destroy(job);
    job = small_with("filter={dispersion: {dm: 5, reference: channel}}");
    assert_true(job->filters->dispersion.reference_hz == 0);
    assert_null(job->filters->dispersion.constant);
    job_destroy(job);
}

static void wrong_filters(void **state)
{
    (void)state;
    set_refused(
        "filter={decimate: 2}",
        "filter: has none of coefficients, design, dispersion, deripple, expected exactly one");
    set_refused("filter=[{coefficients: c, dispersion: {dm: 1}}]",
                "filter.0: has more than one of coefficients, design, dispersion, deripple, "
                "expected exactly "
                "one");
    set_refused("filter.design={kind: lowpass}",
                "filter.design.edges: is missing, expected 2 frequencies in Hz (lowpass, highpass) "
                "or 4 (bandpass, bandstop)");
    set_refused("filter.design={kind: notch, edges: [1, 2]}",
                "filter.design.kind: is notch, expected one of lowpass, highpass, bandpass, "
                "bandstop");
    set_refused("filter.design={kind: bandpass, edges: [1, 2]}",
                "filter.design.edges: has 2 entries, expected 4: a bandpass has two transitions");
    set_refused("filter.design={kind: highpass, edges: [1, 2, 3]}",
                "filter.design.edges: has 3 entries, expected 2: a highpass has one transition");
    set_refused("filter.design={kind: lowpass, edges: [2, 2]}",
                "filter.design.edges.1: is 2, expected more than the 2 before it");
    set_refused("filter={coefficients: c, decimate: 0}",
                "filter.decimate: is 0, expected a whole number from 1 to 16777216");
    set_refused("filter={coefficients: c, method: fft}",
                "filter.method: is fft, expected one of auto, direct, overlap-save");
    set_refused("filter={dispersion: {dm: 1, reference: centre}}",
                "filter.dispersion.reference: is centre, expected channel, or a frequency in Hz "
                "above 0, at most 1e15");
    set_refused("filter={dispersion: {dm: 1}, method: direct}",
                "filter.method: is direct, but dispersion goes through transforms, expected auto "
                "or overlap-save");
    set_refused("filter={dispersion: {dm: 1}, decimate: 2}",
                "filter.decimate: aliases the band, which dispersion passes whole, expected 1, or "
                "aliasing: allow where a filter before has narrowed it");
    set_refused("filter=[{coefficients: c, backend: cpu}, {coefficients: c, backend: opencl}]",
                "filter.1.backend: is opencl, but filter.0.backend is cpu: filters and filter "
                "banks have one backend");
    refused("input: {files: a.h5}\nfilter: {coefficients: ./p.h5}\nchannelise: {channels: 2}\n"
            "products: [{kind: power, file: p.h5}]\n",
            "job.yaml:4: products.0.file: is the same as filter.coefficients, expected a file of "
            "its own");
    refused("input: {files: a.h5}\nfilter: {coefficients: c}\n"
            "dedisperse: {dm: [1], file: s.h5}\n",
            "job.yaml:2: filter: is for voltages, but without channelise the input is a "
            "filterbank (FBH5)");
    refused("input: {files: a.h5}\nfilter: {coefficients: c}\nchanelise: {channels: 2}\n"
            "products: [{kind: power, file: s.h5}]\n",
            "job.yaml:3: chanelise: unknown key, did you mean channelise?");
}

#define CUT                                                                                        \
    "input: {files: a.h5}\n"                                                                       \
    "products: [{kind: voltages, file: v.h5}]\n"

/* Filtered or cut, without a filter bank. */
static void voltages(void **state)
{
    (void)state;
    static const char *const set = "products.0.file=again.h5";
    struct job *job = accepted(CUT, NULL, 0);
    assert_true(job_reads_voltages(job));
    assert_int_equal(job->nbanks, 0);
    assert_int_equal(job->products[0].kind, PRODUCT_VOLTAGES);
    assert_int_equal(job->products[0].steps.bits, 32);
    assert_true(job->products[0].scale == 1);
    assert_int_equal(job->backend, BACKEND_AUTO);
    job_destroy(job);
    job = accepted("input: {files: a.h5}\nfilter: [{coefficients: c}, {dispersion: {dm: 1}, "
                   "backend: cpu}]\n"
                   "products: {kind: voltages, bits: 8, scale: 0.5, file: v.h5}\n",
                   NULL, 0);
    assert_int_equal(job->backend, BACKEND_CPU);
    assert_int_equal(job->products[0].steps.bits, 8);
    assert_true(job->products[0].scale == 0.5);
    struct job *again = accepted(job->products[0].text, &set, 1);
    assert_string_equal(again->products[0].text, job->products[0].text);
    job_destroy(again);
    job_destroy(job);
}

static void wrong_voltages(void **state)
{
    (void)state;
    refused(
        "input: {files: a.h5}\nproducts: [{kind: voltages, file: v.h5}, {kind: power, file: "
        "p.h5},\n {kind: voltages, file: w.h5}]\n",
        "job.yaml has 2 mistakes:\n"
        "  job.yaml:2: products.1.kind: is power, which needs channelise: beside voltages there "
        "is no other product\n"
        "  job.yaml:3: products.2.kind: is voltages, expected one such product, alone");
    set_refused("products.1={kind: voltages, file: v.h5}",
                "products.1.kind: is voltages, which a job without channelise writes, alone");
    refused(CUT "dedisperse: {dm: [1], file: s.h5}\n",
            "job.yaml:2: products: expected none without channelise: dedisperse has a file of its "
            "own");
    refused(
        CUT "channelise: {channels: 16}\n",
        "job.yaml:2: products.0.kind: is voltages, which a job without channelise writes, alone");
    refused("input: {files: a.h5}\nproducts: [{kind: voltages, bits: 8, file: v.h5}]\n",
            "job.yaml:2: products.0.scale: is missing, expected the volts of 1 as it is stored: 8 "
            "bits hold whole numbers");
    refused(CUT "run: {on_bad: nan}\n",
            "job.yaml:3: run.on_bad: is nan, but voltages have no rows that are marked: what "
            "cannot be read must stop the run, or be left out by input.select");
}

/* Each effect of a filter on the bytes of a product is in its text. */
static void the_text_has_the_filters(void **state)
{
    (void)state;
    static const char *const set = "products.0.file=again.h5";
    struct job *job = accepted(chain, NULL, 0);
    const char *text = job->products[0].text;
    assert_non_null(strstr(text, "filter:\n- coefficients: c.txt\n  decimate: 4\n"));
    assert_non_null(strstr(text, "  backend: cpu\n- design:\n    kind: bandstop\n"));
    struct job *again = accepted(text, &set, 1);
    assert_string_equal(again->products[0].text, text);
    assert_int_equal(again->nfilters, 3);
    job_destroy(again);
    job_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters),
        cmocka_unit_test(wrong_filters),
        cmocka_unit_test(voltages),
        cmocka_unit_test(wrong_voltages),
        cmocka_unit_test(the_text_has_the_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
