/* The association of a table whose buckets are chosen at each put: which cells a lookup adds and renews. */
#include "association_desk.h"

#define HALF_MARGIN_MS (INT64_C(1000) * KW_ASSOCIATION_MARGIN_S / 2)
#define WRITES_MAX 32

/* --- default keys ---------------------------------------------------------------------------------- */

/* Stored rows are in these buckets, so they must never change. They are XXH64 of the key with bucket 0,
 * modulo the number of buckets. */
KW_TEST(test_default_keys, "/path/association/default keys")
{
    static const struct {
        const char *id;
        uint8_t first, second;
    } cases[] = {{"a", 6, 2}, {"b", 2, 2}, {"c", 4, 0}, {"order-4711", 0, 0}};
    desk *self = association_desk();
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_bytes first = association_key(self, &placements[1], cases[i].id, 0);
        kw_bytes second = association_key(self, &placements[2], cases[i].id, 0);
        g_assert_cmpuint(first.data[0], ==, cases[i].first);
        g_assert_cmpuint(second.data[0], ==, cases[i].second);
        assert_bytes(kw_bytes_skip(first, 1), kw_bytes_of_text(cases[i].id));
    }
    desk_free(self);
}

/* --- reading and adding ---------------------------------------------------------------------------- */

/* Only a put adds a new record. A path without a choice has no key. */
KW_TEST(test_new_record, "/path/association/new record")
{
    desk *self = association_desk();
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    for (int create = 0; create < 2; create++) {
        const kw_bytes *keys = association_find(self, "pairs", "a", create, KW_TIMESTAMP_NONE)->keys;
        g_assert_cmpuint(keys[0].size, ==, 0);
        assert_bytes(keys[1], association_key(self, &placements[1], "a", 0));
        assert_bytes(keys[2], association_key(self, &placements[2], "a", 0));
        g_assert_cmpint((int)kw_memory_store_rows(self->store, "pairs_where"), ==, create);
    }
    g_assert_null(association_cell(self, "pairs", "a", "primary/1").data);
    assert_bytes(association_cell(self, "pairs", "a", "first/1"),
                 association_key(self, &placements[1], "a", 0));
    assert_bytes(association_cell(self, "pairs", "a", "second/1"),
                 association_key(self, &placements[2], "a", 0));
    g_assert_cmpint(self->control->last_write.timestamp, ==, KW_TIMESTAMP_NONE);
    uint64_t before = self->control->operations;
    association_find_to_put(self, "pairs", "a");
    g_assert_cmpuint(self->control->operations, ==, before + 1); /* it reads, but writes nothing */
    desk_free(self);
}

/* Held keys are used as they are, and only the missing ones are added. Columns of other layouts and families
 * are not read. */
KW_TEST(test_held_keys, "/path/association/held keys")
{
    desk *self = association_desk();
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    kw_bytes held = association_key(self, &placements[2], "a", 3);
    association_hold(self, "pairs", "a", "second/1", held, 0);
    association_hold(self, "pairs", "a", "second/2", KW_BYTES_LITERAL("?"), 0);
    association_hold(self, "pairs", "a", "primary/1", KW_BYTES_LITERAL("?"), 0);
    kw_memory_store_set(self->store, "pairs_where", KW_BYTES_LITERAL("a"), "c", "second/1",
                        KW_BYTES_LITERAL("?"), NOW_MS);
    for (int create = 0; create < 2; create++) {
        const kw_bytes *keys = association_find(self, "pairs", "a", create, KW_TIMESTAMP_NONE)->keys;
        assert_bytes(keys[1], association_key(self, &placements[1], "a", 0));
        assert_bytes(keys[2], held);
        g_assert_cmpuint(keys[0].size, ==, 0);
    }
    g_assert_cmpuint(self->control->last_write.cells_count, ==, 1);
    assert_bytes(association_cell(self, "pairs", "a", "first/1"),
                 association_key(self, &placements[1], "a", 0));
    assert_bytes(association_cell(self, "pairs", "a", "second/1"), held);
    desk_free(self);
}

