/* Stalls: pieces of work that use the thread of an event loop for too long without a break. All other calls
 * of the loop, and their deadlines, wait meanwhile.
 *
 *   step, piece of call 7, step, piece of call 9, step, ...
 *
 * A piece is what a thread does between two calls of kw_stall_step: the loop makes a step before each task,
 * timer and piece of work, and in each iteration; net before each read of a socket; service where a call
 * begins and ends. So a piece belongs to one call, or to none. The processor time of the thread counts, not
 * the time that passes: a busy machine makes no stall.
 *
 * A stall increases the metric loop_stalls, and is logged with the method and the table of the call. The
 * tests that run a gateway fail if its log has a stall (tests/support/known_stalls.py).
 *
 * Only threads that called kw_stall_watch are watched. A step reads a coarse clock, which costs about 10 ns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The limit of a piece; ten times as much in a build with sanitizers. */
#define KW_STALL_LIMIT_MS 20

#define KW_STALL_NAME_MAX 200

/* Writes the method and the table of a call of this thread to `name`. */
typedef void (*kw_stall_namer)(void *user, uint64_t call, char name[KW_STALL_NAME_MAX]);

/* Watches the calling thread from now on. namer NULL: calls have no names. */
void kw_stall_watch(kw_stall_namer namer, void *user);

/* A piece ends, and another one begins. */
void kw_stall_step(void);

/* The present piece works for this call (kw_call.number). */
void kw_stall_set_call(uint64_t call);
