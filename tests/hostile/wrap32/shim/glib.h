/* The part of GLib that the skipper uses: a 32-bit GLib is not installed on 64-bit machines. */
#pragma once

#include <assert.h>

#define g_assert(condition) assert(condition)
#define G_LIKELY(condition) (condition)
#define G_UNLIKELY(condition) (condition)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define G_DEFINE_AUTOPTR_CLEANUP_FUNC(type, free)
#define G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(type, clear)
