/* Rates as entries of the cache folder, by problem and machine. */
#include "run/rate.h"

#include "base/text.h"
#include "io/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cache_kind[] = "rate";

static status_t rate_key(const char *problem, struct text *out)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1); /* "" is as good a name as any */
    return text_add(out, "voltmill %s on %s\n%s", VOLTMILL_VERSION, host, problem);
}

void rate_keep(const char *problem, double work, const struct rate *took)
{
    struct text key = {0};
    struct rate one;
    memset(&one, 0, sizeof one);
    one.seconds = took->seconds / work;
    one.ranks = took->ranks;
    one.threads = took->threads;
    if (work > 0 && rate_key(problem, &key) == STATUS_OK) {
        cache_put(cache_kind, key.data, &one, sizeof one);
    }
    report_clear();
    text_free(&key);
}

struct rate rate_expect(const char *problem, double work)
{
    struct rate found = {.seconds = 0};
    struct text key = {0};
    void *data = NULL;
    size_t size = 0;
    if (rate_key(problem, &key) == STATUS_OK &&
        cache_get(cache_kind, key.data, &data, &size) == STATUS_OK && data &&
        size == sizeof found) {
        char digits[32];
        memcpy(&found, data, size);
        snprintf(digits, sizeof digits, "%.2g", found.seconds * work);
        found.seconds = strtod(digits, NULL);
    }
    report_clear();
    free(data);
    text_free(&key);
    return found;
}
