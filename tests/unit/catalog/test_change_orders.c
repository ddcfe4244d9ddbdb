/* Two gateways that follow a change of a key rule, with the store's operations in every order: all schedules
 * that differ from the default one in a few choices, and random ones. A choice can also be a fault: a call
 * that is lost or applied later, a process that dies and starts again, or one that pauses until its lease
 * expires.
 *
 * After each step: gateways that answer use two neighboring versions at most, none uses a version that is not
 * in the catalog yet, and an acknowledged order is in the record. At the end, the last version is reached.
 * Without one of the safeguards, a random schedule violates that.
 *
 * KW_ORDERS_DEPTH: number of choices that differ from the default (1); KW_ORDERS_RANDOM: number of random
 * schedules.
 */
#include "change_world.h"

#include "base/log.h"
#include "catalog/others.h"
#include "support/seed.h"
#include "support/slow_build.h"

#include <stdlib.h>

#define STEPS_MAX 600
#define FAULTS_MAX 2

/* --- safeguards --------------------------------------------------------------------------------------- */

omitted omits;

uint64_t __real_kw_registration_step(const kw_registration *registration, const kw_change_record *record);
uint64_t __wrap_kw_registration_step(const kw_registration *registration, const kw_change_record *record);
bool __real_kw_admission_check_versions(const kw_admission *admission, kw_error *ret_error);
bool __wrap_kw_admission_check_versions(const kw_admission *admission, kw_error *ret_error);
void __real_kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image,
                                  const char *const *tables, size_t count, kw_deadline deadline,
                                  kw_registered done, void *user);
void __wrap_kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image,
                                  const char *const *tables, size_t count, kw_deadline deadline,
                                  kw_registered done, void *user);

uint64_t
__wrap_kw_registration_step(const kw_registration *registration, const kw_change_record *record)
{
    return omits.reports ? record->step : __real_kw_registration_step(registration, record);
}

bool
__wrap_kw_admission_check_versions(const kw_admission *admission, kw_error *ret_error)
{
    return omits.versions || __real_kw_admission_check_versions(admission, ret_error);
}

void
__wrap_kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image, const char *const *tables,
                             size_t count, kw_deadline deadline, kw_registered done, void *user)
{
    __real_kw_others_remove_dead(catalog, image, tables, omits.removal ? 0 : count, deadline, done, user);
}

/* --- the world ---------------------------------------------------------------------------------------- */

void
log_step(world *in, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    g_string_append_vprintf(in->trace, format, list);
    g_string_append_c(in->trace, '\n');
    va_end(list);
}

