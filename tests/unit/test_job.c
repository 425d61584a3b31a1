/* Jobs: every key, its default and its limits, and the text that determines a product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "job/axes_text.h"
#include "job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL                                                                                      \
    "input: {files: a.h5}\n"                                                                       \
    "channelise: {channels: 1024}\n"                                                               \
    "products: [{kind: power, file: p.h5}]\n"

static struct job *accepted(const char *text, const char *const *sets, uint32_t nsets)
{
    struct job *job = NULL;
    report_clear();
    status_t st = job_parse("job.yaml", text, strlen(text), sets, nsets, &job);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    return job;
}

static void refused(const char *text, const char *message)
{
    struct job *job = NULL;
    report_clear();
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_USAGE);
    assert_null(job);
    assert_string_equal(report_cause(), message);
    report_clear();
}

/* A small job with one override is refused with "--set SET: MESSAGE". */
static void set_refused(const char *set, const char *message)
{
    struct job *job = NULL;
    char expected[1024];
    snprintf(expected, sizeof expected, "--set %s: %s", set, message);
    report_clear();
    assert_int_equal(job_parse("job.yaml", SMALL, strlen(SMALL), &set, 1, &job), STATUS_USAGE);
    assert_null(job);
    assert_string_equal(report_cause(), expected);
    report_clear();
}

static struct job *small_with(const char *set)
{
    return accepted(SMALL, &set, 1);
}

static void defaults(void **state)
{
    (void)state;
    struct job *job = accepted(SMALL, NULL, 0);
    assert_string_equal(job->path, "job.yaml");
    assert_int_equal(job->nfiles, 1);
    assert_string_equal(job->files[0], "a.h5");
    assert_true(job->layout.automatic);
    assert_null(job->layout.dataset);
    assert_int_equal(job->layout.files_along, AXIS_TIME);
    assert_int_equal(job->select.kind, SELECT_ALL);
    assert_int_equal(job->select.nstreams[AXIS_POL], 0);
    assert_int_equal(job->channels, 1024);
    assert_int_equal(job->taps, 8);
    assert_int_equal(job->window.kind, WINDOW_HANN);
    assert_null(job->window.path);
    assert_true(job->cutoff == 1);
    assert_int_equal(job->normalise, NORMALISE_ENERGY);
    assert_int_equal(job->order, ORDER_ASCENDING);
    assert_int_equal(job->backend, BACKEND_AUTO);
    assert_int_equal(job->nproducts, 1);
    assert_int_equal(job->products[0].kind, PRODUCT_POWER);
    assert_string_equal(job->products[0].file, "p.h5");
    assert_int_equal(job->products[0].integrate, 1);
    assert_int_equal(job->memory, 1 << 30);
    assert_int_equal(job->chunk_spectra, 0);
    assert_int_equal(job->threads, 0);
    job_destroy(job);
    job_destroy(NULL);
}

static const char full[] = "input:\n"
                           "  files: [a.h5, 'b*.h5']\n"
                           "  layout:\n"
                           "    dataset: /x/voltages\n"
                           "    axes: time, chan:2*pol, reim\n"
                           "    files_along: chan\n"
                           "    domain: complex\n"
                           "    sample_rate_hz: 925925.926\n"
                           "    missing_value: -128\n"
                           "    sideband: -1\n"
                           "    freq_hz: [100e6, 101e6]\n"
                           "    start: 2014-06-29T01:39:20.5\n"
                           "    oversampling: 32/27\n"
                           "    telescope: SKA-Low\n"
                           "    source: B0329+54\n"
                           "  select:\n"
                           "    samples: [1e3, 4611686018427387904]\n"
                           "    stations: [CS001, 7]\n"
                           "    pols: x\n"
                           "    chans: 3\n"
                           "channelise:\n"
                           "  channels: 4096\n"
                           "  taps: 16\n"
                           "  window: kaiser:8.5\n"
                           "  cutoff: 0.9\n"
                           "  normalise: peak\n"
                           "  order: fft\n"
                           "  backend: reference\n"
                           "products:\n"
                           "  - kind: spectra\n"
                           "    file: s.h5\n"
                           "run:\n"
                           "  memory: 64MiB\n"
                           "  chunk: 10\n"
                           "  threads: 4\n";

