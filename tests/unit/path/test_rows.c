/* The rows of a record: how many each operation uses, which bucket a put chooses, what the association
 * decides, and which records increment and put_if accept. */
#include "../verb/desk.h"
#include "path/atomic.h"

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  plain: {fields: {id: string, n: int}, key: [field: id]}\n"
    "  stamped: {fields: {id: string, n: int}, key: [field: id], order: stamp}\n"
    "  noticed: {fields: {id: string, n: int}, key: [field: id], order: stamp, atomics: true}\n"
    "  unnoticed: {fields: {id: string, n: int}, key: [field: id], atomics: false}\n"
    "  turns: {updates: false, fields: {id: string, n: int}, key: [salt: {algorithm: round_robin, buckets: "
    "4}, "
    "field: id]}\n"
    "  more_turns: {updates: false, fields: {id: string, n: int}, key: [salt: {algorithm: round_robin, "
    "buckets: 3}, field: id]}\n"
    "  randoms: {updates: false, fields: {id: string, n: int}, key: [salt: {algorithm: random, buckets: 8}, "
    "field: id]}\n"
    "  mixed:\n"
    "    updates: false\n"
    "    fields: {id: string, n: int}\n"
    "    key: [field: id]\n"
    "    paths: {salted: {key: [salt: {algorithm: round_robin, buckets: 3}, field: id]}}\n"
    "  known:\n"
    "    fields: {id: string, n: int}\n"
    "    key: [salt: {algorithm: random, buckets: 8}, field: id]\n"
    "    paths: {where: {association: true, key: [field: id]}}\n"
    "  short: {fields: {id: string, n: int}, key: [field: {name: id, encoding: fixed, width: 2}], layout: "
    "2}\n"
    "  both:\n"
    "    fields: {id: string, n: int}\n"
    "    key: [field: id]\n"
    "    paths:\n"
    "      salted: {key: [salt: {algorithm: random, buckets: 8}, field: id]}\n"
    "      where: {association: true, key: [field: id]}\n";

static void
found(void *user, const kw_record_rows *rows)
{
    const kw_record_rows **ret_rows = user;
    *ret_rows = rows;
}

/* Finds the rows of records "id=a", "id=b", ...; `ids` lists them. */
static const kw_record_rows *
find_rows(desk *self, const char *table, const char *ids, kw_rows_use use)
{
    const kw_record_rows *rows = NULL;
    g_auto(GStrv) words = g_strsplit(ids, " ", -1);
    size_t count = g_strv_length(words);
    kw_record *records = KW_ARENA_ARRAY(self->call.arena, kw_record, count);
    const kw_record **list = KW_ARENA_ARRAY(self->call.arena, const kw_record *, count);
    for (size_t i = 0; i < count; i++) {
        g_autofree char *text = g_strdup_printf("id=%s", words[i]);
        records[i] = desk_record(self, table, text);
        list[i] = &records[i];
    }
    kw_rows_find(&self->call, desk_table(self, table), list, count, use, KW_TIMESTAMP_NONE, found, &rows);
    while (!rows)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
    return rows;
}

static const kw_record_rows *
rows_of(desk *self, const char *table, const char *id, kw_rows_use use)
{
    const kw_record_rows *rows = find_rows(self, table, id, use);
    g_assert_null(rows->error);
    g_assert_cmpuint(rows->count, <=, kw_rows_per_record(desk_table(self, table), use));
    return rows;
}

/* --- numbers of rows ------------------------------------------------------------------------------- */

/* A put writes one row in each placement. Without an association, other operations use a row in each bucket.
 */
KW_TEST(test_counts, "/path/rows/counts")
{
    static const struct {
        const char *table;
        size_t get, put, remove;
    } cases[] = {{"plain", 1, 1, 1}, {"turns", 4, 1, 4}, {"randoms", 8, 1, 8},
                 {"mixed", 1, 2, 4}, {"known", 1, 1, 1}, {"both", 1, 2, 2}};
    desk *self = desk_new(policy);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *name = cases[i].table;
        const size_t expected[] = {cases[i].get, cases[i].put, cases[i].remove};
        for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use++) {
            g_assert_cmpuint(kw_rows_per_record(desk_table(self, name), (kw_rows_use)use), ==, expected[use]);
            g_assert_cmpuint(rows_of(self, name, "a", (kw_rows_use)use)->count, ==, expected[use]);
        }
    }
    desk_free(self);
}

