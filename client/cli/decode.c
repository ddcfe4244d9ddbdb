/* keyway decode: prints the fields that a row key holds, or the component that does not fit. */
#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/file.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/private.h"
#include "cli/text.h"
#include "cli/value.h"

#include <stdio.h>
#include <string.h>

typedef struct decode_words {
    char *path;
    char *policy_file; /* NULL: the gateway's policy */
    gboolean hex;
    char *policy_text; /* of the file */
} decode_words;

static void
decode_words_clear(decode_words *words)
{
    g_free(words->path);
    g_free(words->policy_file);
    g_free(words->policy_text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(decode_words, decode_words_clear)

/* --- the row key ------------------------------------------------------------------------------ */

static bool
is_hex(const char *text)
{
    gsize length = strspn(text, "0123456789abcdefABCDEF");

    return length > 0 && length % 2 == 0 && text[length] == '\0';
}

static GBytes *
bytes_of_hex(const char *text)
{
    GByteArray *bytes = g_byte_array_new();

    for (; *text != '\0'; text += 2) {
        guint8 byte = (guint8)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));

        g_byte_array_append(bytes, &byte, 1);
    }
    return g_byte_array_free_to_bytes(bytes);
}

static bool
fits_any(const GPtrArray *keys)
{
    for (guint i = 0; i < keys->len; i++)
        if (((const kw_decoded_key *)keys->pdata[i])->reason == NULL)
            return true;
    return false;
}

/* Hex digits can also be the bytes of a row key themselves. They are read as hex with --hex, or if only the
 * bytes that they represent follow a key rule. */
static GPtrArray *
decode(kw_cli *cli, const decode_words *words, const char *table, const char *row_key, GError **error)
{
    g_autoptr(GBytes) text = kw_text_to_key(row_key, error);
    g_autoptr(GBytes) hex = is_hex(row_key) ? bytes_of_hex(row_key) : NULL;
    g_autoptr(GPtrArray) of_text = NULL;
    g_autoptr(GPtrArray) of_hex = NULL;

    if (text == NULL)
        return NULL;
    if (!words->hex) {
        of_text = kw_client_decode_key(cli->client, table, text, words->path, words->policy_text, error);
        if (of_text == NULL || hex == NULL || fits_any(of_text))
            return g_steal_pointer(&of_text);
    }
    of_hex = kw_client_decode_key(cli->client, table, hex, words->path, words->policy_text, error);
    if (of_hex == NULL || words->hex || fits_any(of_hex))
        return g_steal_pointer(&of_hex);
    return g_steal_pointer(&of_text);
}

/* --- output ----------------------------------------------------------------------------------- */

static void
print_key(const kw_cli *cli, const kw_table_info *table, const kw_decoded_key *key)
{
    g_autofree char *record = kw_record_print(table, key->key, cli->raw);

    printf("path %s, store table %s\n", key->path, key->store_table);
    if (key->reason == NULL)
        printf("  record   %s\n", record);
    else if (key->component != NULL)
        printf("  does not fit: %s: %s\n", key->component, key->reason);
    else
        printf("  does not fit: %s\n", key->reason);
    kw_key_pieces_print(key->pieces, stdout);
}

/* Prints the paths whose rule the key follows; if there are none, prints all paths. */
static bool
print_keys(const kw_cli *cli, const kw_table_info *table, const GPtrArray *keys)
{
    bool fits = fits_any(keys);

    for (guint i = 0; i < keys->len; i++) {
        const kw_decoded_key *key = keys->pdata[i];

        if (!fits || key->reason == NULL)
            print_key(cli, table, key);
    }
    return fflush(stdout) == 0;
}

