/* libkeyway: writes and reads logical records through a Keyway gateway, over Thrift.
 *
 *     g_autoptr(GError) error = NULL;
 *     g_autoptr(kw_client) client = kw_client_open("127.0.0.1:9595", NULL, &error);
 *     g_autoptr(kw_record) event = kw_record_new();
 *     kw_record_set(event, "order_id", kw_text("A-1001"));
 *     kw_record_set(event, "ts", kw_number(1795255200000));
 *     if (client == NULL || !kw_client_put(client, "order_events", event, NULL, NULL, &error))
 *         g_printerr("%s\n", error->message);
 *
 * Threads: a client is one connection, for one thread at a time; records and queries are plain data. Calls
 * block until the reply has arrived or call_timeout_ms have passed. A connection that was lost or may be out
 * of step is closed, and the next call opens a new one.
 *
 * Ownership: values returned or written through a `ret_` pointer belong to the caller (free them with the
 * function of their type; g_autoptr works). `ret_` pointers are written only on success, and can be NULL
 * where the comment says so. Arguments are borrowed for the call. A kw_value borrows its text or bytes;
 * records and queries copy them.
 *
 * Errors: a GError in the domain KW_CLIENT_ERROR. Its code is a kw_client_code, which determines what the
 * caller can do; the kw_client_error_... functions return the details.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

G_BEGIN_DECLS

#define KW_CLIENT_API __attribute__((visibility("default")))

/* --- errors ----------------------------------------------------------------------------------- */

#define KW_CLIENT_ERROR (kw_client_error_quark())
KW_CLIENT_API GQuark kw_client_error_quark(void);

/* 1 to 10 are the codes of the Thrift interface; the others are set by this library. */
typedef enum kw_client_code {
    KW_CLIENT_INVALID = 1,     /* the request is invalid; do not retry */
    KW_CLIENT_NOT_FOUND = 2,   /* no such table, path, method or policy version */
    KW_CLIENT_DENIED = 3,      /* this caller is not authorized */
    KW_CLIENT_LIMIT = 4,       /* exceeds a configured limit, or a sequence has no more numbers */
    KW_CLIENT_BUSY = 5,        /* overloaded: retry after retry_after_ms */
    KW_CLIENT_TIMEOUT = 6,     /* the deadline or call_timeout_ms has passed */
    KW_CLIENT_UNAVAILABLE = 7, /* the store cannot be reached now */
    KW_CLIENT_REFUSED = 8,     /* the store refuses it, or the rows or the catalog do not allow it */
    KW_CLIENT_CORRUPT = 9,     /* stored data is damaged */
    KW_CLIENT_INTERNAL = 10,   /* a defect of the gateway */
    KW_CLIENT_CONNECTION = 20, /* the gateway cannot be reached, or the connection was lost */
    KW_CLIENT_PROTOCOL = 21    /* invalid reply */
} kw_client_code;

/* For errors of this domain; 0, false or NULL if there is no such detail. */
KW_CLIENT_API gint32 kw_client_error_retry_after_ms(const GError *error);
/* The write may have been applied: read before you write again. */
KW_CLIENT_API bool kw_client_error_maybe_applied(const GError *error);
/* The id of the call in the gateway's log; NULL if the gateway did not log it. Belongs to the error. */
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
/* Sets the field to a copy of the value; KW_VALUE_NONE removes the field. */
KW_CLIENT_API void kw_record_set(kw_record *record, const char *field, kw_value value);
/* KW_VALUE_NONE if absent. Texts, bytes and entries live until the field is set again or the record is freed.
 */
KW_CLIENT_API kw_value kw_record_get(const kw_record *record, const char *field);
KW_CLIENT_API guint kw_record_size(const kw_record *record);
/* The names in alphabetical order, NULL-terminated. Free the array with g_free; the names belong to the
 * record.
 */
KW_CLIENT_API const char **kw_record_fields(const kw_record *record);

/* --- connecting ------------------------------------------------------------------------------- */

typedef struct kw_client kw_client;

/* A member that is zero has the default that its comment names, so {0} is the usual choice. */
typedef struct kw_client_options {
    bool framed;        /* each message has a length prefix; otherwise a plain stream */
    bool compact;       /* compact protocol; otherwise binary */
    bool tls;           /* the gateway's certificate and name are always verified */
    const char *tls_ca; /* PEM file of authorities to trust; NULL: the system's */
    const char
        *tls_certificate; /* PEM file with the client's certificate (chain), if the gateway requires one */
    const char *tls_key;  /* PEM file; NULL: in tls_certificate */
    const char *tls_server_name; /* name that the certificate must have; NULL: the host of the address */
    guint connect_timeout_ms;  /* default 5,000; for all addresses of the host and the TLS handshake, not for
                                  the lookup of its name */
    guint call_timeout_ms;     /* default 60,000; a longer deadline_ms of a call extends it */
    gsize message_limit_bytes; /* default 64 MiB; a longer reply is a PROTOCOL error */
} kw_client_options;

