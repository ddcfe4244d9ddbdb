/* See gone.h. After each step a lookup and a scan must agree, and a second removal must leave no row. */
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

typedef struct fixture {
    desk *desk;
    kw_fault_plan plan;
} fixture;

static void
open_fixture(fixture *self, kw_store *store, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(policy, "NAME", -1);
    g_autofree char *text = g_strjoinv(name, parts);
    self->desk = desk_new_over(kw_fault_store_new(store, &self->plan), text);
    desk_create(self->desk, "events");
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

/* The number of cells that the association holds for the record. */
static size_t
association_cells(desk *self, const char *key)
{
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_error error;
    const kw_placement *locators = desk_table(self, "events")->locators;
    kw_record record = desk_record(self, "events", key);
    kw_get get = {.table = locators->store_table, .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    g_assert_true(kw_row_key(locators, &record, &scratch, self->call.arena, &get.row, &error));
    kw_buffer_clear(&scratch);
    self->done = false;
    kw_store_handle_get(self->handle, &get, association_read, self);
    desk_wait(self);
    return self->count;
}

/* True if the record exists. A lookup and a scan must agree. */
static bool
exists(desk *self, const char *key, int ts)
{
    g_autofree char *query = g_strdup_printf("events ts=%d..%d", ts, ts + 1);
    g_autofree char *scanned = desk_scan_all(self, query);
    g_autofree char *found = g_strdup(desk_get(self, "events", key, NULL));
    bool found_by_get = strcmp(found, "none") != 0;
    g_autofree char *expected = found_by_get ? g_strdup_printf("%s\n", found) : g_strdup("");
    g_assert_cmpstr(scanned, ==, expected);
    return found_by_get;
}

static void
put(desk *self, const char *key, const char *note)
{
    g_autofree char *record = g_strdup_printf("%s note=%s", key, note);
    const kw_written_record *written = desk_put(self, "events", record);
    g_assert_cmpstr(written->error.text, ==, "");
    g_assert_cmpuint(association_cells(self, key), ==, 1);
}

/* Returns false if the removal had fewer than n operations. */
static bool
remove_with_fault(fixture *self, kw_fault fault, uint64_t n, int ts)
{
    desk *target = self->desk;
    g_autofree char *key = g_strdup_printf("ts=%d id=r%d", ts, ts);
    put(target, key, "one");
    g_assert_true(exists(target, key, ts));
    uint64_t before = self->plan.failed;
    self->plan.fault = fault;
    self->plan.fail_at = n;
    kw_written_record removed = *desk_remove(target, "events", key, NULL);
    bool failed = self->plan.failed > before;
    self->plan.fail_at = 0;
    bool found_by_get = exists(target, key, ts);
    g_test_message("fault %d at %d: outcome %d, %s: %s", (int)fault, (int)n, (int)removed.outcome,
                   found_by_get ? "exists" : "removed", removed.error.text);
    if (removed.outcome == KW_OUTCOME_OK)
        g_assert_true(!found_by_get && association_cells(target, key) == 0);
    if (removed.outcome == KW_OUTCOME_FAILED)
        g_assert_true(found_by_get && association_cells(target, key) == 1 && !removed.error.maybe_applied);
    if (failed && n == 3) { /* between the removal of the row and that of the association */
        g_assert_cmpint(removed.outcome, ==, KW_OUTCOME_UNKNOWN);
        g_assert_false(found_by_get);
        g_assert_nonnull(strstr(removed.error.text, "remove it again"));
    }
    g_assert_cmpstr(desk_remove(target, "events", key, NULL)->error.text, ==, "");
    g_assert_cmpuint(association_cells(target, key), ==, 0);
    g_assert_false(exists(target, key, ts));
    put(target, key, "two");
    g_assert_true(exists(target, key, ts));
    desk_clear(target);
    return failed;
}

/* Removing columns does not remove the record from the association. */
static void
remove_column(desk *self)
{
    put(self, "ts=5 id=c", "one");
    g_assert_cmpstr(desk_remove(self, "events", "ts=5 id=c", "note")->error.text, ==, "");
    g_assert_cmpuint(association_cells(self, "ts=5 id=c"), ==, 1);
    g_assert_cmpstr(desk_remove(self, "events", "ts=5 id=c", NULL)->error.text, ==, "");
    g_assert_cmpuint(association_cells(self, "ts=5 id=c"), ==, 0);
}

void
gone_integration_test(kw_store *store, const char *name)
{
    static const kw_fault faults[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST,
                                      KW_FAULT_TIMEOUT};
    fixture self = {NULL};
    int ts = 100;
    open_fixture(&self, store, name);
    remove_column(self.desk);
    for (size_t f = 0; f < G_N_ELEMENTS(faults); f++) {
        uint64_t n = 1;
        while (remove_with_fault(&self, faults[f], n, ts++))
            n++;
        g_assert_cmpuint(n, ==, 4); /* read the association, remove the row, remove it from the association */
    }
    desk_free(self.desk);
}
