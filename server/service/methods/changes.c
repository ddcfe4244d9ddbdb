/* changes and orderChange: check the arguments, and pass them to the gateway (service.h). */
#include "service/methods.h"
#include "service/show.h"

#define VERSION_BYTES_MAX 100
#define ROWS_PER_SECOND_MAX 1000000000

static kw_api_ChangeStatus
status_out(const kw_change_status *from)
{
    return (kw_api_ChangeStatus){.table = kw_bytes_of_text(from->table),
                                 .path = kw_bytes_of_text(from->path),
                                 .version = kw_bytes_of_text(from->version),
                                 .phase = kw_bytes_of_text(from->phase),
                                 .next_commands = kw_bytes_of_text(from->next),
                                 .author = kw_bytes_of_text(from->author),
                                 .reason = kw_bytes_of_text(from->reason),
                                 .policy_version = from->policy_version,
                                 .started_at = from->started_ms,
                                 .version_at = from->version_at_ms,
                                 .old_layout = (int32_t)from->old_layout,
                                 .layout = (int32_t)from->layout,
                                 .old_store_table = kw_bytes_of_text(from->old_store_table),
                                 .store_table = kw_bytes_of_text(from->store_table),
                                 .reads_new = from->reads_new,
                                 .paused = from->paused,
                                 .waiting = from->waiting,
                                 .limit_rows_per_second = (int64_t)from->limit_rows_per_second,
                                 .has_share_percent = from->share_percent > 0,
                                 .share_percent = (int32_t)from->share_percent,
                                 .rows_per_second = from->rows_per_second,
                                 .progress = from->progress,
                                 .has_left_ms = from->left_ms >= 0,
                                 .left_ms = from->left_ms,
                                 .copied = from->copied,
                                 .compared = from->compared,
                                 .rows_copied = (int64_t)from->rows_copied,
                                 .rows_compared = (int64_t)from->rows_compared,
                                 .missing = (int64_t)from->missing,
                                 .different = (int64_t)from->different,
                                 .extra = (int64_t)from->extra,
                                 .repaired = (int64_t)from->repaired,
                                 .foreign_rows = (int64_t)from->undecodable,
                                 .has_example = from->example[0] != '\0',
                                 .example = kw_bytes_of_text(from->example),
                                 .has_cursors_until = from->cursors_until_ms > 0,
                                 .cursors_until = from->cursors_until_ms,
                                 .has_problem = from->problem[0] != '\0',
                                 .problem = kw_bytes_of_text(from->problem),
                                 .has_goal = from->goal[0] != '\0',
                                 .goal = kw_bytes_of_text(from->goal),
                                 .has_holder = from->holder[0] != '\0',
                                 .holder = kw_bytes_of_text(from->holder)};
}

static void
set_paths(const kw_change_status *from, kw_arena *arena, kw_api_ChangeStatus *to)
{
    kw_bytes *names = KW_ARENA_ARRAY(arena, kw_bytes, from->paths_count);
    for (size_t i = 0; i < from->paths_count; i++)
        names[i] = kw_bytes_of_text(from->paths[i]);
    to->has_added_paths = from->paths_count > 0 && !from->drops;
    to->has_dropped_paths = from->paths_count > 0 && from->drops;
    to->added_paths.items = to->dropped_paths.items = names;
    to->added_paths.count = to->has_added_paths ? (uint32_t)from->paths_count : 0;
    to->dropped_paths.count = to->has_dropped_paths ? (uint32_t)from->paths_count : 0;
}

static kw_api_ChangeStatus *
statuses_out(kw_arena *arena, const kw_change_status *changes, size_t count)
{
    kw_api_ChangeStatus *out = KW_ARENA_ARRAY(arena, kw_api_ChangeStatus, count);
    for (size_t i = 0; i < count; i++) {
        out[i] = status_out(&changes[i]);
        set_paths(&changes[i], arena, &out[i]);
    }
    return out;
}

/* --- changes --------------------------------------------------------------------------------------- */

static void
reply_changes(void *user, const kw_change_status *changes, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_api_Admin_changes_result result = {.has_success = true};
    result.success.items = statuses_out(exchange->call.arena, changes, count);
    result.success.count = (uint32_t)count;
    kw_exchange_reply(exchange, &result);
}

void
kw_serve_changes(kw_exchange *exchange)
{
    const kw_api_Admin_changes_args *args = exchange->args;
    const kw_service_settings *settings = &exchange->worker->service->settings;
    const kw_table *table = NULL;
    kw_error error;
    bool all = !args->has_table || args->table.size == 0;
    if (!kw_exchange_has_stored_policy(exchange, &error) ||
        (!all && !kw_exchange_find_table(exchange, true, args->table, &table, &error))) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    kw_change_command command = {.action = KW_CHANGE_SHOW,
                                 .table = table ? table->name : NULL,
                                 .author = kw_exchange_author(exchange)};
    settings->change(settings->user, &command, exchange->call.loop, reply_changes, exchange);
}

/* --- orderChange ----------------------------------------------------------------------------------- */

static void
reply_commanded(void *user, const kw_change_status *changes, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    kw_api_Admin_orderChange_result result = {.has_success = true};
    result.success.items = statuses_out(exchange->call.arena, changes, count);
    result.success.count = (uint32_t)count;
    kw_exchange_reply(exchange, &result);
}

