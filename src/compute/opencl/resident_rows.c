/* Resident rows in the device's memory, in pieces of neighbouring rows. All copies go through the
 * queue of computations, so that they stand after the stage that made the rows and before the one
 * that takes them. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

enum { ADD_GROUP = 256 /* as in kernels/add_rows.cl */ };

/* Neighbouring rows. */
struct piece {
    uint64_t first, rows, room;
    cl_mem memory;
};

struct rows {
    struct resident_rows base;
    device_t *device;
    uint64_t row_bytes, piece_rows;
    uint64_t used;        /* bytes */
    struct piece *pieces; /* by `first` */
    size_t npieces;
    int has_doubles;
    cl_kernel add;
    cl_mem raw; /* rows on their way to sums */
    uint64_t raw_rows;
    cl_mem ifs;
    uint32_t nifs;
};

static int rows_clear(resident_rows_t *base)
{
    struct rows *r = (struct rows *)base;
    int any = r->npieces > 0;
    clFinish(r->device->compute);
    for (size_t i = 0; i < r->npieces; i++) {
        DEVICE_RELEASE(r->device, r->pieces[i].memory);
    }
    r->device->resident -= r->used;
    r->npieces = 0;
    r->used = 0;
    return any;
}

static void rows_destroy(void *base)
{
    struct rows *r = base;
    rows_clear(base);
    LAUNCH_RELEASE(r->add);
    DEVICE_RELEASE(r->device, r->raw, r->ifs);
    free(r->pieces);
}

