#include "service/reply_budget.h"

#include "path/reply_size.h"
#include "service/errors.h"

/* Space for the heads of message, result and list. */
#define HEAD_BYTES ((size_t)400)
/* The longest generated value is a UUID as text. */
#define GENERATED_BYTES ((size_t)40)

static size_t
reply_bytes(const kw_exchange *exchange)
{
    size_t most = (size_t)kw_exchange_model(exchange)->limits.frame_bytes;
    return most - MIN(most, HEAD_BYTES);
}

bool
kw_reply_budget_begin(const kw_exchange *exchange, size_t count, size_t each,
                      kw_reply_budget *ret_reply_budget, kw_error *ret_error)
{
    size_t most = reply_bytes(exchange), least = KW_REPLY_BUDGET_LEAST + each;
    *ret_reply_budget = (kw_reply_budget){.most = (size_t)kw_exchange_model(exchange)->limits.frame_bytes};
    if (count > most / least)
        return kw_error_set(
            ret_error, KW_LIMIT,
            "a reply for %zu records might not fit into %zu bytes (limits.frame); name at most %zu in "
            "one call",
            count, ret_reply_budget->most, most / least);
    ret_reply_budget->left = most - count * least;
    return true;
}

size_t
kw_reply_budget_for_generated(const kw_exchange *exchange, const kw_table *table, size_t count,
                              size_t *ret_each)
{
    size_t most = reply_bytes(exchange), each = table->generated_count ? KW_REPLY_RECORD_BYTES : 0;
    for (size_t i = 0; i < table->generated_count; i++)
        each += KW_REPLY_NAME_BYTES + strlen(table->fields[table->generated[i]].name) + KW_REPLY_VALUE_BYTES +
                GENERATED_BYTES;
    *ret_each = each;
    if (count > most / KW_REPLY_BUDGET_LEAST)
        return 0;
    return each ? MIN(count, (most - count * KW_REPLY_BUDGET_LEAST) / each) : count;
}

bool
kw_reply_budget_holds(const kw_exchange *exchange, const kw_table *table, const kw_pick *picks, size_t count,
                      kw_error *ret_error)
{
    size_t most = reply_bytes(exchange), bytes = KW_REPLY_RECORD_BYTES;
    for (size_t i = 0; i < count; i++)
        bytes += KW_REPLY_NAME_BYTES + strlen(table->fields[picks[i].field].name) + KW_REPLY_VALUE_BYTES +
                 KW_REPLY_NAME_BYTES + picks[i].entry.size + KW_REPLY_VALUE_BYTES;
    return bytes <= most ||
           kw_error_set(ret_error, KW_LIMIT,
                        "table %s: a reply with %zu values might not fit into %" G_GINT64_FORMAT
                        " bytes (limits.frame)",
                        table->name, count, kw_exchange_model(exchange)->limits.frame_bytes);
}

static bool
use(kw_reply_budget *reply_budget, size_t bytes)
{
    size_t more = bytes - MIN(bytes, KW_REPLY_BUDGET_LEAST);
    if (more > reply_budget->left)
        return false;
    reply_budget->left -= more;
    return true;
}

bool
kw_reply_budget_add_record(kw_reply_budget *reply_budget, const kw_table *table, const kw_record *record)
{
    return use(reply_budget, kw_record_reply_bytes(table, record));
}

const kw_api_Failure *
kw_reply_budget_add_failure(kw_reply_budget *reply_budget, const kw_error *error, kw_arena *arena)
{
    kw_error brief = *error;
    if (!use(reply_budget, KW_REPLY_BUDGET_LEAST + strlen(error->text)))
        brief.text[0] = '\0';
    return kw_errors_failure(&brief, arena);
}

void
kw_reply_budget_refuse(const kw_reply_budget *reply_budget, kw_error *ret_error)
{
    kw_metrics_add(KW_METRIC_replies_too_large, 1);
    kw_error_set(
        ret_error, KW_LIMIT,
        "the record does not fit into the reply together with the others; a reply can have at most %zu bytes "
        "(limits.frame); request it in another call, or request fewer columns",
        reply_budget->most);
}
