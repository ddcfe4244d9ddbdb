/* explain and explainPut: report how a query would be executed, and which row keys a record would get. */
#include "advise/advise.h"
#include "rule/splits.h"
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/methods/query.h"
#include "service/offload.h"
#include "service/show.h"

static kw_bytes
shown(kw_bytes bytes, kw_arena *arena)
{
    return kw_bytes_of_text(kw_bytes_to_binary_text(bytes, arena));
}

/* A plan can have a million ranges, too many for a reply. ranges_count contains their number. */
#define RANGES_LISTED_MAX 4096

/* --- explain ------------------------------------------------------------------------------------- */

static void
range_out(const kw_range *range, kw_arena *arena, kw_api_ExplainedRange *ret_out)
{
    const char *start = kw_bytes_to_binary_text(range->start, arena);
    const char *stop = kw_bytes_to_binary_text(range->stop, arena);
    *ret_out = (kw_api_ExplainedRange){
        .group = (int32_t)range->group,
        .start = range->start,
        .stop = range->stop,
        .text = kw_bytes_of_text(range->stop.size ? kw_arena_printf(arena, "from %s up to %s", start, stop)
                                                  : kw_arena_printf(arena, "from %s to the end", start))};
}

typedef struct explaining {
    kw_offload offload;
    kw_call call; /* the exchange's, with the arena of the offload */
    const kw_scan_request *request;
    kw_api_Explanation out;
} explaining;

static void
plan_out(const kw_plan *plan, kw_arena *arena, kw_api_Explanation *ret_out)
{
    *ret_out = (kw_api_Explanation){.has_path = true,
                                    .path = kw_bytes_of_text(plan->path->name),
                                    .has_ranges = true,
                                    .has_reversed = true,
                                    .reversed = plan->reversed,
                                    .has_notes = true,
                                    .has_expected_reads_per_row = true,
                                    .expected_reads_per_row = plan->expected_reads_per_row,
                                    .text = kw_bytes_of_text(kw_plan_text(plan, arena)),
                                    .has_ranges_count = true,
                                    .ranges_count = (int64_t)plan->ranges_count};
    size_t listed = MIN(plan->ranges_count, RANGES_LISTED_MAX);
    ret_out->ranges.items = KW_ARENA_ARRAY(arena, kw_api_ExplainedRange, listed);
    ret_out->ranges.count = (uint32_t)listed;
    for (size_t i = 0; i < listed; i++)
        range_out(&plan->ranges[i], arena, &ret_out->ranges.items[i]);
    ret_out->notes.items = KW_ARENA_ARRAY(arena, kw_bytes, plan->notes_count);
    ret_out->notes.count = (uint32_t)plan->notes_count;
    for (size_t i = 0; i < plan->notes_count; i++)
        ret_out->notes.items[i] = kw_bytes_of_text(plan->notes[i]);
}

static bool
explain(kw_offload *offload)
{
    explaining *self = (explaining *)offload;
    const kw_plan *plan = NULL;
    self->call.arena = offload->arena;
    if (!kw_verb_explain(&self->call, self->request, &offload->effort, &plan, &offload->error))
        return false;
    plan_out(plan, offload->arena, &self->out);
    return true;
}

static void
reply_plan(kw_offload *offload, const kw_error *error)
{
    explaining *self = (explaining *)offload;
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        kw_exchange_reply(offload->exchange,
                          &(kw_api_Admin_explain_result){.has_success = true, .success = &self->out});
    g_free(self);
}