/* address: HOST:PORT, HOST (port 9595), [IPV6]:PORT, or unix:/PATH. options can be NULL. Connects at once. */
KW_CLIENT_API kw_client *kw_client_open(const char *address, const kw_client_options *options,
                                        GError **error);
/* NULL is ignored. */
KW_CLIENT_API void kw_client_close(kw_client *client);

/* --- writing ---------------------------------------------------------------------------------- */

typedef enum kw_durability {
    KW_DURABILITY_DEFAULT = 0,
    KW_DURABILITY_SKIP_WAL = 1,
    KW_DURABILITY_ASYNC_WAL = 2,
    KW_DURABILITY_SYNC_WAL = 3,
    KW_DURABILITY_FSYNC_WAL = 4
} kw_durability;

/* Zero is the default; NULL instead of a pointer means all defaults. */
typedef struct kw_call_options {
    gint32 deadline_ms; /* fail with TIMEOUT after this time; 0: the gateway's default */
    kw_durability durability;
    gint64 timestamp; /* of the cells, ms since 1970; 0: set by the gateway or the store */
} kw_call_options;

/* ret_generated (can be NULL): the fields that the gateway generated; NULL if there are none. False with
 * kw_client_error_maybe_applied: the outcome is unknown. */
KW_CLIENT_API bool kw_client_put(kw_client *client, const char *table, const kw_record *record,
                                 const kw_call_options *options, kw_record **ret_generated, GError **error);

/* The outcome of one write of several: failure is NULL if it was written. */
typedef struct kw_written {
    kw_record *generated; /* NULL: the gateway generated no fields */
    GError *failure;
} kw_written;

/* records: an array of kw_record. ret_written: an array of kw_written, one per record in the same order.
 * Freeing the array frees its elements. False only if the whole call failed. */
KW_CLIENT_API bool kw_client_put_many(kw_client *client, const char *table, const GPtrArray *records,
                                      const kw_call_options *options, GPtrArray **ret_written,
                                      GError **error);

/* Removes the record with these key fields. If `columns` (NULL-terminated, can be NULL) has names, removes
 * only these columns of the record. A name is a field, or an entry of a map such as "followed.bob". A missing
 * record is not an error. */
KW_CLIENT_API bool kw_client_remove(kw_client *client, const char *table, const kw_record *key,
                                    const char *const *columns, const kw_call_options *options,
                                    GError **error);
KW_CLIENT_API bool kw_client_remove_many(kw_client *client, const char *table, const GPtrArray *keys,
                                         const char *const *columns, const kw_call_options *options,
                                         GPtrArray **ret_written, GError **error);

/* amounts: the NUMBER to add to each field or entry ("hits.front"). ret_values: the new values. The call is
 * never retried. */
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

/* The condition: stored value of `field` (or of an entry, "followed.bob") <compare> `value`. With
 * KW_VALUE_NONE: EQUAL requires that the field is absent, NOT_EQUAL that it is present. */
typedef struct kw_condition {
    const char *field;
    kw_compare compare;
    kw_value value;
} kw_condition;

/* Writes the record if the stored one meets the condition. *ret_written: true if it was written. */
KW_CLIENT_API bool kw_client_put_if(kw_client *client, const char *table, const kw_record *record,
                                    const kw_condition *condition, const kw_call_options *options,
                                    bool *ret_written, GError **error);

/* Like kw_client_put_if, and also returns the generated fields. *ret_generated becomes NULL if there are
 * none, or if the record was not written. ret_generated itself can be NULL. */
KW_CLIENT_API bool kw_client_compare_and_put(kw_client *client, const char *table, const kw_record *record,
                                             const kw_condition *condition, const kw_call_options *options,
                                             bool *ret_written, kw_record **ret_generated, GError **error);

/* Allocates `count` consecutive numbers of a generated field (a sequence or snowflake). *ret_first is the
 * first number. *ret_count is how many were allocated: fewer than `count` if the sequence ends, or if a
 * snowflake has fewer left in its current millisecond or second. scope: for a sequence with a counter per
 * minute, hour and so on, the timestamp; otherwise NULL. */
KW_CLIENT_API bool kw_client_allocate(kw_client *client, const char *table, const char *field,
                                      const kw_record *scope, gint64 count, const kw_call_options *options,
                                      gint64 *ret_first, gint64 *ret_count, GError **error);

/* --- reading ---------------------------------------------------------------------------------- */

/* ret_record: NULL if there is no such record. columns: the columns to return, as in kw_client_remove. */
KW_CLIENT_API bool kw_client_get(kw_client *client, const char *table, const kw_record *key,
                                 const char *const *columns, const kw_call_options *options,
                                 kw_record **ret_record, GError **error);

/* What one write stored in a record: the key, and the fields with this timestamp. */
typedef struct kw_record_version {
    gint64 timestamp; /* ms since 1970 */
    kw_record *record;
} kw_record_version;

