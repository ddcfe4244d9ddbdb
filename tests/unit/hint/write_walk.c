/* The places that gateways pass in write_model (server/hint/rung.h). See write_world.h. */
#include "write_world.h"

#define ALL_PATHS ((1u << PATHS_MAX) - 1)

uint8_t
place_hints(const search *with, unsigned place)
{
    const kw_hint_rules *rules = &with->model->walk[place];
    return with->model->places ? (uint8_t)(rules->hints_old | rules->hints_new << 1) : ALL_PATHS;
}

bool
place_marks(const search *with, unsigned place)
{
    return !with->model->places || with->model->walk[place].marks;
}

uint8_t
paths_read(const search *with, const world *in)
{
    const kw_hint_rules *at = &with->model->walk[in->at], *from = &with->model->walk[in->from];
    bool old = at->reads_old || from->reads_old, new = at->reads_new || from->reads_new;
    return with->model->places ? (uint8_t)(old | new << 1) : ALL_PATHS;
}

bool
is_after_grace(const world *in)
{
    for (int i = LATE; i < CALLS; i++)
        if (in->calls[i].kind)
            return false;
    return true;
}

static bool
has_calls_of(const world *in, uint8_t place)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (in->calls[i].kind && in->calls[i].place == place)
            return true;
    return false;
}

static bool
meets_needs(const search *with, const world *in)
{
    unsigned needs = with->model->needs[in->at];
    bool copied = in->copied || !(needs & KW_HINT_NEEDS_COPY);
    bool graced = is_after_grace(in) || !(needs & KW_HINT_NEEDS_GRACE);
    bool passed = true;
    for (int i = 0; i < in->at && needs & KW_HINT_NEEDS_CLOCK; i++)
        passed = passed && in->now > in->max_stamp[i];
    return copied && graced && passed;
}

void
walk_expand(const search *with, const world *in)
{
    world next = *in;
    if (in->from != in->at) {
        if (has_calls_of(in, in->from) && !with->model->no_drain)
            return;
        next.from = in->at;
        take_step(with, &next, "all gateways have reported", -1);
        return;
    }
    if (in->at + 1 >= with->model->places || in->calls[CLEANER].kind || !meets_needs(with, in))
        return;
    next.at++;
    next.copied = 0;
    take_step(with, &next, "the next place is set", -1);
}

void
write_model_walk(write_model *model, kw_hint_place from, kw_hint_place to)
{
    bool back = to < from;
    model->places = 0;
    for (kw_hint_place at = from;;) {
        kw_hint_move move = kw_hint_move_from(at, model->order, back);
        model->walk[model->places] = kw_hint_rules_at(at);
        model->needs[model->places++] = move.needs;
        if (at == to)
            return;
        g_assert_cmpint(move.to, <, KW_HINT_PLACES);
        at = move.to;
    }
}
