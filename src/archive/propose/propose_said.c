/* Keys are found in the message that says what is missing. */
#include "archive/propose/propose_said.h"

#include <string.h>

status_t propose_said(const char *path, const char *format, const char *message, struct text *out)
{
    static const struct {
        const char *named, *line;
    } keys[] = {
        {"sample_rate_hz", "sample_rate_hz: 1e6  # check: of one stream"},
        {"freq_hz", "freq_hz: {start: 1.4e9, step: 1e6}  # check: centres of coarse channels"},
        {"start,", "start: 2024-01-31T12:34:56.789  # check: UTC of the first sample"},
        {"input.layout.station", "station: XX  # check: one of the two"},
    };
    status_t st = STATUS_OK;
    TRY(text_add(out, "A job may begin so:\ninput:\n  files: %s\n  layout:\n    format: %s\n", path,
                 format));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        TRY(strstr(message, keys[i].named) ? text_add(out, "    %s\n", keys[i].line) : STATUS_OK);
    }
out:
    return st;
}
