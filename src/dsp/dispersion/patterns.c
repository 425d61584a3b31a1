/* Patterns are found level by level and group by group: one is known by those of its halves and the
 * shift between them, so a table of such triples, new for each group, is all that is searched. */
#include "dsp/dispersion/patterns.h"

#include "base/memory.h"

#include <stdlib.h>

/* A place of the table that finds patterns: of group number `group` if stamped so. */
struct pattern_slot {
    uint32_t stamp, pattern;
};

struct pattern_search {
    struct pattern_slot *slots; /* [mask + 1] */
    uint32_t mask, stamp, reach;
    uint32_t count;  /* patterns of the level */
    uint32_t *below; /* [groups below][ndms] which pattern a DM has, one level down */
};

static uint32_t patterns_groups(uint32_t rows)
{
    return rows / 2 + rows % 2;
}

/* Multiplication by odd constants near 2^32 / the golden ratio, as Knuth hashes. */
static uint32_t patterns_hash(const struct pattern *p)
{
    uint32_t h = p->left * 2654435769U ^ p->right * 2246822519U ^ (uint32_t)p->shift * 3266489917U;
    return h ^ h >> 15;
}

/* The number of this pattern of the group under way: a new one at the end where there is none. */
static status_t patterns_find(struct pattern_search *search, struct pattern_level *level,
                              const struct pattern *wanted, uint32_t *out)
{
    uint32_t at = patterns_hash(wanted) & search->mask;
    for (; search->slots[at].stamp == search->stamp; at = (at + 1) & search->mask) {
        struct pattern *known = &level->patterns[search->slots[at].pattern];
        if (known->left == wanted->left && known->right == wanted->right &&
            known->shift == wanted->shift &&
            wanted->least + (uint64_t)search->reach >= known->least &&
            wanted->least <= known->most + (uint64_t)search->reach) {
            known->least = wanted->least < known->least ? wanted->least : known->least;
            known->most = wanted->most > known->most ? wanted->most : known->most;
            *out = search->slots[at].pattern;
            return STATUS_OK;
        }
    }
    TRY(memory_grow(search->count, sizeof *level->patterns, "patterns of delays",
                    &level->patterns));
    level->patterns[search->count] = *wanted;
    search->slots[at] = (struct pattern_slot){search->stamp, search->count};
    *out = search->count++;
    return STATUS_OK;
}

/* Makes level number l. search->below becomes the pattern of this level that each DM has. */
static status_t patterns_make_level(struct patterns *p, struct pattern_search *search,
                                    const uint32_t *delays, uint32_t l)
{
    struct pattern_level *level = &p->levels[l];
    uint32_t nbelow = l > 0 ? p->levels[l - 1].ngroups : p->nrows;
    level->ngroups = patterns_groups(nbelow);
    search->count = 0;
    TRY(memory_zeroed((size_t)level->ngroups + 1, sizeof *level->first, "patterns", &level->first));
    for (uint32_t g = 0; g < level->ngroups; g++) {
        const uint32_t *left = search->below + (size_t)2 * g * p->ndms;
        const uint32_t *right = 2 * g + 1 < nbelow ? left + p->ndms : NULL;
        uint32_t *of = search->below + (size_t)g * p->ndms; /* never before what is still read */
        size_t row = (size_t)g << (l + 1);
        search->stamp++;
        for (uint32_t dm = 0; dm < p->ndms; dm++) {
            const uint32_t *delay = delays + (size_t)dm * p->nrows + row;
            uint32_t shift = right ? delay[(size_t)1 << l] - delay[0] : 0;
            struct pattern wanted = {left[dm], right ? right[dm] : PATTERN_NONE, (int32_t)shift,
                                     delay[0], delay[0]};
            TRY(patterns_find(search, level, &wanted, &of[dm]));
        }
        level->first[g + 1] = search->count;
    }
    return STATUS_OK;
}

SCOPED_CALLS(pattern_search_free, struct pattern_search, MEMORY_FREE(at->slots, at->below))

status_t patterns_create(const uint32_t *delays, uint32_t ndms, uint32_t nrows, uint32_t nlevels,
                         uint32_t reach, struct patterns *out)
{
    SCOPED(patterns_free) struct patterns p = {.ndms = ndms, .nrows = nrows, .nlevels = nlevels};
    SCOPED(pattern_search_free) struct pattern_search search = {.mask = 1, .reach = reach};
    while (search.mask < 2 * (uint64_t)ndms && search.mask < UINT32_MAX) {
        search.mask = 2 * search.mask + 1;
    }
    TRY(memory_zeroed((size_t)search.mask + 1, sizeof *search.slots, "patterns", &search.slots));
    TRY(memory_zeroed((size_t)nrows * ndms, sizeof *search.below, "patterns", &search.below));
    for (size_t i = 0; i < (size_t)nrows * ndms; i++) {
        search.below[i] = (uint32_t)(i / ndms);
    }
    for (uint32_t l = 0; l < nlevels; l++) {
        TRY(patterns_make_level(&p, &search, delays, l));
    }
    p.of = memory_move(&search.below);
    *out = p;
    p = (struct patterns){0};
    return STATUS_OK;
}

void patterns_free(struct patterns *patterns)
{
    for (uint32_t l = 0; l < PATTERN_LEVELS; l++) {
        MEMORY_FREE(patterns->levels[l].first, patterns->levels[l].patterns);
    }
    free(patterns->of);
    *patterns = (struct patterns){0};
}

/* Additions for one output sample of every DM when groups go up to level `level`: one for each
 * pattern of two halves up to there, and one for each group of each DM. Brute force takes
 * ndms * nrows. */
static uint64_t patterns_adds(const struct patterns *patterns, uint32_t level)
{
    uint64_t adds = (uint64_t)patterns->ndms * patterns->levels[level].ngroups;
    for (uint32_t l = 0; l <= level; l++) {
        const struct pattern_level *made = &patterns->levels[l];
        for (uint32_t i = 0; i < made->first[made->ngroups]; i++) {
            adds += made->patterns[i].right != PATTERN_NONE;
        }
    }
    return adds;
}

uint32_t patterns_best(const struct patterns *patterns, uint64_t *adds)
{
    uint32_t best = 0;
    *adds = patterns_adds(patterns, 0);
    for (uint32_t l = 1; l < patterns->nlevels; l++) {
        uint64_t here = patterns_adds(patterns, l);
        if (here < *adds) {
            *adds = here;
            best = l;
        }
    }
    return best;
}

status_t patterns_gain(const uint32_t *delays, uint32_t ndms, uint32_t nrows, uint32_t *group,
                       double *gain)
{
    SCOPED(patterns_free) struct patterns patterns = {0};
    uint64_t adds = 0;
    TRY(patterns_create(delays, ndms, nrows, PATTERN_LEVELS, UINT32_MAX, &patterns));
    *group = 2U << patterns_best(&patterns, &adds);
    *gain = (double)ndms * nrows / (double)adds;
    return STATUS_OK;
}
