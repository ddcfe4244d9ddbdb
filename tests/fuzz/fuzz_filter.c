/* The filter language with hostile texts. A text is a tree or an error with a position. A printed tree parses
 * to the same tree, alone and in parentheses next to another one. Applied to a row, the tree terminates and
 * returns only cells of the row. */
#include "filter/machine.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kw_buffer
printed(const kw_filter *filter)
{
    kw_buffer text = KW_BUFFER_EMPTY;
    kw_filter_print(filter, &text);
    return text;
}

static void
check_text(const kw_filter *filter, kw_arena *arena)
{
    kw_error error;
    const kw_filter *parts[] = {filter, filter};
    kw_buffer once = printed(filter);
    const kw_filter *again = kw_filter_parse(kw_buffer_bytes(&once), arena, &error);
    g_assert(again || error.code == KW_LIMIT); /* quotes can make it too long */
    kw_buffer both = printed(kw_filter_join(KW_FILTER_OR, parts, 2, arena));
    const kw_filter *joined = kw_filter_parse(kw_buffer_bytes(&both), arena, &error);
    g_assert(joined || error.code == KW_LIMIT); /* one level deeper, twice as long */
    if (again) {
        kw_buffer twice = printed(again);
        g_assert(kw_bytes_equal(kw_buffer_bytes(&once), kw_buffer_bytes(&twice)));
        kw_buffer_clear(&twice);
    }
    kw_buffer_clear(&once);
    kw_buffer_clear(&both);
}

static void
apply(kw_filter_machine *machine)
{
    kw_error error;
    for (int row = 0; machine && row < 3; row++) {
        kw_cell cells[] = {{KW_BYTES_LITERAL("d"), KW_BYTES_NONE, KW_BYTES_LITERAL("1"), 3},
                           {KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("a"), KW_BYTES_LITERAL("x"), 2},
                           {KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("a"), KW_BYTES_LITERAL("\xff"), 1},
                           {KW_BYTES_LITERAL("e"), KW_BYTES_LITERAL("b"), KW_BYTES_LITERAL("binary"), 1}};
        size_t count = G_N_ELEMENTS(cells);
        if (kw_filter_machine_row(machine, KW_BYTES_LITERAL("abc"), cells, &count, 1 + row, &error) ==
            KW_FILTER_ROW_FAILED)
            break;
        g_assert(count <= G_N_ELEMENTS(cells));
    }
    kw_filter_machine_free(machine);
}

/* Evaluates the tree shared and compiled once, with a limit on the work; and the tree alone, without a limit.
 */
static void
check_row(const kw_filter *filter, kw_bytes text, bool reversed)
{
    kw_error error;
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .units_most = 1 << 20};
    g_autoptr(kw_prepared) prepared = kw_prepared_new(text, &error);
    g_assert_nonnull(prepared);
    if (kw_prepared_compile(prepared, &error))
        apply(kw_filter_machine_prepared(prepared, reversed, &effort, &error));
    apply(kw_filter_machine_new(filter, reversed, &error));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = KW_ERROR_NONE;
    const kw_filter *filter = kw_filter_parse(kw_bytes_of(data, size), arena, &error);
    if (!filter) {
        g_assert(error.code == KW_INVALID || error.code == KW_LIMIT);
        g_assert(error.code == KW_LIMIT || strstr(error.text, "position "));
        return 0;
    }
    check_text(filter, arena);
    check_row(filter, kw_bytes_of(data, size), size % 2);
    return 0;
}
