/* Partial puts of tables with hint paths: what is read, which hints and cells are written, what is refused.
 * The shared store is store/order over a memory store. */
#include "base/guard.h"
#include "config/reader.h"
#include "path/partial.h"
#include "store/control.h"
#include "store/order/order.h"

#include "../verb/desk.h"

#define FIELDS                                                                                               \
    "    fields: {id: string, seller: string, status: string, n: int, note: string}\n"                       \
    "    key: [field: id]\n"

#define PATHS                                                                                                \
    "    paths:\n"                                                                                           \
    "      by_seller: {key: [{field: {name: seller, encoding: terminated}}, field: id]}\n"                   \
    "      by_status: {key: [{field: {name: status, encoding: terminated}}, {field: {name: n, encoding: "    \
    "int, width: 8}}, field: id]}\n"

static const char policy[] =
    "store: {kind: embedded}\n"
    "limits: {batch_records: 500}\n"
    "tables:\n"
    "  plain:\n" FIELDS PATHS "  stamped:\n"
    "    order: stamp\n"
    "    atomics: true\n" FIELDS PATHS "      copied: {key: [hash: id, field: id]}\n"
    "  unstamped:\n"
    "    order: stamp\n" FIELDS PATHS "  fixed:\n"
    "    atomics: false\n" FIELDS PATHS "  short:\n"
    "    order: stamp\n"
    "    atomics: true\n"
    "    families: {d: {ttl: 1h}}\n" FIELDS PATHS "  prices:\n"
    "    fields: {id: string, price: {type: double, form: raw4}, n: int}\n"
    "    key: [field: id]\n"
    "    paths:\n"
    "      by_price: {key: [{field: {name: price}}, {field: {name: n, encoding: int, "
    "width: 8}}, field: id]}\n";

static const kw_order_settings settings = {
    .clock_width_ms = 50, .max_clock_skew_ms = 20, .late_ms = 1000, .client_pause_ms = 10000};

typedef struct bed {
    desk *desk;
    kw_store *memory;
    kw_memory_control *control;
    const char *table;
} bed;

/* The table "plain" in both stores, with order: store; and "stamped". */
typedef enum place { EMBEDDED, SHARED, SHARED_STAMP, PLACES } place;

static bed
bed_new(place shared)
{
    bed self = {.memory = kw_memory_store_open(), .table = shared == SHARED_STAMP ? "stamped" : "plain"};
    self.control = kw_memory_store_control(self.memory);
    if (shared)
        kw_memory_store_share(self.memory);
    self.desk = desk_new_over(shared ? kw_order_store_new(self.memory, &settings) : self.memory, policy);
    return self;
}

static void
put(bed *self, const char *record)
{
    const kw_written_record *written = desk_put(self->desk, self->table, record);
    g_assert_cmpstr(written->error.text, ==, "");
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_OK);
}

static void
assert_record(bed *self, const char *key, const char *expected)
{
    g_assert_cmpstr(desk_get(self->desk, self->table, key, NULL), ==, expected);
}

static size_t
hints(const bed *self, const char *path)
{
    g_autofree char *table = g_strdup_printf("%s_%s", self->table, path);
    return kw_memory_store_rows(self->memory, table);
}

/* The hint of this tuple in by_status. */
static bool
has_hint(bed *self, const char *id, const char *status, int64_t n)
{
    g_autofree char *table = g_strdup_printf("%s_by_status", self->table);
    g_autofree char *record = g_strdup_printf("id=%s status=%s n=%lld", id, status, (long long)n);
    const kw_table *of = desk_table(self->desk, self->table);
    kw_record values = desk_record(self->desk, self->table, record);
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    kw_error error;
    int path = kw_table_find_path(of, KW_BYTES_LITERAL("by_status"));
    g_assert_true(kw_layout_encode(of->paths[path].layout, &values, &key, &error));
    return kw_memory_store_cell(self->memory, table, kw_buffer_bytes(&key), "d", "").data != NULL;
}

/* --- single puts ----------------------------------------------------------------------------------- */

