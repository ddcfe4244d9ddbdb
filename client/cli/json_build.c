#include "cli/json_build.h"

#include "cli/json_text.h"

#include <stdio.h>

void
kw_json_add_text(JsonBuilder *to, const char *name, const char *text)
{
    if (text == NULL)
        return;
    json_builder_set_member_name(to, name);
    json_builder_add_string_value(to, text);
}

void
kw_json_add_number(JsonBuilder *to, const char *name, gint64 number)
{
    json_builder_set_member_name(to, name);
    json_builder_add_int_value(to, number);
}

void
kw_json_add_real(JsonBuilder *to, const char *name, double real)
{
    json_builder_set_member_name(to, name);
    json_builder_add_double_value(to, real);
}

void
kw_json_add_flag(JsonBuilder *to, const char *name, bool flag)
{
    json_builder_set_member_name(to, name);
    json_builder_add_boolean_value(to, flag);
}

void
kw_json_begin_array(JsonBuilder *to, const char *name)
{
    json_builder_set_member_name(to, name);
    json_builder_begin_array(to);
}

void
kw_json_add_texts(JsonBuilder *to, const char *name, char *const *texts)
{
    kw_json_begin_array(to, name);
    for (; *texts != NULL; texts++)
        json_builder_add_string_value(to, *texts);
    json_builder_end_array(to);
}

bool
kw_json_print(JsonBuilder *from)
{
    g_autoptr(JsonNode) root = json_builder_get_root(from);
    g_autoptr(GString) text = g_string_new(NULL);

    kw_json_append(text, root);
    printf("%s\n", text->str);
    return fflush(stdout) == 0;
}
