/* See renewed.h. The cells of the association are written with timestamps of the past, as earlier puts would
 * have left them. */
#include "renewed.h"

#include "desk.h"
#include "path/association.h"
#include "path/cells.h"
#include "support/fault_store.h"

#define HOUR_MS INT64_C(3600000)
#define TTL_S 3600

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  events:\n"
    "    store_table: NAME\n"
    "    families: {d: {ttl: 1h}}\n"
    "    fields: {ts: timestamp, id: string, note: string, hits: {type: int, counter: true}}\n"
    "    key: [{salt: {algorithm: random, buckets: 8}}, {field: ts}, {field: id}]\n"
    "    paths:\n"
    "      by_id: {association: true, store_table: NAME_ids, key: [{field: id}, {field: ts}]}\n"
    "  pairs:\n"
    "    store_table: NAME_pairs\n"
    "    families: {d: {ttl: 1h}}\n"
    "    fields: {ts: timestamp, id: string, note: string}\n"
    "    key: [{salt: {algorithm: random, buckets: 8}}, {field: ts}, {field: id}]\n"
    "    paths:\n"
    "      named: {store_table: NAME_named, key: [{salt: {algorithm: round_robin, buckets: 4}}, {field: id}, "
    "{field: ts}]}\n"
    "      by_id: {association: true, store_table: NAME_pairs_ids, key: [{field: id}, {field: ts}]}\n";

typedef struct fixture {
    desk *desk;
    kw_fault_plan plan;
    const char *table;
    int64_t cell_timestamp; /* timestamp of the association's cell; 0 if there is no cell */
    int number;             /* of the record */
    char key[40];
    kw_bytes row_key; /* the row key that the association holds */
} fixture;

static void
answered(void *user, kw_outcome outcome, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    self->done = true;
}

static void
open_fixture(fixture *self, kw_store *store, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(policy, "NAME", -1);
    g_autofree char *text = g_strjoinv(name, parts);
    self->desk = desk_new_over(kw_fault_store_new(store, &self->plan), text);
    self->table = "events";
    static const char *const tables[] = {"events", "pairs"};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        desk_create(self->desk, tables[i]);
}

static void
described(void *user, kw_table_facts *facts, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    self->count = (size_t)facts->families[0].ttl_seconds;
    kw_table_facts_free(facts);
    self->done = true;
}

static size_t
ttl_of(desk *self, const kw_path *path)
{
    self->done = false;
    kw_store_handle_describe_table(self->handle, path->store_table, KW_DEADLINE_NONE, described, self);
    desk_wait(self);
    return self->count;
}

/* --- the association -------------------------------------------------------------------------- */

static kw_bytes
association_row(fixture *self)
{
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_error error;
    kw_bytes row;
    kw_record record = desk_record(self->desk, self->table, self->key);
    const kw_placement *locators = desk_table(self->desk, self->table)->locators;
    g_assert_true(kw_row_key(locators, &record, &scratch, self->desk->call.arena, &row, &error));
    kw_buffer_clear(&scratch);
    return row;
}

/* Creates the key of the next record. Writes a cell into the association with a timestamp `age_ms` ago; the
 * cell holds a row key `shift` buckets after the default one. */
static void
set_association(fixture *self, uint8_t shift, int64_t age_ms)
{
    desk *target = self->desk;
    kw_buffer key = KW_BUFFER_EMPTY;
    uint32_t bucket;
    const kw_table *table = desk_table(target, self->table);
    self->number++;
    g_snprintf(self->key, sizeof self->key, "ts=%d id=r%d", self->number, self->number);
    kw_record record = desk_record(target, self->table, self->key);
    g_assert_true(kw_placement_default_key(&table->placements[0], &record, &key, &bucket, NULL));
    key.data[0] = (uint8_t)((key.data[0] + shift) % 8);
    self->row_key = kw_arena_copy(target->call.arena, kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    kw_cell *cell = KW_ARENA_NEW(target->call.arena, kw_cell);
    *cell = (kw_cell){
        .family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("primary/1"), .value = self->row_key};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = table->locators->store_table,
                      .row = association_row(self),
                      .cells = cell,
                      .cells_count = 1,
                      .timestamp = kw_clock_wall_ms() - age_ms,
                      .deadline = KW_DEADLINE_NONE};
    target->done = false;
    kw_store_handle_write(target->handle, &write, answered, target);
    desk_wait(target);
    self->cell_timestamp = write.timestamp;
}

