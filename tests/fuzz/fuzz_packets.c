/* Files that may hold a recorder's packets. Input: a byte that chooses the description, then the
 * file's bytes. */
#include "fuzz.h"

#define JOB(layout)                                                                                \
    "input: {files: " FUZZ_ARCHIVE ", layout: " layout "}\n"                                       \
    "channelise: {channels: 16}\n"                                                                 \
    "products: [{kind: spectra, file: out.h5}]\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const jobs[] = {
        JOB("{format: vdif, freq_hz: {start: 1e6, step: 1e6}}"),
        JOB("{format: vdif, sample_rate_hz: 640, dc: lower, freq_hz: {start: 1e6, step: 1e6}}"),
        JOB("{format: vdif, sample_rate_hz: 640, station: Ef, streams: [{thread: 1, pol: X, "
            "freq_hz: 1e6, sideband: -1}, {pol: Y, freq_hz: 1e6, dc: upper}]}"),
        JOB("{format: drx}"),
    };
    if (size > 0) {
        fuzz_archive(jobs[data[0] % (sizeof jobs / sizeof *jobs)], NULL, 0, data + 1, size - 1);
    }
    return 0;
}
