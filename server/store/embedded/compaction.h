/* What compaction may leave out. Correctness never depends on it: everything dropped here is invisible
 * to every read before and after. Dropped are
 *
 *   - entries of dropped tables: ids are never given twice;
 *   - cells past their family's TTL, when the family keeps no minimum of versions;
 *   - a cell that follows max_versions newer cells of its column in the same compaction. Those exist: a
 *     cell once written is only ever overwritten in place or hidden, together with all older ones, by a
 *     delete marker.
 *
 * Delete markers, and cells that only a marker hides, stay: a compaction sees some of a row's entries, so it
 * cannot know that nothing older will come behind the marker it would drop.
 */
#pragma once

#include "store/embedded/catalog.h"

/* RocksDB takes the factory over; catalog must outlive it. */
rocksdb_compactionfilterfactory_t *kw_compaction_factory_new(kw_catalog *catalog);
