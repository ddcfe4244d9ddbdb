/* See clock_model.h. Gateways A and B have known the clock for long; C starts at some moment. */
#include "clock_model.h"

#include "store/known_time.h"

#include <glib.h>
#include <string.h>

#define GATEWAYS 3
#define BEGIN_MS 20
#define NS_PER_MS INT64_C(1000000)

typedef enum phase { IDLE, SENT, SERVED, ANSWERED } phase;

typedef struct gateway {
    kw_known_time known;
    int64_t sent_ns;
    int64_t answered_ns;
    int64_t stamp_ms; /* of its cell in the store */
    uint8_t phase;
    uint8_t heartbeats_left;
    uint8_t or_less;
    uint8_t padding[5];
} gateway;

typedef struct world {
    int64_t now_ms;
    int64_t offset_ms;   /* of the store's clock */
    int64_t promised_ms; /* the newest stamp that some gateway could have acknowledged */
    uint8_t ticks_left, jumps_left;
    uint8_t wrong;
    uint8_t padding[5];
    gateway gateways[GATEWAYS];
} world;

typedef struct search {
    const clock_model *model;
    explorer *of;
} search;

/* Only what the last heartbeat says, and that at once. */
static void
forget_all_but_last(kw_known_time *known)
{
    int64_t fresh_ms = known->fresh_ns / NS_PER_MS;
    kw_heartbeat last = known->heartbeats[known->count - 1], before = last;
    memset(known->heartbeats, 0, sizeof known->heartbeats);
    before.sent_ns -= known->fresh_ns;
    before.answered_ns -= known->fresh_ns;
    before.stamp_ms -= fresh_ms;
    known->heartbeats[0] = before;
    known->heartbeats[1] = last;
    known->count = 2;
}

static void
remove_safeguards(const clock_model *model, kw_known_time *known, bool first)
{
    if (model->goes_back)
        known->least_ns = INT64_MIN;
    if (model->believes_at_once || (model->serves_at_once && first))
        forget_all_but_last(known);
}

static bool
read_time(const search *with, const world *in, gateway *of, kw_span *ret_span)
{
    int64_t now_ns = in->now_ms * NS_PER_MS;
    if (with->model->goes_back)
        of->known.least_ns = INT64_MIN;
    if (!with->model->acts_on_old || of->known.count == 0)
        return kw_known_time_read(&of->known, now_ns, ret_span);
    kw_known_time old = of->known;
    int64_t since_ns = now_ns - old.heartbeats[old.count - 1].answered_ns;
    if (!kw_known_time_read(&old, now_ns - since_ns, ret_span))
        return false;
    ret_span->earliest_ns += since_ns;
    ret_span->latest_ns += since_ns;
    return true;
}

static int64_t
whole_ms(int64_t ns)
{
    return ns == INT64_MIN ? INT64_MIN : (ns >= 0 ? ns : ns - NS_PER_MS + 1) / NS_PER_MS;
}

/* Whoever may act does: acknowledges what has surely passed, and gives a stamp. */
static void
act(const search *with, world *in)
{
    kw_span span;
    for (int i = 0; i < GATEWAYS; i++)
        if (read_time(with, in, &in->gateways[i], &span))
            in->promised_ms = MAX(in->promised_ms, whole_ms(span.earliest_ns));
    for (int i = 0; i < GATEWAYS; i++)
        if (read_time(with, in, &in->gateways[i], &span) && whole_ms(span.latest_ns) < in->promised_ms)
            in->wrong = 1;
}

static void
step(const search *with, world *next, const char *what, int who)
{
    act(with, next);
    explore_step(with->of, next, what, who);
}

/* --- heartbeats ----------------------------------------------------------------------------------------- */

static void
serve(world *in, gateway *of)
{
    int64_t clock_ms = in->now_ms + in->offset_ms;
    of->or_less = clock_ms < of->stamp_ms;
    of->stamp_ms = MAX(of->stamp_ms, clock_ms);
    of->phase = SERVED;
}

static void
answer(const world *in, gateway *of)
{
    of->answered_ns = in->now_ms * NS_PER_MS;
    of->phase = ANSWERED;
}

