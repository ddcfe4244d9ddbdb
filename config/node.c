/* Builds the tree with an explicit stack, one libyaml event at a time: there is no recursion, and nothing
 * beyond the limits of node.h is kept. */
#include "config/node.h"

#include <string.h>
#include <yaml.h>

typedef struct frame {
    kw_node *node;    /* the open LIST or MAP */
    GPtrArray *items; /* its children; of a map, alternating keys and values */
    size_t problems;  /* found before it was opened */
} frame;

typedef struct tree_builder {
    kw_memory *memory;
    kw_diagnostics *diagnostics;
    frame open[KW_NODE_DEPTH_LIMIT];
    size_t depth;
    size_t nodes;
    size_t documents;
    kw_node *root;
} tree_builder;

static kw_mark
mark_of(yaml_mark_t mark)
{
    return (kw_mark){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* Line and column of a byte of the text. */
static kw_mark
mark_at(const char *text, size_t offset)
{
    kw_mark mark = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n')
            mark = (kw_mark){mark.line + 1, 1};
        else if (((unsigned char)text[i] & 0xc0) != 0x80)
            mark.column++;
    }
    return mark;
}

static kw_node *
node_new(tree_builder *builder, kw_node_kind kind, const yaml_event_t *event)
{
    kw_node *node = KW_MEMORY_ARRAY(builder->memory, kw_node, 1);
    node->kind = kind;
    node->mark = mark_of(event->start_mark);
    node->start = event->start_mark.index;
    node->end = event->end_mark.index;
    return node;
}

static void
refuse_decoration(tree_builder *builder, const yaml_event_t *event, const yaml_char_t *anchor,
                  const yaml_char_t *tag)
{
    if (anchor)
        kw_diagnostics_add(builder->diagnostics, mark_of(event->start_mark),
                           "repeat the value where it is used", "anchors are not allowed (&%.40s)",
                           (const char *)anchor);
    if (tag)
        kw_diagnostics_add(builder->diagnostics, mark_of(event->start_mark),
                           "remove the tag; the setting determines the type", "tags are not allowed (%.60s)",
                           (const char *)tag);
}

static kw_node *
scalar_new(tree_builder *builder, const yaml_event_t *event)
{
    kw_node *node = node_new(builder, KW_NODE_SCALAR, event);
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    refuse_decoration(builder, event, event->data.scalar.anchor, event->data.scalar.tag);
    if (memchr(text, '\0', size)) {
        kw_diagnostics_add(builder->diagnostics, node->mark,
                           "use single quotes: in double quotes, YAML itself replaces \\x00; in single "
                           "quotes, '\\x00' stays and means the byte",
                           "a value cannot contain the character NUL");
        node->kind = KW_NODE_BROKEN;
        node->damaged = true;
        size = strlen(text);
    }
    node->text = kw_memory_text(builder->memory, text, size);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return node;
}

/* Appends a finished or newly opened node to the open one. */
static void
append_node(tree_builder *builder, kw_node *node)
{
    if (builder->depth == 0) {
        builder->root = node;
        return;
    }
    g_ptr_array_add(builder->open[builder->depth - 1].items, node);
}

static bool
open_node(tree_builder *builder, kw_node *node)
{
    if (builder->depth == KW_NODE_DEPTH_LIMIT)
        return kw_diagnostics_add(builder->diagnostics, node->mark, NULL, "nested deeper than %d levels",
                                  KW_NODE_DEPTH_LIMIT);
    append_node(builder, node);
    builder->open[builder->depth++] =
        (frame){node, g_ptr_array_new(), kw_diagnostics_count(builder->diagnostics)};
    return true;
}

static bool
usable_key(tree_builder *builder, const kw_node *key)
{
    if (key->kind == KW_NODE_SCALAR)
        return true;
    if (key->kind != KW_NODE_BROKEN)
        kw_diagnostics_add(builder->diagnostics, key->mark, "use a plain name as the key",
                           "a %s cannot be a key", key->kind == KW_NODE_LIST ? "list" : "map");
    return false;
}

/* Splits alternating keys and values into two arrays. A duplicate key, or a key that is no scalar, is a
 * problem and is dropped with its value. */
static void
close_map(tree_builder *builder, kw_node *map, GPtrArray *items)
{
    size_t most = items->len / 2;
    map->keys = KW_MEMORY_ARRAY(builder->memory, kw_node *, most);
    map->items = KW_MEMORY_ARRAY(builder->memory, kw_node *, most);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < most; i++) {
        kw_node *key = g_ptr_array_index(items, 2 * i);
        if (!usable_key(builder, key)) {
            map->lacks = true;
            continue;
        }
        const kw_node *first = g_hash_table_lookup(seen, key->text);
        if (first) {
            kw_diagnostics_add(builder->diagnostics, key->mark, NULL,
                               "'%.60s' is given twice, first in line %u", key->text, first->mark.line);
            continue;
        }
        g_hash_table_insert(seen, (void *)key->text, key);
        map->keys[map->count] = key;
        map->items[map->count++] = g_ptr_array_index(items, 2 * i + 1);
    }
}

