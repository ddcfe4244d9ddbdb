/* The validated model of a policy file: its content as plain structs, with positions.
 *
 * config/ does not depend on how settings are used. Strings and arrays belong to the model and live as
 * long as it does; a model is immutable once read and reference counted (any thread). Texts are never NULL
 * unless a member's comment allows it. Durations are milliseconds, sizes bytes. */
#pragma once

#include "config/diagnostic.h"

/* --- fields and tables ------------------------------------------------------------------------ */

typedef enum kw_field_type {
    KW_FIELD_BOOL,
    KW_FIELD_INT,
    KW_FIELD_DOUBLE,
    KW_FIELD_STRING,
    KW_FIELD_BYTES,
    KW_FIELD_TIMESTAMP,
    KW_FIELD_MAP /* values by name: one for each column of a family whose qualifier begins with a prefix */
} kw_field_type;

typedef enum kw_time_unit { KW_UNIT_S, KW_UNIT_MS, KW_UNIT_US, KW_UNIT_NS } kw_time_unit;

/* Their names in a policy file, by value. NULL ends each list. */
extern const char *const kw_field_type_names[];
extern const char *const kw_time_unit_names[];

/* The name of a store table without HBase's default namespace, which is optional. */
const char *kw_store_table_name(const char *name);

/* The encoding of a stored field's cell value. */
typedef enum kw_cell_form {
    KW_CELL_RAW_BE,   /* Java's Bytes.toBytes: 8-byte big-endian long/double, 1-byte bool (0x00/0xff), UTF-8
                       text */
    KW_CELL_TEXT,     /* decimal / true / false / UTF-8 text */
    KW_CELL_RAW_BE4,  /* 4-byte big-endian int or float (int, timestamp and double only) */
    KW_CELL_PHOENIX,  /* Phoenix's BIGINT (and DATE, TIME), DOUBLE, BOOLEAN (0x00/0x01), VARCHAR */
    KW_CELL_PHOENIX4, /* Phoenix's INTEGER and FLOAT (int, timestamp and double only) */
} kw_cell_form;

/* How the gateway generates a field's value if a put has none. */
typedef enum kw_generate_kind {
    KW_GENERATE_SEQUENCE,  /* int: numbers of a counter, allocated in blocks */
    KW_GENERATE_SNOWFLAKE, /* int: time, worker, sequence */
    KW_GENERATE_UUID4,     /* string or bytes: RFC 9562, random */
    KW_GENERATE_UUID7,     /* the same, in the order of time */
    KW_GENERATE_OBJECTID,  /* string or bytes: seconds, random, counter */
    KW_GENERATE_NOW        /* timestamp */
} kw_generate_kind;

typedef enum kw_period {
    KW_PERIOD_EVER, /* one counter forever */
    KW_PERIOD_SECOND,
    KW_PERIOD_MINUTE,
    KW_PERIOD_HOUR,
    KW_PERIOD_DAY,
    KW_PERIOD_MONTH,
    KW_PERIOD_YEAR
} kw_period;

typedef struct kw_model_generate {
    bool enabled;
    kw_mark mark;
    kw_generate_kind kind;
    bool refuse_given; /* a put with a value is rejected; otherwise the value is kept */
    /* sequence */
    int64_t from;  /* 1 */
    int64_t to;    /* inclusive; INT64_MAX */
    bool wrap;     /* after `to`, start again with `from`; otherwise LIMIT */
    int64_t block; /* 0: the usual size (sequence/block.h). Not a setting: only tests set it */
    kw_period per;
    const char *of;   /* timestamp field that determines the period; "": none */
    const char *zone; /* of the period: "UTC" */
    /* snowflake */
    bool partitioned; /* 0, minute of the hour, Unix seconds, worker, sequence: 1 6 32 9 16 bits;
                         else milliseconds, worker, sequence: 41 10 12 bits */
    int64_t epoch_ms; /* not partitioned: start of its milliseconds; 2020-01-01 */
} kw_model_generate;

typedef struct kw_model_field {
    const char *name;
    kw_mark mark;
    kw_field_type type;
    kw_field_type of;  /* of a map's values; unit, form, values and max_bytes then apply to them */
    kw_time_unit unit; /* timestamps only */
    /* Column "family:qualifier" that stores it. NULL family: stored in the row key only. A field that
     * names no column and is not in the primary key rule gets <default family>:<name>. A map has the
     * columns that begin with the qualifier and are longer; the default is <default family>:<name>. (with
     * the final dot). */
    const char *family;
    const char *qualifier; /* its bytes; \xNN escapes are resolved, so it can contain a NUL */
    size_t qualifier_size;
    kw_cell_form form;
    /* Declared values (enum component, value checks); values_count 0: none. Texts as in the file. */
    const char *const *values;
    size_t values_count;
    int64_t max_bytes; /* strings and bytes; 0: only the store's limits */
    const char *about; /* "" if not set */
    bool counter;      /* can be incremented (int); of a map: each of its values */
    kw_model_generate generate;
} kw_model_field;

