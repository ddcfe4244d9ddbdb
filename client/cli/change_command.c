/* keyway change switch, reverse, complete, cancel, pause, resume, throttle, compare: commands for a change.
 */
#include "cli/change.h"

#include <stdio.h>

typedef struct command_arguments {
    char *expected;
    gint64 rows_per_second; /* -1: not given */
    char *share;
    gint32 share_percent; /* of `share`; 0: not given; -1: the default */
    gboolean leave_undecodable;
    gboolean expire_cursors;
} command_arguments;

static const struct command_kind {
    const char *name;
    kw_change_action action;
    const char *about;
    const char *done;
    const char *goal; /* printed instead of `done` if the command only sets a goal (sets_goal); can be NULL */
} kinds[] = {
    {"switch", KW_CHANGE_SWITCH,
     "Lets queries read the rows under the new key rule. Writes still go to the old and the new rows.",
     "queries read the new rows; `keyway change reverse` undoes this until the change is complete",
     "accepted: the gateways go on until queries read the new rows"},
    {"reverse", KW_CHANGE_REVERSE,
     "Lets queries read the rows under the old key rule again. Writes still go to the old and the new rows.",
     "queries read the old rows again", "accepted: the gateways go back until queries read the old rows"},
    {"complete", KW_CHANGE_COMPLETE,
     "Ends the change: writes go only to the rows under the new key rule. This cannot be undone.\n"
     "The gateway first waits until the cursors of scans under the old key rule have expired.",
     "writes go only to the new rows; this cannot be undone",
     "accepted: the gateways go on until writes go only to the new rows; this cannot be undone when cursors "
     "of the old key rule are rejected"},
    {"cancel", KW_CHANGE_CANCEL, "Ends the change and returns to the old key rule, as a new policy version.",
     "the old key rule applies again, in a new policy version",
     "accepted: the gateways go back until the old key rule applies again, in a new policy version"},
    {"pause", KW_CHANGE_PAUSE,
     "Stops copying and comparing rows. Writes still go to the old and the new rows.",
     "copying and comparing are paused; writes still go to the old and the new rows", NULL},
    {"resume", KW_CHANGE_RESUME, "Continues copying and comparing rows.", "copying and comparing continue",
     NULL},
    {"throttle", KW_CHANGE_THROTTLE,
     "Limits how many rows are copied and compared per second, and how much of the time that takes.",
     "the limit has changed", NULL},
    {"compare", KW_CHANGE_COMPARE, "Compares all rows of the change again, and repairs those that differ.",
     "all rows are compared again", NULL},
};

/* True if the command completes the change, and the gateway still waits until cursors have expired. */
static bool
waits_for_cursors(const struct command_kind *kind, const GPtrArray *changes)
{
    return kind->action == KW_CHANGE_COMPLETE && changes->len > 0;
}

/* True if the command only sets a goal, as on HBase, where several gateways can write to the store. The
 * gateways then set one place of the change after another until the goal is reached. */
static bool
sets_goal(const struct command_kind *kind, const GPtrArray *changes)
{
    const kw_change_status *change = changes->len > 0 ? changes->pdata[0] : NULL;

    return kind->goal != NULL && change != NULL && change->goal[0] != '\0';
}

/* True if the change adds a path. False also if `before` is NULL. */
static bool
adds_path(const GPtrArray *before)
{
    return before != NULL && before->len > 0 && kw_change_adds_path(before->pdata[0]);
}

static bool
sets_atomics(const GPtrArray *before)
{
    return before != NULL && before->len > 0 && kw_change_sets_atomics(before->pdata[0]);
}

