/* voltmill bench fir */
#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "compute/filter.h"
#include "dsp/noise.h"
#include "tune/problem/problem_bank.h"
#include "tune/problem/problem_fir.h"
#include "tune/problem/problems.h"

#include <inttypes.h>
#include <math.h>

/* Filters floats by coefficients of the same kind: real or complex. Each of the points is computed
 * from `taps` samples. */
struct bench_fir {
    uint32_t taps;
    uint64_t points;
    int is_complex;
    enum filter_method method;
    enum fft_kind fft;
    uint32_t threads;  /* of the CPU backend */
    uint32_t repeats;  /* timed runs, at least 1 */
    uint64_t most;     /* points that are computed; times of more are scaled. 0: any number */
    int has_transfers; /* of a device: also from the host's memory and back */
};

struct bench_filtered {
    struct filter_choice choice; /* what was run */
    uint64_t points;             /* that were computed */
    double seconds;              /* for all points: best of the repeats, by the device's clock on
                                    its own memory, else the host's */
    double steps[DEVICE_STEPS];  /* of a run with transfers */
    double moved_seconds;        /* with transfers, by the host's clock; 0: not measured */
    double error;                /* rms, in units of rms(x) ||c||_2 */
    int is_right;
};

/* Filter: row n of out is the sum over i of coeff[i] in[n + taps - 1 - i], n < rows.
 *
 *   coeff   float [taps], or [taps][2]
 *   in      float [rows + taps - 1], or [..][2]
 *   out     float [rows], or [rows][2] */
static void plain_fir_real(const float *coeff, uint32_t taps, const float *in, uint64_t rows,
                           float *out)
{
    for (uint64_t n = 0; n < rows; n++) {
        float sum = 0;
        for (uint32_t i = 0; i < taps; i++) {
            sum += coeff[i] * in[n + taps - 1 - i];
        }
        out[n] = sum;
    }
}

static void plain_fir_complex(const float (*coeff)[2], uint32_t taps, const float (*in)[2],
                              uint64_t rows, float (*out)[2])
{
    for (uint64_t n = 0; n < rows; n++) {
        float re = 0;
        float im = 0;
        for (uint32_t i = 0; i < taps; i++) {
            const float *c = coeff[i];
            const float *x = in[n + taps - 1 - i];
            re += c[0] * x[0] - c[1] * x[1];
            im += c[0] * x[1] + c[1] * x[0];
        }
        out[n][0] = re;
        out[n][1] = im;
    }
}

/* Makes random coefficients with a sum of squares of 1, so that all frequencies matter. */
static status_t bench_make_coeff(const struct bench_fir *c, double **out)
{
    const size_t count = (size_t)c->taps * (c->is_complex ? 2 : 1);
    SCOPED(free_at) uint64_t *words = NULL;
    SCOPED(free_at) double *coeff = NULL;
    double sum = 0;
    TRY(memory_zeroed(count, sizeof *words, "coefficients", &words));
    TRY(memory_zeroed(count, sizeof *coeff, "coefficients", &coeff));
    noise_words(c->taps, 0, count, words);
    for (size_t i = 0; i < count; i++) {
        coeff[i] = (double)(int64_t)words[i] * 0x1p-63;
        sum += coeff[i] * coeff[i];
    }
    for (size_t i = 0; i < count; i++) {
        coeff[i] /= sqrt(sum);
    }
    *out = memory_move(&coeff);
    return STATUS_OK;
}

/* Returns the number of pairs of buffers; on a device, as many as exceed its caches. */
static uint32_t bench_pairs(const backend_t *backend, const struct bench_fir *c, uint64_t points)
{
    enum { MOST = 1024 };
    const uint64_t beyond_caches = UINT64_C(1) << 28;
    uint64_t pair = (2 * points + c->taps) * (c->is_complex ? 8 : 4);
    return backend_abilities(backend_which(backend))->has_device
               ? (uint32_t)min_u64(ceil_div_u64(beyond_caches, pair), MOST)
               : 0;
}

/* Times a filter. Fails with DEVICE; with USAGE if the method cannot do the problem. A wrong result
 * is no failure. */
