/* explain: returns the plan of a query, or the keys of a record with the regions that contain them; none in a
 * path over fields that can change, if the record lacks one of them. Writes
 * nothing and asks the store only for region locations; the result omits those that do not arrive in time. */
#include "path/association.h"
#include "path/cells.h"
#include "verb/page.h"
#include "verb/pushdown.h"
#include "verb/verb.h"

#include <glib.h>

#define REGIONS_TIMEOUT_MS 1000

static const kw_plan *
with_notes(const kw_plan *plan, const kw_pushdown *push, kw_arena *arena)
{
    kw_plan *noted = KW_ARENA_NEW(arena, kw_plan);
    const char **notes = KW_ARENA_ARRAY(arena, const char *, plan->notes_count + push->notes_count);
    if (plan->notes_count)
        memcpy(notes, plan->notes, plan->notes_count * sizeof *notes);
    memcpy(notes + plan->notes_count, push->notes, push->notes_count * sizeof *notes);
    *noted = *plan;
    noted->notes = notes;
    noted->notes_count += push->notes_count;
    return noted;
}

bool
kw_verb_explain(kw_call *call, const kw_scan_request *request, kw_effort *effort, const kw_plan **ret_plan,
                kw_error *ret_error)
{
    const kw_plan *plan;
    g_auto(kw_pushdown) push = {0};
    if (!kw_page_plan_within(call, request, effort, call->arena, &plan, ret_error))
        return false;
    kw_reader *reader = kw_pushdown_reader(call, request, plan, NULL);
    if (!kw_pushdown_make(call, request, plan, reader, &push, ret_error))
        return false;
    *ret_plan = push.notes_count ? with_notes(plan, &push, call->arena) : plan;
    return !push.prepared || kw_prepared_compile(push.prepared, ret_error);
}

typedef struct explain_put explain_put;

typedef struct region_query {
    explain_put *explain;
    kw_explained_key *key;
} region_query;

struct explain_put {
    kw_call *call;
    kw_explained_key *keys;
    size_t count;
    size_t open; /* region lookups not answered yet */
    kw_explain_put_done done;
    void *user;
};

static bool
is_within(const kw_region *region, kw_bytes key)
{
    return kw_bytes_compare(region->start, key) <= 0 &&
           (region->stop.size == 0 || kw_bytes_compare(key, region->stop) < 0);
}

static void
answer(void *user)
{
    explain_put *self = user;
    self->done(self->user, self->keys, self->count, NULL);
}

static void
located(void *user, kw_regions *regions, const kw_error *error)
{
    region_query *asked = user;
    explain_put *self = asked->explain;
    (void)error; /* region locations are optional */
    for (size_t i = 0; regions && i < regions->count; i++) {
        const kw_region *region = &regions->regions[i];
        if (!is_within(region, asked->key->row_key))
            continue;
        asked->key->has_region = true;
        asked->key->region_start = kw_arena_copy(self->call->arena, region->start);
        asked->key->region_stop = kw_arena_copy(self->call->arena, region->stop);
        asked->key->region_server = kw_arena_copy(self->call->arena, region->server);
        break;
    }
    kw_regions_free(regions);
    if (--self->open == 0)
        kw_call_guard(self->call, answer, self);
}

static bool
make_key(const explain_put *self, const kw_placement *placement, const kw_record *record,
         kw_explained_key *key, kw_error *ret_error)
{
    kw_key_piece *pieces;
    kw_arena *arena = self->call->arena;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    bool own = kw_layout_choice(placement->layout).kind && placement->path->table->locators;
    key->placement = placement;
    bool made = own ? kw_placement_default_key(placement, record, &scratch, &key->bucket, ret_error)
                    : kw_layout_encode(placement->layout, record, &scratch, ret_error);
    key->row_key = kw_arena_copy(arena, kw_buffer_bytes(&scratch));
    made = made && kw_layout_pieces_chosen(placement->layout, record, key->bucket, arena, &pieces,
                                           &key->pieces_count, ret_error);
    if (made)
        key->pieces = pieces;
    return made;
}

static bool
make_keys(explain_put *self, const kw_table *table, const kw_record *record, kw_error *ret_error)
{
    if (!kw_record_check(table, record, ret_error))
        return false;
    self->keys = KW_ARENA_ARRAY(self->call->arena, kw_explained_key, table->placements_count);
    for (size_t i = 0; i < table->placements_count; i++)
        if (table->placements[i].role.put && kw_placement_has_record(&table->placements[i], record) &&
            !make_key(self, &table->placements[i], record, &self->keys[self->count++], ret_error))
            return false;
    return true;
}

void
kw_verb_explain_put(kw_call *call, const kw_table *table, const kw_record *record, kw_explain_put_done done,
                    void *user)
{
    g_assert(record->values && done);
    explain_put *self = KW_ARENA_NEW(call->arena, explain_put);
    *self = (explain_put){.call = call, .done = done, .user = user};
    kw_error error;
    if (!make_keys(self, table, record, &error)) {
        done(user, NULL, 0, &error);
        return;
    }
    kw_deadline deadline = kw_deadline_earlier(call->deadline, kw_deadline_in_ms(REGIONS_TIMEOUT_MS));
    self->open = self->count;
    for (size_t i = 0; i < self->count; i++) {
        region_query *asked = KW_ARENA_NEW(call->arena, region_query);
        *asked = (region_query){self, &self->keys[i]};
        kw_store_handle_regions(call->handle, asked->key->placement->store_table, deadline, located, asked);
    }
}
