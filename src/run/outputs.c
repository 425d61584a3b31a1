#include "run/outputs.h"

#include "base/file.h"
#include "base/memory.h"
#include "run/agree.h"

#include <stdlib.h>
#include <unistd.h>

enum { LONG_WRITE = 4 << 20 /* bytes that are worth sending to the disk together */ };

struct output {
    char *part;   /* the name while it is written */
    int fd;       /* for rows */
    int claim_fd; /* rank 0: holds the lock */
    int is_ours;  /* rank 0: part was made by this run and not published yet */
    struct product_place place;
    uint64_t put_at, put_bytes;   /* rows that were written last, not yet sent to the disk */
    uint64_t sent_at, sent_bytes; /* those before, on their way there */
};

struct outputs {
    MPI_Comm comm;
    int rank;
    int force;
    const struct work *work;
    uint32_t count;
    struct output *outputs;
};

/* Whatever it is called here (another path, a link): --force must never replace the input. */
static status_t check_not_input(const char *path, const struct archive *archive)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        REQUIRE(!file_is_same(path, part->path), STATUS_USAGE, "product %s is the input file %s",
                path, part->path);
        for (uint32_t j = 0; j < part->nsources; j++) {
            REQUIRE(!file_is_same(path, part->sources[j]), STATUS_USAGE,
                    "product %s is the input file %s", path, part->sources[j]);
        }
    }
out:
    return st;
}

static status_t check_not_job(const char *path, const struct job *job)
{
    status_t st = STATUS_OK;
    REQUIRE(!file_is_same(path, job->path), STATUS_USAGE, "product %s is the job file", path);
    REQUIRE(!job->window_path || !file_is_same(path, job->window_path), STATUS_USAGE,
            "product %s is the file of the window", path);
out:
    return st;
}

status_t outputs_check(const struct job *job, const struct archive *archive, int force)
{
    status_t st = STATUS_OK;
    char *part = NULL;
    for (uint32_t i = 0; i < job->nproducts; i++) {
        TRY(file_part_name(job->products[i].file, &part));
        TRY(check_not_input(job->products[i].file, archive));
        TRY(check_not_input(part, archive));
        TRY(check_not_job(job->products[i].file, job));
        TRY(check_not_job(part, job));
        TRY(file_check_new(job->products[i].file, force));
        for (uint32_t j = 0; j < job->nproducts; j++) {
            const char *other = job->products[j].file;
            REQUIRE(i == j || !file_is_same(job->products[i].file, other), STATUS_USAGE,
                    "products %u and %u are one file: %s, %s", i, j, job->products[i].file, other);
            REQUIRE(!file_is_same(part, other), STATUS_USAGE,
                    "product %s has the name under which product %s is written", other,
                    job->products[i].file);
        }
        free(part);
        part = NULL;
    }
out:
    free(part);
    return st;
}

/* Rank 0: one file. */
static status_t create_one(const struct work *work, uint32_t i, int force, struct output *output)
{
    status_t st = STATUS_OK;
    TRY(file_claim(output->part, force, product_is_ours, &output->claim_fd));
    output->is_ours = 1;
    TRY(product_create(output->part, &work->products[i].spec, &output->place));
    TRY(file_reserve(output->claim_fd, output->part, output->place.file_bytes));
out:
    return st;
}

static status_t create_files(outputs_t *outputs, int force)
{
    status_t st = STATUS_OK;
    TRY(outputs_check(outputs->work->job, outputs->work->archive, force));
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(create_one(outputs->work, i, force, &outputs->outputs[i]));
    }
out:
    return st;
}

static status_t open_files(outputs_t *outputs)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(file_open_write(outputs->outputs[i].part, &outputs->outputs[i].fd));
    }
out:
    return st;
}

static status_t name_files(outputs_t *outputs)
{
    status_t st = STATUS_OK;
    const struct job *job = outputs->work->job;
    TRY(memory_zeroed(job->nproducts, sizeof *outputs->outputs, "products", &outputs->outputs));
    outputs->count = job->nproducts;
    for (uint32_t i = 0; i < outputs->count; i++) {
        outputs->outputs[i].fd = outputs->outputs[i].claim_fd = -1;
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(file_part_name(job->products[i].file, &outputs->outputs[i].part));
    }
out:
    return st;
}

status_t outputs_create_all(MPI_Comm comm, const struct work *work, int force, outputs_t **out)
{
    status_t st = STATUS_OK;
    outputs_t *outputs = NULL;
    st = memory_zeroed(1, sizeof *outputs, "products", &outputs);
    if (st == STATUS_OK) {
        outputs->comm = comm;
        outputs->work = work;
        outputs->force = force;
        MPI_Comm_rank(comm, &outputs->rank);
        st = name_files(outputs);
    }
    TRY(agree_all(comm, st));
    if (outputs->rank == 0) {
        st = create_files(outputs, force);
    }
    TRY(agree_all(comm, st));
    for (uint32_t i = 0; i < outputs->count; i++) {
        share_bytes_all(comm, &outputs->outputs[i].place, sizeof outputs->outputs[i].place);
    }
    TRY(agree_all(comm, open_files(outputs)));
    *out = outputs;
    outputs = NULL;
out:
    outputs_destroy(outputs);
    return st;
}

