/* changes, orderChange and changeDiff: the checks of their arguments, the commands that the gateway gets, and
 * the encoding of its answer. The linker replaces kw_exchange_reply and kw_exchange_fail by functions of this
 * file. */
#include "service/methods.h"

#include "unit/service/fixture.h"

#include <glib.h>

void __wrap_kw_exchange_reply(kw_exchange *exchange, const void *result);
void __wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error);

/* What the method answered. */
static const void *replied;
static kw_error failed;

/* What the gateway got, and what it answers. */
static unsigned commands;
static kw_change_command command;
static union {
    kw_api_Admin_changes_result changes;
    kw_api_Admin_orderChange_result order;
    kw_api_Admin_changeDiff_result diff;
} copy;
static size_t copy_size; /* of the result of the present call */

static const kw_change_status *statuses;
static size_t statuses_count;
static const kw_error *failure;

void
__wrap_kw_exchange_reply(kw_exchange *exchange, const void *result)
{
    (void)exchange;
    memcpy(&copy, result, copy_size); /* the result is on the stack of the caller */
    replied = &copy;
}

void
__wrap_kw_exchange_fail(kw_exchange *exchange, const kw_error *error)
{
    (void)exchange;
    failed = *error;
}

/* A command that waits must not keep the policy that it waits for. */
void __wrap_kw_exchange_drop_policy(kw_exchange *exchange);

static unsigned released;

void
__wrap_kw_exchange_drop_policy(kw_exchange *exchange)
{
    (void)exchange;
    released++;
}

static void
on_command(void *user, const kw_change_command *given, kw_loop *loop, kw_change_done done, void *done_user)
{
    g_assert_null(user);
    g_assert_null(loop);
    commands++;
    command = *given;
    done(done_user, failure ? NULL : statuses, failure ? 0 : statuses_count, failure);
}

static kw_service service = {.settings = {.change = on_command}};

static service_fixture *
fixture_new(void)
{
    service_fixture *fix = service_fixture_new();
    kw_policy_model(fix->policy)->policy_in_store = true;
    kw_policy_set_version(fix->policy, 1);
    fix->worker.service = &service;
    commands = 0;
    statuses_count = 0;
    failure = NULL;
    return fix;
}

static void
call(service_fixture *fix, void (*serve)(kw_exchange *exchange), const void *args)
{
    replied = NULL;
    failed = KW_ERROR_NONE;
    copy_size = serve == kw_serve_changes        ? sizeof copy.changes
                : serve == kw_serve_order_change ? sizeof copy.order
                                                 : sizeof copy.diff;
    fix->exchange.args = args;
    serve(&fix->exchange);
    g_assert_true((replied != NULL) != (failed.code != KW_OK));
}

static void
expect_failure(kw_code code, const char *text)
{
    g_assert_cmpint(failed.code, ==, code);
    if (!strstr(failed.text, text))
        g_error("\"%s\" does not say \"%s\"", failed.text, text);
}

/* --- changes ---------------------------------------------------------------------------------------- */

KW_TEST(test_changes, "/service/changes/changes")
{
    service_fixture *fix = fixture_new();
    kw_api_Admin_changes_args args = {.has_table = false};
    call(fix, kw_serve_changes, &args);
    g_assert_cmpint(command.action, ==, KW_CHANGE_SHOW);
    g_assert_null(command.table);
    args = (kw_api_Admin_changes_args){.has_table = true};
    call(fix, kw_serve_changes, &args);
    g_assert_null(command.table);
    args.table = KW_BYTES_LITERAL("events");
    call(fix, kw_serve_changes, &args);
    g_assert_cmpstr(command.table, ==, "events");
    g_assert_cmpuint(commands, ==, 3);
    args.table = KW_BYTES_LITERAL("evens");
    call(fix, kw_serve_changes, &args);
    expect_failure(KW_NOT_FOUND, "there is no table \"evens\"; did you mean \"events\"?");
    g_assert_cmpuint(commands, ==, 3);
    service_fixture_free(fix);
}

/* Every member has a value of its own, so that a swap of two members is seen. */
static const kw_change_status full = {.table = "t",
                                      .path = "p",
                                      .version = "both-new",
                                      .phase = "copying",
                                      .next = "cancel",
                                      .author = "a",
                                      .reason = "r",
                                      .policy_version = 1,
                                      .started_ms = 2,
                                      .version_at_ms = 3,
                                      .old_layout = 4,
                                      .layout = 5,
                                      .old_store_table = "old",
                                      .store_table = "new",
                                      .reads_new = true,
                                      .waiting = true,
                                      .limit_rows_per_second = 6,
                                      .share_percent = 16,
                                      .rows_per_second = 7.5,
                                      .progress = 0.5,
                                      .left_ms = 0,
                                      .copied = true,
                                      .rows_copied = 8,
                                      .rows_compared = 9,
                                      .missing = 10,
                                      .different = 11,
                                      .extra = 12,
                                      .repaired = 13,
                                      .undecodable = 14,
                                      .example = "e",
                                      .cursors_until_ms = 15,
                                      .problem = "x",
                                      .goal = "switched",
                                      .holder = "h"};

