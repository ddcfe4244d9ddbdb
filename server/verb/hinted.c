/* Batches live in memory of their own, because the scan can be freed while a multi-get is in flight. */
#include "verb/hinted.h"

#include "base/metrics.h"
#include "gather/bounds.h"
#include "path/claims.h"
#include "path/hint_cleaner.h"
#include "path/rows.h"
#include "store/columns.h"

#include <glib.h>
#include <inttypes.h>

/* Of the hints of a batch, unless one hint has more. */
#define KEY_BYTES_MOST ((size_t)1024 * 1024)
/* While the store's time is unknown, it is asked again after this time, and for this time. */
#define CHECK_AGAIN_MS 2
#define UNKNOWN_MOST_MS 5000
#define RETRY_AFTER_MS 250

#define NOT_KNOWN UINT32_MAX

typedef struct hint {
    kw_bytes key;
    uint32_t range;
    uint32_t record;
    uint32_t next; /* of the same record; NOT_KNOWN: none */
    int64_t stamp_ms;
} hint;

typedef enum row_state {
    ROW_NOT_READ,
    ROW_UNDECODABLE,
    ROW_ABSENT,  /* from here on, it is known which hints are stale */
    ROW_OUTSIDE, /* a part of the tuple is absent */
    ROW_IN_PATH
} row_state;

typedef struct record {
    const kw_placement *placement;
    uint32_t first, last; /* of its hints */
    const kw_row *row;
    bool is_large; /* only the tuple was read */
    /* The rest is known once the first hint was judged. */
    row_state state;
    uint32_t judged_at;     /* the hint with which it is judged */
    bool has_tuple;         /* that of this hint */
    int64_t newest_ms;      /* of its tuple */
    const kw_record *found; /* of the reader */
} record;

struct kw_hinted {
    kw_hinted_spec spec; /* call NULL: freed while a read is in flight */
    const kw_plan *plan;
    kw_account *account; /* owns a reference */
    kw_hint_limits limits;

    kw_arena *arena;
    kw_get form;
    const kw_column *tuple; /* the columns of the tuple */
    kw_ordering ordering;
    kw_arena_mark unused; /* the memory from here on is that of the batch */
    kw_arena *scratch;    /* of one hint */
    kw_record decoded;
    kw_buffer encoded, identity;

    hint *hints;
    size_t count, most;
    size_t key_bytes;
    record *records;
    kw_key_set rows; /* row keys of the records */
    kw_get *gets;    /* of the records */
    /* The numbers of the records to read, and how many of them were asked for before, and in the present
     * call. First those of all records; then those whose rows are too large, of which only the tuples are
     * read. */
    uint32_t *to_read;
    size_t to_read_count, asked, part;
    GPtrArray *read; /* of kw_rows */

    int64_t earliest_ms; /* by the store's time, before the rows were read; KW_HINT_NO_TIME: unknown */

    kw_call *page_call;
    kw_key_set page; /* row keys of the records on the page */
    kw_stale_hints stale;

    bool must_reopen;
    bool reading;
    kw_deadline give_up_at;
    kw_hinted_done done;
    void *user;
};

static void
free_rows(gpointer rows)
{
    kw_rows_free(rows);
}

/* What all gets have in common. A record of the path has the columns of its tuple, so these columns show
 * whether it exists. */
static void
make_form(kw_hinted *hinted)
{
    size_t count;
    const kw_hinted_spec *spec = &hinted->spec;
    const kw_column *columns = kw_reader_columns(spec->reader, &count);
    hinted->ordering = spec->placement->path->table->ordering;
    hinted->ordering.family = kw_arena_copy(hinted->arena, hinted->ordering.family);
    hinted->form = (kw_get){.max_versions = 1,
                            .era = spec->call->era,
                            .max_bytes = MAX(spec->batch_bytes, spec->row_bytes),
                            .columns = kw_columns_copy(columns, count, hinted->arena),
                            .columns_count = count,
                            .ordering = &hinted->ordering};
}

