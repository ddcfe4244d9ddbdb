#include "store/embedded/version_filter.h"

/* Maximum size of a row that is read to be filtered. */
#define FILTERED_ROW_BYTES ((int64_t)256 * 1024 * 1024)

void
kw_version_filter_init(kw_version_filter *filter, const kw_selection *selection)
{
    *filter = (kw_version_filter){.selection = selection, .named_family = -1};
}

void
kw_version_filter_clear(kw_version_filter *filter)
{
    kw_buffer_clear(&filter->column);
    g_free(filter->cells);
    *filter = (kw_version_filter){0};
}

void
kw_version_filter_limit_rows(kw_version_filter *filter, const kw_account *account, size_t most, bool filters)
{
    if (most == 0)
        return;
    int64_t available = MIN(kw_budget_left(account) / 2, FILTERED_ROW_BYTES);
    filter->max_bytes = filters ? MAX(most, (size_t)available) : most;
    filter->max_memory = (size_t)kw_budget_call_share();
}

void
kw_version_filter_set_output(kw_version_filter *filter, kw_rows *rows)
{
    filter->rows = rows;
    filter->qualifier = KW_BYTES_NONE;
    filter->named_family = -1;
}

void
kw_version_filter_begin_row(kw_version_filter *filter)
{
    filter->family = -1;
    filter->in_column = false;
    filter->cells_count = 0;
    filter->bytes = 0;
    filter->too_large = false;
    filter->has_marker = false;
}

static bool
keeps_deleted(const kw_version_filter *filter)
{
    return filter->selection->table->families[filter->family].keep_deleted;
}

static bool
in_time_range(const kw_selection *selection, int64_t timestamp)
{
    return timestamp >= selection->time_from && timestamp < selection->time_to;
}

/* True if this read takes a marker of the current family into account. */
static bool
marker_counts(const kw_version_filter *filter, int64_t timestamp)
{
    if (!keeps_deleted(filter))
        return true;
    return !filter->passes_markers && in_time_range(filter->selection, timestamp);
}

/* Passes the marker to the sink if it wants markers. False: the sink does not need the rest of the row. */
static bool
add_marker(kw_version_filter *filter)
{
    filter->has_marker = true;
    return !filter->passes_markers || filter->sink(filter->sink_user, filter->after_row, KW_BYTES_NONE);
}

static int
next_wanted_family(const kw_version_filter *filter, int from)
{
    int count = (int)filter->selection->table->families_count;
    while (from < count && !filter->selection->families[from].wanted)
        from++;
    return from < count ? from : -1;
}

static void
enter_family(kw_version_filter *filter, int family)
{
    filter->family = family;
    filter->family_deleted = -1;
    filter->in_column = false;
    filter->next_qualifier = filter->selection->families[family].first;
}

/* --- columns ------------------------------------------------------------------------------------ */

static bool
is_wanted(kw_version_filter *filter, kw_bytes qualifier)
{
    const kw_selected_family *family = &filter->selection->families[filter->family];
    if (family->whole)
        return true;
    for (; filter->next_qualifier < family->first + family->count; filter->next_qualifier++) {
        int order = kw_bytes_compare(filter->selection->qualifiers[filter->next_qualifier], qualifier);
        if (order >= 0)
            return order == 0;
    }
    return false;
}

static void
enter_column(kw_version_filter *filter, kw_bytes qualifier)
{
    filter->in_column = true;
    filter->column_wanted = is_wanted(filter, qualifier);
    filter->column_is_finished = !filter->column_wanted;
    filter->puts_seen = filter->versions_visible = 0;
    if (kw_bytes_equal(qualifier, kw_buffer_bytes(&filter->column)))
        return; /* as in the previous row: reuse the copy in the arena */
    filter->column.size = 0;
    kw_buffer_append(&filter->column, qualifier);
    filter->qualifier = KW_BYTES_NONE;
}