static void
assert_text(kw_bytes bytes, const char *text)
{
    g_autofree char *given = g_strndup((const char *)bytes.data, bytes.size);
    g_assert_cmpstr(given, ==, text);
}

static void
assert_full(const kw_api_ChangeStatus *out)
{
    assert_text(out->table, "t");
    assert_text(out->path, "p");
    assert_text(out->version, "both-new");
    assert_text(out->phase, "copying");
    assert_text(out->next_commands, "cancel");
    assert_text(out->author, "a");
    assert_text(out->reason, "r");
    assert_text(out->old_store_table, "old");
    assert_text(out->store_table, "new");
    assert_text(out->example, "e");
    assert_text(out->problem, "x");
    assert_text(out->goal, "switched");
    assert_text(out->holder, "h");
    g_assert_true(out->reads_new && out->waiting && out->copied && !out->paused && !out->compared);
    g_assert_true(out->has_left_ms && out->has_example && out->has_cursors_until && out->has_problem);
    g_assert_true(out->has_goal && out->has_holder);
    const int64_t numbers[] = {out->policy_version, out->started_at, out->version_at,
                               out->old_layout,     out->layout,     out->limit_rows_per_second};
    const int64_t counts[] = {out->rows_copied, out->rows_compared, out->missing,      out->different,
                              out->extra,       out->repaired,      out->foreign_rows, out->cursors_until};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_assert_cmpint(numbers[i], ==, 1 + (int64_t)i);
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        g_assert_cmpint(counts[i], ==, 8 + (int64_t)i);
    g_assert_cmpfloat(out->rows_per_second, ==, 7.5);
    g_assert_cmpint(out->share_percent, ==, 16);
    g_assert_cmpfloat(out->progress, ==, 0.5);
    g_assert_cmpint(out->left_ms, ==, 0);
}

KW_TEST(test_reply, "/service/changes/reply")
{
    service_fixture *fix = fixture_new();
    kw_api_Admin_changes_args args = {.has_table = false};
    kw_change_status both[] = {full, full};
    both[1].left_ms = -1;
    both[1].cursors_until_ms = 0;
    both[1].example = both[1].problem = both[1].goal = both[1].holder = "";
    both[1].paused = both[1].compared = true;
    statuses = both;
    statuses_count = G_N_ELEMENTS(both);
    call(fix, kw_serve_changes, &args);
    const kw_api_Admin_changes_result *result = replied;
    g_assert_true(result->has_success);
    g_assert_cmpuint(result->success.count, ==, 2);
    assert_full(&result->success.items[0]);
    const kw_api_ChangeStatus *second = &result->success.items[1];
    g_assert_false(second->has_left_ms || second->has_example || second->has_cursors_until ||
                   second->has_problem || second->has_goal || second->has_holder);
    g_assert_true(second->paused && second->compared);
    service_fixture_free(fix);
}

/* --- orderChange ------------------------------------------------------------------------------------ */

static kw_api_Admin_orderChange_args
args_of(kw_api_ChangeAction action, const kw_api_ChangeOptions *options)
{
    return (kw_api_Admin_orderChange_args){.has_table = true,
                                           .table = KW_BYTES_LITERAL("events"),
                                           .has_action = true,
                                           .action = action,
                                           .has_options = options != NULL,
                                           .options = options};
}

