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
        kw_node_reset(part);
        part->hints = part->included = part->remembers = false;
        part->before = KW_CODE_NONE;
    }
}

bool
kw_list_all_done(const kw_filter_node *node)
{
    for (const kw_filter_node *part = node->children; part < end_of(node); part++)
        if (kw_node_all_done(part) == is_and(node))
            return is_and(node);
    return !is_and(node);
}

/* True for filters that can return SEEK with a hint. */
static bool
is_hinting(const kw_filter_node *node)
{
    kw_filter_kind kind = node->filter->kind;
    return kind == KW_FILTER_COLUMN_PREFIX || kind == KW_FILTER_MULTIPLE_COLUMN_PREFIX ||
           kind == KW_FILTER_COLUMN_RANGE || kind == KW_FILTER_TIMESTAMPS;
}

static bool
and_drops_key(kw_filter_node *node, kw_bytes row)
{
    bool dropped = false, saved = false;
    for (kw_filter_node *part = node->children; part < end_of(node); part++) {
        if (kw_node_all_done(part))
            return true;
        if (kw_node_drops_key(part, row))
            dropped = true; /* the other parts must still see the row */
        else if (is_hinting(part))
            saved = true;
    }
    return dropped && !saved;
}

bool
kw_list_drops_key(kw_filter_node *node, kw_bytes row)
{
    if (is_and(node))
        return and_drops_key(node, row);
    bool dropped = true;
    for (kw_filter_node *part = node->children; part < end_of(node); part++)
        if (!kw_node_all_done(part) && !kw_node_drops_key(part, row))
            dropped = false;
    return dropped;
}

bool
kw_list_drops_row(kw_filter_node *node)
{
    for (kw_filter_node *part = node->children; part < end_of(node); part++)
        if (kw_node_drops_row(part) == is_and(node))
            return is_and(node);
    return !is_and(node);
}

/* --- AND ----------------------------------------------------------------------------------------- */

static bool
includes(kw_filter_code code)
{
    return code == KW_CODE_INCLUDE || code == KW_CODE_INCLUDE_AND_NEXT_COLUMN;
}

/* Combines verdicts; so_far includes the cell. */
static kw_filter_code
and_merge(kw_filter_code so_far, kw_filter_code code)
{
    if (code == KW_CODE_INCLUDE)
        return so_far;
    if (code == KW_CODE_SKIP && so_far == KW_CODE_INCLUDE_AND_NEXT_COLUMN)
        return KW_CODE_NEXT_COLUMN;
    return code;
}

/* Stops at the first part that does not include the cell, except that parts which can have a hint are still
 * called. */
static kw_filter_code
and_cell(kw_filter_node *node, const kw_cell *cell)
{
    kw_filter_code code = KW_CODE_INCLUDE;
    bool hinted = false;
    for (kw_filter_node *part = node->children; part < end_of(node); part++)
        part->hints = false;
    for (kw_filter_node *part = node->children; part < end_of(node); part++) {
        if (!includes(code)) {
            part->hints = is_hinting(part) && kw_node_cell(part, cell) == KW_CODE_SEEK;
        } else if (kw_node_all_done(part)) {
            code = KW_CODE_NEXT_ROW;
        } else {
            kw_filter_code own = kw_node_cell(part, cell);
            part->hints = own == KW_CODE_SEEK;
            code = and_merge(code, own);
        }
        hinted = hinted || part->hints;
    }
    return hinted ? KW_CODE_SEEK : code;
}

/* --- OR ------------------------------------------------------------------------------------------ */

/* The part's verdict on an earlier cell, if it also applies to this one; NONE if the part must be called. */
static kw_filter_code
or_remembered(const kw_filter_node *part, const kw_cell *cell)
{
    kw_bytes hint;
    if (!part->remembers)
        return KW_CODE_NONE;
    int family = kw_bytes_compare(cell->family, kw_buffer_bytes(&part->family));
    bool same_family = family == 0;
    bool same_column = same_family && kw_bytes_equal(kw_buffer_bytes(&part->qualifier), cell->qualifier);
    switch (part->before) {
    case KW_CODE_SEEK:
        if (!kw_node_hint(part, &hint))
            return KW_CODE_NONE;
        if (same_family)
            family = kw_bytes_compare(cell->qualifier, hint);
        return family < 0 ? KW_CODE_SEEK : KW_CODE_NONE;
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
or_remember(kw_filter_node *part, const kw_cell *cell, kw_filter_code code)
{
    part->before = code;
    part->remembers = code != KW_CODE_INCLUDE && code != KW_CODE_SKIP;
    if (!part->remembers)
        return;
    part->family.size = part->qualifier.size = 0;
    kw_buffer_append(&part->family, cell->family);
    kw_buffer_append(&part->qualifier, cell->qualifier);
}

/* Combines verdicts: skips no more than the part that skips least. */
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
        if (kw_node_all_done(part))
            continue;
        kw_filter_code own = or_remembered(part, cell);
        if (own == KW_CODE_NONE)
            own = kw_node_cell(part, cell);
        or_remember(part, cell, own);
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

/* AND uses the farthest hint; OR the nearest, if all parts have one. */
bool
kw_list_hint(const kw_filter_node *node, kw_bytes *ret_qualifier)
{
    bool some = false;
    for (const kw_filter_node *part = node->children; part < end_of(node); part++) {
        kw_bytes hint;
        if ((is_and(node) && !part->hints) || kw_node_all_done(part))
            continue;
        if (!kw_node_hint(part, &hint)) {
            if (!is_and(node))
                return false;
            continue;
        }
        int order = some ? kw_bytes_compare(hint, *ret_qualifier) : 0;
        if (!some || (is_and(node) ? order > 0 : order < 0))
            *ret_qualifier = hint;
        some = true;
    }
    return some;
}
