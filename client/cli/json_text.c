#include "cli/json_text.h"

#include "cli/text.h"
#include "keyway.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 64

typedef struct scan {
    const char *at;
    const char *end;
    GString *to;
    int depth;
    GError **error;
} scan;

static bool
refuse(const scan *self, const char *what, const char *from, gsize size)
{
    g_autofree char *raw = g_strndup(from, MIN(size, 40));
    g_autofree char *shown = kw_text_for_terminal(raw);

    g_set_error(self->error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "%s%s", what, shown);
    return false;
}

/* Called at a backslash. */
static bool
skip_escape(scan *self)
{
    const char *from = self->at++;

    if (self->at < self->end && *self->at != '\0' && strchr("\"\\/bfnrt", *self->at) != NULL) {
        self->at++;
        return true;
    }
    if (self->end - self->at < 5 || *self->at != 'u')
        return refuse(self, "not a valid JSON escape: ", from, 2);
    for (int i = 1; i <= 4; i++)
        if (!g_ascii_isxdigit(self->at[i]))
            return refuse(self, "not a valid JSON escape: ", from, 6);
    self->at += 5;
    return true;
}

static bool
scan_string(scan *self)
{
    const char *from = self->at++;

    while (self->at < self->end && *self->at != '"') {
        gsize left = (gsize)(self->end - self->at);

        if (*self->at == '\0' || (left >= 6 && memcmp(self->at, "\\u0000", 6) == 0))
            return refuse(self, "a string with a NUL byte is not supported", "", 0);
        if (*self->at != '\\')
            self->at++;
        else if (!skip_escape(self))
            return false;
    }
    if (self->at == self->end)
        return refuse(self, "a quote is not closed: ", from, (gsize)(self->end - from));
    self->at++;
    g_string_append_len(self->to, from, self->at - from);
    return true;
}

static bool
scan_digits(scan *self)
{
    const char *from = self->at;

    while (self->at < self->end && g_ascii_isdigit(*self->at))
        self->at++;
    return self->at > from;
}

static bool
next_is(const scan *self, const char *any_of)
{
    return self->at < self->end && *self->at != '\0' && strchr(any_of, *self->at) != NULL;
}

