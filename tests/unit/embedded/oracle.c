#include "oracle.h"

void
kw_oracle_add(kw_oracle *model, kw_oracle_entry entry)
{
    entry.order = model->entries->len;
    g_array_append_val(model->entries, entry);
}

static bool
marker_counts(const kw_oracle *model, const kw_oracle_entry *marker, const kw_oracle_read_spec *spec)
{
    if (model->families[marker->family].keep_deleted_cells != 1)
        return true;
    if (spec->time_from == 0 && spec->time_to == 0)
        return true;
    return marker->timestamp >= spec->time_from && marker->timestamp < spec->time_to;
}

static bool
is_deleted(const kw_oracle *model, const kw_oracle_entry *cell, const kw_oracle_read_spec *spec)
{
    for (guint i = 0; i < model->entries->len; i++) {
        const kw_oracle_entry *other = &g_array_index(model->entries, kw_oracle_entry, i);
        if (other->marker && other->row == cell->row && other->family == cell->family &&
            (other->whole_family || other->qualifier == cell->qualifier) &&
            other->timestamp >= cell->timestamp && marker_counts(model, other, spec))
            return true;
    }
    return false;
}

static int
newest_first(gconstpointer a, gconstpointer b)
{
    const kw_oracle_entry *left = *(const kw_oracle_entry *const *)a,
                          *right = *(const kw_oracle_entry *const *)b;
    if (left->timestamp != right->timestamp)
        return left->timestamp > right->timestamp ? -1 : 1;
    return left->order > right->order ? -1 : 1;
}

/* The puts of the column, newest first, one per timestamp. */
static GPtrArray *
versions_of(const kw_oracle *model, size_t row, size_t family, size_t qualifier)
{
    GPtrArray *all = g_ptr_array_new(), *kept = g_ptr_array_new();
    for (guint i = 0; i < model->entries->len; i++) {
        kw_oracle_entry *entry = &g_array_index(model->entries, kw_oracle_entry, i);
        if (!entry->marker && entry->row == row && entry->family == family && entry->qualifier == qualifier)
            g_ptr_array_add(all, entry);
    }
    g_ptr_array_sort(all, newest_first);
    for (guint i = 0; i < all->len; i++) {
        const kw_oracle_entry *entry = all->pdata[i];
        if (kept->len == 0 || ((kw_oracle_entry *)kept->pdata[kept->len - 1])->timestamp != entry->timestamp)
            g_ptr_array_add(kept, all->pdata[i]);
    }
    g_ptr_array_free(all, TRUE);
    return kept;
}

static bool
is_kept(const kw_family_spec *family, const kw_oracle_entry *cell, guint place, int64_t now_ms)
{
    guint most = family->max_versions ? (guint)family->max_versions : 1;
    bool expired = family->ttl_seconds && cell->timestamp < now_ms - (int64_t)family->ttl_seconds * 1000;
    return place < most && (!expired || place < (guint)family->min_versions);
}

static void
read_column(const kw_oracle *model, size_t row, size_t family, size_t qualifier,
            const kw_oracle_read_spec *spec, void (*seen)(const kw_oracle_entry *, void *), void *user)
{
    GPtrArray *versions = versions_of(model, row, family, qualifier);
    int32_t found = 0, most = spec->versions ? spec->versions : 1;
    for (guint place = 0; place < versions->len && found < most; place++) {
        const kw_oracle_entry *cell = versions->pdata[place];
        bool all_times = spec->time_from == 0 && spec->time_to == 0;
        bool in_time = all_times || (cell->timestamp >= spec->time_from && cell->timestamp < spec->time_to);
        if (is_kept(&model->families[family], cell, place, spec->now_ms) && in_time &&
            !is_deleted(model, cell, spec)) {
            seen(cell, user);
            found++;
        }
    }
    g_ptr_array_free(versions, TRUE);
}

void
kw_oracle_read(const kw_oracle *model, size_t row, const kw_oracle_read_spec *spec,
               void (*seen)(const kw_oracle_entry *cell, void *user), void *user)
{
    for (size_t family = 0; family < model->families_count; family++)
        for (size_t qualifier = 0; qualifier < model->qualifiers_count; qualifier++)
            if (spec->family_whole[family] || spec->column[family][qualifier])
                read_column(model, row, family, qualifier, spec, seen, user);
}