/* The newest versions that the store keeps, at most max_versions (1 to 1,000): an array of kw_record_version,
 * the newest first; empty if there is no such record. NULL on an error. */
KW_CLIENT_API GPtrArray *kw_client_get_versions(kw_client *client, const char *table, const kw_record *key,
                                                const char *const *columns, gint32 max_versions,
                                                const kw_call_options *options, GError **error);

/* The result of one read of several: both members are NULL if there is no such record. */
typedef struct kw_found {
    kw_record *record;
    GError *failure;
} kw_found;

/* ret_found: an array of kw_found, one per key in the same order. Freeing the array frees its elements. */
KW_CLIENT_API bool kw_client_get_many(kw_client *client, const char *table, const GPtrArray *keys,
                                      const char *const *columns, const kw_call_options *options,
                                      GPtrArray **ret_found, GError **error);

/* A query. The gateway determines the row ranges to read. */
typedef struct kw_query kw_query;

KW_CLIENT_API kw_query *kw_query_new(const char *table);
KW_CLIENT_API void kw_query_free(kw_query *query);
/* The field has this value. */
KW_CLIENT_API void kw_query_where(kw_query *query, const char *field, kw_value value);
/* The field has any of these values; a further call for the same field adds a value. */
KW_CLIENT_API void kw_query_where_any(kw_query *query, const char *field, kw_value value);
/* One range, on the field after the bound ones. Either end can be omitted. */
KW_CLIENT_API void kw_query_from(kw_query *query, const char *field, kw_value value, bool inclusive);
KW_CLIENT_API void kw_query_to(kw_query *query, const char *field, kw_value value, bool inclusive);
KW_CLIENT_API void kw_query_order(kw_query *query, bool descending);
KW_CLIENT_API void kw_query_path(kw_query *query, const char *path);
/* Adds a field, or an entry such as "followed.bob", to return in addition to the key's fields; without
 * any, all fields are returned. */
KW_CLIENT_API void kw_query_column(kw_query *query, const char *field);
/* A filter in HBase's filter language. */
KW_CLIENT_API void kw_query_filter(kw_query *query, const char *filter);
/* Maximum number of rows over all pages. */
KW_CLIENT_API void kw_query_limit(kw_query *query, gint64 limit);
/* Maximum number of rows and approximate number of bytes of one page; 0: the gateway's default. */
KW_CLIENT_API void kw_query_page(kw_query *query, gint32 rows, gint32 bytes);
/* Allows a query that must read a whole table. */
KW_CLIENT_API void kw_query_full_scan(kw_query *query, bool allow);
/* Skips rows that cannot be decoded, which other programs can write, instead of failing; see
 * kw_scan_undecodable. */
KW_CLIENT_API void kw_query_skip_undecodable(kw_query *query, bool skip);
KW_CLIENT_API void kw_query_deadline(kw_query *query, gint32 deadline_ms);

/* The rows of a query, page by page. Borrows the client, which can make other calls between two steps: the
 * gateway keeps nothing open. */
typedef struct kw_scan kw_scan;

/* Fetches the first page. */
KW_CLIENT_API kw_scan *kw_client_scan(kw_client *client, const kw_query *query, GError **error);
/* The first row in descending order, unless the query sets an order. INVALID if the query has a limit greater
 * than 1. */
KW_CLIENT_API kw_scan *kw_client_latest(kw_client *client, const kw_query *query, GError **error);
/* Continues from the position of kw_scan_cursor, on any gateway with the same policy and cursor keys. */
KW_CLIENT_API kw_scan *kw_client_resume(kw_client *client, const void *cursor, gsize cursor_size,
                                        const kw_call_options *options, GError **error);
/* Returns true and the next record, which belongs to the scan and lives until the next step. False at the
 * end, and on an error: check `error`. */
KW_CLIENT_API bool kw_scan_next(kw_scan *scan, const kw_record **ret_record, GError **error);
/* The number of records of the current page that were not returned yet. */
KW_CLIENT_API guint kw_scan_page_left(const kw_scan *scan);
/* The start of the next page; NULL after the last page. Belongs to the scan. */
KW_CLIENT_API GBytes *kw_scan_cursor(const kw_scan *scan);
/* Sums over the pages fetched so far. The best number of scanned rows per returned row is 1. */
KW_CLIENT_API gint64 kw_scan_rows_scanned(const kw_scan *scan);
KW_CLIENT_API gint64 kw_scan_rows_returned(const kw_scan *scan);
/* The rows that were skipped because of kw_query_skip_undecodable. */
KW_CLIENT_API gint64 kw_scan_undecodable(const kw_scan *scan);
KW_CLIENT_API void kw_scan_free(kw_scan *scan);

/* --- tables ----------------------------------------------------------------------------------- */

