/* See simulated_store.h. A call is applied when it is answered. */
#include "support/simulated_store.h"

#include "base/clock.h"
#include "histories/sim/rows.h"
#include "store/class.h"
#include "store/columns.h"
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"
#include "store/refuse.h"

#define VERSIONS_ALL 1000

typedef struct simulated_store {
    kw_store base;
    sim_rows *rows;
    bool joined; /* the rows belong to another store */
    kw_simulated_fate fate;
    void *fate_user;
    bool time_known, time_runs;
    kw_span time; /* if it runs: relative to this machine's clock */
    int64_t grid_ms, grid_at_ms;
    unsigned calls;
    GQueue held; /* of call */
    GQueue late; /* of late_write */
} simulated_store;

static simulated_store *
store_of(const kw_store *store)
{
    return (simulated_store *)store;
}

/* --- calls ------------------------------------------------------------------------------------- */

/* A single call, or a multi-call. */
typedef struct call {
    kw_task task;
    simulated_store *store;
    kw_fate *fates;
    const kw_write *const *writes;
    const kw_get *const *gets;
    const kw_write *one_write;
    const kw_get *one_get;
    const kw_check *check; /* of a single conditional write */
    size_t count;
    kw_written *results; /* NULL: a single write */
    union {
        kw_write_done write;
        kw_write_if_done write_if;
        kw_get_done get;
        void (*many)(void *user);
    } done;
    void *user;
} call;

typedef struct late_write {
    kw_arena *arena;
    kw_hbase_call prepared;
} late_write;

static void
set_failure(kw_fate fate, bool changes, kw_error *ret_error)
{
    kw_error_set(ret_error, KW_UNAVAILABLE, "no reply arrived");
    ret_error->maybe_applied = changes && fate != KW_FATE_FAILED;
}

static void
prepare(kw_arena *arena, const kw_write *write, const kw_check *check, kw_hbase_call *ret_call)
{
    if (check)
        kw_hbase_check_prepare(arena, write, check, ret_call);
    else
        kw_hbase_write_prepare(arena, write, KW_DURABILITY_DEFAULT, ret_call);
}

/* The caller can free the write before it is applied. */
static void
keep_late(simulated_store *store, const kw_write *write, const kw_check *check)
{
    late_write *late = g_new0(late_write, 1);
    late->arena = kw_arena_new();
    kw_write copy = *write;
    copy.row = kw_arena_copy(late->arena, write->row);
    copy.table = kw_arena_copy(late->arena, write->table);
    copy.cells = kw_hbase_copy_cells(late->arena, write->cells, write->cells_count);
    copy.extra_cells = kw_hbase_copy_cells(late->arena, write->extra_cells, write->extra_cells_count);
    copy.columns = kw_columns_copy(write->columns, write->columns_count, late->arena);
    kw_marker *markers = KW_ARENA_ARRAY(late->arena, kw_marker, write->markers_count);
    for (size_t i = 0; i < write->markers_count; i++) {
        markers[i] = write->markers[i];
        markers[i].column = *kw_columns_copy(&write->markers[i].column, 1, late->arena);
    }
    copy.markers = markers;
    kw_check condition = check ? *check : (kw_check){0};
    condition.family = kw_arena_copy(late->arena, condition.family);
    condition.qualifier = kw_arena_copy(late->arena, condition.qualifier);
    condition.value = kw_arena_copy(late->arena, condition.value);
    prepare(late->arena, &copy, check ? &condition : NULL, &late->prepared);
    g_queue_push_tail(&store->late, late);
}

/* False if the condition was not met. */
static bool
apply(simulated_store *store, const kw_write *write, const kw_check *check)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_hbase_call prepared = {0};
    prepare(arena, write, check, &prepared);
    const void *result = sim_rows_answer(store->rows, prepared.method, prepared.args, arena);
    return !check || kw_hbase_check_was_applied(&prepared, result);
}

static kw_outcome
write_one(simulated_store *store, kw_fate fate, const kw_write *write, const kw_check *check,
          bool *ret_applied, kw_error *ret_error)
{
    bool answered = fate == KW_FATE_ANSWERED || fate == KW_FATE_HELD;
    *ret_applied = (answered || fate == KW_FATE_LOST) && apply(store, write, check);
    if (fate == KW_FATE_LATE)
        keep_late(store, write, check);
    if (answered)
        return KW_OUTCOME_OK;
    set_failure(fate, true, ret_error);
    if (!ret_error->maybe_applied)
        return KW_OUTCOME_FAILED;
    kw_store_note_doubt(&store->base);
    return KW_OUTCOME_UNKNOWN;
}

