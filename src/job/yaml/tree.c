/* How a tree is built, changed, searched and freed; the numbers in its texts; where each mistake
 * stands, the order of lines in which they are reported, and how many are shown. */
#include "job/yaml/tree.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

status_t tree_new(enum tree_kind kind, const char *text, struct tree **out)
{
    SCOPED(tree_destroy_at) struct tree *node = NULL;
    TRY(memory_zeroed(1, sizeof *node, "a node of a document", &node));
    node->kind = kind;
    TRY(memory_text(text, &node->text));
    *out = memory_move(&node);
    return STATUS_OK;
}

status_t tree_add(struct tree *parent, const char *key, struct tree **child)
{
    TRY(memory_grow(parent->nchildren, sizeof *parent->child, "a list", &parent->child));
    TRY(memory_text(key, &(*child)->key));
    (*child)->up = parent;
    (*child)->index = parent->nchildren;
    parent->child[parent->nchildren++] = *child;
    *child = NULL;
    return STATUS_OK;
}

status_t tree_add_value(struct tree *parent, const char *key, const char *text)
{
    SCOPED(tree_destroy_at) struct tree *value = NULL;
    TRY(tree_new(TREE_VALUE, text, &value));
    value->is_plain = 1;
    value->line = parent->line;
    value->set = parent->set;
    return tree_add(parent, key, &value);
}

status_t tree_set_text(struct tree *node, const char *text)
{
    char *before = node->text;
    status_t st = memory_text(text, &node->text);
    if (st == STATUS_OK) {
        free(before);
    }
    return st;
}

void tree_replace(struct tree *parent, size_t index, struct tree **child)
{
    struct tree *old = parent->child[index];
    (*child)->key = old->key;
    (*child)->up = parent;
    (*child)->index = index;
    old->key = NULL;
    parent->child[index] = *child;
    *child = NULL;
    tree_destroy(old);
}

void tree_remove(struct tree *parent, size_t index)
{
    tree_destroy(parent->child[index]);
    parent->nchildren--;
    for (size_t i = index; i < parent->nchildren; i++) {
        parent->child[i] = parent->child[i + 1];
        parent->child[i]->index = i;
    }
}

status_t tree_wrap(struct tree *node)
{
    SCOPED(tree_destroy_at) struct tree *entry = NULL;
    struct tree list = {.kind = TREE_LIST, .up = node->up, .index = node->index};
    TRY(tree_new(node->kind, NULL, &entry));
    /* Room for the entry first: what follows cannot fail. */
    TRY(memory_zeroed(1, sizeof(struct tree *), "a list of one", &list.child));
    *entry = *node;
    entry->key = NULL;
    entry->row = NULL;
    entry->up = node;
    entry->index = 0;
    for (size_t i = 0; i < entry->nchildren; i++) {
        entry->child[i]->up = entry;
    }
    list.key = node->key;
    list.row = node->row;
    list.line = node->line;
    list.set = node->set;
    list.is_wrapped = 1;
    list.nchildren = 1;
    *node = list;
    node->child[0] = memory_move(&entry);
    return STATUS_OK;
}

static struct tree *tree_member_of(const struct tree *node, const char *key, size_t length)
{
    for (size_t i = 0; i < node->nchildren; i++) {
        const char *name = node->child[i]->key;
        if (strncmp(name, key, length) == 0 && name[length] == '\0') {
            return node->child[i];
        }
    }
    return NULL;
}

struct tree *tree_member(const struct tree *node, const char *key)
{
    return node->kind == TREE_MAPPING ? tree_member_of(node, key, strlen(key)) : NULL;
}

/* Returns the child that the first `length` characters of `name` mean, or NULL. */
static struct tree *tree_step(const struct tree *node, const char *name, size_t length)
{
    if (node->kind == TREE_MAPPING) {
        return tree_member_of(node, name, length);
    }
    char digits[16];
    uint64_t index = 0;
    if (node->kind == TREE_VALUE || length >= sizeof digits) {
        return NULL;
    }
    memcpy(digits, name, length);
    digits[length] = '\0';
    int found = units_parse_u64(digits, &index) && index < node->nchildren;
    return found ? node->child[index] : NULL;
}

