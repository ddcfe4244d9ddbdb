/* Increments and conditional puts in a table whose key rules are being changed. */
#include "changing_writes.h"

#include "support/seeded.h"

static void
change_in(changing *self)
{
    for (changing_version version = CHANGING_BOTH_OLD; version <= CHANGING_BOTH_NEW; version++) {
        int64_t sum = version == CHANGING_BOTH_OLD ? 1 : 8;
        changing_serve(self, version);
        g_assert_cmpint(changing_increment(self, "id=a", 1), ==, sum);
        g_assert_cmpint(changing_increment(self, "id=a", 5), ==, sum + 5);
        g_assert_true(changing_put_if(self, "id=a note=x", NULL));
        g_assert_false(changing_put_if(self, "id=a note=y", NULL));
        g_assert_true(changing_put_if(self, "id=a note=y tags.one=7", "x"));
        g_autofree char *expected = g_strdup_printf("id=a n=%d note=y tags.one=7", (int)sum + 5);
        changing_assert_record(self, "id=a", expected);
        changing_remove(self, "id=a", "note");
        g_assert_cmpint(changing_increment(self, "id=a", 1), ==, sum + 6);
    }
    changing_reopen(self);
    changing_assert_record(self, "id=a", "id=a n=14 tags.one=7");
}

/* Increments and conditional puts write all rows of a record in each version, and read one of them. */
static void
test_versions(void)
{
    for (size_t i = 0; i < CHANGING_ALL_PATHS; i++) {
        changing self;
        changing_init(&self, changing_all_paths[i]);
        change_in(&self);
        changing_serve(&self, CHANGING_NEW);
        g_assert_cmpint(changing_increment(&self, "id=a", 1), ==, 15);
        changing_serve(&self, CHANGING_OLD);
        bool moved =
            strstr(changing_all_paths[i], "primary") != NULL; /* then the old row lacks the last one */
        g_assert_cmpint(changing_increment(&self, "id=a", 1), ==, moved ? 15 : 16);
        changing_clear(&self);
    }
}

/* The row that get operations read decides, although the other placement has no row yet. */
static void
test_read_one_row(void)
{
    changing self;
    changing_init(&self, "primary");
    changing_serve(&self, CHANGING_OLD);
    changing_put(&self, "id=a n=10 note=x"); /* not yet copied */
    changing_serve(&self, CHANGING_BOTH_OLD);
    g_assert_cmpint(changing_increment(&self, "id=a", 1), ==, 11);
    g_assert_true(changing_put_if(&self, "id=a note=y", "x"));
    g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=11 note=y");
    changing_serve(&self, CHANGING_BOTH_NEW);
    g_assert_cmpstr(desk_get(self.desk, "t", "id=a", NULL), ==, "id=a n=11 note=y");
    changing_clear(&self);
}

/* If one of the rows of a record cannot be written, none is. */
static void
test_all_or_nothing(void)
{
    changing self;
    changing_init(&self, "primary");
    desk *on = self.desk;
    changing_put(&self, "id=a n=1 note=x");
    changing_drop_new_table(&self);
    changing_try_increment(&self, "id=a", 1);
    g_assert_cmpint(on->error.code, ==, KW_NOT_FOUND);
    g_assert_false(on->error.maybe_applied);
    g_assert_cmpstr(desk_get(on, "t", "id=a", NULL), ==, "id=a n=1 note=x");
    changing_clear(&self);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/verb/changing-atomics/versions", test_versions);
    g_test_add_func("/verb/changing-atomics/read-one-row", test_read_one_row);
    g_test_add_func("/verb/changing-atomics/all-or-nothing", test_all_or_nothing);
    return g_test_run();
}
