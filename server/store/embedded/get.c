/* Point reads, and look-ups of table facts and regions. Each is a job for a reader thread. A small point
 * read is first tried on its loop with the data in memory. That takes a few microseconds, whereas a reader
 * thread costs two wake-ups of threads. */
#include "base/metrics.h"
#include "base/shortage.h"
#include "store/check.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/reader.h"
#include "store/embedded/row_filter.h"

bool
kw_embedded_check_deadline(kw_deadline deadline, const char *doing, kw_error *ret_error)
{
    return !kw_deadline_passed(deadline) ||
           kw_error_set(ret_error, KW_TIMEOUT, "the deadline passed before %s", doing);
}

/* The maximum that a loop reads itself. More gets or larger rows would delay its other work for too long. A
 * unit of effort takes about a nanosecond. */
#define MEMORY_GETS_MAX 16
#define MEMORY_COLUMNS_MAX 1000
#define MEMORY_EFFORT_MAX ((uint64_t)256 * 1024)
/* Maximum time of a call's slow filter, because calls share the filter threads. */
#define SLOW_FILTER_MAX_MS 10000

typedef struct get_job {
    kw_pool_job job;
    kw_embedded_handle *handle;
    const kw_get *const *gets;
    const kw_get *one; /* `gets` points to this one if it is a single get */
    size_t count;
    kw_get_done done;
    void *user;
    kw_rows *rows;
    bool memory_only;   /* on the loop: read data in memory only */
    bool needs_disk;    /* the data in memory did not suffice, or the rows are too large for the loop */
    bool limit_reached; /* a row exceeded max_bytes: omit all later ones */
    bool too_large;     /* the last row alone exceeds the limit */
    kw_effort effort;
    kw_selection selection; /* while rows are read: of the get `selected` */
    const kw_get *selected; /* NULL: none */
    kw_error error;
} get_job;

static bool
is_cancelled(void *user)
{
    const get_job *job = user;
    return atomic_load_explicit(&job->handle->closing, memory_order_relaxed) ||
           kw_account_client_is_gone(job->gets[0]->account);
}

/* True if the filter is known to be fast. A filter that is not compiled yet is Keyway's own and fast. */
static bool
filters_quickly(const kw_get *get)
{
    return !get->prepared || !kw_prepared_is_slow(get->prepared);
}

static kw_read_request
request_of_get(const kw_get *get)
{
    return (kw_read_request){.table = get->table,
                             .columns = get->columns,
                             .columns_count = get->columns_count,
                             .max_versions = get->max_versions,
                             .time_from = get->time_from,
                             .time_to = get->time_to,
                             .filter = get->filter,
                             .prepared = get->prepared};
}

/* Replaces *ret_row with what the filter keeps of the row. False if the filter failed. */
static bool
apply_filter(get_job *job, kw_row_filter *row_filter, kw_row *row, kw_row *ret_row)
{
    kw_row kept = {.key = ret_row->key};
    kw_filter_verdict verdict = kw_row_filter_apply(row_filter, row, job->rows, &kept, &job->error);
    *ret_row = kept;
    return verdict != KW_FILTER_ROW_FAILED;
}

static bool
found_in_memory(get_job *job, const rocksdb_iterator_t *at)
{
    char *failed = NULL;
    rocksdb_iter_get_error(at, &failed);
    job->needs_disk = failed && g_str_has_prefix(failed, "Result incomplete");
    rocksdb_free(failed);
    return !job->needs_disk;
}

static bool
iterator_good(get_job *job, const rocksdb_iterator_t *at)
{
    return (!job->memory_only || found_in_memory(job, at)) && kw_engine_check_iterator(at, &job->error);
}

static bool
read_selected(get_job *job, kw_reader *reader, kw_row_filter *row_filter, kw_bytes key, kw_row *ret_row)
{
    kw_row row = {0};
    if (kw_row_filter_is_active(row_filter))
        kw_row_filter_begin_row(row_filter, &reader->version_filter);
    else
        kw_version_filter_set_output(&reader->version_filter, job->rows);
    bool visible = kw_reader_get(reader, key, &row);
    bool good = iterator_good(job, reader->iterator);
    job->too_large = reader->version_filter.too_large;
    if (visible && !kw_row_filter_is_active(row_filter)) {
        *ret_row = row;
        job->rows->bytes += reader->version_filter.bytes;
        return good;
    }
    *ret_row = (kw_row){.key = kw_arena_copy(job->rows->arena, key)};
    return good && (!visible || apply_filter(job, row_filter, &row, ret_row));
}

