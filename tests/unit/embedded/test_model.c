/* Random operations on the embedded store and on a model of HBase's semantics. All reads must return the
 * same from both, even after restarts and compactions. The test prints its seed; --seed repeats a run. */
#include "contract/fixture.h"
#include "embedded_fixture.h"
#include "oracle.h"
#include "store/embedded/embedded_internal.h"
#include "support/seeded.h"

#define TABLE "model"
#define NOW_MS 1010 /* so cells older than 10 exceed the TTL of the families that have one */
#define LATEST 20   /* timestamps are less than this */

enum { ROWS = 10, FAMILIES = 5, QUALIFIERS = 4 };

static const kw_bytes rows[ROWS] = {
    KW_BYTES_LITERAL("\0"),  KW_BYTES_LITERAL("\0\0"), KW_BYTES_LITERAL("\0\1"), KW_BYTES_LITERAL("a"),
    KW_BYTES_LITERAL("a\0"), KW_BYTES_LITERAL("aa"),   KW_BYTES_LITERAL("b"),    KW_BYTES_LITERAL("b\xff"),
    KW_BYTES_LITERAL("c"),   KW_BYTES_LITERAL("\xff")};
static const kw_bytes qualifiers[QUALIFIERS] = {KW_BYTES_LITERAL(""), KW_BYTES_LITERAL("\0"),
                                                KW_BYTES_LITERAL("q"), KW_BYTES_LITERAL("qq")};
static kw_family_spec families[FAMILIES];

typedef struct model_fixture {
    embedded_fixture fixture;
    kw_oracle model;
} model_fixture;

static size_t
pick(size_t count)
{
    return (size_t)g_test_rand_int_range(0, (gint32)count);
}

static int64_t
injected_now(void)
{
    return NOW_MS;
}

/* --- writes ----------------------------------------------------------------------------------------- */

static void
assert_written(const kw_sync_written *result)
{
    if (result->outcome != KW_OUTCOME_OK)
        g_error("%s", result->error.text);
}

static kw_write
write_of(kw_write_kind kind, size_t row, int64_t timestamp)
{
    return (kw_write){.kind = kind,
                      .table = B(TABLE),
                      .row = rows[row],
                      .timestamp = timestamp,
                      .deadline = KW_DEADLINE_NONE};
}

static void
random_put(model_fixture *b)
{
    kw_oracle_entry entries[4];
    kw_cell cells[4];
    size_t row = pick(ROWS), count = 1 + pick(4);
    int64_t timestamp = (int64_t)pick(LATEST);
    for (size_t i = 0; i < count; i++) {
        kw_oracle_entry *entry = &entries[i];
        *entry = (kw_oracle_entry){
            .row = row, .family = pick(FAMILIES), .qualifier = pick(QUALIFIERS), .timestamp = timestamp};
        entry->value_size = (size_t)g_snprintf(entry->value, sizeof entry->value, "%zx", pick(1u << 20));
        cells[i] = (kw_cell){.family = B(families[entry->family].name),
                             .qualifier = qualifiers[entry->qualifier],
                             .value = kw_bytes_of(entry->value, entry->value_size)};
    }
    kw_write write = write_of(KW_WRITE_PUT, row, timestamp);
    write.cells = cells;
    write.cells_count = count;
    write.durability = pick(4) ? KW_DURABILITY_ASYNC_WAL : KW_DURABILITY_DEFAULT;
    kw_sync_written result = kw_sync_write(&b->fixture.sync, &write);
    assert_written(&result);
    for (size_t i = 0; i < count; i++)
        kw_oracle_add(&b->model, entries[i]);
}

static void
random_delete(model_fixture *b)
{
    kw_column columns[3];
    size_t row = pick(ROWS), count = pick(4);
    int64_t timestamp = (int64_t)pick(LATEST);
    kw_write write = write_of(KW_WRITE_DELETE, row, timestamp);
    for (size_t i = 0; i < count; i++) {
        kw_oracle_entry entry = {.row = row,
                                 .family = pick(FAMILIES),
                                 .qualifier = pick(QUALIFIERS),
                                 .marker = true,
                                 .whole_family = pick(3) == 0,
                                 .timestamp = timestamp};
        columns[i] = (kw_column){.family = B(families[entry.family].name),
                                 .qualifier = qualifiers[entry.qualifier],
                                 .whole_family = entry.whole_family};
        kw_oracle_add(&b->model, entry);
    }
    for (size_t family = 0; count == 0 && family < FAMILIES; family++)
        kw_oracle_add(
            &b->model,
            (kw_oracle_entry){
                .row = row, .family = family, .marker = true, .whole_family = true, .timestamp = timestamp});
    write.columns = columns;
    write.columns_count = count;
    kw_sync_written result = kw_sync_write(&b->fixture.sync, &write);
    assert_written(&result);
}

