/* voltmill bench ppf */
#include "base/units.h"
#include "cli/bench/bench_options.h"
#include "cli/cli.h"
#include "plan/channelise_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: voltmill bench ppf [OPTION]...\n"
    "       voltmill bench run [OPTION]... JOB    (voltmill bench run --help)\n"
    "       voltmill bench dedisperse [OPTION]... (voltmill bench dedisperse --help)\n"
    "\n"
    "Times the filter bank alone on random samples and checks what comes out against the "
    "reference;\n"
    "a row whose result is wrong says FAILED; on the CPU / FFT is its time over that of FFTW "
    "alone\n"
    "on as many threads. Lists are written 256,1024 or 256..4096 (doubling).\n"
    "\n"
    "  --backend NAME    opencl or cpu (default: opencl where there is a GPU)\n"
    "  --device TEXT     OpenCL device: a number or a part of its name (voltmill info --devices)\n"
    "  --channels LIST   channels of the filter bank (default 1024)\n"
    "  --taps LIST       taps (default 8)\n"
    "  --bits LIST       of a sample's part: 4, 8, 16, 32 (default 8)\n"
    "  --streams LIST    streams filtered together (default 1)\n"
    "  --kernel LIST     auto, fused, slide, cache, local (default auto)\n"
    "  --fft NAME        auto, vkfft or clfft, behind the FIR kernels (default auto)\n"
    "  --real            real samples instead of complex ones\n"
    "  --out KIND        spectra, power, or power:N, integrated over N spectra (default spectra)\n"
    "  --samples COUNT   of all streams together, such as 268435456 or 2^28 (default 2^26)\n"
    "  --repeat N        timed runs, the best of which counts (default 5)\n"
    "  --transfers       also blocks in a row from pinned memory and back, and, where nvidia-smi\n"
    "                    tells what the card draws, joules per 10^9 samples\n"
    "  --lofar           64 stations x 2 polarisations at 64 x 64 channels x taps, 128 x 32, 256 x "
    "16,\n"
    "                    512 x 8, 1024 x 4, 8 and 16 bit (van der Veldt et al. 2012)\n"
    "  --threads N       of the cpu backend (default: all)\n"
    "  --csv FILE        writes the table to FILE, too\n"
    "  --help            prints this\n";

static enum sample_format bench_format_of(uint64_t bits)
{
    return bits == 4 ? SAMPLE_I4 : bits == 8 ? SAMPLE_I8 : bits == 16 ? SAMPLE_I16 : SAMPLE_F32;
}

/* A device deals samples into the order that it filters; on the host, transforms alone are timed on
 * the same threads. */
static int bench_has_device(const struct bench_settings *settings)
{
    return backend_abilities(backend_which(settings->opened))->has_device;
}

static const char heading[] =
    "channels,taps,bits,complex,streams,samples,how,ms,deal_ms,filter_ms,transform_ms,detect_ms,"
    "gsamples_per_s,gbytes_per_s,fir_gflop_per_s,share_of_copy,block_ms,block_gsamples_per_s,"
    "share_of_link,joules_per_gsample,fft_alone_ms,ratio_to_fft,threads,simd,rms_error,result";

static void bench_print_head(struct bench_settings *settings)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    const char *device = backend_device(settings->opened);
    printf("%s%s%s: copies %s/s", backend_name(backend_which(settings->opened)),
           *device ? ", " : "", device, units_bytes((uint64_t)settings->rates.copy, a));
    if (settings->rates.upload > 0) {
        printf(", to the device %s/s, back %s/s", units_bytes((uint64_t)settings->rates.upload, b),
               units_bytes((uint64_t)settings->rates.download, c));
    }
    printf("\n%7s %5s %4s %7s %-44s %9s %8s %8s %8s %6s %7s %9s\n", "channel", "taps", "bits",
           "streams", "how", "ms", "Gsamp/s", "GB/s", "GFLOP/s", "copy",
           bench_has_device(settings) ? "deal ms" : "/ FFT", "rms error");
}

