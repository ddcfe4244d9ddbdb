/* Prints the state of changes. See change.h. */
#include "cli/change.h"

#include "cli/output.h"
#include "cli/stamp.h"
#include "cli/text.h"

#include <string.h>

#define TITLE_WIDTH 14

/* --- texts ---------------------------------------------------------------------------------------- */

/* True if rows remain to be copied or compared, and copying or comparing has made progress. */
static bool
has_progress(const kw_change_status *change)
{
    return !(change->copied && change->compared) && change->progress > 0;
}

char *
kw_change_phase(const kw_change_status *change)
{
    g_autoptr(GString) text = g_string_new(change->phase);

    if (has_progress(change))
        g_string_append_printf(text, ", %.0f %%", 100 * change->progress);
    if (change->rows_per_second > 0)
        g_string_append_printf(text, ", %.0f rows per second", change->rows_per_second);
    if (change->left_ms > 0) {
        g_autofree char *left = kw_text_of_duration(change->left_ms);

        g_string_append_printf(text, ", about %s left", left);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* What the rungs of the ladder do (keyway-changes(7)). `%s`: the rows that queries read. Other rungs use only
 * one placement. */
static const struct {
    const char *rung;
    const char *text;
    const char *text_if_added; /* of a change that adds or drops paths */
} rungs[] = {
    {"opening-", "puts go to the %s rows, removals to the old and the new rows",
     "removals go to the path, too; queries cannot use it until it has all rows"},
    {"both-", "writes go to the old and the new rows; queries read the %s rows",
     "writes go to the path, too; queries cannot use it until it has all rows"},
    {"spacing-", "writes go to the old and the new rows; queries read the %s rows", ""},
    {"spaced-", "writes go to the old and the new rows; queries read the %s rows",
     "writes go to the path, too; queries cannot use it until it has all rows"},
    {"last-pass-", "writes go to the old and the new rows; queries read the %s rows", ""},
    {"get-both-",
     "writes go to the old and the new rows; gets of single records read both, scans the %s rows", ""},
    {"closing-",
     "writes go to the old and the new rows; queries read the %s rows, and scans that began under the old "
     "key rule fail",
     ""},
    {"filled-", "", "writes go to the path, too; queries can use it"},
    {"", "writes go to the %s rows", "nothing is written to the path yet"},
};

bool
kw_change_adds_path(const kw_change_status *change)
{
    return change->added_paths[0] != NULL;
}

bool
kw_change_drops_path(const kw_change_status *change)
{
    return change->dropped_paths[0] != NULL;
}

bool
kw_change_sets_atomics(const kw_change_status *change)
{
    return change->layout == change->old_layout && g_str_equal(change->store_table, change->old_store_table);
}

/* Returns the paths that are added or dropped. Empty: a key rule changes. */
static char **
paths_of(const kw_change_status *change)
{
    return kw_change_drops_path(change) ? change->dropped_paths : change->added_paths;
}

char *
kw_change_paths(const kw_change_status *change)
{
    char **paths = paths_of(change);

    return paths[0] == NULL ? g_strdup(change->path) : g_strjoinv(", ", paths);
}

static bool
has_several_paths(const kw_change_status *change)
{
    char **paths = paths_of(change);

    return paths[0] != NULL && paths[1] != NULL;
}

/* The places of a change that drops paths: those of an added path, from spaced-old back. */
static const char *
text_if_dropped(const kw_change_status *change)
{
    if (g_str_has_prefix(change->version, "spaced-"))
        return "writes still go to the path; queries do not use it any more";
    return g_str_has_prefix(change->version, "opening-") ? "removals still go to the path"
                                                         : "nothing uses the path";
}

/* Free it. */
static char *
place_text(const kw_change_status *change)
{
    gsize i = 0;

    if (kw_change_sets_atomics(change))
        return g_strdup("increments and conditional writes become allowed or forbidden; they wait");
    if (kw_change_drops_path(change))
        return g_strdup(text_if_dropped(change));
    while (!g_str_has_prefix(change->version, rungs[i].rung))
        i++;
    if (kw_change_adds_path(change))
        return g_strdup(rungs[i].text_if_added);
    g_auto(GStrv) parts = g_strsplit(rungs[i].text, "%s", 2);
    return g_strjoinv(g_str_has_suffix(change->version, "-new") ? "new" : "old", parts);
}

/* --- the commands that are possible now ----------------------------------------------------------- */

static const struct {
    const char *name;
    const char *arguments;
    const char *about;
} commands[] = {
    {"switch", "", "queries read the new rows"},
    {"reverse", "", "queries read the old rows again"},
    {"complete", "", "end the change; cannot be undone"},
    {"cancel", "", "end the change and return to the old key rule"},
    {"pause", "", "stop copying and comparing"},
    {"resume", "", "continue copying and comparing"},
    {"throttle", " --rows-per-second N --share N%", "limit copying and comparing"},
    {"compare", "", "compare all rows again"},
};

/* Returns for example "keyway change switch TABLE". `words`: the name of the command, and possibly its
 * options. */
static char *
command_text(const kw_change_status *change, const char *words, const char **ret_about)
{
    g_auto(GStrv) parts = g_strsplit(words, " ", 2);
    const char *arguments = "";
    bool foreign = g_str_equal(words, "switch") && change->foreign_rows > 0;
    bool adds = kw_change_adds_path(change);

    *ret_about = "";
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (g_strcmp0(parts[0], commands[i].name) == 0) {
            *ret_about = commands[i].about;
            arguments = parts[1] == NULL ? commands[i].arguments : "";
        }
    }
    if (adds && g_str_equal(words, "switch"))
        *ret_about = "queries can use the path, which lacks the undecodable rows";
    if (adds && g_str_equal(words, "cancel"))
        *ret_about = "end the change without adding the path";
    if (kw_change_sets_atomics(change) && g_str_equal(words, "cancel"))
        *ret_about = "end the change without allowing increments and conditional writes";
    if (g_str_equal(words, "complete") && change->cursors_until > g_get_real_time() / 1000)
        *ret_about =
            "end the change after the cursors have expired, or now with --expire-cursors; cannot be undone";
    return g_strdup_printf("keyway change %s %s%s%s%s%s", parts[0] == NULL ? "" : parts[0], change->table,
                           arguments, parts[1] == NULL ? "" : " ", parts[1] == NULL ? "" : parts[1],
                           foreign ? " --leave-undecodable" : "");
}

static char **
next_commands(const kw_change_status *change)
{
    char **words = g_strsplit(change->next_commands, ",", -1);

    for (char **word = words; *word != NULL; word++)
        g_strstrip(*word);
    return words;
}

void
kw_change_print_next(const kw_change_status *change, const char *title, int indent, FILE *to)
{
    g_auto(GStrv) words = next_commands(change);
    const char *head = title;
    int width = 0;

    for (char **word = words; *word != NULL; word++) {
        const char *about;
        g_autofree char *text = command_text(change, *word, &about);

        width = MAX(width, (int)strlen(text));
    }
    for (char **word = words; *word != NULL; word++) {
        const char *about;
        g_autofree char *text = command_text(change, *word, &about);

        if (**word == '\0')
            continue;
        fprintf(to, "%-*s%-*s%s%s\n", indent, head, *about == '\0' ? 0 : width, text,
                *about == '\0' ? "" : "  # ", about);
        head = "";
    }
}

/* --- for people ------------------------------------------------------------------------------------ */

static void G_GNUC_PRINTF(2, 3) print_line(const char *title, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    printf("  %-*s%s\n", TITLE_WIDTH, title, text);
}

static void
print_compared(const kw_change_status *change)
{
    if (change->rows_compared == 0 && !change->compared)
        print_line("compared", "not yet");
    else
        print_line("compared",
                   "%" G_GINT64_FORMAT " rows%s: %" G_GINT64_FORMAT " missing, %" G_GINT64_FORMAT
                   " different, %" G_GINT64_FORMAT " extra; %" G_GINT64_FORMAT " repaired",
                   change->rows_compared, change->compared ? "" : " so far", change->missing,
                   change->different, change->extra, change->repaired);
}

static void
print_rows(const kw_change_status *change)
{
    print_line("copied", "%" G_GINT64_FORMAT " rows%s", change->rows_copied, change->copied ? "" : " so far");
    print_compared(change);
    if (change->limit_rows_per_second > 0)
        print_line("limit", "%" G_GINT64_FORMAT " rows per second", change->limit_rows_per_second);
    if (change->share_percent > 0)
        print_line("share", "%d %% of the time while callers use the gateways", change->share_percent);
    if (change->foreign_rows > 0)
        print_line("undecodable", "%" G_GINT64_FORMAT " rows were not copied%s%s", change->foreign_rows,
                   change->example[0] == '\0' ? "" : ", for example ", change->example);
}

/* Prints the old and the new store table. If the change has several paths, prints those of the first path. */
static void
print_store_tables(const kw_change_status *change)
{
    bool adds = kw_change_adds_path(change);

    if (kw_change_drops_path(change)) {
        print_line("rows", "layout %d, store table %s%s", change->layout, change->store_table,
                   has_several_paths(change) ? ", and those of the other paths" : "");
        return;
    }
    print_line(adds ? "copied from" : "old rows", "layout %d, store table %s", change->old_layout,
               change->old_store_table);
    if (has_several_paths(change))
        print_line("copied to", "layout %d, store table %s, then to those of the other paths", change->layout,
                   change->store_table);
    else
        print_line(adds ? "copied to" : "new rows", "layout %d, store table %s", change->layout,
                   change->store_table);
}

static void
print_change(const kw_cli *cli, const kw_change_status *change)
{
    g_autofree char *since = NULL, *started = NULL, *until = NULL;
    g_autofree char *phase = kw_change_phase(change), *paths = kw_change_paths(change);
    g_autofree char *text = place_text(change);

    kw_output_stamp(cli, change->version_at, &since);
    kw_output_stamp(cli, change->started_at, &started);
    kw_output_stamp(cli, change->cursors_until, &until);
    printf("table %s, path%s %s: %s since %s\n", change->table, has_several_paths(change) ? "s" : "", paths,
           change->version, since);
    if (*text != '\0')
        print_line("", "%s", text);
    print_line("phase", "%s", phase);
    if (change->goal[0] != '\0')
        print_line("goal", "%s%s%s", change->goal,
                   change->holder[0] == '\0' ? "" : ", carried out by gateway ", change->holder);
    if (!kw_change_sets_atomics(change))
        print_store_tables(change);
    print_line("began", "%s by %s, policy version %" G_GINT64_FORMAT "%s%s", started, change->author,
               change->policy_version, change->reason[0] == '\0' ? "" : ": ", change->reason);
    if (!kw_change_drops_path(change) && !kw_change_sets_atomics(change))
        print_rows(change);
    if (change->cursors_until > 0)
        print_line("cursors", "those of the old key rule expire at %s", until);
    if (change->problem[0] != '\0')
        print_line("problem", "%s", change->problem);
    kw_change_print_next(change, "  next", 2 + TITLE_WIDTH, stdout);
}

/* --- for programs ---------------------------------------------------------------------------------- */

static const kw_output_column columns[] = {{.name = "table"},           {.name = "path"},
                                           {.name = "version"},         {.name = "phase"},
                                           {.name = "next_commands"},   {.name = "author"},
                                           {.name = "reason"},          {.name = "policy_version"},
                                           {.name = "started_at"},      {.name = "version_at"},
                                           {.name = "old_layout"},      {.name = "layout"},
                                           {.name = "old_store_table"}, {.name = "store_table"},
                                           {.name = "reads_new"},       {.name = "paused"},
                                           {.name = "waiting"},         {.name = "limit_rows_per_second"},
                                           {.name = "rows_per_second"}, {.name = "progress"},
                                           {.name = "left_ms"},         {.name = "copied"},
                                           {.name = "compared"},        {.name = "rows_copied"},
                                           {.name = "rows_compared"},   {.name = "missing"},
                                           {.name = "different"},       {.name = "extra"},
                                           {.name = "repaired"},        {.name = "foreign_rows"},
                                           {.name = "example"},         {.name = "cursors_until"},
                                           {.name = "problem"},         {.name = "goal"},
                                           {.name = "holder"},          {.name = "added_paths"},
                                           {.name = "dropped_paths"},   {.name = "share_percent"}};

static kw_value
text_or_none(const char *text)
{
    return text[0] == '\0' ? (kw_value){.kind = KW_VALUE_NONE} : kw_text(text);
}

static void
output_row(const kw_cli *cli, kw_output *output, const kw_change_status *change)
{
    g_autofree char *started = NULL, *since = NULL, *until = NULL;
    g_autofree char *added = g_strjoinv(", ", change->added_paths);
    g_autofree char *dropped = g_strjoinv(", ", change->dropped_paths);
    kw_value cursors = kw_output_stamp(cli, change->cursors_until, &until);
    const kw_value none = {.kind = KW_VALUE_NONE};
    const kw_value cells[] = {kw_text(change->table),
                              kw_text(change->path),
                              kw_text(change->version),
                              kw_text(change->phase),
                              kw_text(change->next_commands),
                              kw_text(change->author),
                              kw_text(change->reason),
                              kw_number(change->policy_version),
                              kw_output_stamp(cli, change->started_at, &started),
                              kw_output_stamp(cli, change->version_at, &since),
                              kw_number(change->old_layout),
                              kw_number(change->layout),
                              kw_text(change->old_store_table),
                              kw_text(change->store_table),
                              kw_flag(change->reads_new),
                              kw_flag(change->paused),
                              kw_flag(change->waiting),
                              kw_number(change->limit_rows_per_second),
                              kw_real(change->rows_per_second),
                              kw_real(change->progress),
                              change->left_ms < 0 ? none : kw_number(change->left_ms),
                              kw_flag(change->copied),
                              kw_flag(change->compared),
                              kw_number(change->rows_copied),
                              kw_number(change->rows_compared),
                              kw_number(change->missing),
                              kw_number(change->different),
                              kw_number(change->extra),
                              kw_number(change->repaired),
                              kw_number(change->foreign_rows),
                              text_or_none(change->example),
                              change->cursors_until == 0 ? none : cursors,
                              text_or_none(change->problem),
                              text_or_none(change->goal),
                              text_or_none(change->holder),
                              text_or_none(added),
                              text_or_none(dropped),
                              change->share_percent == 0 ? none : kw_number(change->share_percent)};

    G_STATIC_ASSERT(G_N_ELEMENTS(cells) == G_N_ELEMENTS(columns));
    kw_output_row(output, cells);
}

bool
kw_change_output(const kw_cli *cli, const char *table, const GPtrArray *changes)
{
    kw_output *output;

    if (cli->format != KW_OUTPUT_TABLE) {
        output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));
        for (guint i = 0; i < changes->len; i++)
            output_row(cli, output, changes->pdata[i]);
        return kw_output_end(output, NULL);
    }
    if (changes->len == 0)
        printf("table %s: no change is under way\n", table);
    for (guint i = 0; i < changes->len; i++)
        print_change(cli, changes->pdata[i]);
    return fflush(stdout) == 0;
}