/* True if no wanted column follows the current one. */
static bool
is_last_column(const kw_version_filter *filter)
{
    const kw_selected_family *family = &filter->selection->families[filter->family];
    size_t next = filter->next_qualifier + (filter->column_wanted ? 1 : 0);
    return !family->whole && next >= family->first + family->count &&
           next_wanted_family(filter, filter->family + 1) < 0;
}

static kw_version_verdict
finish_column(kw_version_filter *filter)
{
    filter->column_is_finished = true;
    return is_last_column(filter) ? KW_VERSION_ROW_DONE : KW_VERSION_SKIP;
}

static kw_bytes
qualifier_in_arena(kw_version_filter *filter)
{
    if (!filter->qualifier.data) {
        kw_bytes escaped = kw_buffer_bytes(&filter->column);
        size_t size = kw_key_unescaped_size(escaped);
        uint8_t *copy = kw_arena_alloc(filter->rows->arena, size);
        kw_key_unescape(copy, escaped);
        filter->qualifier = kw_bytes_of(copy, size);
    }
    return filter->qualifier;
}

static kw_bytes
family_in_arena(kw_version_filter *filter)
{
    if (filter->named_family != filter->family) {
        filter->family_name =
            kw_arena_copy(filter->rows->arena, filter->selection->table->families[filter->family].name);
        filter->named_family = filter->family;
    }
    return filter->family_name;
}

/* Maximum memory of a cell while its row is read, without its bytes: its parts of the growing array and of
 * the final one, and the rounding of two allocations. */
#define CELL_MEMORY (3 * sizeof(kw_cell) + 32)

/* True if the row exceeds a limit with one more cell. */
static bool
exceeds(const kw_version_filter *filter, kw_bytes value)
{
    size_t bytes = filter->bytes + filter->column.size + value.size;
    size_t memory = bytes + (filter->cells_count + 1) * CELL_MEMORY;
    return (filter->max_bytes > 0 && bytes > filter->max_bytes) ||
           (filter->max_memory > 0 && memory > filter->max_memory);
}

/* False: the row is too large, or the sink does not need the rest of it. */
static bool
add_cell(kw_version_filter *filter, int64_t timestamp, kw_bytes value)
{
    if (filter->sink)
        return filter->sink(filter->sink_user, filter->after_row, value);
    filter->too_large = exceeds(filter, value);
    if (filter->too_large)
        return false;
    if (filter->cells_count == filter->cells_capacity) {
        filter->cells_capacity = filter->cells_capacity ? filter->cells_capacity * 2 : 16;
        filter->cells = g_renew(kw_cell, filter->cells, filter->cells_capacity);
    }
    kw_cell *cell = &filter->cells[filter->cells_count++];
    cell->family = family_in_arena(filter);
    cell->qualifier = qualifier_in_arena(filter);
    cell->value = kw_arena_copy(filter->rows->arena, value);
    cell->timestamp = timestamp;
    filter->bytes += cell->qualifier.size + value.size;
    return true;
}

static kw_version_verdict
feed_put(kw_version_filter *filter, int64_t timestamp, kw_bytes value)
{
    const kw_selection *selection = filter->selection;
    const kw_stored_family *family = &selection->table->families[filter->family];
    int32_t newer_puts = filter->puts_seen++;
    bool expired = timestamp < selection->families[filter->family].expired_before;
    bool deleted = timestamp <= filter->family_deleted;
    if (newer_puts >= family->max_versions || (expired && newer_puts >= family->min_versions) || deleted ||
        timestamp < selection->time_from)
        return finish_column(filter); /* the following entries are older, so they are not visible either */
    if (timestamp >= selection->time_to)
        return KW_VERSION_NEXT;
    if (!add_cell(filter, timestamp, value) || selection->first_only)
        return KW_VERSION_ROW_DONE;
    if (++filter->versions_visible >= selection->versions && !selection->filtered)
        return finish_column(filter);
    return KW_VERSION_NEXT;
}

static kw_version_verdict
feed_family_marker(kw_version_filter *filter, int64_t timestamp)
{
    if (filter->family_deleted >= 0)
        return KW_VERSION_SKIP; /* a newer marker already hides what this one hides */
    if (marker_counts(filter, timestamp))
        filter->family_deleted = timestamp;
    return add_marker(filter) ? KW_VERSION_NEXT : KW_VERSION_ROW_DONE;
}

