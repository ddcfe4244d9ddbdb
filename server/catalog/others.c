#include "catalog/others.h"

#include "base/log.h"
#include "base/metrics.h"

/* A registration that was not renewed for this time is removed with the next change of the catalog. */
#define OLD_MS (10 * 60 * 1000)
/* The timestamp of this gateway's own lease serves as the store's time. It can be this old when the read
 * begins. An early time makes other gateways count as alive for longer. */
#define RECENT_MS 1000

static const kw_registration *
own_registration(const kw_catalog *catalog, const kw_catalog_image *image)
{
    for (size_t i = 0; i < image->gateways_count; i++)
        if (kw_catalog_is_own(catalog, &image->gateways[i]))
            return &image->gateways[i];
    return NULL;
}

/* --- reading --------------------------------------------------------------------------------------- */

typedef struct reading {
    kw_catalog *catalog;
    kw_deadline deadline;
    bool gateways_only;
    uint64_t lease; /* that this gateway wrote before the read */
    kw_catalog_read_done done;
    void *user;
} reading;

static void
finish(reading *self, kw_catalog_image *image, const kw_error *error)
{
    reading ended = *self;
    g_free(self);
    ended.done(ended.user, image, error);
}

/* True if an older cell hides the registration that this gateway has just written. This happens after the
 * store's clock was set back, because the store assigns the timestamps. Other gateways cannot read the
 * registration either. */
static bool
is_hidden(const reading *self, const kw_catalog_image *image, const kw_registration *own)
{
    return !own || g_ascii_strtoull(kw_arena_text(image->arena, own->lease), NULL, 10) < self->lease;
}

/* By one wrong timestamp, gateways that live would count as dead. */
static bool
trusts_time(kw_catalog *catalog, int64_t stamp_ms, kw_error *ret_error)
{
    if (kw_plausible_judge(&catalog->clock, stamp_ms, (int64_t)(kw_clock_mono_ns() / 1000000),
                           kw_clock_wall_ms()))
        return true;
    kw_metrics_add(KW_METRIC_store_times_rejected, 1);
    kw_error_set(
        ret_error, KW_UNAVAILABLE,
        "the store reports the time %lld ms, which is far from this machine's clock and is not trusted "
        "yet; try again",
        (long long)stamp_ms);
    ret_error->retry_after_ms = RECENT_MS;
    return false;
}

static bool
find_time(const reading *self, kw_catalog_image *image, kw_error *ret_error)
{
    const kw_registration *own = own_registration(self->catalog, image);
    if (is_hidden(self, image, own))
        return kw_error_set(
            ret_error, KW_UNAVAILABLE,
            "the registration of gateway %s cannot be read back: the store's clock was set back, or the row "
            "was removed; start the gateway again, or wait until the clock has caught up",
            self->catalog->settings.gateway_id);
    image->seen_ms = own->lease_at_ms;
    return trusts_time(self->catalog, image->seen_ms, ret_error);
}

static void
on_read(void *user, kw_catalog_image *image, const kw_error *error)
{
    reading *self = user;
    kw_error unknown;
    if (error || !self->catalog->settings.shared || find_time(self, image, &unknown)) {
        finish(self, image, error);
        return;
    }
    kw_catalog_image_free(image);
    finish(self, NULL, &unknown);
}

/* True if the registration was renewed within RECENT_MS, and its content has not changed since. */
static bool
is_recent(const kw_catalog *catalog)
{
    uint64_t least_ns = (KW_LEASE_MS - RECENT_MS) * UINT64_C(1000000);
    return catalog->stored && catalog->stored_revision == catalog->revision &&
           catalog->lease_until_ns > kw_clock_boot_ns() + least_ns;
}

static void
on_registered(void *user, const kw_error *error)
{
    reading *self = user;
    kw_catalog *catalog = self->catalog;
    self->lease = catalog->lease;
    if (error)
        finish(self, NULL, error);
    else if (self->gateways_only)
        kw_catalog_read_gateways(catalog->settings.handle, catalog->table, self->deadline, on_read, self);
    else
        kw_catalog_read(catalog->settings.handle, catalog->table, self->deadline, on_read, self);
}

