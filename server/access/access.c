/* For each connection, the roles of its principal are found out once for each version of the rules, and what
 * these roles allow on a table when the table is first used. So a call costs one probe of a hash table,
 * whatever the number of roles. */
#include "access/access.h"

#include "base/utf8.h"

#include <stdatomic.h>
#include <string.h>

/* Tables whose operations a connection keeps. Beyond this number, it forgets all: a caller can name any
 * table, so the memory must be bounded. */
#define KEPT_TABLES_MAX 16
/* Bytes of the longest name that a table can have. */
#define TABLE_NAME_MAX 128
/* Bytes of a table's name in an error. */
#define SHOWN_NAME_MAX 100

struct kw_access_rules {
    const kw_model_access *model;
    uint64_t serial;     /* differs from that of all other rules */
    GHashTable *numbers; /* group -> its number + 1 */
};

struct kw_grants {
    uint64_t serial;    /* of the rules */
    uint64_t *roles;    /* a bit for each role: it is for tables, and the principal has it */
    unsigned gateway;   /* operations of the gateway */
    unsigned of_tables; /* operations that the roles allow on any table */
    GHashTable *tables; /* name (GBytes) -> operations */
};

#define BIT(operation) (1u << KW_MAY_##operation)
#define OF_GATEWAY (BIT(VIEW) | BIT(OPERATE))

/* --- rules --------------------------------------------------------------------------------------- */

kw_access_rules *
kw_access_rules_new(const kw_model_access *access)
{
    static _Atomic uint64_t serials;
    if (!access->enabled)
        return NULL;
    kw_access_rules *rules = g_new0(kw_access_rules, 1);
    rules->model = access;
    rules->serial = atomic_fetch_add(&serials, 1) + 1;
    rules->numbers = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < access->groups_count; i++)
        g_hash_table_insert(rules->numbers, (void *)access->groups[i].name, GSIZE_TO_POINTER(i + 1));
    return rules;
}

void
kw_access_rules_free(kw_access_rules *rules)
{
    if (rules)
        g_hash_table_unref(rules->numbers);
    g_free(rules);
}

/* True if the text is one of the pattern, in which each * stands for any bytes. Takes time proportional to
 * the product of their sizes at most. */
