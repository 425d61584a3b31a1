/* Looks up patterns, puts the files of a sequence together, runs the job of each observation, and
 * says what became of them. */
#include "run/batch.h"

#include "base/display.h"
#include "input/open.h"
#include "io/file.h"
#include "io/folder.h"
#include "output/journal.h"
#include "ranks/agree.h"
#include "ranks/stop.h"
#include "run/share.h"

#include <glob.h>
#include <inttypes.h>
#include <regex.h>

#define TIME "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}"

/* Groups: folder, stem, rest of the name. The pattern is folder, stem, `middle`, rest, `end`. */
enum { FOLDER = 1, STEM, REST, GROUPS };
static const struct sequence_kind {
    const char *name, *middle, *end;
    int opens_others;
} kinds[] = {{"^(.*/)?([^/]+)()\\.[0-9]{4}\\.raw$", ".[0-9][0-9][0-9][0-9].raw", "", 0},
             {"^(.*/)?([^/]+)()_[0-9]{16}\\.[0-9]{6}\\.dada$", "_[0-9]*.[0-9]*.dada", "", 0},
             {"^(.*/)?([^/]+)_S[0-3](_[^/]*)\\.h5$", "_S[0-3]", ".h5", 1},
             {"^(.*/)?([^/]+)()/" TIME "$", "/[0-9]*-*T*", "", 0},
             {"^(.*/)?([^/]+)()/" TIME "/rf@[^/]*\\.h5$", "/[0-9]*-*T*/rf@*.h5", "", 0},
             {"^(.*/)?(\\.?[^/]+)()\\.[^./]*$", NULL, NULL, 0}, /* no sequence */
             {"^(.*/)?([^/]+)()$", NULL, NULL, 0}};

/* Appends a part of the path that glob() takes as it is. */
static status_t sequence_add(const char *path, regmatch_t part, struct text *out)
{
    for (regoff_t i = part.rm_so; i >= 0 && i < part.rm_eo; i++) {
        TRY(strchr("*?[\\", path[i]) ? text_add(out, "\\") : STATUS_OK);
        TRY(text_add_bytes(out, path + i, 1));
    }
    return STATUS_OK;
}

/* The observation that a file or folder is a part of: GUPPI RAW (STEM.0000.raw), PSRDADA
 * (STEM_OFFSET.000000.dada), components of LOFAR (STEM_S0_STEM.h5), a channel of Digital RF
 * (CHANNEL/TIME/rf@TIME.h5, or CHANNEL/TIME). Reads no files. Appends
 *
 *   pattern   for glob(): all its files; nothing if `path` is no part of a sequence
 *   name      "night" of "obs/night.0003.raw"; else its name without folder and ending
 *
 * *opens_others: one file is enough, the format opens the others beside it. Fails with DEVICE
 * (memory). */
static status_t sequence_of(const char *path, struct text *pattern, struct text *name,
                            int *opens_others)
{
    const struct sequence_kind *kind = kinds;
    regmatch_t part[GROUPS];
    for (int is_found = 0; !is_found && kind < kinds + sizeof kinds / sizeof *kinds; kind++) {
        regex_t form;
        REQUIRE(regcomp(&form, kind->name, REG_EXTENDED) == 0, STATUS_DEVICE,
                "out of memory: names of files");
        is_found = regexec(&form, path, GROUPS, part, 0) == 0;
        regfree(&form);
        if (!is_found) {
            continue;
        }
        *opens_others = kind->opens_others;
        for (int i = STEM; i <= REST; i++) {
            TRY(text_add_bytes(name, path + part[i].rm_so,
                               (size_t)(part[i].rm_eo - part[i].rm_so)));
        }
        if (kind->middle) {
            TRY(sequence_add(path, part[FOLDER], pattern));
            TRY(sequence_add(path, part[STEM], pattern));
            TRY(text_add(pattern, "%s", kind->middle));
            TRY(sequence_add(path, part[REST], pattern));
            TRY(text_add(pattern, "%s", kind->end));
        }
    }
    return STATUS_OK;
}

enum { LIST_BYTES = 1 << 26 };