KW_TEST(test_merges, "/path/partial/merges")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        put(&self, "id=a status=new note=x");
        g_assert_cmpuint(hints(&self, "by_status"), ==, 0); /* half a tuple has no hint */
        put(&self, "id=a n=1");
        g_assert_cmpuint(hints(&self, "by_status"), ==, 1);
        g_assert_true(has_hint(&self, "a", "new", 1));
        put(&self, "id=a status=paid note=y");
        g_assert_true(has_hint(&self, "a", "paid", 1));
        g_assert_cmpuint(hints(&self, "by_status"), ==, 2); /* the old hint stays */
        assert_record(&self, "id=a", "id=a status=paid n=1 note=y");
        desk_free(self.desk);
    }
}

/* A put can be full for one path and partial for another one. */
KW_TEST(test_two_paths, "/path/partial/two paths")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        put(&self, "id=a status=new n=1");
        put(&self, "id=a seller=s n=2");
        g_assert_cmpuint(hints(&self, "by_seller"), ==, 1);
        g_assert_true(has_hint(&self, "a", "new", 2));
        assert_record(&self, "id=a", "id=a seller=s status=new n=2");
        desk_free(self.desk);
    }
}

/* Removed fields are absent. */
KW_TEST(test_removed_field, "/path/partial/removed field")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        put(&self, "id=a status=new n=1");
        g_assert_cmpint(desk_remove(self.desk, self.table, "id=a", "status")->outcome, ==, KW_OUTCOME_OK);
        put(&self, "id=a n=2");
        g_assert_cmpuint(hints(&self, "by_status"), ==, 1);
        assert_record(&self, "id=a", "id=a n=2");
        desk_free(self.desk);
    }
}

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    desk *on = user;
    g_assert_null(error);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 2);
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, ==, rows->rows[0].cells[1].timestamp);
    kw_rows_free(rows);
    on->done = true;
}

/* All cells of a tuple get the timestamp of the put. */
KW_TEST(test_one_timestamp, "/path/partial/one timestamp")
{
    bed self = bed_new(SHARED_STAMP);
    const kw_ordering *ordering = &desk_table(self.desk, "stamped")->ordering;
    kw_get get = {.table = KW_BYTES_LITERAL("stamped"), .row = KW_BYTES_LITERAL("a"), .ordering = ordering};
    put(&self, "id=a status=new n=1");
    g_usleep(3000);
    put(&self, "id=a status=paid");
    self.desk->done = false;
    kw_store_handle_get(self.desk->handle, &get, on_rows, self.desk);
    desk_wait(self.desk);
    desk_free(self.desk);
}