static status_t bench_fir(backend_t *backend, const struct bench_fir *c, struct bench_filtered *out)
{
    SCOPED(free_at) double *coeff = NULL;
    SCOPED(fir_trial_end) struct fir_trial trial = {.backend = backend};
    struct bench_filtered result = {.points = c->points};
    struct trial_times times;
    struct filter_spec spec = {.coding = {.format = SAMPLE_F32, .is_complex = c->is_complex},
                               .is_complex_out = c->is_complex,
                               .is_complex_coeff = c->is_complex,
                               .taps = c->taps,
                               .decimate = 1,
                               .nstreams = 1,
                               .max_rows = c->points,
                               .threads = c->threads,
                               .method = c->method,
                               .fft = c->fft};
    TRY(bench_make_coeff(c, &coeff));
    spec.coeff = coeff;
    TRY(tune_fir_choose(backend, &spec, 0, &result.choice));
    if (c->most > 0 && result.choice.shape.method == FILTER_DIRECT) {
        result.points = min_u64(c->points, c->most);
    }
    double scale = (double)c->points / (double)result.points;
    TRY(fir_trial_begin(backend, &spec, result.points, bench_pairs(backend, c, result.points),
                        &trial));
    TRY(fir_trial_time(&trial, &result.choice, c->repeats, NULL, &times));
    result.seconds = scale * times.best.seconds;
    result.error = trial.windows.error;
    result.is_right = times.wrong == 0;
    if (c->has_transfers && trial.npairs > 0) {
        TRY(fir_trial_time_moved(&trial, c->repeats, NULL, &times));
        result.moved_seconds = scale * times.best.seconds;
        memcpy(result.steps, times.best.steps, sizeof result.steps);
        result.is_right &= times.wrong == 0;
    }
    *out = result;
    return STATUS_OK;
}

struct plain {
    const struct bench_fir *c;
    uint64_t points;
    float *coeff, *in, *out;
};

static void plain_end(struct plain *plain)
{
    MEMORY_FREE(plain->coeff, plain->in, plain->out);
}

static double bench_run_plain(const struct plain *plain)
{
    const struct bench_fir *c = plain->c;
    double started = clock_now();
    if (c->is_complex) {
        plain_fir_complex((const float(*)[2])plain->coeff, c->taps, (const float(*)[2])plain->in,
                          plain->points, (float(*)[2])plain->out);
    } else {
        plain_fir_real(plain->coeff, c->taps, plain->in, plain->points, plain->out);
    }
    return clock_now() - started;
}

/* Measures the seconds that the plain loop takes for all points on one core: best of some, measured
 * on *points of them. Fails with DEVICE (memory). */
static status_t bench_fir_plain(const struct bench_fir *c, double *seconds, uint64_t *points)
{
    enum { PRODUCTS = 1 << 25, LEAST = 64, RUNS = 3, MOST_RUNS = 1000 };
    const double enough = 0.02; /* seconds, of short runs */
    const size_t floats = c->is_complex ? 2 : 1;
    const uint64_t bearable = max_u64(PRODUCTS / (c->taps * (uint64_t)floats), LEAST);
    SCOPED(plain_end) struct plain plain = {.c = c, .points = min_u64(c->points, bearable)};
    SCOPED(free_at) double *coeff = NULL;
    double best = INFINITY;
    double spent = 0;
    size_t samples = (plain.points + c->taps) * floats;
    TRY(bench_make_coeff(c, &coeff));
    TRY(memory_zeroed(c->taps * floats, sizeof(float), "coefficients", &plain.coeff));
    TRY(memory_zeroed(samples + 2, sizeof(float), "samples", &plain.in));
    TRY(memory_zeroed(plain.points * floats, sizeof(float), "rows", &plain.out));
    for (size_t i = 0; i < c->taps * floats; i++) {
        plain.coeff[i] = (float)coeff[i];
    }
    bank_noise(SAMPLE_F32, 0, samples / 2 + 1, plain.in);
    for (uint32_t i = 0; i < RUNS || (spent < enough && i < MOST_RUNS); i++) {
        double one = bench_run_plain(&plain);
        best = fmin(best, one);
        spent += one;
    }
    *seconds = best * (double)c->points / (double)plain.points;
    *points = plain.points;
    return STATUS_OK;
}

/* Options of the command, and the state of the table while it is made. */
struct fir_settings {
    struct shared shared;
    struct option_list taps, points, methods;
    enum fft_kind fft;
    int is_real, is_alone;

    struct bench_table table;
    backend_t *cpu; /* beside a device; NULL: none */
};

/* A row. Seconds are for all points. */
struct fir_row {
    struct bench_fir c;
    struct bench_filtered result;
    double plain_seconds;
    uint64_t plain_points;
    struct bench_filtered cpu; /* seconds 0: not measured */
    const char *how, *cpu_how;
};

static const char heading[] =
    "taps,points,complex,method,how,ms,computed_points,msamples_per_s,gflop_per_s,moved_ms,"
    "moved_msamples_per_s,upload_ms,unpack_ms,filter_ms,download_ms,plain_ms,plain_points,"
    "times_plain,moved_times_plain,cpu_how,cpu_ms,cpu_points,times_cpu,moved_times_cpu,threads,"
    "rms_error,result";

