/* Jobs: every key, its default and its limits, and the text that determines a product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small_job.h"

#include <stdlib.h>
#include <unistd.h>

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
    assert_int_equal(job->banks[0].channels, 1024);
    assert_int_equal(job->banks[0].taps, 8);
    assert_int_equal(job->banks[0].window.kind, WINDOW_HANN);
    assert_null(job->banks[0].window.path);
    assert_true(job->banks[0].cutoff == 1);
    assert_int_equal(job->banks[0].normalise, NORMALISE_ENERGY);
    assert_int_equal(job->banks[0].order, ORDER_ASCENDING);
    assert_int_equal(job->backend, BACKEND_AUTO);
    assert_int_equal(job->nproducts, 1);
    assert_int_equal(job->products[0].kind, PRODUCT_POWER);
    assert_string_equal(job->products[0].file, "p.h5");
    assert_int_equal(job->products[0].integrate, 1);
    assert_int_equal(job->memory, 1 << 30); /* until somebody asks the machine */
    assert_int_equal(job->is_memory_auto, 1);
    assert_int_equal(job->cut.chunk_spectra, 0);
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
    assert_true(layout->time.has_sample_rate && layout->time.sample_rate_hz == 925925.926);
    assert_false(layout->numbers.has_packing);
    assert_true(layout->numbers.has_missing_value && layout->numbers.missing_value == -128);
    assert_true(layout->has_sideband && layout->sideband == -1);
    assert_int_equal(layout->freq.count, 2);
    assert_true(layout->freq.hz[0] == 100e6 && layout->freq.hz[1] == 101e6);
    assert_true(layout->time.has_start);
    assert_int_equal(layout->time.start.mjd_day, 56837);
    assert_true(layout->time.start.second == 3600 + 39 * 60 + 20.5);
    assert_true(layout->has_oversampling);
    assert_int_equal(layout->oversample.num, 32);
    assert_int_equal(layout->oversample.den, 27);
    assert_string_equal(layout->sky.telescope, "SKA-Low");
    assert_string_equal(layout->sky.source, "B0329+54");
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
    assert_int_equal(job->banks[0].channels, 4096);
    assert_int_equal(job->banks[0].taps, 16);
    assert_int_equal(job->banks[0].window.kind, WINDOW_KAISER);
    assert_true(job->banks[0].window.kaiser_beta == 8.5);
    assert_true(job->banks[0].cutoff == 0.9);
    assert_int_equal(job->banks[0].normalise, NORMALISE_PEAK);
    assert_int_equal(job->banks[0].order, ORDER_FFT);
    assert_int_equal(job->backend, BACKEND_REFERENCE);
    assert_int_equal(job->products[0].kind, PRODUCT_SPECTRA);
    assert_int_equal(job->memory, 64 << 20);
    assert_int_equal(job->cut.chunk_spectra, 10);
    assert_int_equal(job->threads, 4);
    job_destroy(job);
}

static void alternatives(void **state)
{
    (void)state;
    struct job *job = small_with("channelise.window=file:/w/my window.txt");
    assert_int_equal(job->banks[0].window.kind, WINDOW_FILE);
    assert_string_equal(job->banks[0].window.path, "/w/my window.txt");
    job_destroy(job);
    job = small_with("channelise.cutoff=flat");
    assert_true(job->banks[0].cutoff == CUTOFF_FLAT);
    assert_non_null(strstr(job->products[0].text, "  cutoff: flat\n"));
    job_destroy(job);
    job = small_with("channelise.cutoff=0");
    assert_true(job->banks[0].cutoff == 0);
    job_destroy(job);
    job = small_with("input.layout=auto");
    assert_true(job->layout.automatic);
    job_destroy(job);
    job = small_with("run={chunk: auto, threads: auto, memory: 2 GB}");
    assert_int_equal(job->cut.chunk_spectra, 0);
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
    assert_int_equal(job->layout.freq.count, 1);
    assert_int_equal(job->layout.sideband, 1);
    assert_true(job->layout.numbers.has_packing);
    assert_false(job->layout.numbers.packing.nibbles.offset_binary);
    assert_false(job->layout.numbers.packing.nibbles.high_is_real);
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
            "  job.yaml:10: channelise.cutoff: is wide, expected flat or a number from 0 to 64\n"
            "  job.yaml:14: products.0.integrate: is 0, expected a whole number from 1 to "
            "1099511627776, or a time with a unit, such as 10 ms\n"
            "  job.yaml:15: products.1.integrate: is 1.5, expected a whole number from 1 to "
            "1099511627776, or a time with a unit, such as 10 ms\n"
            "  job.yaml:17: products.1.file: is the same as products.0.file, expected a file of "
            "its own\n"
            "  job.yaml:19: run.memory: is 10MiB, expected auto or an amount of memory of at least "
            "64MiB, such as 1GiB");
}

