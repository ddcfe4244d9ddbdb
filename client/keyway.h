/* libkeyway: logical records in, logical records out, over Thrift to a Keyway gateway.
 *
 *     g_autoptr(GError) error = NULL;
 *     g_autoptr(kw_client) client = kw_client_open("127.0.0.1:9595", NULL, &error);
 *     g_autoptr(kw_record) event = kw_record_new();
 *     kw_record_set(event, "order_id", kw_text("A-1001"));
 *     kw_record_set(event, "ts", kw_number(1795255200000));
 *     if (client == NULL || !kw_client_put(client, "order_events", event, NULL, NULL, &error))
 *         g_printerr("%s\n", error->message);
 *
 * Threads: a client is one connection and is used by one thread at a time; records and queries are
 * plain data. Calls block until the answer is there or call_timeout_ms have passed. A connection that
 * was lost or may be out of step is thrown away, and the next call opens a new one.
 *
 * Ownership: what a call returns or writes through a `ret_` pointer belongs to the caller (free it
 * with the function of its type, g_autoptr works); `ret_` pointers are written only on success and
 * may be NULL where that is said. Arguments are borrowed for the call. A kw_value borrows its text or
 * bytes; records and queries copy them.
 *
 * Errors: a GError in the domain KW_CLIENT_ERROR; its code is a kw_client_code, which says what the
 * caller can do; kw_client_error_... tell the rest.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

G_BEGIN_DECLS

#define KW_CLIENT_API __attribute__((visibility("default")))

/* --- errors ----------------------------------------------------------------------------------- */

#define KW_CLIENT_ERROR (kw_client_error_quark())
KW_CLIENT_API GQuark kw_client_error_quark(void);

/* 1 to 10 are the codes of the Thrift interface, the others arise on this side. */
typedef enum kw_client_code {
    KW_CLIENT_INVALID = 1,     /* the request is wrong; sending it again will not help */
    KW_CLIENT_NOT_FOUND = 2,   /* no such table, path or method */
    KW_CLIENT_DENIED = 3,      /* this caller may not do that */
    KW_CLIENT_LIMIT = 4,       /* a configured limit */
    KW_CLIENT_BUSY = 5,        /* too much at once: try again after retry_after_ms */
    KW_CLIENT_TIMEOUT = 6,     /* the deadline, or call_timeout_ms, passed */
    KW_CLIENT_UNAVAILABLE = 7, /* the store cannot be reached now */
    KW_CLIENT_REFUSED = 8,     /* the store said no and will say it again */
    KW_CLIENT_CORRUPT = 9,     /* stored data is not what it must be */
    KW_CLIENT_INTERNAL = 10,   /* a fault of the gateway */
    KW_CLIENT_CONNECTION = 20, /* the gateway cannot be reached, or the connection was lost */
    KW_CLIENT_PROTOCOL = 21    /* what came back is not an answer of a Keyway gateway */
} kw_client_code;

/* Of errors in this domain; 0, false or NULL when there is nothing to tell. */
KW_CLIENT_API gint32 kw_client_error_retry_after_ms(const GError *error);
/* The write may have happened all the same: read before you write again. */
KW_CLIENT_API bool kw_client_error_maybe_applied(const GError *error);
/* Stands in the gateway's log too. Belongs to the error. */
KW_CLIENT_API const char *kw_client_error_request_id(const GError *error);

/* --- values and records ----------------------------------------------------------------------- */

typedef enum kw_value_kind {
    KW_VALUE_NONE = 0, /* absent */
    KW_VALUE_FLAG,
    KW_VALUE_NUMBER, /* integers, and timestamps in the unit that the field declares */
    KW_VALUE_REAL,
    KW_VALUE_TEXT, /* UTF-8 without NUL */
    KW_VALUE_BYTES,
    KW_VALUE_MAP /* of a map field: its entries by name */
} kw_value_kind;

/* Field name to value. A field that is not set is absent. */
typedef struct kw_record kw_record;

