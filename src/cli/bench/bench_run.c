/* voltmill bench run JOB */
#include "bench/bench_run.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/print/csv.h"
#include "cli/start.h"
#include "ranks/agree.h"

#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: voltmill bench run [OPTION]... JOB\n"
    "       mpirun -n N voltmill bench run [OPTION]... JOB\n"
    "\n"
    "Runs the job and times it beside what bounds it, measured right before: the backend alone on\n"
    "blocks in memory, and plain reading and writing of the same bytes on the same file systems.\n"
    "The products stay; beside each a file FILE.bench of its size is written for a while.\n"
    "\n"
    "  --repeat N           so many times, the best of each side counts (default 3)\n"
    "  --set KEY=VALUE      sets a key of the job\n"
    "  --force              replaces products that exist\n"
    "  --csv FILE           adds a line to FILE, with a heading when it is new\n"
    "  --help               prints this\n";

struct settings {
    struct bench_run_options options;
    const char **sets;
    int help;
};

static status_t bench_read_options(int argc, char **argv, struct settings *out)
{
    status_t st = STATUS_OK;
    static const struct option known[] = {
        {"repeat", required_argument, NULL, 'r'}, {"set", required_argument, NULL, 's'},
        {"force", no_argument, NULL, 'f'},        {"csv", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    uint64_t repeats = 3;
    optind = 1;
    opterr = 0;
    out->sets = calloc((size_t)argc, sizeof *out->sets);
    REQUIRE(out->sets, STATUS_DEVICE, "out of memory: options");
    for (int option; (option = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        REQUIRE(option != ':', STATUS_USAGE, "bench run: %s needs a value", argv[optind - 1]);
        REQUIRE(option != '?', STATUS_USAGE, "bench run: there is no option %s (see --help)",
                argv[optind - 1]);
        if (option == 'r') {
            REQUIRE(units_parse_u64(optarg, &repeats) && repeats >= 1 && repeats <= 1000,
                    STATUS_USAGE, "bench run: --repeat is %s, expected 1 to 1000", optarg);
        } else if (option == 's') {
            out->sets[out->options.nsets++] = optarg;
        } else if (option == 'f') {
            out->options.force = 1;
        } else if (option == 'c') {
            out->options.csv = optarg;
        } else {
            out->help = 1;
        }
    }
    out->options.repeats = (uint32_t)repeats;
    out->options.sets = out->sets;
    REQUIRE(out->help || optind == argc - 1, STATUS_USAGE,
            "bench run: one job file is expected (see --help)");
    out->options.path = out->help ? NULL : argv[optind];
out:
    return st;
}

static void bench_print_side(const char *what, double seconds, double bytes, double samples)
{
    printf("  %-34s %9.3f s", what, seconds);
    if (bytes > 0 && seconds > 0) {
        printf(" %9.1f MB/s", 1e-6 * bytes / seconds);
    } else {
        printf(" %14s", "");
    }
    if (samples > 0 && seconds > 0) {
        printf(" %9.1f Msamp/s", 1e-6 * samples / seconds);
    }
    printf("\n");
}

static void bench_print_result(const struct bench_run_result *r, int ranks)
{
    const struct run_times *t = &r->times;
    printf("what bounds it, on %d %s\n", ranks, units_plural((uint64_t)ranks, "rank", "ranks"));
    bench_print_side("backend, memory to memory", r->backend, 0, t->samples);
    bench_print_side("plain reads of the same bytes", r->reading, t->in_bytes, 0);
    bench_print_side("plain writes of the same bytes", r->writing, t->out_bytes, 0);
    printf("the run, stages beside each other, mean of the ranks\n");
    bench_print_side("before the first chunk", t->before, 0, 0);
    bench_print_side("read", t->read, t->in_bytes / ranks, 0);
    bench_print_side("compute", t->compute, 0, t->samples / ranks);
    bench_print_side("write", t->write, t->out_bytes / ranks, 0);
    bench_print_side("after the last chunk", t->after, 0, 0);
    bench_print_side("whole", t->total, t->in_bytes, t->samples);
    printf("the run takes %.3f times the bound\n", t->total / r->bound);
}

static const char heading[] =
    "ranks,samples,in_bytes,out_bytes,backend_s,plain_read_s,plain_write_s,before_s,read_s,"
    "compute_s,write_s,after_s,total_s,ratio_to_bound";

static status_t bench_write_csv(const char *path, const struct bench_run_result *r, int ranks)
{
    status_t st = STATUS_OK;
    struct csv csv = {0};
    TRY(csv_open(path, "a", heading, &csv));
    csv_print(&csv, "%d,%.0f,%.0f,%.0f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.4f\n", ranks,
              r->times.samples, r->times.in_bytes, r->times.out_bytes, r->backend, r->reading,
              r->writing, r->times.before, r->times.read, r->times.compute, r->times.write,
              r->times.after, r->times.total, r->times.total / r->bound);
    TRY(csv_close(&csv));
out:
    return st;
}

status_t cli_bench_run(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct settings settings = {0};
    struct bench_run_result result = {0};
    int rank = 0;
    int ranks = 1;
    st = bench_read_options(argc, argv, &settings);
    if (st == STATUS_OK && settings.help) {
        start_print_all(help);
        goto out;
    }
    TRY(start_all(st, &rank));
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        st = csv_check(settings.options.csv, heading);
    }
    TRY(agree_all(MPI_COMM_WORLD, st));
    TRY(bench_run_all(MPI_COMM_WORLD, &settings.options, &result));
    if (rank == 0) {
        bench_print_result(&result, ranks);
        if (settings.options.csv) {
            TRY(bench_write_csv(settings.options.csv, &result, ranks));
        }
    }
out:
    free(settings.sets);
    return st;
}