static void
register_and_read(kw_catalog *catalog, bool gateways_only, kw_deadline deadline, kw_catalog_read_done done,
                  void *user)
{
    reading *self = g_new(reading, 1);
    *self = (reading){
        .catalog = catalog, .gateways_only = gateways_only, .deadline = deadline, .done = done, .user = user};
    if (catalog->settings.shared && !(gateways_only && is_recent(catalog)))
        kw_catalog_register(catalog, deadline, on_registered, self);
    else
        on_registered(self, NULL);
}

void
kw_others_read(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done, void *user)
{
    register_and_read(catalog, false, deadline, done, user);
}

void
kw_others_read_gateways(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done, void *user)
{
    register_and_read(catalog, true, deadline, done, user);
}

/* --- queries --------------------------------------------------------------------------------------- */

bool
kw_others_is_dead(const kw_catalog_image *image, const kw_registration *other)
{
    return image->seen_ms - other->lease_at_ms > KW_LEASE_DEAD_MS;
}

const char *
kw_others_find_digest(const kw_table_digest *digests, size_t count, const char *table)
{
    for (size_t i = 0; i < count; i++)
        if (g_str_equal(digests[i].table, table))
            return digests[i].digest;
    return NULL;
}

bool
kw_others_has_table(const kw_registration *other, const char *const *tables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (other->protocol != KW_CATALOG_PROTOCOL || g_strcmp0(other->forgetting, tables[i]) == 0 ||
            kw_others_find_digest(other->serving, other->serving_count, tables[i]) ||
            kw_others_find_digest(other->next, other->next_count, tables[i]))
            return true;
    return false;
}

/* Compares digests without the order and the setting atomics, which can follow after a space; see
 * kw_facts_digest. */
static bool
same_placements(const char *a, const char *b)
{
    size_t size = strcspn(a, " ");
    return size == strcspn(b, " ") && strncmp(a, b, size) == 0;
}

bool
kw_others_serves_same(const kw_catalog *catalog, const kw_registration *other, const char *table)
{
    const char *mine = kw_others_find_digest(catalog->serving.items, catalog->serving.count, table);
    const char *serving = kw_others_find_digest(other->serving, other->serving_count, table);
    const char *next = kw_others_find_digest(other->next, other->next_count, table);
    return mine && (!serving || same_placements(mine, serving)) && (!next || same_placements(mine, next));
}

/* --- dead gateways --------------------------------------------------------------------------------- */

typedef struct removing {
    kw_catalog *catalog;
    const kw_catalog_image *image;
    const char *const *tables;
    size_t count;
    size_t next; /* among the image's gateways */
    kw_deadline deadline;
    kw_registered done;
    void *user;
} removing;

static void remove_next(removing *self);

static void
end_removing(removing *self, const kw_error *error)
{
    removing ended = *self;
    g_free(self);
    ended.done(ended.user, error);
}

static void
on_removed(void *user, const kw_error *error)
{
    removing *self = user;
    if (error) {
        end_removing(self, error);
        return;
    }
    kw_log(KW_LOG_INFO, "catalog", "registration of a dead gateway removed",
           KW_LOG_FACT("gateway", self->image->gateways[self->next].id));
    self->next++;
    remove_next(self);
}

static bool
must_remove(const removing *self, const kw_registration *other)
{
    return self->image->seen_ms - other->lease_at_ms > OLD_MS ||
           (kw_others_is_dead(self->image, other) && kw_others_has_table(other, self->tables, self->count));
}

static void
remove_next(removing *self)
{
    size_t count = self->catalog->settings.shared ? self->image->gateways_count : 0;
    while (self->next < count && !must_remove(self, &self->image->gateways[self->next]))
        self->next++;
    if (self->next == count)
        end_removing(self, NULL);
    else
        kw_catalog_remove_dead(self->catalog, &self->image->gateways[self->next], self->deadline, on_removed,
                               self);
}

void
kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image, const char *const *tables,
                      size_t count, kw_deadline deadline, kw_registered done, void *user)
{
    removing *self = g_new(removing, 1);
    *self = (removing){catalog, image, tables, count, 0, deadline, done, user};
    remove_next(self);
}
