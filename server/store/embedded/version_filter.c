#include "store/embedded/version_filter.h"

void
kw_version_filter_init(kw_version_filter *view, const kw_selection *selection)
{
    *view = (kw_version_filter){.selection = selection, .family_named = -1};
}

void
kw_version_filter_clear(kw_version_filter *view)
{
    kw_buffer_clear(&view->column);
    g_free(view->cells);
    *view = (kw_version_filter){0};
}

void
kw_version_filter_direct(kw_version_filter *view, kw_rows *rows)
{
    view->rows = rows;
    view->qualifier = KW_BYTES_NONE;
    view->family_named = -1;
}

void
kw_version_filter_begin_row(kw_version_filter *view)
{
    view->family = -1;
    view->in_column = false;
    view->cells_count = 0;
    view->bytes = 0;
    view->too_large = false;
}

static bool
keeps_deleted(const kw_version_filter *view)
{
    return view->selection->table->families[view->family].keep_deleted;
}

static bool
in_time_range(const kw_selection *selection, int64_t timestamp)
{
    return timestamp >= selection->time_from && timestamp < selection->time_to;
}

/* Does a marker of the present family count for this read? */
static bool
marker_counts(const kw_version_filter *view, int64_t timestamp)
{
    return !keeps_deleted(view) || in_time_range(view->selection, timestamp);
}

static int
next_wanted_family(const kw_version_filter *view, int from)
{
    int count = (int)view->selection->table->families_count;
    while (from < count && !view->selection->families[from].wanted)
        from++;
    return from < count ? from : -1;
}

static void
enter_family(kw_version_filter *view, int family)
{
    view->family = family;
    view->family_deleted = -1;
    view->in_column = false;
    view->next_qualifier = view->selection->families[family].first;
}

/* --- columns ------------------------------------------------------------------------------------ */

static bool
is_wanted(kw_version_filter *view, kw_bytes qualifier)
{
    const kw_selected_family *family = &view->selection->families[view->family];
    if (family->whole)
        return true;
    for (; view->next_qualifier < family->first + family->count; view->next_qualifier++) {
        int order = kw_bytes_compare(view->selection->qualifiers[view->next_qualifier], qualifier);
        if (order >= 0)
            return order == 0;
    }
    return false;
}

static void
enter_column(kw_version_filter *view, kw_bytes qualifier)
{
    view->in_column = true;
    view->column_wanted = is_wanted(view, qualifier);
    view->column_done = !view->column_wanted;
    view->versions_met = view->versions_seen = 0;
    if (kw_bytes_equal(qualifier, kw_buffer_bytes(&view->column)))
        return; /* the row before had it too: its copy in the arena still serves */
    view->column.size = 0;
    kw_buffer_append(&view->column, qualifier);
    view->qualifier = KW_BYTES_NONE;
}

/* Nothing wanted lies behind the present column. */
static bool
was_last_column(const kw_version_filter *view)
{
    const kw_selected_family *family = &view->selection->families[view->family];
    size_t next = view->next_qualifier + (view->column_wanted ? 1 : 0);
    return !family->whole && next >= family->first + family->count &&
           next_wanted_family(view, view->family + 1) < 0;
}

static kw_verdict
column_is_done(kw_version_filter *view)
{
    view->column_done = true;
    return was_last_column(view) ? KW_VERSION_ROW_DONE : KW_VERSION_SKIP;
}

static kw_bytes
qualifier_in_arena(kw_version_filter *view)
{
    if (!view->qualifier.data) {
        kw_bytes escaped = kw_buffer_bytes(&view->column);
        size_t size = kw_key_unescaped_size(escaped);
        uint8_t *copy = kw_arena_alloc(view->rows->arena, size);
        kw_key_unescape(copy, escaped);
        view->qualifier = kw_bytes_of(copy, size);
    }
    return view->qualifier;
}

static kw_bytes
family_in_arena(kw_version_filter *view)
{
    if (view->family_named != view->family) {
        view->family_name =
            kw_arena_copy(view->rows->arena, view->selection->table->families[view->family].name);
        view->family_named = view->family;
    }
    return view->family_name;
}

/* False: the row is too large. */
static bool
see(kw_version_filter *view, int64_t timestamp, kw_bytes value)
{
    view->too_large = view->most > 0 && view->bytes + view->column.size + value.size > view->most;
    if (view->too_large)
        return false;
    if (view->cells_count == view->cells_room) {
        view->cells_room = view->cells_room ? view->cells_room * 2 : 16;
        view->cells = g_renew(kw_cell, view->cells, view->cells_room);
    }
    kw_cell *cell = &view->cells[view->cells_count++];
    cell->family = family_in_arena(view);
    cell->qualifier = qualifier_in_arena(view);
    cell->value = kw_arena_copy(view->rows->arena, value);
    cell->timestamp = timestamp;
    view->bytes += cell->qualifier.size + value.size;
    return true;
}

