#include "filter/prepared.h"

#include "filter/expression.h"
#include "filter/filter_internal.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>

/* A filter of more nodes counts as slow, whatever it compares. */
#define FILTERS_QUICK 64

struct kw_prepared {
    _Atomic unsigned references;
    kw_arena *arena; /* contains this struct and the tree */
    kw_bytes text;
    const kw_filter *tree;
    kw_expression **expressions; /* indexed by kw_filter.expression; NULL until compiled */
    size_t expressions_count;
    bool slow;
};

/* --- the tree ------------------------------------------------------------------------------------ */

bool
kw_filter_is_regex(const kw_filter *filter)
{
    return filter->comparator == KW_FILTER_COMPARE_REGEX ||
           filter->comparator == KW_FILTER_COMPARE_REGEX_ANY_CASE;
}

/* Recurses; the depth of the tree is bounded. */
static void
count(const kw_filter *filter, size_t *filters, size_t *expressions, size_t *substrings)
{
    ++*filters;
    *expressions += kw_filter_is_regex(filter);
    *substrings += filter->comparator == KW_FILTER_COMPARE_SUBSTRING;
    for (size_t i = 0; i < filter->children_count; i++)
        count(filter->children[i], filters, expressions, substrings);
}

kw_prepared *
kw_prepared_new(kw_bytes text, kw_error *ret_error)
{
    kw_arena *arena = kw_arena_new();
    kw_bytes copy = kw_arena_copy(arena, text);
    const kw_filter *tree = kw_filter_parse(copy, arena, ret_error);
    if (!tree) {
        kw_arena_free(arena);
        return NULL;
    }
    kw_prepared *self = KW_ARENA_NEW(arena, kw_prepared);
    size_t filters = 0, substrings = 0;
    atomic_init(&self->references, 1);
    self->arena = arena;
    self->text = copy;
    self->tree = tree;
    count(tree, &filters, &self->expressions_count, &substrings);
    self->slow = self->expressions_count || substrings || filters > FILTERS_QUICK;
    return self;
}

kw_prepared *
kw_prepared_ref(kw_prepared *self)
{
    atomic_fetch_add_explicit(&self->references, 1, memory_order_relaxed);
    return self;
}

void
kw_prepared_unref(kw_prepared *self)
{
    if (!self || atomic_fetch_sub_explicit(&self->references, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; self->expressions && i < self->expressions_count; i++)
        kw_expression_free(self->expressions[i]);
    kw_arena_free(self->arena);
}

kw_bytes
kw_prepared_text(const kw_prepared *self)
{
    return self->text;
}

const kw_filter *
kw_prepared_tree(const kw_prepared *self)
{
    return self->tree;
}

bool
kw_prepared_is_slow(const kw_prepared *self)
{
    return self->slow;
}

/* --- expressions --------------------------------------------------------------------------------- */

bool
kw_prepared_needs_compiling(const kw_prepared *self)
{
    return self->expressions_count > 0 && !self->expressions;
}

kw_filter_shown
kw_filter_show_expression(const kw_filter *filter)
{
    kw_filter_shown shown;
    size_t at = 0, next = 0;
    while (next < filter->operand.size && at < KW_FILTER_SHOWN_BYTES) {
        uint8_t byte = filter->operand.data[next++];
        bool plain = byte >= 0x20 && byte < 0x7f;
        at += (size_t)snprintf(shown.text + at, sizeof shown.text - at, plain ? "%c" : "\\x%02X", byte);
    }
    snprintf(shown.text + at, sizeof shown.text - at, "%s", next < filter->operand.size ? "..." : "");
    return shown;
}

bool
kw_filter_expression_error(const kw_filter *filter, const kw_expression *expression, kw_error *ret_error)
{
    char why[120] = "";
    kw_expression_error(expression, why, sizeof why);
    return kw_error_set(ret_error, KW_INVALID, "filter: the regular expression %s is wrong: %s",
                        kw_filter_show_expression(filter).text, why);
}

/* Compiles every expression, even after an error, because machines use them by index. Reports the first wrong
 * one. */
static bool
compile_all(kw_prepared *self, const kw_filter *filter, kw_error *ret_error)
{
    bool good = true;
    if (kw_filter_is_regex(filter)) {
        bool any_case = filter->comparator == KW_FILTER_COMPARE_REGEX_ANY_CASE;
        kw_expression *prepared = kw_expression_new(filter->operand, any_case);
        self->expressions[filter->expression] = prepared;
        if (kw_expression_is_wrong(prepared))
            good = kw_filter_expression_error(filter, prepared, ret_error);
    }
    for (size_t i = 0; i < filter->children_count; i++) {
        kw_error *report = good ? ret_error : NULL;
        good = compile_all(self, filter->children[i], report) && good;
    }
    return good;
}

bool
kw_prepared_compile(kw_prepared *self, kw_error *ret_error)
{
    if (!kw_prepared_needs_compiling(self))
        return true;
    self->expressions = KW_ARENA_ARRAY(self->arena, kw_expression *, self->expressions_count);
    return compile_all(self, self->tree, ret_error);
}

const kw_expression *
kw_prepared_expression(const kw_prepared *self, const kw_filter *filter)
{
    g_assert(self->expressions && filter->expression < self->expressions_count);
    return self->expressions[filter->expression];
}