static bool
is_match(const char *pattern, const char *text, size_t size)
{
    const char *end = text + size, *star = NULL, *again = NULL;
    while (text < end) {
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
            if (!*star)
                return true;
        } else if (*pattern == *text && *pattern) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool
is_member(const kw_model_group *group, const kw_principal *principal)
{
    for (size_t i = 0; i < group->members_count; i++) {
        const char *member = group->members[i];
        if (principal->count == 0 && strcmp(member, "anonymous") == 0)
            return true;
        for (unsigned j = 0; j < principal->count; j++)
            if (is_match(member, principal->names[j], strlen(principal->names[j])))
                return true;
    }
    return false;
}

/* --- grants -------------------------------------------------------------------------------------- */

static bool
has_role(const kw_access_rules *rules, const bool *groups, const kw_model_role *role)
{
    for (size_t i = 0; i < role->who_count; i++) {
        size_t number = GPOINTER_TO_SIZE(g_hash_table_lookup(rules->numbers, role->who[i]));
        if (number > 0 && groups[number - 1])
            return true;
    }
    return false;
}

static size_t
words_of(const kw_model_access *access)
{
    return (access->roles_count + 63) / 64;
}

static kw_grants *
grants_new(const kw_access_rules *rules, const kw_principal *principal)
{
    const kw_model_access *access = rules->model;
    kw_grants *grants = g_new0(kw_grants, 1);
    g_autofree bool *groups = g_new(bool, access->groups_count);
    for (size_t i = 0; i < access->groups_count; i++)
        groups[i] = is_member(&access->groups[i], principal);
    grants->serial = rules->serial;
    grants->roles = g_new0(uint64_t, words_of(access));
    for (size_t i = 0; i < access->roles_count; i++)
        if (has_role(rules, groups, &access->roles[i])) {
            unsigned operations = access->roles[i].operations;
            if (operations & ~OF_GATEWAY)
                grants->roles[i / 64] |= UINT64_C(1) << i % 64;
            grants->gateway |= operations & OF_GATEWAY;
            grants->of_tables |= operations & ~OF_GATEWAY;
        }
    grants->tables = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    return grants;
}

void
kw_grants_free(kw_grants *grants)
{
    if (!grants)
        return;
    g_hash_table_unref(grants->tables);
    g_free(grants->roles);
    g_free(grants);
}

static bool
covers(const kw_model_role *role, kw_bytes table)
{
    for (size_t i = 0; i < role->tables_count; i++)
        if (is_match(role->tables[i], (const char *)table.data, table.size))
            return true;
    return false;
}

/* Stops as soon as it has found one of the operations `enough`, or all that there are. Skips 64 roles at a
 * time that the principal does not have: a list of tables finds the operations of each. */
static unsigned
find_operations(const kw_access_rules *rules, const kw_grants *grants, kw_bytes table, unsigned enough)
{
    unsigned found = 0;
    if (table.size > TABLE_NAME_MAX)
        return 0;
    for (size_t i = 0; i < words_of(rules->model); i++)
        for (uint64_t left = grants->roles[i]; left; left &= left - 1) {
            const kw_model_role *role = &rules->model->roles[i * 64 + (size_t)__builtin_ctzll(left)];
            unsigned operations = role->operations & ~OF_GATEWAY;
            if ((operations & ~found) && covers(role, table))
                found |= operations;
            if (found == grants->of_tables || (found & enough))
                return found;
        }
    return found;
}

static unsigned
operations_of(const kw_access_rules *rules, kw_grants *grants, kw_bytes table)
{
    gpointer found = NULL;
    if (table.size > TABLE_NAME_MAX)
        return 0;
    g_autoptr(GBytes) name = g_bytes_new_static(table.data, table.size);
    if (g_hash_table_lookup_extended(grants->tables, name, NULL, &found))
        return GPOINTER_TO_UINT(found);
    unsigned operations = find_operations(rules, grants, table, 0);
    if (g_hash_table_size(grants->tables) >= KEPT_TABLES_MAX)
        g_hash_table_remove_all(grants->tables);
    g_hash_table_insert(grants->tables, g_bytes_new(table.data, table.size), GUINT_TO_POINTER(operations));
    return operations;
}

/* --- the decision -------------------------------------------------------------------------------- */

/* What a role must allow. */
static unsigned
needed(kw_operation operation)
{
    switch (operation) {
    case KW_OPERATION_READ:
        return BIT(READ);
    case KW_OPERATION_WRITE:
        return BIT(WRITE);
    case KW_OPERATION_REMOVE:
        return BIT(REMOVE);
    case KW_OPERATION_ATOMIC:
        return BIT(ATOMIC) | BIT(WRITE);
    case KW_OPERATION_CREATE:
        return BIT(CREATE);
    case KW_OPERATION_EXPLAIN:
        return BIT(EXPLAIN);
    case KW_OPERATION_VIEW:
        return BIT(VIEW);
    case KW_OPERATION_OPERATE:
        return BIT(OPERATE);
    case KW_OPERATION_DESCRIBE:
    case KW_OPERATION_LIST:
    case KW_OPERATION_NONE:
        break;
    }
    g_assert_not_reached();
}

static bool
is_allowed(const kw_access_rules *rules, kw_grants *grants, kw_operation operation, kw_bytes table)
{
    if (operation == KW_OPERATION_LIST)
        return true;
    if (operation == KW_OPERATION_DESCRIBE) /* asked for whole lists of tables, which would fill the cache */
        return find_operations(rules, grants, table, grants->of_tables) != 0;
    unsigned bits = needed(operation);
    bool of_gateway = operation == KW_OPERATION_VIEW || operation == KW_OPERATION_OPERATE;
    return (bits & (of_gateway ? grants->gateway : operations_of(rules, grants, table))) == bits;
}

static const char *
verb_of(kw_operation operation)
{
    static const char *const verbs[] = {
        [KW_OPERATION_READ] = "read",       [KW_OPERATION_WRITE] = "write",
        [KW_OPERATION_REMOVE] = "remove",   [KW_OPERATION_ATOMIC] = "do atomic operations on",
        [KW_OPERATION_CREATE] = "create",   [KW_OPERATION_EXPLAIN] = "explain",
        [KW_OPERATION_DESCRIBE] = "see",    [KW_OPERATION_VIEW] = "view",
        [KW_OPERATION_OPERATE] = "operate",
    };
    return verbs[operation];
}

static bool
deny(const kw_principal *principal, kw_operation operation, kw_bytes table, kw_error *ret_error)
{
    const char *name = principal->count > 0 ? kw_principal_name(principal) : "an anonymous caller";
    bool of_gateway = operation == KW_OPERATION_VIEW || operation == KW_OPERATION_OPERATE;
    bool shown = !of_gateway && table.size <= SHOWN_NAME_MAX && kw_utf8_valid(table);
    int size = shown ? (int)table.size : 0;
    return kw_error_set(ret_error, KW_DENIED, "no role allows %s to %s %s%s%.*s", name, verb_of(operation),
                        of_gateway ? "the gateway" : "the table", size > 0 ? " " : "", size,
                        size > 0 ? (const char *)table.data : "");
}

bool
kw_access_check(const kw_access_rules *rules, const kw_principal *principal, kw_grants **grants,
                kw_operation operation, kw_bytes table, kw_error *ret_error)
{
    g_assert(operation != KW_OPERATION_NONE);
    if (!rules)
        return true;
    if (!*grants || (*grants)->serial != rules->serial) {
        kw_grants_free(*grants);
        *grants = grants_new(rules, principal);
    }
    return is_allowed(rules, *grants, operation, table) || deny(principal, operation, table, ret_error);
}
