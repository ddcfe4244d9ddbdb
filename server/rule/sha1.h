/* SHA-1 (FIPS 180-4) for row keys, not for secrets. Implemented here for the reasons in md5.h. */
#pragma once

#include "base/bytes.h"

#define KW_SHA1_SIZE 20

void kw_sha1(kw_bytes input, uint8_t to[KW_SHA1_SIZE]);
