#include "gateway/prepare.h"

#include "base/log.h"
#include "verb/verb.h"

#include <glib.h>

typedef struct preparing {
    kw_gateway *gateway;
    kw_policy *policy;
    kw_call call; /* the step in hand */
    size_t table; /* the next one to make */
    kw_create_request create;
    kw_task end; /* done is called from a turn of its own */
    kw_error error;
    void (*done)(void *user, const kw_error *error);
    void *user;
} preparing;

static void
tell(kw_task *task)
{
    preparing *what = (preparing *)((char *)task - offsetof(preparing, end));
    what->done(what->user, what->error.code == KW_OK ? NULL : &what->error);
    kw_arena_free(what->call.arena);
    kw_policy_unref(what->policy);
    g_free(what);
}

static void
end(preparing *what, const kw_error *error)
{
    if (error)
        what->error = *error;
    what->end.run = tell;
    kw_loop_post(what->gateway->loop, &what->end);
}

static void
begin_step(preparing *what)
{
    kw_gateway *gateway = what->gateway;
    kw_arena_reset(what->call.arena);
    what->call = (kw_call){.arena = what->call.arena,
                           .policy = what->policy,
                           .store = gateway->store,
                           .door = gateway->door,
                           .loop = gateway->loop,
                           .stamper = gateway->stamper,
                           .keyring = gateway->keyring,
                           .deadline = kw_deadline_in_ms(kw_policy_model(what->policy)->timeouts.call_ms),
                           .request_id = "prepare"};
}

static void
on_sequences_ready(void *user, const kw_error *error)
{
    end(user, error);
}

static void
on_guarded(void *user, const kw_error *error)
{
    preparing *what = user;
    if (error)
        end(what, error);
    else
        kw_sequences_prepare(what->gateway->sequences, what->policy,
                             kw_deadline_in_ms(kw_policy_model(what->policy)->timeouts.call_ms),
                             on_sequences_ready, what);
}

static bool
makes_tables(const kw_model_store *store)
{
    return store->create_missing < 0 ? store->kind != KW_STORE_HBASE : store->create_missing > 0;
}

static void next_step(preparing *what);

static void
on_created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    preparing *what = user;
    if (error) {
        end(what, error);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (tables[i].created)
            kw_log(KW_LOG_INFO, "gateway", "store table made", "table=%.*s regions=%zu",
                   (int)tables[i].store_table.size, (const char *)tables[i].store_table.data,
                   tables[i].split_keys_count + 1);
    what->table++;
    next_step(what);
}

static void
next_step(preparing *what)
{
    const kw_model *model = kw_policy_model(what->policy);
    if (what->gateway->state >= KW_GATEWAY_DRAINING) {
        end(what, &(kw_error){.code = KW_UNAVAILABLE, .text = "the gateway is ending"});
        return;
    }
    begin_step(what);
    if (!makes_tables(&model->store) || what->table == kw_policy_table_count(what->policy)) {
        kw_verb_guard(&what->call, what->policy, on_guarded, what);
        return;
    }
    what->create = (kw_create_request){
        .table = kw_policy_table(what->policy, what->table), .path = -1, .if_absent = true};
    kw_verb_create_table(&what->call, &what->create, on_created, what);
}

void
kw_prepare(kw_gateway *gateway, kw_policy *policy, void (*done)(void *user, const kw_error *error),
           void *user)
{
    preparing *what = g_new0(preparing, 1);
    *what = (preparing){.gateway = gateway,
                        .policy = kw_policy_ref(policy),
                        .call.arena = kw_arena_new(),
                        .done = done,
                        .user = user};
    next_step(what);
}
