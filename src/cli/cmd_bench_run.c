/* voltmill bench run JOB */
#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/units.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "io/file.h"
#include "pipeline/pipeline_kinds.h"
#include "ranks/agree.h"
#include "run/batch.h"
#include "run/pass.h"
#include "tune/problem/problem_bank.h"
#include "tune/problem/problem_dedispersion.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

struct bench_run_settings {
    struct shared shared;
    const char *each, *list;
};

/* The fastest of each over the repeats: seconds that all ranks together need. */
struct bench_run_result {
    struct run_times
        times; /* of the fastest run; read, compute, write, waited: mean of the ranks */
    /* Sums over all passes and observations: */
    double backend; /* from memory to memory */
    double reading; /* plain reads of the same bytes, by all threads */
    double writing; /* plain writes of the same bytes, a file a thread, synced */
    double bound;   /* the slowest of the three */
};

/* The backend alone on blocks of a job with filters: these and the filter bank after them, from
 * memory to memory.
 *
 * Filters and filter bank on random samples, block after block. */

enum { SLOTS = 3 };

struct bench_chain {
    const struct channelise_plan *work;
    uint64_t first, spectra; /* of a block: not the first, which shares nothing to its left */
    uint32_t streams;
    struct overlap_rows needs[FILTER_PLAN_ROWS]; /* of the block */
    size_t *re, *im;
    size_t step;
    filter_chain_t *filters;
    channelise_t *bank; /* NULL: voltages */
    struct chain_slot {
        buffer_t *in, *out[MOST_OUTPUTS];
        struct filter_block filtered;
    } slots[SLOTS];
};

static void bench_chain_destroy(struct bench_chain *chain)
{
    for (uint32_t s = 0; chain && s < SLOTS; s++) {
        struct chain_slot *slot = &chain->slots[s];
        buffer_destroy(slot->in);
        for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
            buffer_destroy(slot->out[i]);
        }
        filter_block_free(&slot->filtered);
    }
    if (chain) {
        filter_chain_destroy(chain->filters);
        stage_destroy(chain->bank);
        MEMORY_FREE(chain->re, chain->im);
    }
    free(chain);
}
SCOPED_END(bench_chain_destroy, struct bench_chain *)

static buffer_t *chain_last_rows(const struct bench_chain *chain, const struct chain_slot *slot)
{
    return filter_block_last(chain->filters, &slot->filtered);
}

static status_t chain_create_slot(struct bench_chain *chain, backend_t *backend, uint64_t words,
                                  uint64_t seed, struct chain_slot *slot)
{
    const struct channelise_plan *work = chain->work;
    const struct channelise_spec *spec = &work->banks[0].channelise;
    TRY(bank_noise_buffer(backend, work->archive->format, seed, words, &slot->in));
    TRY(filter_block_create(backend, chain->filters, work->is_bank ? BUFFER_BETWEEN : BUFFER_OUT,
                            &slot->filtered));
    memcpy(slot->filtered.needs, chain->needs, sizeof chain->needs);
    for (uint32_t i = 0; i < spec->noutputs && work->is_bank; i++) {
        uint64_t rows = overlap_ends(&work->nodes[NODE_DUMPS + i].stage, chain->spectra);
        TRY(buffer_create(backend, BUFFER_OUT,
                          channelise_output_bytes(spec, i, chain->streams, rows), &slot->out[i]));
    }
    return STATUS_OK;
}

/* Computes the offsets of the streams' samples in a buffer, and the buffer's words of 8 bytes. */
static status_t chain_lay_out(struct bench_chain *chain, uint64_t *words)
{
    SCOPED(slab_destroy_at) struct slab *slab = NULL;
    const uint32_t streams = chain->streams * filter_plan_fan(chain->work->filters);
    TRY(channelise_plan_samples(chain->work, chain->first, chain->spectra, 1, chain->needs));
    uint64_t samples = (uint64_t)(chain->needs[0].end - chain->needs[0].first);
    TRY(slab_create(chain->work->archive, stream_range(0, streams), &slab));
    TRY(memory_zeroed(streams, sizeof *chain->re, "offsets", &chain->re));
    TRY(memory_zeroed(streams, sizeof *chain->im, "offsets", &chain->im));
    slab_offsets(slab, samples, chain->re, chain->im);
    chain->step = (size_t)slab->width;
    *words = slab_bytes(slab, samples) / sizeof(uint64_t) + 1;
    return STATUS_OK;
}