static void every_key_of_the_layout(void **state)
{
    (void)state;
    struct job *job = accepted(full, NULL, 0);
    const struct job_layout *layout = &job->layout;
    assert_int_equal(job->nfiles, 2);
    assert_string_equal(job->files[1], "b*.h5");
    assert_false(layout->automatic);
    assert_string_equal(layout->dataset, "/x/voltages");
    assert_string_equal(layout->axes, "time, chan:2*pol, reim");
    assert_int_equal(layout->files_along, AXIS_CHAN);
    assert_true(layout->has_domain && layout->is_complex);
    assert_true(layout->has_sample_rate && layout->sample_rate_hz == 925925.926);
    assert_false(layout->has_packing);
    assert_true(layout->has_missing_value && layout->missing_value == -128);
    assert_true(layout->has_sideband && layout->sideband == -1);
    assert_int_equal(layout->nfreq, 2);
    assert_true(layout->freq_hz[0] == 100e6 && layout->freq_hz[1] == 101e6);
    assert_true(layout->has_start);
    assert_int_equal(layout->start.mjd_day, 56837);
    assert_true(layout->start.second == 3600 + 39 * 60 + 20.5);
    assert_true(layout->has_oversampling);
    assert_int_equal(layout->oversampling_num, 32);
    assert_int_equal(layout->oversampling_den, 27);
    assert_string_equal(layout->telescope, "SKA-Low");
    assert_string_equal(layout->source, "B0329+54");
    job_destroy(job);
}

static void every_other_key(void **state)
{
    (void)state;
    struct job *job = accepted(full, NULL, 0);
    assert_int_equal(job->select.kind, SELECT_SAMPLES);
    assert_int_equal(job->select.first_sample, 1000);
    assert_true(job->select.end_sample == 4611686018427387904u);
    assert_int_equal(job->select.nstreams[AXIS_STATION], 2);
    assert_string_equal(job->select.streams[AXIS_STATION][1], "7");
    assert_int_equal(job->select.nstreams[AXIS_BEAM], 0);
    assert_string_equal(job->select.streams[AXIS_POL][0], "x");
    assert_string_equal(job->select.streams[AXIS_CHAN][0], "3");
    assert_int_equal(job->channels, 4096);
    assert_int_equal(job->taps, 16);
    assert_int_equal(job->window.kind, WINDOW_KAISER);
    assert_true(job->window.kaiser_beta == 8.5);
    assert_true(job->cutoff == 0.9);
    assert_int_equal(job->normalise, NORMALISE_PEAK);
    assert_int_equal(job->order, ORDER_FFT);
    assert_int_equal(job->backend, BACKEND_REFERENCE);
    assert_int_equal(job->products[0].kind, PRODUCT_SPECTRA);
    assert_int_equal(job->memory, 64 << 20);
    assert_int_equal(job->chunk_spectra, 10);
    assert_int_equal(job->threads, 4);
    job_destroy(job);
}

static void alternatives(void **state)
{
    (void)state;
    struct job *job = small_with("channelise.window=file:/w/my window.txt");
    assert_int_equal(job->window.kind, WINDOW_FILE);
    assert_string_equal(job->window.path, "/w/my window.txt");
    job_destroy(job);
    job = small_with("channelise.cutoff=0");
    assert_true(job->cutoff == 0);
    job_destroy(job);
    job = small_with("input.layout=auto");
    assert_true(job->layout.automatic);
    job_destroy(job);
    job = small_with("run={chunk: auto, threads: auto, memory: 2 GB}");
    assert_int_equal(job->chunk_spectra, 0);
    assert_int_equal(job->threads, 0);
    assert_int_equal(job->memory, 2000000000);
    job_destroy(job);
    job = small_with("input.select.seconds=[0, 1.5]");
    assert_int_equal(job->select.kind, SELECT_SECONDS);
    assert_true(job->select.from_second == 0 && job->select.to_second == 1.5);
    job_destroy(job);
    job = small_with("input.select.utc=[2014-06-29, 2014-06-29T12:00]");
    assert_int_equal(job->select.kind, SELECT_UTC);
    assert_int_equal(job->select.to_utc.mjd_day, 56837);
    assert_true(job->select.to_utc.second == 43200);
    job_destroy(job);
    job = small_with("input.layout={dataset: d, axes: time, freq_hz: 1e8, sideband: +1,"
                     " packing: 4+4 two's complement lo=re}");
    assert_int_equal(job->layout.nfreq, 1);
    assert_int_equal(job->layout.sideband, 1);
    assert_true(job->layout.has_packing);
    assert_false(job->layout.packing.nibbles.offset_binary);
    assert_false(job->layout.packing.nibbles.high_is_real);
    job_destroy(job);
}

