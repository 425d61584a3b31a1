/* Looks up patterns, and puts the files of a sequence, known by their names, together. */
#include "run/observations.h"

#include "base/display.h"
#include "base/memory.h"
#include "io/file.h"

#include <glob.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

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
    return REQUIRED(
        is_sound, STATUS_USAGE,
        "--each: no name for {name} can be made of %s: expected a file's name in UTF-8, without "
        "control characters, that is more than dots",
        path);
}

static status_t groups_add(struct groups *groups, const char *path)
{
    status_t st = STATUS_OK;
    struct group new = {.count = 0};
    struct group *group = NULL;
    TRY_OUT(sequence_of(path, &new.pattern, &new.name, &new.opens_others));
    TRY_OUT(group_check_name(&new, path));
    for (uint32_t i = groups->count; i-- > 0 && new.pattern.data && !group;) {
        const char *pattern = groups->items[i].pattern.data;
        group = pattern && strcmp(pattern, new.pattern.data) == 0 ? &groups->items[i] : NULL;
    }
    if (!group) {
        TRY_OUT(memory_grow(groups->count, sizeof new, "observations", &groups->items));
        group = &groups->items[groups->count++];
        *group = new;
        new = (struct group){.count = 0};
    }
    TRY_OUT(text_add_line(&group->files, path));
    group->count++;
out:
    group_free(&new);
    return st;
}

/* Adds the files of a pattern; *found = 0: there are none. */
static status_t groups_find(struct groups *groups, const char *pattern, int *found)
{
    status_t st = STATUS_OK;
    glob_t paths = {0};
    int exists = 0;
    TRY_OUT(file_exists(pattern, &exists));
    *found = exists || (glob(pattern, 0, NULL, &paths) == 0 && paths.gl_pathc > 0);
    TRY_OUT(exists ? groups_add(groups, pattern) : STATUS_OK);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        TRY_OUT(groups_add(groups, paths.gl_pathv[i]));
    }
out:
    globfree(&paths);
    return st;
}

static status_t groups_find_line(struct groups *groups, const char *written, const char *list,
                                 uint32_t line, int keeps_going)
{
    status_t st = STATUS_OK;
    struct text pattern = {0};
    int ok = 1;
    int found = 0;
    TRY_OUT(text_add_path(&pattern, written, &ok));
    REQUIRE_OUT(ok, STATUS_USAGE, "%s:%" PRIu32 ": ~ is HOME, which is not set", list, line);
    TRY_OUT(groups_find(groups, pattern.data, &found));
    REQUIRE_OUT(found || keeps_going, STATUS_USAGE,
                "%s:%" PRIu32 ": no file matches %s; --keep-going does the others", list, line,
                pattern.data);
    if (!found) { /* an observation of its own */
        TRY_OUT(memory_grow(groups->count, sizeof *groups->items, "observations", &groups->items));
        struct group *group = &groups->items[groups->count++];
        *group = (struct group){.count = 1};
        TRY_OUT(text_add(&group->name, "%s", ""));
        TRY_OUT(text_add(&group->files, "%s", pattern.data));
        TRY_OUT(text_add(&group->missing, "%s:%" PRIu32, list, line));
    }
out:
    text_free(&pattern);
    return st;
}

static status_t groups_find_listed(struct groups *groups, const char *path, int keeps_going)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    uint32_t number = 0;
    const int is_stdin = strcmp(path, "-") == 0;
    const char *list = is_stdin ? "standard input" : path;
    TRY_OUT(text_read_file(&text, is_stdin ? "/dev/stdin" : path, LIST_BYTES,
                           "a list of observations"));
    char *rest = text.data;
    for (char *line = NULL; (line = strsep(&rest, "\n")) != NULL;) {
        line[strcspn(line, "\r")] = '\0';
        for (char *end = line + strlen(line); end > line && strchr(" \t", end[-1]); end--) {
            end[-1] = '\0';
        }
        number++;
        TRY_OUT(*line && *line != '#' ? groups_find_line(groups, line, list, number, keeps_going)
                                      : STATUS_OK);
    }
    REQUIRE_OUT(groups->count > 0, STATUS_USAGE, "%s: names no observation: expected one a line",
                list);
out:
    text_free(&text);
    return st;
}

/* Appends the texts of an observation; warns of files of its sequence that no pattern matches. */
static status_t group_write(const struct group *group, struct text *out)
{
    status_t st = STATUS_OK;
    const char *files = group->files.data;
    const char *pattern = group->pattern.data;
    glob_t all = {0};
    size_t count = pattern && glob(pattern, 0, NULL, &all) == 0 ? all.gl_pathc : 0;
    if (count > group->count && !group->opens_others) {
        report_warn("--each: %s is split: %zu of its %zu files match no pattern and are not read; "
                    "all are %s",
                    group->name.data, count - group->count, count, pattern);
    }
    TRY_OUT(text_add_bytes(out, group->name.data, group->name.length + 1));
    files = group->count > 1 && count == group->count ? pattern : files;
    TRY_OUT(text_add_bytes(out, files, strlen(files) + 1));
    TRY_OUT(text_add_bytes(out, group->missing.data ? group->missing.data : "",
                           group->missing.length + 1));
out:
    globfree(&all);
    return st;
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
    free(observations->items);
    free(observations->missing);
}
