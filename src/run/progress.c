#include "run/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

double progress_now(void)
{
    return clock_now();
}

void progress_begin(struct progress *progress)
{
    progress->started = progress->shown = progress_now();
    progress->drawn = 0;
}

enum { RATE = 32 };

/* Nothing of bytes that nobody counts. */
static void say_rate(const char *what, double rate, char out[RATE])
{
    if (rate > 0) {
        snprintf(out, RATE, ", %s %.0f MB/s", what, rate / 1e6);
    }
}

void progress_show(struct progress *progress, uint64_t done)
{
    enum { LINE = 160 };
    int in_place = progress->every <= 0;
    double now = progress_now();
    if (in_place && !isatty(STDERR_FILENO)) {
        return;
    }
    if (now - progress->shown < (in_place ? 0.5 : progress->every) || done == 0) {
        return;
    }
    progress->shown = now;
    uint64_t all = progress->before + done;
    double part = (double)done / (double)progress->total;
    double seconds = now - progress->started;
    double left = seconds * (double)(progress->total - all) / (double)done;
    char line[LINE];
    char in[RATE] = "";
    char out[RATE] = "";
    say_rate("in", (double)progress->in_bytes * part / seconds, in);
    say_rate("out", (double)progress->out_bytes * part / seconds, out);
    snprintf(line, sizeof line, "%llu/%llu %s (%.1f %%)%s%s, %.0f s left", (unsigned long long)all,
             (unsigned long long)progress->total, progress->what,
             100 * (double)all / (double)progress->total, in, out, left);
    if (in_place) {
        fprintf(stderr, "\r%-78s", line);
        progress->drawn = 1;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn) {
        fprintf(stderr, "\r%-78s\r", "");
        fflush(stderr);
    }
}
