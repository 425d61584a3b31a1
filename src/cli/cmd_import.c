/* voltmill import -o FILE INPUT... */
#include "base/clock.h"
#include "base/display.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "cli/values.h"
#include "input/inputs.h"
#include "input/read/reader.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/mark.h"
#include "job/yaml/tree.h"
#include "plan/channelise_plan.h"
#include "product/export/export_file.h"
#include "product/voltages.h"
#include "ranks/agree.h"
#include "ranks/driver.h"
#include "ranks/stop.h"
#include "run/share.h"

struct import_settings {
    struct shared shared;
    const char *output, *job;
};
enum { CHUNK_BYTES = 32 << 20, MOST_JOB_BYTES = 1 << 24 };

struct import {
    int rank;
    const struct import_settings *options;
    struct job *job;
    struct archive *archive;
    struct slab *slab;
    reader_t *reader;
    uint32_t threads;
    uint64_t chunk_samples;
    char *part;
    int fd;
    struct before before;
    struct claim_mark mark;
    struct voltages_place place;
    struct voltages_packing packing;
    size_t sample, real;  /* bytes of a sample, and of its real part alone */
    size_t *re, *im;      /* [streams] of a chunk as it is read */
    char *in, *out;       /* a chunk as it is read, and in the order of the native layout */
    char *packed;         /* the same with fewer bits, if it is written so */
    struct losses losses; /* not yet reported */
    struct losses all;    /* rank 0's */
};

/* From the order of the archive to that of the native layout, in tiles of time that stay in a
 * cache. */

enum { TILE_BYTES = 64 << 10 };

/* Whether a sample's parts are side by side; whether all samples are as they are stored. */
static int order_is_joined(const struct import *s, uint32_t stream)
{
    return s->real == s->sample || s->im[stream] == s->re[stream] + s->real;
}

static int order_is_native(const struct import *s)
{
    int is = s->slab->nblocks == 1 && s->slab->width == s->place.step_bytes;
    for (uint32_t i = 0; i < s->archive->nstreams && is; i++) {
        is = order_is_joined(s, i) && s->re[i] == i * s->sample;
    }
    return is;
}

static void order_copy(const char *from, size_t from_step, char *to, size_t to_step, uint64_t count,
                       size_t bytes)
{
#define ORDER_COPY(size)                                                                           \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        memcpy(to + i * to_step, from + i * from_step, size);                                      \
    }
    switch (bytes) {
    case 1:
        ORDER_COPY(1);
        break;
    case 2:
        ORDER_COPY(2);
        break;
    case 4:
        ORDER_COPY(4);
        break;
    case 8:
        ORDER_COPY(8);
        break;
    default:
        ORDER_COPY(bytes);
    }
#undef ORDER_COPY
}

struct ordering {
    const struct import *import;
    uint64_t tile, count; /* time steps: of a tile, in all */
};

/* Reorders one tile of time steps of all streams. */
static void order_put_tile(void *context, uint32_t thread, uint64_t task)
{
    const struct ordering *o = context;
    const struct import *s = o->import;
    uint64_t first = task * o->tile;
    uint64_t count = min_u64(o->tile, o->count - first);
    (void)thread;
    size_t width = (size_t)s->slab->width;
    size_t step = (size_t)s->place.step_bytes;
    for (uint32_t i = 0; i < s->archive->nstreams; i++) {
        char *to = s->out + first * step + i * s->sample;
        const char *from = s->in + first * width;
        int is_joined = order_is_joined(s, i);
        order_copy(from + s->re[i], width, to, step, count, is_joined ? s->sample : s->real);
        if (!is_joined) {
            order_copy(from + s->im[i], width, to + s->real, step, count, s->real);
        }
    }
}

/* Gives the samples as they are stored, char [count][stream][step_bytes / streams]: `in` itself, if
 * they are so, or `out`. */
static const char *import_order_put(const struct import *s, uint64_t count)
{
    slab_offsets(s->slab, count, s->re, s->im);
    if (order_is_native(s)) {
        return s->in;
    }
    uint64_t tile = max_u64(TILE_BYTES / s->place.step_bytes, 16);
    struct ordering ordering = {s, tile, count};
    pool_each(s->threads, ceil_div_u64(count, tile), order_put_tile, &ordering);
    return s->out;
}

