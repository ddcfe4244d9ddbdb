/* Puts and removals in a table whose key rules are being changed, in an embedded store: each path has two
 * placements, and every write reaches both. */
#include "changing_writes.h"

#include "support/seeded.h"

static void
write_in(changing *self)
{
    changing_put(self, "id=a n=1 note=x tags.one=1 tags.two=2");
    changing_assert_record(self, "id=a", "id=a n=1 note=x tags.one=1 tags.two=2");
    changing_put(self, "id=a note=y"); /* of one field */
    changing_assert_record(self, "id=a", "id=a n=1 note=y tags.one=1 tags.two=2");
    changing_put(self, "id=b");
    changing_assert_record(self, "id=b", "id=b");
    changing_remove(self, "id=a", "note tags.one");
    changing_assert_record(self, "id=a", "id=a n=1 tags.two=2");
    changing_remove(self, "id=a", "tags");
    changing_assert_record(self, "id=a", "id=a n=1");
    changing_reopen(self);
    changing_assert_record(self, "id=a", "id=a n=1");
    changing_remove(self, "id=a", NULL);
    changing_assert_record(self, "id=a", "none");
    changing_put(self, "id=a n=5");
    changing_assert_record(self, "id=a", "id=a n=5");
    changing_serve(self, self->version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
    changing_assert_record(self, "id=a", "id=a n=5");
    changing_assert_record(self, "id=b", "id=b");
}

static void
test_writes(void)
{
    for (size_t i = 0; i < CHANGING_ALL_PATHS; i++)
        for (changing_version version = CHANGING_BOTH_OLD; version <= CHANGING_BOTH_NEW; version++) {
            changing self;
            changing_init(&self, changing_all_paths[i]);
            changing_serve(&self, version);
            write_in(&self);
            changing_serve(&self, CHANGING_NEW);
            g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=5");
            changing_serve(&self, CHANGING_OLD);
            g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=5");
            changing_clear(&self);
        }
}

/* --- records that only one of the rules can encode --------------------------------------------------- */

#define LONG "id=longer-than-8"

static void
test_only_old_rule(void)
{
    changing self;
    changing_init(&self, "primary");
    changing_serve(&self, CHANGING_OLD);
    changing_put(&self, LONG " n=1");
    changing_serve(&self, CHANGING_BOTH_OLD);
    g_assert_cmpstr(desk_get(self.desk, "t", LONG, NULL), ==, LONG " n=1");
    const kw_written_record *written = desk_put(self.desk, "t", LONG " n=2");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(written->error.code, ==, KW_INVALID);
    g_assert_true(g_str_has_prefix(
        written->error.text, "the key rule of path primary is being changed; layout 2: table t, field id"));
    g_assert_cmpstr(desk_get(self.desk, "t", LONG, NULL), ==, LONG " n=1");
    changing_remove(&self, LONG, NULL);
    g_assert_cmpstr(desk_get(self.desk, "t", LONG, NULL), ==, "none");
    changing_clear(&self);
}

/* --- a store table that is missing ------------------------------------------------------------------- */

/* If one of the rows of a record cannot be written, none is. */
static void
test_all_or_nothing(void)
{
    changing self;
    changing_init(&self, "primary");
    changing_put(&self, "id=a n=1");
    changing_drop_new_table(&self);
    const kw_written_record *written = desk_put(self.desk, "t", "id=a n=2");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_false(written->error.maybe_applied);
    g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=1");
    changing_clear(&self);
}

/* --- the keys of a put ------------------------------------------------------------------------------- */

static void
explained(void *user, const kw_explained_key *keys, size_t count, const kw_error *error)
{
    desk *self = user;
    static const char *const tables[] = {"t_L2", "t", "t_second_L2", "t_second"};
    g_assert_null(error);
    g_assert_cmpuint(count, ==, G_N_ELEMENTS(tables));
    for (size_t i = 0; i < count; i++) {
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error ignored;
        kw_record record = desk_record(self, "t", "id=a");
        g_assert_cmpstr(kw_layout_store_table(keys[i].placement->layout), ==, tables[i]);
        g_assert_true(kw_layout_encode(keys[i].placement->layout, &record, &key, &ignored));
        g_assert_true(kw_bytes_equal(kw_buffer_bytes(&key), keys[i].row_key));
        g_assert_true(keys[i].has_region);
        bool split = keys[i].region_start.size || keys[i].region_stop.size;
        g_assert_cmpint(split, ==, i == 0); /* only the new rule's store table has several regions */
        kw_buffer_clear(&key);
    }
    self->done = true;
}

static void
test_explain_put(void)
{
    changing self;
    changing_init(&self, "primary second");
    kw_record record = desk_record(self.desk, "t", "id=a n=1");
    self.desk->done = false;
    kw_verb_explain_put(&self.desk->call, desk_table(self.desk, "t"), &record, explained, self.desk);
    desk_wait(self.desk);
    changing_clear(&self);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/verb/changing/writes", test_writes);
    g_test_add_func("/verb/changing/only-old-rule", test_only_old_rule);
    g_test_add_func("/verb/changing/all-or-nothing", test_all_or_nothing);
    g_test_add_func("/verb/changing/explain-put", test_explain_put);
    return g_test_run();
}
