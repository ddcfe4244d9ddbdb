/* CRC-32C, the checksum in RocksDB's logs: Castagnoli's polynomial, reflected, 0x82f63b78 (RFC 3720,
 * appendix B.4). */
#pragma once

#include "base/bytes.h"

/* Continues the checksum `crc` of the preceding bytes with these bytes. Start with 0. */
uint32_t kw_crc32c(uint32_t crc, kw_bytes bytes);
