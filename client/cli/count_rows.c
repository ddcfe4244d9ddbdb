#include "cli/count_rows.h"

#include "cli/interrupt.h"
#include "cli/progress.h"

/* A field whose value is in the row key only, so that the store returns no columns. Otherwise a field of the
 * key, whose column is small. NULL: the key has no field. */
static const char *
cheapest_field(const kw_table_info *table)
{
    const char *found = NULL;

    for (guint i = 0; i < table->fields->len; i++) {
        const kw_field_info *field = table->fields->pdata[i];

        if (field->key && field->column == NULL)
            return field->name;
        if (field->key && found == NULL)
            found = field->name;
    }
    return found;
}

/* Lets the query read as little as possible of every matching record. */
static void
prepare(const kw_cli *cli, kw_query *query, const kw_table_info *table)
{
    const char *field = cheapest_field(table);

    if (field != NULL)
        kw_query_column(query, field);
    kw_query_full_scan(query, true);
    kw_query_deadline(query, cli->timeout_ms);
}

static kw_scan *
begin(const kw_cli *cli, const kw_query *query, GError **error)
{
    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;
        kw_scan *scan = kw_client_scan(cli->client, query, &failure);

        if (scan != NULL)
            return scan;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return NULL;
        }
    }
}

/* False at the end, and on an error. */
static bool
next(kw_scan *scan, GError **error)
{
    const kw_record *record;

    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;

        if (kw_scan_next(scan, &record, &failure))
            return true;
        if (failure == NULL)
            return false;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
    }
}

bool
kw_count_rows(const kw_cli *cli, kw_query *query, const kw_table_info *table, gint64 end_us,
              kw_record_count *ret_counted, GError **error)
{
    GError *failure = NULL;
    g_autoptr(kw_scan) scan = NULL;
    kw_progress progress;
    bool more;

    *ret_counted = (kw_record_count){0};
    prepare(cli, query, table);
    scan = begin(cli, query, &failure);
    more = scan != NULL;
    kw_progress_start(&progress, table->name);
    while (more && kw_interrupted() == 0 && (end_us == 0 || g_get_monotonic_time() < end_us)) {
        more = next(scan, &failure);
        if (more)
            kw_progress_show(&progress, 0, 0, ++ret_counted->records);
    }
    kw_progress_end(&progress);
    ret_counted->complete = scan != NULL && !more && failure == NULL;
    ret_counted->undecodable = scan == NULL ? 0 : (guint64)kw_scan_undecodable(scan);
    if (failure != NULL)
        g_propagate_error(error, failure);
    return failure == NULL;
}
