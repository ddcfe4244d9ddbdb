/* Which calls wait while tables are held: only those that access allows, whatever their table. The linker
 * replaces the connection, the end of a failed call and the queue of the hold by functions of this file. */
#include "service/hold.h"

#include "unit/service/caller.h"
#include "unit/service/fixture.h"

#include <glib.h>

uint32_t __wrap_kw_request_peer_number(const kw_request *request);
kw_bytes __wrap_kw_request_payload(const kw_request *request);
kw_wire_form __wrap_kw_request_form(const kw_request *request);
void __wrap_kw_request_set_call(kw_request *request, void *call);
kw_account *__wrap_kw_request_account(const kw_request *request);
const kw_error *__wrap_kw_request_refusal(const kw_request *request);
void __wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error);
bool __wrap_kw_hold_catch(kw_exchange *exchange);

static kw_buffer payload;
static kw_account *account;

/* How the last call ended. */
static kw_code failed;
static bool caught;

uint32_t
__wrap_kw_request_peer_number(const kw_request *request)
{
    (void)request;
    return 7;
}

kw_bytes
__wrap_kw_request_payload(const kw_request *request)
{
    (void)request;
    return kw_buffer_bytes(&payload);
}

kw_wire_form
__wrap_kw_request_form(const kw_request *request)
{
    (void)request;
    return (kw_wire_form){KW_WIRE_BINARY, true};
}

void
__wrap_kw_request_set_call(kw_request *request, void *call)
{
    (void)request;
    (void)call;
}

kw_account *
__wrap_kw_request_account(const kw_request *request)
{
    (void)request;
    return account;
}

const kw_error *
__wrap_kw_request_refusal(const kw_request *request)
{
    (void)request;
    return NULL;
}

static void
end(kw_exchange *exchange)
{
    kw_fine_timer_cancel(exchange->worker->timers, &exchange->timer);
    kw_exchange_move(exchange, KW_EXCHANGE_ENDED, NULL);
    kw_account_unref(exchange->account);
    kw_arena_free(exchange->call.arena);
}

void
__wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error)
{
    failed = error->code;
    end(exchange);
}

bool
__wrap_kw_hold_catch(kw_exchange *exchange)
{
    caught = true;
    end(exchange);
    return true;
}

static void
scan(service_fixture *fix, const char *table)
{
    kw_api_Query query = {.table = kw_bytes_of_text(table)};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    failed = KW_OK;
    caught = false;
    kw_wire_message_encode(&payload, KW_WIRE_BINARY, kw_bytes_of_text("scan"), KW_WIRE_CALL, 1);
    kw_wire_struct_encode(&payload, KW_WIRE_BINARY, kw_api_methods[KW_API_Data_scan].args, &args);
    kw_exchange_begin(&fix->worker, NULL);
    kw_buffer_clear(&payload);
}

KW_TEST(test_denied_calls_do_not_wait, "/service/hold_access/denied")
{
    static const char *const anonymous[] = {"anonymous"}, *const all[] = {"all"},
                             *const events[] = {"events"};
    static const kw_model_group groups[] = {{.name = "all", .members = anonymous, .members_count = 1}};
    static const kw_model_role roles[] = {
        {.who = all, .who_count = 1, .tables = events, .tables_count = 1, .operations = 1u << KW_MAY_READ}};
    kw_model_access section = {
        .enabled = true, .groups = groups, .groups_count = 1, .roles = roles, .roles_count = 1};
    kw_service service = {.settings.audit = NULL};
    service_fixture *fix = service_fixture_new();
    account = kw_account_new();
    fix->snapshot.access = kw_access_rules_new(&section);
    fix->worker.service = &service;
    fix->worker.loop = fix->loop;
    fix->worker.hold = (struct kw_hold *)&service; /* only compared with NULL */
    scan(fix, "events");
    g_assert_true(caught);
    g_assert_cmpint(failed, ==, KW_OK);
    scan(fix, "scores");
    g_assert_false(caught);
    g_assert_cmpint(failed, ==, KW_DENIED);
    g_clear_pointer(&caller_grants, kw_grants_free);
    kw_access_rules_free(fix->snapshot.access);
    kw_account_unref(account);
    service_fixture_free(fix);
}
