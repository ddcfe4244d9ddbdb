/* See asking.h. */
#include "plan/asking.h"

#include "rule/policies.h"
#include "rule/splits.h"

#include <stdlib.h>

kw_test_asking *
asking_new(const char *table_yaml)
{
    kw_test_asking *asking = g_new0(kw_test_asking, 1);
    asking->policy = test_policy_with_hazards(table_yaml);
    asking->table = kw_policy_table(asking->policy, 0);
    asking->arena = kw_arena_new();
    asking_reset(asking);
    return asking;
}

void
asking_free(kw_test_asking *asking)
{
    kw_arena_free(asking->arena);
    kw_policy_unref(asking->policy);
    g_free(asking);
}

void
asking_reset(kw_test_asking *asking)
{
    asking->bounds = KW_ARENA_ARRAY(asking->arena, kw_bound, asking->table->fields_count);
    asking->question = (kw_question){
        .table = asking->table,
        .path = -1,
        .bounds = asking->bounds,
        .range_field = -1,
        .range_limit = 10000,
    };
}

static kw_value
value_of(kw_test_asking *asking, int field, const char *text)
{
    kw_value value = {.kind = kw_field_value_kind(asking->table->fields[field].type)};
    if (value.kind == KW_VALUE_NUMBER)
        value.number = strtoll(text, NULL, 10);
    else if (value.kind == KW_VALUE_REAL)
        value.real = g_ascii_strtod(text, NULL);
    else if (value.kind == KW_VALUE_FLAG)
        value.flag = strcmp(text, "true") == 0;
    else
        value.bytes = kw_arena_copy(asking->arena, kw_bytes_of_text(text));
    return value;
}

static void
set_bound(kw_test_asking *asking, int field, const char *list)
{
    char **texts = g_strsplit(list, ",", -1);
    guint count = g_strv_length(texts);
    kw_value *values = KW_ARENA_ARRAY(asking->arena, kw_value, count);
    for (guint index = 0; index < count; index++)
        values[index] = value_of(asking, field, texts[index]);
    asking->bounds[field] = (kw_bound){.values = values, .count = count};
    g_strfreev(texts);
}

static void
set_range(kw_test_asking *asking, int field, char op, bool inclusive, const char *text)
{
    asking->question.range_field = field;
    if (op == '>') {
        asking->question.from = value_of(asking, field, text);
        asking->question.from_inclusive = inclusive;
    } else {
        asking->question.to = value_of(asking, field, text);
        asking->question.to_inclusive = inclusive;
    }
}

static bool
set_option(kw_test_asking *asking, const char *word)
{
    kw_question *question = &asking->question;
    if (strcmp(word, "order=asc") == 0)
        question->order = KW_ORDER_ASCENDING;
    else if (strcmp(word, "order=desc") == 0)
        question->order = KW_ORDER_DESCENDING;
    else if (strcmp(word, "full") == 0)
        question->full_scan = true;
    else if (g_str_has_prefix(word, "limit="))
        question->limit = strtoull(word + 6, NULL, 10);
    else if (g_str_has_prefix(word, "ranges="))
        question->range_limit = strtoull(word + 7, NULL, 10);
    else if (g_str_has_prefix(word, "path="))
        question->path = kw_table_find_path(asking->table, kw_bytes_of_text(word + 5));
    else
        return false;
    return true;
}

static void
set_word(kw_test_asking *asking, const char *word)
{
    if (*word == '\0' || set_option(asking, word))
        return;
    size_t length = strcspn(word, "<>=");
    int field = kw_table_find_field(asking->table, kw_bytes_of(word, length));
    g_assert_cmpint(field, >=, 0);
    const char *rest = word + length + 1;
    if (word[length] == '=')
        set_bound(asking, field, rest);
    else
        set_range(asking, field, word[length], *rest == '=', *rest == '=' ? rest + 1 : rest);
}

void
asking_set(kw_test_asking *asking, const char *words)
{
    char **each = g_strsplit(words, " ", -1);
    for (char **word = each; *word; word++)
        set_word(asking, *word);
    g_strfreev(each);
}

/* "primary: [a,b) [c,d) | [e,f) backwards residual": ranges of a group side by side, groups after "|"; a
 * point is one key in angle brackets. */
const char *
asking_plan(kw_test_asking *asking, const char *words)
{
    asking_reset(asking);
    asking_set(asking, words);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&asking->question, asking->arena, &plan, &error))
        return kw_arena_printf(asking->arena, "%s: %s", kw_code_name(error.code), error.text);
    const char *text = kw_arena_printf(asking->arena, "%s:", plan->path->name);
    for (size_t index = 0; index < plan->ranges_count; index++) {
        const kw_range *range = &plan->ranges[index];
        bool apart = index > 0 && range->group != plan->ranges[index - 1].group;
        const char *start = kw_bytes_to_binary_text(range->start, asking->arena);
        const char *stop = kw_bytes_to_binary_text(range->stop, asking->arena);
        text = plan->point
                   ? kw_arena_printf(asking->arena, "%s%s <%s>", text, apart ? " |" : "", start)
                   : kw_arena_printf(asking->arena, "%s%s [%s,%s)", text, apart ? " |" : "", start, stop);
    }
    return kw_arena_printf(asking->arena, "%s%s%s", text, plan->reversed ? " backwards" : "",
                           plan->residual ? " residual" : "");
}
