/* See linear.h. */
#include "histories/linear.h"

#include <stdlib.h>
#include <string.h>

#define UNDER_WAY_MOST 64
#define WAYS_MOST 400000

typedef struct way {
    int64_t values[LINEAR_VIEWS_MOST][OPERATION_FIELDS];
    uint64_t happened[LINEAR_VIEWS_MOST]; /* bits: pending operations that have taken effect in the view */
    /* In the first view, what operations that began before that time can still see: the values before exempt
     * writes. 0: none */
    uint64_t before_ns;
    int64_t before[OPERATION_FIELDS];
    /* The writes that only the view `ahead` shows, in their order. The rest of the array is 0. */
    uint64_t ahead, queued;
    uint8_t queue[UNDER_WAY_MOST];
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
    unsigned views;
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
has_values(const int64_t *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1 && in[i] != of->values[i] && in[i] != OPERATION_ANY)
            return false;
    return true;
}

/* True if the record is in the ranges of a query by a hint path. */
static bool
is_in_path(const int64_t *in, const effect *miss)
{
    for (int i = 0; i < OPERATION_FIELDS; i++) {
        bool asks = miss->fields >> i & 1, is_bound = miss->bound >> i & 1;
        bool is_there =
            miss->exact ? in[i] == miss->values[i] : operation_side(in[i]) == (miss->sides >> i & 1u);
        if (asks && (in[i] == OPERATION_ABSENT || (is_bound && !is_there)))
            return false;
    }
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
        memcpy(in->before, in->values[0], sizeof in->before);
    in->before_ns = in->before_ns ? MIN(in->before_ns, of->end_ns) : of->end_ns;
}

static void
set_values(int64_t *in, const effect *of, const int64_t *values)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1)
            in[i] = values[i];
}

static void
expire_values(int64_t *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1 && in[i] == of->values[i])
            in[i] = OPERATION_ABSENT;
}

static bool
add_values(int64_t *in, const effect *of)
{
    for (int i = 0; i < OPERATION_FIELDS; i++) {
        if (!(of->fields >> i & 1))
            continue;
        int64_t before = in[i] == OPERATION_ABSENT ? 0 : in[i];
        in[i] = before + of->values[i];
        if (of->known && in[i] != of->results[i])
            return false;
    }
    return true;
}

static bool
decides(const effect *of)
{
    return of->kind == EFFECT_MET || of->kind == EFFECT_IF || of->kind == EFFECT_ADD;
}

/* Changes the values of a view. False if the operation cannot take effect now with the results that it
 * returned. */