/* One setting of a rule component, already checked against the component's schema. */
typedef enum kw_setting_kind {
    KW_SETTING_BOOL,
    KW_SETTING_INT,
    KW_SETTING_TEXT,
    KW_SETTING_CHOICE, /* one text of a list */
    KW_SETTING_TEXTS   /* a list of texts (one text is a list of one) */
} kw_setting_kind;

typedef struct kw_model_setting {
    const char *name;
    kw_mark mark; /* of the value */
    kw_setting_kind kind;
    bool flag;
    int64_t number;
    const char *text; /* TEXT and CHOICE */
    const char *const *texts;
    const kw_mark *text_marks;
    size_t texts_count;
} kw_model_setting;

/* One component of a key rule: `- NAME: {setting: value, ...}`, `- NAME: VALUE` (the value is for the
 * first setting of its schema) or `- NAME` alone. Settings that are not set are absent here. */
typedef struct kw_model_component {
    const char *name;
    kw_mark mark;
    bool bare;   /* written as a name only */
    bool broken; /* has a problem, so the model is only for further checks */
    const kw_model_setting *settings;
    size_t settings_count;
} kw_model_component;

/* NULL if the file does not set it. */
const kw_model_setting *kw_model_setting_find(const kw_model_component *component, const char *name);

/* The settings of a component; declared in the component's source file, passed to the reader. */
typedef struct kw_setting_schema {
    const char *name;
    kw_setting_kind kind;
    bool required;
    int64_t least, most;        /* INT; both 0: any */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const char *fallback;       /* documentation: the value if it is omitted; NULL: none */
    const char *about;
} kw_setting_schema;

typedef struct kw_component_schema {
    const char *name;
    const char *about;
    const kw_setting_schema *settings;
    size_t settings_count;
} kw_component_schema;

typedef struct kw_model_family {
    const char *name;
    kw_mark mark;
    const char *compression;    /* NONE SNAPPY LZ4 ZSTD LZO GZ; NULL: the store's default (also below) */
    const char *bloom_filter;   /* NONE ROW ROWCOL */
    const char *block_encoding; /* NONE PREFIX DIFF FAST_DIFF ROW_INDEX_V1 */
    int64_t ttl_seconds;        /* 0: forever */
    int64_t max_versions;       /* 0: default (1) */
    int64_t min_versions;       /* 0: default */
    int64_t block_size;         /* 0: default */
    int block_cache;            /* -1: default; 0 or 1 (also the next two) */
    int in_memory;
    int keep_deleted_cells;
    int64_t replication_scope; /* -1: default */
} kw_model_family;

/* Pre-splits of a path's store table. */
typedef struct kw_model_splits {
    kw_mark mark;          /* line 0: no splits */
    const char *algorithm; /* "" | HexStringSplit | UniformSplit | DecimalStringSplit | rule */
    int64_t regions;
    const char *const *keys; /* as written: text with \xNN escapes (HBase's toStringBinary form) */
    size_t keys_count;
    const char *file; /* one key per line in the same form; "": none */
} kw_model_splits;

typedef struct kw_model_path {
    const char *name; /* "primary" for the table's own key */
    kw_mark mark;
    const char *store_table; /* "ns:name" or "name"; default: the table's name; of a further path: the primary
                                path's store table, "_" and the path's name */
    int64_t layout;          /* layout number, default 1 */
    const kw_model_component *components;
    size_t components_count;
    kw_model_splits splits;
    bool association; /* maps each record to its row; holds no records */
    bool unique;      /* no two records have the same values of the key's fields */
} kw_model_path;

typedef struct kw_model_table {
    const char *name;
    kw_mark mark;
    const char *about;
    const char *default_family; /* default "d" */
    /* Cell that the rows of every record get, to show that the record exists. NULL family: not set; then
     * records without stored fields get a cell with the empty qualifier in the default family. */
    const char *marker_family;
    const char *marker_qualifier; /* bytes, as of fields */
    size_t marker_qualifier_size;
    const char *marker_value; /* bytes */
    size_t marker_value_size;
    const kw_model_field *fields;
    size_t fields_count;
    const kw_model_path *paths; /* [0] is the primary path */
    size_t paths_count;
    const kw_model_family *families; /* options at creation; every family that a field or the marker uses */
    size_t families_count;
    const char *order;           /* store, stamp; NULL: not set */
    kw_mark order_mark;          /* only if it is set */
    int atomics;                 /* increments and conditional writes are allowed: -1: not set, 0, 1 */
    bool updates;                /* a record can be put more than once */
    bool accept_unverified;      /* existing rows that the catalog does not know are served unchecked */
    int64_t major_compaction_ms; /* interval at which the store removes expired cells: 7 d */
    bool incomplete;             /* lacks the parts that have problems; see kw_model_check_text */
} kw_model_table;

