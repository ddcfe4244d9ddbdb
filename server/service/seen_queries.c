#include "service/seen_queries.h"

#include "base/thread.h"

#include <string.h>

/* Values kept of a list; a query with more of them has the same shape. */
#define LIST_VALUES 8

typedef struct seen_query {
    uint64_t shape;
    char *table; /* NULL: not in use */
    kw_buffer encoded;
    uint64_t count;
    uint64_t last_ns;
} seen_query;

struct kw_seen_queries {
    kw_mutex lock; /* guards the rest */
    seen_query queries[KW_SEEN_QUERIES_MAX];
};

kw_seen_queries *
kw_seen_queries_new(void)
{
    kw_seen_queries *self = g_new0(kw_seen_queries, 1);
    kw_mutex_init(&self->lock);
    return self;
}

static void
clear_query(seen_query *query)
{
    g_clear_pointer(&query->table, g_free);
    kw_buffer_clear(&query->encoded);
    query->count = 0;
}

void
kw_seen_queries_free(kw_seen_queries *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < KW_SEEN_QUERIES_MAX; i++)
        clear_query(&self->queries[i]);
    kw_mutex_clear(&self->lock);
    g_free(self);
}

/* --- shapes ---------------------------------------------------------------------------------------- */

static uint64_t
mix(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * UINT64_C(0x100000001b3);
}

static uint64_t
mix_text(uint64_t hash, const char *text)
{
    return mix(hash, kw_bytes_hash(kw_bytes_of_text(text)));
}

/* Uses names, because numbers of fields and paths differ between policies. */
static uint64_t
shape_of(const kw_record_query *query)
{
    const kw_table *table = query->table;
    uint64_t hash = mix_text(UINT64_C(0xcbf29ce484222325), table->name);
    hash = mix_text(hash, query->path < 0 ? "" : table->paths[query->path].name);
    hash = mix(hash, (uint64_t)query->order << 3 | (uint64_t)query->full_scan << 2 | (query->limit > 0));
    if (query->range_field >= 0) {
        hash = mix_text(hash, table->fields[query->range_field].name);
        hash =
            mix(hash, (uint64_t)(query->from.kind != KW_VALUE_NONE) << 1 | (query->to.kind != KW_VALUE_NONE));
    }
    for (size_t field = 0; field < table->fields_count; field++)
        if (query->bounds[field].count > 0)
            hash = mix(mix_text(hash, table->fields[field].name), query->bounds[field].count > 1);
    return hash;
}

/* --- noting ---------------------------------------------------------------------------------------- */

/* The query with this shape, or the one to replace. */
static seen_query *
find(kw_seen_queries *self, uint64_t shape)
{
    seen_query *oldest = &self->queries[0];
    for (size_t i = 0; i < KW_SEEN_QUERIES_MAX; i++) {
        seen_query *query = &self->queries[i];
        if (query->table && query->shape == shape)
            return query;
        if (oldest->table && (!query->table || query->last_ns < oldest->last_ns))
            oldest = query;
    }
    return oldest;
}

/* Encodes the query. Shortens its lists to LIST_VALUES values. */
static void
encode(const kw_record_query *query, kw_buffer *out)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = query->table;
    kw_record_query brief = *query;
    kw_bound *bounds = KW_ARENA_ARRAY(arena, kw_bound, table->fields_count);
    for (size_t field = 0; field < table->fields_count; field++)
        bounds[field] = (kw_bound){query->bounds[field].values, MIN(query->bounds[field].count, LIST_VALUES)};
    brief.bounds = bounds;
    brief.window = (kw_window){.limit = 0};
    kw_record_query_encode(&brief, out);
}

/* Keeps the query in place of another one, unless its values are too long. */
static void
replace(seen_query *place, uint64_t shape, const kw_record_query *query)
{
    kw_buffer encoded = KW_BUFFER_EMPTY;
    encode(query, &encoded);
    if (kw_buffer_bytes(&encoded).size > KW_SEEN_QUERY_BYTES) {
        kw_buffer_clear(&encoded);
        return;
    }
    clear_query(place);
    place->shape = shape;
    place->table = g_strdup(query->table->name);
    place->encoded = encoded;
}

void
kw_seen_queries_note(kw_seen_queries *self, const kw_record_query *query, uint64_t now_ns)
{
    uint64_t shape = shape_of(query);
    kw_mutex_lock(&self->lock);
    seen_query *place = find(self, shape);
    if (!place->table || place->shape != shape)
        replace(place, shape, query);
    if (place->table && place->shape == shape) {
        place->count++;
        place->last_ns = now_ns;
    }
    kw_mutex_unlock(&self->lock);
}

/* --- collecting ------------------------------------------------------------------------------------ */

static void
collect(const seen_query *query, kw_arena *arena, GArray *found)
{
    for (guint i = 0; i < found->len; i++) {
        kw_seen_query *same = &g_array_index(found, kw_seen_query, i);
        if (same->shape == query->shape) {
            same->count += query->count;
            return;
        }
    }
    kw_seen_query copy = {.shape = query->shape,
                          .encoded = kw_arena_copy(arena, kw_buffer_bytes(&query->encoded)),
                          .count = query->count};
    g_array_append_val(found, copy);
}

void
kw_seen_queries_collect(kw_seen_queries *self, const char *table, uint64_t now_ns, kw_arena *arena,
                        GArray *found)
{
    kw_mutex_lock(&self->lock);
    for (size_t i = 0; i < KW_SEEN_QUERIES_MAX; i++) {
        const seen_query *query = &self->queries[i];
        if (query->table && strcmp(query->table, table) == 0 &&
            query->last_ns + KW_SEEN_QUERIES_KEEP_NS >= now_ns) /* last_ns can be after now_ns */
            collect(query, arena, found);
    }
    kw_mutex_unlock(&self->lock);
}