typedef struct kw_value {
    kw_value_kind kind;
    union {
        bool flag;
        gint64 number;
        double real;
        const char *text;
        struct {
            const void *data;
            gsize size;
        } bytes;
        const kw_record *entries;
    };
} kw_value;

KW_CLIENT_API kw_value kw_flag(bool flag);
KW_CLIENT_API kw_value kw_number(gint64 number);
KW_CLIENT_API kw_value kw_real(double real);
KW_CLIENT_API kw_value kw_text(const char *text);
KW_CLIENT_API kw_value kw_bytes_of(const void *data, gsize size);
/* The entries are the names and values of a record, which is borrowed. */
KW_CLIENT_API kw_value kw_map(const kw_record *entries);

KW_CLIENT_API kw_record *kw_record_new(void);
KW_CLIENT_API kw_record *kw_record_ref(kw_record *record);
KW_CLIENT_API void kw_record_unref(kw_record *record);
/* Replaces the field's value, of which a copy is made; KW_VALUE_NONE takes the field out. */
KW_CLIENT_API void kw_record_set(kw_record *record, const char *field, kw_value value);
/* KW_VALUE_NONE when absent. Texts, bytes and entries live until the field is set again or the record goes.
 */
KW_CLIENT_API kw_value kw_record_get(const kw_record *record, const char *field);
KW_CLIENT_API guint kw_record_size(const kw_record *record);
/* The names in alphabetical order, NULL-terminated. Free the array with g_free; the names are the record's.
 */
KW_CLIENT_API const char **kw_record_fields(const kw_record *record);

/* --- connecting ------------------------------------------------------------------------------- */

typedef struct kw_client kw_client;

/* Zero means the default that stands behind each member, so {0} is the usual choice. */
typedef struct kw_client_options {
    bool framed;                 /* frames with a length in front; else a bare stream */
    bool compact;                /* compact protocol; else binary */
    bool tls;                    /* the gateway's certificate and name are verified, always */
    const char *tls_ca;          /* PEM file of authorities to trust; NULL: the system's */
    const char *tls_certificate; /* PEM file with our certificate (chain), where the gateway asks for one */
    const char *tls_key;         /* PEM file; NULL: in tls_certificate */
    const char *tls_server_name; /* name that the certificate must carry; NULL: the address's host */
    guint connect_timeout_ms;    /* 5,000; TLS handshake included */
    guint call_timeout_ms;       /* 60,000; a longer deadline_ms of a call moves it out */
    gsize message_limit_bytes;   /* 64 MiB; a longer answer is a PROTOCOL error */
} kw_client_options;

/* address is HOST:PORT, HOST (port 9595), or [IPV6]:PORT. options may be NULL. Connects at once. */
KW_CLIENT_API kw_client *kw_client_open(const char *address, const kw_client_options *options,
                                        GError **error);
/* NULL is fine. */
KW_CLIENT_API void kw_client_close(kw_client *client);

/* --- writing ---------------------------------------------------------------------------------- */

typedef enum kw_durability {
    KW_DURABILITY_DEFAULT = 0,
    KW_DURABILITY_SKIP_WAL = 1,
    KW_DURABILITY_ASYNC_WAL = 2,
    KW_DURABILITY_SYNC_WAL = 3,
    KW_DURABILITY_FSYNC_WAL = 4
} kw_durability;

/* Zero means the default, NULL instead of a pointer to one means all defaults. */
typedef struct kw_call_options {
    gint32 deadline_ms; /* answer within, or fail with TIMEOUT; 0: the gateway's */
    kw_durability durability;
    gint64 timestamp; /* version of the cells, ms since 1970; 0: the gateway stamps */
} kw_call_options;

/* ret_made (may be NULL): the fields that the gateway made, or NULL when it made none. False with
 * kw_client_error_maybe_applied: nobody knows. */
KW_CLIENT_API bool kw_client_put(kw_client *client, const char *table, const kw_record *record,
                                 const kw_call_options *options, kw_record **ret_made, GError **error);

