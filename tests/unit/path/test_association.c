/* The association of a table whose buckets are chosen at each put: which cells a lookup adds and renews, what
 * it does after a write of another gateway, and which cells a removal takes away. The clock is the test's. */
#include "../verb/desk.h"
#include "path/association.h"
#include "store/class.h"

#define NOW_MS INT64_C(1700000000000)
#define HALF_MARGIN_MS (INT64_C(1000) * KW_ASSOCIATION_MARGIN_S / 2)
#define WRITES_MAX 32
#define TRIES_MAX 5

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

/* --- lookups --------------------------------------------------------------------------------------- */

static void
found(void *user, const kw_association_entry *entries)
{
    const kw_association_entry **ret_entries = user;
    g_assert_null(*ret_entries);
    *ret_entries = entries;
}

static void
wait_for(desk *self, const void *answer)
{
    while (!*(void *const *)answer)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

/* Looks up records with these ids, separated by spaces. */
static const kw_association_entry *
find(desk *self, const char *table, const char *ids, bool create, int64_t stamp)
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
    kw_association_find(&self->call, desk_table(self, table), list, count, create, stamp, found, &entries);
    wait_for(self, &entries);
    return entries;
}

static const kw_association_entry *
find_to_put(desk *self, const char *table, const char *ids)
{
    return find(self, table, ids, true, KW_TIMESTAMP_NONE);
}

/* The default key of record `id`, moved by `shift` buckets. */
static kw_bytes
key_of(desk *self, const kw_placement *placement, const char *id, unsigned shift)
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

static kw_bytes
cell_of(desk *self, const char *table, const char *id, const char *qualifier)
{
    g_autofree char *store_table = g_strdup_printf("%s_where", table);
    return kw_memory_store_cell(self->store, store_table, kw_bytes_of_text(id), "d", qualifier);
}

/* Lets the association hold a row key that is `age_ms` old. */
static void
hold(desk *self, const char *table, const char *id, const char *qualifier, kw_bytes key, int64_t age_ms)
{
    g_autofree char *store_table = g_strdup_printf("%s_where", table);
    kw_memory_store_set(self->store, store_table, kw_bytes_of_text(id), "d", qualifier, key, NOW_MS - age_ms);
}

static void
assert_bytes(kw_bytes bytes, kw_bytes expected)
{
    g_assert_cmpuint(bytes.size, ==, expected.size);
    g_assert_true(kw_bytes_equal(bytes, expected));
}

/* --- default keys ---------------------------------------------------------------------------------- */

/* Stored rows are in these buckets, so they must never change. They are XXH64 of the key with bucket 0,
 * modulo the number of buckets. */
static void
test_default_keys(void)
{
    static const struct {
        const char *id;
        uint8_t first, second;
    } cases[] = {{"a", 6, 2}, {"b", 2, 2}, {"c", 4, 0}, {"order-4711", 0, 0}};
    desk *self = desk_new(policy);
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_bytes first = key_of(self, &placements[1], cases[i].id, 0);
        kw_bytes second = key_of(self, &placements[2], cases[i].id, 0);
        g_assert_cmpuint(first.data[0], ==, cases[i].first);
        g_assert_cmpuint(second.data[0], ==, cases[i].second);
        assert_bytes(kw_bytes_skip(first, 1), kw_bytes_of_text(cases[i].id));
    }
    desk_free(self);
}

/* --- reading and adding ---------------------------------------------------------------------------- */

/* Only a put adds a new record. A path without a choice has no key. */
static void
test_new_record(void)
{
    desk *self = desk_new(policy);
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    for (int create = 0; create < 2; create++) {
        const kw_bytes *keys = find(self, "pairs", "a", create, KW_TIMESTAMP_NONE)->keys;
        g_assert_cmpuint(keys[0].size, ==, 0);
        assert_bytes(keys[1], key_of(self, &placements[1], "a", 0));
        assert_bytes(keys[2], key_of(self, &placements[2], "a", 0));
        g_assert_cmpint((int)kw_memory_store_rows(self->store, "pairs_where"), ==, create);
    }
    g_assert_null(cell_of(self, "pairs", "a", "primary/1").data);
    assert_bytes(cell_of(self, "pairs", "a", "first/1"), key_of(self, &placements[1], "a", 0));
    assert_bytes(cell_of(self, "pairs", "a", "second/1"), key_of(self, &placements[2], "a", 0));
    g_assert_cmpint(self->control->last_write.timestamp, ==, KW_TIMESTAMP_NONE);
    uint64_t before = self->control->operations;
    find_to_put(self, "pairs", "a");
    g_assert_cmpuint(self->control->operations, ==, before + 1); /* it reads, but writes nothing */
    desk_free(self);
}

