/* policyApply, policyHistory, policyVersion and policyInEffect: the versions of a policy that the catalog
 * keeps.
 *
 *   policyApply: a worker thread compiles the text --> the gateway applies it (service.h) --> the reply
 */
#include "service/methods/candidate.h"

#include "base/utf8.h"
#include "service/in_effect.h"
#include "service/methods.h"
#include "service/offload.h"

#define REASON_BYTES_MAX 1000
#define TEXT_BYTES_MAX ((size_t)1024 * 1024)
#define VERSIONS_DEFAULT 100
#define VERSIONS_MAX 1000

/* --- policyApply --------------------------------------------------------------------------------- */

typedef struct applying {
    kw_offload offload;
    char *cut; /* the tables and sequences of a policy file; NULL: the caller sent only those */
    kw_policy *policy;
} applying;

static kw_bytes
text_of(const applying *self)
{
    const kw_api_Admin_policyApply_args *args = self->offload.exchange->args;
    return self->cut ? kw_bytes_of_text(self->cut) : args->text;
}

static bool
compile(kw_offload *offload)
{
    applying *self = (applying *)offload;
    const kw_api_Admin_policyApply_args *args = offload->exchange->args;
    const kw_api_ApplyOptions *options = args->has_options ? args->options : NULL;
    if (options && options->has_import_file && options->import_file) {
        self->cut = kw_candidate_cut_shared(args->text, &offload->effort, &offload->error);
        if (!self->cut)
            return false;
    }
    g_autofree char *name = g_strdup_printf("policy version %" G_GINT64_FORMAT, args->expected_version + 1);
    self->policy = kw_candidate_compile_shared(kw_policy_model(offload->exchange->call.policy), name,
                                               text_of(self), &offload->effort, &offload->error);
    return self->policy != NULL;
}

static void
reply_applied(void *user, const kw_applied *applied, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_bytes *copied = KW_ARENA_ARRAY(exchange->call.arena, kw_bytes, applied->copied_count);
    for (size_t i = 0; i < applied->copied_count; i++)
        copied[i] = kw_bytes_of_text(applied->copied[i]);
    const kw_copy_guess *guess = &applied->guess;
    kw_api_CopyGuess copy_guess = {.reads = (int32_t)guess->reads,
                                   .wait_ms = guess->wait_ms,
                                   .rows_per_second = (int64_t)guess->rows_per_second,
                                   .rows_per_second_beside_callers =
                                       (int64_t)guess->rows_per_second_beside_callers};
    kw_api_AppliedPolicy result = {
        .version = applied->version,
        .plan = kw_bytes_of_text(applied->plan),
        .refused = applied->refused,
        .changed = applied->changed,
        .has_copied_tables = true,
        .copied_tables = {.items = copied, .count = (uint32_t)applied->copied_count},
        .has_copy_guess = applied->copied_count > 0,
        .copy_guess = &copy_guess};
    kw_exchange_reply(exchange, &(kw_api_Admin_policyApply_result){.has_success = true, .success = &result});
}

static void
pass_on(const applying *self)
{
    kw_exchange *exchange = self->offload.exchange;
    const kw_api_Admin_policyApply_args *args = exchange->args;
    const kw_api_ApplyOptions *options = args->has_options ? args->options : NULL;
    const kw_service_settings *settings = &exchange->worker->service->settings;
    kw_bytes reason = options && options->has_reason ? options->reason : KW_BYTES_NONE;
    kw_apply_command command = {.policy = self->policy,
                                .text = text_of(self),
                                .expected = args->expected_version,
                                .author = kw_exchange_author(exchange),
                                .reason = kw_arena_text(exchange->call.arena, reason),
                                .dry_run = options && options->has_dry_run && options->dry_run,
                                .only_writer = options && options->has_only_writer && options->only_writer};
    kw_exchange_drop_policy(exchange);
    settings->apply(settings->user, &command, exchange->call.loop, reply_applied, exchange);
}

static void
on_compiled(kw_offload *offload, const kw_error *error)
{
    applying *self = (applying *)offload;
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        pass_on(self);
    kw_policy_unref(self->policy);
    g_free(self->cut);
    g_free(self);
}

static bool
check_reason(kw_bytes reason, kw_error *ret_error)
{
    if (reason.size > REASON_BYTES_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "options.reason has %zu bytes; at most %d are allowed",
                            reason.size, REASON_BYTES_MAX);
    for (size_t i = 0; i < reason.size; i++)
        if (g_ascii_iscntrl(reason.data[i]))
            return kw_error_set(ret_error, KW_INVALID, "options.reason contains a control character");
    return kw_utf8_valid(reason) || kw_error_set(ret_error, KW_INVALID, "options.reason is not UTF-8");
}

static bool
check_apply(const kw_exchange *exchange, kw_error *ret_error)
{
    const kw_api_Admin_policyApply_args *args = exchange->args;
    if (!args->has_text || !args->has_expected_version)
        return kw_error_set(ret_error, KW_INVALID, "the argument %s is missing",
                            args->has_text ? "expected_version" : "text");
    if (!kw_exchange_has_stored_policy(exchange, ret_error))
        return false;
    if (args->expected_version < 0 || args->expected_version == INT64_MAX)
        return kw_error_set(ret_error, KW_INVALID, "expected_version must be 0 or more");
    if (args->text.size > TEXT_BYTES_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "the policy has %zu bytes; at most %zu are allowed",
                            args->text.size, TEXT_BYTES_MAX);
    return !args->has_options || !args->options->has_reason || check_reason(args->options->reason, ret_error);
}

