/* The rows: everything of a policy file but the store and the tables. See setting.h. */
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
     .about = "PEM file with the certificate that callers see, and the chain behind it."},
    {.name = "key",
     .kind = KW_KIND_TEXT,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_tls, key),
     .least = 1,
     .about = "PEM file with the certificate's private key."},
    {.name = "ca",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_tls, ca),
     .least = 1,
     .about = "PEM file with the authorities whose client certificates are accepted.",
     .holds = "nobody"},
    {.name = "require_client",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_model_tls, require_client),
     .fallback = "false",
     .about = "Ask callers for a certificate and refuse those without a valid one. Needs ca."},
    {.name = NULL},
};

static const kw_section listener_tls_section = {
    .title = "TLS",
    .about = "TLS towards callers: 1.3, and 1.2 with ECDHE and AES-GCM or ChaCha20. Files are read again at "
             "reload.",
    .settings = listener_tls_settings,
    .size = sizeof(kw_model_tls),
    .mark_offset = offsetof(kw_model_tls, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_model_tls, enabled),
    .check = kw_check_listener_tls,
};

static const kw_setting listener_settings[] = {
    {.name = "address",
     .kind = KW_KIND_ADDRESS,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_listener, host),
     .offset2 = offsetof(kw_model_listener, port),
     .port = 9595,
     .about = "Where callers connect, host:port. Port 0 takes any free one."},
    {.name = "tls",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_model_listener, tls),
     .section = &listener_tls_section,
     .about = "TLS on this listener, or off."},
    {.name = NULL},
};

static const kw_section listener_section = {
    .title = "a listener",
    .about = "One address on which callers connect. Binary or compact, framed or unframed: each connection "
             "is seen.",
    .settings = listener_settings,
    .shorthand = "address",
    .size = sizeof(kw_model_listener),
    .mark_offset = offsetof(kw_model_listener, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

static const kw_setting admin_settings[] = {
    {.name = "address",
     .kind = KW_KIND_ADDRESS,
     .offset = offsetof(kw_draft, model.admin.host),
     .offset2 = offsetof(kw_draft, model.admin.port),
     .port = 9596,
     .fallback = "127.0.0.1:9596",
     .about = "Where /livez, /readyz and /metrics are served over HTTP, host:port."},
    {.name = NULL},
};

static const kw_section admin_section = {
    .title = "the admin port",
    .about =
        "HTTP for health checks, metrics and people. It has no access control: keep it off public networks.",
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
     .about = "Memory that callers can make the gateway hold, the embedded store's cache included, its write "
              "buffers "
              "(64 MiB) not. From four fifths of it on, pages and read-ahead shrink and connections that "
              "hold more "
              "than their share are not read; when it is used up, calls are answered with BUSY.",
     .holds = "half of the memory that the machine or the control group gives"},
    {.name = "connections",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, connections),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Connections of callers at one time; further ones are refused. Fewer where the process may "
              "not open so many files."},
    {.name = "peer_connections",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, peer_connections),
     .least = 1,
     .most = 1000000,
     .about = "Connections of one peer at one time: of one client certificate, or without one of one address "
              "(IPv6: "
              "of one network of 64 bits); further ones are refused.",
     .holds = "four fifths of connections"},
    {.name = "frame",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_limits, frame_bytes),
     .least = 4 * KIB,
     .most = GIB,
     .fallback = "16MiB",
     .about = "Bytes of one message of a caller, of one reply, and of what a map may bring into one record "
              "of an answer."},
    {.name = "in_flight",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, in_flight),
     .least = 1,
     .most = 65536,
     .fallback = "128",
     .about = "Calls that one connection may have outstanding; reading stops there until one is answered."},
    {.name = "decoded",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_limits, decoded_bytes),
     .least = 64 * KIB,
     .most = 16 * GIB,
     .fallback = "64MiB",
     .about = "Memory that one message may decode into."},
    {.name = "page_rows",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, page_rows),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Rows of one page of a scan, whatever the caller asks for."},
    {.name = "page_bytes",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_limits, page_bytes),
     .least = 4 * KIB,
     .most = GIB,
     .fallback = "8MiB",
     .about = "Bytes of one page of a scan, about."},
    {.name = "scan_buffer",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_limits, scan_buffer_bytes),
     .least = 64 * KIB,
     .most = 16 * GIB,
     .fallback = "8MiB",
     .about = "Memory that one scan reads ahead into, over all its ranges together."},
    {.name = "batch_records",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, batch_records),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Records of one putMany, getMany or removeMany."},
    {.name = "list_values",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_limits, list_values),
     .least = 1,
     .most = 1000000,
     .fallback = "10000",
     .about = "Values that the fields of one question may be bound to, multiplied out."},
    {.name = NULL},
};

