#include "support/stepped_store.h"

#include "store/class.h"
#include "store/refuse.h"

#include <glib.h>

typedef enum step_kind {
    STEP_WRITE,
    STEP_WRITE_IF,
    STEP_GET,
    STEP_FETCH,
    STEP_CREATE,
    STEP_DESCRIBE,
    STEP_DROP,
    STEP_REGIONS
} step_kind;

static const char *const names[] = {"write",  "write_if", "get",  "fetch",
                                    "create", "describe", "drop", "regions"};

typedef struct stepped_store {
    kw_store base;
    kw_store *inner;
    GPtrArray *waiting; /* step */
    GPtrArray *late;    /* step */
} stepped_store;

typedef struct stepped_handle {
    kw_store_handle base;
    kw_store_handle *inner;
    void (*closed)(void *user);
    void *closed_user;
} stepped_handle;

typedef struct stepped_range_scan {
    kw_range_scan base;
    kw_range_scan *inner;
    kw_get_done done;
    void *user;
} stepped_range_scan;

/* One operation with copies of its arguments: a late operation outlives its caller. */
typedef struct step {
    step_kind kind;
    stepped_handle *handle;
    kw_arena *arena;
    kw_write write;
    kw_check check;
    const kw_get *get;
    stepped_range_scan *run;
    uint32_t max_rows;
    size_t max_bytes;
    kw_table_spec spec;
    kw_bytes table;
    kw_deadline deadline;
    void (*done)(void);
    void *user;
} step;

static stepped_store *
store_of(const stepped_handle *handle)
{
    return (stepped_store *)handle->base.store;
}

static step *
add(kw_store_handle *base, step_kind kind, void (*done)(void), void *user)
{
    kw_arena *arena = kw_arena_new();
    step *made = KW_ARENA_NEW(arena, step);
    *made =
        (step){.kind = kind, .handle = (stepped_handle *)base, .arena = arena, .done = done, .user = user};
    g_ptr_array_add(store_of(made->handle)->waiting, made);
    return made;
}

static void
step_free(step *old)
{
    kw_arena_free(old->arena);
}

static void
copy_write(step *to, const kw_write *write)
{
    kw_arena *arena = to->arena;
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, write->cells_count);
    g_assert(write->columns_count == 0);
    to->write = *write;
    to->write.table = kw_arena_copy(arena, write->table);
    to->write.row = kw_arena_copy(arena, write->row);
    to->write.cells = cells;
    for (size_t i = 0; i < write->cells_count; i++)
        cells[i] = (kw_cell){kw_arena_copy(arena, write->cells[i].family),
                             kw_arena_copy(arena, write->cells[i].qualifier),
                             kw_arena_copy(arena, write->cells[i].value), write->cells[i].timestamp};
}

/* --- operations that callers start ----------------------------------------------------------------- */

static void
stepped_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    copy_write(add(handle, STEP_WRITE, (void (*)(void))done, user), write);
}

static void
stepped_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
                 void *user)
{
    step *made = add(handle, STEP_WRITE_IF, (void (*)(void))done, user);
    copy_write(made, write);
    made->check = *check;
    made->check.family = kw_arena_copy(made->arena, check->family);
    made->check.qualifier = kw_arena_copy(made->arena, check->qualifier);
    made->check.value = kw_arena_copy(made->arena, check->value);
}

static void
stepped_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    add(handle, STEP_GET, (void (*)(void))done, user)->get = get;
}

static kw_range_scan *
stepped_open_range_scan(kw_store_handle *base, const kw_range_scan_spec *spec)
{
    stepped_range_scan *run = g_new0(stepped_range_scan, 1);
    run->base.handle = base;
    run->inner = kw_store_handle_open_range_scan(((stepped_handle *)base)->inner, spec);
    return &run->base;
}

static void
stepped_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                         kw_deadline deadline, kw_get_done done, void *user)
{
    (void)more_hint;
    step *made = add(base->handle, STEP_FETCH, (void (*)(void))done, user);
    made->run = (stepped_range_scan *)base;
    made->max_rows = max_rows;
    made->max_bytes = max_bytes;
    made->deadline = deadline;
}

static void
stepped_range_scan_close(kw_range_scan *base)
{
    stepped_range_scan *run = (stepped_range_scan *)base;
    GPtrArray *waiting = store_of((stepped_handle *)base->handle)->waiting;
    for (guint i = waiting->len; i-- > 0;) {
        step *each = waiting->pdata[i];
        if (each->run == run)
            step_free(g_ptr_array_steal_index(waiting, i));
    }
    kw_range_scan_close(run->inner);
    g_free(run);
}

