/* The files of an archive, as they were when it was planned. Rank 0 records their identities and
 * sends them to the others; readers check that a file has not changed. */
#ifndef VOLTMILL_INPUT_HDF5_SOURCES_H
#define VOLTMILL_INPUT_HDF5_SOURCES_H

#include "io/file_rights.h"
#include "io/pack.h"

/* How the bytes of a part of an observation are reached: settled once, when it is opened. */
enum reach {
    REACH_HDF5,    /* by HDF5: chunks, filters, odd types, samples cut by the ends of files */
    REACH_PIECES,  /* in place: read, mapped or ingested as they are */
    REACH_PACKETS, /* by the headers of packets */
    REACH_TABLE    /* row by row of a filterbank's table */
};

/* Ways that lead to a file. */
enum source_kind { SOURCE_NAMED, SOURCE_LINKED, SOURCE_EXTERNAL, SOURCE_VIRTUAL };

struct archive_source {
    char *path;
    struct identity identity;
    enum source_kind kind;
    char *from; /* the file that names it first; NULL: the job does */
};

struct sources {
    struct archive_source *items; /* by path, each once */
    uint32_t count;
};

/* Adds the file at `path` to the list unless it is there; texts are copied; `from` is the file that
 * names it (NULL: the job). Records its identity, but does not open it. Fails with DATA if it is
 * missing, cannot be looked up or is no ordinary file; with DEVICE (memory), and adds none. */
status_t sources_add(struct sources *sources, const char *path, enum source_kind kind,
                     const char *from);

/* Returns the source of that path, inside the list; NULL if there is none. */
const struct archive_source *sources_find(const struct sources *sources, const char *path);

/* sources_check_open(): checks that the file at `path` (fd: where it is open, or -1) has not
 * changed since it was added. sources_check(): checks all files of the list. Fail with DATA, naming
 * the file, if it has changed, is missing, or was never added. */
status_t sources_check_open(const struct sources *sources, const char *path, int fd);
status_t sources_check(const struct sources *sources);

/* Finds the cause of a read of the file `path`, open as `fd`, that failed with DATA and recorded a
 * cause in this thread. Always fails. If the file has changed, fails with DATA and that cause. If
 * it has not, fails with DATA and the cause as before, and sets *is_unreadable to 1 (else it is
 * unchanged). Fails with DEVICE (memory). */
status_t sources_judge(const struct sources *sources, const char *path, int fd, int *is_unreadable);

/* Bytes of a dataset, in order, that are in one piece of one file. */
struct archive_extent {
    char *path;
    uint64_t file_offset;
    uint64_t bytes;
};

/* Files and sources of a dataset's elements: found when planning, needed for reading. */
struct storage {
    struct sources sources; /* every file */
    char **absent; /* sources of virtual datasets that have no samples: file, line end, dataset */
    uint32_t nabsent;
};

/* Missing samples (or rows): never written or unreadable, and why. */
struct lost_range {
    uint64_t first, count; /* first: for compare_u64() */
    char *why;
};

/* Ascending and disjoint, once lost_join() has made them so. */
struct lost_list {
    struct lost_range *items;
    uint32_t count;
};

/* Returns the index of the first of `ranges` [count] that ends after `at`; `count` if there is
 * none. They are ascending and disjoint. Each has `size` bytes and begins with two uint64_t: its
 * first number, and how many numbers it has. */
size_t ranges_after(const void *ranges, size_t count, size_t size, uint64_t at);

/* Returns the first range of the list (after lost_join()) that has some of `count` elements from
 * `first` on, inside the list; NULL: none. */
const struct lost_range *lost_find(const struct lost_list *list, uint64_t first, uint64_t count);

/* Fails with DATA if one of `count` elements from `first` on is in the list (after lost_join()).
 * The message names the elements as `what` ("samples") of `name` (a file or dataset), and the
 * reason. */
status_t lost_refuse(const struct lost_list *list, const char *name, const char *what,
                     uint64_t first, uint64_t count);

/* Returns the bytes of all files of the list together, as they were when they were added. */
uint64_t sources_bytes(const struct sources *sources);

/* Frees all that a storage points to, and leaves {0}. */
void storage_free(struct storage *storage);

/* How they are packed (io/pack.h); a struct storage as members of another struct. */
extern const struct pack_type archive_source_type, archive_extent_type, lost_range_type;
#define PACK_LOST(type, member) PACK_LIST(type, member.items, member.count, &lost_range_type)
#define PACK_STORAGE(type, storage)                                                                \
    PACK_LIST(type, storage.sources.items, storage.sources.count, &archive_source_type),           \
        PACK_LIST(type, storage.absent, storage.nabsent, &pack_texts)

/* Allows all files, as an entry of the list. */
#define EXTERNAL_ALLOW "allow"

/* Files and folders that are allowed, or EXTERNAL_ALLOW. */
struct external_list {
    const char *const *items;
    uint32_t count;
};
/* Values for `option`: the setting of a job, and the option of a command that reads a file. */
#define JOB_EXTERNAL "input.external: allow, or a list of files and folders"
#define EXTERNAL_OPTION "--external allow, or a file or folder"
/* Checks that each file of external storage among the sources is where it may be, all links
 * resolved. It may be in the folder, or below it, of `path`, the file that the user named, or of
 * the file to which that is a link. It may also be where `list` allows: files, folders, or
 * EXTERNAL_ALLOW. Fails with USAGE, naming the files and `option`, which would allow them; with
 * DATA when one is missing, or was replaced; with DEVICE (memory). */
status_t external_check(const struct sources *sources, const char *path, struct external_list list,
                        const char *option);

#endif