/* Held keys are used as they are, and only the missing ones are added. Columns of other layouts and families
 * are not read. */
static void
test_held_keys(void)
{
    desk *self = desk_new(policy);
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    kw_bytes held = key_of(self, &placements[2], "a", 3);
    hold(self, "pairs", "a", "second/1", held, 0);
    hold(self, "pairs", "a", "second/2", KW_BYTES_LITERAL("?"), 0);
    hold(self, "pairs", "a", "primary/1", KW_BYTES_LITERAL("?"), 0);
    kw_memory_store_set(self->store, "pairs_where", KW_BYTES_LITERAL("a"), "c", "second/1",
                        KW_BYTES_LITERAL("?"), NOW_MS);
    for (int create = 0; create < 2; create++) {
        const kw_bytes *keys = find(self, "pairs", "a", create, KW_TIMESTAMP_NONE)->keys;
        assert_bytes(keys[1], key_of(self, &placements[1], "a", 0));
        assert_bytes(keys[2], held);
        g_assert_cmpuint(keys[0].size, ==, 0);
    }
    g_assert_cmpuint(self->control->last_write.cells_count, ==, 1);
    assert_bytes(cell_of(self, "pairs", "a", "first/1"), key_of(self, &placements[1], "a", 0));
    assert_bytes(cell_of(self, "pairs", "a", "second/1"), held);
    desk_free(self);
}

/* A row key of another record, or of no record, is an error: nothing may be written to that row. */
static void
test_foreign_keys(void)
{
    desk *self = desk_new(policy);
    const kw_placement *placement = &desk_table(self, "known")->placements[0];
    const kw_bytes foreign[] = {key_of(self, placement, "b", 0),
                                KW_BYTES_LITERAL("\x09"
                                                 "a"),
                                KW_BYTES_LITERAL("\x01")};
    for (size_t i = 0; i < G_N_ELEMENTS(foreign); i++)
        for (int create = 0; create < 2; create++) {
            hold(self, "known", "a", "primary/1", foreign[i], 0);
            uint64_t before = self->control->operations;
            const kw_association_entry *entries = find(self, "known", "a c", create, KW_TIMESTAMP_NONE);
            g_assert_cmpint(entries[0].error.code, ==, KW_CORRUPT);
            g_assert_cmpstr(
                entries[0].error.text, ==,
                "table known: the association where holds a row key of path primary that does not "
                "belong to this record");
            g_assert_null(entries[0].keys);
            g_assert_nonnull(entries[1].keys);
            g_assert_cmpuint(self->control->operations, <=, before + 2);
        }
    desk_free(self);
}

/* --- renewals -------------------------------------------------------------------------------------- */

/* A key other than the default one is renewed if half of the margin has passed at the time of the put. The
 * renewal has a timestamp only if the record's is in the future. */
