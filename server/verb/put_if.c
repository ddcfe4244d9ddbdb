/* put_if: writes a record atomically if one of its stored fields or entries meets a condition. The store
 * compares in one row and writes all rows of the record (path/atomic.h says how, and which tables allow it).
 * If it gives some fields of a hint path's tuple, its hints depend on what the record has (path/partial.h).
 * Generates missing fields first, as a put does; they are lost if the condition is not met. */
#include "path/atomic.h"
#include "path/cells.h"
#include "path/partial.h"
#include "path/stamp.h"
#include "verb/verb.h"

typedef struct put_if {
    kw_call *call;
    const kw_table *table;
    const kw_record *record;
    kw_write_options options;
    kw_filling filling;
    kw_write write;
    kw_check check;
    const kw_derivation *derivation; /* NULL: what is written does not depend on what the record has */
    kw_put_if_done done;
    void *user;
} put_if;

static bool
make_check(put_if *self, const kw_condition_on_field *condition, kw_error *ret_error)
{
    const kw_table *table = self->table;
    const kw_field *field = &table->fields[condition->pick.field];
    kw_arena *arena = self->call->arena;
    if (field->identity || !field->stored)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: a condition needs a field with a column outside the key; %s is %s",
                            table->name, field->name, field->identity ? "part of the key" : "not stored");
    if (field->entry && condition->pick.entry.size == 0)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: a condition needs an entry of the map %s (%s.NAME)", table->name,
                            field->name, field->name);
    bool has_value = condition->value.kind != KW_VALUE_NONE;
    if (!has_value && condition->compare != KW_COMPARE_EQUAL && condition->compare != KW_COMPARE_NOT_EQUAL)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s, field %s: a condition without a value must be EQUAL (absent) or NOT_EQUAL (present)",
            table->name, kw_pick_text(table, condition->pick, arena));
    if (has_value && !kw_table_check_pick(table, condition->pick, condition->value, ret_error))
        return false;
    self->check = (kw_check){.family = field->family,
                             .qualifier = kw_pick_qualifier(table, condition->pick, arena),
                             .compare = condition->compare,
                             .has_value = has_value,
                             .counter = field->counter};
    if (has_value)
        self->check.value =
            kw_field_encode_cell(kw_pick_field(table, condition->pick), condition->value, arena);
    return true;
}

/* HBase can compare only one cell, and writes of counters already compare the generation (store/control.h).
 * The rule is the same for every store. */
static bool
check_counters(const put_if *self, kw_error *ret_error)
{
    if (self->write.counters == 0 || self->check.counter)
        return true;
    return kw_error_set(
        ret_error, KW_INVALID,
        "table %s: a putIf that writes a counter also needs a condition on a counter; put the "
        "other fields by themselves",
        self->table->name);
}

static bool
is_partial(const put_if *self)
{
    return self->table->tuples_count && kw_hints_put_of(self->table, self->record).part == KW_HINT_PARTIAL;
}

static bool
check_partial(const put_if *self, kw_error *ret_error)
{
    if (!self->check.counter || !is_partial(self) || !kw_hints_counts_natively(self->call, self->table))
        return true;
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: a putIf with a condition on a counter needs all fields in the keys of the "
                        "paths that it touches, or order: stamp",
                        self->table->name);
}

static bool
make_write(put_if *self, kw_error *ret_error)
{
    kw_call *call = self->call;
    const kw_table *table = self->table;
    const kw_write_options *options = &self->options;
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .fenced = true,
                             .era = call->era,
                             .ordering = &table->ordering,
                             .durability = options->durability,
                             .deadline = call->deadline};
    if (!kw_record_check(table, self->record, ret_error))
        return false;
    kw_record_cells(table, self->record, call->arena, &self->write);
    return check_counters(self, ret_error) && check_partial(self, ret_error) &&
           kw_hints_check_put(call, table, self->record, options->has_timestamp, ret_error) &&
           kw_stamp_of(options, &self->write.timestamp, ret_error);
}

static void
fail(put_if *self, const kw_error *error)
{
    self->done(self->user, false, (kw_record){NULL}, error);
}

static void
decided(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    put_if *self = user;
    if (!error) {
        self->done(self->user, applied, (kw_record){applied ? self->filling.generated : NULL}, NULL);
        return;
    }
    kw_error named = *error;
    named.maybe_applied = outcome == KW_OUTCOME_UNKNOWN;
    fail(self, &named);
}

static void
send_write(put_if *self)
{
    if (self->derivation)
        kw_store_handle_write_derived(self->call->handle, &self->write, self->derivation, decided, self);
    else
        kw_store_handle_write_if(self->call->handle, &self->write, &self->check, decided, self);
}

/* With several writers, the hints are in the store before the record can have these values. If the condition
 * is not met, they are stale. */
static void
hints_written(void *user, const kw_error *errors, kw_deadline row_deadline)
{
    put_if *self = user;
    self->write.deadline = row_deadline;
    if (errors[0].code == KW_OK)
        send_write(self);
    else
        fail(self, &errors[0]);
}

/* True if the store writes the hints together with the record. A store with one writer also does so if their
 * tuples are given as a whole: then it writes none if the condition is not met. */
static bool
is_derived(const put_if *self)
{
    bool full = self->table->tuples_count && kw_hints_put_of(self->table, self->record).part == KW_HINT_FULL;
    return kw_hints_is_derived(self->table, self->record) || (full && !kw_store_is_shared(self->call->store));
}

static void
found(void *user, const kw_atomic_rows *rows, const kw_error *error)
{
    put_if *self = user;
    if (error) {
        fail(self, error);
        return;
    }
    self->write.table = rows->first.table;
    self->write.row = rows->first.row;
    self->write.others = rows->others;
    self->write.others_count = rows->others_count;
    if (is_derived(self))
        self->derivation = kw_partial_derivation(self->call, self->table, self->record, self->write.row,
                                                 &self->check, self->options.durability);
    if (self->table->tuples_count && !self->derivation)
        kw_hints_write(self->call, self->table, &self->record, 1, self->options.durability, hints_written,
                       self);
    else
        send_write(self);
}

static void
write_record(void *user)
{
    put_if *self = user;
    kw_error error = self->filling.error;
    if (error.code == KW_OK && make_write(self, &error))
        kw_atomic_find_rows(self->call, self->table, self->record,
                            self->options.has_timestamp ? self->write.timestamp : KW_TIMESTAMP_NONE, found,
                            self);
    else
        fail(self, &error);
}

static void
generated(void *user)
{
    put_if *self = user;
    kw_call_guard(self->call, write_record, self);
}

/* Checks the table and the condition before it generates values. The record is checked after that, when it is
 * complete. */
void
kw_verb_put_if(kw_call *call, const kw_table *table, const kw_record *record,
               const kw_condition_on_field *condition, kw_write_options options, kw_put_if_done done,
               void *user)
{
    put_if *self = KW_ARENA_NEW(call->arena, put_if);
    *self = (put_if){.call = call,
                     .table = table,
                     .record = record,
                     .options = options,
                     .filling = {.values = record->values},
                     .done = done,
                     .user = user};
    kw_error error;
    if (!kw_atomic_check_path(table, "putIf", &error) ||
        !kw_atomic_check_order(call, table, "putIf", &error) || !make_check(self, condition, &error))
        fail(self, &error);
    else if (table->generated_count > 0)
        kw_generator_fill(call->generator, call->arena, table, &self->filling, 1, call->deadline, generated,
                          self);
    else
        write_record(self);
}