static status_t chain_await(const struct bench_chain *chain, const struct chain_slot *slot)
{
    void *rows = NULL;
    TRY(chain->work->is_bank ? STATUS_OK : buffer_get(chain_last_rows(chain, slot), &rows));
    for (uint32_t i = 0; i < MOST_OUTPUTS && slot->out[i]; i++) {
        TRY(buffer_get(slot->out[i], &rows));
    }
    return STATUS_OK;
}

static status_t chain_enqueue(struct bench_chain *chain, struct chain_slot *slot)
{
    struct sample_input input = {chain->re, chain->im, chain->step};
    uint64_t rows[MOST_OUTPUTS];
    TRY(filter_chain_run(chain->filters, &slot->filtered, slot->in, &input,
                         stream_range(0, chain->streams), chain->needs[0], &input));
    if (chain->bank) {
        channelise_begin(chain->bank, chain->first);
        TRY(channelise_run(chain->bank, chain_last_rows(chain, slot), &input, chain->streams,
                           chain->spectra, 0, slot->out, rows));
    }
    return STATUS_OK;
}

/* Blocks in a row, each waiting only for its own buffers, for `least` seconds at least: *rate is
 * spectra x streams a second (without a filter bank, rows of the last filter). Fails with DEVICE.
 */
static status_t bench_chain_run(struct bench_chain *chain, double least, double *rate)
{
    double started = clock_now();
    uint64_t n = 0;
    for (; n < SLOTS || clock_now() - started < least; n++) {
        TRY(chain_await(chain, &chain->slots[n % SLOTS]));
        TRY(chain_enqueue(chain, &chain->slots[n % SLOTS]));
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        TRY(chain_await(chain, &chain->slots[s]));
    }
    *rate = (double)n * (double)chain->spectra * chain->streams / (clock_now() - started);
    return STATUS_OK;
}

/* Stages and some sets of buffers for a block of `work`, which has filters, with random
 * samples that are as the run reads them, and a row of a few blocks to warm up. Fails with DEVICE.
 */
static status_t bench_chain_create(const struct channelise_plan *work, backend_t *backend,
                                   struct bench_chain **out)
{
    SCOPED(bench_chain_destroy_at) struct bench_chain *chain = NULL;
    uint64_t words = 0;
    double rate = 0;
    TRY(memory_zeroed(1, sizeof *chain, "filters", &chain));
    chain->work = work;
    chain->streams = work->banks[0].channelise.nstreams;
    chain->spectra = min_u64(work->chunking.block_spectra, work->chunking.spectra);
    chain->first = min_u64(chain->spectra, work->chunking.spectra - chain->spectra);
    TRY(chain_lay_out(chain, &words));
    TRY(filter_chain_create(backend, work->filters, chain->streams,
                            channelise_plan_inputs(work, chain->spectra), &chain->filters));
    if (work->is_bank) {
        TRY(channelise_create(backend, &work->banks[0].channelise, &chain->bank));
        TRY(bank_scale(chain->bank, &work->banks[0].channelise));
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        TRY(chain_create_slot(chain, backend, words, s, &chain->slots[s]));
    }
    TRY(bench_chain_run(chain, 0, &rate));
    *out = memory_move(&chain);
    return STATUS_OK;
}

enum {
    PIECE_BYTES = 4 << 20, /* of plain reads and writes */
    TRIALS = 3,            /* of a dedispersion: the best counts */
    STAGE_SLOTS = 3
};

/* How long the backend is kept busy, at least: long against what threads need to start. A job that
 * takes longer than that has the rate of a longer time. */
static const double short_seconds = 0.1;
static const double long_seconds = 1;

/* Measurements before the passes of a run: seconds that all ranks together need. */
struct bounds {
    const struct pass *pass; /* the one that is measured */
    int force;
    uint32_t threads; /* of a rank */
    double backend, reading, writing;
    double spent; /* on measuring */
};

