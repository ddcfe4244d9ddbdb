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
KW_TEST(test_first_look, "/change/callers/first look")
{
    scene self = {.now_ns = 1000 * MS, .calls = 5000};
    kw_change_callers_look(&self.callers, self.calls, self.now_ns);
    g_assert_false(self.callers.present);
    g_assert_false(passes(&self, 5, 0));
}

KW_TEST(test_present, "/change/callers/present")
{
    scene self = {.now_ns = 1000 * MS};
    g_assert_false(passes(&self, 5, 4));
    g_assert_true(passes(&self, 1, 5));
}

KW_TEST(test_pause, "/change/callers/pause")
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
KW_TEST(test_looks_too_often, "/change/callers/looks too often")
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
KW_TEST(test_late_look, "/change/callers/late look")
{
    scene self = {.now_ns = 1000 * MS};
    g_assert_false(passes(&self, 1, 0));
    self.now_ns += 5000 * MS;
    self.calls += 24;
    kw_change_callers_look(&self.callers, self.calls, self.now_ns);
    g_assert_false(self.callers.present);
}