/* Files that belong together. */
struct group {
    struct text pattern, name; /* of sequence_of() */
    struct text files;         /* one a line */
    struct text missing;       /* "LIST:LINE"; empty: of files that exist */
    uint32_t count;
    int opens_others;
};

struct groups {
    struct group *items;
    uint32_t count;
};

static void group_free(struct group *group)
{
    text_free(&group->pattern);
    text_free(&group->name);
    text_free(&group->files);
    text_free(&group->missing);
}

/* The name stands for {name}: one component of a path, so that no name leads elsewhere. Fails with
 * USAGE. */
static status_t group_check_name(const struct group *group, const char *path)
{
    const char *name = group->name.data;
    int is_sound = name && strspn(name, ".") < strlen(name);
    for (const char *c = path; *c && is_sound; c += is_sound) {
        is_sound = *c == '/' ? 1 : (int)display_character(c, strlen(c));
    }
    return REQUIRED(is_sound, STATUS_USAGE,
                    "--each: %s gives no value for {name}: expected a file name in UTF-8, without "
                    "control characters and not only dots",
                    path);
}

static status_t groups_add(struct groups *groups, const char *path)
{
    SCOPED(group_free) struct group new = {.count = 0};
    struct group *group = NULL;
    TRY(sequence_of(path, &new.pattern, &new.name, &new.opens_others));
    TRY(group_check_name(&new, path));
    for (uint32_t i = groups->count; i-- > 0 && new.pattern.data && !group;) {
        const char *pattern = groups->items[i].pattern.data;
        group = pattern && strcmp(pattern, new.pattern.data) == 0 ? &groups->items[i] : NULL;
    }
    if (!group) {
        TRY(memory_grow(groups->count, sizeof new, "observations", &groups->items));
        group = &groups->items[groups->count++];
        *group = new;
        new = (struct group){.count = 0};
    }
    TRY(text_add_line(&group->files, path));
    group->count++;
    return STATUS_OK;
}

/* Adds the files of a pattern; *found = 0: there are none. */
static status_t groups_find(struct groups *groups, const char *pattern, int *found)
{
    SCOPED(globfree) glob_t paths = {0};
    int exists = 0;
    TRY(file_exists(pattern, &exists));
    *found = exists || (glob(pattern, 0, NULL, &paths) == 0 && paths.gl_pathc > 0);
    TRY(exists ? groups_add(groups, pattern) : STATUS_OK);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        TRY(groups_add(groups, paths.gl_pathv[i]));
    }
    return STATUS_OK;
}

static status_t groups_find_line(struct groups *groups, const char *written, const char *list,
                                 uint32_t line, int keeps_going)
{
    SCOPED(text_free) struct text pattern = {0};
    int ok = 1;
    int found = 0;
    TRY(text_add_path(&pattern, written, &ok));
    REQUIRE(ok, STATUS_USAGE, "%s:%" PRIu32 ": ~ is HOME, which is not set", list, line);
    TRY(groups_find(groups, pattern.data, &found));
    REQUIRE(found || keeps_going, STATUS_USAGE,
            "%s:%" PRIu32 ": no file matches %s; --keep-going processes the others", list, line,
            pattern.data);
    if (!found) { /* an observation of its own */
        TRY(memory_grow(groups->count, sizeof *groups->items, "observations", &groups->items));
        struct group *group = &groups->items[groups->count++];
        *group = (struct group){.count = 1};
        TRY(text_add(&group->name, "%s", ""));
        TRY(text_add(&group->files, "%s", pattern.data));
        TRY(text_add(&group->missing, "%s:%" PRIu32, list, line));
    }
    return STATUS_OK;
}