/* Without an association, the rows of all buckets are computed at once, in order, and nothing is read. */
KW_TEST(test_all_buckets, "/path/rows/all buckets")
{
    desk *self = desk_new(policy);
    for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use += 2) {
        const kw_record_rows *rows = rows_of(self, "turns", "ab", (kw_rows_use)use);
        g_assert_null(rows->entry);
        for (size_t bucket = 0; bucket < 4; bucket++) {
            const uint8_t key[] = {(uint8_t)bucket, 'a', 'b'};
            g_assert_true(kw_bytes_equal(rows->rows[bucket].key, kw_bytes_of(key, sizeof key)));
            g_assert_true(rows->rows[bucket].placement == &desk_table(self, "turns")->placements[0]);
        }
    }
    g_assert_cmpuint(self->control->operations, ==, 0);
    desk_free(self);
}

/* --- choosing a bucket ----------------------------------------------------------------------------- */

static uint8_t
bucket_of_put(desk *self, const char *table)
{
    const kw_record_rows *rows = rows_of(self, table, "a", KW_ROWS_PUT);
    return rows->rows[0].key.data[0];
}

/* Each table takes its buckets in turn, whichever other tables are written in between. */
KW_TEST(test_turns, "/path/rows/turns")
{
    desk *self = desk_new(policy);
    uint8_t first = bucket_of_put(self, "turns"), other_first = bucket_of_put(self, "more_turns");
    for (unsigned i = 1; i < 50; i++) {
        g_assert_cmpuint(bucket_of_put(self, "turns"), ==, (first + i) % 4);
        if (i % 5 == 0)
            g_assert_cmpuint(bucket_of_put(self, "more_turns"), ==, (other_first + i / 5) % 3);
    }
    desk_free(self);
}

static gpointer
first_turn(gpointer user)
{
    const kw_placement *const *chosen_and_seed = user;
    kw_random_inject((uint64_t)(uintptr_t)chosen_and_seed[1]);
    return GUINT_TO_POINTER(1 + kw_placement_choose_bucket(chosen_and_seed[0]));
}

/* Threads begin at different buckets: otherwise gateways that start together write to the same bucket. */
KW_TEST(test_first_turns, "/path/rows/first turns")
{
    desk *self = desk_new(policy);
    unsigned counts[4] = {0};
    for (uintptr_t seed = 1; seed <= 40; seed++) {
        const void *arguments[] = {&desk_table(self, "turns")->placements[0], (const void *)seed};
        GThread *thread = g_thread_new("turn", first_turn, arguments);
        counts[GPOINTER_TO_UINT(g_thread_join(thread)) - 1]++;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        g_assert_cmpuint(counts[i], >, 0);
    desk_free(self);
}

/* A random choice uses all buckets alike; a rule without a choice has bucket 0 only. */
KW_TEST(test_random_buckets, "/path/rows/random buckets")
{
    desk *self = desk_new(policy);
    unsigned counts[8] = {0};
    kw_random_inject(1);
    for (int i = 0; i < 4000; i++) {
        uint32_t bucket = kw_placement_choose_bucket(&desk_table(self, "randoms")->placements[0]);
        g_assert_cmpuint(bucket, <, 8);
        counts[bucket]++;
        g_assert_cmpuint(kw_placement_choose_bucket(&desk_table(self, "plain")->placements[0]), ==, 0);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        g_assert_cmpuint(counts[i], >, 400);
    desk_free(self);
}

/* --- with an association --------------------------------------------------------------------------- */

/* Gets and removals only read the association. The first put adds the record to it, and all later operations
 * use the same row. */
KW_TEST(test_known_rows, "/path/rows/known rows")
{
    desk *self = desk_new(policy);
    kw_bytes key = rows_of(self, "known", "a", KW_ROWS_GET)->rows[0].key;
    for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use += 2) {
        const kw_record_rows *rows = rows_of(self, "known", "a", (kw_rows_use)use);
        g_assert_nonnull(rows->entry);
        g_assert_true(kw_bytes_equal(rows->rows[0].key, key));
        g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 0);
    }
    g_assert_true(kw_bytes_equal(rows_of(self, "known", "a", KW_ROWS_PUT)->rows[0].key, key));
    g_assert_cmpuint(kw_memory_store_rows(self->store, "known_where"), ==, 1);
    uint8_t *moved = g_memdup2(key.data, key.size);
    moved[0] = (uint8_t)((moved[0] + 3) % 8);
    kw_memory_store_set(self->store, "known_where", KW_BYTES_LITERAL("a"), "d", "primary/1",
                        kw_bytes_of(moved, key.size), INT64_C(5000000000000));
    for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use++) {
        const kw_record_rows *rows = rows_of(self, "known", "a", (kw_rows_use)use);
        g_assert_true(kw_bytes_equal(rows->rows[0].key, kw_bytes_of(moved, key.size)));
    }
    g_free(moved);
    desk_free(self);
}

