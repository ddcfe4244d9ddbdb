#include "config/shared.h"

#include "config/model_box.h"
#include "config/node.h"
#include "config/reader.h"

#include <string.h>

static bool
is_shared_name(const char *name)
{
    return strcmp(name, "tables") == 0 || strcmp(name, "sequences") == 0;
}

/* --- reading -------------------------------------------------------------------------------------- */

static void
check_names(const kw_node *root, kw_diagnostics *diagnostics)
{
    for (size_t i = 0; i < root->count; i++)
        if (!is_shared_name(root->keys[i]->text))
            kw_diagnostics_add(
                diagnostics, root->keys[i]->mark,
                "remove it; `keyway policy import` takes only tables and sequences from a file",
                "%s belongs in the file of each gateway, not in the shared policy", root->keys[i]->text);
}

static void
check_secrets(const kw_node *root, const kw_model *model, kw_diagnostics *diagnostics)
{
    const kw_node *sequences = kw_node_find(root, "sequences");
    const kw_node *url = sequences ? kw_node_find(sequences, "redis") : NULL;
    const kw_node *file = sequences ? kw_node_find(sequences, "redis_password_file") : NULL;
    if (url && *model->sequences.redis_password)
        kw_diagnostics_add(
            diagnostics, url->mark,
            "remove the password from the URL, and write sequences: {redis_password_file: FILE} "
            "in the file of each gateway",
            "sequences.redis: a shared policy cannot contain a secret");
    if (file)
        kw_diagnostics_add(
            diagnostics, file->mark, "write it in the file of each gateway",
            "sequences.redis_password_file names a file of one machine, but all gateways use a "
            "shared policy");
}

static void
check_files(const kw_model *model, kw_diagnostics *diagnostics)
{
    for (size_t i = 0; i < model->tables_count; i++)
        for (size_t j = 0; j < model->tables[i].paths_count; j++) {
            const kw_model_splits *splits = &model->tables[i].paths[j].splits;
            if (*splits->file)
                kw_diagnostics_add(diagnostics, splits->mark, "write the keys as splits.keys",
                                   "table %s: splits.file names a file of one machine, but all gateways use "
                                   "a shared policy",
                                   model->tables[i].name);
        }
}

kw_model *
kw_model_read_shared(const char *name, const char *text, size_t size,
                     const kw_component_schema *const *components, size_t components_count,
                     kw_diagnostics *diagnostics)
{
    g_autoptr(kw_model) model =
        kw_model_read_text(name, text, size, components, components_count, diagnostics);
    if (!model)
        return NULL;
    g_autoptr(kw_memory) nodes = kw_memory_new();
    const kw_node *root = kw_node_parse(nodes, model->text, strlen(model->text), diagnostics);
    g_assert(root && root->kind == KW_NODE_MAP); /* it was read as a policy */
    check_names(root, diagnostics);
    check_secrets(root, model, diagnostics);
    check_files(model, diagnostics);
    return kw_diagnostics_count(diagnostics) ? NULL : g_steal_pointer(&model);
}

/* --- combining ------------------------------------------------------------------------------------ */

static bool
is_same_table(const char *a, const char *b)
{
    return strcmp(kw_store_table_name(a), kw_store_table_name(b)) == 0;
}

/* Only the gateway's file names the catalog, so this was not checked when the shared text was read. */
static void
check_catalog(const kw_model *own, const kw_model *shared, kw_diagnostics *diagnostics)
{
    static const char hint[] = "choose another name";
    for (size_t i = 0; i < shared->tables_count; i++)
        for (size_t j = 0; j < shared->tables[i].paths_count; j++) {
            const kw_model_path *path = &shared->tables[i].paths[j];
            bool catalog = is_same_table(own->store.catalog, path->store_table);
            if (catalog || is_same_table(own->sequences.table, path->store_table))
                kw_diagnostics_add(diagnostics, path->mark, hint,
                                   "table %s, path %s: the store table %s is the %s", shared->tables[i].name,
                                   path->name, path->store_table, catalog ? "catalog" : "table of sequences");
        }
}

static void
add_shared(kw_model *model, const kw_model *own, const kw_model *shared)
{
    model->tables = shared->tables;
    model->tables_count = shared->tables_count;
    model->sequences = shared->sequences;
    model->sequences.table = own->sequences.table;
    model->sequences.redis_password_file = own->sequences.redis_password_file;
    model->shared_text = shared->text;
    model->tables_file = shared->file;
}

kw_model *
kw_model_share(kw_model *own, kw_model *shared, kw_diagnostics *diagnostics)
{
    own = kw_model_own(own);
    g_assert(own->policy_in_store && own->tables_count == 0);
    if (shared)
        check_catalog(own, shared, diagnostics);
    if (kw_diagnostics_count(diagnostics))
        return NULL;
    kw_model_box *box = g_new0(kw_model_box, 1);
    box->references = 1;
    box->secrets = g_array_ref(kw_model_box_of(own)->secrets);
    box->own = kw_model_ref(own);
    box->shared = shared ? kw_model_ref(shared) : NULL;
    box->model = *own;
    if (shared)
        add_shared(&box->model, own, shared);
    return &box->model;
}

