/* Byte slices and growable buffers.
 *
 * kw_bytes is a borrowed view of memory that a frame, an arena or a buffer owns. kw_buffer owns its memory
 * and grows geometrically. Buffers are not thread safe. Any thread can read a slice while the owner of its
 * memory lives.
 */
#pragma once

#include <endian.h>
#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct kw_bytes {
    const uint8_t *data; /* NULL only if size is 0 */
    size_t size;
} kw_bytes;

#define KW_BYTES_NONE ((kw_bytes){NULL, 0})
#define KW_BYTES_LITERAL(text) ((kw_bytes){(const uint8_t *)(text), sizeof(text) - 1})

static inline kw_bytes
kw_bytes_of(const void *data, size_t size)
{
    return (kw_bytes){(const uint8_t *)data, size};
}

static inline kw_bytes
kw_bytes_of_text(const char *text)
{
    return (kw_bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool
kw_bytes_equal(kw_bytes a, kw_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Unsigned lexicographic order, HBase's order of row keys: < 0, 0 or > 0. */
static inline int
kw_bytes_compare(kw_bytes a, kw_bytes b)
{
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static inline bool
kw_bytes_starts_with(kw_bytes whole, kw_bytes prefix)
{
    return whole.size >= prefix.size &&
           (prefix.size == 0 || memcmp(whole.data, prefix.data, prefix.size) == 0);
}

/* The slice without its first `count` bytes; count <= size. */
static inline kw_bytes
kw_bytes_skip(kw_bytes whole, size_t count)
{
    return count ? kw_bytes_of(whole.data + count, whole.size - count) : whole; /* NULL + 0 is undefined */
}

/* 64-bit hash for hash tables. Not for row keys: it can differ between releases of Keyway. */
uint64_t kw_bytes_hash(kw_bytes bytes);

typedef struct kw_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
} kw_buffer;

#define KW_BUFFER_EMPTY ((kw_buffer){NULL, 0, 0})

/* Frees the memory and makes the buffer empty. */
void kw_buffer_clear(kw_buffer *buffer);

/* Allocates space for `more` bytes after the present content and returns where they start; the caller fills
 * them and increases size. The process aborts when memory is exhausted, so compare sizes from outside with a
 * limit first. */
uint8_t *kw_buffer_reserve(kw_buffer *buffer, size_t more);

void kw_buffer_append(kw_buffer *buffer, kw_bytes bytes);
void kw_buffer_append_byte(kw_buffer *buffer, uint8_t byte);
void kw_buffer_append_text(kw_buffer *buffer, const char *text);
void kw_buffer_printf(kw_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees the memory beyond size if it exceeds a quarter of size. Does nothing if size is 0. */
void kw_buffer_fit(kw_buffer *buffer);

/* g_auto(kw_buffer) */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_buffer, kw_buffer_clear)

/* Drops the first `count` bytes (count <= size). */
void kw_buffer_consume(kw_buffer *buffer, size_t count);

static inline kw_bytes
kw_buffer_bytes(const kw_buffer *buffer)
{
    return kw_bytes_of(buffer->data, buffer->size);
}

/* Big-endian integers, HBase's and Thrift's order on the wire. */
static inline void
kw_be16_store(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static inline void
kw_be32_store(uint8_t *to, uint32_t value)
{
    value = htobe32(value);
    memcpy(to, &value, 4);
}

static inline void
kw_be64_store(uint8_t *to, uint64_t value)
{
    value = htobe64(value);
    memcpy(to, &value, 8);
}

static inline uint16_t
kw_be16_load(const uint8_t *from)
{
    return (uint16_t)((unsigned)from[0] << 8 | from[1]);
}

static inline uint32_t
kw_be32_load(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, 4);
    return be32toh(value);
}

static inline uint64_t
kw_be64_load(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, 8);
    return be64toh(value);
}

/* The bytes as error texts show them: control and non-ASCII bytes as \xNN, and "..." in place of the rest
 * after about 60 characters. */
typedef struct kw_shown {
    char text[64 + 4];
} kw_shown;
kw_shown kw_show(kw_bytes bytes);
