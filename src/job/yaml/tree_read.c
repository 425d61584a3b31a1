/* YAML as a tree: each node with its line, aliases replaced, what is too deep or large refused. */
#include "job/yaml/tree_yaml.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Aliases can make a small file huge: this bounds what it may become. An anchor counts as many
 * nodes, since every alias looks through all of them. */
enum { NODES = 262144, NODES_PER_ANCHOR = 256 };

struct anchor {
    struct anchor *next;
    char *name;
    const struct tree *node;
};

struct reader {
    yaml_parser_t parser;
    const char *text;
    const char *set;
    struct mistakes *mistakes;
    struct anchor *anchors;
    size_t budget; /* nodes that may still be made */
};

static uint32_t tree_line_of(const struct reader *reader, yaml_mark_t mark)
{
    return reader->set ? 0 : (uint32_t)mark.line + 1;
}

static status_t tree_add_syntax_mistake(struct reader *reader)
{
    status_t st = STATUS_OK;
    const yaml_parser_t *parser = &reader->parser;
    REQUIRE(parser->error != YAML_MEMORY_ERROR, STATUS_DEVICE, "out of memory: reading YAML");
    uint32_t line = tree_line_of(reader, parser->problem_mark);
    if (parser->error == YAML_READER_ERROR && !reader->set) {
        /* The reader of characters knows where it stands in bytes only. */
        line = 1;
        for (size_t i = 0; i < parser->problem_offset; i++) {
            line += reader->text[i] == '\n';
        }
    }
    char since[64] = "";
    if (parser->context && !reader->set && parser->context_mark.line + 1 != line) {
        snprintf(since, sizeof since, " of line %zu", parser->context_mark.line + 1);
    }
    TRY(mistakes_add(reader->mistakes, reader->set, line, NULL, "is no YAML: %s%s%s%s",
                     parser->problem ? parser->problem : "cannot be read",
                     parser->context ? ", " : "", parser->context ? parser->context : "", since));
out:
    return st;
}

/* Gives the next event. *ok = 0 and a mistake when there is none. */
static status_t tree_next_event(struct reader *reader, yaml_event_t *event, int *ok)
{
    *ok = yaml_parser_parse(&reader->parser, event);
    return *ok ? STATUS_OK : tree_add_syntax_mistake(reader);
}

static status_t tree_remember(struct reader *reader, const yaml_char_t *name,
                              const struct tree *node)
{
    status_t st = STATUS_OK;
    struct anchor *anchor = NULL;
    if (!name) {
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *anchor, "an anchor", &anchor));
    TRY(memory_text((const char *)name, &anchor->name));
    anchor->node = node;
    anchor->next = reader->anchors;
    reader->anchors = anchor;
    anchor = NULL;
    reader->budget -= reader->budget < NODES_PER_ANCHOR ? reader->budget : NODES_PER_ANCHOR;
out:
    free(anchor);
    return st;
}

static status_t tree_too_much(struct reader *reader, yaml_mark_t mark)
{
    return mistakes_add(reader->mistakes, reader->set, tree_line_of(reader, mark), NULL,
                        "holds too much: more than %d levels or %d values", TREE_DEPTH, NODES);
}

static status_t tree_read_alias(struct reader *reader, const yaml_event_t *event, struct tree **out)
{
    status_t st = STATUS_OK;
    const char *name = (const char *)event->data.alias.anchor;
    const struct anchor *anchor = reader->anchors;
    while (anchor && strcmp(anchor->name, name) != 0) {
        anchor = anchor->next;
    }
    if (!anchor) {
        TRY(mistakes_add(
            reader->mistakes, reader->set, tree_line_of(reader, event->start_mark), NULL,
            "the alias *%.100s stands for nothing: no complete &%.100s before it", name, name));
        goto out;
    }
    TRY(tree_copy(anchor->node, &reader->budget, out));
    if (!*out) {
        TRY(tree_too_much(reader, event->start_mark));
    }
out:
    return st;
}

static status_t tree_read_value(struct reader *reader, const yaml_event_t *event, struct tree **out)
{
    status_t st = STATUS_OK;
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length) {
        TRY(mistakes_add(reader->mistakes, reader->set, tree_line_of(reader, event->start_mark),
                         NULL, "a text holds a NUL character"));
        goto out;
    }
    TRY(tree_new(TREE_VALUE, text, out));
    (*out)->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    TRY(tree_remember(reader, event->data.scalar.anchor, *out));
out:
    return st;
}

static status_t tree_read_node(struct reader *reader, const yaml_event_t *event, unsigned depth,
                               struct tree **out);

/* *ok = 0 and a mistake when `key` is none. */
static status_t tree_check_key(struct reader *reader, const yaml_event_t *key, int *ok)
{
    status_t st = STATUS_OK;
    const char *wrong = NULL;
    if (key->type != YAML_SCALAR_EVENT) {
        wrong = "a key must be a single word";
    } else if (strlen((const char *)key->data.scalar.value) != key->data.scalar.length) {
        wrong = "a key holds a NUL character";
    }
    *ok = wrong == NULL;
    if (wrong) {
        TRY(mistakes_add(reader->mistakes, reader->set, tree_line_of(reader, key->start_mark), NULL,
                         "%s", wrong));
    }
out:
    return st;
}

