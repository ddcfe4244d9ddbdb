/* Removes from the association the cells with default keys of removed records: see association.h. */
#include "path/association_internal.h"

#include <glib.h>

typedef struct forgetting forgetting;

typedef struct forget_one {
    forgetting *group;
    size_t index;
    kw_write write;
    kw_check check;
} forget_one;

struct forgetting {
    kw_call *call;
    const kw_table *table;
    forget_one *writes;
    size_t writes_count;
    size_t writes_begun;
    size_t writes_in_flight;
    kw_error *errors;
    kw_association_forgotten done;
    void *user;
};

static void forget_next(forgetting *group);

static void
on_written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    forget_one *self = user;
    forgetting *group = self->group;
    (void)applied; /* if the delete was not applied, the row is gone or holds another key: not an error */
    if (outcome != KW_OUTCOME_OK)
        group->errors[self->index] = *error;
    group->writes_in_flight--;
    forget_next(group);
}

static void
forget_next(forgetting *group)
{
    for (; group->writes_begun < group->writes_count && group->writes_in_flight < KW_ASSOCIATION_WRITES_MAX;
         group->writes_in_flight++) {
        forget_one *self = &group->writes[group->writes_begun++];
        kw_store_handle_write_if(group->call->handle, &self->write, &self->check, on_written, self);
    }
    if (group->writes_in_flight == 0)
        group->done(group->user, group->errors);
}

/* Builds a delete of the columns that hold default keys, on the condition that the first of them is
 * unchanged. To check one column is enough, because the cells of a row were written together. Returns false
 * if there are no such columns, or after an error. */
static bool
make_forget(forgetting *group, kw_association_lookup *lookup, forget_one *ret_one, kw_error *ret_error)
{
    const kw_table *table = group->table;
    kw_arena *arena = group->call->arena;
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, table->placements_count);
    size_t count = 0;
    for (size_t i = 0; i < table->placements_count; i++) {
        if (!lookup->has_cell[i])
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
                                .era = group->call->era,
                                .table = table->locators->store_table,
                                .row = lookup->row,
                                .columns = columns,
                                .columns_count = count,
                                .timestamp = KW_TIMESTAMP_NONE,
                                .deadline = group->call->deadline};
    return count > 0;
}

void
kw_association_forget(kw_call *call, const kw_table *table, const kw_association_entry *const *entries,
                      size_t count, kw_association_forgotten done, void *user)
{
    g_assert(table->locators);
    forgetting *group = KW_ARENA_NEW(call->arena, forgetting);
    *group = (forgetting){.call = call, .table = table, .done = done, .user = user};
    group->writes = KW_ARENA_ARRAY(call->arena, forget_one, count);
    group->errors = KW_ARENA_ARRAY(call->arena, kw_error, count);
    for (size_t i = 0; i < count; i++) {
        forget_one *one = &group->writes[group->writes_count];
        *one = (forget_one){.group = group, .index = i};
        if (entries[i] && make_forget(group, entries[i]->lookup, one, &group->errors[i]))
            group->writes_count++;
    }
    forget_next(group);
}
