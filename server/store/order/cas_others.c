/* The record's other rows, after its first row has been written: see cas.h.
 *
 *   write all --> all OK --> the clock has passed the stamp --> OK
 *    ^    |
 *    |    '--> not all: read those in doubt, three times --> still not there
 *    |                                                              |
 *    '---- once, with the same stamp -------------------------------'--> UNKNOWN
 *
 * If a row was written twice, the first attempt can be applied later than the second one. Then no later write
 * may get the same stamp. The ordering guarantees do not cover writes that run at the same time and get the
 * same millisecond.
 */
#include "store/order/cas.h"

static void send_listed(kw_cas_round *round);
static void check_next(kw_cas_round *round);

/* --- the end ------------------------------------------------------------------------------------ */

static void
finish_unknown(kw_cas_round *round, const kw_error *error, const char *what)
{
    kw_error failure = *error;
    failure.maybe_applied = true;
    if (what)
        kw_error_prefix(&failure, "%s", what);
    kw_cas_finish(round, KW_OUTCOME_UNKNOWN, &failure);
}

static void
on_stamp_passed(void *user, kw_wait_result result)
{
    kw_cas_round *round = user;
    kw_error error;
    if (result == KW_WAIT_DONE) {
        kw_cas_finish(round, KW_OUTCOME_OK, NULL);
        return;
    }
    kw_wait_error(round->handle, result, "the store's clock passed the write", true, &error);
    finish_unknown(round, &error, NULL);
}

static void
wait_for_stamp(kw_cas_round *round)
{
    bool until_next_ms = round->stamp_is_exclusive || round->put.ordering->regime.waits_for_next_ms;
    round->wait = (kw_wait){.until_time_ns = kw_order_ns(round->put.timestamp + until_next_ms),
                            .known = true,
                            .deadline = round->deadline,
                            .done = on_stamp_passed,
                            .user = round};
    kw_wait_and_call(round->handle, &round->wait);
}

/* --- in doubt ----------------------------------------------------------------------------------- */

/* The first row that is not certainly written; NULL: all are. */
static const kw_written *
first_failure(const kw_cas_round *round)
{
    for (size_t i = 0; i < round->others_count; i++)
        if (round->written[i].outcome != KW_OUTCOME_OK)
            return &round->written[i];
    return NULL;
}

static bool
any_in_doubt(const kw_cas_round *round)
{
    for (size_t i = 0; i < round->others_count; i++)
        if (round->written[i].outcome == KW_OUTCOME_UNKNOWN)
            return true;
    return false;
}

static void
send_again(kw_cas_round *round)
{
    round->copies_sent_again = true;
    round->stamp_is_exclusive = round->stamp_is_exclusive || any_in_doubt(round);
    round->checks = 0;
    send_listed(round);
}

static void
on_check_time(void *user, kw_wait_result result)
{
    kw_cas_round *round = user;
    round->checked = 0;
    if (result == KW_WAIT_DONE)
        check_next(round);
    else
        finish_unknown(round, &first_failure(round)->error, "a row of the record may be missing");
}

/* Decides how to go on after an attempt, or after all rows in doubt were read. */
static void
go_on(kw_cas_round *round)
{
    const kw_written *failure = first_failure(round);
    if (!failure) {
        wait_for_stamp(round);
    } else if (any_in_doubt(round) && round->checks < KW_ORDER_CHECKS) {
        size_t check = round->checks++;
        kw_wait_and_check(round->handle, &round->wait, check, round->deadline, on_check_time, round);
    } else if (!round->copies_sent_again) {
        send_again(round);
    } else {
        finish_unknown(round, &failure->error, "a row of the record may be missing");
    }
}

static void
on_checked(void *user, kw_rows *rows, const kw_error *error)
{
    kw_cas_round *round = user;
    size_t at = round->checked++;
    if (!error && kw_order_put_is_applied(&round->copies[at], &rows->rows[0], round->arena))
        round->written[at].outcome = KW_OUTCOME_OK;
    kw_rows_free(rows);
    check_next(round);
}

/* Reads the next row in doubt. After the last one, decides how to go on. */
static void
check_next(kw_cas_round *round)
{
    while (round->checked < round->others_count &&
           round->written[round->checked].outcome != KW_OUTCOME_UNKNOWN)
        round->checked++;
    if (round->checked == round->others_count) {
        go_on(round);
        return;
    }
    const kw_write *copy = &round->copies[round->checked];
    round->get =
        (kw_get){.table = copy->table, .row = copy->row, .max_versions = 1, .deadline = round->deadline};
    kw_store_handle_get(round->handle->inner, &round->get, on_checked, round);
}

/* --- the writes --------------------------------------------------------------------------------- */

static void
on_written(void *user)
{
    kw_cas_round *round = user;
    for (size_t i = 0; i < round->list_count; i++)
        round->written[round->indexes[i]] = round->listed[i];
    go_on(round);
}

/* Writes the rows that are not certainly written. */
static void
send_listed(kw_cas_round *round)
{
    round->list_count = 0;
    for (size_t i = 0; i < round->others_count; i++) {
        if (round->written[i].outcome == KW_OUTCOME_OK)
            continue;
        round->indexes[round->list_count] = i;
        round->list[round->list_count++] = &round->copies[i];
    }
    kw_order_send(round->handle, round->arena, round->list, round->list_count, round->listed, on_written,
                  round);
}

static void
prepare(kw_cas_round *round)
{
    size_t count = round->others_count;
    round->copies = KW_ARENA_ARRAY(round->arena, kw_write, count);
    round->list = KW_ARENA_ARRAY(round->arena, const kw_write *, count);
    round->written = KW_ARENA_ARRAY(round->arena, kw_written, count);
    round->listed = KW_ARENA_ARRAY(round->arena, kw_written, count);
    round->indexes = KW_ARENA_ARRAY(round->arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        kw_write *copy = &round->copies[i];
        *copy = round->put;
        copy->table = round->others[i].table;
        copy->row = round->others[i].row;
        copy->step = round->others[i].step;
        copy->record = 1;
        copy->once = true;
        copy->deadline = round->deadline;
        round->written[i].outcome = KW_OUTCOME_FAILED;
    }
}

void
kw_cas_write_others(kw_cas_round *round)
{
    if (round->others_count == 0) {
        wait_for_stamp(round);
        return;
    }
    prepare(round);
    send_listed(round);
}
