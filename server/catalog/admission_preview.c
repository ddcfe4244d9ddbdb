/* Previews: what an admission would answer. They compare all tables even after a refusal, register nothing
 * and write nothing.
 *
 *   read -> find each table's recorded facts -> probe store tables -> compare -> check other gateways
 */
#include "catalog/admission_internal.h"

#include "catalog/others.h"
#include "catalog/zones.h"

static void
end_preview(kw_admission *admission, const kw_error *error)
{
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (!error) {
        admission->checked(admission->user, admission, NULL);
        return;
    }
    kw_error_prefix(&reported, "catalog %s", admission->catalog->settings.store_table);
    admission->checked(admission->user, NULL, &reported);
    kw_admission_free(admission);
}

static void
on_probed(void *user, const kw_evidence *evidence, const kw_error *error)
{
    kw_admission *admission = user;
    if (error) {
        end_preview(admission, error);
        return;
    }
    kw_admission_compare_all(admission, evidence, &admission->conflict);
    if (admission->catalog->settings.shared && !kw_admission_has_refusal(admission))
        kw_admission_check_gateways(admission, &admission->conflict);
    end_preview(admission, NULL);
}

/* A preview does not write this gateway's registration before it reads. So the newest registration shows the
 * store's time. */
static int64_t
newest_registration_ms(const kw_catalog_image *image)
{
    int64_t newest = 0;
    for (size_t i = 0; i < image->gateways_count; i++)
        if (image->gateways[i].lease_at_ms != KW_CATALOG_LEASE_UNKNOWN_MS)
            newest = MAX(newest, image->gateways[i].lease_at_ms);
    return newest;
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    kw_admission *admission = user;
    if (error) {
        end_preview(admission, error);
        return;
    }
    kw_error refused;
    admission->image = image;
    if (!kw_catalog_image_check_whole(image, &refused) ||
        !kw_catalog_check_zones(image, admission->policy, &refused) ||
        !kw_admission_take_step(admission, &refused)) {
        end_preview(admission, &refused);
        return;
    }
    image->seen_ms = newest_registration_ms(image);
    kw_admission_look_up(admission);
    kw_admission_check_all_owners(admission, &refused);
    kw_admission_settle(admission);
    kw_admission_probe(admission, false, on_probed);
}

void
kw_catalog_preview(kw_catalog *catalog, kw_policy *policy, const kw_change_step *step, kw_deadline deadline,
                   kw_catalog_checked done, void *user)
{
    kw_admission *admission = kw_admission_new(catalog, policy, deadline, done, user);
    admission->preview = true;
    admission->step = step;
    kw_catalog_read(catalog->settings.handle, catalog->table, deadline, on_read, admission);
}

/* --- the result ----------------------------------------------------------------------------------- */

void
kw_admission_explain(kw_admission *admission, size_t table, const kw_error *reason)
{
    g_assert(admission->preview && kw_admission_is_refused(admission, table));
    kw_admission_leave_out(admission, table, reason);
}

const kw_error *
kw_admission_conflict(const kw_admission *admission)
{
    g_assert(admission->preview);
    return admission->conflict.code == KW_OK ? NULL : &admission->conflict;
}

const char *
kw_admission_recorded_name(const kw_admission *admission, size_t table)
{
    g_assert(table < admission->count);
    return admission->recorded[table] ? admission->recorded[table]->table : NULL;
}

const kw_version_name *
kw_admission_version(const kw_admission *admission)
{
    return &admission->image->version;
}
