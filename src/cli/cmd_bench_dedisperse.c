/* voltmill bench dedisperse */
#include "bench/bench_dedisperse.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "tune/problem/problems.h"
#include "tune/tuning.h"

struct dedisperse_settings {
    struct shared shared;
    const char *sweep;
    const struct bench_telescope *telescope;
    struct option_list bits, modes;
    double budget;
    uint64_t every;
    uint32_t search;
    int has_shape, is_tuned;
    struct dedisperse_shape shape;
    /* While it runs. */
    struct bench_table table;
    double started;
    double gain; /* of a tree for the case's delays; 0: there is no table to say it in */
};

/* In the order of enum dedisperse_mode. */
static const char *const bench_modes[] = {"auto", "brute", "tree"};

static const char heading[] =
    "setup,dms,bits,dm_step,mode,group,seconds_of_data,how,ms,order_ms,upload_ms,download_ms,gadd_"
    "per_s,realtime,model_ms,search_widths,search_ms,search_share,tree_gain,result";

static void bench_print_row(struct dedisperse_settings *s, const struct bench_dedispersion *c,
                            const char *how, const struct bench_dedispersed *r, double cost)
{
    uint32_t bits = 8 * (uint32_t)series_bytes(c->format);
    double rate = 1e-9 * r->adds / r->seconds;
    printf("%6u %4u %-34s %10.3f %10.3f %9.2f %10.1f %9.3f%s\n", c->ndms, bits, how,
           1e3 * r->seconds, 1e3 * r->transpose, rate, r->realtime, 1e3 * cost,
           r->wrong ? " FAILED" : "");
    double before = r->seconds + r->transpose;
    double more = r->search / before;
    if (c->search > 0) {
        char how_wide[UNITS_TEXT];
        snprintf(how_wide, sizeof how_wide, "and a search, boxes 1..%u", c->search);
        printf("%6u %4u %-34s %10.3f %10.3f %9.2f %10.1f %8.1f%% more\n", c->ndms, bits, how_wide,
               1e3 * (r->seconds + r->search), 1e3 * r->transpose,
               1e-9 * r->adds / (r->seconds + r->search), r->realtime / (1 + more), 1e2 * more);
    }
    csv_print(
        &s->table.csv,
        "%s,%u,%u,%g,%s,%u,%g,\"%s\",%.6f,%.6f,%.6f,%.6f,%.4f,%.4f,%.6f,%u,%.6f,%.4f,%.4f,%s\n",
        c->telescope->name, c->ndms, bits, c->dm_step,
        c->group > 0 ? "two-step" : bench_modes[c->mode], c->group, c->seconds, how,
        1e3 * r->seconds, 1e3 * r->transpose, 1e3 * r->upload, 1e3 * r->download, rate, r->realtime,
        1e3 * cost, c->search, 1e3 * r->search, more, s->gain, r->wrong ? "FAILED" : "ok");
    bench_table_end_row(&s->table, r->wrong == 0);
}

/* Times one row. An impossible shape is reported and skipped; a device that fails is a failure. */
static status_t bench_time_shape(struct dedisperse_settings *s, bench_dedisperse_t *bench,
                                 const struct bench_dedispersion *c,
                                 const struct dedisperse_shape *shape, double cost)
{
    SCOPED(text_free) struct text how = {0};
    struct bench_dedispersed result;
    status_t tried = bench_dedisperse_time(bench, shape, &how, &result);
    if (tried != STATUS_OK) {
        TRY(shape && !how.data ? dedisperse_shape_words(shape, &how) : STATUS_OK);
        printf("%6u %4u %-34s %s\n", c->ndms, 8 * (uint32_t)series_bytes(c->format),
               how.data ? how.data : "", report_cause());
        report_clear();
        s->table.failed += tried != STATUS_USAGE;
        return STATUS_OK;
    }
    bench_print_row(s, c, how.data, &result, cost);
    return STATUS_OK;
}

static int bench_has_time(const struct dedisperse_settings *s)
{
    return clock_now() - s->started < s->budget;
}

