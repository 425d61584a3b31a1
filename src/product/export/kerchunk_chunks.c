/* Where in a file the chunks of an array lie. */
#include "base/memory.h"
#include "io/file.h"
#include "product/export/kerchunk.h"

#include <stdlib.h>
#include <string.h>

/* The largest divisor of n that is at most `most`, at least 1. */
static uint64_t kerchunk_divisor(uint64_t n, uint64_t most)
{
    uint64_t best = 1;
    for (uint64_t i = 1; i <= n / i; i++) {
        if (n % i == 0) {
            best = i <= most && i > best ? i : best;
            best = n / i <= most && n / i > best ? n / i : best;
        }
    }
    return best;
}

/* So many of n to a chunk, at most `most`, that the last chunk lacks little. */
static uint64_t kerchunk_even(uint64_t n, uint64_t most)
{
    uint64_t best = most;
    uint64_t least = UINT64_MAX;
    uint64_t whole = kerchunk_divisor(n, most);
    if (n <= most || whole >= most / 2) {
        return n <= most ? n : whole;
    }
    for (uint64_t each = most; each > most / 2; each--) {
        uint64_t lacking = ceil_div_u64(n, each) * each - n;
        best = lacking < least ? each : best;
        least = min_u64(least, lacking);
    }
    return best;
}

/* An array in one piece is cut into chunks that lie in one piece, too: along the first axis of
 * which one step is small enough, all before it by ones. */
static void kerchunk_cut(struct kerchunk_array *array)
{
    const struct h5_dataset *data = &array->data;
    uint64_t whole = data->count * array->element_bytes;
    uint64_t most = max_u64(KERCHUNK_BYTES, ceil_div_u64(whole, KERCHUNK_MOST));
    uint64_t step = whole; /* bytes of one step along the axis */
    for (int i = 0; i < data->rank; i++) {
        uint64_t n = max_u64(data->dims[i], 1);
        step /= n;
        if (step > most) {
            array->chunk[i] = 1;
            continue;
        }
        /* Behind the first axis a last chunk that lacks something would be one of many. */
        uint64_t fit = min_u64(max_u64(most / max_u64(step, 1), 1), n);
        array->chunk[i] = i == 0 ? kerchunk_even(n, fit) : kerchunk_divisor(n, fit);
        for (int j = i + 1; j < data->rank; j++) {
            array->chunk[j] = max_u64(data->dims[j], 1);
        }
        break;
    }
}

status_t kerchunk_open(hid_t file, const char *path, const char *name, struct kerchunk_array *out)
{
    status_t st = STATUS_OK;
    hid_t plist = -1;
    *out = (struct kerchunk_array){.path = path, .name = name};
    TRY(h5_dataset_open(file, path, name, &out->data));
    out->element_bytes = H5Tget_size(out->data.type);
    plist = H5Dget_create_plist(out->data.id);
    H5_TRY(plist, "%s: how %s is stored cannot be read", path, name);
    out->is_chunked = H5Pget_layout(plist) == H5D_CHUNKED;
    if (out->is_chunked) {
        H5_TRY(H5Pget_chunk(plist, out->data.rank, out->chunk), "%s: the chunks of %s", path, name);
    } else {
        kerchunk_cut(out);
    }
out:
    h5_close(plist);
    return st;
}

void kerchunk_close(struct kerchunk_array *array)
{
    h5_dataset_close(&array->data);
}

static status_t kerchunk_put_reference(const char *key, uint64_t at, uint64_t bytes,
                                       struct json *json)
{
    json_list(json, key);
    json_text(json, NULL, "{{u}}");
    json_u64(json, NULL, at);
    json_u64(json, NULL, bytes);
    json_list_end(json);
    return json->st;
}

