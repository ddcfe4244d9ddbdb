/* decodeKey: returns the fields that a row key holds, or the component that does not fit. Uses the policy in
 * service, or compiles a policy text on a worker thread. Reads no rows. */
#include "rule/splits.h"
#include "service/methods.h"
#include "service/methods/candidate.h"
#include "service/methods/convert.h"
#include "service/offload.h"
#include "service/show.h"

typedef struct decoded {
    kw_api_DecodedKey *keys;
    uint32_t count;
} decoded;

static void
decode_placement(const kw_placement *placement, kw_bytes row_key, kw_arena *arena, kw_api_DecodedKey *ret_out)
{
    const kw_table *table = placement->path->table;
    kw_record record = kw_record_new(table, arena);
    kw_dissected_key key;
    kw_layout_dissect(placement->layout, row_key, arena, &record, &key);
    size_t components = kw_layout_component_count(placement->layout);
    *ret_out = (kw_api_DecodedKey){.path = kw_bytes_of_text(placement->path->name),
                                   .store_table = placement->store_table,
                                   .key = kw_convert_record_out(table, &record, arena),
                                   .has_component = key.why && key.wrong < components,
                                   .has_reason = key.why != NULL};
    if (ret_out->has_component)
        ret_out->component = kw_bytes_of_text(kw_layout_component_text(placement->layout, key.wrong));
    if (key.why)
        ret_out->reason = kw_bytes_of_text(key.why);
    ret_out->pieces.items = KW_ARENA_ARRAY(arena, kw_api_KeyPiece, key.pieces_count);
    ret_out->pieces.count = (uint32_t)key.pieces_count;
    for (size_t i = 0; i < key.pieces_count; i++)
        ret_out->pieces.items[i] =
            (kw_api_KeyPiece){.component = kw_bytes_of_text(key.pieces[i].component),
                              .bytes = key.pieces[i].bytes,
                              .text = kw_bytes_of_text(kw_bytes_to_binary_text(key.pieces[i].bytes, arena))};
}

/* Finds the paths under whose rules the key is decoded: the named one, or all. */
static bool
find_paths(const kw_table *table, const kw_api_Admin_decodeKey_args *args, size_t *ret_from, size_t *ret_to,
           kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    *ret_from = 0;
    *ret_to = table->paths_count;
    if (!args->has_path || args->path.size == 0)
        return true;
    int found = kw_table_find_path(table, args->path);
    if (found < 0)
        return kw_error_set(ret_error, KW_NOT_FOUND, "table %s has no path %s", table->name,
                            kw_show_name(args->path, shown));
    *ret_from = (size_t)found;
    *ret_to = *ret_from + 1;
    return true;
}

/* Decodes the key under the rule of each placement: while a key rule changes, a path has two. */
static bool
decode(const kw_table *table, const kw_api_Admin_decodeKey_args *args, kw_arena *arena, decoded *ret_decoded,
       kw_error *ret_error)
{
    size_t from, to, count = 0;
    if (!find_paths(table, args, &from, &to, ret_error))
        return false;
    kw_api_DecodedKey *keys = KW_ARENA_ARRAY(arena, kw_api_DecodedKey, table->placements_count);
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < table->paths[i].placements_count; j++)
            decode_placement(&table->paths[i].placements[j], args->row_key, arena, &keys[count++]);
    *ret_decoded = (decoded){keys, (uint32_t)count};
    return true;
}

static void
reply(kw_exchange *exchange, const decoded *result, const kw_error *error)
{
    kw_api_Admin_decodeKey_result out = {.has_success = true};
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    out.success.items = result->keys;
    out.success.count = result->count;
    kw_exchange_reply(exchange, &out);
}

/* --- under a policy text ------------------------------------------------------------------------- */

typedef struct decoding {
    kw_offload offload;
    kw_policy *policy; /* the result contains names that it owns */
    decoded result;
} decoding;

static bool
decode_under_text(kw_offload *offload)
{
    decoding *self = (decoding *)offload;
    const kw_api_Admin_decodeKey_args *args = offload->exchange->args;
    kw_bytes name = KW_BYTES_LITERAL("policy");
    self->policy = kw_candidate_compile(name, args->policy_text, &offload->effort, &offload->error);
    const kw_table *table =
        self->policy ? kw_candidate_table(self->policy, name, args->has_table ? args->table : KW_BYTES_NONE,
                                          &offload->error)
                     : NULL;
    return table && decode(table, args, offload->arena, &self->result, &offload->error);
}

static void
reply_under_text(kw_offload *offload, const kw_error *error)
{
    decoding *self = (decoding *)offload;
    reply(offload->exchange, &self->result, error);
    kw_policy_unref(self->policy);
    g_free(self);
}

/* --- the method ---------------------------------------------------------------------------------- */

static void
decode_under_text_later(kw_exchange *exchange)
{
    decoding *self = g_new0(decoding, 1);
    kw_offload_start(&self->offload, exchange, decode_under_text, reply_under_text);
}

void
kw_serve_decode_key(kw_exchange *exchange)
{
    const kw_api_Admin_decodeKey_args *args = exchange->args;
    const kw_table *table;
    decoded result = {0};
    kw_error error = KW_ERROR_NONE;
    if (!args->has_row_key) {
        kw_error_set(&error, KW_INVALID, "the argument row_key is missing");
        kw_exchange_fail(exchange, &error);
    } else if (args->has_policy_text && args->policy_text.size > 0) {
        decode_under_text_later(exchange);
    } else {
        bool good = kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) &&
                    decode(table, args, exchange->call.arena, &result, &error);
        reply(exchange, &result, good ? NULL : &error);
    }
}
