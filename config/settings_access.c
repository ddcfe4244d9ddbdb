/* The settings of access: who can do what. See setting.h. */
#include "config/setting.h"

#include "config/check.h"

const char *const kw_operation_names[] = {"read",    "write", "remove",  "atomic", "create",
                                          "explain", "view",  "operate", NULL};

static const kw_setting group_settings[] = {
    {.name = "members",
     .kind = KW_KIND_TEXTS,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_group, members),
     .offset2 = offsetof(kw_model_group, members_count),
     .least = 1,
     .most = 256,
     .about =
         "Names of callers: cn=NAME and san=NAME of a client certificate, unix:USER_ID or unix:root and "
         "unix-group:GROUP_ID of the process at the other end of a Unix socket, or anonymous for a caller "
         "without a name. san= is each DNS name, URI and e-mail address of the certificate. A * stands for "
         "any characters, but alone not for anonymous."},
    {.name = NULL},
};

static const kw_section group_section = {
    .title = "a group",
    .about = "A name for some callers: the list of their names.",
    .settings = group_settings,
    .shorthand = "members",
    .size = sizeof(kw_model_group),
    .mark_offset = offsetof(kw_model_group, mark),
    .name_offset = offsetof(kw_model_group, name),
    .switch_offset = KW_OFFSET_NONE,
    .key_rule = KW_NAME_FIELD,
};

static const kw_setting role_settings[] = {
    {.name = "who",
     .kind = KW_KIND_TEXTS,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_role, who),
     .offset2 = offsetof(kw_model_role, who_count),
     .least = 1,
     .about = "Groups that have this role."},
    {.name = "tables",
     .kind = KW_KIND_TEXTS,
     .offset = offsetof(kw_model_role, tables),
     .offset2 = offsetof(kw_model_role, tables_count),
     .least = 1,
     .about = "Tables that the operations apply to. A * stands for any characters.",
     .holds = "none; required for operations of tables"},
    {.name = "may",
     .kind = KW_KIND_TEXTS,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_role, may),
     .offset2 = offsetof(kw_model_role, may_count),
     .least = 1,
     .choices = kw_operation_names,
     .about = "Operations. Of tables: read; write (put, allocate numbers); remove; atomic (increment, putIf, "
              "compareAndPut; needs write); create (store tables); explain (plans and row keys). Of the "
              "gateway: view (the whole policy with its groups and roles, changes, statistics) and operate "
              "(everything that changes them, and scrub, verify, backups and the catalog). None includes "
              "another."},
    {.name = NULL},
};

static const kw_section role_section = {
    .title = "a role",
    .about = "What some groups can do. A caller can do what any of its roles allows.",
    .settings = role_settings,
    .size = sizeof(kw_model_role),
    .mark_offset = offsetof(kw_model_role, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_role,
};

static const kw_setting access_settings[] = {
    {.name = "groups",
     .kind = KW_KIND_MAP,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_access, groups),
     .offset2 = offsetof(kw_model_access, groups_count),
     .least = 1,
     .most = 1000,
     .section = &group_section,
     .about = "Groups of callers, by name."},
    {.name = "roles",
     .kind = KW_KIND_LIST,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_access, roles),
     .offset2 = offsetof(kw_model_access, roles_count),
     .least = 1,
     .most = 10000,
     .section = &role_section,
     .about = "What the groups can do."},
    {.name = NULL},
};

const kw_section kw_access_section = {
    .title = "access",
    .about = "Who can do what. With this section, a call is denied unless a role allows it. A table that a "
             "caller has no role for is not shown to it. Without it, every caller can do everything, and "
             "the gateway listens only where other machines cannot connect, unless a listener is public.",
    .settings = access_settings,
    .size = sizeof(kw_model_access),
    .mark_offset = offsetof(kw_model_access, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_model_access, enabled),
    .check = kw_check_access,
};
