/* See verify.h. Rows arrive in the order of their keys, so equal first bytes and equal buckets are often
 * adjacent. The lists have an entry per run of adjacent rows, and are sorted and merged at the end. */
#include "reconcile/verify.h"

#include <glib.h>
#include <stdlib.h>

#define FIRST_BYTES 2
#define AHEAD_MS INT64_C(60000)
#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)

static const int64_t ages_ms[KW_VERIFY_AGES - 1] = {HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS, 365 * DAY_MS};

typedef struct family_ttl {
    kw_bytes family;
    int64_t ttl_ms;
} family_ttl;

struct kw_verify_counts {
    const kw_placement *placement;
    kw_arena *arena, *scratch;
    int64_t now_ms;
    size_t bucket;    /* the component that scatters the rows; the number of components: none does */
    family_ttl *ttls; /* of families whose cells expire */
    size_t ttls_count;
    uint64_t *fields;
    GArray *first_bytes, *buckets; /* of kw_verify_count, whose bytes are in the arena */
    kw_verify_example *examples;
    uint32_t max_examples;
    kw_verify_result result;
};

static void
find_ttls(kw_verify_counts *self)
{
    const kw_model_table *model = self->placement->path->table->model;
    self->ttls = KW_ARENA_ARRAY(self->arena, family_ttl, model->families_count);
    for (size_t i = 0; i < model->families_count; i++)
        if (model->families[i].ttl_seconds > 0)
            self->ttls[self->ttls_count++] = (family_ttl){kw_bytes_of_text(model->families[i].name),
                                                          model->families[i].ttl_seconds * INT64_C(1000)};
}

kw_verify_counts *
kw_verify_counts_new(const kw_placement *placement, uint32_t max_examples, int64_t now_ms, kw_arena *arena,
                     kw_arena *scratch)
{
    kw_verify_counts *self = KW_ARENA_NEW(arena, kw_verify_counts);
    *self = (kw_verify_counts){.placement = placement,
                               .arena = arena,
                               .scratch = scratch,
                               .now_ms = now_ms,
                               .bucket = kw_layout_bucket_component(placement->layout),
                               .first_bytes = g_array_new(FALSE, FALSE, sizeof(kw_verify_count)),
                               .buckets = g_array_new(FALSE, FALSE, sizeof(kw_verify_count)),
                               .max_examples = max_examples};
    self->fields = KW_ARENA_ARRAY(arena, uint64_t, placement->path->table->fields_count);
    self->examples = KW_ARENA_ARRAY(arena, kw_verify_example, max_examples);
    find_ttls(self);
    return self;
}

uint64_t
kw_verify_counts_rows(const kw_verify_counts *self)
{
    return self->result.rows;
}

/* --- lists --------------------------------------------------------------------------------------- */

static void
count_in(kw_verify_counts *self, GArray *list, kw_bytes bytes)
{
    kw_verify_count *last = list->len ? &g_array_index(list, kw_verify_count, list->len - 1) : NULL;
    if (last && kw_bytes_equal(last->bytes, bytes)) {
        last->rows++;
        return;
    }
    kw_verify_count fresh = {kw_arena_copy(self->arena, bytes), 1};
    g_array_append_val(list, fresh);
}

static int
by_bytes(const void *left, const void *right)
{
    return kw_bytes_compare(((const kw_verify_count *)left)->bytes, ((const kw_verify_count *)right)->bytes);
}

/* Frees the list. */
static const kw_verify_count *
merge(kw_verify_counts *self, GArray *list, size_t *ret_count)
{
    kw_verify_count *merged = KW_ARENA_ARRAY(self->arena, kw_verify_count, list->len);
    size_t count = 0;
    if (list->len)
        qsort(list->data, list->len, sizeof(kw_verify_count), by_bytes);
    for (guint i = 0; i < list->len; i++) {
        const kw_verify_count *each = &g_array_index(list, kw_verify_count, i);
        if (count && kw_bytes_equal(merged[count - 1].bytes, each->bytes))
            merged[count - 1].rows += each->rows;
        else
            merged[count++] = *each;
    }
    g_array_free(list, TRUE);
    *ret_count = count;
    return merged;
}

/* --- cells --------------------------------------------------------------------------------------- */

