/* The gateway's own registration: stored, renewed every third of the lease, withdrawn.
 *
 *   register   put of the whole row: a start takes over what an earlier process of this id left
 *   renew      put of the lease, if the row still names this process; if not, the registration is lost
 *   withdraw   removal of the row, if it still names this process
 *   dead       removal of another gateway's row, if its lease is still the one that was seen
 *
 * The lease counts from the moment at which the renewal was sent. Each lease has a text of its own, so that a
 * removal of a dead gateway and its late renewal cannot both succeed.
 */
#include "catalog/inside.h"

#include "base/log.h"

#define RENEW_MS (KW_LEASE_MS / 3)
#define RENEW_AGAIN_MS 500
#define WITHDRAW_MS 1000
#define NS_PER_MS 1000000u

#define INSTANCE KW_BYTES_LITERAL("instance")
#define LEASE KW_BYTES_LITERAL("lease")

/* One write of a registration on its way. */
typedef struct registering {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_write write;
    kw_check check;
    kw_cell cells[4];
    uint64_t sent_ns;
    bool with_digests;
    kw_registered done;
    void *user;
} registering;

/* --- digests --------------------------------------------------------------------------------------- */

kw_digests
kw_digests_of_policy(const kw_policy *policy)
{
    size_t count = kw_policy_table_count(policy);
    kw_digests digests = {.arena = kw_arena_new(), .count = count};
    kw_table_digest *items = KW_ARENA_ARRAY(digests.arena, kw_table_digest, count);
    for (size_t i = 0; i < count; i++) {
        const kw_facts *facts = kw_facts_of_table(kw_policy_table(policy, i), digests.arena);
        items[i] = (kw_table_digest){kw_arena_text(digests.arena, kw_bytes_of_text(facts->table)),
                                     kw_facts_digest(facts, digests.arena)};
    }
    digests.items = items;
    return digests;
}

kw_digests
kw_digests_copy(const kw_digests *from)
{
    kw_digests digests = {.arena = kw_arena_new(), .count = from->count};
    kw_table_digest *items = KW_ARENA_ARRAY(digests.arena, kw_table_digest, from->count);
    for (size_t i = 0; i < from->count; i++)
        items[i] = (kw_table_digest){kw_arena_text(digests.arena, kw_bytes_of_text(from->items[i].table)),
                                     kw_arena_text(digests.arena, kw_bytes_of_text(from->items[i].digest))};
    digests.items = items;
    return digests;
}

void
kw_digests_clear(kw_digests *digests)
{
    if (digests->arena)
        kw_arena_free(digests->arena);
    *digests = (kw_digests){0};
}

/* --- the lease ------------------------------------------------------------------------------------- */

bool
kw_catalog_holds_lease(const kw_catalog *catalog)
{
    return !catalog->settings.shared || kw_clock_boot_ns() < catalog->lease_until_ns;
}

static void
extend_lease(kw_catalog *catalog, uint64_t sent_ns)
{
    catalog->lease_until_ns = sent_ns + KW_LEASE_MS * (uint64_t)NS_PER_MS;
    if (catalog->admitted)
        kw_fence_open_until(&catalog->fence, catalog->lease_until_ns);
}

static void
lose_registration(kw_catalog *catalog)
{
    kw_log(KW_LOG_ERROR, "catalog", "registration lost",
           "gateway=%s hint=\"another process took this id, or removed it after its lease ended\"",
           catalog->settings.gateway_id);
    catalog->stored = catalog->admitted = false;
    catalog->lease_until_ns = 0;
    kw_fence_shut(&catalog->fence);
    catalog->settings.lost(catalog->settings.user);
}

/* --- writes ---------------------------------------------------------------------------------------- */

static registering *
new_write(kw_catalog *catalog, kw_write_kind kind, const char *id, kw_deadline deadline, kw_registered done,
          void *user)
{
    kw_arena *arena = kw_arena_new();
    registering *self = KW_ARENA_NEW(arena, registering);
    *self = (registering){.catalog = catalog, .arena = arena, .done = done, .user = user};
    self->write =
        (kw_write){.kind = kind,
                   .table = catalog->table,
                   .row = kw_bytes_of_text(kw_arena_printf(arena, KW_CATALOG_GATEWAY_PREFIX "%s", id)),
                   .cells = self->cells,
                   .timestamp = KW_TIMESTAMP_NONE,
                   .deadline = deadline};
    self->check = (kw_check){.family = KW_CATALOG_FAMILY,
                             .qualifier = INSTANCE,
                             .compare = KW_COMPARE_EQUAL,
                             .has_value = true,
                             .value = kw_bytes_of_text(catalog->instance)};
    return self;
}

