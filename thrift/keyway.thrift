/*
 * Keyway's Thrift interface: logical records in, logical records out. Which HBase row key a record
 * gets is the gateway's business and stands in its policy file.
 *
 * Two services on one port, with no method name in common, so that a client of either needs no
 * multiplexing: `Data` for services, `Admin` for people and tools. Every method declares the one
 * exception. Binary or compact protocol, framed or unframed; the gateway sees which.
 */
namespace c_glib Keyway
namespace java io.keyway.thrift
namespace py keyway_thrift
namespace go keyway
namespace js keyway

/** One value of a field. Exactly one member is set; the values of a map are no maps themselves. */
union Value {
  1: bool flag,
  /** Integers and timestamps; a timestamp is in the unit that its field declares. */
  2: i64 number,
  3: double real,
  4: string text,
  5: binary bytes,
  /** Of a map field: its values by name. A put writes those that it brings and leaves the others. */
  6: map<string, Value> entries
}

/** Field name to value. A field that is not named is absent. */
typedef map<string, Value> Record

/** What the caller can do about an error. */
enum Code {
  /** The request is wrong; sending it again will not help. */
  INVALID = 1,
  /** No such table, path or method. */
  NOT_FOUND = 2,
  /** This caller may not do that. */
  DENIED = 3,
  /** A configured limit, or a range of numbers that is used up. */
  LIMIT = 4,
  /** Too much at once; try again after retry_after_ms. */
  BUSY = 5,
  /** The deadline passed. */
  TIMEOUT = 6,
  /** The store cannot be reached now. */
  UNAVAILABLE = 7,
  /** The store said no and will say it again. */
  REFUSED = 8,
  /** Stored data is not what it must be. */
  CORRUPT = 9,
  /** A fault of the gateway. */
  INTERNAL = 10
}

exception KeywayError {
  1: required Code code,
  /** Names the table and the field where there is one. */
  2: required string message,
  /** For BUSY and UNAVAILABLE: when to try again. */
  3: optional i32 retry_after_ms,
  /** A write that may have happened: read before you write again. */
  4: optional bool maybe_applied,
  /** Stands in the gateway's log too. */
  5: optional string request_id
}

/** KeywayError as a value, for one record of many. */
struct Failure {
  1: required Code code,
  2: required string message,
  3: optional i32 retry_after_ms,
  4: optional bool maybe_applied
}

/** Outcome of a write. */
enum Outcome {
  OK = 0,
  /** Certainly not applied. */
  FAILED = 1,
  /** May have been applied. */
  UNKNOWN = 2
}

/** How durable a write is when it is acknowledged; HBase's levels. */
enum Durability {
  STORE_DEFAULT = 0,
  SKIP_WAL = 1,
  ASYNC_WAL = 2,
  SYNC_WAL = 3,
  FSYNC_WAL = 4
}

struct Options {
  /** Answer within so many milliseconds, or fail with TIMEOUT. */
  1: optional i32 deadline_ms,
  2: optional Durability durability,
  /** Version of the cells, milliseconds since 1970. Without it the gateway stamps the write. */
  3: optional i64 timestamp
}

/** What became of one write. */
struct Written {
  1: required Outcome outcome,
  /** Fields that the gateway made (sequence numbers, ids, times). Absent when it made none, or FAILED. */
  2: optional Record made,
  /** Set unless the outcome is OK. */
  3: optional Failure failure
}

/** What became of a write on a condition. */
struct Decided {
  /** The stored record met the condition, and the record is written. */
  1: required bool applied,
  /** Fields that the gateway made, as in Written. Absent when it made none, or when nothing was written. */
  2: optional Record made
}

/** What a point read found. Neither member set: there is no such record. */
struct Found {
  1: optional Record record,
  2: optional Failure failure
}

enum CompareOp {
  LESS = 0,
  LESS_OR_EQUAL = 1,
  EQUAL = 2,
  NOT_EQUAL = 3,
  GREATER_OR_EQUAL = 4,
  GREATER = 5
}

/** Stored value of `field` compared with `value`, in the order of the stored bytes. Without a
 *  value: EQUAL asks that the field is absent, NOT_EQUAL that it is there. As in HBase, an empty stored
 *  value (a text of no characters) counts as absent. */