static bool
read_action(const kw_api_Admin_orderChange_args *args, kw_change_action *ret_action, kw_error *ret_error)
{
    if (!args->has_action)
        return kw_error_set(ret_error, KW_INVALID, "the argument action is missing");
    switch ((kw_api_ChangeAction)args->action) {
    case KW_API_ChangeAction_SWITCH:
        *ret_action = KW_CHANGE_SWITCH;
        return true;
    case KW_API_ChangeAction_REVERSE:
        *ret_action = KW_CHANGE_REVERSE;
        return true;
    case KW_API_ChangeAction_COMPLETE:
        *ret_action = KW_CHANGE_COMPLETE;
        return true;
    case KW_API_ChangeAction_CANCEL:
        *ret_action = KW_CHANGE_CANCEL;
        return true;
    case KW_API_ChangeAction_PAUSE:
        *ret_action = KW_CHANGE_PAUSE;
        return true;
    case KW_API_ChangeAction_RESUME:
        *ret_action = KW_CHANGE_RESUME;
        return true;
    case KW_API_ChangeAction_THROTTLE:
        *ret_action = KW_CHANGE_THROTTLE;
        return true;
    case KW_API_ChangeAction_COMPARE:
        *ret_action = KW_CHANGE_COMPARE;
        return true;
    }
    return kw_error_set(ret_error, KW_INVALID, "action %d does not exist", args->action);
}

static bool
read_expected(const kw_exchange *exchange, kw_bytes version, kw_change_command *command, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    bool is_name = version.size > 0 && version.size <= VERSION_BYTES_MAX;
    for (size_t i = 0; is_name && i < version.size; i++)
        is_name = g_ascii_isgraph(version.data[i]);
    if (!is_name)
        return kw_error_set(ret_error, KW_INVALID,
                            "options.expected_version %s is not a place of a change, such as both-old",
                            kw_show_name(version, shown));
    command->expected = kw_arena_text(exchange->call.arena, version);
    return true;
}

/* Rejects options that are for another action, so that a command never does something else than its caller
 * expects. */
static bool
check_action_options(const kw_api_ChangeOptions *options, const kw_change_command *command,
                     kw_error *ret_error)
{
    const struct {
        const char *name;
        const char *action_name;
        kw_change_action action;
        bool given;
    } rows[] = {{"rows_per_second", "THROTTLE", KW_CHANGE_THROTTLE, options->has_rows_per_second},
                {"share_percent", "THROTTLE", KW_CHANGE_THROTTLE, options->has_share_percent},
                {"leave_undecodable", "SWITCH", KW_CHANGE_SWITCH, command->leave_undecodable},
                {"expire_cursors", "COMPLETE", KW_CHANGE_COMPLETE, command->expire_cursors}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].given && command->action != rows[i].action)
            return kw_error_set(ret_error, KW_INVALID, "options.%s is only for the action %s", rows[i].name,
                                rows[i].action_name);
    if (options->has_rows_per_second &&
        (options->rows_per_second < 0 || options->rows_per_second > ROWS_PER_SECOND_MAX))
        return kw_error_set(ret_error, KW_INVALID,
                            "options.rows_per_second must be 0 to %d, not %" G_GINT64_FORMAT,
                            ROWS_PER_SECOND_MAX, options->rows_per_second);
    if (options->has_share_percent && (options->share_percent < 0 || options->share_percent > 100))
        return kw_error_set(ret_error, KW_INVALID,
                            "options.share_percent must be 1 to 100, or 0 for the default, not %d",
                            options->share_percent);
    return true;
}

static bool
read_options(const kw_exchange *exchange, const kw_api_ChangeOptions *options, kw_change_command *command,
             kw_error *ret_error)
{
    if (command->action == KW_CHANGE_THROTTLE &&
        !(options && (options->has_rows_per_second || options->has_share_percent)))
        return kw_error_set(ret_error, KW_INVALID,
                            "options.rows_per_second and share_percent are missing; 0 removes the limit");
    if (!options)
        return true;
    command->leave_undecodable = options->has_leave_undecodable && options->leave_undecodable;
    command->expire_cursors = options->has_expire_cursors && options->expire_cursors;
    if (!check_action_options(options, command, ret_error))
        return false;
    command->has_rows_per_second = options->has_rows_per_second;
    command->has_share = options->has_share_percent;
    command->share_percent = options->has_share_percent ? (uint64_t)options->share_percent : 0;
    command->rows_per_second = options->has_rows_per_second ? (uint64_t)options->rows_per_second : 0;
    return !options->has_expected_version ||
           read_expected(exchange, options->expected_version, command, ret_error);
}

void
kw_serve_order_change(kw_exchange *exchange)
{
    const kw_api_Admin_orderChange_args *args = exchange->args;
    const kw_service_settings *settings = &exchange->worker->service->settings;
    const kw_table *table;
    kw_change_command command = {.author = kw_exchange_author(exchange)};
    kw_error error;
    if (!kw_exchange_has_stored_policy(exchange, &error) ||
        !kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !read_action(args, &command.action, &error) ||
        !read_options(exchange, args->has_options ? args->options : NULL, &command, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    command.table = kw_arena_text(exchange->call.arena, args->table);
    kw_exchange_drop_policy(exchange);
    settings->change(settings->user, &command, exchange->call.loop, reply_commanded, exchange);
}
