/* Two gateways on one store, with the store's operations in every order: a schedule is a list of choices, and
 * all schedules that differ from the default one in a few choices are run. A choice can also be a fault: a
 * call that is lost or applied later, a process that dies, or one that pauses until its lease expires.
 *
 * After each step: gateways that can answer calls of a table agree about its paths, with each other and with
 * the catalog, and every row is in all store tables of its table. At the end, no policy is refused
 * permanently.
 *
 * KW_ORDERS_DEPTH: number of choices that differ from the default (1); KW_ORDERS_RANDOM: number of additional
 * schedules of random choices (200).
 */
#include "orders.h"

#include "base/log.h"
#include "catalog/catalog_internal.h"
#include "rule/policies.h"
#include "support/seed.h"
#include "support/slow_build.h"

#include <stdlib.h>

#define STEPS_MAX 400

#define BASE                                                                                                 \
    "    fields: {id: string, ts: timestamp, n: int}\n"                                                      \
    "    key: [{field: id}, {field: ts}]\n"
#define BY_TS "    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"
static kw_policy *one_path, *two_paths, *other_store, *no_table, *renamed, *intruder;

/* --- choices --------------------------------------------------------------------------------------- */

typedef enum choice_kind {
    GO,
    ACT,
    PUT,
    FIRE,
    AGAIN,
    FAIL,
    FAIL_LATE,
    LATE,
    PASS,
    CRASH,
    CRASH_LATE,
    OVER
} choice_kind;

typedef struct choice {
    choice_kind kind;
    size_t index;
} choice;

static void
add(GArray *to, choice_kind kind, size_t index)
{
    choice step = {kind, index};
    g_array_append_val(to, step);
}

static node *
node_of_handle(world *in, const kw_store_handle *handle)
{
    for (size_t i = 0; i < NODES; i++)
        if (in->nodes[i].handle == handle)
            return &in->nodes[i];
    return NULL;
}

/* The timer of the lease. */
static fake_timer *
timer_of(const node *self)
{
    return time_find(self->catalog);
}

/* The timer of a put with an unknown outcome. */
static fake_timer *
put_timer_of(const node *self)
{
    return self->catalog ? time_find(self->catalog->putting) : NULL;
}

static void
list_choices(world *in, GArray *to)
{
    size_t waiting = kw_stepped_count(in->store);
    for (size_t i = 0; i < waiting; i++)
        add(to, GO, i);
    for (size_t i = 0; i < NODES; i++)
        if (node_act_name(&in->nodes[i]))
            add(to, ACT, i);
    for (size_t i = 0; i < NODES; i++)
        if (put_timer_of(&in->nodes[i]))
            add(to, AGAIN, i);
    if (to->len == 0)
        add(to, OVER, 0);
    for (size_t i = 0; i < NODES; i++)
        if (node_answers(&in->nodes[i], 0) && in->rows < 1)
            add(to, PUT, i);
    for (size_t i = 0; i < NODES; i++)
        if (timer_of(&in->nodes[i]))
            add(to, FIRE, i);
    for (size_t i = 0; i < kw_stepped_late_count(in->store); i++)
        add(to, LATE, i);
    if (in->passes < 2)
        add(to, PASS, 0);
    for (size_t i = 0; in->faults < in->plan->faults && i < waiting; i++) {
        add(to, FAIL, i);
        if (kw_stepped_at(in->store, i).changes)
            add(to, FAIL_LATE, i);
    }
    for (size_t i = 0; in->faults < in->plan->faults && i < NODES; i++)
        if (in->nodes[i].catalog && in->nodes[i].again) {
            add(to, CRASH, i);
            add(to, CRASH_LATE, i);
        }
}

static void
log_waiting(world *in, const char *verb, size_t index)
{
    kw_stepped_info info = kw_stepped_at(in->store, index);
    const node *of = node_of_handle(in, info.handle);
    log_step(in, "%s %s's %s %.*s", verb, of ? of->id : "?", info.what, (int)info.row.size,
             info.row.size ? (const char *)info.row.data : "");
}