static void violate(world *in, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void
violate(world *in, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    g_autofree char *text = g_strdup_vprintf(format, list);
    va_end(list);
    if (!in->violation)
        in->violation = g_steal_pointer(&text);
}

void
settle_loop(world *in)
{
    for (int i = 0; i < 3; i++)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
}

/* Most steps do not change the cell. */
const kw_change_record *
world_record(world *in)
{
    kw_bytes cell = kw_memory_store_cell(in->memory, CATALOG, KW_CATALOG_FACTS_ROW, "d", "changes");
    kw_error error;
    size_t count;
    if (in->arena && kw_bytes_equal(cell, in->cell))
        return in->record;
    g_clear_pointer(&in->arena, kw_arena_free);
    in->arena = kw_arena_new();
    in->cell = kw_arena_copy(in->arena, cell);
    g_assert_true(kw_changes_parse(cell, in->arena, &in->record, &count, &error));
    if (count == 0)
        in->record = NULL;
    return in->record;
}

static void
check_catalog(world *in)
{
    const kw_change_record *record = world_record(in);
    uint64_t step = record ? record->step : 0;
    if (step < in->newest || step > in->newest + 1)
        violate(in, "version %" G_GUINT64_FORMAT " follows version %" G_GUINT64_FORMAT, (guint64)step,
                (guint64)in->newest);
    in->newest = step;
    if (in->ordered && (!record || record->goal != KW_NEW(BOTH)))
        violate(in, "an acknowledged order is lost");
}

void
world_check(world *in)
{
    uint64_t oldest = UINT64_MAX, newest = 0;
    check_catalog(in);
    for (size_t i = 0; i < NODES; i++) {
        const node *self = &in->nodes[i];
        if (!node_answers(self))
            continue;
        oldest = MIN(oldest, self->oldest);
        newest = MAX(newest, self->served);
        if (self->served > in->newest)
            violate(in, "%s serves version %" G_GUINT64_FORMAT ", which is not set", self->id,
                    (guint64)self->served);
    }
    if (oldest != UINT64_MAX && newest > oldest + 1)
        violate(in, "calls of versions %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT " run at the same time",
                (guint64)oldest, (guint64)newest);
}

world *
world_new(void)
{
    world *in = g_new0(world, 1);
    now_ms = 0;
    in->events = 1;
    in->trace = g_string_new(NULL);
    in->loop = kw_loop_new();
    in->memory = kw_memory_store_open();
    in->control = kw_memory_store_control(in->memory);
    in->store = kw_stepped_store_open(in->memory);
    in->handle = kw_store_open_handle(in->memory, in->loop);
    for (size_t i = 0; i < NODES; i++)
        in->nodes[i] = (node){.in = in, .id = i ? "b" : "a", .phase = DOWN};
    return in;
}

static void
set_flag(void *user)
{
    *(bool *)user = true;
}

void
world_free(world *in)
{
    bool closed = false;
    for (size_t i = 0; i < NODES; i++)
        if (in->nodes[i].catalog)
            node_crash(&in->nodes[i], false);
    kw_store_handle_close(in->handle, set_flag, &closed);
    while (!closed)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
    kw_store_free(in->store);
    kw_store_free(in->memory);
    kw_loop_free(in->loop);
    g_string_free(in->trace, TRUE);
    g_clear_pointer(&in->arena, kw_arena_free);
    g_free(in->violation);
    g_free(in);
}

/* --- choices ------------------------------------------------------------------------------------------ */

typedef enum choice_kind {
    GO,
    ACT,
    DRAIN,
    STEP,
    START,
    FIRE,
    AGAIN,
    ORDER,
    FAIL,
    FAIL_LATE,
    LATE,
    PASS,
    STALL,
    CRASH,
    CRASH_LATE,
    OVER
} choice_kind;

typedef struct choice {
    choice_kind kind;
    size_t index;
} choice;

static void
add(GArray *to, bool possible, choice_kind kind, size_t index)
{
    choice one = {kind, index};
    if (possible)
        g_array_append_val(to, one);
}

/* The timer of the lease. */
static fake_timer *
timer_of(const node *self)
{
    return self->catalog ? time_find(self->catalog) : NULL;
}

/* The timer of a put with an unknown outcome. */
static fake_timer *
put_timer_of(const node *self)
{
    return self->catalog ? time_find(self->catalog->putting) : NULL;
}

static bool
has_content_to_write(const node *self)
{
    return timer_of(self) && self->catalog->stored &&
           self->catalog->revision != self->catalog->stored_revision;
}

/* True if, as far as the holder knows, all gateways have reported. It does not know gateways that are not
 * registered yet. False after a failed step until something has happened, because the holder does not repeat
 * the step before. */
static bool
can_holder_step(const world *in, const node *self)
{
    if (self->failed_at == in->events)
        return false;
    for (size_t i = 0; i < NODES; i++) {
        const node *each = &in->nodes[i];
        if (!each->catalog || !each->catalog->stored)
            continue;
        if (each->phase != IDLE || each->lost || node_must_drain(each) || has_content_to_write(each) ||
            each->served != self->served || !node_answers(each))
            return false;
    }
    return true;
}

static size_t
owner_of(const world *in, choice one)
{
    size_t owner = 0;
    if (one.kind != GO)
        return one.index;
    while (owner < NODES && in->nodes[owner].handle != kw_stepped_at(in->store, one.index).handle)
        owner++;
    return owner;
}

/* A gateway that stalls does nothing while the other one can do something. */
static void
put_stalled_last(const world *in, GArray *list)
{
    g_autoptr(GArray) stalled = g_array_new(FALSE, FALSE, sizeof(choice));
    for (guint i = 0; in->stalled && i < list->len;) {
        choice one = g_array_index(list, choice, i);
        if (owner_of(in, one) != in->stalled - 1) {
            i++;
            continue;
        }
        g_array_append_val(stalled, one);
        g_array_remove_index(list, i);
    }
    g_array_append_vals(list, stalled->data, stalled->len);
}

static void
list_usual(world *in, GArray *to)
{
    for (size_t i = 0; i < kw_stepped_count(in->store); i++)
        add(to, true, GO, i);
    for (size_t i = 0; i < NODES; i++) {
        node *self = &in->nodes[i];
        add(to, node_act_name(self), ACT, i);
        add(to, self->phase == DOWN, START, i);
        add(to, put_timer_of(self), AGAIN, i);
        add(to, has_content_to_write(self), FIRE, i);
        add(to, node_must_drain(self), DRAIN, i);
        add(to, node_can_step(self) && can_holder_step(in, self), STEP, i);
    }
    put_stalled_last(in, to);
    if (to->len == 0)
        add(to, true, OVER, 0);
}

static void
list_unusual(world *in, GArray *to)
{
    size_t waiting = kw_stepped_count(in->store);
    bool faulty = in->faults < FAULTS_MAX;
    add(to, in->passes < 2, PASS, 0);
    for (size_t i = 0; i < kw_stepped_late_count(in->store); i++)
        add(to, true, LATE, i);
    for (size_t i = 0; i < NODES; i++) {
        node *self = &in->nodes[i];
        add(to, node_can_step(self) && in->hasty < 4, STEP, i);
        add(to, timer_of(self), FIRE, i);
        add(to, i == 1 && self->phase == IDLE && self->serves && in->newest > 0 && !in->order_sent, ORDER, i);
        add(to, self->catalog && in->stalls < 2, STALL, i);
        add(to, self->catalog && faulty, CRASH, i);
        add(to, self->catalog && faulty, CRASH_LATE, i);
    }
    for (size_t i = 0; i < waiting; i++) {
        add(to, faulty, FAIL, i);
        add(to, faulty && kw_stepped_at(in->store, i).changes, FAIL_LATE, i);
    }
}

static const char *
name_of_owner(const world *in, size_t waiting)
{
    size_t owner = owner_of(in, (choice){GO, waiting});
    return owner < NODES ? in->nodes[owner].id : "?";
}

static void
take_fault(world *in, choice one)
{
    node *self = &in->nodes[one.index % NODES];
    in->faults++;
    if (one.kind == CRASH || one.kind == CRASH_LATE) {
        log_step(in, "%s dies%s", self->id, one.kind == CRASH ? "" : ", its calls are applied later");
        node_crash(self, one.kind == CRASH_LATE);
    } else {
        log_step(in, "%s: %s's %s", one.kind == FAIL ? "lost" : "late", name_of_owner(in, one.index),
                 kw_stepped_at(in->store, one.index).what);
        kw_stepped_fail(in->store, one.index, one.kind == FAIL_LATE);
    }
}

static void
take_of_node(world *in, choice one)
{
    node *self = &in->nodes[one.index % NODES];
    static const char *const names[] = {
        [DRAIN] = "drains",          [STEP] = "sets a version", [START] = "starts",
        [FIRE] = "renews its lease", [AGAIN] = "puts again",    [ORDER] = "orders a goal"};
    log_step(in, "%s %s", self->id, one.kind == ACT ? node_act_name(self) : names[one.kind]);
    if (one.kind == ACT)
        node_act(self);
    else if (one.kind == DRAIN)
        node_drain(self);
    else if (one.kind == STEP)
        node_step(self);
    else if (one.kind == START)
        node_start(self);
    else if (one.kind == ORDER)
        node_order(self);
    else
        time_fire(one.kind == FIRE ? timer_of(self) : put_timer_of(self));
}

/* True if a check that failed before can succeed after this choice. */
static bool
is_event(const world *in, choice one)
{
    const node *self = &in->nodes[one.index % NODES];
    return one.kind != GO && one.kind != STEP && !(one.kind == ACT && self->phase == IDLE);
}

static void
take(world *in, choice one)
{
    in->events += is_event(in, one);
    switch (one.kind) {
    case GO:
        log_step(in, "the store does %s's %s", name_of_owner(in, one.index),
                 kw_stepped_at(in->store, one.index).what);
        kw_stepped_go(in->store, one.index);
        break;
    case LATE:
        log_step(in, "the late call %zu is applied", one.index);
        kw_stepped_apply_late(in->store, one.index, in->handle);
        break;
    case PASS:
        log_step(in, "20 seconds pass");
        in->passes++;
        now_ms += 20000;
        break;
    case STALL:
        log_step(in, "%s stalls", in->nodes[one.index].id);
        in->stalls++;
        in->stalled = one.index + 1;
        break;
    case FAIL:
    case FAIL_LATE:
    case CRASH:
    case CRASH_LATE:
        take_fault(in, one);
        break;
    case STEP:
        in->hasty += !can_holder_step(in, &in->nodes[one.index]);
        take_of_node(in, one);
        break;
    case ACT:
    case DRAIN:
    case START:
    case FIRE:
    case AGAIN:
    case ORDER:
        take_of_node(in, one);
        break;
    case OVER:
        break;
    }
    settle_loop(in);
    now_ms++;
    world_check(in);
}

/* --- schedules ---------------------------------------------------------------------------------------- */

static void
settle(world *in)
{
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(choice));
    for (unsigned i = 0; i < 4000 && !in->violation; i++) {
        g_array_set_size(choices, 0);
        list_usual(in, choices);
        choice first = g_array_index(choices, choice, 0);
        if (first.kind == OVER)
            return;
        take(in, first);
    }
    violate(in, "it does not end");
}