/* What became of one write of many: failure NULL when it was written. */
typedef struct kw_written {
    kw_record *made; /* NULL: the gateway made no fields */
    GError *failure;
} kw_written;

/* records: of kw_record. ret_written: of kw_written, one per record in the same order, frees its
 * elements. False only when the call as a whole failed. */
KW_CLIENT_API bool kw_client_put_many(kw_client *client, const char *table, const GPtrArray *records,
                                      const kw_call_options *options, GPtrArray **ret_written,
                                      GError **error);

/* Removes the record with these key fields, or only the named columns when columns (NULL-terminated,
 * may be NULL) names any: fields, and entries of maps as in "followed.bob". It is no error when there is
 * none. */
KW_CLIENT_API bool kw_client_remove(kw_client *client, const char *table, const kw_record *key,
                                    const char *const *columns, const kw_call_options *options,
                                    GError **error);
KW_CLIENT_API bool kw_client_remove_many(kw_client *client, const char *table, const GPtrArray *keys,
                                         const char *const *columns, const kw_call_options *options,
                                         GPtrArray **ret_written, GError **error);

/* amounts: field or entry ("hits.front") to NUMBER that is added. ret_values: the new values. Never retried.
 */
KW_CLIENT_API bool kw_client_increment(kw_client *client, const char *table, const kw_record *key,
                                       const kw_record *amounts, const kw_call_options *options,
                                       kw_record **ret_values, GError **error);

typedef enum kw_compare {
    KW_COMPARE_LESS = 0,
    KW_COMPARE_LESS_OR_EQUAL = 1,
    KW_COMPARE_EQUAL = 2,
    KW_COMPARE_NOT_EQUAL = 3,
    KW_COMPARE_GREATER_OR_EQUAL = 4,
    KW_COMPARE_GREATER = 5
} kw_compare;

/* Stored value of `field` (or an entry, "followed.bob") <compare> `value`. With KW_VALUE_NONE: EQUAL asks
 * that the field is absent, NOT_EQUAL that it is there. */
typedef struct kw_condition {
    const char *field;
    kw_compare compare;
    kw_value value;
} kw_condition;

/* Writes the record if the stored one meets the condition; ret_written tells whether it did. */
KW_CLIENT_API bool kw_client_put_if(kw_client *client, const char *table, const kw_record *record,
                                    const kw_condition *condition, const kw_call_options *options,
                                    bool *ret_written, GError **error);

/* The same, and tells what the gateway made as kw_client_put does: ret_made (may be NULL) is NULL when it
 * made nothing, and when the record was not written. */
KW_CLIENT_API bool kw_client_compare_and_put(kw_client *client, const char *table, const kw_record *record,
                                             const kw_condition *condition, const kw_call_options *options,
                                             bool *ret_written, kw_record **ret_made, GError **error);

/* Reserves `count` numbers of a field that the gateway makes (a sequence, a snowflake): *ret_first and the
 * following ones, *ret_count in all, which is less where a range ends. scope: what chooses the sequence, as
 * the timestamp of one that begins anew with each minute; else NULL. */
KW_CLIENT_API bool kw_client_allocate(kw_client *client, const char *table, const char *field,
                                      const kw_record *scope, gint64 count, const kw_call_options *options,
                                      gint64 *ret_first, gint64 *ret_count, GError **error);

/* --- reading ---------------------------------------------------------------------------------- */

/* ret_record: NULL when there is no such record. columns as in kw_client_remove: what to return. */
KW_CLIENT_API bool kw_client_get(kw_client *client, const char *table, const kw_record *key,
                                 const char *const *columns, const kw_call_options *options,
                                 kw_record **ret_record, GError **error);

/* What one read of many found: neither member set when there is no such record. */
typedef struct kw_found {
    kw_record *record;
    GError *failure;
} kw_found;

/* ret_found: of kw_found, one per key in the same order, frees its elements. */
KW_CLIENT_API bool kw_client_get_many(kw_client *client, const char *table, const GPtrArray *keys,
                                      const char *const *columns, const kw_call_options *options,
                                      GPtrArray **ret_found, GError **error);

