#include "policy/prepare.h"

#include "base/container.h"
#include "base/log.h"
#include "change/set.h"
#include "policy/hazards.h"
#include "policy/row_checks.h"
#include "policy/table_states.h"
#include "policy/targets.h"
#include "policy/zone_warnings.h"
#include "verb/verb.h"

#include <glib.h>

/* Calls in flight on a table whose rows change must end within this time. */
#define HOLD_MS 5000
/* Maximum number of attempts while another gateway uses the catalog. */
#define BUSY_TRIES 14

struct kw_preparing {
    kw_control *control;
    kw_policy *policy;
    const kw_version_draft *next;
    const kw_change_step *step;
    bool begins;
    kw_admission *admission; /* NULL before the comparison */
    unsigned tries;
    kw_timer *timer; /* a pause before a retry, or the time limit of a hold */
    bool waiting;    /* waits for the timer, or until calls end */
    bool holding;
    bool checking; /* waits for checks of rows */
    GPtrArray
        *created_tables; /* names of store tables that were created; a retry does not create them again */
    kw_call call;        /* the call of the present step */
    size_t table;        /* index of the next table to create */
    kw_create_request create;
    kw_task end; /* calls done in an iteration of its own */
    kw_error error;
    void (*done)(void *user, const kw_error *error);
    void *user;
};
typedef struct kw_preparing preparing;

static void check(preparing *self);

/* --- ending -------------------------------------------------------------------------------------- */

/* Releases held calls, unless the gateway has drained: then there are neither calls nor loops. */
static void
release(preparing *self)
{
    if (self->holding && self->control->open)
        kw_service_release(self->control->service);
    self->holding = false;
}

static void
report(kw_task *task)
{
    preparing *self = KW_CONTAINER(task, preparing, end);
    self->control->present_preparation = NULL;
    bool good = self->error.code == KW_OK;
    if (good) {
        kw_table_states_set(self->policy, self->admission);
        kw_admission_serve(self->admission);
        kw_row_checks_serve(self->control->row_checks, self->policy);
        kw_zone_warnings_serve(self->control, self->policy);
    }
    self->done(self->user, good ? NULL : &self->error);
    release(self);
    kw_timer_free(self->timer);
    g_ptr_array_unref(self->created_tables);
    kw_arena_free(self->call.arena);
    kw_policy_unref(self->policy);
    g_free(self);
}

static void
finish(preparing *self, const kw_error *error)
{
    if (error) {
        self->error = *error;
        if (self->admission)
            kw_admission_abandon(g_steal_pointer(&self->admission));
        release(self);
    }
    self->waiting = false;
    if (self->checking)
        kw_row_checks_cancel_wait(self->control->row_checks);
    self->checking = false;
    kw_timer_stop(self->timer);
    self->end.run = report;
    kw_loop_post(self->control->loop, &self->end);
}

static bool
is_ending(preparing *self)
{
    if (self->control->state < KW_CONTROL_DRAINING)
        return false;
    finish(self, &kw_error_shutting_down);
    return true;
}

uint64_t
kw_prepare_pause_ms(unsigned tries, uint64_t random)
{
    uint64_t least_ms = MIN(UINT64_C(10) << MIN(tries - 1, 4), 100);
    return least_ms + random % (4 * least_ms + 1);
}

/* Retries from the start after BUSY, which means that another gateway uses the catalog. */
static void
fail(preparing *self, const kw_error *error)
{
    if (error->code != KW_BUSY || ++self->tries >= BUSY_TRIES) {
        finish(self, error);
        return;
    }
    if (self->admission)
        kw_admission_abandon(g_steal_pointer(&self->admission));
    release(self);
    self->waiting = true;
    kw_timer_start_ms(self->timer, kw_prepare_pause_ms(self->tries, kw_random_u64()));
    is_ending(self);
}

static kw_deadline
step_deadline(const preparing *self)
{
    return kw_deadline_in_ms(kw_policy_model(self->policy)->timeouts.call_ms);
}

/* --- the facts ----------------------------------------------------------------------------------- */

static void
on_committed(void *user, const kw_error *error)
{
    preparing *self = user;
    if (error)
        fail(self, error);
    else
        finish(self, NULL);
}

static void
commit(preparing *self)
{
    if (kw_policy_model(self->policy)->policy_in_store)
        kw_admission_set_version(self->admission, kw_policy_version(self->policy) - (self->next ? 1 : 0),
                                 self->next);
    for (guint i = 0; i < self->created_tables->len; i++)
        kw_admission_note_created(self->admission, self->created_tables->pdata[i]);
    kw_admission_commit(self->admission, step_deadline(self), on_committed, self);
}

