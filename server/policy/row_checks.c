#include "policy/row_checks.h"

#include "base/container.h"
#include "base/log.h"
#include "schema/progress.h"
#include "verb/sample.h"
#include "verb/store_table.h"

#include <glib.h>

#define CHECKS_AT_ONCE 8
/* A check ends after this time, even if it has not read every region. */
#define CHECK_MS 10000
#define DEADLINE_MS 20000
/* A caller that got UNAVAILABLE for a table whose check is open. */
#define RETRY_MS 500
/* A result for a reload or a new policy version is not older than this; a row that did not fit is looked for
 * again after the second time, and an error of the store after the third. */
#define RECENT_NS (UINT64_C(10) * 1000000000)
#define REFUSED_NS (UINT64_C(60) * 1000000000)
#define FAILED_NS (UINT64_C(4) * 1000000000)
/* Results that no admission has asked for are dropped. */
#define KEPT_NS (UINT64_C(600) * 1000000000)
/* A store table that differs from the policy, or that could not be described, is described again after this
 * time. */
#define AGAIN_MS 5000

typedef struct row_check {
    kw_row_checks *checks;
    char *name;        /* of what is checked; see name_of */
    kw_policy *policy; /* NULL after the check */
    kw_call call;
    kw_sample_request request;
    bool open;    /* waits or runs */
    bool samples; /* checks rows, not only the families */
    bool needed;  /* kw_row_checks_wait waits for it */
    kw_sample_result result;
    bool of_families;  /* its refusal, which takes a moment to look for again */
    char *differences; /* of the store table from the policy; NULL: none */
    kw_error failure;  /* KW_OK: there is a result */
    kw_error previous; /* while it is open: the refusal of the check before */
    uint64_t ended_ns;
    int64_t ended_at_ms;
} row_check;

struct kw_row_checks {
    kw_control *control;
    GHashTable *all; /* row_check by name */
    GQueue waiting;  /* of row_check */
    unsigned running;
    unsigned needed; /* open checks that are needed */
    kw_timer *again;
    bool stopped;
    void (*ended)(void *control);
    void (*done)(void *user); /* of the caller that waits; NULL: none */
    void *user;
    kw_task task; /* calls done */
    bool posted;
};

/* --- results by what was checked ------------------------------------------------------------------- */

/* Everything that the result depends on: the path, the facts of its table (fields, key rules, store tables),
 * and the settings of its families. */
static char *
name_of(const kw_table *table, size_t path, kw_arena *arena)
{
    const kw_model_table *model = table->model;
    kw_bytes facts = kw_facts_print(kw_facts_of_table(table, arena), arena);
    g_autoptr(GString) text = g_string_new(table->paths[path].name);
    g_string_append_printf(text, " %" G_GINT64_FORMAT, model->major_compaction_ms);
    for (size_t i = 0; i < model->families_count; i++) {
        const kw_model_family *family = &model->families[i];
        g_string_append_printf(text, " %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %d",
                               family->name, family->ttl_seconds, family->max_versions, family->min_versions,
                               family->keep_deleted_cells);
    }
    g_string_append_printf(text, " %.*s", (int)facts.size, (const char *)facts.data);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, -1);
}

static row_check *
find(const kw_row_checks *self, const kw_table *table, size_t path)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autofree char *name = name_of(table, path, arena);
    return g_hash_table_lookup(self->all, name);
}

static void
check_free(gpointer pointer)
{
    row_check *check = pointer;
    g_assert(!check->open);
    g_free(check->name);
    g_free(check->differences);
    g_free(check);
}

static gboolean
is_outdated(gpointer name, gpointer pointer, gpointer now_ns)
{
    (void)name;
    const row_check *check = pointer;
    return !check->open && *(const uint64_t *)now_ns - check->ended_ns > KEPT_NS;
}

/* True if the rows of the path must be checked. */
static bool
must_sample(const kw_admission *admission, const kw_table *table, size_t path)
{
    return path < table->queried_paths_count && !table->model->accept_unverified &&
           kw_admission_is_unchecked(admission, table->number, path);
}