/* A question. The gateway finds the row ranges that answer it. */
typedef struct kw_query kw_query;

KW_CLIENT_API kw_query *kw_query_new(const char *table);
KW_CLIENT_API void kw_query_free(kw_query *query);
/* The field has this value. */
KW_CLIENT_API void kw_query_where(kw_query *query, const char *field, kw_value value);
/* The field has any of these values; called again for the same field, it adds one more. */
KW_CLIENT_API void kw_query_where_any(kw_query *query, const char *field, kw_value value);
/* One range, on the field behind the bound ones. Each end may be given or not. */
KW_CLIENT_API void kw_query_from(kw_query *query, const char *field, kw_value value, bool inclusive);
KW_CLIENT_API void kw_query_to(kw_query *query, const char *field, kw_value value, bool inclusive);
KW_CLIENT_API void kw_query_order(kw_query *query, bool descending);
KW_CLIENT_API void kw_query_path(kw_query *query, const char *path);
/* Adds a field, or an entry as in "followed.bob", to return besides those of the key; all are returned when
 * none was added. */
KW_CLIENT_API void kw_query_column(kw_query *query, const char *field);
/* HBase's filter language. */
KW_CLIENT_API void kw_query_filter(kw_query *query, const char *filter);
/* Rows in all, over all pages. */
KW_CLIENT_API void kw_query_limit(kw_query *query, gint64 limit);
/* Rows and bytes of one page, at most and about; 0 leaves it to the gateway. */
KW_CLIENT_API void kw_query_page(kw_query *query, gint32 rows, gint32 bytes);
/* Allows a question that must read a whole table. */
KW_CLIENT_API void kw_query_full_scan(kw_query *query, bool allow);
KW_CLIENT_API void kw_query_deadline(kw_query *query, gint32 deadline_ms);

/* The rows of a question, page after page. It borrows the client, and other calls may be made on the
 * client between two steps: nothing is kept open on the gateway. */
typedef struct kw_scan kw_scan;

/* Asks for the first page. */
KW_CLIENT_API kw_scan *kw_client_scan(kw_client *client, const kw_query *query, GError **error);
/* The first rows in descending order (unless the query says otherwise): usually with limit 1. */
KW_CLIENT_API kw_scan *kw_client_latest(kw_client *client, const kw_query *query, GError **error);
/* Goes on where kw_scan_cursor stood, on any gateway that shares the signing key. */
KW_CLIENT_API kw_scan *kw_client_resume(kw_client *client, const void *cursor, gsize cursor_size,
                                        const kw_call_options *options, GError **error);
/* True and the next record, which is the scan's and lives until the next step. False at the end, and
 * on an error: look at `error`. */
KW_CLIENT_API bool kw_scan_next(kw_scan *scan, const kw_record **ret_record, GError **error);
/* How many records of the present page have not been taken yet. */
KW_CLIENT_API guint kw_scan_page_left(const kw_scan *scan);
/* Where the page after the present one begins; NULL behind the last. Belongs to the scan. */
KW_CLIENT_API GBytes *kw_scan_cursor(const kw_scan *scan);
/* Sums over the pages fetched so far. Their quotient is the efficiency; 1 is best. */
KW_CLIENT_API gint64 kw_scan_rows_scanned(const kw_scan *scan);
KW_CLIENT_API gint64 kw_scan_rows_returned(const kw_scan *scan);
KW_CLIENT_API void kw_scan_free(kw_scan *scan);

/* --- tables ----------------------------------------------------------------------------------- */

/* Texts are NULL where the gateway gave none. */
typedef struct kw_field_info {
    char *name;
    char *type;   /* bool, int, double, string, bytes, timestamp, map */
    bool key;     /* part of the identity of a record */
    char *column; /* "family:qualifier"; NULL: only the key holds it */
    char *unit;   /* of a timestamp: s, ms, us, ns */
    char *about;
    char *of; /* of a map: the type of its values */
} kw_field_info;

