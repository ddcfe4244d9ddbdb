/* See explore.h. Depth first; the set of visited states is one open hash table. */
#define XXH_INLINE_ALL
#include "explore.h"

#include <glib.h>
#include <xxhash.h>

#define STEPS_MOST 1000
#define ROOM_LEAST ((size_t)1 << 16)

typedef struct step {
    const char *what;
    int who;
} step;

struct explorer {
    size_t bytes;
    void (*expand)(explorer *of, const void *state, void *user);
    void *user;
    uint64_t states_most;
    XXH128_hash_t *seen; /* both halves 0: free */
    size_t room;
    explored found;
    bool over;
    step steps[STEPS_MOST];
    size_t depth;
};

/* --- visited states --------------------------------------------------------------------------------- */

static bool
put_in(XXH128_hash_t *seen, size_t room, XXH128_hash_t hash)
{
    for (size_t at = (size_t)hash.low64 & (room - 1);; at = (at + 1) & (room - 1)) {
        if (seen[at].low64 == 0 && seen[at].high64 == 0) {
            seen[at] = hash;
            return true;
        }
        if (seen[at].low64 == hash.low64 && seen[at].high64 == hash.high64)
            return false;
    }
}

static void
grow(explorer *of)
{
    size_t room = MAX(of->room * 2, ROOM_LEAST);
    XXH128_hash_t *seen = g_new0(XXH128_hash_t, room);
    for (size_t i = 0; i < of->room; i++)
        if (of->seen[i].low64 || of->seen[i].high64)
            put_in(seen, room, of->seen[i]);
    g_free(of->seen);
    of->seen = seen;
    of->room = room;
}

/* False: it was visited before. */
static bool
is_new(explorer *of, const void *state)
{
    if ((of->found.states + 1) * 2 > of->room)
        grow(of);
    XXH128_hash_t hash = XXH3_128bits(state, of->bytes);
    hash.high64 |= 1;
    return put_in(of->seen, of->room, hash);
}

/* --- the search ------------------------------------------------------------------------------------- */

static void
visit(explorer *of, const void *state)
{
    if (of->over || !is_new(of, state))
        return;
    if (++of->found.states > of->states_most) {
        of->found.whole = false;
        of->over = true;
        return;
    }
    of->expand(of, state, of->user);
}

void
explore_step(explorer *of, const void *next, const char *what, int who)
{
    if (of->over)
        return;
    g_assert_cmpuint(of->depth, <, STEPS_MOST);
    of->steps[of->depth++] = (step){what, who};
    visit(of, next);
    of->depth--;
}

void
explore_wrong(explorer *of, const char *why)
{
    if (of->over)
        return;
    GString *text = g_string_new(why);
    g_string_append_c(text, ':');
    for (size_t i = 0; i < of->depth; i++) {
        const step *at = &of->steps[i];
        g_string_append(text, i ? ", " : " ");
        if (at->who >= 0)
            g_string_append_printf(text, "%c ", 'A' + at->who);
        g_string_append(text, at->what);
    }
    of->found.wrong = g_string_free(text, FALSE);
    of->over = true;
}

bool
explore_over(const explorer *of)
{
    return of->over;
}

explored
explore(const void *state, size_t bytes, void (*expand)(explorer *of, const void *state, void *user),
        void *user, uint64_t states_most)
{
    explorer *of = g_new0(explorer, 1);
    of->bytes = bytes;
    of->expand = expand;
    of->user = user;
    of->states_most = states_most;
    of->found.whole = true;
    visit(of, state);
    explored found = of->found;
    g_free(of->seen);
    g_free(of);
    return found;
}

uint64_t
explore_bound(uint64_t small, uint64_t large)
{
    return g_getenv("KW_EXPLORE") ? large : small;
}
