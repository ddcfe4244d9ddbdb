/* Every operation is executed when it starts; only its reply goes through the loop. */
#include "support/memory_internal.h"

#include "store/check.h"
#include "store/derive.h"

/* --- replies --------------------------------------------------------------------------------------- */

static void
call_done(const memory_answer *what)
{
    const kw_error *error = what->failed ? &what->error : NULL;
    switch (what->kind) {
    case ANSWER_WRITE:
        ((kw_write_done)what->done)(what->user, what->outcome, error);
        break;
    case ANSWER_MANY:
        ((void (*)(void *))what->done)(what->user);
        break;
    case ANSWER_WRITE_IF:
        ((kw_write_if_done)what->done)(what->user, what->outcome, what->applied, error);
        break;
    case ANSWER_INCREMENT:
        ((kw_increment_done)what->done)(what->user, what->outcome, what->rows, error);
        break;
    case ANSWER_GET:
        ((kw_get_done)what->done)(what->user, what->rows, error);
        break;
    case ANSWER_CREATE:
        ((kw_create_done)what->done)(what->user, what->applied, error);
        break;
    case ANSWER_FACTS:
        ((kw_table_facts_done)what->done)(what->user, what->facts, error);
        break;
    case ANSWER_SIMPLE:
        ((kw_simple_done)what->done)(what->user, error);
        break;
    case ANSWER_REGIONS:
        ((kw_regions_done)what->done)(what->user, what->regions, error);
        break;
    }
}

static void
deliver(memory_answer *what)
{
    memory_range_scan *run = what->run;
    if (run)
        run->on_way = false;
    if (run && run->closed) {
        kw_rows_free(what->rows);
        memory_free_range_scan(run);
    } else {
        call_done(what);
    }
    g_free(what);
}

static void
deliver_some(kw_task *task)
{
    memory_handle *handle = (memory_handle *)(void *)((char *)task - offsetof(memory_handle, task));
    handle->posted = false;
    bool held = handle->store->control.never_answer && !handle->closed;
    bool stalled = handle->store->control.stalled == &handle->base && !handle->closed;
    guint count = held || stalled ? 0 : handle->answers->len;
    if (handle->store->control.shuffle && count > 1)
        count = 1 + (guint)(kw_random_u64() % count);
    for (guint i = 0; i < count; i++) {
        guint place = handle->store->control.shuffle ? (guint)(kw_random_u64() % handle->answers->len) : 0;
        deliver(g_ptr_array_steal_index(handle->answers, place));
    }
    if (handle->answers->len && !held && !handle->posted) {
        handle->posted = true;
        kw_loop_post(handle->base.loop, &handle->task);
    }
    if (handle->answers->len == 0 && handle->closed)
        handle->closed(handle->closed_user);
}

/* How many reads of rows wait for their reply. */
static uint64_t
count_reads(const memory_handle *handle, bool fetches)
{
    uint64_t count = 0;
    for (guint i = 0; i < handle->answers->len; i++) {
        const memory_answer *what = handle->answers->pdata[i];
        count += what->kind == ANSWER_GET && !!what->run == fetches;
    }
    return count;
}

void
memory_note_reads(kw_store_handle *base)
{
    const memory_handle *handle = (const memory_handle *)base;
    kw_memory_control *control = &handle->store->control;
    control->most_fetches_in_flight = MAX(control->most_fetches_in_flight, count_reads(handle, true));
    control->most_gets_in_flight = MAX(control->most_gets_in_flight, count_reads(handle, false));
}

/* Counts the operation and schedules its reply. Sets `failed` if the operation must fail. */
memory_answer *
memory_start(kw_store_handle *base, answer_kind kind, void (*done)(void), void *user)
{
    memory_handle *handle = (memory_handle *)base;
    kw_memory_control *control = &handle->store->control;
    memory_answer *made = g_new0(memory_answer, 1);
    *made = (memory_answer){.kind = kind, .done = done, .user = user};
    control->operations++;
    if (control->operations == control->fail_at) {
        made->failed = true;
        made->outcome = control->fail_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
        kw_error_set(&made->error, control->fail_code ? control->fail_code : KW_UNAVAILABLE,
                     "operation %lu was to fail", (unsigned long)control->operations);
        made->error.maybe_applied = control->fail_applied;
        if (control->fail_applied)
            kw_store_note_doubt(base->store);
    }
    g_ptr_array_add(handle->answers, made);
    control->most_in_flight = MAX(control->most_in_flight, handle->answers->len);
    if (!handle->posted) {
        handle->posted = true;
        kw_loop_post(base->loop, &handle->task);
    }
    return made;
}