/* Rows of the native layout, with fewer bits where these hold all numbers, written to their place.
 *
 * Time outermost, all numbers follow each other; else those of each stream do. */

enum { TILE = 1 << 15 /* numbers that a thread packs at a time: whole bytes */ };

struct filling {
    const struct import *import;
    const char *in;
    size_t stride;
    uint64_t numbers;
};

static void packed_fill_tile(void *context, uint32_t thread, uint64_t tile)
{
    const struct filling *p = context;
    uint64_t at = tile * TILE;
    (void)thread;
    const struct voltages_packing *packing = &p->import->packing;
    voltages_pack(packing, p->in + at * p->stride, p->stride, min_u64(TILE, p->numbers - at),
                  (unsigned char *)p->import->packed + at * packing->bits / 8);
}

static void packed_fill(const struct import *s, const char *in, size_t stride, uint64_t numbers)
{
    struct filling filling = {s, in, stride, numbers};
    pool_each(s->threads, ceil_div_u64(numbers, TILE), packed_fill_tile, &filling);
}

/* Streams one after the other, each with its samples in a row of the file. */
static status_t packed_write_inner(const struct import *s, const char *rows, uint64_t first,
                                   uint64_t count)
{
    uint64_t bits = s->packing.bits;
    uint64_t each = sample_types[s->packing.format].bytes;
    for (uint64_t i = 0; i < s->place.step_bytes / each; i++) {
        uint64_t at = s->place.data_offset + (i * s->archive->samples + first) * bits / 8;
        packed_fill(s, rows + i * each, (size_t)s->place.step_bytes, count);
        TRY(before_put(&s->before, s->fd, at, s->packed, ceil_div_u64(count * bits, 8)));
    }
    return STATUS_OK;
}

/* Writes samples first .. first + count - 1. Of packed ones, both are multiples of 8, except at the
 * end of the file.
 *
 *   rows     char [count][place.step_bytes]
 *
 * Fails as before_put(). */
static status_t import_write(const struct import *s, const char *rows, uint64_t first,
                             uint64_t count)
{
    uint64_t bytes = s->place.step_bytes;
    if (s->packing.is_time_inner) {
        return packed_write_inner(s, rows, first, count);
    }
    if (s->packing.bits > 0) {
        uint64_t each = sample_types[s->packing.format].bytes;
        packed_fill(s, rows, each, count * bytes / each);
        bytes = bytes / each * s->packing.bits / 8;
        rows = s->packed;
    }
    return before_put(&s->before, s->fd, s->place.data_offset + first * bytes, rows, count * bytes);
}

static void import_abandon(void *context)
{
    before_abandon(&((struct import *)context)->before);
}

static void import_end(struct import *s)
{
    before_end(&s->before);
    file_close(s->fd);
    reader_destroy(s->reader);
    slab_destroy(s->slab);
    archive_destroy(s->archive);
    job_destroy(s->job);
    losses_free(&s->losses);
    losses_free(&s->all);
    MEMORY_FREE(s->part, s->re, s->im, s->in, s->out, s->packed);
}

/* Appends a list of texts, in brackets. Fails with DEVICE. */
static status_t tree_quote_list(char *const *texts, uint32_t count, struct text *out)
{
    text_add(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        text_add(out, "%s", i > 0 ? ", " : "");
        tree_quote(texts[i], out);
    }
    return text_add(out, "]");
}

/* Writes the job whose input is read: the user's, or one of these files. */
static status_t import_write_job(const struct import_settings *options, struct text *out)
{
    if (options->job) {
        return text_read_file(out, options->job, MOST_JOB_BYTES, "a job (YAML)");
    }
    TRY(text_add(out, "input:\n  files: "));
    return tree_quote_list(options->shared.operands, options->shared.noperands, out);
}