/* True if the path cannot be served before its check has ended. Other paths only get a warning. */
static bool
must_check(const kw_admission *admission, const kw_table *table, size_t path)
{
    kw_cycle cycle;
    return !kw_admission_refusal(admission, table->number) &&
           (must_sample(admission, table, path) ||
            kw_layout_cycle(table->paths[path].layout, table->model, &cycle));
}

/* True if the result can still be used. */
static bool
is_valid(const row_check *check, bool recent)
{
    uint64_t age_ns = kw_clock_mono_ns() - check->ended_ns;
    if (recent)
        return !check->of_families && age_ns <= RECENT_NS;
    return check->failure.code != KW_OK          ? age_ns <= FAILED_NS
           : check->result.refusal.code != KW_OK ? age_ns <= REFUSED_NS
                                                 : true;
}

/* --- running checks -------------------------------------------------------------------------------- */

static void
call_done(kw_task *task)
{
    kw_row_checks *self = KW_CONTAINER(task, kw_row_checks, task);
    self->posted = false;
    void (*done)(void *user) = g_steal_pointer(&self->done);
    if (done)
        done(self->user);
}

static void
post_done(kw_row_checks *self)
{
    if (!self->done || self->posted || self->needed > 0)
        return;
    self->posted = true;
    self->task.run = call_done;
    kw_loop_post(self->control->loop, &self->task);
}

static void run_next(kw_row_checks *self);

static void
log_result(const row_check *check)
{
    const kw_path *path = check->request.placement->path;
    if (check->samples && check->failure.code == KW_OK && check->result.refusal.code == KW_OK)
        kw_log(KW_LOG_INFO, "gateway", "checked the existing rows of a store table",
               KW_LOG_FACT("table", path->table->name), KW_LOG_FACT("path", path->name),
               KW_LOG_FACT("rows", check->result.rows), KW_LOG_FACT("regions", check->result.regions),
               KW_LOG_FACT("all_rows", check->result.all_rows));
}

static void
end_check(row_check *check)
{
    kw_row_checks *self = check->checks;
    check->open = false;
    self->needed -= check->needed;
    check->ended_ns = kw_clock_mono_ns();
    check->ended_at_ms = kw_clock_wall_ms();
    kw_arena_free(check->call.arena);
    g_clear_pointer(&check->policy, kw_policy_unref);
    if (!self->stopped)
        self->ended(self->control);
    post_done(self);
}

static void
fail(row_check *check, const char *what, const kw_error *error)
{
    const kw_path *path = check->request.placement->path;
    check->failure = *error;
    kw_error_prefix(&check->failure, "table %s, path %s: cannot check %s", path->table->name, path->name,
                    what);
}

static void
end_run(row_check *check)
{
    kw_row_checks *self = check->checks;
    self->running--;
    end_check(check);
    run_next(self);
}

static void
on_sampled(void *user, const kw_sample_result *result, const kw_error *error)
{
    row_check *check = user;
    check->result = *result;
    if (error)
        fail(check, "the existing rows", error);
    log_result(check);
    end_run(check);
}

static void
on_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    row_check *check = user;
    kw_store_table_verdict verdict;
    if (error) {
        fail(check, "its store table", error);
        end_run(check);
        return;
    }
    kw_store_table_judge(check->request.placement, facts, check->call.arena, &verdict);
    kw_table_facts_free(facts);
    check->differences = g_strdup(verdict.differences);
    check->result.refusal = verdict.refusal;
    check->of_families = verdict.refusal.code != KW_OK;
    if (check->samples && verdict.refusal.code == KW_OK)
        kw_verb_sample(&check->call, &check->request, on_sampled, check);
    else
        end_run(check);
}

static void
run(row_check *check)
{
    kw_control *control = check->checks->control;
    check->checks->running++;
    check->call = (kw_call){.arena = kw_arena_new(),
                            .policy = check->policy,
                            .store = control->store,
                            .handle = control->handle,
                            .loop = control->loop,
                            .deadline = kw_deadline_in_ms(DEADLINE_MS),
                            .request_id = "row check"};
    kw_store_handle_describe_table(control->handle, check->request.placement->store_table,
                                   check->call.deadline, on_described, check);
}

