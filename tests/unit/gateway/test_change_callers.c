/* When callers count as present. The clock and the calls are made up. */
#include "change/callers.h"

#include <glib.h>

#define MS UINT64_C(1000000)

typedef struct scene {
    kw_change_callers callers;
    uint64_t calls;
    uint64_t now_ns;
} scene;

/* True if callers are present after so many seconds with so many calls each. */
static bool
passes(scene *self, unsigned seconds, unsigned calls)
{
    for (unsigned i = 0; i < seconds; i++) {
        self->now_ns += 1000 * MS;
        self->calls += calls;
        kw_change_callers_look(&self->callers, self->calls, self->now_ns);
    }
    return self->callers.present;
}

/* Calls before the first look do not count. */
static void
test_first_look(void)
{
    scene self = {.now_ns = 1000 * MS, .calls = 5000};
    kw_change_callers_look(&self.callers, self.calls, self.now_ns);
    g_assert_false(self.callers.present);
    g_assert_false(passes(&self, 5, 0));
}

static void
test_present(void)
{
    scene self = {.now_ns = 1000 * MS};
    g_assert_false(passes(&self, 5, 4));
    g_assert_true(passes(&self, 1, 5));
}

static void
test_pause(void)
{
    scene self = {.now_ns = 1000 * MS};
    g_assert_true(passes(&self, 2, 100));
    g_assert_true(passes(&self, 9, 0));
    g_assert_true(passes(&self, 1, 100)); /* in time */
    g_assert_true(passes(&self, 9, 0));
    g_assert_false(passes(&self, 1, 0));
    g_assert_true(passes(&self, 1, 100));
}

/* A look soon after the last one does not count: four calls in 20 ms are not 200 calls in a second. */
static void
test_looks_too_often(void)
{
    scene self = {.now_ns = 1000 * MS};
    g_assert_false(passes(&self, 1, 0));
    for (unsigned i = 0; i < 1000; i++) {
        self.now_ns += 20 * MS;
        self.calls += i % 250 == 0 ? 4 : 0;
        kw_change_callers_look(&self.callers, self.calls, self.now_ns);
        g_assert_false(self.callers.present);
    }
}

/* A look that comes late sees the calls of several seconds. */
static void
test_late_look(void)
{
    scene self = {.now_ns = 1000 * MS};
    g_assert_false(passes(&self, 1, 0));
    self.now_ns += 5000 * MS;
    self.calls += 24;
    kw_change_callers_look(&self.callers, self.calls, self.now_ns);
    g_assert_false(self.callers.present);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gateway/change callers/first look", test_first_look);
    g_test_add_func("/gateway/change callers/present", test_present);
    g_test_add_func("/gateway/change callers/pause", test_pause);
    g_test_add_func("/gateway/change callers/looks too often", test_looks_too_often);
    g_test_add_func("/gateway/change callers/late look", test_late_look);
    return g_test_run();
}
