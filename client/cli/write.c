/* keyway put, remove, increment. */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/query_words.h"
#include "cli/value.h"

#include <stdio.h>
#include <string.h>

static kw_durability
durability_of(const char *text, bool *ret_ok)
{
    static const char *const names[] = {"default", "skip", "async", "sync", "fsync", NULL};

    *ret_ok = true;
    for (int i = 0; names[i] != NULL; i++)
        if (text == NULL || g_str_equal(text, names[i]))
            return (kw_durability)i;
    *ret_ok = false;
    return KW_DURABILITY_DEFAULT;
}

/* The option --timestamp. The library takes 0 for a timestamp that is not given. */
#define TIMESTAMP_NOT_GIVEN G_MININT64

static bool
check_timestamp(gint64 timestamp)
{
    if (timestamp == TIMESTAMP_NOT_GIVEN || timestamp > 0)
        return true;
    kw_cli_usage("--timestamp %" G_GINT64_FORMAT ": must be at least 1", timestamp);
    return false;
}

/* --- put -------------------------------------------------------------------------------------- */

typedef struct put_words {
    char *condition;
    char *if_absent;
    char *if_present;
    char *durability;
    gint64 timestamp; /* of the cells; or TIMESTAMP_NOT_GIVEN */
} put_words;

static void
put_words_clear(put_words *words)
{
    g_free(words->condition);
    g_free(words->if_absent);
    g_free(words->if_present);
    g_free(words->durability);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(put_words, put_words_clear)

/* Parses FIELD<op>VALUE. The operator begins at the first of the characters ! < > = in the word. */
static bool
parse_condition(const kw_table_info *table, const char *word, kw_condition *ret_condition,
                kw_held_value *held, char **ret_name, GError **error)
{
    static const struct {
        const char *text;
        kw_compare compare;
    } operators[] = {
        {"!=", KW_COMPARE_NOT_EQUAL}, {"<=", KW_COMPARE_LESS_OR_EQUAL}, {">=", KW_COMPARE_GREATER_OR_EQUAL},
        {"=", KW_COMPARE_EQUAL},      {"<", KW_COMPARE_LESS},           {">", KW_COMPARE_GREATER}};
    gsize length = strcspn(word, "!<>=");
    const char *entry;
    const kw_field_info *field;

    *ret_name = g_strndup(word, length);
    for (gsize i = 0; i < G_N_ELEMENTS(operators); i++) {
        if (!g_str_has_prefix(word + length, operators[i].text))
            continue;
        field = kw_field_named(table, *ret_name, &entry, error);
        if (field == NULL ||
            !kw_value_parse(table, field, entry, word + length + strlen(operators[i].text), held, error))
            return false;
        *ret_condition =
            (kw_condition){.field = *ret_name, .compare = operators[i].compare, .value = held->value};
        return true;
    }
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                "--if %s: not a condition; write FIELD, one of = != < <= > >=, and VALUE", word);
    return false;
}

static bool
condition_of(const put_words *words, const kw_table_info *table, kw_condition *ret_condition,
             kw_held_value *held, char **ret_name, GError **error)
{
    const char *name = words->if_absent != NULL ? words->if_absent : words->if_present;
    const char *entry;

    if (words->condition != NULL)
        return parse_condition(table, words->condition, ret_condition, held, ret_name, error);
    if (kw_field_named(table, name, &entry, error) == NULL)
        return false;
    *ret_condition = (kw_condition){
        .field = name, .compare = words->if_absent != NULL ? KW_COMPARE_EQUAL : KW_COMPARE_NOT_EQUAL};
    return true;
}

