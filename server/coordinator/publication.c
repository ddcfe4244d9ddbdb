#include "coordinator/publication.h"

#include "coordinator/coordinator_internal.h"

struct kw_change_publication {
    kw_arena *arena;
    kw_change_status *changes;
    size_t count;
};
typedef struct kw_change_publication publication;

static void
publication_free(publication *self)
{
    if (self)
        kw_arena_free(self->arena);
}

static publication *
publication_new(kw_coordinator *coordinator, const kw_change_set *set)
{
    kw_arena *arena = kw_arena_new();
    publication *self = KW_ARENA_NEW(arena, publication);
    *self = (publication){.arena = arena, .changes = KW_ARENA_ARRAY(arena, kw_change_status, set->count)};
    for (size_t i = 0; i < set->count; i++)
        if (set->records[i].under_way)
            kw_change_status_of(coordinator, &set->records[i], arena, &self->changes[self->count++]);
    return self;
}

void
kw_change_publish(kw_control *control)
{
    publication *fresh = control->changes ? publication_new(control->coordinator, control->changes) : NULL;
    kw_mutex_lock(&control->lock);
    publication *old = control->published;
    control->published = fresh;
    kw_mutex_unlock(&control->lock);
    publication_free(old);
}

void
kw_change_publication_read(kw_control *control, void (*add)(void *list, const kw_change_status *change),
                           void *list)
{
    kw_mutex_lock(&control->lock);
    for (size_t i = 0; control->published && i < control->published->count; i++)
        add(list, &control->published->changes[i]);
    kw_mutex_unlock(&control->lock);
}

void
kw_change_publication_free(kw_control *control)
{
    publication_free(g_steal_pointer(&control->published));
}
