/* Converts a policy text to a model: nodes, then the draft, then the model. See reader.h. */
#include "config/reader.h"

#include "config/assemble.h"
#include "config/model_box.h"
#include "config/read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char byte_order_mark[] = "\xef\xbb\xbf";

static kw_model *
box_model(kw_read *read, const kw_draft *draft, const char *file, const char *text, size_t size)
{
    kw_model_box *box = g_new0(kw_model_box, 1);
    box->references = 1;
    box->memory = read->memory;
    box->secrets = g_array_ref(read->secrets);
    box->model = kw_assemble(read, draft);
    box->model.file = kw_memory_text(read->memory, file, strlen(file));
    box->model.text = kw_memory_text(read->memory, text, size);
    box->model.tables_file = box->model.file;
    return &box->model;
}

static kw_model *
read_nodes(kw_read *read, const kw_node *root, const char *file, const char *text, size_t size)
{
    kw_draft draft = {.tables = NULL};
    kw_read_section(read, &kw_policy_section, root, &draft);
    return box_model(read, &draft, file, text, size);
}

kw_model *
kw_model_check_text(const char *file, const char *text, size_t size,
                    const kw_component_schema *const *components, size_t components_count,
                    kw_diagnostics *diagnostics)
{
    size_t mark_size = sizeof byte_order_mark - 1;
    if (size >= mark_size && memcmp(text, byte_order_mark, mark_size) == 0) {
        text += mark_size;
        size -= mark_size;
    }
    g_autoptr(kw_memory) nodes = kw_memory_new();
    const kw_node *root = kw_node_parse(nodes, text, size, diagnostics);
    if (!root)
        return NULL;
    kw_read read = {.memory = kw_memory_new(),
                    .diagnostics = diagnostics,
                    .components = components,
                    .components_count = components_count,
                    .place = g_string_new(NULL),
                    .secrets = g_array_new(FALSE, FALSE, sizeof(kw_secret_span))};
    kw_model *model = read_nodes(&read, root, file, text, size);
    g_string_free(read.place, TRUE);
    g_array_unref(read.secrets);
    return model;
}

/* Returns the model only if there was no problem. */
static kw_model *
unless_rejected(kw_model *model, const kw_diagnostics *diagnostics)
{
    if (kw_diagnostics_count(diagnostics) == 0)
        return model;
    kw_model_unref(model);
    return NULL;
}

kw_model *
kw_model_read_text(const char *file, const char *text, size_t size,
                   const kw_component_schema *const *components, size_t components_count,
                   kw_diagnostics *diagnostics)
{
    return unless_rejected(kw_model_check_text(file, text, size, components, components_count, diagnostics),
                           diagnostics);
}

/* Reads a file, but at most one byte more than the maximum size of a policy. Caller frees. */
static char *
read_bytes(const char *file, size_t *ret_size)
{
    FILE *stream = fopen(file, "rbe");
    if (!stream)
        return NULL;
    char *text = g_malloc(KW_NODE_SIZE_LIMIT + 1);
    *ret_size = fread(text, 1, KW_NODE_SIZE_LIMIT + 1, stream);
    int failed = ferror(stream) ? errno : 0;
    fclose(stream);
    if (failed) {
        g_free(text);
        errno = failed;
        return NULL;
    }
    return text;
}

kw_model *
kw_model_check_file(const char *file, const kw_component_schema *const *components, size_t components_count,
                    kw_diagnostics *diagnostics)
{
    size_t size;
    g_autofree char *text = read_bytes(file, &size);
    if (!text) {
        kw_diagnostics_add(diagnostics, (kw_mark){0, 0}, NULL, "cannot be read: %s", g_strerror(errno));
        return NULL;
    }
    return kw_model_check_text(file, text, size, components, components_count, diagnostics);
}

kw_model *
kw_model_read_file(const char *file, const kw_component_schema *const *components, size_t components_count,
                   kw_diagnostics *diagnostics)
{
    return unless_rejected(kw_model_check_file(file, components, components_count, diagnostics), diagnostics);
}
