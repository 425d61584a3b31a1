/* External storage: a dataset may name any file, of any format, as the place of its bytes. So what
 * an archive from elsewhere holds could be the contents of any file that its reader may read. */
#ifndef VOLTMILL_ARCHIVE_STORAGE_EXTERNAL_H
#define VOLTMILL_ARCHIVE_STORAGE_EXTERNAL_H

#include "input/hdf5/sources.h"

/* Allows all files, as an entry of the list. */
#define EXTERNAL_ALLOW "allow"

/* Checks that each file of external storage lies where it may, all links resolved: in the folder of
 * `path`, the file that the user named, or of the file to which that is a link, or below; or that a
 * list allows it, which names files, folders, or says EXTERNAL_ALLOW. Fails with USAGE, naming the
 * files and `option`, which would allow them; with DATA when one is not what it was. */
struct external_list {
    const char *const *items;
    uint32_t count;
};
/* Values for `option`: the setting of a job, and the option of a command that reads a file. */
#define JOB_EXTERNAL "input.external: allow, or a list of files and folders"
#define EXTERNAL_OPTION "--external allow, or a file or folder"
status_t external_check(const struct sources *sources, const char *path, struct external_list list,
                        const char *option);

#endif