/* An operation that uses no chosen bucket does not read the association. */
KW_TEST(test_association_not_needed, "/path/rows/association not needed")
{
    desk *self = desk_new(policy);
    g_assert_null(rows_of(self, "both", "a", KW_ROWS_GET)->entry);
    g_assert_cmpuint(self->control->operations, ==, 0);
    const kw_record_rows *rows = rows_of(self, "both", "a", KW_ROWS_PUT);
    g_assert_nonnull(rows->entry);
    g_assert_true(kw_bytes_equal(rows->rows[0].key, KW_BYTES_LITERAL("a")));
    g_assert_cmpuint(rows->rows[1].key.size, ==, 2);
    g_assert_true(kw_bytes_equal(
        kw_memory_store_cell(self->store, "both_where", KW_BYTES_LITERAL("a"), "d", "salted/1"),
        rows->rows[1].key));
    g_assert_cmpuint(kw_memory_store_rows(self->store, "both_where"), ==, 1);
    desk_free(self);
}

/* --- errors ---------------------------------------------------------------------------------------- */

/* A record whose row key would be too long has an error. The other records of the call have their rows. */
KW_TEST(test_errors, "/path/rows/errors")
{
    static const struct {
        const char *table;
        bool salted[3]; /* the operation uses a key with a salt of one byte before the id */
    } cases[] = {{"plain", {false, false, false}},
                 {"turns", {true, true, true}},
                 {"mixed", {false, true, true}},
                 {"known", {true, true, true}},
                 {"both", {false, true, true}}};
    desk *self = desk_new(policy);
    for (size_t t = 0; t < G_N_ELEMENTS(cases); t++)
        for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use++) {
            size_t longest = KW_ROW_KEY_MAX - cases[t].salted[use];
            g_autofree char *fits = g_strnfill(longest, 'x');
            g_autofree char *ids = g_strdup_printf("%s %sy c", fits, fits);
            const kw_record_rows *rows = find_rows(self, cases[t].table, ids, (kw_rows_use)use);
            g_assert_null(rows[0].error);
            g_assert_cmpint(rows[1].error->code, ==, KW_INVALID);
            g_assert_cmpuint(rows[1].count, ==, 0);
            g_assert_null(rows[2].error);
            const kw_placed_row *last = &rows[2].rows[rows[2].count - 1];
            g_assert_cmpuint(last->key.data[last->key.size - 1], ==, 'c');
            desk_clear(self);
        }
    desk_free(self);
}

