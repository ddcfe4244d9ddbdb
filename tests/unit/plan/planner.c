#include "plan/planner.h"

#include "rule/policies.h"
#include "rule/splits.h"

#include <stdlib.h>

kw_test_planner *
planner_new(const char *table_yaml)
{
    kw_test_planner *planner = g_new0(kw_test_planner, 1);
    planner->policy = test_policy_with_hazards(table_yaml);
    planner->table = kw_policy_table(planner->policy, 0);
    planner->arena = kw_arena_new();
    planner_reset(planner);
    return planner;
}

void
planner_free(kw_test_planner *planner)
{
    kw_arena_free(planner->arena);
    kw_policy_unref(planner->policy);
    g_free(planner);
}

void
planner_reset(kw_test_planner *planner)
{
    planner->bounds = KW_ARENA_ARRAY(planner->arena, kw_bound, planner->table->fields_count);
    planner->query = (kw_record_query){
        .table = planner->table,
        .path = -1,
        .bounds = planner->bounds,
        .range_field = -1,
        .range_limit = 10000,
    };
}

static kw_value
value_of(kw_test_planner *planner, int field, const char *text)
{
    kw_value value = {.kind = kw_field_value_kind(planner->table->fields[field].type)};
    if (value.kind == KW_VALUE_NUMBER)
        value.number = strtoll(text, NULL, 10);
    else if (value.kind == KW_VALUE_REAL)
        value.real = g_ascii_strtod(text, NULL);
    else if (value.kind == KW_VALUE_FLAG)
        value.flag = strcmp(text, "true") == 0;
    else
        value.bytes = kw_arena_copy(planner->arena, kw_bytes_of_text(text));
    return value;
}

static void
set_bound(kw_test_planner *planner, int field, const char *list)
{
    char **texts = g_strsplit(list, ",", -1);
    guint count = g_strv_length(texts);
    kw_value *values = KW_ARENA_ARRAY(planner->arena, kw_value, count);
    for (guint index = 0; index < count; index++)
        values[index] = value_of(planner, field, texts[index]);
    planner->bounds[field] = (kw_bound){.values = values, .count = count};
    g_strfreev(texts);
}

static void
set_range(kw_test_planner *planner, int field, char op, bool inclusive, const char *text)
{
    planner->query.range_field = field;
    if (op == '>') {
        planner->query.from = value_of(planner, field, text);
        planner->query.from_inclusive = inclusive;
    } else {
        planner->query.to = value_of(planner, field, text);
        planner->query.to_inclusive = inclusive;
    }
}

static bool
set_option(kw_test_planner *planner, const char *word)
{
    kw_record_query *query = &planner->query;
    if (strcmp(word, "order=asc") == 0)
        query->order = KW_ORDER_ASCENDING;
    else if (strcmp(word, "order=desc") == 0)
        query->order = KW_ORDER_DESCENDING;
    else if (strcmp(word, "full") == 0)
        query->full_scan = true;
    else if (g_str_has_prefix(word, "limit="))
        query->limit = strtoull(word + 6, NULL, 10);
    else if (g_str_has_prefix(word, "ranges="))
        query->range_limit = strtoull(word + 7, NULL, 10);
    else if (g_str_has_prefix(word, "path="))
        query->path = kw_table_find_path(planner->table, kw_bytes_of_text(word + 5));
    else
        return false;
    return true;
}

static void
set_word(kw_test_planner *planner, const char *word)
{
    if (*word == '\0' || set_option(planner, word))
        return;
    size_t length = strcspn(word, "<>=");
    int field = kw_table_find_field(planner->table, kw_bytes_of(word, length));
    g_assert_cmpint(field, >=, 0);
    const char *rest = word + length + 1;
    if (word[length] == '=')
        set_bound(planner, field, rest);
    else
        set_range(planner, field, word[length], *rest == '=', *rest == '=' ? rest + 1 : rest);
}

void
planner_set_query(kw_test_planner *planner, const char *words)
{
    char **each = g_strsplit(words, " ", -1);
    for (char **word = each; *word; word++)
        set_word(planner, *word);
    g_strfreev(each);
}

/* Example: "primary: [a,b) [c,d) | [e,f) backwards residual". "|" separates groups. A point is a key in angle
 * brackets. */
const char *
planner_plan_text(kw_test_planner *planner, const char *words)
{
    planner_reset(planner);
    planner_set_query(planner, words);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&planner->query, planner->arena, &plan, &error))
        return kw_arena_printf(planner->arena, "%s: %s", kw_code_name(error.code), error.text);
    const char *text = kw_arena_printf(planner->arena, "%s:", plan->path->name);
    for (size_t index = 0; index < plan->ranges_count; index++) {
        const kw_range *range = &plan->ranges[index];
        g_assert_true(range->placement == plan->placements[0]);
        bool apart = index > 0 && range->group != plan->ranges[index - 1].group;
        const char *start = kw_bytes_to_binary_text(range->start, planner->arena);
        const char *stop = kw_bytes_to_binary_text(range->stop, planner->arena);
        text = plan->point
                   ? kw_arena_printf(planner->arena, "%s%s <%s>", text, apart ? " |" : "", start)
                   : kw_arena_printf(planner->arena, "%s%s [%s,%s)", text, apart ? " |" : "", start, stop);
    }
    return kw_arena_printf(planner->arena, "%s%s%s", text, plan->reversed ? " backwards" : "",
                           plan->residual ? " residual" : "");
}