static void
close_node(tree_builder *builder)
{
    frame closed = builder->open[--builder->depth];
    if (closed.node->kind == KW_NODE_MAP) {
        close_map(builder, closed.node, closed.items);
    } else {
        closed.node->count = closed.items->len;
        closed.node->items = KW_MEMORY_ARRAY(builder->memory, kw_node *, closed.items->len);
        if (closed.items->len)
            memcpy(closed.node->items, closed.items->pdata, closed.items->len * sizeof(kw_node *));
    }
    g_ptr_array_unref(closed.items);
    closed.node->damaged = kw_diagnostics_count(builder->diagnostics) > closed.problems;
}

static bool
count_node(tree_builder *builder, const yaml_event_t *event)
{
    if (++builder->nodes <= KW_NODE_COUNT_LIMIT)
        return true;
    return kw_diagnostics_add(builder->diagnostics, mark_of(event->start_mark), NULL,
                              "more than %d values in one policy", KW_NODE_COUNT_LIMIT);
}

static bool
on_document(tree_builder *builder, const yaml_event_t *event)
{
    if (++builder->documents == 1)
        return true;
    return kw_diagnostics_add(builder->diagnostics, mark_of(event->start_mark),
                              "a policy is one document; remove the '---'", "a second document starts here");
}

static void
on_alias(tree_builder *builder, const yaml_event_t *event)
{
    kw_diagnostics_add(builder->diagnostics, mark_of(event->start_mark), "repeat the value where it is used",
                       "aliases are not allowed (*%.40s)", (const char *)event->data.alias.anchor);
    kw_node *node = node_new(builder, KW_NODE_BROKEN, event);
    node->damaged = true;
    append_node(builder, node);
}

/* False stops the parser, after a problem was reported. */
static bool
on_event(tree_builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    case YAML_DOCUMENT_START_EVENT:
        return on_document(builder, event);
    case YAML_ALIAS_EVENT:
        on_alias(builder, event);
        return count_node(builder, event);
    case YAML_SCALAR_EVENT:
        append_node(builder, scalar_new(builder, event));
        return count_node(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        refuse_decoration(builder, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        return count_node(builder, event) && open_node(builder, node_new(builder, KW_NODE_LIST, event));
    case YAML_MAPPING_START_EVENT:
        refuse_decoration(builder, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        return count_node(builder, event) && open_node(builder, node_new(builder, KW_NODE_MAP, event));
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(builder);
        return true;
    }
    g_assert_not_reached();
}

static bool
report_parser_problem(const yaml_parser_t *parser, const char *text, kw_diagnostics *diagnostics)
{
    const char *problem = parser->problem ? parser->problem : "unknown problem";
    if (parser->error == YAML_READER_ERROR)
        return kw_diagnostics_add(diagnostics, mark_at(text, parser->problem_offset), NULL,
                                  "not valid YAML: %s", problem);
    const char *hint = NULL;
    if (strstr(problem, "cannot start any token"))
        hint = "indent with spaces, not tabs; quote strings that start with @ ` % or a tab";
    else if (strstr(problem, "mapping values are not allowed"))
        hint = "quote strings that contain ': ', and check the indentation";
    else if (strstr(problem, "expected <block end>") || strstr(problem, "could not find expected ':'"))
        hint = "check the indentation of this line and of the line above";
    return kw_diagnostics_add(diagnostics, mark_of(parser->problem_mark), hint, "not valid YAML: %s%s%s",
                              problem, parser->context ? " " : "", parser->context ? parser->context : "");
}

static bool
parse_events(tree_builder *builder, yaml_parser_t *parser, const char *text)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return report_parser_problem(parser, text, builder->diagnostics);
        bool ended = event.type == YAML_STREAM_END_EVENT;
        bool accepted = on_event(builder, &event);
        yaml_event_delete(&event);
        if (!accepted || ended)
            return accepted;
    }
}

static bool
check_bytes(const char *text, size_t size, kw_diagnostics *diagnostics)
{
    if (size > KW_NODE_SIZE_LIMIT)
        return kw_diagnostics_add(diagnostics, (kw_mark){0, 0}, NULL, "larger than %zu bytes",
                                  KW_NODE_SIZE_LIMIT);
    const char *end;
    if (!g_utf8_validate(text, (gssize)size, &end))
        return kw_diagnostics_add(diagnostics, mark_at(text, (size_t)(end - text)), "save the file as UTF-8",
                                  "byte 0x%02x is not valid UTF-8 here", (unsigned)(unsigned char)*end);
    return true;
}

kw_node *
kw_node_parse(kw_memory *memory, const char *text, size_t size, kw_diagnostics *diagnostics)
{
    if (!check_bytes(text, size, diagnostics))
        return NULL;
    yaml_parser_t parser;
    int ready = yaml_parser_initialize(&parser);
    g_assert(ready);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    tree_builder builder = {.memory = memory, .diagnostics = diagnostics};
    bool parsed = parse_events(&builder, &parser, text);
    while (builder.depth)
        g_ptr_array_unref(builder.open[--builder.depth].items);
    yaml_parser_delete(&parser);
    if (parsed && !builder.root)
        parsed = kw_diagnostics_add(diagnostics, (kw_mark){1, 1}, "start from an example in keyway-policy(5)",
                                    "the policy is empty");
    return parsed ? builder.root : NULL;
}

const kw_node *
kw_node_find(const kw_node *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

bool
kw_node_is_empty(const kw_node *node)
{
    return node->kind == KW_NODE_SCALAR && node->plain && !*node->text;
}