/* Plain transfers by the threads of a rank; `file`: a product's name, NULL: the input is read. */
struct transfer {
    const struct bounds *bounds;
    const char *file;
    uint64_t bytes; /* of all ranks */
};

static uint64_t bench_file_bytes(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* Reads bytes `from` to `to` - 1 of the input files, laid end to end. */
static status_t bench_read(const struct inputs *inputs, uint64_t from, uint64_t to, void *piece)
{
    uint64_t start = 0;
    uint64_t bytes;
    SCOPED(file_close_at) int fd = -1;
    for (size_t i = 0; i < inputs->count && start < to; i++, start += bytes) {
        const char *path = inputs->files[i].path;
        bytes = bench_file_bytes(path);
        if (start + bytes <= from) {
            continue;
        }
        TRY(file_open_read(path, &fd));
        for (; from < min_u64(to, start + bytes); from += PIECE_BYTES) {
            uint64_t count = min_u64(PIECE_BYTES, min_u64(to, start + bytes) - from);
            TRY(file_read(fd, path, from - start, piece, count));
        }
        from = min_u64(to, start + bytes);
        close(fd);
        fd = -1;
    }
    return STATUS_OK;
}

/* Writes `bytes` bytes to a new file without a name, beside the product. */
static status_t bench_write(const char *file, uint64_t number, uint64_t bytes, const void *piece)
{
    SCOPED(text_free) struct text path = {0};
    TRY(text_add(&path, "%s.bench.%" PRIu64, file, number));
    SCOPED(file_close_at)
    int fd = open(path.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    REQUIRE(fd >= 0, reason_make_status(errno), "%s cannot be made: %s", path.data,
            strerror(errno));
    (void)unlink(path.data);
    for (uint64_t at = 0; at < bytes; at += PIECE_BYTES) {
        TRY(file_write(fd, path.data, at, piece, min_u64(PIECE_BYTES, bytes - at)));
    }
    return file_sync(fd, path.data);
}

/* Reads or writes the part of one thread. */
static status_t bench_transfer_part(void *context, uint32_t thread, uint64_t part)
{
    struct transfer *t = context;
    const struct bounds *b = t->bounds;
    uint64_t parts = (uint64_t)b->pass->size * b->threads;
    uint64_t number = (uint64_t)b->pass->rank * b->threads + part;
    uint64_t each = ceil_div_u64(t->bytes, parts);
    uint64_t from = min_u64(number * each, t->bytes);
    uint64_t to = min_u64(from + each, t->bytes);
    SCOPED(free_at) void *piece = NULL;
    (void)thread;
    TRY(memory_aligned(PIECE_BYTES, 1, "a piece", &piece));
    memset(piece, 1, PIECE_BYTES);
    return t->file ? bench_write(t->file, number, to - from, piece)
                   : bench_read(&b->pass->making.inputs, from, to, piece);
}

/* Adds the seconds until all threads of all ranks are done. */
static status_t bench_transfer_all(const struct bounds *bounds, const char *file, uint64_t bytes,
                                   double *seconds)
{
    struct transfer t = {.bounds = bounds, .file = file, .bytes = bytes};
    MPI_Comm comm = bounds->pass->comm;
    TRY(agree_all(comm, STATUS_OK));
    double started = clock_now();
    TRY(agree_all(comm, pool_try_each(bounds->threads, bounds->threads, bench_transfer_part, &t)));
    *seconds += clock_now() - started;
    return STATUS_OK;
}

/* The filter bank on blocks of the run's size, laid out as the run reads them, and a row of a few
 * to warm up. */
static status_t bench_warm_up(const struct channelise_plan *work, struct bank *bank)
{
    uint64_t samples = channelise_inputs(&bank->spec, bank->spectra);
    SCOPED(slab_destroy_at) struct slab *slab = NULL;
    uint64_t blocks = 0;
    double seconds = 0;
    TRY(bank_lay_out(bank));
    TRY(slab_create(work->archive, stream_range(0, bank->spec.nstreams), &slab));
    slab_offsets(slab, samples, bank->re, bank->im);
    bank->step = (size_t)slab->width;
    bank->in_bytes = slab_bytes(slab, samples);
    TRY(bank_create(bank));
    TRY(bank_allocate(bank, STAGE_SLOTS));
    TRY(bank_fill(bank));
    return bank_run_row(bank, STAGE_SLOTS, 0, &blocks, &seconds);
}

/* Returns the work of a filter bank of the job: spectra x streams. */
static double bench_work(const struct channelise_plan *work, uint32_t bank)
{
    return (double)work->banks[bank].spectra * work->chunking.streams;
}

/* Whether so much work of all ranks, by the rate of this one, would take them longer than was
 * measured. */
static int bench_is_long_all(const struct bounds *bounds, double amount, double rate)
{
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, bounds->pass->comm);
    return amount > rate * short_seconds;
}

/* Times a filter bank after filters. *rate is in spectra x streams a second of this rank, while all
 * ranks work. */
static status_t bench_time_chain_all(const struct bounds *bounds, double *rate)
{
    SCOPED(bench_chain_destroy_at) struct bench_chain *chain = NULL;
    const struct pass *pass = bounds->pass;
    /* All begin at once. */
    TRY(agree_all(pass->comm, bench_chain_create(pass->bank_plan, pass->stage, &chain)));
    TRY(agree_all(pass->comm, bench_chain_run(chain, short_seconds, rate)));
    if (bench_is_long_all(bounds, bench_work(pass->bank_plan, 0), *rate)) {
        TRY(agree_all(pass->comm, bench_chain_run(chain, long_seconds, rate)));
    }
    return STATUS_OK;
}

static status_t bench_run_row(struct bank *bank, double least, double *rate)
{
    uint64_t blocks = 0;
    double seconds = 0;
    TRY(bank_run_row(bank, STAGE_SLOTS, least, &blocks, &seconds));
    *rate = (double)blocks * (double)bank->spectra * bank->spec.nstreams / seconds;
    return STATUS_OK;
}

/* Times a filter bank alone likewise. */
static status_t bench_time_bank_all(const struct bounds *bounds, uint32_t number, double *rate)
{
    const struct pass *pass = bounds->pass;
    const struct channelise_plan *work = pass->bank_plan;
    SCOPED(bank_end)
    struct bank bank = {.backend = pass->stage,
                        .spec = work->banks[number].channelise,
                        .spectra = work->banks[number].channelise.max_spectra};
    TRY(agree_all(pass->comm, bench_warm_up(work, &bank)));
    TRY(agree_all(pass->comm, bench_run_row(&bank, short_seconds, rate)));
    if (bench_is_long_all(bounds, bench_work(work, number), *rate)) {
        TRY(agree_all(pass->comm, bench_run_row(&bank, long_seconds, rate)));
    }
    return STATUS_OK;
}

/* Outputs x DMs a second of this rank, when all work: by a block of the first DMs. */
static status_t bench_time_sums_all(const struct bounds *bounds, double *rate)
{
    const struct dedisperse_plan *plan = bounds->pass->series_plan;
    const uint64_t ndms = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    SCOPED(dm_group_free) struct dm_group group = {.base = 0};
    SCOPED(dedispersion_trial_destroy_at) dedispersion_trial_t *trial = NULL;
    struct trial_times times;
    TRY(agree_all(bounds->pass->comm, dm_group_create(plan, 0, (uint32_t)ndms, &group)));
    const struct dedisperse_spec spec =
        dedisperse_plan_stage(plan, &group, min_u64(plan->block_outputs, plan->outputs));
    TRY(agree_all(bounds->pass->comm,
                  dedispersion_trial_create(bounds->pass->stage, &spec, &trial)));
    status_t st = dedispersion_trial_time(trial, plan->shape.pack ? &plan->shape : NULL, TRIALS, 0,
                                          NULL, NULL, &times);
    TRY(agree_all(bounds->pass->comm, st));
    *rate = (double)ndms * (double)spec.max_samples /
            (times.best.seconds + times.best.steps[STEP_DEINTERLEAVE]);
    return STATUS_OK;
}

/* Adds the seconds that all ranks together would take: for the spectra of each bank one after the
 * other, or for the series. A merge computes nothing. */
static status_t bench_time_backend_all(struct bounds *bounds)
{
    const struct channelise_plan *work = bounds->pass->bank_plan;
    const struct dedisperse_plan *plan = bounds->pass->series_plan;
    uint32_t stages = work ? work->nbanks : plan ? 1 : 0;
    REQUIRE(!work || work->nbanks == 1 || !work->filters, STATUS_USAGE,
            "%s: filters before several filter banks are not timed: expected one of them",
            bounds->pass->job->path);
    for (uint32_t i = 0; i < stages; i++) {
        double rate = 0;
        TRY(!work           ? bench_time_sums_all(bounds, &rate)
            : work->filters ? bench_time_chain_all(bounds, &rate)
                            : bench_time_bank_all(bounds, i, &rate));
        MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, bounds->pass->comm);
        bounds->backend +=
            (work ? bench_work(work, i) : (double)plan->delays.ndms * (double)plan->outputs) / rate;
    }
    return STATUS_OK;
}

