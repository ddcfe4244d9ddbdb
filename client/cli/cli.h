/* The program `keyway`: what its commands share. One thread, one connection; a command is a function
 * that gets the words behind its name and returns the exit status.
 *
 *     main.c  the list of commands          connect.c  options of all commands, connecting, errors
 *     write.c read.c explain.c import.c     the data commands
 *     show.c create.c forget.c check.c      tables and administration
 *     scrub.c scrub_state.c                comparing the paths of a table
 *     diff.c                               what one policy file changes against another
 *     advise*.c private.c                   what key rules would do, with a gateway of its own
 *     value.c stamp.c text.c question.c     from words to values and questions, and back
 *     output*.c                             rows as table, json, jsonl or csv
 *     source*.c batch.c                     the parts of import
 *     progress.c interrupt.c                of commands that work through many records
 */
#pragma once

#include "keyway.h"

/* Exit status; keyway(1) lists them. */
typedef enum kw_exit {
    KW_EXIT_OK = 0,
    KW_EXIT_FAILED = 1,      /* INTERNAL, REFUSED, CORRUPT, an answer that makes no sense, local files */
    KW_EXIT_USAGE = 2,       /* the command line is wrong */
    KW_EXIT_INVALID = 3,     /* INVALID; check found problems; a condition was not met */
    KW_EXIT_NOT_FOUND = 4,   /* NOT_FOUND; get found no record */
    KW_EXIT_DENIED = 5,      /* DENIED */
    KW_EXIT_LIMIT = 6,       /* LIMIT */
    KW_EXIT_UNAVAILABLE = 7, /* BUSY, UNAVAILABLE, no gateway: try again later */
    KW_EXIT_TIMEOUT = 8,     /* TIMEOUT */
    KW_EXIT_REJECTED = 9,    /* import: some records were not written */
    KW_EXIT_UNKNOWN = 10     /* a write may have been applied or not */
} kw_exit;

typedef enum kw_output_format {
    KW_OUTPUT_TABLE,
    KW_OUTPUT_JSON,
    KW_OUTPUT_JSONL,
    KW_OUTPUT_CSV
} kw_output_format;

/* What the options of every command say. Texts live as long as the program. */
typedef struct kw_cli {
    char *gateway;
    kw_client_options connection;
    int timeout_ms;
    kw_output_format format;
    gboolean framed, compact, tls; /* go into `connection` */
    gboolean raw;                  /* timestamps as numbers */
    kw_client *client;             /* NULL: not connected yet */
} kw_cli;

/* Parses a command's options and those of all commands, and leaves the words in argv[1..argc-1].
 * Prints what is wrong, or the help, and returns false with *ret_exit set when the command is over.
 * words: e.g. "TABLE FIELD=VALUE..."; least and most words (most < 0: any number). */
bool kw_cli_parse(kw_cli *cli, const char *command, const char *words, const char *about,
                  const GOptionEntry *entries, GOptionGroup *group, int least, int most, int *argc,
                  char ***argv, int *ret_exit);

/* The parsing alone, with --help and the options of all commands. */
bool kw_cli_parse_options(GOptionContext *context, kw_cli *cli, int *argc, char ***argv, int *ret_exit);

/* Connects once. NULL: *ret_exit is set, and the reason was printed. */
kw_client *kw_cli_connect(kw_cli *cli, int *ret_exit);

/* Does an option or the environment name a gateway? Else it is the default one. */
bool kw_cli_names_gateway(const kw_cli *cli);

/* Connects and asks for the table. NULL: as above. */
kw_table_info *kw_cli_describe(kw_cli *cli, const char *table, int *ret_exit);

/* Prints "keyway: <what>: <message>" and the hints that the error carries; returns the exit status.
 * Takes the error. */
int kw_cli_fail(GError *error, const char *what);

/* The same for a wrong command line; always KW_EXIT_USAGE. */
int kw_cli_usage(const char *format, ...) G_GNUC_PRINTF(1, 2);

int kw_exit_of(const GError *error);

/* Deadline of a call from --timeout; 0 when not given. */
kw_call_options kw_cli_call_options(const kw_cli *cli);

/* Ends the connection and frees what the options hold. */
void kw_cli_clear(kw_cli *cli);

/* One per command: see main.c. */
int kw_command_put(kw_cli *cli, int argc, char **argv);
int kw_command_get(kw_cli *cli, int argc, char **argv);
int kw_command_remove(kw_cli *cli, int argc, char **argv);
int kw_command_increment(kw_cli *cli, int argc, char **argv);
int kw_command_allocate(kw_cli *cli, int argc, char **argv);
int kw_command_scan(kw_cli *cli, int argc, char **argv);
int kw_command_latest(kw_cli *cli, int argc, char **argv);
int kw_command_explain(kw_cli *cli, int argc, char **argv);
int kw_command_policy_diff(kw_cli *cli, int argc, char **argv);
int kw_command_advise(kw_cli *cli, int argc, char **argv);
int kw_command_import(kw_cli *cli, int argc, char **argv);
int kw_command_tables(kw_cli *cli, int argc, char **argv);
int kw_command_describe(kw_cli *cli, int argc, char **argv);
int kw_command_create(kw_cli *cli, int argc, char **argv);
int kw_command_forget(kw_cli *cli, int argc, char **argv);
int kw_command_scrub(kw_cli *cli, int argc, char **argv);
int kw_command_policy(kw_cli *cli, int argc, char **argv);
int kw_command_check(kw_cli *cli, int argc, char **argv);
int kw_command_reload(kw_cli *cli, int argc, char **argv);
int kw_command_stats(kw_cli *cli, int argc, char **argv);
