#include "service/show.h"

#include "base/utf8.h"
#include "rule/record.h"

const char *
kw_show_name(kw_bytes name, char *to)
{
    bool text = kw_utf8_valid(name);
    kw_value_print((kw_value){.kind = text ? KW_VALUE_TEXT : KW_VALUE_BYTES, .bytes = name}, to,
                   KW_SHOWN_MAX);
    return to;
}
