#include "change_world.h"

static const kw_change_place places[LAST_STEP + 1] = {KW_PLACE_NONE, /* before the change */
                                                      KW_OLD(UNSTAMPED), KW_OLD(HELD), KW_OLD(RAISED),
                                                      KW_OLD(STAMPED)};
static kw_policy *policies[LAST_STEP + 1];
static changing *change;
static kw_change_record before; /* the first version is set */

void
world_policies_new(void)
{
    change = changing_new_several();
    before = change->record;
    policies[0] = kw_policy_ref(change->old);
    for (size_t i = 1; i <= LAST_STEP; i++)
        policies[i] = kw_policy_ref(changing_to(change, places[i]));
}

void
world_policies_free(void)
{
    for (size_t i = 0; i <= LAST_STEP; i++)
        kw_policy_unref(policies[i]);
    changing_free(change);
}

static void
on_lost(void *user)
{
    node *self = user;
    log_step(self->in, "    %s lost its registration", self->id);
    self->lost = !self->dying;
}

void
node_start(node *self)
{
    world *in = self->in;
    self->handle = kw_store_open_handle(in->store, in->loop);
    self->catalog = kw_catalog_new(&(kw_catalog_settings){.loop = in->loop,
                                                          .handle = self->handle,
                                                          .store_table = CATALOG,
                                                          .gateway_id = self->id,
                                                          .shared = true,
                                                          .follows = true,
                                                          .lost = on_lost,
                                                          .user = self});
    self->phase = IDLE;
    self->lost = self->dying = self->closed = self->serves = false;
    self->arena = kw_arena_new();
}

bool
node_answers(const node *self)
{
    return self->catalog && self->serves && kw_fence_is_open(kw_catalog_fence(self->catalog));
}

/* --- admissions -------------------------------------------------------------------------------------- */

static void
end_admission(node *self)
{
    if (self->admission)
        kw_admission_abandon(g_steal_pointer(&self->admission));
    self->phase = IDLE;
    self->steps = false;
}

static void
on_checked(void *user, kw_admission *admission, const kw_error *error)
{
    node *self = user;
    self->admission = admission;
    self->phase = CHECKED;
    if (error && !self->dying)
        log_step(self->in, "    %s: %s", self->id, error->text);
    if (error)
        self->failed_at = self->in->events;
    if (error || self->dying)
        end_admission(self);
}

static void
on_committed(void *user, const kw_error *error)
{
    node *self = user;
    self->phase = COMMITTED;
    if (error && !self->dying)
        log_step(self->in, "    %s: %s", self->id, error->text);
    if (error || self->dying)
        end_admission(self);
}

static void
check(node *self, uint64_t target, const kw_change_step *step)
{
    log_step(self->in, "  %s checks version %" G_GUINT64_FORMAT, self->id, (guint64)target);
    self->phase = CHECKING;
    self->target = target;
    self->lost = false;
    kw_catalog_check(self->catalog, policies[target], step, NULL, KW_DEADLINE_NONE, on_checked, self);
}

/* After a loss, calls that began before get no answer. */
static void
serve(node *self)
{
    bool again = !self->serves || self->lost || !kw_fence_is_open(kw_catalog_fence(self->catalog));
    if (again)
        self->oldest = self->target;
    self->serves = true;
    self->served = self->target;
    self->phase = IDLE;
    self->steps = false;
    kw_admission_serve(g_steal_pointer(&self->admission));
}

static void
begin_step(node *self)
{
    const kw_change_record *record = world_record(self->in);
    kw_change_record *copy;
    size_t count;
    kw_error error;
    self->base = before;
    self->base.holder = self->catalog->instance;
    if (record) {
        kw_bytes text = kw_changes_print(record, 1, self->arena);
        g_assert_true(kw_changes_parse(text, self->arena, &copy, &count, &error));
        self->base = *copy;
    }
    self->next = self->base;
    self->next.under_way = true;
    self->next.step = self->base.step + 1;
    self->next.place = places[self->next.step];
    self->step = (kw_change_step){
        .records = &self->next, .count = 1, .base = &self->base, .base_count = record ? 1 : 0};
}

bool
node_can_step(const node *self)
{
    const kw_change_record *record = world_record(self->in);
    if (self->phase != IDLE || !self->serves || self->lost || !self->catalog->instance[0])
        return false;
    if (!record)
        return self == &self->in->nodes[0];
    return g_str_equal(record->holder, self->catalog->instance) && self->served == record->step &&
           record->step < LAST_STEP;
}

void
node_step(node *self)
{
    begin_step(self);
    self->steps = true;
    check(self, self->next.step, &self->step);
}

/* --- edits ------------------------------------------------------------------------------------------- */

