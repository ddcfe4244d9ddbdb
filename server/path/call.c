#include "path/call.h"

#include "base/guard.h"
#include "base/stall.h"

void
kw_call_guard(kw_call *call, void (*step)(void *user), void *user)
{
    kw_error error;
    kw_stall_set_call(call->number);
    if (!kw_guard_run(call->arena, step, user, &error))
        call->refuse(call, &error);
}

kw_call
kw_call_copy(const kw_call *like)
{
    kw_call call = *like;
    call.account = kw_account_ref(like->account);
    call.arena = kw_arena_new_for(call.account, KW_MEMORY_PREFETCHED);
    call.policy = kw_policy_ref((kw_policy *)like->policy);
    call.keyring = kw_keyring_ref(like->keyring);
    call.identity = kw_arena_copy(call.arena, like->identity);
    call.request_id = NULL;
    call.refuse = NULL;
    return call;
}

static void
unref_all(const kw_call *call)
{
    kw_policy_unref((kw_policy *)call->policy);
    kw_keyring_unref(call->keyring);
}

void
kw_call_release(const kw_call *call)
{
    kw_account *account = call->account;
    unref_all(call);
    kw_arena_free(call->arena);
    kw_account_unref(account);
}

void
kw_call_release_into(const kw_call *call, kw_arena *arena)
{
    kw_account *account = call->account;
    unref_all(call);
    kw_arena_adopt(arena, call->arena);
    kw_account_unref(account);
}