static void
stepped_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user)
{
    step *made = add(handle, STEP_CREATE, (void (*)(void))done, user);
    made->spec = *spec; /* never late, so the caller's strings are still valid */
    made->table = kw_arena_copy(made->arena, spec->name);
}

static void
stepped_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                       kw_table_facts_done done, void *user)
{
    step *made = add(handle, STEP_DESCRIBE, (void (*)(void))done, user);
    made->table = kw_arena_copy(made->arena, table);
    made->deadline = deadline;
}

static void
stepped_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                   void *user)
{
    step *made = add(handle, STEP_DROP, (void (*)(void))done, user);
    made->table = kw_arena_copy(made->arena, table);
    made->deadline = deadline;
}

static void
stepped_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                void *user)
{
    step *made = add(handle, STEP_REGIONS, (void (*)(void))done, user);
    made->table = kw_arena_copy(made->arena, table);
    made->deadline = deadline;
}

/* --- functions for the test ------------------------------------------------------------------------ */

size_t
kw_stepped_count(const kw_store *store)
{
    return ((const stepped_store *)store)->waiting->len;
}

static bool
changes(const step *one)
{
    return one->kind == STEP_WRITE || one->kind == STEP_WRITE_IF || one->kind == STEP_DROP;
}

kw_stepped_info
kw_stepped_at(const kw_store *store, size_t index)
{
    const step *one = ((const stepped_store *)store)->waiting->pdata[index];
    return (kw_stepped_info){.handle = &one->handle->base,
                             .what = names[one->kind],
                             .changes = changes(one),
                             .table = one->table,
                             .row = one->write.row};
}

static void
on_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    stepped_range_scan *run = user;
    run->done(run->user, rows, error);
}

static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    step *one = user;
    kw_write_done done = (kw_write_done)one->done;
    void *done_user = one->user;
    step_free(one);
    if (done)
        done(done_user, outcome, error);
}

static void
written_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    step *one = user;
    kw_write_if_done done = (kw_write_if_done)one->done;
    void *done_user = one->user;
    step_free(one);
    if (done)
        done(done_user, outcome, applied, error);
}

static void
dropped(void *user, const kw_error *error)
{
    step *one = user;
    kw_simple_done done = (kw_simple_done)one->done;
    void *done_user = one->user;
    step_free(one);
    if (done)
        done(done_user, error);
}

static void
execute(step *one, kw_store_handle *by)
{
    switch (one->kind) {
    case STEP_WRITE:
        kw_store_handle_write(by, &one->write, written, one);
        return;
    case STEP_WRITE_IF:
        kw_store_handle_write_if(by, &one->write, &one->check, written_if, one);
        return;
    case STEP_DROP:
        kw_store_handle_drop_table(by, one->table, one->deadline, dropped, one);
        return;
    case STEP_GET:
        kw_store_handle_get(by, one->get, (kw_get_done)one->done, one->user);
        break;
    case STEP_FETCH:
        one->run->done = (kw_get_done)one->done;
        one->run->user = one->user;
        kw_range_scan_fetch(one->run->inner, one->max_rows, one->max_bytes, false, one->deadline, on_fetched,
                            one->run);
        break;
    case STEP_CREATE:
        kw_store_handle_create_table(by, &one->spec, (kw_create_done)one->done, one->user);
        break;
    case STEP_DESCRIBE:
        kw_store_handle_describe_table(by, one->table, one->deadline, (kw_table_facts_done)one->done,
                                       one->user);
        break;
    case STEP_REGIONS:
        kw_store_handle_regions(by, one->table, one->deadline, (kw_regions_done)one->done, one->user);
        break;
    }
    step_free(one);
}

void
kw_stepped_go(kw_store *store, size_t index)
{
    step *one = g_ptr_array_steal_index(((stepped_store *)store)->waiting, (guint)index);
    execute(one, one->handle->inner);
}

/* The reply to a write of unknown outcome. */
typedef struct doubt {
    kw_error error;
    void (*done)(void);
    void *user;
} doubt;

static doubt *
doubt_new(const step *one, const kw_error *error)
{
    doubt *made = g_new0(doubt, 1);
    *made = (doubt){.error = *error, .done = one->done, .user = one->user};
    made->error.maybe_applied = true;
    return made;
}

static void
answer_write(void *user)
{
    doubt *self = user;
    ((kw_write_done)self->done)(self->user, KW_OUTCOME_UNKNOWN, &self->error);
    g_free(self);
}

static void
answer_write_if(void *user)
{
    doubt *self = user;
    ((kw_write_if_done)self->done)(self->user, KW_OUTCOME_UNKNOWN, false, &self->error);
    g_free(self);
}