/* --- the gateway ------------------------------------------------------------------------------ */

typedef struct kw_model_tls {
    bool enabled;
    kw_mark mark;
    const char *certificate; /* PEM files; "": none */
    const char *key;
    const char *ca;          /* trusted authorities; "": the system's (channels) or none (listeners) */
    bool require_client;     /* listeners: require a client certificate and verify it */
    const char *server_name; /* channels: name to verify; "": the host's name */
} kw_model_tls;

typedef struct kw_model_listener {
    const char *host; /* numeric or name, default 127.0.0.1; or unix:/PATH */
    uint16_t port;    /* 0: any free port (tests), or a Unix socket */
    const char *mode; /* Unix: permissions of the file, octal */
    bool public;      /* can be reached from other machines without access */
    kw_mark mark;
    kw_model_tls tls;
} kw_model_listener;

/* The path of a Unix socket; NULL for another listener. */
const char *kw_model_listener_path(const kw_model_listener *listener);

/* --- access ----------------------------------------------------------------------------------- */

/* Operations that a role can allow, in the order of kw_operation_names. */
typedef enum kw_model_operation {
    KW_MAY_READ, /* of tables */
    KW_MAY_WRITE,
    KW_MAY_REMOVE,
    KW_MAY_ATOMIC,
    KW_MAY_CREATE,
    KW_MAY_EXPLAIN,
    KW_MAY_VIEW, /* of the gateway */
    KW_MAY_OPERATE
} kw_model_operation;

/* As in a policy file; NULL ends the list. */
extern const char *const kw_operation_names[];

typedef struct kw_model_group {
    const char *name;
    kw_mark mark;
    const char *const *members; /* names of callers; each * stands for any characters */
    size_t members_count;
} kw_model_group;

typedef struct kw_model_role {
    kw_mark mark;
    const char *const *who; /* names of groups */
    size_t who_count;
    const char *const *tables; /* names; each * stands for any characters */
    size_t tables_count;
    const char *const *may;
    size_t may_count;
    unsigned operations; /* those of `may`: 1u << kw_model_operation */
} kw_model_role;

typedef struct kw_model_access {
    bool enabled; /* false: every caller can do everything */
    kw_mark mark;
    const kw_model_group *groups;
    size_t groups_count;
    const kw_model_role *roles;
    size_t roles_count;
} kw_model_access;

typedef struct kw_model_limits {
    int64_t connections;      /* 10,000 */
    int64_t frame_bytes;      /* 16 MiB */
    int64_t in_flight;        /* calls per connection: 128 */
    int64_t page_rows;        /* maximum rows of one page: 10,000 */
    int64_t batch_records;    /* records of one call with several records: 10,000 */
    int64_t ranges;           /* row ranges or point reads of one plan, values of one bound_any: 10,000 */
    int64_t memory_bytes;     /* that callers can make the process use; 0: half of the memory of the machine
                                 or of its control group */
    int64_t peer_connections; /* of one address or client certificate; 0: 80 % of connections */
    int64_t cells;            /* that one call writes: 100,000 */
} kw_model_limits;

typedef struct kw_model_timeouts {
    int64_t frame_ms;     /* from the first byte of a frame to the last, and a TLS handshake: 10,000 */
    int64_t idle_ms;      /* an idle connection is closed: 600,000; 0: never */
    int64_t call_ms;      /* default deadline of a call: 30,000 */
    int64_t drain_ms;     /* after SIGTERM, wait for calls in flight: 15,000 */
    int64_t lame_duck_ms; /* after SIGTERM, before the drain: serve, but be not ready: 0 */
} kw_model_timeouts;

typedef enum kw_store_kind { KW_STORE_EMBEDDED, KW_STORE_HBASE } kw_store_kind;

typedef struct kw_model_embedded {
    const char *path;          /* folder; default "keyway-data" */
    int64_t cache_bytes;       /* block cache: 64 MiB */
    const char *backup_folder; /* keyway backup makes backups here; "": none */
} kw_model_embedded;

typedef struct kw_model_server {
    const char *host;
    uint16_t port;
    kw_mark mark;
} kw_model_server;