/* Follows a dotted path ("products.0.file") as far as there are nodes. Returns the last one; *rest
 * is the part of `path` after it, "" if all was found. */
static struct tree *tree_walk(struct tree *root, const char *path, const char **rest)
{
    struct tree *node = root;
    while (*path) {
        size_t length = strcspn(path, ".");
        struct tree *next = tree_step(node, path, length);
        if (!next) {
            break;
        }
        node = next;
        path += length;
        path += *path == '.';
    }
    *rest = path;
    return node;
}

struct tree *tree_at(struct tree *from, const char *path)
{
    const char *rest = NULL;
    struct tree *node = from ? tree_walk(from, path, &rest) : NULL;
    return node && !*rest ? node : NULL;
}

struct tree *tree_list(struct tree *from, const char *path)
{
    struct tree *node = tree_at(from, path);
    return node && node->kind == TREE_LIST ? node : NULL;
}

struct tree *tree_entry(struct tree *from, const char *path, size_t i)
{
    const struct tree *list = tree_list(from, path);
    return list && i < list->nchildren ? list->child[i] : NULL;
}

const char *tree_value(struct tree *from, const char *path)
{
    const struct tree *node = tree_at(from, path);
    /* A list with the wrong number of entries is not to be relied on as a whole. */
    int is_usable = node && node->kind == TREE_VALUE && !node->is_bad &&
                    !(node->up && node->up->kind == TREE_LIST && node->up->is_bad);
    return is_usable ? node->text : NULL;
}

int tree_says(struct tree *from, const char *path, const char *text)
{
    const char *value = tree_value(from, path);
    return value && strcmp(value, text) == 0;
}

double tree_number(struct tree *from, const char *path, double otherwise)
{
    const char *text = tree_value(from, path);
    double value = 0;
    return text && tree_parse_number(text, &value) ? value : otherwise;
}

size_t tree_count(struct tree *from, const char *path)
{
    const struct tree *node = tree_at(from, path);
    return node ? node->nchildren : 0;
}

int tree_parse_number(const char *text, double *value)
{
    /* strtod() would take hexadecimal, nan and inf as well. */
    return text[strspn(text, "0123456789+-.eE")] == '\0' && units_parse_f64(text, value);
}

int tree_parse_whole(const char *text, uint64_t *value)
{
    if (text[strspn(text, "0123456789")] == '\0') {
        return units_parse_u64(text, value);
    }
    const double exact = 0x1p53; /* up to here a double holds every whole number */
    double number = 0;
    if (!tree_parse_number(text, &number) || !(number >= 0 && number <= exact) ||
        number != (double)(uint64_t)number) {
        return 0;
    }
    *value = (uint64_t)number;
    return 1;
}

status_t tree_path(const struct tree *node, struct text *out)
{
    if (!node->up) {
        return out->status;
    }
    tree_path(node->up, out);
    const char *dot = out->length ? "." : "";
    if (node->key) {
        text_add(out, "%s%.100s", dot, node->key);
    } else if (!node->up->is_wrapped) {
        text_add(out, "%s%zu", dot, node->index);
    }
    return out->status;
}

int tree_is_empty(const struct tree *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    return node->kind == TREE_VALUE && node->is_plain && TEXT_IS_AMONG(words, node->text);
}

status_t tree_copy(const struct tree *node, size_t *budget, struct tree **out)
{
    SCOPED(tree_destroy_at) struct tree *copy = NULL;
    SCOPED(tree_destroy_at) struct tree *child = NULL;
    *out = NULL;
    if (*budget == 0) {
        return STATUS_OK;
    }
    --*budget;
    TRY(tree_new(node->kind, node->text, &copy));
    copy->is_plain = node->is_plain;
    copy->is_taken = node->is_taken;
    copy->line = node->line;
    copy->set = node->set;
    for (size_t i = 0; i < node->nchildren; i++) {
        TRY(tree_copy(node->child[i], budget, &child));
        if (!child) {
            return STATUS_OK;
        }
        TRY(tree_add(copy, node->child[i]->key, &child));
    }
    *out = memory_move(&copy);
    return STATUS_OK;
}

