/* voltmill bench ppf */
#include "bench/bench_ppf.h"

#include "base/memory.h"
#include "base/units.h"
#include "cli/csv.h"
#include "cli/values.h"

#include <math.h>

/* Options of the command, and the state of the table while it is made. */
struct ppf_settings {
    struct shared shared;
    struct option_list channels, taps, bits, streams, kernels, synthesise;
    enum fft_kind fft;
    int is_real, is_lofar, with_transfers;
    struct ratio oversample;
    struct channelise_output out;
    uint64_t samples;

    struct bench_table table;
    struct backend_rates rates;
    uint32_t done; /* rows */
};

static enum sample_format bench_format_of(uint64_t bits)
{
    return bits == 4 ? SAMPLE_I4 : bits == 8 ? SAMPLE_I8 : bits == 16 ? SAMPLE_I16 : SAMPLE_F32;
}

/* A device deinterleaves samples first; on the host, transforms alone are timed on the same
 * threads. */
static int bench_has_device(const struct ppf_settings *settings)
{
    return backend_abilities(backend_which(settings->table.opened))->has_device;
}

static const char heading[] =
    "channels,taps,bits,complex,streams,samples,how,ms,deal_ms,filter_ms,transform_ms,detect_ms,"
    "gsamples_per_s,gbytes_per_s,fir_gflop_per_s,share_of_copy,block_ms,block_gsamples_per_s,"
    "share_of_link,joules_per_gsample,fft_alone_ms,ratio_to_fft,threads,simd,rms_error,result";

/* Returns the share of the link's rate that is used, in the direction that limits. */
static double bench_link_share(const struct ppf_settings *settings, const struct bench_result *r)
{
    const struct backend_rates *rates = &settings->rates;
    if (r->block_seconds == 0 || rates->upload == 0) {
        return 0;
    }
    return fmax(r->up_bytes / rates->upload, r->down_bytes / rates->download) / r->block_seconds;
}

static void bench_print_row(struct ppf_settings *settings, const struct bench_case *c,
                            uint64_t bits, const struct bench_result *r, const char *how)
{
    double samples = (double)r->samples;
    double ms = 1e3 * r->seconds;
    double rate = 1e-9 * samples / r->seconds;
    double bytes = 1e-9 * r->bytes / r->seconds;
    /* Adamek et al. 2016, eq. 3, of the FIR alone where it is alone; complex samples are two. */
    double fir = r->steps[STEP_FILTER] > 0 ? r->steps[STEP_FILTER] : r->seconds;
    double flops = 1e-9 * samples * oversampled_cutoff(c->oversample) * (c->is_complex ? 2 : 1) *
                   (2.0 * c->taps - 1) / fir;
    double share = 1e9 * bytes / settings->rates.copy;
    double ratio = r->bare_seconds > 0 ? r->seconds / r->bare_seconds : 0;
    const char *verdict = r->is_right ? "" : " FAILED";
    printf("%7u %5u %4llu %7u %-44s %9.3f %8.2f %8.1f %8.0f %5.0f%% %9.3f %9.2g%s\n", c->channels,
           c->taps, (unsigned long long)bits, c->streams, how, ms, rate, bytes, flops, 100 * share,
           bench_has_device(settings) ? 1e3 * r->steps[STEP_DEINTERLEAVE] : ratio, r->rms, verdict);
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
    csv_print(&settings->table.csv, "%u,%u,%llu,%d,%u,%llu,\"%s\",%.6f,%.6f,%.6f,%.6f,%.6f,",
              c->channels, c->taps, (unsigned long long)bits, c->is_complex, c->streams,
              (unsigned long long)r->samples, how, ms, 1e3 * r->steps[STEP_DEINTERLEAVE],
              1e3 * r->steps[STEP_FILTER], 1e3 * r->steps[STEP_TRANSFORM],
              1e3 * r->steps[STEP_DETECT]);
    csv_print(&settings->table.csv,
              "%.4f,%.2f,%.1f,%.4f,%.6f,%.4f,%.4f,%.2f,%.6f,%.4f,%u,%s,%.3g,%s\n", rate, bytes,
              flops, share, 1e3 * r->block_seconds,
              r->block_seconds > 0 ? 1e-9 * samples / r->block_seconds : 0,
              bench_link_share(settings, r), joules, 1e3 * r->bare_seconds, ratio, c->threads,
              channelise_simd(&r->choice), r->rms, r->is_right ? "ok" : "FAILED");
    bench_table_end_row(&settings->table, r->is_right);
}

static struct bench_case bench_case_of(const struct ppf_settings *settings, uint64_t channels,
                                       uint64_t taps, uint64_t bits, uint64_t streams)
{
    return (struct bench_case){.channels = (uint32_t)channels,
                               .taps = (uint32_t)taps,
                               .streams = (uint32_t)streams,
                               .format = bench_format_of(bits),
                               .is_complex = !settings->is_real,
                               .oversample = settings->oversample,
                               .samples = settings->samples,
                               .fft = settings->fft,
                               .threads = settings->shared.threads,
                               .repeats = settings->shared.repeats};
}