static int
put_if(kw_cli *cli, const kw_table_info *table, const kw_record *record, const put_words *words,
       const kw_call_options *options)
{
    g_auto(kw_held_value) held = {0};
    g_autofree char *name = NULL;
    g_autoptr(kw_record) generated = NULL;
    kw_condition condition;
    GError *error = NULL;
    bool written = false;

    if (!condition_of(words, table, &condition, &held, &name, &error) ||
        !kw_client_compare_and_put(cli->client, table->name, record, &condition, options, &written,
                                   &generated, &error))
        return kw_cli_fail(error, "put");
    if (!written) {
        g_printerr("keyway: not written: the stored record does not meet the condition\n");
        return KW_EXIT_INVALID;
    }
    return generated == NULL || kw_output_one_record(cli, table, NULL, generated) ? KW_EXIT_OK
                                                                                  : KW_EXIT_FAILED;
}

static int
put(kw_cli *cli, const kw_table_info *table, const put_words *words, char *const *fields, int count)
{
    g_autoptr(kw_record) record = kw_record_new();
    g_autoptr(kw_record) generated = NULL;
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;
    bool durability_known;

    options.timestamp = MAX(words->timestamp, 0);
    options.durability = durability_of(words->durability, &durability_known);
    if (!durability_known)
        return kw_cli_usage("--durability %s: use default, skip, async, sync or fsync", words->durability);
    if (!kw_record_parse(table, fields, count, record, &error))
        return kw_cli_fail(error, "put");
    if (words->condition != NULL || words->if_absent != NULL || words->if_present != NULL)
        return put_if(cli, table, record, words, &options);
    if (!kw_client_put(cli->client, table->name, record, &options, &generated, &error))
        return kw_cli_fail(error, "put");
    return generated == NULL || kw_output_one_record(cli, table, NULL, generated) ? KW_EXIT_OK
                                                                                  : KW_EXIT_FAILED;
}

int
kw_command_put(kw_cli *cli, int argc, char **argv)
{
    g_auto(put_words) words = {.timestamp = TIMESTAMP_NOT_GIVEN};
    g_autoptr(kw_table_info) table = NULL;
    int code;
    const GOptionEntry entries[] = {
        {"if", 0, 0, G_OPTION_ARG_STRING, &words.condition,
         "Write only if the stored record meets it, e.g. 'stock>=10' (= != < <= > >=)", "CONDITION"},
        {"if-absent", 0, 0, G_OPTION_ARG_STRING, &words.if_absent, "Write only if the field is not stored",
         "FIELD"},
        {"if-present", 0, 0, G_OPTION_ARG_STRING, &words.if_present, "Write only if the field is stored",
         "FIELD"},
        {"durability", 0, 0, G_OPTION_ARG_STRING, &words.durability, "default, skip, async, sync or fsync",
         "LEVEL"},
        {"timestamp", 0, 0, G_OPTION_ARG_INT64, &words.timestamp, "Timestamp of the cells, ms since 1970",
         "MS"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "put", "TABLE FIELD=VALUE...", "Writes one record.", entries, NULL, 2, -1, &argc,
                      &argv, &code))
        return code;
    if ((words.condition != NULL) + (words.if_absent != NULL) + (words.if_present != NULL) > 1)
        return kw_cli_usage("--if, --if-absent and --if-present cannot be combined");
    if (!check_timestamp(words.timestamp))
        return KW_EXIT_USAGE;
    table = kw_cli_describe(cli, argv[1], &code);
    return table == NULL ? code : put(cli, table, &words, argv + 2, argc - 2);
}

/* --- remove ----------------------------------------------------------------------------------- */

static int
remove_record(kw_cli *cli, const kw_table_info *table, const char *columns, gint64 timestamp,
              char *const *fields, int count)
{
    g_autoptr(kw_record) key = kw_record_new();
    g_auto(GStrv) names = NULL;
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;

    options.timestamp = MAX(timestamp, 0);
    names = kw_columns_split(table, columns, &error);
    if (names == NULL || !kw_record_parse(table, fields, count, key, &error) ||
        !kw_client_remove(cli->client, table->name, key, (const char *const *)names, &options, &error))
        return kw_cli_fail(error, "remove");
    return KW_EXIT_OK;
}

