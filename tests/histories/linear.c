/* See linear.h. */
#include "histories/linear.h"

#include <stdlib.h>
#include <string.h>

#define UNDER_WAY_MOST 64
#define WAYS_MOST 400000

typedef struct way {
    int64_t values[OPERATION_FIELDS];
    uint64_t happened; /* bits: pending operations that have taken effect */
    /* What operations that began before that time can still see: the values before exempt writes. 0: none */
    uint64_t before_ns;
    int64_t before[OPERATION_FIELDS];
} way;

/* A way to continue, among ways that differ only in which unknown operations have taken effect. */
typedef struct kept_way {
    way way;
    bool dropped;
    struct kept_way *next;
} kept_way;

typedef struct event {
    uint64_t when_ns;
    const effect *of;
    bool begins;
} event;

typedef struct search {
    const effect *under_way[UNDER_WAY_MOST];
    uint64_t used;
    uint64_t unknown; /* pending operations whose outcome is unknown */
    GHashTable *seen; /* of the current step: way without its unknown bits, to kept_way */
    GPtrArray *ways;  /* of kept_way */
    bool too_many;
} search;

static guint
way_hash(gconstpointer key)
{
    const uint64_t *words = key;
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof(way) / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return (guint)(hash >> 32);
}

static gboolean
way_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(way)) == 0;
}

/* --- effects ------------------------------------------------------------------------------------------ */

static bool
has_values(const way *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1 && in->values[i] != of->values[i] && in->values[i] != OPERATION_ANY)
            return false;
    return true;
}

static void
forget_before(way *in)
{
    in->before_ns = 0;
    memset(in->before, 0, sizeof in->before);
}

/* The values before this write stay visible to operations that began before its end. */
static void
keep_before(way *in, const effect *of)
{
    if (!in->before_ns)
        memcpy(in->before, in->values, sizeof in->before);
    in->before_ns = in->before_ns ? MIN(in->before_ns, of->end_ns) : of->end_ns;
}

static void
set_values(way *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1)
            in->values[i] = of->values[i];
}

static void
expire_values(way *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1 && in->values[i] == of->values[i])
            in->values[i] = OPERATION_ABSENT;
}

static bool
add_values(way *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++) {
        if (!(of->fields >> i & 1))
            continue;
        int64_t before = in->values[i] == OPERATION_ABSENT ? 0 : in->values[i];
        in->values[i] = before + of->values[i];
        if (of->known && in->values[i] != of->results[i])
            return false;
    }
    return true;
}

/* False if the operation cannot take effect now with the results that it returned. */
static bool
happen(way *in, const effect *of)
{
    bool met = in->values[of->on] == of->expected;
    switch (of->kind) {
    case EFFECT_WRITE:
        set_values(in, of);
        return true;
    case EFFECT_READ:
        return has_values(in, of);
    case EFFECT_MET:
        set_values(in, of);
        return met;
    case EFFECT_NOT_MET:
        return !met;
    case EFFECT_IF:
        if (met)
            set_values(in, of);
        return met;
    case EFFECT_EXPIRES:
        expire_values(in, of);
        return true;
    case EFFECT_ADD:
        return add_values(in, of);
    }
    g_assert_not_reached();
}

static bool
changes_nothing(const effect *of)
{
    return of->kind == EFFECT_READ || of->kind == EFFECT_NOT_MET;
}

/* Unknown operations with the same effect are interchangeable: the first one takes effect first. */
static bool
is_alike(const effect *a, const effect *b)
{
    return a->end_ns == OPERATION_NEVER && b->end_ns == OPERATION_NEVER && a->kind == b->kind &&
           a->exempt == b->exempt && a->fields == b->fields && a->on == b->on && a->expected == b->expected &&
           memcmp(a->values, b->values, sizeof a->values) == 0;
}

static bool
has_elder_twin(const search *with, const way *in, int number)
{
    for (int i = 0; i < UNDER_WAY_MOST; i++)
        if (i != number && with->used >> i & 1 && !(in->happened >> i & 1) &&
            is_alike(with->under_way[i], with->under_way[number]) &&
            (with->under_way[i]->begin_ns < with->under_way[number]->begin_ns ||
             (with->under_way[i]->begin_ns == with->under_way[number]->begin_ns && i < number)))
            return true;
    return false;
}

/* --- ways ---------------------------------------------------------------------------------------------- */

/* A read of the current values can take effect now without excluding anything. */
static void
let_reads_happen(const search *with, way *in)
{
    for (int i = 0; i < UNDER_WAY_MOST; i++) {
        way same = *in;
        if (with->used >> i & 1 && !(in->happened >> i & 1) && changes_nothing(with->under_way[i]) &&
            happen(&same, with->under_way[i]))
            in->happened |= UINT64_C(1) << i;
    }
}

/* An unknown operation that has not taken effect can do so later, or never. So a way in which fewer of them
 * have taken effect allows everything that the other way allows. True if one of the kept ways is such a way,
 * or is this one. */
static bool
is_covered(kept_way *kept, uint64_t happened)
{
    bool covered = false;
    for (; kept; kept = kept->next) {
        if (kept->dropped)
            continue;
        covered = covered || (kept->way.happened & ~happened) == 0;
        kept->dropped = !covered && (happened & ~kept->way.happened) == 0;
    }
    return covered;
}

