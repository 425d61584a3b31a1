/* numpy's .npy: a magic word, a version, and a Python dictionary of type, order and shape before
 * the numbers (numpy/lib/_format_impl.py). With brackets for parentheses it is YAML. */
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/plain.h"
#include "input/format/recorder.h"
#include "job/yaml/yaml_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NPY_MAGIC = 6, NPY_FIXED = 12, NPY_LONGEST = 1 << 20, NPY_AXES = 64 };

static int npy_begins(const struct text *begin)
{
    return begin->length == NPY_MAGIC && memcmp(begin->data, "\x93NUMPY", NPY_MAGIC) == 0;
}

/* Reads the dictionary as a tree; the numbers begin at *at. */
static status_t npy_read_header(const char *path, struct tree **out, uint64_t *at)
{
    SCOPED(text_free) struct text head = {0};
    SCOPED(mistakes_free) struct mistakes mistakes = {.file = path};
    TRY(recorder_head(path, NPY_FIXED, &head));
    REQUIRE(head.length == NPY_FIXED, STATUS_DATA,
            "%s: its .npy header ends after %zu bytes, expected more than %d", path, head.length,
            NPY_FIXED);
    const unsigned char *bytes = (const unsigned char *)head.data;
    const unsigned major = bytes[NPY_MAGIC];
    REQUIRE(major >= 1 && major <= 3, STATUS_DATA, "%s: its .npy version is %u, expected 1, 2 or 3",
            path, major);
    uint64_t length = bytes[8] | (uint64_t)bytes[9]
                                     << 8; /* little-endian, from version 2 on 32 bits */
    length |= major > 1 ? (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24 : 0;
    const uint64_t begin = major > 1 ? NPY_FIXED : NPY_FIXED - 2;
    *at = begin + length;
    text_free(&head);
    TRY(recorder_head(path, min_u64(*at, NPY_LONGEST), &head));
    REQUIRE(head.length == *at, STATUS_DATA,
            "%s: its .npy header ends after %zu bytes, expected %" PRIu64, path, head.length, *at);
    for (uint64_t i = begin; i < *at; i++) {
        char c = head.data[i];
        head.data[i] = c == '(' ? '[' : c == ')' ? ']' : c;
    }
    TRY(tree_read(head.data + begin, length, NULL, &mistakes, out));
    return plain_check_mistakes(&mistakes, ".npy header, expected a dictionary");
}

/* One type such as <i2, which is shown in `name`. Returns 0 when it is none of numbers. */
static int npy_parse_number(const struct tree *node, struct number_type *out)
{
    char name[32];
    unsigned long bytes = 0;
    const char *text = node->kind == TREE_VALUE ? node->text : "";
    if (strlen(text) < 3 || !strchr("<>|=", text[0]) || !strchr("iufc", text[1])) {
        return 0;
    }
    int is_complex = text[1] == 'c';
    bytes = strtoul(text + 2, NULL, 10);
    snprintf(name, sizeof name, "%c%c%lu%s", is_complex ? 'c' : 'r', is_complex ? 'f' : text[1],
             bytes <= 16 ? 8 * bytes / (is_complex ? 2 : 1) : 0, text[0] == '>' ? "_be" : "_le");
    return number_type_parse(name, out);
}

/* A type, or two members of the same one, which are real and imaginary part:
 * [['re', '<i2'], ['im', '<i2']]. */
static int npy_parse_type(const struct tree *node, struct number_type *out)
{
    if (node->kind != TREE_LIST || node->nchildren != 2) {
        return npy_parse_number(node, out);
    }
    const struct tree *members[2];
    for (int i = 0; i < 2; i++) {
        const struct tree *member = node->child[i];
        if (member->kind != TREE_LIST || member->nchildren != 2) {
            return 0;
        }
        members[i] = member->child[1];
    }
    static const char *const names[][2] = {{"re", "im"}, {"real", "imag"}, {"r", "i"}, {"I", "Q"}};
    int is_complex = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        is_complex |= node->child[0]->child[0]->kind == TREE_VALUE &&
                      node->child[1]->child[0]->kind == TREE_VALUE &&
                      strcasecmp(node->child[0]->child[0]->text, names[i][0]) == 0 &&
                      strcasecmp(node->child[1]->child[0]->text, names[i][1]) == 0;
    }
    int is_it = is_complex && npy_parse_number(members[0], out) &&
                npy_parse_number(members[1], out) &&
                strcmp(members[0]->text, members[1]->text) == 0 && !out->is_complex;
    out->is_complex = 1;
    return is_it;
}