static void
add_cell(registering *self, kw_bytes qualifier, kw_bytes value)
{
    self->cells[self->write.cells_count++] =
        (kw_cell){.family = KW_CATALOG_FAMILY, .qualifier = qualifier, .value = value};
}

static void
add_lease(registering *self)
{
    kw_catalog *catalog = self->catalog;
    add_cell(self, LEASE,
             kw_bytes_of_text(kw_arena_printf(self->arena, "%s %" G_GUINT64_FORMAT, catalog->instance,
                                              ++catalog->leases)));
}

static void
add_digests(registering *self)
{
    const kw_catalog *catalog = self->catalog;
    const kw_digests *next = catalog->next.arena ? &catalog->next : &catalog->serving;
    kw_registration registration = {.serving = catalog->serving.items,
                                    .serving_count = catalog->serving.count,
                                    .next = next->items,
                                    .next_count = next->count};
    add_cell(self, KW_BYTES_LITERAL("digests"), kw_registration_print(&registration, self->arena));
    self->with_digests = true;
}

static void
end_write(registering *self, const kw_error *error)
{
    kw_registered done = self->done;
    void *user = self->user;
    kw_error copy = error ? *error : KW_ERROR_NONE;
    kw_arena_free(self->arena);
    if (done)
        done(user, error ? &copy : NULL);
}

/* --- register -------------------------------------------------------------------------------------- */

static void
registered(void *user, kw_outcome outcome, const kw_error *error)
{
    registering *self = user;
    kw_catalog *catalog = self->catalog;
    if (outcome == KW_OUTCOME_OK) {
        catalog->stored = true;
        catalog->stale = false;
        extend_lease(catalog, self->sent_ns);
        kw_timer_start_ms(catalog->timer, RENEW_MS);
    }
    end_write(self, error);
}

void
kw_catalog_register(kw_catalog *catalog, kw_deadline deadline, kw_registered done, void *user)
{
    registering *self = new_write(catalog, KW_WRITE_PUT, catalog->settings.gateway_id, deadline, done, user);
    add_cell(self, INSTANCE, kw_bytes_of_text(catalog->instance));
    add_cell(self, KW_BYTES_LITERAL("protocol"),
             kw_bytes_of_text(kw_arena_printf(self->arena, "%d", KW_CATALOG_PROTOCOL)));
    add_lease(self);
    add_digests(self);
    self->sent_ns = kw_clock_boot_ns();
    kw_door_write(catalog->settings.door, &self->write, registered, self);
}

/* --- renew ----------------------------------------------------------------------------------------- */

static void end_closing(kw_catalog *catalog);

static void
renewed(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    registering *self = user;
    kw_catalog *catalog = self->catalog;
    (void)outcome;
    catalog->renewing = false;
    if (applied) {
        catalog->stale = catalog->stale && !self->with_digests;
        extend_lease(catalog, self->sent_ns);
    } else if (error) {
        kw_log(KW_LOG_WARN, "catalog", "lease not renewed", "gateway=%s reason=\"%s\"",
               catalog->settings.gateway_id, error->text);
    }
    bool lost = !applied && !error;
    end_write(self, NULL);
    if (catalog->closed)
        end_closing(catalog);
    else if (lost && catalog->stored)
        lose_registration(catalog);
    else
        kw_timer_start_ms(catalog->timer, applied && !catalog->stale ? RENEW_MS : RENEW_AGAIN_MS);
}