/* Reads the job with what the command line sets, and opens the archive. */
static status_t import_open_all(struct import *s)
{
    const struct import_settings *options = s->options;
    SCOPED(text_free) struct text text = {0};
    SCOPED(text_free) struct text files = {0};
    SCOPED(text_free) struct text layout = {0};
    SCOPED(free_at) const char **sets = NULL;
    uint32_t nsets = 0;
    const struct job_each each = {.is_input = 1};
    status_t st = memory_zeroed(options->shared.sets.count + 2, sizeof *sets, "settings", &sets);
    if (st == STATUS_OK && options->job && options->shared.noperands > 0) {
        text_add(&files, "input.files=");
        st = tree_quote_list(options->shared.operands, options->shared.noperands, &files);
        sets[nsets++] = files.data;
    }
    if (st == STATUS_OK && options->shared.layout) {
        st = text_add(&layout, "input.layout=%s", options->shared.layout);
        sets[nsets++] = layout.data;
    }
    for (uint32_t i = 0; i < options->shared.sets.count && st == STATUS_OK; i++) {
        sets[nsets++] = options->shared.sets.items[i];
    }
    st = st == STATUS_OK && s->rank == 0 ? import_write_job(options, &text) : st;
    return share_job_all(MPI_COMM_WORLD, st, options->job ? options->job : "import", &text, sets,
                         nsets, &each, NULL, &s->job, &s->archive);
}

/* Checks on rank 0 that no input would be overwritten. */
static status_t import_protect(const struct import *s)
{
    SCOPED(inputs_free) struct inputs inputs = {0};
    SCOPED(guard_free) struct guard reads = {0};
    TRY(inputs_of_bank(s->job, s->archive, &inputs));
    for (size_t i = 0; i < inputs.count; i++) {
        TRY(guard_add(&reads, "the input file", inputs.files[i].path));
    }
    TRY(s->options->job ? guard_add(&reads, "the job file", s->options->job) : STATUS_OK);
    return guard_check_part(&reads, "observation", s->options->output);
}

/* Rank 0: the file, its samples still missing; or one in memory to compare with what is there. */
static status_t import_make_file(struct import *s)
{
    const struct archive *archive = s->archive;
    int fd = -1;
    TRY(import_protect(s));
    REQUIRE(archive->losses.lost.count == 0, STATUS_DATA,
            "%s: samples %llu .. %llu are unreadable: %s; input.select leaves them out",
            archive->parts[0].path, (unsigned long long)archive->losses.lost.items[0].first,
            (unsigned long long)(archive->losses.lost.items[0].first +
                                 archive->losses.lost.items[0].count),
            archive->losses.lost.items[0].why);
    archive_warn_unweighed(archive, s->options->output);
    TRY(before_claim(&s->before, s->options->shared.force));
    TRY(s->before.is_ours ? claim_mark_of(s->before.claim_fd, s->part, &s->mark) : STATUS_OK);
    TRY(before_make(&s->before, &fd));
    TRY(voltages_create_copy(fd, s->part, archive, &s->packing, &s->place));
    TRY(before_check_size(&s->before, &s->place));
    return s->before.is_ours ? file_reserve(s->before.claim_fd, s->part, s->place.file_bytes)
                             : STATUS_OK;
}

static status_t import_make_buffers(struct import *s)
{
    const struct archive *archive = s->archive;
    TRY(slab_create(archive, stream_range(0, archive->nstreams), &s->slab));
    uint64_t row = 1 << 20; /* of chunks: it is kept, as far as a quarter of run.memory holds it */
    for (uint32_t i = 0; i < archive->nparts; i++) {
        row = max_u64(row, archive->parts[i].row_bytes);
    }
    TRY(reader_create(archive, min_u64(row, s->job->memory / 4), s->threads, &s->reader));
    uint64_t step = max_u64(s->slab->nblocks * s->slab->width, s->place.step_bytes);
    /* In whole bytes of whatever is packed. */
    s->chunk_samples = min_u64(max_u64(CHUNK_BYTES / step / 8 * 8, 8), archive->samples);
    TRY(memory_aligned((size_t)s->chunk_samples, (size_t)step, "samples", &s->in));
    TRY(memory_aligned((size_t)s->chunk_samples, (size_t)s->place.step_bytes, "samples", &s->out));
    if (s->packing.bits > 0) {
        TRY(memory_aligned((size_t)s->chunk_samples, (size_t)s->place.step_bytes, "packed samples",
                           &s->packed));
    }
    s->sample = sample_bytes(archive->format, archive->is_complex);
    s->real = s->sample - sample_part_bytes(archive->format, archive->is_complex);
    TRY(memory_zeroed(archive->nstreams, sizeof *s->re, "offsets", &s->re));
    TRY(memory_zeroed(archive->nstreams, sizeof *s->im, "offsets", &s->im));
    return s->before.kind == BEFORE_NOTHING ? claim_open(s->part, &s->mark, &s->fd)
                                            : file_open_read(before_path(&s->before), &s->fd);
}

