/* Facts from a policy, and their digest. The JSON form is in facts_json.c. */
#include "catalog/facts.h"

#include "rule/splits.h"

#include <openssl/evp.h>

static const char *const encoding_names[] = {
    [KW_CELL_RAW_BE] = "raw",      [KW_CELL_TEXT] = "text",         [KW_CELL_RAW_BE4] = "raw4",
    [KW_CELL_PHOENIX] = "phoenix", [KW_CELL_PHOENIX4] = "phoenix4",
};

/* --- from a policy --------------------------------------------------------------------------------- */

static const char *
type_text(const kw_field *field, kw_arena *arena)
{
    const char *of = kw_field_type_names[field->type];
    if (field->entry)
        return kw_arena_printf(arena, "map of %s", type_text(field->entry, arena));
    return field->type == KW_FIELD_TIMESTAMP
               ? kw_arena_printf(arena, "%s %s", of, kw_time_unit_names[field->unit])
               : of;
}

static kw_field_facts
field_of(const kw_field *field, kw_arena *arena)
{
    return (kw_field_facts){
        .name = field->name,
        .type = type_text(field, arena),
        .encoding = field->stored ? encoding_names[field->form] : "",
        .family = field->stored ? kw_arena_text(arena, field->family) : "",
        .qualifier = field->stored ? kw_bytes_to_binary_text(field->qualifier, arena) : "",
        .map = field->entry != NULL,
        .key = field->identity,
        .counter = field->counter,
    };
}

static kw_placement_facts
rule_of(const kw_layout *layout)
{
    return (kw_placement_facts){.layout = kw_layout_number(layout),
                                .fingerprint = kw_layout_fingerprint(layout),
                                .rule = kw_layout_description(layout),
                                .store_table = kw_store_table_name(kw_layout_store_table(layout)),
                                .state = KW_PLACEMENT_COMPLETE,
                                .verified = true};
}

static kw_placement_facts
placement_of(const kw_placement *placement, kw_arena *arena)
{
    kw_placement_facts facts = rule_of(placement->layout);
    facts.store_table = kw_store_table_name(kw_arena_text(arena, placement->store_table));
    facts.state = placement->complete ? KW_PLACEMENT_COMPLETE : KW_PLACEMENT_FILLING;
    return facts;
}

static kw_path_facts
path_of(const kw_path *path, kw_arena *arena)
{
    size_t count = path->placements_count;
    kw_path_facts facts = {.name = path->name,
                           .association = path->content == KW_CONTENT_LOCATORS,
                           .hints = path->content == KW_CONTENT_HINTS,
                           .unique = path->unique,
                           .placements = KW_ARENA_ARRAY(arena, kw_placement_facts, count),
                           .placements_count = count};
    for (size_t i = 0; i < count; i++)
        facts.placements[i] = placement_of(&path->placements[i], arena);
    return facts;
}

static void
add_dropped(const kw_table *table, kw_facts *facts, kw_arena *arena)
{
    for (size_t i = 0; i < table->placements_count; i++)
        if (kw_path_is_dropped(table->placements[i].path))
            facts->paths[facts->paths_count++] = path_of(table->placements[i].path, arena);
}

static const char *
marker_of(const kw_table *table, kw_arena *arena)
{
    return kw_arena_printf(arena, "%s:%s=%s%s", kw_arena_text(arena, table->marker_family),
                           kw_bytes_to_binary_text(table->marker_qualifier, arena),
                           kw_bytes_to_binary_text(table->marker_value, arena),
                           table->marks_all ? " always" : "");
}

