/* Puts and deletes of the simulated rows. */
#include "histories/sim/rows_internal.h"

static const char no_family[] = "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column "
                                "family x does not exist in region y";

static int64_t
ttl_of(const kw_hb_TPut *put)
{
    for (uint32_t i = 0; put->has_attributes && i < put->attributes.count; i++)
        if (kw_bytes_equal(put->attributes.items[i].key, KW_BYTES_LITERAL("_ttl")) &&
            put->attributes.items[i].value.size == 8)
            return (int64_t)kw_be64_load(put->attributes.items[i].value.data);
    return 0;
}

const char *
sim_apply_put(sim_rows *rows, sim_table *table, const kw_hb_TPut *put, int64_t stamp)
{
    for (uint32_t i = 0; i < put->columnValues.count; i++)
        if (!sim_has_family(table, put->columnValues.items[i].family))
            return no_family;
    sim_row *row = sim_make_row(table, put->row);
    for (uint32_t i = 0; i < put->columnValues.count; i++) {
        const kw_hb_TColumnValue *value = &put->columnValues.items[i];
        int64_t given = put->has_timestamp ? put->timestamp : stamp;
        sim_add_cell(rows, row,
                     (sim_cell){.family = sim_copy(value->family),
                                .qualifier = sim_copy(value->qualifier),
                                .value = sim_copy(value->value),
                                .timestamp = value->has_timestamp ? value->timestamp : given,
                                .ttl_ms = ttl_of(put),
                                .kind = SIM_PUT});
    }
    return NULL;
}

static void
add_marker(sim_rows *rows, sim_row *row, sim_kind kind, kw_bytes family, kw_bytes qualifier,
           int64_t timestamp)
{
    sim_add_cell(rows, row,
                 (sim_cell){.family = sim_copy(family),
                            .qualifier = sim_copy(qualifier),
                            .value = sim_copy(KW_BYTES_NONE),
                            .timestamp = timestamp,
                            .kind = kind});
}

const char *
sim_apply_delete(sim_rows *rows, sim_table *table, const kw_hb_TDelete *tdelete)
{
    int64_t now_ms = sim_now_ms(rows, table);
    for (uint32_t i = 0; i < tdelete->columns.count; i++)
        if (!sim_has_family(table, tdelete->columns.items[i].family))
            return no_family;
    sim_row *row = sim_make_row(table, tdelete->row);
    if (!tdelete->has_columns || tdelete->columns.count == 0) {
        int64_t stamp = tdelete->has_timestamp ? tdelete->timestamp : now_ms;
        for (guint i = 0; i < table->families->len; i++)
            add_marker(rows, row, SIM_DELETE_FAMILY, sim_bytes(table->families->pdata[i]), KW_BYTES_NONE,
                       stamp);
        return NULL;
    }
    bool families = tdelete->has_deleteType && tdelete->deleteType == KW_HB_TDeleteType_DELETE_FAMILY;
    bool version = tdelete->has_deleteType && tdelete->deleteType == KW_HB_TDeleteType_DELETE_COLUMN;
    for (uint32_t i = 0; i < tdelete->columns.count; i++) {
        const kw_hb_TColumn *column = &tdelete->columns.items[i];
        int64_t stamp =
            column->has_timestamp ? column->timestamp : now_ms; /* ignores the delete's own timestamp */
        add_marker(rows, row,
                   families  ? SIM_DELETE_FAMILY
                   : version ? SIM_DELETE_VERSION
                             : SIM_DELETE_COLUMN,
                   column->family, column->qualifier, stamp);
    }
    return NULL;
}

const char *
sim_apply_mutations(sim_rows *rows, sim_table *table, const kw_hb_TRowMutations *all, int64_t stamp)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < all->mutations.count && !wrong; i++) {
        const kw_hb_TMutation *mutation = &all->mutations.items[i];
        wrong = mutation->has_put ? sim_apply_put(rows, table, mutation->put, stamp)
                                  : sim_apply_delete(rows, table, mutation->deleteSingle);
    }
    return wrong;
}