static void
take_step(world *in, choice step)
{
    node *self = &in->nodes[step.index % NODES];
    switch (step.kind) {
    case GO:
        log_waiting(in, "the store does", step.index);
        kw_stepped_go(in->store, step.index);
        break;
    case ACT:
        log_step(in, "%s %s", self->id, node_act_name(self));
        node_act(self);
        break;
    case PUT:
        log_step(in, "%s puts a row", self->id);
        node_put_row(self);
        break;
    case FIRE:
        log_step(in, "%s's timer", self->id);
        time_fire(timer_of(self));
        break;
    case AGAIN:
        log_step(in, "%s puts again", self->id);
        time_fire(put_timer_of(self));
        break;
    case FAIL:
    case FAIL_LATE:
        in->faults++;
        log_waiting(in, step.kind == FAIL ? "lost:" : "late:", step.index);
        kw_stepped_fail(in->store, step.index, step.kind == FAIL_LATE);
        break;
    case LATE:
        log_step(in, "the late call %zu is applied", step.index);
        kw_stepped_apply_late(in->store, step.index, in->handle);
        break;
    case PASS:
        log_step(in, "20 seconds pass");
        in->passes++;
        now_ms += 20000;
        break;
    case CRASH:
    case CRASH_LATE:
        in->faults++;
        log_step(in, "%s dies%s", self->id, step.kind == CRASH ? "" : ", its calls are applied later");
        node_crash(self, step.kind == CRASH_LATE);
        break;
    case OVER:
        break;
    }
    settle_loop(in);
    now_ms++;
    if (!in->quiet)
        world_check(in);
}

/* --- one schedule ---------------------------------------------------------------------------------- */

static void
settle(world *in)
{
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(choice));
    for (unsigned i = 0; i < 2000; i++) {
        g_array_set_size(choices, 0);
        list_choices(in, choices);
        choice first = g_array_index(choices, choice, 0);
        if (first.kind == OVER)
            return;
        take_step(in, first);
    }
    violation(in, "it does not end");
}

static world *
world_new(const plan *how)
{
    world *in = g_new0(world, 1);
    now_ms = 0;
    in->plan = how;
    in->trace = g_string_new(NULL);
    in->loop = kw_loop_new();
    in->memory = kw_memory_store_open();
    in->control = kw_memory_store_control(in->memory);
    in->store = kw_stepped_store_open(in->memory);
    in->handle = kw_store_open_handle(in->memory, in->loop);
    for (size_t i = 0; i < NODES; i++)
        in->nodes[i] = (node){
            .in = in, .id = i ? "b" : "a", .next = how->actions[i], .again = how->again[i], .phase = DOWN};
    return in;
}

static void
set_flag(void *user)
{
    *(bool *)user = true;
}

static void
world_free(world *in)
{
    bool closed = false;
    for (size_t i = 0; i < NODES; i++)
        if (in->nodes[i].catalog && in->nodes[i].phase != STOPPING)
            node_crash(&in->nodes[i], false);
    kw_store_handle_close(in->handle, set_flag, &closed);
    while (!closed)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
    kw_store_free(in->store);
    kw_store_free(in->memory);
    kw_loop_free(in->loop);
    g_string_free(in->trace, TRUE);
    g_free(in);
}

static const char *
forgetting(world *in, kw_arena *arena, const char **ret_path)
{
    const kw_facts *facts = world_facts(in, "t", arena);
    size_t count = 0;
    for (size_t i = 0; facts && i < facts->paths_count; i++)
        for (size_t j = 0; j < facts->paths[i].placements_count; j++)
            if (facts->paths[i].placements[j].state == KW_PLACEMENT_FORGETTING) {
                *ret_path = facts->paths[i].name;
                count++;
            }
    if (count > 0 && count == facts->paths_count)
        *ret_path = NULL;
    return count > 0 ? "t" : NULL;
}

static void
put_rows(world *in)
{
    for (size_t i = 0; i < NODES; i++)
        node_put_row(&in->nodes[i]);
}

/* Applies everything that is late, lets time pass, and readmits gateways that lost their registration. */
static void
settle_all(world *in)
{
    while (kw_stepped_late_count(in->store))
        take_step(in, (choice){LATE, 0});
    settle(in);
    for (unsigned i = 0; i < 3 * NODES; i++) {
        if (timer_of(&in->nodes[i % NODES]))
            take_step(in, (choice){FIRE, i % NODES});
        settle(in);
    }
    now_ms += 60000;
    put_rows(in);
    for (size_t i = 0; i < NODES; i++) {
        const node *self = &in->nodes[i];
        if (timer_of(self))
            take_step(in, (choice){FIRE, i});
        settle(in);
        if (self->phase == IDLE && self->serving && !self->refused &&
            !kw_fence_is_open(kw_catalog_fence(self->catalog)))
            violation(in, "%s serves, and its fence stays shut", self->id);
    }
}