static status_t bench_measure_all(void *context, const struct pass *pass)
{
    status_t st = STATUS_OK;
    struct bounds *bounds = context;
    const struct output_spec *making = &pass->making;
    double started = clock_now();
    bounds->pass = pass;
    bounds->threads =
        most_u32_all(pass->comm, channelise_plan_threads(pass->job, pass->local_size));
    /* Products that are to be replaced go before the clock starts: file systems need seconds to
     * take away gigabytes, and that is no part of the work. */
    for (uint32_t i = 0; i < making->count && pass->rank == 0 && bounds->force; i++) {
        (void)unlink(making->items[i].file);
    }
    uint64_t there = 0;
    for (size_t i = 0; i < making->inputs.count; i++) {
        there += bench_file_bytes(making->inputs.files[i].path);
    }
    TRY_OUT(bench_transfer_all(bounds, NULL, min_u64(there, pass->in_bytes), &bounds->reading));
    for (uint32_t i = 0; i < making->count; i++) {
        TRY_OUT(bench_transfer_all(bounds, making->items[i].file,
                                   making->items[i].spec.rows * making->items[i].row_bytes,
                                   &bounds->writing));
    }
    TRY_OUT(bench_time_backend_all(bounds));
out:
    bounds->spent += clock_now() - started;
    return st;
}

