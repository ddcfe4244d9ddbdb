/* Growable buffers and the hash of byte slices. The process aborts when memory is exhausted: callers compare
 * every size from outside with a limit first. */
#include "base/bytes.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
kw_bytes_hash(kw_bytes bytes)
{
    return XXH3_64bits(bytes.data, bytes.size);
}

void
kw_buffer_clear(kw_buffer *buffer)
{
    free(buffer->data);
    *buffer = KW_BUFFER_EMPTY;
}

uint8_t *
kw_buffer_reserve(kw_buffer *buffer, size_t more)
{
    g_assert(more < SIZE_MAX / 4 && buffer->size < SIZE_MAX / 4);
    if (buffer->capacity - buffer->size < more) {
        size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
        while (capacity < buffer->size + more)
            capacity *= 2;
        buffer->data = g_realloc(buffer->data, capacity);
        buffer->capacity = capacity;
    }
    return buffer->data ? buffer->data + buffer->size : NULL; /* empty and more == 0: NULL + 0 is undefined */
}

void
kw_buffer_fit(kw_buffer *buffer)
{
    if (buffer->size == 0 || buffer->capacity - buffer->size <= buffer->size / 4)
        return;
    buffer->data = g_realloc(buffer->data, buffer->size);
    buffer->capacity = buffer->size;
}

void
kw_buffer_append(kw_buffer *buffer, kw_bytes bytes)
{
    if (bytes.size == 0)
        return;
    memcpy(kw_buffer_reserve(buffer, bytes.size), bytes.data, bytes.size);
    buffer->size += bytes.size;
}

void
kw_buffer_append_byte(kw_buffer *buffer, uint8_t byte)
{
    *kw_buffer_reserve(buffer, 1) = byte;
    buffer->size++;
}

void
kw_buffer_append_text(kw_buffer *buffer, const char *text)
{
    kw_buffer_append(buffer, kw_bytes_of_text(text));
}

void
kw_buffer_printf(kw_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    kw_buffer_append_text(buffer, text);
}

void
kw_buffer_consume(kw_buffer *buffer, size_t count)
{
    g_assert(count <= buffer->size);
    buffer->size -= count;
    if (buffer->size)
        memmove(buffer->data, buffer->data + count, buffer->size);
}

kw_shown
kw_show(kw_bytes bytes)
{
    kw_shown shown;
    size_t at = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        if (at >= 60) {
            memcpy(shown.text + at, "...", 3);
            at += 3;
            break;
        }
        uint8_t byte = bytes.data[i];
        if (byte >= 0x20 && byte < 0x7f)
            shown.text[at++] = (char)byte;
        else
            at += (size_t)snprintf(shown.text + at, sizeof shown.text - at, "\\x%02X", byte);
    }
    shown.text[at] = '\0';
    return shown;
}