void tree_destroy(struct tree *node)
{
    if (!node) {
        return;
    }
    for (size_t i = 0; i < node->nchildren; i++) {
        tree_destroy(node->child[i]);
    }
    free(node->child);
    free(node->key);
    free(node->text);
    free(node);
}

/* A tree as YAML. */

static int tree_append(void *data, unsigned char *bytes, size_t count)
{
    return text_add_bytes(data, (const char *)bytes, count) == STATUS_OK;
}

/* The document that is written, and the words that replace nodes. */
struct writer {
    yaml_document_t *document;
    tree_pick pick;
    const void *arg;
};

/* Functions that add a node return its number, or 0 when there is no memory. */
static int tree_write_text(const struct writer *writer, const char *text, yaml_scalar_style_t style)
{
    return yaml_document_add_scalar(writer->document, NULL, (const yaml_char_t *)text,
                                    (int)strlen(text), style);
}

static int tree_write_value(const struct writer *writer, const struct tree *node)
{
    /* Text that would read as nothing needs its quotes; all other quoting is the emitter's. */
    struct tree bare = *node;
    bare.is_plain = 1;
    int quoted = !node->is_plain && tree_is_empty(&bare);
    return tree_write_text(writer, node->text,
                           quoted ? YAML_SINGLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
}

static int tree_write_node(const struct writer *writer, const struct tree *node)
{
    yaml_document_t *document = writer->document;
    if (node->kind == TREE_VALUE) {
        return tree_write_value(writer, node);
    }
    int is_mapping = node->kind == TREE_MAPPING;
    int number = is_mapping ? yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE)
                            : yaml_document_add_sequence(document, NULL, YAML_BLOCK_SEQUENCE_STYLE);
    for (size_t i = 0; number && i < node->nchildren; i++) {
        const struct tree *child =
            writer->pick ? writer->pick(node->child[i], writer->arg) : node->child[i];
        if (!child) {
            continue;
        }
        int key =
            is_mapping ? tree_write_text(writer, node->child[i]->key, YAML_ANY_SCALAR_STYLE) : 1;
        int value = key ? tree_write_node(writer, child) : 0;
        int is_added =
            value && (is_mapping ? yaml_document_append_mapping_pair(document, number, key, value)
                                 : yaml_document_append_sequence_item(document, number, value));
        number = is_added ? number : 0;
    }
    return number;
}

