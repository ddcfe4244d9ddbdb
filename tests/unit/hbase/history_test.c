/* Tests of the history checker (support/history.h): histories that a register allows and ones that it does
 * not. Each step is one word and takes one unit of time. */
#include "support/history.h"

#include "base/clock.h"

#include <glib.h>

static uint64_t now;

static uint64_t
tick(void)
{
    return ++now;
}

/* "p1" begins a put of 1, "r" begins a remove, "g" begins a get, each as the next operation; "+0" ends
 * operation 0, "+2=7" ends get 2 with value 7, "-0" means that operation 0 failed. */
static bool
is_right(const char *steps)
{
    history *of = history_new();
    g_auto(GStrv) words = g_strsplit(steps, " ", -1);
    for (char **word = words; *word; word++) {
        const char *value = strchr(*word, '=');
        size_t number = (size_t)g_ascii_strtoull(*word + 1, NULL, 10);
        switch (**word) {
        case 'p':
            history_begin(of, HISTORY_PUT, 1, number);
            break;
        case 'r':
            history_begin(of, HISTORY_REMOVE, 1, 0);
            break;
        case 'g':
            history_begin(of, HISTORY_GET, 1, 0);
            break;
        case '+':
            history_end(of, number, value ? g_ascii_strtoull(value + 1, NULL, 10) : 0);
            break;
        default:
            history_failed(of, number);
        }
    }
    g_autofree char *wrong = history_wrong(of);
    g_test_message("%s: %s", steps, wrong ? wrong : "right");
    history_free(of);
    return wrong == NULL;
}

KW_TEST(test_right, "/history/right")
{
    static const char *const all[] = {"g +0=0",
                                      "p1 +0 g +1=1",
                                      "p1 +0 p2 g +2=1 +1",        /* the second put is in progress */
                                      "p1 +0 p2 g +2=2 +1 g +3=2", /* and visible before it is acknowledged */
                                      "p1 g +1=0 +0",              /* not in effect yet */
                                      "p1 p2 +0 +1 g +2=1 g +3=1", /* concurrent: either can be the last */
                                      "p1 p2 +0 +1 g +2=2 g +3=2", /* the other order */
                                      "p1 +0 p2 g +2=2 g +3=2",    /* unknown, and applied */
                                      "p1 +0 p2 g +2=1 g +3=2",    /* later */
                                      "p1 +0 p2 g +2=1 p3 +3 g +4=3",      /* or never */
                                      "p1 +0 p2 -1 g +2=1",                /* failed */
                                      "p1 +0 r +1 g +2=0",                 /* removed */
                                      "p1 +0 r g +2=1 g +3=0 +1",          /* being removed */
                                      "p1 p2 g +2=1 g +3=2 +0 +1 g +4=2",  /* both visible early */
                                      "p1 p2 g +2=2 g +3=1 +0 +1 g +4=1"}; /* the other order */
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_assert_true(is_right(all[i]));
}

KW_TEST(test_wrong, "/history/wrong")
{
    static const char *const all[] = {
        "p1 +0 g +1=0",                     /* an acknowledged put is not visible */
        "p1 +0 p2 +1 g +2=1",               /* older than the acknowledged value */
        "g +0=1 p1",                        /* not written yet */
        "p1 +0 g +1=5",                     /* never written */
        "p1 +0 p2 -1 g +2=2",               /* a failed put is visible */
        "p1 +0 r +1 g +2=1",                /* a removed value */
        "p1 +0 p2 g +2=2 g +3=1 +1",        /* back in time */
        "p1 p2 g +2=1 g +3=2 g +4=1 +0 +1", /* back and forth */
        "p1 p2 +0 +1 g +2=1 g +3=2",        /* the value changes without a write */
        "p1 +0 p2 g +2=2 p3 +3 g +4=2"};    /* unknown, visible, replaced, and back */
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_assert_false(is_right(all[i]));
}

KW_TEST_START(start)
{
    kw_clock_inject(NULL, tick);
}