static kw_version_verdict
feed_column_marker(kw_version_filter *filter, int64_t timestamp)
{
    bool hides_more = timestamp > filter->family_deleted;
    if (hides_more && !add_marker(filter))
        return KW_VERSION_ROW_DONE;
    return marker_counts(filter, timestamp)
               ? finish_column(filter) /* it hides the following entries, which are older */
               : KW_VERSION_NEXT;
}

/* --- entries ------------------------------------------------------------------------------------ */

kw_version_verdict
kw_version_filter_feed(kw_version_filter *filter, kw_bytes after_row, kw_bytes value)
{
    kw_key_cell cell;
    g_assert(filter->rows || filter->sink);
    filter->after_row = after_row;
    if (!kw_key_parse(after_row, &cell) || cell.family >= filter->selection->table->families_count)
        return KW_VERSION_NEXT;
    if ((int)cell.family != filter->family)
        enter_family(filter, (int)cell.family);
    if (!filter->selection->families[filter->family].wanted)
        return next_wanted_family(filter, filter->family) < 0 ? KW_VERSION_ROW_DONE : KW_VERSION_SKIP;
    if (cell.family_marker)
        return feed_family_marker(filter, cell.timestamp);
    if (!filter->in_column || !kw_bytes_equal(cell.qualifier, kw_buffer_bytes(&filter->column)))
        enter_column(filter, cell.qualifier);
    if (filter->column_is_finished)
        return finish_column(filter);
    if (cell.kind == KW_KEY_DELETE)
        return feed_column_marker(filter, cell.timestamp);
    return feed_put(filter, cell.timestamp, value);
}

static void
append_tag(kw_buffer *to, int family, bool cells)
{
    kw_buffer_append_byte(to, (uint8_t)(family * 2 + (cells ? 1 : 0)));
}

/* If there is no further wanted family, the target is tag FF, which is greater than those of all families. */
static void
append_family_target(const kw_version_filter *filter, kw_buffer *to, int from)
{
    int family = next_wanted_family(filter, from);
    if (family < 0)
        kw_buffer_append_byte(to, 0xff);
    else
        append_tag(to, family, false);
}

void
kw_version_filter_first_target(const kw_version_filter *filter, kw_buffer *to)
{
    append_family_target(filter, to, 0);
}

void
kw_version_filter_skip_target(const kw_version_filter *filter, kw_buffer *to)
{
    g_assert(filter->family >= 0);
    const kw_selected_family *family = &filter->selection->families[filter->family];
    size_t next = filter->next_qualifier;
    if (!family->wanted) {
        append_family_target(filter, to, filter->family);
    } else if (!filter->in_column) {
        append_tag(to, filter->family, true);
    } else if (family->whole) {
        append_tag(to, filter->family, true);
        kw_buffer_append(to, kw_buffer_bytes(&filter->column));
        kw_buffer_append(to, KW_BYTES_LITERAL("\0\1")); /* greater than all entries of the column */
    } else {
        if (filter->column_wanted)
            next++;
        if (next < family->first + family->count) {
            append_tag(to, filter->family, true);
            kw_buffer_append(to, filter->selection->qualifiers[next]);
        } else {
            append_family_target(filter, to, filter->family + 1);
        }
    }
}

bool
kw_version_filter_end_row(kw_version_filter *filter, kw_row *ret_row)
{
    bool removed = filter->cells_count == 0;
    if (filter->too_large || (removed && !(filter->keeps_removed && filter->has_marker)))
        return false;
    if (removed) {
        ret_row->cells = NULL;
        ret_row->cells_count = 0;
        return true;
    }
    kw_cell *cells = kw_arena_alloc(filter->rows->arena, filter->cells_count * sizeof(kw_cell));
    memcpy(cells, filter->cells, filter->cells_count * sizeof(kw_cell));
    ret_row->cells = cells;
    ret_row->cells_count = filter->cells_count;
    return true;
}
