#include "job/yaml/tree_set.h"

#include "base/units.h"
#include "job/yaml/tree_yaml.h"

#include <stdlib.h>
#include <string.h>

/* The way to the place that an override names: `name` is the present part of its path. */
struct way {
    const char *set;
    const char *name;
    size_t length;
    struct mistakes *mistakes;
};

static int set_is_number(const char *name, size_t length)
{
    return length > 0 && strspn(name, "0123456789") >= length;
}

/* The part behind the present one; *length = 0 at the end of the path. */
static const char *set_part_behind(const struct way *way, size_t *length)
{
    const char *name = way->name + way->length;
    name += *name == '.';
    *length = strcspn(name, ".=");
    return name;
}

/* Readies `node` to hold the present part: nothing becomes a mapping or a list, and a single entry
 * that stands for a list becomes that list. */
static status_t set_open_up(const struct way *way, struct tree *node)
{
    status_t st = STATUS_OK;
    int wants_list = set_is_number(way->name, way->length);
    if (tree_is_empty(node)) {
        free(node->text);
        node->text = NULL;
        node->kind = wants_list ? TREE_LIST : TREE_MAPPING;
        node->set = way->set;
        node->line = 0;
    } else if (node->kind != TREE_LIST && wants_list) {
        TRY(tree_wrap(node));
    }
out:
    return st;
}

static status_t set_cannot_go(const struct way *way, const struct tree *node)
{
    status_t st = STATUS_OK;
    struct text path = {0};
    TRY(tree_path(node, 0, &path));
    const char *name = path.data ? path.data : "the document";
    if (node->kind == TREE_VALUE) {
        TRY(mistakes_add(way->mistakes, way->set, 0, NULL,
                         "%.200s is a single value: it holds no %.*s", name, (int)way->length,
                         way->name));
    } else {
        TRY(mistakes_add(way->mistakes, way->set, 0, NULL,
                         "%.200s is a list: expected a number from 0 to %zu, not %.*s", name,
                         node->nchildren, (int)way->length, way->name));
    }
out:
    text_free(&path);
    return st;
}

/* Goes from *node to the part of the path that `way` names, making it if need be. *node = NULL
 * after a mistake. */
static status_t set_go(const struct way *way, struct tree **node)
{
    status_t st = STATUS_OK;
    struct tree *made = NULL;
    char *name = NULL;
    struct tree *parent = *node;
    struct text text = {0};
    TRY(set_open_up(way, parent));
    TRY(text_add(&text, "%.*s", (int)way->length, way->name));
    name = text.data;
    uint64_t index = 0;
    struct tree *child = NULL;
    int fits = parent->kind == TREE_MAPPING;
    if (fits) {
        child = tree_member(parent, name);
    } else if (parent->kind == TREE_LIST && units_parse_u64(name, &index)) {
        fits = index <= parent->nchildren;
        child = index < parent->nchildren ? parent->child[index] : NULL;
    }
    if (!fits) {
        *node = NULL;
        TRY(set_cannot_go(way, parent));
    } else if (!child) {
        TRY(tree_new(TREE_VALUE, "", &made));
        made->is_plain = 1;
        made->set = way->set;
        child = made;
        TRY(tree_add(parent, parent->kind == TREE_MAPPING ? name : NULL, &made));
    }
    if (fits) {
        *node = child;
    }
out:
    tree_destroy(made);
    text_free(&text);
    return st;
}

/* Whether `set` is a path of sane length, '=' and a value. */
static int set_is_well_formed(const char *set)
{
    size_t depth = 0;
    const char *name = set;
    for (;;) {
        size_t length = strcspn(name, ".=");
        if (length == 0 || name[length] == '\0' || ++depth > TREE_DEPTH) {
            return 0;
        }
        if (name[length] == '=') {
            return 1;
        }
        name += length + 1;
    }
}

/* Puts *value where `set` says; it belongs to the tree then, unless that was a mistake. */
static status_t tree_set_put(struct tree *root, const char *set, struct mistakes *mistakes,
                             struct tree **value)
{
    status_t st = STATUS_OK;
    struct way way = {.set = set, .name = set, .mistakes = mistakes};
    way.length = strcspn(set, ".=");
    struct tree *node = root;
    while (node && way.length > 0) {
        TRY(set_go(&way, &node));
        if (way.name[way.length] == '=') {
            break;
        }
        way.name = set_part_behind(&way, &way.length);
    }
    if (node) {
        tree_replace(node->up, node->index, value);
    }
out:
    return st;
}

status_t tree_set(struct tree *root, const char *set, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    if (!set_is_well_formed(set)) {
        TRY(mistakes_add(mistakes, set, 0, NULL,
                         "expected key.path=value, such as channelise.taps=16"));
        goto out;
    }
    const char *text = strchr(set, '=') + 1;
    TRY(tree_read(text, strlen(text), set, mistakes, &value));
    if (value) {
        TRY(tree_set_put(root, set, mistakes, &value));
    }
out:
    tree_destroy(value);
    return st;
}

status_t tree_set_text(struct tree *root, const char *set, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    TRY(tree_new(TREE_VALUE, strchr(set, '=') + 1, &value));
    value->set = set;
    TRY(tree_set_put(root, set, mistakes, &value));
out:
    tree_destroy(value);
    return st;
}

/* A value that holds `place`, once or more often. */
static status_t tree_set_name_in(struct tree *value, const char *place, const char *name)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    const char *at = value->text;
    for (const char *found = strstr(at, place); found; found = strstr(at, place)) {
        TRY(text_add_bytes(&text, at, (size_t)(found - at)));
        TRY(text_add(&text, "%s", name));
        at = found + strlen(place);
    }
    TRY(text_add(&text, "%s", at));
    free(value->text);
    value->text = text.data;
    value->is_plain = 0;
    text.data = NULL;
out:
    text_free(&text);
    return st;
}

status_t tree_set_name(struct tree *root, const char *name)
{
    status_t st = STATUS_OK;
    static const char place[] = "{name}";
    if (root->kind == TREE_VALUE && strstr(root->text, place)) {
        TRY(tree_set_name_in(root, place, name));
    }
    for (size_t i = 0; i < root->nchildren; i++) {
        TRY(tree_set_name(root->child[i], name));
    }
out:
    return st;
}
