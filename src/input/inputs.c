/* The list of a product's input files, and what identifies their contents. */
#include "input/inputs.h"

#include "base/memory.h"
#include "dsp/fir/prototype.h"
#include "input/coefficients.h"
#include "io/crc.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read to know what is in a file; in all files, if that leaves no file with less
 * than the least. */
static const uint64_t most_bytes = 3 << 20;
static const uint64_t all_bytes = 64 << 20;
static const uint64_t least_bytes = 12 << 10;

/* Adds a file; none for NULL. */
static status_t inputs_add(struct inputs *inputs, const char *path, const char *small,
                           uint32_t products)
{
    if (!path) {
        return STATUS_OK;
    }
    TRY(memory_grown(inputs->count + 1, sizeof *inputs->files, "names of the input",
                     &inputs->files));
    inputs->files[inputs->count] = (struct input){.small = small, .products = products};
    TRY(memory_text(path, &inputs->files[inputs->count].path));
    inputs->count++;
    return STATUS_OK;
}

/* Orders by path, then by the order in which they were added. */
static int inputs_compare(const void *left, const void *right)
{
    const struct input *a = *(const struct input *const *)left;
    const struct input *b = *(const struct input *const *)right;
    int order = strcmp(a->path, b->path);
    return order ? order : (a > b) - (a < b);
}

/* Drops repeated files: a virtual dataset names a source once for each piece. */
static status_t inputs_drop_repeated(struct inputs *inputs)
{
    SCOPED(free_at) struct input **sorted = NULL;
    size_t kept = 0;
    struct input *last = NULL;
    TRY(memory_zeroed(inputs->count, sizeof *sorted, "names of the input", &sorted));
    for (size_t i = 0; i < inputs->count; i++) {
        sorted[i] = &inputs->files[i];
    }
    qsort(sorted, inputs->count, sizeof *sorted, inputs_compare);
    for (size_t i = 0; i < inputs->count; i++) {
        if (last && strcmp(last->path, sorted[i]->path) == 0) {
            last->products |= sorted[i]->products;
            free(memory_move(&sorted[i]->path));
        } else {
            last = sorted[i];
        }
    }
    for (size_t i = 0; i < inputs->count; i++) {
        if (inputs->files[i].path) {
            inputs->files[kept++] = inputs->files[i];
        }
    }
    inputs->count = kept;
    return STATUS_OK;
}

/* A file of coefficients, without the name of what is taken of it. */
static status_t inputs_add_coefficients(struct inputs *inputs, const char *named, const char *small,
                                        uint32_t products)
{
    SCOPED(free_at) char *path = NULL;
    const char *member = NULL;
    TRY(named ? coefficients_split(named, &path, &member) : STATUS_OK);
    return inputs_add(inputs, path, small, products);
}

/* Returns the products of a filter bank, as bits (struct input). */
static uint32_t inputs_products_of(const struct job *job, uint32_t bank)
{
    uint32_t products = 0;
    for (uint32_t i = 0; i < job->nproducts; i++) {
        products |= job->products[i].bank == bank ? UINT32_C(1) << i : 0;
    }
    return products;
}

/* Returns the file of gains by which its channels are divided, which belongs to the product; NULL:
 * there is none. */
static const char *job_product_gains(const struct job_product *product)
{
    const char *path = NULL;
    for (uint32_t i = 0; i < product->ndroop; i++) {
        path = product->droop[i].path ? product->droop[i].path : path;
    }
    return path;
}

status_t inputs_of_bank(const struct job *job, const struct archive *archive, struct inputs *out)
{
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        TRY(inputs_add(out, part->path, NULL, UINT32_MAX));
        for (uint32_t j = 0; j < part->storage.sources.count; j++) {
            TRY(inputs_add(out, part->storage.sources.items[j].path, NULL, UINT32_MAX));
        }
    }
    for (uint32_t i = 0; i < job->nbanks; i++) {
        TRY(inputs_add_coefficients(out, job->banks[i].window.path, "the file of the window",
                                    inputs_products_of(job, i)));
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        const struct job_product *product = &job->products[i];
        const uint32_t bit = UINT32_C(1) << i;
        TRY(inputs_add(out, product->sum_file, "the file of sum_weights", bit));
        TRY(inputs_add(out, job_product_gains(product), "the table of gains", bit));
        TRY(inputs_add(out, product->flag.mask, "the mask", bit));
    }
    if (job->synthesise.prototype && !telescope_find(job->synthesise.prototype)) {
        TRY(inputs_add_coefficients(out, job->synthesise.prototype, "the file of the prototype",
                                    UINT32_MAX));
    }
    for (uint32_t i = 0; i < job->nfilters; i++) {
        const char *path = job_filter_file(&job->filters[i]);
        int is_name = path && job->filters[i].source != FILTER_COEFFICIENTS && telescope_find(path);
        TRY(inputs_add_coefficients(out, is_name ? NULL : path, "the file of coefficients",
                                    UINT32_MAX));
    }
    const char *const of_array[] = {job->array.table, job->array.iers, job->array.delays,
                                    job->beam_weights};
    for (size_t i = 0; i < sizeof of_array / sizeof *of_array; i++) {
        TRY(inputs_add(out, of_array[i], "a file of the array", UINT32_MAX));
    }
    return inputs_drop_repeated(out);
}

