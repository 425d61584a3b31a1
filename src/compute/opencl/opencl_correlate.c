/* The stage `correlate` on an OpenCL device: rotates spectra if need be and sums their powers, sums
 * pairs of inputs dump by dump, averages channels. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"
#include "compute/shared/correlate_table.h"
#include "compute/shared/grains.h"

#include <stdlib.h>
#include <string.h>

/* Constants of the kernel: see there. */
struct correlate_shape {
    uint32_t slots, columns, members;
};

/* Tables of the kernel. */
struct correlate_groups {
    struct correlate_shape shape;
    uint32_t count;
    cl_uint *members; /* [count][members] */
    cl_uint *slots;   /* [count][slots] */
    cl_int *pairs;    /* [count][slots][correlate_groups_pairs()] */
};

enum {
    BLOCK = 4,     /* inputs */
    GROUP = 8,     /* blocks of inputs whose pairs make a whole group */
    WINDOW = 4096, /* blocks among which a group looks for its own */
    MOST_MEMBERS = 16
};

/* Returns the pairs of stations of a slot. */
static uint32_t correlate_groups_pairs(const struct correlate_spec *spec)
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

SCOPED_CALLS(correlate_groups_free, struct correlate_groups,
             MEMORY_FREE(at->members, at->slots, at->pairs))
SCOPED_CALLS(correlate_blocks_free, struct correlate_blocks, free(at->list))

/* Packs blocks of pairs into as few groups as a greedy search finds. Fails with DEVICE (memory). */
static status_t correlate_groups_make(const struct correlate_spec *spec, int is_gpu,
                                      struct correlate_groups *out)
{
    SCOPED(free_at) int32_t *lookup = NULL;
    SCOPED(correlate_blocks_free)
    struct correlate_blocks blocks = {
        .rows = BLOCK, .columns = BLOCK, .group_rows = GROUP, .group_columns = GROUP};
    SCOPED(correlate_groups_free) struct correlate_groups groups = {.count = 0};
    TRY(correlate_lookup(spec, &lookup));
    TRY(correlate_blocks(spec, lookup, &blocks));
    groups.shape = groups_shape(blocks.count, is_gpu);
    while (blocks.count > 0) {
        const struct correlate_shape *shape = &groups.shape;
        const size_t next = groups.count + 1;
        TRY(memory_grown(next * shape->members, sizeof *groups.members, "inputs", &groups.members));
        TRY(memory_grown(next * shape->slots, sizeof *groups.slots, "inputs", &groups.slots));
        TRY(memory_grown(next * shape->slots * correlate_groups_pairs(spec), sizeof *groups.pairs,
                         "pairs", &groups.pairs));
        memset(groups.slots + (size_t)groups.count * shape->slots, 0,
               shape->slots * sizeof *groups.slots);
        groups_fill(spec, lookup, &blocks, &groups);
    }
    *out = groups;
    groups = (struct correlate_groups){.count = 0};
    return STATUS_OK;
}

/* Returns an upper limit of the bytes of the tables and of the memory to make them: blocks that
 * share no inputs fill an eighth of a group. */
static uint64_t correlate_groups_bytes(const struct correlate_spec *spec)
{
    const uint64_t across = ceil_div_u64(correlate_inputs(spec), BLOCK);
    const uint64_t blocks = min_u64(across * across, spec->npairs);
    const uint64_t slot = sizeof(cl_uint) + correlate_groups_pairs(spec) * sizeof(cl_int);
    return 2 * (uint64_t)GROUP * blocks *
               (slot + 4 * sizeof(cl_uint) + sizeof(struct correlate_block)) +
           (uint64_t)spec->stations * spec->stations * sizeof(int32_t) +
           spec->npairs * 4 * sizeof(cl_uint);
}

enum {
    WIDTH = 256,            /* work-items of a group of the small kernels, */
    SPREAD = 16,            /* columns, and stations, of one that rotates */
    CARRIED = 3,            /* floats of each sum that is carried */
    MOST_TILED = 16,        /* columns of a tile */
    LOCAL_BYTES = 48 << 10, /* of local memory, for longer steps */
    FINISH_BYTES = 64 << 20 /* of dumps that are to be averaged at a time, or one */
};

