/* Compresses the rows of products that are complete, or makes files of other formats of them
 * (outputs_convert.c), before they get their names: every rank reads
 * chunks and compresses them, rank 0 places them in order into a second file. Nothing of that is
 * kept when it does not come to an end: the next run begins it again. */
#include "output/outputs_parts.h"

#include "base/memory.h"
#include "io/claim.h"
#include "io/file.h"
#include "io/mark.h"
#include "product/candidates/candidates.h"
#include "product/kind/dedispersed.h"
#include "product/pack/codec.h"
#include "ranks/agree.h"
#include "ranks/liveness.h"
#include "ranks/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUND_CHUNKS = 16, /* of a rank, from one message to the next: some 16 MiB */
    TAG = 77
};

/* One product on this rank. */
struct squeezing {
    outputs_t *outputs;
    struct output *output;
    uint32_t threads;
    double patience;
    struct packed_shape shape;
    packed_t *packed; /* rank 0's */
    uint64_t most;    /* bytes of a compressed chunk */
    codec_t **compressors;
    char **chunks; /* [threads] as they are, */
    char *made;    /* [ROUND_CHUNKS][most] and compressed, side by side when they are sent */
    uint64_t sizes[ROUND_CHUNKS];
    char *taken; /* of another rank */
};

static status_t squeeze_begin(struct squeezing *s)
{
    status_t st = STATUS_OK;
    size_t bytes = (size_t)packed_chunk_bytes(&s->shape);
    s->most = codec_most_bytes(bytes);
    TRY(memory_zeroed(s->threads, sizeof *s->compressors, "compressors", &s->compressors));
    TRY(memory_zeroed(s->threads, sizeof *s->chunks, "chunks", &s->chunks));
    for (uint32_t i = 0; i < s->threads; i++) {
        TRY(codec_create(s->shape.compression, (size_t)s->shape.element_bytes, bytes,
                         &s->compressors[i]));
        TRY(memory_aligned(bytes, 1, "a chunk", &s->chunks[i]));
    }
    TRY(memory_aligned((size_t)s->most, ROUND_CHUNKS, "compressed chunks", &s->made));
    if (s->outputs->rank == 0) {
        TRY(memory_aligned((size_t)s->most, ROUND_CHUNKS, "compressed chunks", &s->taken));
    }
out:
    return st;
}

static void squeeze_end(struct squeezing *s)
{
    for (uint32_t i = 0; i < s->threads; i++) {
        codec_destroy(s->compressors ? s->compressors[i] : NULL);
        free(s->chunks ? s->chunks[i] : NULL);
    }
    free(s->compressors);
    free(s->chunks);
    free(s->made);
    free(s->taken);
    packed_destroy(s->packed);
}

/* Chunks of a round that a rank has to make. */
static uint64_t squeeze_share(const struct squeezing *s, uint64_t first, int rank)
{
    uint64_t count = packed_count(&s->shape);
    uint64_t own = first + (uint64_t)rank * ROUND_CHUNKS;
    return own < count ? min_u64(ROUND_CHUNKS, count - own) : 0;
}

static status_t squeeze_one(struct squeezing *s, uint32_t thread, uint64_t chunk, uint64_t at)
{
    status_t st = STATUS_OK;
    const struct output *output = s->output;
    size_t bytes = 0;
    TRY(packed_read_chunk(&s->shape, output->fd, output->part, &output->place, chunk,
                          s->chunks[thread]));
    TRY(codec_chunk(s->compressors[thread], s->chunks[thread], s->made + at * s->most, &bytes));
    s->sizes[at] = bytes;
out:
    return st;
}

/* This rank's chunks of a round, compressed by its threads. */
static status_t squeeze_round(struct squeezing *s, uint64_t first)
{
    uint64_t mine = squeeze_share(s, first, s->outputs->rank);
    uint64_t own = first + (uint64_t)s->outputs->rank * ROUND_CHUNKS;
    status_t failed[ROUND_CHUNKS] = {STATUS_OK};
    struct text causes[ROUND_CHUNKS] = {{0}};
    status_t st = STATUS_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)s->threads)
    for (uint32_t thread = 0; thread < s->threads; thread++) {
        for (uint64_t i = thread; i < mine; i += s->threads) {
            failed[i] = squeeze_one(s, thread, own + i, i);
            if (failed[i] != STATUS_OK) {
                text_add(&causes[i], "%s", report_cause());
                report_clear();
            }
        }
    }
    for (uint64_t i = 0; i < mine; i++) {
        if (failed[i] != STATUS_OK && st == STATUS_OK) {
            st = report_fail(failed[i], "%s", causes[i].data ? causes[i].data : "a chunk");
        }
        text_free(&causes[i]);
    }
    if (st == STATUS_OK && stop_wanted()) {
        st = report_fail(STATUS_STOPPED,
                         "%s is complete, and was being compressed; the same command goes on",
                         s->output->part);
    }
    return st;
}

static status_t squeeze_put(struct squeezing *s, const char *made, const uint64_t *sizes,
                            uint64_t count)
{
    status_t st = STATUS_OK;
    for (uint64_t i = 0; i < count; i++) {
        TRY(packed_put(s->packed, made + i * s->most, sizes[i]));
    }
out:
    return st;
}

/* Rank 0 takes from each rank in turn what it has made; a failure of its own must not keep the
 * others from sending. */