int
kw_command_remove(kw_cli *cli, int argc, char **argv)
{
    g_autofree char *columns = NULL;
    g_autoptr(kw_table_info) table = NULL;
    gint64 timestamp = TIMESTAMP_NOT_GIVEN;
    int code;
    const GOptionEntry entries[] = {{"columns", 'c', 0, G_OPTION_ARG_STRING, &columns,
                                     "Remove only these fields and entries (MAP.NAME)", "FIELD,..."},
                                    {"timestamp", 0, 0, G_OPTION_ARG_INT64, &timestamp,
                                     "Remove only cells with this timestamp or an older one", "MS"},
                                    G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "remove", "TABLE KEYFIELD=VALUE...", "Removes the record with these key fields.",
                      entries, NULL, 2, -1, &argc, &argv, &code))
        return code;
    if (!check_timestamp(timestamp))
        return KW_EXIT_USAGE;
    table = kw_cli_describe(cli, argv[1], &code);
    return table == NULL ? code : remove_record(cli, table, columns, timestamp, argv + 2, argc - 2);
}

/* --- increment -------------------------------------------------------------------------------- */

/* Adds each entry of a map to the amounts, under the name FIELD.ENTRY. */
static void
flatten(kw_record *amounts, const char *field, const kw_record *entries)
{
    g_autofree const char **names = kw_record_fields(entries);

    for (const char **name = names; *name != NULL; name++) {
        g_autofree char *own = g_strdup_printf("%s.%s", field, *name);

        kw_record_set(amounts, own, kw_record_get(entries, *name));
    }
}

/* Splits the fields into those of the key and the amounts to add. */
static void
split_key(const kw_table_info *table, kw_record *amounts, kw_record *key)
{
    g_autofree const char **fields = kw_record_fields(amounts);

    for (const char **field = fields; *field != NULL; field++) {
        const kw_field_info *info = kw_table_info_field(table, *field);
        kw_value value = kw_record_get(amounts, *field);

        if (info->key)
            kw_record_set(key, info->name, value);
        if (value.kind == KW_VALUE_MAP)
            flatten(amounts, info->name, value.entries);
        if (info->key || value.kind == KW_VALUE_MAP)
            kw_record_set(amounts, info->name, (kw_value){.kind = KW_VALUE_NONE});
    }
}

static bool
are_integers(const kw_table_info *table, const kw_record *amounts, GError **error)
{
    g_autofree const char **fields = kw_record_fields(amounts);

    for (const char **field = fields; *field != NULL; field++) {
        const kw_field_info *info = kw_table_info_field(table, *field);
        kw_value value = kw_record_get(amounts, *field);

        if (!info->key && value.kind != KW_VALUE_NUMBER && value.kind != KW_VALUE_MAP) {
            g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                        "table %s, field %s: only int fields can be incremented, not fields of type %s",
                        table->name, info->name, info->type);
            return false;
        }
    }
    return true;
}

static int
increment(kw_cli *cli, const kw_table_info *table, char *const *fields, int count)
{
    g_autoptr(kw_record) amounts = kw_record_new();
    g_autoptr(kw_record) key = kw_record_new();
    g_autoptr(kw_record) values = NULL;
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;

    if (!kw_record_parse(table, fields, count, amounts, &error) || !are_integers(table, amounts, &error))
        return kw_cli_fail(error, "increment");
    split_key(table, amounts, key);
    if (kw_record_size(amounts) == 0)
        return kw_cli_usage("no field to increment: write the key fields and at least one FIELD=AMOUNT");
    if (!kw_client_increment(cli->client, table->name, key, amounts, &options, &values, &error))
        return kw_cli_fail(error, "increment");
    return kw_output_one_record(cli, table, NULL, values) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_command_increment(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(kw_table_info) table = NULL;
    int code;

    if (!kw_cli_parse(cli, "increment", "TABLE KEYFIELD=VALUE... FIELD=AMOUNT...",
                      "Adds to integer fields of one record and prints their new values.", NULL, NULL, 3, -1,
                      &argc, &argv, &code))
        return code;
    table = kw_cli_describe(cli, argv[1], &code);
    return table == NULL ? code : increment(cli, table, argv + 2, argc - 2);
}