/* The bytes themselves. */
static status_t kerchunk_put_inline(const struct kerchunk_array *array, const char *key,
                                    uint64_t at, uint64_t there, uint64_t bytes, struct json *json)
{
    status_t st = STATUS_OK;
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char prefix[] = "base64:";
    int fd = -1;
    uint8_t *raw = NULL;
    struct text text = {0};
    TRY(memory_zeroed((size_t)bytes + 2, 1, "a chunk", &raw));
    TRY(file_open_read(array->path, &fd));
    TRY(file_read(fd, array->path, at, raw, there));
    TRY(text_add_bytes(&text, prefix, strlen(prefix)));
    for (uint64_t i = 0; i < bytes; i += 3) {
        uint32_t three = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | raw[i + 2];
        char four[4];
        for (int k = 0; k < 4; k++) {
            four[k] = i + (uint64_t)k > bytes ? '=' : letters[three >> (18 - 6 * k) & 63];
        }
        TRY(text_add_bytes(&text, four, sizeof four));
    }
    json_bytes(json, key, text.data, text.length);
    st = json->st;
out:
    free(raw);
    text_free(&text);
    file_close(fd);
    return st;
}

/* "data/0.0.3" */
static status_t kerchunk_name_chunk(const struct kerchunk_array *array, const hsize_t *at,
                                    struct text *out)
{
    status_t st = STATUS_OK;
    out->length = 0;
    TRY(text_add(out, "%s/%s", array->name, array->data.rank == 0 ? "0" : ""));
    for (int i = 0; i < array->data.rank; i++) {
        TRY(text_add(out, "%s%llu", i > 0 ? "." : "",
                     (unsigned long long)(at[i] / array->chunk[i])));
    }
    TRY(array->has_pairs ? text_add(out, ".0") : STATUS_OK);
out:
    return st;
}

static status_t kerchunk_put_chunk(const struct kerchunk_array *array, const char *key,
                                   const hsize_t *at, struct json *json)
{
    status_t st = STATUS_OK;
    const struct h5_dataset *data = &array->data;
    unsigned mask = 0;
    haddr_t place = HADDR_UNDEF;
    hsize_t stored = 0;
    if (array->is_chunked) {
        H5_TRY(H5Dget_chunk_info_by_coord(data->id, at, &mask, &place, &stored),
               "%s: chunk %s cannot be found", array->path, key);
        REQUIRE(place != HADDR_UNDEF && mask == 0, STATUS_DATA,
                "%s: chunk %s is not there, or was stored otherwise than the others", array->path,
                key);
        TRY(kerchunk_put_reference(key, place, stored, json));
        goto out;
    }
    uint64_t bytes = array->element_bytes;
    uint64_t first = 0;
    uint64_t there = array->element_bytes;
    for (int i = 0; i < data->rank; i++) {
        bytes *= array->chunk[i];
        there *= min_u64(array->chunk[i], data->dims[i] - at[i]);
        first = first * data->dims[i] + at[i];
    }
    uint64_t offset = h5_offset(data->id) + first * array->element_bytes;
    TRY(there == bytes ? kerchunk_put_reference(key, offset, bytes, json)
                       : kerchunk_put_inline(array, key, offset, there, bytes, json));
out:
    return st;
}

status_t kerchunk_put_chunks(const struct kerchunk_array *array, struct json *json, uint64_t *count)
{
    status_t st = STATUS_OK;
    const struct h5_dataset *data = &array->data;
    hsize_t at[H5S_MAX_RANK] = {0};
    struct text key = {0};
    REQUIRE(array->is_chunked || h5_offset(data->id) != HADDR_UNDEF, STATUS_DATA,
            "%s: %s has no place in the file", array->path, array->name);
    for (int axis = data->count > 0 ? 0 : -1; axis >= 0;) {
        TRY(kerchunk_name_chunk(array, at, &key));
        TRY(kerchunk_put_chunk(array, key.data, at, json));
        ++*count;
        for (axis = data->rank - 1; axis >= 0; axis--) {
            at[axis] += array->chunk[axis];
            if (at[axis] < data->dims[axis]) {
                break;
            }
            at[axis] = 0;
        }
    }
out:
    text_free(&key);
    return st;
}