/* Texts are NULL if the gateway sent none. */
typedef struct kw_field_info {
    char *name;
    char *type;   /* bool, int, double, string, bytes, timestamp, map */
    bool key;     /* part of the identity of a record */
    char *column; /* "family:qualifier"; NULL: stored in the key only */
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
    char *state;   /* in the catalog: "complete"; "filling": it lacks rows; NULL: the table is not served */
    bool verified; /* false: it has rows older than the catalog that were neither verified nor compared with
                      the primary path */
    gint64 checked_rows; /* so many rows were checked when the gateway first served the path, or read by
                            kw_client_verify; 0: none */
    gint64 checked_at;   /* when, in milliseconds since 1970 */
    bool association;    /* maps records to their rows; holds no records */
    char *differences;   /* of the store table from the policy; NULL: none are known */
    bool hints;          /* its key has fields that can change; its rows lead to the primary path */
    bool unique;         /* no two records have the same values of the fields in its key */
} kw_path_info;

typedef struct kw_table_info {
    char *name;
    char *about;
    char *not_served;  /* why calls that read or write its rows fail; NULL: the table is served */
    GPtrArray *fields; /* of kw_field_info */
    GPtrArray *paths;  /* of kw_path_info */
} kw_table_info;

/* The names of the tables, NULL-terminated; free with g_strfreev. */
KW_CLIENT_API char **kw_client_tables(kw_client *client, GError **error);
KW_CLIENT_API kw_table_info *kw_client_describe(kw_client *client, const char *table, GError **error);
KW_CLIENT_API void kw_table_info_free(kw_table_info *info);
/* NULL if there is no such field. */
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
    GBytes *region_start; /* of the region that holds the row; NULL: the store does not report it */
    char *region_server;  /* NULL as for region_start */
    GBytes *region_stop;  /* exclusive; empty: the table's end; NULL as for region_start */
} kw_explained_key;

typedef struct kw_explained_range {
    GBytes *start; /* inclusive */
    GBytes *stop;  /* exclusive; empty: the table's end */
    gint32 group;  /* ranges of one group are merged; groups are read one after another */
    char *text;
} kw_explained_range;

typedef struct kw_explanation {
    GPtrArray *keys;     /* of kw_explained_key: a record's keys; empty for a query */
    char *path;          /* NULL for a record */
    GPtrArray *ranges;   /* of kw_explained_range: only the first ones if there are thousands */
    gint64 ranges_count; /* number of all ranges */
    bool reversed;
    char **notes;
    double expected_reads_per_row; /* rows scanned per row returned; 0: unknown */
    char *text;
} kw_explanation;

/* How the query would be answered; reads nothing. */
KW_CLIENT_API kw_explanation *kw_client_explain(kw_client *client, const kw_query *query, GError **error);
/* The row keys that the record would get; writes nothing. */
KW_CLIENT_API kw_explanation *kw_client_explain_put(kw_client *client, const char *table,
                                                    const kw_record *record, GError **error);
KW_CLIENT_API void kw_explanation_free(kw_explanation *explanation);

/* A row key, divided by the key rule of one path. */
typedef struct kw_decoded_key {
    char *path;
    char *store_table;
    GPtrArray *pieces; /* of kw_key_piece: the components, as far as the key can be divided */
    kw_record *key;    /* the fields of the key; if it does not fit, those that could be decoded */
    char *component;   /* that does not fit; NULL: none, or bytes follow the last component */
    char *reason;      /* why the key does not fit; NULL: it fits */
} kw_decoded_key;

/* Decodes a row key under each path of the table, or only under `path`: an array of kw_decoded_key.
 * policy_text: the table is one of this policy, which is not served; NULL: of the gateway's policy. Reads no
 * rows. */
KW_CLIENT_API GPtrArray *kw_client_decode_key(kw_client *client, const char *table, GBytes *row_key,
                                              const char *path, const char *policy_text, GError **error);

typedef struct kw_policy_info {
    char *text;
    GPtrArray *tables; /* of kw_table_info */
    gint64 loaded_at;  /* ms since 1970 */
    gint64 version;    /* if the catalog keeps the policy; -1: it comes from a file */
    char *settings;    /* if the catalog keeps the policy: the gateway's other settings; otherwise NULL */
} kw_policy_info;

KW_CLIENT_API kw_policy_info *kw_client_policy(kw_client *client, GError **error);
KW_CLIENT_API void kw_policy_info_free(kw_policy_info *policy);

typedef struct kw_problem {
    gint32 line;
    gint32 column;
    char *message;
    char *hint; /* NULL: none */
} kw_problem;

/* The problems of a policy text: an array of kw_problem, empty if there are none. NULL on an error. */
KW_CLIENT_API GPtrArray *kw_client_check(kw_client *client, const char *text, GError **error);

/* The tables of a policy text that is not served: an array of kw_table_info. INVALID with the first
 * problem. */
KW_CLIENT_API GPtrArray *kw_client_policy_tables(kw_client *client, const char *text, GError **error);