/* Finally everything late is applied, leases of the dead expire, and the change goes on to its last version.
 */
static void
end_well(world *in)
{
    log_step(in, "-- final check");
    in->stalled = 0;
    while (kw_stepped_late_count(in->store) && !in->violation)
        take(in, (choice){LATE, 0});
    settle(in);
    for (unsigned i = 0; i < 6 * NODES && !in->violation; i++) {
        if (i == 2 * NODES)
            now_ms += 60000;
        in->events++;
        if (timer_of(&in->nodes[i % NODES]))
            take(in, (choice){FIRE, i % NODES});
        settle(in);
    }
    if (in->newest != LAST_STEP)
        violate(in, "the change stops at version %" G_GUINT64_FORMAT, (guint64)in->newest);
}

/* Both serve the policy before the change. */
static void
begin_served(world *in)
{
    for (size_t i = 0; i < NODES; i++) {
        node_start(&in->nodes[i]);
        while (!in->nodes[i].serves) {
            if (node_act_name(&in->nodes[i]))
                node_act(&in->nodes[i]);
            else
                kw_stepped_go(in->store, 0);
            settle_loop(in);
        }
    }
    while (kw_stepped_count(in->store)) {
        kw_stepped_go(in->store, 0);
        settle_loop(in);
    }
}

