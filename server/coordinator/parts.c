/* The parts of a copy, comparison or sweep: the paths that are added together, or the placements that are
 * swept. */
#include "coordinator/coordinator_internal.h"

const kw_path *
kw_change_find_path(const kw_policy *policy, const kw_change_record *record)
{
    /* the parts of a sweep are placements, so there can be more of them than paths */
    uint64_t part = record->part < kw_change_paths_count(record) ? record->part : 0;
    const char *name = kw_change_path_name(record, record->adds ? part : 0);
    const kw_table *table = kw_policy_find_table(policy, kw_bytes_of_text(record->table));
    int index = table ? kw_table_find_path(table, kw_bytes_of_text(name)) : -1;
    const kw_path *path = index >= 0 ? &table->paths[index] : NULL;
    return path && (record->adds || kw_path_is_changing(path)) ? path : NULL;
}

static bool
holds_swept_rows(const kw_placement *placement)
{
    return placement->content == KW_CONTENT_RECORDS && placement->role.put > 0;
}

const kw_placement *
kw_change_find_swept(const kw_table *table, uint64_t part)
{
    for (size_t i = 0; i < table->placements_count; i++)
        if (holds_swept_rows(&table->placements[i]) && part-- == 0)
            return &table->placements[i];
    return NULL;
}

static uint64_t
parts_count(const kw_coordinator *self, const kw_change_record *record)
{
    uint64_t count = 0;
    if (self->act != KW_CHANGE_ACT_SWEEP)
        return kw_change_paths_count(record);
    const kw_table *table = kw_policy_find_table(self->call.policy, kw_bytes_of_text(record->table));
    while (kw_change_find_swept(table, count))
        count++;
    return count;
}

double
kw_change_progress_of_parts(const kw_coordinator *self, const kw_change_record *record, double progress)
{
    return ((double)record->part + progress) / (double)parts_count(self, record);
}

bool
kw_change_end_part(const kw_coordinator *self, kw_change_record *record)
{
    bool last = record->part + 1 >= parts_count(self, record);
    record->part = last ? 0 : record->part + 1;
    return last;
}
