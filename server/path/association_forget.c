/* Removes association rows of removed records: see association.h. */
#include "path/association_internal.h"

#include <glib.h>

typedef struct forgetting forgetting;

typedef struct forget_one {
    forgetting *all;
    size_t index;
    kw_write write;
    kw_check check;
} forget_one;

struct forgetting {
    kw_call *call;
    const kw_table *table;
    forget_one *rows;
    size_t count;
    size_t begun;
    size_t open;
    kw_error *errors;
    kw_association_forgotten done;
    void *user;
};

static void forget_next(forgetting *all);

/* Not applied: the row is gone or holds another key. */
static void
forgotten(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    forget_one *self = user;
    forgetting *all = self->all;
    (void)applied;
    if (outcome != KW_OUTCOME_OK)
        all->errors[self->index] = *error;
    all->open--;
    forget_next(all);
}

static void
forget_next(forgetting *all)
{
    for (; all->begun < all->count && all->open < KW_ASSOCIATION_WRITES_MAX; all->open++) {
        forget_one *self = &all->rows[all->begun++];
        kw_store_handle_write_if(all->call->handle, &self->write, &self->check, forgotten, self);
    }
    if (all->open == 0)
        all->done(all->user, all->errors);
}

/* Builds a delete of the columns that hold default keys, on the condition that the first of them is
 * unchanged: the cells of a row were written together. False: there are none, or an error. */
static bool
make_forget(forgetting *all, kw_association_lookup *lookup, forget_one *ret_one, kw_error *ret_error)
{
    const kw_table *table = all->table;
    kw_arena *arena = all->call->arena;
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, table->placements_count);
    size_t count = 0;
    for (size_t i = 0; i < table->placements_count; i++) {
        if (!lookup->held[i])
            continue;
        if (!kw_association_default_key(lookup, i, ret_error))
            return false;
        if (!kw_bytes_equal(lookup->keys[i], lookup->defaults[i]))
            continue;
        columns[count] = (kw_column){.family = table->default_family,
                                     .qualifier = kw_association_qualifier(&table->placements[i], arena)};
        if (count++ == 0)
            ret_one->check = (kw_check){.family = columns[0].family,
                                        .qualifier = columns[0].qualifier,
                                        .compare = KW_COMPARE_EQUAL,
                                        .has_value = true,
                                        .value = lookup->defaults[i]};
    }
    ret_one->write = (kw_write){.kind = KW_WRITE_DELETE,
                                .fenced = true,
                                .era = all->call->era,
                                .table = table->association->store_table,
                                .row = lookup->row,
                                .columns = columns,
                                .columns_count = count,
                                .timestamp = KW_TIMESTAMP_NONE,
                                .deadline = all->call->deadline};
    return count > 0;
}

void
kw_association_forget(kw_call *call, const kw_table *table, const kw_association_entry *const *entries,
                      size_t count, kw_association_forgotten done, void *user)
{
    g_assert(table->association);
    forgetting *all = KW_ARENA_NEW(call->arena, forgetting);
    *all = (forgetting){.call = call, .table = table, .done = done, .user = user};
    all->rows = KW_ARENA_ARRAY(call->arena, forget_one, count);
    all->errors = KW_ARENA_ARRAY(call->arena, kw_error, count);
    for (size_t i = 0; i < count; i++) {
        forget_one *one = &all->rows[all->count];
        *one = (forget_one){.all = all, .index = i};
        if (entries[i] && make_forget(all, entries[i]->lookup, one, &all->errors[i]))
            all->count++;
    }
    forget_next(all);
}
