/* Leaving a guard unwinds the stack with the unwinder of the compiler's runtime library, which runs the
 * cleanups of the functions in between; they are compiled with -fexceptions. It stops at the frame of
 * run. */
#include "base/guard.h"

#include "base/shortage.h"

#include <glib.h>
#include <setjmp.h>
#include <unwind.h>

typedef struct guard {
    struct _Unwind_Exception exception;
    jmp_buf back;
    struct guard *outer; /* of the same thread */
    const kw_arena *arena;
    uintptr_t frame; /* address of the frame of run */
    kw_shortage shortage;
    bool ended;
} guard;

static _Thread_local guard *innermost;

/* Called for each frame, from the innermost one on, before its cleanups run. */
static _Unwind_Reason_Code
stop_at_guard(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
              struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *user)
{
    guard *self = user;
    (void)version, (void)class, (void)exception;
    if ((actions & _UA_END_OF_STACK) || _Unwind_GetCFA(context) > self->frame)
        longjmp(self->back, (int)self->shortage);
    return _URC_NO_REASON;
}

/* AddressSanitizer forgets the stack before a call of a function that does not return, as this one. */
static _Noreturn __attribute__((noinline)) void
unwind(guard *self)
{
    _Unwind_ForcedUnwind(&self->exception, stop_at_guard, self);
    g_assert_not_reached(); /* it cannot find the frames */
}

void
kw_guard_leave(const kw_arena *arena, kw_shortage shortage)
{
    guard *self = innermost;
    while (self && self->arena != arena)
        self = self->outer;
    if (!self || self->ended)
        return;
    self->shortage = shortage;
    self->ended = true; /* cleanups can allocate */
    self->exception = (struct _Unwind_Exception){0};
    unwind(self);
}

void
kw_guard_end(void)
{
    for (guard *at = innermost; at; at = at->outer)
        at->ended = true;
}

void
kw_guard_forget(const kw_arena *arena)
{
    for (guard *at = innermost; at; at = at->outer)
        at->ended = at->ended || at->arena == arena;
}

/* Not inlined, because the unwinder must find its frame. */
__attribute__((noinline)) static kw_shortage
run(guard *self, void (*part)(void *user), void *user)
{
    self->frame = (uintptr_t)__builtin_frame_address(0);
    switch (setjmp(self->back)) {
    case KW_SHORTAGE_NONE:
        part(user);
        return KW_SHORTAGE_NONE;
    case KW_SHORTAGE_OF_SHARE:
        return KW_SHORTAGE_OF_SHARE;
    default:
        return KW_SHORTAGE_OF_MEMORY;
    }
}

bool
kw_guard_check(const kw_arena *arena, kw_error *ret_error)
{
    kw_shortage shortage = kw_arena_shortage(arena);
    return shortage == KW_SHORTAGE_NONE || kw_shortage_fail(shortage, ret_error);
}

bool
kw_guard_run(kw_arena *arena, void (*part)(void *user), void *user, kw_error *ret_error)
{
    guard self;
    if (!kw_guard_check(arena, ret_error))
        return false;
    self.outer = innermost;
    self.arena = kw_arena_root(arena);
    self.ended = false;
    innermost = &self;
    kw_shortage shortage = run(&self, part, user);
    innermost = self.outer;
    return shortage == KW_SHORTAGE_NONE || kw_shortage_fail(shortage, ret_error);
}