static status_t groups_find_listed(struct groups *groups, const char *path, int keeps_going)
{
    SCOPED(text_free) struct text text = {0};
    uint32_t number = 0;
    const int is_stdin = strcmp(path, "-") == 0;
    const char *list = is_stdin ? "standard input" : path;
    TRY(text_read_file(&text, is_stdin ? "/dev/stdin" : path, LIST_BYTES,
                       "a list of observations"));
    char *rest = text.data;
    for (char *line = NULL; (line = strsep(&rest, "\n")) != NULL;) {
        line[strcspn(line, "\r")] = '\0';
        for (char *end = line + strlen(line); end > line && strchr(" \t", end[-1]); end--) {
            end[-1] = '\0';
        }
        number++;
        TRY(*line && *line != '#' ? groups_find_line(groups, line, list, number, keeps_going)
                                  : STATUS_OK);
    }
    return REQUIRED(groups->count > 0, STATUS_USAGE,
                    "%s: names no observation: expected one a line", list);
}

/* Appends the texts of an observation; warns of files of its sequence that no pattern matches. */
static status_t group_write(const struct group *group, struct text *out)
{
    const char *files = group->files.data;
    const char *pattern = group->pattern.data;
    SCOPED(globfree) glob_t all = {0};
    size_t count = pattern && glob(pattern, 0, NULL, &all) == 0 ? all.gl_pathc : 0;
    if (count > group->count && !group->opens_others) {
        report_warn("--each: %s is split: %zu of its %zu files match no pattern and are not read; "
                    "all are %s",
                    group->name.data, count - group->count, count, pattern);
    }
    TRY(text_add_bytes(out, group->name.data, group->name.length + 1));
    files = group->count > 1 && count == group->count ? pattern : files;
    TRY(text_add_bytes(out, files, strlen(files) + 1));
    return text_add_bytes(out, group->missing.data ? group->missing.data : "",
                          group->missing.length + 1);
}

status_t observations_find(const char *pattern, const char *list, int keeps_going,
                           struct text *texts)
{
    status_t st = STATUS_OK;
    struct groups groups = {.count = 0};
    int found = 1;
    TRY_OUT(list ? groups_find_listed(&groups, list, keeps_going)
                 : groups_find(&groups, pattern, &found));
    REQUIRE_OUT(found, STATUS_USAGE, "no file matches --each %s", pattern);
    for (uint32_t i = 0; i < groups.count; i++) {
        TRY_OUT(group_write(&groups.items[i], texts));
    }
out:
    for (uint32_t i = 0; i < groups.count; i++) {
        group_free(&groups.items[i]);
    }
    free(groups.items);
    return st;
}

status_t observations_index(struct observations *o)
{
    const char *at = o->texts.data;
    for (const char *end = at + o->texts.length; at < end;) {
        struct job_each one = {.name = at, .files = at + strlen(at) + 1};
        const char *missing = one.files + strlen(one.files) + 1;
        at = missing + strlen(missing) + 1;
        TRY(memory_grow(o->count, sizeof one, "observations", &o->items));
        TRY(memory_grow(o->count, sizeof(char *), "observations", &o->missing));
        o->missing[o->count] = missing;
        o->items[o->count++] = one;
    }
    return STATUS_OK;
}

void observations_free(struct observations *observations)
{
    text_free(&observations->texts);
    MEMORY_FREE(observations->items, observations->missing);
}

/* Whether one job can be done for many observations without one taking the place of another.
 *
 * Compares all files that the observations are, lead to, and make, by device and inode. */

/* A file that an observation is, leads to, or makes. */
struct batch_file {
    struct folder_place place; /* by which files are one */
    char *path;
    uint32_t observation;
    int is_input;
};

struct batch_files {
    struct batch_file *list;
    size_t count;
};

/* Adds the file that `path` is; one that cannot be looked up is one by its name only. */
static status_t batch_add(struct batch_files *files, const char *path, uint32_t observation,
                          int is_input)
{
    TRY(memory_grow(files->count, sizeof *files->list, "names of files", &files->list));
    struct batch_file *file = &files->list[files->count++];
    *file = (struct batch_file){.observation = observation, .is_input = is_input};
    TRY(report_forgive(folder_place_of(path, &file->place)));
    TRY(file->place.rest ? STATUS_OK : memory_text(path, &file->place.rest));
    return memory_text(path, &file->path);
}