static void
read_one(simulated_store *store, const kw_get *get, kw_rows *rows, kw_row *ret_row)
{
    kw_hb_TGet *tget = KW_ARENA_NEW(rows->arena, kw_hb_TGet);
    kw_hbase_to_get(rows->arena, get, tget);
    kw_hb_THBaseService_get_args args = {.table = get->table, .tget = tget};
    const kw_hb_THBaseService_get_result *result =
        sim_rows_answer(store->rows, KW_HB_THBaseService_get, &args, rows->arena);
    g_assert(result->has_success);
    kw_error error;
    bool good = kw_hbase_from_get_result(rows, get, result->success, ret_row, &error);
    g_assert_true(good);
}

/* Reads a row, or omits it if it does not fit within the bytes that are left. */
static void
read_within(simulated_store *store, const kw_get *get, size_t most, kw_omission *omitted, kw_rows *rows,
            kw_row *ret_row)
{
    size_t before = rows->bytes;
    read_one(store, get, rows, ret_row);
    if (*omitted != KW_OMITTED_LIMIT_REACHED)
        *omitted = KW_OMITTED_NOT;
    if (most && rows->bytes > most && *omitted == KW_OMITTED_NOT)
        *omitted = rows->bytes - before > most ? KW_OMITTED_TOO_LARGE : KW_OMITTED_LIMIT_REACHED;
    if (*omitted == KW_OMITTED_NOT)
        return;
    rows->bytes = before;
    *ret_row = (kw_row){.key = ret_row->key, .omitted = *omitted};
}

static void
read_all(call *of)
{
    kw_error error;
    kw_rows *rows = kw_rows_new();
    rows->rows = KW_ARENA_ARRAY(rows->arena, kw_row, of->count);
    rows->count = of->count;
    bool answered = true;
    kw_omission omitted = KW_OMITTED_NOT;
    for (size_t i = 0; i < of->count; i++) {
        answered = answered && (of->fates[i] == KW_FATE_ANSWERED || of->fates[i] == KW_FATE_HELD);
        read_within(of->store, of->gets[i], of->gets[0]->max_bytes, &omitted, rows, &rows->rows[i]);
    }
    set_failure(KW_FATE_FAILED, false, &error);
    if (!answered)
        kw_rows_free(rows);
    of->done.get(of->user, answered ? rows : NULL, answered ? NULL : &error);
}

static void
write_all(call *of)
{
    kw_written single, *results = of->results ? of->results : &single;
    bool applied = false;
    for (size_t i = 0; i < of->count; i++)
        results[i].outcome =
            write_one(of->store, of->fates[i], of->writes[i], of->check, &applied, &results[i].error);
    const kw_error *error = of->results || single.outcome == KW_OUTCOME_OK ? NULL : &single.error;
    if (of->results)
        of->done.many(of->user);
    else if (of->check)
        of->done.write_if(of->user, single.outcome, !error && applied, error);
    else
        of->done.write(of->user, single.outcome, error);
}

static void
execute(call *of)
{
    if (of->gets)
        read_all(of);
    else
        write_all(of);
    g_free(of->fates);
    g_free(of);
}

static kw_fate
draw(simulated_store *store, const kw_write *write, const kw_get *get, const kw_check *check)
{
    kw_simulated_call info = {.table = write ? write->table : get->table,
                              .row = write ? write->row : get->row,
                              .write = write,
                              .get = get,
                              .check = check,
                              .number = ++store->calls};
    return store->fate ? store->fate(store->fate_user, &info) : KW_FATE_ANSWERED;
}

static void
run(kw_task *task)
{
    call *of = (call *)task;
    bool held = false;
    of->fates = g_new0(kw_fate, of->count);
    for (size_t i = 0; i < of->count; i++) {
        of->fates[i] =
            draw(of->store, of->writes ? of->writes[i] : NULL, of->gets ? of->gets[i] : NULL, of->check);
        held = held || of->fates[i] == KW_FATE_HELD;
    }
    if (held)
        g_queue_push_tail(&of->store->held, of);
    else
        execute(of);
}

static void
start(kw_store_handle *handle, const call *of)
{
    call *copy = g_memdup2(of, sizeof *of);
    copy->task.run = run;
    copy->store = store_of(handle->store);
    if (copy->one_write)
        copy->writes = &copy->one_write;
    if (copy->one_get)
        copy->gets = &copy->one_get;
    kw_loop_post(handle->loop, &copy->task);
}

