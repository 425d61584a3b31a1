#include "cli/tune_options.h"

#include "base/units.h"
#include "plan/channelise_plan.h"

#include <getopt.h>
#include <string.h>

const char tune_help[] =
    "Usage: voltmill tune [OPTION]... JOB\n"
    "       voltmill tune --setup NAME [OPTION]...\n"
    "\n"
    "Finds the fastest way to do what a job does (its filter bank, its dedispersions) on this\n"
    "device, and keeps it in a database, where `voltmill run` finds it. Every way that is timed "
    "is\n"
    "checked against sums in double; a wrong one never wins. With --setup: dedispersion for each "
    "of\n"
    "some numbers of DMs, and what tuning gains (Sclocco et al. 2014).\n"
    "\n"
    "  --set KEY=VALUE    sets a key of the job\n"
    "  --search NAME      guided (the default), exhaustive or random\n"
    "  --budget SECONDS   for all searches together (default: as long as they take)\n"
    "  --limit N          times at most N ways in each search, beside the one that is known\n"
    "  --seed N           of a random search (default 1)\n"
    "  --only LIST        of dedispersion, looks at ways with these values only:\n"
    "                     time_out=1/2/4,chunk=8; of staging (0 direct, 1 funnel, 2 copies), "
    "pack,\n"
    "                     time_items, dm_items, time_out, dm_out, chunk, skew, ptx\n"
    "  --every N          looks at every N-th of them only, by the model's rank\n"
    "  --space-limit N    looks at N of them at most, evenly over the model's ranks\n"
    "  --repeat N         timed runs, the median of which counts (default 3)\n"
    "  --rounds N         times the best ten once more in N turns (default 2)\n"
    "  --log FILE         CSV, a line for each way that was timed; the same command goes on where\n"
    "                     one that was killed has ended\n"
    "  --database FILE    (default: tuned.txt in the cache folder)\n"
    "  --help             prints this\n"
    "\n"
    "With --setup, without a job:\n"
    "  --setup NAME       apertif or lofar, as in `voltmill bench dedisperse`\n"
    "  --dms LIST         numbers of DMs, such as 2..4096 (doubling; the default) or 512,4096\n"
    "  --dm-step X        between DMs (default 0.25)\n"
    "  --zero             all DMs are 0: perfect reuse\n"
    "  --seconds X        of data (default 1)\n"
    "  --bits N           of a sample: 8, 16, 32 (float) (default 8)\n"
    "  --group N          two-step dedispersion with groups of N channels\n"
    "  --backend NAME     opencl or cpu (default: opencl where there is a GPU)\n"
    "  --device TEXT      OpenCL device: a number or a part of its name\n"
    "  --threads N        of the cpu backend (default: all)\n"
    "  --compare-searches searches exhaustively and says what guided and random searches would\n"
    "                     have found, in which share of the time\n"
    "  --histogram        prints how many ways reach which rate\n"
    "  --csv FILE         writes the table to FILE, too\n";

enum {
    TAKE_SET = 256,
    TAKE_SETUP,
    TAKE_DMS,
    TAKE_DM_STEP,
    TAKE_ZERO,
    TAKE_SECONDS,
    TAKE_BITS,
    TAKE_GROUP,
    TAKE_BACKEND,
    TAKE_DEVICE,
    TAKE_THREADS,
    TAKE_SEARCH,
    TAKE_BUDGET,
    TAKE_LIMIT,
    TAKE_SEED,
    TAKE_ONLY,
    TAKE_EVERY,
    TAKE_SPACE_LIMIT,
    TAKE_REPEAT,
    TAKE_ROUNDS,
    TAKE_COMPARE,
    TAKE_HISTOGRAM,
    TAKE_LOG,
    TAKE_CSV,
    TAKE_DATABASE
};

