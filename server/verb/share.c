/* See share.h. */
#include "verb/share.h"

#include <glib.h>

/* Eight bytes of a key as a number. */
static double
number_at(kw_bytes key, size_t from)
{
    uint8_t bytes[8] = {0};
    if (key.size > from)
        memcpy(bytes, key.data + from, MIN(key.size - from, sizeof bytes));
    return (double)kw_be64_load(bytes);
}

double
kw_share_of_keys(kw_bytes first, kw_bytes last, kw_bytes at)
{
    size_t same = 0;
    if (at.size == 0 || last.size == 0)
        return 0;
    while (same < first.size && same < last.size && first.data[same] == last.data[same])
        same++;
    double from = number_at(first, same), to = number_at(last, same), here = number_at(at, same);
    bool before = kw_bytes_compare(at, last) < 0;
    return !before || to <= from ? 1 : CLAMP((here - from) / (to - from), 0, 1);
}