status_t tree_write(const struct tree *root, tree_pick pick, const void *arg, struct text *out)
{
    SCOPED(yaml_emitter_delete) yaml_emitter_t emitter = {0};
    yaml_document_t document;
    const struct writer writer = {&document, pick, arg};
    REQUIRE(yaml_emitter_initialize(&emitter), STATUS_DEVICE, "out of memory: writing YAML");
    yaml_emitter_set_output(&emitter, tree_append, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    int is_begun = yaml_document_initialize(&document, NULL, NULL, NULL, 1, 1);
    int is_made = is_begun && tree_write_node(&writer, root);
    int is_written = is_made && yaml_emitter_dump(&emitter, &document) && /* and frees it */
                     yaml_emitter_close(&emitter);
    if (is_begun && !is_made) {
        yaml_document_delete(&document);
    }
    return REQUIRED(is_written, STATUS_DEVICE, "cannot write YAML: %s",
                    emitter.problem ? emitter.problem : "out of memory");
}

status_t tree_quote(const char *text, struct text *out)
{
    text_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        text_add(out, c < ' ' || c == 0x7F ? "\\x%02x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    return text_add(out, "\"");
}

/* Limits of the one message that a process keeps (base/report.c). */
enum { KEPT = 1024, SHOWN = 40, SHOWN_BYTES = 12288, PLACE_BYTES = 6144 };

struct mistake {
    int is_set;
    uint32_t line;
    size_t order; /* in which they were found */
    char *text;
};

static void mistakes_place(const struct mistakes *mistakes, const char *set, uint32_t line,
                           const char *key, char out[PLACE_BYTES])
{
    const char *colon = key && *key ? ": " : "";
    key = key ? key : "";
    if (set) {
        display_format(out, PLACE_BYTES, "--set %.200s: %s%s", set, key, colon);
    } else if (line) {
        display_format(out, PLACE_BYTES, "%s:%u: %s%s", mistakes->file, line, key, colon);
    } else {
        display_format(out, PLACE_BYTES, "%s: %s%s", mistakes->file, key, colon);
    }
}

void mistakes_keep(struct mistakes *mistakes, status_t st)
{
    mistakes->status = mistakes->status == STATUS_OK ? st : mistakes->status;
}

void mistakes_add(struct mistakes *mistakes, const char *set, uint32_t line, const char *key,
                  const char *format, ...)
{
    char message[MISTAKE_BYTES];
    char place[PLACE_BYTES];
    struct mistake mistake = {.is_set = set != NULL, .line = line, .order = mistakes->count++};
    va_list args;
    if (mistakes->kept == KEPT) {
        return;
    }
    va_start(args, format);
    display_format_list(message, sizeof message, format, args);
    va_end(args);
    mistakes_place(mistakes, set, line, key, place);
    status_t st = memory_grow(mistakes->kept, sizeof mistake, "mistakes", &mistakes->list);
    st = st == STATUS_OK ? memory_format(&mistake.text, "%s%s", place, message) : st;
    mistakes_keep(mistakes, st);
    if (st == STATUS_OK) {
        mistakes->list[mistakes->kept++] = mistake;
    }
}

static void mistakes_add_at(struct mistakes *mistakes, struct tree *node, const char *path,
                            const char *format, va_list args)
{
    struct text key = {0};
    char message[MISTAKE_BYTES];
    const char *missing = NULL;
    display_format_list(message, sizeof message, format, args);
    node = tree_walk(node, path ? path : "", &missing);
    node->is_bad = 1;
    tree_path(node, &key);
    if (*missing) {
        text_add(&key, "%s%.100s", key.length ? "." : "", missing);
    }
    mistakes_keep(mistakes, key.status);
    mistakes_add(mistakes, node->set, node->line, key.data, "%s", message);
    text_free(&key);
}

void mistakes_at(struct mistakes *mistakes, struct tree *node, const char *path, const char *format,
                 ...)
{
    va_list args;
    va_start(args, format);
    mistakes_add_at(mistakes, node, path, format, args);
    va_end(args);
}

void mistakes_if(int is_wrong, struct mistakes *mistakes, struct tree *node, const char *path,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (is_wrong) {
        mistakes_add_at(mistakes, node, path, format, args);
    }
    va_end(args);
}

void mistakes_if_descends(struct mistakes *mistakes, struct tree *list, struct tree *at)
{
    mistakes_if(tree_number(list, "1", 0) < tree_number(list, "0", 0), mistakes, at, NULL,
                "ends at %s, before the %s where it begins", tree_value(list, "1"),
                tree_value(list, "0"));
}

static int mistakes_compare(const void *left, const void *right)
{
    const struct mistake *a = left;
    const struct mistake *b = right;
    if (a->is_set != b->is_set) {
        return a->is_set - b->is_set;
    }
    /* Overrides keep the order in which they were found: they have no lines. */
    if (!a->is_set && a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

status_t mistakes_report(const struct mistakes *mistakes)
{
    struct text text = {0};
    if (mistakes->status != STATUS_OK || mistakes->count == 0) {
        return mistakes->status;
    }
    qsort(mistakes->list, mistakes->kept, sizeof *mistakes->list, mistakes_compare);
    if (mistakes->count == 1) {
        return report_fail(STATUS_USAGE, "%s", mistakes->list[0].text);
    }
    text_add(&text, "%s has %zu mistakes:", mistakes->file, mistakes->count);
    size_t shown = 0;
    while (shown < mistakes->kept && shown < SHOWN && text.length < SHOWN_BYTES) {
        text_add(&text, "\n  %s", mistakes->list[shown++].text);
    }
    if (shown < mistakes->count) {
        text_add(&text, "\n  and %zu more", mistakes->count - shown);
    }
    status_t st = text.status;
    st = st == STATUS_OK ? report_fail(STATUS_USAGE, "%s", text.data) : st;
    text_free(&text);
    return st;
}

void mistakes_free(struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->kept; i++) {
        free(mistakes->list[i].text);
    }
    free(memory_move(&mistakes->list));
    mistakes->kept = 0;
    mistakes->count = 0;
}
