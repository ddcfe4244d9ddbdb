/* Point reads, facts and regions: each a job for a reader thread. A point read is first tried on the loop,
 * with what is in memory: that takes some microseconds, the way to a reader and back takes two wake-ups of
 * threads.
 */
#include "base/metrics.h"
#include "base/shortage.h"
#include "store/check.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/reader.h"
#include "store/embedded/row_filter.h"

/* Before a filter has seen it, a row may have so many bytes. */
#define FILTERED_ROW_BYTES ((int64_t)256 * 1024 * 1024)

bool
kw_embedded_check_deadline(kw_deadline deadline, const char *doing, kw_error *ret_error)
{
    return !kw_deadline_passed(deadline) ||
           kw_error_set(ret_error, KW_TIMEOUT, "the deadline passed before %s", doing);
}

size_t
kw_embedded_row_bytes(const kw_account *account, size_t most, bool filters)
{
    if (most == 0 || !filters)
        return most;
    int64_t room = MIN(kw_budget_room(account) / 2, FILTERED_ROW_BYTES);
    return MAX(most, (size_t)room);
}

/* What a loop reads itself: more gets, or larger rows, would keep it from others for too long. A unit is
 * about a nanosecond. */
#define NEAR_MAX 16
#define NEAR_UNITS ((uint64_t)256 * 1024)
/* Rows of one call that are filtered slowly share a sifter with other callers. */
#define SLOW_MS 10000

typedef struct get_job {
    kw_job job;
    kw_embedded_handle *handle;
    const kw_get *const *gets;
    const kw_get *one; /* what gets points at, for a single one */
    size_t count;
    kw_get_done done;
    void *user;
    kw_rows *rows;
    bool near;       /* on the loop, from memory only */
    bool incomplete; /* that was not enough */
    bool full;       /* a row did not fit: those after it are left out */
    bool too_large;  /* the row read last */
    kw_effort effort;
    kw_error error;
} get_job;

static bool
is_closing(void *user)
{
    return atomic_load_explicit(&((get_job *)user)->handle->closing, memory_order_relaxed);
}

/* The filter is known to be quick. A text that nobody prepared is one of our own, which all are. */
static bool
filters_quickly(const kw_get *get)
{
    return !get->prepared || !kw_prepared_is_slow(get->prepared);
}

static kw_asked
asked_by(const kw_get *get)
{
    return (kw_asked){.table = get->table,
                      .columns = get->columns,
                      .columns_count = get->columns_count,
                      .max_versions = get->max_versions,
                      .time_from = get->time_from,
                      .time_to = get->time_to,
                      .filter = get->filter,
                      .prepared = get->prepared};
}

/* False: the filter failed. */
static bool
sift(get_job *job, kw_row_filter *row_filter, kw_row *row, kw_row *ret_row)
{
    kw_row kept = {.key = ret_row->key};
    kw_filter_verdict verdict = kw_row_filter_row(row_filter, row, job->rows, &kept, &job->error);
    *ret_row = kept;
    return verdict != KW_FILTER_ROW_FAILED;
}

static bool
found_in_memory(get_job *job, const rocksdb_iterator_t *at)
{
    char *failed = NULL;
    rocksdb_iter_get_error(at, &failed);
    job->incomplete = failed && g_str_has_prefix(failed, "Result incomplete");
    rocksdb_free(failed);
    return !job->incomplete;
}

static bool
iterator_good(get_job *job, const rocksdb_iterator_t *at)
{
    return (!job->near || found_in_memory(job, at)) && kw_engine_iterator_good(at, &job->error);
}

static bool
read_selected(get_job *job, kw_reader *reader, kw_row_filter *row_filter, kw_bytes key, kw_row *ret_row)
{
    kw_row row = {0};
    if (kw_row_filter_filters(row_filter))
        kw_row_filter_begin(row_filter, &reader->view);
    else
        kw_version_filter_direct(&reader->view, job->rows);
    bool seen = kw_reader_get(reader, key, &row);
    bool good = iterator_good(job, reader->at);
    job->too_large = reader->view.too_large;
    if (seen && !kw_row_filter_filters(row_filter)) {
        *ret_row = row;
        job->rows->bytes += reader->view.bytes;
        return good;
    }
    *ret_row = (kw_row){.key = kw_arena_copy(job->rows->arena, key)};
    return good && (!seen || sift(job, row_filter, &row, ret_row));
}

/* Reading a row that is too large for the time, or for the loop, was given up. */
static bool
is_whole(get_job *job)
{
    job->incomplete = job->incomplete || (job->near && job->effort.over);
    return !job->effort.over || kw_effort_fail(&job->effort, "a row was read", &job->error);
}

static bool
read_one(get_job *job, rocksdb_iterator_t *at, kw_stored_table *table, const kw_get *get, kw_row *ret_row)
{
    kw_selection selection;
    kw_row_filter row_filter;
    kw_asked asked = asked_by(get);
    if (!kw_selection_init_on(&selection, table, &asked, &job->error))
        return false;
    kw_reader reader;
    kw_reader_init(&reader, at, &selection);
    reader.effort = &job->effort;
    reader.view.most =
        kw_embedded_row_bytes(job->gets[0]->account, job->gets[0]->max_bytes, get->filter.size > 0);
    bool good = kw_row_filter_init(&row_filter, &asked, false, &job->effort, &job->error) &&
                read_selected(job, &reader, &row_filter, get->row, ret_row) && is_whole(job);
    kw_row_filter_clear(&row_filter);
    kw_reader_clear(&reader);
    kw_selection_clear(&selection);
    return good;
}