kw_model *
kw_model_own(kw_model *model)
{
    kw_model *own = kw_model_box_of(model)->own;
    return own ? own : model;
}

kw_model *
kw_model_shared(kw_model *model)
{
    return kw_model_box_of(model)->shared;
}

bool
kw_model_same_counters(const kw_model *a, const kw_model *b)
{
    const kw_model_sequences *x = &a->sequences, *y = &b->sequences;
    return x->redis == y->redis &&
           (!x->redis || (strcmp(x->redis_host, y->redis_host) == 0 && x->redis_port == y->redis_port &&
                          x->redis_database == y->redis_database));
}

/* --- extracting ----------------------------------------------------------------------------------- */

/* Returns the start of each line, and the end of the text as the last element. */
static GPtrArray *
split_lines(const char *text, size_t size)
{
    GPtrArray *starts = g_ptr_array_new();
    const char *end = text + size;
    for (const char *at = text; at < end;) {
        g_ptr_array_add(starts, (gpointer)at);
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    g_ptr_array_add(starts, (gpointer)end);
    return starts;
}

static bool
is_comment(const char *line)
{
    return *line == '#';
}

static bool
is_blank(const char *line, const char *end)
{
    while (line < end && g_ascii_isspace(*line))
        line++;
    return line == end;
}

/* Appends the lines of key `index`. The comment before the key is included, and the one before the next key
 * is not. */
static void
append_setting(GString *to, const kw_node *root, size_t index, const GPtrArray *starts)
{
    bool last = index + 1 == root->count;
    size_t from = root->keys[index]->mark.line - 1;
    size_t after_previous = index ? root->keys[index - 1]->mark.line : 0;
    size_t to_line = last ? starts->len - 1 : root->keys[index + 1]->mark.line - 1;
    while (from > after_previous && is_comment(starts->pdata[from - 1]))
        from--;
    while (!last && to_line > from + 1 &&
           (is_comment(starts->pdata[to_line - 1]) ||
            is_blank(starts->pdata[to_line - 1], starts->pdata[to_line])))
        to_line--;
    const char *start = starts->pdata[from], *end = starts->pdata[to_line];
    if (to->len > 0)
        g_string_append_c(to, '\n');
    g_string_append_len(to, start, end - start);
    if (to->len > 0 && to->str[to->len - 1] != '\n')
        g_string_append_c(to, '\n');
}

static bool
same_nodes(const kw_node *a, const kw_node *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == KW_NODE_SCALAR)
        return a->plain == b->plain && strcmp(a->text, b->text) == 0;
    for (size_t i = 0; i < a->count; i++)
        if ((a->kind == KW_NODE_MAP && strcmp(a->keys[i]->text, b->keys[i]->text) != 0) ||
            !same_nodes(a->items[i], b->items[i]))
            return false;
    return true;
}

/* True if the extracted text has the same settings as the original. */
static bool
is_exact(const kw_node *root, const GString *cut)
{
    g_autoptr(kw_diagnostics) ignored = kw_diagnostics_new("");
    g_autoptr(kw_memory) nodes = kw_memory_new();
    const kw_node *parsed = kw_node_parse(nodes, cut->str, cut->len, ignored);
    size_t shared = 0;
    if (!parsed || parsed->kind != KW_NODE_MAP || kw_diagnostics_count(ignored))
        return false;
    for (size_t i = 0; i < root->count; i++) {
        if (!is_shared_name(root->keys[i]->text))
            continue;
        const kw_node *other = kw_node_find(parsed, root->keys[i]->text);
        if (!other || !same_nodes(root->items[i], other))
            return false;
        shared++;
    }
    return shared == parsed->count;
}

/* True if each key begins a line that split_lines found. YAML has line breaks that split_lines does not know,
 * so the parser can count more lines; is_exact then detects what this function does not. */
static bool
begins_lines(const kw_node *root, const GPtrArray *starts)
{
    for (size_t i = 0; i < root->count; i++)
        if (root->keys[i]->mark.column != 1 || root->keys[i]->mark.line >= starts->len)
            return false;
    return true;
}

char *
kw_model_cut_shared(const char *text, size_t size, kw_diagnostics *diagnostics)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */
    if (size >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
        text += strlen(mark), size -= strlen(mark);
    g_autoptr(kw_memory) nodes = kw_memory_new();
    const kw_node *root = kw_node_parse(nodes, text, size, diagnostics);
    if (!root || kw_diagnostics_count(diagnostics))
        return NULL;
    GString *cut = g_string_new(NULL);
    g_autoptr(GPtrArray) starts = split_lines(text, size);
    if (root->kind == KW_NODE_MAP && begins_lines(root, starts))
        for (size_t i = 0; i < root->count; i++)
            if (is_shared_name(root->keys[i]->text))
                append_setting(cut, root, i, starts);
    if (cut->len > 0 && is_exact(root, cut))
        return g_string_free(cut, FALSE);
    g_string_free(cut, TRUE);
    kw_diagnostics_add(diagnostics, root->mark, "begin the lines with `tables:` and `sequences:` in column 1",
                       "tables and sequences cannot be extracted from this text");
    return NULL;
}
