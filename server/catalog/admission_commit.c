/* The second half of an admission: the facts are written.
 *
 *   probe the exclusive tables again -> compare again -> remove dead gateways -> put the facts
 */
#include "catalog/admission_inside.h"

#include "base/log.h"
#include "catalog/put.h"

static void
end_commit(void *user, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error told = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&told, "catalog %s", admission->catalog->settings.store_table);
    admission->committed(admission->user, error ? &told : NULL);
}

/* --- the facts ------------------------------------------------------------------------------------- */

/* Store tables that exist in a store of this process alone were all created by it. */
static bool
was_made(const kw_admission *admission, const char *store_table)
{
    return !admission->catalog->settings.shared || g_hash_table_contains(admission->made, store_table);
}

static void
note_made(const kw_admission *admission, kw_facts_change *change)
{
    for (size_t i = 0; i < change->merged->paths_count; i++) {
        const kw_path_facts *path = &change->merged->paths[i];
        for (size_t j = 0; j < path->placements_count; j++) {
            if (path->placements[j].made || !was_made(admission, path->placements[j].store_table))
                continue;
            path->placements[j].made = true;
            change->changed = true;
        }
    }
}

static void
start_put(kw_admission *admission)
{
    kw_facts_put *puts = KW_ARENA_ARRAY(admission->arena, kw_facts_put, 2 * admission->count);
    size_t count = 0;
    for (size_t i = 0; i < admission->count; i++) {
        kw_facts_change *change = &admission->changes[i];
        note_made(admission, change);
        if (change->changed || !kw_catalog_image_table(admission->image, change->merged->table))
            puts[count++] = (kw_facts_put){change->merged->table, change->merged};
        if (change->renamed_from)
            puts[count++] = (kw_facts_put){change->renamed_from, NULL};
    }
    kw_catalog_put(admission->catalog, admission->image, puts, count, end_commit, admission);
}

static void
put_with_lease(kw_admission *admission)
{
    kw_error ended;
    if (kw_catalog_holds_lease(admission->catalog)) {
        start_put(admission);
        return;
    }
    kw_error_set(&ended, KW_UNAVAILABLE, "the lease of gateway %s ended meanwhile",
                 admission->catalog->settings.gateway_id);
    end_commit(admission, &ended);
}

/* --- dead gateways --------------------------------------------------------------------------------- */

static void remove_next_dead(kw_admission *admission);

static void
on_dead_removed(void *user, const kw_error *error)
{
    kw_admission *admission = user;
    if (error) {
        end_commit(admission, error);
        return;
    }
    kw_log(KW_LOG_INFO, "catalog", "registration of a dead gateway removed", "gateway=%s",
           admission->image->gateways[admission->dead_next].id);
    admission->dead_next++;
    remove_next_dead(admission);
}

/* A gateway that was stopped for long must not continue by the old policy: it finds its registration gone. */
static void
remove_next_dead(kw_admission *admission)
{
    const kw_catalog_image *image = admission->image;
    size_t count = admission->catalog->settings.shared ? image->gateways_count : 0;
    for (; admission->dead_next < count; admission->dead_next++) {
        const kw_registration *other = &image->gateways[admission->dead_next];
        if (!kw_admission_is_dead(admission, other) ||
            !kw_registration_has_table(other, admission->exclusive, admission->exclusive_count))
            continue;
        kw_catalog_remove_dead(admission->catalog, other, admission->deadline, on_dead_removed, admission);
        return;
    }
    put_with_lease(admission);
}

/* --- rows that appeared meanwhile ------------------------------------------------------------------ */

/* Tables that are not exclusive keep their first comparison: what they allow does not depend on rows. */
static void
on_probed(void *user, const kw_evidence *evidence, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    if (!error && kw_admission_compare_again(admission, evidence, &found))
        remove_next_dead(admission);
    else
        end_commit(admission, &found);
}

void
kw_admission_commit(kw_admission *admission, kw_deadline deadline,
                    void (*done)(void *user, const kw_error *error), void *user)
{
    admission->deadline = deadline;
    admission->committed = done;
    admission->user = user;
    if (admission->exclusive_count == 0)
        remove_next_dead(admission);
    else
        kw_admission_probe(admission, true, on_probed);
}
