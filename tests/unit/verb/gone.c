/* See gone.h. After each step a lookup and a scan must agree, and removing again must leave nothing. */
#include "gone.h"

#include "desk.h"
#include "path/cells.h"
#include "support/fault_store.h"

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  events:\n"
    "    store_table: NAME\n"
    "    fields:\n"
    "      ts: {type: timestamp, unit: ms}\n"
    "      id: string\n"
    "      note: string\n"
    "    key: [{salt: {algorithm: random, buckets: 8}}, {field: ts}, {field: id}]\n"
    "    paths:\n"
    "      by_id: {association: true, store_table: NAME_ids, key: [{field: id}, {field: "
    "ts}]}\n";

typedef struct play {
    desk *desk;
    kw_fault_plan plan;
} play;

static void
created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    desk *self = user;
    (void)tables;
    if (error)
        g_error("%s", error->text);
    g_assert_cmpuint(count, ==, 2);
    self->done = true;
}

static void
open_play(play *self, kw_store *store, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(policy, "NAME", -1);
    g_autofree char *text = g_strjoinv(name, parts);
    self->desk = desk_new_over(kw_fault_store_new(store, &self->plan), text);
    kw_create_request request = {.table = desk_table(self->desk, "events"), .path = -1, .if_absent = true};
    kw_verb_create_table(&self->desk->call, &request, created, self->desk);
    desk_wait(self->desk);
}

static void
association_read(void *user, kw_rows *rows, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    self->count = rows->rows[0].cells_count;
    kw_rows_free(rows);
    self->done = true;
}

/* Cells that the association has for the record. */
static size_t
named(desk *self, const char *key)
{
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_error error;
    const kw_path *association = desk_table(self, "events")->association;
    kw_record record = desk_record(self, "events", key);
    kw_get get = {.table = association->store_table, .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    g_assert_true(kw_row_key(association, &record, &scratch, self->call.arena, &get.row, &error));
    kw_buffer_clear(&scratch);
    self->done = false;
    kw_store_handle_get(self->handle, &get, association_read, self);
    desk_wait(self);
    return self->count;
}

/* Is it there? A lookup and a scan say the same. */
static bool
is_there(desk *self, const char *key, int at)
{
    g_autofree char *question = g_strdup_printf("events ts=%d..%d", at, at + 1);
    g_autofree char *scanned = desk_scan_all(self, question);
    g_autofree char *found = g_strdup(desk_get(self, "events", key, NULL));
    bool there = strcmp(found, "none") != 0;
    g_autofree char *expected = there ? g_strdup_printf("%s\n", found) : g_strdup("");
    g_assert_cmpstr(scanned, ==, expected);
    return there;
}

static void
put(desk *self, const char *key, const char *note)
{
    g_autofree char *record = g_strdup_printf("%s note=%s", key, note);
    const kw_written_record *written = desk_put(self, "events", record);
    g_assert_cmpstr(written->error.text, ==, "");
    g_assert_cmpuint(named(self, key), ==, 1);
}

/* False: no operation of the removal was the n-th. */
static bool
remove_with_fault(play *self, kw_decode_error fault, uint64_t n, int at)
{
    desk *now = self->desk;
    g_autofree char *key = g_strdup_printf("ts=%d id=r%d", at, at);
    put(now, key, "one");
    g_assert_true(is_there(now, key, at));
    uint64_t before = self->plan.failed;
    self->plan.fault = fault;
    self->plan.fail_at = n;
    kw_written_record removed = *desk_remove(now, "events", key, NULL);
    bool failed = self->plan.failed > before;
    self->plan.fail_at = 0;
    bool there = is_there(now, key, at);
    g_test_message("fault %d at %d: outcome %d, %s: %s", (int)fault, (int)n, (int)removed.outcome,
                   there ? "there" : "gone", removed.error.text);
    if (removed.outcome == KW_OUTCOME_OK)
        g_assert_true(!there && named(now, key) == 0);
    if (removed.outcome == KW_OUTCOME_FAILED)
        g_assert_true(there && named(now, key) == 1 && !removed.error.maybe_applied);
    if (failed && n == 3) { /* between the two */
        g_assert_cmpint(removed.outcome, ==, KW_OUTCOME_UNKNOWN);
        g_assert_false(there);
        g_assert_nonnull(strstr(removed.error.text, "remove it again"));
    }
    g_assert_cmpstr(desk_remove(now, "events", key, NULL)->error.text, ==, "");
    g_assert_cmpuint(named(now, key), ==, 0);
    g_assert_false(is_there(now, key, at));
    put(now, key, "two");
    g_assert_true(is_there(now, key, at));
    desk_clear(now);
    return failed;
}

/* Columns alone are no reason to forget a record. */
static void
remove_column(desk *self)
{
    put(self, "ts=5 id=c", "one");
    g_assert_cmpstr(desk_remove(self, "events", "ts=5 id=c", "note")->error.text, ==, "");
    g_assert_cmpuint(named(self, "ts=5 id=c"), ==, 1);
    g_assert_cmpstr(desk_remove(self, "events", "ts=5 id=c", NULL)->error.text, ==, "");
    g_assert_cmpuint(named(self, "ts=5 id=c"), ==, 0);
}

void
gone_play(kw_store *store, const char *name)
{
    static const kw_decode_error faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST,
                                             KW_FAULT_TIMEOUT};
    play self = {NULL};
    int at = 100;
    open_play(&self, store, name);
    remove_column(self.desk);
    for (size_t f = 0; f < G_N_ELEMENTS(faults); f++) {
        uint64_t n = 1;
        while (remove_with_fault(&self, faults[f], n, at++))
            n++;
        g_assert_cmpuint(n, ==, 4); /* ask, remove, forget */
    }
    desk_free(self.desk);
}
