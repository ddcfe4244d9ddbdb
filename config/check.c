/* Checks of the gateway's settings: listeners, TLS, cursors, the store, names and addresses that must differ,
 * memory, and where tables and sequences come from. */
#include "config/check.h"

#include "config/read.h"

#include <inttypes.h>
#include <string.h>

#define MIB ((int64_t)1024 * 1024)

void
kw_check_listener_tls(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_tls *tls = section;
    if (node && tls->require_client && !*tls->ca)
        kw_read_problem(read, kw_node_find(node, "require_client")->mark,
                        "add ca: a PEM file with the authorities that sign client certificates",
                        "require_client needs ca");
}

void
kw_check_listener(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_listener *listener = section;
    bool is_unix = kw_model_listener_path(listener) != NULL;
    const kw_node *mode = node && node->kind == KW_NODE_MAP ? kw_node_find(node, "mode") : NULL;
    if (is_unix && listener->tls.enabled)
        kw_read_problem(read, listener->mark, "remove tls", "a Unix socket has no TLS");
    if (mode && !is_unix)
        kw_read_problem(read, mode->mark, "remove it", "mode applies only to a Unix socket");
}

void
kw_check_channel_tls(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_tls *tls = section;
    if (node && !*tls->certificate != !*tls->key)
        kw_read_problem(read, tls->mark, NULL, "certificate and key belong together; %s is missing",
                        *tls->key ? "certificate" : "key");
}

void
kw_check_cursor(kw_read *read, const kw_node *node, void *section)
{
    const kw_draft *draft = section;
    if (node && draft->model.cursor.keys_count && *draft->model.cursor.key_file)
        kw_read_problem(read, draft->cursor_mark, "remove one of them", "has both keys and key_file");
}

/* The address as a text to compare, so that equal listeners have equal texts; NULL for port 0, and for an
 * address that could not be read. Caller frees. */
static char *
address_text(const char *host, uint16_t port)
{
    if (host && g_str_has_prefix(host, "unix:"))
        return g_strdup(host);
    if (port == 0 || !host)
        return NULL;
    g_autofree char *lower = g_ascii_strdown(host, -1);
    return g_strdup_printf("%s %u", lower, port);
}

static void
refuse_repeated_servers(kw_read *read, const kw_model_hbase *hbase)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < hbase->servers_count; i++) {
        const kw_model_server *server = &hbase->servers[i];
        char *address = address_text(server->host, server->port);
        if (address && !g_hash_table_add(seen, address))
            kw_read_problem(read, server->mark, NULL, "the server %s, port %u, is listed twice", server->host,
                            server->port);
    }
}

void
kw_check_store(kw_read *read, const kw_node *node, void *section)
{
    kw_draft *draft = section;
    const kw_model_store *store = &draft->model.store;
    if (!node || store->kind != KW_STORE_HBASE)
        return;
    draft->model.store.hbase.late_given = kw_node_find(node, "late") != NULL;
    if (store->hbase.servers_count == 0)
        kw_read_problem(read, store->mark, "add servers: [127.0.0.1:9090]", "kind hbase needs servers");
    refuse_repeated_servers(read, &store->hbase);
}

static void
refuse_repeated_listener(kw_read *read, const kw_model_listener *listener)
{
    if (kw_model_listener_path(listener))
        kw_read_problem(read, listener->mark, NULL, "listen: %s is listed twice", listener->host);
    else
        kw_read_problem(read, listener->mark, NULL, "listen: %s, port %u, is listed twice", listener->host,
                        listener->port);
}

static void
refuse_repeated_addresses(kw_read *read, const kw_model *model)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    kw_mark first = {0, 0};
    for (size_t i = 0; i < model->listeners_count; i++) {
        const kw_model_listener *listener = &model->listeners[i];
        char *address = address_text(listener->host, listener->port);
        first = listener->mark;
        if (address && !g_hash_table_add(seen, address))
            refuse_repeated_listener(read, listener);
    }
    g_autofree char *admin = address_text(model->admin.host, model->admin.port);
    if (model->admin_enabled && admin && g_hash_table_contains(seen, admin))
        kw_read_problem(read, model->admin.mark.line ? model->admin.mark : first,
                        "use another port for admin", "admin: %s, port %u, is already used by a listener",
                        model->admin.host, model->admin.port);
}

/* --- store tables ----------------------------------------------------------------------------- */

typedef struct owners {
    kw_read *read;
    GHashTable *owners; /* store table -> the path that uses it */
} owners;

