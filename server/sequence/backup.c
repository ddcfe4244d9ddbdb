/* Reading: one fetch of a range scan for each page.
 * Raising: describe the table -> create it, or check its families -> for each counter: read it, add what is
 * missing. */
#include "sequence/backup.h"

#include "sequence/sequence_internal.h"
#include "store/check.h"

#include <string.h>

#define QUALIFIER KW_BYTES_LITERAL("n")
#define COUNTERS_PER_PAGE 1000
#define BYTES_PER_PAGE ((size_t)1024 * 1024)
#define DIGITS_MAX 20

static bool
find_retention(kw_bytes family, kw_retention *ret_keeping)
{
    for (int i = KW_KEEP_EVER; i < KW_RETENTIONS; i++)
        if (kw_bytes_equal(family, kw_bytes_of_text(kw_retention_family((kw_retention)i)))) {
            *ret_keeping = (kw_retention)i;
            return true;
        }
    return false;
}

/* --- reading -------------------------------------------------------------------------------------- */

typedef struct reading {
    kw_arena *arena;
    kw_range_scan *scan;
    kw_counters_read done;
    void *user;
} reading;

static void
end_page(reading *self, const kw_saved_cell *counters, size_t count, kw_bytes last, const kw_error *error)
{
    self->done(self->user, counters, count, last, error);
    kw_range_scan_close(self->scan);
    kw_arena_free(self->arena);
}

static size_t
take_row(const reading *self, const kw_row *row, kw_saved_cell *to)
{
    kw_retention ignored;
    size_t count = 0;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        if (!find_retention(cell->family, &ignored) || !kw_bytes_equal(cell->qualifier, QUALIFIER) ||
            cell->value.size != 8)
            continue;
        const char *value =
            kw_arena_printf(self->arena, "%" G_GINT64_FORMAT, (gint64)kw_be64_load(cell->value.data));
        to[count++] = (kw_saved_cell){row->key, cell->family, kw_bytes_of_text(value)};
    }
    return count;
}

static void
on_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    reading *self = user;
    size_t most = 0, count = 0;
    if (error) {
        end_page(self, NULL, 0, KW_BYTES_NONE, error->code == KW_NOT_FOUND ? NULL : error);
        return;
    }
    for (size_t i = 0; i < rows->count; i++)
        most += rows->rows[i].cells_count;
    kw_saved_cell *counters = KW_ARENA_ARRAY(self->arena, kw_saved_cell, most);
    for (size_t i = 0; i < rows->count; i++)
        count += take_row(self, &rows->rows[i], &counters[count]);
    end_page(self, counters, count, rows->end ? KW_BYTES_NONE : rows->rows[rows->count - 1].key, NULL);
    kw_rows_free(rows);
}

void
kw_counters_read_page(kw_store_handle *handle, kw_bytes table, kw_bytes after, kw_deadline deadline,
                      kw_counters_read done, void *user)
{
    kw_arena *arena = kw_arena_new();
    reading *self = KW_ARENA_NEW(arena, reading);
    *self = (reading){.arena = arena, .done = done, .user = user};
    kw_range_scan_spec spec = {.table = table, .max_versions = 1, .max_row_bytes = BYTES_PER_PAGE};
    if (after.size)
        spec.start = kw_bytes_of(kw_arena_text(arena, after), after.size + 1); /* with its NUL */
    self->scan = kw_store_handle_open_range_scan(handle, &spec);
    kw_range_scan_fetch(self->scan, COUNTERS_PER_PAGE, BYTES_PER_PAGE, false, deadline, on_fetched, self);
}

/* --- raising --------------------------------------------------------------------------------------- */

typedef struct raising {
    kw_arena *arena;
    kw_store_handle *handle;
    const kw_model_sequences *settings;
    const kw_saved_cell *counters;
    size_t count, next;
    int64_t value; /* of the present counter */
    kw_deadline deadline;
    kw_family_spec families[KW_RETENTIONS];
    kw_table_spec spec;
    kw_column column;
    kw_get get;
    kw_increment increment;
    int64_t amount;
    void (*done)(void *user, const kw_error *error);
    void *user;
} raising;

static void
end_raising(raising *self, const kw_error *error)
{
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&reported, "table of sequences %s", self->settings->table);
    self->done(self->user, error ? &reported : NULL);
    kw_arena_free(self->arena);
}

static void raise_next(raising *self);

static void
on_raised(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    raising *self = user;
    (void)outcome; /* unknown: the caller repeats the import, which reads the counter again */
    kw_rows_free(rows);
    if (error)
        end_raising(self, error);
    else
        raise_next(self);
}