/* A row key of another record, or of no record, is an error: nothing may be written to that row. */
KW_TEST(test_foreign_keys, "/path/association/foreign keys")
{
    desk *self = association_desk();
    const kw_placement *placement = &desk_table(self, "known")->placements[0];
    const kw_bytes foreign[] = {association_key(self, placement, "b", 0),
                                KW_BYTES_LITERAL("\x09"
                                                 "a"),
                                KW_BYTES_LITERAL("\x01")};
    for (size_t i = 0; i < G_N_ELEMENTS(foreign); i++)
        for (int create = 0; create < 2; create++) {
            association_hold(self, "known", "a", "primary/1", foreign[i], 0);
            uint64_t before = self->control->operations;
            const kw_association_entry *entries =
                association_find(self, "known", "a c", create, KW_TIMESTAMP_NONE);
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

/* A row key belongs to a record only if all key fields are the same. */
KW_TEST(test_keys_with_another_number, "/path/association/keys with another number")
{
    desk *self = association_desk();
    const kw_table *table = desk_table(self, "doubles");
    kw_record record = desk_record(self, "doubles", "id=a n=1"),
              other = desk_record(self, "doubles", "id=a n=2");
    kw_buffer row = KW_BUFFER_EMPTY, held = KW_BUFFER_EMPTY;
    g_assert_true(kw_layout_encode(table->locators->layout, &record, &row, NULL));
    g_assert_true(kw_layout_encode(table->placements[0].layout, &other, &held, NULL));
    for (int own = 0; own < 2; own++) {
        const kw_record *list[] = {&record};
        const kw_association_entry *entries = NULL;
        if (own) {
            held.size = 0;
            g_assert_true(kw_layout_encode(table->placements[0].layout, &record, &held, NULL));
        }
        kw_memory_store_set(self->store, "doubles_where", kw_buffer_bytes(&row), "d", "primary/1",
                            kw_buffer_bytes(&held), NOW_MS);
        kw_association_find(&self->call, table, list, 1, false, KW_TIMESTAMP_NONE, association_found,
                            &entries);
        association_wait(self, &entries);
        g_assert_cmpint(entries->error.code, ==, own ? KW_OK : KW_CORRUPT);
    }
    kw_buffer_clear(&row);
    kw_buffer_clear(&held);
    desk_free(self);
}

/* --- renewals -------------------------------------------------------------------------------------- */

/* A key other than the default one is renewed if half of the margin has passed at the time of the put. The
 * renewal has a timestamp only if the record's is in the future. */
KW_TEST(test_renewals, "/path/association/renewals")
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
        desk *self = association_desk();
        const kw_placement *placement = &desk_table(self, cases[i].table)->placements[0];
        kw_bytes held = association_key(self, placement, "a", cases[i].shift);
        int64_t after = cases[i].stamp, stamp = after == KW_TIMESTAMP_NONE ? after : NOW_MS + after;
        association_hold(self, cases[i].table, "a", "primary/1", held, cases[i].age_ms);
        assert_bytes(association_find(self, cases[i].table, "a", cases[i].create, stamp)->keys[0], held);
        assert_bytes(association_cell(self, cases[i].table, "a", "primary/1"), held);
        g_assert_cmpuint(self->control->operations, ==, 1 + cases[i].renewed);
        bool future = after != KW_TIMESTAMP_NONE && after > 0;
        if (cases[i].renewed)
            g_assert_cmpint(self->control->last_write.timestamp, ==, future ? stamp : KW_TIMESTAMP_NONE);
        desk_free(self);
    }
}

/* One write renews one key and adds the other. */
KW_TEST(test_renewal_and_addition, "/path/association/renewal and addition")
{
    static const char *const qualifiers[] = {"primary/1", "first/1", "second/1"};
    for (int renewed = 1; renewed < 3; renewed++) {
        desk *self = association_desk();
        const kw_placement *placements = desk_table(self, "pairs")->placements;
        kw_bytes held = association_key(self, &placements[renewed], "a", 1);
        kw_bytes added = association_key(self, &placements[3 - renewed], "a", 0);
        association_hold(self, "pairs", "a", qualifiers[renewed], held, 2 * HALF_MARGIN_MS);
        const kw_bytes *keys = association_find(self, "pairs", "a", true, NOW_MS + 5)->keys;
        assert_bytes(keys[renewed], held);
        assert_bytes(keys[3 - renewed], added);
        g_assert_cmpuint(self->control->operations, ==, 2);
        g_assert_cmpuint(self->control->last_write.cells_count, ==, 2);
        g_assert_cmpint(self->control->last_write.timestamp, ==, NOW_MS + 5);
        assert_bytes(association_cell(self, "pairs", "a", qualifiers[renewed]), held);
        assert_bytes(association_cell(self, "pairs", "a", qualifiers[3 - renewed]), added);
        desk_free(self);
    }
}

/* --- many records ---------------------------------------------------------------------------------- */

KW_TEST(test_many, "/path/association/many")
{
    static const size_t counts[] = {2, 31, 32, 33, 100};
    for (size_t c = 0; c < G_N_ELEMENTS(counts); c++) {
        desk *self = association_desk();
        g_autofree char *ids = association_ids(counts[c]);
        const kw_association_entry *entries = association_find_to_put(self, "known", ids);
        for (size_t i = 0; i < counts[c]; i++) {
            g_autofree char *id = g_strdup_printf("r%zu", i);
            assert_bytes(entries[i].keys[0],
                         association_key(self, &desk_table(self, "known")->placements[0], id, 0));
            assert_bytes(association_cell(self, "known", id, "primary/1"), entries[i].keys[0]);
        }
        g_assert_cmpuint(self->control->operations, ==, 1 + counts[c]);
        g_assert_cmpuint(self->control->most_in_flight, ==, MIN(counts[c], WRITES_MAX));
        desk_free(self);
    }
}

/* Records without a key in the association have errors; a call without any other record reads nothing. */
KW_TEST(test_long_keys, "/path/association/long keys")
{
    desk *self = association_desk();
    g_autofree char *large = g_strnfill(KW_ROW_KEY_MAX + 1, 'x');
    g_autofree char *ids = g_strdup_printf("a %s b", large);
    const kw_association_entry *entries = association_find_to_put(self, "known", large);
    g_assert_cmpint(entries[0].error.code, ==, KW_INVALID);
    g_assert_null(entries[0].keys);
    g_assert_cmpuint(self->control->operations, ==, 0);
    entries = association_find_to_put(self, "known", ids);
    g_assert_cmpint(entries[1].error.code, ==, KW_INVALID);
    assert_bytes(association_cell(self, "known", "a", "primary/1"), entries[0].keys[0]);
    assert_bytes(association_cell(self, "known", "b", "primary/1"), entries[2].keys[0]);
    desk_free(self);
}

/* The record has a key in the association, but none in its placement: it is not added. */
KW_TEST(test_records_that_fit_only_the_association, "/path/association/keys that fit only the association")
{
    for (int create = 0; create < 2; create++) {
        desk *self = association_desk();
        g_autofree char *large = g_strnfill(KW_ROW_KEY_MAX, 'x');
        const kw_association_entry *entry = association_find(self, "known", large, create, KW_TIMESTAMP_NONE);
        g_assert_cmpint(entry->error.code, ==, KW_INVALID);
        g_assert_null(entry->keys);
        g_assert_cmpuint(self->control->operations, ==, 1);
        desk_free(self);
    }
}