static void
run_next(kw_row_checks *self)
{
    while (!self->stopped && self->running < CHECKS_AT_ONCE && self->waiting.length > 0)
        run(g_queue_pop_head(&self->waiting));
}

static row_check *
open_check(kw_row_checks *self, const kw_policy *policy, const kw_table *table, size_t path)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    row_check *check = g_new0(row_check, 1);
    check->checks = self;
    check->name = name_of(table, path, arena);
    check->policy = kw_policy_ref((kw_policy *)(uintptr_t)policy);
    check->request = (kw_sample_request){.placement = table->paths[path].placements, .time_ms = CHECK_MS};
    check->open = true;
    const row_check *old = g_hash_table_lookup(self->all, check->name);
    if (old)
        check->previous = old->result.refusal;
    g_hash_table_replace(self->all, check->name, check);
    return check;
}

static void
need(row_check *check, bool samples)
{
    check->checks->needed += !check->needed;
    check->needed = true;
    check->samples = check->samples || samples;
}

/* Returns true if the check is open and must be waited for: the table cannot be left out, or only its
 * families are checked, which takes a moment. */
static bool
start_check(kw_row_checks *self, const kw_policy *policy, const kw_admission *admission,
            const kw_table *table, size_t path, bool recent)
{
    bool samples = must_sample(admission, table, path);
    row_check *check = find(self, table, path);
    bool usable = check && (check->open || (is_valid(check, recent) && (check->samples || !samples)));
    if (!usable) {
        check = open_check(self, policy, table, path);
        g_queue_push_tail(&self->waiting, check);
    }
    if (check->open)
        need(check, samples);
    return check->open && !(samples && kw_admission_is_optional(admission, table->number));
}

size_t
kw_row_checks_start(kw_row_checks *self, const kw_policy *policy, const kw_admission *admission, bool recent)
{
    size_t needed = 0;
    uint64_t now_ns = kw_clock_mono_ns();
    g_hash_table_foreach_remove(self->all, is_outdated, &now_ns);
    for (size_t i = 0; !self->stopped && i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t path = 0; path < table->paths_count; path++)
            needed += must_check(admission, table, path) &&
                      start_check(self, policy, admission, table, path, recent);
    }
    run_next(self);
    return needed;
}

/* --- waiting --------------------------------------------------------------------------------------- */

void
kw_row_checks_wait(kw_row_checks *self, void (*done)(void *user), void *user)
{
    g_assert(!self->done);
    self->done = done;
    self->user = user;
    post_done(self);
}

void
kw_row_checks_cancel_wait(kw_row_checks *self)
{
    self->done = NULL;
}

/* --- results --------------------------------------------------------------------------------------- */

/* Why the table cannot be served because of this path; KW_OK: it can. */
static kw_error
judge(const row_check *check, const kw_path *path, bool samples)
{
    kw_error why = KW_ERROR_NONE;
    if (check && check->open && check->previous.code != KW_OK)
        return check->previous;
    if (!check || check->open || (samples && !check->samples)) {
        kw_error_set(&why, KW_BUSY,
                     "table %s, path %s: %s of the store table %s are being checked%s; try again",
                     path->table->name, path->name, samples ? "the rows" : "the column families",
                     kw_layout_store_table(path->layout),
                     samples ? " against the key rule, because the catalog does not know them" : "");
        why.retry_after_ms = RETRY_MS;
        return why;
    }
    return check->failure.code != KW_OK ? check->failure : check->result.refusal;
}

/* False: the table is refused because of this path, and cannot be left out. */
static bool
apply(const kw_row_checks *self, const kw_path *path, size_t number, kw_admission *admission, bool preview,
      kw_error *ret_error)
{
    const kw_table *table = path->table;
    bool samples = must_sample(admission, table, number);
    const row_check *check = find(self, table, number);
    kw_error why = judge(check, path, samples);
    if (why.code == KW_OK && samples)
        kw_admission_note_checked(admission, table->number, number, (int64_t)check->result.rows,
                                  check->ended_at_ms);
    if (why.code == KW_OK)
        return true;
    if (preview || kw_admission_is_optional(admission, table->number)) {
        kw_admission_leave_out(admission, table->number, &why);
        return true;
    }
    *ret_error = why;
    return false;
}

