/* Guards: parts of a call that end when there is no memory for them.
 *
 * The arena of a call grows chunk by chunk. Before each chunk, it compares the bytes of the call with the
 * share of a call, and with what is left of the budget for its account (kw_budget_shortage). Inside a guard,
 * a refused allocation does not return: the guard is left, and kw_guard_run returns false. So code that works
 * on caller-sized data needs no checks of its own, and cannot forget them.
 *
 *   kw_guard_run(arena, part, ...)
 *     part --> ... --> kw_arena_alloc: refused
 *        <---- unwinds the stack ----'
 *   returns false with LIMIT (the call alone is too large) or BUSY (memory is short now)
 *
 * The stack is unwound as by pthread_exit: variables with a cleanup (g_autofree, g_autoptr, g_auto) are
 * cleaned up. Nothing else is. So what runs in a guard must own nothing but memory of arenas and such
 * variables: no lock, no entry in a list, no allocation that a plain pointer owns. Memory that the part
 * allocated in the arena stays there until the arena is freed.
 *
 * Code that begins something that outlives the part calls kw_guard_end first: a store operation, an entry in
 * a queue, a job of a worker thread. From then on, the allocations of this thread's guards are not refused.
 *
 * Outside of a guard, an allocation never fails. If it is one that would have been refused, the arena
 * remembers it, and its next guard is left at once. Arenas without an account are never refused. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* Calls part(user). False, with LIMIT or BUSY, if an allocation in the arena, or in one below it, was
 * refused.
 */
bool kw_guard_run(kw_arena *arena, void (*part)(void *user), void *user, kw_error *ret_error);

/* False, with LIMIT or BUSY, if an allocation in the arena outside of a guard would have been refused. */
bool kw_guard_check(const kw_arena *arena, kw_error *ret_error);

/* Ends all guards of this thread. */
void kw_guard_end(void);

/* --- for arena.c --------------------------------------------------------------------------------- */

/* Leaves this thread's innermost guard of this arena, unless it has ended. */
void kw_guard_leave(const kw_arena *arena, kw_shortage shortage);

/* Ends the guards of an arena that is being freed. */
void kw_guard_forget(const kw_arena *arena);