static double bench_smaller(double a, double b)
{
    return a > 0 && a < b ? a : b;
}

/* Runs the job `repeats` times, each time right after the bounds were measured. Its products stay;
 * beside each temporary files of its size are written. Collective. Fails as batch_run_all(). */
static status_t bench_run_all(const struct bench_run_settings *s, struct bench_run_result *best)
{
    const struct batch_choice choice = {s->each, s->list, .parts = 1};
    for (uint32_t i = 0; i < s->shared.repeats; i++) {
        struct bounds bounds = {.force = s->shared.force || i > 0};
        struct run_times times = {0};
        const struct run_options run = {.path = s->shared.operand,
                                        .sets = s->shared.sets.items,
                                        .nsets = s->shared.sets.count,
                                        .force = bounds.force,
                                        .csv = s->shared.csv,
                                        .patience = -1,
                                        .before = bench_measure_all,
                                        .context = &bounds,
                                        .times = &times};
        double *const means[] = {&times.read, &times.compute, &times.write, &times.waited};
        double started = clock_now();
        TRY(choice.pattern || choice.list ? batch_run_all(MPI_COMM_WORLD, &run, &choice)
                                          : run_job_all(MPI_COMM_WORLD, &run));
        times.total = clock_now() - started - bounds.spent;
        for (size_t j = 0; j < sizeof means / sizeof *means; j++) {
            MPI_Allreduce(MPI_IN_PLACE, means[j], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            *means[j] /= s->shared.ranks;
        }
        best->times = i == 0 || times.total < best->times.total ? times : best->times;
        best->backend = bench_smaller(best->backend, bounds.backend);
        best->reading = bench_smaller(best->reading, bounds.reading);
        best->writing = bench_smaller(best->writing, bounds.writing);
    }
    best->bound = fmax(fmax(best->backend, best->reading), best->writing);
    return STATUS_OK;
}

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
    const struct shared *s = settings;
    struct bench_run_result result = {0};
    TRY(agree_all(MPI_COMM_WORLD, s->rank == 0 ? csv_check(s->csv, heading) : STATUS_OK));
    TRY(bench_run_all(settings, &result));
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
