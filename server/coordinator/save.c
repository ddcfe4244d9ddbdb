/* Writes the progress of changes to the catalog: at most every KW_COORDINATOR_SAVE_MS. */
#include "base/container.h"
#include "base/log.h"
#include "base/units.h"
#include "change/merge.h"
#include "coordinator/coordinator_internal.h"

/* --- the progress of a holder -------------------------------------------------------------------------- */

static const kw_change_record *
find_same(const kw_change_set *set, const kw_change_record *record)
{
    return set ? kw_changes_find(set->records, set->count, record->table, record->path) : NULL;
}

/* A change of which this gateway is the holder, with progress that is not in the catalog yet; NULL: there is
 * none.
 */
static const kw_change_record *
find_unsaved(const kw_coordinator *self)
{
    const kw_change_set *set = self->control->changes;
    for (size_t i = 0; set && i < set->count; i++) {
        const kw_change_record *each = &set->records[i];
        const kw_change_record *stored = find_same(self->control->stored_changes, each);
        if (each->under_way && kw_change_is_holder(self, each) && stored &&
            !kw_change_record_differs(stored, each) && !kw_change_same_progress(stored, each))
            return each;
    }
    return NULL;
}

/* Copies the texts that belong to control->changes, because it can be replaced while the put is under way. */
static void
copy_texts(kw_change_record *record, kw_arena *arena)
{
    record->example = kw_arena_text(arena, kw_bytes_of_text(record->example));
    record->copied_to = kw_arena_copy(arena, record->copied_to);
    record->compare_cursor = kw_arena_copy(arena, record->compare_cursor);
}

bool
kw_coordinator_add_progress(const kw_coordinator *self, kw_change_record *record, kw_arena *arena)
{
    const kw_control *control = self->control;
    const kw_change_record *mine = find_same(control->changes, record);
    if (!mine || !kw_change_is_holder(self, record))
        return false;
    *record = kw_change_merge(find_same(control->stored_changes, record), mine, record);
    copy_texts(record, arena);
    return kw_change_same_progress(record, mine);
}

static bool
edit_progress(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)current;
    kw_coordinator *self = user;
    if (!find_same(self->control->changes, record) || !kw_change_is_holder(self, record))
        return kw_error_set(ret_error, KW_BUSY, "another gateway has become the holder of the change");
    self->saved_mine = kw_coordinator_add_progress(self, record, arena);
    return true;
}

/* If this gateway's progress was written, remembers the records that the catalog has now. The work can have
 * made more progress in the meantime. */
void
kw_coordinator_take_edited(kw_coordinator *self, const kw_current *current, bool saved)
{
    if (saved) {
        g_autoptr(kw_change_set) set =
            kw_change_set_new(current->changes, current->changes_count, self->control->changes);
        kw_control_set_stored(self->control, set);
    }
    kw_coordinator_take_current(self, current);
}

static void on_saved(void *user, const kw_error *error);

static void
on_progress_saved(void *user, const kw_current *current, const kw_error *error)
{
    kw_coordinator *self = user;
    if (!error)
        kw_coordinator_take_edited(self, current, self->saved_mine);
    self->changed = self->changed || find_unsaved(self); /* of another change */
    on_saved(self, error);
}

/* Saves the progress of one change; the next save writes that of the next one. */
static void
save_as_holder(kw_coordinator *self)
{
    const kw_change_record *record = find_unsaved(self);
    if (record)
        kw_catalog_edit_change(self->control->catalog, record->table, record->path, edit_progress, self,
                               kw_control_call_deadline(self->control), on_progress_saved, self);
    else
        on_saved(self, NULL);
}

static void
on_saved(void *user, const kw_error *error)
{
    kw_coordinator *self = user;
    self->saving = false;
    if (error) {
        self->changed = true;
        kw_log(KW_LOG_WARN, "change", "the progress of changes was not saved; the gateway will retry",
               KW_LOG_FACT("reason", error->text));
    }
    kw_jobs_next(&self->control->jobs);
}

static void
run_save(kw_job *job)
{
    kw_coordinator *self = KW_CONTAINER(job, kw_coordinator, save);
    if (self->stopped || !self->control->changes) {
        on_saved(self, NULL);
        return;
    }
    self->changed = false;
    if (kw_store_is_shared(self->control->store))
        save_as_holder(self);
    else
        kw_coordinator_write(self, on_saved, self);
}

void
kw_coordinator_save_if_due(kw_coordinator *self)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (!self->changed || self->saving || now_ns - self->saved_ns < KW_COORDINATOR_SAVE_MS * KW_NS_PER_MS)
        return;
    self->saved_ns = now_ns;
    self->saving = true;
    self->save.run = run_save;
    kw_jobs_add(&self->control->jobs, &self->save);
}
