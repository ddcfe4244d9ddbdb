/*
 * Keyway's Thrift interface. Clients send and receive logical records; the policy file of the gateway
 * defines the HBase row key of each record.
 *
 * There are two services: `Data` for applications, `Admin` for people and tools. Both share one port. No
 * method name is in both, so clients need no multiplexed protocol. Every method declares the same
 * exception. The gateway detects binary or compact protocol, framed or unframed transport.
 *
 * No member has a default value in this file, because not all languages apply it to every new struct. A
 * member that is absent has the default that its comment gives.
 */
namespace c_glib Keyway
namespace java io.keyway.thrift
namespace py keyway_thrift
namespace go keyway
namespace js keyway

/** The value of a field. Exactly one member is set. The values in a map cannot be maps. */
union Value {
  1: bool flag,
  /** Integers and timestamps. The field declares the unit of a timestamp. */
  2: i64 number,
  3: double real,
  4: string text,
  5: binary bytes,
  /** Entries of a map field, by name. A put writes only the entries that it contains. */
  6: map<string, Value> entries
}

/** Field name to value. Fields that are not in the map are absent. */
typedef map<string, Value> Record

/** What the caller can do about an error. */
enum Code {
  /** The request is invalid; a retry fails again. */
  INVALID = 1,
  /** The table, path, method or policy version does not exist. */
  NOT_FOUND = 2,
  /** The caller has no permission for this operation. */
  DENIED = 3,
  /** A configured limit was exceeded, or a sequence has no more numbers. */
  LIMIT = 4,
  /** Too much load; retry after retry_after_ms. */
  BUSY = 5,
  /** The deadline expired. */
  TIMEOUT = 6,
  /** The store cannot be reached at the moment. */
  UNAVAILABLE = 7,
  /** The store refused the operation, or the rows or the catalog do not allow it. A retry fails until that changes. */
  REFUSED = 8,
  /** Stored data is damaged. */
  CORRUPT = 9,
  /** An internal error of the gateway. */
  INTERNAL = 10
}

exception KeywayError {
  1: required Code code,
  /** Names the table and the field, if any. */
  2: required string message,
  /** How long to wait before a retry. Absent if the gateway does not know. An error with REFUSED has it only if a retry
   *  can succeed after this time. */
  3: optional i32 retry_after_ms,
  /** The write may have been applied: read before you write again. */
  4: optional bool maybe_applied,
  /** The id of the call in the log of the gateway. Absent if the call was not logged, because the log level
   *  excludes it, or because many calls failed in the same second. */
  5: optional string request_id
}

/** The error of one record, in a call with several records. */
struct Failure {
  1: required Code code,
  2: required string message,
  3: optional i32 retry_after_ms,
  4: optional bool maybe_applied
}

/** The outcome of a write. */
enum Outcome {
  OK = 0,
  /** Not applied. */
  FAILED = 1,
  /** May have been applied. */
  UNKNOWN = 2
}

/** How durable a write is when it is acknowledged: the levels of HBase. */
enum Durability {
  STORE_DEFAULT = 0,
  SKIP_WAL = 1,
  ASYNC_WAL = 2,
  SYNC_WAL = 3,
  FSYNC_WAL = 4
}

struct Options {
  /** Fail with TIMEOUT if there is no reply within this time. */
  1: optional i32 deadline_ms,
  2: optional Durability durability,
  /** Timestamp of the cells, in milliseconds since 1970. If absent, the store or the gateway sets it. */
  3: optional i64 timestamp
}

/** The result of one write. */
struct Written {
  1: required Outcome outcome,
  /** Fields that the gateway generated (sequence numbers, ids, times). Absent if there are none, or if the outcome is
   *  FAILED. */
  2: optional Record made,
  /** Present unless the outcome is OK. */
  3: optional Failure failure
}

/** The result of a conditional write. */
struct Decided {
  /** True if the stored record met the condition, and the record was written. */
  1: required bool applied,
  /** Generated fields, as in Written. Absent if there are none, or if nothing was written. */
  2: optional Record made
}

/** The result of a point read. If neither member is present, the record does not exist. */
struct Found {
  1: optional Record record,
  2: optional Failure failure
}

/** What one write stored in a record: the key, and the fields with this timestamp. */
struct RecordVersion {
  /** In milliseconds since 1970. */
  1: required i64 timestamp,
  2: required Record record
}

enum CompareOp {
  LESS = 0,
  LESS_OR_EQUAL = 1,
  EQUAL = 2,
  NOT_EQUAL = 3,
  GREATER_OR_EQUAL = 4,
  GREATER = 5
}

/** Compares the stored value of `field` with `value`, in the order of the stored bytes. Without a value,
 *  EQUAL means that the field is absent, and NOT_EQUAL that it is present. As in HBase, an empty stored
 *  value, such as an empty string, counts as absent. */
struct Condition {
  /** A field, or an entry of a map, such as `followed.bob`. */
  1: required string field,
  2: required CompareOp op,
  3: optional Value value
}

enum Order {
  ASCENDING = 1,
  DESCENDING = 2
}

/** from <= field < to by default. Each end is optional, and can include or exclude its value. The strings that begin
 *  with "ab" are in the range from "ab" to "ac". */
struct Range {
  1: required string field,
  2: optional Value from_value,
  3: optional Value to_value,
  /** Default: true. */
  4: optional bool from_inclusive,
  /** Default: false. */
  5: optional bool to_inclusive
}