static status_t rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                            resident_rows_t **out)
{
    struct rows *r = NULL;
    cl_device_fp_config doubles = 0;
    TRY(memory_zeroed(1, sizeof *r, "resident rows", &r));
    r->base.ops = &opencl_resident_rows;
    r->device = ((struct opencl *)backend)->device;
    r->row_bytes = row_bytes;
    r->piece_rows = max_u64(piece_rows, 1);
    clGetDeviceInfo(r->device->info.id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
    r->has_doubles = doubles != 0;
    *out = &r->base;
    return STATUS_OK;
}

/* The last piece that begins at or before a row; NULL: none does. */
static struct piece *rows_find(const struct rows *r, uint64_t row)
{
    size_t low = 0;
    size_t high = r->npieces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->pieces[middle].first <= row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &r->pieces[low - 1] : NULL;
}

/* A new piece for rows that begin here; *out is NULL where there is no memory for it. */
static status_t rows_add_piece(struct rows *r, uint64_t first, uint64_t rows, struct piece **out)
{
    enum { SHARE = 2 }; /* of all products together; the other half is for the stages' blocks */
    device_t *device = r->device;
    uint64_t most = device->room / SHARE;
    uint64_t room = max_u64(rows, r->piece_rows);
    uint64_t bytes = room * r->row_bytes;
    cl_mem memory = NULL;
    *out = NULL;
    TRY(memory_grow(r->npieces, sizeof *r->pieces, "resident rows", &r->pieces));
    if (device->resident + bytes > most || bytes > device->info.most_bytes) {
        return STATUS_OK;
    }
    int was_full = device->is_full;
    if (device_allocate(device, bytes, "rows that stay on the device", &memory) != STATUS_OK) {
        report_clear();
        device->is_full = was_full;
        return STATUS_OK;
    }
    const struct piece *before = rows_find(r, first);
    size_t at = before ? (size_t)(before - r->pieces) + 1 : 0;
    memmove(r->pieces + at + 1, r->pieces + at, (r->npieces - at) * sizeof *r->pieces);
    r->pieces[at] = (struct piece){.first = first, .room = room, .memory = memory};
    r->npieces++;
    r->used += bytes;
    device->resident += bytes;
    *out = &r->pieces[at];
    return STATUS_OK;
}

static status_t rows_keep(resident_rows_t *base, buffer_t *out, uint64_t first_row, uint64_t rows)
{
    struct rows *r = (struct rows *)base;
    const struct opencl_buffer *from = (const struct opencl_buffer *)out;
    struct piece *piece = rows_find(r, first_row);
    if (rows == 0) {
        return STATUS_OK;
    }
    if (!piece || piece->first + piece->rows != first_row || piece->rows + rows > piece->room) {
        TRY(rows_add_piece(r, first_row, rows, &piece));
    }
    if (piece) {
        CL_TRY(r->device,
               clEnqueueCopyBuffer(r->device->compute, from->memory, piece->memory, 0,
                                   piece->rows * r->row_bytes, rows * r->row_bytes, 0, NULL, NULL),
               "keep rows");
        piece->rows += rows;
    }
    return STATUS_OK;
}

static int rows_is_plain(const struct resident_rows_sums *sums)
{
    return sums->each == 1 && sums->nifs_there == 1;
}

static int rows_holds(const resident_rows_t *base, const struct resident_rows_sums *sums,
                      uint64_t first, uint64_t count)
{
    const struct rows *r = (const struct rows *)base;
    uint64_t row = first * sums->each;
    uint64_t end = (first + count) * sums->each;
    uint64_t bytes = (uint64_t)sums->nifs_there * sums->nchannels * sizeof(float);
    if (r->row_bytes != bytes || (!rows_is_plain(sums) && !r->has_doubles)) {
        return 0;
    }
    while (row < end) {
        const struct piece *piece = rows_find(r, row);
        if (!piece || row >= piece->first + piece->rows) {
            return 0;
        }
        row = piece->first + piece->rows;
    }
    return 1;
}

/* Rows that are there, to a place on the device. */
static status_t rows_gather(struct rows *r, uint64_t row, uint64_t rows, cl_mem to, uint64_t at)
{
    while (rows > 0) {
        const struct piece *piece = rows_find(r, row);
        uint64_t count = min_u64(rows, piece->first + piece->rows - row);
        CL_TRY(r->device,
               clEnqueueCopyBuffer(r->device->compute, piece->memory, to,
                                   (row - piece->first) * r->row_bytes, at, count * r->row_bytes, 0,
                                   NULL, NULL),
               "copy rows");
        row += count;
        rows -= count;
        at += count * r->row_bytes;
    }
    return STATUS_OK;
}

/* Memory for some rows at a time, less of it where there is less, but for one sum at least. */
static status_t rows_take_raw(struct rows *r, uint64_t each)
{
    status_t st = STATUS_OK;
    enum { RAW_BYTES = 64 << 20, SHARE = 16 };
    uint64_t bytes = min_u64(RAW_BYTES, r->device->room / SHARE);
    uint64_t sums = max_u64(bytes / r->row_bytes / each, 1);
    int was_full = r->device->is_full;
    if (r->raw_rows >= each) {
        return STATUS_OK;
    }
    DEVICE_RELEASE(r->device, r->raw);
    r->raw = NULL;
    r->raw_rows = 0;
    for (;; sums /= 2) {
        st = device_allocate(r->device, sums * each * r->row_bytes, "rows to be added up", &r->raw);
        if (st == STATUS_OK || sums == 1) {
            break;
        }
        report_clear();
        r->device->is_full = was_full;
    }
    r->raw_rows = st == STATUS_OK ? sums * each : 0;
    return st;
}

/* Prepares sums of ifs: the kernel, memory and the list of ifs. */
static status_t rows_prepare_sums(struct rows *r, const struct resident_rows_sums *sums)
{
    device_t *device = r->device;
    const enum program_source source = SOURCE_ADD_ROWS;
    if (!r->add) {
        TRY(launch_build(device, &source, 1, &(struct text){0}, "add_rows", &r->add));
    }
    TRY(rows_take_raw(r, sums->each));
    if (r->nifs < sums->nifs) {
        DEVICE_RELEASE(device, r->ifs);
        r->ifs = NULL;
        r->nifs = 0;
        TRY(device_allocate(device, sums->nifs * sizeof *sums->ifs, "a list of pols", &r->ifs));
        r->nifs = sums->nifs;
    }
    return device_write(device, r->ifs, 0, sums->ifs, sums->nifs * sizeof *sums->ifs,
                        "a list of pols");
}

static status_t rows_add_up(struct rows *r, const struct resident_rows_sums *sums, uint64_t count,
                            cl_mem to, uint64_t at)
{
    const struct launch_size size = launch_over(count * sums->nchannels, ADD_GROUP);
    return LAUNCH(r->device, r->add, size, NULL, STEP_FILTER, ARGUMENT(r->raw),
                  ARGUMENT_ULONG(sums->each), ARGUMENT_UINT(sums->nifs_there), ARGUMENT(r->ifs),
                  ARGUMENT_UINT(sums->nifs), ARGUMENT_UINT(sums->nchannels), ARGUMENT_ULONG(count),
                  ARGUMENT(to), ARGUMENT_ULONG(at / sizeof(float)));
}

static status_t rows_fetch(resident_rows_t *base, const struct resident_rows_sums *sums,
                           uint64_t first, uint64_t count, buffer_t *in, uint64_t at)
{
    struct rows *r = (struct rows *)base;
    const struct opencl_buffer *to = (const struct opencl_buffer *)in;
    if (rows_is_plain(sums)) {
        return rows_gather(r, first, count, to->memory, at);
    }
    TRY(rows_prepare_sums(r, sums));
    uint64_t steps = r->raw_rows / sums->each;
    for (uint64_t i = 0; i < count; i += steps) {
        uint64_t now = min_u64(steps, count - i);
        TRY(rows_gather(r, (first + i) * sums->each, now * sums->each, r->raw, 0));
        TRY(rows_add_up(r, sums, now, to->memory, at + i * sums->nchannels * sizeof(float)));
    }
    return STATUS_OK;
}

static status_t rows_blank(resident_rows_t *base, buffer_t *in, uint64_t at, uint64_t bytes)
{
    return device_clear(((const struct rows *)base)->device,
                        ((const struct opencl_buffer *)in)->memory, at, bytes);
}

const struct resident_rows_ops opencl_resident_rows = {.stage = {.destroy = rows_destroy},
                                                       .create = rows_create,
                                                       .keep = rows_keep,
                                                       .clear = rows_clear,
                                                       .holds = rows_holds,
                                                       .fetch = rows_fetch,
                                                       .blank = rows_blank};