/* A tuple that stays needs no new hint, unless hints expire. */
KW_TEST(test_same_tuple, "/path/partial/same tuple")
{
    static const struct {
        const char *table;
        uint64_t operations;
    } cases[] = {{"stamped", 3}, {"short", 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bed self = bed_new(SHARED_STAMP);
        self.table = cases[i].table;
        put(&self, "id=a status=new n=1");
        uint64_t before = self.control->operations;
        put(&self, "id=a status=new");
        g_assert_cmpuint(self.control->operations - before, ==, cases[i].operations);
        desk_free(self.desk);
    }
}

/* --- doubles --------------------------------------------------------------------------------------- */

/* 0.1 has less digits in its column of 4 bytes. A reader compares the hint with what is stored. */
KW_TEST(test_doubles, "/path/partial/doubles")
{
    for (int partial = 0; partial < 2; partial++) {
        bed self = bed_new(EMBEDDED);
        self.table = "prices";
        put(&self, partial ? "id=a n=1" : "id=a price=0.1 n=1");
        if (partial)
            put(&self, "id=a price=0.1");
        const kw_table *table = desk_table(self.desk, "prices");
        kw_record stored = desk_record(self.desk, "prices", "id=a n=1");
        stored.values[desk_field(self.desk, "prices", "price")] =
            (kw_value){.kind = KW_VALUE_REAL, .real = (double)0.1f};
        g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
        kw_error error;
        g_assert_true(kw_layout_encode(table->paths[1].layout, &stored, &key, &error));
        g_assert_cmpuint(kw_memory_store_rows(self.memory, "prices_by_price"), ==, 1);
        g_assert_true(
            kw_bytes_equal(kw_memory_store_key(self.memory, "prices_by_price", 0), kw_buffer_bytes(&key)));
        desk_free(self.desk);
    }
}

/* --- refusals -------------------------------------------------------------------------------------- */

static void
assert_fails(bed *self, const char *table, const char *record, kw_code code, const char *text)
{
    const kw_written_record *written = desk_put(self->desk, table, record);
    g_assert_cmpint(written->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(written->error.code, ==, code);
    g_assert_false(written->error.maybe_applied);
    if (!strstr(written->error.text, text))
        g_error("%s", written->error.text);
}

KW_TEST(test_refused, "/path/partial/refused")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        assert_fails(
            &self, "fixed", "id=a status=new", KW_REFUSED,
            "put n together with status: paths of the table have these fields in their keys. Puts of "
            "some of them need atomics: true in");
        if (shared)
            assert_fails(&self, "unstamped", "id=a status=new", KW_REFUSED,
                         "some of them need atomics: true");
        self.desk->options = (kw_write_options){.has_timestamp = true, .timestamp = 5};
        assert_fails(
            &self, "stamped", "id=a status=new", KW_REFUSED,
            "a put of status takes no timestamp, because paths of the table have these fields in their keys");
        g_assert_cmpuint(self.control->operations, ==, 0);
        desk_free(self.desk);
    }
}

/* As for increments, a place of a change can allow none. */
KW_TEST(test_held, "/path/partial/held")
{
    bed self = bed_new(SHARED_STAMP);
    kw_table *table = (kw_table *)(uintptr_t)desk_table(self.desk, "stamped");
    table->ordering.regime.atomics = KW_ATOMICS_HELD;
    assert_fails(&self, "stamped", "id=a status=new", KW_UNAVAILABLE, "allows no put of some fields");
    g_assert_cmpint(self.desk->written[0].error.retry_after_ms, >, 0);
    g_assert_cmpuint(self.control->operations, ==, 0);
    desk_free(self.desk);
}

/* A stored value that cannot be read: the hint would be unknown. */
KW_TEST(test_undecodable, "/path/partial/undecodable")
{
    bed self = bed_new(EMBEDDED);
    put(&self, "id=a status=new n=1");
    kw_memory_store_set(self.memory, "plain", KW_BYTES_LITERAL("a"), "d", "n", KW_BYTES_LITERAL("??"),
                        kw_clock_wall_ms() + 1000);
    assert_fails(&self, "plain", "id=a status=paid", KW_CORRUPT, "field n: the stored value");
    g_assert_false(has_hint(&self, "a", "paid", 1));
    put(&self, "id=a status=paid n=2"); /* one that gives all fields */
    g_assert_true(has_hint(&self, "a", "paid", 2));
    desk_free(self.desk);
}

/* --- failures -------------------------------------------------------------------------------------- */

/* Whatever happens to the hint, the row is written only if it was answered OK. */
KW_TEST(test_hint_fails, "/path/partial/hint fails")
{
    for (int applied = 0; applied < 2; applied++) {
        bed self = bed_new(SHARED_STAMP);
        put(&self, "id=a status=new n=1");
        self.control->fail_at = self.control->operations + 2; /* after the read */
        self.control->fail_applied = applied;
        assert_fails(&self, "stamped", "id=a status=paid", KW_UNAVAILABLE, "the record was not written");
        assert_record(&self, "id=a", "id=a status=new n=1");
        g_assert_cmpint(has_hint(&self, "a", "paid", 1), ==, applied);
        desk_free(self.desk);
    }
}

/* --- many records ---------------------------------------------------------------------------------- */

typedef struct many_puts {
    bed *self;
    const kw_item *items;
    size_t count;
} many_puts;

static void
start_many(void *user)
{
    const many_puts *all = user;
    desk *on = all->self->desk;
    kw_verb_put(&on->call, desk_table(on, all->self->table), all->items, all->count, on->options, desk_done,
                on);
}

