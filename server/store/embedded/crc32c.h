/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720, appendix B.4), which RocksDB's logs carry.
 */
#pragma once

#include "base/bytes.h"

/* The checksum of what `crc` was computed of, continued with the bytes; begin with 0. */
uint32_t kw_crc32c(uint32_t crc, kw_bytes bytes);
