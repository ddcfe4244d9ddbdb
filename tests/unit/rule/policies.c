#include "rule/policies.h"

#include "config/reader.h"

static kw_policy *
read_named(const char *table, const char *table_yaml, kw_diagnostics *diagnostics)
{
    g_autofree char *text = g_strdup_printf("tables:\n  %s:\n%s", table, table_yaml);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, count, diagnostics);
    return model ? kw_policy_new(model, diagnostics) : NULL;
}

static kw_policy *
read_policy(const char *table_yaml, kw_diagnostics *diagnostics)
{
    return read_named("t", table_yaml, diagnostics);
}

kw_policy *
test_policy_named(const char *table, const char *table_yaml)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    kw_policy *policy = read_named(table, table_yaml, diagnostics);
    if (!policy || !kw_policy_refuse_hazards(policy, diagnostics)) {
        g_autofree char *problems = kw_diagnostics_text(diagnostics);
        g_error("refused:\n%s\n%s", table_yaml, problems);
    }
    g_assert_cmpuint(kw_diagnostics_count(diagnostics), ==, 0);
    return policy;
}

kw_policy *
test_policy(const char *table_yaml)
{
    return test_policy_named("t", table_yaml);
}

kw_policy *
test_policy_with_hazards(const char *table_yaml)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    kw_policy *policy = read_policy(table_yaml, diagnostics);
    if (!policy) {
        g_autofree char *problems = kw_diagnostics_text(diagnostics);
        g_error("refused:\n%s\n%s", table_yaml, problems);
    }
    return policy;
}

kw_policy *
test_policy_maybe(const char *table_yaml)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    return read_policy(table_yaml, diagnostics);
}

char *
test_refused(const char *table_yaml)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_policy) policy = read_policy(table_yaml, diagnostics);
    if (policy)
        kw_policy_refuse_hazards(policy, diagnostics);
    g_assert_cmpuint(kw_diagnostics_count(diagnostics), >, 0);
    return kw_diagnostics_text(diagnostics);
}

char *
test_hazards(const char *table_yaml)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_policy) policy = read_policy(table_yaml, diagnostics);
    if (policy)
        kw_policy_refuse_hazards(policy, diagnostics);
    g_autofree char *text = kw_diagnostics_text(diagnostics);
    if (!policy)
        g_error("refused:\n%s\n%s", table_yaml, text);
    return g_steal_pointer(&text);
}

kw_value
test_text(const char *text)
{
    return (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(text)};
}

kw_value
test_number(int64_t number)
{
    return (kw_value){.kind = KW_VALUE_NUMBER, .number = number};
}

char *
test_hex(kw_bytes bytes)
{
    GString *hex = g_string_new(NULL);
    for (size_t index = 0; index < bytes.size; index++)
        g_string_append_printf(hex, "%02x", bytes.data[index]);
    return g_string_free(hex, FALSE);
}

char *
test_key_hex(const kw_table *table, size_t path, const kw_record *record)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    bool done = kw_layout_encode(table->paths[path].layout, record, &key, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done);
    char *hex = test_hex(kw_buffer_bytes(&key));
    kw_buffer_clear(&key);
    return hex;
}