static const char *
done_text(const struct command_kind *kind, const GPtrArray *before, const GPtrArray *changes)
{
    bool cancels = kind->action == KW_CHANGE_CANCEL;

    if (adds_path(before) && changes->len == 0)
        return cancels ? "a new policy version does not have the path" : "queries can use the path";
    if (adds_path(before) && sets_goal(kind, changes))
        return cancels ? "accepted: the gateways undo the change; then a new policy version does not have "
                         "the path"
                       : "accepted: the gateways go on until queries can use the path";
    if (sets_atomics(before) && cancels)
        return changes->len == 0
                   ? "increments and conditional writes stay forbidden, in a new policy version"
                   : "accepted: the change ends when all gateways follow it; increments and conditional "
                     "writes stay forbidden";
    if (sets_goal(kind, changes))
        return kind->goal;
    if (waits_for_cursors(kind, changes))
        return "the change will be complete when the cursors of scans under the old key rule have expired";
    return kind->done;
}

/* Prints which rows are not used any more but stay in the store, and how to delete them. */
static void
print_left_rows(const struct command_kind *kind, const kw_change_status *change)
{
    bool complete = kind->action == KW_CHANGE_COMPLETE;

    printf("  The %s rows stay in store table %s. To delete them:\n"
           "    keyway forget %s --path %s --drop-rows --yes\n",
           complete ? "old" : "new", complete ? change->old_store_table : change->store_table, change->table,
           change->path);
    for (char **path = change->added_paths; *path != NULL && path[1] != NULL; path++)
        printf("    keyway forget %s --path %s --drop-rows --yes\n", change->table, path[1]);
}

/* True if the command leaves rows that are not used any more. A completed addition of a path leaves none, and
 * neither does a change that moves no rows. */
static bool
leaves_rows(const struct command_kind *kind, const GPtrArray *before)
{
    return before != NULL && !sets_atomics(before) &&
           (kind->action == KW_CHANGE_CANCEL || !adds_path(before));
}

static void
print_follow(const struct command_kind *kind, const kw_change_status *change)
{
    bool proceeds = (kind->goal != NULL && change->goal[0] != '\0') || kind->action == KW_CHANGE_RESUME ||
                    kind->action == KW_CHANGE_THROTTLE || kind->action == KW_CHANGE_COMPARE;

    if (change->problem[0] != '\0')
        printf("  problem: %s\n", change->problem);
    if (proceeds)
        printf("  next: keyway change status %s --wait\n", change->table);
    kw_change_print_next(change, proceeds ? "" : "  next: ", 8, stdout);
}

/* before: the changes before the command; NULL unless the command can end a change. */
static bool
output(const kw_cli *cli, const struct command_kind *kind, const char *table, const GPtrArray *before,
       const GPtrArray *changes)
{
    if (cli->format != KW_OUTPUT_TABLE)
        return kw_change_output(cli, table, changes);
    printf("table %s: %s\n", table, done_text(kind, before, changes));
    for (guint i = 0; leaves_rows(kind, before) && changes->len == 0 && i < before->len; i++)
        print_left_rows(kind, before->pdata[i]);
    for (guint i = 0; i < changes->len; i++)
        print_follow(kind, changes->pdata[i]);
    return fflush(stdout) == 0;
}

