/* The times that decide when a change can continue. */
#include "base/units.h"
#include "coordinator/coordinator_internal.h"
#include "store/order/order.h"

#define STAMPS_AHEAD_MS 100
/* The maximum difference between a timestamp that a gateway assigns and the store's clock. */
#define STAMP_WIDTH_MS (2 * KW_ORDER_CLOCK_WIDTH_MS + STAMPS_AHEAD_MS)
#define SET_AT_SPARE_MS 5

int64_t
kw_change_cursors_until_ms(const kw_coordinator *self, const kw_change_record *record)
{
    const kw_model *model = kw_control_model(self->control);
    if (record->place != KW_NEW(BOTH))
        return 0;
    /* Calls that began before the switch return cursors of the old key rule until they end. */
    return record->place_at_ms + model->timeouts.call_ms + model->cursor.expiry_ms;
}

kw_change_times
kw_change_times_now(const kw_coordinator *self, const kw_change_record *record)
{
    const kw_model *model = kw_control_model(self->control);
    const kw_model_hbase *store = &model->store.hbase;
    int64_t width_ms = STAMP_WIDTH_MS + 2 * store->max_clock_skew_ms;
    kw_span now;
    bool known = kw_store_time(self->control->store, &now);
    const kw_path *path = kw_change_find_path(self->control->policy, record);
    bool two = path && path->placements_count == 2;
    return (kw_change_times){
        .now_ns = kw_clock_boot_ns(),
        .store_ms = known ? now.earliest_ns / (int64_t)KW_NS_PER_MS : 0,
        .late_ns = (uint64_t)store->late_ms * KW_NS_PER_MS,
        .skew_ns = (uint64_t)store->max_clock_skew_ms * KW_NS_PER_MS,
        .width_ns = (uint64_t)width_ms * KW_NS_PER_MS,
        .can_select_by_time = two && kw_copy_can_select_by_time(&path->placements[0], &path->placements[1]),
        .cursors_expired = kw_clock_wall_ms() >= kw_change_cursors_until_ms(self, record)};
}

/* A call gets the latest possible time as its timestamp. The store's clock goes back by at most
 * max_clock_skew, when the region of the clock moves. */
bool
kw_change_set_at(const kw_coordinator *self, int64_t *ret_set_at_ms)
{
    const kw_model_hbase *store = &kw_control_model(self->control)->store.hbase;
    kw_span now;
    if (!kw_store_time(self->control->store, &now))
        return false;
    *ret_set_at_ms =
        MAX(now.earliest_ns / (int64_t)KW_NS_PER_MS - store->max_clock_skew_ms - SET_AT_SPARE_MS, 1);
    return true;
}

uint64_t
kw_change_limit_until_ns(const kw_change_record *record, const kw_change_work *work)
{
    if (record->rows_per_second == 0 || work->slice_ended_ns == 0 || kw_change_atomics_are_held(record))
        return 0;
    return work->slice_ended_ns +
           (uint64_t)((double)work->slice_rows / (double)record->rows_per_second * 1e9);
}
