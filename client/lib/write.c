/* put, putMany, remove, removeMany, increment, putIf, compareAndPut and allocate. */
#include "lib/client.h"
#include "lib/error.h"
#include "lib/many.h"
#include "lib/record.h"

/* Converts the Written of a single write to success or an error. */
static bool
conclude(KeywayWritten *written, kw_record **ret_generated, GError **error)
{
    GError *failure = kw_written_failure(written);

    if (failure != NULL) {
        g_propagate_error(error, failure);
        return false;
    }
    if (ret_generated != NULL)
        *ret_generated = written->__isset_made ? kw_record_steal(&written->made) : NULL;
    return true;
}

bool
kw_client_put(kw_client *client, const char *table, const kw_record *record, const kw_call_options *options,
              kw_record **ret_generated, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GObject) written = g_object_new(KEYWAY_TYPE_WRITTEN, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "put", KW_RESULT_STRUCT, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_put(call.data, (KeywayWritten **)&written, table, kw_record_table(record),
                                (KeywayOptions *)thrift_options, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error) &&
           conclude((KeywayWritten *)written, ret_generated, error);
}

/* Converts the list of Written of putMany and removeMany. */
static bool
conclude_many(guint asked, GPtrArray *written, GPtrArray **ret_written, GError **error)
{
    g_autoptr(GError) failure = NULL;

    if (!kw_count_matches(asked, written->len, &failure)) {
        kw_client_error_mark_maybe_applied(failure);
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    *ret_written = kw_written_array(written);
    return true;
}

bool
kw_client_put_many(kw_client *client, const char *table, const GPtrArray *records,
                   const kw_call_options *options, GPtrArray **ret_written, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "putMany", KW_RESULT_LIST, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_put_many(call.data, &written, table, records, (KeywayOptions *)thrift_options,
                                     &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error) &&
           conclude_many(records->len, written, ret_written, error);
}

bool
kw_client_remove(kw_client *client, const char *table, const kw_record *key, const char *const *columns,
                 const kw_call_options *options, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GObject) written = g_object_new(KEYWAY_TYPE_WRITTEN, NULL);
    g_autoptr(GPtrArray) names = kw_names_to_thrift(columns);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "remove", KW_RESULT_STRUCT, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_remove(call.data, (KeywayWritten **)&written, table, kw_record_table(key), names,
                                   (KeywayOptions *)thrift_options, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error) && conclude((KeywayWritten *)written, NULL, error);
}

bool
kw_client_remove_many(kw_client *client, const char *table, const GPtrArray *keys, const char *const *columns,
                      const kw_call_options *options, GPtrArray **ret_written, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GPtrArray) names = kw_names_to_thrift(columns);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "removeMany", KW_RESULT_LIST, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_remove_many(call.data, &written, table, keys, names,
                                        (KeywayOptions *)thrift_options, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error) &&
           conclude_many(keys->len, written, ret_written, error);
}

/* Converts the amounts to a table from the field's name (borrowed) to gint64 *, the form of the generated
 * code. */
static GHashTable *
amounts_to_thrift(const kw_record *amounts, GError **error)
{
    g_autoptr(GHashTable) table = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    g_autofree const char **fields = kw_record_fields(amounts);

    for (const char **field = fields; *field != NULL; field++) {
        kw_value value = kw_record_get(amounts, *field);

        if (value.kind != KW_VALUE_NUMBER) {
            kw_client_error_set(error, KW_CLIENT_INVALID, "field %s: the amount to add must be an integer",
                                *field);
            return NULL;
        }
        g_hash_table_insert(table, (gpointer)*field, g_memdup2(&value.number, sizeof value.number));
    }
    return g_steal_pointer(&table);
}

bool
kw_client_increment(kw_client *client, const char *table, const kw_record *key, const kw_record *amounts,
                    const kw_call_options *options, kw_record **ret_values, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(kw_record) values = kw_record_new();
    g_autoptr(GHashTable) thrift_amounts = amounts_to_thrift(amounts, error);
    GHashTable *into = kw_record_table(values);
    kw_client_call call;
    bool ok;

    if (thrift_amounts == NULL)
        return false;
    if (!kw_client_call_begin(&call, client, "increment", KW_RESULT_MAP, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_increment(call.data, &into, table, kw_record_table(key), thrift_amounts,
                                      (KeywayOptions *)thrift_options, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_WRITES, error))
        return false;
    *ret_values = g_steal_pointer(&values);
    return true;
}

static KeywayCondition *
condition_to_thrift(const kw_condition *condition)
{
    KeywayCondition *thrift = g_object_new(KEYWAY_TYPE_CONDITION, NULL);

    thrift->field = g_strdup(condition->field);
    thrift->op = (KeywayCompareOp)condition->compare;
    g_clear_object(&thrift->value);
    thrift->value = kw_value_to_thrift(condition->value);
    thrift->__isset_value = condition->value.kind != KW_VALUE_NONE;
    return thrift;
}

bool
kw_client_put_if(kw_client *client, const char *table, const kw_record *record, const kw_condition *condition,
                 const kw_call_options *options, bool *ret_written, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GObject) thrift_condition = (GObject *)condition_to_thrift(condition);
    gboolean written = FALSE;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "putIf", KW_RESULT_BOOL, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_put_if(call.data, &written, table, kw_record_table(record),
                                   (KeywayCondition *)thrift_condition, (KeywayOptions *)thrift_options,
                                   &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_WRITES, error))
        return false;
    *ret_written = written;
    return true;
}

bool
kw_client_compare_and_put(kw_client *client, const char *table, const kw_record *record,
                          const kw_condition *condition, const kw_call_options *options, bool *ret_written,
                          kw_record **ret_generated, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GObject) thrift_condition = (GObject *)condition_to_thrift(condition);
    g_autoptr(GObject) answer = g_object_new(KEYWAY_TYPE_DECIDED, NULL);
    KeywayDecided *decided;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "compareAndPut", KW_RESULT_STRUCT, kw_call_deadline(options),
                              error))
        return false;
    ok = keyway_data_client_compare_and_put(call.data, (KeywayDecided **)&answer, table,
                                            kw_record_table(record), (KeywayCondition *)thrift_condition,
                                            (KeywayOptions *)thrift_options, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_WRITES, error))
        return false;
    decided = (KeywayDecided *)answer;
    *ret_written = decided->applied;
    if (ret_generated != NULL)
        *ret_generated = decided->__isset_made ? kw_record_steal(&decided->made) : NULL;
    return true;
}

bool
kw_client_allocate(kw_client *client, const char *table, const char *field, const kw_record *scope,
                   gint64 count, const kw_call_options *options, gint64 *ret_first, gint64 *ret_count,
                   GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GObject) block = g_object_new(KEYWAY_TYPE_ALLOCATION, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "allocate", KW_RESULT_STRUCT, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_allocate(call.data, (KeywayAllocation **)&block, table, field, count,
                                     (KeywayOptions *)thrift_options, scope ? kw_record_table(scope) : NULL,
                                     &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_WRITES, error))
        return false;
    *ret_first = ((KeywayAllocation *)block)->first;
    *ret_count = ((KeywayAllocation *)block)->count;
    return true;
}