struct Condition {
  /** A field, or an entry of a map as in `followed.bob`. */
  1: required string field,
  2: required CompareOp op,
  3: optional Value value
}

enum Order {
  ASCENDING = 1,
  DESCENDING = 2
}

/** from <= field < to; each end may be left out, and each end's inclusion be chosen. */
struct Range {
  1: required string field,
  2: optional Value from_value,
  3: optional Value to_value,
  4: optional bool from_inclusive = true,
  5: optional bool to_inclusive = false
}

/** A question. The gateway finds the row ranges that answer it. */
struct Query {
  1: required string table,
  /** Fields bound to one value. */
  2: optional Record bound,
  /** Fields bound to any of several values. */
  3: optional map<string, list<Value>> bound_any,
  /** One range, on the field behind the bound ones. */
  4: optional Range range,
  /** Order of the first field of the path's rule that is not bound (keyway-policy(5), "The order of answers"); the path's own
   *  order when left out. */
  5: optional Order order,
  /** Name of the path to use; the gateway chooses when left out. */
  6: optional string path,
  /** Fields to return, besides those of the key, and entries of map fields, as in `followed.bob`; all when
   *  left out. So are columns everywhere. */
  7: optional list<string> columns,
  /** HBase filter language, handed to the store. */
  8: optional string filter,
  /** Rows in all, over all pages. */
  9: optional i64 limit,
  /** Rows in one page, at most. */
  10: optional i32 page_rows,
  /** Bytes in one page, about. */
  11: optional i32 page_bytes,
  /** Allows a question that must read a whole table. */
  12: optional bool full_scan,
  13: optional i32 deadline_ms
}

struct Page {
  1: required list<Record> rows,
  /** Hand it to `nextPage`. Absent at the end. */
  2: optional binary cursor,
  3: required i64 rows_scanned,
  4: required i64 rows_returned
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
  /** Part of the identity of a record. */
  3: required bool key,
  /** Column that stores it ("family:qualifier", of a map "family:prefix*"); absent when only the key holds it. */
  4: optional string column,
  /** Unit of a timestamp: s, ms, us, ns. */
  5: optional string unit,
  6: optional string about,
  /** What a map's values are. */
  7: optional string of
}

struct PathInfo {
  1: required string name,
  2: required string store_table,
  3: required i32 layout,
  4: required string fingerprint,
  /** The rule, one component each. */
  5: required list<string> components,
  /** Buckets that a question without their fields must visit. */
  6: required i64 buckets,
  /** What the path holds, as the catalog says: "complete". Absent in what is not served. */
  7: optional string state,
  /** False: rows were there before the catalog was, and nobody has compared them with the primary path's. */
  8: optional bool verified
}

struct TableInfo {
  1: required string name,
  2: required list<FieldInfo> fields,
  3: required list<PathInfo> paths,
  4: optional string about
}

/** One component's part of a row key. */
struct KeyPiece {
  1: required string component,
  2: required binary bytes,
  /** The bytes for people: printable text as it is, anything else as a hex escape. */
  3: required string text
}

struct ExplainedKey {
  1: required string path,
  2: required string store_table,
  3: required binary row_key,
  4: required list<KeyPiece> pieces,
  /** Start row of the region that holds it, where the store tells. */
  5: optional binary region_start,
  6: optional string region_server,
  /** Row at which that region ends, exclusive; empty for the last one. */
  7: optional binary region_stop
}

struct ExplainedRange {
  /** Inclusive. */
  1: required binary start,
  /** Exclusive; empty means the table's end. */
  2: required binary stop,
  /** Ranges of one group are merged, groups are read one after the other. */
  3: required i32 group,
  4: required string text
}

/** How a record is stored or a question is answered. */
struct Explanation {
  /** For a record: its key in every path. */
  1: optional list<ExplainedKey> keys,
  /** For a question: the path and its ranges in logical order. */
  2: optional string path,
  3: optional list<ExplainedRange> ranges,
  /** Read backwards in the store. */
  4: optional bool reversed,
  /** What fanned out, what was pruned, what is checked on the way out: one sentence each. */
  5: optional list<string> notes,
  /** Rows scanned per row returned that the plan expects; 1 is best. */
  6: optional double expected_efficiency,
  7: required string text,
  /** How many ranges there are; `ranges` has the first 4,096 of them. */
  8: optional i64 ranges_count
}