/* Share of the link's rate in the direction that binds. */
static double bench_link_share(const struct bench_settings *settings, const struct bench_result *r)
{
    const struct backend_rates *rates = &settings->rates;
    if (r->block_seconds == 0 || rates->upload == 0) {
        return 0;
    }
    return fmax(r->up_bytes / rates->upload, r->down_bytes / rates->download) / r->block_seconds;
}

static void bench_print_row(struct bench_settings *settings, const struct bench_case *c,
                            uint64_t bits, const struct bench_result *r, const char *how)
{
    double samples = (double)r->samples;
    double ms = 1e3 * r->seconds;
    double rate = 1e-9 * samples / r->seconds;
    double bytes = 1e-9 * r->bytes / r->seconds;
    /* Adamek et al. 2016, eq. 3, of the FIR alone where it is alone; complex samples are two. */
    double fir = r->steps[STEP_FILTER] > 0 ? r->steps[STEP_FILTER] : r->seconds;
    double flops = 1e-9 * samples * (c->is_complex ? 2 : 1) * (2.0 * c->taps - 1) / fir;
    double share = 1e9 * bytes / settings->rates.copy;
    double ratio = r->bare_seconds > 0 ? r->seconds / r->bare_seconds : 0;
    const char *verdict = r->is_right ? "" : " FAILED";
    printf("%7u %5u %4llu %7u %-44s %9.3f %8.2f %8.1f %8.0f %5.0f%% %7.3f %9.2g%s\n", c->channels,
           c->taps, (unsigned long long)bits, c->streams, how, ms, rate, bytes, flops, 100 * share,
           bench_has_device(settings) ? 1e3 * r->steps[STEP_DEAL] : ratio, r->rms, verdict);
    double joules = r->watts > 0 ? r->watts * r->block_seconds / (1e-9 * samples) : 0;
    if (r->block_seconds > 0) {
        printf("%26s with transfers %34s %9.3f %8.2f %15s %.0f%% of the link", "", "",
               1e3 * r->block_seconds, 1e-9 * samples / r->block_seconds, "",
               100 * bench_link_share(settings, r));
        if (joules > 0) {
            printf(", %.0f W, %.1f J/Gsample", r->watts, joules);
        }
        printf("\n");
    }
    csv_print(&settings->csv, "%u,%u,%llu,%d,%u,%llu,\"%s\",%.6f,%.6f,%.6f,%.6f,%.6f,", c->channels,
              c->taps, (unsigned long long)bits, c->is_complex, c->streams,
              (unsigned long long)r->samples, how, ms, 1e3 * r->steps[STEP_DEAL],
              1e3 * r->steps[STEP_FILTER], 1e3 * r->steps[STEP_TRANSFORM],
              1e3 * r->steps[STEP_DETECT]);
    csv_print(&settings->csv, "%.4f,%.2f,%.1f,%.4f,%.6f,%.4f,%.4f,%.2f,%.6f,%.4f,%u,%s,%.3g,%s\n",
              rate, bytes, flops, share, 1e3 * r->block_seconds,
              r->block_seconds > 0 ? 1e-9 * samples / r->block_seconds : 0,
              bench_link_share(settings, r), joules, 1e3 * r->bare_seconds, ratio, c->threads,
              channelise_simd(&r->choice), r->rms, r->is_right ? "ok" : "FAILED");
    csv_flush(&settings->csv);
    fflush(stdout);
}

