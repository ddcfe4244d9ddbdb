/* The options of all commands, connecting, and printing errors. */
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/query_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TRIES 5
#define DEFAULT_GATEWAY "127.0.0.1:9595"

static gboolean
parse_format(const char *option, const char *text, gpointer user, GError **error)
{
    static const char *const names[] = {"table", "json", "jsonl", "csv", NULL};
    kw_cli *cli = user;

    for (int i = 0; names[i] != NULL; i++)
        if (g_str_equal(text, names[i])) {
            cli->format = (kw_output_format)i;
            return TRUE;
        }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s: \"%s\" is not an output format; use table, json, jsonl or csv", option, text);
    return FALSE;
}

static void
add_options_of_all(kw_cli *cli, gboolean *on_help, kw_options *options)
{
    kw_client_options *connection = &cli->connection;
    const GOptionEntry entries[] = {
        {"gateway", 'g', 0, G_OPTION_ARG_STRING, &cli->gateway,
         "Gateway to talk to [KEYWAY_GATEWAY, " DEFAULT_GATEWAY "]", "HOST:PORT|unix:/PATH"},
        {"timeout", 't', 0, G_OPTION_ARG_INT, &cli->timeout_ms, "Fail if there is no reply within this time",
         "MS"},
        {"output", 'o', 0, G_OPTION_ARG_CALLBACK, parse_format, "table, json, jsonl or csv", "FORMAT"},
        {"raw", 0, 0, G_OPTION_ARG_NONE, &cli->raw, "Print timestamps as numbers", NULL},
        {"framed", 0, 0, G_OPTION_ARG_NONE, &cli->framed, "Use framed transport", NULL},
        {"compact", 0, 0, G_OPTION_ARG_NONE, &cli->compact, "Use the compact protocol", NULL},
        {"tls", 0, 0, G_OPTION_ARG_NONE, &cli->tls, "Use TLS and verify the certificate of the gateway",
         NULL},
        {"tls-ca", 0, 0, G_OPTION_ARG_FILENAME, &connection->tls_ca,
         "Authorities to trust (PEM) [the system's]", "FILE"},
        {"tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &connection->tls_certificate,
         "Certificate of the client (PEM)", "FILE"},
        {"tls-key", 0, 0, G_OPTION_ARG_FILENAME, &connection->tls_key,
         "Private key of --tls-cert (PEM) [in the same file]", "FILE"},
        {"tls-name", 0, 0, G_OPTION_ARG_STRING, &connection->tls_server_name,
         "Name to verify [the gateway's host]", "NAME"},
        {"help", 'h', 0, G_OPTION_ARG_NONE, on_help, "Print this help", NULL},
        G_OPTION_ENTRY_NULL};

    kw_options_add(options, "gateway", "Gateway and output options:", cli, entries);
}

bool
kw_cli_parse_options(kw_options *options, kw_cli *cli, int *argc, char **argv, int *ret_exit)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *help = NULL;
    gboolean on_help = FALSE;

    add_options_of_all(cli, &on_help, options);
    *ret_exit = KW_EXIT_OK;
    if (!kw_options_parse(options, argc, argv, &error)) {
        *ret_exit = kw_cli_usage("%s", error->message);
        return false;
    }
    if (!on_help)
        return true;
    help = kw_options_help(options);
    printf("%s", help);
    return false;
}

static bool
parse_with(kw_options *options, kw_cli *cli, int least, int most, int *argc, char **argv, int *ret_exit)
{
    int words;

    if (!kw_cli_parse_options(options, cli, argc, argv, ret_exit))
        return false;
    *ret_exit = KW_EXIT_USAGE;
    if (*argc > 1 && g_str_equal(argv[1], "--")) {
        memmove(argv + 1, argv + 2, (gsize)(*argc - 1) * sizeof *argv);
        --*argc;
    }
    words = *argc - 1;
    if (words < least)
        kw_cli_usage(words == 0 ? "an argument is missing" : "an argument is missing after %s", argv[words]);
    else if (most >= 0 && words > most)
        kw_cli_usage("unexpected argument \"%s\"", argv[most + 1]);
    else
        return true;
    return false;
}

bool
kw_cli_parse(kw_cli *cli, const char *command, const char *words, const char *about,
             const GOptionEntry *entries, kw_query_words *query, int least, int most, int *argc, char ***argv,
             int *ret_exit)
{
    g_autoptr(kw_options) options = kw_options_new(words, about);
    g_autofree char *program = g_strdup_printf("keyway %s", command);

    g_set_prgname(program);
    if (entries != NULL)
        kw_options_add(options, "command", "Command options:", NULL, entries);
    if (query != NULL)
        kw_query_words_add_options(query, options);
    return parse_with(options, cli, least, most, argc, *argv, ret_exit);
}

int
kw_cli_usage(const char *format, ...)
{
    va_list arguments;
    g_autofree char *message = NULL;

    va_start(arguments, format);
    message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_printerr("%s: %s\nTry `%s --help`.\n", g_get_prgname(), message, g_get_prgname());
    return KW_EXIT_USAGE;
}

