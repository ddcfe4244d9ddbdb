/* The way from `order: store` into a change and back out, explored exhaustively: right with the server's
 * table of versions, wrong without any one of the safeguards. */
#include "entry_model.h"

#include <glib.h>

#define STATES_MAX 400000000
#define PLAIN (ENTRY_BIT(PUT) | ENTRY_BIT(REMOVE) | ENTRY_BIT(GET))
#define ALL (PLAIN | ENTRY_BIT(ATOMIC))

/* The clock of the row's server is one millisecond slow, right or fast. */
static const int offsets[] = {-1, 0, 1};

static entry_model
entering(unsigned kinds, int calls)
{
    entry_model model = entry_model_new();
    model.kinds = kinds;
    model.calls = calls;
    model.callers = 2;
    model.ticks = 5;
    model.error = model.skew = 1;
    return model;
}

static entry_model
leaving(unsigned kinds, int calls)
{
    entry_model model = entering(kinds, calls);
    model.first = KW_NEW(STAMPED);
    model.last = KW_NEW(UNSTAMPED);
    return model;
}

static explored
search(const char *what, const entry_model *model)
{
    explored found = entry_model_explore(model, STATES_MAX);
    g_test_message("%s: %" G_GUINT64_FORMAT " states: %s", what, found.states,
                   found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(const char *what, entry_model model)
{
    model.calls = (int)explore_bound((uint64_t)model.calls, (uint64_t)model.calls + 1);
    model.ticks = (int)explore_bound(4, 5);
    for (size_t i = 0; i < G_N_ELEMENTS(offsets); i++) {
        model.offset = offsets[i];
        explored found = search(what, &model);
        g_assert_null(found.wrong);
        g_assert_true(found.complete);
    }
}

static void
is_wrong(const char *what, entry_model model, int offset)
{
    model.offset = offset;
    explored found = search(what, &model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

static void
drop_need(entry_model *from, kw_change_place before, unsigned need)
{
    g_assert_true(from->places[before].forward.needs & need);
    from->places[before].forward.needs &= ~need;
}

/* --- all safeguards --------------------------------------------------------------------------- */

KW_TEST(test_enter, "/change/entry/enter")
{
    entry_model model = entering(PLAIN, 3), late = entering(ALL, 2);
    is_right("entering", model);
    late.unknown = late.purges = 1;
    is_right("entering, one call given up, one compaction", late);
}

KW_TEST(test_leave, "/change/entry/leave")
{
    entry_model model = leaving(PLAIN, 3), late = leaving(ALL, 2), swept = leaving(PLAIN, 2);
    is_right("leaving", model);
    late.unknown = late.purges = 1;
    is_right("leaving, one call given up, one compaction", late);
    swept.first = KW_NEW(ALONE);
    swept.purges = 1;
    is_right("leaving, most gone cells are swept before", swept);
}

KW_TEST(test_give_up, "/change/entry/give-up")
{
    entry_model model = entering(ALL, 2);
    model.first = KW_OLD(STAMPED);
    model.last = KW_OLD(UNSTAMPED);
    model.back = true;
    model.unknown = model.purges = 1;
    is_right("giving up", model);
}

/* --- without one of them ---------------------------------------------------------------------- */

KW_TEST(test_raised, "/change/entry/raised-without-safeguards")
{
    entry_model blind = entering(PLAIN, 2), early = entering(PLAIN, 2), removal = leaving(PLAIN, 3),
                no_wait = leaving(PLAIN, 3);
    blind.raised_blind = true;
    is_wrong("raised stamps without a read", blind, 1);
    early.raised_early = true;
    is_wrong("raised puts are sent at once", early, -1);
    removal.raised_early_removal = true;
    is_wrong("removals beside raised puts do not wait for the skew", removal, -1);
    no_wait.raised_no_wait = true;
    is_wrong("gets beside raised puts do not wait", no_wait, 0);
}

KW_TEST(test_no_raised_version, "/change/entry/no-raised-version")
{
    entry_model in = entering(PLAIN, 2), out = leaving(PLAIN, 3);
    in.places[KW_OLD(HELD)].forward.to = KW_OLD(STAMPED);
    is_wrong("from unstamped to stamped at once", in, 1);
    out.places[KW_NEW(STAMPED)].forward.to = KW_NEW(HELD);
    is_wrong("from stamped to unstamped at once", out, -1);
}

KW_TEST(test_skew, "/change/entry/no-skew")
{
    entry_model in = entering(PLAIN, 2), out = leaving(PLAIN, 3);
    drop_need(&in, KW_OLD(RAISED), KW_CHANGE_NEEDS_SKEW);
    is_wrong("entering does not wait for the skew", in, 1);
    drop_need(&out, KW_NEW(RAISED), KW_CHANGE_NEEDS_SKEW);
    is_wrong("leaving does not wait for the skew", out, -1);
}

KW_TEST(test_atomics, "/change/entry/atomics-not-held")
{
    entry_model late = entering(ALL, 2), held = entering(ALL, 2);
    late.unknown = 1;
    drop_need(&late, KW_OLD(HELD), KW_CHANGE_NEEDS_GRACE);
    is_wrong("no grace after native atomic operations", late, 0);
    held.places[KW_OLD(HELD)].rules.regime.atomics = KW_ATOMICS_NATIVE;
    is_wrong("atomic operations are not held", held, 0);
}

KW_TEST(test_sweep, "/change/entry/no-sweep")
{
    entry_model model = leaving(ENTRY_BIT(PUT) | ENTRY_BIT(REMOVE), 3);
    model.purges = 1;
    drop_need(&model, KW_NEW(RAISED), KW_CHANGE_NEEDS_SWEEP);
    is_wrong("control cells are not swept", model, 0);
}