kw_facts *
kw_facts_of_table(const kw_table *table, kw_arena *arena)
{
    kw_facts *facts = KW_ARENA_NEW(arena, kw_facts);
    facts->table = table->name;
    facts->marker = marker_of(table, arena);
    bool stamp = kw_table_default_order(table) == KW_WRITE_ORDER_STAMP;
    facts->order = stamp ? "stamp" : "store";
    facts->order_given = table->model->order != NULL;
    facts->atomics_given = table->model->atomics;
    facts->changing_atomics = table->change == KW_TABLE_TURNS_ATOMICS;
    facts->atomics = stamp ? facts->atomics_given == 1 : facts->atomics_given != 0;
    facts->fields_count = table->fields_count;
    facts->fields = KW_ARENA_ARRAY(arena, kw_field_facts, table->fields_count);
    for (size_t i = 0; i < table->fields_count; i++)
        facts->fields[i] = field_of(&table->fields[i], arena);
    facts->paths_count = table->paths_count;
    facts->paths = KW_ARENA_ARRAY(arena, kw_path_facts, table->placements_count);
    for (size_t i = 0; i < table->paths_count; i++)
        facts->paths[i] = path_of(&table->paths[i], arena);
    add_dropped(table, facts, arena);
    return facts;
}

/* --- finding --------------------------------------------------------------------------------------- */

const char *
kw_placement_state_name(kw_placement_state state)
{
    switch (state) {
    case KW_PLACEMENT_ABSENT:
        return "absent";
    case KW_PLACEMENT_FILLING:
        return "filling";
    case KW_PLACEMENT_COMPLETE:
        return "complete";
    case KW_PLACEMENT_RETIRED:
        return "retired";
    case KW_PLACEMENT_FORGETTING:
        return "forgetting";
    }
    g_assert_not_reached();
}

const kw_path_facts *
kw_facts_find_path(const kw_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->paths_count; i++)
        if (g_str_equal(facts->paths[i].name, name))
            return &facts->paths[i];
    return NULL;
}

const kw_field_facts *
kw_facts_find_field(const kw_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->fields_count; i++)
        if (g_str_equal(facts->fields[i].name, name))
            return &facts->fields[i];
    return NULL;
}

bool
kw_placement_facts_is_live(const kw_placement_facts *placement)
{
    return placement->state == KW_PLACEMENT_COMPLETE || placement->state == KW_PLACEMENT_FILLING;
}

const kw_placement_facts *
kw_path_facts_serving(const kw_path_facts *path)
{
    for (size_t i = 0; i < path->placements_count; i++)
        if (kw_placement_facts_is_live(&path->placements[i]))
            return &path->placements[i];
    return NULL;
}

size_t
kw_path_facts_count_live(const kw_path_facts *path)
{
    size_t count = 0;
    for (size_t i = 0; i < path->placements_count; i++)
        count += kw_placement_facts_is_live(&path->placements[i]);
    return count;
}

bool
kw_path_facts_is_changing(const kw_path_facts *path)
{
    size_t live = kw_path_facts_count_live(path);
    return live > 1 || (live == 1 && kw_path_facts_serving(path)->state == KW_PLACEMENT_FILLING);
}

const kw_placement_facts *
kw_path_facts_find_live(const kw_path_facts *path, const kw_placement_facts *placement)
{
    for (size_t i = 0; i < path->placements_count; i++) {
        const kw_placement_facts *each = &path->placements[i];
        if (kw_placement_facts_is_live(each) && each->layout == placement->layout &&
            g_str_equal(each->fingerprint, placement->fingerprint) &&
            g_str_equal(each->store_table, placement->store_table))
            return each;
    }
    return NULL;
}

void
kw_facts_list_store_tables(const kw_facts *facts, GPtrArray *to)
{
    for (size_t i = 0; i < facts->paths_count; i++)
        for (size_t j = 0; j < facts->paths[i].placements_count; j++)
            if (facts->paths[i].placements[j].state != KW_PLACEMENT_ABSENT)
                g_ptr_array_add(to, (gpointer)facts->paths[i].placements[j].store_table);
}

const char *
kw_field_facts_column(const kw_field_facts *field, kw_arena *arena)
{
    if (!field->family[0])
        return "the row key alone";
    return kw_arena_printf(arena, "%s:%s%s", field->family, field->qualifier, field->map ? "*" : "");
}

#define ATOMICS " atomics"
#define NO_ATOMICS " no-atomics"

/* --- digest ---------------------------------------------------------------------------------------- */