/** A query. The gateway computes the row ranges to read. */
struct Query {
  1: required string table,
  /** Fields bound to one value. */
  2: optional Record bound,
  /** Fields bound to one of several values. */
  3: optional map<string, list<Value>> bound_any,
  /** A range on the field after the bound fields. */
  4: optional Range range,
  /** Order of the first field of the path's rule that is not bound; see keyway-policy(5), "Order of
   *  results". Default: the order of the path. */
  5: optional Order order,
  /** Name of the path to use. Default: the gateway chooses. */
  6: optional string path,
  /** Fields and entries of map fields, such as `followed.bob`, to return in addition to the key. Default:
   *  all. All parameters called columns have this form. */
  7: optional list<string> columns,
  /** A filter in HBase's filter language, which the store evaluates. */
  8: optional string filter,
  /** Maximum number of rows, over all pages. */
  9: optional i64 limit,
  /** Maximum number of rows in one page. */
  10: optional i32 page_rows,
  /** Approximate maximum number of bytes in one page. */
  11: optional i32 page_bytes,
  /** Allows a query that must read a whole table. */
  12: optional bool full_scan,
  13: optional i32 deadline_ms,
  /** Skip and count rows whose key does not follow the key rule of the path, or whose values cannot be decoded. Other
   *  programs can write such rows. Default: the query fails with CORRUPT and names the row. */
  14: optional bool skip_undecodable
}

struct Page {
  1: required list<Record> rows,
  /** The cursor for `nextPage`. Absent after the last page. */
  2: optional binary cursor,
  3: required i64 rows_scanned,
  4: required i64 rows_returned,
  /** Number of rows that this page skipped because of `skip_undecodable`; absent: 0. A page can have such rows only, and
   *  a cursor. */
  5: optional i64 undecodable
}

/** A block of numbers: first, first + 1, ... first + count - 1. */
struct Allocation {
  1: required i64 first,
  2: required i64 count
}

struct FieldInfo {
  1: required string name,
  /** bool, int, double, string, bytes, timestamp, map. */
  2: required string type,
  /** True if the field is part of the record's identity. */
  3: required bool key,
  /** Column that stores the field ("family:qualifier"; for a map "family:prefix*"). Absent if only the key holds it. */
  4: optional string column,
  /** Unit of a timestamp: s, ms, us, ns. */
  5: optional string unit,
  6: optional string about,
  /** Type of the values of a map. */
  7: optional string of
}

struct PathInfo {
  1: required string name,
  2: required string store_table,
  3: required i32 layout,
  4: required string fingerprint,
  /** The components of the key rule. */
  5: required list<string> components,
  /** Number of buckets that a query must visit if it does not bind their fields. */
  6: required i64 buckets,
  /** State of the path in the catalog: "complete", or "filling" while it does not have all rows. Absent if the policy is
   *  not served. */
  7: optional string state,
  /** False if the path has rows that are older than the catalog, and these rows were neither verified nor compared
   *  with the primary path. */
  8: optional bool verified,
  /** Number of rows that the gateway checked before it served the path for the first time, or that `verify` read. Absent
   *  if neither happened. */
  9: optional i64 checked_rows,
  /** When that ended, in milliseconds since 1970. */
  10: optional i64 checked_at,
  /** True if the path maps records to their rows, and holds no records. */
  11: optional bool association,
  /** How the store table differs from the policy, for example another TTL of a column family. Absent if no difference is
   *  known. */
  12: optional string differences,
  /** True if the key has fields that can change. The rows of the path lead to those of the primary path, and hold no
   *  records. */
  13: optional bool hints,
  /** True if no two records have the same values of the fields in the key, and get finds a record by them. */
  14: optional bool unique
}

struct TableInfo {
  1: required string name,
  2: required list<FieldInfo> fields,
  3: required list<PathInfo> paths,
  4: optional string about,
  /** Why calls that read or write rows of the table fail with UNAVAILABLE. Absent if the table is served. */
  5: optional string not_served
}

/** The bytes of one component in a row key. */
struct KeyPiece {
  1: required string component,
  2: required binary bytes,
  /** The bytes as readable text: printable characters, and hex escapes for all other bytes. */
  3: required string text
}

struct ExplainedKey {
  1: required string path,
  2: required string store_table,
  3: required binary row_key,
  4: required list<KeyPiece> pieces,
  /** Start row of the region that holds the row. Absent if the store does not report it. */
  5: optional binary region_start,
  6: optional string region_server,
  /** Row at which this region ends, exclusive; empty for the last region. */
  7: optional binary region_stop
}

/** A row key, divided by the key rule of one path. */
struct DecodedKey {
  1: required string path,
  2: required string store_table,
  /** The bytes of the components, as far as the key can be divided. */
  3: required list<KeyPiece> pieces,
  /** The fields of the key; if the key does not fit, those that could be decoded. */
  4: required Record key,
  /** The component that does not fit. Absent if the key fits, or has bytes after the last component. */
  5: optional string component,
  /** Why the key does not fit the rule. Absent if it fits. */
  6: optional string reason
}

struct ExplainedRange {
  /** Inclusive. */
  1: required binary start,
  /** Exclusive; empty means the end of the table. */
  2: required binary stop,
  /** Ranges of one group are merged. Groups are read one after another. */
  3: required i32 group,
  4: required string text
}

