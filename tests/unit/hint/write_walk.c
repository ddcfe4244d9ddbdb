/* The places that gateways pass in write_model (server/change/ladder.c). See write_world.h. */
#include "write_world.h"

#define ALL_PATHS ((1u << PATHS_MAX) - 1)

uint8_t
place_hints(const search *with, unsigned place)
{
    const walk_rules *rules = &with->model->walk[place];
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
    const walk_rules *at = &with->model->walk[in->at], *from = &with->model->walk[in->from];
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
    unsigned needs = with->model->walk[in->at].needs;
    bool copied = in->copied || !(needs & KW_CHANGE_NEEDS_COPY);
    bool graced = is_after_grace(in) || !(needs & KW_CHANGE_NEEDS_GRACE);
    bool passed = true;
    for (int i = 0; i < in->at && needs & KW_CHANGE_NEEDS_CLOCK; i++)
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

/* Writes of tables with order: stamp leave kw:w in any case, and those of a path that changes, too. The old
 * placement of a path that is added is that of the primary path. */
static walk_rules
rules_at(const write_model *model, kw_change_ladder ladder, kw_change_place place)
{
    bool adds = ladder == KW_LADDER_ADD_HINTS || ladder == KW_LADDER_ADD_HINTS_STAMP;
    const kw_change_rules rules = kw_change_rules_at(ladder, place);
    const kw_role old = rules.old_role, new = rules.new_role;
    return (walk_rules){.marks = model->order == KW_WRITE_ORDER_STAMP || !adds || place > KW_OLD(UNSTAMPED),
                        .hints_old = !adds && old.put,
                        .hints_new = new.put,
                        .reads_old = !adds && (old.scan || rules.both_complete),
                        .reads_new = new.scan || rules.both_complete};
}

void
write_model_walk(write_model *model, kw_change_ladder ladder, kw_change_place from, kw_change_place to)
{
    kw_change_direction direction = to < from ? KW_CHANGE_BACK : KW_CHANGE_FORWARD;
    model->places = 0;
    for (kw_change_place at = from;;) {
        kw_change_move move = kw_change_move_from(ladder, at, direction);
        walk_rules *rules = &model->walk[model->places++];
        *rules = rules_at(model, ladder, at);
        rules->needs = move.needs;
        if (at == to)
            return;
        g_assert_cmpuint(move.to, !=, KW_PLACE_NONE);
        at = move.to;
    }
}
