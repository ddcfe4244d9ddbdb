/* What compaction may leave out. Correctness never depends on it: everything dropped here is invisible
 * to every read, before and after. A compaction sees some of a row's entries only, so each rule rests on
 * entries that it sees in front of the dropped one, and that stay:
 *
 *   - entries of dropped tables go: ids are never given twice;
 *   - cells and markers past their family's TTL go, when the family keeps no minimum of versions: what such
 *     a marker hides is past the TTL too;
 *   - what a marker hides goes, older markers included, unless the family keeps deleted cells;
 *   - a cell goes that follows max_versions newer cells of its column. A cell once written is only ever
 *     overwritten in place, or hidden together with all older ones.
 *
 * The newest marker of a family or column without a TTL stays for good: no compaction can know that nothing
 * older will come behind it. HBase drops it at a major compaction, after which older puts that arrive
 * late are seen; here they stay hidden.
 */
#pragma once

#include "store/embedded/tables.h"

/* RocksDB takes the factory over, which holds a reference of the catalog. */
rocksdb_compactionfilterfactory_t *kw_compaction_factory_new(kw_embedded_tables *catalog);
