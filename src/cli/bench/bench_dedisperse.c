/* voltmill bench dedisperse */
#include "bench/bench_dedisperse.h"

#include "base/memory.h"
#include "base/units.h"
#include "cli/bench/bench_options.h"
#include "cli/cli.h"
#include "plan/channelise_plan.h"
#include "ranks/progress.h"
#include "tune/problem/dedispersion.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: voltmill bench dedisperse [OPTION]...\n"
    "\n"
    "Times dedispersion alone on random samples (Sclocco et al. 2014) and checks sampled outputs;\n"
    "a row whose result is wrong says FAILED. An add is one sample added into one output.\n"
    "\n"
    "  --backend NAME    opencl or cpu (default: opencl where there is a GPU)\n"
    "  --device TEXT     OpenCL device: a number or a part of its name (voltmill info --devices)\n"
    "  --setup NAME      apertif (1,024 channels of 0.29 MHz from 1,420 MHz up, 20,000 samples/s)\n"
    "                    or lofar (32 of 0.19 MHz from 138 MHz up, 200,000 samples/s)\n"
    "  --dms LIST        numbers of DMs, such as 2..4096 (doubling; the default) or 512,4096\n"
    "  --dm-step X       between DMs (default 0.25)\n"
    "  --zero            all DMs are 0: perfect reuse\n"
    "  --seconds X       of data (default 1)\n"
    "  --bits LIST       of a sample: 8, 16, 32 (float) (default 8)\n"
    "  --group N         two-step dedispersion with groups of N channels\n"
    "  --shape TEXT      one way to run the kernel (default: the model's choice), written\n"
    "                    STAGING:PACK:TIMExDM items:TIMExDM outputs:CHUNK:SKEW:PTX, STAGING\n"
    "                    direct, funnel or copies: copies:4:32x8:8x4:8:0:1\n"
    "  --tuned           what `voltmill tune` has found for each problem, or for the nearest one\n"
    "  --database FILE   where it has kept it (default: tuned.txt in the cache folder)\n"
    "  --sweep FILE      times the shapes that FILE lists, one a line; FILE `all`: those of the\n"
    "                    whole space that fit, the most promising first\n"
    "  --every N         of `all` only every N-th\n"
    "  --budget SECONDS  ends a sweep after that time (default 300)\n"
    "  --repeat N        timed runs, the best of which counts (default 5)\n"
    "  --threads N       of the cpu backend (default: all)\n"
    "  --csv FILE        writes the table to FILE, too\n"
    "  --help            prints this\n";

struct settings {
    enum backend_kind backend;
    const char *device, *sweep, *csv_path, *database;
    const struct bench_telescope *telescope;
    struct bench_list dms, bits;
    double dm_step, seconds, budget;
    uint64_t group, every, repeats, threads;
    int has_shape, is_zero, is_tuned, help;
    struct dedisperse_shape shape;
    /* While it runs. */
    backend_t *opened;
    struct csv csv;
    double started;
    uint32_t failed;
};

enum {
    TAKE_BACKEND = 256,
    TAKE_DEVICE,
    TAKE_SETUP,
    TAKE_DMS,
    TAKE_DM_STEP,
    TAKE_ZERO,
    TAKE_SECONDS,
    TAKE_BITS,
    TAKE_GROUP,
    TAKE_SHAPE,
    TAKE_TUNED,
    TAKE_DATABASE,
    TAKE_SWEEP,
    TAKE_EVERY,
    TAKE_BUDGET,
    TAKE_REPEAT,
    TAKE_THREADS,
    TAKE_CSV
};

