/* The list of files in other folders, sorted by where they really are. */
#include "cli/elsewhere.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"

enum { MOST_LISTED = 5 }; /* of a folder */

struct elsewhere_file {
    char *real;
    const struct archive_source *source;
    size_t number; /* as they came */
};

struct elsewhere {
    struct elsewhere_file *files; /* room for all */
    size_t count;
};

static void elsewhere_free(struct elsewhere *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->files[i].real);
    }
    free(list->files);
}

/* The folder that `path` is in, by its real name, which ends in a slash. */
static status_t elsewhere_home(const char *path, struct text *out)
{
    SCOPED(text_free) struct text folder = {0};
    TRY(text_add(&folder, "%.*s.", (int)(text_basename(path) - path), path));
    SCOPED(free_at) char *real = realpath(folder.data, NULL);
    text_add(out, "%s%s", real ? real : "", real && strcmp(real, "/") != 0 ? "/" : "");
    return out->status;
}

/* Adds all sources of one file, which the job names as `path`. */
static status_t elsewhere_add(struct elsewhere *list, const char *path,
                              const struct sources *sources)
{
    SCOPED(text_free) struct text home = {0};
    TRY(elsewhere_home(path, &home));
    for (uint32_t i = 0; i < sources->count; i++) {
        /* One that went since is for its readers to find; one of the same recording is none. */
        const struct archive_source *source = &sources->items[i];
        char *real = realpath(source->path, NULL);
        int is_beside = source->kind == SOURCE_NAMED && strcmp(source->path, path) != 0;
        int is_at_home = home.length > 0 && real && strncmp(real, home.data, home.length) == 0;
        if (!real || is_beside || is_at_home) {
            free(real);
            continue;
        }
        list->files[list->count] = (struct elsewhere_file){real, source, list->count};
        list->count++;
    }
    return STATUS_OK;
}

static size_t elsewhere_folder(const char *real)
{
    return (size_t)(text_basename(real) - real);
}

/* Orders files by folder, then by name, then by their number on the command line. */
static int elsewhere_compare(const void *left, const void *right)
{
    const struct elsewhere_file *a = left;
    const struct elsewhere_file *b = right;
    size_t in_a = elsewhere_folder(a->real);
    size_t in_b = elsewhere_folder(b->real);
    int order = strncmp(a->real, b->real, in_a < in_b ? in_a : in_b);
    order = order ? order : (in_a > in_b) - (in_a < in_b);
    order = order ? order : strcmp(a->real, b->real);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* How a path leads to a file: as JSON has it, and in words around the path that does. */
static const struct {
    const char *name, *before, *after;
} elsewhere_kinds[] = {
    [SOURCE_LINKED] = {"link", "a link in ", " leads to it"},
    [SOURCE_EXTERNAL] = {"external file", "an external file of ", ""},
    [SOURCE_VIRTUAL] = {"source of a virtual dataset", "a source of a virtual dataset in ", ""},
    [SOURCE_NAMED] = {"link in the job", "", " is a link to it"}};

static const char *elsewhere_leader(const struct archive_source *source)
{
    return source->kind == SOURCE_NAMED ? source->path : source->from;
}

static void elsewhere_print(const struct elsewhere *list)
{
    display_print("%s", list->count > 0
                            ? "elsewhere (files outside the folder of what leads to them)\n"
                            : "");
    for (size_t i = 0, end; i < list->count; i = end) {
        const char *real = list->files[i].real;
        size_t folder = elsewhere_folder(real);
        for (end = i; end < list->count && elsewhere_folder(list->files[end].real) == folder &&
                      strncmp(list->files[end].real, real, folder) == 0;
             end++) {
            const struct archive_source *source = list->files[end].source;
            if (end - i < MOST_LISTED) {
                display_print("  %s: %s%s%s\n", list->files[end].real,
                              elsewhere_kinds[source->kind].before, elsewhere_leader(source),
                              elsewhere_kinds[source->kind].after);
            }
        }
        if (end - i > MOST_LISTED) {
            display_print("  %.*s: %zu more\n", (int)folder, real, end - i - MOST_LISTED);
        }
    }
}

static void elsewhere_write(const struct elsewhere *list, struct json *json)
{
    json_list(json, "elsewhere");
    for (size_t i = 0; i < list->count; i++) {
        const struct archive_source *source = list->files[i].source;
        json_begin(json, NULL);
        json_text(json, "path", list->files[i].real);
        json_text(json, "is", elsewhere_kinds[source->kind].name);
        json_text(json, "of", elsewhere_leader(source));
        json_end(json);
    }
    json_list_end(json);
}

static void elsewhere_say(struct elsewhere *list, struct json *json)
{
    if (list->count > 0) {
        qsort(list->files, list->count, sizeof *list->files, elsewhere_compare);
    }
    /* A file to which several paths or archives lead counts once. */
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && strcmp(list->files[kept - 1].real, list->files[i].real) == 0) {
            free(list->files[i].real);
        } else {
            list->files[kept++] = list->files[i];
        }
    }
    list->count = kept;
    if (json) {
        elsewhere_write(list, json);
    } else {
        elsewhere_print(list);
    }
}

status_t elsewhere_of_archive(const struct archive *archive, struct json *json)
{
    SCOPED(elsewhere_free) struct elsewhere list = {.files = NULL};
    size_t most = 0;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        most += archive->parts[i].storage.sources.count;
    }
    TRY(memory_zeroed(most, sizeof *list.files, "files of an archive", &list.files));
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        TRY(elsewhere_add(&list, part->path, &part->storage.sources));
    }
    elsewhere_say(&list, json);
    return STATUS_OK;
}

status_t elsewhere_of_filterbank(const struct fbh5 *fbh5, struct json *json)
{
    SCOPED(elsewhere_free) struct elsewhere list = {.files = NULL};
    const struct sources *sources = &fbh5->storage.sources;
    TRY(memory_zeroed(sources->count, sizeof *list.files, "files of a filterbank", &list.files));
    TRY(elsewhere_add(&list, fbh5->path, sources));
    elsewhere_say(&list, json);
    return STATUS_OK;
}