static void
put_many(bed *self, const kw_item *items, size_t count)
{
    self->desk->done = false;
    start_many(&(many_puts){self, items, count});
    desk_wait(self->desk);
    g_assert_cmpuint(self->desk->count, ==, count);
}

/* Full, partial and other puts, and one that is refused; one outcome for each. */
KW_TEST(test_mixed, "/path/partial/mixed")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        kw_item items[200];
        for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
            static const char *const puts[] = {"status=new n=1", "status=new", "note=x", "seller=s"};
            g_autofree char *record =
                i == 77 ? g_strdup("status=new") : g_strdup_printf("id=r%zu %s", i, puts[i % 4]);
            items[i] = (kw_item){.record = desk_record(self.desk, self.table, record)};
        }
        put_many(&self, items, G_N_ELEMENTS(items));
        for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
            g_assert_cmpint(self.desk->written[i].outcome, ==, i == 77 ? KW_OUTCOME_FAILED : KW_OUTCOME_OK);
        g_assert_cmpuint(hints(&self, "by_status"), ==, 50);
        g_assert_cmpuint(hints(&self, "by_seller"), ==, 50);
        assert_record(&self, "id=r1", "id=r1 status=new");
        assert_record(&self, "id=r2", "id=r2 note=x");
        desk_free(self.desk);
    }
}

/* Some are executed at the same time, but not all. */
KW_TEST(test_in_flight, "/path/partial/in flight")
{
    bed self = bed_new(EMBEDDED);
    kw_item items[100];
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
        g_autofree char *record = g_strdup_printf("id=r%zu status=new", i);
        items[i] = (kw_item){.record = desk_record(self.desk, self.table, record)};
    }
    put_many(&self, items, G_N_ELEMENTS(items));
    g_assert_cmpuint(self.control->most_in_flight, ==, KW_PARTIAL_PUTS_MAX);
    g_assert_cmpuint(self.control->operations, ==, G_N_ELEMENTS(items));
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "plain"), ==, G_N_ELEMENTS(items));
    desk_free(self.desk);
}

/* Several puts of one record in a call. */
KW_TEST(test_same_record, "/path/partial/same record")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        kw_item items[] = {{.record = desk_record(self.desk, self.table, "id=a status=new")},
                           {.record = desk_record(self.desk, self.table, "id=a n=5")},
                           {.record = desk_record(self.desk, self.table, "id=a status=paid")}};
        put_many(&self, items, G_N_ELEMENTS(items));
        for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
            g_assert_cmpint(self.desk->written[i].outcome, ==, KW_OUTCOME_OK);
        assert_record(&self, "id=a", "id=a status=paid n=5");
        g_assert_true(has_hint(&self, "a", "paid", 5));
        desk_free(self.desk);
    }
}

/* Puts of all kinds, of two records: the last put of each field of a record wins. */
KW_TEST(test_last_wins, "/path/partial/last wins")
{
    static const char *const puts[] = {
        "id=a status=new n=1", "id=b status=x",       "id=a status=paid", "id=a status=sent n=2 note=x",
        "id=a note=y",         "id=b status=y n=3",   "id=b note=z",      "id=a n=4",
        "id=c status=new n=9", "id=a status=back n=5"};
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        kw_item items[G_N_ELEMENTS(puts)];
        for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
            items[i] = (kw_item){.record = desk_record(self.desk, self.table, puts[i])};
        put_many(&self, items, G_N_ELEMENTS(items));
        for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
            g_assert_cmpint(self.desk->written[i].outcome, ==, KW_OUTCOME_OK);
        assert_record(&self, "id=a", "id=a status=back n=5 note=y");
        assert_record(&self, "id=b", "id=b status=y n=3 note=z");
        assert_record(&self, "id=c", "id=c status=new n=9");
        g_assert_true(has_hint(&self, "a", "back", 5) && has_hint(&self, "b", "y", 3));
        desk_free(self.desk);
    }
}