/* A record without a row in every placement has no row at all, so the association is not read for it. */
KW_TEST(test_records_without_a_row, "/path/rows/records without a row")
{
    desk *self = desk_new(policy);
    g_autofree char *large = g_strnfill(KW_ROW_KEY_MAX, 'x'); /* fits the association */
    for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use++) {
        const kw_record_rows *rows = find_rows(self, "known", large, (kw_rows_use)use);
        g_assert_cmpint(rows->error->code, ==, KW_INVALID);
        g_assert_cmpuint(self->control->operations, ==, 0);
    }
    desk_free(self);
}

/* If the association cannot be read, no row of these records is known, and nothing was written. */
KW_TEST(test_unreadable_association, "/path/rows/unreadable association")
{
    for (int use = KW_ROWS_GET; use <= KW_ROWS_REMOVE; use++) {
        desk *self = desk_new(policy);
        self->control->fail_at = 1;
        self->control->fail_applied = true;
        const kw_record_rows *rows = find_rows(self, "known", "a b", (kw_rows_use)use);
        for (size_t i = 0; i < 2; i++) {
            g_assert_cmpint(rows[i].error->code, ==, KW_UNAVAILABLE);
            g_assert_false(rows[i].error->maybe_applied);
            g_assert_cmpuint(rows[i].count, ==, 0);
        }
        desk_free(self);
    }
}

/* --- increment and put_if -------------------------------------------------------------------------- */

/* The reason why the table does not accept the verb; "" if it does. */
static const char *
refusal(desk *self, const char *name)
{
    kw_error error = KW_ERROR_NONE;
    const kw_table *table = desk_table(self, name);
    bool accepted = kw_atomic_check_path(table, "put_if", &error) &&
                    kw_atomic_check_order(&self->call, table, "put_if", &error);
    g_assert_cmpint(accepted, ==, error.code == KW_OK);
    return accepted ? "" : kw_arena_printf(self->call.arena, "%s", error.text);
}

KW_TEST(test_atomic_tables, "/path/rows/tables with atomic operations")
{
    desk *self = desk_new(policy);
    static const char *const accepted[] = {"plain", "known", "both", "stamped", "noticed"};
    for (size_t i = 0; i < G_N_ELEMENTS(accepted); i++)
        g_assert_cmpstr(refusal(self, accepted[i]), ==, "");
    g_assert_nonnull(strstr(refusal(self, "turns"), "table turns: put_if needs to know a record's row"));
    g_assert_nonnull(strstr(refusal(self, "unnoticed"), "put_if needs atomics: true"));
    desk_free(self);
}

KW_TEST(test_atomic_tables_of_shared_store, "/path/rows/tables of a shared store")
{
    desk *self = desk_new(policy);
    kw_memory_store_share(self->store);
    static const char *const accepted[] = {"plain", "known", "noticed"};
    for (size_t i = 0; i < G_N_ELEMENTS(accepted); i++)
        g_assert_cmpstr(refusal(self, accepted[i]), ==, "");
    static const char *const refused[] = {"both", "stamped", "unnoticed"};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        g_assert_nonnull(strstr(refusal(self, refused[i]), "put_if needs atomics: true"));
    g_assert_nonnull(strstr(refusal(self, "turns"), "table turns: put_if needs to know a record's row"));
    desk_free(self);
}

/* A change of a key rule can give a table another order of writes. It counts as held, unless the table's own
 * order does not allow atomic operations anyway. */
KW_TEST(test_held_atomics_of_shared_store, "/path/rows/held atomics of a shared store")
{
    desk *self = desk_new(policy);
    kw_memory_store_share(self->store);
    static const kw_write_order orders[] = {KW_WRITE_ORDER_STORE, KW_WRITE_ORDER_RAISED,
                                            KW_WRITE_ORDER_STAMP};
    for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
        static const char *const names[] = {"plain", "stamped", "unnoticed"};
        static const char *const reasons[] = {"the present place of the change allows no put_if",
                                              "put_if needs atomics: true", "put_if needs atomics: true"};
        for (size_t j = 0; j < G_N_ELEMENTS(names); j++) {
            kw_table *table = (kw_table *)desk_table(self, names[j]);
            kw_regime *regime = &table->ordering.regime;
            regime->order = orders[i];
            regime->atomics = regime->atomics == KW_ATOMICS_OFF ? KW_ATOMICS_OFF : KW_ATOMICS_HELD;
            g_assert_nonnull(strstr(refusal(self, names[j]), reasons[j]));
        }
        kw_error error;
        g_assert_false(kw_atomic_check_order(&self->call, desk_table(self, "plain"), "put_if", &error));
        g_assert_cmpint(error.code, ==, KW_UNAVAILABLE);
        g_assert_cmpint(error.retry_after_ms, >, 0);
    }
    desk_free(self);
}

