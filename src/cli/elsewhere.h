/* Files that are outside the folder of the archive that leads to them: it may name any file that
 * its reader can open. `plan` and `info` list them, by where they really are. */
#ifndef VOLTMILL_CLI_ELSEWHERE_H
#define VOLTMILL_CLI_ELSEWHERE_H

#include "base/json.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"

/* Prints the files of an open archive that are outside the folder of the file that leads to them,
 * on stdout, by their real paths, once each, with the file that leads to them; of a folder the
 * first five, and the number of the others. Prints nothing if there is none. Files that are gone
 * are ignored. With `json` (else NULL), appends all of them to its open object instead, as the list
 * "elsewhere", which may be empty. Fails with DEVICE (memory). */
status_t elsewhere_of_archive(const struct archive *archive, struct json *json);
/* Does for an open filterbank what elsewhere_of_archive() does for an archive: prints its files
 * that are outside the folder of the file that leads to them on stdout; or, with `json` (else
 * NULL), appends them to its open object. Fails with DEVICE (memory). */
status_t elsewhere_of_filterbank(const struct fbh5 *fbh5, struct json *json);

#endif