/* The differences between two policy texts, as text for people (g_free). The text has the share of keys that
 * changes. It is counted over `sample`, an array of kw_record of `table`; NULL: over random records. table: a
 * table of the first policy; NULL: its only table. */
KW_CLIENT_API char *kw_client_policy_diff(kw_client *client, const char *old_text, const char *new_text,
                                          const char *table, const GPtrArray *sample, GError **error);

/* A policy to evaluate without serving it. */
typedef struct kw_candidate {
    const char *name; /* its name in the advice */
    const char *text;
} kw_candidate;

typedef struct kw_named_query {
    const char *name;
    const kw_query *query;
} kw_named_query;

/* Zero and NULL are the gateway's defaults. */
typedef struct kw_advise_request {
    const kw_candidate *candidates;
    gsize candidates_count;
    const char *table;       /* NULL: the policies have only one */
    const GPtrArray *sample; /* of kw_record */
    const kw_named_query *queries;
    gsize queries_count;
    gint32 regions;         /* of each store table */
    const char *time_field; /* the time at which a record is written */
    gint64 window_ms;       /* time over which writes are counted */
} kw_advise_request;

/* How writes are distributed over places (buckets or regions). Shares are 0 to 1. */
typedef struct kw_spread {
    GArray *counts;         /* gint64 per place, in key order */
    gint32 reached;         /* places with at least one write */
    double hottest_to_mean; /* hottest place divided by the mean, over the whole sample; 1 is best */
    double window_share;    /* share of the hottest place in a typical window */
    double worst_share;     /* share of the hottest place in the worst window */
    double window_places;   /* the number of equally used places that would spread the writes of a window as
                               evenly; 0: unknown */
} kw_spread;

typedef struct kw_advised_path {
    gint32 candidate; /* index */
    char *path;
    char *store_table;
    char **components;
    gint64 records;  /* with a key */
    gint64 rejected; /* without a key */
    char *rejection; /* of the first; NULL: none */
    gint64 duplicates;
    gint32 key_bytes_min;
    gint32 key_bytes_max;
    double key_bytes_mean;
    char *bucket;       /* the component that spreads the rows over buckets; NULL: none */
    kw_spread *buckets; /* NULL: none */
    kw_spread *regions;
    GPtrArray *region_starts; /* of GBytes */
    char *cut;                /* source of the split points */
    GArray *heat;             /* gint32: writes; all regions of the first time column, then of the next */
    char *order_field;        /* NULL: a full scan cannot be sorted */
    bool order_descending;
    gint64 order_ranges; /* number of ranges that such a scan merges */
    char **order_lost;   /* fields whose order the rule loses */
} kw_advised_path;

typedef struct kw_advised_query {
    gint32 candidate; /* indexes */
    gint32 query;
    char *refusal; /* NULL: there is a plan */
    char *path;
    gint32 ranges;
    gint32 groups;
    bool point;
    bool ordered;
    double expected_reads_per_row;
    gint64 scanned;  /* rows of the sample that are read */
    gint64 matching; /* ... that are returned */
} kw_advised_query;

typedef struct kw_advice {
    GPtrArray *paths;   /* of kw_advised_path */
    GPtrArray *queries; /* of kw_advised_query */
    char **words;       /* the advice in sentences; the last ones compare the candidates */
    char *time_field;   /* NULL: the order of the sample is used as time */
    gint64 window_ms;
    gint32 windows;
    GArray *columns; /* gint64: start of each time column of `heat`, in ms since 1970; without time_field: the
                        number of its first record */
} kw_advice;

/* Predicts how the candidates' rules would behave for the sample and the queries; writes nothing. */
KW_CLIENT_API kw_advice *kw_client_advise(kw_client *client, const kw_advise_request *request,
                                          GError **error);
KW_CLIENT_API void kw_advice_free(kw_advice *advice);

/* Texts that are NULL, and numbers that are -1, are the store's defaults. */
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
    int block_cache; /* 0 or 1 (also the next two) */
    int in_memory;
    int keep_deleted_cells;
} kw_family_options;

/* A family with only a name. */
KW_CLIENT_API kw_family_options kw_family_options_of(const char *name);

/* At most one kind of split: keys, algorithm with regions, or sample with regions. */
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
    bool created;          /* false: it existed already */
} kw_created_table;

/* Returns an array of kw_created_table; NULL on an error. options can be NULL. */
KW_CLIENT_API GPtrArray *kw_client_create_table(kw_client *client, const char *table,
                                                const kw_create_options *options, GError **error);
/* Removes from the catalog a table that no policy has (path NULL), or one path that no policy has. For a path
 * in use that had another key rule before a change: removes only the rows under the old rule. REFUSED while a
 * gateway serves what is to be removed. Also REFUSED while store tables have rows, unless drop_rows is set:
 * then the store tables that Keyway created are emptied permanently. Returns the names of the emptied store
 * tables (g_strfreev); NULL on an error. */
KW_CLIENT_API char **kw_client_forget(kw_client *client, const char *table, const char *path, bool drop_rows,
                                      GError **error);