static void
handle_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    start(handle, &(call){.one_write = write, .count = 1, .done.write = done, .user = user});
}

static void
handle_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                  void (*done)(void *user), void *user)
{
    start(handle,
          &(call){.writes = writes, .count = count, .results = results, .done.many = done, .user = user});
}

static void
handle_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
                void *user)
{
    start(handle,
          &(call){.one_write = write, .check = check, .count = 1, .done.write_if = done, .user = user});
}

static void
handle_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    start(handle, &(call){.one_get = get, .count = 1, .done.get = done, .user = user});
}

static void
handle_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                void *user)
{
    start(handle, &(call){.gets = gets, .count = count, .done.get = done, .user = user});
}

/* --- store handle ------------------------------------------------------------------------------- */

typedef struct closing {
    kw_store_handle *handle;
    void (*closed)(void *user);
    void *user;
} closing;

static void
close_later(void *user)
{
    closing end = *(closing *)user;
    g_free(user);
    g_assert(store_of(end.handle->store)->held.length == 0);
    end.closed(end.user);
}

static void
handle_close(kw_store_handle *handle, void (*closed)(void *user), void *user)
{
    closing end = {handle, closed, user};
    kw_complete_later(handle, close_later, g_memdup2(&end, sizeof end));
}

static kw_store_handle *
open_handle(kw_store *store, kw_loop *loop)
{
    static const kw_store_handle_class handle_class = {.write = handle_write,
                                                       .write_many = handle_write_many,
                                                       .write_if = handle_write_if,
                                                       .get = handle_get,
                                                       .get_many = handle_get_many,
                                                       .close = handle_close};
    kw_store_handle *handle = g_new0(kw_store_handle, 1);
    *handle = (kw_store_handle){.class = &handle_class, .store = store, .loop = loop};
    return handle;
}

/* --- store -------------------------------------------------------------------------------------- */

/* The next time on the grid. */
static int64_t
on_grid(const simulated_store *store, int64_t time_ns)
{
    int64_t time_ms = time_ns / 1000000, every_ms = store->grid_ms;
    int64_t past_ms = (time_ms - store->grid_at_ms) % every_ms;
    return (time_ms - past_ms + every_ms) * 1000000;
}

static bool
get_time(kw_store *store, bool roughly, kw_span *ret_span)
{
    kw_span span = store_of(store)->time;
    int64_t now_ns = store_of(store)->time_runs ? g_get_real_time() * 1000 : 0;
    *ret_span = (kw_span){now_ns + span.earliest_ns, now_ns + span.latest_ns};
    if (store_of(store)->grid_ms)
        ret_span->latest_ns = on_grid(store_of(store), ret_span->latest_ns);
    return roughly || store_of(store)->time_known;
}

static void
free_late(gpointer data)
{
    kw_arena_free(((late_write *)data)->arena);
    g_free(data);
}

static void
free_store(kw_store *base)
{
    simulated_store *store = store_of(base);
    g_assert(store->held.length == 0);
    g_queue_clear_full(&store->late, free_late);
    if (!store->joined)
        sim_rows_free(store->rows);
    g_free(store);
}

void
kw_simulated_create_table(kw_store *store, const char *name, int64_t markers_ms)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_hb_TTableName table = {.qualifier = kw_bytes_of_text(name)};
    kw_hb_TColumnFamilyDescriptor families[] = {{.name = KW_BYTES_LITERAL("f")},
                                                {.name = KW_BYTES_LITERAL("g")}};
    for (size_t i = 0; markers_ms && i < G_N_ELEMENTS(families); i++)
        kw_hbase_set_markers(arena, markers_ms, &families[i]);
    kw_hb_TTableDescriptor descriptor = {.tableName = &table, .has_columns = true};
    descriptor.columns.items = families;
    descriptor.columns.count = G_N_ELEMENTS(families);
    kw_hb_THBaseService_createTable_args args = {.desc = &descriptor};
    sim_rows_answer(store_of(store)->rows, KW_HB_THBaseService_createTable, &args, arena);
}

static simulated_store *
store_new(sim_rows *rows)
{
    static const kw_store_class store_class = {.name = "simulated",
                                               .shared = true,
                                               .time = get_time,
                                               .open_handle = open_handle,
                                               .free = free_store};
    simulated_store *store = g_new0(simulated_store, 1);
    store->base.class = &store_class;
    store->rows = rows;
    kw_simulated_set_time_ms(&store->base, 1000, 1000);
    return store;
}