typedef struct kw_path_info {
    char *name;
    char *store_table;
    gint32 layout;
    char *fingerprint;
    char **components;
    gint64 buckets;
    char *state;   /* what it holds, as the catalog says: "complete"; NULL: the table is not served */
    bool verified; /* false: its rows are older than the catalog, and nobody compared them */
} kw_path_info;

typedef struct kw_table_info {
    char *name;
    char *about;
    GPtrArray *fields; /* of kw_field_info */
    GPtrArray *paths;  /* of kw_path_info */
} kw_table_info;

/* NULL-terminated; free with g_strfreev. */
KW_CLIENT_API char **kw_client_tables(kw_client *client, GError **error);
KW_CLIENT_API kw_table_info *kw_client_describe(kw_client *client, const char *table, GError **error);
KW_CLIENT_API void kw_table_info_free(kw_table_info *info);
/* NULL when there is no such field. */
KW_CLIENT_API const kw_field_info *kw_table_info_field(const kw_table_info *info, const char *name);

/* --- administration --------------------------------------------------------------------------- */

typedef struct kw_key_piece {
    char *component;
    GBytes *bytes;
    char *text;
} kw_key_piece;

typedef struct kw_explained_key {
    char *path;
    char *store_table;
    GBytes *row_key;
    GPtrArray *pieces;    /* of kw_key_piece */
    GBytes *region_start; /* NULL: the store does not tell (so the next) */
    char *region_server;
    GBytes *region_stop; /* exclusive; empty: the table's end; NULL as above */
} kw_explained_key;

typedef struct kw_explained_range {
    GBytes *start; /* inclusive */
    GBytes *stop;  /* exclusive; empty: the table's end */
    gint32 group;  /* ranges of one group are merged, groups read one after the other */
    char *text;
} kw_explained_range;

typedef struct kw_explanation {
    GPtrArray *keys;     /* of kw_explained_key: a record's keys; empty for a question */
    char *path;          /* NULL for a record */
    GPtrArray *ranges;   /* of kw_explained_range: the first ones where there are thousands */
    gint64 ranges_count; /* all of them */
    bool reversed;
    char **notes;
    double expected_efficiency; /* rows scanned per row returned; 0 when not told */
    char *text;
} kw_explanation;

/* How the question would be answered; nothing is read. */
KW_CLIENT_API kw_explanation *kw_client_explain(kw_client *client, const kw_query *query, GError **error);
/* The row keys that the record would get; nothing is written. */
KW_CLIENT_API kw_explanation *kw_client_explain_put(kw_client *client, const char *table,
                                                    const kw_record *record, GError **error);
KW_CLIENT_API void kw_explanation_free(kw_explanation *explanation);

typedef struct kw_policy_info {
    char *text;
    GPtrArray *tables; /* of kw_table_info */
    gint64 loaded_at;  /* ms since 1970 */
} kw_policy_info;

KW_CLIENT_API kw_policy_info *kw_client_policy(kw_client *client, GError **error);
KW_CLIENT_API void kw_policy_info_free(kw_policy_info *policy);

typedef struct kw_problem {
    gint32 line;
    gint32 column;
    char *message;
    char *hint; /* NULL: none */
} kw_problem;

/* What is wrong with a policy text: of kw_problem, empty when nothing is. NULL on an error. */
KW_CLIENT_API GPtrArray *kw_client_check(kw_client *client, const char *text, GError **error);

/* The tables of a policy text that is not served: of kw_table_info. INVALID with the first problem. */
KW_CLIENT_API GPtrArray *kw_client_policy_tables(kw_client *client, const char *text, GError **error);

/* What the second policy text changes against the first, as text for people (g_free). sample: of kw_record of
 * `table` of the first policy (NULL: the only one), by which moved keys are counted; NULL: random records. */
KW_CLIENT_API char *kw_client_policy_diff(kw_client *client, const char *old_text, const char *new_text,
                                          const char *table, const GPtrArray *sample, GError **error);