static void bench_tell_failure(struct ppf_settings *settings, const struct bench_case *c,
                               uint64_t bits, const char *what, int is_fault)
{
    printf("%7u %5u %4llu %7u %s: %s\n", c->channels, c->taps, (unsigned long long)bits, c->streams,
           what, report_cause());
    report_clear();
    settings->table.failed += is_fault ? 1 : 0;
}

/* Times one row. A case that this device cannot do is reported and skipped. */
static status_t bench_row(struct ppf_settings *settings, uint64_t channels, uint64_t taps,
                          uint64_t bits, uint64_t streams, uint64_t kernel)
{
    SCOPED(text_free) struct text how = {0};
    struct bench_result result;
    struct bench_case c = bench_case_of(settings, channels, taps, bits, streams);
    c.output = settings->out;
    c.kernel = (enum kernel_kind)kernel;
    c.with_transfers = c.with_power = settings->with_transfers;
    uint32_t nearest = oversampled_channels(c.oversample, c.channels);
    if (nearest != c.channels) {
        printf("%7u %5u %4llu %7u left out: oversampled by %u/%u, spectra would begin between "
               "samples; the nearest that will do is %u channels\n",
               c.channels, c.taps, (unsigned long long)bits, c.streams, c.oversample.num,
               c.oversample.den, nearest);
        return STATUS_OK;
    }
    settings->done++;
    status_t tried = bench_ppf(settings->table.opened, &c, &result);
    if (tried != STATUS_OK) {
        /* A kernel that is asked for by name may be unable to do a shape. */
        bench_tell_failure(settings, &c, bits, kernel_name(c.kernel),
                           c.kernel == KERNEL_AUTO || tried != STATUS_USAGE);
        return STATUS_OK;
    }
    TRY(channelise_words(&result.choice, &how));
    bench_print_row(settings, &c, bits, &result, how.data);
    return STATUS_OK;
}

/* A row for each number of taps with which the bank's channels become a stream again. */
static void bench_rows_back(struct ppf_settings *settings, uint64_t channels, uint64_t taps,
                            uint64_t bits, uint64_t streams)
{
    struct text how = {0};
    for (uint32_t i = 0; i < settings->synthesise.count; i++) {
        struct bench_result result;
        const struct bench_case c =
            bench_case_of(settings, channels, settings->synthesise.values[i], bits, streams);
        text_free(&how);
        if (bench_synthesis(settings->table.opened, &c, (uint32_t)taps, &result, &how) ==
            STATUS_OK) {
            bench_print_row(settings, &c, bits, &result, how.data);
        } else {
            bench_tell_failure(settings, &c, bits, "synthesis", 1);
        }
    }
    text_free(&how);
}

/* Takes the next list's value of a row. */
static uint64_t bench_take(uint64_t *row, const struct option_list *list)
{
    return list->values[take_digit(row, list->count)];
}

static status_t bench_lists(struct ppf_settings *s)
{
    const uint32_t rows = s->bits.count * s->streams.count * s->channels.count * s->taps.count;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t row = i;
        const uint64_t taps = bench_take(&row, &s->taps);
        const uint64_t channels = bench_take(&row, &s->channels);
        const uint64_t streams = bench_take(&row, &s->streams);
        const uint64_t bits = bench_take(&row, &s->bits);
        for (uint32_t k = 0; k < s->kernels.count; k++) {
            TRY(bench_row(s, channels, taps, bits, streams, s->kernels.values[k]));
        }
        bench_rows_back(s, channels, taps, bits, streams);
    }
    return STATUS_OK;
}

static status_t bench_lofar(struct ppf_settings *s)
{
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
    return STATUS_OK;
}

static status_t bench_all(void *settings)
{
    struct ppf_settings *s = settings;
    TRY(backend_measure(s->table.opened, &s->rates));
    bench_table_print_device(&s->table);
    printf("copies %s/s", units_bytes((uint64_t)s->rates.copy));
    if (s->rates.upload > 0) {
        printf(", to the device %s/s, back %s/s", units_bytes((uint64_t)s->rates.upload),
               units_bytes((uint64_t)s->rates.download));
    }
    printf("\n%7s %5s %4s %7s %-44s %9s %8s %8s %8s %6s %9s %9s\n", "channel", "taps", "bits",
           "streams", "how", "ms", "Gsamp/s", "GB/s", "GFLOP/s", "copy",
           bench_has_device(s) ? "deint. ms" : "/ FFT", "rms error");
    TRY(s->is_lofar ? bench_lofar(s) : bench_lists(s));
    return REQUIRED(s->done > 0, STATUS_USAGE,
                    "bench ppf: none of its rows can be oversampled by %u/%u", s->oversample.num,
                    s->oversample.den);
}

