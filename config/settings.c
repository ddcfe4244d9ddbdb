/* The settings of a policy file except those of the store and the tables. See setting.h. */
#include "config/setting.h"

#include "config/check.h"

#define KIB ((int64_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define SECOND ((int64_t)1000)
#define MINUTE (SECOND * 60)
#define HOUR (MINUTE * 60)
#define DAY (HOUR * 24)

/* --- listeners -------------------------------------------------------------------------------- */

static const kw_setting listener_tls_settings[] = {
    {.name = "certificate",
     .kind = KW_KIND_TEXT,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_tls, certificate),
     .least = 1,
     .about = "PEM file with the certificate for this listener, followed by its chain."},
    {.name = "key",
     .kind = KW_KIND_TEXT,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_tls, key),
     .least = 1,
     .about = "PEM file with the private key of the certificate."},
    {.name = "ca",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_tls, ca),
     .least = 1,
     .about = "PEM file with the authorities that sign client certificates. Used only with require_client: "
              "without it, no client certificate is requested.",
     .holds = "none"},
    {.name = "require_client",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_model_tls, require_client),
     .fallback = "false",
     .about = "Require a valid client certificate. Needs ca."},
    {.name = NULL},
};

static const kw_section listener_tls_section = {
    .title = "TLS",
    .about = "TLS for clients: version 1.3, or 1.2 with ECDHE and AES-GCM or ChaCha20. The files are read "
             "again at reload.",
    .settings = listener_tls_settings,
    .size = sizeof(kw_model_tls),
    .mark_offset = offsetof(kw_model_tls, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_model_tls, enabled),
    .check = kw_check_listener_tls,
};

static const char *const socket_modes[] = {"0600", "0660", "0666", NULL};

static const kw_setting listener_settings[] = {
    {.name = "address",
     .kind = KW_KIND_ADDRESS,
     .flags = KW_SETTING_REQUIRED | KW_SETTING_UNIX,
     .offset = offsetof(kw_model_listener, host),
     .offset2 = offsetof(kw_model_listener, port),
     .port = 9595,
     .about = "Address to listen on: host:port, or unix:/PATH for a Unix socket. A name stands for all of "
              "its addresses that the machine has. Port 0 stands for any free port."},
    {.name = "mode",
     .kind = KW_KIND_CHOICE,
     .offset = offsetof(kw_model_listener, mode),
     .choices = socket_modes,
     .fallback = "0660",
     .about =
         "Permissions of the file of a Unix socket: who can connect. The file belongs to the user and the "
         "group of the gateway."},
    {.name = "public",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_model_listener, public),
     .fallback = "false",
     .about = "Listen although other machines can connect and there is no access: everybody who can connect "
              "can read, write and administer everything. /readyz warns about it."},
    {.name = "tls",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_model_listener, tls),
     .section = &listener_tls_section,
     .about = "TLS on this listener, or off."},
    {.name = NULL},
};

