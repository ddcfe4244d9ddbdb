/* Adopts a store whose catalog was written by an old release of Keyway, which did not write facts. Such a
 * catalog has one row TABLE/PATH/LAYOUT for each layout ever served and one row store/STORE_TABLE for each
 * store table, both with the fingerprint of the key rule.
 *
 * It does not contain fields. So the fields of the first policy that is served are assumed to be those that
 * the rows were written with.
 */
#pragma once

#include "catalog/compare.h"
#include "catalog/image.h"

/* The facts that the legacy rows imply for the table; NULL if they do not have its primary path. Placements
 * are not verified. In each path, the placement with the policy's layout is complete, or the one with the
 * highest layout if no row has the policy's. The others are retired. */
kw_facts *kw_catalog_adopt(const kw_catalog_image *image, const kw_facts *wanted, kw_arena *arena);

/* For a table that neither facts nor legacy rows name. REFUSED if one of its store tables holds rows written
 * under another key rule, for a table with another name. */
bool kw_catalog_check_legacy(const kw_catalog_image *image, const kw_facts *wanted,
                             const kw_evidence *evidence, kw_error *ret_error);
