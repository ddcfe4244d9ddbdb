/* Which cells a removal of records takes away from an association. */
#include "association_desk.h"

#define WRITES_MAX 32

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
    association_wait(self, &errors);
    return errors;
}

/* Looks up `count` records without adding them, so that tests can remove them. */
static const kw_association_entry *const *
look_up(desk *self, const char *table, size_t count)
{
    g_autofree char *ids = association_ids(count);
    const kw_association_entry *entries = association_find(self, table, ids, false, KW_TIMESTAMP_NONE);
    const kw_association_entry **list = KW_ARENA_ARRAY(self->call.arena, const kw_association_entry *, count);
    for (size_t i = 0; i < count; i++)
        list[i] = &entries[i];
    return list;
}

KW_TEST(test_forget, "/path/association/forget")
{
    desk *self = association_desk();
    g_autofree char *ids = association_ids(100);
    association_find_to_put(self, "known", ids);
    const kw_association_entry **entries = (const kw_association_entry **)look_up(self, "known", 100);
    entries[0] = entries[50] = NULL; /* these two were not removed */
    self->control->most_in_flight = 0;
    const kw_error *errors = forget(self, "known", entries, 100);
    for (size_t i = 0; i < 100; i++)
        g_assert_cmpint(errors[i].code, ==, KW_OK);
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 2);
    g_assert_nonnull(association_cell(self, "known", "r0", "primary/1").data);
    g_assert_nonnull(association_cell(self, "known", "r50", "primary/1").data);
    g_assert_cmpuint(self->control->most_in_flight, ==, WRITES_MAX);
    desk_free(self);
}

/* A cell with another key stays: it may be the only trace of where the record's next row belongs. A record
 * that is not in the association needs no write. */
KW_TEST(test_cells_that_stay, "/path/association/cells that stay")
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
        desk *self = association_desk();
        const kw_placement *placements = desk_table(self, "pairs")->placements;
        if (cases[i].first)
            association_hold(self, "pairs", "r0", "first/1",
                             association_key(self, &placements[1], "r0", cases[i].shift_1), 0);
        if (cases[i].second)
            association_hold(self, "pairs", "r0", "second/1",
                             association_key(self, &placements[2], "r0", cases[i].shift_2), 0);
        const kw_association_entry *const *entries = look_up(self, "pairs", 1);
        uint64_t before = self->control->operations;
        g_assert_cmpint(forget(self, "pairs", entries, 1)->code, ==, KW_OK);
        g_assert_cmpuint(self->control->operations, ==, before + cases[i].writes);
        g_assert_cmpint(association_cell(self, "pairs", "r0", "first/1").data != NULL, ==,
                        cases[i].first_after);
        g_assert_cmpint(association_cell(self, "pairs", "r0", "second/1").data != NULL, ==,
                        cases[i].second_after);
        desk_free(self);
    }
}

/* Another gateway put the record again with another key since the lookup: its cell stays. */
KW_TEST(test_forget_changed_cell, "/path/association/forget a changed cell")
{
    desk *self = association_desk();
    const kw_placement *placement = &desk_table(self, "known")->placements[0];
    association_find_to_put(self, "known", "r0");
    const kw_association_entry *const *entries = look_up(self, "known", 1);
    kw_bytes key = association_key(self, placement, "r0", 1);
    association_hold(self, "known", "r0", "primary/1", key, 0);
    g_assert_cmpint(forget(self, "known", entries, 1)->code, ==, KW_OK);
    assert_bytes(association_cell(self, "known", "r0", "primary/1"), key);
    desk_free(self);
}

/* The error belongs to the record whose cells possibly remain. */
KW_TEST(test_forget_fails, "/path/association/forget fails")
{
    for (size_t failed = 1; failed < 4; failed++) {
        desk *self = association_desk();
        association_find_to_put(self, "known", "r0 r1 r2 r3");
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