/* Makes a backup of the gateway's embedded store, with this name, in the folder for backups of the gateway's
 * machine. Waits for it as long as timeout_ms; 0: for a day. Returns the size of its files in bytes, or -1 on
 * an error. */
KW_CLIENT_API gint64 kw_client_backup(kw_client *client, const char *name, gint32 timeout_ms, GError **error);

/* --- policy versions that the catalog keeps ----------------------------------------------------- */

typedef struct kw_apply_options {
    const char *reason; /* NULL: none */
    bool dry_run;       /* only return the plan */
    bool import_file;   /* the text is a whole policy file: use only its tables and sequences */
    bool only_writer;   /* only gateways write the store tables, until changes of key rules have ended */
} kw_apply_options;

typedef struct kw_applied_policy {
    gint64 version;       /* the current policy version; after a dry run, the one that would be current */
    char *plan;           /* what changes, for people */
    bool refused;         /* only after a dry run */
    bool changed;         /* false: the current policy version has the same text */
    char **copied_tables; /* tables whose rows are copied; NULL-terminated */
    /* What a guess of the duration of the copy assumes, before anything was measured. */
    gint32 copy_reads;           /* how often each row is read; 0: no guess */
    gint64 copy_wait_ms;         /* before the copy begins */
    gint64 copy_rows_per_second; /* of each read, without callers */
    gint64 copy_rows_per_second_beside_callers;
} kw_applied_policy;

typedef struct kw_policy_version {
    gint64 version;
    char *author;
    gint64 applied_at; /* ms since 1970 */
    char *reason;
    char *text; /* NULL in a history */
} kw_policy_version;

/* Makes a text with tables and sequences the next policy version, if `expected_version` is the current one
 * (0: no policy was imported yet); otherwise REFUSED. options can be NULL. */
KW_CLIENT_API kw_applied_policy *kw_client_policy_apply(kw_client *client, const char *text,
                                                        gint64 expected_version,
                                                        const kw_apply_options *options, GError **error);
KW_CLIENT_API void kw_applied_policy_free(kw_applied_policy *applied);

/* At most `limit` policy versions (0: 100) with a number less than `before` (0: all), the newest one first:
 * an array of kw_policy_version. */
KW_CLIENT_API GPtrArray *kw_client_policy_history(kw_client *client, gint64 before, gint32 limit,
                                                  GError **error);
/* One policy version with its text, as it was applied; 0: the current one. */
KW_CLIENT_API kw_policy_version *kw_client_policy_version(kw_client *client, gint64 version, GError **error);
/* The same with the layouts, store tables and orders of writes that the tables have at present: the text is
 * also right in a policy file, and for a catalog that was lost. INVALID if they cannot be written into the
 * text. */
KW_CLIENT_API kw_policy_version *kw_client_policy_in_effect(kw_client *client, gint64 version,
                                                            GError **error);
KW_CLIENT_API void kw_policy_version_free(kw_policy_version *version);

/* --- backups of the catalog ----------------------------------------------------------------------- */

/* A cell of the catalog, or a counter of sequences. */
typedef struct kw_saved_cell {
    GBytes *row;    /* of a counter: its name */
    GBytes *column; /* of a counter: the column family */
    GBytes *value;  /* of a counter: a decimal number */
} kw_saved_cell;

KW_CLIENT_API kw_saved_cell *kw_saved_cell_new(GBytes *row, GBytes *column, GBytes *value);
KW_CLIENT_API void kw_saved_cell_free(kw_saved_cell *cell);

typedef struct kw_catalog_page {
    GPtrArray *cells;    /* kw_saved_cell */
    GPtrArray *counters; /* kw_saved_cell */
    char *counters_table;
    gint64 counters_keep_ms;
    GBytes *cursor; /* NULL: this is the last page */
} kw_catalog_page;

/* One page of an export of the catalog. cursor: NULL for the first one. */
KW_CLIENT_API kw_catalog_page *kw_client_export_catalog(kw_client *client, GBytes *cursor, GError **error);
KW_CLIENT_API void kw_catalog_page_free(kw_catalog_page *page);

typedef enum kw_import_step { KW_IMPORT_START = 1, KW_IMPORT_ADD, KW_IMPORT_FINISH } kw_import_step;

/* A part of an import; keyway.thrift describes the parts. */
typedef struct kw_catalog_part {
    const char *export_id;
    kw_import_step step;
    GPtrArray *cells;    /* NULL: none */
    GPtrArray *counters; /* NULL: none */
    const char *counters_table;
    gint64 counters_keep_ms;
} kw_catalog_part;

KW_CLIENT_API bool kw_client_import_catalog(kw_client *client, const kw_catalog_part *part, GError **error);

/* --- changes of tables ---------------------------------------------------------------------------- */