/* Reads the members or entries of `node` up to its end. *ok = 0 after a mistake. */
static status_t tree_read_children(struct reader *reader, unsigned depth, struct tree *node,
                                   int *ok)
{
    status_t st = STATUS_OK;
    int is_mapping = node->kind == TREE_MAPPING;
    yaml_event_t key = {0};
    yaml_event_t value = {0};
    struct tree *child = NULL;
    for (;;) {
        TRY(tree_next_event(reader, is_mapping ? &key : &value, ok));
        if (!*ok || key.type == YAML_MAPPING_END_EVENT || value.type == YAML_SEQUENCE_END_EVENT) {
            break;
        }
        if (is_mapping) {
            TRY(tree_check_key(reader, &key, ok));
        }
        if (!*ok) {
            break;
        }
        if (is_mapping) {
            TRY(tree_next_event(reader, &value, ok));
        }
        if (*ok) {
            TRY(tree_read_node(reader, &value, depth + 1, &child));
            *ok = child != NULL;
        }
        if (!*ok) {
            break;
        }
        if (is_mapping && child->kind != TREE_VALUE) {
            /* People look for a mapping where its key stands, not where its content begins. */
            child->line = tree_line_of(reader, key.start_mark);
        }
        TRY(tree_add(node, is_mapping ? (const char *)key.data.scalar.value : NULL, &child));
        yaml_event_delete(&key);
        yaml_event_delete(&value);
    }
out:
    tree_destroy(child);
    yaml_event_delete(&key);
    yaml_event_delete(&value);
    return st;
}

/* Reads the node that begins with `event`; *out = NULL after a mistake. */
static status_t tree_read_node(struct reader *reader, const yaml_event_t *event, unsigned depth,
                               struct tree **out)
{
    status_t st = STATUS_OK;
    struct tree *node = NULL;
    int ok = 1;
    if (reader->budget == 0 || depth > TREE_DEPTH) {
        TRY(tree_too_much(reader, event->start_mark));
        goto out;
    }
    if (event->type == YAML_ALIAS_EVENT) {
        TRY(tree_read_alias(reader, event, &node));
    } else if (event->type == YAML_SCALAR_EVENT) {
        TRY(tree_read_value(reader, event, &node));
    } else {
        int is_mapping = event->type == YAML_MAPPING_START_EVENT;
        TRY(tree_new(is_mapping ? TREE_MAPPING : TREE_LIST, NULL, &node));
        TRY(tree_read_children(reader, depth, node, &ok));
        if (ok) {
            TRY(tree_remember(reader,
                              is_mapping ? event->data.mapping_start.anchor
                                         : event->data.sequence_start.anchor,
                              node));
        }
    }
    if (node && ok) {
        reader->budget -= reader->budget > 0;
        node->line = tree_line_of(reader, event->start_mark);
        node->set = reader->set;
        *out = node;
        node = NULL;
    }
out:
    tree_destroy(node);
    return st;
}

/* Reads the document whose first event is `event`, and sees that none follows. */
static status_t tree_read_document(struct reader *reader, yaml_event_t *event, struct tree **out)
{
    status_t st = STATUS_OK;
    struct tree *root = NULL;
    int ok = 1;
    yaml_event_delete(event);
    TRY(tree_next_event(reader, event, &ok));
    if (ok) {
        TRY(tree_read_node(reader, event, 0, &root));
    }
    /* The end of the document, then what must be the end of the stream. */
    for (int i = 0; i < 2 && ok && root; i++) {
        yaml_event_delete(event);
        TRY(tree_next_event(reader, event, &ok));
    }
    if (ok && root && event->type != YAML_STREAM_END_EVENT) {
        ok = 0;
        TRY(mistakes_add(reader->mistakes, reader->set, tree_line_of(reader, event->start_mark),
                         NULL, "a second document begins here, expected one document"));
    }
    if (ok) {
        *out = root;
        root = NULL;
    }
out:
    tree_destroy(root);
    return st;
}

status_t tree_read(const char *text, size_t length, const char *set, struct mistakes *mistakes,
                   struct tree **out)
{
    status_t st = STATUS_OK;
    struct reader reader = {.text = text, .set = set, .mistakes = mistakes, .budget = NODES};
    yaml_event_t event = {0};
    int ok = 1;
    *out = NULL;
    size_t line = text_line_of_nul(text, length);
    if (line > 0) {
        return mistakes_add(mistakes, set, set ? 0 : (uint32_t)line, NULL,
                            "holds a NUL byte, expected text");
    }
    REQUIRE(yaml_parser_initialize(&reader.parser), STATUS_DEVICE, "out of memory: reading YAML");
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    TRY(tree_next_event(&reader, &event, &ok)); /* the start of the stream */
    if (ok) {
        yaml_event_delete(&event);
        TRY(tree_next_event(&reader, &event, &ok));
    }
    if (ok && event.type == YAML_STREAM_END_EVENT) {
        TRY(tree_new(TREE_VALUE, "", out));
        (*out)->is_plain = 1;
        (*out)->set = set;
    } else if (ok) {
        TRY(tree_read_document(&reader, &event, out));
    }
out:
    while (reader.anchors) {
        struct anchor *anchor = reader.anchors;
        reader.anchors = anchor->next;
        free(anchor->name);
        free(anchor);
    }
    yaml_event_delete(&event);
    yaml_parser_delete(&reader.parser);
    return st;
}