static void
claim(owners *all, const char *store_table, char *owner, kw_mark mark)
{
    if (!store_table || !*store_table) {
        g_free(owner);
        return;
    }
    const char *name = kw_store_table_name(store_table);
    const char *first = g_hash_table_lookup(all->owners, name);
    if (first) {
        kw_read_problem(all->read, mark, "every path needs a store table of its own",
                        "%s: the store table %s is already used by %s", owner, store_table, first);
        g_free(owner);
        return;
    }
    g_hash_table_insert(all->owners, (void *)name, owner);
}

static void
claim_path(owners *all, const kw_draft_table *table, const kw_draft_path *path)
{
    bool primary = path == &table->primary;
    char *owner = primary ? g_strdup_printf("tables.%s", table->table.name)
                          : g_strdup_printf("tables.%s.paths.%s", table->table.name, path->path.name);
    claim(all, path->path.store_table, owner,
          path->store_table_mark.line ? path->store_table_mark : path->path.mark);
}

static void
refuse_shared_store_tables(kw_read *read, const kw_draft *draft)
{
    g_autoptr(GHashTable) table = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    owners all = {read, table};
    claim(&all, draft->model.store.catalog, g_strdup("store.catalog"), draft->catalog_mark);
    if (draft->model.store.catalog)
        claim(&all, kw_sequences_table_name(read->memory, draft->model.store.catalog),
              g_strdup("the counters of sequences"), draft->catalog_mark);
    for (size_t i = 0; i < draft->tables_count; i++) {
        claim_path(&all, &draft->tables[i], &draft->tables[i].primary);
        for (size_t j = 0; j < draft->tables[i].paths_count; j++)
            claim_path(&all, &draft->tables[i], &draft->tables[i].paths[j]);
    }
}

/* Rejects a budget that a single call can exceed. Without limits.memory, the budget depends on the machine
 * and cannot be checked here. */
static void
refuse_small_memory(kw_read *read, const kw_node *node, const kw_model *model)
{
    const kw_node *limits = kw_node_find(node, "limits");
    const kw_node *memory = limits && limits->kind == KW_NODE_MAP ? kw_node_find(limits, "memory") : NULL;
    int64_t needed = kw_model_memory_needed(model);
    if (!memory || model->limits.memory_bytes == 0 || model->limits.memory_bytes >= needed)
        return;
    kw_read_problem(read, memory->mark, "raise memory, or lower frame or store.cache",
                    "limits.memory: one call at its limits and the cache need %" PRId64
                    "MiB (6 x frame + read-ahead + store.cache), but memory is only %" PRId64 "MiB",
                    (needed + MIB - 1) / MIB, model->limits.memory_bytes / MIB);
}

/* --- where tables and sequences come from -------------------------------------------------------- */

/* A password must not be in the catalog, so its file is the only setting of sequences that the file keeps. */
static const kw_node *
find_shared_sequence_setting(const kw_node *sequences)
{
    if (!sequences || sequences->kind != KW_NODE_MAP)
        return sequences;
    for (size_t i = 0; i < sequences->count; i++)
        if (strcmp(sequences->keys[i]->text, "redis_password_file") != 0)
            return sequences->keys[i];
    return NULL;
}

static void
refuse_shared_setting(kw_read *read, const kw_node *node, const char *name)
{
    if (node)
        kw_read_problem(read, node->mark,
                        "import this file with `keyway policy import FILE`, then remove tables and sequences",
                        "%s cannot be in this file: with policy.source store, the catalog keeps tables and "
                        "sequences",
                        name);
}

static void
check_source(kw_read *read, const kw_node *node, const kw_draft *draft)
{
    bool map = node->kind == KW_NODE_MAP;
    const kw_node *tables = map ? kw_node_find(node, "tables") : NULL;
    if (!draft->model.policy_in_store) {
        if (*draft->model.sequences.redis_password_file && !*draft->model.sequences.redis_url)
            kw_read_problem(read, kw_node_find(kw_node_find(node, "sequences"), "redis_password_file")->mark,
                            "add redis: redis://HOST", "sequences.redis_password_file needs sequences.redis");
        if (!tables)
            kw_read_problem(read, node->mark, "tables: The logical tables, by name.",
                            "a policy needs tables");
        return;
    }
    refuse_shared_setting(read, tables, "tables");
    refuse_shared_setting(read, find_shared_sequence_setting(map ? kw_node_find(node, "sequences") : NULL),
                          "sequences");
}

void
kw_check_policy(kw_read *read, const kw_node *node, void *section)
{
    const kw_draft *draft = section;
    if (!node)
        return;
    check_source(read, node, draft);
    refuse_small_memory(read, node, &draft->model);
    refuse_repeated_addresses(read, &draft->model);
    kw_check_open_listeners(read, &draft->model);
    refuse_shared_store_tables(read, draft);
}
