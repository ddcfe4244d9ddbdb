#include "reconcile/share.h"

#include <glib.h>

#define BYTES 8 /* more have no visible effect */

/* How many digits of the base, 10 or 16, the key has from there on. */
static size_t
count_digits(kw_bytes key, size_t from, unsigned base)
{
    size_t count = 0;
    while (count < BYTES && from + count < key.size) {
        char byte = (char)key.data[from + count];
        bool letter = byte >= 'a' && byte <= 'f';
        if (!g_ascii_isdigit(byte) && !(letter && base == 16))
            break;
        count++;
    }
    return count;
}

/* The key from there on as a number between 0 and 1. Its first bytes are digits of the base, and the others
 * have any value. */
static double
number_at(kw_bytes key, size_t from, size_t digits, unsigned base)
{
    double number = 0, unit = 1;
    for (size_t i = 0; i < BYTES && from + i < key.size; i++) {
        uint8_t byte = key.data[from + i];
        unit /= i < digits ? base : 256;
        number += unit * (i < digits ? g_ascii_xdigit_value((char)byte) : byte);
    }
    return number;
}

/* Hashes and numbers are often text. There are no keys between '9' and 'a', so bytes alone would mislead. */
double
kw_share_of_keys(kw_bytes first, kw_bytes last, kw_bytes at)
{
    size_t same = 0;
    if (at.size == 0 || last.size == 0)
        return 0;
    while (same < first.size && same < last.size && first.data[same] == last.data[same])
        same++;
    unsigned base = count_digits(first, same, 10) && count_digits(last, same, 10) ? 10 : 16;
    size_t digits = MIN(count_digits(first, same, base), count_digits(last, same, base));
    digits = MIN(digits, count_digits(at, same, base));
    double from = number_at(first, same, digits, base), to = number_at(last, same, digits, base),
           here = number_at(at, same, digits, base);
    bool before = kw_bytes_compare(at, last) < 0;
    return !before || to <= from ? 1 : CLAMP((here - from) / (to - from), 0, 1);
}