struct PolicyInfo {
  /** The policy as text (YAML), secrets left out. */
  1: required string text,
  2: required list<TableInfo> tables,
  /** Milliseconds since 1970 when it was taken into service. */
  3: required i64 loaded_at
}

/** Column family options as HBase has them; what is left out is the store's default. */
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
  /** 0 local, 1 global. */
  11: optional i32 replication_scope,
  12: optional bool keep_deleted_cells
}

/** Where a new table is cut into regions. At most one of the ways. */
struct SplitOptions {
  /** The split keys themselves. */
  1: optional list<binary> keys,
  /** HexStringSplit, UniformSplit, DecimalStringSplit, or rule: cut where the key rule's own
   *  buckets and prefixes begin. Needs regions. */
  2: optional string algorithm,
  3: optional i32 regions,
  /** Records like those to come: cut so that each region gets an equal share. Needs regions. */
  4: optional list<Record> sample
}

struct CreateOptions {
  /** Path whose store table is made; every path's when left out. */
  1: optional string path,
  /** Overrides the policy's. */
  2: optional list<FamilyOptions> families,
  3: optional SplitOptions splits,
  /** No error when the table is there already. */
  4: optional bool if_absent
}

struct ForgetOptions {
  /** The whole table when left out. */
  1: optional string path,
  /** Drop the rows for good, of store tables that Keyway created. */
  2: optional bool drop_rows
}

/** How a path of a table disagrees with the primary path about a record. */
enum DifferenceKind {
  /** The path does not have the record. */
  MISSING = 0,
  /** The path has other columns or values. */
  DIFFERENT = 1,
  /** Only the path has the record; the primary path does not. */
  ORPHAN = 2,
  /** The row key was not made by the path's rule, so the row is no record's. It is never repaired. */
  FOREIGN = 3
}

struct ScrubOptions {
  /** Of the slice before; the first slice when left out. */
  1: optional binary cursor,
  /** Make the other paths' rows like those of the primary path. */
  2: optional bool repair,
  /** Records of this slice, 1 to 1,000; 1,000 when left out. */
  3: optional i32 max_records,
  /** Differences that are listed, 0 to 1,000; 100 when left out. All are counted. */
  4: optional i32 max_differences,
  /** Rows that differ must not change for so long before they count, 0 to 10,000; 1,000 when left out. */
  5: optional i32 settle_ms,
  6: optional i32 deadline_ms
}

struct Difference {
  1: required DifferenceKind kind,
  /** The path that differs from the primary one; of a FOREIGN row, the path that has it. */
  2: required string path,
  /** Under that path. */
  3: required binary row_key,
  /** What names the record; absent for FOREIGN. */
  4: optional Record key,
  /** How the rows differ, for people. */
  5: required string text,
  6: required bool repaired
}

/** What one slice of a scrub found. */
struct Scrubbed {
  /** Rows that were read from the path that is scanned: first the primary one, then each other one. */
  1: required i64 rows,
  2: required i64 missing,
  3: required i64 different,
  4: required i64 orphans,
  5: required i64 foreign_rows,
  /** Of those that are missing, different or orphans. */
  6: required i64 repaired,
  /** Records that were written while they were compared, or so lately that the write may be under way. They are
   *  in no other count; scrub again to compare them. */
  7: required i64 unsettled,
  8: required list<Difference> differences,
  /** For the next slice; absent when everything was compared. It holds row keys, and does not expire. */
  9: optional binary cursor,
  /** How much of all paths is done, 0 to 1, if keys lie evenly. */
  10: required double progress
}

struct CreatedTable {
  1: required string store_table,
  2: required list<binary> split_keys,
  /** False when it was there already. */
  3: required bool created
}

struct Problem {
  1: required i32 line,
  2: required i32 column,
  3: required string message,
  4: optional string hint
}