static const struct option known[] = {{"backend", required_argument, NULL, TAKE_BACKEND},
                                      {"device", required_argument, NULL, TAKE_DEVICE},
                                      {"setup", required_argument, NULL, TAKE_SETUP},
                                      {"dms", required_argument, NULL, TAKE_DMS},
                                      {"dm-step", required_argument, NULL, TAKE_DM_STEP},
                                      {"zero", no_argument, NULL, TAKE_ZERO},
                                      {"seconds", required_argument, NULL, TAKE_SECONDS},
                                      {"bits", required_argument, NULL, TAKE_BITS},
                                      {"group", required_argument, NULL, TAKE_GROUP},
                                      {"shape", required_argument, NULL, TAKE_SHAPE},
                                      {"tuned", no_argument, NULL, TAKE_TUNED},
                                      {"database", required_argument, NULL, TAKE_DATABASE},
                                      {"sweep", required_argument, NULL, TAKE_SWEEP},
                                      {"every", required_argument, NULL, TAKE_EVERY},
                                      {"budget", required_argument, NULL, TAKE_BUDGET},
                                      {"repeat", required_argument, NULL, TAKE_REPEAT},
                                      {"threads", required_argument, NULL, TAKE_THREADS},
                                      {"csv", required_argument, NULL, TAKE_CSV},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static status_t bench_take_count(const char *name, const char *value, uint64_t most, uint64_t *out)
{
    status_t st = STATUS_OK;
    REQUIRE(units_parse_u64(value, out) && *out >= 1 && *out <= most, STATUS_USAGE,
            "bench dedisperse: --%s %s: expected a number from 1 to %llu", name, value,
            (unsigned long long)most);
out:
    return st;
}

static status_t bench_take_positive(const char *name, const char *value, double *out)
{
    status_t st = STATUS_OK;
    REQUIRE(units_parse_f64(value, out) && *out > 0 && *out <= 1e6, STATUS_USAGE,
            "bench dedisperse: --%s %s: expected a positive number", name, value);
out:
    return st;
}

static status_t bench_take_text(int option, const char *value, struct settings *out)
{
    status_t st = STATUS_OK;
    switch (option) {
    case TAKE_BACKEND:
        REQUIRE(strcmp(value, "cpu") == 0 || strcmp(value, "opencl") == 0, STATUS_USAGE,
                "bench dedisperse: --backend %s: expected cpu or opencl", value);
        out->backend = strcmp(value, "cpu") == 0 ? BACKEND_CPU : BACKEND_OPENCL;
        break;
    case TAKE_SETUP:
        out->telescope = bench_telescope(value);
        REQUIRE(out->telescope, STATUS_USAGE,
                "bench dedisperse: --setup %s: expected apertif or lofar", value);
        break;
    case TAKE_SHAPE:
        out->has_shape = 1;
        REQUIRE(dedisperse_shape_parse(value, &out->shape), STATUS_USAGE,
                "bench dedisperse: --shape %s: expected such as copies:4:32x8:8x4:8:0:1", value);
        break;
    case TAKE_DEVICE:
        out->device = value;
        break;
    case TAKE_SWEEP:
        out->sweep = value;
        break;
    case TAKE_DATABASE:
        out->database = value;
        break;
    default:
        out->csv_path = value;
        break;
    }
out:
    return st;
}

static status_t bench_take(int option, const char *value, struct settings *out)
{
    switch (option) {
    case TAKE_DMS:
        return bench_list_read("dms", value, 1, 1 << 20, &out->dms);
    case TAKE_BITS:
        return bench_list_read("bits", value, 8, 32, &out->bits);
    case TAKE_ZERO:
        out->is_zero = 1;
        return STATUS_OK;
    case TAKE_TUNED:
        out->is_tuned = 1;
        return STATUS_OK;
    case TAKE_DM_STEP:
        return bench_take_positive("dm-step", value, &out->dm_step);
    case TAKE_SECONDS:
        return bench_take_positive("seconds", value, &out->seconds);
    case TAKE_BUDGET:
        return bench_take_positive("budget", value, &out->budget);
    case TAKE_GROUP:
        return bench_take_count("group", value, 256, &out->group);
    case TAKE_EVERY:
        return bench_take_count("every", value, 1 << 20, &out->every);
    case TAKE_REPEAT:
        return bench_take_count("repeat", value, 1000, &out->repeats);
    case TAKE_THREADS:
        return bench_take_count("threads", value, 4096, &out->threads);
    default:
        return bench_take_text(option, value, out);
    }
}

static status_t bench_read_options(int argc, char **argv, struct settings *out)
{
    status_t st = STATUS_OK;
    struct job all_cores = {0};
    *out = (struct settings){.telescope = bench_telescope("apertif"),
                             .bits = {{8}, 1},
                             .dm_step = 0.25,
                             .seconds = 1,
                             .budget = 300,
                             .every = 1,
                             .repeats = 5,
                             .threads = channelise_plan_threads(&all_cores, 1)};
    TRY(bench_list_read("dms", "2..4096", 1, 1 << 20, &out->dms));
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        REQUIRE(option != ':', STATUS_USAGE, "bench dedisperse: %s needs a value",
                argv[optind - 1]);
        REQUIRE(option != '?', STATUS_USAGE, "bench dedisperse: there is no option %s (see --help)",
                argv[optind - 1]);
        if (option == 'h') {
            out->help = 1;
            goto out;
        }
        TRY(bench_take(option, optarg, out));
    }
    REQUIRE(optind == argc, STATUS_USAGE, "bench dedisperse: there is no use for %s (see --help)",
            argv[optind]);
    REQUIRE(out->is_tuned + out->has_shape + (out->sweep != NULL) <= 1, STATUS_USAGE,
            "bench dedisperse: --tuned, --shape and --sweep do not go together");
    for (uint32_t i = 0; i < out->bits.count; i++) {
        uint64_t bits = out->bits.values[i];
        REQUIRE(bits == 8 || bits == 16 || bits == 32, STATUS_USAGE,
                "bench dedisperse: --bits %llu: expected 8, 16 or 32", (unsigned long long)bits);
    }
out:
    return st;
}

