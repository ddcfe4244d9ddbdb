/* The gateway's own registration: stored, renewed at every third of the lease, removed.
 *
 *   register  puts the row; the first put uses a new name
 *   renew     puts the lease, and changed content
 *   withdraw  removes the row
 *   dead      removes another gateway's row, if its lease is still the one seen
 *
 * A row always belongs to one registration, and each put changes the number of the lease, on the condition
 * that the row has the previous number. So a put that the store executes late, after another one, changes
 * nothing. After a rejected put, the row is read. It shows whether the put was applied after all, an earlier
 * put was applied, or another gateway removed the row. A removed registration is never restored: the gateway
 * must be admitted again, with a new one.
 *
 * The lease counts from the moment at which its put was sent.
 */
#include "catalog/catalog_internal.h"

#include "base/log.h"
#include "base/units.h"

#define RENEW_MS (KW_LEASE_MS / 3)
#define RENEW_AGAIN_MS 500
#define WITHDRAW_MS 1000

#define LEASE KW_BYTES_LITERAL("lease")

/* Timestamp of a removal. The name is never reused, so the removal can delete cells with any timestamp. */
#define REMOVAL_TIMESTAMP (KW_TIMESTAMP_NONE - 1)

/* One write of a registration in flight. */
typedef struct registering {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_write write;
    kw_check check;
    kw_cell cells[4];
    kw_get get;
    char instance[33]; /* whose row it is */
    uint64_t lease;    /* number that this attempt stores */
    uint64_t revision; /* content that it stores; 0: only the lease */
    uint64_t sent_ns;
    kw_registered done;
    void *user;
} registering;

/* --- digests --------------------------------------------------------------------------------------- */