static const kw_section listener_section = {
    .title = "a listener",
    .about = "An address that clients connect to. The gateway detects for each connection whether it is "
             "binary or compact, framed or unframed.",
    .settings = listener_settings,
    .shorthand = "address",
    .size = sizeof(kw_model_listener),
    .mark_offset = offsetof(kw_model_listener, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_listener,
};

static const kw_setting admin_settings[] = {
    {.name = "address",
     .kind = KW_KIND_ADDRESS,
     .offset = offsetof(kw_draft, model.admin.host),
     .offset2 = offsetof(kw_draft, model.admin.port),
     .port = 9596,
     .fallback = "127.0.0.1:9596",
     .about = "Address to listen on for HTTP, host:port. It serves /livez, /readyz, /metrics, and "
              "the status page at /."},
    {.name = NULL},
};

static const kw_section admin_section = {
    .title = "the admin port",
    .about = "The admin port: HTTP for health checks, metrics and a status page. It has no access control: "
             "keep it off public networks.",
    .settings = admin_settings,
    .shorthand = "address",
    .size = sizeof(kw_draft),
    .mark_offset = offsetof(kw_draft, model.admin.mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_draft, model.admin_enabled),
    .on = true,
};

/* --- limits and timeouts ---------------------------------------------------------------------- */

static const kw_setting limits_settings[] = {
    {.name = "memory",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_limits, memory_bytes),
     .least = 16 * MIB,
     .most = 1024 * 1024 * GIB,
     .about =
         "Memory that clients can make the gateway use. It includes the cache of the embedded store, "
         "but not its write buffers (64 MiB). Above 80 % of the limit, pages and read-ahead shrink, and "
         "connections that hold more than their share are not read. Above 90 %, only small calls are "
         "accepted; other calls are answered with BUSY. At the limit, all calls are. One call can use at "
         "most half of the memory that the cache leaves; a call that needs more fails with LIMIT.",
     .holds = "half of the memory of the machine, or of the control group's limit if that is less"},
    {.name = "connections",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, connections),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Maximum number of client connections; further ones are refused. The limit of open files of "
              "the process can reduce it."},
    {.name = "peer_connections",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, peer_connections),
     .least = 1,
     .most = 1000000,
     .about = "Maximum number of connections of one peer; further ones are refused. A peer is a client "
              "certificate or, without one, an address (IPv6: a /64 network).",
     .holds = "80 % of connections"},
    {.name = "frame",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_limits, frame_bytes),
     .least = 4 * KIB,
     .most = GIB,
     .fallback = "16MiB",
     .about =
         "Maximum size of a request, of a reply, of a record that a scan reads, and of the map entries in "
         "one "
         "returned record. A larger request closes its connection. A page ends before a larger record, and "
         "the "
         "next page fails with LIMIT and names it; a query for fewer columns can read it. A decoded request "
         "can "
         "use four times as much memory; a call that needs more fails with LIMIT. A page of a scan, and the "
         "read-ahead of a scan, have about half of this size, at most 8MiB."},
    {.name = "in_flight",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, in_flight),
     .least = 1,
     .most = 65536,
     .fallback = "128",
     .about = "Maximum number of calls of one connection that are processed at a time. Further calls are not "
              "read until one completes."},
    {.name = "page_rows",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, page_rows),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Maximum number of rows in one page of a scan. A query can ask for smaller pages, not for "
              "larger ones."},
    {.name = "batch_records",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, batch_records),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Maximum number of records in one putMany, getMany or removeMany."},
    {.name = "cells",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, cells),
     .least = 1,
     .most = 10000000,
     .fallback = "100000",
     .about =
         "Maximum number of cells in one call that writes, counted as the client sends them: one for each "
         "field, each entry of a map, and each removed column or whole record, over all records of the "
         "call. The copies of a record under further paths do not count. The limit also applies to a record "
         "that is only explained. Each cell is stored with its row "
         "key. Whatever this limit is, the keys of the cells that one call writes to a record can have at "
         "most 16 MiB, over all paths."},
    {.name = "ranges",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, ranges),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about =
         "Maximum number of row ranges, or of single rows, in one plan of a query, and of the values in one "
         "list of a query. If the exact ranges are more, the query reads fewer, wider ranges and drops the "
         "rows that do not match. If that "
         "would change the order of the rows, it is read in windows of time or rejected. If the query's "
         "values are long, the limit is lower: all keys of a plan have at most 4 MiB of them. With a limit "
         "of more than 50,000, one plan can delay the other calls of its event loop for 20 ms or more."},
    {.name = NULL},
};

static const kw_section limits_section = {
    .title = "limits",
    .about = "Limits for clients. A call that exceeds batch_records, cells or ranges, or whose reply exceeds "
             "frame, "
             "fails with LIMIT. The other settings say what happens.",
    .settings = limits_settings,
    .size = sizeof(kw_model_limits),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

static const kw_setting timeouts_settings[] = {
    {.name = "frame",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, frame_ms),
     .least = 10,
     .most = HOUR,
     .fallback = "10s",
     .about =
         "Time limit from the first byte of a message to its last, and for a TLS handshake. It is also the "
         "time within which a client must read some bytes of a reply that is being sent."},
    {.name = "idle",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, idle_ms),
     .least = 0,
     .most = 30 * DAY,
     .fallback = "10min",
     .about = "Time after which a connection without calls is closed. 0: never."},
    {.name = "call",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, call_ms),
     .least = 1,
     .most = HOUR,
     .fallback = "30s",
     .about = "Deadline of calls that do not set their own."},
    {.name = "drain",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, drain_ms),
     .least = 0,
     .most = HOUR,
     .fallback = "15s",
     .about = "How long a gateway that shuts down waits for calls under way. Then it answers them with "
              "UNAVAILABLE, and waits for up to 2 seconds until the clients have read these replies."},
    {.name = "lame_duck",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, lame_duck_ms),
     .least = 0,
     .most = HOUR,
     .fallback = "0s",
     .about = "How long a gateway that shuts down still accepts and serves connections while /readyz returns "
              "503, before it drains. With a load balancer, set it to the time that the load balancer needs "
              "to notice this, for example three times the interval of its checks."},
    {.name = NULL},
};