/* Axes that no key of the job states: the longest is time; the last one of two real numbers, of
 * three axes or more, is real and imaginary part; then polarisations if they are two, and so on. */
static status_t npy_assume_axes(struct plain *plain)
{
    static const enum axis streams[] = {AXIS_POL, AXIS_CHAN, AXIS_STATION, AXIS_BEAM};
    char *text = plain->context;
    uint32_t time = 0;
    uint32_t used = 0;
    size_t length = 0;
    for (uint32_t i = 1; i < plain->ndims; i++) {
        time = plain->shape[i] > plain->shape[time] ? i : time;
    }
    for (uint32_t i = 0; i < plain->ndims; i++) {
        int is_reim =
            i >= 2 && i + 1 == plain->ndims && plain->shape[i] == 2 && !plain->type.is_complex;
        used += i != time && used == 0 && plain->shape[i] > 2;
        enum axis axis = i == time ? AXIS_TIME : is_reim ? AXIS_REIM : streams[used++ % 4];
        length += (size_t)snprintf(text + length, NPY_AXES - length, "%s%s", i > 0 ? "," : "",
                                   axis_name(axis));
    }
    plain->axes = text;
    return assume_unless(plain->ndims == 1 || plain->layout->axes, &plain->archive->assumed,
                         "axes %s by their sizes; input.layout.axes says more", text);
}

/* Reads the header's dictionary: type, shape and order. */
static status_t npy_read(struct plain *out)
{
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    TRY(npy_read_header(out->path, &root, &out->at));
    const struct tree *type = tree_member(root, "descr");
    const struct tree *shape = tree_member(root, "shape");
    const char *order = tree_value(root, "fortran_order");
    REQUIRE(type && shape && order, STATUS_DATA, "%s: its .npy header has no %s", out->path,
            !type    ? "descr"
            : !shape ? "shape"
                     : "fortran_order");
    REQUIRE(npy_parse_type(type, &out->type), STATUS_DATA,
            "%s: its dtype is %.40s, expected integers, floating point or complex numbers of up to "
            "64 bits a part, or two equal ones named re, im; real, imag; r, i; or I, Q",
            out->path, type->kind == TREE_VALUE ? type->text : "a structure");
    REQUIRE(strcmp(order, "True") == 0 || strcmp(order, "False") == 0, STATUS_DATA,
            "%s: its fortran_order is %.40s, expected True or False", out->path, order);
    REQUIRE(shape->kind == TREE_LIST && shape->nchildren > 0 && shape->nchildren < AXES_TEXT_DIMS,
            STATUS_DATA, "%s: its shape has %zu sizes, expected 1 to %d", out->path,
            shape->nchildren, AXES_TEXT_DIMS - 1);
    for (out->ndims = 0; out->ndims < shape->nchildren; out->ndims++) {
        const struct tree *size = shape->child[out->ndims];
        REQUIRE(size->kind == TREE_VALUE && tree_parse_whole(size->text, &out->shape[out->ndims]),
                STATUS_DATA, "%s: size %u of its shape is %.40s, expected a whole number",
                out->path, out->ndims, size->kind == TREE_VALUE ? size->text : "a list");
    }
    out->known = "numpy";
    out->is_reversed = *order == 'T';
    out->bytes = out->file_bytes - out->at;
    return npy_assume_axes(out);
}

static status_t npy_open_file(const char *path, const struct job_layout *layout,
                              struct archive **out)
{
    char axes[NPY_AXES];
    return plain_open(path, layout, npy_read, NULL, axes, out);
}

const struct format npy_format = {.name = "npy",
                                  .takes_axes = 1,
                                  .is_no_product = 1,
                                  .begins = npy_begins,
                                  .begin_bytes = NPY_MAGIC,
                                  .open_file = npy_open_file};