static status_t bench_sweep_space(struct dedisperse_settings *s, bench_dedisperse_t *bench,
                                  const struct bench_dedispersion *c)
{
    SCOPED(free_at) struct dedisperse_candidate *list = NULL;
    uint32_t count = 0;
    TRY(dedisperse_candidates(s->table.opened, bench_dedisperse_spec(bench), &list, &count));
    printf("%u shapes fit, every %llu of them\n", count, (unsigned long long)s->every);
    for (uint64_t i = 0; i < count && bench_has_time(s); i += s->every) {
        TRY(bench_time_shape(s, bench, c, &list[i].shape, list[i].cost));
    }
    return STATUS_OK;
}

static status_t bench_sweep_file(struct dedisperse_settings *s, bench_dedisperse_t *bench,
                                 const struct bench_dedispersion *c)
{
    enum { MOST_BYTES = 1 << 24 };
    SCOPED(text_free) struct text text = {0};
    char *rest = NULL;
    TRY(text_read_file(&text, s->sweep, MOST_BYTES, "shapes"));
    size_t nul = text_line_of_nul(text.data, text.length);
    REQUIRE(nul == 0, STATUS_USAGE, "%s:%zu: contains a NUL byte, expected shapes", s->sweep, nul);
    for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL;
         line && bench_has_time(s); line = strtok_r(NULL, "\n", &rest)) {
        struct dedisperse_shape shape;
        REQUIRE(dedisperse_shape_parse(line, &shape), STATUS_USAGE,
                "%s: %s: expected a shape such as copies:4:32x8:8x4:8:0:1", s->sweep, line);
        TRY(bench_time_shape(s, bench, c, &shape, 0));
    }
    return STATUS_OK;
}

/* Times the tuner's configuration; without one, the model's choice. */
static status_t bench_time_tuned(struct dedisperse_settings *s, bench_dedisperse_t *bench,
                                 const struct bench_dedispersion *c)
{
    struct dedisperse_shape shape;
    SCOPED(tuning_end) struct tuning t = {.problem = NULL};
    TRY(tuning_begin(&tune_dedispersion, s->table.opened, bench_dedisperse_spec(bench),
                     s->shared.database, &t));
    memcpy(&shape, t.values, sizeof shape);
    if (t.found == TUNE_NOTHING) {
        report_note("%u DMs: nothing is tuned on this device, the model chooses", c->ndms);
    } else if (t.found == TUNE_NEAREST) {
        report_note("%u DMs: tuned for the nearest known problem, %s", c->ndms, t.from.data);
    }
    return bench_time_shape(s, bench, c, t.found == TUNE_NOTHING ? NULL : &shape, 0);
}

static status_t bench_case(struct dedisperse_settings *s, const struct bench_dedispersion *c)
{
    SCOPED(bench_dedisperse_destroy_at) bench_dedisperse_t *bench = NULL;
    TRY(bench_dedisperse_create(s->table.opened, c, &bench));
    const struct subbands *steps = bench_dedisperse_spec(bench)->steps;
    if (steps) {
        printf("two steps: %u DMs in %u groups of delays, %.2f times fewer adds, at most %u "
               "samples of error\n",
               c->ndms, steps->nsteps,
               (double)c->ndms * c->telescope->nchannels / (double)steps->adds, steps->error);
    }
    TRY(s->shared.csv ? bench_dedisperse_gain(bench, &s->gain) : STATUS_OK);
    s->started = clock_now();
    return s->is_tuned ? bench_time_tuned(s, bench, c)
           : !s->sweep ? bench_time_shape(s, bench, c, s->has_shape ? &s->shape : NULL, 0)
           : strcmp(s->sweep, "all") == 0 ? bench_sweep_space(s, bench, c)
                                          : bench_sweep_file(s, bench, c);
}