#define WATCH(step) ((enum device_step)CORRELATE_STEP_##step)

struct stage {
    struct correlate base;
    struct opencl *opencl;
    struct correlate_groups groups;
    cl_kernel crosses, autos, turn, finish; /* the first NULL: not needed */
    cl_mem tables[4], stations, gains;      /* members, slots, pairs, powers */
    cl_mem carry, turned, pieces, sums;
    uint32_t nautos;
    uint64_t sums_rows; /* that `sums` has; 0: dumps go to the output at once */
    struct opencl_turns turns;
    struct stopwatch watch;
};

static void opencl_correlate_destroy(void *correlate)
{
    struct stage *stage = correlate;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    LAUNCH_RELEASE(stage->crosses, stage->autos, stage->turn, stage->finish);
    DEVICE_RELEASE(device, stage->tables[0], stage->tables[1], stage->tables[2], stage->tables[3],
                   stage->stations, stage->gains, stage->carry, stage->turned, stage->pieces,
                   stage->sums);
    opencl_turns_destroy(&stage->turns);
    correlate_groups_free(&stage->groups);
    stopwatch_free(&stage->watch);
}

/* Floats of a dump before channels are averaged. */
static uint64_t correlate_plane(const struct correlate_spec *spec)
{
    return correlate_row_floats(spec) * spec->average;
}

static uint64_t correlate_spectrum_bytes(const struct correlate_spec *spec)
{
    return correlate_inputs(spec) * correlate_columns(spec) * 2 * sizeof(float);
}

/* Rotated spectra are in tiles of columns, the last of which may not be full. */
static uint64_t correlate_turned_bytes(const struct correlate_spec *spec, uint32_t tiled)
{
    return spec->max_spectra * correlate_inputs(spec) *
           ceil_div_u64(correlate_columns(spec), tiled) * tiled * 2 * sizeof(float);
}

/* Sums of the powers of `nautos` stations end with grains and with dumps. */
static uint64_t correlate_pieces_bytes(const struct correlate_spec *spec, uint32_t nautos)
{
    const uint64_t pieces = spec->max_spectra / GRAIN + spec->max_spectra / spec->integrate + 3;
    return pieces * nautos * correlate_columns(spec) * correlate_products(spec) * sizeof(float);
}

static uint64_t correlate_turns_bytes(const struct correlate_spec *spec, uint64_t spectra)
{
    return spectra * spec->stations * spec->coarse * 2 * sizeof(float);
}

static uint64_t correlate_sums_rows(const struct correlate_spec *spec)
{
    const uint64_t bytes = correlate_plane(spec) * sizeof(float);
    const uint64_t most = spec->max_spectra / spec->integrate + 1;
    return spec->average > 1 || spec->gains ? min_u64(max_u64(FINISH_BYTES / bytes, 1), most) : 0;
}

static status_t correlate_put_tables(struct stage *stage)
{
    device_t *device = stage->opencl->device;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_groups *groups = &stage->groups;
    const size_t slots = (size_t)groups->count * groups->shape.slots;
    SCOPED(free_at) cl_uint(*autos)[2] = NULL;
    TRY(memory_zeroed(spec->stations, sizeof *autos, "pairs", &autos));
    memset(autos, 0xff, spec->stations * sizeof *autos);
    for (uint32_t i = 0; i < spec->npairs; i++) {
        if (spec->pairs[i][0] == spec->pairs[i][1]) {
            autos[spec->pairs[i][0]][0] = stage->nautos++;
            autos[spec->pairs[i][0]][1] = i;
        }
    }
    const struct {
        const void *data;
        uint64_t bytes;
        cl_mem *out;
    } tables[] = {
        {groups->members, (uint64_t)groups->count * groups->shape.members * sizeof(cl_uint),
         &stage->tables[0]},
        {groups->slots, slots * sizeof(cl_uint), &stage->tables[1]},
        {groups->pairs, slots * correlate_groups_pairs(spec) * sizeof(cl_int), &stage->tables[2]},
        {autos, spec->stations * sizeof *autos, &stage->tables[3]},
        {spec->pairs, spec->npairs * sizeof *spec->pairs, &stage->stations},
        {spec->gains, spec->gains ? correlate_spectrum_bytes(spec) : 0, &stage->gains}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (tables[i].bytes > 0) {
            TRY(device_put(device, tables[i].data, tables[i].bytes, "tables of a correlation",
                           tables[i].out));
        }
    }
    return STATUS_OK;
}

