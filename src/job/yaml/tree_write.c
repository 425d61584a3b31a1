/* A tree as YAML. */
#include "job/yaml/tree_yaml.h"

#include <string.h>
#include <yaml.h>

static int tree_append(void *data, unsigned char *bytes, size_t count)
{
    return text_add_bytes(data, (const char *)bytes, count) == STATUS_OK;
}

/* Gives *event, which belongs to the emitter from then on, to it; `made` tells whether there was
 * memory for the event. */
static status_t tree_emit(yaml_emitter_t *emitter, int made, yaml_event_t *event)
{
    status_t st = STATUS_OK;
    REQUIRE(made && yaml_emitter_emit(emitter, event), STATUS_DEVICE, "cannot write YAML: %s",
            made && emitter->problem ? emitter->problem : "out of memory");
out:
    return st;
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

/* What is written, and what in the place of which nodes. */
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
