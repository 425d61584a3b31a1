/* The line: whether it is time for one, and what it says. */
#include "ranks/progress.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/launch.h"

#include <stdio.h>
#include <sys/ioctl.h>
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
    progress->done = progress->before;
    progress->changed = progress->started;
}

enum { LINE = 160, RATE = 32 };

/* Writes a rate, or nothing if bytes are not counted. */
static void progress_say_rate(const char *what, double rate, char out[RATE])
{
    if (rate > 0) {
        snprintf(out, RATE, ", %s %.0f MB/s", what, rate / 1e6);
    }
}

/* Returns the characters that fit a line of the terminal. The last column stays free, because a
 * line that wraps cannot be redrawn. */
static size_t progress_width(void)
{
    struct winsize size = {0};
    int is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return min_u64(is_known ? size.ws_col - 1U : LINE - 1, LINE - 1);
}

/* Seconds until all is done, as fast as it went until the last change. While nothing changes they
 * become fewer, but not less than half, nor than one. Below 0: nothing is done yet. */
static double progress_seconds_left(const struct progress *progress, double now)
{
    double made = (double)progress->done - (double)progress->before;
    double left = (double)(progress->total - min_u64(progress->done, progress->total));
    if (left <= 0) {
        return 0;
    }
    if (made <= 0) {
        return -1;
    }
    double seconds = left * (progress->changed - progress->started) / made;
    double since = now - progress->changed;
    seconds = since < seconds / 2 ? seconds - since : seconds / 2;
    return seconds > 1 ? seconds : 1;
}

/* "12/40 chunks (30.0 %), in 100 MB/s, 7 s left", without rates if that is too long. */
static void progress_write(const struct progress *progress, double now, size_t width,
                           char line[LINE])
{
    double made = (double)progress->done - (double)progress->before;
    double speed = progress->changed > progress->started && made > 0
                       ? made / (double)progress->total / (progress->changed - progress->started)
                       : 0;
    double left = progress_seconds_left(progress, now);
    char count[LINE];
    char in[RATE] = "";
    char out[RATE] = "";
    char rest[LINE] = "";
    snprintf(count, sizeof count, "%llu/%llu %s (%.1f %%)", (unsigned long long)progress->done,
             (unsigned long long)progress->total, progress->what,
             100 * (double)progress->done / (double)progress->total);
    progress_say_rate("in", (double)progress->in_bytes * speed, in);
    progress_say_rate("out", (double)progress->out_bytes * speed, out);
    if (left <= 0 && progress->done >= progress->total && progress->rest) {
        snprintf(rest, sizeof rest, ", %s", progress->rest);
    } else if (left >= 0) {
        snprintf(rest, sizeof rest, ", %.0f s left", left);
    }
    int length = snprintf(line, LINE, "%s%s%s%s", count, in, out, rest);
    if (length > (int)width) {
        snprintf(line, width + 1, "%s%s", count, rest);
    }
}

void progress_show(struct progress *progress, uint64_t done)
{
    double now = clock_now();
    char line[LINE];
    if (done != progress->done) {
        progress->done = done;
        progress->changed = now;
    }
    if (progress->pause <= 0 || now - progress->shown < progress->pause || !report_is_read(0)) {
        return;
    }
    size_t width = progress->is_in_place ? progress_width() : LINE - 1;
    progress->shown = now;
    progress_write(progress, now, width, line);
    if (progress->is_in_place) {
        size_t length = strlen(line);
        size_t before = (size_t)min_u64(progress->drawn, width);
        fprintf(stderr, "\r%s%*s", line, before > length ? (int)(before - length) : 0, "");
        progress->drawn = length;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn && report_is_read(0)) {
        fprintf(stderr, "\r%*s\r", (int)min_u64(progress->drawn, progress_width()), "");
        progress->drawn = 0;
        fflush(stderr);
    }
}
