#include "orders.h"

#include "catalog/forget.h"

static void
on_lost(void *user)
{
    node *self = user;
    log_step(self->in, "    %s lost its registration", self->id);
    if (!self->serving || self->dying)
        return;
    self->gate_open = false;
    self->lost = true;
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
    self->gate_open = self->holds = self->lost = self->dying = self->closed = self->applies = false;
    self->not_followed = 0;
    self->serving = NULL;
}

static void
on_closed(void *user)
{
    node *self = user;
    self->closed = true;
}

static void
on_handle_closed(void *user)
{
    node *self = user;
    kw_catalog_free(self->catalog);
    self->catalog = NULL;
    self->handle = NULL;
    self->phase = DOWN;
    self->serving = NULL;
    self->gate_open = self->holds = self->lost = false;
}

static void
on_catalog_closed(void *user)
{
    node *self = user;
    kw_store_handle_close(self->handle, on_handle_closed, self);
}

void
node_stop(node *self)
{
    log_step(self->in, "  %s stops", self->id);
    self->phase = STOPPING;
    self->gate_open = false;
    kw_catalog_close(self->catalog, on_catalog_closed, self);
}

static void
abandon(node *self)
{
    if (self->admission)
        kw_admission_abandon(g_steal_pointer(&self->admission));
    self->holds = false;
}

static void
check_ended(node *self, const kw_error *error)
{
    if (self->dying)
        return;
    log_step(self->in, "    %s: %s %s", self->id, kw_code_name(error->code), error->text);
    if (error->code == KW_BUSY && self->tries++ < 3) {
        self->phase = IDLE; /* again */
        return;
    }
    self->tries = 0;
    self->refused++;
    if (!self->applies)
        self->not_followed = self->expected;
    self->applies = false;
    self->target = NULL;
    self->phase = IDLE;
    if (!self->serving)
        node_stop(self);
}

static void
on_checked(void *user, kw_admission *admission, const kw_error *error)
{
    node *self = user;
    self->admission = admission;
    if (self->dying) {
        abandon(self);
        self->phase = IDLE;
        return;
    }
    self->phase = CHECKED;
    if (error)
        check_ended(self, error);
}

static void
on_committed(void *user, const kw_error *error)
{
    node *self = user;
    self->phase = COMMITTED;
    if (!error && !self->dying)
        return;
    abandon(self);
    self->phase = IDLE;
    if (error)
        check_ended(self, error);
}

static void
on_forgotten(void *user, const char *const *emptied, size_t count, const kw_error *error)
{
    node *self = user;
    (void)emptied, (void)count;
    self->phase = IDLE;
    self->target = NULL;
    log_step(self->in, "    %s forgot: %s", self->id, error ? error->text : "done");
}

void
node_forget(node *self, const char *table, const char *path)
{
    kw_forget_request request = {.table = table, .path = path, .drop_rows = true, .policy = self->serving};
    log_step(self->in, "  %s forgets", self->id);
    self->phase = FORGETTING;
    kw_catalog_forget(self->catalog, &request, KW_DEADLINE_NONE, on_forgotten, self);
}

/* A gateway that does not apply a version admits the current one. */
static void
choose_version(node *self)
{
    world *in = self->in;
    if (!in->plan->versioned || self->applies)
        return;
    self->expected = world_version(in).number;
    if (self->expected > 0)
        self->target = world_policy(in);
}

static void
begin_apply(node *self, kw_policy *policy)
{
    self->applies = true;
    self->expected = world_version(self->in).number;
    g_snprintf(self->text, sizeof self->text, "%p", (void *)policy);
    kw_version_draft_init(&self->draft);
    self->draft.text = kw_bytes_of_text(self->text);
    self->draft.author = self->id;
    self->draft.reason = "";
    self->target = policy;
    node_check(self);
}

/* The gateway knows that its version became current. */
static void
check_applied(const node *self)
{
    world *in = self->in;
    if (in->version < self->expected + 1 || strcmp(in->ids[self->expected + 1], self->draft.id) != 0)
        violation(in, "%s applied version %" G_GINT64_FORMAT ", and the catalog has another one", self->id,
                  self->expected + 1);
}

