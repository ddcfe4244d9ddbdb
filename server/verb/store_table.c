#include "verb/store_table.h"

#include "verb/hint_table.h"

#include <inttypes.h>

/* --- what differs ---------------------------------------------------------------------------------- */

typedef struct comparing {
    const kw_placement *placement;
    const kw_model_family *family;
    kw_arena *arena;
    const char *found; /* differences so far; "": none */
} comparing;

static void
add(comparing *self, const char *difference)
{
    self->found = kw_arena_printf(self->arena, "%s%s%s", self->found, *self->found ? "; " : "", difference);
}

static const char *
lifetime(int64_t ttl_s, kw_arena *arena)
{
    return ttl_s > 0 ? kw_arena_printf(arena, "for %" PRId64 " s", ttl_s) : "without a ttl";
}

static void
compare_number(comparing *self, const char *what, int64_t store, int64_t policy)
{
    if (store != policy)
        add(self, kw_arena_printf(self->arena, "family %s has %s %" PRId64 ", not %" PRId64,
                                  self->family->name, what, store, policy));
}

static void
compare_family(comparing *self, const kw_family_spec *store)
{
    const kw_model_family *policy = self->family;
    if (store->ttl_seconds != MIN(policy->ttl_seconds, INT32_MAX))
        add(self, kw_arena_printf(self->arena, "family %s keeps cells %s, not %s", policy->name,
                                  lifetime(store->ttl_seconds, self->arena),
                                  lifetime(policy->ttl_seconds, self->arena)));
    compare_number(self, "max_versions", MAX(store->max_versions, 1), MAX(policy->max_versions, 1));
    compare_number(self, "min_versions", store->min_versions, policy->min_versions);
    if ((store->keep_deleted_cells > 0) != (policy->keep_deleted_cells > 0))
        add(self, kw_arena_printf(self->arena, "family %s %s deleted cells", policy->name,
                                  store->keep_deleted_cells > 0 ? "keeps" : "does not keep"));
}

/* --- circular calendars ---------------------------------------------------------------------------- */

static bool
check_cycle(const kw_placement *placement, const kw_family_spec *store, kw_arena *arena, kw_error *ret_error)
{
    kw_cycle cycle;
    const kw_path *path = placement->path;
    bool repeats = kw_layout_cycle(placement->layout, path->table->model, &cycle);
    if (!repeats || kw_cycle_expires(&cycle, store->ttl_seconds, store->min_versions))
        return true;
    kw_bytes name = placement->store_table;
    int least = store->min_versions;
    const char *also = least > 0 ? kw_arena_printf(arena, " and at least %d versions of them", least) : "";
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, path %s: the row keys of %s repeat after %" PRId64
        " s, but family %s of the store table %.*s keeps cells %s%s, so a record could overwrite "
        "one of the cycle before; in the store, give the family a ttl of at most %" PRId64
        " s%s, or name another store table",
        path->table->name, path->name, cycle.calendar, cycle.period_s, store->name, (int)name.size,
        (const char *)name.data, lifetime(store->ttl_seconds, arena), also, cycle.ttl_most_s,
        least > 0 ? " and no min_versions" : "");
}

/* --- the verdict ----------------------------------------------------------------------------------- */

static const kw_family_spec *
find_family(const kw_table_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->families_count; i++)
        if (g_str_equal(facts->families[i].name, name))
            return &facts->families[i];
    return NULL;
}

static void
check_lifetime(const comparing *self, const kw_family_spec *store, kw_error *ret_refusal)
{
    bool records = self->placement->content == KW_CONTENT_RECORDS;
    if (!records || check_cycle(self->placement, store, self->arena, ret_refusal))
        kw_hint_table_check(self->placement, store, self->arena, ret_refusal);
}

/* An association, and hints, have one family, whose settings do not come from the policy. */
static bool
is_expected(const kw_placement *placement, const kw_model_family *family)
{
    return placement->content == KW_CONTENT_RECORDS ||
           g_str_equal(family->name, placement->path->table->model->default_family);
}

static void
compare(comparing *self, const kw_table_facts *facts, kw_error *ret_refusal)
{
    const kw_table *table = self->placement->path->table;
    for (size_t i = 0; i < table->model->families_count; i++) {
        self->family = &table->model->families[i];
        if (!is_expected(self->placement, self->family))
            continue;
        const kw_family_spec *store = find_family(facts, self->family->name);
        if (!store)
            add(self, kw_arena_printf(self->arena, "it has no family %s", self->family->name));
        else if (self->placement->content == KW_CONTENT_RECORDS)
            compare_family(self, store);
        if (store && ret_refusal->code == KW_OK)
            check_lifetime(self, store, ret_refusal);
    }
}

void
kw_store_table_judge(const kw_placement *placement, const kw_table_facts *facts, kw_arena *arena,
                     kw_store_table_verdict *ret_verdict)
{
    const char *table = placement->path->table->name, *path = placement->path->name;
    kw_bytes name = placement->store_table;
    *ret_verdict = (kw_store_table_verdict){.refusal = KW_ERROR_NONE};
    if (!facts->exists) {
        ret_verdict->differences = kw_arena_printf(
            arena, "table %s, path %s: the store has no table %.*s; keyway create %s creates it", table, path,
            (int)name.size, (const char *)name.data, table);
        return;
    }
    comparing self = {.placement = placement, .arena = arena, .found = ""};
    compare(&self, facts, &ret_verdict->refusal);
    if (*self.found)
        ret_verdict->differences =
            kw_arena_printf(arena, "table %s, path %s: the store table %.*s differs from the policy: %s",
                            table, path, (int)name.size, (const char *)name.data, self.found);
}