static void ten_mistakes_at_once(void **state)
{
    (void)state;
    refused("input:\n"
            "  layout:\n"
            "    dataset: /d\n"
            "    axes: time,tiem\n"
            "    domain: cplx\n"
            "channelise:\n"
            "  channels: 1023\n"
            "  taps: 0\n"
            "  windw: hann\n"
            "  cutoff: wide\n"
            "products:\n"
            "  - kind: power\n"
            "    file: a.h5\n"
            "    integrate: 0\n"
            "  - integrate: 1.5\n"
            "    kind: power\n"
            "    file: ./a.h5\n"
            "run:\n"
            "  memory: 10MiB\n",
            "job.yaml has 11 mistakes:\n"
            "  job.yaml:1: input.files: is missing, expected the path of a file, or a list of "
            "them\n"
            "  job.yaml:4: input.layout.axes: is \"time,tiem\": no axis is called tiem, expected "
            "time, station, beam, pol, chan or reim\n"
            "  job.yaml:5: input.layout.domain: is cplx, expected one of complex, real\n"
            "  job.yaml:7: channelise.channels: is 1023, expected an even whole number from 2 to "
            "1073741824\n"
            "  job.yaml:8: channelise.taps: is 0, expected a whole number from 1 to 16777216\n"
            "  job.yaml:9: channelise.windw: unknown key, did you mean window?\n"
            "  job.yaml:10: channelise.cutoff: is wide, expected a number from 0 to 64\n"
            "  job.yaml:14: products.0.integrate: is 0, expected a whole number from 1 to "
            "1099511627776\n"
            "  job.yaml:15: products.1.integrate: is 1.5, expected a whole number from 1 to "
            "1099511627776\n"
            "  job.yaml:17: products.1.file: is the same as products.0.file, expected a file of "
            "its own\n"
            "  job.yaml:19: run.memory: is 10MiB, expected an amount of memory of at least 64MiB, "
            "such as 1GiB");
}

static void missing_parts(void **state)
{
    (void)state;
    refused(
        "run: {threads: 2}",
        "job.yaml has 3 mistakes:\n"
        "  job.yaml:1: input: is missing, expected a mapping with the keys files, layout, "
        "select\n"
        "  job.yaml:1: products: is missing, expected a list of products, each with kind and "
        "file\n"
        "  job.yaml:1: channelise: is missing, expected a mapping with the keys channels, taps, "
        "window, cutoff, normalise, order, backend, kernel, fft");
    refused("input: {files: a.h5}\nchannelise: {channels: 2}\nproducts: []\n",
            "job.yaml:3: products: has 0 entries, expected at least 1");
    refused("input: {files: a.h5, layout: {axes: time}}\nchannelise: {channels: 2}\n"
            "products: {kind: power}\n",
            "job.yaml has 2 mistakes:\n"
            "  job.yaml:1: input.layout: has axes, but no dataset\n"
            "  job.yaml:3: products.file: is missing, expected the path of the file to write");
}