kw_hinted *
kw_hinted_new(const kw_hinted_spec *spec)
{
    kw_hinted *hinted = g_new0(kw_hinted, 1);
    hinted->spec = *spec;
    hinted->account = kw_account_ref(spec->call->account);
    hinted->limits = kw_hints_limits(spec->call, spec->placement->path->table);
    hinted->arena = kw_arena_new_for(hinted->account, KW_MEMORY_ROWS);
    hinted->scratch = kw_arena_new_below(hinted->arena, KW_MEMORY_ROWS);
    hinted->decoded = kw_record_new(spec->placement->path->table, hinted->arena);
    hinted->read = g_ptr_array_new_with_free_func(free_rows);
    make_form(hinted);
    hinted->tuple = kw_columns_copy(kw_hints_columns(spec->placement, hinted->arena),
                                    spec->placement->tuple_count, hinted->arena);
    hinted->unused = kw_arena_mark_now(hinted->arena);
    return hinted;
}

static void
destroy(kw_hinted *hinted)
{
    g_ptr_array_free(hinted->read, TRUE);
    kw_buffer_clear(&hinted->encoded);
    kw_buffer_clear(&hinted->identity);
    kw_arena_free(hinted->arena);
    kw_account_unref(hinted->account);
    g_free(hinted);
}

void
kw_hinted_free(kw_hinted *hinted)
{
    if (!hinted)
        return;
    hinted->spec.call = NULL;
    if (!hinted->reading)
        destroy(hinted);
}

/* Call it when an operation has ended. True if the scan still waits for it; otherwise frees everything. */
static bool
end_reading(kw_hinted *hinted)
{
    bool wanted = hinted->spec.call != NULL;
    hinted->reading = false;
    if (!wanted)
        destroy(hinted);
    return wanted;
}

/* --- the start of the query ------------------------------------------------------------------------ */

static void look_at_time(kw_hinted *hinted);

static void
paused(void *user, const kw_error *error)
{
    kw_hinted *hinted = user;
    if (!end_reading(hinted))
        return;
    if (error)
        hinted->done(hinted->user, error);
    else
        look_at_time(hinted);
}

static void
look_at_time(kw_hinted *hinted)
{
    kw_error error;
    kw_hint_query *query = hinted->spec.query;
    int64_t earliest_ms = kw_hints_earliest_ms(hinted->spec.call);
    if (earliest_ms != KW_HINT_NO_TIME) {
        query->start_ms = kw_hint_query_start_ms(earliest_ms, &hinted->limits);
        query->begun = true;
        hinted->done(hinted->user, NULL);
    } else if (kw_deadline_passed(hinted->give_up_at)) {
        kw_error_set(&error, KW_UNAVAILABLE, "path %s: the store's clock is not known",
                     hinted->spec.placement->path->name);
        error.retry_after_ms = RETRY_AFTER_MS;
        hinted->done(hinted->user, &error);
    } else {
        hinted->reading = true;
        kw_store_keep_time_known(hinted->spec.call->store);
        kw_store_handle_pause(hinted->spec.call->handle, CHECK_AGAIN_MS, paused, hinted);
    }
}

void
kw_hinted_begin_query(kw_hinted *hinted, kw_deadline deadline, kw_hinted_done done, void *user)
{
    hinted->done = done;
    hinted->user = user;
    hinted->give_up_at = kw_deadline_earlier(deadline, kw_deadline_in_ms(UNKNOWN_MOST_MS));
    look_at_time(hinted);
}

/* --- the hints of a batch -------------------------------------------------------------------------- */

void
kw_hinted_begin_page(kw_hinted *hinted, kw_call *call)
{
    hinted->page_call = call;
    hinted->page = kw_key_set_in(call->arena);
    hinted->stale = (kw_stale_hints){0};
}

void
kw_hinted_end_page(kw_hinted *hinted)
{
    kw_stale_hints_clean(&hinted->stale, hinted->page_call);
}

void
kw_hinted_begin_batch(kw_hinted *hinted, const kw_plan *plan, size_t most)
{
    g_assert(!hinted->reading && most <= KW_HINTED_MOST);
    g_ptr_array_set_size(hinted->read, 0);
    kw_arena_rewind(hinted->arena, hinted->unused);
    hinted->most = most;
    hinted->hints = KW_ARENA_ARRAY(hinted->arena, hint, most);
    hinted->records = KW_ARENA_ARRAY(hinted->arena, record, most);
    hinted->gets = KW_ARENA_ARRAY(hinted->arena, kw_get, most);
    hinted->to_read = KW_ARENA_ARRAY(hinted->arena, uint32_t, most);
    hinted->rows = kw_key_set_in(hinted->arena);
    hinted->plan = plan;
    hinted->must_reopen = false;
    hinted->count = hinted->key_bytes = 0;
}