typedef struct kw_model_hbase {
    const kw_model_server *servers; /* Thrift2 servers */
    size_t servers_count;
    kw_model_tls tls;
    int64_t channels;          /* per server and process: 8 */
    int64_t max_clock_skew_ms; /* maximum difference between the clocks of region servers: 20 */
    int64_t late_ms;           /* time for which an abandoned call can still be applied: 21 minutes */
    bool late_given;           /* late_ms is from the file */
    int64_t client_pause_ms;   /* time after which HBase's client repeats a call: 100 */
} kw_model_hbase;

typedef struct kw_model_store {
    kw_mark mark;
    kw_store_kind kind;
    kw_model_embedded embedded;
    kw_model_hbase hbase;
    int create_missing;  /* create missing store tables at start: -1: default (embedded yes, hbase no) */
    const char *catalog; /* store table of the catalog: "keyway_catalog" */
} kw_model_store;

/* Where sequence numbers are counted, and where snowflake workers are leased. */
typedef struct kw_model_sequences {
    const char *table;     /* store table of counters and leases; see kw_sequences_table_name */
    const char *redis_url; /* as in the file; "": the counters are in the store */
    /* Parts of the URL; used if redis is true. */
    bool redis; /* counters in Redis; otherwise in the store */
    const char *redis_host;
    uint16_t redis_port;
    const char *redis_user;     /* "": none */
    const char *redis_password; /* "": none, or in the file */
    int64_t redis_database;
    const char *redis_password_file; /* "": none */
    int64_t keep_ms; /* a period's numbers can be allocated for this time before it begins and after it ends:
                        7 d */
} kw_model_sequences;

typedef struct kw_model_cursor {
    /* Signing keys: the first signs, all verify; each is a text of at least 16 bytes, or a line of a file.
     * None: a random key, generated at start and kept in the embedded store's folder; with other stores
     * only in memory (a warning says that cursors are lost when the process ends). */
    const char *const *keys;
    size_t keys_count;
    const char *key_file; /* one key per line; "": none */
    int64_t expiry_ms;    /* 3,600,000 */
} kw_model_cursor;

typedef struct kw_model {
    const char *file; /* as named; "(built in)" without a file */
    const char *text; /* the whole text */
    /* True: tables and sequences are kept in the catalog. The model of a file then has no tables; shared.h
     * adds them. */
    bool policy_in_store;
    const char *shared_text; /* the catalog's text with tables and sequences; NULL: the file has them */
    const char *tables_file; /* names the text with the tables, for messages */
    const kw_model_listener *listeners;
    size_t listeners_count;  /* at least one; default 127.0.0.1:9595 */
    kw_model_listener admin; /* HTTP; default 127.0.0.1:9596 */
    bool admin_enabled;
    kw_model_access access;
    const char *audit_file; /* "": none */
    bool strict_start;      /* do not serve a policy without the tables that cannot be served */
    int64_t loops;          /* loop threads; 0: one per core, with hbase one per four cores */
    const char *gateway_id; /* "": the host name and the first port of the listeners */
    kw_model_limits limits;
    kw_model_timeouts timeouts;
    kw_model_store store;
    kw_model_cursor cursor;
    int64_t hints_keep_ms; /* stale hints are not deleted before: 600,000 */
    kw_model_sequences sequences;
    const char *log_level; /* debug info warn error */
    bool log_json;
    const kw_model_table *tables;
    size_t tables_count;
} kw_model;

/* True if other machines can connect to the listener, and everybody who connects can do everything. */
bool kw_model_listener_is_open(const kw_model *model, const kw_model_listener *listener);

/* Maximum memory of a decoded request: four times limits.frame. Small values become structs, which are
 * several times as large. A frame of only small values is refused; frames of records fit. */
int64_t kw_limits_decoded_bytes(const kw_model_limits *limits);
/* Approximate maximum size of a page of a scan: 8 MiB, which a client decodes in some tens of milliseconds,
 * but at most half of limits.frame, so that the last record of the page fits into the reply. */
int64_t kw_limits_page_bytes(const kw_model_limits *limits);
/* Memory of the read-ahead of one scan, for all of its ranges together: one page, so that the next page can
 * be read while the client decodes this one, and at least 64 KiB. */
int64_t kw_limits_scan_buffer_bytes(const kw_model_limits *limits);

/* Bytes that the caches and one call at its limits use together. */
int64_t kw_model_memory_needed(const kw_model *model);

kw_model *kw_model_ref(kw_model *model);
void kw_model_unref(kw_model *model); /* NULL is ignored */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_model, kw_model_unref)