kw_store *
kw_simulated_store_open(const char *const *tables, size_t count)
{
    simulated_store *store = store_new(sim_rows_new());
    for (size_t i = 0; i < count; i++)
        kw_simulated_create_table(&store->base, tables[i], 0);
    return &store->base;
}

kw_store *
kw_simulated_store_join(kw_store *other)
{
    simulated_store *store = store_new(store_of(other)->rows);
    store->joined = true;
    return &store->base;
}

void
kw_simulated_set_fate(kw_store *store, kw_simulated_fate fate, void *user)
{
    store_of(store)->fate = fate;
    store_of(store)->fate_user = user;
}

void
kw_simulated_set_time_ms(kw_store *base, int64_t earliest_ms, int64_t latest_ms)
{
    simulated_store *store = store_of(base);
    store->time_known = true;
    store->time_runs = false;
    store->time = (kw_span){earliest_ms * 1000000, latest_ms * 1000000};
    sim_rows_set_clock(store->rows, SIM_DATA, earliest_ms - kw_clock_wall_ms());
}

void
kw_simulated_follow_clock(kw_store *base, int64_t before_ms, int64_t after_ms, int64_t skew_ms)
{
    simulated_store *store = store_of(base);
    store->time_known = store->time_runs = true;
    store->time = (kw_span){-before_ms * 1000000, after_ms * 1000000};
    sim_rows_set_clock(store->rows, SIM_DATA, skew_ms);
}

void
kw_simulated_set_grid(kw_store *store, int64_t every_ms, int64_t at_ms)
{
    store_of(store)->grid_ms = every_ms;
    store_of(store)->grid_at_ms = at_ms;
}

void
kw_simulated_set_time_unknown(kw_store *store)
{
    store_of(store)->time_known = false;
}

unsigned
kw_simulated_calls(const kw_store *store)
{
    return store_of(store)->calls;
}

size_t
kw_simulated_held(const kw_store *store)
{
    return store_of(store)->held.length;
}

void
kw_simulated_release(kw_store *store)
{
    call *of = g_queue_pop_head(&store_of(store)->held);
    g_assert(of);
    execute(of);
}

void
kw_simulated_apply_late(kw_store *base)
{
    simulated_store *store = store_of(base);
    for (late_write *late; (late = g_queue_pop_head(&store->late));) {
        sim_rows_answer(store->rows, late->prepared.method, late->prepared.args, late->arena);
        free_late(late);
    }
}

void
kw_simulated_purge(kw_store *store)
{
    sim_rows_purge(store_of(store)->rows, INT64_MAX);
}

/* --- rows --------------------------------------------------------------------------------------- */

void
kw_simulated_put(kw_store *store, const char *table, const char *row, const char *qualifier,
                 const char *value, int64_t timestamp)
{
    kw_cell cell = {.family = KW_BYTES_LITERAL("f"),
                    .qualifier = kw_bytes_of_text(qualifier),
                    .value = kw_bytes_of_text(value)};
    kw_write put = {.table = kw_bytes_of_text(table),
                    .row = kw_bytes_of_text(row),
                    .cells = &cell,
                    .cells_count = 1,
                    .timestamp = timestamp};
    apply(store_of(store), &put, NULL);
}

void
kw_simulated_print(GString *to, const kw_cell *cell)
{
    kw_bytes name = cell->qualifier;
    bool control = name.size && name.data[0] == '\0';
    name = control ? kw_bytes_skip(name, 1) : name;
    g_string_append_printf(to, "%s%.*s:%.*s=", to->len ? " " : "", (int)cell->family.size,
                           (const char *)cell->family.data, (int)name.size, (const char *)name.data);
    if (control && (cell->value.size == 8 || cell->value.size == 16))
        g_string_append_printf(to, "%llu", (unsigned long long)kw_be64_load(cell->value.data));
    else
        g_string_append_len(to, (const char *)cell->value.data, (gssize)cell->value.size);
    g_string_append_printf(to, "@%lld", (long long)cell->timestamp);
}

char *
kw_simulated_row(kw_store *store, const char *table, const char *row)
{
    GString *text = g_string_new(NULL);
    kw_rows *rows = kw_rows_new();
    kw_row found;
    kw_get get = {
        .table = kw_bytes_of_text(table), .row = kw_bytes_of_text(row), .max_versions = VERSIONS_ALL};
    read_one(store_of(store), &get, rows, &found);
    for (uint32_t i = 0; i < found.cells_count; i++)
        kw_simulated_print(text, &found.cells[i]);
    kw_rows_free(rows);
    return g_string_free(text, FALSE);
}