/* Time stamps go with the rows of the first streams. */
static status_t put_times(const outputs_t *outputs, uint32_t product, uint64_t first_row,
                          uint64_t rows)
{
    status_t st = STATUS_OK;
    enum { PIECE = 4096 };
    double times[PIECE];
    const struct output *output = &outputs->outputs[product];
    struct time_axis axis = product_time(&outputs->work->products[product].spec);
    for (uint64_t done = 0; done < rows; done += PIECE) {
        uint64_t count = min_u64(rows - done, PIECE);
        for (uint64_t i = 0; i < count; i++) {
            times[i] = axis.first + (double)(first_row + done + i) * axis.step;
        }
        TRY(file_write(output->fd, output->part,
                       output->place.time_offset + (first_row + done) * sizeof(double), times,
                       count * sizeof(double)));
    }
out:
    return st;
}

/* Sends rows on to the disk soon, so that unwritten ones do not pile up; and where the product is
 * larger than this machine's memory, lets go of those before. */
static void flush_rows(struct output *output, uint64_t at, uint64_t bytes)
{
    int follows = at == output->put_at + output->put_bytes;
    if (output->put_bytes > 0 && follows && output->put_bytes < LONG_WRITE) {
        output->put_bytes += bytes;
        return;
    }
    if (output->put_bytes > 0) {
        file_flush(output->fd, output->put_at, output->put_bytes, 0);
        if (file_is_huge(output->place.file_bytes) && output->sent_bytes > 0) {
            file_flush(output->fd, output->sent_at, output->sent_bytes, 1);
            file_forget(output->fd, output->sent_at, output->sent_bytes);
        }
        output->sent_at = output->put_at;
        output->sent_bytes = output->put_bytes;
    }
    output->put_at = at;
    output->put_bytes = bytes;
}

status_t outputs_put(void *context, uint32_t product, uint64_t first_row, uint64_t rows,
                     uint32_t first_stream, uint32_t streams, const void *data)
{
    status_t st = STATUS_OK;
    outputs_t *outputs = context;
    struct output *output = &outputs->outputs[product];
    uint64_t row_bytes = output->place.row_bytes;
    uint64_t stream_bytes = row_bytes / outputs->work->archive->nstreams;
    uint64_t at = output->place.data_offset + first_row * row_bytes;
    if (streams == outputs->work->archive->nstreams) {
        TRY(file_write(output->fd, output->part, at, data, rows * row_bytes));
        flush_rows(output, at, rows * row_bytes);
    } else {
        uint64_t piece = streams * stream_bytes;
        for (uint64_t i = 0; i < rows; i++) {
            TRY(file_write(output->fd, output->part,
                           at + i * row_bytes + first_stream * stream_bytes,
                           (const char *)data + i * piece, piece));
        }
    }
    if (first_stream == 0) {
        TRY(put_times(outputs, product, first_row, rows));
    }
out:
    return st;
}

static status_t sync_files(const outputs_t *outputs)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(file_sync(outputs->outputs[i].fd, outputs->outputs[i].part));
    }
out:
    return st;
}

/* Rank 0: all files complete before the first gets its name. */
static status_t publish(outputs_t *outputs, uint64_t missing)
{
    status_t st = STATUS_OK;
    uint64_t gaps = archive_gap_samples(outputs->work->archive);
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(product_put_missing(outputs->outputs[i].part, missing, gaps));
        TRY(file_sync(outputs->outputs[i].fd, outputs->outputs[i].part));
    }
    /* Complete: from here on none is to be removed, and each gets its name if it can. */
    for (uint32_t i = 0; i < outputs->count; i++) {
        outputs->outputs[i].is_ours = 0;
        status_t published = file_publish(outputs->outputs[i].part,
                                          outputs->work->job->products[i].file, outputs->force);
        st = st == STATUS_OK ? published : st;
    }
out:
    return st;
}

status_t outputs_finish_all(outputs_t *outputs, uint64_t missing)
{
    status_t st = sync_files(outputs);
    TRY(agree_all(outputs->comm, st));
    if (outputs->rank == 0) {
        st = publish(outputs, missing);
    }
    TRY(agree_all(outputs->comm, st));
out:
    return st;
}

void outputs_abandon(outputs_t *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (outputs->outputs[i].is_ours) {
            unlink(outputs->outputs[i].part);
            outputs->outputs[i].is_ours = 0;
        }
    }
}

void outputs_destroy(outputs_t *outputs)
{
    if (!outputs) {
        return;
    }
    outputs_abandon(outputs);
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        if (output->fd >= 0) {
            close(output->fd);
        }
        if (output->claim_fd >= 0) {
            close(output->claim_fd);
        }
        free(output->part);
    }
    free(outputs->outputs);
    free(outputs);
}

uint64_t outputs_bytes(const outputs_t *outputs)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        bytes += outputs->outputs[i].place.file_bytes;
    }
    return bytes;
}
