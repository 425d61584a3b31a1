/* The line: whether it is time for one, and what it says. */
#include "ranks/progress.h"

#include "base/clock.h"
#include "io/apart/launch.h"

#include <stdio.h>
#include <unistd.h>

static const double redraw_seconds = 0.5;
/* Rare enough for the log of a batch job; a short run says nothing. */
static const double launched_seconds = 30;

void progress_begin(struct progress *progress)
{
    progress->started = progress->shown = clock_now();
    progress->is_in_place = progress->every <= 0 && isatty(STDERR_FILENO);
    progress->pause = progress->every > 0     ? progress->every
                      : progress->is_in_place ? redraw_seconds
                      : launch_is_used()      ? launched_seconds
                                              : 0;
    progress->drawn = 0;
}

enum { RATE = 32 };

/* Nothing of bytes that nobody counts. */
static void progress_say_rate(const char *what, double rate, char out[RATE])
{
    if (rate > 0) {
        snprintf(out, RATE, ", %s %.0f MB/s", what, rate / 1e6);
    }
}

void progress_show(struct progress *progress, uint64_t done)
{
    enum { LINE = 160 };
    double now = clock_now();
    if (progress->pause <= 0 || now - progress->shown < progress->pause || done == 0) {
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
    progress_say_rate("in", (double)progress->in_bytes * part / seconds, in);
    progress_say_rate("out", (double)progress->out_bytes * part / seconds, out);
    snprintf(line, sizeof line, "%llu/%llu %s (%.1f %%)%s%s, %.0f s left", (unsigned long long)all,
             (unsigned long long)progress->total, progress->what,
             100 * (double)all / (double)progress->total, in, out, left);
    if (progress->is_in_place) {
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
