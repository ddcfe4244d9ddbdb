#include "service/in_effect.h"

#include "config/edit.h"
#include "config/memory.h"
#include "config/shared.h"
#include "service/methods/candidate.h"

#include <glib.h>
#include <string.h>

static const char *
order_name(kw_write_order order)
{
    return order == KW_WRITE_ORDER_STORE ? "store" : "stamp";
}

static bool
is_changing(const kw_table *table)
{
    return table->change != KW_TABLE_UNCHANGED;
}

static bool
allows_atomics(const kw_table *table)
{
    return table->ordering.regime.atomics != KW_ATOMICS_OFF;
}

/* --- whether anything differs ---------------------------------------------------------------------- */

static bool
same_place(const kw_path *path, int64_t layout, const char *store_table)
{
    return kw_layout_number(path->layout) == layout &&
           kw_bytes_equal(path->store_table, kw_bytes_of_text(store_table));
}

/* False if the policy names the order, or has it by default. After a path was added on the embedded store,
 * the table keeps order: store, which no text with several paths can name: both orders are the same there. */
static bool
lacks_order(const kw_table *text, const kw_table *serving)
{
    bool nameable = serving->ordering.regime.order != KW_WRITE_ORDER_STORE || text->queried_paths_count == 1;
    return !text->model->order && nameable && kw_table_default_order(text) != serving->ordering.regime.order;
}

/* The same for atomics. With order: store, they are allowed by default; with order: stamp, they are not. */
static bool
lacks_atomics(const kw_table *text, const kw_table *serving)
{
    kw_write_order order =
        lacks_order(text, serving) ? serving->ordering.regime.order : kw_table_default_order(text);
    return text->model->atomics < 0 && allows_atomics(serving) != (order == KW_WRITE_ORDER_STORE);
}

static bool
table_differs(const kw_table *table)
{
    if (is_changing(table) || lacks_order(table, table) || lacks_atomics(table, table))
        return true;
    for (size_t i = 0; i < table->queried_paths_count; i++) {
        const kw_model_path *text = kw_path_text(&table->paths[i]);
        if (!same_place(&table->paths[i], text->layout, text->store_table))
            return true;
    }
    return false;
}

bool
kw_in_effect_differs(const kw_policy *serving)
{
    for (size_t i = 0; i < kw_policy_table_count(serving); i++)
        if (table_differs(kw_policy_table(serving, i)))
            return true;
    return false;
}

/* --- the settings of one text ---------------------------------------------------------------------- */

typedef struct settling {
    const kw_policy *serving;
    kw_memory *memory;
    GArray *settings;  /* kw_table_setting */
    GString *changing; /* a comment for each table with a change under way */
} settling;

static void
add(settling *self, const kw_table *table, const char *path, const char *name, const char *value)
{
    kw_table_setting setting = {table->name, path, name, value};
    g_array_append_val(self->settings, setting);
}

/* The path in effect; NULL: the text has another key rule for it, or a new path. */
static const kw_path *
find_serving(const kw_path *text, const kw_table *serving)
{
    int index = kw_table_find_path(serving, kw_bytes_of_text(text->name));
    const kw_path *path = index >= 0 ? &serving->paths[index] : NULL;
    bool same = path && g_str_equal(kw_layout_fingerprint(path->layout), kw_layout_fingerprint(text->layout));
    return same ? path : NULL;
}

/* If one store table is named, all are: the default of a path depends on that of the primary path. */
static void
add_places(settling *self, const kw_table *text, const kw_table *serving)
{
    bool moved = false;
    for (size_t i = 0; i < text->paths_count; i++) {
        const kw_path *path = find_serving(&text->paths[i], serving);
        moved = moved || (path && !kw_bytes_equal(path->store_table, text->paths[i].store_table));
    }
    for (size_t i = 0; i < text->paths_count; i++) {
        const kw_path *from = &text->paths[i], *path = find_serving(from, serving);
        kw_bytes store_table = path ? path->store_table : from->store_table;
        if (path && kw_layout_number(path->layout) != kw_layout_number(from->layout))
            add(self, text, from->name, "layout",
                kw_memory_printf(self->memory, "%u", (unsigned)kw_layout_number(path->layout)));
        if (moved)
            add(self, text, from->name, "store_table",
                kw_memory_text(self->memory, (const char *)store_table.data, store_table.size));
    }
}

