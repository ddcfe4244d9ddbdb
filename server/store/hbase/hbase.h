/* The store on HBase's Thrift2 servers; see README.md in this folder. */
#pragma once

#include "config/model.h"
#include "store/store.h"

/* Times and sizes that no operator needs to set. The gateway uses kw_hbase_tuning_default; tests use shorter
 * times. */
typedef struct kw_hbase_tuning {
    uint32_t pipeline; /* maximum number of calls in flight on one channel: 1 to KW_HBASE_PIPELINE_MAX */
    int64_t
        connect_timeout_ms; /* for connecting, for an answer to a ping, and until a server counts as silent */
    int64_t ping_ms;        /* a channel that is idle for so long is pinged */
    int64_t backoff_ms;     /* after a server's failure; doubles up to KW_HBASE_BACKOFF_MAX_MS */
    size_t batch_bytes;     /* larger calls with several rows are split */
    uint32_t retry_percent; /* maximum number of retries, as a percentage of the calls */
} kw_hbase_tuning;

extern const kw_hbase_tuning kw_hbase_tuning_default;

/* Does not connect: the store handles do, and the servers can start later. INVALID if no server is configured
 * or the TLS files cannot be used. */
kw_store *kw_hbase_open(const kw_model_hbase *settings, kw_error *ret_error);
/* For tests. */
kw_store *kw_hbase_open_tuned(const kw_model_hbase *settings, const kw_hbase_tuning *tuning,
                              kw_error *ret_error);

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

/* In-memory compaction of a family. Without it, HBase keeps all cells that are not in files in one segment of
 * memory, and a scan of recent cells reads all of them. With BASIC, HBase closes small segments, and such
 * scans skip those whose cells are all older. Keyway creates its tables with BASIC, because passes and sweeps
 * of a change scan recent cells. A flush writes all segments to files, so kw_hbase_markers_ms stays long
 * enough.
 *
 * HBase looks in these places, in this order: the attribute of the family, an attribute with the name of the
 * setting, the configuration of the family, the configuration of the region server. Gateways cannot read the
 * last one. */
#define KW_HBASE_IN_MEMORY_ATTRIBUTE "IN_MEMORY_COMPACTION"
#define KW_HBASE_IN_MEMORY_SETTING "hbase.hregion.compacting.memstore.type"

/* NONE, BASIC, EAGER or ADAPTIVE, from the first of these places; empty: the family does not say. */
kw_bytes kw_hbase_in_memory_compaction(const kw_family_spec *family);