/* Adds all names that a product has, one after the other. */
static status_t batch_add_output(struct batch_files *files, const char *path, uint32_t observation)
{
    SCOPED(product_files_free) struct product_files product = {.path = NULL};
    TRY(product_files_of(path, &product));
    TRY(batch_add(files, product.path, observation, 0));
    TRY(batch_add(files, product.part, observation, 0));
    TRY(batch_add(files, product.journal, observation, 0));
    return batch_add(files, product.packed, observation, 0);
}

/* All files that ranges of DMs could have: filterbanks are not opened yet. */
static status_t batch_add_ranges(struct batch_files *files, const char *path, uint32_t observation)
{
    SCOPED(text_free) struct text name = {0};
    int is_divided = strstr(path, JOB_RANGE_PLACE) != NULL;
    for (uint32_t r = 0; is_divided && r < JOB_DEDISPERSE; r++) {
        const char *rest = path;
        name.length = 0;
        for (const char *place; (place = strstr(rest, JOB_RANGE_PLACE)) != NULL;) {
            TRY(text_add_bytes(&name, rest, (size_t)(place - rest)));
            TRY(text_add(&name, "%u", r));
            rest = place + strlen(JOB_RANGE_PLACE);
        }
        TRY(text_add(&name, "%s", rest));
        TRY(batch_add_output(files, name.data, observation));
    }
    return is_divided ? STATUS_OK : batch_add_output(files, path, observation);
}

struct batch_work {
    const struct run_options *options;
    struct text text; /* of the job */
    const struct observations *observations;
    struct batch_files files;
};

/* Parses the job of one observation; *out is NULL if it has mistakes. */
static status_t batch_job(const struct batch_work *work, uint32_t observation, struct job **out)
{
    const struct run_options *options = work->options;
    status_t st = job_parse_each(options->path, work->text.data, work->text.length, options->sets,
                                 options->nsets, &work->observations->items[observation], out);
    if (st == STATUS_USAGE) {
        report_clear(); /* its run says so */
        st = STATUS_OK;
    }
    return st;
}

/* Adds an observation's files and its job's outputs. */
static status_t batch_add_job(struct batch_work *work, uint32_t observation)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    TRY(batch_job(work, observation, &job));
    TRY(batch_add(&work->files, work->observations->items[observation].files, observation, 1));
    for (uint32_t i = 0; job && i < job_nfiles(job); i++) {
        TRY(batch_add_ranges(&work->files, job_file(job, i), observation));
    }
    for (uint32_t i = 0; job && i < job->ndedisperse; i++) {
        const char *csv = job->dedisperse[i].search.csv;
        TRY(csv ? batch_add_ranges(&work->files, csv, observation) : STATUS_OK);
    }
    if (job && job_is_semi_coherent(job)) {
        /* The files of its parts begin with that name. */
        TRY(batch_add_output(&work->files, job->products[0].file, observation));
    }
    return STATUS_OK;
}

/* Files that lead to its samples, as far as they are found: otherwise the observation's own run
 * says why, and makes nothing. */
static status_t batch_find_inputs(const struct job *job, struct inputs *out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct fbh5 *fbh5 = NULL;
    report_quiet(1); /* its run warns */
    if (job_reads_voltages(job)) {
        TRY_OUT(archive_open(job, &archive));
        TRY_OUT(inputs_of_bank(job, archive, out));
    } else {
        TRY_OUT(fbh5_open(job->files[0], FBH5_HEADER, &fbh5));
        TRY_OUT(inputs_of_filterbank(job->files[0], fbh5, out));
    }
out:
    fbh5_destroy(fbh5);
    archive_destroy(archive);
    report_quiet(0);
    return report_forgive(st);
}

static status_t batch_add_inputs(struct batch_work *work, uint32_t observation)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    SCOPED(inputs_free) struct inputs inputs = {0};
    TRY(batch_job(work, observation, &job));
    TRY(job ? batch_find_inputs(job, &inputs) : STATUS_OK);
    for (size_t i = 0; i < inputs.count; i++) {
        TRY(batch_add(&work->files, inputs.files[i].path, observation, 1));
    }
    return STATUS_OK;
}