static const char heading[] = "setup,dms,bits,dm_step,group,seconds_of_data,how,ms,order_ms,"
                              "upload_ms,download_ms,gadd_per_s,realtime,model_ms,result";

static void bench_print_head(struct settings *s)
{
    const char *device = backend_device(s->opened);
    printf("%s%s%s: %s, %u channels, %g s of data\n", backend_name(backend_which(s->opened)),
           *device ? ", " : "", device, s->telescope->name, s->telescope->nchannels, s->seconds);
    printf("%6s %4s %-34s %10s %9s %9s %10s %9s\n", "DMs", "bits", "how", "ms", "order ms",
           "Gadd/s", "x realtime", "model ms");
}

static void bench_print_row(struct settings *s, const struct bench_dedispersion *c, const char *how,
                            const struct bench_dedispersed *r, double cost)
{
    uint32_t bits = 8 * (uint32_t)series_bytes(c->format);
    double rate = 1e-9 * r->adds / r->seconds;
    printf("%6u %4u %-34s %10.3f %9.3f %9.2f %10.1f %9.3f%s\n", c->ndms, bits, how,
           1e3 * r->seconds, 1e3 * r->order, rate, r->realtime, 1e3 * cost,
           r->wrong ? " FAILED" : "");
    fflush(stdout);
    csv_print(&s->csv, "%s,%u,%u,%g,%u,%g,\"%s\",%.6f,%.6f,%.6f,%.6f,%.4f,%.4f,%.6f,%s\n",
              c->telescope->name, c->ndms, bits, c->dm_step, c->group, c->seconds, how,
              1e3 * r->seconds, 1e3 * r->order, 1e3 * r->upload, 1e3 * r->download, rate,
              r->realtime, 1e3 * cost, r->wrong ? "FAILED" : "ok");
    csv_flush(&s->csv);
}

/* One row; a shape that cannot be is said and passed over, a device that fails is a failure. */
static status_t bench_time_shape(struct settings *s, bench_dedisperse_t *bench,
                                 const struct bench_dedispersion *c,
                                 const struct dedisperse_shape *shape, double cost)
{
    status_t st = STATUS_OK;
    struct text how = {0};
    struct bench_dedispersed result;
    status_t tried = bench_dedisperse_time(bench, shape, &how, &result);
    if (tried != STATUS_OK) {
        TRY(shape && !how.data ? dedisperse_shape_words(shape, &how) : STATUS_OK);
        printf("%6u %4u %-34s %s\n", c->ndms, 8 * (uint32_t)series_bytes(c->format),
               how.data ? how.data : "", report_cause());
        report_clear();
        s->failed += tried != STATUS_USAGE;
        goto out;
    }
    bench_print_row(s, c, how.data, &result, cost);
    s->failed += result.wrong > 0;
out:
    text_free(&how);
    return st;
}

static int bench_has_time(const struct settings *s)
{
    return progress_now() - s->started < s->budget;
}

static status_t bench_sweep_space(struct settings *s, bench_dedisperse_t *bench,
                                  const struct bench_dedispersion *c)
{
    status_t st = STATUS_OK;
    struct dedisperse_candidate *list = NULL;
    uint32_t count = 0;
    TRY(bench_dedisperse_candidates(bench, &list, &count));
    printf("%u shapes fit, every %llu of them\n", count, (unsigned long long)s->every);
    for (uint64_t i = 0; i < count && bench_has_time(s); i += s->every) {
        TRY(bench_time_shape(s, bench, c, &list[i].shape, list[i].cost));
    }
out:
    free(list);
    return st;
}

