/* The policy reader with hostile texts: it terminates, stays within its limits, and returns a model, or
 * problems and possibly a model of the parts without problems. The target reads the whole result, so that an
 * invalid pointer is detected. */
#include "config/reader.h"
#include "config/shared.h"
#include "unit/config/schemas.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t
length(const char *text)
{
    return text ? strlen(text) : 0;
}

static size_t
walk_component(const kw_model_component *component)
{
    size_t bytes = strlen(component->name);
    for (size_t i = 0; i < component->settings_count; i++) {
        const kw_model_setting *setting = &component->settings[i];
        bytes += strlen(setting->name) + strlen(setting->text);
        for (size_t j = 0; j < setting->texts_count; j++)
            bytes += strlen(setting->texts[j]) + setting->text_marks[j].line;
    }
    return bytes;
}

static size_t
walk_table(const kw_model_table *table)
{
    size_t bytes = strlen(table->name) + strlen(table->about) + strlen(table->default_family);
    g_assert(table->incomplete ||
             (table->paths_count >= 1 && table->fields_count >= 1 && table->families_count >= 1));
    for (size_t i = 0; i < table->fields_count; i++) {
        const kw_model_field *field = &table->fields[i];
        g_assert(!field->family == !field->qualifier);
        bytes +=
            strlen(field->name) + length(field->family) + length(field->qualifier) + strlen(field->about);
        for (size_t j = 0; j < field->values_count; j++)
            bytes += strlen(field->values[j]);
    }
    for (size_t i = 0; i < table->paths_count; i++) {
        const kw_model_path *path = &table->paths[i];
        g_assert(path->components_count >= 1);
        bytes += strlen(path->name) + strlen(path->store_table) + strlen(path->splits.algorithm);
        for (size_t j = 0; j < path->components_count; j++)
            bytes += walk_component(&path->components[j]);
        for (size_t j = 0; j < path->splits.keys_count; j++)
            bytes += strlen(path->splits.keys[j]);
    }
    for (size_t i = 0; i < table->families_count; i++)
        bytes += strlen(table->families[i].name) + length(table->families[i].compression);
    return bytes;
}

static void
check_model(const kw_model *model)
{
    size_t bytes = strlen(model->log_level) + strlen(model->store.catalog);
    for (size_t i = 0; i < model->listeners_count; i++)
        bytes += strlen(model->listeners[i].host);
    for (size_t i = 0; i < model->tables_count; i++) {
        g_assert(!model->tables[i].incomplete);
        bytes += walk_table(&model->tables[i]);
    }
    g_assert(model->listeners_count >= 1 && (model->tables_count >= 1) != model->policy_in_store &&
             bytes > 0);
    g_assert(model->store.kind != KW_STORE_HBASE || model->store.hbase.servers_count >= 1);
    g_autofree char *text = kw_model_text_without_secrets(model);
    for (size_t i = 0; i < model->cursor.keys_count; i++)
        g_assert(strlen(model->cursor.keys[i]) >= 16);
    bool secrets = model->cursor.keys_count || *model->sequences.redis_password;
    g_assert(secrets ? strstr(text, "(secret)") != NULL : strcmp(text, model->text) == 0);
}

/* The model of a rejected text has the parts of tables that can be used. */
static void
check_rest(const kw_model *model)
{
    size_t bytes = 0;
    for (size_t i = 0; i < model->tables_count; i++)
        bytes += walk_table(&model->tables[i]);
    g_assert(bytes > 0 || model->tables_count == 0);
}

static void
check_problems(const kw_diagnostics *diagnostics)
{
    g_autofree char *text = kw_diagnostics_text(diagnostics);
    g_assert(g_utf8_validate(text, -1, NULL));
    size_t lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    size_t kept = kw_diagnostics_kept(diagnostics);
    g_assert(lines == kept + (kw_diagnostics_count(diagnostics) > kept));
}

/* A text that was cut out has the same tables, or is rejected for the same problems. */
static void
check_cut(const uint8_t *data, size_t size, const kw_model *model)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("fuzz");
    g_autofree char *text = kw_model_cut_shared((const char *)data, size, diagnostics);
    g_assert(!text == (kw_diagnostics_count(diagnostics) > 0));
    if (!text || !model)
        return;
    g_autoptr(kw_model) shared =
        kw_model_read_shared("fuzz", text, strlen(text), SAMPLE_COMPONENTS, diagnostics);
    g_assert(!shared == (kw_diagnostics_count(diagnostics) > 0));
    if (shared)
        g_assert(shared->tables_count == model->tables_count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("fuzz");
    g_autoptr(kw_model) model =
        kw_model_check_text("fuzz", (const char *)data, size, SAMPLE_COMPONENTS, diagnostics);
    bool good = kw_diagnostics_count(diagnostics) == 0;
    g_assert(model || !good);
    if (good)
        check_model(model);
    else if (model)
        check_rest(model);
    check_problems(diagnostics);
    check_cut(data, size, good ? model : NULL);
    return 0;
}
