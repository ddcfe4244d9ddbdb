/* The second half of an admission: writes the facts.
 *
 *   probe the exclusive tables again -> compare again -> remove dead registrations
 *     -> write the text of the policy version -> put the facts, and which version is current
 */
#include "catalog/admission_internal.h"

#include "catalog/others.h"
#include "catalog/put.h"
#include "catalog/version_internal.h"
#include "catalog/zones.h"

static void
end_commit(void *user, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&reported, "catalog %s", admission->catalog->settings.store_table);
    admission->committed(admission->user, error ? &reported : NULL);
}

/* --- the facts ------------------------------------------------------------------------------------- */

/* Lists the store tables created for the policy that the catalog does not record as created. */
static size_t
list_created(const kw_admission *admission, const char **names)
{
    GHashTableIter iter;
    gpointer name;
    size_t count = 0;
    g_hash_table_iter_init(&iter, admission->created);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        if (!kw_catalog_image_is_created(admission->image, name))
            names[count++] = name;
    return count;
}

static void
start_put(kw_admission *admission)
{
    kw_facts_put *puts = KW_ARENA_ARRAY(admission->arena, kw_facts_put, 2 * admission->count);
    const char **created =
        KW_ARENA_ARRAY(admission->arena, const char *, g_hash_table_size(admission->created));
    kw_catalog_changes changes = {.facts = puts,
                                  .created = created,
                                  .created_count = list_created(admission, created),
                                  .version = admission->next ? &admission->next_name : NULL};
    kw_zone_text *zones;
    changes.zones_count = kw_catalog_new_zones(admission->image, admission->policy, admission->arena, &zones);
    changes.zones = zones;
    for (size_t i = 0; i < admission->count; i++) {
        const kw_facts_change *change = &admission->changes[i];
        if (kw_admission_is_refused(admission, i))
            continue;
        if (change->changed || !kw_catalog_image_table(admission->image, change->merged->table))
            puts[changes.facts_count++] = (kw_facts_put){change->merged->table, change->merged};
        if (change->renamed_from)
            puts[changes.facts_count++] = (kw_facts_put){change->renamed_from, NULL};
    }
    changes.puts_records = kw_admission_records(admission, &changes.records, &changes.records_count);
    kw_catalog_put(admission->catalog, admission->image, &changes, end_commit, admission);
}

/* --- the policy version --------------------------------------------------------------------------- */

static void
on_version_written(void *user, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error ended;
    if (error)
        end_commit(admission, error);
    else if (kw_catalog_check_lease(admission->catalog, &ended))
        start_put(admission);
    else
        end_commit(admission, &ended);
}

/* The put is conditional on the image, so the version is still current when the put is applied. */
static bool
check_version(const kw_admission *admission, kw_error *ret_error)
{
    int64_t found = admission->image->version.number;
    return !admission->versioned || found == admission->current ||
           kw_error_set(ret_error, KW_REFUSED,
                        "policy version %" G_GINT64_FORMAT " is current now, not %" G_GINT64_FORMAT, found,
                        admission->current);
}

static void
write_version(kw_admission *admission)
{
    const kw_version_name *current = &admission->image->version;
    if (!admission->next) {
        on_version_written(admission, NULL);
        return;
    }
    admission->next_name.number = current->number + 1;
    g_strlcpy(admission->next_name.id, admission->next->id, sizeof admission->next_name.id);
    kw_catalog_write_version(admission->catalog, admission->next, current, admission->arena,
                             admission->deadline, on_version_written, admission);
}

/* A gateway that was paused for long must not continue under the old policy: it finds its registration
 * removed. */
static void
on_dead_removed(void *user, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error refused;
    if (error)
        end_commit(admission, error);
    else if (check_version(admission, &refused))
        write_version(admission);
    else
        end_commit(admission, &refused);
}

static void
remove_dead(kw_admission *admission)
{
    const char *const *tables;
    size_t count = kw_admission_list_cleared(admission, &tables);
    kw_others_remove_dead(admission->catalog, admission->image, tables, count, admission->deadline,
                          on_dead_removed, admission);
}

/* --- rows that appeared since the first comparison ------------------------------------------------- */

/* Compares only the exclusive tables again. For the others, no gateway can have written rows in the meantime
 * that would change the result. */
static void
on_probed(void *user, const kw_evidence *evidence, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    if (!error && kw_admission_compare_again(admission, evidence, &found))
        remove_dead(admission);
    else
        end_commit(admission, &found);
}

void
kw_admission_commit(kw_admission *admission, kw_deadline deadline,
                    void (*done)(void *user, const kw_error *error), void *user)
{
    g_assert(!admission->preview && done);
    admission->deadline = deadline;
    admission->committed = done;
    admission->user = user;
    const char **exclusive;
    if (kw_admission_list_exclusive(admission, &exclusive) == 0)
        remove_dead(admission);
    else
        kw_admission_probe(admission, true, on_probed);
}
