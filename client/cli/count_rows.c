#include "cli/count_rows.h"

#include "cli/interrupt.h"
#include "cli/progress.h"

const char *
kw_count_field(const kw_table_info *table)
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
kw_count_rows(const kw_cli *cli, const kw_query *query, const char *table, gint64 end_us, guint64 *ret_count,
              bool *ret_complete, GError **error)
{
    GError *failure = NULL;
    g_autoptr(kw_scan) scan = begin(cli, query, &failure);
    kw_progress progress;
    bool more = scan != NULL;

    *ret_count = 0;
    kw_progress_start(&progress, table);
    while (more && kw_interrupted() == 0 && (end_us == 0 || g_get_monotonic_time() < end_us)) {
        more = next(scan, &failure);
        if (more)
            kw_progress_show(&progress, 0, 0, ++*ret_count);
    }
    kw_progress_end(&progress);
    *ret_complete = scan != NULL && !more && failure == NULL;
    if (failure != NULL)
        g_propagate_error(error, failure);
    return failure == NULL;
}