/* Builds two programs: the one for rows is the same for many specs. */
static status_t correlate_build(struct stage *stage)
{
    static const enum program_source source = SOURCE_CORRELATE;
    static const enum program_source rows_source = SOURCE_CORRELATE_ROWS;
    const struct correlate_spec *spec = &stage->base.spec;
    const device_t *device = stage->opencl->device;
    const struct correlate_shape *shape = &stage->groups.shape;
    struct text options = {0};
    const struct launch_made rows[] = {{"correlate_turn", &stage->turn},
                                       {"correlate_autos", &stage->autos},
                                       {"correlate_finish", &stage->finish}};
    text_add(&options, "-DPOLS=%u", spec->pols);
    TRY(launch_build_all(device, &rows_source, 1, &options, rows, 3));
    if (stage->groups.count > 0) {
        const int is_gpu = device->info.is_gpu;
        const unsigned step = !is_gpu ? 1 : device->info.local_bytes >= LOCAL_BYTES ? 8 : 4;
        text_add(&options, "-DPOLS=%u -DSLOTS=%u -DCOLUMNS=%u -DMEMBERS=%u -DUNROLLED=%d -DSTEP=%u",
                 spec->pols, shape->slots, shape->columns, shape->members, is_gpu, step);
        TRY(launch_build(device, &source, 1, &options, "correlate", &stage->crosses));
    }
    return STATUS_OK;
}

static status_t correlate_allocate(struct stage *stage, backend_t *backend)
{
    device_t *device = stage->opencl->device;
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t plane = correlate_plane(spec) * sizeof(float);
    TRY(device_allocate(device, CARRIED * plane, "visibilities", &stage->carry));
    TRY(device_allocate(device, max_u64(correlate_pieces_bytes(spec, stage->nautos), 1), "powers",
                        &stage->pieces));
    if (stage->sums_rows > 0) {
        TRY(device_allocate(device, stage->sums_rows * plane, "visibilities", &stage->sums));
    }
    if (spec->is_turned) {
        TRY(device_allocate(device, correlate_turned_bytes(spec, stage->groups.shape.columns),
                            "spectra", &stage->turned));
        TRY(opencl_turns_create(backend, correlate_turns_bytes(spec, spec->max_spectra),
                                &stage->turns));
    }
    return STATUS_OK;
}

static status_t opencl_correlate_create(backend_t *backend, void *made)
{
    struct stage *stage = made;
    const struct correlate_spec *spec = &stage->base.spec;
    stage->opencl = (struct opencl *)backend;
    REQUIRE(correlate_columns(spec) <= INT32_MAX && spec->max_spectra <= INT32_MAX, STATUS_USAGE,
            "correlate: %llu spectra of %llu channels in a run, %d are the most on a device",
            (unsigned long long)spec->max_spectra, (unsigned long long)correlate_columns(spec),
            INT32_MAX);
    stage->watch.is_on = spec->is_timed;
    stage->sums_rows = correlate_sums_rows(spec);
    TRY(correlate_groups_make(spec, stage->opencl->device->info.is_gpu, &stage->groups));
    TRY(correlate_put_tables(stage));
    TRY(correlate_build(stage));
    return correlate_allocate(stage, backend);
}

/* Some dumps of a run. */
struct launch {
    cl_mem in, turned, out; /* spectra, those of the crosses */
    uint64_t end;           /* of the run's spectra */
    uint64_t dump, dumps, out_row;
    int is_complete;
};