size_t
kw_hinted_count(const kw_hinted *hinted)
{
    return hinted->count;
}

kw_bytes
kw_hinted_key(const kw_hinted *hinted, size_t index)
{
    return hinted->hints[index].key;
}

size_t
kw_hinted_range(const kw_hinted *hinted, size_t index)
{
    return hinted->hints[index].range;
}

static void
row_found(void *user, const kw_record_rows *rows)
{
    *(const kw_record_rows **)user = rows;
}

/* The row of the record that was decoded; in the scratch arena. NULL: no key rule can encode it. */
static const kw_placed_row *
find_row(kw_hinted *hinted)
{
    kw_call call = *hinted->spec.call;
    call.arena = hinted->scratch;
    const kw_record *records = &hinted->decoded;
    const kw_record_rows *found = NULL;
    /* A table with hint paths has no association, so this returns the rows at once. */
    kw_rows_find(&call, hinted->spec.placement->path->table, &records, 1, KW_ROWS_GET, KW_TIMESTAMP_NONE,
                 row_found, &found);
    g_assert(found && found->count <= 1);
    return found->error || found->count == 0 ? NULL : found->rows;
}

static const kw_row_target *
copy_target(const kw_row_target *from, kw_arena *arena)
{
    if (!from)
        return NULL;
    kw_row_target *copy = KW_ARENA_NEW(arena, kw_row_target);
    *copy = *from;
    copy->table = kw_arena_copy(arena, from->table);
    copy->row = kw_arena_copy(arena, from->row);
    return copy;
}

/* Returns the number of the record with this row. */
static uint32_t
add_record(kw_hinted *hinted, const kw_placed_row *row)
{
    bool is_new;
    kw_arena *arena = hinted->arena;
    kw_bytes key = kw_arena_copy(arena, row->key);
    uint32_t number = kw_key_set_add(&hinted->rows, key, &is_new);
    if (!is_new)
        return number;
    hinted->records[number] = (record){.placement = row->placement, .first = NOT_KNOWN};
    kw_get *get = &hinted->gets[number];
    *get = hinted->form;
    get->table = kw_arena_copy(arena, row->placement->store_table);
    get->row = key;
    get->other = copy_target(row->other, arena);
    return number;
}

kw_hinted_added
kw_hinted_add(kw_hinted *hinted, size_t range, const kw_row *row, kw_error *ret_error)
{
    const kw_layout *layout = hinted->plan->ranges[range].placement->layout;
    const kw_path *path = hinted->spec.placement->path;
    size_t most = KEY_BYTES_MOST - MIN(hinted->key_bytes, KEY_BYTES_MOST);
    if (hinted->count == hinted->most || (hinted->count > 0 && row->key.size > most))
        return KW_HINTED_FULL;
    kw_arena_reset(hinted->scratch);
    memset(hinted->decoded.values, 0, path->table->fields_count * sizeof(kw_value));
    if (!kw_layout_decode(layout, row->key, hinted->scratch, &hinted->decoded, ret_error) ||
        (path->unique &&
         !kw_claim_decode_owner(path->table, row, hinted->scratch, &hinted->decoded, ret_error))) {
        kw_error_prefix(ret_error, "table %s, path %s", path->table->name, path->name);
        return KW_HINTED_FOREIGN;
    }
    if (!kw_plan_key_matches_in(hinted->plan, range, &hinted->decoded))
        return KW_HINTED_SKIPPED;
    const kw_placed_row *placed = find_row(hinted);
    if (!placed)
        return KW_HINTED_SKIPPED;
    uint32_t index = (uint32_t)hinted->count++, number = add_record(hinted, placed);
    record *of = &hinted->records[number];
    hinted->hints[index] = (hint){.key = kw_arena_copy(hinted->arena, row->key),
                                  .range = (uint32_t)range,
                                  .record = number,
                                  .next = NOT_KNOWN,
                                  .stamp_ms = row->cells_count ? row->cells[0].timestamp : 0};
    hinted->key_bytes += row->key.size;
    if (of->first == NOT_KNOWN)
        of->first = index;
    else
        hinted->hints[of->last].next = index;
    of->last = index;
    return KW_HINTED_ADDED;
}