static void
on_read(void *user, kw_rows *rows, const kw_error *error)
{
    raising *self = user;
    if (error) {
        end_raising(self, error);
        return;
    }
    const kw_row *row = &rows->rows[0];
    bool found = row->cells_count > 0 && row->cells[0].value.size == 8;
    int64_t now = found ? (int64_t)kw_be64_load(row->cells[0].value.data) : 0;
    kw_rows_free(rows);
    if (now >= self->value) {
        raise_next(self);
        return;
    }
    self->amount = (int64_t)((uint64_t)self->value - (uint64_t)now); /* counters are never negative */
    self->increment = (kw_increment){.table = self->spec.name,
                                     .row = self->get.row,
                                     .columns = &self->column,
                                     .amounts = &self->amount,
                                     .columns_count = 1,
                                     .deadline = self->deadline};
    kw_store_handle_increment(self->handle, &self->increment, on_raised, self);
}

static bool
parse_value(kw_bytes text, int64_t *ret_value)
{
    char digits[DIGITS_MAX + 1] = "";
    guint64 value;
    if (text.size == 0 || text.size > DIGITS_MAX)
        return false;
    memcpy(digits, text.data, text.size);
    if (!g_ascii_string_to_unsigned(digits, 10, 0, INT64_MAX, &value, NULL))
        return false;
    *ret_value = (int64_t)value;
    return true;
}

static bool
check_counter(const kw_saved_cell *counter, kw_error *ret_error)
{
    kw_retention keeping;
    int64_t value;
    bool good = counter->row.size > 0 && counter->row.size <= INT16_MAX &&
                find_retention(counter->column, &keeping) && parse_value(counter->value, &value);
    return good || kw_error_set(ret_error, KW_INVALID, "counter %s: Keyway writes no such counter",
                                kw_show(counter->row).text);
}

static void
raise_next(raising *self)
{
    kw_retention keeping = KW_KEEP_EVER;
    if (self->next == self->count) {
        end_raising(self, NULL);
        return;
    }
    const kw_saved_cell *counter = &self->counters[self->next++];
    find_retention(counter->column, &keeping);
    parse_value(counter->value, &self->value);
    self->column =
        (kw_column){.family = kw_bytes_of_text(kw_retention_family(keeping)), .qualifier = QUALIFIER};
    self->get = (kw_get){.table = self->spec.name,
                         .row = counter->row,
                         .columns = &self->column,
                         .columns_count = 1,
                         .max_versions = 1,
                         .deadline = self->deadline};
    kw_store_handle_get(self->handle, &self->get, on_read, self);
}

static void
on_created(void *user, bool created, const kw_error *error)
{
    raising *self = user;
    (void)created;
    if (error)
        end_raising(self, error);
    else
        raise_next(self);
}

static bool
check_families(const kw_table_facts *facts, kw_error *ret_error)
{
    size_t found = 0;
    kw_retention ignored;
    for (size_t i = 0; i < facts->families_count; i++)
        found += find_retention(kw_bytes_of_text(facts->families[i].name), &ignored);
    return (found == KW_RETENTIONS && facts->families_count == found) ||
           kw_error_set(ret_error, KW_REFUSED, "it has other families than a table of sequences");
}

static void
on_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    raising *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    bool exists = facts && facts->exists;
    if (exists)
        check_families(facts, &found);
    kw_table_facts_free(facts);
    if (found.code != KW_OK)
        end_raising(self, &found);
    else if (exists)
        raise_next(self);
    else
        kw_store_handle_create_table(self->handle, &self->spec, on_created, self);
}

void
kw_counters_raise(kw_store_handle *handle, const kw_model_sequences *settings, const kw_saved_cell *counters,
                  size_t count, kw_deadline deadline, void (*done)(void *user, const kw_error *error),
                  void *user)
{
    kw_arena *arena = kw_arena_new();
    raising *self = KW_ARENA_NEW(arena, raising);
    kw_error error;
    *self = (raising){.arena = arena,
                      .handle = handle,
                      .settings = settings,
                      .counters = counters,
                      .count = count,
                      .deadline = deadline,
                      .done = done,
                      .user = user};
    self->spec = kw_sequence_table_spec(settings, self->families, deadline);
    for (size_t i = 0; i < count; i++)
        if (!check_counter(&counters[i], &error)) {
            end_raising(self, &error);
            return;
        }
    if (count > 0)
        kw_store_handle_describe_table(handle, self->spec.name, deadline, on_described, self);
    else
        end_raising(self, NULL);
}