/** How a record is stored, or how a query is run. */
struct Explanation {
  /** For a record: its key in every path. */
  1: optional list<ExplainedKey> keys,
  /** For a query: the path and its ranges in logical order. */
  2: optional string path,
  3: optional list<ExplainedRange> ranges,
  /** True if the store reads the ranges backwards. */
  4: optional bool reversed,
  /** Fan-out, pruned ranges, and conditions checked on each row: one sentence each. */
  5: optional list<string> notes,
  /** Expected number of rows scanned per row returned; 1 is best. */
  6: optional double expected_reads_per_row,
  7: required string text,
  /** Number of ranges; `ranges` has the first 4,096 of them. */
  8: optional i64 ranges_count
}

struct PolicyInfo {
  /** The policy as YAML text, without secrets. */
  1: required string text,
  2: required list<TableInfo> tables,
  /** When the policy was loaded, in milliseconds since 1970. */
  3: required i64 loaded_at,
  /** If the catalog keeps the policy: the policy version in service; 0 before the first one. `text` then has the
   *  tables and sequences of this policy version. */
  4: optional i64 version,
  /** If the catalog keeps the policy: the other settings, from the file of this gateway, without secrets. */
  5: optional string settings
}

struct ApplyOptions {
  /** Why the policy changes; for the history. At most 1,000 bytes. */
  1: optional string reason,
  /** Only return the plan. */
  2: optional bool dry_run,
  /** The text is a whole policy file: use its settings tables and sequences, and ignore the others. */
  3: optional bool import_file,
  /** States that only gateways write the store tables of this policy, now and until changes of key rules have ended.
   *  On HBase, a change of a key rule needs this statement, because Keyway cannot check it. */
  4: optional bool only_writer
}

/** What a guess of the duration of a copy assumes, before anything was measured. */
struct CopyGuess {
  /** How often each row is read: to copy it, to compare it and, on HBase, to compare it once more. */
  1: required i32 reads,
  /** The time before the copy begins (HBase: store.late). */
  2: required i64 wait_ms,
  /** Rows per second of each of these reads, while no callers use the gateways. */
  3: required i64 rows_per_second,
  /** The same with the pauses that a change makes for callers. */
  4: required i64 rows_per_second_beside_callers
}

struct AppliedPolicy {
  /** The policy version that is current now. After a dry run: the one that would be current. */
  1: required i64 version,
  /** What changes in each table, and what is refused and why. */
  2: required string plan,
  /** True if the policy is refused; only after a dry run. */
  3: required bool refused,
  /** False if the current policy version has the same text, so that there is no new one. */
  4: required bool changed,
  /** The tables whose rows are copied, because a key rule changes or a path is added. */
  5: optional list<string> copied_tables,
  /** Present if rows are copied. */
  6: optional CopyGuess copy_guess
}

/** A policy version that the catalog keeps. */
struct PolicyVersion {
  1: required i64 version,
  /** The subject of the caller's client certificate, or "anonymous". */
  2: required string author,
  /** When it was applied, in milliseconds since 1970. */
  3: required i64 applied_at,
  4: required string reason,
  /** Settings tables and sequences as YAML. Absent in a history. */
  5: optional string text
}

/** A cell of the catalog, or a counter of sequences, in a backup. */
struct SavedCell {
  /** The row key; of a counter: its name. */
  1: required binary row,
  /** The qualifier; of a counter: the column family. */
  2: required binary column,
  /** Of a counter: a decimal number. */
  3: required binary value
}

/** A part of an export of the catalog. */
struct CatalogPage {
  1: required list<SavedCell> cells,
  2: required list<SavedCell> counters,
  /** The store table of the counters; empty if they are not in the store. */
  3: required string counters_table,
  /** The setting sequences.keep. */
  4: required i64 counters_keep_ms,
  /** For the next page. Absent: this is the last one. */
  5: optional binary cursor
}

/** A part of an import of the catalog. */
enum ImportStep {
  /** Begins the import: until it has ended, no gateway serves tables. Without cells and counters. */
  START = 1,
  /** Cells, except the cell `policy` of the row `=facts`; and counters. */
  ADD = 2,
  /** Ends the import. The cell `policy`, if the export has it. */
  FINISH = 3
}

struct CatalogPart {
  /** Identifies the export: 64 hexadecimal digits, the same in all parts. */
  1: required string export_id,
  2: required ImportStep step,
  /** Together at most 10,000 cells and counters of 2 MiB. The cells of one row, except `=facts`, are in one part. */
  3: optional list<SavedCell> cells,
  /** Each counter is raised to this value, if it is less. */
  4: optional list<SavedCell> counters,
  /** Not used: the counters go to the table of sequences of the gateway. */
  5: optional string counters_table,
  6: optional i64 counters_keep_ms
}

/** What the operator orders for a change of a key rule. */
enum ChangeAction {
  /** Queries read the rows under the new key rule. All rows must be copied and compared. */
  SWITCH = 1,
  /** Undoes SWITCH: queries read the rows under the old key rule again. While COMPLETE waits for cursors, it withdraws
   *  COMPLETE; after that, it is not possible. On HBase, it also withdraws CANCEL, while removals still reach the rows
   *  under the new key rule. */
  REVERSE = 2,
  /** Ends the change: writes go only to the rows under the new key rule. Cannot be undone. The call returns at once.
   *  Unless expire_cursors is set, the gateway then waits until the cursors of scans under the old key rule have
   *  expired; during this wait, REVERSE withdraws the command. */
  COMPLETE = 3,
  /** Ends the change before SWITCH, or after REVERSE: a new policy version has the old key rule again. */
  CANCEL = 4,
  /** Stops copying and comparing rows. Writes still go to the rows under both key rules. */
  PAUSE = 5,
  RESUME = 6,
  /** Limits how many rows are copied and compared per second. */
  THROTTLE = 7,
  /** Compares all rows again. */
  COMPARE = 8
}

