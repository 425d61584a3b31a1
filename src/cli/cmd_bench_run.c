/* voltmill bench run JOB */
#include "bench/bench_run.h"

#include "base/units.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "ranks/agree.h"

#include <mpi.h>
#include <stdio.h>

struct bench_run_settings {
    struct shared shared;
    const char *each, *list;
};

#define AT(field) offsetof(struct bench_run_settings, field)

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

static const char *const steps[RUN_STEPS] = {
    [RUN_STEP_JOB] = "  job and archive",   [RUN_STEP_PLAN] = "  plan",
    [RUN_STEP_DEVICE] = "  backend opened", [RUN_STEP_CHOICE] = "  kernels chosen",
    [RUN_STEP_FILES] = "  products made",   [RUN_STEP_BUFFERS] = "  kernels and buffers"};

static void bench_print_result(const struct bench_run_result *r, int ranks)
{
    const struct run_times *t = &r->times;
    printf("what bounds it, on %s\n", units_number((uint64_t)ranks, "rank", "ranks"));
    bench_print_side("backend, memory to memory", r->backend, 0, t->samples);
    bench_print_side("plain parallel reads", r->reading, t->in_bytes, 0);
    bench_print_side("plain parallel writes", r->writing, t->out_bytes, 0);
    printf("the run, stages beside each other, mean of the ranks\n");
    bench_print_side("before the first chunk", t->before, 0, 0);
    for (int i = 0; i < RUN_STEPS; i++) {
        bench_print_side(steps[i], t->steps[i], 0, 0);
    }
    bench_print_side("read", t->read, t->in_bytes / ranks, 0);
    bench_print_side("compute", t->compute, 0, t->samples / ranks);
    bench_print_side("write", t->write, t->out_bytes / ranks, 0);
    if (ranks > 1) {
        bench_print_side("wait for the last rank", t->waited, 0, 0);
    }
    bench_print_side("after the last chunk", t->after, 0, 0);
    bench_print_side("whole", t->total, t->in_bytes, t->samples);
    printf("the run takes %.3f times the bound\n", t->total / r->bound);
}

static const char heading[] = "ranks,samples,in_bytes,out_bytes,backend_s,plain_read_s,plain_write_"
                              "s,before_s,read_s,compute_s,write_s,after_s,total_s,ratio_to_bound";

static status_t bench_write_csv(const char *path, const struct bench_run_result *r, int ranks)
{
    status_t st = STATUS_OK;
    struct csv csv = {0};
    TRY_OUT(csv_open(path, "a", heading, &csv));
    csv_print(&csv, "%d,%.0f,%.0f,%.0f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.4f\n", ranks,
              r->times.samples, r->times.in_bytes, r->times.out_bytes, r->backend, r->reading,
              r->writing, r->times.before, r->times.read, r->times.compute, r->times.write,
              r->times.after, r->times.total, r->times.total / r->bound);
out:
    return csv_close(&csv, st);
}

static status_t bench_run_settled_all(void *settings)
{
    const struct bench_run_settings *own = settings;
    const struct shared *s = &own->shared;
    struct bench_run_result result = {0};
    struct bench_run_options options = {.path = s->operand,
                                        .sets = s->sets.items,
                                        .nsets = s->sets.count,
                                        .choice = {own->each, own->list, .parts = 1},
                                        .force = s->force,
                                        .csv = s->csv,
                                        .repeats = s->repeats};
    TRY(agree_all(MPI_COMM_WORLD, s->rank == 0 ? csv_check(s->csv, heading) : STATUS_OK));
    TRY(bench_run_all(MPI_COMM_WORLD, &options, &result));
    if (s->rank == 0) {
        bench_print_result(&result, s->ranks);
        TRY(s->csv ? bench_write_csv(s->csv, &result, s->ranks) : STATUS_OK);
    }
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"repeat", "N", value_u32, SHARED(repeats), "1..1000", "3",
     "runs the job and its bound N times each; the best counts"},
    {.name = "set force adopt"},
    {"each", "PATTERN", value_text, AT(each), NULL, NULL,
     "times it for each observation that matches, as `run --each`"},
    {"list", "FILE", value_text, AT(list), NULL, NULL,
     "the same for each line of FILE (-: of standard input)"},
    {"csv", "FILE", value_text, SHARED(csv), NULL, NULL,
     "adds a line to FILE, with a heading when it is new"},
    {.name = NULL}};

const struct command cli_bench_run = {
    .name = "bench run",
    .summary = "time a job beside what bounds it",
    .usage = "[OPTION]... JOB",
    .about = "Runs the job and times it beside what bounds it, measured right before each pass: "
             "the backend alone (filters and filter banks, or dedispersion) on blocks in memory, "
             "and plain reading and writing of the same bytes on the same file systems, by all "
             "threads (a file each when writing). The products stay.",
    .operand = "job file",
    .ends = "yaml",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct bench_run_settings),
    .run = bench_run_settled_all};