static void missing_parts(void **state)
{
    (void)state;
    refused("run: {threads: 2}",
            "job.yaml has 3 mistakes:\n"
            "  job.yaml:1: input: is missing, expected a mapping with files (`voltmill run --each "
            "PATTERN` sets them for each file)\n"
            "  job.yaml:1: products: is missing, expected a list of products, each with kind and "
            "file\n"
            "  job.yaml:1: channelise: is missing, expected a mapping with channels and what else "
            "describes a filter bank, or a list of them");
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
                "channelise.cutoff: is 64.1, expected flat or a number from 0 to 64");
    set_refused(
        "channelise.normalise=Peak",
        "channelise.normalise: is Peak, expected one of energy, peak, none; did you mean peak?");
    set_refused("channelise.order=down",
                "channelise.order: is down, expected one of ascending, fft");
    set_refused("channelise.backend=gpu", "channelise.backend: is gpu, expected one of auto, cpu, "
                                          "opencl, reference; did you mean opencl?");
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
        snprintf(
            message, sizeof message,
            "run.memory: is %s, expected auto or an amount of memory of at least 64MiB, such as "
            "1GiB",
            amounts[i]);
        set_refused(set, message);
    }
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
                "products.0.integrate: is 2, but only products of kind power and visibilities are "
                "integrated");
    job_destroy(small_with("products.0={kind: spectra, file: s.h5, integrate: 1}"));
    job_destroy(small_with("products.0={kind: spectra, file: s.h5, bits: 8, scales: first}"));
    set_refused("products.0={kind: spectra, file: s.h5, scales: first}",
                "products.0.scales: is for products of kind power and spectra with 8 or 16 bits");
    set_refused("products.0={kind: power, file: s.h5, bits: 16, scale_rows: 20000}",
                "products.0.scale_rows: is 20000, expected auto or a whole number from 1 to 16384");
    set_refused("products.0={kind: spectra, file: s.h5, scale: 1}",
                "products.0.scale: is for products of kind voltages: each channel of power and "
                "spectra has scales of its own");
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