/* A policy that is judged, not served. */
typedef struct kw_candidate {
    const char *name; /* as the advice calls it */
    const char *text;
} kw_candidate;

typedef struct kw_named_query {
    const char *name;
    const kw_query *query;
} kw_named_query;

/* Zero and NULL leave it to the gateway. */
typedef struct kw_advise_request {
    const kw_candidate *candidates;
    gsize candidates_count;
    const char *table;       /* NULL: the policies have only one */
    const GPtrArray *sample; /* of kw_record */
    const kw_named_query *queries;
    gsize queries_count;
    gint32 regions;         /* of each store table */
    const char *time_field; /* tells when a record is written */
    gint64 window_ms;       /* in which writes are counted */
} kw_advise_request;

/* How writes share themselves out over places (buckets or regions). Shares are 0 to 1. */
typedef struct kw_spread {
    GArray *counts; /* gint64 per place, in key order */
    gint32 reached;
    double hottest_to_mean; /* over the whole sample; 1 is best */
    double window_share;    /* of the hottest place in a typical window */
    double worst_share;
    double window_places; /* as many places, used alike, take the writes of a window; 0: not known */
} kw_spread;

typedef struct kw_advised_path {
    gint32 candidate; /* index */
    char *path;
    char *store_table;
    char **components;
    gint64 records;  /* that got a key */
    gint64 rejected; /* that got none */
    char *rejection; /* of the first; NULL: none */
    gint64 duplicates;
    gint32 key_bytes_min;
    gint32 key_bytes_max;
    double key_bytes_mean;
    char *bucket;       /* the component that scatters; NULL: none */
    kw_spread *buckets; /* NULL: none */
    kw_spread *regions;
    GPtrArray *region_starts; /* of GBytes */
    char *cut;                /* where the regions come from */
    GArray *heat;             /* gint32 per column of time and region, region by region of the first column */
    char *order_field;        /* NULL: everything cannot be read in order */
    bool order_descending;
    gint64 order_ranges; /* merged for it */
    char **order_lost;   /* fields whose order the rule gives up */
} kw_advised_path;

typedef struct kw_advised_question {
    gint32 candidate; /* indexes */
    gint32 question;
    char *refusal; /* NULL: there is a plan */
    char *path;
    gint32 ranges;
    gint32 groups;
    bool point;
    bool ordered;
    double expected_efficiency;
    gint64 scanned;  /* rows of the sample that are read */
    gint64 matching; /* ... that are returned */
} kw_advised_question;

typedef struct kw_advice {
    GPtrArray *paths;     /* of kw_advised_path */
    GPtrArray *questions; /* of kw_advised_question */
    char **words;
    char *time_field; /* NULL: the order of the sample stands for time */
    gint64 window_ms;
    gint32 windows;
    GArray *columns; /* gint64: ms since 1970, or the number of the first record */
} kw_advice;

/* How the candidates' rules would behave for the sample and the queries; nothing is written. */
KW_CLIENT_API kw_advice *kw_client_advise(kw_client *client, const kw_advise_request *request,
                                          GError **error);
KW_CLIENT_API void kw_advice_free(kw_advice *advice);

/* Texts NULL, numbers -1 and the whole member list's end leave it to the store. */
typedef struct kw_family_options {
    const char *name;
    const char *compression;    /* NONE SNAPPY LZ4 ZSTD LZO GZ */
    const char *bloom_filter;   /* NONE ROW ROWCOL */
    const char *block_encoding; /* NONE PREFIX DIFF FAST_DIFF ROW_INDEX_V1 */
    gint32 ttl_seconds;
    gint32 max_versions;
    gint32 min_versions;
    gint32 block_size;
    gint32 replication_scope;
    int block_cache; /* 0 or 1 (so the next two) */
    int in_memory;
    int keep_deleted_cells;
} kw_family_options;

/* A family with nothing but a name. */
KW_CLIENT_API kw_family_options kw_family_options_of(const char *name);

