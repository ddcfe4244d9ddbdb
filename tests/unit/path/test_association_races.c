/* What a lookup in an association does after a write of another gateway, and after faults of the store. */
#include "association_desk.h"
#include "store/class.h"

#define HALF_MARGIN_MS (INT64_C(1000) * KW_ASSOCIATION_MARGIN_S / 2)
#define TRIES_MAX 5

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
    desk *self = association_desk();
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
    association_hold(self, "known", "a", "primary/1",
                     association_key(self, &desk_table(self, "known")->placements[0], "a", 1), 0);
}

KW_TEST(test_lost_race, "/path/association/lost race")
{
    desk *self = desk_with_other(other_adds, 1);
    const kw_association_entry *entry = association_find_to_put(self, "known", "a");
    assert_bytes(entry->keys[0], association_key(self, &desk_table(self, "known")->placements[0], "a", 1));
    assert_bytes(association_cell(self, "known", "a", "primary/1"), entry->keys[0]);
    g_assert_cmpuint(other.writes, ==, 1);
    desk_free(self);
}

/* The other gateway adds only one of two keys: the next attempt adds the second one. */
static void
other_adds_first(desk *self)
{
    association_hold(self, "pairs", "a", "first/1",
                     association_key(self, &desk_table(self, "pairs")->placements[1], "a", 2), 0);
}

KW_TEST(test_lost_race_for_one_key, "/path/association/lost race for one key")
{
    desk *self = desk_with_other(other_adds_first, 1);
    const kw_placement *placements = desk_table(self, "pairs")->placements;
    const kw_association_entry *entry = association_find_to_put(self, "pairs", "a");
    assert_bytes(entry->keys[1], association_key(self, &placements[1], "a", 2));
    assert_bytes(entry->keys[2], association_key(self, &placements[2], "a", 0));
    assert_bytes(association_cell(self, "pairs", "a", "second/1"), entry->keys[2]);
    g_assert_cmpuint(other.writes, ==, 2);
    desk_free(self);
}

/* The other gateway writes nonsense. */
static void
other_damages(desk *self)
{
    association_hold(self, "known", "a", "primary/1", KW_BYTES_LITERAL("?"), 0);
}

KW_TEST(test_damaged_in_race, "/path/association/damaged in a race")
{
    desk *self = desk_with_other(other_damages, 1);
    const kw_association_entry *entry = association_find_to_put(self, "known", "a");
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
    association_hold(self, "known", "a", "primary/1",
                     association_key(self, placement, "a", 1 + other.count % 2), 3 * HALF_MARGIN_MS);
}

/* After five attempts, the call fails. */
KW_TEST(test_attempts, "/path/association/attempts")
{
    for (unsigned writes = 1; writes <= TRIES_MAX + 1; writes++) {
        desk *self = desk_with_other(other_replaces, writes);
        const kw_placement *placement = &desk_table(self, "known")->placements[0];
        association_hold(self, "known", "a", "primary/1",
                         association_key(self, placement, "a", 1 + writes % 2), 3 * HALF_MARGIN_MS);
        const kw_association_entry *entry = association_find_to_put(self, "known", "a");
        if (writes < TRIES_MAX) {
            g_assert_cmpint(entry->error.code, ==, KW_OK);
            assert_bytes(entry->keys[0], association_cell(self, "known", "a", "primary/1"));
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
KW_TEST(test_faults, "/path/association/faults")
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
        desk *self = association_desk();
        self->control->fail_at = cases[i].fail_at;
        self->control->fail_applied = cases[i].applied;
        const kw_association_entry *entry = association_find_to_put(self, "known", "a");
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
    association_hold(self, "known", "a", "primary/1",
                     association_key(self, &desk_table(self, "known")->placements[0], "a", 1), 0);
}

KW_TEST(test_second_read_fails, "/path/association/second read fails")
{
    desk *self = desk_with_other(fail_next_read, 1);
    const kw_association_entry *entry = association_find_to_put(self, "known", "a");
    g_assert_cmpint(entry->error.code, ==, KW_UNAVAILABLE);
    g_assert_null(entry->keys);
    desk_free(self);
}