static status_t correlate_launch_sums(struct stage *stage, const struct launch *launch, cl_mem out,
                                      uint64_t row)
{
    const struct correlate_spec *spec = &stage->base.spec;
    const device_t *device = stage->opencl->device;
    const uint64_t columns = correlate_columns(spec);
    const struct correlate_shape *shape = &stage->groups.shape;
    const cl_mem *tables = stage->tables;
    if (stage->nautos > 0) {
        const uint64_t items = columns * correlate_products(spec) * spec->stations * launch->dumps;
        TRY(LAUNCH(device, stage->autos, launch_over(items, WIDTH), &stage->watch, WATCH(AUTOS),
                   ARGUMENT(stage->pieces), ARGUMENT(out), ARGUMENT(stage->carry),
                   ARGUMENT(tables[3]), ARGUMENT_ULONG(stage->base.next),
                   ARGUMENT_ULONG(launch->end), ARGUMENT_ULONG(spec->integrate),
                   ARGUMENT_ULONG(launch->dump), ARGUMENT_ULONG(row), ARGUMENT_ULONG(launch->dumps),
                   ARGUMENT_UINT((cl_uint)columns), ARGUMENT_UINT(spec->stations),
                   ARGUMENT_UINT(stage->nautos), ARGUMENT_UINT(spec->npairs)));
    }
    if (stage->groups.count > 0) {
        const struct launch_size size = {
            (size_t)(stage->groups.count * ceil_div_u64(columns, shape->columns) * launch->dumps),
            shape->slots * shape->columns};
        TRY(LAUNCH(device, stage->crosses, size, &stage->watch, WATCH(CROSSES),
                   ARGUMENT(launch->turned), ARGUMENT(out), ARGUMENT(stage->carry),
                   ARGUMENT(tables[0]), ARGUMENT(tables[1]), ARGUMENT(tables[2]),
                   ARGUMENT_ULONG(stage->base.next), ARGUMENT_ULONG(launch->end),
                   ARGUMENT_ULONG(spec->integrate), ARGUMENT_ULONG(launch->dump),
                   ARGUMENT_ULONG(row), ARGUMENT_UINT((cl_uint)columns),
                   ARGUMENT_UINT(correlate_inputs(spec)), ARGUMENT_UINT(stage->groups.count),
                   ARGUMENT_UINT(spec->npairs), ARGUMENT_UINT(launch->turned != launch->in)));
    }
    return STATUS_OK;
}

static status_t correlate_launch(struct stage *stage, const struct launch *launch)
{
    const struct correlate_spec *spec = &stage->base.spec;
    if (stage->sums_rows == 0) {
        return correlate_launch_sums(stage, launch, launch->out, launch->out_row);
    }
    TRY(correlate_launch_sums(stage, launch, stage->sums, 0));
    if (launch->is_complete) {
        const uint64_t items = launch->dumps * correlate_row_floats(spec) / 2;
        const cl_mem gains = spec->gains ? stage->gains : stage->sums;
        TRY(LAUNCH(stage->opencl->device, stage->finish, launch_over(items, WIDTH), &stage->watch,
                   WATCH(FINISH), ARGUMENT(stage->sums), ARGUMENT(launch->out),
                   ARGUMENT(stage->stations), ARGUMENT(gains), ARGUMENT_ULONG(launch->out_row),
                   ARGUMENT_ULONG(launch->dumps), ARGUMENT_UINT(spec->npairs),
                   ARGUMENT_UINT((cl_uint)correlate_columns(spec)), ARGUMENT_UINT(spec->average),
                   ARGUMENT_UINT(spec->gains != NULL)));
    }
    return STATUS_OK;
}

/* Dumps that are whole in the run and have one tile go together; others, which use the carry, go
 * one after the other. */
static status_t correlate_launch_dumps(struct stage *stage, struct launch launch)
{
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t integrate = spec->integrate;
    const uint64_t first_dump = stage->base.next / integrate;
    const uint64_t last_dump = (launch.end - 1) / integrate;
    const uint64_t whole = launch.end / integrate; /* dumps that end in the run or before it */
    const uint64_t most = stage->sums_rows > 0 ? stage->sums_rows : UINT64_MAX;
    for (uint64_t dump = first_dump; dump <= last_dump; dump += launch.dumps) {
        const int is_alone =
            correlate_has_tiles(integrate) || dump >= whole || dump * integrate < stage->base.next;
        launch.dump = dump;
        launch.dumps = is_alone ? 1 : min_u64(whole - dump, most);
        launch.out_row = dump - first_dump;
        launch.is_complete = dump < whole;
        TRY(correlate_launch(stage, &launch));
    }
    return STATUS_OK;
}

