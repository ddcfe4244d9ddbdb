/* The asserting wrappers: programming mistakes end the process here, bad input is refused here, later
 * and on the loop; a store sees only what is allowed. Tables and the store itself are in table.c. */
#include "store/store.h"

#include "base/counters.h"
#include "store/check.h"
#include "store/class.h"
#include "store/refuse.h"

static void
count_operations(const kw_door *door, kw_figure figure, size_t count)
{
    if (!door->linked)
        kw_counters_add(figure, (int64_t)count);
}

static void
assert_whole(const kw_door *door, bool has_completion)
{
    g_assert(door && has_completion);
}

void
kw_door_write(kw_door *door, const kw_write *write, kw_write_done done, void *user)
{
    assert_whole(door, done);
    kw_error error;
    if (kw_door_is_shut(door, &error) || !kw_check_write(write, &error)) {
        kw_refuse_write(door, &error, done, user);
        return;
    }
    count_operations(door, KW_FIGURE_store_writes, 1);
    door->class->write(door, write, done, user);
}

/* --- many writes: the allowed ones go on, the others are answered here -------------------------- */

typedef struct sifted {
    void (*done)(void *user);
    void *user;
    kw_written *results; /* the caller's */
    size_t count;        /* of the allowed ones */
    const kw_write **writes;
    kw_written *allowed_results;
    size_t *places;
} sifted;

static void
sifted_done(void *user)
{
    sifted *sift = user;
    for (size_t i = 0; i < sift->count; i++)
        sift->results[sift->places[i]] = sift->allowed_results[i];
    void (*done)(void *) = sift->done;
    void *done_user = sift->user;
    g_free(sift->writes);
    g_free(sift->allowed_results);
    g_free(sift->places);
    g_free(sift);
    done(done_user);
}

static sifted *
sift_writes(kw_door *door, const kw_write *const *writes, size_t count, kw_written *results)
{
    sifted *sift = g_new0(sifted, 1);
    sift->results = results;
    sift->writes = g_new(const kw_write *, count);
    sift->allowed_results = g_new0(kw_written, count);
    sift->places = g_new(size_t, count);
    for (size_t i = 0; i < count; i++) {
        if (!kw_door_is_shut(door, &results[i].error) && kw_check_write(writes[i], &results[i].error)) {
            sift->places[sift->count] = i;
            sift->writes[sift->count++] = writes[i];
        } else {
            results[i].outcome = KW_OUTCOME_FAILED;
            kw_counters_add(KW_FIGURE_store_errors, 1);
        }
    }
    return sift;
}

static bool
all_allowed(const kw_write *const *writes, size_t count)
{
    kw_error ignored;
    for (size_t i = 0; i < count; i++)
        if (!kw_check_write(writes[i], &ignored))
            return false;
    return true;
}

void
kw_door_write_many(kw_door *door, const kw_write *const *writes, size_t count, kw_written *results,
                   void (*done)(void *user), void *user)
{
    assert_whole(door, done);
    g_assert(count == 0 || (writes && results));
    if (count == 0) {
        kw_refuse_later(door, done, user);
        return;
    }
    if (!door->closing && all_allowed(writes, count)) {
        count_operations(door, KW_FIGURE_store_writes, count);
        door->class->write_many(door, writes, count, results, done, user);
        return;
    }
    sifted *sift = sift_writes(door, writes, count, results);
    sift->done = done;
    sift->user = user;
    count_operations(door, KW_FIGURE_store_writes, sift->count);
    if (sift->count == 0)
        kw_refuse_later(door, sifted_done, sift);
    else
        door->class->write_many(door, sift->writes, sift->count, sift->allowed_results, sifted_done, sift);
}

/* --- conditional writes ------------------------------------------------------------------------- */

void
kw_door_write_if(kw_door *door, const kw_write *write, const kw_check *check, kw_write_if_done done,
                 void *user)
{
    assert_whole(door, done);
    kw_error error;
    if (kw_door_is_shut(door, &error) || !kw_check_condition(write, check, &error)) {
        kw_refuse_write_if(door, &error, done, user);
        return;
    }
    count_operations(door, KW_FIGURE_store_writes, 1);
    door->class->write_if(door, write, check, done, user);
}