static void
add_way(search *with, way made)
{
    let_reads_happen(with, &made);
    way like = made;
    like.happened &= ~with->unknown;
    gpointer key = NULL, first = NULL;
    bool known = g_hash_table_lookup_extended(with->seen, &like, &key, &first);
    if (with->too_many || (known && is_covered(first, made.happened)))
        return;
    if (with->ways->len == WAYS_MOST) {
        with->too_many = true;
        return;
    }
    kept_way *kept = g_new(kept_way, 1);
    *kept = (kept_way){.way = made, .next = first};
    g_hash_table_insert(with->seen, g_memdup2(&like, sizeof like), kept);
    g_ptr_array_add(with->ways, kept);
}

static void
add_if_possible(search *with, way next, int number)
{
    if (!happen(&next, with->under_way[number]))
        return;
    next.happened |= UINT64_C(1) << number;
    add_way(with, next);
}

/* The operation takes effect on what everybody sees; or, if it compares or adds, on what it has read before
 * an exempt write. */
static void
expand_one(search *with, const way *from, int number)
{
    const effect *of = with->under_way[number];
    way next = *from;
    forget_before(&next);
    add_if_possible(with, next, number);
    if (of->kind == EFFECT_WRITE && of->exempt) {
        next = *from;
        keep_before(&next, of);
        add_if_possible(with, next, number);
    } else if (of->kind != EFFECT_WRITE && of->begin_ns < from->before_ns) {
        memcpy(next.values, from->before, sizeof next.values);
        add_if_possible(with, next, number);
    }
}

static void
expand(search *with, const way *from)
{
    for (int i = 0; i < UNDER_WAY_MOST; i++)
        if (with->used >> i & 1 && !(from->happened >> i & 1) && !changes_nothing(with->under_way[i]) &&
            !has_elder_twin(with, from, i))
            expand_one(with, from, i);
}

static GPtrArray *
begin_step(search *with)
{
    GPtrArray *before = with->ways;
    with->ways = g_ptr_array_new_with_free_func(g_free);
    g_hash_table_remove_all(with->seen);
    return before;
}

static void
begin_effect(search *with, const effect *of)
{
    int number = 0;
    while (number < UNDER_WAY_MOST && with->used >> number & 1)
        number++;
    if (number == UNDER_WAY_MOST) {
        with->too_many = true;
        return;
    }
    with->under_way[number] = of;
    with->used |= UINT64_C(1) << number;
    if (of->end_ns == OPERATION_NEVER)
        with->unknown |= UINT64_C(1) << number;
}

static int
number_of(const search *with, const effect *of)
{
    for (int i = 0; i < UNDER_WAY_MOST; i++)
        if (with->used >> i & 1 && with->under_way[i] == of)
            return i;
    g_assert_not_reached();
}

/* False if the operation has taken effect in none of the ways. */
static bool
end_effect(search *with, const effect *of)
{
    int number = number_of(with, of);
    uint64_t bit = UINT64_C(1) << number;
    GPtrArray *before = begin_step(with);
    for (guint i = 0; i < before->len; i++)
        if (!((kept_way *)before->pdata[i])->dropped)
            add_way(with, ((kept_way *)before->pdata[i])->way);
    g_ptr_array_unref(before);
    for (guint i = 0; i < with->ways->len && !with->too_many; i++) {
        const kept_way from = *(kept_way *)with->ways->pdata[i];
        if (!from.dropped && !(from.way.happened & bit))
            expand(with, &from.way);
    }
    before = begin_step(with);
    with->used &= ~bit;
    for (guint i = 0; i < before->len; i++) {
        way kept = ((kept_way *)before->pdata[i])->way;
        if (((kept_way *)before->pdata[i])->dropped || !(of->exempt || kept.happened & bit))
            continue;
        kept.happened &= ~bit;
        add_way(with, kept);
    }
    g_ptr_array_unref(before);
    return with->ways->len > 0 || with->too_many;
}

/* --- the search ---------------------------------------------------------------------------------------- */

static int
compare_events(const void *a, const void *b)
{
    const event *one = a, *other = b;
    if (one->when_ns != other->when_ns)
        return one->when_ns < other->when_ns ? -1 : 1;
    return one->begins == other->begins ? 0 : one->begins ? -1 : 1;
}

static GArray *
events_of(const effect *effects, size_t count)
{
    GArray *events = g_array_new(FALSE, FALSE, sizeof(event));
    for (size_t i = 0; i < count; i++) {
        event begin = {effects[i].begin_ns, &effects[i], true}, end = {effects[i].end_ns, &effects[i], false};
        g_array_append_val(events, begin);
        if (effects[i].end_ns != OPERATION_NEVER)
            g_array_append_val(events, end);
    }
    qsort(events->data, events->len, sizeof(event), compare_events);
    return events;
}

linear_verdict
linear_judge(const effect *effects, size_t count, const operation **ret_at)
{
    g_autoptr(GArray) events = events_of(effects, count);
    search with = {.seen = g_hash_table_new_full(way_hash, way_equal, g_free, NULL),
                   .ways = g_ptr_array_new_with_free_func(g_free)};
    way first = {.happened = 0};
    linear_verdict verdict = LINEAR_RIGHT;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        first.values[i] = OPERATION_ABSENT;
    add_way(&with, first);
    for (guint i = 0; i < events->len && verdict == LINEAR_RIGHT; i++) {
        const event *at = &g_array_index(events, event, i);
        if (at->begins)
            begin_effect(&with, at->of);
        else if (!with.too_many && !end_effect(&with, at->of))
            verdict = LINEAR_WRONG;
        if (with.too_many)
            verdict = LINEAR_TOO_MANY;
        if (verdict == LINEAR_WRONG && ret_at)
            *ret_at = at->of->of;
    }
    g_hash_table_destroy(with.seen);
    g_ptr_array_unref(with.ways);
    return verdict;
}
