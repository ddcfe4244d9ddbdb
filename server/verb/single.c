/* See single.h. */
#include "verb/single.h"

#include "verb/cells.h"
#include "verb/place.h"

bool
kw_single_path(const kw_table *table, const char *verb, kw_error *ret_error)
{
    if (table->paths_count > 1)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s works on tables with one path; this one has %zu, which cannot be "
                            "changed atomically",
                            table->name, verb, table->paths_count);
    if (table->chosen && !table->association)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s: %s needs to know a record's row, and its bucket is chosen at each put; "
            "add an association to the table",
            table->name, verb);
    return true;
}

bool
kw_single_atomic(const kw_table *table, const char *verb, kw_error *ret_error)
{
    if (table->ordering.order == KW_WRITE_ORDER_STAMP)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s needs order: store; with order: stamp the gateways give the "
                            "timestamps, so values cannot be changed in place",
                            table->name, verb);
    if (!table->ordering.atomics)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: %s needs atomics: true, so that removals notice it", table->name,
                            verb);
    return true;
}

typedef struct single {
    kw_single_found done;
    void *user;
} single;

static void
placed(void *user, const kw_place *places)
{
    single *self = user;
    const kw_error *error = places->error.code != KW_OK ? &places->error : NULL;
    self->done(self->user, error ? KW_BYTES_NONE : places->keys[0], error);
}

void
kw_single_find(kw_call *call, const kw_table *table, const kw_record *record, int64_t stamp,
               kw_single_found done, void *user)
{
    if (table->association) {
        single *self = KW_ARENA_NEW(call->arena, single);
        *self = (single){done, user};
        const kw_record **one = KW_ARENA_NEW(call->arena, const kw_record *);
        *one = record;
        kw_places_find(call, table, one, 1, true, stamp, placed, self);
        return;
    }
    kw_buffer scratch = KW_BUFFER_EMPTY;
    kw_bytes row;
    kw_error error;
    bool made = kw_row_key(&table->paths[0], record, &scratch, call->arena, &row, &error);
    kw_buffer_clear(&scratch);
    done(user, made ? row : KW_BYTES_NONE, made ? NULL : &error);
}