/* True at a byte that ends a number or a word, and at the end of the text. */
static bool
is_over(const scan *self)
{
    return self->at == self->end || next_is(self, " \t\r\n,:]}");
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool
skip_number(scan *self, bool *ret_whole)
{
    *ret_whole = true;
    self->at += next_is(self, "-") ? 1 : 0;
    if (next_is(self, "0"))
        self->at++;
    else if (!scan_digits(self))
        return false;
    if (next_is(self, ".")) {
        *ret_whole = false;
        self->at++;
        if (!scan_digits(self))
            return false;
    }
    if (next_is(self, "eE")) {
        *ret_whole = false;
        self->at++;
        self->at += next_is(self, "+-") ? 1 : 0;
        if (!scan_digits(self))
            return false;
    }
    return is_over(self);
}

/* json-glib keeps the value of a number, not its digits: a number of which it would print others becomes a
 * string. */
static bool
scan_number(scan *self)
{
    const char *from = self->at;
    g_autofree char *text = NULL;
    g_autofree char *printed = NULL;
    bool whole;

    if (!skip_number(self, &whole))
        return refuse(self, "not a valid JSON number: ", from, strcspn(from, " \t\r\n,]}"));
    text = g_strndup(from, (gsize)(self->at - from));
    printed = whole ? g_strdup_printf("%" G_GINT64_FORMAT, g_ascii_strtoll(text, NULL, 10))
                    : kw_text_from_real(g_ascii_strtod(text, NULL));
    g_string_append_printf(self->to, g_str_equal(text, printed) ? "%s" : "\"%s\"", text);
    return true;
}

static bool
scan_word(scan *self)
{
    const char *const words[] = {"true", "false", "null"};
    const char *from = self->at;

    while (self->at < self->end && g_ascii_isalpha(*self->at))
        self->at++;
    for (gsize i = 0; i < G_N_ELEMENTS(words) && is_over(self); i++)
        if ((gsize)(self->at - from) == strlen(words[i]) && memcmp(from, words[i], strlen(words[i])) == 0) {
            g_string_append(self->to, words[i]);
            return true;
        }
    return refuse(self, "unexpected ", from, MAX((gsize)(self->at - from), 1));
}

/* Checks the next token, or one structural or blank character, and appends it to self->to. */
static bool
scan_one(scan *self)
{
    if (*self->at == '"')
        return scan_string(self);
    if (*self->at == '-' || g_ascii_isdigit(*self->at))
        return scan_number(self);
    if (!next_is(self, "{}[],: \t\r\n"))
        return scan_word(self);
    self->depth += next_is(self, "{[") ? 1 : next_is(self, "}]") ? -1 : 0;
    if (self->depth > DEPTH_MAX)
        return refuse(self, "more than 64 levels of nesting", "", 0);
    g_string_append_c(self->to, *self->at++);
    return true;
}

/* Converts the text for json-glib; the caller frees it. NULL: the error has the reason. Accepts empty
 * text. */
static char *
check_json(const char *text, gsize length, GError **error)
{
    g_autoptr(GString) to = g_string_sized_new(length + 2);
    scan self = {.at = text, .end = text + length, .to = to, .error = error};
    bool closed = false;

    while (self.at < self.end) {
        bool blank = next_is(&self, " \t\r\n");

        if (closed && !blank) {
            refuse(&self, "unexpected text after the value: ", self.at, (gsize)(self.end - self.at));
            return NULL;
        }
        if (!scan_one(&self))
            return NULL;
        closed = closed || (!blank && self.depth == 0);
    }
    return g_string_free(g_steal_pointer(&to), FALSE);
}

JsonNode *
kw_json_read(const char *text, gsize length, GError **error)
{
    g_autofree char *strict = check_json(text, length, error);
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) failure = NULL;
    const char *words;

    if (strict == NULL)
        return NULL;
    if (json_parser_load_from_data(parser, strict, -1, &failure))
        return json_parser_steal_root(parser);
    /* json-glib's message begins with a position in the converted text. It is skipped, because the user's
     * text has other positions. */
    words = strstr(failure->message, "Parse error: ");
    g_set_error_literal(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                        words == NULL ? failure->message : words + strlen("Parse error: "));
    return NULL;
}

static void
append_object(GString *to, JsonObject *object)
{
    g_autoptr(GList) names = json_object_get_members(object);

    g_string_append_c(to, '{');
    for (GList *name = names; name != NULL; name = name->next) {
        g_string_append(to, name == names ? "" : ",");
        kw_text_append_json(to, name->data);
        g_string_append_c(to, ':');
        kw_json_append(to, json_object_get_member(object, name->data));
    }
    g_string_append_c(to, '}');
}

static void
append_array(GString *to, JsonArray *array)
{
    g_string_append_c(to, '[');
    for (guint i = 0; i < json_array_get_length(array); i++) {
        g_string_append(to, i == 0 ? "" : ",");
        kw_json_append(to, json_array_get_element(array, i));
    }
    g_string_append_c(to, ']');
}

void
kw_json_append(GString *to, JsonNode *node)
{
    g_autofree char *text = kw_text_of_json(node);

    if (JSON_NODE_HOLDS_OBJECT(node))
        append_object(to, json_node_get_object(node));
    else if (JSON_NODE_HOLDS_ARRAY(node))
        append_array(to, json_node_get_array(node));
    else if (text != NULL && json_node_get_value_type(node) == G_TYPE_STRING)
        kw_text_append_json(to, text);
    else
        g_string_append(to, text == NULL ? "null" : text);
}

char *
kw_text_of_json(JsonNode *node)
{
    switch (JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE) {
    case G_TYPE_STRING:
        return g_strdup(json_node_get_string(node));
    case G_TYPE_INT64:
        return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
    case G_TYPE_DOUBLE:
        return kw_text_from_real(json_node_get_double(node));
    case G_TYPE_BOOLEAN:
        return g_strdup(json_node_get_boolean(node) ? "true" : "false");
    default:
        return NULL;
    }
}
