/* `dedisperse` in a job file: its keys, and what they must have in common. */
#include "job/job_schema.h"
#include "job/yaml/yaml_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Makes an empty mapping or list with the line of `from`. */
static status_t divide_like(const struct tree *from, struct tree **out)
{
    status_t st = tree_new(from->kind, NULL, out);
    if (st == STATUS_OK) {
        (*out)->line = from->line;
        (*out)->set = from->set;
    }
    return st;
}

static status_t divide_copy(struct tree *to, const struct tree *child)
{
    size_t budget = SIZE_MAX;
    SCOPED(tree_destroy_at) struct tree *copy = NULL;
    TRY(tree_copy(child, &budget, &copy));
    return tree_add(to, child->key, &copy);
}

/* Adds `dm` of a range to its entry. */
static status_t divide_add_dm(struct tree *to, const struct tree *dm,
                              const struct job_dm_range *range)
{
    static const char *const own[] = {"start", "end", "downsample"};
    SCOPED(tree_destroy_at) struct tree *made = NULL;
    TRY(divide_like(dm, &made));
    TRY(tree_add_value(made, "start", units_exact(range->start)));
    TRY(tree_add_value(made, "end", units_exact(range->end)));
    for (size_t i = 0; i < dm->nchildren; i++) {
        TRY(TEXT_IS_AMONG(own, dm->child[i]->key) ? STATUS_OK : divide_copy(made, dm->child[i]));
    }
    return tree_add(to, dm->key, &made);
}

static status_t divide_add_range(struct tree *list, const struct tree *entry,
                                 const struct job_dm_range *range, uint32_t number)
{
    char text[UNITS_TEXT];
    SCOPED(tree_destroy_at) struct tree *made = NULL;
    TRY(divide_like(entry, &made));
    for (size_t i = 0; i < entry->nchildren; i++) {
        const struct tree *member = entry->child[i];
        if (range->is_unsearched && strcmp(member->key, "search") == 0) {
            continue;
        }
        if (strcmp(member->key, "dm") != 0) {
            TRY(divide_copy(made, member));
            continue;
        }
        TRY(divide_add_dm(made, member, range));
        snprintf(text, sizeof text, "%" PRIu64, range->downsample);
        TRY(tree_add_value(made, "downsample", text));
    }
    snprintf(text, sizeof text, "%" PRIu32, number);
    TRY(yaml_file_put_word(made, JOB_RANGE_PLACE, text));
    return tree_add(list, NULL, &made);
}

status_t job_divide(struct tree *root, const struct job_division *division)
{
    SCOPED(tree_destroy_at) struct tree *list = NULL;
    struct tree *entries = tree_member(root, "dedisperse");
    if (!entries) {
        return STATUS_OK;
    }
    TRY(entries->kind == TREE_LIST ? STATUS_OK : tree_wrap(entries));
    TRY(divide_like(entries, &list));
    for (size_t i = 0; i < entries->nchildren; i++) {
        for (uint32_t r = 0; r < division->count[i]; r++) {
            TRY(divide_add_range(list, entries->child[i], &division->ranges[i][r], r));
        }
        TRY(division->count[i] == 0 ? divide_copy(list, entries->child[i]) : STATUS_OK);
    }
    tree_replace(root, entries->index, &list);
    return STATUS_OK;
}

/* One file for all ranges, or a name of ranges where there are none. */
static void divide_check_file(struct tree *entry, const char *key, int is_divided,
                              struct mistakes *mistakes)
{
    const char *file = tree_value(entry, key);
    int has_place = file && strstr(file, JOB_RANGE_PLACE);
    if (file && is_divided && !has_place) {
        mistakes_at(mistakes, entry, key,
                    "is %s, expected " JOB_RANGE_PLACE " in it: dm.downsample is auto, which "
                    "writes a file for each range of DMs, such as series-" JOB_RANGE_PLACE ".h5",
                    file);
    } else if (has_place && !is_divided) {
        mistakes_at(mistakes, entry, key,
                    "holds " JOB_RANGE_PLACE ", which stands for the ranges of DMs that "
                    "dm.downsample: auto makes: there is but one file");
    }
}

/* Adds the mistakes of an entry of `dedisperse` about ranges of DMs (dm.downsample: auto). */
static void job_divide_check(struct tree *entry, struct mistakes *mistakes)
{
    int is_divided = tree_says(entry, "dm.downsample", "auto");
    mistakes_if(is_divided && !tree_value(entry, "dm.tolerance"), mistakes, entry, "dm.downsample",
                "is auto, which divides the DMs of start, end and tolerance");
    mistakes_if(is_divided && tree_value(entry, "downsample"), mistakes, entry, "downsample",
                "is %s, but dm.downsample is auto, which says it for each range",
                tree_value(entry, "downsample"));
    divide_check_file(entry, "file", is_divided, mistakes);
    divide_check_file(entry, "search.file", is_divided, mistakes);
    divide_check_file(entry, "search.csv", is_divided, mistakes);
}

