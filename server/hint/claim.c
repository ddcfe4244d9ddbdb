/* See claim.h. docs/design/paths.md gives the reasons. */
#include "hint/claim.h"

#include <glib.h>

static kw_hint_claim_step
after_look(const kw_hint_claim_facts *facts)
{
    if (facts->holds)
        return KW_HINT_CLAIM_REFUSED;
    if (facts->atomics)
        return KW_HINT_CLAIM_FENCE;
    return facts->is_old ? KW_HINT_CLAIM_WRITE : KW_HINT_CLAIM_BUSY;
}

kw_hint_claim_step
kw_hint_claim_next(kw_hint_claim_step step, const kw_hint_claim_facts *facts)
{
    if (!facts->met)
        return KW_HINT_CLAIM_READ;
    switch (step) {
    case KW_HINT_CLAIM_READ:
        return facts->is_other ? KW_HINT_CLAIM_LOOK : KW_HINT_CLAIM_WRITE;
    case KW_HINT_CLAIM_LOOK:
        return after_look(facts);
    case KW_HINT_CLAIM_FENCE:
        return KW_HINT_CLAIM_WRITE;
    case KW_HINT_CLAIM_WRITE:
        return KW_HINT_CLAIM_ROW;
    case KW_HINT_CLAIM_ROW:
        return KW_HINT_CLAIM_OK;
    case KW_HINT_CLAIM_OK:
    case KW_HINT_CLAIM_REFUSED:
    case KW_HINT_CLAIM_BUSY:
        break;
    }
    g_assert_not_reached();
}

bool
kw_hint_claim_can_be_cleaned(const kw_hint_facts *facts, const kw_hint_limits *limits)
{
    return kw_hint_is_old(facts->hint_ms, facts->earliest_ms, limits) && !facts->has_tuple;
}
