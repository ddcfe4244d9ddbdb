#include "path/reply_size.h"

size_t
kw_value_reply_bytes(kw_value value)
{
    size_t bytes = KW_REPLY_VALUE_BYTES;
    if (value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES)
        return bytes + value.bytes.size;
    if (value.kind == KW_VALUE_MAP)
        for (size_t i = 0; i < value.entries_count; i++)
            bytes += KW_REPLY_NAME_BYTES + value.entries[i].name.size +
                     kw_value_reply_bytes(value.entries[i].value);
    return bytes;
}

size_t
kw_record_reply_bytes(const kw_table *table, const kw_record *record)
{
    size_t bytes = KW_REPLY_RECORD_BYTES;
    for (size_t i = 0; i < table->fields_count; i++)
        if (record->values[i].kind != KW_VALUE_NONE)
            bytes +=
                KW_REPLY_NAME_BYTES + strlen(table->fields[i].name) + kw_value_reply_bytes(record->values[i]);
    return bytes;
}