static void
add_table(settling *self, const kw_table *text, const kw_table *serving)
{
    if (is_changing(serving)) {
        g_string_append_printf(self->changing,
                               "# table %s: a change is under way; without the catalog, this text does not "
                               "lead to all rows (keyway catalog export)\n",
                               serving->name);
        return;
    }
    if (lacks_order(text, serving))
        add(self, text, "primary", "order", order_name(serving->ordering.regime.order));
    if (lacks_atomics(text, serving))
        add(self, text, "primary", "atomics", allows_atomics(serving) ? "true" : "false");
    add_places(self, text, serving);
}

/* --- the new text ---------------------------------------------------------------------------------- */

/* True if nothing is left to add. */
static bool
is_settled(settling *self, const kw_policy *text)
{
    g_array_set_size(self->settings, 0);
    g_string_truncate(self->changing, 0);
    for (size_t i = 0; i < kw_policy_table_count(text); i++) {
        const kw_table *table = kw_policy_table(text, i);
        const kw_table *serving = kw_policy_find_table(self->serving, kw_bytes_of_text(table->name));
        if (serving)
            add_table(self, table, serving);
    }
    return self->settings->len == 0;
}

static kw_policy *
compile(const settling *self, kw_bytes text, kw_effort *effort, kw_error *ret_error)
{
    return kw_candidate_compile_shared(kw_policy_model(self->serving), "policy", text, effort, ret_error);
}

static void
refuse(const GArray *settings, kw_error *ret_error)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < settings->len; i++) {
        const kw_table_setting *each = &g_array_index(settings, kw_table_setting, i);
        g_string_append_printf(list, "%stable %s, path %s: %s: %s", i ? "; " : "", each->table, each->path,
                               each->name, each->value);
    }
    kw_error_set(ret_error, KW_INVALID,
                 "the settings in effect cannot be written into this text; read it with --as-applied, and "
                 "add them: %s",
                 list->str);
}

/* Writes the settings, and reads the text again to make sure that it has them. */
static char *
write_settings(settling *self, kw_bytes text, kw_effort *effort, kw_error *ret_error)
{
    g_autoptr(GArray) wanted = g_array_copy(self->settings);
    const kw_table_setting *items = (const kw_table_setting *)(void *)wanted->data;
    g_autofree char *made = kw_text_with_settings((const char *)text.data, text.size, items, wanted->len);
    g_autoptr(kw_policy) read = made ? compile(self, kw_bytes_of_text(made), effort, ret_error) : NULL;
    if (read && is_settled(self, read))
        return g_steal_pointer(&made);
    if (!effort->over)
        refuse(wanted, ret_error);
    return NULL;
}

char *
kw_in_effect_text(const kw_policy *serving, kw_bytes text, kw_effort *effort, kw_error *ret_error)
{
    g_autoptr(kw_memory) memory = kw_memory_new();
    g_autoptr(GArray) settings = g_array_new(FALSE, FALSE, sizeof(kw_table_setting));
    g_autoptr(GString) changing = g_string_new(NULL);
    settling self = {serving, memory, settings, changing};
    g_autoptr(kw_policy) read = compile(&self, text, effort, ret_error);
    if (!read)
        return NULL;
    g_autofree char *made = is_settled(&self, read) ? g_strndup((const char *)text.data, text.size)
                                                    : write_settings(&self, text, effort, ret_error);
    return made ? g_strconcat(changing->str, made, NULL) : NULL;
}
