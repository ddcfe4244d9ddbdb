/* Every operation is carried out when it is started; only its answer travels through the loop. */
#include "support/memory_store.h"

#include "store/class.h"

#include <glib.h>

typedef struct cell {
    kw_bytes family, qualifier, value; /* malloc'ed */
    int64_t timestamp;
} cell;

typedef struct row {
    kw_bytes table, key;
    GArray *cells; /* in order */
} row;

typedef struct table {
    kw_bytes name;
    GPtrArray *families; /* names */
    GArray *splits;      /* kw_bytes */
} table;

typedef struct memory_store {
    kw_store base;
    GPtrArray *rows;   /* row, by table and key */
    GPtrArray *tables; /* table */
    kw_memory_control control;
    GPtrArray *kept; /* copies for last_write */
} memory_store;

typedef enum answer_kind {
    ANSWER_WRITE,
    ANSWER_MANY,
    ANSWER_WRITE_IF,
    ANSWER_INCREMENT,
    ANSWER_GET,
    ANSWER_CREATE,
    ANSWER_FACTS,
    ANSWER_SIMPLE,
    ANSWER_REGIONS
} answer_kind;

typedef struct memory_run memory_run;

typedef struct answer {
    answer_kind kind;
    void (*done)(void);
    void *user;
    bool failed;
    kw_error error;
    kw_outcome outcome;
    bool applied;
    kw_rows *rows;
    kw_table_facts *facts;
    kw_regions *regions;
    memory_run *run;
} answer;

typedef struct memory_door {
    kw_door base;
    memory_store *store;
    GPtrArray *answers;
    kw_task task;
    bool posted;
    void (*closed)(void *user);
    void *closed_user;
} memory_door;

struct memory_run {
    kw_run base;
    kw_run_spec spec; /* slices malloc'ed */
    kw_column *columns;
    kw_bytes at; /* where the next fetch begins (forward) or ends (reversed); malloc'ed */
    bool has_at;
    bool closed, on_way;
};

static kw_bytes
copy(kw_bytes bytes)
{
    return kw_bytes_of(g_memdup2(bytes.size ? bytes.data : (const uint8_t *)"", bytes.size + !bytes.size),
                       bytes.size);
}

static void
drop(kw_bytes bytes)
{
    g_free((void *)(uintptr_t)bytes.data);
}

static memory_store *
store_of(const kw_door *door)
{
    return ((const memory_door *)door)->store;
}

/* --- rows ------------------------------------------------------------------------------------------ */

static int
compare_place(const row *at, kw_bytes table_name, kw_bytes key)
{
    int order = kw_bytes_compare(at->table, table_name);
    return order ? order : kw_bytes_compare(at->key, key);
}

