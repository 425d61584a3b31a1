/* Which channels of Digital RF, and which of their files, a job's paths stand for. */
#include "input/format/drf.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1 << 22 };

void drf_names_free(struct drf_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i]);
    }
    free(names->items);
    *names = (struct drf_names){NULL, 0};
}

status_t drf_names_add(struct drf_names *names, char *name)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&names->items, names->count, sizeof *names->items, "names of files"));
    names->items[names->count++] = name;
    name = NULL;
out:
    free(name);
    return st;
}

static int drf_by_name(const void *left, const void *right)
{
    return text_compare_natural(*(char *const *)left, *(char *const *)right);
}

status_t drf_list_folder(const char *folder, int (*is_wanted)(const char *name),
                         struct drf_names *out)
{
    status_t st = STATUS_OK;
    size_t before = out->count;
    DIR *stream = opendir(folder);
    REQUIRE(stream, STATUS_DATA, "%s cannot be read: %s", folder, strerror(errno));
    errno = 0;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        char *name = NULL;
        if (is_wanted(entry->d_name)) {
            REQUIRE(out->count < MOST_FILES, STATUS_DATA, "%s holds more than %d files", folder,
                    MOST_FILES);
            TRY(memory_format(&name, "%s/%s", folder, entry->d_name));
            TRY(drf_names_add(out, name));
        }
        errno = 0;
    }
    REQUIRE(errno == 0, STATUS_DATA, "%s cannot be read: %s", folder, strerror(errno));
    if (out->count > before) {
        qsort(out->items + before, out->count - before, sizeof *out->items, drf_by_name);
    }
out:
    if (stream) {
        closedir(stream);
    }
    return st;
}

int drf_is_time_folder(const char *name)
{
    static const char pattern[] = "0000-00-00T00-00-00";
    for (size_t i = 0; i < sizeof pattern; i++) {
        if (pattern[i] == '0' ? !isdigit((unsigned char)name[i]) : name[i] != pattern[i]) {
            return 0;
        }
    }
    return 1;
}

/* Not "tmp.rf@...", which is being written. */
static int drf_is_file(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "rf@", 3) == 0 && length > 6 && strcmp(name + length - 3, ".h5") == 0;
}

static int drf_is_any(const char *name)
{
    return name[0] != '.';
}

/* Files of a channel, or of one time of it. */
static status_t drf_list_files(const char *folder, struct drf_names *out)
{
    status_t st = STATUS_OK;
    struct drf_names times = {0};
    TRY(drf_list_folder(folder, drf_is_file, out));
    TRY(drf_list_folder(folder, drf_is_time_folder, &times));
    for (size_t i = 0; i < times.count; i++) {
        int is_folder = 0;
        TRY(file_is_folder(times.items[i], &is_folder));
        TRY(is_folder ? drf_list_folder(times.items[i], drf_is_file, out) : STATUS_OK);
    }
out:
    drf_names_free(&times);
    return st;
}

/* The channel of this folder, which may be of one time of it, or of a file in it. */
static status_t drf_find_channel(struct drf_channels *channels, const char *path,
                                 struct drf_channel **out)
{
    status_t st = STATUS_OK;
    int is_folder = 0;
    char *real = realpath(path, NULL);
    REQUIRE(real, STATUS_DATA, "%s: %s", path, strerror(errno));
    char *slash = strrchr(real, '/');
    TRY(file_is_folder(real, &is_folder));
    if (!is_folder && slash > real) {
        *slash = '\0';
        slash = strrchr(real, '/');
    }
    if (drf_is_time_folder(text_basename(real)) && slash > real) {
        *slash = '\0';
    }
    for (size_t i = 0; i < channels->count; i++) {
        if (strcmp(channels->items[i].folder, real) == 0) {
            *out = &channels->items[i];
            goto out;
        }
    }
    TRY(memory_grow(&channels->items, channels->count, sizeof *channels->items, "channels"));
    struct drf_channel *channel = &channels->items[channels->count++];
    *channel = (struct drf_channel){.name = NULL};
    TRY(memory_text(text_basename(real), &channel->name));
    channel->folder = real;
    real = NULL;
    *out = channel;
out:
    free(real);
    return st;
}

static status_t drf_add_files(struct drf_channels *channels, const char *path,
                              struct drf_names *files)
{
    status_t st = STATUS_OK;
    struct drf_channel *channel = NULL;
    TRY(drf_find_channel(channels, path, &channel));
    for (size_t i = 0; i < files->count; i++) {
        char *name = files->items[i];
        files->items[i] = NULL;
        TRY(drf_names_add(&channel->files, name));
    }
out:
    return st;
}

static status_t drf_add_path(struct drf_channels *channels, const char *path)
{
    status_t st = STATUS_OK;
    struct drf_names files = {0};
    struct drf_names folders = {0};
    char *name = NULL;
    size_t before = channels->count;
    int is_folder = 0;
    TRY(file_is_folder(path, &is_folder));
    if (!is_folder) {
        TRY(memory_text(path, &name));
        TRY(drf_names_add(&files, name));
        TRY(drf_add_files(channels, path, &files));
        goto out;
    }
    TRY(drf_list_files(path, &files));
    if (files.count > 0) {
        TRY(drf_add_files(channels, path, &files));
        goto out;
    }
    TRY(drf_list_folder(path, drf_is_any, &folders));
    for (size_t i = 0; i < folders.count; i++) {
        drf_names_free(&files);
        TRY(file_is_folder(folders.items[i], &is_folder));
        TRY(is_folder ? drf_list_files(folders.items[i], &files) : STATUS_OK);
        TRY(files.count > 0 ? drf_add_files(channels, folders.items[i], &files) : STATUS_OK);
    }
    REQUIRE(channels->count > before, STATUS_DATA,
            "%s is not a file, and holds no channel of Digital RF (files "
            "YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5)",
            path);
out:
    drf_names_free(&folders);
    drf_names_free(&files);
    return st;
}

status_t drf_list(char *const *paths, size_t npaths, struct drf_channels *out)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < npaths; i++) {
        TRY(drf_add_path(out, paths[i]));
    }
out:
    return st;
}

void drf_free(struct drf_channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        free(channels->items[i].name);
        free(channels->items[i].folder);
        drf_names_free(&channels->items[i].files);
    }
    free(channels->items);
    *channels = (struct drf_channels){NULL, 0};
}

status_t drf_is_recording(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct drf_names files = {0};
    struct drf_names folders = {0};
    TRY(drf_list_files(path, &files));
    TRY(drf_list_folder(path, drf_is_any, &folders));
    for (size_t i = 0; i < folders.count && files.count == 0; i++) {
        int is_folder = 0;
        TRY(file_is_folder(folders.items[i], &is_folder));
        TRY(is_folder ? drf_list_files(folders.items[i], &files) : STATUS_OK);
    }
    *is_it = files.count > 0;
out:
    drf_names_free(&folders);
    drf_names_free(&files);
    return st;
}
