/* allocate: reserves generated values of a field for a caller who writes them itself. */
#include "verb/verb.h"

void
kw_verb_allocate(kw_call *call, const kw_table *table, size_t field, const kw_record *scope, int64_t count,
                 kw_allocated done, void *user)
{
    g_assert(field < table->fields_count);
    kw_generator_allocate(call->generator, table, field, scope->values, count, call->deadline, done, user);
}
