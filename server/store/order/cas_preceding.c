/* The puts that precede a derived write, after it was evaluated: see cas.h. They get the time of the store's
 * servers as their timestamps. The row is not sent unless all of them were answered OK, so the outcome of a
 * failure is FAILED. */
#include "store/order/cas.h"

static const kw_written *
first_failure(const kw_cas_round *round)
{
    for (size_t i = 0; i < round->derived.preceding_count; i++)
        if (round->preceding[i].outcome != KW_OUTCOME_OK)
            return &round->preceding[i];
    return NULL;
}

static void
on_written(void *user)
{
    kw_cas_round *round = user;
    const kw_written *failure = first_failure(round);
    round->preceding_is_written = !failure;
    if (failure) {
        kw_error error = failure->error;
        error.maybe_applied = false;
        kw_error_prefix(&error,
                        "table %s: the record was not written, because a row that leads to it was not",
                        kw_show(round->put.table).text);
        kw_cas_fail(round, &error);
    } else if (kw_cas_is_too_late(round)) {
        kw_cas_begin_again(round);
    } else {
        kw_cas_continue(round);
    }
}

void
kw_cas_write_preceding(kw_cas_round *round)
{
    size_t count = round->derived.preceding_count;
    const kw_write **list = KW_ARENA_ARRAY(round->arena, const kw_write *, count);
    round->preceding = KW_ARENA_ARRAY(round->arena, kw_written, count);
    for (size_t i = 0; i < count; i++)
        list[i] = &round->derived.preceding[i];
    kw_order_send(round->handle, round->arena, list, count, round->preceding, on_written, round);
}