/* The named address; NULL: the default one. */
static const char *
named_address(const kw_cli *cli)
{
    const char *from_environment = g_getenv("KEYWAY_GATEWAY");

    if (cli->gateway != NULL)
        return cli->gateway;
    return from_environment != NULL && from_environment[0] != '\0' ? from_environment : NULL;
}

kw_client *
kw_cli_connect(kw_cli *cli, int *ret_exit)
{
    const char *named = named_address(cli);
    GError *error = NULL;

    if (cli->client != NULL)
        return cli->client;
    if (cli->timeout_ms < 0) {
        *ret_exit =
            kw_cli_usage("--timeout %d: must be a number of milliseconds, 0 or more", cli->timeout_ms);
        return NULL;
    }
    cli->connection.call_timeout_ms = (guint)cli->timeout_ms;
    cli->connection.connect_timeout_ms = (guint)MIN(cli->timeout_ms, 5000);
    cli->connection.framed = cli->framed;
    cli->connection.compact = cli->compact;
    /* --tls-ca and --tls-cert turn TLS on; --tls-key and --tls-name alone do not. */
    cli->connection.tls =
        cli->tls || cli->connection.tls_ca != NULL || cli->connection.tls_certificate != NULL;
    cli->client = kw_client_open(named != NULL ? named : DEFAULT_GATEWAY, &cli->connection, &error);
    if (cli->client == NULL)
        *ret_exit = kw_cli_fail(error, "cannot connect");
    return cli->client;
}

kw_table_info *
kw_cli_describe(kw_cli *cli, const char *name, int *ret_exit)
{
    GError *error = NULL;
    kw_client *client = kw_cli_connect(cli, ret_exit);
    kw_table_info *table = client == NULL ? NULL : kw_client_describe(client, name, &error);

    if (error != NULL)
        *ret_exit = kw_cli_fail(error, name);
    return table;
}

kw_call_options
kw_cli_call_options(const kw_cli *cli)
{
    return (kw_call_options){.deadline_ms = cli->timeout_ms};
}

static int
exit_of_code(kw_client_code code)
{
    switch (code) {
    case KW_CLIENT_INVALID:
        return KW_EXIT_INVALID;
    case KW_CLIENT_NOT_FOUND:
        return KW_EXIT_NOT_FOUND;
    case KW_CLIENT_DENIED:
        return KW_EXIT_DENIED;
    case KW_CLIENT_LIMIT:
        return KW_EXIT_LIMIT;
    case KW_CLIENT_BUSY:
    case KW_CLIENT_UNAVAILABLE:
    case KW_CLIENT_CONNECTION:
        return KW_EXIT_UNAVAILABLE;
    case KW_CLIENT_TIMEOUT:
        return KW_EXIT_TIMEOUT;
    case KW_CLIENT_REFUSED:
    case KW_CLIENT_CORRUPT:
    case KW_CLIENT_INTERNAL:
    case KW_CLIENT_PROTOCOL:
        return KW_EXIT_FAILED;
    }
    return KW_EXIT_FAILED;
}

int
kw_exit_of(const GError *error)
{
    if (kw_client_error_maybe_applied(error))
        return KW_EXIT_UNKNOWN;
    return error->domain == KW_CLIENT_ERROR ? exit_of_code((kw_client_code)error->code) : KW_EXIT_FAILED;
}

bool
kw_cli_is_temporary(const GError *error)
{
    return error->domain == KW_CLIENT_ERROR &&
           (error->code == KW_CLIENT_BUSY || error->code == KW_CLIENT_UNAVAILABLE ||
            error->code == KW_CLIENT_TIMEOUT || error->code == KW_CLIENT_CONNECTION);
}

bool
kw_cli_wait_to_retry(const GError *failure, int tries)
{
    if (tries == TRIES || kw_interrupted() != 0 || !kw_cli_is_temporary(failure))
        return false;
    kw_pause_until(g_get_monotonic_time() +
                   MAX(kw_client_error_retry_after_ms(failure), 1000 * tries) * 1000);
    return kw_interrupted() == 0;
}

int
kw_cli_fail(GError *error, const char *what)
{
    int code = kw_exit_of(error);
    bool ours = error->domain == KW_CLIENT_ERROR;
    g_autofree char *context = g_strdup_printf("%s: ", what);

    g_printerr("keyway: %s%s\n", g_str_has_prefix(error->message, context) ? "" : context, error->message);
    if (ours && kw_client_error_maybe_applied(error))
        g_printerr("  The outcome of the write is unknown: read before you write again.\n");
    if (ours && kw_client_error_retry_after_ms(error) > 0)
        g_printerr("  Retry in %d ms.\n", kw_client_error_retry_after_ms(error));
    if (ours && kw_client_error_request_id(error) != NULL)
        g_printerr("  The gateway logged this as request %s.\n", kw_client_error_request_id(error));
    g_error_free(error);
    return code;
}

void
kw_cli_clear(kw_cli *cli)
{
    kw_client_close(cli->client);
    g_free(cli->gateway);
    g_free((char *)cli->connection.tls_ca);
    g_free((char *)cli->connection.tls_certificate);
    g_free((char *)cli->connection.tls_key);
    g_free((char *)cli->connection.tls_server_name);
}
