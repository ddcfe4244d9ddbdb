/* The row and the hints of write_model, as HBase keeps them. See write_world.h. */
#include "write_world.h"

static bool
is_visible(const search *with, const world *in, const cell *of, uint8_t marker)
{
    bool expired = with->model->ttl && in->now >= of->at + with->model->ttl;
    return of->at > marker && !expired;
}

uint8_t
row_value(const search *with, const world *in, unsigned field)
{
    const cell *of = &in->row.fields[field];
    return is_visible(with, in, of, in->row.markers[field]) ? of->value : 0;
}

uint8_t
row_fields(const search *with, const world *in)
{
    uint8_t fields = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (row_value(with, in, i))
            fields |= (uint8_t)(1u << i);
    return fields;
}

uint8_t
row_newest(const search *with, const world *in, uint8_t fields)
{
    uint8_t newest = 0;
    for (unsigned i = 0; i < FIELDS; i++) {
        uint8_t marker = in->row.markers[i];
        if (!(fields >> i & 1))
            continue;
        if (row_value(with, in, i))
            newest = MAX(newest, in->row.fields[i].at);
        if (with->model->order == KW_WRITE_ORDER_STAMP && marker)
            newest = MAX(newest, (uint8_t)(marker + 1));
    }
    return newest;
}

/* Of two cells with equal timestamps, the one that arrives later is visible. */
void
cell_put(cell *to, uint8_t at, uint8_t value)
{
    if (at >= to->at)
        *to = (cell){at, value};
}

bool
hint_is_visible(const search *with, const world *in, size_t path, unsigned tuple)
{
    const hint *of = &in->hints[path][tuple];
    bool expired = with->model->hint_ttl && in->now >= of->at + with->model->hint_ttl;
    return of->at > of->marker && !expired;
}

void
hint_put(const search *with, world *in, size_t path, unsigned tuple)
{
    hint *to = &in->hints[path][tuple];
    (void)with;
    to->at = MAX(to->at, (uint8_t)(in->now - in->slow[HINT]));
}

unsigned
tuple_number(kw_hint_fields tuple, const uint8_t *values)
{
    unsigned number = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (tuple >> i & 1)
            number = number << 1 | (values[i] - 1u);
    return number;
}

void
tuple_values(kw_hint_fields tuple, unsigned number, uint8_t *ret_values)
{
    for (unsigned i = FIELDS; i-- > 0;) {
        if (!(tuple >> i & 1))
            continue;
        ret_values[i] = (uint8_t)((number & 1) + 1);
        number >>= 1;
    }
}

bool
row_tuple(const search *with, const world *in, size_t path, unsigned *ret_number)
{
    kw_hint_fields tuple = with->model->tuples[path];
    uint8_t values[FIELDS];
    if (tuple & ~(kw_hint_fields)row_fields(with, in))
        return false;
    for (unsigned i = 0; i < FIELDS; i++)
        values[i] = row_value(with, in, i);
    *ret_number = tuple_number(tuple, values);
    return true;
}

bool
row_lacks_hint(const search *with, const world *in)
{
    unsigned number;
    for (size_t path = 0; path < with->model->paths; path++)
        if (paths_read(with, in) >> path & 1 && row_tuple(with, in, path, &number) &&
            !hint_is_visible(with, in, path, number))
            return true;
    return false;
}