/* The digest is that of sorted lines: one for each fact that two gateways must agree on. */
static int
by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t
list_placements(const kw_path_facts *path, const char **lines, kw_arena *arena)
{
    size_t count = 0;
    for (size_t i = 0; i < path->placements_count; i++) {
        const kw_placement_facts *each = &path->placements[i];
        if (kw_placement_facts_is_live(each))
            lines[count++] = kw_arena_printf(arena, "path %s%s %u %s %s", path->name,
                                             path->association ? " association" : "", each->layout,
                                             each->fingerprint, each->store_table);
    }
    return count;
}

static size_t
list_lines(const kw_facts *facts, const char **lines, kw_arena *arena)
{
    size_t count = 0;
    lines[count++] = kw_arena_printf(arena, "marker %s", facts->marker);
    if (!facts->atomics && g_str_equal(facts->order, "store"))
        lines[count++] = "no atomics";
    for (size_t i = 0; i < facts->fields_count; i++)
        if (facts->fields[i].counter && !facts->fields[i].removed)
            lines[count++] =
                kw_arena_printf(arena, "counter %s", kw_field_facts_column(&facts->fields[i], arena));
    for (size_t i = 0; i < facts->paths_count; i++)
        count += list_placements(&facts->paths[i], lines + count, arena);
    qsort(lines, count, sizeof *lines, by_text);
    return count;
}

const char *
kw_facts_digest(const kw_facts *facts, kw_arena *arena)
{
    size_t most = facts->fields_count + 3;
    for (size_t i = 0; i < facts->paths_count; i++)
        most += facts->paths[i].placements_count;
    const char **lines = KW_ARENA_ARRAY(arena, const char *, most);
    size_t count = list_lines(facts, lines, arena);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    for (size_t i = 0; done && i < count; i++)
        done = EVP_DigestUpdate(context, lines[i], strlen(lines[i])) && EVP_DigestUpdate(context, "\n", 1);
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    done = done && EVP_DigestFinal_ex(context, digest, &size);
    g_assert(done && size == 32);
    EVP_MD_CTX_free(context);
    char *text = kw_arena_alloc(arena, 2 * size + 1);
    for (unsigned i = 0; i < size; i++)
        g_snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return kw_arena_printf(arena, "%s%s%s%s", text, facts->order_given ? " " : "",
                           facts->order_given ? facts->order : "",
                           facts->atomics_given < 0 ? ""
                           : facts->atomics_given   ? ATOMICS
                                                    : NO_ATOMICS);
}

static const char *
default_order(const kw_facts *wanted)
{
    size_t with_records = 0;
    for (size_t i = 0; i < wanted->paths_count; i++)
        with_records += !wanted->paths[i].hints;
    return with_records > 1 ? "stamp" : "store";
}

static bool
agrees_about_order(const char *theirs, const kw_facts *wanted, const kw_facts *recorded,
                   const kw_facts *merged)
{
    bool known = recorded && recorded->order[0];
    if (strstr(theirs, " stamp"))
        return g_str_equal(merged->order, "stamp");
    if (strstr(theirs, " store"))
        return g_str_equal(merged->order, "store");
    return g_str_equal(merged->order, default_order(wanted)) &&
           (!known || g_str_equal(merged->order, recorded->order));
}

/* With order: store the digests themselves differ. */
static bool
agrees_about_atomics(const char *theirs, const kw_facts *recorded, const kw_facts *merged)
{
    if (!g_str_equal(merged->order, "stamp") || merged->changing_atomics ||
        (recorded && recorded->changing_atomics))
        return true;
    if (strstr(theirs, ATOMICS) || strstr(theirs, NO_ATOMICS))
        return merged->atomics == (strstr(theirs, ATOMICS) != NULL);
    bool known = recorded && g_str_equal(recorded->order, "stamp");
    return merged->atomics == (known && recorded->atomics);
}

bool
kw_facts_agree(const char *theirs, const kw_facts *wanted, const kw_facts *recorded, const kw_facts *merged,
               kw_arena *arena)
{
    const char *mine = kw_facts_digest(wanted, arena);
    size_t size = strcspn(theirs, " ");
    if (g_str_equal(theirs, mine))
        return true;
    return size == strcspn(mine, " ") && strncmp(theirs, mine, size) == 0 &&
           agrees_about_order(theirs, wanted, recorded, merged) &&
           agrees_about_atomics(theirs, recorded, merged);
}