static const kw_section timeouts_section = {
    .title = "timeouts",
    .about = "Time limits for clients.",
    .settings = timeouts_settings,
    .size = sizeof(kw_model_timeouts),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

/* --- log and cursors -------------------------------------------------------------------------- */

static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const log_formats[] = {"logfmt", "json", NULL};

static const kw_setting log_settings[] = {
    {.name = "level",
     .kind = KW_KIND_CHOICE,
     .offset = offsetof(kw_draft, model.log_level),
     .choices = log_levels,
     .fallback = "info",
     .about = "The lowest level that is logged."},
    {.name = "format",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_draft, model.log_json),
     .choices = log_formats,
     .fallback = "logfmt",
     .about = "The format of a log line."},
    {.name = NULL},
};

static const kw_section log_section = {
    .title = "the log",
    .about = "The log, which goes to standard error.",
    .settings = log_settings,
    .size = sizeof(kw_draft),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

static const kw_setting cursor_settings[] = {
    {.name = "keys",
     .kind = KW_KIND_TEXTS,
     .flags = KW_SETTING_SECRET,
     .offset = offsetof(kw_draft, model.cursor.keys),
     .offset2 = offsetof(kw_draft, model.cursor.keys_count),
     .least = 16,
     .most = 256,
     .about = "Keys for cursors. The first key signs; all keys verify. Gateways with the same keys can "
              "continue each other's scans.",
     .holds = "a random key, kept in the folder of the embedded store; with other stores it is lost when the "
              "process ends"},
    {.name = "key_file",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.cursor.key_file),
     .least = 1,
     .about = "File with the keys, one per line. Use either keys or key_file.",
     .holds = "none"},
    {.name = "expiry",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.cursor.expiry_ms),
     .least = SECOND,
     .most = 30 * DAY,
     .fallback = "1h",
     .about = "How long a cursor is valid. A shorter value also applies to existing cursors."},
    {.name = NULL},
};

static const kw_section cursor_section = {
    .title = "cursors",
    .about = "Cursors, the tokens that continue a scan.",
    .settings = cursor_settings,
    .size = sizeof(kw_draft),
    .mark_offset = offsetof(kw_draft, cursor_mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_cursor,
};

static const kw_setting hints_settings[] = {
    {.name = "keep",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.hints_keep_ms),
     .least = SECOND,
     .most = 30 * DAY,
     .fallback = "10min",
     .about = "How long at least a hint is kept after its record got other values. A query that takes "
              "longer, over all of its pages, is rejected, because it could miss a record that was written "
              "meanwhile. Set it alike in all gateways."},
    {.name = NULL},
};

static const kw_section hints_section = {
    .title = "hints",
    .about = "Hints, the rows of paths over fields that change.",
    .settings = hints_settings,
    .size = sizeof(kw_draft),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

/* --- sequences ------------------------------------------------------------------------------------ */

static const kw_setting sequences_settings[] = {
    {.name = "redis",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.sequences.redis_url),
     .least = 1,
     .about =
         "Keep the counters in this Redis: redis://USER:PASSWORD@HOST:PORT/DATABASE. User, password, port "
         "(6379) and database (0) can be omitted. TLS is not supported. Redis must not lose data: use an "
         "append-only file and no eviction.",
     .holds = "none; the counters are in the store"},
    {.name = "redis_password_file",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.sequences.redis_password_file),
     .least = 1,
     .about = "File with the password for Redis, if it is not part of the URL.",
     .holds = "none"},
    {.name = "keep",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.sequences.keep_ms),
     .least = HOUR,
     .most = 3650 * DAY,
     .fallback = "7d",
     .about = "For sequences with a counter per minute, hour and so on: a counter can be used during its "
              "period, and also for this time before and after it. Records outside this time are "
              "rejected."},
    {.name = NULL},
};

static const kw_section sequences_section = {
    .title = "sequences",
    .about = "Counters of generated fields.",
    .settings = sequences_settings,
    .size = sizeof(kw_draft),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_sequences,
};

/* --- where tables and sequences come from ------------------------------------------------------- */

static const char *const policy_sources[] = {"file", "store", NULL};

