#include "reconcile/copy_parts.h"

#include "verb/row_keys.h"

#include <glib.h>
#include <string.h>

/* Regions are not divided at longer keys, so that the parts take little memory. */
#define BOUND_SIZE_MAX 1024

struct kw_copy_parts {
    kw_arena *arena; /* has the bounds */
    kw_copy_part parts[KW_COPY_PARTS_MAX];
    size_t count;
    bool divided;
};

kw_copy_parts *
kw_copy_parts_new(kw_bytes after)
{
    kw_copy_parts *self = g_new0(kw_copy_parts, 1);
    self->arena = kw_arena_new();
    self->count = 1;
    kw_buffer_append(&self->parts[0].last, after);
    return self;
}

void
kw_copy_parts_free(kw_copy_parts *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        kw_buffer_clear(&self->parts[i].last);
    kw_arena_free(self->arena);
    g_free(self);
}

/* --- one part ---------------------------------------------------------------------------------------- */

/* True if `next` is the smallest row key after `key`: that key with a zero byte appended. */
static bool
follows(kw_bytes next, kw_bytes key)
{
    return next.size == key.size + 1 && next.data[key.size] == 0 &&
           memcmp(next.data, key.data, key.size) == 0;
}

kw_bytes
kw_copy_part_start(const kw_copy_part *part, kw_bytes scanned, kw_arena *arena)
{
    kw_bytes last = scanned.size ? scanned : kw_buffer_bytes(&part->last);
    return last.size ? kw_row_key_after(last, arena) : part->start;
}

void
kw_copy_part_note(kw_copy_part *part, kw_bytes last, bool end)
{
    if (last.size) {
        part->last.size = 0;
        kw_buffer_append(&part->last, last);
    }
    part->ended = end || (part->stop.size && last.size && follows(part->stop, last));
}

/* --- all parts --------------------------------------------------------------------------------------- */

/* True if the last part has rows before and from this key on. */
static bool
can_divide_at(const kw_copy_part *part, kw_bytes bound)
{
    kw_bytes last = kw_buffer_bytes(&part->last);
    if (bound.size == 0 || bound.size > BOUND_SIZE_MAX || kw_bytes_compare(bound, part->start) <= 0)
        return false;
    return last.size == 0 || (kw_bytes_compare(bound, last) > 0 && !follows(bound, last));
}

void
kw_copy_parts_divide(kw_copy_parts *self, const kw_regions *regions)
{
    g_assert(self->count == 1 && !self->divided && !self->parts[0].taken);
    size_t step = (regions->count + KW_COPY_PARTS_MAX - 1) / KW_COPY_PARTS_MAX;
    for (size_t i = step; i < regions->count; i += step) {
        kw_copy_part *part = &self->parts[self->count - 1];
        if (!can_divide_at(part, regions->regions[i].start))
            continue;
        part->stop = kw_arena_copy(self->arena, regions->regions[i].start);
        self->parts[self->count++] = (kw_copy_part){.start = part->stop};
    }
    self->divided = true;
}

void
kw_copy_parts_keep_whole(kw_copy_parts *self)
{
    g_assert(self->count == 1);
    self->divided = true;
}

bool
kw_copy_parts_are_divided(const kw_copy_parts *self)
{
    return self->divided;
}

kw_copy_part *
kw_copy_parts_take(kw_copy_parts *self)
{
    for (size_t i = 0; i < self->count; i++) {
        kw_copy_part *part = &self->parts[i];
        if (part->ended || part->taken)
            continue;
        part->taken = true;
        return part;
    }
    return NULL;
}

void
kw_copy_parts_release(kw_copy_parts *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->parts[i].taken = false;
}

size_t
kw_copy_parts_left(const kw_copy_parts *self)
{
    size_t left = 0;
    for (size_t i = 0; i < self->count; i++)
        left += !self->parts[i].ended;
    return left;
}

bool
kw_copy_parts_have_ended(const kw_copy_parts *self)
{
    return kw_copy_parts_left(self) == 0;
}

kw_bytes
kw_copy_parts_after(const kw_copy_parts *self)
{
    kw_bytes after = KW_BYTES_NONE;
    for (size_t i = 0; i < self->count; i++) {
        const kw_copy_part *part = &self->parts[i];
        if (part->last.size)
            after = kw_buffer_bytes(&part->last);
        if (!part->ended)
            break;
    }
    return after;
}