static const kw_section limits_section = {
    .title = "limits",
    .about = "What one caller may ask for at most. Beyond a limit a call is answered with LIMIT.",
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
     .about = "A message that has begun must be complete within this time."},
    {.name = "idle",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, idle_ms),
     .least = 0,
     .most = 30 * DAY,
     .fallback = "10min",
     .about = "A connection without calls is closed after this time; 0: never."},
    {.name = "handshake",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, handshake_ms),
     .least = 10,
     .most = HOUR,
     .fallback = "10s",
     .about = "A TLS handshake must be complete within this time."},
    {.name = "call",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, call_ms),
     .least = 1,
     .most = HOUR,
     .fallback = "30s",
     .about = "Deadline of a call that brings none of its own."},
    {.name = "drain",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_model_timeouts, drain_ms),
     .least = 0,
     .most = HOUR,
     .fallback = "15s",
     .about = "How long a gateway that was told to end waits for calls in flight."},
    {.name = NULL},
};

static const kw_section timeouts_section = {
    .title = "timeouts",
    .about = "Time limits towards callers.",
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
     .about = "Events below this level are left out."},
    {.name = "format",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_draft, model.log_json),
     .choices = log_formats,
     .fallback = "logfmt",
     .about = "How a line on standard error is written."},
    {.name = NULL},
};

static const kw_section log_section = {
    .title = "the log",
    .about = "What the gateway tells its operator, on standard error.",
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
     .about = "Keys that sign cursors: the first signs, all verify. Gateways that share them continue each "
              "other's scans.",
     .holds = "a random key, kept beside the embedded store's data, else lost with the process"},
    {.name = "key_file",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.cursor.key_file),
     .least = 1,
     .about = "File with such keys, one a line, instead of keys.",
     .holds = "none"},
    {.name = "expiry",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.cursor.expiry_ms),
     .least = SECOND,
     .most = 30 * DAY,
     .fallback = "1h",
     .about = "A cursor is refused when it is older; a shorter expiry holds for cursors that were given "
              "before, too."},
    {.name = NULL},
};