static void wrong_values(void **state)
{
    (void)state;
    set_refused("channelise.channels=1073741826", "channelise.channels: is 1073741826, expected an "
                                                  "even whole number from 2 to 1073741824");
    set_refused("channelise.channels=0", "channelise.channels: is 0, expected an even whole number "
                                         "from 2 to 1073741824");
    set_refused("channelise.taps=16777217",
                "channelise.taps: is 16777217, expected a whole number from 1 to 16777216");
    set_refused("channelise.cutoff=64.1",
                "channelise.cutoff: is 64.1, expected a number from 0 to 64");
    set_refused("channelise.normalise=Peak",
                "channelise.normalise: is Peak, expected one of energy, peak, none");
    set_refused("channelise.order=down",
                "channelise.order: is down, expected one of ascending, fft");
    set_refused("channelise.backend=gpu",
                "channelise.backend: is gpu, expected one of auto, cpu, opencl, reference");
    set_refused("run.threads=4097",
                "run.threads: is 4097, expected auto or a whole number from 1 to 4096");
    set_refused("run.chunk=0",
                "run.chunk: is 0, expected auto or a whole number from 1 to 1099511627776");
    set_refused("input.layout=native", "input.layout: is native, expected auto or a mapping with "
                                       "dataset, axes and what else describes the file");
    static const char *const windows[] = {"kaiser",    "\"kaiser:\"", "kaiser:x", "kaiser:101",
                                          "kaiser:-1", "\"file:\"",   "triangle"};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        char set[64];
        char message[256];
        const char *quote = strchr(windows[i], ':') && *windows[i] != '"' ? "\"" : "";
        snprintf(set, sizeof set, "channelise.window=%s", windows[i]);
        snprintf(message, sizeof message,
                 "channelise.window: is %s%s%s, expected one of hann, hamming, blackman, "
                 "kaiser:BETA (0 to 100), rect, file:PATH",
                 quote, windows[i], quote);
        set_refused(set, message);
    }
    static const char *const amounts[] = {"63MiB", "much", "-1", "2000PB", "nan"};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        char set[64];
        char message[256];
        snprintf(set, sizeof set, "run.memory=%s", amounts[i]);
        snprintf(message, sizeof message,
                 "run.memory: is %s, expected an amount of memory of at least 64MiB, such as 1GiB",
                 amounts[i]);
        set_refused(set, message);
    }
}

/* "input.layout={dataset: d, axes: time, MORE}" is refused with "input.layout.MESSAGE". */
static void layout_refused(const char *more, const char *message)
{
    char set[256];
    char expected[768];
    snprintf(set, sizeof set, "input.layout={dataset: d, %s}", more);
    snprintf(expected, sizeof expected, "input.layout.%s", message);
    set_refused(set, expected);
}

static void wrong_layouts(void **state)
{
    (void)state;
    layout_refused("axes: pol", "axes: is pol: the axis time is missing");
    layout_refused("axes: time, sample_rate_hz: 0",
                   "sample_rate_hz: is 0, expected a number above 0, at most 1e+15");
    layout_refused("axes: time, packing: 4+4", "packing: is 4+4, expected " PACKING_TEXTS);
    layout_refused("axes: time, packing: 8 bit offset high first",
                   "packing: is \"8 bit offset high first\", expected " PACKING_TEXTS);
    layout_refused("axes: time, missing_value: none", "missing_value: is none, expected a number");
    layout_refused("axes: time, sideband: 0", "sideband: is 0, expected one of 1, -1, +1");
    layout_refused("axes: time, files_along: freq",
                   "files_along: is freq, expected one of time, station, beam, pol, chan, reim, or "
                   "one of them with ,reim behind it");
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
                   "domain: is real, but the axes hold reim, which complex samples have");
    layout_refused("axes: time, domain: real, packing: 4+4 offset hi=re",
                   "domain: is real, but samples with a packing of 4+4 bits are complex");
    layout_refused("axes: 'time,reim', packing: 4+4 offset hi=re",
                   "packing: both parts of a packed sample share a byte, but the axes hold reim");
}

static void wrong_selections(void **state)
{
    (void)state;
    set_refused("input.select.samples=[8, 8]",
                "input.select.samples: ends at 8, expected more than 8");
    set_refused("input.select.samples=[9007199254740993, 9007199254740993]",
                "input.select.samples: ends at 9007199254740993, expected more than "
                "9007199254740993");
    set_refused("input.select.samples=[0, 1.5]",
                "input.select.samples.1: is 1.5, expected two whole numbers [first, end], at most "
                "4611686018427387904");
    set_refused("input.select.samples=[1]", "input.select.samples: has 1 entry, expected 2");
    set_refused("input.select.seconds=[2, 1]",
                "input.select.seconds: ends at 1, expected more than 2");
    set_refused("input.select.seconds=[-1, 1]",
                "input.select.seconds.0: is -1, expected two numbers of at least 0: [from, to]");
    set_refused("input.select.utc=[2014-06-30, 2014-06-29]",
                "input.select.utc: ends at 2014-06-29, expected later than 2014-06-30");
    set_refused("input.select.utc=[now, 2014-06-29]",
                "input.select.utc.0: is now, expected two UTC dates: [2014-06-29T01:39:20, "
                "2014-06-29T01:39:30]");
    set_refused("input.select={samples: [0, 1], utc: [2014-06-29, 2014-06-30]}",
                "input.select.utc: expected at most one of samples, seconds, utc");
    set_refused("input.select.pols=[]", "input.select.pols: has 0 entries, expected at least 1");
    set_refused("input.select.chans=[[1]]",
                "input.select.chans.0: is a list, expected a name, a number, a range such as "
                "3..10, or a list of them");
}

