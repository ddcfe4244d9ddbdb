/* A plan, or the keys of a record, as one JSON object. */
#include "cli/explain.h"

#include "cli/text.h"

/* Adds `name` as text, and `hex_name` as hex digits. Bytes NULL: no members. */
static void
add_bytes(JsonBuilder *to, const char *name, const char *hex_name, GBytes *bytes)
{
    g_autofree char *text = kw_text_of_bytes(bytes);
    g_autofree char *hex = kw_hex_of_bytes(bytes);

    if (bytes == NULL)
        return;
    kw_json_add_text(to, name, text);
    kw_json_add_text(to, hex_name, hex);
}

static void
add_range(JsonBuilder *to, const kw_explained_range *range)
{
    json_builder_begin_object(to);
    kw_json_add_number(to, "group", range->group);
    add_bytes(to, "start", "start_hex", range->start);
    add_bytes(to, "stop", "stop_hex", range->stop);
    kw_json_add_text(to, "text", range->text);
    json_builder_end_object(to);
}

static void
add_plan(JsonBuilder *to, const kw_explanation *plan)
{
    kw_json_add_text(to, "path", plan->path);
    kw_json_add_number(to, "ranges_count", plan->ranges_count);
    kw_json_add_flag(to, "reversed", plan->reversed);
    if (plan->expected_reads_per_row > 0)
        kw_json_add_real(to, "expected_reads_per_row", plan->expected_reads_per_row);
    kw_json_begin_array(to, "ranges");
    for (guint i = 0; i < plan->ranges->len; i++)
        add_range(to, plan->ranges->pdata[i]);
    json_builder_end_array(to);
}

void
kw_key_pieces_add_json(JsonBuilder *to, const char *name, const GPtrArray *pieces)
{
    kw_json_begin_array(to, name);
    for (guint i = 0; i < pieces->len; i++) {
        const kw_key_piece *piece = pieces->pdata[i];

        json_builder_begin_object(to);
        kw_json_add_text(to, "component", piece->component);
        add_bytes(to, "bytes", "hex", piece->bytes);
        json_builder_end_object(to);
    }
    json_builder_end_array(to);
}

static void
add_key(JsonBuilder *to, const kw_explained_key *key)
{
    json_builder_begin_object(to);
    kw_json_add_text(to, "path", key->path);
    kw_json_add_text(to, "store_table", key->store_table);
    add_bytes(to, "row_key", "row_key_hex", key->row_key);
    kw_key_pieces_add_json(to, "components", key->pieces);
    add_bytes(to, "region_start", "region_start_hex", key->region_start);
    add_bytes(to, "region_stop", "region_stop_hex", key->region_stop);
    kw_json_add_text(to, "region_server", key->region_server);
    json_builder_end_object(to);
}

static void
add_keys(JsonBuilder *to, const kw_explanation *explanation)
{
    kw_json_begin_array(to, "keys");
    for (guint i = 0; i < explanation->keys->len; i++)
        add_key(to, explanation->keys->pdata[i]);
    json_builder_end_array(to);
}

bool
kw_explanation_print_json(const kw_explanation *explanation)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    if (explanation->path != NULL)
        add_plan(builder, explanation);
    else
        add_keys(builder, explanation);
    kw_json_add_texts(builder, "notes", explanation->notes);
    json_builder_end_object(builder);
    return kw_json_print(builder);
}
