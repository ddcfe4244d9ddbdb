/* The write of a round with order: store: see cas.h. The store sets the timestamp of the compare, and not
 * lower than that of kw:w, which it compares. Since every write that changes what a derived write reads
 * leaves kw:w, kw:w has the newest timestamp of what was read. There are exceptions:
 *
 *   the row is from before its table left kw:w   the compare waits until the clock has surely passed its cells
 *   a timestamp is ahead of the store's clock    REFUSED: a put can be hidden by it, and its kw:w by another one
 */
#include "store/order/cas.h"

/* Leaves out kw:g: increments of other fields raise its timestamp, and the compare can go below it. Then it
 * is hidden only from removals that delete this timestamp, too. */
static int64_t
newest_of(const kw_cas_round *round)
{
    const kw_row *row = &round->rows->rows[0];
    const kw_cell *generation = kw_control_find(round->put.ordering, row, KW_CONTROL_GENERATION);
    int64_t newest_ms = -1;
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (&row->cells[i] != generation)
            newest_ms = MAX(newest_ms, row->cells[i].timestamp);
    return newest_ms;
}

/* Adds kw:w and kw:g. */
static void
compare(kw_cas_round *round)
{
    kw_write *put = &round->put;
    g_assert(round->derived.absent_count == 0 && round->others_count == 0);
    kw_cell *cells = KW_ARENA_ARRAY(round->arena, kw_cell, put->cells_count + 2);
    memcpy(cells, put->cells, put->cells_count * sizeof *cells);
    kw_cell writer = kw_control_writer(put->ordering, 0, kw_random_u64(), 0, round->arena);
    cells[put->cells_count++] = writer;
    cells[put->cells_count++] =
        kw_control_cell(put->ordering, KW_CONTROL_GENERATION, kw_random_u64(), 0, round->arena);
    put->cells = cells;
    put->timestamp = KW_TIMESTAMP_NONE;
    kw_cas_compare(round, writer.value);
}

static void
on_passed(void *user, kw_wait_result result)
{
    if (result == KW_WAIT_DONE)
        compare(user);
    else
        kw_cas_fail_wait(user, result);
}

void
kw_cas_write_unstamped(kw_cas_round *round)
{
    kw_span span;
    const kw_row *row = &round->rows->rows[0];
    const kw_cell *writer = kw_control_find(round->put.ordering, row, KW_CONTROL_WRITER);
    int64_t newest_ms = newest_of(round), skew_ns = round->handle->settings->max_clock_skew_ms * KW_NS_PER_MS;
    bool known = kw_store_time_estimate(kw_order_store_of(round->handle)->inner, &span);
    int64_t latest_ns = known ? span.latest_ns : kw_clock_wall_ms() * KW_NS_PER_MS;
    round->wait = (kw_wait){.until_time_ns = kw_order_ns(newest_ms + 1) + skew_ns,
                            .deadline = round->deadline,
                            .done = on_passed,
                            .user = round};
    if (kw_order_ns(newest_ms) > latest_ns + skew_ns)
        kw_cas_refuse_ahead(round, newest_ms, newest_ms - latest_ns / KW_NS_PER_MS);
    else if (newest_ms < 0 || (writer && writer->timestamp == newest_ms))
        compare(round);
    else
        kw_wait_and_call(round->handle, &round->wait);
}