enum { JOB_CHANNELS = 1 << 24, JOB_MOST_WIDTHS = 16384 };

/* "17", "17-40" (both included). Returns 0 when it is neither. */
static int job_dedisperse_parse_channels(const char *text, void *out)
{
    char first[16] = "";
    uint64_t from = 0;
    uint64_t to = 0;
    size_t length = strcspn(text, "-");
    if (length >= sizeof first) {
        return 0;
    }
    memcpy(first, text, length);
    const char *last = text[length] == '-' ? text + length + 1 : first;
    if (!tree_parse_whole(first, &from) || !tree_parse_whole(last, &to) || to < from ||
        to >= JOB_CHANNELS) {
        return 0;
    }
    *(struct job_channels *)out = (struct job_channels){(uint32_t)from, (uint32_t)to};
    return *first != '\0' && *last != '\0';
}

#define DM(member) SCHEMA_AT(struct job_dms, member)

static const struct schema dm_rows[] = {
    {"start", SCHEMA_NUMBER, "first DM", .absent = "0", DM(start), .unit = UNITS_DM,
     .max = JOB_MOST_DM},
    {"step", SCHEMA_NUMBER, "spacing of DMs; with `count`", DM(step), .unit = UNITS_DM,
     .is_above = 1, .max = JOB_MOST_DM},
    {"count", SCHEMA_WHOLE, "number of DMs; with `step`", DM(count), .min = 1, .max = JOB_DMS},
    {"end", SCHEMA_NUMBER, "the first DM that reaches it is the last; with `tolerance`", DM(end),
     .unit = UNITS_DM, .max = JOB_MOST_DM},
    {"tolerance", SCHEMA_NUMBER,
     "largest factor by which smearing may widen a pulse (algorithm of L. Levin, as in dedisp)",
     DM(tolerance), .is_above = 1, .min = 1, .max = 1e3,
     SCHEMA_GIVEN(struct job_dms, kind, DM_TOLERANT)},
    {"width", SCHEMA_NUMBER,
     "width of the pulse in seconds, besides the sampling time and the smearing within a channel; "
     "with `tolerance`",
     .absent = "0", DM(width), .unit = UNITS_TIME, .max = 1e3},
    {"downsample", SCHEMA_CHOICE,
     "`auto`: divides DMs into ranges, each with its own downsampling and steps; with `tolerance`",
     DM(is_divided), SCHEMA_CHOICES("none", "auto")},
    {"list", SCHEMA_NUMBER, "DMs, ascending", SCHEMA_LIST(struct job_dms, list, count, 1, JOB_DMS),
     .unit = UNITS_DM, .max = JOB_MOST_DM, SCHEMA_GIVEN(struct job_dms, kind, DM_LIST),
     .expected = "a list of DMs from 0 to 1e6"},
    {.key = NULL},
};

const char *const job_modes[] = {"auto", "brute", "tree", "two-step", NULL};

#define ENTRY(member) SCHEMA_AT(struct job_dedisperse, member)

static const struct schema search_rows[] = {
    {"file", SCHEMA_TEXT, "HDF5 file of candidates (products.md#candidates)", ENTRY(search.file),
     .is_path = 1, .is_required = 1, JOB_WITHOUT_EFFECT,
     .expected = "the path of the file to write"},
    {"csv", SCHEMA_TEXT,
     "text file of the same table, as `voltmill export --format csv` writes it "
     "(products.md#candidates): written when `file` is complete",
     ENTRY(search.csv), .is_path = 1, JOB_WITHOUT_EFFECT,
     .expected = "the path of the text file to write"},
    {"widths", SCHEMA_WHOLE, "samples of the widest box, after `downsample`: a power of two",
     ENTRY(search.widths), .min = 1, .max = JOB_MOST_WIDTHS, .otherwise = "64"},
    {"threshold", SCHEMA_NUMBER, "S/N of a peak", ENTRY(search.threshold), .min = 1, .max = 1e6,
     .otherwise = "7"},
    {"most", SCHEMA_WHOLE,
     "peaks that are grouped, each with 160 bytes of `run.memory`; of more, the strongest, with a "
     "warning",
     ENTRY(search.most), .min = 1, .max = 1 << 28, .otherwise = "1048576"},
    {.key = NULL},
};

