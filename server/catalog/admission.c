/* The first half of an admission: decides whether the policy may serve.
 *
 *   create the catalog's table -> register -> read -> find each table's recorded facts
 *     -> probe store tables where rows decide -> compare -> check other gateways
 *
 * While a policy serves, the catalog's table is looked up only if the registration finds that it is missing.
 *
 * If two gateways start at once, at least one reads the other's registration; the store's order determines
 * which.
 */
#include "catalog/admission_internal.h"

#include "base/log.h"
#include "catalog/create.h"
#include "catalog/others.h"
#include "catalog/zones.h"

static void
end_check(kw_admission *admission, const kw_error *error)
{
    kw_catalog_checked checked = admission->checked;
    void *user = admission->user;
    if (!error) {
        checked(user, admission, NULL);
        return;
    }
    kw_error reported = *error;
    kw_admission_abandon(admission);
    checked(user, NULL, &reported);
}

/* For the store's errors about the catalog itself. */
static void
fail(kw_admission *admission, const kw_error *error)
{
    kw_error reported = *error;
    kw_error_prefix(&reported, "catalog %s", admission->catalog->settings.store_table);
    end_check(admission, &reported);
}

/* --- recorded facts of each table ------------------------------------------------------------------ */

static bool
policy_has(const kw_admission *admission, const char *table)
{
    return kw_policy_find_table(admission->policy, kw_bytes_of_text(table)) != NULL;
}

/* The recorded table that gets this table's name; NULL if the table is new. */
static const kw_facts *
find_renamed(const kw_admission *admission, const kw_facts *wanted)
{
    const kw_catalog_image *image = admission->image;
    for (size_t i = 0; i < image->tables_count; i++)
        if (!policy_has(admission, image->tables[i]->table) && kw_facts_is_renamed(image->tables[i], wanted))
            return image->tables[i];
    return NULL;
}

static const kw_facts *
find_recorded(kw_admission *admission, const kw_facts *wanted)
{
    const kw_facts *found = kw_catalog_image_table(admission->image, wanted->table);
    return found ? found : find_renamed(admission, wanted);
}

static bool
check_owners(const kw_admission *admission, size_t table, kw_error *ret_error)
{
    g_assert(table < admission->count);
    const kw_catalog_image *image = admission->image;
    const kw_facts *wanted = admission->wanted[table];
    for (size_t i = 0; i < image->tables_count; i++) {
        const kw_facts *other = image->tables[i];
        bool itself = other == admission->recorded[table] || g_str_equal(other->table, wanted->table);
        if (!itself && !kw_facts_check_owner(other, wanted, ret_error))
            return false;
    }
    return kw_admission_check_given(admission, table, ret_error);
}

bool
kw_admission_check_all_owners(kw_admission *admission, kw_error *ret_error)
{
    kw_error found;
    for (size_t i = 0; i < admission->count; i++)
        if (!check_owners(admission, i, &found) && !kw_admission_refuse(admission, i, &found, ret_error))
            return false;
    return true;
}

/* --- comparing ------------------------------------------------------------------------------------- */

/* Most tables have not changed: the decision does not depend on their rows, so those are not probed. An
 * unreadable store table then does not prevent the other tables from being served. */
void
kw_admission_settle(kw_admission *admission)
{
    const kw_evidence rows_everywhere = {.others = KW_ROWS_SOME,
                                         .one_writer = !admission->catalog->settings.shared};
    kw_error ignored;
    for (size_t i = 0; i < admission->count; i++) {
        kw_facts_change *change = &admission->changes[i];
        admission->settled[i] =
            admission->recorded[i] &&
            kw_facts_compare(admission->recorded[i], admission->wanted[i], &rows_everywhere,
                             kw_admission_step(admission), admission->arena, change, &ignored) &&
            !change->exclusive;
    }
}

static kw_evidence
known_of(const kw_admission *admission, const kw_evidence *evidence)
{
    kw_evidence known = *evidence;
    known.one_writer = !admission->catalog->settings.shared;
    return known;
}

static bool
compare_table(kw_admission *admission, size_t table, const kw_evidence *evidence, kw_error *ret_error)
{
    g_assert(table < admission->count);
    kw_facts_change *change = &admission->changes[table];
    if (admission->settled[table])
        return true;
    const kw_evidence known = known_of(admission, evidence);
    return kw_facts_compare(admission->recorded[table], admission->wanted[table], &known,
                            kw_admission_step(admission), admission->arena, change, ret_error);
}

/* Why a store table of the table could not be read; NULL: all could. */
static const kw_error *
unreadable(const kw_admission *admission, size_t table, const kw_evidence *evidence)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    kw_facts_list_store_tables(admission->wanted[table], names);
    if (admission->recorded[table])
        kw_facts_list_store_tables(admission->recorded[table], names);
    for (guint i = 0; i < names->len; i++) {
        const kw_error *why = kw_evidence_error(evidence, names->pdata[i]);
        if (why)
            return why;
    }
    return NULL;
}

