/* See second.h. */
#include "histories/sim/second.h"

struct sim_placements {
    GHashTable *tables; /* by path and fingerprint (gint64): the hash of the name of the first store table */
};

sim_placements *
sim_placements_new(void)
{
    sim_placements *made = g_new0(sim_placements, 1);
    made->tables = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    return made;
}

/* The same in all placements. Different for two writes at different times or with different values. 0: no
 * cell has a timestamp. */
static gint64
fingerprint(const kw_hb_TPut *put)
{
    for (uint32_t i = 0; i < put->columnValues.count; i++) {
        const kw_hb_TColumnValue *value = &put->columnValues.items[i];
        if (value->has_timestamp || put->has_timestamp)
            return (gint64)kw_bytes_hash(value->value) ^
                   (value->has_timestamp ? value->timestamp : put->timestamp);
    }
    return 0;
}

/* The name without the number of the layout, "_L2". */
static kw_bytes
path_of(kw_bytes table)
{
    size_t size = table.size;
    while (size > 0 && g_ascii_isdigit(table.data[size - 1]))
        size--;
    bool numbered =
        size >= 2 && size < table.size && table.data[size - 1] == 'L' && table.data[size - 2] == '_';
    return numbered ? kw_bytes_of(table.data, size - 2) : table;
}

static bool
note(sim_placements *placements, kw_bytes table, const kw_hb_TPut *put)
{
    gint64 key = fingerprint(put);
    if (key)
        key ^= (gint64)kw_bytes_hash(path_of(table));
    gpointer here = GUINT_TO_POINTER((guint)kw_bytes_hash(table) | 1),
             first = g_hash_table_lookup(placements->tables, &key);
    if (key && !first)
        g_hash_table_insert(placements->tables, g_memdup2(&key, sizeof key), here);
    return first && first != here;
}

static bool
note_row(sim_placements *placements, kw_bytes table, const kw_hb_TRowMutations *all)
{
    bool second = false;
    for (uint32_t i = 0; i < all->mutations.count; i++)
        if (all->mutations.items[i].has_put)
            second |= note(placements, table, all->mutations.items[i].put);
    return second;
}

static bool
note_batch(sim_placements *placements, const kw_hb_THBaseService_putMultiple_args *batch)
{
    bool second = false;
    for (uint32_t i = 0; i < batch->tputs.count; i++)
        second |= note(placements, batch->table, &batch->tputs.items[i]);
    return second;
}

bool
sim_placements_note(sim_placements *placements, kw_hb_method method, const void *args)
{
    const kw_hb_THBaseService_put_args *put = args;
    const kw_hb_THBaseService_mutateRow_args *row = args;
    const kw_hb_THBaseService_checkAndMutate_args *compared = args;
    switch ((int)method) {
    case KW_HB_THBaseService_put:
        return note(placements, put->table, put->tput);
    case KW_HB_THBaseService_putMultiple:
        return note_batch(placements, args);
    case KW_HB_THBaseService_mutateRow:
        return note_row(placements, row->table, row->trowMutations);
    case KW_HB_THBaseService_checkAndMutate:
        return note_row(placements, compared->table, compared->rowMutations);
    default:
        return false;
    }
}
