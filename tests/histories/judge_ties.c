/* See judge_tie. */
#include "histories/judge_private.h"

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
        bool unmet = of->kind == OPERATION_PUT_IF && of->outcome == OPERATION_OK && !of->applied;
        if (of->expected == from)
            of->expected = unmet ? OPERATION_ANY : to;
    }
}

/* The value that both values of a tie are replaced by. */
static int64_t
common_value(int64_t one, int64_t other)
{
    if (one >= JUDGE_EITHER || other >= JUDGE_EITHER)
        return MAX(one, other);
    return judge_matches(one) == judge_matches(other) ? one : one + JUDGE_EITHER;
}

operations *
judge_untie(const operations *all, const judge_tie *ties, size_t count)
{
    operations *made = operations_new();
    g_autofree judge_tie *left = g_memdup2(ties, count * sizeof *ties);
    g_array_append_vals(made, all->data, all->len);
    for (size_t i = 0; i < count; i++) {
        int64_t one = left[i].one, other = left[i].other, common = common_value(one, other);
        replace(made, left[i].record, one, common);
        replace(made, left[i].record, other, common);
        for (size_t later = i + 1; later < count; later++) { /* three with one timestamp */
            if (left[later].record != left[i].record)
                continue;
            if (left[later].one == one || left[later].one == other)
                left[later].one = common;
            if (left[later].other == one || left[later].other == other)
                left[later].other = common;
        }
    }
    return made;
}