static status_t bench_lists(void *settings)
{
    struct dedisperse_settings *s = settings;
    bench_table_print_device(&s->table);
    printf("%s, %u channels, %g s of data\n", s->telescope->name, s->telescope->nchannels,
           s->shared.seconds);
    printf("%6s %4s %-34s %10s %10s %9s %10s %9s\n", "DMs", "bits", "how", "ms", "transp. ms",
           "Gadd/s", "x realtime", "model ms");
    const uint32_t nmodes = s->modes.count;
    for (uint32_t b = 0; b < s->bits.count; b++) {
        for (uint32_t i = 0; i < s->shared.dms.count * nmodes; i++) {
            uint64_t bits = s->bits.values[b];
            struct bench_dedispersion c = {.telescope = s->telescope,
                                           .format = bits == 8    ? SERIES_U8
                                                     : bits == 16 ? SERIES_U16
                                                                  : SERIES_F32,
                                           .ndms = (uint32_t)s->shared.dms.values[i / nmodes],
                                           .dm_step = s->shared.is_zero ? 0 : s->shared.dm_step,
                                           .seconds = s->shared.seconds,
                                           .group = s->shared.group,
                                           .mode =
                                               (enum dedisperse_mode)s->modes.values[i % nmodes],
                                           .threads = s->shared.threads,
                                           .repeats = s->shared.repeats,
                                           .search = s->search};
            TRY(bench_case(s, &c));
        }
    }
    return STATUS_OK;
}

static int bench_read_shape(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    return dedisperse_shape_parse(text, field);
}

#define AT(field) offsetof(struct dedisperse_settings, field)

static const struct option_row rows[] = {
    {.name = "backend device setup dms dm-step zero seconds"},
    {"bits", "LIST", value_list, AT(bits), "8|16|32", "8", "of a sample: 8, 16, 32 (float)"},
    {"mode", "LIST", value_list, AT(modes), "auto|brute|tree", "auto",
     "brute: every channel is added for every DM; tree: patterns of delays that DMs have in common "
     "are added once; auto: the faster one; brute,tree times both"},
    {.name = "group"},
    {"search", "WIDTH", value_u32, AT(search), "0..16384", "0",
     "searches the series, too, with boxes of up to WIDTH times (a power of two; 0: not): a row "
     "more for both together, and by how much that is more than dedispersion alone"},
    {"shape", "TEXT", bench_read_shape, AT(shape), "such as copies:4:32x8:8x4:8:0:1", NULL,
     "one configuration of the kernel (default: the model's choice), written STAGING:PACK:TIMExDM "
     "items:TIMExDM outputs:CHUNK:SKEW:PTX, STAGING direct, funnel or copies: "
     "copies:4:32x8:8x4:8:0:1; followed by :GROUP, a tree"},
    {"tuned", FLAG(AT(is_tuned)),
     "the result of `voltmill tune` for each problem, or for the nearest one"},
    {.name = "database"},
    {"sweep", "FILE", value_text, AT(sweep), NULL, NULL,
     "times the shapes that FILE lists, one a line; FILE `all`: those of the whole space that fit, "
     "the most promising first"},
    {"every", "N", value_u64, AT(every), "1..1048576", "1", "of `all` only every N-th"},
    {"budget", "SECONDS", value_positive, AT(budget), "0..1000000", "300",
     "ends a sweep after that time"},
    {.name = "repeat threads csv"},
    {.name = NULL}};

static status_t bench_check(void *settings)
{
    struct dedisperse_settings *s = settings;
    s->telescope = bench_telescope(s->shared.setup ? s->shared.setup : "apertif");
    s->has_shape = options_first(s, "shape") != NULL;
    REQUIRE(s->shared.group == 0 || !options_first(s, "mode"), STATUS_USAGE,
            "bench dedisperse: --mode and --group do not go together: groups of channels are added "
            "in two steps");
    REQUIRE((s->search & (s->search - 1)) == 0, STATUS_USAGE,
            "bench dedisperse: --search %u: expected a power of two", s->search);
    return REQUIRED(s->is_tuned + s->has_shape + (s->sweep != NULL) <= 1, STATUS_USAGE,
                    "bench dedisperse: --tuned, --shape and --sweep do not go together");
}

static status_t bench_run(void *settings)
{
    struct dedisperse_settings *s = settings;
    return bench_table_run(&s->shared, &s->table, heading, bench_lists);
}

const struct command cli_bench_dedisperse = {
    .name = "bench dedisperse",
    .summary = "time dedispersion on this machine, and check it",
    .usage = "[OPTION]...",
    .about = "Times dedispersion alone on random samples (Sclocco et al. 2014) and checks sampled "
             "outputs; a row whose result is wrong says FAILED. An add is one sample added into "
             "one output. The default setup is apertif.",
    .rows = rows,
    .bytes = sizeof(struct dedisperse_settings),
    .check = bench_check,
    .run = bench_run};
