/* The bytes of one table in the catalog: form 1, integers big-endian, byte strings and lists with a
 * 32-bit count in front. */
#pragma once

#include "store/embedded/tables.h"

/* Appends the table's form. */
void kw_table_record_write(kw_buffer *to, uint32_t id, kw_bytes name, const kw_table_spec *spec);

/* A new table out of the bytes, NULL when they are not such a form. */
kw_stored_table *kw_table_record_read(kw_bytes bytes);