static const kw_setting source_settings[] = {
    {.name = "source",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_draft, model.policy_in_store),
     .choices = policy_sources,
     .fallback = "file",
     .about =
         "file: this file has them. store: all gateways of a store share them. The catalog keeps every "
         "policy version, and the commands keyway policy import and keyway policy apply write new ones. The "
         "file then has no tables, and of sequences only redis_password_file."},
    {.name = NULL},
};

static const kw_section source_section = {
    .title = "the policy",
    .about = "Where the settings tables and sequences come from. A change of this setting needs a restart.",
    .settings = source_settings,
    .size = sizeof(kw_draft),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

/* --- the file --------------------------------------------------------------------------------- */

static const kw_setting policy_settings[] = {
    {.name = "listen",
     .kind = KW_KIND_LIST,
     .offset = offsetof(kw_draft, model.listeners),
     .offset2 = offsetof(kw_draft, model.listeners_count),
     .least = 1,
     .most = 64,
     .fallback = "127.0.0.1:9595",
     .section = &listener_section,
     .about = "The addresses that clients connect to: one listener or a list of them. An address that this "
              "machine does not "
              "have is skipped with a warning, unless no other is left."},
    {.name = "admin",
     .kind = KW_KIND_SECTION,
     .section = &admin_section,
     .about = "The admin port: an address or off."},
    {.name = "access",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft, model.access),
     .section = &kw_access_section,
     .about = "Who can do what."},
    {.name = "audit_file",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.audit_file),
     .least = 1,
     .about =
         "File to which the gateway appends a line of JSON for each login and each denied call (both only "
         "with access), for each call of createTable and of the methods that operate, and for each "
         "policy that it begins to serve. SIGHUP opens it again. While it cannot be written, those "
         "methods fail, and /readyz has a warning.",
     .holds = "none"},
    {.name = "loops",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_draft, model.loops),
     .least = 0,
     .most = 256,
     .fallback = "0",
     .about =
         "Number of event loops, each a thread. 0: with the store hbase one per four cores, at least one, so "
         "that its batches are large; otherwise one per core."},
    {.name = "strict_start",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_draft, model.strict_start),
     .fallback = "false",
     .about = "Do not start if a table cannot be served, for example because its rows were written under "
              "another key rule. By default, the calls of such a table fail with UNAVAILABLE and the reason, "
              "/readyz lists the table as degraded, and the other tables are served."},
    {.name = "gateway_id",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.gateway_id),
     .offset2 = offsetof(kw_draft, gateway_id_mark),
     .least = 1,
     .most = 200,
     .about = "Name of this gateway, unique among the gateways that share an HBase. Keep it the same when "
              "the gateway restarts.",
     .holds = "host name and the first port of listen"},
    {.name = "limits",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft, model.limits),
     .section = &limits_section,
     .about = "Limits for clients."},
    {.name = "timeouts",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft, model.timeouts),
     .section = &timeouts_section,
     .about = "Time limits for clients."},
    {.name = "log", .kind = KW_KIND_SECTION, .section = &log_section, .about = "The log."},
    {.name = "cursor",
     .kind = KW_KIND_SECTION,
     .section = &cursor_section,
     .about = "Cursors, the tokens that continue a scan."},
    {.name = "hints",
     .kind = KW_KIND_SECTION,
     .section = &hints_section,
     .about = "Hints, the rows of paths over fields that change."},
    {.name = "policy",
     .kind = KW_KIND_SECTION,
     .section = &source_section,
     .about = "Where the settings tables and sequences come from."},
    {.name = "sequences",
     .kind = KW_KIND_SECTION,
     .section = &sequences_section,
     .about = "Counters of generated fields."},
    {.name = "store",
     .kind = KW_KIND_SECTION,
     .section = &kw_store_section,
     .about = "The store that holds the rows."},
    {.name = "tables",
     .kind = KW_KIND_MAP,
     .offset = offsetof(kw_draft, tables),
     .offset2 = offsetof(kw_draft, tables_count),
     .least = 1,
     .most = 1000,
     .section = &kw_table_section,
     .about = "The logical tables, by name.",
     .holds = "none; they are required unless policy.source is store"},
    {.name = NULL},
};

const kw_section kw_policy_section = {
    .title = "a policy",
    .about =
        "A policy file is a YAML map of these settings. Only tables is required, unless the catalog keeps "
        "the tables.",
    .settings = policy_settings,
    .size = sizeof(kw_draft),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check_always = true,
    .check = kw_check_policy,
};