static kw_bytes
keep(memory_store *store, kw_bytes bytes)
{
    kw_bytes made = memory_copy(bytes);
    g_ptr_array_add(store->kept, (void *)(uintptr_t)made.data);
    return made;
}

static void
remember(memory_store *store, const kw_write *write)
{
    store->control.last_write = (kw_write){.kind = write->kind,
                                           .table = keep(store, write->table),
                                           .row = keep(store, write->row),
                                           .cells_count = write->cells_count,
                                           .columns_count = write->columns_count,
                                           .timestamp = write->timestamp,
                                           .ordering = write->ordering,
                                           .durability = write->durability,
                                           .deadline = write->deadline};
}

/* --- the class ------------------------------------------------------------------------------------- */

static void
memory_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    const memory_answer *what = memory_start(handle, ANSWER_WRITE, (void (*)(void))done, user);
    remember(memory_store_of(handle), write);
    if (!what->failed || what->outcome == KW_OUTCOME_UNKNOWN)
        memory_apply(memory_store_of(handle), write);
}

/* If it must fail, every second write fails, beginning with the first. */
static void
memory_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                  void (*done)(void *), void *user)
{
    const memory_answer *what = memory_start(handle, ANSWER_MANY, (void (*)(void))done, user);
    for (size_t i = 0; i < count; i++) {
        bool failed = what->failed && i % 2 == 0;
        remember(memory_store_of(handle), writes[i]);
        results[i] = (kw_written){.outcome = failed ? what->outcome : KW_OUTCOME_OK};
        if (failed)
            results[i].error = what->error;
        if (!failed || what->outcome == KW_OUTCOME_UNKNOWN)
            memory_apply(memory_store_of(handle), writes[i]);
    }
}

/* tests/contract compares kw_check_is_met with a real HBase. */
static bool
check_meets(const kw_check *check, const memory_cell *there)
{
    kw_cell stored = {.value = there ? there->value : KW_BYTES_NONE};
    return kw_check_is_met(check, there ? &stored : NULL);
}

static void
memory_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
                void *user)
{
    memory_store *store = memory_store_of(handle);
    memory_answer *what = memory_start(handle, ANSWER_WRITE_IF, (void (*)(void))done, user);
    remember(store, write);
    if (what->failed && what->outcome != KW_OUTCOME_UNKNOWN)
        return;
    what->applied = check_meets(check, memory_find_cell(memory_find_row(store, write->table, write->row),
                                                        check->family, check->qualifier));
    if (what->applied)
        memory_apply(store, write);
    for (size_t i = 0; what->applied && i < write->others_count; i++) {
        kw_write other = *write;
        other.table = write->others[i].table;
        other.row = write->others[i].row;
        memory_apply(store, &other);
    }
    what->applied &= !what->failed;
}

static kw_row
read_derived(const memory_store *store, const kw_lookup *lookup, kw_rows *rows)
{
    kw_row seen = {0};
    const memory_row *row = memory_find_row(store, lookup->table, lookup->row);
    if (row)
        memory_read_row(row, lookup->columns, lookup->columns_count, rows, &seen);
    return seen;
}

static bool
derive(const memory_store *store, const kw_write *write, const kw_derivation *derivation, kw_rows *rows,
       kw_write *ret_full, kw_derived *ret_derived, kw_error *ret_error)
{
    kw_lookup own = {write->table, write->row, derivation->columns, derivation->columns_count};
    kw_row row = read_derived(store, &own, rows), others[KW_STORE_LOOKUPS_MAX];
    kw_seen seen = {.row = &row, .others = others};
    bool good = kw_derive_write(write, derivation, &seen, rows->arena, ret_full, ret_derived, ret_error);
    while (good && kw_derived_needs(ret_derived, &seen)) {
        while (kw_derived_needs(ret_derived, &seen)) {
            others[seen.others_count] = read_derived(store, &ret_derived->lookups[seen.others_count], rows);
            seen.others_count++;
        }
        good = kw_derive_write(write, derivation, &seen, rows->arena, ret_full, ret_derived, ret_error);
    }
    return good;
}

