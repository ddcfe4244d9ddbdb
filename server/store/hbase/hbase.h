/* The store on HBase's Thrift2 servers; see README.md in this folder. */
#pragma once

#include "config/model.h"
#include "store/store.h"

/* Does not connect: the store handles do, and the servers can start later. INVALID if no server is configured
 * or the TLS files cannot be used. */
kw_store *kw_hbase_open(const kw_model_hbase *settings, kw_error *ret_error);

/* The configuration of a family that says how many milliseconds old a delete marker must be before a major
 * compaction drops it. */
#define KW_HBASE_MARKERS_SETTING "hbase.hstore.time.to.purge.deletes"

/* The least value of this setting for the tables of a gateway with this `store.late`. Compactions must keep
 * the delete markers of a removal until nothing that it hides can arrive. Otherwise, a put with a lower
 * timestamp that is applied after the compaction becomes visible, in one of several rows of the record. The
 * age of a marker counts from its timestamp, so the value is the sum of these times:
 *
 *   store.late   between the timestamp and the sending: the call waits, or the gateway is paused
 *   store.late   the servers apply the call at most this long after it was sent
 *   two hours    the put is in memory, where a compaction does not find it: the compaction drops the marker, and
 *                keeps the put. HBase writes it to a file within 65 minutes
 *                (hbase.regionserver.optionalcacheflushinterval, one hour, and a delay of up to five minutes)
 */
int64_t kw_hbase_markers_ms(int64_t late_ms);