/* --- the rows of a batch --------------------------------------------------------------------------- */

static void arrived(void *user, kw_rows *rows, const kw_error *error);

/* Reads the next rows that are in one store table. While the primary path's key rule changes, a record that
 * only one of the rules can encode is in another one. */
static void
ask(kw_hinted *hinted)
{
    const uint32_t *numbers = hinted->to_read + hinted->asked;
    size_t left = hinted->to_read_count - hinted->asked;
    const kw_get **list = KW_ARENA_ARRAY(hinted->arena, const kw_get *, left);
    for (hinted->part = 0; hinted->part < left; hinted->part++) {
        kw_get *get = &hinted->gets[numbers[hinted->part]];
        if (!kw_bytes_equal(get->table, hinted->gets[numbers[0]].table))
            break;
        get->deadline = hinted->page_call->deadline;
        get->account = hinted->account;
        get->call = hinted->page_call->number;
        list[hinted->part] = get;
    }
    hinted->reading = true;
    kw_store_handle_get_many(hinted->spec.call->handle, list, hinted->part, arrived, hinted);
}

/* Reads the tuples of the rows that are too large: a tuple shows whether the query returns its row. False if
 * no row is too large. */
static bool
ask_for_tuples(kw_hinted *hinted)
{
    hinted->to_read_count = hinted->asked = 0;
    for (uint32_t number = 0; number < hinted->rows.count; number++) {
        record *of = &hinted->records[number];
        if (of->is_large || of->row->omitted != KW_OMITTED_TOO_LARGE)
            continue;
        of->is_large = true;
        hinted->gets[number].columns = hinted->tuple;
        hinted->gets[number].columns_count = hinted->spec.placement->tuple_count;
        hinted->to_read[hinted->to_read_count++] = number;
    }
    if (hinted->to_read_count > 0)
        ask(hinted);
    return hinted->to_read_count > 0;
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    kw_hinted *hinted = user;
    if (rows)
        g_ptr_array_add(hinted->read, rows);
    if (!end_reading(hinted))
        return;
    if (error) {
        hinted->done(hinted->user, error);
        return;
    }
    for (size_t i = 0; i < hinted->part; i++)
        hinted->records[hinted->to_read[hinted->asked + i]].row = &rows->rows[i];
    hinted->asked += hinted->part;
    if (hinted->asked < hinted->to_read_count)
        ask(hinted);
    else if (!ask_for_tuples(hinted))
        hinted->done(hinted->user, NULL);
}

/* A query that takes too long could miss a record that has moved. */
static bool
is_late(const kw_hinted *hinted, kw_error *ret_error)
{
    const kw_path *path = hinted->spec.placement->path;
    const kw_hint_limits *limits = &hinted->limits;
    if (hinted->earliest_ms == KW_HINT_NO_TIME ||
        !kw_hint_query_is_late(hinted->spec.query->start_ms, hinted->earliest_ms, limits))
        return false;
    kw_error_set(ret_error, KW_INVALID,
                 "table %s, path %s: the query began more than %" PRId64
                 " s ago (hints.keep), so it could miss records that were written since; start it again with "
                 "smaller ranges, or increase hints.keep",
                 path->table->name, path->name, limits->keep_ms / 1000);
    return true;
}

void
kw_hinted_read(kw_hinted *hinted, kw_hinted_done done, void *user)
{
    kw_error error;
    g_assert(hinted->count > 0 && !hinted->reading);
    kw_metrics_add(KW_METRIC_hints_scanned, (int64_t)hinted->count);
    hinted->earliest_ms = kw_hints_earliest_ms(hinted->spec.call);
    if (is_late(hinted, &error)) {
        done(user, &error);
        return;
    }
    hinted->done = done;
    hinted->user = user;
    hinted->asked = 0;
    hinted->to_read_count = hinted->rows.count;
    for (uint32_t number = 0; number < hinted->rows.count; number++)
        hinted->to_read[number] = number;
    ask(hinted);
}

size_t
kw_hinted_rows_found(const kw_hinted *hinted)
{
    size_t found = 0;
    for (size_t i = 0; i < hinted->rows.count; i++)
        found += hinted->records[i].row->cells_count > 0;
    return found;
}