/* One record fails, the others do not. */
KW_TEST(test_one_fails, "/path/partial/one fails")
{
    bed self = bed_new(EMBEDDED);
    kw_item items[] = {{.record = desk_record(self.desk, self.table, "id=a status=new")},
                       {.record = desk_record(self.desk, self.table, "id=b status=new")}};
    self.control->fail_at = self.control->operations + 2;
    self.control->fail_applied = true;
    put_many(&self, items, G_N_ELEMENTS(items));
    g_assert_cmpint(self.desk->written[0].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(self.desk->written[1].outcome, ==, KW_OUTCOME_UNKNOWN);
    g_assert_true(self.desk->written[1].error.maybe_applied);
    desk_free(self.desk);
}

static void
count_refusal(kw_call *call, const kw_error *error)
{
    (void)call;
    g_assert_true(error->code == KW_LIMIT || error->code == KW_BUSY);
}

/* Writes one full put and many partial ones with this much memory. False: the call was refused as a whole,
 * before it wrote anything. */
static bool
put_within(int64_t bytes, kw_outcome *ret_full, size_t *ret_failed)
{
    bed self = bed_new(EMBEDDED);
    kw_item items[300];
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
        g_autofree char *record = g_strdup_printf("id=r%zu status=new%s", i, i ? "" : " n=1");
        items[i] = (kw_item){.record = desk_record(self.desk, self.table, record)};
    }
    kw_budget_configure(bytes);
    kw_account *account = kw_account_new();
    kw_arena *unlimited = self.desk->call.arena;
    self.desk->call.arena = kw_arena_new_for(account, KW_MEMORY_CALLS);
    self.desk->call.refuse = count_refusal;
    self.desk->done = false;
    kw_error error;
    many_puts all = {&self, items, G_N_ELEMENTS(items)};
    bool started = kw_guard_run(self.desk->call.arena, start_many, &all, &error);
    if (started)
        desk_wait(self.desk);
    else
        g_assert_cmpuint(self.control->operations, ==, 0);
    *ret_full = started ? self.desk->written[0].outcome : KW_OUTCOME_FAILED;
    *ret_failed = 0;
    for (size_t i = 1; started && i < G_N_ELEMENTS(items); i++)
        *ret_failed += self.desk->written[i].outcome == KW_OUTCOME_FAILED;
    g_assert_cmpuint(kw_memory_store_rows(self.memory, "plain"), ==,
                     started ? G_N_ELEMENTS(items) - *ret_failed : 0);
    kw_arena_free(self.desk->call.arena);
    self.desk->call.arena = unlimited;
    kw_account_unref(account);
    kw_budget_settle();
    kw_budget_configure(0);
    desk_free(self.desk);
    return started;
}

/* If there is no memory left for the partial puts, they are refused, but the full put, which was written, is
 * not.
 */
KW_TEST(test_memory, "/path/partial/memory")
{
    size_t refused = 0, partly = 0, whole = 0;
    for (int64_t bytes = 256 * 1024; whole == 0; bytes += 64 * 1024) {
        kw_outcome full;
        size_t failed;
        if (!put_within(bytes, &full, &failed)) {
            refused++;
            continue;
        }
        g_assert_cmpint(full, ==, KW_OUTCOME_OK);
        g_assert_true(failed == 0 || failed == 299);
        partly += failed == 299;
        whole += failed == 0;
    }
    g_assert_cmpuint(refused, >, 0);
    g_assert_cmpuint(partly, >, 0);
}

/* --- putIf ----------------------------------------------------------------------------------------- */

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *on = user;
    (void)generated;
    on->applied = applied;
    on->error = error ? *error : KW_ERROR_NONE;
    on->done = true;
}

static void
run_put_if(bed *self, const char *text, const char *field, kw_value condition)
{
    desk *on = self->desk;
    kw_record record = desk_record(on, self->table, text);
    kw_condition_on_field expected = {
        .pick = desk_pick(on, self->table, field), .compare = KW_COMPARE_EQUAL, .value = condition};
    on->done = false;
    kw_verb_put_if(&on->call, desk_table(on, self->table), &record, &expected, on->options, decided, on);
    desk_wait(on);
}