/* The timestamp is read: nobody else writes the cell, so it is as it was when the put was served. */
static void
hear(const search *with, world *in, gateway *of)
{
    kw_heartbeat heard = {.sent_ns = of->sent_ns,
                          .answered_ns = of->answered_ns,
                          .stamp_ms = of->stamp_ms,
                          .or_less = of->or_less};
    bool first = of->known.count == 0;
    kw_known_time_heard(&of->known, &heard, in->now_ms * NS_PER_MS);
    for (int i = 0; first && i < GATEWAYS; i++)
        if (&in->gateways[i] != of && !with->model->looks_at_no_one)
            kw_known_time_saw(&of->known, in->gateways[i].stamp_ms);
    of->phase = IDLE;
    of->or_less = 0;
    of->sent_ns = of->answered_ns = 0;
    remove_safeguards(with->model, &of->known, first);
}

static void
expand_gateway(const search *with, const world *in, int who)
{
    world next = *in;
    gateway *of = &next.gateways[who];
    if (of->phase == IDLE && of->heartbeats_left) {
        of->sent_ns = in->now_ms * NS_PER_MS;
        of->heartbeats_left--;
        of->phase = SENT;
        if (with->model->slow) {
            step(with, &next, "sends a heartbeat", who);
            return;
        }
        serve(&next, of);
        answer(&next, of);
        hear(with, &next, of);
        step(with, &next, "heartbeats", who);
    } else if (of->phase == SENT) {
        serve(&next, of);
        step(with, &next, "is served", who);
    } else if (of->phase == SERVED) {
        answer(&next, of);
        step(with, &next, "is answered", who);
    } else if (of->phase == ANSWERED) {
        hear(with, &next, of);
        step(with, &next, "reads the timestamp", who);
    }
}

/* --- the world -------------------------------------------------------------------------------------------
 */

static void
expand_jumps(const search *with, const world *in)
{
    for (int by = -with->model->farthest; in->jumps_left && by <= with->model->farthest; by++) {
        world next = *in;
        next.jumps_left--;
        next.offset_ms += by;
        if (by)
            step(with, &next, by < 0 ? "the clock jumps back" : "the clock jumps forward", -1);
    }
}

static void
expand(explorer *of, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .of = of};
    if (in->wrong)
        explore_wrong(of, "a stamp below one that was acknowledged");
    for (int i = 0; i < 2 + with.model->starters && !explore_over(of); i++)
        expand_gateway(&with, in, i);
    expand_jumps(&with, in);
    if (in->ticks_left) {
        world next = *in;
        next.now_ms++;
        next.ticks_left--;
        step(&with, &next, "a millisecond passes", -1);
    }
}

/* It has sent heartbeats until now. */
static void
begin_known(const search *with, world *in, gateway *of)
{
    int64_t end_ms = in->now_ms, fresh_ms = of->known.fresh_ns / NS_PER_MS;
    for (in->now_ms = end_ms - 2 * fresh_ms; in->now_ms <= end_ms; in->now_ms += fresh_ms) {
        of->sent_ns = in->now_ms * NS_PER_MS;
        serve(in, of);
        answer(in, of);
        hear(with, in, of);
    }
    in->now_ms = end_ms;
}

explored
clock_model_explore(const clock_model *model, uint64_t states_most)
{
    const search with = {.model = model};
    world *first = g_new0(world, 1);
    first->now_ms = BEGIN_MS;
    first->promised_ms = INT64_MIN;
    first->ticks_left = (uint8_t)model->ticks;
    first->jumps_left = (uint8_t)model->jumps;
    for (int i = 0; i < GATEWAYS; i++) {
        gateway *of = &first->gateways[i];
        kw_known_time_init(&of->known, (model->fresh ? model->fresh : 2) * NS_PER_MS);
        of->stamp_ms = INT64_MIN / 4;
        of->heartbeats_left = (uint8_t)model->heartbeats;
        if (i < 2)
            begin_known(&with, first, of);
    }
    explored found = explore(first, sizeof *first, expand, (void *)model, states_most);
    g_free(first);
    return found;
}
