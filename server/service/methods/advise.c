/* advise: compiles the candidates, converts the sample and the queries for each of them, and evaluates them
 * with the advise module. All on a worker thread, without using a store. */
#include "service/methods/advise.h"

#include "service/methods.h"
#include "service/methods/candidate.h"
#include "service/methods/convert.h"
#include "service/show.h"

/* --- limits -------------------------------------------------------------------------------------- */

static bool
check_count(const char *what, uint64_t count, uint64_t least, uint64_t most, kw_error *ret_error)
{
    if (count < least)
        return kw_error_set(ret_error, KW_INVALID, "the list of %s is empty; advise needs at least one",
                            what);
    return count <= most ||
           kw_error_set(ret_error, KW_LIMIT,
                        "advise takes at most %" G_GUINT64_FORMAT " %s, not %" G_GUINT64_FORMAT, most, what,
                        count);
}

static bool
check_options(const kw_api_Admin_advise_args *args, kw_error *ret_error)
{
    const kw_api_AdviseOptions *options = args->has_options ? args->options : NULL;
    if (options && options->has_regions && (options->regions < 1 || options->regions > KW_ADVISE_REGIONS_MAX))
        return kw_error_set(ret_error, KW_INVALID, "regions must be 1 to %d, not %d", KW_ADVISE_REGIONS_MAX,
                            options->regions);
    if (options && options->has_window_ms && options->window_ms < 1)
        return kw_error_set(ret_error, KW_INVALID, "window_ms must be at least 1, not %" G_GINT64_FORMAT,
                            options->window_ms);
    return true;
}

static bool
check_sizes(const kw_api_Admin_advise_args *args, kw_error *ret_error)
{
    uint64_t checks = (uint64_t)args->candidates.count * args->sample.count * args->queries.count;
    return check_count("candidates", args->candidates.count, 1, KW_ADVISE_CANDIDATES_MAX, ret_error) &&
           check_count("sample records", args->sample.count, 1, KW_ADVISE_RECORDS_MAX, ret_error) &&
           check_count("queries", args->queries.count, 0, KW_ADVISE_QUERIES_MAX, ret_error) &&
           check_count("candidates x records x queries", checks, 0, KW_ADVISE_CHECKS_MAX, ret_error) &&
           check_options(args, ret_error);
}

/* --- one candidate ------------------------------------------------------------------------------- */

/* Converts the sample for a candidate. If its table rejects records, keeps the first reason. */
static void
read_sample(kw_advising *self, kw_candidate *candidate)
{
    size_t count = self->args->sample.count;
    kw_record *records = KW_ARENA_ARRAY(self->arena, kw_record, count);
    kw_generated_state *states =
        KW_ARENA_ARRAY(self->arena, kw_generated_state, candidate->table->generated_count);
    for (size_t index = 0; index < count && kw_offload_can_continue(&self->offload.effort, self->arena);
         index++) {
        kw_error error = KW_ERROR_NONE;
        if (kw_convert_record(candidate->table, &self->args->sample.items[index], self->arena,
                              &records[index], &error))
            kw_advise_fill_generated(candidate->table, index, states, self->arena, &records[index]);
        else if (!candidate->rejection)
            candidate->rejection = kw_arena_printf(self->arena, "record %zu: %s", index + 1, error.text);
    }
    candidate->records = records;
}

static bool
read_queries(kw_advising *self, kw_candidate *candidate, const kw_policy *policy, kw_error *ret_error)
{
    size_t count = self->args->queries.count;
    kw_candidate_query *asked = KW_ARENA_ARRAY(self->arena, kw_candidate_query, count);
    for (size_t index = 0; index < count; index++) {
        const kw_api_NamedQuery *from = &self->args->queries.items[index];
        kw_scan_request *request = KW_ARENA_NEW(self->arena, kw_scan_request);
        kw_error error = KW_ERROR_NONE;
        asked[index].name = kw_arena_text(self->arena, from->name);
        if (!kw_bytes_equal(from->query->table, kw_bytes_of_text(candidate->table->name)) &&
            from->query->table.size > 0)
            return kw_error_set(ret_error, KW_INVALID, "query %zu uses another table than %s", index + 1,
                                candidate->table->name);
        if (kw_scan_request_on_table(candidate->table, &kw_policy_model(policy)->limits, from->query,
                                     self->arena, request, &error))
            asked[index].query = request->query;
        else
            asked[index].refusal = kw_arena_printf(self->arena, "%s", error.text);
    }
    candidate->queries = asked;
    return true;
}