static bool
must_follow(const node *self)
{
    int64_t current = self->in->plan->versioned ? world_version(self->in).number : 0;
    return current > 0 && current != self->not_followed && world_policy(self->in) != self->serving;
}

void
node_check(node *self)
{
    choose_version(self);
    log_step(self->in, "  %s checks %s", self->id, kw_policy_table(self->target, 0)->name);
    self->phase = CHECKING;
    kw_catalog_check(self->catalog, self->target, NULL, NULL, KW_DEADLINE_NONE, on_checked, self);
}

static void
next_action(node *self)
{
    const action *doing = self->next++;
    switch (doing->kind) {
    case START:
        node_start(self);
        log_step(self->in, "  %s starts", self->id);
        self->target = *doing->policy;
        node_check(self);
        return;
    case RELOAD:
        self->target = *doing->policy;
        node_check(self);
        return;
    case STOP:
        node_stop(self);
        return;
    case FORGET:
        node_forget(self, doing->table, doing->path);
        return;
    case APPLY:
        begin_apply(self, *doing->policy);
        return;
    case END:
        break;
    }
    g_assert_not_reached();
}

/* The next action that the gateway takes on its own. */
const char *
node_act_name(const node *self)
{
    switch (self->phase) {
    case DOWN:
        return self->next->kind == START ? "starts" : NULL;
    case IDLE:
        if (self->target)
            return "tries again";
        if (self->lost)
            return "wants to be admitted again";
        if (self->serving && must_follow(self))
            return "follows";
        if (!self->serving || self->next->kind == END || self->next->kind == START)
            return NULL;
        return "does the next thing";
    case CHECKED:
        return "commits";
    case COMMITTED:
        return "serves";
    case CHECKING:
    case COMMITTING:
    case FORGETTING:
    case STOPPING:
        return NULL;
    }
    g_assert_not_reached();
}

void
node_act(node *self)
{
    const char *const *tables;
    switch (self->phase) {
    case DOWN:
        next_action(self);
        return;
    case IDLE:
        if (self->target) {
            node_check(self);
        } else if (self->lost) {
            self->lost = false;
            self->target = self->serving;
            node_check(self);
        } else if (must_follow(self)) {
            node_check(self);
        } else {
            next_action(self);
        }
        return;
    case CHECKED:
        self->holds = kw_admission_hold(self->admission, &tables) > 0;
        self->phase = COMMITTING;
        if (self->in->plan->versioned)
            kw_admission_set_version(self->admission, self->expected, self->applies ? &self->draft : NULL);
        kw_admission_commit(self->admission, KW_DEADLINE_NONE, on_committed, self);
        return;
    case COMMITTED:
        if (self->applies)
            check_applied(self);
        self->applies = false;
        self->serving = self->target;
        self->target = NULL;
        self->tries = 0;
        self->gate_open = true;
        self->phase = IDLE;
        kw_admission_serve(g_steal_pointer(&self->admission));
        self->holds = false;
        return;
    case CHECKING:
    case COMMITTING:
    case FORGETTING:
    case STOPPING:
        break;
    }
    g_assert_not_reached();
}

/* kill -9: calls in flight are lost, or applied later. */
void
node_crash(node *self, bool late)
{
    world *in = self->in;
    self->dying = true;
    kw_stepped_cut(in->store, self->handle, late);
    kw_store_handle_close(self->handle, on_closed, self);
    kw_catalog_close(self->catalog, on_closed, self);
    for (int i = 0; i < 40 && (!self->closed || self->phase == CHECKING || self->phase == COMMITTING); i++)
        uv_run(kw_loop_uv(in->loop), UV_RUN_NOWAIT);
    abandon(self);
    settle_loop(in);
    kw_catalog_free(self->catalog);
    self->catalog = NULL;
    self->handle = NULL;
    self->phase = DOWN;
    self->serving = self->target = NULL;
    self->gate_open = self->holds = self->lost = false;
    static const action over = {.kind = END};
    static action again[NODES][2];
    size_t number = (size_t)(self - in->nodes);
    again[number][0] = (action){.kind = START, .policy = self->again};
    again[number][1] = over;
    self->next = self->again ? again[number] : &again[number][1];
    self->again = NULL;
}
