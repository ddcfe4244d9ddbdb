/* What the time is in HBase: a row is written without a timestamp, read back, and the timestamp that
 * the region server gave it is held against the middle of the write's journey.
 *
 * One door of the process measures, every ten seconds; of a few heartbeats the one with the shortest
 * journey counts. The row is in a table of our own,
 * keyway_clock, made when it is missing; rows of ended processes expire. A journey longer
 * than 96 ms tells nothing (the offset must be known within 50, rounding included). The offset is kept
 * against our monotonic clock, so that a step of our wall clock shows at once.
 */
#include "store/hbase/door.h"

#include "base/log.h"

#include <stdio.h>

#define CLOCK_TABLE "keyway_clock"
#define FAMILY "t"
#define QUALIFIER "at"
#define EVERY_MS 10000
#define SOON_MS 500
#define LATER_MS 60000
#define VALID_MS 120000
#define JOURNEY_MOST_MS 96
#define JOURNEY_GOOD_MS 4 /* the first one that is as short will do */
#define TRIES 5
#define CALL_MS 5000
#define READINGS 5
#define NS_PER_MS 1000000

typedef struct kw_hbase_heartbeat {
    kw_hbase_door *door;
    bool busy;
    bool failed_before; /* logged once, until it works again */
    uint64_t next_ns;
    kw_hbase_call call;
    kw_arena *arena; /* of the present call */
    kw_write write;
    kw_cell cell;
    kw_get get;
    kw_family_spec family;
    kw_table_spec table;
    uint64_t sent_ns;
    uint64_t written_ns;
    uint32_t tries;   /* of this round */
    uint64_t best_ns; /* its shortest journey */
    int64_t best_base_ms;
} kw_hbase_heartbeat;

static kw_hbase_clock *
clock_of(const kw_hbase_door *door)
{
    return &((kw_hbase_store *)door->base.store)->clock;
}

/* Monotonic time minus wall time, of one moment: who is stopped between the two readings reads again. */
static int64_t
mono_minus_wall_ms(void)
{
    uint64_t least_ns = UINT64_MAX;
    int64_t found = 0;
    for (int i = 0; i < READINGS && least_ns > NS_PER_MS; i++) {
        uint64_t before_ns = kw_clock_mono_ns();
        int64_t wall_ms = kw_clock_wall_ms();
        uint64_t took_ns = kw_clock_mono_ns() - before_ns;
        if (took_ns < least_ns)
            found = (int64_t)((before_ns + took_ns / 2) / NS_PER_MS) - wall_ms;
        least_ns = MIN(least_ns, took_ns);
    }
    return found;
}

bool
kw_hbase_clock_offset(const kw_hbase_clock *clock, int64_t *ret_offset_ms)
{
    uint64_t measured = atomic_load(&clock->measured_ns), now = kw_clock_mono_ns();
    if (measured == 0 || (now > measured && now - measured > (uint64_t)VALID_MS * NS_PER_MS))
        return false;
    *ret_offset_ms = atomic_load(&clock->base_ms) + mono_minus_wall_ms();
    return true;
}

static void
rest(kw_hbase_heartbeat *beat, uint64_t delay_ms)
{
    beat->busy = false;
    beat->tries = 0;
    beat->next_ns = kw_clock_mono_ns() + delay_ms * NS_PER_MS;
}

static void
failed(kw_hbase_heartbeat *beat, const char *why, uint64_t delay_ms)
{
    if (!beat->failed_before)
        kw_log(KW_LOG_WARN, "hbase", "the store's clock is not known", "table=%s reason=\"%s\"", CLOCK_TABLE,
               why);
    beat->failed_before = true;
    rest(beat, delay_ms);
}

/* --- read back -------------------------------------------------------------------------------- */

static void start(kw_hbase_heartbeat *beat);

static void
measured(kw_hbase_heartbeat *beat, int64_t stamp_ms)
{
    kw_hbase_clock *clock = clock_of(beat->door);
    uint64_t journey_ns = beat->written_ns - beat->sent_ns;
    if (beat->tries++ == 0 || journey_ns < beat->best_ns) {
        beat->best_ns = journey_ns;
        beat->best_base_ms = stamp_ms - (int64_t)((beat->sent_ns + journey_ns / 2) / NS_PER_MS);
    }
    beat->failed_before = false;
    if (beat->tries < TRIES && beat->best_ns > (uint64_t)JOURNEY_GOOD_MS * NS_PER_MS) {
        start(beat);
        return;
    }
    atomic_store(&clock->base_ms, beat->best_base_ms);
    atomic_store(&clock->measured_ns, beat->written_ns);
    rest(beat, EVERY_MS);
    kw_hbase_probe(beat->door, KW_BYTES_LITERAL(CLOCK_TABLE), kw_bytes_of_text(clock->row));
}

