/* Order events through Keyway, in C with libkeyway. Arguments: HOST:PORT [framed] [compact] */
#include <keyway.h>

#include <stdio.h>
#include <string.h>

#define TEN_O_CLOCK G_GINT64_CONSTANT(1795255200000) /* 2026-11-21T10:00:00Z in milliseconds */

static GPtrArray *
make_events(void)
{
    static const char *const orders[] = {"A-1001", "A-1002", "A-1003"};
    static const char *const statuses[] = {"created", "paid", "shipped", "delivered"};
    GPtrArray *records = g_ptr_array_new_with_free_func((GDestroyNotify)kw_record_unref);

    for (gsize order = 0; order < G_N_ELEMENTS(orders); order++)
        for (gsize step = 0; step < G_N_ELEMENTS(statuses); step++) {
            kw_record *record = kw_record_new();

            kw_record_set(record, "order_id", kw_text(orders[order]));
            kw_record_set(record, "ts", kw_number(TEN_O_CLOCK + (gint64)step * 60000));
            kw_record_set(record, "status", kw_text(statuses[step]));
            kw_record_set(record, "amount", kw_real(9.75));
            g_ptr_array_add(records, record);
        }
    return records;
}

static bool
put_events(kw_client *client, GError **error)
{
    g_autoptr(GPtrArray) records = make_events();
    g_autoptr(GPtrArray) written = NULL;

    if (!kw_client_put_many(client, "order_events", records, NULL, &written, error))
        return false;
    for (guint i = 0; i < written->len; i++) {
        kw_written *one = written->pdata[i];

        if (one->failure != NULL) {
            g_propagate_error(error, g_steal_pointer(&one->failure));
            return false;
        }
    }
    printf("put %u events\n", records->len);
    return true;
}

static kw_query *
events_of(const char *order_id)
{
    kw_query *query = kw_query_new("order_events");

    kw_query_where(query, "order_id", kw_text(order_id));
    return query;
}

static bool
show_latest(kw_client *client, const char *order_id, GError **error)
{
    g_autoptr(kw_query) query = events_of(order_id);
    g_autoptr(kw_scan) scan = NULL;
    const kw_record *record;

    kw_query_limit(query, 1);
    scan = kw_client_latest(client, query, error);
    if (scan == NULL || !kw_scan_next(scan, &record, error))
        return false;
    printf("latest %s: %s, %d scanned\n", order_id, kw_record_get(record, "status").text,
           (int)kw_scan_rows_scanned(scan));
    return true;
}

/* Newest first, three rows per page: the scan fetches the pages itself. */
static bool
show_all(kw_client *client, const char *order_id, GError **error)
{
    g_autoptr(kw_query) query = events_of(order_id);
    g_autoptr(kw_scan) scan = NULL;
    g_autoptr(GError) failure = NULL;
    const kw_record *record;

    kw_query_order(query, true);
    kw_query_page(query, 3, 0);
    scan = kw_client_scan(client, query, error);
    if (scan == NULL)
        return false;
    printf("events %s:", order_id);
    while (kw_scan_next(scan, &record, &failure))
        printf(" %s", kw_record_get(record, "status").text);
    printf("\n");
    if (failure == NULL)
        return true;
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

static void
show_error(kw_client *client)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_table_info) table = kw_client_describe(client, "no_such_table", &error);

    if (g_error_matches(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND))
        printf("error NOT_FOUND\n");
}

int
main(int argc, char **argv)
{
    kw_client_options options = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = NULL;

    for (int i = 2; i < argc; i++) {
        options.framed |= strcmp(argv[i], "framed") == 0;
        options.compact |= strcmp(argv[i], "compact") == 0;
    }
    client = kw_client_open(argc > 1 ? argv[1] : "127.0.0.1:9595", &options, &error);
    if (client == NULL || !put_events(client, &error) || !show_latest(client, "A-1002", &error) ||
        !show_all(client, "A-1002", &error)) {
        fprintf(stderr, "orders: %s\n", error->message);
        return 1;
    }
    show_error(client);
    return 0;
}
