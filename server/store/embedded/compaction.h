/* Drops entries at compaction. Correctness does not depend on it: no read can see a dropped entry, before or
 * after the compaction. A compaction sees only some of a row's entries. So each rule depends only on entries
 * that precede the dropped one in the compaction and that are kept:
 *
 *   - Entries of dropped tables are dropped. Table ids are never reused.
 *   - Cells and markers older than their family's TTL are dropped, if the family has no min_versions. The
 *     cells that such a marker hides are older than the TTL, too.
 *   - Cells and older markers that a marker hides are dropped, unless the family keeps deleted cells.
 *   - A cell is dropped if it follows max_versions newer cells of its column. It cannot become visible later:
 *     a newer cell can only be overwritten, or be hidden together with all older ones.
 *
 * The newest marker of a family or column without a TTL stays permanently, because an older put can still
 * arrive. HBase drops it at a major compaction, and then shows older puts that arrive late; here they stay
 * hidden.
 */
#pragma once

#include "store/embedded/tables.h"

/* The factory holds a reference to the list of tables. RocksDB owns the factory. */
rocksdb_compactionfilterfactory_t *kw_compaction_factory_new(kw_embedded_tables *tables);
