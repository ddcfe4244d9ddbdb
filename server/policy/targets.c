/* For each path whose change begins: describe the old store table -> describe the new one -> compare. */
#include "policy/targets.h"

#include "store/hbase/hbase.h"
#include "verb/store_table.h"

#include <glib.h>

typedef struct checking {
    kw_control *control;
    const kw_policy *policy;
    const kw_change_step *step;
    kw_change_targets targets;
    kw_change_target target; /* the present one */
    kw_table_facts *old;
    kw_bytes advised; /* the last old store table that was checked for advice */
    const char *advice;
    kw_arena *arena;
    kw_change_target_checked done;
    void *user;
} checking;

static void check_next(checking *self);

static void
finish(checking *self, const kw_error *error)
{
    kw_table_facts_free(g_steal_pointer(&self->old));
    self->done(self->user, error ? "" : self->advice, error);
}

/* --- advice on families ---------------------------------------------------------------------------- */

/* Adds a command of the HBase shell for a family of the old store table. */
static const char *
add_command(const checking *self, const char *commands, const char *family, const char *setting)
{
    kw_bytes table = self->target.from;
    return kw_arena_printf(self->arena, "%s  alter '%.*s', {NAME => '%s', %s}\n", commands, (int)table.size,
                           (const char *)table.data, family, setting);
}

/* commands: "" if there is nothing to advise. */
static void
add_advice(checking *self, const char *why, const char *commands)
{
    kw_bytes table = self->target.from;
    if (*commands)
        self->advice =
            kw_arena_printf(self->arena, "%sstore table %.*s\n  %s. In the HBase shell, run\n%s",
                            self->advice, (int)table.size, (const char *)table.data, why, commands);
}

static void
advise_markers(checking *self, int64_t markers_ms)
{
    const char *commands = "";
    const char *setting = kw_arena_printf(
        self->arena, "CONFIGURATION => {'" KW_HBASE_MARKERS_SETTING "' => '%" G_GINT64_FORMAT "'}",
        markers_ms);
    for (size_t i = 0; i < self->old->families_count; i++)
        if (self->old->families[i].markers_ms < markers_ms)
            commands = add_command(self, commands, self->old->families[i].name, setting);
    add_advice(
        self,
        "compactions can drop its delete markers too early: a put that HBase applies late can then become "
        "visible, in one path, although a later removal removed its record",
        commands);
}

static void
advise_in_memory(checking *self)
{
    const char *commands = "";
    for (size_t i = 0; i < self->old->families_count; i++)
        if (kw_hbase_in_memory_compaction(&self->old->families[i]).size == 0)
            commands = add_command(self, commands, self->old->families[i].name,
                                   KW_HBASE_IN_MEMORY_ATTRIBUTE " => 'BASIC'");
    add_advice(
        self,
        "it has families without a setting for in-memory compaction. Unless the region servers' default "
        "enables it, passes and sweeps of the change read all cells that HBase has in memory, so "
        "`switch` and `reverse` take longer beside many writes",
        commands);
}

/* Adds advice on families of the old store table, for example because another program or an earlier release
 * of Keyway has created them. All paths that are added have the same old store table, so it is named once. */
static void
advise(checking *self)
{
    kw_bytes table = self->target.from;
    const kw_model *model = kw_control_model(self->control);
    if (model->store.kind != KW_STORE_HBASE || kw_bytes_equal(self->advised, table))
        return;
    self->advised = table;
    advise_markers(self, kw_hbase_markers_ms(model->store.hbase.late_ms));
    advise_in_memory(self);
}

/* --- families -------------------------------------------------------------------------------------- */

/* Families of the new store table. */
typedef struct families {
    const kw_change_target *target;
    const kw_table_facts *facts; /* if `exists` is false, the table will have the families of the policy */
} families;

static const kw_model_table *
model_of(const families *self)
{
    return self->target->path->table->model;
}

/* False if there is no such family. If the table does not exist, only ttl_seconds and max_versions of
 * *ret_family are set: the checks compare nothing else. */
static bool
find_family(const families *self, const char *name, kw_family_spec *ret_family)
{
    const kw_model_table *model = model_of(self);
    for (size_t i = 0; self->facts->exists && i < self->facts->families_count; i++)
        if (g_str_equal(self->facts->families[i].name, name)) {
            *ret_family = self->facts->families[i];
            return true;
        }
    for (size_t i = 0; !self->facts->exists && i < model->families_count; i++)
        if (g_str_equal(model->families[i].name, name)) {
            *ret_family =
                (kw_family_spec){.ttl_seconds = (int32_t)MIN(model->families[i].ttl_seconds, INT32_MAX),
                                 .max_versions = (int32_t)model->families[i].max_versions};
            return true;
        }
    return false;
}

static bool
refuse(const families *self, const char *what, const char *family, kw_error *ret_error)
{
    const kw_path *path = self->target->path;
    kw_bytes to = self->target->to, from = self->target->from;
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the store table %.*s, to which the rows of %.*s would be copied, "
                        "%s family %s; %s",
                        path->table->name, path->name, (int)to.size, (const char *)to.data, (int)from.size,
                        (const char *)from.data, what, family,
                        self->facts->exists ? "it exists already: name another one (store_table)"
                                            : "change the families of the table in the policy");
}

