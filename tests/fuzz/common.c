#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int outside = -1;
static int inside = -1;

void fuzz_enter_folder(void)
{
    if (inside < 0) {
        char folder[256];
        const char *above = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/voltmill-fuzz.XXXXXX", above ? above : "/dev/shm");
        EXPECT(mkdtemp(folder));
        outside = open(".", O_RDONLY | O_DIRECTORY);
        inside = open(folder, O_RDONLY | O_DIRECTORY);
    }
    EXPECT(fchdir(inside) == 0);
}

void fuzz_leave_folder(void)
{
    EXPECT(fchdir(outside) == 0);
}

int fuzz_expect_cause(status_t st)
{
    if (getenv("FUZZ_SAY")) {
        fprintf(stderr, "status %d: %s\n", (int)st, report_cause());
    }
    EXPECT(report_cause_status() == st);
    EXPECT((st == STATUS_OK) == (report_cause()[0] == '\0'));
    int is_hdf5 = strstr(report_cause(), "(HDF5: ") != NULL;
    report_clear();
    return is_hdf5;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) {
        abort();
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}