void
kw_door_increment(kw_door *door, const kw_increment *increment, kw_increment_done done, void *user)
{
    assert_whole(door, done);
    kw_error error;
    if (kw_door_is_shut(door, &error) || !kw_check_increment(increment, &error)) {
        kw_refuse_increment(door, &error, done, user);
        return;
    }
    count_operations(door, KW_FIGURE_store_writes, 1);
    door->class->increment(door, increment, done, user);
}

/* --- reads -------------------------------------------------------------------------------------- */

void
kw_door_get(kw_door *door, const kw_get *get, kw_get_done done, void *user)
{
    assert_whole(door, done);
    kw_error error;
    if (kw_door_is_shut(door, &error) || !kw_check_get(get, &error)) {
        kw_refuse_get(door, NULL, &error, done, user);
        return;
    }
    count_operations(door, KW_FIGURE_store_reads, 1);
    door->class->get(door, get, done, user);
}

static bool
check_gets(const kw_get *const *gets, size_t count, kw_error *ret_error)
{
    for (size_t i = 0; i < count; i++) {
        g_assert(kw_bytes_equal(gets[i]->table, gets[0]->table));
        if (!kw_check_get(gets[i], ret_error))
            return kw_error_prefix(ret_error, "get %zu of %zu", i + 1, count);
    }
    return true;
}

void
kw_door_get_many(kw_door *door, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    assert_whole(door, done);
    g_assert(count == 0 || gets);
    kw_error error;
    if (count == 0) {
        kw_refuse_get(door, kw_rows_new(), NULL, done, user);
    } else if (kw_door_is_shut(door, &error) || !check_gets(gets, count, &error)) {
        kw_refuse_get(door, NULL, &error, done, user);
    } else {
        count_operations(door, KW_FIGURE_store_reads, count);
        door->class->get_many(door, gets, count, done, user);
    }
}

/* --- runs --------------------------------------------------------------------------------------- */

static kw_run *
refused_run(kw_door *door, const kw_error *error)
{
    kw_run *run = g_new0(kw_run, 1);
    run->door = door;
    run->refusal = g_memdup2(error, sizeof *error);
    return run;
}

kw_run *
kw_door_open_run(kw_door *door, const kw_run_spec *spec)
{
    assert_whole(door, spec);
    kw_error error;
    if (kw_door_is_shut(door, &error) || !kw_check_run_spec(spec, &error))
        return refused_run(door, &error);
    kw_run *run = door->class->open_run(door, spec);
    g_assert(run && run->door == door && !run->fetching && !run->refusal);
    count_operations(door, KW_FIGURE_runs_opened, 1);
    return run;
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    kw_run *run = user;
    g_assert(run->fetching && !rows == !!error);
    run->fetching = false;
    if (rows)
        count_operations(run->door, KW_FIGURE_rows_scanned, rows->scanned);
    run->done(run->user, rows, error);
}

/* A refused run that was closed with its answer on the way has no completion any more. */
static void
refused_fetch_done(void *user)
{
    kw_run *run = user;
    run->fetching = false;
    if (run->done)
        run->done(run->user, NULL, run->refusal);
    else
        kw_run_close(run);
}

/* The same for a run of a door that was closed since; the run itself is still there. */
static void
shut_fetch_done(void *user)
{
    kw_run *run = user;
    kw_error error;
    run->fetching = false;
    run->shut = false;
    kw_door_is_shut(run->door, &error);
    if (run->done)
        run->done(run->user, NULL, &error);
    else
        kw_run_close(run);
}

void
kw_run_fetch(kw_run *run, uint32_t max_rows, size_t max_bytes, bool more_hint, kw_deadline deadline,
             kw_get_done done, void *user)
{
    g_assert(run && !run->fetching && max_rows > 0 && max_bytes > 0);
    assert_whole(run->door, done);
    run->fetching = true;
    run->done = done;
    run->user = user;
    run->shut = run->door->closing;
    if (run->refusal)
        kw_refuse_later(run->door, refused_fetch_done, run);
    else if (run->shut)
        kw_refuse_later(run->door, shut_fetch_done, run);
    else
        run->door->class->run_fetch(run, max_rows, max_bytes, more_hint, deadline, fetched, run);
}

void
kw_run_close(kw_run *run)
{
    if (!run)
        return;
    bool refused = run->refusal || run->shut;
    if (!refused) {
        run->door->class->run_close(run);
        return;
    }
    run->done = NULL;
    if (run->fetching)
        return;
    g_free(run->refusal);
    g_free(run);
}
