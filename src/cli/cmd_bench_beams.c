/* voltmill bench beams */
#include "base/units.h"
#include "bench/bench_beams.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "plan/channelise_plan.h"

#include <inttypes.h>
#include <stdio.h>

/* Options of the command, and the state of the table while it is made. */
struct beams_settings {
    struct shared shared;
    struct option_list stations, beams, channels;
    uint32_t pols, cell;
    uint64_t spectra;
    int is_fixed;

    backend_t *opened;
    double peak; /* operations a second */
    uint32_t failed;
    struct csv csv;
};

static const char heading[] = "stations,beams,pols,channels,cell,spectra,weights,ms,tflop_per_s,"
                              "share_of_peak,gsamples_per_s,threads,rms_error,result";

static void bench_print_row(struct beams_settings *s, const struct bench_beams *c,
                            const struct bench_formed *r)
{
    const double rate = bench_beams_flops(c, r->spectra) / r->seconds;
    const double share = s->peak > 0 ? rate / s->peak : 0;
    /* Samples of all streams, each of which comes to one number of a spectrum. */
    const double samples =
        1e-9 * c->stations * c->pols * c->channels * (double)r->spectra / r->seconds;
    printf("%8u %6u %5u %8u %6u %8" PRIu64 " %10.4f %9.3f %8.1f%% %9.3f %9.2g%s\n", c->stations,
           c->beams, c->pols, c->channels, c->cell, r->spectra, 1e3 * r->seconds, 1e-12 * rate,
           1e2 * share, samples, r->error, r->is_right ? "" : " FAILED");
    report_show();
    csv_print(&s->csv, "%u,%u,%u,%u,%u,%" PRIu64 ",%s,%.6f,%.4f,%.4f,%.4f,%u,%.3g,%s\n",
              c->stations, c->beams, c->pols, c->channels, c->cell, r->spectra,
              c->is_fixed ? "table" : "turns", 1e3 * r->seconds, 1e-12 * rate, share, samples,
              c->threads, r->error, r->is_right ? "ok" : "FAILED");
    csv_flush(&s->csv);
}

static void bench_print_head(const struct beams_settings *s)
{
    const char *device = backend_device(s->opened);
    printf("%s%s%s: multiply-adds in registers %.3f TFLOP/s; weights %s\n",
           backend_name(backend_which(s->opened)), *device ? ", " : "", device, 1e-12 * s->peak,
           s->is_fixed ? "from a table" : "turn");
    printf("%8s %6s %5s %8s %6s %8s %10s %9s %9s %9s %9s\n", "stations", "beams", "pols", "channel",
           "cell", "spectra", "ms", "TFLOP/s", "of peak", "Gsamp/s", "rms error");
}

static status_t bench_lists(struct beams_settings *s)
{
    status_t st = STATUS_OK;
    const uint32_t nbeams = s->beams.count;
    const uint32_t nchannels = s->channels.count;
    for (uint32_t i = 0; i < s->stations.count * nbeams * nchannels; i++) {
        const struct bench_beams c = {.stations =
                                          (uint32_t)s->stations.values[i / nbeams / nchannels],
                                      .beams = (uint32_t)s->beams.values[i / nchannels % nbeams],
                                      .pols = s->pols,
                                      .channels = (uint32_t)s->channels.values[i % nchannels],
                                      .cell = s->cell,
                                      .spectra = s->spectra,
                                      .is_fixed = s->is_fixed,
                                      .threads = s->shared.threads,
                                      .repeats = s->shared.repeats};
        struct bench_formed result;
        TRY(bench_beams(s->opened, &c, &result));
        bench_print_row(s, &c, &result);
        s->failed += !result.is_right;
    }
out:
    return st;
}

static status_t bench_all(struct beams_settings *s)
{
    status_t st = STATUS_OK;
    struct backend_options options = {.device = s->shared.device, .local_size = 1};
    struct job all_cores = {0};
    s->shared.threads =
        s->shared.threads ? s->shared.threads : channelise_plan_threads(&all_cores, 1);
    TRY(csv_open(s->shared.csv, "w", heading, &s->csv));
    TRY(backend_open(backend_settle(s->shared.backend), &options, &s->opened));
    TRY(backend_measure_fma(s->opened, s->shared.threads, &s->peak));
    bench_print_head(s);
    TRY(bench_lists(s));
    REQUIRE(s->failed == 0, STATUS_DEVICE, "bench beams: %u %s failed", s->failed,
            units_plural(s->failed, "row", "rows"));
out:
    return st;
}

#define AT(field) offsetof(struct beams_settings, field)

static const struct option_row rows[] = {
    {.name = "backend"},
    {.name = "device"},
    {"stations", "LIST", value_list, AT(stations), "1..65536", "64", "stations of the array"},
    {"beams", "LIST", value_list, AT(beams), "1..65536", "64", "beams that are formed"},
    {"channels", "LIST", value_list, AT(channels), "1..16777216", "1024", "channels of a spectrum"},
    {"pols", "N", value_u32, AT(pols), "1..2", "2", "polarisations of a station"},
    {"cell", "N", value_u32, AT(cell), "1..1073741824", "16",
     "spectra for which the beams' weights are made once"},
    {"spectra", "COUNT", value_u64, AT(spectra), "1..1073741824", NULL,
     "spectra of a block (default: as many as exceed caches)"},
    {"fixed", NULL, value_flag, AT(is_fixed), NULL, NULL,
     "weights from a table of all beams, stations and channels, instead of delays"},
    {.name = "repeat"},
    {.name = "threads"},
    {.name = "csv"},
    {.name = NULL}};

static status_t bench_run(void *settings)
{
    struct beams_settings *s = settings;
    status_t st = bench_all(s);
    backend_close(s->opened);
    return csv_close(&s->csv, st);
}

const struct command cli_bench_beams = {
    .name = "bench beams",
    .summary = "time beams of an array on this machine, and check them",
    .usage = "[OPTION]...",
    .about = "Times the coherent sums of an array's stations to beams on random spectra. Stations "
             "are turned in each spectrum, and beams in each cell of spectra, as delays do. Three "
             "spectra of the timed block are compared with sums in double; one that is wrong says "
             "FAILED. TFLOP/s count eight operations for each station of each number of a beam; "
             "their share is that of multiply-adds in registers alone, on the same device or "
             "threads. A device's time is its own clock's.",
    .rows = rows,
    .bytes = sizeof(struct beams_settings),
    .run = bench_run};