static void
row_read(void *user, kw_rows *rows, const kw_error *error)
{
    fixture *self = user;
    g_assert_null(error);
    self->desk->count = rows->rows[0].cells_count;
    self->cell_timestamp = 0;
    for (uint32_t i = 0; i < rows->rows[0].cells_count; i++)
        if (kw_bytes_equal(rows->rows[0].cells[i].qualifier, KW_BYTES_LITERAL("primary/1")))
            self->cell_timestamp = rows->rows[0].cells[i].timestamp;
    kw_rows_free(rows);
    self->desk->done = true;
}

/* The number of cells of a row. Also reads the timestamp of the association's cell. */
static size_t
cells_of(fixture *self, kw_bytes table, kw_bytes row)
{
    kw_get get = {.table = table, .row = row, .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    self->desk->done = false;
    kw_store_handle_get(self->desk->handle, &get, row_read, self);
    desk_wait(self->desk);
    return self->desk->count;
}

/* True if the association's cell was renewed since its timestamp was read last. */
static bool
is_renewed(fixture *self)
{
    int64_t before = self->cell_timestamp;
    cells_of(self, desk_table(self->desk, self->table)->locators->store_table, association_row(self));
    return self->cell_timestamp > before;
}

static const kw_written_record *
put(fixture *self)
{
    g_autofree char *record = g_strdup_printf("%s note=x", self->key);
    return desk_put(self->desk, self->table, record);
}

/* Puts the record; it must be written to the row that the association holds. */
static void
put_into_associated_row(fixture *self)
{
    int64_t cell_timestamp = self->cell_timestamp;
    g_assert_cmpstr(put(self)->error.text, ==, "");
    g_assert_cmpuint(cells_of(self, desk_table(self->desk, self->table)->paths[0].store_table, self->row_key),
                     >, 0);
    g_autofree char *found = g_strdup_printf("%s note=x", self->key);
    g_assert_cmpstr(desk_get(self->desk, self->table, self->key, NULL), ==, found);
    self->cell_timestamp = cell_timestamp;
}

static void
check_put(fixture *self, uint8_t shift, int64_t age_ms, bool renews)
{
    set_association(self, shift, age_ms);
    put_into_associated_row(self);
    g_assert_cmpint(is_renewed(self), ==, renews);
    g_assert_cmpint(ABS(kw_clock_wall_ms() - self->cell_timestamp) < HOUR_MS / 2, ==, renews);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void
lifetimes(fixture *self)
{
    const kw_table *table = desk_table(self->desk, "events");
    g_assert_cmpuint(ttl_of(self->desk, &table->paths[0]), ==, TTL_S);
    g_assert_cmpuint(ttl_of(self->desk, table->locators->path), ==, TTL_S + KW_ASSOCIATION_MARGIN_S);
}

static void
puts_and_renewals(fixture *self)
{
    check_put(self, 1, 11 * HOUR_MS, false);
    check_put(self, 1, 13 * HOUR_MS, true);
    check_put(self, 5, 24 * HOUR_MS, true);
    check_put(self, 0, 24 * HOUR_MS, false); /* the default row, which needs no association */
    set_association(self, 1, 13 * HOUR_MS);
    put_into_associated_row(self);
    g_assert_cmpint(desk_remove(self->desk, "events", self->key, NULL)->outcome, ==, KW_OUTCOME_OK);
    g_assert_true(is_renewed(self));
    g_assert_false(is_renewed(self)); /* the cell still exists */
    g_assert_cmpint(self->cell_timestamp, !=, 0);
    desk_clear(self->desk);
}

/* Puts with timestamps of the caller: one in the past needs no renewal; one in the future renews the
 * association with that timestamp. */
static void
puts_with_timestamps(fixture *self)
{
    kw_write_options *options = &self->desk->options;
    set_association(self, 1, 13 * HOUR_MS);
    *options = (kw_write_options){.has_timestamp = true, .timestamp = kw_clock_wall_ms() - 5 * HOUR_MS};
    g_assert_cmpstr(put(self)->error.text, ==, "");
    g_assert_false(is_renewed(self));
    set_association(self, 1, HOUR_MS);
    options->timestamp = kw_clock_wall_ms() + 240 * HOUR_MS;
    g_assert_cmpstr(put(self)->error.text, ==, "");
    g_assert_true(is_renewed(self));
    g_assert_cmpint(self->cell_timestamp, ==, options->timestamp);
    *options = (kw_write_options){0};
    desk_clear(self->desk);
}

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *self = user;
    (void)generated;
    g_assert_null(error);
    self->applied = applied;
    self->done = true;
}

static void
incremented(void *user, const kw_record *values, const kw_error *error)
{
    desk *self = user;
    (void)values;
    g_assert_null(error);
    self->done = true;
}

static void
increment_and_put_if(fixture *self)
{
    desk *target = self->desk;
    const kw_table *table = desk_table(target, "events");
    int64_t amount = 2;
    set_association(self, 1, 13 * HOUR_MS);
    kw_record key = desk_record(target, "events", self->key);
    kw_pick hits = desk_pick(target, "events", "hits");
    target->done = false;
    kw_verb_increment(&target->call, table, &key, &hits, &amount, 1, target->options, incremented, target);
    desk_wait(target);
    g_assert_true(is_renewed(self));
    set_association(self, 1, 13 * HOUR_MS);
    g_autofree char *text = g_strdup_printf("%s note=x", self->key);
    kw_record record = desk_record(target, "events", text);
    kw_condition_on_field condition = {.pick = desk_pick(target, "events", "note"),
                                       .compare = KW_COMPARE_EQUAL};
    target->done = false;
    kw_verb_put_if(&target->call, table, &record, &condition, target->options, decided, target);
    desk_wait(target);
    g_assert_true(target->applied);
    g_assert_true(is_renewed(self));
    desk_clear(target);
}

/* The association holds an old row key for one path and none for the other: one write updates both. */
static void
two_paths(fixture *self)
{
    self->table = "pairs";
    set_association(self, 3, 13 * HOUR_MS);
    put_into_associated_row(self);
    g_assert_true(is_renewed(self));
    g_assert_cmpuint(self->desk->count, ==, 2);
    self->table = "events";
    desk_clear(self->desk);
}

/* A put that is reported as successful has renewed the association, whichever operation fails. */
static void
faults(fixture *self)
{
    static const kw_fault all[] = {KW_FAULT_FAILED, KW_FAULT_UNKNOWN_APPLIED, KW_FAULT_UNKNOWN_LOST,
                                   KW_FAULT_TIMEOUT};
    for (size_t f = 0; f < G_N_ELEMENTS(all); f++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            g_assert_cmpuint(n, <, 10);
            set_association(self, 1, 13 * HOUR_MS);
            uint64_t before = self->plan.failed;
            self->plan.fault = all[f];
            self->plan.fail_at = n;
            kw_written_record written = *put(self);
            failed = self->plan.failed > before;
            self->plan.fail_at = 0;
            if (written.outcome == KW_OUTCOME_OK)
                g_assert_true(is_renewed(self));
            if (written.outcome == KW_OUTCOME_FAILED)
                g_assert_cmpstr(desk_get(self->desk, "events", self->key, NULL), ==, "none");
            g_assert_cmpstr(put(self)->error.text, ==, "");
            is_renewed(self);
            g_assert_cmpint(self->cell_timestamp, >, kw_clock_wall_ms() - HOUR_MS);
            desk_clear(self->desk);
        }
    }
}

