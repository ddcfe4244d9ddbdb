/* What gateways report about changes of key rules; see changes.h. */
#include "catalog/others.h"

const char *
kw_catalog_instance(const kw_catalog *catalog)
{
    return catalog->instance;
}

uint64_t
kw_registration_step(const kw_registration *registration, const kw_change_record *record)
{
    for (size_t i = 0; i < registration->reports_count; i++) {
        const kw_change_report *report = &registration->reports[i];
        if (g_str_equal(report->table, record->table) && g_str_equal(report->path, record->path) &&
            report->started_ms == record->started_ms)
            return report->step;
    }
    return 0;
}

/* --- this gateway's reports ------------------------------------------------------------------------ */

static bool
same_reports(const kw_catalog *catalog, const kw_change_report *reports, size_t count)
{
    if (count != catalog->reports_count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const kw_change_report *a = &catalog->reports[i], *b = &reports[i];
        if (!g_str_equal(a->table, b->table) || !g_str_equal(a->path, b->path) ||
            a->started_ms != b->started_ms || a->step != b->step)
            return false;
    }
    return true;
}

static kw_change_report *
copy_reports(const kw_change_report *reports, size_t count, kw_arena *arena)
{
    kw_change_report *copies = KW_ARENA_ARRAY(arena, kw_change_report, count);
    for (size_t i = 0; i < count; i++) {
        copies[i] = reports[i];
        copies[i].table = kw_arena_text(arena, kw_bytes_of_text(reports[i].table));
        copies[i].path = kw_arena_text(arena, kw_bytes_of_text(reports[i].path));
    }
    return copies;
}

/* If the registration is lost, the next one has the same reports, because they remain true. */
void
kw_catalog_report_changes(kw_catalog *catalog, const kw_change_report *reports, size_t count)
{
    if (same_reports(catalog, reports, count))
        return;
    kw_arena *arena = kw_arena_new();
    catalog->reports = copy_reports(reports, count, arena);
    catalog->reports_count = count;
    g_clear_pointer(&catalog->reports_arena, kw_arena_free);
    catalog->reports_arena = arena;
    kw_catalog_update_registration(catalog);
}

void
kw_catalog_report_callers(kw_catalog *catalog, bool has_callers)
{
    if (has_callers == catalog->has_callers)
        return;
    catalog->has_callers = has_callers;
    kw_catalog_update_registration(catalog);
}

/* --- all reports ----------------------------------------------------------------------------------- */

typedef struct following {
    kw_catalog *catalog;
    kw_arena *arena;
    const char *table;
    const char *path;
    int64_t started_ms;
    kw_change_followers_read done;
    void *user;
} following;

static size_t
list_followers(const following *self, const kw_catalog_image *image, kw_change_follower *to)
{
    size_t count = 0;
    kw_change_record change = {.table = self->table, .path = self->path, .started_ms = self->started_ms};
    for (size_t i = 0; i < image->gateways_count; i++) {
        const kw_registration *each = &image->gateways[i];
        if (kw_others_has_table(each, &self->table, 1))
            to[count++] = (kw_change_follower){.instance = each->instance,
                                               .id = each->id,
                                               .itself = kw_catalog_is_own(self->catalog, each),
                                               .dead = kw_others_is_dead(image, each),
                                               .has_callers = each->has_callers,
                                               .step = kw_registration_step(each, &change)};
    }
    return count;
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    following *self = user;
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (error) {
        kw_error_prefix(&reported, "catalog %s", self->catalog->settings.store_table);
        self->done(self->user, NULL, 0, &reported);
    } else {
        kw_change_follower *followers =
            KW_ARENA_ARRAY(self->arena, kw_change_follower, image->gateways_count);
        self->done(self->user, followers, list_followers(self, image, followers), NULL);
    }
    kw_catalog_image_free(image);
    kw_arena_free(self->arena);
}

void
kw_catalog_read_followers(kw_catalog *catalog, const kw_change_record *record, kw_deadline deadline,
                          kw_change_followers_read done, void *user)
{
    kw_arena *arena = kw_arena_new();
    following *self = KW_ARENA_NEW(arena, following);
    *self = (following){.catalog = catalog,
                        .arena = arena,
                        .table = kw_arena_text(arena, kw_bytes_of_text(record->table)),
                        .path = kw_arena_text(arena, kw_bytes_of_text(record->path)),
                        .started_ms = record->started_ms,
                        .done = done,
                        .user = user};
    kw_others_read_gateways(catalog, deadline, on_read, self);
}