static kw_verdict
take_put(kw_version_filter *view, int64_t timestamp, kw_bytes value)
{
    const kw_selection *selection = view->selection;
    const kw_stored_family *family = &selection->table->families[view->family];
    int32_t place = view->versions_met++;
    bool expired = timestamp < selection->families[view->family].expired_before;
    bool deleted = timestamp <= view->family_deleted;
    if (place >= family->max_versions || (expired && place >= family->min_versions) || deleted ||
        timestamp < selection->time_from)
        return column_is_done(view); /* all that follow are older: the same holds for them */
    if (timestamp >= selection->time_to)
        return KW_VERSION_NEXT;
    if (!see(view, timestamp, value) || selection->first_only)
        return KW_VERSION_ROW_DONE;
    if (++view->versions_seen >= selection->versions && !selection->filtered)
        return column_is_done(view);
    return KW_VERSION_NEXT;
}

static kw_verdict
take_column_marker(kw_version_filter *view, int64_t timestamp)
{
    return marker_counts(view, timestamp)
               ? column_is_done(view) /* it hides all that follow: they are older */
               : KW_VERSION_NEXT;
}

/* --- entries ------------------------------------------------------------------------------------ */

kw_verdict
kw_version_filter_take(kw_version_filter *view, kw_bytes after_row, kw_bytes value)
{
    kw_key_cell cell;
    if (!kw_key_parse(after_row, &cell) || cell.family >= view->selection->table->families_count)
        return KW_VERSION_NEXT;
    if ((int)cell.family != view->family)
        enter_family(view, (int)cell.family);
    if (!view->selection->families[view->family].wanted)
        return next_wanted_family(view, view->family) < 0 ? KW_VERSION_ROW_DONE : KW_VERSION_SKIP;
    if (cell.family_marker) {
        if (view->family_deleted >= 0)
            return KW_VERSION_SKIP; /* an older marker hides nothing more */
        if (marker_counts(view, cell.timestamp))
            view->family_deleted = cell.timestamp;
        return KW_VERSION_NEXT;
    }
    if (!view->in_column || !kw_bytes_equal(cell.qualifier, kw_buffer_bytes(&view->column)))
        enter_column(view, cell.qualifier);
    if (view->column_done)
        return column_is_done(view);
    if (cell.kind == KW_KEY_DELETE)
        return take_column_marker(view, cell.timestamp);
    return take_put(view, cell.timestamp, value);
}

static void
append_tag(kw_buffer *to, int family, bool cells)
{
    kw_buffer_append_byte(to, (uint8_t)(family * 2 + (cells ? 1 : 0)));
}

/* Behind the last family that is wanted nothing matters: tag FF is above all families. */
static void
append_family_target(const kw_version_filter *view, kw_buffer *to, int from)
{
    int family = next_wanted_family(view, from);
    if (family < 0)
        kw_buffer_append_byte(to, 0xff);
    else
        append_tag(to, family, false);
}

void
kw_version_filter_first_target(const kw_version_filter *view, kw_buffer *to)
{
    append_family_target(view, to, 0);
}

void
kw_version_filter_target(const kw_version_filter *view, kw_buffer *to)
{
    const kw_selected_family *family = &view->selection->families[view->family];
    size_t next = view->next_qualifier;
    if (!family->wanted) {
        append_family_target(view, to, view->family);
    } else if (!view->in_column) {
        append_tag(to, view->family, true);
    } else if (family->whole) {
        append_tag(to, view->family, true);
        kw_buffer_append(to, kw_buffer_bytes(&view->column));
        kw_buffer_append(to, KW_BYTES_LITERAL("\0\1")); /* just above the column's end */
    } else {
        if (view->column_wanted)
            next++;
        if (next < family->first + family->count) {
            append_tag(to, view->family, true);
            kw_buffer_append(to, view->selection->qualifiers[next]);
        } else {
            append_family_target(view, to, view->family + 1);
        }
    }
}

bool
kw_version_filter_end_row(kw_version_filter *view, kw_row *ret_row)
{
    if (view->cells_count == 0 || view->too_large)
        return false;
    kw_cell *cells = kw_arena_alloc(view->rows->arena, view->cells_count * sizeof(kw_cell));
    memcpy(cells, view->cells, view->cells_count * sizeof(kw_cell));
    ret_row->cells = cells;
    ret_row->cells_count = view->cells_count;
    return true;
}
