/* See single.h. */
#include "verb/single.h"

#include "verb/cells.h"

bool
kw_single_path(const kw_table *table, const char *verb, kw_error *ret_error)
{
    return table->paths_count == 1 ||
           kw_error_set(
               ret_error, KW_INVALID,
               "table %s: %s works on tables with one path; this one has %zu, which cannot change together",
               table->name, verb, table->paths_count);
}

bool
kw_single_key(kw_call *call, const kw_table *table, const kw_record *record, kw_bytes *ret_row,
              kw_error *ret_error)
{
    kw_buffer scratch = KW_BUFFER_EMPTY;
    bool made = kw_row_key(&table->paths[0], record, &scratch, call->arena, ret_row, ret_error);
    kw_buffer_clear(&scratch);
    return made;
}
