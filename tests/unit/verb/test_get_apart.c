/* Gets under version 4-back of a change in a store with several writers: they read both placements. */
#include "apart_fixture.h"

#define ROW_KEY_MAX 32767

/* The roles under version 4-back: the new placement is written last. */
static void
read_both(apart_fixture *self)
{
    self->placements[0].role = (kw_role){2, 2, true, true};
    self->placements[1].role = (kw_role){1, 1, true, false};
}

/* An id that is as long as the old key rule allows. The new one, which adds a salt, cannot encode it. */
static char *
longest_id(apart_fixture *self)
{
    for (size_t size = ROW_KEY_MAX; size > 0; size--) {
        g_autofree char *id = g_strnfill(size, 'x');
        g_autofree char *text = g_strdup_printf("id=%s n=1", id);
        kw_record record = desk_record(self->desk, self->table->name, text);
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error;
        bool old = kw_layout_encode(self->placements[1].layout, &record, &key, &error);
        bool fresh = kw_layout_encode(self->placements[0].layout, &record, &key, &error);
        kw_buffer_clear(&key);
        g_assert_false(fresh);
        if (old)
            return g_steal_pointer(&id);
    }
    g_assert_not_reached();
}

static void
got(void *user, const kw_found_record *found, size_t count)
{
    desk *self = user;
    self->found = found;
    self->count = count;
    self->done = true;
}

static const char *
note_of(apart_fixture *self, size_t index)
{
    const kw_found_record *found = &self->desk->found[index];
    g_assert_cmpstr(found->error.text, ==, "");
    if (!found->record.values)
        return "none";
    kw_bytes note = found->record.values[desk_field(self->desk, self->table->name, "note")].bytes;
    return kw_arena_text(self->desk->call.arena, note);
}

/* Records of which one has a row in the old placement only; columns: NULL or "note". Absent columns are read
 * in two requests. */
static void
get_many(apart_fixture *self, const char *columns)
{
    g_autofree char *id = longest_id(self);
    g_autofree char *large = g_strdup_printf("id=%s n=1", id);
    g_autofree char *large_put = g_strdup_printf("id=%s n=1 note=large", id);
    const char *const keys[] = {"id=a n=1", large, "id=none n=1", "id=b n=1", large, "id=bare n=1"};
    const char *const notes[] = {"old", "large", "none", "new", "large", ""};
    kw_item items[G_N_ELEMENTS(keys)];
    kw_pick pick = {.field = desk_field(self->desk, self->table->name, "note")};
    apart_put(self, BOTH, "id=a n=1 note=first", 1000);
    apart_put(self, OLD, "id=a n=1 note=old", 1001);
    apart_put(self, NEW, "id=b n=1 note=new", 1000);
    apart_put(self, BOTH, "id=bare n=1", 1000);
    apart_put(self, OLD, large_put, 1000);
    read_both(self);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        items[i] = (kw_item){.record = desk_record(self->desk, self->table->name, keys[i])};
    self->desk->done = false;
    kw_verb_get(&self->desk->call, self->table, items, G_N_ELEMENTS(keys), &pick, columns != NULL, got,
                self->desk);
    desk_wait(self->desk);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        g_assert_cmpstr(note_of(self, i), ==, notes[i]);
}

KW_TEST(test_many, "/verb/get_apart/many")
{
    static const char *const columns[] = {NULL, "note"};
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
        apart_fixture self;
        apart_fixture_open(&self, "now");
        get_many(&self, columns[i]);
        g_autofree char *rows = apart_rows(&self, NEW);
        g_assert_nonnull(strstr(rows, "d:note=old@1001"));
        apart_fixture_close(&self);
    }
}

/* --- rows above limits.frame -------------------------------------------------------------------- */

/* A put of a row of more than 2000 bytes, in cells of less. */
static char *
large_put(void)
{
    GString *text = g_string_new("id=a n=1 note=");
    for (int i = 0; i < 1500; i++)
        g_string_append_c(text, 'x');
    for (int i = 0; i < 60; i++)
        g_string_append_printf(text, " tags.entry_number_%d=%d", i, i);
    return g_string_free(text, false);
}

static void
get_one(apart_fixture *self, const char *entry)
{
    kw_item item = {.record = desk_record(self->desk, self->table->name, "id=a n=1")};
    kw_pick pick = {.field = desk_field(self->desk, self->table->name, "tags"),
                    .entry = kw_bytes_of_text(entry)};
    self->desk->done = false;
    kw_verb_get(&self->desk->call, self->table, &item, 1, &pick, 1, got, self->desk);
    desk_wait(self->desk);
}

/* The answer is small although the row is not: the columns of the get are absent, and the record exists. */
KW_TEST(test_large_row, "/verb/get_apart/large-row")
{
    g_autofree char *put = large_put();
    const apart_side sides[] = {BOTH, NEW, OLD};
    for (size_t i = 0; i < G_N_ELEMENTS(sides); i++) {
        apart_fixture self;
        apart_fixture_open(&self, "now");
        kw_model *model = kw_policy_model(self.desk->policy);
        apart_put(&self, sides[i], put, 1000);
        read_both(&self);
        model->limits.frame_bytes = 2000;
        get_one(&self, "none");
        g_assert_cmpstr(self.desk->found[0].error.text, ==, "");
        g_assert_nonnull(self.desk->found[0].record.values);
        model->limits.frame_bytes = 1 << 20;
        apart_fixture_close(&self);
    }
}

/* --- versions ----------------------------------------------------------------------------------- */

static void
got_versions(void *user, const kw_record_version *versions, size_t count, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(versions[0].timestamp, ==, 1001);
    self->done = true;
}

KW_TEST(test_versions, "/verb/get_apart/versions")
{
    apart_fixture self;
    apart_fixture_open(&self, "now");
    apart_put(&self, NEW, "id=a n=1 note=first", 1000);
    apart_put(&self, OLD, "id=a n=1 note=old", 1001);
    read_both(&self);
    kw_record key = desk_record(self.desk, "now", "id=a n=1");
    self.desk->done = false;
    kw_verb_get_versions(&self.desk->call, self.table, &key, NULL, 0, 1, got_versions, self.desk);
    desk_wait(self.desk);
    apart_fixture_close(&self);
}