typedef enum kw_change_action {
    KW_CHANGE_SWITCH = 1,   /* queries read the rows under the new key rule */
    KW_CHANGE_REVERSE = 2,  /* queries read the rows under the old key rule again */
    KW_CHANGE_COMPLETE = 3, /* ends the change: writes go only to the new rows; cannot be undone */
    KW_CHANGE_CANCEL = 4,   /* ends the change: the old key rule applies again */
    KW_CHANGE_PAUSE = 5,    /* copying and comparing stop */
    KW_CHANGE_RESUME = 6,
    KW_CHANGE_THROTTLE = 7, /* limits the rows per second of copying and comparing */
    KW_CHANGE_COMPARE = 8   /* compares all rows again */
} kw_change_action;

typedef struct kw_change_options {
    const char *expected_version; /* REFUSED if the change has another version; NULL: any */
    gint64 rows_per_second;       /* THROTTLE; 0: no limit; -1: as it is */
    gint32 share_percent;         /* THROTTLE: 1 to 100; 0: as it is; -1: the default */
    bool leave_undecodable;       /* SWITCH: even if some rows were not copied, see foreign_rows */
    bool expire_cursors;          /* COMPLETE: cursors of the old key rule expire now, so its scans fail */
} kw_change_options;

/* A change of a table while it is in use: of the key rule of a path, or a change that adds paths to a table
 * with rows, drops paths, or allows or forbids increments and conditional writes. Texts are never NULL.
 * Times: ms since 1970. */
typedef struct kw_change_status {
    char *table;
    char *path;          /* of paths that are added together: the first one */
    char *version;       /* embedded store: "both-old": queries read the old rows; "both-new": the new ones */
    char *phase;         /* what happens now, or what it waits for, for people */
    char *next_commands; /* possible now, such as "switch, cancel"; can be "" */
    char *author;
    char *reason;
    gint64 policy_version; /* the policy version that began the change */
    gint64 started_at;
    gint64 version_at; /* when `version` was set */
    gint32 old_layout, layout;
    char *old_store_table, *store_table;
    bool reads_new; /* queries read the rows under the new key rule */
    bool paused;
    bool waiting;                 /* the change does not proceed without a command */
    gint64 limit_rows_per_second; /* 0: none */
    double rows_per_second;       /* of copying or comparing now; 0: neither runs */
    double progress;              /* of copying or comparing, 0 to 1 */
    gint64 left_ms;               /* estimated until all rows are copied and compared; -1: unknown */
    gint32 share_percent;         /* as THROTTLE has set it; 0: the default */
    bool copied, compared;        /* all rows */
    gint64 rows_copied;
    gint64 rows_compared;
    gint64 missing, different, extra; /* differences that the last comparison found, before repairs */
    gint64 repaired;
    gint64 foreign_rows;  /* rows that were not copied: their key does not follow the old key rule, or their
                             record has no key under the new one */
    char *example;        /* the first of them; "": none */
    gint64 cursors_until; /* when the last cursor of the old key rule expires; 0 except in both-new */
    char *problem;        /* why the last step failed; "": it did not fail */
    /* On HBase; "" on other stores. */
    char *goal;         /* of the last command: "copied", "switched", "completed", "reversed", "cancelled" */
    char *holder;       /* the gateway that carries it out; "": unknown */
    char **added_paths; /* the paths that are being added; ends with NULL */
    char **dropped_paths; /* the paths that are being dropped; both are empty if a key rule is changed */
} kw_change_status;

KW_CLIENT_API void kw_change_status_free(kw_change_status *change);

/* The changes that are under way in a table; NULL: in all tables. An array of kw_change_status. */
KW_CLIENT_API GPtrArray *kw_client_changes(kw_client *client, const char *table, GError **error);

/* Carries out the action, and returns the changes of the table that are under way afterwards. REFUSED if the
 * change is not ready for it. options can be NULL. */
KW_CLIENT_API GPtrArray *kw_client_order_change(kw_client *client, const char *table, kw_change_action action,
                                                const kw_change_options *options, GError **error);

/* --- comparisons ---------------------------------------------------------------------------------- */

/* How a path of a table differs from the primary path, for one record. */
typedef enum kw_difference_kind {
    KW_DIFFERENCE_MISSING = 0,   /* the path does not have the record */
    KW_DIFFERENCE_DIFFERENT = 1, /* the path has other columns or values */
    KW_DIFFERENCE_EXTRA = 2,     /* only the path has the record */
    KW_DIFFERENCE_FOREIGN = 3    /* the row key does not follow the path's rule; never repaired */
} kw_difference_kind;

typedef struct kw_difference {
    kw_difference_kind kind;
    char *path;
    GBytes *row_key; /* in that path */
    kw_record *key;  /* the record's key fields; NULL for FOREIGN */
    char *text;      /* describes the difference for people */
    bool repaired;
} kw_difference;