static void
test_renewals(void)
{
    static const struct {
        const char *table;
        unsigned shift;
        bool create;
        int64_t age_ms;
        int64_t stamp; /* after now; KW_TIMESTAMP_NONE: the caller gives none */
        bool renewed;
    } cases[] = {
        {"known", 1, true, HALF_MARGIN_MS, KW_TIMESTAMP_NONE, false},
        {"known", 1, true, HALF_MARGIN_MS + 1, KW_TIMESTAMP_NONE, true},
        {"known", 7, true, 100 * HALF_MARGIN_MS, KW_TIMESTAMP_NONE, true},
        {"known", 0, true, 100 * HALF_MARGIN_MS, KW_TIMESTAMP_NONE, false},
        {"known", 1, false, 100 * HALF_MARGIN_MS, KW_TIMESTAMP_NONE, false},
        {"lasting", 1, true, 100 * HALF_MARGIN_MS, KW_TIMESTAMP_NONE, false},
        {"known", 1, true, HALF_MARGIN_MS - 1, 0, false},
        {"known", 1, true, HALF_MARGIN_MS + 1, 0, true},
        {"known", 1, true, HALF_MARGIN_MS + 1, -1, false},
        {"known", 1, true, HALF_MARGIN_MS + 2, -1, true},
        {"known", 1, true, HALF_MARGIN_MS - 1, 1, false},
        {"known", 1, true, HALF_MARGIN_MS, 1, true},
        {"known", 1, true, 0, HALF_MARGIN_MS + 1, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        desk *self = desk_new(policy);
        const kw_placement *placement = &desk_table(self, cases[i].table)->placements[0];
        kw_bytes held = key_of(self, placement, "a", cases[i].shift);
        int64_t after = cases[i].stamp, stamp = after == KW_TIMESTAMP_NONE ? after : NOW_MS + after;
        hold(self, cases[i].table, "a", "primary/1", held, cases[i].age_ms);
        assert_bytes(find(self, cases[i].table, "a", cases[i].create, stamp)->keys[0], held);
        assert_bytes(cell_of(self, cases[i].table, "a", "primary/1"), held);
        g_assert_cmpuint(self->control->operations, ==, 1 + cases[i].renewed);
        bool future = after != KW_TIMESTAMP_NONE && after > 0;
        if (cases[i].renewed)
            g_assert_cmpint(self->control->last_write.timestamp, ==, future ? stamp : KW_TIMESTAMP_NONE);
        desk_free(self);
    }
}

/* One write renews one key and adds the other. */
static void
test_renewal_and_addition(void)
{
    static const char *const qualifiers[] = {"primary/1", "first/1", "second/1"};
    for (int renewed = 1; renewed < 3; renewed++) {
        desk *self = desk_new(policy);
        const kw_placement *placements = desk_table(self, "pairs")->placements;
        kw_bytes held = key_of(self, &placements[renewed], "a", 1);
        kw_bytes added = key_of(self, &placements[3 - renewed], "a", 0);
        hold(self, "pairs", "a", qualifiers[renewed], held, 2 * HALF_MARGIN_MS);
        const kw_bytes *keys = find(self, "pairs", "a", true, NOW_MS + 5)->keys;
        assert_bytes(keys[renewed], held);
        assert_bytes(keys[3 - renewed], added);
        g_assert_cmpuint(self->control->operations, ==, 2);
        g_assert_cmpuint(self->control->last_write.cells_count, ==, 2);
        g_assert_cmpint(self->control->last_write.timestamp, ==, NOW_MS + 5);
        assert_bytes(cell_of(self, "pairs", "a", qualifiers[renewed]), held);
        assert_bytes(cell_of(self, "pairs", "a", qualifiers[3 - renewed]), added);
        desk_free(self);
    }
}

/* --- writes of another gateway --------------------------------------------------------------------- */

/* Another gateway writes to the association before each of the next `count` conditional writes. */
static struct {
    unsigned count;
    unsigned writes;
    void (*write)(desk *self);
    desk *self;
    const kw_store_handle_class *inner;
} other;

static void
write_after_other(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                  kw_write_if_done done, void *user)
{
    other.writes++;
    if (other.count > 0) {
        other.count--;
        other.write(other.self);
    }
    other.inner->write_if(handle, write, check, done, user);
}

static desk *
desk_with_other(void (*write)(desk *self), unsigned count)
{
    static kw_store_handle_class between;
    desk *self = desk_new(policy);
    other.self = self;
    other.write = write;
    other.count = count;
    other.writes = 0;
    other.inner = self->handle->class;
    between = *other.inner;
    between.write_if = write_after_other;
    self->handle->class = &between;
    return self;
}

/* The other gateway adds the same record, with another bucket. */
static void
other_adds(desk *self)
{
    hold(self, "known", "a", "primary/1", key_of(self, &desk_table(self, "known")->placements[0], "a", 1), 0);
}

static void
test_lost_race(void)
{
    desk *self = desk_with_other(other_adds, 1);
    const kw_association_entry *entry = find_to_put(self, "known", "a");
    assert_bytes(entry->keys[0], key_of(self, &desk_table(self, "known")->placements[0], "a", 1));
    assert_bytes(cell_of(self, "known", "a", "primary/1"), entry->keys[0]);
    g_assert_cmpuint(other.writes, ==, 1);
    desk_free(self);
}

/* The other gateway adds only one of two keys: the next attempt adds the second one. */
static void
other_adds_first(desk *self)
{
    hold(self, "pairs", "a", "first/1", key_of(self, &desk_table(self, "pairs")->placements[1], "a", 2), 0);
}

static void
test_lost_race_for_one_key(void)
{
    desk *self = desk_with_other(other_adds_first, 1);
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    const kw_association_entry *entry = find_to_put(self, "pairs", "a");
    assert_bytes(entry->keys[1], key_of(self, &placements[1], "a", 2));
    assert_bytes(entry->keys[2], key_of(self, &placements[2], "a", 0));
    assert_bytes(cell_of(self, "pairs", "a", "second/1"), entry->keys[2]);
    g_assert_cmpuint(other.writes, ==, 2);
    desk_free(self);
}

/* The other gateway writes nonsense. */
static void
other_damages(desk *self)
{
    hold(self, "known", "a", "primary/1", KW_BYTES_LITERAL("?"), 0);
}

static void
test_damaged_in_race(void)
{
    desk *self = desk_with_other(other_damages, 1);
    const kw_association_entry *entry = find_to_put(self, "known", "a");
    g_assert_cmpint(entry->error.code, ==, KW_CORRUPT);
    g_assert_null(entry->keys);
    g_assert_cmpuint(other.writes, ==, 1);
    desk_free(self);
}

/* The other gateway replaces the row key by one that must be renewed, too. */
static void
other_replaces(desk *self)
{
    const kw_placement *placement = &desk_table(self, "known")->placements[0];
    hold(self, "known", "a", "primary/1", key_of(self, placement, "a", 1 + other.count % 2),
         3 * HALF_MARGIN_MS);
}

/* After five attempts, the call fails. */
static void
test_attempts(void)
{
    for (unsigned writes = 1; writes <= TRIES_MAX + 1; writes++) {
        desk *self = desk_with_other(other_replaces, writes);
        const kw_placement *placement = &desk_table(self, "known")->placements[0];
        hold(self, "known", "a", "primary/1", key_of(self, placement, "a", 1 + writes % 2),
             3 * HALF_MARGIN_MS);
        const kw_association_entry *entry = find_to_put(self, "known", "a");
        if (writes < TRIES_MAX) {
            g_assert_cmpint(entry->error.code, ==, KW_OK);
            assert_bytes(entry->keys[0], cell_of(self, "known", "a", "primary/1"));
            g_assert_cmpuint(other.writes, ==, writes + 1);
        } else {
            g_assert_cmpint(entry->error.code, ==, KW_UNAVAILABLE);
            g_assert_nonnull(strstr(entry->error.text, "kept changing"));
            g_assert_cmpuint(other.writes, ==, TRIES_MAX);
            g_assert_null(entry->keys);
        }
        desk_free(self);
    }
}

/* --- faults ---------------------------------------------------------------------------------------- */

/* The n-th operation of a lookup fails. An unknown outcome is found out by another read. */
static void
test_faults(void)
{
    static const struct {
        uint64_t fail_at;
        bool applied;
        kw_code code;
        size_t rows;
        uint64_t operations;
    } cases[] = {{1, false, KW_UNAVAILABLE, 0, 1},
                 {1, true, KW_UNAVAILABLE, 0, 1},
                 {2, false, KW_UNAVAILABLE, 0, 2},
                 {2, true, KW_OK, 1, 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        desk *self = desk_new(policy);
        self->control->fail_at = cases[i].fail_at;
        self->control->fail_applied = cases[i].applied;
        const kw_association_entry *entry = find_to_put(self, "known", "a");
        g_assert_cmpint(entry->error.code, ==, cases[i].code);
        g_assert_false(entry->error.maybe_applied);
        g_assert_true(!entry->keys == (cases[i].code != KW_OK));
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, cases[i].rows);
        g_assert_cmpuint(self->control->operations, ==, cases[i].operations);
        desk_free(self);
    }
}

/* The read after an unknown outcome fails, too. */
static void
fail_next_read(desk *self)
{
    self->control->fail_at = self->control->operations + 2;
    hold(self, "known", "a", "primary/1", key_of(self, &desk_table(self, "known")->placements[0], "a", 1), 0);
}

static void
test_second_read_fails(void)
{
    desk *self = desk_with_other(fail_next_read, 1);
    const kw_association_entry *entry = find_to_put(self, "known", "a");
    g_assert_cmpint(entry->error.code, ==, KW_UNAVAILABLE);
    g_assert_null(entry->keys);
    desk_free(self);
}

/* --- many records ---------------------------------------------------------------------------------- */

/* Ids "r0 r1 ...". */
static char *
ids_of(size_t count)
{
    GString *ids = g_string_new(NULL);
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(ids, "%sr%zu", i ? " " : "", i);
    return g_string_free(ids, FALSE);
}

static void
test_many(void)
{
    static const size_t counts[] = {2, 31, 32, 33, 100};
    for (size_t c = 0; c < G_N_ELEMENTS(counts); c++) {
        desk *self = desk_new(policy);
        g_autofree char *ids = ids_of(counts[c]);
        const kw_association_entry *entries = find_to_put(self, "known", ids);
        for (size_t i = 0; i < counts[c]; i++) {
            g_autofree char *id = g_strdup_printf("r%zu", i);
            assert_bytes(entries[i].keys[0], key_of(self, &desk_table(self, "known")->placements[0], id, 0));
            assert_bytes(cell_of(self, "known", id, "primary/1"), entries[i].keys[0]);
        }
        g_assert_cmpuint(self->control->operations, ==, 1 + counts[c]);
        g_assert_cmpuint(self->control->most_in_flight, ==, MIN(counts[c], WRITES_MAX));
        desk_free(self);
    }
}

/* Records without a key in the association have errors; a call without any other record reads nothing. */
static void
test_long_keys(void)
{
    desk *self = desk_new(policy);
    g_autofree char *large = g_strnfill(KW_ROW_KEY_MAX + 1, 'x');
    g_autofree char *ids = g_strdup_printf("a %s b", large);
    const kw_association_entry *entries = find_to_put(self, "known", large);
    g_assert_cmpint(entries[0].error.code, ==, KW_INVALID);
    g_assert_null(entries[0].keys);
    g_assert_cmpuint(self->control->operations, ==, 0);
    entries = find_to_put(self, "known", ids);
    g_assert_cmpint(entries[1].error.code, ==, KW_INVALID);
    assert_bytes(cell_of(self, "known", "a", "primary/1"), entries[0].keys[0]);
    assert_bytes(cell_of(self, "known", "b", "primary/1"), entries[2].keys[0]);
    desk_free(self);
}

/* The record has a key in the association, but none in its placement: it is not added. */
static void
test_records_that_fit_only_the_association(void)
{
    for (int create = 0; create < 2; create++) {
        desk *self = desk_new(policy);
        g_autofree char *large = g_strnfill(KW_ROW_KEY_MAX, 'x');
        const kw_association_entry *entry = find(self, "known", large, create, KW_TIMESTAMP_NONE);
        g_assert_cmpint(entry->error.code, ==, KW_INVALID);
        g_assert_null(entry->keys);
        g_assert_cmpuint(self->control->operations, ==, 1);
        desk_free(self);
    }
}

/* --- removing -------------------------------------------------------------------------------------- */

static void
forgotten(void *user, const kw_error *errors)
{
    const kw_error **ret_errors = user;
    *ret_errors = errors;
}

static const kw_error *
forget(desk *self, const char *table, const kw_association_entry *const *entries, size_t count)
{
    const kw_error *errors = NULL;
    kw_association_forget(&self->call, desk_table(self, table), entries, count, forgotten, &errors);
    wait_for(self, &errors);
    return errors;
}

/* Looks up `count` records without adding them, so that tests can remove them. */
static const kw_association_entry *const *
look_up(desk *self, const char *table, size_t count)
{
    g_autofree char *ids = ids_of(count);
    const kw_association_entry *entries = find(self, table, ids, false, KW_TIMESTAMP_NONE);
    const kw_association_entry **list = KW_ARENA_ARRAY(self->call.arena, const kw_association_entry *, count);
    for (size_t i = 0; i < count; i++)
        list[i] = &entries[i];
    return list;
}

static void
test_forget(void)
{
    desk *self = desk_new(policy);
    g_autofree char *ids = ids_of(100);
    find_to_put(self, "known", ids);
    const kw_association_entry **entries = (const kw_association_entry **)look_up(self, "known", 100);
    entries[0] = entries[50] = NULL; /* these two were not removed */
    self->control->most_in_flight = 0;
    const kw_error *errors = forget(self, "known", entries, 100);
    for (size_t i = 0; i < 100; i++)
        g_assert_cmpint(errors[i].code, ==, KW_OK);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 2);
    g_assert_nonnull(cell_of(self, "known", "r0", "primary/1").data);
    g_assert_nonnull(cell_of(self, "known", "r50", "primary/1").data);
    g_assert_cmpuint(self->control->most_in_flight, ==, WRITES_MAX);
    desk_free(self);
}

