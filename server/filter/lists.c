/* AND and OR combine the verdicts of their parts like HBase's FilterListWithAND and FilterListWithOR. */
#include "filter/node.h"

static bool
is_and(const kw_filter_node *node)
{
    return node->filter->kind == KW_FILTER_AND;
}

static kw_filter_node *
end_of(const kw_filter_node *node)
{
    return node->children + node->filter->children_count;
}

void
kw_list_reset(kw_filter_node *node)
{
    for (kw_filter_node *part = node->children; part < end_of(node); part++) {
        kw_filter_node_reset(part);
        part->returned_seek = part->included = part->can_repeat = false;
        part->last_code = KW_CODE_NONE;
    }
}

bool
kw_list_all_done(const kw_filter_node *node)
{
    for (const kw_filter_node *part = node->children; part < end_of(node); part++)
        if (kw_filter_node_all_done(part) == is_and(node))
            return is_and(node);
    return !is_and(node);
}

/* True for the filters that AND treats as able to return SEEK. As in HBase, TimestampsFilter is one of them,
 * although it never returns SEEK here. */
static bool
is_hinting(const kw_filter_node *node)
{
    kw_filter_kind kind = node->filter->kind;
    return kind == KW_FILTER_COLUMN_PREFIX || kind == KW_FILTER_MULTIPLE_COLUMN_PREFIX ||
           kind == KW_FILTER_COLUMN_RANGE || kind == KW_FILTER_TIMESTAMPS;
}

/* As in HBase, a part that can return SEEK and passes the row keeps it, even if other parts drop it. */
static bool
and_drops_key(kw_filter_node *node, kw_bytes row)
{
    bool dropped = false, hinting_passed = false;
    for (kw_filter_node *part = node->children; part < end_of(node); part++) {
        if (kw_filter_node_all_done(part))
            return true;
        if (kw_filter_node_drops_key(part, row))
            dropped = true; /* the other parts must be called, too, because they keep state */
        else if (is_hinting(part))
            hinting_passed = true;
    }
    return dropped && !hinting_passed;
}

bool
kw_list_drops_key(kw_filter_node *node, kw_bytes row)
{
    if (is_and(node))
        return and_drops_key(node, row);
    bool dropped = true;
    for (kw_filter_node *part = node->children; part < end_of(node); part++)
        if (!kw_filter_node_all_done(part) && !kw_filter_node_drops_key(part, row))
            dropped = false;
    return dropped;
}

bool
kw_list_drops_row(kw_filter_node *node)
{
    for (kw_filter_node *part = node->children; part < end_of(node); part++)
        if (kw_filter_node_drops_row(part) == is_and(node))
            return is_and(node);
    return !is_and(node);
}

/* --- AND ----------------------------------------------------------------------------------------- */

static bool
includes(kw_filter_code code)
{
    return code == KW_CODE_INCLUDE || code == KW_CODE_INCLUDE_AND_NEXT_COLUMN;
}

/* Combines codes; so_far includes the cell. */
static kw_filter_code
and_merge(kw_filter_code so_far, kw_filter_code code)
{
    if (code == KW_CODE_INCLUDE)
        return so_far;
    if (code == KW_CODE_SKIP && so_far == KW_CODE_INCLUDE_AND_NEXT_COLUMN)
        return KW_CODE_NEXT_COLUMN;
    return code;
}

/* Calls the parts up to the first one that does not include the cell. After it, calls only the parts that can
 * return SEEK. */
static kw_filter_code
and_cell(kw_filter_node *node, const kw_cell *cell)
{
    kw_filter_code code = KW_CODE_INCLUDE;
    bool any_seek = false;
    for (kw_filter_node *part = node->children; part < end_of(node); part++)
        part->returned_seek = false;
    for (kw_filter_node *part = node->children; part < end_of(node); part++) {
        if (!includes(code)) {
            part->returned_seek = is_hinting(part) && kw_filter_node_cell(part, cell) == KW_CODE_SEEK;
        } else if (kw_filter_node_all_done(part)) {
            code = KW_CODE_NEXT_ROW;
        } else {
            kw_filter_code own = kw_filter_node_cell(part, cell);
            part->returned_seek = own == KW_CODE_SEEK;
            code = and_merge(code, own);
        }
        any_seek = any_seek || part->returned_seek;
    }
    return any_seek ? KW_CODE_SEEK : code;
}

/* --- OR ------------------------------------------------------------------------------------------ */

