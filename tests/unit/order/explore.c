/* See explore.h. The search is depth first; the set of visited states is an open hash table. */
#define XXH_INLINE_ALL
#include "explore.h"

#include <glib.h>
#include <xxhash.h>

#define STEPS_MAX 1000
#define CAPACITY_MIN ((size_t)1 << 16)

typedef struct step {
    const char *action;
    int actor;
} step;

struct explorer {
    size_t bytes;
    void (*expand)(explorer *self, const void *state, void *user);
    void *user;
    uint64_t states_max;
    XXH128_hash_t *seen; /* an entry of zeros is free */
    size_t capacity;
    explored found;
    bool stopped;
    step steps[STEPS_MAX];
    size_t depth;
};

/* --- visited states --------------------------------------------------------------------------- */

static bool
insert(XXH128_hash_t *seen, size_t capacity, XXH128_hash_t hash)
{
    for (size_t at = (size_t)hash.low64 & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
        if (seen[at].low64 == 0 && seen[at].high64 == 0) {
            seen[at] = hash;
            return true;
        }
        if (seen[at].low64 == hash.low64 && seen[at].high64 == hash.high64)
            return false;
    }
}

static void
grow(explorer *self)
{
    size_t capacity = MAX(self->capacity * 2, CAPACITY_MIN);
    XXH128_hash_t *seen = g_new0(XXH128_hash_t, capacity);
    for (size_t i = 0; i < self->capacity; i++)
        if (self->seen[i].low64 || self->seen[i].high64)
            insert(seen, capacity, self->seen[i]);
    g_free(self->seen);
    self->seen = seen;
    self->capacity = capacity;
}

/* True if the state was not visited before. */
static bool
is_new(explorer *self, const void *state)
{
    if ((self->found.states + 1) * 2 > self->capacity)
        grow(self);
    XXH128_hash_t hash = XXH3_128bits(state, self->bytes);
    hash.high64 |= 1;
    return insert(self->seen, self->capacity, hash);
}

/* --- the search ------------------------------------------------------------------------------- */

static void
visit(explorer *self, const void *state)
{
    if (self->stopped || !is_new(self, state))
        return;
    if (++self->found.states > self->states_max) {
        self->found.complete = false;
        self->stopped = true;
        return;
    }
    self->expand(self, state, self->user);
}

void
explore_step(explorer *self, const void *next, const char *action, int actor)
{
    if (self->stopped)
        return;
    g_assert_cmpuint(self->depth, <, STEPS_MAX);
    self->steps[self->depth++] = (step){action, actor};
    visit(self, next);
    self->depth--;
}

void
explore_wrong(explorer *self, const char *why)
{
    if (self->stopped)
        return;
    GString *text = g_string_new(why);
    g_string_append_c(text, ':');
    for (size_t i = 0; i < self->depth; i++) {
        const step *at = &self->steps[i];
        g_string_append(text, i ? ", " : " ");
        if (at->actor >= 0)
            g_string_append_printf(text, "%c ", 'A' + at->actor);
        g_string_append(text, at->action);
    }
    self->found.wrong = g_string_free(text, FALSE);
    self->stopped = true;
}

bool
explore_over(const explorer *self)
{
    return self->stopped;
}

explored
explore(const void *state, size_t bytes, void (*expand)(explorer *self, const void *state, void *user),
        void *user, uint64_t states_max)
{
    explorer *self = g_new0(explorer, 1);
    self->bytes = bytes;
    self->expand = expand;
    self->user = user;
    self->states_max = states_max;
    self->found.complete = true;
    visit(self, state);
    explored found = self->found;
    g_free(self->seen);
    g_free(self);
    return found;
}

uint64_t
explore_bound(uint64_t small, uint64_t large)
{
    return g_getenv("KW_EXPLORE") ? large : small;
}