/* False if the reader gave up a row: its deadline passed, the store handle closes, memory is short, or the
 * row needs more effort than is allowed on a loop. */
static bool
check_effort(get_job *job)
{
    bool short_of_memory = job->effort.shortage != KW_SHORTAGE_NONE;
    job->needs_disk = job->needs_disk || (job->memory_only && job->effort.over && !short_of_memory);
    return !job->effort.over || kw_effort_fail(&job->effort, "a row was read", &job->error);
}

/* True if both gets request the same cells of their rows. */
static bool
same_request(const kw_get *a, const kw_get *b)
{
    return a->columns == b->columns && a->columns_count == b->columns_count &&
           a->max_versions == b->max_versions && a->time_from == b->time_from && a->time_to == b->time_to &&
           a->filter.data == b->filter.data && a->filter.size == b->filter.size;
}

/* Sets job->selection. The gets of a call usually have the same columns, so it is kept for the next get. */
static bool
select_cells(get_job *job, kw_stored_table *table, const kw_get *get)
{
    kw_read_request request = request_of_get(get);
    if (job->selected && same_request(job->selected, get))
        return true;
    kw_selection_clear(&job->selection);
    job->selected = get;
    return kw_selection_init_on(&job->selection, table, &request, &job->error);
}

static bool
read_one(get_job *job, rocksdb_iterator_t *at, kw_stored_table *table, const kw_get *get, kw_row *ret_row)
{
    kw_row_filter row_filter;
    kw_read_request request = request_of_get(get);
    if (!select_cells(job, table, get))
        return false;
    kw_reader reader;
    kw_reader_init(&reader, at, &job->selection);
    reader.effort = &job->effort;
    kw_account *account = job->gets[0]->account;
    kw_version_filter_limit_rows(&reader.version_filter, account, job->gets[0]->max_bytes,
                                 get->filter.size > 0);
    bool good = kw_row_filter_init(&row_filter, &request, false, account, &job->effort, &job->error) &&
                read_selected(job, &reader, &row_filter, get->row, ret_row) && check_effort(job);
    kw_row_filter_clear(&row_filter);
    kw_reader_clear(&reader);
    return good;
}

static void
omit(get_job *job, size_t index, kw_omission why)
{
    job->rows->rows[index] =
        (kw_row){.key = kw_arena_copy(job->rows->arena, job->gets[index]->row), .omitted = why};
}

/* True if the rows read so far exceed their limits together. Half of what a call can hold is left for the
 * records that are made of them. */
static bool
exceeds_together(const kw_rows *rows, size_t most)
{
    return most > 0 &&
           (rows->bytes > most || (int64_t)kw_arena_held(rows->arena) > kw_budget_call_share() / 2);
}

/* Reads one of the rows that share max_bytes, or omits it. */
static bool
read_within(get_job *job, rocksdb_iterator_t *at, kw_stored_table *table, size_t index)
{
    kw_rows *rows = job->rows;
    size_t most = job->gets[0]->max_bytes, before = rows->bytes;
    kw_arena_mark mark = kw_arena_mark_now(rows->arena);
    if (job->limit_reached) {
        omit(job, index, KW_OMITTED_LIMIT_REACHED);
        return true;
    }
    if (!read_one(job, at, table, job->gets[index], &rows->rows[index]))
        return false;
    bool too_large = job->too_large || (most > 0 && rows->bytes - before > most);
    job->limit_reached = !too_large && exceeds_together(rows, most);
    if (too_large || job->limit_reached) {
        kw_arena_rewind(rows->arena, mark);
        rows->bytes = before;
        omit(job, index, too_large ? KW_OMITTED_TOO_LARGE : KW_OMITTED_LIMIT_REACHED);
    }
    return true;
}

static const rocksdb_readoptions_t *
options_of(const get_job *job)
{
    const kw_embedded *store = job->handle->store;
    if (job->memory_only)
        return store->memory_options;
    return job->gets[0]->keep_blocks_out_of_cache ? store->uncached_options : store->get_options;
}