const struct schema job_dedisperse_schema[] = {
    {"input", SCHEMA_WHOLE, "index of a power product in `products`, from 0",
     .absent = "the first power product", ENTRY(input), JOB_WITHOUT_EFFECT, .max = JOB_PRODUCTS - 1,
     SCHEMA_GIVEN(struct job_dedisperse, has_input, 1)},
    {"dm", SCHEMA_MAPPING, "dispersion measures, pc cm^-3 (see dm)", ENTRY(dm), .members = dm_rows,
     .is_required = 1, .list_key = "list",
     .expected = "a list of DMs, or a mapping with start, step, count or start, end, tolerance"},
    {"coherent", SCHEMA_NUMBER, "DMs of a semi-coherent search, ascending (see coherent)",
     SCHEMA_LIST(struct job_dedisperse, coherent, ncoherent, 1, JOB_COHERENT), .unit = UNITS_DM,
     .max = JOB_MOST_DM, .expected = "a DM, or an ascending list of them, 4096 at most"},
    {"edges", SCHEMA_CHOICE,
     "`valid`: only times with every sample; `pad`: all times of the input, with zeros outside "
     "(not with `search`, which would find the ramps of these zeros)",
     ENTRY(is_padded), SCHEMA_CHOICES("valid", "pad")},
    {"reference", SCHEMA_NUMBER, "frequency, in Hz, whose times the series keep",
     .absent = "that of the highest channel", ENTRY(reference_hz), .unit = UNITS_FREQUENCY,
     .is_above = 1, .max = 1e15},
    {"constant", SCHEMA_TEXT,
     "dispersion constant, s MHz^2 pc^-1 cm^3: `tempo` is 1/2.41e-4 (TEMPO, PRESTO), `handbook` "
     "4148.808, `sigproc` 4148.741601, `codata` 4148.8064239, or a number above 0",
     .absent = "`tempo`", ENTRY(constant)},
    {"downsample", SCHEMA_WHOLE, "samples in time that are summed first", ENTRY(downsample),
     .min = 1, .max = 1 << 24, .otherwise = "1"},
    {"zero_dm", SCHEMA_CHOICE,
     "`true`: subtracts from each sample the mean of all channels (except those of `mask`), as "
     "floats: removes what appears at all frequencies at once",
     ENTRY(is_zero_dm), SCHEMA_CHOICES("false", "true")},
    {"mode", SCHEMA_CHOICE,
     "`brute` sums every channel for every DM; `tree` shares sums of several DMs, with the same "
     "delays and bytes; `two-step` first sums groups of channels, with some delays off by a "
     "sample; `auto` uses the faster of `brute` and `tree`, as measured by `voltmill tune` or "
     "estimated",
     ENTRY(mode), .choices = job_modes, .only = "two-step" /* the others add up alike */},
    {"group", SCHEMA_WHOLE, "channels of a group, for `mode: two-step`", .absent = "8",
     ENTRY(group), .min = 1, .max = 256},
    {"mask", SCHEMA_PARSED,
     "channels to omit, in the order of the filterbank; ranges include both ends",
     SCHEMA_LIST(struct job_dedisperse, mask, nmask, 1, UINT32_MAX),
     .parse = job_dedisperse_parse_channels,
     .expected = "a channel (from 0) or a range such as 10-20, or a list of them"},
    {"pols", SCHEMA_WHOLE,
     "polarisations (of stations and beams, as the filterbank has them) to sum; they must be "
     "powers (see Polarisations)",
     .absent = "all", SCHEMA_LIST(struct job_dedisperse, ifs, nifs, 1, UINT32_MAX), .max = 65535,
     .expected = "a number (from 0), or a list of them", .was = "ifs"},
    {"backend", SCHEMA_CHOICE, "as `channelise.backend`",
     .absent = "that of `channelise`, or `auto`", ENTRY(backend), .choices = backend_names,
     JOB_WITHOUT_EFFECT, SCHEMA_GIVEN(struct job_dedisperse, has_backend, 1)},
    {"compress", SCHEMA_CHOICE, "as in `products`", ENTRY(compression),
     .without_effect_on = JOB_SEARCH, SCHEMA_CHOICES(COMPRESSION_NAMES)},
    {"search", SCHEMA_MAPPING,
     "searches the series for bursts, whether they are kept (`file`) or not",
     .members = search_rows, .without_effect_on = JOB_SERIES},
    {"file", SCHEMA_TEXT,
     "HDF5 file to write, another one for each; its directory is made if necessary", ENTRY(file),
     .is_path = 1, .unless = "search", JOB_WITHOUT_EFFECT,
     .expected = "the path of the file to write"},
    {.key = NULL},
};

