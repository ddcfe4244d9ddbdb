/* Backups of the catalog: its cells are exported in pages, and imported into an empty catalog.
 *
 *   exported: facts, versions of the policy, records of changes, zones, rows of releases without facts
 *   not exported: registrations of gateways, and the id of the row of facts
 *
 * The row of facts is read at once, so it is consistent. It is in the first page; rows of versions that
 * follow can be newer, and belong to no version then.
 *
 * An import has several calls, and can be repeated after any of them:
 *
 *   BEGIN -> the cell `importing` in the row of facts: the ID of the export -> no gateway is admitted
 *   ADD   -> further cells
 *   END   -> the current version, and `importing` is empty again, in one put
 *
 * Each put of the row of facts is conditional on its id, like all others (put.h).
 */
#pragma once

#include "base/cell.h"
#include "catalog/catalog.h"

/* Maximum size of the row of facts in an export. */
#define KW_EXPORT_ROW_MAX ((size_t)8 * 1024 * 1024)

/* The cells live until done returns. last: the next page begins after this row; empty: there is none. */
typedef void (*kw_catalog_exported)(void *user, const kw_saved_cell *cells, size_t count, kw_bytes last,
                                    const kw_error *error);
/* Reads one page, after the row `after` (empty: the first page). REFUSED during an import. */
void kw_catalog_export(kw_catalog *catalog, kw_bytes after, kw_deadline deadline, kw_catalog_exported done,
                       void *user);

typedef enum kw_import_step { KW_IMPORT_BEGIN, KW_IMPORT_ADD, KW_IMPORT_END } kw_import_step;

typedef struct kw_catalog_import {
    kw_import_step step;
    const char *export_id; /* the same in all calls of an import: 64 hex digits */
    const kw_saved_cell *cells;
    size_t count;
} kw_catalog_import;

/* Everything must live until done, which can be called before this returns. REFUSED: the catalog is not
 * empty, another export is being imported, or a gateway that serves tables is registered. INVALID: a cell
 * that Keyway does not write. BUSY: another import or gateway changed the catalog; try again. */
void kw_catalog_import_cells(kw_catalog *catalog, const kw_catalog_import *import, kw_deadline deadline,
                             kw_simple_done done, void *user);
