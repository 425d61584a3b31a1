/* YAML as a tree: each node with its line, aliases replaced, what is too deep or large refused; how
 * overrides and the names of --each change it. */
#include "job/yaml/yaml_file.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Deeper than any document that makes sense, and safe for functions that call themselves. */
enum { TREE_DEPTH = 16 };

/* Aliases can make a small file huge: this bounds what it may become, beside nodes that its own
 * length pays for. An anchor counts as many nodes, since every alias looks through all of them. */
enum { NODES = 262144, NODES_PER_ANCHOR = 256, BYTES_PER_NODE = 16 };

struct anchor {
    char *name;
    const struct tree *node;
};

/* The first mistake ends the reading: functions then return USAGE, but report nothing. */
struct reader {
    yaml_parser_t parser;
    const char *text;
    const char *set;
    struct mistakes *mistakes;
    struct anchor *anchors; /* [nanchors] */
    size_t nanchors;
    size_t most, budget; /* nodes that may be made, and still */
};

static uint32_t tree_line_of(const struct reader *reader, yaml_mark_t mark)
{
    return reader->set ? 0 : (uint32_t)mark.line + 1;
}

static status_t tree_refuse(struct reader *reader, yaml_mark_t mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static status_t tree_refuse(struct reader *reader, yaml_mark_t mark, const char *format, ...)
{
    char message[MISTAKE_BYTES];
    va_list args;
    va_start(args, format);
    display_format_list(message, sizeof message, format, args);
    va_end(args);
    mistakes_add(reader->mistakes, reader->set, tree_line_of(reader, mark), NULL, "%s", message);
    return STATUS_USAGE;
}

/* Whether a tab of a line's indentation stands at `mark`. */
static int tree_is_tab(const char *text, yaml_mark_t mark)
{
    for (size_t line = 0; line < mark.line && *text; text++) {
        line += *text == '\n';
    }
    return strspn(text, " \t") > mark.column && text[mark.column] == '\t';
}

static status_t tree_refuse_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    yaml_mark_t mark = parser->problem_mark;
    const char *context = parser->context;
    char since[64] = "";
    if (parser->error == YAML_MEMORY_ERROR) {
        return report_fail(STATUS_DEVICE, "out of memory: reading YAML");
    }
    if (parser->error == YAML_READER_ERROR) {
        /* The reader of characters knows where it stands in bytes only. */
        mark.line = 0;
        for (size_t i = 0; i < parser->problem_offset; i++) {
            mark.line += reader->text[i] == '\n';
        }
    }
    if (tree_is_tab(reader->text, parser->problem_mark)) {
        return tree_refuse(reader, mark, "is no YAML: tabs may not indent, expected spaces");
    }
    if (context && !reader->set && parser->context_mark.line != mark.line) {
        snprintf(since, sizeof since, " of line %zu", parser->context_mark.line + 1);
    }
    return tree_refuse(reader, mark, "is no YAML: %s%s%s%s",
                       parser->problem ? parser->problem : "cannot be read", context ? ", " : "",
                       context ? context : "", since);
}

/* Replaces the event by the next one. */
static status_t tree_next_event(struct reader *reader, yaml_event_t *event)
{
    yaml_event_delete(event);
    return yaml_parser_parse(&reader->parser, event) ? STATUS_OK : tree_refuse_syntax(reader);
}

static status_t tree_remember(struct reader *reader, const yaml_char_t *name,
                              const struct tree *node)
{
    if (!name) {
        return STATUS_OK;
    }
    TRY(memory_grow(reader->nanchors, sizeof *reader->anchors, "anchors", &reader->anchors));
    struct anchor *anchor = &reader->anchors[reader->nanchors];
    TRY(memory_text((const char *)name, &anchor->name));
    anchor->node = node;
    reader->nanchors++;
    reader->budget -= reader->budget < NODES_PER_ANCHOR ? reader->budget : NODES_PER_ANCHOR;
    return STATUS_OK;
}

static status_t tree_refuse_size(struct reader *reader, yaml_mark_t mark)
{
    return tree_refuse(reader, mark, "contains too much: more than %d levels or %zu values",
                       TREE_DEPTH, reader->most);
}

static status_t tree_read_alias(struct reader *reader, const yaml_event_t *event, struct tree **out)
{
    const char *name = (const char *)event->data.alias.anchor;
    size_t i = reader->nanchors; /* the last of this name counts */
    while (i > 0 && strcmp(reader->anchors[i - 1].name, name) != 0) {
        i--;
    }
    if (i == 0) {
        return tree_refuse(reader, event->start_mark,
                           "the alias *%.100s stands for nothing: no complete &%.100s before it",
                           name, name);
    }
    status_t st = tree_copy(reader->anchors[i - 1].node, &reader->budget, out);
    return st == STATUS_OK && !*out ? tree_refuse_size(reader, event->start_mark) : st;
}