static void
keep_first(const kw_oracle_entry *cell, void *user)
{
    const kw_oracle_entry **first = user;
    if (!*first)
        *first = cell;
}

static const kw_oracle_entry *
newest_in_model(const model_fixture *b, size_t row, size_t family, size_t qualifier)
{
    kw_oracle_read_spec spec = {.now_ms = NOW_MS};
    spec.column[family][qualifier] = true;
    const kw_oracle_entry *newest = NULL;
    kw_oracle_read(&b->model, row, &spec, keep_first, &newest);
    return newest;
}

static void
random_put_if(model_fixture *b)
{
    size_t row = pick(ROWS), family = pick(FAMILIES), qualifier = pick(QUALIFIERS);
    const kw_oracle_entry *newest = newest_in_model(b, row, family, qualifier);
    bool against_absent = pick(2);
    kw_check check = {.family = B(families[family].name),
                      .qualifier = qualifiers[qualifier],
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = !against_absent,
                      .value = newest && pick(2) ? kw_bytes_of(newest->value, newest->value_size) : B("no")};
    bool met = against_absent
                   ? !newest
                   : newest && kw_bytes_equal(check.value, kw_bytes_of(newest->value, newest->value_size));
    kw_oracle_entry entry = {.row = row,
                             .family = family,
                             .qualifier = qualifier,
                             .timestamp = (int64_t)pick(LATEST),
                             .value = "if"};
    entry.value_size = 2;
    kw_cell cell = {.family = check.family, .qualifier = check.qualifier, .value = B("if")};
    kw_write write = write_of(KW_WRITE_PUT, row, entry.timestamp);
    write.cells = &cell;
    write.cells_count = 1;
    kw_sync_written result = kw_sync_write_if(&b->fixture.sync, &write, &check);
    assert_written(&result);
    g_assert_cmpint(result.applied, ==, met);
    if (met)
        kw_oracle_add(&b->model, entry);
}

/* --- reads ------------------------------------------------------------------------------------------ */

typedef struct read_request {
    kw_oracle_read_spec spec;
    kw_column columns[FAMILIES * QUALIFIERS];
    size_t count;
} read_request;

static void
add_random_columns(read_request *request)
{
    for (size_t family = 0; family < FAMILIES; family++) {
        if (pick(3) == 0) {
            request->spec.family_whole[family] = true;
            request->columns[request->count++] =
                (kw_column){.family = B(families[family].name), .whole_family = true};
        }
        for (size_t i = pick(3); i > 0; i--) {
            size_t qualifier = pick(QUALIFIERS);
            if (request->spec.column[family][qualifier])
                continue;
            request->spec.column[family][qualifier] = true;
            request->columns[request->count++] =
                (kw_column){.family = B(families[family].name), .qualifier = qualifiers[qualifier]};
        }
    }
}

static read_request
random_request(void)
{
    read_request request = {.spec = {.now_ms = NOW_MS, .versions = (int32_t)pick(5)}};
    if (pick(2))
        add_random_columns(&request);
    if (request.count == 0)
        for (size_t family = 0; family < FAMILIES; family++)
            request.spec.family_whole[family] = true;
    if (pick(2)) {
        request.spec.time_from = (int64_t)pick(LATEST);
        request.spec.time_to = request.spec.time_from + (int64_t)pick(LATEST);
    }
    return request;
}

static void
append_model_cell(const kw_oracle_entry *cell, void *user)
{
    kw_cell seen = {.family = B(families[cell->family].name),
                    .qualifier = qualifiers[cell->qualifier],
                    .value = kw_bytes_of(cell->value, cell->value_size),
                    .timestamp = cell->timestamp};
    g_array_append_val((GArray *)user, seen);
}

/* The row of the model as text. NULL if no cell is visible. */
static char *
model_row(const model_fixture *b, size_t row, const read_request *request)
{
    GArray *cells = g_array_new(FALSE, FALSE, sizeof(kw_cell));
    kw_oracle_read(&b->model, row, &request->spec, append_model_cell, cells);
    kw_row seen = {.cells = (kw_cell *)(void *)cells->data, .cells_count = cells->len};
    char *text = cells->len ? kw_row_text(&seen) : NULL;
    g_array_free(cells, TRUE);
    return text;
}

