/* The stored record of one table: format 1; big-endian integers; byte strings and lists are preceded by
 * their 32-bit length. Pure. */
#pragma once

#include "store/embedded/tables.h"

/* Appends the record of a table. */
void kw_table_record_write(kw_buffer *to, uint32_t id, kw_bytes name, const kw_table_spec *spec);

/* Creates a table from its record. NULL if the record is malformed. */
kw_stored_table *kw_table_record_read(kw_bytes bytes);