static void
apply_derived(memory_store *store, const kw_write *write, const kw_derived *derived)
{
    for (size_t i = 0; i < derived->preceding_count; i++)
        memory_apply(store, &derived->preceding[i]);
    memory_apply(store, write);
    for (size_t i = 0; i < write->others_count; i++) {
        kw_write other = *write;
        other.table = write->others[i].table;
        other.row = write->others[i].row;
        memory_apply(store, &other);
    }
}

static void
memory_write_derived(kw_store_handle *handle, const kw_write *write, const kw_derivation *derivation,
                     kw_write_if_done done, void *user)
{
    memory_store *store = memory_store_of(handle);
    memory_answer *what = memory_start(handle, ANSWER_WRITE_IF, (void (*)(void))done, user);
    remember(store, write);
    if (what->failed && what->outcome != KW_OUTCOME_UNKNOWN)
        return;
    kw_rows *rows = kw_rows_new();
    kw_write full;
    kw_derived derived;
    if (!derive(store, write, derivation, rows, &full, &derived, &what->error)) {
        what->failed = true;
        what->outcome = KW_OUTCOME_FAILED;
    } else if (derived.is_met) {
        apply_derived(store, &full, &derived);
        what->applied = !what->failed;
    }
    kw_rows_free(rows);
}

static void
copy_sums(memory_store *store, const kw_increment *increment, const memory_row *from)
{
    for (size_t i = 0; i < increment->others_count; i++) {
        memory_row *to = memory_make_row(store, increment->others[i].table, increment->others[i].row);
        for (size_t k = 0; k < increment->columns_count; k++) {
            const kw_column *column = &increment->columns[k];
            const memory_cell *sum = memory_find_cell(from, column->family, column->qualifier);
            memory_set_cell(to, column->family, column->qualifier, sum->value, sum->timestamp);
        }
    }
}

static void
memory_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done, void *user)
{
    memory_store *store = memory_store_of(handle);
    memory_answer *what = memory_start(handle, ANSWER_INCREMENT, (void (*)(void))done, user);
    memory_row *in = memory_find_row(store, increment->table, increment->row);
    for (size_t i = 0; i < increment->columns_count && !what->failed; i++) {
        const memory_cell *there =
            memory_find_cell(in, increment->columns[i].family, increment->columns[i].qualifier);
        if (there && there->value.size != 8) {
            what->failed = true;
            what->outcome = KW_OUTCOME_FAILED;
            kw_error_set(&what->error, KW_INVALID, "the stored value is not 8 bytes");
        }
    }
    if (what->failed)
        return;
    in = memory_make_row(store, increment->table, increment->row);
    for (size_t i = 0; i < increment->columns_count; i++) {
        const kw_column *column = &increment->columns[i];
        const memory_cell *there = memory_find_cell(in, column->family, column->qualifier);
        uint64_t sum = (there ? kw_be64_load(there->value.data) : 0) + (uint64_t)increment->amounts[i];
        uint8_t bytes[8];
        kw_be64_store(bytes, sum);
        memory_set_cell(in, column->family, column->qualifier, kw_bytes_of(bytes, 8), kw_clock_wall_ms());
    }
    copy_sums(store, increment, in);
    what->rows = kw_rows_new();
    what->rows->rows = KW_ARENA_ARRAY(what->rows->arena, kw_row, 1);
    what->rows->count = 1;
    memory_read_row(in, increment->columns, increment->columns_count, what->rows, &what->rows->rows[0]);
}