static void
renew(void *user)
{
    kw_catalog *catalog = user;
    if (catalog->renewing || !catalog->stored || catalog->closed)
        return;
    catalog->renewing = true;
    registering *self = new_write(catalog, KW_WRITE_PUT, catalog->settings.gateway_id,
                                  kw_deadline_in_ms(KW_LEASE_MS / 2), NULL, NULL);
    add_lease(self);
    if (catalog->stale)
        add_digests(self);
    self->sent_ns = kw_clock_boot_ns();
    kw_door_write_if(catalog->settings.door, &self->write, &self->check, renewed, self);
}

void
kw_catalog_update_registration(kw_catalog *catalog)
{
    if (!catalog->settings.shared)
        return;
    catalog->stale = true;
    if (!catalog->renewing)
        renew(catalog);
}

/* --- remove ---------------------------------------------------------------------------------------- */

static void
withdrawn(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    registering *self = user;
    (void)outcome, (void)applied;
    end_write(self, error); /* what stays ends with its lease */
}

/* Removes this gateway's row, if it is still this process's. */
static void
remove_own(kw_catalog *catalog, kw_registered done, void *user)
{
    registering *self = new_write(catalog, KW_WRITE_DELETE, catalog->settings.gateway_id,
                                  kw_deadline_in_ms(WITHDRAW_MS), done, user);
    catalog->stored = catalog->admitted = false;
    catalog->lease_until_ns = 0;
    kw_fence_shut(&catalog->fence);
    kw_timer_stop(catalog->timer);
    kw_door_write_if(catalog->settings.door, &self->write, &self->check, withdrawn, self);
}

void
kw_catalog_withdraw(kw_catalog *catalog)
{
    if (catalog->stored)
        remove_own(catalog, NULL, NULL);
}

static void
dead_removed(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    registering *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    (void)outcome;
    if (!error && !applied)
        kw_error_set(&found, KW_BUSY, "a gateway whose lease had ended came back; try again");
    end_write(self, found.code == KW_OK ? NULL : &found);
}

void
kw_catalog_remove_dead(kw_catalog *catalog, const kw_registration *dead, kw_deadline deadline,
                       kw_registered done, void *user)
{
    registering *self = new_write(catalog, KW_WRITE_DELETE, dead->id, deadline, done, user);
    self->check.qualifier = LEASE;
    self->check.value = kw_arena_copy(self->arena, dead->lease);
    kw_door_write_if(catalog->settings.door, &self->write, &self->check, dead_removed, self);
}

/* --- life ------------------------------------------------------------------------------------------ */

kw_catalog *
kw_catalog_new(const kw_catalog_settings *settings)
{
    kw_catalog *catalog = g_new0(kw_catalog, 1);
    catalog->settings = *settings;
    catalog->settings.gateway_id = g_strdup(settings->gateway_id);
    catalog->settings.store_table = g_strdup(settings->store_table);
    catalog->table = kw_bytes_of_text(catalog->settings.store_table);
    g_snprintf(catalog->instance, sizeof catalog->instance,
               "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", kw_random_u64(), kw_random_u64());
    catalog->timer = kw_timer_new(settings->loop, renew, catalog);
    return catalog;
}

const kw_fence *
kw_catalog_fence(const kw_catalog *catalog)
{
    return catalog->settings.shared ? &catalog->fence : NULL;
}

static void
all_closed(void *user, const kw_error *error)
{
    kw_catalog *catalog = user;
    (void)error;
    kw_timer_free(g_steal_pointer(&catalog->timer));
    catalog->closed(catalog->closed_user);
}

static void
end_closing(kw_catalog *catalog)
{
    if (catalog->stored)
        remove_own(catalog, all_closed, catalog);
    else
        all_closed(catalog, NULL);
}

void
kw_catalog_close(kw_catalog *catalog, void (*closed)(void *user), void *user)
{
    catalog->closed = closed;
    catalog->closed_user = user;
    kw_timer_stop(catalog->timer);
    kw_catalog_end_put(catalog);
    if (!catalog->renewing)
        end_closing(catalog);
}

/* After close, or without it when the door is closed already. */
void
kw_catalog_free(kw_catalog *catalog)
{
    if (!catalog)
        return;
    kw_timer_free(catalog->timer);
    kw_digests_clear(&catalog->serving);
    kw_digests_clear(&catalog->next);
    g_free((char *)catalog->settings.gateway_id);
    g_free((char *)catalog->settings.store_table);
    g_free(catalog);
}
