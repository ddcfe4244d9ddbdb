/* keyway change diff: compares the rows under the old and the new key rule of a change, slice by slice. */
#include "cli/change.h"
#include "cli/scrub.h"

/* Whether the old (or new) rows have the record. */
static kw_value
presence(const kw_scrub_run *run, const kw_difference *difference, bool new_rows)
{
    bool is_read = new_rows == run->reads_new;

    if (difference->kind == KW_DIFFERENCE_FOREIGN)
        return (kw_value){.kind = KW_VALUE_NONE};
    return kw_flag(difference->kind == KW_DIFFERENCE_DIFFERENT ||
                   is_read == (difference->kind == KW_DIFFERENCE_MISSING));
}

static void
fill(const kw_scrub_run *run, const kw_difference *difference, const char *record, kw_value *cells)
{
    cells[0] = kw_text(kw_scrub_kind_text(difference->kind));
    cells[1] = kw_text(record);
    cells[2] = presence(run, difference, false);
    cells[3] = presence(run, difference, true);
    cells[4] = kw_text(difference->text);
    cells[5] = kw_flag(difference->repaired);
}

static const kw_output_column columns[] = {{.name = "kind"}, {.name = "record"},     {.name = "old"},
                                           {.name = "new"},  {.name = "difference"}, {.name = "repaired"}};

static const kw_scrub_command command = {.name = "change diff",
                                         .noun = "comparison",
                                         .group = "keyway change diff",
                                         .again = "compare again",
                                         .columns = columns,
                                         .columns_count = G_N_ELEMENTS(columns),
                                         .next = kw_client_change_diff,
                                         .fill = fill};

/* Finds which rows queries read. If no change is under way, the comparison fails later with the gateway's
 * error. */
static bool
find_reads_new(kw_scrub_run *run, int *ret_exit)
{
    g_autoptr(GPtrArray) changes = NULL;
    GError *error = NULL;

    changes = kw_client_changes(run->cli->client, run->table, &error);
    if (changes == NULL) {
        *ret_exit = kw_cli_fail(error, "change diff");
        return false;
    }
    run->reads_new = changes->len > 0 && ((const kw_change_status *)changes->pdata[0])->reads_new;
    return true;
}

int
kw_command_change_diff(kw_cli *cli, int argc, char **argv)
{
    g_auto(kw_scrub_run) run = {.command = &command, .cli = cli};
    int code;

    if (!kw_scrub_parse(
            &run, "Compares the rows under the old and the new key rule, and prints the differences.",
            "Change the rows that queries do not read to match those that they read", argc, argv, &code) ||
        !find_reads_new(&run, &code))
        return code;
    return kw_scrub_run_all(&run);
}
