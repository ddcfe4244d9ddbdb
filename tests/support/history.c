#include "support/history.h"

#include "base/clock.h"

#include <glib.h>
#include <inttypes.h>

#define NEVER UINT64_MAX

typedef struct op {
    history_kind kind;
    uint32_t key;
    uint64_t value;
    uint64_t start, end; /* end NEVER: unknown */
    bool failed;
} op;

struct history {
    GArray *ops;
};

history *
history_new(void)
{
    history *made = g_new0(history, 1);
    made->ops = g_array_new(FALSE, FALSE, sizeof(op));
    return made;
}

void
history_free(history *of)
{
    g_array_unref(of->ops);
    g_free(of);
}

static op *
op_at(const history *of, size_t number)
{
    return &g_array_index(of->ops, op, number);
}

size_t
history_begin(history *of, history_kind kind, uint32_t key, uint64_t value)
{
    op made = {.kind = kind, .key = key, .value = value, .start = kw_clock_mono_ns(), .end = NEVER};
    g_array_append_val(of->ops, made);
    return of->ops->len - 1;
}

void
history_end(history *of, size_t number, uint64_t value)
{
    op *ended = op_at(of, number);
    ended->end = kw_clock_mono_ns();
    if (ended->kind == HISTORY_GET)
        ended->value = value;
}

void
history_failed(history *of, size_t number)
{
    op_at(of, number)->failed = true;
}

void
history_join(history *to, const history *from)
{
    g_array_append_vals(to->ops, from->ops->data, from->ops->len);
}

size_t
history_count(const history *of)
{
    return of->ops->len;
}

/* --- one key ---------------------------------------------------------------------------------- */

typedef struct key_ops {
    GPtrArray *writes; /* of op, by start */
    GPtrArray *gets;   /* with a reply */
    bool removes;
} key_ops;

static gint
by_start(gconstpointer a, gconstpointer b)
{
    const op *one = *(const op *const *)a, *other = *(const op *const *)b;
    return (one->start > other->start) - (one->start < other->start);
}

static key_ops
ops_of_key(const history *of, uint32_t key)
{
    key_ops all = {.writes = g_ptr_array_new(), .gets = g_ptr_array_new()};
    for (size_t i = 0; i < of->ops->len; i++) {
        op *one = op_at(of, i);
        if (one->key != key)
            continue;
        if (one->kind != HISTORY_GET)
            g_ptr_array_add(all.writes, one);
        else if (one->end != NEVER)
            g_ptr_array_add(all.gets, one);
        all.removes = all.removes || one->kind == HISTORY_REMOVE;
    }
    g_ptr_array_sort(all.writes, by_start);
    return all;
}

/* The latest start of an acknowledged write that ended before the moment. A value whose write ended before
 * that start was replaced by then. 0: no such write. */
static uint64_t
replaced_before(const key_ops *all, uint64_t moment)
{
    uint64_t latest = 0;
    for (guint i = 0; i < all->writes->len; i++) {
        const op *write = all->writes->pdata[i];
        if (write->start >= moment)
            break;
        if (!write->failed && write->end < moment)
            latest = write->start;
    }
    return latest;
}

/* True if the get can have returned the value of this write. */
static bool
explains(const op *write, const op *get, uint64_t replaced)
{
    return write->value == get->value && !write->failed && write->start < get->end && write->end >= replaced;
}

static char *
wrong_get(const key_ops *all, const op *get)
{
    uint64_t replaced = replaced_before(all, get->start);
    const op *same = NULL;
    if (get->value == 0 && replaced == 0)
        return NULL; /* the initial state */
    for (guint i = 0; i < all->writes->len; i++) {
        const op *write = all->writes->pdata[i];
        if (explains(write, get, replaced))
            return NULL;
        if (write->value == get->value)
            same = write;
    }
    const char *why =
        !same
            ? "which no write wrote"
            : (same->failed ? "whose write failed"
                            : (same->start >= get->end ? "before it was written" : "after it was replaced"));
    return g_strdup_printf("key %u: a get at %" PRIu64 "..%" PRIu64 " ns gives %" PRIu64 ", %s", get->key,
                           get->start, get->end, get->value, why);
}