/* --- verdicts -------------------------------------------------------------------------------------- */

/* The hint of the record's tuple, which the reader has decoded; NOT_KNOWN: it is not in the batch. Leaves the
 * hint's key in `encoded`; empty: a part of the tuple is absent. */
static uint32_t
find_hint(kw_hinted *hinted, const record *of, const kw_record *found)
{
    kw_error ignored;
    uint32_t at = of->first;
    const kw_layout *layout = hinted->plan->ranges[hinted->hints[at].range].placement->layout;
    hinted->encoded.size = 0;
    if (!kw_layout_encode(layout, found, &hinted->encoded, &ignored))
        return NOT_KNOWN;
    while (at != NOT_KNOWN && !kw_bytes_equal(hinted->hints[at].key, kw_buffer_bytes(&hinted->encoded)))
        at = hinted->hints[at].next;
    return at;
}

/* True if the query reads the place of a record, whose key was encoded, after this batch. If its range scan
 * has begun, it must be opened again, because it can return the range as it was. */
static bool
is_read_later(kw_hinted *hinted, const kw_hinted_end *end)
{
    bool later = true, begun = false;
    kw_bytes key = kw_buffer_bytes(&hinted->encoded);
    for (size_t i = 0; later && i < hinted->plan->ranges_count; i++) {
        const kw_range *range = &hinted->plan->ranges[i];
        bool within = kw_bytes_compare(range->start, key) <= 0 &&
                      (range->stop.size == 0 || kw_bytes_compare(key, range->stop) < 0);
        if (!within || !kw_gather_has_begun(end->gather, i))
            continue;
        begun = true;
        later = !end->is_last && kw_position_is_before(end->position, hinted->plan, i, key);
    }
    hinted->must_reopen |= later && begun;
    return later;
}

/* The identity of a record as bytes, which do not depend on a key rule: another page of the query can be read
 * while the key rule of the primary path changes. */
static kw_bytes
identity_of(kw_hinted *hinted, const kw_record *found)
{
    kw_buffer *to = &hinted->identity;
    const kw_table *table = hinted->spec.placement->path->table;
    to->size = 0;
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_value value = found->values[i];
        bool sized = value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES;
        uint64_t number = sized ? value.bytes.size : value.kind == KW_VALUE_FLAG ? value.flag : 0;
        if (!table->fields[i].identity)
            continue;
        if (value.kind == KW_VALUE_NUMBER || value.kind == KW_VALUE_REAL)
            memcpy(&number, value.kind == KW_VALUE_REAL ? (void *)&value.real : &value.number, sizeof number);
        kw_buffer_append(to, kw_bytes_of_text(table->fields[i].name));
        kw_buffer_append_byte(to, 0);
        kw_be64_store(kw_buffer_reserve(to, 8), number);
        to->size += 8;
        if (sized)
            kw_buffer_append(to, value.bytes);
    }
    return kw_buffer_bytes(to);
}

static bool
is_remembered(kw_hinted *hinted, const kw_record *found)
{
    const kw_keyring *keyring = hinted->spec.call->keyring;
    const kw_hint_memory *memory = &hinted->spec.query->memory;
    kw_bytes identity = memory->count > 0 ? identity_of(hinted, found) : KW_BYTES_NONE;
    for (size_t key = 0; memory->count > 0 && key < kw_keyring_count(keyring); key++)
        if (kw_hint_memory_has(memory, kw_keyring_hash(keyring, key, identity)))
            return true;
    return false;
}

/* Whether the page returns a record, which the reader has just decoded. */
static bool
is_returned(kw_hinted *hinted, const record *of, uint32_t number, const kw_record *found,
            const kw_hinted_end *end)
{
    int64_t start_ms = hinted->spec.query->start_ms;
    bool recent = kw_hint_is_recent(of->newest_ms, start_ms);
    kw_bytes key = hinted->rows.keys[number];
    kw_hint_row row = {.has_tuple = of->has_tuple,
                       .newest_ms = of->newest_ms,
                       .is_on_page = kw_key_set_has(&hinted->page, key),
                       .is_remembered = recent && is_remembered(hinted, found)};
    if (recent && !of->has_tuple) {
        const kw_layout *known = of->is_large ? hinted->plan->placements[0]->layout : NULL;
        kw_plan_part part = kw_plan_part_of(hinted->plan, known, found);
        row.is_in_ranges = part != KW_PART_NONE;
        row.is_after = part == KW_PART_LATER || (part == KW_PART_PRESENT && is_read_later(hinted, end));
    }
    if (!kw_hint_is_returned(&row, start_ms))
        return false;
    return !of->has_tuple || !hinted->plan->residual || of->is_large ||
           kw_plan_matches_in(hinted->plan, hinted->hints[of->judged_at].range, found);
}