bool
kw_row_checks_apply(const kw_row_checks *self, const kw_policy *policy, kw_admission *admission, bool preview,
                    kw_error *ret_error)
{
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t path = 0; path < table->paths_count; path++)
            if (must_check(admission, table, path) &&
                !apply(self, &table->paths[path], path, admission, preview, ret_error))
                return false;
    }
    return true;
}

/* --- store tables of the policy in service --------------------------------------------------------- */

bool
kw_row_checks_are_open(const kw_row_checks *self)
{
    return self->running > 0 || self->waiting.length > 0;
}

/* The check has ended, and its store table must be described again later. */
static bool
is_unsettled(const row_check *check)
{
    return !check->open && (check->differences || check->failure.code != KW_OK);
}

static void
show(kw_policy *policy, const row_check *check, const kw_table *table, size_t path)
{
    const kw_error *refusal = &check->result.refusal;
    bool failed = check->failure.code != KW_OK;
    kw_policy_set_path_differences(policy, table->number, path,
                                   failed ? check->failure.text : check->differences);
    if (refusal->code == KW_OK || kw_table_why_not_served(table))
        return;
    kw_error why = *refusal; /* the store table was altered or created since the table is served */
    kw_error_prefix(&why, "not served");
    why.retry_after_ms = RETRY_MS;
    kw_policy_set_served(policy, table->number, &why);
}

void
kw_row_checks_show(kw_row_checks *self, kw_policy *policy)
{
    bool again = false;
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t path = 0; path < table->paths_count; path++) {
            const row_check *check = find(self, table, path);
            if (!check || check->open)
                continue;
            show(policy, check, table, path);
            again = again || is_unsettled(check);
        }
    }
    if (again && !self->stopped)
        kw_timer_start_ms(self->again, AGAIN_MS);
}

/* Opens the checks of tables in service that differ or could not be described. `begins`: also those without a
 * recent result. Checks of tables that are not served are repeated by admissions. */
static void
describe_tables(kw_row_checks *self, kw_policy *policy, bool begins)
{
    for (size_t i = 0; !self->stopped && i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t path = 0; path < table->paths_count; path++) {
            const row_check *check = find(self, table, path);
            bool old = !check || (!check->open && kw_clock_mono_ns() - check->ended_ns > REFUSED_NS);
            if (kw_table_why_not_served(table)) {
                if (check && !check->open)
                    show(policy, check, table, path);
            } else if ((begins && old) || (check && is_unsettled(check)))
                g_queue_push_tail(&self->waiting, open_check(self, policy, table, path));
        }
    }
    run_next(self);
}

void
kw_row_checks_serve(kw_row_checks *self, kw_policy *policy)
{
    describe_tables(self, policy, true);
}

static void
check_again(void *user)
{
    kw_row_checks *self = user;
    describe_tables(self, self->control->policy, false);
}

/* --- opening and closing --------------------------------------------------------------------------- */

kw_row_checks *
kw_row_checks_new(kw_control *control, void (*ended)(void *gateway_in_use))
{
    kw_row_checks *self = g_new0(kw_row_checks, 1);
    self->control = control;
    self->ended = ended;
    self->again = kw_timer_new(control->loop, check_again, self);
    self->all = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, check_free);
    g_queue_init(&self->waiting);
    return self;
}

void
kw_row_checks_stop(kw_row_checks *self)
{
    self->stopped = true;
    kw_timer_stop(self->again);
    for (row_check *check; (check = g_queue_pop_head(&self->waiting));) {
        check->failure = kw_error_shutting_down;
        end_check(check);
    }
}

void
kw_row_checks_close(kw_row_checks *self)
{
    g_clear_pointer(&self->again, kw_timer_free);
}

void
kw_row_checks_free(kw_row_checks *self)
{
    if (!self)
        return;
    g_hash_table_unref(self->all);
    g_free(self);
}