static void wrong_together(void **state)
{
    (void)state;
    set_refused("channelise={channels: 1073741824, taps: 17}",
                "channelise.taps: 1073741824 channels times 17 taps are 18253611008 coefficients, "
                "expected at most 17179869184");
    job_destroy(small_with("channelise={channels: 1073741824, taps: 16}"));
    set_refused("products.0={kind: spectra, file: s.h5, integrate: 2}",
                "products.0.integrate: is 2, but only products of kind power are integrated");
    job_destroy(small_with("products.0={kind: spectra, file: s.h5, integrate: 1}"));
    set_refused("products.0={kind: spectra, file: s.h5, bits: 32}",
                "products.0.bits: is for products of kind voltages");
    set_refused("products.0={kind: spectra, file: s.h5, scale: 1}",
                "products.0.scale: is for products of kind voltages");
    refused("input: {files: a.h5}\nproducts: [{kind: voltages, file: v.h5, bits: 8}]\n",
            "job.yaml:2: products.0.scale: is missing, expected the volts of 1 as it is stored: 8 "
            "bits hold whole numbers");
    refused("input: {files: a.h5}\nproducts: [{kind: voltages, file: v.h5, bits: 12}]\n",
            "job.yaml:2: products.0.bits: is 12, expected one of 32, 16, 8");
    refused("input: {files: a.h5}\nproducts: [{kind: voltages, file: v.h5}]\nrun: {on_bad: nan}\n",
            "job.yaml:3: run.on_bad: is nan, but voltages have no rows that are marked: what "
            "cannot be read must stop the run, or be left out by input.select");
    set_refused("products.0.file=./a.h5",
                "products.0.file: is the same as input.files, expected a file of its own");
    refused("input: {files: a.h5}\n"
            "channelise:\n  channels: 2\n  order: fft\n"
            "products:\n- kind: spectra\n  file: s.h5\n- kind: power\n  file: p.h5\n",
            "job.yaml:8: products.1.kind: is power, but channelise.order is fft: the frequency "
            "axis of a power product must ascend");
}

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
    set_refused("filter={decimate: 2}",
                "filter: has none of coefficients, design, dispersion, expected exactly one");
    set_refused("filter=[{coefficients: c, dispersion: {dm: 1}}]",
                "filter.0: has more than one of coefficients, design, dispersion, expected exactly "
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
                "filter.1.backend: is opencl, but filter.0.backend is cpu: filters and the filter "
                "bank have one backend");
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
    assert_int_equal(job->channels, 0);
    assert_int_equal(job->products[0].kind, PRODUCT_VOLTAGES);
    assert_int_equal(job->products[0].bits, 32);
    assert_true(job->products[0].scale == 1);
    assert_int_equal(job->backend, BACKEND_AUTO);
    job_destroy(job);
    job = accepted("input: {files: a.h5}\nfilter: [{coefficients: c}, {dispersion: {dm: 1}, "
                   "backend: cpu}]\n"
                   "products: {kind: voltages, bits: 8, scale: 0.5, file: v.h5}\n",
                   NULL, 0);
    assert_int_equal(job->backend, BACKEND_CPU);
    assert_int_equal(job->products[0].bits, 8);
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

/* What a filter does to the bytes of a product is in its text. */
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

