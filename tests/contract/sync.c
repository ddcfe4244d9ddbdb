#include "contract/sync.h"

/* One reply of any kind. `inside` proves that no completion is called from inside the starting call; `done`
 * detects a second completion. */
typedef struct answer {
    bool inside;
    bool done;
    kw_outcome outcome;
    bool flag;
    void *given;
    kw_error error;
} answer;

static answer
answer_expected(void)
{
    return (answer){.inside = true};
}

static void
take_answer(answer *to, void *given, const kw_error *error)
{
    g_assert_false(to->inside);
    g_assert_false(to->done);
    to->done = true;
    to->given = given;
    if (error) {
        g_assert_cmpint(error->code, !=, KW_OK);
        g_assert_cmpint(error->text[0], !=, '\0');
        to->error = *error;
    }
}

static void
wait_answer(kw_sync *sync, answer *to)
{
    to->inside = false;
    kw_sync_wait(sync, &to->done);
}

void
kw_sync_wait(kw_sync *sync, const bool *flag)
{
    while (!*flag)
        uv_run(kw_loop_uv(sync->loop), UV_RUN_ONCE);
}

void
kw_sync_open(kw_sync *sync, kw_store *store)
{
    sync->store = store;
    sync->loop = kw_loop_new();
    sync->handle = kw_store_open_handle(store, sync->loop);
}

static void
set_flag(void *flag)
{
    *(bool *)flag = true;
}

void
kw_sync_close(kw_sync *sync)
{
    bool closed = false;
    kw_store_handle_close(sync->handle, set_flag, &closed);
    g_assert_false(closed);
    kw_sync_wait(sync, &closed);
    kw_loop_free(sync->loop);
    *sync = (kw_sync){0};
}

/* --- writes --------------------------------------------------------------------------------------- */

static void
write_done(void *user, kw_outcome outcome, const kw_error *error)
{
    answer *to = user;
    g_assert_true((outcome == KW_OUTCOME_OK) == !error);
    to->outcome = outcome;
    take_answer(to, NULL, error);
}

static void
write_if_done(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    ((answer *)user)->flag = applied;
    write_done(user, outcome, error);
}

static void
increment_done(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    g_assert_true((outcome == KW_OUTCOME_OK) == !!rows);
    write_done(user, outcome, error);
    ((answer *)user)->given = rows;
}

static kw_sync_written
written(kw_sync *sync, answer *to)
{
    wait_answer(sync, to);
    return (kw_sync_written){to->outcome, to->flag, to->given, to->error};
}

kw_sync_written
kw_sync_write(kw_sync *sync, const kw_write *write)
{
    answer to = answer_expected();
    kw_store_handle_write(sync->handle, write, write_done, &to);
    return written(sync, &to);
}

kw_sync_written
kw_sync_write_if(kw_sync *sync, const kw_write *write, const kw_check *check)
{
    answer to = answer_expected();
    kw_store_handle_write_if(sync->handle, write, check, write_if_done, &to);
    return written(sync, &to);
}

kw_sync_written
kw_sync_write_derived(kw_sync *sync, const kw_write *write, const kw_derivation *derivation)
{
    answer to = answer_expected();
    kw_store_handle_write_derived(sync->handle, write, derivation, write_if_done, &to);
    return written(sync, &to);
}

kw_sync_written
kw_sync_increment(kw_sync *sync, const kw_increment *increment)
{
    answer to = answer_expected();
    kw_store_handle_increment(sync->handle, increment, increment_done, &to);
    return written(sync, &to);
}

static void
many_done(void *user)
{
    take_answer(user, NULL, NULL);
}

void
kw_sync_write_many(kw_sync *sync, const kw_write *const *writes, size_t count, kw_written *results)
{
    answer to = answer_expected();
    kw_store_handle_write_many(sync->handle, writes, count, results, many_done, &to);
    wait_answer(sync, &to);
}

void
kw_sync_copy(kw_sync *sync, const kw_row_copy *copies, size_t count, kw_written *results)
{
    answer to = answer_expected();
    kw_store_handle_copy_rows(sync->handle, copies, count, kw_deadline_in_ms(60000), results, many_done, &to);
    wait_answer(sync, &to);
}

/* --- reads ---------------------------------------------------------------------------------------- */

static void
get_done(void *user, kw_rows *rows, const kw_error *error)
{
    g_assert_true(!rows == !!error);
    take_answer(user, rows, error);
}

static void *
given(kw_sync *sync, answer *to, kw_error *ret_error)
{
    wait_answer(sync, to);
    if (!to->given && ret_error)
        *ret_error = to->error;
    return to->given;
}

kw_rows *
kw_sync_get(kw_sync *sync, const kw_get *get, kw_error *ret_error)
{
    answer to = answer_expected();
    kw_store_handle_get(sync->handle, get, get_done, &to);
    return given(sync, &to, ret_error);
}

kw_rows *
kw_sync_get_many(kw_sync *sync, const kw_get *const *gets, size_t count, kw_error *ret_error)
{
    answer to = answer_expected();
    kw_store_handle_get_many(sync->handle, gets, count, get_done, &to);
    return given(sync, &to, ret_error);
}

kw_rows *
kw_sync_fetch(kw_sync *sync, kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
              kw_error *ret_error)
{
    answer to = answer_expected();
    kw_range_scan_fetch(run, max_rows, max_bytes, more_hint, kw_deadline_in_ms(60000), get_done, &to);
    return given(sync, &to, ret_error);
}

/* --- tables --------------------------------------------------------------------------------------- */

static void
create_done(void *user, bool created, const kw_error *error)
{
    ((answer *)user)->flag = created;
    take_answer(user, NULL, error);
}

static void
simple_done(void *user, const kw_error *error)
{
    take_answer(user, NULL, error);
}

static void
facts_done(void *user, kw_table_facts *facts, const kw_error *error)
{
    g_assert_true(!facts == !!error);
    take_answer(user, facts, error);
}

static void
regions_done(void *user, kw_regions *regions, const kw_error *error)
{
    g_assert_true(!regions == !!error);
    take_answer(user, regions, error);
}

static bool
succeeded(kw_sync *sync, answer *to, kw_error *ret_error)
{
    wait_answer(sync, to);
    if (to->error.code != KW_OK && ret_error)
        *ret_error = to->error;
    return to->error.code == KW_OK;
}

bool
kw_sync_create(kw_sync *sync, const kw_table_spec *spec, bool *ret_created, kw_error *ret_error)
{
    answer to = answer_expected();
    kw_store_handle_create_table(sync->handle, spec, create_done, &to);
    bool good = succeeded(sync, &to, ret_error);
    if (ret_created)
        *ret_created = to.flag;
    return good;
}

bool
kw_sync_drop(kw_sync *sync, kw_bytes table, kw_error *ret_error)
{
    answer to = answer_expected();
    kw_store_handle_drop_table(sync->handle, table, KW_DEADLINE_NONE, simple_done, &to);
    return succeeded(sync, &to, ret_error);
}

kw_table_facts *
kw_sync_describe(kw_sync *sync, kw_bytes table, kw_error *ret_error)
{
    answer to = answer_expected();
    kw_store_handle_describe_table(sync->handle, table, KW_DEADLINE_NONE, facts_done, &to);
    return given(sync, &to, ret_error);
}

kw_regions *
kw_sync_regions(kw_sync *sync, kw_bytes table, kw_error *ret_error)
{
    answer to = answer_expected();
    kw_store_handle_regions(sync->handle, table, KW_DEADLINE_NONE, regions_done, &to);
    return given(sync, &to, ret_error);
}
