/* Stores of versions without facts. Those kept one row TABLE/PATH/LAYOUT for each layout that was ever served
 * and one row store/STORE_TABLE for each store table, both with the fingerprint of the key rule.
 *
 * They did not keep fields: those of the first policy seen are taken for what the rows were written with.
 */
#pragma once

#include "catalog/compare.h"
#include "catalog/image.h"

/* The facts that the legacy rows give for the table, NULL when there are none. Placements are not verified;
 * those of another layout than the policy's are retired, unless the policy's layout is not among them. */
kw_facts *kw_catalog_adopt(const kw_catalog_image *image, const kw_facts *wanted, kw_arena *arena);

/* For a table that neither facts nor legacy rows name. REFUSED if a store table of it holds rows that were
 * written under another key rule, for a table with another name. */
bool kw_catalog_check_legacy(const kw_catalog_image *image, const kw_facts *wanted,
                             const kw_evidence *evidence, kw_error *ret_error);