static bool
happen(int64_t *in, const effect *of, unsigned view)
{
    bool met = in[of->on] == of->expected;
    if (view > 0 && decides(of)) {
        set_values(in, of, of->shown);
        return true;
    }
    switch (of->kind) {
    case EFFECT_WRITE:
    case EFFECT_REWRITE:
        set_values(in, of, of->values);
        return true;
    case EFFECT_READ:
        return has_values(in, of);
    case EFFECT_MISS:
        return !is_in_path(in, of);
    case EFFECT_MET:
        set_values(in, of, of->values);
        return met;
    case EFFECT_NOT_MET:
        return !met || of->expected == OPERATION_ANY;
    case EFFECT_IF:
        if (met)
            set_values(in, of, of->values);
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
    return of->kind == EFFECT_READ || of->kind == EFFECT_MISS || of->kind == EFFECT_NOT_MET;
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
has_elder_twin(const search *with, const way *in, int number, unsigned view)
{
    for (int i = 0; i < UNDER_WAY_MOST; i++)
        if (i != number && with->used >> i & 1 && !(in->happened[view] >> i & 1) &&
            is_alike(with->under_way[i], with->under_way[number]) &&
            (with->under_way[i]->begin_ns < with->under_way[number]->begin_ns ||
             (with->under_way[i]->begin_ns == with->under_way[number]->begin_ns && i < number)))
            return true;
    return false;
}

/* --- views --------------------------------------------------------------------------------------------- */

/* True if the write can be the next one in the view: the view that is not ahead gets the writes of the other
 * one first, in their order. */
static bool
is_next(const way *in, int number, unsigned view)
{
    return in->queued == 0 || in->ahead == view || in->queue[0] == number;
}

static void
note_order(const search *with, way *in, int number, unsigned view)
{
    if (with->views == 1)
        return;
    if (in->queued == 0 || in->ahead == view) {
        in->queue[in->queued++] = (uint8_t)number;
        in->ahead = view;
        return;
    }
    memmove(in->queue, in->queue + 1, --in->queued);
    in->queue[in->queued] = 0;
    if (in->queued == 0)
        in->ahead = 0;
}

static bool
has_happened(const search *with, const way *in, int number)
{
    for (unsigned view = 0; view < with->views; view++)
        if (!(in->happened[view] >> number & 1))
            return false;
    return true;
}

static bool
has_begun(const search *with, const way *in, int number)
{
    for (unsigned view = 0; view < with->views; view++)
        if (in->happened[view] >> number & 1)
            return true;
    return false;
}

/* --- ways ---------------------------------------------------------------------------------------------- */

/* A read of the current values can take effect now without excluding anything. */
static void
let_reads_happen(const search *with, way *in)
{
    for (int i = 0; i < UNDER_WAY_MOST; i++) {
        const effect *of = with->under_way[i];
        if (with->used >> i & 1 && !(in->happened[0] >> i & 1) && changes_nothing(of) &&
            happen(in->values[of->view], of, 0))
            for (unsigned view = 0; view < with->views; view++)
                in->happened[view] |= UINT64_C(1) << i;
    }
}

/* An unknown operation that has not taken effect can do so later, or never. So a way in which fewer of them
 * have taken effect allows everything that the other way allows. True if one of the kept ways is such a way,
 * or is this one. */
static bool
is_covered(kept_way *kept, const way *made)
{
    bool covered = false;
    for (; kept; kept = kept->next) {
        if (kept->dropped)
            continue;
        /* Both ways have the same queue, so an operation in which they differ has taken effect in all views
         * of one of them, and in no view of the other one. */
        covered = covered || (kept->way.happened[0] & ~made->happened[0]) == 0;
        kept->dropped = !covered && (made->happened[0] & ~kept->way.happened[0]) == 0;
    }
    return covered;
}

static void
add_way(search *with, way made)
{
    let_reads_happen(with, &made);
    way like = made;
    for (unsigned view = 0; view < with->views; view++)
        like.happened[view] &= ~with->unknown;
    gpointer key = NULL, first = NULL;
    bool known = g_hash_table_lookup_extended(with->seen, &like, &key, &first);
    if (with->too_many || (known && is_covered(first, &made)))
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
add_if_possible(search *with, way next, int number, unsigned view)
{
    if (!happen(next.values[view], with->under_way[number], view))
        return;
    next.happened[view] |= UINT64_C(1) << number;
    note_order(with, &next, number, view);
    add_way(with, next);
}

/* The operation takes effect on what everybody sees; or, if it compares or adds, on what it has read before
 * an exempt write. */
static void
expand_first_view(search *with, const way *from, int number)
{
    const effect *of = with->under_way[number];
    way next = *from;
    forget_before(&next);
    add_if_possible(with, next, number, 0);
    if (of->kind == EFFECT_WRITE && of->exempt) {
        next = *from;
        keep_before(&next, of);
        add_if_possible(with, next, number, 0);
    } else if (of->kind != EFFECT_WRITE && of->begin_ns < from->before_ns) {
        memcpy(next.values[0], from->before, sizeof from->before);
        add_if_possible(with, next, number, 0);
    }
}

/* The operation with this number ends, so it must take effect. Other operations take effect before it only in
 * the same view: whatever else takes effect can do so later. So if it must take effect in both views, it does
 * so in the first one first. */
static unsigned
view_of_end(const search *with, const way *from, int number)
{
    const effect *of = with->under_way[number];
    return changes_nothing(of) ? of->view : (unsigned)(from->happened[0] >> number & 1);
}

static void
expand(search *with, const way *from, int number)
{
    unsigned view = view_of_end(with, from, number);
    for (int i = 0; i < UNDER_WAY_MOST; i++) {
        if (!(with->used >> i & 1) || from->happened[view] >> i & 1 || changes_nothing(with->under_way[i]) ||
            !is_next(from, i, view) || has_elder_twin(with, from, i, view))
            continue;
        if (view == 0)
            expand_first_view(with, from, i);
        else
            add_if_possible(with, *from, i, view);
    }
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

/* Adds the ways in which the operation takes effect now. */
static void
let_happen(search *with, int number)
{
    GPtrArray *before = begin_step(with);
    for (guint i = 0; i < before->len; i++)
        if (!((kept_way *)before->pdata[i])->dropped)
            add_way(with, ((kept_way *)before->pdata[i])->way);
    g_ptr_array_unref(before);
    for (guint i = 0; i < with->ways->len && !with->too_many; i++) {
        const kept_way from = *(kept_way *)with->ways->pdata[i];
        if (!from.dropped && !has_happened(with, &from.way, number))
            expand(with, &from.way, number);
    }
}

/* False if the operation has taken effect in none of the ways. */
static bool
end_effect(search *with, const effect *of)
{
    int number = number_of(with, of);
    let_happen(with, number);
    GPtrArray *before = begin_step(with);
    with->used &= ~(UINT64_C(1) << number);
    for (guint i = 0; i < before->len; i++) {
        way kept = ((kept_way *)before->pdata[i])->way;
        bool lost = of->exempt && !has_begun(with, &kept, number);
        if (((kept_way *)before->pdata[i])->dropped || !(lost || has_happened(with, &kept, number)))
            continue;
        for (unsigned view = 0; view < with->views; view++)
            kept.happened[view] &= ~(UINT64_C(1) << number);
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
linear_judge(const effect *effects, size_t count, unsigned views, const operation **ret_at)
{
    g_assert(views >= 1 && views <= LINEAR_VIEWS_MOST);
    g_autoptr(GArray) events = events_of(effects, count);
    search with = {.views = views,
                   .seen = g_hash_table_new_full(way_hash, way_equal, g_free, NULL),
                   .ways = g_ptr_array_new_with_free_func(g_free)};
    way first = {.before_ns = 0};
    linear_verdict verdict = LINEAR_RIGHT;
    for (unsigned view = 0; view < LINEAR_VIEWS_MOST; view++)
        for (int i = 0; i < OPERATION_FIELDS; i++)
            first.values[view][i] = OPERATION_ABSENT;
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
