#include "association_desk.h"

static const char policy[] = "store: {kind: embedded}\n"
                             "limits: {batch_records: 500}\n"
                             "tables:\n"
                             "  known:\n"
                             "    families: {d: {ttl: 1h}, e: {ttl: 1h}}\n"
                             "    fields: {id: string, n: {type: int, column: 'd:n'}}\n"
                             "    key: [salt: {algorithm: random, buckets: 8}, field: id]\n"
                             "    paths: {where: {association: true, key: [field: id]}}\n"
                             "  lasting:\n"
                             "    fields: {id: string, n: int}\n"
                             "    key: [salt: {algorithm: random, buckets: 8}, field: id]\n"
                             "    paths: {where: {association: true, key: [field: id]}}\n"
                             "  doubles:\n"
                             "    fields: {id: string, n: int}\n"
                             "    key: [salt: {algorithm: random, buckets: 8}, field: n, field: id]\n"
                             "    paths: {where: {association: true, key: [field: n, field: id]}}\n"
                             "  pairs:\n"
                             "    families: {d: {ttl: 1h}}\n"
                             "    fields: {id: string, n: int}\n"
                             "    key: [field: id]\n"
                             "    paths:\n"
                             "      first: {key: [salt: {algorithm: random, buckets: 8}, field: id]}\n"
                             "      second: {key: [salt: {algorithm: round_robin, buckets: 4}, field: id]}\n"
                             "      where: {association: true, key: [field: id]}\n";

static int64_t
now_ms(void)
{
    return NOW_MS;
}

void
association_found(void *user, const kw_association_entry *entries)
{
    const kw_association_entry **ret_entries = user;
    g_assert_null(*ret_entries);
    *ret_entries = entries;
}

void
association_wait(desk *self, const void *answer)
{
    while (!*(void *const *)answer)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

const kw_association_entry *
association_find(desk *self, const char *table, const char *ids, bool create, int64_t stamp)
{
    const kw_association_entry *entries = NULL;
    g_auto(GStrv) words = g_strsplit(ids, " ", -1);
    size_t count = g_strv_length(words);
    const kw_record **list = KW_ARENA_ARRAY(self->call.arena, const kw_record *, count + 1);
    for (size_t i = 0; i < count; i++) {
        kw_record *record = KW_ARENA_NEW(self->call.arena, kw_record);
        g_autofree char *text = g_strdup_printf("id=%s", words[i]);
        *record = desk_record(self, table, text);
        list[i] = record;
    }
    kw_association_find(&self->call, desk_table(self, table), list, count, create, stamp, association_found,
                        &entries);
    association_wait(self, &entries);
    return entries;
}

const kw_association_entry *
association_find_to_put(desk *self, const char *table, const char *ids)
{
    return association_find(self, table, ids, true, KW_TIMESTAMP_NONE);
}

kw_bytes
association_key(desk *self, const kw_placement *placement, const char *id, unsigned shift)
{
    uint32_t bucket, buckets = kw_layout_choice(placement->layout).buckets;
    kw_buffer key = KW_BUFFER_EMPTY;
    g_autofree char *text = g_strdup_printf("id=%s", id);
    kw_record record = desk_record(self, placement->path->table->name, text);
    kw_buffer_append_text(&key, "earlier content");
    g_assert_true(kw_placement_default_key(placement, &record, &key, &bucket, NULL));
    g_assert_cmpuint(key.data[0], ==, bucket);
    key.data[0] = (uint8_t)((bucket + shift) % buckets);
    kw_bytes copy = kw_arena_copy(self->call.arena, kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    return copy;
}

kw_bytes
association_cell(desk *self, const char *table, const char *id, const char *qualifier)
{
    g_autofree char *store_table = g_strdup_printf("%s_where", table);
    return kw_memory_store_cell(self->store, store_table, kw_bytes_of_text(id), "d", qualifier);
}

void
association_hold(desk *self, const char *table, const char *id, const char *qualifier, kw_bytes key,
                 int64_t age_ms)
{
    g_autofree char *store_table = g_strdup_printf("%s_where", table);
    kw_memory_store_set(self->store, store_table, kw_bytes_of_text(id), "d", qualifier, key, NOW_MS - age_ms);
}

void
assert_bytes(kw_bytes bytes, kw_bytes expected)
{
    g_assert_cmpuint(bytes.size, ==, expected.size);
    g_assert_true(kw_bytes_equal(bytes, expected));
}

char *
association_ids(size_t count)
{
    GString *ids = g_string_new(NULL);
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(ids, "%sr%zu", i ? " " : "", i);
    return g_string_free(ids, FALSE);
}

desk *
association_desk(void)
{
    kw_clock_inject(now_ms, NULL);
    return desk_new(policy);
}
