/* How a tree is built, changed, searched and freed; the numbers in its texts. */
#include "job/yaml/tree.h"

#include "base/memory.h"
#include "base/units.h"
#include "job/yaml/tree_yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

status_t tree_new(enum tree_kind kind, const char *text, struct tree **out)
{
    status_t st = STATUS_OK;
    struct tree *node = NULL;
    TRY(memory_zeroed(1, sizeof *node, "a node of a document", &node));
    node->kind = kind;
    TRY(memory_text(text, &node->text));
    *out = node;
    node = NULL;
out:
    tree_destroy(node);
    return st;
}

status_t tree_add(struct tree *parent, const char *key, struct tree **child)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(parent->nchildren, sizeof *parent->child, "a list", &parent->child));
    TRY(memory_text(key, &(*child)->key));
    (*child)->up = parent;
    (*child)->index = parent->nchildren;
    parent->child[parent->nchildren++] = *child;
    *child = NULL;
out:
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
    status_t st = STATUS_OK;
    struct tree *entry = NULL;
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
    node->child[0] = entry;
    entry = NULL;
out:
    tree_destroy(entry);
    return st;
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

/* The child that the first `length` characters of `name` mean, or NULL. */
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

struct tree *tree_walk(struct tree *root, const char *path, const char **rest)
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
    status_t st = STATUS_OK;
    if (!node->up) {
        goto out;
    }
    TRY(tree_path(node->up, out));
    if (node->key) {
        TRY(text_add(out, "%s%.100s", out->length ? "." : "", node->key));
    } else if (!node->up->is_wrapped) {
        TRY(text_add(out, "%s%zu", out->length ? "." : "", node->index));
    }
out:
    return st;
}

int tree_is_empty(const struct tree *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind == TREE_VALUE && node->is_plain) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (strcmp(node->text, words[i]) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

status_t tree_copy(const struct tree *node, size_t *budget, struct tree **out)
{
    status_t st = STATUS_OK;
    struct tree *copy = NULL;
    struct tree *child = NULL;
    *out = NULL;
    if (*budget == 0) {
        goto out;
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
            goto out;
        }
        TRY(tree_add(copy, node->child[i]->key, &child));
    }
    *out = copy;
    copy = NULL;
out:
    tree_destroy(child);
    tree_destroy(copy);
    return st;
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

/* Gives *event, which belongs to the emitter from then on, to it; `made` tells whether there was
 * memory for the event. */
static status_t tree_emit(yaml_emitter_t *emitter, int made, yaml_event_t *event)
{
    return REQUIRED(made && yaml_emitter_emit(emitter, event), STATUS_DEVICE,
                    "cannot write YAML: %s",
                    made && emitter->problem ? emitter->problem : "out of memory");
}

static status_t tree_write_text(yaml_emitter_t *emitter, const char *text,
                                yaml_scalar_style_t style)
{
    yaml_event_t event;
    int made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                            (int)strlen(text), 1, 1, style);
    return tree_emit(emitter, made, &event);
}

static status_t tree_write_value(yaml_emitter_t *emitter, const struct tree *node)
{
    /* Text that would read as nothing needs its quotes; all other quoting is the emitter's. */
    struct tree bare = *node;
    bare.is_plain = 1;
    int quoted = !node->is_plain && tree_is_empty(&bare);
    return tree_write_text(emitter, node->text,
                           quoted ? YAML_SINGLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
}

/* The text that is written, and the words that replace nodes. */
struct writer {
    yaml_emitter_t emitter;
    tree_pick pick;
    const void *arg;
};

static status_t tree_write_node(struct writer *writer, const struct tree *node)
{
    status_t st = STATUS_OK;
    yaml_emitter_t *emitter = &writer->emitter;
    yaml_event_t event;
    int made;
    if (node->kind == TREE_VALUE) {
        TRY(tree_write_value(emitter, node));
        goto out;
    }
    int is_mapping = node->kind == TREE_MAPPING;
    made = is_mapping ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                            YAML_BLOCK_MAPPING_STYLE)
                      : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                             YAML_BLOCK_SEQUENCE_STYLE);
    TRY(tree_emit(emitter, made, &event));
    for (size_t i = 0; i < node->nchildren; i++) {
        const struct tree *child =
            writer->pick ? writer->pick(node->child[i], writer->arg) : node->child[i];
        if (!child) {
            continue;
        }
        if (is_mapping) {
            TRY(tree_write_text(emitter, node->child[i]->key, YAML_ANY_SCALAR_STYLE));
        }
        TRY(tree_write_node(writer, child));
    }
    made = is_mapping ? yaml_mapping_end_event_initialize(&event)
                      : yaml_sequence_end_event_initialize(&event);
    TRY(tree_emit(emitter, made, &event));
out:
    return st;
}

status_t tree_write(const struct tree *root, tree_pick pick, const void *arg, struct text *out)
{
    status_t st = STATUS_OK;
    struct writer writer = {.pick = pick, .arg = arg};
    yaml_emitter_t *emitter = &writer.emitter;
    yaml_event_t event;
    REQUIRE(yaml_emitter_initialize(emitter), STATUS_DEVICE, "out of memory: writing YAML");
    yaml_emitter_set_output(emitter, tree_append, out);
    yaml_emitter_set_unicode(emitter, 1);
    yaml_emitter_set_width(emitter, -1);
    int made = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    TRY(tree_emit(emitter, made, &event));
    made = yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    TRY(tree_emit(emitter, made, &event));
    TRY(tree_write_node(&writer, root));
    made = yaml_document_end_event_initialize(&event, 1);
    TRY(tree_emit(emitter, made, &event));
    made = yaml_stream_end_event_initialize(&event);
    TRY(tree_emit(emitter, made, &event));
out:
    yaml_emitter_delete(emitter);
    return st;
}

status_t tree_quote(const char *text, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add(out, "\""));
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        TRY(c < ' ' || c == 0x7F    ? text_add(out, "\\x%02x", c)
            : c == '"' || c == '\\' ? text_add(out, "\\%c", c)
                                    : text_add(out, "%c", c));
    }
    TRY(text_add(out, "\""));
out:
    return st;
}

status_t tree_quote_list(char *const *texts, uint32_t count, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add(out, "["));
    for (uint32_t i = 0; i < count; i++) {
        TRY(text_add(out, i > 0 ? ", " : ""));
        TRY(tree_quote(texts[i], out));
    }
    TRY(text_add(out, "]"));
out:
    return st;
}