static double bench_over(double a, double b)
{
    return a > 0 && b > 0 ? a / b : 0;
}

/* Operations of direct sums, whatever is really done: a product and an addition for each tap, four
 * of each if complex. */
static double bench_fir_flops(const struct bench_fir *c)
{
    return (double)c->points * c->taps * (c->is_complex ? 8 : 2);
}

/* Returns the points that direct sums of a processor make in a second or a few. */
static uint64_t bench_fir_bearable(const struct bench_fir *c)
{
    enum { LEAST = 4096 };
    const uint64_t products = UINT64_C(1) << 34;
    uint64_t work = (uint64_t)c->taps * (c->is_complex ? 4 : 1);
    return max_u64(products / work, LEAST);
}

static void bench_print_row(const struct fir_settings *s, const struct fir_row *row)
{
    const struct bench_fir *c = &row->c;
    const struct bench_filtered *r = &row->result;
    char moved[UNITS_TEXT] = "-";
    char cpu[UNITS_TEXT] = "-";
    if (r->moved_seconds > 0) {
        snprintf(moved, sizeof moved, "%.4f", 1e3 * r->moved_seconds);
    }
    if (s->cpu) {
        snprintf(cpu, sizeof cpu, "%.1f", bench_over(row->cpu.seconds, r->seconds));
    }
    printf("%8u %10" PRIu64 " %-36s %10.4f%s %9.1f %9.1f %11s %10.2f%s %9.1f %9s %9.2g%s\n",
           c->taps, c->points, row->how, 1e3 * r->seconds, r->points < c->points ? "*" : " ",
           1e-6 * (double)c->points / r->seconds, 1e-9 * bench_fir_flops(c) / r->seconds, moved,
           1e3 * row->plain_seconds, row->plain_points < c->points ? "*" : " ",
           bench_over(row->plain_seconds, r->seconds), cpu, r->error, r->is_right ? "" : " FAILED");
}

static void bench_write_row(struct fir_settings *s, const struct fir_row *row)
{
    const struct bench_fir *c = &row->c;
    const struct bench_filtered *r = &row->result;
    double samples = 1e-6 * (double)c->points;
    csv_print(&s->table.csv, "%u,%" PRIu64 ",%d,%s,\"%s\",%.6f,%" PRIu64 ",%.4f,%.4f,%.6f,%.4f,",
              c->taps, c->points, c->is_complex, filter_method_name(c->method), row->how,
              1e3 * r->seconds, r->points, samples / r->seconds,
              1e-9 * bench_fir_flops(c) / r->seconds, 1e3 * r->moved_seconds,
              bench_over(samples, r->moved_seconds));
    csv_print(&s->table.csv, "%.6f,%.6f,%.6f,%.6f,%.6f,%" PRIu64 ",%.4f,%.4f,",
              1e3 * r->steps[STEP_UPLOAD], 1e3 * r->steps[STEP_DEINTERLEAVE],
              1e3 * (r->steps[STEP_FILTER] + r->steps[STEP_TRANSFORM]),
              1e3 * r->steps[STEP_DOWNLOAD], 1e3 * row->plain_seconds, row->plain_points,
              bench_over(row->plain_seconds, r->seconds),
              bench_over(row->plain_seconds, r->moved_seconds));
    csv_print(&s->table.csv, "\"%s\",%.6f,%" PRIu64 ",%.4f,%.4f,%u,%.3g,%s\n", row->cpu_how,
              1e3 * row->cpu.seconds, row->cpu.points, bench_over(row->cpu.seconds, r->seconds),
              bench_over(row->cpu.seconds, r->moved_seconds), c->threads, r->error,
              r->is_right ? "ok" : "FAILED");
}

/* The rest of a row that a device has begun: the same on the CPU, by the best method. */
static status_t bench_beside(struct fir_settings *s, struct fir_row *row, struct text *how)
{
    enum { MOST = 1 << 22 };
    struct bench_fir c = row->c;
    c.method = FILTER_AUTO;
    c.has_transfers = 0;
    c.points = c.points < MOST ? c.points : MOST;
    c.most = bench_fir_bearable(&c);
    TRY(bench_fir(s->cpu, &c, &row->cpu));
    row->cpu.seconds *= (double)row->c.points / (double)c.points;
    TRY(filter_words(&row->cpu.choice, how));
    row->cpu_how = how->data;
    row->result.is_right &= row->cpu.is_right;
    return STATUS_OK;
}