static void
on_held(void *user)
{
    preparing *self = user;
    if (!self->waiting)
        return; /* the preparation has ended since then */
    self->waiting = false;
    kw_timer_stop(self->timer);
    if (!is_ending(self))
        commit(self);
}

static void
hold(preparing *self)
{
    const char *const *tables;
    bool serving = kw_control_is_in_service(self->control);
    if (!serving || kw_admission_hold(self->admission, &tables) == 0) {
        commit(self);
        return;
    }
    self->holding = self->waiting = true;
    kw_timer_start_ms(self->timer, HOLD_MS);
    kw_service_hold(self->control->service, tables, self->control->loop, on_held, self);
}

static void
on_timer(void *user)
{
    preparing *self = user;
    kw_error error;
    self->waiting = false;
    if (is_ending(self))
        return;
    if (!self->holding) {
        check(self);
        return;
    }
    kw_error_set(
        &error, KW_UNAVAILABLE,
        "calls on the tables that change did not end within %d s; the old policy stays in service, try again",
        HOLD_MS / 1000);
    finish(self, &error);
}

/* --- store tables, sequences --------------------------------------------------------------------- */

static void
begin_step(preparing *self)
{
    kw_control *control = self->control;
    kw_arena_reset(self->call.arena);
    self->call = (kw_call){.arena = self->call.arena,
                           .policy = self->policy,
                           .store = control->store,
                           .handle = control->handle,
                           .loop = control->loop,
                           .keyring = control->keyring,
                           .deadline = step_deadline(self),
                           .request_id = "prepare"};
}

static void
on_sequences_ready(void *user, const kw_error *error)
{
    preparing *self = user;
    if (error)
        finish(self, error);
    else if (!is_ending(self))
        hold(self);
}

static bool
creates_tables(const kw_model_store *store)
{
    return store->create_missing < 0 ? store->kind != KW_STORE_HBASE : store->create_missing > 0;
}

/* True if a change has another place than in service. */
static bool
is_step(const preparing *self)
{
    const kw_change_set *served = self->control->served_changes, *stored = self->control->stored_changes;
    return self->step || (served && stored && kw_change_set_differs(served, stored));
}

/* The table in service whose store tables exist; NULL: unknown. */
static const kw_table *
table_in_service(const preparing *self)
{
    const kw_policy *served = self->control->policy;
    const char *name = kw_policy_table(self->policy, self->table)->name;
    int64_t version = kw_policy_version(self->policy);
    bool known = kw_control_is_in_service(self->control) && is_step(self) && version > 0 &&
                 kw_policy_version(served) == version && creates_tables(&kw_policy_model(served)->store);
    return known ? kw_policy_find_table(served, kw_bytes_of_text(name)) : NULL;
}

static void create_next(preparing *self);

static void
note_created(preparing *self, const kw_created_table *table)
{
    const char *name = kw_arena_text(self->call.arena, table->store_table);
    kw_log(KW_LOG_INFO, "gateway", "store table created", KW_LOG_FACT("table", name),
           KW_LOG_FACT("regions", table->split_keys_count + 1));
    g_ptr_array_add(self->created_tables, g_strdup(name));
}

/* True if the table cannot be created for a reason of its own, and the policy is served without it. */
static bool
leaves_out(preparing *self, const kw_error *error)
{
    bool own = error->code != KW_UNAVAILABLE && error->code != KW_TIMEOUT && error->code != KW_BUSY;
    if (!own || !kw_admission_is_optional(self->admission, self->table))
        return false;
    kw_admission_leave_out(self->admission, self->table, error);
    return true;
}

static void
on_created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    preparing *self = user;
    if (error && !leaves_out(self, error)) {
        finish(self, error);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (tables[i].created)
            note_created(self, &tables[i]);
    self->table++;
    create_next(self);
}

static void
create_next(preparing *self)
{
    const kw_model *model = kw_policy_model(self->policy);
    if (is_ending(self))
        return;
    begin_step(self);
    while (self->table < kw_policy_table_count(self->policy) &&
           kw_admission_refusal(self->admission, self->table))
        self->table++;
    if (!creates_tables(&model->store) || self->table == kw_policy_table_count(self->policy)) {
        kw_sequences_prepare(self->control->sequences, self->policy, self->call.deadline, on_sequences_ready,
                             self);
        return;
    }
    self->create = (kw_create_request){.table = kw_policy_table(self->policy, self->table),
                                       .path = -1,
                                       .if_absent = true,
                                       .existing = table_in_service(self)};
    kw_verb_create_table(&self->call, &self->create, on_created, self);
}

