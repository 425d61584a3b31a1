/* What tune takes, and what of it goes together. */
#include "cli/tune_options.h"

#include "cli/options/values.h"

#define AT(field) offsetof(struct tune_settings, field)

const struct option_row tune_rows[] = {
    {.name = "set"},
    {"search", "NAME", value_choice, AT(tuning.search.method), "exhaustive|guided|random", "guided",
     "guided, exhaustive or random"},
    {"budget", "SECONDS", value_positive, AT(budget), "0..1000000", NULL,
     "for all searches together (default: as long as they take)"},
    {"limit", "N", value_u32, AT(tuning.search.limit), "1..16777216", NULL,
     "times at most N configurations in each search, beside the one that is known"},
    {"seed", "N", value_u64, AT(tuning.search.seed), "0..", "1", "of a random search"},
    {"only", "LIST", value_text, AT(tuning.only), NULL, NULL,
     "of dedispersion, looks at configurations with these values only: time_out=1/2/4,chunk=8; of "
     "staging (0 direct, 1 funnel, 2 copies), pack, time_items, dm_items, time_out, dm_out, chunk, "
     "skew, ptx"},
    {"every", "N", value_u32, AT(tuning.every), "1..16777216", NULL,
     "looks at every N-th of them only, by the model's rank"},
    {"space-limit", "N", value_u32, AT(tuning.most), "1..16777216", NULL,
     "looks at N of them at most, evenly over the model's ranks"},
    {"repeat", "N", value_u32, AT(tuning.search.repeats), "1..1000", "3",
     "timed runs, the median of which counts"},
    {"rounds", "N", value_u32, AT(tuning.search.rounds), "0..16", "2",
     "times the best ten once more in N turns"},
    {"log", "FILE", value_text, AT(log_path), NULL, NULL,
     "CSV, a line for each configuration that was timed; the same command goes on where one that "
     "was killed has ended"},
    {.name = "database"},
    {.help = "With --setup, without a job:"},
    {.name = "setup"},
    {.name = "dms"},
    {.name = "dm-step"},
    {.name = "zero"},
    {.name = "seconds"},
    {"bits", "N", value_u32, AT(bits), "8|16|32", "8", "of a sample: 8, 16, 32 (float)"},
    {.name = "group"},
    {.name = "backend"},
    {.name = "device"},
    {.name = "threads"},
    {"compare-searches", NULL, value_flag, AT(compares), NULL, NULL,
     "searches exhaustively and says what guided and random searches would have found, in which "
     "share of the time"},
    {"histogram", NULL, value_flag, AT(has_histogram), NULL, NULL,
     "prints how many configurations reach which rate"},
    {.name = "csv"},
    {.name = NULL}};

status_t tune_options_check(void *settings)
{
    status_t st = STATUS_OK;
    struct tune_settings *s = settings;
    const char *name = options_first(s, "backend device threads dms dm-step zero group");
    s->telescope = s->shared.setup ? bench_telescope(s->shared.setup) : NULL;
    REQUIRE(s->telescope || !name, STATUS_USAGE,
            "tune: --%s goes with --setup, not with a job: there its keys say it (--set KEY=VALUE)",
            name);
    name = options_first(s, "seconds bits compare-searches histogram csv");
    REQUIRE(s->telescope || !name, STATUS_USAGE, "tune: --%s goes with --setup, not with a job",
            name);
    REQUIRE(!s->telescope || s->shared.sets.count == 0, STATUS_USAGE,
            "tune: --set goes with a job, not with --setup");
    REQUIRE(!s->shared.is_zero || !options_first(s, "dm-step"), STATUS_USAGE,
            "tune: --dm-step does not go with --zero: all DMs are 0 then");
    enum tune_method method = s->tuning.search.method;
    REQUIRE(!s->compares || !options_first(s, "search") || method == TUNE_EXHAUSTIVE, STATUS_USAGE,
            "tune: --search %s does not go with --compare-searches, which searches exhaustively",
            tune_method_name(method));
    REQUIRE(!options_first(s, "seed") || method == TUNE_RANDOM, STATUS_USAGE,
            "tune: --seed goes with --search random only");
out:
    return st;
}

status_t tune_options_suit_job(const struct tune_settings *settings, const struct job *job)
{
    status_t st = STATUS_OK;
    const char *name = options_first(settings, "only every space-limit");
    REQUIRE(!name || job->ndedisperse > 0, STATUS_USAGE,
            "tune: --%s thins the configurations of dedispersion, and %s has none", name,
            job->path);
out:
    return st;
}

status_t tune_options_suit_backend(const struct tune_settings *settings, enum backend_kind backend)
{
    status_t st = STATUS_OK;
    REQUIRE(backend_abilities(backend)->uses_threads || !options_first(settings, "threads"),
            STATUS_USAGE, "tune: --threads goes with the cpu backend, not with %s",
            backend_name(backend));
    REQUIRE(backend_abilities(backend)->has_device || !options_first(settings, "device"),
            STATUS_USAGE, "tune: --device goes with the opencl backend, not with %s",
            backend_name(backend));
out:
    return st;
}