struct ChangeOptions {
  /** The `version` of the change that the caller has seen, such as both-old. If the change has another one, the call
   *  fails with REFUSED. */
  1: optional string expected_version,
  /** THROTTLE only: the maximum number of rows per second; 0: no limit. THROTTLE changes only what is set here. */
  2: optional i64 rows_per_second,
  /** SWITCH only: switch even if some rows were not copied; see `ChangeStatus.foreign_rows`. */
  3: optional bool leave_undecodable,
  /** COMPLETE only: the cursors of scans under the old key rule expire now, so these scans fail. */
  4: optional bool expire_cursors,
  /** THROTTLE only: the share of the time that copying and comparing can take while callers use the gateways, 1 to 100
   *  percent; 0: the default, which depends on the number of cores and on the latencies of callers. */
  5: optional i32 share_percent
}

/** A change of the key rule of a path, while the path is in use. The rows under the old key rule are in one store
 *  table, those under the new key rule in another. The struct also describes a change that adds paths to a table with
 *  rows, or drops paths. In such a change, the old rows are the rows of the primary path. It also describes a change
 *  that allows or forbids increments and conditional writes. Such a change moves no rows: its path is the primary one,
 *  and its old and new rows are the same. */
struct ChangeStatus {
  1: required string table,
  /** Of paths that are added together: the first one. */
  2: required string path,
  /** The place of the change on its ladder: a rung, and the side whose rows queries read. In both-old, writes go to the
   *  rows under both key rules, and queries read those under the old one. both-new differs from both-old in that queries
   *  read the rows under the new key rule. In closing-new, the cursors of scans under the old key rule are rejected: the
   *  change is being completed. On HBase, a change also passes other rungs, which the manual page keyway-changes(7)
   *  lists. */
  3: required string version,
  /** What the gateway does now, or waits for, such as copying, comparing, or ready to switch. */
  4: required string phase,
  /** The commands that are possible now, such as "switch, cancel". Can be empty. */
  5: required string next_commands,
  /** Who began the change: the subject of the caller's client certificate, or "anonymous". */
  6: required string author,
  7: required string reason,
  /** The policy version that began the change. */
  8: required i64 policy_version,
  /** When the change began, in milliseconds since 1970. */
  9: required i64 started_at,
  /** When `version` was set, in milliseconds since 1970. */
  10: required i64 version_at,
  11: required i32 old_layout,
  12: required i32 layout,
  13: required string old_store_table,
  14: required string store_table,
  /** Queries read the rows under the new key rule. */
  15: required bool reads_new,
  16: required bool paused,
  /** The change does not proceed without a command: it is paused, ready for a command, or its rows differ. */
  17: required bool waiting,
  /** As THROTTLE has set it; 0: no limit. */
  18: required i64 limit_rows_per_second,
  /** Current rate of copying or comparing; 0 if neither runs. */
  19: required double rows_per_second,
  /** Progress of copying or comparing, 0 to 1. */
  20: required double progress,
  /** Estimated time until all rows are copied, compared and, on HBase, compared once more for writes in the meantime:
   *  by the time that the slices so far have taken, with the pauses between them. Absent if nothing was measured. */
  21: optional i64 left_ms,
  /** All rows were copied. */
  22: required bool copied,
  /** All rows were compared. The members from `missing` on have the differences. */
  23: required bool compared,
  24: required i64 rows_copied,
  25: required i64 rows_compared,
  /** This member and the next two count the differences that the last comparison found, before repairs. A record has
   *  one row that queries read, which the comparison takes as correct, and one row that they do not read. `missing`:
   *  records without the row that queries do not read. */
  26: required i64 missing,
  /** Records whose two rows have different columns or values. */
  27: required i64 different,
  /** Records that have only the row that queries do not read. With several writers, also records for which this row
   *  has cells that the other row lacks. */
  28: required i64 extra,
  /** How many of these differences were repaired. */
  29: required i64 repaired,
  /** Rows that were not copied, because their key cannot be decoded under the old key rule, or their record has no key
   *  under the new one. */
  30: required i64 foreign_rows,
  /** The first of these rows, and why it was not copied. */
  31: optional string example,
  /** When the last cursor of a scan under the old key rule expires, in milliseconds since 1970. Absent except in
   *  both-new. */
  32: optional i64 cursors_until,
  /** Why the last step, or the last slice of work, failed. Absent if it did not fail. */
  33: optional string problem,
  /** On HBase: the result that the last command ordered. copied: rows are copied and compared. switched: queries read
   *  the rows under the new key rule. completed: the change has ended. reversed: queries read the rows under the old
   *  key rule again. cancelled: the old key rule applies again. The gateways set place after place until they
   *  reach this goal. Absent on other stores. */
  34: optional string goal,
  /** On HBase: the gateway_id of the gateway that sets the places and copies the rows. If this gateway stops, another
   *  one continues. Absent on other stores, or if unknown. */
  35: optional string holder,
  /** The paths that are being added. All members above describe these paths together. Absent if no paths are added. */
  36: optional list<string> added_paths,
  /** The paths that are being dropped. Absent if no paths are dropped. */
  37: optional list<string> dropped_paths,
  /** As THROTTLE has set it. Absent: the default. */
  38: optional i32 share_percent
}

