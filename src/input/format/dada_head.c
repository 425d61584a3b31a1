/* PSRDADA: the text of a header. Its keys are in capitals, but some writers use lower case. */
#include "input/format/dada.h"

#include "input/assumed.h"
#include "input/format/recorder.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const dada_keys[] = {"HDR_SIZE",
                                        "HDR_VERSION",
                                        "NBIT",
                                        "NDIM",
                                        "NPOL",
                                        "NCHAN",
                                        "TSAMP",
                                        "FREQ",
                                        "BW",
                                        "UTC_START",
                                        "MJD_START",
                                        "PICOSECONDS",
                                        "OBS_OFFSET",
                                        "OBS_OVERLAP",
                                        "FILE_SIZE",
                                        "STATE",
                                        "OS_FACTOR",
                                        "DSB",
                                        "ENCODING",
                                        "ENDIAN",
                                        "ORDER",
                                        "NANT",
                                        "INSTRUMENT",
                                        "NBEAM",
                                        "FILE_NUMBER",
                                        "TRANSFER_SIZE",
                                        "TELESCOPE",
                                        "SOURCE",
                                        "BYTES_PER_SECOND",
                                        "RESOLUTION",
                                        "RA",
                                        "DEC"};
enum { DADA_KEYS = sizeof dada_keys / sizeof *dada_keys };

/* The key that a line begins with in another case; NULL: none. */
static const char *dada_key_of(const char *line, size_t length)
{
    for (size_t i = 0; i < DADA_KEYS; i++) {
        size_t size = strlen(dada_keys[i]);
        if (size < length && (line[size] == ' ' || line[size] == '\t') &&
            strncasecmp(line, dada_keys[i], size) == 0 && memcmp(line, dada_keys[i], size) != 0) {
            return dada_keys[i];
        }
    }
    return NULL;
}

status_t dada_head(const char *path, size_t most, struct text *out, char **assumed)
{
    status_t st = STATUS_OK;
    char value[ASCII_VALUE];
    struct text changed = {0};
    TRY(recorder_head(path, most, out));
    const struct ascii header = {path, 0, out->data, out->length, 0};
    const char *end = out->data + out->length;
    for (char *line = out->data; line < end;) {
        char *feed = memchr(line, '\n', (size_t)(end - line));
        const char *key = dada_key_of(line, (size_t)((feed ? feed : end) - line));
        if (key && !ascii_find(&header, key, value)) {
            TRY(text_add(&changed, "%s%.*s", changed.length > 0 ? ", " : "", (int)strlen(key),
                         line));
            memcpy(line, key, strlen(key));
        }
        line = feed ? feed + 1 : out->data + out->length;
    }
    if (changed.length > 0 && assumed) {
        TRY(assume(assumed, "keys that PSRDADA has in capitals are in lower case, and read: %s",
                   changed.data));
    }
out:
    text_free(&changed);
    return st;
}
