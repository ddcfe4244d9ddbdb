/* One scalar to one member: parse, compare with the bounds, store. */
#include "config/read_value.h"

#include <string.h>

#define TEXT_BYTES_MAX 1000

static bool
refused(kw_read *read, const kw_node *node, kw_refusal refusal)
{
    return kw_read_problem(read, node->mark, refusal.hint, "'%.60s' %s", node->text, refusal.why);
}

const char *
kw_read_scalar(kw_read *read, const kw_node *node)
{
    if (node->kind == KW_NODE_SCALAR)
        return node->text;
    if (node->kind != KW_NODE_BROKEN)
        kw_read_problem(read, node->mark, NULL, "must be one value, not a %s",
                        node->kind == KW_NODE_LIST ? "list" : "map");
    return NULL;
}

static char *
bound_text(kw_kind kind, int64_t bound)
{
    if (kind == KW_KIND_SIZE)
        return kw_size_text(bound);
    if (kind == KW_KIND_MS)
        return kw_duration_text(bound);
    if (kind == KW_KIND_SECONDS)
        return kw_duration_text(bound * 1000);
    return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)bound);
}

bool
kw_read_bounds(kw_read *read, const kw_setting *setting, const kw_node *node, int64_t value)
{
    if (value >= setting->least && value <= setting->most)
        return true;
    g_autofree char *least = bound_text(setting->kind, setting->least);
    g_autofree char *most = bound_text(setting->kind, setting->most);
    return kw_read_problem(read, node->mark, NULL, "'%.60s' is out of bounds, must be %s to %s", node->text,
                           least, most);
}

static void
read_bool(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    kw_refusal refusal;
    bool value;
    if (!kw_parse_bool(node->text, &value, &refusal)) {
        refused(read, node, refusal);
        return;
    }
    int as_int = value;
    if (setting->kind == KW_KIND_SWITCH)
        memcpy((char *)into + setting->offset, &as_int, sizeof as_int);
    else
        memcpy((char *)into + setting->offset, &value, sizeof value);
}

static bool
parse_number(kw_kind kind, const char *text, int64_t *ret_value, kw_refusal *ret_refusal)
{
    if (kind == KW_KIND_SIZE)
        return kw_parse_size(text, ret_value, ret_refusal);
    if (kind == KW_KIND_INT)
        return kw_parse_int(text, ret_value, ret_refusal);
    if (!kw_parse_duration_ms(text, ret_value, ret_refusal))
        return false;
    if (kind == KW_KIND_MS)
        return true;
    if (*ret_value % 1000) {
        *ret_refusal = (kw_refusal){"is not a whole number of seconds", "write s, min, h or d"};
        return false;
    }
    *ret_value /= 1000;
    return true;
}

static void
read_number(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    kw_refusal refusal;
    int64_t value;
    if (!parse_number(setting->kind, node->text, &value, &refusal))
        refused(read, node, refusal);
    else if (kw_read_bounds(read, setting, node, value))
        memcpy((char *)into + setting->offset, &value, sizeof value);
}

/* Checks length and the name rule, and records the position of a secret. Returns a copy in the model's
 * memory; NULL after a problem. */
static const char *
checked_text(kw_read *read, const kw_setting *setting, const kw_node *node)
{
    kw_refusal refusal;
    int64_t size = (int64_t)strlen(node->text);
    int64_t most = setting->most ? setting->most : TEXT_BYTES_MAX;
    if (size < setting->least || size > most) {
        kw_read_problem(read, node->mark, NULL, "has %d bytes, must have %d to %d", (int)size,
                        (int)setting->least, (int)most);
        return NULL;
    }
    if (!kw_parse_name(setting->rule, node->text, &refusal)) {
        refused(read, node, refusal);
        return NULL;
    }
    if (setting->choices && kw_read_choice(read, node, setting->choices) < 0)
        return NULL;
    if (setting->flags & KW_SETTING_SECRET) {
        kw_secret_span span = {node->start, node->end};
        g_array_append_val(read->secrets, span);
    }
    return kw_memory_text(read->memory, node->text, (size_t)size);
}

static void
read_text(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    const char *text = checked_text(read, setting, node);
    if (!text)
        return;
    memcpy((char *)into + setting->offset, &text, sizeof text);
    if (setting->offset2)
        memcpy((char *)into + setting->offset2, &node->mark, sizeof node->mark);
}

int
kw_read_choice(kw_read *read, const kw_node *node, const char *const *choices)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], node->text) == 0)
            return i;
    kw_read_unknown(read, node, "value", choices);
    return -1;
}

static void
read_choice(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    int chosen = kw_read_choice(read, node, setting->choices);
    if (chosen < 0)
        return;
    char *member = (char *)into + setting->offset;
    bool second = chosen == 1;
    if (setting->kind == KW_KIND_CHOICE)
        memcpy(member, &setting->choices[chosen], sizeof(const char *));
    else if (setting->kind == KW_KIND_EITHER)
        memcpy(member, &second, sizeof second);
    else
        memcpy(member, &chosen, sizeof chosen);
}

/* Linux allows 107 bytes for the path of a socket. */
#define UNIX_PATH_MAX 107

static void
read_unix_address(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    const char *path = node->text + strlen("unix:");
    uint16_t port = 0;
    if (*path != '/' || strlen(path) > UNIX_PATH_MAX) {
        refused(read, node,
                (kw_refusal){"is not the address of a Unix socket",
                             "write an absolute path of at most 107 bytes: unix:/run/keyway/keyway.sock"});
        return;
    }
    const char *host = kw_memory_text(read->memory, node->text, strlen(node->text));
    memcpy((char *)into + setting->offset, &host, sizeof host);
    memcpy((char *)into + setting->offset2, &port, sizeof port);
}