/* Times one row. An impossible case is reported and skipped. */
static status_t bench_row(struct fir_settings *s, uint64_t taps, uint64_t points, uint64_t method)
{
    SCOPED(text_free) struct text how = {0};
    SCOPED(text_free) struct text cpu_how = {0};
    int has_device = backend_abilities(backend_which(s->table.opened))->has_device;
    struct fir_row row = {.c = {.taps = (uint32_t)taps,
                                .points = points,
                                .is_complex = !s->is_real,
                                .method = (enum filter_method)method,
                                .fft = s->fft,
                                .threads = s->shared.threads,
                                .repeats = s->shared.repeats,
                                .has_transfers = has_device},
                          .cpu_how = ""};
    row.c.most = has_device ? 0 : bench_fir_bearable(&row.c);
    status_t tried = bench_fir(s->table.opened, &row.c, &row.result);
    if (tried != STATUS_OK) {
        printf("%8u %10" PRIu64 " %s: %s\n", row.c.taps, points, filter_method_name(row.c.method),
               report_cause());
        report_clear();
        s->table.failed += row.c.method == FILTER_AUTO || tried != STATUS_USAGE;
        return STATUS_OK;
    }
    TRY(filter_words(&row.result.choice, &how));
    row.how = how.data;
    TRY(bench_fir_plain(&row.c, &row.plain_seconds, &row.plain_points));
    TRY(s->cpu ? bench_beside(s, &row, &cpu_how) : STATUS_OK);
    bench_print_row(s, &row);
    bench_write_row(s, &row);
    bench_table_end_row(&s->table, row.result.is_right);
    return STATUS_OK;
}

static status_t bench_lists(void *settings)
{
    struct fir_settings *s = settings;
    const struct backend_options host = {.local_size = 1};
    if (!s->is_alone && backend_abilities(backend_which(s->table.opened))->has_device) {
        TRY(backend_open(BACKEND_CPU, &host, &s->cpu));
    }
    bench_table_print_device(&s->table);
    printf("one stream of %s floats; plain: a loop on one core without SIMD, measured on some "
           "points where all take long (*)%s\n",
           s->is_real ? "real" : "complex", s->cpu ? "; CPU: the cpu backend" : "");
    printf("%8s %10s %-36s %11s %9s %9s %11s %11s %9s %9s %9s\n", "taps", "points", "how", "ms",
           "Msamp/s", "GFLOP/s", "moved ms", "plain ms", "x plain", "x CPU", "rms error");
    for (uint32_t i = 0; i < s->points.count * s->taps.count * s->methods.count; i++) {
        uint64_t row = i;
        const uint64_t method = s->methods.values[take_digit(&row, s->methods.count)];
        const uint64_t taps = s->taps.values[take_digit(&row, s->taps.count)];
        TRY(bench_row(s, taps, s->points.values[row], method));
    }
    return STATUS_OK;
}

#define AT(field) offsetof(struct fir_settings, field)

static const struct option_row rows[] = {
    {.name = "backend device"},
    {"taps", "LIST", value_list, AT(taps), "1..16777216", "16,128,1024,8192", "coefficients"},
    {"points", "LIST", value_list, AT(points), "1..1073741824", "2^12,2^16,2^20",
     "samples that come out, such as 1048576 or 2^20"},
    {"method", "LIST", value_list, AT(methods), "auto|direct|overlap-save", "auto",
     "auto (what is measured to be the faster one), direct, overlap-save"},
    {"fft", "NAME", value_choice, AT(fft), "auto|vkfft|clfft", "auto",
     "auto, vkfft or clfft, where transforms go through a library"},
    {"real", FLAG(AT(is_real)), "real samples and coefficients instead of complex ones"},
    {"alone", FLAG(AT(is_alone)), "of a device: without the cpu backend beside it"},
    {.name = "repeat threads csv"},
    {.name = NULL}};

static status_t bench_run(void *settings)
{
    struct fir_settings *s = settings;
    status_t st = bench_table_run(&s->shared, &s->table, heading, bench_lists);
    backend_close(s->cpu);
    return st;
}

const struct command cli_bench_fir = {
    .name = "bench fir",
    .summary = "time long filters on this machine, and check them",
    .usage = "[OPTION]...",
    .about = "Times FIR filters on one stream of random samples (Rebacz, Oruklu, Saniie 2010) "
             "beside a plain loop on one CPU core, and of a device beside the cpu backend. Before "
             "a filter is timed, rows of it are compared with sums in double; one that is wrong "
             "says FAILED. A device's time is its own clock's, on buffers that take turns so that "
             "nothing comes from its caches; `moved` is the time from the host's memory and back. "
             "GFLOP/s count direct sums, whatever is really done. Times with a * are of fewer "
             "points, scaled: of the plain loop, and of direct sums on a CPU, where all of them "
             "would take long. Lists are written 16,128 or 4..131072 (doubling).",
    .rows = rows,
    .bytes = sizeof(struct fir_settings),
    .run = bench_run};
