#include "service/show.h"

#include "rule/record.h"

const char *
kw_show_name(kw_bytes name, char *to)
{
    kw_value_print((kw_value){.kind = KW_VALUE_TEXT, .bytes = name}, to, KW_SHOWN_MAX);
    return to;
}