static int bench_read_out(const struct option_row *row, const char *text, void *field)
{
    enum { SCALE_ROWS = 1024 }; /* as products have them */
    struct channelise_output *out = field;
    int is_power = strncmp(text, "power", 5) == 0;
    int is_8 = strcmp(text, "spectra:8") == 0;
    int is_16 = strcmp(text, "spectra:16") == 0;
    (void)row;
    *out = (struct channelise_output){.quantity = is_power ? QUANTITY_POWER : QUANTITY_SPECTRA,
                                      .integrate = 1,
                                      .bits = is_8    ? 8
                                              : is_16 ? 16
                                                      : 0,
                                      .scale_rows = SCALE_ROWS};
    return is_8 || is_16 || strcmp(text, "spectra") == 0 || strcmp(text, "power") == 0 ||
           (strncmp(text, "power:", 6) == 0 && units_parse_u64(text + 6, &out->integrate) &&
            out->integrate >= 1 && out->integrate <= 1 << 20);
}

/* "32/27", in lowest terms. */
static int bench_read_ratio(const struct option_row *row, const char *text, void *field)
{
    struct ratio *out = field;
    (void)row;
    int ok = ratio_parse(text, out);
    uint32_t common = ok ? (uint32_t)gcd_u64(out->num, out->den) : 1;
    *out = (struct ratio){out->num / common, out->den / common};
    return ok;
}

#define AT(field) offsetof(struct ppf_settings, field)

static const struct option_row rows[] = {
    {.name = "backend device"},
    {"channels", "LIST", value_list, AT(channels), "2..16777216", "1024",
     "channels of the filter bank"},
    {"taps", "LIST", value_list, AT(taps), "1..65536", "8", "taps"},
    {"bits", "LIST", value_list, AT(bits), "4|8|16|32", "8", "of a sample's part: 4, 8, 16, 32"},
    {"streams", "LIST", value_list, AT(streams), "1..65536", "1", "streams filtered together"},
    {"kernel", "LIST", value_list, AT(kernels), KERNELS(KERNEL_NAME, "|"), "auto",
     KERNELS(KERNEL_NAME, ", ")},
    {"fft", "NAME", value_choice, AT(fft), "auto|vkfft|clfft", "auto",
     "auto, vkfft or clfft, after the FIR kernels"},
    {"real", FLAG(AT(is_real)), "real samples instead of complex ones"},
    {"oversample", "NUM/DEN", bench_read_ratio, AT(oversample),
     "a ratio of at least 1, such as 32/27", "1/1",
     "spectra come NUM/DEN times as often as channels are apart, with the prototype for that"},
    {"synthesise", "LIST", value_list, AT(synthesise), "1..4096", NULL,
     "also the way back from the channels, as numbers of --bits, to a stream, by the bank's dual "
     "with these numbers of taps: a row each, with the taps of the dual and the error that is "
     "left"},
    {"out", "KIND", bench_read_out, AT(out), "spectra|spectra:8|spectra:16|power|power:N",
     "spectra",
     "spectra (of 32-bit floats, or, with given scales, of 8 or 16 bits), power, or power:N, "
     "integrated over N spectra"},
    {"samples", "COUNT", value_u64, AT(samples), "1..1099511627776", "2^26",
     "of all streams together, such as 268435456 or 2^28"},
    {.name = "repeat"},
    {"transfers", FLAG(AT(with_transfers)),
     "also blocks in a row from pinned memory and back, and, where nvidia-smi reports the power, "
     "joules per 10^9 samples"},
    {"lofar", FLAG(AT(is_lofar)),
     "64 stations x 2 polarisations at 64 x 64 channels x taps, 128 x 32, 256 x 16, 512 x 8, 1024 "
     "x 4, 8 and 16 bit (van der Veldt et al. 2012)"},
    {.name = "threads csv"},
    {.name = NULL}};

static status_t bench_check(void *settings)
{
    const struct ppf_settings *s = settings;
    for (uint32_t i = 0; i < s->bits.count; i++) {
        REQUIRE(s->bits.values[i] != 4 || !s->is_real, STATUS_USAGE,
                "bench ppf: 4-bit samples are complex");
    }
    for (uint32_t i = 0; i < s->channels.count; i++) {
        REQUIRE(s->channels.values[i] % 2 == 0, STATUS_USAGE,
                "bench ppf --channels %llu: expected even numbers",
                (unsigned long long)s->channels.values[i]);
    }
    return REQUIRED(!s->is_lofar || s->oversample.num == s->oversample.den, STATUS_USAGE,
                    "bench ppf --lofar: is critically sampled, expected no --oversample");
}

static status_t bench_run(void *settings)
{
    struct ppf_settings *s = settings;
    return bench_table_run(&s->shared, &s->table, heading, bench_all);
}

const struct command cli_bench_ppf = {
    .name = "bench ppf",
    .summary = "time the filter bank on this machine, and check it",
    .usage = "[OPTION]...",
    .about = "Times the filter bank alone on random samples and checks what comes out against the "
             "reference; a row whose result is wrong says FAILED; on the CPU / FFT is its time "
             "over that of FFTW alone on as many threads. Lists are written 256,1024 or 256..4096 "
             "(doubling).",
    .rows = rows,
    .bytes = sizeof(struct ppf_settings),
    .check = bench_check,
    .run = bench_run};
