/* Hashes of row keys, and the encoding of their inputs.
 *
 * Their results are in stored keys: they must never change. Any thread; the hash functions allocate no
 * memory.
 */
#pragma once

#include "rule/record.h"

/* The longest digest (SHA-1). */
#define KW_DIGEST_MAX 20

typedef enum kw_digest {
    KW_DIGEST_MD5,
    KW_DIGEST_MURMUR3,
    KW_DIGEST_XXH64,
    KW_DIGEST_SHA1,
    KW_DIGEST_MURMUR2,
    KW_DIGEST_CRC32,
    KW_DIGEST_JENKINS,
    KW_DIGEST_JAVA_FNV,
    KW_DIGEST_JAVA_FNV_ALT
} kw_digest;

/* "md5", "murmur3", "xxh64", "sha1", "murmur2", "crc32", "jenkins", "java_fnv", "java_fnv_alt". False for
 * another name. */
bool kw_digest_find(const char *name, kw_digest *ret_digest);
const char *kw_digest_name(kw_digest digest);

/* Bytes of the digest. */
size_t kw_digest_size(kw_digest digest);

/* Writes kw_digest_size bytes; numbers are big-endian. */
void kw_digest_compute(kw_digest digest, kw_bytes input, uint8_t *to);

/* MurmurHash3 x86 32 (Austin Appleby, public domain algorithm; HBase's MurmurHash3). */
uint32_t kw_murmur3_32(kw_bytes input, uint32_t seed);

/* HBase's MurmurHash: MurmurHash2 with signed bytes after the whole words. */
uint32_t kw_murmur2_32(kw_bytes input, uint32_t seed);

/* Bob Jenkins's lookup3 hashlittle (public domain algorithm; HBase's JenkinsHash). */
uint32_t kw_jenkins_32(kw_bytes input, uint32_t seed);

/* The CRC of zip and Ethernet (java.util.zip.CRC32). */
uint32_t kw_crc32(kw_bytes input);

uint64_t kw_xxh64(kw_bytes input);

/* Java's Arrays.hashCode(byte[]): 1, then 31 * hash + signed byte. */
int32_t kw_java_bytes_hash(kw_bytes input);

/* Java's String.hashCode(): 31 * hash + UTF-16 unit. The text must be well-formed UTF-8. */
int32_t kw_java_string_hash(kw_bytes text);

/* 32-bit FNV-1a (Fowler, Noll and Vo, public domain algorithm) over the UTF-16 units of a text, followed by
 * five shifts, as Java's hash rings commonly compute it; not negative, except for INT32_MIN. The text must be
 * well-formed UTF-8. */
int32_t kw_java_fnv_hash(kw_bytes text);

/* The same with other constants, which some Java services use: offset 1865261311 (the low 32 bits of
 * 216613626111), prime 1677761999, and right shifts of 8 and 18 bits. Source: the group `ring` of
 * tests/data/rowkeys.json. */
int32_t kw_java_fnv_alt_hash(kw_bytes text);

/* Encodes a value for hashing: text and bytes unchanged, flags as one byte 0 or 1, doubles as 8 bytes,
 * numbers as 8 bytes, all big-endian; with numbers_as_text, numbers as decimal text. */
void kw_digest_input(kw_value value, bool numbers_as_text, kw_buffer *out);
