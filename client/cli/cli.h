/* The program `keyway`: the functions shared by its commands. One thread, one connection; a command is a
 * function that receives the arguments after its name and returns the exit status.
 *
 *     main.c                                the list of commands
 *     connect.c options.c                   options of all commands, connecting, errors
 *     write.c read.c versions.c             put, remove, increment; get, scan, latest
 *     count*.c allocate.c import.c batch.c  count, allocate, import
 *     explain*.c decode.c                   keys and plans
 *     show.c create.c forget.c check.c      tables and administration
 *     scrub.c scrub_run.c scrub_state.c     compares the paths of a table
 *     verify*.c                             checks all rows of a table
 *     change.c change_*.c                   changes of tables (key rules, paths, atomics)
 *     policy.c policy_apply.c               the policy and its versions
 *     diff.c diff_rows.c                    compares two policy files, or versions
 *     advise*.c private.c                   predicts the effect of key rules, with a private gateway
 *     value.c stamp.c text.c query_words.c  convert arguments to values and queries, and back
 *     output*.c                             rows as table, json, jsonl or csv
 *     source*.c json_text.c file.c          read files: records, JSON, other texts
 *     json_build.c terminal.c               JSON objects; protects the terminal from stored data
 *     progress.c interrupt.c                for commands that process many records
 */
#pragma once

#include "cli/options.h"
#include "keyway.h"

/* Exit status; keyway(1) lists them. */
typedef enum kw_exit {
    KW_EXIT_OK = 0,
    KW_EXIT_FAILED = 1,      /* INTERNAL, REFUSED, CORRUPT, an invalid reply, local files */
    KW_EXIT_USAGE = 2,       /* the command line is wrong */
    KW_EXIT_INVALID = 3,     /* INVALID; problems were found; a condition was not met */
    KW_EXIT_NOT_FOUND = 4,   /* NOT_FOUND; get found no record */
    KW_EXIT_DENIED = 5,      /* DENIED */
    KW_EXIT_LIMIT = 6,       /* LIMIT */
    KW_EXIT_UNAVAILABLE = 7, /* BUSY, UNAVAILABLE, no gateway: try again later */
    KW_EXIT_TIMEOUT = 8,     /* TIMEOUT */
    KW_EXIT_REJECTED = 9,    /* import: some records were not written */
    KW_EXIT_UNKNOWN = 10     /* the outcome of a write is unknown */
} kw_exit;

typedef enum kw_output_format {
    KW_OUTPUT_TABLE,
    KW_OUTPUT_JSON,
    KW_OUTPUT_JSONL,
    KW_OUTPUT_CSV
} kw_output_format;

/* The options shared by all commands. Texts live as long as the program. */
typedef struct kw_cli {
    char *gateway;
    kw_client_options connection;
    int timeout_ms;
    kw_output_format format;
    gboolean framed, compact, tls; /* copied into `connection` */
    gboolean raw;                  /* timestamps as numbers */
    kw_client *client;             /* NULL: not connected yet */
} kw_cli;

typedef struct kw_query_words kw_query_words; /* query_words.h */

/* Parses a command's options and those of all commands, and leaves the arguments in argv[1..argc-1].
 * False: it printed an error or the help, and *ret_exit is set; the command must not run. words: for example
 * "TABLE FIELD=VALUE..."; query: adds the options of a query (NULL: none); least and most: number of
 * arguments (most < 0: any number). */
bool kw_cli_parse(kw_cli *cli, const char *command, const char *words, const char *about,
                  const GOptionEntry *entries, kw_query_words *query, int least, int most, int *argc,
                  char ***argv, int *ret_exit);

/* Adds the options of all commands and --help to `options`, and parses. Does not count the arguments. False:
 * as above. */
bool kw_cli_parse_options(kw_options *options, kw_cli *cli, int *argc, char **argv, int *ret_exit);

/* Connects once. NULL: *ret_exit is set, and the reason was printed. */
kw_client *kw_cli_connect(kw_cli *cli, int *ret_exit);

/* Connects and fetches the table's description. NULL: as above. */
kw_table_info *kw_cli_describe(kw_cli *cli, const char *table, int *ret_exit);

/* Prints "keyway: <what>: <message>" and the details of the error; returns the exit status. Frees the
 * error. */
int kw_cli_fail(GError *error, const char *what);

/* The same for an invalid command line; always returns KW_EXIT_USAGE. */
int kw_cli_usage(const char *format, ...) G_GNUC_PRINTF(1, 2);

int kw_exit_of(const GError *error);

/* True for an error that can disappear: BUSY, UNAVAILABLE, TIMEOUT, or a lost connection. */
bool kw_cli_is_temporary(const GError *error);

/* Call it after attempt number `tries` (from 1) failed. Waits and returns true if the call can be repeated:
 * after a temporary error, up to five attempts in all, unless the program was interrupted. */
bool kw_cli_wait_to_retry(const GError *failure, int tries);

/* The deadline of a call from --timeout; 0 if not set. */
kw_call_options kw_cli_call_options(const kw_cli *cli);

/* Closes the connection and frees the options. */
void kw_cli_clear(kw_cli *cli);

/* One per command: see main.c. */
int kw_command_put(kw_cli *cli, int argc, char **argv);
int kw_command_get(kw_cli *cli, int argc, char **argv);
int kw_command_remove(kw_cli *cli, int argc, char **argv);
int kw_command_increment(kw_cli *cli, int argc, char **argv);
int kw_command_allocate(kw_cli *cli, int argc, char **argv);
int kw_command_scan(kw_cli *cli, int argc, char **argv);
int kw_command_count(kw_cli *cli, int argc, char **argv);
int kw_command_latest(kw_cli *cli, int argc, char **argv);
int kw_command_explain(kw_cli *cli, int argc, char **argv);
int kw_command_decode(kw_cli *cli, int argc, char **argv);
int kw_command_policy_diff(kw_cli *cli, int argc, char **argv);
int kw_command_policy_import(kw_cli *cli, int argc, char **argv);
int kw_command_policy_apply(kw_cli *cli, int argc, char **argv);
int kw_command_advise(kw_cli *cli, int argc, char **argv);
int kw_command_import(kw_cli *cli, int argc, char **argv);
int kw_command_tables(kw_cli *cli, int argc, char **argv);
int kw_command_describe(kw_cli *cli, int argc, char **argv);
int kw_command_create(kw_cli *cli, int argc, char **argv);
int kw_command_forget(kw_cli *cli, int argc, char **argv);
int kw_command_backup(kw_cli *cli, int argc, char **argv);
int kw_command_verify(kw_cli *cli, int argc, char **argv);
int kw_command_scrub(kw_cli *cli, int argc, char **argv);
int kw_command_change(kw_cli *cli, int argc, char **argv);
int kw_command_policy(kw_cli *cli, int argc, char **argv);
int kw_command_catalog(kw_cli *cli, int argc, char **argv);
int kw_command_check(kw_cli *cli, int argc, char **argv);
int kw_command_reload(kw_cli *cli, int argc, char **argv);
int kw_command_stats(kw_cli *cli, int argc, char **argv);