/** Options of a column family in HBase. Absent options have the default of the store. */
struct FamilyOptions {
  1: required string name,
  /** NONE, SNAPPY, LZ4, ZSTD, LZO, GZ. */
  2: optional string compression,
  /** NONE, ROW, ROWCOL. */
  3: optional string bloom_filter,
  4: optional i32 ttl_seconds,
  5: optional i32 max_versions,
  6: optional i32 min_versions,
  7: optional i32 block_size,
  8: optional bool block_cache,
  9: optional bool in_memory,
  /** NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1. */
  10: optional string block_encoding,
  /** 0: not replicated, 1: replicated. */
  11: optional i32 replication_scope,
  12: optional bool keep_deleted_cells
}

/** How a new table is split into regions: by keys, an algorithm or a sample, at most one of them. */
struct SplitOptions {
  /** The split keys. */
  1: optional list<binary> keys,
  /** HexStringSplit, UniformSplit, DecimalStringSplit, or rule: split at the buckets and prefixes of the
   *  key rule. Needs regions. */
  2: optional string algorithm,
  3: optional i32 regions,
  /** Typical records: split so that each region gets an equal share of them. Needs regions. */
  4: optional list<Record> sample
}

struct CreateOptions {
  /** Path whose store table to create. Default: the store tables of all paths. */
  1: optional string path,
  /** Overrides the families of the policy. */
  2: optional list<FamilyOptions> families,
  3: optional SplitOptions splits,
  /** Accept a store table that already exists. */
  4: optional bool if_absent
}

struct ForgetOptions {
  /** Path to remove. Default: the whole table. */
  1: optional string path,
  /** Delete the rows permanently, but only from store tables that Keyway created. */
  2: optional bool drop_rows
}

/** How a path of a table differs from the primary path. */
enum DifferenceKind {
  /** The path does not have the record. */
  MISSING = 0,
  /** The path has other columns or values than the primary path. */
  DIFFERENT = 1,
  /** Only this path has the record; the primary path does not. */
  EXTRA = 2,
  /** The row key does not follow the path's rule, so the row belongs to no record. It is never repaired. */
  FOREIGN = 3
}

struct ScrubOptions {
  /** Cursor from the previous slice. Default: the first slice. */
  1: optional binary cursor,
  /** Change the rows of the other paths to match the primary path. */
  2: optional bool repair,
  /** Maximum number of records in this slice, 1 to 1,000. Default: 1,000. */
  3: optional i32 max_records,
  /** Maximum number of differences to return, 0 to 1,000. Default: 100. All differences are counted. */
  4: optional i32 max_differences,
  /** Rows that differ are counted only if they stay unchanged for this time, 0 to 10,000. Default: 1,000. */
  5: optional i32 settle_ms,
  6: optional i32 deadline_ms
}

struct Difference {
  1: required DifferenceKind kind,
  /** The path that differs from the primary path. For FOREIGN: the path that has the row. */
  2: required string path,
  /** The row key in this path. */
  3: required binary row_key,
  /** The identity of the record. Absent for FOREIGN. */
  4: optional Record key,
  /** How the rows differ, as readable text. */
  5: required string text,
  6: required bool repaired
}

/** The result of one slice of a scrub. */
struct Scrubbed {
  /** Rows read from the scanned path: first the primary path, then each other path. */
  1: required i64 rows,
  2: required i64 missing,
  3: required i64 different,
  4: required i64 extra,
  5: required i64 foreign_rows,
  /** How many of the missing, different and extra records were repaired. */
  6: required i64 repaired,
  /** Records written during the comparison, or so recently that the write is possibly not finished. No other
   *  count includes them; scrub again later to compare them. */
  7: required i64 unsettled,
  8: required list<Difference> differences,
  /** Cursor for the next slice. Absent after the last slice. It contains row keys, and does not expire. */
  9: optional binary cursor,
  /** Progress over all paths, 0 to 1, estimated as if keys were evenly spread. */
  10: required double progress,
  /** Hints of paths over fields that change, whose records have other values now. They do no harm, and are
   *  deleted some time later. Absent if the slice read no hints. */
  11: optional i64 stale_hints
}

struct VerifyOptions {
  /** Default: the primary path. */
  1: optional string path,
  /** Cursor of the previous slice. Absent: begin with the first row. */
  2: optional binary cursor,
  /** Maximum number of rows to read, approximately: 1 to 10,000. Default: 10,000. */
  3: optional i32 max_rows,
  /** Maximum number of examples to return, 0 to 100. Default: 20. */
  4: optional i32 max_examples,
  5: optional i32 deadline_ms
}

/** A row that does not fit. */
struct UnfitRow {
  1: required binary row_key,
  /** The field whose value cannot be decoded. Absent if the key does not follow the rule, or if the row is too large. */
  2: optional string field,
  /** Why the row does not fit, as readable text. */
  3: required string text
}

/** The number of rows that have these bytes. */
struct RowCount {
  1: required binary bytes,
  2: required i64 rows
}

