/* What the target for cursors and its seeds share. The first byte of an input is its kind. */
#pragma once

#include "gather/cursor.h"

enum { FUZZ_CURSOR_SEALED, FUZZ_CURSOR_BODY, FUZZ_CURSOR_QUERY, FUZZ_CURSOR_KINDS };

#define FUZZ_CURSOR_KEY KW_BYTES_LITERAL("a key for fuzzing")
#define FUZZ_CURSOR_MAC 32

/* The built-in policy; it exists until the process exits. */
kw_policy *fuzz_cursor_policy(void);
