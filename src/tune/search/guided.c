/* The guided search: what ranks first, then what is near the best. */
#include "base/memory.h"
#include "tune/search/search_parts.h"

#include <stdlib.h>

enum {
    SEEDS = 16,  /* it begins with */
    NEAR = 16,   /* tried around each good one */
    PATIENCE = 4 /* good ones around which nothing better was found, and it ends */
};

/* Whether number i, the first in rank of its value of parameter 0 or far enough from all chosen
 * before, is to be a seed. */
static int guided_is_seed(const struct tune_map *map, const uint32_t *list, uint32_t n, uint32_t i)
{
    uint32_t width = map->space->problem->nparameters;
    int is_first = 1;
    int is_far = 1;
    for (uint32_t k = 0; k < n; k++) {
        is_first &= map->steps[(size_t)i * width] != map->steps[(size_t)list[k] * width];
        is_far &= tune_distance(map, i, list[k]) > 1;
    }
    return is_first || (is_far && n < SEEDS);
}

static status_t guided_try_seeds(struct search *s, const struct tune_map *map)
{
    enum { MOST_SEEDS = 2 * SEEDS };
    uint32_t list[MOST_SEEDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count && n < MOST_SEEDS; i++) {
        if (guided_is_seed(map, list, n, i)) {
            list[n++] = i;
        }
    }
    return search_try_list(s, list, n);
}

struct neighbour {
    double score;
    uint32_t index;
};

static int guided_compare_neighbours(const void *left, const void *right)
{
    const struct neighbour *a = left;
    const struct neighbour *b = right;
    int order = (a->score > b->score) - (a->score < b->score);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* The untried ones near `centre`: one step away, or more if the model likes them. `room` has space
 * for all. */
static status_t guided_try_near(struct search *s, const struct tune_map *map, uint32_t centre,
                                struct neighbour *room)
{
    uint32_t list[NEAR];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count; i++) {
        if (s->outcome->results[i].state == TUNE_UNTRIED) {
            double far = 0.5 + 0.5 * tune_distance(map, centre, i);
            room[n++] = (struct neighbour){far * (s->space->costs ? s->space->costs[i] : 1), i};
        }
    }
    qsort(room, n, sizeof *room, guided_compare_neighbours);
    n = n < NEAR ? n : NEAR;
    for (uint32_t k = 0; k < n; k++) {
        list[k] = room[k].index;
    }
    return search_try_list(s, list, n);
}

/* None was right so far: the next ones in rank. *is_over is set when all were tried. */
static status_t guided_try_next(struct search *s, int *is_over)
{
    uint32_t list[SEEDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count && n < SEEDS; i++) {
        if (s->outcome->results[i].state == TUNE_UNTRIED) {
            list[n++] = i;
        }
    }
    *is_over = n == 0;
    return search_try_list(s, list, n);
}

/* The best one around which nothing was tried yet; count when there is none. */
static uint32_t guided_best_open(const struct search *s, const unsigned char *done)
{
    uint32_t best = s->space->count;
    for (uint32_t i = 0; i < s->space->count; i++) {
        const struct tune_result *r = &s->outcome->results[i];
        if (r->state == TUNE_OK && !done[i] &&
            (best == s->space->count || r->seconds < s->outcome->results[best].seconds)) {
            best = i;
        }
    }
    return best;
}

status_t search_guided(struct search *s)
{
    status_t st = STATUS_OK;
    struct tune_map map = {0};
    unsigned char *done = NULL;
    struct neighbour *room = NULL;
    TRY(tune_map_create(s->space, &map));
    TRY(memory_zeroed(s->space->count, 1, "configurations", &done));
    TRY(memory_zeroed(s->space->count, sizeof *room, "configurations", &room));
    TRY(guided_try_seeds(s, &map));
    for (int is_over = 0; s->outcome->ok == 0 && !is_over && search_goes_on(s);) {
        TRY(guided_try_next(s, &is_over));
    }
    for (int vain = 0; vain < PATIENCE && search_goes_on(s);) {
        uint32_t centre = guided_best_open(s, done);
        if (centre == s->space->count) {
            break;
        }
        double before = s->outcome->results[s->outcome->best].seconds;
        done[centre] = 1;
        TRY(guided_try_near(s, &map, centre, room));
        vain = s->outcome->results[s->outcome->best].seconds < 0.995 * before ? 0 : vain + 1;
    }
out:
    tune_map_free(&map);
    free(done);
    free(room);
    return st;
}
