#include "gather/page.h"

#include "gather/bounds.h"

#include <glib.h>

static void
drop_retired(kw_page *page)
{
    for (size_t i = 0; i < page->retired_count; i++)
        kw_rows_free(page->retired[i]);
    page->retired_count = 0;
    page->retired_bytes = 0;
}

void
kw_page_begin(kw_page *page)
{
    g_assert(!page->last);
    drop_retired(page);
    page->count = 0;
}

void
kw_page_clear(kw_page *page)
{
    drop_retired(page);
    g_free(page->retired);
    g_free(page->rows);
    kw_buffer_clear(&page->suffix);
}

void
kw_page_add(kw_page *page, kw_row *row)
{
    if (page->count == page->capacity) {
        page->capacity = page->capacity ? 2 * page->capacity : 32;
        page->rows = g_renew(kw_row *, page->rows, page->capacity);
    }
    page->rows[page->count++] = row;
}

void
kw_page_pass(kw_page *page, const kw_row *row, uint32_t range)
{
    page->last = row;
    page->last_range = range;
}

const kw_position *
kw_page_position(kw_page *page, const kw_plan *plan)
{
    if (page->last) {
        const kw_range *range = &plan->ranges[page->last_range];
        page->position = (kw_position){.started = true,
                                       .group = range->group,
                                       .range = page->last_range,
                                       .suffix = kw_range_suffix(range, page->last->key)};
        page->last = NULL;
    }
    return &page->position;
}

void
kw_page_pass_group(kw_page *page, const kw_plan *plan, uint32_t group)
{
    const kw_position *position = kw_page_position(page, plan);
    if (position->started && position->group >= group)
        return;
    page->position = (kw_position){
        .started = true, .at_head = true, .group = group, .range = (uint32_t)plan->groups[group].first};
}

void
kw_page_hold_position(kw_page *page, const kw_plan *plan)
{
    kw_bytes suffix = kw_page_position(page, plan)->suffix;
    if (suffix.data == page->suffix.data)
        return;
    page->suffix.size = 0;
    kw_buffer_append(&page->suffix, suffix);
    page->position.suffix = kw_buffer_bytes(&page->suffix);
}

void
kw_page_retire(kw_page *page, const kw_plan *plan, kw_rows *batch, bool kept)
{
    if (!kept) {
        kw_page_hold_position(page, plan);
        kw_rows_free(batch);
        return;
    }
    if (page->retired_count == page->retired_capacity) {
        page->retired_capacity = page->retired_capacity ? 2 * page->retired_capacity : 32;
        page->retired = g_renew(kw_rows *, page->retired, page->retired_capacity);
    }
    page->retired[page->retired_count++] = batch;
    page->retired_bytes += kw_arena_used(batch->arena);
}
