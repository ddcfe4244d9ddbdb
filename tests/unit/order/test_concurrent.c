/* Two gateways write and read the same records at the same time, each under two neighboring versions of a
 * change of a key rule (concurrent.h). */
#include "concurrent.h"
#include "support/seed.h"

static const form form_store = {.order = KW_WRITE_ORDER_STORE};
static const form form_raised = {.order = KW_WRITE_ORDER_RAISED};
static const form form_stamp = {.order = KW_WRITE_ORDER_STAMP};
static const form form_3 = {.order = KW_WRITE_ORDER_STAMP, .two = true};
static const form form_4 = {.order = KW_WRITE_ORDER_STAMP, .two = true, .both = true};
static const form form_5 = {.order = KW_WRITE_ORDER_STAMP, .two = true, .new_last = true};
static const form form_4_back = {.order = KW_WRITE_ORDER_STAMP, .two = true, .new_last = true, .both = true};

static const form form_raised_sweep = {.order = KW_WRITE_ORDER_RAISED, .sweeps = true};
static const form form_2 = {.order = KW_WRITE_ORDER_STAMP, .two = true, .copies = true};
static const form form_3_pass = {.order = KW_WRITE_ORDER_STAMP, .two = true, .passes = true};
static const form form_5_pass = {
    .order = KW_WRITE_ORDER_STAMP, .two = true, .new_last = true, .passes = true};

static const form form_atomic = {.order = KW_WRITE_ORDER_STAMP, .atomics = true};
static const form form_atomic_paths = {
    .order = KW_WRITE_ORDER_STAMP, .atomics = true, .two = true, .paths = true};
static const form form_atomic_2 = {.order = KW_WRITE_ORDER_STAMP, .atomics = true, .two = true};

/* After a pass, each placement alone shows the right values. */
static void
read_each(town *in, form how)
{
    static const form alone[] = {{.order = KW_WRITE_ORDER_STAMP},
                                 {.order = KW_WRITE_ORDER_STAMP, .new_last = true}};
    town_grace(in);
    town_work(in, how);
    town_get(in, alone[0]);
    town_get(in, alone[1]);
}

static void
run_history(form one, form other, uint32_t seed, double trouble)
{
    town *in = town_new(one, other, seed, trouble);
    town_run(in, one, other);
    if (one.passes)
        read_each(in, one);
    town_judge(in, seed);
    town_free(in);
}

/* From stamped versions back to those with timestamps of the region servers: gone cells are swept before
 * versions that ignore them. */
static void
leave(uint32_t seed, double trouble)
{
    town *in = town_new(form_raised, form_stamp, seed, trouble);
    town_run(in, form_raised, form_stamp);
    town_grace(in);
    town_run(in, form_raised_sweep, form_raised_sweep);
    town_grace(in);
    town_work(in, form_raised_sweep);
    town_run(in, form_store, form_raised);
    town_judge(in, seed);
    town_free(in);
}

KW_TEST(test_leave, "/order/concurrent/leave")
{
    uint32_t seed = (uint32_t)test_seed();
    leave(seed, 0.05);
    leave(seed + 1, 0.25);
}

typedef struct pair {
    const char *name;
    const form *one, *other;
} pair;

static const pair pairs[] = {
    {"/order/concurrent/enter raised", &form_store, &form_raised},
    {"/order/concurrent/enter stamped", &form_raised, &form_stamp},
    {"/order/concurrent/2 and the copier", &form_2, &form_2},
    {"/order/concurrent/3 and the pass", &form_3_pass, &form_3_pass},
    {"/order/concurrent/5 and the pass", &form_5_pass, &form_5_pass},
    {"/order/concurrent/3 and 4", &form_3, &form_4},
    {"/order/concurrent/4 and 5", &form_4, &form_5},
    {"/order/concurrent/5 and 4-back", &form_5, &form_4_back},
    {"/order/concurrent/atomics", &form_atomic, &form_atomic},
    {"/order/concurrent/atomics of two paths", &form_atomic_paths, &form_atomic_paths},
    {"/order/concurrent/atomics of two placements", &form_atomic_2, &form_atomic_2},
};

static void
test_pair(gconstpointer user)
{
    const pair *of = user;
    uint32_t seed = (uint32_t)test_seed();
    for (uint32_t i = 0; i < 4; i++) {
        g_test_message("seed %u", seed + i);
        run_history(*of->one, *of->other, seed + i, i == 0 ? 0.05 : 0.25);
    }
}

KW_TEST_START(start)
{
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
        g_test_add_data_func(pairs[i].name, &pairs[i], test_pair);
}
