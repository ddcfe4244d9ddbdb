/* The complete advice as one JSON object. */
#include "cli/advise.h"
#include "cli/json_build.h"
#include "cli/text.h"

static void
add_numbers(JsonBuilder *to, const char *name, const GArray *numbers)
{
    kw_json_begin_array(to, name);
    for (guint i = 0; i < numbers->len; i++)
        json_builder_add_int_value(to, g_array_index(numbers, gint64, i));
    json_builder_end_array(to);
}

static void
add_spread(JsonBuilder *to, const char *name, const kw_spread *spread)
{
    if (spread == NULL)
        return;
    json_builder_set_member_name(to, name);
    json_builder_begin_object(to);
    kw_json_add_number(to, "places", spread->counts->len);
    kw_json_add_number(to, "reached", spread->reached);
    kw_json_add_real(to, "hottest_to_mean", spread->hottest_to_mean);
    kw_json_add_real(to, "window_share", spread->window_share);
    kw_json_add_real(to, "worst_share", spread->worst_share);
    kw_json_add_real(to, "window_places", spread->window_places);
    add_numbers(to, "counts", spread->counts);
    json_builder_end_object(to);
}

static void
add_region_starts(JsonBuilder *to, const kw_advised_path *path)
{
    kw_json_begin_array(to, "region_starts");
    for (guint i = 0; i < path->region_starts->len; i++) {
        gsize size;
        const void *data = g_bytes_get_data(path->region_starts->pdata[i], &size);
        g_autofree char *text = kw_text_from_bytes(data, size);

        json_builder_add_string_value(to, text);
    }
    json_builder_end_array(to);
}

/* One array per time column. */
static void
add_heat(JsonBuilder *to, const kw_advised_path *path)
{
    guint regions = path->regions->counts->len;

    kw_json_begin_array(to, "heat");
    for (guint i = 0; i < path->heat->len; i++) {
        if (i % regions == 0)
            json_builder_begin_array(to);
        json_builder_add_int_value(to, g_array_index(path->heat, gint32, i));
        if (i % regions == regions - 1)
            json_builder_end_array(to);
    }
    json_builder_end_array(to);
}

static void
add_path(JsonBuilder *to, const kw_advise_view *view, const kw_advised_path *path)
{
    json_builder_begin_object(to);
    kw_json_add_text(to, "candidate", view->candidates[path->candidate]);
    kw_json_add_text(to, "path", path->path);
    kw_json_add_text(to, "store_table", path->store_table);
    kw_json_add_texts(to, "components", path->components);
    kw_json_add_number(to, "records", path->records);
    kw_json_add_number(to, "rejected", path->rejected);
    kw_json_add_text(to, "rejection", path->rejection);
    kw_json_add_number(to, "duplicates", path->duplicates);
    kw_json_add_number(to, "key_bytes_min", path->key_bytes_min);
    kw_json_add_number(to, "key_bytes_max", path->key_bytes_max);
    kw_json_add_real(to, "key_bytes_mean", path->key_bytes_mean);
    kw_json_add_text(to, "bucket", path->bucket);
    add_spread(to, "buckets", path->buckets);
    add_spread(to, "regions", path->regions);
    kw_json_add_text(to, "cut", path->cut);
    add_region_starts(to, path);
    add_heat(to, path);
    kw_json_add_text(to, "order_field", path->order_field);
    kw_json_add_flag(to, "order_descending", path->order_descending);
    kw_json_add_number(to, "order_ranges", path->order_ranges);
    kw_json_add_texts(to, "order_lost", path->order_lost);
    json_builder_end_object(to);
}

static void
add_query(JsonBuilder *to, const kw_advise_view *view, const kw_advised_query *query)
{
    json_builder_begin_object(to);
    kw_json_add_text(to, "query", ((const kw_advise_query *)view->queries->pdata[query->query])->name);
    kw_json_add_text(to, "candidate", view->candidates[query->candidate]);
    kw_json_add_text(to, "refusal", query->refusal);
    kw_json_add_text(to, "path", query->path);
    if (query->refusal == NULL) {
        kw_json_add_number(to, "ranges", query->ranges);
        kw_json_add_number(to, "groups", query->groups);
        kw_json_add_flag(to, "point", query->point);
        kw_json_add_flag(to, "ordered", query->ordered);
        kw_json_add_real(to, "expected_reads_per_row", query->expected_reads_per_row);
        kw_json_add_number(to, "scanned", query->scanned);
        kw_json_add_number(to, "matching", query->matching);
        if (query->matching > 0)
            kw_json_add_real(to, "measured_reads_per_row", kw_advise_measured_reads_per_row(query));
    }
    json_builder_end_object(to);
}

static void
add_all(JsonBuilder *to, const kw_advise_view *view)
{
    json_builder_begin_object(to);
    kw_json_add_text(to, "table", view->table);
    kw_json_add_number(to, "records", view->records);
    kw_json_add_text(to, "time_field", view->advice->time_field);
    kw_json_add_number(to, "window_ms", view->advice->window_ms);
    kw_json_add_number(to, "windows", view->advice->windows);
    kw_json_add_texts(to, "words", view->advice->words);
    kw_json_begin_array(to, "paths");
    for (guint i = 0; i < view->advice->paths->len; i++)
        add_path(to, view, view->advice->paths->pdata[i]);
    json_builder_end_array(to);
    kw_json_begin_array(to, "queries");
    for (guint i = 0; i < view->advice->queries->len; i++)
        add_query(to, view, view->advice->queries->pdata[i]);
    json_builder_end_array(to);
    add_numbers(to, "columns", view->advice->columns);
    json_builder_end_object(to);
}

bool
kw_advise_print_json(const kw_advise_view *view)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    add_all(builder, view);
    return kw_json_print(builder);
}