static void
random_get(model_fixture *b)
{
    read_request request = random_request();
    size_t row = pick(ROWS);
    kw_get get = {.table = B(TABLE),
                  .row = rows[row],
                  .columns = request.columns,
                  .columns_count = request.count,
                  .max_versions = request.spec.versions,
                  .time_from = request.spec.time_from,
                  .time_to = request.spec.time_to,
                  .deadline = KW_DEADLINE_NONE};
    kw_rows *found = kw_sync_get(&b->fixture.sync, &get, NULL);
    g_assert_nonnull(found);
    g_autofree char *text = kw_row_text(&found->rows[0]);
    g_autofree char *expected = model_row(b, row, &request);
    g_assert_cmpstr(text, ==, expected ? expected : "");
    kw_rows_free(found);
}

static void
expect_next_row(const model_fixture *b, const read_request *request, const kw_range_scan_spec *spec,
                size_t *at, const kw_row *row)
{
    for (; *at < ROWS; (*at)++) {
        size_t number = spec->reversed ? ROWS - 1 - *at : *at;
        bool inside = kw_bytes_compare(rows[number], spec->start) >= 0 &&
                      (spec->stop.size == 0 || kw_bytes_compare(rows[number], spec->stop) < 0);
        g_autofree char *expected = inside ? model_row(b, number, request) : NULL;
        if (!expected)
            continue;
        g_assert_nonnull(row);
        g_assert_true(kw_bytes_equal(row->key, rows[number]));
        g_autofree char *text = kw_row_text(row);
        g_assert_cmpstr(text, ==, expected);
        (*at)++;
        return;
    }
    g_assert_null(row);
}

static void
random_scan(model_fixture *b)
{
    read_request request = random_request();
    kw_range_scan_spec spec = {.table = B(TABLE),
                               .start = pick(2) ? rows[pick(ROWS)] : KW_BYTES_NONE,
                               .stop = pick(2) ? rows[pick(ROWS)] : KW_BYTES_NONE,
                               .reversed = pick(2),
                               .columns = request.columns,
                               .columns_count = request.count,
                               .max_versions = request.spec.versions,
                               .time_from = request.spec.time_from,
                               .time_to = request.spec.time_to};
    kw_range_scan *scan = kw_store_handle_open_range_scan(b->fixture.sync.handle, &spec);
    size_t at = 0;
    for (bool end = false; !end;) {
        kw_rows *found = kw_sync_fetch(&b->fixture.sync, scan, (uint32_t)(1 + pick(4)),
                                       pick(3) ? 1000000 : 1 + pick(60), pick(2), NULL);
        g_assert_nonnull(found);
        for (size_t i = 0; i < found->count; i++)
            expect_next_row(b, &request, &spec, &at, &found->rows[i]);
        end = found->end;
        kw_rows_free(found);
    }
    expect_next_row(b, &request, &spec, &at, NULL);
    kw_range_scan_close(scan);
}

/* --- the test --------------------------------------------------------------------------------------- */

static void
compact(model_fixture *b)
{
    rocksdb_t *db = ((kw_embedded *)b->fixture.store)->engine.db;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *failed = NULL;
    rocksdb_flush(db, options, &failed);
    g_assert_null(failed);
    rocksdb_flushoptions_destroy(options);
    if (pick(2))
        rocksdb_compact_range(db, NULL, 0, NULL, 0);
}

static void
random_operation(model_fixture *b)
{
    size_t request = pick(1000);
    if (request < 400)
        random_put(b);
    else if (request < 500)
        random_delete(b);
    else if (request < 560)
        random_put_if(b);
    else if (request < 850)
        random_get(b);
    else if (request < 993)
        random_scan(b);
    else if (request < 998)
        compact(b);
    else
        embedded_fixture_reopen(&b->fixture);
}

static void
set_families(void)
{
    static const char *const names[FAMILIES] = {"d", "k", "m", "t", "v"};
    for (size_t i = 0; i < FAMILIES; i++)
        families[i] = default_family(names[i]);
    families[1].keep_deleted_cells = 1;
    families[1].max_versions = 4;
    families[2].ttl_seconds = families[3].ttl_seconds = 1;
    families[2].max_versions = 3;
    families[2].min_versions = 2;
    families[4].max_versions = 3;
}

static void
test_same_answers(void)
{
    for (int history = 0; history < 4; history++) {
        model_fixture b = {.model = {.families = families,
                                     .families_count = FAMILIES,
                                     .rows_count = ROWS,
                                     .qualifiers_count = QUALIFIERS,
                                     .entries = g_array_new(FALSE, FALSE, sizeof(kw_oracle_entry))}};
        embedded_fixture_init(&b.fixture);
        embedded_fixture_create_table(&b.fixture, TABLE, families, FAMILIES);
        for (int i = 0; i < 1200; i++)
            random_operation(&b);
        embedded_fixture_clear(&b.fixture);
        g_array_free(b.model.entries, TRUE);
    }
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    set_families();
    kw_clock_inject(injected_now, NULL);
    g_test_add_func("/model/same_answers", test_same_answers);
    return g_test_run();
}