static void
read_address(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    kw_refusal refusal;
    const char *host;
    uint16_t port;
    if (setting->flags & KW_SETTING_UNIX && g_str_has_prefix(node->text, "unix:")) {
        read_unix_address(read, setting, node, into);
        return;
    }
    if (!kw_parse_address(read->memory, node->text, setting->port, &host, &port, &refusal)) {
        refused(read, node, refusal);
        return;
    }
    if (port < setting->least) {
        kw_read_problem(read, node->mark, NULL, "'%.60s' has an illegal port", node->text);
        return;
    }
    memcpy((char *)into + setting->offset, &host, sizeof host);
    memcpy((char *)into + setting->offset2, &port, sizeof port);
}

/* --- lists of texts --------------------------------------------------------------------------- */

static const char *
read_text_item(kw_read *read, const kw_setting *setting, const kw_node *node, GHashTable *seen)
{
    if (!kw_read_scalar(read, node))
        return NULL;
    if (!g_hash_table_add(seen, (void *)node->text)) {
        bool secret = setting->flags & KW_SETTING_SECRET;
        kw_read_problem(read, node->mark, NULL, "'%.60s' is given twice", secret ? "(secret)" : node->text);
        return NULL;
    }
    return checked_text(read, setting, node);
}

bool
kw_read_texts(kw_read *read, const kw_setting *setting, const kw_node *node, const char ***ret_texts,
              kw_mark **ret_marks, size_t *ret_count)
{
    bool is_list = node->kind == KW_NODE_LIST;
    size_t count = is_list ? node->count : 1;
    if (count == 0 || count > KW_SETTING_TEXTS_MAX)
        return kw_read_problem(read, node->mark, NULL, "has %zu entries, must have 1 to %d", count,
                               KW_SETTING_TEXTS_MAX);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    *ret_texts = KW_MEMORY_ARRAY(read->memory, const char *, count);
    *ret_marks = KW_MEMORY_ARRAY(read->memory, kw_mark, count);
    bool clean = true;
    for (size_t i = 0; i < count; i++) {
        const kw_node *item = is_list ? node->items[i] : node;
        size_t length = is_list ? kw_read_enter(read, NULL, i) : read->place->len;
        (*ret_texts)[i] = read_text_item(read, setting, item, seen);
        (*ret_marks)[i] = item->mark;
        clean = clean && (*ret_texts)[i];
        kw_read_leave(read, length);
    }
    *ret_count = count;
    return clean;
}

static void
read_texts(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    const char **texts;
    kw_mark *marks;
    size_t count;
    if (node->kind == KW_NODE_BROKEN || !kw_read_texts(read, setting, node, &texts, &marks, &count))
        return;
    memcpy((char *)into + setting->offset, &texts, sizeof texts);
    memcpy((char *)into + setting->offset2, &count, sizeof count);
}

/* --- by kind ---------------------------------------------------------------------------------- */

typedef void value_reader(kw_read *read, const kw_setting *setting, const kw_node *node, void *into);

/* The readers of scalars. The other kinds have no entry. */
static value_reader *const scalar_readers[] = {
    [KW_KIND_BOOL] = read_bool,     [KW_KIND_SWITCH] = read_bool,     [KW_KIND_INT] = read_number,
    [KW_KIND_SIZE] = read_number,   [KW_KIND_MS] = read_number,       [KW_KIND_SECONDS] = read_number,
    [KW_KIND_TEXT] = read_text,     [KW_KIND_CHOICE] = read_choice,   [KW_KIND_ENUM] = read_choice,
    [KW_KIND_EITHER] = read_choice, [KW_KIND_ADDRESS] = read_address,
};

void
kw_read_value(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    if (setting->kind == KW_KIND_TEXTS) {
        read_texts(read, setting, node, into);
        return;
    }
    g_assert((size_t)setting->kind < G_N_ELEMENTS(scalar_readers) && scalar_readers[setting->kind]);
    if (!kw_read_scalar(read, node))
        return;
    if (kw_node_is_empty(node))
        kw_read_problem(read, node->mark, "add a value, or remove the setting", "has no value");
    else
        scalar_readers[setting->kind](read, setting, node, into);
}

void
kw_read_nothing(const kw_setting *setting, void *into)
{
    const char *text = setting->flags & KW_SETTING_NULLABLE ? NULL : "";
    int unset = -1;
    char *member = (char *)into + setting->offset;
    switch (setting->kind) {
    case KW_KIND_TEXT:
    case KW_KIND_CHOICE:
    case KW_KIND_ADDRESS:
        memcpy(member, &text, sizeof text);
        break;
    case KW_KIND_SWITCH:
        memcpy(member, &unset, sizeof unset);
        break;
    case KW_KIND_INT:
    case KW_KIND_SIZE:
    case KW_KIND_MS:
    case KW_KIND_SECONDS:
        memcpy(member, &setting->absent, sizeof setting->absent);
        break;
    case KW_KIND_BOOL:
    case KW_KIND_ENUM:
    case KW_KIND_EITHER:
    case KW_KIND_TEXTS:
    case KW_KIND_SECTION:
    case KW_KIND_LIST:
    case KW_KIND_MAP:
    case KW_KIND_RULE:
        break; /* the struct is zeroed: false, the first choice, no items */
    }
}