/* condition: the value of the field; NULL: it must be absent. */
static bool
put_if(bed *self, const char *text, const char *field, const char *condition)
{
    kw_value value = {.kind = condition ? KW_VALUE_TEXT : KW_VALUE_NONE};
    if (condition)
        value.bytes = kw_bytes_of_text(condition);
    run_put_if(self, text, field, value);
    g_assert_cmpstr(self->desk->error.text, ==, "");
    return self->desk->applied;
}

/* The condition is one on the tuple, or on another field. */
KW_TEST(test_put_if, "/path/partial/putIf")
{
    for (place shared = 0; shared < PLACES; shared++) {
        bed self = bed_new(shared);
        put(&self, "id=a status=new n=1 note=x");
        g_assert_false(put_if(&self, "id=a status=paid", "status", "sent"));
        g_assert_false(put_if(&self, "id=a status=paid", "note", NULL));
        assert_record(&self, "id=a", "id=a status=new n=1 note=x");
        g_assert_cmpuint(hints(&self, "by_status"), ==, 1);
        g_assert_true(put_if(&self, "id=a status=paid", "status", "new"));
        g_assert_true(has_hint(&self, "a", "paid", 1));
        g_assert_true(put_if(&self, "id=a n=2", "note", "x"));
        g_assert_true(has_hint(&self, "a", "paid", 2));
        g_assert_true(put_if(&self, "id=b n=2", "status", NULL));
        size_t before = hints(&self, "by_status");
        g_assert_false(put_if(&self, "id=a status=gone n=2", "note", "y"));
        /* with several writers, the hints of all fields of a tuple are written before the condition is known
         */
        g_assert_cmpuint(hints(&self, "by_status"), ==, before + (shared != EMBEDDED));
        g_assert_true(put_if(&self, "id=a status=done n=2", "note", "x"));
        g_assert_true(has_hint(&self, "a", "done", 2));
        g_assert_true(put_if(&self, "id=a status=paid n=2", "status", "done"));
        assert_record(&self, "id=a", "id=a status=paid n=2 note=x");
        assert_record(&self, "id=b", "id=b n=2");
        desk_free(self.desk);
    }
}

/* The policy of the table "t" while its last hint path is being dropped: puts write its hints until then. */
static kw_policy *
dropping_policy(void)
{
#define COUNTED                                                                                              \
    "store: {kind: embedded}\n"                                                                              \
    "tables:\n"                                                                                              \
    "  t:\n"                                                                                                 \
    "    atomics: true\n"                                                                                    \
    "    fields: {id: string, status: string, n: int, hits: {type: int, counter: true}}\n"                   \
    "    key: [field: id]\n"
#define BY_STATUS                                                                                            \
    "    paths: {by_status: {key: [{field: {name: status, encoding: terminated}}, {field: {name: n, "        \
    "encoding: int, width: 8}}, field: id]}}\n"
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test.yaml");
    g_autoptr(kw_model) old =
        kw_model_read_text("old", COUNTED BY_STATUS, strlen(COUNTED BY_STATUS), schemas, count, problems);
    g_autoptr(kw_model) text = kw_model_read_text("text", COUNTED, strlen(COUNTED), schemas, count, problems);
    kw_placing placing = {.table = "t",
                          .path = "by_status",
                          .given = {1, "t_by_status"},
                          .now = {1, "t_by_status"},
                          .change = KW_TABLE_DROPS,
                          .old_model = old,
                          .role = {.put = 1},
                          .old_role = {1, 1, true, true}};
    kw_policy *placed = kw_policy_new_placed(text, &placing, 1, problems);
    g_assert_nonnull(placed);
    return placed;
}

static bed
bed_that_drops(place shared, kw_policy **ret_before)
{
    bed self = bed_new(shared);
    self.table = "t";
    *ret_before = self.desk->policy;
    self.desk->call.policy = self.desk->policy = dropping_policy();
    g_assert_cmpuint(desk_table(self.desk, "t")->hint_paths_count, ==, 0);
    put(&self, "id=a status=new n=1 hits=1");
    return self;
}