/** The result of one slice of a verification. */
struct Verified {
  /** Rows that were read. */
  1: required i64 rows,
  /** Rows whose key does not follow the key rule. */
  2: required i64 foreign_rows,
  /** Rows whose key follows the rule, but that have a value that cannot be decoded. */
  3: required i64 undecodable_rows,
  /** Rows that are too large to be read as a whole. Their keys follow the rule. */
  4: required i64 large_rows,
  /** For each field with a value that cannot be decoded: how many rows have one. */
  5: required map<string, i64> undecodable_fields,
  /** The foreign rows by the first two bytes of their keys. */
  6: required list<RowCount> first_bytes,
  /** The rows that fit by the bytes of the component that scatters them over buckets. Empty if there is none. */
  7: required list<RowCount> buckets,
  /** The rows that fit by the age of their newest cell: less than an hour, a day, a week, 30 days, 365 days; older. */
  8: required list<i64> ages,
  /** Timestamps of the oldest and the newest cell of the rows that fit, in milliseconds since 1970. Absent without
   *  rows. */
  9: optional i64 oldest,
  10: optional i64 newest,
  /** Rows with a cell that is older than the `ttl` of its family in the policy. */
  11: required i64 expired_rows,
  /** Rows with a cell whose timestamp is more than a minute in the future. */
  12: required i64 future_rows,
  /** Rows with several versions of a column, and the most versions of a column, up to 1,000. */
  13: required i64 versioned_rows,
  14: required i64 most_versions,
  15: required list<UnfitRow> examples,
  /** Cursor for the next slice. Absent after the last slice. It contains row keys, and does not expire. */
  16: optional binary cursor,
  /** 0 to 1, estimated as if keys were evenly spread. */
  17: required double progress,
  /** True after the last slice if all rows of all slices fit. The catalog then records the path as verified. */
  18: required bool verified
}

struct CreatedTable {
  1: required string store_table,
  2: required list<binary> split_keys,
  /** False if the store table already existed. */
  3: required bool created
}

struct Problem {
  1: required i32 line,
  2: required i32 column,
  3: required string message,
  4: optional string hint
}

/** A policy to evaluate, without serving it. */
struct Candidate {
  /** Name of the policy in the advice, such as its file name. */
  1: required string name,
  /** YAML, at most 1 MiB. */
  2: required string text
}

struct NamedQuery {
  1: required string name,
  2: required Query query
}

struct AdviseOptions {
  /** Number of regions of each store table, 1 to 256. Default: that of the policy's splits, or 16. */
  1: optional i32 regions,
  /** The timestamp field that orders the writes. Default: the first one that every record has, or the order
   *  of the sample if there is none. */
  2: optional string time_field,
  /** Length of the windows over which writes are counted. Default: a minute, or more if a minute has hardly
   *  any records. */
  3: optional i64 window_ms
}

/** How writes are spread over places (buckets or regions). Shares are 0 to 1. */
struct Spread {
  /** Writes per place, in key order. */
  1: required list<i64> counts,
  /** Number of places with at least one write. */
  2: required i32 reached,
  /** Writes of the hottest place divided by the mean, over the whole sample; 1 is best. */
  3: required double hottest_to_mean,
  /** Share of the hottest place in a typical window. */
  4: required double window_share,
  /** Share of the hottest place in the worst window. */
  5: required double worst_share,
  /** Number of equally used places that would spread the writes of a window as evenly. 0: no window has two writes. */
  6: required double window_places
}

/** One path of one candidate. */
struct AdvisedPath {
  1: required i32 candidate,
  2: required string path,
  3: required string store_table,
  4: required list<string> components,
  /** Records with a key. */
  5: required i64 records,
  /** Records without a key. */
  6: required i64 rejected,
  /** Why the first of the records without a key has none. */
  7: optional string rejection,
  /** Records that share their key with another record. */
  8: required i64 duplicates,
  9: required i32 key_bytes_min,
  10: required i32 key_bytes_max,
  11: required double key_bytes_mean,
  /** The component that spreads the rows, and its buckets. */
  12: optional string bucket,
  13: optional Spread buckets,
  14: required Spread regions,
  15: required list<binary> region_starts,
  /** Source of the split points, such as "by the rule". If it is "by the older half of the sample", `regions` counts
   *  only the writes of the newer half. */
  16: required string cut,
  /** Writes per time column and region: regions 0 to n of the first column, then of the next column. */
  17: required list<i32> heat,
  /** The field that a full scan can be sorted by, and the number of ranges that the scan reads. */
  18: optional string order_field,
  19: required bool order_descending,
  20: required i64 order_ranges,
  /** Fields whose order the rule does not keep. */
  21: required list<string> order_lost
}

/** One query under one candidate. */
struct AdvisedQuestion {
  1: required i32 candidate,
  /** Index in the queries of the call. */
  2: required i32 question,
  /** Why the query is refused. The other members are then zero. */
  3: optional string refusal,
  4: optional string path,
  5: required i32 ranges,
  6: required i32 groups,
  /** True if every range is one row. */
  7: required bool point,
  8: required bool ordered,
  9: required double expected_reads_per_row,
  /** Rows of the sample that the query reads: all rows in the ranges, or as many as the limit needs. */
  10: required i64 scanned,
  /** Rows of the sample that the query returns. */
  11: required i64 matching
}