KW_TEST(test_commands, "/service/changes/orders")
{
    service_fixture *fix = fixture_new();
    const kw_change_action actions[] = {KW_CHANGE_SWITCH, KW_CHANGE_REVERSE, KW_CHANGE_COMPLETE,
                                        KW_CHANGE_CANCEL, KW_CHANGE_PAUSE,   KW_CHANGE_RESUME};
    statuses = &full;
    statuses_count = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(actions); i++) {
        kw_api_Admin_orderChange_args args =
            args_of((kw_api_ChangeAction)(KW_API_ChangeAction_SWITCH + i), NULL);
        call(fix, kw_serve_order_change, &args);
        g_assert_cmpint(command.action, ==, actions[i]);
        g_assert_cmpstr(command.table, ==, "events");
        g_assert_cmpstr(command.author, ==, "anonymous");
        g_assert_null(command.expected);
        g_assert_false(command.leave_undecodable || command.expire_cursors);
        const kw_api_Admin_orderChange_result *result = replied;
        g_assert_cmpuint(result->success.count, ==, 1);
        assert_full(&result->success.items[0]);
    }
    kw_api_Admin_orderChange_args args = args_of(KW_API_ChangeAction_COMPARE, NULL);
    fix->exchange.call.identity = KW_BYTES_LITERAL("CN=eve");
    call(fix, kw_serve_order_change, &args);
    g_assert_cmpint(command.action, ==, KW_CHANGE_COMPARE);
    g_assert_cmpstr(command.author, ==, "CN=eve");
    service_fixture_free(fix);
}

KW_TEST(test_options, "/service/changes/options")
{
    service_fixture *fix = fixture_new();
    kw_api_ChangeOptions options = {.has_expected_version = true,
                                    .expected_version = KW_BYTES_LITERAL("both-old"),
                                    .has_leave_undecodable = true,
                                    .leave_undecodable = true,
                                    .has_expire_cursors = true};
    kw_api_Admin_orderChange_args args = args_of(KW_API_ChangeAction_SWITCH, &options);
    call(fix, kw_serve_order_change, &args);
    g_assert_cmpstr(command.expected, ==, "both-old");
    g_assert_true(command.leave_undecodable && !command.expire_cursors);
    options = (kw_api_ChangeOptions){.has_expire_cursors = true, .expire_cursors = true};
    args = args_of(KW_API_ChangeAction_COMPLETE, &options);
    call(fix, kw_serve_order_change, &args);
    g_assert_true(command.expire_cursors && !command.leave_undecodable);
    for (int64_t rate = 0; rate <= 1000000000; rate += 500000000) {
        options = (kw_api_ChangeOptions){.has_rows_per_second = true, .rows_per_second = rate};
        args = args_of(KW_API_ChangeAction_THROTTLE, &options);
        call(fix, kw_serve_order_change, &args);
        g_assert_cmpint(command.action, ==, KW_CHANGE_THROTTLE);
        g_assert_cmpuint(command.rows_per_second, ==, (uint64_t)rate);
    }
    g_assert_true(command.has_rows_per_second && !command.has_share);
    for (int32_t share = 0; share <= 100; share += 50) {
        options = (kw_api_ChangeOptions){.has_share_percent = true, .share_percent = share};
        args = args_of(KW_API_ChangeAction_THROTTLE, &options);
        call(fix, kw_serve_order_change, &args);
        g_assert_true(command.has_share && !command.has_rows_per_second);
        g_assert_cmpuint(command.share_percent, ==, (uint64_t)share);
    }
    g_assert_cmpuint(commands, ==, 8);
    service_fixture_free(fix);
}

static void
expect_invalid(service_fixture *fix, kw_api_ChangeAction action, const kw_api_ChangeOptions *options,
               const char *text)
{
    kw_api_Admin_orderChange_args args = args_of(action, options);
    call(fix, kw_serve_order_change, &args);
    expect_failure(KW_INVALID, text);
    g_assert_cmpuint(commands, ==, 0);
}