/** A policy that is judged, not served. */
struct Candidate {
  /** How the advice calls it, e.g. the name of its file. */
  1: required string name,
  /** YAML, at most 1 MiB. */
  2: required string text
}

struct NamedQuery {
  1: required string name,
  2: required Query query
}

struct AdviseOptions {
  /** Regions of each store table, 1 to 256; as the policy splits it, else 16, when left out. */
  1: optional i32 regions,
  /** The timestamp field that tells when a record is written; the first one that every record has
   *  when left out, else the order of the sample. */
  2: optional string time_field,
  /** Length of the windows in which writes are counted; a minute, or more where a minute holds
   *  hardly any record, when left out. */
  3: optional i64 window_ms
}

/** How writes share themselves out over places (buckets or regions). Shares are 0 to 1. */
struct Spread {
  /** Writes per place, in key order. */
  1: required list<i64> counts,
  2: required i32 reached,
  /** Writes of the hottest place by the mean of all, over the whole sample; 1 is best. */
  3: required double hottest_to_mean,
  /** Share of the hottest place in a typical window, and in the worst. */
  4: required double window_share,
  5: required double worst_share,
  /** How many places, used alike, would take the writes of one window; 0: no window has two. */
  6: required double window_places
}

/** One path of one candidate. */
struct AdvisedPath {
  1: required i32 candidate,
  2: required string path,
  3: required string store_table,
  4: required list<string> components,
  /** Records that got a key, that got none, and why the first of these did not. */
  5: required i64 records,
  6: required i64 rejected,
  7: optional string rejection,
  /** Records whose key another one has, too. */
  8: required i64 duplicates,
  9: required i32 key_bytes_min,
  10: required i32 key_bytes_max,
  11: required double key_bytes_mean,
  /** The component that scatters, and its buckets. */
  12: optional string bucket,
  13: optional Spread buckets,
  14: required Spread regions,
  15: required list<binary> region_starts,
  /** Where the regions come from: "by the rule", "by the older half of the sample", ...; in the
   *  latter case `regions` counts the writes of the younger half only. */
  16: required string cut,
  /** Writes per column of time and region: region 0 to n of the first column, then of the next. */
  17: required list<i32> heat,
  /** The field by which everything can be read in order, and from how many ranges. */
  18: optional string order_field,
  19: required bool order_descending,
  20: required i64 order_ranges,
  /** Fields whose order the rule gives up. */
  21: required list<string> order_lost
}

/** One question put to one candidate. */
struct AdvisedQuestion {
  1: required i32 candidate,
  /** Index in the queries of the call. */
  2: required i32 question,
  /** Why it cannot be asked; the rest is zero then. */
  3: optional string refusal,
  4: optional string path,
  5: required i32 ranges,
  6: required i32 groups,
  /** Every range is one row. */
  7: required bool point,
  8: required bool ordered,
  9: required double expected_efficiency,
  /** Rows of the sample that are read (all in the ranges, or as many as the limit needs), and that
   *  are returned. */
  10: required i64 scanned,
  11: required i64 matching
}

/** How key rules would behave for a sample of records and questions. */
struct Advice {
  1: required list<AdvisedPath> paths,
  2: required list<AdvisedQuestion> questions,
  /** What the figures mean, and what each candidate gains and costs against the first. */
  3: required list<string> words,
  /** Absent: the order of the sample stands for time. */
  4: optional string time_field,
  5: required i64 window_ms,
  6: required i32 windows,
  /** Of the heat maps: milliseconds since 1970, or the number of the first record. */
  7: required list<i64> columns
}

