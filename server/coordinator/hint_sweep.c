#include "coordinator/hint_sweep.h"

#include "base/log.h"
#include "base/units.h"
#include "reconcile/hint_slice.h"
#include "schema/progress.h"

#include <glib.h>

#define SLICE_HINTS 200
#define PAUSE_MS 1000
/* After this many failed slices in a row, the sweep continues with the next path. */
#define FAILURES_MAX 10
/* For how long a gateway that was found to be the first one of a table sweeps a path of it. */
#define FIRST_OF_TABLE_MS UINT64_C(60000)
/* After all hints were visited, and before the first ones are: with a random part, so that gateways that
 * start together do not read the registrations together. */
#define REST_MS UINT64_C(3600000)
#define FIRST_MS UINT64_C(60000)

struct kw_hint_sweep {
    kw_control *control;
    uint64_t not_before_ns;
    /* The position: a path by its numbers in the policy. If the path there has another store table than
     * before, because the policy has changed, its sweep begins again. */
    size_t table, path;
    GBytes *store_table;
    GBytes *after;     /* NULL: at the beginning */
    unsigned failures; /* of the last slices */
    /* This gateway is the one that sweeps this path, until then; 0: not known. */
    uint64_t sweeps_until_ns;
    bool busy; /* reads registrations, or a slice is under way */
    kw_call call;
    kw_hint_slice_request request;
    void (*wake)(void *user);
    void *user;
};

static void
rest(kw_hint_sweep *sweep, uint64_t least_ms)
{
    uint64_t random_ms = (uint64_t)g_random_int_range(0, (gint32)least_ms);
    sweep->not_before_ns = kw_clock_mono_ns() + (least_ms + random_ms) * KW_NS_PER_MS;
}

kw_hint_sweep *
kw_hint_sweep_new(kw_control *control)
{
    kw_hint_sweep *sweep = g_new0(kw_hint_sweep, 1);
    sweep->control = control;
    rest(sweep, FIRST_MS);
    return sweep;
}

static void
set_position(kw_hint_sweep *sweep, size_t table, size_t path)
{
    sweep->table = table;
    sweep->path = path;
    sweep->sweeps_until_ns = 0;
    g_clear_pointer(&sweep->after, g_bytes_unref);
    g_clear_pointer(&sweep->store_table, g_bytes_unref);
}

void
kw_hint_sweep_free(kw_hint_sweep *sweep)
{
    g_assert(!sweep->busy);
    set_position(sweep, 0, 0);
    g_free(sweep);
}

bool
kw_hint_sweep_is_busy(const kw_hint_sweep *sweep)
{
    return sweep->busy;
}

/* --- the position ---------------------------------------------------------------------------------- */

static bool
can_sweep(const kw_path *path)
{
    return path->content == KW_CONTENT_HINTS && !kw_path_is_filling(path) &&
           !kw_table_changes_rows(path->table) && !kw_table_why_not_served(path->table);
}

/* The path at the position, or the next one that can be swept; NULL: there are no more. */
static const kw_path *
find_path(kw_hint_sweep *sweep, const kw_policy *policy)
{
    for (; sweep->table < kw_policy_table_count(policy); set_position(sweep, sweep->table + 1, 0)) {
        const kw_table *table = kw_policy_table(policy, sweep->table);
        for (; sweep->path < table->queried_paths_count; set_position(sweep, sweep->table, sweep->path + 1))
            if (can_sweep(&table->paths[sweep->path]))
                return &table->paths[sweep->path];
    }
    return NULL;
}

static kw_bytes
bytes_in(GBytes *bytes)
{
    gsize size = 0;
    const void *data = bytes ? g_bytes_get_data(bytes, &size) : NULL;
    return kw_bytes_of(data, size);
}

/* Where the slice begins in this path. */
static kw_bytes
begin_after(kw_hint_sweep *sweep, const kw_placement *hints, kw_arena *arena)
{
    if (sweep->store_table && !kw_bytes_equal(bytes_in(sweep->store_table), hints->store_table))
        set_position(sweep, sweep->table, sweep->path);
    if (!sweep->store_table)
        sweep->store_table = g_bytes_new(hints->store_table.data, hints->store_table.size);
    return sweep->after ? kw_arena_copy(arena, bytes_in(sweep->after)) : KW_BYTES_NONE;
}

