/* Entries of the cache. Input: an entry's bytes; its key is "key". */
#include "fuzz.h"

#include "io/cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static char entry[64];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    report_quiet(1);
    fuzz_enter_folder();
    EXPECT(setenv("VOLTMILL_CACHE", "cache", 1) == 0);
    snprintf(entry, sizeof entry, "cache/kind-%016" PRIx64, cache_hash("key", 3));
    EXPECT(cache_put("kind", "key", "data", 4) && access(entry, F_OK) == 0);
    fuzz_leave_folder();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *out = NULL;
    size_t bytes = 0;
    fuzz_enter_folder();
    int fd = open(entry, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    EXPECT(cache_get("kind", "key", &out, &bytes) == STATUS_OK);
    /* The result is the end of the entry. */
    EXPECT(!out || (bytes <= size && memcmp(out, data + size - bytes, bytes) == 0));
    free(out);
    fuzz_leave_folder();
    return 0;
}