/* One row; a case that this device cannot do is said and passed over. */
static status_t bench_row(struct bench_settings *settings, uint64_t channels, uint64_t taps,
                          uint64_t bits, uint64_t streams, uint64_t kernel)
{
    status_t st = STATUS_OK;
    struct text how = {0};
    struct bench_result result;
    struct bench_case c = {.channels = (uint32_t)channels,
                           .taps = (uint32_t)taps,
                           .streams = (uint32_t)streams,
                           .format = bench_format_of(bits),
                           .is_complex = !settings->is_real,
                           .samples = settings->samples,
                           .quantity = settings->quantity,
                           .integrate = settings->integrate,
                           .kernel = (enum kernel_kind)kernel,
                           .fft = settings->fft,
                           .threads = (uint32_t)settings->threads,
                           .repeats = (uint32_t)settings->repeats,
                           .with_transfers = settings->with_transfers,
                           .with_power = settings->with_transfers};
    status_t tried = bench_ppf(settings->opened, &c, &result);
    if (tried != STATUS_OK) {
        printf("%7u %5u %4llu %7u %s: %s\n", c.channels, c.taps, (unsigned long long)bits,
               c.streams, kernel_name(c.kernel), report_cause());
        report_clear();
        /* A kernel that is asked for by name may be unable to do a shape. */
        settings->failed += c.kernel == KERNEL_AUTO || tried != STATUS_USAGE;
        goto out;
    }
    TRY(channelise_words(&result.choice, &how));
    bench_print_row(settings, &c, bits, &result, how.data);
    settings->failed += !result.is_right;
out:
    text_free(&how);
    return st;
}

static status_t bench_lists(struct bench_settings *s)
{
    status_t st = STATUS_OK;
    for (uint32_t b = 0; b < s->bits.count; b++) {
        for (uint32_t n = 0; n < s->streams.count; n++) {
            for (uint32_t c = 0; c < s->channels.count; c++) {
                for (uint32_t t = 0; t < s->taps.count; t++) {
                    for (uint32_t k = 0; k < s->kernels.count; k++) {
                        TRY(bench_row(s, s->channels.values[c], s->taps.values[t],
                                      s->bits.values[b], s->streams.values[n],
                                      s->kernels.values[k]));
                    }
                }
            }
        }
    }
out:
    return st;
}

static status_t bench_lofar(struct bench_settings *s)
{
    status_t st = STATUS_OK;
    static const uint64_t shapes[][2] = {{64, 64}, {128, 32}, {256, 16}, {512, 8}, {1024, 4}};
    enum { STATIONS = 64, POLS = 2 };
    for (uint64_t bits = 8; bits <= 16; bits *= 2) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            for (uint32_t k = 0; k < s->kernels.count; k++) {
                TRY(bench_row(s, shapes[i][0], shapes[i][1], bits, STATIONS * POLS,
                              s->kernels.values[k]));
            }
        }
    }
out:
    return st;
}

static status_t bench_all(struct bench_settings *settings)
{
    status_t st = STATUS_OK;
    struct backend_options options = {.device = settings->device, .local_size = 1};
    struct job all_cores = {0};
    settings->threads =
        settings->threads ? settings->threads : channelise_plan_threads(&all_cores, 1);
    TRY(csv_open(settings->csv_path, "w", heading, &settings->csv));
    TRY(backend_open(backend_settle(settings->backend), &options, &settings->opened));
    TRY(backend_measure(settings->opened, &settings->rates));
    bench_print_head(settings);
    TRY(settings->is_lofar ? bench_lofar(settings) : bench_lists(settings));
    REQUIRE(settings->failed == 0, STATUS_DEVICE, "bench: %u %s failed", settings->failed,
            units_plural(settings->failed, "row", "rows"));
out:
    return st;
}

status_t cli_bench(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct bench_settings settings = {0};
    if (argc > 1 && strcmp(argv[1], "run") == 0) {
        return cli_bench_run(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "dedisperse") == 0) {
        return cli_bench_dedisperse(argc - 1, argv + 1);
    }
    TRY(bench_options_read(argc, argv, &settings));
    if (settings.help) {
        fputs(help, stdout);
        goto out;
    }
    TRY(bench_all(&settings));
out:
    backend_close(settings.opened);
    status_t closed = csv_close(&settings.csv);
    return st == STATUS_OK ? closed : st;
}