/* Orders by file, then by the number of the observation. */
static int batch_compare(const void *left, const void *right)
{
    const struct batch_file *a = left;
    const struct batch_file *b = right;
    if (a->place.device != b->place.device) {
        return a->place.device < b->place.device ? -1 : 1;
    }
    if (a->place.inode != b->place.inode) {
        return a->place.inode < b->place.inode ? -1 : 1;
    }
    int order = strcmp(a->place.rest, b->place.rest);
    order = order ? order : (a->observation > b->observation) - (a->observation < b->observation);
    return order ? order : a->is_input - b->is_input;
}

static status_t batch_judge(const struct batch_work *work)
{
    const struct job_each *observations = work->observations->items;
    const struct batch_file *one = NULL; /* the earliest that two observations would share */
    const struct batch_file *other = NULL;
    qsort(work->files.list, work->files.count, sizeof *work->files.list, batch_compare);
    for (size_t i = 0; i + 1 < work->files.count; i++) {
        const struct batch_file *a = &work->files.list[i];
        const struct batch_file *b = a + 1;
        int is_clash = folder_place_is_same(&a->place, &b->place) &&
                       !(a->is_input && b->is_input) &&
                       (a->observation != b->observation || a->is_input || b->is_input);
        if (is_clash && (!one || a->observation < one->observation)) {
            one = a;
            other = b;
        }
    }
    if (one && (one->is_input || other->is_input)) {
        const struct batch_file *input = one->is_input ? one : other;
        const struct batch_file *output = one->is_input ? other : one;
        const char *observation = observations[input->observation].files;
        REQUIRE(strcmp(input->path, observation) != 0, STATUS_USAGE,
                "--each: %s, which the job of %s would make, is the observation %s", output->path,
                observations[output->observation].files, input->path);
        return report_fail(
            STATUS_USAGE, "--each: %s, which the job of %s would make, is %s, an input of %s",
            output->path, observations[output->observation].files, input->path, observation);
    }
    return REQUIRED(
        !one, STATUS_USAGE,
        "--each: the jobs of %s and %s would both make %s: expected {name} in each file of the "
        "job's outputs, and observations of different names",
        observations[one->observation].files, observations[other->observation].files, other->path);
}

status_t batch_check(const struct run_options *options, const struct batch_choice *choice,
                     const struct observations *observations)
{
    status_t st = STATUS_OK;
    struct batch_work work = {.options = options, .observations = observations};
    uint32_t count = observations->count;
    TRY_OUT(share_read_job(options->path, options->given, options->patience, &work.text));
    for (uint32_t i = 0; i < count; i++) {
        TRY_OUT(*observations->missing[i] ? STATUS_OK : batch_add_job(&work, i));
    }
    TRY_OUT(batch_judge(&work));
    int looks = 0; /* if any of what would be made is there: what is not cannot be read either */
    for (size_t i = 0; i < work.files.count; i++) {
        looks |= !work.files.list[i].is_input && work.files.list[i].place.rest[0] == '\0';
    }
    for (uint32_t i = 0; i < count && looks; i++) {
        int is_opened = options->force || i % choice->parts == choice->part;
        TRY_OUT(*observations->missing[i] || !is_opened ? STATUS_OK : batch_add_inputs(&work, i));
    }
    TRY_OUT(batch_judge(&work));
out:
    for (size_t i = 0; i < work.files.count; i++) {
        folder_place_free(&work.files.list[i].place);
        free(work.files.list[i].path);
    }
    free(work.files.list);
    text_free(&work.text);
    return st;
}

struct batch {
    MPI_Comm comm;
    int rank;
    const struct run_options *options;
    const struct batch_choice *choice;
    opened_t *opened;
    struct observations observations;
    struct text table;
    uint32_t left; /* not complete */
};

static status_t batch_list_all(struct batch *batch)
{
    status_t st = STATUS_OK;
    struct observations *list = &batch->observations;
    TRY_OUT(
        agree_all(batch->comm, batch->rank == 0
                                   ? observations_find(batch->choice->pattern, batch->choice->list,
                                                       batch->choice->keep_going, &list->texts)
                                   : STATUS_OK));
    TRY_OUT(share_text_all(batch->comm, &list->texts));
    TRY_OUT(observations_index(list));
out:
    return agree_all(batch->comm, st);
}