typedef struct search {
    bool done;
    kw_atomic_rows rows;
    kw_error error;
} search;

static void
rows_found(void *user, const kw_atomic_rows *rows, const kw_error *error)
{
    search *self = user;
    self->done = true;
    g_assert_true(!rows == !!error);
    if (rows)
        self->rows = *rows;
    else
        self->error = *error;
}

static search
search_rows(desk *self, const char *table, const char *id)
{
    search found = {.error = KW_ERROR_NONE};
    g_autofree char *text = g_strdup_printf("id=%s", id);
    kw_record record = desk_record(self, table, text);
    kw_atomic_find_rows(&self->call, desk_table(self, table), &record, KW_TIMESTAMP_NONE, rows_found, &found);
    while (!found.done)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
    return found;
}

/* An association that does not contain the record gets an entry, as for a put. */
KW_TEST(test_atomic_row, "/path/rows/row of an atomic operation")
{
    desk *self = desk_new(policy);
    g_autofree char *large = g_strnfill(32768, 'x');
    search plain = search_rows(self, "plain", "a");
    g_assert_true(kw_bytes_equal(plain.rows.first.row, KW_BYTES_LITERAL("a")));
    g_assert_cmpuint(plain.rows.others_count, ==, 0);
    kw_atomic_rows both = search_rows(self, "both", "a").rows;
    g_assert_true(kw_bytes_equal(both.first.row, KW_BYTES_LITERAL("a")));
    g_assert_cmpuint(both.others_count, ==, 1);
    g_assert_true(kw_bytes_equal(both.others[0].table, KW_BYTES_LITERAL("both_salted")));
    g_assert_true(kw_bytes_equal(
        kw_memory_store_cell(self->store, "both_where", KW_BYTES_LITERAL("a"), "d", "salted/1"),
        both.others[0].row));
    kw_bytes key = search_rows(self, "known", "a").rows.first.row;
    g_assert_cmpuint(key.size, ==, 2);
    g_assert_true(kw_bytes_equal(
        kw_memory_store_cell(self->store, "known_where", KW_BYTES_LITERAL("a"), "d", "primary/1"), key));
    g_assert_cmpint(search_rows(self, "plain", large).error.code, ==, KW_INVALID);
    g_assert_cmpint(search_rows(self, "known", large).error.code, ==, KW_INVALID);
    desk_free(self);
}

/* While the key rule of a path changes, an error names the rule that cannot encode the record. */
KW_TEST(test_error_names_the_rule, "/path/rows/error names the rule")
{
    desk *self = desk_new(policy);
    kw_table *table = (kw_table *)desk_table(self, "both");
    kw_path *path = (kw_path *)&table->paths[0];
    kw_placement placements[3] = {table->placements[0], table->placements[0], table->placements[1]};
    placements[0].layout = desk_table(self, "short")->placements[0].layout;
    for (unsigned i = 0; i < G_N_ELEMENTS(placements); i++)
        placements[i].number = i;
    path->placements = table->placements = placements;
    path->placements_count = 2;
    table->placements_count = 3;
    const kw_record_rows *rows = find_rows(self, "both", "long ab", KW_ROWS_PUT);
    g_assert_cmpint(rows[0].error->code, ==, KW_INVALID);
    g_assert_true(g_str_has_prefix(rows[0].error->text,
                                   "the key rule of path primary is being changed; layout 2: table "));
    g_assert_null(rows[1].error);
    g_assert_cmpuint(rows[1].count, ==, 3);
    desk_free(self);
}