static status_t squeeze_gather(struct squeezing *s, uint64_t first)
{
    status_t st = STATUS_OK;
    MPI_Comm comm = s->outputs->comm;
    int size;
    uint64_t sizes[ROUND_CHUNKS];
    MPI_Comm_size(comm, &size);
    if (s->outputs->rank != 0) {
        uint64_t mine = squeeze_share(s, first, s->outputs->rank);
        for (uint64_t i = 0; i < mine; i++) {
            MPI_Send(s->made + i * s->most, (int)s->sizes[i], MPI_BYTE, 0, TAG, comm);
        }
        return STATUS_OK;
    }
    st = squeeze_put(s, s->made, s->sizes, squeeze_share(s, first, 0));
    for (int rank = 1; rank < size; rank++) {
        uint64_t count = squeeze_share(s, first, rank);
        for (uint64_t i = 0; i < count; i++) {
            MPI_Status status;
            int bytes = 0;
            MPI_Recv(s->taken + i * s->most, (int)s->most, MPI_BYTE, rank, TAG, comm, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            sizes[i] = (uint64_t)bytes;
        }
        st = st == STATUS_OK ? squeeze_put(s, s->taken, sizes, count) : st;
    }
    return st;
}

/* Within the patience: nobody else would see a rank hang now. */
static status_t squeeze_watch(const struct squeezing *s, liveness_watchdog_t **out)
{
    enum { MESSAGE_BYTES = 8192 };
    char message[MESSAGE_BYTES];
    if (s->outputs->rank != 0) {
        return STATUS_OK;
    }
    snprintf(message, sizeof message,
             "%.4000s: its rows could not be compressed: nothing has moved for %g s: the same "
             "command goes on",
             s->output->part, s->patience);
    return liveness_watchdog_begin(s->patience, message, out);
}

static status_t squeeze_rounds_all(struct squeezing *s)
{
    status_t st = STATUS_OK;
    MPI_Comm comm = s->outputs->comm;
    liveness_watchdog_t *watchdog = NULL;
    int size;
    MPI_Comm_size(comm, &size);
    uint64_t step = (uint64_t)size * ROUND_CHUNKS;
    for (uint64_t first = 0; first < packed_count(&s->shape); first += step) {
        TRY(agree_all(comm, squeeze_watch(s, &watchdog)));
        TRY(agree_all(comm, squeeze_round(s, first)));
        TRY(agree_all(comm, squeeze_gather(s, first)));
        liveness_watchdog_end(watchdog);
        watchdog = NULL;
    }
out:
    liveness_watchdog_end(watchdog);
    return st;
}

/* On rank 0. The other file is locked, too: it will be the .part. */
static status_t squeeze_make_file(struct squeezing *s, uint32_t i)
{
    status_t st = STATUS_OK;
    const outputs_t *outputs = s->outputs;
    struct output *output = s->output;
    char *made = NULL; /* no folder: that of the .part */
    struct candidates found = {.count = 0};
    struct product_spec spec = outputs->spec->items[i].spec;
    struct dedispersed_spec series;
    TRY(outputs_put_counts(output));
    if (spec.kind == PRODUCT_CANDIDATES) {
        TRY(candidates_find(&spec, output->fd, output->part, &output->place, &found));
        series = *spec.series;
        series.search.found = &found;
        spec.series = &series;
    }
    TRY(claim_part(output->packed_path, outputs->options.force, product_is_ours, &output->packed_fd,
                   &made));
    const struct packed_files files = {.from = output->fd,
                                       .to = output->packed_fd,
                                       .part = output->part,
                                       .path = output->packed_path};
    TRY(packed_begin(&files, &spec, outputs->spec->items[i].compression, &s->packed, &s->shape));
out:
    candidates_free(&found);
    free(made);
    return st;
}

/* On rank 0. */
static status_t squeeze_finish_file(struct squeezing *s)
{
    status_t st = STATUS_OK;
    TRY(packed_finish(s->packed, &s->output->packed_place));
    TRY(file_sync(s->output->packed_fd, s->output->packed_path));
    TRY(mark_hdf5(s->output->packed_fd, s->output->packed_path, MARK_NONE));
out:
    return st;
}

static status_t squeeze_all(outputs_t *outputs, uint32_t i, uint32_t threads, double patience)
{
    status_t st = STATUS_OK;
    MPI_Comm comm = outputs->comm;
    struct squeezing s = {.outputs = outputs,
                          .output = &outputs->outputs[i],
                          .threads = (uint32_t)max_u64(min_u64(threads, ROUND_CHUNKS), 1),
                          .patience = patience};
    TRY(agree_all(comm, outputs->rank == 0 ? squeeze_make_file(&s, i) : STATUS_OK));
    share_bytes_all(comm, &s.shape, sizeof s.shape);
    TRY(agree_all(comm, squeeze_begin(&s)));
    TRY(squeeze_rounds_all(&s));
    TRY(agree_all(comm, outputs->rank == 0 ? squeeze_finish_file(&s) : STATUS_OK));
out:
    squeeze_end(&s);
    return st;
}

void outputs_pack_abandon(struct output *output)
{
    claim_remove(output->packed_fd, output->packed_path);
    file_close(output->packed_fd);
    output->packed_fd = -1;
}

status_t outputs_pack_all(outputs_t *outputs, uint32_t threads, double patience)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        const struct output_spec_item *item = &outputs->spec->items[i];
        int is_left = !output->is_published && !output->is_packed;
        share_bytes_all(outputs->comm, &is_left, sizeof is_left);
        TRY(is_left && item->has_bandpass ? outputs_median_all(outputs, i, threads, patience)
                                          : STATUS_OK);
        if (is_left && item->format != FILE_HDF5) {
            TRY(agree_all(outputs->comm,
                          outputs->rank == 0 ? outputs_convert(outputs, i, patience) : STATUS_OK));
        } else if (is_left && item->compression != COMPRESSION_NONE) {
            TRY(squeeze_all(outputs, i, threads, patience));
        }
    }
out:
    return st;
}
