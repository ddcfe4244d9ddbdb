/* Other gateways: what their registrations in an image of the catalog mean for this one. */
#pragma once

#include "catalog/inside.h"

/* Registers this gateway, then reads the catalog. In this order: of two gateways that begin at once, at least
 * one reads the other's registration. Stores of this process alone are just read. */
void kw_others_read(kw_catalog *catalog, kw_deadline deadline, kw_catalog_read_done done, void *user);

/* True if its lease has ended, by the store's clock. The image is one of kw_others_read. */
bool kw_others_is_dead(const kw_catalog_image *image, const kw_registration *other);

/* True if it serves, or is about to serve, or forgets one of these tables, as far as is known. */
bool kw_others_has_table(const kw_registration *other, const char *const *tables, size_t count);

/* Removes the registrations whose leases have ended: those with one of these tables, and very old ones. A
 * gateway that was stopped for so long finds that it must be admitted again. BUSY when one came back
 * meanwhile. */
void kw_others_remove_dead(kw_catalog *catalog, const kw_catalog_image *image, const char *const *tables,
                           size_t count, kw_deadline deadline, kw_registered done, void *user);