static uint64_t schedules;

/* Uses the given choices, then the first one at each step, or a random one with dice. Returns the number of
 * steps; ret_counts gets the number of choices of each step. */
static unsigned
run(const uint8_t *prefix, unsigned given, uint8_t *ret_counts, bool dice, char **ret_violation)
{
    world *in = world_new();
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(choice));
    unsigned step = 0;
    schedules++;
    begin_served(in);
    for (; step < STEPS_MAX && !in->violation; step++) {
        g_array_set_size(choices, 0);
        list_usual(in, choices);
        list_unusual(in, choices);
        unsigned chosen = step < given ? prefix[step] : 0;
        if (dice && g_random_int_range(0, 4) == 0)
            chosen = (unsigned)g_random_int_range(0, (gint32)choices->len);
        ret_counts[step] = (uint8_t)MIN(choices->len, 255);
        g_assert_cmpuint(chosen, <, choices->len);
        choice next = g_array_index(choices, choice, chosen);
        if (next.kind == OVER)
            break;
        take(in, next);
    }
    if (step == STEPS_MAX)
        violate(in, "it does not end");
    if (!in->violation)
        end_well(in);
    *ret_violation = in->violation ? g_strdup_printf("%s%s", in->trace->str, in->violation) : NULL;
    world_free(in);
    return step + 1;
}