/* Values that need the input: afterwards the text has the numbers, as if they were written. */
static void widths_and_times(void **state)
{
    static const char open[] = "input: {files: a.h5}\n"
                               "channelise: {width: 3 kHz, taps: 4}\n"
                               "products: [{kind: power, file: p.h5, integrate: 0.5 ms}]\n";
    const struct job_division known = {.channels = {64}, .integrate = {5}};
    const char *const sets[] = {"channelise={channels: 64, taps: 4}", "products.0.integrate=5"};
    struct job *job = accepted(open, NULL, 0);
    (void)state;
    assert_true(job_needs_rate(job));
    assert_true(job->banks[0].width_hz == 3000 && job->products[0].integrate_s == 0.0005);
    job_destroy(job);
    assert_int_equal(job_parse_divided("job.yaml", open, strlen(open), NULL, 0, NULL, &known, &job),
                     STATUS_OK);
    struct job *same = accepted(open, sets, 2);
    assert_int_equal(job_needs_rate(job) || job_needs_rate(same), 0);
    assert_int_equal(job->banks[0].channels, 64);
    assert_int_equal(job->products[0].integrate, 5);
    assert_string_equal(job->products[0].text, same->products[0].text);
    job_destroy(same);
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
                                               "    - 100000000\n"
                                               "    - 101000000\n"
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
        "input: {files: a.h5}\nchannelise: [{name: only, channels: 1024}]\n"
        "products:\n- {kind: power, bank: only, file: p.h5, integrate: 16}\n",
        "input: {files: a.h5, external: [/raw, allow]}\nchannelise: {channels: 1024}\n"
        "products:\n- {kind: power, file: p.h5, integrate: 16}\n",
    };
    static const char *const sets[] = {"input.files.0=a.h5", "channelise.channels=1024"};
    char *first = NULL;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
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
        assert_string_equal(again->layout.sky.telescope, "~");
        assert_true(again->banks[0].window.kaiser_beta == 8.5);
        job_destroy(again);
    }
    job_destroy(job);
}

static void banks_have_names(void **state)
{
    (void)state;
    static const char *const named[] = {"channelise.name=fine", "products.0.bank=fine"};
    struct job *job = accepted(SMALL, named, 2);
    assert_int_equal(job->nbanks, 1);
    assert_string_equal(job->banks[0].name, "fine");
    assert_int_equal(job->products[0].bank, 0);
    job_destroy(job);
    refused("input: {files: a.h5}\nchannelise: {name: fine, channels: 2}\n"
            "products: [{kind: power, file: p.h5, bank: coarse}]\n",
            "job.yaml:3: products.0.bank: is coarse, expected the name of an entry of channelise");
    job =
        accepted("input: {files: a.h5}\n"
                 "channelise: [{name: fine, channels: 64}, {name: coarse, channels: 4, taps: 2}]\n"
                 "products: [{kind: power, file: p.h5}, {kind: power, file: q.h5, bank: coarse}]\n",
                 NULL, 0);
    struct job *alone = accepted("input: {files: a.h5}\nchannelise: {channels: 4, taps: 2}\n"
                                 "products: [{kind: power, file: r.h5}]\n",
                                 NULL, 0);
    assert_int_equal(job->nbanks, 2);
    assert_int_equal(job->products[0].bank, 0);
    assert_int_equal(job->products[1].bank, 1);
    assert_string_equal(job->products[1].text, alone->products[0].text);
    job_destroy(job);
    job_destroy(alone);
    refused("input: {files: a.h5}\n"
            "channelise: [{channels: 64}, {name: a, channels: 4}, {name: a, channels: 2}]\n"
            "products: [{kind: power, file: p.h5}, {kind: power, file: q.h5, bank: a}]\n",
            "job.yaml has 2 mistakes:\n"
            "  job.yaml:2: channelise.0.name: is missing, expected a name, which products say as "
            "their bank\n"
            "  job.yaml:2: channelise.2.name: is that of channelise.1, too");
    refused("input: {files: a.h5}\n"
            "channelise: [{name: a, channels: 64}, {name: b, channels: 4}]\n"
            "products: [{kind: power, file: p.h5}]\n",
            "job.yaml:2: channelise.1.name: is b, but no product says that as its bank, expected "
            "one");
    set_refused("products.0.bank=x",
                "products.0.bank: is x, expected the name of an entry of channelise");
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
    assert_int_equal(job->banks[0].taps, 3);
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
        cmocka_unit_test(wrong_selections),
        cmocka_unit_test(wrong_together),
        cmocka_unit_test(widths_and_times),
        cmocka_unit_test(the_text_is_canonical),
        cmocka_unit_test(the_text_forgets_what_does_not_matter),
        cmocka_unit_test(the_text_is_a_job),
        cmocka_unit_test(banks_have_names),
        cmocka_unit_test(files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
