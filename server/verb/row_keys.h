/* Row keys in the cursors of scrub and verify, and the key after one. Pure. */
#pragma once

#include "base/arena.h"

/* The smallest row key after this one: the key with a zero byte appended. Empty if the key is empty. */
kw_bytes kw_row_key_after(kw_bytes key, kw_arena *arena);

/* Appends the key with its size. */
void kw_row_key_append(kw_buffer *to, kw_bytes key);
/* Takes the next key off the rest of a cursor, of which it is a slice. False if the cursor is damaged. */
bool kw_row_key_take(kw_bytes *rest, kw_bytes *ret_key);