/* A cell with another key stays: it may be the only trace of where the record's next row belongs. A record
 * that is not in the association needs no write. */
static void
test_cells_that_stay(void)
{
    static const struct {
        bool first, second;        /* the association holds a key of this path */
        unsigned shift_1, shift_2; /* ... that is not the default key, unless 0 */
        bool first_after, second_after;
        unsigned writes;
    } cases[] = {
        {false, false, 0, 0, false, false, 0}, {true, true, 0, 0, false, false, 1},
        {true, false, 0, 0, false, false, 1},  {false, true, 0, 0, false, false, 1},
        {true, true, 1, 0, true, false, 1},    {true, true, 0, 1, false, true, 1},
        {true, true, 1, 1, true, true, 0},     {false, true, 0, 1, false, true, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        desk *self = desk_new(policy);
        const kw_placement *placements = desk_table(self, "pairs")->placements;
        if (cases[i].first)
            hold(self, "pairs", "r0", "first/1", key_of(self, &placements[1], "r0", cases[i].shift_1), 0);
        if (cases[i].second)
            hold(self, "pairs", "r0", "second/1", key_of(self, &placements[2], "r0", cases[i].shift_2), 0);
        const kw_association_entry *const *entries = look_up(self, "pairs", 1);
        uint64_t before = self->control->operations;
        g_assert_cmpint(forget(self, "pairs", entries, 1)->code, ==, KW_OK);
        g_assert_cmpuint(self->control->operations, ==, before + cases[i].writes);
        g_assert_cmpint(cell_of(self, "pairs", "r0", "first/1").data != NULL, ==, cases[i].first_after);
        g_assert_cmpint(cell_of(self, "pairs", "r0", "second/1").data != NULL, ==, cases[i].second_after);
        desk_free(self);
    }
}

/* Another gateway put the record again with another key since the lookup: its cell stays. */
static void
test_forget_changed_cell(void)
{
    desk *self = desk_new(policy);
    const kw_placement *placement = &desk_table(self, "known")->placements[0];
    find_to_put(self, "known", "r0");
    const kw_association_entry *const *entries = look_up(self, "known", 1);
    kw_bytes key = key_of(self, placement, "r0", 1);
    hold(self, "known", "r0", "primary/1", key, 0);
    g_assert_cmpint(forget(self, "known", entries, 1)->code, ==, KW_OK);
    assert_bytes(cell_of(self, "known", "r0", "primary/1"), key);
    desk_free(self);
}

/* The error belongs to the record whose cells possibly remain. */
static void
test_forget_fails(void)
{
    for (size_t failed = 1; failed < 4; failed++) {
        desk *self = desk_new(policy);
        find_to_put(self, "known", "r0 r1 r2 r3");
        const kw_association_entry **entries = (const kw_association_entry **)look_up(self, "known", 4);
        entries[0] = NULL;
        self->control->fail_at = self->control->operations + failed;
        const kw_error *errors = forget(self, "known", entries, 4);
        for (size_t i = 0; i < 4; i++)
            g_assert_cmpint(errors[i].code, ==, i == failed ? KW_UNAVAILABLE : KW_OK);
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 2);
        desk_free(self);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    kw_clock_inject(now_ms, NULL);
    g_test_add_func("/path/association/default keys", test_default_keys);
    g_test_add_func("/path/association/new record", test_new_record);
    g_test_add_func("/path/association/held keys", test_held_keys);
    g_test_add_func("/path/association/foreign keys", test_foreign_keys);
    g_test_add_func("/path/association/renewals", test_renewals);
    g_test_add_func("/path/association/renewal and addition", test_renewal_and_addition);
    g_test_add_func("/path/association/lost race", test_lost_race);
    g_test_add_func("/path/association/lost race for one key", test_lost_race_for_one_key);
    g_test_add_func("/path/association/damaged in a race", test_damaged_in_race);
    g_test_add_func("/path/association/attempts", test_attempts);
    g_test_add_func("/path/association/faults", test_faults);
    g_test_add_func("/path/association/second read fails", test_second_read_fails);
    g_test_add_func("/path/association/many", test_many);
    g_test_add_func("/path/association/long keys", test_long_keys);
    g_test_add_func("/path/association/keys that fit only the association",
                    test_records_that_fit_only_the_association);
    g_test_add_func("/path/association/forget", test_forget);
    g_test_add_func("/path/association/cells that stay", test_cells_that_stay);
    g_test_add_func("/path/association/forget a changed cell", test_forget_changed_cell);
    g_test_add_func("/path/association/forget fails", test_forget_fails);
    return g_test_run();
}