/** How key rules would behave for a sample of records and queries. */
struct Advice {
  1: required list<AdvisedPath> paths,
  2: required list<AdvisedQuestion> questions,
  /** What the numbers mean, and what each candidate gains and costs compared with the first. */
  3: required list<string> words,
  /** Absent if the order of the sample was used as time. */
  4: optional string time_field,
  5: required i64 window_ms,
  6: required i32 windows,
  /** Start of each column of the heat maps: milliseconds since 1970, or the number of its first record. */
  7: required list<i64> columns
}

/** A backup that was made. */
struct MadeBackup {
  /** The size of all its files. Hard links to files of the store count, although they need no space of their own. */
  1: required i64 bytes
}

service Data {
  Written put(1: string table, 2: Record record, 3: Options options) throws (1: KeywayError failure),
  /** One Written per record, in the order of the records. */
  list<Written> putMany(1: string table, 2: list<Record> records, 3: Options options) throws (1: KeywayError failure),
  /** The record with these key fields: those of the primary key, or all fields in the key of a path with `unique: true`. */
  Found get(1: string table, 2: Record key, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  list<Found> getMany(1: string table, 2: list<Record> keys, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  /** Returns the newest versions of a record that the store keeps, at most max_versions (1 to 1,000), the newest
   *  first. How many it keeps is a setting of the column families. Empty if there is no such record. */
  list<RecordVersion> getVersions(1: string table, 2: Record key, 3: list<string> columns, 4: i32 max_versions, 5: Options options) throws (1: KeywayError failure),
  /** Removes the record or, if `columns` is not empty, only these fields and entries. A whole map cannot be
   *  named, unless it is a column family of its own. If no stored field is left, the record no longer exists,
   *  unless its table names a marker. */
  Written remove(1: string table, 2: Record key, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  list<Written> removeMany(1: string table, 2: list<Record> keys, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  /** Adds to integer fields and entries, and returns their new values. The gateway never retries it. If a sum does not fit
   *  into 64 bits, it fails with INVALID and adds nothing (see keyway-ordering(7) for what remains on HBase). On HBase, a table with `order: stamp` (the default if it has
   *  more than one path that holds records) needs `atomics: true` for increment, putIf and compareAndPut. */
  Record increment(1: string table, 2: Record key, 3: map<string, i64> amounts, 4: Options options) throws (1: KeywayError failure),
  /** Writes the record if the stored record meets the condition. Returns whether it was written. */
  bool putIf(1: string table, 2: Record record, 3: Condition condition, 4: Options options) throws (1: KeywayError failure),
  /** putIf for tables with generated fields: it returns the generated values, as put does. */
  Decided compareAndPut(1: string table, 2: Record record, 3: Condition condition, 4: Options options) throws (1: KeywayError failure),
  Page scan(1: Query query) throws (1: KeywayError failure),
  /** Returns the next page of a scan. Any gateway with the same policy and cursor keys accepts the cursor. The gateway
   *  may have read the page up to a second before the request. The page still contains every write that this gateway
   *  acknowledged before the request. */
  Page nextPage(1: binary cursor, 2: Options options) throws (1: KeywayError failure),
  /** Returns the first row of the query, in descending order unless the query sets an order. Fails with INVALID if
   *  the query has a limit greater than 1. */
  Page latest(1: Query query) throws (1: KeywayError failure),
  /** Allocates consecutive numbers of a generated field (sequence, snowflake), for a caller that puts them into
   *  records itself. It returns fewer at the end of the sequence, or if a snowflake has fewer left in its current
   *  millisecond or second. For a sequence with a counter per minute, hour and so on, `scope` has the timestamp. */
  Allocation allocate(1: string table, 2: string field, 3: i64 count, 4: Options options, 5: Record scope) throws (1: KeywayError failure),
  TableInfo describe(1: string table) throws (1: KeywayError failure),
  list<string> tables() throws (1: KeywayError failure)
}

service Admin {
  /** Returns the plan of a query, without reading rows. */
  Explanation explain(1: Query query) throws (1: KeywayError failure),
  /** Returns the row keys of a record, without writing it. */
  Explanation explainPut(1: string table, 2: Record record) throws (1: KeywayError failure),
  /** Returns the fields that a row key holds, under each path of the table or under one of them (absent or empty:
   *  all). With a policy text, the table is one of that policy, which is not served. Reads no rows. */
  list<DecodedKey> decodeKey(1: string table, 2: binary row_key, 3: string path, 4: string policy_text) throws (1: KeywayError failure),
  PolicyInfo policy() throws (1: KeywayError failure),
  /** Returns the problems in a policy text; empty if there are none. */
  list<Problem> check(1: string text) throws (1: KeywayError failure),
  /** Returns the tables of a policy text, without serving it. Fails with INVALID and the first problem. */
  list<TableInfo> policyTables(1: string text) throws (1: KeywayError failure),
  /** Predicts how a table would behave for these records and queries under each candidate. It serves no
   *  candidate, does not use the store, and opens no file that a policy names. */
  Advice advise(1: list<Candidate> candidates, 2: string table, 3: list<Record> sample, 4: list<NamedQuery> queries, 5: AdviseOptions options) throws (1: KeywayError failure),
  /** Returns the changes from the first policy text to the second, as readable text: rules, fingerprints, queries
   *  whose ranges change, and the share of keys that changes, counted over random records or over this sample of
   *  one table. It serves neither policy, and does not use the store. */
  string policyDiff(1: string old_text, 2: string new_text, 3: string table, 4: list<Record> sample) throws (1: KeywayError failure),
  list<CreatedTable> createTable(1: string table, 2: CreateOptions options) throws (1: KeywayError failure),
  /** Removes from the catalog a table that no policy has any more, or a path that was dropped. For a path in use that
   *  had another key rule before a change: removes only the rows under that rule. Fails with REFUSED while a gateway
   *  serves what is to be removed. Also fails with REFUSED while the store tables have rows, unless drop_rows is set:
   *  then the store tables that Keyway created are emptied. Returns the names of the emptied store tables. */
  list<string> forget(1: string table, 2: ForgetOptions options) throws (1: KeywayError failure),
  /** Compares one slice of a table's records between the primary path and the others, and can change the others to
   *  match the primary path. Fails with INVALID for tables with one path (see verify), or with buckets that each put chooses. It can
   *  be called again with the same cursor, and through two gateways at once. */
  Scrubbed scrub(1: string table, 2: ScrubOptions options) throws (1: KeywayError failure),
  /** Reads and judges one slice of the rows of a path, and changes none of them. It can be called again with the same
   *  cursor. Fails with REFUSED while the path is being added. */
  Verified verify(1: string table, 2: VerifyOptions options) throws (1: KeywayError failure),
  /** Reads the policy file again, and the current policy version if the catalog keeps the policy. If the new policy is
   *  refused, the gateway keeps the old one. */
  void reload() throws (1: KeywayError failure),
  /** Makes a text with the settings tables and sequences the next policy version, if `expected_version` is
   *  the current one (0: no policy was imported yet). Fails with REFUSED if another policy version is current, if the gateway has
   *  its policy from a file, or if rows would not be found or would be misread; nothing has changed then. If the outcome
   *  is unknown, policyHistory shows whether the text was applied. Opens no file that the text names. */
  AppliedPolicy policyApply(1: string text, 2: i64 expected_version, 3: ApplyOptions options) throws (1: KeywayError failure),
  /** Returns at most `limit` (1 to 1,000; absent: 100) policy versions with a number less than `before` (absent or 0: all),
   *  the newest one first, without their texts. */
  list<PolicyVersion> policyHistory(1: i64 before, 2: i32 limit) throws (1: KeywayError failure),
  /** Returns one policy version with its text, as it was applied; 0 or absent: the current one. */
  PolicyVersion policyVersion(1: i64 version) throws (1: KeywayError failure),
  /** The same, but the text names the layouts and store tables that the paths have at present, even after changes of key
   *  rules, and the orders of writes: it is also right in a policy file, and with another catalog. A comment at its
   *  beginning names the tables with a change under way. Fails with INVALID if this cannot be written into the text. */
  PolicyVersion policyInEffect(1: i64 version) throws (1: KeywayError failure),
  /** Returns a part of the catalog (facts of the tables, policy versions, records of changes, time zones) and of the
   *  counters of sequences, for a backup. The cells of the row `=facts` are in the first page. An absent or empty cursor
   *  requests that page. */
  CatalogPage exportCatalog(1: binary cursor) throws (1: KeywayError failure),
  /** Puts a part of an export into an empty catalog. A part can be sent again, and the whole import repeated, until FINISH
   *  has succeeded. Fails with REFUSED if the catalog is not empty, if another export is being imported, or if a gateway
   *  serves tables from this catalog; with INVALID for a cell that Keyway does not write. */
  void importCatalog(1: CatalogPart part) throws (1: KeywayError failure),
  /** Returns the changes (of key rules, paths or atomics) that are under way in a table; absent or empty: in all
   *  tables. */
  list<ChangeStatus> changes(1: string table) throws (1: KeywayError failure),
  /** Carries out an action on the change of a table, and returns the changes of the table that are under way
   *  afterwards. Fails with REFUSED if the change is not ready for the action, if the change is at another place than
   *  `expected_version`, or if the gateway has its policy from a file; nothing has changed then. If the outcome is
   *  unknown, `changes` shows the place of the change. */
  list<ChangeStatus> orderChange(1: string table, 2: ChangeAction action, 3: ChangeOptions options) throws (1: KeywayError failure),
  /** Compares one slice of a table's records under the old and the new key rule of a change. It can change the rows
   *  that queries do not read to match the rows that queries read. Fails with INVALID if no change is under way. */
  Scrubbed changeDiff(1: string table, 2: ScrubOptions options) throws (1: KeywayError failure),
  /** Makes a backup of the embedded store, with the catalog: the folder `name` in the gateway's folder for backups
   *  (setting store: backup_folder). It has every write that was acknowledged before the call; writes go on meanwhile.
   *  The name has 1 to 100 letters, digits, '.', '_' and '-', and does not begin with a '.'. Fails with REFUSED if there
   *  is a backup with this name, if the setting is missing, or on another store. A call that fails leaves nothing. */
  MadeBackup backup(1: string name) throws (1: KeywayError failure),
  /** Returns the metrics of /metrics that have no labels, by name without "keyway_" and "_total". For each METHOD that
   *  was called, it also returns METHOD.calls, METHOD.failed, METHOD.p50_us and METHOD.p99_us; and METHOD.records and
   *  METHOD.records_failed, if its calls have several records. */
  map<string, double> stats() throws (1: KeywayError failure)
}