static const struct option known[] = {{"set", required_argument, NULL, TAKE_SET},
                                      {"setup", required_argument, NULL, TAKE_SETUP},
                                      {"dms", required_argument, NULL, TAKE_DMS},
                                      {"dm-step", required_argument, NULL, TAKE_DM_STEP},
                                      {"zero", no_argument, NULL, TAKE_ZERO},
                                      {"seconds", required_argument, NULL, TAKE_SECONDS},
                                      {"bits", required_argument, NULL, TAKE_BITS},
                                      {"group", required_argument, NULL, TAKE_GROUP},
                                      {"backend", required_argument, NULL, TAKE_BACKEND},
                                      {"device", required_argument, NULL, TAKE_DEVICE},
                                      {"threads", required_argument, NULL, TAKE_THREADS},
                                      {"search", required_argument, NULL, TAKE_SEARCH},
                                      {"budget", required_argument, NULL, TAKE_BUDGET},
                                      {"limit", required_argument, NULL, TAKE_LIMIT},
                                      {"seed", required_argument, NULL, TAKE_SEED},
                                      {"only", required_argument, NULL, TAKE_ONLY},
                                      {"every", required_argument, NULL, TAKE_EVERY},
                                      {"space-limit", required_argument, NULL, TAKE_SPACE_LIMIT},
                                      {"repeat", required_argument, NULL, TAKE_REPEAT},
                                      {"rounds", required_argument, NULL, TAKE_ROUNDS},
                                      {"compare-searches", no_argument, NULL, TAKE_COMPARE},
                                      {"histogram", no_argument, NULL, TAKE_HISTOGRAM},
                                      {"log", required_argument, NULL, TAKE_LOG},
                                      {"csv", required_argument, NULL, TAKE_CSV},
                                      {"database", required_argument, NULL, TAKE_DATABASE},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static status_t options_take_count(const char *name, const char *value, uint64_t least,
                                   uint64_t most, uint64_t *out)
{
    status_t st = STATUS_OK;
    REQUIRE(units_parse_u64(value, out) && *out >= least && *out <= most, STATUS_USAGE,
            "tune: --%s %s: expected a number from %llu to %llu", name, value,
            (unsigned long long)least, (unsigned long long)most);
out:
    return st;
}

static status_t options_take_number(const char *name, const char *value, uint32_t least,
                                    uint32_t most, uint32_t *out)
{
    uint64_t count = 0;
    status_t st = options_take_count(name, value, least, most, &count);
    *out = (uint32_t)count;
    return st;
}

static status_t options_take_positive(const char *name, const char *value, double *out)
{
    status_t st = STATUS_OK;
    REQUIRE(units_parse_f64(value, out) && *out > 0 && *out <= 1e6, STATUS_USAGE,
            "tune: --%s %s: expected a positive number", name, value);
out:
    return st;
}

static status_t options_take_method(const char *value, enum tune_method *out)
{
    status_t st = STATUS_OK;
    for (int i = 0; i < TUNE_METHODS; i++) {
        if (strcmp(value, tune_method_name((enum tune_method)i)) == 0) {
            *out = (enum tune_method)i;
            goto out;
        }
    }
    FAIL(STATUS_USAGE, "tune: --search %s: expected guided, exhaustive or random", value);
out:
    return st;
}

/* What the search takes. */
static status_t options_take_search(int option, const char *value, struct tune_settings *out)
{
    struct tune_options *search = &out->tuning.search;
    enum { MOST = 1 << 24, MOST_ROUNDS = 16, MOST_REPEATS = 1000 };
    switch (option) {
    case TAKE_SEARCH:
        return options_take_method(value, &search->method);
    case TAKE_LIMIT:
        return options_take_number("limit", value, 1, MOST, &search->limit);
    case TAKE_SEED:
        return options_take_count("seed", value, 0, UINT64_MAX, &search->seed);
    case TAKE_EVERY:
        return options_take_number("every", value, 1, MOST, &out->tuning.every);
    case TAKE_SPACE_LIMIT:
        return options_take_number("space-limit", value, 1, MOST, &out->tuning.most);
    case TAKE_REPEAT:
        return options_take_number("repeat", value, 1, MOST_REPEATS, &search->repeats);
    default:
        return options_take_number("rounds", value, 0, MOST_ROUNDS, &search->rounds);
    }
}

static status_t options_take_text(int option, const char *value, struct tune_settings *out)
{
    status_t st = STATUS_OK;
    switch (option) {
    case TAKE_BACKEND:
        REQUIRE(strcmp(value, "cpu") == 0 || strcmp(value, "opencl") == 0, STATUS_USAGE,
                "tune: --backend %s: expected cpu or opencl", value);
        out->backend = strcmp(value, "cpu") == 0 ? BACKEND_CPU : BACKEND_OPENCL;
        break;
    case TAKE_SETUP:
        out->telescope = bench_telescope(value);
        REQUIRE(out->telescope, STATUS_USAGE, "tune: --setup %s: expected apertif or lofar", value);
        break;
    case TAKE_BITS:
        TRY(options_take_count("bits", value, 8, 32, &out->bits));
        REQUIRE(out->bits == 8 || out->bits == 16 || out->bits == 32, STATUS_USAGE,
                "tune: --bits %s: expected 8, 16 or 32", value);
        break;
    case TAKE_DEVICE:
        out->device = value;
        break;
    case TAKE_LOG:
        out->log_path = value;
        break;
    case TAKE_ONLY:
        out->tuning.only = value;
        break;
    case TAKE_CSV:
        out->csv_path = value;
        break;
    default:
        out->tuning.database = value;
        break;
    }
out:
    return st;
}

static status_t options_take_set(const char *value, struct tune_settings *out)
{
    status_t st = STATUS_OK;
    REQUIRE(out->nsets < TUNE_SETS, STATUS_USAGE, "tune: at most %d times --set", TUNE_SETS);
    out->sets[out->nsets++] = value;
out:
    return st;
}

static status_t options_take(int option, const char *value, struct tune_settings *out)
{
    switch (option) {
    case TAKE_DMS:
        return bench_list_read("dms", value, 1, 1 << 20, &out->dms);
    case TAKE_SET:
        return options_take_set(value, out);
    case TAKE_ZERO:
        out->is_zero = 1;
        return STATUS_OK;
    case TAKE_COMPARE:
        out->compares = 1;
        return STATUS_OK;
    case TAKE_HISTOGRAM:
        out->has_histogram = 1;
        return STATUS_OK;
    case TAKE_DM_STEP:
        return options_take_positive("dm-step", value, &out->dm_step);
    case TAKE_SECONDS:
        return options_take_positive("seconds", value, &out->seconds);
    case TAKE_BUDGET:
        return options_take_positive("budget", value, &out->budget);
    case TAKE_GROUP:
        return options_take_count("group", value, 1, 256, &out->group);
    case TAKE_THREADS:
        return options_take_count("threads", value, 1, 4096, &out->threads);
    case TAKE_SEARCH:
    case TAKE_LIMIT:
    case TAKE_SEED:
    case TAKE_EVERY:
    case TAKE_SPACE_LIMIT:
    case TAKE_REPEAT:
    case TAKE_ROUNDS:
        return options_take_search(option, value, out);
    default:
        return options_take_text(option, value, out);
    }
}

static uint32_t options_bit_of(int option)
{
    return UINT32_C(1) << (option - TAKE_SET);
}

static int options_is_given(const struct tune_settings *settings, int option)
{
    return (settings->given & options_bit_of(option)) != 0;
}

/* The name of the first one of a list that was given; NULL: none was. */
static const char *options_first_given(const struct tune_settings *settings, const int *list,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (const struct option *o = known; options_is_given(settings, list[i]) && o->name; o++) {
            if (o->val == list[i]) {
                return o->name;
            }
        }
    }
    return NULL;
}

