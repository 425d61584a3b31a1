/* Files that may say that they are in the native layout. Input: the file's bytes. */
#include "fuzz.h"

static const char job[] = "input: {files: " FUZZ_ARCHIVE "}\n"
                          "channelise: {channels: 16}\n"
                          "products: [{kind: spectra, file: out.h5}]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_archive(job, NULL, 0, data, size);
    return 0;
}