/* What failed is repeated. */
static void
note_failure(kw_hint_sweep *sweep, const kw_error *error)
{
    if (++sweep->failures < FAILURES_MAX)
        return;
    kw_log(KW_LOG_WARN, "hints", "a sweep of stale hints was ended", KW_LOG_FACT("reason", error->text));
    sweep->failures = 0;
    set_position(sweep, sweep->table, sweep->path + 1);
}

static void
pause_then_wake(kw_hint_sweep *sweep)
{
    sweep->busy = false;
    sweep->not_before_ns = kw_clock_mono_ns() + PAUSE_MS * KW_NS_PER_MS;
    sweep->wake(sweep->user);
}

/* --- which gateway sweeps -------------------------------------------------------------------------- */

/* The first one, by the names of the registrations, of those that serve the table. Each gateway decides for
 * itself: for a moment, two can sweep, or none. */
static bool
is_first(const kw_change_follower *followers, size_t count)
{
    const kw_change_follower *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (!followers[i].dead && (!first || strcmp(followers[i].instance, first->instance) < 0))
            first = &followers[i];
    return first && first->itself;
}

static void
on_gateways(void *user, const kw_change_follower *followers, size_t count, const kw_error *error)
{
    kw_hint_sweep *sweep = user;
    if (error)
        note_failure(sweep, error);
    else if (is_first(followers, count))
        sweep->sweeps_until_ns = kw_clock_mono_ns() + FIRST_OF_TABLE_MS * KW_NS_PER_MS;
    else
        set_position(sweep, sweep->table, sweep->path + 1);
    pause_then_wake(sweep);
}

static bool
must_read_gateways(const kw_hint_sweep *sweep)
{
    return kw_store_is_shared(sweep->control->store) && sweep->sweeps_until_ns <= kw_clock_mono_ns();
}

static void
read_gateways(kw_hint_sweep *sweep, const kw_table *table)
{
    const kw_control *control = sweep->control;
    kw_change_record any = {.table = table->name, .path = ""};
    sweep->busy = true;
    kw_catalog_read_followers(control->catalog, &any, kw_control_call_deadline(control), on_gateways, sweep);
}

/* --- slices ---------------------------------------------------------------------------------------- */

static void
on_slice(void *user, const kw_hint_slice_result *result, const kw_error *error)
{
    kw_hint_sweep *sweep = user;
    if (error) {
        note_failure(sweep, error);
    } else if (result->end || result->after.size == 0) {
        set_position(sweep, sweep->table, sweep->path + 1);
    } else {
        g_clear_pointer(&sweep->after, g_bytes_unref);
        sweep->after = g_bytes_new(result->after.data, result->after.size);
    }
    if (!error)
        sweep->failures = 0;
    kw_control_end_call(&sweep->call);
    pause_then_wake(sweep);
}

static void
start(kw_hint_sweep *sweep, const kw_path *path)
{
    sweep->busy = true;
    sweep->call = kw_control_begin_call(sweep->control, "hints");
    const kw_placement *hints = kw_path_scanned(path);
    sweep->request = (kw_hint_slice_request){.mode = KW_HINTS_STALE,
                                             .hints = hints,
                                             .after = begin_after(sweep, hints, sweep->call.arena),
                                             .max_rows = SLICE_HINTS,
                                             .repair = true};
    kw_hint_slice(&sweep->call, &sweep->request, on_slice, sweep);
}

uint64_t
kw_hint_sweep_tick(kw_hint_sweep *sweep, void (*wake)(void *user), void *user)
{
    const kw_control *control = sweep->control;
    uint64_t now_ns = kw_clock_mono_ns();
    sweep->wake = wake;
    sweep->user = user;
    if (sweep->busy)
        return UINT64_MAX;
    if (sweep->not_before_ns > now_ns)
        return (sweep->not_before_ns - now_ns) / KW_NS_PER_MS + 1;
    if (!kw_control_has_lease(control))
        return PAUSE_MS;
    const kw_path *path = find_path(sweep, control->policy);
    if (!path) {
        set_position(sweep, 0, 0);
        rest(sweep, REST_MS);
        return REST_MS;
    }
    if (must_read_gateways(sweep))
        read_gateways(sweep, path->table);
    else
        start(sweep, path);
    return UINT64_MAX;
}
