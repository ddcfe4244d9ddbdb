#include "gateway/change_publication.h"

#include "gateway/coordinator_internal.h"

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
kw_change_publish(kw_gateway *gateway)
{
    publication *fresh = gateway->changes ? publication_new(gateway->coordinator, gateway->changes) : NULL;
    kw_mutex_lock(&gateway->lock);
    publication *old = gateway->published;
    gateway->published = fresh;
    kw_mutex_unlock(&gateway->lock);
    publication_free(old);
}

void
kw_change_publication_read(void *user, void (*add)(void *list, const kw_change_status *change), void *list)
{
    kw_gateway *gateway = user;
    kw_mutex_lock(&gateway->lock);
    for (size_t i = 0; gateway->published && i < gateway->published->count; i++)
        add(list, &gateway->published->changes[i]);
    kw_mutex_unlock(&gateway->lock);
}

void
kw_change_publication_free(kw_gateway *gateway)
{
    publication_free(g_steal_pointer(&gateway->published));
}
