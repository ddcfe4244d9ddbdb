#include "access/principal.h"

#include <string.h>

const kw_principal kw_principal_anonymous = {.kind = KW_PRINCIPAL_ANONYMOUS};

kw_principal *
kw_principal_new(kw_principal_kind kind)
{
    kw_principal *principal = g_new0(kw_principal, 1);
    principal->kind = kind;
    return principal;
}

void
kw_principal_free(kw_principal *principal)
{
    for (unsigned i = 0; principal && i < principal->count; i++)
        g_free(principal->names[i]);
    g_free(principal);
}

static bool
is_name(kw_principal_kind kind, const char *name)
{
    size_t size = strlen(name);
    if (size == 0 || size > KW_PRINCIPAL_NAME_MAX || !g_utf8_validate(name, (gssize)size, NULL))
        return false;
    for (const char *at = name; *at; at = g_utf8_next_char(at))
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            return false;
    return kind != KW_PRINCIPAL_USER || !strpbrk(name, "=:");
}

bool
kw_principal_add(kw_principal *principal, const char *name)
{
    g_assert(principal->kind != KW_PRINCIPAL_ANONYMOUS);
    if (principal->count == KW_PRINCIPAL_NAMES_MAX || !is_name(principal->kind, name))
        return false;
    principal->names[principal->count++] = g_strdup(name);
    return true;
}

const char *
kw_principal_name(const kw_principal *principal)
{
    return principal->count > 0 ? principal->names[0] : "";
}
