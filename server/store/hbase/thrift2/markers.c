/* How long compactions keep delete markers: see hbase.h. */
#include "store/hbase/hbase.h"
#include "store/hbase/thrift2/convert.h"

#include <string.h>

#define MEMORY_MS (INT64_C(2) * 3600 * 1000)
#define DIGITS_MAX 20

int64_t
kw_hbase_markers_ms(int64_t late_ms)
{
    return 2 * late_ms + MEMORY_MS;
}

bool
kw_hbase_is_markers_setting(const kw_family_setting *setting)
{
    return kw_bytes_equal(setting->name, KW_BYTES_LITERAL(KW_HBASE_MARKERS_SETTING));
}

/* A value that HBase would not read as a decimal number counts as 0. */
static int64_t
to_ms(kw_bytes value)
{
    char text[DIGITS_MAX + 1];
    guint64 ms = 0;
    if (value.size == 0 || value.size > DIGITS_MAX)
        return 0;
    memcpy(text, value.data, value.size);
    text[value.size] = '\0';
    return g_ascii_string_to_unsigned(text, 10, 0, INT64_MAX, &ms, NULL) ? (int64_t)ms : 0;
}

int64_t
kw_hbase_to_markers_ms(const kw_family_setting *settings, size_t count)
{
    const kw_family_setting *found =
        kw_hbase_find_setting(settings, count, KW_BYTES_LITERAL(KW_HBASE_MARKERS_SETTING));
    return found ? to_ms(found->value) : 0;
}

void
kw_hbase_set_markers(kw_arena *arena, int64_t markers_ms, kw_hb_TColumnFamilyDescriptor *family)
{
    char *text = kw_arena_printf(arena, "%" G_GINT64_FORMAT, markers_ms);
    kw_hbase_add_configuration(arena, KW_BYTES_LITERAL(KW_HBASE_MARKERS_SETTING), kw_bytes_of_text(text),
                               family);
}