static const kw_section cursor_section = {
    .title = "cursors",
    .about = "The tokens with which a scan is continued.",
    .settings = cursor_settings,
    .size = sizeof(kw_draft),
    .mark_offset = offsetof(kw_draft, cursor_mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_cursor,
};

/* --- sequences ------------------------------------------------------------------------------------ */

static const char *const backends[] = {"store", "redis", NULL};

static const kw_setting sequences_settings[] = {
    {.name = "counters",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_draft, model.sequences.redis),
     .choices = backends,
     .fallback = "store",
     .about = "Where numbers are counted: in the store, or in Redis."},
    {.name = "table",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.sequences.table),
     .offset2 = offsetof(kw_draft, model.sequences.table_mark),
     .least = 1,
     .fallback = "keyway_sequences",
     .rule = KW_NAME_STORE_TABLE,
     .about = "Store table of the counters and of the leases of snowflakes' workers; made when it is missing "
              "and needed."},
    {.name = "redis",
     .kind = KW_KIND_ADDRESS,
     .offset = offsetof(kw_draft, model.sequences.redis_host),
     .offset2 = offsetof(kw_draft, model.sequences.redis_port),
     .least = 1,
     .port = 6379,
     .fallback = "127.0.0.1:6379",
     .about = "Where Redis is, host:port. It must not forget: append-only file, no eviction."},
    {.name = "redis_password",
     .kind = KW_KIND_TEXT,
     .flags = KW_SETTING_SECRET,
     .offset = offsetof(kw_draft, model.sequences.redis_password),
     .least = 1,
     .about = "What Redis is told with AUTH.",
     .holds = "none"},
    {.name = "redis_database",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_draft, model.sequences.redis_database),
     .least = 0,
     .most = 65535,
     .fallback = "0",
     .about = "Number of the database in Redis."},
    {.name = "redis_prefix",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.sequences.redis_prefix),
     .least = 1,
     .fallback = "keyway:",
     .about = "What the names of the counters in Redis begin with."},
    {.name = "keep",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.sequences.keep_ms),
     .least = HOUR,
     .most = 3650 * DAY,
     .fallback = "7d",
     .about = "How long before a period begins and after it has ended its numbers can be taken (per: minute "
              "and so on). Then its counter is forgotten, and a record of that time is refused."},
    {.name = "lease",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.sequences.lease_ms),
     .least = 100,
     .most = HOUR,
     .fallback = "10s",
     .about = "How long a gateway has the worker number of its snowflakes without renewing it."},
    {.name = NULL},
};

static const kw_section sequences_section = {
    .title = "sequences",
    .about = "Where fields with generate get their numbers.",
    .settings = sequences_settings,
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
     .about = "Where callers connect: one listener or a list of them."},
    {.name = "admin",
     .kind = KW_KIND_SECTION,
     .section = &admin_section,
     .about = "The admin port: an address, or off."},
    {.name = "loops",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_draft, model.loops),
     .least = 0,
     .most = 256,
     .fallback = "0",
     .about = "Threads that serve callers; 0: one per core."},
    {.name = "gateway_id",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.gateway_id),
     .offset2 = offsetof(kw_draft, gateway_id_mark),
     .least = 1,
     .most = 200,
     .about =
         "Names this gateway among those that share an HBase. Two gateways that run at once need different "
         "ids; one that starts again keeps its id.",
     .holds = "the machine's name and the first listener's port"},
    {.name = "limits",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft, model.limits),
     .section = &limits_section,
     .about = "What one caller may ask for at most."},
    {.name = "timeouts",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft, model.timeouts),
     .section = &timeouts_section,
     .about = "Time limits towards callers."},
    {.name = "log", .kind = KW_KIND_SECTION, .section = &log_section, .about = "The log on standard error."},
    {.name = "cursor",
     .kind = KW_KIND_SECTION,
     .section = &cursor_section,
     .about = "The tokens with which a scan is continued."},
    {.name = "sequences",
     .kind = KW_KIND_SECTION,
     .section = &sequences_section,
     .about = "Where fields with generate get their numbers."},
    {.name = "store", .kind = KW_KIND_SECTION, .section = &kw_store_section, .about = "Where the rows are."},
    {.name = "tables",
     .kind = KW_KIND_MAP,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_draft, tables),
     .offset2 = offsetof(kw_draft, tables_count),
     .least = 1,
     .most = 1000,
     .section = &kw_table_section,
     .about = "The logical tables by name."},
    {.name = NULL},
};

const kw_section kw_policy_section = {
    .title = "a policy",
    .about = "A policy file is one YAML document, a map of these settings. All but tables may be left out.",
    .settings = policy_settings,
    .size = sizeof(kw_draft),
    .mark_offset = KW_OFFSET_NONE,
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check_always = true,
    .check = kw_check_policy,
};
