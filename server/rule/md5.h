/* MD5 (RFC 1321) for row keys, not for secrets. Does not use OpenSSL, whose digest calls allocate memory and
 * cost more than the digest of a short id, and which can be configured without MD5. */
#pragma once

#include "base/bytes.h"

#define KW_MD5_SIZE 16

void kw_md5(kw_bytes input, uint8_t to[KW_MD5_SIZE]);