static bool
read_candidate(kw_advising *self, size_t index, kw_error *ret_error)
{
    const kw_api_Candidate *from = &self->args->candidates.items[index];
    kw_candidate *candidate = &self->candidates[index];
    kw_bytes table = self->args->has_table ? self->args->table : KW_BYTES_NONE;
    self->policies[index] = kw_candidate_compile(from->name, from->text, &self->offload.effort, ret_error);
    if (!self->policies[index])
        return false;
    candidate->name = kw_arena_text(self->arena, from->name);
    candidate->table = kw_candidate_table(self->policies[index], from->name, table, ret_error);
    if (!candidate->table)
        return false;
    read_sample(self, candidate);
    return read_queries(self, candidate, self->policies[index], ret_error);
}

/* --- times of records ---------------------------------------------------------------------------- */

/* Index of the first converted record without the field; count if there is none. */
static size_t
first_without(const kw_candidate *candidate, size_t count, size_t field)
{
    for (size_t index = 0; index < count; index++) {
        const kw_value *values = candidate->records[index].values;
        if (values && values[field].kind != KW_VALUE_NUMBER)
            return index;
    }
    return count;
}

static bool
choose_time_field(kw_advising *self, kw_error *ret_error)
{
    const kw_api_AdviseOptions *options = self->args->has_options ? self->args->options : NULL;
    const kw_candidate *candidate = &self->candidates[0];
    size_t count = self->settings.records_count, field = 0;
    self->time_field = -1;
    if (options && options->has_time_field) {
        if (!kw_convert_field(candidate->table, options->time_field, &field, ret_error))
            return false;
        if (candidate->table->fields[field].type != KW_FIELD_TIMESTAMP)
            return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is not a timestamp",
                                candidate->table->name, candidate->table->fields[field].name);
        size_t without = first_without(candidate, count, field);
        if (without < count)
            return kw_error_set(ret_error, KW_INVALID, "sample record %zu has no %s", without + 1,
                                candidate->table->fields[field].name);
        self->time_field = (int)field;
        return true;
    }
    for (field = candidate->table->fields_count; field > 0; field--)
        if (candidate->table->fields[field - 1].type == KW_FIELD_TIMESTAMP &&
            first_without(candidate, count, field - 1) == count)
            self->time_field = (int)field - 1;
    return true;
}

/* Reads the time of each record. A record that the first candidate rejects gets the time of the last accepted
 * record before it, or of the first accepted one if none is before it. */
static void
read_times(kw_advising *self)
{
    size_t count = self->settings.records_count;
    if (self->time_field < 0)
        return;
    int64_t *times = KW_ARENA_ARRAY(self->arena, int64_t, count), last = 0;
    const kw_field *field = &self->candidates[0].table->fields[self->time_field];
    bool seen = false;
    for (size_t index = 0; index < count; index++) {
        const kw_value *values = self->candidates[0].records[index].values;
        if (values)
            last = kw_advise_time_ms(field, values[self->time_field]);
        for (size_t before = 0; values && !seen && before < index; before++)
            times[before] = last;
        seen = seen || values;
        times[index] = last;
    }
    self->settings.times_ms = times;
}

/* --- the call ------------------------------------------------------------------------------------ */

static bool
advise(kw_advising *self, kw_error *ret_error)
{
    const kw_api_AdviseOptions *options = self->args->has_options ? self->args->options : NULL;
    if (!check_sizes(self->args, ret_error))
        return false;
    for (size_t index = 0; index < self->args->candidates.count; index++)
        if (!read_candidate(self, index, ret_error))
            return false;
    self->settings.records_count = self->args->sample.count;
    self->settings.queries_count = self->args->queries.count;
    self->settings.regions = options && options->has_regions ? (uint32_t)options->regions : 0;
    self->settings.window_ms = options && options->has_window_ms ? options->window_ms : 0;
    if (!choose_time_field(self, ret_error))
        return false;
    read_times(self);
    self->settings.effort = &self->offload.effort;
    return kw_advise(self->candidates, self->args->candidates.count, &self->settings, self->arena,
                     &self->advice);
}

static bool
advise_on_worker(kw_offload *offload)
{
    kw_advising *self = (kw_advising *)offload;
    self->arena = offload->arena;
    bool good = advise(self, &offload->error);
    if (good)
        self->reply = kw_advise_reply(self);
    return good;
}

static void
reply(kw_offload *offload, const kw_error *error)
{
    kw_advising *self = (kw_advising *)offload;
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        kw_exchange_reply(offload->exchange,
                          &(kw_api_Admin_advise_result){.has_success = true, .success = self->reply});
    for (size_t index = 0; index < KW_ADVISE_CANDIDATES_MAX; index++)
        kw_policy_unref(self->policies[index]);
    g_free(self);
}

void
kw_serve_advise(kw_exchange *exchange)
{
    kw_advising *self = g_new0(kw_advising, 1);
    self->args = exchange->args;
    kw_offload_start(&self->offload, exchange, advise_on_worker, reply);
}
