/* Files that the job describes. Input: overrides of the job, one a line, an empty line, then the
 * file's bytes. A further override may name the file twice: two files are joined. */
#include "fuzz.h"

#include <string.h>

enum { MOST_SETS = 16 };

static const char job[] = "input: {files: " FUZZ_ARCHIVE "}\n"
                          "channelise: {channels: 16}\n"
                          "products: [{kind: spectra, file: out.h5}]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memmem(data, size, "\n\n", 2) : NULL;
    if (!end) {
        return 0;
    }
    const char *sets[MOST_SETS];
    uint32_t nsets = 0;
    char *text = fuzz_text(data, (size_t)(end - data));
    for (char *line = strtok(text, "\n"); line && nsets < MOST_SETS; line = strtok(NULL, "\n")) {
        /* Only the files in memory are used here. */
        int is_input = strncmp(line, "input.layout", 12) == 0 ||
                       strncmp(line, "input.select", 12) == 0 ||
                       strcmp(line, "input.files=[" FUZZ_ARCHIVE ", " FUZZ_ARCHIVE "]") == 0;
        if (is_input) {
            sets[nsets++] = line;
        }
    }
    size_t head = (size_t)(end - data) + 2;
    fuzz_archive(job, sets, nsets, data + head, size - head);
    free(text);
    return 0;
}