/* Starts the first gateway alone, ready for the schedule. */
static node *
leave_one(world *in)
{
    static const action over = {.kind = END};
    node *last = &in->nodes[0];
    if (last->phase == IDLE && in->nodes[1].phase == IDLE)
        node_stop(&in->nodes[1]);
    settle(in);
    now_ms += 60000;
    last->next = &over;
    if (last->phase == DOWN) {
        node_start(last);
        last->serving = no_table; /* so that it does not stop when refused */
    }
    if (last->phase != IDLE)
        violation(in, "%s is busy", last->id);
    return last;
}

static void
finish_forgetting(world *in, node *last)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *path, *table = forgetting(in, arena, &path);
    if (!table)
        return;
    last->serving = no_table;
    node_forget(last, table, path);
    settle(in);
}

static bool
can_serve(world *in, node *last, kw_policy *policy)
{
    last->refused = 0;
    last->target = policy;
    node_check(last);
    settle(in);
    bool refused = last->refused > 0;
    last->refused = 0;
    return last->serving == policy && !refused;
}

/* Finally, one gateway alone must be able to serve the catalog's facts. */
static void
end_well(world *in)
{
    log_step(in, "-- final check");
    put_rows(in);
    world_check(in);
    settle_all(in);
    node *last = leave_one(in);
    finish_forgetting(in, last);
    kw_policy *all[] = {one_path, two_paths, other_store, renamed, intruder};
    bool served = false;
    if (in->plan->versioned && world_policy(in))
        served = can_serve(in, last, world_policy(in));
    for (size_t i = 0; i < G_N_ELEMENTS(all) && !served; i++)
        served = can_serve(in, last, all[i]);
    if (!served)
        violation(in, "no policy can serve");
    node_put_row(last);
    world_check(in);
}

/* Completes each first action that is a start before the schedule begins. */
static void
begin_served(world *in)
{
    static const action over = {.kind = END};
    in->quiet = true;
    for (size_t i = 0; i < NODES; i++)
        in->nodes[i].next = &over;
    for (size_t i = 0; i < NODES; i++) {
        node *self = &in->nodes[i];
        const action *actions = in->plan->actions[i];
        if (actions[0].kind == START) {
            self->next = actions;
            node_act(self);
            self->next = &over;
            settle(in);
        }
        g_assert_true(!self->serving == (actions[0].kind != START));
    }
    for (size_t i = 0; i < NODES; i++)
        in->nodes[i].next = in->plan->actions[i] + (in->plan->actions[i][0].kind == START);
    in->quiet = false;
    g_string_truncate(in->trace, 0);
}

static uint64_t schedules;

/* Uses the given choices, then the first one at each step, or a random one with dice. Returns the number
 * of steps; ret_counts gets the number of choices of each step. */
static unsigned
run(const plan *how, const uint8_t *prefix, unsigned given, uint8_t *ret_counts, bool dice)
{
    world *in = world_new(how);
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(choice));
    unsigned step = 0;
    schedules++;
    if (how->starts_served)
        begin_served(in);
    for (; step < STEPS_MAX; step++) {
        g_array_set_size(choices, 0);
        list_choices(in, choices);
        unsigned chosen = step < given ? prefix[step] : 0;
        if (dice && g_random_int_range(0, 4) == 0)
            chosen = (unsigned)g_random_int_range(0, (gint32)choices->len);
        ret_counts[step] = (uint8_t)MIN(choices->len, 255);
        g_assert_cmpuint(chosen, <, choices->len);
        choice next = g_array_index(choices, choice, chosen);
        if (next.kind == OVER)
            break;
        take_step(in, next);
    }
    if (step == STEPS_MAX)
        violation(in, "it does not end");
    end_well(in);
    world_free(in);
    return step + 1;
}

static void
explore(const plan *how, const uint8_t *prefix, unsigned given, unsigned left)
{
    uint8_t counts[STEPS_MAX] = {0}, next[STEPS_MAX] = {0};
    unsigned steps = run(how, prefix, given, counts, false);
    if (left == 0)
        return;
    if (given)
        memcpy(next, prefix, given);
    for (unsigned step = given; step < steps && step < STEPS_MAX; step++) {
        for (unsigned i = 1; i < counts[step]; i++) {
            next[step] = (uint8_t)i;
            explore(how, next, step + 1, left - 1);
        }
        next[step] = 0;
    }
}

/* --- plans ----------------------------------------------------------------------------------------- */

#define STARTS(policy)                                                                                       \
    {                                                                                                        \
        START, &policy, NULL, NULL                                                                           \
    }
#define RELOADS(policy)                                                                                      \
    {                                                                                                        \
        RELOAD, &policy, NULL, NULL                                                                          \
    }
