/* keyway create: creates a table's store tables, with column families and splits. */
#include "cli/cli.h"
#include "cli/file.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/value.h"

#include <stdio.h>
#include <string.h>

#define SPLITS_BYTES_MAX ((gsize)16 << 20)

#define SAMPLE_RECORDS_MAX 10000

typedef struct create_arguments {
    char *path;
    char **families;
    char *splits;
    char *splits_file;
    char *algorithm;
    int regions;
    char *sample;
    gboolean if_absent;
    GPtrArray *split_keys; /* parsed from --splits or --splits-file */
    GPtrArray *sample_records;
} create_arguments;

static void
create_arguments_clear(create_arguments *arguments)
{
    g_free(arguments->path);
    g_strfreev(arguments->families);
    g_free(arguments->splits);
    g_free(arguments->splits_file);
    g_free(arguments->algorithm);
    g_free(arguments->sample);
    g_clear_pointer(&arguments->split_keys, g_ptr_array_unref);
    g_clear_pointer(&arguments->sample_records, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(create_arguments, create_arguments_clear)

static bool
bad(GError **error, const char *format, const char *a, const char *b)
{
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, format, a, b);
    return false;
}

/* --- families: NAME:option=value,... ---------------------------------------------------------- */

static bool
set_number(const char *name, const char *text, gint32 *place, GError **error)
{
    gint64 number;

    if (!g_ascii_string_to_signed(text, 10, 0, G_MAXINT32, &number, NULL))
        return bad(error, "--family, option %s: \"%s\" is not a number from 0 to 2147483647", name, text);
    *place = (gint32)number;
    return true;
}

static bool
set_flag(const char *name, const char *text, int *place, GError **error)
{
    *place = g_str_equal(text, "true");
    return *place == 1 || g_str_equal(text, "false") ||
           bad(error, "--family, option %s: \"%s\" is neither true nor false", name, text);
}

static bool
set_option(kw_family_options *family, const char *name, char *text, GError **error)
{
    const struct {
        const char *name;
        const char **text;
        gint32 *number;
        int *flag;
    } options[] = {{"compression", &family->compression, NULL, NULL},
                   {"bloom_filter", &family->bloom_filter, NULL, NULL},
                   {"block_encoding", &family->block_encoding, NULL, NULL},
                   {"ttl_seconds", NULL, &family->ttl_seconds, NULL},
                   {"max_versions", NULL, &family->max_versions, NULL},
                   {"min_versions", NULL, &family->min_versions, NULL},
                   {"block_size", NULL, &family->block_size, NULL},
                   {"replication_scope", NULL, &family->replication_scope, NULL},
                   {"block_cache", NULL, NULL, &family->block_cache},
                   {"in_memory", NULL, NULL, &family->in_memory},
                   {"keep_deleted_cells", NULL, NULL, &family->keep_deleted_cells}};
    const char *names[G_N_ELEMENTS(options) + 1] = {NULL};
    const char *nearest;

    for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
        names[i] = options[i].name;
        if (!g_str_equal(options[i].name, name))
            continue;
        if (options[i].text != NULL)
            *options[i].text = text;
        return options[i].text != NULL ||
               (options[i].number != NULL ? set_number(name, text, options[i].number, error)
                                          : set_flag(name, text, options[i].flag, error));
    }
    nearest = kw_text_nearest(name, names);
    return bad(error,
               nearest == NULL ? "--family: unknown option \"%s\"%s"
                               : "--family: unknown option \"%s\"; did you mean \"%s\"?",
               name, nearest == NULL ? "" : nearest);
}

/* Splits `word` into pieces that the family borrows. */
static bool
parse_family(char *word, kw_family_options *ret_family, GError **error)
{
    char *rest = strchr(word, ':');
    char *name = word;

    if (rest != NULL)
        *rest++ = '\0';
    *ret_family = kw_family_options_of(name);
    while (rest != NULL && *rest != '\0') {
        char *option = strsep(&rest, ",");
        char *text = strchr(option, '=');

        if (text == NULL)
            return bad(error, "--family %s: \"%s\" is not of the form OPTION=VALUE", name, option);
        *text++ = '\0';
        if (!set_option(ret_family, option, text, error))
            return false;
    }
    return true;
}

static GArray *
parse_families(char **words, GError **error)
{
    g_autoptr(GArray) families = g_array_new(FALSE, FALSE, sizeof(kw_family_options));

    for (char **word = words; word != NULL && *word != NULL; word++) {
        kw_family_options family;

        if (!parse_family(*word, &family, error))
            return NULL;
        g_array_append_val(families, family);
    }
    return g_steal_pointer(&families);
}

/* --- splits ----------------------------------------------------------------------------------- */

/* Keys in the form with \xNN, separated by any of `separators`. */
static GPtrArray *
parse_keys(const char *text, const char *separators, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, separators, -1);
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);

    for (char **word = words; *word != NULL; word++) {
        GBytes *key = **word == '\0' ? NULL : kw_text_to_key(*word, error);

        if (key != NULL)
            g_ptr_array_add(keys, key);
        else if (**word != '\0')
            return NULL;
    }
    return g_steal_pointer(&keys);
}

