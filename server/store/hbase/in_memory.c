/* In-memory compaction of the families of created tables: see hbase.h. */
#include "store/hbase/convert.h"
#include "store/hbase/hbase.h"

/* A setting with a higher rank overrides the others. */
enum { OTHER, CONFIGURED, ATTRIBUTE_OF_SETTING, ATTRIBUTE };

static int
rank_of(const kw_family_setting *setting)
{
    if (kw_bytes_equal(setting->name, KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_SETTING)))
        return setting->configures ? CONFIGURED : ATTRIBUTE_OF_SETTING;
    bool named = kw_bytes_equal(setting->name, KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_ATTRIBUTE));
    return named && !setting->configures ? ATTRIBUTE : OTHER;
}

bool
kw_hbase_is_in_memory_setting(const kw_family_setting *setting)
{
    return rank_of(setting) != OTHER;
}

kw_bytes
kw_hbase_in_memory_compaction(const kw_family_spec *family)
{
    kw_bytes value = KW_BYTES_NONE;
    int rank = OTHER;
    for (size_t i = 0; i < family->settings_count; i++)
        if (rank_of(&family->settings[i]) > rank) {
            rank = rank_of(&family->settings[i]);
            value = family->settings[i].value;
        }
    return value;
}

void
kw_hbase_set_in_memory(kw_arena *arena, const kw_family_spec *from, kw_hb_TColumnFamilyDescriptor *to)
{
    kw_bytes value = kw_hbase_in_memory_compaction(from);
    kw_hbase_add_configuration(arena, KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_SETTING),
                               value.size ? value : KW_BYTES_LITERAL("BASIC"), to);
}