#define APPLIES(policy)                                                                                      \
    {                                                                                                        \
        APPLY, &policy, NULL, NULL                                                                           \
    }
#define FORGETS(table, path)                                                                                 \
    {                                                                                                        \
        FORGET, NULL, table, path                                                                            \
    }
#define STOPS                                                                                                \
    {                                                                                                        \
        STOP, NULL, NULL, NULL                                                                               \
    }

static const plan plans[] = {
    {"both begin, with two policies",
     {{STARTS(one_path)}, {STARTS(two_paths)}},
     {&one_path, &two_paths},
     false,
     2,
     false},
    {"one reloads, the other starts",
     {{STARTS(one_path), RELOADS(two_paths)}, {STARTS(one_path)}},
     {&one_path, &one_path},
     false,
     2,
     false},
    {"both serve, both reload",
     {{STARTS(one_path), RELOADS(two_paths)}, {STARTS(one_path), RELOADS(other_store)}},
     {&one_path, &other_store},
     true,
     2,
     false},
    {"a table comes",
     {{STARTS(no_table), RELOADS(one_path)}, {STARTS(no_table), RELOADS(two_paths)}},
     {&one_path, &two_paths},
     true,
     2,
     false},
    {"a table is added and removed",
     {{STARTS(no_table), RELOADS(two_paths), RELOADS(no_table), RELOADS(one_path)},
      {STARTS(no_table), RELOADS(one_path)}},
     {&one_path, &one_path},
     true,
     2,
     false},
    {"one is refused, and reloads again",
     {{STARTS(one_path), RELOADS(two_paths), RELOADS(one_path)}, {STARTS(one_path), STOPS}},
     {&one_path, &two_paths},
     true,
     2,
     false},
    {"a path is dropped and forgotten",
     {{STARTS(two_paths), RELOADS(one_path), FORGETS("t", "by_ts"), RELOADS(two_paths)}, {{0}, {0}}},
     {&one_path, NULL},
     true,
     2,
     false},
    {"a table is forgotten",
     {{STARTS(one_path), RELOADS(no_table)}, {STARTS(no_table), FORGETS("t", NULL), RELOADS(intruder)}},
     {&one_path, &intruder},
     true,
     2,
     false},
    {"both forget a table",
     {{STARTS(no_table), FORGETS("t", NULL), RELOADS(one_path)},
      {STARTS(one_path), RELOADS(no_table), FORGETS("t", NULL)}},
     {&one_path, &no_table},
     true,
     2,
     false},
    {"both apply a version",
     {{STARTS(no_table), APPLIES(one_path)}, {STARTS(no_table), APPLIES(two_paths)}},
     {&no_table, &no_table},
     true,
     2,
     true},
    {"versions follow one another",
     {{STARTS(no_table), APPLIES(one_path), APPLIES(no_table)}, {STARTS(no_table), APPLIES(other_store)}},
     {&no_table, &no_table},
     true,
     2,
     true},
};

static unsigned
number_from(const char *variable, unsigned usual)
{
    const char *text = g_getenv(variable);
    return text ? (unsigned)atoi(text) : usual;
}

static void
test_plan(gconstpointer data)
{
    const plan *how = data;
    uint8_t counts[STEPS_MAX];
    unsigned depth = number_from("KW_ORDERS_DEPTH", 1), dice = number_from("KW_ORDERS_RANDOM", 50);
    uint64_t before = schedules;
    explore(how, NULL, 0, depth);
    g_assert_cmpuint(schedules - before, >, 100);
    for (unsigned i = 0; i < dice; i++)
        run(how, NULL, 0, counts, true);
    g_test_message("%" G_GUINT64_FORMAT " schedules", schedules - before);
}

KW_TEST_START(start)
{
    kw_log_configure(KW_LOG_ERROR, false);
    time_begin();
    g_random_set_seed((guint32)test_seed());
    one_path = test_policy(BASE);
    two_paths = test_policy(BASE BY_TS);
    other_store = test_policy(BASE "    store_table: x\n");
    no_table = test_policy_named("nothing", BASE);
    renamed = test_policy_named("u", BASE "    store_table: t\n");
    intruder = test_policy_named("w", BASE "    layout: 7\n    store_table: t\n");
    for (size_t i = 0; i < G_N_ELEMENTS(plans); i += KW_TEST_STEP(2)) {
        g_autofree char *name = g_strdup_printf("/catalog/orders/%s", plans[i].name);
        g_test_add_data_func(name, &plans[i], test_plan);
    }
}
