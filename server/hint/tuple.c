/* See tuple.h. */
#include "hint/tuple.h"

kw_hint_part
kw_hint_part_of(kw_hint_fields tuple, kw_hint_fields given)
{
    if (!(tuple & given))
        return KW_HINT_OUTSIDE;
    return tuple & ~given ? KW_HINT_PARTIAL : KW_HINT_FULL;
}

/* The fields of all paths that have one of these fields. */
static kw_hint_fields
fields_of_touched(const kw_hint_fields *tuples, size_t count, kw_hint_fields fields)
{
    kw_hint_fields touched = 0;
    for (size_t i = 0; i < count; i++)
        if (tuples[i] & fields)
            touched |= tuples[i];
    return touched;
}

kw_hint_put
kw_hint_put_of(const kw_hint_fields *tuples, size_t count, kw_hint_fields given)
{
    kw_hint_put put = {.part = KW_HINT_OUTSIDE, .touched = fields_of_touched(tuples, count, given)};
    for (kw_hint_fields before = 0; before != put.touched;) {
        before = put.touched;
        put.touched = fields_of_touched(tuples, count, before);
    }
    if (put.touched)
        put.part = kw_hint_part_of(put.touched, given);
    return put;
}

kw_hint_mutation
kw_hint_mutation_of(kw_hint_put put, unsigned field, kw_hint_fields given, kw_hint_fields seen,
                    kw_write_order order)
{
    kw_hint_fields bit = (kw_hint_fields)1 << field;
    if (given & bit)
        return KW_HINT_WRITE_GIVEN;
    if (put.part != KW_HINT_PARTIAL || !(put.touched & bit))
        return KW_HINT_LEAVE;
    if (seen & bit)
        return KW_HINT_WRITE_SEEN;
    return order == KW_WRITE_ORDER_STORE ? KW_HINT_LEAVE : KW_HINT_WRITE_GONE;
}

int64_t
kw_hint_gone_until(int64_t stamp_ms)
{
    return stamp_ms - 1;
}

bool
kw_hint_is_needed(kw_hint_fields tuple, kw_hint_fields seen, kw_hint_fields given, kw_hint_fields changed,
                  bool expires)
{
    kw_hint_fields after = seen | given, added = given & ~seen;
    return !(tuple & ~after) && (expires || tuple & (changed | added));
}