/* Rotates the run's spectra, if there are turns, and sums their powers. */
static status_t correlate_launch_turn(struct stage *stage, const struct launch *launch,
                                      cl_mem turns)
{
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t first = stage->base.next;
    const uint64_t columns = correlate_columns(spec);
    const uint64_t grains = (launch->end - 1) / GRAIN - first / GRAIN + 1;
    const struct launch_size size = {
        (size_t)(grains * ceil_div_u64(columns, SPREAD) * ceil_div_u64(spec->stations, SPREAD)),
        WIDTH};
    return LAUNCH(stage->opencl->device, stage->turn, size, &stage->watch, WATCH(TURN),
                  ARGUMENT(launch->in), ARGUMENT(launch->turned), ARGUMENT(turns),
                  ARGUMENT(stage->pieces), ARGUMENT(stage->tables[3]), ARGUMENT_ULONG(first),
                  ARGUMENT_ULONG(launch->end), ARGUMENT_ULONG(spec->integrate),
                  ARGUMENT_UINT(spec->stations), ARGUMENT_UINT((cl_uint)columns),
                  ARGUMENT_UINT(spec->nchannels),
                  ARGUMENT_UINT(launch->turned != launch->in ? stage->groups.shape.columns : 0),
                  ARGUMENT_UINT(stage->nautos));
}

static status_t opencl_correlate_run(correlate_t *correlate, buffer_t *in_buffer, uint64_t spectra,
                                     const float *turns, buffer_t *out_buffer)
{
    struct stage *stage = (struct stage *)correlate;
    const struct correlate_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    struct opencl_buffer *turns_in = NULL;
    const uint64_t rows = dumps_finished(correlate->next, spectra, spec->integrate);
    const uint64_t bytes = rows * correlate_row_floats(spec) * sizeof(float);
    const struct launch launch = {.in = in->memory,
                                  .turned = turns ? stage->turned : in->memory,
                                  .out = ((struct opencl_buffer *)out_buffer)->memory,
                                  .end = correlate->next + spectra};
    if (turns) {
        const float *const lists[2] = {turns, NULL};
        const uint64_t floats[2] = {correlate_turns_bytes(spec, spectra) / sizeof(float), 0};
        TRY(opencl_turns_begin(&stage->turns, lists, floats, &stage->watch, &turns_in));
    }
    TRY(opencl_block_begin(in, spectra * correlate_spectrum_bytes(spec), &out_buffer, 1,
                           &stage->watch));
    if (turns || stage->nautos > 0) {
        TRY(correlate_launch_turn(stage, &launch, turns ? turns_in->memory : in->memory));
    }
    TRY(turns ? opencl_block_end(turns_in, NULL, NULL, 0, &stage->watch) : STATUS_OK);
    TRY(correlate_launch_dumps(stage, launch));
    return opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch);
}

static uint64_t opencl_correlate_bytes(const struct correlate_spec *spec)
{
    return correlate_groups_bytes(spec) +
           (spec->is_turned ? 2 * correlate_turns_bytes(spec, spec->max_spectra) : 0);
}

static uint64_t opencl_correlate_device_bytes(const struct correlate_spec *spec)
{
    const uint64_t plane = correlate_plane(spec) * sizeof(float);
    const uint64_t turned = correlate_turned_bytes(spec, MOST_TILED) +
                            2 * correlate_turns_bytes(spec, spec->max_spectra);
    return (CARRIED + correlate_sums_rows(spec)) * plane + (spec->is_turned ? turned : 0) +
           correlate_pieces_bytes(spec, spec->stations) +
           (spec->gains ? correlate_spectrum_bytes(spec) : 0) + correlate_groups_bytes(spec);
}

OPENCL_TIMES(opencl_correlate_times)

const struct correlate_ops opencl_correlate = {
    .stage = {sizeof(struct stage), opencl_correlate_create, opencl_correlate_destroy,
              opencl_correlate_times, NULL},
    .bytes = {opencl_correlate_bytes, opencl_correlate_device_bytes},
    .run = opencl_correlate_run};