static GPtrArray *
read_sample(const kw_table_info *table, const char *path, GError **error)
{
    g_autoptr(kw_source) source = kw_source_open(path, NULL, NULL, table, error);
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func((GDestroyNotify)kw_record_unref);
    kw_source_item item;

    if (source == NULL)
        return NULL;
    while (records->len < SAMPLE_RECORDS_MAX && kw_source_next(source, &item, error)) {
        if (item.error != NULL) {
            g_propagate_prefixed_error(error, g_steal_pointer(&item.error),
                                       "%s, line %" G_GUINT64_FORMAT ": ", path, item.line);
            kw_source_item_clear(&item);
            return NULL;
        }
        g_ptr_array_add(records, g_steal_pointer(&item.record));
        kw_source_item_clear(&item);
    }
    return *error == NULL ? g_steal_pointer(&records) : NULL;
}

static bool
fill_splits(create_arguments *arguments, const kw_table_info *table, kw_create_options *options,
            GError **error)
{
    g_autofree char *text = NULL;
    bool has_keys = arguments->splits != NULL || arguments->splits_file != NULL;
    int ways = (arguments->splits != NULL) + (arguments->splits_file != NULL) +
               (arguments->algorithm != NULL) + (arguments->sample != NULL);

    if (ways > 1)
        return bad(error, "--splits, --splits-file, --algorithm and --sample cannot be combined%s%s", "", "");
    if ((arguments->algorithm != NULL || arguments->sample != NULL) != (arguments->regions > 0))
        return bad(error, "--regions needs --algorithm or --sample, and each of these needs --regions%s%s",
                   "", "");
    options->regions = arguments->regions;
    options->split_algorithm = arguments->algorithm;
    if (arguments->splits != NULL)
        arguments->split_keys = parse_keys(arguments->splits, ",", error);
    if (arguments->splits_file != NULL) {
        text = kw_file_text(arguments->splits_file, SPLITS_BYTES_MAX, error);
        if (text == NULL)
            return false;
        arguments->split_keys = parse_keys(text, "\r\n", error);
    }
    if (arguments->sample != NULL)
        arguments->sample_records = read_sample(table, arguments->sample, error);
    options->split_keys = arguments->split_keys;
    options->sample = arguments->sample_records;
    return (!has_keys || options->split_keys != NULL) &&
           (arguments->sample == NULL || options->sample != NULL);
}

/* --- the command ------------------------------------------------------------------------------ */

static bool
output_created(const kw_cli *cli, const GPtrArray *created)
{
    static const kw_output_column columns[] = {{.name = "store_table"},
                                               {.name = "created"},
                                               {.name = "regions", .right = true},
                                               {.name = "split_keys"}};
    kw_output *output = kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < created->len; i++) {
        const kw_created_table *table = created->pdata[i];
        g_autoptr(GString) keys = g_string_new(NULL);

        for (guint j = 0; j < table->split_keys->len; j++) {
            GBytes *key = table->split_keys->pdata[j];
            g_autofree char *text = kw_text_from_bytes(g_bytes_get_data(key, NULL), g_bytes_get_size(key));

            g_string_append_printf(keys, "%s%s", j == 0 ? "" : ",", text);
        }
        const kw_value cells[] = {kw_text(table->store_table), kw_flag(table->created),
                                  kw_number((gint64)table->split_keys->len + 1), kw_text(keys->str)};

        kw_output_row(output, cells);
    }
    return kw_output_end(output, NULL);
}

static int
create(kw_cli *cli, const kw_table_info *table, create_arguments *arguments)
{
    kw_create_options options = {.path = arguments->path, .if_absent = arguments->if_absent};
    g_autoptr(GArray) families = NULL;
    g_autoptr(GPtrArray) created = NULL;
    GError *error = NULL;

    families = parse_families(arguments->families, &error);
    if (families == NULL || !fill_splits(arguments, table, &options, &error))
        return kw_cli_fail(error, "create");
    options.families = (const kw_family_options *)(void *)families->data;
    options.families_count = families->len;
    created = kw_client_create_table(cli->client, table->name, &options, &error);
    if (created == NULL)
        return kw_cli_fail(error, "create");
    return output_created(cli, created) ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_command_create(kw_cli *cli, int argc, char **argv)
{
    g_auto(create_arguments) arguments = {0};
    g_autoptr(kw_table_info) table = NULL;
    int code;
    const GOptionEntry entries[] = {
        {"path", 'p', 0, G_OPTION_ARG_STRING, &arguments.path, "Create only the store table of this path",
         "PATH"},
        {"family", 'f', 0, G_OPTION_ARG_STRING_ARRAY, &arguments.families,
         "Column family, e.g. d:compression=ZSTD,ttl_seconds=86400", "NAME[:OPTION=VALUE,...]"},
        {"splits", 0, 0, G_OPTION_ARG_STRING, &arguments.splits, "Split keys; \\xNN is a byte", "KEY,..."},
        {"splits-file", 0, 0, G_OPTION_ARG_FILENAME, &arguments.splits_file,
         "File with split keys, one per line", "FILE"},
        {"algorithm", 0, 0, G_OPTION_ARG_STRING, &arguments.algorithm,
         "HexStringSplit, UniformSplit, DecimalStringSplit or rule", "NAME"},
        {"regions", 0, 0, G_OPTION_ARG_INT, &arguments.regions, "Number of regions", "N"},
        {"sample", 0, 0, G_OPTION_ARG_FILENAME, &arguments.sample,
         "Split so that records like those in FILE (csv, jsonl) are spread evenly", "FILE"},
        {"if-absent", 0, 0, G_OPTION_ARG_NONE, &arguments.if_absent, "Accept store tables that already exist",
         NULL},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "create", "TABLE", "Creates the store tables of a table.", entries, NULL, 1, 1,
                      &argc, &argv, &code))
        return code;
    table = kw_cli_describe(cli, argv[1], &code);
    return table == NULL ? code : create(cli, table, &arguments);
}
