/* "Did you mean": the optimal string alignment distance (Levenshtein plus swapped neighbours), where case
 * is ignored and '-' equals '_'. Names are similar if at most a third of the longer one differs, or one
 * character if both are shorter than 6. */
#include "config/diagnostic.h"

#include <string.h>

#define NAME_MAX_BYTES 64

static char
folded(char c)
{
    return c == '-' ? '_' : g_ascii_tolower(c);
}

static unsigned
least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Both lengths <= NAME_MAX_BYTES. */
static unsigned
distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned rows[3][NAME_MAX_BYTES + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            char x = folded(a[i - 1]), y = folded(b[j - 1]);
            row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_size];
}

const char *
kw_nearest_name(const char *wrong, const char *const *names)
{
    size_t wrong_size = strlen(wrong);
    if (wrong_size == 0 || wrong_size > NAME_MAX_BYTES)
        return NULL;
    const char *nearest = NULL;
    unsigned least = UINT32_MAX;
    for (; *names; names++) {
        size_t size = strlen(*names);
        if (size > NAME_MAX_BYTES)
            continue;
        size_t longer = size > wrong_size ? size : wrong_size;
        unsigned allowed = longer < 6 ? 1 : (unsigned)(longer / 3);
        unsigned found = distance(wrong, wrong_size, *names, size);
        if (found <= allowed && found < least) {
            least = found;
            nearest = *names;
        }
    }
    return nearest;
}
