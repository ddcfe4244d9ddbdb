/* See clock_model.h. Gateways A and B know the clock from the start; C starts at some moment. */
#include "clock_model.h"
#include "base/units.h"

#include "store/known_time.h"

#include <glib.h>
#include <string.h>

#define GATEWAYS 3
#define BEGIN_MS 20

typedef enum phase { IDLE, SENT, SERVED, ANSWERED } phase;

typedef struct gateway {
    kw_known_time known;
    int64_t sent_ns;
    int64_t answered_ns;
    int64_t stamp_ms; /* of its cell in the store */
    uint8_t phase;
    uint8_t heartbeats_left;
    uint8_t stamp_is_upper_bound;
    uint8_t padding[5];
} gateway;

typedef struct world {
    int64_t now_ms;
    int64_t offset_ms;   /* of the store's clock */
    int64_t promised_ms; /* the newest stamp that some gateway can have acknowledged */
    uint8_t ticks_left, jumps_left;
    uint8_t wrong;
    uint8_t padding[5];
    gateway gateways[GATEWAYS];
} world;

typedef struct search {
    const clock_model *model;
    explorer *explorer;
} search;

/* Keeps only the last heartbeat, as if it were known for long enough. */
static void
forget_all_but_last(kw_known_time *known)
{
    int64_t fresh_ms = known->fresh_ns / KW_NS_PER_MS;
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
    if (model->latest_goes_back)
        known->least_ns = INT64_MIN;
    if (model->trusts_contradiction || (model->serves_at_once && first))
        forget_all_but_last(known);
}

static bool
read_time(const search *with, const world *in, gateway *self, kw_span *ret_span)
{
    int64_t now_ns = in->now_ms * KW_NS_PER_MS;
    if (with->model->latest_goes_back)
        self->known.least_ns = INT64_MIN;
    if (!with->model->never_expires || self->known.count == 0)
        return kw_known_time_read(&self->known, now_ns, ret_span);
    kw_known_time old = self->known;
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
    return ns == INT64_MIN ? INT64_MIN : (ns >= 0 ? ns : ns - KW_NS_PER_MS + 1) / KW_NS_PER_MS;
}

/* Every gateway that knows the time acknowledges up to its earliest possible time, and checks the next
 * stamp. */
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
step(const search *with, world *next, const char *action, int index)
{
    act(with, next);
    explore_step(with->explorer, next, action, index);
}

/* --- heartbeats ------------------------------------------------------------------------------- */

static void
serve(world *in, gateway *self)
{
    int64_t clock_ms = in->now_ms + in->offset_ms;
    self->stamp_is_upper_bound = clock_ms < self->stamp_ms;
    self->stamp_ms = MAX(self->stamp_ms, clock_ms);
    self->phase = SERVED;
}

static void
answer(const world *in, gateway *self)
{
    self->answered_ns = in->now_ms * KW_NS_PER_MS;
    self->phase = ANSWERED;
}

/* Reads the timestamp. Only this gateway writes the cell, so the timestamp is that of the put. */
static void
record(const search *with, world *in, gateway *self)
{
    kw_heartbeat sample = {.sent_ns = self->sent_ns,
                           .answered_ns = self->answered_ns,
                           .stamp_ms = self->stamp_ms,
                           .stamp_is_upper_bound = self->stamp_is_upper_bound};
    bool first = self->known.count == 0;
    kw_known_time_add_heartbeat(&self->known, &sample, in->now_ms * KW_NS_PER_MS);
    for (int i = 0; first && i < GATEWAYS; i++)
        if (&in->gateways[i] != self && !with->model->ignores_peers)
            kw_known_time_add_newest_stamp(&self->known, in->gateways[i].stamp_ms);
    self->phase = IDLE;
    self->stamp_is_upper_bound = 0;
    self->sent_ns = self->answered_ns = 0;
    remove_safeguards(with->model, &self->known, first);
}

static void
expand_gateway(const search *with, const world *in, int index)
{
    world next = *in;
    gateway *self = &next.gateways[index];
    if (self->phase == IDLE && self->heartbeats_left) {
        self->sent_ns = in->now_ms * KW_NS_PER_MS;
        self->heartbeats_left--;
        self->phase = SENT;
        if (with->model->slow) {
            step(with, &next, "sends a heartbeat", index);
            return;
        }
        serve(&next, self);
        answer(&next, self);
        record(with, &next, self);
        step(with, &next, "sends a heartbeat and reads it", index);
    } else if (self->phase == SENT) {
        serve(&next, self);
        step(with, &next, "is served", index);
    } else if (self->phase == SERVED) {
        answer(&next, self);
        step(with, &next, "is answered", index);
    } else if (self->phase == ANSWERED) {
        record(with, &next, self);
        step(with, &next, "reads the timestamp", index);
    }
}

/* --- the world -------------------------------------------------------------------------------- */

static void
expand_jumps(const search *with, const world *in)
{
    for (int jump = -with->model->max_jump; in->jumps_left && jump <= with->model->max_jump; jump++) {
        world next = *in;
        next.jumps_left--;
        next.offset_ms += jump;
        if (jump)
            step(with, &next, jump < 0 ? "the clock jumps back" : "the clock jumps forward", -1);
    }
}

static void
expand(explorer *self, const void *state, void *user)
{
    const world *in = state;
    const search with = {.model = user, .explorer = self};
    if (in->wrong)
        explore_wrong(self, "a stamp lower than an acknowledged one");
    for (int i = 0; i < 2 + with.model->starters && !explore_over(self); i++)
        expand_gateway(&with, in, i);
    expand_jumps(&with, in);
    if (in->ticks_left) {
        world next = *in;
        next.now_ms++;
        next.ticks_left--;
        step(&with, &next, "a millisecond passes", -1);
    }
}

/* The gateway has sent heartbeats until now. */
static void
begin_known(const search *with, world *in, gateway *self)
{
    int64_t end_ms = in->now_ms, fresh_ms = self->known.fresh_ns / KW_NS_PER_MS;
    for (in->now_ms = end_ms - 2 * fresh_ms; in->now_ms <= end_ms; in->now_ms += fresh_ms) {
        self->sent_ns = in->now_ms * KW_NS_PER_MS;
        serve(in, self);
        answer(in, self);
        record(with, in, self);
    }
    in->now_ms = end_ms;
}

explored
clock_model_explore(const clock_model *model, uint64_t states_max)
{
    const search with = {.model = model};
    world *first = g_new0(world, 1);
    first->now_ms = BEGIN_MS;
    first->promised_ms = INT64_MIN;
    first->ticks_left = (uint8_t)model->ticks;
    first->jumps_left = (uint8_t)model->jumps;
    for (int i = 0; i < GATEWAYS; i++) {
        gateway *self = &first->gateways[i];
        kw_known_time_init(&self->known, (model->fresh ? model->fresh : 2) * KW_NS_PER_MS);
        self->stamp_ms = INT64_MIN / 4;
        self->heartbeats_left = (uint8_t)model->heartbeats;
        if (i < 2)
            begin_known(&with, first, self);
    }
    explored found = explore(first, sizeof *first, expand, (void *)model, states_max);
    g_free(first);
    return found;
}
