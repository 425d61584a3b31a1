/* voltmill bench driver JOB: rank 0's part of a run of many ranks, without their work. */
#include "base/clock.h"
#include "base/units.h"
#include "cli/plan_job.h"
#include "cli/values.h"
#include "io/file.h"
#include "output/journal.h"
#include "ranks/driver.h"

#include <sys/resource.h>

struct driver_settings {
    struct shared shared;
    uint32_t simulated;
    uint64_t most_chunks;
    double rate; /* bytes of samples a second that a rank processes */
};

/* Report of the next chunk, and the journal that rank 0 keeps of all. */
struct simulated {
    journal_t *journal;
    struct journal_record record;
    uint32_t *sums; /* [of any chunk] */
};

static void simulated_end(struct simulated *run)
{
    journal_destroy(run->journal);
    free(run->sums);
}

/* Text of a rank that has synced the rows of the next chunk: as long as a real one. */
static status_t driver_tell_chunk(void *context, struct text *out)
{
    struct simulated *s = context;
    uint64_t first = 0;
    uint64_t count = journal_chunk_sums(&s->journal->head, s->record.chunk, &first);
    memset(s->sums, (int)s->record.chunk, (size_t)count * sizeof *s->sums);
    status_t st = text_add_bytes(out, (const char *)&s->record, sizeof s->record);
    return st == STATUS_OK ? text_add_bytes(out, (const char *)s->sums, count * sizeof *s->sums)
                           : st;
}

static status_t driver_take_chunk_told(void *context, const char *data, size_t bytes)
{
    struct simulated *s = context;
    struct journal_record record;
    (void)bytes;
    memcpy(&record, data, sizeof record);
    record.sums = (const uint32_t *)(const void *)(data + sizeof record);
    TRY(journal_add(s->journal, &record));
    TRY(journal_write(s->journal));
    s->record.chunk++;
    return STATUS_OK;
}

static double driver_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* Creates the journal of the job's first product, as a run would, in a file `path`. */
static status_t driver_create_journal(const struct run_plan *plan, const char *path,
                                      journal_t **out)
{
    const struct output_spec *making = &plan->bank.pass.making;
    struct product_place place;
    SCOPED(journal_head_free) struct journal_head head = {0};
    REQUIRE(plan->bank.work, STATUS_USAGE, "%s: its filter bank has nothing left to do",
            plan->begun.job->path);
    TRY(output_spec_create(making, 0, -1, path, "", &place, NULL));
    TRY(journal_head_of(making, 0, &place, &head));
    return journal_create(path, &head, out);
}

static void driver_print_plan(const struct driver_settings *s, const struct run_plan *plan,
                              double chunk_bytes)
{
    const struct channelise_plan *work = plan->bank.work;
    printf("%s: %s in, %s chunks of %s (%s)\n", plan->begun.job->path,
           units_bytes(work->input_bytes), units_count(chunk_count(&work->chunking)),
           units_bytes((uint64_t)chunk_bytes),
           work->job->cut.chunk_spectra ? "run.chunk" : "the default");
    printf("%u ranks of %.3g GB/s request a chunk every %.3g us\n", s->simulated, 1e-9 * s->rate,
           1e6 * chunk_bytes / s->rate / s->simulated);
}

static status_t driver_measure(const struct driver_settings *s, const struct run_plan *plan,
                               const char *path)
{
    const struct channelise_plan *work = plan->bank.work;
    SCOPED(simulated_end) struct simulated run = {0};
    SCOPED(journal_destroy_at) journal_t *again = NULL;
    enum journal_state state;
    TRY(driver_create_journal(plan, path, &run.journal));
    uint64_t chunks = chunk_count(&work->chunking);
    double chunk_bytes = (double)work->input_bytes / (double)chunks;
    driver_print_plan(s, plan, chunk_bytes);
    uint64_t some = min_u64(chunks, s->most_chunks);
    uint64_t first = 0;
    double memory = driver_memory();
    /* Chunks that begin within a span touch one more. */
    uint64_t sums = journal_chunk_sums(&run.journal->head, 0, &first) + 1;
    first = run.journal->end;
    TRY(memory_zeroed((size_t)sums, sizeof *run.sums, "sums", &run.sums));
    struct driver_work simulated = {
        .chunks = some, .context = &run, .tell = driver_tell_chunk, .take = driver_take_chunk_told};
    double begun = clock_now();
    TRY(driver_simulate(&simulated, (int)s->simulated));
    double each = (clock_now() - begun) / (double)some;
    double limit = chunk_bytes / s->rate / s->simulated;
    printf("service         %.3g us a chunk: request, answer, text, record of the journal\n",
           1e6 * each);
    printf("journal         %s of %s chunks, %.3g bytes each\n",
           units_bytes(run.journal->end - first), units_count(some),
           (double)(run.journal->end - first) / (double)some);
    printf("memory          %s for messages and the journal\n",
           units_bytes((uint64_t)(driver_memory() - memory)));
    begun = clock_now();
    TRY(journal_open(path, &state, &again));
    REQUIRE(again && again->done == some, STATUS_DATA, "%s: its records do not come back", path);
    printf("resume          %.3g s to read it\n", clock_now() - begun);
    printf("%s: rank 0 is busy %.3g %% of the time\n", each <= limit ? "OK" : "TOO SLOW",
           100 * each / limit);
    return STATUS_OK;
}

static status_t driver_run_alone(void *settings)
{
    const struct driver_settings *s = settings;
    SCOPED(text_free) struct text given = {0};
    SCOPED(text_free) struct text path = {0};
    struct run_options options;
    SCOPED(run_plan_destroy_at) struct run_plan *plan = NULL;
    REQUIRE(s->shared.ranks == 1, STATUS_USAGE,
            "bench driver was started on %d ranks, expected one: it simulates the others",
            s->shared.ranks);
    TRY(plan_job_take(&s->shared, NULL, &given, &options));
    TRY(run_plan_create(&options, &plan));
    TRY(text_add(&path, "%s.journal.bench", plan->bank.pass.making.items[0].file));
    status_t st = driver_measure(s, plan, path.data);
    file_remove(path.data);
    return st;
}

/* Messages need MPI, also where no launcher has started this process. */
static status_t driver_begin_mpi(void *settings)
{
    (void)settings;
    setenv("VOLTMILL_MPI", "1", 0);
    return STATUS_OK;
}

#define FIELD(name) offsetof(struct driver_settings, name)
static const struct option_row rows[] = {
    {.name = "set"},
    {"ranks", "N", value_u32, FIELD(simulated), "1..1000000", "4096", "ranks of the simulated run"},
    {"chunks", "N", value_u64, FIELD(most_chunks), "1..4294967294", "2^22",
     "maximum number of chunks that are given out"},
    {"rate", "BYTES", value_positive, FIELD(rate), "0..1e15", "1e10",
     "bytes of samples that a rank processes in a second"},
    {.name = NULL}};

const struct command cli_bench_driver = {
    .name = "bench driver",
    .summary = "time rank 0 of a run of many ranks",
    .usage = "[OPTION]... JOB\n--set KEY=VALUE... [OPTION]...",
    .about = "Plans the job and does rank 0's part of a run of many ranks: it answers their "
             "requests for chunks and adds what they report to a journal, which it reads again as "
             "a resumed run would. The other ranks are simulated: their messages pass through MPI "
             "within this process, so a network's time is not included. No samples are read; the "
             "journal, FILE.journal.bench beside the first product, is removed.",
    .operand = "job file",
    .ends = "yaml",
    .without = "set",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct driver_settings),
    .check = driver_begin_mpi,
    .run = driver_run_alone};
