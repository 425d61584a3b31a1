/* Packing blocks of pairs into work-groups: a group has room for some blocks of pairs, and for the
 * inputs of fewer. */
#include "compute/opencl/correlate_groups.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 4,     /* inputs */
    GROUP = 8,     /* blocks of inputs whose pairs make a whole group */
    WINDOW = 4096, /* blocks among which a group looks for its own */
    MOST_MEMBERS = 16
};

uint32_t correlate_groups_pairs(const struct correlate_spec *spec)
{
    return (BLOCK / spec->pols) * (BLOCK / spec->pols);
}

/* The smallest that takes all pairs; of more, the largest. On processors the smallest, so that
 * there is one kernel to build. */
static struct correlate_shape groups_shape(uint32_t blocks, int is_gpu)
{
    static const struct correlate_shape shapes[] = {
        {8, 16, 4}, {16, 8, 6}, {32, 8, 8}, {64, 4, MOST_MEMBERS}};
    size_t i = 0;
    while (is_gpu && i + 1 < sizeof shapes / sizeof *shapes && shapes[i].slots < blocks) {
        i++;
    }
    return shapes[i];
}

/* Returns the number of a member; adds it if there is room, or returns MOST_MEMBERS. */
static uint32_t groups_member(cl_uint *members, uint32_t room, uint32_t *count, uint32_t block)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (members[i] == block) {
            return i;
        }
    }
    if (*count == room) {
        return MOST_MEMBERS;
    }
    members[*count] = block;
    return (*count)++;
}

static void groups_set_pairs(const struct correlate_spec *spec, const int32_t *lookup,
                             const struct correlate_block *block, cl_int *pairs)
{
    const uint32_t stations = BLOCK / spec->pols;
    for (uint32_t i = 0; i < correlate_groups_pairs(spec); i++) {
        const uint32_t a = block->a * stations + i / stations;
        const uint32_t b = block->b * stations + i % stations;
        pairs[i] = a < b && b < spec->stations ? lookup[(size_t)a * spec->stations + b] : -1;
    }
}

/* Fills group number out->count with the first of the blocks that fit. Removes them from the
 * list. */
static void groups_fill(const struct correlate_spec *spec, const int32_t *lookup,
                        struct correlate_blocks *blocks, struct correlate_groups *out)
{
    const struct correlate_shape *shape = &out->shape;
    cl_uint *members = out->members + (size_t)out->count * shape->members;
    const size_t first = (size_t)out->count * shape->slots;
    uint32_t nmembers = 0;
    uint32_t nslots = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct correlate_block block = blocks->list[i];
        const uint32_t before = nmembers;
        const int is_seen = nslots < shape->slots && i < WINDOW;
        const uint32_t a =
            is_seen ? groups_member(members, shape->members, &nmembers, block.a) : MOST_MEMBERS;
        const uint32_t b =
            is_seen ? groups_member(members, shape->members, &nmembers, block.b) : MOST_MEMBERS;
        if (a == MOST_MEMBERS || b == MOST_MEMBERS) {
            nmembers = before;
            blocks->list[left++] = block;
            continue;
        }
        out->slots[first + nslots] = a + 256 * b;
        groups_set_pairs(spec, lookup, &block,
                         out->pairs + (first + nslots) * correlate_groups_pairs(spec));
        nslots++;
    }
    blocks->count = left;
    memset(members + nmembers, 0xff, (shape->members - nmembers) * sizeof *members);
    memset(out->pairs + (first + nslots) * correlate_groups_pairs(spec), 0xff,
           (shape->slots - nslots) * correlate_groups_pairs(spec) * sizeof *out->pairs);
    out->count++;
}

status_t correlate_groups_make(const struct correlate_spec *spec, int is_gpu,
                               struct correlate_groups *out)
{
    status_t st = STATUS_OK;
    int32_t *lookup = NULL;
    struct correlate_blocks blocks = {
        .rows = BLOCK, .columns = BLOCK, .group_rows = GROUP, .group_columns = GROUP};
    struct correlate_groups groups = {.count = 0};
    TRY_OUT(correlate_lookup(spec, &lookup));
    TRY_OUT(correlate_blocks(spec, lookup, &blocks));
    groups.shape = groups_shape(blocks.count, is_gpu);
    while (blocks.count > 0) {
        const struct correlate_shape *shape = &groups.shape;
        const size_t next = groups.count + 1;
        TRY_OUT(
            memory_grown(next * shape->members, sizeof *groups.members, "inputs", &groups.members));
        TRY_OUT(memory_grown(next * shape->slots, sizeof *groups.slots, "inputs", &groups.slots));
        TRY_OUT(memory_grown(next * shape->slots * correlate_groups_pairs(spec),
                             sizeof *groups.pairs, "pairs", &groups.pairs));
        memset(groups.slots + (size_t)groups.count * shape->slots, 0,
               shape->slots * sizeof *groups.slots);
        groups_fill(spec, lookup, &blocks, &groups);
    }
    *out = groups;
    groups = (struct correlate_groups){.count = 0};
out:
    correlate_groups_free(&groups);
    free(blocks.list);
    free(lookup);
    return st;
}

void correlate_groups_free(struct correlate_groups *groups)
{
    free(groups->members);
    free(groups->slots);
    free(groups->pairs);
}

/* Blocks that share no inputs fill an eighth of a group. */
uint64_t correlate_groups_bytes(const struct correlate_spec *spec)
{
    const uint64_t across = ceil_div_u64(correlate_inputs(spec), BLOCK);
    const uint64_t blocks = min_u64(across * across, spec->npairs);
    const uint64_t slot = sizeof(cl_uint) + correlate_groups_pairs(spec) * sizeof(cl_int);
    return 2 * (uint64_t)GROUP * blocks *
               (slot + 4 * sizeof(cl_uint) + sizeof(struct correlate_block)) +
           (uint64_t)spec->stations * spec->stations * sizeof(int32_t) +
           spec->npairs * 4 * sizeof(cl_uint);
}