static int
send_command(kw_cli *cli, const struct command_kind *kind, const char *table,
             const command_arguments *arguments)
{
    g_autoptr(GPtrArray) before = NULL, changes = NULL;
    GError *error = NULL;
    int code;
    bool ends = kind->action == KW_CHANGE_COMPLETE || kind->action == KW_CHANGE_CANCEL ||
                kind->action == KW_CHANGE_SWITCH;
    const kw_change_options options = {.expected_version = arguments->expected,
                                       .rows_per_second = arguments->rows_per_second,
                                       .share_percent = arguments->share_percent,
                                       .leave_undecodable = arguments->leave_undecodable,
                                       .expire_cursors = arguments->expire_cursors};

    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    if (ends)
        before = kw_client_changes(cli->client, table, &error);
    if (error == NULL)
        changes = kw_client_order_change(cli->client, table, kind->action, &options, &error);
    if (changes == NULL) {
        g_autofree char *what = g_strdup_printf("change %s", kind->name);

        return kw_cli_fail(error, what);
    }
    return output(cli, kind, table, before, changes) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

/* The first option that only this command has. */
static GOptionEntry
option_of(const struct command_kind *kind, command_arguments *arguments)
{
    if (kind->action == KW_CHANGE_SWITCH)
        return (GOptionEntry){"leave-undecodable",
                              0,
                              0,
                              G_OPTION_ARG_NONE,
                              &arguments->leave_undecodable,
                              "Switch although some old rows cannot be decoded and were not copied",
                              NULL};
    if (kind->action == KW_CHANGE_COMPLETE)
        return (GOptionEntry){"expire-cursors",
                              0,
                              0,
                              G_OPTION_ARG_NONE,
                              &arguments->expire_cursors,
                              "Let scans that began under the old key rule fail",
                              NULL};
    if (kind->action == KW_CHANGE_THROTTLE)
        return (GOptionEntry){"rows-per-second",
                              0,
                              0,
                              G_OPTION_ARG_INT64,
                              &arguments->rows_per_second,
                              "Maximum number of rows per second; 0 removes the limit",
                              "N"};
    return (GOptionEntry)G_OPTION_ENTRY_NULL;
}

/* The second one. */
static GOptionEntry
share_option_of(const struct command_kind *kind, command_arguments *arguments)
{
    if (kind->action != KW_CHANGE_THROTTLE)
        return (GOptionEntry)G_OPTION_ENTRY_NULL;
    return (GOptionEntry){"share",
                          0,
                          0,
                          G_OPTION_ARG_STRING,
                          &arguments->share,
                          "Maximum share of the time while callers use the gateways, 1% to 100%; or default",
                          "N%"};
}

/* "25%", "25" or "default". */
static bool
read_share(command_arguments *arguments)
{
    char *end = arguments->share;
    gint64 percent;

    if (arguments->share == NULL)
        return true;
    if (g_str_equal(arguments->share, "default")) {
        arguments->share_percent = -1;
        return true;
    }
    percent = g_ascii_isdigit(end[0]) ? g_ascii_strtoll(arguments->share, &end, 10) : 0;
    arguments->share_percent = (gint32)CLAMP(percent, 0, 101);
    return percent >= 1 && percent <= 100 && (end[0] == '\0' || g_str_equal(end, "%"));
}

static bool
check_throttle(command_arguments *arguments, int *ret_code)
{
    if (!read_share(arguments))
        *ret_code = kw_cli_usage("--share %s: must be 1%% to 100%%, or default", arguments->share);
    else if (arguments->rows_per_second < 0 && arguments->share == NULL)
        *ret_code = kw_cli_usage("--rows-per-second N (0 or more) or --share N%% is required");
    else
        return true;
    return false;
}

static int
run(kw_cli *cli, const struct command_kind *kind, int argc, char **argv)
{
    command_arguments arguments = {.rows_per_second = -1};
    g_autofree char *command = g_strdup_printf("change %s", kind->name);
    int code;
    const GOptionEntry entries[] = {{"expect", 0, 0, G_OPTION_ARG_STRING, &arguments.expected,
                                     "Fail unless the change is at this place, for example both-old",
                                     "PLACE"},
                                    option_of(kind, &arguments),
                                    share_option_of(kind, &arguments),
                                    G_OPTION_ENTRY_NULL};

    if (kw_cli_parse(cli, command, "TABLE", kind->about, entries, NULL, 1, 1, &argc, &argv, &code)) {
        if (kind->action != KW_CHANGE_THROTTLE || check_throttle(&arguments, &code))
            code = send_command(cli, kind, argv[1], &arguments);
    }
    g_free(arguments.expected);
    g_free(arguments.share);
    return code;
}

bool
kw_command_change_command(kw_cli *cli, int argc, char **argv, int *ret_exit)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (g_str_equal(argv[0], kinds[i].name)) {
            *ret_exit = run(cli, &kinds[i], argc, argv);
            return true;
        }
    }
    return false;
}