static void
read_back(void *user, kw_rows *rows, const kw_error *error)
{
    kw_hbase_heartbeat *beat = user;
    if (error)
        failed(beat, error->text, SOON_MS);
    else if (rows->count == 1 && rows->rows[0].cells_count == 1)
        measured(beat, rows->rows[0].cells[0].timestamp);
    else
        failed(beat, "the heartbeat row is not there", LATER_MS);
    kw_rows_free(rows);
}

/* --- write ------------------------------------------------------------------------------------ */

static void
table_made(void *user, bool created, const kw_error *error)
{
    kw_hbase_heartbeat *beat = user;
    if (error)
        failed(beat, error->text, LATER_MS);
    else
        rest(beat, created ? 0 : SOON_MS);
}

static void
make_table(kw_hbase_heartbeat *beat)
{
    beat->family = (kw_family_spec){.name = FAMILY,
                                    .ttl_seconds = 24 * 3600,
                                    .max_versions = 1,
                                    .block_cache = -1,
                                    .in_memory = -1,
                                    .keep_deleted_cells = -1,
                                    .replication_scope = -1};
    beat->table = (kw_table_spec){.name = KW_BYTES_LITERAL(CLOCK_TABLE),
                                  .families = &beat->family,
                                  .families_count = 1,
                                  .deadline = KW_DEADLINE_NONE};
    kw_log(KW_LOG_INFO, "hbase", "making the table that tells the store's clock", "table=%s", CLOCK_TABLE);
    kw_hbase_create_table(&beat->door->base, &beat->table, table_made, beat);
}

static void
written(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    kw_hbase_heartbeat *beat = call->user;
    beat->sent_ns = call->since_ns;
    beat->written_ns = kw_clock_mono_ns();
    kw_arena_free(g_steal_pointer(&beat->arena));
    if (failure && failure->kind == KW_HBASE_TABLE_MISSING) {
        make_table(beat);
    } else if (failure) {
        failed(beat, failure->error.text, SOON_MS * 4);
    } else if (beat->written_ns - beat->sent_ns > (uint64_t)JOURNEY_MOST_MS * NS_PER_MS) {
        failed(beat, "the store answers too slowly", SOON_MS);
    } else {
        beat->get = (kw_get){.table = KW_BYTES_LITERAL(CLOCK_TABLE),
                             .row = beat->write.row,
                             .deadline = kw_deadline_in_ms(CALL_MS)};
        kw_hbase_get(&beat->door->base, &beat->get, read_back, beat);
    }
}

static void
start(kw_hbase_heartbeat *beat)
{
    static const uint8_t nothing[1];
    beat->busy = true;
    beat->arena = kw_arena_new();
    beat->cell = (kw_cell){.family = KW_BYTES_LITERAL(FAMILY),
                           .qualifier = KW_BYTES_LITERAL(QUALIFIER),
                           .value = kw_bytes_of(nothing, sizeof nothing)};
    beat->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = KW_BYTES_LITERAL(CLOCK_TABLE),
                             .row = kw_bytes_of_text(clock_of(beat->door)->row),
                             .cells = &beat->cell,
                             .cells_count = 1,
                             .timestamp = KW_TIMESTAMP_NONE};
    beat->call = (kw_hbase_call){.deadline = kw_deadline_in_ms(CALL_MS), .done = written, .user = beat};
    kw_hbase_write_prepare(beat->arena, &beat->write, KW_DURABILITY_DEFAULT, &beat->call);
    kw_hbase_pool_start(&beat->door->pool, &beat->call);
}

/* --- who measures ----------------------------------------------------------------------------- */

void
kw_hbase_clock_tick(kw_hbase_door *door)
{
    if (!door->heartbeat) {
        if (atomic_exchange(&clock_of(door)->measuring, true))
            return;
        door->heartbeat = g_new0(kw_hbase_heartbeat, 1);
        door->heartbeat->door = door;
    }
    kw_hbase_heartbeat *beat = door->heartbeat;
    if (!beat->busy && door->pool.ready && kw_clock_mono_ns() >= beat->next_ns)
        start(beat);
}

/* What is under way completes before the door is closed; the memory goes then. */
void
kw_hbase_clock_stop(kw_hbase_door *door)
{
    if (door->heartbeat)
        atomic_store(&clock_of(door)->measuring, false);
}
