/* keyway scrub: compares the paths of a table slice by slice, and repairs them. */
#include "cli/scrub.h"

#include "cli/verify.h"

static void
fill(const kw_scrub_run *run, const kw_difference *difference, const char *record, kw_value *cells)
{
    (void)run;
    cells[0] = kw_text(difference->path);
    cells[1] = kw_text(kw_scrub_kind_text(difference->kind));
    cells[2] = kw_text(record);
    cells[3] = kw_text(difference->text);
    cells[4] = kw_flag(difference->repaired);
}

static const kw_output_column columns[] = {
    {.name = "path"}, {.name = "kind"}, {.name = "record"}, {.name = "difference"}, {.name = "repaired"}};

static const kw_scrub_command command = {.name = "scrub",
                                         .noun = "scrub",
                                         .group = "keyway scrub",
                                         .again = "scrub again",
                                         .columns = columns,
                                         .columns_count = G_N_ELEMENTS(columns),
                                         .next = kw_client_scrub,
                                         .fill = fill};

static guint
count_paths(const kw_table_info *info)
{
    guint count = 0;

    for (guint i = 0; i < info->paths->len; i++)
        count += !((const kw_path_info *)info->paths->pdata[i])->association;
    return count;
}

/* A table with one path has nothing to compare it with. */
static int
verify(const kw_scrub_run *run)
{
    const kw_verify_run verification = {.cli = run->cli,
                                        .info = run->info,
                                        .state_file = run->state_file,
                                        .rows_per_second = run->rows_per_second,
                                        .show = run->show_left,
                                        .command = "scrub"};

    if (run->repair)
        return kw_cli_usage("table %s has one path, so --repair has nothing to repair it from", run->table);
    return kw_verify_run_all(&verification);
}

int
kw_command_scrub(kw_cli *cli, int argc, char **argv)
{
    g_auto(kw_scrub_run) run = {.command = &command, .cli = cli};
    int code;

    if (!kw_scrub_parse(
            &run,
            "Compares the paths of a table record by record, and prints the differences. A table with one "
            "path is verified instead (keyway verify).",
            "Change the other paths to match the primary path", argc, argv, &code))
        return code;
    return count_paths(run.info) == 1 ? verify(&run) : kw_scrub_run_all(&run);
}