static status_t bench_sweep_file(struct settings *s, bench_dedisperse_t *bench,
                                 const struct bench_dedispersion *c)
{
    status_t st = STATUS_OK;
    enum { MOST_BYTES = 1 << 24 };
    struct text text = {0};
    char *rest = NULL;
    TRY(text_read_file(&text, s->sweep, MOST_BYTES));
    size_t nul = text_line_of_nul(text.data, text.length);
    REQUIRE(nul == 0, STATUS_USAGE, "%s:%zu: holds a NUL byte, expected shapes", s->sweep, nul);
    for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL;
         line && bench_has_time(s); line = strtok_r(NULL, "\n", &rest)) {
        struct dedisperse_shape shape;
        REQUIRE(dedisperse_shape_parse(line, &shape), STATUS_USAGE,
                "%s: %s: expected a shape such as copies:4:32x8:8x4:8:0:1", s->sweep, line);
        TRY(bench_time_shape(s, bench, c, &shape, 0));
    }
out:
    text_free(&text);
    return st;
}

/* What the tuner knows; else the model's choice. */
static status_t bench_time_tuned(struct settings *s, bench_dedisperse_t *bench,
                                 const struct bench_dedispersion *c)
{
    status_t st = STATUS_OK;
    struct dedisperse_shape shape;
    struct text from = {0};
    enum tune_found found = TUNE_NOTHING;
    TRY(tune_find(s->opened, dedispersion_trial_spec(bench_dedisperse_trial(bench)), s->database,
                  &shape, &found, &from));
    if (found == TUNE_NOTHING) {
        report_note("%u DMs: nothing is tuned on this device, the model chooses", c->ndms);
    } else if (found == TUNE_NEAREST) {
        report_note("%u DMs: tuned for the nearest known problem, %s", c->ndms, from.data);
    }
    TRY(bench_time_shape(s, bench, c, found == TUNE_NOTHING ? NULL : &shape, 0));
out:
    text_free(&from);
    return st;
}

static status_t bench_case(struct settings *s, const struct bench_dedispersion *c)
{
    status_t st = STATUS_OK;
    bench_dedisperse_t *bench = NULL;
    TRY(bench_dedisperse_create(s->opened, c, &bench));
    const struct dispersion_steps *steps = bench_dedisperse_steps(bench);
    if (steps) {
        printf("two steps: %u DMs in %u groups of delays, %.2f times fewer adds, at most %u "
               "samples of error\n",
               c->ndms, steps->nsteps,
               (double)c->ndms * c->telescope->nchannels / (double)steps->adds, steps->error);
    }
    s->started = progress_now();
    if (s->is_tuned) {
        TRY(bench_time_tuned(s, bench, c));
    } else if (!s->sweep) {
        TRY(bench_time_shape(s, bench, c, s->has_shape ? &s->shape : NULL, 0));
    } else if (strcmp(s->sweep, "all") == 0) {
        TRY(bench_sweep_space(s, bench, c));
    } else {
        TRY(bench_sweep_file(s, bench, c));
    }
out:
    bench_dedisperse_destroy(bench);
    return st;
}

static status_t bench_all(struct settings *s)
{
    status_t st = STATUS_OK;
    struct backend_options options = {.device = s->device, .local_size = 1};
    TRY(csv_open(s->csv_path, "w", heading, &s->csv));
    TRY(backend_open(backend_settle(s->backend), &options, &s->opened));
    bench_print_head(s);
    for (uint32_t b = 0; b < s->bits.count; b++) {
        for (uint32_t d = 0; d < s->dms.count; d++) {
            uint64_t bits = s->bits.values[b];
            struct bench_dedispersion c = {.telescope = s->telescope,
                                           .format = bits == 8    ? SERIES_U8
                                                     : bits == 16 ? SERIES_U16
                                                                  : SERIES_F32,
                                           .ndms = (uint32_t)s->dms.values[d],
                                           .dm_step = s->is_zero ? 0 : s->dm_step,
                                           .seconds = s->seconds,
                                           .group = (uint32_t)s->group,
                                           .threads = (uint32_t)s->threads,
                                           .repeats = (uint32_t)s->repeats};
            TRY(bench_case(s, &c));
        }
    }
    REQUIRE(s->failed == 0, STATUS_DEVICE, "bench dedisperse: %u %s failed", s->failed,
            units_plural(s->failed, "row", "rows"));
out:
    return st;
}

status_t cli_bench_dedisperse(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct settings settings = {0};
    TRY(bench_read_options(argc, argv, &settings));
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
