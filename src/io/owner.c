/* Who owns a file, its folders and its links, and who else may write them. */
#include "io/owner.h"

#include "io/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OTHERS = S_IWGRP | S_IWOTH };

static int owner_is_alone_mine(const struct stat *info, char why[OWNER_WORDS])
{
    if (info->st_uid != geteuid()) {
        snprintf(why, OWNER_WORDS, "belongs to another user (%lu)", (unsigned long)info->st_uid);
        return 0;
    }
    if (info->st_mode & OTHERS) {
        snprintf(why, OWNER_WORDS, "can be written by others (mode %04o): chmod go-w mends it",
                 (unsigned)info->st_mode & 07777);
        return 0;
    }
    return 1;
}

int owner_is_entry_mine(const struct stat *info, char why[OWNER_WORDS])
{
    if (!S_ISREG(info->st_mode)) {
        snprintf(why, OWNER_WORDS, "is %s, no ordinary file",
                 S_ISLNK(info->st_mode) ? "a link" : "something else");
        return 0;
    }
    return owner_is_alone_mine(info, why);
}

int owner_is_mine(int fd, char why[OWNER_WORDS])
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        snprintf(why, OWNER_WORDS, "cannot be looked at: %s", strerror(errno));
        return 0;
    }
    return owner_is_alone_mine(&info, why);
}

static int owner_is_somebody_elses(const struct stat *info)
{
    return info->st_uid != geteuid() && info->st_uid != 0;
}

/* Whether anybody may replace what is in the folder. */
static int owner_is_open(const struct stat *info)
{
    return info->st_mode & S_IWOTH && !(info->st_mode & S_ISVTX);
}

/* The folder of a file; for free(), or NULL. */
static char *owner_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

int owner_is_path_mine(const char *path, char why[OWNER_WORDS])
{
    struct stat info;
    int is_safe = 1;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && owner_is_somebody_elses(&info)) {
        snprintf(why, OWNER_WORDS, "is a link of another user (%lu)", (unsigned long)info.st_uid);
        return 0;
    }
    char *way = realpath(path, NULL);
    char *end = way ? strrchr(way, '/') : NULL;
    while (is_safe && end) {
        end[end == way] = '\0'; /* "/" stays */
        is_safe = stat(way, &info) == 0 && !owner_is_open(&info);
        end = end == way ? NULL : strrchr(way, '/');
    }
    if (!is_safe) {
        snprintf(why, OWNER_WORDS, "lies in a folder in which anybody may replace it (%.64s)", way);
    }
    free(way);
    return is_safe;
}

/* One name of those that lead to a file, link by link. */
int owner_may_be_used(const char *path, char why[OWNER_WORDS])
{
    struct stat info;
    struct stat above;
    char *folder = owner_folder_of(path);
    int is_public = folder && stat(folder, &above) == 0 && above.st_mode & S_IWOTH;
    free(folder);
    if (lstat(path, &info) != 0) {
        int reason = errno;
        snprintf(why, OWNER_WORDS, "cannot be looked up: %s", strerror(reason));
        return file_is_absent(reason);
    }
    if (S_ISLNK(info.st_mode)) {
        snprintf(why, OWNER_WORDS, "is a link of another user (%lu)", (unsigned long)info.st_uid);
        return !owner_is_somebody_elses(&info);
    }
    if (S_ISREG(info.st_mode) && info.st_mode & S_IWOTH) {
        snprintf(why, OWNER_WORDS, "can be written by anybody (mode %04o): chmod o-w mends it",
                 (unsigned)info.st_mode & 07777);
        return 0;
    }
    snprintf(why, OWNER_WORDS, "belongs to another user (%lu), in a folder for all",
             (unsigned long)info.st_uid);
    return !is_public || !owner_is_somebody_elses(&info);
}