kw_digests
kw_digests_of_policy(const kw_policy *policy, const kw_error *const *refusals)
{
    size_t count = kw_policy_table_count(policy);
    kw_digests digests = {.arena = kw_arena_new()};
    kw_table_digest *items = KW_ARENA_ARRAY(digests.arena, kw_table_digest, count);
    for (size_t i = 0; i < count; i++) {
        if (refusals && refusals[i])
            continue;
        const kw_facts *facts = kw_facts_of_table(kw_policy_table(policy, i), digests.arena);
        items[digests.count++] =
            (kw_table_digest){kw_arena_text(digests.arena, kw_bytes_of_text(facts->table)),
                              kw_facts_digest(facts, digests.arena)};
    }
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
kw_catalog_check_lease(const kw_catalog *catalog, kw_error *ret_error)
{
    if (!catalog->settings.shared || kw_clock_boot_ns() < catalog->lease_until_ns)
        return true;
    return kw_error_set(ret_error, KW_UNAVAILABLE, "the lease of gateway %s has expired",
                        catalog->settings.gateway_id);
}

static void
extend_lease(kw_catalog *catalog, uint64_t sent_ns)
{
    uint64_t until_ns = sent_ns + KW_LEASE_MS * (uint64_t)KW_NS_PER_MS;
    catalog->lease_until_ns = MAX(catalog->lease_until_ns, until_ns);
    if (catalog->admitted)
        kw_fence_open_until(&catalog->fence, catalog->lease_until_ns);
}

/* Forgets the registration: another gateway removed it, or this gateway withdraws it or leaves it in the
 * catalog. Calls fail from now on. */
static void
drop_registration(kw_catalog *catalog)
{
    catalog->instance[0] = '\0';
    catalog->lease = catalog->stored_revision = catalog->lease_until_ns = 0;
    catalog->stored = catalog->admitted = false;
    kw_fence_shut(&catalog->fence);
    kw_timer_stop(catalog->timer);
}

static void
lose_registration(kw_catalog *catalog)
{
    kw_log(KW_LOG_ERROR, "catalog", "registration lost", KW_LOG_FACT("gateway", catalog->settings.gateway_id),
           KW_LOG_FACT("hint", "another gateway removed it after its lease had expired"));
    drop_registration(catalog);
    catalog->settings.lost(catalog->settings.user);
}

bool
kw_catalog_is_own(const kw_catalog *catalog, const kw_registration *registration)
{
    return g_str_equal(registration->instance, catalog->instance);
}

/* --- writes ---------------------------------------------------------------------------------------- */

static registering *
new_write(kw_catalog *catalog, kw_write_kind kind, const char *instance, kw_deadline deadline,
          kw_registered done, void *user)
{
    kw_arena *arena = kw_arena_new();
    registering *self = KW_ARENA_NEW(arena, registering);
    *self = (registering){.catalog = catalog, .arena = arena, .done = done, .user = user};
    g_strlcpy(self->instance, instance, sizeof self->instance);
    self->write =
        (kw_write){.kind = kind,
                   .table = catalog->table,
                   .row = kw_bytes_of_text(kw_arena_printf(arena, KW_CATALOG_GATEWAY_PREFIX "%s", instance)),
                   .cells = self->cells,
                   .timestamp = kind == KW_WRITE_DELETE ? REMOVAL_TIMESTAMP : KW_TIMESTAMP_NONE,
                   .deadline = deadline};
    self->check = (kw_check){.family = KW_CATALOG_FAMILY, .qualifier = LEASE, .compare = KW_COMPARE_EQUAL};
    return self;
}

static void
add_cell(registering *self, const char *qualifier, kw_bytes value)
{
    self->cells[self->write.cells_count++] =
        (kw_cell){.family = KW_CATALOG_FAMILY, .qualifier = kw_bytes_of_text(qualifier), .value = value};
}

static kw_bytes
number_text(uint64_t number, kw_arena *arena)
{
    return kw_bytes_of_text(kw_arena_printf(arena, "%" G_GUINT64_FORMAT, (guint64)number));
}

static kw_bytes
print_registration(const kw_catalog *catalog, kw_arena *arena)
{
    const kw_digests *next = catalog->next.arena ? &catalog->next : &catalog->serving;
    return kw_registration_print(&(kw_registration){.serving = catalog->serving.items,
                                                    .serving_count = catalog->serving.count,
                                                    .next = next->items,
                                                    .next_count = next->count,
                                                    .forgetting = catalog->forgetting,
                                                    .follows = catalog->settings.follows,
                                                    .has_callers = catalog->has_callers,
                                                    .reports = catalog->reports,
                                                    .reports_count = catalog->reports_count},
                                 arena);
}

static void
end_write(registering *self, const kw_error *error)
{
    kw_registered done = self->done;
    void *user = self->user;
    kw_error copy = error ? *error : KW_ERROR_NONE;
    kw_arena_free(self->arena);
    done(user, error ? &copy : NULL);
}

/* --- puts of this gateway's row -------------------------------------------------------------------- */

static void put(registering *self);

static void
end_stored(registering *self)
{
    kw_catalog *catalog = self->catalog;
    catalog->lease = MAX(catalog->lease, self->lease);
    catalog->stored_revision = MAX(catalog->stored_revision, self->revision);
    catalog->stored = true;
    extend_lease(catalog, self->sent_ns);
    end_write(self, NULL);
}

static void
end_removed(registering *self)
{
    kw_catalog *catalog = self->catalog;
    kw_error removed;
    kw_error_set(&removed, KW_UNAVAILABLE, "the registration of gateway %s was removed; try again",
                 catalog->settings.gateway_id);
    if (catalog->stored)
        lose_registration(catalog);
    end_write(self, &removed);
}

/* False after the registration was withdrawn or lost. */
static bool
is_current(const registering *self)
{
    return g_str_equal(self->instance, self->catalog->instance);
}

static void
end_withdrawn(registering *self)
{
    kw_error removed;
    kw_error_set(&removed, KW_UNAVAILABLE, "the registration was withdrawn");
    end_write(self, &removed);
}

static void
on_read_back(void *user, kw_rows *rows, const kw_error *error)
{
    registering *self = user;
    uint64_t lease = 0;
    if (rows && rows->rows[0].cells_count > 0)
        lease = g_ascii_strtoull(kw_arena_text(self->arena, rows->rows[0].cells[0].value), NULL, 10);
    kw_rows_free(rows);
    if (!is_current(self)) {
        end_withdrawn(self);
    } else if (error) {
        end_write(self, error);
    } else if (lease == 0) {
        end_removed(self);
    } else if (lease == self->lease) {
        end_stored(self);
    } else {
        self->catalog->lease = lease;
        put(self);
    }
}

static void
read_back(registering *self)
{
    static const kw_column lease = {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("lease")};
    self->get = (kw_get){.table = self->catalog->table,
                         .row = self->write.row,
                         .columns = &lease,
                         .columns_count = 1,
                         .deadline = self->write.deadline};
    kw_store_handle_get(self->catalog->settings.handle, &self->get, on_read_back, self);
}

static void
on_put(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    registering *self = user;
    (void)outcome;
    if (!is_current(self))
        end_withdrawn(self);
    else if (applied)
        end_stored(self);
    else if (error)
        end_write(self, error);
    else
        read_back(self);
}

/* Prints the content at each attempt, because it can have changed since the previous one. */
static void
put(registering *self)
{
    kw_catalog *catalog = self->catalog;
    self->lease = ++catalog->leases;
    self->revision = 0;
    self->write.cells_count = 0;
    add_cell(self, "lease", number_text(self->lease, self->arena));
    if (catalog->stored_revision != catalog->revision) {
        self->revision = catalog->revision;
        add_cell(self, "says", print_registration(catalog, self->arena));
    }
    if (!catalog->stored) {
        add_cell(self, "id", kw_bytes_of_text(catalog->settings.gateway_id));
        add_cell(self, "protocol", number_text(KW_CATALOG_PROTOCOL, self->arena));
    }
    self->check.has_value = catalog->lease > 0;
    self->check.value = number_text(catalog->lease, self->arena);
    self->sent_ns = kw_clock_boot_ns();
    kw_store_handle_write_if(catalog->settings.handle, &self->write, &self->check, on_put, self);
}

/* --- register -------------------------------------------------------------------------------------- */

typedef struct first_put {
    kw_catalog *catalog;
    kw_registered done;
    void *user;
} first_put;

static void
on_registered(void *user, const kw_error *error)
{
    first_put self = *(first_put *)user;
    g_free(user);
    if (!error && !self.catalog->renewing)
        kw_timer_start_ms(self.catalog->timer, RENEW_MS);
    self.done(self.user, error);
}

void
kw_catalog_register(kw_catalog *catalog, kw_deadline deadline, kw_registered done, void *user)
{
    static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is stopping"};
    if (catalog->closed) {
        done(user, &ending);
        return;
    }
    first_put *self = g_new(first_put, 1);
    *self = (first_put){catalog, done, user};
    if (!catalog->instance[0])
        g_snprintf(catalog->instance, sizeof catalog->instance,
                   "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", kw_random_u64(), kw_random_u64());
    put(new_write(catalog, KW_WRITE_PUT, catalog->instance, deadline, on_registered, self));
}

/* --- renew ----------------------------------------------------------------------------------------- */

static void
renewed(void *user, const kw_error *error)
{
    kw_catalog *catalog = user;
    catalog->renewing = false;
    if (!catalog->stored)
        return; /* withdrawn, or lost */
    if (error && !catalog->renewal_failed)
        kw_log(KW_LOG_WARN, "catalog", "lease not renewed; the gateway tries until it succeeds",
               KW_LOG_FACT("gateway", catalog->settings.gateway_id), KW_LOG_FACT("reason", error->text));
    else if (!error && catalog->renewal_failed)
        kw_log(KW_LOG_INFO, "catalog", "lease renewed again",
               KW_LOG_FACT("gateway", catalog->settings.gateway_id));
    catalog->renewal_failed = !!error;
    bool changed = catalog->stored_revision != catalog->revision; /* since the put was sent */
    kw_timer_start_ms(catalog->timer, error ? RENEW_AGAIN_MS : changed ? 0 : RENEW_MS);
}

static void
renew(void *user)
{
    kw_catalog *catalog = user;
    if (catalog->renewing || !catalog->stored)
        return;
    catalog->renewing = true;
    put(new_write(catalog, KW_WRITE_PUT, catalog->instance, kw_deadline_in_ms(KW_LEASE_MS / 2), renewed,
                  catalog));
}

void
kw_catalog_update_registration(kw_catalog *catalog)
{
    catalog->revision++;
    if (catalog->settings.shared)
        renew(catalog);
}

/* --- remove ---------------------------------------------------------------------------------------- */

static void
end_closing(kw_catalog *catalog)
{
    if (!catalog->closed || catalog->removals > 0 || !catalog->timer)
        return;
    kw_timer_free(g_steal_pointer(&catalog->timer));
    catalog->closed(catalog->closed_user);
}

static void
withdrawn(void *user, kw_outcome outcome, const kw_error *error)
{
    registering *self = user;
    kw_catalog *catalog = self->catalog;
    (void)outcome, (void)error; /* a row that remains expires with its lease */
    kw_arena_free(self->arena);
    catalog->removals--;
    end_closing(catalog);
}

void
kw_catalog_withdraw(kw_catalog *catalog)
{
    if (!catalog->instance[0])
        return;
    registering *self =
        new_write(catalog, KW_WRITE_DELETE, catalog->instance, kw_deadline_in_ms(WITHDRAW_MS), NULL, NULL);
    drop_registration(catalog);
    catalog->removals++;
    kw_store_handle_write(catalog->settings.handle, &self->write, withdrawn, self);
}

static void
dead_removed(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    registering *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    (void)outcome;
    if (!error && !applied)
        kw_error_set(&found, KW_BUSY, "a gateway renewed its expired lease; try again");
    end_write(self, found.code == KW_OK ? NULL : &found);
}

void
kw_catalog_remove_dead(kw_catalog *catalog, const kw_registration *dead, kw_deadline deadline,
                       kw_registered done, void *user)
{
    registering *self = new_write(catalog, KW_WRITE_DELETE, dead->instance, deadline, done, user);
    self->check.has_value = true;
    self->check.value = kw_arena_copy(self->arena, dead->lease);
    kw_store_handle_write_if(catalog->settings.handle, &self->write, &self->check, dead_removed, self);
}

/* --- creating and freeing -------------------------------------------------------------------------- */

kw_catalog *
kw_catalog_new(const kw_catalog_settings *settings)
{
    kw_catalog *catalog = g_new0(kw_catalog, 1);
    catalog->settings = *settings;
    catalog->settings.gateway_id = g_strdup(settings->gateway_id);
    catalog->settings.store_table = g_strdup(settings->store_table);
    catalog->table = kw_bytes_of_text(catalog->settings.store_table);
    catalog->timer = kw_timer_new(settings->loop, renew, catalog);
    return catalog;
}

const kw_fence *
kw_catalog_fence(const kw_catalog *catalog)
{
    return catalog->settings.shared ? &catalog->fence : NULL;
}

void
kw_catalog_leave_registration(kw_catalog *catalog)
{
    catalog->keeps_registration = true;
}

void
kw_catalog_close(kw_catalog *catalog, void (*closed)(void *user), void *user)
{
    g_assert(closed);
    catalog->closed = closed;
    catalog->closed_user = user;
    if (catalog->keeps_registration)
        drop_registration(catalog);
    else
        kw_catalog_withdraw(catalog);
    kw_catalog_end_put(catalog);
    end_closing(catalog);
}

/* Call it after close, or without close if the store handle is already closed. */
void
kw_catalog_free(kw_catalog *catalog)
{
    if (!catalog)
        return;
    g_assert(!catalog->putting);
    kw_timer_free(catalog->timer);
    kw_digests_clear(&catalog->serving);
    kw_digests_clear(&catalog->next);
    g_clear_pointer(&catalog->reports_arena, kw_arena_free);
    g_free((char *)catalog->settings.gateway_id);
    g_free((char *)catalog->settings.store_table);
    g_free(catalog);
}