static void the_text_is_canonical(void **state)
{
    (void)state;
    struct job *job = accepted(full, NULL, 0);
    assert_string_equal(job->products[0].text, "input:\n"
                                               "  files:\n"
                                               "  - a.h5\n"
                                               "  - b*.h5\n"
                                               "  layout:\n"
                                               "    dataset: /x/voltages\n"
                                               "    axes: time, chan:2*pol, reim\n"
                                               "    files_along: chan\n"
                                               "    domain: complex\n"
                                               "    sample_rate_hz: 925925.926\n"
                                               "    missing_value: -128\n"
                                               "    sideband: -1\n"
                                               "    freq_hz:\n"
                                               "    - 100e6\n"
                                               "    - 101e6\n"
                                               "    start: 2014-06-29T01:39:20.5\n"
                                               "    oversampling: 32/27\n"
                                               "    telescope: SKA-Low\n"
                                               "    source: B0329+54\n"
                                               "  select:\n"
                                               "    samples:\n"
                                               "    - 1000\n"
                                               "    - 4611686018427387904\n"
                                               "    stations:\n"
                                               "    - CS001\n"
                                               "    - 7\n"
                                               "    pols:\n"
                                               "    - x\n"
                                               "    chans:\n"
                                               "    - 3\n"
                                               "channelise:\n"
                                               "  channels: 4096\n"
                                               "  taps: 16\n"
                                               "  window: kaiser:8.5\n"
                                               "  cutoff: 0.9\n"
                                               "  normalise: peak\n"
                                               "  order: fft\n"
                                               "  backend: reference\n"
                                               "products:\n"
                                               "- kind: spectra\n");
    job_destroy(job);
}

static void the_text_forgets_what_does_not_matter(void **state)
{
    (void)state;
    static const char *const same[] = {
        "input: {files: a.h5}\nchannelise: {channels: 1024}\n"
        "products:\n- {kind: power, file: p.h5, integrate: 16}\n",
        "# Another comment.\n"
        "input:\n  files: ['a.h5']   # one\n  layout: auto\n  select:\n"
        "channelise:\n  channels: 1.024e3\n"
        "products:\n- {file: q.h5, kind: \"power\", integrate: 16}\n"
        "- {kind: spectra, file: s.h5}\n"
        "run: {memory: 2GiB, chunk: 7, threads: 3}\n",
        "input: {files: b.h5}\nchannelise: {channels: 2}\nrun:\n"
        "products: {kind: power, integrate: 1.6e1, file: p.h5}\n",
    };
    static const char *const sets[] = {"input.files.0=a.h5", "channelise.channels=1024"};
    char *first = NULL;
    for (size_t i = 0; i < 3; i++) {
        struct job *job = accepted(same[i], sets, i == 2 ? 2 : 0);
        if (first) {
            assert_string_equal(job->products[0].text, first);
        } else {
            first = strdup(job->products[0].text);
        }
        job_destroy(job);
    }
    free(first);
}

static void the_text_is_a_job(void **state)
{
    (void)state;
    static const char *const set = "products.0.file=again.h5";
    static const char *const two = "products.1={kind: power, file: '#p', integrate: 3}";
    static const char *const odd =
        "input={files: ['null', 'a: b', ' x '], layout: {dataset: \"d\\n\","
        " axes: time, telescope: '~'}}";
    const char *sets[] = {two, odd, "channelise.order=ascending"};
    struct job *job = accepted(full, sets, 3);
    for (uint32_t i = 0; i < job->nproducts; i++) {
        struct job *again = accepted(job->products[i].text, &set, 1);
        assert_int_equal(again->nproducts, 1);
        assert_string_equal(again->products[0].text, job->products[i].text);
        assert_string_equal(again->products[0].file, "again.h5");
        assert_int_equal(again->products[0].kind, job->products[i].kind);
        assert_int_equal(again->products[0].integrate, job->products[i].integrate);
        assert_int_equal(again->nfiles, 3);
        assert_string_equal(again->files[0], "null");
        assert_string_equal(again->files[1], "a: b");
        assert_string_equal(again->files[2], " x ");
        assert_string_equal(again->layout.dataset, "d\n");
        assert_string_equal(again->layout.telescope, "~");
        assert_true(again->window.kaiser_beta == 8.5);
        job_destroy(again);
    }
    job_destroy(job);
}

