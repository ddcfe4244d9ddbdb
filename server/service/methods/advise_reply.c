/* Converts the advice to the caller's structs. */
#include "service/methods/advise.h"

static kw_api_Spread *
spread_out(const kw_spread *spread, kw_arena *arena)
{
    kw_api_Spread *out = KW_ARENA_NEW(arena, kw_api_Spread);
    *out = (kw_api_Spread){.reached = (int32_t)spread->reached,
                           .hottest_to_mean = spread->hottest_to_mean,
                           .window_share = spread->window_share,
                           .worst_share = spread->worst_share,
                           .window_places = spread->window_places};
    out->counts.items = KW_ARENA_ARRAY(arena, int64_t, spread->places);
    out->counts.count = (uint32_t)spread->places;
    for (size_t place = 0; place < spread->places; place++)
        out->counts.items[place] = (int64_t)spread->counts[place];
    return out;
}

static void
places_out(const kw_advised_path *path, size_t columns, kw_arena *arena, kw_api_AdvisedPath *out)
{
    size_t regions = path->regions.places;
    out->has_bucket = out->has_buckets = path->bucket != NULL;
    out->bucket = path->bucket ? kw_bytes_of_text(path->bucket) : KW_BYTES_NONE;
    out->buckets = path->bucket ? spread_out(&path->buckets, arena) : NULL;
    out->regions = spread_out(&path->regions, arena);
    out->cut = kw_bytes_of_text(path->cut);
    out->region_starts.items = KW_ARENA_ARRAY(arena, kw_bytes, regions);
    out->region_starts.count = (uint32_t)regions;
    for (size_t region = 0; region < regions; region++)
        out->region_starts.items[region] = path->region_starts[region];
    out->heat.items = KW_ARENA_ARRAY(arena, int32_t, columns * regions);
    out->heat.count = (uint32_t)(columns * regions);
    for (size_t cell = 0; cell < columns * regions; cell++)
        out->heat.items[cell] = (int32_t)path->heat[cell];
}

static void
order_out(const kw_advised_path *path, const kw_table *table, kw_arena *arena, kw_api_AdvisedPath *out)
{
    out->has_order_field = path->order_field >= 0;
    if (out->has_order_field)
        out->order_field = kw_bytes_of_text(table->fields[path->order_field].name);
    out->order_descending = path->order_descending;
    out->order_ranges = (int64_t)MIN(path->order_ranges, (uint64_t)INT64_MAX);
    out->order_lost.items = KW_ARENA_ARRAY(arena, kw_bytes, path->lost_count);
    out->order_lost.count = (uint32_t)path->lost_count;
    for (size_t index = 0; index < path->lost_count; index++)
        out->order_lost.items[index] = kw_bytes_of_text(table->fields[path->lost[index]].name);
}

static void
path_out(const kw_advising *self, size_t candidate, const kw_advised_path *path, kw_api_AdvisedPath *out)
{
    const kw_layout *layout = path->path->layout;
    size_t count = kw_layout_component_count(layout);
    *out =
        (kw_api_AdvisedPath){.candidate = (int32_t)candidate,
                             .path = kw_bytes_of_text(path->path->name),
                             .store_table = path->path->store_table,
                             .records = (int64_t)path->records,
                             .rejected = (int64_t)path->rejected,
                             .has_rejection = path->rejection != NULL,
                             .rejection = path->rejection ? kw_bytes_of_text(path->rejection) : KW_BYTES_NONE,
                             .duplicates = (int64_t)path->duplicates,
                             .key_bytes_min = (int32_t)path->key_bytes_min,
                             .key_bytes_max = (int32_t)path->key_bytes_max,
                             .key_bytes_mean = path->key_bytes_mean};
    out->components.items = KW_ARENA_ARRAY(self->arena, kw_bytes, count);
    out->components.count = (uint32_t)count;
    for (size_t index = 0; index < count; index++)
        out->components.items[index] = kw_bytes_of_text(kw_layout_component_text(layout, index));
    places_out(path, self->advice.columns_count, self->arena, out);
    order_out(path, self->candidates[candidate].table, self->arena, out);
}

static void
query_out(size_t candidate, size_t number, const kw_advised_query *advised, kw_api_AdvisedQuestion *out)
{
    *out = (kw_api_AdvisedQuestion){.candidate = (int32_t)candidate,
                                    .question = (int32_t)number,
                                    .has_refusal = advised->refusal != NULL,
                                    .has_path = advised->refusal == NULL,
                                    .ranges = (int32_t)advised->ranges,
                                    .groups = (int32_t)advised->groups,
                                    .point = advised->point,
                                    .ordered = advised->ordered,
                                    .expected_reads_per_row = advised->expected_reads_per_row,
                                    .scanned = (int64_t)advised->scanned,
                                    .matching = (int64_t)advised->matching};
    if (advised->refusal)
        out->refusal = kw_bytes_of_text(advised->refusal);
    else
        out->path = kw_bytes_of_text(advised->path->name);
}

static void
head_out(const kw_advising *self, kw_api_Advice *out)
{
    const kw_advice *advice = &self->advice;
    *out = (kw_api_Advice){.has_time_field = self->time_field >= 0,
                           .window_ms = advice->window_ms,
                           .windows = (int32_t)advice->windows};
    if (out->has_time_field)
        out->time_field = kw_bytes_of_text(self->candidates[0].table->fields[self->time_field].name);
    out->words.items = KW_ARENA_ARRAY(self->arena, kw_bytes, advice->words_count);
    out->words.count = (uint32_t)advice->words_count;
    for (size_t index = 0; index < advice->words_count; index++)
        out->words.items[index] = kw_bytes_of_text(advice->words[index]);
    out->columns.items = KW_ARENA_ARRAY(self->arena, int64_t, advice->columns_count);
    out->columns.count = (uint32_t)advice->columns_count;
    for (size_t index = 0; index < advice->columns_count; index++)
        out->columns.items[index] = advice->columns[index];
}

const kw_api_Advice *
kw_advise_reply(const kw_advising *self)
{
    size_t candidates = self->args->candidates.count, queries = self->settings.queries_count, paths = 0;
    kw_api_Advice *out = KW_ARENA_NEW(self->arena, kw_api_Advice);
    head_out(self, out);
    for (size_t which = 0; which < candidates; which++)
        paths += self->candidates[which].table->queried_paths_count;
    out->paths.items = KW_ARENA_ARRAY(self->arena, kw_api_AdvisedPath, paths);
    out->questions.items = KW_ARENA_ARRAY(self->arena, kw_api_AdvisedQuestion, candidates * queries);
    for (size_t which = 0; which < candidates; which++) {
        const kw_advised *advised = &self->advice.candidates[which];
        for (size_t index = 0; index < self->candidates[which].table->queried_paths_count; index++)
            path_out(self, which, &advised->paths[index], &out->paths.items[out->paths.count++]);
        for (size_t index = 0; index < queries; index++)
            query_out(which, index, &advised->queries[index], &out->questions.items[out->questions.count++]);
    }
    return out;
}