service Data {
  Written put(1: string table, 2: Record record, 3: Options options) throws (1: KeywayError failure),
  /** One Written per record, in the order of the records. */
  list<Written> putMany(1: string table, 2: list<Record> records, 3: Options options) throws (1: KeywayError failure),
  /** The record with these key fields. */
  Found get(1: string table, 2: Record key, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  list<Found> getMany(1: string table, 2: list<Record> keys, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  /** Removes the record, or only the named fields (but no whole map) and entries when there are any. A record without
   *  a stored field that is left is gone, unless its table names a marker. */
  Written remove(1: string table, 2: Record key, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  list<Written> removeMany(1: string table, 2: list<Record> keys, 3: list<string> columns, 4: Options options) throws (1: KeywayError failure),
  /** Adds to integer fields and entries; answers their new values. Never retried by the gateway. Like putIf and
   *  compareAndPut not for tables with further paths that hold records. */
  Record increment(1: string table, 2: Record key, 3: map<string, i64> amounts, 4: Options options) throws (1: KeywayError failure),
  /** Writes the record if the stored one meets the condition; answers whether it did. */
  bool putIf(1: string table, 2: Record record, 3: Condition condition, 4: Options options) throws (1: KeywayError failure),
  /** putIf for tables whose fields the gateway makes: tells what was made, as put does. */
  Decided compareAndPut(1: string table, 2: Record record, 3: Condition condition, 4: Options options) throws (1: KeywayError failure),
  Page scan(1: Query query) throws (1: KeywayError failure),
  /** The page behind a cursor, on any gateway. It may have been read up to a second before it is asked for, but never before a write
   *  that this gateway had answered by then. */
  Page nextPage(1: binary cursor, 2: Options options) throws (1: KeywayError failure),
  /** The first row of the question, in descending order unless it says otherwise. */
  Page latest(1: Query query) throws (1: KeywayError failure),
  /** Numbers of a field that the gateway makes (sequence, snowflake), for a caller who puts them into records
   *  himself: one after the other, and fewer than asked for where a range or a tick of time ends. A sequence that
   *  begins anew with each minute (say) needs the record's timestamp in `scope`. */
  Allocation allocate(1: string table, 2: string field, 3: i64 count, 4: Options options, 5: Record scope) throws (1: KeywayError failure),
  TableInfo describe(1: string table) throws (1: KeywayError failure),
  list<string> tables() throws (1: KeywayError failure)
}

service Admin {
  /** How a question would be answered; nothing is read. */
  Explanation explain(1: Query query) throws (1: KeywayError failure),
  /** The row keys that a record would get; nothing is written. */
  Explanation explainPut(1: string table, 2: Record record) throws (1: KeywayError failure),
  PolicyInfo policy() throws (1: KeywayError failure),
  /** What is wrong with a policy text; empty when nothing is. */
  list<Problem> check(1: string text) throws (1: KeywayError failure),
  /** The tables of a policy text, without serving it. INVALID with the first problem. */
  list<TableInfo> policyTables(1: string text) throws (1: KeywayError failure),
  /** How this table of each candidate would behave for these records and questions. Nothing is served,
   *  written or read; no file that a policy names is opened. */
  Advice advise(1: list<Candidate> candidates, 2: string table, 3: list<Record> sample, 4: list<NamedQuery> queries, 5: AdviseOptions options) throws (1: KeywayError failure),
  /** What the second policy text changes against the first, for people: rules, fingerprints, questions that get
   *  other ranges, and the share of keys that moves, counted over random records or over this sample of one
   *  table. Nothing is served, written or read. */
  string policyDiff(1: string old_text, 2: string new_text, 3: string table, 4: list<Record> sample) throws (1: KeywayError failure),
  list<CreatedTable> createTable(1: string table, 2: CreateOptions options) throws (1: KeywayError failure),
  /** Clears what the catalog holds of a table that no policy has any more, or of a path that was dropped. REFUSED
   *  while its store tables hold rows; with drop_rows these are emptied, if Keyway created them. Answers the names of
   *  the store tables that were emptied. */
  list<string> forget(1: string table, 2: ForgetOptions options) throws (1: KeywayError failure),
  /** Compares one slice of a table's records between the primary path and the others, and makes the others like it
   *  when asked to. A table with one path, or with buckets that are chosen at each put, is INVALID. Calling it again
   *  with the same cursor, or through two gateways at once, does no harm. */
  Scrubbed scrub(1: string table, 2: ScrubOptions options) throws (1: KeywayError failure),
  /** Reads the policy file again. The old policy stays when the new one is refused. */
  void reload() throws (1: KeywayError failure),
  /** The figures of /metrics, by name. */
  map<string, double> stats() throws (1: KeywayError failure)
}
