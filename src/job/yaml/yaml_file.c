/* Overrides and the names of --each: how they change the tree of a file. */
#include "job/yaml/yaml_file.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* Readies `node` to hold `name`: nothing becomes a mapping or a list, and a single entry that
 * stands for a list becomes that list. */
static status_t yaml_file_open_up(struct tree *node, const char *name, const char *set)
{
    int wants_list = name[strspn(name, "0123456789")] == '\0';
    if (tree_is_empty(node)) {
        free(node->text);
        node->text = NULL;
        node->kind = wants_list ? TREE_LIST : TREE_MAPPING;
        node->set = set;
        node->line = 0;
        return STATUS_OK;
    }
    return node->kind != TREE_LIST && wants_list ? tree_wrap(node) : STATUS_OK;
}

static void yaml_file_cannot_go(const struct tree *node, const char *name, const char *set,
                                struct mistakes *mistakes)
{
    struct text path = {0};
    mistakes_keep(mistakes, tree_path(node, &path));
    const char *place = path.data ? path.data : "the document";
    if (node->kind == TREE_VALUE) {
        mistakes_add(mistakes, set, 0, NULL, "%.200s is a single value: it holds no %s", place,
                     name);
    } else {
        mistakes_add(mistakes, set, 0, NULL,
                     "%.200s is a list: expected a number from 0 to %zu, not %s", place,
                     node->nchildren, name);
    }
    text_free(&path);
}

/* Goes from *node to the part `name` of the path of `set`, making it if need be. *node = NULL after
 * a mistake. */
static status_t yaml_file_go(struct tree **node, const char *name, const char *set,
                             struct mistakes *mistakes)
{
    struct tree *parent = *node;
    uint64_t index = 0;
    int is_there = 0;
    *node = NULL;
    TRY(yaml_file_open_up(parent, name, set));
    if (parent->kind == TREE_MAPPING) {
        const struct tree *member = tree_member(parent, name);
        index = member ? member->index : parent->nchildren;
        is_there = 1;
    } else {
        is_there = parent->kind == TREE_LIST && units_parse_u64(name, &index) &&
                   index <= parent->nchildren;
    }
    if (!is_there) {
        yaml_file_cannot_go(parent, name, set, mistakes);
        return STATUS_OK;
    }
    if (index == parent->nchildren) {
        TRY(tree_add_value(parent, parent->kind == TREE_MAPPING ? name : NULL, ""));
        parent->child[index]->set = set;
        parent->child[index]->line = 0;
    }
    *node = parent->child[index];
    return STATUS_OK;
}

/* Whether `set` is a path of sane length, '=' and a value. */
static int yaml_file_is_override(const char *set)
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
static status_t yaml_file_put(struct tree *root, const char *set, struct mistakes *mistakes,
                              struct tree **value)
{
    status_t st = STATUS_OK;
    struct text path = {0};
    TRY_OUT(text_add_bytes(&path, set, strcspn(set, "=")));
    struct tree *node = root;
    char *rest = path.data;
    while (node && rest) {
        TRY_OUT(yaml_file_go(&node, strsep(&rest, "."), set, mistakes));
    }
    if (node) {
        tree_replace(node->up, node->index, value);
    }
out:
    text_free(&path);
    return st;
}

static status_t yaml_file_set(struct tree *root, const char *set, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    if (!yaml_file_is_override(set)) {
        mistakes_add(mistakes, set, 0, NULL, "expected key.path=value, such as channelise.taps=16");
        goto out;
    }
    const char *text = strchr(set, '=') + 1;
    TRY_OUT(tree_read(text, strlen(text), set, mistakes, &value));
    if (value) {
        TRY_OUT(yaml_file_put(root, set, mistakes, &value));
    }
out:
    tree_destroy(value);
    return st;
}

/* A value that holds `place`, once or more often. */
static status_t yaml_file_put_word_at(struct tree *value, const char *place, const char *word)
{
    struct text text = {0};
    const char *at = value->text;
    for (const char *found = strstr(at, place); found; found = strstr(at, place)) {
        text_add(&text, "%.*s%s", (int)(found - at), at, word);
        at = found + strlen(place);
    }
    status_t st = text_add(&text, "%s", at);
    value->is_taken |= !strchr(value->text, '$');
    value->is_plain = 0;
    st = st == STATUS_OK ? tree_set_text(value, text.data) : st;
    text_free(&text);
    return st;
}

status_t yaml_file_put_word(struct tree *root, const char *place, const char *word)
{
    status_t st = STATUS_OK;
    if (root->kind == TREE_VALUE && strstr(root->text, place)) {
        st = yaml_file_put_word_at(root, place, word);
    }
    for (size_t i = 0; st == STATUS_OK && i < root->nchildren; i++) {
        st = yaml_file_put_word(root->child[i], place, word);
    }
    return st;
}

/* A text, or of several lines a list of them. */
static status_t yaml_file_texts(const char *text, struct tree **out)
{
    status_t st = STATUS_OK;
    struct text line = {0};
    if (!strchr(text, '\n')) {
        return tree_new(TREE_VALUE, text, out);
    }
    TRY_OUT(tree_new(TREE_LIST, NULL, out));
    for (size_t length = 0; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        line.length = 0;
        TRY_OUT(text_add_bytes(&line, text, length));
        TRY_OUT(tree_add_value(*out, NULL, line.data));
        (*out)->child[(*out)->nchildren - 1]->is_plain = 0;
    }
out:
    text_free(&line);
    return st;
}

static status_t yaml_file_set_each(struct tree *root, const struct yaml_each *each,
                                   struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    TRY_OUT(yaml_file_put_word(root, "{name}", each->name));
    TRY_OUT(yaml_file_texts(strchr(each->set, '=') + 1, &value));
    value->set = each->set;
    value->is_taken = 1;
    TRY_OUT(yaml_file_put(root, each->set, mistakes, &value));
out:
    tree_destroy(value);
    return st;
}

status_t yaml_file_read(const char *text, size_t length, const char *const *sets, uint32_t nsets,
                        const struct yaml_each *each, struct mistakes *mistakes, struct tree **out)
{
    status_t st = STATUS_OK;
    struct tree *root = NULL;
    REQUIRE_OUT(length <= YAML_FILE_BYTES, STATUS_USAGE,
                "%s: holds %zu bytes, expected a file of at most %d", mistakes->file, length,
                YAML_FILE_BYTES);
    TRY_OUT(tree_read(text, length, NULL, mistakes, &root));
    TRY_OUT(mistakes_report(mistakes));
    REQUIRE_OUT(!tree_is_empty(root), STATUS_USAGE, "%s: is empty, expected keys and values",
                mistakes->file);
    for (uint32_t i = 0; i < nsets; i++) {
        TRY_OUT(yaml_file_set(root, sets[i], mistakes));
    }
    if (each) {
        TRY_OUT(yaml_file_set_each(root, each, mistakes));
    }
    *out = root;
    root = NULL;
out:
    tree_destroy(root);
    return st;
}
