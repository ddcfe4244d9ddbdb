/* The record of a change, written by several gateways. */
#include "change/merge.h"

#include <glib.h>

static kw_change_record
record_new(void)
{
    return (kw_change_record){.table = "t",
                              .path = "p",
                              .given = {.layout = 1, .store_table = "s"},
                              .now = {.layout = 2, .store_table = "s2"},
                              .under_way = true,
                              .old = {.layout = 1, .store_table = "s"},
                              .old_given = {.layout = 1, .store_table = "s"},
                              .old_version = {.number = 1},
                              .place = KW_OLD(BOTH),
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .step = 3,
                              .holder = "a",
                              .author = "",
                              .reason = "",
                              .example = ""};
}

/* The merged record has the progress of this gateway, in whichever member it is, and the command of the other
 * one. */
static void
check_progress(const kw_change_record *mine)
{
    kw_change_record base = record_new(), theirs = record_new();
    theirs.goal = KW_NEW(BOTH);
    theirs.holder = "b";
    theirs.paused = true;
    theirs.rows_per_second = 5;
    g_assert_false(kw_change_same_progress(mine, &base));
    kw_change_record merged = kw_change_merge(&base, mine, &theirs);
    g_assert_true(kw_change_same_progress(&merged, mine));
    g_assert_cmpint(merged.goal, ==, KW_NEW(BOTH));
    g_assert_cmpstr(merged.holder, ==, "b");
    g_assert_true(merged.paused);
    g_assert_cmpuint(merged.rows_per_second, ==, 5);
}

KW_TEST(test_progress, "/change/merge/progress")
{
    kw_change_record mine[13];
    for (unsigned i = 0; i < G_N_ELEMENTS(mine); i++)
        mine[i] = record_new();
    mine[0].pass = KW_CHANGE_PASS_SECOND;
    mine[1].copied = true;
    mine[2].compared = true;
    mine[3].rows_copied = 1;
    mine[4].rows_compared = 1;
    mine[5].missing = 1;
    mine[6].different = 1;
    mine[7].extra = 1;
    mine[8].repaired = 1;
    mine[9].undecodable = 1;
    mine[10].example = "x";
    mine[11].copied_to = KW_BYTES_LITERAL("k");
    mine[12].compare_cursor = KW_BYTES_LITERAL("c");
    for (unsigned i = 0; i < G_N_ELEMENTS(mine); i++)
        check_progress(&mine[i]);
}

/* A command to compare again has reset the progress: what was compared meanwhile does not count. */
KW_TEST(test_reset, "/change/merge/reset")
{
    kw_change_record base = record_new(), mine = record_new(), theirs = record_new();
    base.copied = mine.copied = theirs.copied = true;
    base.compare_cursor = KW_BYTES_LITERAL("c");
    mine.compared = true;
    kw_change_record merged = kw_change_merge(&base, &mine, &theirs);
    g_assert_true(kw_change_same_progress(&merged, &theirs));
}

/* The version was set by another gateway: its record counts. */
KW_TEST(test_other_step, "/change/merge/other-step")
{
    kw_change_record base = record_new(), mine = record_new(), theirs = record_new();
    mine.copied = true;
    theirs.step++;
    g_assert_false(kw_change_merge(&base, &mine, &theirs).copied);
    g_assert_cmpuint(kw_change_merge(&base, &mine, &theirs).step, ==, 4);
    theirs = base;
    theirs.under_way = false;
    g_assert_false(kw_change_merge(&base, &mine, &theirs).under_way);
}

KW_TEST(test_none, "/change/merge/none")
{
    kw_change_record base = record_new(), mine = record_new(), theirs = record_new();
    mine.copied = true;
    g_assert_false(kw_change_merge(NULL, &mine, &theirs).copied);
    g_assert_false(kw_change_merge(&base, NULL, &theirs).copied);
}

/* Only this gateway writes: its progress is newer than the catalog's. */
KW_TEST(test_one_writer, "/change/merge/one-writer")
{
    kw_change_record mine = record_new(), theirs = record_new();
    mine.writers = theirs.writers = KW_CHANGE_ONE_WRITER;
    mine.copied = true;
    g_assert_true(kw_change_merge(NULL, &mine, &theirs).copied);
    theirs.place = KW_OLD(LAST_PASS);
    g_assert_false(kw_change_merge(NULL, &mine, &theirs).copied);
}