static void
apply_filter(const kw_get *get, kw_row *row)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    size_t count = row->cells_count;
    if (get->filter.size == 0 || count == 0)
        return;
    kw_filter_machine *machine =
        kw_filter_machine_new(kw_filter_parse(get->filter, arena, &error), false, &error);
    kw_filter_verdict verdict = kw_filter_machine_row(machine, row->key, row->cells, &count, 1, &error);
    row->cells_count = verdict == KW_FILTER_ROW_KEPT ? (uint32_t)count : 0;
    kw_filter_machine_free(machine);
}

static size_t
bytes_of(const kw_row *row)
{
    size_t bytes = row->key.size;
    for (uint32_t i = 0; i < row->cells_count; i++)
        bytes += row->cells[i].value.size;
    return bytes;
}

static void
memory_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                void *user)
{
    memory_store *store = memory_store_of(handle);
    if (store->control.before_gets)
        store->control.before_gets(store->control.before_gets_user);
    memory_answer *what = memory_start(handle, ANSWER_GET, (void (*)(void))done, user);
    memory_note_reads(handle);
    store->control.rows_got += count;
    store->control.most_rows_got = MAX(store->control.most_rows_got, count);
    if (what->failed)
        return;
    kw_rows *rows = what->rows = kw_rows_new_for(gets[0]->account);
    rows->rows = KW_ARENA_ARRAY(rows->arena, kw_row, count);
    rows->count = count;
    for (size_t i = 0; i < count; i++) {
        const memory_row *from = memory_find_row(store, gets[i]->table, gets[i]->row);
        if (from)
            memory_read_row(from, gets[i]->columns, gets[i]->columns_count, rows, &rows->rows[i]);
        else
            rows->rows[i].key = kw_arena_copy(rows->arena, gets[i]->row);
        memory_limit_times(gets[i]->time_from, gets[i]->time_to, &rows->rows[i]);
        apply_filter(gets[i], &rows->rows[i]);
        rows->scanned += rows->rows[i].cells_count > 0;
        if (store->control.omits_large_rows && gets[0]->max_bytes &&
            bytes_of(&rows->rows[i]) > gets[0]->max_bytes)
            rows->rows[i] = (kw_row){.key = rows->rows[i].key, .omitted = KW_OMITTED_TOO_LARGE};
        store->control.cells_got += rows->rows[i].cells_count;
    }
}

static void
memory_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    memory_get_many(handle, &get, 1, done, user);
}

static void
memory_close(kw_store_handle *base, void (*closed)(void *user), void *user)
{
    memory_handle *handle = (memory_handle *)base;
    handle->closed = closed;
    handle->closed_user = user;
    if (!handle->posted) {
        handle->posted = true;
        kw_loop_post(base->loop, &handle->task);
    }
}

static void
memory_free_handle(kw_store_handle *base)
{
    g_ptr_array_free(((memory_handle *)base)->answers, TRUE);
    g_free(base);
}

static const kw_store_handle_class handle_class = {.write = memory_write,
                                                   .write_many = memory_write_many,
                                                   .write_if = memory_write_if,
                                                   .write_derived = memory_write_derived,
                                                   .increment = memory_increment,
                                                   .get = memory_get,
                                                   .get_many = memory_get_many,
                                                   .open_range_scan = memory_open_range_scan,
                                                   .range_scan_fetch = memory_range_scan_fetch,
                                                   .range_scan_close = memory_range_scan_close,
                                                   .create_table = memory_create_table,
                                                   .describe_table = memory_describe_table,
                                                   .drop_table = memory_drop_table,
                                                   .regions = memory_regions,
                                                   .close = memory_close,
                                                   .free = memory_free_handle};

static const char *
memory_about(const kw_store *store)
{
    (void)store;
    return "rows in memory";
}

static bool
memory_ready(kw_store *store, kw_error *ret_error)
{
    (void)store;
    (void)ret_error;
    return true;
}

static bool
memory_offset(kw_store *base, int64_t *ret_offset_ms)
{
    const memory_store *store = (const memory_store *)base;
    *ret_offset_ms = store->control.offset_ms;
    return store->control.offset_known;
}