void
kw_serve_explain(kw_exchange *exchange)
{
    const kw_api_Admin_explain_args *args = exchange->args;
    kw_scan_request *request = KW_EXCHANGE_ALLOC(exchange, kw_scan_request);
    kw_error error = KW_ERROR_NONE;
    if (!kw_scan_request_of_query(exchange, args->has_query, args->query, request, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    explaining *self = g_new0(explaining, 1);
    self->call = exchange->call;
    self->request = request;
    kw_offload_start(&self->offload, exchange, explain, reply_plan);
}

/* --- explainPut ---------------------------------------------------------------------------------- */

static void
key_out(const kw_explained_key *key, kw_arena *arena, kw_api_ExplainedKey *ret_out)
{
    *ret_out = (kw_api_ExplainedKey){.path = kw_bytes_of_text(key->placement->path->name),
                                     .store_table = key->placement->store_table,
                                     .row_key = key->row_key,
                                     .has_region_start = key->has_region,
                                     .region_start = key->region_start,
                                     .has_region_stop = key->has_region,
                                     .region_stop = key->region_stop,
                                     .has_region_server = key->has_region && key->region_server.size > 0,
                                     .region_server = shown(key->region_server, arena)};
    ret_out->pieces.items = KW_ARENA_ARRAY(arena, kw_api_KeyPiece, key->pieces_count);
    ret_out->pieces.count = (uint32_t)key->pieces_count;
    for (size_t i = 0; i < key->pieces_count; i++)
        ret_out->pieces.items[i] = (kw_api_KeyPiece){.component = kw_bytes_of_text(key->pieces[i].component),
                                                     .bytes = key->pieces[i].bytes,
                                                     .text = shown(key->pieces[i].bytes, arena)};
}

static const char *
hex_text(kw_bytes bytes, kw_arena *arena)
{
    char *text = kw_arena_alloc0(arena, bytes.size * 2 + 1);
    for (size_t i = 0; i < bytes.size; i++)
        g_snprintf(text + 2 * i, 3, "%02x", bytes.data[i]);
    return text;
}

static void
print_region(const kw_explained_key *key, kw_arena *arena, kw_buffer *out)
{
    const char *start = key->region_start.size ? kw_bytes_to_binary_text(key->region_start, arena) : NULL;
    const char *stop = key->region_stop.size ? kw_bytes_to_binary_text(key->region_stop, arena) : NULL;
    kw_bytes server = shown(key->region_server, arena);
    kw_buffer_printf(out, "  region from %s to %s%s%.*s\n", start ? start : "the beginning",
                     stop ? stop : "the end", key->region_server.size ? " on " : "", (int)server.size,
                     (const char *)server.data);
}

/* One paragraph per row: the key, its pieces, and its region if that is known. */
static kw_bytes
keys_text(const kw_explained_key *keys, size_t count, kw_arena *arena)
{
    g_auto(kw_buffer) text = KW_BUFFER_EMPTY;
    for (size_t i = 0; i < count; i++) {
        const kw_placement *placement = keys[i].placement;
        kw_buffer_printf(&text, "path %s, store table %.*s: row key %s\n", placement->path->name,
                         (int)placement->store_table.size, (const char *)placement->store_table.data,
                         kw_bytes_to_binary_text(keys[i].row_key, arena));
        for (size_t at = 0; at < keys[i].pieces_count; at++)
            kw_buffer_printf(&text, "  %s: %s (%zu bytes, hex %s)\n", keys[i].pieces[at].component,
                             kw_bytes_to_binary_text(keys[i].pieces[at].bytes, arena),
                             keys[i].pieces[at].bytes.size, hex_text(keys[i].pieces[at].bytes, arena));
        if (keys[i].has_region)
            print_region(&keys[i], arena, &text);
    }
    return kw_arena_copy(arena, kw_buffer_bytes(&text));
}

/* The record to explain, and the notes to return with its keys. */
typedef struct explaining_put {
    kw_exchange *exchange;
    const kw_table *table;
    kw_record record;
    kw_bytes *notes;
    uint32_t notes_count;
} explaining_put;

/* Rejects values of generated fields that callers must not set, like a put does. */
static bool
refuse_given(const explaining_put *self, kw_error *ret_error)
{
    const kw_table *table = self->table;
    for (size_t i = 0; i < table->generated_count; i++) {
        const kw_field *field = &table->fields[table->generated[i]];
        if (field->model->generate.refuse_given &&
            self->record.values[table->generated[i]].kind != KW_VALUE_NONE)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s, field %s: the gateway generates its values; leave it out",
                                table->name, field->name);
    }
    return true;
}

/* Sets missing generated fields to example values, and adds a note for each of them. */
static void
note_generated_fields(explaining_put *self)
{
    kw_arena *arena = self->exchange->call.arena;
    const kw_table *table = self->table;
    bool *missing = KW_ARENA_ARRAY(arena, bool, table->generated_count);
    kw_generated_state *states = KW_ARENA_ARRAY(arena, kw_generated_state, table->generated_count);
    for (size_t i = 0; i < table->generated_count; i++)
        missing[i] = self->record.values[table->generated[i]].kind == KW_VALUE_NONE;
    kw_advise_fill_generated(table, 0, states, arena, &self->record);
    for (size_t i = 0; i < table->generated_count; i++) {
        char shown[KW_SHOWN_MAX];
        size_t field = table->generated[i];
        if (!missing[i])
            continue;
        kw_value_print(self->record.values[field], shown, sizeof shown);
        self->notes[self->notes_count++] = kw_bytes_of_text(kw_arena_printf(
            arena, "%s is generated by the put; %s is an example", table->fields[field].name, shown));
    }
}

static void
note_choices(explaining_put *self, const kw_explained_key *keys, size_t count)
{
    kw_arena *arena = self->exchange->call.arena;
    for (size_t i = 0; i < count; i++) {
        kw_choice choice = kw_layout_choice(keys[i].placement->layout);
        const kw_placement *locators = self->table->locators;
        const char *path = keys[i].placement->path->name;
        if (choice.buckets <= 1)
            continue;
        const char *note =
            locators ? kw_arena_printf(arena,
                                       "path %s: a new record is stored in bucket %u of %u; for an existing "
                                       "record the association %s can name another one",
                                       path, keys[i].bucket, choice.buckets, locators->path->name)
                     : kw_arena_printf(arena,
                                       "path %s: the put chooses one of %u buckets; the first is shown here",
                                       path, choice.buckets);
        self->notes[self->notes_count++] = kw_bytes_of_text(note);
    }
}

static bool
has_any(const kw_placement *placement, const kw_record *record)
{
    bool any = false;
    for (size_t i = 0; !any && i < placement->tuple_count; i++)
        any = record->values[placement->tuple[i]].kind != KW_VALUE_NONE;
    return any;
}

/* The row key of a record in a path over fields that can change is known if all of them are given. A put of
 * the values that another record has in a unique path is refused. */
static void
note_absent(explaining_put *self)
{
    for (size_t i = 1; i < self->table->queried_paths_count; i++) {
        const kw_path *path = &self->table->paths[i];
        if (kw_placement_has_record(path->placements, &self->record) && !path->unique)
            continue;
        self->notes[self->notes_count++] = kw_bytes_of_text(kw_arena_printf(
            self->exchange->call.arena,
            kw_placement_has_record(path->placements, &self->record)
                ? "path %s: the put is refused if another record has the "
                  "same values of the fields in this key"
            : has_any(path->placements, &self->record)
                ? "path %s: the put reads the fields in its key that are not given; if the record has them, "
                  "it gets a row here"
                : "path %s: a put that gives no field in its key that can change writes no row here",
            path->name));
    }
}

static void
reply_keys(void *user, const kw_explained_key *keys, size_t count, const kw_error *error)
{
    explaining_put *self = user;
    kw_exchange *exchange = self->exchange;
    kw_arena *arena = exchange->call.arena;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    note_choices(self, keys, count);
    note_absent(self);
    kw_api_Explanation out = {.has_keys = true,
                              .has_notes = self->notes_count > 0,
                              .notes = {.items = self->notes, .count = self->notes_count},
                              .text = keys_text(keys, count, arena)};
    out.keys.items = KW_ARENA_ARRAY(arena, kw_api_ExplainedKey, count);
    out.keys.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        key_out(&keys[i], arena, &out.keys.items[i]);
    kw_exchange_reply(exchange, &(kw_api_Admin_explainPut_result){.has_success = true, .success = &out});
}

void
kw_serve_explain_put(kw_exchange *exchange)
{
    const kw_api_Admin_explainPut_args *args = exchange->args;
    explaining_put *self = KW_EXCHANGE_ALLOC(exchange, explaining_put);
    kw_error error = KW_ERROR_NONE;
    self->exchange = exchange;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &self->table, &error) ||
        !kw_convert_record(self->table, &args->record, exchange->call.arena, &self->record, &error) ||
        !refuse_given(self, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    self->notes = KW_ARENA_ARRAY(exchange->call.arena, kw_bytes,
                                 self->table->generated_count + self->table->placements_count);
    note_generated_fields(self);
    kw_verb_explain_put(&exchange->call, self->table, &self->record, reply_keys, self);
}
