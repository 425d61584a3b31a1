/* References of kerchunk (version 1): a JSON by which fsspec shows a product as zarr, whose chunks
 * are pieces of the product's own file. */
#include "base/memory.h"
#include "base/units.h"
#include "io/folder/folder.h"
#include "io/hdf5/h5_file.h"
#include "product/export/export.h"
#include "product/export/export_file.h"
#include "product/export/kerchunk.h"
#include "product/product.h"

#include <stdlib.h>
#include <string.h>

/* Adds what json_begin() and so on made as a text of its own: zarr's files are such. */
static status_t kerchunk_put_file(struct json *refs, const char *name, const char *file,
                                  struct json *content)
{
    status_t st = content->st;
    struct text key = {0};
    TRY(st);
    TRY(text_add(&key, "%s%s%s", name ? name : "", name ? "/" : "", file));
    json_bytes(refs, key.data, content->text.data, content->text.length);
out:
    text_free(&key);
    json_free(content);
    return st;
}

static status_t kerchunk_put_array(hid_t file, const char *path, const char *name,
                                   struct json *refs, uint64_t *count)
{
    status_t st = STATUS_OK;
    struct kerchunk_array array = {.path = NULL};
    struct json shape = {.depth = 0};
    struct json words = {.depth = 0};
    TRY(kerchunk_open(file, path, name, &array));
    TRY(kerchunk_find_type(&array));
    TRY(kerchunk_put_shape(&array, &shape));
    TRY(kerchunk_put_file(refs, name, ".zarray", &shape));
    TRY(kerchunk_put_words(&array, &words));
    TRY(kerchunk_put_file(refs, name, ".zattrs", &words));
    TRY(kerchunk_put_chunks(&array, refs, count));
out:
    json_free(&shape);
    json_free(&words);
    kerchunk_close(&array);
    return st;
}

static status_t kerchunk_put_root(hid_t file, const char *path, struct json *refs)
{
    status_t st = STATUS_OK;
    struct json group = {.depth = 0};
    struct json words = {.depth = 0};
    json_begin(&group, NULL);
    json_u64(&group, "zarr_format", 2);
    json_end(&group);
    TRY(kerchunk_put_file(refs, NULL, ".zgroup", &group));
    json_begin(&words, NULL);
    TRY(kerchunk_put_attributes(file, path, &words));
    json_end(&words);
    TRY(kerchunk_put_file(refs, NULL, ".zattrs", &words));
out:
    json_free(&group);
    json_free(&words);
    return st;
}

/* All datasets of the root; what explains how it was made stays with the product. */
static status_t kerchunk_put_all(const char *path, struct json *refs, uint64_t *count)
{
    status_t st = STATUS_OK;
    struct h5_names names = {0};
    hid_t file = -1;
    hid_t object = -1;
    TRY(h5_open_file(path, &file));
    TRY(kerchunk_put_root(file, path, refs));
    TRY(h5_list_links(file, path, "/", &names));
    for (size_t i = 0; i < names.count; i++) {
        object = H5Oopen(file, names.names[i], H5P_DEFAULT);
        H5_TRY(object, "%s: %s cannot be opened", path, names.names[i]);
        if (H5Iget_type(object) == H5I_DATASET) {
            TRY(kerchunk_put_array(file, path, names.names[i], refs, count));
        }
        h5_close(object);
        object = -1;
    }
out:
    h5_close(object);
    h5_close(file);
    h5_free_texts(names.names, names.count);
    return st;
}

/* Where readers find the product: as chosen, else where it lies now. */
static status_t kerchunk_find_url(const struct export_kerchunk_options *options, char **out)
{
    status_t st = STATUS_OK;
    char *path = NULL;
    if (options->url) {
        return memory_text(options->url, out);
    }
    path = realpath(options->product, NULL);
    REQUIRE(path, STATUS_DATA, "%s has no path", options->product);
    *out = path;
out:
    return st;
}

static status_t kerchunk_write(const struct export_kerchunk_options *options, const char *path,
                               const struct text *content, struct text *said, int *is_before)
{
    status_t st = STATUS_OK;
    struct guard reads = {0};
    struct export_file file = {.fd = -1};
    const struct export_plan plan = {.path = path,
                                     .mark = MARK_EXPORT,
                                     .force = options->force,
                                     .bytes = content->length,
                                     .head = content};
    TRY(guard_add(&reads, "the product which it refers to,", options->product));
    TRY(export_file_check(&plan, &reads));
    TRY(export_file_begin(&plan, &file));
    TRY(export_file_publish(&file));
    TRY(export_file_say_before(&file, said, is_before));
out:
    export_file_end(&file);
    guard_free(&reads);
    return st;
}

status_t export_kerchunk(const struct export_kerchunk_options *options, struct text *said)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    struct json json = {.depth = 0};
    char *path = NULL;
    char *url = NULL;
    uint64_t count = 0;
    int is_before = 0;
    char text[UNITS_TEXT];
    TRY(export_name(options->out, options->product, ".json", &path));
    TRY(product_open(options->product, &product));
    REQUIRE(product, STATUS_DATA,
            "%s is no product of voltmill: kerchunk itself makes references to other HDF5 files",
            options->product);
    TRY(kerchunk_find_url(options, &url));
    json_begin(&json, NULL);
    json_u64(&json, "version", 1);
    json_begin(&json, "templates");
    json_text(&json, "u", url);
    json_end(&json);
    json_begin(&json, "refs");
    TRY(kerchunk_put_all(options->product, &json, &count));
    json_end(&json);
    json_end(&json);
    TRY(json.st);
    TRY(text_add_bytes(&json.text, "\n", 1));
    TRY(kerchunk_write(options, path, &json.text, said, &is_before));
    TRY(is_before
            ? STATUS_OK
            : text_add_shown(said, "%s: kerchunk, %s %s to %s\n", path, units_count(count, text),
                             units_plural(count, "reference", "references"), url));
out:
    json_free(&json);
    product_destroy(product);
    free(path);
    free(url);
    return st;
}