static void
free_bed_that_drops(bed *self, kw_policy *before)
{
    kw_policy_unref(self->desk->policy);
    self->desk->policy = before;
    desk_free(self->desk);
}

/* HBase executes increments itself, so a partial put does not notice them: a condition on a counter is
 * refused, also while the path is being dropped. */
KW_TEST(test_put_if_counter, "/path/partial/putIf on a counter while its path is dropped")
{
    kw_policy *before;
    const kw_value one = {.kind = KW_VALUE_NUMBER, .number = 1};
    bed self = bed_that_drops(SHARED, &before);
    run_put_if(&self, "id=a status=paid", "hits", one);
    g_assert_cmpint(self.desk->error.code, ==, KW_REFUSED);
    g_assert_nonnull(strstr(self.desk->error.text, "a putIf with a condition on a counter"));
    run_put_if(&self, "id=a status=paid n=2", "hits", one);
    g_assert_cmpstr(self.desk->error.text, ==, "");
    g_assert_true(self.desk->applied);
    g_assert_cmpuint(hints(&self, "by_status"), ==, 2);
    free_bed_that_drops(&self, before);
}

/* With one writer, a condition that is not met leaves no hint, also while the path is being dropped. */
KW_TEST(test_put_if_dropped, "/path/partial/putIf while its path is dropped")
{
    kw_policy *before;
    bed self = bed_that_drops(EMBEDDED, &before);
    g_assert_false(put_if(&self, "id=a status=paid n=2", "status", "sent"));
    g_assert_cmpuint(hints(&self, "by_status"), ==, 1);
    g_assert_true(put_if(&self, "id=a status=paid n=2", "status", "new"));
    g_assert_cmpuint(hints(&self, "by_status"), ==, 2);
    free_bed_that_drops(&self, before);
}

/* --- the derivation -------------------------------------------------------------------------------- */

/* It is pure: the same result each time, and the record stays as it was. */
KW_TEST(test_pure, "/path/partial/pure")
{
    bed self = bed_new(SHARED_STAMP);
    const kw_table *table = desk_table(self.desk, "stamped");
    kw_record record = desk_record(self.desk, "stamped", "id=a status=paid seller=s");
    kw_arena *arena = self.desk->call.arena;
    const kw_derivation *derivation = kw_partial_derivation(
        &self.desk->call, table, &record, KW_BYTES_LITERAL("row"), NULL, KW_DURABILITY_DEFAULT);
    g_assert_cmpuint(derivation->columns_count, ==, 3);
    int64_t n = 7;
    kw_value number = {.kind = KW_VALUE_NUMBER, .number = n};
    const kw_field *field = &table->fields[desk_field(self.desk, "stamped", "n")];
    kw_cell cell = {.family = field->family,
                    .qualifier = KW_BYTES_LITERAL("n"),
                    .value = kw_field_encode_cell(field, number, arena),
                    .timestamp = 5};
    const kw_row row = {.cells = &cell, .cells_count = 1}, no_row = {0};
    const kw_seen seen = {.row = &row}, nothing = {.row = &no_row};
    for (int i = 0; i < 2; i++) {
        kw_derived with, without;
        kw_error error;
        g_assert_true(derivation->derive(derivation->user, &seen, arena, &with, &error));
        g_assert_true(with.is_met);
        g_assert_cmpuint(with.cells_count, ==, 1);
        g_assert_cmpuint(with.absent_count, ==, 0);
        g_assert_cmpuint(with.preceding_count, ==, 2);
        g_assert_true(derivation->derive(derivation->user, &nothing, arena, &without, &error));
        g_assert_cmpuint(without.cells_count, ==, 0);
        g_assert_cmpuint(without.absent_count, ==, 1);
        g_assert_cmpuint(without.preceding_count, ==, 1);
    }
    g_assert_cmpstr(desk_text(self.desk, table, &record), ==, "id=a seller=s status=paid");
    desk_free(self.desk);
}
