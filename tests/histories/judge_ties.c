/* See judge_tie. */
#include "histories/judge.h"

static void
replace(operations *in, uint32_t record, int64_t from, int64_t to)
{
    for (guint i = 0; i < in->len; i++) {
        operation *of = operation_at(in, i);
        bool has_values =
            of->kind != OPERATION_INCREMENT && of->kind != OPERATION_NUMBER && of->kind != OPERATION_SCAN;
        if (of->record != record || !has_values)
            continue;
        for (int field = 0; field < 2; field++)
            if (of->fields >> field & 1 && of->values[field] == from)
                of->values[field] = to;
        if (of->expected == from)
            of->expected = to;
    }
}

operations *
judge_untie(const operations *all, const judge_tie *ties, size_t count)
{
    operations *made = operations_new();
    g_autofree judge_tie *left = g_memdup2(ties, count * sizeof *ties);
    g_array_append_vals(made, all->data, all->len);
    for (size_t i = 0; i < count; i++) {
        replace(made, left[i].record, left[i].other, left[i].one);
        for (size_t later = i + 1; later < count; later++) { /* three with one timestamp */
            if (left[later].record != left[i].record)
                continue;
            if (left[later].one == left[i].other)
                left[later].one = left[i].one;
            if (left[later].other == left[i].other)
                left[later].other = left[i].one;
        }
    }
    return made;
}