static status_t import_process(void *context, driver_t *driver, uint64_t index)
{
    struct import *s = context;
    uint64_t first = index * s->chunk_samples;
    uint64_t count = min_u64(s->chunk_samples, s->archive->samples - first);
    size_t known = s->losses.count;
    (void)driver;
    TRY(reader_read(s->reader, s->slab, s->archive->first_sample + first, count, s->in,
                    &s->losses));
    for (size_t i = known; i < s->losses.count; i++) {
        s->losses.items[i].first -= s->archive->first_sample;
    }
    return import_write(s, import_order_put(s, count), first, count);
}

/* Sends the missing samples to rank 0. */
static status_t import_tell(void *context, struct text *out)
{
    struct import *s = context;
    TRY(text_add_bytes(out, (const char *)s->losses.items,
                       s->losses.count * sizeof *s->losses.items));
    s->losses.count = 0;
    return STATUS_OK;
}

static status_t import_take(void *context, const char *data, size_t bytes)
{
    struct import *s = context;
    for (size_t at = 0; at + sizeof(struct loss) <= bytes; at += sizeof(struct loss)) {
        struct loss loss;
        memcpy(&loss, data + at, sizeof loss);
        TRY(losses_add(&s->all, loss.stream, loss.first, loss.count));
    }
    return STATUS_OK;
}

static status_t import_prepare_all(struct import *s)
{
    int local_rank;
    int local_size;
    TRY(import_open_all(s));
    local_ranks_all(MPI_COMM_WORLD, &local_rank, &local_size);
    s->threads = channelise_plan_threads(s->job, local_size);
    voltages_find_packing(s->archive, &s->packing);
    TRY(agree_all(MPI_COMM_WORLD, file_part_name(s->options->output, &s->part)));
    s->before.file = s->options->output;
    s->before.part = s->part;
    TRY(agree_all(MPI_COMM_WORLD, s->rank == 0 ? import_make_file(s) : STATUS_OK));
    share_bytes_all(MPI_COMM_WORLD, &s->place, sizeof s->place);
    share_bytes_all(MPI_COMM_WORLD, &s->before.kind, sizeof s->before.kind);
    share_bytes_all(MPI_COMM_WORLD, &s->mark, sizeof s->mark);
    return agree_all(MPI_COMM_WORLD, import_make_buffers(s));
}

/* Adds the gaps, syncs the file and gives it its name, on rank 0. */
static status_t import_publish(struct import *s)
{
    int to = s->before.kind == BEFORE_NOTHING ? s->fd : s->before.expected_fd;
    TRY(s->before.kind == BEFORE_NOTHING ? file_cut_appended(s->fd, s->part, s->place.file_bytes)
                                         : STATUS_OK);
    TRY(voltages_add_gaps(to, s->part, s->all.items, s->all.count, s->archive->nstreams));
    TRY(s->before.kind == BEFORE_NOTHING ? file_sync(s->fd, s->part)
                                         : before_check_rest(&s->before, s->fd, &s->place));
    TRY(archive_check_unchanged(s->archive));
    if (s->before.kind != BEFORE_COMPLETE) {
        TRY(mark_hdf5(s->before.claim_fd, s->part, MARK_NONE));
        s->before.is_ours = 0; /* what cannot be renamed stays, as the message says */
        TRY(file_publish(s->before.claim_fd, s->part, s->options->output,
                         s->options->shared.force));
    }
    s->before.is_ours = 0;
    return STATUS_OK;
}