/* A job says itself what is to be done and where. */
static status_t options_suit_each_other(const struct tune_settings *settings)
{
    status_t st = STATUS_OK;
    static const int of_a_job[] = {TAKE_BACKEND, TAKE_DEVICE, TAKE_THREADS, TAKE_DMS,
                                   TAKE_DM_STEP, TAKE_ZERO,   TAKE_GROUP};
    static const int of_a_setup[] = {TAKE_SECONDS, TAKE_BITS, TAKE_COMPARE, TAKE_HISTOGRAM,
                                     TAKE_CSV};
    const char *name = options_first_given(settings, of_a_job, sizeof of_a_job / sizeof *of_a_job);
    REQUIRE(settings->telescope || !name, STATUS_USAGE,
            "tune: --%s goes with --setup, not with a job: there its keys say it (--set KEY=VALUE)",
            name);
    name = options_first_given(settings, of_a_setup, sizeof of_a_setup / sizeof *of_a_setup);
    REQUIRE(settings->telescope || !name, STATUS_USAGE,
            "tune: --%s goes with --setup, not with a job", name);
    REQUIRE(!settings->telescope || settings->nsets == 0, STATUS_USAGE,
            "tune: --set goes with a job, not with --setup");
    REQUIRE(!settings->is_zero || !options_is_given(settings, TAKE_DM_STEP), STATUS_USAGE,
            "tune: --dm-step does not go with --zero: all DMs are 0 then");
    REQUIRE(!settings->compares || !options_is_given(settings, TAKE_SEARCH) ||
                settings->tuning.search.method == TUNE_EXHAUSTIVE,
            STATUS_USAGE,
            "tune: --search %s does not go with --compare-searches, which searches exhaustively",
            tune_method_name(settings->tuning.search.method));
    REQUIRE(!options_is_given(settings, TAKE_SEED) || settings->tuning.search.method == TUNE_RANDOM,
            STATUS_USAGE, "tune: --seed goes with --search random only");
out:
    return st;
}