/* Leaves out an optional table if one of its store tables could not be read. */
static bool
leave_out_unreadable(kw_admission *admission, size_t table, const kw_evidence *evidence, kw_error *ret_error)
{
    const kw_error *why = admission->settled[table] ? NULL : unreadable(admission, table, evidence);
    if (!why)
        return true;
    kw_error found = *why;
    kw_error_prefix(&found, "table %s", admission->wanted[table]->table);
    if (admission->optional[table])
        kw_admission_leave_out(admission, table, &found);
    else
        *ret_error = found;
    return admission->optional[table];
}

bool
kw_admission_compare_all(kw_admission *admission, const kw_evidence *evidence, kw_error *ret_error)
{
    kw_error found;
    for (size_t i = 0; i < admission->count; i++) {
        if (!leave_out_unreadable(admission, i, evidence, ret_error))
            return false;
        if (!kw_admission_is_refused(admission, i) && !compare_table(admission, i, evidence, &found) &&
            !kw_admission_refuse(admission, i, &found, ret_error))
            return false;
    }
    return true;
}

bool
kw_admission_compare_again(kw_admission *admission, const kw_evidence *evidence, kw_error *ret_error)
{
    const kw_evidence known = known_of(admission, evidence);
    kw_error found;
    for (size_t i = 0; i < admission->count; i++) {
        if (!leave_out_unreadable(admission, i, evidence, ret_error))
            return false;
        if (admission->changes[i].exclusive &&
            !kw_facts_compare(admission->recorded[i], admission->wanted[i], &known,
                              kw_admission_step(admission), admission->arena, &admission->changes[i],
                              &found) &&
            !kw_admission_refuse(admission, i, &found, ret_error))
            return false;
    }
    return true;
}

/* The store tables whose rows decide whether tables of the policy can be served, without duplicates. */
static GPtrArray *
list_store_tables(const kw_admission *admission, bool exclusive_only)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    GPtrArray *once = g_ptr_array_new();
    for (size_t i = 0; i < admission->count; i++) {
        if (admission->settled[i] || kw_admission_is_refused(admission, i) ||
            (exclusive_only && !admission->changes[i].exclusive))
            continue;
        kw_facts_list_store_tables(admission->wanted[i], all);
        if (admission->recorded[i])
            kw_facts_list_store_tables(admission->recorded[i], all);
    }
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < all->len; i++)
        if (g_hash_table_add(seen, all->pdata[i]))
            g_ptr_array_add(once, all->pdata[i]);
    return once;
}

static bool
is_lenient(const kw_admission *admission)
{
    for (size_t i = 0; i < admission->count; i++)
        if (admission->optional[i])
            return true;
    return false;
}

void
kw_admission_probe(kw_admission *admission, bool exclusive_only, kw_probed done)
{
    g_autoptr(GPtrArray) list = list_store_tables(admission, exclusive_only);
    const char **names = KW_ARENA_ARRAY(admission->arena, const char *, list->len);
    if (list->len)
        memcpy(names, list->pdata, list->len * sizeof *names);
    kw_catalog_probe(admission->catalog->settings.handle, names, list->len, is_lenient(admission),
                     admission->arena, admission->deadline, done, admission);
}

/* --- the steps ------------------------------------------------------------------------------------- */

static void
on_probed(void *user, const kw_evidence *evidence, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    bool good = !error && kw_admission_compare_all(admission, evidence, &found) &&
                kw_admission_check_versions(admission, &found) &&
                (!admission->catalog->settings.shared || kw_admission_check_gateways(admission, &found));
    end_check(admission, good ? NULL : &found);
}

void
kw_admission_look_up(kw_admission *admission)
{
    for (size_t i = 0; i < admission->count; i++)
        admission->recorded[i] = find_recorded(admission, admission->wanted[i]);
}

static bool
look_up_tables(kw_admission *admission, kw_error *ret_error)
{
    if (!kw_catalog_image_check_whole(admission->image, ret_error) ||
        !kw_catalog_check_zones(admission->image, admission->policy, ret_error) ||
        !kw_admission_take_step(admission, ret_error))
        return false;
    kw_admission_look_up(admission);
    return kw_admission_check_all_owners(admission, ret_error);
}

static void look_up_catalog(kw_admission *admission);

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    kw_admission *admission = user;
    kw_error found;
    if (error && error->code == KW_NOT_FOUND && !admission->looked_up) {
        look_up_catalog(admission);
        return;
    }
    if (error) {
        fail(admission, error);
        return;
    }
    admission->image = image;
    if (!look_up_tables(admission, &found)) {
        end_check(admission, &found);
        return;
    }
    kw_admission_settle(admission);
    kw_admission_probe(admission, false, on_probed);
}

static void
on_created(void *user, const kw_error *error)
{
    kw_admission *admission = user;
    if (error)
        fail(admission, error);
    else
        kw_others_read(admission->catalog, admission->deadline, on_read, admission);
}

static void
look_up_catalog(kw_admission *admission)
{
    admission->looked_up = true;
    kw_catalog_create(admission->catalog, admission->arena, admission->deadline, on_created, admission);
}