static void import_print(const struct import *s, double seconds)
{
    const struct archive *archive = s->archive;
    if (s->before.kind == BEFORE_COMPLETE) {
        display_print("complete before: %s\n", s->options->output);
        return;
    }
    display_print("%s: %s, %llu samples of %u %s, %.1f MB/s\n", s->options->output,
                  units_bytes(s->place.file_bytes), (unsigned long long)archive->samples,
                  archive->nstreams, units_plural(archive->nstreams, "stream", "streams"),
                  (double)s->place.file_bytes / seconds / 1e6);
}

/* Imports the archive. Collective; every rank gets the same status. Incomplete files are removed.
 * Fails with USAGE, DATA, NO_SPACE, DEVICE; with STOPPED if a signal requested it. */
static status_t import_run_all(void *settings)
{
    const struct import_settings *options = settings;
    SCOPED(import_end)
    struct import s = {.rank = options->shared.rank,
                       .options = options,
                       .fd = -1,
                       .before = {.expected_fd = -1, .claim_fd = -1}};
    double started = clock_now();
    stop_begin(s.rank == 0);
    TRY(import_prepare_all(&s));
    struct driver_work work = {.chunks = ceil_div_u64(s.archive->samples, s.chunk_samples),
                               .context = &s,
                               .process = import_process,
                               .abandon = import_abandon,
                               .tell = import_tell,
                               .take = import_take,
                               .wants_stop = stop_wanted,
                               .file = options->output};
    struct progress progress = {.every = options->shared.progress,
                                .what = "chunks",
                                .total = work.chunks,
                                .out_bytes = s.place.file_bytes};
    status_t st = driver_run_all(MPI_COMM_WORLD, &work, &progress);
    REQUIRE(st != STATUS_STOPPED, st, "before %s was complete", options->output);
    TRY(st);
    TRY(agree_all(MPI_COMM_WORLD,
                  s.before.kind == BEFORE_NOTHING ? file_sync(s.fd, s.part) : STATUS_OK));
    TRY(agree_all(MPI_COMM_WORLD, s.rank == 0 ? import_publish(&s) : STATUS_OK));
    if (s.rank == 0) {
        import_print(&s, clock_now() - started);
    }
    return STATUS_OK;
}

#define AT(field) offsetof(struct import_settings, field)

static const struct option_row rows[] = {
    {"o,output", "FILE", value_text, AT(output), NULL, NULL, "the file to be made"},
    {.name = "layout"},
    {"job", "JOB", value_text, AT(job), NULL, NULL,
     "takes the input of this job: layout, select; files, if any are given here, instead of its "
     "own"},
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the input, e.g. --set input.select.pols=0"},
    {.name = "force adopt stall-timeout progress"},
    {.name = NULL}};

static status_t import_check(void *settings)
{
    const struct import_settings *s = settings;
    REQUIRE(s->output, STATUS_USAGE,
            "import: expected -o FILE, the file to be made; see voltmill import --help");
    stop_hold(1);
    return STATUS_OK;
}

const struct command cli_import = {
    .name = "import",
    .summary = "write an archive into the native layout",
    .usage = "-o FILE [OPTION]... INPUT...\n-o FILE --job JOB [OPTION]... [INPUT]...",
    .about = "Writes the voltages of any archive that voltmill reads, of one file or many, into "
             "one file in the native layout (docs/archives.md), in one pass and without changing a "
             "number: integers stay integers, 4+4 bits stay packed, other bits become the numbers "
             "that voltmill reads them as. Frequencies, times, names, scale and missing_value are "
             "kept, and all that is missing stands in /gaps.\n"
             "The file is written as FILE.part and renamed when it is complete; a command that is "
             "stopped leaves nothing.",
    .operand = "input file",
    .takes_many = 1,
    .instead = "job",
    .ends = "h5|hdf5|raw|vdif|dada|dat|npy|sigmf-meta|sigmf|wav",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct import_settings),
    .check = import_check,
    .run = import_run_all};