status_t inputs_of_product(const struct inputs *inputs, uint32_t i, struct inputs *out)
{
    for (size_t at = 0; at < inputs->count; at++) {
        const struct input *input = &inputs->files[at];
        TRY(input->products >> i & 1 ? inputs_add(out, input->path, input->small, UINT32_MAX)
                                     : STATUS_OK);
    }
    return STATUS_OK;
}

status_t inputs_of_filterbank(const char *path, const struct fbh5 *fbh5, struct inputs *out)
{
    TRY(inputs_add(out, path, NULL, UINT32_MAX));
    for (uint32_t i = 0; fbh5 && i < fbh5->storage.sources.count; i++) {
        TRY(inputs_add(out, fbh5->storage.sources.items[i].path, NULL, UINT32_MAX));
    }
    return inputs_drop_repeated(out);
}

static status_t inputs_add_content(const struct inputs *inputs, size_t i, uint64_t bytes,
                                   uint32_t crc, struct text *out)
{
    return text_add(out, "%s%s (%" PRIu64 " bytes), sampled CRC-32 %08" PRIx32, i ? "\n" : "",
                    inputs->files[i].path, bytes, crc);
}

status_t inputs_contents_room(const struct inputs *inputs, struct text *out)
{
    for (size_t i = 0; i < inputs->count; i++) {
        struct identity identity = {.bytes = UINT64_MAX};
        (void)report_failed(identity_of_path(inputs->files[i].path, &identity));
        TRY(inputs_add_content(inputs, i, identity.bytes, 0, out));
    }
    return STATUS_OK;
}

/* Bytes of a file that are looked at. */
static uint64_t inputs_most_of(const struct inputs *inputs, const struct input *input)
{
    uint64_t share = all_bytes / inputs->count;
    return input->small ? UINT64_MAX : min_u64(max_u64(share, least_bytes), most_bytes);
}

enum {
    BUFFER_BYTES = 1 << 20,
    PIECES = 8,              /* between begin and end */
    PIECES_FROM = 512 << 10, /* with less to be read one is enough: each costs a disk's seek */
};

struct sampled {
    const char *path;
    int fd;
    char *buffer;
    uint32_t crc;
};

static status_t inputs_sample_add(struct sampled *s, uint64_t from, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES) {
        uint64_t count = min_u64(BUFFER_BYTES, bytes - at);
        TRY(file_read(s->fd, s->path, from + at, s->buffer, count));
        s->crc = crc_more(s->crc, s->buffer, (size_t)count);
    }
    return STATUS_OK;
}

static status_t inputs_sample_some(struct sampled *s, uint64_t size, uint64_t most)
{
    uint64_t end = most / 3;
    uint64_t pieces = most >= PIECES_FROM ? PIECES : 1;
    uint64_t piece = end / pieces;
    uint64_t step = (size - 2 * end - piece) / (pieces + 1);
    TRY(inputs_sample_add(s, 0, end));
    for (uint64_t i = 1; i <= pieces; i++) {
        TRY(inputs_sample_add(s, end + i * step, piece));
    }
    return inputs_sample_add(s, size - end, end);
}

SCOPED_CALLS(sampled_free, struct sampled, free(at->buffer), file_close(at->fd))

/* Samples a file's contents: fast for files of any size, and the same for every copy. Sets the size
 * of the file at `path`, and the CRC-32 of all of it if it has at most `most` bytes; else of `most`
 * bytes, a third of them at its begin, a third at its end, the rest in pieces evenly between: at
 * places that follow from its size and `most` alone. Fails with DATA. */
static status_t inputs_sample(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc)
{
    SCOPED(sampled_free) struct sampled s = {.path = path, .fd = -1};
    struct identity identity = {.bytes = 0};
    TRY(identity_of_path(path, &identity)); /* a pipe is never opened */
    TRY(memory_aligned(BUFFER_BYTES, 1, "a piece of a file", &s.buffer));
    TRY(file_open_read(path, &s.fd));
    TRY(identity_of_open(s.fd, path, &identity));
    s.crc = crc_of("", 0);
    TRY(identity.bytes <= most ? inputs_sample_add(&s, 0, identity.bytes)
                               : inputs_sample_some(&s, identity.bytes, most));
    *bytes = identity.bytes;
    *crc = s.crc;
    return STATUS_OK;
}

status_t inputs_contents(const struct inputs *inputs, struct text *out)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->files[i];
        uint64_t bytes = 0;
        uint32_t crc = 0;
        TRY(inputs_sample(input->path, inputs_most_of(inputs, input), &bytes, &crc));
        TRY(inputs_add_content(inputs, i, bytes, crc, out));
    }
    return STATUS_OK;
}

status_t inputs_later(const struct inputs *inputs, const struct identity *made, const char **out)
{
    const char *found = NULL;
    for (size_t i = 0; i < inputs->count && !found; i++) {
        const struct input *input = &inputs->files[i];
        struct identity now;
        TRY(identity_of_path(input->path, &now));
        int is_later = now.changed_s != made->changed_s ? now.changed_s > made->changed_s
                                                        : now.changed_ns > made->changed_ns;
        found = is_later && now.bytes > inputs_most_of(inputs, input) ? input->path : NULL;
    }
    *out = found;
    return STATUS_OK;
}

void inputs_free(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->files[i].path);
    }
    free(inputs->files);
    *inputs = (struct inputs){0};
}