/* Refuses a text that contains a NUL, because C would end it there. */
static status_t tree_check_text(struct reader *reader, const yaml_event_t *event, const char *what)
{
    const char *text = (const char *)event->data.scalar.value;
    return strlen(text) == event->data.scalar.length
               ? STATUS_OK
               : tree_refuse(reader, event->start_mark, "%s contains a NUL character", what);
}

static status_t tree_read_node(struct reader *reader, const yaml_event_t *event, unsigned depth,
                               struct tree **out);

/* Reads the members or entries of `node` up to its end. */
static status_t tree_read_children(struct reader *reader, unsigned depth, struct tree *node)
{
    int is_mapping = node->kind == TREE_MAPPING;
    SCOPED(yaml_event_delete) yaml_event_t key = {0};
    SCOPED(yaml_event_delete) yaml_event_t value = {0};
    SCOPED(tree_destroy_at) struct tree *child = NULL;
    for (;;) {
        TRY(tree_next_event(reader, is_mapping ? &key : &value));
        if (key.type == YAML_MAPPING_END_EVENT || value.type == YAML_SEQUENCE_END_EVENT) {
            break;
        }
        if (is_mapping) {
            TRY(key.type == YAML_SCALAR_EVENT
                    ? tree_check_text(reader, &key, "a key")
                    : tree_refuse(reader, key.start_mark, "a key must be a single word"));
            TRY(tree_next_event(reader, &value));
        }
        TRY(tree_read_node(reader, &value, depth + 1, &child));
        if (is_mapping && child->kind != TREE_VALUE) {
            /* People look for a mapping where its key stands, not where its content begins. */
            child->line = tree_line_of(reader, key.start_mark);
        }
        TRY(tree_add(node, is_mapping ? (const char *)key.data.scalar.value : NULL, &child));
    }
    return STATUS_OK;
}

/* Reads the node that begins with `event`. */
static status_t tree_read_node(struct reader *reader, const yaml_event_t *event, unsigned depth,
                               struct tree **out)
{
    SCOPED(tree_destroy_at) struct tree *node = NULL;
    TRY(reader->budget == 0 || depth > TREE_DEPTH ? tree_refuse_size(reader, event->start_mark)
                                                  : STATUS_OK);
    if (event->type == YAML_ALIAS_EVENT) {
        TRY(tree_read_alias(reader, event, &node));
    } else if (event->type == YAML_SCALAR_EVENT) {
        TRY(tree_check_text(reader, event, "a text"));
        TRY(tree_new(TREE_VALUE, (const char *)event->data.scalar.value, &node));
        node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        TRY(tree_remember(reader, event->data.scalar.anchor, node));
    } else {
        int is_mapping = event->type == YAML_MAPPING_START_EVENT;
        TRY(tree_new(is_mapping ? TREE_MAPPING : TREE_LIST, NULL, &node));
        TRY(tree_read_children(reader, depth, node));
        TRY(tree_remember(reader,
                          is_mapping ? event->data.mapping_start.anchor
                                     : event->data.sequence_start.anchor,
                          node));
    }
    reader->budget -= reader->budget > 0;
    node->line = tree_line_of(reader, event->start_mark);
    node->set = reader->set;
    *out = memory_move(&node);
    return STATUS_OK;
}

/* Reads the only document; an empty value where there is none. */
static status_t tree_read_document(struct reader *reader, struct tree **out)
{
    SCOPED(yaml_event_delete) yaml_event_t event = {0};
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    TRY(tree_next_event(reader, &event)); /* the start of the stream */
    TRY(tree_next_event(reader, &event));
    if (event.type == YAML_STREAM_END_EVENT) {
        TRY(tree_new(TREE_VALUE, "", &root));
        root->is_plain = 1;
        root->set = reader->set;
    } else {
        TRY(tree_next_event(reader, &event));
        TRY(tree_read_node(reader, &event, 0, &root));
        TRY(tree_next_event(reader, &event)); /* the end of the document */
        TRY(tree_next_event(reader, &event));
        if (event.type != YAML_STREAM_END_EVENT) {
            TRY(tree_refuse(reader, event.start_mark,
                            "a second document begins here, expected one document"));
        }
    }
    *out = memory_move(&root);
    return STATUS_OK;
}

