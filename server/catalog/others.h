/* Other gateways: what their registrations in an image of the catalog mean for this one. */
#pragma once

#include "catalog/catalog_internal.h"

/* Registers this gateway, then reads the catalog. Because of this order, if two gateways start at once, at
 * least one reads the other's registration. For a store that only this process uses, only reads. */
void kw_others_read(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done, void *user);

/* The same, but the image has only the registrations. */
void kw_others_read_gateways(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done,
                             void *user);

/* True if its lease has expired, by the store's clock. The image must come from kw_others_read. */
bool kw_others_is_dead(const kw_catalog_image *image, const kw_registration *other);

/* True if the gateway serves, is about to serve, or is forgetting one of these tables, as far as is known. */
bool kw_others_has_table(const kw_registration *other, const char *const *tables, size_t count);

/* NULL: the list does not have the table. */
const char *kw_others_find_digest(const kw_table_digest *digests, size_t count, const char *table);

/* True if this gateway serves the table, and the other one, as far as it has the table, has the same
 * placements.
 */
bool kw_others_serves_same(const kw_catalog *catalog, const kw_registration *other, const char *table);

/* Removes registrations with expired leases: those with one of these tables, and very old ones. A gateway
 * that was paused for that long finds that it must be admitted again. BUSY if one of them renewed its lease
 * in the meantime. */
void kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image, const char *const *tables,
                           size_t count, kw_deadline deadline, kw_registered done, void *user);

/* The step that the gateway has reported for the change; 0: none. */
uint64_t kw_registration_step(const kw_registration *registration, const kw_change_record *record);