/* The result of one slice of a scrub. */
typedef struct kw_scrubbed {
    gint64 rows; /* rows read from the scanned path */
    gint64 missing;
    gint64 different;
    gint64 extra;
    gint64 foreign_rows;
    gint64 repaired;
    gint64 stale_hints;     /* hints whose records have other values now; they do no harm */
    gint64 unsettled;       /* records whose writes are possibly not finished; not in the other counts */
    GPtrArray *differences; /* of kw_difference */
    GBytes *cursor;         /* for the next slice; NULL: everything was compared */
    double progress;        /* 0 to 1 */
} kw_scrubbed;

typedef struct kw_scrub_options {
    GBytes *cursor; /* of the previous slice; NULL: the first slice */
    bool repair;
    gint32 max_records;     /* 1 to 1,000; 0: the gateway's default */
    gint32 max_differences; /* maximum number of differences listed, 0 to 1,000; negative: 100 */
    gint32 deadline_ms;     /* 0: the gateway's default */
} kw_scrub_options;

/* Compares one slice of a table's records between the primary path and the others and, if requested,
 * changes the others to match it. It can be repeated with the same cursor. NULL on an error. options can
 * be NULL. */
KW_CLIENT_API kw_scrubbed *kw_client_scrub(kw_client *client, const char *table,
                                           const kw_scrub_options *options, GError **error);
/* The same for the rows under the old and the new key rule of a change. The rows that queries do not read are
 * compared with those that they read and, if requested, changed to match them. INVALID if no change is under
 * way. */
KW_CLIENT_API kw_scrubbed *kw_client_change_diff(kw_client *client, const char *table,
                                                 const kw_scrub_options *options, GError **error);
KW_CLIENT_API void kw_scrubbed_free(kw_scrubbed *scrubbed);

/* The number of rows that have these bytes. */
typedef struct kw_row_count {
    GBytes *bytes;
    gint64 rows;
} kw_row_count;

/* A row that does not fit. */
typedef struct kw_unfit_row {
    GBytes *row_key;
    char *field; /* whose value cannot be decoded; NULL: the key does not follow the rule, or the row is too
                    large */
    char *text;  /* why, for people */
} kw_unfit_row;

#define KW_VERIFIED_AGES 6

/* The result of one slice of a verification. */
typedef struct kw_verified {
    gint64 rows;                    /* that were read */
    gint64 foreign_rows;            /* whose key does not follow the key rule */
    gint64 undecodable_rows;        /* whose key does, but that have a value that cannot be decoded */
    gint64 large_rows;              /* too large to be read as a whole */
    GHashTable *undecodable_fields; /* field (text) to gint64 *: rows with such a value */
    GPtrArray *first_bytes;         /* of kw_row_count: foreign rows by the first two bytes of their keys */
    GPtrArray *buckets;             /* of kw_row_count: rows that fit */
    gint64 ages[KW_VERIFIED_AGES]; /* rows that fit by the age of their newest cell: less than an hour, a day,
                                      a week, 30 days, 365 days; older */
    gint64 oldest, newest;         /* timestamps of cells, in milliseconds since 1970; 0: no row fits */
    gint64 expired_rows;           /* with a cell older than the ttl of its family in the policy */
    gint64 future_rows;            /* with a timestamp more than a minute in the future */
    gint64 versioned_rows;         /* with several versions of a column */
    gint64 most_versions;          /* of a column */
    GPtrArray *examples;           /* of kw_unfit_row */
    GBytes *cursor;                /* for the next slice; NULL: all rows were read */
    double progress;               /* 0 to 1 */
    bool verified;                 /* all rows of all slices fit; the catalog has recorded it */
} kw_verified;

typedef struct kw_verify_options {
    const char *path;    /* NULL: the primary path */
    GBytes *cursor;      /* of the previous slice; NULL: the first slice */
    gint32 max_rows;     /* 1 to 10,000; 0: the gateway's default */
    gint32 max_examples; /* 0 to 100; negative: the gateway's default */
    gint32 deadline_ms;  /* 0: the gateway's default */
} kw_verify_options;

/* Reads and judges one slice of the rows of a path. It can be repeated with the same cursor. NULL on an
 * error. options can be NULL. */
KW_CLIENT_API kw_verified *kw_client_verify(kw_client *client, const char *table,
                                            const kw_verify_options *options, GError **error);
KW_CLIENT_API void kw_verified_free(kw_verified *verified);

KW_CLIENT_API bool kw_client_reload(kw_client *client, GError **error);
/* The metrics of /metrics: name (text) to double *. NULL on an error. */
KW_CLIENT_API GHashTable *kw_client_stats(kw_client *client, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_client, kw_client_close)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_record, kw_record_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_query, kw_query_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_scan, kw_scan_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_table_info, kw_table_info_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_explanation, kw_explanation_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_policy_info, kw_policy_info_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_applied_policy, kw_applied_policy_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_policy_version, kw_policy_version_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_catalog_page, kw_catalog_page_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_change_status, kw_change_status_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_advice, kw_advice_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_scrubbed, kw_scrubbed_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_verified, kw_verified_free)

G_END_DECLS