/* The first row at or behind the place. */
static guint
lower_bound(const memory_store *store, kw_bytes table_name, kw_bytes key)
{
    guint low = 0, high = store->rows->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (compare_place(store->rows->pdata[middle], table_name, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static row *
find_row(const memory_store *store, kw_bytes table_name, kw_bytes key)
{
    guint place = lower_bound(store, table_name, key);
    if (place == store->rows->len)
        return NULL;
    row *found = store->rows->pdata[place];
    return compare_place(found, table_name, key) == 0 ? found : NULL;
}

static row *
make_row(memory_store *store, kw_bytes table_name, kw_bytes key)
{
    row *found = find_row(store, table_name, key);
    if (found)
        return found;
    row *made = g_new0(row, 1);
    made->table = copy(table_name);
    made->key = copy(key);
    made->cells = g_array_new(FALSE, TRUE, sizeof(cell));
    g_ptr_array_insert(store->rows, (gint)lower_bound(store, table_name, key), made);
    return made;
}

static void
free_cell(const cell *old)
{
    drop(old->family);
    drop(old->qualifier);
    drop(old->value);
}

static void
free_row(gpointer data)
{
    row *old = data;
    for (guint i = 0; i < old->cells->len; i++)
        free_cell(&g_array_index(old->cells, cell, i));
    g_array_free(old->cells, TRUE);
    drop(old->table);
    drop(old->key);
    g_free(old);
}

static cell *
find_cell(const row *in, kw_bytes family, kw_bytes qualifier)
{
    for (guint i = 0; in && i < in->cells->len; i++) {
        cell *each = &g_array_index(in->cells, cell, i);
        if (kw_bytes_equal(each->family, family) && kw_bytes_equal(each->qualifier, qualifier))
            return each;
    }
    return NULL;
}

static void
set_cell(row *in, kw_bytes family, kw_bytes qualifier, kw_bytes value, int64_t timestamp)
{
    cell *there = find_cell(in, family, qualifier);
    if (there) {
        if (timestamp < there->timestamp)
            return;
        drop(there->value);
        there->value = copy(value);
        there->timestamp = timestamp;
        return;
    }
    cell made = {copy(family), copy(qualifier), copy(value), timestamp};
    guint place = 0;
    for (; place < in->cells->len; place++) {
        const cell *each = &g_array_index(in->cells, cell, place);
        int order = kw_bytes_compare(each->family, family);
        if (order > 0 || (order == 0 && kw_bytes_compare(each->qualifier, qualifier) > 0))
            break;
    }
    g_array_insert_val(in->cells, place, made);
}

static bool
wants_column(const kw_column *columns, size_t count, const cell *of)
{
    for (size_t i = 0; i < count; i++)
        if (kw_bytes_equal(columns[i].family, of->family) &&
            (columns[i].whole_family || kw_bytes_equal(columns[i].qualifier, of->qualifier)))
            return true;
    return count == 0;
}

static void
delete_cells(memory_store *store, const kw_write *write)
{
    row *in = find_row(store, write->table, write->row);
    for (guint i = in ? in->cells->len : 0; i-- > 0;) {
        cell *each = &g_array_index(in->cells, cell, i);
        if (!wants_column(write->columns, write->columns_count, each) || each->timestamp > write->timestamp)
            continue;
        free_cell(each);
        g_array_remove_index(in->cells, i);
    }
    if (in && in->cells->len == 0)
        g_ptr_array_remove(store->rows, in);
}

static void
apply(memory_store *store, const kw_write *write)
{
    if (write->kind == KW_WRITE_DELETE) {
        delete_cells(store, write);
        return;
    }
    row *in = make_row(store, write->table, write->row);
    int64_t stamp = write->timestamp == KW_TIMESTAMP_NONE ? kw_clock_wall_ms() : write->timestamp;
    for (size_t i = 0; i < write->cells_count; i++)
        set_cell(in, write->cells[i].family, write->cells[i].qualifier, write->cells[i].value, stamp);
}

/* The row's wanted cells into rows; false when none is left. */
static bool
read_row(const row *from, const kw_column *columns, size_t columns_count, kw_rows *into, kw_row *to)
{
    to->key = kw_arena_copy(into->arena, from->key);
    to->cells = KW_ARENA_ARRAY(into->arena, kw_cell, from->cells->len);
    into->bytes += from->key.size;
    for (guint i = 0; i < from->cells->len; i++) {
        const cell *each = &g_array_index(from->cells, cell, i);
        if (!wants_column(columns, columns_count, each))
            continue;
        to->cells[to->cells_count++] =
            (kw_cell){kw_arena_copy(into->arena, each->family), kw_arena_copy(into->arena, each->qualifier),
                      kw_arena_copy(into->arena, each->value), each->timestamp};
        into->bytes += each->qualifier.size + each->value.size;
    }
    return to->cells_count > 0;
}

/* --- answers --------------------------------------------------------------------------------------- */

static void
give(const answer *what)
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
free_run(memory_run *run)
{
    drop(run->spec.table);
    drop(run->spec.start);
    drop(run->spec.stop);
    drop(run->spec.filter);
    drop(run->at);
    for (size_t i = 0; i < run->spec.columns_count; i++) {
        drop(run->columns[i].family);
        drop(run->columns[i].qualifier);
    }
    g_free(run->columns);
    g_free(run);
}

static void
deliver(answer *what)
{
    memory_run *run = what->run;
    if (run)
        run->on_way = false;
    if (run && run->closed) {
        kw_rows_free(what->rows);
        free_run(run);
    } else {
        give(what);
    }
    g_free(what);
}

static void
deliver_some(kw_task *task)
{
    memory_door *door = (memory_door *)(void *)((char *)task - offsetof(memory_door, task));
    door->posted = false;
    bool held = door->store->control.never_answer && !door->closed;
    guint count = held ? 0 : door->answers->len;
    if (door->store->control.shuffle && count > 1)
        count = 1 + (guint)(kw_random_u64() % count);
    for (guint i = 0; i < count; i++) {
        guint place = door->store->control.shuffle ? (guint)(kw_random_u64() % door->answers->len) : 0;
        deliver(g_ptr_array_steal_index(door->answers, place));
    }
    if (door->answers->len && !held && !door->posted) {
        door->posted = true;
        kw_loop_post(door->base.loop, &door->task);
    }
    if (door->answers->len == 0 && door->closed) {
        void (*closed)(void *) = door->closed;
        void *user = door->closed_user;
        g_ptr_array_free(door->answers, TRUE);
        g_free(door);
        closed(user);
    }
}

/* Counts the operation; its answer is on its way. `failed` is set when it shall fail. */
static answer *
start(kw_door *base, answer_kind kind, void (*done)(void), void *user)
{
    memory_door *door = (memory_door *)base;
    kw_memory_control *control = &door->store->control;
    answer *made = g_new0(answer, 1);
    *made = (answer){.kind = kind, .done = done, .user = user};
    control->operations++;
    if (control->operations == control->fail_at) {
        made->failed = true;
        made->outcome = control->fail_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
        kw_error_set(&made->error, control->fail_code ? control->fail_code : KW_UNAVAILABLE,
                     "operation %lu was to fail", (unsigned long)control->operations);
        made->error.maybe_applied = control->fail_applied;
    }
    g_ptr_array_add(door->answers, made);
    control->most_in_flight = MAX(control->most_in_flight, door->answers->len);
    if (!door->posted) {
        door->posted = true;
        kw_loop_post(base->loop, &door->task);
    }
    return made;
}

static kw_bytes
keep(memory_store *store, kw_bytes bytes)
{
    kw_bytes made = copy(bytes);
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
                                           .durability = write->durability,
                                           .deadline = write->deadline};
}

/* --- the class ------------------------------------------------------------------------------------- */

static void
memory_write(kw_door *door, const kw_write *write, kw_write_done done, void *user)
{
    const answer *what = start(door, ANSWER_WRITE, (void (*)(void))done, user);
    remember(store_of(door), write);
    if (!what->failed || what->outcome == KW_OUTCOME_UNKNOWN)
        apply(store_of(door), write);
}

/* When it is to fail, every second write does, the first included. */
static void
memory_write_many(kw_door *door, const kw_write *const *writes, size_t count, kw_written *results,
                  void (*done)(void *), void *user)
{
    const answer *what = start(door, ANSWER_MANY, (void (*)(void))done, user);
    for (size_t i = 0; i < count; i++) {
        bool failed = what->failed && i % 2 == 0;
        remember(store_of(door), writes[i]);
        results[i] = (kw_written){.outcome = failed ? what->outcome : KW_OUTCOME_OK};
        if (failed)
            results[i].error = what->error;
        if (!failed || what->outcome == KW_OUTCOME_UNKNOWN)
            apply(store_of(door), writes[i]);
    }
}

static bool
check_meets(const kw_check *check, const cell *there)
{
    if (!check->has_value)
        return check->compare == KW_COMPARE_EQUAL ? !there : !!there;
    if (!there)
        return false;
    int order = kw_bytes_compare(there->value, check->value);
    switch (check->compare) {
    case KW_COMPARE_LESS:
        return order < 0;
    case KW_COMPARE_LESS_OR_EQUAL:
        return order <= 0;
    case KW_COMPARE_EQUAL:
        return order == 0;
    case KW_COMPARE_NOT_EQUAL:
        return order != 0;
    case KW_COMPARE_GREATER_OR_EQUAL:
        return order >= 0;
    case KW_COMPARE_GREATER:
        return order > 0;
    }
    g_assert_not_reached();
}

static void
memory_write_if(kw_door *door, const kw_write *write, const kw_check *check, kw_write_if_done done,
                void *user)
{
    memory_store *store = store_of(door);
    answer *what = start(door, ANSWER_WRITE_IF, (void (*)(void))done, user);
    remember(store, write);
    if (what->failed && what->outcome != KW_OUTCOME_UNKNOWN)
        return;
    what->applied = check_meets(
        check, find_cell(find_row(store, write->table, write->row), check->family, check->qualifier));
    if (what->applied)
        apply(store, write);
    what->applied &= !what->failed;
}

static void
memory_increment(kw_door *door, const kw_increment *increment, kw_increment_done done, void *user)
{
    memory_store *store = store_of(door);
    answer *what = start(door, ANSWER_INCREMENT, (void (*)(void))done, user);
    row *in = find_row(store, increment->table, increment->row);
    for (size_t i = 0; i < increment->columns_count && !what->failed; i++) {
        const cell *there = find_cell(in, increment->columns[i].family, increment->columns[i].qualifier);
        if (there && there->value.size != 8) {
            what->failed = true;
            what->outcome = KW_OUTCOME_FAILED;
            kw_error_set(&what->error, KW_INVALID, "the stored value is not 8 bytes");
        }
    }
    if (what->failed)
        return;
    in = make_row(store, increment->table, increment->row);
    for (size_t i = 0; i < increment->columns_count; i++) {
        const kw_column *column = &increment->columns[i];
        const cell *there = find_cell(in, column->family, column->qualifier);
        uint64_t sum = (there ? kw_be64_load(there->value.data) : 0) + (uint64_t)increment->amounts[i];
        uint8_t bytes[8];
        kw_be64_store(bytes, sum);
        set_cell(in, column->family, column->qualifier, kw_bytes_of(bytes, 8), kw_clock_wall_ms());
    }
    what->rows = kw_rows_new();
    what->rows->rows = KW_ARENA_ARRAY(what->rows->arena, kw_row, 1);
    what->rows->count = 1;
    read_row(in, increment->columns, increment->columns_count, what->rows, &what->rows->rows[0]);
}

static void
memory_get_many(kw_door *door, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    memory_store *store = store_of(door);
    answer *what = start(door, ANSWER_GET, (void (*)(void))done, user);
    store->control.rows_got += count;
    if (what->failed)
        return;
    kw_rows *rows = what->rows = kw_rows_new();
    rows->rows = KW_ARENA_ARRAY(rows->arena, kw_row, count);
    rows->count = count;
    for (size_t i = 0; i < count; i++) {
        const row *from = find_row(store, gets[i]->table, gets[i]->row);
        if (from)
            read_row(from, gets[i]->columns, gets[i]->columns_count, rows, &rows->rows[i]);
        else
            rows->rows[i].key = kw_arena_copy(rows->arena, gets[i]->row);
        rows->scanned += rows->rows[i].cells_count > 0;
    }
}

static void
memory_get(kw_door *door, const kw_get *get, kw_get_done done, void *user)
{
    memory_get_many(door, &get, 1, done, user);
}

static kw_run *
memory_open_run(kw_door *door, const kw_run_spec *spec)
{
    memory_run *run = g_new0(memory_run, 1);
    run->base.door = door;
    run->spec = *spec;
    run->spec.table = copy(spec->table);
    run->spec.start = copy(spec->start);
    run->spec.stop = copy(spec->stop);
    run->spec.filter = copy(spec->filter);
    run->columns = g_new0(kw_column, spec->columns_count);
    run->spec.columns = run->columns;
    for (size_t i = 0; i < spec->columns_count; i++) {
        run->columns[i] = spec->columns[i];
        run->columns[i].family = copy(spec->columns[i].family);
        run->columns[i].qualifier = copy(spec->columns[i].qualifier);
    }
    store_of(door)->control.runs_open++;
    return &run->base;
}

/* The next row of the run: its place, or -1 at the end. */
static gint64
next_place(const memory_store *store, const memory_run *run)
{
    const kw_run_spec *spec = &run->spec;
    gint64 place;
    if (!spec->reversed) {
        place = lower_bound(store, spec->table, run->has_at ? run->at : spec->start);
        if (run->has_at && place < store->rows->len &&
            compare_place(store->rows->pdata[place], spec->table, run->at) == 0)
            place++;
    } else {
        kw_bytes stop = run->has_at ? run->at : spec->stop;
        static const uint8_t beyond[2] = {0, 0};
        place = lower_bound(store, spec->table, stop);
        if (!run->has_at && stop.size == 0) {
            kw_buffer next = KW_BUFFER_EMPTY;
            kw_buffer_append(&next, spec->table);
            kw_buffer_append(&next, kw_bytes_of(beyond, 1));
            place = lower_bound(store, kw_buffer_bytes(&next), KW_BYTES_NONE);
            kw_buffer_clear(&next);
        }
        place--;
    }
    if (place < 0 || place >= store->rows->len)
        return -1;
    const row *found = store->rows->pdata[place];
    if (!kw_bytes_equal(found->table, spec->table) || kw_bytes_compare(found->key, spec->start) < 0)
        return -1;
    return spec->stop.size && kw_bytes_compare(found->key, spec->stop) >= 0 ? -1 : place;
}

static bool
passes(const memory_run *run, const row *found)
{
    if (run->spec.filter.size == 0)
        return true;
    g_assert(kw_bytes_equal(run->spec.filter, KW_BYTES_LITERAL("even")));
    return found->key.data[found->key.size - 1] % 2 == 0;
}

static kw_row *
more_rows(const kw_rows *rows, size_t *room)
{
    *room = *room ? 2 * *room : 8;
    kw_row *grown = KW_ARENA_ARRAY(rows->arena, kw_row, *room);
    if (rows->count)
        memcpy(grown, rows->rows, rows->count * sizeof(kw_row));
    return grown;
}

static void
memory_run_fetch(kw_run *base, uint32_t max_rows, size_t max_bytes, bool more_hint, kw_deadline deadline,
                 kw_get_done done, void *user)
{
    memory_run *run = (memory_run *)base;
    memory_store *store = store_of(base->door);
    (void)more_hint;
    answer *what = start(base->door, ANSWER_GET, (void (*)(void))done, user);
    what->run = run;
    run->on_way = true;
    store->control.fetches++;
    if (!what->failed && kw_deadline_passed(deadline)) {
        what->failed = true;
        kw_error_set(&what->error, KW_TIMEOUT, "the deadline passed");
    }
    if (what->failed)
        return;
    kw_rows *rows = what->rows = kw_rows_new();
    size_t room = 0;
    gint64 place = 0;
    while (rows->scanned < max_rows && rows->bytes < max_bytes && (place = next_place(store, run)) >= 0) {
        const row *found = store->rows->pdata[place];
        drop(run->at);
        run->at = copy(found->key);
        run->has_at = true;
        rows->scanned++;
        if (rows->count == room)
            rows->rows = more_rows(rows, &room);
        if (passes(run, found) &&
            read_row(found, run->spec.columns, run->spec.columns_count, rows, &rows->rows[rows->count]))
            rows->count++;
    }
    store->control.rows_read += rows->scanned;
    rows->end = store->control.late_end ? rows->scanned == 0 : next_place(store, run) < 0;
}

static void
memory_run_close(kw_run *base)
{
    memory_run *run = (memory_run *)base;
    store_of(base->door)->control.runs_open--;
    run->closed = true;
    if (!run->on_way)
        free_run(run);
}

static table *
find_table(const memory_store *store, kw_bytes name)
{
    for (guint i = 0; i < store->tables->len; i++) {
        table *each = store->tables->pdata[i];
        if (kw_bytes_equal(each->name, name))
            return each;
    }
    return NULL;
}

static void
memory_create_table(kw_door *door, const kw_table_spec *spec, kw_create_done done, void *user)
{
    memory_store *store = store_of(door);
    answer *what = start(door, ANSWER_CREATE, (void (*)(void))done, user);
    if (what->failed || find_table(store, spec->name))
        return;
    table *made = g_new0(table, 1);
    made->name = copy(spec->name);
    made->families = g_ptr_array_new_with_free_func(g_free);
    made->splits = g_array_new(FALSE, TRUE, sizeof(kw_bytes));
    for (size_t i = 0; i < spec->families_count; i++)
        g_ptr_array_add(made->families, g_strdup(spec->families[i].name));
    for (size_t i = 0; i < spec->split_keys_count; i++) {
        kw_bytes key = copy(spec->split_keys[i]);
        g_array_append_val(made->splits, key);
    }
    g_ptr_array_add(store->tables, made);
    store->control.tables_made++;
    store->control.last_split_keys = (int64_t)spec->split_keys_count;
    what->applied = true;
}

static void
memory_describe_table(kw_door *door, kw_bytes name, kw_deadline deadline, kw_table_facts_done done,
                      void *user)
{
    (void)deadline;
    answer *what = start(door, ANSWER_FACTS, (void (*)(void))done, user);
    if (what->failed)
        return;
    const table *found = find_table(store_of(door), name);
    kw_arena *arena = kw_arena_new();
    kw_table_facts *facts = KW_ARENA_NEW(arena, kw_table_facts);
    facts->arena = arena;
    facts->exists = !!found;
    facts->families_count = found ? found->families->len : 0;
    kw_family_spec *families = KW_ARENA_ARRAY(arena, kw_family_spec, facts->families_count);
    for (size_t i = 0; i < facts->families_count; i++)
        families[i].name = kw_arena_text(arena, kw_bytes_of_text(found->families->pdata[i]));
    facts->families = families;
    what->facts = facts;
}

static void
free_table(gpointer data)
{
    table *old = data;
    drop(old->name);
    g_ptr_array_free(old->families, TRUE);
    for (guint i = 0; i < old->splits->len; i++)
        drop(g_array_index(old->splits, kw_bytes, i));
    g_array_free(old->splits, TRUE);
    g_free(old);
}

static void
memory_drop_table(kw_door *door, kw_bytes name, kw_deadline deadline, kw_simple_done done, void *user)
{
    (void)deadline;
    memory_store *store = store_of(door);
    const answer *what = start(door, ANSWER_SIMPLE, (void (*)(void))done, user);
    table *found = find_table(store, name);
    if (!what->failed && found)
        g_ptr_array_remove(store->tables, found);
}

static void
memory_regions(kw_door *door, kw_bytes name, kw_deadline deadline, kw_regions_done done, void *user)
{
    (void)deadline;
    answer *what = start(door, ANSWER_REGIONS, (void (*)(void))done, user);
    if (what->failed)
        return;
    const table *found = find_table(store_of(door), name);
    kw_arena *arena = kw_arena_new();
    kw_regions *regions = KW_ARENA_NEW(arena, kw_regions);
    regions->arena = arena;
    size_t cuts = found ? found->splits->len : 0;
    regions->count = found ? cuts + 1 : 0;
    kw_region *list = KW_ARENA_ARRAY(arena, kw_region, cuts + 1);
    for (size_t i = 0; i < regions->count; i++) {
        list[i].server = KW_BYTES_LITERAL("memory:1");
        if (i > 0)
            list[i].start = kw_arena_copy(arena, g_array_index(found->splits, kw_bytes, i - 1));
        if (i < cuts)
            list[i].stop = kw_arena_copy(arena, g_array_index(found->splits, kw_bytes, i));
    }
    regions->regions = list;
    what->regions = regions;
}

static void
memory_close(kw_door *base, void (*closed)(void *user), void *user)
{
    memory_door *door = (memory_door *)base;
    door->closed = closed;
    door->closed_user = user;
    if (!door->posted) {
        door->posted = true;
        kw_loop_post(base->loop, &door->task);
    }
}

static const kw_door_class door_class = {.write = memory_write,
                                         .write_many = memory_write_many,
                                         .write_if = memory_write_if,
                                         .increment = memory_increment,
                                         .get = memory_get,
                                         .get_many = memory_get_many,
                                         .open_run = memory_open_run,
                                         .run_fetch = memory_run_fetch,
                                         .run_close = memory_run_close,
                                         .create_table = memory_create_table,
                                         .describe_table = memory_describe_table,
                                         .drop_table = memory_drop_table,
                                         .regions = memory_regions,
                                         .close = memory_close};

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

static kw_door *
memory_open_door(kw_store *base, kw_loop *loop)
{
    memory_door *door = g_new0(memory_door, 1);
    door->base = (kw_door){.class = &door_class, .store = base, .loop = loop};
    door->store = (memory_store *)base;
    door->answers = g_ptr_array_new();
    door->task.run = deliver_some;
    return &door->base;
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

static const kw_store_class store_class = {.name = "memory",
                                           .about = memory_about,
                                           .ready = memory_ready,
                                           .clock_offset_ms = memory_offset,
                                           .open_door = memory_open_door,
                                           .reload = memory_reload,
                                           .free = memory_free};

kw_store *
kw_memory_store_open(void)
{
    memory_store *store = g_new0(memory_store, 1);
    store->base.class = &store_class;
    store->rows = g_ptr_array_new_with_free_func(free_row);
    store->tables = g_ptr_array_new_with_free_func(free_table);
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
    row *in = make_row((memory_store *)store, kw_bytes_of_text(table_name), key);
    set_cell(in, kw_bytes_of_text(family), kw_bytes_of_text(qualifier), value, timestamp);
}

kw_bytes
kw_memory_store_cell(kw_store *store, const char *table_name, kw_bytes key, const char *family,
                     const char *qualifier)
{
    const row *in = find_row((memory_store *)store, kw_bytes_of_text(table_name), key);
    const cell *there = find_cell(in, kw_bytes_of_text(family), kw_bytes_of_text(qualifier));
    return there ? there->value : KW_BYTES_NONE;
}

size_t
kw_memory_store_rows(kw_store *base, const char *table_name)
{
    const memory_store *store = (const memory_store *)base;
    size_t count = 0;
    for (guint i = 0; i < store->rows->len; i++) {
        const row *each = store->rows->pdata[i];
        count += kw_bytes_equal(each->table, kw_bytes_of_text(table_name));
    }
    return count;
}

kw_bytes
kw_memory_store_key(kw_store *base, const char *table_name, size_t index)
{
    const memory_store *store = (const memory_store *)base;
    guint first = lower_bound(store, kw_bytes_of_text(table_name), KW_BYTES_NONE);
    g_assert(first + index < store->rows->len);
    return ((const row *)store->rows->pdata[first + index])->key;
}
