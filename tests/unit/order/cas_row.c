/* The rows of cas_model. */
#include "cas_world.h"

#include "change/ladder.h"

#include <glib.h>

cas_turn
op_turn(const cas_model *model, const op *of)
{
    return model->turns_count ? model->turns[of->turn] : CAS_ALLOWED;
}

/* True if plain writes of the call's version write kw:w. */
static bool
writes_writer(const cas_model *model, const op *of)
{
    cas_turn turn = op_turn(model, of);
    return turn == CAS_HELD
               ? kw_change_rules_at(KW_LADDER_ATOMICS, KW_OLD(STAMPED)).regime.order == KW_WRITE_ORDER_STAMP
               : turn == CAS_ALLOWED;
}

bool
op_is_removal(const op *of)
{
    return of->kind == CAS_REMOVE || of->kind == CAS_REMOVE_FIELD;
}

bool
op_is_plain(const op *of)
{
    return of->kind == CAS_PUT || of->kind == CAS_PUT_BOTH || op_is_removal(of);
}

bool
op_is_condition(const op *of)
{
    return of->kind == CAS_PUT_IF || of->kind == CAS_PUT_IF_OTHER;
}

uint8_t
op_writes(const op *of)
{
    switch (of->kind) {
    case CAS_PUT:
    case CAS_REMOVE_FIELD:
    case CAS_PUT_IF:
        return BIT(A);
    case CAS_PUT_BOTH:
    case CAS_REMOVE:
        return BIT(A) | BIT(B);
    case CAS_PUT_IF_OTHER:
    case CAS_INCREMENT:
        return BIT(B);
    default:
        return 0;
    }
}

static uint8_t
marker_of(const place *in, unsigned field)
{
    return field == A ? MAX(in->row_marker, in->a_marker) : in->row_marker;
}

cell
place_visible(const place *in, unsigned field)
{
    cell found = in->cells[field];
    uint8_t gone = field == A ? MAX(in->row_gone, in->a_gone) : in->row_gone;
    return found.stamp > marker_of(in, field) && found.stamp >= gone ? found : (cell){0, 0};
}

cell
place_writer(const place *in)
{
    return in->writer.stamp > in->row_marker ? in->writer : (cell){0, 0};
}

uint16_t
place_read(const place *from)
{
    uint16_t values = 0;
    for (unsigned i = 0; i < WATCHED; i++)
        values |= (uint16_t)(place_visible(from, i).value << (4 * i));
    return values;
}

uint8_t
place_newest(const place *in, bool writer)
{
    uint8_t newest = MAX(in->row_gone, in->a_gone);
    for (unsigned i = 0; i < WATCHED; i++)
        newest = MAX(newest, place_visible(in, i).stamp);
    return writer ? MAX(newest, place_writer(in).stamp) : newest;
}

static void
set_writer(place *in, const op *of, uint8_t stamp)
{
    if (stamp < in->writer.stamp || stamp <= in->row_marker)
        return;
    in->writer = (cell){stamp, of->id};
    in->writer_removes = op_is_removal(of);
}

static void
remove_from(const cas_model *model, place *from, const op *of)
{
    bool row = of->kind == CAS_REMOVE;
    uint8_t *marker = row ? &from->row_marker : &from->a_marker;
    uint8_t *gone = row ? &from->row_gone : &from->a_gone;
    *marker = MAX(*marker, of->stamp);
    if (row && from->row_gone <= of->stamp) /* the row's marker hides the older control cells */
        from->row_gone = 0;
    if (row && from->a_gone <= of->stamp)
        from->a_gone = 0;
    if (of->stamp + 1 > from->row_marker)
        *gone = (uint8_t)MAX(*gone, of->stamp + 1);
    if (!model->no_removal_writer && writes_writer(model, of))
        set_writer(from, of, (uint8_t)(of->stamp + !model->writer_too_low));
}

void
place_apply(const cas_model *model, place *to, const op *of)
{
    if (op_is_removal(of)) {
        remove_from(model, to, of);
        return;
    }
    for (unsigned i = 0; i < WATCHED; i++)
        if (op_writes(of) >> i & 1 && of->stamp >= to->cells[i].stamp)
            to->cells[i] = (cell){of->stamp, of->value};
    if (!op_is_plain(of) || (!model->no_writer && writes_writer(model, of)))
        set_writer(to, of, of->stamp);
}

void
place_purge(place *in)
{
    for (unsigned i = 0; i < WATCHED; i++)
        if (in->cells[i].stamp <= marker_of(in, i))
            in->cells[i] = (cell){0, 0};
    if (in->writer.stamp <= in->row_marker)
        in->writer = (cell){0, 0};
    in->row_marker = in->a_marker = 0;
}
