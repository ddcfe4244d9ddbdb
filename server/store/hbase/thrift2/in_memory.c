/* In-memory compaction of the families of created tables: see hbase.h. */
#include "store/hbase/hbase.h"
#include "store/hbase/thrift2/convert.h"

static bool
is_attribute(const kw_family_setting *setting)
{
    return !setting->configures &&
           kw_bytes_equal(setting->name, KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_ATTRIBUTE));
}

bool
kw_hbase_is_in_memory_setting(const kw_family_setting *setting)
{
    return is_attribute(setting) ||
           kw_bytes_equal(setting->name, KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_SETTING));
}

kw_bytes
kw_hbase_in_memory_compaction(const kw_family_spec *family)
{
    for (size_t i = 0; i < family->settings_count; i++)
        if (is_attribute(&family->settings[i]))
            return family->settings[i].value;
    const kw_family_setting *found = kw_hbase_find_setting(family->settings, family->settings_count,
                                                           KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_SETTING));
    return found ? found->value : KW_BYTES_NONE;
}

void
kw_hbase_set_in_memory(kw_arena *arena, const kw_family_spec *from, kw_hb_TColumnFamilyDescriptor *to)
{
    kw_bytes value = kw_hbase_in_memory_compaction(from);
    kw_hbase_add_configuration(arena, KW_BYTES_LITERAL(KW_HBASE_IN_MEMORY_SETTING),
                               value.size ? value : KW_BYTES_LITERAL("BASIC"), to);
}
