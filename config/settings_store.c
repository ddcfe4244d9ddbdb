/* The settings of the store section, for all kinds; a setting that belongs to one kind names it. See
 * setting.h. */
#include "config/check.h"
#include "config/setting.h"

#define KIB ((int64_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

#define EMBEDDED (1u << KW_STORE_EMBEDDED)
#define HBASE (1u << KW_STORE_HBASE)

static const kw_setting channel_tls_settings[] = {
    {.name = "ca",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_tls, ca),
     .least = 1,
     .about = "PEM file with the authorities that sign the certificates of the servers.",
     .holds = "the authorities of the system"},
    {.name = "certificate",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_tls, certificate),
     .least = 1,
     .about = "PEM file with the gateway's own certificate, for servers that require one. Needs key.",
     .holds = "none"},
    {.name = "key",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_tls, key),
     .least = 1,
     .about = "PEM file with the private key of the certificate.",
     .holds = "none"},
    {.name = "server_name",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_tls, server_name),
     .least = 1,
     .rule = KW_NAME_HOST,
     .about = "Name that the certificates of the servers must have.",
     .holds = "the host of the server's address"},
    {.name = NULL},
};

static const kw_section channel_tls_section = {
    .title = "TLS",
    .about = "TLS to the servers. HBase's Thrift2 needs a TLS terminator in front of it. `tls: {}` uses all "
             "defaults.",
    .settings = channel_tls_settings,
    .size = sizeof(kw_model_tls),
    .mark_offset = offsetof(kw_model_tls, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_model_tls, enabled),
    .check = kw_check_channel_tls,
};

static const kw_setting server_settings[] = {
    {.name = "address",
     .kind = KW_KIND_ADDRESS,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_server, host),
     .offset2 = offsetof(kw_model_server, port),
     .least = 1,
     .port = 9090,
     .about = "Address of a Thrift2 server, host:port."},
    {.name = NULL},
};

static const kw_section server_section = {
    .title = "a server",
    .about = "A Thrift2 server.",
    .settings = server_settings,
    .shorthand = "address",
    .size = sizeof(kw_model_server),
    .mark_offset = offsetof(kw_model_server, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
};

/* In the order of kw_store_kind. */
static const char *const kinds[] = {"embedded", "hbase", NULL};

static const kw_setting store_settings[] = {
    {.name = "kind",
     .kind = KW_KIND_ENUM,
     .offset = offsetof(kw_draft, model.store.kind),
     .choices = kinds,
     .fallback = "embedded",
     .about = "embedded: rows in a local folder. hbase: rows in HBase, through Thrift2 servers."},
    {.name = "path",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.store.embedded.path),
     .least = 1,
     .fallback = "keyway-data",
     .only = EMBEDDED,
     .about = "Folder of the data; it is created if it does not exist. A relative path starts at the working "
              "directory."},
    {.name = "cache",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_draft, model.store.embedded.cache_bytes),
     .least = MIB,
     .most = 1024 * GIB,
     .fallback = "64MiB",
     .only = EMBEDDED,
     .about = "Size of the block cache."},
    {.name = "backup_folder",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.store.embedded.backup_folder),
     .least = 1,
     .only = EMBEDDED,
     .about =
         "Folder in which keyway backup makes backups; it must exist. On the file system of path, the files "
         "of a backup are hard links to those of the store; on another one they are copies.",
     .holds = "none; keyway backup is refused"},
    {.name = "servers",
     .kind = KW_KIND_LIST,
     .offset = offsetof(kw_draft, model.store.hbase.servers),
     .offset2 = offsetof(kw_draft, model.store.hbase.servers_count),
     .least = 1,
     .most = 256,
     .section = &server_section,
     .only = HBASE,
     .about = "The Thrift2 servers, host:port. The default port is 9090. The gateway finds out whether a "
              "server is buffered or framed, binary or compact.",
     .holds = "none; the hbase store needs at least one"},
    {.name = "tls",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft, model.store.hbase.tls),
     .section = &channel_tls_section,
     .only = HBASE,
     .about = "TLS to the servers, or off."},
    {.name = "channels",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_draft, model.store.hbase.channels),
     .least = 1,
     .most = 512,
     .fallback = "8",
     .only = HBASE,
     .about = "Number of connections to each server. Each one uses a thread of the server. A server has "
              "1,000 threads by default: further connections, from any gateway, get no replies."},
    {.name = "max_clock_skew",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.store.hbase.max_clock_skew_ms),
     .least = 0,
     .most = 10000,
     .fallback = "20ms",
     .only = HBASE,
     .about = "Maximum difference between the clocks of the region servers."},
    {.name = "late",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.store.hbase.late_ms),
     .least = 100,
     .most = INT64_C(86400000),
     .fallback = "21min",
     .only = HBASE,
     .about = "How long HBase can still apply a call after the gateway gave up on it: "
              "hbase.client.operation.timeout of the Thrift2 servers, plus a margin. A key rule can only be "
              "changed "
              "while the table is served if the file has this setting."},
    {.name = "client_pause",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft, model.store.hbase.client_pause_ms),
     .least = 1,
     .most = 60000,
     .fallback = "100ms",
     .only = HBASE,
     .about =
         "hbase.client.pause of the Thrift2 servers: the time after which their HBase client repeats a call. "
         "If HBase reports within this time that a condition failed, its client has not repeated the call, "
         "so the write was not applied."},
    {.name = "create_missing",
     .kind = KW_KIND_SWITCH,
     .offset = offsetof(kw_draft, model.store.create_missing),
     .about = "Create missing store tables when the gateway starts.",
     .holds = "true for embedded, false for hbase"},
    {.name = "catalog",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft, model.store.catalog),
     .offset2 = offsetof(kw_draft, catalog_mark),
     .least = 1,
     .fallback = "keyway_catalog",
     .rule = KW_NAME_STORE_TABLE,
     .about =
         "Store table of the catalog, which records the fields, key rules and store tables of the "
         "existing rows, and the running gateways. The table of sequences has the same name with _sequences "
         "instead of _catalog, or after it. Installations that share an HBase need different names."},
    {.name = NULL},
};

#define FINDS_OUT "the gateway finds out how each server communicates"
static const kw_unneeded_setting unneeded[] = {
    {"transport", FINDS_OUT}, {"protocol", FINDS_OUT}, {NULL, NULL}};

const kw_section kw_store_section = {
    .title = "the store",
    .about = "The store that holds the rows.",
    .settings = store_settings,
    .unneeded = unneeded,
    .size = sizeof(kw_draft),
    .mark_offset = offsetof(kw_draft, model.store.mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_store,
};