static void files_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/voltmill_test_job_XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    assert_int_equal(write(handle, SMALL, strlen(SMALL)), strlen(SMALL));
    close(handle);
    struct job *job = NULL;
    static const char *const set = "channelise.taps=3";
    report_clear();
    assert_int_equal(job_load(path, &set, 1, &job), STATUS_OK);
    assert_string_equal(job->path, path);
    assert_int_equal(job->taps, 3);
    job_destroy(job);
    unlink(path);
    job = NULL;
    assert_int_equal(job_load("/nowhere/job.yaml", NULL, 0, &job), STATUS_DATA);
    assert_null(job);
    assert_string_equal(report_cause(), "cannot read /nowhere/job.yaml: No such file or directory");
    report_clear();
    assert_int_equal(job_load("/tmp", NULL, 0, &job), STATUS_DATA);
    report_clear();
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
    assert_false(layout->has_sample_rate || layout->has_sample_period || layout->has_start);
    assert_string_equal(layout->said[SAID_SAMPLE_PERIOD].attribute, "/@dt");
    assert_int_equal(layout->said[SAID_SAMPLE_PERIOD].unit, UNIT_US);
    assert_string_equal(layout->said[SAID_START].attribute, "@t0");
    assert_int_equal(layout->said[SAID_START].unit, UNIT_UNIX);
    assert_null(layout->telescope);
    assert_string_equal(layout->said[SAID_TELESCOPE].attribute, "/a/b@tel");
    assert_int_equal(layout->said[SAID_TELESCOPE].unit, UNIT_NONE);
    assert_true(layout->has_dec && layout->dec_deg == 5 && !layout->has_ra);
    assert_null(layout->said[SAID_SOURCE].attribute);
    job_destroy(job);
    job = described("freq_hz: {from: /f, member: centre, unit: MHz}, dc: lower, offset: 127.5");
    assert_string_equal(job->layout.frequencies.from, "/f");
    assert_string_equal(job->layout.frequencies.member, "centre");
    assert_int_equal(job->layout.frequencies.unit, UNIT_MHZ);
    assert_int_equal(job->layout.nfreq, 0);
    assert_true(job->layout.has_dc && job->layout.is_dc_at_edge);
    assert_true(job->layout.has_offset && job->layout.offset == 127.5);
    job_destroy(job);
    job = described("freq_hz: {start: 1e9, step: -1e6}, dc: centre, first_sample: [0, 7]");
    assert_true(job->layout.frequencies.has_start);
    assert_true(job->layout.frequencies.start == 1e9 && job->layout.frequencies.step == -1e6);
    assert_true(job->layout.has_dc && !job->layout.is_dc_at_edge);
    assert_int_equal(job->layout.nfirst_sample, 2);
    assert_int_equal(job->layout.first_sample[1], 7);
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
    assert_true(layout.has_sample_rate && layout.sample_rate_hz == 1e6);
    assert_true(layout.has_sample_period && layout.sample_period_s == 2.56e-6);
    assert_true(layout.has_packing && layout.packing.bits == 2 && layout.packing.is_offset &&
                layout.packing.is_high_bit_first);
    assert_true(layout.has_start && layout.start.mjd_day == 56837);
    assert_int_equal(layout.nfirst_sample, 1);
    assert_true(layout.first_sample[0] == 18446744073709);
    assert_int_equal(layout.oversampling_den, 27);
    assert_true(layout.has_ra && layout.ra_deg == 5 && layout.dec_deg == -5);
    free(layout.first_sample);
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
         "the next lies above it"},
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
         "one of them with ,reim behind it"},
        {"axes: 'time,reim', files_along: reim",
         "files_along: real and imaginary parts lie in files of their own, but the axes hold reim"},
        {"axes: time, parts: {re: a, im: b}",
         "parts: names the datasets of real and imaginary parts, dataset one that holds both: "
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_key_of_the_layout),
        cmocka_unit_test(every_other_key),
        cmocka_unit_test(alternatives),
        cmocka_unit_test(ten_mistakes_at_once),
        cmocka_unit_test(missing_parts),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(wrong_layouts),
        cmocka_unit_test(what_the_file_says),
        cmocka_unit_test(put_from_the_file),
        cmocka_unit_test(wrong_words_of_the_file),
        cmocka_unit_test(wrong_selections),
        cmocka_unit_test(wrong_together),
        cmocka_unit_test(filters),
        cmocka_unit_test(wrong_filters),
        cmocka_unit_test(voltages),
        cmocka_unit_test(wrong_voltages),
        cmocka_unit_test(the_text_has_the_filters),
        cmocka_unit_test(the_text_is_canonical),
        cmocka_unit_test(the_text_forgets_what_does_not_matter),
        cmocka_unit_test(the_text_is_a_job),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(axes_are_read),
        cmocka_unit_test(wrong_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