static void
omit(get_job *job, size_t index, kw_omission why)
{
    job->rows->rows[index] =
        (kw_row){.key = kw_arena_copy(job->rows->arena, job->gets[index]->row), .omitted = why};
}

/* One of several rows that share max_bytes. */
static bool
read_within(get_job *job, rocksdb_iterator_t *at, kw_stored_table *table, size_t index)
{
    kw_rows *rows = job->rows;
    size_t most = job->gets[0]->max_bytes, before = rows->bytes;
    kw_arena_mark mark = kw_arena_mark_now(rows->arena);
    if (job->full) {
        omit(job, index, KW_OMITTED_NO_ROOM);
        return true;
    }
    if (!read_one(job, at, table, job->gets[index], &rows->rows[index]))
        return false;
    bool too_large = job->too_large || (most > 0 && rows->bytes - before > most);
    job->full = !too_large && most > 0 && rows->bytes > most;
    if (too_large || job->full) {
        kw_arena_rewind(rows->arena, mark);
        rows->bytes = before;
        omit(job, index, too_large ? KW_OMITTED_TOO_LARGE : KW_OMITTED_NO_ROOM);
    }
    return true;
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
        deadline = kw_deadline_earlier(deadline, kw_deadline_in_ms(SLOW_MS));
    job->effort = (kw_effort){.deadline = deadline,
                              .is_cancelled = is_closing,
                              .user = job,
                              .units_most = job->near ? NEAR_UNITS : 0};
    g_autoptr(kw_stored_table) table = kw_embedded_tables_find(store->catalog, job->gets[0]->table);
    if (!table)
        return kw_unknown_table(job->gets[0]->table, &job->error);
    job->rows = kw_rows_new_for(job->gets[0]->account);
    job->full = job->too_large = false;
    job->rows->rows = KW_ARENA_ARRAY(job->rows->arena, kw_row, job->count);
    rocksdb_iterator_t *at =
        rocksdb_create_iterator(store->engine.db, job->near ? store->near_options : store->get_options);
    bool good = true;
    for (size_t i = 0; good && i < job->count; i++)
        good = read_within(job, at, table, i);
    rocksdb_iter_destroy(at);
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
work_get(kw_job *base)
{
    get_job *job = (get_job *)base;
    read_or_fail(job);
    kw_loop_post(job->handle->base.loop, &job->job.task);
}

static void
tell_get(kw_task *task)
{
    get_job *job = (get_job *)task;
    if (!job->rows)
        kw_metrics_add(KW_METRIC_store_errors, 1);
    job->done(job->user, job->rows, job->rows ? NULL : &job->error);
    kw_embedded_end(job->handle);
    g_free(job);
}

static get_job *
get_job_new(kw_store_handle *handle, kw_get_done done, void *user)
{
    get_job *job = g_new(get_job, 1);
    job->job = (kw_job){.task.run = tell_get, .work = work_get};
    job->handle = (kw_embedded_handle *)handle;
    job->done = done;
    job->user = user;
    job->rows = NULL;
    job->near = job->incomplete = false;
    return job;
}

/* On the loop; the answer is told on its next turn. */
static bool
try_near(get_job *job)
{
    static _Thread_local bool prepared;
    if (job->count > NEAR_MAX || !filters_quickly(job->gets[0]))
        return false;
    if (!prepared)
        rocksdb_set_perf_level(rocksdb_disable);
    prepared = true;
    job->near = true;
    read_or_fail(job);
    job->near = false;
    if (job->incomplete)
        return false;
    kw_metrics_add(KW_METRIC_store_reads_near, 1);
    kw_embedded_begin(job->handle);
    kw_loop_post(job->handle->base.loop, &job->job.task);
    return true;
}

static void
start_get(get_job *job)
{
    job->job.turn = (kw_fair_item){.account = job->gets[0]->account, .call = job->gets[0]->call};
    if (!try_near(job))
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

typedef struct look_job {
    kw_job job;
    kw_embedded_handle *handle;
    kw_bytes table;
    kw_deadline deadline;
    kw_table_facts_done facts_done;
    kw_regions_done regions_done;
    void *user;
    kw_table_facts *facts;
    kw_regions *regions;
    kw_error error;
} look_job;

static kw_table_facts *
facts_of(const kw_stored_table *table)
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
regions_of(const kw_stored_table *table)
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
work_look(kw_job *base)
{
    look_job *job = (look_job *)base;
    if (kw_embedded_check_deadline(job->deadline, "the table was looked up", &job->error)) {
        g_autoptr(kw_stored_table) table = kw_embedded_tables_find(job->handle->store->catalog, job->table);
        if (job->facts_done)
            job->facts = facts_of(table);
        else if (table)
            job->regions = regions_of(table);
        else
            kw_unknown_table(job->table, &job->error);
    }
    kw_loop_post(job->handle->base.loop, &job->job.task);
}

static void
tell_look(kw_task *task)
{
    look_job *job = (look_job *)task;
    if (job->facts_done)
        job->facts_done(job->user, job->facts, job->facts ? NULL : &job->error);
    else
        job->regions_done(job->user, job->regions, job->regions ? NULL : &job->error);
    kw_embedded_end(job->handle);
    g_free(job);
}

static look_job *
look_job_new(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, void *user)
{
    look_job *job = g_new0(look_job, 1);
    job->job = (kw_job){.task.run = tell_look, .work = work_look};
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
    look_job *job = look_job_new(handle, table, deadline, user);
    job->facts_done = done;
    kw_embedded_queue_job(job->handle, &job->job, false);
}

void
kw_embedded_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                    void *user)
{
    look_job *job = look_job_new(handle, table, deadline, user);
    job->regions_done = done;
    kw_embedded_queue_job(job->handle, &job->job, false);
}