/* --- zones ------------------------------------------------------------------------------------ */

/* A value and the operations that wrote or returned it: the value was in effect at some moment between start
 * and end of each of them. low: the first end, high: the last start. low < high: the value was in effect
 * during all of that time (a forward zone); otherwise at some moment between high and low (a backward zone).
 */
typedef struct zone {
    uint64_t value, low, high;
} zone;

static gint
by_low(gconstpointer a, gconstpointer b)
{
    const zone *one = a, *other = b;
    return (one->low > other->low) - (one->low < other->low);
}

static void
widen(GHashTable *zones, const op *by)
{
    zone *of = g_hash_table_lookup(zones, &by->value);
    if (!of) {
        of = g_new0(zone, 1);
        *of = (zone){.value = by->value, .low = by->end, .high = by->start};
        g_hash_table_insert(zones, &of->value, of);
    }
    of->low = MIN(of->low, by->end);
    of->high = MAX(of->high, by->start);
}

static void
collect(const key_ops *all, GArray *forward, GArray *backward)
{
    g_autoptr(GHashTable) zones = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    GHashTableIter iter;
    gpointer at;
    for (guint i = 0; i < all->gets->len; i++)
        widen(zones, all->gets->pdata[i]);
    for (guint i = 0; i < all->writes->len; i++) {
        const op *write = all->writes->pdata[i];
        bool seen = g_hash_table_contains(zones, &write->value);
        if (!write->failed && (seen || write->end != NEVER))
            widen(zones, write);
    }
    g_hash_table_remove(zones, &(uint64_t){0}); /* the initial state: wrong_get checks it */
    g_hash_table_iter_init(&iter, zones);
    while (g_hash_table_iter_next(&iter, NULL, &at)) {
        const zone *of = at;
        g_array_append_vals(of->low < of->high ? forward : backward, of, 1);
    }
    g_array_sort(forward, by_low);
}

static char *
wrong_zones(const key_ops *all, uint32_t key)
{
    g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(zone));
    g_autoptr(GArray) backward = g_array_new(FALSE, FALSE, sizeof(zone));
    collect(all, forward, backward);
    for (guint i = 1; i < forward->len; i++) {
        const zone *one = &g_array_index(forward, zone, i - 1), *next = &g_array_index(forward, zone, i);
        if (next->low < one->high)
            return g_strdup_printf("key %u: values %" PRIu64 " and %" PRIu64
                                   " were both in effect at %" PRIu64 " ns",
                                   key, one->value, next->value, next->low);
    }
    for (guint i = 0; i < backward->len; i++) {
        const zone *inner = &g_array_index(backward, zone, i);
        for (guint j = 0; j < forward->len; j++) {
            const zone *outer = &g_array_index(forward, zone, j);
            if (outer->low < inner->high && inner->low < outer->high)
                return g_strdup_printf("key %u: value %" PRIu64 " was in effect while %" PRIu64 " was", key,
                                       inner->value, outer->value);
        }
    }
    return NULL;
}

static char *
wrong_key(const history *of, uint32_t key)
{
    key_ops all = ops_of_key(of, key);
    char *wrong = NULL;
    for (guint i = 0; i < all.gets->len && !wrong; i++)
        wrong = wrong_get(&all, all.gets->pdata[i]);
    if (!wrong && !all.removes)
        wrong = wrong_zones(&all, key);
    g_ptr_array_unref(all.writes);
    g_ptr_array_unref(all.gets);
    return wrong;
}

char *
history_wrong(const history *of)
{
    g_autoptr(GHashTable) keys = g_hash_table_new(NULL, NULL);
    GHashTableIter iter;
    gpointer key;
    char *wrong = NULL;
    for (size_t i = 0; i < of->ops->len; i++)
        g_hash_table_add(keys, GUINT_TO_POINTER(op_at(of, i)->key));
    g_hash_table_iter_init(&iter, keys);
    while (!wrong && g_hash_table_iter_next(&iter, &key, NULL))
        wrong = wrong_key(of, GPOINTER_TO_UINT(key));
    return wrong;
}