void
kw_serve_policy_apply(kw_exchange *exchange)
{
    kw_error error;
    if (!check_apply(exchange, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    applying *self = g_new0(applying, 1);
    kw_offload_start(&self->offload, exchange, compile, on_compiled);
}

/* --- policyHistory, policyVersion, policyInEffect --------------------------------------------------- */

static kw_api_PolicyVersion
version_out(const kw_stored_version *version)
{
    return (kw_api_PolicyVersion){.version = version->number,
                                  .author = kw_bytes_of_text(version->author),
                                  .applied_at = version->at_ms,
                                  .reason = kw_bytes_of_text(version->reason),
                                  .has_text = version->text.size > 0,
                                  .text = version->text};
}

static void
reply_history(void *user, const kw_stored_version *versions, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_api_Admin_policyHistory_result result = {.has_success = true};
    result.success.items = KW_ARENA_ARRAY(exchange->call.arena, kw_api_PolicyVersion, count);
    result.success.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        result.success.items[i] = version_out(&versions[i]);
    kw_exchange_reply(exchange, &result);
}

void
kw_serve_policy_history(kw_exchange *exchange)
{
    const kw_api_Admin_policyHistory_args *args = exchange->args;
    const kw_service_settings *settings = &exchange->worker->service->settings;
    int32_t limit = args->has_limit && args->limit != 0 ? args->limit : VERSIONS_DEFAULT;
    int64_t before = args->has_before ? args->before : 0;
    kw_error error;
    if (limit < 1 || limit > VERSIONS_MAX || before < 0) {
        kw_error_set(&error, KW_INVALID,
                     limit < 1 || limit > VERSIONS_MAX ? "limit must be 1 to 1000"
                                                       : "before must not be negative");
        kw_exchange_fail(exchange, &error);
        return;
    }
    settings->history(settings->user, before, (size_t)limit, exchange->call.loop, reply_history, exchange);
}

/* A version whose text gets the settings in effect. */
typedef struct settling {
    kw_offload offload;
    kw_api_PolicyVersion version;
    char *text;
} settling;

static bool
settle(kw_offload *offload)
{
    settling *self = (settling *)offload;
    self->text = kw_in_effect_text(offload->exchange->call.policy, self->version.text, &offload->effort,
                                   &offload->error);
    return self->text != NULL;
}

static void
on_settled(kw_offload *offload, const kw_error *error)
{
    settling *self = (settling *)offload;
    kw_api_Admin_policyInEffect_result result = {.has_success = true, .success = &self->version};
    if (!error)
        self->version.text = kw_bytes_of_text(self->text);
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        kw_exchange_reply(offload->exchange, &result);
    g_free(self->text);
    g_free(self);
}

static void
start_settling(kw_exchange *exchange, const kw_api_PolicyVersion *version)
{
    kw_arena *arena = exchange->call.arena;
    settling *self = g_new0(settling, 1);
    self->version = *version;
    self->version.author = kw_arena_copy(arena, version->author);
    self->version.reason = kw_arena_copy(arena, version->reason);
    self->version.text = kw_arena_copy(arena, version->text);
    kw_offload_start(&self->offload, exchange, settle, on_settled);
}

/* The version that was read. False: the exchange has failed. */
static bool
take_version(kw_exchange *exchange, const kw_stored_version *versions, size_t count, const kw_error *error,
             kw_api_PolicyVersion *ret_version)
{
    if (error) {
        kw_exchange_fail(exchange, error);
        return false;
    }
    g_assert(count == 1);
    *ret_version = version_out(versions);
    return true;
}

static void
reply_version(void *user, const kw_stored_version *versions, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    kw_api_PolicyVersion version;
    if (take_version(exchange, versions, count, error, &version))
        kw_exchange_reply(exchange,
                          &(kw_api_Admin_policyVersion_result){.has_success = true, .success = &version});
}

static void
reply_in_effect(void *user, const kw_stored_version *versions, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    kw_api_PolicyVersion version;
    if (!take_version(exchange, versions, count, error, &version))
        return;
    if (kw_in_effect_differs(exchange->call.policy))
        start_settling(exchange, &version);
    else
        kw_exchange_reply(exchange,
                          &(kw_api_Admin_policyInEffect_result){.has_success = true, .success = &version});
}

static void
read_version(kw_exchange *exchange, int64_t number, kw_versions_done done)
{
    const kw_service_settings *settings = &exchange->worker->service->settings;
    kw_error error;
    if (number < 0 || number == INT64_MAX) {
        kw_error_set(&error, KW_INVALID, "version must be 0 or more");
        kw_exchange_fail(exchange, &error);
        return;
    }
    settings->version(settings->user, number, exchange->call.loop, done, exchange);
}

void
kw_serve_policy_version(kw_exchange *exchange)
{
    const kw_api_Admin_policyVersion_args *args = exchange->args;
    read_version(exchange, args->has_version ? args->version : 0, reply_version);
}

void
kw_serve_policy_in_effect(kw_exchange *exchange)
{
    const kw_api_Admin_policyInEffect_args *args = exchange->args;
    read_version(exchange, args->has_version ? args->version : 0, reply_in_effect);
}
