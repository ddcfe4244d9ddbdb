/* See monitor.h. The bits of a linearization: 0-15 the record, 4 for each field; then 17 for each operation:
 * whether it has taken effect, and its result. */
#include "monitor.h"

#include <glib.h>
#include <string.h>

#define OP_BITS 17
#define OP_AT(number) (16 + OP_BITS * (number))

static uint16_t
state_of(linearization order)
{
    return (uint16_t)order;
}

static bool
has_happened(linearization order, int number)
{
    return (order >> OP_AT(number)) & 1;
}

static uint16_t
result_in(linearization order, int number)
{
    return (uint16_t)(order >> (OP_AT(number) + 1));
}

static linearization
without(linearization order, int number)
{
    return order & ~(((linearization)0x1ffff) << OP_AT(number));
}

static uint16_t
mask_of(uint8_t fields)
{
    uint16_t mask = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (fields >> i & 1)
            mask |= (uint16_t)(15u << (4 * i));
    return mask;
}

static uint8_t
value_in(uint16_t state, unsigned field)
{
    return state >> (4 * field) & 15;
}

static uint16_t
with_value(uint16_t state, unsigned field, unsigned value)
{
    return (uint16_t)((state & ~(15u << (4 * field))) | (value & 15u) << (4 * field));
}

/* True if the monitor watches a field of this operation. */
static bool
concerns(const monitor *of, const spec_op *op)
{
    return (op->view == 0 || op->view == of->view) &&
           (((op->writes | op->increments | op->reads | op->matches) & of->fields) ||
            (op->conditional && of->fields >> op->on & 1));
}

static bool
has_values(uint16_t state, const spec_op *op)
{
    for (unsigned i = 0; i < FIELDS; i++)
        if (op->matches >> i & 1 && value_in(state, i) != op->values[i])
            return false;
    return true;
}

/* A condition on a field that is not watched may or may not be met. */
static linearization
take_effect(const monitor *of, linearization order, const spec_op *op, int number)
{
    uint16_t state = state_of(order), result = 0;
    bool met = !op->conditional || value_in(state, op->on) == op->equals;
    for (unsigned i = 0; i < FIELDS && met; i++) {
        if (!(of->fields >> i & 1))
            continue;
        if (op->writes >> i & 1)
            state = with_value(state, i, op->values[i]);
        if (op->increments >> i & 1)
            state = with_value(state, i, value_in(state, i) + 1u);
    }
    if (op->conditional)
        result = met;
    else if (op->matches)
        result = has_values(state, op);
    else
        result = state & mask_of((op->increments | op->reads) & of->fields);
    order = (order & ~(linearization)0xffff) | state;
    return order | ((linearization)1 | (linearization)result << 1) << OP_AT(number);
}

/* --- sets of linearizations ------------------------------------------------------------------- */

typedef struct linearization_set {
    linearization list[MONITOR_STATES_MAX * 8];
    size_t count;
} linearization_set;

static void
add(linearization_set *to, linearization order)
{
    for (size_t i = 0; i < to->count; i++)
        if (to->list[i] == order)
            return;
    g_assert_cmpuint(to->count, <, G_N_ELEMENTS(to->list));
    to->list[to->count++] = order;
}

static int
compare(const void *a, const void *b)
{
    const linearization *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

static bool
keep_only(monitor *of, linearization_set *kept)
{
    g_assert_cmpuint(kept->count, <=, MONITOR_STATES_MAX);
    qsort(kept->list, kept->count, sizeof *kept->list, compare);
    memset(of->linearizations, 0, sizeof of->linearizations);
    memcpy(of->linearizations, kept->list, kept->count * sizeof *kept->list);
    of->count = (uint8_t)kept->count;
    return kept->count > 0;
}

/* All linearizations in which operations take effect until operation `last` has (-1: any number of them). An
 * operation that could follow `last` can as well take effect later. */
static linearization_set
extend_until(const monitor *of, const spec_ops *ops, int last)
{
    linearization_set all;
    all.count = of->count;
    memcpy(all.list, of->linearizations, of->count * sizeof *of->linearizations);
    for (size_t i = 0; i < all.count; i++) {
        if (last >= 0 && has_happened(all.list[i], last))
            continue;
        for (int number = 0; number < MONITOR_OPS; number++)
            if (ops->used >> number & 1 && concerns(of, &ops->ops[number]) &&
                !has_happened(all.list[i], number))
                add(&all, take_effect(of, all.list[i], &ops->ops[number], number));
    }
    return all;
}

/* --- operations ------------------------------------------------------------------------------- */

void
monitor_init(monitor *of, uint8_t fields, uint8_t view)
{
    memset(of, 0, sizeof *of);
    of->fields = fields;
    of->view = view;
    of->count = 1;
}

int
spec_begin(spec_ops *all, spec_op op)
{
    for (int number = 0; number < MONITOR_OPS; number++) {
        if (all->used >> number & 1)
            continue;
        all->used |= (uint8_t)(1u << number);
        all->ops[number] = op;
        return number;
    }
    return -1;
}

void
spec_end(spec_ops *all, int number)
{
    all->used &= (uint8_t) ~(1u << number);
    memset(&all->ops[number], 0, sizeof all->ops[number]);
}

bool
monitor_end(monitor *of, const spec_ops *all, int number, uint16_t result)
{
    const spec_op *op = &all->ops[number];
    if (!concerns(of, op))
        return true;
    uint16_t seen =
        op->conditional || op->matches ? result : result & mask_of((op->increments | op->reads) & of->fields);
    linearization_set found = extend_until(of, all, number), kept = {.count = 0};
    for (size_t i = 0; i < found.count; i++)
        if (has_happened(found.list[i], number) && result_in(found.list[i], number) == seen)
            add(&kept, without(found.list[i], number));
    return keep_only(of, &kept);
}

bool
monitor_failed(monitor *of, const spec_ops *all, int number)
{
    linearization_set kept = {.count = 0};
    (void)all;
    for (size_t i = 0; i < of->count; i++)
        if (!has_happened(of->linearizations[i], number))
            add(&kept, of->linearizations[i]);
    return keep_only(of, &kept);
}

bool
monitor_could_read(const monitor *of, const spec_ops *all, uint16_t values)
{
    linearization_set found = extend_until(of, all, -1);
    for (size_t i = 0; i < found.count; i++)
        if (state_of(found.list[i]) == (values & mask_of(of->fields)))
            return true;
    return false;
}
