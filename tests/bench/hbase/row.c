/* Ids and values of the rows; see way.h. */
#include "way.h"

#include <glib.h>
#include <stdio.h>

#define HEAD_BYTES 23 /* number, generation, column */

size_t bench_value_bytes = 100;

kw_bytes
bench_id(kw_arena *arena, uint64_t number)
{
    char *text = kw_arena_printf(arena, "n%09llu", (unsigned long long)(number % 1000000000));
    return kw_bytes_of_text(text);
}

uint64_t
bench_counter_row(uint64_t counter)
{
    return 999999999 - counter;
}

uint64_t
bench_number_of_id(kw_bytes id)
{
    uint64_t number = 0;
    if (id.size != 10 || id.data[0] != 'n')
        caller_group_fail("unknown row", id);
    for (size_t i = 1; i < id.size; i++)
        number = number * 10 + (uint64_t)(id.data[i] - '0');
    return number;
}

static void
write_digits(uint8_t *to, size_t digits, uint64_t value)
{
    while (digits-- > 0) {
        to[digits] = (uint8_t)('0' + value % 10);
        value /= 10;
    }
}

static void
write_head(uint8_t to[HEAD_BYTES], uint64_t number, uint32_t generation, unsigned column)
{
    write_digits(to, 10, number);
    to[10] = '.';
    write_digits(to + 11, 10, generation);
    to[21] = '.';
    to[22] = (uint8_t)('a' + column);
}

kw_bytes
bench_value(kw_arena *arena, uint64_t number, uint32_t generation, unsigned column)
{
    uint8_t *made = kw_arena_alloc(arena, bench_value_bytes);
    write_head(made, number, generation, column);
    memset(made + HEAD_BYTES, 'v', bench_value_bytes - HEAD_BYTES);
    return kw_bytes_of(made, bench_value_bytes);
}

static uint32_t
read_generation(kw_bytes value)
{
    uint64_t generation = 0;
    for (size_t i = 11; i < 21; i++)
        generation = generation * 10 + (uint64_t)(value.data[i] - '0');
    return (uint32_t)generation;
}

static bool
is_filled(kw_bytes value)
{
    const uint8_t *fill = value.data + HEAD_BYTES;
    size_t size = value.size - HEAD_BYTES;
    return fill[0] == 'v' && memcmp(fill, fill + 1, size - 1) == 0;
}

uint32_t
bench_check_values(const char *side, uint64_t number, const kw_bytes values[3])
{
    uint8_t head[HEAD_BYTES];
    uint32_t generation = values[0].size == bench_value_bytes ? read_generation(values[0]) : 0;
    for (unsigned column = 0; column < 3; column++) {
        write_head(head, number, generation, column);
        if (values[column].size != bench_value_bytes || memcmp(values[column].data, head, HEAD_BYTES) ||
            !is_filled(values[column]))
            caller_group_fail(side, KW_BYTES_LITERAL("a value differs from the one written"));
    }
    return generation;
}