/* Looks at a record when the first of its hints is judged. A record with several hints is judged with the one
 * of its tuple, so that it is not returned again if the page ends before that one. */
static void
look(kw_hinted *hinted, record *of)
{
    kw_error ignored;
    of->judged_at = of->first;
    if (of->row->omitted != KW_OMITTED_NOT) {
        of->state = ROW_NOT_READ;
    } else if (of->row->cells_count == 0) {
        of->state = ROW_ABSENT;
        of->newest_ms = KW_HINT_NO_TIME;
    } else if (!kw_reader_decode(hinted->spec.reader, of->placement, of->row, &of->found, &ignored)) {
        of->state = ROW_UNDECODABLE;
    } else {
        uint32_t at = find_hint(hinted, of, of->found);
        of->has_tuple = at != NOT_KNOWN;
        of->judged_at = of->has_tuple ? at : of->first;
        of->state = hinted->encoded.size ? ROW_IN_PATH : ROW_OUTSIDE;
        of->newest_ms = kw_hints_newest_ms(hinted->spec.placement, of->row);
    }
}

static void
note_stale(kw_hinted *hinted, size_t index, const record *of)
{
    const hint *stale = &hinted->hints[index];
    kw_hint_facts facts = {
        .hint_ms = stale->stamp_ms, .earliest_ms = hinted->earliest_ms, .newest_ms = of->newest_ms};
    kw_metrics_add(KW_METRIC_hints_stale, 1);
    kw_stale_hints_add(&hinted->stale, hinted->page_call->arena, hinted->page_call,
                       hinted->plan->ranges[stale->range].placement, stale->key, &facts);
}

kw_hinted_verdict
kw_hinted_judge(kw_hinted *hinted, size_t index, const kw_hinted_end *end, kw_hinted_row *ret_row,
                kw_error *ret_error)
{
    uint32_t number = hinted->hints[index].record;
    record *of = &hinted->records[number];
    bool first = index == of->first, judged;
    if (first)
        look(hinted, of);
    judged = of->judged_at == index;
    if (of->state >= ROW_ABSENT && !(judged && of->has_tuple))
        note_stale(hinted, index, of);
    if (!judged || of->state == ROW_ABSENT || of->state == ROW_OUTSIDE)
        return KW_HINTED_DROPPED;
    *ret_row = (kw_hinted_row){of->placement, of->row};
    if (of->state == ROW_NOT_READ)
        return KW_HINTED_NOT_READ;
    if ((!first || of->state == ROW_UNDECODABLE) &&
        !kw_reader_decode(hinted->spec.reader, of->placement, of->row, &of->found, ret_error))
        return KW_HINTED_UNDECODABLE;
    if (!is_returned(hinted, of, number, of->found, end))
        return KW_HINTED_DROPPED;
    return of->is_large ? KW_HINTED_LARGE : KW_HINTED_RETURNED;
}

bool
kw_hinted_must_reopen(const kw_hinted *hinted)
{
    return hinted->must_reopen;
}

void
kw_hinted_returned(kw_hinted *hinted, size_t index)
{
    bool is_new;
    uint32_t number = hinted->hints[index].record;
    kw_hint_query *query = hinted->spec.query;
    kw_bytes key = kw_arena_copy(hinted->page.arena, hinted->rows.keys[number]);
    kw_key_set_add(&hinted->page, key, &is_new);
    const record *of = &hinted->records[number];
    if (kw_hint_is_recent(of->newest_ms, query->start_ms))
        kw_hint_memory_add(&query->memory,
                           kw_keyring_hash(hinted->spec.call->keyring, 0, identity_of(hinted, of->found)));
}