status_t tree_read(const char *text, size_t length, const char *set, struct mistakes *mistakes,
                   struct tree **out)
{
    status_t st = STATUS_OK;
    const size_t most = NODES + length / BYTES_PER_NODE;
    struct reader reader = {
        .text = text, .set = set, .mistakes = mistakes, .most = most, .budget = most};
    *out = NULL;
    size_t line = text_line_of_nul(text, length);
    if (line > 0) {
        mistakes_add(mistakes, set, set ? 0 : (uint32_t)line, NULL,
                     "contains a NUL byte, expected text in YAML, such as a job file");
        return STATUS_OK;
    }
    REQUIRE_OUT(yaml_parser_initialize(&reader.parser), STATUS_DEVICE,
                "out of memory: reading YAML");
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    st = tree_read_document(&reader, out);
    st = st == STATUS_USAGE ? STATUS_OK : st; /* a mistake */
out:
    for (size_t i = 0; i < reader.nanchors; i++) {
        free(reader.anchors[i].name);
    }
    free(reader.anchors);
    yaml_parser_delete(&reader.parser);
    return st;
}

/* Readies `node` to hold `name`: nothing becomes a mapping or a list, and a single entry that
 * stands for a list becomes that list. */
static status_t yaml_file_open_up(struct tree *node, const char *name, const char *set)
{
    int wants_list = name[strspn(name, "0123456789")] == '\0';
    if (tree_is_empty(node)) {
        free(memory_move(&node->text));
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
        mistakes_add(mistakes, set, 0, NULL, "%.200s is a single value: it contains no %s", place,
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
    SCOPED(text_free) struct text path = {0};
    TRY(text_add_bytes(&path, set, strcspn(set, "=")));
    struct tree *node = root;
    char *rest = path.data;
    while (node && rest) {
        TRY(yaml_file_go(&node, strsep(&rest, "."), set, mistakes));
    }
    if (node) {
        tree_replace(node->up, node->index, value);
    }
    return STATUS_OK;
}

static status_t yaml_file_set(struct tree *root, const char *set, struct mistakes *mistakes)
{
    SCOPED(tree_destroy_at) struct tree *value = NULL;
    if (!yaml_file_is_override(set)) {
        mistakes_add(mistakes, set, 0, NULL, "expected key.path=value, such as channelise.taps=16");
        return STATUS_OK;
    }
    const char *text = strchr(set, '=') + 1;
    TRY(tree_read(text, strlen(text), set, mistakes, &value));
    return value ? yaml_file_put(root, set, mistakes, &value) : STATUS_OK;
}

/* Replaces every `place` in a value by the word. */
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

/* Makes a value of a text; of several lines a list. */
static status_t yaml_file_texts(const char *text, struct tree **out)
{
    SCOPED(text_free) struct text line = {0};
    if (!strchr(text, '\n')) {
        return tree_new(TREE_VALUE, text, out);
    }
    TRY(tree_new(TREE_LIST, NULL, out));
    for (size_t length = 0; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        line.length = 0;
        TRY(text_add_bytes(&line, text, length));
        TRY(tree_add_value(*out, NULL, line.data));
        (*out)->child[(*out)->nchildren - 1]->is_plain = 0;
    }
    return STATUS_OK;
}

static status_t yaml_file_set_each(struct tree *root, const struct yaml_each *each,
                                   struct mistakes *mistakes)
{
    SCOPED(tree_destroy_at) struct tree *value = NULL;
    TRY(yaml_file_put_word(root, "{name}", each->name));
    TRY(yaml_file_texts(strchr(each->set, '=') + 1, &value));
    value->set = each->set;
    value->is_taken = 1;
    return yaml_file_put(root, each->set, mistakes, &value);
}

status_t yaml_file_read(const char *text, size_t length, const char *const *sets, uint32_t nsets,
                        const struct yaml_each *each, struct mistakes *mistakes, struct tree **out)
{
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    REQUIRE(length <= YAML_FILE_BYTES, STATUS_USAGE,
            "%s: contains %zu bytes, expected a file of at most %d", mistakes->file, length,
            YAML_FILE_BYTES);
    TRY(tree_read(text, length, NULL, mistakes, &root));
    TRY(mistakes_report(mistakes));
    REQUIRE(!tree_is_empty(root), STATUS_USAGE, "%s: is empty, expected keys and values",
            mistakes->file);
    for (uint32_t i = 0; i < nsets; i++) {
        TRY(yaml_file_set(root, sets[i], mistakes));
    }
    TRY(each ? yaml_file_set_each(root, each, mistakes) : STATUS_OK);
    *out = memory_move(&root);
    return STATUS_OK;
}