/* Runs one observation, and prints its message. */
static status_t batch_run_one_all(struct batch *batch, uint32_t i)
{
    int was_complete = 0;
    struct run_options one = *batch->options;
    one.each = &batch->observations.items[i];
    one.was_complete = &was_complete;
    one.opened = batch->opened;
    report_next();
    const char *missing = batch->observations.missing[i];
    status_t st = *missing ? report_fail(STATUS_DATA, "%s: no file matches %s", missing,
                                         batch->observations.items[i].files)
                           : run_job_all(batch->comm, &one);
    const char *word = st == STATUS_OK        ? was_complete ? "complete before" : "complete"
                       : st == STATUS_HOLES   ? "with holes"
                       : st == STATUS_STOPPED ? "stopped"
                                              : "failed";
    const char *cause = st == STATUS_OK || st == STATUS_STOPPED ? "" : report_cause();
    batch->left += st != STATUS_OK;
    /* No name has a tab: slurm/each-summary finds its end. */
    (void)text_add_shown(&batch->table, *cause ? "%-15s  %s:\t%.*s\n" : "%-15s  %s%.*s\n", word,
                         batch->observations.items[i].files, (int)strcspn(cause, "\n"), cause);
    if (st != STATUS_OK) {
        report_print();
    }
    return st;
}

status_t batch_run_all(MPI_Comm comm, const struct run_options *options,
                       const struct batch_choice *choice)
{
    status_t st = STATUS_OK;
    struct batch batch = {
        .comm = comm, .rank = agree_rank(comm), .options = options, .choice = choice};
    TRY_OUT(batch_list_all(&batch));
    TRY_OUT(opened_create_all(comm, 1, &batch.opened));
    TRY_OUT(agree_all(comm, batch.rank == 0 ? batch_check(options, choice, &batch.observations)
                                            : STATUS_OK));
    uint32_t count = batch.observations.count;
    status_t first = STATUS_OK;
    int is_over = 0;
    int is_stopped = 0;
    uint64_t i = choice->part;
    for (; i < count && !is_over; i += choice->parts) {
        /* Observations that are skipped, or fail at once, do not check that. */
        is_stopped = i > choice->part && most_u32_all(comm, (uint32_t)stop_wanted()) > 0;
        if (is_stopped) {
            break;
        }
        status_t one = batch_run_one_all(&batch, (uint32_t)i);
        int failed = one != STATUS_OK && one != STATUS_HOLES;
        /* Products with holes are complete: a failure counts more. */
        if (first == STATUS_OK || (first == STATUS_HOLES && failed) || one == STATUS_STOPPED) {
            first = one;
        }
        is_over = one == STATUS_STOPPED || (failed && !choice->keep_going);
    }
    uint32_t waiting = 0;
    for (; i < count; i += choice->parts, waiting++) {
        TRY_OUT(text_add_shown(&batch.table, "not begun        %s\n",
                               batch.observations.items[i].files));
    }
    if (batch.rank == 0 && batch.table.data) {
        fputs(batch.table.data, stdout);
    } else if (batch.rank == 0) {
        display_print("part %u/%u has no observation\n", choice->part + 1, choice->parts);
    }
    if (is_over) {
        st = first;
        if (st != STATUS_STOPPED && waiting > 0) {
            report_note("%s not begun: --keep-going continues after a failure",
                        units_number(waiting, "observation was", "observations were"));
        }
        goto out;
    }
    report_next();
    batch.left += waiting;
    uint32_t mine = choice->part < count ? 1 + (count - 1 - choice->part) / choice->parts : 0;
    REQUIRE_OUT(!is_stopped, STATUS_STOPPED,
                "%u of %u observations are not complete; run the same command to resume",
                batch.left, mine);
    REQUIRE_OUT(first == STATUS_OK, first, "%u of %u observations are not complete", batch.left,
                mine);
out:
    opened_destroy(batch.opened);
    text_free(&batch.table);
    observations_free(&batch.observations);
    return st;
}