status_t tune_options_suit_job(const struct tune_settings *settings, const struct job *job)
{
    status_t st = STATUS_OK;
    static const int thinning[] = {TAKE_ONLY, TAKE_EVERY, TAKE_SPACE_LIMIT};
    const char *name = options_first_given(settings, thinning, sizeof thinning / sizeof *thinning);
    REQUIRE(!name || job->ndedisperse > 0, STATUS_USAGE,
            "tune: --%s thins the ways of dedispersion, and %s has none", name, job->path);
out:
    return st;
}

status_t tune_options_suit_backend(const struct tune_settings *settings, enum backend_kind backend)
{
    status_t st = STATUS_OK;
    REQUIRE(backend_abilities(backend)->uses_threads || !options_is_given(settings, TAKE_THREADS),
            STATUS_USAGE, "tune: --threads goes with the cpu backend, not with %s",
            backend_name(backend));
    REQUIRE(backend_abilities(backend)->has_device || !options_is_given(settings, TAKE_DEVICE),
            STATUS_USAGE, "tune: --device goes with the opencl backend, not with %s",
            backend_name(backend));
out:
    return st;
}

status_t tune_options_read(int argc, char **argv, struct tune_settings *out)
{
    status_t st = STATUS_OK;
    struct job all_cores = {0};
    *out = (struct tune_settings){
        .bits = 8,
        .dm_step = 0.25,
        .seconds = 1,
        .threads = channelise_plan_threads(&all_cores, 1),
        .tuning.search = {.method = TUNE_GUIDED, .seed = 1, .repeats = 3, .rounds = 2}};
    TRY(bench_list_read("dms", "2..4096", 1, 1 << 20, &out->dms));
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        REQUIRE(option != ':', STATUS_USAGE, "tune: %s needs a value", argv[optind - 1]);
        REQUIRE(option != '?', STATUS_USAGE, "tune: there is no option %s (see --help)",
                argv[optind - 1]);
        if (option == 'h') {
            out->help = 1;
            goto out;
        }
        TRY(options_take(option, optarg, out));
        out->given |= options_bit_of(option);
    }
    REQUIRE(optind + 1 >= argc && (optind < argc) != (out->telescope != NULL), STATUS_USAGE,
            "tune: expected one job file, or --setup apertif or lofar (see --help)");
    out->job = argv[optind];
    TRY(options_suit_each_other(out));
out:
    return st;
}
