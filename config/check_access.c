/* Checks of access, and of listeners that other machines can reach. */
#include "config/check.h"

#include "config/read.h"

#include <arpa/inet.h>
#include <string.h>

static bool
is_of_gateway(kw_model_operation operation)
{
    return operation == KW_MAY_VIEW || operation == KW_MAY_OPERATE;
}

/* The number of an operation that the reader has accepted. */
static kw_model_operation
operation_of(const char *name)
{
    unsigned i = 0;
    while (kw_operation_names[i] && strcmp(kw_operation_names[i], name) != 0)
        i++;
    g_assert(kw_operation_names[i]);
    return (kw_model_operation)i;
}

void
kw_check_role(kw_read *read, const kw_node *node, void *section)
{
    kw_model_role *role = section;
    bool tables = false;
    for (size_t i = 0; node && i < role->may_count; i++) {
        kw_model_operation operation = operation_of(role->may[i]);
        role->operations |= 1u << operation;
        tables = tables || !is_of_gateway(operation);
    }
    if (tables && role->tables_count == 0)
        kw_read_problem(read, role->mark, "add tables: [NAME, ...], or tables: \"*\" for all",
                        "the role needs tables");
    if (node && !tables && role->tables_count > 0)
        kw_read_problem(read, role->mark, "remove tables",
                        "view and operate apply to the gateway, not to tables");
}

void
kw_check_access(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_access *access = section;
    g_autofree const char **names = g_new0(const char *, access->groups_count + 1);
    if (!node)
        return;
    for (size_t i = 0; i < access->groups_count; i++)
        names[i] = access->groups[i].name;
    for (size_t i = 0; i < access->roles_count; i++)
        for (size_t j = 0; j < access->roles[i].who_count; j++) {
            const char *who = access->roles[i].who[j];
            const char *near = g_strv_contains(names, who) ? NULL : kw_nearest_name(who, names);
            g_autofree char *hint = near ? g_strdup_printf("did you mean %s?", near) : NULL;
            if (!g_strv_contains(names, who))
                kw_read_problem(read, access->roles[i].mark,
                                hint ? hint : "who names groups of access.groups",
                                "there is no group '%.60s'", who);
        }
}

static bool
is_local(const kw_model_listener *listener)
{
    struct in_addr ipv4;
    if (!listener->host || !*listener->host || kw_model_listener_path(listener))
        return true;
    if (inet_pton(AF_INET, listener->host, &ipv4) == 1)
        return ntohl(ipv4.s_addr) >> 24 == 127;
    return strcmp(listener->host, "::1") == 0 || g_ascii_strcasecmp(listener->host, "localhost") == 0;
}

bool
kw_model_listener_is_open(const kw_model *model, const kw_model_listener *listener)
{
    return !model->access.enabled && !is_local(listener);
}

void
kw_check_open_listeners(kw_read *read, const kw_model *model)
{
    for (size_t i = 0; i < model->listeners_count; i++) {
        const kw_model_listener *listener = &model->listeners[i];
        if (kw_model_listener_is_open(model, listener) && !listener->public)
            kw_read_problem(read, listener->mark,
                            "add access, which says who can do what; or write {address: ADDRESS, public: "
                            "true} if everybody who can connect can read, write and administer everything",
                            "listen: other machines can connect to %s, and the policy has no access",
                            listener->host);
    }
}
