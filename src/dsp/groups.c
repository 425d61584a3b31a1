/* Groups of peaks: each peak points to one before it of its group, the first of all to itself. */
#include "dsp/groups.h"

#include "base/memory.h"

#include <stdlib.h>

enum { NEAR_DMS = 2, FAR_DMS = 32 };

struct linking {
    const struct burst *bursts;
    size_t *of;     /* [count] */
    size_t *begins; /* [ndms + 1] the first of each DM */
    const uint32_t *spans;
    uint32_t ndms;
};

static size_t groups_root(size_t *of, size_t i)
{
    while (of[i] != i) {
        of[i] = of[of[i]];
        i = of[i];
    }
    return i;
}

static void groups_join(size_t *of, size_t a, size_t b)
{
    a = groups_root(of, a);
    b = groups_root(of, b);
    if (a < b) {
        of[b] = a;
    } else {
        of[a] = b;
    }
}

static int groups_are_near(const struct burst *a, const struct burst *b, uint32_t steps,
                           uint32_t smear)
{
    uint32_t reach = a->width > b->width ? a->width : b->width;
    uint64_t a_end = (uint64_t)a->first + a->width;
    uint64_t b_end = (uint64_t)b->first + b->width;
    return (steps <= NEAR_DMS || smear <= reach) && a->first <= b_end + reach &&
           b->first <= a_end + reach;
}

/* Links the bursts of one DM to those of another, or to each other; `widest` is the longest box. */
static void groups_link(struct linking *l, uint32_t dm, uint32_t other, uint32_t widest)
{
    uint32_t smear = l->spans[other] - l->spans[dm];
    size_t low = l->begins[other];
    for (size_t i = l->begins[dm]; i < l->begins[dm + 1]; i++) {
        const struct burst *a = &l->bursts[i];
        uint64_t end = (uint64_t)a->first + a->width + widest;
        while (low < l->begins[other + 1] &&
               (uint64_t)l->bursts[low].first + 2 * (uint64_t)widest < a->first) {
            low++;
        }
        for (size_t j = low; j < l->begins[other + 1] && l->bursts[j].first <= end; j++) {
            if (i != j && groups_are_near(a, &l->bursts[j], other - dm, smear)) {
                groups_join(l->of, i, j);
            }
        }
    }
}

static void groups_link_all(struct linking *l, size_t count)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        widest = l->bursts[i].width > widest ? l->bursts[i].width : widest;
    }
    for (uint32_t dm = 0; dm < l->ndms; dm++) {
        if (l->begins[dm] == l->begins[dm + 1]) {
            continue;
        }
        for (uint32_t other = dm; other < l->ndms && other - dm <= FAR_DMS; other++) {
            if (other - dm > NEAR_DMS && l->spans[other] - l->spans[dm] > widest) {
                break;
            }
            groups_link(l, dm, other, widest);
        }
    }
}

static void groups_add(struct burst_group *group, const struct burst *burst)
{
    uint64_t end = (uint64_t)burst->first + burst->width;
    if (group->members == 0) {
        *group = (struct burst_group){*burst, 0, burst->dm, burst->dm, burst->first, end};
    }
    group->best = burst->snr > group->best.snr ? *burst : group->best;
    group->most_dm = burst->dm > group->most_dm ? burst->dm : group->most_dm;
    group->first = min_u64(group->first, burst->first);
    group->end = max_u64(group->end, end);
    group->members++;
}

static int groups_compare(const void *left, const void *right)
{
    const struct burst *a = &((const struct burst_group *)left)->best;
    const struct burst *b = &((const struct burst_group *)right)->best;
    uint64_t at = 2 * (uint64_t)a->first + a->width;
    uint64_t bt = 2 * (uint64_t)b->first + b->width;
    return at != bt ? (at > bt) - (at < bt) : (a->dm > b->dm) - (a->dm < b->dm);
}

/* The roots get the numbers of their groups; the peaks after them know their root by then. */
static status_t groups_gather(struct linking *l, size_t count, struct burst_group **out,
                              size_t *ngroups)
{
    status_t st = STATUS_OK;
    struct burst_group *groups = NULL;
    size_t found = 0;
    size_t *number = NULL;
    for (size_t i = 0; i < count; i++) {
        found += l->of[i] == i;
    }
    TRY_OUT(memory_zeroed(found, sizeof *groups, "candidates", &groups));
    TRY_OUT(memory_zeroed(count, sizeof *number, "candidates", &number));
    *ngroups = found;
    found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t root = groups_root(l->of, i);
        number[i] = root == i ? found++ : number[root];
        groups_add(&groups[number[i]], &l->bursts[i]);
    }
    qsort(groups, found, sizeof *groups, groups_compare);
    *out = memory_move(&groups);
out:
    free(groups);
    free(number);
    return st;
}

status_t burst_groups_find(const struct burst *bursts, size_t count, const uint32_t *spans,
                           uint32_t ndms, struct burst_group **out, size_t *ngroups)
{
    status_t st = STATUS_OK;
    struct linking l = {.bursts = bursts, .spans = spans, .ndms = ndms};
    TRY_OUT(memory_zeroed(count, sizeof *l.of, "candidates", &l.of));
    TRY_OUT(memory_zeroed((size_t)ndms + 1, sizeof *l.begins, "candidates", &l.begins));
    for (size_t i = 0; i < count; i++) {
        l.of[i] = i;
        l.begins[bursts[i].dm + 1]++;
    }
    for (uint32_t dm = 0; dm < ndms; dm++) {
        l.begins[dm + 1] += l.begins[dm];
    }
    groups_link_all(&l, count);
    TRY_OUT(groups_gather(&l, count, out, ngroups));
out:
    free(l.of);
    free(l.begins);
    return st;
}
