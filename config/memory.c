/* A list of allocations that are freed together. */
#include "config/memory.h"

#include <stdarg.h>
#include <string.h>

struct kw_memory {
    GPtrArray *pieces;
};

kw_memory *
kw_memory_new(void)
{
    kw_memory *memory = g_new0(kw_memory, 1);
    memory->pieces = g_ptr_array_new_with_free_func(g_free);
    return memory;
}

void
kw_memory_free(kw_memory *memory)
{
    if (!memory)
        return;
    g_ptr_array_unref(memory->pieces);
    g_free(memory);
}

void *
kw_memory_array(kw_memory *memory, size_t count, size_t size)
{
    if (count == 0)
        return NULL;
    void *allocated = g_malloc0_n(count, size);
    g_ptr_array_add(memory->pieces, allocated);
    return allocated;
}

char *
kw_memory_text(kw_memory *memory, const char *text, size_t size)
{
    char *copy = kw_memory_array(memory, size + 1, 1);
    if (size)
        memcpy(copy, text, size);
    return copy;
}

char *
kw_memory_printf(kw_memory *memory, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_ptr_array_add(memory->pieces, text);
    return text;
}
