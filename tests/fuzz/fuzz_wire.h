/* What the codec's fuzz targets and the program that writes their seeds share: the first byte of an input
 * selects protocol and table. */
#pragma once

#include "wire/table.h"

#define FUZZ_TABLES 12

extern const kw_wire_struct *const fuzz_tables[FUZZ_TABLES];

static inline uint8_t
fuzz_choice(kw_wire_protocol protocol, unsigned table)
{
    return (uint8_t)(table << 1 | (protocol == KW_WIRE_COMPACT));
}

static inline kw_wire_protocol
fuzz_protocol(uint8_t choice)
{
    return choice & 1 ? KW_WIRE_COMPACT : KW_WIRE_BINARY;
}

static inline const kw_wire_struct *
fuzz_table(uint8_t choice)
{
    return fuzz_tables[(choice >> 1) % FUZZ_TABLES];
}

#define FUZZ_LIMITS ((kw_wire_limits){.decoded_bytes = 1 << 20, .depth = KW_WIRE_DEPTH_DEFAULT})
