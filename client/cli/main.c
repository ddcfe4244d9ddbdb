/* keyway: writes and reads the records of a Keyway gateway from the command line. */
#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/text.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int run_help(kw_cli *cli, int argc, char **argv);

static const struct {
    const char *name;
    const char *words;
    const char *about;
    int (*run)(kw_cli *cli, int argc, char **argv);
} commands[] = {
    {"put", "TABLE FIELD=VALUE...", "write a record", kw_command_put},
    {"get", "TABLE KEYFIELD=VALUE...", "print a record", kw_command_get},
    {"scan", "TABLE [FIELD=VALUE...]", "print all records that match a query", kw_command_scan},
    {"latest", "TABLE [FIELD=VALUE...]", "print the newest record", kw_command_latest},
    {"count", "TABLE [FIELD=VALUE...]", "count the records that match a query", kw_command_count},
    {"remove", "TABLE KEYFIELD=VALUE...", "remove a record", kw_command_remove},
    {"increment", "TABLE KEYFIELD=VALUE... FIELD=AMOUNT...", "add to integer fields", kw_command_increment},
    {"allocate", "TABLE FIELD [COUNT] [FIELD=VALUE...]", "allocate numbers of a sequence",
     kw_command_allocate},
    {"import", "TABLE FILE", "write the records of a CSV or JSON lines file", kw_command_import},
    {"explain", "TABLE [FIELD=VALUE...]", "print the plan of a query, or the row keys of a record",
     kw_command_explain},
    {"decode", "TABLE ROWKEY", "print the fields that a row key holds", kw_command_decode},
    {"advise", "--policy FILE --sample FILE", "predict how key rules would behave", kw_command_advise},
    {"tables", "", "list the tables", kw_command_tables},
    {"describe", "TABLE", "print the fields and paths of a table", kw_command_describe},
    {"create", "TABLE", "create the store tables of a table", kw_command_create},
    {"forget", "TABLE", "remove an unused table or path from the catalog", kw_command_forget},
    {"scrub", "TABLE", "compare the paths of a table, and repair them", kw_command_scrub},
    {"verify", "TABLE", "check that all rows of a table follow its policy", kw_command_verify},
    {"policy", "[COMMAND]", "print the policy; import, apply, list and compare versions", kw_command_policy},
    {"catalog", "COMMAND", "export and import the catalog", kw_command_catalog},
    {"change", "COMMAND", "control a change of a table while the table is in use", kw_command_change},
    {"check", "FILE...", "find problems in policy files", kw_command_check},
    {"reload", "", "make the gateway read its policy file again", kw_command_reload},
    {"backup", "NAME", "make a backup of the embedded store", kw_command_backup},
    {"stats", "[PREFIX]", "print the metrics of the gateway", kw_command_stats},
    {"help", "[COMMAND]", "print the options of a command", run_help},
};

/* Names of commands in other tools, and the commands of this program that they mean. */
static const struct {
    const char *word;
    const char *name;
} synonyms[] = {
    {"delete", "remove"},  {"rm", "remove"},      {"insert", "put"},        {"write", "put"},
    {"read", "get"},       {"query", "scan"},     {"select", "scan"},       {"load", "import"},
    {"list", "tables"},    {"ls", "tables"},      {"show", "describe"},     {"plan", "explain"},
    {"incr", "increment"}, {"drop", "forget"},    {"diff", "policy diff"},  {"apply", "policy apply"},
    {"metrics", "stats"},  {"validate", "check"}, {"version", "--version"},
};

static const char *
synonym_of(const char *word)
{
    for (gsize i = 0; i < G_N_ELEMENTS(synonyms); i++)
        if (g_str_equal(word, synonyms[i].word))
            return synonyms[i].name;
    return NULL;
}

static char *
summary(void)
{
    GString *text = g_string_new("Reads and writes logical records through a Keyway gateway.\n\nCommands:\n");

    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
        g_string_append_printf(text, "  %-10s %s\n", commands[i].name, commands[i].about);
    g_string_append(text, "\nThe type of a field determines how its value is written: 12, 9.75, true, "
                          "text,\n2026-11-21T10:00:00Z, now-1h, or \\xNN for bytes.\n`keyway COMMAND --help` "
                          "prints the options of a command.");
    return g_string_free(text, FALSE);
}

/* Parses options before the command. False: the program must exit with *ret_exit. */
static bool
parse_global(kw_cli *cli, int *argc, char **argv, int *ret_exit)
{
    g_autofree char *text = summary();
    g_autoptr(kw_options) options = kw_options_new("COMMAND [ARGUMENT...]", text);
    gboolean version = FALSE;
    const GOptionEntry entries[] = {
        {"version", 0, 0, G_OPTION_ARG_NONE, &version, "Print the release of the program", NULL},
        G_OPTION_ENTRY_NULL};

    kw_options_stop_at_argument(options);
    kw_options_add(options, "program", "Options:", NULL, entries);
    if (!kw_cli_parse_options(options, cli, argc, argv, ret_exit))
        return false;
    if (!version && *argc >= 2)
        return true;
    if (version) {
        printf("keyway %s\n", KW_VERSION);
    } else {
        g_printerr("%s\n", text);
        *ret_exit = KW_EXIT_USAGE;
    }
    return false;
}

static int
run(kw_cli *cli, int argc, char **argv)
{
    const char *names[G_N_ELEMENTS(commands) + 1] = {NULL};
    const char *nearest;

    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        names[i] = commands[i].name;
        if (g_str_equal(argv[1], commands[i].name))
            return commands[i].run(cli, argc - 1, argv + 1);
    }
    nearest = synonym_of(argv[1]);
    if (nearest == NULL)
        nearest = kw_text_nearest(argv[1], names);
    if (nearest != NULL)
        return kw_cli_usage("there is no command \"%s\"; did you mean \"%s\"?", argv[1], nearest);
    return kw_cli_usage("there is no command \"%s\"", argv[1]);
}

/* Runs `COMMAND --help`. */
static int
run_help(kw_cli *cli, int argc, char **argv)
{
    g_autofree char **all = g_new0(char *, (gsize)argc + 2);
    char *words[] = {(char *)"keyway", (char *)"--help", NULL};
    int count = 2;
    int code;

    if (argc == 1) {
        parse_global(cli, &count, words, &code);
        return code;
    }
    if (argv[1][0] == '-' || g_str_equal(argv[1], "help"))
        return run_help(cli, 1, argv);
    memcpy(all, argv, (gsize)argc * sizeof *argv);
    all[argc] = (char *)"--help";
    return run(cli, argc + 1, all);
}

int
main(int argc, char **argv)
{
    kw_cli cli = {0};
    int code;

    setlocale(LC_ALL, "");
    g_set_prgname("keyway");
    kw_terminal_guard();
    signal(SIGPIPE, SIG_DFL);
    if (parse_global(&cli, &argc, argv, &code))
        code = run(&cli, argc, argv);
    kw_cli_clear(&cli);
    return code;
}
