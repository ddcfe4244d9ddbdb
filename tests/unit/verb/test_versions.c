/* get_versions on the embedded store: versions are grouped by timestamp, newest first, and limited. */
#include "desk.h"

#include "store/embedded/embedded.h"

#include <glib/gstdio.h>

static const char policy[] =
    "store: {kind: embedded}\n"
    "limits: {frame: 64KiB}\n"
    "tables:\n"
    "  carts:\n"
    "    fields: {id: string, item: string, price: int, notes: {type: map, of: string}}\n"
    "    key: [id]\n"
    "    families: {d: {versions: 3}}\n"
    "  chosen:\n"
    "    fields: {id: string, item: string}\n"
    "    key: [salt: {algorithm: random, buckets: 4}, id]\n"
    "    updates: false\n"
    "    families: {d: {versions: 3}}\n";

typedef struct fixture {
    desk *desk;
    char *folder;
    const kw_table *table;
    const kw_record_version *versions;
    size_t count;
} fixture;

static void
set_up(fixture *self, const void *table)
{
    g_autofree char *folder = g_dir_make_tmp("versions-XXXXXX", NULL);
    kw_model_embedded settings = {.cache_bytes = 8 << 20};
    kw_error error;
    self->folder = g_build_filename(folder, "data", NULL);
    settings.path = self->folder;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    self->desk = desk_new_over(store, policy);
    desk_create(self->desk, table);
    self->table = desk_table(self->desk, table);
}

static void
remove_folder(const char *folder)
{
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    for (const char *name = NULL; files && (name = g_dir_read_name(files));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            remove_folder(path);
        else
            g_unlink(path);
    }
    g_rmdir(folder);
}

static void
tear_down(fixture *self, const void *table)
{
    (void)table;
    desk_free(self->desk);
    g_autofree char *parent = g_path_get_dirname(self->folder);
    remove_folder(parent);
    g_free(self->folder);
}

static void
put(fixture *self, int64_t timestamp, const char *record)
{
    self->desk->options = (kw_write_options){.has_timestamp = true, .timestamp = timestamp};
    g_assert_cmpint(desk_put(self->desk, self->table->name, record)->outcome, ==, KW_OUTCOME_OK);
}

static void
got(void *user, const kw_record_version *versions, size_t count, const kw_error *error)
{
    fixture *self = user;
    self->versions = versions;
    self->count = count;
    self->desk->error = error ? *error : KW_ERROR_NONE;
    self->desk->done = true;
}

/* The versions, one line each; or the error. */
static char *
versions_of(fixture *self, const char *key, const char *column, size_t most)
{
    desk *target = self->desk;
    kw_record *record = KW_ARENA_NEW(target->call.arena, kw_record);
    kw_pick *pick = KW_ARENA_NEW(target->call.arena, kw_pick);
    *record = desk_record(target, self->table->name, key);
    if (column)
        *pick = desk_pick(target, self->table->name, column);
    target->done = false;
    kw_verb_get_versions(&target->call, self->table, record, pick, column ? 1 : 0, most, got, self);
    desk_wait(target);
    GString *text = g_string_new(target->error.code ? target->error.text : NULL);
    for (size_t i = 0; i < self->count; i++)
        g_string_append_printf(text, "%" G_GINT64_FORMAT " %s\n", (gint64)self->versions[i].timestamp,
                               desk_text(target, self->table, &self->versions[i].record));
    return g_string_free(text, FALSE);
}

#define ASSERT_VERSIONS(self, column, most, expected)                                                        \
    do {                                                                                                     \
        g_autofree char *found = versions_of(self, "id=a", column, most);                                    \
        g_assert_cmpstr(found, ==, expected);                                                                \
    } while (0)

static void
test_grouped(fixture *self, const void *table)
{
    (void)table;
    put(self, 30, "id=a item=three");
    put(self, 10, "id=a item=one price=1");
    put(self, 20, "id=a price=2");
    put(self, 40, "id=a item=four price=4 notes.x=y");
    put(self, 50, "id=b item=other");
    ASSERT_VERSIONS(self, NULL, 1, "40 id=a item=four price=4 notes.x=y\n");
    ASSERT_VERSIONS(self, NULL, 2, "40 id=a item=four price=4 notes.x=y\n30 id=a item=three\n");
    ASSERT_VERSIONS(self, NULL, 3,
                    "40 id=a item=four price=4 notes.x=y\n30 id=a item=three\n20 id=a price=2\n");
    ASSERT_VERSIONS(self, NULL, KW_VERSIONS_MAX,
                    "40 id=a item=four price=4 notes.x=y\n30 id=a item=three\n20 id=a price=2\n"
                    "10 id=a item=one price=1\n");
    ASSERT_VERSIONS(self, "price", 2, "40 id=a price=4\n20 id=a price=2\n");
    ASSERT_VERSIONS(self, "notes.x", 9, "40 id=a notes.x=y\n");
    put(self, 60, "id=a item=six");
    ASSERT_VERSIONS(self, "item", 9, "60 id=a item=six\n40 id=a item=four\n30 id=a item=three\n");
}

static void
test_missing(fixture *self, const void *table)
{
    (void)table;
    ASSERT_VERSIONS(self, NULL, 9, "");
    put(self, 10, "id=a");
    ASSERT_VERSIONS(self, NULL, 9, "10 id=a\n");
    g_autofree char *wrong = versions_of(self, "item=a", NULL, 9);
    g_assert_nonnull(strstr(wrong, "id"));
    g_assert_cmpint(self->desk->error.code, ==, KW_INVALID);
}

static void
test_large(fixture *self, const void *table)
{
    g_autofree char *text = g_strnfill(30000, 'x');
    (void)table;
    for (int64_t timestamp = 1; timestamp <= 3; timestamp++) {
        g_autofree char *record = g_strdup_printf("id=a item=%s", text);
        put(self, timestamp, record);
    }
    g_autofree char *two = versions_of(self, "id=a", NULL, 2);
    g_assert_cmpuint(self->count, ==, 2);
    g_autofree char *all = versions_of(self, "id=a", NULL, 3);
    g_assert_cmpint(self->desk->error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(all, "request fewer versions or columns"));
}

/* The versions of all rows that the record can be in. */
static void
test_several_rows(fixture *self, const void *table)
{
    (void)table;
    for (int64_t timestamp = 1; timestamp <= 40; timestamp++) {
        g_autofree char *record = g_strdup_printf("id=a item=%d", (int)timestamp);
        put(self, timestamp, record);
    }
    ASSERT_VERSIONS(self, NULL, 1, "40 id=a item=40\n");
    g_autofree char *found = versions_of(self, "id=a", NULL, 9);
    g_assert_true(g_str_has_prefix(found, "40 id=a item=40\n"));
    g_assert_cmpuint(self->count, >, 3); /* a row alone keeps three */
    g_assert_cmpuint(self->count, <=, 9);
    for (size_t i = 1; i < self->count; i++)
        g_assert_cmpint(self->versions[i].timestamp, <, self->versions[i - 1].timestamp);
}

KW_TEST_START(start)
{
    g_test_add("/verb/versions/grouped", fixture, "carts", set_up, test_grouped, tear_down);
    g_test_add("/verb/versions/missing", fixture, "carts", set_up, test_missing, tear_down);
    g_test_add("/verb/versions/large", fixture, "carts", set_up, test_large, tear_down);
    g_test_add("/verb/versions/several rows", fixture, "chosen", set_up, test_several_rows, tear_down);
}