kw_admission *
kw_admission_new(kw_catalog *catalog, kw_policy *policy, kw_deadline deadline, kw_catalog_checked checked,
                 void *user)
{
    kw_arena *arena = kw_arena_new();
    kw_admission *admission = KW_ARENA_NEW(arena, kw_admission);
    size_t count = kw_policy_table_count(policy);
    *admission = (kw_admission){.catalog = catalog,
                                .arena = arena,
                                .policy = kw_policy_ref(policy),
                                .deadline = deadline,
                                .count = count,
                                .wanted = KW_ARENA_ARRAY(arena, kw_facts *, count),
                                .recorded = KW_ARENA_ARRAY(arena, const kw_facts *, count),
                                .changes = KW_ARENA_ARRAY(arena, kw_facts_change, count),
                                .settled = KW_ARENA_ARRAY(arena, bool, count),
                                .optional = KW_ARENA_ARRAY(arena, bool, count),
                                .refusals = KW_ARENA_ARRAY(arena, const kw_error *, count),
                                .created = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                                .checked = checked,
                                .user = user};
    for (size_t i = 0; i < count; i++)
        admission->wanted[i] = kw_facts_of_table(kw_policy_table(policy, i), arena);
    return admission;
}

/* A table must not be left out of the step that changes it, because the step is one put. */
static bool
is_in_step(const kw_change_step *step, const char *table)
{
    for (size_t i = 0; step && i < step->count; i++)
        if (step->records[i].under_way && g_str_equal(step->records[i].table, table))
            return true;
    for (size_t i = 0; step && i < step->base_count; i++)
        if (step->base[i].under_way && g_str_equal(step->base[i].table, table))
            return true;
    return false;
}

void
kw_catalog_check(kw_catalog *catalog, kw_policy *policy, const kw_change_step *step, const bool *optional,
                 kw_deadline deadline, kw_catalog_checked done, void *user)
{
    kw_admission *admission = kw_admission_new(catalog, policy, deadline, done, user);
    admission->step = step;
    for (size_t i = 0; optional && i < admission->count; i++)
        admission->optional[i] = optional[i] && !is_in_step(step, admission->wanted[i]->table);
    g_assert(!catalog->next.arena);
    catalog->next = kw_digests_of_policy(policy, NULL);
    catalog->revision++;
    if (catalog->admitted)
        kw_others_read(catalog, deadline, on_read, admission);
    else
        look_up_catalog(admission);
}

/* --- calls of the gateway -------------------------------------------------------------------------- */

static bool
continues_to_serve(const kw_admission *admission, const char *name)
{
    const kw_table *table = kw_policy_find_table(admission->policy, kw_bytes_of_text(name));
    return table && !kw_admission_is_refused(admission, table->number);
}

size_t
kw_admission_hold(const kw_admission *admission, const char *const **ret_tables)
{
    const kw_digests *serving = &admission->catalog->serving;
    const char **exclusive;
    size_t count = kw_admission_list_exclusive(admission, &exclusive);
    const char **tables = KW_ARENA_ARRAY(admission->arena, const char *, count + serving->count + 1);
    memcpy(tables, exclusive, count * sizeof *tables);
    for (size_t i = 0; i < serving->count; i++)
        if (!continues_to_serve(admission, serving->items[i].table))
            tables[count++] = serving->items[i].table;
    *ret_tables = tables;
    return count;
}

void
kw_admission_set_version(kw_admission *admission, int64_t current, const kw_version_draft *next)
{
    admission->versioned = true;
    admission->current = current;
    admission->next = next;
}

void
kw_admission_note_created(kw_admission *admission, const char *store_table)
{
    g_hash_table_add(admission->created, g_strdup(kw_store_table_name(store_table)));
}

/* --- freeing --------------------------------------------------------------------------------------- */

void
kw_admission_free(kw_admission *admission)
{
    kw_catalog_image_free(admission->image);
    kw_policy_unref(admission->policy);
    g_hash_table_unref(admission->created);
    kw_arena_free(admission->arena);
}

void
kw_admission_serve(kw_admission *admission)
{
    kw_catalog *catalog = admission->catalog;
    g_assert(!admission->preview);
    if (kw_admission_has_refusal(admission)) {
        kw_digests_clear(&catalog->next);
        catalog->next = kw_digests_of_policy(admission->policy, admission->refusals);
    }
    kw_digests_clear(&catalog->serving);
    catalog->serving = catalog->next;
    catalog->next = (kw_digests){0};
    kw_admission_free(admission);
    if (catalog->settings.shared && !catalog->stored) {
        /* Another gateway removed the registration after the commit began. */
        catalog->settings.lost(catalog->settings.user);
        return;
    }
    catalog->admitted = true;
    if (catalog->settings.shared)
        kw_fence_open_until(&catalog->fence, catalog->lease_until_ns);
    kw_catalog_update_registration(catalog);
}

void
kw_admission_abandon(kw_admission *admission)
{
    kw_catalog *catalog = admission->catalog;
    if (admission->preview) {
        kw_admission_free(admission);
        return;
    }
    kw_digests_clear(&catalog->next);
    if (catalog->admitted)
        kw_catalog_update_registration(catalog);
    else
        kw_catalog_withdraw(catalog);
    kw_admission_free(admission);
}
