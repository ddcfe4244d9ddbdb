/* Counters in the store: one row each in the table of sequences, changed with the store's increment. A
 * counter that can expire is in a family with a TTL, which restarts with each addition. */
#include "sequence/backend.h"

#include <glib.h>

#define QUALIFIER KW_BYTES_LITERAL("n")
#define DAY_S INT64_C(86400)

typedef struct store_counters {
    kw_sequence_backend base;
    kw_store_handle *handle;
    char *table;
} store_counters;

typedef struct addition_call {
    kw_increment increment;
    kw_column column;
    int64_t amount;
    kw_counted done;
    void *user;
    uint8_t name[]; /* a copy */
} addition_call;

kw_retention
kw_retention_of(kw_period period)
{
    return period == KW_PERIOD_EVER                                ? KW_KEEP_EVER
           : period == KW_PERIOD_MONTH || period == KW_PERIOD_YEAR ? KW_KEEP_YEARS
                                                                   : KW_KEEP_DAYS;
}

int64_t
kw_retention_seconds(const kw_model_sequences *settings, kw_retention keeping)
{
    int64_t around = 2 * (settings->keep_ms / 1000 + 1) + DAY_S; /* plus a day for clocks that differ */
    switch (keeping) {
    case KW_KEEP_EVER:
        return 0;
    case KW_KEEP_DAYS:
        return around + DAY_S;
    case KW_KEEP_YEARS:
        return around + 366 * DAY_S;
    }
    g_assert_not_reached();
}

const char *
kw_retention_family(kw_retention keeping)
{
    static const char *const families[] = {"n", "d", "y"};
    return families[keeping];
}

static bool
read_sum(const kw_rows *rows, int64_t *ret_after, kw_error *ret_error)
{
    const kw_row *row = &rows->rows[0];
    if (rows->count != 1 || row->cells_count != 1 || row->cells[0].value.size != 8)
        return kw_error_set(ret_error, KW_CORRUPT, "the store returned no value of the counter");
    *ret_after = (int64_t)kw_be64_load(row->cells[0].value.data);
    return true;
}

static void
added(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    addition_call *what = user;
    kw_error reported = error ? *error : KW_ERROR_NONE;
    int64_t after = 0;
    (void)outcome; /* unknown outcome: these numbers are lost */
    if (rows) {
        if (!error)
            read_sum(rows, &after, &reported);
        kw_rows_free(rows);
    }
    what->done(what->user, after, reported.code == KW_OK ? NULL : &reported);
    g_free(what);
}

static void
store_add(kw_sequence_backend *base, const kw_addition *addition, kw_counted done, void *user)
{
    store_counters *self = (store_counters *)base;
    addition_call *what = g_malloc0(sizeof *what + addition->name.size);
    memcpy(what->name, addition->name.data, addition->name.size);
    what->amount = addition->amount;
    what->done = done;
    what->user = user;
    what->column = (kw_column){.family = kw_bytes_of_text(kw_retention_family(addition->keeping)),
                               .qualifier = QUALIFIER};
    what->increment = (kw_increment){.table = kw_bytes_of_text(self->table),
                                     .row = kw_bytes_of(what->name, addition->name.size),
                                     .columns = &what->column,
                                     .amounts = &what->amount,
                                     .columns_count = 1,
                                     .deadline = addition->deadline};
    kw_store_handle_increment(self->handle, &what->increment, added, what);
}

static void
store_close(kw_sequence_backend *base, void (*closed)(void *user), void *user)
{
    (void)base; /* closing the store handle completes operations in flight */
    closed(user);
}

static void
store_free(kw_sequence_backend *base)
{
    g_free(((store_counters *)base)->table);
    g_free(base);
}

kw_sequence_backend *
kw_sequence_backend_open_store(const kw_model_sequences *settings, kw_store_handle *handle)
{
    static const kw_sequence_backend_class class = {store_add, store_close, store_free};
    store_counters *self = g_new0(store_counters, 1);
    *self = (store_counters){{&class}, handle, g_strdup(settings->table)};
    return &self->base;
}