static bool
read_all(get_job *job)
{
    kw_embedded *store = job->handle->store;
    kw_deadline deadline = job->gets[0]->deadline;
    if (!kw_embedded_check_deadline(deadline, "the rows were read", &job->error) ||
        !kw_shortage_check(job->gets[0]->account, &job->error))
        return false;
    if (!filters_quickly(job->gets[0]))
        deadline = kw_deadline_earlier(deadline, kw_deadline_in_ms(SLOW_FILTER_MAX_MS));
    job->effort = (kw_effort){.deadline = deadline,
                              .is_cancelled = is_cancelled,
                              .user = job,
                              .units_most = job->memory_only ? MEMORY_EFFORT_MAX : 0};
    g_autoptr(kw_stored_table) table = kw_embedded_tables_find(store->tables, job->gets[0]->table);
    if (!table)
        return kw_unknown_table(job->gets[0]->table, &job->error);
    job->rows = kw_rows_new_for(job->gets[0]->account);
    job->effort.arena = job->rows->arena;
    job->limit_reached = job->too_large = false;
    job->rows->rows = KW_ARENA_ARRAY(job->rows->arena, kw_row, job->count);
    kw_iterator_blocks blocks = {0}; /* of a read from memory: those are in the cache */
    if (!job->memory_only)
        blocks = kw_blocks_begin(&store->blocks, !job->gets[0]->keep_blocks_out_of_cache);
    rocksdb_iterator_t *at = rocksdb_create_iterator(store->engine.db, options_of(job));
    bool good = true;
    for (size_t i = 0; good && i < job->count; i++)
        good = read_within(job, at, table, i);
    kw_selection_clear(&job->selection);
    job->selected = NULL;
    rocksdb_iter_destroy(at);
    kw_blocks_end(&store->blocks, &blocks);
    job->rows->count = job->rows->scanned = job->count;
    return good;
}

static void
read_or_fail(get_job *job)
{
    if (read_all(job))
        return;
    kw_rows_free(job->rows);
    job->rows = NULL;
}

static void
work_get(kw_pool_job *base)
{
    get_job *job = (get_job *)base;
    read_or_fail(job);
    kw_loop_post(job->handle->base.loop, &job->job.task);
}

static void
complete_get(kw_task *task)
{
    get_job *job = (get_job *)task;
    g_assert(job->rows || job->error.code != KW_OK);
    if (!job->rows)
        kw_metrics_add(KW_METRIC_store_errors, (int64_t)job->count);
    job->done(job->user, job->rows, job->rows ? NULL : &job->error);
    kw_embedded_end_operation(job->handle);
    g_free(job);
}

static get_job *
get_job_new(kw_store_handle *handle, kw_get_done done, void *user)
{
    get_job *job = g_new(get_job, 1);
    job->job = (kw_pool_job){.task.run = complete_get, .work = work_get};
    job->handle = (kw_embedded_handle *)handle;
    job->done = done;
    job->user = user;
    job->rows = NULL;
    job->selected = NULL;
    job->selection = (kw_selection){0};
    job->memory_only = job->needs_disk = false;
    job->error.code = KW_OK;
    return job;
}

/* Tries to read the rows on the loop. True if they were read or the read failed; the completion runs in the
 * next loop iteration. False if a reader thread must read them. */
static bool
try_in_memory(get_job *job)
{
    static _Thread_local bool thread_prepared;
    if (job->count > MEMORY_GETS_MAX || job->gets[0]->columns_count > MEMORY_COLUMNS_MAX ||
        !filters_quickly(job->gets[0]))
        return false;
    if (!thread_prepared)
        rocksdb_set_perf_level(rocksdb_disable);
    thread_prepared = true;
    job->memory_only = true;
    read_or_fail(job);
    job->memory_only = false;
    if (job->needs_disk)
        return false;
    kw_metrics_add(KW_METRIC_store_reads_from_memory, 1);
    kw_embedded_begin_operation(job->handle);
    kw_loop_post(job->handle->base.loop, &job->job.task);
    return true;
}

static void
start_get(get_job *job)
{
    g_assert(job->count > 0);
    job->job.fair_item = (kw_fair_item){.account = job->gets[0]->account, .call = job->gets[0]->call};
    if (!try_in_memory(job))
        kw_embedded_queue_job(job->handle, &job->job, !filters_quickly(job->gets[0]));
}