static bool
keeps_less_long(const kw_family_spec *new, const kw_family_spec *old)
{
    return new->ttl_seconds > 0 && (old->ttl_seconds == 0 || new->ttl_seconds < old->ttl_seconds);
}

/* Checks that the new store table has the family, and keeps at least the cells that the old one keeps. */
static bool
check_family(const families *self, const kw_family_spec *old, kw_error *ret_error)
{
    kw_family_spec new;
    if (!find_family(self, old->name, &new))
        return refuse(self, "has no", old->name, ret_error);
    if (MAX(new.max_versions, 1) < MAX(old->max_versions, 1))
        return refuse(self, "keeps fewer versions of", old->name, ret_error);
    return !keeps_less_long(&new, old) || refuse(self, "has a shorter ttl of", old->name, ret_error);
}

static bool
check_families(const families *self, const kw_table_facts *old, kw_error *ret_error)
{
    const kw_model_table *model = model_of(self);
    kw_family_spec ignored;
    bool good = true;
    for (size_t i = 0; good && i < old->families_count; i++)
        good = check_family(self, &old->families[i], ret_error);
    for (size_t i = 0; good && i < model->families_count; i++)
        good = find_family(self, model->families[i].name, &ignored) ||
               refuse(self, "has no", model->families[i].name, ret_error);
    return good;
}

/* --- one path after the other ------------------------------------------------------------------------ */

/* The new store table will have the families of the old one. */
static bool
check_cycle(checking *self, kw_error *ret_error)
{
    kw_store_table_verdict verdict;
    kw_store_table_judge(self->target.path->placements, self->old, self->arena, &verdict);
    *ret_error = verdict.refusal;
    return verdict.refusal.code == KW_OK;
}

static void
on_new(void *user, kw_table_facts *facts, const kw_error *error)
{
    checking *self = user;
    kw_error refused;
    if (error) {
        finish(self, error);
        return;
    }
    bool like_old = !facts->exists && kw_store_is_shared(self->control->store);
    bool good = like_old ? check_cycle(self, &refused)
                         : check_families(&(families){&self->target, facts}, self->old, &refused);
    kw_table_facts_free(facts);
    kw_table_facts_free(g_steal_pointer(&self->old));
    if (good)
        check_next(self);
    else
        finish(self, &refused);
}

static void
on_old(void *user, kw_table_facts *facts, const kw_error *error)
{
    checking *self = user;
    self->old = facts;
    if (error) {
        finish(self, error);
        return;
    }
    advise(self);
    kw_store_handle_describe_table(self->control->handle, self->target.to,
                                   kw_control_call_deadline(self->control), on_new, self);
}

/* Rows of an added path are copied from the primary one. A store with one writer creates store tables itself,
 * so paths that are added there have no target.
 */
static bool
find_target(const kw_policy *policy, const kw_change_record *record, const char *name,
            kw_change_target *ret_target)
{
    const kw_table *table = kw_policy_find_table(policy, kw_bytes_of_text(record->table));
    int index = table ? kw_table_find_path(table, kw_bytes_of_text(name)) : -1;
    const kw_path *path = index >= 0 ? &table->paths[index] : NULL;
    bool adds = record->adds && record->writers == KW_CHANGE_SEVERAL_WRITERS;
    if (!path || !(adds || path->placements_count == 2))
        return false;
    *ret_target =
        (kw_change_target){.path = path,
                           .from = adds ? table->paths->store_table : path->placements[1].store_table,
                           .to = path->placements[0].store_table};
    return true;
}

bool
kw_change_next_target(kw_change_targets *targets, const kw_policy *policy, const kw_change_step *step,
                      kw_change_target *ret_target)
{
    for (; targets->record < step->count; targets->record++, targets->path = 0) {
        const kw_change_record *record = &step->records[targets->record];
        const kw_change_record *base =
            kw_changes_find(step->base, step->base_count, record->table, record->path);
        bool begins = record->under_way && !(base && base->under_way);
        while (begins && targets->path < kw_change_paths_count(record))
            if (find_target(policy, record, kw_change_path_name(record, targets->path++), ret_target))
                return true;
    }
    return false;
}

static void
check_next(checking *self)
{
    if (kw_change_next_target(&self->targets, self->policy, self->step, &self->target))
        kw_store_handle_describe_table(self->control->handle, self->target.from,
                                       kw_control_call_deadline(self->control), on_old, self);
    else
        finish(self, NULL);
}

void
kw_change_check_targets(kw_control *control, const kw_policy *policy, const kw_change_step *step,
                        kw_arena *arena, kw_change_target_checked done, void *user)
{
    checking *self = KW_ARENA_NEW(arena, checking);
    *self = (checking){.control = control,
                       .policy = policy,
                       .step = step,
                       .advice = "",
                       .arena = arena,
                       .done = done,
                       .user = user};
    check_next(self);
}