static bool
is_expired(const kw_verify_counts *self, const kw_cell *cell)
{
    for (size_t i = 0; i < self->ttls_count; i++)
        if (kw_bytes_equal(self->ttls[i].family, cell->family))
            return cell->timestamp < self->now_ms - self->ttls[i].ttl_ms;
    return false;
}

static size_t
class_of_age(int64_t age_ms)
{
    size_t class = 0;
    while (class < G_N_ELEMENTS(ages_ms) && age_ms >= ages_ms[class])
        class ++;
    return class;
}

/* Cells are in HBase's order: the versions of a column are adjacent. */
static uint64_t
most_versions(const kw_row *row)
{
    uint64_t most = 0, versions = 0;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        bool same = i > 0 && kw_bytes_equal(cell->qualifier, cell[-1].qualifier) &&
                    kw_bytes_equal(cell->family, cell[-1].family);
        versions = same ? versions + 1 : 1;
        most = MAX(most, versions);
    }
    return most;
}

static void
count_cells(kw_verify_counts *self, const kw_row *row)
{
    kw_verify_result *to = &self->result;
    int64_t oldest = INT64_MAX, newest = INT64_MIN;
    bool expired = false;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        oldest = MIN(oldest, row->cells[i].timestamp);
        newest = MAX(newest, row->cells[i].timestamp);
        expired = expired || is_expired(self, &row->cells[i]);
    }
    if (row->cells_count == 0)
        return;
    to->oldest_ms = to->oldest_ms ? MIN(to->oldest_ms, oldest) : oldest;
    to->newest_ms = MAX(to->newest_ms, newest);
    to->expired += expired;
    to->future += newest > self->now_ms && newest - self->now_ms > AHEAD_MS;
    to->ages[newest > self->now_ms ? 0
                                   : class_of_age((int64_t)((uint64_t)self->now_ms - (uint64_t)newest))]++;
    uint64_t versions = most_versions(row);
    to->versioned += versions > 1;
    to->most_versions = MAX(to->most_versions, versions);
}

/* --- rows ---------------------------------------------------------------------------------------- */

static void
keep_example(kw_verify_counts *self, const kw_row *row, int field, const char *text)
{
    if (self->result.examples_count < self->max_examples)
        self->examples[self->result.examples_count++] = (kw_verify_example){
            kw_arena_copy(self->arena, row->key), field, kw_arena_text(self->arena, kw_bytes_of_text(text))};
}

void
kw_verify_counts_add(kw_verify_counts *self, const kw_row *row, bool large)
{
    kw_verify_result *to = &self->result;
    kw_row_verdict found;
    kw_error error;
    kw_arena_reset(self->scratch);
    kw_row_judge(self->placement, row, self->scratch, self->fields, &found);
    if (found.fit == KW_ROW_FITS &&
        !kw_row_key_has_no_negative_zero(self->placement->path->table, &found.key, &error)) {
        found.fit = KW_ROW_FOREIGN;
        found.why = error.text;
    }
    to->rows++;
    to->foreign += found.fit == KW_ROW_FOREIGN;
    to->undecodable += found.fit == KW_ROW_UNDECODABLE;
    if (found.fit != KW_ROW_FITS)
        keep_example(self, row, found.fit == KW_ROW_FOREIGN ? -1 : (int)found.field, found.why);
    if (found.fit == KW_ROW_FOREIGN)
        count_in(self, self->first_bytes, kw_bytes_of(row->key.data, MIN(row->key.size, FIRST_BYTES)));
    if (found.fit != KW_ROW_FITS)
        return;
    to->large += large;
    if (large)
        keep_example(self, row, -1, "the row is too large to be read as a whole (limits.frame)");
    if (self->bucket < found.pieces_count)
        count_in(self, self->buckets, found.pieces[self->bucket].bytes);
    count_cells(self, row);
}

void
kw_verify_counts_end(kw_verify_counts *self, kw_verify_result *result)
{
    kw_verify_result *from = &self->result;
    from->first_bytes = merge(self, self->first_bytes, &from->first_bytes_count);
    from->buckets = merge(self, self->buckets, &from->buckets_count);
    from->undecodable_fields = self->fields;
    from->examples = self->examples;
    *result = *from;
}
