#include "catalog/zones.h"

#include "rule/layout.h"
#include "rule/zone_pins.h"
#include "store/check.h"

#include <string.h>

/* --- the zones of a policy ------------------------------------------------------------------------- */

static void
add_zone(GPtrArray *zones, const kw_zone *zone)
{
    if (!zone || !zone->key)
        return;
    for (guint i = 0; i < zones->len; i++)
        if (g_str_equal(((const kw_zone *)zones->pdata[i])->key, zone->key))
            return;
    g_ptr_array_add(zones, (gpointer)zone);
}

static void
add_zones_of_path(GPtrArray *zones, const kw_path *path)
{
    for (size_t i = 0; i < path->placements_count; i++) {
        const kw_layout *layout = path->placements[i].layout;
        for (size_t j = 0; j < kw_layout_component_count(layout); j++)
            add_zone(zones, kw_layout_component_zone(layout, j));
    }
}

static GPtrArray *
list_zones(const kw_policy *policy)
{
    GPtrArray *zones = g_ptr_array_new();
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t j = 0; j < table->paths_count; j++)
            add_zones_of_path(zones, &table->paths[j]);
    }
    return zones;
}

size_t
kw_catalog_zones_of(const kw_policy *policy, kw_arena *arena, const kw_zone *const **ret_zones)
{
    g_autoptr(GPtrArray) zones = list_zones(policy);
    const kw_zone **kept = KW_ARENA_ARRAY(arena, const kw_zone *, zones->len);
    for (guint i = 0; i < zones->len; i++)
        kept[i] = zones->pdata[i];
    *ret_zones = kept;
    return zones->len;
}

bool
kw_catalog_has_old_zones(const kw_policy *policy)
{
    g_autoptr(GPtrArray) zones = list_zones(policy);
    for (guint i = 0; i < zones->len; i++)
        if (!kw_zone_is_current(zones->pdata[i]))
            return true;
    return false;
}

/* --- the zones of the catalog ---------------------------------------------------------------------- */

static bool
has_rule_with(const kw_facts *facts, const char *part)
{
    for (size_t i = 0; i < facts->paths_count; i++)
        for (size_t j = 0; j < facts->paths[i].placements_count; j++)
            if (strstr(facts->paths[i].placements[j].rule, part))
                return true;
    return false;
}

/* True if a key rule in the facts has a calendar in this zone. The description of a rule contains the name of
 * the zone, without the edition that follows it in the key. */
static bool
is_used(const kw_catalog_image *image, const char *key)
{
    g_autofree char *part = g_strdup_printf(" in %.*s ", (int)strcspn(key, " "), key);
    for (size_t i = 0; i < image->tables_count; i++)
        if (has_rule_with(image->tables[i], part))
            return true;
    return false;
}

bool
kw_catalog_check_zones(const kw_catalog_image *image, const kw_policy *policy, kw_error *ret_error)
{
    for (size_t i = 0; i < image->zones_count; i++) {
        const kw_zone_text *zone = &image->zones[i];
        if (is_used(image, zone->key) && !kw_zone_pin(zone->key, zone->steps, ret_error))
            return kw_error_prefix(ret_error, "time zone %s", kw_show(kw_bytes_of_text(zone->key)).text);
    }
    return !kw_catalog_has_old_zones(policy) ||
           kw_error_set(ret_error, KW_UNAVAILABLE,
                        "the policy was compiled with other data of a time zone than the catalog has; the "
                        "gateway uses the catalog's data from now on: try again");
}

static const char *
find_steps(const kw_catalog_image *image, const char *key)
{
    for (size_t i = 0; i < image->zones_count; i++)
        if (g_str_equal(image->zones[i].key, key))
            return image->zones[i].steps;
    return "";
}

size_t
kw_catalog_new_zones(const kw_catalog_image *image, const kw_policy *policy, kw_arena *arena,
                     kw_zone_text **ret_zones)
{
    g_autoptr(GPtrArray) zones = list_zones(policy);
    kw_zone_text *fresh = KW_ARENA_ARRAY(arena, kw_zone_text, zones->len);
    size_t count = 0;
    for (guint i = 0; i < zones->len; i++) {
        const kw_zone *zone = zones->pdata[i];
        const char *steps = kw_zone_print(zone, arena);
        if (!g_str_equal(find_steps(image, zone->key), steps))
            fresh[count++] = (kw_zone_text){zone->key, steps};
    }
    *ret_zones = fresh;
    return count;
}
