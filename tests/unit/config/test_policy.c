/* The reader together with the real key components: the built-in policy and the examples compile, and the
 * texts generated from the settings (JSON Schema, manual page) equal those in the repository.
 *
 * KW_UPDATE_GOLDEN=1 rewrites the generated texts. */
#include "config/reader.h"
#include "schema/policy.h"

#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>

static const kw_component_schema *const *schemas;
static size_t schemas_count;

static kw_policy *
compiled(kw_model *model)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new(model->file);
    kw_policy *policy = kw_policy_new(model, diagnostics);
    g_autofree char *problems = kw_diagnostics_text(diagnostics);
    g_assert_cmpstr(problems, ==, "");
    g_assert_nonnull(policy);
    return policy;
}

KW_TEST(test_built_in_policy, "/config/policy/built-in")
{
    g_autoptr(kw_model) model = kw_model_built_in(schemas, schemas_count);
    g_assert_cmpstr(model->file, ==, "(built in)");
    g_assert_cmpstr(model->text, ==, kw_model_built_in_text());
    g_assert_cmpstr(model->store.embedded.path, ==, "keyway-data");
    g_autoptr(kw_policy) policy = compiled(model);
    const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("order_events"));
    g_assert_nonnull(table);
    g_assert_cmpuint(table->fields_count, ==, 5);
    g_assert_cmpuint(table->paths_count, ==, 2);
    g_assert_cmpstr(table->paths[1].name, ==, "by_time");
    g_assert_cmpuint(kw_layout_buckets(table->paths[0].layout), ==, 1);
    g_assert_cmpuint(kw_layout_buckets(table->paths[1].layout), ==, 16);
    for (size_t i = 0; i < table->fields_count; i++)
        g_assert_true(table->fields[i].stored != table->fields[i].in_primary_key);
}

/* The part of a file from the line that begins with `from`. */
static char *
file_from(const char *path, const char *from)
{
    g_autofree char *text = NULL;
    g_autofree char *line = g_strconcat("\n", from, NULL);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    char *found = strstr(text, line);
    g_assert_nonnull(found);
    return g_strdup(found + 1);
}

/* The lines without comments, spaces at the end, and empty lines. */
static char *
bare_lines(const char *text, const char *end)
{
    GString *bare = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line && strcmp(*line, end) != 0; line++) {
        char *comment = strchr(*line, '#');
        if (comment)
            *comment = '\0';
        g_strchomp(*line);
        if (**line)
            g_string_append_printf(bare, "%s\n", *line);
    }
    return g_string_free(bare, FALSE);
}

/* The policies that are installed and shown are the built-in one; the container's listens on all addresses.
 */
KW_TEST(test_default_policy, "/config/policy/default")
{
    const char *built_in = kw_model_built_in_text();
    g_autofree char *service = file_from(KW_PACKAGING "/keyway.yaml", "listen:");
    g_assert_cmpstr(service, ==, strstr(built_in, "listen:"));
    g_autofree char *container = file_from(KW_PACKAGING "/docker/keyway.yaml", "tables:");
    g_assert_cmpstr(container, ==, strstr(built_in, "tables:"));
    g_autofree char *manual = file_from(KW_MANUAL, "The built-in policy:");
    const char *example = strstr(manual, "listen:");
    g_assert_nonnull(example);
    g_autofree char *shown = bare_lines(example, ".Ed");
    g_autofree char *expected = bare_lines(built_in, ".Ed");
    g_assert_cmpstr(shown, ==, expected);
}

KW_TEST(test_examples, "/config/policy/examples")
{
    GDir *dir = g_dir_open(KW_CONFIG "/examples", 0, NULL);
    g_assert_nonnull(dir);
    size_t count = 0;
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(KW_CONFIG "/examples", name, NULL);
        g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new(name);
        g_autoptr(kw_model) model = kw_model_read_file(path, schemas, schemas_count, diagnostics);
        g_autofree char *problems = kw_diagnostics_text(diagnostics);
        g_assert_cmpstr(problems, ==, "");
        kw_policy_unref(compiled(model));
        count++;
    }
    g_dir_close(dir);
    g_assert_cmpuint(count, >=, 3);
}

/* --- generated texts ------------------------------------------------------------------------------- */

static void
compare_or_update(const char *path, const char *generated)
{
    if (getenv("KW_UPDATE_GOLDEN")) {
        g_assert_true(g_file_set_contents(path, generated, -1, NULL));
        return;
    }
    g_autofree char *there = NULL;
    g_assert_true(g_file_get_contents(path, &there, NULL, NULL));
    if (strcmp(there, generated) != 0)
        g_error("%s is not what the tables say; run with KW_UPDATE_GOLDEN=1", path);
}

KW_TEST(test_json_schema, "/config/policy/json-schema")
{
    g_autofree char *generated = kw_schema_json(schemas, schemas_count);
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) error = NULL;
    if (!json_parser_load_from_data(parser, generated, -1, &error))
        g_error("not JSON: %s", error->message);
    JsonObject *root = json_node_get_object(json_parser_get_root(parser));
    JsonObject *properties = json_object_get_object_member(root, "properties");
    g_assert_true(json_object_has_member(properties, "listen"));
    g_assert_true(json_object_has_member(properties, "tables"));
    compare_or_update(KW_CONFIG "/keyway-policy.schema.json", generated);
}

/* The settings are between two comment lines of the manual page; the rest is written by hand. */
KW_TEST(test_manual_page, "/config/policy/manual-page")
{
    static const char begin[] = ".\\\" settings: begin\n", end[] = ".\\\" settings: end\n";
    g_autofree char *page = NULL;
    g_assert_true(g_file_get_contents(KW_MANUAL, &page, NULL, NULL));
    char *from = strstr(page, begin), *to = strstr(page, end);
    g_assert_true(from && to && from < to);
    g_autofree char *head = g_strndup(page, (gsize)(from + strlen(begin) - page));
    g_autofree char *settings = kw_schema_mdoc(schemas, schemas_count);
    g_autofree char *generated = g_strconcat(head, settings, to, NULL);
    compare_or_update(KW_MANUAL, generated);
}

KW_TEST(test_reference, "/config/policy/reference")
{
    static const char *const pieces[] = {
        "  listen   host:port or a map, or a list of at most 64 of these; default: 127.0.0.1:9595\n",
        "  tables   map of at most 1000 names; default: ",
        "  gateway_id   string, at most 200 bytes; default: ",
        "  keys   list, each: string, 16 to 256 bytes; default: ",
        "  key   list of at most 32 key components; required\n",
        "tables.NAME.fields.NAME\n",
        "  frame   size, 4KiB to 1GiB; default: 16MiB\n",
        "tables.NAME.families.NAME\n",
        "- hash\n",
        "- salt\n"};
    g_autofree char *text = kw_schema_reference(schemas, schemas_count);
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
        if (!strstr(text, pieces[i]))
            g_error("the reference lacks \"%s\"", pieces[i]);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(*line, "      "))
            g_assert_cmpint((int)g_utf8_strlen(*line, -1), <=, 80);
}

KW_TEST_START(start)
{
    schemas = kw_rule_schemas(&schemas_count);
}