static kw_store_handle *
memory_open_handle(kw_store *base, kw_loop *loop)
{
    memory_handle *handle = g_new0(memory_handle, 1);
    handle->base = (kw_store_handle){.class = &handle_class, .store = base, .loop = loop};
    handle->store = (memory_store *)base;
    handle->answers = g_ptr_array_new();
    handle->task.run = deliver_some;
    return &handle->base;
}

static void
memory_reload(kw_store *store)
{
    (void)store;
}

static void
memory_free(kw_store *base)
{
    memory_store *store = (memory_store *)base;
    g_ptr_array_free(store->rows, TRUE);
    g_ptr_array_free(store->tables, TRUE);
    g_ptr_array_free(store->kept, TRUE);
    g_free(store);
}

static bool
memory_earliest_ms(kw_store *store, int64_t *ret_ms)
{
    *ret_ms = kw_clock_wall_ms();
    return !((memory_store *)store)->control.time_unknown;
}

static void
memory_keep_time_known(kw_store *store)
{
    kw_memory_control *control = &((memory_store *)store)->control;
    control->time_unknown = control->time_unknown && !control->time_on_demand;
}

static const kw_store_class store_class = {.name = "memory",
                                           .about = memory_about,
                                           .ready = memory_ready,
                                           .clock_offset_ms = memory_offset,
                                           .earliest_ms = memory_earliest_ms,
                                           .keep_time_known = memory_keep_time_known,
                                           .open_handle = memory_open_handle,
                                           .reload = memory_reload,
                                           .free = memory_free};

/* The clock of this machine, as if it were known to within a millisecond. */
static bool
memory_time(kw_store *store, bool roughly, kw_span *ret_span)
{
    int64_t now_ns = kw_clock_wall_ms() * 1000000;
    (void)store;
    (void)roughly;
    *ret_span = (kw_span){.earliest_ns = now_ns - 1000000, .latest_ns = now_ns};
    return true;
}

void
kw_memory_store_share(kw_store *store)
{
    static kw_store_class shared_class;
    shared_class = store_class;
    shared_class.shared = true;
    shared_class.time = memory_time;
    store->class = &shared_class;
}

kw_store *
kw_memory_store_open(void)
{
    memory_store *store = g_new0(memory_store, 1);
    store->base.class = &store_class;
    store->rows = g_ptr_array_new_with_free_func(memory_free_row);
    store->tables = g_ptr_array_new_with_free_func(memory_free_table);
    store->kept = g_ptr_array_new_with_free_func(g_free);
    store->control.offset_known = true;
    return &store->base;
}

kw_memory_control *
kw_memory_store_control(kw_store *store)
{
    return &((memory_store *)store)->control;
}

void
kw_memory_store_set(kw_store *store, const char *table_name, kw_bytes key, const char *family,
                    const char *qualifier, kw_bytes value, int64_t timestamp)
{
    memory_row *in = memory_make_row((memory_store *)store, kw_bytes_of_text(table_name), key);
    memory_set_cell(in, kw_bytes_of_text(family), kw_bytes_of_text(qualifier), value, timestamp);
}

kw_bytes
kw_memory_store_cell(kw_store *store, const char *table_name, kw_bytes key, const char *family,
                     const char *qualifier)
{
    const memory_row *in = memory_find_row((memory_store *)store, kw_bytes_of_text(table_name), key);
    const memory_cell *there = memory_find_cell(in, kw_bytes_of_text(family), kw_bytes_of_text(qualifier));
    return there ? there->value : KW_BYTES_NONE;
}

size_t
kw_memory_store_rows(kw_store *base, const char *table_name)
{
    const memory_store *store = (const memory_store *)base;
    size_t count = 0;
    for (guint i = 0; i < store->rows->len; i++) {
        const memory_row *each = store->rows->pdata[i];
        count += kw_bytes_equal(each->table, kw_bytes_of_text(table_name));
    }
    return count;
}

kw_bytes
kw_memory_store_key(kw_store *base, const char *table_name, size_t index)
{
    const memory_store *store = (const memory_store *)base;
    guint first = memory_lower_bound(store, kw_bytes_of_text(table_name), KW_BYTES_NONE);
    g_assert(first + index < store->rows->len);
    return ((const memory_row *)store->rows->pdata[first + index])->key;
}
