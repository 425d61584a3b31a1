/* Frames of a second, by the highest numbers of those that were seen. */
#include "input/format/vdif_count.h"

#include "base/units.h"

#include <stdlib.h>

static int vdif_count_by_time(const void *left, const void *right)
{
    const struct vdif_seen *a = left;
    const struct vdif_seen *b = right;
    int by_second = (a->second > b->second) - (a->second < b->second);
    return by_second ? by_second : (a->number > b->number) - (a->number < b->number);
}

static int vdif_count_by_thread(const void *left, const void *right)
{
    const struct vdif_seen *a = left;
    const struct vdif_seen *b = right;
    int by_thread = (a->thread > b->thread) - (a->thread < b->thread);
    return by_thread ? by_thread : vdif_count_by_time(left, right);
}

static void vdif_count_most(struct vdif_survey *survey, const struct vdif_seen *top)
{
    if (top->number >= survey->most.frames) {
        survey->most = (struct vdif_counted){top->number + 1, top->thread, top->second};
    }
}

/* A second of one thread, of which frames `first` .. `top` were seen, in order. */
static int vdif_count_is_dense(const struct vdif_seen *first, const struct vdif_seen *top)
{
    enum { LEAST = 4, OF = 16 /* up to one of these may be missing */ };
    uint32_t there = 1;
    for (const struct vdif_seen *at = first + 1; at <= top; at++) {
        there += at->number != at[-1].number;
    }
    return there >= LEAST && OF * there >= (OF - 1) * (top->number - first->number + 1);
}

/* It ends where the next second follows from frame 0 on, which lies at `top` + 1 (NULL: none is
 * seen), or where those of another thread go on, up to `last`. It proves how many frames the thread
 * has where the ended second that was counted before has as many. */
static void vdif_count_second(struct vdif_survey *survey, const struct vdif_seen *top,
                              const struct vdif_seen *next, const struct vdif_seen *last)
{
    int is_ended = next && next->second == top->second + 1 && next->number == 0;
    int is_passed = !next && last->second == top->second && last->number > top->number;
    struct vdif_counted now = {top->number + 1, top->thread, top->second};
    struct vdif_counted *before = &survey->before[top->thread];
    if ((is_ended || is_passed) && before->frames == now.frames && before->second != now.second &&
        (survey->fewest.frames == 0 || now.frames < survey->fewest.frames)) {
        survey->fewest = now;
    }
    *before = is_ended ? now : *before;
}

/* `last`: the latest frame. */
static void vdif_count_threads(struct vdif_survey *survey, struct vdif_seen *seen, size_t count,
                               const struct vdif_seen *last)
{
    size_t begin = 0;
    qsort(seen, count, sizeof *seen, vdif_count_by_thread);
    for (size_t end = 1; end <= count; end++) {
        const struct vdif_seen *top = seen + end - 1;
        int is_thread = end < count && seen[end].thread == top->thread;
        if (is_thread && seen[end].second == top->second) {
            continue;
        }
        if (vdif_count_is_dense(seen + begin, top)) {
            vdif_count_second(survey, top, is_thread ? seen + end : NULL, last);
        }
        begin = end;
    }
}

void vdif_count_seen(struct vdif_survey *survey, struct vdif_seen *seen, size_t count)
{
    enum { NEAR = 16 };
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        seen[i].second -= survey->ahead[seen[i].thread];
    }
    qsort(seen, count, sizeof *seen, vdif_count_by_time);
    for (size_t end = 1; end < count; end++) {
        if (seen[end].second == seen[begin].second) {
            continue;
        }
        size_t top = end - 1;
        while (top > begin && seen[top].number - seen[top - 1].number > NEAR) {
            top--;
        }
        if (seen[end].second == seen[begin].second + 1 && (top > begin || seen[top].number == 0)) {
            vdif_count_most(survey, &seen[top]);
        }
        begin = end;
    }
    if (count > 0) {
        struct vdif_seen last = seen[count - 1];
        vdif_count_threads(survey, seen, count, &last);
    }
}

int vdif_is_counted(double frames, uint32_t counted)
{
    enum { LEAST_LOST = 8 };
    uint32_t lost = counted / 16 > LEAST_LOST ? counted / 16 : LEAST_LOST;
    return counted == 0 || (frames >= counted && frames <= counted + lost);
}

/* "thread 1 has 80 frames in the second from 2014-01-01T00:16:42.000000 on" */
static status_t vdif_count_describe(const struct vdif_counted *counted, struct text *out)
{
    char start[UNITS_TEXT];
    return text_add(out, "thread %u has %u frames in the second from %s on", counted->thread,
                    counted->frames,
                    units_utc(utc_add(vdif_epoch_utc(0), (double)counted->second), start));
}

/* The last frames of seconds may be lost, but hardly all but one of two or more equal parts. */
status_t vdif_count_check(const struct vdif_survey *survey, const char *path)
{
    status_t st = STATUS_OK;
    struct text few = {0};
    struct text most = {0};
    const struct vdif_counted *fewest = &survey->fewest;
    if (fewest->frames == 0 || fewest->frames >= survey->most.frames ||
        (vdif_is_counted(survey->most.frames, fewest->frames) &&
         survey->most.frames % fewest->frames != 0)) {
        goto out;
    }
    TRY(vdif_count_describe(fewest, &few));
    TRY(vdif_count_describe(&survey->most, &most));
    FAIL(STATUS_DATA,
         "%s: %s, as in another one, but %s: its frames are of two sample rates; "
         "input.layout.sample_rate_hz says the rate of all, at which the others are lost",
         path, few.data, most.data);
out:
    text_free(&few);
    text_free(&most);
    return st;
}