/* At most one way to split: keys, algorithm with regions, or sample with regions. */
typedef struct kw_create_options {
    const char *path; /* NULL: every path's store table */
    const kw_family_options *families;
    gsize families_count;
    const GPtrArray *split_keys; /* of GBytes; NULL: none */
    const char *split_algorithm; /* HexStringSplit UniformSplit DecimalStringSplit rule; NULL: none */
    gint32 regions;
    const GPtrArray *sample; /* of kw_record; NULL: none */
    bool if_absent;
} kw_create_options;

typedef struct kw_created_table {
    char *store_table;
    GPtrArray *split_keys; /* of GBytes */
    bool created;          /* false: it was there already */
} kw_created_table;

/* Of kw_created_table; NULL on an error. options may be NULL. */
KW_CLIENT_API GPtrArray *kw_client_create_table(kw_client *client, const char *table,
                                                const kw_create_options *options, GError **error);
/* Clears what the catalog holds of a table that no policy has any more, or of a dropped path (NULL: the whole
 * table). REFUSED while store tables hold rows, unless drop_rows: then those that Keyway created are emptied
 * for good. The names of the emptied store tables (g_strfreev); NULL on an error. */
KW_CLIENT_API char **kw_client_forget(kw_client *client, const char *table, const char *path, bool drop_rows,
                                      GError **error);
/* How a path of a table disagrees with the primary path about a record. */
typedef enum kw_difference_kind {
    KW_DIFFERENCE_MISSING = 0,   /* the path does not have the record */
    KW_DIFFERENCE_DIFFERENT = 1, /* the path has other columns or values */
    KW_DIFFERENCE_ORPHAN = 2,    /* only the path has the record */
    KW_DIFFERENCE_FOREIGN = 3    /* the row's key was not made by the path's rule; never repaired */
} kw_difference_kind;

typedef struct kw_difference {
    kw_difference_kind kind;
    char *path;
    GBytes *row_key; /* under that path */
    kw_record *key;  /* what names the record; NULL for FOREIGN */
    char *text;      /* how the rows differ, for people */
    bool repaired;
} kw_difference;

/* What one slice of a scrub found. */
typedef struct kw_scrubbed {
    gint64 rows; /* that were read from the path that is scanned */
    gint64 missing;
    gint64 different;
    gint64 orphans;
    gint64 foreign_rows;
    gint64 repaired;
    gint64 unsettled;       /* records whose writes may be under way; they are in no other count */
    GPtrArray *differences; /* of kw_difference */
    GBytes *cursor;         /* for the next slice; NULL: everything was compared */
    double progress;        /* 0 to 1 */
} kw_scrubbed;

typedef struct kw_scrub_options {
    GBytes *cursor; /* of the slice before; NULL: the first slice */
    bool repair;
    gint32 max_records;     /* 1 to 1,000; 0: as many as the gateway likes */
    gint32 max_differences; /* that are listed, 0 to 1,000; below 0: 100 */
    gint32 deadline_ms;     /* 0: the gateway's own */
} kw_scrub_options;

/* Compares one slice of a table's records between the primary path and the others, and makes the others like
 * it when asked to. It can be repeated with the same cursor. NULL on an error. options may be NULL. */
KW_CLIENT_API kw_scrubbed *kw_client_scrub(kw_client *client, const char *table,
                                           const kw_scrub_options *options, GError **error);
KW_CLIENT_API void kw_scrubbed_free(kw_scrubbed *scrubbed);

KW_CLIENT_API bool kw_client_reload(kw_client *client, GError **error);
/* The figures of /metrics: name (text) to double *. NULL on an error. */
KW_CLIENT_API GHashTable *kw_client_stats(kw_client *client, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_client, kw_client_close)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_record, kw_record_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_query, kw_query_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_scan, kw_scan_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_table_info, kw_table_info_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_explanation, kw_explanation_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_policy_info, kw_policy_info_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_advice, kw_advice_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_scrubbed, kw_scrubbed_free)

G_END_DECLS
