/* Reads /proc/meminfo, and the files of control groups: man 5 proc, and the kernel's
 * cgroup-v1/memory, scheduler/sched-bwc and cgroup-v2 pages. */
#include "io/machine.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096, PATH_BYTES = 4096 };

/* Names of the same quantities in both versions. */
struct group_names {
    const char *limit, *used, *inactive, *active;
};
static const struct group_names version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                             "total_inactive_file", "total_active_file"};
static const struct group_names version_2 = {"memory.max", "memory.current", "inactive_file",
                                             "active_file"};

static FILE *machine_open(const char *root, const char *path)
{
    char name[2 * PATH_BYTES];
    int length = snprintf(name, sizeof name, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof name ? fopen(name, "re") : NULL;
}

/* The number after a line's first word, or, with `key` NULL, of the first line; returns 0 when
 * there is none ("max" is no number). */
static int machine_number(const char *root, const char *path, const char *key, uint64_t *out)
{
    char line[LINE_BYTES];
    int found = 0;
    FILE *file = machine_open(root, path);
    while (file && !found && fgets(line, sizeof line, file)) {
        size_t length = key ? strlen(key) : 0;
        if (!key) {
            found = sscanf(line, "%" SCNu64, out) == 1;
            break;
        }
        found = strncmp(line, key, length) == 0 && line[length] != '\0' &&
                strchr(" :", line[length]) && sscanf(line + length + 1, "%" SCNu64, out) == 1;
    }
    text_close(file);
    return found;
}

static uint64_t group_number(const char *root, const char *folder, const char *name,
                             const char *key)
{
    char path[PATH_BYTES];
    uint64_t number = 0;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    int is_whole = length > 0 && (size_t)length < sizeof path;
    return is_whole && machine_number(root, path, key, &number) ? number : 0;
}

/* Returns the bytes that one group leaves, at least 1; UINT64_MAX if it has no limit, or is not
 * visible here. */
static uint64_t group_left(const char *root, const char *folder, int version)
{
    const struct group_names *names = version == 2 ? &version_2 : &version_1;
    uint64_t limit = group_number(root, folder, names->limit, NULL);
    if (limit == 0) {
        return UINT64_MAX;
    }
    uint64_t used = group_number(root, folder, names->used, NULL);
    uint64_t files = group_number(root, folder, "memory.stat", names->inactive) +
                     group_number(root, folder, "memory.stat", names->active);
    used -= min_u64(files, used);
    return limit > used ? limit - used : 1;
}

/* Returns the processors whose time one group may take, begun ones, too; UINT64_MAX likewise. */
static uint64_t group_processors(const char *root, const char *folder, int version)
{
    char path[PATH_BYTES];
    uint64_t quota = group_number(root, folder, "cpu.cfs_quota_us", NULL);
    uint64_t period = group_number(root, folder, "cpu.cfs_period_us", NULL);
    int length = snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = version == 2 && length > 0 && (size_t)length < sizeof path
                     ? machine_open(root, path)
                     : NULL;
    if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &quota, &period) != 2) {
        quota = 0; /* "max" */
    }
    text_close(file);
    /* -1 means no quota in version 1. */
    return quota > 0 && quota < INT64_MAX && period > 0 ? ceil_div_u64(quota, period) : UINT64_MAX;
}

/* Where a hierarchy is mounted, and which group is at its top there: a container may see a part. */
struct group_mount {
    char root[PATH_BYTES], folder[PATH_BYTES];
};

/* Returns whether a list has a word: "memory" in "rw,memory". */
static int machine_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || strchr(",\n", at[length]))) {
            return 1;
        }
    }
    return 0;
}

/* "32 31 0:35 /root /mount/point rw - cgroup cgroup rw,memory", perhaps with more before the "-".
 */
static int group_find_mount(const char *root, int version, const char *controller,
                            struct group_mount *out)
{
    char line[LINE_BYTES];
    char type[LINE_BYTES];
    char options[LINE_BYTES];
    int found = 0;
    FILE *file = machine_open(root, "/proc/self/mountinfo");
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *rest = strstr(line, " - ");
        found =
            rest && sscanf(line, "%*s %*s %*s %4095s %4095s", out->root, out->folder) == 2 &&
            sscanf(rest, " - %4095s %*s %4095s", type, options) == 2 &&
            (version == 2 ? strcmp(type, "cgroup2") == 0
                          : strcmp(type, "cgroup") == 0 && machine_has_word(options, controller));
    }
    text_close(file);
    return found;
}

/* Finds the control group of this process: "0::/a/b" of version 2, "4:memory:/a/b" of 1. */
static int group_find_path(const char *root, int version, const char *controller,
                           char path[PATH_BYTES])
{
    char line[LINE_BYTES];
    int found = 0;
    FILE *file = machine_open(root, "/proc/self/cgroup");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':');
        char *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        found = version == 2 ? names[1] == '\0' : machine_has_word(names + 1, controller);
        snprintf(path, PATH_BYTES, "%s", group);
    }
    text_close(file);
    return found;
}

/* The least that the group of this process and those around it leave. */
static uint64_t groups_least(const char *root, int version, const char *controller,
                             uint64_t (*left)(const char *root, const char *folder, int version))
{
    struct group_mount mount;
    char group[PATH_BYTES];
    char folder[2 * PATH_BYTES];
    if (!group_find_mount(root, version, controller, &mount) ||
        !group_find_path(root, version, controller, group)) {
        return UINT64_MAX;
    }
    size_t top = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
    int is_below =
        strncmp(group, mount.root, top) == 0 && (group[top] == '\0' || group[top] == '/');
    snprintf(folder, sizeof folder, "%s%s", mount.folder, is_below ? group + top : "");
    uint64_t least = UINT64_MAX;
    for (size_t length = strlen(folder); length >= strlen(mount.folder);) {
        while (length > 0 && folder[length - 1] == '/') {
            length--;
        }
        folder[length] = '\0';
        least = min_u64(least, left(root, folder, version));
        while (length > 0 && folder[length - 1] != '/') {
            length--;
        }
    }
    return least;
}

uint64_t machine_memory_left(const char *root)
{
    uint64_t kib = 0;
    uint64_t left = machine_number(root, "/proc/meminfo", "MemAvailable", &kib) ? kib * 1024 : 0;
    if (left > 0) {
        left = min_u64(left, groups_least(root, 1, "memory", group_left));
        left = min_u64(left, groups_least(root, 2, "memory", group_left));
    }
    return left;
}

uint64_t machine_processors(const char *root)
{
    return min_u64(groups_least(root, 1, "cpu", group_processors),
                   groups_least(root, 2, "cpu", group_processors));
}