static bool
on_edit(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    node *self = user;
    (void)current;
    if (self->holder[0] && !g_str_equal(record->holder, self->holder))
        return kw_error_set(ret_error, KW_REFUSED, "another gateway has taken over");
    if (self->holder[0])
        record->holder = kw_arena_text(arena, kw_bytes_of_text(self->catalog->instance));
    else
        record->goal = KW_NEW(BOTH);
    return true;
}

static void
on_edited(void *user, const kw_current *current, const kw_error *error)
{
    node *self = user;
    self->phase = IDLE;
    if (self->dying)
        return;
    log_step(self->in, "    %s edited: %s", self->id, error ? error->text : "done");
    if (current && !self->holder[0])
        self->in->ordered = true;
}

static void
edit(node *self, const char *from)
{
    g_strlcpy(self->holder, from, sizeof self->holder);
    self->phase = EDITING;
    kw_catalog_edit_change(self->catalog, "t", "primary", on_edit, self, KW_DEADLINE_NONE, on_edited, self);
}

void
node_order(node *self)
{
    self->in->order_sent = true;
    edit(self, "");
}

/* True if the holder's registration has been removed, or its lease has expired. */
static bool
is_gone(const world *in, const char *instance)
{
    for (size_t i = 0; i < kw_memory_store_rows(in->memory, CATALOG); i++) {
        kw_bytes key = kw_memory_store_key(in->memory, CATALOG, i);
        g_autofree char *row = g_strdup_printf(KW_CATALOG_GATEWAY_PREFIX "%s", instance);
        if (kw_bytes_equal(key, kw_bytes_of_text(row)))
            for (size_t j = 0; j < NODES; j++)
                if (in->nodes[j].catalog && g_str_equal(in->nodes[j].catalog->instance, instance))
                    return kw_clock_boot_ns() > in->nodes[j].catalog->lease_until_ns +
                                                    (KW_LEASE_DEAD_MS - KW_LEASE_MS) * UINT64_C(1000000);
    }
    return true;
}

/* --- what it does by itself -------------------------------------------------------------------------- */

typedef enum acts { NOTHING, FOLLOW, TAKE_OVER, COMMIT, SERVE } acts;

static acts
next_act(const node *self)
{
    const kw_change_record *record = world_record(self->in);
    if (self->phase == CHECKED)
        return COMMIT;
    if (self->phase == COMMITTED)
        return SERVE;
    if (self->phase != IDLE)
        return NOTHING;
    if (!self->serves || self->lost || self->served != (record ? record->step : 0))
        return self->failed_at == self->in->events ? NOTHING : FOLLOW;
    return record && node_answers(self) && is_gone(self->in, record->holder) ? TAKE_OVER : NOTHING;
}

const char *
node_act_name(const node *self)
{
    static const char *const names[] = {NULL, "follows", "takes over", "commits", "serves"};
    return names[next_act(self)];
}

void
node_act(node *self)
{
    const kw_change_record *record = world_record(self->in);
    switch (next_act(self)) {
    case FOLLOW:
        check(self, record ? record->step : 0, NULL);
        return;
    case TAKE_OVER:
        edit(self, record->holder);
        return;
    case COMMIT:
        self->phase = COMMITTING;
        kw_admission_commit(self->admission, KW_DEADLINE_NONE, on_committed, self);
        return;
    case SERVE:
        serve(self);
        return;
    case NOTHING:
        break;
    }
    g_assert_not_reached();
}

static uint64_t
reported(const node *self)
{
    return self->catalog->reports_count ? self->catalog->reports[0].step : 0;
}

bool
node_must_drain(const node *self)
{
    return self->phase == IDLE && self->serves && !self->lost &&
           (self->oldest < self->served || reported(self) < self->served);
}

static void
report(node *self)
{
    kw_change_report said = {.table = change->record.table,
                             .path = change->record.path,
                             .started_ms = change->record.started_ms,
                             .step = self->served};
    kw_catalog_report_changes(self->catalog, &said, 1);
}

void
node_drain(node *self)
{
    bool early = omits.drains && reported(self) < self->served;
    if (!early)
        self->oldest = self->served;
    report(self);
}

static void
on_closed(void *user)
{
    ((node *)user)->closed = true;
}

void
node_crash(node *self, bool late)
{
    world *in = self->in;
    self->dying = true;
    kw_stepped_cut(in->store, self->handle, late);
    kw_store_handle_close(self->handle, on_closed, self);
    kw_catalog_close(self->catalog, on_closed, self);
    for (int i = 0; i < 40 && (!self->closed || self->phase == CHECKING || self->phase == COMMITTING ||
                               self->phase == EDITING);
         i++)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
    end_admission(self);
    settle_loop(in);
    kw_catalog_free(g_steal_pointer(&self->catalog));
    g_clear_pointer(&self->arena, kw_arena_free);
    self->handle = NULL;
    self->phase = DOWN;
    self->serves = false;
}