KW_TEST(test_wrong_options, "/service/changes/wrong_options")
{
    service_fixture *fix = fixture_new();
    const kw_api_ChangeOptions leave = {.has_leave_undecodable = true, .leave_undecodable = true};
    const kw_api_ChangeOptions expire = {.has_expire_cursors = true, .expire_cursors = true};
    kw_api_ChangeOptions rate = {.has_rows_per_second = true, .rows_per_second = -1};
    char long_name[101];
    memset(long_name, 'x', sizeof long_name);
    const kw_bytes names[] = {KW_BYTES_NONE,
                              KW_BYTES_LITERAL("a b"),
                              KW_BYTES_LITERAL("a\n"),
                              KW_BYTES_LITERAL("\xff"),
                              {(const uint8_t *)long_name, sizeof long_name}};
    expect_invalid(fix, KW_API_ChangeAction_COMPLETE, &leave,
                   "leave_undecodable is only for the action SWITCH");
    expect_invalid(fix, KW_API_ChangeAction_SWITCH, &expire,
                   "expire_cursors is only for the action COMPLETE");
    expect_invalid(fix, KW_API_ChangeAction_RESUME, &rate, "rows_per_second is only for the action THROTTLE");
    expect_invalid(fix, KW_API_ChangeAction_THROTTLE, &rate,
                   "rows_per_second must be 0 to 1000000000, not -1");
    rate.rows_per_second = 1000000001;
    expect_invalid(fix, KW_API_ChangeAction_THROTTLE, &rate, "not 1000000001");
    expect_invalid(fix, KW_API_ChangeAction_THROTTLE, NULL, "rows_per_second and share_percent are missing");
    expect_invalid(fix, KW_API_ChangeAction_THROTTLE, &leave,
                   "rows_per_second and share_percent are missing");
    kw_api_ChangeOptions share = {.has_share_percent = true, .share_percent = 101};
    expect_invalid(fix, KW_API_ChangeAction_THROTTLE, &share, "share_percent must be 1 to 100");
    share.share_percent = -1;
    expect_invalid(fix, KW_API_ChangeAction_THROTTLE, &share, "or 0 for the default, not -1");
    share.share_percent = 5;
    expect_invalid(fix, KW_API_ChangeAction_PAUSE, &share, "share_percent is only for the action THROTTLE");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const kw_api_ChangeOptions options = {.has_expected_version = true, .expected_version = names[i]};
        expect_invalid(fix, KW_API_ChangeAction_SWITCH, &options, "options.expected_version");
    }
    expect_invalid(fix, (kw_api_ChangeAction)0, NULL, "action 0 does not exist");
    expect_invalid(fix, (kw_api_ChangeAction)9, NULL, "action 9 does not exist");
    service_fixture_free(fix);
}

KW_TEST(test_missing_arguments, "/service/changes/missing_arguments")
{
    service_fixture *fix = fixture_new();
    kw_api_Admin_orderChange_args args = args_of(KW_API_ChangeAction_SWITCH, NULL);
    args.has_action = false;
    call(fix, kw_serve_order_change, &args);
    expect_failure(KW_INVALID, "the argument action is missing");
    args = args_of(KW_API_ChangeAction_SWITCH, NULL);
    args.has_table = false;
    call(fix, kw_serve_order_change, &args);
    expect_failure(KW_INVALID, "the argument table is missing");
    args = args_of(KW_API_ChangeAction_SWITCH, NULL);
    args.table = KW_BYTES_LITERAL("nothing");
    call(fix, kw_serve_order_change, &args);
    expect_failure(KW_NOT_FOUND, "there is no table");
    g_assert_cmpuint(commands, ==, 0);
    service_fixture_free(fix);
}

/* Errors of the gateway reach the caller. */
KW_TEST(test_refused, "/service/changes/refused")
{
    service_fixture *fix = fixture_new();
    const kw_error refusal = {.code = KW_REFUSED, .text = "its rows are still being copied"};
    const kw_api_Admin_orderChange_args args = args_of(KW_API_ChangeAction_SWITCH, NULL);
    const kw_api_Admin_changes_args shown = {.has_table = false};
    failure = &refusal;
    call(fix, kw_serve_order_change, &args);
    expect_failure(KW_REFUSED, "still being copied");
    call(fix, kw_serve_changes, &shown);
    expect_failure(KW_REFUSED, "still being copied");
    service_fixture_free(fix);
}

KW_TEST(test_policy_of_a_file, "/service/changes/policy_of_a_file")
{
    service_fixture *fix = fixture_new();
    const kw_api_Admin_orderChange_args args = args_of(KW_API_ChangeAction_SWITCH, NULL);
    const kw_api_Admin_changes_args shown = {.has_table = false};
    const kw_api_Admin_changeDiff_args compared = {.has_table = true, .table = KW_BYTES_LITERAL("events")};
    kw_policy_model(fix->policy)->policy_in_store = false;
    call(fix, kw_serve_order_change, &args);
    expect_failure(KW_REFUSED, "policy.source: file");
    call(fix, kw_serve_changes, &shown);
    expect_failure(KW_REFUSED, "policy.source: file");
    call(fix, kw_serve_change_diff, &compared);
    expect_failure(KW_REFUSED, "policy.source: file");
    g_assert_cmpuint(commands, ==, 0);
    service_fixture_free(fix);
}

/* --- changeDiff ------------------------------------------------------------------------------------- */

KW_TEST(test_diff_without_a_change, "/service/changes/diff_without_a_change")
{
    service_fixture *fix = fixture_new();
    kw_api_Admin_changeDiff_args args = {.has_table = true, .table = KW_BYTES_LITERAL("events")};
    call(fix, kw_serve_change_diff, &args);
    expect_failure(KW_INVALID, "no change is under way in table events");
    args.has_table = false;
    call(fix, kw_serve_change_diff, &args);
    expect_failure(KW_INVALID, "the argument table is missing");
    service_fixture_free(fix);
}