static unsigned
run_right(const uint8_t *prefix, unsigned given, uint8_t *ret_counts, bool dice)
{
    g_autofree char *violation = NULL;
    unsigned steps = run(prefix, given, ret_counts, dice, &violation);
    if (violation)
        g_error("%s", violation);
    return steps;
}

static void
explore(const uint8_t *prefix, unsigned given, unsigned left)
{
    uint8_t counts[STEPS_MAX] = {0}, next[STEPS_MAX] = {0};
    unsigned steps = run_right(prefix, given, counts, false);
    if (left == 0)
        return;
    if (given)
        memcpy(next, prefix, given);
    for (unsigned step = given; step < steps && step < STEPS_MAX; step++) {
        for (unsigned i = 1; i < counts[step]; i++) {
            next[step] = (uint8_t)i;
            explore(next, step + 1, left - 1);
        }
        next[step] = 0;
    }
}

static unsigned
number_from(const char *variable, unsigned usual)
{
    const char *text = g_getenv(variable);
    return text ? (unsigned)atoi(text) : usual;
}

static void
test_right(void)
{
    uint8_t counts[STEPS_MAX];
    explore(NULL, 0, number_from("KW_ORDERS_DEPTH", 1));
    g_assert_cmpuint(schedules, >, 100);
    unsigned dice = number_from("KW_ORDERS_RANDOM", 300 / KW_TEST_STEP(3));
    for (unsigned i = 0; i < dice; i++)
        run_right(NULL, 0, counts, true);
    g_test_message("%" G_GUINT64_FORMAT " schedules", schedules);
}

/* Random schedules until one violates an invariant in this way. */
static void
assert_wrong(omitted without, const char *part)
{
    uint8_t counts[STEPS_MAX];
    bool found = false;
    unsigned runs = 0;
    omits = without;
    for (; runs < 20000 && !found; runs++) {
        g_autofree char *violation = NULL;
        run(NULL, 0, counts, true, &violation);
        found = violation && strstr(violation, part);
    }
    omits = (omitted){0};
    g_test_message("%u schedules", runs);
    g_assert_true(found);
}

#define TOGETHER "run at the same time"

static void
test_without_reports(void)
{
    assert_wrong((omitted){.reports = true}, TOGETHER);
}

static void
test_without_drains(void)
{
    assert_wrong((omitted){.drains = true}, TOGETHER);
}

static void
test_without_removal(void)
{
    assert_wrong((omitted){.removal = true}, TOGETHER);
}

static void
test_without_versions(void)
{
    assert_wrong((omitted){.versions = true}, TOGETHER);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    kw_log_configure(KW_LOG_ERROR, false);
    time_begin();
    g_random_set_seed((guint32)test_seed());
    world_policies_new();
    g_test_add_func("/catalog/change orders/right", test_right);
    if (!KW_SLOW_BUILD) { /* they search for schedules, not for errors of memory */
        g_test_add_func("/catalog/change orders/without reports", test_without_reports);
        g_test_add_func("/catalog/change orders/without drains", test_without_drains);
        g_test_add_func("/catalog/change orders/without removal", test_without_removal);
        g_test_add_func("/catalog/change orders/without versions", test_without_versions);
    }
    int failed = g_test_run();
    world_policies_free();
    return failed;
}
