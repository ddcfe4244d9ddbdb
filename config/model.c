/* The lifetime of a model, which is stored with its memory and reference count; reader.c creates it. */
#include "config/model_box.h"
#include "config/reader.h"

#include <stdatomic.h>
#include <string.h>

#define KIB ((int64_t)1024)
#define MIB (KIB * 1024)

kw_model *
kw_model_ref(kw_model *model)
{
    atomic_fetch_add_explicit(&kw_model_box_of(model)->references, 1, memory_order_relaxed);
    return model;
}

void
kw_model_unref(kw_model *model)
{
    if (!model)
        return;
    kw_model_box *box = kw_model_box_of(model);
    int before = atomic_fetch_sub_explicit(&box->references, 1, memory_order_acq_rel);
    g_assert(before >= 1);
    if (before > 1)
        return;
    kw_memory_free(box->memory);
    kw_model_unref(box->own);
    kw_model_unref(box->shared);
    g_array_unref(box->secrets);
    g_free(box);
}

const char *
kw_store_table_name(const char *name)
{
    return g_str_has_prefix(name, "default:") ? name + strlen("default:") : name;
}

int64_t
kw_limits_decoded_bytes(const kw_model_limits *limits)
{
    return MAX(4 * limits->frame_bytes, 64 * KIB);
}

int64_t
kw_limits_page_bytes(const kw_model_limits *limits)
{
    return MIN(limits->frame_bytes / 2, 8 * MIB);
}

int64_t
kw_limits_scan_buffer_bytes(const kw_model_limits *limits)
{
    return MAX(kw_limits_page_bytes(limits), 64 * KIB);
}

/* One call: the request as received and decoded, the data that it reads, and its reply. */
int64_t
kw_model_memory_needed(const kw_model *model)
{
    const kw_model_limits *limits = &model->limits;
    int64_t caches = model->store.kind == KW_STORE_EMBEDDED ? model->store.embedded.cache_bytes : 0;
    return caches + 2 * limits->frame_bytes + kw_limits_decoded_bytes(limits) +
           kw_limits_scan_buffer_bytes(limits);
}

const kw_model_setting *
kw_model_setting_find(const kw_model_component *component, const char *name)
{
    for (size_t i = 0; i < component->settings_count; i++)
        if (strcmp(component->settings[i].name, name) == 0)
            return &component->settings[i];
    return NULL;
}

/* Spans count characters of the text; block scalars include their final line break, which is kept. */
char *
kw_model_text_without_secrets(const kw_model *model)
{
    const kw_model_box *box = kw_model_box_of(model);
    GString *text = g_string_new(NULL);
    const char *at = model->text;
    size_t characters = 0;
    for (guint i = 0; i < box->secrets->len; i++) {
        kw_secret_span span = g_array_index(box->secrets, kw_secret_span, i);
        const char *start = g_utf8_offset_to_pointer(at, (glong)(span.start - characters));
        const char *end = g_utf8_offset_to_pointer(start, (glong)(span.end - span.start));
        const char *last = end;
        while (last > start && g_ascii_isspace(last[-1]))
            last--;
        g_string_append_len(text, at, start - at);
        g_string_append(text, "(secret)");
        g_string_append_len(text, last, end - last);
        at = end;
        characters = span.end;
    }
    g_string_append(text, at);
    return g_string_free(text, FALSE);
}

const char *
kw_model_listener_path(const kw_model_listener *listener)
{
    bool is_unix = listener->host && g_str_has_prefix(listener->host, "unix:");
    return is_unix ? listener->host + strlen("unix:") : NULL;
}