static bool
output_rows(const kw_cli *cli, const kw_table_info *table, const GPtrArray *keys)
{
    static const kw_output_column columns[] = {{.name = "path"},      {.name = "store_table"},
                                               {.name = "fits"},      {.name = "record"},
                                               {.name = "component"}, {.name = "reason"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < keys->len; i++) {
        const kw_decoded_key *key = keys->pdata[i];
        g_autofree char *record = kw_record_print(table, key->key, cli->raw);
        const kw_value cells[] = {kw_text(key->path),
                                  kw_text(key->store_table),
                                  kw_flag(key->reason == NULL),
                                  kw_text(record),
                                  key->component == NULL ? (kw_value){0} : kw_text(key->component),
                                  key->reason == NULL ? (kw_value){0} : kw_text(key->reason)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, NULL);
}

/* The fields in the form of scan -o json. */
static void
add_record(JsonBuilder *to, const kw_cli *cli, const kw_table_info *table, const kw_record *record)
{
    json_builder_set_member_name(to, "record");
    json_builder_begin_object(to);
    for (guint i = 0; i < table->fields->len; i++) {
        const kw_field_info *field = table->fields->pdata[i];
        kw_value value = kw_record_get(record, field->name);
        g_autoptr(GString) text = g_string_new(NULL);
        JsonNode *node;

        if (value.kind == KW_VALUE_NONE)
            continue;
        kw_value_append_json(text, value, field, cli->raw);
        node = kw_json_read(text->str, text->len, NULL);
        g_assert(node != NULL);
        json_builder_set_member_name(to, field->name);
        json_builder_add_value(to, node);
    }
    json_builder_end_object(to);
}

static bool
output_json(const kw_cli *cli, const kw_table_info *table, const GPtrArray *keys)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_array(builder);
    for (guint i = 0; i < keys->len; i++) {
        const kw_decoded_key *key = keys->pdata[i];

        json_builder_begin_object(builder);
        kw_json_add_text(builder, "path", key->path);
        kw_json_add_text(builder, "store_table", key->store_table);
        kw_json_add_flag(builder, "fits", key->reason == NULL);
        add_record(builder, cli, table, key->key);
        kw_key_pieces_add_json(builder, "components", key->pieces);
        kw_json_add_text(builder, "component", key->component);
        kw_json_add_text(builder, "reason", key->reason);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    return kw_json_print(builder);
}

static int
print(const kw_cli *cli, const kw_table_info *table, const GPtrArray *keys)
{
    bool good = cli->format == KW_OUTPUT_TABLE ? print_keys(cli, table, keys)
                : cli->format == KW_OUTPUT_CSV ? output_rows(cli, table, keys)
                                               : output_json(cli, table, keys);

    return !good ? KW_EXIT_FAILED : fits_any(keys) ? KW_EXIT_OK : KW_EXIT_INVALID;
}

/* --- the command ------------------------------------------------------------------------------ */

/* The table of the policy file. */
static kw_table_info *
find_table(kw_cli *cli, const decode_words *words, const char *name, GError **error)
{
    g_autoptr(GPtrArray) tables = kw_client_policy_tables(cli->client, words->policy_text, error);

    for (guint i = 0; tables != NULL && i < tables->len; i++)
        if (g_str_equal(((const kw_table_info *)tables->pdata[i])->name, name))
            return g_ptr_array_steal_index(tables, i);
    if (tables != NULL)
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND, "%s has no table %s", words->policy_file,
                    name);
    return NULL;
}

static int
run(kw_cli *cli, const decode_words *words, const char *name, const char *row_key)
{
    g_autoptr(kw_table_info) table = NULL;
    g_autoptr(GPtrArray) keys = NULL;
    GError *error = NULL;
    int code = KW_EXIT_OK;

    if (words->policy_text == NULL)
        table = kw_cli_describe(cli, name, &code);
    else if (kw_cli_connect(cli, &code) != NULL)
        table = find_table(cli, words, name, &error);
    if (table != NULL)
        keys = decode(cli, words, name, row_key, &error);
    if (error != NULL)
        return kw_cli_fail(error, "decode");
    return keys == NULL ? code : print(cli, table, keys);
}

/* Uses a private gateway for a policy file, unless one was named. */
static int
run_with_file(kw_cli *cli, decode_words *words, const char *table, const char *row_key)
{
    g_autoptr(kw_private) own = NULL;
    GError *error = NULL;

    words->policy_text = kw_file_text(words->policy_file, KW_FILE_POLICY_MAX, &error);
    if (error == NULL && cli->gateway == NULL) {
        own = kw_private_start(&error);
        cli->gateway = own == NULL ? NULL : g_strdup(kw_private_address(own));
    }
    return error != NULL ? kw_cli_fail(error, "decode") : run(cli, words, table, row_key);
}

int
kw_command_decode(kw_cli *cli, int argc, char **argv)
{
    g_auto(decode_words) words = {0};
    int code;
    const GOptionEntry entries[] = {
        {"path", 'p', 0, G_OPTION_ARG_STRING, &words.path, "Decode only under this path [all]", "PATH"},
        {"policy", 0, 0, G_OPTION_ARG_FILENAME, &words.policy_file,
         "Policy with the table; needs no running gateway", "FILE"},
        {"hex", 0, 0, G_OPTION_ARG_NONE, &words.hex, "The row key is written in hex digits", NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(
            cli, "decode", "TABLE ROWKEY",
            "Prints the fields that a row key holds, or the component that does not fit.\nThe row key "
            "is written as HBase prints it, with \\xNN for bytes, or in hex digits.",
            entries, NULL, 2, 2, &argc, &argv, &code))
        return code;
    if (words.hex && !is_hex(argv[2]))
        return kw_cli_usage("\"%s\" is not an even number of hex digits", argv[2]);
    return words.policy_file != NULL ? run_with_file(cli, &words, argv[1], argv[2])
                                     : run(cli, &words, argv[1], argv[2]);
}
