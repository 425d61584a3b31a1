/* Keys are found in the message that says what is missing. */
#include "input/propose/propose_said.h"

#include "input/propose/propose_parts.h"

#include <string.h>
#include <sys/stat.h>

status_t propose_said(const char *path, const char *format, const char *message, struct text *out)
{
    static const struct {
        const char *named, *line;
    } keys[] = {
        {"sample_rate_hz", "sample_rate_hz: ???  # Hz, of one stream"},
        {"freq_hz", "freq_hz: ???  # Hz, centre of each coarse channel: a list, or {start: HZ, "
                    "step: HZ}"},
        {"start,", "start: ???  # UTC of the first sample"},
        {"input.layout.station", "station: ???  # one of the two"},
    };
    enum { SAMPLE_BYTES = 64 }; /* of all streams, at a guess: so small files have few channels */
    status_t st = STATUS_OK;
    struct stat file = {.st_size = 0};
    uint64_t bytes = stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
    TRY(propose_add_input(path, out));
    TRY(text_add(out, "    format: %s\n", format));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        TRY(strstr(message, keys[i].named) ? text_add(out, "    %s\n", keys[i].line) : STATUS_OK);
    }
    TRY(propose_add_passes(path, bytes / SAMPLE_BYTES, 1, 0, out));
out:
    return st;
}