/* These store tables are created even without create_missing, because the operator has begun the change. */
static void
on_targets_created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    preparing *self = user;
    if (error) {
        finish(self, error);
        return;
    }
    for (size_t i = 0; i < count; i++)
        note_created(self, &tables[i]);
    create_next(self);
}

static void
create_tables(preparing *self)
{
    if (!self->step || !kw_store_is_shared(self->control->store)) {
        create_next(self);
        return;
    }
    begin_step(self);
    kw_change_create_targets(&self->call, self->step, on_targets_created, self);
}

/* --- the comparison ------------------------------------------------------------------------------ */

static void
check_hazards(preparing *self)
{
    kw_error error;
    g_autoptr(kw_arena) arena = kw_arena_new();
    const bool *optional = kw_table_states_optional(self->control, self->policy, self->begins, arena);
    if (kw_hazards_check(self->policy, self->admission, optional, &error))
        create_tables(self);
    else
        finish(self, &error);
}

/* True if the step ends a change. If a new version of the policy becomes current in the same put (`next`),
 * the change was cancelled. */
static bool
ends_change(const preparing *self)
{
    const kw_change_step *step = self->step;
    for (size_t i = 0; step && i < step->base_count; i++) {
        const kw_change_record *base = &step->base[i];
        const kw_change_record *next = kw_changes_find(step->records, step->count, base->table, base->path);
        if (base->under_way && !(next && next->under_way))
            return true;
    }
    return false;
}

/* Refuses another policy version while a change is being cancelled. The end of the cancellation makes an
 * earlier text of the policy current, so the other version would be lost. If a cancellation is begun after
 * this check, the commit fails. */
static bool
check_cancellations(const preparing *self, kw_error *ret_error)
{
    size_t count;
    const kw_change_record *records = kw_admission_change_records(self->admission, &count);
    bool applies = self->next && !ends_change(self);
    for (size_t i = 0; applies && i < count; i++)
        if (records[i].under_way && records[i].writers == KW_CHANGE_SEVERAL_WRITERS &&
            kw_change_is_cancelled(&records[i]))
            return kw_error_set(
                ret_error, KW_REFUSED,
                "table %s: %s; wait until this has ended (keyway change status %s --wait)", records[i].table,
                records[i].drops ? "a path is being dropped, or its atomics are being set to false"
                                 : "a change is being cancelled, which makes another policy version current",
                records[i].table);
    return true;
}

static void
on_rows_checked(void *user)
{
    preparing *self = user;
    kw_error refused;
    self->waiting = self->checking = false;
    if (is_ending(self))
        return;
    if (kw_row_checks_apply(self->control->row_checks, self->policy, self->admission, false, &refused))
        check_hazards(self);
    else
        finish(self, &refused);
}

/* Waits for the checks of tables that cannot be left out. */
static void
check_rows(preparing *self)
{
    kw_control *control = self->control;
    bool recent = !self->begins && self->policy != control->policy;
    if (kw_row_checks_start(control->row_checks, self->policy, self->admission, recent) == 0) {
        on_rows_checked(self);
        return;
    }
    self->waiting = self->checking = true;
    kw_row_checks_wait(control->row_checks, on_rows_checked, self);
}

static void
on_checked(void *user, kw_admission *admission, const kw_error *error)
{
    preparing *self = user;
    kw_error refused;
    self->admission = admission;
    self->table = 0;
    if (error)
        fail(self, error);
    else if (check_cancellations(self, &refused))
        check_rows(self);
    else
        finish(self, &refused);
}

static void
check(preparing *self)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const bool *optional = kw_table_states_optional(self->control, self->policy, self->begins, arena);
    kw_catalog_check(self->control->catalog, self->policy, self->step, optional, step_deadline(self),
                     on_checked, self);
}

void
kw_prepare(kw_control *control, kw_policy *policy, const kw_version_draft *next, const kw_change_step *step,
           bool begins, void (*done)(void *user, const kw_error *error), void *user)
{
    preparing *self = g_new0(preparing, 1);
    *self = (preparing){.control = control,
                        .policy = kw_policy_ref(policy),
                        .next = next,
                        .step = step,
                        .begins = begins,
                        .timer = kw_timer_new(control->loop, on_timer, self),
                        .created_tables = g_ptr_array_new_with_free_func(g_free),
                        .call.arena = kw_arena_new(),
                        .done = done,
                        .user = user};
    g_assert(!control->present_preparation);
    control->present_preparation = self;
    check(self);
}

void
kw_prepare_end(kw_control *control)
{
    if (control->present_preparation && control->present_preparation->waiting)
        is_ending(control->present_preparation);
}