/* Returns the part's code for an earlier cell if it also applies to this one. NONE: call the part. */
static kw_filter_code
or_repeated(const kw_filter_node *part, const kw_cell *cell)
{
    kw_bytes hint;
    if (!part->can_repeat)
        return KW_CODE_NONE;
    int order = kw_bytes_compare(cell->family, kw_buffer_bytes(&part->family));
    bool same_family = order == 0;
    bool same_column = same_family && kw_bytes_equal(kw_buffer_bytes(&part->qualifier), cell->qualifier);
    switch (part->last_code) {
    case KW_CODE_SEEK:
        if (!kw_filter_node_hint(part, &hint))
            return KW_CODE_NONE;
        if (same_family)
            order = kw_bytes_compare(cell->qualifier, hint);
        return order < 0 ? KW_CODE_SEEK : KW_CODE_NONE;
    case KW_CODE_NEXT_COLUMN:
    case KW_CODE_INCLUDE_AND_NEXT_COLUMN:
        return same_column ? KW_CODE_NEXT_COLUMN : KW_CODE_NONE;
    case KW_CODE_NEXT_ROW:
        return same_family ? KW_CODE_NEXT_ROW : KW_CODE_NONE;
    case KW_CODE_NONE:
    case KW_CODE_INCLUDE:
    case KW_CODE_SKIP:
        break;
    }
    return KW_CODE_NONE;
}

static void
or_record(kw_filter_node *part, const kw_cell *cell, kw_filter_code code)
{
    part->last_code = code;
    part->can_repeat = code != KW_CODE_INCLUDE && code != KW_CODE_SKIP;
    if (!part->can_repeat)
        return;
    part->family.size = part->qualifier.size = 0;
    kw_buffer_append(&part->family, cell->family);
    kw_buffer_append(&part->qualifier, cell->qualifier);
}

/* Combines codes. The result skips no more than the part that skips least. */
static kw_filter_code
or_merge(kw_filter_code so_far, kw_filter_code code)
{
    if (so_far == KW_CODE_NONE)
        return code;
    if (so_far == code)
        return code;
    if (includes(so_far) || includes(code)) {
        bool stays_in_column = so_far == KW_CODE_INCLUDE || code == KW_CODE_INCLUDE ||
                               so_far == KW_CODE_SKIP || code == KW_CODE_SKIP || so_far == KW_CODE_SEEK ||
                               code == KW_CODE_SEEK;
        return stays_in_column ? KW_CODE_INCLUDE : KW_CODE_INCLUDE_AND_NEXT_COLUMN;
    }
    if (so_far == KW_CODE_SKIP || code == KW_CODE_SKIP || so_far == KW_CODE_SEEK || code == KW_CODE_SEEK)
        return KW_CODE_SKIP;
    return KW_CODE_NEXT_COLUMN;
}

static kw_filter_code
or_cell(kw_filter_node *node, const kw_cell *cell)
{
    kw_filter_code code = KW_CODE_NONE;
    for (kw_filter_node *part = node->children; part < end_of(node); part++) {
        part->included = false;
        if (kw_filter_node_all_done(part))
            continue;
        kw_filter_code own = or_repeated(part, cell);
        if (own == KW_CODE_NONE)
            own = kw_filter_node_cell(part, cell);
        or_record(part, cell, own);
        code = or_merge(code, own);
        part->included = includes(own);
    }
    return code == KW_CODE_NONE ? KW_CODE_SKIP : code;
}

kw_filter_code
kw_list_cell(kw_filter_node *node, const kw_cell *cell)
{
    return is_and(node) ? and_cell(node, cell) : or_cell(node, cell);
}

/* --- hints --------------------------------------------------------------------------------------- */

/* AND: the greatest hint of the parts that returned SEEK. OR: the least hint, if all parts that are not done
 * have one. */
bool
kw_list_hint(const kw_filter_node *node, kw_bytes *ret_qualifier)
{
    bool has_hint = false;
    for (const kw_filter_node *part = node->children; part < end_of(node); part++) {
        kw_bytes hint;
        if ((is_and(node) && !part->returned_seek) || kw_filter_node_all_done(part))
            continue;
        if (!kw_filter_node_hint(part, &hint)) {
            if (!is_and(node))
                return false;
            continue;
        }
        int order = has_hint ? kw_bytes_compare(hint, *ret_qualifier) : 0;
        if (!has_hint || (is_and(node) ? order > 0 : order < 0))
            *ret_qualifier = hint;
        has_hint = true;
    }
    return has_hint;
}