void
kw_embedded_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    get_job *job = get_job_new(handle, done, user);
    job->one = get;
    job->gets = &job->one;
    job->count = 1;
    start_get(job);
}

void
kw_embedded_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                     void *user)
{
    get_job *job = get_job_new(handle, done, user);
    job->gets = gets;
    job->count = count;
    start_get(job);
}

/* --- facts and regions ------------------------------------------------------------------------------ */

typedef struct table_job {
    kw_pool_job job;
    kw_embedded_handle *handle;
    kw_bytes table;
    kw_deadline deadline;
    kw_table_facts_done facts_done;
    kw_regions_done regions_done;
    void *user;
    kw_table_facts *facts;
    kw_regions *regions;
    kw_error error;
} table_job;

static kw_table_facts *
facts_of_table(const kw_stored_table *table)
{
    kw_arena *arena = kw_arena_new();
    kw_table_facts *facts = KW_ARENA_NEW(arena, kw_table_facts);
    facts->arena = arena;
    if (!table)
        return facts;
    kw_family_spec *families = KW_ARENA_ARRAY(arena, kw_family_spec, table->families_count);
    for (size_t i = 0; i < table->families_count; i++) {
        const kw_family_spec *spec = &table->families[i].spec;
        families[i] = *spec;
        const char **texts[] = {&families[i].name, &families[i].compression, &families[i].bloom_filter,
                                &families[i].block_encoding};
        for (size_t k = 0; k < G_N_ELEMENTS(texts); k++)
            if (*texts[k])
                *texts[k] = kw_arena_text(arena, kw_bytes_of_text(*texts[k]));
        families[i].max_versions = table->families[i].max_versions;
    }
    facts->exists = true;
    facts->families = families;
    facts->families_count = table->families_count;
    return facts;
}

static kw_regions *
regions_of_table(const kw_stored_table *table)
{
    kw_arena *arena = kw_arena_new();
    kw_regions *regions = KW_ARENA_NEW(arena, kw_regions);
    regions->arena = arena;
    regions->count = table->split_keys_count + 1;
    kw_region *all = KW_ARENA_ARRAY(arena, kw_region, regions->count);
    for (size_t i = 0; i < table->split_keys_count; i++) {
        all[i].stop = kw_arena_copy(arena, table->split_keys[i]);
        all[i + 1].start = all[i].stop;
    }
    regions->regions = all;
    return regions;
}

static void
work_table(kw_pool_job *base)
{
    table_job *job = (table_job *)base;
    if (kw_embedded_check_deadline(job->deadline, "the table was looked up", &job->error)) {
        g_autoptr(kw_stored_table) table = kw_embedded_tables_find(job->handle->store->tables, job->table);
        if (job->facts_done)
            job->facts = facts_of_table(table);
        else if (table)
            job->regions = regions_of_table(table);
        else
            kw_unknown_table(job->table, &job->error);
    }
    kw_loop_post(job->handle->base.loop, &job->job.task);
}

static void
complete_table_job(kw_task *task)
{
    table_job *job = (table_job *)task;
    g_assert(!job->facts_done != !job->regions_done);
    if (job->facts_done)
        job->facts_done(job->user, job->facts, job->facts ? NULL : &job->error);
    else
        job->regions_done(job->user, job->regions, job->regions ? NULL : &job->error);
    kw_embedded_end_operation(job->handle);
    g_free(job);
}

static table_job *
table_job_new(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, void *user)
{
    table_job *job = g_new0(table_job, 1);
    job->job = (kw_pool_job){.task.run = complete_table_job, .work = work_table};
    job->handle = (kw_embedded_handle *)handle;
    job->table = table;
    job->deadline = deadline;
    job->user = user;
    return job;
}

void
kw_embedded_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                           kw_table_facts_done done, void *user)
{
    table_job *job = table_job_new(handle, table, deadline, user);
    job->facts_done = done;
    kw_embedded_queue_job(job->handle, &job->job, false);
}

void
kw_embedded_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                    void *user)
{
    table_job *job = table_job_new(handle, table, deadline, user);
    job->regions_done = done;
    kw_embedded_queue_job(job->handle, &job->job, false);
}