static void
answer_failed(const step *one, kw_code code)
{
    kw_store_handle *handle = &one->handle->base;
    kw_error error;
    kw_error_set(&error, code, "no reply arrived");
    switch (one->kind) {
    case STEP_WRITE:
        kw_complete_later(handle, answer_write, doubt_new(one, &error));
        return;
    case STEP_WRITE_IF:
        kw_complete_later(handle, answer_write_if, doubt_new(one, &error));
        return;
    case STEP_GET:
    case STEP_FETCH:
        kw_complete_get_later(handle, NULL, &error, (kw_get_done)one->done, one->user);
        return;
    case STEP_CREATE:
        kw_refuse_create(handle, &error, (kw_create_done)one->done, one->user);
        return;
    case STEP_DESCRIBE:
        kw_refuse_facts(handle, &error, (kw_table_facts_done)one->done, one->user);
        return;
    case STEP_DROP:
        kw_refuse_simple(handle, &error, (kw_simple_done)one->done, one->user);
        return;
    case STEP_REGIONS:
        kw_refuse_regions(handle, &error, (kw_regions_done)one->done, one->user);
        return;
    }
}

static void
fail(stepped_store *self, guint index, bool late, kw_code code)
{
    step *one = g_ptr_array_steal_index(self->waiting, index);
    answer_failed(one, code);
    if (changes(one))
        kw_store_note_doubt(&self->base);
    if (late && changes(one)) {
        one->done = NULL;
        g_ptr_array_add(self->late, one);
    } else {
        step_free(one);
    }
}

void
kw_stepped_fail(kw_store *store, size_t index, bool late)
{
    fail((stepped_store *)store, (guint)index, late, KW_TIMEOUT);
}

void
kw_stepped_cut(kw_store *store, const kw_store_handle *handle, bool late)
{
    stepped_store *self = (stepped_store *)store;
    for (guint i = self->waiting->len; i-- > 0;)
        if (&((step *)self->waiting->pdata[i])->handle->base == handle)
            fail(self, i, late, KW_UNAVAILABLE);
}

size_t
kw_stepped_late_count(const kw_store *store)
{
    return ((const stepped_store *)store)->late->len;
}

void
kw_stepped_apply_late(kw_store *store, size_t index, kw_store_handle *by)
{
    execute(g_ptr_array_steal_index(((stepped_store *)store)->late, (guint)index), by);
}

/* --- store handle and store ------------------------------------------------------------------------ */

static void
inner_closed(void *user)
{
    stepped_handle *handle = user;
    handle->closed(handle->closed_user);
}

static void
close_inner(void *user)
{
    kw_store_handle_close(((stepped_handle *)user)->inner, inner_closed, user);
}

static void
stepped_close(kw_store_handle *base, void (*closed)(void *), void *user)
{
    stepped_handle *handle = (stepped_handle *)base;
    handle->closed = closed;
    handle->closed_user = user;
    kw_stepped_cut(base->store, base, false);
    kw_complete_later(base, close_inner, handle);
}

static kw_store_handle *
stepped_open_handle(kw_store *base, kw_loop *loop)
{
    static const kw_store_handle_class handle_class = {.write = stepped_write,
                                                       .write_if = stepped_write_if,
                                                       .get = stepped_get,
                                                       .open_range_scan = stepped_open_range_scan,
                                                       .range_scan_fetch = stepped_range_scan_fetch,
                                                       .range_scan_close = stepped_range_scan_close,
                                                       .create_table = stepped_create_table,
                                                       .describe_table = stepped_describe_table,
                                                       .drop_table = stepped_drop_table,
                                                       .regions = stepped_regions,
                                                       .close = stepped_close};
    stepped_handle *handle = g_new0(stepped_handle, 1);
    handle->base = (kw_store_handle){.class = &handle_class, .store = base, .loop = loop};
    handle->inner = kw_store_open_handle(((stepped_store *)base)->inner, loop);
    return &handle->base;
}

static void
stepped_free(kw_store *base)
{
    stepped_store *self = (stepped_store *)base;
    g_assert(self->waiting->len == 0);
    for (guint i = 0; i < self->late->len; i++)
        step_free(self->late->pdata[i]);
    g_ptr_array_free(self->waiting, TRUE);
    g_ptr_array_free(self->late, TRUE);
    g_free(self);
}

kw_store *
kw_stepped_store_open(kw_store *inner)
{
    static const kw_store_class store_class = {
        .name = "stepped", .open_handle = stepped_open_handle, .free = stepped_free};
    stepped_store *self = g_new0(stepped_store, 1);
    self->base.class = &store_class;
    self->inner = inner;
    self->waiting = g_ptr_array_new();
    self->late = g_ptr_array_new();
    return &self->base;
}