static void job_dedisperse_check_list(struct tree *entry, const char *key,
                                      struct mistakes *mistakes)
{
    double before = -1;
    for (size_t i = 0; i < tree_count(entry, key); i++) {
        struct tree *child = tree_at(entry, key)->child[i];
        double dm = tree_number(child, "", before + 1);
        if (dm <= before) {
            mistakes_at(mistakes, child, NULL, "is %g, expected more than the %g before it", dm,
                        before);
            break;
        }
        before = dm;
    }
}

/* Checks that exactly one of the three forms states the DMs. */
static void job_dedisperse_check_dms(struct tree *entry, struct mistakes *mistakes)
{
    /* A key with a mistake counts as given, so that it is reported once. */
    int has_list = tree_at(entry, "dm.list") != NULL;
    int has_step = tree_at(entry, "dm.step") != NULL;
    int has_count = tree_at(entry, "dm.count") != NULL;
    int has_end = tree_at(entry, "dm.end") != NULL;
    int has_tolerance = tree_at(entry, "dm.tolerance") != NULL;
    int is_linear = has_step || has_count;
    int is_tolerant = has_end || has_tolerance || tree_at(entry, "dm.width");
    double count = tree_number(entry, "dm.count", 0);
    double start = tree_number(entry, "dm.start", 0);
    double end = tree_number(entry, "dm.end", start);
    double last = start + fmax(count - 1, 0) * tree_number(entry, "dm.step", 0);
    const char *expected =
        has_list + is_linear + is_tolerant != 1 || (has_list && tree_at(entry, "dm.start"))
            ? "a list of DMs, or start, step and count, or start, end and tolerance"
        : is_linear && !(has_count && (has_step || count == 1)) ? "start, step and count"
        : is_tolerant && !(has_end && has_tolerance)            ? "start, end and tolerance"
                                                                : NULL;
    if (expected) {
        mistakes_at(mistakes, entry, "dm", "expected %s", expected);
    }
    mistakes_if(is_linear && last > JOB_MOST_DM * (1 + 1e-9), mistakes, entry, "dm.count",
                "is %.0f, which goes up to a DM of %.12g, expected at most %d", count, last,
                JOB_MOST_DM);
    mistakes_if(end < start, mistakes, entry, "dm.end", "is %g, expected at least the start, %g",
                end, start);
    job_dedisperse_check_list(entry, "dm.list", mistakes);
}

/* Checks the keys of a semi-coherent search. */
static void job_dedisperse_check_coherent(struct tree *entry, struct mistakes *mistakes)
{
    job_dedisperse_check_list(entry, "coherent", mistakes);
    mistakes_if(tree_value(entry, "dm.tolerance") != NULL, mistakes, entry, "dm",
                "has a tolerance, which counts what each DM smears within channels, but "
                "coherent takes that out: expected a list of DMs, or start, step and "
                "count");
    mistakes_if(tree_says(entry, "mode", "two-step"), mistakes, entry, "mode",
                "is two-step, expected auto, brute or tree beside coherent");
}

static void job_dedisperse_check_search(struct tree *entry, struct mistakes *mistakes)
{
    double widths = tree_number(entry, "search.widths", 1);
    uint32_t whole = widths >= 1 && widths <= JOB_MOST_WIDTHS ? (uint32_t)widths : 1;
    mistakes_if((whole & (whole - 1)) != 0, mistakes, entry, "search.widths",
                "is %u, expected a power of two, such as 64", whole);
    mistakes_if(tree_list(entry, "coherent") != NULL, mistakes, entry, "search",
                "is not there for a semi-coherent search, which makes series: expected a job "
                "for each coherent DM, with `filter: {dispersion: {dm: DM}}`, the dm that are "
                "nearest to it, and search in the place of coherent");
    mistakes_if(tree_says(entry, "edges", "pad"), mistakes, entry, "edges",
                "is pad: zeros beyond the input would be found as bursts; expected valid "
                "beside search");
}

void job_dedisperse_check(struct tree *entry, struct mistakes *mistakes)
{
    if (tree_member(entry, "search")) {
        job_dedisperse_check_search(entry, mistakes);
    }
    job_dedisperse_check_dms(entry, mistakes);
    job_divide_check(entry, mistakes);
    if (tree_list(entry, "coherent")) {
        job_dedisperse_check_coherent(entry, mistakes);
    }
    mistakes_if(tree_value(entry, "group") && !tree_says(entry, "mode", "two-step"), mistakes,
                entry, "group", "is for mode: two-step, which adds up groups of channels first");
}