void
renewed_integration_test(kw_store *store, const char *name)
{
    fixture self = {NULL};
    open_fixture(&self, store, name);
    lifetimes(&self);
    puts_and_renewals(&self);
    puts_with_timestamps(&self);
    increment_and_put_if(&self);
    two_paths(&self);
    faults(&self);
    desk_free(self.desk);
}

/* For ten days, puts use a row that only the association holds. After the last put the association expires,
 * and the next put selects a new row. */
void
renewed_days_integration_test(kw_store *store, const char *name, void (*move_clock)(int64_t by_ms))
{
    fixture self = {NULL};
    open_fixture(&self, store, name);
    set_association(&self, 1, 0);
    kw_bytes association = desk_table(self.desk, "events")->locators->store_table;
    kw_bytes rows = desk_table(self.desk, "events")->paths[0].store_table;
    for (int i = 0; i < 22; i++) {
        put_into_associated_row(&self);
        move_clock(11 * HOUR_MS);
        g_assert_cmpstr(desk_get(self.desk, "events", self.key, NULL), ==, "none");
        g_assert_cmpuint(cells_of(&self, association, association_row(&self)), ==, 1);
    }
    move_clock(25 * HOUR_MS);
    g_assert_cmpuint(cells_of(&self, association, association_row(&self)), ==, 0);
    g_assert_cmpstr(put(&self)->error.text, ==, "");
    g_assert_cmpuint(cells_of(&self, rows, self.row_key), ==, 0);
    g_assert_cmpuint(cells_of(&self, association, association_row(&self)), ==, 1);
    g_autofree char *found = g_strdup_printf("%s note=x", self.key);
    g_assert_cmpstr(desk_get(self.desk, "events", self.key, NULL), ==, found);
    move_clock(26 * HOUR_MS);
    g_assert_cmpuint(cells_of(&self, association, association_row(&self)), ==, 0);
    desk_free(self.desk);
}
