/* Reads and interprets the registrations of other gateways, and removes those with expired leases. */
#pragma once

#include "catalog/catalog_internal.h"

/* Registers this gateway, then reads the catalog. Because of this order, if two gateways start at the same
 * time, at least one of them reads the registration of the other. If only this process uses the store, only
 * reads. */
void kw_others_read(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done, void *user);

/* Reads only the registrations. First renews this gateway's own registration, unless that was done within the
 * last second and its content has not changed. */
void kw_others_read_gateways(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done,
                             void *user);

/* True if the lease of the gateway has expired by the store's clock. The image must come from kw_others_read
 * or kw_others_read_gateways. */
bool kw_others_is_dead(const kw_catalog_image *image, const kw_registration *other);

/* True if the gateway serves, will serve, or forgets one of these tables. Also true if this is not known,
 * because the gateway uses another protocol. */
bool kw_others_has_table(const kw_registration *other, const char *const *tables, size_t count);

/* Returns NULL if the list does not have the table. */
const char *kw_others_find_digest(const kw_table_digest *digests, size_t count, const char *table);

/* True if this gateway serves the table, and the other gateway, if it serves the table now or will serve it
 * next, uses the same placements. */
bool kw_others_serves_same(const kw_catalog *catalog, const kw_registration *other, const char *table);

/* Removes registrations with expired leases if they have one of these tables or are very old. If such a
 * gateway was only paused, it finds out that it must be admitted again. BUSY if one of them has renewed its
 * lease in the meantime. */
void kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image, const char *const *tables,
                           size_t count, kw_deadline deadline, kw_registered done, void *user);

/* Returns the step of the change that the gateway has reported. 0: it has reported none. */
uint64_t kw_registration_step(const kw_registration *registration, const kw_change_record *record);
